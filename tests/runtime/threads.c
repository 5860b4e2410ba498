// RUN: %cc %s -o %t %libs
// RUN: %t
// The number of threads asked for.
#include "expect.h"
#include "internal.h"

int main(void) {
  EXPECT(gradc_rt_threads() == 1);
  gradc_set_threads(3);
  EXPECT(gradc_rt_threads() == 3);
  gradc_set_threads(0);
  EXPECT(gradc_rt_threads() >= 1);
  gradc_set_threads(-5);
  EXPECT(gradc_rt_threads() == 1);
  return 0;
}
