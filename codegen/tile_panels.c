/* Tiles whose columns are copied to panels first: see codegen/lower_tiles.c. */
#include "codegen/tiles.h"

static void lower_for_all_rows(Body *b, const Op *from, const Op *end) {
  for (const Op *op = from; op != end; op = op->next)
    if (!note_of(op->results[0])->by_row)
      lower_ops_until(b, op, op->next);
}

static void fill_panel(Tiles *t, LLVMValueRef column) {
  Body *b = t->body;
  const Region *r = t->inner->regions[0];
  const Kind k = t->packed->results[0]->type.kind;
  LLVMValueRef panel = t->panel;
  CountedLoop l;
  t->panel = NULL;
  t->rows = t->panels = 1;
  t->column_at[0] = column;
  t->row_at[0] = const_i64(b->unit, 0);
  counted_begin(b, &l, t->panel_end, "pack");
  l.start = t->panel_first;
  set_value(r->params[0], l.index);
  tile_enter_cell(t, 0);
  lower_for_all_rows(b, t->loop->op->regions[0]->first, t->inner);
  lower_for_all_rows(b, r->first, t->packed->next);
  LLVMValueRef step = LLVMBuildNSWSub(b->at, l.index, t->panel_first, "");
  LLVMValueRef at = LLVMBuildInBoundsGEP2(b->at, tile_vector(t, k), panel, &step, 1, "");
  LLVMBuildStore(b->at, value_code(b, t->packed->results[0]), at);
  counted_end(b, &l);
  t->panel = panel;
}

static LLVMValueRef waiting_sum(Tiles *t, LLVMValueRef tile, int sum, int cell) {
  Body *b = t->body;
  const int each = t->inner->nresults * tile_ncells(t), number = sum * tile_ncells(t) + cell;
  LLVMValueRef at = LLVMBuildNSWMul(b->at, tile, const_i64(b->unit, each), "");
  at = LLVMBuildNSWAdd(b->at, at, const_i64(b->unit, number), "");
  return LLVMBuildInBoundsGEP2(b->at, tile_vector(t, tile_kind(t)), t->waiting, &at, 1, "");
}

static void put_sums(Tiles *t, LLVMValueRef tile) {
  for (int i = 0; i < t->inner->nresults; i++)
    for (int cell = 0; cell < tile_ncells(t); cell++)
      LLVMBuildStore(t->body->at, tile_load(t, tile_kind(t), t->sums[i][cell]), waiting_sum(t, tile, i, cell));
}

/* `begins`: nothing has been put there yet, the sums are 0. */
static void take_sums(Tiles *t, LLVMValueRef tile, LLVMValueRef begins) {
  Body *b = t->body;
  LLVMValueRef sums[MAX_SUMS][MAX_CELLS] = {{NULL}};
  LLVMBasicBlockRef before = current_block(b), waits = new_block(b, "waits"), taken = new_block(b, "taken");
  if (begins)
    LLVMBuildCondBr(b->at, begins, taken, waits);
  else
    LLVMBuildBr(b->at, waits);
  begin_block(b, waits);
  for (int i = 0; i < t->inner->nresults; i++)
    for (int cell = 0; cell < tile_ncells(t); cell++)
      sums[i][cell] = tile_load(t, tile_kind(t), waiting_sum(t, tile, i, cell));
  LLVMBuildBr(b->at, taken);
  begin_block(b, taken);
  for (int i = 0; i < t->inner->nresults; i++)
    for (int cell = 0; cell < tile_ncells(t); cell++) {
      LLVMTypeRef type = LLVMTypeOf(sums[i][cell]);
      LLVMValueRef sum = LLVMBuildPhi(b->at, type, ""), values[] = {sums[i][cell], LLVMConstNull(type)};
      LLVMBasicBlockRef blocks[] = {waits, before};
      LLVMAddIncoming(sum, values, blocks, begins ? 2 : 1);
      sums[i][cell] = sum;
    }
  for (int i = 0; i < t->inner->nresults; i++)
    for (int cell = 0; cell < tile_ncells(t); cell++)
      LLVMBuildStore(b->at, sums[i][cell], t->sums[i][cell]);
}

/* Tiles from `first` on, and vectors of columns, with sums that wait. */
typedef struct Block {
  LLVMValueRef first, ntiles, nrows;
  LLVMValueRef first_column, nvectors, ncolumns;
} Block;

static LLVMValueRef enter_waiting_tile(Tiles *t, const Block *block, LLVMValueRef tile, LLVMValueRef column) {
  Body *b = t->body;
  const int rows = ROWS / t->inner->nresults;
  LLVMValueRef number = LLVMBuildNSWAdd(b->at, block->first, tile, "");
  LLVMValueRef row = tile_at(t, number, rows, block->nrows, &t->new_row);
  tile_enter(t, rows, 1, row, column);
  return row;
}

static LLVMValueRef column_of(Tiles *t, const Block *block, LLVMValueRef vector) {
  LLVMValueRef number = LLVMBuildNSWAdd(t->body->at, block->first_column, vector, "");
  return tile_at(t, number, t->vector->lanes, block->ncolumns, &t->new_column);
}

static LLVMValueRef waiting_tile(Tiles *t, LLVMValueRef vector, LLVMValueRef tile) {
  Body *b = t->body;
  return LLVMBuildNSWAdd(b->at, LLVMBuildNSWMul(b->at, vector, const_i64(b->unit, BLOCK), ""), tile, "");
}

static void add_stretch(Tiles *t, const Block *block, LLVMValueRef begins) {
  Body *b = t->body;
  CountedLoop vectors, tiles;
  counted_begin(b, &vectors, block->nvectors, "vectors");
  LLVMValueRef column = column_of(t, block, vectors.index);
  fill_panel(t, column);
  counted_begin(b, &tiles, block->ntiles, "tiles");
  enter_waiting_tile(t, block, tiles.index, column);
  LLVMValueRef waiting = waiting_tile(t, vectors.index, tiles.index);
  take_sums(t, waiting, begins);
  tile_steps(t);
  put_sums(t, waiting);
  counted_end(b, &tiles);
  counted_end(b, &vectors);
}

static void finish_block(Tiles *t, const Block *block) {
  Body *b = t->body;
  CountedLoop vectors, tiles;
  counted_begin(b, &vectors, block->nvectors, "vectors");
  LLVMValueRef column = column_of(t, block, vectors.index);
  counted_begin(b, &tiles, block->ntiles, "tiles");
  enter_waiting_tile(t, block, tiles.index, column);
  take_sums(t, waiting_tile(t, vectors.index, tiles.index), NULL);
  tile_mend(t);
  tile_leave(t);
  counted_end(b, &tiles);
  counted_end(b, &vectors);
}

static void lower_block(Tiles *t, const Block *block) {
  Body *b = t->body;
  Unit *u = b->unit;
  LLVMValueRef extent = extent_code(b, t->inner->at.loop->extents[0]);
  LLVMValueRef up = LLVMBuildNSWAdd(b->at, extent, const_i64(u, STRETCH - 1), "");
  CountedLoop l;
  LLVMValueRef nstretches = LLVMBuildUDiv(b->at, up, const_i64(u, STRETCH), ""), one = const_i64(u, 1);
  counted_begin(b, &l, at_least(b, nstretches, one, nstretches, one), "stretch"); /* the first puts the sums */
  t->panel_first = LLVMBuildNSWMul(b->at, l.index, const_i64(u, STRETCH), "");
  t->panel_end = smaller(b, extent, LLVMBuildNSWAdd(b->at, t->panel_first, const_i64(u, STRETCH), ""));
  add_stretch(t, block, LLVMBuildICmp(b->at, LLVMIntEQ, l.index, const_i64(u, 0), ""));
  counted_end(b, &l);
  finish_block(t, block);
}

/* A loop over groups of `size`: where one begins, and how many are in it. */
static LLVMValueRef group_begin(Body *b, CountedLoop *l, LLVMValueRef n, int size, LLVMValueRef *count) {
  LLVMValueRef width = const_i64(b->unit, size), up = LLVMBuildNSWAdd(b->at, n, const_i64(b->unit, size - 1), "");
  counted_begin(b, l, LLVMBuildUDiv(b->at, up, width, ""), "group");
  LLVMValueRef first = LLVMBuildNSWMul(b->at, l->index, width, "");
  *count = smaller(b, width, LLVMBuildNSWSub(b->at, n, first, ""));
  return first;
}

/* In the frame, once for all loops of the function. */
static void find_memory(Tiles *t) {
  Body *b = t->body;
  const int64_t widest = 2 * b->unit->vector_bits / 8;
  if (!b->tile_panel) {
    b->tile_panel = entry_alloca(b, b->unit->i8, STRETCH * widest, WORK_ALIGNMENT, SCRATCH);
    b->tile_sums = entry_alloca(b, b->unit->i8, BLOCK * ROWS * GROUP * widest, WORK_ALIGNMENT, SCRATCH);
  }
  t->panel = b->tile_panel;
  t->waiting = b->tile_sums;
}

/* The columns of `nvectors` vectors. */
void lower_tile_panels(Tiles *t, LLVMValueRef nrows, LLVMValueRef ncolumns, LLVMValueRef nvectors) {
  Body *b = t->body;
  LLVMValueRef rest, ntiles = tile_count(t, nrows, ROWS / t->inner->nresults, &rest);
  Block block = {.nrows = nrows, .ncolumns = ncolumns};
  CountedLoop columns, tiles;
  find_memory(t);
  block.first_column = group_begin(b, &columns, nvectors, GROUP, &block.nvectors);
  block.first = group_begin(b, &tiles, ntiles, BLOCK, &block.ntiles);
  lower_block(t, &block);
  counted_end(b, &tiles);
  counted_end(b, &columns);
  t->panel = NULL;
  t->new_row = t->new_column = NULL;
}
