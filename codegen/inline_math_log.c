/* Logarithms: log, log2, log10, log1p, and softplus.

   x = 2^k (1 + f) with 1 + f between sqrt(1/2) and sqrt(2); with s = f / (2 + f)
       log(1 + f) = 2 s + s R(s^2) = f - (f^2 / 2 - s (f^2 / 2 + R(s^2))),
   of which the last form errs least, f being exact (Sun's fdlibm has it). */
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
static const double rest_f32[] = {0x1.55555cp-1, 0x1.997b8cp-2, 0x1.2efa24p-2};

static const LogConstants constants[] = {
    {0x1.62ep-1, 0x1.0bfbe8p-15, 0x1.344p-2, 0x1.3509f8p-18, 0x3f3504f3, 0x1p-126, 25, POLYNOMIAL(rest_f32)},
    {0x1.62e42feep-1, 0x1.a39ef35793c76p-33, 0x1.34413509f6p-2, 0x1.9fef311f12b36p-42, 0x3fe6a09e667f3bcc, 0x1p-1022,
     54, POLYNOMIAL(rest_f64)},
};

static const LogConstants *constants_of(const MathCode *c) {
  return &constants[c->kind == KIND_F64];
}

/* k, and 1 + f, of a normal number above 0. */
static Real exponent(const MathCode *c, Real x, Real *one_f) {
  const FloatFormat *f = float_format(c);
  const uint64_t root_half = constants_of(c)->root_half;
  Bits moved = bits_add(c, bits_of(c, x), pattern(c, f->one - root_half));
  *one_f = real_of(c, bits_add(c, bits_and(c, moved, pattern(c, f->fraction)), pattern(c, root_half)));
  /* As the fraction of 2^fraction_bits, where it stands for itself. */
  const double base = ldexp(1, f->fraction_bits);
  Bits biased = bits_or(c, shift_right(c, moved, f->fraction_bits),
                        pattern(c, (uint64_t)(f->exponent_bias + f->fraction_bits) << f->fraction_bits));
  return sub(c, real_of(c, biased), number(c, base + f->exponent_bias));
}

/* high - rest is log(1 + f + low) less `more`, high being f. */
static Real log_rest(const MathCode *c, Real f, Real more) {
  Real s = quotient(c, f, add(c, f, number(c, 2))), z = mul(c, s, s),
       half_square = mul(c, mul(c, number(c, 0.5), f), f);
  Real r = mul(c, z, evaluate_tree(c, constants_of(c)->rest, z));
  return sub(c, half_square, mul_add(c, s, add(c, half_square, r), more));
}

/* k ln 2 + log(1 + f) + low. */
static Real log_sum(const MathCode *c, Real k, Real f, Real low) {
  const LogConstants *constant = constants_of(c);
  Real more = mul(c, k, number(c, constant->ln2_low));
  if (low)
    more = add(c, more, low);
  return sub(c, mul(c, k, number(c, constant->ln2_high)), sub(c, log_rest(c, f, more), f));
}

/* The exponent and f of x, subnormal numbers included. */
static Real split(const MathCode *c, Real x, Real *f) {
  const LogConstants *constant = constants_of(c);
  Flag small = below(c, x, number(c, constant->least_normal));
  Real lifted = choose(c, small, mul(c, x, number(c, ldexp(1, constant->lift))), x), one_f;
  Real k = exponent(c, lifted, &one_f);
  *f = sub(c, one_f, number(c, 1));
  return choose(c, small, sub(c, k, number(c, constant->lift)), k);
}

/* `inside` where 0 < x < infinity; x is what the logarithm is of. */
static Real with_limits(const MathCode *c, Real x, Real inside) {
  Real zero = number(c, 0), infinity = number(c, INFINITY);
  Real outside = choose(c, equal(c, x, zero), number(c, -INFINITY), number(c, NAN));
  return choose(c, below(c, zero, x), choose(c, below(c, x, infinity), inside, x), outside);
}

Real math_log(MathCode *c, const Real *x) {
  Real f, k = split(c, x[0], &f);
  return with_limits(c, x[0], log_sum(c, k, f, NULL));
}

/* k + factor log(1 + f) */
static Real log_by_factor(const MathCode *c, Real k, Real f, double factor) {
  Real m = sub(c, f, log_rest(c, f, number(c, 0)));
  return mul_add(c, m, number(c, factor), k);
}

Real math_log2(MathCode *c, const Real *x) {
  Real f, k = split(c, x[0], &f);
  return with_limits(c, x[0], log_by_factor(c, k, f, 0x1.71547652b82fep+0));
}

Real math_log10(MathCode *c, const Real *x) {
  const LogConstants *constant = constants_of(c);
  Real f, k = split(c, x[0], &f);
  Real low = mul(c, k, number(c, constant->log10_2_low));
  Real m = log_by_factor(c, low, f, 0x1.bcb7b1526e50ep-2);
  return with_limits(c, x[0], mul_add(c, k, number(c, constant->log10_2_high), m));
}

/* log(1 + x + low), x >= -1 or NaN, low within half a unit of x's last place. */
static Real log_of_1_and(const MathCode *c, Real x, Real low) {
  Real one = number(c, 1), lost, u = two_sum(c, one, x, &lost), one_f, k = exponent(c, u, &one_f);
  if (low)
    lost = add(c, lost, low);
  /* Times 2^-k, by a factor twice that, which is not too small; u = 2^128 or 2^1024 makes it 0. */
  Bits shifted_k = bits_sub(c, bits_of(c, u), bits_of(c, one_f));
  Bits twice = bits_sub(c, bits_of(c, number(c, 2)), shifted_k);
  lost = mul(c, mul(c, lost, real_of(c, twice)), number(c, 0.5));
  Real f = sub(c, one_f, one), rounded, sum = fast_two_sum(c, f, lost, &rounded);
  return log_sum(c, k, sum, rounded);
}

Real math_log1p(MathCode *c, const Real *x) {
  Real inside = log_of_1_and(c, x[0], NULL);
  return with_sign(c, with_limits(c, add(c, x[0], number(c, 1)), inside), x[0]);
}

/* max(x, 0) + log1p(exp(-|x|)) */
Real math_softplus(MathCode *c, const Real *x) {
  Real low, power = exp_of_minus_size(c, x[0], &low);
  Real zero = number(c, 0), above = choose(c, below(c, x[0], zero), zero, x[0]);
  return add(c, above, log_of_1_and(c, power, low));
}
