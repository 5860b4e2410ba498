/* Bounds of what is reached: sizes over places, loop indices and parameters; see reach.h. */
#include "ir/raw.h"
#include "passes/reach.h"

enum { MAX_SLACK = 64, MAX_INNER = 8 };

/* ---- what bounds are made of */
static bool is_index(const Value *v) {
  const Op *loop = v->def ? NULL : v->region->owner;
  return loop && loop->code == OP_LOOP && v->index < loop->at.loop->nindices;
}

bool value_is_symbol(const Value *v) {
  return is_index(v) || (!v->def && !v->region->owner && !v->type.rank && kind_is_int(v->type.kind));
}

typedef struct Found {
  const Analysis *a;
  Value *inner;
  bool foreign;
} Found;
static void look(Value *v, void *arg) {
  Found *f = arg;
  if (!value_is_symbol(v))
    f->inner = v;
  f->foreign |= v->def || v->region != f->a->source->body;
}

bool bound_is_of_params(const Analysis *a, const Size *s) {
  Found f = {.a = a};
  size_values(s, look, &f);
  return !s->overflow && !f.inner && !f.foreign;
}

static Value *inner_value(const Analysis *a, const Size *s) {
  Found f = {.a = a};
  size_values(s, look, &f);
  return f.inner;
}

/* ---- replacing */
static const Size *extent_of(const Value *index) {
  return is_index(index) ? index->region->owner->at.loop->extents[index->index] : NULL;
}

const Size *bound_replace(Analysis *a, const Size *bound, Value *index, const Size *lo, const Size *hi, bool upper) {
  Module *m = a->module;
  const Size *slope, *rest;
  if (!bound || !size_uses(bound, index))
    return bound;
  if (!size_linear_in(m, bound, index, &slope, &rest))
    return NULL;
  const bool rises = size_nonnegative(m, slope), is_point = lo && lo == hi;
  if (!rises && !is_point && !size_nonnegative(m, size_scale(m, slope, -1)))
    return NULL;
  const Size *extent = extent_of(index), *end = rises == upper ? hi : lo;
  if (!end && (rises == upper ? !extent : !is_index(index)))
    return NULL;
  if (!end)
    end = rises == upper ? size_sub(m, extent, size_const(m, 1)) : size_const(m, 0);
  const Size *s = size_add(m, rest, size_mul(m, slope, end));
  return s->overflow ? NULL : bound_known(a, s, upper);
}

/* ---- a bound of two */
typedef enum Side { NEITHER, FIRST, SECOND } Side;
/* The one that lies further out. */
static Side further(Module *m, const Size *x, const Size *y, bool upper) {
  const Size *d = upper ? size_sub(m, x, y) : size_sub(m, y, x);
  if (size_nonnegative(m, d))
    return FIRST;
  return size_nonnegative(m, size_scale(m, d, -1)) ? SECOND : NEITHER;
}

const Size *bound_union(Analysis *a, const Size *x, const Size *y, bool upper) {
  Module *m = a->module;
  if (!x || !y)
    return NULL;
  switch (further(m, x, y, upper)) {
  case FIRST: return x;
  case SECOND: return y;
  default: break;
  }
  const Size *d = size_sub(m, y, x), *zero = size_const(m, 0);
  if (bound_is_of_params(a, d))
    return upper ? size_add(m, x, size_max(m, d, zero)) : size_sub(m, x, size_max(m, size_scale(m, d, -1), zero));
  for (int64_t slack = 1; slack <= MAX_SLACK; slack *= 2) { /* nearly so: max(i - 1, 0) is at most i */
    const Size *by = size_const(m, upper ? slack : -slack);
    if (further(m, size_add(m, x, by), y, upper) == FIRST)
      return size_add(m, x, by);
    if (further(m, size_add(m, y, by), x, upper) == FIRST)
      return size_add(m, y, by);
  }
  return NULL;
}

/* ---- values that are computed */
typedef struct Ends {
  const Size *lo, *hi;
} Ends;
static Ends ends_of(Analysis *a, Value *v, int depth);

static const Size *known_at(Analysis *a, const Size *s, bool upper, int depth) {
  Module *m = a->module;
  for (int n = 0; s; n++) {
    const Size *slope, *rest;
    Value *v = inner_value(a, s);
    if (!v)
      return s;
    if (s->overflow || n == MAX_INNER || depth <= 0 || !size_linear_in(m, s, v, &slope, &rest))
      return NULL;
    const bool rises = size_nonnegative(m, slope);
    if (!rises && !size_nonnegative(m, size_scale(m, slope, -1)))
      return NULL;
    const Ends e = ends_of(a, v, depth - 1);
    const Size *end = rises == upper ? e.hi : e.lo;
    s = end ? size_add(m, rest, size_mul(m, slope, end)) : NULL;
  }
  return NULL;
}

const Size *bound_known(Analysis *a, const Size *bound, bool upper) {
  return bound ? known_at(a, bound, upper, MAX_INNER) : NULL;
}

static void look_index(Value *v, void *arg) {
  *(bool *)arg |= is_index(v);
}
static bool mentions_index(const Size *s) {
  bool any = false;
  size_values(s, look_index, &any);
  return any;
}

/* The lesser or greater of two ends, from a side where each alone is a bound: the one that says more. */
static const Size *either_end(Analysis *a, const Size *x, const Size *y, bool upper) {
  if (!x || !y)
    return x ? x : y;
  const Side s = further(a->module, x, y, upper);
  if (s != NEITHER)
    return s == FIRST ? y : x;
  const Size *d = size_sub(a->module, y, x), *zero = size_const(a->module, 0);
  if (bound_is_of_params(a, d))
    return size_add(a->module, x, upper ? size_min(a->module, zero, d) : size_max(a->module, zero, d));
  return mentions_index(x) || !mentions_index(y) ? x : y;
}

/* Not a cast that may change what the integer is. */
static bool keeps_number(const Op *op) {
  return op->code != OP_CAST || (kind_is_int(op->operands[0]->type.kind) && op->results[0]->type.kind == KIND_I64);
}

static Ends ends_of_rest(Analysis *a, const Op *op, Ends x, Ends by) {
  Module *m = a->module;
  const Size *one = size_const(m, 1), *zero = size_const(m, 0);
  const bool positive = by.lo && size_nonnegative(m, size_sub(m, by.lo, one));
  const bool known = x.lo && size_nonnegative(m, x.lo);
  if (!positive || (op->code == OP_REM && !known))
    return (Ends){0};
  return (Ends){.lo = zero, .hi = by.hi ? size_sub(m, by.hi, one) : NULL};
}

static Ends ends_of(Analysis *a, Value *v, int depth) {
  Module *m = a->module;
  const Size *s = size_of_value(m, v);
  if (depth <= 0)
    return (Ends){0};
  if (!inner_value(a, s))
    return (Ends){s, s};
  if (!v->def || s != size_atom(m, v))
    return v->def ? (Ends){known_at(a, s, false, depth - 1), known_at(a, s, true, depth - 1)} : (Ends){0};
  const Op *op = v->def;
  Ends x = {0}, y = {0};
  const int first = op->code == OP_SELECT;
  switch (op->code) {
  case OP_MIN:
  case OP_MAX:
  case OP_REM:
  case OP_MOD:
  case OP_SELECT: y = ends_of(a, op->operands[first + 1], depth - 1); __attribute__((fallthrough));
  case OP_CAST:
    if (!keeps_number(op))
      return (Ends){0};
    x = ends_of(a, op->operands[first], depth - 1);
    break;
  default: return (Ends){0};
  }
  switch (op->code) {
  case OP_MIN: return (Ends){bound_union(a, x.lo, y.lo, false), either_end(a, x.hi, y.hi, true)};
  case OP_MAX: return (Ends){either_end(a, x.lo, y.lo, false), bound_union(a, x.hi, y.hi, true)};
  case OP_SELECT: return (Ends){bound_union(a, x.lo, y.lo, false), bound_union(a, x.hi, y.hi, true)};
  case OP_CAST: return x;
  default: return ends_of_rest(a, op, x, y);
  }
}

/* ---- indices */
/* Whether a value is counted modulo the axis's size: v % n, or what roll makes of it. */
static bool is_modulo(Analysis *a, const Value *v, const Size *dim) {
  const Op *op = v->def;
  if (!op || (op->code != OP_REM && op->code != OP_MOD))
    return false;
  const Op *by = op->operands[1]->def;
  const Size *s = size_of_value(a->module, op->operands[1]);
  return s == dim ||
         (by && by->code == OP_MAX && value_is_int_const(by->operands[1], NULL) &&
          size_of_value(a->module, by->operands[0]) == dim && size_is(size_of_value(a->module, by->operands[1]), 1));
}

typedef struct Modulo {
  Analysis *a;
  const Size *dim;
  bool wraps;
} Modulo;
static const Size *without_modulo(Modulo *mod, Value *v, int depth);

static const Size *unwrap(Value *v, void *arg) {
  Modulo *mod = arg;
  if (!is_modulo(mod->a, v, mod->dim))
    return NULL;
  mod->wraps = true;
  return without_modulo(mod, v->def->operands[0], MAX_INNER);
}

/* Equal modulo the size: what is left of the value when it is taken off. */
static const Size *without_modulo(Modulo *mod, Value *v, int depth) {
  Module *m = mod->a->module;
  const Op *op = v->def;
  if (op && op->code == OP_CAST && keeps_number(op) && depth > 0)
    return without_modulo(mod, op->operands[0], depth - 1);
  if (is_modulo(mod->a, v, mod->dim))
    return unwrap(v, mod);
  if (op && op->code == OP_SELECT && depth > 0) { /* x, or x + n */
    Modulo each = *mod;
    const Size *x = without_modulo(&each, op->operands[1], depth - 1),
               *y = without_modulo(&each, op->operands[2], depth - 1);
    const Size *d = size_sub(m, x, y);
    if (d == mod->dim || size_scale(m, d, -1) == mod->dim) {
      mod->wraps = true;
      return d == mod->dim ? y : x;
    }
    return size_of_value(m, v);
  }
  return size_map(m, size_of_value(m, v), unwrap, mod);
}

void span_bring_near(Module *m, Span *span, const Size *dim) {
  if (!span->wraps || !span->lo || !dim->nterms)
    return;
  const Term *t = &dim->terms[0];
  for (int i = 0; i < span->lo->nterms && t->npowers; i++) {
    const Term *own = &span->lo->terms[i];
    bool same = own->npowers == t->npowers && own->coefficient % t->coefficient == 0;
    for (int k = 0; same && k < t->npowers; k++)
      same = own->powers[k].atom == t->powers[k].atom && own->powers[k].exponent == t->powers[k].exponent;
    if (!same)
      continue;
    const Size *off = size_scale(m, dim, own->coefficient / t->coefficient);
    span->lo = size_sub(m, span->lo, off);
    span->hi = span->hi ? size_sub(m, span->hi, off) : NULL;
    return;
  }
}

Span reach_index(Analysis *a, Value *index, const Size *dim) {
  Modulo mod = {.a = a, .dim = dim};
  const Size *s = without_modulo(&mod, index, MAX_INNER);
  Span span = {.wraps = mod.wraps};
  if (!mod.wraps) {
    const Ends e = ends_of(a, index, MAX_INNER);
    span.lo = e.lo;
    span.hi = e.hi;
  } else {
    span.lo = bound_known(a, s, false);
    span.hi = bound_known(a, s, true);
    span_bring_near(a->module, &span, dim);
  }
  if (!span.lo || !span.hi)
    span.cause = reach_cause(a, "which element is read here is known only when it runs");
  return span.wraps && (!span.lo || !span.hi) ? reach_all(span.cause) : span;
}
