/* Timing of calls: of one thread, in the processor's time that it takes, which others on the machine disturb less. */
#ifndef GRADC_BENCH_H
#define GRADC_BENCH_H
#include <stdlib.h>
#include <time.h>

/* Milliseconds. */
static inline double bench_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static inline int bench_by_size(const void *x, const void *y) {
  const double a = *(const double *)x, b = *(const double *)y;
  return (a > b) - (a < b);
}

/* Sorts the times. */
static inline double bench_median(double *times, int n) {
  qsort(times, (size_t)n, sizeof *times, bench_by_size);
  return n % 2 ? times[n / 2] : 0.5 * (times[n / 2 - 1] + times[n / 2]);
}
#endif
