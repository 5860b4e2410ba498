/* Code for loops, as they stand: see codegen/loop_code.h, and codegen/lower_rows.c for those that run otherwise. */
#include "codegen/loop_code.h"
#include "ir/build.h"
#include <string.h>

/* ---- counted loops */
void counted_begin(Body *b, CountedLoop *l, LLVMValueRef n, const char *name) {
  Unit *u = b->unit;
  l->start = const_i64(u, 0);
  l->before = current_block(b);
  l->header = new_block(b, name);
  l->body = new_block(b, "");
  l->after = new_block(b, "");
  LLVMBuildBr(b->at, l->header);
  begin_block(b, l->header);
  l->index = LLVMBuildPhi(b->at, u->i64, "");
  LLVMBuildCondBr(b->at, LLVMBuildICmp(b->at, LLVMIntSLT, l->index, n, ""), l->body, l->after);
  begin_block(b, l->body);
}

static LLVMMetadataRef flag_node(Unit *u, const char *name, int value) {
  LLVMMetadataRef parts[] = {LLVMMDStringInContext2(u->context, name, strlen(name)),
                             LLVMValueAsMetadata(LLVMConstInt(u->i1, (unsigned)value, false))};
  return LLVMMDNodeInContext2(u->context, parts, value < 0 ? 1 : 2);
}

/* Code that is vectors already, or that only does what is left over, is not worth LLVM's while. */
static void leave_alone(Body *b, LLVMValueRef latch) {
  Unit *u = b->unit;
  if (!u->plain_loop[0]) {
    u->plain_loop[0] = flag_node(u, "llvm.loop.vectorize.enable", 0);
    u->plain_loop[1] = flag_node(u, "llvm.loop.unroll.disable", -1);
  }
  set_metadata(u, latch, "llvm.loop", self_node(u, 2, u->plain_loop));
}

void counted_end(Body *b, CountedLoop *l) {
  Unit *u = b->unit;
  LLVMValueRef next = LLVMBuildNSWAdd(b->at, l->index, const_i64(u, 1), "");
  LLVMValueRef values[] = {l->start, next};
  LLVMBasicBlockRef blocks[] = {l->before, current_block(b)};
  l->latch = blocks[1];
  LLVMValueRef latch = LLVMBuildBr(b->at, l->header);
  if (b->plain_loops)
    leave_alone(b, latch);
  LLVMAddIncoming(l->index, values, blocks, 2);
  begin_block(b, l->after);
}

LLVMValueRef smaller(Body *b, LLVMValueRef x, LLVMValueRef y) {
  LLVMValueRef args[] = {x, y};
  return call_intrinsic(b, "llvm.smin", 1, &b->unit->i64, 2, args);
}

LLVMValueRef at_least(Body *b, LLVMValueRef n, LLVMValueRef least, LLVMValueRef then, LLVMValueRef otherwise) {
  return LLVMBuildSelect(b->at, LLVMBuildICmp(b->at, LLVMIntSGE, n, least, ""), then, otherwise, "");
}

/* ---- loop */
LLVMValueRef reduction_begin(Body *b, OutKind out, Kind k) {
  LLVMTypeRef type = type_of_kind(b->unit, k);
  const bool narrow = k == KIND_I32;
  switch (out) {
  case OUT_PROD: return kind_is_float(k) ? LLVMConstReal(type, 1) : LLVMConstInt(type, 1, false);
  case OUT_AND: return LLVMConstInt(type, 1, false);
  case OUT_MIN:
    return kind_is_float(k) ? LLVMConstRealOfString(type, "inf")
                            : LLVMConstInt(type, narrow ? INT32_MAX : (unsigned long long)INT64_MAX, true);
  case OUT_MAX:
    return kind_is_float(k)
               ? LLVMConstRealOfString(type, "-inf")
               : LLVMConstInt(type, narrow ? (unsigned long long)INT32_MIN : (unsigned long long)INT64_MIN, true);
  default: return LLVMConstNull(type);
  }
}

LLVMValueRef reduction_step(Body *b, OutKind out, Kind k, LLVMValueRef now, LLVMValueRef x) {
  switch (out) {
  case OUT_SUM: return arithmetic(b, OP_ADD, k, now, x, b->unit->fast_reduce);
  case OUT_PROD: return arithmetic(b, OP_MUL, k, now, x, b->unit->fast_reduce);
  case OUT_MIN: return min_max(b, false, k, now, x);
  case OUT_MAX: return min_max(b, true, k, now, x);
  case OUT_AND: return LLVMBuildAnd(b->at, now, x, "");
  case OUT_OR: return LLVMBuildOr(b->at, now, x, "");
  case OUT_STACK: break;
  }
  return x;
}

static Value *out_result(const LoopCode *l, int i) {
  return l->op->results[l->info->ncarries + l->info->naccs + i];
}

/* The address of this iteration's part of a stack result. */
static LLVMValueRef stack_address(const LoopCode *l, int i) {
  return part_address(l->body, out_result(l, i), l->info->nindices, l->op->regions[0]->params, 0);
}

void store_outs(LoopCode *l) {
  Body *b = l->body;
  const LoopInfo *info = l->info;
  const Region *r = l->op->regions[0];
  for (int i = 0; i < info->nouts; i++) {
    const Value *y = r->yields[info->ncarries + i];
    LLVMValueRef *now = l->reduction[i] >= 0 ? &l->state.now[l->reduction[i]] : NULL;
    if (now)
      *now = reduction_step(b, info->outs[i], y->type.kind, *now, value_code(b, y));
    else if (!y->type.rank)
      store_element(b, y->type.kind, value_code(b, y), stack_address(l, i), out_result(l, i));
  }
  take_edges(b, info->nouts, op_note(l->op)->regions[0].edges + info->ncarries);
}

/* ---- carries that lie in the slots of a stack: codegen/storage.c */
static LLVMValueRef slot_address(const LoopCode *l, const Edge *yield, LLVMValueRef index) {
  Body *b = l->body;
  const Value *stack = out_result(l, yield->kept - 1);
  const Size *each = type_count(b->unit->module, type_drop(stack->type, 1));
  return element_address(b, stack->type.kind, value_code(b, stack),
                         LLVMBuildNSWMul(b->at, index, size_code(b, each), ""));
}

/* The first one is put into the first slot. */
static void begin_kept(LoopCode *l) {
  Body *b = l->body;
  LLVMValueRef zero = const_i64(b->unit, 0);
  for (int i = 0; i < l->info->ncarries; i++) {
    const Edge *yield = l->carries.yields[i];
    if (!yield || !yield->kept)
      continue;
    LLVMValueRef *now = &l->state.now[l->carries.at[i]], slot = slot_address(l, yield, zero);
    LLVMBasicBlockRef before = current_block(b), copy = new_block(b, "keep"), after = new_block(b, "");
    LLVMBuildCondBr(b->at, LLVMBuildICmp(b->at, LLVMIntSGT, l->extents[0], zero, ""), copy, after);
    begin_block(b, copy);
    copy_tensor(b, l->carries.params[i]->type, slot, *now);
    LLVMBuildBr(b->at, after);
    begin_block(b, after);
    LLVMValueRef phi = LLVMBuildPhi(b->at, b->unit->ptr, ""), codes[] = {*now, slot};
    LLVMBasicBlockRef blocks[] = {before, copy};
    LLVMAddIncoming(phi, codes, blocks, 2);
    *now = phi;
  }
}

/* The next one is made in the slot behind, or in the carry's own place. */
static void enter_kept(const LoopCode *l) {
  Body *b = l->body;
  for (int i = 0; i < l->info->ncarries; i++) {
    const Edge *yield = l->carries.yields[i];
    if (!yield || !yield->kept)
      continue;
    LLVMValueRef next = LLVMBuildNSWAdd(b->at, value_code(b, loop_index(l->op, 0)), const_i64(b->unit, 1), "");
    LLVMValueRef last = LLVMBuildICmp(b->at, LLVMIntSGE, next, l->extents[0], "");
    place_of(yield->to)->twin->address =
        LLVMBuildSelect(b->at, last, l->carries.home[i], slot_address(l, yield, next), "");
  }
}

void lower_iteration(LoopCode *l) {
  Body *b = l->body;
  const LoopInfo *info = l->info;
  Edge *const *yields = op_note(l->op)->regions[0].edges;
  carries_enter(b, &l->carries, &l->state, l->carries.params);
  enter_kept(l);
  for (int i = 0; i < info->nouts; i++)
    if (yields[info->ncarries + i])
      place_of(yields[info->ncarries + i]->to)->address = stack_address(l, i);
  LLVMValueRef mark = lower_region(b, l->op->regions[0]);
  store_outs(l);
  carries_next(b, &l->carries, &l->state);
  region_pop(b, mark);
}

void level_begin(LoopCode *l, Level *level, LLVMValueRef n, const char *name) {
  Body *b = l->body;
  counted_begin(b, &level->counted, n, name);
  LLVMBasicBlockRef here = current_block(b);
  LLVMPositionBuilderBefore(b->at, level->counted.index); /* phis stand together */
  level->phis = state_phis(b, &l->state, level->counted.before);
  LLVMPositionBuilderAtEnd(b->at, here);
}

void level_end(LoopCode *l, Level *level) {
  counted_end(l->body, &level->counted);
  state_close(&l->state, level->phis, level->counted.latch);
}

/* The innermost index in vectors, as far as whole ones go: where that is. */
static LLVMValueRef run_vectors(LoopCode *l, LLVMValueRef extent) {
  LLVMValueRef **reductions = NEW_ARRAY(l->body->unit->arena, LLVMValueRef *, l->info->nouts + 1);
  for (int i = 0; i < l->info->nouts; i++)
    reductions[i] = l->reduction[i] >= 0 ? &l->state.now[l->reduction[i]] : NULL;
  return vector_part(l->body, l->op, extent, reductions);
}

/* Where the levels inside have few iterations, LLVM unrolls them, and takes the one around for a loop to run in
   vectors, whose elements it gathers one by one: not where they make up a long block. */
static bool unrolls_long(const LoopCode *l, int number) {
  enum { LONG = 16 };
  int64_t n, all = 1;
  for (int i = number + 1; i < l->info->nindices; i++)
    if (size_is_const(l->info->extents[i], &n) && n > 0 && n <= 4096)
      all *= n > LONG ? LONG + 1 : n;
    else
      return false;
  return all > LONG;
}

static void lower_level(LoopCode *l, int number) {
  if (number == l->info->nindices) {
    lower_iteration(l);
    return;
  }
  if (number == 0 && runs_as_dots(l)) {
    lower_dots(l);
    return;
  }
  if (runs_as_tiles(l, number)) {
    if (may_run_as_long_rows(l))
      lower_long_rows(l, lower_tiles);
    else
      lower_tiles(l);
    return;
  }
  if (number == l->info->nindices - 1 && runs_as_rows(l)) {
    lower_rows(l);
    return;
  }
  const Value *index = l->op->regions[0]->params[number];
  const bool vectors =
      number == l->info->nindices - 1 && op_note(l->op)->vector && !l->body->vector && !l->body->exact_zeros;
  LLVMValueRef start = vectors ? run_vectors(l, l->extents[number]) : NULL, first = start;
  Level level;
  Idle idle;
  const bool may_idle = find_idle(l, &idle);
  Ends ends;
  if (!start && !may_idle && number == l->info->nindices - 1 && find_ends(l, &ends)) {
    lower_with_ends(l, &ends);
    return;
  }
  if (may_idle)
    first = skip_idle(l, &idle);
  level_begin(l, &level, l->extents[number], index->name ? index->name : "loop");
  const bool plain = l->body->plain_loops;
  if (first)
    level.counted.start = first;
  if (start) /* what vectors have left over */
    l->body->plain_loops = true;
  if (may_idle)
    leave_if_idle(l, &idle, &level);
  set_value(index, level.counted.index);
  lower_level(l, number + 1);
  l->body->plain_loops |= unrolls_long(l, number);
  level_end(l, &level);
  if (may_idle)
    finish_idle(l, &idle, &level);
  l->body->plain_loops = plain;
}

/* Accumulators are in memory: tensors in their places, scalars in the frame, out of which LLVM takes them. */
static void begin_accumulators(LoopCode *l) {
  Body *b = l->body;
  for (int i = 0; i < l->info->naccs; i++) {
    const int number = l->info->ncarries + i;
    const Value *handle = l->op->regions[0]->params[l->info->nindices + number], *result = l->op->results[number];
    const Kind k = result->type.kind;
    if (result->type.rank) {
      set_value(handle, address_of(b, place_of(note_of(result)->storage)));
      set_value(result, value_code(b, handle));
      continue;
    }
    LLVMValueRef slot = entry_alloca(b, memory_type(b->unit, k), 1, (unsigned)kind_bytes(k), "");
    store_element(b, k, value_code(b, l->op->operands[number]), slot, NULL);
    set_value(handle, slot);
  }
}

static void begin_outs(LoopCode *l) {
  Body *b = l->body;
  l->reduction = NEW_ARRAY(b->unit->arena, int, l->info->nouts);
  for (int i = 0; i < l->info->nouts; i++) {
    const Value *result = out_result(l, i);
    const Kind k = result->type.kind;
    l->reduction[i] = -1;
    if (l->info->outs[i] != OUT_STACK)
      l->reduction[i] = state_add(&l->state, type_of_kind(b->unit, k), reduction_begin(b, l->info->outs[i], k));
    else if (result->type.rank)
      set_value(result, address_of(b, place_of(note_of(result)->storage)));
  }
}

static void finish_results(LoopCode *l) {
  Body *b = l->body;
  carries_leave(b, &l->carries, &l->state);
  for (int i = 0; i < l->info->naccs; i++) {
    const int number = l->info->ncarries + i;
    const Value *result = l->op->results[number];
    if (!result->type.rank)
      set_value(result, load_element(b, result->type.kind,
                                     value_code(b, l->op->regions[0]->params[l->info->nindices + number]), NULL));
  }
  for (int i = 0; i < l->info->nouts; i++)
    if (l->reduction[i] >= 0)
      set_value(out_result(l, i), l->state.now[l->reduction[i]]);
}

static void loop_code(Body *b, const Op *op) {
  const LoopInfo *info = op->at.loop;
  const Region *r = op->regions[0];
  const OpNote *note = op_note(op);
  LoopCode l = {.body = b, .op = op, .info = info};
  for (int i = 0; i < info->nouts; i++)
    if (info->outs[i] == OUT_STACK)
      check_type(b, out_result(&l, i)->type);
  l.extents = NEW_ARRAY(b->unit->arena, LLVMValueRef, info->nindices);
  for (int i = 0; i < info->nindices; i++)
    l.extents[i] = size_code_checked(b, info->extents[i]);
  take_edges(b, note->nedges, note->edges);
  l.state = new_state(b, 2 * info->ncarries + info->nouts);
  l.carries = (Carries){.n = info->ncarries,
                        .params = r->params + info->nindices,
                        .yields = note->regions[0].edges,
                        .exits = note->exits,
                        .yielded = r->yields,
                        .results = op->results};
  carries_begin(b, &l.carries, &l.state, op->operands);
  begin_accumulators(&l);
  begin_outs(&l);
  begin_kept(&l);
  lower_level(&l, 0);
  finish_results(&l);
}

void lower_loop(Body *b, const Op *op) {
  NestMark mark;
  nest_begin(b, op, &mark);
  if (op_note(op)->concat && !b->vector)
    lower_concat(b, op);
  else if (has_loose_products(b, op))
    lower_loosely(b, op, loop_code);
  else
    loop_code(b, op);
  nest_end(b, &mark);
}

/* ---- while */
void lower_while(Body *b, const Op *op) {
  Unit *u = b->unit;
  const OpNote *note = op_note(op);
  const Region *condition = op->regions[0], *body = op->regions[1];
  State state = new_state(b, 2 * op->noperands + 1);
  Carries carries = {.n = op->noperands,
                     .params = body->params,
                     .yields = note->regions[1].edges,
                     .exits = note->exits,
                     .yielded = body->yields,
                     .results = op->results};
  take_edges(b, note->nedges, note->edges);
  carries_begin(b, &carries, &state, op->operands);
  const int trips = state_add(&state, u->i64, const_i64(u, 0));
  LLVMBasicBlockRef before = current_block(b), header = new_block(b, "while"), inside = new_block(b, ""),
                    after = new_block(b, "");
  LLVMBuildBr(b->at, header);
  begin_block(b, header);
  LLVMValueRef *phis = state_phis(b, &state, before);
  carries_enter(b, &carries, &state, condition->params);
  LLVMValueRef mark = lower_region(b, condition), go_on = value_code(b, condition->yields[0]);
  region_pop(b, mark);
  LLVMBuildCondBr(b->at, go_on, inside, after);
  begin_block(b, inside);
  carries_enter(b, &carries, &state, body->params);
  mark = lower_region(b, body);
  carries_next(b, &carries, &state);
  region_pop(b, mark);
  state.now[trips] = LLVMBuildNSWAdd(b->at, state.now[trips], const_i64(u, 1), "");
  LLVMBuildBr(b->at, header);
  state_close(&state, phis, current_block(b));
  begin_block(b, after);
  carries_leave(b, &carries, &state);
  set_value(op->results[op->nresults - 1], state.now[trips]);
}
