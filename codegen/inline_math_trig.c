/* Sine, cosine and tangent.

   sin(x) = (-1)^n sin(r) with x = n pi + r, |r| <= pi/2 (1 + 2^-9): one polynomial serves, where shorter remainders
   would need two of nearly the same length.  cos(x) = (-1)^(n+1) sin(r) with x = (n + 1/2) pi + r.  The quotient of the
   tangent needs |r| <= pi/4.

   The parts of pi are so many and so short that each step is exact, or rounds a remainder that no later step shortens
   much.  Beyond the bound, and for infinities, libm's functions are called. */
#include "codegen/inline_math_code.h"

typedef struct TrigConstants {
  double bound; /* up to here the multiple of pi/2 has no more bits than its parts allow for */
  double two_over_pi;
  double even_magic;    /* adding it leaves the half of the nearest even integer in the low bits */
  Polynomial half_pi;   /* parts, in descending size */
  Polynomial wide_sine; /* (sin(r) / r - 1) / r^2, |r| <= pi/2 */
  Polynomial sine;      /* the same, |r| <= pi/4 */
  Polynomial cosine;    /* (cos(r) - 1 + r^2 / 2) / r^4, |r| <= pi/4 */
} TrigConstants;

/* On r^2 in [0, 2.47].  Error relative to r: 2^-60 and 2^-26. */
static const double wide_sine_f64[] = {-0x1.5555555555555p-3,  0x1.11111111110b9p-7,   -0x1.a01a01a01353cp-13,
                                       0x1.71de3a51c29e7p-19,  -0x1.ae64545af9745p-26, 0x1.6123aaa7963fap-33,
                                       -0x1.ae39ccc737527p-41, 0x1.871ca972ab80cp-49};
static const double wide_sine_f32[] = {-0x1.555554p-3, 0x1.11103ap-7, -0x1.9fb2bp-13, 0x1.6168c6p-19};
/* On r^2 in [0, 0.6242].  Errors relative to sin(r): 2^-56 and 2^-26; of cos(r): 2^-60 and 2^-30. */
static const double sine_f64[] = {-0x1.5555555555555p-3, 0x1.1111111110c49p-7,   -0x1.a01a019e90e4fp-13,
                                  0x1.71de379b53ffap-19, -0x1.ae6008e90aa1bp-26, 0x1.5e08bd3b759b6p-33};
static const double cosine_f64[] = {0x1.5555555555555p-5,   -0x1.6c16c16c168b2p-10, 0x1.a01a019f31619p-16,
                                    -0x1.27e4f9f95b97bp-22, 0x1.1eeb4d832f171p-29,  -0x1.906bec8d203ccp-37};
static const double sine_f32[] = {-0x1.555552p-3, 0x1.110bd4p-7, -0x1.9aa846p-13};
static const double cosine_f32[] = {0x1.555554p-5, -0x1.6c128ep-10, 0x1.9bbd44p-16};

/* Where products round once, the first remainder is exact with all digits of pi/2.  Else the parts leave room for
   multiples of 22 and 11 bits. */
static const double fused_f64[] = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110};
static const double fused_f32[] = {0x1.921fb6p+0, -0x1.777a5cp-25, -0x1.ee59dap-50};
static const double plain_f64[] = {0x1.921fb54p+0, 0x1.10b46118p-30, 0x1.313198ap-61, 0x1.701b839a25205p-92};
static const double plain_f32[] = {0x1.92p+0, 0x1.fb4p-12, 0x1.444p-24, 0x1.68cp-39, 0x1.1a6264p-54};

#define OF_F32 POLYNOMIAL(wide_sine_f32), POLYNOMIAL(sine_f32), POLYNOMIAL(cosine_f32)
#define OF_F64 POLYNOMIAL(wide_sine_f64), POLYNOMIAL(sine_f64), POLYNOMIAL(cosine_f64)
static const TrigConstants constants[2][2] = {
    {{3000, 0x1.45f306p-1, 0x1.8p24, POLYNOMIAL(plain_f32), OF_F32},
     {1e5, 0x1.45f306p-1, 0x1.8p24, POLYNOMIAL(fused_f32), OF_F32}},
    {{0x1.8p22, 0x1.45f306dc9c883p-1, 0x1.8p53, POLYNOMIAL(plain_f64), OF_F64},
     {1e9, 0x1.45f306dc9c883p-1, 0x1.8p53, POLYNOMIAL(fused_f64), OF_F64}},
};

static const TrigConstants *constants_of(const MathCode *c) {
  return &constants[c->kind == KIND_F64][c->fused];
}

static int sign_place(const MathCode *c) {
  return c->kind == KIND_F64 ? 63 : 31;
}

/* (-1)^n sin(r) with r = x - turns pi/2, `half` having n in its low bits. */
static Real sine_after(const MathCode *c, Real x, Real turns, Real half) {
  const TrigConstants *k = constants_of(c);
  Real r = x;
  for (int i = 0; i < k->half_pi.n; i++)
    r = mul_add(c, turns, number(c, -k->half_pi.at[i]), r);
  Real z = mul(c, r, r);
  Real rest = evaluate_constant_last(c, k->wide_sine, z);
  /* It errs by up to 2 units, and must not exceed 1. */
  Real sine = at_least(c, at_most(c, mul_add(c, mul(c, r, z), rest, r), 1), -1);
  return real_of(c, bits_xor(c, bits_of(c, sine), shift_left(c, bits_of(c, half), sign_place(c))));
}

/* `near`, or the value of libm's function where x is beyond the bound, or infinite. */
static Real bounded(MathCode *c, Real x, Real near) {
  return far_values(c, below(c, number(c, constants_of(c)->bound), size_of(c, x)), x, near);
}

/* The steps of the reduction lose the sign of zero. */
static Real with_zeros(const MathCode *c, Real x, Real y) {
  return choose(c, equal(c, x, number(c, 0)), x, y);
}

/* turns = 2 n */
Real math_sin(MathCode *c, const Real *x) {
  const TrigConstants *k = constants_of(c);
  Real magic = number(c, k->even_magic), sum = mul_add(c, x[0], number(c, k->two_over_pi), magic);
  return bounded(c, x[0], with_zeros(c, x[0], sine_after(c, x[0], sub(c, sum, magic), sum)));
}

/* turns = 2 n - 1 */
Real math_cos(MathCode *c, const Real *x) {
  const TrigConstants *k = constants_of(c);
  Real magic = number(c, k->even_magic), one = number(c, 1);
  Real sum = add(c, mul_add(c, x[0], number(c, k->two_over_pi), one), magic);
  return bounded(c, x[0], sine_after(c, x[0], sub(c, sub(c, sum, magic), one), sum));
}

/* sin(r) / cos(r), or -cos(r) / sin(r) after an odd number of quarter turns.  The quotient doubles errors, so r is
   taken with what its rounding loses, sin(r + low) = sin(r) + low cos(r) and cos(r + low) = cos(r) - low sin(r) nearly,
   and both are rounded but once. */
Real math_tan(MathCode *c, const Real *x) {
  const TrigConstants *k = constants_of(c);
  Real magic = number(c, float_format(c)->round_magic), sum = mul_add(c, x[0], number(c, k->two_over_pi), magic);
  Real turns = sub(c, sum, magic), r = mul_add(c, turns, number(c, -k->half_pi.at[0]), x[0]), low = NULL;
  for (int i = 1; i < k->half_pi.n; i++) {
    Real lost, rounded, part = two_product(c, turns, number(c, -k->half_pi.at[i]), &lost);
    r = two_sum(c, r, part, &rounded);
    low = low ? add(c, low, add(c, rounded, lost)) : add(c, rounded, lost);
  }
  Real z = mul(c, r, r), lost, outline = fast_two_sum(c, number(c, 1), mul(c, z, number(c, -0.5)), &lost);
  Real sine_rest = mul_add(c, mul(c, r, z), evaluate_tree(c, k->sine, z), mul(c, low, outline));
  Real cosine_rest = mul_add(c, mul(c, z, z), evaluate_tree(c, k->cosine, z), sub(c, lost, mul(c, low, r)));
  Real sine = add(c, r, sine_rest), cosine = add(c, outline, cosine_rest);
  Flag odd = bits_negative(c, shift_left(c, bits_of(c, sum), sign_place(c)));
  Real near = quotient(c, choose(c, odd, negated(c, cosine), sine), choose(c, odd, sine, cosine));
  return bounded(c, x[0], with_zeros(c, x[0], near));
}
