/* Sizes of a call from C, and of the workspace that it takes: see codegen/lower_export.c. */
#include "codegen/export_code.h"
#include "codegen/parallel.h"

/* ---- sizes */
/* What is to be checked, by one branch for all. */
typedef struct SizeChecks {
  Body *body;
  LLVMValueRef any, worst; /* whether one has failed; the size that the first of those is about */
} SizeChecks;

static void check_later(SizeChecks *c, LLVMValueRef bad, LLVMValueRef size) {
  LLVMBuilderRef at = c->body->at;
  if (LLVMIsAConstantInt(bad) && !LLVMConstIntGetZExtValue(bad))
    return;
  /* What is checked may be poison where a check before it fails. */
  c->worst = c->any ? LLVMBuildSelect(at, c->any, c->worst, size, "") : size;
  c->any = c->any ? LLVMBuildSelect(at, c->any, LLVMConstInt(c->body->unit->i1, 1, false), bad, "") : bad;
}

static void check_now(SizeChecks *c) {
  if (c->any)
    fail_size_if(c->body, c->any, c->worst);
  c->any = NULL;
}

/* All extents are constants or parameters. */
static bool is_simple(Type t) {
  for (int i = 0; i < t.rank; i++) {
    const Term *term = t.dims[i]->nterms == 1 ? &t.dims[i]->terms[0] : NULL;
    const bool is_param = term && term->coefficient == 1 && term->npowers == 1 && term->powers[0].exponent == 1 &&
                          term->powers[0].atom->value;
    if (!size_is_const(t.dims[i], NULL) && !is_param)
      return false;
  }
  return true;
}

static void check_bytes(SizeChecks *c, Type t) {
  Body *b = c->body;
  if (!is_simple(t))
    check_now(c); /* what is computed from sizes can take them for good */
  check_type(b, t);
  LLVMValueRef too_many = const_i64(b->unit, INT64_MAX);
  check_later(c, LLVMBuildICmp(b->at, LLVMIntEQ, saturated_bytes(b, t), too_many, ""), too_many);
}

/* The sizes themselves, and the tensors that they describe. */
void check_sizes(Body *b) {
  const Func *f = b->func;
  SizeChecks c = {.body = b};
  for (int i = 0; i < f->nsizes; i++) {
    LLVMValueRef size = value_code(b, f->body->params[i]);
    check_later(&c, LLVMBuildICmp(b->at, LLVMIntSLT, size, const_i64(b->unit, 0), ""), size);
  }
  for (int i = f->nsizes; i < f->body->nparams; i++)
    if (f->body->params[i]->type.rank)
      check_bytes(&c, f->body->params[i]->type);
  for (int i = 0; i < f->nresults; i++)
    if (f->result_types[i].rank)
      check_bytes(&c, f->result_types[i]);
  check_now(&c);
}

LLVMValueRef round_up(Body *b, LLVMValueRef bytes) {
  LLVMValueRef sum = saturating_add(b, bytes, const_i64(b->unit, WORK_ALIGNMENT - 1));
  LLVMValueRef rounded = LLVMBuildAnd(b->at, sum, const_i64(b->unit, -WORK_ALIGNMENT), "");
  LLVMValueRef overflows = LLVMBuildICmp(b->at, LLVMIntEQ, sum, const_i64(b->unit, INT64_MAX), "");
  return LLVMBuildSelect(b->at, overflows, sum, rounded, "");
}

void always_inline(Unit *u, LLVMValueRef call) {
  LLVMAddCallSiteAttribute(call, LLVMAttributeFunctionIndex, attribute(u, "alwaysinline", 0));
}

/* The size of the function's own workspace; args: by parameter. */
static LLVMValueRef planned_bytes(Body *b) {
  const Func *f = b->func;
  if (!b->plan->slots->parts.n)
    return const_i64(b->unit, 0);
  LLVMValueRef *args = NEW_ARRAY(b->unit->arena, LLVMValueRef, f->body->nparams + 1);
  int n = 0;
  if (b->plan->uses_lanes)
    args[n++] = b->lanes;
  for (int i = 0; i < f->body->nparams; i++)
    if (is_work_param(f->body->params[i]))
      args[n++] = b->params[i] ? b->params[i]
                               : LLVMGetPoison(type_of_kind(b->unit, f->body->params[i]->type.kind)); /* matters not */
  LLVMValueRef call = LLVMBuildCall2(b->at, func_note(f)->work_type, func_note(f)->work_code, args, (unsigned)n, "");
  if (b->plan->slots->parts.n <= FEW_PARTS && b->unit->options->opt_level)
    always_inline(b->unit, call);
  return call;
}

/* The number of threads that may take part, where something runs in blocks. */
void ask_for_lanes(Body *b) {
  Unit *u = b->unit;
  if (!b->plan->uses_lanes)
    return;
  LLVMValueRef threads = call_declared(b, declared(u, "gradc_rt_threads", u->i32, 0, NULL), 0, NULL);
  LLVMValueRef pair[] = {LLVMBuildSExt(b->at, threads, u->i64, ""), const_i64(u, MAX_LANES)};
  b->lanes = call_intrinsic(b, "llvm.smin", 1, &u->i64, 2, pair);
}

LLVMValueRef fixed_bytes(Body *b) {
  LLVMValueRef context = const_i64(b->unit, needs_context(b->plan) ? CONTEXT_BYTES : 0);
  return saturating_add(b, planned_bytes(b), context);
}

/* ---- the workspace */
/* Takes result i's bytes from what is left for results in the frame, if it can be there. */
int take_frame(const Export *export, int i, int *left) {
  const Type t = export->func->result_types[i];
  int64_t bytes = kind_bytes(t.kind), n;
  for (int j = 0; j < t.rank; j++) {
    if (!size_is_const(t.dims[j], &n) || n < 0 || n > FRAME_RESULT_BYTES || (bytes *= n) > FRAME_RESULT_BYTES)
      return 0;
  }
  if (!t.rank || result_is_hidden(export, i) || !bytes || bytes > *left)
    return 0;
  *left -= (int)bytes;
  return (int)bytes;
}

/* Whether a call never takes a workspace. */
bool needs_no_work(const Export *export) {
  const Func *f = export->func;
  const WorkPlan *plan = func_note(f)->plan;
  bool none = !needs_context(plan) && !plan->slots->parts.n;
  int left = FRAME_BYTES;
  for (int i = 0; i < f->nresults; i++)
    none &= !f->result_types[i].rank || result_is_hidden(export, i) || take_frame(export, i, &left);
  return none;
}

bool accumulates(const ExportCode *e, int result) {
  return result >= e->interface->export->accumulate_from;
}

void measure_work(ExportCode *e) {
  Body *b = &e->body;
  Unit *u = b->unit;
  const Func *f = b->func;
  e->asides = NEW_ARRAY(u->arena, LLVMValueRef, f->nresults);
  e->bytes = NEW_ARRAY(u->arena, LLVMValueRef, f->nresults);
  e->frames = NEW_ARRAY(u->arena, int, f->nresults);
  e->aside = const_i64(u, 0);
  int left = FRAME_BYTES;
  e->no_work = needs_no_work(e->interface->export);
  for (int i = 0; i < f->nresults; i++) {
    const Type t = f->result_types[i];
    if (!t.rank)
      continue;
    e->bytes[i] = const_i64(u, 0);
    if (result_is_hidden(e->interface->export, i)) {
      e->asides[i] = LLVMConstInt(u->i1, 0, false);
      continue;
    }
    e->asides[i] = accumulates(e, i) ? LLVMConstInt(u->i1, 1, false) : LLVMBuildIsNull(b->at, e->outputs[i], "");
    e->frames[i] = take_frame(e->interface->export, i, &left);
    if (e->frames[i]) {
      if (e->frames[i] <= COPIED_BYTES)
        e->asides[i] = LLVMConstInt(u->i1, 1, false);
      continue;
    }
    LLVMValueRef bytes = round_up(b, saturated_bytes(b, t));
    e->bytes[i] = LLVMBuildSelect(b->at, e->asides[i], bytes, const_i64(u, 0), "");
    e->aside = saturating_add(b, e->aside, e->bytes[i]);
  }
  e->fixed = fixed_bytes(b);
  e->total = saturating_add(b, e->fixed, e->aside);
}

/* As many lanes as `room` bytes suffice for, and one at least. */
void fit_lanes(ExportCode *e, LLVMValueRef room) {
  Body *b = &e->body;
  Unit *u = b->unit;
  LLVMBasicBlockRef before = current_block(b), header = new_block(b, "lanes"), after = new_block(b, "");
  LLVMValueRef one = const_i64(u, 1), wished = b->lanes;
  LLVMBuildBr(b->at, header);
  begin_block(b, header);
  b->lanes = LLVMBuildPhi(b->at, u->i64, "lanes");
  e->fixed = fixed_bytes(b);
  e->total = saturating_add(b, e->fixed, e->aside);
  LLVMValueRef fewer = LLVMBuildNSWSub(b->at, b->lanes, one, "");
  LLVMValueRef many = LLVMBuildICmp(b->at, LLVMIntSGT, b->lanes, one, "");
  many = LLVMBuildAnd(b->at, many, LLVMBuildICmp(b->at, LLVMIntSGT, e->total, room, ""), "");
  LLVMValueRef values[] = {wished, fewer};
  LLVMBasicBlockRef blocks[] = {before, current_block(b)};
  LLVMAddIncoming(b->lanes, values, blocks, 2);
  LLVMBuildCondBr(b->at, many, header, after);
  begin_block(b, after);
}
