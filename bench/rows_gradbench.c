/* The other problems of GradBench: hello, llsq, lse, det, ode, kmeans, particle, saddle. */
#include "by_hand.h"
#include "det.h"
#include "hello.h"
#include "kmeans.h"
#include "llsq.h"
#include "lse.h"
#include "ode.h"
#include "particle.h"
#include "row.h"
#include "saddle.h"

#define X(row) INPUT(row, double, 0)

/* -- hello: a million calls */

enum { MILLION = 1000000 };

static int hello_objective(const Row *row) {
  double value;
  for (int i = 0; i < MILLION; i++)
    square(X(row)[0] + i, &value);
  return 0;
}

static int hello_derivative(const Row *row, void *const *to) {
  for (int i = 0; i < MILLION; i++)
    double_by_grad(X(row)[0] + i, to[0]);
  return double_by_grad(X(row)[0], to[0]);
}

static double twice(double x) {
  return 2 * x;
}

static int hello_by_hand(const Row *row, void *const *to) {
  double (*volatile call)(double) = twice;
  for (int i = 0; i < MILLION; i++)
    *(double *)to[0] = call(X(row)[0] + i);
  *(double *)to[0] = call(X(row)[0]);
  return 0;
}

static void build_hello(Row *row) {
  row_input(row, "x", 'd', 1, (int64_t[]){1}, 1, 0);
  row_output(row, 'd', 1);
  row->objective = hello_objective;
  row->derivative = hello_derivative;
  row->by_hand = hello_by_hand;
  row->repeats = MILLION;
  row->flops = 1;
}

/* -- llsq: coefficients, points */

static int llsq_objective(const Row *row) {
  double value;
  return llsq(row->sizes[1], row->sizes[0], X(row), &value);
}

static int llsq_derivative(const Row *row, void *const *to) {
  return llsq_grad(row->sizes[1], row->sizes[0], X(row), to[0]);
}

static int llsq_by_hand(const Row *row, void *const *to) {
  const int64_t m = row->sizes[0], n = row->sizes[1];
  double *slope = to[0];
  for (int64_t j = 0; j < m; j++)
    slope[j] = 0;
  for (int64_t i = 0; i < n; i++) {
    const double t = -1 + 2 * (double)i / ((double)n - 1);
    double fit = 0, power = 1;
    for (int64_t j = 0; j < m; j++, power *= t)
      fit += X(row)[j] * power;
    const double miss = fit - ((t > 0) - (t < 0));
    power = 1;
    for (int64_t j = 0; j < m; j++, power *= t)
      slope[j] += miss * power;
  }
  return 0;
}

static void build_llsq(Row *row) {
  row_input(row, "x", 'd', 1, (int64_t[]){row->sizes[0]}, 1, 0);
  row_input(row, "t", 'd', 1, (int64_t[]){row->sizes[1]}, 1, 0); /* for the peers: its size alone */
  row_output(row, 'd', row->sizes[0]);
  row->objective = llsq_objective;
  row->derivative = llsq_derivative;
  row->by_hand = llsq_by_hand;
  row->flops = 6.0 * (double)(row->sizes[0] * row->sizes[1]);
}

/* -- lse */

static int lse_objective(const Row *row) {
  double value;
  return lse(row->sizes[0], X(row), &value);
}

static int lse_derivative(const Row *row, void *const *to) {
  return lse_grad(row->sizes[0], X(row), to[0]);
}

static void build_lse(Row *row) {
  row_input(row, "x", 'd', 1, row->sizes, 5, 0);
  row_output(row, 'd', row->sizes[0]);
  row->objective = lse_objective;
  row->derivative = lse_derivative;
  row->by_hand = lse_by_hand;
  row->flops = (double)row->sizes[0] * (FUNCTION_FLOPS + 4);
}

/* -- det of a matrix of 8 */

static int det_objective(const Row *row) {
  double value;
  return det_8(X(row), &value);
}

static int det_derivative(const Row *row, void *const *to) {
  return det_grad_8(X(row), to[0]);
}

static void build_det(Row *row) {
  row_input(row, "a", 'd', 2, (int64_t[]){8, 8}, 1, 0);
  row_output(row, 'd', 64);
  row->objective = det_objective;
  row->derivative = det_derivative;
  row->flops = 3 * 2 * 1.718 * 40320; /* the expansion has (e - 1) n! products */
}

/* -- ode: numbers, steps */

static int ode_objective(const Row *row) {
  return ode(row->sizes[0], X(row), row->sizes[1], row->inputs[1].data);
}

static int ode_derivative(const Row *row, void *const *to) {
  return ode_grad(row->sizes[0], X(row), row->sizes[1], to[0]);
}

static void build_ode(Row *row) {
  row_input(row, "x", 'd', 1, row->sizes, 0.1, 0.6);
  row->inputs[1].data = row_room(row, row->sizes[0], sizeof(double)); /* no input */
  row_output(row, 'd', row->sizes[0]);
  row->objective = ode_objective;
  row->derivative = ode_derivative;
  row->by_hand = ode_by_hand;
  row->flops = (double)(row->sizes[0] * row->sizes[1]) * 3 * 18;
}

/* -- kmeans: n, k, d; the derivative is its step of Newton's method */

static int kmeans_objective(const Row *row) {
  double value;
  return kmeans_cost(row->sizes[0], row->sizes[2], row->sizes[1], X(row), INPUT(row, double, 1), &value);
}

static int kmeans_derivative(const Row *row, void *const *to) {
  return kmeans_dir(row->sizes[0], row->sizes[2], row->sizes[1], X(row), INPUT(row, double, 1), to[0]);
}

static int kmeans_by_hand(const Row *row, void *const *to) {
  const int64_t n = row->sizes[0], k = row->sizes[1], d = row->sizes[2];
  const double *points = X(row), *centroids = INPUT(row, double, 1);
  double *dir = to[0], *count = row->inputs[2].data;
  for (int64_t i = 0; i < k * d; i++)
    dir[i] = 0;
  for (int64_t j = 0; j < k; j++)
    count[j] = 0;
  for (int64_t i = 0; i < n; i++) {
    int64_t at = 0;
    double least = 1e300;
    for (int64_t j = 0; j < k; j++) {
      double square = 0;
      for (int64_t a = 0; a < d; a++)
        square += (centroids[j * d + a] - points[i * d + a]) * (centroids[j * d + a] - points[i * d + a]);
      if (square < least) {
        least = square;
        at = j;
      }
    }
    count[at]++;
    for (int64_t a = 0; a < d; a++)
      dir[at * d + a] += centroids[at * d + a] - points[i * d + a];
  }
  for (int64_t i = 0; i < k * d; i++)
    dir[i] /= count[i / d];
  return 0;
}

static void build_kmeans(Row *row) {
  const int64_t n = row->sizes[0], k = row->sizes[1], d = row->sizes[2];
  const double *points = row_input(row, "points", 'd', 2, (int64_t[]){n, d}, 1, 0);
  double *centroids = row_input(row, "centroids", 'd', 2, (int64_t[]){k, d}, 1, 0);
  for (int64_t i = 0; i < k * d; i++) /* each near a point, so that none is without one */
    centroids[i] = points[i] + 1e-3 * centroids[i];
  row->inputs[2].data = row_room(row, k, sizeof(double)); /* no input */
  row_output(row, 'd', k * d);
  row->objective = kmeans_objective;
  row->derivative = kmeans_derivative;
  row->by_hand = kmeans_by_hand;
  row->flops = 3.0 * (double)(n * k * d);
}

/* -- Descents: of forward derivatives of forward derivatives, and of reverse of reverse */

static int particle_objective(const Row *row) {
  double value;
  return particle_ff(X(row)[0], &value);
}

static int particle_derivative(const Row *row, void *const *to) {
  return particle_rr(X(row)[0], to[0]);
}

static void build_particle(Row *row) {
  row_input(row, "w", 'd', 1, (int64_t[]){1}, 0, 0);
  row_output(row, 'd', 1);
  row->objective = particle_objective;
  row->derivative = particle_derivative;
}

static int saddle_objective(const Row *row) {
  double result[4];
  return saddle_ff(X(row), result);
}

static int saddle_derivative(const Row *row, void *const *to) {
  return saddle_rr(X(row), to[0]);
}

static void build_saddle(Row *row) {
  row_input(row, "start", 'd', 1, (int64_t[]){2}, 0, 1);
  row_output(row, 'd', 4);
  row->objective = saddle_objective;
  row->derivative = saddle_derivative;
}

const Case gradbench_cases[] = {
    {"hello", NULL, build_hello, {0}},
    {"llsq m=128 n=1024", "llsq", build_llsq, {128, 1024}},
    {"lse n=20k", "lse", build_lse, {20000}},
    {"lse n=1280k", "lse", build_lse, {1280000}},
    {"det 8", NULL, build_det, {0}},
    {"ode n=1000 s=100", "ode", build_ode, {1000, 100}},
    {"kmeans n=1k k=100 d=8", "kmeans", build_kmeans, {1000, 100, 8}},
    {"kmeans n=10k k=10 d=16", "kmeans", build_kmeans, {10000, 10, 16}},
    {"particle ff, rr", NULL, build_particle, {0}},
    {"saddle ff, rr", NULL, build_saddle, {0}},
    {0},
};
