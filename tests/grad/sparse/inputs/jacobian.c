#include "compare.h"

static double u[ROOM], v[ROOM], w[ROOM], d1[ROOM], d2[ROOM], d3[ROOM], d4[ROOM], d5[ROOM], d6[ROOM];

static void stencils(int64_t n) {
  fill(u, n, 0.3);
  if (n >= 2) {
    clear();
    good(inner_dense(n, u, 0.7, dense));
    good(inner_sparse(n, u, 0.7, ptr, col, val));
    compare("inner", n - 2, n, 3 * (n - 2), 3 * (n - 2));
    clear();
    good(slices_dense(n, u, dense));
    good(slices_sparse(n, u, ptr, col, val));
    compare("slices", n, n, 3 * n, 3 * n - 2);
  }
  if (n >= 4) {
    clear();
    good(twice_dense(n, u, dense));
    good(twice_sparse(n, u, ptr, col, val));
    compare("twice", n - 4, n, 5 * (n - 4), 5 * (n - 4));
  }
  if (n) {
    clear();
    good(heat_dense(n, u, 0.7, dense));
    good(heat_sparse(n, u, 0.7, ptr, col, val));
    compare("heat", n, n, 3 * n, n < 3 ? n : 3 * n - 4);
  }
  clear();
  good(ring_dense(n, u, dense));
  good(ring_sparse(n, u, ptr, col, val));
  compare("ring", n, n, 3 * n, n < 3 ? n * n : 3 * n);
  clear();
  good(both_dense(n, u, dense));
  good(both_sparse(n, u, ptr, col, val));
  compare("both", n, n, 3 * n, -1);
}

static void planes(int64_t n, int64_t m) {
  fill(u, n * m, 0.4);
  const int64_t inside = n > 2 && m > 2 ? (n - 2) * (m - 2) : 0;
  clear();
  good(plane_dense(n, m, u, dense));
  good(plane_sparse(n, m, u, ptr, col, val));
  compare("plane", n * m, n * m, 5 * n * m, n * m + 4 * inside);
  clear();
  good(bratu_dense(n, m, u, 0.9, dense));
  good(bratu_sparse(n, m, u, 0.9, ptr, col, val));
  compare("bratu", n * m, n * m, 5 * n * m, n && m ? n * m + 2 * n * (m - 1) + 2 * m * (n - 1) : 0);
  fill(v, m, 1.4);
  fill(w, n, 2.4);
  // three matrices at a time: compared one after the other
  static int32_t p2[ROOM], c2[ROOM], p3[ROOM], c3[ROOM];
  static double x2[ROOM], x3[ROOM];
  clear();
  good(affine_sparse(n, m, u, v, w, p2, c2, x2, ptr, col, val, p3, c3, x3));
  good(affine_dense(n, m, u, v, w, d1, dense, d2));
  compare("affine by x", n, m, n * m, n * m);
  clear();
  good(affine_sparse(n, m, u, v, w, ptr, col, val, NULL, NULL, NULL, NULL, NULL, NULL));
  good(affine_dense(n, m, u, v, w, dense, NULL, NULL));
  compare("affine by a", n, n * m, n * m, n * m);
  clear();
  good(affine_sparse(n, m, u, v, w, NULL, NULL, NULL, NULL, NULL, NULL, ptr, col, val));
  good(affine_dense(n, m, u, v, w, NULL, NULL, dense));
  compare("affine by b", n, n, n, n);
}

static void gathers(void) {
  const int32_t ends[] = {0, 1, 4, 1, 3, 3, 2, 0}, outside[] = {0, 1, 4, 5};
  fill(u, 5, 0.1);
  clear();
  good(springs_dense(5, 4, u, ends, dense));
  good(springs_sparse(5, 4, u, ends, ptr, col, val));
  compare("springs", 4, 5, 8, 7);
  if (springs_sparse(5, 2, u, outside, ptr, col, val) != GRADC_OUT_OF_RANGE)
    fail("springs", "an index out of range is not told", 5);
  puts(gradc_last_error());
}

static void bundles(int64_t n, int64_t m, int64_t p) {
  static int32_t cam[100], point[100];
  static double cams[1100], points[300], feat[200];
  int32_t *none_i = NULL;
  double *none = NULL;
  fill(cams, 11 * n, 0.1);
  fill(points, 3 * m, 0.2);
  fill(w, p, 0.3);
  fill(feat, 2 * p, 0.4);
  for (int i = 0; i < p; i++) {
    cam[i] = (int32_t)(i % n);
    point[i] = (int32_t)(3 * i % m);
  }
  clear();
  good(bundle_dense(n, m, p, cams, points, w, feat, cam, point, dense, d1, d2, d3, d4, d5));
  good(bundle_sparse(n, m, p, cams, points, w, feat, cam, point, ptr, col, val, none_i, none_i, none, none_i, none_i,
                     none, none_i, none_i, none, none_i, none_i, none, none_i, none_i, none));
  compare("r by w", 2 * p, p, 2 * p, 2 * p);
  clear();
  good(bundle_dense(n, m, p, cams, points, w, feat, cam, point, d1, dense, d2, d3, d4, d5));
  good(bundle_sparse(n, m, p, cams, points, w, feat, cam, point, none_i, none_i, none, ptr, col, val, none_i, none_i,
                     none, none_i, none_i, none, none_i, none_i, none, none_i, none_i, none));
  compare("r by points", 2 * p, 3 * m, 6 * p, 6 * p);
  clear();
  good(bundle_dense(n, m, p, cams, points, w, feat, cam, point, d1, d2, dense, d3, d4, d5));
  good(bundle_sparse(n, m, p, cams, points, w, feat, cam, point, none_i, none_i, none, none_i, none_i, none, ptr, col,
                     val, none_i, none_i, none, none_i, none_i, none, none_i, none_i, none));
  compare("r by cams", 2 * p, 11 * n, 22 * p, 22 * p);
  clear();
  good(bundle_dense(n, m, p, cams, points, w, feat, cam, point, d1, d2, d3, dense, d4, d5));
  good(bundle_sparse(n, m, p, cams, points, w, feat, cam, point, none_i, none_i, none, none_i, none_i, none, none_i,
                     none_i, none, ptr, col, val, none_i, none_i, none, none_i, none_i, none));
  compare("e by w", p, p, p, p);
  clear();
  good(bundle_dense(n, m, p, cams, points, w, feat, cam, point, d1, d2, d3, d4, d5, dense));
  good(bundle_sparse(n, m, p, cams, points, w, feat, cam, point, none_i, none_i, none, none_i, none_i, none, none_i,
                     none_i, none, none_i, none_i, none, none_i, none_i, none, ptr, col, val));
  compare("e by cams", p, 11 * n, 0, 0);
}

static void totals(int64_t n) {
  static int32_t p2[8], c2[ROOM];
  static double x2[ROOM];
  fill(u, n, 0.5);
  fill(v, n, 0.6);
  clear();
  good(total_dense(n, u, v, dense, d6));
  good(total_sparse(n, u, v, ptr, col, val, p2, c2, x2));
  compare("total by x", 1, n, 2 * n, n);
  clear();
  good(total_dense(n, u, v, d6, dense));
  good(total_sparse(n, u, v, p2, c2, x2, ptr, col, val));
  compare("total by y", 1, n, n, n);
}

int main(void) {
  for (int64_t n = 0; n < 40; n += n < 10 ? 1 : 7) {
    stencils(n);
    totals(n);
  }
  for (int64_t n = 0; n < 6; n++)
    for (int64_t m = 0; m < 8; m++)
      planes(n, m);
  gathers();
  bundles(2, 3, 7);
  bundles(1, 1, 1);
  bundles(3, 2, 0);
  bundles(4, 5, 33);
  return report();
}
