/* The greatest difference between two arrays of a kind each, by the largest number in the second. */
#ifndef GRADC_BENCH_COMPARE_H
#define GRADC_BENCH_COMPARE_H
#include <math.h>
#include <stdint.h>

static inline double array_number(char kind, const void *x, int64_t i) {
  return kind == 'd' ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

static inline double array_difference(char kind_x, const void *x, char kind_y, const void *y, int64_t n) {
  double most = 0, size = 0;
  for (int64_t i = 0; i < n; i++) {
    const double a = array_number(kind_x, x, i), b = array_number(kind_y, y, i);
    if (isnan(a) || isnan(b))
      return NAN;
    most = fmax(most, fabs(a - b));
    size = fmax(size, fabs(b));
  }
  return size > 0 ? most / size : most;
}
#endif
