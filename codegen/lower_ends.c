/* Loops whose ends are apart.  Where an iteration asks whether it is one of the first or the last, and branches on
   that, these run apart from the others, of which it is known that they are not: a loop that LLVM can vectorise. */
#include "codegen/loop_code.h"

enum { MOST_APART = 160, FARTHEST_END = 8 };

static int count_ops(const Region *r) {
  int n = 0;
  for (const Op *op = r->first; op; op = op->next) {
    n++;
    for (int i = 0; i < op->nregions; i++)
      n += count_ops(op->regions[i]);
  }
  return n;
}

/* index = c, or index = extent - 1 - c, for a small c. */
static bool asks_for_end(Module *m, const Op *op, Value *index, const Size *extent, Ends *ends) {
  if (op->code != OP_EQ || op->operands[0]->type.kind != KIND_I64)
    return false;
  const Size *i = size_atom(m, index);
  const Size *off = size_sub(m, size_of_value(m, op->operands[0]), size_of_value(m, op->operands[1]));
  for (int sign = 0; sign < 2; sign++) {
    const Size *at = sign ? size_add(m, off, i) : size_sub(m, i, off); /* where it holds */
    int64_t begin = FARTHEST_END, end = FARTHEST_END + 1;
    size_is_const(at, &begin);
    size_is_const(size_sub(m, extent, at), &end);
    if (begin < FARTHEST_END && begin < end) {
      ends->first = begin >= ends->first ? begin + 1 : ends->first;
      return true;
    }
    if (end <= FARTHEST_END) {
      ends->last = end > ends->last ? end : ends->last;
      return true;
    }
  }
  return false;
}

bool find_ends(const LoopCode *l, Ends *ends) {
  const Region *body = l->op->regions[0];
  const int last = l->info->nindices - 1;
  bool branches = false;
  *ends = (Ends){0};
  for (const Op *op = body->first; op; op = op->next) {
    branches |= op->code == OP_IF;
    if (ends->n < MOST_ENDS &&
        asks_for_end(l->body->unit->module, op, body->params[last], l->info->extents[last], ends))
      ends->asks[ends->n++] = op;
  }
  return branches && ends->n && count_ops(body) <= MOST_APART;
}

static void lower_range(LoopCode *l, LLVMValueRef from, LLVMValueRef to) {
  const Value *index = l->op->regions[0]->params[l->info->nindices - 1];
  Level level;
  level_begin(l, &level, to, index->name ? index->name : "loop");
  level.counted.start = from;
  set_value(index, level.counted.index);
  lower_iteration(l);
  level_end(l, &level);
}

static void set_never(const Ends *ends, bool never) {
  for (int i = 0; i < ends->n; i++)
    note_of(ends->asks[i]->results[0])->never = never;
}

void lower_with_ends(LoopCode *l, const Ends *ends) {
  Body *b = l->body;
  LLVMValueRef from = const_i64(b->unit, ends->first), n = l->extents[l->info->nindices - 1];
  LLVMValueRef to = ends->last ? LLVMBuildNSWSub(b->at, n, const_i64(b->unit, ends->last), "") : n;
  const bool plain = b->plain_loops;
  b->plain_loops = true;
  if (ends->first)
    lower_range(l, const_i64(b->unit, 0), smaller(b, n, from));
  b->plain_loops = plain;
  set_never(ends, true);
  lower_range(l, from, to);
  set_never(ends, false);
  b->plain_loops = true;
  if (ends->last)
    lower_range(l, at_least(b, to, from, to, from), n);
  b->plain_loops = plain;
}
