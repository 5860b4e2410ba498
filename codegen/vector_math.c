/* Mathematical functions of vectors; see codegen/vector.h. */
#include "codegen/body.h"
#include "codegen/inline_math.h"

LLVMValueRef vector_math(Body *b, const Op *op, LLVMValueRef *x) {
  const Kind k = op->results[0]->type.kind;
  if (!kind_is_float(k) || op->at.i)
    return NULL;
  LLVMValueRef f = inline_math(b->unit, op->code, k, b->vector->lanes);
  if (!f)
    return NULL;
  return LLVMBuildCall2(b->at, LLVMGlobalGetValueType(f), f, x, (unsigned)op->noperands, "");
}
