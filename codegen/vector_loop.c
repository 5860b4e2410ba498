/* The loop that runs in vectors, and the loops inside it; see codegen/vector.h. */
#include "codegen/loop_code.h"
#include "ir/build.h"

static void set_lanes(Body *b, bool on) {
  b->unit->lanes = on ? b->vector->lanes : 0;
}

/* ---- loops inside */
typedef struct Inner {
  const Op *op;
  const LoopInfo *info;
  LLVMValueRef *extents;
  int nstate;
  LLVMValueRef *state; /* carries, then the outs that are reduced */
  bool *varies;
  int *out_state; /* by out; -1: a stack */
} Inner;

static void inner_state(Body *b, Inner *l, LLVMValueRef first, bool varies) {
  l->varies[l->nstate] = varies;
  l->state[l->nstate++] = varies ? vector_spread(b, first, b->vector->lanes) : first;
}

static LLVMValueRef as_state(Body *b, const Inner *l, int i, LLVMValueRef x) {
  return l->varies[i] ? vector_spread(b, x, b->vector->lanes) : x;
}

static Value *out_of(const Inner *l, int i) {
  return l->op->results[l->info->ncarries + l->info->naccs + i];
}

/* Where this iteration's part of a stack begins. */
static Lanes slot_of(Body *b, const Inner *l, int i) {
  const Value *result = out_of(l, i);
  const Kind k = result->type.kind;
  Lanes at = lanes_of(b, result);
  LLVMValueRef offset = lanes_offset(b, result, l->info->nindices, l->op->regions[0]->params, 0);
  if (at.layout == LAYOUT_LANES)
    offset = LLVMBuildNSWMul(b->at, offset, const_i64(b->unit, b->vector->lanes), "");
  at.base = element_address(b, k, at.base, offset);
  return at;
}

static bool edge_needs_copy(const Edge *e) {
  return e && !edge_is_free(e);
}

static void inner_iteration(Body *b, Inner *l) {
  const LoopInfo *info = l->info;
  const Region *r = l->op->regions[0];
  Edge *const *yields = op_note(l->op)->regions[0].edges;
  for (int i = 0; i < info->ncarries; i++)
    set_value(loop_carry(l->op, i), l->state[i]);
  for (int i = 0; i < info->nouts; i++)
    if (yields[info->ncarries + i])
      place_of(yields[info->ncarries + i]->to)->address = slot_of(b, l, i).base;
  LLVMValueRef mark = lower_region(b, r);
  for (int i = 0; i < info->nouts; i++) {
    const Value *y = r->yields[info->ncarries + i];
    const Kind k = y->type.kind;
    const int s = l->out_state[i];
    if (s >= 0) {
      LLVMValueRef x = as_state(b, l, s, value_code(b, y));
      set_lanes(b, l->varies[s]);
      l->state[s] = reduction_step(b, info->outs[i], k, l->state[s], x);
      set_lanes(b, false);
    } else if (!y->type.rank) {
      lanes_store(b, k, vector_value(b, y), slot_of(b, l, i), const_i64(b->unit, 0));
    } else if (edge_needs_copy(yields[info->ncarries + i])) {
      lanes_copy(b, y, slot_of(b, l, i));
    }
  }
  LLVMValueRef *next = NEW_ARRAY(b->unit->arena, LLVMValueRef, info->ncarries + 1);
  for (int i = 0; i < info->ncarries; i++)
    next[i] = as_state(b, l, i, value_code(b, r->yields[i]));
  for (int i = 0; i < info->ncarries; i++)
    l->state[i] = next[i];
  region_pop(b, mark);
}

/* A loop in order, where no lane does anything any more. */
static void leave_if_all_idle(Body *b, const Inner *l, const CountedLoop *counted) {
  const LoopCode code = {.body = b, .op = l->op, .info = l->info};
  Idle idle;
  if (!find_idle(&code, &idle) || idle.carry < 0)
    return;
  for (int i = 0; i < l->info->nouts; i++)
    if (l->info->outs[i] == OUT_STACK)
      return;
  LLVMValueRef live = l->state[idle.carry];
  if (idle.when)
    live = LLVMBuildNot(b->at, live, "");
  if (b->vector->mask)
    live = LLVMBuildAnd(b->at, vector_spread(b, live, b->vector->lanes), b->vector->mask, "");
  LLVMTypeRef type = LLVMTypeOf(live);
  if (LLVMGetTypeKind(type) == LLVMVectorTypeKind)
    live = call_intrinsic(b, "llvm.vector.reduce.or", 1, &type, 1, &live);
  LLVMBasicBlockRef on = new_block(b, "");
  LLVMBuildCondBr(b->at, live, on, counted->after);
  begin_block(b, on);
}

static void inner_level(Body *b, Inner *l, int level) {
  if (level == l->info->nindices) {
    inner_iteration(b, l);
    return;
  }
  const Value *index = loop_index(l->op, level);
  CountedLoop counted;
  counted_begin(b, &counted, l->extents[level], index->name ? index->name : "inner");
  LLVMBasicBlockRef here = current_block(b);
  LLVMPositionBuilderBefore(b->at, counted.index);
  LLVMValueRef *phis = NEW_ARRAY(b->unit->arena, LLVMValueRef, l->nstate + 1);
  for (int i = 0; i < l->nstate; i++) {
    phis[i] = LLVMBuildPhi(b->at, LLVMTypeOf(l->state[i]), "");
    LLVMAddIncoming(phis[i], &l->state[i], &counted.before, 1);
    l->state[i] = phis[i];
  }
  LLVMPositionBuilderAtEnd(b->at, here);
  leave_if_all_idle(b, l, &counted);
  set_value(index, counted.index);
  inner_level(b, l, level + 1);
  counted_end(b, &counted);
  for (int i = 0; i < l->nstate; i++) {
    LLVMAddIncoming(phis[i], &l->state[i], &counted.latch, 1);
    l->state[i] = phis[i];
  }
}

static void inner_accumulators(Body *b, const Op *op) {
  Unit *u = b->unit;
  const LoopInfo *info = op->at.loop;
  for (int i = 0; i < info->naccs; i++) {
    const int number = info->ncarries + i;
    const Value *handle = loop_acc(op, i), *init = op->operands[number];
    Value *result = op->results[number];
    const Kind k = result->type.kind;
    if (!result->type.rank) {
      const unsigned bytes = (unsigned)(kind_bytes(k) * b->vector->lanes);
      set_value(handle, entry_alloca(b, memory_type(u, k), b->vector->lanes, bytes > 64 ? 64 : bytes, ""));
      lanes_store(b, k, vector_value(b, init), (Lanes){.layout = LAYOUT_LANES, .base = value_code(b, handle)},
                  const_i64(u, 0));
      continue;
    }
    set_value(handle, address_of(b, place_of(note_of(result)->storage)));
    set_value(result, value_code(b, handle));
    if (edge_needs_copy(op_note(op)->edges[number]))
      lanes_copy(b, init, lanes_of(b, result));
  }
}

static void inner_loop(Body *b, const Op *op) {
  Unit *u = b->unit;
  const LoopInfo *info = op->at.loop;
  Inner l = {.op = op, .info = info};
  const int most = info->ncarries + info->nouts + 1;
  l.state = NEW_ARRAY(u->arena, LLVMValueRef, most);
  l.varies = NEW_ARRAY(u->arena, bool, most);
  l.out_state = NEW_ARRAY(u->arena, int, info->nouts + 1);
  l.extents = NEW_ARRAY(u->arena, LLVMValueRef, info->nindices + 1);
  for (int i = 0; i < info->nouts; i++)
    if (info->outs[i] == OUT_STACK)
      check_type(b, out_of(&l, i)->type);
  for (int i = 0; i < info->nindices; i++)
    l.extents[i] = size_code_checked(b, info->extents[i]);
  for (int i = 0; i < info->ncarries; i++)
    inner_state(b, &l, value_code(b, op->operands[i]), vector_is_varying(loop_carry(op, i)));
  inner_accumulators(b, op);
  for (int i = 0; i < info->nouts; i++) {
    const Value *result = out_of(&l, i);
    l.out_state[i] = -1;
    if (info->outs[i] == OUT_STACK) {
      set_value(result, address_of(b, place_of(note_of(result)->storage)));
      continue;
    }
    l.out_state[i] = l.nstate;
    inner_state(b, &l, reduction_begin(b, info->outs[i], result->type.kind), vector_is_varying(result));
  }
  inner_level(b, &l, 0);
  for (int i = 0; i < info->ncarries; i++)
    set_value(op->results[i], l.state[i]);
  for (int i = 0; i < info->naccs; i++) {
    Value *result = op->results[info->ncarries + i];
    if (!result->type.rank)
      set_value(result,
                lanes_load(b, result->type.kind,
                           (Lanes){.layout = LAYOUT_LANES, .base = value_code(b, loop_acc(op, i))}, const_i64(u, 0)));
  }
  for (int i = 0; i < info->nouts; i++)
    if (l.out_state[i] >= 0)
      set_value(out_of(&l, i), l.state[l.out_state[i]]);
}

void vector_loop(Body *b, const Op *op) {
  if (has_loose_products(b, op))
    lower_loosely(b, op, inner_loop);
  else
    inner_loop(b, op);
}

/* ---- the loop itself */
/* The lanes of a running reduction become one, halves with halves. */
LLVMValueRef vector_reduced(Body *b, OutKind out, Kind k, LLVMValueRef x) {
  Unit *u = b->unit;
  if (out == OUT_SUM)
    return vector_sum(b, k, x);
  LLVMValueRef one = LLVMBuildExtractElement(b->at, x, LLVMConstInt(u->i32, 0, false), "");
  for (int i = 1; i < b->vector->lanes; i++)
    one =
        reduction_step(b, out, k, one, LLVMBuildExtractElement(b->at, x, LLVMConstInt(u->i32, (unsigned)i, false), ""));
  return one;
}

/* Scalars of the lanes side by side in a stack's result. */
void vector_store_out(Body *b, const Op *op, int out) {
  const LoopInfo *info = op->at.loop;
  const Value *result = op->results[info->naccs + out], *y = op->regions[0]->yields[out];
  const Kind k = result->type.kind;
  const Edge *edge = op_note(op)->regions[0].edges[out];
  if (!y->type.rank) {
    LLVMValueRef x = vector_value(b, y);
    vector_watch(b, k, x);
    if (k == KIND_BOOL)
      x = LLVMBuildZExt(b->at, x, LLVMVectorType(b->unit->i8, (unsigned)b->vector->lanes), "");
    LLVMValueRef at = vector_slot(b, op, out);
    LLVMSetAlignment(LLVMBuildStore(b->at, x, at), (unsigned)kind_bytes(k));
  } else if (edge_needs_copy(edge)) {
    const Lanes to = {.layout = LAYOUT_STRIDED,
                      .base = vector_slot(b, op, out),
                      .stride = size_code(b, type_count(b->unit->module, y->type))};
    lanes_copy(b, y, to);
  }
}

/* The address of lane 0's part of a stack result. */
LLVMValueRef vector_slot(Body *b, const Op *op, int out) {
  const LoopInfo *info = op->at.loop;
  const Value *result = op->results[info->naccs + out];
  const int last = info->nindices - 1;
  LLVMValueRef varying = value_code(b, loop_index(op, last));
  set_value(loop_index(op, last), b->vector->first);
  LLVMValueRef at = part_address(b, result, info->nindices, op->regions[0]->params, 0);
  set_value(loop_index(op, last), varying);
  return at;
}

LLVMValueRef vector_indices(Body *b, LLVMValueRef first) {
  LLVMValueRef own[64];
  for (int i = 0; i < b->vector->lanes; i++)
    own[i] = const_i64(b->unit, i);
  LLVMValueRef number = LLVMConstVector(own, (unsigned)b->vector->lanes);
  return LLVMBuildNSWAdd(b->at, vector_spread(b, first, b->vector->lanes), number, "");
}

static void vector_iteration(Body *b, const Op *op, LLVMValueRef *state, const int *state_of) {
  const LoopInfo *info = op->at.loop;
  const Region *r = op->regions[0];
  Edge *const *yields = op_note(op)->regions[0].edges;
  set_value(loop_index(op, info->nindices - 1), vector_indices(b, b->vector->first));
  for (int i = 0; i < info->nouts; i++)
    if (yields[i])
      place_of(yields[i]->to)->address = vector_slot(b, op, i);
  LLVMValueRef mark = lower_region(b, r);
  for (int i = 0; i < info->nouts; i++) {
    const Value *y = r->yields[i];
    if (state_of[i] < 0) {
      vector_store_out(b, op, i);
      continue;
    }
    LLVMValueRef x = vector_value(b, y), *now = &state[state_of[i]];
    vector_watch(b, y->type.kind, x);
    set_lanes(b, true);
    LLVMValueRef next = reduction_step(b, info->outs[i], y->type.kind, *now, x);
    set_lanes(b, false);
    *now = b->vector->fresh ? LLVMBuildSelect(b->at, b->vector->fresh, next, *now, "") : next;
  }
  region_pop(b, mark);
}

/* What is stored is seen to be finite, or not. */
void vector_watch(Body *b, Kind k, LLVMValueRef x) {
  VectorLoop *v = b->vector;
  if (!v->watches || !kind_is_float(k))
    return;
  LLVMTypeRef type = LLVMVectorType(b->unit->f64, (unsigned)v->lanes);
  LLVMValueRef zero = zero_if_finite(b, x);
  if (k == KIND_F32)
    zero = LLVMBuildFPExt(b->at, zero, type, "");
  zero = LLVMBuildFAdd(b->at, LLVMBuildLoad2(b->at, type, v->zero, ""), zero, "");
  LLVMBuildStore(b->at, zero, v->zero);
}

/* With loose products, and again without where something that is stored, or summed, is not finite. */
static void loose_iteration(Body *b, const Op *op, LLVMValueRef *state, int n, const int *state_of) {
  VectorLoop *v = b->vector;
  LLVMValueRef *before = NEW_ARRAY(b->unit->arena, LLVMValueRef, n + 1), first = v->first;
  for (int i = 0; i < n; i++)
    before[i] = state[i];
  LLVMTypeRef type = LLVMVectorType(b->unit->f64, (unsigned)v->lanes);
  v->zero = entry_alloca(b, b->unit->f64, v->lanes, WORK_ALIGNMENT, "");
  LLVMBuildStore(b->at, LLVMConstNull(type), v->zero);
  b->loose_zeros = true;
  v->watches = true;
  vector_iteration(b, op, state, state_of);
  v->watches = false;
  b->loose_zeros = false;
  Again again;
  LLVMBasicBlockRef from[] = {current_block(b), NULL};
  /* Frozen: what is not wanted may not have been made. */
  again_begin(b, &again, LLVMBuildFreeze(b->at, LLVMBuildLoad2(b->at, type, v->zero, ""), ""));
  v->first = first;
  vector_iteration(b, op, before, state_of);
  from[1] = current_block(b);
  again_end(b, &again);
  for (int i = 0; i < n; i++) {
    LLVMValueRef phi = LLVMBuildPhi(b->at, LLVMTypeOf(state[i]), ""), both[] = {state[i], before[i]};
    LLVMAddIncoming(phi, both, from, 2);
    state[i] = phi;
  }
}

static LLVMValueRef vector_steps(Body *b, const Op *op, LLVMValueRef extent, LLVMValueRef **reductions) {
  Unit *u = b->unit;
  const LoopInfo *info = op->at.loop;
  VectorLoop *v = op_note(op)->vector;
  int n = 0, *state_of = NEW_ARRAY(u->arena, int, info->nouts + 1);
  LLVMValueRef *state = NEW_ARRAY(u->arena, LLVMValueRef, info->nouts + 1);
  LLVMValueRef *phis = NEW_ARRAY(u->arena, LLVMValueRef, info->nouts + 1);
  LLVMValueRef width = const_i64(u, v->lanes), zero = const_i64(u, 0);
  LLVMBasicBlockRef before = current_block(b), begin = new_block(b, "vectors"), header = new_block(b, ""),
                    inside = new_block(b, ""), leave = new_block(b, ""), after = new_block(b, "");
  LLVMValueRef whole = v->overlaps ? extent : LLVMBuildAnd(b->at, extent, const_i64(u, -(int64_t)v->lanes), "");
  LLVMBuildCondBr(b->at, LLVMBuildICmp(b->at, LLVMIntSGE, extent, width, ""), begin, after);
  begin_block(b, begin);
  const bool plain = b->plain_loops;
  b->plain_loops = true;
  b->vector = v;
  v->mask = NULL;
  vector_load_early(b, LLVMBuildNSWSub(b->at, extent, width, ""));
  panels_clear(b);
  for (int i = 0; i < info->nouts; i++) {
    state_of[i] = -1;
    if (!reductions[i])
      continue;
    state_of[i] = n;
    const Kind k = op->results[info->naccs + i]->type.kind;
    state[n++] = vector_spread(b, reduction_begin(b, info->outs[i], k), v->lanes);
  }
  LLVMBasicBlockRef entry = current_block(b);
  LLVMBuildBr(b->at, header);
  begin_block(b, header);
  v->first = LLVMBuildPhi(b->at, u->i64, "");
  for (int i = 0; i < n; i++) {
    phis[i] = LLVMBuildPhi(b->at, LLVMTypeOf(state[i]), "");
    LLVMAddIncoming(phis[i], &state[i], &entry, 1);
    state[i] = phis[i];
  }
  LLVMValueRef first = v->first;
  LLVMBuildCondBr(b->at, LLVMBuildICmp(b->at, LLVMIntSLT, first, whole, ""), inside, leave);
  begin_block(b, inside);
  if (v->overlaps) {
    LLVMValueRef last = LLVMBuildNSWSub(b->at, extent, width, ""), pair[] = {first, last};
    v->first = call_intrinsic(b, "llvm.smin", 1, &u->i64, 2, pair);
    v->fresh = LLVMBuildICmp(b->at, LLVMIntSGE, vector_indices(b, v->first), vector_spread(b, first, v->lanes), "");
    v->is_last = LLVMBuildICmp(b->at, LLVMIntSGT, first, last, "");
  }
  if (v->again && iterations_are_loose(b, op))
    loose_iteration(b, op, state, n, state_of);
  else
    vector_iteration(b, op, state, state_of);
  v->fresh = v->is_last = NULL;
  LLVMValueRef steps[] = {zero, LLVMBuildNSWAdd(b->at, first, width, "")};
  LLVMBasicBlockRef from[] = {entry, current_block(b)};
  LLVMAddIncoming(first, steps, from, 2);
  for (int i = 0; i < n; i++)
    LLVMAddIncoming(phis[i], &state[i], &from[1], 1);
  LLVMBuildBr(b->at, header);
  begin_block(b, leave);
  panels_sum(b);
  LLVMValueRef *sums = NEW_ARRAY(u->arena, LLVMValueRef, info->nouts + 1);
  for (int i = 0; i < info->nouts; i++)
    if (state_of[i] >= 0) {
      const Kind k = op->results[info->naccs + i]->type.kind;
      LLVMValueRef part = vector_reduced(b, info->outs[i], k, phis[state_of[i]]);
      sums[i] = reduction_step(b, info->outs[i], k, *reductions[i], part);
    }
  b->vector = NULL;
  b->plain_loops = plain;
  LLVMBasicBlockRef end = current_block(b);
  LLVMBuildBr(b->at, after);
  begin_block(b, after);
  LLVMBasicBlockRef blocks[] = {before, end};
  for (int i = 0; i < info->nouts; i++)
    if (state_of[i] >= 0) {
      LLVMValueRef phi = LLVMBuildPhi(b->at, LLVMTypeOf(sums[i]), ""), both[] = {*reductions[i], sums[i]};
      LLVMAddIncoming(phi, both, blocks, 2);
      *reductions[i] = phi;
    }
  LLVMValueRef done = LLVMBuildPhi(b->at, u->i64, ""), ends[] = {zero, whole};
  LLVMAddIncoming(done, ends, blocks, 2);
  return done;
}

LLVMValueRef vector_part(Body *b, const Op *op, LLVMValueRef extent, LLVMValueRef **reductions) {
  VectorLoop *v = op_note(op)->vector;
  const int nouts = op->at.loop->nouts;
  LLVMValueRef fit = panels_fit(b, v);
  if (!fit)
    return vector_steps(b, op, extent, reductions);
  LLVMBasicBlockRef forms[] = {new_block(b, "panels"), new_block(b, "large")}, after = new_block(b, ""), ends[2];
  LLVMValueRef done[2], *before = NEW_ARRAY(b->unit->arena, LLVMValueRef, 2 * nouts + 1), *first = before + nouts;
  LLVMBuildCondBr(b->at, fit, forms[0], forms[1]);
  for (int i = 0; i < nouts; i++)
    before[i] = reductions[i] ? *reductions[i] : NULL;
  for (int form = 0; form < 2; form++) {
    v->no_panels = form == 1;
    begin_block(b, forms[form]);
    for (int i = 0; i < nouts && form; i++)
      if (reductions[i]) {
        first[i] = *reductions[i];
        *reductions[i] = before[i];
      }
    done[form] = vector_steps(b, op, extent, reductions);
    ends[form] = current_block(b);
    LLVMBuildBr(b->at, after);
  }
  v->no_panels = false;
  begin_block(b, after);
  for (int i = 0; i < nouts; i++)
    if (reductions[i]) {
      LLVMValueRef phi = LLVMBuildPhi(b->at, LLVMTypeOf(first[i]), ""), both[] = {first[i], *reductions[i]};
      LLVMAddIncoming(phi, both, ends, 2);
      *reductions[i] = phi;
    }
  LLVMValueRef phi = LLVMBuildPhi(b->at, b->unit->i64, "");
  LLVMAddIncoming(phi, done, ends, 2);
  return phi;
}
