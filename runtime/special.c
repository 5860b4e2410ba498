// Scalar functions that libm lacks: log gamma without the global sign, digamma and its derivatives, integer powers.
//
// digamma and polygamma are taken to positive arguments by reflection.
#define _DEFAULT_SOURCE // lgamma_r
#include <math.h>
#include <stddef.h>

#include "internal.h"

static const double pi = 3.14159265358979323846;

double gradc_rt_lgamma(double x) {
  int sign;
  return lgamma_r(x, &sign);
}

float gradc_rt_lgamma_f32(float x) {
  return (float)gradc_rt_lgamma(x);
}

// -- digamma -------------------------------------------------------------------------------------------------------

// On [1, 2]: (x - root) times a polynomial in x - 3/2 (degree 21, Chebyshev nodes, relative error 7e-17). The root is
// kept in two parts, so that the relative error stays small at it.
static double digamma_1_2(double x) {
  static const double root = 0x1.762d86356be3fp+0, root_low = 0x1.b86a722197829p-54;
  static const double coefficients[] = {
      0x1.e6f0cbb873617p-1,  -0x1.b1cb63005ee97p-2,  0x1.eca189b8e6da1p-3,  -0x1.2feeeb98a7cd8p-3,
      0x1.8512e5905d180p-4,  -0x1.fb442029cdbf4p-5,  0x1.4de9aa05d3418p-5,  -0x1.b9f8b1367959dp-6,
      0x1.256475e5ac975p-6,  -0x1.86355f6f68797p-7,  0x1.03c00801ba958p-7,  -0x1.5a071c746535bp-8,
      0x1.cd3e42d157015p-9,  -0x1.33661f9073563p-9,  0x1.980fc9c9f0be8p-10, -0x1.1002aaf6255f5p-10,
      0x1.7b3b41b0b38cdp-11, -0x1.f99f529bd0771p-12, 0x1.dc8ae08af0fc4p-13, -0x1.3db05b36d9a48p-13,
      0x1.104c9d0897b58p-12, -0x1.6b107f71aa124p-13,
  };
  double t = x - 1.5, value = 0;
  for (size_t i = sizeof coefficients / sizeof *coefficients; i-- > 0;)
    value = value * t + coefficients[i];
  return ((x - root) - root_low) * value;
}

// For x >= 8: log x - 1/(2x) - sum of B(2k) / (2k x^2k), of which the first omitted term is 4e-18.
static double digamma_large(double x) {
  static const double coefficients[] = {1.0 / 12,       -1.0 / 120, 1.0 / 252,      -1.0 / 240,      1.0 / 132,
                                        -691.0 / 32760, 1.0 / 12,   -3617.0 / 8160, 43867.0 / 14364, -174611.0 / 6600};
  double square = 1 / (x * x), value = 0;
  for (size_t i = sizeof coefficients / sizeof *coefficients; i-- > 0;)
    value = (value + coefficients[i]) * square;
  return log(x) - (0.5 / x + value);
}

// On [3, 8]: log x minus a polynomial in 1/x (degree 12, Chebyshev nodes, error 3e-18), which is 0.17 at most.
static double digamma_3_8(double x) {
  static const double coefficients[] = {
      0x1.e72ad79ba5505p-4,  0x1.135b7b58a2f56p-1,  0x1.4b3098e63ebe4p-4,  -0x1.be1ca47266740p-8, -0x1.7e9c528f7272cp-8,
      0x1.c8c30e2474abep-9,  0x1.1038859388fc1p-11, -0x1.2923a1f0792f4p-9, 0x1.7985524cf08d2p-10, 0x1.78f948bad7afep-11,
      -0x1.3db94b6af8af6p-9, 0x1.04c1635c6953fp-9,  0x1.a5982a6c5adfep-11};
  double t = 1 / x - 0x1.d555555555555p-3, value = 0;
  for (size_t i = sizeof coefficients / sizeof *coefficients; i-- > 0;)
    value = value * t + coefficients[i];
  return log(x) - value;
}

static double digamma_positive(double x) {
  if (x >= 8)
    return digamma_large(x);
  if (x >= 3)
    return digamma_3_8(x);
  if (x > 2)
    return digamma_1_2(x - 1) + 1 / (x - 1);
  if (x >= 1)
    return digamma_1_2(x);
  return digamma_1_2(x + 1) - 1 / x;
}

// cot(pi x), by the exact distance to the nearest integer; exactly 0 at halves.
static double cotangent_of_pi(double x) {
  double distance = x - round(x);
  if (fabs(distance) > 0.25)
    return copysign(tan(pi * (0.5 - fabs(distance))), distance);
  return 1 / tan(pi * distance);
}

double gradc_rt_digamma(double x) {
  if (x > 0)
    return digamma_positive(x);
  if (x == 0)
    return -1 / x;
  if (x != x || floor(x) == x)
    return NAN;
  return digamma_positive(1 - x) - pi * cotangent_of_pi(x);
}

float gradc_rt_digamma_f32(float x) {
  return (float)gradc_rt_digamma(x);
}

// -- polygamma: (-1)^(n+1) n! zeta(n + 1, x), the Hurwitz zeta function ---------------------------------------------

// The greatest n whose factorial is a double.
enum { MAX_FACTORIAL = 170 };

static double factorial(int64_t n) {
  double value = 1;
  for (int64_t k = 2; k <= n; k++)
    value *= (double)k;
  return value;
}

// x^s zeta(s, x) = sum of (x / (x + k))^s, for x > 0 and s >= 2: the first terms one by one, until those left are
// negligible or the Euler-Maclaurin formula is good for them. All terms but its corrections are positive.
static double scaled_zeta(double s, double x) {
  static const double bernoulli[] = {// B(2j) / (2j)!
                                     0.083333333333333333,    -0.0013888888888888889,  3.3068783068783069e-05,
                                     -8.2671957671957672e-07, 2.0876756987868099e-08,  -5.2841901386874932e-10,
                                     1.3382536530684679e-11,  -3.3896802963225829e-13, 8.5860620562778446e-15,
                                     -2.1748686985580619e-16, 5.5090028283602295e-18,  -1.3954464685812523e-19};
  double sum = 0, y = x;
  for (int64_t k = 1; y < s + 10; k++) {
    double term = pow(x / y, s);
    sum += term;
    if (term * (1 + y / (s - 1)) < 0x1p-56 * sum)
      return sum;
    y = x + (double)k;
  }
  double term = pow(x / y, s);
  double tail = term * (y / (s - 1) + 0.5);
  double factor = term * s / y;
  for (size_t j = 0; j < sizeof bernoulli / sizeof *bernoulli; j++) {
    double correction = bernoulli[j] * factor;
    tail += correction;
    if (fabs(correction) < 0x1p-56 * tail)
      break;
    double index = s + 2 * (double)j;
    factor *= (index + 1) * (index + 2) / (y * y);
  }
  return sum + tail;
}

// n! zeta(n + 1, x) for x > 0, n >= 1.
static double factorial_zeta(int64_t n, double x) {
  double s = (double)n + 1;
  if (x == INFINITY)
    return 0;
  double sum = scaled_zeta(s, x);
  double power = pow(x, -s);
  if (n <= MAX_FACTORIAL && power > 1e-290 && power < 1e290)
    return factorial(n) * power * sum;
  // The factorial or the power alone has no double, though their product may. A long double's logarithm keeps what
  // the exponential then multiplies by the size of the exponent.
  return (double)(expl(lgammal((long double)n + 1) - (long double)s * logl((long double)x)) * (long double)sum);
}

// The n-th derivative of cot(pi x) is pi^n P(cot(pi x)), with P' = -(1 + c^2) dP/dc starting from c. The coefficients
// of one P have one sign, so that nothing cancels.
enum { MAX_COTANGENT = 100 };

static double cotangent_derivative(int64_t n, double x) {
  double polynomial[MAX_COTANGENT + 2] = {0, 1}, next[MAX_COTANGENT + 2];
  for (int64_t order = 0; order < n; order++) {
    int64_t degree = order + 1;
    for (int64_t i = 0; i <= degree + 1; i++) {
      double value = i < degree ? (double)(i + 1) * polynomial[i + 1] : 0;
      if (i >= 2)
        value += (double)(i - 1) * polynomial[i - 1];
      next[i] = -value;
    }
    for (int64_t i = 0; i <= degree + 1; i++)
      polynomial[i] = next[i];
  }
  double c = cotangent_of_pi(x), square = c * c, value = 0;
  int64_t degree = n + 1, lowest = degree % 2;
  for (int64_t i = degree; i >= lowest; i -= 2)
    value = value * square + polynomial[i];
  if (lowest)
    value *= c;
  return value * pow(pi, (double)n);
}

// n! zeta(n + 1, x) for negative x of a high order: the sum of n! (x + k)^-(n + 1) outward from the pole nearest to x,
// where the terms fall at least as fast as 3^-n.
static double zeta_beside_pole(int64_t n, double x) {
  double s = (double)n + 1, odd = n % 2 == 0 ? -1 : 1;
  double nearest = x - round(x);
  long double log_factorial = lgammal((long double)n + 1);
  double sum = 0;
  for (int64_t k = 0; k <= 3; k++) {
    double right = nearest + (double)k;
    sum += (right < 0 ? odd : 1) * (double)expl(log_factorial - (long double)s * logl(fabsl((long double)right)));
    double left = nearest - (double)k;
    if (k > 0 && left >= x)
      sum += (left < 0 ? odd : 1) * (double)expl(log_factorial - (long double)s * logl(fabsl((long double)left)));
  }
  return sum;
}

double gradc_rt_polygamma(int64_t order, double x) {
  if (order < 0 || x != x)
    return NAN;
  if (order == 0)
    return gradc_rt_digamma(x);
  double sign = order % 2 ? 1 : -1;
  if (x > 0)
    return sign * factorial_zeta(order, x);
  if (x == -INFINITY)
    return NAN;
  if (floor(x) == x) {
    if (order % 2)
      return INFINITY;
    return x == 0 ? copysign(INFINITY, -1 / x) : NAN;
  }
  // Halfway between poles the cotangent and its even derivatives are 0, whatever the size of the terms that cancel.
  if (order % 2 == 0 && x - floor(x) == 0.5)
    return sign * factorial_zeta(order, 1 - x);
  if (order > MAX_COTANGENT)
    return sign * zeta_beside_pole(order, x);
  // (-1)^n psi(n, 1 - x) - psi(n, x) is the n-th derivative of pi cot(pi x).
  double reflected = factorial_zeta(order, 1 - x) * sign;
  return -sign * reflected - pi * cotangent_derivative(order, x);
}

float gradc_rt_polygamma_f32(int64_t order, float x) {
  return (float)gradc_rt_polygamma(order, x);
}

// -- Integer powers ------------------------------------------------------------------------------------------------

int64_t gradc_rt_power_i64(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 1)
      return 1;
    return base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  }
  // Unsigned, where overflow wraps; back again by a conversion that every compiler in use defines as wrapping too.
  uint64_t square = (uint64_t)base, result = 1;
  for (uint64_t left = (uint64_t)exponent; left; left >>= 1) {
    if (left & 1)
      result *= square;
    square *= square;
  }
  return (int64_t)result;
}

int32_t gradc_rt_power_i32(int32_t base, int32_t exponent) {
  return (int32_t)(uint32_t)(uint64_t)gradc_rt_power_i64(base, exponent);
}
