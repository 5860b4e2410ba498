/* Simplification: every body made anew through the folding and sharing builder, then dead code removed; equal
   reductions and branches are shared, and what both arms of a branch compute is computed before it.
   Also the passes that are a copy with a hook: detach, and the end of the pipeline, prune. */
#include "ir/raw.h"
#include "passes/arms.h"
#include "passes/passes_internal.h"
#include "passes/share.h"
#include <string.h>

/* A product of matrices, as the rules of linear algebra have it, with one that is all zeros: by the rule of exact zeros
   it is 0 whatever the other holds. */
static bool drop_product(Builder *b, const Op *op, ValueMap *map) {
  if (op->code != OP_CALL || !func_is_kernel(op->at.callee) || !strstr(op->at.callee->name, "_product_"))
    return false;
  for (int i = op->at.callee->nsizes; i < op->noperands; i++)
    if (value_is_zero(map_value(map, op->operands[i]))) {
      map_put(map, op->results[0], build_zeros(b, map_type(b->module, map, op->results[0]->type)));
      return true;
    }
  return false;
}

static bool simplify_op(Builder *b, const Op *op, ValueMap *map, void *share) {
  if (drop_product(b, op, map) || share_op(share, b->module, op, map))
    return true;
  if (op->code == OP_IF)
    arms_hoist(b, op, map);
  return false;
}

void func_simplify(Func *f) {
  if (func_is_underived(f) || f->is_extern)
    return;
  func_rebuild(f, simplify_op, share_new(f->module->arena));
  func_dce(f);
}

void pass_simplify(Module *m) {
  for (Func *f = m->funcs; f; f = f->next)
    func_simplify(f);
}

/* attach(v, x) is v; that is exact as no derivative of it is to be taken any more. */
static bool detach_op(Builder *b, const Op *op, ValueMap *map, void *arg) {
  (void)arg;
  Value *x = op->noperands ? map_value(map, op->operands[0]) : NULL;
  if (op->code == OP_MULZ && op->operands[0] == op->operands[1]) /* that it is no plain product is for derivatives */
    x = build_mul(b, x, x);
  else if (op->code != OP_ATTACH)
    return false;
  map_put(map, op->results[0], x);
  return true;
}

/* How many states a loop keeps was for its derivatives: what computes that is of no more use. */
static void forget_states(Op *op, void *arg) {
  (void)arg;
  if (op->code != OP_LOOP || !op->at.loop->states || size_is_const(op->at.loop->states, NULL))
    return;
  op->at.loop->checkpoint = -1;
  op->at.loop->states = NULL;
}

void pass_detach(Module *m) {
  for (Func *f = m->funcs; f; f = f->next) {
    if (func_is_underived(f) || f->is_extern)
      continue;
    func_rebuild(f, detach_op, NULL);
    region_walk(f->body, forget_states, NULL);
    func_dce(f);
  }
}

static char called_mark;

static void mark_called(Func *f);
static void mark_callee(Op *op, void *arg) {
  (void)arg;
  if (op->code == OP_CALL)
    mark_called(op->at.callee);
}
static void mark_called(Func *f) {
  if (f->note == &called_mark)
    return;
  f->note = &called_mark;
  region_walk(f->body, mark_callee, NULL);
}

/* Functions that no export leads to go.  A module without exports is a piece of one: it keeps all. */
void pass_prune(Module *m) {
  pass_simplify(m);
  if (!m->exports)
    return;
  for (Func *f = m->funcs; f; f = f->next)
    f->note = NULL;
  for (Export *e = m->exports; e; e = e->next) {
    mark_called(e->func);
    if (e->cut.sizes)
      mark_called(e->cut.sizes);
  }
  Func **link = &m->funcs;
  m->last_func = NULL;
  for (Func *f = m->funcs; f; f = f->next)
    if (f->note == &called_mark) {
      *link = m->last_func = f;
      link = &f->next;
    }
  *link = NULL;
  for (Func *f = m->funcs; f; f = f->next) { /* what made them is history */
    f->note = NULL;
    f->own_vjp = f->own_jvp = NULL;
    f->ncaptured = 0;
  }
}
