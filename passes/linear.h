/* The derivative of each scalar operation, once for both modes.
   The local derivative of a scalar operation is a number, its own transpose: multiplying a cotangent by it gives the
   adjoint's contribution, multiplying a tangent the tangent's.  So one table of rules (linear.c, one row for each ELEM
   row of ir/ops.def) serves the adjoint (x_bar += linear(y_bar)) and the tangent (y_dot += linear(x_dot)). */
#ifndef GRADC_PASSES_LINEAR_H
#define GRADC_PASSES_LINEAR_H
#include "ir/build.h"

/* v times the derivative of op's result with respect to operand k, in code added by b; the operands and the result of
   `op` are read where the rule needs them.  NULL: that derivative is zero everywhere. */
Value *linear_apply(Builder *b, const Op *op, int k, Value *v);
/* The same for a v that may be infinite: 0 where the derivative is exactly 0, as the transpose, which meets that 0
   first, has it. */
Value *linear_apply_steep(Builder *b, const Op *op, int k, Value *v);

/* v * factor under the rule of exact zeros: mulz where v may be zero by construction (a branch of `where`, a filter) or
   the factor may be infinite, the plain product where neither can matter. */
Value *linear_product(Builder *b, Value *v, Value *factor);
Value *linear_quotient(Builder *b, Value *v, Value *divisor);
#endif
