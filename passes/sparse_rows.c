/* Sparse Jacobians: a block for each element of a result, or for each group of elements that are made together.

   Where the columns of a row are in a known order, whatever the indices, all rows are equally long and written as they
   stand: `slots` in the order of their columns.  Else the entries go through entries_compress(). */
#include "passes/sparse.h"
#include <stdlib.h>

enum { MAX_SLOTS = 64 };

/* An element that a block reads. */
typedef struct Slot {
  int site, rank; /* rank: number of the column among the row's */
  int64_t offset; /* in the site's type */
  int64_t distance;
  const Size *column; /* over parameters and values of the block's `gather` */
} Slot;

typedef struct Matrix {
  int wrt;
  bool is_static;
  Slot *slots;
  int nslots, width; /* static: width columns a row */
  const Size *room;  /* else: as many entries a row, over the function's sizes, or NULL: that is data */
  Value *at;         /* then: where those of this row begin */
  Entries entries;
} Matrix;

/* ---- static rows */
typedef struct Unroll {
  Module *module;
  Value *const *indices;
  const int64_t *at;
  int n;
} Unroll;
static const Size *constant_index(Value *v, void *arg) {
  const Unroll *u = arg;
  for (int i = 0; i < u->n; i++)
    if (v == u->indices[i])
      return size_const(u->module, u->at[i]);
  return NULL;
}

static void check_block_value(Value *v, void *arg) {
  const Region **body = arg;
  if (*body && v->region != *body)
    *body = NULL;
}

static void unflatten(Type t, int64_t flat, int64_t *at) {
  for (int i = t.rank - 1; i >= 0; i--) {
    int64_t n = 1;
    (void)size_is_const(t.dims[i], &n);
    at[i] = flat % n;
    flat /= n;
  }
}

/* The column of an element of a site; NULL where it depends on more than the block's indices and what is read for it.
 */
static const Size *slot_column(Module *m, const Block *block, const Site *site, int64_t flat) {
  int64_t at[MAX_RANK], rest = 0, n = 1;
  const Region *body = block->gather->body;
  unflatten(site->type, flat, at);
  const Unroll u = {.module = m, .indices = site->indices, .at = at, .n = site->nloops};
  for (int i = site->nloops; i < site->type.rank; i++) {
    (void)size_is_const(site->type.dims[i], &n);
    rest = rest * n + at[i];
  }
  const Size *c = size_map(m, size_of_value(m, site->column), constant_index, (void *)(uintptr_t)&u);
  size_values(c, check_block_value, &body);
  return body && !c->overflow ? size_add(m, c, size_const(m, rest)) : NULL;
}

static int by_distance(const void *a, const void *b) {
  const Slot *x = a, *y = b;
  return x->distance != y->distance ? (x->distance > y->distance) - (x->distance < y->distance)
                                    : (x->site > y->site) - (x->site < y->site);
}

static bool static_slots(Module *m, const Block *block, Matrix *x) {
  x->slots = NEW_ARRAY(m->arena, Slot, MAX_SLOTS);
  x->nslots = x->width = 0;
  for (int k = 0; k < block->places.sites.n; k++) {
    const Site *site = block->places.sites.at[k];
    int64_t count;
    if (site->wrt != x->wrt)
      continue;
    if (site->is_conditional || !size_is_const(type_count(m, site->type), &count) || count > MAX_SLOTS - x->nslots)
      return false;
    for (int64_t i = 0; i < count; i++) {
      Slot s = {.site = k, .offset = i, .column = slot_column(m, block, site, i)};
      if (!s.column || (x->nslots && !size_is_const(size_sub(m, s.column, x->slots[0].column), &s.distance)))
        return false;
      x->slots[x->nslots++] = s;
    }
  }
  qsort(x->slots, (size_t)x->nslots, sizeof *x->slots, by_distance);
  for (int i = 0; i < x->nslots; i++) {
    x->width += !i || x->slots[i].distance != x->slots[i - 1].distance;
    x->slots[i].rank = x->width - 1;
  }
  return true;
}

/* A row of a static matrix: the derivatives of one element of the block, whose place among these is `row`. */
static Value *static_values(Sparse *s, const Block *block, const Matrix *x, const Op *call, int nrow,
                            Value *const *row) {
  Builder *b = &s->b;
  const Size *width = size_const(s->module, x->width);
  const Kind k = s->source->body->params[x->wrt]->type.kind;
  Value *values = build_zeros(b, type_tensor(s->module, k, 1, &width)), *sum = NULL;
  for (int i = 0; i < x->nslots; i++) {
    const Slot *slot = &x->slots[i];
    const Type t = block->places.sites.at[slot->site]->type;
    int64_t at[MAX_RANK];
    Value *idx[MAX_RANK];
    unflatten(t, slot->offset, at);
    for (int j = 0; j < nrow; j++)
      idx[j] = row[j];
    for (int j = 0; j < t.rank; j++)
      idx[nrow + j] = build_int(b, KIND_I64, at[j]);
    Value *v = build_index(b, call->results[slot->site], nrow + t.rank, idx, 0);
    sum = sum ? build_add(b, sum, v) : v;
    if (i + 1 == x->nslots || x->slots[i + 1].rank != slot->rank) {
      Value *place = build_int(b, KIND_I64, slot->rank);
      values = build_update(b, values, sum, 1, &place, 0);
      sum = NULL;
    }
  }
  return values;
}

static Value *static_columns(Sparse *s, const Matrix *x, const Gathered *g) {
  Builder *b = &s->b;
  const Size *width = size_const(s->module, x->width);
  Value *columns = build_zeros(b, type_tensor(s->module, KIND_I32, 1, &width));
  for (int i = 0; i < x->nslots; i++)
    if (!i || x->slots[i].rank != x->slots[i - 1].rank) {
      Value *place = build_int(b, KIND_I64, x->slots[i].rank);
      Value *column = build_size(b, map_size(s->module, &g->map, x->slots[i].column));
      columns = build_update(b, columns, build_cast(b, KIND_I32, column), 1, &place, 0);
    }
  return columns;
}

/* ---- any rows */
/* All entries of one site: rows of the block times elements of the site. */
static void put_site(Sparse *s, const Block *block, const Matrix *x, int k, const Size *first, const Op *call,
                     const Gathered *g, Value *group) {
  Builder *b = &s->b;
  Module *m = s->module;
  const Site *site = block->places.sites.at[k];
  const Type t = call->results[k]->type; /* rows, loops of the site, the rest */
  const int nrow = t.rank - site->type.rank, ncolumn = nrow + site->nloops;
  const LoopSpec spec = {.nindices = t.rank, .extents = t.dims};
  Op *loop = t.rank ? build_loop_begin(b, &spec) : NULL;
  Value *const *idx = loop ? loop->regions[0]->params : NULL;
  const Size *rows = size_const(m, 1), *room = x->room;
  for (int i = 0; i < nrow; i++)
    rows = size_mul(m, rows, t.dims[i]);
  Value *row = build_add(b, build_mul(b, group, build_size(b, rows)), flat_index(b, nrow, idx, t.dims));
  Value *at = build_add(b, build_size(b, first), flat_index(b, t.rank - nrow, idx + nrow, t.dims + nrow));
  at = build_add(b, room ? build_mul(b, row, build_size(b, room)) : x->at, at);
  Value *column = build_index(b, g->columns[k], site->nloops, idx + nrow, 0);
  Value *there = build_add(b, column, flat_index(b, t.rank - ncolumn, idx + ncolumn, t.dims + ncolumn));
  if (site->is_conditional)
    there = build_select(b, build_binary(b, OP_LT, column, build_int(b, KIND_I64, 0)), column, there);
  entries_put(b, &x->entries, at, row, there, build_index(b, call->results[k], t.rank, idx, 0));
  if (loop)
    build_loop_end(b, loop, NULL, NULL);
}

static void put_entries(Sparse *s, const Block *block, const Matrix *x, const Op *call, const Gathered *g,
                        Value *group) {
  const Size *first = size_const(s->module, 0);
  for (int k = 0; k < block->places.sites.n; k++) {
    const Site *site = block->places.sites.at[k];
    if (site->wrt != x->wrt)
      continue;
    put_site(s, block, x, k, first, call, g, group);
    first = size_add(s->module, first, map_size(s->module, &g->map, type_count(s->module, site->type)));
  }
}

/* ---- one result */
typedef struct Rows {
  const Block *block;
  Matrix *matrices;
  int n;
  const Size *rows; /* elements of the result */
} Rows;

static const Size *room_of(const Sparse *s, const Block *block, int wrt) {
  ValueMap map = {.arena = s->module->arena};
  const Size *room = size_const(s->module, 0);
  for (int i = 0; i < s->source->nsizes; i++)
    map_put(&map, block->gather->body->params[i], s->func->body->params[i]);
  for (int k = 0; k < block->places.sites.n; k++)
    if (block->places.sites.at[k]->wrt == wrt)
      room =
          size_add(s->module, room, map_size(s->module, &map, type_count(s->module, block->places.sites.at[k]->type)));
  return room;
}

/* ---- ranges that are data */
/* Where the entries of the next row begin. */
static Value *after_row(Sparse *s, const Block *block, const Matrix *x, const Gathered *g) {
  const Size *count = size_const(s->module, 0);
  for (int k = 0; k < block->places.sites.n; k++)
    if (block->places.sites.at[k]->wrt == x->wrt)
      count = size_add(s->module, count,
                       map_size(s->module, &g->map, type_count(s->module, block->places.sites.at[k]->type)));
  return build_add(&s->b, x->at, build_size(&s->b, count));
}

/* The indices of a block from its number. */
static Value *const *lead_of(Sparse *s, Value *group, int n, const Size *const *extents) {
  Builder *b = &s->b;
  Value **lead = NEW_ARRAY(s->module->arena, Value *, n + 1);
  for (int i = n - 1; i > 0; i--) {
    Value *extent = build_binary(b, OP_MAX, build_size(b, extents[i]), build_int(b, KIND_I64, 1));
    lead[i] = build_binary(b, OP_REM, group, extent);
    group = build_div(b, group, extent);
  }
  lead[0] = group;
  return lead;
}

/* The loop over the blocks.  Static matrices leave it as stacks of values and columns, the others as accumulators. */
static Op *loop_over_blocks(Sparse *s, Rows *r, Func *jacobian) {
  Builder *b = &s->b;
  Module *m = s->module;
  const Target *t = r->block->target;
  const Size *extents[MAX_RANK];
  Value **accs = NEW_ARRAY(m->arena, Value *, 3 * r->n), **outs = NEW_ARRAY(m->arena, Value *, 2 * r->n);
  OutKind *stacks = NEW_ARRAY(m->arena, OutKind, 2 * r->n);
  Value **starts = NEW_ARRAY(m->arena, Value *, r->n), **next = NEW_ARRAY(m->arena, Value *, r->n);
  int naccs = 0, nouts = 0, nstarts = 0;
  for (int i = 0; i < t->nlead; i++)
    extents[i] = sparse_extent(s, t->extents[i]);
  for (int i = 0; i < r->n; i++)
    if (r->matrices[i].is_static) {
      nouts += 2;
    } else {
      naccs += entries_accs(&r->matrices[i].entries, accs + naccs);
      if (!r->matrices[i].room)
        starts[nstarts++] = build_int(b, KIND_I64, 0);
    }
  const bool in_order = nstarts && t->nlead > 1; /* that has one index */
  const int nindices = in_order ? 1 : t->nlead;
  const LoopSpec spec = {.nindices = nindices,
                         .extents = in_order ? &r->rows : extents,
                         .ncarries = nstarts,
                         .carry_inits = starts,
                         .naccs = naccs,
                         .acc_inits = accs,
                         .nouts = nouts,
                         .outs = stacks};
  Op *loop = build_loop_begin(b, &spec);
  Value *const *params = loop->regions[0]->params;
  Value *const *lead = in_order ? lead_of(s, params[0], t->nlead, extents) : params;
  const Gathered g = block_gather(s, r->block, lead);
  const Op *call = block_call(s, r->block, jacobian, lead, &g);
  Value *group = in_order ? params[0] : flat_index(b, t->nlead, lead, extents);
  const int nrow = call->results[0]->type.rank - r->block->places.sites.at[0]->type.rank;
  const int ncarries = nstarts;
  naccs = nouts = nstarts = 0;
  for (int i = 0; i < r->n; i++) {
    Matrix *x = &r->matrices[i];
    if (!x->is_static) {
      naccs += entries_take(&x->entries, params + nindices + ncarries + naccs);
      if (!x->room) {
        x->at = loop_carry(loop, nstarts);
        next[nstarts++] = after_row(s, r->block, x, &g);
      }
      put_entries(s, r->block, x, call, &g, group);
      continue;
    }
    const LoopSpec inner = {.nindices = nrow, .extents = call->results[0]->type.dims, .nouts = 1, .outs = stacks};
    Op *rows = nrow ? build_loop_begin(b, &inner) : NULL;
    Value *values = static_values(s, r->block, x, call, nrow, rows ? rows->regions[0]->params : NULL);
    if (rows)
      build_loop_end(b, rows, NULL, &values);
    outs[nouts++] = rows ? loop_out(rows, 0) : values;
    outs[nouts++] = static_columns(s, x, &g);
  }
  build_loop_end(b, loop, next, outs);
  return loop;
}

/* The same columns for each row of a block. */
static Value *repeat_columns(Sparse *s, Value *columns, Type values) {
  Builder *b = &s->b;
  const int nlead = columns->type.rank - 1;
  if (values.rank == columns->type.rank)
    return columns;
  const OutKind stack = OUT_STACK;
  const LoopSpec spec = {.nindices = values.rank, .extents = values.dims, .nouts = 1, .outs = &stack};
  Op *loop = build_loop_begin(b, &spec);
  Value *idx[MAX_RANK];
  for (int i = 0; i < nlead; i++)
    idx[i] = loop_index(loop, i);
  idx[nlead] = loop_index(loop, values.rank - 1);
  Value *column = build_index(b, columns, nlead + 1, idx, 0);
  build_loop_end(b, loop, NULL, &column);
  return loop_out(loop, 0);
}

/* ptr where all rows have `width` entries. */
static Value *even_rows(Sparse *s, const Size *rows, int width) {
  Builder *b = &s->b;
  const Size *n = size_add(s->module, rows, size_const(s->module, 1));
  const OutKind stack = OUT_STACK;
  const LoopSpec spec = {.nindices = 1, .extents = &n, .nouts = 1, .outs = &stack};
  Op *loop = build_loop_begin(b, &spec);
  Value *at = build_mul(b, loop_index(loop, 0), build_int(b, KIND_I64, width));
  at = build_cast(b, KIND_I32, at);
  build_loop_end(b, loop, NULL, &at);
  return loop_out(loop, 0);
}

static void static_result(Sparse *s, const Rows *r, const Matrix *x, Value *values, Value *columns, Value **results) {
  Builder *b = &s->b;
  Module *m = s->module;
  const Size *count = size_scale(m, r->rows, x->width);
  sparse_guard(s, r->rows, type_count(m, s->func->body->params[x->wrt]->type), count);
  columns = repeat_columns(s, columns, values->type);
  results[0] = even_rows(s, r->rows, x->width);
  results[1] = build_reshape(b, columns, type_tensor(m, KIND_I32, 1, &count));
  results[2] = build_reshape(b, values, type_tensor(m, values->type.kind, 1, &count));
}

static void empty_result(Sparse *s, const Size *rows, Kind k, Value **results) {
  const Size *none = size_const(s->module, 0);
  results[0] = even_rows(s, rows, 0);
  results[1] = build_zeros(&s->b, type_tensor(s->module, KIND_I32, 1, &none));
  results[2] = build_zeros(&s->b, type_tensor(s->module, k, 1, &none));
}

static bool reads(const Block *block, int wrt) {
  for (int k = 0; k < block->places.sites.n; k++)
    if (block->places.sites.at[k]->wrt == wrt)
      return true;
  return false;
}

static bool give_up(const Block *block) {
  block_discard(block->gather);
  block_discard(block->local);
  return false;
}

/* False: how many entries there can be is not known, or bands are narrower. */
static bool rows_of_block(Sparse *s, const Block *block, int result, const Size *rows, Value **results) {
  Module *m = s->module;
  const Derive *d = s->derive;
  const bool is_data = block->places.ranges.n > 0;
  bool *wrt = NEW_ARRAY(m->arena, bool, block->local->body->nparams);
  Rows r = {.block = block, .matrices = NEW_ARRAY(m->arena, Matrix, d->norder), .rows = rows};
  for (int i = 0; i < block->sites.sites.n; i++)
    wrt[block->sites.sites.at[i]->param->index] = true;
  for (int i = 0; i < d->norder; i++) {
    if (!reads(block, d->order[i]))
      continue;
    Matrix *x = &r.matrices[r.n++];
    x->wrt = d->order[i];
    x->is_static = static_slots(m, block, x);
    x->room = is_data ? NULL : room_of(s, block, x->wrt);
    const Size *count = is_data ? ranges_entries(s, block, x->wrt, rows) : size_mul(m, rows, x->room);
    if (!count ||
        (!is_data && !x->is_static && slices_are_wider(m, count, coloured_jacobian_entries(s, result, x->wrt))))
      return give_up(block);
    if (!x->is_static)
      x->entries = entries_new(s, count, x->room, s->source->body->params[x->wrt]->type.kind);
  }
  if (is_data)
    ranges_require_room(s, block);
  Func *jacobian = func_derive(m, DERIVE_JACOBIAN, block->local, wrt, d->mode, block->target->loc);
  const Op *loop = loop_over_blocks(s, &r, jacobian);
  int nacc = loop->at.loop->ncarries, nout = 0, next = 0;
  if (is_data)
    block_discard(block->gather);
  for (int i = 0; i < d->norder; i++) {
    const Kind k = s->source->body->params[d->order[i]]->type.kind;
    Matrix *x = next < r.n && r.matrices[next].wrt == d->order[i] ? &r.matrices[next++] : NULL;
    if (!x) {
      empty_result(s, rows, k, results + 3 * i);
    } else if (x->is_static) {
      static_result(s, &r, x, loop_out(loop, nout), loop_out(loop, nout + 1), results + 3 * i);
      nout += 2;
    } else {
      nacc += entries_take(&x->entries, loop->results + nacc);
      entries_compress(s, &x->entries, rows, type_count(m, s->func->body->params[x->wrt]->type), results + 3 * i);
    }
  }
  return true;
}

/* ---- which elements make a block */
typedef struct Find {
  const Slice *unused;
  const Func *source;
  bool found;
} Find;
static void find_outer_read(Op *op, void *arg) {
  Find *f = arg;
  if (op->code == OP_INDEX && op->operands[0]->region == f->source->body && kind_is_float(op->operands[0]->type.kind))
    f->found = true;
}

/* Elements of a small tensor that is made in one iteration, and not by an inner loop that reads for each of them, share
   a block. */
static int leading_axes(const Sparse *s, const Value *v) {
  const int rank = v->type.rank;
  int n = 0;
  while (v->type.rank && v->def && v->def->code == OP_LOOP && !v->def->at.loop->ncarries && !v->def->at.loop->naccs) {
    Find f = {.source = s->source};
    if (n && n + v->type.rank == rank) {
      int64_t count;
      const bool is_short = size_is_const(type_count(s->module, v->type), &count) && count <= MAX_SLOTS;
      region_walk(v->def->regions[0], find_outer_read, &f);
      if (is_short && !f.found)
        return n;
    }
    n += v->def->at.loop->nindices;
    v = v->def->regions[0]->yields[v->index];
  }
  int64_t count;
  return n && size_is_const(type_count(s->module, v->type), &count) && count <= MAX_SLOTS ? n : rank;
}

void sparse_jacobian(Sparse *s, Value **results) {
  Module *m = s->module;
  const Derive *d = s->derive;
  bool *counted = NEW_ARRAY(m->arena, bool, s->source->nresults + 1);
  for (int r = 0, at = 0; r < s->source->nresults; r++) {
    Value *v = s->source->body->yields[r];
    if (!kind_is_float(v->type.kind))
      continue;
    Target t = {.value = v, .loc = v->def ? v->def->loc : s->func->loc, .nlead = leading_axes(s, v)};
    for (int i = 0; i < t.nlead; i++)
      t.extents[i] = v->type.dims[i];
    counted[r] = true;
    const Activity activity = activity_of(s->source, d->wrt, counted);
    counted[r] = false;
    if (t.nlead && t.nlead == v->type.rank)
      t.nranges = ranges_of(s->source);
    Block *block = NEW(m->arena, Block);
    const Size *rows = type_count(m, sparse_type(s, v->type));
    const bool reads_any = block_make(s, &t, &activity, block);
    const bool sliced = reads_any ? rows_of_block(s, block, r, rows, results + at) : !block->sites.failed;
    for (int i = 0; i < d->norder; i++)
      if (!sliced)
        coloured_jacobian(s, r, d->order[i], results + at + 3 * i);
      else if (!reads_any)
        empty_result(s, rows, s->source->body->params[d->order[i]]->type.kind, results + at + 3 * i);
    at += 3 * d->norder;
  }
}
