/* Loads, stores and additions of lanes; see codegen/vector.h. */
#include "codegen/body.h"

static int lanes(const Body *b) {
  return b->vector->lanes;
}

static LLVMValueRef lane_number(Body *b, int lane) {
  return LLVMConstInt(b->unit->i32, (unsigned)lane, false);
}

static LLVMValueRef lane_of(Body *b, LLVMValueRef x, int lane) {
  return LLVMGetTypeKind(LLVMTypeOf(x)) == LLVMVectorTypeKind
             ? LLVMBuildExtractElement(b->at, x, lane_number(b, lane), "")
             : x;
}

LLVMValueRef vector_spread(Body *b, LLVMValueRef x, int n) {
  if (LLVMGetTypeKind(LLVMTypeOf(x)) == LLVMVectorTypeKind)
    return x;
  LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(x), (unsigned)n);
  LLVMValueRef one = LLVMBuildInsertElement(b->at, LLVMGetPoison(type), x, lane_number(b, 0), "");
  LLVMTypeRef order = LLVMVectorType(b->unit->i32, (unsigned)n);
  return LLVMBuildShuffleVector(b->at, one, LLVMGetPoison(type), LLVMConstNull(order), "");
}

LLVMValueRef vector_value(Body *b, const Value *v) {
  return vector_spread(b, value_code(b, v), lanes(b));
}

static LLVMTypeRef vector_in_memory(Body *b, Kind k) {
  return LLVMVectorType(memory_type(b->unit, k), (unsigned)lanes(b));
}

static LLVMTypeRef vector_type(Body *b, Kind k) {
  return k == KIND_BOOL ? LLVMVectorType(b->unit->i1, (unsigned)lanes(b)) : vector_in_memory(b, k);
}

static LLVMValueRef to_memory(Body *b, Kind k, LLVMValueRef x) {
  return k == KIND_BOOL ? LLVMBuildZExt(b->at, x, vector_in_memory(b, k), "") : x;
}

static LLVMValueRef from_memory(Body *b, Kind k, LLVMValueRef x) {
  return k == KIND_BOOL ? LLVMBuildTrunc(b->at, x, vector_type(b, k), "") : x;
}

/* ---- a vector at one address */
static LLVMValueRef load_vector(Body *b, Kind k, LLVMValueRef at, unsigned align) {
  LLVMValueRef x = LLVMBuildLoad2(b->at, vector_in_memory(b, k), at, "");
  LLVMSetAlignment(x, align);
  return from_memory(b, k, x);
}

static void store_vector(Body *b, Kind k, LLVMValueRef x, LLVMValueRef at, unsigned align) {
  LLVMSetAlignment(LLVMBuildStore(b->at, to_memory(b, k, x), at), align);
}

/* ---- tensors in lanes */
static unsigned lanes_align(Body *b, Kind k) { /* of an element of all lanes; places are aligned to 64 bytes */
  const unsigned bytes = (unsigned)(kind_bytes(k) * lanes(b));
  return bytes > 64 ? 64 : bytes;
}

Lanes lanes_of(Body *b, const Value *x) {
  const ValueNote *note = note_of(x);
  Lanes l = {.layout = value_is_outside(x, b->vector->loop->regions[0]) ? LAYOUT_UNIFORM : note->layout};
  if (!x->is_acc && note->storage && note->storage->kind == STORAGE_FILL)
    internal_error("a fill has no lanes");
  l.base = value_code(b, x);
  if (l.layout == LAYOUT_STRIDED)
    l.stride = size_code(b, note->lane_stride);
  return l;
}

static LLVMValueRef in_lanes(Body *b, LLVMValueRef offset) {
  return LLVMBuildNSWMul(b->at, offset, const_i64(b->unit, lanes(b)), "");
}

static LLVMValueRef strided_address(Body *b, Kind k, Lanes of, LLVMValueRef offset, int lane) {
  LLVMValueRef at = LLVMBuildNSWMul(b->at, of.stride, const_i64(b->unit, lane), "");
  return element_address(b, k, of.base, LLVMBuildNSWAdd(b->at, offset, at, ""));
}

LLVMValueRef lanes_load(Body *b, Kind k, Lanes from, LLVMValueRef offset) {
  if (from.layout == LAYOUT_LANES)
    return load_vector(b, k, element_address(b, k, from.base, in_lanes(b, offset)), lanes_align(b, k));
  if (from.layout == LAYOUT_UNIFORM)
    return vector_spread(b, load_element(b, k, element_address(b, k, from.base, offset), NULL), lanes(b));
  LLVMValueRef x = LLVMGetPoison(vector_type(b, k));
  for (int i = 0; i < lanes(b); i++)
    x = LLVMBuildInsertElement(b->at, x, load_element(b, k, strided_address(b, k, from, offset, i), NULL),
                               lane_number(b, i), "");
  return x;
}

void lanes_store(Body *b, Kind k, LLVMValueRef x, Lanes to, LLVMValueRef offset) {
  if (to.layout == LAYOUT_LANES) {
    store_vector(b, k, x, element_address(b, k, to.base, in_lanes(b, offset)), lanes_align(b, k));
    return;
  }
  if (to.layout == LAYOUT_UNIFORM)
    internal_error("lanes are stored in a tensor that has none");
  for (int i = 0; i < lanes(b); i++)
    store_element(b, k, lane_of(b, x, i), strided_address(b, k, to, offset, i), NULL);
}

void lanes_copy(Body *b, const Value *x, Lanes to) {
  const Type t = x->type;
  const Storage *s = note_of(x)->storage;
  const bool fill = s && s->kind == STORAGE_FILL;
  LLVMValueRef scalar = fill ? vector_value(b, x->def->operands[0]) : NULL;
  const Lanes from = fill ? (Lanes){0} : lanes_of(b, x);
  CountedLoop l;
  counted_begin(b, &l, count_code(b, t), "lanes");
  lanes_store(b, t.kind, fill ? scalar : lanes_load(b, t.kind, from, l.index), to, l.index);
  counted_end(b, &l);
}

/* ---- addresses */
LLVMValueRef lanes_offset(Body *b, const Value *x, int n, Value *const *idx, uint64_t checks) {
  Unit *u = b->unit;
  LLVMValueRef offset = const_i64(u, 0);
  for (int i = 0; i < n; i++) {
    LLVMValueRef index = value_code(b, idx[i]);
    if ((checks >> i & 1) && !u->module->unchecked) {
      LLVMValueRef size = size_code(b, x->type.dims[i]);
      fail_index_if(b, LLVMBuildICmp(b->at, LLVMIntUGE, index, size, ""), index, size);
    }
    LLVMValueRef step = size_code(b, type_count(u->module, type_drop(x->type, i + 1)));
    offset = LLVMBuildNSWAdd(b->at, offset, LLVMBuildNSWMul(b->at, index, step, ""), "");
  }
  return offset;
}

/* Fails where the index of some live lane is out of range, with the first such. */
static void check_lanes(Body *b, LLVMValueRef index, LLVMValueRef size) {
  const int n = lanes(b);
  LLVMValueRef bad = LLVMBuildICmp(b->at, LLVMIntUGE, index, vector_spread(b, size, n), "");
  if (b->vector->mask)
    bad = LLVMBuildAnd(b->at, bad, b->vector->mask, "");
  LLVMTypeRef type = LLVMTypeOf(bad);
  LLVMValueRef any = call_intrinsic(b, "llvm.vector.reduce.or", 1, &type, 1, &bad);
  LLVMBasicBlockRef cold = new_block(b, "range"), go_on = new_block(b, "");
  LLVMBuildCondBr(b->at, any, cold, go_on);
  begin_block(b, cold);
  LLVMValueRef first = lane_of(b, index, 0);
  for (int i = n - 1; i >= 0; i--)
    first = LLVMBuildSelect(b->at, lane_of(b, bad, i), lane_of(b, index, i), first, "");
  fail_index_if(b, LLVMConstInt(b->unit->i1, 1, false), first, size);
  LLVMBuildBr(b->at, go_on);
  begin_block(b, go_on);
}

/* Offsets of x[idx..], a vector; each index checked where its bit says so. */
static LLVMValueRef offsets_of(Body *b, const Value *x, int n, Value *const *idx, uint64_t checks) {
  Unit *u = b->unit;
  LLVMValueRef uniform = const_i64(u, 0), varying = NULL;
  for (int i = 0; i < n; i++) {
    LLVMValueRef index = value_code(b, idx[i]);
    const bool varies = vector_is_varying(idx[i]), checked = (checks >> i & 1) && !u->module->unchecked;
    LLVMValueRef size = checked ? size_code(b, x->type.dims[i]) : NULL;
    if (checked && varies)
      check_lanes(b, index, size);
    else if (checked)
      fail_index_if(b, LLVMBuildICmp(b->at, LLVMIntUGE, index, size, ""), index, size);
    LLVMValueRef step = size_code(b, type_count(u->module, type_drop(x->type, i + 1)));
    if (!varies) {
      uniform = LLVMBuildNSWAdd(b->at, uniform, LLVMBuildNSWMul(b->at, index, step, ""), "");
      continue;
    }
    LLVMValueRef part = LLVMBuildNSWMul(b->at, index, vector_spread(b, step, lanes(b)), "");
    varying = varying ? LLVMBuildNSWAdd(b->at, varying, part, "") : part;
  }
  return LLVMBuildNSWAdd(b->at, vector_spread(b, uniform, lanes(b)), varying, "");
}

/* Loads from an address for each lane; those that are not live are not touched. */
static LLVMValueRef gather(Body *b, Kind k, LLVMValueRef base, LLVMValueRef offsets) {
  Unit *u = b->unit;
  const int n = lanes(b);
  if (b->vector->mask) {
    LLVMTypeRef types[] = {vector_in_memory(b, k), LLVMVectorType(u->ptr, (unsigned)n)};
    LLVMValueRef at = LLVMBuildGEP2(b->at, memory_type(u, k), base, &offsets, 1, "");
    LLVMValueRef args[] = {at, LLVMConstInt(u->i32, (unsigned)kind_bytes(k), false), b->vector->mask,
                           LLVMConstNull(types[0])};
    return from_memory(b, k, call_intrinsic(b, "llvm.masked.gather", 2, types, 4, args));
  }
  LLVMValueRef x = LLVMGetPoison(vector_type(b, k));
  for (int i = 0; i < n; i++)
    x = LLVMBuildInsertElement(b->at, x, load_element(b, k, element_address(b, k, base, lane_of(b, offsets, i)), NULL),
                               lane_number(b, i), "");
  return x;
}

/* The same where all lanes are live and one index alone varies: each lane's address by scalars, which what is read of
   the same rows shares. */
static LLVMValueRef gather_rows(Body *b, const Value *x, int n, Value *const *idx, uint64_t checks) {
  Unit *u = b->unit;
  const Kind k = x->type.kind;
  LLVMValueRef uniform = const_i64(u, 0), varying = NULL, step = NULL, loaded = LLVMGetPoison(vector_type(b, k));
  for (int i = 0; i < n; i++) {
    LLVMValueRef index = value_code(b, idx[i]), each = size_code(b, type_count(u->module, type_drop(x->type, i + 1)));
    const bool varies = vector_is_varying(idx[i]);
    if ((checks >> i & 1) && !u->module->unchecked) {
      LLVMValueRef size = size_code(b, x->type.dims[i]);
      if (varies)
        check_lanes(b, index, size);
      else
        fail_index_if(b, LLVMBuildICmp(b->at, LLVMIntUGE, index, size, ""), index, size);
    }
    if (varies) {
      varying = index;
      step = each;
    } else {
      uniform = LLVMBuildNSWAdd(b->at, uniform, LLVMBuildNSWMul(b->at, index, each, ""), "");
    }
  }
  LLVMValueRef base = value_code(b, x);
  for (int i = 0; i < lanes(b); i++) {
    LLVMValueRef row = element_address(b, k, base, LLVMBuildNSWMul(b->at, lane_of(b, varying, i), step, ""));
    LLVMValueRef element = load_element(b, k, element_address(b, k, row, uniform), NULL);
    loaded = LLVMBuildInsertElement(b->at, loaded, element, lane_number(b, i), "");
  }
  return loaded;
}

/* x[.., i] with the lanes side by side: the address of lane 0's. */
static bool beside(const Value *x, int n, Value *const *idx) {
  if (n != x->type.rank || n == 0 || note_of(idx[n - 1])->step != 1 || !vector_is_varying(idx[n - 1]))
    return false;
  for (int i = 0; i + 1 < n; i++)
    if (vector_is_varying(idx[i]))
      return false;
  return true;
}

static LLVMValueRef address_beside(Body *b, const Value *x, int n, Value *const *idx, uint64_t checks) {
  LLVMValueRef last = value_code(b, idx[n - 1]);
  LLVMValueRef offset = lanes_offset(b, x, n - 1, idx, checks & ~(1ull << (n - 1)));
  if ((checks >> (n - 1) & 1) && !b->unit->module->unchecked)
    check_lanes(b, last, size_code(b, x->type.dims[n - 1]));
  return element_address(b, x->type.kind, value_code(b, x), LLVMBuildNSWAdd(b->at, offset, lane_of(b, last, 0), ""));
}

static int count_varying(int n, Value *const *v) {
  int count = 0;
  for (int i = 0; i < n; i++)
    count += vector_is_varying(v[i]);
  return count;
}

/* ---- what is loaded early */
void vector_load_early(Body *b, LLVMValueRef first) {
  VectorLoop *v = b->vector;
  v->early_code = NEW_ARRAY(b->unit->arena, LLVMValueRef, v->early.n + 1);
  for (int i = 0; i < v->early.n; i++) {
    const Op *op = v->early.at[i];
    const Value *x = op->operands[0];
    const Kind k = x->type.kind;
    LLVMValueRef row = lanes_offset(b, x, op->noperands - 2, op->operands + 1, 0);
    LLVMValueRef at = element_address(b, k, value_code(b, x), LLVMBuildNSWAdd(b->at, row, first, ""));
    v->early_code[i] = load_vector(b, k, at, (unsigned)kind_bytes(k));
  }
}

static LLVMValueRef loaded_early(const VectorLoop *v, const Op *op) {
  for (int i = 0; v->is_last && i < v->early.n; i++)
    if (v->early.at[i] == op)
      return v->early_code[i];
  return NULL;
}

/* ---- index */
void vector_index(Body *b, const Op *op) {
  const Value *x = op->operands[0], *result = op->results[0];
  const int n = op->noperands - 1;
  Value *const *idx = op->operands + 1;
  const Kind k = result->type.kind;
  const Lanes of = lanes_of(b, x);
  if (result->type.rank) { /* a view */
    LLVMValueRef offset;
    if (of.layout == LAYOUT_LANES)
      offset = in_lanes(b, lanes_offset(b, x, n, idx, op->at.checks));
    else if (of.layout == LAYOUT_STRIDED)
      offset = lanes_offset(b, x, n, idx, op->at.checks);
    else
      offset = lane_of(b, offsets_of(b, x, n, idx, op->at.checks), 0);
    set_value(result, element_address(b, k, of.base, offset));
    return;
  }
  if (!count_varying(n, idx)) {
    set_value(result, lanes_load(b, k, of, lanes_offset(b, x, n, idx, op->at.checks)));
    return;
  }
  if (of.layout == LAYOUT_UNIFORM && beside(x, n, idx) && !b->vector->mask) {
    LLVMValueRef now = load_vector(b, k, address_beside(b, x, n, idx, op->at.checks), (unsigned)kind_bytes(k));
    LLVMValueRef before = loaded_early(b->vector, op);
    set_value(result, before ? LLVMBuildSelect(b->at, b->vector->is_last, before, now, "") : now);
    return;
  }
  if (of.layout == LAYOUT_UNIFORM && !b->vector->mask && count_varying(n, idx) == 1) {
    set_value(result, gather_rows(b, x, n, idx, op->at.checks));
    return;
  }
  LLVMValueRef offsets = offsets_of(b, x, n, idx, op->at.checks);
  if (of.layout != LAYOUT_UNIFORM) { /* each lane in its own tensor */
    LLVMValueRef own[64], stride = of.layout == LAYOUT_STRIDED ? of.stride : const_i64(b->unit, 1);
    for (int i = 0; i < lanes(b); i++)
      own[i] = const_i64(b->unit, i);
    LLVMValueRef number = LLVMConstVector(own, (unsigned)lanes(b));
    if (of.layout == LAYOUT_LANES)
      offsets = LLVMBuildNSWMul(b->at, offsets, vector_spread(b, const_i64(b->unit, lanes(b)), lanes(b)), "");
    offsets =
        LLVMBuildNSWAdd(b->at, offsets, LLVMBuildNSWMul(b->at, number, vector_spread(b, stride, lanes(b)), ""), "");
  }
  set_value(result, gather(b, k, of.base, offsets));
}

/* ---- accumulators */
/* Lanes that add something: live, and not done before; NULL: all. */
static LLVMValueRef adding_lanes(Body *b) {
  LLVMValueRef mask = b->vector->mask, fresh = b->vector->fresh;
  return mask && fresh ? LLVMBuildAnd(b->at, mask, fresh, "") : mask ? mask : fresh;
}

static LLVMValueRef live_part(Body *b, Kind k, LLVMValueRef x, bool of_a_lane) {
  /* A lane that was done before adds nothing to what all lanes share, but its own accumulators are wanted again. */
  LLVMValueRef adding = of_a_lane ? b->vector->mask : adding_lanes(b);
  return adding ? LLVMBuildSelect(b->at, adding, x, LLVMConstNull(vector_type(b, k)), "") : x;
}

LLVMValueRef vector_part_of(Body *b, LLVMValueRef x, int first, int n) {
  LLVMValueRef chosen[64];
  for (int i = 0; i < n; i++)
    chosen[i] = lane_number(b, first + i);
  return LLVMBuildShuffleVector(b->at, x, LLVMGetPoison(LLVMTypeOf(x)), LLVMConstVector(chosen, (unsigned)n), "");
}

LLVMValueRef vector_sum(Body *b, Kind k, LLVMValueRef x) {
  LLVMTypeRef type = LLVMTypeOf(x);
  if (!kind_is_float(k))
    return call_intrinsic(b, "llvm.vector.reduce.add", 1, &type, 1, &x);
  /* Halves, then halves of those: the order is the same whatever the target. */
  for (int n = (int)LLVMGetVectorSize(type) / 2; n; n /= 2) {
    LLVMValueRef low = vector_part_of(b, x, 0, n), high = vector_part_of(b, x, n, n);
    x = LLVMBuildFAdd(b->at, low, high, "");
  }
  return lane_of(b, x, 0);
}

static void add_to(Body *b, Kind k, Lanes to, LLVMValueRef offset, LLVMValueRef x) {
  b->unit->lanes = lanes(b);
  LLVMValueRef sum = arithmetic(b, OP_ADD, k, lanes_load(b, k, to, offset), x, b->unit->fast_reduce);
  b->unit->lanes = 0;
  lanes_store(b, k, sum, to, offset);
}

/* One lane after the other, as two may add to one element. */
static void add_in_order(Body *b, Kind k, LLVMValueRef base, LLVMValueRef offsets, LLVMValueRef x, bool of_a_lane) {
  LLVMValueRef adding = of_a_lane ? b->vector->mask : adding_lanes(b);
  for (int i = 0; i < lanes(b); i++) {
    LLVMBasicBlockRef live = NULL, after = NULL;
    if (adding) {
      live = new_block(b, "live");
      after = new_block(b, "");
      LLVMBuildCondBr(b->at, lane_of(b, adding, i), live, after);
      begin_block(b, live);
    }
    LLVMValueRef at = element_address(b, k, base, lane_of(b, offsets, i));
    LLVMValueRef sum = arithmetic(b, OP_ADD, k, load_element(b, k, at, NULL), lane_of(b, x, i), b->unit->fast_reduce);
    store_element(b, k, sum, at, NULL);
    if (live) {
      LLVMBuildBr(b->at, after);
      begin_block(b, after);
    }
  }
}

/* Made in the loop's body: each lane has its own. */
static bool is_of_a_lane(Body *b, const Value *handle) {
  const Region *body = b->vector->loop->regions[0];
  return handle->region != body && !value_is_outside(handle, body);
}

void vector_add_sum(Body *b, const Value *handle, LLVMValueRef offset, LLVMValueRef x) {
  const Kind k = handle->type.kind;
  LLVMValueRef at = element_address(b, k, value_code(b, handle), offset);
  LLVMValueRef sum = arithmetic(b, OP_ADD, k, load_element(b, k, at, NULL), vector_sum(b, k, x), b->unit->fast_reduce);
  store_element(b, k, sum, at, NULL);
}

/* Uniform indices: the lanes of a tensor's own accumulator, a panel, or one element for all. */
static void add_uniform(Body *b, const Op *op, Lanes to, LLVMValueRef offset, LLVMValueRef x) {
  const Kind k = op->operands[1]->type.kind;
  const Panel *panel = vector_panel(b->vector, op->operands[0]);
  x = live_part(b, k, x, is_of_a_lane(b, op->operands[0]));
  if (panel && !b->vector->no_panels)
    panel_acc_add(b, panel, offset, x);
  else if (to.layout != LAYOUT_UNIFORM)
    add_to(b, k, to, offset, x);
  else
    vector_add_sum(b, op->operands[0], offset, x);
}

static Lanes accumulator_lanes(Body *b, const Value *handle) {
  if (handle->region == b->vector->loop->regions[0])
    return (Lanes){.layout = LAYOUT_UNIFORM, .base = value_code(b, handle)};
  return lanes_of(b, handle);
}

void vector_acc_add(Body *b, const Op *op) {
  const Value *handle = op->operands[0], *v = op->operands[1];
  const int n = op->noperands - 2;
  Value *const *idx = op->operands + 2;
  const Kind k = v->type.kind;
  const Lanes to = accumulator_lanes(b, handle);
  if (count_varying(n, idx)) {
    LLVMValueRef x = vector_value(b, v), base = value_code(b, handle);
    const bool one = !is_of_a_lane(b, handle); /* one tensor for all lanes */
    if (one && beside(handle, n, idx) && !b->vector->mask) {
      LLVMValueRef at = address_beside(b, handle, n, idx, op->at.checks);
      LLVMValueRef sum = arithmetic(b, OP_ADD, k, load_vector(b, k, at, (unsigned)kind_bytes(k)),
                                    live_part(b, k, x, false), b->unit->fast_reduce);
      store_vector(b, k, sum, at, (unsigned)kind_bytes(k));
      return;
    }
    LLVMValueRef offsets = offsets_of(b, handle, n, idx, op->at.checks);
    if (!one) {
      LLVMValueRef own[64];
      for (int i = 0; i < lanes(b); i++)
        own[i] = const_i64(b->unit, i);
      LLVMValueRef number = LLVMConstVector(own, (unsigned)lanes(b));
      LLVMValueRef spread = to.layout == LAYOUT_STRIDED ? to.stride : const_i64(b->unit, 1);
      if (to.layout == LAYOUT_LANES)
        offsets = LLVMBuildNSWMul(b->at, offsets, vector_spread(b, const_i64(b->unit, lanes(b)), lanes(b)), "");
      offsets =
          LLVMBuildNSWAdd(b->at, offsets, LLVMBuildNSWMul(b->at, number, vector_spread(b, spread, lanes(b)), ""), "");
    }
    add_in_order(b, k, base, offsets, x, !one);
    return;
  }
  LLVMValueRef offset = lanes_offset(b, handle, n, idx, op->at.checks);
  if (!v->type.rank) {
    add_uniform(b, op, to, offset, vector_value(b, v));
    return;
  }
  const Storage *s = note_of(v)->storage;
  const bool fill = s && s->kind == STORAGE_FILL;
  const Lanes from = fill ? (Lanes){0} : lanes_of(b, v);
  CountedLoop l;
  counted_begin(b, &l, count_code(b, v->type), "add");
  add_uniform(b, op, to, LLVMBuildNSWAdd(b->at, offset, l.index, ""),
              fill ? vector_value(b, v->def->operands[0]) : lanes_load(b, k, from, l.index));
  counted_end(b, &l);
}
