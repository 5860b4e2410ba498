/* Reductions over axes.  An element of the result is one loop over the reduced axes; where the elements are wanted
   twice the tensor is stored before, unless it is cheap. Derivatives: the value of max and min is attached to the mean
   of the elements that attain it, so that ties share the derivative; logsumexp shifts by a constant; norm and std are
   constant where they are 0. */
#include "frontend/elab_builtin.h"
#include <math.h>
#include <string.h>

typedef struct Reduction Reduction;
typedef Value *ReductionMake(Elab *e, const Reduction *r, Value *const *idx);
struct Reduction {
  const Form *x;
  unsigned axes;
  bool keep;
  OutKind out; /* of the reductions that are one loop, or begin with it */
  ReductionMake *make;
  int64_t ddof;
  const Size *count; /* of the elements that are reduced to one */
};

/* ---- one loop */
typedef Value *ReductionBody(Elab *e, const Reduction *r, Value *const *all, Value *const *data);

/* Reduces what `body` makes of the element at `all`, the indices of x. */
static Value *reduce_loop(Elab *e, const Reduction *r, Value *const *idx, OutKind out, ReductionBody *body,
                          Value *const *data) {
  const Type t = r->x->type;
  const Size *extents[MAX_RANK];
  Value *all[MAX_RANK];
  int n = 0, outer = 0;
  for (int i = 0; i < t.rank; i++)
    if (r->axes >> i & 1)
      extents[n++] = t.dims[i];
  if (n == 0)
    return body(e, r, idx, data);
  const LoopSpec spec = {.nindices = n, .extents = extents, .nouts = 1, .outs = &out};
  Op *loop = build_loop_begin(&e->b, &spec);
  n = 0;
  for (int i = 0; i < t.rank; i++) {
    const bool reduced = r->axes >> i & 1;
    all[i] = reduced ? loop_index(loop, n++) : idx[outer];
    outer += r->keep || !reduced;
  }
  Value *item = body(e, r, all, data);
  build_loop_end(&e->b, loop, NULL, &item);
  return loop_out(loop, 0);
}

static Value *item_of(Elab *e, const Reduction *r, Value *const *all, Value *const *data) {
  (void)data;
  return form_element(e, r->x, all);
}

static Value *make_plain(Elab *e, const Reduction *r, Value *const *idx) {
  return reduce_loop(e, r, idx, r->out, item_of, NULL);
}

/* ---- mean, variance, std, norm */
static Value *count_as(Elab *e, const Reduction *r, Kind k) {
  return build_cast(&e->b, k, build_size(&e->b, r->count));
}

static Value *make_mean(Elab *e, const Reduction *r, Value *const *idx) {
  return build_div(&e->b, make_plain(e, r, idx), count_as(e, r, r->x->type.kind));
}

static Value *square_from(Elab *e, const Reduction *r, Value *const *all, Value *const *data) {
  Value *d = build_sub(&e->b, form_element(e, r->x, all), data[0]);
  return build_mul(&e->b, d, d);
}

static Value *make_variance(Elab *e, const Reduction *r, Value *const *idx) {
  Builder *b = &e->b;
  const Kind k = r->x->type.kind;
  Value *mean = make_mean(e, r, idx);
  Value *squares = reduce_loop(e, r, idx, OUT_SUM, square_from, &mean);
  if (r->ddof == 0)
    return build_div(b, squares, count_as(e, r, k));
  const Size *degrees = size_sub(e->module, r->count, size_const(e->module, r->ddof));
  Value *n = build_binary(b, OP_MAX, build_size(b, degrees), build_int(b, KIND_I64, 0));
  return build_div(b, squares, build_cast(b, k, n));
}

/* The square root with derivative 0 at 0. */
static Value *root(Elab *e, Value *v) {
  Builder *b = &e->b;
  Value *s = build_unary(b, OP_SQRT, v);
  Value *positive = build_binary(b, OP_LT, build_float(b, v->type.kind, 0), v);
  return build_select(b, positive, s, build_constant(b, s));
}

static Value *make_std(Elab *e, const Reduction *r, Value *const *idx) {
  return root(e, make_variance(e, r, idx));
}

static Value *square_of(Elab *e, const Reduction *r, Value *const *all, Value *const *data) {
  (void)data;
  Value *x = form_element(e, r->x, all);
  return build_mul(&e->b, x, x);
}

static Value *make_norm(Elab *e, const Reduction *r, Value *const *idx) {
  return root(e, reduce_loop(e, r, idx, OUT_SUM, square_of, NULL));
}

/* ---- max, min */
static Value *item_if_equal(Elab *e, const Reduction *r, Value *const *all, Value *const *data) {
  Value *x = form_element(e, r->x, all);
  return build_select(&e->b, build_binary(&e->b, OP_EQ, x, data[0]), x, build_float(&e->b, x->type.kind, 0));
}

static Value *one_if_equal(Elab *e, const Reduction *r, Value *const *all, Value *const *data) {
  Builder *b = &e->b;
  Value *x = form_element(e, r->x, all);
  const Kind k = x->type.kind;
  return build_select(b, build_binary(b, OP_EQ, x, data[0]), build_float(b, k, 1), build_float(b, k, 0));
}

static Value *make_extreme(Elab *e, const Reduction *r, Value *const *idx) {
  Value *m = make_plain(e, r, idx);
  if (!kind_is_float(m->type.kind))
    return m;
  Value *ties = reduce_loop(e, r, idx, OUT_SUM, item_if_equal, &m);
  Value *count = reduce_loop(e, r, idx, OUT_SUM, one_if_equal, &m);
  return build_binary(&e->b, OP_ATTACH, m, build_binary(&e->b, OP_DIVZ, ties, count));
}

/* ---- logsumexp */
static Value *make_peak(Elab *e, const Reduction *r, Value *const *idx) {
  Builder *b = &e->b;
  Value *m = reduce_loop(e, r, idx, OUT_MAX, item_of, NULL);
  Value *finite = build_unary(b, OP_ISFINITE, m);
  return build_constant(b, build_select(b, finite, m, build_float(b, m->type.kind, 0)));
}

static Value *shifted_exp(Elab *e, const Reduction *r, Value *const *all, Value *const *data) {
  return build_unary(&e->b, OP_EXP, build_sub(&e->b, form_element(e, r->x, all), data[0]));
}

/* Where the sum is 0, over nothing or -inf alone, and where it is inf, its logarithm is constant. */
Value *build_log_of_sum(Builder *b, Value *sum) {
  const Kind k = sum->type.kind;
  Value *zero = build_binary(b, OP_EQ, sum, build_float(b, k, 0));
  Value *infinite = build_binary(b, OP_EQ, sum, build_float(b, k, INFINITY));
  Value *logarithm = build_unary(b, OP_LOG, sum);
  return build_select(b, build_binary(b, OP_OR, zero, infinite), build_constant(b, logarithm), logarithm);
}

static Value *make_logsumexp(Elab *e, const Reduction *r, Value *const *idx) {
  Value *peak = make_peak(e, r, idx);
  Value *sum = reduce_loop(e, r, idx, OUT_SUM, shifted_exp, &peak);
  return build_add(&e->b, peak, build_log_of_sum(&e->b, sum));
}

/* ---- argmax, argmin: the least flat index among the elements that attain the extreme; the first NaN, if there is one
 */
static Value *position_if_equal(Elab *e, const Reduction *r, Value *const *all, Value *const *data) {
  Builder *b = &e->b;
  Value *x = form_element(e, r->x, all), *flat = build_int(b, KIND_I64, 0);
  for (int i = 0; i < r->x->type.rank; i++)
    if (r->axes >> i & 1)
      flat = build_add(b, build_mul(b, flat, build_size(b, r->x->type.dims[i])), all[i]);
  Value *hit = build_binary(b, OP_EQ, x, data[0]);
  if (kind_is_float(x->type.kind))
    hit = build_binary(b, OP_OR, hit, build_unary(b, OP_ISNAN, x));
  return build_select(b, hit, flat, build_int(b, KIND_I64, INT64_MAX));
}

static Value *make_arg(Elab *e, const Reduction *r, Value *const *idx) {
  Value *m = make_plain(e, r, idx);
  return reduce_loop(e, r, idx, OUT_MIN, position_if_equal, &m);
}

/* ---- the table */
enum { TAKES_NUMBERS, TAKES_FLOATS, TAKES_BOOLS };
typedef struct ReductionInfo {
  const char *name;
  ReductionMake *make;
  OutKind out;
  int takes;
  bool twice; /* reads its elements more than once */
} ReductionInfo;

static const ReductionInfo infos[] = {
    {"sum", make_plain, OUT_SUM, TAKES_NUMBERS, false},  {"prod", make_plain, OUT_PROD, TAKES_NUMBERS, false},
    {"mean", make_mean, OUT_SUM, TAKES_FLOATS, false},   {"max", make_extreme, OUT_MAX, TAKES_NUMBERS, true},
    {"min", make_extreme, OUT_MIN, TAKES_NUMBERS, true}, {"variance", make_variance, OUT_SUM, TAKES_FLOATS, true},
    {"var", make_variance, OUT_SUM, TAKES_FLOATS, true}, {"std", make_std, OUT_SUM, TAKES_FLOATS, true},
    {"norm", make_norm, OUT_SUM, TAKES_FLOATS, false},   {"logsumexp", make_logsumexp, OUT_SUM, TAKES_FLOATS, true},
    {"argmax", make_arg, OUT_MAX, TAKES_NUMBERS, true},  {"argmin", make_arg, OUT_MIN, TAKES_NUMBERS, true},
    {"any", make_plain, OUT_OR, TAKES_BOOLS, false},     {"all", make_plain, OUT_AND, TAKES_BOOLS, false},
};

static const ReductionInfo *find_info(const char *name) {
  for (size_t i = 0; i < sizeof infos / sizeof infos[0]; i++)
    if (!strcmp(infos[i].name, name))
      return &infos[i];
  internal_error("no reduction '%s'", name);
}

static Value *reduction_element(Elab *e, const Form *t, Value *const *idx) {
  const Reduction *r = t->recipe;
  return r->make(e, r, idx);
}

static Form *reduce(Elab *e, Range at, const Reduction *r, Kind result) {
  const Size *dims[MAX_RANK], *one = size_const(e->module, 1);
  int rank = 0;
  for (int i = 0; i < r->x->type.rank; i++)
    if (!(r->axes >> i & 1))
      dims[rank++] = r->x->type.dims[i];
    else if (r->keep)
      dims[rank++] = one;
  Reduction *copy = NEW(e->arena, Reduction);
  *copy = *r;
  const Range loc = e->b.loc;
  e->b.loc = at;
  Form *f = form_lazy(e, at, type_tensor(e->module, result, rank, dims), reduction_element, copy, false);
  e->b.loc = loc;
  return f;
}

static const Size *reduced_count(Elab *e, const Form *x, unsigned axes) {
  const Size *count = size_const(e->module, 1);
  for (int i = 0; i < x->type.rank; i++)
    if (axes >> i & 1)
      count = size_mul(e->module, count, x->type.dims[i]);
  return count;
}

/* The position of an extreme of nothing is a run-time status. */
static bool require_some(Elab *e, Range at, const char *name, const Size *count) {
  Module *m = e->module;
  if (size_is(count, 0)) {
    elab_error(e, at, "'%s' of no elements", name);
    return false;
  }
  if (!size_nonnegative(m, size_sub(m, count, size_const(m, 1))))
    build_require(&e->b, build_binary(&e->b, OP_LT, build_int(&e->b, KIND_I64, 0), build_size(&e->b, count)),
                  arena_printf(e->arena, "index of '%s' over nothing", name));
  return true;
}

static Form *reduce_with(Elab *e, Range at, const char *name, const Form *x, Reduction r) {
  const ReductionInfo *info = find_info(name);
  const char *what = arena_printf(e->arena, "the argument of '%s'", name);
  const Form *given = x;
  if (x->kind == FORM_POISON)
    return form_poison(e, at);
  if ((x->type.kind == KIND_BOOL) != (info->takes == TAKES_BOOLS)) {
    DiagMessage *m = elab_error(e, x->at, "%s is %s where %s are needed", what, form_text(e, x),
                                info->takes == TAKES_BOOLS ? "bools" : "numbers");
    diag_mend(e->diag, m, info->takes == TAKES_BOOLS ? "compare it: x != 0" : "write the conversion: i64(..)");
    return form_poison(e, at);
  }
  if (info->takes == TAKES_FLOATS)
    x = form_float_of(e, x, what);
  r.count = reduced_count(e, x, r.axes);
  r.out = info->out;
  r.make = info->make;
  r.x = info->twice ? form_cheap(e, x) : x;
  const bool position = info->make == make_arg;
  if (position && !require_some(e, at, name, r.count))
    return form_poison(e, at);
  Form *f = reduce(e, at, &r, position ? KIND_I64 : x->type.kind);
  form_mark(f, 1, &given);
  f->is_literal = false;
  return f;
}

Form *builtin_reduce(Elab *e, Range at, const char *name, const Form *x, unsigned axes, bool keep) {
  return reduce_with(e, at, name, x, (Reduction){.axes = axes, .keep = keep});
}

Form *reduce_peak(Elab *e, Range at, const Form *x, unsigned axes) {
  return reduce(e, at, &(Reduction){.x = x, .axes = axes, .keep = true, .make = make_peak}, x->type.kind);
}

/* ---- calls */
static Form *call_with(Elab *e, const BuiltinCall *c, int64_t ddof) {
  Reduction r = {.ddof = ddof};
  Form *x = argument_tensor(e, c, 0);
  if (x->kind == FORM_POISON || !argument_axes(e, c, 1, x->type.rank, &r.axes) || !argument_flag(e, c, 2, &r.keep))
    return form_poison(e, c->at);
  return reduce_with(e, c->at, c->f->name, x, r);
}

Form *call_reduction(Elab *e, const BuiltinCall *c) {
  return call_with(e, c, 0);
}

Form *call_variance(Elab *e, const BuiltinCall *c) {
  int64_t ddof;
  if (!argument_int(e, c, 3, 0, &ddof))
    return form_poison(e, c->at);
  if (ddof < 0) {
    elab_error(e, c->arguments[3]->at, "'ddof' cannot be negative");
    return form_poison(e, c->at);
  }
  return call_with(e, c, ddof);
}
