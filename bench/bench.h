/* Timing of calls: the median of several, interleaved by the caller with what it is compared to. */
#ifndef GRADC_BENCH_H
#define GRADC_BENCH_H
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BENCH_RUNS = 21 };

static inline double bench_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static inline int bench_by_size(const void *x, const void *y) {
  const double a = *(const double *)x, b = *(const double *)y;
  return (a > b) - (a < b);
}

/* Milliseconds; sorts the times. */
static inline double bench_median(double *times, int n) {
  qsort(times, (size_t)n, sizeof *times, bench_by_size);
  return times[n / 2];
}

static inline double *bench_numbers(FILE *f, long n) {
  double *x = malloc(sizeof *x * (size_t)(n ? n : 1));
  for (long i = 0; x && i < n; i++)
    if (fscanf(f, "%lf", &x[i]) != 1)
      return NULL;
  return x;
}
#endif
