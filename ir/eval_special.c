/* The reference evaluator: log gamma and polygamma in double, by other formulas than the runtime's where there is a
   choice, so that each is a test of the other.
   polygamma(n, x), n > 0: upward recurrence to where the asymptotic series holds; for negative x, reflection with
   the derivatives of pi cot(pi x), which are polynomials in the cotangent. */
#define _GNU_SOURCE
#include "ir/eval.h"
#include <math.h>

enum { BERNOULLI_COUNT = 12, MAX_REFLECTED_ORDER = 120 };
static const double bernoulli[BERNOULLI_COUNT] = {/* B2, B4 .. B24 */
                                                  1.0 / 6,       -1.0 / 30,       1.0 / 42,       -1.0 / 30,
                                                  5.0 / 66,      -691.0 / 2730,   7.0 / 6,        -3617.0 / 510,
                                                  43867.0 / 798, -174611.0 / 330, 854513.0 / 138, -236364091.0 / 2730};
static const double pi = 3.14159265358979323846;

double eval_lgamma(double x) {
  int sign;
  return lgamma_r(x, &sign);
}

/* The remainder of x by 1 is exact, and with it the argument of the tangent. */
static double cotangent_pi(double x) {
  const double r = x - rint(x); /* [-1/2, 1/2] */
  return fabs(r) == 0.5 ? 0 : 1 / tan(pi * r);
}

static double digamma_positive(double x) {
  double sum = 0;
  for (; x < 20; x++)
    sum -= 1 / x;
  sum += log(x) - 0.5 / x;
  double power = 1;
  for (int k = 1; k <= BERNOULLI_COUNT; k++) {
    power /= x * x;
    sum -= bernoulli[k - 1] / (2 * k) * power;
  }
  return sum;
}

static double digamma(double x) {
  if (x == 0)
    return copysign(INFINITY, -x);
  if (x < 0 && x == floor(x))
    return NAN;
  return x < 0.5 ? digamma_positive(1 - x) - pi * cotangent_pi(x) : digamma_positive(x);
}

/* n! / x^(n + 1), without overflow on the way. */
static double factorial_over_power(double n, double x) {
  if (n > 150)
    return exp(lgamma(n + 1) - (n + 1) * log(x));
  double r = 1 / x;
  for (double k = 1; k <= n; k++)
    r *= k / x;
  return r;
}

/* (-1)^(n + 1) polygamma(n, x): positive. */
static double polygamma_positive(double n, double x) {
  double sum = 0;
  for (; x < 20 + n && x < 1e4; x++) {
    const double term = factorial_over_power(n, x);
    sum += term;
    if (n > 50 && term < sum * 1e-18)
      return sum; /* the series itself has converged */
  }
  const double first = factorial_over_power(n - 1, x); /* (n-1)! / x^n */
  sum += first + n * first / (2 * x);
  double term = first; /* (2k+n-1)! / ((2k)! x^(2k+n)) */
  for (int k = 1; k <= BERNOULLI_COUNT; k++) {
    term *= (2 * k + n - 2) * (2 * k + n - 1) / ((2 * k - 1) * (2.0 * k) * x * x);
    sum += bernoulli[k - 1] * term;
  }
  return sum;
}

/* The n-th derivative of pi cot(pi x): with c = cot(pi x), d/dx is -pi (1 + c^2) d/dc. */
static double cotangent_derivative(int n, double x) {
  double p[MAX_REFLECTED_ORDER + 2] = {0, pi}; /* coefficients in c */
  for (int k = 1; k <= n; k++) {
    double q[MAX_REFLECTED_ORDER + 4] = {0};
    for (int i = 1; i <= k; i++) {
      q[i - 1] -= pi * i * p[i];
      q[i + 1] -= pi * i * p[i];
    }
    for (int i = 0; i <= k + 1; i++)
      p[i] = q[i];
  }
  const double c = cotangent_pi(x);
  double sum = 0;
  for (int i = n + 1; i >= 0; i--)
    sum = sum * c + p[i];
  return sum;
}

double eval_polygamma(int64_t order, double x) {
  if (order < 0 || isnan(x))
    return NAN;
  if (order == 0)
    return isinf(x) ? (x > 0 ? x : NAN) : digamma(x);
  const bool odd = order % 2 != 0;
  if (isinf(x))
    return x > 0 ? (odd ? 0.0 : -0.0) : NAN;
  if (x == 0)
    return odd ? INFINITY : copysign(INFINITY, -x);
  if (x < 0 && x == floor(x))
    return odd ? INFINITY : NAN;
  const double n = (double)order;
  if (x > 0)
    return odd ? polygamma_positive(n, x) : -polygamma_positive(n, x);
  if (order > MAX_REFLECTED_ORDER)
    return NAN;
  /* polygamma(n, 1 - x) + (-1)^(n+1) polygamma(n, x) = (-1)^n d^n/dx^n pi cot(pi x) */
  const double mirrored = polygamma_positive(n, 1 - x), slope = cotangent_derivative((int)order, x);
  return -slope - mirrored;
}
