// The kernels of linear algebra, from one text for each float kind and level of processors: linalg_f64.c and its like
// define REAL, EPSILON, LAPACK (the name of LAPACK's function), KERNEL_FUNCTION (how a kernel is declared) and
// STRIP_VECTORS (1, or 3 where there are 16 registers of 32 bytes), and include this. Here are the products that the
// rest is made of; the kernels stand in linalg_lapack.h, linalg_factor.h, linalg_orthogonal.h, linalg_eigen.h,
// linalg_exponential.h and linalg_sparse.h.
//
// Matrices are row-major; `ld` is the distance from one row to the next.
#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels.h"

enum { BLOCK = 48 };

#define SQRT(x) ((REAL)sqrt((double)(x)))
#define ABS(x) ((REAL)fabs((double)(x)))

// -- Vectors ---------------------------------------------------------------------------------------------------------
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

#include "linalg_lapack.h"

// -- Products of matrices --------------------------------------------------------------------------------------------
// C += alpha A B goes by strips of the columns of B, STRIP or LANES wide, DEEP rows at a time: a strip is copied
// together, and serves TILE rows of A at once. Sums are variables of their own, so that they stay in registers.

enum { TILE = 4, STRIP = STRIP_VECTORS * LANES, DEEP = 128 };

typedef struct Product {
  int64_t depth; // rows of the strip
  REAL alpha;
  const REAL *a; // element (i, p) at a[i * ar + p * ac]
  int64_t ar, ac;
  const REAL *strip;
  REAL *c;
  int64_t ldc;
} Product;

#define ADD_TO(c, sum) STORE(c, LOAD(c) + alpha * (sum))

static void tile_narrow(const Product *t) {
  const int64_t ac = t->ac;
  const REAL alpha = t->alpha, *a0 = t->a, *a1 = a0 + t->ar, *a2 = a1 + t->ar, *a3 = a2 + t->ar;
  REAL *c0 = t->c, *c1 = c0 + t->ldc, *c2 = c1 + t->ldc, *c3 = c2 + t->ldc;
  Lanes s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
  for (int64_t p = 0; p < t->depth; p++) {
    const Lanes x = LOAD(t->strip + p * LANES);
    s0 += a0[p * ac] * x;
    s1 += a1[p * ac] * x;
    s2 += a2[p * ac] * x;
    s3 += a3[p * ac] * x;
  }
  ADD_TO(c0, s0);
  ADD_TO(c1, s1);
  ADD_TO(c2, s2);
  ADD_TO(c3, s3);
}

#if STRIP_VECTORS == 3
static void tile_wide(const Product *t) {
  const int64_t ac = t->ac;
  const REAL alpha = t->alpha, *a0 = t->a, *a1 = a0 + t->ar, *a2 = a1 + t->ar, *a3 = a2 + t->ar;
  REAL *c0 = t->c, *c1 = c0 + t->ldc, *c2 = c1 + t->ldc, *c3 = c2 + t->ldc;
  Lanes s00 = {0}, s01 = {0}, s02 = {0}, s10 = {0}, s11 = {0}, s12 = {0};
  Lanes s20 = {0}, s21 = {0}, s22 = {0}, s30 = {0}, s31 = {0}, s32 = {0};
  for (int64_t p = 0; p < t->depth; p++) {
    const REAL *from = t->strip + p * STRIP;
    const Lanes x = LOAD(from), y = LOAD(from + LANES), z = LOAD(from + 2 * LANES);
    s00 += a0[p * ac] * x;
    s01 += a0[p * ac] * y;
    s02 += a0[p * ac] * z;
    s10 += a1[p * ac] * x;
    s11 += a1[p * ac] * y;
    s12 += a1[p * ac] * z;
    s20 += a2[p * ac] * x;
    s21 += a2[p * ac] * y;
    s22 += a2[p * ac] * z;
    s30 += a3[p * ac] * x;
    s31 += a3[p * ac] * y;
    s32 += a3[p * ac] * z;
  }
  ADD_TO(c0, s00);
  ADD_TO(c0 + LANES, s01);
  ADD_TO(c0 + 2 * LANES, s02);
  ADD_TO(c1, s10);
  ADD_TO(c1 + LANES, s11);
  ADD_TO(c1 + 2 * LANES, s12);
  ADD_TO(c2, s20);
  ADD_TO(c2 + LANES, s21);
  ADD_TO(c2 + 2 * LANES, s22);
  ADD_TO(c3, s30);
  ADD_TO(c3 + LANES, s31);
  ADD_TO(c3 + 2 * LANES, s32);
}
#else
#define tile_wide tile_narrow
#endif

// All rows of C, for the strip of `width` columns that begins at b.
static void add_strip(int64_t m, int64_t width, const REAL *b, int64_t ldb, Product t) {
  REAL strip[DEEP * STRIP];
  int64_t i = 0;
  t.strip = strip;
  for (int64_t p = 0; p < t.depth; p++)
    for (int64_t j = 0; j < width; j++)
      strip[p * width + j] = b[p * ldb + j];
  for (; i + TILE <= m; i += TILE, t.a += TILE * t.ar, t.c += TILE * t.ldc) {
    if (width == STRIP)
      tile_wide(&t);
    else
      tile_narrow(&t);
  }
  for (; i < m; i++, t.a += t.ar, t.c += t.ldc)
    for (int64_t p = 0; p < t.depth; p++)
      add_scaled(width, t.alpha * t.a[p * t.ac], strip + p * width, t.c);
}

// The last columns, fewer than LANES.
static void add_columns(int64_t m, int64_t width, const REAL *b, int64_t ldb, const Product *t) {
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < width; j++) {
      const REAL *a = t->a + i * t->ar;
      REAL sum = 0;
      for (int64_t p = 0; p < t->depth; p++)
        sum += a[p * t->ac] * b[p * ldb + j];
      t->c[i * t->ldc + j] += t->alpha * sum;
    }
}

// C += alpha A B, for C of m rows and n columns; element (i, p) of A is a[i * ar + p * ac].
static void add_product(int64_t m, int64_t n, int64_t k, REAL alpha, const REAL *a, int64_t ar, int64_t ac,
                        const REAL *b, int64_t ldb, REAL *c, int64_t ldc) {
  if ((ac == 1 || ar == 1) && linked_product(m, n, k, alpha, a, ac == 1 ? ar : ac, ac != 1, b, ldb, 0, c, ldc))
    return;
  for (int64_t p = 0; p < k; p += DEEP) {
    Product t = {.depth = k - p < DEEP ? k - p : DEEP, .alpha = alpha, .a = a + p * ac, .ar = ar, .ac = ac, .ldc = ldc};
    int64_t j = 0;
    while (n - j >= LANES) {
      const int64_t width = n - j >= STRIP ? STRIP : LANES;
      t.c = c + j;
      add_strip(m, width, b + p * ldb + j, ldb, t);
      j += width;
    }
    t.c = c + j;
    add_columns(m, n - j, b + p * ldb + j, ldb, &t);
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
  if (linked_product(m, n, k, alpha, a, lda, 0, b, ldb, 1, c, ldc))
    return;
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
KERNEL_FUNCTION(product)(const int64_t *sizes, const void *const *in, void *const *out) {
  const int64_t n = sizes[0], k = sizes[1], m = sizes[2];
  fill(n * m, 0, out[0]);
  add_product(n, m, k, 1, in[0], k, 1, in[1], m, out[0], m);
}

KERNEL_FUNCTION(product_tn)(const int64_t *sizes, const void *const *in, void *const *out) {
  const int64_t k = sizes[0], n = sizes[1], m = sizes[2];
  fill(n * m, 0, out[0]);
  add_product(n, m, k, 1, in[0], 1, n, in[1], m, out[0], m);
}

KERNEL_FUNCTION(product_nt)(const int64_t *sizes, const void *const *in, void *const *out) {
  const int64_t n = sizes[0], k = sizes[1], m = sizes[2];
  fill(n * m, 0, out[0]);
  add_product_transposed(n, m, k, 1, in[0], k, in[1], k, out[0], m);
}

#include "linalg_factor.h"

#include "linalg_orthogonal.h"

#include "linalg_eigen.h"

#include "linalg_exponential.h"

#include "linalg_sparse.h"
