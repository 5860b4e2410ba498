/* Functions: declaration under a unique name, and the signatures of functions that derive others. */
#include "ir/raw.h"
#include "ir/size.h"
#include "ir/symbols.h"
#include <string.h>

/* `name` where it is free, else name_k with the next k that is. */
static const char *unique_name(Module *m, const char *name) {
  const char *first = arena_name(m->arena, name), *unique = first;
  void **number = symbol_at(m->func_names, first);
  if (!*number) {
    *number = (void *)(uintptr_t)1;
    return first;
  }
  do {
    const uintptr_t k = (uintptr_t)*symbol_at(m->func_names, first) + 1;
    *symbol_at(m->func_names, first) = (void *)k;
    unique = arena_name(m->arena, arena_printf(m->arena, "%s_%ju", name, (uintmax_t)k));
  } while (symbol_find(m->func_names, unique));
  *symbol_at(m->func_names, unique) = (void *)(uintptr_t)1;
  return unique;
}

Func *func_new(Module *m, const char *name, Range loc) {
  Func *f = NEW(m->arena, Func);
  f->name = unique_name(m, name);
  f->module = m;
  f->body = region_new(m, f, NULL);
  f->loc = loc;
  if (m->last_func)
    m->last_func->next = f;
  else
    m->funcs = f;
  return m->last_func = f;
}

Value *func_add_param(Func *f, Type t, const char *name) {
  return region_add_param(f->module, f->body, t, name);
}

void func_set_results(Func *f, int n, const Type *types, const char *const *names) {
  Arena *a = f->module->arena;
  f->nresults = n;
  f->result_types = NEW_ARRAY(a, Type, n);
  f->result_names = NEW_ARRAY(a, const char *, n);
  for (int i = 0; i < n; i++) {
    f->result_types[i] = types[i];
    f->result_names[i] = names ? names[i] : NULL;
  }
}

const char *func_result_name(const Func *f, int r) {
  if (f->result_names[r])
    return f->result_names[r];
  int unnamed = 0;
  for (int i = 0; i < f->nresults; i++)
    unnamed += !f->result_names[i];
  return unnamed == 1 ? "value" : arena_name(f->module->arena, arena_printf(f->module->arena, "value%d", r));
}

bool func_is_kernel(const Func *f) {
  return f->is_extern && !strncmp(f->name, "gradc_rt_", 9);
}

/* ---- derivatives
   A signature is either made or, for a function that is there already, compared with what it should be. */
typedef struct Signature {
  Module *module;
  Func *derived, *base;
  DeriveOp op;
  const bool *wrt;
  const Derive *sparse;  /* NULL: the derivatives are dense */
  bool only_derivatives; /* an own rule's: no values among the results */
  bool compare, differs;
  int nparams; /* seen so far */
  VEC(Type) types;
  VEC(const char *) names;
} Signature;

static const Size *own_param(Value *v, void *arg) {
  const Signature *s = arg;
  if (v->def || v->region != s->base->body || v->index >= s->derived->body->nparams)
    return NULL;
  const Value *own = s->derived->body->params[v->index];
  if (own->type.rank || !kind_is_int(own->type.kind))
    return NULL; /* the signatures differ */
  return size_atom(s->module, s->derived->body->params[v->index]);
}

static Type own_type(Signature *s, Type t) {
  return type_map(s->module, t, own_param, s);
}

/* ---- names of what a derivative adds: of derivatives of derivatives two may be called the same */
static const Func *without_derivatives(const Func *f) {
  while (f->recipe.op != DERIVE_NONE)
    f = f->recipe.base;
  return f;
}

static bool names_one(const Func *f, const char *name) {
  for (int i = 0; i < f->body->nparams; i++)
    if (f->body->params[i]->name == name)
      return true;
  for (int r = 0; r < f->nresults; r++)
    if (func_result_name(f, r) == name)
      return true;
  return false;
}

/* A clash with a name that the program itself gives is left, and is an error of the export. */
static bool is_taken(const Signature *s, const char *name) {
  bool taken = false;
  for (int i = 0; i < s->derived->body->nparams; i++)
    taken |= s->derived->body->params[i]->name == name;
  for (int r = 0; r < s->names.n; r++)
    taken |= s->names.at[r] == name;
  return taken && !names_one(without_derivatives(s->base), name);
}

static const char *added_name(Signature *s, const char *name) {
  const char *own = name;
  for (int i = 2; !s->compare && is_taken(s, own); i++)
    own = arena_name(s->module->arena, arena_printf(s->module->arena, "%s_%d", name, i));
  return own;
}

static void add_param(Signature *s, Type t, const char *name) {
  const int i = s->nparams++;
  if (!s->compare)
    func_add_param(s->derived, own_type(s, t), name);
  else if (i >= s->derived->body->nparams || !type_equal(s->derived->body->params[i]->type, own_type(s, t)))
    s->differs = true;
}

static void add_result(Signature *s, Type t, const char *name) {
  vec_push(s->module->arena, s->types, own_type(s, t));
  vec_push(s->module->arena, s->names, name);
}

static void add_derivative(Signature *s, Type t, const char *name) {
  add_result(s, t, added_name(s, name));
}

static const char *named(Signature *s, const char *prefix, const char *name) {
  return arena_name(s->module->arena, arena_printf(s->module->arena, "%s_%s", prefix, name));
}

static const char *param_name(const Signature *s, int i) {
  const char *name = s->base->body->params[i]->name;
  return name ? name : arena_name(s->module->arena, arena_printf(s->module->arena, "arg%d", i));
}

static void add_params(Signature *s) {
  for (int i = 0; i < s->base->body->nparams; i++)
    add_param(s, s->base->body->params[i]->type, param_name(s, i));
  if (s->op == DERIVE_VJP)
    for (int r = 0; r < s->base->nresults; r++)
      if (kind_is_float(s->base->result_types[r].kind))
        add_param(s, s->base->result_types[r], added_name(s, named(s, "seed", func_result_name(s->base, r))));
  if (s->op == DERIVE_JVP || s->op == DERIVE_HVP)
    for (int i = 0; i < s->base->body->nparams; i++)
      if (s->wrt[i])
        add_param(s, s->base->body->params[i]->type, added_name(s, named(s, "t", param_name(s, i))));
}

static void add_base_results(Signature *s) {
  for (int r = 0; r < s->base->nresults && !s->only_derivatives; r++)
    add_result(s, s->base->result_types[r], func_result_name(s->base, r));
}

/* One result of the type and name of each of wrt. */
static void add_gradients(Signature *s, const char *prefix) {
  for (int i = 0; i < s->base->body->nparams; i++)
    if (s->wrt[i])
      add_derivative(s, s->base->body->params[i]->type, named(s, prefix, param_name(s, i)));
}

/* The axes of a then those of b, in the kind of b: a derivative by b is a cotangent of b. */
static Type joined(Signature *s, Type a, Type b) {
  const Size *dims[2 * MAX_RANK];
  if (a.rank + b.rank > MAX_RANK) {
    if (!s->compare)
      diag_error(s->module->diag, s->derived->loc,
                 "the derivative of '%s' has a result of %d axes; at most %d are possible", s->base->name,
                 a.rank + b.rank, MAX_RANK);
    s->differs = true;
    return type_scalar(b.kind);
  }
  for (int i = 0; i < a.rank; i++)
    dims[i] = a.dims[i];
  for (int i = 0; i < b.rank; i++)
    dims[a.rank + i] = b.dims[i];
  return type_tensor(s->module, b.kind, a.rank + b.rank, dims);
}

/* A matrix in compressed rows: its rows are the elements of one type, its columns those of another. */
static void add_matrix(Signature *s, Type rows, Type columns, const char *name) {
  Module *m = s->module;
  static const char *const PARTS[] = {"ptr", "col", "val"};
  const Size *unknown = size_floordiv(m, size_const(m, 1), size_const(m, 0));
  const Size *dims[] = {size_add(m, type_count(m, rows), size_const(m, 1)), unknown, unknown};
  for (int i = 0; i < 3; i++)
    add_derivative(s, type_tensor(m, i < 2 ? KIND_I32 : columns.kind, 1, &dims[i]),
                   name ? named(s, name, PARTS[i]) : arena_name(m->arena, PARTS[i]));
}

static void add_sparse_jacobians(Signature *s, const char *prefix, Type rows, bool is_alone) {
  for (int i = 0; i < s->sparse->norder; i++) {
    const int at = s->sparse->order[i];
    add_matrix(s, rows, s->base->body->params[at]->type,
               is_alone && s->sparse->norder == 1 ? NULL : named(s, prefix, param_name(s, at)));
  }
}

static void add_sparse_hessians(Signature *s) {
  const int n = s->sparse->norder, *order = s->sparse->order;
  Value *const *params = s->base->body->params;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      add_matrix(s, params[order[i]]->type, params[order[j]]->type,
                 n == 1 ? NULL : named(s, named(s, "h", param_name(s, order[i])), param_name(s, order[j])));
}

static void add_jacobians(Signature *s) {
  int nfloats = 0;
  for (int r = 0; r < s->base->nresults; r++)
    nfloats += kind_is_float(s->base->result_types[r].kind);
  for (int r = 0; r < s->base->nresults; r++) {
    if (!kind_is_float(s->base->result_types[r].kind))
      continue;
    const char *prefix = nfloats == 1 ? "d" : named(s, "d", func_result_name(s->base, r));
    if (s->sparse) {
      add_sparse_jacobians(s, prefix, s->base->result_types[r], nfloats == 1);
      continue;
    }
    for (int i = 0; i < s->base->body->nparams; i++)
      if (s->wrt[i])
        add_derivative(s, joined(s, s->base->result_types[r], s->base->body->params[i]->type),
                       named(s, prefix, param_name(s, i)));
  }
}

static void add_hessians(Signature *s) {
  const int n = s->base->body->nparams;
  int nwrt = 0;
  if (s->sparse) {
    add_sparse_hessians(s);
    return;
  }
  for (int i = 0; i < n; i++)
    nwrt += s->wrt[i];
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      if (s->wrt[i] && s->wrt[j]) {
        const char *h = named(s, "h", param_name(s, i));
        add_derivative(s, joined(s, s->base->body->params[i]->type, s->base->body->params[j]->type),
                       nwrt == 1 ? h : named(s, h, param_name(s, j)));
      }
}

static void add_results(Signature *s) {
  switch (s->op) {
  case DERIVE_GRAD: add_gradients(s, "d"); break;
  case DERIVE_VALUE_AND_GRAD:
  case DERIVE_VJP:
    add_base_results(s);
    add_gradients(s, "d");
    break;
  case DERIVE_JVP:
    add_base_results(s);
    for (int r = 0; r < s->base->nresults; r++)
      if (kind_is_float(s->base->result_types[r].kind))
        add_derivative(s, s->base->result_types[r], named(s, "t", func_result_name(s->base, r)));
    break;
  case DERIVE_JACOBIAN: add_jacobians(s); break;
  case DERIVE_HESSIAN: add_hessians(s); break;
  case DERIVE_HVP: add_gradients(s, "hv"); break;
  default: internal_error("func_derive of operator %d", (int)s->op);
  }
}

/* Whether a function was declared as this one is. */
static bool derives(const Func *f, const Derive *d) {
  if (f->recipe.op != d->op || f->recipe.mode != d->mode || f->recipe.is_sparse != d->is_sparse)
    return false;
  for (int i = 0; i < d->base->body->nparams; i++)
    if (f->recipe.wrt[i] != d->wrt[i])
      return false;
  for (int i = 0; i < d->norder; i++)
    if (f->recipe.order[i] != d->order[i])
      return false;
  return true;
}

static Func *declare(Module *m, const Derive *d, Range loc) {
  Func *base = d->base;
  for (Func *f = base->derivatives; f; f = f->next_derivative)
    if (derives(f, d))
      return f;
  const int n = base->body->nparams;
  for (int i = 0; i < n; i++)
    if (d->wrt[i] && !kind_is_float(base->body->params[i]->type.kind))
      internal_error("derivative of %s by its parameter %d, which is not a float", base->name, i);
  Func *f = func_new(m, arena_printf(m->arena, "%s_%s", base->name, derive_name[d->op]), loc);
  f->derive = *d;
  f->derive.wrt = NEW_ARRAY(m->arena, bool, n);
  if (n)
    memcpy(f->derive.wrt, d->wrt, sizeof *d->wrt * (size_t)n);
  f->recipe = f->derive;
  f->next_derivative = base->derivatives;
  base->derivatives = f;
  f->nsizes = base->nsizes;
  Signature s = {.module = m,
                 .derived = f,
                 .base = base,
                 .op = d->op,
                 .wrt = f->derive.wrt,
                 .sparse = d->is_sparse ? &f->derive : NULL};
  add_params(&s);
  add_results(&s);
  func_set_results(f, s.types.n, s.types.at, s.names.at);
  return f;
}

Func *func_derive(Module *m, DeriveOp op, Func *base, const bool *wrt, DeriveMode mode, Range loc) {
  const Derive d = {.op = op, .base = base, .wrt = (bool *)(uintptr_t)wrt, .mode = mode};
  return declare(m, &d, loc);
}

Func *func_derive_sparse(Module *m, DeriveOp op, Func *base, int n, const int *order, DeriveMode mode, Range loc) {
  bool *wrt = NEW_ARRAY(m->arena, bool, base->body->nparams);
  int *own = NEW_ARRAY(m->arena, int, n);
  for (int i = 0; i < n; i++) {
    wrt[order[i]] = true;
    own[i] = order[i];
  }
  const Derive d = {.op = op, .base = base, .wrt = wrt, .mode = mode, .is_sparse = true, .order = own, .norder = n};
  return declare(m, &d, loc);
}

static bool matches(Signature *s) {
  const Func *f = s->derived;
  s->compare = true;
  s->module = f->module;
  if (f->nsizes != s->base->nsizes)
    return false;
  add_params(s);
  add_results(s);
  if (s->differs || s->nparams != f->body->nparams || s->types.n != f->nresults)
    return false;
  for (int i = 0; i < f->nresults; i++)
    if (!type_equal(s->types.at[i], f->result_types[i]))
      return false;
  return true;
}

bool func_derive_matches(Func *f) {
  const Derive *d = &f->derive;
  if ((d->op == DERIVE_GRAD || d->op == DERIVE_VALUE_AND_GRAD || d->op == DERIVE_HESSIAN || d->op == DERIVE_HVP) &&
      (!d->base->nresults || d->base->result_types[0].rank || !kind_is_float(d->base->result_types[0].kind)))
    return false;
  for (int i = 0; i < d->base->body->nparams; i++)
    if (d->wrt[i] && !kind_is_float(d->base->body->params[i]->type.kind))
      return false;
  if (d->is_sparse && d->op != DERIVE_JACOBIAN && d->op != DERIVE_HESSIAN)
    return false;
  if (d->base->derive.is_sparse)
    return false;
  for (int i = 0; i < d->norder; i++)
    for (int j = 0; j <= i; j++)
      if (d->order[i] >= d->base->body->nparams || (j < i && d->order[i] == d->order[j]))
        return false;
  return matches(
      &(Signature){.derived = f, .base = d->base, .op = d->op, .wrt = d->wrt, .sparse = d->is_sparse ? d : NULL});
}

bool func_rule_matches(Func *f, Func *rule, DeriveOp op) {
  const int n = f->body->nparams;
  bool *wrt = NEW_ARRAY(f->module->arena, bool, n);
  for (int i = 0; i < n - f->ncaptured; i++)
    wrt[i] = kind_is_float(f->body->params[i]->type.kind);
  return matches(&(Signature){.derived = rule, .base = f, .op = op, .wrt = wrt, .only_derivatives = true});
}
