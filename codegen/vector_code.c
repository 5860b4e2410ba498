/* Operations of a loop that runs in vectors: scalars, branches, requirements; see codegen/vector.h. */
#include "codegen/body.h"
#include "codegen/inline_math.h"
#include "ir/build.h"
#include <math.h>

static int lanes(const Body *b) {
  return b->vector->lanes;
}

/* ---- scalars */

/* What scalar_code() does with instructions and intrinsics alone, and so on vectors as well. */
static bool is_plain(const Op *op) {
  const bool is_float = kind_is_float(op->operands[0]->type.kind);
  switch (op->code) {
  case OP_NEG:
  case OP_ABS:
  case OP_NOT:
  case OP_ISNAN:
  case OP_ISFINITE:
  case OP_CAST:
  case OP_ADD:
  case OP_SUB:
  case OP_MUL:
  case OP_MIN:
  case OP_MAX:
  case OP_LT:
  case OP_LE:
  case OP_EQ:
  case OP_NE:
  case OP_AND:
  case OP_OR:
  case OP_MULZ:
  case OP_DIVZ:
  case OP_ATTACH:
  case OP_SELECT:
  case OP_SIGN: return true;
  case OP_SQRT:
  case OP_FLOOR:
  case OP_CEIL:
  case OP_ROUND:
  case OP_TRUNC: return true;
  case OP_POWI: return op->at.i >= -1 && op->at.i <= 5; /* a few products */
  case OP_DIV: return is_float;
  default: return false;
  }
}

/* Lane by lane; those that are not live are given the operands of one that is harmless: themselves, as scalar
   operations on floats have no effects, and 1 for what an integer division divides by. */
static LLVMValueRef lane_by_lane(Body *b, const Op *op, LLVMValueRef *x) {
  Unit *u = b->unit;
  const Kind k = op->results[0]->type.kind;
  LLVMTypeRef type = LLVMVectorType(type_of_kind(u, k), (unsigned)lanes(b));
  LLVMValueRef result = LLVMGetPoison(type), mask = b->vector->mask;
  if (mask && op->noperands == 2 && kind_is_int(op->operands[1]->type.kind)) {
    LLVMTypeRef kind = type_of_kind(u, op->operands[1]->type.kind);
    x[1] = LLVMBuildSelect(b->at, mask, x[1], vector_spread(b, LLVMConstInt(kind, 1, false), lanes(b)), "");
  }
  for (int i = 0; i < lanes(b); i++) {
    LLVMValueRef lane[3], number = LLVMConstInt(u->i32, (unsigned)i, false);
    for (int j = 0; j < op->noperands; j++)
      lane[j] = LLVMBuildExtractElement(b->at, x[j], number, "");
    result = LLVMBuildInsertElement(b->at, result, scalar_code(b, op, lane), number, "");
  }
  return result;
}

/* Lanes that follow each other, by one number for all: one division does for lane 0, and the others wrap at most once
   where the divisor is not less than the lanes are. */
static bool divides_steps(const Op *op) {
  return (op->code == OP_REM || op->code == OP_MOD || op->code == OP_DIV) && op->results[0]->type.kind == KIND_I64 &&
         vector_is_varying(op->operands[0]) && note_of(op->operands[0])->step == 1 &&
         !vector_is_varying(op->operands[1]);
}

static LLVMValueRef divided_steps(Body *b, const Op *op, LLVMValueRef *x) {
  Unit *u = b->unit;
  LLVMValueRef first = LLVMBuildExtractElement(b->at, x[0], LLVMConstInt(u->i32, 0, false), ""),
               by = value_code(b, op->operands[1]);
  LLVMValueRef fits = LLVMBuildAnd(b->at, LLVMBuildICmp(b->at, LLVMIntSGE, first, const_i64(u, 0), ""),
                                   LLVMBuildICmp(b->at, LLVMIntSGE, by, const_i64(u, lanes(b)), ""), "");
  LLVMBasicBlockRef once = new_block(b, "once"), each = new_block(b, "each"), after = new_block(b, ""), from[2];
  LLVMValueRef made[2];
  LLVMBuildCondBr(b->at, fits, once, each);
  begin_block(b, once);
  LLVMValueRef rest = vector_indices(b, LLVMBuildURem(b->at, first, by, ""));
  LLVMValueRef wraps = LLVMBuildICmp(b->at, LLVMIntSGE, rest, x[1], "");
  if (op->code == OP_DIV) {
    LLVMValueRef whole = vector_spread(b, LLVMBuildUDiv(b->at, first, by, ""), lanes(b));
    made[0] = LLVMBuildNSWAdd(b->at, whole, LLVMBuildZExt(b->at, wraps, LLVMTypeOf(whole), ""), "");
  } else {
    made[0] = LLVMBuildSelect(b->at, wraps, LLVMBuildNSWSub(b->at, rest, x[1], ""), rest, "");
  }
  from[0] = current_block(b);
  LLVMBuildBr(b->at, after);
  begin_block(b, each);
  made[1] = lane_by_lane(b, op, x);
  from[1] = current_block(b);
  LLVMBuildBr(b->at, after);
  begin_block(b, after);
  LLVMValueRef phi = LLVMBuildPhi(b->at, LLVMTypeOf(made[0]), "");
  LLVMAddIncoming(phi, made, from, 2);
  return phi;
}

/* sigmoid(-x) close behind sigmoid(x): they share the exponential function, and the quotient; NULL: it is not there. */
static const Op *mirrored(const Body *b, const Op *op) {
  enum { CLOSE = 8 };
  const Op *owner = op->parent->owner;
  const uint64_t wants = op_note(op)->wants, around = owner ? op_note(owner)->wants : b->storage->all_wanted;
  const bool always = !b->wanted || wants == around; /* it is not jumped over where it is not wanted */
  const Value *minus = NULL;
  int n = 0;
  for (const Op *next = op->next; next && n < CLOSE; next = next->next, n++) {
    if (next->code == OP_NEG && next->operands[0] == op->operands[0])
      minus = next->results[0];
    else if (next->code == OP_SIGMOID && next->operands[0] == minus && (always || op_note(next)->wants == wants))
      return next;
  }
  return NULL;
}

static void both_sigmoids(Body *b, const Op *op, const Op *of_minus, LLVMValueRef x) {
  LLVMValueRef f = inline_sigmoids(b->unit, op->results[0]->type.kind, lanes(b));
  LLVMValueRef both = LLVMBuildCall2(b->at, LLVMGlobalGetValueType(f), f, &x, 1, "");
  set_value(op->results[0], LLVMBuildExtractValue(b->at, both, 0, ""));
  set_value(of_minus->results[0], LLVMBuildExtractValue(b->at, both, 1, ""));
  op_note(of_minus)->is_ahead = true;
}

static void vector_scalar(Body *b, const Op *op) {
  OpNote *note = op_note(op);
  if (note->is_ahead) {
    note->is_ahead = false;
    return;
  }
  LLVMValueRef x[3] = {NULL};
  for (int i = 0; i < op->noperands; i++)
    x[i] = vector_value(b, op->operands[i]);
  if (divides_steps(op)) {
    set_value(op->results[0], divided_steps(b, op, x));
    return;
  }
  const Op *of_minus = op->code == OP_SIGMOID ? mirrored(b, op) : NULL;
  if (of_minus) {
    both_sigmoids(b, op, of_minus, x[0]);
    return;
  }
  if (is_plain(op) || op->code == OP_POWI || has_inline_math(op->code)) {
    b->unit->lanes = lanes(b);
    set_value(op->results[0], scalar_code(b, op, x));
    b->unit->lanes = 0;
  } else {
    set_value(op->results[0], lane_by_lane(b, op, x));
  }
}

/* ---- branches */
static LLVMValueRef any_lane(Body *b, LLVMValueRef mask) {
  LLVMTypeRef type = LLVMTypeOf(mask);
  return call_intrinsic(b, "llvm.vector.reduce.or", 1, &type, 1, &mask);
}

/* One side under its mask; what it yields, undefined where no lane was live. */
static void masked_side(Body *b, const Op *op, int which, LLVMValueRef side, LLVMValueRef *codes) {
  const Region *r = op->regions[which];
  LLVMValueRef around = b->vector->mask;
  LLVMValueRef mask = around ? LLVMBuildAnd(b->at, around, side, "") : side;
  LLVMBasicBlockRef before = current_block(b), inside = new_block(b, which ? "else" : "then"), after = new_block(b, "");
  LLVMBuildCondBr(b->at, any_lane(b, mask), inside, after);
  before = current_block(b);
  begin_block(b, inside);
  b->vector->mask = mask;
  LLVMValueRef mark = lower_region(b, r);
  for (int i = 0; i < r->nyields; i++)
    codes[i] = vector_value(b, r->yields[i]);
  region_pop(b, mark);
  b->vector->mask = around;
  LLVMBasicBlockRef end = current_block(b);
  LLVMBuildBr(b->at, after);
  begin_block(b, after);
  for (int i = 0; i < r->nyields; i++) {
    LLVMValueRef phi = LLVMBuildPhi(b->at, LLVMTypeOf(codes[i]), "");
    LLVMValueRef values[] = {LLVMConstNull(LLVMTypeOf(codes[i])), codes[i]};
    LLVMBasicBlockRef blocks[] = {before, end};
    LLVMAddIncoming(phi, values, blocks, 2);
    codes[i] = phi;
  }
}

/* A side that computes little and can do no harm is computed for all lanes. */
static bool is_harmless(const Region *r) {
  int n = 0;
  for (const Op *op = r->first; op; op = op->next, n++)
    if (op_info[op->code].group != GROUP_ELEM && op->code != OP_CONST)
      return false;
    else if (op_info[op->code].group == GROUP_ELEM && !is_plain(op))
      return false;
  return n <= 8;
}

static void side(Body *b, const Op *op, int which, LLVMValueRef live, LLVMValueRef *codes) {
  const Region *r = op->regions[which];
  if (!is_harmless(r)) {
    masked_side(b, op, which, live, codes);
    return;
  }
  lower_region(b, r);
  for (int i = 0; i < r->nyields; i++)
    codes[i] = vector_value(b, r->yields[i]);
}

/* ---- branches for what hardly ever is */
static bool is_never_negative(const Value *v, int depth) {
  enum { DEEPEST = 12 };
  const Op *op = v->def;
  double x;
  if (!op || depth == DEEPEST)
    return false;
  switch (op->code) {
  case OP_CONST: return value_is_float_const(v, &x) && x >= 0;
  case OP_ABS:
  case OP_SQRT:
  case OP_EXP: return true;
  case OP_MUL: return op->operands[0] == op->operands[1];
  case OP_POWI: return op->at.i % 2 == 0;
  case OP_ADD: return is_never_negative(op->operands[0], depth + 1) && is_never_negative(op->operands[1], depth + 1);
  case OP_LOOP: {
    const int out = v->index - op->at.loop->ncarries - op->at.loop->naccs;
    return out >= 0 && op->at.loop->outs[out] == OUT_SUM &&
           is_never_negative(op->regions[0]->yields[v->index - op->at.loop->naccs], depth + 1);
  }
  default: return false;
  }
}

/* The side that a float takes but where it is equal to another, as the length of a vector is to 0; -1: neither. */
static int usual_side(const Op *op) {
  const Op *test = op->operands[0]->def;
  if (!test || !test->noperands || !kind_is_float(test->operands[0]->type.kind))
    return -1;
  switch (test->code) {
  case OP_EQ: return 1;
  case OP_NE: return 0;
  case OP_LT: return value_is_zero(test->operands[0]) && is_never_negative(test->operands[1], 0) ? 0 : -1;
  case OP_LE: return value_is_zero(test->operands[1]) && is_never_negative(test->operands[0], 0) ? 1 : -1;
  default: return -1;
  }
}

/* Computes scalars alone, and can do no harm where it is not asked for. */
static bool is_line_of_floats(const Region *r) {
  for (const Op *op = r->first; op; op = op->next)
    if (op->code != OP_CONST && (op_info[op->code].group != GROUP_ELEM || (op_info[op->code].effect != EFFECT_PURE &&
                                                                           !kind_is_float(op->results[0]->type.kind))))
      return false;
  return true;
}

/* In an iteration that may be done again: all lanes take the side, or it is done again. */
static bool assumed_if(Body *b, const Op *op) {
  VectorLoop *v = b->vector;
  const int w = v->watches && !v->mask ? usual_side(op) : -1;
  if (w < 0 || !is_line_of_floats(op->regions[w]))
    return false;
  LLVMTypeRef type = LLVMVectorType(b->unit->f64, (unsigned)v->lanes);
  LLVMValueRef then = vector_value(b, op->operands[0]), zero = LLVMConstNull(type);
  LLVMValueRef nan = vector_spread(b, LLVMConstReal(b->unit->f64, NAN), v->lanes);
  zero = LLVMBuildSelect(b->at, then, w ? nan : zero, w ? zero : nan, "");
  LLVMBuildStore(b->at, LLVMBuildFAdd(b->at, LLVMBuildLoad2(b->at, type, v->zero, ""), zero, ""), v->zero);
  const Region *r = op->regions[w];
  LLVMValueRef mark = lower_region(b, r);
  LLVMValueRef *codes = NEW_ARRAY(b->unit->arena, LLVMValueRef, op->nresults + 1);
  for (int i = 0; i < op->nresults; i++)
    codes[i] = vector_value(b, r->yields[i]);
  region_pop(b, mark);
  for (int i = 0; i < op->nresults; i++)
    set_value(op->results[i], codes[i]);
  return true;
}

static void masked_if(Body *b, const Op *op) {
  if (assumed_if(b, op))
    return;
  LLVMValueRef then = vector_value(b, op->operands[0]), *codes[2];
  for (int w = 0; w < 2; w++)
    codes[w] = NEW_ARRAY(b->unit->arena, LLVMValueRef, op->nresults + 1);
  side(b, op, 0, then, codes[0]);
  side(b, op, 1, LLVMBuildNot(b->at, then, ""), codes[1]);
  for (int i = 0; i < op->nresults; i++)
    set_value(op->results[i], LLVMBuildSelect(b->at, then, codes[0][i], codes[1][i], ""));
}

/* A uniform condition: one side is run, for all lanes. */
static void uniform_if(Body *b, const Op *op) {
  LLVMBasicBlockRef branches[2] = {new_block(b, "then"), new_block(b, "else")}, after = new_block(b, ""), ends[2];
  LLVMValueRef *codes[2];
  LLVMBuildCondBr(b->at, value_code(b, op->operands[0]), branches[0], branches[1]);
  for (int w = 0; w < 2; w++) {
    const Region *r = op->regions[w];
    begin_block(b, branches[w]);
    LLVMValueRef mark = lower_region(b, r);
    codes[w] = NEW_ARRAY(b->unit->arena, LLVMValueRef, r->nyields + 1);
    for (int i = 0; i < r->nyields; i++)
      codes[w][i] = vector_is_varying(op->results[i]) ? vector_value(b, r->yields[i]) : value_code(b, r->yields[i]);
    region_pop(b, mark);
    ends[w] = current_block(b);
    LLVMBuildBr(b->at, after);
  }
  begin_block(b, after);
  for (int i = 0; i < op->nresults; i++) {
    LLVMValueRef phi = LLVMBuildPhi(b->at, LLVMTypeOf(codes[0][i]), ""), both[] = {codes[0][i], codes[1][i]};
    LLVMAddIncoming(phi, both, ends, 2);
    set_value(op->results[i], phi);
  }
}

static void vector_require(Body *b, const Op *op) {
  LLVMValueRef bad = LLVMBuildNot(b->at, vector_value(b, op->operands[0]), "");
  if (b->vector->mask)
    bad = LLVMBuildAnd(b->at, bad, b->vector->mask, "");
  fail_require_if(b, any_lane(b, bad), op->at.text);
}

/* ---- one operation */
static bool reads_lanes(const Op *op) {
  for (int i = 0; i < op->noperands; i++) {
    const Value *v = op->operands[i];
    if (v->type.rank ? note_of(v)->layout != LAYOUT_UNIFORM : vector_is_varying(v))
      return true;
  }
  return false;
}

bool vector_op(Body *b, const Op *op) {
  const Value *result = op->nresults ? op->results[0] : NULL;
  switch (op->code) {
  case OP_CONST:
  case OP_SIZE: return false;
  case OP_FULL:
    check_type(b, result->type);
    if (note_of(result)->storage->kind == STORAGE_OWN) {
      set_value(result, address_of(b, place_of(note_of(result)->storage)));
      const Lanes to = lanes_of(b, result);
      LLVMValueRef x = vector_value(b, op->operands[0]);
      CountedLoop l;
      counted_begin(b, &l, count_code(b, result->type), "fill");
      lanes_store(b, result->type.kind, x, to, l.index);
      counted_end(b, &l);
    }
    return true;
  case OP_INDEX:
    if (!reads_lanes(op))
      return false;
    vector_index(b, op);
    return true;
  case OP_UPDATE: vector_update(b, op); return true;
  case OP_ACC_ADD: vector_acc_add(b, op); return true;
  case OP_LOOP: vector_loop(b, op); return true;
  case OP_IF:
    if (vector_is_varying(op->operands[0]))
      masked_if(b, op);
    else
      uniform_if(b, op);
    return true;
  case OP_REQUIRE:
    if (!vector_is_varying(op->operands[0]) && !b->vector->mask)
      return false;
    vector_require(b, op);
    return true;
  case OP_RESHAPE: return false;
  default:
    if (!vector_is_varying(result))
      return false;
    vector_scalar(b, op);
    return true;
  }
}
