/* What conditions say: see ir/known.h. */
#include "ir/known.h"
#include "ir/build.h"

static void look_at_value(Value *v, void *arg) {
  const Op *owner = v->region->owner;
  const bool index = owner && owner->code == OP_LOOP && v->index < owner->at.loop->nindices;
  const bool size = !owner && v->index < v->region->func->nsizes;
  *(bool *)arg &= !v->def && (index || size);
}

bool known_is_bounded(const Size *s) {
  bool bounded = !s->overflow;
  size_values(s, look_at_value, &bounded);
  return bounded;
}

static void add_fact(Known *k, const Size *s) {
  if (k->n < MOST_KNOWN && known_is_bounded(s))
    k->fact[k->n++] = s;
}

static bool follows(const Known *k, const Size *s) {
  for (int i = 0; i < k->n; i++)
    if (size_nonnegative(k->module, size_sub(k->module, s, k->fact[i])))
      return true;
  return size_nonnegative(k->module, s);
}

/* x - y - 1 where x and y differ and x is not the smaller. */
static void add_difference(Known *k, const Size *x, const Size *y) {
  const Size *s = size_sub(k->module, x, y);
  if (follows(k, s))
    add_fact(k, size_sub(k->module, s, size_const(k->module, 1)));
}

static void learn_comparison(Known *k, const Op *op, bool holds) {
  Module *m = k->module;
  if (op->operands[0]->type.kind != KIND_I64)
    return;
  const Size *x = size_of_value(m, op->operands[0]), *y = size_of_value(m, op->operands[1]), *one = size_const(m, 1);
  switch (op->code) {
  case OP_LT: add_fact(k, holds ? size_sub(m, size_sub(m, y, x), one) : size_sub(m, x, y)); break;
  case OP_LE: add_fact(k, holds ? size_sub(m, y, x) : size_sub(m, size_sub(m, x, y), one)); break;
  default:
    if ((op->code == OP_EQ) == holds) {
      add_fact(k, size_sub(m, x, y));
      add_fact(k, size_sub(m, y, x));
    } else {
      add_difference(k, x, y);
      add_difference(k, y, x);
    }
    break;
  }
}

void known_learn(Known *k, const Value *condition, bool holds) {
  const Op *op = condition->def;
  if (!op)
    return;
  switch (op->code) {
  case OP_NOT: known_learn(k, op->operands[0], !holds); break;
  case OP_AND:
  case OP_OR:
    if ((op->code == OP_AND) == holds)
      for (int i = 0; i < 2; i++)
        known_learn(k, op->operands[i], holds);
    break;
  case OP_LT:
  case OP_LE:
  case OP_EQ:
  case OP_NE: learn_comparison(k, op, holds); break;
  default: break;
  }
}

bool known_in_range(const Known *k, const Size *at, const Size *end) {
  Module *m = k->module;
  return known_is_bounded(at) && follows(k, at) && follows(k, size_sub(m, size_sub(m, end, at), size_const(m, 1)));
}
