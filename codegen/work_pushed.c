/* What a call pushes at run time because no formula over its parameters gives its size: a bound, for name_worksize,
   made of the ranges of values (work_range.h).  The call itself takes what it needs.  What even a range does not bound,
   as the trips of a `while`, counts as nothing: name_ws then ends where the workspace does.

   Two LLVM functions are made for each function that is asked for, over a lower and an upper end for each of its
   integer scalars: of what it pushes, and of the workspace that its plan has, for calls whose workspace is pushed. */
#include "codegen/work_range.h"

static LLVMValueRef made(Unit *u, const Func *f, bool planned);

static LLVMTypeRef bound_type(Unit *u, const Func *f) {
  LLVMTypeRef *types = NEW_ARRAY(u->arena, LLVMTypeRef, 2 * f->body->nparams + 1);
  unsigned n = 0;
  for (int i = 0; i < f->body->nparams; i++)
    if (is_work_param(f->body->params[i])) {
      types[n++] = u->i64;
      types[n++] = u->i64;
    }
  return LLVMFunctionType(u->i64, types, n, false);
}

/* The callee's function for the ends of the operands. */
static LLVMValueRef bound_of_call(Ranges *r, const Func *callee, const Ends *args, bool planned) {
  Body *b = r->body;
  LLVMValueRef *ends = NEW_ARRAY(b->unit->arena, LLVMValueRef, 2 * callee->body->nparams + 1);
  unsigned n = 0;
  for (int i = 0; i < callee->body->nparams; i++)
    if (is_work_param(callee->body->params[i])) {
      ends[n++] = args[i].lo;
      ends[n++] = args[i].hi;
    }
  return LLVMBuildCall2(b->at, bound_type(b->unit, callee), made(b->unit, callee, planned), ends, n, "");
}

static Ends *ends_of_operands(Ranges *r, const Op *call) {
  Ends *args = NEW_ARRAY(r->body->unit->arena, Ends, call->noperands + 1);
  for (int i = 0; i < call->noperands; i++)
    if (is_work_param(call->at.callee->body->params[i]))
      args[i] = ends_of_value(r, call->operands[i]);
  return args;
}

static LLVMValueRef rounded_up(Ranges *r, LLVMValueRef bytes) {
  LLVMValueRef sum = ends_plus(r, bytes, const_i64(r->body->unit, WORK_ALIGNMENT - 1));
  return LLVMBuildAnd(r->body->at, sum, const_i64(r->body->unit, -WORK_ALIGNMENT), "");
}

/* Nothing, where there is no bound. */
static LLVMValueRef bounded(Ranges *r, LLVMValueRef bytes) {
  enum { MOST_BITS = 62 };
  Body *b = r->body;
  LLVMValueRef fits = LLVMBuildICmp(b->at, LLVMIntSLT, bytes, const_i64(b->unit, (int64_t)1 << MOST_BITS), "");
  return LLVMBuildSelect(b->at, fits, bytes, const_i64(b->unit, 0), "");
}

/* ---- the plan of a function */
static LLVMValueRef need_end(Ranges *r, const Need *need) {
  Unit *u = r->body->unit;
  LLVMValueRef bytes = const_i64(u, need->element_bytes);
  if (need->kind == NEED_CALL) {
    const Func *callee = need->callee;
    Ends *args = NEW_ARRAY(u->arena, Ends, callee->body->nparams + 1);
    for (int i = 0; i < callee->body->nparams; i++)
      args[i] = need->args[i] ? ends_of_size(r, need->args[i]) : ends_unknown(r, KIND_I64);
    return bound_of_call(r, callee, args, true);
  }
  for (int i = 0; i < need->rank; i++) {
    LLVMValueRef dim = const_i64(u, 0);
    for (int j = 0; j < need->dims[i].n; j++)
      dim = ends_larger(r, dim, ends_of_size(r, need->dims[i].choices[j]).hi);
    bytes = ends_times(r, bytes, dim);
  }
  for (int i = 0; i < need->parts.n; i++) {
    LLVMValueRef part = need_end(r, need->parts.at[i]);
    bytes = need->kind == NEED_SUM ? ends_plus(r, bytes, part) : ends_larger(r, bytes, part);
  }
  return need->kind == NEED_SUM || need->kind == NEED_COUNT ? bytes : rounded_up(r, bytes);
}

/* ---- what is pushed */
static LLVMValueRef place_end(Ranges *r, const Place *p) {
  Unit *u = r->body->unit;
  LLVMValueRef bytes = const_i64(u, (int64_t)kind_bytes(p->type.kind) * (p->lanes ? p->lanes : 1));
  LLVMValueRef zero = const_i64(u, 0);
  if (p->call)
    return bounded(r, rounded_up(r, bound_of_call(r, p->call->at.callee, ends_of_operands(r, p->call), true)));
  for (int i = 0; i < p->type.rank; i++)
    bytes = ends_times(r, bytes, ends_larger(r, zero, ends_of_size(r, p->type.dims[i]).hi));
  return bounded(r, rounded_up(r, bytes));
}

/* All that a region pushes is there to its end; of the operations in it one runs at a time. */
static LLVMValueRef region_end(Ranges *r, const Region *region) {
  const FuncStorage *f = r->body->storage;
  LLVMValueRef sum = const_i64(r->body->unit, 0), most = sum;
  for (int i = 0; i < f->places.n; i++) {
    const Place *p = f->places.at[i];
    if (p->kind == PLACE_WORK && p->room == ROOM_DYNAMIC && p->home == region)
      sum = ends_plus(r, sum, place_end(r, p));
  }
  for (const Op *op = region->first; op; op = op->next) {
    for (int i = 0; i < op->nregions; i++)
      most = ends_larger(r, most, region_end(r, op->regions[i]));
    if (op->code == OP_CALL && !op->at.callee->is_extern && func_note(op->at.callee)->plan->uses_context)
      most = ends_larger(r, most, bound_of_call(r, op->at.callee, ends_of_operands(r, op), false));
  }
  return ends_plus(r, sum, most);
}

static LLVMValueRef make(Unit *u, const Func *f, bool planned) {
  const FuncNote *note = func_note(f);
  const char *name = arena_printf(u->arena, planned ? "%s.needed" : "%s.pushed", f->name);
  LLVMValueRef code = LLVMAddFunction(u->llvm, name, bound_type(u, f));
  LLVMSetLinkage(code, LLVMInternalLinkage);
  LLVMAddAttributeAtIndex(code, LLVMAttributeFunctionIndex, attribute(u, "nounwind", 0));
  Body b = {.unit = u,
            .func = (Func *)(uintptr_t)f,
            .storage = note->storage,
            .plan = note->plan,
            .code = code,
            .loc = f->loc};
  Ends *params = NEW_ARRAY(u->arena, Ends, f->body->nparams + 1);
  unsigned n = 0;
  for (int i = 0; i < f->body->nparams; i++)
    if (is_work_param(f->body->params[i])) {
      params[i].lo = LLVMGetParam(code, n++);
      params[i].hi = LLVMGetParam(code, n++);
    }
  b.at = b.entry = LLVMCreateBuilderInContext(u->context);
  LLVMPositionBuilderAtEnd(b.at, new_block(&b, "entry"));
  Ranges r = {.body = &b, .params = params};
  LLVMBuildRet(b.at, planned ? need_end(&r, note->plan->slots) : region_end(&r, f->body));
  LLVMDisposeBuilder(b.at);
  return code;
}

static LLVMValueRef made(Unit *u, const Func *f, bool planned) {
  FuncNote *note = func_note(f);
  LLVMValueRef *code = planned ? &note->needed_code : &note->pushed_code;
  if (!*code)
    *code = make(u, f, planned);
  return *code;
}

/* A parameter that is not given is not bounded. */
LLVMValueRef pushed_bytes(Body *b, LLVMValueRef *params) {
  Unit *u = b->unit;
  const Func *f = b->func;
  Ends *args = NEW_ARRAY(u->arena, Ends, f->body->nparams + 1);
  Ranges r = {.body = b, .params = args};
  if (!b->plan->uses_context)
    return const_i64(u, 0);
  for (int i = 0; i < f->body->nparams; i++) {
    const Value *v = f->body->params[i];
    args[i] = ends_unknown(&r, v->type.kind);
    if (!is_work_param(v) || !params[i])
      continue;
    LLVMValueRef x = v->type.kind == KIND_I64    ? params[i]
                     : v->type.kind == KIND_BOOL ? LLVMBuildZExt(b->at, params[i], u->i64, "")
                                                 : LLVMBuildSExt(b->at, params[i], u->i64, "");
    args[i] = (Ends){x, x};
  }
  return bound_of_call(&r, f, args, false);
}
