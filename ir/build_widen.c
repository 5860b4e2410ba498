/* Widening a loop that is being built by carries, whose number and types only its body tells. */
#include "ir/build.h"
#include "ir/raw.h"

Value *loop_add_carry(Module *m, Op *op, Value *init) {
  LoopInfo *info = op->at.loop;
  if (info->naccs || info->nindices != 1)
    internal_error("a carry is added to a loop that cannot have one");
  Value *carry = region_add_param(m, op->regions[0], init->type, init->name);
  Value **operands = NEW_ARRAY(m->arena, Value *, op->noperands + 1);
  for (int i = 0; i < op->noperands; i++)
    operands[i] = op->operands[i];
  operands[op->noperands++] = init;
  op->operands = operands;
  info->ncarries++;
  op->nresults = info->ncarries + info->nouts;
  op->results = NEW_ARRAY(m->arena, Value *, op->nresults + 1);
  return carry;
}

void op_settle_before(Op *at) {
  while (at->next) {
    Op *op = at->next;
    op_unlink(op);
    op_insert_before(at, op);
  }
}
