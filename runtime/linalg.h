// The kernels of linear algebra, from one text for each float kind: linalg_f64.c and linalg_f32.c define REAL,
// KERNEL_NAME and EPSILON and include this. Here are the products that the rest is made of; the kernels stand in
// linalg_factor.h, linalg_orthogonal.h, linalg_eigen.h and linalg_exponential.h.
//
// Matrices are row-major; `ld` is the distance from one row to the next.
#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels.h"

enum { BLOCK = 48, TILE = 4 };

#define SQRT(x) ((REAL)sqrt((double)(x)))
#define ABS(x) ((REAL)fabs((double)(x)))

// -- Vectors ----------------------------------------------------------------------------------------------------------
// Numbers that lie side by side, added and multiplied together; a pointer to them need not be aligned.
#ifdef __GNUC__
enum { LANES = 32 / sizeof(REAL) };
typedef REAL Lanes __attribute__((vector_size(32)));
typedef REAL LooseLanes __attribute__((vector_size(32), aligned(sizeof(REAL)), may_alias));
#else
enum { LANES = 1 };
typedef REAL Lanes, LooseLanes;
#endif

#define LOAD(x) (*(const LooseLanes *)(x))
#define STORE(x, v) (*(LooseLanes *)(x) = (v))

static inline REAL sum_of(const Lanes *v) {
  REAL part[LANES], sum = 0;
  memcpy(part, v, sizeof part);
  for (int i = 0; i < LANES; i++)
    sum += part[i];
  return sum;
}

static REAL dot(int64_t n, const REAL *x, const REAL *y) {
  Lanes sums[2];
  memset(sums, 0, sizeof sums);
  int64_t i = 0;
  for (; i + 2 * LANES <= n; i += 2 * LANES) {
    sums[0] += LOAD(x + i) * LOAD(y + i);
    sums[1] += LOAD(x + i + LANES) * LOAD(y + i + LANES);
  }
  sums[0] += sums[1];
  REAL sum = sum_of(&sums[0]);
  for (; i < n; i++)
    sum += x[i] * y[i];
  return sum;
}

// y += a x
static void add_scaled(int64_t n, REAL a, const REAL *x, REAL *y) {
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES)
    STORE(y + i, LOAD(y + i) + a * LOAD(x + i));
  for (; i < n; i++)
    y[i] += a * x[i];
}

// Turns the pair of rows (x, y) by an angle: x' = c x - s y, y' = s x + c y.
static void rotate(int64_t n, REAL c, REAL s, REAL *x, REAL *y) {
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    Lanes a = LOAD(x + i), b = LOAD(y + i);
    STORE(x + i, c * a - s * b);
    STORE(y + i, s * a + c * b);
  }
  for (; i < n; i++) {
    REAL a = x[i], b = y[i];
    x[i] = c * a - s * b;
    y[i] = s * a + c * b;
  }
}

static void swap_rows(int64_t n, REAL *x, REAL *y) {
  for (int64_t i = 0; i < n; i++) {
    REAL old = x[i];
    x[i] = y[i];
    y[i] = old;
  }
}

static void copy(int64_t n, const REAL *from, REAL *to) {
  if (n)
    memcpy(to, from, (size_t)n * sizeof *to);
}

static void fill(int64_t n, REAL x, REAL *to) {
  for (int64_t i = 0; i < n; i++)
    to[i] = x;
}

static void set_identity(int64_t n, REAL *a) {
  fill(n * n, 0, a);
  for (int64_t i = 0; i < n; i++)
    a[i * n + i] = 1;
}

static REAL largest(int64_t n, const REAL *x) {
  REAL most = 0;
  for (int64_t i = 0; i < n; i++)
    most = ABS(x[i]) > most || x[i] != x[i] ? ABS(x[i]) : most;
  return most;
}

// The Euclidean norm, without overflow.
static REAL norm(int64_t n, const REAL *x, int64_t stride) {
  REAL most = 0, sum = 0;
  for (int64_t i = 0; i < n; i++)
    most = ABS(x[i * stride]) > most || x[i * stride] != x[i * stride] ? ABS(x[i * stride]) : most;
  if (most == 0 || !(most <= (sizeof(REAL) == 4 ? (REAL)FLT_MAX : (REAL)DBL_MAX)))
    return most;
  for (int64_t i = 0; i < n; i++) {
    REAL part = x[i * stride] / most;
    sum += part * part;
  }
  return most * SQRT(sum);
}

// The power of two that brings numbers of this size to about 1; 1 for 0 and for what is not finite.
static REAL scale_for(REAL most) {
  int exponent;
  if (most == 0 || !isfinite((double)most))
    return 1;
  (void)frexp((double)most, &exponent);
  const int limit = sizeof(REAL) == 4 ? 120 : 1000;
  exponent = exponent > limit ? limit : exponent < -limit ? -limit : exponent;
  return (REAL)ldexp(1, -exponent);
}

// -- Products of matrices
// -----------------------------------------------------------------------------------------------

// TILE rows of the product below. Sums are variables of their own, so that they stay in registers.
static void product_tile(int64_t n, int64_t k, REAL alpha, const REAL *a, int64_t ar, int64_t ac, const REAL *b,
                         int64_t ldb, REAL *c, int64_t ldc) {
  const REAL *a0 = a, *a1 = a + ar, *a2 = a + 2 * ar, *a3 = a + 3 * ar;
  REAL *c0 = c, *c1 = c + ldc, *c2 = c + 2 * ldc, *c3 = c + 3 * ldc;
  int64_t j = 0;
  for (; j + LANES <= n; j += LANES) {
    Lanes s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
    for (int64_t p = 0; p < k; p++) {
      const Lanes x = LOAD(b + p * ldb + j);
      s0 += a0[p * ac] * x;
      s1 += a1[p * ac] * x;
      s2 += a2[p * ac] * x;
      s3 += a3[p * ac] * x;
    }
    STORE(c0 + j, LOAD(c0 + j) + alpha * s0);
    STORE(c1 + j, LOAD(c1 + j) + alpha * s1);
    STORE(c2 + j, LOAD(c2 + j) + alpha * s2);
    STORE(c3 + j, LOAD(c3 + j) + alpha * s3);
  }
  for (; j < n; j++) {
    REAL s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (int64_t p = 0; p < k; p++) {
      const REAL x = b[p * ldb + j];
      s0 += a0[p * ac] * x;
      s1 += a1[p * ac] * x;
      s2 += a2[p * ac] * x;
      s3 += a3[p * ac] * x;
    }
    c0[j] += alpha * s0;
    c1[j] += alpha * s1;
    c2[j] += alpha * s2;
    c3[j] += alpha * s3;
  }
}

// C += alpha A B, for C of m rows and n columns; element (i, p) of A is a[i * ar + p * ac].
static void add_product(int64_t m, int64_t n, int64_t k, REAL alpha, const REAL *a, int64_t ar, int64_t ac,
                        const REAL *b, int64_t ldb, REAL *c, int64_t ldc) {
  enum { DEEP = 128 }; // rows of B that stay in the cache
  for (int64_t p = 0; p < k; p += DEEP) {
    const int64_t depth = k - p < DEEP ? k - p : DEEP;
    int64_t i = 0;
    for (; i + TILE <= m; i += TILE)
      product_tile(n, depth, alpha, a + i * ar + p * ac, ar, ac, b + p * ldb, ldb, c + i * ldc, ldc);
    for (; i < m; i++)
      for (int64_t q = p; q < p + depth; q++)
        add_scaled(n, alpha * a[i * ar + q * ac], b + q * ldb, c + i * ldc);
  }
}

// C = A B, all of n rows and columns.
static void multiply(int64_t n, const REAL *a, const REAL *b, REAL *c) {
  fill(n * n, 0, c);
  add_product(n, n, n, 1, a, n, 1, b, n, c, n);
}

// C += alpha A B^T: rows of A and B are contiguous.
static void add_product_transposed(int64_t m, int64_t n, int64_t k, REAL alpha, const REAL *a, int64_t lda,
                                   const REAL *b, int64_t ldb, REAL *c, int64_t ldc) {
  for (int64_t i = 0; i < m; i++) {
    const REAL *x = a + i * lda;
    int64_t j = 0;
    for (; j + TILE <= n; j += TILE) {
      const REAL *b0 = b + j * ldb, *b1 = b0 + ldb, *b2 = b1 + ldb, *b3 = b2 + ldb;
      Lanes sums[TILE] = {{0}};
      int64_t p = 0;
      for (; p + LANES <= k; p += LANES) {
        sums[0] += LOAD(x + p) * LOAD(b0 + p);
        sums[1] += LOAD(x + p) * LOAD(b1 + p);
        sums[2] += LOAD(x + p) * LOAD(b2 + p);
        sums[3] += LOAD(x + p) * LOAD(b3 + p);
      }
      for (int r = 0; r < TILE; r++) {
        REAL sum = sum_of(&sums[r]);
        for (int64_t q = p; q < k; q++)
          sum += x[q] * b[(j + r) * ldb + q];
        c[i * ldc + j + r] += alpha * sum;
      }
    }
    for (; j < n; j++)
      c[i * ldc + j] += alpha * dot(k, x, b + j * ldb);
  }
}

// C = A B; C = A^T B; C = A B^T.
void KERNEL_NAME(product)(const int64_t *sizes, const void *const *in, void *const *out) {
  const int64_t n = sizes[0], k = sizes[1], m = sizes[2];
  fill(n * m, 0, out[0]);
  add_product(n, m, k, 1, in[0], k, 1, in[1], m, out[0], m);
}

void KERNEL_NAME(product_tn)(const int64_t *sizes, const void *const *in, void *const *out) {
  const int64_t k = sizes[0], n = sizes[1], m = sizes[2];
  fill(n * m, 0, out[0]);
  add_product(n, m, k, 1, in[0], 1, n, in[1], m, out[0], m);
}

void KERNEL_NAME(product_nt)(const int64_t *sizes, const void *const *in, void *const *out) {
  const int64_t n = sizes[0], k = sizes[1], m = sizes[2];
  fill(n * m, 0, out[0]);
  add_product_transposed(n, m, k, 1, in[0], k, in[1], k, out[0], m);
}

#include "linalg_factor.h"

#include "linalg_orthogonal.h"

#include "linalg_eigen.h"

#include "linalg_exponential.h"
