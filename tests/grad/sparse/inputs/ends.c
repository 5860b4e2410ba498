#include "compare.h"

static double u[ROOM], v[ROOM];

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

#define CHECK(name, rows, columns, width, dense_call, sparse_call) \
  do { \
    clear(); \
    good(dense_call); \
    good(sparse_call); \
    compare(name, rows, columns, (rows) * least(width, columns), -1); \
  } while (0)

static void steps(int64_t n, int64_t t) {
  CHECK("trail", n, n, 2 * t + 1, trail_dense(n, u, t, dense), trail_sparse(n, u, t, ptr, col, val));
  CHECK("late", n, n, 2 * t + 1, late_dense(n, u, t, dense), late_sparse(n, u, t, ptr, col, val));
  CHECK("early", n, n, 2 * t + 1, early_dense(n, u, t, dense), early_sparse(n, u, t, ptr, col, val));
  CHECK("mirrored", n, n, t + 1, mirrored_dense(n, u, t, dense), mirrored_sparse(n, u, t, ptr, col, val));
}

static void delays(int64_t m) {
  const int64_t n = 8 * m;
  CHECK("delayed", n, m, 3, delayed_dense(m, u, v, 2, dense), delayed_sparse(m, u, v, 2, ptr, col, val));
  CHECK("delayed by rows", n, m, 3, delayed_dense(m, u, v, 2, dense), delayed_back(m, u, v, 2, ptr, col, val));
}

int main(void) {
  fill(u, 64, 0.1);
  fill(v, 64, 0.7);
  for (int64_t n = 1; n <= 9; n++)
    for (int64_t t = 0; t <= 3; t++)
      steps(n, t);
  for (int64_t m = 1; m <= 7; m++)
    delays(m);
  return report();
}
