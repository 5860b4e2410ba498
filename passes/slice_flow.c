/* Slices of operations with regions; see slice.h. */
#include "passes/slice_internal.h"

/* ---- accumulators: what adds to them is not asked for by any result, and so made in order */
typedef struct Adds {
  const Op *op;
  bool found;
} Adds;
static void find_add(Op *op, void *arg) {
  Adds *a = arg;
  bool outside = op->code == OP_ACC_ADD;
  for (int i = 0; outside && i < a->op->nregions; i++)
    outside = value_is_outside(op->operands[0], a->op->regions[i]);
  a->found |= outside;
}

/* Whether an operation adds to accumulators from around it. */
static bool adds(const Op *op) {
  Adds a = {.op = op, .found = op->code == OP_ACC_ADD};
  for (int i = 0; i < op->nregions && !a.found; i++)
    region_walk(op->regions[i], find_add, &a);
  return a.found;
}

static void make_effects(Slice *s, const Region *r, Env *e);

static void make_effect_if(Slice *s, Op *op, Env *e) {
  Value *cond = slice_value(s, op->operands[0], e), *zero = build_int(&s->b, KIND_BOOL, 0);
  Op *branch = slice_if(s, cond);
  make_effects(s, op->regions[0], slice_instance(s, op->regions[0], e));
  slice_else(s, branch);
  make_effects(s, op->regions[1], slice_instance(s, op->regions[1], e));
  (void)slice_endif(s, branch, zero, zero);
}

static void make_effect(Slice *s, Op *op, Env *e) {
  switch (op->code) {
  case OP_ACC_ADD: slice_plain(s, op, e); break;
  case OP_IF: make_effect_if(s, op, e); break;
  case OP_LOOP: slice_flow_op(s, op, -1, e); break;
  default: slice_fail(s); break;
  }
}

static void make_effects(Slice *s, const Region *r, Env *e) {
  for (Op *op = r->first; op && !s->failed; op = op->next)
    if (adds(op))
      make_effect(s, op, e);
}

/* ---- loops */
/* After the loop has ended, its sites are seen from outside. */
static void hand_records(Slice *s, const Place *body, const Op *loop, int first) {
  for (int i = 0; i < body->records.n; i++) {
    Record r = body->records.at[i];
    if (s->mode == SLICE_GATHER) {
      r.value = loop_out(loop, first + 2 * i);
      r.column = loop_out(loop, first + 2 * i + 1);
    }
    vec_push(s->module->arena, s->place->records, r);
  }
}

void slice_end_loop(Slice *s, Op *loop, Value *const *carries, int nouts, const OutKind *outs, Value *const *yields) {
  Arena *a = s->module->arena;
  const Place *body = s->place;
  const int n = nouts + (s->mode == SLICE_GATHER ? 2 * body->records.n : 0);
  OutKind *kinds = NEW_ARRAY(a, OutKind, n + 1);
  Value **values = NEW_ARRAY(a, Value *, n + 1);
  for (int i = 0; i < nouts; i++) {
    kinds[i] = outs[i];
    values[i] = yields[i];
  }
  for (int i = nouts; i < n; i++) {
    const Record *r = &body->records.at[(i - nouts) / 2];
    kinds[i] = OUT_STACK;
    values[i] = (i - nouts) % 2 ? r->column : r->value;
  }
  place_close(s);
  if (n != nouts)
    loop_set_outs(s->module, loop, n, kinds);
  build_loop_end(&s->b, loop, carries, values);
  hand_records(s, body, loop, nouts);
}

static const Size **mapped_extents(Slice *s, const Op *op, Env *home) {
  const LoopInfo *info = op->at.loop;
  const Size **extents = NEW_ARRAY(s->module->arena, const Size *, info->nindices + 1);
  for (int i = 0; i < info->nindices; i++)
    extents[i] = slice_size(s, info->extents[i], home);
  return extents;
}

/* A loop in order, or a while, over a state that is not small: all that it ever reads would be taken for what one
   element depends on. */
static bool mixes_all(const Slice *s, const Op *op, int ncarries) {
  bool large = false;
  for (int i = 0; i < ncarries; i++)
    large |= !is_small(op->operands[i]->type) && value_is_active(s->activity, op->results[i]);
  return large;
}

static void slice_loop(Slice *s, Op *op, int result, Env *home) {
  const LoopInfo *info = op->at.loop;
  Arena *a = s->module->arena;
  const Region *body = op->regions[0];
  /* Of a loop without state or effect only what is asked for is made. */
  const bool one = !info->ncarries && !info->naccs && !adds(op);
  const int first = one ? result : 0, nouts = one ? 1 : info->nouts;
  if (mixes_all(s, op, info->ncarries))
    slice_fail(s);
  const Size **extents = mapped_extents(s, op, home);
  Value **inits = NEW_ARRAY(a, Value *, op->noperands + 1);
  for (int i = 0; i < op->noperands; i++)
    inits[i] = slice_value(s, op->operands[i], home);
  if (s->failed)
    return;
  LoopSpec spec = loop_spec_like(info, extents, inits);
  spec.nouts = nouts;
  spec.outs = info->outs + first;
  spec.checkpoint = 0;
  spec.states = NULL;
  Op *loop = build_loop_begin(&s->b, &spec);
  place_open(s, PLACE_LOOP, loop, loop->regions[0]);
  Env *e = slice_instance(s, body, home);
  for (int i = 0; i < body->nparams; i++) {
    slice_bind(e, body->params[i], loop->regions[0]->params[i]);
    loop->regions[0]->params[i]->name = body->params[i]->name;
  }
  make_effects(s, body, e);
  Value **carries = NEW_ARRAY(a, Value *, info->ncarries + 1), **outs = NEW_ARRAY(a, Value *, nouts + 1);
  for (int i = 0; i < info->ncarries; i++)
    carries[i] = slice_value(s, body->yields[i], e);
  for (int i = 0; i < nouts; i++)
    outs[i] = slice_value(s, body->yields[info->ncarries + first + i], e);
  if (s->failed) {
    place_close(s);
    return;
  }
  slice_end_loop(s, loop, carries, nouts, info->outs + first, outs);
  for (int i = 0; i < (one ? 0 : op->nresults); i++)
    slice_made(s, home, op->results[i], loop->results[i]);
  if (one)
    slice_made(s, home, op->results[result], loop->results[0]);
}

static void slice_branch(Slice *s, Op *op, int result, Env *home) {
  Value *cond = slice_value(s, op->operands[0], home), *values[2];
  int64_t constant;
  if (s->failed)
    return;
  if (value_is_int_const(cond, &constant)) {
    const Region *r = op->regions[!constant];
    Value *v = slice_value(s, r->yields[result], slice_instance(s, r, home));
    slice_made(s, home, op->results[result], v);
    return;
  }
  Op *branch = slice_if(s, cond);
  values[0] = slice_value(s, op->regions[0]->yields[result], slice_instance(s, op->regions[0], home));
  slice_else(s, branch);
  values[1] = slice_value(s, op->regions[1]->yields[result], slice_instance(s, op->regions[1], home));
  Value *v = slice_endif(s, branch, values[0], values[1]);
  slice_made(s, home, op->results[result], v);
}

static void slice_while(Slice *s, Op *op, Env *home) {
  Arena *a = s->module->arena;
  const int n = op->noperands;
  Value **values = NEW_ARRAY(a, Value *, n + 1);
  if (mixes_all(s, op, n))
    slice_fail(s);
  for (int i = 0; i < n; i++)
    values[i] = slice_value(s, op->operands[i], home);
  if (s->failed)
    return;
  Op *loop = build_while_begin(&s->b, n, values);
  Env *e[2];
  Value *cond = NULL;
  for (int r = 0; r < 2; r++) {
    place_open(s, PLACE_WHILE, loop, loop->regions[r]);
    e[r] = slice_instance(s, op->regions[r], home);
    for (int i = 0; i < n; i++)
      slice_bind(e[r], op->regions[r]->params[i], loop->regions[r]->params[i]);
    if (!r)
      cond = slice_value(s, op->regions[0]->yields[0], e[0]);
    for (int i = 0; r && i < n; i++)
      values[i] = slice_value(s, op->regions[1]->yields[i], e[1]);
    place_close(s);
    if (s->failed)
      return;
    if (!r)
      build_while_body(&s->b, loop, cond);
  }
  build_while_end(&s->b, loop, values);
  for (int i = 0; i < op->nresults; i++)
    slice_made(s, home, op->results[i], loop->results[i]);
}

void slice_flow_op(Slice *s, Op *op, int result, Env *home) {
  switch (op->code) {
  case OP_LOOP: slice_loop(s, op, result, home); break;
  case OP_IF: slice_branch(s, op, result, home); break;
  default: slice_while(s, op, home); break;
  }
}

/* ---- elements */
void slice_test_index(Slice *s, Value *i, const Size *extent) {
  Builder *b = &s->b;
  const Size *at = size_of_value(s->module, i);
  const Size *room = size_sub(s->module, size_sub(s->module, extent, at), size_const(s->module, 1));
  if (size_nonnegative(s->module, at) && size_nonnegative(s->module, room))
    return;
  Value *low = build_binary(b, OP_LE, build_int(b, KIND_I64, 0), i);
  Value *high = build_binary(b, OP_LT, i, build_size(b, extent));
  build_require(b, build_binary(b, OP_AND, low, high), "index out of range");
}

/* Some axes of a stack of which the loop has more: a loop over the rest. */
static Value *part_of_stack(Slice *s, Value *v, Env *home, int n, Value *const *idx, uint64_t checks, bool active) {
  const Size *extents[MAX_RANK];
  Value *all[MAX_RANK];
  const int rank = v->type.rank;
  for (int i = n; i < rank; i++)
    extents[i - n] = slice_size(s, v->type.dims[i], home);
  if (s->failed)
    return slice_nothing(s, type_scalar(v->type.kind));
  const OutKind stack = OUT_STACK;
  const LoopSpec spec = {.nindices = rank - n, .extents = extents, .nouts = 1, .outs = &stack};
  Op *loop = build_loop_begin(&s->b, &spec);
  place_open(s, PLACE_LOOP, loop, loop->regions[0]);
  for (int i = 0; i < rank; i++)
    all[i] = i < n ? idx[i] : loop_index(loop, i - n);
  Value *element = slice_element(s, v, home, rank, all, checks, active);
  if (s->failed) {
    place_close(s);
    return element;
  }
  slice_end_loop(s, loop, NULL, 1, &stack, &element);
  return loop_out(loop, 0);
}

static bool is_short(const LoopInfo *info) {
  for (int i = 0; i < info->nindices; i++)
    if (!size_is_const(info->extents[i], NULL))
      return false;
  return info->nindices > 0; /* without indices: loops in it may be anything */
}

Value *slice_loop_element(Slice *s, Value *v, Env *home, int n, Value *const *idx, uint64_t checks, bool active) {
  const Op *op = v->def;
  const LoopInfo *info = op->at.loop;
  const Region *body = op->regions[0];
  const int out = v->index - info->ncarries - info->naccs;
  Value *filled = v->index < info->ncarries && v->type.rank ? slice_filled(s, v, home, n, idx, checks, active) : NULL;
  if (!filled && !s->failed && v->index < info->ncarries && v->type.rank)
    filled = slice_one_place(s, v, home, n, idx, active);
  if (filled || s->failed)
    return filled ? filled : slice_nothing(s, type_scalar(v->type.kind));
  if ((info->ncarries || info->naccs) && active && !is_small(v->type) && !is_short(info)) {
    slice_fail(s); /* for each element all of the loop would be made */
    return slice_nothing(s, type_scalar(v->type.kind));
  }
  if (info->ncarries || info->naccs || (home != s->root && is_small(v->type))) {
    Value *whole = slice_value(s, v, home);
    return s->failed ? whole : build_index(&s->b, whole, n, idx, checks);
  }
  if (n < info->nindices)
    return part_of_stack(s, v, home, n, idx, checks, active);
  const Size **extents = mapped_extents(s, op, home);
  Env *e = slice_instance(s, body, home);
  for (int i = 0; i < info->nindices; i++) {
    if (checks >> i & 1 && !s->failed)
      slice_test_index(s, idx[i], extents[i]);
    slice_bind(e, body->params[i], idx[i]);
  }
  return slice_element(s, body->yields[out], e, n - info->nindices, idx + info->nindices, checks >> info->nindices,
                       active);
}
