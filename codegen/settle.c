/* Checks of indices that the branches around them settle.
       if i == 0 or i == n - 1 { u[i] } else { u[i + 1] - u[i - 1] }
   On the way into a branch its condition is known: what it says of integers is a size that is not negative, and an
   index is in range where its distance from an end of the axis is one of these, or more.  Only what is made of indices
   of loops and of size parameters counts: other integers may have wrapped around.  This is done when all passes have
   run: an operation without a check may be moved anywhere, one that needs none where it stands may not. */
#include "codegen/body.h"
#include "ir/known.h"

static void settle_op(const Known *k, Op *op) {
  Module *m = k->module;
  const int first = op->code == OP_INDEX ? 1 : 2;
  for (int i = 0; first + i < op->noperands; i++) {
    if (!(op->at.checks >> i & 1))
      continue;
    if (known_in_range(k, size_of_value(m, op->operands[first + i]), op->operands[0]->type.dims[i]))
      op->at.checks &= ~(1ull << i);
  }
}

static void settle_region(Known *k, const Region *r) {
  const int n = k->n;
  for (Op *op = r->first; op; op = op->next) {
    if (n && (op->code == OP_INDEX || op->code == OP_UPDATE || op->code == OP_ACC_ADD) && op->at.checks)
      settle_op(k, op);
    for (int i = 0; i < op->nregions; i++) {
      if (op->code == OP_IF)
        known_learn(k, op->operands[0], i == 0);
      settle_region(k, op->regions[i]);
      k->n = n;
    }
  }
}

void settle_checks(Func *f) {
  Known k = {.module = f->module};
  settle_region(&k, f->body);
}
