/* Addresses, loads and stores, whole tensors, and the copies that edges stand for. */
#include "codegen/body.h"

LLVMValueRef value_code(Body *b, const Value *v) {
  (void)b;
  LLVMValueRef code = note_of(v)->code;
  if (!code)
    internal_error("value %%%u is used before its code is made", v->uid);
  return code;
}

void set_value(const Value *v, LLVMValueRef code) {
  note_of(v)->code = code;
}

LLVMValueRef address_of(Body *b, const Place *p) {
  (void)b;
  if (!p->address)
    internal_error("a tensor's place is used before it has an address");
  return p->address;
}

LLVMValueRef element_address(Body *b, Kind k, LLVMValueRef base, LLVMValueRef offset) {
  return LLVMBuildInBoundsGEP2(b->at, memory_type(b->unit, k), base, &offset, 1, "");
}

/* One step for each index, the outer ones first, so that those that do not change leave the loops. */
LLVMValueRef part_address(Body *b, const Value *x, int n, Value *const *idx, uint64_t checks) {
  Unit *u = b->unit;
  LLVMValueRef address = value_code(b, x);
  for (int i = 0; i < n; i++) {
    if ((checks >> i & 1) && !u->module->unchecked) {
      LLVMValueRef size = size_code(b, x->type.dims[i]), index = value_code(b, idx[i]);
      fail_index_if(b, LLVMBuildICmp(b->at, LLVMIntUGE, index, size, ""), index, size);
    }
  }
  for (int i = 0; i < n; i++) {
    const Size *stride = type_count(u->module, type_drop(x->type, i + 1));
    LLVMValueRef offset = value_code(b, idx[i]);
    if (!size_is(stride, 1))
      offset = LLVMBuildNSWMul(b->at, offset, size_code(b, stride), "");
    address = element_address(b, x->type.kind, address, offset);
  }
  return address;
}

/* ---- elements */
/* The memory that a place is: a slot of the plan, or behind these an output; -1: it is not known to be one of them. */
static int memory_of(const Body *b, const Place *p) {
  int memory = -1;
  if (p->kind == PLACE_OUTPUT && !p->followed)
    memory = b->plan->slots->parts.n + p->number;
  else if (p->kind == PLACE_WORK && p->room == ROOM_PLANNED && !p->part_of && !p->followed)
    memory = p->slot;
  return memory < b->nscopes ? memory : -1;
}

/* The place that a tensor lies in for certain, or NULL. */
static const Place *only_place(const Value *of) {
  const Storage *s = of ? note_of(of)->storage : NULL;
  if (s && s->kind == STORAGE_VIEW && s->owners.n == 1)
    s = s->owners.at[0];
  return s && s->kind == STORAGE_OWN ? place_of(s) : NULL;
}

enum { MOST_IN = 3 }; /* a carry's two places and a stack */

static void list_scopes(const Body *b, const int *memory, LLVMMetadataRef *lists) {
  LLVMMetadataRef in[MOST_IN], out[MOST_SCOPES];
  size_t nin = 0, nout = 0;
  for (int i = 0; i < b->nscopes; i++)
    if (i == memory[0] || i == memory[1] || i == memory[2])
      in[nin++] = b->scope[i];
    else
      out[nout++] = b->scope[i];
  lists[0] = LLVMMDNodeInContext2(b->unit->context, in, nin);
  lists[1] = LLVMMDNodeInContext2(b->unit->context, out, nout);
}

/* What is read or written there overlaps with nothing in other memory.  What alternates lies in several. */
static void mark_memory(Body *b, LLVMValueRef access, const Value *of) {
  const Place *p = b->nscopes ? only_place(of) : NULL;
  if (!p)
    return;
  const int one = memory_of(b, p);
  const int memory[MOST_IN] = {one, p->twin ? memory_of(b, p->twin) : one, p->stack ? memory_of(b, p->stack) : one};
  if (memory[0] < 0 || memory[1] < 0 || memory[2] < 0)
    return;
  const bool alone = memory[1] == one && memory[2] == one;
  LLVMMetadataRef several[2], *lists = alone ? b->lists[one] : several;
  if (!alone || !lists[0])
    list_scopes(b, memory, lists);
  set_metadata(b->unit, access, "alias.scope", lists[0]);
  set_metadata(b->unit, access, "noalias", lists[1]);
}

LLVMValueRef load_element(Body *b, Kind k, LLVMValueRef address, const Value *of) {
  LLVMValueRef x = LLVMBuildLoad2(b->at, memory_type(b->unit, k), address, "");
  mark_memory(b, x, of);
  return k == KIND_BOOL ? LLVMBuildTrunc(b->at, x, b->unit->i1, "") : x;
}

void store_element(Body *b, Kind k, LLVMValueRef x, LLVMValueRef address, const Value *of) {
  if (k == KIND_BOOL)
    x = LLVMBuildZExt(b->at, x, b->unit->i8, "");
  mark_memory(b, LLVMBuildStore(b->at, x, address), of);
}

/* ---- whole tensors */
void copy_tensor(Body *b, Type t, LLVMValueRef to, LLVMValueRef from) {
  const unsigned align = (unsigned)kind_bytes(t.kind);
  LLVMBuildMemCpy(b->at, to, align, from, align, bytes_code(b, t));
}

void fill_tensor(Body *b, Type t, LLVMValueRef to, const Value *full) {
  LLVMValueRef x = value_code(b, full->def->operands[0]);
  if (LLVMIsConstant(x) && LLVMIsNull(x)) {
    LLVMBuildMemSet(b->at, to, LLVMConstInt(b->unit->i8, 0, false), bytes_code(b, t), (unsigned)kind_bytes(t.kind));
    return;
  }
  CountedLoop l;
  counted_begin(b, &l, count_code(b, t), "fill");
  store_element(b, t.kind, x, element_address(b, t.kind, to, l.index), NULL);
  counted_end(b, &l);
}

void add_tensor(Body *b, const Value *x, LLVMValueRef to, const Value *acc) {
  const Type t = x->type;
  CountedLoop l;
  counted_begin(b, &l, count_code(b, t), "add");
  LLVMValueRef from = element_address(b, t.kind, value_code(b, x), l.index),
               at = element_address(b, t.kind, to, l.index);
  LLVMValueRef sum = arithmetic(b, OP_ADD, t.kind, load_element(b, t.kind, at, acc), load_element(b, t.kind, from, x),
                                b->unit->fast_reduce);
  store_element(b, t.kind, sum, at, acc);
  counted_end(b, &l);
}

bool is_full(const Value *v) {
  return v->def && v->def->code == OP_FULL;
}

/* ---- edges */
static bool in_one_place(const Edge *e) {
  const Storage *s = note_of(e->from)->storage;
  if (s->kind == STORAGE_VIEW && s->whole)
    s = s->owners.at[0];
  return s->kind == STORAGE_OWN && place_of(s) == place_of(e->to);
}

bool edge_is_free(const Edge *e) {
  return e->alternates || e->follows || e->in_slot || in_one_place(e);
}

void take_edges(Body *b, int n, Edge *const *edges) {
  for (int i = 0; i < n; i++)
    if (edges[i] && edges[i]->aside)
      copy_tensor(b, edges[i]->from->type, address_of(b, edges[i]->aside), value_code(b, edges[i]->from));
  for (int i = 0; i < n; i++) {
    const Edge *e = edges[i];
    if (!e || edge_is_free(e))
      continue;
    LLVMValueRef to = address_of(b, place_of(e->to));
    if (is_full(e->from)) /* also one that is in memory: there is less to read */
      fill_tensor(b, e->from->type, to, e->from);
    else
      copy_tensor(b, e->from->type, to, e->aside ? address_of(b, e->aside) : value_code(b, e->from));
  }
}
