/* Compares the inlined mathematical functions (an object of build/tools/math_emit) with MPFR: prints, for each function
   and kind, the largest error in units in the last place and where it is.  Fails where one exceeds 2.5, where an
   infinity, NaN or zero is not as it should be, or where widths differ in a bit.
     ulp [POINTS [NAME]]     POINTS a function and kind, and the special ones */
#include "functions.h"
#include <inttypes.h>
#include <math.h>
#include <mpfr.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 1024, PRECISION = 160, NWIDTHS = 5 };
static const double allowed = 2.5;

typedef union Number {
  double f64;
  float f32;
} Number;

/* ---- what MPFR lacks */
static int sigmoid_mpfr(mpfr_t r, const mpfr_t x, mpfr_rnd_t rnd) {
  mpfr_neg(r, x, rnd);
  mpfr_exp(r, r, rnd);
  mpfr_add_ui(r, r, 1, rnd);
  return mpfr_ui_div(r, 1, r, rnd);
}

static int softplus_mpfr(mpfr_t r, const mpfr_t x, mpfr_rnd_t rnd) {
  if (mpfr_cmp_ui(x, 2000) > 0)
    return mpfr_set(r, x, rnd);
  mpfr_exp(r, x, rnd);
  return mpfr_log1p(r, r, rnd);
}

#define POWER(name, n) \
  static int name##_mpfr(mpfr_t r, const mpfr_t x, mpfr_rnd_t rnd) { \
    return mpfr_pow_si(r, x, n, rnd); \
  }
MATH_POWERS(POWER)

/* ---- the table of functions */
typedef void Loop64(const double *x, const double *y, double *result, int64_t n);
typedef void Loop32(const float *x, const float *y, float *result, int64_t n);

typedef struct Function {
  const char *name;
  int (*one)(mpfr_t, const mpfr_t, mpfr_rnd_t);
  int (*two)(mpfr_t, const mpfr_t, const mpfr_t, mpfr_rnd_t);
  Loop64 *f64[NWIDTHS];
  Loop32 *f32[NWIDTHS];
} Function;

#define WIDTHS(V, name, kind) V(name, kind, 1), V(name, kind, 2), V(name, kind, 4), V(name, kind, 8), V(name, kind, 16)
#define SYMBOL(name, kind, lanes) math_##name##_##kind##x##lanes
#define DECLARE64(name, lanes) Loop64 SYMBOL(name, f64, lanes);
#define DECLARE32(name, lanes) Loop32 SYMBOL(name, f32, lanes);
#define DECLARE(name, mpfr) \
  DECLARE64(name, 1) \
  DECLARE64(name, 2) \
  DECLARE64(name, 4) \
  DECLARE64(name, 8) \
  DECLARE64(name, 16) DECLARE32(name, 1) DECLARE32(name, 2) DECLARE32(name, 4) DECLARE32(name, 8) DECLARE32(name, 16)
MATH_FUNCTIONS(DECLARE, DECLARE)
MATH_POWERS(DECLARE)

#define ROW1(name, mpfr) {#name, mpfr, NULL, {WIDTHS(SYMBOL, name, f64)}, {WIDTHS(SYMBOL, name, f32)}},
#define ROW2(name, mpfr) {#name, NULL, mpfr, {WIDTHS(SYMBOL, name, f64)}, {WIDTHS(SYMBOL, name, f32)}},
#define ROW_POWER(name, n) ROW1(name, name##_mpfr)
static const Function functions[] = {MATH_FUNCTIONS(ROW1, ROW2) MATH_POWERS(ROW_POWER)};

/* ---- points */
static uint64_t state = 88172645463325252u;

static uint64_t random_bits(void) {
  state ^= state << 13;
  state ^= state >> 7;
  return (state ^= state << 17) * 2685821657736338717u;
}

static double uniform(void) {
  return (double)(random_bits() >> 11) * 0x1p-53;
}

static double from_bits(uint64_t bits, bool single) {
  double x;
  float y;
  const uint32_t half = (uint32_t)(bits >> 32);
  memcpy(&x, &bits, sizeof x);
  memcpy(&y, &half, sizeof y);
  return single ? (double)y : x;
}

/* Any bits; then what functions are mostly called with, and around where their methods change. */
static double random_point(bool single) {
  static const double ranges[] = {1, 0.01, 3, 10, 30, 100, 1000, 1e5};
  static const double centres[] = {1,
                                   1,
                                   -1,
                                   0.5,
                                   2,
                                   0.35,
                                   0.6931471805599453,
                                   0.78539816339744831,
                                   709.78,
                                   -745.1,
                                   -708.4,
                                   88.7,
                                   700,
                                   -700,
                                   80,
                                   -80,
                                   -103.9,
                                   0.70710678118654752,
                                   1.4142135623730951,
                                   0.84375,
                                   1.25,
                                   26.5,
                                   5.9,
                                   710.47,
                                   20,
                                   9.0,
                                   4.0,
                                   0.4142,
                                   2.4142};
  const unsigned kind = random_bits() % 16;
  const double sign = random_bits() % 2 ? -1 : 1;
  if (kind < 3)
    return from_bits(random_bits(), single);
  if (kind < 10)
    return sign * uniform() * ranges[random_bits() % (sizeof ranges / sizeof *ranges)];
  if (kind < 12) /* of all sizes about 1 */
    return sign * ldexp(1 + uniform(), (int)(random_bits() % 80) - 60);
  if (kind < 14)
    return centres[random_bits() % (sizeof centres / sizeof *centres)] *
           (1 + sign * ldexp(uniform(), -(int)(random_bits() % 52)));
  /* Next to multiples of pi / 4. */
  const double k = (double)(random_bits() >> (36 + random_bits() % 26));
  return sign * k * 0.78539816339744831 * (1 + ldexp(uniform() - 0.5, -52));
}

static const double special[] = {
    0,
    0x1p-1074,
    0x1p-1073,
    0x1.8p-1060,
    0x1p-1022,
    0x0.fffffffffffffp-1022,
    0x1p-149,
    0x1p-126,
    0x1.fffffcp-127,
    1,
    0x1.0000000000001p0,
    0x1.fffffffffffffp-1,
    0x1.000002p0,
    0x1.fffffep-1,
    0.5,
    2,
    3,
    4,
    5,
    7,
    8,
    0.1,
    10,
    100,
    1000,
    1.5,
    2.5,
    0x1p52,
    0x1.0000000000001p52,
    0x1p53,
    0x1.fffffffffffffp52,
    0x1p23,
    0x1.000002p23,
    0x1p24,
    0x1.fffffep23,
    0x1p31,
    0x1p63,
    0x1p64,
    0x1.fffffffffffffp1023,
    0x1p1023,
    0x1.fffffep127,
    0x1p127,
    0x1p1000,
    0x1p-1000,
    0x1p600,
    0x1p-600,
    0x1p70,
    0x1p-70,
    709.782712893384,
    709.7827128933841,
    745.1332191019411,
    745.1332191019412,
    708.3964185322641,
    710.4758600739439,
    710.475860073944,
    88.72283935546875,
    88.7228469848633,
    103.97207641601562,
    103.972084045410,
    87.33654785156250,
    89.41598510742188,
    89.4159927368164,
    1024,
    1023.9999999999999,
    1074,
    1075,
    1076,
    1022,
    128,
    127.99999237060547,
    149,
    150,
    126,
    1e22,
    1e300,
    355,
    103993,
    1.5707963267948966,
    3.141592653589793,
    0.7853981633974483,
    6.283185307179586,
    1.5707963705062866,
    26.543258469,
    27.226017111108366,
    9.194549560546875,
    10.0541973,
    5.9215871957945083,
    36.7,
    19.06,
    22,
    6.0,
    0x1.6p28,
    16367173.0 * 0x1p72,
    INFINITY,
    NAN,
};
enum { NSPECIAL = sizeof special / sizeof *special };

/* Of these all pairs are taken. */
static const double paired[] = {
    0,
    0x1p-1074,
    0x1p-149,
    0x1p-1022,
    0x1p-126,
    1,
    0x1.0000000000001p0,
    0x1.fffffffffffffp-1,
    0x1.000002p0,
    0x1.fffffep-1,
    0.5,
    2,
    3,
    4,
    1.5,
    0.1,
    1000,
    0x1p23,
    0x1p24,
    0x1.fffffep23,
    0x1p52,
    0x1.0000000000001p52,
    0x1p53,
    0x1.fffffffffffffp52,
    0x1p64,
    0x1p127,
    0x1.fffffep127,
    0x1.fffffffffffffp1023,
    0x1p-600,
    0x1p600,
    0x1p-70,
    1074,
    1023,
    149,
    INFINITY,
    NAN,
};
enum { NPAIRED = sizeof paired / sizeof *paired };

static double from_list(const double *list, uint64_t n, uint64_t i) {
  return i % 2 ? -list[i / 2 % n] : list[i / 2 % n];
}

static void special_point(bool pair, uint64_t i, double *x, double *y) {
  *x = pair ? from_list(paired, NPAIRED, i) : from_list(special, NSPECIAL, i);
  *y = from_list(paired, NPAIRED, i / (2 * NPAIRED));
}

/* ---- errors */
typedef struct Worst {
  double error, x, y;
  int wrong; /* infinities, NaN and zeros */
  int unlike;
} Worst;

/* The error of `got` in units in the last place of `exact`, infinite where it is of another nature. */
static double error_of(double got, mpfr_t exact, bool single) {
  const int precision = single ? 24 : 53, least = single ? -149 : -1074, most = single ? 128 : 1024;
  if (mpfr_nan_p(exact) || isnan(got))
    return (mpfr_nan_p(exact) != 0) == (isnan(got) != 0) ? 0 : INFINITY;
  if (mpfr_inf_p(exact) || mpfr_zero_p(exact))
    return mpfr_get_d(exact, MPFR_RNDN) == got && (mpfr_signbit(exact) != 0) == (signbit(got) != 0) ? 0 : INFINITY;
  if (got == 0 && (mpfr_signbit(exact) != 0) != (signbit(got) != 0))
    return INFINITY;
  mpfr_exp_t exponent = mpfr_get_exp(exact) - precision;
  if (exponent < least)
    exponent = least;
  mpfr_t difference;
  mpfr_init2(difference, PRECISION);
  if (exponent > most - precision) { /* it is too large: no error where infinity was given */
    exponent = most - precision;
    if (isinf(got) && (got > 0) == (mpfr_sgn(exact) > 0)) {
      mpfr_clear(difference);
      return 0;
    }
  }
  if (isinf(got)) /* as if the range went on */
    mpfr_set_d(difference, got > 0 ? 1 : -1, MPFR_RNDN), mpfr_mul_2si(difference, difference, most, MPFR_RNDN);
  else
    mpfr_set_d(difference, got, MPFR_RNDN);
  mpfr_sub(difference, difference, exact, MPFR_RNDN);
  mpfr_mul_2si(difference, difference, -exponent, MPFR_RNDN);
  const double error = fabs(mpfr_get_d(difference, MPFR_RNDN));
  mpfr_clear(difference);
  return error;
}

static void compare(const Function *f, bool single, double x, double y, double got, mpfr_t exact, mpfr_t a, mpfr_t b,
                    Worst *worst) {
  mpfr_set_d(a, x, MPFR_RNDN);
  mpfr_set_d(b, y, MPFR_RNDN);
  if (f->one)
    f->one(exact, a, MPFR_RNDN);
  else
    f->two(exact, a, b, MPFR_RNDN);
  const double error = error_of(got, exact, single);
  if (isinf(error)) {
    if (worst->wrong++ < 5) {
      printf("%s %s(%a", single ? "f32" : "f64", f->name, x);
      printf(f->one ? ") is %a, not %a\n" : ", %a) is %a, not %a\n", f->one ? got : y,
             f->one ? mpfr_get_d(exact, MPFR_RNDN) : got, mpfr_get_d(exact, MPFR_RNDN));
    }
  } else if (error > worst->error)
    *worst = (Worst){error, x, y, worst->wrong, worst->unlike};
}

/* Results as doubles, compared among the widths. */
static void run(const Function *f, bool single, const double *x, const double *y, double *result, Worst *worst) {
  static double other64[BATCH];
  static float x32[BATCH], y32[BATCH], result32[BATCH], other32[BATCH];
  for (int i = 0; i < BATCH; i++) {
    x32[i] = (float)x[i];
    y32[i] = (float)y[i];
  }
  for (int w = 0; w < NWIDTHS; w++) {
    if (single)
      f->f32[w](x32, y32, w ? other32 : result32, BATCH);
    else
      f->f64[w](x, y, w ? other64 : result, BATCH);
    for (int i = 0; i < BATCH && w; i++)
      if (single ? memcmp(&other32[i], &result32[i], 4) && !(isnan(other32[i]) && isnan(result32[i]))
                 : memcmp(&other64[i], &result[i], 8) && !(isnan(other64[i]) && isnan(result[i])))
        if (worst->unlike++ < 3)
          printf("%s %s(%a, %a): %a at width %d, %a at 1\n", single ? "f32" : "f64", f->name, x[i], y[i],
                 single ? (double)other32[i] : other64[i], 1 << w, single ? (double)result32[i] : result[i]);
  }
  for (int i = 0; i < BATCH && single; i++)
    result[i] = (double)result32[i];
}

static Worst test(const Function *f, bool single, uint64_t npoints) {
  static double x[BATCH], y[BATCH], result[BATCH];
  const uint64_t nspecial = f->one ? 2 * NSPECIAL : 4 * NPAIRED * NPAIRED;
  Worst worst = {0};
  mpfr_t exact, a, b;
  mpfr_inits2(PRECISION, exact, a, b, (mpfr_ptr)0);
  for (uint64_t done = 0; done < nspecial + npoints; done += BATCH) {
    for (int i = 0; i < BATCH; i++) {
      const uint64_t at = done + (uint64_t)i;
      if (at < nspecial)
        special_point(!f->one, at, &x[i], &y[i]);
      else
        x[i] = random_point(single), y[i] = random_point(single);
      if (single) {
        x[i] = (double)(float)x[i];
        y[i] = (double)(float)y[i];
      }
    }
    run(f, single, x, y, result, &worst);
    for (int i = 0; i < BATCH; i++)
      compare(f, single, x[i], y[i], result[i], exact, a, b, &worst);
  }
  mpfr_clears(exact, a, b, (mpfr_ptr)0);
  return worst;
}

int main(int argc, char **argv) {
  const uint64_t npoints = argc > 1 ? strtoull(argv[1], NULL, 10) : 2000;
  bool good = true;
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    if (argc > 2 && strcmp(argv[2], functions[i].name) != 0)
      continue;
    for (int single = 0; single < 2; single++) {
      const Worst w = test(&functions[i], single, npoints);
      printf("%-9s %s  %.3f  at %a", functions[i].name, single ? "f32" : "f64", w.error, w.x);
      if (functions[i].two)
        printf(", %a", w.y);
      if (w.wrong)
        printf("  WRONG: %d", w.wrong);
      if (w.unlike)
        printf("  UNLIKE: %d", w.unlike);
      puts(w.error > allowed ? "  TOO LARGE" : "");
      fflush(stdout);
      good = good && w.error <= allowed && !w.wrong && !w.unlike;
    }
  }
  return !good;
}
