/* The loops of a comprehension or reduction: ranges, indices, filter; indices that find their range in the body.

   A bare index is a hole: its loop begins without an extent, and the first axis that the index meets alone gives it. */
#include "frontend/elab_lift.h"
#include "frontend/elab_loops.h"
#include <string.h>

static IndexHole *find_hole(const Elab *e, const Value *i) {
  IndexHole *h = e->holes;
  while (h && loop_index(h->loop, h->index) != i)
    h = h->outer;
  return h;
}

/* In a function that is being lifted, the index may be one of the function around. */
bool index_hole_meets(Elab *e, Value *i, const Size *s, Range at) {
  const Size *here = s;
  const Lift *lift = e->lift;
  IndexHole *h = find_hole(e, i);
  while (!h && lift && lift_outward(e, lift, &i, &s)) {
    h = find_hole(e, i);
    lift = lift->outer;
  }
  if (!h)
    return false;
  if (h->extent) {
    sizes_agree(e, at, lift_size(e, h->extent), here,
                arena_printf(e->arena, "the ranges of index '%s'", h->range->name.text));
    return true; /* if they do not, that was reported */
  }
  if (!size_is_fixed_in(h->loop->parent->func, s, NULL))
    return false;
  h->extent = s;
  loop_set_extent(h->loop, h->index, s);
  return true;
}

const Size *size_clamped(Elab *e, const Size *s) {
  if (size_nonnegative(e->module, s))
    return s;
  Value *v = build_binary(&e->b, OP_MAX, build_size(&e->b, s), build_int(&e->b, KIND_I64, 0));
  return size_of_value(e->module, v);
}

/* ---- ranges */
static bool names_differ(Elab *e, const Comprehension *c) {
  bool good = true;
  for (int i = 0; i < c->ranges.n; i++)
    for (int j = 0; j < i; j++)
      if (c->ranges.at[i].name.text == c->ranges.at[j].name.text && strcmp(c->ranges.at[i].name.text, "_") != 0) {
        DiagMessage *m = elab_error(e, c->ranges.at[i].name.at, "index '%s' is given twice", c->ranges.at[i].name.text);
        diag_note(e->diag, m, c->ranges.at[j].name.at, "given first here");
        good = false;
        break;
      }
  return good;
}

static bool range_uses(const IndexRange *r, const char *name) {
  return (r->from && expr_mentions(r->from, name)) || (r->to && expr_mentions(r->to, name));
}

/* The first of the ranges [first, i) whose index the bounds of range i use, or -1. */
static int range_depends(const Comprehension *c, int first, int i) {
  for (int j = first; j < i; j++)
    if (range_uses(&c->ranges.at[i], c->ranges.at[j].name.text))
      return j;
  return -1;
}

/* The number of ranges, from `first` on, that make one loop. */
static int group_size(const Comprehension *c, int first, bool single) {
  int n = 1;
  while (!single && first + n < c->ranges.n && range_depends(c, first, first + n) < 0)
    n++;
  return n;
}

static bool bounds_are_sizes(Elab *e, const Comprehension *c) {
  for (int i = 0; i < c->ranges.n; i++) {
    const int on = range_depends(c, 0, i);
    if (on < 0)
      continue;
    const IndexRange *r = &c->ranges.at[i];
    DiagMessage *m =
        elab_error(e, r->to->at, "the range of '%s' must not depend on index '%s': a tensor is rectangular",
                   r->name.text, c->ranges.at[on].name.text);
    diag_note(e->diag, m, c->ranges.at[on].at, "'%s' is an index of the same tensor", c->ranges.at[on].name.text);
    return false;
  }
  return true;
}

/* The bound as a size, or, in a reduction, as the polynomial of its value; NULL after an error. */
static const Size *range_bound(Elab *e, Expr *x, NestKind kind) {
  if (kind == NEST_TENSOR)
    return elab_size(e, x);
  Value *v = elab_scalar(e, x, KIND_I64);
  return v ? size_of_value(e->module, v) : NULL;
}

/* Sets *from (NULL for 0) and *extent (NULL for a hole). */
static bool range_bounds(Elab *e, const IndexRange *r, NestKind kind, Value **from, const Size **extent) {
  const Size *begin = NULL, *end;
  *from = NULL;
  *extent = NULL;
  if (r->kind == INDEX_BARE)
    return true;
  if (r->kind == INDEX_IN && !(begin = range_bound(e, r->from, kind)))
    return false;
  if (!(end = range_bound(e, r->to, kind)))
    return false;
  *extent = begin ? size_sub(e->module, end, begin) : end;
  if (begin && !size_is(begin, 0))
    *from = build_size(&e->b, begin);
  return kind != NEST_TENSOR || size_check(e, r->at, *extent);
}

/* ---- loops */
static void add_hole(Elab *e, Op *loop, int index, const IndexRange *r) {
  IndexHole *h = NEW(e->arena, IndexHole);
  *h = (IndexHole){.loop = loop, .index = index, .range = r, .outer = e->holes};
  e->holes = h;
}

static bool open_loop(Elab *e, Nest *n, int first, int count, NestKind kind) {
  const Size *extents[MAX_RANK];
  const char *names[MAX_RANK];
  bool good = true;
  for (int i = 0; i < count; i++) {
    const IndexRange *r = &n->c->ranges.at[first + i];
    names[i] = r->name.text;
    good &= range_bounds(e, r, kind, &n->from[first + i], &extents[i]);
  }
  if (!good)
    return false;
  const LoopSpec spec = {.nindices = count, .extents = extents, .index_names = names};
  Op *op = build_loop_begin(&e->b, &spec);
  n->loops[n->nloops++] = (NestLoop){.op = op, .first = first, .n = count};
  for (int i = 0; i < count; i++) {
    const IndexRange *r = &n->c->ranges.at[first + i];
    Value *v = loop_index(op, i), *from = n->from[first + i];
    if (r->kind == INDEX_BARE)
      add_hole(e, op, i, r);
    n->indices[first + i] = from ? build_add(&e->b, from, v) : v;
    scope_bind(e, BIND_LET, r->name, form_of_value(e, r->name.at, n->indices[first + i]));
  }
  return true;
}

static bool open_filter(Elab *e, Nest *n) {
  int64_t known;
  if (!n->c->filter)
    return true;
  Value *cond = elab_condition(e, n->c->filter);
  if (!cond)
    return false;
  if (!value_is_int_const(cond, &known) || !known)
    n->filter = build_if_begin(&e->b, cond);
  return true;
}

bool nest_open(Elab *e, Nest *n, const Comprehension *c, NestKind kind) {
  *n = (Nest){.c = c, .outside = e->b, .holes_before = e->holes, .loop_before = e->loop};
  n->loops = NEW_ARRAY(e->arena, NestLoop, c->ranges.n);
  n->indices = NEW_ARRAY(e->arena, Value *, c->ranges.n);
  n->from = NEW_ARRAY(e->arena, Value *, c->ranges.n);
  n->scope = scope_push(e);
  e->loop = NULL;
  e->comprehension_depth++;
  if (c->ranges.n > MAX_RANK) {
    elab_error(e, c->ranges.at[MAX_RANK].at, "at most %d indices; these are %d", MAX_RANK, c->ranges.n);
    return false;
  }
  if (!names_differ(e, c) || (kind == NEST_TENSOR && !bounds_are_sizes(e, c)))
    return false;
  const bool single = kind == NEST_ORDERED && group_size(c, 0, false) < c->ranges.n;
  for (int i = 0; i < c->ranges.n;) {
    const int count = group_size(c, i, single);
    if (!open_loop(e, n, i, count, kind))
      return false;
    i += count;
  }
  return open_filter(e, n);
}

bool nest_settle(Elab *e, Nest *n) {
  bool good = true;
  for (IndexHole *h = e->holes; h != n->holes_before; h = h->outer)
    if (!h->extent) {
      const char *name = h->range->name.text;
      DiagMessage *m = elab_error(e, h->range->at, "index '%s' has no range: it indexes no axis alone", name);
      diag_mend(e->diag, m, "write %s < n", name);
      good = false;
    }
  return good;
}

void nest_filter_else(Elab *e, Nest *n, int count, Value *const *values) {
  if (n->filter)
    build_if_else(&e->b, n->filter, count, values);
}

void nest_filter_end(Elab *e, Nest *n, int count, Value *const *otherwise, Value **values) {
  if (!n->filter)
    return;
  build_if_end(&e->b, n->filter, count, otherwise);
  for (int i = 0; i < count; i++)
    values[i] = n->filter->results[i];
}

static void leave(Elab *e, Nest *n) {
  scope_pop(e, n->scope);
  e->holes = n->holes_before;
  e->loop = n->loop_before;
  e->comprehension_depth--;
}

void nest_close(Elab *e, Nest *n, int ncarries, Value **carries, int nouts, const OutKind *outs, Value **values) {
  for (int i = n->nloops - 1; i >= 0; i--) {
    Op *op = n->loops[i].op;
    loop_set_outs(e->module, op, nouts, outs);
    build_loop_end(&e->b, op, carries, values);
    for (int k = 0; k < ncarries; k++)
      carries[k] = loop_carry_result(op, k);
    for (int k = 0; k < nouts; k++)
      values[k] = loop_out(op, k);
  }
  leave(e, n);
}

void nest_abandon(Elab *e, Nest *n) {
  Builder *b = &e->b;
  if (n->nloops) {
    Region *body = nest_innermost(n)->regions[0];
    if (n->filter && !n->filter->regions[1]->first && !n->filter->nresults) {
      b->region = n->filter->regions[0];
      build_if_else(b, n->filter, 0, NULL);
      build_if_end(b, n->filter, 0, NULL);
    }
    b->region = body;
  }
  for (IndexHole *h = e->holes; h != n->holes_before; h = h->outer)
    if (!h->extent)
      loop_set_extent(h->loop, h->index, size_const(e->module, 0));
  for (int i = n->nloops - 1; i >= 0; i--)
    build_loop_end(b, n->loops[i].op, NULL, NULL);
  *b = n->outside;
  leave(e, n);
}

const Size *nest_count(Elab *e, const Nest *n) {
  const LoopInfo *info = nest_outermost(n)->at.loop;
  const Size *count = size_const(e->module, 1);
  for (int i = 0; i < info->nindices; i++)
    count = size_mul(e->module, count, size_clamped(e, info->extents[i]));
  return count;
}
