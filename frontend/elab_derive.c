/* Derivative operators: grad(f, wrt = (a, b)) as a function, and the IR function that it stands for. */
#include "frontend/elab_core.h"
#include <string.h>

bool derive_operator(const char *name, DeriveOp *op) {
  for (int i = DERIVE_NONE + 1; i < DERIVE_COUNT; i++)
    if (!strcmp(name, derive_name[i])) {
      *op = (DeriveOp)i;
      return true;
    }
  return false;
}

/* ---- names of parameters */
/* What a derivative's function calls the parameters of the function at the bottom. */
static const char *const *names_below(Elab *e, const Function *f, int nparams) {
  while (f->kind != FUNCTION_TYPED && f->of)
    f = f->of;
  if (f->kind != FUNCTION_TYPED || !f->type->part_names)
    return NULL;
  const char **names = NEW_ARRAY(e->arena, const char *, nparams);
  for (int i = 0; i < nparams && i < f->type->nparts; i++)
    names[i] = f->type->part_names[i];
  return names;
}

static const char *parameter_name(const Header *h, const char *const *names, int i) {
  return names && names[i] ? names[i] : h->params->at[i].name.text;
}

static void report_unknown(Elab *e, const Function *f, const Header *h, const char *const *names, const Expr *x) {
  DiagMessage *m = elab_error(e, x->at, "'%s' has no parameter '%s'", f->of->name, x->name);
  NearMiss near = near_miss_of(x->name);
  for (int i = 0; i < h->params->n; i++)
    near_miss_try(&near, parameter_name(h, names, i));
  if (h->at.src)
    diag_note(e->diag, m, h->at, "declared here");
  near_miss_mend(e, &near, m);
}

/* Names in wrt that no call is needed to know for wrong; seeds and tangents of derivatives below are known at calls
 * only. */
static bool check_name(Elab *e, const Function *f, const Header *h, const char *const *names, const Expr *x) {
  while (x->kind == EXPR_FIELD)
    x = x->field.base;
  for (int i = 0; x->kind == EXPR_NAME && i < h->params->n; i++)
    if (parameter_name(h, names, i) == x->name)
      return true;
  if (x->kind == EXPR_NAME)
    report_unknown(e, f, h, names, x);
  return x->kind != EXPR_NAME;
}

static bool check_names(Elab *e, const Function *f) {
  for (const Function *below = f->of; below; below = below->of)
    if (below->kind == FUNCTION_DERIVED)
      return true;
  const Header *h = function_header(e, function_root((Function *)f));
  const char *const *names = names_below(e, f->of, h->params->n);
  bool ok = true;
  if (f->wrt && f->wrt->kind == EXPR_TUPLE)
    for (int i = 0; i < f->wrt->tuple.n; i++)
      ok &= check_name(e, f, h, names, f->wrt->tuple.at[i]);
  else if (f->wrt)
    ok = check_name(e, f, h, names, f->wrt);
  return ok;
}

/* ---- grad(f, wrt = .., mode = ..) */
static bool read_mode(Elab *e, DeriveOp op, const Expr *x, DeriveMode *mode) {
  if (op != DERIVE_GRAD && op != DERIVE_JACOBIAN && op != DERIVE_HESSIAN) {
    elab_error(e, x->at, "a mode is chosen for grad, jacobian and hessian, not for %s", derive_name[op]);
    return false;
  }
  if (x->kind == EXPR_NAME && !strcmp(x->name, "forward")) {
    *mode = MODE_FORWARD;
  } else if (x->kind == EXPR_NAME && !strcmp(x->name, "reverse")) {
    *mode = MODE_REVERSE;
  } else {
    DiagMessage *m = elab_error(e, x->at, "no such mode");
    diag_mend(e->diag, m, "write mode = forward or mode = reverse");
    return false;
  }
  return true;
}

static bool read_switch(Elab *e, const Argument *a, DeriveOptions *options) {
  bool *place = !strcmp(a->name.text, "accumulate") ? &options->accumulate
                : !strcmp(a->name.text, "split")    ? &options->split
                                                    : &options->sparse;
  if (!options->allowed) {
    elab_error(e, a->at, "'%s' is an option of an export", a->name.text);
    return false;
  }
  if (a->value->kind != EXPR_BOOL) {
    elab_error(e, a->value->at, "'%s' is true or false", a->name.text);
    return false;
  }
  *place = a->value->boolean;
  options->at = a->at;
  return true;
}

static bool read_option(Elab *e, const Argument *a, Function *f, DeriveOptions *options) {
  static const char *const OPTIONS[] = {"wrt", "mode", "accumulate", "split", "sparse"};
  int known = 0;
  while (known < 5 && strcmp(OPTIONS[known], a->name.text) != 0)
    known++;
  switch (known) {
  case 0: f->wrt = a->value; return true;
  case 1: return read_mode(e, f->op, a->value, &f->mode);
  case 2:
  case 3:
  case 4: return read_switch(e, a, options);
  default: break;
  }
  DiagMessage *m = elab_error(e, a->name.at, "%s has no option '%s'", derive_name[f->op], a->name.text);
  NearMiss near = near_miss_of(a->name.text);
  for (int i = 0; i < 5; i++)
    near_miss_try(&near, OPTIONS[i]);
  near_miss_mend(e, &near, m);
  return false;
}

Form *derive_expression(Elab *e, Expr *x, DeriveOp op, DeriveOptions *options) {
  const ArgumentList *args = &x->call.arguments;
  Function *f = NEW(e->arena, Function);
  f->kind = FUNCTION_DERIVED;
  f->at = x->at;
  f->op = op;
  if (!args->n || args->at[0].name.text) {
    DiagMessage *m = elab_error(e, x->at, "%s needs a function", derive_name[op]);
    diag_mend(e->diag, m, "write %s(f, wrt = x)", derive_name[op]);
    return form_poison(e, x->at);
  }
  const Form *base = elab_expr(e, args->at[0].value, NULL);
  bool ok = base->kind == FORM_FUNCTION;
  if (!ok && base->kind != FORM_POISON) {
    DiagMessage *m = elab_error(e, args->at[0].at, "%s needs a function, not %s", derive_name[op], form_text(e, base));
    diag_mend(e->diag, m, "differentiate the function, then call it: %s(f)(x)", derive_name[op]);
  }
  for (int i = 1; i < args->n; i++)
    if (args->at[i].name.text) {
      ok &= read_option(e, &args->at[i], f, options);
    } else {
      DiagMessage *m = elab_error(e, args->at[i].at, "%s takes one function", derive_name[op]);
      diag_mend(e->diag, m, "name the parameters, %s(f, wrt = (x, y)); arguments follow: %s(f)(..)", derive_name[op],
                derive_name[op]);
      ok = false;
    }
  if (!ok)
    return form_poison(e, x->at);
  f->of = base->function;
  f->name = arena_printf(e->arena, "%s(%s)", derive_name[op], f->of->name);
  if (!check_names(e, f))
    return form_poison(e, x->at);
  return form_of_function(e, x->at, f);
}

/* ---- wrt: names into parameters of the IR function */
typedef struct Wrt {
  Elab *e;
  const Function *f; /* the derivative */
  const Header *h;
  const Lowered *l;
  const Func *base;
  const char *const *names; /* of h's parameters as they are called here; entries may be NULL */
  VEC(int) order;
  bool failed;
} Wrt;

static void add_index(Wrt *w, int index, Range at, const char *name) {
  for (int i = 0; i < w->order.n; i++)
    if (w->order.at[i] == index) {
      elab_error(w->e, at, "'%s' stands twice in wrt", name);
      w->failed = true;
      return;
    }
  vec_push(w->e->arena, w->order, index);
}

/* The part of a parameter that an expression names. */
typedef struct Part {
  const TypeForm *type;
  Value *const *leaves;
  Range declared;
} Part;

static int count_leaves(const TypeForm *t) {
  int n = t->kind == FORM_TENSOR;
  for (int i = 0; i < t->nparts; i++)
    n += count_leaves(t->parts[i]);
  return n;
}

static bool find_part(Wrt *w, const Expr *x, Part *part) {
  Elab *e = w->e;
  if (x->kind == EXPR_NAME) {
    for (int i = 0; i < w->h->params->n; i++)
      if (parameter_name(w->h, w->names, i) == x->name) {
        *part =
            (Part){.type = w->l->params[i].type, .leaves = w->l->params[i].leaves, .declared = w->h->params->at[i].at};
        return true;
      }
    report_unknown(e, w->f, w->h, w->names, x);
    return false;
  }
  if (x->kind == EXPR_POISON)
    return false;
  if (x->kind != EXPR_FIELD) {
    elab_error(e, x->at, "wrt names parameters, or fields of them");
    return false;
  }
  Part whole;
  if (!find_part(w, x->field.base, &whole))
    return false;
  int offset = 0;
  for (int i = 0; i < whole.type->nparts; i++) {
    if (whole.type->part_names && whole.type->part_names[i] == x->field.name.text) {
      *part = (Part){.type = whole.type->parts[i], .leaves = whole.leaves + offset, .declared = whole.declared};
      return true;
    }
    offset += count_leaves(whole.type->parts[i]);
  }
  DiagMessage *m =
      elab_error(e, x->field.name.at, "%s has no field '%s'", typeform_text(e, whole.type), x->field.name.text);
  NearMiss near = near_miss_of(x->field.name.text);
  for (int i = 0; i < whole.type->nparts && whole.type->part_names; i++)
    near_miss_try(&near, whole.type->part_names[i]);
  near_miss_mend(e, &near, m);
  return false;
}

static void add_wrt(Wrt *w, const Expr *x) {
  if (x->kind == EXPR_NAME)
    for (int i = w->l->func->body->nparams; i < w->base->body->nparams; i++)
      if (w->base->body->params[i]->name == x->name) { /* a seed or tangent of a derivative below */
        add_index(w, i, x->at, x->name);
        return;
      }
  Part part;
  if (!find_part(w, x, &part)) {
    w->failed = true;
    return;
  }
  const int n = count_leaves(part.type), before = w->order.n;
  for (int i = 0; i < n; i++)
    if (kind_is_float(part.leaves[i]->type.kind))
      add_index(w, part.leaves[i]->index, x->at, part.leaves[i]->name);
  if (w->order.n > before || w->failed)
    return;
  DiagMessage *m = elab_error(w->e, x->at, "only float parameters can be differentiated; this is %s",
                              typeform_text(w->e, part.type));
  diag_note(w->e->diag, m, part.declared, "declared here");
  w->failed = true;
}

static void add_all(Wrt *w, Range at) {
  for (int i = 0; i < w->h->params->n; i++)
    for (int j = 0; j < w->l->params[i].nleaves; j++)
      if (kind_is_float(w->l->params[i].leaves[j]->type.kind))
        vec_push(w->e->arena, w->order, w->l->params[i].leaves[j]->index);
  for (int i = w->l->func->body->nparams; i < w->base->body->nparams; i++)
    if (kind_is_float(w->base->body->params[i]->type.kind))
      vec_push(w->e->arena, w->order, i);
  if (w->order.n)
    return;
  elab_error(w->e, at, "'%s' has no float parameter to differentiate by", w->f->of->name);
  w->failed = true;
}

/* ---- results in the order in which wrt names the parameters: the IR has them in the order of the parameters */
static int position(const Wrt *w, int k) {
  int p = 0;
  for (int i = 0; i < w->order.n; i++)
    p += w->order.at[i] < w->order.at[k];
  return p;
}

static bool is_sorted(const Wrt *w) {
  for (int i = 1; i < w->order.n; i++)
    if (w->order.at[i] < w->order.at[i - 1])
      return false;
  return true;
}

/* Which result of the derivative is result r of the ordered one. */
static int ordered_result(const Wrt *w, int r) {
  const int n = w->order.n, values = w->base->nresults;
  switch (w->f->op) {
  case DERIVE_GRAD:
  case DERIVE_HVP: return position(w, r);
  case DERIVE_VALUE_AND_GRAD:
  case DERIVE_VJP: return r < values ? r : values + position(w, r - values);
  case DERIVE_JACOBIAN: return r / n * n + position(w, r % n);
  case DERIVE_HESSIAN: return position(w, r / n) * n + position(w, r % n);
  default: return r;
  }
}

static Func *ordered(const Wrt *w, Func *derived) {
  Module *m = w->e->module;
  const int nbase = w->base->body->nparams, n = derived->body->nparams;
  Func *f = func_new(m, arena_printf(m->arena, "%s_ordered", derived->name), derived->loc);
  ValueMap map = {.arena = m->arena};
  Value **operands = NEW_ARRAY(m->arena, Value *, n + 1);
  for (int i = 0; i < n; i++) {
    const int from = i < nbase ? i : w->f->op == DERIVE_VJP ? i : nbase + position(w, i - nbase);
    Value *p = derived->body->params[from];
    operands[from] = func_add_param(f, map_type(m, &map, p->type), p->name);
    map_put(&map, p, operands[from]);
    f->nsizes = i < derived->nsizes ? i + 1 : f->nsizes;
  }
  Type *types = NEW_ARRAY(m->arena, Type, derived->nresults);
  const char **names = NEW_ARRAY(m->arena, const char *, derived->nresults);
  Value **results = NEW_ARRAY(m->arena, Value *, derived->nresults);
  Builder b = build_into(f, f->body);
  b.loc = derived->loc;
  const Op *call = build_call(&b, derived, operands);
  for (int r = 0; r < derived->nresults; r++) {
    const int from = ordered_result(w, r);
    results[r] = call->results[from];
    types[r] = results[r]->type;
    names[r] = derived->result_names[from];
  }
  func_set_results(f, derived->nresults, types, names);
  build_return(&b, derived->nresults, results);
  return f;
}

/* ---- what can be differentiated */
static bool has_float_result(const Func *f) {
  for (int i = 0; i < f->nresults; i++)
    if (kind_is_float(f->result_types[i].kind))
      return true;
  return false;
}

static bool check_results(Elab *e, const Function *f, const Func *base, Range at) {
  const bool wants_scalar =
      f->op == DERIVE_GRAD || f->op == DERIVE_VALUE_AND_GRAD || f->op == DERIVE_HESSIAN || f->op == DERIVE_HVP;
  const Type first = base->result_types[0];
  const Function *root = function_root((Function *)f);
  DiagMessage *m;
  if (wants_scalar && (first.rank || !kind_is_float(first.kind))) {
    m = elab_error(e, at, "%s needs a function whose %s is a float scalar; that of '%s' is %s", derive_name[f->op],
                   base->nresults == 1 ? "result" : "first result", f->of->name, type_text(e->module, first));
    if (first.rank && kind_is_float(first.kind))
      diag_mend(e->diag, m, "for a tensor there are jacobian, vjp and jvp");
  } else if (!has_float_result(base)) {
    m = elab_error(e, at, "'%s' has no float result to differentiate", f->of->name);
  } else if (base->is_extern && !root->vjp_rule && !root->jvp_rule) {
    m = elab_error(e, at, "the foreign function '%s' has no rule to differentiate it by", base->name);
    diag_mend(e->diag, m, "give it one: vjp %s(x -> y; dy) { .. }", base->name);
  } else {
    return true;
  }
  diag_note(e->diag, m, root->at, "declared here");
  return false;
}

static Func *derive_once(Elab *e, const Function *f, const Lowered *l, Func *base) {
  const Header *h = function_header(e, l->root);
  if (!check_results(e, f, base, f->at))
    return NULL;
  Function parts = *f;
  if (f->split) {
    parts.op = DERIVE_VJP;
    f = &parts;
  }
  Wrt w = {.e = e, .f = f, .h = h, .l = l, .base = base, .names = names_below(e, f->of, h->params->n)};
  if (!f->wrt)
    add_all(&w, f->at);
  else if (f->wrt->kind == EXPR_TUPLE)
    for (int i = 0; i < f->wrt->tuple.n; i++)
      add_wrt(&w, f->wrt->tuple.at[i]);
  else
    add_wrt(&w, f->wrt);
  if (w.failed)
    return NULL;
  bool *wrt = NEW_ARRAY(e->arena, bool, base->body->nparams + 1);
  for (int i = 0; i < w.order.n; i++)
    wrt[w.order.at[i]] = true;
  const int errors = e->diag->nerrors;
  Func *derived = f->is_sparse ? func_derive_sparse(e->module, f->op, base, w.order.n, w.order.at, f->mode, f->at)
                               : func_derive(e->module, f->op, base, wrt, f->mode, f->at);
  if (e->diag->nerrors > errors)
    return NULL;
  return f->is_sparse || is_sorted(&w) ? derived : ordered(&w, derived);
}

Func *derive_chain(Elab *e, const Function *f, const Lowered *l) {
  if (!f->of)
    return l->func;
  Func *base = derive_chain(e, f->of, l);
  return base && f->kind == FUNCTION_DERIVED ? derive_once(e, f, l, base) : base;
}

int derived_first(Elab *e, const Function *f, const Lowered *l) {
  const Func *base = derive_chain(e, f->of, l);
  switch (f->split ? DERIVE_VJP : f->op) {
  case DERIVE_VALUE_AND_GRAD:
  case DERIVE_VJP:
  case DERIVE_JVP: return base->nresults;
  default: return 0;
  }
}
