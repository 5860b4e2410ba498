// How many threads parallel regions may use: what gradc_set_threads chose, for the whole process.
#define _GNU_SOURCE // sched_getaffinity: the cores that this process may run on, not those of the machine
#if defined(__linux__)
#include <sched.h>
#endif
#include <stdatomic.h>
#include <unistd.h>

#include "internal.h"

static atomic_int chosen = 1;

void gradc_set_threads(int count) {
  atomic_store(&chosen, count < 0 ? 1 : count);
}

static int32_t cores(void) {
#if defined(__linux__)
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) > 0)
    return (int32_t)CPU_COUNT(&allowed);
#endif
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 && online <= INT32_MAX ? (int32_t)online : 1;
}

int32_t gradc_rt_threads(void) {
  int count = atomic_load(&chosen);
  return count > 0 ? (int32_t)count : cores();
}
