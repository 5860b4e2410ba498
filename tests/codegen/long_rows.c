/* A vector times a matrix, in long rows and in tiles: what a plain loop gives; zeros keep out what is infinite.
   RUN: %gradc %S/inputs/long_rows.ad -o %t.o
   RUN: %gradc %S/inputs/long_rows_masked.ir -o %t.m.o
   RUN: %cc -fsanitize=address,undefined -I%T %s -include %t.h -include %t.m.h %t.o %t.m.o %libs -o %t && %t
   RUN: %gradc --cpu=x86-64 %S/inputs/long_rows.ad -o %t.o
   RUN: %gradc --cpu=x86-64 %S/inputs/long_rows_masked.ir -o %t.m.o
   RUN: %cc -I%T %s -include %t.h -include %t.m.h %t.o %t.m.o %libs -o %t && %t
   RUN: %gradc --threads --strict %S/inputs/long_rows.ad -o %t.o
   RUN: %cc -I%T %s -include %t.h -include %t.m.h %t.o %t.m.o %libs -o %t && %t */
#include "inputs/expect.h"

static double next(void) {
  static unsigned state = 1;
  state = state * 1103515245u + 12345u;
  return (state >> 8) % 2001 / 1000.0 - 1;
}

static double *numbers(int64_t n) {
  double *x = malloc((size_t)n * sizeof *x);
  for (int64_t i = 0; i < n; i++)
    x[i] = next();
  return x;
}

static float *brief(const double *x, int64_t n) {
  float *y = malloc((size_t)n * sizeof *y);
  for (int64_t i = 0; i < n; i++)
    y[i] = (float)x[i];
  return y;
}

static void check_product(int64_t n, int64_t m) {
  double *x = numbers(n), *a = numbers(n * m), *y = numbers(m);
  float *x32 = brief(x, n), *a32 = brief(a, n * m), *y32 = brief(y, m);
  EXPECT(any(n, m, x, a, y) == GRADC_OK && single(n, m, x32, a32, y32) == GRADC_OK);
  int bad = 0;
  for (int64_t j = 0; j < m; j++) {
    double sum = 0, size = 0;
    for (int64_t i = 0; i < n; i++) {
      sum += x[i] * a[i * m + j];
      size += fabs(x[i] * a[i * m + j]);
    }
    bad += !(fabs(y[j] - sum) <= 1e-14 * size) + !(fabs(y32[j] - sum) <= 1e-5 * size);
  }
  EXPECT(!bad);
  free(x), free(a), free(y), free(x32), free(a32), free(y32);
}

/* Row n / 2 is infinite, and its factor 0; the last column has a factor that is infinite. */
static void check_masked(int64_t n, int64_t m) {
  double *x = numbers(n), *a = numbers(n * m), *y = numbers(m);
  x[n / 2] = 0;
  for (int64_t j = 0; j < m; j++)
    a[n / 2 * m + j] = INFINITY;
  if (n > 1)
    a[m - 1] = x[0] = INFINITY;
  EXPECT(masked(n, m, x, a, y) == GRADC_OK);
  int bad = 0;
  for (int64_t j = 0; j < m; j++) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
      sum += x[i] == 0 || a[i * m + j] == 0 ? 0 : x[i] * a[i * m + j];
    bad += isfinite(sum) ? !(fabs(y[j] - sum) <= 1e-14 * (double)n) : isnan(sum) ? !isnan(y[j]) : y[j] != sum;
  }
  EXPECT(!bad);
  free(x), free(a), free(y);
}

int main(void) {
  static const int64_t sizes[][2] = {{300, 200}, {128, 128}, {131, 2500}, {3001, 65}, {70, 60},
                                     {1, 70},    {64, 2049}, {5, 9000},   {0, 300},   {2000, 63}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    check_product(sizes[i][0], sizes[i][1]);
    if (sizes[i][0])
      check_masked(sizes[i][0], sizes[i][1]);
  }
  return failed;
}
