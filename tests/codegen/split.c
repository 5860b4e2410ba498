/* Exports that are cut in two, as C sees them: one run forward and many seeds give what as many whole runs give; tapes
   that move, NULL outputs, statuses, workspaces of the caller's.
   RUN: %gradc %S/inputs/split.ad -o %t.o
   RUN: %cc -I%T %s -include %t.h %t.o %libs -o %t && %t
   RUN: %gradc -O0 %S/inputs/split.ad -o %t.o && %cc -I%T %s -include %t.h %t.o %libs -o %t && %t
   RUN: %gradc --cpu=portable %S/inputs/split.ad -o %t.o && %cc -I%T %s -include %t.h %t.o %libs -o %t && %t
   RUN: %gradc --cpu=portable --no-malloc %S/inputs/split.ad -o %t.so
   RUN: %gradc -O3 %S/inputs/split.ad -o %t.o && %cc -fsanitize=address,undefined -I%T %s -include %t.h %t.o %libs -o %t
   && %t */
#include "inputs/expect.h"

enum { N = 5, M = 3, SEEDS = 4 };

static int near(double a, double b) {
  return fabs(a - b) <= 1e-11 * (1 + fabs(a));
}
static int all_near(int n, const double *a, const double *b) {
  for (int i = 0; i < n; i++)
    if (!near(a[i], b[i]))
      return 0;
  return 1;
}
static void fill(int n, double *x, int k) {
  for (int i = 0; i < n; i++)
    x[i] = sin(1.7 * i + 0.3 * k + 0.5);
}

/* A tape, filled elsewhere first and then moved: it holds no addresses. */
static void *moved(void *tape, int64_t bytes) {
  void *copy = malloc((size_t)bytes + 1);
  memcpy(copy, tape, (size_t)bytes);
  memset(tape, 0xff, (size_t)bytes);
  free(tape);
  return copy;
}

static void test_wave(int64_t steps) {
  double x[N], u[N], energy, u2[N], energy2, seed[N], d_c, d_x[N], d_c2, d_x2[N];
  fill(N, x, 0);
  const int64_t bytes = wave_tapesize(N, steps);
  void *tape = malloc((size_t)bytes);
  EXPECT(wave_forward(N, x, 0.2, steps, u, &energy, tape) == GRADC_OK);
  tape = moved(tape, bytes);
  for (int k = 0; k < SEEDS; k++) {
    fill(N, seed, k);
    EXPECT(wave_backward(N, x, 0.2, steps, tape, seed, 0.1 * k, &d_c, d_x) == GRADC_OK);
    EXPECT(wave_whole(N, x, 0.2, steps, seed, 0.1 * k, u2, &energy2, &d_c2, d_x2) == GRADC_OK);
    EXPECT(all_near(N, u, u2) && near(energy, energy2) && near(d_c, d_c2) && all_near(N, d_x, d_x2));
    EXPECT(wave_backward(N, x, 0.2, steps, tape, seed, 0.1 * k, NULL, d_x) == GRADC_OK && all_near(N, d_x, d_x2));
  }
  free(tape);
}

static void test_kernel(int64_t terms) {
  double x[N], y[M], value[N], value2[N], seed[N], d_x[N], d_y[M], d_x2[N], d_y2[M];
  fill(N, x, 0);
  fill(M, y, 1);
  const int64_t bytes = kernel_tapesize(N, M, terms);
  void *tape = malloc((size_t)bytes + 1);
  EXPECT(kernel_forward(N, M, x, y, terms, value, tape) == GRADC_OK);
  for (int k = 0; k < SEEDS; k++) {
    fill(N, seed, k);
    EXPECT(kernel_backward(N, M, x, y, terms, tape, seed, d_x, d_y) == GRADC_OK);
    EXPECT(kernel_whole(N, M, x, y, terms, seed, value2, d_x2, d_y2) == GRADC_OK);
    EXPECT(all_near(N, value, value2) && all_near(N, d_x, d_x2) && all_near(M, d_y, d_y2));
  }
  free(tape);
}

static void test_ordered(uint8_t flip) {
  double x[N], w[N], value, d_x[N], d_w[N], d_x2[N], d_w2[N];
  fill(N, x, 0);
  fill(N, w, 2);
  void *tape = malloc((size_t)ordered_tapesize(N));
  EXPECT(ordered_forward(N, x, w, flip, &value, tape) == GRADC_OK);
  EXPECT(ordered_whole(N, x, w, flip, d_x2, d_w2) == GRADC_OK);
  for (int i = 0; i < N; i++)
    d_x[i] = d_w[i] = 1;
  for (int k = 0; k < SEEDS; k++) /* seeds 0, 1, 2, 3 add up */
    EXPECT(ordered_backward(N, x, w, flip, tape, k, d_x, d_w) == GRADC_OK);
  for (int i = 0; i < N; i++)
    EXPECT(near(d_x[i], 1 + 6 * d_x2[i]) && near(d_w[i], 1 + 6 * d_w2[i]));
  free(tape);
}

static void test_float(void) {
  float x[N] = {0.1f, 0.7f, -0.4f, 1, 2}, value, value2, d_x[N], d_a, d_x2[N], d_a2;
  void *tape = malloc((size_t)float_half_tapesize(N));
  EXPECT(float_half_forward(N, x, 0.5f, &value, tape) == GRADC_OK);
  EXPECT(float_half_backward(N, x, 0.5f, tape, 1, d_x, &d_a) == GRADC_OK);
  EXPECT(half_whole(N, x, 0.5f, &value2, d_x2, &d_a2) == GRADC_OK);
  EXPECT(fabsf(value - value2) < 1e-5f && fabsf(d_a - d_a2) < 1e-5f);
  for (int i = 0; i < N; i++)
    EXPECT(fabsf(d_x[i] - d_x2[i]) < 1e-5f);
  free(tape);
}

static void test_spare(int64_t steps) {
  double value, value2, d_x, d_r, d_x2, d_r2;
  const int64_t bytes = spare_tapesize(steps);
  EXPECT(bytes <= 8 * (int64_t)(sqrt((double)(steps > 0 ? steps : 0)) + 4));
  void *tape = malloc((size_t)bytes + 1);
  EXPECT(spare_forward(0.3, 3.5, steps, &value, tape) == GRADC_OK);
  for (int k = 0; k < SEEDS; k++) {
    EXPECT(spare_backward(0.3, 3.5, steps, tape, k, &d_x, &d_r) == GRADC_OK);
    EXPECT(spare_whole(0.3, 3.5, steps, k, &value2, &d_x2, &d_r2) == GRADC_OK);
    EXPECT(near(value, value2) && near(d_x, d_x2) && near(d_r, d_r2));
  }
  free(tape);
}

static void test_system(void) {
  double a[M * M] = {4, 1, 0, 1, 3, 1, 0.5, 1, 5}, b[M] = {1, 2, 3}, value[M], value2[M], seed[M], d_a[M * M], d_b[M],
               d_a2[M * M], d_b2[M];
  void *tape = malloc((size_t)system_tapesize(M));
  EXPECT(system_forward(M, a, b, value, tape) == GRADC_OK);
  for (int k = 0; k < SEEDS; k++) {
    fill(M, seed, k);
    EXPECT(system_backward(M, a, b, tape, seed, d_a, d_b) == GRADC_OK);
    EXPECT(system_whole(M, a, b, seed, value2, d_a2, d_b2) == GRADC_OK);
    EXPECT(all_near(M, value, value2) && all_near(M * M, d_a, d_a2) && all_near(M, d_b, d_b2));
  }
  free(tape);
}

static void test_force(void) {
  double q[N], value[N], value2[N], seed[N], d_q[N], d_q2[N];
  fill(N, q, 0);
  void *tape = malloc((size_t)force_tapesize(N));
  EXPECT(force_forward(N, q, value, tape) == GRADC_OK);
  for (int k = 0; k < SEEDS; k++) {
    fill(N, seed, k);
    EXPECT(force_backward(N, q, tape, seed, d_q) == GRADC_OK);
    EXPECT(force_whole(N, q, seed, value2, d_q2) == GRADC_OK);
    EXPECT(all_near(N, value, value2) && all_near(N, d_q, d_q2));
  }
  free(tape);
}

static int last_error_has(const char *text) {
  return strstr(gradc_last_error(), text) != NULL;
}

static void test_errors(void) {
  double x[N] = {0}, a[1] = {1}, value[N], d_x[N], seed[N] = {1}, tape[64];
  EXPECT(pick_forward(N, x, N, value, tape) == GRADC_OUT_OF_RANGE && last_error_has("split.ad:38: index 5"));
  EXPECT(system_forward(1, a, x, value, tape) == GRADC_REQUIRE && last_error_has("one equation"));
  EXPECT(system_backward(1, a, x, tape, seed, d_x, NULL) == GRADC_REQUIRE && last_error_has("one equation"));
  EXPECT(pick_forward(-1, x, 0, value, tape) == GRADC_BAD_SIZE);
  EXPECT(pick_backward(-1, x, 0, tape, 1, d_x) == GRADC_BAD_SIZE);
  EXPECT(pick_forward(N, x, 0, value, NULL) == GRADC_NO_MEMORY && last_error_has("there is no tape"));
  EXPECT(pick_backward(N, x, 0, NULL, 1, d_x) == GRADC_NO_MEMORY && last_error_has("there is no tape"));
  EXPECT(pick_forward(N, x, 0, NULL, tape) == GRADC_OK);
  EXPECT(pick_backward(N, x, 0, tape, 1, d_x) == GRADC_OK && d_x[0] == 2 && d_x[1] == 0);
  EXPECT(wave_tapesize(INT64_MAX / 8, 100) == INT64_MAX);
  EXPECT(wave_forward(INT64_MAX / 16, x, 1, 100, value, value, tape) == GRADC_BAD_SIZE);
  /* nothing is kept: no tape is needed */
  EXPECT(linear_tapesize(N) == 0);
  EXPECT(linear_forward(N, x, value, NULL) == GRADC_OK);
  EXPECT(linear_backward(N, x, NULL, seed, d_x) == GRADC_OK && d_x[0] == 2 && d_x[1] == 0);
}

static void test_workspace(void) {
  enum { STEPS = 1000 };
  double x[N], u[N], energy, seed[N], d_c, d_x[N], d_c2, d_x2[N];
  fill(N, x, 0);
  fill(N, seed, 1);
  const int64_t forward = wave_forward_worksize(N, STEPS), backward = wave_backward_worksize(N, STEPS);
  EXPECT(forward < 8 * N * STEPS && backward < 8 * N * STEPS); /* the tape is not in it */
  void *tape = malloc((size_t)wave_tapesize(N, STEPS)), *work = malloc((size_t)(forward + backward));
  EXPECT(wave_forward_ws(N, x, 0.2, STEPS, NULL, NULL, tape, work, forward) == GRADC_OK);
  EXPECT(wave_backward_ws(N, x, 0.2, STEPS, tape, seed, 0, &d_c, d_x, work, backward) == GRADC_OK);
  EXPECT(wave_whole(N, x, 0.2, STEPS, seed, 0, u, &energy, &d_c2, d_x2) == GRADC_OK);
  EXPECT(near(d_c, d_c2) && all_near(N, d_x, d_x2));
  EXPECT(wave_backward_ws(N, x, 0.2, STEPS, tape, seed, 0, &d_c, d_x, work, 8) == GRADC_NO_MEMORY);
  free(work);
  free(tape);
}

int main(void) {
  for (int64_t steps = -1; steps <= 20; steps += 3) {
    test_wave(steps);
    test_kernel(steps);
    test_spare(steps);
  }
  test_spare(1000);
  test_ordered(0);
  test_ordered(1);
  test_float();
  test_system();
  test_force();
  test_errors();
  test_workspace();
  gradc_release();
  return failed;
}
