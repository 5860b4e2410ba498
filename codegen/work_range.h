/* Between which numbers a value lies wherever it is computed, told when a function begins: code for a lower and an
   upper bound, made of the bounds of the function's integer parameters.  Where there is none, INT64_MIN and INT64_MAX
   stand in its place, and stay there: the arithmetic saturates. */
#ifndef GRADC_CODEGEN_WORK_RANGE_H
#define GRADC_CODEGEN_WORK_RANGE_H
#include "codegen/body.h"

/* i64; of a float f64, with infinities. */
typedef struct Ends {
  LLVMValueRef lo, hi;
} Ends;

typedef struct Ranges {
  Body *body;         /* all code is appended to its block */
  const Ends *params; /* by number of the parameter; NULLs: nothing is known */
} Ranges;

/* Of a scalar, or of the elements of a tensor: integers, bools, f64. */
Ends ends_of_value(Ranges *r, const Value *v);
Ends ends_of_size(Ranges *r, const Size *s);
Ends ends_unknown(const Ranges *r, Kind kind);
/* Saturating, of what is not below 0. */
LLVMValueRef ends_times(Ranges *r, LLVMValueRef x, LLVMValueRef y);
LLVMValueRef ends_plus(Ranges *r, LLVMValueRef x, LLVMValueRef y);
LLVMValueRef ends_larger(Ranges *r, LLVMValueRef x, LLVMValueRef y);
#endif
