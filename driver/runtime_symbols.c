/* The runtime that is linked into gradc itself, for code compiled into this process. */
#include "driver/runtime_symbols.h"
#include "runtime/internal.h"

#define SYMBOL(f) {#f, (void (*)(void))f}

const JitSymbol runtime_symbols[] = {
    SYMBOL(gradc_rt_fail),       SYMBOL(gradc_rt_fail_index),    SYMBOL(gradc_rt_fail_range),
    SYMBOL(gradc_rt_fail_size),  SYMBOL(gradc_rt_fail_memory),   SYMBOL(gradc_rt_fail_workspace),
    SYMBOL(gradc_rt_acquire),    SYMBOL(gradc_rt_release),       SYMBOL(gradc_rt_open),
    SYMBOL(gradc_rt_push),       SYMBOL(gradc_rt_grow),          SYMBOL(gradc_rt_mark),
    SYMBOL(gradc_rt_pop),        SYMBOL(gradc_rt_close),         SYMBOL(gradc_rt_lgamma),
    SYMBOL(gradc_rt_lgamma_f32), SYMBOL(gradc_rt_digamma),       SYMBOL(gradc_rt_digamma_f32),
    SYMBOL(gradc_rt_polygamma),  SYMBOL(gradc_rt_polygamma_f32), SYMBOL(gradc_rt_power_i64),
    SYMBOL(gradc_rt_power_i32),  SYMBOL(gradc_rt_threads),       {NULL, NULL}};

const char *runtime_last_error(void) {
  return gradc_last_error();
}
