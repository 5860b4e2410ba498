/* The derivative of each scalar operation, once for both modes.
   The local derivative of a scalar operation is a number, its own transpose: multiplying a cotangent by it gives the
   adjoint's contribution, multiplying a tangent the tangent's.  So one table of rules (linear.c, one row for each ELEM
   row of ir/ops.def) serves the adjoint (x_bar += linear(y_bar)) and the tangent (y_dot += linear(x_dot)). */
#ifndef GRADC_PASSES_LINEAR_H
#define GRADC_PASSES_LINEAR_H
#include "ir/build.h"

/* What is known of v: that it is as any number; that it may be exactly 0 by construction (masks.c); that it may be
   infinite, so that the derivative's own exact 0 decides, as in the transpose, which meets that 0 first. */
typedef enum Incoming { INCOMING_PLAIN, INCOMING_MASKED, INCOMING_STEEP } Incoming;

/* v times the derivative of op's result with respect to operand k, in code added by b, under the rule of exact zeros;
   the operands and the result of `op` are read where the rule needs them.  NULL: that derivative is zero everywhere. */
Value *linear_apply(Builder *b, const Op *op, int k, Value *v, Incoming incoming);
#endif
