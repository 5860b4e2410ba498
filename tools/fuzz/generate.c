/* The generator's whole programs: sizes, parameters, helper functions, results. */
#include "tools/fuzz/gen.h"
#include <string.h>

int pick(Gen *g, int n) {
  return rng_below(&g->rng, n);
}

bool chance(Gen *g, int percent) {
  return pick(g, 100) < percent;
}

/* ---- sizes */
Dim *dim_new(Gen *g, const char *text, int64_t value, int symbol, int base) {
  for (int i = 0; i < g->dims.n; i++)
    if (!strcmp(g->dims.at[i]->text, text) && g->dims.at[i]->value == value)
      return g->dims.at[i];
  Dim *d = NEW(g->arena, Dim);
  *d = (Dim){text, symbol, base, value};
  vec_push(g->arena, g->dims, d);
  return d;
}

const Dim *dim_constant(Gen *g, int64_t value) {
  return dim_new(g, TEXT(g, "%lld", (long long)value), value, -1, -1);
}

const Dim *dim_plus(Gen *g, const Dim *d, int by) {
  if (d->symbol < 0 && d->base < 0)
    return dim_constant(g, d->value + by);
  return d->symbol < 0 ? NULL : dim_new(g, TEXT(g, "%s + %d", d->text, by), d->value + by, -1, d->symbol);
}

const Dim *dim_any(Gen *g) {
  static const int constants[] = {1, 2, 3, 3, 4, 5, 7, 2, 17};
  if (g->nsymbols && chance(g, 65))
    return g->symbols[pick(g, g->nsymbols)];
  return dim_constant(g, constants[pick(g, sizeof constants / sizeof *constants)]);
}

Shape shape1(Sort sort, const Dim *d) {
  return (Shape){sort, 1, {d}};
}

Shape shape2(Sort sort, const Dim *a, const Dim *b) {
  return (Shape){sort, 2, {a, b}};
}

Shape shape_prepend(const Dim *d, Shape s) {
  Shape out = {s.sort, s.rank + 1, {d}};
  for (int i = 0; i < s.rank; i++)
    out.dims[i + 1] = s.dims[i];
  return out;
}

Shape shape_sort(Shape s, Sort sort) {
  s.sort = sort;
  return s;
}

Shape shape_any(Gen *g, Sort sort, int most_rank) {
  static const int ranks[] = {0, 0, 0, 1, 1, 1, 1, 2, 2, 3};
  /* That of a variable, so that there are operands. */
  for (int tries = 0; tries < 4 && g->vars.n && chance(g, 55); tries++) {
    const Var *v = &g->vars.at[pick(g, g->vars.n)];
    if (v->shape.sort == SORT_REAL && v->shape.rank <= most_rank && v->shape.rank >= pick(g, 2))
      return shape_sort(v->shape, sort);
  }
  for (;;) {
    Shape s = {.sort = sort, .rank = ranks[pick(g, 10)]};
    if (s.rank > most_rank)
      continue;
    for (int i = 0; i < s.rank; i++)
      s.dims[i] = dim_any(g);
    if (shape_count(s) <= 400)
      return s;
  }
}

/* ---- names and literals */
const char *name_new(Gen *g, const char *stem) {
  return TEXT(g, "%s%d", stem, g->names++);
}

void var_add(Gen *g, const char *name, Shape s, const Dim *below) {
  vec_push(g->arena, g->vars, ((Var){.name = name, .shape = s, .below = below}));
}

const char *literal_text(Gen *g) {
  static const char *const texts[] = {"0.5", "1.5",  "0.3", "0.7", "2.0",  "1.0", "0.25",
                                      "1.1", "0.01", "0.9", "3.0", "1e-3", "0.0", "0.125"};
  const char *text = texts[pick(g, sizeof texts / sizeof *texts)];
  return g->narrow ? TEXT(g, "real(%s)", text) : text;
}

const char *of_real(Gen *g) {
  return g->narrow || chance(g, 20) ? " of real" : "";
}

/* ---- f */
Node *total(Gen *g, int from, bool damped) {
  static const char *const scalars[] = {"tanh($0)", "$0", "sin($0)"}, *const tensors[] = {"sum(tanh($0))", "sum($0)",
                                                                                          "sum(sin($0) * $0)"};
  Node *sum = LEAF(g, REAL, literal_text(g));
  for (int i = from; i < g->vars.n; i++) {
    const Var v = g->vars.at[i];
    if (v.shape.sort != SORT_REAL)
      continue;
    Node *part = LEAF(g, v.shape, v.name);
    if (damped || v.shape.rank)
      part = NODE(g, REAL, (v.shape.rank ? tensors : scalars)[damped ? pick(g, 3) : 1], part);
    sum = NODE(g, REAL, "($0 + $1)", sum, part);
  }
  return sum;
}

static void main_param(Gen *g, Shape s, InputFill fill, const Dim *below) {
  Param p = {.name = name_new(g, fill == INPUT_REAL ? "x" : "k"), .ninputs = 1};
  p.type = shape_text(g->arena, s);
  p.inputs[0] = (Input){p.name, s, fill, below};
  vec_push(g->arena, g->c->params, p);
  var_add(g, p.name, s, below);
}

/* A structure of one tensor and one scalar. */
static void struct_param(Gen *g) {
  const Shape s = shape_any(g, SORT_REAL, 2);
  const char *sizes = "", *type = name_new(g, "S");
  for (int i = 0; i < g->nsymbols; i++)
    sizes = TEXT(g, "%s%s%s%s", sizes, i ? ", " : "[", g->symbols[i]->text, i + 1 < g->nsymbols ? "" : "]");
  Param p = {.name = name_new(g, "p"), .type = TEXT(g, "%s%s", type, sizes), .ninputs = 2};
  node_push(g->arena, g->c->helpers,
            LEAF(g, shape_scalar(SORT_STATEMENT),
                 TEXT(g, "struct %s%s { a: %s, b: real }\n", type, sizes, shape_text(g->arena, s))));
  p.inputs[0] = (Input){TEXT(g, "%s.a", p.name), s, INPUT_REAL, NULL};
  p.inputs[1] = (Input){TEXT(g, "%s.b", p.name), REAL, INPUT_REAL, NULL};
  vec_push(g->arena, g->c->params, p);
  vec_push(g->arena, g->records, ((Var){.name = p.name, .shape = s}));
  for (int i = 0; i < 2; i++)
    var_add(g, p.inputs[i].name, p.inputs[i].shape, NULL);
}

static void make_rows(Gen *g) {
  const Dim *rows = g->symbols[0], *axis = dim_plus(g, rows, 1);
  const Dim *cells = g->symbols[g->nsymbols - 1];
  main_param(g, shape1(SORT_INT, axis), INPUT_ROWS, cells);
  Var *v = &g->vars.at[g->vars.n - 1];
  v->is_rows = true;
  v->rows = rows;
}

static void make_params(Gen *g) {
  for (int i = 0; i < g->nsymbols; i++)
    main_param(g, shape1(SORT_REAL, g->symbols[i]), INPUT_REAL, NULL);
  if (chance(g, 70))
    main_param(g, REAL, INPUT_REAL, NULL);
  if (chance(g, 60))
    main_param(g, shape_any(g, SORT_REAL, 3), INPUT_REAL, NULL);
  if (g->nsymbols && chance(g, 40)) {
    const Dim *below = g->symbols[pick(g, g->nsymbols)], *n = dim_any(g);
    if (below->value > 0 || n->value == 0)
      main_param(g, shape1(SORT_INT, n), INPUT_INDEX, below);
  }
  if (g->nsymbols && chance(g, 25))
    make_rows(g);
  if (chance(g, 25))
    main_param(g, INT, INPUT_INDEX, dim_constant(g, 4));
  if (chance(g, 25))
    struct_param(g);
}

/* let v = a call of a helper, or of a derivative of one: else most helpers would stand idle. */
static void use_helper(Gen *g) {
  static Production *const uses[] = {make_call, make_call,    make_grad,     make_grad, make_jvp,
                                     make_vjp,  make_hessian, make_jacobian, make_hvp};
  for (int tries = 0; tries < 12; tries++) {
    const Shape s = chance(g, 50) ? REAL : shape_any(g, SORT_REAL, 2);
    Node *value = uses[pick(g, sizeof uses / sizeof *uses)](g, s, 2);
    if (!value)
      continue;
    const char *v = name_new(g, "v");
    node_push(g->arena, g->c->body, NODE(g, shape_scalar(SORT_STATEMENT), TEXT(g, "let %s = $0;", v), value));
    var_add(g, v, s, NULL);
    return;
  }
}

static void make_main(Gen *g) {
  static const char *const names[] = {"n", "m", "l"};
  static const int sizes[] = {0, 1, 1, 2, 3, 3, 4, 5, 5, 6, 7, 8, 9, 16, 17, 20, 33, 40};
  Case *c = g->c;
  int64_t values[MAX_SYMBOLS];
  for (int i = 0; i < MAX_SYMBOLS; i++)
    values[i] = sizes[pick(g, sizeof sizes / sizeof *sizes)];
  symbols_begin(g, names, 1 + pick(g, 3), values);
  c->nsymbols = g->nsymbols;
  for (int i = 0; i < g->nsymbols; i++)
    c->symbols[i] = g->symbols[i];
  g->vars.n = g->barrier = 0;
  g->trips = 1;
  g->work = 0;
  g->order = 0;
  /* Most programs are small, which finds as much in a fraction of the time; some are large. */
  const int size = pick(g, 10);
  g->budget = size < 6 ? 12 + pick(g, 25) : size < 9 ? 30 + pick(g, 50) : 60 + pick(g, 90);
  make_params(g);
  c->body = node_list(g->arena);
  for (int i = 0; i < g->functions.n; i++)
    if (chance(g, 70))
      use_helper(g);
  Node *rest = statements(g, size < 6 ? 1 + pick(g, 3) : 2 + pick(g, 6), 4);
  for (int i = 0; i < rest->nkids; i++)
    node_push(g->arena, c->body, rest->kids[i]);
  g->budget += size < 6 ? 6 : 15;
  const int n = 1 + pick(g, 2);
  for (int i = 0; i < n; i++)
    vec_push(g->arena, c->results, real_expr(g, shape_any(g, SORT_REAL, 2), 3));
  vec_push(g->arena, c->results, total(g, 0, false));
  if (chance(g, 20))
    vec_push(g->arena, c->results, int_expr(g, 2));
  if (chance(g, 10))
    vec_push(g->arena, c->results, bool_expr(g, shape_any(g, SORT_BOOL, 1), 2));
}

Case *case_generate(Arena *a, uint64_t seed, uint64_t number) {
  Case *c = NEW(a, Case);
  Rng mix = {seed};
  Gen g = {.arena = a, .c = c, .rng = {rng_next(&mix) ^ number * 0x9e3779b97f4a7c15u}};
  rng_next(&g.rng);
  c->seed = rng_next(&g.rng);
  c->with = chance(&g, 35) ? WITH_ALL : WITH_VJP | WITH_JVP;
  c->narrow = g.narrow = chance(&g, 8);
  if (chance(&g, 10))
    c->with |= WITH_ADDED;
  c->helpers = node_list(a);
  node_push(a, c->helpers, LEAF(&g, shape_scalar(SORT_STATEMENT), "import <ode.ad>;\nimport <root.ad>;"));
  const int n = pick(&g, c->with & WITH_SECOND ? 2 : 3);
  for (int i = 0; i < n; i++)
    chance(&g, 25) ? make_idiom(&g) : make_helper(&g);
  make_main(&g);
  c->rough = g.rough;
  c->coarse = g.coarse || g.narrow;
  return c;
}
