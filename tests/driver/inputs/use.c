/* Calls loss_grad of model.ir, and prints. */
#include "gradc.h"
#include "model.h"
#include <stdio.h>

int main(void) {
  const double x[] = {1, 2};
  double loss, d_x[2], d_b;
  const int status = loss_grad(2, x, 0.5, &loss, d_x, &d_b);
  printf("%d %.6f %.6f %.6f %.6f '%s'\n", status, loss, d_x[0], d_x[1], d_b, gradc_last_error());
  gradc_set_threads(1);
  gradc_release();
  return 0;
}
