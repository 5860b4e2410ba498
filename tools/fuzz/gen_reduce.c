/* Reductions, as index notation and as functions of tensors. */
#include "tools/fuzz/gen.h"

/* %s: the ranges.  What may be infinite over nothing is bounded, and what may vanish or grow is damped. */
typedef struct Form {
  const char *text; /* $1: the body where $0 is the range */
  bool needs_element;
  int weight;
} Form;
static const Form forms[] = {{"sum[%s: %s]", false, 30},
                             {"prod[%s: 0.8 + 0.4 * sin(%s)]", false, 5},
                             {"prod[%s: %s]", false, 3},
                             {"max[%s: %s]", true, 5},
                             {"min[%s: %s]", true, 5},
                             {"max(max[%s: %s], -1.5)", false, 2},
                             {"min(min[%s: %s], 1.5)", false, 2},
                             {"mean[%s: %s]", true, 6},
                             {"logsumexp[%s: %s]", true, 4},
                             {"softplus(logsumexp[%s: %s])", false, 2}};

Node *make_reduction(Gen *g, Shape s, int depth) {
  const int n = chance(g, 70) ? 1 : 2, mark = g->vars.n, barrier = g->barrier, loop_depth = g->loop_depth;
  const double trips = g->trips;
  Node *kids[4];
  bool good = true, never_empty = true;
  for (int i = 0; i < n && good; i++) {
    RangeText r;
    if ((good = range_free(g, depth - 1, &r))) {
      kids[i] = r.node;
      g->trips *= r.trips;
      never_empty &= r.never_empty;
    }
  }
  Node *out = NULL;
  const Form *form = &forms[pick(g, 10)];
  if (chance(g, 40))
    form = &forms[0];
  if (s.rank && form->text[0] == 's' && form->text[1] == 'o')
    form = &forms[0];
  const int filtered = !form->needs_element && chance(g, 20);
  good &= never_empty || !form->needs_element;
  if (good) {
    g->barrier = g->vars.n;
    g->loop_depth = 0;
    if (filtered)
      kids[n] = bool_expr(g, BOOL, depth - 1);
    kids[n + filtered] = real_expr(g, s, depth - 1);
    const char *ranges = TEXT(g, "$0%s%s", n == 2 ? ", $1" : "", !filtered ? "" : n == 2 ? " if $2" : " if $1");
    out = node_new(g->arena, s, TEXT(g, form->text, ranges, TEXT(g, "$%d", n + filtered)), n + filtered + 1, kids);
  }
  g->vars.n = mark;
  g->barrier = barrier;
  g->loop_depth = loop_depth;
  g->trips = trips;
  return out;
}

/* A reduction to a tuple; the place of an extremum over two ranges. */
Node *make_tuple_reduction(Gen *g, Shape s, int depth) {
  static const char *const tuples[] = {"{ let (r, t) = sum[$0: ($1, $2)]; r * sin(t) }",
                                       "{ let (r, t) = max[$0: ($1, $2)]; r - 0.5 * t }",
                                       "{ let (r, t) = mean[$0: ($1, $2)]; 0.3 * r + t }",
                                       "{ let (r, t) = sum[$0 if $3: ($1, $2)]; r - t }"},
                           *const places[] = {"{ let (r, t) = argmax[$0, $1: $2]; real(r) * 0.1 + real(t) }",
                                              "{ let (r, t) = argmin[$0, $1: $2]; real(r - t) * 0.2 }"};
  const int mark = g->vars.n, barrier = g->barrier, loop_depth = g->loop_depth;
  const double trips = g->trips;
  RangeText r[2];
  const bool place = !s.rank && chance(g, 20);
  bool good = range_free(g, depth - 1, &r[0]) && r[0].never_empty;
  g->trips *= good ? r[0].trips : 1;
  if (good && place && (good = range_free(g, depth - 1, &r[1]) && r[1].never_empty))
    g->trips *= r[1].trips;
  Node *out = NULL;
  if (good) {
    g->barrier = g->vars.n;
    g->loop_depth = 0;
    Node *body = real_expr(g, s, depth - 1);
    out = place ? NODE(g, s, places[pick(g, 2)], r[0].node, r[1].node, body)
                : NODE(g, s, tuples[pick(g, 4)], r[0].node, body, real_expr(g, s, depth - 1),
                       bool_expr(g, BOOL, depth - 1));
  }
  g->vars.n = mark;
  g->barrier = barrier;
  g->loop_depth = loop_depth;
  g->trips = trips;
  return out;
}

Node *make_builtin_reduction(Gen *g, Shape s, int depth) {
  static const char *const texts[] = {
      "sum($0)",       "mean($0)",     "max($0)", "min($0)",        "norm($0)",
      "logsumexp($0)", "variance($0)", "std($0)", "norm($0 + 0.5)", "prod(0.7 + 0.4 * sin($0))"};
  if (s.rank)
    return NULL;
  Shape t = shape_any(g, SORT_REAL, 2);
  if (!t.rank || shape_count(t) <= 0 || g->trips * (double)shape_count(t) > 10 * MOST_TRIPS)
    return NULL;
  if (t.rank == 1 && chance(g, 30))
    return NODE(g, s, chance(g, 50) ? "dot($0, $1)" : "($0 @ $1)", real_expr(g, t, depth - 1),
                real_expr(g, t, depth - 1));
  if (t.rank == 2 && chance(g, 15))
    return NODE(g, s, "trace($0)", real_expr(g, t, depth - 1));
  return NODE(g, s, texts[pick(g, 10)], real_expr(g, t, depth - 1));
}
