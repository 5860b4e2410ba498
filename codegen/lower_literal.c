/* Tensors that are written out: [1.0, 2.0, x, 4.0] is a chain of updates of a full tensor, one an element.
   The constants among them lie in the object as data, and are copied at once; the other elements are stored after. */
#include "codegen/body.h"
#include "ir/build.h"

enum { LEAST = 8, MOST_BYTES = 1 << 26 };

int64_t literal_element(const Op *op) {
  const Type t = op->results[0]->type;
  int64_t at = 0;
  if (op->operands[1]->type.rank)
    return -1;
  for (int i = 0; i < t.rank; i++) {
    int64_t index, extent;
    if (!value_is_int_const(op->operands[2 + i], &index) || !size_is_const(t.dims[i], &extent) || index < 0 ||
        index >= extent)
      return -1;
    at = at * extent + index;
  }
  return at;
}

static bool is_constant(const Value *v) {
  return v->def && v->def->code == OP_CONST;
}

static bool uses(const Op *op, const Value *v) {
  for (int i = 0; i < op->noperands; i++)
    if (op->operands[i] == v)
      return true;
  return false;
}

const Op *literal_next(const Op *op) {
  const Value *v = op->results[0];
  for (const Op *next = op->next; next && !next->nregions && next->code != OP_CALL; next = next->next) {
    if (!uses(next, v))
      continue;
    const Edge *edge = next->code == OP_UPDATE && op_note(next)->nedges ? op_note(next)->edges[0] : NULL;
    const bool good = next->code == OP_UPDATE && next->operands[0] == v && next->operands[1] != v &&
                      (!edge || edge_is_free(edge)) && literal_element(next) >= 0 &&
                      op_note(next)->wants == op_note(op)->wants;
    return good ? next : NULL;
  }
  return NULL;
}

static LLVMValueRef memory_constant(Body *b, const Op *of) {
  LLVMValueRef x = constant_code(b, of);
  return of->results[0]->type.kind == KIND_BOOL ? LLVMConstInt(b->unit->i8, LLVMConstIntGetZExtValue(x), false) : x;
}

/* An element that was stored by one that is no constant keeps what comes after in its place. */
static int take_constants(Body *b, const Op *first, LLVMValueRef *elements, bool *stored) {
  int n = 0;
  for (const Op *op = first; op; op = literal_next(op)) {
    const int64_t at = literal_element(op);
    if (!is_constant(op->operands[1]) || stored[at]) {
      stored[at] = true;
      continue;
    }
    elements[at] = memory_constant(b, op->operands[1]->def);
    op_note(op)->in_data = true;
    n++;
  }
  return n;
}

static void forget_constants(const Op *first) {
  for (const Op *op = first; op; op = literal_next(op))
    op_note(op)->in_data = false;
}

bool lower_literal(Body *b, const Op *first) {
  Unit *u = b->unit;
  const Value *start = first->operands[0];
  const Type t = first->results[0]->type;
  const Edge *edge = op_note(first)->nedges ? op_note(first)->edges[0] : NULL;
  int64_t count;
  if (!edge || edge->aside || edge_is_free(edge) || !is_full(start) || !is_constant(start->def->operands[0]) ||
      literal_element(first) < 0 || !size_is_const(type_count(u->module, t), &count) || count < LEAST ||
      count * kind_bytes(t.kind) > MOST_BYTES)
    return false;
  LLVMValueRef *elements = NEW_ARRAY(u->arena, LLVMValueRef, count),
               fill = memory_constant(b, start->def->operands[0]->def);
  for (int64_t i = 0; i < count; i++)
    elements[i] = fill;
  if (take_constants(b, first, elements, NEW_ARRAY(u->arena, bool, count)) < LEAST) {
    forget_constants(first);
    return false;
  }
  LLVMValueRef data = LLVMConstArray2(memory_type(u, t.kind), elements, (uint64_t)count);
  LLVMValueRef global = LLVMAddGlobal(u->llvm, LLVMTypeOf(data), "literal");
  LLVMSetInitializer(global, data);
  LLVMSetGlobalConstant(global, true);
  LLVMSetLinkage(global, LLVMPrivateLinkage);
  LLVMSetUnnamedAddress(global, LLVMGlobalUnnamedAddr);
  LLVMSetAlignment(global, WORK_ALIGNMENT);
  LLVMValueRef to = address_of(b, place_of(note_of(first->results[0])->storage));
  const unsigned align = (unsigned)kind_bytes(t.kind);
  LLVMBuildMemCpy(b->at, to, align, global, align, const_i64(u, count * kind_bytes(t.kind)));
  return true;
}
