/* Generated functions as C sees them: results, statuses and their texts, NULL outputs, outputs that are added into, and
   workspaces of the caller's.
   RUN: %gradc %S/inputs/calls.ad -o %t.o
   RUN: %cc -I%T %s -include %t.h %t.o %libs -o %t && %t
   RUN: %gradc -O0 %S/inputs/calls.ad -o %t.o && %cc -I%T %s -include %t.h %t.o %libs -o %t && %t */
#include "inputs/expect.h"

static int last_error_has(const char *text) {
  return strstr(gradc_last_error(), text) != NULL;
}

static const double w[2] = {1, -2}, x[6] = {1, 2, 3, 4, 5, 6}, y[3] = {0, 1, 2};
/* z = (-2.5, -4.5, -6.5), r = z - y = (-2.5, -5.5, -8.5) */

static void test_outputs(void) {
  double value = 0, z[4] = {0, 0, 0, 7}, d_w[3] = {0, 0, 7}, d_b = 0;
  EXPECT(loss_grad(2, 3, w, 0.5, x, y, &value, z, d_w, &d_b) == GRADC_OK);
  EXPECT(fabs(value - 108.75) < 1e-12);
  EXPECT(z[0] == -2.5 && z[1] == -4.5 && z[2] == -6.5 && z[3] == 7);
  EXPECT(fabs(d_w[0] + 123) < 1e-12 && fabs(d_w[1] + 156) < 1e-12 && d_w[2] == 7);
  EXPECT(fabs(d_b + 33) < 1e-12);
  value = d_b = d_w[0] = 0;
  EXPECT(loss_grad(2, 3, w, 0.5, x, y, &value, NULL, NULL, NULL) == GRADC_OK && fabs(value - 108.75) < 1e-12);
  EXPECT(loss_grad(2, 3, w, 0.5, x, y, NULL, NULL, d_w, NULL) == GRADC_OK && fabs(d_w[0] + 123) < 1e-12);
  EXPECT(loss_grad(2, 3, w, 0.5, x, y, NULL, NULL, NULL, NULL) == GRADC_OK);
}

/* What only an output that is NULL needs is not done, its checks included. */
static void test_skipped(void) {
  double total = 0, picked = 0;
  EXPECT(pair(3, y, 2, &total, &picked) == GRADC_OK && total == 3 && picked == 2);
  EXPECT(pair(3, y, 3, &total, &picked) == GRADC_OUT_OF_RANGE);
  EXPECT(pair(3, y, 3, NULL, &picked) == GRADC_OUT_OF_RANGE);
  EXPECT(pair(3, y, 3, &total, NULL) == GRADC_OK && total == 3);
}

static void test_accumulate(void) {
  double value = 1000, z[3], d_w[2] = {100, 200}, d_b = 1;
  EXPECT(loss_add(2, 3, w, 0.5, x, y, &value, z, d_w, &d_b) == GRADC_OK);
  EXPECT(fabs(value - 108.75) < 1e-12 && fabs(d_w[0] + 23) < 1e-12 && fabs(d_w[1] - 44) < 1e-12 &&
         fabs(d_b + 32) < 1e-12);
  EXPECT(loss_add(2, 3, w, 0.5, x, y, NULL, NULL, NULL, &d_b) == GRADC_OK && fabs(d_b + 65) < 1e-12);
}

static void test_statuses(void) {
  double value = 5;
  int64_t quotient;
  EXPECT(pick(3, y, 2, &value) == GRADC_OK && value == 2);
  EXPECT(pick(3, y, 3, &value) == GRADC_OUT_OF_RANGE);
  EXPECT(last_error_has("calls.ad:5: index 3 is out of range for an axis of 3"));
  EXPECT(pick(3, y, -1, &value) == GRADC_OUT_OF_RANGE && last_error_has("index -1"));
  EXPECT(pick(-3, y, 0, &value) == GRADC_BAD_SIZE && last_error_has("size -3 is negative"));
  EXPECT(positive(4, &value) == GRADC_OK && value == 2);
  EXPECT(positive(NAN, &value) == GRADC_REQUIRE && last_error_has("calls.ad:8: x is to be positive"));
  EXPECT(shorter(2, y, &value) == GRADC_OK);
  EXPECT(shorter(3, y, &value) == GRADC_OK && value == 2);
  EXPECT(shorter(1, y, &value) == GRADC_BAD_SIZE && last_error_has("size -1 is negative"));
  EXPECT(square(INT64_C(1) << 40, &value) == GRADC_BAD_SIZE && last_error_has("overflows"));
  EXPECT(square(INT64_C(1) << 30, NULL) == GRADC_BAD_SIZE || last_error_has("no memory"));
  EXPECT(divide(-7, 2, &quotient) == GRADC_OK && quotient == -3);
  EXPECT(divide(7, 0, &quotient) == GRADC_REQUIRE && last_error_has("division by zero"));
  EXPECT(divide(INT64_MIN, -1, &quotient) == GRADC_REQUIRE && last_error_has("overflows"));
}

static void test_kinds(void) {
  const uint8_t m[3] = {0, 1, 1};
  uint8_t not_b = 9, unlike[3] = {9, 9, 9};
  EXPECT(negate(3, 1, m, &not_b, unlike) == GRADC_OK && not_b == 0);
  EXPECT(unlike[0] == 1 && unlike[1] == 0 && unlike[2] == 0);
  const float a[3] = {1, 2, -3};
  float half[3];
  EXPECT(halve(3, a, half) == GRADC_OK && half[0] == 0.5f && half[2] == -1.5f);
  EXPECT(halve(0, NULL, NULL) == GRADC_OK);
}

/* The workspace is written within its bounds, wherever it begins. */
static void test_workspace(void) {
  enum { N = 37, STEPS = 9 };
  double in[N], plain[N], mine[N];
  for (int i = 0; i < N; i++)
    in[i] = i;
  const int64_t bytes = sums_grad_worksize(N, STEPS);
  EXPECT(bytes > 0 && bytes <= 8 * N * (2 * STEPS + 8) + 1024);
  EXPECT(sums_grad_worksize(N, 2 * STEPS) <= 2 * bytes);
  EXPECT(sums_grad_worksize(INT64_C(1) << 40, INT64_C(1) << 40) == INT64_MAX);
  EXPECT(sums_grad_worksize(N, -5) >= 0);
  EXPECT(sums_grad(N, in, STEPS, plain) == GRADC_OK);
  for (int offset = 0; offset <= 16; offset += 8) {
    unsigned char *block = malloc((size_t)bytes + 64);
    memset(block, 0xa5, (size_t)bytes + 64);
    EXPECT(sums_grad_ws(N, in, STEPS, mine, block + 16 + offset, bytes) == GRADC_OK);
    EXPECT(!memcmp(plain, mine, sizeof mine));
    for (int64_t i = 0; i < bytes + 64; i++)
      EXPECT((i >= 16 + offset && i < 16 + offset + bytes) || block[i] == 0xa5);
    EXPECT(sums_grad_ws(N, in, STEPS, mine, block + 16 + offset, 100) == GRADC_NO_MEMORY);
    EXPECT(last_error_has("the workspace of 100 bytes is shorter than"));
    EXPECT(sums_grad_ws(N, in, STEPS, mine, block, -1) == GRADC_NO_MEMORY);
    free(block);
  }
  EXPECT(sums_grad_ws(N, in, STEPS, mine, NULL, 0) == GRADC_NO_MEMORY);
  /* Nothing is needed: no workspace need be given. */
  double value;
  EXPECT(pick_worksize(3) == 0 && pick_ws(3, y, 1, &value, NULL, 0) == GRADC_OK && value == 1);
}

/* What no argument bounds is pushed: on a workspace of the caller's, as far as that reaches. */
static void test_pushed(void) {
  double plain = 0, mine = 0;
  const int64_t bytes = root_grad_worksize();
  EXPECT(root_grad(1e6, &plain) == GRADC_OK && fabs(plain - 0.0005) < 1e-9);
  unsigned char *block = malloc((size_t)bytes + 4096);
  memset(block, 0xa5, (size_t)bytes + 4096);
  EXPECT(root_grad_ws(1e6, &mine, block, bytes) == GRADC_NO_MEMORY);
  EXPECT(root_grad_ws(1e6, &mine, block, bytes + 2048) == GRADC_OK && mine == plain);
  for (int i = 0; i < 2048; i++)
    EXPECT(block[bytes + 2048 + i] == 0xa5);
  free(block);
}

int main(void) {
  double value, z[3];
  EXPECT(loss(2, 3, w, 0.5, x, y, &value, z) == GRADC_OK && fabs(value - 108.75) < 1e-12);
  test_outputs();
  test_skipped();
  test_accumulate();
  test_statuses();
  test_kinds();
  test_workspace();
  test_pushed();
  gradc_release();
  return failed;
}
