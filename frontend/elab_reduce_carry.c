/* Reductions in order, by a state that every loop of the nest carries: for ranges that depend on earlier indices.
   The state, for terms t:
   - max and min of floats: m, the extremum so far; s, the sum of the terms equal to it; c, their number. The result is
   m with the derivative of s / c, so that ties share it.
   - logsumexp: m, the largest so far; s, the sum of exp(t - m0) with m0 = m where that is finite, else 0.
   - argmax, argmin: the best so far, whether there is one, its indices. A NaN is better than every number.
   - the others: the result so far.
   m is never differentiated through. States of tensors are tensors, stepped element by element. */
#include "frontend/elab_reduce.h"
#include <math.h>

static bool is_arg(Reduction r) {
  return r == REDUCE_ARGMAX || r == REDUCE_ARGMIN;
}

static bool shares(const Carrying *c) {
  return (c->r == REDUCE_MAX || c->r == REDUCE_MIN) && kind_is_float(c->term.kind);
}

/* At least 1. */
static int state_count(const Carrying *c) {
  if (is_arg(c->r))
    return 2 + c->nindices;
  return shares(c) ? 3 : c->r == REDUCE_LOGSUMEXP ? 2 : 1;
}

static Kind state_kind(const Carrying *c, int i) {
  if (is_arg(c->r) && i)
    return i == 1 ? KIND_BOOL : KIND_I64;
  return c->term.kind;
}

static Value *initial(Elab *e, const Carrying *c, int i) {
  const Type t = type_with_kind(c->term, state_kind(c, i));
  return i ? build_zeros(&e->b, t) : reduction_identities(e, c->r, t);
}

/* ---- one step, on scalars */
static Value *stopped(Elab *e, Value *v) {
  return kind_is_float(v->type.kind) ? build_binary(&e->b, OP_ATTACH, v, build_float(&e->b, v->type.kind, 0)) : v;
}

static Value *greater(Elab *e, Reduction r, Value *x, Value *y) {
  return r == REDUCE_MIN || r == REDUCE_ARGMIN ? build_binary(&e->b, OP_LT, x, y) : build_binary(&e->b, OP_LT, y, x);
}

static Value *extremum(Elab *e, Reduction r, Value *x, Value *y) {
  return build_binary(&e->b, r == REDUCE_MIN ? OP_MIN : OP_MAX, x, y);
}

/* An equal term joins; a better one begins anew; so does a first one, which may be the identity itself: c is 0 then and
   joining is the same. */
static void step_shared(Elab *e, Reduction r, Value *const *s, Value *t, Value **next) {
  Builder *b = &e->b;
  const Kind k = t->type.kind;
  Value *zero = build_float(b, k, 0), *one = build_float(b, k, 1);
  Value *better = greater(e, r, t, s[0]), *equal = build_binary(b, OP_EQ, t, s[0]);
  next[0] = extremum(e, r, s[0], stopped(e, t));
  next[1] = build_select(b, better, t, build_add(b, s[1], build_select(b, equal, t, zero)));
  next[2] = build_select(b, better, one, build_add(b, s[2], build_select(b, equal, one, zero)));
}

static Value *finite_or_zero(Elab *e, Value *m) {
  Builder *b = &e->b;
  return stopped(e, build_select(b, build_unary(b, OP_ISFINITE, m), m, build_float(b, m->type.kind, 0)));
}

/* While m is -inf, s is 0 and stays so: rescaling it could be 0 * inf. */
static void step_logsumexp(Elab *e, Value *const *s, Value *t, Value **next) {
  Builder *b = &e->b;
  const Kind k = t->type.kind;
  next[0] = build_binary(b, OP_MAX, s[0], stopped(e, t));
  Value *m0 = finite_or_zero(e, s[0]), *m1 = finite_or_zero(e, next[0]);
  Value *none = build_binary(b, OP_EQ, s[0], build_float(b, k, -INFINITY));
  Value *scaled = build_mul(b, s[1], build_unary(b, OP_EXP, build_sub(b, m0, m1)));
  Value *kept = build_select(b, none, build_float(b, k, 0), scaled);
  next[1] = build_add(b, kept, build_unary(b, OP_EXP, build_sub(b, t, m1)));
}

static void step_arg(Elab *e, const Carrying *c, Value *const *s, Value *t, Value *const *indices, Value **next) {
  Builder *b = &e->b;
  Value *better = greater(e, c->r, t, s[0]);
  if (kind_is_float(t->type.kind)) {
    Value *known = build_unary(b, OP_NOT, build_unary(b, OP_ISNAN, s[0]));
    better = build_binary(b, OP_OR, better, build_binary(b, OP_AND, known, build_unary(b, OP_ISNAN, t)));
  }
  better = build_binary(b, OP_OR, better, build_unary(b, OP_NOT, s[1]));
  next[0] = build_select(b, better, t, s[0]);
  next[1] = build_int(b, KIND_BOOL, 1);
  for (int i = 0; i < c->nindices; i++)
    next[2 + i] = build_select(b, better, indices[i], s[2 + i]);
}

static void step(Elab *e, const Carrying *c, Value *const *s, Value *t, Value *const *indices, Value **next) {
  Builder *b = &e->b;
  switch (c->r) {
  case REDUCE_MAX:
  case REDUCE_MIN:
    if (shares(c))
      step_shared(e, c->r, s, t, next);
    else
      next[0] = extremum(e, c->r, s[0], t);
    break;
  case REDUCE_LOGSUMEXP: step_logsumexp(e, s, t, next); break;
  case REDUCE_ARGMAX:
  case REDUCE_ARGMIN: step_arg(e, c, s, stopped(e, t), indices, next); break;
  case REDUCE_PROD: next[0] = build_mul(b, s[0], t); break;
  case REDUCE_ANY: next[0] = build_binary(b, OP_OR, s[0], t); break;
  case REDUCE_ALL: next[0] = build_binary(b, OP_AND, s[0], t); break;
  case REDUCE_SUM:
  case REDUCE_MEAN:
  case REDUCE_COUNT: next[0] = build_add(b, s[0], t); break;
  }
}

/* ---- on tensors */
static void step_tensor(Elab *e, const Carrying *c, Value *const *s, const Form *term, Value *const *indices,
                        Value **next) {
  OutKind outs[MAX_STATE];
  Value *scalars[MAX_STATE], *results[MAX_STATE];
  for (int i = 0; i < c->nstate; i++)
    outs[i] = OUT_STACK;
  const LoopSpec spec = {.nindices = c->term.rank, .extents = c->term.dims, .nouts = c->nstate, .outs = outs};
  Op *loop = build_loop_begin(&e->b, &spec);
  Value *const *idx = loop->regions[0]->params;
  for (int i = 0; i < c->nstate; i++)
    scalars[i] = build_index(&e->b, s[i], c->term.rank, idx, 0);
  step(e, c, scalars, form_element(e, term, idx), indices, results);
  build_loop_end(&e->b, loop, NULL, results);
  for (int i = 0; i < c->nstate; i++)
    next[i] = loop_out(loop, i);
}

void carry_term(Elab *e, Nest *nest, Carrying *c, const Form *term, Value **current, Value **next) {
  c->nstate = state_count(c);
  const Builder here = e->b;
  e->b = nest->outside;
  for (int i = 0; i < c->nstate; i++)
    current[i] = initial(e, c, i);
  op_settle_before(nest_outermost(nest));
  e->b = here;
  for (int i = 0; i < nest->nloops; i++)
    for (int k = 0; k < c->nstate; k++)
      current[k] = loop_add_carry(e->module, nest->loops[i].op, current[k]);
  if (c->term.rank)
    step_tensor(e, c, current, term, nest->indices, next);
  else
    step(e, c, current, term->value, nest->indices, next);
}

/* ---- results */
static Value *finish(Elab *e, const Carrying *c, Value *const *s) {
  Builder *b = &e->b;
  const Kind k = c->term.kind;
  if (shares(c)) {
    Value *count = build_binary(b, OP_MAX, s[2], build_float(b, k, 1));
    return build_binary(b, OP_ATTACH, s[0], build_div(b, s[1], count));
  }
  if (c->r != REDUCE_LOGSUMEXP)
    return s[0];
  Value *none = build_binary(b, OP_EQ, s[1], build_float(b, k, 0));
  Value *log = build_unary(b, OP_LOG, build_select(b, none, build_float(b, k, 1), s[1]));
  return build_select(b, none, build_float(b, k, -INFINITY), build_add(b, finite_or_zero(e, s[0]), log));
}

typedef struct Finish {
  const Carrying *carrying;
  Value *const *state;
} Finish;

static Value *finish_element(Elab *e, const Form *t, Value *const *idx) {
  const Finish *f = t->recipe;
  Value **scalars = NEW_ARRAY(e->arena, Value *, MAX_STATE);
  for (int i = 0; i < f->carrying->nstate; i++)
    scalars[i] = build_index(&e->b, f->state[i], t->type.rank, idx, 0);
  return finish(e, f->carrying, scalars);
}

static Value *seen_element(Elab *e, const Form *t, Value *const *idx) {
  return build_index(&e->b, (Value *)t->recipe, t->type.rank, idx, 0);
}

static Form *indices_of(Elab *e, Range at, const Carrying *c, Value *const *s) {
  const Range loc = e->b.loc;
  e->b.loc = at;
  const Form *seen = form_lazy(e, at, type_with_kind(c->term, KIND_BOOL), seen_element, s[1], true);
  if (c->term.rank)
    seen = builtin_reduce(e, at, "all", seen, (1u << c->term.rank) - 1, false);
  build_require(&e->b, form_store(e, seen), arena_printf(e->arena, "index of '%s' over nothing", reduction_name[c->r]));
  e->b.loc = loc;
  Form **parts = NEW_ARRAY(e->arena, Form *, c->nindices);
  for (int i = 0; i < c->nindices; i++)
    parts[i] = form_of_value(e, at, s[2 + i]);
  return c->nindices == 1 ? parts[0] : elab_tuple_of(e, at, c->nindices, parts);
}

Form *carry_result(Elab *e, Range at, const Carrying *c, Value *const *state) {
  if (is_arg(c->r))
    return indices_of(e, at, c, state);
  if (c->term.rank == 0)
    return form_of_value(e, at, finish(e, c, state));
  if (c->nstate == 1)
    return form_of_value(e, at, state[0]);
  Finish *f = NEW(e->arena, Finish);
  f->carrying = c;
  f->state = state;
  return form_stored(e, form_lazy(e, at, c->term, finish_element, f, false));
}
