/* Expressions that make tensors: comprehensions, products, slices, gathers, scans, shapes. */
#include "tools/fuzz/gen.h"
#include <string.h>

/* ---- ranges */
bool range_new(Gen *g, const Dim *d, int depth, RangeText *out) {
  (void)depth;
  const double trips = d->value > 0 ? (double)d->value : 1;
  if (g->trips * trips > MOST_TRIPS)
    return false;
  const char *i = name_new(g, "e");
  *out = (RangeText){.trips = trips, .never_empty = d->value > 0};
  if (chance(g, 12) && dim_plus(g, d, 2)) {
    const int by = 1 + pick(g, 2);
    out->node = LEAF(g, INT, TEXT(g, "%s in %d..%s", i, by, dim_plus(g, d, by)->text));
    var_add(g, TEXT(g, "(%s - %d)", i, by), INT, d);
    var_add(g, i, INT, NULL);
    return true;
  }
  out->node = LEAF(g, INT, TEXT(g, "%s < %s", i, d->text));
  var_add(g, i, INT, d);
  return true;
}

/* q in ptr[i]..ptr[i + 1] */
static bool range_rows(Gen *g, RangeText *out) {
  for (int i = 0; i < g->vars.n; i++) {
    const Var v = g->vars.at[i];
    if (!v.is_rows || v.rows->value <= 0 || g->trips * (double)(v.below->value + 1) > MOST_TRIPS)
      continue;
    Node *row = index_below(g, v.rows, 1);
    const char *q = name_new(g, "q");
    out->node = NODE(g, INT, TEXT(g, "%s in %s[$0]..%s[$0 + 1]", q, v.name, v.name), row);
    out->trips = (double)(v.below->value + 1);
    out->never_empty = false;
    var_add(g, q, INT, v.below);
    return true;
  }
  return false;
}

bool range_free(Gen *g, int depth, RangeText *out) {
  if (chance(g, 20) && range_rows(g, out))
    return true;
  /* An earlier index bounds this one. */
  if (chance(g, 25)) {
    for (int i = g->vars.n - 1; i >= 0; i--) {
      const Var v = g->vars.at[i];
      if (v.shape.sort != SORT_INT || v.shape.rank || !v.below || !chance(g, 70))
        continue;
      const double trips = (double)v.below->value + 1;
      if (g->trips * trips > MOST_TRIPS)
        return false;
      static const char *const texts[] = {"%s < %s", "%s in %s..%s", "%s < %s + 1", "%s in 0..%s"};
      const char *j = name_new(g, "j");
      const int form = pick(g, 4);
      out->node = LEAF(g, INT, TEXT(g, texts[form], j, v.name, v.below->text));
      out->trips = trips;
      out->never_empty = form == 1 || form == 2;
      var_add(g, j, INT, v.below);
      return true;
    }
  }
  return range_new(g, dim_any(g), depth, out);
}

/* ---- comprehensions */
Node *make_comprehension(Gen *g, Shape s, int depth) {
  if (!s.rank)
    return NULL;
  const int n = 1 + pick(g, s.rank), mark = g->vars.n, barrier = g->barrier, loop_depth = g->loop_depth;
  const double trips = g->trips;
  RangeText ranges[FUZZ_RANK];
  Node *kids[5];
  bool good = true;
  for (int i = 0; i < n && good; i++)
    if ((good = range_new(g, s.dims[i], depth, &ranges[i]))) {
      kids[i] = ranges[i].node;
      g->trips *= ranges[i].trips;
    }
  Node *out = NULL;
  if (good) {
    static const char *const texts[2][3] = {
        {"[for $0: $1]", "[for $0, $1: $2]", "[for $0, $1, $2: $3]"},
        {"[for $0 if $1: $2]", "[for $0, $1 if $2: $3]", "[for $0, $1, $2 if $3: $4]"}};
    g->barrier = g->vars.n;
    g->loop_depth = 0;
    const int filtered = chance(g, 12);
    if (filtered)
      kids[n] = bool_expr(g, BOOL, depth - 1);
    kids[n + filtered] = real_expr(g, shape_drop(s, n), depth - 1);
    out = node_new(g->arena, s, texts[filtered][n - 1], n + filtered + 1, kids);
  }
  g->vars.n = mark;
  g->barrier = barrier;
  g->loop_depth = loop_depth;
  g->trips = trips;
  return out;
}

Node *make_matmul(Gen *g, Shape s, int depth) {
  const Dim *k = dim_any(g);
  if (!s.rank || s.rank > 2 || g->trips * (double)(shape_count(s) * k->value) > 10 * MOST_TRIPS)
    return NULL;
  Node *a, *b;
  const bool flip = chance(g, 30);
  if (s.rank == 2) {
    a = real_expr(g, flip ? shape2(SORT_REAL, k, s.dims[0]) : shape2(SORT_REAL, s.dims[0], k), depth - 1);
    b = real_expr(g, shape2(SORT_REAL, k, s.dims[1]), depth - 1);
    return NODE(g, s, flip ? "($0.T @ $1)" : "($0 @ $1)", a, b);
  }
  a = real_expr(g, shape2(SORT_REAL, s.dims[0], k), depth - 1);
  b = real_expr(g, shape1(SORT_REAL, k), depth - 1);
  if (flip) {
    a = real_expr(g, shape2(SORT_REAL, k, s.dims[0]), depth - 1);
    return NODE(g, s, "($0 @ $1)", b, a);
  }
  return NODE(g, s, "($0 @ $1)", a, b);
}

/* ---- parts */
Node *make_gather(Gen *g, Shape s, int depth) {
  if (!s.rank)
    return NULL;
  const Dim *from = dim_any(g);
  Node *index = index_tensor(g, s.dims[0], from, 1);
  if (!index)
    return NULL;
  const Shape source = shape_prepend(from, shape_drop(s, 1));
  if (s.rank == 2 && chance(g, 30)) /* columns, and single elements of all rows */
    return NODE(g, s, "{ let gathered = $0; gathered[:, $1].T }",
                real_expr(g, shape2(SORT_REAL, s.dims[1], from), depth - 1), index);
  if (s.rank == 1 && chance(g, 30)) {
    const Dim *other = dim_any(g);
    Node *second = index_below(g, other, 2);
    if (second)
      return NODE(
          g, s, chance(g, 50) ? "{ let gathered = $0; gathered[$1, $2] }" : "{ let gathered = $0.T; gathered[$2, $1] }",
          real_expr(g, shape2(SORT_REAL, from, other), depth - 1), index, second);
  }
  const Var *v = var_of(g, source, false);
  if (!v)
    return NODE(g, s, "{ let gathered = $0; gathered[$1] }", real_expr(g, source, depth - 1), index);
  return NODE(g, s, TEXT(g, "%s[$0]", v->name), index);
}

/* A window whose place an index gives, or every second element: of constant sizes. */
static Node *window(Gen *g, Shape s, int depth, const char *after) {
  const int n = (int)s.dims[0]->value, more = 1 + pick(g, 3);
  if (s.dims[0]->symbol >= 0 || s.dims[0]->base >= 0 || n < 1 || n > 7)
    return NULL;
  if (chance(g, 40)) {
    const bool even = chance(g, 50);
    const Shape source = shape_prepend(dim_constant(g, even ? 2 * n : 2 * n - 1), shape_drop(s, 1));
    return NODE(g, s, TEXT(g, "{ let sliced = $0; sliced[%s%s] }", even && chance(g, 50) ? "1::2" : "::2", after),
                real_expr(g, source, depth - 1));
  }
  Node *at = index_below(g, dim_constant(g, more + 1), 2);
  return NODE(g, s, TEXT(g, "{ let sliced = $0; let at = $1; sliced[at:at + %d%s] }", n, after),
              real_expr(g, shape_prepend(dim_constant(g, n + more), shape_drop(s, 1)), depth - 1), at);
}

Node *make_slice(Gen *g, Shape s, int depth) {
  if (!s.rank)
    return NULL;
  static const char *const after[] = {"", ", :", ", :, :"};
  Node *moved = chance(g, 40) ? window(g, s, depth, after[s.rank - 1]) : NULL;
  if (moved)
    return moved;
  const Dim *longer = dim_plus(g, s.dims[0], 1 + pick(g, 2));
  if (!longer || chance(g, 30))
    return NODE(g, s, TEXT(g, "{ let sliced = $0; sliced[::-1%s] }", after[s.rank - 1]), real_expr(g, s, depth - 1));
  const int by = (int)(longer->value - s.dims[0]->value), from = pick(g, by + 1);
  const Shape source = shape_prepend(longer, shape_drop(s, 1));
  return NODE(g, s,
              TEXT(g, "{ let sliced = $0; sliced[%d:%s%s] }", from,
                   from ? dim_plus(g, s.dims[0], from)->text : s.dims[0]->text, after[s.rank - 1]),
              real_expr(g, source, depth - 1));
}

Node *make_scan(Gen *g, Shape s, int depth) {
  static const char *const texts[] = {"cumsum($0, axis = %d)",
                                      "softmax($0, axis = %d)",
                                      "sort($0, axis = %d)",
                                      "flip($0, axis = %d)",
                                      "roll($0, 1, axis = %d)",
                                      "log_softmax($0, axis = %d)",
                                      "cumprod(0.6 + 0.5 * sin($0), axis = %d)",
                                      "roll($0, -2, axis = %d)",
                                      "{ let all = $0; all / (2.0 + norm(all, axis = %d, keep = true)) }"};
  if (!s.rank)
    return NULL;
  const int axis = pick(g, s.rank);
  if (s.dims[axis]->value <= 0)
    return NULL;
  return NODE(g, s, TEXT(g, texts[pick(g, 9)], axis), real_expr(g, s, depth - 1));
}

Node *make_axis_reduction(Gen *g, Shape s, int depth) {
  static const char *const texts[] = {
      "sum($0, axis = %d)", "mean($0, axis = %d)",      "max($0, axis = %d)",
      "min($0, axis = %d)", "logsumexp($0, axis = %d)", "norm($0, axis = %d)",
      "std($0, axis = %d)", "variance($0, axis = %d)",  "prod(0.7 + 0.5 * cos($0), axis = %d)"};
  if (s.rank >= FUZZ_RANK)
    return NULL;
  const Dim *d = dim_any(g);
  if (d->value <= 0 || g->trips * (double)(d->value * shape_count(s)) > 10 * MOST_TRIPS)
    return NULL;
  const int axis = pick(g, s.rank + 1);
  Shape source = {.sort = SORT_REAL, .rank = s.rank + 1};
  for (int i = 0; i < source.rank; i++)
    source.dims[i] = i == axis ? d : s.dims[i - (i > axis)];
  return NODE(g, s, TEXT(g, texts[pick(g, 9)], axis), real_expr(g, source, depth - 1));
}

/* ---- shapes */
static Node *concatenated(Gen *g, Shape s, int depth) {
  const Dim *d = s.dims[0];
  if (d->base >= 0 && d->value == g->symbols[d->base]->value + 1) {
    const Shape one = shape_prepend(dim_constant(g, 1), shape_drop(s, 1)),
                rest = shape_prepend(g->symbols[d->base], shape_drop(s, 1));
    const bool front = chance(g, 50);
    return NODE(g, s, "concat(($0, $1), axis = 0)", real_expr(g, front ? one : rest, depth - 1),
                real_expr(g, front ? rest : one, depth - 1));
  }
  if (d->symbol >= 0 || d->base >= 0 || d->value < 2 || d->value > 7)
    return NULL;
  if (d->value <= 3 && chance(g, 50)) {
    Node *kids[3];
    for (int i = 0; i < d->value; i++)
      kids[i] = real_expr(g, shape_drop(s, 1), depth - 1);
    return node_new(g->arena, s, d->value == 2 ? "[$0, $1]" : "[$0, $1, $2]", (int)d->value, kids);
  }
  const int64_t k = 1 + pick(g, (int)d->value - 1);
  return NODE(g, s, "concat(($0, $1), axis = 0)",
              real_expr(g, shape_prepend(dim_constant(g, k), shape_drop(s, 1)), depth - 1),
              real_expr(g, shape_prepend(dim_constant(g, d->value - k), shape_drop(s, 1)), depth - 1));
}

static Node *reshaped(Gen *g, Shape s, int depth) {
  if (s.rank == 2) {
    const Shape swapped = shape2(SORT_REAL, s.dims[1], s.dims[0]);
    return NODE(g, s, TEXT(g, "reshape($0, [%s, %s])", s.dims[0]->text, s.dims[1]->text),
                real_expr(g, swapped, depth - 1));
  }
  return NULL;
}

static Node *transposed(Gen *g, Shape s, int depth) {
  if (s.rank == 2)
    return NODE(g, s, "{ let turned = $0; turned.T }",
                real_expr(g, shape2(SORT_REAL, s.dims[1], s.dims[0]), depth - 1));
  if (s.rank == 3) {
    const Shape t = {SORT_REAL, 3, {s.dims[1], s.dims[2], s.dims[0]}};
    return NODE(g, s, "transpose($0, (2, 0, 1))", real_expr(g, t, depth - 1));
  }
  return NULL;
}

static Node *spread(Gen *g, Shape s, int depth) {
  if (s.rank == 2 && chance(g, 40))
    return NODE(g, s, "outer($0, $1)", real_expr(g, shape1(SORT_REAL, s.dims[0]), depth - 1),
                real_expr(g, shape1(SORT_REAL, s.dims[1]), depth - 1));
  if (s.rank == 2 && s.dims[0] == s.dims[1]) {
    static const char *const texts[] = {"tril($0)", "triu($0, 1)", "tril($0, -1)"};
    if (chance(g, 30))
      return NODE(g, s, "diag($0)", real_expr(g, shape1(SORT_REAL, s.dims[0]), depth - 1));
    if (s.dims[0]->value == 4 && s.dims[0]->symbol < 0 && s.dims[0]->base < 0 && chance(g, 50)) {
      const Shape two = shape2(SORT_REAL, dim_constant(g, 2), dim_constant(g, 2));
      return NODE(g, s, "kron($0, $1)", real_expr(g, two, depth - 1), real_expr(g, two, depth - 1));
    }
    return NODE(g, s, texts[pick(g, 3)], real_expr(g, s, depth - 1));
  }
  if (s.rank == 1 && s.dims[0]->value == 3 && s.dims[0]->symbol < 0 && s.dims[0]->base < 0 && chance(g, 40))
    return NODE(g, s, "cross($0, $1)", real_expr(g, s, depth - 1), real_expr(g, s, depth - 1));
  if (s.rank == 1 && chance(g, 20))
    return NODE(g, s, "{ let keys = $0; keys[argsort(keys)] }", real_expr(g, s, depth - 1));
  if (s.rank == 1 && chance(g, 40))
    return NODE(g, s, "diag($0)", real_expr(g, shape2(SORT_REAL, s.dims[0], s.dims[0]), depth - 1));
  const char *sizes = "";
  for (int i = 0; i < s.rank; i++)
    sizes = TEXT(g, "%s%s%s", sizes, i ? ", " : "", s.dims[i]->text);
  return NODE(g, s, TEXT(g, "broadcast($0, [%s])", sizes), real_expr(g, shape_drop(s, 1), depth - 1));
}

static Node *padded(Gen *g, Shape s, int depth) {
  const Dim *d = s.dims[0];
  if (s.rank != 1 || d->base < 0 || d->value != g->symbols[d->base]->value + 1)
    return NULL;
  return NODE(g, s, chance(g, 50) ? "pad($0, ((1, 0)))" : "pad($0, ((0, 1)), value = 0.5)",
              real_expr(g, shape1(SORT_REAL, g->symbols[d->base]), depth - 1));
}

Node *make_shaped(Gen *g, Shape s, int depth) {
  if (!s.rank)
    return NULL;
  switch (pick(g, 6)) {
  case 0: return reshaped(g, s, depth);
  case 1: return transposed(g, s, depth);
  case 2: return padded(g, s, depth);
  case 3: return spread(g, s, depth);
  default: return concatenated(g, s, depth);
  }
}

/* ---- linear algebra, of matrices far from singular, and with eigenvalues far from each other */
static Node *decomposed(Gen *g, Shape s, const char *matrix, Node *m) {
  static const char *const scalars[] = {"logdet(%s)", "(0.1 * det(%s))", "{ let (_, l) = slogdet(%s); l }",
                                        "{ let (_, s, _) = svd(%s); sum(s) }"},
                           *const pairs[] = {
                               "{ let (q, r) = qr(%s); q @ r * 0.5 + abs(r) }",
                               "{ let (w, v) = eigh(%s + 3.0 * diag([for i < %s: real(i)])); v @ diag(sin(w)) @ v.T }",
                               "{ let (u, s, v) = svd(%s + 3.0 * diag([for i < %s: real(i)])); u @ diag(sin(s)) @ v }"};
  const char *n = s.rank ? s.dims[0]->text : "", *text;
  switch (s.rank) {
  case 0: return NODE(g, s, TEXT(g, scalars[pick(g, 4)], matrix), m);
  case 1: text = "{ let (w, _) = eigh(%s + 3.0 * diag([for i < %s: real(i)])); w }"; break;
  default: text = pairs[pick(g, 3)]; break;
  }
  return NODE(g, s, TEXT(g, text, matrix, n), m);
}

Node *make_linalg(Gen *g, Shape s, int depth) {
  static const char *const vectors[] = {"solve(%s, $1)", "solve_triangular(%s, $1)",
                                        "solve_triangular(%s, $1, upper = true, trans = true)",
                                        "solve_triangular(%s, $1, unit = true)", "lstsq(%s, $1)"},
                           *const matrices[] = {"inv(%s)",
                                                "{ let m = %s; cholesky(m + m.T) }",
                                                "(0.1 * expm(%s))",
                                                "{ let m = %s; cholesky(m + m.T, upper = true) }",
                                                "{ let m = %s; solve(m, m.T) }",
                                                "{ let m = %s; solve_triangular(m, m.T, trans = true) }"};
  const Dim *n = s.rank ? s.dims[0] : dim_constant(g, 1 + pick(g, 4));
  if (n->value < 1 || n->value > 5 || s.rank > 2 || (s.rank == 2 && s.dims[1] != n) || g->trips > 20)
    return NULL;
  Node *m = real_expr(g, shape2(SORT_REAL, n, n), depth - 2);
  const char *matrix = TEXT(g, "(0.2 * tanh($0) + 2.0 * eye[%s]%s)", n->text, g->narrow ? " of real" : "");
  if (s.rank == 0 || chance(g, 25))
    return decomposed(g, s, matrix, m);
  if (s.rank == 1)
    return NODE(g, s, TEXT(g, vectors[pick(g, 5)], matrix), m, real_expr(g, s, depth - 2));
  return NODE(g, s, TEXT(g, matrices[pick(g, 6)], matrix), m);
}
