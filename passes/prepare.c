/* Rewriting, before differentiation, of loops that the derivatives have no rule of their own for:
   - prod: the factors become a stack, and a loop carries p * x over it.  Its adjoint is then right at zeros, to any
   order.
   - max and min of floats that the derivative goes through: the terms become a stack, and the result is the extremum
     with the derivative of the mean of the terms equal to it.  (The front end writes that itself.)
   - checkpoint: a loop of T steps becomes G loops of at most S steps.  The adjoint of the outer records G states, the
     reverse of each of its iterations runs the inner again and records S: with S = ceil(sqrt(T)) both are O(sqrt T).
     checkpoint(k) is left to the adjoint (adjoint_binomial.c), but where the result is differentiated backward again:
     k segments, each of them made of segments of S = ceil(sqrt(T / k)) steps, keep k + 2 S states.
   - the square of sqrt(x), or of norm(x), has the derivatives of x, also at 0, where those of sqrt are infinite. */
#include "ir/raw.h"
#include "passes/adjoint.h"
#include "passes/passes_internal.h"

static Value *carried_product(Builder *b, Value *factors) {
  Module *m = b->module;
  const Size *count = type_count(m, factors->type);
  const Type flat = type_tensor(m, factors->type.kind, 1, &count);
  Value *x = build_reshape(b, factors, flat), *one = build_float(b, flat.kind, 1);
  const LoopSpec spec = {.nindices = 1, .extents = &count, .ncarries = 1, .carry_inits = &one};
  Op *loop = build_loop_begin(b, &spec);
  Value *i = loop_index(loop, 0);
  Value *next = build_mul(b, loop_carry(loop, 0), build_index(b, x, 1, &i, 0));
  build_loop_end(b, loop, &next, NULL);
  return loop_carry_result(loop, 0);
}

/* Over all of x, the sum of x itself where it equals `extremum`, or of 1 there. */
static Value *sum_of_equals(Builder *b, Value *x, Value *extremum, bool of_ones) {
  const Type t = x->type;
  const OutKind sum = OUT_SUM;
  const LoopSpec spec = {.nindices = t.rank, .extents = t.dims, .nouts = 1, .outs = &sum};
  Op *loop = build_loop_begin(b, &spec);
  Value *term = build_index(b, x, t.rank, loop->regions[0]->params, 0);
  Value *equal = build_binary(b, OP_EQ, term, extremum);
  Value *part = build_select(b, equal, of_ones ? build_float(b, t.kind, 1) : term, build_float(b, t.kind, 0));
  build_loop_end(b, loop, NULL, &part);
  return loop_out(loop, 0);
}

static Value *shared_extremum(Builder *b, Value *x, OutKind kind) {
  const Type t = x->type;
  const LoopSpec spec = {.nindices = t.rank, .extents = t.dims, .nouts = 1, .outs = &kind};
  Op *loop = build_loop_begin(b, &spec);
  Value *term = build_index(b, x, t.rank, loop->regions[0]->params, 0);
  build_loop_end(b, loop, NULL, &term);
  Value *extremum = loop_out(loop, 0);
  Value *mean = build_binary(b, OP_DIVZ, sum_of_equals(b, x, extremum, false), sum_of_equals(b, x, extremum, true));
  return build_binary(b, OP_ATTACH, extremum, mean);
}

static bool is_rewritten(Prepare *p, const Op *op, int i) {
  const OutKind kind = op->at.loop->outs[i];
  if (!kind_is_float(loop_out(op, i)->type.kind) || (kind != OUT_PROD && kind != OUT_MAX && kind != OUT_MIN))
    return false;
  if (kind != OUT_PROD && !p->known) {
    p->activity = activity_of(p->base, p->wrt, NULL);
    p->known = true;
  }
  return kind == OUT_PROD || value_is_active(&p->activity, loop_out(op, i));
}

static bool any_is_rewritten(Prepare *p, const Op *op) {
  for (int i = 0; i < op->at.loop->nouts; i++)
    if (is_rewritten(p, op, i))
      return true;
  return false;
}

/* Products and extrema of terms that become a stack. */
static void prepare_reductions(Prepare *p, Builder *b, const Op *op, ValueMap *map) {
  Module *m = b->module;
  LoopInfo info = *op->at.loop;
  Op stacking = *op;
  const int first = info.ncarries + info.naccs;
  stacking.at.loop = &info;
  stacking.results = NEW_ARRAY(m->arena, Value *, op->nresults + 1);
  info.outs = NEW_ARRAY(m->arena, OutKind, info.nouts + 1);
  for (int i = 0; i < op->nresults; i++)
    stacking.results[i] = op->results[i];
  for (int i = 0; i < info.nouts; i++) {
    info.outs[i] = op->at.loop->outs[i];
    if (is_rewritten(p, op, i)) {
      info.outs[i] = OUT_STACK;
      stacking.results[first + i] = value_new(m, loop_out(op, i)->type, NULL);
    }
  }
  build_copy_op(b, &stacking, map);
  for (int i = 0; i < info.nouts; i++)
    if (is_rewritten(p, op, i)) {
      Value *terms = map_value(map, stacking.results[first + i]);
      const OutKind kind = op->at.loop->outs[i];
      map_put(map, loop_out(op, i), kind == OUT_PROD ? carried_product(b, terms) : shared_extremum(b, terms, kind));
    }
}

/* Steps of an inner loop: ceil(sqrt(T)), or ceil(T / k) where about k states are to be kept; 1 at least. */
static Value *segment_length(Builder *b, const Size *trips, const Size *states) {
  Module *m = b->module;
  Value *one = build_int(b, KIND_I64, 1);
  if (states) {
    const Size *up = size_sub(m, size_add(m, trips, states), size_const(m, 1));
    return build_binary(b, OP_MAX, one, build_size(b, size_floordiv(m, up, states)));
  }
  Value *root = build_unary(b, OP_SQRT, build_cast(b, KIND_F64, build_size(b, trips)));
  return build_binary(b, OP_MAX, one, build_cast(b, KIND_I64, build_unary(b, OP_CEIL, root)));
}

typedef struct Segments {
  const Prepare *p;
  const Op *op;
  ValueMap *map; /* the operation's values to those of the copy */
} Segments;

/* `trips` steps from step `first` on (NULL: 0); carries: as they are before, and then after them. */
static void run_steps(const Segments *s, Builder *b, Value *first, const Size *trips, Value **carries) {
  const Region *body = s->op->regions[0];
  const int nc = s->op->at.loop->ncarries;
  const LoopSpec spec = {.nindices = 1, .extents = &trips, .ncarries = nc, .carry_inits = carries};
  Op *loop = build_loop_begin(b, &spec);
  map_put(s->map, body->params[0], first ? build_add(b, first, loop_index(loop, 0)) : loop_index(loop, 0));
  for (int i = 0; i < nc; i++)
    map_put(s->map, loop_carry(s->op, i), loop_carry(loop, i));
  build_copy_region(b, body, s->map);
  for (int i = 0; i < nc; i++)
    carries[i] = map_value(s->map, body->yields[i]);
  build_loop_end(b, loop, carries, NULL);
  for (int i = 0; i < nc; i++)
    carries[i] = loop->results[i];
}

/* The same by segments, and with `states` each of them by segments again.  The outermost loop adds to the
   accumulators, which begin with `accs`. */
static Op *run_segments(const Segments *s, Builder *b, Value *first, const Size *trips, const Size *states,
                        Value **carries, Value *const *accs) {
  Module *m = b->module;
  const LoopInfo *info = s->op->at.loop;
  const int nc = info->ncarries;
  Value *length = segment_length(b, trips, states);
  const Size *steps = size_atom(m, length);
  const Size *segments = size_floordiv(m, size_sub(m, size_add(m, trips, steps), size_const(m, 1)), steps);
  const LoopSpec spec = {.nindices = 1,
                         .extents = &segments,
                         .ncarries = nc,
                         .carry_inits = carries,
                         .naccs = accs ? info->naccs : 0,
                         .acc_inits = accs};
  Op *loop = build_loop_begin(b, &spec);
  if (s->p->segments)
    map_put(s->p->segments, loop_index(loop, 0), loop_index(loop, 0));
  for (int i = 0; accs && i < info->naccs; i++)
    map_put(s->map, loop_acc(s->op, i), loop_acc(loop, i));
  Value *start = build_mul(b, loop_index(loop, 0), length);
  Value *left = build_binary(b, OP_MIN, length, build_sub(b, build_size(b, trips), start));
  Value *from = first ? build_add(b, first, start) : start;
  for (int i = 0; i < nc; i++)
    carries[i] = loop_carry(loop, i);
  if (states)
    run_segments(s, b, from, size_atom(m, left), NULL, carries, NULL);
  else
    run_steps(s, b, from, size_atom(m, left), carries);
  build_loop_end(b, loop, carries, NULL);
  for (int i = 0; i < nc; i++)
    carries[i] = loop->results[i];
  return loop;
}

static void prepare_checkpoint(const Prepare *p, Builder *b, const Op *op, ValueMap *map) {
  const LoopInfo *info = op->at.loop;
  const Segments s = {.p = p, .op = op, .map = map};
  Value **inits = NEW_ARRAY(b->module->arena, Value *, op->noperands + 1);
  for (int i = 0; i < op->noperands; i++)
    inits[i] = map_value(map, op->operands[i]);
  const Size *trips = map_size(b->module, map, info->extents[0]),
             *states = info->states ? map_size(b->module, map, info->states) : NULL;
  const Op *loop = run_segments(&s, b, NULL, trips, states, inits, inits + info->ncarries);
  for (int i = 0; i < op->nresults; i++)
    map_put(map, op->results[i], loop->results[i]);
}

/* The x of sqrt(x), also under the guard that norm and std have at 0.  Of a product of negated roots, the sign stands
   in front already: the builder moves it. */
static Value *under_root(Value *v) {
  if (v->def && v->def->code == OP_SELECT) {
    Value *root = v->def->operands[1], *other = v->def->operands[2];
    if (other->def && other->def->code == OP_ATTACH && other->def->operands[0] == root)
      v = root;
  }
  return v->def && v->def->code == OP_SQRT ? v->def->operands[0] : NULL;
}

static bool prepare_square(Builder *b, const Op *op, ValueMap *map) {
  Value *x = under_root(op->operands[0]);
  if (!x || under_root(op->operands[1]) != x)
    return false;
  Value *square = build_mul(b, map_value(map, op->operands[0]), map_value(map, op->operands[1]));
  map_put(map, op->results[0], build_binary(b, OP_ATTACH, square, map_value(map, x)));
  return true;
}

static bool may_be_negative(Builder *b, const Op *op, const ValueMap *map, const Size **extent) {
  if (!op->at.loop->ncarries)
    return false;
  *extent = map_size(b->module, map, op->at.loop->extents[0]);
  const Term *t = (*extent)->nterms == 1 ? &(*extent)->terms[0] : NULL;
  const Value *atom = t && t->npowers == 1 && t->coefficient == 1 ? t->powers[0].atom->value : NULL;
  const bool clamped = atom && atom->def && (atom->def->code == OP_MAX || atom->def->code == OP_WHILE);
  return !clamped && !size_nonnegative(b->module, *extent);
}

/* The larger of an extent and 0, before the outermost loop that does not change it: what is recorded in an inner loop
   has the same size each time. */
static Value *trips_outside(Builder *b, const Size *extent) {
  Region *here = b->region;
  Op *loop = NULL;
  while (b->region->owner && size_is_outside(extent, b->region)) {
    loop = b->region->owner;
    b->region = loop->parent;
  }
  Value *trips = build_binary(b, OP_MAX, build_size(b, extent), build_int(b, KIND_I64, 0));
  if (loop)
    op_settle_before(loop);
  b->region = here;
  return trips;
}

static void prepare_extent(Builder *b, const Op *op, const Size *extent, ValueMap *map) {
  LoopInfo info = *op->at.loop;
  Op clamped = *op;
  const Size *larger = size_of_value(b->module, trips_outside(b, extent));
  clamped.at.loop = &info;
  info.extents = &larger;
  build_copy_op(b, &clamped, map);
}

/* ---- whether what is made of a function is differentiated backward once more */
typedef struct Calls {
  const Func *wanted;
  bool found;
} Calls;

static void look_for_call(Op *op, void *arg) {
  Calls *c = arg;
  if (op->code != OP_CALL || c->found)
    return;
  const Func *f = op->at.callee;
  while (f != c->wanted && f->derive.op != DERIVE_NONE)
    f = f->derive.base;
  c->found = f == c->wanted;
  if (!c->found)
    region_walk(f->body, look_for_call, c);
}

static bool goes_backward(const Derive *d) {
  return d->op != DERIVE_NONE && d->op != DERIVE_JVP && d->mode != MODE_FORWARD;
}

static bool again_backward(const Func *f) {
  for (const Func *d = f->module->funcs; d; d = d->next) {
    if (d == f || !goes_backward(&d->derive))
      continue;
    Calls c = {.wanted = f, .found = d->derive.base == f};
    region_walk(d->derive.base->body, look_for_call, &c);
    if (c.found)
      return true;
  }
  return false;
}

bool prepare_op(Builder *b, const Op *op, ValueMap *map, void *arg) {
  Prepare *p = arg;
  if (op->code == OP_MUL)
    return prepare_square(b, op, map);
  if (op->code != OP_LOOP)
    return false;
  const LoopInfo *info = op->at.loop;
  if (any_is_rewritten(p, op)) {
    prepare_reductions(p, b, op, map);
    return true;
  }
  const Size *extent;
  if (may_be_negative(b, op, map, &extent)) {
    prepare_extent(b, op, extent, map);
    return true;
  }
  if (info->checkpoint > 0 && binomial_fits(op)) {
    if (!p->is_tangent && p->again == AGAIN_UNKNOWN)
      p->again = again_backward(b->func) ? AGAIN_YES : AGAIN_NO;
    if (p->is_tangent || p->again == AGAIN_NO)
      return false;
  }
  if (info->checkpoint && info->ncarries && !info->nouts) {
    prepare_checkpoint(p, b, op, map);
    return true;
  }
  return false;
}
