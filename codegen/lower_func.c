/* From a function of the IR to an LLVM function. */
#include "codegen/body.h"
#include <string.h>

static void mark_param(Unit *u, LLVMValueRef f, unsigned i, const char *name) {
  LLVMAddAttributeAtIndex(f, i + 1, attribute(u, name, 0));
}

static LLVMValueRef declare_code(Unit *u, const Func *f, const char *name) {
  const int nparams = f->body->nparams;
  LLVMValueRef code = LLVMAddFunction(u->llvm, name, func_note(f)->type);
  LLVMSetLinkage(code, LLVMInternalLinkage);
  LLVMAddAttributeAtIndex(code, LLVMAttributeFunctionIndex, attribute(u, "nounwind", 0));
  for (int i = 0; i < 2; i++)
    mark_param(u, code, (unsigned)i, "noalias");
  for (int i = 0; i < nparams; i++) {
    if (!f->body->params[i]->type.rank)
      continue;
    mark_param(u, code, (unsigned)i + FIRST_PARAM, "noalias");
    mark_param(u, code, (unsigned)i + FIRST_PARAM, "readonly");
    mark_param(u, code, (unsigned)i + FIRST_PARAM, "nocapture");
  }
  for (int i = 0; i < f->nresults; i++) {
    mark_param(u, code, (unsigned)(i + FIRST_PARAM + nparams), "noalias");
    mark_param(u, code, (unsigned)(i + FIRST_PARAM + nparams), "nocapture");
  }
  return code;
}

static void count_op(Op *op, void *arg) {
  (void)op;
  ++*(int *)arg;
}

bool has_few_ops(const Func *f) {
  enum { FEW_OPS = 400 };
  int n = 0;
  region_walk(f->body, count_op, &n);
  return !f->nsizes && n <= FEW_OPS;
}

/* Whether an export, and no part of one, runs it without a workspace. */
static bool is_exported_alone(const Func *f) {
  const FuncNote *note = func_note(f);
  return note->is_exported && !note->is_part && !needs_context(note->plan) && !note->plan->slots->parts.n;
}

void declare_func(Unit *u, Func *f) {
  FuncNote *note = func_note(f);
  const int nparams = f->body->nparams;
  LLVMTypeRef *types = NEW_ARRAY(u->arena, LLVMTypeRef, FIRST_PARAM + nparams + f->nresults);
  int n = 0;
  types[n++] = u->ptr;
  types[n++] = u->ptr;
  types[n++] = u->i64;
  for (int i = 0; i < nparams; i++) {
    const Type t = f->body->params[i]->type;
    types[n++] = t.rank ? u->ptr : type_of_kind(u, t.kind);
  }
  for (int i = 0; i < f->nresults; i++)
    types[n++] = u->ptr;
  note->type = LLVMFunctionType(u->i32, types, (unsigned)n, false);
  note->code = declare_code(u, f, arena_printf(u->arena, "%s.ad", f->name));
  if (u->options->opt_level >= 2 && is_exported_alone(f) && has_few_ops(f) && mark_bare_products(u, f))
    note->bare_code = declare_code(u, f, arena_printf(u->arena, "%s.bare.ad", f->name));
}

void body_begin(Body *b, Unit *u, Func *f, LLVMValueRef code) {
  *b = (Body){.unit = u, .func = f, .code = code, .loc = f->loc};
  if (func_note(f)) {
    b->storage = func_note(f)->storage;
    b->plan = func_note(f)->plan;
  }
  b->at = LLVMCreateBuilderInContext(u->context);
  b->entry = LLVMCreateBuilderInContext(u->context);
  LLVMBasicBlockRef entry = new_block(b, "entry"), start = new_block(b, "start");
  LLVMPositionBuilderAtEnd(b->entry, entry);
  LLVMPositionBuilderBefore(b->entry, LLVMBuildBr(b->entry, start));
  LLVMPositionBuilderAtEnd(b->at, start);
}

void body_end(Body *b) {
  LLVMDisposeBuilder(b->at);
  LLVMDisposeBuilder(b->entry);
}

static void bind_params(Body *b) {
  const Func *f = b->func;
  b->context = LLVMGetParam(b->code, 0);
  b->work = LLVMGetParam(b->code, 1);
  b->wanted = f->nresults > 1 ? LLVMGetParam(b->code, 2) : NULL;
  b->params = NEW_ARRAY(b->unit->arena, LLVMValueRef, f->body->nparams);
  for (int i = 0; i < f->body->nparams; i++) {
    const Value *v = f->body->params[i];
    b->params[i] = LLVMGetParam(b->code, (unsigned)i + FIRST_PARAM);
    if (v->name)
      LLVMSetValueName2(b->params[i], v->name, strlen(v->name));
    set_value(v, b->params[i]);
    if (note_of(v)->storage)
      place_of(note_of(v)->storage)->address = b->params[i];
  }
}

static LLVMValueRef result_pointer(Body *b, int i) {
  return LLVMGetParam(b->code, (unsigned)(FIRST_PARAM + b->func->body->nparams + i));
}

static void lower_code(Unit *u, Func *f, LLVMValueRef code) {
  Body b;
  body_begin(&b, u, f, code);
  b.bare_zeros = code == func_note(f)->bare_code;
  /* Functions of few numbers are parts of others; what has lines may not change its function. */
  b.outlines = u->options->opt_level && !u->options->scalar && !u->options->debug_lines && !has_few_ops(f);
  debug_function(&b, f->name, f->loc);
  bind_params(&b);
  if (b.plan->uses_lanes)
    b.lanes = LLVMBuildLoad2(b.entry, u->i64, b.context, "lanes");
  work_begin(&b);
  RegionNote *note = &b.storage->body;
  for (int i = 0; i < f->nresults; i++)
    if (note->edges[i])
      place_of(note->edges[i]->to)->address = result_pointer(&b, i);
  concat_places(&b);
  LLVMValueRef mark = lower_region(&b, f->body);
  take_edges(&b, f->nresults, note->edges);
  for (int i = 0; i < f->nresults; i++) {
    const Kind k = f->result_types[i].kind;
    if (!note->edges[i])
      store_element(&b, k, value_code(&b, f->body->yields[i]), result_pointer(&b, i), NULL);
  }
  region_pop(&b, mark);
  LLVMBuildRet(b.at, LLVMConstInt(u->i32, 0, false));
  body_end(&b);
}

void lower_func(Unit *u, Func *f) {
  lower_code(u, f, func_note(f)->code);
  if (func_note(f)->bare_code)
    lower_code(u, f, func_note(f)->bare_code);
}
