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
  Node *body = node_list(g->arena);
  node_push(g->arena, body,
            NODE(g, STATEMENT, TEXT(g, "fn %s(%s) -> %s {\n$0$1\n}\n", f.name, param_list(g, &f), type), list, value));
  node_push(g->arena, g->c->helpers, body);
  f.order = g->order;
  f.work = g->work;
  g->functions.n = before; /* without its function parameter */
  vec_push(g->arena, g->functions, f);
}

/* Functions with rules of their own, which are right: of one or of both modes. */
typedef struct Rule {
  const char *params, *body, *vjp, *jvp;
  int nparams;
  bool tensor; /* the first parameter is real[p] */
} Rule;
static const Rule rules[] = {
    {"x: real, y: real", "x * y + sin(x)", "(x, y -> z; dz) { (dz * (y + cos(x)), dz * x) }",
     "(x, y -> z; dx, dy) { dx * (y + cos(x)) + dy * x }", 2, false},
    {"x: real", "exp(-(x * x))", "(x -> z; dz) { -2.0 * x * z * dz }", "(x -> z; dx) { -2.0 * x * z * dx }", 1, false},
    {"x: real[p], y: real", "sum(x * x) * y", "(x, y -> z; dz) { (dz * 2.0 * y * x, dz * sum(x * x)) }",
     "(x, y -> z; dx, dy) { 2.0 * y * dot(x, dx) + sum(x * x) * dy }", 2, true}};

void make_ruled(Gen *g) {
  Function f;
  const Rule *r = &rules[pick(g, 3)];
  function_begin(g, &f, r->tensor);
  static const char *const names[] = {"x", "y"};
  f.nparams = r->nparams;
  for (int i = 0; i < r->nparams; i++) {
    f.params[i] = i == 0 && r->tensor ? shape1(SORT_REAL, g->symbols[0]) : REAL;
    f.param_names[i] = names[i];
  }
  f.results[0] = REAL;
  f.work = 10;
  const int which = pick(g, 3);
  const char *text = TEXT(g, "fn %s(%s) -> real { %s }\n", f.name, r->params, r->body);
  if (which != 1)
    text = TEXT(g, "%svjp %s%s\n", text, f.name, r->vjp);
  if (which != 0)
    text = TEXT(g, "%sjvp %s%s\n", text, f.name, r->jvp);
  node_push(g->arena, g->c->helpers, LEAF(g, STATEMENT, text));
  vec_push(g->arena, g->functions, f);
}
