/* Integers, indices and conditions. */
#include "tools/fuzz/gen.h"
#include <string.h>

/* ---- integers: small, of any sign */
static const Var *int_var(Gen *g, const Dim *below) {
  const Var *found = NULL;
  int n = 0;
  for (int i = 0; i < g->vars.n; i++) {
    const Var *v = &g->vars.at[i];
    const bool fits = !below || (v->below && (!strcmp(v->below->text, below->text) ||
                                              (v->below->symbol < 0 && v->below->base < 0 && below->symbol < 0 &&
                                               below->base < 0 && v->below->value <= below->value)));
    if (v->shape.sort == SORT_INT && v->shape.rank == 0 && fits) {
      n++;
      if (pick(g, n) < 1 + (n > 2))
        found = v;
    }
  }
  return found;
}

Node *int_expr(Gen *g, int depth) {
  static const char *const texts[] = {"($0 + $1)",     "($0 - $1)", "($0 * 2 + $1)",   "min($0, $1)", "max($0, $1)",
                                      "($0 / 2 + $1)", "($0 % 3)",  "mod($0 - $1, 3)", "(2 * $0 - 1)"};
  const Var *v = chance(g, 70) ? int_var(g, NULL) : NULL;
  if (depth <= 0 || chance(g, 30)) {
    if (v)
      return LEAF(g, INT, v->name);
    if (g->nsymbols && chance(g, 25))
      return LEAF(g, INT, g->symbols[pick(g, g->nsymbols)]->text);
    return LEAF(g, INT, TEXT(g, "%d", pick(g, 4)));
  }
  if (chance(g, 8))
    return NODE(g, INT, "(if $0 { $1 } else { $2 })", bool_expr(g, BOOL, depth - 1), int_expr(g, depth - 1),
                int_expr(g, depth - 1));
  const int mark = g->vars.n;
  const double trips = g->trips;
  RangeText range;
  if (chance(g, 12) && range_free(g, depth - 1, &range)) {
    Node *out = NULL;
    g->trips *= range.trips;
    if (chance(g, 50))
      out = NODE(g, INT, "count[$0: $1]", range.node, bool_expr(g, BOOL, depth - 1));
    else if (range.never_empty)
      out =
          NODE(g, INT, chance(g, 50) ? "argmax[$0: $1]" : "argmin[$0: $1]", range.node, real_expr(g, REAL, depth - 1));
    g->trips = trips;
    g->vars.n = mark;
    if (out)
      return out;
  }
  return NODE(g, INT, texts[pick(g, sizeof texts / sizeof *texts)], int_expr(g, depth - 1), int_expr(g, depth - 1));
}

/* In [0, d), for every value that d may have: NULL where d may be 0. */
Node *index_below(Gen *g, const Dim *d, int depth) {
  const Var *v = int_var(g, d);
  if (d->value <= 0)
    return NULL; /* it may stand outside a loop over d */
  if (v && chance(g, 65))
    return LEAF(g, INT, v->name);
  const bool constant = d->symbol < 0 && d->base < 0;
  switch (pick(g, 6)) {
  case 0:
    if (v)
      return LEAF(g, INT, TEXT(g, "%s - 1 - %s", d->text, v->name));
    break;
  case 1:
    if (v)
      return LEAF(g, INT, TEXT(g, "min(%s + %d, %s - 1)", v->name, 1 + pick(g, 2), d->text));
    break;
  case 2:
    if (v)
      return LEAF(g, INT, TEXT(g, "max(%s - %d, 0)", v->name, 1 + pick(g, 2)));
    break;
  case 3:
    for (int i = 0; i < g->vars.n; i++) {
      const Var w = g->vars.at[i];
      if (w.shape.sort == SORT_INT && w.shape.rank == 1 && !w.is_rows && w.below && !strcmp(w.below->text, d->text) &&
          w.shape.dims[0]->value > 0 && depth > 0) {
        Node *at = index_below(g, w.shape.dims[0], depth - 1);
        if (at)
          return NODE(g, INT, TEXT(g, "%s[$0]", w.name), at);
      }
    }
    break;
  case 4:
    if (depth > 0)
      return NODE(g, INT, TEXT(g, "mod($0, %s)", d->text), int_expr(g, depth - 1));
    break;
  }
  return v && chance(g, 50) ? LEAF(g, INT, v->name)
                            : LEAF(g, INT, TEXT(g, "%d", constant ? pick(g, (int)d->value) : 0));
}

/* i64[n] of elements below `below`. */
Node *index_tensor(Gen *g, const Dim *n, const Dim *below, int depth) {
  const Shape s = shape1(SORT_INT, n);
  for (int i = 0; i < g->vars.n; i++) {
    const Var *v = &g->vars.at[i];
    if (shape_equal(v->shape, s) && !v->is_rows && v->below && !strcmp(v->below->text, below->text) && chance(g, 80))
      return LEAF(g, s, v->name);
  }
  if (below->value <= 0)
    return NULL;
  RangeText range;
  const int mark = g->vars.n;
  if (!range_new(g, n, depth, &range))
    return NULL;
  const double trips = g->trips;
  g->trips *= range.trips;
  Node *body = index_below(g, below, depth);
  g->vars.n = mark;
  g->trips = trips;
  return body ? NODE(g, s, "[for $0: $1]", range.node, body) : NULL;
}

/* ---- conditions */
static Node *compared(Gen *g, Shape s, int depth) {
  static const char *const texts[] = {"($0 < $1)", "($0 > $1)", "($0 <= $1)", "($0 >= $1)"};
  return NODE(g, s, texts[pick(g, 4)], real_expr(g, shape_sort(s, SORT_REAL), depth - 1),
              chance(g, 65) ? LEAF(g, REAL, literal_text(g)) : real_expr(g, shape_sort(s, SORT_REAL), depth - 1));
}

Node *bool_expr(Gen *g, Shape s, int depth) {
  static const char *const ints[] = {"$0 < $1", "$0 == $1", "$0 != $1", "$0 % 2 == 0", "$0 >= $1", "$0 % 3 != 1"};
  s.sort = SORT_BOOL;
  if (depth > 1 && chance(g, 15))
    return NODE(g, s, chance(g, 50) ? "($0 and $1)" : "($0 or $1)", bool_expr(g, s, depth - 1),
                bool_expr(g, s, depth - 1));
  if (depth > 1 && chance(g, 6))
    return NODE(g, s, "(not $0)", bool_expr(g, s, depth - 1));
  if (s.rank)
    return compared(g, s, depth);
  if (depth > 1 && chance(g, 8)) {
    const Shape t = shape_any(g, SORT_BOOL, 1);
    return NODE(g, s, chance(g, 50) ? "any($0)" : "all($0)",
                bool_expr(g, t.rank ? t : shape1(SORT_BOOL, dim_any(g)), depth - 1));
  }
  const Var *v = int_var(g, NULL);
  if (v && chance(g, 50))
    return NODE(g, s, TEXT(g, "(%s)", ints[pick(g, 6)]), LEAF(g, INT, v->name),
                chance(g, 60) ? LEAF(g, INT, TEXT(g, "%d", pick(g, 4))) : int_expr(g, depth - 1));
  return compared(g, s, depth);
}
