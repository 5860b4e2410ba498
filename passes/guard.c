/* What adds only zeros is jumped over.
       v = select c, x, 0
       loop k { acc_add y[k], mulz v, z[k] }
   becomes  if c { loop .. }.  So the adjoint of a minimum of sums goes back through the least alone, not through all of
   them: the others' share is exactly 0, and what is exactly 0 contributes 0.  Single additions stay as they are: they
   cost no more than a branch. */
#include "passes/guard.h"
#include "ir/raw.h"

/* Exactly 0 where s is. */
static bool vanishes(const Value *v, const Value *s, int depth) {
  enum { DEEPEST = 16 };
  const Op *op = v->def;
  if (v == s || (value_is_const(v) && value_is_zero(v)))
    return true;
  if (!op || depth == DEEPEST)
    return false;
  switch (op->code) {
  case OP_NEG:
  case OP_DIVZ: return vanishes(op->operands[0], s, depth + 1);
  case OP_MULZ: return vanishes(op->operands[0], s, depth + 1) || vanishes(op->operands[1], s, depth + 1);
  case OP_MUL:
    return (value_is_const(op->operands[0]) && vanishes(op->operands[1], s, depth + 1)) ||
           (value_is_const(op->operands[1]) && vanishes(op->operands[0], s, depth + 1));
  case OP_ADD:
  case OP_SUB: return vanishes(op->operands[0], s, depth + 1) && vanishes(op->operands[1], s, depth + 1);
  case OP_SELECT: return vanishes(op->operands[1], s, depth + 1) && vanishes(op->operands[2], s, depth + 1);
  default: return false;
  }
}

/* Nothing comes of the operations but additions of what vanishes with s. */
static bool only_adds(const Region *r, const Value *s, bool *any) {
  for (const Op *op = r->first; op; op = op->next) {
    if (op->code == OP_ACC_ADD) {
      if (op->at.checks || op->operands[1]->type.rank || !vanishes(op->operands[1], s, 0))
        return false;
      *any = true;
    } else if (op->code == OP_INDEX) {
      if (op->at.checks)
        return false;
    } else if (op->code == OP_LOOP || op->code == OP_IF) {
      for (int i = 0; i < op->nregions; i++)
        if (!only_adds(op->regions[i], s, any))
          return false;
    } else if (op_info[op->code].effect == EFFECT_EFFECT || op->code == OP_CALL || op->code == OP_WHILE ||
               (op_info[op->code].effect == EFFECT_CHECK && !kind_is_float(op->results[0]->type.kind))) {
      return false;
    }
  }
  return true;
}

/* A value that is 0 unless its condition holds. */
static bool is_masked(const Op *op) {
  return op->code == OP_SELECT && !op->results[0]->type.rank && kind_is_float(op->results[0]->type.kind) &&
         value_is_const(op->operands[2]) && value_is_zero(op->operands[2]);
}

static void put_under(Module *m, Op *loop, Value *condition) {
  Op *branch = op_new(m, OP_IF, 1, 0, 2);
  branch->operands[0] = condition;
  branch->loc = loop->loc;
  branch->origin = loop->origin;
  for (int i = 0; i < 2; i++) {
    branch->regions[i] = region_new(m, loop->parent->func, branch);
    region_set_yields(m, branch->regions[i], 0, NULL);
  }
  op_insert_before(loop, branch);
  op_unlink(loop);
  region_append(branch->regions[0], loop);
}

static Value *condition_of(const Op *loop, const Op *const *masks, int n) {
  for (int i = 0; i < n; i++) {
    bool any = false;
    if (only_adds(loop->regions[0], masks[i]->results[0], &any) && any)
      return masks[i]->operands[0];
  }
  return NULL;
}

static bool guard_region(Module *m, Region *r) {
  enum { MOST_MASKS = 4 };
  const Op *masks[MOST_MASKS]; /* the last ones of the region */
  int nmasks = 0;
  bool any = false;
  for (Op *op = r->first, *next; op; op = next) {
    next = op->next;
    for (int i = 0; i < op->nregions; i++)
      any |= guard_region(m, op->regions[i]);
    if (op->code == OP_LOOP)
      any |= guard_terms(op);
    if (is_masked(op))
      masks[nmasks++ % MOST_MASKS] = op;
    if (op->code != OP_LOOP || op->nresults || !op->at.loop->nindices)
      continue;
    Value *condition = condition_of(op, masks, nmasks < MOST_MASKS ? nmasks : MOST_MASKS);
    if (!condition)
      continue;
    put_under(m, op, condition);
    any = true;
  }
  return any;
}

void pass_guard(Module *m) {
  for (Func *f = m->funcs; f; f = f->next)
    if (!func_is_underived(f) && !f->is_extern && guard_region(m, f->body))
      func_simplify(f);
}
