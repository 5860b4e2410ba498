// The kernels of linear algebra for f64. On x86-64 they are there twice, and the processor decides.
#define REAL double
#define LAPACK(name) d##name##_
#define EPSILON DBL_EPSILON
#define STRIP_VECTORS 1
#define KERNEL_FUNCTION(name) static void plain_##name
#include "linalg.h"

#ifdef GRADC_HAS_V3
#define KERNEL(name, signature) GRADC_HIDDEN GradcKernel gradc_rt_##name##_f64_v3;
#include "kernels.def"
#undef KERNEL
#define CHOICE(name) (gradc_is_v3() ? gradc_rt_##name##_f64_v3 : plain_##name)
#else
#define CHOICE(name) plain_##name
#endif

#define KERNEL(name, signature) \
  void gradc_rt_##name##_f64(const int64_t *sizes, const void *const *inputs, void *const *outputs) { \
    CHOICE(name)(sizes, inputs, outputs); \
  }
#include "kernels.def"
