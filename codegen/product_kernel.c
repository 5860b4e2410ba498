/* The function that multiplies a block of one matrix by a group of columns of another, once in a module for each kind
   of number: see codegen/lower_product.c.

   The sum runs in stretches.  For each, the group of columns is copied to panels, where the elements of a vector of
   columns lie beside each other, step by step; then the rows, part by part, to tiles of PRODUCT_ROWS rows, step by
   step. A panel stays in the first cache while the tiles of a part go by, these in the second.  A tile by a panel has
   its sums in registers; between stretches they are in memory.  Each sum's terms are added in their order.

   The last vector of columns begins early enough to be whole.  Rows of a tile that there are not are copies of the last
   one, and come to nothing. */
#include "codegen/tiles.h"

enum { QUAD = 4 }; /* elements that change places in registers */

typedef enum Param {
  LEFT,
  LEFT_ROW,
  LEFT_STEP,
  RIGHT,
  RIGHT_STEP,
  RIGHT_COLUMN,
  NROWS,
  FIRST_COLUMN,
  NCOLUMNS,
  NVECTORS,
  NSTEPS,
  SUMS,
  LEFT_COPY,
  RIGHT_COPY,
  OUT,
  OUT_ROW,
  NPARAMS
} Param;

typedef struct Multiplier {
  Body body;
  Kind kind;
  int lanes;
  LLVMValueRef stretch;                  /* steps of one, at most */
  LLVMValueRef tile_pitch, panel_pitch;  /* elements */
  LLVMValueRef is_first, is_last;        /* the stretch, */
  LLVMValueRef first_step, nsteps;       /* in the whole sum, and how many */
  LLVMValueRef first_row, nrows, ntiles; /* of the part */
} Multiplier;

int64_t product_steps(int each) {
  return each == 8 ? 256 : 384;
}

/* ---- integers and addresses */
static LLVMValueRef param(const Multiplier *k, Param p) {
  return LLVMGetParam(k->body.code, p);
}

static LLVMValueRef whole(const Multiplier *k, int64_t x) {
  return const_i64(k->body.unit, x);
}

static LLVMValueRef plus(const Multiplier *k, LLVMValueRef x, LLVMValueRef y) {
  return LLVMBuildNSWAdd(k->body.at, x, y, "");
}

static LLVMValueRef minus(const Multiplier *k, LLVMValueRef x, LLVMValueRef y) {
  return LLVMBuildNSWSub(k->body.at, x, y, "");
}

static LLVMValueRef times(const Multiplier *k, LLVMValueRef x, LLVMValueRef y) {
  return LLVMBuildNSWMul(k->body.at, x, y, "");
}

static LLVMValueRef rounded_up(const Multiplier *k, LLVMValueRef x, LLVMValueRef unit) {
  return LLVMBuildUDiv(k->body.at, plus(k, x, minus(k, unit, whole(k, 1))), unit, "");
}

/* n in parts of nearly the same size, at most so large: that size. */
static LLVMValueRef part_size(const Multiplier *k, LLVMValueRef n, int64_t most) {
  return rounded_up(k, n, rounded_up(k, n, whole(k, most)));
}

static LLVMValueRef is_one(const Multiplier *k, LLVMValueRef x) {
  return LLVMBuildICmp(k->body.at, LLVMIntEQ, x, whole(k, 1), "");
}

static LLVMValueRef at(Multiplier *k, LLVMValueRef base, LLVMValueRef offset) {
  return element_address(&k->body, k->kind, base, offset);
}

static LLVMTypeRef vector(const Multiplier *k, int n) {
  LLVMTypeRef element = memory_type(k->body.unit, k->kind);
  return n == 1 ? element : LLVMVectorType(element, (unsigned)n);
}

static LLVMValueRef get(Multiplier *k, int n, LLVMValueRef address) {
  LLVMValueRef x = LLVMBuildLoad2(k->body.at, vector(k, n), address, "");
  LLVMSetAlignment(x, (unsigned)kind_bytes(k->kind));
  return x;
}

static void put(Multiplier *k, LLVMValueRef x, LLVMValueRef address) {
  LLVMSetAlignment(LLVMBuildStore(k->body.at, x, address), (unsigned)kind_bytes(k->kind));
}

/* ---- copies: elements that lie beside each other in vectors, in one direction or in the other; what neither does one
   by one */
typedef struct Copy {
  LLVMBasicBlockRef after;
  LLVMBasicBlockRef from[3];
  LLVMValueRef done[3]; /* steps */
  int n;
} Copy;

static void copy_done(Multiplier *k, Copy *c, LLVMValueRef done) {
  c->from[c->n] = current_block(&k->body);
  c->done[c->n++] = done;
  LLVMBuildBr(k->body.at, c->after);
}

/* The code that follows is for what has this distance of 1; what comes then, for the others. */
static LLVMBasicBlockRef copy_if_beside(Multiplier *k, LLVMValueRef distance) {
  LLVMBasicBlockRef then = new_block(&k->body, "beside"), otherwise = new_block(&k->body, "");
  LLVMBuildCondBr(k->body.at, is_one(k, distance), then, otherwise);
  begin_block(&k->body, then);
  return otherwise;
}

static LLVMValueRef steps_copied(Multiplier *k, const Copy *c) {
  begin_block(&k->body, c->after);
  LLVMValueRef done = LLVMBuildPhi(k->body.at, k->body.unit->i64, "");
  LLVMBasicBlockRef from[3] = {c->from[0], c->from[1], c->from[2]};
  LLVMValueRef values[3] = {c->done[0], c->done[1], c->done[2]};
  LLVMAddIncoming(done, values, from, (unsigned)c->n);
  return done;
}

static LLVMValueRef shuffled(Multiplier *k, LLVMValueRef x, LLVMValueRef y, int n, const int *order) {
  LLVMValueRef mask[QUAD];
  for (int i = 0; i < n; i++)
    mask[i] = LLVMConstInt(k->body.unit->i32, (unsigned)order[i], false);
  return LLVMBuildShuffleVector(k->body.at, x, y, LLVMConstVector(mask, (unsigned)n), "");
}

/* Columns to rows: by the shuffles that are cheap for numbers of that size. */
static void turn(Multiplier *k, LLVMValueRef *x) {
  static const int low[2][QUAD] = {{0, 4, 2, 6}, {0, 4, 1, 5}}, high[2][QUAD] = {{1, 5, 3, 7}, {2, 6, 3, 7}};
  static const int begin[QUAD] = {0, 1, 4, 5}, end[QUAD] = {2, 3, 6, 7};
  const bool is_short = k->kind == KIND_F32;
  LLVMValueRef l[2], h[2];
  for (int i = 0; i < 2; i++) {
    l[i] = shuffled(k, x[2 * i], x[2 * i + 1], QUAD, low[is_short]);
    h[i] = shuffled(k, x[2 * i], x[2 * i + 1], QUAD, high[is_short]);
  }
  LLVMValueRef second = shuffled(k, is_short ? l[0] : h[0], is_short ? l[1] : h[1], QUAD, is_short ? end : begin);
  LLVMValueRef third = shuffled(k, is_short ? h[0] : l[0], is_short ? h[1] : l[1], QUAD, is_short ? begin : end);
  x[0] = shuffled(k, l[0], l[1], QUAD, begin);
  x[3] = shuffled(k, h[0], h[1], QUAD, end);
  x[1] = second;
  x[2] = third;
}

/* From QUAD places `distance` apart, beside each other QUAD steps, to `to` with a step each `pitch`. */
static void copy_quad(Multiplier *k, LLVMValueRef from, LLVMValueRef distance, LLVMValueRef to, int pitch) {
  LLVMValueRef x[QUAD];
  for (int i = 0; i < QUAD; i++)
    x[i] = get(k, QUAD, at(k, from, times(k, distance, whole(k, i))));
  turn(k, x);
  for (int i = 0; i < QUAD; i++)
    put(k, x[i], at(k, to, whole(k, i * pitch)));
}

static void copy_pair(Multiplier *k, LLVMValueRef from, LLVMValueRef distance, LLVMValueRef to, int pitch) {
  LLVMValueRef x = get(k, QUAD, from), y = get(k, QUAD, at(k, from, distance));
  for (int i = 0; i < QUAD; i++) {
    const int order[] = {i, QUAD + i};
    put(k, shuffled(k, x, y, 2, order), at(k, to, whole(k, i * pitch)));
  }
}

static void copy_one(Multiplier *k, LLVMValueRef from, LLVMValueRef to) {
  put(k, get(k, 1, from), to);
}

/* ---- panels of the group's columns */
static LLVMValueRef column_of(Multiplier *k, LLVMValueRef vector) {
  LLVMValueRef column = plus(k, param(k, FIRST_COLUMN), times(k, vector, whole(k, k->lanes)));
  return smaller(&k->body, column, minus(k, param(k, NCOLUMNS), whole(k, k->lanes)));
}

static LLVMValueRef right_at(Multiplier *k, LLVMValueRef column, LLVMValueRef step) {
  LLVMValueRef row = at(k, param(k, RIGHT), times(k, plus(k, k->first_step, step), param(k, RIGHT_STEP)));
  return at(k, row, times(k, column, param(k, RIGHT_COLUMN)));
}

static LLVMValueRef panel_at(Multiplier *k, LLVMValueRef vector, LLVMValueRef step) {
  LLVMValueRef panel = at(k, param(k, RIGHT_COPY), times(k, vector, k->panel_pitch));
  return at(k, panel, times(k, step, whole(k, k->lanes)));
}

static void copy_columns_beside(Multiplier *k) {
  CountedLoop steps, vectors;
  counted_begin(&k->body, &steps, k->nsteps, "steps");
  counted_begin(&k->body, &vectors, param(k, NVECTORS), "vectors");
  LLVMValueRef x = get(k, k->lanes, right_at(k, column_of(k, vectors.index), steps.index));
  put(k, x, panel_at(k, vectors.index, steps.index));
  counted_end(&k->body, &vectors);
  counted_end(&k->body, &steps);
}

static LLVMValueRef whole_quads(Multiplier *k) {
  return LLVMBuildUDiv(k->body.at, k->nsteps, whole(k, QUAD), "");
}

static LLVMValueRef copy_columns_along(Multiplier *k) {
  LLVMValueRef quads = whole_quads(k);
  CountedLoop vectors, steps;
  counted_begin(&k->body, &vectors, param(k, NVECTORS), "vectors");
  LLVMValueRef column = column_of(k, vectors.index);
  counted_begin(&k->body, &steps, quads, "steps");
  LLVMValueRef step = times(k, steps.index, whole(k, QUAD));
  for (int i = 0; i < k->lanes; i += QUAD) {
    LLVMValueRef from = right_at(k, plus(k, column, whole(k, i)), step);
    copy_quad(k, from, param(k, RIGHT_COLUMN), at(k, panel_at(k, vectors.index, step), whole(k, i)), k->lanes);
  }
  counted_end(&k->body, &steps);
  counted_end(&k->body, &vectors);
  return times(k, quads, whole(k, QUAD));
}

static void copy_columns(Multiplier *k) {
  Body *b = &k->body;
  Copy c = {.after = new_block(b, "")};
  LLVMBasicBlockRef otherwise = copy_if_beside(k, param(k, RIGHT_COLUMN));
  copy_columns_beside(k);
  copy_done(k, &c, k->nsteps);
  begin_block(b, otherwise);
  otherwise = copy_if_beside(k, param(k, RIGHT_STEP));
  copy_done(k, &c, copy_columns_along(k));
  begin_block(b, otherwise);
  copy_done(k, &c, whole(k, 0));
  LLVMValueRef done = steps_copied(k, &c);
  CountedLoop vectors, steps, columns;
  counted_begin(b, &vectors, param(k, NVECTORS), "vectors");
  LLVMValueRef column = column_of(k, vectors.index);
  counted_begin(b, &steps, k->nsteps, "steps");
  steps.start = done;
  counted_begin(b, &columns, whole(k, k->lanes), "columns");
  copy_one(k, right_at(k, plus(k, column, columns.index), steps.index),
           at(k, panel_at(k, vectors.index, steps.index), columns.index));
  counted_end(b, &columns);
  counted_end(b, &steps);
  counted_end(b, &vectors);
}

/* ---- tiles of the part's rows */
static LLVMValueRef left_at(Multiplier *k, LLVMValueRef row, LLVMValueRef step) {
  LLVMValueRef begin = at(k, param(k, LEFT), times(k, plus(k, k->first_step, step), param(k, LEFT_STEP)));
  return at(k, begin, times(k, plus(k, k->first_row, row), param(k, LEFT_ROW)));
}

static LLVMValueRef tile_at_step(Multiplier *k, LLVMValueRef tile, LLVMValueRef step) {
  LLVMValueRef begin = at(k, param(k, LEFT_COPY), times(k, tile, k->tile_pitch));
  return at(k, begin, times(k, step, whole(k, PRODUCT_ROWS)));
}

static void copy_rows_beside(Multiplier *k, LLVMValueRef ntiles) {
  CountedLoop steps, tiles;
  counted_begin(&k->body, &steps, k->nsteps, "steps");
  counted_begin(&k->body, &tiles, ntiles, "tiles");
  LLVMValueRef from = left_at(k, times(k, tiles.index, whole(k, PRODUCT_ROWS)), steps.index);
  LLVMValueRef to = tile_at_step(k, tiles.index, steps.index);
  put(k, get(k, QUAD, from), to);
  put(k, get(k, PRODUCT_ROWS - QUAD, at(k, from, whole(k, QUAD))), at(k, to, whole(k, QUAD)));
  counted_end(&k->body, &tiles);
  counted_end(&k->body, &steps);
}

static LLVMValueRef copy_rows_along(Multiplier *k, LLVMValueRef ntiles) {
  LLVMValueRef quads = whole_quads(k), distance = param(k, LEFT_ROW);
  CountedLoop tiles, steps;
  counted_begin(&k->body, &tiles, ntiles, "tiles");
  counted_begin(&k->body, &steps, quads, "steps");
  LLVMValueRef step = times(k, steps.index, whole(k, QUAD)), row = times(k, tiles.index, whole(k, PRODUCT_ROWS));
  LLVMValueRef to = tile_at_step(k, tiles.index, step);
  copy_quad(k, left_at(k, row, step), distance, to, PRODUCT_ROWS);
  copy_pair(k, left_at(k, plus(k, row, whole(k, QUAD)), step), distance, at(k, to, whole(k, QUAD)), PRODUCT_ROWS);
  counted_end(&k->body, &steps);
  counted_end(&k->body, &tiles);
  return times(k, quads, whole(k, QUAD));
}

static void copy_rows(Multiplier *k) {
  Body *b = &k->body;
  LLVMValueRef ntiles = LLVMBuildUDiv(b->at, k->nrows, whole(k, PRODUCT_ROWS), "");
  LLVMValueRef last = minus(k, k->nrows, whole(k, 1));
  Copy c = {.after = new_block(b, "")};
  LLVMBasicBlockRef otherwise = copy_if_beside(k, param(k, LEFT_ROW));
  copy_rows_beside(k, ntiles);
  copy_done(k, &c, k->nsteps);
  begin_block(b, otherwise);
  otherwise = copy_if_beside(k, param(k, LEFT_STEP));
  copy_done(k, &c, copy_rows_along(k, ntiles));
  begin_block(b, otherwise);
  copy_done(k, &c, whole(k, 0));
  LLVMValueRef done = steps_copied(k, &c);
  CountedLoop tiles, steps, rows;
  counted_begin(b, &tiles, k->ntiles, "tiles");
  LLVMValueRef start = at_least(b, tiles.index, ntiles, whole(k, 0), done);
  counted_begin(b, &steps, k->nsteps, "steps");
  steps.start = start;
  counted_begin(b, &rows, whole(k, PRODUCT_ROWS), "rows");
  LLVMValueRef row = plus(k, times(k, tiles.index, whole(k, PRODUCT_ROWS)), rows.index);
  copy_one(k, left_at(k, smaller(b, row, last), steps.index),
           at(k, tile_at_step(k, tiles.index, steps.index), rows.index));
  counted_end(b, &rows);
  counted_end(b, &steps);
  counted_end(b, &tiles);
}

/* ---- a tile by a panel */
static LLVMValueRef sum_at(Multiplier *k, LLVMValueRef tile, int row, LLVMValueRef vector) {
  LLVMValueRef number = plus(k, k->first_row, times(k, tile, whole(k, PRODUCT_ROWS)));
  number = times(k, plus(k, number, whole(k, row)), param(k, NVECTORS));
  return at(k, param(k, SUMS), times(k, plus(k, number, vector), whole(k, k->lanes)));
}

static void add_steps(Multiplier *k, LLVMValueRef tile, LLVMValueRef panel, LLVMValueRef *sums) {
  Body *b = &k->body;
  CountedLoop l;
  counted_begin(b, &l, k->nsteps, "steps");
  LLVMValueRef y = get(k, k->lanes, at(k, panel, times(k, l.index, whole(k, k->lanes))));
  LLVMValueRef from = at(k, tile, times(k, l.index, whole(k, PRODUCT_ROWS)));
  for (int i = 0; i < PRODUCT_ROWS; i++) {
    LLVMValueRef x = vector_spread(b, get(k, 1, at(k, from, whole(k, i))), k->lanes);
    LLVMValueRef product = arithmetic(b, OP_MUL, k->kind, x, y, b->unit->fast);
    put(k, reduction_step(b, OUT_SUM, k->kind, get(k, k->lanes, sums[i]), product), sums[i]);
  }
  counted_end(b, &l);
}

/* The sums to where they are to be in the end, but for rows that there are not. */
static void put_out(Multiplier *k, LLVMValueRef tile, LLVMValueRef vector, LLVMValueRef *sums,
                    LLVMBasicBlockRef after) {
  Body *b = &k->body;
  LLVMValueRef row = plus(k, k->first_row, times(k, tile, whole(k, PRODUCT_ROWS)));
  LLVMValueRef to = at(k, param(k, OUT), column_of(k, vector));
  for (int i = 0; i < PRODUCT_ROWS; i++) {
    if (i) {
      LLVMBasicBlockRef next = new_block(b, "");
      LLVMValueRef there_is = LLVMBuildICmp(b->at, LLVMIntSLT, plus(k, row, whole(k, i)), param(k, NROWS), "");
      LLVMBuildCondBr(b->at, there_is, next, after);
      begin_block(b, next);
    }
    put(k, get(k, k->lanes, sums[i]), at(k, to, times(k, plus(k, row, whole(k, i)), param(k, OUT_ROW))));
  }
  LLVMBuildBr(b->at, after);
}

static void add_tile(Multiplier *k, LLVMValueRef tile, LLVMValueRef vector_number, LLVMValueRef *sums) {
  Body *b = &k->body;
  LLVMTypeRef type = vector(k, k->lanes);
  for (int i = 0; i < PRODUCT_ROWS; i++) {
    LLVMValueRef waiting = get(k, k->lanes, sum_at(k, tile, i, vector_number));
    put(k, LLVMBuildSelect(b->at, k->is_first, LLVMConstNull(type), waiting, ""), sums[i]);
  }
  add_steps(k, tile_at_step(k, tile, whole(k, 0)), panel_at(k, vector_number, whole(k, 0)), sums);
  LLVMBasicBlockRef out = new_block(b, "out"), wait = new_block(b, "wait"), after = new_block(b, "");
  LLVMValueRef has_out = LLVMBuildIsNotNull(b->at, param(k, OUT), "");
  LLVMBuildCondBr(b->at, LLVMBuildAnd(b->at, k->is_last, has_out, ""), out, wait);
  begin_block(b, out);
  put_out(k, tile, vector_number, sums, after);
  begin_block(b, wait);
  for (int i = 0; i < PRODUCT_ROWS; i++)
    put(k, get(k, k->lanes, sums[i]), sum_at(k, tile, i, vector_number));
  LLVMBuildBr(b->at, after);
  begin_block(b, after);
}

/* ---- the function */
static void add_part(Multiplier *k, LLVMValueRef *sums) {
  Body *b = &k->body;
  CountedLoop vectors, tiles;
  k->ntiles = rounded_up(k, k->nrows, whole(k, PRODUCT_ROWS));
  copy_rows(k);
  counted_begin(b, &vectors, param(k, NVECTORS), "vectors");
  counted_begin(b, &tiles, k->ntiles, "tiles");
  add_tile(k, tiles.index, vectors.index, sums);
  counted_end(b, &tiles);
  counted_end(b, &vectors);
}

static void add_stretches(Multiplier *k) {
  Body *b = &k->body;
  LLVMValueRef sums[PRODUCT_ROWS], rows = whole(k, PRODUCT_ROWS);
  CountedLoop stretches, parts;
  for (int i = 0; i < PRODUCT_ROWS; i++)
    sums[i] = entry_alloca(b, vector(k, k->lanes), 1, WORK_ALIGNMENT, "sum");
  k->stretch = part_size(k, param(k, NSTEPS), product_steps(kind_bytes(k->kind)));
  LLVMValueRef padded = plus(k, k->stretch, whole(k, PRODUCT_PAD_STEPS));
  k->tile_pitch = times(k, padded, rows);
  k->panel_pitch = times(k, padded, whole(k, k->lanes));
  LLVMValueRef part = times(k, rounded_up(k, part_size(k, param(k, NROWS), PRODUCT_PART), rows), rows);
  LLVMValueRef count = rounded_up(k, param(k, NSTEPS), k->stretch);
  counted_begin(b, &stretches, count, "stretches");
  k->is_first = LLVMBuildICmp(b->at, LLVMIntEQ, stretches.index, whole(k, 0), "");
  k->is_last = LLVMBuildICmp(b->at, LLVMIntEQ, plus(k, stretches.index, whole(k, 1)), count, "");
  k->first_step = times(k, stretches.index, k->stretch);
  k->nsteps = smaller(b, k->stretch, minus(k, param(k, NSTEPS), k->first_step));
  copy_columns(k);
  counted_begin(b, &parts, rounded_up(k, param(k, NROWS), part), "parts");
  k->first_row = times(k, parts.index, part);
  k->nrows = smaller(b, part, minus(k, param(k, NROWS), k->first_row));
  add_part(k, sums);
  counted_end(b, &parts);
  counted_end(b, &stretches);
  LLVMBuildRetVoid(b->at);
}

static void param_types(Unit *u, LLVMTypeRef *types) {
  for (int i = 0; i < NPARAMS; i++)
    types[i] = i == LEFT || i == RIGHT || (i >= SUMS && i <= OUT) ? u->ptr : u->i64;
}

static LLVMValueRef product_function(const Body *caller, Kind kind, int lanes) {
  Unit *u = caller->unit;
  const char *name = arena_printf(u->arena, "product.%sx%d", kind_name[kind], lanes);
  LLVMValueRef f = LLVMGetNamedFunction(u->llvm, name);
  if (f)
    return f;
  static const char *const flags[] = {"nounwind", "noinline", "willreturn", "nofree", "nosync"};
  LLVMTypeRef types[NPARAMS];
  param_types(u, types);
  f = LLVMAddFunction(u->llvm, name, LLVMFunctionType(u->nothing, types, NPARAMS, false));
  LLVMSetLinkage(f, LLVMInternalLinkage);
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
    LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex, attribute(u, flags[i], 0));
  for (Param p = SUMS; p <= OUT; p++)
    LLVMAddAttributeAtIndex(f, p + 1, attribute(u, "noalias", 0));
  Multiplier k = {.kind = kind, .lanes = lanes};
  body_begin(&k.body, u, caller->func, f);
  k.body.plain_loops = true;
  add_stretches(&k);
  body_end(&k.body);
  return f;
}

void call_product(Body *b, Kind k, int lanes, const ProductBlock *p) {
  LLVMValueRef f = product_function(b, k, lanes);
  LLVMValueRef args[] = {
      [LEFT] = p->left,
      [LEFT_ROW] = p->left_row,
      [LEFT_STEP] = p->left_step,
      [RIGHT] = p->right,
      [RIGHT_STEP] = p->right_step,
      [RIGHT_COLUMN] = p->right_column,
      [NROWS] = p->nrows,
      [FIRST_COLUMN] = p->first_column,
      [NCOLUMNS] = p->ncolumns,
      [NVECTORS] = p->nvectors,
      [NSTEPS] = p->nsteps,
      [SUMS] = p->sums,
      [LEFT_COPY] = p->left_copy,
      [RIGHT_COPY] = p->right_copy,
      [OUT] = p->out ? p->out : LLVMConstNull(b->unit->ptr),
      [OUT_ROW] = p->out ? p->out_row : const_i64(b->unit, 0),
  };
  LLVMBuildCall2(b->at, LLVMGlobalGetValueType(f), f, args, NPARAMS, "");
}
