/* Loops around a sum whose elements lie side by side along the sum, run in vectors across that: the products of rows,
   as in the gradient of a convolution by its kernel
       loop (j, u) stack { loop (i, p) sum { y_bar[i, j, p] * x[i, p + u] } }
   where there are few u, or where the elements lie apart along them.  A vector has the sums of as many places of the
   innermost index of the sum; a row of such vectors, for some values of an outer index that some of the elements do not
   depend on, is in registers together, so that what they share is loaded once for all.  In the end the lanes of each
   are summed.

   Where the innermost extent is no multiple of the lanes the last vector begins early enough to be whole, and what was
   done before counts as 0; one that is shorter than a vector is done in scalars.  Rows that make up no whole set run as
   they stand.  So the sum is in another order than the source's, which --strict forbids.

   This holds for bodies of scalar operations around one inner loop that only sums, cheaply and without checks. */
#include "codegen/dots.h"

/* ---- a set of rows */
static Kind kind_of_sums(const Dots *d) {
  return d->inner->results[0]->type.kind;
}

static LLVMTypeRef vector_of_sums(const Dots *d) {
  return LLVMVectorType(memory_type(d->body->unit, kind_of_sums(d)), (unsigned)d->vector.lanes);
}

static LLVMValueRef load_sum(const Dots *d, int sum, int cell) {
  return LLVMBuildLoad2(d->body->at, vector_of_sums(d), d->sums[sum][cell], "");
}

static void enter_row(Dots *d, int cell) {
  set_value(loop_index(d->loop->op, d->row), d->row_at[cell]);
}

/* What stands before the sum, for each row. */
static void lower_heads(Dots *d) {
  const Op *first = d->loop->op->regions[0]->first;
  for (int cell = 0; cell < d->rows; cell++) {
    enter_row(d, cell);
    lower_ops_until(d->body, first, d->inner);
    int n = 0;
    for (const Op *op = first; op != d->inner; op = op->next, n++)
      d->heads[cell][n] = value_code(d->body, op->results[0]);
  }
}

static void recall_heads(Dots *d, int cell) {
  int n = 0;
  enter_row(d, cell);
  for (const Op *op = d->loop->op->regions[0]->first; op != d->inner; op = op->next, n++)
    set_value(op->results[0], d->heads[cell][n]);
}

static void begin_sums(Dots *d) {
  for (int i = 0; i < d->inner->nresults; i++)
    for (int cell = 0; cell < d->rows; cell++)
      LLVMBuildStore(d->body->at, LLVMConstNull(vector_of_sums(d)), d->sums[i][cell]);
}

static void add_to_sum(Dots *d, int sum, int cell, LLVMValueRef x) {
  Body *b = d->body;
  b->unit->lanes = d->vector.lanes;
  LLVMValueRef next = reduction_step(b, OUT_SUM, kind_of_sums(d), load_sum(d, sum, cell), x);
  b->unit->lanes = 0;
  LLVMBuildStore(b->at, next, d->sums[sum][cell]);
}

/* The places from `first` on; of those before `fresh` (may be NULL: there are none) nothing is added. */
static void lower_vector(Dots *d, LLVMValueRef first, LLVMValueRef fresh) {
  Body *b = d->body;
  const Region *r = d->inner->regions[0];
  const Value *index = loop_index(d->inner, d->inner->at.loop->nindices - 1);
  const int lanes = d->vector.lanes;
  b->vector = &d->vector;
  d->vector.first = first;
  for (int cell = 0; cell < d->rows; cell++) {
    recall_heads(d, cell);
    LLVMValueRef at = vector_indices(b, first);
    set_value(index, at);
    lower_ops_until(b, r->first, NULL);
    for (int i = 0; i < d->inner->nresults; i++) {
      LLVMValueRef x = vector_value(b, r->yields[i]);
      if (fresh) {
        LLVMValueRef counts = LLVMBuildICmp(b->at, LLVMIntSGE, at, vector_spread(b, fresh, lanes), "");
        x = LLVMBuildSelect(b->at, counts, x, LLVMConstNull(LLVMTypeOf(x)), "");
      }
      add_to_sum(d, i, cell, x);
    }
  }
  b->vector = NULL;
}

/* All places one after the other, which are added to lane 0. */
static void lower_scalars(Dots *d, LLVMValueRef extent) {
  Body *b = d->body;
  CountedLoop l;
  counted_begin(b, &l, extent, "short");
  const Region *r = d->inner->regions[0];
  for (int cell = 0; cell < d->rows; cell++) {
    recall_heads(d, cell);
    set_value(loop_index(d->inner, d->inner->at.loop->nindices - 1), l.index);
    lower_ops_until(b, r->first, NULL);
    for (int i = 0; i < d->inner->nresults; i++) {
      LLVMValueRef zero = LLVMConstInt(b->unit->i32, 0, false);
      add_to_sum(
          d, i, cell,
          LLVMBuildInsertElement(b->at, LLVMConstNull(vector_of_sums(d)), value_code(b, r->yields[i]), zero, ""));
    }
  }
  counted_end(b, &l);
}

/* The rest of an extent that whole vectors go up to `whole` of. */
static void lower_rest(Dots *d, LLVMValueRef extent, LLVMValueRef whole) {
  Body *b = d->body;
  Unit *u = b->unit;
  LLVMValueRef lanes = const_i64(u, d->vector.lanes);
  LLVMBasicBlockRef rest = new_block(b, "rest"), vector = new_block(b, "last"), scalars = new_block(b, "short"),
                    after = new_block(b, "");
  LLVMBuildCondBr(b->at, LLVMBuildICmp(b->at, LLVMIntSLT, whole, extent, ""), rest, after);
  begin_block(b, rest);
  LLVMBuildCondBr(b->at, LLVMBuildICmp(b->at, LLVMIntSGE, extent, lanes, ""), vector, scalars);
  begin_block(b, vector);
  lower_vector(d, LLVMBuildNSWSub(b->at, extent, lanes, ""), whole);
  LLVMBuildBr(b->at, after);
  begin_block(b, scalars);
  lower_scalars(d, extent);
  LLVMBuildBr(b->at, after);
  begin_block(b, after);
}

static void lower_steps(Dots *d, int level) {
  Body *b = d->body;
  Unit *u = b->unit;
  const LoopInfo *info = d->inner->at.loop;
  LLVMValueRef extent = extent_code(b, info->extents[level]);
  CountedLoop l;
  if (level + 1 < info->nindices) {
    counted_begin(b, &l, extent, "sum");
    set_value(loop_index(d->inner, level), l.index);
    lower_steps(d, level + 1);
    counted_end(b, &l);
    return;
  }
  if (b->exact_zeros) { /* which is rare */
    lower_scalars(d, extent);
    return;
  }
  LLVMValueRef lanes = const_i64(u, d->vector.lanes), vectors = LLVMBuildUDiv(b->at, extent, lanes, "");
  counted_begin(b, &l, vectors, "vectors");
  lower_vector(d, LLVMBuildNSWMul(b->at, l.index, lanes, ""), NULL);
  counted_end(b, &l);
  int64_t n;
  if (!size_is_const(info->extents[level], &n) || n % d->vector.lanes)
    lower_rest(d, extent, LLVMBuildNSWMul(b->at, vectors, lanes, ""));
}

static LLVMValueRef zero_if_sums_finite(Dots *d) {
  LLVMValueRef all = NULL;
  for (int i = 0; i < d->inner->nresults; i++)
    for (int cell = 0; cell < d->rows; cell++) {
      LLVMValueRef zero = zero_if_finite(d->body, load_sum(d, i, cell));
      all = all ? LLVMBuildFAdd(d->body->at, all, zero, "") : zero;
    }
  return all;
}

static void lower_sums(Dots *d) {
  Body *b = d->body;
  const bool loose = has_loose_products(b, d->inner), around = b->loose_zeros;
  begin_sums(d);
  b->loose_zeros = loose || around;
  lower_steps(d, 0);
  b->loose_zeros = around;
  if (!loose)
    return;
  Again again;
  again_begin(b, &again, zero_if_sums_finite(d));
  begin_sums(d);
  lower_steps(d, 0);
  again_end(b, &again);
}

static void lower_tails(Dots *d) {
  Body *b = d->body;
  LLVMValueRef sums[MAX_SUMS][SET] = {{0}};
  for (int cell = 0; cell < d->rows; cell++)
    for (int i = 0; i < d->inner->nresults; i++) {
      b->vector = &d->vector;
      sums[i][cell] = vector_sum(b, kind_of_sums(d), load_sum(d, i, cell));
      b->vector = NULL;
    }
  for (int cell = 0; cell < d->rows; cell++) {
    recall_heads(d, cell);
    for (int i = 0; i < d->inner->nresults; i++)
      set_value(d->inner->results[i], sums[i][cell]);
    lower_ops_until(b, d->inner->next, NULL);
    store_outs(d->loop);
  }
}

static void lower_set(Dots *d, int rows, LLVMValueRef first) {
  Body *b = d->body;
  const bool plain = b->plain_loops;
  b->plain_loops = true;
  d->rows = rows;
  for (int i = 0; i < rows; i++)
    d->row_at[i] = LLVMBuildNSWAdd(b->at, first, const_i64(b->unit, i), "");
  lower_heads(d);
  lower_sums(d);
  lower_tails(d);
  b->plain_loops = plain;
}

/* ---- all rows */
/* Sets of `rows` from `from` on; where single ones have to go on.  The last set begins early enough to be whole, if
   there are enough in all and rows can be done twice. */
static LLVMValueRef lower_sets(Dots *d, LLVMValueRef n, LLVMValueRef from, int rows) {
  Body *b = d->body;
  Unit *u = b->unit;
  LLVMValueRef width = const_i64(u, rows), left = LLVMBuildNSWSub(b->at, n, from, ""), zero = const_i64(u, 0);
  LLVMValueRef up = d->again ? LLVMBuildNSWAdd(b->at, left, const_i64(u, rows - 1), "") : left;
  LLVMValueRef sets = at_least(b, left, width, LLVMBuildUDiv(b->at, up, width, ""), zero);
  Level level;
  level_begin(d->loop, &level, sets, "set");
  LLVMValueRef first = LLVMBuildNSWAdd(b->at, from, LLVMBuildNSWMul(b->at, level.counted.index, width, ""), "");
  if (d->again)
    first = smaller(b, first, LLVMBuildNSWSub(b->at, n, width, ""));
  lower_set(d, rows, first);
  level_end(d->loop, &level);
  LLVMValueRef done = LLVMBuildNSWAdd(b->at, from, LLVMBuildNSWMul(b->at, sets, width, ""), "");
  return d->again ? smaller(b, done, n) : done;
}

static void lower_rows_of_dots(Dots *d) {
  Body *b = d->body;
  const Size *extent = d->loop->info->extents[d->row];
  LLVMValueRef n = d->loop->extents[d->row], done = const_i64(b->unit, 0);
  const int set = d->inner->nresults > 1 ? SET / MAX_SUMS : SET;
  int64_t rows;
  const bool known = size_is_const(extent, &rows);
  if (!known || rows >= set)
    done = lower_sets(d, n, done, set);
  if (!known || (d->again ? rows < set : rows % set >= set / 2))
    done = lower_sets(d, n, done, set / 2);
  if (known && (d->again ? rows >= set / 2 : rows % (set / 2) == 0))
    return;
  Level level;
  level_begin(d->loop, &level, n, "row");
  level.counted.start = done;
  set_value(loop_index(d->loop->op, d->row), level.counted.index);
  lower_iteration(d->loop);
  level_end(d->loop, &level);
}

static void lower_dots_level(Dots *d, int number) {
  Level level;
  if (number == d->loop->info->nindices) {
    lower_rows_of_dots(d);
  } else if (number == d->row) {
    lower_dots_level(d, number + 1);
  } else {
    const Value *index = loop_index(d->loop->op, number);
    level_begin(d->loop, &level, d->loop->extents[number], index->name ? index->name : "loop");
    set_value(index, level.counted.index);
    lower_dots_level(d, number + 1);
    level_end(d->loop, &level);
  }
}

void lower_dots(LoopCode *l) {
  Body *b = l->body;
  Dots d;
  if (!find_dots(l, &d))
    internal_error("a loop that cannot be run as products of rows");
  int n = 0;
  for (const Op *op = l->op->regions[0]->first; op != d.inner; op = op->next)
    n++;
  d.vector = (VectorLoop){.loop = d.inner, .lanes = lanes_of_sums(d.inner, b->unit->vector_bits)};
  for (int cell = 0; cell < SET; cell++)
    d.heads[cell] = NEW_ARRAY(b->unit->arena, LLVMValueRef, n + 1);
  for (int i = 0; i < d.inner->nresults; i++)
    for (int cell = 0; cell < SET; cell++)
      d.sums[i][cell] = entry_alloca(b, vector_of_sums(&d), 1, WORK_ALIGNMENT, "sum");
  lower_dots_level(&d, 0);
}
