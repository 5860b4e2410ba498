/* Tensor comprehensions: [for i < n, j: body].  One loop whose outs are stacks; the body's own axes come last.
   A filter gives 0 or false where it does not hold. */
#include "frontend/elab_loops.h"

static bool no_structs(Elab *e, const Comprehension *c, const Form *body) {
  switch (body->kind) {
  case FORM_POISON: return false;
  case FORM_TENSOR: break;
  case FORM_TUPLE:
    for (int i = 0; i < body->nparts; i++)
      if (!no_structs(e, c, body->parts[i]))
        return false;
    break;
  case FORM_STRUCT:
    elab_error(e, c->body->at, "the elements of a tensor are numbers or bools, not a struct '%s'", body->decl->name);
    return false;
  case FORM_FUNCTION:
    elab_error(e, c->body->at, "the elements of a tensor are numbers or bools, not functions");
    return false;
  }
  return true;
}

static bool ranks_fit(Elab *e, const Comprehension *c, int n, const Form **leaves) {
  for (int i = 0; i < n; i++)
    if (leaves[i]->type.rank + c->ranges.n > MAX_RANK) {
      elab_error(e, c->at, "a tensor has at most %d axes; this has %d", MAX_RANK, leaves[i]->type.rank + c->ranges.n);
      return false;
    }
  return true;
}

Form *elab_comprehension(Elab *e, const Comprehension *c, Range at, const Kind *want) {
  Nest nest;
  const Form *body = NULL, **leaves;
  int n = 0;
  bool good = nest_open(e, &nest, c, NEST_TENSOR);
  if (good) {
    body = elab_expr(e, c->body, want);
    good = no_structs(e, c, body) && nest_settle(e, &nest);
  }
  if (good) {
    form_flatten(e, body, &n, &leaves);
    good = ranks_fit(e, c, n, leaves);
  }
  if (!good) {
    nest_abandon(e, &nest);
    return form_poison(e, at);
  }
  Value **values = NEW_ARRAY(e->arena, Value *, n), **zeros = NEW_ARRAY(e->arena, Value *, n);
  OutKind *outs = NEW_ARRAY(e->arena, OutKind, n);
  for (int i = 0; i < n; i++) {
    values[i] = form_store(e, leaves[i]);
    outs[i] = OUT_STACK;
  }
  nest_filter_else(e, &nest, n, values);
  for (int i = 0; nest.filter && i < n; i++)
    zeros[i] = build_zeros(&e->b, values[i]->type);
  nest_filter_end(e, &nest, n, zeros, values);
  nest_close(e, &nest, 0, NULL, n, outs, values);
  Value *const *results = values;
  Form *result = form_unflatten(e, body, &results);
  result->at = at;
  return result;
}
