/* Code for mathematical functions: LLVM's intrinsics where they are instructions, else libm or the runtime.

   Functions are declared free of side effects, as nothing reads errno or the exception flags.  On x86-64 with glibc the
   plain call carries the names of libmvec's vector forms, which LLVM's vectoriser then calls in its place (it would
   take the intrinsics apart into scalar calls); not under --strict, as they round differently. */
#include "codegen/body.h"
#include <string.h>

typedef struct MathName {
  Opcode op;
  const char *name; /* for f64; with an f behind it for f32 */
  int nargs;
  bool in_libmvec; /* of glibc 2.35 and later */
} MathName;

static const MathName names[] = {
    {OP_CBRT, "cbrt", 1, true},   {OP_EXP, "exp", 1, true},     {OP_EXP2, "exp2", 1, true},
    {OP_EXPM1, "expm1", 1, true}, {OP_LOG, "log", 1, true},     {OP_LOG2, "log2", 1, true},
    {OP_LOG10, "log10", 1, true}, {OP_LOG1P, "log1p", 1, true}, {OP_SIN, "sin", 1, true},
    {OP_COS, "cos", 1, true},     {OP_TAN, "tan", 1, true},     {OP_ASIN, "asin", 1, true},
    {OP_ACOS, "acos", 1, true},   {OP_ATAN, "atan", 1, true},   {OP_SINH, "sinh", 1, true},
    {OP_COSH, "cosh", 1, true},   {OP_TANH, "tanh", 1, true},   {OP_ASINH, "asinh", 1, true},
    {OP_ACOSH, "acosh", 1, true}, {OP_ATANH, "atanh", 1, true}, {OP_ERF, "erf", 1, true},
    {OP_ERFC, "erfc", 1, true},   {OP_POW, "pow", 2, true},     {OP_ATAN2, "atan2", 2, true},
    {OP_HYPOT, "hypot", 2, true},
};

static const MathName *name_of(Opcode op) {
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (names[i].op == op)
      return &names[i];
  return NULL;
}

static void mark_pure(Unit *u, LLVMValueRef f) {
  static const char *const flags[] = {"willreturn", "nofree", "nosync"};
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
    LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex, attribute(u, flags[i], 0));
  LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex, attribute(u, "memory", 0)); /* none */
}

/* Declares the vector forms that this processor can run, and returns the attribute's text; "" for none. */
static const char *vector_forms(Unit *u, const char *name, int nargs, Kind k) {
  static const struct {
    char isa;
    int bits;
  } forms[] = {{'b', 128}, {'d', 256}, {'e', 512}};
  const char *text = "";
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    if (forms[i].bits > u->vector_bits)
      break;
    const int lanes = forms[i].bits / 8 / kind_bytes(k);
    const char *vector = arena_printf(u->arena, "_ZGV%cN%d%s_%s", forms[i].isa, lanes, nargs == 2 ? "vv" : "v", name);
    text = arena_printf(u->arena, "%s%s%s(%s)", text, *text ? "," : "", vector, vector);
    LLVMTypeRef type = LLVMVectorType(type_of_kind(u, k), (unsigned)lanes), params[] = {type, type};
    LLVMValueRef f = LLVMAddFunction(u->llvm, vector, LLVMFunctionType(type, params, (unsigned)nargs, false));
    mark_pure(u, f);
    LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex, attribute(u, "nounwind", 0));
    vec_push(u->arena, u->kept, f);
  }
  return text;
}

/* Calls a pure function of C on nargs floats. */
static LLVMValueRef call_pure(Body *b, const char *base, bool in_libmvec, Kind k, int nargs, LLVMValueRef *x) {
  Unit *u = b->unit;
  const char *name = k == KIND_F32 ? arena_printf(u->arena, "%sf", base) : base;
  LLVMTypeRef type = type_of_kind(u, k), params[] = {type, type};
  LLVMValueRef f = LLVMGetNamedFunction(u->llvm, name);
  const char *forms = "";
  if (!f) {
    f = declared(u, name, type, nargs, params);
    mark_pure(u, f);
  }
  if (in_libmvec && u->libmvec) {
    /* The attribute belongs to calls; one of them tells that the vector forms are declared. */
    LLVMAttributeRef known = LLVMGetStringAttributeAtIndex(f, LLVMAttributeFunctionIndex, "gradc-forms", 11);
    unsigned n = 0;
    forms = known ? LLVMGetStringAttributeValue(known, &n) : vector_forms(u, name, nargs, k);
    if (!known)
      LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex, string_attribute(u, "gradc-forms", forms));
  }
  LLVMValueRef call = call_declared(b, f, nargs, x);
  if (*forms)
    LLVMAddCallSiteAttribute(call, LLVMAttributeFunctionIndex,
                             string_attribute(u, "vector-function-abi-variant", forms));
  if (u->fast)
    LLVMSetFastMathFlags(call, u->fast);
  return call;
}

static LLVMValueRef call_named(Body *b, Opcode op, Kind k, LLVMValueRef *x) {
  const MathName *m = name_of(op);
  return call_pure(b, m->name, m->in_libmvec, k, m->nargs, x);
}

static LLVMValueRef intrinsic_1(Body *b, const char *name, Kind k, LLVMValueRef x) {
  LLVMTypeRef type = type_of_kind(b->unit, k);
  return call_intrinsic(b, name, 1, &type, 1, &x);
}

/* exp(-|x|), which never overflows. */
static LLVMValueRef exp_of_minus_size(Body *b, Kind k, LLVMValueRef x) {
  LLVMValueRef minus = LLVMBuildFNeg(b->at, intrinsic_1(b, "llvm.fabs", k, x), "");
  return call_named(b, OP_EXP, k, &minus);
}

static LLVMValueRef sigmoid(Body *b, Kind k, LLVMValueRef x) {
  LLVMValueRef one = LLVMConstReal(type_of_kind(b->unit, k), 1), e = exp_of_minus_size(b, k, x);
  LLVMValueRef above = LLVMBuildFCmp(b->at, LLVMRealOGE, x, LLVMConstNull(type_of_kind(b->unit, k)), "");
  LLVMValueRef denominator = LLVMBuildFAdd(b->at, one, e, "");
  return LLVMBuildFDiv(b->at, LLVMBuildSelect(b->at, above, one, e, ""), denominator, "");
}

/* max(x, 0) + log1p(exp(-|x|)) */
static LLVMValueRef softplus(Body *b, Kind k, LLVMValueRef x) {
  LLVMValueRef zero = LLVMConstNull(type_of_kind(b->unit, k)), e = exp_of_minus_size(b, k, x);
  LLVMValueRef above = LLVMBuildSelect(b->at, LLVMBuildFCmp(b->at, LLVMRealOGT, x, zero, ""), x, zero, "");
  return LLVMBuildFAdd(b->at, above, call_named(b, OP_LOG1P, k, &e), "");
}

/* Few multiplications where they err less than 2.5 units in the last place and cannot leave the range on the way;
   otherwise pow, with the parity of an exponent that a float cannot hold. */
static LLVMValueRef power(Body *b, Kind k, LLVMValueRef x, int64_t n) {
  LLVMTypeRef type = type_of_kind(b->unit, k);
  LLVMValueRef one = LLVMConstReal(type, 1);
  if (n == 0)
    return one;
  if (n == -1)
    return LLVMBuildFDiv(b->at, one, x, "");
  if (n >= 1 && n <= 5) {
    LLVMValueRef square = n > 1 ? arithmetic(b, OP_MUL, k, x, x, b->unit->fast) : x;
    LLVMValueRef even = n >= 4 ? arithmetic(b, OP_MUL, k, square, square, b->unit->fast) : square;
    return n == 1 || n == 2 || n == 4 ? even : arithmetic(b, OP_MUL, k, even, x, b->unit->fast);
  }
  LLVMValueRef args[] = {x, LLVMConstReal(type, (double)n)};
  const int64_t exact = k == KIND_F32 ? INT64_C(1) << 24 : INT64_C(1) << 53;
  if (n > -exact && n < exact)
    return call_named(b, OP_POW, k, args);
  args[0] = intrinsic_1(b, "llvm.fabs", k, x);
  LLVMValueRef size = call_named(b, OP_POW, k, args), parts[] = {size, x};
  return n % 2 ? call_intrinsic(b, "llvm.copysign", 1, &type, 2, parts) : size;
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
  case OP_SIGMOID: return sigmoid(b, k, x[0]);
  case OP_SOFTPLUS: return softplus(b, k, x[0]);
  case OP_POWI: return power(b, k, x[0], op->at.i);
  case OP_LGAMMA: return call_runtime(b, "gradc_rt_lgamma", k, 1, x);
  case OP_POLYGAMMA: return polygamma(b, k, op->at.i, x[0]);
  default: return name_of(op->code) ? call_named(b, op->code, k, x) : NULL;
  }
}
