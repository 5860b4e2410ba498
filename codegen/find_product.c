/* Which loops are products of matrices, and the room that they get for copies: see codegen/lower_product.c. */
#include "codegen/tiles.h"
#include "ir/build.h"
#include <math.h>

/* ---- addresses
   An index of a tensor is taken for a sum of indices of the loops, each at most a few times, and of what is the same
   all the time. */
static bool coefficient_of(const Value *v, const Value *index, const Region *body, int depth, int *c) {
  enum { DEEPEST = 6 };
  *c = v == index;
  if (v == index || !v->def || value_is_outside(v, body) || v->def->code == OP_CONST)
    return true;
  int of[2];
  if (depth == DEEPEST || (v->def->code != OP_ADD && v->def->code != OP_SUB) ||
      !coefficient_of(v->def->operands[0], index, body, depth + 1, &of[0]) ||
      !coefficient_of(v->def->operands[1], index, body, depth + 1, &of[1]))
    return false;
  *c = v->def->code == OP_ADD ? of[0] + of[1] : of[0] - of[1];
  return true;
}

const Size *product_stride(Module *m, const Product *p, const Op *factor, const Value *index) {
  const Size *sum = size_const(m, 0);
  for (int i = 1; i < factor->noperands; i++) {
    int c;
    if (!coefficient_of(factor->operands[i], index, p->row->region, 0, &c))
      return NULL;
    const Size *elements = type_count(m, type_drop(factor->operands[0]->type, i));
    sum = size_add(m, sum, size_scale(m, elements, c));
  }
  return sum;
}

/* Whether the address depends on one index of the loop alone, and on the sum's. */
static bool goes_along(const Op *factor, const Product *p, const Value *index, const Value *other) {
  bool moves = false;
  const Region *body = p->row->region;
  if (!value_is_outside(factor->operands[0], body))
    return false;
  for (int i = 1; i < factor->noperands; i++) {
    int c, d, e;
    if (!coefficient_of(factor->operands[i], index, body, 0, &c) ||
        !coefficient_of(factor->operands[i], other, body, 0, &d) ||
        !coefficient_of(factor->operands[i], p->step, body, 0, &e) || d || c < 0 || e < 0)
      return false;
    moves |= c != 0;
  }
  return moves;
}

/* ---- the loop */
static const Op *factor_of(const Op *product, int i, Kind k) {
  const Op *def = product->operands[i]->def;
  return def && def->code == OP_INDEX && !def->results[0]->type.rank && def->results[0]->type.kind == k ? def : NULL;
}

Product find_product(const Op *loop) {
  const Product none = {0};
  const LoopInfo *info = loop->at.loop;
  const Op *inner = info->nindices > 1 ? reducing_loop_in(loop->regions[0]) : NULL;
  if (!inner || inner->at.loop->nindices != 1 || inner->nresults != 1 || inner->at.loop->nouts != 1 ||
      inner->at.loop->outs[0] != OUT_SUM || inner->results[0]->type.rank)
    return none;
  const Op *product = inner->regions[0]->yields[0]->def;
  const Kind k = inner->results[0]->type.kind;
  if (!product || product->parent != inner->regions[0] || (product->code != OP_MUL && product->code != OP_MULZ) ||
      !kind_is_float(k))
    return none;
  Product p = {.inner = inner,
               .row = loop_index(loop, info->nindices - 2),
               .column = loop_index(loop, info->nindices - 1),
               .step = loop_index(inner, 0)};
  const Op *x = factor_of(product, 0, k), *y = factor_of(product, 1, k);
  if (!x || !y)
    return none;
  const bool turned = !goes_along(x, &p, p.row, p.column);
  p.left = turned ? y : x;
  p.right = turned ? x : y;
  return goes_along(p.left, &p, p.row, p.column) && goes_along(p.right, &p, p.column, p.row) ? p : none;
}

/* ---- its room */
static bool is_small(const Size *const *sizes) {
  double terms = 1;
  for (int i = 0; i < 3; i++) {
    int64_t n;
    const bool known = size_is_const(sizes[i], &n);
    if (known && n < PRODUCT_LEAST)
      return true;
    terms *= known ? (double)n : INFINITY;
  }
  return terms < PRODUCT_TERMS;
}

void product_plan(FuncStorage *f, VectorLoop *v, int bits) {
  Module *m = f->module;
  const Op *loop = v->loop;
  const LoopInfo *info = loop->at.loop;
  const Product p = find_product(loop);
  if (!p.left || !v->again)
    return;
  const Kind k = p.inner->results[0]->type.kind;
  const Size *sizes[] = {info->extents[info->nindices - 2], info->extents[info->nindices - 1],
                         p.inner->at.loop->extents[0]};
  if (v->lanes != product_lanes(bits, kind_bytes(k)) || is_small(sizes))
    return;
  for (int i = 0; i < 3; i++) {
    Bound bound;
    if (!need_bound(m, sizes[i], &bound))
      return;
  }
  v->product = NEW(m->arena, Place);
  *v->product = (Place){.kind = PLACE_WORK, .type = type_tensor(m, k, 3, sizes), .of_product = true};
  v->product->count = type_count(m, v->product->type);
  v->product->from = op_note(loop)->begin;
  v->product->to = op_note(loop)->end;
  v->product->home = loop->parent;
  vec_push(m->arena, f->places, v->product);
}
