/* Bodies, heat, and a Gaussian process. */
#include "by_hand.h"
#include "row.h"
#include "simulations.h"
#include <stddef.h>

#define D(k) INPUT(row, double, k)

/* -- Bodies: n, steps */

static int bodies_objective(const Row *row) {
  double value;
  return bodies(row->sizes[0], D(0), D(1), D(2), row->sizes[1], &value);
}

static int bodies_derivative(const Row *row, void *const *to) {
  double value;
  return bodies_grad(row->sizes[0], D(0), D(1), D(2), row->sizes[1], &value, to[0], to[1]);
}

static void build_bodies(Row *row) {
  const int64_t n = row->sizes[0], steps = row->sizes[1];
  row_input(row, "q0", 'd', 2, (int64_t[]){n, 3}, 3, 0);
  row_input(row, "v0", 'd', 2, (int64_t[]){n, 3}, 0.1, 0);
  row_input(row, "mass", 'd', 1, &n, 0.3, 1);
  row_input(row, "times", 'd', 1, &steps, 1, 0); /* for the peers: its size alone */
  row_output(row, 'd', 3 * n);
  row_output(row, 'd', 3 * n);
  row->objective = bodies_objective;
  row->derivative = bodies_derivative;
  row->by_hand = bodies_by_hand;
  row->flops = (double)(steps * n * n) * (18 + 30);
}

/* -- Heat: n, steps */

static int heat_objective(const Row *row) {
  double value;
  return heat(row->sizes[0], D(0), D(1), row->sizes[1], &value);
}

static int heat_derivative(const Row *row, void *const *to) {
  double value;
  return heat_grad(row->sizes[0], D(0), D(1), row->sizes[1], &value, to[0], to[1]);
}

static void build_heat(Row *row) {
  const int64_t n = row->sizes[0], steps = row->sizes[1];
  row_input(row, "u0", 'd', 1, &n, 1, 0);
  row_input(row, "kappa", 'd', 1, &n, 0.5, 1);
  row_input(row, "times", 'd', 1, &steps, 1, 0); /* for the peers: its size alone */
  row_output(row, 'd', n);
  row_output(row, 'd', n);
  row->objective = heat_objective;
  row->derivative = heat_derivative;
  row->by_hand = heat_by_hand;
  row->flops = (double)(steps * n) * (7 + 14);
}

/* -- A Gaussian process: n */

static int process_objective(const Row *row) {
  double value;
  return process(row->sizes[0], D(0), D(1), D(2), &value);
}

static int process_derivative(const Row *row, void *const *to) {
  double value;
  return process_grad(row->sizes[0], D(0), D(1), D(2), &value, to[0]);
}

static void build_process(Row *row) {
  const int64_t n = row->sizes[0];
  row_input(row, "t", 'd', 1, (int64_t[]){4}, 0.3, -0.3);
  row_input(row, "x", 'd', 2, (int64_t[]){n, 2}, 2, 0);
  row_input(row, "y", 'd', 1, &n, 1, 0);
  row_output(row, 'd', 4);
  row->objective = process_objective;
  row->derivative = process_derivative;
  row->by_hand = process_by_hand;
  row->tolerance = 1e-8;
  row->flops = (double)n * (double)n * ((double)n * (1.0 / 3 + 2.0 / 3) + FUNCTION_FLOPS + 8);
}

const Case simulation_cases[] = {
    {"bodies 32, 100 steps", "bodies", build_bodies, {32, 100}},
    {"heat 1000, 1000 steps", "heat", build_heat, {1000, 1000}},
    {"process 200", "process", build_process, {200}},
    {0},
};
