/* Code for mathematical functions: LLVM's intrinsics where they are instructions, else functions of the module
   (codegen/inline_math.h), else the runtime's.  Where the unit has lanes, on vectors of so many. */
#include "codegen/body.h"
#include "codegen/inline_math.h"
#include "ir/build.h"
#include <math.h>

static LLVMValueRef intrinsic_1(Body *b, const char *name, Kind k, LLVMValueRef x) {
  LLVMTypeRef type = type_of_kind(b->unit, k);
  return call_intrinsic(b, name, 1, &type, 1, &x);
}

static int lanes(const Body *b) {
  return b->unit->lanes ? b->unit->lanes : 1;
}

static LLVMValueRef call_inline(Body *b, LLVMValueRef f, int nargs, LLVMValueRef *x) {
  if (!f)
    return NULL;
  LLVMValueRef call = LLVMBuildCall2(b->at, LLVMGlobalGetValueType(f), f, x, (unsigned)nargs, "");
  if (b->bare_zeros)
    LLVMAddCallSiteAttribute(call, LLVMAttributeFunctionIndex, attribute(b->unit, "alwaysinline", 0));
  return call;
}

/* Few multiplications where they err less than 2.5 units in the last place and cannot leave the range on the way; some
   more, with what they lose; and otherwise pow, with the parity of an exponent that a float cannot hold. */
static LLVMValueRef power(Body *b, Kind k, LLVMValueRef x, int64_t n) {
  Unit *u = b->unit;
  LLVMTypeRef type = type_of_kind(u, k);
  LLVMValueRef one = LLVMConstReal(type, 1);
  if (n == 0)
    return one;
  if (n == -1)
    return LLVMBuildFDiv(b->at, one, x, "");
  if (n >= 1 && n <= 5) {
    LLVMValueRef square = n > 1 ? arithmetic(b, OP_MUL, k, x, x, u->fast) : x;
    LLVMValueRef even = n >= 4 ? arithmetic(b, OP_MUL, k, square, square, u->fast) : square;
    return n == 1 || n == 2 || n == 4 ? even : arithmetic(b, OP_MUL, k, even, x, u->fast);
  }
  LLVMValueRef f = inline_power(u, n, k, lanes(b));
  if (f)
    return call_inline(b, f, 1, &x);
  LLVMValueRef args[] = {intrinsic_1(b, "llvm.fabs", k, x), LLVMConstReal(type, (double)n)};
  LLVMValueRef size = call_inline(b, inline_math(u, OP_POW, k, lanes(b)), 2, args), parts[] = {size, x};
  return n % 2 ? call_intrinsic(b, "llvm.copysign", 1, &type, 2, parts) : size;
}

/* Whether it is x^y with such a y, made of a square root and products or quotients. */
static bool root_exponent(const Op *op, double *y) {
  if ((op->code != OP_POW && op->code != OP_POW_BELOW) || !value_is_float_const(op->operands[1], y))
    return false;
  *y -= op->code == OP_POW_BELOW;
  return fabs(*y) == 0.5 || fabs(*y) == 1.5 || *y == 2.5;
}

bool power_is_root(const Op *op) {
  double y;
  return root_exponent(op, &y);
}

/* x^y by a square root and products or quotients, each of which leaves the range only where the result does.  The root
   of -0 is 0 here, and that of -infinity infinity, as powers have it. */
static LLVMValueRef root_power(Body *b, const Op *op, Kind k, LLVMValueRef x) {
  double y = 0;
  root_exponent(op, &y);
  LLVMTypeRef type = type_of_kind(b->unit, k);
  LLVMValueRef root = intrinsic_1(b, "llvm.sqrt", k, LLVMBuildFAdd(b->at, x, LLVMConstNull(type), ""));
  LLVMValueRef lowest = LLVMBuildFCmp(b->at, LLVMRealOEQ, x, LLVMConstReal(type, -INFINITY), "");
  root = LLVMBuildSelect(b->at, lowest, LLVMConstReal(type, INFINITY), root, "");
  if (y < 0)
    root = LLVMBuildFDiv(b->at, LLVMConstReal(type, 1), root, "");
  if (y == 2.5)
    return LLVMBuildFMul(b->at, LLVMBuildFMul(b->at, x, x, ""), root, "");
  LLVMValueRef size = intrinsic_1(b, "llvm.fabs", k, x);
  if (y == 1.5)
    return LLVMBuildFMul(b->at, size, root, "");
  return y == -1.5 ? LLVMBuildFDiv(b->at, root, size, "") : root;
}

static LLVMValueRef call_runtime(Body *b, const char *base, Kind k, int nargs, LLVMValueRef *x) {
  Unit *u = b->unit;
  LLVMTypeRef type = type_of_kind(u, k), params[2];
  const char *name = k == KIND_F32 ? arena_printf(u->arena, "%s_f32", base) : base;
  for (int i = 0; i < nargs; i++)
    params[i] = LLVMTypeOf(x[i]);
  LLVMValueRef f = LLVMGetNamedFunction(u->llvm, name);
  if (!f) {
    f = declared(u, name, type, nargs, params);
    mark_pure(u, f);
  }
  return call_declared(b, f, nargs, x);
}

static LLVMValueRef polygamma(Body *b, Kind k, int64_t order, LLVMValueRef x) {
  LLVMValueRef args[] = {const_i64(b->unit, order), x};
  return order ? call_runtime(b, "gradc_rt_polygamma", k, 2, args) : call_runtime(b, "gradc_rt_digamma", k, 1, &x);
}

LLVMValueRef math_code(Body *b, const Op *op, LLVMValueRef *x) {
  const Kind k = op->operands[0]->type.kind;
  switch (op->code) {
  case OP_SQRT: return intrinsic_1(b, "llvm.sqrt", k, x[0]);
  case OP_FLOOR: return intrinsic_1(b, "llvm.floor", k, x[0]);
  case OP_CEIL: return intrinsic_1(b, "llvm.ceil", k, x[0]);
  case OP_ROUND: return intrinsic_1(b, "llvm.rint", k, x[0]); /* the mode is to nearest, halves to even */
  case OP_TRUNC: return intrinsic_1(b, "llvm.trunc", k, x[0]);
  case OP_POWI: return power(b, k, x[0], op->at.i);
  case OP_LGAMMA: return call_runtime(b, "gradc_rt_lgamma", k, 1, x);
  case OP_POLYGAMMA: return polygamma(b, k, op->at.i, x[0]);
  default:
    return power_is_root(op) ? root_power(b, op, k, x[0])
                             : call_inline(b, inline_math(b->unit, op->code, k, lanes(b)), op->noperands, x);
  }
}
