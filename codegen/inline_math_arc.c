/* Inverse trigonometric functions: atan, atan2, asin, acos.

   atan(v) for v >= 0 is q pi/4 + atan(t): q = 0, t = v up to tan(pi/8); q = 1, t = (v - 1) / (v + 1) up to tan(3 pi/8);
   q = 2, t = -1 / v beyond.  One division serves all three, and a quotient v = y / x as well.

   asin(a) = s + s z R(z) with z = s^2, s = a up to 1/2; beyond, pi/2 - 2 (s + s z R(z)) with z = (1 - a) / 2. */
#include "codegen/inline_math_code.h"
#include <math.h>

typedef struct ArcConstants {
  double quarter_high, quarter_low; /* pi / 4; products of the first with integers up to 4 are exact */
  double large, small, lift;        /* sides not between the first two might overflow in a sum, or be subnormal */
  Polynomial atan;                  /* (atan(t) / t - 1) / t^2, |t| <= tan(pi/8) */
  Polynomial asin;                  /* (asin(s) / s - 1) / s^2, |s| <= 1/2 */
} ArcConstants;

/* On t^2 in [0, 0.1718].  Error relative to t: 2^-57 and 2^-28. */
static const double atan_f64[] = {-0x1.5555555555555p-2, 0x1.9999999999445p-3,  -0x1.249249243ee06p-3,
                                  0x1.c71c718992864p-4,  -0x1.745d0bbbb593cp-4, 0x1.3b126e8a10f6dp-4,
                                  -0x1.10fb06839650cp-4, 0x1.dfeef0f397197p-5,  -0x1.a0c2744727eeap-5,
                                  0x1.41cdfbe596e5fp-5,  -0x1.3b21d362e0112p-6};
static const double atan_f32[] = {-0x1.555554p-2, 0x1.999712p-3, -0x1.241e4ep-3, 0x1.b7f8d8p-4, -0x1.081362p-4};
/* On s^2 in [0, 0.25].  Error relative to s: 2^-58 and 2^-25. */
static const double asin_f64[] = {
    0x1.5555555555556p-3, 0x1.3333333332da2p-4,  0x1.6db6db6e48603p-5, 0x1.f1c71c11dee9fp-6, 0x1.6e8bb37521b17p-6,
    0x1.1c4d112cecd77p-6, 0x1.c9d30ac3e3d54p-7,  0x1.7801021f28de7p-7, 0x1.532a914f59803p-7, 0x1.5e2915a6c3c81p-8,
    0x1.2205421bec271p-6, -0x1.f58c5841c14fep-7, 0x1.dc181d907aefcp-6};
static const double asin_f32[] = {0x1.55555ep-3, 0x1.332638p-4, 0x1.70ce26p-5, 0x1.b1164ap-6, 0x1.39fbbcp-5};

static const ArcConstants constants[] = {
    {0x1.921fbp-1, 0x1.5110b4p-23, 0x1p126, 0x1p-60, 0x1p60, POLYNOMIAL(atan_f32), POLYNOMIAL(asin_f32)},
    {0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55, 0x1p1022, 0x1p-900, 0x1p100, POLYNOMIAL(atan_f64),
     POLYNOMIAL(asin_f64)},
};

static const ArcConstants *constants_of(const MathCode *c) {
  return &constants[c->kind == KIND_F64];
}

/* q pi/4 + atan(t), or q pi/4 - atan(t) where `sign` has its sign bit set. */
static Real quarters_and_atan(const MathCode *c, Real q, Real t, Bits sign) {
  const ArcConstants *k = constants_of(c);
  Real z = mul(c, t, t), angle = mul_add(c, mul(c, t, z), evaluate_tree(c, k->atan, z), t);
  if (sign)
    angle = real_of(c, bits_xor(c, bits_of(c, angle), sign));
  return mul_add(c, q, number(c, k->quarter_high), mul_add(c, q, number(c, k->quarter_low), angle));
}

static const double tan_pi_8 = 0x1.a8279ap-2, tan_3pi_8 = 0x1.3504f4p+1;

Real math_atan(MathCode *c, const Real *x) {
  Real v = size_of(c, x[0]), one = number(c, 1), zero = number(c, 0);
  Flag middle = below(c, number(c, tan_pi_8), v), large = below(c, number(c, tan_3pi_8), v);
  Real above = choose(c, large, number(c, -1), choose(c, middle, sub(c, v, one), v));
  Real under = choose(c, large, v, choose(c, middle, add(c, v, one), one));
  Real q = choose(c, large, number(c, 2), choose(c, middle, one, zero));
  return with_sign(c, quarters_and_atan(c, q, quotient(c, above, under), NULL), x[0]);
}

/* The angle of (|x|, |y|) and then, by symmetry, that of (x, y).  The shorter side goes above the line of the quotient:
   q is 0 or 1, and an angle a becomes 2 quarters - a where the sides are exchanged, and 4 - that where x is negative.
 */
Real math_atan2(MathCode *c, const Real *operands) {
  const ArcConstants *k = constants_of(c);
  Real y = operands[0], x = operands[1], one = number(c, 1), zero = number(c, 0);
  Real y_size = size_of(c, y), x_size = size_of(c, x);
  Flag steep = below(c, x_size, y_size);
  Real n = choose(c, steep, x_size, y_size), d = choose(c, steep, y_size, x_size);
  Real scale = choose(c, below(c, number(c, k->large), d), number(c, 0.25), one);
  scale = choose(c, below(c, d, number(c, k->small)), number(c, k->lift), scale);
  n = mul(c, n, scale);
  d = choose(c, equal(c, d, zero), one, mul(c, d, scale));
  Flag same = equal(c, n, d); /* also where both are infinite */
  Flag middle = either(c, same, below(c, mul(c, d, number(c, tan_pi_8)), n));
  Real above = choose(c, same, zero, choose(c, middle, sub(c, n, d), n));
  Real t = quotient(c, above, choose(c, middle, add(c, n, d), d));
  Real q = choose(c, middle, one, zero), two = number(c, 2), four = number(c, 4);
  Bits sign = pattern(c, float_format(c)->sign), x_sign = bits_and(c, bits_of(c, x), sign);
  Flag negative = bits_negative(c, x_sign);
  q = choose(c, steep, sub(c, two, q), q);
  q = choose(c, negative, sub(c, four, q), q);
  Bits flipped = bits_xor(c, x_sign, bits_of(c, choose(c, steep, number(c, -0.0), zero)));
  return with_sign(c, quarters_and_atan(c, q, t, flipped), y);
}

/* s and s z R(z); `large` where the argument is beyond 1/2. */
static Real half_arc(const MathCode *c, Real size, Flag *large, Real *rest) {
  *large = below(c, number(c, 0.5), size);
  Real z = choose(c, *large, mul_add(c, size, number(c, -0.5), number(c, 0.5)), mul(c, size, size));
  Real s = choose(c, *large, square_root(c, z), size);
  *rest = mul(c, mul(c, s, z), evaluate_tree(c, constants_of(c)->asin, z));
  return s;
}

Real math_asin(MathCode *c, const Real *x) {
  const ArcConstants *k = constants_of(c);
  Flag large;
  Real rest, s = half_arc(c, size_of(c, x[0]), &large, &rest), two = number(c, 2);
  Real low = mul_add(c, rest, number(c, -2), number(c, 2 * k->quarter_low));
  Real complement = sub(c, number(c, 2 * k->quarter_high), sub(c, mul(c, two, s), low));
  return with_sign(c, choose(c, large, complement, add(c, s, rest)), x[0]);
}

/* pi/2 - asin(x) up to 1/2, 2 (s + ..) beyond, and pi minus that for negative x. */
Real math_acos(MathCode *c, const Real *x) {
  const ArcConstants *k = constants_of(c);
  Flag large, negative = below(c, x[0], number(c, 0));
  Real rest, s = half_arc(c, size_of(c, x[0]), &large, &rest), zero = number(c, 0);
  Bits sign = bits_and(c, bits_of(c, x[0]), pattern(c, float_format(c)->sign));
  /* high - (s + rest) for small x, with the sign of x; high + 2 (s + rest), with the other sign, for large. */
  Real high = choose(c, large, choose(c, negative, number(c, 4), zero), number(c, 2));
  Real factor = choose(c, large, number(c, 2), number(c, -1));
  factor = real_of(c, bits_xor(c, bits_of(c, factor), sign));
  Real low = mul_add(c, rest, factor, mul(c, high, number(c, k->quarter_low)));
  return add(c, mul(c, high, number(c, k->quarter_high)), mul_add(c, s, factor, low));
}
