/* The rules of the adjoint for operations with regions and for calls; see adjoint.h.  The adjoint of x is x_bar. */
#include "ir/raw.h"
#include "passes/adjoint.h"

/* The last operation of the region that code goes to now, to walk back from. */
static Op *last_op(const Adjoint *a) {
  return a->b.region->last;
}

/* True if something in the region adds to a primal accumulator whose result has a bar. */
static bool adds_to_wanted(const Adjoint *a, const Region *r) {
  for (const Op *op = r->first; op; op = op->next) {
    if (op->code == OP_ACC_ADD) {
      const Value *handle = op->operands[0], *bar = map_get(&a->ghosts, handle);
      if (bar && bar != handle)
        return true;
    }
    for (int i = 0; i < op->nregions; i++)
      if (adds_to_wanted(a, op->regions[i]))
        return true;
  }
  return false;
}

/* Nothing is to be done for an operation that no bar comes from: through its results, or through outer accumulators. */
static bool is_wanted(const Adjoint *a, const Frame *f, const Op *op) {
  for (int i = 0; i < op->nresults; i++)
    if (bar_get(f, op->results[i]))
      return true;
  for (int i = 0; i < op->nregions; i++)
    if (adds_to_wanted(a, op->regions[i]))
      return true;
  return false;
}

/* ---- loops */

/* The primal's accumulators in re-executed code become ghosts: handles that only lead to the bar of the loop's result.
 */
static void map_accs(Adjoint *a, const Frame *f, const Op *op, ValueMap *map) {
  for (int i = 0; i < op->at.loop->naccs; i++) {
    Value *handle = loop_acc(op, i), *ghost = value_new(a->module, handle->type, handle->name);
    Value *result_bar = bar_get(f, loop_acc_result(op, i));
    ghost->is_acc = true;
    ghost->region = a->b.region;
    map_put(map, handle, ghost);
    map_put(&a->ghosts, ghost, result_bar ? result_bar : ghost);
  }
}

/* The bars of what an iteration yields: a slice of a stack's, a sum's as it is. */
static void seed_outs(Adjoint *a, const Frame *parent, Frame *f, const Op *op, const ValueMap *map,
                      Value *const *indices) {
  const LoopInfo *info = op->at.loop;
  for (int i = 0; i < info->nouts; i++) {
    Value *out_bar = bar_get(parent, loop_out(op, i));
    if (!out_bar)
      continue;
    Value *y = map_value(map, op->regions[0]->yields[info->ncarries + i]);
    if (info->outs[i] == OUT_STACK)
      out_bar = build_index(&a->b, out_bar, info->nindices, indices, 0);
    else if (info->outs[i] != OUT_SUM)
      internal_error("a '%s' reduction reached the adjoint", out_kind_name[info->outs[i]]);
    bar_add(a, f, y, out_bar);
  }
}

static void bars_of_acc_inits(Adjoint *a, Frame *f, const Op *op) {
  const LoopInfo *info = op->at.loop;
  for (int i = 0; i < info->naccs; i++)
    bar_add(a, f, op->operands[info->ncarries + i], bar_get(f, loop_acc_result(op, i)));
}

static Op *begin_like(Adjoint *a, const Op *op, int ncarries, Value *const *inits) {
  const LoopInfo *info = op->at.loop;
  const char **names = NEW_ARRAY(a->module->arena, const char *, info->nindices + 1);
  for (int i = 0; i < info->nindices; i++)
    names[i] = loop_index(op, i)->name;
  const LoopSpec spec = {.nindices = info->nindices,
                         .extents = info->extents,
                         .index_names = names,
                         .ncarries = ncarries,
                         .carry_inits = inits};
  return build_loop_begin(&a->b, &spec);
}

/* Iterations are independent: each is executed again, then walked back. */
static void adjoint_parallel_loop(Adjoint *a, Frame *f, Op *op) {
  const Region *body = op->regions[0];
  Frame inner;
  Op *reverse = begin_like(a, op, 0, NULL);
  frame_open(a, &inner, f, reverse);
  ValueMap map = {.arena = a->module->arena};
  for (int i = 0; i < op->at.loop->nindices; i++)
    map_put(&map, body->params[i], loop_index(reverse, i));
  map_accs(a, f, op, &map);
  frame_copy(a, &inner, body, &map);
  Op *last = last_op(a);
  seed_outs(a, f, &inner, op, &map, reverse->regions[0]->params);
  adjoint_walk(a, &inner, NULL, last);
  frame_close(a, &inner, NULL);
  bars_of_acc_inits(a, f, op);
}

/* The state that carry j had at the entry of iteration i, read from the tape that the primal loop wrote. */
static Value *recorded_state(Adjoint *a, Op *op, int j, Value *i) {
  Value *carry = loop_carry(op, j), *tape = loop_record(a->module, op, carry);
  Value *state = build_index(&a->b, tape, 1, &i, 0);
  activity_mark(&a->activity, tape, carry);
  activity_mark(&a->activity, state, carry);
  map_put(&a->tapes, tape, state);
  return state;
}

/* A tensor that has no value in re-executed code. */
static Value *ghost_of(Adjoint *a, const Frame *f, const Value *carry) {
  Value *ghost = value_new(a->module, carry->type, carry->name);
  ghost->region = f->region;
  activity_mark(&a->activity, ghost, carry);
  map_put(&a->ghosts, ghost, ghost);
  return ghost;
}

/* Iterations in order: run downwards, each executed again from its recorded entry state.  The bars of the carries are
   carries of the reverse loop. */
static void adjoint_carry_loop(Adjoint *a, Frame *f, Op *op) {
  const LoopInfo *info = op->at.loop;
  const Region *body = op->regions[0];
  Builder *b = &a->b;
  const int nc = info->ncarries;
  int n = 0, *active = NEW_ARRAY(a->module->arena, int, nc + 1);
  Value **bars = NEW_ARRAY(a->module->arena, Value *, nc + 1), **states = NEW_ARRAY(a->module->arena, Value *, nc + 1);
  for (int j = 0; j < nc; j++)
    if (value_is_active(&a->activity, loop_carry(op, j))) {
      Value *bar = bar_get(f, op->results[j]);
      active[n] = j;
      bars[n++] = bar ? bar : build_zeros(b, op->results[j]->type);
    }
  Value *last_trip = build_size(b, size_sub(a->module, info->extents[0], size_const(a->module, 1)));
  Frame inner;
  Op *reverse = begin_like(a, op, n, bars);
  frame_open(a, &inner, f, reverse);
  ValueMap map = {.arena = a->module->arena};
  Value *i = build_sub(b, last_trip, loop_index(reverse, 0));
  map_put(&map, body->params[0], i);
  ReadHook reads = {.a = a, .i = i};
  ReadSite *sites = NULL;
  for (int j = 0; j < nc; j++) {
    const bool by_elements = state_by_elements(a, op, j, &sites);
    states[j] = by_elements ? ghost_of(a, &inner, loop_carry(op, j)) : recorded_state(a, op, j, i);
    map_put(&map, loop_carry(op, j), states[j]);
  }
  reads.sites = sites;
  map_accs(a, f, op, &map);
  Op *before = last_op(a);
  b->hook = state_read_hook;
  b->hook_arg = &reads;
  frame_copy(a, &inner, body, &map);
  b->hook = NULL;
  Op *last = last_op(a);
  for (int k = 0; k < n; k++)
    bar_add(a, &inner, map_value(&map, body->yields[active[k]]), loop_carry(reverse, k));
  seed_outs(a, f, &inner, op, &map, &i);
  if (last != before)
    adjoint_walk(a, &inner, before->next, last);
  for (int k = 0; k < n; k++) {
    Value *state = states[active[k]], *bar = bar_get(&inner, state);
    bars[k] = bar ? bar : build_zeros(b, state->type);
  }
  frame_close(a, &inner, bars);
  for (int k = 0; k < n; k++)
    bar_add(a, f, op->operands[active[k]], loop_carry_result(reverse, k));
  bars_of_acc_inits(a, f, op);
}

void adjoint_loop(Adjoint *a, Frame *f, Op *op) {
  if (!is_wanted(a, f, op))
    return;
  if (op->at.loop->ncarries && binomial_fits(op))
    adjoint_binomial(a, f, op);
  else if (op->at.loop->ncarries)
    adjoint_carry_loop(a, f, op);
  else
    adjoint_parallel_loop(a, f, op);
}

/* ---- branches: the reverse of an `if` is an `if` on the same condition.  One that yields tensors is most often a
   tensor changed in one arm: its bar is threaded through the arms, in place, and so are those of all others that they
   read. Any other stands in a loop of one iteration, so that tensors from outside have an accumulator to be added to.
 */
static bool yields_tensors(const Frame *f, const Op *op) {
  for (int i = 0; i < op->nresults; i++)
    if (op->results[i]->type.rank && bar_get(f, op->results[i]))
      return true;
  return false;
}

static void reverse_branch(Adjoint *a, const Frame *results, Frame *inner, Frame *parent, const Op *op, Op *reverse,
                           int which) {
  a->b.region = reverse->regions[which];
  frame_open(a, inner, parent, NULL);
  inner->threads = parent == results;
  ValueMap map = {.arena = a->module->arena};
  frame_copy(a, inner, op->regions[which], &map);
  Op *last = last_op(a);
  for (int i = 0; i < op->nresults; i++) {
    Value *y_bar = bar_get(results, op->results[i]);
    if (y_bar)
      bar_add(a, inner, map_value(&map, op->regions[which]->yields[i]), y_bar);
  }
  adjoint_walk(a, inner, NULL, last);
}

/* The bars that leave the branches: of outer scalars what is to be added, of tensors what they are now. */
static void branch_bars(Adjoint *a, const Frame *branch, Frame *f, Op *reverse) {
  Module *m = a->module;
  VEC(Value *) keys = {0};
  for (int w = 0; w < 2; w++)
    for (int i = 0; i < branch[w].captured.n; i++) {
      Value *v = branch[w].captured.at[i];
      if (w == 0 || !bar_get(&branch[0], v))
        vec_push(m->arena, keys, v);
    }
  for (int w = 0; w < 2; w++) {
    Value **yields = NEW_ARRAY(m->arena, Value *, keys.n + 1);
    a->b.region = reverse->regions[w];
    for (int i = 0; i < keys.n; i++) {
      Value *v = keys.at[i], *bar = bar_get(&branch[w], v);
      if (!bar && v->type.rank)
        bar = bar_get(f, v);
      yields[i] = bar ? bar : build_zeros(&a->b, v->type);
    }
    region_set_yields(m, reverse->regions[w], keys.n, yields);
  }
  a->b.region = f->region;
  reverse->nresults = keys.n;
  reverse->results = NEW_ARRAY(m->arena, Value *, keys.n + 1);
  for (int i = 0; i < keys.n; i++) {
    Value *v = keys.at[i], *bar = op_set_result(m, reverse, i, v->type, NULL);
    if (v->type.rank)
      bar_replace(a, f, v, bar);
    else
      bar_add(a, f, v, bar);
  }
}

void adjoint_if(Adjoint *a, Frame *f, const Op *op) {
  Module *m = a->module;
  if (!is_wanted(a, f, op))
    return;
  const LoopSpec once = {.nindices = 0};
  const bool threads = yields_tensors(f, op);
  Frame outer, branch[2], *around = threads ? f : &outer;
  if (!threads)
    frame_open(a, &outer, f, build_loop_begin(&a->b, &once));
  Op *reverse = op_new(m, OP_IF, 1, 0, 2);
  reverse->operands[0] = op->operands[0];
  reverse->loc = a->b.loc;
  reverse->origin = a->b.origin;
  region_append(a->b.region, reverse);
  for (int w = 0; w < 2; w++) {
    reverse->regions[w] = region_new(m, a->func, reverse);
    reverse_branch(a, f, &branch[w], around, op, reverse, w);
  }
  branch_bars(a, branch, around, reverse);
  if (!threads)
    frame_close(a, &outer, NULL);
  for (int w = 0; w < 2; w++)
    adjoint_drop_effects(a, reverse->regions[w]);
}

/* ---- while: known by now to take `trips` iterations, it is done again as a loop with carries, and that reversed. */
void adjoint_while(Adjoint *a, Frame *f, const Op *op) {
  Module *m = a->module;
  const int n = op->noperands;
  if (!is_wanted(a, f, op))
    return;
  const Size *trips = size_of_value(m, op->results[n]);
  const LoopSpec spec = {.nindices = 1, .extents = &trips, .ncarries = n, .carry_inits = op->operands};
  Op *loop = build_loop_begin(&a->b, &spec);
  const Region *body = op->regions[1];
  ValueMap map = {.arena = m->arena};
  for (int i = 0; i < n; i++)
    map_put(&map, body->params[i], loop_carry(loop, i));
  const Region *share_top = a->b.share_top;
  a->b.share_top = loop->regions[0];
  build_copy_region(&a->b, body, &map);
  a->b.share_top = share_top;
  activity_copied(&a->activity, &map);
  Value **carries = NEW_ARRAY(m->arena, Value *, n + 1);
  for (int i = 0; i < n; i++)
    carries[i] = map_value(&map, body->yields[i]);
  build_loop_end(&a->b, loop, carries, NULL);
  for (int i = 0; i < n; i++) {
    Value *bar = bar_get(f, op->results[i]);
    activity_mark(&a->activity, loop->results[i], op->results[i]);
    if (bar)
      map_put(&f->bars, loop->results[i], bar);
  }
  adjoint_loop(a, f, loop);
}

/* ---- calls: the callee's own vector-Jacobian product, differentiated once for each set of active arguments. */
void adjoint_call(Adjoint *a, Frame *f, const Op *op) {
  Func *callee = op->at.callee;
  const int n = op->noperands;
  if (!is_wanted(a, f, op))
    return;
  bool *wrt = NEW_ARRAY(a->module->arena, bool, n + 1), any = false;
  for (int i = 0; i < n; i++)
    any |= wrt[i] = value_is_active(&a->activity, op->operands[i]) && !value_is_const(op->operands[i]);
  if (!any)
    return;
  Func *vjp = func_derive(a->module, DERIVE_VJP, callee, wrt, MODE_REVERSE, op->loc);
  Value **args = NEW_ARRAY(a->module->arena, Value *, vjp->body->nparams + 1);
  int nargs = 0;
  for (; nargs < n; nargs++)
    args[nargs] = op->operands[nargs];
  for (int r = 0; r < op->nresults; r++)
    if (kind_is_float(op->results[r]->type.kind)) {
      Value *bar = bar_get(f, op->results[r]);
      args[nargs++] = bar ? bar : build_zeros(&a->b, op->results[r]->type);
    }
  Op *call = build_call(&a->b, vjp, args);
  int k = callee->nresults;
  for (int i = 0; i < n; i++)
    if (wrt[i])
      bar_add(a, f, op->operands[i], call->results[k++]);
}
