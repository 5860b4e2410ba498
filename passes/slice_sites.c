/* Sites: the reads of a slice from the arguments of interest; see slice.h. */
#include "ir/raw.h"
#include "passes/slice_internal.h"

/* The outermost place that a read may stand in: out of the loops whose indices it does not use. */
static Place *place_of_read(const Slice *s, int n, Value *const *idx) {
  Place *p = s->place;
  for (; p->kind == PLACE_LOOP; p = p->outer)
    for (int i = 0; i < n; i++)
      if (!value_is_outside(idx[i], p->region))
        return p;
  return p;
}

static bool same_read(const Site *site, int wrt, int n, Value *const *idx) {
  bool same = site->wrt == wrt && site->nidx == n;
  for (int i = 0; same && i < n; i++)
    same = site->idx[i] == idx[i];
  return same;
}

/* An earlier read of the same element, in this place or one around it. */
static Value *earlier(const Place *p, int wrt, int n, Value *const *idx) {
  for (; p; p = p->outer)
    for (int i = 0; i < p->records.n; i++) {
      const Site *site = p->records.at[i].site;
      if (site->at == p && same_read(site, wrt, n, idx))
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

static void read_there(Slice *s, Site *site, Value *const *idx, uint64_t checks) {
  Value *x = s->arguments[site->wrt];
  site->read = build_index(&s->b, x, site->nidx, idx, checks);
  site->column = column_of(s, x, site->nidx, idx);
}

static Site *new_site(Slice *s, int wrt, Type t, int nloops) {
  Site *site = NEW(s->module->arena, Site);
  *site = (Site){.wrt = wrt, .type = t, .nloops = nloops};
  vec_push(s->module->arena, s->sites, site);
  return site;
}

Value *slice_read(Slice *s, Value *param, int n, Value *const *idx, uint64_t checks, Range loc) {
  Arena *a = s->module->arena;
  Place *at = place_of_read(s, n, idx);
  const int wrt = param->index;
  Value *before = earlier(at, wrt, n, idx);
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
  site->at = at;
  site->nidx = n;
  site->loc = loc;
  site->idx = NEW_ARRAY(a, Value *, n + 1);
  for (int i = 0; i < n; i++)
    site->idx[i] = idx[i];
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
