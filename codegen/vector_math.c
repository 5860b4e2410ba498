/* Mathematical functions of vectors; see codegen/vector.h. */
#include "codegen/body.h"

LLVMValueRef vector_math(Body *b, const Op *op, LLVMValueRef *x) {
  (void)b, (void)op, (void)x;
  return NULL;
}
