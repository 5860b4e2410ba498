/* Reach of values: the spans, and operations one by one; see reach.h. */
#include "passes/reach.h"
#include "ir/raw.h"

/* ---- frames */
static Op *frame_of(Analysis *a, Type t, int which) {
  Module *m = a->module;
  int n = 0;
  for (int i = 0; i < a->frames.n; i++) {
    const LoopInfo *info = a->frames.at[i]->at.loop;
    bool same = info->nindices == t.rank;
    for (int k = 0; same && k < t.rank; k++)
      same = info->extents[k] == t.dims[k];
    if (same && n++ == which)
      return a->frames.at[i];
  }
  Op *op = op_new(m, OP_LOOP, 0, 0, 1);
  op->parent = a->source->body;
  op->at.loop = loop_info_new(m, t.rank, 0, 0, 0);
  op->regions[0] = region_new(m, a->source, op);
  for (int k = 0; k < t.rank; k++) {
    op->at.loop->extents[k] = t.dims[k];
    region_add_param(m, op->regions[0], type_scalar(KIND_I64), NULL);
  }
  vec_push(m->arena, a->frames, op);
  return op;
}

Value *reach_place(Analysis *a, Type t, int axis) {
  return frame_of(a, t, 0)->regions[0]->params[axis];
}

/* Beside the places, for what is about to be replaced: what comes in may be over the same places. */
static Value *shadow_place(Analysis *a, Type t, int axis) {
  return frame_of(a, t, 1)->regions[0]->params[axis];
}

/* ---- spans */
Span reach_all(const ReachCause *cause) {
  return (Span){.cause = cause};
}

const ReachCause *reach_cause(Analysis *a, const char *why) {
  ReachCause *c = NEW(a->module->arena, ReachCause);
  *c = (ReachCause){.at = a->at, .why = why};
  return c;
}

static int span_count(const Value *source) {
  const Op *loop = source->region->owner;
  return source->type.rank + (loop && loop->code == OP_LOOP);
}

/* Of an axis of the source; NULL: of the iteration. */
static const Size *dim_of(const Value *source, int k) {
  return k < source->type.rank ? source->type.dims[k] : NULL;
}

/* Ends that lie at the axis's, or beyond, are none. */
Span reach_clipped(Analysis *a, Span s, const Size *dim) {
  Module *m = a->module;
  if (s.wraps || !dim)
    return s.wraps && (!s.lo || !s.hi) ? reach_all(s.cause) : s;
  if (s.lo && size_nonnegative(m, size_scale(m, s.lo, -1)))
    s.lo = NULL;
  if (s.hi && size_nonnegative(m, size_sub(m, s.hi, size_sub(m, dim, size_const(m, 1)))))
    s.hi = NULL;
  return s;
}

/* Ends that were there, before the axis's, and are lost have that as their cause. */
static Span lost(Analysis *a, Span s, Span was, const Size *dim) {
  if (!s.cause && ((was.lo && !s.lo) || (was.hi && !s.hi))) {
    was = reach_clipped(a, was, dim);
    if ((was.lo && !s.lo) || (was.hi && !s.hi))
      s.cause = reach_cause(a, "how far apart the elements are that this comes from is known only when it runs");
  }
  return s.wraps && (!s.lo || !s.hi) ? reach_all(s.cause) : s;
}

static Reach *new_reach(Analysis *a, Value *source, Reach *next) {
  Reach *r = NEW(a->module->arena, Reach);
  *r = (Reach){.next = next, .source = source, .spans = NEW_ARRAY(a->module->arena, Span, span_count(source) + 1)};
  return r;
}

Reach *reach_replace(Analysis *a, const Reach *r, Value *index, const Size *lo, const Size *hi) {
  Reach *out = NULL;
  for (; r; r = r->next) {
    out = new_reach(a, r->source, out);
    for (int k = 0; k < span_count(r->source); k++) {
      Span s = r->spans[k];
      s.lo = bound_replace(a, s.lo, index, lo, hi, false);
      s.hi = bound_replace(a, s.hi, index, lo, hi, true);
      out->spans[k] = lost(a, s, r->spans[k], dim_of(r->source, k));
    }
  }
  return out;
}

static Span span_union(Analysis *a, Span x, Span y, const Size *dim) {
  Module *m = a->module;
  const Size *d = dim && x.lo && y.lo ? size_sub(m, y.lo, x.lo) : NULL;
  if (d && y.hi && (d == dim || size_scale(m, d, -1) == dim)) { /* the same but for the axis's size */
    x.wraps = y.wraps = true;
    y.lo = x.lo;
    y.hi = size_sub(m, y.hi, d);
  }
  if (dim && (x.wraps || y.wraps)) {
    span_bring_near(m, &x, dim);
    span_bring_near(m, &y, dim);
  }
  const Span s = {.lo = bound_union(a, x.lo, y.lo, false),
                  .hi = bound_union(a, x.hi, y.hi, true),
                  .wraps = x.wraps || y.wraps,
                  .cause = x.cause ? x.cause : y.cause};
  x = reach_clipped(a, x, dim);
  y = reach_clipped(a, y, dim);
  const Span was = {.lo = x.lo && y.lo ? x.lo : NULL, .hi = x.hi && y.hi ? x.hi : NULL};
  return lost(a, s, was, NULL);
}

static Reach *find(Reach *r, const Value *source) {
  while (r && r->source != source)
    r = r->next;
  return r;
}

Reach *reach_union(Analysis *a, const Reach *x, const Reach *y) {
  Reach *out = NULL;
  if (!x || !y || x == y)
    return (Reach *)(uintptr_t)(x ? x : y);
  for (const Reach *r = x; r; r = r->next) {
    out = new_reach(a, r->source, out);
    const Reach *other = find((Reach *)(uintptr_t)y, r->source);
    for (int k = 0; k < span_count(r->source); k++)
      out->spans[k] = other ? span_union(a, r->spans[k], other->spans[k], dim_of(r->source, k)) : r->spans[k];
  }
  for (const Reach *r = y; r; r = r->next)
    if (!find((Reach *)(uintptr_t)x, r->source)) {
      out = new_reach(a, r->source, out);
      for (int k = 0; k < span_count(r->source); k++)
        out->spans[k] = r->spans[k];
    }
  return out;
}

Reach *reach_renamed(Analysis *a, const Reach *r, Type from, int nfrom, Type to, int nto) {
  for (int k = nfrom; k < from.rank; k++) {
    const Size *shadow = size_atom(a->module, shadow_place(a, from, k));
    r = reach_replace(a, r, reach_place(a, from, k), shadow, shadow);
  }
  for (int k = nfrom; k < from.rank; k++) {
    const Size *place = size_atom(a->module, reach_place(a, to, nto + k - nfrom));
    r = reach_replace(a, r, shadow_place(a, from, k), place, place);
  }
  return (Reach *)(uintptr_t)r;
}

/* What goes through an axis that is read modulo its size: the same, where the places are only moved and the sizes are
   one; else all of it. */
static bool passes_wrapped(Analysis *a, const Span *s, const Value *place, const Size *dim, const Size *own) {
  const Size *slope, *rest;
  return dim == own && s->lo && s->hi && size_linear_in(a->module, s->lo, (Value *)(uintptr_t)place, &slope, &rest) &&
         size_is(slope, 1) && size_linear_in(a->module, s->hi, (Value *)(uintptr_t)place, &slope, &rest) &&
         size_is(slope, 1);
}

static bool uses(const Span *s, const Value *place) {
  return (s->lo && size_uses(s->lo, place)) || (s->hi && size_uses(s->hi, place));
}

static Span span_through(Analysis *a, Span s, const Span *at, Type inner, const Size *dim) {
  for (int k = 0; k < inner.rank; k++) {
    Value *place = shadow_place(a, inner, k);
    if (!uses(&s, place))
      continue;
    Span by = reach_clipped(a, at[k], inner.dims[k]);
    if (by.wraps && !passes_wrapped(a, &s, place, dim, inner.dims[k]))
      by = reach_all(by.cause);
    if (s.wraps && !by.wraps && !passes_wrapped(a, &s, place, dim, inner.dims[k]) && (!by.lo || !by.hi))
      return reach_all(by.cause);
    const Span was = s;
    s.lo = bound_replace(a, s.lo, place, by.lo, by.hi, false);
    s.hi = bound_replace(a, s.hi, place, by.lo, by.hi, true);
    s.wraps |= by.wraps;
    if (!s.cause && (!by.lo || !by.hi))
      s.cause = by.cause;
    s = lost(a, s, was, dim);
  }
  return s;
}

Reach *reach_through(Analysis *a, const Reach *r, const Span *at, Type inner) {
  Reach *out = NULL;
  for (int k = 0; k < inner.rank; k++) {
    const Size *shadow = size_atom(a->module, shadow_place(a, inner, k));
    r = reach_replace(a, r, reach_place(a, inner, k), shadow, shadow);
  }
  for (; r; r = r->next) {
    out = new_reach(a, r->source, out);
    for (int k = 0; k < span_count(r->source); k++)
      out->spans[k] = span_through(a, r->spans[k], at, inner, dim_of(r->source, k));
  }
  return out;
}

/* ---- two alternatives */
static Span limited(Analysis *a, Span s, const Span *like, const Limits *limits) {
  Module *m = a->module;
  for (int i = 0; limits && i < limits->n; i++) {
    Value *v = limits->of[i].index;
    const Size *lo = limits->of[i].lo, *hi = limits->of[i].hi, *of_like, *own, *rest;
    int64_t by, wanted, width;
    if (!s.lo || !s.hi || !like->lo || !size_is_const(size_sub(m, hi, lo), &width) || width < 0 ||
        !size_linear_in(m, like->lo, v, &of_like, &rest) || !size_linear_in(m, s.lo, v, &own, &rest) ||
        !size_is_const(of_like, &wanted) || !size_is_const(own, &by) || by == wanted)
      continue;
    /* the same multiple of v less what it is; of what it is at most and at least, where it is not one number */
    const Size *least = size_scale(m, size_sub(m, size_atom(m, v), wanted > by ? hi : lo), wanted - by);
    const Size *most = size_scale(m, size_sub(m, size_atom(m, v), wanted > by ? lo : hi), wanted - by);
    s.lo = size_add(m, s.lo, least);
    s.hi = size_add(m, s.hi, most);
  }
  return s;
}

static Reach *limited_reach(Analysis *a, const Reach *r, const Reach *like, const Limits *limits) {
  Reach *out = NULL;
  for (; r; r = r->next) {
    out = new_reach(a, r->source, out);
    const Reach *other = find((Reach *)(uintptr_t)like, r->source);
    for (int k = 0; k < span_count(r->source); k++)
      out->spans[k] = other ? limited(a, r->spans[k], &other->spans[k], limits) : r->spans[k];
  }
  return out;
}

Reach *reach_either(Analysis *a, const Reach *x, const Limits *when_x, const Reach *y, const Limits *when_y) {
  const Reach *limited_x = when_x && when_x->n ? limited_reach(a, x, y, when_x) : x;
  const Reach *limited_y = when_y && when_y->n ? limited_reach(a, y, limited_x, when_y) : y;
  return reach_union(a, limited_x, limited_y);
}

/* ---- what conditions say */
static void add_limit(Analysis *a, Limits *l, Value *index, const Size *lo, const Size *hi) {
  for (int i = 0; i < l->n; i++)
    if (l->of[i].index == index) {
      l->of[i].lo = lo ? lo : l->of[i].lo;
      l->of[i].hi = hi ? hi : l->of[i].hi;
      return;
    }
  if (l->n == MAX_LIMITS)
    return;
  const Size *extent = index->region->owner->at.loop->extents[index->index];
  l->of[l->n].index = index;
  l->of[l->n].lo = lo ? lo : size_const(a->module, 0);
  l->of[l->n++].hi = hi ? hi : size_sub(a->module, extent, size_const(a->module, 1));
}

typedef struct Indices {
  VEC(Value *) found;
  Arena *arena;
} Indices;
static void add_index(Value *v, void *arg) {
  Indices *i = arg;
  if (value_is_symbol(v) && v->region->owner)
    vec_push(i->arena, i->found, v);
}

/* `d` >= 0; or = 0. */
static void limits_of_size(Analysis *a, const Size *d, bool equal, Limits *limits) {
  Module *m = a->module;
  Indices in = {.arena = m->arena};
  size_values(d, add_index, &in);
  for (int i = 0; i < in.found.n; i++) {
    const Size *slope, *rest;
    int64_t by;
    if (!size_linear_in(m, d, in.found.at[i], &slope, &rest) || !size_is_const(slope, &by) || (by != 1 && by != -1))
      continue;
    const Size *at = size_scale(m, rest, -by);
    add_limit(a, limits, in.found.at[i], equal || by > 0 ? at : NULL, equal || by < 0 ? at : NULL);
  }
}

void limits_of_condition(Analysis *a, Value *cond, bool holds, Limits *limits) {
  Module *m = a->module;
  const Op *op = cond->def;
  if (!op)
    return;
  if (op->code == OP_NOT) {
    limits_of_condition(a, op->operands[0], !holds, limits);
  } else if (op->code == (holds ? OP_AND : OP_OR)) {
    limits_of_condition(a, op->operands[0], holds, limits);
    limits_of_condition(a, op->operands[1], holds, limits);
  } else if (op->noperands == 2 && op->operands[0]->type.kind == KIND_I64) {
    const Size *d = size_sub(m, size_of_value(m, op->operands[1]), size_of_value(m, op->operands[0]));
    const Size *one = size_const(m, 1);
    if (op->code == (holds ? OP_EQ : OP_NE))
      limits_of_size(a, d, true, limits);
    else if (op->code == OP_LT)
      limits_of_size(a, holds ? size_sub(m, d, one) : size_scale(m, d, -1), false, limits);
    else if (op->code == OP_LE)
      limits_of_size(a, holds ? d : size_sub(m, size_scale(m, d, -1), one), false, limits);
  }
}
