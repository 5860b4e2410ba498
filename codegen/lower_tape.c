/* Exports that are cut in two (ir.h, ExportPart): the sizes that callers in C do not give, where the tensors of the
   tape lie, and the function that tells its bytes. */
#include "codegen/body.h"
#include "codegen/interface.h"
#include <string.h>

enum { STATUS_NO_MEMORY = 1 };

/* ---- sizes: computed in the first block, where what is made of sizes is */
LLVMValueRef bind_computed_sizes(Body *b, const Export *e) {
  Unit *u = b->unit;
  const Func *sizes = e->cut.sizes, *f = e->func;
  if (!sizes || !sizes->nresults)
    return NULL;
  LLVMBuilderRef at = b->at;
  b->at = b->entry;
  const int nparams = sizes->body->nparams, first = sizes->nsizes;
  LLVMValueRef *args = NEW_ARRAY(u->arena, LLVMValueRef, FIRST_PARAM + nparams + sizes->nresults), *results;
  int n = 0;
  args[n++] = LLVMConstNull(u->ptr);
  args[n++] = LLVMConstNull(u->ptr);
  args[n++] = const_i64(u, -1);
  for (int i = 0; i < nparams; i++) {
    const int own = i < first ? i : i + sizes->nresults;
    const Value *p = f->body->params[own];
    /* of others it does not depend */
    args[n++] = is_work_param(p) && b->params[own]
                    ? b->params[own]
                    : LLVMConstNull(p->type.rank ? u->ptr : type_of_kind(u, p->type.kind));
  }
  results = args + n;
  for (int i = 0; i < sizes->nresults; i++) {
    args[n++] = entry_alloca(b, u->i64, 1, 8, "");
    LLVMBuildStore(b->at, const_i64(u, 0), results[i]);
  }
  LLVMValueRef status = LLVMBuildCall2(b->at, func_note(sizes)->type, func_note(sizes)->code, args, (unsigned)n, "");
  for (int i = 0; i < sizes->nresults; i++) {
    b->params[first + i] = LLVMBuildLoad2(b->at, u->i64, results[i], "");
    set_value(f->body->params[first + i], b->params[first + i]);
  }
  b->at = at;
  return status;
}

LLVMValueRef unless_failed(Body *b, LLVMValueRef status, LLVMValueRef bytes) {
  if (!status)
    return bytes;
  LLVMValueRef good = LLVMBuildICmp(b->at, LLVMIntEQ, status, LLVMConstInt(b->unit->i32, 0, false), "");
  return LLVMBuildSelect(b->at, good, bytes, const_i64(b->unit, INT64_MAX), "");
}

/* ---- the tape */
static Type tape_type(const Export *e, int i) {
  const Func *f = e->func;
  const int at = e->cut.first + i;
  return e->part == PART_BACKWARD ? f->body->params[at]->type : f->result_types[at];
}

/* Where the next tensor begins, after one of that type at that offset. */
static LLVMValueRef offset_after(Body *b, LLVMValueRef offset, Type t) {
  LLVMValueRef sum = saturating_add(b, offset, saturated_bytes(b, t));
  sum = saturating_add(b, sum, const_i64(b->unit, TAPE_ALIGNMENT - 1));
  LLVMValueRef rounded = LLVMBuildAnd(b->at, sum, const_i64(b->unit, -TAPE_ALIGNMENT), "");
  LLVMValueRef overflows = LLVMBuildICmp(b->at, LLVMIntEQ, sum, const_i64(b->unit, INT64_MAX), "");
  return LLVMBuildSelect(b->at, overflows, sum, rounded, "");
}

void tape_addresses(Body *b, const Export *e, LLVMValueRef tape, LLVMValueRef *addresses) {
  Unit *u = b->unit;
  LLVMValueRef offset = const_i64(u, 0);
  for (int i = 0; i < e->cut.n; i++) {
    addresses[i] = LLVMBuildGEP2(b->at, u->i8, tape, &offset, 1, "");
    offset = offset_after(b, offset, tape_type(e, i));
  }
  fail_size_if(b, LLVMBuildICmp(b->at, LLVMIntEQ, offset, const_i64(u, INT64_MAX), ""), offset);
  LLVMValueRef needed = LLVMBuildICmp(b->at, LLVMIntNE, offset, const_i64(u, 0), "");
  fail_if(b, LLVMBuildAnd(b->at, needed, LLVMBuildIsNull(b->at, tape, ""), ""), STATUS_NO_MEMORY, "there is no tape");
}

void lower_tapesize(Body *b, const Export *e) {
  LLVMValueRef status = bind_computed_sizes(b, e), bytes = const_i64(b->unit, 0);
  for (int i = 0; i < e->cut.n; i++)
    bytes = offset_after(b, bytes, tape_type(e, i));
  LLVMBuildRet(b->at, unless_failed(b, status, bytes));
}
