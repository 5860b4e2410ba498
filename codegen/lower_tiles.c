/* Loops that run in vectors around a sum, in tiles: contractions, above all.
       for (i, j): sum = 0; for k: sum += a[i, k] * b[k, j]; c[i, j] = sum
   with vectors across j does one multiplication for each element of b that it loads.  A tile is some i by some vectors
   of j, the cells, whose sums are in registers together: what differs between cells by i alone, or by j alone, is
   loaded once for all of them.  Each element's terms are still added in their order.

   Elements that lie apart along j, as in the product with a transposed matrix, are copied first, for a stretch of k at
   a time, to where they are beside each other: a panel.  It serves BLOCK tiles, whose rows of a stay in the cache for
   the panels of a group of columns; the sums wait in the frame meanwhile.  Large products of matrices go another way:
   codegen/lower_product.c.

   The last tile begins early enough to be whole; what was done before is done again, and does not count twice in
   reductions.  Where that cannot be, single rows and scalars do what is left.

   This holds for bodies of scalar operations around one inner loop that only sums, cheaply and without checks; after it
   numbers may be added to accumulators, which is done cell by cell. */
#include "codegen/tiles.h"

/* ---- cells */
int tile_ncells(const Tiles *t) {
  return t->rows * t->panels;
}

/* What the operations of a region have in this cell, as far as they have been written. */
static void recall(const Region *r, int cell) {
  for (const Op *op = r->first; op; op = op->next)
    for (int i = 0; i < op->nresults; i++)
      if (note_of(op->results[i])->cells && note_of(op->results[i])->cells[cell])
        set_value(op->results[i], note_of(op->results[i])->cells[cell]);
}

void tile_enter_cell(Tiles *t, int cell) {
  Body *b = t->body;
  const int row = cell / t->panels, panel = cell % t->panels;
  b->vector->first = t->column_at[panel];
  set_value(t->column, vector_indices(b, t->column_at[panel]));
  if (t->row)
    set_value(t->row, t->row_at[row]);
}

static void forget(Arena *arena, const Region *r) {
  for (const Op *op = r->first; op; op = op->next)
    for (int i = 0; i < op->nresults; i++)
      note_of(op->results[i])->cells = NEW_ARRAY(arena, LLVMValueRef, MAX_CELLS);
}

/* Operations for all cells, each as often as it differs between them. */
static void lower_cells(Tiles *t, const Op *from, const Op *end) {
  Body *b = t->body;
  const Region *body = t->loop->op->regions[0], *inner = t->inner->regions[0];
  for (int cell = 0; cell < tile_ncells(t); cell++) {
    tile_enter_cell(t, cell);
    recall(body, cell);
    recall(inner, cell);
    for (const Op *op = from; op != end; op = op->next) {
      if (op->code == OP_ACC_ADD)
        continue;
      ValueNote *note = note_of(op->results[0]);
      const int row = cell / t->panels, panel = cell % t->panels;
      const int same = (note->by_row ? row : 0) * t->panels + (note->varying ? panel : 0);
      if (same == cell && !note->cells[cell])
        lower_ops_until(b, op, op->next);
      else
        set_value(op->results[0], note->cells[same]);
      note->cells[cell] = value_code(b, op->results[0]);
    }
  }
}

/* ---- the inner loop */
Kind tile_kind(const Tiles *t) {
  return t->inner->results[0]->type.kind;
}

LLVMTypeRef tile_vector(const Tiles *t, Kind k) {
  return LLVMVectorType(memory_type(t->body->unit, k), (unsigned)t->vector->lanes);
}

LLVMValueRef tile_load(const Tiles *t, Kind k, LLVMValueRef at) {
  return LLVMBuildLoad2(t->body->at, tile_vector(t, k), at, "");
}

static void begin_sums(Tiles *t) {
  for (int i = 0; i < t->inner->nresults; i++)
    for (int cell = 0; cell < tile_ncells(t); cell++)
      LLVMBuildStore(t->body->at, LLVMConstNull(tile_vector(t, tile_kind(t))), t->sums[i][cell]);
}

static void lower_step(Tiles *t) {
  Body *b = t->body;
  const Region *r = t->inner->regions[0];
  const Kind k = tile_kind(t);
  forget(b->unit->arena, r);
  if (t->packed && t->panel) { /* written already */
    LLVMValueRef step = LLVMBuildNSWSub(b->at, value_code(b, r->params[0]), t->panel_first, "");
    LLVMValueRef at =
        LLVMBuildInBoundsGEP2(b->at, tile_vector(t, t->packed->results[0]->type.kind), t->panel, &step, 1, "");
    LLVMValueRef x = tile_load(t, t->packed->results[0]->type.kind, at);
    for (int cell = 0; cell < tile_ncells(t); cell++)
      note_of(t->packed->results[0])->cells[cell] = x;
  }
  lower_cells(t, r->first, NULL);
  for (int cell = 0; cell < tile_ncells(t); cell++) {
    recall(t->loop->op->regions[0], cell); /* what is summed may have been made outside of the sum */
    recall(r, cell);
    for (int i = 0; i < t->inner->nresults; i++) {
      LLVMValueRef x = vector_value(b, r->yields[i]);
      b->unit->lanes = t->vector->lanes;
      LLVMValueRef sum = reduction_step(b, OUT_SUM, k, tile_load(t, k, t->sums[i][cell]), x);
      b->unit->lanes = 0;
      LLVMBuildStore(b->at, sum, t->sums[i][cell]);
    }
  }
}

/* All steps; or those of the panel, of a loop of one index. */
static void lower_steps(Tiles *t, int level) {
  Body *b = t->body;
  const LoopInfo *info = t->inner->at.loop;
  if (level == info->nindices) {
    lower_step(t);
    return;
  }
  CountedLoop l;
  counted_begin(b, &l, t->panel ? t->panel_end : extent_code(b, info->extents[level]), "steps");
  if (t->panel)
    l.start = t->panel_first;
  set_value(t->inner->regions[0]->params[level], l.index);
  lower_steps(t, level + 1);
  counted_end(b, &l);
}

/* NaN where a sum is not finite. */
static LLVMValueRef zero_if_sums_finite(Tiles *t) {
  LLVMValueRef all = NULL;
  for (int i = 0; i < t->inner->nresults; i++)
    for (int cell = 0; cell < tile_ncells(t); cell++) {
      LLVMValueRef zero = zero_if_finite(t->body, tile_load(t, tile_kind(t), t->sums[i][cell]));
      all = all ? LLVMBuildFAdd(t->body->at, all, zero, "") : zero;
    }
  return all;
}

void tile_steps(Tiles *t) {
  Body *b = t->body;
  const bool loose = has_loose_products(b, t->inner), around = b->loose_zeros;
  b->loose_zeros = loose || around;
  lower_steps(t, 0);
  b->loose_zeros = around;
}

/* Steps with loose products have been done: once more without them where need be. */
void tile_mend(Tiles *t) {
  Body *b = t->body;
  if (!has_loose_products(b, t->inner))
    return;
  Again again;
  LLVMValueRef panel = t->panel;
  t->panel = NULL;
  again_begin(b, &again, zero_if_sums_finite(t));
  begin_sums(t);
  lower_steps(t, 0);
  again_end(b, &again);
  t->panel = panel;
}

/* ---- tiles */
void tile_enter(Tiles *t, int rows, int panels, LLVMValueRef row, LLVMValueRef column) {
  Body *b = t->body;
  const Region *body = t->loop->op->regions[0];
  t->rows = rows;
  t->panels = panels;
  for (int i = 0; i < rows && t->row; i++)
    t->row_at[i] = LLVMBuildNSWAdd(b->at, row, const_i64(b->unit, i), "");
  for (int i = 0; i < panels; i++)
    t->column_at[i] = LLVMBuildNSWAdd(b->at, column, const_i64(b->unit, i * t->vector->lanes), "");
  forget(b->unit->arena, body);
  forget(b->unit->arena, t->inner->regions[0]);
  lower_cells(t, body->first, t->inner);
}

/* The lanes that have not been done before; NULL: all. */
static LLVMValueRef new_lanes(Tiles *t, int cell) {
  Body *b = t->body;
  const int row = cell / t->panels, lanes = t->vector->lanes;
  LLVMValueRef fresh = NULL;
  if (t->new_column)
    fresh = LLVMBuildICmp(b->at, LLVMIntSGE, value_code(b, t->column), vector_spread(b, t->new_column, lanes), "");
  if (t->new_row) {
    LLVMValueRef of_row = LLVMBuildICmp(b->at, LLVMIntSGE, t->row_at[row], t->new_row, "");
    of_row = vector_spread(b, of_row, lanes);
    fresh = fresh ? LLVMBuildAnd(b->at, fresh, of_row, "") : of_row;
  }
  return fresh;
}

static void add_to_accumulators(Tiles *t, LLVMValueRef fresh) {
  Body *b = t->body;
  b->vector->fresh = fresh;
  for (const Op *op = t->inner->next; op; op = op->next)
    if (op->code == OP_ACC_ADD)
      lower_ops_until(b, op, op->next);
  b->vector->fresh = NULL;
}

static void leave_cell(Tiles *t, int cell) {
  Body *b = t->body;
  const Op *op = t->loop->op;
  LLVMValueRef fresh = new_lanes(t, cell);
  add_to_accumulators(t, fresh);
  for (int i = 0; i < t->loop->info->nouts; i++) {
    const Value *y = op->regions[0]->yields[i];
    const Kind k = y->type.kind;
    if (!t->state[i]) {
      vector_store_out(b, op, i);
      continue;
    }
    LLVMTypeRef type = LLVMVectorType(type_of_kind(b->unit, k), (unsigned)t->vector->lanes);
    LLVMValueRef now = LLVMBuildLoad2(b->at, type, t->state[i], ""), x = vector_value(b, y);
    b->unit->lanes = t->vector->lanes;
    LLVMValueRef next = reduction_step(b, t->loop->info->outs[i], k, now, x);
    b->unit->lanes = 0;
    LLVMBuildStore(b->at, fresh ? LLVMBuildSelect(b->at, fresh, next, now, "") : next, t->state[i]);
  }
}

void tile_leave(Tiles *t) {
  const Region *body = t->loop->op->regions[0];
  for (int i = 0; i < t->inner->nresults; i++)
    for (int cell = 0; cell < tile_ncells(t); cell++)
      note_of(t->inner->results[i])->cells[cell] = tile_load(t, tile_kind(t), t->sums[i][cell]);
  lower_cells(t, t->inner->next, NULL);
  for (int cell = 0; cell < tile_ncells(t); cell++) {
    tile_enter_cell(t, cell);
    recall(body, cell);
    leave_cell(t, cell);
  }
}

static void whole_tile(Tiles *t, int rows, int panels, LLVMValueRef row, LLVMValueRef column) {
  tile_enter(t, rows, panels, row, column);
  begin_sums(t);
  tile_steps(t);
  tile_mend(t);
  tile_leave(t);
}

/* How many steps of `width` are taken over n, and from where on there is a rest. */
LLVMValueRef tile_count(const Tiles *t, LLVMValueRef n, int width, LLVMValueRef *rest) {
  Body *b = t->body;
  LLVMValueRef w = const_i64(b->unit, width), zero = const_i64(b->unit, 0);
  if (t->again) {
    LLVMValueRef up = LLVMBuildNSWAdd(b->at, n, const_i64(b->unit, width - 1), "");
    *rest = at_least(b, n, w, n, zero);
    return at_least(b, n, w, LLVMBuildUDiv(b->at, up, w, ""), zero);
  }
  LLVMValueRef steps = LLVMBuildUDiv(b->at, at_least(b, n, zero, n, zero), w, "");
  *rest = LLVMBuildNSWMul(b->at, steps, w, "");
  return steps;
}

/* Where a step begins; `fresh`: from where on it does what has not been done, if that may be later. */
LLVMValueRef tile_at(const Tiles *t, LLVMValueRef step, int width, LLVMValueRef n, LLVMValueRef *fresh) {
  Body *b = t->body;
  LLVMValueRef at = LLVMBuildNSWMul(b->at, step, const_i64(b->unit, width), "");
  *fresh = t->again ? at : NULL;
  return t->again ? smaller(b, at, LLVMBuildNSWSub(b->at, n, const_i64(b->unit, width), "")) : at;
}

static void rows_of_column(Tiles *t, LLVMValueRef nrows, LLVMValueRef column) {
  Body *b = t->body;
  LLVMValueRef rest;
  const int rows = ROWS / t->inner->nresults;
  CountedLoop l;
  counted_begin(b, &l, tile_count(t, nrows, rows, &rest), "tiles");
  LLVMValueRef row = tile_at(t, l.index, rows, nrows, &t->new_row);
  whole_tile(t, rows, 1, row, column);
  counted_end(b, &l);
  t->new_row = NULL;
  if (!t->single_rows)
    return;
  counted_begin(b, &l, nrows, "row");
  l.start = rest;
  whole_tile(t, 1, 1, l.index, column);
  counted_end(b, &l);
}

/* ---- the loop */
static void begin_frame(Tiles *t) {
  Body *b = t->body;
  const LoopInfo *info = t->loop->info;
  const Kind k = tile_kind(t);
  for (int i = 0; i < t->inner->nresults; i++)
    for (int cell = 0; cell < MAX_CELLS; cell++)
      t->sums[i][cell] = entry_alloca(b, tile_vector(t, k), 1, WORK_ALIGNMENT, "sum");
  t->state = NEW_ARRAY(b->unit->arena, LLVMValueRef, info->nouts);
  for (int i = 0; i < info->nouts; i++) {
    if (t->loop->reduction[i] < 0)
      continue;
    const Kind of = t->loop->op->regions[0]->yields[i]->type.kind;
    LLVMValueRef start = vector_spread(b, reduction_begin(b, info->outs[i], of), t->vector->lanes);
    t->state[i] = entry_alloca(b, LLVMTypeOf(start), 1, WORK_ALIGNMENT, "state");
    LLVMBuildStore(b->at, start, t->state[i]);
  }
}

/* Vectors of reductions become scalars, and join those. */
static void end_frame(Tiles *t) {
  Body *b = t->body;
  for (int i = 0; i < t->loop->info->nouts; i++) {
    if (!t->state[i])
      continue;
    const Kind k = t->loop->op->regions[0]->yields[i]->type.kind;
    const OutKind out = t->loop->info->outs[i];
    LLVMTypeRef type = LLVMVectorType(type_of_kind(b->unit, k), (unsigned)t->vector->lanes);
    LLVMValueRef *now = &t->loop->state.now[t->loop->reduction[i]];
    *now = reduction_step(b, out, k, *now, vector_reduced(b, out, k, LLVMBuildLoad2(b->at, type, t->state[i], "")));
  }
}

/* Of one index: PANELS vectors at a time; how many vectors that are. */
static LLVMValueRef lower_wide(Tiles *t, LLVMValueRef ncolumns) {
  Body *b = t->body;
  LLVMValueRef width = const_i64(b->unit, (int64_t)t->vector->lanes * PANELS), zero = const_i64(b->unit, 0);
  LLVMValueRef wide = LLVMBuildUDiv(b->at, at_least(b, ncolumns, zero, ncolumns, zero), width, "");
  CountedLoop l;
  counted_begin(b, &l, wide, "tiles");
  whole_tile(t, 1, PANELS, NULL, LLVMBuildNSWMul(b->at, l.index, width, ""));
  counted_end(b, &l);
  return LLVMBuildNSWMul(b->at, wide, const_i64(b->unit, PANELS), "");
}

static void lower_vectors(Tiles *t, LLVMValueRef nrows, LLVMValueRef ncolumns, LLVMValueRef nvectors) {
  Body *b = t->body;
  CountedLoop l;
  LLVMValueRef start = t->row ? const_i64(b->unit, 0) : lower_wide(t, ncolumns);
  counted_begin(b, &l, nvectors, "columns");
  l.start = start;
  LLVMValueRef column = tile_at(t, l.index, t->vector->lanes, ncolumns, &t->new_column);
  if (t->row)
    rows_of_column(t, nrows, column);
  else
    whole_tile(t, 1, 1, NULL, column);
  counted_end(b, &l);
  t->new_column = NULL;
}

/* Tiles of whole vectors, as they are. */
static void lower_small(Tiles *t, LLVMValueRef nrows, LLVMValueRef ncolumns, LLVMValueRef nvectors) {
  if (t->apart)
    lower_tile_panels(t, nrows, ncolumns, nvectors);
  else
    lower_vectors(t, nrows, ncolumns, nvectors);
}

/* Whole vectors of columns; where scalars have to go on. */
static LLVMValueRef lower_columns(Tiles *t, LLVMValueRef nrows, LLVMValueRef ncolumns) {
  Body *b = t->body;
  LLVMValueRef rest;
  if (t->apart || !t->single_rows)
    ncolumns = at_least(b, nrows, const_i64(b->unit, ROWS), ncolumns, const_i64(b->unit, 0));
  LLVMValueRef nvectors = tile_count(t, ncolumns, t->vector->lanes, &rest);
  if (!t->product.left) {
    lower_small(t, nrows, ncolumns, nvectors);
    return rest;
  }
  LLVMValueRef large = product_is_large(t, nrows, ncolumns);
  if (!large) {
    lower_product(t, nrows, ncolumns, nvectors);
    return rest;
  }
  LLVMBasicBlockRef blocks = new_block(b, "large"), small = new_block(b, "small"), after = new_block(b, "");
  LLVMBuildCondBr(b->at, large, blocks, small);
  begin_block(b, blocks);
  lower_product(t, nrows, ncolumns, nvectors);
  LLVMBuildBr(b->at, after);
  begin_block(b, small);
  lower_small(t, nrows, ncolumns, nvectors);
  LLVMBuildBr(b->at, after);
  begin_block(b, after);
  return rest;
}

/* Where there are too few columns for vectors of `lanes`, but enough for those that are half as wide: these. */
static LLVMValueRef lower_narrow(Tiles *t, LLVMValueRef nrows, LLVMValueRef ncolumns, LLVMValueRef rest) {
  Body *b = t->body;
  const int lanes = t->vector->lanes;
  const Product product = t->product;
  t->product.left = NULL;
  t->single_rows = !t->row;
  for (int half = lanes / 2; half >= 4; half /= 2) {
    LLVMValueRef wide = const_i64(b->unit, 2 * (int64_t)half), zero = const_i64(b->unit, 0);
    LLVMValueRef few = at_least(b, ncolumns, wide, zero, ncolumns);
    t->vector->lanes = half;
    begin_frame(t);
    LLVMValueRef done = lower_columns(t, nrows, few);
    end_frame(t);
    rest = LLVMBuildAdd(b->at, rest, done, "");
  }
  t->vector->lanes = lanes;
  t->product = product;
  return rest;
}

static void lower_rest(LoopCode *l, const Tiles *t, LLVMValueRef rest, LLVMValueRef nrows, LLVMValueRef ncolumns) {
  Level outer, inner;
  if (t->row) {
    level_begin(l, &outer, nrows, "row");
    set_value(t->row, outer.counted.index);
  }
  level_begin(l, &inner, ncolumns, "rest");
  inner.counted.start = rest;
  set_value(t->column, inner.counted.index);
  lower_iteration(l);
  level_end(l, &inner);
  if (t->row)
    level_end(l, &outer);
}

void lower_tiles(LoopCode *l) {
  Body *b = l->body;
  Tiles t;
  if (!find_tiles(l, &t))
    internal_error("a loop that cannot be run as tiles");
  LLVMValueRef ncolumns = l->extents[l->info->nindices - 1];
  LLVMValueRef nrows = t.row ? l->extents[l->info->nindices - 2] : const_i64(b->unit, 1);
  const bool plain = b->plain_loops;
  b->plain_loops = true;
  b->vector = t.vector;
  b->vector->mask = b->vector->fresh = NULL;
  t.single_rows = true;
  begin_frame(&t);
  LLVMValueRef rest = lower_columns(&t, nrows, ncolumns);
  end_frame(&t);
  int64_t n;
  const bool known = size_is_const(l->info->extents[l->info->nindices - 1], &n);
  if (t.again && !(known && n >= t.vector->lanes))
    rest = lower_narrow(&t, nrows, ncolumns, rest);
  b->vector = NULL;
  b->plain_loops = plain;
  if (!known || (t.again ? n < t.vector->lanes : n % t.vector->lanes) || t.apart)
    lower_rest(l, &t, rest, nrows, ncolumns);
}
