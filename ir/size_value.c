/* Sizes and values: the polynomial of a computed value, replacing values in sizes, asking what a size is over. */
#include "ir/size.h"
#include "ir/size_table.h"
#include <string.h>

/* ---- the polynomial of a value */
/* The constant that an integer division divides by, or 0. */
static int64_t divides_by(const Op *op) {
  const Op *by = op->operands[1]->def;
  return by && by->code == OP_CONST ? by->at.i : 0;
}

static bool expands(const Value *v) {
  if (!v->def || v->type.rank || v->type.kind != KIND_I64)
    return false;
  switch (v->def->code) {
  case OP_CONST:
  case OP_SIZE:
  case OP_NEG:
  case OP_ADD:
  case OP_SUB:
  case OP_MUL: return true;
  case OP_DIV: return divides_by(v->def) > 0;
  default: return false;
  }
}

/* What an expanding value is, its operands being known.  A quotient is rounded to 0: of what is not negative that is
   down, as a size's is. */
static const Size *expansion(Module *m, Value *v) {
  const Op *op = v->def;
  const Size *a = op->noperands > 0 ? op->operands[0]->poly : NULL,
             *b = op->noperands > 1 ? op->operands[1]->poly : NULL;
  switch (op->code) {
  case OP_CONST: return size_const(m, op->at.i);
  case OP_SIZE: return op->at.size;
  case OP_NEG: return size_scale(m, a, -1);
  case OP_ADD: return size_add(m, a, b);
  case OP_SUB: return size_sub(m, a, b);
  case OP_DIV: return size_nonnegative(m, a) ? size_floordiv(m, a, b) : size_atom(m, v);
  default: return size_mul(m, a, b);
  }
}

/* Chains of additions may be long: a stack of our own, not recursion.  A value whose polynomial leaves the bounds of
   sizes is an atom (its arithmetic wraps; a size's does not), but the size operation gives its very size. */
const Size *size_of_value(Module *m, Value *v) {
  VEC(Value *) stack = {0};
  if (v->poly)
    return v->poly;
  if (!expands(v))
    return v->poly = size_atom(m, v);
  vec_push(m->arena, stack, v);
  while (stack.n) {
    Value *at = stack.at[stack.n - 1];
    const int before = stack.n;
    for (int i = 0; expands(at) && i < at->def->noperands; i++)
      if (!at->def->operands[i]->poly)
        vec_push(m->arena, stack, at->def->operands[i]);
    if (stack.n > before)
      continue;
    const Size *s = expands(at) ? expansion(m, at) : size_atom(m, at);
    at->poly = s->overflow && at->def->code != OP_SIZE ? size_atom(m, at) : s;
    stack.n--;
  }
  return v->poly;
}

/* ---- replacing values */
static const Size *map_atom(Module *m, const Atom *a, SizeMap *map, void *arg) {
  if (!a->value)
    return size_atom_of(m, a, size_map(m, a->num, map, arg), size_map(m, a->den, map, arg));
  const Size *s = map(a->value, arg);
  return s ? s : size_atom(m, a->value);
}

typedef struct AnyArg {
  SizeMap *map;
  void *arg;
  bool any;
} AnyArg;

static void note_mapped(Value *v, void *arg) {
  AnyArg *any = arg;
  any->any |= any->map(v, any->arg) != NULL;
}

const Size *size_map(Module *m, const Size *s, SizeMap *map, void *arg) {
  AnyArg any = {.map = map, .arg = arg};
  size_values(s, note_mapped, &any);
  if (!any.any)
    return s;
  const Size *sum = size_const(m, 0);
  for (int i = 0; i < s->nterms; i++) {
    const Size *product = size_const(m, s->terms[i].coefficient);
    for (int j = 0; j < s->terms[i].npowers; j++) {
      const Size *factor = map_atom(m, s->terms[i].powers[j].atom, map, arg);
      for (int k = 0; k < s->terms[i].powers[j].exponent; k++)
        product = size_mul(m, product, factor);
    }
    sum = size_add(m, sum, product);
  }
  return sum;
}

Type type_map(Module *m, Type t, SizeMap *map, void *arg) {
  const Size *dims[MAX_RANK];
  bool changed = false;
  for (int i = 0; i < t.rank; i++) {
    dims[i] = size_map(m, t.dims[i], map, arg);
    changed |= dims[i] != t.dims[i];
  }
  return changed ? type_tensor(m, t.kind, t.rank, dims) : t;
}

/* ---- asking */
void size_values(const Size *s, SizeVisit *visit, void *arg) {
  for (int i = 0; i < s->nterms; i++)
    for (int j = 0; j < s->terms[i].npowers; j++) {
      const Atom *a = s->terms[i].powers[j].atom;
      if (a->value) {
        visit(a->value, arg);
      } else {
        size_values(a->num, visit, arg);
        size_values(a->den, visit, arg);
      }
    }
}

typedef struct UsesArg {
  const Value *value;
  bool found;
} UsesArg;

static void note_use(Value *v, void *arg) {
  UsesArg *uses = arg;
  uses->found |= v == uses->value;
}

bool size_uses(const Size *s, const Value *v) {
  UsesArg uses = {.value = v};
  size_values(s, note_use, &uses);
  return uses.found;
}

typedef struct Inside {
  const Region *region;
  bool found;
} Inside;
static void look_inside(Value *v, void *arg) {
  Inside *in = arg;
  in->found |= !value_is_outside(v, in->region);
}

bool size_is_outside(const Size *s, const Region *r) {
  Inside in = {.region = r};
  size_values(s, look_inside, &in);
  return !in.found;
}

bool size_linear_in(Module *m, const Size *s, Value *v, const Size **coefficient, const Size **rest) {
  if (s->overflow)
    return false;
  Term *with = NEW_ARRAY(m->arena, Term, s->nterms), *without = NEW_ARRAY(m->arena, Term, s->nterms);
  int nwith = 0, nwithout = 0;
  for (int i = 0; i < s->nterms; i++) {
    const Term *t = &s->terms[i];
    int at = -1;
    for (int j = 0; j < t->npowers; j++) {
      const Power *p = &t->powers[j];
      if (p->atom->value ? p->atom->value == v && p->exponent > 1
                         : size_uses(p->atom->num, v) || size_uses(p->atom->den, v))
        return false;
      if (p->atom->value == v)
        at = j;
    }
    if (at < 0) {
      without[nwithout++] = *t;
      continue;
    }
    Power *others = NEW_ARRAY(m->arena, Power, t->npowers);
    memcpy(others, t->powers, sizeof *others * (size_t)at);
    memcpy(others + at, t->powers + at + 1, sizeof *others * (size_t)(t->npowers - at - 1));
    with[nwith++] = (Term){.coefficient = t->coefficient, .npowers = t->npowers - 1, .powers = others};
  }
  *coefficient = size_from_terms(m, nwith, with);
  *rest = size_from_terms(m, nwithout, without);
  return true;
}
