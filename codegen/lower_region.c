/* Code for the operations of a region, one after the other; loops stand in lower_loop.c. */
#include "codegen/body.h"

/* ---- memory that is pushed where a region runs, and popped at its end */
static bool pushed_in(const Place *p, const Region *r) {
  return p->kind == PLACE_WORK && p->room == ROOM_DYNAMIC && p->home == r;
}

static LLVMValueRef region_mark(Body *b, const Region *r) {
  Unit *u = b->unit;
  for (int i = 0; i < b->storage->places.n; i++)
    if (pushed_in(b->storage->places.at[i], r))
      return call_declared(b, declared(u, "gradc_rt_mark", u->ptr, 1, &u->ptr), 1, &b->context);
  return NULL;
}

void region_pop(Body *b, LLVMValueRef mark) {
  Unit *u = b->unit;
  LLVMTypeRef params[] = {u->ptr, u->ptr};
  LLVMValueRef args[] = {b->context, mark};
  if (mark)
    call_declared(b, declared(u, "gradc_rt_pop", u->nothing, 2, params), 2, args);
}

/* Pushes what first holds something between two points. */
static void push_places(Body *b, const Region *r, int from, int to) {
  for (int i = 0; i < b->storage->places.n; i++) {
    Place *p = b->storage->places.at[i];
    if (pushed_in(p, r) && p->from >= from && p->from <= to)
      work_push(b, p);
  }
}

/* ---- operations */
static void lower_index(Body *b, const Op *op) {
  Value *result = op->results[0];
  LLVMValueRef address = part_address(b, op->operands[0], op->noperands - 1, op->operands + 1, op->at.checks);
  set_value(result, result->type.rank ? address : load_element(b, result->type.kind, address, op->operands[0]));
}

static void lower_update(Body *b, const Op *op) {
  Value *v = op->operands[1];
  if (!lower_literal(b, op))
    take_edges(b, 1, op_note(op)->edges);
  set_value(op->results[0], address_of(b, place_of(note_of(op->results[0])->storage)));
  if (op_note(op)->in_data)
    return;
  LLVMValueRef to = part_address(b, op->results[0], op->noperands - 2, op->operands + 2, op->at.checks);
  if (v->type.rank && is_full(v))
    fill_tensor(b, v->type, to, v);
  else if (v->type.rank)
    copy_tensor(b, v->type, to, value_code(b, v));
  else
    store_element(b, v->type.kind, value_code(b, v), to, op->results[0]);
}

static void lower_acc_add(Body *b, const Op *op) {
  const Value *acc = op->operands[0], *v = op->operands[1];
  const Kind k = v->type.kind;
  LLVMValueRef to = part_address(b, acc, op->noperands - 2, op->operands + 2, op->at.checks);
  if (v->type.rank) {
    add_tensor(b, v, to, acc);
    return;
  }
  const Value *of = acc->type.rank ? acc : NULL;
  const LLVMFastMathFlags signless = bare_flags(b, acc); /* 0 + x is x */
  LLVMValueRef sum =
      arithmetic(b, OP_ADD, k, load_element(b, k, to, of), value_code(b, v), b->unit->fast_reduce | signless);
  store_element(b, k, sum, to, of);
}

static void lower_full(Body *b, const Op *op) {
  const Value *result = op->results[0];
  check_type(b, result->type);
  if (note_of(result)->storage->kind != STORAGE_OWN)
    return; /* written where it is wanted */
  LLVMValueRef to = address_of(b, place_of(note_of(result)->storage));
  fill_tensor(b, result->type, to, result);
  set_value(result, to);
}

static void lower_extern_call(Body *b, const Op *op) {
  Unit *u = b->unit;
  const Func *callee = op->at.callee;
  const int n = op->noperands;
  LLVMTypeRef *types = NEW_ARRAY(u->arena, LLVMTypeRef, n);
  LLVMValueRef *args = NEW_ARRAY(u->arena, LLVMValueRef, n);
  for (int i = 0; i < n; i++) {
    const Kind k = op->operands[i]->type.kind;
    types[i] = memory_type(u, k);
    args[i] = value_code(b, op->operands[i]);
    if (k == KIND_BOOL)
      args[i] = LLVMBuildZExt(b->at, args[i], u->i8, "");
  }
  const Kind k = op->results[0]->type.kind;
  LLVMValueRef f = foreign_function(u, callee->name, memory_type(u, k), n, types);
  LLVMValueRef code = call_foreign(b, f, LLVMFunctionType(memory_type(u, k), types, (unsigned)n, false), n, args);
  if (k == KIND_BOOL)
    code = LLVMBuildICmp(b->at, LLVMIntNE, code, LLVMConstInt(u->i8, 0, false), "");
  set_value(op->results[0], code);
}

static LLVMValueRef wanted_test(Body *b, uint64_t wants);

/* The results of a call that are for something wanted. */
static LLVMValueRef wanted_of_callee(Body *b, const Op *op) {
  Unit *u = b->unit;
  LLVMValueRef set = const_i64(u, 0);
  uint64_t always = 0;
  for (int i = 0; i < op->nresults; i++) {
    const uint64_t wants = note_of(op->results[i])->wants;
    if (!b->wanted || wants == op_note(op)->wants) {
      always |= wanted_bit(i);
      continue;
    }
    LLVMValueRef bit =
        LLVMBuildSelect(b->at, wanted_test(b, wants), const_i64(u, (int64_t)wanted_bit(i)), const_i64(u, 0), "");
    set = LLVMBuildOr(b->at, set, bit, "");
  }
  return LLVMBuildOr(b->at, set, const_i64(u, (int64_t)always), "");
}

static void lower_call(Body *b, const Op *op) {
  Unit *u = b->unit;
  const Func *callee = op->at.callee;
  if (func_is_kernel(callee)) {
    lower_kernel_call(b, op);
    return;
  }
  if (callee->is_extern) {
    lower_extern_call(b, op);
    return;
  }
  if (op_note(op)->blocks) {
    lower_part_call(b, op, wanted_of_callee(b, op));
    return;
  }
  LLVMValueRef *args = NEW_ARRAY(u->arena, LLVMValueRef, FIRST_PARAM + op->noperands + op->nresults);
  int n = 0;
  args[n++] = needs_context(func_note(callee)->plan) ? b->context : LLVMConstNull(u->ptr);
  args[n++] = op_note(op)->area ? address_of(b, op_note(op)->area) : LLVMConstNull(u->ptr);
  args[n++] = wanted_of_callee(b, op);
  for (int i = 0; i < op->noperands; i++)
    args[n++] = value_code(b, op->operands[i]);
  const int first_result = n;
  for (int i = 0; i < op->nresults; i++) {
    const Type t = op->results[i]->type;
    if (t.rank)
      check_type(b, t);
    args[n++] = t.rank ? address_of(b, place_of(note_of(op->results[i])->storage))
                       : entry_alloca(b, memory_type(u, t.kind), 1, (unsigned)kind_bytes(t.kind), "");
  }
  fail_status(b, LLVMBuildCall2(b->at, func_note(callee)->type, func_note(callee)->code, args, (unsigned)n, ""));
  for (int i = 0; i < op->nresults; i++) {
    const Type t = op->results[i]->type;
    LLVMValueRef at = args[first_result + i];
    set_value(op->results[i], t.rank ? at : load_element(b, t.kind, at, NULL));
  }
}

static void lower_if(Body *b, const Op *op) {
  LLVMBasicBlockRef branches[2] = {new_block(b, "then"), new_block(b, "else")}, after = new_block(b, "");
  LLVMBasicBlockRef ends[2];
  LLVMValueRef *codes[2];
  LLVMBuildCondBr(b->at, value_code(b, op->operands[0]), branches[0], branches[1]);
  for (int k = 0; k < 2; k++) {
    const Region *r = op->regions[k];
    begin_block(b, branches[k]);
    LLVMValueRef mark = lower_region(b, r);
    take_edges(b, r->nyields, op_note(op)->regions[k].edges);
    codes[k] = NEW_ARRAY(b->unit->arena, LLVMValueRef, r->nyields);
    for (int i = 0; i < r->nyields; i++)
      if (!r->yields[i]->type.rank)
        codes[k][i] = value_code(b, r->yields[i]);
    region_pop(b, mark);
    ends[k] = current_block(b);
    LLVMBuildBr(b->at, after);
  }
  begin_block(b, after);
  for (int i = 0; i < op->nresults; i++) {
    const Type t = op->results[i]->type;
    if (t.rank) {
      set_value(op->results[i], address_of(b, place_of(note_of(op->results[i])->storage)));
      continue;
    }
    LLVMValueRef phi = LLVMBuildPhi(b->at, type_of_kind(b->unit, t.kind), ""), both[] = {codes[0][i], codes[1][i]};
    LLVMAddIncoming(phi, both, ends, 2);
    set_value(op->results[i], phi);
  }
}

static void lower_scalar(Body *b, const Op *op) {
  LLVMValueRef x[3];
  for (int i = 0; i < op->noperands; i++)
    x[i] = value_code(b, op->operands[i]);
  set_value(op->results[0], scalar_code(b, op, x));
}

void lower_op(Body *b, const Op *op) {
  if (b->vector && vector_op(b, op))
    return;
  switch (op->code) {
  case OP_CONST: set_value(op->results[0], constant_code(b, op)); break;
  case OP_EQ:
    if (note_of(op->results[0])->never)
      set_value(op->results[0], LLVMConstInt(b->unit->i1, 0, false));
    else
      lower_scalar(b, op);
    break;
  case OP_SIZE: set_value(op->results[0], size_code_checked(b, op->at.size)); break;
  case OP_FULL: lower_full(b, op); break;
  case OP_INDEX: lower_index(b, op); break;
  case OP_UPDATE: lower_update(b, op); break;
  case OP_ACC_ADD: lower_acc_add(b, op); break;
  case OP_RESHAPE: set_value(op->results[0], value_code(b, op->operands[0])); break;
  case OP_LOOP: lower_loop(b, op); break;
  case OP_WHILE: lower_while(b, op); break;
  case OP_IF: lower_if(b, op); break;
  case OP_CALL: lower_call(b, op); break;
  case OP_REQUIRE: fail_require_if(b, LLVMBuildNot(b->at, value_code(b, op->operands[0]), ""), op->at.text); break;
  default: lower_scalar(b, op); break;
  }
}

/* ---- work that only some results need
   A run of operations that are for the same results, and not for all that the region is for, is jumped over where none
   of those is wanted, if there is work or a check in it, or if it needs what was jumped over before.  Values of it are
   then undefined, but tensors have their place all the same, so that a copy of one is harmless. */
static bool worth_guarding(const Op *op);

/* A branch of a few operations costs no more than the question whether it is wanted, which keeps a loop around from
   running in vectors. */
static bool is_light(const Op *branch) {
  enum { LIGHT = 12 };
  int n = 0;
  for (int w = 0; w < 2; w++)
    for (const Op *op = branch->regions[w]->first; op; op = op->next)
      if (++n > LIGHT || worth_guarding(op) || !(op_is_quick(op) || op->code == OP_ACC_ADD))
        return false;
  return true;
}

static bool worth_guarding(const Op *op) {
  if (op->code == OP_IF && is_light(op))
    return false;
  if (op->nregions || op->code == OP_CALL || op->code == OP_FULL || op->code == OP_UPDATE)
    return true;
  if (op_info[op->code].effect == EFFECT_CHECK && (op->code != OP_INDEX || op->at.checks))
    return true;
  for (int i = 0; i < op->noperands; i++)
    if (note_of(op->operands[i])->guarded)
      return true;
  return op->code == OP_ACC_ADD && op->operands[1]->type.rank;
}

/* The last operation of the run that begins with op, or NULL where it is not to be guarded. */
static const Op *guarded_run(const Body *b, const Op *op, uint64_t region_wants) {
  const uint64_t wants = op_note(op)->wants;
  if (!b->wanted || wants == region_wants)
    return NULL;
  const Op *last = op;
  bool worth = worth_guarding(op);
  while (last->next && op_note(last->next)->wants == wants) {
    last = last->next;
    worth = worth || worth_guarding(last);
  }
  return worth ? last : NULL;
}

static LLVMValueRef wanted_test(Body *b, uint64_t wants) {
  LLVMValueRef set = LLVMBuildAnd(b->at, b->wanted, const_i64(b->unit, (int64_t)wants), "");
  return LLVMBuildICmp(b->at, LLVMIntNE, set, const_i64(b->unit, 0), "");
}

/* What a value is where it has not been made. */
static LLVMValueRef unmade(Body *b, const Value *v) {
  const Storage *s = note_of(v)->storage;
  if (s && s->kind == STORAGE_VIEW)
    return address_of(b, place_of(s->owners.at[0]));
  return LLVMGetUndef(LLVMTypeOf(value_code(b, v)));
}

/* After the run: values made in it get codes that hold whether it was jumped over or not. */
static void merge_values(Body *b, const Op *first, const Op *last, LLVMBasicBlockRef skipped, LLVMBasicBlockRef made) {
  for (const Op *op = first;; op = op->next) {
    for (int i = 0; i < op->nresults; i++) {
      const Value *v = op->results[i];
      const Storage *s = note_of(v)->storage;
      note_of(v)->guarded = true;
      if (s && s->kind != STORAGE_VIEW)
        continue; /* its address was there before */
      LLVMValueRef codes[] = {unmade(b, v), value_code(b, v)}, phi = LLVMBuildPhi(b->at, LLVMTypeOf(codes[0]), "");
      LLVMBasicBlockRef blocks[] = {skipped, made};
      LLVMAddIncoming(phi, codes, blocks, 2);
      set_value(v, phi);
    }
    if (op == last)
      return;
  }
}

static void lower_ops(Body *b, const Region *r, const Op *first, const Op *last, bool pushes) {
  for (const Op *op = first;; op = op->next) {
    if (op->loc.src)
      set_location(b, op->loc);
    if (pushes)
      push_places(b, r, op_note(op)->begin, op_note(op)->end);
    if (!group_op(b, op))
      lower_op(b, op);
    if (op == last)
      return;
  }
}

void lower_ops_until(Body *b, const Op *first, const Op *end) {
  for (const Op *op = first; op != end; op = op->next) {
    if (op->loc.src)
      set_location(b, op->loc);
    lower_op(b, op);
  }
}

static void lower_guarded(Body *b, const Region *r, const Op *first, const Op *last, bool pushes) {
  if (pushes)
    push_places(b, r, op_note(first)->begin, op_note(last)->end);
  LLVMBasicBlockRef before = current_block(b), inside = new_block(b, "wanted"), after = new_block(b, "");
  LLVMBuildCondBr(b->at, wanted_test(b, op_note(first)->wants), inside, after);
  begin_block(b, inside);
  lower_ops(b, r, first, last, false);
  LLVMBasicBlockRef end = current_block(b);
  LLVMBuildBr(b->at, after);
  begin_block(b, after);
  merge_values(b, first, last, before, end);
}

LLVMValueRef lower_region(Body *b, const Region *r) {
  LLVMValueRef mark = region_mark(b, r);
  const Range around = b->loc;
  const uint64_t wants = r->owner ? op_note(r->owner)->wants : b->storage->all_wanted;
  const bool groups = groups_begin(b, r);
  for (const Op *op = r->first; op; op = op->next) {
    const Op *last = guarded_run(b, op, wants);
    if (last)
      lower_guarded(b, r, op, last, mark != NULL);
    else
      lower_ops(b, r, op, op, mark != NULL);
    op = last ? last : op;
  }
  if (groups)
    groups_end(r);
  set_location(b, around);
  if (mark) {
    const int end = region_note(b->storage, r)->end;
    push_places(b, r, end, end);
  }
  return mark;
}
