/* Functions of few numbers as C sees them: outputs that are NULL or added into, workspaces, and the rule of exact
   zeros, by which the function runs again.
   RUN: %gradc %S/inputs/few_numbers.ad -o %t.o
   RUN: %cc -fsanitize=address,undefined -I%T %s -include %t.h %t.o %libs -o %t && %t
   RUN: %gradc -O0 %S/inputs/few_numbers.ad -o %t.o
   RUN: %cc -I%T %s -include %t.h %t.o %libs -o %t && %t
   RUN: %gradc -O3 %S/inputs/few_numbers.ad -o %t.o
   RUN: %cc -I%T %s -include %t.h %t.o %libs -o %t && %t */
#include "inputs/expect.h"

static int near(double x, double y) {
  return fabs(x - y) <= 1e-14 * (1 + fabs(y));
}

/* a x0 log(x1) / x2 + x1^a at (3, 2, 4), a = 0.5 */
static const double at[3] = {3, 2, 4}, a = 0.5;

static int is_gradient(const double *d, double times) {
  return near(d[0], times * a * log(2) / 4) && near(d[1], times * (a * 3 / 2 / 4 + a / sqrt(2))) &&
         near(d[2], -times * a * 3 * log(2) / 16);
}

static void test_outputs(void) {
  double value = 7, d_x[3] = {0}, d_a = 0;
  EXPECT(ratio_grad(at, a, &value, d_x, &d_a) == GRADC_OK && is_gradient(d_x, 1));
  EXPECT(near(value, a * 3 * log(2) / 4 + sqrt(2)) && near(d_a, 3 * log(2) / 4 + sqrt(2) * log(2)));
  double only = 0, d[3] = {0};
  EXPECT(ratio_grad(at, a, NULL, d, NULL) == GRADC_OK && is_gradient(d, 1));
  EXPECT(ratio_grad(at, a, &only, NULL, NULL) == GRADC_OK && only == value);
  EXPECT(ratio_grad(at, a, NULL, NULL, &only) == GRADC_OK && only == d_a);
  EXPECT(ratio_grad(at, a, NULL, NULL, NULL) == GRADC_OK);
  EXPECT(ratio_grad_worksize() == 0 && ratio_grad_ws(at, a, &only, d, NULL, NULL, 0) == GRADC_OK && only == value);
}

static void test_added(void) {
  double value = 0, d_x[3] = {0}, d_a = 0;
  for (int i = 1; i <= 3; i++)
    EXPECT(ratio_add(at, a, &value, d_x, &d_a) == GRADC_OK && is_gradient(d_x, i));
  EXPECT(near(value, a * 3 * log(2) / 4 + sqrt(2)));
  EXPECT(ratio_add(at, a, NULL, NULL, &d_a) == GRADC_OK && near(d_a, 4 * (3 * log(2) / 4 + sqrt(2) * log(2))));
}

/* log(0) times 0: by the rule what is multiplied by x0 = 0 contributes nothing, what NaN goes through stays NaN. */
static void test_zeros(void) {
  const double none[3] = {0, 0, 4}, bad[3] = {NAN, 2, 4};
  double value, d_x[3] = {5, 5, 5}, d_a = 5, sum[3] = {1, 1, 1};
  EXPECT(ratio_grad(none, 2, &value, d_x, &d_a) == GRADC_OK);
  EXPECT(isnan(value) && d_x[0] == -INFINITY && d_x[1] == 0);
  EXPECT(ratio_add(none, 2, NULL, sum, NULL) == GRADC_OK && sum[0] == -INFINITY && sum[1] == 1);
  EXPECT(ratio_grad(bad, 2, &value, d_x, &d_a) == GRADC_OK && isnan(value) && near(d_x[0], 2 * log(2) / 4));
  EXPECT(isnan(d_x[1]) && isnan(d_x[2]) && isnan(d_a));
}

static void test_larger(void) {
  static double x[600], d_x[600];
  double value = 0, d_a = 0, other = 0;
  for (int i = 0; i < 600; i++)
    x[i] = 1 + i % 7;
  EXPECT(many_grad(x, 2, &value, d_x, &d_a) == GRADC_OK && near(value, 2 * d_a));
  EXPECT(many_grad(x, 2, &other, NULL, NULL) == GRADC_OK && other == value);
  EXPECT(most_grad(x, 2, &value, d_x, &d_a) == GRADC_OK && near(value, 2 * d_a) && near(d_x[5], 2 / x[0]));
  EXPECT(most_grad(x, 2, NULL, NULL, &other) == GRADC_OK && other == d_a);
  const int64_t bytes = most_grad_worksize();
  void *work = malloc((size_t)bytes);
  EXPECT(most_grad_ws(x, 2, &other, NULL, NULL, work, bytes) == GRADC_OK && other == value);
  free(work);
}

/* A quotient of two numbers of which neither has a reciprocal. */
static void test_reciprocals(void) {
  double value, d_x, d_y;
  EXPECT(quotient_back(3, 4, 2, &value, &d_x, &d_y) == GRADC_OK && d_x == 0.5 && d_y == -0.375);
  EXPECT(quotient_back(0x1p-1060, 0x1p-1060, 0x1p-1061, &value, &d_x, &d_y) == GRADC_OK);
  EXPECT(value == 1 && d_x == 0.5 && d_y == -0.5);
}

int main(void) {
  test_reciprocals();
  test_outputs();
  test_added();
  test_zeros();
  test_larger();
  return failed;
}
