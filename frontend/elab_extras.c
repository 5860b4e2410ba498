/* The arguments of a derivative that its function does not have: seeds and tangents, which follow the function's own.
   A struct or tuple given by position counts as its parts. */
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

static bool put_named_extra(Elab *e, const Extras *x, const Argument *a, Form *t) {
  const int i = find_extra(x->func, x->from, a->name.text);
  if (i >= 0)
    return put_extra(e, x, i, t);
  DiagMessage *m = elab_error(e, a->name.at, "'%s' has no parameter '%s'", x->name, a->name.text);
  NearMiss near = near_miss_of(a->name.text);
  for (int j = 0; j < x->func->body->nparams; j++)
    near_miss_try(&near, x->func->body->params[j]->name);
  near_miss_mend(e, &near, m);
  return false;
}

bool call_extras(Elab *e, const Extras *x, const ArgumentList *arguments, Range at) {
  const int n = x->func->body->nparams;
  int next = x->from;
  bool ok = true;
  for (int i = 0; i < arguments->n; i++) {
    const Argument *a = &arguments->at[i];
    const int place = a->name.text ? find_extra(x->func, x->from, a->name.text) : next;
    const Kind *want = place >= 0 && place < n ? &x->func->body->params[place]->type.kind : NULL;
    const Form *t = elab_expr(e, a->value, want);
    const Form **leaves;
    int nleaves;
    form_flatten(e, t, &nleaves, &leaves);
    if (t->kind == FORM_POISON || t->kind == FORM_FUNCTION) {
      ok = false;
      if (t->kind == FORM_FUNCTION)
        elab_error(e, t->at, "a function is no argument of a derivative");
    } else if (a->name.text) {
      ok &= nleaves == 1 ? put_named_extra(e, x, a, form_copy(e, leaves[0])) : false;
      if (nleaves != 1)
        elab_error(e, t->at, "argument '%s' of '%s' is a single tensor, not %s", a->name.text, x->name,
                   form_text(e, t));
    }
    for (int j = 0; j < nleaves && !a->name.text; j++) {
      if (next >= n) {
        elab_error(e, a->at, "too many arguments: '%s' takes %d", x->name, n - x->func->nsizes);
        return false;
      }
      ok &= put_extra(e, x, next++, form_copy(e, leaves[j]));
    }
  }
  for (int i = x->from; ok && i < n; i++)
    if (!x->operands[i]) {
      elab_error(e, at, "argument '%s' of '%s' is missing", x->func->body->params[i]->name, x->name);
      ok = false;
    }
  return ok;
}
