/* Constants, exact sums and products, polynomials and the cold branch of the mathematical functions. */
#include "codegen/inline_math_code.h"
#include <string.h>

static const FloatFormat formats[] = {
    {23, 127, 0x80000000, 0x7f800000, 0x007fffff, 0x3f800000, 0x1.8p23},
    {52, 1023, 0x8000000000000000, 0x7ff0000000000000, 0x000fffffffffffff, 0x3ff0000000000000, 0x1.8p52},
};

const FloatFormat *float_format(const MathCode *c) {
  return &formats[c->kind == KIND_F64];
}

static LLVMValueRef everywhere(LLVMValueRef x, int n) {
  LLVMValueRef lanes[64];
  if (n == 1)
    return x;
  if (n > (int)(sizeof lanes / sizeof *lanes))
    internal_error("a vector of %d lanes", n);
  for (int i = 0; i < n; i++)
    lanes[i] = x;
  return LLVMConstVector(lanes, (unsigned)n);
}

Real number(const MathCode *c, double x) {
  return everywhere(LLVMConstReal(c->element, x), c->lanes);
}

static LLVMTypeRef integer(const MathCode *c) {
  return c->kind == KIND_F64 ? c->unit->i64 : c->unit->i32;
}

static LLVMTypeRef of_lanes(LLVMTypeRef element, int lanes) {
  return lanes > 1 ? LLVMVectorType(element, (unsigned)lanes) : element;
}

void set_math_types(MathCode *c) {
  c->element = c->kind == KIND_F64 ? c->unit->f64 : c->unit->f32;
  c->real = of_lanes(c->element, c->lanes);
  c->whole = of_lanes(integer(c), c->places);
}

Bits pattern(const MathCode *c, uint64_t bits) {
  return everywhere(LLVMConstInt(integer(c), c->kind == KIND_F64 ? bits : (uint32_t)bits, false), c->places);
}

Bits bits_of(const MathCode *c, Real x) {
  if (c->places > c->lanes) {
    LLVMValueRef first = LLVMConstInt(c->unit->i64, 0, false);
    x = LLVMBuildInsertElement(c->at, LLVMGetPoison(of_lanes(c->element, c->places)), x, first, "");
  }
  return LLVMBuildBitCast(c->at, x, c->whole, "");
}

Real real_of(const MathCode *c, Bits x) {
  if (c->places == c->lanes)
    return LLVMBuildBitCast(c->at, x, c->real, "");
  LLVMValueRef places = LLVMBuildBitCast(c->at, x, of_lanes(c->element, c->places), "");
  return LLVMBuildExtractElement(c->at, places, LLVMConstInt(c->unit->i64, 0, false), "");
}

/* Bits for a comparison, whose result a scalar has outside the registers of vectors. */
static LLVMValueRef compared(const MathCode *c, Bits x) {
  return c->places == c->lanes ? x : LLVMBuildExtractElement(c->at, x, LLVMConstInt(c->unit->i64, 0, false), "");
}

Flag bits_negative(const MathCode *c, Bits x) {
  LLVMValueRef y = compared(c, x);
  return LLVMBuildICmp(c->at, LLVMIntSLT, y, LLVMConstNull(LLVMTypeOf(y)), "");
}

Flag bits_below(const MathCode *c, Bits x, uint64_t bound) {
  return LLVMBuildICmp(c->at, LLVMIntULT, compared(c, x), everywhere(LLVMConstInt(integer(c), bound, false), c->lanes),
                       "");
}

static LLVMValueRef intrinsic(const MathCode *c, const char *name, LLVMTypeRef type, int nargs, LLVMValueRef *args) {
  const unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
  LLVMValueRef f = LLVMGetIntrinsicDeclaration(c->unit->llvm, id, &type, 1);
  LLVMTypeRef signature = LLVMIntrinsicGetType(c->unit->context, id, &type, 1);
  return LLVMBuildCall2(c->at, signature, f, args, (unsigned)nargs, "");
}

Real mul_add(const MathCode *c, Real x, Real y, Real z) {
  LLVMValueRef args[] = {x, y, z};
  return c->fused ? intrinsic(c, "llvm.fma", c->real, 3, args) : add(c, mul(c, x, y), z);
}

Real size_of(const MathCode *c, Real x) {
  return intrinsic(c, "llvm.fabs", c->real, 1, &x);
}

Real square_root(const MathCode *c, Real x) {
  return intrinsic(c, "llvm.sqrt", c->real, 1, &x);
}

Real with_sign(const MathCode *c, Real size, Real sign) {
  LLVMValueRef args[] = {size, sign};
  return intrinsic(c, "llvm.copysign", c->real, 2, args);
}

Real fast_two_sum(const MathCode *c, Real x, Real y, Real *error) {
  Real sum = add(c, x, y);
  *error = sub(c, y, sub(c, sum, x));
  return sum;
}

Real two_sum(const MathCode *c, Real x, Real y, Real *error) {
  Real sum = add(c, x, y), y_part = sub(c, sum, x), x_part = sub(c, sum, y_part);
  *error = add(c, sub(c, x, x_part), sub(c, y, y_part));
  return sum;
}

/* The upper half of x's digits, by its bits, so that no product overflows; the lower half is exact. */
static Real upper_half(const MathCode *c, Real x) {
  const FloatFormat *f = float_format(c);
  const int dropped = (f->fraction_bits + 2) / 2;
  return real_of(c, bits_and(c, bits_of(c, x), pattern(c, ~((UINT64_C(1) << dropped) - 1))));
}

Real two_product(const MathCode *c, Real x, Real y, Real *error) {
  Real product = mul(c, x, y);
  if (c->fused) {
    *error = mul_add(c, x, y, negated(c, product));
    return product;
  }
  Real x1 = upper_half(c, x), x2 = sub(c, x, x1), y1 = upper_half(c, y), y2 = sub(c, y, y1);
  Real rest = sub(c, mul(c, x1, y1), product);
  rest = add(c, add(c, rest, mul(c, x1, y2)), mul(c, x2, y1));
  *error = add(c, rest, mul(c, x2, y2));
  return product;
}

/* Splits at the largest power of two below n; powers[i] is x^(2^i). */
static Real tree(const MathCode *c, const double *at, int n, const Real *powers) {
  if (n == 1)
    return number(c, at[0]);
  int level = 0;
  while (2 << level < n)
    level++;
  Real high = tree(c, at + (1 << level), n - (1 << level), powers);
  return mul_add(c, high, powers[level], tree(c, at, 1 << level, powers));
}

Real evaluate(const MathCode *c, Polynomial p, Real x) {
  Real sum = number(c, p.at[p.n - 1]);
  for (int i = p.n - 2; i >= 0; i--)
    sum = mul_add(c, sum, x, number(c, p.at[i]));
  return sum;
}

Real evaluate_tree(const MathCode *c, Polynomial p, Real x) {
  Real powers[6] = {x};
  for (int i = 1; 1 << i < p.n; i++)
    powers[i] = mul(c, powers[i - 1], powers[i - 1]);
  return tree(c, p.at, p.n, powers);
}

Real evaluate_constant_last(const MathCode *c, Polynomial p, Real x) {
  const Polynomial rest = {p.n - 1, p.at + 1};
  return mul_add(c, x, evaluate_tree(c, rest, x), number(c, p.at[0]));
}

Real power_of_2(const MathCode *c, Bits bits) {
  const FloatFormat *f = float_format(c);
  return real_of(c, bits_add(c, shift_left(c, bits, f->fraction_bits), pattern(c, f->one)));
}

MathCode promoted(const MathCode *c) {
  MathCode wide = *c;
  wide.kind = KIND_F64;
  wide.brief = true;
  wide.branches = false;
  wide.places = c->lanes;
  set_math_types(&wide);
  return wide;
}

Real widened(const MathCode *wide, Real x) {
  return LLVMBuildFPExt(wide->at, x, wide->real, "");
}

Real narrowed(const MathCode *narrow, Real x) {
  return LLVMBuildFPTrunc(narrow->at, x, narrow->real, "");
}

LLVMValueRef math_function(MathCode *c, const char *name, int nargs) {
  LLVMTypeRef params[] = {c->real, c->real, c->real};
  c->function = LLVMAddFunction(c->unit->llvm, name, LLVMFunctionType(c->real, params, (unsigned)nargs, false));
  LLVMSetLinkage(c->function, LLVMInternalLinkage);
  mark_pure(c->unit, c->function);
  LLVMPositionBuilderAtEnd(c->at, LLVMAppendBasicBlockInContext(c->unit->context, c->function, "entry"));
  return c->function;
}

static bool can_keep_registers(const Unit *u) {
  return !u->options->scalar && !strncmp(u->triple, "x86_64", 6);
}

void make_cold(const MathCode *c, LLVMValueRef f) {
  LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex, attribute(c->unit, "cold", 0));
  if (can_keep_registers(c->unit))
    LLVMSetFunctionCallConv(f, LLVMPreserveAllCallConv);
}

/* libm's function for all lanes, out of line. */
static LLVMValueRef libm_lanes(const MathCode *c) {
  Unit *u = c->unit;
  LLVMValueRef one = declared(u, arena_printf(u->arena, "%s%s", op_info[c->op].name, c->kind == KIND_F32 ? "f" : ""),
                              c->element, 1, &c->element);
  mark_pure(u, one);
  if (c->lanes == 1 && !can_keep_registers(u))
    return one;
  const char *name = arena_printf(u->arena, "gradc.libm.%s.%sx%d", op_info[c->op].name, kind_name[c->kind], c->lanes);
  LLVMValueRef f = LLVMGetNamedFunction(u->llvm, name);
  if (f)
    return f;
  MathCode all = *c;
  all.at = LLVMCreateBuilderInContext(u->context);
  f = math_function(&all, name, 1);
  LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex, attribute(u, "noinline", 0));
  make_cold(c, f);
  LLVMValueRef x = LLVMGetParam(f, 0), result = LLVMGetPoison(c->real);
  if (c->lanes == 1)
    result = LLVMBuildCall2(all.at, LLVMGlobalGetValueType(one), one, &x, 1, "");
  for (int i = 0; i < c->lanes && c->lanes > 1; i++) {
    LLVMValueRef lane = LLVMConstInt(u->i64, (unsigned long long)i, false),
                 arg = LLVMBuildExtractElement(all.at, x, lane, "");
    LLVMValueRef y = LLVMBuildCall2(all.at, LLVMGlobalGetValueType(one), one, &arg, 1, "");
    result = LLVMBuildInsertElement(all.at, result, y, lane, "");
  }
  LLVMBuildRet(all.at, result);
  LLVMDisposeBuilder(all.at);
  return f;
}

Real cold_values(MathCode *c, Flag is_cold, LLVMValueRef f, int nargs, Real *operands, Real near) {
  Unit *u = c->unit;
  LLVMBasicBlockRef start = LLVMGetInsertBlock(c->at);
  LLVMBasicBlockRef far = LLVMAppendBasicBlockInContext(u->context, c->function, "far");
  LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(u->context, c->function, "done");
  LLVMValueRef any = c->lanes == 1 ? is_cold : intrinsic(c, "llvm.vector.reduce.or", LLVMTypeOf(is_cold), 1, &is_cold);
  mark_unlikely(u, LLVMBuildCondBr(c->at, any, far, done));
  LLVMPositionBuilderAtEnd(c->at, far);
  LLVMValueRef other = LLVMBuildCall2(c->at, LLVMGlobalGetValueType(f), f, operands, (unsigned)nargs, "");
  LLVMSetInstructionCallConv(other, LLVMGetFunctionCallConv(f));
  LLVMValueRef values[] = {near, choose(c, is_cold, other, near)};
  LLVMBuildBr(c->at, done);
  LLVMPositionBuilderAtEnd(c->at, done);
  LLVMValueRef phi = LLVMBuildPhi(c->at, c->real, "");
  LLVMBasicBlockRef blocks[] = {start, far};
  LLVMAddIncoming(phi, values, blocks, 2);
  return phi;
}

Real rare_values(MathCode *c, Flag is_rare, int nargs, Real *operands, Real near) {
  return cold_values(c, is_rare, inline_math_straight(c->unit, c->op, c->kind, c->lanes), nargs, operands, near);
}

Real far_values(MathCode *c, Flag is_far, Real x, Real near) {
  return cold_values(c, is_far, libm_lanes(c), 1, &x, near);
}
