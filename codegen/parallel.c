/* What the blocks of a parallel function cost: see codegen/parallel.h. */
#include "codegen/parallel.h"
#include "codegen/vector.h"
#include "ir/build.h"

enum { DEAR = 16, MIDDLING = 6, NOMINAL = 8, CALL = 64, LONGEST_NEST = 8, ROWS = 32, CLEAR_AND_ADD = 6 };

/* ---- the loop of the function */
static bool is_preparation(const Op *op) {
  return op->code == OP_CONST || op->code == OP_FULL || op->code == OP_SIZE;
}

static const Op *loop_of(FuncStorage *f) {
  const Region *body = f->func->body;
  const Op *loop = body->last;
  const int n = body->nparams;
  if (!loop || loop->code != OP_LOOP || loop->at.loop->ncarries || !loop->at.loop->nindices || n < 2)
    return NULL;
  for (int i = n - 2; i < n; i++)
    if (body->params[i]->type.rank || body->params[i]->type.kind != KIND_I64)
      return NULL;
  if (loop->at.loop->extents[0] != size_of_value(f->module, body->params[n - 1]))
    return NULL;
  for (const Op *op = body->first; op != loop; op = op->next)
    if (!is_preparation(op))
      return NULL;
  for (int i = 0; i < loop->noperands; i++)
    if (!value_is_zero(loop->operands[i]))
      return NULL;
  for (int i = 0; i < body->nyields; i++)
    if (body->yields[i]->def != loop)
      return NULL;
  return loop;
}

PartResult part_result(const PartPlan *part, int result) {
  const int i = part->result[result], naccs = part->loop->at.loop->naccs;
  if (i >= naccs)
    return part->loop->at.loop->outs[i - naccs] == OUT_STACK ? PART_STACK : PART_SCALAR;
  return part->loop->results[i]->type.rank ? PART_TENSOR : PART_SCALAR;
}

OutKind part_combines(const PartPlan *part, int result) {
  const int i = part->result[result], naccs = part->loop->at.loop->naccs;
  return i < naccs ? OUT_SUM : part->loop->at.loop->outs[i - naccs];
}

/* ---- work */
static int weight_of(const Op *op) {
  const OpInfo *info = &op_info[op->code];
  switch (op->code) {
  case OP_CONST:
  case OP_SIZE:
  case OP_RESHAPE: return 0;
  case OP_CALL: return CALL;
  case OP_DIV:
  case OP_DIVZ:
  case OP_POW_BELOW:
  case OP_REM:
  case OP_MOD:
  case OP_SQRT: return MIDDLING;
  case OP_POW:
  case OP_ATAN2:
  case OP_HYPOT: return DEAR;
  case OP_NEG:
  case OP_ABS:
  case OP_SIGN:
  case OP_POWI:
  case OP_FLOOR:
  case OP_CEIL:
  case OP_ROUND:
  case OP_TRUNC:
  case OP_NOT:
  case OP_ISNAN:
  case OP_ISFINITE:
  case OP_CAST: return 1;
  default: return info->group == GROUP_ELEM && info->arity == 1 ? DEAR : 1;
  }
}

typedef struct Nest {
  Module *module;
  Need *sum;
  Bound dims[LONGEST_NEST];
  int rank;
} Nest;

static void add_count(Nest *n, int times) {
  Need *need = NEW(n->module->arena, Need);
  Bound *dims = NEW_ARRAY(n->module->arena, Bound, n->rank);
  for (int i = 0; i < n->rank; i++)
    dims[i] = n->dims[i];
  *need = (Need){.kind = NEED_COUNT, .element_bytes = times, .rank = n->rank, .dims = dims};
  vec_push(n->module->arena, n->sum->parts, need);
}

/* One more loop around; a trip count that nothing tells is taken for a small one. */
static int enter(Nest *n, const Size *extent, int factor) {
  if (n->rank < LONGEST_NEST && need_bound(n->module, extent, &n->dims[n->rank])) {
    n->rank++;
    return factor;
  }
  return factor < INT32_MAX / NOMINAL ? factor * NOMINAL : factor;
}

/* `factor`: times that the region runs, beside the dims. */
static void count_region(Nest *n, const Region *r, int factor) {
  int64_t plain = 0;
  for (const Op *op = r->first; op; op = op->next) {
    const int rank = n->rank;
    int times = op->code == OP_WHILE && factor < INT32_MAX / NOMINAL ? factor * NOMINAL : factor;
    plain += weight_of(op);
    for (int i = 0; op->code == OP_LOOP && i < op->at.loop->nindices; i++)
      times = enter(n, op->at.loop->extents[i], times);
    for (int i = 0; i < op->nregions; i++)
      count_region(n, op->regions[i], times);
    n->rank = rank;
  }
  plain *= factor;
  if (plain)
    add_count(n, plain < INT32_MAX ? (int)plain : INT32_MAX);
}

static const Need *work_of(Module *m, const Op *loop) {
  Need *sum = NEW(m->arena, Need);
  sum->kind = NEED_SUM;
  Nest n = {.module = m, .sum = sum};
  int times = 1;
  for (int i = 1; i < loop->at.loop->nindices; i++)
    times = enter(&n, loop->at.loop->extents[i], times);
  add_count(&n, 2 * times);
  count_region(&n, loop->regions[0], times);
  return sum;
}

/* ---- accumulators */
/* Cleared and added up, by way of a panel in as many lanes as that has. */
static bool add_accumulator(PartPlan *part, Module *m, Need *overhead, Need *sums, const Value *handle) {
  const Type t = handle->type;
  const VectorLoop *v = op_note(part->loop)->vector;
  const bool has_panel = v && vector_panel(v, handle);
  Bound *dims = NEW_ARRAY(m->arena, Bound, t.rank);
  for (int i = 0; i < t.rank; i++)
    if (!need_bound(m, t.dims[i], &dims[i]))
      return false;
  Need *work = NEW(m->arena, Need), *bytes = NEW(m->arena, Need);
  *work = (Need){.kind = NEED_COUNT,
                 .element_bytes = (has_panel ? 2 * panel_lanes(v) : 0) + CLEAR_AND_ADD,
                 .rank = t.rank,
                 .dims = dims};
  *bytes = (Need){.kind = NEED_TENSOR, .element_bytes = kind_bytes(t.kind), .rank = t.rank, .dims = dims};
  vec_push(m->arena, overhead->parts, work);
  if (t.rank)
    vec_push(m->arena, sums->parts, bytes);
  return true;
}

/* Whole vectors: what is left over of a block would run in scalars.  A product of matrices copies what all rows read
   for each block anew. */
static int multiple_of(const Op *loop) {
  const int n = loop->at.loop->nindices;
  if (!op_note(loop)->vector || n > 2)
    return 1;
  if (n == 1)
    return op_note(loop)->vector->lanes;
  for (const Op *op = loop->regions[0]->first; op; op = op->next)
    if (op->code == OP_LOOP)
      return ROWS;
  return 1;
}

PartPlan *part_plan(FuncStorage *f) {
  Module *m = f->module;
  const Op *loop = f->func->is_parallel ? loop_of(f) : NULL;
  if (!loop)
    return NULL;
  PartPlan *part = NEW(m->arena, PartPlan);
  Need *overhead = NEW(m->arena, Need), *sums = NEW(m->arena, Need);
  overhead->kind = sums->kind = NEED_SUM;
  *part = (PartPlan){.loop = loop, .overhead = overhead, .sums = sums};
  part->result = NEW_ARRAY(m->arena, int, f->func->nresults);
  for (int i = 0; i < f->func->nresults; i++)
    part->result[i] = f->func->body->yields[i]->index;
  part->work = work_of(m, loop);
  part->multiple = multiple_of(loop);
  for (int i = 0; i < loop->at.loop->naccs; i++)
    if (!add_accumulator(part, m, overhead, sums, loop_acc(loop, i)))
      return NULL;
  return part;
}
