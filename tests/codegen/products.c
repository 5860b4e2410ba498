/* Large products of matrices, which run in blocks: sizes on both sides of what a stretch, a part, a block and a group
   of columns holds, factors that lie one way or another, in a workspace of the caller's that is just large enough.
   All numbers are whole.
   REQUIRES: !quick
   RUN: %gradc %S/inputs/products.ad -o %t.o
   RUN: %cc -I%T %s -include %t.h %t.o %libs -o %t && %t
   RUN: %gradc --cpu=x86-64 %S/inputs/products.ad -o %t.o
   RUN: %cc -I%T %s -include %t.h %t.o %libs -o %t && %t
   RUN: %gradc --threads %S/inputs/products.ad -o %t.o
   RUN: %cc -fsanitize=address,undefined -I%T %s -include %t.h %t.o %libs -o %t && %t */
#include "inputs/expect.h"
#include <stdbool.h>

enum { GUARD = 64 };

typedef struct Matrices {
  int64_t n, k, m;
  double *a, *b, *c, *at, *bt, *expected;
} Matrices;

static double *numbers(int64_t count, int by, int most) {
  double *x = malloc((size_t)(count + 1) * sizeof *x);
  for (int64_t i = 0; i < count; i++)
    x[i] = (double)((i * by + i / 7) % most - most / 2);
  return x;
}

static double *transposed(const double *x, int64_t n, int64_t m) {
  double *y = malloc((size_t)(n * m + 1) * sizeof *y);
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < m; j++)
      y[j * n + i] = x[i * m + j];
  return y;
}

static void multiply(const double *a, const double *b, int64_t n, int64_t k, int64_t m, double *c) {
  for (int64_t i = 0; i < n * m; i++)
    c[i] = 0;
  for (int64_t i = 0; i < n; i++)
    for (int64_t l = 0; l < k; l++)
      for (int64_t j = 0; j < m; j++)
        c[i * m + j] += a[i * k + l] * b[l * m + j];
}

static Matrices make(int64_t n, int64_t k, int64_t m) {
  Matrices x = {.n = n, .k = k, .m = m, .a = numbers(n * k, 5, 7), .b = numbers(k * m, 3, 5)};
  x.c = numbers(n * m, 1, 3);
  x.at = transposed(x.a, n, k);
  x.bt = transposed(x.b, k, m);
  x.expected = numbers(n * m, 1, 3);
  multiply(x.a, x.b, n, k, m, x.expected);
  return x;
}

static void drop(Matrices *x) {
  double *all[] = {x->a, x->b, x->c, x->at, x->bt, x->expected};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    free(all[i]);
}

/* Memory of so many bytes, behind which nothing may be written. */
static char *guarded(int64_t bytes) {
  char *work = malloc((size_t)bytes + GUARD);
  memset(work + bytes, 77, GUARD);
  return work;
}

static bool untouched(const char *work, int64_t bytes) {
  for (int i = 0; i < GUARD; i++)
    if (work[bytes + i] != 77)
      return false;
  return true;
}

static bool is_expected(const Matrices *x) {
  const bool same = !memcmp(x->c, x->expected, (size_t)(x->n * x->m) * sizeof *x->c);
  memset(x->c, 0, (size_t)(x->n * x->m) * sizeof *x->c);
  return same;
}

#define CHECK(f, a, b) \
  do { \
    const int64_t bytes = f##_worksize(SIZES); \
    char *work = guarded(bytes); \
    EXPECT(f##_ws(SIZES, a, b, x.c, work, bytes) == GRADC_OK); \
    EXPECT(untouched(work, bytes)); \
    EXPECT(is_expected(&x)); \
    free(work); \
  } while (0)

static void test_forms(int64_t n, int64_t k, int64_t m) {
  Matrices x = make(n, k, m);
#define SIZES n, k, m
  CHECK(near, x.a, x.b);
#undef SIZES
#define SIZES k, n, m
  CHECK(across, x.at, x.b);
#undef SIZES
#define SIZES n, k, m
  CHECK(apart, x.a, x.bt);
#undef SIZES
#define SIZES k, n, m
  CHECK(both, x.at, x.bt);
#undef SIZES
  drop(&x);
}

static void test_more(int64_t n, int64_t k, int64_t m) {
  Matrices x = make(n, k, m);
  double *add = numbers(m, 2, 9), *y = numbers(n * m, 1, 3), most = 0, largest = -1e300;
  EXPECT(more(n, k, m, x.a, x.b, add, y, &most) == GRADC_OK);
  bool same = true;
  for (int64_t i = 0; i < n * m; i++) {
    same &= y[i] == add[i % m] - x.expected[i];
    largest = x.expected[i] > largest ? x.expected[i] : largest;
  }
  EXPECT(same);
  EXPECT(most == largest);
  free(add);
  free(y);
  drop(&x);
}

/* Two matrices, the second half of each being the first one again. */
static void test_narrow(int64_t n, int64_t k, int64_t m) {
  Matrices x = make(n, k, m);
  float *a = malloc((size_t)(2 * n * k) * sizeof *a), *b = malloc((size_t)(2 * k * m) * sizeof *b),
        *c = malloc((size_t)(2 * n * m) * sizeof *c);
  for (int64_t i = 0; i < 2 * n * k; i++)
    a[i] = (float)x.a[i % (n * k)];
  for (int64_t i = 0; i < 2 * k * m; i++)
    b[i] = (float)x.b[i % (k * m)];
  EXPECT(narrow(n, k, m, a, b, c) == GRADC_OK);
  bool same = true;
  for (int64_t i = 0; i < 2 * n * m; i++)
    same &= c[i] == (float)x.expected[i % (n * m)];
  EXPECT(same);
  free(a);
  free(b);
  free(c);
  drop(&x);
}

/* No axis lies in memory step by step; one that a row and a step move along together; and no product: one that a row
   and a column move along. */
static void test_strange(int64_t n, int64_t k, int64_t m) {
  const int64_t q = 3;
  double *a = numbers(k * (n + 2) * q, 5, 7), *b = numbers(m * k * q, 3, 5), *c = numbers(q * n * m, 1, 3);
  EXPECT(strange(k, n, q, m, a, b, c) == GRADC_OK);
  bool same = true;
  for (int64_t p = 0; p < q; p++)
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = 0; j < m; j++) {
        double sum = 0;
        for (int64_t l = 0; l < k; l++)
          sum += a[(l * (n + 2) + i + 1) * q + p] * b[(j * k + l) * q + p];
        same &= c[(p * n + i) * m + j] == sum;
      }
  EXPECT(same);
  EXPECT(moving(n, m, a, b, c) == GRADC_OK);
  same = true;
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < m; j++) {
      double sum = 0;
      for (int64_t l = 0; l < 64; l++)
        sum += a[i + l] * b[l * m + j];
      same &= c[i * m + j] == sum;
    }
  EXPECT(same);
  EXPECT(slanted(k, n, a, b, c) == GRADC_OK);
  same = true;
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < 32; j++) {
      double sum = 0;
      for (int64_t l = 0; l < k; l++)
        sum += a[l * (n + 31) + i + j] * b[l * 32 + j];
      same &= c[i * 32 + j] == sum;
    }
  EXPECT(same);
  free(a);
  free(b);
  free(c);
}

/* Products that keep the rule of exact zeros: an element that is infinite comes to nothing where the other factor is 0.
   The seed's last column is 0. */
static void test_gradient(int64_t n, int64_t k, int64_t m) {
  Matrices x = make(n, k, m);
  double *seed = numbers(n * m, 3, 5), *d_a = numbers(n * k, 1, 3), *d_b = numbers(k * m, 1, 3);
  double *by_a = numbers(n * k, 1, 3), *by_b = numbers(k * m, 1, 3);
  for (int64_t i = 0; i < n; i++)
    seed[i * m + m - 1] = 0;
  multiply(seed, x.bt, n, m, k, by_a);
  multiply(x.at, seed, k, n, m, by_b);
  for (int infinite = 0; infinite < 2; infinite++) {
    EXPECT(near_back(n, k, m, x.a, x.b, seed, NULL, d_a, d_b) == GRADC_OK);
    bool same = true;
    for (int64_t i = 0; i < n * k; i++)
      same &= d_a[i] == by_a[i];
    EXPECT(same);
    for (int64_t i = 0; i < k * m; i++)
      same &= d_b[i] == by_b[i];
    EXPECT(same);
    x.b[m - 1] = INFINITY;
  }
  free(seed);
  free(d_a);
  free(d_b);
  free(by_a);
  free(by_b);
  drop(&x);
}

int main(void) {
  static const int64_t sizes[][3] = {{130, 131, 132}, {33, 900, 77}, {600, 64, 60}, {97, 40, 1200}, {545, 300, 32}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    test_forms(sizes[i][0], sizes[i][1], sizes[i][2]);
    test_more(sizes[i][0], sizes[i][1], sizes[i][2]);
    test_narrow(sizes[i][0], sizes[i][1], sizes[i][2]);
    test_gradient(sizes[i][0], sizes[i][1], sizes[i][2]);
  }
  test_forms(5, 6, 7);
  test_strange(270, 300, 130);
  return failed;
}
