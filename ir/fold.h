/* Constant folding and exact identities of scalar operations; used by the builder alone. */
#ifndef GRADC_IR_FOLD_H
#define GRADC_IR_FOLD_H
#include "ir/build.h"

/* The value that the scalar operation `op` on operands x (attribute `attr` for powi, polygamma) has without being made,
   or NULL when it must be made. */
Value *fold_scalar(Builder *b, Opcode op, Kind result, Value *const *x, int64_t attr);
#endif
