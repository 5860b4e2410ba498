/* Additions at indices that are computed, summed first over the loops that these do not depend on.
   In the adjoint of a convolution
       loop (j, p) { d = y_bar[j, p]; loop (m, u) { acc_add x_bar[m, p + u], d * k[j, m, u] } }
   each element of x_bar is read and written for each j.  It becomes
       loop (m, u, p) { acc_add x_bar[m, p + u], loop j sum { y_bar[j, p] * k[j, m, u] } }
   a contraction, as the adjoint of a matrix product is one, whose results are added where they belong.  The order of
   the loops is chosen for tiles and rows of memory: first what is an axis by itself, last what runs along the rows. */
#include "ir/raw.h"
#include "passes/gather.h"

static bool uses(const Op *op, const Value *v) {
  for (int i = 0; i < op->noperands; i++)
    if (op->operands[i] == v)
      return true;
  return op->code == OP_SIZE && size_uses(op->at.size, v);
}

/* Whether a value with this slice depends on the index. */
static bool depends(const Slice *slice, const Value *v, const Value *index) {
  bool any = v == index;
  for (int i = 0; i < slice->n; i++)
    any |= uses(slice->ops[i], index);
  return any;
}

/* Marks the indices that the place of the addition depends on, and gives the slice of that. */
static bool find_place(const Addition *a, Nest *nest, Slice *place) {
  for (int i = 0; i < addition_nindices(a->op); i++) {
    Slice slice = {.top = place->top};
    const Value *at = addition_indices(a->op)[i];
    if (!slice_of(&slice, at) || !slice_of(place, at))
      return false;
    for (int k = 0; k < nest->n; k++)
      nest->kept[k] |= depends(&slice, at, nest->index[k]);
  }
  return true;
}

static int64_t length(const Size *extent) {
  int64_t n;
  return size_is_const(extent, &n) ? n : INT64_MAX;
}

/* Of the indices that the last axis depends on the longest, the outermost of several: along it rows are walked. */
static int find_column(const Addition *a, const Nest *nest, const Region *top) {
  const Value *last = addition_indices(a->op)[addition_nindices(a->op) - 1];
  Slice slice = {.top = top};
  int found = -1;
  if (!slice_of(&slice, last))
    return -1;
  for (int k = 0; k < nest->n; k++)
    if (depends(&slice, last, nest->index[k]) && (found < 0 || length(nest->extent[k]) > length(nest->extent[found])))
      found = k;
  return found;
}

static bool is_an_axis(const Addition *a, const Value *index) {
  for (int i = 0; i < addition_nindices(a->op); i++)
    if (addition_indices(a->op)[i] == index)
      return true;
  return false;
}

/* The kept indices in the order of the new loop; how many. */
static int order_kept(const Addition *a, const Nest *nest, int column, int *order) {
  int n = 0;
  for (int turn = 0; turn < 3; turn++)
    for (int k = 0; k < nest->n; k++) {
      const int when = nest->depth[k] > 0 ? 1 : is_an_axis(a, nest->index[k]) ? 0 : 2;
      if (nest->kept[k] && k != column && when == turn)
        order[n++] = k;
    }
  order[n++] = column;
  return n;
}

/* Worth it where there is something to sum, and enough around it to be a contraction: a term without an index of the
   sum, or a row that is added to a row, is better as it is. */
static bool is_worth_it(const Nest *nest, const Slice *term) {
  int nkept = 0, nsummed = 0;
  for (int k = 0; k < nest->n; k++) {
    nkept += nest->kept[k];
    nsummed += !nest->kept[k] && length(nest->extent[k]) > 1 && depends(term, NULL, nest->index[k]);
  }
  return nkept >= 2 && nsummed >= 1;
}

static Value *sum_of_terms(Builder *b, const Nest *nest, const Slice *slice, Value *term, ValueMap *map) {
  const Size *extents[MAX_PATH];
  const OutKind sum = OUT_SUM;
  int n = 0;
  for (int k = 0; k < nest->n; k++)
    if (!nest->kept[k])
      extents[n++] = nest->extent[k];
  const LoopSpec spec = {.nindices = n, .extents = extents, .nouts = 1, .outs = &sum};
  Op *loop = build_loop_begin(b, &spec);
  for (int k = 0, i = 0; k < nest->n; k++)
    if (!nest->kept[k])
      map_put(map, nest->index[k], loop_index(loop, i++));
  copy_slice(b, slice, term, map);
  Value *v = map_value(map, term);
  build_loop_end(b, loop, NULL, &v);
  return loop_out(loop, 0);
}

static void make_sums(Module *m, Func *f, Op *loop, int acc, const Addition *a, const Nest *nest, const Slice *place,
                      const Slice *term) {
  const Size *extents[MAX_PATH];
  Value *at[MAX_RANK];
  int order[MAX_PATH];
  const int n = order_kept(a, nest, find_column(a, nest, term->top), order), nindices = addition_nindices(a->op);
  for (int i = 0; i < n; i++)
    extents[i] = nest->extent[order[i]];
  ValueMap map = {.arena = m->arena};
  Builder b = build_into(f, loop->parent);
  b.loc = a->op->loc;
  b.origin = a->op->origin;
  const LoopSpec spec = {
      .nindices = n, .extents = extents, .naccs = 1, .acc_inits = &loop->operands[loop->at.loop->ncarries + acc]};
  Op *sums = build_loop_begin(&b, &spec);
  b.share_top = sums->regions[0];
  for (int i = 0; i < n; i++)
    map_put(&map, nest->index[order[i]], loop_index(sums, i));
  for (int i = 0; i < nindices; i++) { /* before the sum, whose terms may need the same */
    copy_slice(&b, place, addition_indices(a->op)[i], &map);
    at[i] = map_value(&map, addition_indices(a->op)[i]);
  }
  Value *v = sum_of_terms(&b, nest, term, a->op->operands[1], &map);
  build_acc_add(&b, loop_acc(sums, 0), v, nindices, at, 0);
  build_loop_end(&b, sums, NULL, NULL);
  op_unlink(sums);
  op_insert_after(loop, sums);
  op_unlink(a->op);
  hand_over_result(m, loop, acc, sums, 0);
}

bool sum_first(Module *m, Func *f, Op *loop, int acc, const Addition *a) {
  Nest nest;
  Slice place = {.top = loop->regions[0]}, term = place;
  if (a->op->at.checks || a->op->operands[1]->type.rank || !addition_nindices(a->op) ||
      addition_nindices(a->op) != loop_acc(loop, acc)->type.rank || !is_rectangular(a, loop, &nest) ||
      !find_place(a, &nest, &place) || !slice_of(&term, a->op->operands[1]) || !is_worth_it(&nest, &term) ||
      find_column(a, &nest, term.top) < 0)
    return false;
  make_sums(m, f, loop, acc, a, &nest, &place, &term);
  return true;
}
