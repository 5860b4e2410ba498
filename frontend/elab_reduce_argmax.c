/* argmax and argmin over rectangular ranges: the extremum of the stored terms first, then the least flat index of a
   term that equals it, so that both loops may run in any order.  A NaN counts as the extremum; the first of equals is
   taken. */
#include "frontend/elab_reduce.h"

typedef struct Argmax {
  Reduction r;
  Range at;
  const Form *terms, *mask;
  int n; /* the first axes of the terms, to be reduced */
} Argmax;

static void join(Value *const *first, int n, Value *const *rest, int m, Value **all) {
  for (int i = 0; i < n; i++)
    all[i] = first[i];
  for (int i = 0; i < m; i++)
    all[n + i] = rest[i];
}

static Op *over_terms(Elab *e, const Argmax *a, OutKind out) {
  const LoopSpec spec = {.nindices = a->n, .extents = a->terms->type.dims, .nouts = 1, .outs = &out};
  return build_loop_begin(&e->b, &spec);
}

static Value *flat_index(Elab *e, const Argmax *a, Value *const *idx) {
  Value *flat = idx[0];
  for (int i = 1; i < a->n; i++)
    flat = build_add(&e->b, build_mul(&e->b, flat, build_size(&e->b, a->terms->type.dims[i])), idx[i]);
  return flat;
}

/* The flat index for element `rest` of the terms' other axes. */
static Value *flat_element(Elab *e, const Form *t, Value *const *rest) {
  const Argmax *a = t->recipe;
  Builder *b = &e->b;
  Value *all[MAX_RANK], *none = build_int(b, KIND_I64, INT64_MAX);
  const int m = a->terms->type.rank - a->n;
  Op *first = over_terms(e, a, a->r == REDUCE_ARGMAX ? OUT_MAX : OUT_MIN);
  join(first->regions[0]->params, a->n, rest, m, all);
  Value *term = form_element(e, a->terms, all);
  build_loop_end(b, first, NULL, &term);
  Value *best = loop_out(first, 0);
  Op *second = over_terms(e, a, OUT_MIN);
  Value *const *idx = second->regions[0]->params;
  join(idx, a->n, rest, m, all);
  term = form_element(e, a->terms, all);
  Value *hit = build_binary(b, OP_EQ, term, best);
  if (kind_is_float(term->type.kind))
    hit = build_binary(b, OP_OR, hit, build_unary(b, OP_ISNAN, term));
  if (a->mask)
    hit = build_binary(b, OP_AND, hit, form_element(e, a->mask, idx));
  Value *flat = build_select(b, hit, flat_index(e, a, idx), none);
  build_loop_end(b, second, NULL, &flat);
  const Range loc = b->loc;
  b->loc = a->at;
  build_require(b, build_binary(b, OP_NE, loop_out(second, 0), none),
                arena_printf(e->arena, "index of '%s' over nothing", reduction_name[a->r]));
  b->loc = loc;
  return loop_out(second, 0);
}

/* ---- the flat index as indices */
typedef struct Unflatten {
  const Form *flat;
  const Size *after, *extent; /* elements of one step of the index; NULL: it is the first */
  Value *from;                /* or NULL */
} Unflatten;

static Value *index_element(Elab *e, const Form *t, Value *const *idx) {
  const Unflatten *u = t->recipe;
  Builder *b = &e->b;
  Value *v = form_element(e, u->flat, idx);
  if (!size_is(u->after, 1))
    v = build_div(b, v, build_size(b, u->after));
  if (u->extent)
    v = build_binary(b, OP_REM, v, build_size(b, u->extent));
  return u->from ? build_add(b, u->from, v) : v;
}

Form *argmax_of_terms(Elab *e, Range at, Reduction r, const Nest *nest, const Form *terms, const Form *mask) {
  Argmax *a = NEW(e->arena, Argmax);
  const int n = nest->c->ranges.n;
  *a = (Argmax){.r = r, .at = at, .terms = terms, .mask = mask, .n = n};
  Type t = type_drop(terms->type, n);
  t.kind = KIND_I64;
  const Form *flat = form_stored(e, form_lazy(e, at, t, flat_element, a, false));
  Form **parts = NEW_ARRAY(e->arena, Form *, n);
  const Size *after = size_const(e->module, 1);
  for (int i = n - 1; i >= 0; i--) {
    Unflatten *u = NEW(e->arena, Unflatten);
    *u = (Unflatten){.flat = flat, .after = after, .extent = i ? terms->type.dims[i] : NULL, .from = nest->from[i]};
    parts[i] = form_stored(e, form_lazy(e, at, t, index_element, u, false));
    after = size_mul(e->module, after, terms->type.dims[i]);
  }
  return n == 1 ? parts[0] : elab_tuple_of(e, at, n, parts);
}
