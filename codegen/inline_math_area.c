/* Inverse hyperbolic functions, by log(1 + v) with a v that loses nothing where it is small: asinh, acosh, atanh. */
#include "codegen/inline_math_code.h"
#include <math.h>

/* log(1 + v) where x < 2^28, log(2 x) beyond. */
static Real log_or_twice(const MathCode *c, Real x, Real v) {
  Flag large = below(c, number(c, 0x1p28), x);
  Real log = log_of_1_and(c, choose(c, large, sub(c, x, number(c, 1)), v));
  return choose(c, large, add(c, log, number(c, 0x1.62e42fefa39efp-1)), log);
}

/* v = x + x^2 / (1 + sqrt(1 + x^2)) */
Real math_asinh(MathCode *c, const Real *x) {
  Real size = size_of(c, x[0]), one = number(c, 1), infinity = number(c, INFINITY);
  Real small = at_most(c, size, 0x1p28), square = mul(c, small, small);
  Real v = add(c, small, quotient(c, square, add(c, one, square_root(c, add(c, square, one)))));
  Real area = log_or_twice(c, size, v);
  return with_sign(c, choose(c, below(c, size, infinity), area, size), x[0]);
}

/* v = t + sqrt(2 t + t^2) with t = x - 1 */
Real math_acosh(MathCode *c, const Real *x) {
  Real one = number(c, 1), small = at_most(c, x[0], 0x1p28), t = sub(c, small, one);
  Real v = add(c, t, square_root(c, mul_add(c, t, t, add(c, t, t))));
  Real area = log_or_twice(c, x[0], v);
  area = choose(c, below(c, x[0], number(c, INFINITY)), area, x[0]);
  return choose(c, below(c, x[0], one), number(c, NAN), area);
}

/* log(1 + v) / 2 with v = 2 x / (1 - x) */
Real math_atanh(MathCode *c, const Real *x) {
  Real size = size_of(c, x[0]), one = number(c, 1), v = quotient(c, add(c, size, size), sub(c, one, size));
  Real area = mul(c, log_of_1_and(c, v), number(c, 0.5));
  area = choose(c, below(c, v, number(c, INFINITY)), area, v);
  return with_sign(c, choose(c, below(c, one, size), number(c, NAN), area), x[0]);
}
