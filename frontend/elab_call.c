/* Calls of functions that the program declares, once the arguments are known: operands, results, and the layers around
   what is called. */
#include "frontend/elab_core.h"
#include "frontend/elab_lift.h"

/* ---- a function seen through the layers around it: derivatives, given sizes, declared types */
typedef struct Layers {
  Function *root;
  const Function *sized;    /* or NULL */
  const char *const *names; /* what parameters are called by the outermost declared type; or NULL */
  bool is_derived;
} Layers;

static Layers layers_of(Elab *e, Function *f, int nparams) {
  Layers l = {0};
  for (; f->of; f = f->of) {
    l.is_derived |= f->kind == FUNCTION_DERIVED;
    if (f->kind == FUNCTION_SIZED)
      l.sized = f;
    if (f->kind == FUNCTION_TYPED && !l.names && f->type->part_names) {
      const char **names = NEW_ARRAY(e->arena, const char *, nparams);
      for (int i = 0; i < nparams && i < f->type->nparts; i++)
        names[i] = f->type->part_names[i];
      l.names = names;
    }
  }
  l.root = f;
  return l;
}

/* ---- building */
static const Size *size_in_call(Value *v, void *arg) {
  const Op *call = arg;
  if (v->def || v->region != call->at.callee->body)
    return NULL;
  Value *to = call->operands[v->index];
  return to->poly ? to->poly : size_atom(call->at.callee->module, to);
}

static void map_struct_sizes(Elab *e, Form *t, Op *call) {
  if (t->kind == FORM_STRUCT) {
    const int n = t->decl->item->structure.sizes.n;
    const Size **sizes = NEW_ARRAY(e->arena, const Size *, n);
    for (int i = 0; i < n; i++)
      sizes[i] = size_map(e->module, t->struct_sizes[i], size_in_call, call);
    t->struct_sizes = sizes;
  }
  for (int i = 0; i < t->nparts; i++)
    map_struct_sizes(e, t->parts[i], call);
}

static void set_range(Form *t, Range at) {
  t->at = at;
  for (int i = 0; i < t->nparts; i++)
    set_range(t->parts[i], at);
}

Form *call_result(Elab *e, const Form *skeleton, Range at, Op *call) {
  Value *const *results = call->results;
  for (int i = 0; i < call->noperands; i++)
    if (!call->operands[i]->type.rank && call->operands[i]->type.kind == KIND_I64)
      size_of_value(e->module, call->operands[i]);
  Form *t = form_unflatten(e, skeleton, &results);
  map_struct_sizes(e, t, call);
  set_range(t, at);
  return t;
}

/* The operands that the IR function of l takes, in an array with room for those of f, which has the same ones first. */
static Value **call_operands(Elab *e, const Call *c, const Lowered *l, const Func *f) {
  Value **operands = NEW_ARRAY(e->arena, Value *, f->body->nparams + 1);
  for (int i = 0; i < c->h->nsizes; i++)
    if (l->sizes[i])
      operands[l->sizes[i]->index] = build_size(&e->b, c->sizes[i]);
  for (int i = 0; i < c->h->params->n; i++) {
    const Form **leaves;
    int n;
    form_flatten(e, c->args[i], &n, &leaves);
    for (int j = 0; j < l->params[i].nleaves; j++)
      operands[l->params[i].leaves[j]->index] = form_store(e, leaves[j]);
  }
  for (int i = 0; l->lift && i < l->lift->captures.n; i++)
    operands[l->lift->captures.at[i].to->index] = lift_value(e, l->lift->captures.at[i].from);
  return operands;
}

static const Size *const *constant_sizes(const Call *c, const Header *h) {
  if (!h->ndeclared)
    return NULL;
  for (int i = 0; i < h->ndeclared; i++)
    if (!size_is_const(c->sizes[i], NULL))
      return NULL;
  return c->sizes;
}

static Lowered *lower_for_call(Elab *e, const Call *c) {
  Function **functions = NEW_ARRAY(e->arena, Function *, c->h->params->n);
  for (int i = 0; i < c->h->params->n; i++)
    functions[i] = c->args[i]->kind == FORM_FUNCTION ? c->args[i]->function : NULL;
  const LowerKey key = {.kinds = c->kinds, .fixed = constant_sizes(c, c->h), .functions = functions, .given = c->sizes};
  return function_lower(e, c->root, &key, c->at);
}

static Form *derived_call(Elab *e, const Call *c, const Function *f, const ArgumentList *extra) {
  const Lowered *l = lower_for_call(e, c);
  Func *func = l ? derive_chain(e, f, l) : NULL;
  if (!func)
    return form_poison(e, c->at);
  Value **operands = call_operands(e, c, l, func);
  const Extras extras = {.func = func, .from = l->func->body->nparams, .name = f->name, .operands = operands};
  if (!call_extras(e, &extras, extra, c->at))
    return form_poison(e, c->at);
  Op *call = build_call(&e->b, func, operands);
  Form **parts = NEW_ARRAY(e->arena, Form *, func->nresults);
  for (int i = 0; i < func->nresults; i++)
    parts[i] = form_of_value(e, c->at, call->results[i]);
  return elab_tuple_of(e, c->at, func->nresults, parts);
}

static Form *plain_call(Elab *e, Call *c) {
  const bool has_rules = c->root->vjp_rule || c->root->jvp_rule;
  if (c->root->kind == FUNCTION_LAMBDA || (c->h->takes_functions && !c->root->is_unknown && !has_rules))
    return inline_call(e, c, constant_sizes(c, c->h));
  const Lowered *l = lower_for_call(e, c);
  if (!l)
    return form_poison(e, c->at);
  return call_result(e, l->result, c->at, build_call(&e->b, l->func, call_operands(e, c, l, l->func)));
}

/* ---- a parameter with a declared function type: its own arguments first, then what it stands for */
/* A value already computed, as an argument: a name that nothing in a program can be. */
Expr *expr_of_form(Elab *e, int i, Range at, Form *t) {
  Expr *x = NEW(e->arena, Expr);
  x->kind = EXPR_NAME;
  x->at = at;
  x->name = arena_name(e->arena, arena_printf(e->arena, "argument %d of a function parameter", i + 1));
  scope_bind(e, BIND_LET, (Name){.text = x->name, .at = at}, t);
  return x;
}

static Name part_name(Elab *e, const TypeForm *type, int i) {
  return (Name){.text = type->part_names[i] ? type->part_names[i] : arena_printf(e->arena, "%d", i + 1)};
}

static bool typed_arguments(Elab *e, const Function *f, const TypeForm *type, Expr **given, Form **args) {
  bool ok = true;
  for (int i = 0; i < type->nparts; i++) {
    const TypeForm *part = type->parts[i];
    Form *t = elab_expr(e, given[i], part->kind == FORM_TENSOR ? &part->type.kind : NULL);
    const char *what = arena_printf(e->arena, "argument %d of '%s'", i + 1, f->name);
    args[i] = form_stored(e, form_check(e, t, part, what));
    if (args[i]->kind == FORM_FUNCTION)
      args[i] = form_of_function(e, t->at, function_typed(e, t->function, type->parts[i], part_name(e, type, i)));
    ok &= args[i]->kind != FORM_POISON;
  }
  return ok;
}

/* What does not fit is reported at the function that was given, not at the call of the parameter. */
static Form *typed_call(Elab *e, Function *f, const ArgumentList *arguments, Range at) {
  const TypeForm *type = typeform_here(e, f->type);
  ParameterList params = {0};
  ArgumentMatch match;
  for (int i = 0; i < type->nparts; i++) {
    const Parameter p = {.name = part_name(e, type, i)};
    vec_push(e->arena, params, p);
  }
  Form **args = NEW_ARRAY(e->arena, Form *, type->nparts);
  if (!arguments_match(e, at, f->name, f->at, &params, NULL, arguments, false, &match) ||
      !typed_arguments(e, f, type, match.given, args))
    return form_poison(e, at);
  ArgumentList inner = {0};
  Scope *scope = scope_push(e);
  for (int i = 0; i < type->nparts; i++) {
    const Argument a = {.value = expr_of_form(e, i, f->of->at, args[i]), .at = f->of->at};
    vec_push(e->arena, inner, a);
  }
  Form *t = form_copy(e, function_call(e, f->of, &inner, at));
  scope_pop(e, scope);
  t->at = f->of->at;
  t = form_check(e, t, type->result, arena_printf(e->arena, "the result of '%s'", f->name));
  t->at = at;
  return t;
}

Form *function_call(Elab *e, Function *f, const ArgumentList *arguments, Range at) {
  if (!place_has_room(e, at, f->name))
    return form_poison(e, at);
  if (f->kind == FUNCTION_TYPED)
    return typed_call(e, f, arguments, at);
  Function *root = function_root(f);
  Call c = {.at = at, .root = root, .h = function_header(e, root)};
  const Layers layers = layers_of(e, f, c.h->params->n);
  ArgumentMatch match;
  if (c.h->failed || !arguments_match(e, at, root->kind == FUNCTION_LAMBDA ? "this function" : f->name, root->at,
                                      c.h->params, layers.names, arguments, layers.is_derived, &match)) {
    for (int i = 0; i < arguments->n; i++)
      elab_expr(e, arguments->at[i].value, NULL);
    return form_poison(e, at);
  }
  if (!call_prepare(e, &c, match.given, layers.sized))
    return form_poison(e, at);
  return layers.is_derived ? derived_call(e, &c, f, &match.extra) : plain_call(e, &c);
}
