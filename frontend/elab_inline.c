/* Calls of anonymous functions, and of items that take functions: the body is elaborated at the call, in its own scope.
 */
#include "frontend/elab_core.h"

/* The frame of an earlier, unfinished call of the same item, on the way from a call to the top: a body is inside the
   call of an item, but an anonymous function is inside the function that it is written in, whoever calls it. */
static const Frame *find_frame(const Scope *at, const Function *root) {
  while (at) {
    const Frame *frame = at->frame;
    if (frame && frame->root == root)
      return frame;
    at = frame && frame->call_site ? frame->call_site : at->outer;
  }
  return NULL;
}

static bool falls(const Header *h, const Size *const *before, const Size *const *now) {
  for (int i = 0; before && now && i < h->ndeclared; i++) {
    int64_t was, is;
    if (size_is_const(before[i], &was) && size_is_const(now[i], &is) && is < was)
      return true;
  }
  return false;
}

static bool check_recursion(Elab *e, const Call *c, const Size *const *fixed) {
  const Frame *earlier = c->root->kind == FUNCTION_ITEM ? find_frame(e->scope, c->root) : NULL;
  if (!earlier || falls(c->h, earlier->given, fixed))
    return true;
  DiagMessage *m = elab_error(e, c->at, "'%s' calls itself", c->root->name);
  diag_note(e->diag, m, c->root->at, "declared here");
  return false;
}

/* Declared sizes that are constants here are known as such inside: `if n == 0` is decided. */
Form *inline_call(Elab *e, Call *c, const Size *const *fixed) {
  if (!check_recursion(e, c, fixed))
    return form_poison(e, c->at);
  c->root->is_called = true;
  e->ncalls++;
  Frame *frame = NEW(e->arena, Frame);
  *frame = (Frame){.root = c->root,
                   .ngiven = c->h->ndeclared,
                   .given = fixed,
                   .call_site = c->root->kind == FUNCTION_ITEM ? e->scope : NULL};
  c->frame->frame = frame;
  Form **args = NEW_ARRAY(e->arena, Form *, c->h->params->n);
  for (int i = 0; i < c->h->params->n; i++)
    args[i] = form_stored(e, c->args[i]);
  const Place before = place_save(e);
  e->scope = c->frame;
  e->top = c->root->top;
  e->loop = NULL;
  for (int i = 0; i < c->h->params->n; i++) {
    const Parameter *p = &c->h->params->at[i];
    Form *t = args[i];
    if (t->kind == FORM_FUNCTION)
      t = form_of_function(e, t->at, function_typed(e, t->function, c->types[i], p->name));
    scope_bind(e, BIND_LET, p->name, t);
  }
  Form *t = function_value(e, c->h);
  const Builder here = e->b;
  place_restore(e, &before);
  e->b.region = here.region;
  return t;
}
