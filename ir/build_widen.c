/* Widening loops: one that is being built by carries, whose number and types only its body tells; one that is finished
   by an accumulator.  Operations that are made aside, or at the end, and moved to their place. */
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

Builder build_aside(Region *r) {
  Region *made = region_new(r->func->module, r->func, r->owner);
  Builder b = build_into(r->func, made);
  b.share_top = made;
  return b;
}

void build_settle(const Builder *b, Region *r, Op *at) {
  for (Op *op = b->region->first, *next; op; op = next) {
    next = op->next;
    op_unlink(op);
    if (at)
      op_insert_before(at, op);
    else
      region_append(r, op);
  }
}

void op_settle_before(Op *at) {
  while (at->next) {
    Op *op = at->next;
    op_unlink(op);
    op_insert_before(at, op);
  }
}

Value *loop_widen_by_acc(Module *m, Op *op, Value *init, const char *name, Value **result) {
  LoopInfo *info = op->at.loop;
  const int at = info->ncarries + info->naccs;
  Value *handle = region_add_param(m, op->regions[0], init->type, init->name);
  handle->is_acc = true;
  Value **operands = NEW_ARRAY(m->arena, Value *, op->noperands + 1);
  for (int i = 0; i < op->noperands; i++)
    operands[i] = op->operands[i];
  operands[op->noperands++] = init;
  op->operands = operands;
  Value **results = NEW_ARRAY(m->arena, Value *, op->nresults + 1);
  for (int i = 0; i < op->nresults; i++) {
    op->results[i]->index = i < at ? i : i + 1;
    results[op->results[i]->index] = op->results[i];
  }
  op->results = results;
  op->nresults++;
  info->naccs++;
  *result = op_set_result(m, op, at, init->type, name);
  return handle;
}

Value *loop_add_padded(Module *m, Op *op, Value *init, Value *inner) {
  const LoopInfo *info = op->at.loop;
  Value *result, *handle = loop_widen_by_acc(m, op, init, inner->name, &result);
  Op *add = op_new(m, OP_ACC_ADD, 2 + info->nindices, 0, 0);
  add->operands[0] = handle;
  add->operands[1] = inner;
  for (int i = 0; i < info->nindices; i++)
    add->operands[2 + i] = loop_index(op, i);
  add->loc = op->loc;
  add->origin = op->origin;
  region_append(op->regions[0], add);
  return result;
}
