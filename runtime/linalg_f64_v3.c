// The kernels of linear algebra for f64, for x86-64 processors with AVX2 and FMA.
#include "kernels.h"

#ifdef GRADC_HAS_V3
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx2,fma")
#endif

#define REAL double
#define LAPACK(name) d##name##_
#define EPSILON DBL_EPSILON
#define STRIP_VECTORS 3
#define KERNEL_FUNCTION(name) \
  GRADC_HIDDEN GradcKernel gradc_rt_##name##_f64_v3; \
  void gradc_rt_##name##_f64_v3
#include "linalg.h"

#ifdef __clang__
#pragma clang attribute pop
#endif
#endif
