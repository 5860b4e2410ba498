/* Sparse Jacobians whose rows read ranges that depend on the row, or are data.

   A range is a size of the block function, and rows stand one after the other, as long as they are.  How many entries
   there can be is rows times the longest range, where the row's place tells that; of ranges that are data it is the
   size of the arrays that they go through, as in compressed rows, where all of them together are no longer.  That is
   tested. */
#include "passes/growth.h"
#include "passes/sparse.h"

enum { MAX_RANGES = 4, MAX_CASES = 32 };

/* Of the block's indices number k. */
static Value *lead_param(const Sparse *s, const Block *block, int k) {
  return block->gather->body->params[block->gather->nsizes + s->derive->norder + k];
}

/* ---- the longest that a range can be */
typedef struct Longest {
  const Sparse *s;
  const Block *block;
  int cases; /* that are left */
} Longest;

static void find_lesser(Value *v, void *arg) {
  Value **found = arg;
  if (!*found && v->def && (v->def->code == OP_MIN || v->def->code == OP_MAX))
    *found = v;
}

/* Over the sizes of `gather`; NULL: not known. */
static const Size *longest(Longest *l, const Size *extent) {
  Module *m = l->s->module;
  const Func *gather = l->block->gather;
  const Size *slope, *rest;
  int64_t by;
  Value *v = NULL;
  size_values(extent, find_lesser, &v);
  if (v) { /* no more than either: the one of the two cases that says more */
    const Size *cases[2] = {NULL, NULL};
    if (!size_linear_in(m, extent, v, &slope, &rest) || !size_is_const(slope, &by) || --l->cases < 0 ||
        (by > 0) != (v->def->code == OP_MIN))
      return NULL;
    for (int i = 0; i < 2; i++)
      cases[i] = longest(l, size_add(m, rest, size_mul(m, slope, size_of_value(m, v->def->operands[i]))));
    if (!cases[0] || !cases[1])
      return cases[0] ? cases[0] : cases[1];
    return grows_more(size_growth(m, cases[0]), size_growth(m, cases[1])) ? cases[1] : cases[0];
  }
  for (int k = 0; k < l->block->target->nlead; k++) {
    if (!size_linear_in(m, extent, lead_param(l->s, l->block, k), &slope, &rest) || !size_is_const(slope, &by))
      return NULL;
    extent = rest;
    if (by > 0) {
      ValueMap map = {.arena = m->arena};
      for (int i = 0; i < l->s->source->nsizes; i++)
        map_put(&map, l->s->source->body->params[i], gather->body->params[i]);
      const Size *last = size_sub(m, map_size(m, &map, l->block->target->extents[k]), size_const(m, 1));
      extent = size_add(m, rest, size_scale(m, last, by));
    }
  }
  return size_is_of_params(extent, gather) ? extent : NULL;
}

/* Over the function's sizes, and at least 0. */
static const Size *range_bound(const Sparse *s, const Block *block, int k) {
  Module *m = s->module;
  Longest l = {.s = s, .block = block, .cases = MAX_CASES};
  ValueMap map = {.arena = m->arena};
  const Size *most = longest(&l, block->places.ranges.at[k].extent);
  for (int i = 0; i < s->source->nsizes; i++)
    map_put(&map, block->gather->body->params[i], s->func->body->params[i]);
  return most ? size_at_most(m, map_size(m, &map, most)) : NULL;
}

typedef struct FindRoom {
  const Func *gather;
  Value *index;
  const Size *room;
} FindRoom;
static void look_for_room(Op *op, void *arg) {
  FindRoom *f = arg;
  Module *m = f->gather->module;
  for (int j = 1; op->code == OP_INDEX && j < op->noperands && !f->room; j++) {
    const Size *slope, *rest, *dim = op->operands[0]->type.dims[j - 1];
    if (size_linear_in(m, size_of_value(m, op->operands[j]), f->index, &slope, &rest) && size_is(slope, 1) &&
        size_is_of_params(dim, f->gather))
      f->room = dim;
  }
}

typedef struct Follow {
  const Value *param;
  bool found;
  int left; /* values that are still looked at: else there is more room than need be */
} Follow;
static void follow_value(Value *v, void *arg) {
  Follow *f = arg;
  f->found |= v == f->param;
  if (f->found || !v->def || --f->left < 0)
    return;
  for (int i = 0; i < v->def->noperands; i++)
    follow_value(v->def->operands[i], f);
  if (v->def->code == OP_SIZE)
    size_values(v->def->at.size, follow_value, f);
}

/* The same range for all indices that it does not depend on: so many. */
static const Size *repeats_of(const Sparse *s, const Block *block, const DataRange *r) {
  const Target *t = block->target;
  const Size *n = size_const(s->module, 1);
  for (int k = 0; k < t->nlead; k++) {
    Follow f = {.param = lead_param(s, block, k), .left = 1000};
    size_values(r->extent, follow_value, &f);
    if (!f.found)
      n = size_mul(s->module, n, sparse_extent(s, t->extents[k]));
  }
  return n;
}

/* The size of the arrays that a range goes through, as often as it does, over the function's sizes; NULL: there is
   none. */
static const Size *range_room(const Sparse *s, const Block *block, int k) {
  const DataRange *r = &block->places.ranges.at[k];
  ValueMap map = {.arena = s->module->arena};
  FindRoom f = {.gather = block->gather, .index = loop_index(r->loop, r->axis)};
  region_walk(block->gather->body, look_for_room, &f);
  for (int i = 0; i < s->source->nsizes; i++)
    map_put(&map, block->gather->body->params[i], s->func->body->params[i]);
  return f.room ? size_mul(s->module, map_size(s->module, &map, f.room), repeats_of(s, block, r)) : NULL;
}

/* The most entries that a site can have in all rows; NULL: that is not known. */
static const Size *entries_of_site(const Sparse *s, const Block *block, const Site *site, const Size *rows) {
  ValueMap map = {.arena = s->module->arena};
  const Size *count = size_const(s->module, 1);
  bool is_data = false;
  for (int i = 0; i < s->source->nsizes; i++)
    map_put(&map, block->gather->body->params[i], s->func->body->params[i]);
  for (int i = 0; i < site->type.rank; i++) {
    const Size *dim = site->type.dims[i];
    for (int k = 0; k < block->places.ranges.n; k++)
      if (dim == block->places.ranges.at[k].size) {
        dim = range_bound(s, block, k);
        if (dim)
          break;
        dim = range_room(s, block, k);
        if (is_data || !dim)
          return NULL;
        is_data = true;
        break;
      }
    count = size_mul(s->module, count, dim == site->type.dims[i] ? map_size(s->module, &map, dim) : dim);
  }
  return is_data ? count : size_mul(s->module, count, rows);
}

const Size *ranges_entries(const Sparse *s, const Block *block, int wrt, const Size *rows) {
  const Size *count = size_const(s->module, 0);
  for (int k = 0; k < block->places.sites.n; k++) {
    const Site *site = block->places.sites.at[k];
    const Size *of_site = site->wrt == wrt ? entries_of_site(s, block, site, rows) : size_const(s->module, 0);
    if (!of_site)
      return NULL;
    count = size_add(s->module, count, of_site);
  }
  return count;
}

/* All ranges of which only the sum is known must not be longer than what they go through, or there is no room for the
 * entries. */
void ranges_require_room(Sparse *s, const Block *block) {
  Builder *b = &s->b;
  const int n = block->places.ranges.n;
  OutKind *sums = NEW_ARRAY(s->module->arena, OutKind, n);
  Value **lengths = NEW_ARRAY(s->module->arena, Value *, n);
  for (int k = 0; k < n; k++)
    sums[k] = OUT_SUM;
  const Size *extents[MAX_RANK];
  for (int i = 0; i < block->target->nlead; i++)
    extents[i] = sparse_extent(s, block->target->extents[i]);
  const LoopSpec spec = {.nindices = block->target->nlead, .extents = extents, .nouts = n, .outs = sums};
  Op *loop = build_loop_begin(b, &spec);
  const Gathered g = block_gather(s, block, loop->regions[0]->params);
  for (int k = 0; k < n; k++)
    lengths[k] = build_size(b, gathered_range(s, block, &g, k));
  build_loop_end(b, loop, NULL, lengths);
  for (int k = 0; k < n; k++)
    if (!range_bound(s, block, k))
      build_require(b, build_binary(b, OP_LE, loop_out(loop, k), build_size(b, range_room(s, block, k))),
                    "the ranges of a sparse matrix's rows overlap, or are longer than their arrays");
}

typedef struct CountRanges {
  const Func *source;
  int n;
} CountRanges;
static void count_ranges(Op *op, void *arg) {
  CountRanges *c = arg;
  for (int i = 0; op->code == OP_LOOP && i < op->at.loop->nindices; i++)
    c->n += !size_is_of_params(op->at.loop->extents[i], c->source);
}

int ranges_of(const Func *source) {
  CountRanges c = {.source = source};
  region_walk(source->body, count_ranges, &c);
  return c.n < MAX_RANGES ? c.n : MAX_RANGES;
}
