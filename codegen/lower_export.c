/* The C functions of an export: name, name_ws and name_worksize.  Of the first two one has the code and the other calls
   it: name, where no workspace is needed, else name_ws, which takes a workspace of its own where the size is OWN_WORK.

   The workspace of a call, in this order, each part a multiple of WORK_ALIGNMENT:
     the context of what is pushed, if anything is; the planned tensors; for each output that is NULL or that is added
   into, a tensor to compute it in, unless that is small and stands in the frame; what may be pushed. */
#include "codegen/export_code.h"
#include "codegen/parallel.h"
#include <string.h>

static LLVMValueRef zero_status(Unit *u) {
  return LLVMConstInt(u->i32, 0, false);
}

/* ---- the C function */
static void set_extension(Unit *u, LLVMValueRef f, unsigned index, LLVMTypeRef type) {
  if (type == u->i8)
    LLVMAddAttributeAtIndex(f, index, attribute(u, "zeroext", 0));
  else if (type == u->i32 && u->sign_extends)
    LLVMAddAttributeAtIndex(f, index, attribute(u, "signext", 0));
}

static LLVMTypeRef c_type(Unit *u, const CParam *p) {
  return p->role == C_SIZE || p->role == C_SCALAR ? memory_type(u, p->kind) : u->ptr;
}

static LLVMValueRef add_c_function(Unit *u, const char *name, LLVMTypeRef result, int n, LLVMTypeRef *types) {
  LLVMValueRef f = LLVMAddFunction(u->llvm, name, LLVMFunctionType(result, types, (unsigned)n, false));
  LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex, attribute(u, "nounwind", 0));
  set_extension(u, f, LLVMAttributeReturnIndex, result);
  for (int i = 0; i < n; i++)
    set_extension(u, f, (unsigned)i + 1, types[i]);
  return f;
}

static LLVMValueRef declare_export(Unit *u, const CInterface *c, const char *name, bool with_work) {
  LLVMTypeRef *types = NEW_ARRAY(u->arena, LLVMTypeRef, c->nparams + 2);
  int n = 0;
  for (int i = 0; i < c->nparams; i++)
    types[n++] = c_type(u, &c->params[i]);
  if (with_work) {
    types[n++] = u->ptr;
    types[n++] = u->i64;
  }
  LLVMValueRef f = add_c_function(u, name, u->i32, n, types);
  for (int i = 0; i < c->nparams; i++) {
    const CParam *p = &c->params[i];
    if (p->role == C_TENSOR || (p->role == C_TAPE && c->export->part == PART_BACKWARD))
      LLVMAddAttributeAtIndex(f, (unsigned)i + 1, attribute(u, "readonly", 0));
    if (p->role == C_TENSOR || p->role == C_OUTPUT || p->role == C_TAPE)
      LLVMAddAttributeAtIndex(f, (unsigned)i + 1, attribute(u, "nocapture", 0));
    LLVMSetValueName2(LLVMGetParam(f, (unsigned)i), p->name, strlen(p->name));
  }
  return f;
}

/* ---- the call */
static void bind_arguments(ExportCode *e) {
  Body *b = &e->body;
  Unit *u = b->unit;
  const Func *f = b->func;
  b->params = NEW_ARRAY(u->arena, LLVMValueRef, f->body->nparams);
  e->outputs = NEW_ARRAY(u->arena, LLVMValueRef, f->nresults);
  for (int i = 0; i < e->interface->nparams; i++) {
    const CParam *p = &e->interface->params[i];
    LLVMValueRef x = LLVMGetParam(b->code, (unsigned)i);
    if (p->role == C_TAPE) {
      e->tape = x;
      continue;
    }
    if (p->role == C_OUTPUT) {
      e->outputs[p->index] = x;
      continue;
    }
    if (p->role != C_TENSOR && p->kind == KIND_BOOL)
      x = LLVMBuildICmp(b->at, LLVMIntNE, x, LLVMConstInt(u->i8, 0, false), "");
    b->params[p->index] = x;
    set_value(f->body->params[p->index], x);
  }
}

/* The tensors of the tape become arguments. */
static void bind_tape(ExportCode *e) {
  Body *b = &e->body;
  const Export *export = e->interface->export;
  if (!e->tape)
    return;
  LLVMValueRef *addresses = NEW_ARRAY(b->unit->arena, LLVMValueRef, export->cut.n);
  tape_addresses(b, export, e->tape, addresses);
  for (int i = 0; i < export->cut.n; i++)
    (export->part == PART_BACKWARD ? b->params : e->outputs)[export->cut.first + i] = addresses[i];
}

static LLVMValueRef moved(Body *b, LLVMValueRef p, LLVMValueRef bytes) {
  return LLVMBuildInBoundsGEP2(b->at, b->unit->i8, p, &bytes, 1, "");
}

static void open_context(Body *b, LLVMValueRef context, LLVMValueRef rest, LLVMValueRef room,
                         LLVMValueRef may_allocate) {
  Unit *u = b->unit;
  LLVMTypeRef types[] = {u->ptr, u->ptr, u->i64, u->i32};
  LLVMValueRef args[] = {context, rest, room, LLVMBuildZExt(b->at, may_allocate, u->i32, "")};
  call_declared(b, declared(u, "gradc_rt_open", u->nothing, 4, types), 4, args);
}

static void store_output(ExportCode *e, int i, LLVMValueRef computed) {
  Body *b = &e->body;
  Unit *u = b->unit;
  const Type t = b->func->result_types[i];
  const bool copies = e->frames[i] && LLVMIsConstant(e->asides[i]);
  if (t.rank && !accumulates(e, i) && !copies)
    return;
  LLVMBasicBlockRef store = new_block(b, "store"), after = new_block(b, "");
  LLVMBuildCondBr(b->at, LLVMBuildIsNull(b->at, e->outputs[i], ""), after, store);
  begin_block(b, store);
  if (t.rank && !accumulates(e, i)) {
    copy_tensor(b, t, e->outputs[i], computed);
    LLVMBuildBr(b->at, after);
    begin_block(b, after);
    return;
  }
  CountedLoop l;
  if (t.rank)
    counted_begin(b, &l, count_code(b, t), "accumulate");
  LLVMValueRef at = t.rank ? l.index : const_i64(u, 0);
  LLVMValueRef from = element_address(b, t.kind, computed, at), to = element_address(b, t.kind, e->outputs[i], at);
  LLVMValueRef x = load_element(b, t.kind, from, NULL);
  if (accumulates(e, i))
    x = arithmetic(b, OP_ADD, t.kind, load_element(b, t.kind, to, NULL), x, u->fast_reduce);
  store_element(b, t.kind, x, to, NULL);
  if (t.rank)
    counted_end(b, &l);
  LLVMBuildBr(b->at, after);
  begin_block(b, after);
}

/* Where `own` holds, a workspace from the thread's arena in place of the given one; not where none is needed, because
   no output is NULL or added into and nothing is planned.  *taken: whether it was. */
static LLVMValueRef acquire(ExportCode *e, LLVMValueRef own, LLVMValueRef given, LLVMValueRef *taken) {
  Body *b = &e->body;
  Unit *u = b->unit;
  LLVMBasicBlockRef before = current_block(b), take = new_block(b, "acquire"), after = new_block(b, "");
  LLVMValueRef needed = LLVMBuildICmp(b->at, LLVMIntNE, e->total, const_i64(u, 0), "");
  LLVMBuildCondBr(b->at, LLVMBuildAnd(b->at, own, needed, ""), take, after);
  begin_block(b, take);
  LLVMValueRef work = call_declared(b, declared(u, "gradc_rt_acquire", u->ptr, 1, &u->i64), 1, &e->total);
  fail_memory_if(b, LLVMBuildIsNull(b->at, work, ""), e->total);
  LLVMBasicBlockRef blocks[] = {before, current_block(b)};
  LLVMBuildBr(b->at, after);
  begin_block(b, after);
  LLVMValueRef works[] = {given, work}, phi = LLVMBuildPhi(b->at, u->ptr, "work");
  LLVMValueRef flags[] = {LLVMConstInt(u->i1, 0, false), LLVMConstInt(u->i1, 1, false)};
  LLVMAddIncoming(phi, works, blocks, 2);
  *taken = LLVMBuildPhi(b->at, u->i1, "taken");
  LLVMAddIncoming(*taken, flags, blocks, 2);
  return phi;
}

static void release_if(Body *b, LLVMValueRef taken, LLVMValueRef work) {
  Unit *u = b->unit;
  LLVMBasicBlockRef give = new_block(b, "release"), after = new_block(b, "");
  LLVMBuildCondBr(b->at, taken, give, after);
  begin_block(b, give);
  call_declared(b, declared(u, "gradc_rt_release", u->nothing, 1, &u->ptr), 1, &work);
  LLVMBuildBr(b->at, after);
  begin_block(b, after);
}

/* The set of outputs that are not NULL. */
static LLVMValueRef wanted_results(const ExportCode *e) {
  const Body *b = &e->body;
  Unit *u = b->unit;
  LLVMValueRef set = const_i64(u, 0);
  for (int i = 0; i < b->func->nresults; i++) {
    LLVMValueRef bit = const_i64(u, (int64_t)wanted_bit(i)), is_null = LLVMBuildIsNull(b->at, e->outputs[i], "");
    set = LLVMBuildOr(b->at, set, LLVMBuildSelect(b->at, is_null, const_i64(u, 0), bit, ""), "");
  }
  return set;
}

/* What the function is called with on a workspace; *results: the pointers to its results among them. */
static LLVMValueRef *arguments(ExportCode *e, LLVMValueRef work, LLVMValueRef **results, LLVMValueRef *rest) {
  Body *b = &e->body;
  Unit *u = b->unit;
  const Func *f = b->func;
  const bool uses_context = needs_context(b->plan);
  LLVMValueRef *args = NEW_ARRAY(u->arena, LLVMValueRef, FIRST_PARAM + f->body->nparams + f->nresults);
  int n = 0;
  args[n++] = uses_context ? work : LLVMConstNull(u->ptr);
  args[n++] = uses_context ? moved(b, work, const_i64(u, CONTEXT_BYTES)) : work;
  args[n++] = wanted_results(e);
  for (int i = 0; i < f->body->nparams; i++)
    args[n++] = b->params[i];
  LLVMValueRef next = e->no_work ? work : moved(b, work, e->fixed);
  *results = args + n;
  for (int i = 0; i < f->nresults; i++) {
    const Type t = f->result_types[i];
    if (!t.rank) {
      args[n++] = entry_alloca(b, memory_type(u, t.kind), 1, (unsigned)kind_bytes(t.kind), "");
      continue;
    }
    LLVMValueRef frame = e->frames[i] ? entry_alloca(b, u->i8, e->frames[i], 16, "aside") : NULL;
    args[n++] = LLVMBuildSelect(b->at, e->asides[i], frame ? frame : next, e->outputs[i], "");
    if (!frame)
      next = moved(b, next, e->bytes[i]);
  }
  *rest = next;
  return args;
}

static LLVMValueRef call_code(ExportCode *e, LLVMValueRef code, LLVMValueRef *args) {
  const Func *f = e->body.func;
  const int n = FIRST_PARAM + f->body->nparams + f->nresults;
  return LLVMBuildCall2(e->body.at, func_note(f)->type, code, args, (unsigned)n, "");
}

static void store_outputs(ExportCode *e, LLVMValueRef *computed) {
  for (int i = 0; i < e->body.func->nresults; i++)
    store_output(e, i, computed[i]);
}

/* The version with plain products; where one of its results is NaN, the C function `exactly`, of the same arguments. */
static void call_bare(ExportCode *e, LLVMValueRef exactly) {
  Body *b = &e->body;
  Unit *u = b->unit;
  LLVMValueRef *computed, rest, *args = arguments(e, LLVMConstNull(u->ptr), &computed, &rest);
  LLVMValueRef status = call_code(e, func_note(b->func)->bare_code, args);
  always_inline(u, status);
  LLVMValueRef no = LLVMConstInt(u->i1, 0, false), again = no;
  for (int i = 0; i < b->func->nresults; i++) {
    LLVMValueRef nan = any_result_is_nan(b, i, computed[i]);
    nan = LLVMBuildSelect(b->at, LLVMBuildIsNull(b->at, e->outputs[i], ""), no, nan, ""); /* then not made, perhaps */
    again = LLVMBuildOr(b->at, again, nan, "");
  }
  LLVMBasicBlockRef good = new_block(b, "good"), done = new_block(b, "done"), made = new_block(b, "made");
  LLVMBasicBlockRef bad = new_block(b, "exactly");
  LLVMBuildCondBr(b->at, LLVMBuildICmp(b->at, LLVMIntEQ, status, zero_status(u), ""), made, done);
  begin_block(b, made);
  mark_unlikely(u, LLVMBuildCondBr(b->at, again, bad, good));
  begin_block(b, good);
  store_outputs(e, computed);
  LLVMBuildBr(b->at, done);
  begin_block(b, done);
  LLVMBuildRet(b->at, status);
  begin_block(b, bad);
  LLVMValueRef *given = NEW_ARRAY(u->arena, LLVMValueRef, e->interface->nparams);
  for (int i = 0; i < e->interface->nparams; i++)
    given[i] = LLVMGetParam(b->code, (unsigned)i);
  LLVMTypeRef type = LLVMGlobalGetValueType(exactly);
  LLVMValueRef result = LLVMBuildCall2(b->at, type, exactly, given, (unsigned)e->interface->nparams, "");
  LLVMSetTailCallKind(result, LLVMTailCallKindTail);
  LLVMBuildRet(b->at, result);
}

/* Calls the function on a workspace of which `room` bytes are left after the fixed parts, and which is given back
   afterwards where `taken` holds; NULL: it never does. */
static void call_body(ExportCode *e, LLVMValueRef work, LLVMValueRef room, LLVMValueRef taken) {
  Body *b = &e->body;
  Unit *u = b->unit;
  Func *f = b->func;
  const bool uses_context = needs_context(b->plan);
  LLVMValueRef *computed, rest, *args = arguments(e, work, &computed, &rest);
  if (uses_context)
    open_context(b, work, rest, room, taken ? taken : LLVMConstInt(u->i1, 0, false));
  if (b->plan->uses_lanes)
    LLVMBuildStore(b->at, b->lanes, work);
  LLVMValueRef status = call_code(e, func_note(f)->code, args);
  if (e->no_work && !func_note(f)->bare_code && u->options->opt_level >= 2 && has_few_ops(f))
    always_inline(u, status);
  LLVMBasicBlockRef good = new_block(b, "good"), done = new_block(b, "done");
  LLVMBuildCondBr(b->at, LLVMBuildICmp(b->at, LLVMIntEQ, status, zero_status(u), ""), good, done);
  begin_block(b, good);
  store_outputs(e, computed);
  LLVMBuildBr(b->at, done);
  begin_block(b, done);
  if (uses_context)
    call_declared(b, declared(u, "gradc_rt_close", u->nothing, 1, &u->ptr), 1, &work);
  if (taken)
    release_if(b, taken, work);
  LLVMBuildRet(b->at, status);
}

static void export_begin(ExportCode *e, Unit *u, const Export *export, const CInterface *c, LLVMValueRef code) {
  *e = (ExportCode){.interface = c};
  body_begin(&e->body, u, export->func, code);
  debug_function(&e->body, LLVMGetValueName2(code, &(size_t){0}), export->loc);
  set_location(&e->body, export->loc.src ? export->loc : export->func->loc);
  bind_arguments(e);
  LLVMValueRef status = bind_computed_sizes(&e->body, export);
  if (status)
    fail_status(&e->body, status);
  check_sizes(&e->body);
  bind_tape(e);
  ask_for_lanes(&e->body);
  measure_work(e);
}

/* An internal function that computes without the version with plain products. */
static LLVMValueRef lower_exactly(Unit *u, const Export *export, const CInterface *c) {
  LLVMValueRef code = declare_export(u, c, arena_printf(u->arena, "%s.exactly", c->symbol), false);
  LLVMSetLinkage(code, LLVMInternalLinkage);
  LLVMAddAttributeAtIndex(code, LLVMAttributeFunctionIndex, attribute(u, "noinline", 0));
  LLVMAddAttributeAtIndex(code, LLVMAttributeFunctionIndex, attribute(u, "cold", 0));
  ExportCode e;
  export_begin(&e, u, export, c, code);
  call_body(&e, LLVMConstNull(u->ptr), const_i64(u, 0), NULL);
  body_end(&e.body);
  return code;
}

/* One of name and name_ws calls the other, `code`. */
static void lower_forward(Unit *u, const Export *export, const CInterface *c, bool from_ws, LLVMValueRef code) {
  Body b;
  const char *symbol = from_ws ? c->ws_symbol : c->symbol;
  LLVMValueRef own = declare_export(u, c, symbol, from_ws);
  body_begin(&b, u, export->func, own);
  debug_function(&b, symbol, export->loc);
  LLVMValueRef *args = NEW_ARRAY(u->arena, LLVMValueRef, c->nparams + 2);
  int n = 0;
  for (int i = 0; i < c->nparams; i++)
    args[n++] = LLVMGetParam(own, (unsigned)i);
  if (!from_ws) {
    args[n++] = LLVMConstNull(u->ptr);
    args[n++] = const_i64(u, OWN_WORK);
  }
  LLVMValueRef status = LLVMBuildCall2(b.at, LLVMGlobalGetValueType(code), code, args, (unsigned)n, "");
  LLVMSetTailCallKind(status, LLVMTailCallKindTail);
  LLVMBuildRet(b.at, status);
  body_end(&b);
}

/* The code where no workspace is needed, in name, or in name_ws where that is the only one. */
static void lower_no_work(Unit *u, const Export *export, const CInterface *c) {
  LLVMValueRef exactly = func_note(export->func)->bare_code ? lower_exactly(u, export, c) : NULL;
  LLVMValueRef code = declare_export(u, c, c->has_plain ? c->symbol : c->ws_symbol, !c->has_plain);
  ExportCode e;
  export_begin(&e, u, export, c, code);
  if (exactly)
    call_bare(&e, exactly);
  else
    call_body(&e, LLVMConstNull(u->ptr), const_i64(u, 0), NULL);
  body_end(&e.body);
  if (c->has_plain)
    lower_forward(u, export, c, true, code);
}

/* The code in name_ws; what name gives it is a workspace that may be taken. */
static void lower_with_work(Unit *u, const Export *export, const CInterface *c) {
  LLVMValueRef code = declare_export(u, c, c->ws_symbol, true);
  ExportCode e;
  export_begin(&e, u, export, c, code);
  Body *b = &e.body;
  LLVMValueRef given = LLVMGetParam(code, (unsigned)c->nparams), size = LLVMGetParam(code, (unsigned)c->nparams + 1);
  LLVMValueRef is_null = LLVMBuildIsNull(b->at, given, ""), own = NULL, taken = NULL;
  if (c->has_plain)
    own = LLVMBuildAnd(b->at, is_null, LLVMBuildICmp(b->at, LLVMIntEQ, size, const_i64(u, OWN_WORK), ""), "");
  /* The caller's memory need not be aligned. */
  LLVMValueRef address = LLVMBuildPtrToInt(b->at, given, u->i64, ""), mask = const_i64(u, WORK_ALIGNMENT - 1);
  LLVMValueRef skipped = LLVMBuildAnd(b->at, LLVMBuildNeg(b->at, address, ""), mask, "");
  LLVMValueRef aligned = LLVMBuildSub(b->at, size, skipped, "");
  if (b->plan->uses_lanes)
    fit_lanes(&e, own ? LLVMBuildSelect(b->at, own, const_i64(u, INT64_MAX), aligned, "") : aligned);
  LLVMValueRef room = LLVMBuildSub(b->at, aligned, e.total, "");
  LLVMValueRef none = LLVMBuildICmp(b->at, LLVMIntEQ, e.total, const_i64(u, 0), "");
  LLVMValueRef bad_size = LLVMBuildICmp(b->at, LLVMIntSLT, size, const_i64(u, 0), "");
  LLVMValueRef is_short = LLVMBuildOr(b->at, bad_size, LLVMBuildICmp(b->at, LLVMIntSLT, room, const_i64(u, 0), ""), "");
  is_short = LLVMBuildOr(b->at, is_short, is_null, "");
  is_short = LLVMBuildAnd(b->at, is_short, LLVMBuildNot(b->at, none, ""), "");
  if (own)
    is_short = LLVMBuildAnd(b->at, is_short, LLVMBuildNot(b->at, own, ""), "");
  fail_workspace_if(b, is_short, size, saturating_add(b, e.total, mask));
  LLVMValueRef work = moved(b, given, skipped);
  if (own) {
    work = acquire(&e, own, work, &taken);
    room = LLVMBuildSelect(b->at, taken, const_i64(u, 0), room, "");
  }
  call_body(&e, work, room, taken);
  body_end(b);
  if (c->has_plain)
    lower_forward(u, export, c, false, code);
}

/* name_worksize; of a cut export's third part the one function that it has. */
static void lower_worksize(Unit *u, const Export *export, const CInterface *c) {
  Func *f = export->func;
  LLVMTypeRef *types = NEW_ARRAY(u->arena, LLVMTypeRef, c->nparams);
  int n = 0;
  for (int i = 0; i < c->nparams; i++)
    if (c->params[i].sizes_work)
      types[n++] = c_type(u, &c->params[i]);
  Body b;
  const char *symbol = export->part == PART_TAPESIZE ? c->symbol : c->worksize_symbol;
  body_begin(&b, u, f, add_c_function(u, symbol, u->i64, n, types));
  debug_function(&b, symbol, export->loc);
  b.params = NEW_ARRAY(u->arena, LLVMValueRef, f->body->nparams);
  n = 0;
  for (int i = 0; i < c->nparams; i++) {
    if (!c->params[i].sizes_work)
      continue;
    b.params[c->params[i].index] = LLVMGetParam(b.code, (unsigned)n++);
    set_value(f->body->params[c->params[i].index], b.params[c->params[i].index]);
  }
  if (export->part == PART_TAPESIZE) {
    lower_tapesize(&b, export);
    body_end(&b);
    return;
  }
  ask_for_lanes(&b);
  LLVMValueRef status = bind_computed_sizes(&b, export), total = fixed_bytes(&b);
  total = saturating_add(&b, total, pushed_bytes(&b, b.params));
  int left = FRAME_BYTES;
  for (int i = 0; i < f->nresults; i++)
    if (f->result_types[i].rank && !result_is_hidden(export, i) && !take_frame(export, i, &left))
      total = saturating_add(&b, total, round_up(&b, saturated_bytes(&b, f->result_types[i])));
  LLVMValueRef zero = const_i64(u, 0), none = LLVMBuildICmp(b.at, LLVMIntEQ, total, zero, "");
  LLVMValueRef aligned = saturating_add(&b, total, const_i64(u, WORK_ALIGNMENT - 1));
  LLVMBuildRet(b.at, unless_failed(&b, status, LLVMBuildSelect(b.at, none, zero, aligned, "")));
  body_end(&b);
}

void lower_export(Unit *u, const Export *e) {
  const CInterface *c = interface_of(u->module, e, u->options);
  lower_worksize(u, e, c);
  if (!c->has_ws)
    return;
  if (needs_no_work(e))
    lower_no_work(u, e, c);
  else
    lower_with_work(u, e, c);
}
