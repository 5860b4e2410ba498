/* Code for functions that run in blocks, and for calls of them: see codegen/parallel.h. */
#include "codegen/loop_code.h"
#include "codegen/parallel.h"

/* GRAIN: the operations of a block that is worth handing to a thread; tests build with less.  SHARE: what blocks add to
   the work is no more than one part in so many.  MOST_BYTES: of all accumulators. */
#ifndef GRADC_GRAIN
#define GRADC_GRAIN 60000
#endif
enum { GRAIN = GRADC_GRAIN, SHARE = GRAIN > 1 ? 16 : 0, MOST_BYTES = 32 << 20 };

/* ---- the length of a block
   In floating point, which does not overflow; IEEE arithmetic gives the same on all processors. */
static LLVMValueRef at_most(Body *b, LLVMValueRef x, LLVMValueRef most) {
  return LLVMBuildSelect(b->at, LLVMBuildFCmp(b->at, LLVMRealOLT, x, most, ""), x, most, "");
}

static LLVMValueRef number(Body *b, double x) {
  return LLVMConstReal(b->unit->f64, x);
}

/* The float of what a need amounts to, and 1 more. */
static LLVMValueRef amount(Body *b, const Need *need) {
  LLVMValueRef x = LLVMBuildSIToFP(b->at, need_code(b, need), b->unit->f64, "");
  return LLVMBuildFAdd(b->at, x, number(b, 1), "");
}

static LLVMValueRef most_blocks(Body *b, LLVMValueRef count) {
  const PartPlan *part = b->plan->part;
  LLVMValueRef n = LLVMBuildSIToFP(b->at, count, b->unit->f64, "");
  LLVMValueRef work = LLVMBuildFMul(b->at, n, amount(b, part->work), "");
  LLVMValueRef blocks = at_most(b, n, number(b, MAX_BLOCKS));
  blocks = at_most(b, LLVMBuildFDiv(b->at, work, number(b, GRAIN), ""), blocks);
  LLVMValueRef overhead = LLVMBuildFMul(b->at, amount(b, part->overhead), number(b, SHARE), "");
  blocks = at_most(b, LLVMBuildFDiv(b->at, work, overhead, ""), blocks);
  blocks = at_most(b, LLVMBuildFDiv(b->at, number(b, MOST_BYTES), amount(b, part->sums), ""), blocks);
  LLVMValueRef none = LLVMBuildFCmp(b->at, LLVMRealOLT, blocks, number(b, 1), "");
  return LLVMBuildFPToSI(b->at, LLVMBuildSelect(b->at, none, number(b, 1), blocks, ""), b->unit->i64, "");
}

static LLVMValueRef divided_up(Body *b, LLVMValueRef n, LLVMValueRef by) {
  Unit *u = b->unit;
  LLVMValueRef less = LLVMBuildNSWSub(b->at, n, const_i64(u, 1), "");
  return LLVMBuildNSWAdd(b->at, LLVMBuildSDiv(b->at, less, by, ""), const_i64(u, 1), "");
}

static LLVMValueRef at_least_one(Body *b, LLVMValueRef x) {
  LLVMValueRef pair[] = {x, const_i64(b->unit, 1)};
  return call_intrinsic(b, "llvm.smax", 1, &b->unit->i64, 2, pair);
}

/* Whole vectors: what is left over runs in scalars, at the end of the last block alone. */
static LLVMValueRef length_of_block(Body *b, LLVMValueRef count) {
  Unit *u = b->unit;
  const int multiple = b->plan->part->multiple;
  LLVMValueRef length = divided_up(b, count, most_blocks(b, count));
  if (multiple == 1)
    return length;
  LLVMValueRef up = LLVMBuildNSWAdd(b->at, length, const_i64(u, multiple - 1), "");
  return LLVMBuildAnd(b->at, up, const_i64(u, -multiple), "");
}

/* ---- sizes as functions */
static int arguments_of_own(const Body *b, LLVMValueRef *args) {
  int n = 0;
  for (int i = 0; i < b->func->body->nparams; i++)
    if (is_work_param(b->func->body->params[i]))
      args[n++] = b->params[i];
  return n;
}

/* At least 1 for `count`, which may be less. */
static LLVMValueRef blocks_code(Body *b, LLVMValueRef count, LLVMValueRef length) {
  return divided_up(b, at_least_one(b, count), length);
}

static LLVMValueRef length_call(Body *b, const FuncNote *callee, int nargs, LLVMValueRef *args) {
  return LLVMBuildCall2(b->at, callee->length_type, callee->length_code, args, (unsigned)nargs, "length");
}

static void length_function(Unit *u, Func *f) {
  FuncNote *note = func_note(f);
  Body b;
  note->length_code = sizing_begin(&b, u, f, "length", false, &note->length_type);
  LLVMValueRef count = at_least_one(&b, b.params[f->body->nparams - 1]);
  sizing_end(&b, length_of_block(&b, count));
}

static void area_function(Unit *u, Func *f) {
  FuncNote *note = func_note(f);
  Body b;
  note->area_code = sizing_begin(&b, u, f, "area", true, &note->area_type);
  LLVMValueRef *args = NEW_ARRAY(u->arena, LLVMValueRef, f->body->nparams + 1);
  args[0] = const_i64(u, 1); /* what runs inside a block runs on its thread alone */
  const int n = arguments_of_own(&b, args + 1);
  const bool takes_lanes = note->plan->uses_lanes;
  LLVMValueRef work = LLVMBuildCall2(b.at, note->work_type, note->work_code, takes_lanes ? args : args + 1,
                                     (unsigned)(n + takes_lanes), "");
  LLVMValueRef length = length_call(&b, note, n, args + 1);
  LLVMValueRef blocks = blocks_code(&b, b.params[f->body->nparams - 1], length), pair[] = {b.lanes, blocks};
  LLVMValueRef lanes = call_intrinsic(&b, "llvm.smin", 1, &u->i64, 2, pair);
  LLVMValueRef sums = need_code(&b, note->plan->part->sums);
  LLVMValueRef others = LLVMBuildNSWSub(b.at, blocks, const_i64(u, 1), "");
  LLVMValueRef all = saturating_add(&b, saturating_mul(&b, work, lanes), saturating_mul(&b, sums, others));
  sizing_end(&b, all);
}

/* ---- what a block is given
   The frame of a call: the length of a block, the iterations, the set of results that are wanted, the callee's
   arguments, and for each result where that of block 0 is and, for tensors that are summed, where that of block 1 is.
 */
enum { FRAME_LENGTH, FRAME_COUNT, FRAME_WANTED, FRAME_ARGS };

static int frame_result(const Func *f, int i) {
  return FRAME_ARGS + f->body->nparams + 2 * i;
}

static void frame_type(Unit *u, Func *f) {
  const int n = frame_result(f, f->nresults), nparams = f->body->nparams;
  LLVMTypeRef *fields = NEW_ARRAY(u->arena, LLVMTypeRef, n);
  for (int i = 0; i < FRAME_ARGS; i++)
    fields[i] = u->i64;
  for (int i = 0; i < nparams; i++) {
    const Type t = f->body->params[i]->type;
    fields[FRAME_ARGS + i] = t.rank ? u->ptr : type_of_kind(u, t.kind);
  }
  for (int i = frame_result(f, 0); i < n; i++)
    fields[i] = u->ptr;
  func_note(f)->block_frame = LLVMStructTypeInContext(u->context, fields, (unsigned)n, false);
}

static LLVMValueRef frame_field(Body *b, const Func *callee, LLVMValueRef frame, int i) {
  return LLVMBuildStructGEP2(b->at, func_note(callee)->block_frame, frame, (unsigned)i, "");
}

/* Where a function begins, as its sizes are computed there. */
static LLVMValueRef frame_load(Body *b, LLVMValueRef frame, int i) {
  LLVMTypeRef whole = func_note(b->func)->block_frame, type = LLVMStructGetTypeAtIndex(whole, (unsigned)i);
  return LLVMBuildLoad2(b->entry, type, LLVMBuildStructGEP2(b->entry, whole, frame, (unsigned)i, ""), "");
}

static LLVMValueRef bytes_on(Body *b, LLVMValueRef p, LLVMValueRef bytes) {
  return LLVMBuildInBoundsGEP2(b->at, b->unit->i8, p, &bytes, 1, "");
}

/* Where accumulators of the same block begin, as they stand one after the other. */
static LLVMValueRef sum_bytes(Body *b, Type t) {
  LLVMValueRef bytes = LLVMBuildNSWAdd(b->at, saturated_bytes(b, t), const_i64(b->unit, WORK_ALIGNMENT - 1), "");
  return LLVMBuildAnd(b->at, bytes, const_i64(b->unit, -WORK_ALIGNMENT), "");
}

/* ---- the function that the runtime calls: i32 f.block(frame, number of the block, its lane's workspace, context) */
static LLVMValueRef result_of_block(Body *b, LLVMValueRef frame, int i, LLVMValueRef block, LLVMValueRef begin) {
  Unit *u = b->unit;
  const Type t = b->func->result_types[i];
  LLVMValueRef base = frame_load(b, frame, frame_result(b->func, i));
  switch (part_result(b->plan->part, i)) {
  case PART_SCALAR: return element_address(b, t.kind, base, block);
  case PART_STACK: {
    LLVMValueRef slice = size_code(b, type_count(u->module, type_drop(t, 1)));
    return element_address(b, t.kind, base, LLVMBuildNSWMul(b->at, begin, slice, ""));
  }
  case PART_TENSOR: break;
  }
  LLVMValueRef others = frame_load(b, frame, frame_result(b->func, i) + 1);
  LLVMValueRef number = LLVMBuildNSWSub(b->at, block, const_i64(u, 1), "");
  LLVMValueRef other = bytes_on(b, others, LLVMBuildNSWMul(b->at, number, sum_bytes(b, t), ""));
  return LLVMBuildSelect(b->at, LLVMBuildICmp(b->at, LLVMIntEQ, block, const_i64(u, 0), ""), base, other, "");
}

static void block_function(Unit *u, Func *f) {
  FuncNote *note = func_note(f);
  const int nparams = f->body->nparams;
  LLVMTypeRef types[] = {u->ptr, u->i64, u->ptr, u->ptr}, type = LLVMFunctionType(u->i32, types, 4, false);
  note->block_code = LLVMAddFunction(u->llvm, arena_printf(u->arena, "%s.block", f->name), type);
  LLVMSetLinkage(note->block_code, LLVMInternalLinkage);
  LLVMAddAttributeAtIndex(note->block_code, LLVMAttributeFunctionIndex, attribute(u, "nounwind", 0));
  Body b;
  body_begin(&b, u, f, note->block_code);
  LLVMValueRef frame = LLVMGetParam(b.code, 0), block = LLVMGetParam(b.code, 1);
  LLVMValueRef *args = NEW_ARRAY(u->arena, LLVMValueRef, FIRST_PARAM + nparams + f->nresults);
  args[0] = LLVMGetParam(b.code, 3);
  args[1] = LLVMGetParam(b.code, 2);
  args[2] = frame_load(&b, frame, FRAME_WANTED);
  for (int i = 0; i < nparams; i++)
    set_value(f->body->params[i], args[FIRST_PARAM + i] = frame_load(&b, frame, FRAME_ARGS + i));
  LLVMValueRef length = frame_load(&b, frame, FRAME_LENGTH), count = frame_load(&b, frame, FRAME_COUNT);
  LLVMValueRef begin = LLVMBuildNSWMul(b.at, block, length, ""), left = LLVMBuildNSWSub(b.at, count, begin, "");
  LLVMValueRef pair[] = {length, left};
  LLVMValueRef *first = &args[FIRST_PARAM + nparams - 2];
  first[0] = LLVMBuildNSWAdd(b.at, first[0], begin, "");
  first[1] = call_intrinsic(&b, "llvm.smin", 1, &u->i64, 2, pair);
  for (int i = 0; i < f->nresults; i++)
    args[FIRST_PARAM + nparams + i] = result_of_block(&b, frame, i, block, begin);
  const unsigned n = (unsigned)(FIRST_PARAM + nparams + f->nresults);
  LLVMBuildRet(b.at, LLVMBuildCall2(b.at, note->type, note->code, args, n, ""));
  body_end(&b);
}

void part_functions(Unit *u, Func *f) {
  frame_type(u, f);
  length_function(u, f);
  area_function(u, f);
  block_function(u, f);
}

/* ---- a call */
typedef struct PartCall {
  Body *body;
  const Op *op;
  const Func *callee;
  LLVMValueRef frame, blocks, wanted;
  LLVMValueRef *bases, *others; /* by result */
} PartCall;

static void frame_store(PartCall *c, int i, LLVMValueRef x) {
  LLVMBuildStore(c->body->at, x, frame_field(c->body, c->callee, c->frame, i));
}

/* After the lanes' workspaces come the accumulators of each result. */
static void place_results(PartCall *c, LLVMValueRef at) {
  Body *b = c->body;
  Unit *u = b->unit;
  LLVMValueRef others = LLVMBuildNSWSub(b->at, c->blocks, const_i64(u, 1), "");
  for (int i = 0; i < c->op->nresults; i++) {
    const Type t = c->op->results[i]->type;
    const bool in_memory = t.rank != 0;
    if (in_memory)
      check_type(b, t);
    c->bases[i] = in_memory ? address_of(b, place_of(note_of(c->op->results[i])->storage))
                            : entry_alloca(b, memory_type(u, t.kind), MAX_BLOCKS, (unsigned)kind_bytes(t.kind), "");
    c->others[i] = at;
    if (part_result(func_note(c->callee)->plan->part, i) == PART_TENSOR)
      at = bytes_on(b, at, LLVMBuildNSWMul(b->at, others, sum_bytes(b, t), ""));
    frame_store(c, frame_result(c->callee, i), c->bases[i]);
    frame_store(c, frame_result(c->callee, i) + 1, c->others[i]);
  }
}

/* One after the other, in the order of the blocks: of one result of the loop. */
static LLVMValueRef combine_scalars(PartCall *c, int i) {
  Body *b = c->body;
  Unit *u = b->unit;
  const Kind k = c->op->results[i]->type.kind;
  const OutKind out = part_combines(func_note(c->callee)->plan->part, i);
  LLVMValueRef now = load_element(b, k, c->bases[i], NULL);
  const bool plain = b->plain_loops;
  b->plain_loops = true; /* a few numbers */
  CountedLoop l;
  counted_begin(b, &l, c->blocks, "combine");
  LLVMBasicBlockRef here = current_block(b);
  LLVMPositionBuilderBefore(b->at, l.index);
  LLVMValueRef phi = LLVMBuildPhi(b->at, type_of_kind(u, k), "");
  LLVMPositionBuilderAtEnd(b->at, here);
  l.start = const_i64(u, 1);
  LLVMValueRef x = load_element(b, k, element_address(b, k, c->bases[i], l.index), NULL);
  LLVMValueRef next = reduction_step(b, out, k, phi, x);
  counted_end(b, &l);
  b->plain_loops = plain;
  LLVMValueRef values[] = {now, next};
  LLVMBasicBlockRef blocks[] = {l.before, l.latch};
  LLVMAddIncoming(phi, values, blocks, 2);
  return phi;
}

static void combine_tensors(PartCall *c, int i) {
  Body *b = c->body;
  Unit *u = b->unit;
  const Type t = c->op->results[i]->type;
  static const char *const names[] = {"", "gradc_rt_add_i32", "gradc_rt_add_i64", "gradc_rt_add_f32",
                                      "gradc_rt_add_f64"};
  LLVMValueRef bit = LLVMBuildAnd(b->at, c->wanted, const_i64(u, (int64_t)wanted_bit(i)), ""), zero = const_i64(u, 0);
  LLVMValueRef unwanted = LLVMBuildICmp(b->at, LLVMIntEQ, bit, zero, "");
  LLVMTypeRef types[] = {u->ptr, u->ptr, u->i64, u->i64, u->i64};
  LLVMValueRef args[] = {c->bases[i], c->others[i], LLVMBuildSelect(b->at, unwanted, zero, count_code(b, t), ""),
                         sum_bytes(b, t), LLVMBuildNSWSub(b->at, c->blocks, const_i64(u, 1), "")};
  call_declared(b, declared(u, names[t.kind], u->nothing, 5, types), 5, args);
}

static void run_blocks(PartCall *c, LLVMValueRef work) {
  Body *b = c->body;
  Unit *u = b->unit;
  const FuncNote *note = func_note(c->callee);
  LLVMTypeRef types[] = {u->ptr, u->ptr, u->i64, u->ptr, u->ptr, u->i64, u->i32};
  LLVMValueRef args[] = {note->block_code,
                         c->frame,
                         c->blocks,
                         b->context,
                         address_of(b, op_note(c->op)->area),
                         work,
                         LLVMConstInt(u->i32, note->plan->uses_context, false)};
  fail_status(b, call_declared(b, declared(u, "gradc_rt_parallel", u->i32, 7, types), 7, args));
}

void lower_part_call(Body *b, const Op *op, LLVMValueRef wanted) {
  Unit *u = b->unit;
  const Func *callee = op->at.callee;
  const FuncNote *note = func_note(callee);
  PartCall c = {.body = b, .op = op, .callee = callee, .wanted = wanted};
  c.bases = NEW_ARRAY(u->arena, LLVMValueRef, op->nresults);
  c.others = NEW_ARRAY(u->arena, LLVMValueRef, op->nresults);
  c.frame = entry_alloca(b, note->block_frame, 1, 16, "frame");
  LLVMValueRef *args = NEW_ARRAY(u->arena, LLVMValueRef, op->noperands + 1);
  int n = 0;
  args[n++] = const_i64(u, 1);
  for (int i = 0; i < op->noperands; i++) {
    LLVMValueRef x = value_code(b, op->operands[i]);
    frame_store(&c, FRAME_ARGS + i, x);
    if (is_work_param(callee->body->params[i]))
      args[n++] = x;
  }
  LLVMValueRef count = value_code(b, op->operands[op->noperands - 1]);
  LLVMValueRef length = length_call(b, note, n - 1, args + 1);
  const bool takes_lanes = note->plan->uses_lanes;
  LLVMValueRef work = LLVMBuildCall2(b->at, note->work_type, note->work_code, takes_lanes ? args : args + 1,
                                     (unsigned)(n - !takes_lanes), "");
  c.blocks = blocks_code(b, count, length);
  LLVMValueRef pair[] = {b->lanes, c.blocks}, lanes = call_intrinsic(b, "llvm.smin", 1, &u->i64, 2, pair);
  frame_store(&c, FRAME_LENGTH, length);
  frame_store(&c, FRAME_COUNT, count);
  frame_store(&c, FRAME_WANTED, wanted);
  place_results(&c, bytes_on(b, address_of(b, op_note(op)->area), LLVMBuildNSWMul(b->at, lanes, work, "")));
  run_blocks(&c, work);
  for (int i = 0; i < op->nresults; i++) {
    if (part_result(note->plan->part, i) == PART_TENSOR)
      combine_tensors(&c, i);
    set_value(op->results[i], op->results[i]->type.rank ? c.bases[i] : combine_scalars(&c, i));
  }
}
