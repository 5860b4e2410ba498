/* Speed of the inlined mathematical functions beside glibc's libm and libmvec: elements a nanosecond, the best of many
   interleaved passes over arrays in the cache.

   build/tools/math_emit math.o && cc -O2 -march=native -fno-math-errno -Itests/math/inputs bench/math.c math.o -lmvec
   -lm -o math
   && ./math [NAME]

   x1, x4, x8 (f32: x1, x8, x16): ours, on scalars and on vectors. */
#include "functions.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { N = 2048, PASSES = 60 };

typedef void Loop64(const double *x, const double *y, double *result, int64_t n);
typedef void Loop32(const float *x, const float *y, float *result, int64_t n);
typedef double Vector64 __attribute__((vector_size(32)));
typedef float Vector32 __attribute__((vector_size(32)));

/* ---- libm and libmvec in the same loops */
static double sigmoid(double x) {
  return 1 / (1 + exp(-x));
}
static double softplus(double x) {
  return fmax(x, 0) + log1p(exp(-fabs(x)));
}
#define POWER(name, n) \
  static double name(double x) { \
    return pow(x, n); \
  } \
  static float name##f(float x) { \
    return powf(x, n); \
  }
MATH_POWERS(POWER)
static float sigmoidf(float x) {
  return 1 / (1 + expf(-x));
}
static float softplusf(float x) {
  return fmaxf(x, 0) + log1pf(expf(-fabsf(x)));
}

#ifdef __AVX2__
#define VECTOR1(name) \
  Vector64 _ZGVdN4v_##name(Vector64); \
  Vector32 _ZGVdN8v_##name##f(Vector32);
#define VECTOR2(name) \
  Vector64 _ZGVdN4vv_##name(Vector64, Vector64); \
  Vector32 _ZGVdN8vv_##name##f(Vector32, Vector32);
#define NO_VECTOR(name)
IN_LIBMVEC(VECTOR1, VECTOR2)
#endif

#define LOOPS(name, suffix, type, call) \
  static void name##_##suffix(const type *x, const type *y, type *result, int64_t n) { \
    (void)y; \
    for (int64_t i = 0; i < n; i++) \
      result[i] = call; \
  }
#define LIBM1(name, mpfr) LOOPS(name, libm64, double, name(x[i])) LOOPS(name, libm32, float, name##f(x[i]))
#define LIBM2(name, mpfr) LOOPS(name, libm64, double, name(x[i], y[i])) LOOPS(name, libm32, float, name##f(x[i], y[i]))
MATH_FUNCTIONS(LIBM1, LIBM2)
MATH_POWERS(LIBM1)

#define AT(type, p, i) (*(const type *)(p + i))
#define MVEC(name, suffix, type, vector, call) \
  static void name##_##suffix(const type *x, const type *y, type *result, int64_t n) { \
    (void)y; \
    for (int64_t i = 0; i < n; i += (int)(sizeof(vector) / sizeof(type))) \
      *(vector *)(result + i) = call; \
  }
#define MVEC1(name) \
  MVEC(name, mvec64, double, Vector64, _ZGVdN4v_##name(AT(Vector64, x, i))) \
  MVEC(name, mvec32, float, Vector32, _ZGVdN8v_##name##f(AT(Vector32, x, i)))
#define MVEC2(name) \
  MVEC(name, mvec64, double, Vector64, _ZGVdN4vv_##name(AT(Vector64, x, i), AT(Vector64, y, i))) \
  MVEC(name, mvec32, float, Vector32, _ZGVdN8vv_##name##f(AT(Vector32, x, i), AT(Vector32, y, i)))
#ifdef __AVX2__
IN_LIBMVEC(MVEC1, MVEC2)
#endif

typedef struct Mvec {
  const char *name;
  Loop64 *f64;
  Loop32 *f32;
} Mvec;
#define MVEC_ROW(name) {#name, name##_mvec64, name##_mvec32},
static const Mvec mvec[] = {
#ifdef __AVX2__
    IN_LIBMVEC(MVEC_ROW, MVEC_ROW)
#endif
        {"", NULL, NULL}};

static const Mvec *mvec_of(const char *name) {
  for (const Mvec *m = mvec; m->f64; m++)
    if (!strcmp(m->name, name))
      return m;
  return NULL;
}

/* ---- the functions */
typedef struct Function {
  const char *name;
  Loop64 *f64[4]; /* libm, then ours */
  Loop32 *f32[4];
} Function;

#define DECLARE(name, mpfr) \
  Loop64 math_##name##_f64x1, math_##name##_f64x4, math_##name##_f64x8; \
  Loop32 math_##name##_f32x1, math_##name##_f32x8, math_##name##_f32x16;
MATH_FUNCTIONS(DECLARE, DECLARE)
MATH_POWERS(DECLARE)
#define ROW(name, mpfr) \
  {#name, \
   {name##_libm64, math_##name##_f64x1, math_##name##_f64x4, math_##name##_f64x8}, \
   {name##_libm32, math_##name##_f32x1, math_##name##_f32x8, math_##name##_f32x16}},
static const Function functions[] = {MATH_FUNCTIONS(ROW, ROW) MATH_POWERS(ROW)};

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double x64[N], y64[N], result64[N] __attribute__((aligned(64)));
static float x32[N], y32[N], result32[N] __attribute__((aligned(64)));

static void print_row(const char *name, const char *kind, const double *best) {
  printf("%-10s %s  %6.3f", name, kind, N / best[0] * 1e-9);
  if (best[4] < 1)
    printf("  %6.3f", N / best[4] * 1e-9);
  else
    printf("  %6s", "-");
  for (int v = 1; v < 4; v++)
    printf("  %6.3f", N / best[v] * 1e-9);
  printf("   %5.1f", best[0] / best[2]);
  if (best[4] < 1)
    printf("  %5.2f", best[4] / best[2]);
  putchar('\n');
}

static void measure(const Function *f) {
  const Mvec *m = mvec_of(f->name);
  for (int single = 0; single < 2; single++) {
    double best[5] = {1, 1, 1, 1, 1};
    for (int pass = 0; pass < PASSES; pass++)
      for (int v = 0; v < 5; v++) {
        Loop64 *loop64 = v < 4 ? f->f64[v] : m ? m->f64 : NULL;
        Loop32 *loop32 = v < 4 ? f->f32[v] : m ? m->f32 : NULL;
        if (!loop64)
          continue;
        const double start = seconds();
        if (single)
          loop32(x32, y32, result32, N);
        else
          loop64(x64, y64, result64, N);
        const double time = seconds() - start;
        best[v] = time < best[v] ? time : best[v];
      }
    print_row(f->name, single ? "f32" : "f64", best);
  }
}

int main(int argc, char **argv) {
  for (int i = 0; i < N; i++) {
    x64[i] = 0.0003 + 0.9991 * i / N;
    y64[i] = 0.1 + 3.0 * ((i * 37) % N) / N;
    x32[i] = (float)x64[i];
    y32[i] = (float)y64[i];
  }
  printf("elements/ns         libm libmvec      x1   x4|x8  x8|x16  to libm, libmvec\n");
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
    if (argc < 2 || !strcmp(argv[1], functions[i].name))
      measure(&functions[i]);
  return 0;
}
