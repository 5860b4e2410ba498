/* Expressions of floats, elementwise at any rank; leaves. */
#include "tools/fuzz/gen.h"

/* ---- leaves */
const Var *var_of(Gen *g, Shape s, bool assignable) {
  const Var *found = NULL;
  int n = 0;
  for (int i = assignable ? g->barrier : 0; i < g->vars.n; i++) {
    const Var *v = &g->vars.at[i];
    /* The newest are the likeliest, so that statements build on each other. */
    if (shape_equal(v->shape, s) && (!assignable || v->assignable)) {
      n++;
      if (pick(g, n) < 1 + (n > 2))
        found = v;
    }
  }
  return found;
}

/* x[i, j] of some tensor that has further axes before those of s. */
Node *make_element(Gen *g, Shape s, int depth) {
  for (int tries = 0; tries < 6 && g->vars.n; tries++) {
    const Var v = g->vars.at[pick(g, g->vars.n)];
    const int n = v.shape.rank - s.rank;
    if (v.shape.sort != s.sort || n <= 0 || !shape_equal(shape_drop(v.shape, n), s))
      continue;
    Node *kids[FUZZ_RANK] = {0};
    bool good = true;
    for (int i = 0; i < n; i++)
      good = good && (kids[i] = index_below(g, v.shape.dims[i], depth - 1)) != NULL;
    if (good)
      return node_new(g->arena, s,
                      TEXT(g, "%s[%s]", v.name,
                           n == 1   ? "$0"
                           : n == 2 ? "$0, $1"
                                    : "$0, $1, $2"),
                      n, kids);
  }
  return NULL;
}

static Node *literal(Gen *g) {
  return LEAF(g, REAL, literal_text(g));
}

static const char *bracketed(Gen *g, Shape s) {
  const char *text = "";
  for (int i = 0; i < s.rank; i++)
    text = TEXT(g, "%s%s%s%s", text, i ? ", " : "[", s.dims[i]->text, i + 1 < s.rank ? "" : "]");
  return text;
}

Node *make_filled(Gen *g, Shape s, int depth) {
  if (!s.rank)
    return NULL;
  if (s.rank == 2 && s.dims[0] == s.dims[1] && chance(g, 30))
    return LEAF(g, s, TEXT(g, "eye[%s]%s", s.dims[0]->text, g->narrow ? " of real" : ""));
  if (chance(g, 20))
    return LEAF(g, s, TEXT(g, "%s%s%s", chance(g, 50) ? "ones" : "zeros", bracketed(g, s), of_real(g)));
  return NODE(g, s, TEXT(g, "full%s($0)", bracketed(g, s)), chance(g, 50) ? literal(g) : real_expr(g, REAL, depth - 1));
}

Node *leaf(Gen *g, Shape s) {
  if (s.sort == SORT_INT)
    return int_expr(g, 0);
  if (s.sort == SORT_BOOL)
    return bool_expr(g, s, 0);
  const Var *v = chance(g, 85) ? var_of(g, s, false) : NULL;
  if (v)
    return LEAF(g, s, v->name);
  Node *element = chance(g, 85) ? make_element(g, s, 1) : NULL;
  if (element)
    return element;
  if (!s.rank)
    return literal(g);
  v = var_of(g, shape_drop(s, 1), false);
  if (v && s.rank == 2 && chance(g, 60))
    return NODE(g, s, TEXT(g, "broadcast($0, %s)", bracketed(g, s)), LEAF(g, v->shape, v->name));
  return NODE(g, s, TEXT(g, "full%s($0)", bracketed(g, s)), chance(g, 80) ? leaf(g, REAL) : literal(g));
}

/* ---- elementwise */
static Node *make_unary(Gen *g, Shape s, int depth) {
  static const char *const texts[] = {"sin($0)",
                                      "cos($0)",
                                      "tanh($0)",
                                      "sigmoid($0)",
                                      "softplus($0)",
                                      "silu($0)",
                                      "gelu($0)",
                                      "elu($0)",
                                      "erf($0)",
                                      "erfc($0)",
                                      "atan($0)",
                                      "asinh($0)",
                                      "relu($0)",
                                      "abs($0)",
                                      "(-$0)",
                                      "cbrt($0)",
                                      "sqr(sin($0))",
                                      "exp(sin($0))",
                                      "exp(-sqr($0))",
                                      "exp2(cos($0))",
                                      "expm1(-abs($0))",
                                      "sinh(sin($0))",
                                      "cosh(tanh($0))",
                                      "tan(0.7 * tanh($0))",
                                      "asin(0.9 * sin($0))",
                                      "acos(0.9 * cos($0))",
                                      "atanh(0.8 * tanh($0))",
                                      "acosh(1.2 + sqr($0))",
                                      "log(1.1 + sqr($0))",
                                      "log1p(sqr($0))",
                                      "log2(1.5 + cos($0))",
                                      "log10(1.3 + sqr($0))",
                                      "sqrt(0.3 + sqr($0))",
                                      "1.0 / (1.5 + sqr($0))",
                                      "lgamma(1.3 + sqr(sin($0)))",
                                      "digamma(1.7 + sqr(tanh($0)))",
                                      "tanh($0) ^ 2",
                                      "sin($0) ^ 3",
                                      "(1.4 + sqr(tanh($0))) ^ (-2)",
                                      "(1.2 + sqr(sin($0))) ^ 1.5",
                                      "clip($0, -0.9, 0.8)",
                                      "floor($0) * 0.1",
                                      "sign($0) * 0.3",
                                      "$0 - round($0)",
                                      "sqrt(abs($0))",
                                      "log(abs($0) + 0.05)",
                                      "$0 * 0.5",
                                      "0.7 - $0",
                                      "$0 + 0.2",
                                      "(1.1 + cos($0)) ^ 0.5"};
  const char *text = texts[pick(g, sizeof texts / sizeof *texts)];
  return NODE(g, s, TEXT(g, "(%s)", text), real_expr(g, s, depth - 1));
}

/* An operand that broadcasts to s: most often s itself. */
static Node *operand(Gen *g, Shape s, int depth) {
  const int drop = s.rank && chance(g, 25) ? 1 + pick(g, s.rank) : 0;
  return real_expr(g, shape_drop(s, drop), depth);
}

static Node *make_binary(Gen *g, Shape s, int depth) {
  static const char *const texts[] = {"($0 + $1)",
                                      "($0 - $1)",
                                      "($0 * $1)",
                                      "($0 * $1)",
                                      "($0 + $1)",
                                      "($0 / (1.3 + sqr($1)))",
                                      "min($0, $1)",
                                      "max($0, $1)",
                                      "atan2($0, 1.2 + sqr($1))",
                                      "hypot($0, $1 + 2.5)",
                                      "pow(1.3 + sin($0), $1)",
                                      "(tanh($0) * $1)",
                                      "(sin($0) / (1.6 + cos($1)))",
                                      "((1.2 + sqr(tanh($0))) ^ sin($1))",
                                      "mod(1.5 + tanh($0), 4.0 + sin($1))",
                                      "(0.5 * $0 + 0.5 * $1)",
                                      "($0 * 0.9 - 0.4 * $1)",
                                      "hypot($0, $1)",
                                      "(cos($0) % (3.5 + tanh($1)))"};
  const bool left = chance(g, 50);
  Node *whole = real_expr(g, s, depth - 1), *part = operand(g, s, depth - 1);
  return NODE(g, s, texts[pick(g, sizeof texts / sizeof *texts)], left ? whole : part, left ? part : whole);
}

static Node *make_where(Gen *g, Shape s, int depth) {
  static const char *const texts[] = {"where($0, $1, $2)", "where($0, $1, $2)", "where($0, 0.5 * $1, $2 + 1.0)"};
  if (chance(g, 30)) {
    /* Guards whose untaken side is not finite. */
    static const char *const guards[] = {"where($0 > 0.2, log($0), $1)", "where($0 > 0.1, sqrt($0), $1)",
                                         "where(abs($0) > 0.3, 1.0 / $0, $1)", "where(abs($0) < 0.8, asin($0), $1)",
                                         "where($0 > 0.3, pow($0, 0.7), $1)"};
    const Var *v = var_of(g, s, false);
    if (v)
      return NODE(g, s, guards[pick(g, 5)], LEAF(g, s, v->name), operand(g, s, depth - 1));
  }
  const Shape mask = shape_sort(shape_drop(s, chance(g, 20) ? s.rank : 0), SORT_BOOL);
  return NODE(g, s, texts[pick(g, 3)], bool_expr(g, mask, depth - 1), real_expr(g, s, depth - 1),
              chance(g, 25) ? literal(g) : operand(g, s, depth - 1));
}

static Node *make_if(Gen *g, Shape s, int depth) {
  return NODE(g, s, "(if $0 { $1 } else { $2 })", bool_expr(g, BOOL, depth - 1), real_expr(g, s, depth - 1),
              real_expr(g, s, depth - 1));
}

static Node *make_stopped(Gen *g, Shape s, int depth) {
  g->rough = true;
  return NODE(g, s, "stop_gradient($0)", real_expr(g, s, depth - 1));
}

static Node *make_cast(Gen *g, Shape s, int depth) {
  if (chance(g, 25)) { /* through the other kind: of f64 differences see nothing but its rounding */
    g->rough |= !g->narrow;
    g->coarse = true;
    return NODE(g, s, g->narrow ? "f32(sin(f64($0)))" : "f64(sin(f32($0)))", real_expr(g, s, depth - 1));
  }
  return s.rank ? NULL : NODE(g, s, "(real($0) * 0.25)", int_expr(g, depth - 1));
}

static Node *make_leaf(Gen *g, Shape s, int depth) {
  (void)depth;
  return leaf(g, s);
}

Node *produce(Gen *g, const Row *rows, int n, Shape s, int depth) {
  int all = 0;
  for (int i = 0; i < n; i++)
    all += rows[i].weight;
  for (int tries = 0; tries < 12; tries++) {
    int at = pick(g, all), i = 0;
    while (at >= rows[i].weight)
      at -= rows[i++].weight;
    Node *made = rows[i].make(g, s, depth);
    if (made)
      return made;
  }
  return leaf(g, s);
}

static const Row scalar_rows[] = {{14, make_unary},
                                  {18, make_binary},
                                  {4, make_where},
                                  {3, make_if},
                                  {3, make_block},
                                  {16, make_reduction},
                                  {6, make_builtin_reduction},
                                  {2, make_tuple_reduction},
                                  {8, make_element},
                                  {5, make_call},
                                  {3, make_grad},
                                  {2, make_jvp},
                                  {2, make_vjp},
                                  {2, make_hvp},
                                  {2, make_hessian},
                                  {2, make_jacobian},
                                  {3, make_lambda_grad},
                                  {3, make_cast},
                                  {6, make_leaf},
                                  {1, make_stopped},
                                  {1, make_linalg}};
static const Row tensor_rows[] = {{10, make_unary},
                                  {14, make_binary},
                                  {4, make_where},
                                  {2, make_if},
                                  {3, make_block},
                                  {26, make_comprehension},
                                  {4, make_reduction},
                                  {1, make_tuple_reduction},
                                  {3, make_element},
                                  {4, make_call},
                                  {4, make_grad},
                                  {2, make_jvp},
                                  {2, make_vjp},
                                  {2, make_hvp},
                                  {2, make_hessian},
                                  {2, make_jacobian},
                                  {3, make_lambda_grad},
                                  {7, make_matmul},
                                  {6, make_shaped},
                                  {5, make_gather},
                                  {4, make_slice},
                                  {4, make_scan},
                                  {3, make_axis_reduction},
                                  {2, make_filled},
                                  {1, make_cast},
                                  {6, make_leaf},
                                  {1, make_stopped},
                                  {2, make_linalg}};

Node *real_expr(Gen *g, Shape s, int depth) {
  const double work = g->trips * (double)shape_count(s);
  if (depth <= 0 || --g->budget < 0 || g->work + work > MOST_WORK)
    return leaf(g, s);
  g->work += work;
  return s.rank ? produce(g, tensor_rows, sizeof tensor_rows / sizeof *tensor_rows, s, depth)
                : produce(g, scalar_rows, sizeof scalar_rows / sizeof *scalar_rows, s, depth);
}
