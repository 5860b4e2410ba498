/* Code for scalar operations, free of branches but for the checks of integer division. */
#include "codegen/body.h"
#include <string.h>

enum { STATUS_REQUIRE = 3 };

static LLVMValueRef with_flags(LLVMValueRef v, LLVMFastMathFlags fast) {
  if (fast && LLVMIsAInstruction(v) && LLVMCanValueUseFastMathFlags(v))
    LLVMSetFastMathFlags(v, fast);
  return v;
}

LLVMValueRef constant_code(Body *b, const Op *op) {
  const Kind k = op->results[0]->type.kind;
  LLVMTypeRef type = type_of_kind(b->unit, k);
  return kind_is_float(k) ? LLVMConstReal(type, op->at.f) : LLVMConstInt(type, (unsigned long long)op->at.i, true);
}

static LLVMValueRef zero_of(Body *b, Kind k) {
  return LLVMConstNull(type_of_kind(b->unit, k));
}

LLVMValueRef arithmetic(Body *b, Opcode op, Kind k, LLVMValueRef x, LLVMValueRef y, LLVMFastMathFlags fast) {
  const bool is_float = kind_is_float(k);
  switch (op) {
  case OP_ADD: return is_float ? with_flags(LLVMBuildFAdd(b->at, x, y, ""), fast) : LLVMBuildAdd(b->at, x, y, "");
  case OP_SUB: return is_float ? with_flags(LLVMBuildFSub(b->at, x, y, ""), fast) : LLVMBuildSub(b->at, x, y, "");
  case OP_MUL: return is_float ? with_flags(LLVMBuildFMul(b->at, x, y, ""), fast) : LLVMBuildMul(b->at, x, y, "");
  case OP_DIV: return is_float ? with_flags(LLVMBuildFDiv(b->at, x, y, ""), fast) : LLVMBuildSDiv(b->at, x, y, "");
  default: internal_error("no arithmetic for '%s'", op_info[op].name);
  }
}

static LLVMValueRef compare(Body *b, Opcode op, Kind k, LLVMValueRef x, LLVMValueRef y) {
  static const struct {
    LLVMRealPredicate real;
    LLVMIntPredicate whole;
  } predicates[] = {
      {LLVMRealOLT, LLVMIntSLT}, {LLVMRealOLE, LLVMIntSLE}, {LLVMRealOEQ, LLVMIntEQ}, {LLVMRealUNE, LLVMIntNE}};
  const int i = op == OP_LT ? 0 : op == OP_LE ? 1 : op == OP_EQ ? 2 : 3;
  return kind_is_float(k) ? LLVMBuildFCmp(b->at, predicates[i].real, x, y, "")
                          : LLVMBuildICmp(b->at, predicates[i].whole, x, y, "");
}

static LLVMValueRef is_nan(Body *b, LLVMValueRef x) {
  return LLVMBuildFCmp(b->at, LLVMRealUNO, x, x, "");
}

/* y where it is NaN or the smaller (larger), else x, so that x stays where it is NaN. */
LLVMValueRef min_max(Body *b, bool max, Kind k, LLVMValueRef x, LLVMValueRef y) {
  if (!kind_is_float(k)) {
    LLVMTypeRef type = type_of_kind(b->unit, k);
    LLVMValueRef args[] = {x, y};
    return call_intrinsic(b, max ? "llvm.smax" : "llvm.smin", 1, &type, 2, args);
  }
  LLVMValueRef better = LLVMBuildFCmp(b->at, max ? LLVMRealOGT : LLVMRealOLT, y, x, "");
  LLVMValueRef takes = b->unit->module->fast_math ? better : LLVMBuildOr(b->at, better, is_nan(b, y), "");
  return LLVMBuildSelect(b->at, takes, y, x, "");
}

/* ---- integers */
static void check_division(Body *b, Kind k, LLVMValueRef x, LLVMValueRef y) {
  LLVMTypeRef type = type_of_kind(b->unit, k);
  if (LLVMIsAConstantInt(y) && LLVMConstIntGetSExtValue(y) != 0 && LLVMConstIntGetSExtValue(y) != -1)
    return;
  fail_if(b, LLVMBuildICmp(b->at, LLVMIntEQ, y, LLVMConstNull(type), ""), STATUS_REQUIRE, "division by zero");
  LLVMValueRef least =
      LLVMConstInt(type, k == KIND_I32 ? (unsigned long long)INT32_MIN : (unsigned long long)INT64_MIN, true);
  LLVMValueRef is_least = LLVMBuildICmp(b->at, LLVMIntEQ, x, least, "");
  LLVMValueRef by_minus_1 = LLVMBuildICmp(b->at, LLVMIntEQ, y, LLVMConstAllOnes(type), "");
  fail_if(b, LLVMBuildAnd(b->at, is_least, by_minus_1, ""), STATUS_REQUIRE, "an integer division overflows");
}

static LLVMValueRef integer_division(Body *b, Opcode op, Kind k, LLVMValueRef x, LLVMValueRef y) {
  check_division(b, k, x, y);
  if (op == OP_DIV)
    return LLVMBuildSDiv(b->at, x, y, "");
  LLVMValueRef rest = LLVMBuildSRem(b->at, x, y, "");
  if (op == OP_REM)
    return rest;
  LLVMValueRef zero = zero_of(b, k);
  LLVMValueRef inexact = LLVMBuildICmp(b->at, LLVMIntNE, rest, zero, "");
  LLVMValueRef unlike = LLVMBuildICmp(b->at, LLVMIntSLT, LLVMBuildXor(b->at, rest, y, ""), zero, "");
  return LLVMBuildSelect(b->at, LLVMBuildAnd(b->at, inexact, unlike, ""), LLVMBuildAdd(b->at, rest, y, ""), rest, "");
}

/* ---- floats */
static LLVMValueRef copy_sign(Body *b, Kind k, LLVMValueRef size, LLVMValueRef sign) {
  LLVMTypeRef type = type_of_kind(b->unit, k);
  LLVMValueRef args[] = {size, sign};
  return call_intrinsic(b, "llvm.copysign", 1, &type, 2, args);
}

/* The remainder with the sign of y. */
static LLVMValueRef float_mod(Body *b, Kind k, LLVMValueRef x, LLVMValueRef y) {
  LLVMValueRef zero = zero_of(b, k), rest = LLVMBuildFRem(b->at, x, y, "");
  LLVMValueRef below = LLVMBuildFCmp(b->at, LLVMRealOLT, rest, zero, ""),
               divisor_below = LLVMBuildFCmp(b->at, LLVMRealOLT, y, zero, "");
  LLVMValueRef unlike = LLVMBuildXor(b->at, below, divisor_below, "");
  LLVMValueRef moved = LLVMBuildSelect(b->at, unlike, LLVMBuildFAdd(b->at, rest, y, ""), rest, "");
  LLVMValueRef exact = LLVMBuildFCmp(b->at, LLVMRealOEQ, rest, zero, "");
  return LLVMBuildSelect(b->at, exact, copy_sign(b, k, zero, y), moved, "");
}

static LLVMValueRef product_unless_zero(Body *b, Kind k, LLVMValueRef x, LLVMValueRef y) {
  LLVMValueRef zero = zero_of(b, k);
  LLVMValueRef none = LLVMBuildOr(b->at, LLVMBuildFCmp(b->at, LLVMRealOEQ, x, zero, ""),
                                  LLVMBuildFCmp(b->at, LLVMRealOEQ, y, zero, ""), "");
  return LLVMBuildSelect(b->at, none, zero, arithmetic(b, OP_MUL, k, x, y, b->unit->fast), "");
}

/* Where several have one divisor they are products with its reciprocal; should that overflow, what comes of it is not
   finite, and is computed again. */
static LLVMValueRef loose_quotient(Body *b, const Op *op, Kind k, LLVMValueRef *x) {
  if (note_of(op->operands[1])->divides < 2 || b->unit->module->strict)
    return arithmetic(b, OP_DIV, k, x[0], x[1], b->unit->fast);
  LLVMTypeRef type = type_of_kind(b->unit, k),
              element = LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type) : type;
  LLVMValueRef one = LLVMConstReal(element, 1);
  if (element != type)
    one = vector_spread(b, one, (int)LLVMGetVectorSize(type));
  return arithmetic(b, OP_MUL, k, x[0], arithmetic(b, OP_DIV, k, one, x[1], b->unit->fast), b->unit->fast);
}

/* A product with the reciprocal, which in derivatives is known early; NaN where that overflows. */
static LLVMValueRef bare_quotient(Body *b, Kind k, LLVMValueRef x, LLVMValueRef y, LLVMFastMathFlags fast) {
  if (b->unit->module->strict)
    return arithmetic(b, OP_DIV, k, x, y, fast);
  LLVMValueRef inverse = arithmetic(b, OP_DIV, k, LLVMConstReal(type_of_kind(b->unit, k), 1), y, b->unit->fast);
  LLVMValueRef zero = LLVMBuildFMul(b->at, inverse, zero_of(b, k), ""), good = LLVMBuildFAdd(b->at, inverse, zero, "");
  LLVMSetFastMathFlags(zero, LLVMFastMathAllowContract);
  LLVMSetFastMathFlags(good, LLVMFastMathAllowContract);
  return arithmetic(b, OP_MUL, k, x, good, fast);
}

static LLVMValueRef quotient_unless_zero(Body *b, Kind k, LLVMValueRef x, LLVMValueRef y) {
  LLVMValueRef zero = zero_of(b, k), none = LLVMBuildFCmp(b->at, LLVMRealOEQ, x, zero, "");
  return LLVMBuildSelect(b->at, none, zero, arithmetic(b, OP_DIV, k, x, y, b->unit->fast), "");
}

static LLVMValueRef sign(Body *b, Kind k, LLVMValueRef x) {
  LLVMValueRef zero = zero_of(b, k);
  LLVMTypeRef type = type_of_kind(b->unit, k);
  if (!kind_is_float(k)) {
    LLVMValueRef above = LLVMBuildZExt(b->at, LLVMBuildICmp(b->at, LLVMIntSGT, x, zero, ""), type, "");
    LLVMValueRef below = LLVMBuildZExt(b->at, LLVMBuildICmp(b->at, LLVMIntSLT, x, zero, ""), type, "");
    return LLVMBuildSub(b->at, above, below, "");
  }
  LLVMValueRef one = LLVMConstReal(type, 1);
  LLVMValueRef unit = copy_sign(b, k, one, x);
  LLVMValueRef kept = LLVMBuildSelect(b->at, LLVMBuildFCmp(b->at, LLVMRealOEQ, x, zero, ""), zero, unit, "");
  return LLVMBuildSelect(b->at, is_nan(b, x), x, kept, "");
}

static LLVMValueRef absolute(Body *b, Kind k, LLVMValueRef x) {
  LLVMTypeRef type = type_of_kind(b->unit, k);
  LLVMValueRef args[] = {x, LLVMConstInt(b->unit->i1, 0, false)};
  return kind_is_float(k) ? call_intrinsic(b, "llvm.fabs", 1, &type, 1, args)
                          : call_intrinsic(b, "llvm.abs", 1, &type, 2, args);
}

static LLVMValueRef is_finite(Body *b, Kind k, LLVMValueRef x) {
  LLVMTypeRef type = type_of_kind(b->unit, k);
  LLVMValueRef inf = LLVMConstRealOfString(type, "inf");
  return LLVMBuildFCmp(b->at, LLVMRealOLT, absolute(b, k, x), inf, "");
}

/* ---- kinds */
static LLVMValueRef cast(Body *b, Kind from, Kind to, LLVMValueRef x) {
  LLVMTypeRef type = type_of_kind(b->unit, to);
  if (from == to)
    return x;
  if (to == KIND_BOOL)
    return kind_is_float(from) ? LLVMBuildFCmp(b->at, LLVMRealUNE, x, zero_of(b, from), "")
                               : LLVMBuildICmp(b->at, LLVMIntNE, x, zero_of(b, from), "");
  if (from == KIND_BOOL)
    return kind_is_float(to) ? LLVMBuildUIToFP(b->at, x, type, "") : LLVMBuildZExt(b->at, x, type, "");
  if (kind_is_float(from) && kind_is_float(to))
    return to == KIND_F64 ? LLVMBuildFPExt(b->at, x, type, "") : LLVMBuildFPTrunc(b->at, x, type, "");
  if (kind_is_float(to))
    return LLVMBuildSIToFP(b->at, x, type, "");
  if (kind_is_float(from)) {
    LLVMTypeRef types[] = {type, type_of_kind(b->unit, from)};
    return call_intrinsic(b, "llvm.fptosi.sat", 2, types, 1, &x);
  }
  return to == KIND_I64 ? LLVMBuildSExt(b->at, x, type, "") : LLVMBuildTrunc(b->at, x, type, "");
}

LLVMValueRef scalar_code(Body *b, const Op *op, LLVMValueRef *x) {
  const Kind k = op->noperands ? op->operands[0]->type.kind : op->results[0]->type.kind;
  const bool is_float = kind_is_float(k);
  const LLVMFastMathFlags fast = b->unit->fast | bare_flags(b, op->results[0]);
  LLVMValueRef code;
  switch (op->code) {
  case OP_NEG: return is_float ? with_flags(LLVMBuildFNeg(b->at, x[0], ""), fast) : LLVMBuildNeg(b->at, x[0], "");
  case OP_ABS: return absolute(b, k, x[0]);
  case OP_SIGN: return sign(b, k, x[0]);
  case OP_NOT: return LLVMBuildNot(b->at, x[0], "");
  case OP_ISNAN: return is_nan(b, x[0]);
  case OP_ISFINITE: return is_finite(b, k, x[0]);
  case OP_CAST: return cast(b, k, op->results[0]->type.kind, x[0]);
  case OP_ADD:
  case OP_SUB:
  case OP_MUL: return arithmetic(b, op->code, k, x[0], x[1], fast);
  case OP_DIV:
    return is_float ? arithmetic(b, OP_DIV, k, x[0], x[1], fast) : integer_division(b, OP_DIV, k, x[0], x[1]);
  case OP_REM: return is_float ? LLVMBuildFRem(b->at, x[0], x[1], "") : integer_division(b, OP_REM, k, x[0], x[1]);
  case OP_MOD: return is_float ? float_mod(b, k, x[0], x[1]) : integer_division(b, OP_MOD, k, x[0], x[1]);
  case OP_MIN: return min_max(b, false, k, x[0], x[1]);
  case OP_MAX: return min_max(b, true, k, x[0], x[1]);
  case OP_LT:
  case OP_LE:
  case OP_EQ:
  case OP_NE: return compare(b, op->code, k, x[0], x[1]);
  case OP_AND: return LLVMBuildAnd(b->at, x[0], x[1], "");
  case OP_OR: return LLVMBuildOr(b->at, x[0], x[1], "");
  case OP_MULZ:
    if ((b->loose_zeros && note_of(op->results[0])->loose) || (b->bare_zeros && note_of(op->results[0])->bare))
      return arithmetic(b, OP_MUL, k, x[0], x[1], fast);
    return product_unless_zero(b, k, x[0], x[1]);
  case OP_DIVZ:
    if (b->loose_zeros && note_of(op->results[0])->loose)
      return loose_quotient(b, op, k, x);
    if (b->bare_zeros && note_of(op->results[0])->bare)
      return bare_quotient(b, k, x[0], x[1], fast);
    return quotient_unless_zero(b, k, x[0], x[1]);
  case OP_ATTACH: return x[0];
  case OP_SELECT: return LLVMBuildSelect(b->at, x[0], x[1], x[2], "");
  default: break;
  }
  code = math_code(b, op, x);
  if (!code)
    internal_error("no code for '%s'", op_info[op->code].name);
  return code;
}
