/* Accumulators turned back into stacks and sums.
   The adjoint adds everywhere into accumulators: memory read and written for each term.  Where the index of the
   addition says so, five steps do better:
   1. an addition whose index does not change in the loop around it becomes a sum of that loop, added once after it;
   2. an addition that touches each element exactly once becomes a stack;
   3. an addition whose index is some of the loops' indices, and whose term is cheap to compute, becomes a nest of its
   own: a stack over those indices of a sum over the others, as the adjoint of a matrix product is two matrix products;
   4. one whose index is computed from some of the loops' indices is summed over the others first,
   passes/gather_first.c. For 2 to 4 an accumulator is eligible when one place in its loop adds to it, below parallel
   loops only; of a loop in order, for 2 alone.
 */
#include "passes/gather.h"
#include "ir/raw.h"

static void find_additions(Region *r, const Value *handle, Op **stack, int depth, bool plain, Addition *found) {
  for (Op *op = r->first; op; op = op->next) {
    if (op->code == OP_ACC_ADD && op->operands[0] == handle) {
      found->several |= found->op != NULL || !plain || depth > MAX_PATH;
      found->op = op;
      found->npath = depth;
      for (int i = 0; i < depth && i < MAX_PATH; i++)
        found->path[i] = stack[i];
    }
    const bool parallel = op->code == OP_LOOP && !op->at.loop->ncarries;
    if (parallel && depth < MAX_PATH)
      stack[depth] = op;
    for (int i = 0; i < op->nregions; i++)
      find_additions(op->regions[i], handle, stack, depth + 1, plain && parallel && depth < MAX_PATH, found);
  }
}

static bool find_addition(Op *loop, int acc, Addition *found) {
  Op *stack[MAX_PATH] = {loop};
  *found = (Addition){0};
  find_additions(loop->regions[0], loop_acc(loop, acc), stack, 1, true, found);
  return found->op && !found->several;
}

/* ---- 1: sums */
static bool hoist(Module *m, Addition *a) {
  if (a->npath < 2 || !sum_up(m, a->path[a->npath - 1], a->op))
    return false;
  a->npath--;
  return true;
}

/* ---- 2: stacks */

void hand_over_result(Module *m, Op *loop, int acc, Op *to, int result) {
  const int slot = loop->at.loop->ncarries + acc;
  Value *r = loop->results[slot];
  op_set_result(m, loop, slot, r->type, NULL);
  to->results[result] = r;
  r->def = to;
  r->index = result;
  r->region = to->parent;
}

/* v plus the initial value of the element that it goes to. */
static Value *with_init(Builder *b, Value *init, Value *v, int n, Value *const *idx) {
  return value_is_zero(init) ? v : build_add(b, build_index(b, init, n, idx, 0), v);
}

static bool is_identity(const Addition *a, const Op *loop, int acc) {
  const Value *handle = loop_acc(loop, acc);
  int k = 0;
  for (int p = 0; p < a->npath; p++)
    for (int i = 0; i < a->path[p]->at.loop->nindices; i++, k++)
      if (k >= addition_nindices(a->op) || addition_indices(a->op)[k] != loop_index(a->path[p], i) ||
          handle->type.dims[k] != a->path[p]->at.loop->extents[i])
        return false;
  return k == addition_nindices(a->op) && k > 0;
}

static void stack_up(Module *m, Func *f, Op *loop, int acc, Addition *a) {
  Value *v = a->op->operands[1], *init = loop->operands[loop->at.loop->ncarries + acc];
  if (v->type.rank == 0) {
    Builder b = build_into(f, a->op->parent);
    b.share_top = a->op->parent;
    b.loc = a->op->loc;
    b.origin = a->op->origin;
    v = with_init(&b, init, v, addition_nindices(a->op), addition_indices(a->op));
  }
  op_unlink(a->op);
  for (int p = a->npath - 1; p >= 0; p--)
    v = loop_add_out(m, a->path[p], OUT_STACK, v);
  hand_over_result(m, loop, acc, loop, v->index);
}

/* ---- 3: nests */
bool slice_of(Slice *s, const Value *v) {
  const Op *op = v->def;
  if (value_is_outside(v, s->top) || !op)
    return true; /* from around the nest, or an index */
  for (int i = 0; i < s->n; i++)
    if (s->ops[i] == op)
      return true;
  if (!op_is_quick(op) || s->n == MAX_SLICE)
    return false;
  s->ops[s->n++] = op;
  for (int i = 0; i < op->noperands; i++)
    if (!slice_of(s, op->operands[i]))
      return false;
  return true;
}

void copy_slice(Builder *b, const Slice *s, const Value *v, ValueMap *map) {
  if (!v->def || value_is_outside(v, s->top) || map_get(map, v))
    return;
  for (int i = 0; i < v->def->noperands; i++)
    copy_slice(b, s, v->def->operands[i], map);
  build_copy_op(b, v->def, map);
}

bool is_rectangular(const Addition *a, const Op *loop, Nest *nest) {
  bool rectangular = true;
  *nest = (Nest){0};
  for (int p = 0; p < a->npath; p++)
    for (int i = 0; i < a->path[p]->at.loop->nindices; i++) {
      if (nest->n == MAX_PATH)
        return false;
      nest->index[nest->n] = loop_index(a->path[p], i);
      nest->depth[nest->n] = p;
      nest->extent[nest->n++] = a->path[p]->at.loop->extents[i];
      rectangular &= size_is_outside(a->path[p]->at.loop->extents[i], loop->regions[0]);
    }
  return rectangular;
}

/* Rectangular, each axis indexed by an index of its own that covers it. */
static bool is_nest(const Addition *a, const Op *loop, int acc, Nest *nest) {
  const Value *handle = loop_acc(loop, acc);
  if (!is_rectangular(a, loop, nest) || addition_nindices(a->op) != handle->type.rank || !handle->type.rank)
    return false;
  for (int axis = 0; axis < handle->type.rank; axis++) {
    int k = 0;
    while (k < nest->n && nest->index[k] != addition_indices(a->op)[axis])
      k++;
    if (k == nest->n || nest->kept[k] || nest->extent[k] != handle->type.dims[axis])
      return false;
    nest->kept[k] = true;
    nest->position[axis] = k;
  }
  return true;
}

/* A sum over rows into a row is fast as it is: the innermost index runs along the accumulator. */
static bool is_worth_it(const Nest *nest, int rank) {
  return nest->n >= 3 || nest->position[rank - 1] != nest->n - 1;
}

static void make_nest(Module *m, Func *f, Op *loop, int acc, const Addition *a, const Nest *nest, const Slice *slice) {
  const Value *handle = loop_acc(loop, acc);
  const int rank = handle->type.rank;
  const Size *inner_extents[MAX_PATH];
  ValueMap map = {.arena = m->arena};
  Builder b = build_into(f, loop->parent);
  b.loc = a->op->loc;
  b.origin = a->op->origin;
  const OutKind stack = OUT_STACK, sum = OUT_SUM;
  const LoopSpec outer_spec = {.nindices = rank, .extents = handle->type.dims, .nouts = 1, .outs = &stack};
  Op *outer = build_loop_begin(&b, &outer_spec);
  b.share_top = outer->regions[0];
  for (int axis = 0; axis < rank; axis++)
    map_put(&map, nest->index[nest->position[axis]], loop_index(outer, axis));
  int nsummed = 0;
  for (int k = 0; k < nest->n; k++)
    if (!nest->kept[k])
      inner_extents[nsummed++] = nest->extent[k];
  const LoopSpec inner_spec = {.nindices = nsummed, .extents = inner_extents, .nouts = 1, .outs = &sum};
  Op *inner = nsummed ? build_loop_begin(&b, &inner_spec) : NULL;
  for (int k = 0, i = 0; k < nest->n; k++)
    if (!nest->kept[k])
      map_put(&map, nest->index[k], loop_index(inner, i++));
  copy_slice(&b, slice, a->op->operands[1], &map);
  Value *v = map_value(&map, a->op->operands[1]);
  if (inner) {
    build_loop_end(&b, inner, NULL, &v);
    v = loop_out(inner, 0);
  }
  v = with_init(&b, loop->operands[loop->at.loop->ncarries + acc], v, rank, outer->regions[0]->params);
  build_loop_end(&b, outer, NULL, &v);
  op_unlink(outer);
  op_insert_after(loop, outer);
  op_unlink(a->op);
  hand_over_result(m, loop, acc, outer, 0);
}

static bool gather_loop(Module *m, Func *f, Op *loop) {
  bool any = false;
  for (int acc = 0; acc < loop->at.loop->naccs; acc++) {
    Addition a;
    Nest nest;
    if (!find_addition(loop, acc, &a))
      continue;
    while (hoist(m, &a))
      any = true;
    Slice slice = {.top = loop->regions[0]};
    const bool scalar = a.op->operands[1]->type.rank == 0;
    if (is_identity(&a, loop, acc) && (scalar || value_is_zero(loop->operands[acc]))) {
      stack_up(m, f, loop, acc, &a);
      any = true;
    } else if (scalar && is_nest(&a, loop, acc, &nest) && is_worth_it(&nest, addition_nindices(a.op)) &&
               slice_of(&slice, a.op->operands[1])) {
      make_nest(m, f, loop, acc, &a, &nest, &slice);
      any = true;
    } else if (scalar) {
      any |= sum_first(m, f, loop, acc, &a);
    }
  }
  return any;
}

/* What a loop in order adds at its own index, as where what a reverse sweep recorded is walked back. */
static bool gather_in_order(Module *m, Func *f, Op *loop) {
  bool any = false;
  for (int acc = 0; acc < loop->at.loop->naccs; acc++) {
    Addition a;
    if (!find_addition(loop, acc, &a) || !is_identity(&a, loop, acc))
      continue;
    if (a.op->operands[1]->type.rank && !value_is_zero(loop->operands[loop->at.loop->ncarries + acc]))
      continue;
    stack_up(m, f, loop, acc, &a);
    any = true;
  }
  return any;
}

static bool gather_region(Module *m, Func *f, Region *r) {
  bool any = false;
  for (Op *next, *op = r->first; op; op = next) {
    const bool unordered = op->code == OP_LOOP && !op->at.loop->ncarries;
    for (int i = 0; i < op->nregions; i++)
      any |= gather_region(m, f, op->regions[i]);
    if (unordered)
      any |= gather_loop(m, f, op) | collect_moved(m, f, op);
    else if (op->code == OP_LOOP)
      any |= gather_in_order(m, f, op);
    next = op->next;
    if (unordered)
      any |= sum_up_all(m, f, op);
  }
  return any;
}

void pass_gather(Module *m) {
  for (Func *f = m->funcs; f; f = f->next)
    if (!func_is_underived(f) && !f->is_extern && gather_region(m, f, f->body))
      func_simplify(f);
}
