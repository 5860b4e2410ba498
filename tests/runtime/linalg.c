// RUN: %cc %s -o %t %libs
// RUN: %t
// The kernels of linear algebra, at sizes on both sides of their blocks and tiles: what they give multiplies back to
// what they were given, and has the structure that it should have. Both float kinds, from this text included twice.
#ifndef REAL
#include <float.h>

#include "expect.h"
#include "kernels.h"

static double random_number(void) {
  static uint64_t state = 88172645463325252u;
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (double)(state >> 11) / 9007199254740992.0 * 2 - 1;
}

static const int64_t sizes[] = {0, 1, 2, 3, 4, 7, 12, 13, 47, 48, 49, 96, 101, 131};
enum { NSIZES = sizeof sizes / sizeof *sizes };

#define REAL double
#define EPSILON DBL_EPSILON
#define KERNEL_OF(name) gradc_rt_##name##_f64
#define TEST(name) name##_f64
#include "linalg.c"
#undef REAL
#undef EPSILON
#undef KERNEL_OF
#undef TEST
#define REAL float
#define EPSILON FLT_EPSILON
#define KERNEL_OF(name) gradc_rt_##name##_f32
#define TEST(name) name##_f32
#include "linalg.c"

int main(void) {
  test_all_f64();
  test_all_f32();
  return 0;
}
#else

static REAL *TEST(fresh)(int64_t n, int random) {
  REAL *x = malloc((size_t)(n ? n : 1) * sizeof *x);
  EXPECT(x);
  for (int64_t i = 0; i < n; i++)
    x[i] = random ? (REAL)random_number() : (REAL)7;
  return x;
}

// The largest difference between op(A) B and C; A is n x k.
static double TEST(off)(int64_t n, int64_t k, int64_t m, const REAL *a, int transposed, const REAL *b, const REAL *c) {
  double most = 0;
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < m; j++) {
      double sum = 0;
      for (int64_t p = 0; p < k; p++)
        sum += (double)(transposed ? a[p * n + i] : a[i * k + p]) * (double)b[p * m + j];
      const double d = fabs(sum - (double)c[i * m + j]);
      most = d > most || d != d ? d : most;
    }
  return most;
}

static double TEST(size)(int64_t n, const REAL *x) {
  double most = 1;
  for (int64_t i = 0; i < n; i++)
    most = fabs((double)x[i]) > most ? fabs((double)x[i]) : most;
  return most;
}

static REAL *TEST(transpose)(int64_t n, int64_t m, const REAL *a) {
  REAL *t = TEST(fresh)(n * m, 0);
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < m; j++)
      t[j * n + i] = a[i * m + j];
  return t;
}

static void TEST(expect_orthonormal)(int64_t n, int64_t m, const REAL *q) {
  REAL *one = TEST(fresh)(m * m, 0);
  for (int64_t i = 0; i < m * m; i++)
    one[i] = i % (m + 1) == 0;
  EXPECT(TEST(off)(m, n, m, q, 1, q, one) <= 40 * (double)EPSILON * sqrt((double)n + 1));
  free(one);
}

static void TEST(products)(int64_t n, int64_t k, int64_t m) {
  REAL *a = TEST(fresh)(n * k, 1), *b = TEST(fresh)(k * m, 1), *c = TEST(fresh)(n * m, 0);
  REAL *at = TEST(transpose)(n, k, a), *bt = TEST(transpose)(k, m, b);
  const double tolerance = 8 * (double)EPSILON * ((double)k + 1);
  KERNEL_OF(product)((int64_t[]){n, k, m}, (const void *[]){a, b}, (void *[]){c});
  EXPECT(TEST(off)(n, k, m, a, 0, b, c) <= tolerance);
  KERNEL_OF(product_tn)((int64_t[]){k, n, m}, (const void *[]){at, b}, (void *[]){c});
  EXPECT(TEST(off)(n, k, m, a, 0, b, c) <= tolerance);
  KERNEL_OF(product_nt)((int64_t[]){n, k, m}, (const void *[]){a, bt}, (void *[]){c});
  EXPECT(TEST(off)(n, k, m, a, 0, b, c) <= tolerance);
  free(a), free(b), free(c), free(at), free(bt);
}

static void TEST(solutions)(int64_t n, int64_t m) {
  REAL *a = TEST(fresh)(n * n, 1), *b = TEST(fresh)(n * m, 1), *x = TEST(fresh)(n * m, 0),
       *work = TEST(fresh)(n * m, 0);
  REAL *f = TEST(fresh)(n * n, 0), *t = TEST(fresh)(n * n, 0);
  int64_t *rows = malloc(((size_t)n + 1) * sizeof *rows), sign, info;
  EXPECT(rows);
  for (int64_t i = 0; i < n; i++)
    a[i * n + i] += 4;
  const double tolerance = 200 * (double)EPSILON * ((double)n + 1);
  KERNEL_OF(lu)(&n, (const void *[]){a}, (void *[]){f, rows, &sign, &info});
  EXPECT(info == 0 && (sign == 1 || sign == -1));
  for (uint8_t transposed = 0; transposed < 2; transposed++) {
    KERNEL_OF(lu_solve)((int64_t[]){n, m}, (const void *[]){f, rows, b, &transposed}, (void *[]){x, work});
    EXPECT(TEST(off)(n, n, m, a, transposed, x, b) <= tolerance * TEST(size)(n * m, x));
  }
  for (int flags = 0; flags < 8; flags++) {
    const uint8_t upper = flags & 1, transposed = flags >> 1 & 1, unit = flags >> 2;
    for (int64_t i = 0; i < n; i++) // what is not to be read holds NaN
      for (int64_t j = 0; j < n; j++)
        f[i * n + j] = i == j             ? (unit ? (REAL)NAN : a[i * n + j])
                       : (i < j) == upper ? a[i * n + j] / (REAL)n
                                          : (REAL)NAN;
    for (int64_t i = 0; i < n * n; i++)
      t[i] = i % (n + 1) == 0 && unit ? 1 : f[i] != f[i] ? 0 : f[i];
    KERNEL_OF(triangular)((int64_t[]){n, m}, (const void *[]){f, b, &upper, &transposed, &unit}, (void *[]){x, &info});
    EXPECT(info == 0);
    EXPECT(TEST(off)(n, n, m, t, transposed, x, b) <= tolerance * TEST(size)(n * m, x));
  }
  free(a), free(b), free(x), free(work), free(f), free(t), free(rows);
}

// A_bar, with what stands for two elements shared between them, times 2 L gives L_bar back in the lower triangle.
static void TEST(cholesky_adjoint)(int64_t n, const REAL *l) {
  REAL *bar = TEST(fresh)(n * n, 1), *p = TEST(fresh)(n * n, 0), *x = TEST(fresh)(n * n, 0);
  KERNEL_OF(cholesky_adjoint)(&n, (const void *[]){l, bar}, (void *[]){p});
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) {
      EXPECT(j <= i || p[i * n + j] == 0);
      if (j < i)
        p[i * n + j] = p[j * n + i] = p[i * n + j] / 2;
    }
  KERNEL_OF(product)((int64_t[]){n, n, n}, (const void *[]){p, l}, (void *[]){x});
  const double tolerance = 100 * (double)EPSILON * TEST(size)(n * n, l) * ((double)n + 1);
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j <= i; j++)
      EXPECT(fabs((double)bar[i * n + j] - 2 * (double)x[i * n + j]) <= tolerance);
  free(bar), free(p), free(x);
}

static void TEST(symmetric)(int64_t n) {
  REAL *r = TEST(fresh)(n * n, 1), *s = TEST(fresh)(n * n, 0), *given = TEST(fresh)(n * n, 0);
  REAL *l = TEST(fresh)(n * n, 0), *work = TEST(fresh)(3 * n * n, 0), *more = TEST(fresh)(11 * n, 0),
       *w = TEST(fresh)(n, 0);
  int64_t info;
  KERNEL_OF(product_nt)((int64_t[]){n, n, n}, (const void *[]){r, r}, (void *[]){s});
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) {
      s[i * n + j] += i == j;
      given[i * n + j] = j <= i ? s[i * n + j] : (REAL)NAN;
    }
  const double tolerance = 40 * (double)EPSILON * TEST(size)(n * n, s);
  KERNEL_OF(cholesky)(&n, (const void *[]){given}, (void *[]){l, &info});
  EXPECT(info == 0);
  REAL *lt = TEST(transpose)(n, n, l);
  EXPECT(TEST(off)(n, n, n, l, 0, lt, s) <= tolerance);
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = i + 1; j < n; j++)
      EXPECT(l[i * n + j] == 0);
  TEST(cholesky_adjoint)(n, l);
  KERNEL_OF(eigh)(&n, (const void *[]){given}, (void *[]){w, l, &info, work, more});
  EXPECT(info == 0);
  TEST(expect_orthonormal)(n, n, l);
  for (int64_t i = 0; i < n; i++) {
    EXPECT(i == 0 || w[i - 1] <= w[i]);
    for (int64_t j = 0; j < n; j++)
      work[i * n + j] = l[i * n + j] * w[j];
  }
  free(lt);
  lt = TEST(transpose)(n, n, l);
  EXPECT(TEST(off)(n, n, n, work, 0, lt, s) <= tolerance * sqrt((double)n + 1));
  if (n > 2) {
    given[(n / 2) * (n + 1)] = -1;
    KERNEL_OF(cholesky)(&n, (const void *[]){given}, (void *[]){l, &info});
    EXPECT(info == n / 2 + 1);
  }
  free(r), free(s), free(given), free(l), free(lt), free(work), free(more), free(w);
}

// kind 0: random; 1: with a column twice and one of zeros; 2: near the ends of the range of numbers.
static void TEST(rectangular)(int64_t n, int64_t m, int kind) {
  REAL *a = TEST(fresh)(n * m, 1), *q = TEST(fresh)(n * m, 0), *r = TEST(fresh)(m * m, 0), *s = TEST(fresh)(m, 0);
  REAL *w = TEST(fresh)(6 * m * m, 0), *work = TEST(fresh)(33 * m, 0);
  const double scale = kind == 2 ? (double)(sizeof(REAL) == 4 ? 1e30 : 1e300) : 1;
  int64_t info;
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j < m; j++)
      a[i * m + j] *= (REAL)scale;
    if (kind == 1 && m > 2) {
      a[i * m + 1] = a[i * m];
      a[i * m + 2] = 0;
    }
  }
  const double tolerance = 40 * (double)EPSILON * ((double)m + 1) * scale;
  KERNEL_OF(qr)((int64_t[]){n, m}, (const void *[]){a}, (void *[]){q, r, &info, work});
  EXPECT(!info == !(kind == 1 && m > 2));
  TEST(expect_orthonormal)(n, m, q);
  EXPECT(TEST(off)(n, m, m, q, 0, r, a) <= tolerance);
  KERNEL_OF(svd)((int64_t[]){n, m}, (const void *[]){a}, (void *[]){q, s, r, &info, w, work});
  EXPECT(info == 0);
  TEST(expect_orthonormal)(n, m, q);
  TEST(expect_orthonormal)(m, m, r);
  for (int64_t i = 0; i < m; i++) {
    EXPECT(s[i] >= 0 && (i == 0 || s[i - 1] >= s[i]));
    for (int64_t j = 0; j < m; j++)
      r[i * m + j] *= s[i];
  }
  EXPECT(TEST(off)(n, m, m, q, 0, r, a) <= tolerance * sqrt((double)n));
  free(a), free(q), free(r), free(s), free(w), free(work);
}

// The exponentials of A and -A are inverses; that of a rotation's generator is the rotation.
static void TEST(exponential)(int64_t n, double norm) {
  REAL *a = TEST(fresh)(n * n, 1), *x = TEST(fresh)(n * n, 0), *y = TEST(fresh)(n * n, 0), *one = TEST(fresh)(n * n, 0);
  REAL *work = TEST(fresh)(6 * n * n, 0);
  int64_t *rows = malloc(((size_t)n + 1) * sizeof *rows);
  EXPECT(rows);
  for (int sign = 1; sign >= -1; sign -= 2) {
    for (int64_t i = 0; i < n * n; i++)
      a[i] *= (REAL)(sign * (sign > 0 ? norm / (double)n : 1));
    KERNEL_OF(expm)(&n, (const void *[]){a}, (void *[]){sign > 0 ? x : y, work, rows});
  }
  for (int64_t i = 0; i < n * n; i++)
    one[i] = i % (n + 1) == 0;
  EXPECT(TEST(off)(n, n, n, x, 0, y, one) <=
         100 * (double)EPSILON * ((double)n + 1) * TEST(size)(n * n, x) * TEST(size)(n * n, y));
  free(a), free(x), free(y), free(one), free(work), free(rows);
}

static void TEST(rotation)(double angle) {
  const int64_t n = 2;
  const REAL a[4] = {0, (REAL)-angle, (REAL)angle, 0};
  REAL x[4], work[24];
  int64_t rows[2];
  KERNEL_OF(expm)(&n, (const void *[]){a}, (void *[]){x, work, rows});
  const double tolerance = 8 * (double)EPSILON * (1 + angle);
  EXPECT(fabs((double)x[0] - cos(angle)) <= tolerance && fabs((double)x[2] - sin(angle)) <= tolerance);
  EXPECT(fabs((double)x[3] - cos(angle)) <= tolerance && fabs((double)x[1] + sin(angle)) <= tolerance);
}

// A matrix of rank n - 2: the last two pivots of complete pivoting are what is lacking.
static void TEST(lacking)(int64_t n) {
  const int64_t rank = n - 2;
  REAL *a = TEST(fresh)(n * rank, 1), *b = TEST(fresh)(rank * n, 1), *c = TEST(fresh)(n * n, 0),
       *work = TEST(fresh)(n * n, 0);
  int64_t *rows = malloc((size_t)n * sizeof *rows), *columns = malloc((size_t)n * sizeof *columns), sign;
  EXPECT(rows && columns);
  KERNEL_OF(product)((int64_t[]){n, rank, n}, (const void *[]){a, b}, (void *[]){c});
  KERNEL_OF(pivots)(&n, (const void *[]){c}, (void *[]){rows, columns, &sign, work});
  EXPECT(fabs((double)work[rank * n + rank]) <= 100 * (double)EPSILON * (double)n);
  EXPECT(fabs((double)work[(rank - 1) * n + rank - 1]) > 1e-3);
  free(a), free(b), free(c), free(work), free(rows), free(columns);
}

// Entries in random order, or in rows of `room` each, some at one place, some none: their sums by rows, the columns
// rising.
static void TEST(rows)(int64_t rows, int64_t columns, int64_t n, int64_t room) {
  REAL *value = TEST(fresh)(n, 1), *val = TEST(fresh)(n, 0), *more = TEST(fresh)(n, 0),
       *sum = TEST(fresh)(rows * columns, 0);
  int32_t *row = malloc((size_t)(n + 1) * sizeof *row), *column = malloc((size_t)(n + 1) * sizeof *column),
          *col = malloc((size_t)(n + 1) * sizeof *col), *work = malloc((size_t)(n + 1) * sizeof *work),
          *end = malloc((size_t)(rows + 1) * sizeof *end), *ptr = malloc((size_t)(rows + 1) * sizeof *ptr);
  EXPECT(row && column && col && work && ptr && end);
  for (int64_t i = 0; i < rows * columns; i++)
    sum[i] = 0;
  for (int64_t k = 0; k < n; k++) {
    row[k] = (int32_t)(room ? k / room : (int64_t)((random_number() + 1) / 2 * (double)rows * 0.999));
    column[k] = k % 7 ? (int32_t)((random_number() + 1) / 2 * (double)columns * 0.999) : -1;
    if (column[k] >= 0)
      sum[row[k] * columns + column[k]] += value[k];
  }
  void *out[] = {ptr, col, val, work, more, end};
  if (room)
    KERNEL_OF(csr_rows)((int64_t[]){n, rows + 1, room}, (const void *[]){column, value}, out);
  else
    KERNEL_OF(csr)((int64_t[]){n, rows + 1}, (const void *[]){row, column, value}, out);
  EXPECT(ptr[0] == 0 && ptr[rows] <= n);
  for (int64_t i = 0; i < rows; i++)
    for (int64_t k = ptr[i]; k < ptr[i + 1]; k++) {
      EXPECT(k == ptr[i] || col[k - 1] < col[k]);
      EXPECT(fabs((double)(val[k] - sum[i * columns + col[k]])) <= 1e-5);
      sum[i * columns + col[k]] = 0; // each place once
    }
  for (int64_t k = ptr[rows]; k < n; k++)
    EXPECT(col[k] == 0 && val[k] == 0);
  for (int64_t i = 0; i < rows * columns; i++)
    EXPECT(fabs((double)sum[i]) <= 1e-5);
  free(value), free(val), free(more), free(sum), free(row), free(column), free(col), free(work), free(ptr), free(end);
}

// The same where each row has room for 5 entries.
static void TEST(even_rows)(void) {
  enum { ROWS = 3, ROOM = 5 };
  const int32_t column[ROWS * ROOM] = {4, -1, 2, 4, 0, -1, -1, -1, -1, -1, 1, 2, 3, 4, 5};
  const REAL value[ROWS * ROOM] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const int32_t expected[] = {0, 2, 4, 1, 2, 3, 4, 5};
  const REAL numbers[] = {5, 3, 5, 11, 12, 13, 14, 15};
  int32_t ptr[ROWS + 1], col[ROWS * ROOM], work[ROOM];
  REAL val[ROWS * ROOM], more[ROOM];
  KERNEL_OF(csr_rows)((int64_t[]){ROWS * ROOM, ROWS + 1, ROOM}, (const void *[]){column, value},
                      (void *[]){ptr, col, val, work, more});
  EXPECT(ptr[0] == 0 && ptr[1] == 3 && ptr[2] == 3 && ptr[3] == 8);
  for (int k = 0; k < ROWS * ROOM; k++)
    EXPECT(col[k] == (k < 8 ? expected[k] : 0) && val[k] == (k < 8 ? numbers[k] : 0));
}

static void TEST(test_all)(void) {
  TEST(even_rows)();
  TEST(rows)(0, 5, 0, 0);
  TEST(rows)(3, 4, 0, 0);
  TEST(rows)(3, 1, 9, 0);
  TEST(rows)(30, 9, 210, 7);
  TEST(rows)(10, 7, 60, 0);
  TEST(rows)(12, 70, 12 * 100, 100);
  TEST(rows)(2, 300, 700, 0);
  TEST(rows)(1, 5000, 3000, 0);
  for (int i = 0; i < NSIZES; i++) {
    const int64_t n = sizes[i];
    TEST(symmetric)(n);
    TEST(exponential)(n, 0.01);
    TEST(exponential)(n, 3);
    for (int j = 0; j < NSIZES; j += i % 2 + 1) {
      TEST(products)(n, sizes[j], sizes[(i + j) % NSIZES]);
      TEST(solutions)(n, sizes[j] % 20);
    }
    for (int j = 0; j <= i && n <= 101; j++)
      for (int kind = 0; kind < 3; kind++)
        TEST(rectangular)(n, sizes[j], kind);
  }
  TEST(rotation)(1e-9);
  TEST(rotation)(0.7);
  TEST(rotation)(40);
  TEST(lacking)(7);
}
#endif
