/* Own rules of functions that take functions.  Such a function is lifted once for each choice of these, and its rules
   are made along with it: in them a function parameter is what it is in the function, and what it captures there the
   rule has as parameters too.  So that all choices of these are known before the first call is made, every function
   that is given is called once, into a region that is thrown away. */
#include "frontend/elab_core.h"
#include "frontend/elab_lift.h"
#include "ir/raw.h"

/* Of a declared type, over parameters of the region: nothing is decided while compiling. x: the type as written. */
static Form *placeholder(Elab *e, Region *r, const TypeForm *t, const TypeExpr *x, Name name) {
  if (t->kind == FORM_FUNCTION)
    return form_of_function(e, name.at, function_typed(e, function_unknown(e, x, name), (TypeForm *)t, name));
  if (t->kind == FORM_TENSOR)
    return form_of_value(e, name.at, region_add_param(e->module, r, t->type, NULL));
  Form *f = form_like_type(e, t, name.at);
  for (int i = 0; i < t->nparts; i++)
    f->parts[i] = placeholder(e, r, t->parts[i], NULL, name);
  return f;
}

static void call_once(Elab *e, const Parameter *p, Function *f) {
  ArgumentList arguments = {0};
  Scope *scope = scope_push(e);
  for (int i = 0; i < f->type->nparts; i++) {
    const TypeExpr *x = p->type->function.parameters.at[i].type;
    Form *t = placeholder(e, e->b.region, f->type->parts[i], x, p->name);
    const Argument a = {.value = expr_of_form(e, i, p->at, t), .at = p->at};
    vec_push(e->arena, arguments, a);
  }
  function_call(e, f, &arguments, p->at);
  scope_pop(e, scope);
}

void rules_capture(Elab *e, Lowered *l, const Header *h) {
  const Builder before = e->b;
  for (int i = 0; i < h->params->n; i++) {
    const Parameter *p = &h->params->at[i];
    const Binding *b = p->type->kind == TYPE_EXPR_FUNCTION ? scope_lookup(e->scope, p->name.text) : NULL;
    if (!b || !b->form || b->form->kind != FORM_FUNCTION)
      continue;
    e->b = build_into(l->func, region_new(e->module, l->func, NULL));
    e->b.loc = p->at;
    call_once(e, p, b->form->function);
  }
  e->b = before;
}

/* Values that the function captures come after its own parameters; sizes among its sizes. */
void rules_count_captured(Lowered *l) {
  l->func->ncaptured = 0;
  for (int i = 0; l->lift && i < l->lift->captures.n; i++)
    l->func->ncaptured += l->lift->captures.at[i].to->index >= l->func->nsizes;
}

Lift *rules_lift(Elab *e, const Lowered *l, Func *rule, const ValueMap *map) {
  if (!l->lift)
    return NULL;
  Lift *lift = NEW(e->arena, Lift);
  *lift = (Lift){.outer = l->lift->outer, .around = l->lift->around, .func = rule};
  for (int i = 0; i < l->lift->captures.n; i++) {
    const Capture c = {.from = l->lift->captures.at[i].from, .to = map_get(map, l->lift->captures.at[i].to)};
    vec_push(e->arena, lift->captures, c);
  }
  return lift;
}
