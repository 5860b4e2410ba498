/* Updates in a loop that runs in vectors: the element of each lane is replaced.
   A tensor that is written out, element by element, and goes to a stack of the loop is stored when all of it is there:
   four elements of four lanes at a time change places in registers, so that each lane's lie side by side. */
#include "codegen/body.h"
#include "ir/build.h"

enum { MOST_ELEMENTS = 256, GROUP = 4 };

/* ---- tensors that are written out */
static bool begins_written_out(const Op *first) {
  const Edge *edge = op_note(first)->nedges ? op_note(first)->edges[0] : NULL;
  return edge && !edge->aside && !edge_is_free(edge) && is_full(first->operands[0]);
}

void vector_find_written_out(Module *m, const Op *first) {
  int64_t count;
  int n = 0;
  if (op_note(first)->written_out || !begins_written_out(first) ||
      !size_is_const(type_count(m, first->results[0]->type), &count) || count > MOST_ELEMENTS)
    return;
  WrittenOut *w = NEW(m->arena, WrittenOut);
  w->n = (int)count;
  w->at = NEW_ARRAY(m->arena, const Value *, w->n + 1);
  for (const Op *op = first; op; op = literal_next(op)) {
    const int64_t at = literal_element(op);
    if (at < 0)
      break;
    n += !w->at[at];
    w->at[at] = op->operands[1];
    w->last = op;
  }
  if (n < w->n) /* what is left is of the tensor that it begins with */
    return;
  for (const Op *op = first;; op = literal_next(op)) {
    op_note(op)->written_out = w;
    if (op == w->last)
      break;
  }
}

/* ---- code */
static LLVMValueRef numbers(Body *b, int n, const int *x) {
  LLVMValueRef all[64];
  for (int i = 0; i < n; i++)
    all[i] = LLVMConstInt(b->unit->i32, (unsigned)x[i], false);
  return LLVMConstVector(all, (unsigned)n);
}

/* Lanes 0, 2, .. of both, one beside the other; or lanes 1, 3, .. */
static LLVMValueRef interleave(Body *b, LLVMValueRef x, LLVMValueRef y, int first) {
  const int n = b->vector->lanes;
  int order[64];
  for (int i = 0; i < n; i += 2) {
    order[i] = i + first;
    order[i + 1] = n + i + first;
  }
  return LLVMBuildShuffleVector(b->at, x, y, numbers(b, n, order), "");
}

/* Elements at..at + 3 of all lanes. */
static void store_group(Body *b, Kind k, LLVMValueRef *x, Lanes to, int at) {
  Unit *u = b->unit;
  const int n = b->vector->lanes;
  LLVMValueRef low[2], high[2]; /* elements 0 and 1, 2 and 3, of lanes 0, 2, ..; of 1, 3, .. */
  for (int i = 0; i < 2; i++) {
    low[i] = interleave(b, x[0], x[1], i);
    high[i] = interleave(b, x[2], x[3], i);
  }
  for (int lane = 0; lane < n; lane++) {
    const int pair = lane & ~1, order[] = {pair, pair + 1, n + pair, n + pair + 1};
    LLVMValueRef row = LLVMBuildShuffleVector(b->at, low[lane & 1], high[lane & 1], numbers(b, GROUP, order), "");
    LLVMValueRef offset = LLVMBuildNSWMul(b->at, to.stride, const_i64(u, lane), "");
    LLVMValueRef address = element_address(b, k, to.base, LLVMBuildNSWAdd(b->at, offset, const_i64(u, at), ""));
    LLVMSetAlignment(LLVMBuildStore(b->at, row, address), (unsigned)kind_bytes(k));
  }
}

static void store_written_out(Body *b, Kind k, const WrittenOut *w, Lanes to) {
  LLVMValueRef x[GROUP];
  int at = 0;
  for (int i = 0; i < w->n; i++) {
    LLVMValueRef element = vector_value(b, w->at[i]);
    if (!b->vector->mask)
      vector_watch(b, k, element);
    x[i - at] = element;
    if (i - at < GROUP - 1 && i + 1 < w->n)
      continue;
    if (i - at == GROUP - 1 && to.layout == LAYOUT_STRIDED && kind_is_float(k) && b->vector->lanes % 2 == 0) {
      store_group(b, k, x, to, at);
    } else {
      for (int j = at; j <= i; j++)
        lanes_store(b, k, x[j - at], to, const_i64(b->unit, j));
    }
    at = i + 1;
  }
}

void vector_update(Body *b, const Op *op) {
  Value *result = op->results[0], *v = op->operands[1];
  const Kind k = result->type.kind;
  const Edge *edge = op_note(op)->nedges ? op_note(op)->edges[0] : NULL;
  const WrittenOut *w = op_note(op)->written_out;
  set_value(result, address_of(b, place_of(note_of(result)->storage)));
  Lanes to = lanes_of(b, result);
  if (w) {
    if (op == w->last)
      store_written_out(b, k, w, to);
    return;
  }
  if (edge && !edge_is_free(edge))
    lanes_copy(b, op->operands[0], to);
  LLVMValueRef offset = lanes_offset(b, result, op->noperands - 2, op->operands + 2, op->at.checks);
  if (!v->type.rank) {
    LLVMValueRef x = vector_value(b, v);
    if (!b->vector->mask)
      vector_watch(b, k, x);
    lanes_store(b, k, x, to, offset);
    return;
  }
  if (to.layout == LAYOUT_LANES)
    offset = LLVMBuildNSWMul(b->at, offset, const_i64(b->unit, b->vector->lanes), "");
  to.base = element_address(b, k, to.base, offset);
  lanes_copy(b, v, to);
}
