/* Sparse derivatives of what cannot be sliced: bands, and columns of one colour at once.

   What an element of a result depends on lies, on each axis of the argument, between two ends (reach.h); these are the
   entries of its row.  No two columns of a row are as far apart as a band is wide, so that columns whose places are
   alike modulo the widths, one colour, are computed by one tangent: the direction with a one at each of them.  Rows of
   one colour are computed by one cotangent where that are fewer.

   On an axis that is counted modulo its size, places are divided into groups that are no shorter than the width, and
   the colour is the place in the group. */
#include "passes/growth.h"
#include "passes/reach.h"
#include "passes/sparse.h"

typedef struct Axis {
  Span span;          /* over the places of a row, and the function's parameters */
  const Size *dim;    /* of the argument */
  const Size *band;   /* from one end to the other at most, over the function's parameters; NULL: not known */
  const Size *width;  /* the most entries: no more than there are places */
  const Size *period; /* the number of colours */
} Axis;

typedef struct Coloured {
  Sparse *s;
  Analysis *reach;
  Type rows, columns; /* over the function's sizes */
  Type row_places;    /* the shape, in the source, of whose places the spans are */
  Axis *axes;         /* of the columns */
  int *with;          /* for each axis of the rows the axis of the columns that tells rows apart; -1: none */
  const Size *room;   /* entries of a row */
  bool by_rows;
} Coloured;

/* ---- how wide */
static void widths(Coloured *c, int k) {
  Module *m = c->s->module;
  Axis *x = &c->axes[k];
  const Size *width = x->span.lo && x->span.hi ? size_sub(m, x->span.hi, x->span.lo) : NULL;
  for (int i = 0; i < c->row_places.rank && width; i++)
    width = bound_replace(c->reach, width, reach_place(c->reach, c->row_places, i), NULL, NULL, true);
  if (width && !bound_is_of_params(c->reach, width))
    width = NULL;
  if (width)
    x->band = size_max(m, size_add(m, map_size(m, &c->s->primal, width), size_const(m, 1)), size_const(m, 0));
  width = width ? x->band : x->dim;
  x->width = size_is_const(width, NULL) ? width : size_min(m, width, x->dim);
}

/* floor(dim / width) groups, or one: their longest has so many. */
static const Size *longest_group(Module *m, const Axis *x) {
  const Size *one = size_const(m, 1), *width = size_max(m, x->width, one);
  const Size *groups = size_max(m, size_floordiv(m, x->dim, width), one);
  return size_floordiv(m, size_sub(m, size_add(m, x->dim, groups), one), groups);
}

static void periods(Coloured *c) {
  Module *m = c->s->module;
  for (int k = 0; k < c->columns.rank; k++) {
    Axis *x = &c->axes[k];
    x->period = x->span.wraps ? size_max(m, longest_group(m, x), size_const(m, 1)) : x->width;
  }
}

/* Whether rows whose places on an axis are a band apart have their entries apart, too. */
static bool follows(const Coloured *c, const Axis *x, int axis) {
  Module *m = c->s->module;
  Value *place = reach_place(c->reach, c->row_places, axis);
  const Size *slope, *rest;
  const Size *const ends[] = {x->span.lo, x->span.hi};
  for (int i = 0; i < 2; i++) {
    if (!x->band || !ends[i] || !size_linear_in(m, ends[i], place, &slope, &rest) || !size_is(slope, 1))
      return false;
    for (int k = 0; k < c->row_places.rank; k++)
      if (k != axis && size_uses(ends[i], reach_place(c->reach, c->row_places, k)))
        return false;
  }
  return !x->span.wraps || x->dim == c->rows.dims[axis];
}

/* Not the width, which may be less where there are fewer columns than a band is wide. */
static const Size *row_period(const Coloured *c, int axis) {
  const Axis *x = c->with[axis] >= 0 ? &c->axes[c->with[axis]] : NULL;
  if (!x)
    return c->rows.dims[axis];
  if (x->span.wraps)
    return x->period;
  return size_is_const(x->band, NULL) ? x->band : size_min(c->s->module, x->band, c->rows.dims[axis]);
}

static void match_rows(Coloured *c) {
  Module *m = c->s->module;
  bool *taken = NEW_ARRAY(m->arena, bool, c->columns.rank + 1);
  c->with = NEW_ARRAY(m->arena, int, c->rows.rank + 1);
  for (int i = 0; i < c->rows.rank; i++) {
    c->with[i] = -1;
    for (int k = 0; k < c->columns.rank; k++)
      if (!taken[k] && c->with[i] < 0 && follows(c, &c->axes[k], i) &&
          !grows_more(size_growth(m, c->axes[k].band), size_growth(m, c->rows.dims[i]))) {
        c->with[i] = k;
        taken[k] = true;
      }
  }
}

static const Size *row_colours(const Coloured *c) {
  const Size *n = size_const(c->s->module, 1);
  for (int i = 0; i < c->rows.rank; i++)
    n = size_mul(c->s->module, n, row_period(c, i));
  return n;
}

static const Size *column_colours(const Coloured *c) {
  const Size *n = size_const(c->s->module, 1);
  for (int k = 0; k < c->columns.rank; k++)
    n = size_mul(c->s->module, n, c->axes[k].period);
  return n;
}

/* A cotangent costs about twice a tangent. */
static void choose_side(Coloured *c) {
  enum { DEARER = 2 };
  Module *m = c->s->module;
  const DeriveMode mode = c->s->derive->mode;
  const Growth forward = size_growth(m, column_colours(c)),
               backward = size_growth(m, size_scale(m, row_colours(c), DEARER));
  c->by_rows = mode == MODE_REVERSE || (mode == MODE_AUTO && grows_more(forward, backward));
}

/* ---- colours at run time */
static Value *colour_on_axis(const Coloured *c, const Axis *x, const Size *period, Value *place) {
  Builder *b = &c->s->b;
  Module *m = c->s->module;
  const Size *one = size_const(m, 1);
  if (!x->span.wraps)
    return build_binary(b, OP_REM, place, build_size(b, size_max(m, period, one)));
  const Size *groups = size_max(m, size_floordiv(m, x->dim, size_max(m, x->width, one)), one);
  const Size *shorter = size_floordiv(m, x->dim, groups);
  const Size *nlong = size_sub(m, x->dim, size_mul(m, shorter, groups));
  Value *past = build_sub(b, place, build_size(b, size_mul(m, nlong, size_add(m, shorter, one))));
  Value *in_long = build_binary(b, OP_LT, past, build_int(b, KIND_I64, 0));
  Value *of_long = build_binary(b, OP_REM, place, build_size(b, size_add(m, shorter, one)));
  Value *of_short = build_binary(b, OP_REM, past, build_size(b, size_max(m, shorter, one)));
  return build_select(b, in_long, of_long, of_short);
}

static Value *column_colour(const Coloured *c, Value *const *places) {
  Builder *b = &c->s->b;
  Value *colour = build_int(b, KIND_I64, 0);
  for (int k = 0; k < c->columns.rank; k++)
    colour = build_add(b, build_mul(b, colour, build_size(b, c->axes[k].period)),
                       colour_on_axis(c, &c->axes[k], c->axes[k].period, places[k]));
  return colour;
}

static Value *row_colour(const Coloured *c, Value *const *places) {
  Builder *b = &c->s->b;
  Value *colour = build_int(b, KIND_I64, 0);
  for (int i = 0; i < c->rows.rank; i++) {
    colour = build_mul(b, colour, build_size(b, row_period(c, i)));
    Value *own = places[i];
    if (c->with[i] >= 0)
      own = colour_on_axis(c, &c->axes[c->with[i]], row_period(c, i), own);
    colour = build_add(b, colour, own);
  }
  return colour;
}

/* ---- all colours */
/* Ones at the places of a colour. */
static Value *seed_of(const Coloured *c, Type t, Value *colour) {
  Builder *b = &c->s->b;
  const OutKind stack = OUT_STACK;
  const LoopSpec spec = {.nindices = t.rank, .extents = t.dims, .nouts = 1, .outs = &stack};
  Value *one = build_float(b, t.kind, 1);
  if (!t.rank)
    return one;
  Op *loop = build_loop_begin(b, &spec);
  Value *const *places = loop->regions[0]->params;
  Value *own = c->by_rows ? row_colour(c, places) : column_colour(c, places);
  Value *seed = build_select(b, build_binary(b, OP_EQ, own, colour), one, build_float(b, t.kind, 0));
  build_loop_end(b, loop, NULL, &seed);
  return loop_out(loop, 0);
}

/* What comes out of `along`, a function of a direction after the function's parameters, for each colour. */
static Value *compressed(const Coloured *c, Func *along, int result) {
  Builder *b = &c->s->b;
  const int n = c->s->func->body->nparams;
  const Size *colours = c->by_rows ? row_colours(c) : column_colours(c);
  const OutKind stack = OUT_STACK;
  const LoopSpec spec = {.nindices = 1, .extents = &colours, .nouts = 1, .outs = &stack};
  Value **args = NEW_ARRAY(c->s->module->arena, Value *, n + 1);
  for (int i = 0; i < n; i++)
    args[i] = c->s->func->body->params[i];
  Op *loop = build_loop_begin(b, &spec);
  args[n] = seed_of(c, c->by_rows ? c->rows : c->columns, loop_index(loop, 0));
  const Op *call = build_call(b, along, args);
  build_loop_end(b, loop, NULL, &call->results[result]);
  return loop_out(loop, 0);
}

/* ---- the matrix */
/* A bound at the row's places. */
static Value *bound_at(const Coloured *c, const Size *bound, Value *const *row) {
  Module *m = c->s->module;
  ValueMap map = {.arena = m->arena, .outer = &c->s->primal};
  for (int i = 0; i < c->row_places.rank; i++)
    map_put(&map, reach_place(c->reach, c->row_places, i), row[i]);
  return build_size(&c->s->b, map_size(m, &map, bound));
}

typedef struct Entry { /* number k of a row's on an axis */
  Value *column, *is_there;
} Entry;

/* Modulo the axis's size those from the one on that the span begins with, and before them those past the end. */
static Entry wrapped_entry(const Coloured *c, const Axis *x, Value *first, Value *end, Value *k) {
  Builder *b = &c->s->b;
  Value *dim = build_size(b, x->dim), *zero = build_int(b, KIND_I64, 0), *one = build_int(b, KIND_I64, 1);
  Value *n = build_binary(b, OP_MIN, build_sub(b, end, first), dim);
  Value *safe = build_binary(b, OP_MAX, dim, one);
  Value *start = build_binary(b, OP_MOD, first, safe);
  Value *past = build_binary(b, OP_MAX, build_sub(b, build_add(b, start, n), dim), zero);
  Value *column = build_add(b, start, build_sub(b, k, past));
  column = build_select(b, build_binary(b, OP_LT, k, past), k, column);
  return (Entry){column, build_binary(b, OP_LT, k, n)};
}

static Entry entry_on_axis(const Coloured *c, const Axis *x, Value *const *row, Value *k) {
  Builder *b = &c->s->b;
  Value *dim = build_size(b, x->dim), *zero = build_int(b, KIND_I64, 0), *one = build_int(b, KIND_I64, 1);
  Value *first = x->span.lo ? bound_at(c, x->span.lo, row) : zero;
  Value *end = x->span.hi ? build_add(b, bound_at(c, x->span.hi, row), one) : dim;
  if (x->span.wraps)
    return wrapped_entry(c, x, first, end, k);
  Value *column = build_add(b, build_binary(b, OP_MAX, first, zero), k);
  return (Entry){column, build_binary(b, OP_LT, column, build_binary(b, OP_MIN, end, dim))};
}

/* One entry: its column, -1 where there is none, and its value. */
static void entry_of(const Coloured *c, Value *values, Value *const *row, Value *const *k, Value **out) {
  Builder *b = &c->s->b;
  const int nrow = c->rows.rank, ncolumn = c->columns.rank;
  Value *idx[2 * MAX_RANK], **at = idx + 1, *places[MAX_RANK] = {0};
  Value *is_there = build_int(b, KIND_BOOL, 1), *zero = build_int(b, KIND_I64, 0);
  for (int i = 0; i < ncolumn; i++) {
    const Entry e = entry_on_axis(c, &c->axes[i], row, k[i]);
    is_there = build_binary(b, OP_AND, is_there, e.is_there);
    places[i] = e.column;
  }
  for (int i = 0; i < ncolumn; i++)
    places[i] = build_select(b, is_there, places[i], zero);
  const Kind kind = values->type.kind;
  Op *branch = build_if_begin(b, is_there);
  for (int i = 0; i < (c->by_rows ? ncolumn : nrow); i++)
    at[i] = c->by_rows ? places[i] : row[i];
  idx[0] = c->by_rows ? row_colour(c, row) : column_colour(c, places);
  Value *found = build_index(b, values, 1 + (c->by_rows ? ncolumn : nrow), idx, 0);
  build_if_else(b, branch, 1, &found);
  Value *none = build_float(b, kind, 0);
  build_if_end(b, branch, 1, &none);
  Value *column =
      build_select(b, is_there, flat_index(b, ncolumn, places, c->columns.dims), build_int(b, KIND_I64, -1));
  out[0] = build_cast(b, KIND_I32, column);
  out[1] = build_cast(b, c->columns.kind, branch->results[0]);
}

/* All entries in a row; one number makes a vector of it. */
static Value *in_a_row(Builder *b, Value *v, const Size *count) {
  const Type t = type_tensor(b->module, v->type.kind, 1, &count);
  return v->type.rank ? build_reshape(b, v, t) : build_full(b, t, v);
}

static void matrix_of(Coloured *c, Value *values, Value **results) {
  Sparse *s = c->s;
  Builder *b = &s->b;
  Module *m = s->module;
  const int rank = c->rows.rank + c->columns.rank;
  const Size *rows = type_count(m, c->rows), *count = size_mul(m, rows, c->room), *extents[2 * MAX_RANK];
  const OutKind stacks[] = {OUT_STACK, OUT_STACK};
  for (int i = 0; i < rank; i++)
    extents[i] = i < c->rows.rank ? c->rows.dims[i] : c->axes[i - c->rows.rank].width;
  const LoopSpec spec = {.nindices = rank, .extents = extents, .nouts = 2, .outs = stacks};
  Op *loop = build_loop_begin(b, &spec);
  Value *out[2], *const *idx = loop->regions[0]->params;
  entry_of(c, values, idx, idx + c->rows.rank, out);
  build_loop_end(b, loop, NULL, out);
  const Entries e = {.column = in_a_row(b, loop_out(loop, 0), count),
                     .value = in_a_row(b, loop_out(loop, 1), count),
                     .count = count,
                     .room = c->room};
  entries_compress(s, &e, rows, type_count(m, c->columns), results);
}

/* ---- what is not seen */
static void warn_of_full(const Coloured *c) {
  Module *m = c->s->module;
  for (int k = 0; k < c->columns.rank; k++) {
    const ReachCause *cause = c->axes[k].span.cause;
    if (!cause || c->axes[k].width != c->axes[k].dim || !c->rows.rank)
      continue;
    const Range at = cause->at.src ? cause->at : c->s->func->loc;
    DiagMessage *w = diag_warn(m->diag, "sparse", at, "a sparse matrix has full rows: %s", cause->why);
    diag_note(m->diag, w, c->s->func->loc, "it is asked for here");
    return;
  }
}

/* Ends that are made of what only the run knows are none. */
static Span span_known(Analysis *a, Span s, Type places) {
  Span known = {
      .lo = bound_known(a, s.lo, false), .hi = bound_known(a, s.hi, true), .wraps = s.wraps, .cause = s.cause};
  const Size *ends[] = {known.lo, known.hi};
  for (int i = 0; i < 2; i++) {
    const Size *rest = ends[i];
    for (int k = 0; k < places.rank && rest; k++) {
      const Size *slope;
      Value *place = reach_place(a, places, k);
      if (size_uses(rest, place) && !size_linear_in(a->module, rest, place, &slope, &rest))
        rest = NULL;
    }
    if (rest && !bound_is_of_params(a, rest))
      *(i ? &known.hi : &known.lo) = NULL;
  }
  if (((s.lo && !known.lo) || (s.hi && !known.hi)) && !known.cause)
    known.cause = reach_cause(a, "how far apart the elements are that this comes from is known only when it runs");
  return known.wraps && (!known.lo || !known.hi) ? reach_all(known.cause) : known;
}

static bool too_many_axes(Sparse *s, Type rows, Type columns, Value **results) {
  Module *m = s->module;
  if (rows.rank + columns.rank <= MAX_RANK)
    return false;
  diag_error(m->diag, s->func->loc, "a sparse matrix of results and arguments with more than %d axes", MAX_RANK);
  for (int i = 0; i < 3; i++)
    results[i] = build_int(&s->b, KIND_I32, 0);
  return true;
}

/* Spans over the places of `row_places`, and parameters of the source. */
static Coloured coloured(Sparse *s, Analysis *a, Type row_places, const Span *spans, int column) {
  Module *m = s->module;
  Coloured c = {.s = s,
                .reach = a,
                .rows = sparse_type(s, row_places),
                .columns = s->func->body->params[column]->type,
                .row_places = row_places,
                .room = size_const(m, 1)};
  c.axes = NEW_ARRAY(m->arena, Axis, c.columns.rank + 1);
  for (int k = 0; k < c.columns.rank; k++) {
    const Size *dim = s->source->body->params[column]->type.dims[k];
    c.axes[k] = (Axis){.span = span_known(a, reach_clipped(a, spans[k], dim), row_places), .dim = c.columns.dims[k]};
    widths(&c, k);
    c.room = size_mul(m, c.room, c.axes[k].width);
  }
  periods(&c);
  match_rows(&c);
  choose_side(&c);
  return c;
}

static void nothing_there(Sparse *s, Type rows, int column, Value **results) {
  Module *m = s->module;
  const Size *none = size_const(m, 0), *ends = size_add(m, type_count(m, rows), size_const(m, 1));
  results[0] = build_zeros(&s->b, type_tensor(m, KIND_I32, 1, &ends));
  results[1] = build_zeros(&s->b, type_tensor(m, KIND_I32, 1, &none));
  results[2] = build_zeros(&s->b, type_tensor(m, s->func->body->params[column]->type.kind, 1, &none));
}

static bool *only(Sparse *s, int param) {
  bool *wrt = NEW_ARRAY(s->module->arena, bool, s->func->body->nparams);
  wrt[param] = true;
  return wrt;
}

/* ---- Jacobians */
/* The function with that result alone. */
static Func *with_result(Sparse *s, int result) {
  Func *base = s->derive->base;
  Module *m = s->module;
  if (base->nresults == 1)
    return base;
  Func *f = func_new(m, arena_printf(m->arena, "%s_alone", base->name), base->loc);
  ValueMap map = {.arena = m->arena};
  for (int i = 0; i < base->body->nparams; i++) {
    Value *p = base->body->params[i];
    map_put(&map, p, func_add_param(f, map_type(m, &map, p->type), p->name));
  }
  f->nsizes = base->nsizes;
  Builder b = build_into(f, f->body);
  Op *call = build_call(&b, base, f->body->params);
  const Type type = call->results[result]->type;
  func_set_results(f, 1, &type, NULL);
  build_return(&b, 1, &call->results[result]);
  return f;
}

/* False: nothing is reached. */
static bool jacobian_bands(Sparse *s, int result, int wrt, Coloured *c) {
  Module *m = s->module;
  bool *counted = NEW_ARRAY(m->arena, bool, s->source->nresults);
  Value *v = s->source->body->yields[result];
  counted[result] = true;
  const Activity activity = activity_of(s->source, only(s, wrt), counted);
  Analysis *a = NEW(m->arena, Analysis);
  *a = reach_of_func(s->source, only(s, wrt), &activity, false);
  const Reach *r = reach_read(a, v);
  if (r)
    *c = coloured(s, a, v->type, r->spans, wrt);
  return r != NULL;
}

const Size *coloured_jacobian_entries(Sparse *s, int result, int wrt) {
  Coloured c;
  return jacobian_bands(s, result, wrt, &c) ? size_mul(s->module, type_count(s->module, c.rows), c.room)
                                            : size_const(s->module, 0);
}

void coloured_jacobian(Sparse *s, int result, int wrt, Value **results) {
  const Type rows = sparse_type(s, s->source->body->yields[result]->type);
  Coloured c;
  if (too_many_axes(s, rows, s->func->body->params[wrt]->type, results))
    return;
  if (!jacobian_bands(s, result, wrt, &c)) {
    nothing_there(s, rows, wrt, results);
    return;
  }
  warn_of_full(&c);
  Func *along = func_derive(s->module, c.by_rows ? DERIVE_VJP : DERIVE_JVP, with_result(s, result), only(s, wrt),
                            c.by_rows ? MODE_REVERSE : MODE_FORWARD, s->func->loc);
  matrix_of(&c, compressed(&c, along, 1), results);
}

/* ---- Hessians */
/* How far on an axis columns are from the row that a pair of one site has, by an index that both follow. */
static bool difference(Analysis *a, const Span *row, const Span *column, const Size *row_dim, const Size *column_dim,
                       Span *out) {
  Module *m = a->module;
  if (!row->lo || !row->hi || !column->lo || !column->hi)
    return false;
  const bool wraps = row->wraps || column->wraps;
  if (wraps && row_dim != column_dim)
    return false;
  *out = (Span){.lo = size_sub(m, column->lo, row->hi), .hi = size_sub(m, column->hi, row->lo), .wraps = wraps};
  return true;
}

typedef struct Symbols {
  Arena *arena;
  VEC(Value *) all;
} Symbols;
static void add_symbol(Value *v, void *arg) {
  Symbols *s = arg;
  if (v->region->owner)
    vec_push(s->arena, s->all, v);
}

/* All loop indices at their ends, the innermost first. */
static const Size *without_indices(Analysis *a, const Size *s, bool upper) {
  while (s) {
    Symbols in = {.arena = a->module->arena};
    Value *deepest = NULL;
    int depth = 0;
    size_values(s, add_symbol, &in);
    for (int i = 0; i < in.all.n; i++) {
      int own = 0;
      for (const Region *r = in.all.at[i]->region; r->owner; r = r->owner->parent)
        own++;
      if (own > depth) {
        depth = own;
        deepest = in.all.at[i];
      }
    }
    if (!deepest)
      return s;
    s = bound_replace(a, s, deepest, NULL, NULL, upper);
  }
  return NULL;
}

static Span site_span(Analysis *a, const Reach *row, const Reach *column, int k) {
  const Type t = row->source->type, u = column->source->type;
  Span best = {.lo = without_indices(a, column->spans[k].lo, false),
               .hi = without_indices(a, column->spans[k].hi, true)};
  if (column->spans[k].wraps || !bound_union(a, best.lo, best.hi, true))
    best = reach_all(NULL);
  best.cause = column->spans[k].cause;
  for (int n = 0; n < t.rank; n++) {
    const int i = n == 0 && k < t.rank ? k : n - (n <= k && k < t.rank);
    Span d;
    if (!difference(a, &row->spans[i], &column->spans[k], t.dims[i], u.dims[k], &d))
      continue;
    const Size *lo = without_indices(a, d.lo, false), *hi = without_indices(a, d.hi, true);
    const Size *place = size_atom(a->module, reach_place(a, t, i));
    if (!lo || !hi || !bound_is_of_params(a, lo) || !bound_is_of_params(a, hi))
      continue;
    if (size_nonnegative(a->module, size_sub(a->module, size_sub(a->module, hi, lo),
                                             size_sub(a->module, u.dims[k], size_const(a->module, 1)))))
      continue;
    return (Span){.lo = size_add(a->module, lo, place), .hi = size_add(a->module, hi, place), .wraps = d.wraps};
  }
  return best;
}

static const Reach *reach_of_source(const Reach *r, const Value *source) {
  while (r && r->source != source)
    r = r->next;
  return r;
}

/* The columns of each row of all sites; NULL: there are none. */
static Reach *pairs_of_sites(Analysis *a, Value *row, Value *column) {
  Reach *all = NULL;
  for (int i = 0; i < a->sites.n; i++) {
    const Reach *r = reach_of_source(a->sites.at[i].reach, row), *q = reach_of_source(a->sites.at[i].reach, column);
    if (!r || !q)
      continue;
    Reach *own = NEW(a->module->arena, Reach);
    *own = (Reach){.source = column, .spans = NEW_ARRAY(a->module->arena, Span, column->type.rank + 1)};
    for (int k = 0; k < column->type.rank; k++)
      own->spans[k] = site_span(a, r, q, k);
    all = reach_union(a, all, own);
  }
  return all;
}

static Analysis *sites_of(Sparse *s) {
  Module *m = s->module;
  if (s->sites)
    return s->sites;
  bool *counted = NEW_ARRAY(m->arena, bool, s->source->nresults);
  counted[0] = true;
  const Activity activity = activity_of(s->source, s->derive->wrt, counted);
  s->sites = NEW(m->arena, Analysis);
  *s->sites = reach_of_func(s->source, s->derive->wrt, &activity, true);
  return s->sites;
}

static bool hessian_bands(Sparse *s, Analysis *a, int row, int column, Coloured *c) {
  Value *p = s->source->body->params[row], *q = s->source->body->params[column];
  const Reach *r = pairs_of_sites(a, p, q);
  if (r)
    *c = coloured(s, a, p->type, r->spans, column);
  return r != NULL;
}

const Size *coloured_hessian_entries(Sparse *s, int row, int column) {
  Coloured c;
  return hessian_bands(s, sites_of(s), row, column, &c) ? size_mul(s->module, type_count(s->module, c.rows), c.room)
                                                        : size_const(s->module, 0);
}

void coloured_hessian(Sparse *s, int row, int column, Value **results) {
  Module *m = s->module;
  const Type rows = s->func->body->params[row]->type;
  Coloured c;
  if (too_many_axes(s, rows, s->func->body->params[column]->type, results))
    return;
  if (!hessian_bands(s, sites_of(s), row, column, &c)) {
    nothing_there(s, rows, column, results);
    return;
  }
  warn_of_full(&c);
  const int along = c.by_rows ? row : column, of = c.by_rows ? column : row;
  Func *gradient = func_derive(m, DERIVE_GRAD, s->derive->base, only(s, of), MODE_REVERSE, s->func->loc);
  Func *product = func_derive(m, DERIVE_JVP, gradient, only(s, along), MODE_FORWARD, s->func->loc);
  matrix_of(&c, compressed(&c, product, 1), results);
}
