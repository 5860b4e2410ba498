/* Mathematical functions as LLVM instructions, written once for scalars and for vectors of any width.

   Each function is an internal one of the module, `gradc.exp.f64` or `gradc.exp.f64x8`, made at first use.  A lane's
   result depends on that lane's operand alone, and the bits are the same at every width, and on all processors that
   have fused multiply-add.  Results err by less than 2.5 units in the last place over the whole range, subnormal
   numbers included; infinities, zeros and their signs, and NaN are as C's Annex F has them.  The instructions carry no
   fast-math flags, as they are exact recipes.

     inline_math_*.c         the functions, by family
     inline_math_code.h      the words that they are written in */
#ifndef GRADC_CODEGEN_INLINE_MATH_H
#define GRADC_CODEGEN_INLINE_MATH_H
#include "codegen/body.h"

/* The function of one or two operands that computes `op` on values of `kind`, or on vectors of `lanes` of them where
   lanes > 1; its result has their type.  NULL where there is none. */
LLVMValueRef inline_math(Unit *u, Opcode op, Kind kind, int lanes);
/* That of vectors for scalars that stand side by side: what is rare is left to a branch, as it is for scalars. */
LLVMValueRef inline_math_group(Unit *u, Opcode op, Kind kind, int lanes);
/* That of scalars, or of lanes, written without branches. */
LLVMValueRef inline_math_straight(Unit *u, Opcode op, Kind kind, int lanes);
bool has_inline_math(Opcode op);
/* That of two results, sigmoid(x) and sigmoid(-x), of lanes. */
LLVMValueRef inline_sigmoids(Unit *u, Kind kind, int lanes);
/* The same of x^n; NULL where n is too large for multiplications. */
LLVMValueRef inline_power(Unit *u, int64_t n, Kind kind, int lanes);
/* In functions that call many of them they stay calls: as one block of so many instructions they would cost LLVM the
   square of their number. */
void keep_many_math_calls(LLVMModuleRef module);
#endif
