/* Calls of helper functions, and of their derivatives. */
#include "tools/fuzz/gen.h"
#include <string.h>

/* Sizes of a call: which of the caller's stands for each of the callee's. */
typedef struct Sizes {
  const Dim *of[MAX_SYMBOLS];
} Sizes;

static bool unify_dim(const Function *f, const Dim *theirs, const Dim *ours, Sizes *sizes) {
  if (theirs->symbol >= 0) {
    const Dim **slot = &sizes->of[theirs->symbol];
    if (*slot)
      return !strcmp((*slot)->text, ours->text);
    *slot = ours;
    return ours->value > 0 && ours->base < 0 && (ours->value <= 17 || f->work * (double)ours->value < 4000);
  }
  return theirs->base < 0 && !strcmp(theirs->text, ours->text);
}

static bool unify(const Function *f, Shape theirs, Shape ours, Sizes *sizes) {
  bool good = theirs.rank == ours.rank && theirs.sort == ours.sort;
  for (int i = 0; good && i < ours.rank; i++)
    good = unify_dim(f, theirs.dims[i], ours.dims[i], sizes);
  return good;
}

static bool settle(Gen *g, const Function *f, Sizes *sizes) {
  for (int i = 0; i < f->nsymbols; i++)
    if (!sizes->of[i] && !unify_dim(f, f->symbols[i], dim_any(g), sizes))
      return false;
  return true;
}

static Shape settled(Shape s, const Sizes *sizes) {
  for (int i = 0; i < s.rank; i++)
    if (s.dims[i]->symbol >= 0)
      s.dims[i] = sizes->of[s.dims[i]->symbol];
  return s;
}

/* ---- a call under construction */
typedef struct Call {
  const Function *f;
  Sizes sizes;
  Node *kids[10];
  int nkids;
  const char *text; /* "$0, $1" */
  int named_from;   /* arguments from this one on are named; 0 for none */
} Call;

static bool add(Gen *g, Call *c, Node *kid) {
  if (!kid)
    return false;
  const bool named = c->named_from && c->nkids >= c->named_from;
  c->text = TEXT(g, "%s%s%s%s$%d", c->text ? c->text : "", c->text ? ", " : "",
                 named ? c->f->param_names[c->nkids] : "", named ? " = " : "", c->nkids);
  c->kids[c->nkids++] = kid;
  return true;
}

/* fn(u: real, w: real) { .. }, which sees the names around it. */
static Node *lambda(Gen *g, int depth) {
  const int mark = g->vars.n, barrier = g->barrier, loop_depth = g->loop_depth;
  const double trips = g->trips;
  const char *u = name_new(g, "u"), *w = name_new(g, "w");
  var_add(g, u, REAL, NULL);
  var_add(g, w, REAL, NULL);
  g->barrier = g->vars.n;
  g->loop_depth = 0;
  g->trips *= 4;
  Node *body =
      NODE(g, REAL, chance(g, 50) ? "($0 * $1)" : "($0 + $1)", real_expr(g, REAL, depth - 1), total(g, mark, true));
  g->vars.n = mark;
  g->barrier = barrier;
  g->loop_depth = loop_depth;
  g->trips = trips;
  return NODE(g, REAL, TEXT(g, "fn(%s: real, %s: real) { $0 }", u, w), body);
}

static bool add_arguments(Gen *g, Call *c, int depth) {
  const Function *f = c->f;
  for (int i = 0; i < f->nparams; i++) {
    const Shape s = settled(f->params[i], &c->sizes);
    Node *kid;
    if (f->is_function[i])
      kid = lambda(g, depth);
    else if (s.sort == SORT_REAL)
      kid = real_expr(g, s, depth - 1);
    else if (s.rank)
      kid = index_tensor(g, s.dims[0], f->below[i]->symbol >= 0 ? c->sizes.of[f->below[i]->symbol] : f->below[i], 1);
    else
      kid = index_below(g, f->below[i], 1);
    if (!add(g, c, kid))
      return false;
  }
  return true;
}

/* Chooses a function whose derivatives of order `more` are still cheap here. */
static bool begin(Gen *g, Call *c, int more) {
  *c = (Call){0};
  if (!g->functions.n)
    return false;
  c->f = &g->functions.at[pick(g, g->functions.n)];
  const int order = c->f->order + more;
  return order <= 2 && g->trips * (c->f->work + 1) * (order ? 4 : 1) <= 10 * MOST_TRIPS;
}

static Node *end(Gen *g, const Call *c, int more, Shape s, const char *text) {
  if (c->f->order + more > g->order)
    g->order = c->f->order + more;
  g->work += g->trips * c->f->work * (1 + 3 * more);
  return node_new(g->arena, s, text, c->nkids, c->kids);
}

Node *make_call(Gen *g, Shape s, int depth) {
  Call c;
  if (!begin(g, &c, 0))
    return NULL;
  const int r = pick(g, c.f->nresults);
  c.named_from = chance(g, 15);
  if (!unify(c.f, c.f->results[r], s, &c.sizes) || !settle(g, c.f, &c.sizes) || !add_arguments(g, &c, depth))
    return NULL;
  if (c.f->nresults == 2)
    return end(g, &c, 0, s, TEXT(g, "{ let (r0, r1) = %s(%s); r%d }", c.f->name, c.text, r));
  return end(g, &c, 0, s, TEXT(g, "%s(%s)", c.f->name, c.text));
}

/* A float parameter of f that has shape s. */
static int param_like(Gen *g, Call *c, Shape s) {
  const int from = pick(g, c->f->nparams);
  for (int k = 0; k < c->f->nparams; k++) {
    const int i = (from + k) % c->f->nparams;
    Sizes trial = c->sizes;
    if (!c->f->is_function[i] && unify(c->f, c->f->params[i], s, &trial)) {
      c->sizes = trial;
      return i;
    }
  }
  return -1;
}

static int any_real_param(Gen *g, const Function *f) {
  const int from = pick(g, f->nparams);
  for (int k = 0; k < f->nparams; k++) {
    const int i = (from + k) % f->nparams;
    if (f->params[i].sort == SORT_REAL && !f->is_function[i])
      return i;
  }
  return -1;
}

static bool has_scalar(const Function *f) {
  return !f->results[0].rank;
}

Node *make_grad(Gen *g, Shape s, int depth) {
  Call c;
  const int i = begin(g, &c, 1) && has_scalar(c.f) ? param_like(g, &c, s) : -1;
  if (i < 0 || !settle(g, c.f, &c.sizes) || !add_arguments(g, &c, depth))
    return NULL;
  const char *p = c.f->param_names[i], *mode = chance(g, 15) ? ", mode = forward" : "";
  if (chance(g, 25)) {
    const char *values = c.f->nresults == 2 ? "r0, r1" : "r0";
    return end(g, &c, 1, s,
               TEXT(g, "{ let (%s, d) = value_and_grad(%s, wrt = %s)(%s); d * r0 }", values, c.f->name, p, c.text));
  }
  const int j = chance(g, 25) ? any_real_param(g, c.f) : i;
  if (j != i) /* the same, of two */
    return end(
        g, &c, 1, s,
        TEXT(g, "{ let (_, d) = grad(%s, wrt = (%s, %s)%s)(%s); d }", c.f->name, c.f->param_names[j], p, mode, c.text));
  return end(g, &c, 1, s, TEXT(g, "grad(%s, wrt = %s%s)(%s)", c.f->name, p, mode, c.text));
}

Node *make_jvp(Gen *g, Shape s, int depth) {
  Call c;
  if (!begin(g, &c, 1))
    return NULL;
  const int r = pick(g, c.f->nresults), i = unify(c.f, c.f->results[r], s, &c.sizes) ? any_real_param(g, c.f) : -1;
  if (i < 0 || !settle(g, c.f, &c.sizes) || !add_arguments(g, &c, depth) ||
      !add(g, &c, real_expr(g, settled(c.f->params[i], &c.sizes), depth - 1)))
    return NULL;
  return end(g, &c, 1, s,
             TEXT(g, "{ let (%s) = jvp(%s, wrt = %s)(%s); %s }", c.f->nresults == 2 ? "r0, r1, t0, t1" : "r0, t0",
                  c.f->name, c.f->param_names[i], c.text,
                  chance(g, 50) ? TEXT(g, "0.5 * r%d + t%d", r, r) : TEXT(g, "r%d * t%d", r, r)));
}

Node *make_vjp(Gen *g, Shape s, int depth) {
  Call c;
  const int i = begin(g, &c, 1) ? param_like(g, &c, s) : -1;
  if (i < 0 || !settle(g, c.f, &c.sizes) || !add_arguments(g, &c, depth))
    return NULL;
  for (int r = 0; r < c.f->nresults; r++)
    if (!add(g, &c, real_expr(g, settled(c.f->results[r], &c.sizes), depth - 1)))
      return NULL;
  return end(g, &c, 1, s,
             TEXT(g, "{ let (%s, c) = vjp(%s, wrt = %s)(%s); c * %s }", c.f->nresults == 2 ? "r0, r1" : "r0", c.f->name,
                  c.f->param_names[i], c.text, c.f->results[0].rank ? "sum(r0)" : "r0"));
}

Node *make_hvp(Gen *g, Shape s, int depth) {
  Call c;
  const int i = begin(g, &c, 2) && has_scalar(c.f) ? param_like(g, &c, s) : -1;
  if (i < 0 || !settle(g, c.f, &c.sizes) || !add_arguments(g, &c, depth) || !add(g, &c, real_expr(g, s, depth - 1)))
    return NULL;
  return end(g, &c, 2, s, TEXT(g, "hvp(%s, wrt = %s)(%s)", c.f->name, c.f->param_names[i], c.text));
}

static Shape part(Shape s, int from, int n) {
  Shape out = {.sort = s.sort, .rank = n};
  for (int i = 0; i < n; i++)
    out.dims[i] = s.dims[from + i];
  return out;
}

Node *make_jacobian(Gen *g, Shape s, int depth) {
  static const char *const modes[] = {"", "", ", mode = forward", ", mode = reverse"};
  Call c;
  if (!begin(g, &c, 1) || c.f->nresults > 1 || s.rank < c.f->results[0].rank ||
      !unify(c.f, c.f->results[0], part(s, 0, c.f->results[0].rank), &c.sizes))
    return NULL;
  const int rank = c.f->results[0].rank, i = param_like(g, &c, part(s, rank, s.rank - rank));
  if (i < 0 || !settle(g, c.f, &c.sizes) || !add_arguments(g, &c, depth))
    return NULL;
  return end(g, &c, 1, s,
             TEXT(g, "jacobian(%s, wrt = %s%s)(%s)", c.f->name, c.f->param_names[i], modes[pick(g, 4)], c.text));
}

Node *make_hessian(Gen *g, Shape s, int depth) {
  Call c;
  const int half = s.rank / 2,
            i = s.rank % 2 == 0 && begin(g, &c, 2) && has_scalar(c.f) ? param_like(g, &c, part(s, 0, half)) : -1;
  if (i < 0 || !unify(c.f, c.f->params[i], part(s, half, half), &c.sizes) || !settle(g, c.f, &c.sizes) ||
      !add_arguments(g, &c, depth))
    return NULL;
  return end(g, &c, 2, s, TEXT(g, "hessian(%s, wrt = %s)(%s)", c.f->name, c.f->param_names[i], c.text));
}

/* grad(fn(z: real[n]) { .. })(e): the body sees the names around it. */
Node *make_lambda_grad(Gen *g, Shape s, int depth) {
  if (s.rank > 2 || g->order >= 1 || g->trips > 200)
    return NULL;
  const char *z = name_new(g, "z");
  Node *at = real_expr(g, s, depth - 1);
  const int mark = g->vars.n, barrier = g->barrier, loop_depth = g->loop_depth, order = g->order;
  const double trips = g->trips;
  const bool nested = g->nested;
  var_add(g, z, s, NULL);
  g->barrier = g->vars.n;
  g->loop_depth = 0;
  g->order = 1; /* not another inside */
  g->trips *= 3;
  g->nested = false;
  Node *list = statements(g, pick(g, 3), depth - 1);
  Node *body =
      NODE(g, REAL, chance(g, 50) ? "($0 * $1)" : "($0 + $1)", real_expr(g, REAL, depth - 1), total(g, mark, true));
  g->nested = nested;
  g->vars.n = mark;
  g->barrier = barrier;
  g->loop_depth = loop_depth;
  g->trips = trips;
  g->order = order > 1 ? order : 1;
  const char *operator= s.rank == 0 && chance(g, 20) ? "jacobian" : "grad";
  return NODE(g, s, TEXT(g, "%s(fn(%s: %s) { $0$1 })($2)", operator, z, shape_text(g->arena, s)), list, body, at);
}
