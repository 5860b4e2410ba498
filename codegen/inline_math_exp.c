/* The exponential function and its kin: exp2, expm1, sigmoid, tanh, sinh, cosh.

   x = n ln 2 + r with |r| <= ln(2) / 2, and exp(x) = 2^n (1 + p), p = exp(r) - 1.  With z = r^2
       p = s + c,   s = sinh(r) = r + r z odd(z),   c = cosh(r) - 1 = z even(z). */
#include "codegen/inline_math_code.h"

typedef struct ExpConstants {
  double log2_e, ln2_high, ln2_low; /* n ln2_high is exact */
  double safe;                      /* exp is a normal number from its negative up to it */
  double most;                      /* exp overflows well below it, and is 0 above its negative */
  double minus_one;                 /* expm1(x) is -1 for x below it */
  double saturated;                 /* tanh(x) is 1 from it on */
  double most_hyperbolic;           /* sinh and cosh overflow below it, by their last step alone */
  Polynomial odd, even;
} ExpConstants;

/* On r^2 in [0, 0.1203].  odd: error of sinh(r) / r 2^-60 and 2^-33; even: of cosh(r) - 1 over r^2, 2^-68 and 2^-32. */
static const double odd_f64[] = {0x1.5555555555556p-3, 0x1.1111111110706p-7, 0x1.a01a01a906e42p-13,
                                 0x1.71de0a2965bbfp-19, 0x1.af3f363ef256bp-26};
static const double even_f64[] = {0x1p-1,
                                  0x1.5555555555556p-5,
                                  0x1.6c16c16c15ff4p-10,
                                  0x1.a01a01a81ce05p-16,
                                  0x1.27e4d80957bdfp-22,
                                  0x1.1f7900ed8ef9dp-29};
static const double odd_f32[] = {0x1.555556p-3, 0x1.110f88p-7, 0x1.a3634cp-13};
static const double even_f32[] = {0x1p-1, 0x1.5555p-5, 0x1.6d307cp-10};

static const ExpConstants constants[] = {
    {0x1.715476p+0, 0x1.62e4p-1, 0x1.7f7d1cp-20, 80, 110, -20, 10, 89.6, POLYNOMIAL(odd_f32), POLYNOMIAL(even_f32)},
    {0x1.71547652b82fep+0, 0x1.62e42fefa38p-1, 0x1.ef35793c7673p-45, 700, 800, -40, 20, 710.7, POLYNOMIAL(odd_f64),
     POLYNOMIAL(even_f64)},
    {0x1.71547652b82fep+0, 0x1.62e42fefa38p-1, 0x1.ef35793c7673p-45, 700, 800, -40, 20, 710.7, POLYNOMIAL(odd_f32),
     POLYNOMIAL(even_f32)},
};

static const ExpConstants *constants_of(const MathCode *c) {
  return &constants[c->kind == KIND_F32 ? 0 : c->brief ? 2 : 1];
}

double exp_safe(const MathCode *c) {
  return constants_of(c)->safe;
}

double exp_bound(const MathCode *c) {
  return constants_of(c)->most;
}

static void of_remainder(const MathCode *c, Exponential *e, Real r) {
  const ExpConstants *k = constants_of(c);
  Real z = mul(c, r, r);
  e->r = r;
  e->p = mul_add(c, z, mul_add(c, r, evaluate(c, k->odd, z), evaluate(c, k->even, z)), r);
}

Exponential exponential(const MathCode *c, Real x, Real low) {
  const ExpConstants *k = constants_of(c);
  Real magic = number(c, float_format(c)->round_magic);
  Real sum = mul_add(c, x, number(c, k->log2_e), magic), half = mul_add(c, x, number(c, k->log2_e / 2), magic);
  Real n = sub(c, sum, magic), r = mul_add(c, n, number(c, -k->ln2_high), x);
  if (low)
    r = add(c, r, mul_add(c, n, number(c, -k->ln2_low), low));
  else
    r = mul_add(c, n, number(c, -k->ln2_low), r);
  Exponential e = {.n = bits_of(c, sum), .n1 = bits_of(c, half)};
  e.n2 = bits_sub(c, e.n, e.n1);
  of_remainder(c, &e, r);
  return e;
}

Real scaled_safely(const MathCode *c, const Exponential *e) {
  return mul(c, add(c, number(c, 1), e->p), power_of_2(c, e->n));
}

Real scaled(const MathCode *c, const Exponential *e, Real factor) {
  Real near = factor ? mul_add(c, factor, e->p, factor) : add(c, number(c, 1), e->p);
  return mul(c, mul(c, near, power_of_2(c, e->n1)), power_of_2(c, e->n2));
}

Real exp_of_minus_size(const MathCode *c, Real x, Real *low) {
  Real minus = at_least(c, negated(c, size_of(c, x)), -constants_of(c)->most);
  const Exponential e = exponential(c, minus, NULL);
  Real lost, near_1 = fast_two_sum(c, number(c, 1), e.p, &lost);
  Real scale1 = power_of_2(c, e.n1), scale2 = power_of_2(c, e.n2);
  *low = mul(c, mul(c, lost, scale1), scale2);
  return mul(c, mul(c, near_1, scale1), scale2);
}

Real math_exp(MathCode *c, const Real *x) {
  const double most = constants_of(c)->most;
  if (c->branches) {
    Real operands[] = {x[0]};
    const Exponential e = exponential(c, x[0], NULL);
    Flag rare = LLVMBuildFCmp(c->at, LLVMRealUGT, size_of(c, x[0]), number(c, constants_of(c)->safe), "");
    return rare_values(c, rare, 1, operands, scaled_safely(c, &e));
  }
  const Exponential e = exponential(c, at_least(c, at_most(c, x[0], most), -most), NULL);
  return scaled(c, &e, NULL);
}

Real math_exp2(MathCode *c, const Real *x) {
  const double most = c->kind == KIND_F64 ? 1100 : 160;
  Real y = at_least(c, at_most(c, x[0], most), -most), magic = number(c, float_format(c)->round_magic);
  Real sum = add(c, y, magic), half = mul_add(c, y, number(c, 0.5), magic);
  Exponential e = {.n = bits_of(c, sum), .n1 = bits_of(c, half)};
  e.n2 = bits_sub(c, e.n, e.n1);
  of_remainder(c, &e, mul(c, sub(c, y, sub(c, sum, magic)), number(c, 0x1.62e42fefa39efp-1)));
  return scaled(c, &e, NULL);
}

/* 2^n p + (2^n - 1), with both divided by 2^n2 at first. */
Real math_expm1(MathCode *c, const Real *x) {
  const ExpConstants *k = constants_of(c);
  const Exponential e = exponential(c, at_least(c, at_most(c, x[0], k->most), k->minus_one), NULL);
  Real scale1 = power_of_2(c, e.n1), scale2 = power_of_2(c, e.n2);
  Real minus_1 = sub(c, scale1, power_of_2(c, bits_sub(c, pattern(c, 0), e.n2)));
  return with_sign(c, mul(c, mul_add(c, e.p, scale1, minus_1), scale2), x[0]);
}

/* exp(-|x|) / (1 + exp(-|x|)) below 0, 1 / (1 + exp(-|x|)) above.  Of -x: what is left to 1, and exp(-x) as much. */
Real math_sigmoids(const MathCode *c, Real x, Real *of_minus) {
  Real minus = at_least(c, negated(c, size_of(c, x)), -constants_of(c)->most), one = number(c, 1);
  const Exponential e = exponential(c, minus, NULL);
  Real power = scaled(c, &e, NULL);
  Flag negative = below(c, x, number(c, 0));
  Real result = quotient(c, choose(c, negative, power, one), add(c, one, power));
  if (of_minus)
    *of_minus = choose(c, negative, sub(c, one, result), mul(c, power, result));
  return result;
}

Real math_sigmoid(MathCode *c, const Real *x) {
  return math_sigmoids(c, x[0], NULL);
}

/* t / (t + 2) with t = expm1(2 |x|). */
Real math_tanh(MathCode *c, const Real *x) {
  Real size = at_most(c, size_of(c, x[0]), constants_of(c)->saturated);
  const Exponential e = exponential(c, add(c, size, size), NULL);
  Real scale = power_of_2(c, e.n), t = mul_add(c, e.p, scale, sub(c, scale, number(c, 1)));
  return with_sign(c, quotient(c, t, add(c, t, number(c, 2))), x[0]);
}

/* cosh(x) = (2^n + 2^-n) / 2 cosh(r) + (2^n - 2^-n) / 2 sinh(r), and sinh(x) with these factors exchanged; here are
   half of them, so that they do not overflow, and s and c.  2^-n is of no account where n is large, and could not be
   made. */
typedef struct Hyperbolic {
  Real sum, difference, s, c;
} Hyperbolic;

static Hyperbolic hyperbolic(const MathCode *c, Real x) {
  const ExpConstants *k = constants_of(c);
  Real size = size_of(c, x), small = at_most(c, size, 4 * k->saturated);
  const Exponential e = exponential(c, at_most(c, size, k->most_hyperbolic), NULL);
  Bits n = bits_of(c, mul_add(c, small, number(c, k->log2_e), number(c, float_format(c)->round_magic)));
  Real rising = power_of_2(c, bits_sub(c, e.n, pattern(c, 2)));
  Real falling = power_of_2(c, bits_sub(c, pattern(c, (uint64_t)-2), n));
  Real z = mul(c, e.r, e.r);
  return (Hyperbolic){.sum = add(c, rising, falling),
                      .difference = sub(c, rising, falling),
                      .s = mul_add(c, mul(c, e.r, z), evaluate(c, k->odd, z), e.r),
                      .c = mul(c, z, evaluate(c, k->even, z))};
}

Real math_cosh(MathCode *c, const Real *x) {
  const Hyperbolic h = hyperbolic(c, x[0]);
  Real half = add(c, h.sum, mul_add(c, h.sum, h.c, mul(c, h.difference, h.s)));
  return add(c, half, half);
}

Real math_sinh(MathCode *c, const Real *x) {
  const Hyperbolic h = hyperbolic(c, x[0]);
  Real half = add(c, h.difference, mul_add(c, h.sum, h.s, mul(c, h.difference, h.c)));
  return with_sign(c, add(c, half, half), x[0]);
}
