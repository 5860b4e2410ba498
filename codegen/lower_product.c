/* Large products of matrices, in blocks: copies of both factors, by the function of codegen/product_kernel.c.

   A block is some rows by a group of columns.  Where the loop only stores the sums, they are put where they are to be;
   else they wait in the workspace, and the rest of an iteration is done from there, a vector at a time.  Blocks have
   constant sizes, so that the workspace does not grow with the matrices once these are large. */
#include "codegen/tiles.h"
#include "ir/build.h"

/* ---- addresses */
/* An index with the loops' own at 0. */
static LLVMValueRef index_code(Body *b, const Value *v, const Product *p) {
  if (v == p->row || v == p->column || v == p->step)
    return const_i64(b->unit, 0);
  if (!v->def || value_is_outside(v, p->row->region))
    return value_code(b, v);
  if (v->def->code == OP_CONST)
    return const_i64(b->unit, v->def->at.i);
  LLVMValueRef x = index_code(b, v->def->operands[0], p), y = index_code(b, v->def->operands[1], p);
  return v->def->code == OP_ADD ? LLVMBuildNSWAdd(b->at, x, y, "") : LLVMBuildNSWSub(b->at, x, y, "");
}

static LLVMValueRef factor_at(const Tiles *t, const Op *factor) {
  Body *b = t->body;
  const Value *x = factor->operands[0];
  LLVMValueRef address = value_code(b, x);
  for (int i = 1; i < factor->noperands; i++) {
    LLVMValueRef stride = size_code(b, type_count(b->unit->module, type_drop(x->type, i)));
    LLVMValueRef offset = LLVMBuildNSWMul(b->at, index_code(b, factor->operands[i], &t->product), stride, "");
    address = LLVMBuildGEP2(b->at, memory_type(b->unit, x->type.kind), address, &offset, 1, "");
  }
  return address;
}

static LLVMValueRef stride_code(const Tiles *t, const Op *factor, const Value *index) {
  Body *b = t->body;
  return size_code(b, product_stride(b->unit->module, &t->product, factor, index));
}

/* ---- what becomes of the sums */
/* They are all that an iteration makes. */
static bool only_stores(const Tiles *t) {
  const LoopInfo *info = t->loop->info;
  const Region *body = t->loop->op->regions[0];
  for (const Op *op = t->inner->next; op; op = op->next)
    if (op->code == OP_ACC_ADD)
      return false;
  return info->nouts == 1 && !t->state[0] && body->yields[0] == t->inner->results[0] &&
         !has_loose_products(t->body, t->inner);
}

static void find_out(Tiles *t, ProductBlock *block) {
  Body *b = t->body;
  const Op *op = t->loop->op;
  const Value *result = op->results[t->loop->info->naccs];
  LLVMValueRef zero = const_i64(b->unit, 0);
  set_value(t->row, zero);
  b->vector->first = zero;
  set_value(t->column, zero);
  block->out = vector_slot(b, op, 0);
  block->out_row = size_code(b, type_count(b->unit->module, type_drop(result->type, t->loop->info->nindices - 1)));
}

/* The rest of the iterations of a block that begins in this row. */
static void finish_block(Tiles *t, const ProductBlock *block, LLVMValueRef first_row) {
  Body *b = t->body;
  CountedLoop rows, vectors;
  LLVMValueRef lanes = const_i64(b->unit, t->vector->lanes);
  t->new_row = NULL;
  counted_begin(b, &rows, block->nrows, "rows");
  counted_begin(b, &vectors, block->nvectors, "vectors");
  LLVMValueRef at = LLVMBuildNSWMul(b->at, vectors.index, lanes, "");
  LLVMValueRef column = LLVMBuildNSWAdd(b->at, block->first_column, at, "");
  t->new_column = column;
  column = smaller(b, column, LLVMBuildNSWSub(b->at, block->ncolumns, lanes, ""));
  tile_enter(t, 1, 1, LLVMBuildNSWAdd(b->at, first_row, rows.index, ""), column);
  LLVMValueRef number = LLVMBuildNSWMul(b->at, rows.index, block->nvectors, "");
  number = LLVMBuildNSWAdd(b->at, number, vectors.index, "");
  LLVMValueRef waiting = LLVMBuildInBoundsGEP2(b->at, tile_vector(t, tile_kind(t)), block->sums, &number, 1, "");
  LLVMBuildStore(b->at, tile_load(t, tile_kind(t), waiting), t->sums[0][0]);
  tile_mend(t);
  tile_leave(t);
  counted_end(b, &vectors);
  counted_end(b, &rows);
  t->new_column = NULL;
}

/* ---- room
   Sums, then the panels, then the tiles of the left side: as much as the largest blocks take. */
typedef struct ProductRoom {
  int64_t right, left, bytes; /* where these begin, and how much it is in all */
} ProductRoom;

int product_lanes(int bits, int each) {
  return 2 * bits / 8 / each;
}

static ProductRoom product_room(int each) {
  const int64_t columns = PRODUCT_GROUP_BYTES / each, steps = product_steps(each) + PRODUCT_PAD_STEPS;
  ProductRoom room;
  room.right = PRODUCT_BLOCK * columns * each;
  room.left = room.right + columns * steps * each;
  room.bytes = room.left + PRODUCT_PART * steps * each;
  return room;
}

/* Whether copies pay: that there is enough to be done, and each copy serves often enough. */
static LLVMValueRef are_large(Body *b, LLVMValueRef *sizes) {
  LLVMValueRef count = const_i64(b->unit, 1), large = NULL;
  for (int i = 0; i < 3; i++) {
    LLVMValueRef reaches = LLVMBuildICmp(b->at, LLVMIntSGE, sizes[i], const_i64(b->unit, PRODUCT_LEAST), "");
    large = large ? LLVMBuildAnd(b->at, large, reaches, "") : reaches;
    count = LLVMBuildMul(b->at, count, smaller(b, sizes[i], const_i64(b->unit, PRODUCT_TERMS / PRODUCT_LEAST)), "");
  }
  return LLVMBuildAnd(b->at, large, LLVMBuildICmp(b->at, LLVMIntSGE, count, const_i64(b->unit, PRODUCT_TERMS), ""), "");
}

LLVMValueRef product_bytes(Body *b, int each, LLVMValueRef *sizes) {
  return LLVMBuildSelect(b->at, are_large(b, sizes), const_i64(b->unit, product_room(each).bytes),
                         const_i64(b->unit, 0), "");
}

/* ---- blocks */
/* A loop over parts of n of nearly the same size, at most so large: where one begins, and how many are in it. */
static LLVMValueRef parts_begin(Body *b, CountedLoop *l, LLVMValueRef n, int64_t most, LLVMValueRef *count) {
  LLVMValueRef one = const_i64(b->unit, 1);
  LLVMValueRef up = LLVMBuildNSWAdd(b->at, n, const_i64(b->unit, most - 1), "");
  LLVMValueRef parts = LLVMBuildUDiv(b->at, up, const_i64(b->unit, most), "");
  up = LLVMBuildNSWSub(b->at, LLVMBuildNSWAdd(b->at, n, parts, ""), one, "");
  LLVMValueRef size = LLVMBuildUDiv(b->at, up, parts, "");
  counted_begin(b, l,
                LLVMBuildUDiv(b->at, LLVMBuildNSWSub(b->at, LLVMBuildNSWAdd(b->at, n, size, ""), one, ""), size, ""),
                "part");
  LLVMValueRef first = LLVMBuildNSWMul(b->at, l->index, size, "");
  *count = smaller(b, size, LLVMBuildNSWSub(b->at, n, first, ""));
  return first;
}

static LLVMValueRef room_at(const Tiles *t, int64_t offset) {
  LLVMValueRef at = const_i64(t->body->unit, offset);
  return LLVMBuildInBoundsGEP2(t->body->at, t->body->unit->i8, address_of(t->body, t->vector->product), &at, 1, "");
}

static ProductBlock begin_product(Tiles *t) {
  const Product *p = &t->product;
  Body *b = t->body;
  const ProductRoom room = product_room(kind_bytes(tile_kind(t)));
  return (ProductBlock){.left = factor_at(t, p->left),
                        .left_row = stride_code(t, p->left, p->row),
                        .left_step = stride_code(t, p->left, p->step),
                        .right = factor_at(t, p->right),
                        .right_step = stride_code(t, p->right, p->step),
                        .right_column = stride_code(t, p->right, p->column),
                        .nsteps = extent_code(b, t->inner->at.loop->extents[0]),
                        .sums = room_at(t, 0),
                        .left_copy = room_at(t, room.left),
                        .right_copy = room_at(t, room.right)};
}

/* The rows from here on. */
static ProductBlock rows_of(Tiles *t, const ProductBlock *all, LLVMValueRef first) {
  Body *b = t->body;
  ProductBlock block = *all;
  block.left = element_address(b, tile_kind(t), all->left, LLVMBuildNSWMul(b->at, first, all->left_row, ""));
  if (all->out)
    block.out = element_address(b, tile_kind(t), all->out, LLVMBuildNSWMul(b->at, first, all->out_row, ""));
  return block;
}

void lower_product(Tiles *t, LLVMValueRef nrows, LLVMValueRef ncolumns, LLVMValueRef nvectors) {
  Body *b = t->body;
  const int lanes = t->vector->lanes, group = PRODUCT_GROUP_BYTES / kind_bytes(tile_kind(t)) / lanes;
  ProductBlock all = begin_product(t);
  CountedLoop groups, blocks;
  all.ncolumns = ncolumns;
  if (only_stores(t))
    find_out(t, &all);
  LLVMValueRef first_vector = parts_begin(b, &groups, nvectors, group, &all.nvectors);
  all.first_column = LLVMBuildNSWMul(b->at, first_vector, const_i64(b->unit, lanes), "");
  LLVMValueRef count, first = parts_begin(b, &blocks, nrows, PRODUCT_BLOCK, &count);
  ProductBlock block = rows_of(t, &all, first);
  block.nrows = count;
  call_product(b, tile_kind(t), lanes, &block);
  if (!all.out)
    finish_block(t, &block, first);
  counted_end(b, &blocks);
  counted_end(b, &groups);
}

LLVMValueRef product_is_large(Tiles *t, LLVMValueRef nrows, LLVMValueRef ncolumns) {
  Body *b = t->body;
  if (size_is_const(t->vector->product->count, NULL))
    return NULL;
  LLVMValueRef sizes[] = {nrows, ncolumns, extent_code(b, t->inner->at.loop->extents[0])};
  return are_large(b, sizes);
}
