/* Sine, cosine and tangent.

   x = n pi/2 + r with |r| <= pi/4 (1 + 2^-9): the parts of pi/2 are so many and so short that each step is exact, or
   rounds a remainder that no later step shortens much.  Beyond the bound, and for infinities, libm's functions are
   called. */
#include "codegen/inline_math_code.h"

typedef struct TrigConstants {
  double bound; /* up to here n has no more bits than the parts allow for */
  double two_over_pi;
  Polynomial half_pi; /* parts, in descending size */
  Polynomial sine;    /* (sin(r) / r - 1) / r^2 */
  Polynomial cosine;  /* (cos(r) - 1 + r^2 / 2) / r^4 */
} TrigConstants;

/* On r^2 in [0, 0.6242].  Errors relative to sin(r): 2^-56 and 2^-26; of cos(r): 2^-60 and 2^-30. */
static const double sine_f64[] = {-0x1.5555555555555p-3, 0x1.1111111110c49p-7,   -0x1.a01a019e90e4fp-13,
                                  0x1.71de379b53ffap-19, -0x1.ae6008e90aa1bp-26, 0x1.5e08bd3b759b6p-33};
static const double cosine_f64[] = {0x1.5555555555555p-5,   -0x1.6c16c16c168b2p-10, 0x1.a01a019f31619p-16,
                                    -0x1.27e4f9f95b97bp-22, 0x1.1eeb4d832f171p-29,  -0x1.906bec8d203ccp-37};
static const double sine_f32[] = {-0x1.555552p-3, 0x1.110bd4p-7, -0x1.9aa846p-13};
static const double cosine_f32[] = {0x1.555554p-5, -0x1.6c128ep-10, 0x1.9bbd44p-16};

/* Where products round once, the first remainder is exact with all digits of pi/2.  Else the parts leave room for n: of
   22 and 11 bits. */
static const double fused_f64[] = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110};
static const double fused_f32[] = {0x1.921fb6p+0, -0x1.777a5cp-25, -0x1.ee59dap-50};
static const double plain_f64[] = {0x1.921fb54p+0, 0x1.10b46118p-30, 0x1.313198ap-61, 0x1.701b839a25205p-92};
static const double plain_f32[] = {0x1.92p+0, 0x1.fb4p-12, 0x1.444p-24, 0x1.68cp-39, 0x1.1a6264p-54};

static const TrigConstants constants[2][2] = {
    {{3000, 0x1.45f306p-1, POLYNOMIAL(plain_f32), POLYNOMIAL(sine_f32), POLYNOMIAL(cosine_f32)},
     {1e5, 0x1.45f306p-1, POLYNOMIAL(fused_f32), POLYNOMIAL(sine_f32), POLYNOMIAL(cosine_f32)}},
    {{0x1.8p22, 0x1.45f306dc9c883p-1, POLYNOMIAL(plain_f64), POLYNOMIAL(sine_f64), POLYNOMIAL(cosine_f64)},
     {1e9, 0x1.45f306dc9c883p-1, POLYNOMIAL(fused_f64), POLYNOMIAL(sine_f64), POLYNOMIAL(cosine_f64)}},
};

static const TrigConstants *constants_of(const MathCode *c) {
  return &constants[c->kind == KIND_F64][c->fused];
}

/* r, and n by its low bits. */
static Real reduced(const MathCode *c, Real x, Bits *n) {
  const TrigConstants *k = constants_of(c);
  Real magic = number(c, float_format(c)->round_magic), sum = mul_add(c, x, number(c, k->two_over_pi), magic);
  Real whole = sub(c, sum, magic), r = x;
  for (int i = 0; i < k->half_pi.n; i++)
    r = mul_add(c, whole, number(c, -k->half_pi.at[i]), r);
  *n = bits_of(c, sum);
  return r;
}

/* The same with what the rounding of r lost. */
static Real reduced_with_rest(const MathCode *c, Real x, Bits *n, Real *low) {
  const TrigConstants *k = constants_of(c);
  Real magic = number(c, float_format(c)->round_magic), sum = mul_add(c, x, number(c, k->two_over_pi), magic);
  Real whole = sub(c, sum, magic), r = mul_add(c, whole, number(c, -k->half_pi.at[0]), x), rest = number(c, 0);
  for (int i = 1; i < k->half_pi.n; i++) {
    Real lost, rounded, part = two_product(c, whole, number(c, -k->half_pi.at[i]), &lost);
    r = two_sum(c, r, part, &rounded);
    rest = add(c, rest, add(c, rounded, lost));
  }
  *n = bits_of(c, sum);
  *low = rest;
  return r;
}

static Real sine_of(const MathCode *c, Real r, Real z) {
  return mul_add(c, mul(c, evaluate_tree(c, constants_of(c)->sine, z), z), r, r);
}

static Real cosine_of(const MathCode *c, Real z) {
  Real rest = evaluate_tree(c, constants_of(c)->cosine, z);
  return mul_add(c, mul(c, z, z), rest, mul_add(c, z, number(c, -0.5), number(c, 1)));
}

/* sin(x + turns pi/2) */
static Real sine_after(MathCode *c, Real x, int turns) {
  const FloatFormat *f = float_format(c);
  const int top = c->kind == KIND_F64 ? 63 : 31;
  Bits n;
  Real r = reduced(c, x, &n), z = mul(c, r, r);
  if (turns)
    n = bits_add(c, n, pattern(c, (uint64_t)turns));
  Flag odd = bits_negative(c, shift_left(c, n, top));
  Bits sign = bits_and(c, shift_left(c, n, top - 1), pattern(c, f->sign));
  Real size = choose(c, odd, cosine_of(c, z), sine_of(c, r, z));
  return real_of(c, bits_xor(c, bits_of(c, size), sign));
}

/* Infinities too are far. */
static Flag is_far(const MathCode *c, Real x) {
  return below(c, number(c, constants_of(c)->bound), size_of(c, x));
}

Real math_sin(MathCode *c, const Real *x) {
  Real near = sine_after(c, x[0], 0);
  /* The steps of the reduction would make -0 to 0. */
  near = choose(c, equal(c, x[0], number(c, 0)), x[0], near);
  return far_values(c, is_far(c, x[0]), x[0], near);
}

Real math_cos(MathCode *c, const Real *x) {
  return far_values(c, is_far(c, x[0]), x[0], sine_after(c, x[0], 1));
}

/* sin(r) / cos(r), or -cos(r) / sin(r) after an odd number of quarter turns.  The quotient doubles errors, so r is
   taken with its rest, sin(r + low) = sin(r) + low cos(r) and cos(r + low) = cos(r) - low sin(r) nearly, and both are
   rounded but once. */
Real math_tan(MathCode *c, const Real *x) {
  const TrigConstants *k = constants_of(c);
  const int top = c->kind == KIND_F64 ? 63 : 31;
  Bits n;
  Real low, r = reduced_with_rest(c, x[0], &n, &low), z = mul(c, r, r);
  Flag odd = bits_negative(c, shift_left(c, n, top));
  Real lost, outline = fast_two_sum(c, number(c, 1), mul(c, z, number(c, -0.5)), &lost);
  Real sine_rest = mul_add(c, mul(c, r, z), evaluate_tree(c, k->sine, z), mul(c, low, outline));
  Real cosine_rest = mul_add(c, mul(c, z, z), evaluate_tree(c, k->cosine, z), sub(c, lost, mul(c, low, r)));
  Real sine = add(c, r, sine_rest), cosine = add(c, outline, cosine_rest);
  Real near = quotient(c, choose(c, odd, negated(c, cosine), sine), choose(c, odd, sine, cosine));
  near = choose(c, equal(c, x[0], number(c, 0)), x[0], near);
  return far_values(c, is_far(c, x[0]), x[0], near);
}
