/* Arguments of a call: evaluated, kinds and sizes inferred from them, converted to what the parameters' types say. */
#include "frontend/elab_core.h"
#include "frontend/elab_lift.h"

/* ---- kinds of generic functions */
typedef struct KindUnknown {
  bool known, is_bound;
  Kind kind;
  Range at;
} KindUnknown;

static int generic_index(const Header *h, const TypeExpr *t) {
  if (t->kind == TYPE_EXPR_TENSOR)
    t = t->tensor.base;
  for (int i = 0; t->kind == TYPE_EXPR_NAME && h->kinds && i < h->kinds->n; i++)
    if (h->kinds->at[i].text == t->name)
      return i;
  return -1;
}

static bool infer_kind(Elab *e, const Header *h, const TypeExpr *t, const Form *actual, KindUnknown *kinds) {
  if (t->kind == TYPE_EXPR_TUPLE) {
    bool ok = true;
    if (t->tuple.n == 1)
      return infer_kind(e, h, t->tuple.at[0].type, actual, kinds);
    for (int i = 0; actual->kind == FORM_TUPLE && i < actual->nparts && i < t->tuple.n; i++)
      ok &= infer_kind(e, h, t->tuple.at[i].type, actual->parts[i], kinds);
    return ok;
  }
  const int i = generic_index(h, t);
  if (i < 0 || !h->kinds || actual->kind != FORM_TENSOR || !kind_is_float(actual->type.kind) || actual->is_literal ||
      actual->adapts)
    return true;
  if (kinds[i].known && kinds[i].kind != actual->type.kind) {
    const char *name = h->kinds->at[i].text;
    DiagMessage *m = elab_error(e, actual->at, "kind '%s' of '%s' is %s here, but %s before", name, h->name,
                                kind_name[actual->type.kind], kind_name[kinds[i].kind]);
    diag_note(e->diag, m, kinds[i].at, "it is %s by this argument", kind_name[kinds[i].kind]);
    diag_mend(e->diag, m, "convert one of them: f64(..)");
    return false;
  }
  kinds[i] = (KindUnknown){.known = true, .kind = actual->type.kind, .at = actual->at};
  return true;
}

/* Of a function type's parts, the kinds of the actual function's written types. */
static void infer_from_function(Elab *e, const Header *h, const TypeExpr *t, const Form *actual, KindUnknown *kinds) {
  const Function *f = actual->function;
  while (f->kind == FUNCTION_DERIVED || f->kind == FUNCTION_SIZED)
    f = f->of;
  const ParameterList *params = NULL;
  if (f->kind == FUNCTION_TYPED) {
    for (int i = 0; i < t->function.parameters.n && i < f->type->nparts; i++) {
      const int k = generic_index(h, t->function.parameters.at[i].type);
      if (k >= 0 && !kinds[k].known && f->type->parts[i]->kind == FORM_TENSOR)
        kinds[k] = (KindUnknown){.known = true, .kind = f->type->parts[i]->type.kind, .at = actual->at};
    }
    return;
  }
  params = function_header(e, (Function *)f)->params;
  for (int i = 0; i < t->function.parameters.n && i < params->n; i++) {
    const int k = generic_index(h, t->function.parameters.at[i].type);
    Kind kind;
    if (k >= 0 && !kinds[k].known && type_literal_kind(e, f->scope, params->at[i].type, &kind) && kind_is_float(kind))
      kinds[k] = (KindUnknown){.known = true, .kind = kind, .at = actual->at};
  }
}

/* Literals and filled tensors take the kind of the parameter, and so are looked at after the others. */
static bool is_flexible(Elab *e, const Expr *x) {
  switch (x->kind) {
  case EXPR_INT:
  case EXPR_FLOAT: return true;
  case EXPR_UNARY: return is_flexible(e, x->unary.operand);
  case EXPR_CALL: return is_flexible(e, x->call.callee);
  case EXPR_BRACKET:
    return x->bracket.base->kind == EXPR_NAME && !scope_lookup(e->scope, x->bracket.base->name) &&
           builtin_is_filled(x->bracket.base->name);
  case EXPR_ARRAY:
    for (int i = 0; i < x->array.n; i++)
      if (!is_flexible(e, x->array.at[i]))
        return false;
    return true;
  default: return false;
  }
}

/* ---- arguments */
static bool evaluate(Elab *e, Call *c, int i, Expr *x) {
  const TypeExpr *t = c->h->params->at[i].type;
  Kind kind;
  const bool known = type_literal_kind(e, c->frame, t, &kind);
  c->args[i] = elab_expr(e, x, known ? &kind : NULL);
  if (c->args[i]->kind == FORM_POISON)
    return false;
  if ((t->kind == TYPE_EXPR_FUNCTION) == (c->args[i]->kind == FORM_FUNCTION))
    return true;
  DiagMessage *m =
      elab_error(e, x->at, "argument '%s' of '%s' is %s where %s is declared", c->h->params->at[i].name.text,
                 c->h->name, form_text(e, c->args[i]), t->kind == TYPE_EXPR_FUNCTION ? "a function" : "a value");
  diag_note(e->diag, m, c->h->params->at[i].at, "declared here");
  return false;
}

/* In the frame; at the end those too that nothing tells. */
static void bind_kinds(Elab *e, Call *c, KindUnknown *kinds, bool at_end) {
  Scope *before = e->scope;
  e->scope = c->frame;
  for (int i = 0; c->h->kinds && i < c->h->kinds->n; i++) {
    if (kinds[i].is_bound || !(kinds[i].known || at_end))
      continue;
    kinds[i].is_bound = true;
    c->kinds[i] = kinds[i].known ? kinds[i].kind : KIND_F64;
    scope_bind(e, BIND_KIND, c->h->kinds->at[i], NULL)->float_kind = c->kinds[i];
  }
  e->scope = before;
}

static bool evaluate_and_infer(Elab *e, Call *c, int i, Expr *x, KindUnknown *kinds) {
  return evaluate(e, c, i, x) && infer_kind(e, c->h, c->h->params->at[i].type, c->args[i], kinds);
}

static bool evaluate_arguments(Elab *e, Call *c, Expr **given) {
  const Header *h = c->h;
  const int nkinds = h->kinds ? h->kinds->n : 0;
  KindUnknown *kinds = NEW_ARRAY(e->arena, KindUnknown, nkinds);
  bool ok = true;
  c->args = NEW_ARRAY(e->arena, Form *, h->params->n);
  c->kinds = NEW_ARRAY(e->arena, Kind, nkinds);
  for (int i = 0; i < h->params->n; i++)
    if (generic_index(h, h->params->at[i].type) < 0 || !is_flexible(e, given[i]))
      ok &= evaluate_and_infer(e, c, i, given[i], kinds);
  for (int i = 0; i < h->params->n; i++)
    if (c->args[i] && c->args[i]->kind == FORM_FUNCTION && h->params->at[i].type->kind == TYPE_EXPR_FUNCTION)
      infer_from_function(e, h, h->params->at[i].type, c->args[i], kinds);
  bind_kinds(e, c, kinds, false);
  for (int i = 0; i < h->params->n; i++)
    if (!c->args[i])
      ok &= evaluate_and_infer(e, c, i, given[i], kinds);
  bind_kinds(e, c, kinds, true);
  return ok;
}

/* ---- sizes */
static bool infer_all_sizes(Elab *e, Call *c, const Function *sized) {
  const Header *h = c->h;
  SizeUnknown *unknowns = NEW_ARRAY(e->arena, SizeUnknown, h->nsizes);
  c->sizes = NEW_ARRAY(e->arena, const Size *, h->nsizes);
  for (int i = 0; i < h->nsizes; i++) {
    unknowns[i].name = h->sizes[i].name;
    if (sized && i < h->ndeclared)
      unknowns[i].size = lift_size(e, sized->given[i]);
  }
  Scope *before = e->scope;
  e->scope = c->frame;
  for (int i = 0; i < h->params->n; i++)
    sizes_infer(e, h->params->at[i].type, c->args[i], h->nsizes, unknowns);
  bool ok = true;
  for (int i = 0; i < h->nsizes; i++) {
    const char *name = h->sizes[i].name.text;
    c->sizes[i] = unknowns[i].size;
    if (c->sizes[i]) {
      ok &= size_check(e, c->at, c->sizes[i]);
    } else if (h->sizes[i].is_declared) {
      DiagMessage *m = elab_error(e, c->at, "'%s' needs its size%s", h->name, h->ndeclared == 1 ? "" : "s");
      diag_note(e->diag, m, h->sizes[i].name.at, "size '%s' is declared here", name);
      diag_mend(e->diag, m, "write %s[3](..)", h->name);
      ok = false;
      break;
    }
    if (!c->sizes[i]) /* an argument has another rank, which will be reported: a size to report it with */
      c->sizes[i] = size_atom(e->module, func_add_param(e->b.func, type_scalar(KIND_I64), name));
    scope_bind(e, BIND_SIZE, h->sizes[i].name, NULL)->size = c->sizes[i];
  }
  e->scope = before;
  return ok;
}

/* ---- arguments against the parameters' types */
static bool check_function_argument(Elab *e, const Call *c, int i, const TypeForm *type) {
  const Function *f = c->args[i]->function;
  int n;
  if (f->kind == FUNCTION_TYPED)
    n = f->type->nparts;
  else if (f->kind == FUNCTION_DERIVED)
    return true; /* seeds and tangents are known at the call */
  else
    n = function_header(e, function_root((Function *)f))->params->n;
  if (n == type->nparts)
    return true;
  DiagMessage *m = elab_error(e, c->args[i]->at, "argument '%s' of '%s' takes %d argument%s where %d %s needed",
                              c->h->params->at[i].name.text, c->h->name, n, n == 1 ? "" : "s", type->nparts,
                              type->nparts == 1 ? "is" : "are");
  diag_note(e->diag, m, c->h->params->at[i].at, "declared here");
  return false;
}

static bool check_arguments(Elab *e, Call *c) {
  const Header *h = c->h;
  bool ok = true;
  c->types = NEW_ARRAY(e->arena, TypeForm *, h->params->n);
  for (int i = 0; i < h->params->n; i++) {
    Scope *before = e->scope;
    e->scope = c->frame;
    TypeForm *type = c->types[i] = elab_type(e, h->params->at[i].type);
    e->scope = before;
    if (!type) {
      ok = false;
    } else if (type->kind == FORM_FUNCTION) {
      ok &= check_function_argument(e, c, i, type);
    } else {
      const char *what = arena_printf(e->arena, "argument '%s' of '%s'", h->params->at[i].name.text, h->name);
      c->args[i] = form_check(e, c->args[i], type, what);
      ok &= c->args[i]->kind != FORM_POISON;
    }
  }
  return ok;
}

bool call_prepare(Elab *e, Call *c, Expr **given, const Function *sized) {
  c->frame = scope_new(e, c->root->scope);
  c->frame->is_function = true;
  return evaluate_arguments(e, c, given) && infer_all_sizes(e, c, sized) && check_arguments(e, c);
}
