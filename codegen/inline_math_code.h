/* The words that the mathematical functions are written in.  Each appends one instruction, or the few that stand for
   it, on a scalar or on all lanes of a vector: a recipe does not see which.

   What a recipe must keep to, so that the bits are the same everywhere: no instruction of its has a fast-math flag; no
   value of a lane depends on another lane; it has no branches but the cold ones of `far_values` and `rare_values`. */
#ifndef GRADC_CODEGEN_INLINE_MATH_CODE_H
#define GRADC_CODEGEN_INLINE_MATH_CODE_H
#include "codegen/inline_math.h"

/* What a value is, for the reader: a float, an integer of the same width, a truth value; each once a lane. */
typedef LLVMValueRef Real, Bits, Flag;

typedef struct MathCode {
  Unit *unit;
  LLVMBuilderRef at;
  LLVMValueRef function;
  Opcode op;
  int64_t exponent; /* of math_powi */
  Kind kind;
  int lanes;                        /* 1: scalars */
  int places;                       /* of Bits: as many as lanes; for a scalar as many as a register of vectors has,
                                       whose first is its: it need not move to the registers of integers and back */
  LLVMTypeRef element, real, whole; /* of a lane, of a Real, of Bits */
  bool brief;                       /* f64 on the way to f32: polynomials as short as for f32 will do */
  bool fused;                       /* there is an instruction for x * y + z that rounds once */
  bool branches; /* a scalar: what is rare, as infinities and subnormal numbers, is left to the recipe without branches
                  */
} MathCode;

/* By kind, lanes and places. */
void set_math_types(MathCode *c);

/* What there is to know of the format of a float. */
typedef struct FloatFormat {
  int fraction_bits, exponent_bias;
  uint64_t sign, exponent, fraction; /* masks */
  uint64_t one;                      /* the bits of 1.0 */
  /* 1.5 * 2^fraction_bits: adding it leaves an integer, rounded to nearest, in the low bits. */
  double round_magic;
} FloatFormat;

const FloatFormat *float_format(const MathCode *c);

/* Coefficients in ascending order, of a polynomial or of its part from some power on. */
typedef struct Polynomial {
  int n;
  const double *at;
} Polynomial;
#define POLYNOMIAL(array) {(int)(sizeof(array) / sizeof *(array)), array} /* as an initialiser */

/* ---- constants */
Real number(const MathCode *c, double x);
Bits pattern(const MathCode *c, uint64_t bits);

/* ---- arithmetic */
static inline Real add(const MathCode *c, Real x, Real y) {
  return LLVMBuildFAdd(c->at, x, y, "");
}
static inline Real sub(const MathCode *c, Real x, Real y) {
  return LLVMBuildFSub(c->at, x, y, "");
}
static inline Real mul(const MathCode *c, Real x, Real y) {
  return LLVMBuildFMul(c->at, x, y, "");
}
static inline Real quotient(const MathCode *c, Real x, Real y) {
  return LLVMBuildFDiv(c->at, x, y, "");
}
static inline Real negated(const MathCode *c, Real x) {
  return LLVMBuildFNeg(c->at, x, "");
}
/* x * y + z, rounded once where the processor has an instruction for that, else twice. */
Real mul_add(const MathCode *c, Real x, Real y, Real z);
Real size_of(const MathCode *c, Real x); /* |x| */
Real square_root(const MathCode *c, Real x);
Real with_sign(const MathCode *c, Real size, Real sign);
/* A sum of sizes |x| >= |y|, or a product, with its rounding error, exact. */
Real fast_two_sum(const MathCode *c, Real x, Real y, Real *error);
Real two_sum(const MathCode *c, Real x, Real y, Real *error); /* of any sizes */
Real two_product(const MathCode *c, Real x, Real y, Real *error);
/* The polynomial at x: by the fewest operations, each waiting for the last (Horner); by a tree of short depth, with a
   few more operations (Estrin); by such a tree with the constant added last, where its sum is not to be rounded at each
   level of the tree. */
Real evaluate(const MathCode *c, Polynomial p, Real x);
Real evaluate_tree(const MathCode *c, Polynomial p, Real x);
Real evaluate_constant_last(const MathCode *c, Polynomial p, Real x);

/* ---- bits */
Bits bits_of(const MathCode *c, Real x);
Real real_of(const MathCode *c, Bits x);
static inline Bits bits_add(const MathCode *c, Bits x, Bits y) {
  return LLVMBuildAdd(c->at, x, y, "");
}
static inline Bits bits_sub(const MathCode *c, Bits x, Bits y) {
  return LLVMBuildSub(c->at, x, y, "");
}
static inline Bits bits_and(const MathCode *c, Bits x, Bits y) {
  return LLVMBuildAnd(c->at, x, y, "");
}
static inline Bits bits_or(const MathCode *c, Bits x, Bits y) {
  return LLVMBuildOr(c->at, x, y, "");
}
static inline Bits bits_xor(const MathCode *c, Bits x, Bits y) {
  return LLVMBuildXor(c->at, x, y, "");
}
static inline Bits shift_left(const MathCode *c, Bits x, int n) {
  return LLVMBuildShl(c->at, x, pattern(c, (uint64_t)n), "");
}
static inline Bits shift_right(const MathCode *c, Bits x, int n) {
  return LLVMBuildLShr(c->at, x, pattern(c, (uint64_t)n), "");
}
/* 2^n for the integer n in the low bits of `bits`, what stands above it being ignored; n in the normal range. */
Real power_of_2(const MathCode *c, Bits bits);

/* ---- choice */
static inline Flag below(const MathCode *c, Real x, Real y) {
  return LLVMBuildFCmp(c->at, LLVMRealOLT, x, y, "");
}
static inline Flag equal(const MathCode *c, Real x, Real y) {
  return LLVMBuildFCmp(c->at, LLVMRealOEQ, x, y, "");
}
static inline Flag is_nan(const MathCode *c, Real x) {
  return LLVMBuildFCmp(c->at, LLVMRealUNO, x, x, "");
}
Flag bits_negative(const MathCode *c, Bits x);
Flag bits_below(const MathCode *c, Bits x, uint64_t bound); /* without signs */
static inline Flag both(const MathCode *c, Flag x, Flag y) {
  return LLVMBuildAnd(c->at, x, y, "");
}
static inline Flag either(const MathCode *c, Flag x, Flag y) {
  return LLVMBuildOr(c->at, x, y, "");
}
static inline Real choose(const MathCode *c, Flag condition, Real x, Real y) {
  return LLVMBuildSelect(c->at, condition, x, y, "");
}
/* NaN stays NaN. */
static inline Real at_most(const MathCode *c, Real x, double bound) {
  return choose(c, below(c, number(c, bound), x), number(c, bound), x);
}
static inline Real at_least(const MathCode *c, Real x, double bound) {
  return choose(c, below(c, x, number(c, bound)), number(c, bound), x);
}

/* `near`, but what libm's function gives for x where `is_far`: tested for all lanes at once, and rarely taken.  Ends
   the function's block and goes on in another. */
Real far_values(MathCode *c, Flag is_far, Real x, Real near);

/* The same with what another function of the module gives for the operands. */
Real cold_values(MathCode *c, Flag is_cold, LLVMValueRef function, int nargs, Real *operands, Real near);

/* The same with what this function's own recipe gives without branches, for a scalar. */
Real rare_values(MathCode *c, Flag is_rare, int nargs, Real *operands, Real near);

/* Of an internal function that is rarely called: it keeps all registers of those who call it, by cold_values. */
void make_cold(const MathCode *c, LLVMValueRef function);

/* An internal function of the module of `nargs` operands, whose block c goes on in. */
LLVMValueRef math_function(MathCode *c, const char *name, int nargs);

/* The same lanes in f64, for results in f32. */
MathCode promoted(const MathCode *c);
Real widened(const MathCode *wide, Real x);
Real narrowed(const MathCode *narrow, Real x);

/* ---- what the families share */
/* exp(x + low) = 2^n (1 + p), p = exp(r) - 1; n by its low bits, and as a sum of two halves, as one factor 2^n would
   leave the normal range before the result leaves that of floats. */
typedef struct Exponential {
  Bits n, n1, n2;
  Real r, p;
} Exponential;

double exp_safe(const MathCode *c);  /* exp(x) is a normal number from its negative up to it */
double exp_bound(const MathCode *c); /* exp(x) overflows well below it, and is 0 above its negative */
/* |x| <= exp_bound(), low much smaller than 1; NULL: 0. */
Exponential exponential(const MathCode *c, Real x, Real low);
/* 2^n (1 + p) of a normal number; the same bits. */
Real scaled_safely(const MathCode *c, const Exponential *e);
/* factor 2^n (1 + p), rounded once more where it is subnormal; NULL: 1. */
Real scaled(const MathCode *c, const Exponential *e, Real factor);
/* exp(-|x|), and what its rounding lost. */
Real exp_of_minus_size(const MathCode *c, Real x, Real *low);

/* x = 2^k (1 + f), 1 + f between sqrt(1/2) and sqrt(2), of a finite x > 0; gives k. */
Real split_number(const MathCode *c, Real x, Real *f);
/* The same of a normal number. */
Real split_normal(const MathCode *c, Real x, Real *f);
Flag is_normal(const MathCode *c, Real x); /* above 0 */
/* `inside` where 0 < x < infinity, else as the logarithm of x. */
Real with_log_limits(const MathCode *c, Real x, Real inside);
/* k ln 2 + log(1 + f) + low; NULL: 0. */
Real log_sum(const MathCode *c, Real k, Real f, Real low);
/* The logarithm of 2^k (1 + f) with about 15 digits more than a float holds. */
Real log_and_rest(const MathCode *c, Real k, Real f, Real *low);
/* log(1 + x) for x > -1. */
Real log_of_1_and(const MathCode *c, Real x);

/* Whether math_powi serves for x^n. */
bool power_is_products(int64_t n);

/* ---- the recipes; each gives its result for operands x (and y) */
typedef Real MathRecipe(MathCode *c, const Real *x);
MathRecipe math_exp, math_exp2, math_expm1, math_sigmoid, math_tanh, math_sinh, math_cosh;
MathRecipe math_log, math_log2, math_log10, math_log1p, math_softplus;
MathRecipe math_sin, math_cos, math_tan;
MathRecipe math_atan, math_atan2, math_asin, math_acos;
MathRecipe math_erf, math_erfc, math_pow, math_pow_below, math_powi, math_cbrt, math_hypot;
MathRecipe math_asinh, math_acosh, math_atanh;

/* sigmoid(x), and sigmoid(-x) where it is asked for. */
Real math_sigmoids(const MathCode *c, Real x, Real *of_minus);

#endif
