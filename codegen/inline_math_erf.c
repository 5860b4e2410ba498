/* The error function and its complement.

   erf(a) = 1 - exp(-q), q = -log(erfc(a)) = a + a S(a).

   Up to 3/4 erfc(x) = 1 - x - x P(x^2).  Beyond, erfc(a) = exp(-a^2) / (1 + 2 a) Q(t) with t = (a - c) / (a + c): Q
   lies between 1.15 and 1.29, so that an error of t hardly counts. */
#include "codegen/inline_math_code.h"

typedef struct ErfConstants {
  double erf_is_1, erfc_is_0; /* from there on */
  Polynomial near;            /* P: erf(x) / x - 1 */
  Polynomial far;             /* Q */
  Polynomial log_erfc;        /* S */
} ErfConstants;

static const double border = 0.75;
/* Chosen so that Q(0) is a float with error 2^-60. */
static const double centre = 3.00390625;

/* On x^2 in [0, 0.5625].  Error of erf(x) / x: 2^-56 and 2^-29. */
static const double near_f64[] = {0x1.06eba8214db69p-3,   -0x1.812746b037ap-2,    0x1.ce2f21a0437e7p-4,
                                  -0x1.b82ce312abf0fp-6,  0x1.565bcd103fe3bp-8,   -0x1.c02db379ebc88p-11,
                                  0x1.f9a2f425b5c01p-14,  -0x1.f4cacef7e21ccp-17, 0x1.b946a8baf3a13p-20,
                                  -0x1.57b0f7052f967p-23, 0x1.91aea81d10c01p-27};
static const double near_f32[] = {0x1.06eba8p-3,  -0x1.81273cp-2, 0x1.ce2b54p-4,
                                  -0x1.b7b2a4p-6, 0x1.4f79cep-8,  -0x1.6384ap-11};
/* On t of a in [0.75, 27.3] and [0.75, 10.1].  Relative error 2^-56 and 2^-27. */
static const double far_f64[] = {0x1.40bf5a2034ae5p0,    -0x1.15e0d9a6573a3p-3,  -0x1.82d6194fea341p-5,
                                 0x1.0900f832ef446p-3,   -0x1.e8ab35b7f339cp-4,  0x1.18adf3c96291dp-4,
                                 -0x1.88e8f98b0324cp-6,  0x1.59082be76bae3p-9,   0x1.ead2919a235a1p-10,
                                 -0x1.9e5692ddc1a75p-11, -0x1.a205f2eb1c75ep-14, 0x1.07d44c691159dp-13,
                                 0x1.043d1e445b36p-18,   -0x1.52212563f4e46p-16, -0x1.11d497b9e7d2fp-21,
                                 0x1.d748f0ec3dc83p-19,  0x1.1f4c954077704p-22,  -0x1.5f2113e2697c8p-21,
                                 -0x1.fa949d5e23343p-25, 0x1.d4026569ff81fp-24,  -0x1.a01c33fc858cdp-27};
static const double far_f32[] = {0x1.40bf5ap0,  -0x1.15e0d8p-3, -0x1.82d546p-5, 0x1.0900bp-3,   -0x1.e8b16p-4,
                                 0x1.18b5b2p-4, -0x1.8850fp-6,  0x1.53503ep-9,  0x1.d0f10ap-10, -0x1.609a8ap-11};

/* On a in [0, 5.95] and [0, 3.95].  Error of erf(a), relative: 2^-56 and 2^-27. */
static const double log_erfc_f64[] = {
    0x1.06eba8214db68p-3,   0x1.45f306dc9c8a3p-1,   0x1.a4f4e2a1b11c7p-4,  -0x1.39668593946c1p-6,
    -0x1.b6b68d4e70b39p-13, 0x1.bca67cf6993d1p-10,  -0x1.35655a18f2e8p-11, 0x1.b23014472b6bp-16,
    0x1.0e7cf54e7607cp-14,  -0x1.f29bed34c4816p-16, 0x1.c868733fe2a58p-19, 0x1.7d92adc804d79p-19,
    -0x1.d56b99e82fa4ap-20, 0x1.6ede642c3b759p-22,  0x1.1fcca01b6a13bp-23, -0x1.2d290670a5b7bp-23,
    0x1.17c966597a958p-24,  -0x1.64fbe31a30dcdp-26, 0x1.5454e4565505fp-28, -0x1.ee8233b0ddee5p-31,
    0x1.0fb4d5f7c0899p-33,  -0x1.b6d087be0d271p-37, 0x1.ec12bf903ead6p-41, -0x1.567196955141ap-45,
    0x1.bd8aa13a971afp-51};
static const double log_erfc_f32[] = {0x1.06eba8p-3,  0x1.45f2fep-1,   0x1.a4f96ep-4,  -0x1.39c1dep-6, -0x1.5a4144p-13,
                                      0x1.b623dcp-10, -0x1.4cf532p-11, 0x1.efe934p-14, -0x1.38b7dp-17};

static const ErfConstants constants[] = {
    {3.95, 10.5, POLYNOMIAL(near_f32), POLYNOMIAL(far_f32), POLYNOMIAL(log_erfc_f32)},
    {5.95, 28, POLYNOMIAL(near_f64), POLYNOMIAL(far_f64), POLYNOMIAL(log_erfc_f64)},
};

static const ErfConstants *constants_of(const MathCode *c) {
  return &constants[c->kind == KIND_F64 && !c->brief];
}

Real math_erf(MathCode *c, const Real *x) {
  const ErfConstants *k = constants_of(c);
  Real a = at_most(c, size_of(c, x[0]), k->erf_is_1);
  const Exponential e = exponential(c, negated(c, mul_add(c, a, evaluate_constant_last(c, k->log_erfc, a), a)), NULL);
  Real scale = power_of_2(c, e.n);
  return with_sign(c, mul_add(c, negated(c, e.p), scale, sub(c, number(c, 1), scale)), x[0]);
}

/* erfc(a) for a >= 3/4.  One division makes the quotients of both 1 + 2 a and a + c; what the first, Q, and the rounded
   square lack joins the small part of the exponential. */
static Real tail(const MathCode *c, Real a) {
  Real square_low, square = two_product(c, a, a, &square_low), one = number(c, 1);
  Exponential e = exponential(c, negated(c, square), negated(c, square_low));
  Real under_low, under = fast_two_sum(c, add(c, a, a), one, &under_low);
  Real middle = number(c, centre), sum = add(c, a, middle), inverse = quotient(c, one, mul(c, under, sum));
  Real t = mul(c, sub(c, a, middle), mul(c, inverse, under)), inverse_under = mul(c, inverse, sum);
  Real lost, product = two_product(c, inverse_under, under, &lost);
  Real missing = sub(c, sub(c, sub(c, one, product), lost), mul(c, inverse_under, under_low));
  const Polynomial far = constants_of(c)->far, rest = {far.n - 1, far.at + 1};
  Real q_low, q = fast_two_sum(c, number(c, far.at[0]), mul(c, t, evaluate_tree(c, rest, t)), &q_low);
  missing = mul_add(c, q_low, number(c, 1 / 1.22), missing);
  e.p = add(c, e.p, mul_add(c, missing, e.p, missing));
  return scaled(c, &e, mul(c, inverse_under, q));
}

Real math_erfc(MathCode *c, const Real *x) {
  const ErfConstants *k = constants_of(c);
  Real size = size_of(c, x[0]), far = tail(c, at_most(c, size, k->erfc_is_0));
  Real p = evaluate_tree(c, k->near, mul(c, x[0], x[0]));
  Real near = sub(c, sub(c, number(c, 1), x[0]), mul(c, x[0], p));
  far = choose(c, below(c, x[0], number(c, 0)), sub(c, number(c, 2), far), far);
  return choose(c, below(c, size, number(c, border)), near, far);
}
