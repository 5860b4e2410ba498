// The kernels of linear algebra for f64.
#define REAL double
#define KERNEL_NAME(name) gradc_rt_##name##_f64
#define EPSILON DBL_EPSILON
#include "linalg.h"
