#include "compare.h"

static double u[ROOM], v[ROOM];

static void vectors(int64_t n) {
  fill(u, n, 0.3);
  fill(v, n, 0.8);
  clear();
  good(chain_dense(n, u, dense));
  good(chain_sparse(n, u, ptr, col, val));
  compare("chain", n, n, 4 * n, n > 1 ? 3 * n - 2 : 0);
  clear();
  good(chain_dense(n, u, dense));
  good(chain_loop_sparse(n, u, ptr, col, val));
  compare("chain by a loop", n, n, 4 * n, n > 1 ? 3 * n - 2 : 0);
  clear();
  good(diagonal_dense(n, u, v, dense));
  good(diagonal_sparse(n, u, v, ptr, col, val));
  compare("diagonal", n, n, n, n);
  if (n) {
    clear();
    good(linear_dense(n, u, dense));
    good(linear_sparse(n, u, ptr, col, val));
    compare("linear", n, n, 0, 0);
  }
  clear();
  good(others_dense(n, u, dense));
  good(others_sparse(n, u, ptr, col, val));
  compare("others", n, n, 4 * n * n, n > 1 ? n * n : 0);
  clear();
  good(path_dense(n, u, 1.3, dense));
  good(path_sparse(n, u, 1.3, ptr, col, val));
  compare("path", n, n, n * (4 * n + 4), n ? 3 * n - 2 : 0);
  clear();
  good(full_dense(n, u, dense));
  good(full_sparse(n, u, ptr, col, val));
  compare("full", n, n, n * n + n, n * n);
  if (n % 2 == 0) {
    clear();
    good(pairs_dense(n / 2, u, v, dense));
    good(pairs_sparse(n / 2, u, v, ptr, col, val));
    compare("pairs", n, n, 4 * n * n, n > 2 ? n * n : 0);
  }
  double p[] = {1.1, 0.4, 0.2};
  clear();
  good(fit_dense(n, p, u, v, dense));
  good(fit_sparse(n, p, u, v, ptr, col, val));
  compare("fit", 3, 3, 9, 9);
}

static void wides(int64_t n) {
  static int32_t p[3][ROOM], c[3][ROOM];
  static double x[3][ROOM], d[3][ROOM];
  fill(u, n, 0.2);
  fill(v, 2 * n, 0.7);
  clear();
  good(wide_dense(n, u, v, dense, d[0], d[1], d[2]));
  good(wide_sparse(n, u, v, ptr, col, val, p[0], c[0], x[0], p[1], c[1], x[1], p[2], c[2], x[2]));
  compare("wide, x x", n, n, 144 * n, -1);
  clear();
  good(wide_dense(n, u, v, d[0], dense, d[1], d[2]));
  good(wide_sparse(n, u, v, p[0], c[0], x[0], ptr, col, val, p[1], c[1], x[1], p[2], c[2], x[2]));
  compare("wide, x y", n, 2 * n, 96 * n, -1);
  clear();
  good(wide_dense(n, u, v, d[0], d[1], dense, d[2]));
  good(wide_sparse(n, u, v, p[0], c[0], x[0], p[1], c[1], x[1], ptr, col, val, p[2], c[2], x[2]));
  compare("wide, y x", 2 * n, n, 96 * n, -1);
  clear();
  good(wide_dense(n, u, v, d[0], d[1], d[2], dense));
  good(wide_sparse(n, u, v, p[0], c[0], x[0], p[1], c[1], x[1], p[2], c[2], x[2], ptr, col, val));
  compare("wide, y y", 2 * n, 2 * n, 64 * n, -1);
}

static void fields(int64_t n, int64_t m) {
  fill(u, n * m, 0.4);
  clear();
  good(field_dense(n, m, u, 0.7, dense));
  good(field_sparse(n, m, u, 0.7, ptr, col, val));
  compare("field", n * m, n * m, 25 * n * m, -1);
}

static void observations(int64_t k) {
  static const int32_t at[] = {0, 1, 3, 2, 1, 1, 0, 1, 2, 0, 3, 0}, outside[] = {0, 3};
  static int32_t p[3][20], c[3][40];
  static double x[3][40], d[3][40];
  fill(u, 4, 0.1);
  fill(v, 3, 0.2);
  clear();
  good(observed_dense(4, 3, k, u, v, at, dense, d[0], d[1], d[2]));
  good(observed_sparse(4, 3, k, u, v, at, ptr, col, val, p[0], c[0], x[0], p[1], c[1], x[1], p[2], c[2], x[2]));
  compare("observed, y y", 3, 3, k + 3, 3);
  clear();
  good(observed_dense(4, 3, k, u, v, at, d[0], dense, d[1], d[2]));
  good(observed_sparse(4, 3, k, u, v, at, p[0], c[0], x[0], ptr, col, val, p[1], c[1], x[1], p[2], c[2], x[2]));
  compare("observed, y x", 3, 4, k, k > 3 ? k - 1 : k);
  clear();
  good(observed_dense(4, 3, k, u, v, at, d[0], d[1], dense, d[2]));
  good(observed_sparse(4, 3, k, u, v, at, p[0], c[0], x[0], p[1], c[1], x[1], ptr, col, val, p[2], c[2], x[2]));
  compare("observed, x y", 4, 3, k, k > 3 ? k - 1 : k);
  clear();
  good(observed_dense(4, 3, k, u, v, at, d[0], d[1], d[2], dense));
  good(observed_sparse(4, 3, k, u, v, at, p[0], c[0], x[0], p[1], c[1], x[1], p[2], c[2], x[2], ptr, col, val));
  compare("observed, x x", 4, 4, k + 4, 4);
  if (observed_sparse(4, 3, 1, u, v, outside, p[0], c[0], x[0], p[1], c[1], x[1], p[2], c[2], x[2], ptr, col, val) !=
      GRADC_OUT_OF_RANGE)
    fail("observed", "an index out of range is not told", 3);
}

int main(void) {
  for (int64_t n = 0; n < 40; n += n < 10 ? 1 : 7)
    vectors(n);
  for (int64_t n = 0; n < 6; n++)
    for (int64_t m = 0; m < 8; m++)
      fields(n, m);
  for (int64_t n = 0; n < 20; n += n < 10 ? 1 : 3)
    wides(n);
  for (int64_t k = 0; k <= 6; k++)
    observations(k);
  return report();
}
