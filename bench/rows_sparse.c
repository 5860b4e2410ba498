/* Sparse derivatives: the Jacobian of an implicit step of a rod, the Hessian of springs; with their patterns. */
#include "row.h"
#include "sparse.h"
#include <math.h>
#include <stddef.h>

#define D(k) INPUT(row, double, k)

static const double dt = 0.1;

/* -- The rod: n */

static int rod_objective(const Row *row) {
  return rod(row->sizes[0], D(0), D(1), dt, row->inputs[2].data);
}

static int rod_derivative(const Row *row, void *const *to) {
  int32_t *ptr = row->inputs[3].data;
  return rod_jacobian(row->sizes[0], D(0), D(1), dt, ptr, ptr + row->sizes[0] + 1, to[0]);
}

static int rod_by_hand(const Row *row, void *const *to) {
  const int64_t n = row->sizes[0];
  const double *u = D(0);
  int32_t *ptr = row->inputs[3].data, *col = ptr + n + 1, at = 0;
  double *val = to[0];
  for (int32_t i = 0; i < (int32_t)n; i++) {
    ptr[i] = at;
    if (i > 0)
      col[at] = i - 1, val[at++] = -dt;
    col[at] = i, val[at++] = 1 - dt * (-2 + exp(-u[i] * u[i]) * (1 - 2 * u[i] * u[i]));
    if (i < (int32_t)n - 1)
      col[at] = i + 1, val[at++] = -dt;
  }
  ptr[n] = at;
  while (at < 3 * (int32_t)n) /* the room of the two rows that are shorter */
    val[at++] = 0;
  return 0;
}

static void build_rod(Row *row) {
  const int64_t n = row->sizes[0];
  row_input(row, "u", 'd', 1, &n, 1, 0);
  row_input(row, "before", 'd', 1, &n, 1, 0);
  row->inputs[2].data = row_room(row, n, sizeof(double)); /* no input: the objective's results; the pattern */
  row->inputs[3].data = row_room(row, 4 * n + 1, sizeof(int32_t));
  row_output(row, 'd', 3 * n);
  row->objective = rod_objective;
  row->derivative = rod_derivative;
  row->by_hand = rod_by_hand;
  row->flops = (double)n * (6 + FUNCTION_FLOPS);
  row->bytes += 16.0 * (double)n;
}

/* -- Springs: n, m */

static int springs_objective(const Row *row) {
  double value;
  return springs(row->sizes[0], row->sizes[1], D(0), INPUT(row, int32_t, 1), INPUT(row, int32_t, 2), D(3), &value);
}

static int springs_derivative(const Row *row, void *const *to) {
  int32_t *ptr = row->inputs[4].data;
  return springs_hessian(row->sizes[0], row->sizes[1], D(0), INPUT(row, int32_t, 1), INPUT(row, int32_t, 2), D(3), ptr,
                         ptr + 2 * row->sizes[0] + 1, to[0]);
}

/* A ring whose points hold their neighbours and one across. */
static void build_springs(Row *row) {
  const int64_t n = row->sizes[0], m = row->sizes[1];
  row_input(row, "x", 'd', 2, (int64_t[]){n, 2}, 5, 0);
  int32_t *a = row_input(row, "a", 'i', 1, &m, 0, 0), *b = row_input(row, "b", 'i', 1, &m, 0, 0);
  row_input(row, "length", 'd', 1, &m, 0.1, 1);
  for (int64_t e = 0; e < m; e++) {
    a[e] = (int32_t)(e % n);
    b[e] = (int32_t)((e % n + 1 + 37 * (e / n)) % n);
  }
  row->inputs[4].data = row_room(row, 2 * n + 1 + 16 * m, sizeof(int32_t));
  row_output(row, 'd', 16 * m);
  row->objective = springs_objective;
  row->derivative = springs_derivative;
  row->flops = 60.0 * (double)m;
  row->bytes += 64.0 * (double)m;
}

const Case sparse_cases[] = {
    {"rod 100k, sparse", NULL, build_rod, {100000}},
    {"springs 10k, 30k, sparse", NULL, build_springs, {10000, 30000}},
    {0},
};
