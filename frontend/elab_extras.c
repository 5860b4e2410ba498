/* The arguments of a derivative that its function does not have: seeds and tangents, which follow the function's own.
   A struct or tuple counts as the floats among its parts. */
#include "frontend/elab_core.h"

static int find_extra(const Func *f, int from, const char *name) {
  for (int i = from; i < f->body->nparams; i++)
    if (f->body->params[i]->name == name)
      return i;
  return -1;
}

static const Size *size_of_operand(Value *v, void *arg) {
  const Extras *x = arg;
  if (v->def || v->region != x->func->body)
    return NULL;
  return size_of_value(x->func->module, x->operands[v->index]);
}

static bool put_extra(Elab *e, const Extras *x, int i, Form *t) {
  const Value *param = x->func->body->params[i];
  if (x->operands[i]) {
    elab_error(e, t->at, "argument '%s' is given twice", param->name);
    return false;
  }
  const TypeForm want = {.kind = FORM_TENSOR, .type = type_map(e->module, param->type, size_of_operand, (void *)x)};
  Form *checked = form_check(e, t, &want, arena_printf(e->arena, "argument '%s' of '%s'", param->name, x->name));
  if (checked->kind == FORM_POISON)
    return false;
  x->operands[i] = form_store(e, checked);
  return true;
}

static bool put_named_extra(Elab *e, const Extras *x, const char *name, Range at, Form *t) {
  const int i = find_extra(x->func, x->from, name);
  if (i >= 0)
    return put_extra(e, x, i, t);
  DiagMessage *m = elab_error(e, at, "'%s' has no parameter '%s'", x->name, name);
  NearMiss near = near_miss_of(name);
  for (int j = 0; j < x->func->body->nparams; j++)
    near_miss_try(&near, x->func->body->params[j]->name);
  near_miss_mend(e, &near, m);
  return false;
}

/* The floats that a struct or tuple is made of, called as the parameters that they are for: t_p_w of t_p. */
typedef struct Parts {
  VEC(const Form *) forms;
  VEC(const char *) names; /* NULL: given by position */
} Parts;

static void add_parts(Elab *e, const Form *t, const char *name, Parts *parts) {
  for (int i = 0; i < t->nparts; i++) {
    const char *part = t->kind == FORM_STRUCT ? t->decl->item->structure.fields.at[i].name.text
                       : t->part_names        ? t->part_names[i]
                                              : NULL;
    if (name && part)
      part = arena_name(e->arena, arena_printf(e->arena, "%s_%s", name, part));
    else if (name)
      part = arena_name(e->arena, arena_printf(e->arena, "%s_%d", name, i));
    add_parts(e, t->parts[i], name ? part : NULL, parts);
    if (t->parts[i]->kind != FORM_TENSOR || !kind_is_float(t->parts[i]->type.kind))
      continue;
    vec_push(e->arena, parts->forms, t->parts[i]);
    vec_push(e->arena, parts->names, name ? part : NULL);
  }
}

/* One argument; *next is the place of what is given by position. */
static bool put_argument(Elab *e, const Extras *x, const Argument *a, int *next) {
  const int n = x->func->body->nparams;
  const int place = a->name.text ? find_extra(x->func, x->from, a->name.text) : *next;
  const Kind *want = place >= 0 && place < n ? &x->func->body->params[place]->type.kind : NULL;
  const Form *t = elab_expr(e, a->value, want);
  if (t->kind == FORM_FUNCTION)
    elab_error(e, t->at, "a function is no argument of a derivative");
  if (t->kind == FORM_POISON || t->kind == FORM_FUNCTION)
    return false;
  Parts parts = {0};
  if (t->kind == FORM_TENSOR) {
    vec_push(e->arena, parts.forms, t);
    vec_push(e->arena, parts.names, a->name.text);
  } else {
    add_parts(e, t, a->name.text, &parts);
  }
  bool ok = true;
  for (int j = 0; j < parts.forms.n; j++) {
    if (!parts.names.at[j] && *next >= n) {
      elab_error(e, a->at, "too many arguments: '%s' takes %d", x->name, n - x->func->nsizes);
      return false;
    }
    Form *part = form_copy(e, parts.forms.at[j]);
    part->at = t->at;
    if (parts.names.at[j])
      ok &= put_named_extra(e, x, parts.names.at[j], a->name.at, part);
    else
      ok &= put_extra(e, x, (*next)++, part);
  }
  return ok;
}

bool call_extras(Elab *e, const Extras *x, const ArgumentList *arguments, Range at) {
  int next = x->from;
  bool ok = true;
  for (int i = 0; i < arguments->n; i++)
    ok &= put_argument(e, x, &arguments->at[i], &next);
  for (int i = x->from; ok && i < x->func->body->nparams; i++)
    if (!x->operands[i]) {
      elab_error(e, at, "argument '%s' of '%s' is missing", x->func->body->params[i]->name, x->name);
      ok = false;
    }
  return ok;
}
