// Which level of instructions the processor has, for code that is there at several: --cpu=portable.
#include <stdatomic.h>

#include "internal.h"

// Operating systems that do not save the wider registers count as processors without them.
static int32_t level(void) {
#if defined(__x86_64__) && defined(__GNUC__)
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi") ||
      !__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("popcnt"))
    return 1;
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512cd") || !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl"))
    return 3;
  return 4;
#else
  return 1;
#endif
}

int32_t gradc_rt_processor(void) {
  static atomic_int known;
  int32_t found = atomic_load_explicit(&known, memory_order_relaxed);
  if (!found)
    atomic_store_explicit(&known, found = level(), memory_order_relaxed);
  return found;
}
