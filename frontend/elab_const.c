/* Constants: evaluated on first use.  A scalar that folds is remembered; anything else (a tensor, a sum over a range)
   is an expression without parameters that is elaborated where it is used. */
#include "frontend/elab_core.h"

static Form *const_remember(Elab *e, ConstValue *c, Form *t) {
  double f;
  int64_t i;
  if (t->kind != FORM_TENSOR || t->type.rank) {
    c->state = CONST_EXPRESSION;
    return t;
  }
  const Value *v = form_store(e, t);
  c->kind = t->type.kind;
  c->is_literal = t->is_literal || (!c->item->constant.type && t->adapts);
  if (value_is_float_const(v, &f)) {
    c->f = f;
    c->state = CONST_SCALAR;
  } else if (value_is_int_const(v, &i)) {
    c->i = i;
    c->state = CONST_SCALAR;
  } else {
    c->state = CONST_EXPRESSION;
  }
  return t;
}

static Form *const_value(Elab *e, const ConstValue *c, Range at) {
  Form *t;
  if (kind_is_float(c->kind))
    t = form_of_value(e, at, build_float(&e->b, c->kind, c->f));
  else if (c->kind == KIND_I64)
    t = form_of_size(e, at, size_const(e->module, c->i));
  else
    t = form_of_value(e, at, build_int(&e->b, c->kind, c->i));
  t->is_literal = c->is_literal;
  t->adapts = c->is_literal && c->kind == KIND_F64;
  return t;
}

/* Values of a region around this one are there still. */
static bool is_made_here(const Elab *e, const ConstValue *c) {
  for (const Region *r = c->made ? e->b.region : NULL; r; r = r->owner ? r->owner->parent : NULL)
    if (r == c->made_in)
      return true;
  return false;
}

static Form *const_evaluate(Elab *e, ConstValue *c) {
  const Place before = place_save(e);
  const Item *item = c->item;
  e->scope = scope_new(e, c->top);
  e->scope->is_function = true;
  e->top = c->top;
  e->loop = NULL;
  e->holes = NULL;
  Form *t;
  if (item->constant.type) {
    Kind kind;
    const bool known = type_literal_kind(e, c->top, item->constant.type, &kind);
    t = elab_expr(e, item->constant.value, known ? &kind : NULL);
    const TypeForm *type = elab_type(e, item->constant.type);
    t = type ? form_check(e, t, type, arena_printf(e->arena, "constant '%s'", item->name.text)) : form_poison(e, t->at);
  } else {
    t = elab_expr(e, item->constant.value, NULL);
  }
  if (t->kind == FORM_FUNCTION) {
    DiagMessage *m = elab_error(e, item->constant.value->at, "a constant is a value, not a function");
    diag_mend(e->diag, m, "write fn %s(..) { .. }", item->name.text);
    t = form_poison(e, t->at);
  }
  t = form_stored(e, t);
  const Builder at = e->b;
  place_restore(e, &before);
  e->b.region = at.region;
  return t;
}

Form *const_form(Elab *e, Binding *binding, Range at) {
  ConstValue *c = binding->constant;
  switch (c->state) {
  case CONST_POISON: return form_poison(e, at);
  case CONST_SCALAR: return const_value(e, c, at);
  case CONST_EVALUATING: {
    DiagMessage *m = elab_error(e, at, "constant '%s' is defined by itself", binding->name);
    diag_note(e->diag, m, binding->at, "declared here");
    c->state = CONST_POISON;
    return form_poison(e, at);
  }
  case CONST_NEW:
  case CONST_EXPRESSION: break;
  }
  if (is_made_here(e, c)) {
    Form *made = form_copy(e, c->made);
    made->at = at;
    return made;
  }
  const bool is_new = c->state == CONST_NEW;
  c->state = CONST_EVALUATING;
  if (!place_has_room(e, at, binding->name)) {
    c->state = CONST_POISON;
    return form_poison(e, at);
  }
  Form *t = const_evaluate(e, c);
  if (t->kind == FORM_POISON || c->state == CONST_POISON) {
    c->state = CONST_POISON;
    return form_poison(e, at);
  }
  if (!is_new)
    c->state = CONST_EXPRESSION;
  else
    t = const_remember(e, c, t);
  if (c->state == CONST_SCALAR)
    return const_value(e, c, at);
  c->made = t;
  c->made_in = e->b.region;
  t = form_copy(e, t);
  t->at = at;
  return t;
}

void const_check(Elab *e, Binding *binding) {
  if (binding->constant->state != CONST_NEW)
    return;
  const Place before = place_save(e);
  Func *f = scratch_func(e, binding->name, binding->at);
  e->b = build_into(f, f->body);
  const_form(e, binding, binding->at);
  place_restore(e, &before);
}
