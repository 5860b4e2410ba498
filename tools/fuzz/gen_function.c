/* Helper functions: of sizes of their own, with functions for parameters, with derivative rules of their own. */
#include "tools/fuzz/gen.h"

#define STATEMENT shape_scalar(SORT_STATEMENT)

void symbols_begin(Gen *g, const char *const *names, int n, const int64_t *values) {
  g->nsymbols = n;
  for (int i = 0; i < n; i++)
    g->symbols[i] = dim_new(g, names[i], values[i], i, -1);
}

static void function_begin(Gen *g, Function *f, int nsymbols) {
  static const char *const names[] = {"p", "q"};
  static const int64_t values[] = {4, 5};
  *f = (Function){.name = name_new(g, "h"), .nresults = 1, .nsymbols = nsymbols};
  symbols_begin(g, names, nsymbols, values);
  for (int i = 0; i < nsymbols; i++)
    f->symbols[i] = g->symbols[i];
  g->vars.n = g->barrier = g->records.n = 0;
  g->nested = false;
  g->trips = 4; /* calls stand in loops */
  g->work = 0;
  g->order = 0;
  g->budget = 25 + pick(g, 40);
}

static void add_param(Gen *g, Function *f, Shape s, const Dim *below) {
  f->param_names[f->nparams] = name_new(g, s.sort == SORT_INT ? "k" : "x");
  f->params[f->nparams] = s;
  f->below[f->nparams] = below;
  var_add(g, f->param_names[f->nparams], s, below);
  f->nparams++;
}

/* fn(u, w) -> real, which the body calls and differentiates as if it were a function above. */
static void add_function_param(Gen *g, Function *f) {
  const Function callee = {.name = name_new(g, "f"),
                           .nparams = 2,
                           .params = {shape_scalar(SORT_REAL), shape_scalar(SORT_REAL)},
                           .param_names = {"u", "w"},
                           .nresults = 1,
                           .results = {shape_scalar(SORT_REAL)},
                           .work = 10};
  f->param_names[f->nparams] = callee.name;
  f->is_function[f->nparams++] = true;
  vec_push(g->arena, g->functions, callee);
}

static const char *param_list(Gen *g, const Function *f) {
  const char *text = "";
  for (int i = 0; i < f->nparams; i++)
    text = TEXT(g, "%s%s%s: %s", text, i ? ", " : "", f->param_names[i],
                f->is_function[i] ? "fn(u: real, w: real) -> real" : shape_text(g->arena, f->params[i]));
  return text;
}

static Node *result_value(Gen *g, Shape s) {
  return NODE(g, s, chance(g, 50) ? "($0 + $1)" : "($0 * $1)", real_expr(g, s, 3), total(g, 0, true));
}

/* "$head0, $head1, .." with a number from 0 to n - 1 each. */
static const char *numbered(Gen *g, const char *stem, int n) {
  const char *text = "";
  for (int i = 0; i < n; i++)
    text = TEXT(g, "%s%s%s%d", text, i ? ", " : "", stem, i);
  return text;
}

static const char *tuple_of(Gen *g, const char *stem, int n) {
  return n == 1 ? numbered(g, stem, n) : TEXT(g, "(%s)", numbered(g, stem, n));
}

/* f with rules that call the derivatives of a function of the same body: of one mode or of both. */
static const char *rules_of(Gen *g, const Function *f, const char *plain) {
  const char *names = "", *text = "", *blanks = f->nresults == 2 ? "_, _" : "_";
  for (int i = 0; i < f->nparams; i++)
    names = TEXT(g, "%s%s%s", names, i ? ", " : "", f->param_names[i]);
  const int which = pick(g, 3);
  const char *results = numbered(g, "r", f->nresults);
  if (which != 1)
    text = TEXT(g, "vjp %s(%s -> %s; %s) {\n  let (%s, %s) = vjp(%s)(%s, %s);\n  %s\n}\n", f->name, names, results,
                numbered(g, "s", f->nresults), blanks, numbered(g, "c", f->nparams), plain, names,
                numbered(g, "s", f->nresults), tuple_of(g, "c", f->nparams));
  if (which != 0)
    text = TEXT(g, "%sjvp %s(%s -> %s; %s) {\n  let (%s, %s) = jvp(%s)(%s, %s);\n  %s\n}\n", text, f->name, names,
                results, numbered(g, "t", f->nparams), blanks, numbered(g, "d", f->nresults), plain, names,
                numbered(g, "t", f->nparams), tuple_of(g, "d", f->nresults));
  return text;
}

static bool may_have_rules(const Gen *g, const Function *f) {
  bool good = g->order == 0;
  for (int i = 0; i < f->nparams; i++)
    good &= !f->is_function[i] && f->params[i].sort == SORT_REAL;
  return good;
}

void make_helper(Gen *g) {
  Function f;
  const int before = g->functions.n;
  function_begin(g, &f, chance(g, 60) ? 1 : chance(g, 50) ? 2 : 0);
  for (int i = 0; i < g->nsymbols; i++)
    add_param(g, &f, shape1(SORT_REAL, g->symbols[i]), NULL);
  if (f.nparams == 0 || chance(g, 60))
    add_param(g, &f, shape_any(g, SORT_REAL, 2), NULL);
  if (g->nsymbols && chance(g, 20))
    add_param(g, &f, shape1(SORT_INT, dim_any(g)), g->symbols[0]);
  if (chance(g, 30))
    add_param(g, &f, INT, dim_constant(g, 3));
  if (chance(g, 20))
    add_function_param(g, &f);
  f.nresults = chance(g, 25) ? 2 : 1;
  for (int r = 0; r < f.nresults; r++)
    f.results[r] = shape_any(g, SORT_REAL, chance(g, 60) ? 0 : 2);
  Node *list = statements(g, pick(g, 5), 3);
  Node *value = result_value(g, f.results[0]);
  const char *type = shape_text(g->arena, f.results[0]);
  if (f.nresults == 2) {
    value = NODE(g, f.results[0], "($0, $1)", value, result_value(g, f.results[1]));
    type = TEXT(g, "(%s, %s)", type, shape_text(g->arena, f.results[1]));
  }
  const char *params = param_list(g, &f), *rules = "";
  if (may_have_rules(g, &f) && chance(g, 25)) {
    const char *plain = TEXT(g, "%s_plain", f.name);
    rules = TEXT(g, "fn %s(%s) -> %s { %s(", f.name, params, type, plain);
    for (int i = 0; i < f.nparams; i++)
      rules = TEXT(g, "%s%s%s", rules, i ? ", " : "", f.param_names[i]);
    rules = TEXT(g, "%s) }\n%s", rules, rules_of(g, &f, plain));
    g->order = 1;
  }
  Node *body = node_list(g->arena);
  node_push(g->arena, body,
            NODE(g, STATEMENT,
                 TEXT(g, "fn %s%s(%s) -> %s {\n$0$1\n}\n%s", f.name, *rules ? "_plain" : "", params, type, rules), list,
                 value));
  node_push(g->arena, g->c->helpers, body);
  f.order = g->order;
  f.work = g->work;
  g->functions.n = before; /* without its function parameter */
  vec_push(g->arena, g->functions, f);
}

/* What does not come of trees: functions with rules that are right, and forms of the language that take several
   functions.  The name is $; the result is a scalar. */
typedef struct Idiom {
  const char *text, *vjp, *jvp;
  int nparams;
  bool tensor; /* the first parameter is real[p] */
} Idiom;
static const Idiom idioms[] = {
    {"fn $(x: real, y: real) -> real { x * y + sin(x) }", "vjp $(x, y -> z; dz) { (dz * (y + cos(x)), dz * x) }",
     "jvp $(x, y -> z; dx, dy) { dx * (y + cos(x)) + dy * x }", 2, false},
    {"fn $(x: real) -> real { exp(-(x * x)) }", "vjp $(x -> z; dz) { -2.0 * x * z * dz }",
     "jvp $(x -> z; dx) { -2.0 * x * z * dx }", 1, false},
    {"fn $(x: real[p], y: real) -> real { sum(x * x) * y }",
     "vjp $(x, y -> z; dz) { (dz * 2.0 * y * x, dz * sum(x * x)) }",
     "jvp $(x, y -> z; dx, dy) { 2.0 * y * dot(x, dx) + sum(x * x) * dy }", 2, true},
    /* generic, with arguments by name */
    {"fn $_of<T>(x: T[p], y: T) -> T { sum[i: sin(T(2) * x[i]) * y] }\n"
     "fn $(x: real[p], y: real) -> real { $_of(x, y = 0.5 * y) + $_of(y = y, x = cos(x)) }",
     NULL, NULL, 2, true},
    /* a size that falls */
    {"fn $_det[k](a: real[k, k]) -> real {\n  if k == 0 { real(1) } else {\n"
     "    sum[j: if j % 2 == 0 { a[0, j] } else { -a[0, j] } * $_det[k - 1]("
     "[for r < k - 1, c < k - 1: a[r + 1, if c < j { c } else { c + 1 }]])]\n  }\n}\n"
     "fn $(x: real, y: real) -> real { $_det[3]([for i < 3, j < 3: sin(x * i + j) + y * real(i * j)]) }",
     NULL, NULL, 2, false},
    /* functions passed on, and differentiated */
    {"fn $_step(f: fn(u: real) -> real, x: real) -> real { 0.5 * f(x) - 0.1 * grad(f)(x) }\n"
     "fn $_twice(f: fn(u: real) -> real, x: real) -> real { $_step(fn(u: real) { $_step(f, u) * cos(u) }, x) + f(x) }\n"
     "fn $(x: real, y: real) -> real { $_twice(fn(u: real) { sin(u * y) + u }, x) }",
     NULL, NULL, 2, false},
    /* structs in, out, in a loop, and differentiated by their fields */
    {"struct $_S[p] { a: real[p], b: real }\n"
     "fn $_move(s: $_S[p], h: real) -> $_S[p] {\n  var u = s;\n  u.a -= h * grad($_cost, wrt = s.a)(s);\n"
     "  u.b += h * sum(u.a);\n  if p > 1 { u.a[1] = tanh(u.a[0]); }\n  u\n}\n"
     "fn $_cost(s: $_S[p]) -> real { sum(sqr(sin(s.a))) * s.b }\n"
     "fn $(x: real[p], y: real) -> real {\n  var s = $_S(x, b = y);\n  for t in 0..3 { s = $_move(s, 0.1); }\n"
     "  let (da, db) = grad($_cost)(s);\n  sum(da * s.a) + db * s.b\n}",
     NULL, NULL, 2, true},
    /* several of wrt, and results of jacobians and hessians for each pair */
    {"fn $_f(x: real[p], y: real) -> (real, real[p]) { (sum(sin(x) * y), x * cos(y)) }\n"
     "fn $_g(x: real[p], y: real) -> real { sum(exp(-sqr(x)) * y * y) }\n"
     "fn $(x: real[p], y: real) -> real {\n  let (a, b, c, d) = jacobian($_f)(x, y);\n"
     "  let (e, f, g, h) = hessian($_g)(x, y);\n  let (q, r) = hvp($_g, wrt = (x, y))(x, y, x, y);\n"
     "  sum(a) * b + sum(c) * sum(d) + 0.1 * sum(e) + dot(f, g) + h + dot(q, x) * r\n}",
     NULL, NULL, 2, true},
    /* the library */
    {"fn $(x: real, y: real) -> real { newton(fn(u: real) { u * u * u + u * (1.5 + cos(y)) - x }, x, 1e-6) }", NULL,
     NULL, 2, false},
    {"fn $(x: real[p], y: real) -> real {\n"
     "  let z = rk4(fn(t: real, u: real[p]) { -sin(u) * (1.2 + cos(y * t)) }, x, 0.0, 0.5, 3);\n  sum(z * z)\n}",
     NULL, NULL, 2, true},
};

static const char *with_name(Gen *g, const char *template, const char *name) {
  Text t = {.arena = g->arena};
  for (; *template; template ++)
    *template == '$' ? text_printf(&t, "%s", name) : text_printf(&t, "%c", *template);
  return text_end(&t);
}

void make_idiom(Gen *g) {
  Function f;
  const Idiom *r = &idioms[pick(g, sizeof idioms / sizeof *idioms)];
  function_begin(g, &f, r->tensor);
  static const char *const names[] = {"x", "y"};
  f.nparams = r->nparams;
  for (int i = 0; i < r->nparams; i++) {
    f.params[i] = i == 0 && r->tensor ? shape1(SORT_REAL, g->symbols[0]) : REAL;
    f.param_names[i] = names[i];
  }
  f.results[0] = REAL;
  f.work = r->vjp ? 10 : 60;
  f.order = r->vjp ? 0 : 1;
  const int which = pick(g, 3);
  const char *text = TEXT(g, "%s\n", with_name(g, r->text, f.name));
  if (r->vjp && which != 1)
    text = TEXT(g, "%s%s\n", text, with_name(g, r->vjp, f.name));
  if (r->jvp && which != 0)
    text = TEXT(g, "%s%s\n", text, with_name(g, r->jvp, f.name));
  node_push(g->arena, g->c->helpers, LEAF(g, STATEMENT, text));
  vec_push(g->arena, g->functions, f);
}
