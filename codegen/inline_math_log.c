/* Logarithms: log, log2, log10, log1p, and softplus.

   x = 2^k (1 + f) with 1 + f between sqrt(1/2) and sqrt(2); with s = f / (2 + f)
       log(1 + f) = 2 s + s R(s^2) = f - (s f - s R(s^2)),
   of which the last form errs little, f being exact and the rest at most a fifth of it. */
#include "codegen/inline_math_code.h"
#include <math.h>

typedef struct LogConstants {
  double ln2_high, ln2_low; /* k ln2_high is exact */
  double log10_2_high, log10_2_low;
  uint64_t root_half; /* the bits of sqrt(1/2), rounded down */
  double least_normal;
  int lift;        /* 2^lift makes a subnormal number normal */
  Polynomial rest; /* R(z) / z */
} LogConstants;

/* On z = s^2 in [0, 0.0295]; error of R relative to 2: 2^-57 and 2^-28. */
static const double rest_f64[] = {0x1.5555555555558p-1, 0x1.9999999995284p-2, 0x1.2492492e03d5p-2, 0x1.c71c62c9cb7e9p-3,
                                  0x1.7462bd218b3e7p-3, 0x1.39fd3c2df8ce9p-3, 0x1.2b66b9bfa7252p-3};
/* Error 2^-35: for exponents up to 128 in f32. */
static const double rest_brief[] = {0x1.5555554b9413ep-1, 0x1.9999ec123779p-2, 0x1.245bf773b807ap-2,
                                    0x1.ddde6f335e74p-3};
static const double rest_f32[] = {0x1.55555cp-1, 0x1.997b8cp-2, 0x1.2efa24p-2};

static const LogConstants constants[] = {
    {0x1.62ep-1, 0x1.0bfbe8p-15, 0x1.344p-2, 0x1.3509f8p-18, 0x3f3504f3, 0x1p-126, 25, POLYNOMIAL(rest_f32)},
    {0x1.62e42feep-1, 0x1.a39ef35793c76p-33, 0x1.34413509f6p-2, 0x1.9fef311f12b36p-42, 0x3fe6a09e667f3bcc, 0x1p-1022,
     54, POLYNOMIAL(rest_f64)},
    {0x1.62e42feep-1, 0x1.a39ef35793c76p-33, 0x1.34413509f6p-2, 0x1.9fef311f12b36p-42, 0x3fe6a09e667f3bcc, 0x1p-1022,
     54, POLYNOMIAL(rest_brief)},
};

static const LogConstants *constants_of(const MathCode *c) {
  return &constants[c->kind == KIND_F32 ? 0 : c->brief ? 2 : 1];
}

/* 1 + f of a normal number above 0, and k as the integer `more` less than *k_more. */
static Real fraction(const MathCode *c, Real x, Real *k_more, double *more) {
  const FloatFormat *f = float_format(c);
  const uint64_t root_half = constants_of(c)->root_half;
  Bits moved = bits_add(c, bits_of(c, x), pattern(c, f->one - root_half));
  /* The biased exponent becomes the fraction of 2^fraction_bits, where it stands for itself. */
  Bits biased = bits_or(c, shift_right(c, moved, f->fraction_bits),
                        pattern(c, (uint64_t)(f->exponent_bias + f->fraction_bits) << f->fraction_bits));
  *k_more = real_of(c, biased);
  *more = ldexp(1, f->fraction_bits) + f->exponent_bias;
  return real_of(c, bits_add(c, bits_and(c, moved, pattern(c, f->fraction)), pattern(c, root_half)));
}

/* What log(1 + f) is beside f, `under` being 2 + f; `more` is added where it is smallest.  Little waits for the
 * quotient.
 */
static Real log_tail(const MathCode *c, Real f, Real under, Real more) {
  Real s = quotient(c, f, under), z = mul(c, s, s);
  const Polynomial rest = constants_of(c)->rest;
  Real factor = rest.n > 3 ? evaluate_tree(c, rest, z) : evaluate(c, rest, z); /* as deep, and shorter */
  return mul_add(c, mul(c, s, z), factor, mul_add(c, negated(c, s), f, more));
}

/* log(1 + f), to the last digit. */
static Real log_near_1(const MathCode *c, Real f, Real more) {
  return add(c, f, log_tail(c, f, add(c, f, number(c, 2)), more));
}

static Real log_sum_over(const MathCode *c, Real k, Real f, Real under, Real low) {
  const LogConstants *constant = constants_of(c);
  Real more = mul(c, k, number(c, constant->ln2_low));
  if (low)
    more = add(c, more, low);
  return add(c, mul_add(c, k, number(c, constant->ln2_high), f), log_tail(c, f, under, more));
}

Real log_sum(const MathCode *c, Real k, Real f, Real low) {
  return log_sum_over(c, k, f, add(c, f, number(c, 2)), low);
}

Real split_number(const MathCode *c, Real x, Real *f) {
  const LogConstants *constant = constants_of(c);
  Flag small = below(c, x, number(c, constant->least_normal));
  Real lifted = choose(c, small, mul(c, x, number(c, ldexp(1, constant->lift))), x), k_more;
  double more;
  *f = sub(c, fraction(c, lifted, &k_more, &more), number(c, 1));
  return sub(c, k_more, choose(c, small, number(c, more + constant->lift), number(c, more)));
}

Real split_normal(const MathCode *c, Real x, Real *f) {
  Real k_more;
  double more;
  *f = sub(c, fraction(c, x, &k_more, &more), number(c, 1));
  return sub(c, k_more, number(c, more));
}

Flag is_normal(const MathCode *c, Real x) {
  const FloatFormat *f = float_format(c);
  const uint64_t least = UINT64_C(1) << f->fraction_bits;
  Bits beyond = bits_sub(c, bits_of(c, x), pattern(c, least));
  return bits_below(c, beyond, f->exponent - least);
}

Real with_log_limits(const MathCode *c, Real x, Real inside) {
  Real zero = number(c, 0), infinity = number(c, INFINITY);
  Real outside = choose(c, equal(c, x, zero), number(c, -INFINITY), number(c, NAN));
  return choose(c, below(c, zero, x), choose(c, below(c, x, infinity), inside, x), outside);
}

Real math_log(MathCode *c, const Real *x) {
  if (c->branches) {
    double more;
    Real operands[] = {x[0]}, k_more, one = number(c, 1), one_f = fraction(c, x[0], &k_more, &more);
    Flag rare = LLVMBuildNot(c->at, is_normal(c, x[0]), "");
    /* 2 + f is exact in either way where it is, and rounded alike. */
    Real log = log_sum_over(c, sub(c, k_more, number(c, more)), sub(c, one_f, one), add(c, one_f, one), NULL);
    return rare_values(c, rare, 1, operands, log);
  }
  Real f, k = split_number(c, x[0], &f);
  return with_log_limits(c, x[0], log_sum(c, k, f, NULL));
}

/* 2 s + s^3 (2/3 + s^2 tail(s^2)) with s = f / (2 + f), in sums and products of two floats up to the second term.  The
   tail on s^2 in [0, 0.0295]; error relative to 2 s: 2^-69. */
static const double tail_f64[] = {0x1.999999999999ap-2, 0x1.24924924923p-2,   0x1.c71c71c74bbddp-3,
                                  0x1.745d173d9558p-3,  0x1.3b13a97ece9a5p-3, 0x1.111561d10c9b3p-3,
                                  0x1.e015e35261296p-4, 0x1.dacaf3d4b5a2ep-4};

Real log_and_rest(const MathCode *c, Real k, Real f, Real *low) {
  const LogConstants *constant = constants_of(c);
  const Polynomial tail = POLYNOMIAL(tail_f64);
  Real two = number(c, 2);
  Real under_low, under = fast_two_sum(c, two, f, &under_low), inverse = quotient(c, number(c, 1), under);
  Real s = mul(c, f, inverse), lost, product = two_product(c, s, under, &lost);
  Real missing = sub(c, sub(c, sub(c, f, product), lost), mul(c, s, under_low)), s_low = mul(c, missing, inverse);
  Real square_low, square = two_product(c, s, s, &square_low);
  square_low = mul_add(c, mul(c, two, s), s_low, square_low);
  Real cube_low, cube = two_product(c, s, square, &cube_low);
  cube_low = add(c, cube_low, mul_add(c, s, square_low, mul(c, s_low, square)));
  Real factor_low, rest = mul(c, square, evaluate_tree(c, tail, square));
  Real factor = fast_two_sum(c, number(c, 0x1.5555555555555p-1), rest, &factor_low);
  factor_low = add(c, factor_low, number(c, 0x1.5555555555555p-55));
  Real term_low, term = two_product(c, cube, factor, &term_low);
  term_low = add(c, term_low, mul_add(c, cube, factor_low, mul(c, cube_low, factor)));
  Real sum_low, sum = fast_two_sum(c, mul(c, two, s), term, &sum_low);
  sum_low = add(c, sum_low, mul_add(c, two, s_low, term_low));
  Real log = fast_two_sum(c, mul(c, k, number(c, constant->ln2_high)), sum, low);
  *low = add(c, *low, mul_add(c, k, number(c, constant->ln2_low), sum_low));
  return log;
}

/* k + factor log(1 + f) */
static Real log_by_factor(const MathCode *c, Real k, Real f, double factor) {
  return mul_add(c, log_near_1(c, f, number(c, 0)), number(c, factor), k);
}

Real math_log2(MathCode *c, const Real *x) {
  Real f, k = split_number(c, x[0], &f);
  return with_log_limits(c, x[0], log_by_factor(c, k, f, 0x1.71547652b82fep+0));
}

Real math_log10(MathCode *c, const Real *x) {
  const LogConstants *constant = constants_of(c);
  Real f, k = split_number(c, x[0], &f);
  Real low = mul(c, k, number(c, constant->log10_2_low));
  Real m = log_by_factor(c, low, f, 0x1.bcb7b1526e50ep-2);
  return with_log_limits(c, x[0], mul_add(c, k, number(c, constant->log10_2_high), m));
}

Real log_of_1_and(const MathCode *c, Real x) {
  Real one = number(c, 1), lost, u = two_sum(c, one, x, &lost), k_more;
  double more;
  Real one_f = fraction(c, u, &k_more, &more), k = sub(c, k_more, number(c, more));
  /* Times 2^-k, by a factor twice that, which is not too small; u = 2^128 or 2^1024 makes it 0. */
  Bits shifted_k = bits_sub(c, bits_of(c, u), bits_of(c, one_f));
  Bits twice = bits_sub(c, bits_of(c, number(c, 2)), shifted_k);
  lost = mul(c, mul(c, lost, real_of(c, twice)), number(c, 0.5));
  Real f = sub(c, one_f, one), rounded, sum = fast_two_sum(c, f, lost, &rounded);
  return log_sum(c, k, sum, rounded);
}

Real math_log1p(MathCode *c, const Real *x) {
  Real inside = log_of_1_and(c, x[0]);
  return with_sign(c, with_log_limits(c, add(c, x[0], number(c, 1)), inside), x[0]);
}

/* max(x, 0) + log(1 + e) with e = exp(-|x|), where 1 + e lies in [1, 2]: its half is taken beyond sqrt(2). */
Real math_softplus(MathCode *c, const Real *x) {
  const LogConstants *constant = constants_of(c);
  Real low, e = exp_of_minus_size(c, x[0], &low), zero = number(c, 0);
  Flag halved = below(c, number(c, 0x1.a8279ap-2), e);
  Real f = choose(c, halved, mul_add(c, e, number(c, 0.5), number(c, -0.5)), e);
  Real more = add(c, low, choose(c, halved, number(c, constant->ln2_low), zero));
  Real high = choose(c, halved, number(c, constant->ln2_high), zero);
  Real above = choose(c, below(c, x[0], zero), zero, x[0]);
  return add(c, above, add(c, high, log_near_1(c, f, more)));
}
