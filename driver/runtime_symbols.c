/* The runtime that is linked into gradc itself, for code compiled into this process and for the evaluator. */
#include "driver/runtime_symbols.h"
#include "ir/size.h"
#include "runtime/kernels.h"
#include <string.h>

#define SYMBOL(f) {#f, (void (*)(void))f}
#define KERNEL(name, signature) SYMBOL(gradc_rt_##name##_f64), SYMBOL(gradc_rt_##name##_f32),

const JitSymbol runtime_symbols[] = {SYMBOL(gradc_rt_fail),
                                     SYMBOL(gradc_rt_fail_index),
                                     SYMBOL(gradc_rt_fail_range),
                                     SYMBOL(gradc_rt_fail_size),
                                     SYMBOL(gradc_rt_fail_memory),
                                     SYMBOL(gradc_rt_fail_workspace),
                                     SYMBOL(gradc_rt_acquire),
                                     SYMBOL(gradc_rt_release),
                                     SYMBOL(gradc_rt_open),
                                     SYMBOL(gradc_rt_push),
                                     SYMBOL(gradc_rt_grow),
                                     SYMBOL(gradc_rt_mark),
                                     SYMBOL(gradc_rt_pop),
                                     SYMBOL(gradc_rt_close),
                                     SYMBOL(gradc_rt_lgamma),
                                     SYMBOL(gradc_rt_lgamma_f32),
                                     SYMBOL(gradc_rt_digamma),
                                     SYMBOL(gradc_rt_digamma_f32),
                                     SYMBOL(gradc_rt_polygamma),
                                     SYMBOL(gradc_rt_polygamma_f32),
                                     SYMBOL(gradc_rt_power_i64),
                                     SYMBOL(gradc_rt_power_i32),
                                     SYMBOL(gradc_rt_threads),
                                     SYMBOL(gradc_rt_parallel),
                                     SYMBOL(gradc_rt_processor),
                                     SYMBOL(gradc_rt_add_i32),
                                     SYMBOL(gradc_rt_add_i64),
                                     SYMBOL(gradc_rt_add_f32),
                                     SYMBOL(gradc_rt_add_f64),
#include "runtime/kernels.def"
                                     {NULL, NULL}};
#undef KERNEL

void runtime_use_all_threads(void) {
  gradc_set_threads(0);
}

const char *runtime_last_error(void) {
  return gradc_last_error();
}

/* ---- kernels */
typedef struct KernelRow {
  const char *name, *signature;
  Kernel *address;
  Kind real;
} KernelRow;

#define KERNEL(name, signature) \
  {"gradc_rt_" #name "_f64", signature, gradc_rt_##name##_f64, KIND_F64}, \
      {"gradc_rt_" #name "_f32", signature, gradc_rt_##name##_f32, KIND_F32},
static const KernelRow kernels[] = {
#include "runtime/kernels.def"
};
#undef KERNEL

static const KernelRow *kernel_row(const char *name) {
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
    if (!strcmp(kernels[i].name, name))
      return &kernels[i];
  return NULL;
}

Kernel *kernel_find(const char *name) {
  const KernelRow *row = kernel_row(name);
  return row ? row->address : NULL;
}

/* The type as kernels.def writes it: sizes by the letters of the function's size parameters. */
static const char *type_letters(const Func *f, Type t, Kind real) {
  Arena *arena = f->module->arena;
  const char *text = t.kind == real        ? "T"
                     : t.kind == KIND_I64  ? "i"
                     : t.kind == KIND_I32  ? "j"
                     : t.kind == KIND_BOOL ? "b"
                                           : "?";
  for (int i = 0; i < t.rank; i++) {
    int64_t constant;
    const char *size = "?";
    if (size_is_const(t.dims[i], &constant))
      size = arena_printf(arena, "%lld", (long long)constant);
    for (int j = 0; j < f->nsizes && j < 3; j++)
      if (t.dims[i] == size_atom(f->module, f->body->params[j]))
        size = (const char *[]){"n", "m", "k"}[j];
    text = arena_printf(arena, "%s%s%s", text, i ? "," : "[", size);
  }
  return t.rank ? arena_printf(arena, "%s]", text) : text;
}

static const char *signature_of(const Func *f, Kind real) {
  Arena *arena = f->module->arena;
  const char *text = "";
  for (int i = f->nsizes; i < f->body->nparams; i++)
    text = arena_printf(arena, "%s%s ", text, type_letters(f, f->body->params[i]->type, real));
  text = arena_printf(arena, "%s>", text);
  for (int i = 0; i < f->nresults; i++)
    text = arena_printf(arena, "%s %s", text, type_letters(f, f->result_types[i], real));
  return text;
}

bool kernels_check(Module *m) {
  for (const Func *f = m->funcs; f; f = f->next) {
    if (!func_is_kernel(f))
      continue;
    const KernelRow *row = kernel_row(f->name);
    const char *signature = row ? signature_of(f, row->real) : NULL;
    if (!row)
      diag_error(m->diag, f->loc, "the runtime has no kernel '%s'", f->name);
    else if (strcmp(signature, row->signature))
      diag_error(m->diag, f->loc, "kernel '%s' is declared as '%s', but is '%s'", f->name, signature, row->signature);
    else
      continue;
    return false;
  }
  return true;
}
