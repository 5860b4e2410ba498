/* Calls of helper functions, and of their derivatives. */
#include "tools/fuzz/gen.h"
#include <string.h>

/* Sizes of a call: which of the caller's stands for each of the callee's. */
typedef struct Sizes {
  const Dim *of[MAX_SYMBOLS];
} Sizes;

static bool unify_dim(Gen *g, const Function *f, const Dim *theirs, const Dim *ours, Sizes *sizes) {
  (void)g;
  if (theirs->symbol >= 0) {
    const Dim **slot = &sizes->of[theirs->symbol];
    if (*slot)
      return !strcmp((*slot)->text, ours->text);
    *slot = ours;
    return ours->value > 0 && ours->base < 0 && (ours->value <= 17 || f->work * (double)ours->value < 4000);
  }
  return theirs->base < 0 && !strcmp(theirs->text, ours->text);
}

static bool unify(Gen *g, const Function *f, Shape theirs, Shape ours, Sizes *sizes) {
  bool good = theirs.rank == ours.rank && theirs.sort == ours.sort;
  for (int i = 0; good && i < ours.rank; i++)
    good = unify_dim(g, f, theirs.dims[i], ours.dims[i], sizes);
  return good;
}

static bool settle(Gen *g, const Function *f, Sizes *sizes) {
  for (int i = 0; i < f->nsymbols; i++)
    if (!sizes->of[i]) {
      const Dim *d = dim_any(g);
      if (!unify_dim(g, f, f->symbols[i], d, sizes))
        return false;
    }
  return true;
}

static Shape settled(Shape s, const Sizes *sizes) {
  for (int i = 0; i < s.rank; i++)
    if (s.dims[i]->symbol >= 0)
      s.dims[i] = sizes->of[s.dims[i]->symbol];
  return s;
}

/* "$0, $1": arguments from kid `from` on; false where one cannot be made. */
static bool arguments(Gen *g, const Function *f, const Sizes *sizes, int depth, Node **kids, int *nkids,
                      const char **text) {
  *text = "";
  for (int i = 0; i < f->nparams; i++) {
    const Shape s = settled(f->params[i], sizes);
    Node *kid;
    if (s.sort == SORT_REAL)
      kid = real_expr(g, s, depth - 1);
    else if (s.rank) {
      const Dim *below = f->below[i]->symbol >= 0 ? sizes->of[f->below[i]->symbol] : f->below[i];
      kid = index_tensor(g, s.dims[0], below, 1);
    } else
      kid = index_below(g, f->below[i], 1);
    if (!kid)
      return false;
    *text = TEXT(g, "%s%s$%d", *text, i ? ", " : "", *nkids);
    kids[(*nkids)++] = kid;
  }
  return true;
}

static const Function *function_any(Gen *g, int most_order) {
  if (!g->functions.n)
    return NULL;
  const Function *f = &g->functions.at[pick(g, g->functions.n)];
  const int order = f->order + most_order;
  if (order > 2 || g->trips * (f->work + 1) * (order ? 4 : 1) > 10 * MOST_TRIPS)
    return NULL;
  return f;
}

static void used(Gen *g, const Function *f, int order) {
  if (f->order + order > g->order)
    g->order = f->order + order;
  g->work += g->trips * f->work * (1 + 3 * order);
}

Node *make_call(Gen *g, Shape s, int depth) {
  const Function *f = function_any(g, 0);
  Sizes sizes = {0};
  if (!f || !unify(g, f, f->result, s, &sizes) || !settle(g, f, &sizes))
    return NULL;
  Node *kids[10];
  int n = 0;
  const char *text;
  if (!arguments(g, f, &sizes, depth, kids, &n, &text))
    return NULL;
  used(g, f, 0);
  return node_new(g->arena, s, TEXT(g, "%s(%s)", f->name, text), n, kids);
}

/* A float parameter of f that has shape s. */
static int param_like(Gen *g, const Function *f, Shape s, Sizes *sizes) {
  const int from = pick(g, f->nparams);
  for (int k = 0; k < f->nparams; k++) {
    const int i = (from + k) % f->nparams;
    Sizes trial = *sizes;
    if (unify(g, f, f->params[i], s, &trial)) {
      *sizes = trial;
      return i;
    }
  }
  return -1;
}

static int any_real_param(Gen *g, const Function *f) {
  const int from = pick(g, f->nparams);
  for (int k = 0; k < f->nparams; k++)
    if (f->params[(from + k) % f->nparams].sort == SORT_REAL)
      return (from + k) % f->nparams;
  return -1;
}

Node *make_grad(Gen *g, Shape s, int depth) {
  const Function *f = function_any(g, 1);
  Sizes sizes = {0};
  const int i = f && !f->result.rank ? param_like(g, f, s, &sizes) : -1;
  if (i < 0 || !settle(g, f, &sizes))
    return NULL;
  Node *kids[10];
  int n = 0;
  const char *text, *mode = chance(g, 15) ? ", mode = forward" : "";
  if (!arguments(g, f, &sizes, depth, kids, &n, &text))
    return NULL;
  used(g, f, 1);
  if (s.rank == 0 && chance(g, 20)) /* second derivative by a scalar */
    return node_new(g->arena, s, TEXT(g, "hessian(%s, wrt = %s)(%s)", f->name, f->param_names[i], text), n, kids);
  return node_new(g->arena, s, TEXT(g, "grad(%s, wrt = %s%s)(%s)", f->name, f->param_names[i], mode, text), n, kids);
}

Node *make_jvp(Gen *g, Shape s, int depth) {
  const Function *f = function_any(g, 1);
  Sizes sizes = {0};
  const int i = f && unify(g, f, f->result, s, &sizes) ? any_real_param(g, f) : -1;
  if (i < 0 || !settle(g, f, &sizes))
    return NULL;
  Node *kids[10];
  int n = 0;
  const char *text;
  if (!arguments(g, f, &sizes, depth, kids, &n, &text))
    return NULL;
  kids[n] = real_expr(g, settled(f->params[i], &sizes), depth - 1);
  used(g, f, 1);
  return node_new(g->arena, s,
                  TEXT(g, "{ let (v, t) = jvp(%s, wrt = %s)(%s, $%d); %s }", f->name, f->param_names[i], text, n,
                       s.rank || chance(g, 50) ? "0.5 * v + t" : "v * t"),
                  n + 1, kids);
}

Node *make_vjp(Gen *g, Shape s, int depth) {
  const Function *f = function_any(g, 1);
  Sizes sizes = {0};
  const int i = f ? param_like(g, f, s, &sizes) : -1;
  if (i < 0 || !settle(g, f, &sizes))
    return NULL;
  Node *kids[10];
  int n = 0;
  const char *text;
  if (!arguments(g, f, &sizes, depth, kids, &n, &text))
    return NULL;
  kids[n] = real_expr(g, settled(f->result, &sizes), depth - 1);
  used(g, f, 1);
  return node_new(g->arena, s,
                  TEXT(g, "{ let (v, c) = vjp(%s, wrt = %s)(%s, $%d); c * %s }", f->name, f->param_names[i], text, n,
                       f->result.rank ? "sum(v)" : "v"),
                  n + 1, kids);
}

Node *make_hvp(Gen *g, Shape s, int depth) {
  const Function *f = function_any(g, 2);
  Sizes sizes = {0};
  const int i = f && !f->result.rank ? param_like(g, f, s, &sizes) : -1;
  if (i < 0 || !settle(g, f, &sizes))
    return NULL;
  Node *kids[10];
  int n = 0;
  const char *text;
  if (!arguments(g, f, &sizes, depth, kids, &n, &text))
    return NULL;
  kids[n] = real_expr(g, s, depth - 1);
  used(g, f, 2);
  return node_new(g->arena, s, TEXT(g, "hvp(%s, wrt = %s)(%s, $%d)", f->name, f->param_names[i], text, n), n + 1, kids);
}

/* grad(fn(z: real[n]) { .. })(e): the body sees the names around it. */
Node *make_lambda_grad(Gen *g, Shape s, int depth) {
  if (s.rank > 2 || g->order >= 1 || g->trips > 200)
    return NULL;
  const char *z = name_new(g, "z");
  Node *at = real_expr(g, s, depth - 1);
  const int mark = g->vars.n, barrier = g->barrier, loop_depth = g->loop_depth, order = g->order;
  const double trips = g->trips;
  var_add(g, z, s, NULL);
  g->barrier = g->vars.n;
  g->loop_depth = 0;
  g->order = 1; /* not another inside */
  g->trips *= 3;
  const bool nested = g->nested;
  g->nested = false;
  Node *list = statements(g, pick(g, 3), depth - 1);
  g->nested = nested;
  Node *body = NODE(g, REAL, chance(g, 50) ? "($0 * $1)" : "($0 + $1)", real_expr(g, REAL, depth - 1), total(g, mark, true));
  g->vars.n = mark;
  g->barrier = barrier;
  g->loop_depth = loop_depth;
  g->trips = trips;
  g->order = order > 1 ? order : 1;
  const char *operator= s.rank == 0 && chance(g, 20) ? "jacobian" : "grad";
  return NODE(g, s, TEXT(g, "%s(fn(%s: %s) { $0$1 })($2)", operator, z, shape_text(g->arena, s)), list, body, at);
}
