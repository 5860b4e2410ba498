/* How large a size is against another when both are large: the degree of its polynomial, and the factors of the terms
   of that degree.  A number that only the run knows counts as one that grows. */
#include "passes/growth.h"

enum { MAX_STEPS = 2 * MAX_RANK };

/* Trips are the larger of a size and 0: that size; any other value as it is. */
static const Size *without_zero(Module *m, Value *v) {
  const bool trips = v->def && v->def->code == OP_MAX && value_is_zero(v->def->operands[1]);
  return trips ? size_of_value(m, v->def->operands[0]) : NULL;
}

static Growth growth_of_value(Module *m, Value *v) {
  const Size *s = without_zero(m, v);
  return s ? size_growth(m, s) : (Growth){1, 1};
}

static Growth growth_of_atom(Module *m, const Atom *a) {
  if (a->value)
    return growth_of_value(m, a->value);
  if (a->kind != ATOM_QUOTIENT) {
    const Growth one = size_growth(m, a->num), other = size_growth(m, a->den);
    return grows_more(one, other) == (a->kind == ATOM_MAX) ? one : other;
  }
  const Growth num = size_growth(m, a->num), den = size_growth(m, a->den);
  return num.degree < den.degree ? (Growth){0, 1} : (Growth){num.degree - den.degree, num.factor / den.factor};
}

Growth growth_times(Growth a, Growth b) {
  return (Growth){a.degree + b.degree, a.factor * b.factor};
}

Growth growth_plus(Growth a, Growth b) {
  if (a.degree != b.degree)
    return a.degree > b.degree ? a : b;
  return (Growth){a.degree, a.factor + b.factor};
}

Growth size_growth(Module *m, const Size *s) {
  Growth all = {0};
  for (int i = 0; i < s->nterms; i++) {
    const Term *t = &s->terms[i];
    Growth g = {0, (double)t->coefficient};
    for (int j = 0; j < t->npowers; j++)
      for (int k = 0; k < t->powers[j].exponent; k++)
        g = growth_times(g, growth_of_atom(m, t->powers[j].atom));
    all = growth_plus(all, g);
  }
  return all.factor > 0 ? all : (Growth){all.degree, 1};
}

bool grows_more(Growth a, Growth b) {
  return a.degree != b.degree ? a.degree > b.degree : a.factor > b.factor;
}

typedef struct Innermost {
  const Region *below;
  Value *value;
} Innermost;

static void find_innermost(Value *v, void *arg) {
  Innermost *in = arg;
  if (!value_is_outside(v, in->below) && (!in->value || !value_is_outside(v, in->value->region)))
    in->value = v;
}

static const Size *trips_of_loop(Module *m, const Size *extent) {
  const Term *t = extent->nterms == 1 ? &extent->terms[0] : NULL;
  Value *v = t && t->npowers == 1 && t->coefficient == 1 ? t->powers[0].atom->value : NULL;
  const Size *s = v ? without_zero(m, v) : NULL;
  return s ? s : extent;
}

const Size *size_bound(Module *m, const Size *s, const Region *below) {
  s = trips_of_loop(m, s);
  for (int step = 0; step < MAX_STEPS; step++) {
    Innermost in = {.below = below};
    const Size *slope, *rest;
    size_values(s, find_innermost, &in);
    if (!in.value)
      return s;
    const Op *loop = in.value->def ? NULL : in.value->region->owner;
    if (!loop || loop->code != OP_LOOP || in.value->index >= loop->at.loop->nindices ||
        !size_linear_in(m, s, in.value, &slope, &rest))
      return NULL;
    if (size_nonnegative(m, slope)) {
      const Size *last = size_sub(m, trips_of_loop(m, loop->at.loop->extents[in.value->index]), size_const(m, 1));
      s = size_add(m, rest, size_mul(m, slope, last));
    } else if (size_nonnegative(m, size_scale(m, slope, -1))) {
      s = rest;
    } else {
      return NULL;
    }
  }
  return NULL;
}
