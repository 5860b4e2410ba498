// The kernels of linear algebra for f32.
#define REAL float
#define KERNEL_NAME(name) gradc_rt_##name##_f32
#define EPSILON FLT_EPSILON
#include "linalg.h"
