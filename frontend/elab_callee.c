/* What a call calls: a struct's constructor, a kind, a function, a derivative operator, a built-in function. */
#include "frontend/elab_core.h"
#include <string.h>

/* ---- zeros[n], full[n](v) */
bool expr_is_filled(Elab *e, const Expr *x) {
  return x->kind == EXPR_BRACKET && x->bracket.base->kind == EXPR_NAME && builtin_is_filled(x->bracket.base->name) &&
         !scope_lookup(e->scope, x->bracket.base->name);
}

const ExprList *bracket_sizes(Elab *e, const Bracket *b, const char *what) {
  ExprList *sizes = NEW(e->arena, ExprList);
  if (!b->items) {
    elab_error(e, b->not_items, "%s takes sizes in brackets", what);
    return NULL;
  }
  for (int i = 0; i < b->items->n; i++) {
    if (b->items->at[i].is_slice) {
      elab_error(e, b->items->at[i].at, "%s takes sizes in brackets, not a slice", what);
      return NULL;
    }
    vec_push(e->arena, *sizes, b->items->at[i].index);
  }
  return sizes;
}

static Form *call_filled(Elab *e, Expr *x, const Kind *want) {
  Expr *callee = x->call.callee;
  const char *name = callee->bracket.base->name;
  const ExprList *sizes = bracket_sizes(e, &callee->bracket, arena_printf(e->arena, "'%s'", name));
  if (!sizes)
    return form_poison(e, x->at);
  if (x->call.arguments.n == 1 && !x->call.arguments.at[0].name.text && !strcmp(name, "full"))
    return builtin_filled(e, x, name, sizes, x->call.arguments.at[0].value, NULL, want);
  DiagMessage *m = elab_error(e, x->at, strcmp(name, "full") ? "'%s' is not called" : "'%s' takes one value", name);
  diag_mend(e->diag, m, strcmp(name, "full") ? "write %s[..]" : "write %s[..](v)", name);
  return form_poison(e, x->at);
}

/* ---- a generic function's kind: T(x) */
static Form *call_kind(Elab *e, Expr *x, const Binding *b) {
  if (x->call.arguments.n != 1 || x->call.arguments.at[0].name.text) {
    elab_error(e, x->at, "the conversion '%s(..)' takes one value", b->name);
    return form_poison(e, x->at);
  }
  const Form *t = elab_tensor(e, x->call.arguments.at[0].value, NULL);
  return t->kind == FORM_POISON ? form_poison(e, x->at) : operator_cast(e, x->at, b->float_kind, t);
}

/* ---- */
static void evaluate_for_errors(Elab *e, const Expr *x) {
  for (int i = 0; i < x->call.arguments.n; i++)
    elab_expr(e, x->call.arguments.at[i].value, NULL);
}

static Form *call_value(Elab *e, Expr *x) {
  const Form *callee = elab_expr(e, x->call.callee, NULL);
  if (callee->kind == FORM_FUNCTION)
    return function_call(e, callee->function, &x->call.arguments, x->at);
  if (callee->kind != FORM_POISON) {
    DiagMessage *m = elab_error(e, x->call.callee->at, "this is called, but is %s", form_text(e, callee));
    if (callee->kind == FORM_TENSOR && callee->type.rank)
      diag_mend(e->diag, m, "an element is written with [ ]");
  }
  evaluate_for_errors(e, x);
  return form_poison(e, x->at);
}

static Form *call_predeclared(Elab *e, Expr *x, const char *name) {
  DeriveOp op;
  DeriveOptions none = {0};
  if (derive_operator(name, &op))
    return derive_expression(e, x, op, &none);
  const Builtin *builtin = builtin_find(name);
  return builtin ? builtin_call(e, builtin, x) : call_value(e, x);
}

static Form *call_var(Elab *e, const Expr *x) {
  Expr *callee = NEW(e->arena, Expr), *call = NEW(e->arena, Expr);
  callee->kind = EXPR_NAME;
  callee->at = x->at;
  callee->name = arena_name(e->arena, "variance");
  call->kind = EXPR_CALL;
  call->at = x->at;
  call->call.callee = callee;
  call->call.arguments = x->var_call;
  return call_predeclared(e, call, callee->name);
}

Form *elab_call(Elab *e, Expr *x, const Kind *want) {
  if (x->kind == EXPR_VAR_CALL)
    return call_var(e, x);
  const Expr *callee = x->call.callee;
  if (expr_is_filled(e, callee))
    return call_filled(e, x, want);
  const bool is_sized = callee->kind == EXPR_BRACKET && callee->bracket.base->kind == EXPR_NAME;
  const char *name = callee->kind == EXPR_NAME ? callee->name : is_sized ? callee->bracket.base->name : NULL;
  const Binding *b = name ? scope_find(e, name) : NULL;
  if (b && b->kind == BIND_STRUCT) {
    const ExprList *sizes = is_sized ? bracket_sizes(e, &callee->bracket, "a struct") : NULL;
    return is_sized && !sizes ? form_poison(e, x->at) : struct_construct(e, x, b->decl, sizes);
  }
  if (b && b->kind == BIND_KIND && !is_sized)
    return call_kind(e, x, b);
  if (name && !b && !is_sized)
    return call_predeclared(e, x, name);
  return call_value(e, x);
}
