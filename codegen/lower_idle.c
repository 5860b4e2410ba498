/* Loops in order with iterations that do nothing: those after a `break`, and in the reverse those before it.
   The body is one `if` whose one side hands everything on as it is, and what its condition needs.
     - The condition is a carry, which that side hands on too: the loop is left when it says so.
     - The condition is read from a tensor (the tape) by the loop's index: where the loop begins is found by a scan.
   Rows of stacks for iterations that do not run get what these would have written. */
#include "codegen/loop_code.h"
#include "ir/build.h"

/* ---- whether it applies */
static int carry_of(const Op *loop, const Value *v) {
  for (int i = 0; i < loop->at.loop->ncarries; i++)
    if (loop_carry(loop, i) == v)
      return i;
  return -1;
}

static const Op *only_branch(const LoopCode *l) {
  const Op *found = NULL;
  for (const Op *op = l->op->regions[0]->first; op; op = op->next) {
    if (op->code == OP_IF && !found) {
      found = op;
      continue;
    }
    if (op->nregions || op->nresults != 1 || op->results[0]->type.rank || (op->code == OP_INDEX && op->at.checks) ||
        (op_info[op->code].group != GROUP_ELEM && op->code != OP_CONST && op->code != OP_INDEX &&
         op->code != OP_SIZE) ||
        (op->code == OP_DIV && kind_is_int(op->results[0]->type.kind)) || op->code == OP_REM || op->code == OP_MOD)
      return NULL;
  }
  return found;
}

/* Read by the loop's index from a tensor outside, with what scalars need for that. */
static bool is_recorded(const Op *loop, const Value *v, int depth) {
  const Region *r = loop->regions[0];
  if (value_is_outside(v, r) || v == loop_index(loop, 0))
    return true;
  if (!v->def || v->region != r || depth == 8)
    return false;
  if (v->def->code != OP_NOT && v->def->code != OP_INDEX && v->def->code != OP_ADD && v->def->code != OP_SUB &&
      v->def->code != OP_CONST)
    return false;
  for (int i = 0; i < v->def->noperands; i++)
    if (!is_recorded(loop, v->def->operands[i], depth + 1))
      return false;
  return true;
}

/* What an iteration that does nothing yields there: a carry, a constant or a value from outside; NULL: something else.
 */
static const Value *idle_value(const Op *loop, const Idle *idle, const Value *y) {
  for (int i = 0; i < idle->branch->nresults; i++)
    if (idle->branch->results[i] == y)
      y = idle->side->yields[i];
  const bool known =
      carry_of(loop, y) >= 0 || (y->def && y->def->code == OP_CONST) || value_is_outside(y, loop->regions[0]);
  return known ? y : NULL;
}

static bool is_zero(const Value *v) {
  double x;
  int64_t n;
  return (value_is_float_const(v, &x) && x == 0) || (value_is_int_const(v, &n) && n == 0);
}

static bool changes_nothing(const Op *loop, const Idle *idle) {
  const LoopInfo *info = loop->at.loop;
  const Region *body = loop->regions[0];
  for (const Op *op = idle->side->first; op; op = op->next)
    if (op->code != OP_CONST)
      return false;
  for (int i = 0; i < info->ncarries; i++)
    if (idle_value(loop, idle, body->yields[i]) != loop_carry(loop, i))
      return false;
  for (int i = 0; i < info->nouts; i++) {
    const Value *y = idle_value(loop, idle, body->yields[info->ncarries + i]);
    if (!y || y->type.rank || (info->outs[i] != OUT_STACK && (info->outs[i] != OUT_SUM || !is_zero(y))))
      return false;
  }
  return true;
}

bool find_idle(const LoopCode *l, Idle *idle) {
  const Op *loop = l->op;
  if (l->info->nindices != 1 || !l->info->ncarries)
    return false;
  *idle = (Idle){.branch = only_branch(l), .carry = -1};
  if (!idle->branch || (l->body->wanted && op_note(idle->branch)->wants != op_note(loop)->wants))
    return false;
  idle->condition = idle->branch->operands[0];
  bool negated = false;
  while (idle->condition->def && idle->condition->def->code == OP_NOT && idle->condition->region == loop->regions[0]) {
    idle->condition = idle->condition->def->operands[0];
    negated = !negated;
  }
  idle->carry = carry_of(loop, idle->condition);
  const Op *def = idle->condition->def;
  if (idle->carry < 0 && (!def || def->code != OP_INDEX || value_is_outside(idle->condition, loop->regions[0]) ||
                          !is_recorded(loop, idle->condition, 0)))
    return false;
  for (int i = 0; i < 2; i++) {
    idle->side = idle->branch->regions[i];
    idle->when = negated ? i == 1 : i == 0;
    if (changes_nothing(loop, idle))
      return true;
  }
  return false;
}

/* ---- code */
static void fill_rows(LoopCode *l, const Idle *idle, LLVMValueRef from, LLVMValueRef to) {
  Body *b = l->body;
  const Op *loop = l->op;
  const LoopInfo *info = l->info;
  bool any = false;
  for (int i = 0; i < info->nouts; i++)
    any |= info->outs[i] == OUT_STACK;
  if (!any)
    return;
  CountedLoop rows;
  LLVMValueRef *values = NEW_ARRAY(b->unit->arena, LLVMValueRef, info->nouts);
  for (int i = 0; i < info->nouts; i++) {
    const Value *y = idle_value(loop, idle, loop->regions[0]->yields[info->ncarries + i]);
    const int carry = carry_of(loop, y);
    values[i] = carry >= 0                           ? l->state.now[l->carries.at[carry]]
                : y->def && y->def->code == OP_CONST ? constant_code(b, y->def)
                                                     : value_code(b, y);
  }
  counted_begin(b, &rows, to, "idle");
  rows.start = from;
  set_value(loop_index(loop, 0), rows.index);
  for (int i = 0; i < info->nouts; i++) {
    const Value *result = loop->results[info->ncarries + info->naccs + i];
    if (info->outs[i] == OUT_STACK)
      store_element(b, result->type.kind, values[i], part_address(b, result, 1, loop->regions[0]->params, 0), result);
  }
  counted_end(b, &rows);
}

static void lower_slice(Body *b, const Region *r, const Value *v) {
  if (!v->def || v->region != r)
    return;
  for (int i = 0; i < v->def->noperands; i++)
    lower_slice(b, r, v->def->operands[i]);
  lower_ops_until(b, v->def, v->def->next);
}

static LLVMValueRef is_idle(Body *b, const Idle *idle) {
  LLVMValueRef c = value_code(b, idle->condition);
  return idle->when ? c : LLVMBuildNot(b->at, c, "");
}

LLVMValueRef skip_idle(LoopCode *l, const Idle *idle) {
  Body *b = l->body;
  if (idle->carry >= 0)
    return NULL;
  CountedLoop scan;
  LLVMValueRef zero = const_i64(b->unit, 0);
  counted_begin(b, &scan, l->extents[0], "scan");
  set_value(loop_index(l->op, 0), scan.index);
  lower_slice(b, l->op->regions[0], idle->condition);
  LLVMBasicBlockRef on = new_block(b, "");
  LLVMBuildCondBr(b->at, is_idle(b, idle), on, scan.after);
  begin_block(b, on);
  counted_end(b, &scan);
  fill_rows(l, idle, zero, scan.index);
  return scan.index;
}

void leave_if_idle(LoopCode *l, const Idle *idle, const Level *level) {
  Body *b = l->body;
  if (idle->carry < 0)
    return;
  set_value(idle->condition, l->state.now[l->carries.at[idle->carry]]);
  LLVMBasicBlockRef on = new_block(b, "");
  LLVMBuildCondBr(b->at, is_idle(b, idle), level->counted.after, on);
  begin_block(b, on);
}

void finish_idle(LoopCode *l, const Idle *idle, const Level *level) {
  if (idle->carry >= 0)
    fill_rows(l, idle, level->counted.index, l->extents[0]);
}
