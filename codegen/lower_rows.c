/* Loops over reductions whose elements lie apart, run as rows: the matrix product
       loop (i, j) stack { loop k sum { a[i, k] * b[k, j] } }
   reads b down its columns.  Its innermost level is run instead, for a stretch of j at a time, as
       for j: sum[j] = 0
       for k: for j: sum[j] += a[i, k] * b[k, j]
       for j: store
   so that the innermost loop walks along rows, and is one that LLVM's vectoriser takes, whatever the order of the sum
   is to be: each element's terms are still added in their order.  Reductions and what the body computes before the
   inner loop are kept in arrays of the frame as long as the stretch; the steps of k are taken four at a time, which
   saves three of four loads and stores of the sums.  A loop of one index reads its matrix once, and from memory where
   that is large: there the stretch is long, so that memory is read in its order.

   This holds for bodies of scalar operations around one inner loop that only reduces, without checks, where the inner
   loop's elements are beside each other along j or do not depend on it, and some lie apart along k. */
#include "codegen/inline_math.h"
#include "codegen/loop_code.h"

enum { STRETCH = 128, LONG_STRETCH = 2048, UNROLL = 4, MAX_ARRAYS = 8, MAX_UNROLLED_OPS = 16 };

typedef struct Rows {
  LoopCode *loop;
  const Op *inner;
  const Value *index;      /* of the innermost level, j above */
  VEC(const Value *) kept; /* computed before the inner loop, wanted in it or after it */
  LLVMValueRef *arrays;    /* of what is kept, then of the inner loop's results */
  int stretch;
  LLVMValueRef first; /* of the stretch */
  LLVMValueRef length;
} Rows;

/* ---- whether it applies */
/* An operation that only some of the results need that the loop is for is done for all, as long as what it does with a
   value that has not been made is no more than another number. */
static bool may_be_done(const Op *op) {
  for (int i = 0; i < op->noperands; i++)
    if (note_of(op->operands[i])->guarded && (!kind_is_float(op->operands[i]->type.kind) ||
                                              (op->code == OP_CAST && !kind_is_float(op->results[0]->type.kind))))
      return false;
  return true;
}

static bool is_plain(const Body *b, const Op *op, uint64_t wants) {
  if (b->wanted && op_note(op)->wants != wants && !may_be_done(op))
    return false;
  if (op->nresults != 1 || op->results[0]->type.rank)
    return false;
  switch (op->code) {
  case OP_CONST:
  case OP_SIZE: return true;
  case OP_INDEX: return !op->at.checks || b->unit->module->unchecked;
  case OP_DIV:
  case OP_REM:
  case OP_MOD: return kind_is_float(op->operands[0]->type.kind);
  default: return op_info[op->code].group == GROUP_ELEM;
  }
}

static bool all_plain(const Body *b, const Op *from, const Op *end, uint64_t wants) {
  for (const Op *op = from; op != end; op = op->next)
    if (!is_plain(b, op, wants))
      return false;
  return true;
}

/* The same, or an addition of a number to an accumulator. */
static bool all_plain_or_add(const Body *b, const Op *from, uint64_t wants) {
  for (const Op *op = from; op; op = op->next) {
    const bool adds = op->code == OP_ACC_ADD && !op->operands[1]->type.rank && !op->at.checks;
    if (!(adds ? may_be_done(op) : is_plain(b, op, wants)))
      return false;
  }
  return true;
}

const Op *reducing_loop_in(const Region *r) {
  const Op *found = NULL;
  for (const Op *op = r->first; op; op = op->next) {
    if (!op->nregions)
      continue;
    if (found || op->code != OP_LOOP || op->at.loop->ncarries || op->at.loop->naccs || !op->at.loop->nouts ||
        !op->at.loop->nindices)
      return NULL;
    for (int i = 0; i < op->at.loop->nouts; i++)
      if (op->at.loop->outs[i] == OUT_STACK)
        return NULL;
    found = op;
  }
  return found;
}

typedef enum Reach { REACH_NONE, REACH_NEXT, REACH_FAR } Reach;

/* How far a value of the inner loop's body moves as `index` goes up by one. */
static Reach reach_of(const Value *v, const Value *index, int depth) {
  enum { DEEPEST = 8 };
  if (v == index)
    return REACH_NEXT;
  if (!v->def)
    return REACH_NONE;
  if (v->def->code == OP_SIZE)
    return size_uses(v->def->at.size, index) ? REACH_FAR : REACH_NONE;
  if (depth == DEEPEST)
    return REACH_FAR;
  Reach most = REACH_NONE;
  int moving = 0;
  for (int i = 0; i < v->def->noperands; i++) {
    const Reach reach = reach_of(v->def->operands[i], index, depth + 1);
    moving += reach != REACH_NONE;
    most = reach > most ? reach : most;
  }
  const bool shifted = v->def->code == OP_ADD ||
                       (v->def->code == OP_SUB && reach_of(v->def->operands[1], index, depth + 1) == REACH_NONE);
  return most == REACH_NEXT && (!shifted || moving > 1) ? REACH_FAR : most;
}

/* The same of the address that an index operation reads. */
static Reach reach_of_element(const Op *op, const Value *index) {
  Reach most = REACH_NONE;
  for (int i = 1; i < op->noperands; i++) {
    Reach reach = reach_of(op->operands[i], index, 0);
    if (reach == REACH_NEXT && (i + 1 < op->noperands || op->operands[0]->type.rank > op->noperands - 1))
      reach = REACH_FAR;
    most = reach > most ? reach : most;
  }
  return most;
}

/* Along j every element is near, along k some are far. */
static bool lies_along(const Op *inner, const Value *index) {
  const Region *body = inner->regions[0];
  const Value *k = body->params[inner->at.loop->nindices - 1];
  bool far = false;
  for (const Op *op = body->first; op; op = op->next) {
    if (op->code != OP_INDEX)
      continue;
    if (reach_of_element(op, index) == REACH_FAR)
      return false;
    far = far || reach_of_element(op, k) == REACH_FAR;
  }
  return far;
}

static void note_made_in(Value *v, void *arg) {
  const Region **r = arg;
  if (v->region == *r && v->def)
    *r = NULL;
}

/* No extent of the inner loop is computed in the body itself. */
static bool extents_from_outside(const Op *inner, const Region *outer_body) {
  for (int j = 0; j < inner->at.loop->nindices; j++) {
    const Region *r = outer_body;
    size_values(inner->at.loop->extents[j], note_made_in, &r);
    if (!r || size_uses(inner->at.loop->extents[j], outer_body->params[outer_body->nparams - 1]))
      return false;
  }
  return true;
}

/* ---- what is kept in arrays */
static bool reads(const Op *from, const Op *end, const Value *v) {
  for (const Op *op = from; op != end; op = op->next)
    for (int i = 0; i < op->noperands; i++)
      if (op->operands[i] == v)
        return true;
  return false;
}

static bool yields(const Region *r, const Value *v) {
  for (int i = 0; i < r->nyields; i++)
    if (r->yields[i] == v)
      return true;
  return false;
}

static void find_kept(Rows *rows) {
  const Region *body = rows->loop->op->regions[0], *inner = rows->inner->regions[0];
  for (const Op *op = body->first; op != rows->inner; op = op->next) {
    const Value *v = op->results[0];
    if (op->code != OP_CONST &&
        (reads(inner->first, NULL, v) || yields(inner, v) || reads(rows->inner->next, NULL, v) || yields(body, v)))
      vec_push(rows->loop->body->unit->arena, rows->kept, v);
  }
}

const Op *plain_inner_loop(const LoopCode *l, bool adds) {
  const Body *b = l->body;
  const Region *body = l->op->regions[0];
  const Op *inner = reducing_loop_in(body);
  const uint64_t wants = op_note(l->op)->wants;
  if (!inner || (b->wanted && op_note(inner)->wants != wants) || !all_plain(b, body->first, inner, wants) ||
      !(adds ? all_plain_or_add(b, inner->next, wants) : all_plain(b, inner->next, NULL, wants)) ||
      !all_plain(b, inner->regions[0]->first, NULL, wants) || !extents_from_outside(inner, body))
    return NULL;
  return inner;
}

static bool find_rows(LoopCode *l, Rows *rows) {
  const Region *body = l->op->regions[0];
  if (l->info->ncarries || l->info->naccs || l->info->nindices < 1)
    return false;
  *rows = (Rows){.loop = l, .inner = plain_inner_loop(l, false), .index = body->params[l->info->nindices - 1]};
  if (!rows->inner || !lies_along(rows->inner, rows->index))
    return false;
  for (int i = 0; i < body->nyields; i++)
    if (body->yields[i]->type.rank)
      return false;
  find_kept(rows);
  return rows->kept.n + rows->inner->at.loop->nouts <= MAX_ARRAYS;
}

/* Which LLVM's vectoriser leaves as calls, and vectors across j do for many elements at once. */
static bool has_functions(const Region *r) {
  for (const Op *op = r->first; op; op = op->next)
    if (has_inline_math(op->code) || op->code == OP_POWI)
      return true;
  return false;
}

bool runs_as_rows(const LoopCode *l) {
  LoopCode copy = *l;
  Rows rows;
  return find_rows(&copy, &rows) &&
         !(op_note(l->op)->vector && !l->body->vector && has_functions(rows.inner->regions[0]));
}

/* ---- code */
static Kind kind_kept(const Rows *rows, int i) {
  return i < rows->kept.n ? rows->kept.at[i]->type.kind : rows->inner->results[i - rows->kept.n]->type.kind;
}

static const Value *value_kept(const Rows *rows, int i) {
  return i < rows->kept.n ? rows->kept.at[i] : rows->inner->results[i - rows->kept.n];
}

static LLVMValueRef kept_address(const Rows *rows, int i, LLVMValueRef at) {
  return element_address(rows->loop->body, kind_kept(rows, i), rows->arrays[i], at);
}

static void take_kept(const Rows *rows, int from, int to, LLVMValueRef at) {
  Body *b = rows->loop->body;
  for (int i = from; i < to; i++)
    set_value(value_kept(rows, i), load_element(b, kind_kept(rows, i), kept_address(rows, i, at), NULL));
}

static void begin_element(const Rows *rows, LLVMValueRef at) {
  Body *b = rows->loop->body;
  set_value(rows->index, LLVMBuildNSWAdd(b->at, rows->first, at, ""));
}

/* Arrays serve all loops of the function: no two are in use at a time. */
static void find_arrays(Rows *rows) {
  Body *b = rows->loop->body;
  const int n = rows->kept.n + rows->inner->at.loop->nouts;
  rows->arrays = NEW_ARRAY(b->unit->arena, LLVMValueRef, n);
  for (int i = 0; i < n; i++) {
    const Kind k = kind_kept(rows, i);
    LLVMValueRef *array = rows->stretch == STRETCH ? &b->row_arrays[k][i] : &b->long_row[k];
    if (!*array)
      *array = entry_alloca(b, memory_type(b->unit, k), rows->stretch, WORK_ALIGNMENT, SCRATCH);
    rows->arrays[i] = *array;
  }
}

static void lower_heads(Rows *rows) {
  Body *b = rows->loop->body;
  const LoopInfo *info = rows->inner->at.loop;
  CountedLoop l;
  counted_begin(b, &l, rows->length, "head");
  begin_element(rows, l.index);
  lower_ops_until(b, rows->loop->op->regions[0]->first, rows->inner);
  for (int i = 0; i < rows->kept.n; i++)
    store_element(b, kind_kept(rows, i), value_code(b, rows->kept.at[i]), kept_address(rows, i, l.index), NULL);
  for (int i = 0; i < info->nouts; i++) {
    const Kind k = kind_kept(rows, rows->kept.n + i);
    store_element(b, k, reduction_begin(b, info->outs[i], k), kept_address(rows, rows->kept.n + i, l.index), NULL);
  }
  counted_end(b, &l);
}

/* One row: `steps` values of the last index of the inner loop, from `k` on. */
static void lower_row(Rows *rows, LLVMValueRef k, int steps) {
  Body *b = rows->loop->body;
  const LoopInfo *info = rows->inner->at.loop;
  const Region *body = rows->inner->regions[0];
  const Value *index = body->params[info->nindices - 1];
  LLVMValueRef sums[MAX_ARRAYS];
  CountedLoop l;
  counted_begin(b, &l, rows->length, "row");
  begin_element(rows, l.index);
  take_kept(rows, 0, rows->kept.n, l.index);
  for (int i = 0; i < info->nouts; i++)
    sums[i] = load_element(b, kind_kept(rows, rows->kept.n + i), kept_address(rows, rows->kept.n + i, l.index), NULL);
  for (int s = 0; s < steps; s++) {
    set_value(index, LLVMBuildNSWAdd(b->at, k, const_i64(b->unit, s), ""));
    lower_ops_until(b, body->first, NULL);
    for (int i = 0; i < info->nouts; i++)
      sums[i] = reduction_step(b, info->outs[i], body->yields[i]->type.kind, sums[i], value_code(b, body->yields[i]));
  }
  for (int i = 0; i < info->nouts; i++)
    store_element(b, kind_kept(rows, rows->kept.n + i), sums[i], kept_address(rows, rows->kept.n + i, l.index), NULL);
  counted_end(b, &l);
}

static int count_ops(const Region *r) {
  int n = 0;
  for (const Op *op = r->first; op; op = op->next)
    n++;
  return n;
}

static void lower_inner(Rows *rows, int level) {
  Body *b = rows->loop->body;
  Unit *u = b->unit;
  const LoopInfo *info = rows->inner->at.loop;
  LLVMValueRef extent = extent_code(b, info->extents[level]);
  CountedLoop l;
  if (level + 1 < info->nindices) {
    counted_begin(b, &l, extent, "rows");
    set_value(rows->inner->regions[0]->params[level], l.index);
    lower_inner(rows, level + 1);
    counted_end(b, &l);
    return;
  }
  const int steps = count_ops(rows->inner->regions[0]) <= MAX_UNROLLED_OPS ? UNROLL : 1;
  LLVMValueRef whole = LLVMBuildUDiv(b->at, extent, const_i64(u, steps), "");
  counted_begin(b, &l, whole, "rows");
  lower_row(rows, LLVMBuildNSWMul(b->at, l.index, const_i64(u, steps), ""), steps);
  counted_end(b, &l);
  if (steps == 1)
    return;
  LLVMValueRef done = LLVMBuildNSWMul(b->at, whole, const_i64(u, steps), "");
  counted_begin(b, &l, LLVMBuildNSWSub(b->at, extent, done, ""), "rows");
  lower_row(rows, LLVMBuildNSWAdd(b->at, done, l.index, ""), 1);
  counted_end(b, &l);
}

static void lower_tails(Rows *rows) {
  Body *b = rows->loop->body;
  Level level;
  level_begin(rows->loop, &level, rows->length, "tail");
  begin_element(rows, level.counted.index);
  take_kept(rows, 0, rows->kept.n + rows->inner->at.loop->nouts, level.counted.index);
  lower_ops_until(b, rows->inner->next, NULL);
  store_outs(rows->loop);
  level_end(rows->loop, &level);
}

static LLVMValueRef zero_if_sums_finite(Rows *rows) {
  Body *b = rows->loop->body;
  Unit *u = b->unit;
  const LoopInfo *info = rows->inner->at.loop;
  LLVMValueRef all = entry_alloca(b, u->f64, 1, 8, "");
  LLVMBuildStore(b->at, LLVMConstNull(u->f64), all);
  CountedLoop l;
  counted_begin(b, &l, rows->length, "finite");
  for (int i = 0; i < info->nouts; i++) {
    const int at = rows->kept.n + i;
    if (info->outs[i] != OUT_SUM || !kind_is_float(kind_kept(rows, at)))
      continue;
    LLVMValueRef zero = zero_if_finite(b, load_element(b, kind_kept(rows, at), kept_address(rows, at, l.index), NULL));
    if (kind_kept(rows, at) == KIND_F32)
      zero = LLVMBuildFPExt(b->at, zero, u->f64, "");
    LLVMValueRef sum = LLVMBuildFAdd(b->at, LLVMBuildLoad2(b->at, u->f64, all, ""), zero, "");
    LLVMSetFastMathFlags(sum, LLVMFastMathAllowReassoc);
    LLVMBuildStore(b->at, sum, all);
  }
  counted_end(b, &l);
  return LLVMBuildLoad2(b->at, u->f64, all, "");
}

static void lower_stretches(LoopCode *l, int stretch_length) {
  Body *b = l->body;
  Unit *u = b->unit;
  Rows rows;
  if (!find_rows(l, &rows))
    internal_error("a loop that cannot be run as rows");
  rows.stretch = stretch_length;
  find_arrays(&rows);
  LLVMValueRef n = l->extents[l->info->nindices - 1], zero = const_i64(u, 0), stretch = const_i64(u, stretch_length);
  LLVMValueRef bounds[] = {n, zero}, extent = call_intrinsic(b, "llvm.smax", 1, &u->i64, 2, bounds);
  LLVMValueRef whole = LLVMBuildNSWAdd(b->at, extent, const_i64(u, stretch_length - 1), "");
  Level level;
  level_begin(l, &level, LLVMBuildUDiv(b->at, whole, stretch, ""), "stretch");
  rows.first = LLVMBuildNSWMul(b->at, level.counted.index, stretch, "");
  LLVMValueRef lengths[] = {LLVMBuildNSWSub(b->at, extent, rows.first, ""), stretch};
  rows.length = call_intrinsic(b, "llvm.smin", 1, &u->i64, 2, lengths);
  lower_heads(&rows);
  const bool loose = has_loose_products(b, rows.inner), around = b->loose_zeros;
  b->loose_zeros = loose || around;
  lower_inner(&rows, 0);
  b->loose_zeros = around;
  if (loose) {
    Again again;
    again_begin(b, &again, zero_if_sums_finite(&rows));
    lower_heads(&rows);
    lower_inner(&rows, 0);
    again_end(b, &again);
  }
  lower_tails(&rows);
  level_end(l, &level);
}

void lower_rows(LoopCode *l) {
  lower_stretches(l, STRETCH);
}

/* ---- long rows */
bool may_run_as_long_rows(const LoopCode *l) {
  LoopCode copy = *l;
  Rows rows;
  return l->info->nindices == 1 && l->info->nouts == 1 && l->info->outs[0] == OUT_STACK && find_rows(&copy, &rows) &&
         rows.kept.n == 0 && rows.inner->nresults == 1 && rows.inner->at.loop->nindices == 1;
}

/* More is read than stays in the first cache, in rows that are not short. */
static LLVMValueRef reads_much(const LoopCode *l) {
  enum { BYTES = 1 << 17, LEAST = 64 };
  Body *b = l->body;
  const Op *inner = reducing_loop_in(l->op->regions[0]);
  const int64_t elements = BYTES / (int64_t)kind_bytes(inner->results[0]->type.kind);
  LLVMValueRef n = l->extents[0], steps = extent_code(b, inner->at.loop->extents[0]);
  LLVMValueRef much =
      LLVMBuildICmp(b->at, LLVMIntSGE, LLVMBuildMul(b->at, n, steps, ""), const_i64(b->unit, elements), "");
  return LLVMBuildAnd(b->at, much, LLVMBuildICmp(b->at, LLVMIntSGE, n, const_i64(b->unit, LEAST), ""), "");
}

void lower_long_rows(LoopCode *l, void (*otherwise)(LoopCode *l)) {
  Body *b = l->body;
  LLVMValueRef much = reads_much(l);
  if (LLVMIsConstant(much)) {
    if (LLVMConstIntGetZExtValue(much))
      lower_stretches(l, LONG_STRETCH);
    else
      otherwise(l);
    return;
  }
  LLVMBasicBlockRef large = new_block(b, "large"), small = new_block(b, "small"), after = new_block(b, "");
  LLVMBuildCondBr(b->at, much, large, small);
  begin_block(b, large);
  lower_stretches(l, LONG_STRETCH);
  LLVMBuildBr(b->at, after);
  begin_block(b, small);
  otherwise(l);
  LLVMBuildBr(b->at, after);
  begin_block(b, after);
}
