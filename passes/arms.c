/* What both arms of a branch compute alike is computed before it.
   if (c) { u[i] } else { u[i] + f } reads u[i] once, and whichever arm is taken, the bar of u[i] is passed on: so it is
   not masked (masks.c), and the reverse adds to u_bar once.  Only operations that cannot fail are moved: no checked
   index, and no division of integers, which stands behind its check. */
#include "passes/arms.h"
#include "ir/raw.h"
#include "ir/size.h"
#include "passes/number.h"

static bool can_move(const Op *op, const Op *branch) {
  if (op->nresults != 1 || op->results[0]->type.rank || op->nregions)
    return false;
  if (op->code == OP_INDEX)
    return !op->at.checks;
  if (op->code == OP_SIZE)
    return size_is_outside(op->at.size, branch->regions[0]) && size_is_outside(op->at.size, branch->regions[1]);
  if (op->code == OP_CONST)
    return true;
  return op_info[op->code].group == GROUP_ELEM &&
         (kind_is_float(op->results[0]->type.kind) || op->code == OP_ADD || op->code == OP_SUB || op->code == OP_MUL);
}

/* Operations of one arm whose operands are outside of the branch or such operations themselves, by what they compute:
   its values stand for the equal ones of the other arm. */
typedef struct Table {
  const Op **slots;
  size_t cap;
  const Op *branch;
  ValueMap same;
} Table;

static Value *standing_for(const Table *t, Value *v) {
  Value *known = map_get(&t->same, v);
  if (known)
    return known;
  return value_is_outside(v, t->branch->regions[0]) && value_is_outside(v, t->branch->regions[1]) ? v : NULL;
}

static bool equal(const Table *t, const Op *a, const Op *b) {
  if (!op_does_same(a, b))
    return false;
  for (int i = 0; i < a->noperands; i++)
    if (standing_for(t, a->operands[i]) != standing_for(t, b->operands[i]))
      return false;
  return true;
}

/* Where such an operation stands, or would stand; SIZE_MAX where it cannot be moved. */
static size_t slot_of(const Table *t, const Op *op) {
  if (!can_move(op, t->branch))
    return SIZE_MAX;
  size_t h = ((size_t)op->code * 31 + (size_t)op_attribute(op)) * 31 + (size_t)op->results[0]->type.kind;
  for (int i = 0; i < op->noperands; i++) {
    const Value *v = standing_for(t, op->operands[i]);
    if (!v)
      return SIZE_MAX;
    h = h * 1000003 + v->uid;
  }
  h *= 0x9e3779b97f4a7c15u;
  for (size_t i = (h ^ h >> 29) & (t->cap - 1);; i = (i + 1) & (t->cap - 1))
    if (!t->slots[i] || equal(t, t->slots[i], op))
      return i;
}

void arms_hoist(Builder *b, const Op *branch, ValueMap *map) {
  Arena *arena = b->module->arena;
  Table t = {.cap = 16, .branch = branch, .same = {.arena = arena}};
  size_t n = 0;
  for (const Op *op = branch->regions[0]->first; op; op = op->next)
    n++;
  if (!n || !branch->regions[1]->first)
    return;
  while (t.cap < 2 * n)
    t.cap *= 2;
  t.slots = NEW_ARRAY(arena, const Op *, t.cap);
  for (const Op *op = branch->regions[0]->first; op; op = op->next) {
    const size_t i = slot_of(&t, op);
    if (i == SIZE_MAX)
      continue;
    if (!t.slots[i])
      t.slots[i] = op;
    map_put(&t.same, op->results[0], t.slots[i]->results[0]);
  }
  ValueMap moved = {.arena = arena, .outer = map};
  for (Op *op = branch->regions[1]->first; op; op = op->next) {
    const size_t i = slot_of(&t, op);
    if (i == SIZE_MAX || !t.slots[i])
      continue;
    map_put(&t.same, op->results[0], t.slots[i]->results[0]);
    build_copy_op(b, op, &moved);
    if (map_get(&moved, op->results[0]))
      map_put(&moved, t.slots[i]->results[0], map_get(&moved, op->results[0]));
  }
}
