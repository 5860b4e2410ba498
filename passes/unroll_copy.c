/* Copying a loop with the small loops inside taken apart; see unroll.c.
   A small tensor is its elements (Parts) as long as it is read and changed at constant places.  Elsewhere it is made
   again, as updates of a full one.  An accumulator that a small loop declares is the parts that it has so far; a branch
   yields the parts that either side adds to. */
#include "ir/raw.h"
#include "passes/number.h"
#include "passes/passes_internal.h"
#include "passes/unroll.h"

static void copy_ops(Unroll *u, const Region *r);

/* ---- parts */
static Parts *parts_of(const Value *v) {
  return v->note;
}

static Parts *parts_new(Unroll *u, Type t, int n) {
  Parts *p = NEW(u->b->module->arena, Parts);
  *p = (Parts){.type = t, .n = n};
  p->at = NEW_ARRAY(u->b->module->arena, Value *, n + 1);
  return p;
}

static bool in_sight(const Builder *b, const Value *v) {
  for (const Region *r = b->region; r; r = r->owner ? r->owner->parent : NULL)
    if (r == v->region)
      return true;
  return false;
}

/* Indices of element k. */
static void place_of_part(Builder *b, Type t, int k, Value **idx) {
  for (int i = t.rank - 1; i >= 0; i--) {
    int64_t d = 1;
    size_is_const(t.dims[i], &d);
    idx[i] = build_int(b, KIND_I64, k % d);
    k /= (int)d;
  }
}

static Value *whole_of(Unroll *u, Parts *p) {
  Builder *b = u->b;
  if (p->whole && in_sight(b, p->whole))
    return p->whole;
  bool same = true;
  for (int k = 1; k < p->n; k++)
    same &= p->at[k] == p->at[0];
  Value *v = same ? build_full(b, p->type, p->at[0]) : build_zeros(b, p->type);
  for (int k = 0; k < p->n && !same; k++) {
    Value *idx[MAX_RANK];
    place_of_part(b, p->type, k, idx);
    v = build_update(b, v, p->at[k], p->type.rank, idx, 0);
  }
  return p->whole = v;
}

/* The new value of an old one, made as a tensor if need be. */
static Value *value_of(Unroll *u, Value *v) {
  return parts_of(v) ? whole_of(u, parts_of(v)) : map_value(u->map, v);
}

/* Element k of an old value of n elements, a scalar included. */
static Value *part_of(Unroll *u, Value *v, int k) {
  if (parts_of(v))
    return parts_of(v)->at[k];
  Value *x = map_value(u->map, v), *idx[MAX_RANK];
  if (!x->type.rank)
    return x;
  place_of_part(u->b, x->type, k, idx);
  return build_index(u->b, x, x->type.rank, idx, 0);
}

static void set_parts(Value *v, Parts *p) {
  v->note = p;
}

static void set_value(Unroll *u, Value *v, Value *to) {
  v->note = NULL;
  map_put(u->map, v, to);
  if (!to->name && !value_is_const(to))
    to->name = v->name;
}

/* Where the part begins that constant indices select, of the type of a tensor; false: they are not constant, or out of
   range. */
static bool first_part(Unroll *u, Type t, int n, Value *const *idx, int *first) {
  int64_t at = 0;
  for (int i = 0; i < t.rank; i++) {
    int64_t k = 0, d = 1;
    size_is_const(t.dims[i], &d);
    if (i < n && (!value_is_int_const(map_value(u->map, idx[i]), &k) || k < 0 || k >= d))
      return false;
    at = at * d + k;
  }
  *first = (int)at;
  return true;
}

/* ---- operations on small tensors; false: they are to be copied as they are */
static bool copy_index(Unroll *u, const Op *op) {
  const Parts *x = parts_of(op->operands[0]);
  int first;
  if (!x || !first_part(u, x->type, op->noperands - 1, op->operands + 1, &first))
    return false;
  const Type t = type_drop(x->type, op->noperands - 1);
  if (!t.rank) {
    set_value(u, op->results[0], x->at[first]);
    return true;
  }
  Parts *p = parts_new(u, t, unroll_count(t));
  for (int k = 0; k < p->n; k++)
    p->at[k] = x->at[first + k];
  set_parts(op->results[0], p);
  return true;
}

static bool copy_update(Unroll *u, const Op *op) {
  const Parts *x = parts_of(op->operands[0]);
  int first;
  if (!x || !first_part(u, x->type, op->noperands - 2, op->operands + 2, &first))
    return false;
  Parts *p = parts_new(u, x->type, x->n);
  const int n = unroll_count(op->operands[1]->type);
  for (int k = 0; k < p->n; k++)
    p->at[k] = k >= first && k < first + n ? part_of(u, op->operands[1], k - first) : x->at[k];
  set_parts(op->results[0], p);
  return true;
}

static bool copy_full(Unroll *u, const Op *op) {
  const Type t = map_type(u->b->module, u->map, op->results[0]->type);
  const int n = unroll_count(t);
  if (!n)
    return false;
  Parts *p = parts_new(u, t, n);
  for (int k = 0; k < n; k++)
    p->at[k] = map_value(u->map, op->operands[0]);
  set_parts(op->results[0], p);
  return true;
}

static bool copy_reshape(Unroll *u, const Op *op) {
  const Parts *x = parts_of(op->operands[0]);
  if (!x)
    return false;
  Parts *p = parts_new(u, map_type(u->b->module, u->map, op->results[0]->type), x->n);
  for (int k = 0; k < p->n; k++)
    p->at[k] = x->at[k];
  set_parts(op->results[0], p);
  return true;
}

/* A sum that begins with the 0 of an accumulator, or of a seed, is its other term. */
static Value *plus(Builder *b, Value *x, Value *y) {
  if (kind_is_float(x->type.kind) && value_is_zero(x))
    return y;
  return kind_is_float(x->type.kind) && value_is_zero(y) ? x : build_add(b, x, y);
}

static bool copy_acc_add(Unroll *u, const Op *op) {
  Value *handle = op->operands[0], *v = op->operands[1];
  const Parts *x = parts_of(handle);
  Builder *b = u->b;
  int first = 0;
  if (!x)
    return false;
  Parts *p = parts_new(u, x->type, x->n);
  const int n = unroll_count(v->type), nidx = op->noperands - 2;
  const bool known = first_part(u, x->type, nidx, op->operands + 2, &first);
  for (int k = 0; k < p->n; k++) {
    p->at[k] = x->at[k];
    if (known) {
      if (k >= first && k < first + n)
        p->at[k] = plus(b, x->at[k], part_of(u, v, k - first));
      continue;
    }
    Value *idx[MAX_RANK], *here = build_int(b, KIND_BOOL, 1); /* each element, where it is the one */
    place_of_part(b, x->type, k, idx);
    for (int i = 0; i < nidx; i++)
      here = build_binary(b, OP_AND, here, build_binary(b, OP_EQ, map_value(u->map, op->operands[2 + i]), idx[i]));
    p->at[k] = build_select(b, here, plus(b, x->at[k], part_of(u, v, k % n)), x->at[k]);
  }
  set_parts(handle, p);
  return true;
}

/* ---- loops */
/* What the body of a loop that stays reads whole, or at places that vary, is made before it, not in each iteration.
   What turns out to be read at constant places alone is dead. */
static void make_whole(Unroll *u, Value *v, const Region *body) {
  if (parts_of(v) && !v->is_acc && value_is_outside(v, body))
    whole_of(u, parts_of(v));
}

static void make_what_is_read_whole(Unroll *u, const Region *r, const Region *body) {
  for (const Op *op = r->first; op; op = op->next) {
    bool constant = op->code == OP_INDEX;
    for (int i = 1; i < op->noperands && constant; i++)
      constant = value_is_const(op->operands[i]);
    for (int i = 0; i < op->noperands && !constant; i++)
      make_whole(u, op->operands[i], body);
    for (int i = 0; i < op->nregions; i++)
      make_what_is_read_whole(u, op->regions[i], body);
  }
  for (int i = 0; i < r->nyields; i++)
    make_whole(u, r->yields[i], body);
}

static void copy_kept_loop(Unroll *u, const Op *op) {
  Builder *b = u->b;
  Module *m = b->module;
  const LoopInfo *info = op->at.loop;
  const Size **extents = NEW_ARRAY(m->arena, const Size *, info->nindices + 1);
  Value **inits = NEW_ARRAY(m->arena, Value *, op->noperands + 1);
  for (int i = 0; i < info->nindices; i++)
    extents[i] = map_size(m, u->map, info->extents[i]);
  for (int i = 0; i < op->noperands; i++)
    inits[i] = value_of(u, op->operands[i]);
  make_what_is_read_whole(u, op->regions[0], op->regions[0]);
  const LoopSpec spec = loop_spec_like(info, extents, inits);
  Op *copy = build_loop_begin(b, &spec);
  const Region *body = op->regions[0];
  for (int i = 0; i < body->nparams; i++)
    set_value(u, body->params[i], copy->regions[0]->params[i]);
  copy_ops(u, body);
  Value **yields = NEW_ARRAY(m->arena, Value *, body->nyields + 1);
  for (int i = 0; i < body->nyields; i++)
    yields[i] = value_of(u, body->yields[i]);
  build_loop_end(b, copy, yields, yields + info->ncarries);
  for (int i = 0; i < op->nresults; i++)
    set_value(u, op->results[i], copy->results[i]);
}

static const Opcode reduction[] = {[OUT_SUM] = OP_ADD, [OUT_PROD] = OP_MUL, [OUT_MIN] = OP_MIN,
                                   [OUT_MAX] = OP_MAX, [OUT_AND] = OP_AND,  [OUT_OR] = OP_OR};

/* What the outs of a loop are so far: scalars that are reduced, stacks in parts. */
typedef struct Outs {
  Value **scalars;
  Parts **stacks;
} Outs;

static void take_outs(Unroll *u, const Op *op, int trip, Outs *outs) {
  const LoopInfo *info = op->at.loop;
  for (int i = 0; i < info->nouts; i++) {
    Value *y = op->regions[0]->yields[info->ncarries + i];
    if (info->outs[i] == OUT_STACK) {
      const int n = unroll_count(y->type);
      for (int k = 0; k < n; k++)
        outs->stacks[i]->at[trip * n + k] = part_of(u, y, k);
      continue;
    }
    Value *x = map_value(u->map, y), *before = outs->scalars[i];
    outs->scalars[i] = !before                    ? x
                       : info->outs[i] == OUT_SUM ? plus(u->b, before, x)
                                                  : build_binary(u->b, reduction[info->outs[i]], before, x);
  }
}

/* The state that a value carries on: its parts, or what it is. */
typedef struct State {
  Parts *parts;
  Value *value;
} State;

static State state_of(Unroll *u, Value *v) {
  return parts_of(v) ? (State){.parts = parts_of(v)} : (State){.value = map_value(u->map, v)};
}
static void set_state(Unroll *u, Value *v, State s) {
  if (s.parts)
    set_parts(v, s.parts);
  else
    set_value(u, v, s.value);
}

static Parts *all_parts(Unroll *u, Value *v) {
  if (parts_of(v))
    return parts_of(v);
  Parts *p = parts_new(u, map_type(u->b->module, u->map, v->type), unroll_count(v->type));
  for (int k = 0; k < p->n; k++)
    p->at[k] = part_of(u, v, k);
  return p;
}

static void begin_small_loop(Unroll *u, const Op *op, Outs *outs) {
  Module *m = u->b->module;
  const LoopInfo *info = op->at.loop;
  for (int i = 0; i < info->ncarries; i++)
    set_state(u, loop_carry(op, i), state_of(u, op->operands[i]));
  for (int i = 0; i < info->naccs; i++) {
    set_parts(loop_acc(op, i), all_parts(u, op->operands[info->ncarries + i]));
    vec_push(m->arena, u->handles, loop_acc(op, i));
  }
  outs->scalars = NEW_ARRAY(m->arena, Value *, info->nouts + 1);
  outs->stacks = NEW_ARRAY(m->arena, Parts *, info->nouts + 1);
  for (int i = 0; i < info->nouts; i++)
    if (info->outs[i] == OUT_STACK) {
      const Type t = loop_out(op, i)->type;
      outs->stacks[i] = parts_new(u, map_type(m, u->map, t), unroll_count(t));
    }
}

static void end_small_loop(Unroll *u, const Op *op, const Outs *outs) {
  const LoopInfo *info = op->at.loop;
  for (int i = 0; i < info->ncarries; i++)
    set_state(u, op->results[i], state_of(u, loop_carry(op, i)));
  for (int i = 0; i < info->naccs; i++) {
    const Parts *p = parts_of(loop_acc(op, i));
    Value *result = loop_acc_result(op, i);
    if (p->type.rank)
      set_parts(result, parts_of(loop_acc(op, i)));
    else
      set_value(u, result, p->at[0]);
  }
  u->handles.n -= info->naccs;
  for (int i = 0; i < info->nouts; i++) {
    if (!outs->stacks[i]) {
      const Kind kind = loop_out(op, i)->type.kind;
      set_value(u, loop_out(op, i), outs->scalars[i] ? outs->scalars[i] : build_number(u->b, kind, 0));
    } else if (outs->stacks[i]->type.rank)
      set_parts(loop_out(op, i), outs->stacks[i]);
    else
      set_value(u, loop_out(op, i), outs->stacks[i]->at[0]);
  }
}

static void copy_small_loop(Unroll *u, const Op *op) {
  Module *m = u->b->module;
  const LoopInfo *info = op->at.loop;
  int64_t extents[MAX_RANK] = {0}, trips = 1;
  Outs outs;
  for (int i = 0; i < info->nindices; i++) {
    if (!size_is_const(map_size(m, u->map, info->extents[i]), &extents[i]))
      internal_error("a small loop's extent is not known");
    trips *= extents[i] > 0 ? extents[i] : 0;
  }
  begin_small_loop(u, op, &outs);
  State *next = NEW_ARRAY(m->arena, State, info->ncarries + 1);
  for (int trip = 0; trip < trips; trip++) {
    int64_t rest = trip;
    for (int i = info->nindices - 1; i >= 0; i--) {
      const int64_t extent = extents[i] > 1 ? extents[i] : 1;
      set_value(u, loop_index(op, i), build_int(u->b, KIND_I64, rest % extent));
      rest /= extent;
    }
    copy_ops(u, op->regions[0]);
    take_outs(u, op, trip, &outs);
    for (int i = 0; i < info->ncarries; i++)
      next[i] = state_of(u, op->regions[0]->yields[i]);
    for (int i = 0; i < info->ncarries; i++)
      set_state(u, loop_carry(op, i), next[i]);
  }
  end_small_loop(u, op, &outs);
}

/* ---- branches */
typedef struct Side {
  Parts **handles; /* what the accumulators are after it */
  Value **yields;
  int n;
} Side;

/* What a side gives: its yields, small tensors as their elements, then all parts of the accumulators. */
static void copy_side(Unroll *u, const Region *r, Parts *const *before, Side *side) {
  Arena *arena = u->b->module->arena;
  for (int i = 0; i < u->handles.n; i++)
    set_parts(u->handles.at[i], before[i]);
  copy_ops(u, r);
  int most = 1;
  for (int i = 0; i < r->nyields; i++)
    most += r->yields[i]->type.rank ? UNROLL_PARTS : 1;
  side->yields = NEW_ARRAY(arena, Value *, most);
  side->handles = NEW_ARRAY(arena, Parts *, u->handles.n + 1);
  side->n = 0;
  for (int i = 0; i < r->nyields; i++) {
    const int n = unroll_count(r->yields[i]->type);
    if (!n)
      side->yields[side->n++] = value_of(u, r->yields[i]);
    for (int k = 0; k < n; k++)
      side->yields[side->n++] = part_of(u, r->yields[i], k);
  }
  for (int i = 0; i < u->handles.n; i++)
    side->handles[i] = parts_of(u->handles.at[i]);
}

/* Both sides' yields, and those parts of accumulators in which they differ. */
static int join_sides(Unroll *u, Side *sides, Value **joined[2]) {
  int most = sides[0].n;
  for (int i = 0; i < u->handles.n; i++)
    most += sides[0].handles[i]->n;
  for (int w = 0; w < 2; w++)
    joined[w] = NEW_ARRAY(u->b->module->arena, Value *, most + 1);
  int n = 0;
  for (; n < sides[0].n; n++)
    for (int w = 0; w < 2; w++)
      joined[w][n] = sides[w].yields[n];
  for (int i = 0; i < u->handles.n; i++)
    for (int k = 0; k < sides[0].handles[i]->n; k++) {
      if (sides[0].handles[i]->at[k] == sides[1].handles[i]->at[k])
        continue;
      for (int w = 0; w < 2; w++)
        joined[w][n] = sides[w].handles[i]->at[k];
      n++;
    }
  return n;
}

/* The results of the old branch from `values`, which are as join_sides() has them. */
static void take_joined(Unroll *u, const Op *op, const Side *sides, Value *const *values) {
  int at = 0;
  for (int i = 0; i < op->nresults; i++) {
    const Type t = op->results[i]->type;
    const int n = unroll_count(t);
    if (!t.rank || !n) {
      set_value(u, op->results[i], values[at++]);
      continue;
    }
    Parts *p = parts_new(u, map_type(u->b->module, u->map, t), n);
    for (int k = 0; k < n; k++)
      p->at[k] = values[at++];
    set_parts(op->results[i], p);
  }
  for (int i = 0; i < u->handles.n; i++) {
    const Parts *x = sides[0].handles[i], *y = sides[1].handles[i];
    Parts *p = parts_new(u, x->type, x->n);
    for (int k = 0; k < x->n; k++)
      p->at[k] = x->at[k] == y->at[k] ? x->at[k] : values[at++];
    set_parts(u->handles.at[i], p);
  }
}

/* One constant on both sides. */
static bool are_alike(const Value *x, const Value *y) {
  return value_is_const(x) && value_is_const(y) && x->type.kind == y->type.kind &&
         op_attribute(x->def) == op_attribute(y->def);
}

static Value *constant_like(Builder *b, const Value *x) {
  const Kind k = x->type.kind;
  return kind_is_float(k) ? build_float(b, k, x->def->at.f) : build_int(b, k, x->def->at.i);
}

static void copy_branch(Unroll *u, const Op *op) {
  Builder *b = u->b;
  Arena *arena = b->module->arena;
  Value *cond = map_value(u->map, op->operands[0]), **joined[2];
  Parts **before = NEW_ARRAY(arena, Parts *, u->handles.n + 1);
  Side sides[2];
  int64_t known;
  for (int i = 0; i < u->handles.n; i++)
    before[i] = parts_of(u->handles.at[i]);
  if (value_is_int_const(cond, &known)) {
    const Region *taken = op->regions[known ? 0 : 1];
    copy_ops(u, taken);
    for (int i = 0; i < op->nresults; i++)
      set_state(u, op->results[i], state_of(u, taken->yields[i]));
    return;
  }
  Op *copy = build_if_begin(b, cond);
  copy_side(u, op->regions[0], before, &sides[0]);
  build_if_else(b, copy, 0, NULL); /* what it yields is known only when both sides are */
  copy_side(u, op->regions[1], before, &sides[1]);
  const int n = join_sides(u, sides, joined);
  region_set_yields(b->module, copy->regions[0], n, joined[0]);
  build_if_end(b, copy, n, joined[1]);
  Value **results = NEW_ARRAY(arena, Value *, n + 1);
  branch_join(u->branches, b, copy, results);
  for (int i = 0; i < n; i++)
    if (are_alike(joined[0][i], joined[1][i]))
      results[i] = constant_like(b, joined[0][i]);
  take_joined(u, op, sides, results);
}

/* ---- all operations */
static bool copy_in_parts(Unroll *u, const Op *op) {
  switch (op->code) {
  case OP_INDEX: return copy_index(u, op);
  case OP_UPDATE: return copy_update(u, op);
  case OP_FULL: return copy_full(u, op);
  case OP_RESHAPE: return copy_reshape(u, op);
  case OP_ACC_ADD: return copy_acc_add(u, op);
  case OP_IF: copy_branch(u, op); return true;
  case OP_LOOP:
    if (op->note == &unroll_mark)
      copy_small_loop(u, op);
    else
      copy_kept_loop(u, op);
    return true;
  case OP_ADD: {
    Value *x = map_value(u->map, op->operands[0]), *y = map_value(u->map, op->operands[1]);
    if (!op->origin || !(value_is_zero(x) || value_is_zero(y)))
      return false;
    set_value(u, op->results[0], plus(u->b, x, y));
    return true;
  }
  default: return false;
  }
}

static void copy_ops(Unroll *u, const Region *r) {
  Builder *b = u->b;
  for (const Op *op = r->first; op; op = op->next) {
    const Range loc = b->loc;
    const Op *origin = b->origin;
    b->loc = op->loc;
    b->origin = op->origin ? op->origin : origin;
    const bool done = copy_in_parts(u, op);
    b->loc = loc;
    b->origin = origin;
    if (done)
      continue;
    for (int i = 0; i < op->noperands; i++)
      if (parts_of(op->operands[i]) && !op->operands[i]->is_acc)
        map_put(u->map, op->operands[i], whole_of(u, parts_of(op->operands[i])));
    for (int i = 0; i < op->nresults; i++)
      op->results[i]->note = NULL;
    build_copy_op(b, op, u->map);
  }
}

void unroll_loop(Builder *b, const Op *loop, ValueMap *map) {
  Unroll u = {.b = b, .map = map, .branches = branches_new(b->module->arena)};
  const Range loc = b->loc;
  b->loc = loop->loc;
  copy_kept_loop(&u, loop);
  b->loc = loc;
}
