// The kernels of kernels.def: how they are called, and their declarations. Generated code and the evaluator call them,
// users do not.
//
// A kernel gets its sizes, where its inputs are (scalars too) and where its outputs go: dense, row-major, an output
// overlapping nothing else, a bool a byte. It allocates nothing, fails never, and tells what it could not do by an i64
// among its outputs (`info`, 0: all well); the floats beside it are then of no use, but written.
#ifndef GRADC_KERNELS_H
#define GRADC_KERNELS_H

#include "internal.h"

typedef void GradcKernel(const int64_t *sizes, const void *const *inputs, void *const *outputs);

// Whether there is a second set, compiled for what x86-64-v3 processors have.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(_WIN32)
#define GRADC_HAS_V3 1
static inline int gradc_is_v3(void) {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#endif

#define KERNEL(name, signature) GRADC_HIDDEN GradcKernel gradc_rt_##name##_f64, gradc_rt_##name##_f32;
#include "kernels.def"
#undef KERNEL

#endif
