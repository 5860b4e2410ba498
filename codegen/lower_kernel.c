/* Calls of kernels, the runtime's functions on tensors (runtime/kernels.h): their sizes, and the addresses of what goes
   in and comes out, in three arrays of the frame. */
#include "codegen/body.h"

static void put(Body *b, LLVMValueRef array, LLVMTypeRef type, int i, LLVMValueRef x) {
  LLVMValueRef at = const_i64(b->unit, i);
  LLVMBuildStore(b->at, x, LLVMBuildInBoundsGEP2(b->at, type, array, &at, 1, ""));
}

/* Where a scalar stands while the kernel runs. */
static LLVMValueRef place_for(Body *b, Kind k) {
  return entry_alloca(b, memory_type(b->unit, k), 1, (unsigned)kind_bytes(k), "");
}

static LLVMValueRef address_of_input(Body *b, const Value *v) {
  const Kind k = v->type.kind;
  LLVMValueRef code = value_code(b, v);
  if (v->type.rank)
    return code;
  LLVMValueRef at = place_for(b, k);
  store_element(b, k, code, at, NULL);
  return at;
}

void lower_kernel_call(Body *b, const Op *op) {
  enum { WORD = 8 };
  Unit *u = b->unit;
  const Func *callee = op->at.callee;
  const int nsizes = callee->nsizes, ninputs = op->noperands - nsizes;
  LLVMValueRef sizes = entry_alloca(b, u->i64, nsizes, WORD, "sizes"),
               in = entry_alloca(b, u->ptr, ninputs, WORD, "in"),
               out = entry_alloca(b, u->ptr, op->nresults, WORD, "out");
  for (int i = 0; i < nsizes; i++)
    put(b, sizes, u->i64, i, value_code(b, op->operands[i]));
  for (int i = 0; i < ninputs; i++)
    put(b, in, u->ptr, i, address_of_input(b, op->operands[nsizes + i]));
  LLVMValueRef *results = NEW_ARRAY(u->arena, LLVMValueRef, op->nresults);
  for (int i = 0; i < op->nresults; i++) {
    const Type t = op->results[i]->type;
    if (t.rank)
      check_type(b, t);
    results[i] = t.rank ? address_of(b, place_of(note_of(op->results[i])->storage)) : place_for(b, t.kind);
    put(b, out, u->ptr, i, results[i]);
  }
  LLVMTypeRef params[] = {u->ptr, u->ptr, u->ptr};
  LLVMValueRef args[] = {sizes, in, out};
  call_declared(b, declared(u, callee->name, u->nothing, 3, params), 3, args);
  for (int i = 0; i < op->nresults; i++) {
    const Type t = op->results[i]->type;
    set_value(op->results[i], t.rank ? results[i] : load_element(b, t.kind, results[i], NULL));
  }
}
