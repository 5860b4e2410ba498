/* Anonymous functions.  Their bodies are elaborated at their calls; those that nothing calls are looked at when the
   function around them ends, so that their errors show. */
#include "frontend/elab_core.h"

Form *elab_lambda(Elab *e, Expr *x) {
  Function *f = NEW(e->arena, Function);
  f->kind = FUNCTION_LAMBDA;
  f->name = "fn";
  f->at = x->at;
  f->lambda = x;
  f->top = e->top;
  f->scope = scope_snapshot(e);
  vec_push(e->arena, e->lambdas->list, f);
  return form_of_function(e, x->at, f);
}

/* The same text may have been met before, in a body that is elaborated at its calls. */
static bool was_seen(const Lambdas *l, int until, const Expr *x) {
  for (int i = 0; i < until; i++)
    if (l->list.at[i]->lambda == x && (l->list.at[i]->is_called || l->list.at[i]->lowered.n))
      return true;
  return false;
}

void lambdas_check(Elab *e, int from) {
  Lambdas *l = e->lambdas;
  const int n = l->list.n;
  for (int i = from; i < n; i++) {
    Function *f = l->list.at[i];
    const Header *h = function_header(e, f);
    if (h->failed || f->is_called || f->lowered.n || was_seen(l, n, f->lambda))
      continue;
    const LowerKey key = {.functions = NEW_ARRAY(e->arena, Function *, h->params->n)};
    function_lower(e, f, &key, f->at);
  }
  l->list.n = from;
}
