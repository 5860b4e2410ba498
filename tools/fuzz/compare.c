/* Tolerances; see compare.h. */
#include "tools/fuzz/compare.h"
#include <fenv.h>
#include <math.h>

/* ---- rounding */
void round_otherwise(int which) {
  static const int modes[ROUNDINGS] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  fesetround(modes[which]);
}

void round_nearest(void) {
  fesetround(FE_TONEAREST);
}

void noise_begin(Arena *arena, Noise *n, Arrays base) {
  *n = (Noise){base, NEW_ARRAY(arena, double *, base.n)};
  for (int r = 0; r < base.n; r++)
    n->spread[r] = NEW_ARRAY(arena, double, array_count(&base.at[r]));
}

void noise_add(Noise *n, const Arrays *other) {
  for (int r = 0; r < n->base.n; r++) {
    const int64_t count = array_count(&n->base.at[r]);
    const bool alike = other && array_count(&other->at[r]) == count; /* a sparse matrix may get other entries */
    for (int64_t i = 0; i < count; i++) {
      const double x = array_float(&n->base.at[r], i), y = alike ? array_float(&other->at[r], i) : NAN;
      const double moved = x == y || (isnan(x) && isnan(y) && alike) ? 0 : fabs(x - y);
      if (!(moved <= n->spread[r][i]))
        n->spread[r][i] = isnan(moved) ? INFINITY : moved;
    }
  }
}

void noise_join(Noise *n, const Noise *other) {
  for (int r = 0; r < n->base.n; r++) {
    const int64_t count = array_count(&n->base.at[r]);
    const bool alike = array_count(&other->base.at[r]) == count;
    for (int64_t i = 0; i < count; i++)
      n->spread[r][i] += alike ? other->spread[r][i] : INFINITY;
  }
}

static double largest(const Array *a) {
  double most = 0;
  const int64_t n = array_count(a);
  for (int64_t i = 0; i < n; i++)
    most = fmax(most, fabs(array_float(a, i)));
  return most;
}

Verdict noise_judge(const Noise *n, int result, int64_t element, double x, bool narrow) {
  const Array *base = &n->base.at[result];
  const double expected = array_float(base, element), spread = n->spread[result][element];
  if (!kind_is_float(base->kind))
    return spread == 0 ? WRONG_VALUE : UNDECIDED;
  const double scale = fmax(fabs(expected), 1e-6 * largest(base));
  if (isnan(expected) || isinf(expected) || spread > (narrow ? 1e-2 : 1e-5) * fmax(scale, 1e-3))
    return UNDECIDED;
  const double error = fabs(x - expected);
  return error <= 300 * spread + (narrow ? 1e-5 : 1e-13) * (scale + 0.1) ? AGREE : WRONG_VALUE;
}

bool near(const Array *expected, const Array *actual, int64_t i, bool narrow) {
  const double x = array_float(expected, i), y = array_float(actual, i);
  if (x == y || (isnan(x) && isnan(y)))
    return true;
  if (!kind_is_float(expected->kind))
    return false;
  return fabs(x - y) <= (narrow ? 2e-5 : 1e-12) * fmax(fabs(x), fabs(y));
}

void product_add(Product *p, const Array *a, const Array *b) {
  const int64_t n = array_count(a);
  for (int64_t i = 0; i < n; i++) {
    const double term = array_float(a, i) * array_float(b, i);
    p->value += term;
    p->magnitude += fabs(term);
  }
}

double noise_product(const Noise *n, Arrays v) {
  double sum = 0;
  const int from = n->base.n - v.n;
  for (int r = 0; r < v.n; r++) {
    const int64_t count = array_count(&v.at[r]);
    for (int64_t i = 0; i < count; i++)
      sum += n->spread[from + r][i] * fabs(array_float(&v.at[r], i));
  }
  return sum;
}

/* ---- differences.  The five-point formula over ever shorter steps; the first that agrees ends it.  Else the steps
   that agree among themselves best tell the slope, unless it is another on either side: a kink. */
enum { STEPS = 9 };
static double central(double (*change)(void *arg, double h), void *arg, double h, double *left, double *right) {
  const double near_left = change(arg, -h), near_right = change(arg, h);
  *left = -near_left / h;
  *right = near_right / h;
  return (change(arg, -2 * h) - 8 * near_left + 8 * near_right - change(arg, 2 * h)) / (12 * h);
}

Slope slope_find(double (*change)(void *arg, double h), void *arg, double expected, double magnitude, double size) {
  double slopes[STEPS], lefts[STEPS], rights[STEPS], h = 1e-3;
  for (int i = 0; i < STEPS; i++, h *= 0.2) {
    slopes[i] = central(change, arg, h, &lefts[i], &rights[i]);
    const double rounding = 64 * 0x1p-53 * size / h;
    if (fabs(slopes[i] - expected) <= 1e-7 * magnitude + (rounding < 1e-4 * magnitude ? rounding : 0))
      return (Slope){AGREE, slopes[i]};
  }
  int best = -1;
  double least = INFINITY;
  for (int i = 0; i + 1 < STEPS; i++) {
    const double d = fabs(slopes[i] - slopes[i + 1]);
    if (d < least) {
      least = d;
      best = i;
    }
  }
  if (best < 0)
    return (Slope){UNDECIDED, NAN};
  const double off = fabs(slopes[best] - expected), kink = fabs(lefts[best + 1] - rights[best + 1]);
  /* Where shorter steps see something else, by more than rounding, the function varies too fast for all of them. */
  for (int i = best + 2; i < STEPS; i++) {
    const double rounding = 256 * 0x1p-53 * size / (1e-3 * pow(0.2, i));
    if (!(fabs(slopes[i] - slopes[best]) <= fmin(0.5 * off, 0.05 * fabs(slopes[best])) + rounding))
      return (Slope){UNDECIDED, slopes[best]};
  }
  const bool sure = least < 0.01 * off && least < 1e-4 * fabs(slopes[best]) + 1e-8 * magnitude &&
                    off > 1e-5 * magnitude && kink < 0.2 * off;
  return (Slope){sure ? WRONG_SLOPE : UNDECIDED, slopes[best]};
}
