/* Additions whose index stays in a loop become sums of that loop, added once after it, also where other places add to
   the same accumulator, as both bodies of a pair do: loop i, j { acc_add b[i], -x;  acc_add b[j], x } becomes loop i {
   s = loop j sum { acc_add b[j], x; -x };  acc_add b[i], s } so that what is left of the inner loop runs along its
   index, in vectors. */
#include "ir/raw.h"
#include "passes/gather.h"

/* Shorter loops are taken apart, or are no loops to run in vectors. */
enum { SHORTEST = 16 };

/* An addition behind a loop is done also where the loop has no iteration: its index must not be one to be checked. */
static bool always_runs(Module *m, const Op *loop) {
  for (int i = 0; i < loop->at.loop->nindices; i++)
    if (!size_nonnegative(m, size_sub(m, loop->at.loop->extents[i], size_const(m, 1))))
      return false;
  return true;
}

bool sum_up(Module *m, Op *inner, Op *add) {
  const Region *body = inner->regions[0];
  Value *v = add->operands[1];
  if (v->type.rank || (add->at.checks && !always_runs(m, inner)))
    return false;
  for (int i = 0; i < addition_nindices(add); i++)
    if (!value_is_outside(addition_indices(add)[i], body) && !value_is_const(addition_indices(add)[i]))
      return false;
  for (int i = 0; i < addition_nindices(add); i++) {
    Op *constant = addition_indices(add)[i]->def;
    if (value_is_outside(addition_indices(add)[i], body))
      continue;
    op_unlink(constant);
    op_insert_before(inner, constant);
  }
  op_unlink(add);
  add->operands[1] = loop_add_out(m, inner, OUT_SUM, v);
  op_insert_after(inner, add);
  return true;
}

/* Whether the index is the loop's, but not its last, or none that its body computes. */
static bool stays_in_last(const Op *loop, const Value *index) {
  for (int i = 0; i + 1 < loop->at.loop->nindices; i++)
    if (index == loop_index(loop, i))
      return true;
  return value_is_const(index) || value_is_outside(index, loop->regions[0]);
}

static bool is_to_be_split(const Op *loop) {
  const LoopInfo *info = loop->at.loop;
  int64_t last;
  if (info->nindices < 2 || (size_is_const(info->extents[info->nindices - 1], &last) && last < SHORTEST))
    return false;
  for (int i = 0; i < info->nouts; i++)
    if (info->outs[i] != OUT_SUM && info->outs[i] != OUT_STACK)
      return false;
  for (const Op *op = loop->regions[0]->first; op; op = op->next) {
    bool stays = op->code == OP_ACC_ADD && !op->operands[1]->type.rank && !op->at.checks;
    for (int i = 0; stays && i < addition_nindices(op); i++)
      stays = stays_in_last(loop, addition_indices(op)[i]);
    if (stays)
      return true;
  }
  return false;
}

/* A loop over (i.., j) becomes one over (i..) around one over j, which is the result. */
static Op *split_last(Module *m, Func *f, Op *loop) {
  const LoopInfo *info = loop->at.loop;
  const int n = info->nindices - 1;
  ValueMap map = {.arena = m->arena};
  Builder b = build_into(f, loop->parent);
  b.loc = loop->loc;
  b.origin = loop->origin;
  LoopSpec spec = loop_spec_like(info, info->extents, loop->operands);
  spec.nindices = n;
  Op *outer = build_loop_begin(&b, &spec);
  b.share_top = outer->regions[0];
  const LoopSpec inner_spec = {.nindices = 1, .extents = info->extents + n, .nouts = info->nouts, .outs = info->outs};
  Op *inner = build_loop_begin(&b, &inner_spec);
  for (int i = 0; i <= n; i++) {
    Value *index = i < n ? loop_index(outer, i) : loop_index(inner, 0);
    index->name = loop_index(loop, i)->name;
    map_put(&map, loop_index(loop, i), index);
  }
  for (int i = 0; i < info->naccs; i++) {
    loop_acc(outer, i)->name = loop_acc(loop, i)->name;
    map_put(&map, loop_acc(loop, i), loop_acc(outer, i));
  }
  build_copy_region(&b, loop->regions[0], &map);
  Value **yields = NEW_ARRAY(m->arena, Value *, info->nouts + 1);
  for (int i = 0; i < info->nouts; i++)
    yields[i] = map_value(&map, loop->regions[0]->yields[i]);
  build_loop_end(&b, inner, NULL, yields);
  for (int i = 0; i < info->nouts; i++)
    yields[i] = loop_out(inner, i);
  build_loop_end(&b, outer, NULL, yields);
  op_unlink(outer);
  op_insert_before(loop, outer);
  for (int i = 0; i < loop->nresults; i++) {
    outer->results[i] = loop->results[i];
    outer->results[i]->def = outer;
  }
  op_unlink(loop);
  return inner;
}

bool sum_up_all(Module *m, Func *f, Op *loop) {
  bool any = false;
  if (is_to_be_split(loop)) {
    loop = split_last(m, f, loop);
    any = true;
  }
  for (Op *next, *op = loop->regions[0]->first; op; op = next) {
    next = op->next;
    if (op->code == OP_ACC_ADD && value_is_outside(op->operands[0], loop->regions[0]))
      any |= sum_up(m, loop, op);
  }
  return any;
}
