/* What the machine can do, measured: multiplications with additions a second on registers, bytes a second from memory.
 */
#include "peak.h"
#include "bench.h"

enum { CHAINS = 7, LANES = 8, STEPS = 200000, WORDS = 1 << 23 };

typedef double Vector64 __attribute__((vector_size(64)));
typedef float Vector32 __attribute__((vector_size(64)));

#define PEAK(name, vector, lanes) \
  static double name(void) { \
    vector sums[CHAINS]; \
    double best = 0; \
    volatile int one = 1; /* not known while compiling */ \
    for (int c = 0; c < CHAINS; c++) \
      sums[c] = (vector){0} + (float)one; \
    for (int pass = 0; pass < 9; pass++) { \
      const double start = bench_now(); \
      for (int i = 0; i < STEPS; i++) \
        for (int c = 0; c < CHAINS; c++) \
          sums[c] = sums[c] * 0.999f + 0.001f; \
      const double rate = 2e3 * CHAINS * (lanes) * STEPS / (bench_now() - start); \
      best = rate > best ? rate : best; \
    } \
    volatile double keep = 0; \
    for (int c = 0; c < CHAINS; c++) \
      keep = keep + sums[c][0]; \
    return best; \
  }
PEAK(peak64, Vector64, LANES)
PEAK(peak32, Vector32, 2 * LANES)

static double peak_bytes(void) {
  double *x = malloc(sizeof *x * WORDS), best = 0;
  if (!x)
    return 0;
  for (int i = 0; i < WORDS; i++)
    x[i] = i;
  for (int pass = 0; pass < 9; pass++) {
    const double start = bench_now();
    double sums[LANES] = {0};
    for (int i = 0; i < WORDS; i += LANES)
      for (int j = 0; j < LANES; j++)
        sums[j] += x[i + j];
    volatile double keep = sums[0] + sums[LANES - 1];
    (void)keep;
    const double rate = 1e3 * sizeof *x * WORDS / (bench_now() - start);
    best = rate > best ? rate : best;
  }
  free(x);
  return best;
}

Peak peak_measure(void) {
  return (Peak){peak64(), peak32(), peak_bytes()};
}
