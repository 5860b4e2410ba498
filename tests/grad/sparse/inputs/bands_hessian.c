#include "compare.h"

static double u[ROOM], v[ROOM], d1[ROOM], d2[ROOM], d3[ROOM];

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b) {
  return a > b ? a : b;
}

#define CHECK_MATRIX(name, rows, columns, room, dense_call, sparse_call) \
  do { \
    clear(); \
    good(dense_call); \
    good(sparse_call); \
    compare(name, rows, columns, room, -1); \
  } while (0)
#define NONE NULL, NULL, NULL
#define HERE ptr, col, val

static void steps(int64_t n, int64_t t) {
  const int64_t s = most(t, 0);
  CHECK_MATRIX("energy", n, n, n * least(4 * s + 1, n), energy_dense(n, u, t, dense),
               energy_sparse(n, u, t, ptr, col, val));
  CHECK_MATRIX("linear", n, n, 0, linear_dense(n, u, t, dense), linear_sparse(n, u, t, ptr, col, val));
  CHECK_MATRIX("ring, u u", n, n, n * least(most(2 * t - 1, 0), n), ring_dense(n, u, 0.3, t, dense, d1, d2, d3),
               ring_sparse(n, u, 0.3, t, HERE, NONE, NONE, NONE));
  CHECK_MATRIX("ring, u k", n, 1, n, ring_dense(n, u, 0.3, t, d1, dense, d2, d3),
               ring_sparse(n, u, 0.3, t, NONE, HERE, NONE, NONE));
  CHECK_MATRIX("ring, k u", 1, n, n, ring_dense(n, u, 0.3, t, d1, d2, dense, d3),
               ring_sparse(n, u, 0.3, t, NONE, NONE, HERE, NONE));
  CHECK_MATRIX("ring, k k", 1, 1, 1, ring_dense(n, u, 0.3, t, d1, d2, d3, dense),
               ring_sparse(n, u, 0.3, t, NONE, NONE, NONE, HERE));
  const double p[] = {0.7, 0.4};
  CHECK_MATRIX("mixed, x x", n, n, n * least(2 * s + 1, n), mixed_dense(n, u, p, t, dense, d1, d2, d3),
               mixed_sparse(n, u, p, t, HERE, NONE, NONE, NONE));
  CHECK_MATRIX("mixed, p x", 2, n, 2 * n, mixed_dense(n, u, p, t, d1, d2, dense, d3),
               mixed_sparse(n, u, p, t, NONE, NONE, HERE, NONE));
  CHECK_MATRIX("product", n, n, n * n, product_dense(n, u, t, dense), product_sparse(n, u, t, ptr, col, val));
  if (t >= 0 && t <= 6 && n <= 10)
    CHECK_MATRIX("control", t * n, t * n, t * n * t * least(2 * most(t - 1, 0) + 1, n),
                 control_dense(t, n, v, u, dense), control_sparse(t, n, v, u, ptr, col, val));
}

static void vectors(int64_t n) {
  static const int64_t start[] = {0, 2, 2, 5, 6}, place[] = {0, 1, 2, 0, 1, 2};
  CHECK_MATRIX("roots", n, n, n, roots_dense(n, u, dense), roots_sparse(n, u, ptr, col, val));
  CHECK_MATRIX("running", n, n, n * n, running_dense(n, u, dense), running_sparse(n, u, ptr, col, val));
  if (n >= 3)
    CHECK_MATRIX("rows", n, n, n * n, rows_dense(4, 6, n, start, place, v, u, dense),
                 rows_sparse(4, 6, n, start, place, v, u, ptr, col, val));
}

static void planes(int64_t n, int64_t m, int64_t t) {
  const int64_t s = most(t, 0), room = 4 * n * m * least(2 * s + 1, n) * least(2 * s + 1, m);
  CHECK_MATRIX("plane", 2 * n * m, 2 * n * m, room, plane_dense(n, m, v, t, dense),
               plane_sparse(n, m, v, t, ptr, col, val));
  CHECK_MATRIX("plane, reverse", 2 * n * m, 2 * n * m, room, plane_dense(n, m, v, t, dense),
               plane_back(n, m, v, t, ptr, col, val));
}

int main(void) {
  fill(u, 200, 0.3);
  fill(v, 2000, 0.8);
  for (int64_t n = 0; n < 24; n += n < 6 ? 1 : 7) {
    vectors(n);
    for (int64_t t = -1; t < 12; t += t < 4 ? 1 : 6)
      steps(n, t);
  }
  for (int64_t n = 0; n < 5; n++)
    for (int64_t m = 0; m < 5; m++)
      for (int64_t t = -1; t < 3; t++)
        planes(n, m, t);
  return report();
}
