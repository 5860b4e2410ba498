/* Assignment: to names, elements, rows, slices, gathers, fields, tuples of these; plain and compound.
   The target is changed from the inside out: a new tensor with some elements replaced, a new struct with that field,
   and at last the var stands for the new value. */
#include "frontend/elab_assign.h"

/* ---- names */
static bool is_assignable(Elab *e, const Expr *x, Binding *b) {
  DiagMessage *m;
  const char *name = x->name;
  if (b->kind == BIND_POISON)
    return false;
  if (b->kind == BIND_VAR && b->func == e->b.func && b->loop_depth >= e->comprehension_depth)
    return true;
  if (b->kind == BIND_VAR && b->func == e->b.func) {
    m = elab_error(e, x->at, "a comprehension cannot assign to '%s', which is declared outside of it", name);
    diag_note(e->diag, m, b->at, "declared here; the iterations of a comprehension have no order");
    return false;
  }
  if (b->kind == BIND_VAR || b->is_captured) {
    m = elab_error(e, x->at, "a function cannot assign to '%s', which is declared outside of it", name);
    diag_note(e->diag, m, b->at, "declared here");
    return false;
  }
  static const char *const what[] = {[BIND_LET] = "a let, a parameter or an index",
                                     [BIND_SIZE] = "a size",
                                     [BIND_CONST] = "a const",
                                     [BIND_FUNCTION] = "a function",
                                     [BIND_STRUCT] = "a struct",
                                     [BIND_KIND] = "a kind"};
  m = elab_error(e, x->at, "'%s' cannot be assigned: it is %s", name, what[b->kind]);
  diag_note(e->diag, m, b->at, "declared here");
  if (b->kind == BIND_LET)
    diag_mend(e->diag, m, "declare a var: var %s = ..;", name);
  return false;
}

static Binding *target_binding(Elab *e, Expr *x) {
  Binding *b = scope_find(e, x->name);
  if (!b) {
    const Form *f = elab_name(e, x); /* reports what is not known at all */
    if (f->kind != FORM_POISON)
      elab_error(e, x->at, "'%s' cannot be assigned", x->name);
    return NULL;
  }
  return is_assignable(e, x, b) ? b : NULL;
}

/* ---- the value, as what it replaces */
static Form *same_type(Elab *e, const Change *c, const Form *now, const Form *v);

static Form *same_tensor(Elab *e, const Change *c, const Form *now, const Form *v) {
  const char *have = form_text(e, v), *need = form_text(e, now);
  if (c->var && kind_is_float(v->type.kind) && !kind_is_float(now->type.kind)) {
    DiagMessage *m = elab_error(e, c->value_at, "this is %s, but '%s' is %s", have, c->var->name, need);
    diag_note(e->diag, m, c->var->at, "'%s' took its kind here", c->var->name);
    if (!now->type.rank)
      diag_mend(e->diag, m, "declare it as a float, var %s = 0.0;, or convert the value: %s(..)", c->var->name,
                kind_name[now->type.kind]);
    return form_poison(e, c->at);
  }
  const Form *f = form_convert(e, v, now->type.kind, "the assigned value");
  if (f->kind == FORM_POISON)
    return form_poison(e, c->at);
  if (f->type.rank != now->type.rank) {
    elab_error(e, c->value_at, "this is %s; the target is %s", have, need);
    return form_poison(e, c->at);
  }
  for (int i = 0; i < f->type.rank; i++)
    if (!sizes_agree(e, c->value_at, now->type.dims[i], f->type.dims[i], "the target and the assigned value"))
      return form_poison(e, c->at);
  return form_with_dims(e, f, now->type.dims);
}

static Form *same_parts(Elab *e, const Change *c, const Form *now, const Form *v) {
  Form *f = form_copy(e, now);
  f->parts = NEW_ARRAY(e->arena, Form *, now->nparts);
  for (int i = 0; i < now->nparts; i++) {
    f->parts[i] = same_type(e, c, now->parts[i], v->parts[i]);
    if (f->parts[i]->kind == FORM_POISON)
      return f->parts[i];
  }
  return f;
}

static Form *same_type(Elab *e, const Change *c, const Form *now, const Form *v) {
  if (now->kind == FORM_TENSOR && v->kind == FORM_TENSOR)
    return same_tensor(e, c, now, v);
  const bool parts = now->kind == v->kind && now->nparts == v->nparts && now->decl == v->decl;
  if ((now->kind == FORM_TUPLE || now->kind == FORM_STRUCT) && parts)
    return same_parts(e, c, now, v);
  elab_error(e, c->value_at, "this is %s; the target is %s", form_text(e, v), form_text(e, now));
  return form_poison(e, c->at);
}

/* ---- targets */
static Form *target_now(Elab *e, Expr *x);

/* The tensor that brackets, one or several, are put behind; *plan: what they denote. */
static Form *target_part(Elab *e, Expr *x, const IndexPlan **plan) {
  const Bracket *b = &x->bracket;
  const IndexPlan *outer = NULL;
  Form *base = b->base->kind == EXPR_BRACKET ? target_part(e, b->base, &outer) : target_now(e, b->base);
  if (!base)
    return NULL;
  if (!b->items) {
    elab_error(e, b->not_items, "an index holds no range; a slice is written a:b");
    return NULL;
  }
  if (base->kind != FORM_TENSOR) {
    elab_error(e, x->at, "a value of type %s is not indexed", form_text(e, base));
    return NULL;
  }
  if (outer && plan_leading(outer) < 0) {
    DiagMessage *m = elab_error(e, x->at, "assignment to a part of a slice or gather");
    diag_mend(e->diag, m, "index once: a[.., ..] = ..;");
    return NULL;
  }
  *plan = outer ? plan_continue(e, x->at, outer, b->items) : plan_index(e, x->at, base, b->items);
  return *plan ? base : NULL;
}

/* What a target without brackets holds now; NULL after an error. */
static Form *target_now(Elab *e, Expr *x) {
  if (x->kind == EXPR_NAME) {
    Binding *b = target_binding(e, x);
    return b ? b->form : NULL;
  }
  if (x->kind == EXPR_FIELD) {
    Form *base = target_now(e, x->field.base);
    const int i = base ? field_find(e, x, base) : -1;
    return i < 0 ? NULL : base->parts[i];
  }
  if (x->kind == EXPR_BRACKET)
    elab_error(e, x->at, "the elements of a tensor have no fields");
  else if (x->kind != EXPR_POISON)
    elab_error(e, x->at, "this cannot be assigned; a target is a var, its elements, slices or fields");
  return NULL;
}

/* Lets a target without brackets hold `v`, which is of the right type. */
static void target_set(Elab *e, Expr *x, const Form *v) {
  if (x->kind == EXPR_NAME) {
    Binding *b = scope_find(e, x->name);
    b->form = var_form(e, v);
    return;
  }
  Form *base = form_copy(e, target_now(e, x->field.base));
  const int i = field_find(e, x, base);
  Form **parts = NEW_ARRAY(e->arena, Form *, base->nparts);
  for (int k = 0; k < base->nparts; k++)
    parts[k] = k == i ? var_form(e, v) : base->parts[k];
  base->parts = parts;
  target_set(e, x->field.base, base);
}

static void assign_to(Elab *e, Expr *x, const Change *c) {
  if (x->kind == EXPR_BRACKET) {
    const IndexPlan *plan = NULL;
    Form *base = target_part(e, x, &plan);
    if (!base)
      return;
    if (c->value->kind != FORM_TENSOR) {
      elab_error(e, c->value_at, "this is %s; the elements of a tensor are numbers or bools", form_text(e, c->value));
      return;
    }
    Form *changed = assign_part(e, c, plan, base);
    while (x->kind == EXPR_BRACKET)
      x = x->bracket.base;
    if (changed->kind != FORM_POISON)
      target_set(e, x, changed);
    return;
  }
  const Form *now = target_now(e, x), *v = c->value;
  if (!now)
    return;
  if (c->is_compound) {
    if (now->kind != FORM_TENSOR || v->kind != FORM_TENSOR) {
      elab_error(e, c->at, "'%s=' takes numbers, not %s and %s", binary_op_text(c->op), form_text(e, now),
                 form_text(e, v));
      return;
    }
    v = operator_binary(e, c->at, c->op, c->op_at, now, v);
    if (v->kind == FORM_POISON)
      return;
  }
  Change whole = *c;
  whole.var = x->kind == EXPR_NAME ? scope_find(e, x->name) : NULL;
  v = same_type(e, &whole, now, v);
  if (v->kind != FORM_POISON)
    target_set(e, x, v);
}

static void assign_tuple(Elab *e, Expr *x, const Change *c) {
  if (x->kind != EXPR_TUPLE) {
    assign_to(e, x, c);
    return;
  }
  if (c->value->kind != FORM_TUPLE || c->value->nparts != x->tuple.n) {
    elab_error(e, c->value_at, "this is %s; there are %d targets", form_text(e, c->value), x->tuple.n);
    return;
  }
  for (int i = 0; i < x->tuple.n; i++) {
    Change part = *c;
    part.value = c->value->parts[i];
    assign_tuple(e, x->tuple.at[i], &part);
  }
}

/* The kind that a literal takes as the value of a plain assignment, where the var is a tensor or scalar. */
static const Kind *wanted_kind(Elab *e, const Expr *x) {
  while (x->kind == EXPR_BRACKET)
    x = x->bracket.base;
  const Binding *b = x->kind == EXPR_NAME ? scope_find(e, x->name) : NULL;
  return b && b->kind == BIND_VAR && b->form->kind == FORM_TENSOR ? &b->form->type.kind : NULL;
}

void elab_assign(Elab *e, Stmt *s) {
  Change c = {.at = s->at, .op_at = s->assign.op_at, .is_compound = s->assign.is_compound, .op = s->assign.op};
  Expr *target = s->assign.target;
  c.value_at = s->assign.value->at;
  c.value = elab_expr(e, s->assign.value, c.is_compound ? NULL : wanted_kind(e, target));
  if (c.value->kind == FORM_POISON)
    return;
  if (target->kind == EXPR_TUPLE && c.is_compound) {
    elab_error(e, target->at, "'%s=' has one target", binary_op_text(c.op));
    return;
  }
  if (target->kind == EXPR_TUPLE)
    c.value = form_stored(e, c.value); /* all of it before the first target changes */
  assign_tuple(e, target, &c);
}
