/* Sizes that must agree: equal as polynomials, or by what a `require` in scope says; and which is known to be less.
   Facts are kept in the scope of their `require`, newest first.  A fact "name == size" replaces the name; any other one
   settles its exact difference.  A fact is entered with all earlier ones applied to it, so that no name which an
   earlier one replaced comes back: one pass from the oldest to the newest is enough. */
#include "frontend/elab_lift.h"

struct SizeFact {
  Value *name; /* equal to `size`; or NULL: `size` is 0 */
  const Size *size;
  bool is_least; /* `size` is 0 or more */
  struct SizeFact *older;
};

static const Size *replace_name(Value *v, void *arg) {
  const struct SizeFact *fact = arg;
  return v == fact->name ? fact->size : NULL;
}

/* A fact of a function around, as the one that is being lifted out of it sees it. */
static struct SizeFact fact_here(Elab *e, const struct SizeFact *fact) {
  struct SizeFact here = *fact;
  here.size = lift_size(e, fact->size);
  if (fact->name)
    here.name = lift_value(e, fact->name);
  return here;
}

static const Size *apply_facts(Elab *e, struct SizeFact *fact, const Size *s) {
  if (!fact)
    return s;
  s = apply_facts(e, fact->older, s);
  struct SizeFact here = fact_here(e, fact);
  return here.name ? size_map(e->module, s, replace_name, &here) : s;
}

static const Size *settle(Elab *e, const Scope *scope, const Size *s) {
  if (!scope)
    return s;
  return apply_facts(e, scope->facts, settle(e, scope->outer, s));
}

bool sizes_equal(Elab *e, const Size *a, const Size *b) {
  if (a == b)
    return true;
  const Size *d = settle(e, e->scope, size_sub(e->module, a, b));
  if (size_is(d, 0))
    return true;
  if (d->overflow)
    return false;
  const Size *negated = size_scale(e->module, d, -1);
  for (const Scope *scope = e->scope; scope; scope = scope->outer)
    for (struct SizeFact *fact = scope->facts; fact; fact = fact->older) {
      const Size *known = fact->name || fact->is_least ? NULL : settle(e, e->scope, lift_size(e, fact->size));
      if (known && (known == d || known == negated))
        return true;
    }
  return false;
}

/* The value that s is, where it is nothing else. */
static Value *name_of(const Size *s) {
  if (s->overflow || s->nterms != 1 || s->terms[0].coefficient != 1 || s->terms[0].npowers != 1 ||
      s->terms[0].powers[0].exponent != 1)
    return NULL;
  return s->terms[0].powers[0].atom->value;
}

void sizes_assume(Elab *e, const Size *a, const Size *b) {
  a = settle(e, e->scope, a);
  b = settle(e, e->scope, b);
  if (a == b || a->overflow || b->overflow)
    return;
  struct SizeFact *fact = NEW(e->arena, struct SizeFact);
  Value *left = name_of(a), *right = name_of(b);
  if (left && !size_uses(b, left))
    *fact = (struct SizeFact){.name = left, .size = b};
  else if (right && !size_uses(a, right))
    *fact = (struct SizeFact){.name = right, .size = a};
  else
    *fact = (struct SizeFact){.size = size_sub(e->module, a, b)};
  fact->older = e->scope->facts;
  e->scope->facts = fact;
}

void size_assume_at_least(Elab *e, const Size *a, const Size *b) {
  struct SizeFact *fact = NEW(e->arena, struct SizeFact);
  *fact = (struct SizeFact){.size = size_sub(e->module, a, b), .is_least = true, .older = e->scope->facts};
  if (!fact->size->overflow)
    e->scope->facts = fact;
}

bool size_at_least(Elab *e, const Size *a, const Size *b) {
  Module *m = e->module;
  const Size *d = settle(e, e->scope, size_sub(m, a, b));
  if (size_nonnegative(m, d))
    return true;
  for (const Scope *scope = e->scope; scope; scope = scope->outer)
    for (struct SizeFact *fact = scope->facts; fact; fact = fact->older)
      if (fact->is_least && size_nonnegative(m, size_sub(m, d, settle(e, e->scope, lift_size(e, fact->size)))))
        return true;
  return false;
}

void sizes_keep(Elab *e, const Scope *ended) {
  struct SizeFact *oldest = ended->facts;
  if (!oldest)
    return;
  while (oldest->older)
    oldest = oldest->older;
  oldest->older = e->scope->facts;
  e->scope->facts = ended->facts;
}

/* ---- messages */
typedef struct NoteContext {
  Elab *e;
  DiagMessage *message;
  VEC(const Binding *) noted;
} NoteContext;

static void note_declaration(Value *v, void *arg) {
  NoteContext *c = arg;
  const Size *s = size_atom(c->e->module, v);
  for (const Scope *scope = c->e->scope; scope; scope = scope->outer)
    for (const Binding *b = scope->bindings; b; b = b->next) {
      if (b->kind != BIND_SIZE || b->size != s)
        continue;
      for (int i = 0; i < c->noted.n; i++)
        if (c->noted.at[i] == b)
          return;
      vec_push(c->e->arena, c->noted, b);
      diag_note(c->e->diag, c->message, b->at, "size '%s' is declared here", b->name);
      return;
    }
}

void sizes_explain(Elab *e, DiagMessage *message, const Size *a, const Size *b) {
  Module *m = e->module;
  NoteContext c = {.e = e, .message = message};
  size_values(a, note_declaration, &c);
  size_values(b, note_declaration, &c);
  if (!size_is_const(size_sub(m, a, b), NULL))
    diag_mend(e->diag, message, "if they are always equal, say so before: require %s == %s;", size_text(m, a),
              size_text(m, b));
}

bool sizes_agree(Elab *e, Range at, const Size *a, const Size *b, const char *what) {
  Module *m = e->module;
  if (sizes_equal(e, a, b))
    return true;
  const bool differ = size_is_const(size_sub(m, a, b), NULL);
  DiagMessage *message =
      elab_error(e, at, "sizes '%s' and '%s'%s%s %s", size_text(m, a), size_text(m, b), what ? " of " : "",
                 what ? what : "", differ ? "differ" : "are not known to be equal");
  sizes_explain(e, message, a, b);
  return false;
}

bool size_check(Elab *e, Range at, const Size *s) {
  Module *m = e->module;
  int64_t known;
  if (s->overflow) {
    elab_error(e, at, "this size overflows");
    return false;
  }
  if (size_is_const(s, &known) && known < 0) {
    elab_error(e, at, "a size cannot be negative; this is %lld", (long long)known);
    return false;
  }
  if (size_nonnegative(m, s))
    return true;
  Value *zero = build_int(&e->b, KIND_I64, 0);
  const Range loc = e->b.loc;
  e->b.loc = at;
  build_require(&e->b, build_binary(&e->b, OP_LE, zero, build_size(&e->b, s)),
                arena_printf(e->arena, "size %s is negative", size_text(m, s)));
  e->b.loc = loc;
  return true;
}
