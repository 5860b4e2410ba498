/* The Jacobian of bundle adjustment, beside one written by hand in straightforward C: the derivative of Rodrigues'
   formula, then the chain to the projection. Sizes: n, m, p. */
#include "ba.h"
#include "row.h"
#include <math.h>

enum { CAMS, POINTS, W, FEATS };
enum { COLS = 15 };

static void cross(const double *a, const double *b, double *to) {
  to[0] = a[1] * b[2] - a[2] * b[1];
  to[1] = a[2] * b[0] - a[0] * b[2];
  to[2] = a[0] * b[1] - a[1] * b[0];
}

static double dot(const double *a, const double *b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* y = R v, its derivatives by r, and R. */
static void rotate(const double *r, const double *v, double *y, double by_r[3][3], double by_v[3][3]) {
  static const double unit[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  const double squared = dot(r, r);
  double column[3];
  if (squared == 0) {
    cross(r, v, y);
    for (int i = 0; i < 3; i++)
      y[i] += v[i];
    for (int k = 0; k < 3; k++) {
      cross(unit[k], v, column);
      for (int i = 0; i < 3; i++)
        by_r[i][k] = column[i];
      cross(r, unit[k], column);
      for (int i = 0; i < 3; i++)
        by_v[i][k] = unit[i][k] + column[i];
    }
    return;
  }
  const double angle = sqrt(squared), s = sin(angle), c = cos(angle);
  const double u[3] = {r[0] / angle, r[1] / angle, r[2] / angle}, along = dot(u, v);
  double across[3], by_angle[3];
  cross(u, v, across);
  for (int i = 0; i < 3; i++) {
    y[i] = c * v[i] + s * across[i] + (1 - c) * along * u[i];
    by_angle[i] = -s * v[i] + c * across[i] + s * along * u[i];
  }
  for (int k = 0; k < 3; k++) {
    double u_dot[3];
    for (int i = 0; i < 3; i++)
      u_dot[i] = (unit[i][k] - u[i] * u[k]) / angle;
    cross(u_dot, v, column);
    const double along_dot = dot(u_dot, v);
    for (int i = 0; i < 3; i++)
      by_r[i][k] = by_angle[i] * u[k] + s * column[i] + (1 - c) * (along_dot * u[i] + along * u_dot[i]);
    cross(u, unit[k], column);
    for (int i = 0; i < 3; i++)
      by_v[i][k] = c * unit[i][k] + s * column[i] + (1 - c) * u[i] * u[k];
  }
}

static void block(const double *cam, const double *point, double w, const double *feat, double *to) {
  const double v[3] = {point[0] - cam[3], point[1] - cam[4], point[2] - cam[5]};
  double y[3], by_r[3][3], by_v[3][3];
  rotate(cam, v, y, by_r, by_v);
  const double u[2] = {y[0] / y[2], y[1] / y[2]}, rho = u[0] * u[0] + u[1] * u[1];
  const double scale = 1 + cam[9] * rho + cam[10] * rho * rho, slope = 2 * (cam[9] + 2 * cam[10] * rho);
  for (int row = 0; row < 2; row++, to += COLS) {
    double by_y[3];
    for (int i = 0; i < 2; i++)
      by_y[i] = w * cam[6] * ((row == i ? scale : 0) + u[row] * slope * u[i]) / y[2];
    by_y[2] = -(by_y[0] * u[0] + by_y[1] * u[1]);
    for (int k = 0; k < 3; k++) {
      to[k] = by_y[0] * by_r[0][k] + by_y[1] * by_r[1][k] + by_y[2] * by_r[2][k];
      to[11 + k] = by_y[0] * by_v[0][k] + by_y[1] * by_v[1][k] + by_y[2] * by_v[2][k];
      to[3 + k] = -to[11 + k];
    }
    to[6] = w * scale * u[row];
    to[7] = row == 0 ? w : 0;
    to[8] = row == 1 ? w : 0;
    to[9] = w * cam[6] * u[row] * rho;
    to[10] = w * cam[6] * u[row] * rho * rho;
    to[14] = cam[6] * scale * u[row] + cam[7 + row] - feat[row];
  }
}

static int by_hand(const Row *row, void *const *to) {
  const int64_t n = row->sizes[0], m = row->sizes[1], p = row->sizes[2];
  for (int64_t i = 0; i < p; i++)
    block(INPUT(row, double, CAMS) + 11 * (i % n), INPUT(row, double, POINTS) + 3 * (i % m), INPUT(row, double, W)[i],
          INPUT(row, double, FEATS) + 2 * i, (double *)to[0] + (int64_t)2 * COLS * i);
  for (int64_t i = 0; i < p; i++)
    ((double *)to[0])[2 * COLS * p + i] = -2 * INPUT(row, double, W)[i];
  return 0;
}

static int objective(const Row *row) {
  double *room = row->inputs[FEATS + 1].data;
  const int64_t p = row->sizes[2];
  return ba(row->sizes[0], row->sizes[1], p, INPUT(row, double, CAMS), INPUT(row, double, POINTS),
            INPUT(row, double, W), INPUT(row, double, FEATS), room, room + 2 * p);
}

/* The pattern is not asked for: it is the same in every call. */
static int derivative(const Row *row, void *const *to) {
  return ba_jacobian(row->sizes[0], row->sizes[1], row->sizes[2], INPUT(row, double, CAMS), INPUT(row, double, POINTS),
                     INPUT(row, double, W), INPUT(row, double, FEATS), NULL, NULL, to[0]);
}

void build_ba(Row *row) {
  const int64_t n = row->sizes[0], m = row->sizes[1], p = row->sizes[2];
  double *cams = row_input(row, "cams", 'd', 2, (int64_t[]){n, 11}, 0.4, 0);
  double *points = row_input(row, "points", 'd', 2, (int64_t[]){m, 3}, 1, 0);
  row_input(row, "w", 'd', 1, (int64_t[]){p}, 0.3, 1);
  row_input(row, "feats", 'd', 2, (int64_t[]){p, 2}, 1, 0);
  for (int64_t i = 0; i < n; i++)
    cams[11 * i + 6] += 2;
  for (int64_t i = 0; i < m; i++)
    points[3 * i + 2] += 6;
  row->inputs[FEATS + 1].data = row_room(row, 3 * p, sizeof(double)); /* the objective's results: no input */
  row_output(row, 'd', (2 * COLS + 1) * p);
  row->objective = objective;
  row->derivative = derivative;
  row->by_hand = by_hand;
  row->flops = (double)p * (250 + 2 * FUNCTION_FLOPS);
}
