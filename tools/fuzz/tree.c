/* Trees of templates, and how they become text. */
#include "tools/fuzz/fuzz.h"
#include <string.h>

bool shape_equal(Shape a, Shape b) {
  bool same = a.sort == b.sort && a.rank == b.rank;
  for (int i = 0; same && i < a.rank; i++)
    same = !strcmp(a.dims[i]->text, b.dims[i]->text);
  return same;
}

Shape shape_scalar(Sort sort) {
  return (Shape){.sort = sort};
}

int64_t shape_count(Shape s) {
  int64_t count = 1;
  for (int i = 0; i < s.rank; i++)
    count *= s.dims[i]->value;
  return count;
}

Shape shape_drop(Shape s, int n) {
  Shape rest = {.sort = s.sort, .rank = s.rank - n};
  for (int i = 0; i < rest.rank; i++)
    rest.dims[i] = s.dims[i + n];
  return rest;
}

char *shape_text(Arena *a, Shape s) {
  char *text = arena_printf(a, "%s", s.sort == SORT_REAL ? "real" : s.sort == SORT_INT ? "i64" : "bool");
  for (int i = 0; i < s.rank; i++)
    text = arena_printf(a, "%s%s%s%s", text, i ? ", " : "[", s.dims[i]->text, i + 1 < s.rank ? "" : "]");
  return text;
}

Node *node_new(Arena *a, Shape s, const char *text, int nkids, Node *const *kids) {
  Node *n = NEW(a, Node);
  *n = (Node){text, s, nkids, NEW_ARRAY(a, Node *, nkids)};
  for (int i = 0; i < nkids; i++)
    n->kids[i] = kids[i];
  return n;
}

Node *node_list(Arena *a) {
  return node_new(a, shape_scalar(SORT_LIST), NULL, 0, NULL);
}

void node_push(Arena *a, Node *list, Node *kid) {
  Node **kids = NEW_ARRAY(a, Node *, list->nkids + 1);
  for (int i = 0; i < list->nkids; i++)
    kids[i] = list->kids[i];
  kids[list->nkids++] = kid;
  list->kids = kids;
}

int node_count(const Node *n) {
  int count = 1;
  for (int i = 0; i < n->nkids; i++)
    count += node_count(n->kids[i]);
  return count;
}

void text_node(Text *t, const Node *n) {
  if (!n->text) {
    for (int i = 0; i < n->nkids; i++) {
      text_node(t, n->kids[i]);
      vec_push(t->arena, t->chars, '\n');
    }
    return;
  }
  for (const char *s = n->text; *s; s++)
    if (*s == '$' && s[1] >= '0' && s[1] - '0' < n->nkids)
      text_node(t, n->kids[*++s - '0']);
    else
      vec_push(t->arena, t->chars, *s);
}

/* ---- a whole program */
static void add_params(Text *t, const Case *c) {
  for (int i = 0; i < c->params.n; i++)
    text_printf(t, "%s%s: %s", i ? ", " : "", c->params.at[i].name, c->params.at[i].type);
}

static bool is_bound(const Case *c, const Dim *symbol) {
  for (int i = 0; i < c->params.n; i++)
    for (int k = 0; k < c->params.at[i].ninputs; k++) {
      const Shape s = c->params.at[i].inputs[k].shape;
      for (int axis = 0; axis < s.rank; axis++)
        if (!strcmp(s.dims[axis]->text, symbol->text))
          return true;
    }
  return false;
}

/* "[n, m]" of a declaration or a call: the sizes that no parameter binds. */
static void add_symbols(Text *t, const Case *c) {
  int n = 0;
  for (int i = 0; i < c->nsymbols; i++)
    if (!is_bound(c, c->symbols[i]))
      text_printf(t, "%s%s", n++ ? ", " : "[", c->symbols[i]->text);
  if (n)
    text_printf(t, "]");
}

/* ", " before each but the first. */
static void add_wrt(Text *t, const Case *c, const char *format_one) {
  int n = 0;
  for (int i = 0; i < c->params.n; i++)
    for (int k = 0; k < c->params.at[i].ninputs; k++) {
      const Input *in = &c->params.at[i].inputs[k];
      if (in->shape.sort != SORT_REAL)
        continue;
      if (n++)
        text_printf(t, ", ");
      if (format_one)
        text_printf(t, "g%d: %s", n - 1, shape_text(t->arena, in->shape));
      else
        text_printf(t, "%s", in->name);
    }
}

static bool has_real_input(const Case *c) {
  for (int i = 0; i < c->params.n; i++)
    for (int k = 0; k < c->params.at[i].ninputs; k++)
      if (c->params.at[i].inputs[k].shape.sort == SORT_REAL)
        return true;
  return false;
}

/* loss: the real results weighed by more parameters, squared in part so that seeds depend on values too. */
static void add_loss(Text *t, const Case *c) {
  text_printf(t, "\nfn loss");
  add_symbols(t, c);
  text_printf(t, "(");
  add_params(t, c);
  for (int i = 0; i < c->results.n; i++)
    if (c->results.at[i]->shape.sort == SORT_REAL)
      text_printf(t, ", w%d: %s", i, shape_text(t->arena, c->results.at[i]->shape));
  text_printf(t, ") -> real {\n  let %s", c->results.n > 1 ? "(" : "");
  for (int i = 0; i < c->results.n; i++)
    text_printf(t, "%sr%d", i ? ", " : "", i);
  text_printf(t, "%s = f", c->results.n > 1 ? ")" : "");
  add_symbols(t, c);
  text_printf(t, "(");
  for (int i = 0; i < c->params.n; i++)
    text_printf(t, "%s%s", i ? ", " : "", c->params.at[i].name);
  text_printf(t, ");\n  real(0.0)");
  for (int i = 0; i < c->results.n; i++)
    if (c->results.at[i]->shape.sort == SORT_REAL)
      text_printf(t, c->results.at[i]->shape.rank ? " + sum(r%d * w%d)" : " + r%d * w%d", i, i);
  text_printf(t, "\n}\n");
}

static void add_gradient(Text *t, const Case *c) {
  text_printf(t, "\nfn gradient");
  add_symbols(t, c);
  text_printf(t, "(");
  add_params(t, c);
  for (int i = 0; i < c->results.n; i++)
    if (c->results.at[i]->shape.sort == SORT_REAL)
      text_printf(t, ", w%d: %s", i, shape_text(t->arena, c->results.at[i]->shape));
  text_printf(t, ") -> (");
  add_wrt(t, c, "g");
  text_printf(t, ") {\n  grad(loss, wrt = (");
  add_wrt(t, c, NULL);
  text_printf(t, "))");
  add_symbols(t, c);
  text_printf(t, "(");
  for (int i = 0; i < c->params.n; i++)
    text_printf(t, "%s%s", i ? ", " : "", c->params.at[i].name);
  for (int i = 0; i < c->results.n; i++)
    if (c->results.at[i]->shape.sort == SORT_REAL)
      text_printf(t, ", w%d", i);
  text_printf(t, ")\n}\n");
}

static void add_second(Text *t, const Case *c) {
  add_loss(t, c);
  add_gradient(t, c);
  text_printf(t, "export gradient;\n");
  for (int i = 0; i < 2; i++) {
    text_printf(t, "export %s(gradient, wrt = (", i ? "vjp" : "jvp");
    add_wrt(t, c, NULL);
    text_printf(t, ")) as gradient_%s;\n", i ? "vjp" : "jvp");
  }
}

static void add_matrices(Text *t, const Case *c, const char *operator, const char * of, const char *name) {
  for (int sparse = 0; sparse < 2; sparse++) {
    text_printf(t, "export %s(%s, wrt = (", operator, of);
    add_wrt(t, c, NULL);
    text_printf(t, ")%s) as %s_%s;\n", sparse ? ", sparse = true" : "", name, sparse ? "sparse" : "dense");
  }
}

const char *case_text(Arena *a, const Case *c) {
  Text t = {.arena = a};
  text_node(&t, c->helpers);
  text_printf(&t, "fn f");
  add_symbols(&t, c);
  text_printf(&t, "(");
  add_params(&t, c);
  text_printf(&t, ") -> %s", c->results.n > 1 ? "(" : "");
  for (int i = 0; i < c->results.n; i++)
    text_printf(&t, "%s%s", i ? ", " : "", shape_text(a, c->results.at[i]->shape));
  text_printf(&t, "%s {\n", c->results.n > 1 ? ")" : "");
  text_node(&t, c->body);
  text_printf(&t, "%s", c->results.n > 1 ? "(" : "");
  for (int i = 0; i < c->results.n; i++) {
    text_printf(&t, "%s", i ? ", " : "");
    text_node(&t, c->results.at[i]);
  }
  text_printf(&t, "%s\n}\n\nexport f;\n", c->results.n > 1 ? ")" : "");
  bool real_result = false;
  for (int i = 0; i < c->results.n; i++)
    real_result |= c->results.at[i]->shape.sort == SORT_REAL;
  if (real_result && has_real_input(c)) {
    if (c->with & WITH_VJP)
      text_printf(&t, "export vjp(f) as f_vjp;\n");
    if (c->with & WITH_ADDED && c->with & WITH_VJP)
      text_printf(&t, "export vjp(f, accumulate = true) as f_added;\n");
    if (c->with & WITH_JVP)
      text_printf(&t, "export jvp(f) as f_jvp;\n");
    if (c->with & WITH_SECOND)
      add_second(&t, c);
    if (c->with & WITH_SPARSE) {
      add_matrices(&t, c, "jacobian", "f", "f");
      if (c->with & WITH_SECOND)
        add_matrices(&t, c, "hessian", "loss", "loss");
    }
  }
  return text_end(&t);
}
