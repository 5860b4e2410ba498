/* Speed of matrix products beside OpenBLAS on one thread, and what the processor could do at most: billions of
   operations a second, the best of many interleaved passes.

   gradc bench/matmul.ad -o matmul.o && gradc bench/masked.ir -o masked.o &&
   cc -O2 -march=native -I. bench/matmul.c matmul.o masked.o $(gradc --libs) -o matmul &&
   OPENBLAS_NUM_THREADS=1 ./matmul [LIBRARY [PREFIX]]

   LIBRARY: that of CBLAS, libopenblas.so.0 if none is named; without one its columns are empty.  PREFIX: what stands
   before the names of its functions.  "masked" is A B
   where zeros keep out infinities of the other side. */
#include "matmul.h"
#include "bench.h"
#include "masked.h"
#define PER_SECOND 1e-6 /* from a millisecond, in thousand millions */
#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 512, ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112, NFORMS = 8 };

static double a[MOST * MOST], b[MOST * MOST], c[MOST * MOST], d[MOST * MOST];
static float a32[MOST * MOST], b32[MOST * MOST], c32[MOST * MOST], d32[MOST * MOST];

typedef void Dgemm(int, int, int, int, int, int, double, const double *, int, const double *, int, double, double *,
                   int);
typedef void Sgemm(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *, int);
typedef void Dgemv(int, int, int, int, double, const double *, int, const double *, int, double, double *, int);
static Dgemm *dgemm;
static Sgemm *sgemm;
static Dgemv *dgemv;

static const char *const forms[NFORMS] = {"A B", "A^T B", "A B^T", "A x", "x A", "A B f32", "masked", "4 A B"};

/* A has n rows and k columns (of A^T B: the other way round), B m columns. */
typedef struct Sizes {
  int n, k, m;
} Sizes;

static Sizes halves(Sizes s) {
  return (Sizes){s.n / 2, s.k / 2, s.m / 2};
}

static void ours(int form, Sizes s) {
  const int64_t n = s.n, k = s.k, m = s.m;
  switch (form) {
  case 0: product(n, k, m, a, b, c); break;
  case 1: left(k, n, m, a, b, c); break;
  case 2: right(n, k, m, a, b, c); break;
  case 3: column(n, k, a, b, c); break;
  case 4: row(n, k, a, b, c); break;
  case 5: single(n, k, m, a32, b32, c32); break;
  case 6: masked(n, k, m, a, b, c); break;
  case 7: batches(n / 2, k / 2, m / 2, a, b, c); break;
  }
}

static void theirs(int form, Sizes s) {
  const int n = s.n, k = s.k, m = s.m;
  const Sizes h = halves(s);
  switch (form) {
  case 0: dgemm(ROW_MAJOR, PLAIN, PLAIN, n, m, k, 1, a, k, b, m, 0, d, m); break;
  case 1: dgemm(ROW_MAJOR, TRANSPOSED, PLAIN, n, m, k, 1, a, n, b, m, 0, d, m); break;
  case 2: dgemm(ROW_MAJOR, PLAIN, TRANSPOSED, n, m, k, 1, a, k, b, k, 0, d, m); break;
  case 3: dgemv(ROW_MAJOR, PLAIN, n, k, 1, a, k, b, 1, 0, d, 1); break;
  case 4: dgemv(ROW_MAJOR, TRANSPOSED, n, k, 1, a, k, b, 1, 0, d, 1); break;
  case 5: sgemm(ROW_MAJOR, PLAIN, PLAIN, n, m, k, 1, a32, k, b32, m, 0, d32, m); break;
  default:
    for (int i = 0; i < 4; i++)
      dgemm(ROW_MAJOR, PLAIN, PLAIN, h.n, h.m, h.k, 1, a + i * h.n * h.k, h.k, b + i * h.k * h.m, h.m, 0,
            d + i * h.n * h.m, h.m);
  }
}

static double operations(int form, Sizes s) {
  const double n = s.n, k = s.k, m = s.m;
  const Sizes h = halves(s);
  return form == 3 || form == 4 ? 2 * n * k : form == 7 ? 8.0 * h.n * h.k * h.m : 2 * n * k * m;
}

/* Ten chains of fused multiply-adds on the widest vectors. */
static double peak(void) {
#if defined __AVX512F__
  typedef double Vector __attribute__((vector_size(64)));
#else
  typedef double Vector __attribute__((vector_size(32)));
#endif
  enum { CHAINS = 10, STEPS = 20000 };
  double best = 1e9;
  for (int pass = 0; pass < 200; pass++) {
    Vector y = {0}, sum = {0};
    y += 0.5;
    Vector x0 = y, x1 = y, x2 = y, x3 = y, x4 = y, x5 = y, x6 = y, x7 = y, x8 = y, x9 = y;
    __asm__ volatile("" : "+x"(y));
    const double start = bench_now();
    for (int s = 0; s < STEPS; s++) {
      x0 = x0 * y + y, x1 = x1 * y + y, x2 = x2 * y + y, x3 = x3 * y + y, x4 = x4 * y + y;
      x5 = x5 * y + y, x6 = x6 * y + y, x7 = x7 * y + y, x8 = x8 * y + y, x9 = x9 * y + y;
    }
    const double time = bench_now() - start;
    sum = x0 + x1 + x2 + x3 + x4 + x5 + x6 + x7 + x8 + x9;
    __asm__ volatile("" : : "x"(sum));
    best = time < best ? time : best;
  }
  return 2.0 * sizeof(Vector) / sizeof(double) * CHAINS * STEPS / best * PER_SECOND;
}

static void compare(int form, Sizes s) {
  double worst = 0;
  const Sizes h = halves(s);
  const int count = form == 3 ? s.n : form == 4 ? s.k : form == 7 ? 4 * h.n * h.m : s.n * s.m;
  for (int i = 0; i < count; i++) {
    const double error = form == 5 ? fabs((double)(c32[i] - d32[i])) : fabs(c[i] - d[i]);
    worst = error > worst || isnan(error) ? error : worst;
  }
  if (!(worst <= (form == 5 ? 1e-4 : 1e-12) * (s.k + s.n))) {
    printf("%s of %d x %d x %d differs by %g\n", forms[form], s.n, s.k, s.m, worst);
    exit(1);
  }
}

static void measure(int form, Sizes n) {
  const bool both = dgemm && form != 6;
  double best[2] = {1e9, 1e9};
  const double many = 2e4 / operations(form, n);
  const int calls = many > 1 ? (int)many : 1;
  const double until = bench_now() + 40;
  for (int pass = 0; pass < 5 || bench_now() < until; pass++)
    for (int who = 0; who < 1 + both; who++) {
      const double start = bench_now();
      for (int i = 0; i < calls; i++)
        who ? theirs(form, n) : ours(form, n);
      const double time = (bench_now() - start) / calls;
      best[who] = time < best[who] ? time : best[who];
    }
  printf("  %6.1f", operations(form, n) / best[0] * PER_SECOND);
  if (both) {
    printf(" %5.1f", operations(form, n) / best[1] * PER_SECOND);
    compare(form, n);
  } else {
    printf("      ");
  }
}

static void measure_all(Sizes s) {
  printf("%3d x%3d x%3d", s.n, s.k, s.m);
  for (int form = 0; form < NFORMS; form++)
    measure(form, s);
  printf("\n");
  fflush(stdout);
}

static void *function(void *library, const char *prefix, const char *name) {
  char whole[64];
  snprintf(whole, sizeof whole, "%s%s", prefix, name);
  return dlsym(library, whole);
}

static void find_blas(const char *name, const char *prefix) {
  void *library = dlopen(name, RTLD_NOW);
  if (!library)
    return;
  *(void **)&dgemm = function(library, prefix, "cblas_dgemm");
  *(void **)&sgemm = function(library, prefix, "cblas_sgemm");
  *(void **)&dgemv = function(library, prefix, "cblas_dgemv");
  if (!sgemm || !dgemv)
    dgemm = NULL;
}

int main(int argc, char **argv) {
  static const int squares[] = {3, 4, 5, 7, 8, 12, 15, 16, 24, 31, 32, 48, 64, 100, 128, 200, 256, 300, 384, 500, 512};
  static const Sizes others[] = {{64, 784, 128}, {784, 64, 128}, {128, 64, 784}, {32, 512, 512},
                                 {512, 512, 32}, {500, 10, 500}, {10, 500, 500}};
  find_blas(argc > 1 ? argv[1] : "libopenblas.so.0", argc > 2 ? argv[2] : "");
  for (int i = 0; i < MOST * MOST; i++) {
    a[i] = sin(i * 0.37);
    b[i] = cos(i * 0.73);
    a32[i] = (float)a[i];
    b32[i] = (float)b[i];
  }
  printf("at most %.1f in f64\n  n x k x m  ", peak());
  for (int form = 0; form < NFORMS; form++)
    printf("  %-12s", forms[form]);
  printf("\n");
  for (size_t i = 0; i < sizeof squares / sizeof *squares; i++)
    measure_all((Sizes){squares[i], squares[i], squares[i]});
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    measure_all(others[i]);
  return 0;
}
