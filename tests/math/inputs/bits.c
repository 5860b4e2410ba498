/* Prints, for each function and kind, a digest of its results at fixed points: the same on all processors that have
   fused multiply-add.  Points keep to where libm is not called. */
#include "functions.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { N = 4096 };

typedef void Loop64(const double *x, const double *y, double *result, int64_t n);
typedef void Loop32(const float *x, const float *y, float *result, int64_t n);

#define DECLARE(name, mpfr) \
  Loop64 math_##name##_f64x1, math_##name##_f64x4; \
  Loop32 math_##name##_f32x1, math_##name##_f32x8;
MATH_FUNCTIONS(DECLARE, DECLARE)
MATH_POWERS(DECLARE)

typedef struct Function {
  const char *name;
  Loop64 *f64[2];
  Loop32 *f32[2];
} Function;
#define ROW(name, mpfr) {#name, {math_##name##_f64x1, math_##name##_f64x4}, {math_##name##_f32x1, math_##name##_f32x8}},
static const Function functions[] = {MATH_FUNCTIONS(ROW, ROW) MATH_POWERS(ROW)};

static uint64_t digest(uint64_t hash, const void *data, size_t n) {
  const unsigned char *bytes = data;
  for (size_t i = 0; i < n; i++)
    hash = (hash ^ bytes[i]) * 1099511628211u;
  return hash;
}

int main(void) {
  static double x[N], y[N], result[N];
  static float x32[N], y32[N], result32[N];
  uint64_t state = 88172645463325252u;
  for (int i = 0; i < N; i++) {
    static const double scales[] = {1, 0.001, 30, 700};
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    x[i] = (double)(int64_t)state * 0x1p-63 * scales[i % 4];
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    y[i] = (double)(int64_t)state * 0x1p-63 * scales[i / 4 % 4];
    x32[i] = (float)x[i];
    y32[i] = (float)y[i];
  }
  for (size_t f = 0; f < sizeof functions / sizeof *functions; f++) {
    printf("%s", functions[f].name);
    for (int w = 0; w < 2; w++) {
      functions[f].f64[w](x, y, result, N);
      functions[f].f32[w](x32, y32, result32, N);
      /* The bits of a NaN may differ. */
      for (int i = 0; i < N; i++) {
        result[i] = result[i] == result[i] ? result[i] : 0;
        result32[i] = result32[i] == result32[i] ? result32[i] : 0;
      }
      printf("  %016" PRIx64 " %016" PRIx64, digest(14695981039346656037u, result, sizeof result),
             digest(14695981039346656037u, result32, sizeof result32));
    }
    putchar('\n');
  }
  return 0;
}
