/* Functions becoming IR: an item once for each choice of kinds and constant sizes, and once for each lifting. */
#include "frontend/elab_core.h"
#include "frontend/elab_lift.h"
#include <string.h>

Function *function_of_item(Elab *e, const Item *item, File *file) {
  Function *f = NEW(e->arena, Function);
  f->kind = FUNCTION_ITEM;
  f->name = item->name.text;
  f->at = item->name.at;
  f->item = item;
  f->top = f->scope = file->top;
  return f;
}

Form *form_of_function(Elab *e, Range at, Function *f) {
  Form *t = NEW(e->arena, Form);
  t->kind = FORM_FUNCTION;
  t->at = at;
  t->function = f;
  return t;
}

Form *function_with_sizes(Elab *e, Range at, const Form *f, int n, const Size **sizes) {
  Function *of = f->function;
  const Header *h = of->kind == FUNCTION_ITEM ? function_header(e, of) : NULL;
  DiagMessage *m;
  if (!h) {
    m = elab_error(e, at, "sizes are given to a declared function only");
    if (of->kind == FUNCTION_SIZED)
      diag_note(e->diag, m, of->at, "it has its sizes from here");
    else if (of->kind == FUNCTION_DERIVED)
      diag_mend(e->diag, m, "write %s(f[3])", derive_name[of->op]);
    return form_poison(e, at);
  }
  if (h->ndeclared != n) {
    if (h->ndeclared)
      m = elab_error(e, at, "'%s' declares %d size%s, not %d", of->name, h->ndeclared, h->ndeclared == 1 ? "" : "s", n);
    else
      m = elab_error(e, at, "'%s' declares no sizes: they follow from its arguments", of->name);
    diag_note(e->diag, m, of->at, "declared here");
    return form_poison(e, at);
  }
  Function *sized = NEW(e->arena, Function);
  sized->kind = FUNCTION_SIZED;
  sized->name = of->name;
  sized->at = at;
  sized->of = of;
  sized->ngiven = n;
  sized->given = sizes;
  return form_of_function(e, at, sized);
}

/* ---- parameters */
static const char *part_name(Elab *e, const char *prefix, const TypeForm *t, int i) {
  if (t->part_names && t->part_names[i])
    return arena_name(e->arena, arena_printf(e->arena, "%s_%s", prefix, t->part_names[i]));
  return arena_name(e->arena, arena_printf(e->arena, "%s_%d", prefix, i));
}

typedef VEC(Value *) ValueList;

/* Adds the parameters that a parameter of type t is made of; the Form that they are together. */
static Form *add_leaves(Elab *e, Func *f, const TypeForm *t, const char *name, Range at, ValueList *leaves) {
  if (t->kind == FORM_TENSOR) {
    Value *v = func_add_param(f, t->type, name);
    vec_push(e->arena, *leaves, v);
    return form_of_value(e, at, v);
  }
  Form *form = NEW(e->arena, Form);
  form->kind = t->kind;
  form->at = at;
  form->nparts = t->nparts;
  form->parts = NEW_ARRAY(e->arena, Form *, t->nparts);
  form->part_names = t->part_names;
  form->decl = t->decl;
  form->struct_sizes = t->struct_sizes;
  for (int i = 0; i < t->nparts; i++)
    form->parts[i] = add_leaves(e, f, t->parts[i], part_name(e, name, t, i), at, leaves);
  return form;
}

/* Sizes in parameters' types that are not names may be negative for what a caller in C gives. */
static void check_sizes(Elab *e, Range at, const TypeForm *t) {
  for (int i = 0; t->kind == FORM_TENSOR && i < t->type.rank; i++)
    size_check(e, at, t->type.dims[i]);
  for (int i = 0; i < t->nparts; i++)
    check_sizes(e, at, t->parts[i]);
}

/* name: of the parameter in the IR. */
static bool make_param(Elab *e, Lowered *l, const Parameter *p, Function *function, LoweredParam *param,
                       const char *name) {
  param->type = elab_type(e, p->type);
  if (!param->type) {
    scope_bind(e, BIND_POISON, p->name, NULL);
    return false;
  }
  if (param->type->kind == FORM_FUNCTION) {
    if (!function)
      function = function_unknown(e, p->type, p->name);
    scope_bind(e, BIND_LET, p->name, form_of_function(e, p->at, function_typed(e, function, param->type, p->name)));
    return true;
  }
  ValueList leaves = {0};
  Form *form = add_leaves(e, l->func, param->type, name, p->name.at, &leaves);
  param->leaves = leaves.at;
  param->nleaves = leaves.n;
  check_sizes(e, p->type->at, param->type);
  scope_bind(e, BIND_LET, p->name, form);
  return true;
}

Function *function_typed(Elab *e, Function *of, TypeForm *type, Name name) {
  Function *f = NEW(e->arena, Function);
  f->kind = FUNCTION_TYPED;
  f->name = name.text;
  f->at = name.at;
  f->of = of;
  f->type = type;
  return f;
}

/* ---- results */
static void name_leaves(Elab *e, const Form *t, const char *name, const char **names, int *n) {
  if (t->kind == FORM_TENSOR) {
    names[(*n)++] = name;
    return;
  }
  for (int i = 0; i < t->nparts; i++) {
    const char *part = t->kind == FORM_STRUCT ? t->decl->item->structure.fields.at[i].name.text
                       : t->part_names        ? t->part_names[i]
                                              : NULL;
    const char *whole = part ? arena_printf(e->arena, "%s_%s", name, part) : arena_printf(e->arena, "%s_%d", name, i);
    name_leaves(e, t->parts[i], arena_name(e->arena, whole), names, n);
  }
}

/* One name for each leaf; NULL where the IR's own rule (value, value0, ..) gives it. */
static const char **result_names(Elab *e, const Header *h, const Form *t, int nleaves) {
  const char **names = NEW_ARRAY(e->arena, const char *, nleaves + 1);
  const TypeElementList *written = h->result && h->result->kind == TYPE_EXPR_TUPLE ? &h->result->tuple : NULL;
  if (t->kind != FORM_TUPLE) {
    int n = 0;
    const char *name = written && written->at[0].name.text ? written->at[0].name.text : NULL;
    name_leaves(e, t, name || t->kind == FORM_TENSOR ? name : "value", names, &n);
    return names;
  }
  int unnamed = 0;
  for (int i = 0; i < t->nparts; i++)
    unnamed += !(t->part_names && t->part_names[i]);
  for (int i = 0, n = 0; i < t->nparts; i++) {
    const char *name = t->part_names ? t->part_names[i] : NULL;
    if (!name)
      name = unnamed == 1 ? "value" : arena_printf(e->arena, "value%d", i);
    name_leaves(e, t->parts[i], arena_name(e->arena, name), names, &n);
  }
  return names;
}

static void find_foreign(Value *v, void *arg) {
  const Value **foreign = arg;
  if (v->def || v->region->owner)
    *foreign = v;
}

/* Sizes of results must be made of the function's own sizes. */
static bool check_result_sizes(Elab *e, const Form *t) {
  const Value *foreign = NULL;
  for (int i = 0; t->kind == FORM_TENSOR && i < t->type.rank; i++)
    size_values(t->type.dims[i], find_foreign, &foreign);
  if (foreign) {
    elab_error(e, t->at, "the size of this result is known inside the function only: %s", form_text(e, t));
    return false;
  }
  bool ok = true;
  for (int i = 0; i < t->nparts; i++)
    ok &= check_result_sizes(e, t->parts[i]);
  return ok;
}

static bool holds_function(const Form *t) {
  bool any = t->kind == FORM_FUNCTION;
  for (int i = 0; i < t->nparts; i++)
    any |= holds_function(t->parts[i]);
  return any;
}

/* The value of a body in e's scope, checked against the declared result. */
Form *function_value(Elab *e, const Header *h) {
  Kind kind;
  const TypeForm *type = h->result ? elab_type(e, h->result) : NULL;
  const bool known = h->result && type_literal_kind(e, e->scope, h->result, &kind);
  Form *t = elab_block(e, h->body, known ? &kind : NULL);
  if (t->kind == FORM_POISON || (h->result && !type))
    return form_poison(e, h->at);
  if (type ? type->kind == FORM_FUNCTION : holds_function(t)) {
    elab_error(e, type ? h->result->at : t->at, "a function cannot return a function");
    return form_poison(e, h->at);
  }
  const char *what = h->kinds ? arena_printf(e->arena, "the result of '%s'", h->name) : "the result";
  return form_stored(e, type ? form_check(e, t, type, what) : t);
}

static bool finish_body(Elab *e, Lowered *l, const Header *h, const Form *t) {
  const Form **leaves;
  int n;
  form_flatten(e, t, &n, &leaves);
  Type *types = NEW_ARRAY(e->arena, Type, n + 1);
  Value **values = NEW_ARRAY(e->arena, Value *, n + 1);
  for (int i = 0; i < n; i++) {
    values[i] = form_store(e, leaves[i]);
    types[i] = values[i]->type;
  }
  func_set_results(l->func, n, types, result_names(e, h, t, n));
  build_return(&e->b, n, values);
  l->result = t;
  return true;
}

static bool has_rules(const Function *root) {
  return root->vjp_rule || root->jvp_rule;
}

/* ---- a whole function, into l->func, where e's place is already */
static bool make_function(Elab *e, Lowered *l, const Header *h, const Scope *call_site) {
  Frame *frame = NEW(e->arena, Frame);
  *frame = (Frame){.root = l->root, .ngiven = h->ndeclared, .given = l->fixed, .call_site = call_site};
  e->scope = scope_new(e, l->root->scope);
  e->scope->is_function = true;
  e->scope->frame = frame;
  e->top = l->root->top;
  e->loop = NULL;
  if (!l->lift)
    e->holes = NULL; /* a lifted function may give a range to an index around it */
  e->comprehension_depth = 0;
  l->sizes = NEW_ARRAY(e->arena, Value *, h->nsizes);
  l->size_names = NEW_ARRAY(e->arena, const Size *, h->nsizes);
  l->params = NEW_ARRAY(e->arena, LoweredParam, h->params->n);
  for (int i = 0; h->kinds && i < h->kinds->n; i++)
    scope_bind(e, BIND_KIND, h->kinds->at[i], NULL)->float_kind = l->kinds[i];
  for (int i = 0; i < h->nsizes; i++) {
    if (l->fixed && i < h->ndeclared) {
      l->size_names[i] = l->fixed[i];
    } else if (l->given) {
      l->size_names[i] = lift_size(e, l->given[i]);
    } else {
      l->sizes[i] = func_add_size(l->func, h->sizes[i].name.text);
      l->size_names[i] = size_atom(e->module, l->sizes[i]);
    }
    scope_bind(e, BIND_SIZE, h->sizes[i].name, NULL)->size = l->size_names[i];
  }
  bool ok = true;
  for (int i = 0; i < h->params->n; i++) {
    const char *name = h->params->at[i].name.text;
    if (!strcmp(name, "_"))
      name = arena_name(e->arena, arena_printf(e->arena, "unused%d", i));
    ok &= make_param(e, l, &h->params->at[i], l->functions ? l->functions[i] : NULL, &l->params[i], name);
  }
  if (ok && l->lift && has_rules(l->root))
    rules_capture(e, l, h);
  if (!h->body)
    return ok && (l->root->is_unknown ? unknown_finish(e, l, h) : extern_finish(e, l, h));
  const int nlambdas = e->lambdas->list.n;
  Form *t = function_value(e, h);
  lambdas_check(e, nlambdas);
  return ok && t->kind != FORM_POISON && check_result_sizes(e, t) && finish_body(e, l, h, t);
}

/* ---- lowering */
/* A rule of a function that takes functions may call the function: what that uses, the rule has as parameters. */
static bool is_within(const Elab *e, const Func *around) {
  for (const Lift *lift = e->lift; lift; lift = lift->outer)
    if (lift->around == around)
      return true;
  return e->b.func == around;
}

static const Function *without_types(const Function *f) {
  while (f && f->kind == FUNCTION_TYPED)
    f = f->of;
  return f;
}

static bool same_key(Elab *e, const Lowered *l, const Header *h, const LowerKey *key, const Func *around) {
  const bool ruled = has_rules(l->root);
  if (around && ruled ? !is_within(e, l->around) : l->around != around)
    return false;
  for (int i = 0; h->kinds && i < h->kinds->n; i++)
    if (l->kinds[i] != key->kinds[i])
      return false;
  if (!l->fixed != !key->fixed)
    return false;
  for (int i = 0; key->fixed && i < h->ndeclared; i++)
    if (l->fixed[i] != key->fixed[i])
      return false;
  for (int i = 0; h->takes_functions && i < h->params->n; i++)
    if (ruled ? without_types(l->functions[i]) != without_types(key->functions[i])
              : l->functions[i] != key->functions[i])
      return false;
  if (!l->given != !key->given)
    return false;
  for (int i = 0; l->given && i < h->nsizes; i++)
    if ((ruled ? lift_size(e, l->given[i]) : l->given[i]) != key->given[i])
      return false;
  return true;
}

static const char *lowered_name(Elab *e, const Function *root, const Header *h, const LowerKey *key) {
  const char *name = root->kind == FUNCTION_LAMBDA ? "fn" : root->name;
  for (int i = 0; h->kinds && i < h->kinds->n; i++)
    name = arena_printf(e->arena, "%s_%s", name, kind_name[key->kinds[i]]);
  for (int i = 0; key->fixed && i < h->ndeclared; i++)
    name = arena_printf(e->arena, "%s_%s", name, size_text(e->module, key->fixed[i]));
  return name;
}

/* A function that is only checked, with sizes that are not known, may well be recursive by sizes that fall. */
static Lowered *report_recursion(Elab *e, Function *root, const Header *h, Range at) {
  if (root->is_checked && h->ndeclared) {
    root->is_recursive = true;
    return NULL;
  }
  DiagMessage *m = elab_error(e, at, "'%s' calls itself", root->name);
  diag_note(e->diag, m, root->at, "declared here");
  if (h->ndeclared)
    diag_mend(e->diag, m, "the sizes must fall from constants: call it as %s[5](..)", root->name);
  else
    diag_mend(e->diag, m, "write a loop; only a declared size that falls from a constant ends a recursion");
  return NULL;
}

/* Static recursion ends, as some declared size falls from each instance that is being made to the next. */
bool recursion_falls(Elab *e, const Function *root, const Header *h, const Size *const *fixed, Range at) {
  for (int i = root->lowered.n - 1; i >= 0; i--) {
    const Lowered *l = root->lowered.at[i];
    if (l->state != LOWERED_OPEN || !l->fixed)
      continue;
    for (int j = 0; j < h->ndeclared; j++) {
      int64_t before, now;
      if (size_is_const(l->fixed[j], &before) && size_is_const(fixed[j], &now) && now < before)
        return true;
    }
    DiagMessage *m = elab_error(e, at, "'%s' calls itself with no smaller size", root->name);
    diag_note(e->diag, m, root->at, "declared here");
    return false;
  }
  return true;
}

/* Whether the function sees values of another one. */
static bool function_lifts(const Function *root, const Header *h) {
  return root->kind == FUNCTION_LAMBDA || root->is_unknown || h->takes_functions;
}

/* When no function is being made any more: a rule may call the functions that called its own. */
static void lower_rules(Elab *e) {
  Modules *m = e->modules;
  m->lowering++; /* what the rules call adds to the same list */
  for (int i = 0; i < m->with_rules.n; i++)
    rules_lower(e, m->with_rules.at[i]);
  m->with_rules.n = 0;
  m->lowering--;
}

static Lowered *lower_new(Elab *e, Function *root, const Header *h, const LowerKey *key) {
  Lowered *l = NEW(e->arena, Lowered);
  e->modules->lowering++;
  const bool lifts = function_lifts(root, h);
  *l = (Lowered){.state = LOWERED_OPEN,
                 .root = root,
                 .kinds = key->kinds,
                 .fixed = key->fixed,
                 .functions = key->functions,
                 .given = key->given,
                 .around = lifts ? e->b.func : NULL};
  const Place before = place_save(e);
  const char *name = lowered_name(e, root, h, key);
  if (root->is_unknown) {
    l->func = scratch_func(e, name, root->at);
  } else if (lifts) {
    l->lift = lift_begin(e, name, root->at);
    l->func = l->lift->func;
  } else {
    l->func = h->body ? func_new(e->module, name, root->at) : scratch_func(e, name, root->at);
    e->b = build_into(l->func, l->func->body);
    e->b.loc = root->at;
    e->lift = NULL;
  }
  vec_push(e->arena, root->lowered, l);
  const bool ok = make_function(e, l, h, lifts && root->kind == FUNCTION_ITEM ? before.scope : NULL);
  place_restore(e, &before);
  l->state = ok ? LOWERED_DONE : LOWERED_FAILED;
  if (ok && has_rules(root))
    vec_push(e->arena, e->modules->with_rules, l);
  if (--e->modules->lowering == 0)
    lower_rules(e);
  return l;
}

Lowered *function_lower(Elab *e, Function *root, const LowerKey *wanted, Range at) {
  const Header *h = function_header(e, root);
  if (h->failed)
    return NULL;
  const bool lifts = function_lifts(root, h);
  LowerKey key = *wanted;
  if (!lifts || root->is_unknown)
    key.given = NULL;
  for (int i = 0; i < root->lowered.n; i++) {
    Lowered *l = root->lowered.at[i];
    if (!same_key(e, l, h, &key, lifts ? e->b.func : NULL))
      continue;
    if (l->state == LOWERED_OPEN)
      return report_recursion(e, root, h, at);
    return l->state == LOWERED_DONE ? l : NULL;
  }
  if (!lifts && !key.fixed) { /* another choice of kinds may go round in a circle as well */
    for (int i = 0; i < root->lowered.n; i++)
      if (root->lowered.at[i]->state == LOWERED_OPEN && !root->lowered.at[i]->fixed)
        return report_recursion(e, root, h, at);
  }
  if (key.fixed && !recursion_falls(e, root, h, key.fixed, at))
    return NULL;
  if (!place_has_room(e, at, root->name))
    return NULL;
  Lowered *l = lower_new(e, root, h, &key);
  return l->state == LOWERED_DONE ? l : NULL;
}

/* ---- items */
void elab_function_item(Elab *e, const Item *item, Binding *binding) {
  Function *f = binding->form->function;
  const Header *h = function_header(e, f);
  if (h->failed || h->takes_functions || item->function.sizes.n || h->kinds->n)
    return;
  const LowerKey key = {0};
  function_lower(e, f, &key, f->at);
}

/* Takes what was begun out of the module again. */
static void drop_func(Module *m, const Func *f) {
  Func *before = NULL;
  for (Func *g = m->funcs; g && g != f; g = g->next)
    before = g;
  if (before)
    before->next = f->next;
  else
    m->funcs = f->next;
  if (m->last_func == f)
    m->last_func = before;
}

/* Generic functions as f64, those with declared sizes for any size, functions as unknown ones. */
static void check_for_any_size(Elab *e, Function *f, const Header *h) {
  const int before_it = f->lowered.n;
  Kind *kinds = NEW_ARRAY(e->arena, Kind, h->kinds->n);
  for (int i = 0; i < h->kinds->n; i++)
    kinds[i] = KIND_F64;
  const LowerKey key = {.kinds = kinds, .functions = NEW_ARRAY(e->arena, Function *, h->params->n)};
  const Place before = place_save(e);
  Func *scratch = scratch_func(e, f->name, f->at);
  e->b = build_into(scratch, scratch->body);
  f->is_checked = true;
  function_lower(e, f, &key, f->at);
  f->is_checked = false;
  place_restore(e, &before);
  for (int i = before_it; f->is_recursive && i < f->lowered.n; i++)
    drop_func(e->module, f->lowered.at[i]->func);
}

/* What nothing has called. */
void function_check(Elab *e, Function *f) {
  const Header *h = function_header(e, f);
  if (!h->failed && !f->is_called && !f->lowered.n)
    check_for_any_size(e, f, h);
}

/* Whether it can be made for sizes that only a call knows; one that has been made for constants may not. */
bool function_serves_any_size(Elab *e, Function *f) {
  const Header *h = function_header(e, f);
  bool made = !h->ndeclared || h->failed;
  for (int i = 0; i < f->lowered.n; i++)
    made |= !f->lowered.at[i]->fixed;
  if (!made)
    check_for_any_size(e, f, h);
  return !f->is_recursive;
}
