/* Scopes and names: binding, looking up, near misses, and names as expressions. */
#include "frontend/elab_core.h"
#include "frontend/elab_lift.h"
#include "frontend/elsewhere.h"
#include <math.h>
#include <string.h>

/* ---- a table of names, for scopes that hold many: open addressing, the newest binding of each name */
typedef struct NameTable {
  Binding **slots;
  size_t n, cap; /* cap: a power of two, at most half full */
} NameTable;

static size_t name_hash(const char *name) {
  const uint64_t h = (uint64_t)(uintptr_t)name * 0x9e3779b97f4a7c15u;
  return (size_t)(h >> 32);
}

static Binding **name_slot(const NameTable *t, const char *name) {
  size_t i = name_hash(name) & (t->cap - 1);
  while (t->slots[i] && t->slots[i]->name != name)
    i = (i + 1) & (t->cap - 1);
  return &t->slots[i];
}

static void table_put(Elab *e, NameTable *t, Binding *b) {
  if (2 * (t->n + 1) > t->cap) {
    NameTable bigger = {.cap = t->cap ? 2 * t->cap : 64};
    bigger.slots = NEW_ARRAY(e->arena, Binding *, bigger.cap);
    for (size_t i = 0; i < t->cap; i++)
      if (t->slots[i])
        *name_slot(&bigger, t->slots[i]->name) = t->slots[i];
    bigger.n = t->n;
    *t = bigger;
  }
  Binding **slot = name_slot(t, b->name);
  t->n += !*slot;
  *slot = b;
}

/* ---- scopes */
enum { TABLE_FROM = 16 };

Scope *scope_new(Elab *e, Scope *outer) {
  Scope *s = NEW(e->arena, Scope);
  s->outer = outer;
  return s;
}

Scope *scope_push(Elab *e) {
  return e->scope = scope_new(e, e->scope);
}

void scope_pop(Elab *e, Scope *pushed) {
  e->scope = pushed->outer;
}

static void make_table(Elab *e, Scope *s) {
  VEC(Binding *) all = {0};
  for (Binding *b = s->bindings; b; b = b->next)
    vec_push(e->arena, all, b);
  s->names = NEW(e->arena, NameTable);
  for (int i = all.n - 1; i >= 0; i--)
    table_put(e, s->names, all.at[i]);
}

Binding *scope_bind(Elab *e, BindingKind kind, Name name, Form *form) {
  Binding *b = NEW(e->arena, Binding);
  b->kind = kind;
  b->name = name.text;
  b->at = name.at;
  b->form = form;
  b->func = e->b.func;
  b->loop_depth = e->comprehension_depth;
  if (!name.text || !strcmp(name.text, "_"))
    return b;
  Scope *s = e->scope;
  b->next = s->bindings;
  s->bindings = b;
  s->count++;
  if (s->names)
    table_put(e, s->names, b);
  else if (s->count > TABLE_FROM)
    make_table(e, s);
  return b;
}

Binding *scope_lookup(const Scope *from, const char *name) {
  for (const Scope *s = from; s; s = s->outer) {
    if (s->names) {
      Binding *b = *name_slot(s->names, name);
      if (b)
        return b;
      continue;
    }
    for (Binding *b = s->bindings; b; b = b->next)
      if (b->name == name)
        return b;
  }
  return NULL;
}

static void report_clash(Elab *e, const Binding *b) {
  DiagMessage *m = elab_error(e, b->clash_at, "two imported files declare '%s', which is used", b->name);
  diag_note(e->diag, m, b->at, "one is here");
  diag_note(e->diag, m, b->clash->at, "the other is here");
}

Binding *scope_find(Elab *e, const char *name) {
  Binding *b = scope_lookup(e->scope, name);
  if (!b)
    return NULL;
  b->used = true;
  if (b->clash)
    report_clash(e, b);
  return b;
}

/* ---- what an anonymous function sees: the scopes as they are when it is written.
   A list of bindings only grows at its head, so its present head is the list as it is now; only assigned `var`s change,
   and they become `let`s of their present values. */
static bool holds_var(const Scope *s) {
  for (const Binding *b = s->bindings; b; b = b->next)
    if (b->kind == BIND_VAR)
      return true;
  return false;
}

static void freeze_vars(Elab *e, Scope *s) {
  Binding **link = &s->bindings;
  for (const Binding *b = s->bindings; b; b = b->next) {
    Binding *copy = NEW(e->arena, Binding);
    *copy = *b;
    if (b->kind == BIND_VAR) {
      copy->kind = BIND_LET;
      copy->is_captured = true;
    }
    *link = copy;
    link = &copy->next;
  }
}

Scope *scope_snapshot(Elab *e) {
  Scope *first = NULL, *last = NULL;
  for (Scope *s = e->scope; s; s = s->outer) {
    if (s == e->top || s->is_frozen) { /* does not change any more: shared */
      if (!first)
        return s;
      last->outer = s;
      return first;
    }
    Scope *copy = NEW(e->arena, Scope);
    copy->bindings = s->bindings;
    copy->count = s->count;
    copy->facts = s->facts;
    copy->frame = s->frame;
    copy->is_function = s->is_function;
    copy->is_frozen = true;
    if (holds_var(s))
      freeze_vars(e, copy);
    if (copy->count > TABLE_FROM)
      make_table(e, copy);
    if (last)
      last->outer = copy;
    else
      first = copy;
    last = copy;
  }
  return first;
}

/* ---- near misses */
NearMiss near_miss_of(const char *name) {
  const int n = (int)strlen(name);
  return (NearMiss){.name = name, .distance = (n + 2) / 3 + 1};
}

/* Edits (insertions, deletions, replacements, exchanges of neighbours) from a to b; only up to `limit`. */
static int edit_distance(const char *a, const char *b, int limit) {
  enum { LONGEST = 40 };
  int rows[3][LONGEST + 1];
  const int na = (int)strlen(a), nb = (int)strlen(b);
  if (na > LONGEST || nb > LONGEST || na - nb > limit || nb - na > limit)
    return limit + 1;
  for (int j = 0; j <= nb; j++)
    rows[0][j] = j;
  for (int i = 1; i <= na; i++) {
    int *row = rows[i % 3], *before = rows[(i + 2) % 3], *two_before = rows[(i + 1) % 3];
    row[0] = i;
    for (int j = 1; j <= nb; j++) {
      int best = before[j - 1] + (a[i - 1] != b[j - 1]);
      best = before[j] + 1 < best ? before[j] + 1 : best;
      best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && two_before[j - 2] + 1 < best)
        best = two_before[j - 2] + 1;
      row[j] = best;
    }
  }
  return rows[na % 3][nb];
}

void near_miss_try(NearMiss *m, const char *candidate) {
  if (!candidate)
    return;
  const int d = edit_distance(m->name, candidate, m->distance);
  if (d > 0 && d < m->distance && d < (int)strlen(m->name)) {
    m->distance = d;
    m->best = candidate;
  }
}

void near_miss_mend(Elab *e, const NearMiss *m, DiagMessage *message) {
  if (m->best)
    diag_mend(e->diag, message, "did you mean '%s'?", m->best);
}

static void try_visible(Elab *e, NearMiss *m) {
  static const char *const FURTHER[] = {"pi",  "inf",     "nan",   "grad", "value_and_grad", "vjp", "jvp", "jacobian",
                                        "hvp", "hessian", "zeros", "ones", "full",           "eye", "iota"};
  for (const Scope *s = e->scope; s; s = s->outer)
    for (const Binding *b = s->bindings; b; b = b->next)
      near_miss_try(m, b->name);
  for (int i = 0; builtin_name(i); i++)
    near_miss_try(m, builtin_name(i));
  for (size_t i = 0; i < sizeof FURTHER / sizeof *FURTHER; i++)
    near_miss_try(m, FURTHER[i]);
}

/* ---- names as expressions */
static Form *unknown_name(Elab *e, const Expr *x) {
  DiagMessage *m = elab_error(e, x->at, "unknown name '%s'", x->name);
  const char *here;
  if (elsewhere_name(x->name, &here)) {
    if (here)
      diag_mend(e->diag, m, "write %s", here);
    return form_poison(e, x->at);
  }
  NearMiss near = near_miss_of(x->name);
  try_visible(e, &near);
  near_miss_mend(e, &near, m);
  return form_poison(e, x->at);
}

static Form *predeclared_name(Elab *e, const Expr *x) {
  DeriveOp op;
  if (!strcmp(x->name, "pi"))
    return form_float(e, x->at, 3.14159265358979323846);
  if (!strcmp(x->name, "inf"))
    return form_float(e, x->at, (double)INFINITY);
  if (!strcmp(x->name, "nan"))
    return form_float(e, x->at, (double)NAN);
  DiagMessage *m;
  if (derive_operator(x->name, &op)) {
    m = elab_error(e, x->at, "'%s' is an operator on functions", x->name);
    diag_mend(e->diag, m, "write %s(f, wrt = x)", x->name);
  } else if (builtin_is_filled(x->name)) {
    m = elab_error(e, x->at, "'%s' needs its sizes", x->name);
    diag_mend(e->diag, m, "write %s[n]%s", x->name, strcmp(x->name, "full") ? "" : "(v)");
  } else if (builtin_find(x->name)) {
    m = elab_error(e, x->at, "the built-in function '%s' can only be called", x->name);
    diag_mend(e->diag, m, "write fn(x: f64) { %s(x) }", x->name);
  } else if (reduction_is(x->name)) {
    m = elab_error(e, x->at, "the reduction '%s' needs its ranges", x->name);
    diag_mend(e->diag, m, "write %s[i: x[i]]", x->name);
  } else {
    return unknown_name(e, x);
  }
  return form_poison(e, x->at);
}

Form *scope_form(Elab *e, Binding *b, Range at) {
  Form *t;
  switch (b->kind) {
  case BIND_LET:
  case BIND_VAR:
  case BIND_FUNCTION: t = lift_form(e, b->form); break;
  case BIND_SIZE: t = form_of_size(e, at, lift_size(e, b->size)); break;
  case BIND_CONST: return const_form(e, b, at);
  default: return form_poison(e, at);
  }
  if (t->kind == FORM_POISON)
    return form_poison(e, at);
  Form *here = NEW(e->arena, Form);
  *here = *t;
  here->at = at;
  return here;
}

Form *elab_name(Elab *e, Expr *x) {
  Binding *b = scope_find(e, x->name);
  if (!b)
    return predeclared_name(e, x);
  if (b->kind == BIND_STRUCT || b->kind == BIND_KIND) {
    DiagMessage *m =
        elab_error(e, x->at, "'%s' is a %s, not a value", x->name, b->kind == BIND_STRUCT ? "struct" : "kind");
    diag_note(e->diag, m, b->at, "declared here");
    if (b->kind == BIND_STRUCT)
      diag_mend(e->diag, m, "write %s(..) to make one", x->name);
    return form_poison(e, x->at);
  }
  return scope_form(e, b, x->at);
}
