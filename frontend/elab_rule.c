/* Foreign functions, and rules of the user's own for derivatives.
   A vjp rule becomes a function of f's parameters and a seed for each float result, which returns a cotangent for each
   float parameter; a jvp rule one of f's parameters and a tangent for each float parameter, which returns a tangent for
   each float result.  In both, names for f's results stand for a call of f, which is made where one of them is used. */
#include "frontend/elab_core.h"
#include "frontend/elab_lift.h"
#include "ir/raw.h"
#include <string.h>

/* ---- foreign functions */
static bool check_foreign(Elab *e, const Lowered *l, const Header *h, const TypeForm *result) {
  bool ok = true;
  for (int i = 0; i < h->params->n; i++)
    if (l->params[i].type->kind != FORM_TENSOR || l->params[i].type->type.rank) {
      elab_error(e, h->params->at[i].type->at, "a foreign function takes scalars, not %s",
                 typeform_text(e, l->params[i].type));
      ok = false;
    }
  if (result && (result->kind != FORM_TENSOR || result->type.rank)) {
    elab_error(e, h->result->at, "a foreign function returns one scalar, not %s", typeform_text(e, result));
    ok = false;
  }
  return ok && result;
}

static bool same_signature(const Func *a, const Func *b) {
  if (a->body->nparams != b->body->nparams || !type_equal(a->result_types[0], b->result_types[0]))
    return false;
  for (int i = 0; i < a->body->nparams; i++)
    if (!type_equal(a->body->params[i]->type, b->body->params[i]->type))
      return false;
  return true;
}

/* Enters a foreign function under its C name: a function of ours that has that name gives way. */
static void enter_foreign(Elab *e, Func *f) {
  Module *m = e->module;
  Func *taken = m->funcs;
  while (taken && strcmp(taken->name, f->name) != 0)
    taken = taken->next;
  if (taken)
    taken->name = func_new(m, taken->name, taken->loc)->name;
  f->name = arena_name(e->arena, f->name);
  if (m->last_func)
    m->last_func->next = f;
  else
    m->funcs = f;
  m->last_func = f;
}

/* A kernel of the runtime: it may be generic, its name then ends in the kind, and takes and returns tensors.  Whether
   the runtime has it, in this form, is found out when the module is complete. */
static bool is_kernel(const Header *h) {
  return !strncmp(h->name, "gradc_rt_", 9);
}

static bool is_of_library(const Elab *e, const Function *root) {
  for (int i = 0; i < e->modules->files.n; i++)
    if (e->modules->files.at[i]->top == root->top)
      return e->modules->files.at[i]->is_library;
  return false;
}

/* Another file's declaration of the same kernel; NULL: there is none that is alike. */
static Func *declared_kernel(const Elab *e, const Func *kernel) {
  Func *f = e->module->funcs;
  while (f && (!f->is_extern || strcmp(f->name, kernel->name)))
    f = f->next;
  if (!f || f->nresults != kernel->nresults || f->nsizes != kernel->nsizes || f->body->nparams != kernel->body->nparams)
    return NULL;
  for (int i = 0; i < f->body->nparams; i++)
    if (f->body->params[i]->type.kind != kernel->body->params[i]->type.kind ||
        f->body->params[i]->type.rank != kernel->body->params[i]->type.rank)
      return NULL;
  return f;
}

static void use_kernel(Lowered *l, const Header *h, Func *f) {
  for (int i = 0; i < h->nsizes; i++)
    l->sizes[i] = f->body->params[l->sizes[i]->index];
  for (int i = 0; i < h->params->n; i++)
    l->params[i].leaves[0] = f->body->params[l->params[i].leaves[0]->index];
  Form *skeleton = (Form *)l->result;
  for (int i = 0; i < skeleton->nparts; i++)
    skeleton->parts[i]->type = f->result_types[i];
  skeleton->type = f->result_types[0];
  l->func = f;
}

/* Only for the library are a kernel's results constants, as only it says by rules what depends on them: to
   differentiate through another declaration is an error. */
static bool kernel_finish(Elab *e, Lowered *l, const Header *h, const TypeForm *result) {
  Form *skeleton = NEW(e->arena, Form);
  TypeForm *const *parts = result->kind == FORM_TUPLE ? result->parts : (TypeForm *[]){(TypeForm *)(uintptr_t)result};
  const int n = result->kind == FORM_TUPLE ? result->nparts : 1;
  Type *types = NEW_ARRAY(e->arena, Type, n);
  *skeleton = (Form){.kind = result->kind, .at = result->at, .type = result->type, .nparts = result->nparts};
  skeleton->parts = NEW_ARRAY(e->arena, Form *, n);
  for (int i = 0; i < n; i++) {
    if (parts[i]->kind != FORM_TENSOR) {
      elab_error(e, parts[i]->at, "a kernel returns tensors, not %s", typeform_text(e, parts[i]));
      return false;
    }
    types[i] = parts[i]->type;
    skeleton->parts[i] = NEW(e->arena, Form);
    *skeleton->parts[i] = (Form){.kind = FORM_TENSOR, .at = result->at, .type = types[i]};
  }
  l->func->is_extern = true;
  l->func->is_constant = is_of_library(e, l->root);
  l->result = skeleton;
  func_set_results(l->func, n, types, NULL);
  Func *same = declared_kernel(e, l->func);
  if (same) {
    same->is_constant = same->is_constant && l->func->is_constant;
    use_kernel(l, h, same);
  } else {
    enter_foreign(e, l->func);
  }
  return true;
}

bool extern_finish(Elab *e, Lowered *l, const Header *h) {
  const TypeForm *result = elab_type(e, h->result);
  if (is_kernel(h))
    return result && kernel_finish(e, l, h, result);
  if (h->kinds->n) {
    elab_error(e, h->kinds->at[0].at, "a foreign function is not generic");
    return false;
  }
  if (!check_foreign(e, l, h, result))
    return false;
  const char *name = h->result->kind == TYPE_EXPR_TUPLE ? h->result->tuple.at[0].name.text : NULL;
  l->func->is_extern = true;
  func_set_results(l->func, 1, &result->type, &name);
  Form *skeleton = NEW(e->arena, Form);
  *skeleton = (Form){.kind = FORM_TENSOR, .at = h->at, .type = result->type};
  l->result = skeleton;
  for (Func *f = e->module->funcs; f; f = f->next) {
    if (!f->is_extern || strcmp(f->name, l->func->name) != 0)
      continue;
    if (same_signature(f, l->func)) {
      for (int i = 0; i < h->params->n; i++)
        l->params[i].leaves[0] = f->body->params[i];
      l->func = f;
      return true;
    }
    DiagMessage *m = elab_error(e, h->at, "foreign function '%s' is declared with another signature", h->name);
    diag_note(e->diag, m, f->loc, "declared here");
    return false;
  }
  enter_foreign(e, l->func);
  return true;
}

/* ---- rules */
typedef struct RuleContext {
  Elab *e;
  const Item *rule;
  const Lowered *l;
  const Header *h;
  Func *func;
  ValueMap map; /* from the function's parameters to the rule's */
} RuleContext;

static const char *rule_word(const RuleContext *c) {
  return c->rule->rule.is_vjp ? "vjp" : "jvp";
}

static bool check_count(const RuleContext *c, const NameList *names, int n, const char *what) {
  if (names->n == n)
    return true;
  const Range at = names->n ? range_join(names->at[0].at, names->at[names->n - 1].at) : c->rule->name.at;
  DiagMessage *m =
      elab_error(c->e, at, "'%s' has %d %s%s, this rule names %d", c->h->name, n, what, n == 1 ? "" : "s", names->n);
  diag_note(c->e->diag, m, c->h->at, "declared here");
  return false;
}

/* The same structure with the rule's own parameters; struct sizes follow. */
static const Size *size_in_rule(Value *v, void *arg) {
  const RuleContext *c = arg;
  Value *to = map_get(&c->map, v);
  return to ? size_atom(c->e->module, to) : NULL;
}

static Form *form_in_rule(RuleContext *c, const Form *t) {
  Elab *e = c->e;
  if (t->kind == FORM_TENSOR)
    return form_of_value(e, t->at, map_value(&c->map, t->value));
  if (t->kind == FORM_FUNCTION || t->kind == FORM_POISON)
    return (Form *)t;
  Form *f = form_copy(e, t);
  f->parts = NEW_ARRAY(e->arena, Form *, t->nparts);
  for (int i = 0; i < t->nparts; i++)
    f->parts[i] = form_in_rule(c, t->parts[i]);
  if (t->kind == FORM_STRUCT) {
    const int n = t->decl->item->structure.sizes.n;
    f->struct_sizes = NEW_ARRAY(e->arena, const Size *, n);
    for (int i = 0; i < n; i++)
      f->struct_sizes[i] = size_map(e->module, t->struct_sizes[i], size_in_rule, c);
  }
  return f;
}

static bool all_float(const Form *t) {
  if (t->kind == FORM_TENSOR)
    return kind_is_float(t->type.kind);
  for (int i = 0; i < t->nparts; i++)
    if (!all_float(t->parts[i]))
      return false;
  return t->kind != FORM_FUNCTION;
}

static bool any_float(const Form *t) {
  if (t->kind == FORM_TENSOR)
    return kind_is_float(t->type.kind);
  for (int i = 0; i < t->nparts; i++)
    if (any_float(t->parts[i]))
      return true;
  return false;
}

/* A seed or tangent for t: a further parameter for each leaf. */
static Form *add_direction(RuleContext *c, const Form *t, const char *name, Range at) {
  Elab *e = c->e;
  if (t->kind == FORM_TENSOR)
    return form_of_value(e, at, func_add_param(c->func, map_type(e->module, &c->map, t->type), name));
  Form *f = form_in_rule(c, t);
  for (int i = 0; i < t->nparts; i++)
    f->parts[i] = add_direction(c, t->parts[i], arena_name(e->arena, arena_printf(e->arena, "%s_%d", name, i)), at);
  return f;
}

/* Binds a name for each of the forms that carries a derivative. */
static bool bind_directions(RuleContext *c, int n, Form *const *forms, const char *what) {
  const NameList *names = &c->rule->rule.seeds;
  int nfloat = 0;
  for (int i = 0; i < n; i++) {
    nfloat += any_float(forms[i]);
    if (any_float(forms[i]) && !all_float(forms[i])) {
      elab_error(c->e, c->rule->name.at, "a rule for '%s', where %s has parts that are no floats, is not supported",
                 c->h->name, what);
      return false;
    }
  }
  if (!check_count(c, names, nfloat, what))
    return false;
  for (int i = 0, k = 0; i < n; i++)
    if (any_float(forms[i])) {
      scope_bind(c->e, BIND_LET, names->at[k], add_direction(c, forms[i], names->at[k].text, names->at[k].at));
      k++;
    }
  return true;
}

/* ---- f's parameters and results, as forms over f's own values */
static Form *param_form(Elab *e, const TypeForm *t, Value *const **leaves, Range at) {
  if (t->kind == FORM_TENSOR)
    return form_of_value(e, at, *(*leaves)++);
  Form *f = form_like_type(e, t, at);
  for (int i = 0; i < t->nparts; i++)
    f->parts[i] = param_form(e, t->parts[i], leaves, at);
  return f;
}

/* A function parameter, with its type in the rule's own sizes, under the rule's name for it. */
static Form *function_param(RuleContext *c, int i, Name name) {
  Elab *e = c->e;
  const Parameter *p = &c->h->params->at[i];
  Function *f = c->l->functions[i];
  TypeForm *type = elab_type(e, p->type);
  if (!type)
    return form_poison(e, name.at);
  return form_of_function(e, name.at, function_typed(e, f ? f : function_unknown(e, p->type, p->name), type, name));
}

static Form **param_forms(RuleContext *c) {
  Form **forms = NEW_ARRAY(c->e->arena, Form *, c->h->params->n);
  for (int i = 0; i < c->h->params->n; i++) {
    Value *const *leaves = c->l->params[i].leaves;
    const TypeForm *t = c->l->params[i].type;
    forms[i] = t->kind == FORM_FUNCTION ? function_param(c, i, c->rule->rule.inputs.at[i])
                                        : param_form(c->e, t, &leaves, c->h->params->at[i].at);
  }
  return forms;
}

static int result_forms(const Lowered *l, Form *const **forms, Form **single) {
  if (l->result->kind == FORM_TUPLE) {
    *forms = l->result->parts;
    return l->result->nparts;
  }
  *single = (Form *)l->result;
  *forms = single;
  return 1;
}

static void copy_params(RuleContext *c) {
  const Func *f = c->l->func;
  for (int i = 0; i < f->body->nparams; i++) {
    Value *p = f->body->params[i];
    map_put(&c->map, p,
            i < f->nsizes ? func_add_size(c->func, p->name)
                          : func_add_param(c->func, map_type(c->e->module, &c->map, p->type), p->name));
  }
}

static void bind_head(RuleContext *c) {
  Elab *e = c->e;
  for (int i = 0; c->h->kinds && i < c->h->kinds->n; i++)
    scope_bind(e, BIND_KIND, c->h->kinds->at[i], NULL)->float_kind = c->l->kinds[i];
  for (int i = 0; i < c->h->nsizes; i++)
    scope_bind(e, BIND_SIZE, c->h->sizes[i].name, NULL)->size =
        size_map(e->module, c->l->size_names[i], size_in_rule, c);
}

static Op *call_function(RuleContext *c) {
  const Func *f = c->l->func;
  Value **operands = NEW_ARRAY(c->e->arena, Value *, f->body->nparams + 1);
  for (int i = 0; i < f->body->nparams; i++)
    operands[i] = map_get(&c->map, f->body->params[i]);
  return build_call(&c->e->b, c->l->func, operands);
}

/* ---- what the rule returns */
static void add_wanted(RuleContext *c, const Form *t, int *n, Type *types) {
  if (t->kind == FORM_TENSOR && kind_is_float(t->type.kind))
    types[(*n)++] = map_type(c->e->module, &c->map, t->type);
  for (int i = 0; i < t->nparts; i++)
    add_wanted(c, t->parts[i], n, types);
}

static bool return_results(RuleContext *c, const Form *t, int nwanted, const Type *wanted) {
  Elab *e = c->e;
  const Form **leaves;
  const char *what = c->rule->rule.is_vjp ? "cotangent" : "tangent";
  int n;
  form_flatten(e, t, &n, &leaves);
  if (n != nwanted) {
    DiagMessage *m =
        elab_error(e, t->at, "this rule must give %d %s%s, one for each float %s of '%s', not %d", nwanted, what,
                   nwanted == 1 ? "" : "s", c->rule->rule.is_vjp ? "parameter" : "result", c->h->name, n);
    diag_note(e->diag, m, c->h->at, "declared here");
    return false;
  }
  Value **values = NEW_ARRAY(e->arena, Value *, n + 1);
  for (int i = 0; i < n; i++) {
    const TypeForm type = {.kind = FORM_TENSOR, .type = wanted[i]};
    const Form *f = form_check(e, form_copy(e, leaves[i]), &type, arena_printf(e->arena, "%s %d", what, i + 1));
    if (f->kind == FORM_POISON)
      return false;
    values[i] = form_store(e, f);
  }
  func_set_results(c->func, n, wanted, NULL);
  build_return(&e->b, n, values);
  return true;
}

static bool elab_rule_body(RuleContext *c) {
  Elab *e = c->e;
  Form *const *results, *single;
  const int nresults = result_forms(c->l, &results, &single), nparams = c->h->params->n;
  const bool is_vjp = c->rule->rule.is_vjp;
  if (!check_count(c, &c->rule->rule.inputs, nparams, "parameter") ||
      !check_count(c, &c->rule->rule.results, nresults, "result"))
    return false;
  Form **params = param_forms(c);
  for (int i = 0; i < nparams; i++)
    scope_bind(e, BIND_LET, c->rule->rule.inputs.at[i], form_in_rule(c, params[i]));
  if (is_vjp ? !bind_directions(c, nresults, results, "float result")
             : !bind_directions(c, nparams, params, "float parameter"))
    return false;
  Op *call = call_function(c);
  Form *values = call_result(e, c->l->result, c->rule->at, call);
  bool used = false;
  Binding **bound = NEW_ARRAY(e->arena, Binding *, nresults + 1);
  for (int i = 0; i < nresults; i++)
    bound[i] = scope_bind(e, BIND_LET, c->rule->rule.results.at[i], nresults == 1 ? values : values->parts[i]);
  const Form *t = form_stored(e, elab_block(e, c->rule->rule.body, NULL));
  for (int i = 0; i < nresults; i++)
    used |= bound[i]->used;
  if (!used)
    op_unlink(call);
  if (t->kind == FORM_POISON)
    return false;
  const Func *f = c->l->func;
  Type *wanted = NEW_ARRAY(e->arena, Type, f->body->nparams + f->nresults + 1);
  int n = 0;
  for (int i = 0; i < (is_vjp ? nparams : nresults); i++)
    add_wanted(c, is_vjp ? params[i] : results[i], &n, wanted);
  return return_results(c, t, n, wanted);
}

static Func *lower_rule(Elab *e, Lowered *l, const Item *rule) {
  RuleContext c = {.e = e, .rule = rule, .l = l, .h = function_header(e, l->root), .map = {.arena = e->arena}};
  const Place before = place_save(e);
  c.func = func_new(e->module, arena_printf(e->arena, "%s_%s_rule", l->func->name, rule_word(&c)), rule->name.at);
  copy_params(&c);
  e->b = build_into(c.func, c.func->body);
  e->b.loc = rule->at;
  e->lift = rules_lift(e, l, c.func, &c.map);
  e->loop = NULL;
  e->holes = NULL;
  e->comprehension_depth = 0;
  e->top = l->root->top;
  e->scope = scope_new(e, l->root->scope);
  e->scope->is_function = true;
  bind_head(&c);
  const bool ok = elab_rule_body(&c);
  place_restore(e, &before);
  return ok ? c.func : NULL;
}

void rules_lower(Elab *e, Lowered *l) {
  rules_count_captured(l);
  if (l->root->vjp_rule)
    l->func->own_vjp = lower_rule(e, l, l->root->vjp_rule);
  if (l->root->jvp_rule)
    l->func->own_jvp = lower_rule(e, l, l->root->jvp_rule);
}
