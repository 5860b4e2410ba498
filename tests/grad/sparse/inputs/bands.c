#include "compare.h"

static double u[ROOM], v[ROOM], w[ROOM], other[ROOM];
static int32_t ptr2[ROOM], col2[ROOM];
static double val2[ROOM];

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b) {
  return a > b ? a : b;
}

// Entries of n rows that reach from `below` before to `above` after the diagonal.
static int64_t band(int64_t n, int64_t below, int64_t above) {
  int64_t count = 0;
  for (int64_t i = 0; i < n; i++)
    count += least(i + above, n - 1) - most(i - below, 0) + 1;
  return count;
}

#define CHECK_MATRIX(name, rows, columns, room, used, dense_call, sparse_call) \
  do { \
    clear(); \
    good(dense_call); \
    good(sparse_call); \
    compare(name, rows, columns, room, used); \
  } while (0)
#define CHECK_BAND(f, n, below, above, ...) \
  CHECK_MATRIX(#f, n, n, (n) * least((below) + (above) + 1, n), band(n, below, above), f##_dense(__VA_ARGS__, dense), \
               f##_sparse(__VA_ARGS__, ptr, col, val))
#define CHECK_FULL(f, n, ...) \
  CHECK_MATRIX(#f, n, n, (n) * (n), -1, f##_dense(__VA_ARGS__, dense), f##_sparse(__VA_ARGS__, ptr, col, val))

static void steps(int64_t n, int64_t t) {
  const int64_t s = most(t, 0);
  CHECK_BAND(heat, n, s, s, n, u, 0.1, t);
  CHECK_MATRIX("heat by rows", n, n, n * least(2 * s + 1, n), band(n, s, s), heat_dense(n, u, 0.1, t, dense),
               heat_back(n, u, 0.1, t, ptr, col, val));
  CHECK_MATRIX("heat by k", n, 1, n, t > 0 ? n : -1, heat2_dense(n, u, 0.1, t, other, dense),
               heat2_sparse(n, u, 0.1, t, ptr, col, val, ptr2, col2, val2));
  CHECK_MATRIX("heat by u0", n, n, n * least(2 * s + 1, n), band(n, s, s), heat2_dense(n, u, 0.1, t, dense, other),
               heat2_sparse(n, u, 0.1, t, ptr2, col2, val2, ptr, col, val));
  CHECK_BAND(clamped, n, s, s, n, u, 0.1, t);
  if (n >= 2)
    CHECK_MATRIX("mirror", n, n, n * least(4 * s + 1, n), band(n, 2 * s, 2 * s), mirror_dense(n, u, 0.1, t, dense),
                 mirror_sparse(n, u, 0.1, t, ptr, col, val));
  CHECK_MATRIX("ring", n, n, n * least(3 * s + 1, n), n * least(3 * s + 1, n), ring_dense(n, u, 0.1, t, dense),
               ring_sparse(n, u, 0.1, t, ptr, col, val));
  CHECK_MATRIX("ring by rows", n, n, n * least(3 * s + 1, n), n * least(3 * s + 1, n), ring_dense(n, u, 0.1, t, dense),
               ring_back(n, u, 0.1, t, ptr, col, val));
  CHECK_MATRIX("closed", n, n, n * least(s + 1, n), n * least(s + 1, n), closed_dense(n, u, t, dense),
               closed_sparse(n, u, t, ptr, col, val));
  CHECK_MATRIX("wave", n, n, n * least(2 * s + 1, n), -1, wave_dense(n, u, v, 0.1, t, other, dense, other, other),
               wave_sparse(n, u, v, 0.1, t, NULL, NULL, NULL, ptr, col, val, NULL, NULL, NULL, NULL, NULL, NULL));
  CHECK_MATRIX("staggered", n + 1, n, (n + 1) * least(2 * s + 1, n), -1, staggered_dense(n, u, v, 0.1, t, other, dense),
               staggered_sparse(n, u, v, 0.1, t, ptr2, col2, val2, ptr, col, val));
  for (int64_t k = 0; k < 3; k++)
    CHECK_MATRIX("shift", n, n, n * least(2 * k * s + 1, n), band(n, 0, 2 * k * s),
                 shift_dense(n, u, k, (int32_t)t, dense), shift_sparse(n, u, k, (int32_t)t, ptr, col, val));
  CHECK_MATRIX("system", n, 2 * n, 2 * n * least(s + 1, n), 2 * band(n, s, 0), system_dense(n, u, t, dense),
               system_sparse(n, u, t, ptr, col, val));
  CHECK_BAND(scatter, n, 0, s, n, u, t);
  CHECK_MATRIX("coarse", n, 2 * n, n * least(s + 2, 2 * n), -1, coarse_dense(n, u, t, dense),
               coarse_sparse(n, u, t, ptr, col, val));
  CHECK_MATRIX("blocks", 2 * n, 2 * n, 2 * n * least(s + 1, 2 * n), band(2 * n, s, 0), blocks_dense(n, u, t, dense),
               blocks_sparse(n, u, t, ptr, col, val));
  CHECK_MATRIX("gain", 1, n, n, n, gain_dense(n, u, 0.1, t, dense), gain_sparse(n, u, 0.1, t, ptr, col, val));
  if (t >= 0) {
    CHECK_MATRIX("forced by u0", n, n, n * least(t + 1, n), band(n, t, 0), forced_dense(n, t, u, v, dense, other),
                 forced_sparse(n, t, u, v, ptr, col, val, ptr2, col2, val2));
    CHECK_MATRIX("forced by f", n, t * n, n * t * least(t, n), -1, forced_dense(n, t, u, v, other, dense),
                 forced_sparse(n, t, u, v, ptr2, col2, val2, ptr, col, val));
  }
}

static void vectors(int64_t n) {
  static int64_t at[ROOM];
  CHECK_MATRIX("three", n, n, 7 * n, band(n, 3, 3), three_dense(n, u, 0.1, dense),
               three_sparse(n, u, 0.1, ptr, col, val));
  CHECK_MATRIX("cumulated", n, n, n * n, band(n, n, 0), cumulated_dense(n, u, dense),
               cumulated_sparse(n, u, ptr, col, val));
  CHECK_MATRIX("along", n, n, n * n, band(n, n, 0), along_dense(n, u, dense), along_sparse(n, u, ptr, col, val));
  CHECK_MATRIX("in place", n, n, n * n, band(n, n, 0), in_place_dense(n, u, dense),
               in_place_sparse(n, u, ptr, col, val));
  CHECK_MATRIX("from the end", n, n, n * n, band(n, 0, n), from_end_dense(n, u, dense),
               from_end_sparse(n, u, ptr, col, val));
  CHECK_MATRIX("roots", n, n, n, n, roots_dense(n, u, dense), roots_sparse(n, u, ptr, col, val));
  CHECK_MATRIX("settle", n, n, n, n, settle_dense(n, u, 0.1, dense), settle_sparse(n, u, 0.1, ptr, col, val));
  CHECK_FULL(spread, n, n, u, 0.1);
  for (int64_t i = 0; i < n; i++)
    at[i] = i * i % n;
  CHECK_FULL(gathered, n, n, u, at, 2);
  CHECK_FULL(ruled, n, n, u);
}

static void planes(int64_t n, int64_t m, int64_t t) {
  const int64_t s = most(t, 0), room = n * m * least(s + 1, n) * least(s + 1, m);
  fill(w, n * m, 0.6);
  CHECK_MATRIX("plane", n * m, n * m, room, n * least(s + 1, n) * band(m, 0, s), plane_dense(n, m, w, 0.3, t, dense),
               plane_sparse(n, m, w, 0.3, t, ptr, col, val));
  CHECK_MATRIX("plane by rows", n * m, n * m, room, n * least(s + 1, n) * band(m, 0, s),
               plane_dense(n, m, w, 0.3, t, dense), plane_back(n, m, w, 0.3, t, ptr, col, val));
}

static void windows(int64_t m, int64_t n, int64_t t) {
  CHECK_MATRIX("windows", n, m, 10 * n, -1, windows_dense(m, n, u, v, t, dense),
               windows_sparse(m, n, u, v, t, ptr, col, val));
  CHECK_MATRIX("windows by rows", n, m, 10 * n, -1, windows_dense(m, n, u, v, t, dense),
               windows_back(m, n, u, v, t, ptr, col, val));
}

int main(void) {
  fill(u, 200, 0.3);
  fill(v, 2000, 0.8);
  for (int64_t n = 0; n < 30; n += n < 6 ? 1 : 7) {
    vectors(n);
    for (int64_t t = -1; t < 12; t += t < 4 ? 1 : 6)
      steps(n, t);
    steps(n, 40);
  }
  for (int64_t n = 0; n < 40; n += 1 + n / 3)
    for (int64_t m = 0; m < 20; m += 1 + m / 3)
      windows(m, n, 2);
  for (int64_t n = 0; n < 6; n++)
    for (int64_t m = 0; m < 6; m++)
      for (int64_t t = -1; t < 5; t++)
        planes(n, m, t);
  return report();
}
