/* Powers and roots: pow, cbrt, hypot. */
#include "codegen/inline_math_code.h"
#include <math.h>

/* exp(y log(size)).  An exponent of 745 leaves 43 digits of 53 behind the point, so that log(size) is needed with some
   more than a float has. */
static Real power_f64(const MathCode *c, Real size, Real y) {
  Real log_low, f, k = split_number(c, size, &f), log = log_and_rest(c, k, f, &log_low);
  log = with_log_limits(c, size, log);
  Real low, x = two_product(c, y, log, &low);
  low = mul_add(c, y, log_low, low);
  /* What is lost beyond the bounds is of no account, and may be NaN. */
  const double most = exp_bound(c);
  Flag inside = below(c, size_of(c, x), number(c, most));
  const Exponential e = exponential(c, at_least(c, at_most(c, x, most), -most), choose(c, inside, low, number(c, 0)));
  return scaled(c, &e, NULL);
}

/* Where size is normal and the result too; *exponent is y log(size). */
static Real safe_power_f64(const MathCode *c, Real size, Real y, Real *exponent) {
  Real log_low, f, k = split_normal(c, size, &f), log = log_and_rest(c, k, f, &log_low), low;
  *exponent = two_product(c, y, log, &low);
  const Exponential e = exponential(c, *exponent, mul_add(c, y, log_low, low));
  return scaled_safely(c, &e);
}

/* In f64 the subnormal numbers of f32 are normal. */
static Real safe_power_f32(const MathCode *wide, Real size, Real y, Real *exponent) {
  Real f, k = split_normal(wide, size, &f);
  *exponent = mul(wide, y, log_sum(wide, k, f, NULL));
  const Exponential e = exponential(wide, *exponent, NULL);
  return scaled_safely(wide, &e);
}

static Real power_of_normal(MathCode *c, Real x, Real y) {
  Real exponent, near, operands[] = {x, y};
  MathCode wide = c->kind == KIND_F64 ? *c : promoted(c);
  Flag normal;
  if (c->kind == KIND_F64) {
    normal = is_normal(c, x);
    near = safe_power_f64(c, x, y, &exponent);
  } else {
    Real wide_x = widened(&wide, x);
    normal = is_normal(&wide, wide_x);
    near = narrowed(c, safe_power_f32(&wide, wide_x, widened(&wide, y), &exponent));
  }
  Flag safe = LLVMBuildFCmp(c->at, LLVMRealOLE, size_of(&wide, exponent), number(&wide, exp_safe(&wide)), "");
  return rare_values(c, LLVMBuildNot(c->at, both(c, normal, safe), ""), 2, operands, near);
}

static Real power_f32(const MathCode *c, Real size, Real y) {
  MathCode wide = promoted(c);
  Real wide_size = widened(&wide, size), log = math_log(&wide, &wide_size);
  Real exponent = mul(&wide, widened(&wide, y), log);
  return narrowed(c, math_exp(&wide, &exponent));
}

/* Of a number >= 0, infinity included. */
static Flag is_whole(const MathCode *c, Real x) {
  Real base = number(c, ldexp(1, float_format(c)->fraction_bits)); /* from here on all are */
  Flag large = LLVMBuildFCmp(c->at, LLVMRealOGE, x, base, "");
  return either(c, large, equal(c, sub(c, add(c, x, base), base), x));
}

/* By the table of C's Annex F. */
Real math_pow(MathCode *c, const Real *operands) {
  Real x = operands[0], y = operands[1], size = size_of(c, x), zero = number(c, 0), one = number(c, 1);
  if (c->branches)
    return power_of_normal(c, x, y);
  const double largest = c->kind == KIND_F64 ? 0x1.fffffffffffffp+1023 : 0x1.fffffep+127;
  /* A finite exponent does the same to all but 1, which it leaves. */
  Real bounded = at_least(c, at_most(c, y, largest), -largest);
  Real power = c->kind == KIND_F64 ? power_f64(c, size, bounded) : power_f32(c, size, bounded);
  Real y_size = size_of(c, y);
  Flag whole = is_whole(c, y_size), even = is_whole(c, mul(c, y_size, number(c, 0.5)));
  Real sign = choose(c, even, one, choose(c, whole, x, one));
  Flag undefined =
      both(c, below(c, x, zero), both(c, below(c, size, number(c, INFINITY)), LLVMBuildNot(c->at, whole, "")));
  power = choose(c, undefined, number(c, NAN), with_sign(c, power, sign));
  return choose(c, either(c, equal(c, y, zero), equal(c, x, one)), one, power);
}

/* x^(y - 1) = r / x where r = x^y is of middling size, so that it has all of its digits, and has them in f32 too. */
Real math_pow_below(MathCode *c, const Real *operands) {
  Real x = operands[0], y = operands[1], r = operands[2], size = size_of(c, r);
  Flag inside = both(c, LLVMBuildFCmp(c->at, LLVMRealOGE, size, number(c, 0x1p-100), ""),
                     LLVMBuildFCmp(c->at, LLVMRealOLE, size, number(c, 0x1p100), ""));
  Real args[] = {x, sub(c, y, number(c, 1))};
  LLVMValueRef power = inline_math(c->unit, OP_POW, c->kind, c->lanes);
  return cold_values(c, LLVMBuildNot(c->at, inside, ""), power, 2, args, quotient(c, r, x));
}

/* ---- whole exponents */
enum { MOST_EXPONENT = 1 << 20 }; /* so that what is lost twice stays below the last place */

bool power_is_products(int64_t n) {
  return n && n >= -MOST_EXPONENT && n <= MOST_EXPONENT;
}

/* A product as a float does it, and what that has lost, which may be lost where the product leaves the normal range.
   NULL: nothing. */
typedef struct Product {
  Real value, lost;
} Product;

static Product product_of(const MathCode *c, Product x, Product y) {
  Product p;
  p.value = two_product(c, x.value, y.value, &p.lost);
  if (x.lost)
    p.lost = mul_add(c, x.lost, y.value, p.lost);
  if (y.lost)
    p.lost = mul_add(c, y.lost, x.value, p.lost);
  return p;
}

static Product square_of(const MathCode *c, Product x) {
  Product p;
  p.value = two_product(c, x.value, x.value, &p.lost);
  if (x.lost)
    p.lost = mul_add(c, add(c, x.value, x.value), x.lost, p.lost);
  return p;
}

static int highest_bit(uint64_t n) {
  int bit = 0;
  while (n >> bit > 1)
    bit++;
  return bit;
}

/* By squares and products of x or 1 / x, from the exponent's first digit on: no step leaves the range but where the
   result does. */
static Real powi_f64(const MathCode *c, Real x) {
  Product base = {.value = x};
  uint64_t n = (uint64_t)c->exponent;
  if (c->exponent < 0) {
    n = 0 - n;
    base.value = quotient(c, number(c, 1), x);
    Real lost, near_1 = two_product(c, base.value, x, &lost);
    base.lost = mul(c, sub(c, sub(c, number(c, 1), near_1), lost), base.value);
  }
  Product p = base;
  for (int bit = highest_bit(n) - 1; bit >= 0; bit--) {
    p = square_of(c, p);
    if (n >> bit & 1)
      p = product_of(c, p, base);
  }
  if (!p.lost)
    return p.value;
  Flag known = below(c, size_of(c, p.lost), number(c, INFINITY));
  return with_sign(c, choose(c, known, add(c, p.value, p.lost), p.value), p.value);
}

/* f64 has range and digits to spare. */
static Real powi_f32(const MathCode *c, Real x) {
  const MathCode wide = promoted(c);
  Real base = widened(&wide, x), p = base;
  const uint64_t n = c->exponent < 0 ? 0 - (uint64_t)c->exponent : (uint64_t)c->exponent;
  for (int bit = highest_bit(n) - 1; bit >= 0; bit--) {
    p = mul(&wide, p, p);
    if (n >> bit & 1)
      p = mul(&wide, p, base);
  }
  return narrowed(c, c->exponent < 0 ? quotient(&wide, number(&wide, 1), p) : p);
}

Real math_powi(MathCode *c, const Real *x) {
  return c->kind == KIND_F64 ? powi_f64(c, x[0]) : powi_f32(c, x[0]);
}

/* x = 2^(3 q + r) m with r one of -1, 0, 1.  w approaches the inverse of the root of 2^r m, from a polynomial in m; of
   error 2^-14, and 2^-42 after a step of third order.  Then t = 2^r m w^2 and one of Newton's steps,
   t + (2^r m - t^3) w^2 / 3. */
Real math_cbrt(MathCode *c, const Real *x) {
  /* On m in [sqrt(1/2), sqrt(2)]. */
  static const double start_at[] = {0x1.dfe0a8p0, -0x1.dca19ap0, 0x1.8fb298p0, -0x1.67a038p-1, 0x1.06e76ap-3};
  const Polynomial start = POLYNOMIAL(start_at);
  Real f, size = size_of(c, x[0]), k = split_number(c, size, &f), one = number(c, 1), zero = number(c, 0);
  Real magic = number(c, float_format(c)->round_magic), sum = mul_add(c, k, number(c, 0x1.555556p-2), magic);
  Real r = mul_add(c, sub(c, sum, magic), number(c, -3), k), m = add(c, f, one);
  Real w = evaluate_tree(c, start, m);
  if (c->kind == KIND_F64) {
    Real e = sub(c, one, mul(c, mul(c, m, w), mul(c, w, w)));
    w = mul_add(c, mul(c, w, e), mul_add(c, e, number(c, 2 / 9.0), number(c, 1 / 3.0)), w);
  }
  Flag under = below(c, r, zero), above = below(c, zero, r);
  m = mul(c, m, choose(c, under, number(c, 0.5), choose(c, above, number(c, 2), one)));
  w = mul(c, w,
          choose(c, under, number(c, 0x1.428a2f98d728bp+0), choose(c, above, number(c, 0x1.965fea53d6e3dp-1), one)));
  Real square = mul(c, w, w), t = mul(c, m, square);
  Real error = sub(c, m, mul(c, mul(c, t, t), t));
  Real root = mul_add(c, error, mul(c, square, number(c, 1 / 3.0)), t);
  root = mul(c, root, power_of_2(c, bits_of(c, sum)));
  Flag inside = both(c, below(c, zero, size), below(c, size, number(c, INFINITY)));
  return choose(c, inside, with_sign(c, root, x[0]), x[0]);
}

/* Scaled by a power of 2 where squares would leave the normal range. */
Real math_hypot(MathCode *c, const Real *operands) {
  const bool is_f64 = c->kind == KIND_F64;
  Real x = size_of(c, operands[0]), y = size_of(c, operands[1]), one = number(c, 1), infinity = number(c, INFINITY);
  Flag steep = below(c, x, y);
  Real longer = choose(c, steep, y, x), shorter = choose(c, steep, x, y);
  const double large = is_f64 ? 0x1p500 : 0x1p60, step = is_f64 ? 0x1p600 : 0x1p80;
  Flag above = below(c, number(c, large), longer), under = below(c, longer, number(c, 1 / large));
  Real factor = choose(c, above, number(c, 1 / step), choose(c, under, number(c, step), one));
  Real inverse = choose(c, above, number(c, step), choose(c, under, number(c, 1 / step), one));
  longer = mul(c, longer, factor);
  shorter = mul(c, shorter, factor);
  Real length = mul(c, square_root(c, mul_add(c, longer, longer, mul(c, shorter, shorter))), inverse);
  return choose(c, either(c, equal(c, x, infinity), equal(c, y, infinity)), infinity, length);
}
