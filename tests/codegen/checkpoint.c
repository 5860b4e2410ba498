/* checkpoint(k): the least number of steps that k states allow are run, and no more than k states are kept.
   RUN: %gradc %S/inputs/checkpoint.ad -o %t.o
   RUN: %cc -I%T %s -include %t.h %t.o %libs -o %t && %t
   RUN: %gradc -O0 %S/inputs/checkpoint.ad -o %t.o && %cc -fsanitize=address,undefined -I%T %s -include %t.h %t.o %libs
   -o %t && %t */
#include "gradc.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static long steps_run;

double step(double x) {
  steps_run++;
  return sin(x);
}

typedef int Gradient(double x, double a, int64_t steps, double *value, double *d_x, double *d_a);

/* C(n, k) */
static int64_t choose(int64_t n, int64_t k) {
  double c = 1;
  for (int64_t i = 1; i <= k; i++)
    c = c * (double)(n - k + i) / (double)i;
  return (int64_t)(c + 0.5);
}

/* Griewank and Walther: with r the least number with C(c + r, c) >= m, c states reverse m steps by running
   r m - C(c + r, c + 1) of them before those that are walked back. */
static int64_t least(int64_t m, int64_t c) {
  int64_t r = 0;
  while (choose(c + r, c) < m)
    r++;
  return m > 0 ? r * m - choose(c + r, c + 1) : 0;
}

static int check(Gradient *gradient, int64_t states, int64_t steps) {
  double v, dx, da, v2, dx2, da2;
  if (all_grad(0.3, 1.2, steps, &v2, &dx2, &da2))
    return fprintf(stderr, "%s\n", gradc_last_error());
  steps_run = 0;
  if (gradient(0.3, 1.2, steps, &v, &dx, &da))
    return fprintf(stderr, "%s\n", gradc_last_error());
  /* and then the last step, for the value; a step's own result is not read by its reverse */
  const int64_t expected = least(steps, states) + (steps > 0);
  if (v == v2 && dx == dx2 && da == da2 && steps_run <= expected + (steps > 0 ? steps : 0) && steps_run >= expected)
    return 0;
  return fprintf(stderr, "%d states, %d steps: %ld run, %ld at least; %g %g, %g %g, %g %g\n", (int)states, (int)steps,
                 steps_run, (long)expected, v, v2, dx, dx2, da, da2);
}

/* The states of a checkpoint without a number, and of a segment, are counted by the formula of the workspace. */
static int check_workspace(int64_t steps) {
  enum { N = 20 };
  double x[N], t[N], d[N], h[N];
  for (int i = 0; i < N; i++) {
    x[i] = 0.1 * i;
    t[i] = 1;
  }
  const int64_t first = roots_grad_worksize(N, steps), second = roots_hvp_worksize(N, steps);
  void *work = malloc((size_t)(first > second ? first : second));
  const int failed =
      !work || roots_grad_ws(N, x, steps, d, work, first) || roots_hvp_ws(N, x, steps, t, h, work, second);
  if (failed)
    fprintf(stderr, "%d steps: %s\n", (int)steps, gradc_last_error());
  free(work);
  return failed;
}

int main(void) {
  int failed = 0;
  for (int64_t steps = -1; steps < 300; steps += 1 + steps / 20) {
    failed |= check(few_grad, 3, steps);
    failed |= check(more_grad, 10, steps);
  }
  const int64_t n = 1000, work = large_grad_worksize(n, 100000);
  if (work != large_grad_worksize(n, 200) || work > 8 * n * (5 + 7))
    failed = fprintf(stderr, "%ld bytes\n", (long)work);
  for (int64_t steps = 0; steps < 50; steps += 7)
    failed |= check_workspace(steps);
  gradc_release();
  return failed != 0;
}
