/* Sites: the reads of a slice from the arguments of interest; see slice.h. */
#include "ir/raw.h"
#include "passes/slice_internal.h"

/* Places of elements are compared as sizes: the values that stand for them may have been made further in or further out
   in one slice than in the other, by what else has been made there. */
static const Size *place_of_index(Slice *s, Value *index) {
  const Size *place = size_of_value(s->module, index);
  return place->overflow ? size_atom(s->module, index) : place;
}

static bool is_in_range(Slice *s, const Value *x, int n, const Size *const *idx, uint64_t checks) {
  Module *m = s->module;
  for (int i = 0; i < n; i++) {
    const Size *extent = map_size(m, &s->root->map, x->type.dims[i]);
    const Size *room = size_sub(m, size_sub(m, extent, idx[i]), size_const(m, 1));
    if (checks >> i & 1 && (!size_nonnegative(m, idx[i]) || !size_nonnegative(m, room)))
      return false;
  }
  return true;
}

/* Where a read stands: out of the loops whose indices it does not use.  What may be out of range is then read only if
   `counts`, extents of these loops, are above 0. */
typedef struct Standing {
  Place *at;
  Counts counts;
} Standing;

/* Adds the extents of a loop that may have no iteration. */
static void count_iterations(const Slice *s, Op *loop, Counts *counts) {
  Module *m = s->module;
  for (int i = 0; i < loop->at.loop->nindices; i++) {
    const Size *extent = loop->at.loop->extents[i];
    for (int k = 0; k < s->ranges.n; k++)
      if (s->ranges.at[k].loop == loop && s->ranges.at[k].axis == i)
        extent = s->ranges.at[k].extent;
    if (!size_nonnegative(m, size_sub(m, extent, size_const(m, 1))))
      vec_push(m->arena, *counts, extent);
  }
}

static bool all_outside(int n, const Size *const *sizes, const Region *r) {
  for (int i = 0; i < n; i++)
    if (!size_is_outside(sizes[i], r))
      return false;
  return true;
}

static Standing place_of_read(const Slice *s, bool in_range, int n, const Size *const *idx) {
  Standing standing = {.at = s->place};
  for (Place *p = s->place; p->kind == PLACE_LOOP && all_outside(n, idx, p->region); p = standing.at = p->outer) {
    Counts counts = {0};
    for (int i = 0; i < standing.counts.n; i++)
      vec_push(s->module->arena, counts, standing.counts.at[i]);
    if (!in_range)
      count_iterations(s, p->op, &counts);
    if (!all_outside(counts.n, counts.at, p->region))
      break;
    standing.counts = counts;
  }
  return standing;
}

static bool equal_sizes(int n, const Size *const *a, const Size *const *b) {
  for (int i = 0; i < n; i++)
    if (a[i] != b[i])
      return false;
  return true;
}

/* An earlier read of the same element, in this place or one around it. */
static Value *earlier(const Standing *standing, int wrt, int n, const Size *const *idx) {
  const Counts *counts = &standing->counts;
  for (const Place *p = standing->at; p; p = p->outer)
    for (int i = 0; i < p->records.n; i++) {
      const Site *site = p->records.at[i].site;
      if (site->at == p && site->wrt == wrt && site->nidx == n && equal_sizes(n, site->idx, idx) &&
          (!site->counts.n ||
           (p == standing->at && site->counts.n == counts->n && equal_sizes(counts->n, site->counts.at, counts->at))))
        return site->read;
    }
  return NULL;
}

static bool is_recorded(const Place *from, const Place *to, const Site *site) {
  for (const Place *p = from; p; p = p == to ? NULL : p->outer)
    for (int i = 0; i < p->records.n; i++)
      if (p->records.at[i].site == site)
        return true;
  return false;
}

/* A site of the branch beside one around this place that reads as much, and is not used here yet. */
static Site *shared_site(const Place *at, int wrt, Type t) {
  for (const Place *p = at; p; p = p->outer)
    for (int i = 0; p->rival && i < p->rival->records.n; i++) {
      Site *site = p->rival->records.at[i].site;
      if (site->wrt == wrt && type_equal(site->type, t) && !is_recorded(at, p, site))
        return site;
    }
  return NULL;
}

typedef VEC(Value *) Indices;

/* The size of a range that is not made of sizes, of the outermost loop of a slice; NULL: it is none, or they are too
 * many.
 */
static const Size *range_size(Slice *s, const Place *p, int axis) {
  Op *loop = p->op;
  for (int i = 0; i < s->ranges.n; i++)
    if (s->ranges.at[i].loop == loop && s->ranges.at[i].axis == axis)
      return s->ranges.at[i].size;
  if (s->ranges.n == s->nranges || !p->outer || p->outer->kind != PLACE_ROOT)
    return NULL;
  const Size *extent = loop->at.loop->extents[axis];
  Builder b = build_into(s->func, region_new(s->module, s->func, loop->parent->owner));
  b.share_top = b.region;
  const Size *size;
  if (s->mode == SLICE_LOCAL)
    size = size_atom(s->module, s->func->body->params[s->source->nsizes + s->ranges.n]);
  else
    size = size_of_value(s->module, build_binary(&b, OP_MAX, build_size(&b, extent), build_int(&b, KIND_I64, 0)));
  for (Op *op = b.region->first, *next; op; op = next) {
    next = op->next;
    op_unlink(op);
    op_insert_before(loop, op);
  }
  loop_set_extent(loop, axis, size);
  const DataRange r = {.loop = loop, .axis = axis, .size = size, .extent = extent};
  vec_push(s->module->arena, s->ranges, r);
  return size;
}

/* The loops around a place: indices, and their extents at the front of `dims`. */
static bool loops_around(Slice *s, const Place *at, Indices *indices, const Size **dims) {
  const Place *chain[MAX_RANK];
  int n = 0;
  for (const Place *p = at; p; p = p->outer) {
    if (p->kind == PLACE_WHILE)
      slice_fail(s);
    if (p->kind == PLACE_LOOP && n < MAX_RANK)
      chain[n++] = p;
  }
  while (n-- > 0) {
    const LoopInfo *info = chain[n]->op->at.loop;
    for (int i = 0; i < info->nindices; i++) {
      const Size *extent = info->extents[i];
      if (!size_is_of_params(extent, s->func))
        extent = range_size(s, chain[n], i);
      if (!extent)
        slice_fail(s);
      if (indices->n == MAX_RANK)
        slice_fail(s);
      if (s->failed)
        return false;
      dims[indices->n] = extent;
      vec_push(s->module->arena, *indices, chain[n]->region->params[i]);
    }
  }
  return !s->failed;
}

/* The place of x[idx..] in x, row-major. */
static Value *column_of(Slice *s, const Value *x, int n, Value *const *idx) {
  Builder *b = &s->b;
  Value *column = build_int(b, KIND_I64, 0);
  for (int i = 0; i < x->type.rank; i++) {
    column = build_mul(b, column, build_size(b, x->type.dims[i]));
    if (i < n)
      column = build_add(b, column, idx[i]);
  }
  return column;
}

static void read_local(Slice *s, Site *site, Value *const *indices) {
  if (!site->param)
    site->param = func_add_param(s->func, site->type, s->source->body->params[site->wrt]->name);
  site->read = build_index(&s->b, site->param, site->nloops, indices, 0);
}

/* In the site's place: the indices may have been made further in. */
static void read_there(Slice *s, Site *site, Value *const *idx, uint64_t checks) {
  Builder *b = &s->b;
  Value *x = s->arguments[site->wrt], *there[MAX_RANK], *cond = NULL, *yields[2];
  for (int i = 0; i < site->nidx; i++)
    there[i] = value_is_outside(idx[i], site->at->region) || idx[i]->region == site->at->region
                   ? idx[i]
                   : build_size(b, site->idx[i]);
  for (int i = 0; i < site->counts.n; i++) {
    Value *some = build_binary(b, OP_LT, build_int(b, KIND_I64, 0), build_size(b, site->counts.at[i]));
    cond = cond ? build_binary(b, OP_AND, cond, some) : some;
  }
  Op *branch = cond ? build_if_begin(b, cond) : NULL;
  yields[0] = site->read = build_index(b, x, site->nidx, there, checks);
  for (int i = 0; i < site->nidx; i++) /* the column is used where the value is not */
    if (checks >> i & 1)
      slice_test_index(s, there[i], x->type.dims[i]);
  yields[1] = site->column = column_of(s, x, site->nidx, there);
  if (!branch)
    return;
  build_if_else(b, branch, 2, yields);
  yields[0] = build_zeros(b, site->read->type);
  yields[1] = build_int(b, KIND_I64, -1);
  build_if_end(b, branch, 2, yields);
  site->read = branch->results[0];
  site->column = branch->results[1];
}

static Site *new_site(Slice *s, int wrt, Type t, int nloops) {
  Site *site = NEW(s->module->arena, Site);
  *site = (Site){.wrt = wrt, .type = t, .nloops = nloops};
  vec_push(s->module->arena, s->sites, site);
  return site;
}

Value *slice_read(Slice *s, Value *param, int n, Value *const *idx, uint64_t checks, Range loc) {
  Arena *a = s->module->arena;
  const Size **places = NEW_ARRAY(a, const Size *, n + 1);
  for (int i = 0; i < n; i++)
    places[i] = place_of_index(s, idx[i]);
  const Standing standing = place_of_read(s, is_in_range(s, param, n, places, checks), n, places);
  Place *at = standing.at;
  const int wrt = param->index;
  Value *before = earlier(&standing, wrt, n, places);
  if (before)
    return before;
  const Size *dims[2 * MAX_RANK];
  Indices indices = {0};
  if (!loops_around(s, at, &indices, dims))
    return slice_nothing(s, type_scalar(param->type.kind));
  const Type whole = map_type(s->module, &s->root->map, param->type);
  int rank = indices.n;
  for (int i = n; i < whole.rank; i++)
    dims[rank++] = whole.dims[i];
  if (rank > MAX_RANK) {
    slice_fail(s);
    return slice_nothing(s, type_scalar(param->type.kind));
  }
  const Type t = type_tensor(s->module, whole.kind, rank, dims);
  Site *site = shared_site(at, wrt, t);
  if (!site)
    site = new_site(s, wrt, t, indices.n);
  for (const Place *p = at; p; p = p->outer)
    site->is_conditional |= p->kind == PLACE_BRANCH;
  site->is_conditional |= standing.counts.n > 0;
  site->at = at;
  site->counts = standing.counts;
  site->nidx = n;
  site->loc = loc;
  site->idx = places;
  site->indices = indices.at;
  const Detour from = detour_begin(s, at);
  if (s->mode == SLICE_LOCAL)
    read_local(s, site, indices.at);
  else
    read_there(s, site, idx, checks);
  detour_end(s, from);
  const Record r = {.site = site, .value = site->read, .column = site->column};
  vec_push(a, at->records, r);
  return site->read;
}
