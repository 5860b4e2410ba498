/* Heads of functions: the sizes that they bind, in order of first appearance, and what parameters' types tell of
 * arguments. */
#include "frontend/elab_core.h"
#include <string.h>

Function *function_root(Function *f) {
  while (f->of)
    f = f->of;
  return f;
}

static SizeUnknown *unknown_of(const char *name, int n, SizeUnknown *unknowns) {
  for (int i = 0; name && i < n; i++)
    if (unknowns[i].name.text == name)
      return &unknowns[i];
  return NULL;
}

/* The size that gets a value where the expression stands for a known one: of n, n + k, n - k, k + n with a constant k;
   else NULL.  *plus: k, or NULL. */
static SizeUnknown *size_pattern(const Expr *x, int n, SizeUnknown *unknowns, Expr **plus, bool *minus) {
  *plus = NULL;
  *minus = false;
  if (x->kind == EXPR_NAME)
    return unknown_of(x->name, n, unknowns);
  if (x->kind != EXPR_BINARY || (x->binary.op != BINARY_ADD && x->binary.op != BINARY_SUB))
    return NULL;
  Expr *size = x->binary.left;
  *minus = x->binary.op == BINARY_SUB;
  *plus = x->binary.right;
  if (!*minus && (size->kind != EXPR_NAME || !unknown_of(size->name, n, unknowns))) {
    size = x->binary.right;
    *plus = x->binary.left;
  }
  const bool constant =
      (*plus)->kind == EXPR_INT || ((*plus)->kind == EXPR_NAME && !unknown_of((*plus)->name, n, unknowns));
  return size->kind == EXPR_NAME && constant ? unknown_of(size->name, n, unknowns) : NULL;
}

/* ---- collecting the names of sizes */
typedef struct Collector {
  Elab *e;
  const Scope *around;
  VEC(SizeName) names;
} Collector;

static bool is_known(const Collector *c, const char *name) {
  for (int i = 0; i < c->names.n; i++)
    if (c->names.at[i].name.text == name)
      return true;
  const Binding *b = scope_lookup(c->around, name);
  if (!b)
    return false;
  switch (b->kind) {
  case BIND_SIZE:
  case BIND_CONST:
  case BIND_POISON: return true;
  case BIND_LET: return b->form && b->form->kind == FORM_TENSOR && b->form->as_size;
  default: return false;
  }
}

static void collect_expr(Collector *c, const Expr *x) {
  switch (x->kind) {
  case EXPR_NAME:
    if (!is_known(c, x->name)) {
      const SizeName size = {.name = {.text = x->name, .at = x->at}};
      vec_push(c->e->arena, c->names, size);
    }
    break;
  case EXPR_UNARY: collect_expr(c, x->unary.operand); break;
  case EXPR_BINARY:
    collect_expr(c, x->binary.left);
    collect_expr(c, x->binary.right);
    break;
  default: break;
  }
}

/* Sizes inside function types bind nothing. */
static void collect_type(Collector *c, const TypeExpr *t) {
  if (t->kind == TYPE_EXPR_TENSOR)
    for (int i = 0; i < t->tensor.sizes.n; i++)
      collect_expr(c, t->tensor.sizes.at[i]);
  if (t->kind == TYPE_EXPR_TUPLE)
    for (int i = 0; i < t->tuple.n; i++)
      collect_type(c, t->tuple.at[i].type);
}

bool sizes_declared(Elab *e, const Scope *scope, const TypeExpr *t, const char *mend) {
  Collector c = {.e = e, .around = scope};
  collect_type(&c, t);
  for (int i = 0; i < c.names.n; i++) {
    const Name name = c.names.at[i].name;
    DiagMessage *m = elab_error(e, name.at, "size '%s' is not declared", name.text);
    NearMiss near = near_miss_of(name.text);
    for (const Scope *s = scope; s; s = s->outer)
      for (const Binding *b = s->bindings; b; b = b->next)
        if (b->kind == BIND_SIZE || b->kind == BIND_CONST)
          near_miss_try(&near, b->name);
    if (near.best)
      near_miss_mend(e, &near, m);
    else
      diag_mend(e->diag, m, "declare it: %s[%s]", mend, name.text);
  }
  return !c.names.n;
}

/* ---- what is wrong with a head */
static bool report_same(Elab *e, Name second, const char *second_is, Range first, const char *first_is) {
  DiagMessage *m;
  if (!strcmp(first_is, second_is))
    m = elab_error(e, second.at, "two %ss are called '%s'", first_is, second.text);
  else
    m = elab_error(e, second.at, "'%s' is a %s and a %s", second.text, first_is, second_is);
  diag_note(e->diag, m, first, "the %s is here", first_is);
  return false;
}

static bool is_same(Name a, Name b) {
  return a.text && a.text == b.text && strcmp(a.text, "_") != 0;
}

static bool check_names(Elab *e, const Header *h) {
  bool ok = true;
  for (int i = 0; i < h->params->n; i++) {
    const Name name = h->params->at[i].name;
    for (int j = 0; j < i; j++)
      if (is_same(h->params->at[j].name, name))
        ok = report_same(e, name, "parameter", h->params->at[j].name.at, "parameter");
    for (int j = 0; j < h->nsizes; j++)
      if (is_same(h->sizes[j].name, name))
        ok = report_same(e, name, "parameter", h->sizes[j].name.at, "size");
  }
  for (int i = 0; h->kinds && i < h->kinds->n; i++) {
    for (int j = 0; j < i; j++)
      if (is_same(h->kinds->at[i], h->kinds->at[j]))
        ok = report_same(e, h->kinds->at[i], "kind", h->kinds->at[j].at, "kind");
    for (int j = 0; j < h->nsizes; j++)
      if (is_same(h->kinds->at[i], h->sizes[j].name))
        ok = report_same(e, h->kinds->at[i], "kind", h->sizes[j].name.at, "size");
  }
  for (int i = 0; i < h->ndeclared; i++)
    for (int j = 0; j < i; j++)
      if (is_same(h->sizes[i].name, h->sizes[j].name))
        ok = report_same(e, h->sizes[i].name, "size", h->sizes[j].name.at, "size");
  if (h->result && h->result->kind == TYPE_EXPR_TUPLE)
    for (int i = 0; i < h->result->tuple.n; i++)
      for (int j = 0; j < h->params->n; j++)
        if (is_same(h->result->tuple.at[i].name, h->params->at[j].name))
          ok = report_same(e, h->result->tuple.at[i].name, "result", h->params->at[j].name.at, "parameter");
  return ok;
}

/* ---- a name that no parameter gives a value to must be declared */
static void mark_given(const TypeExpr *t, int n, SizeUnknown *unknowns, bool *given) {
  if (t->kind == TYPE_EXPR_TUPLE)
    for (int i = 0; i < t->tuple.n; i++)
      mark_given(t->tuple.at[i].type, n, unknowns, given);
  if (t->kind == TYPE_EXPR_TENSOR)
    for (int i = 0; i < t->tensor.sizes.n; i++) {
      Expr *plus;
      bool minus;
      const SizeUnknown *u = size_pattern(t->tensor.sizes.at[i], n, unknowns, &plus, &minus);
      if (u)
        given[u - unknowns] = true;
    }
}

static bool check_given(Elab *e, const Header *h) {
  SizeUnknown *unknowns = NEW_ARRAY(e->arena, SizeUnknown, h->nsizes);
  bool *given = NEW_ARRAY(e->arena, bool, h->nsizes), ok = true;
  for (int i = 0; i < h->nsizes; i++)
    unknowns[i].name = h->sizes[i].name;
  for (int i = 0; i < h->params->n; i++)
    mark_given(h->params->at[i].type, h->nsizes, unknowns, given);
  for (int i = h->ndeclared; i < h->nsizes; i++) {
    if (given[i])
      continue;
    const char *size = h->sizes[i].name.text;
    DiagMessage *m = elab_error(e, h->sizes[i].name.at, "no parameter gives size '%s' its value", size);
    diag_note(e->diag, m, h->at, "a size stands alone in a parameter's type, or plus or minus a constant");
    if (h->kinds)
      diag_mend(e->diag, m, "declare it, fn %s[%s](..), and call %s[3](..)", h->name, size, h->name);
    ok = false;
  }
  return ok;
}

/* The sizes of the result, and those inside function types, are the parameters'. */
static bool check_other_sizes(Elab *e, const Header *h, Scope *around) {
  const char *mend = h->kinds ? arena_printf(e->arena, "fn %s", h->name) : "fn f";
  Scope *before = e->scope;
  bool ok = true;
  e->scope = scope_new(e, around);
  for (int i = 0; i < h->nsizes; i++)
    scope_bind(e, BIND_SIZE, h->sizes[i].name, NULL);
  for (int i = 0; i < h->params->n; i++) {
    const TypeExpr *t = h->params->at[i].type;
    if (t->kind != TYPE_EXPR_FUNCTION)
      continue;
    for (int j = 0; j < t->function.parameters.n; j++)
      ok &= sizes_declared(e, e->scope, t->function.parameters.at[j].type, mend);
    ok &= sizes_declared(e, e->scope, t->function.result, mend);
  }
  if (h->result)
    ok &= sizes_declared(e, e->scope, h->result, mend);
  e->scope = before;
  return ok;
}

static Header *header_new(Elab *e, Function *root) {
  Header *h = NEW(e->arena, Header);
  h->name = root->name;
  h->at = root->at;
  if (root->kind == FUNCTION_LAMBDA) {
    h->params = &root->lambda->lambda.parameters;
    h->result = root->lambda->lambda.result;
    h->body = root->lambda->lambda.body;
  } else {
    h->kinds = &root->item->function.kinds;
    h->params = &root->item->function.parameters;
    h->result = root->item->function.result;
    h->body = root->item->function.body;
  }
  return h;
}

const Header *function_header(Elab *e, Function *root) {
  if (root->header)
    return root->header;
  Header *h = header_new(e, root);
  Collector c = {.e = e, .around = root->scope};
  if (root->kind == FUNCTION_ITEM)
    for (int i = 0; i < root->item->function.sizes.n; i++) {
      const SizeName size = {.name = root->item->function.sizes.at[i], .is_declared = true};
      vec_push(e->arena, c.names, size);
    }
  h->ndeclared = c.names.n;
  for (int i = 0; i < h->params->n; i++) {
    const TypeExpr *t = h->params->at[i].type;
    h->takes_functions |= t->kind == TYPE_EXPR_FUNCTION;
    h->failed |= t->kind == TYPE_EXPR_POISON;
    collect_type(&c, t);
  }
  h->nsizes = c.names.n;
  h->sizes = c.names.at;
  root->header = h;
  h->failed |= !check_names(e, h);
  h->failed |= !check_given(e, h);
  h->failed |= !check_other_sizes(e, h, root->scope);
  return h;
}

/* ---- inference of sizes */
static void infer_size(Elab *e, const Expr *x, const Size *actual, int n, SizeUnknown *unknowns) {
  Expr *plus;
  bool minus;
  SizeUnknown *u = size_pattern(x, n, unknowns, &plus, &minus);
  if (!u || u->size)
    return;
  const Size *by = plus ? elab_size(e, plus) : NULL;
  if (!plus)
    u->size = actual;
  else if (by && size_is_const(by, NULL))
    u->size = minus ? size_add(e->module, actual, by) : size_sub(e->module, actual, by);
}

void sizes_infer(Elab *e, const TypeExpr *t, const Form *actual, int n, SizeUnknown *unknowns) {
  if (t->kind == TYPE_EXPR_TUPLE) {
    if (t->tuple.n == 1)
      sizes_infer(e, t->tuple.at[0].type, actual, n, unknowns);
    else if (actual->kind == FORM_TUPLE && actual->nparts == t->tuple.n)
      for (int i = 0; i < t->tuple.n; i++)
        sizes_infer(e, t->tuple.at[i].type, actual->parts[i], n, unknowns);
    return;
  }
  if (t->kind != TYPE_EXPR_TENSOR)
    return;
  const int rank = t->tensor.sizes.n;
  const Size *const *actuals = NULL;
  if (actual->kind == FORM_TENSOR && actual->type.rank == rank)
    actuals = actual->type.dims;
  else if (actual->kind == FORM_STRUCT && actual->decl->item->structure.sizes.n == rank)
    actuals = actual->struct_sizes;
  for (int i = 0; actuals && i < rank; i++)
    infer_size(e, t->tensor.sizes.at[i], actuals[i], n, unknowns);
}

bool type_literal_kind(Elab *e, const Scope *scope, const TypeExpr *t, Kind *kind) {
  static const Kind KIND[] = {[WORD_BOOL] = KIND_BOOL,
                              [WORD_I32] = KIND_I32,
                              [WORD_I64] = KIND_I64,
                              [WORD_F32] = KIND_F32,
                              [WORD_F64] = KIND_F64};
  if (t->kind == TYPE_EXPR_TUPLE && t->tuple.n == 1)
    return type_literal_kind(e, scope, t->tuple.at[0].type, kind);
  if (t->kind == TYPE_EXPR_TENSOR)
    t = t->tensor.base;
  if (t->kind == TYPE_EXPR_WORD) {
    *kind = t->word == WORD_REAL ? e->real : KIND[t->word];
    return true;
  }
  if (t->kind != TYPE_EXPR_NAME)
    return false;
  const Binding *b = scope_lookup(scope, t->name);
  if (!b || b->kind != BIND_KIND)
    return false;
  *kind = b->float_kind;
  return true;
}
