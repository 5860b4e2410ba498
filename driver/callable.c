/* Making exported functions ready to be called, and calling them: as native code compiled into this process, or by the
   reference evaluator. */
#include "codegen/interface.h"
#include "driver/arrays.h"
#include "driver/runtime_symbols.h"
#include "ir/raw.h"
#include <string.h>

bool callable_prepare(Callable *c, Session *s, Module *m) {
  *c = (Callable){.session = s, .module = m};
  if (!session_passes(s, m, true))
    return false;
  if (s->options->evaluate)
    return true;
  c->jit = codegen_jit(m, &s->options->codegen, runtime_symbols);
  return c->jit != NULL;
}

void callable_free(Callable *c) {
  if (c->jit)
    codegen_jit_free(c->jit);
}

static int call_native(Callable *c, Arena *arena, const Export *e, const Array *args, Array *results, char *message,
                       size_t message_size) {
  const Func *f = e->func;
  const CInterface *interface = interface_of(c->module, e, &c->session->options->codegen);
  for (int i = 0; i < f->nresults; i++) {
    Array shape;
    if (!shape_of_args(f, f->result_types[i], args, &shape)) {
      snprintf(message, message_size, "the size of result '%s' is negative or overflows", func_result_name(f, i));
      return EVAL_BAD_SIZE;
    }
    if (!array_fits(&shape)) {
      snprintf(message, message_size, "no memory for the result '%s'", func_result_name(f, i));
      return EVAL_NO_MEMORY;
    }
    results[i] = array_new(arena, shape.kind, shape.rank, shape.dims);
  }
  void **pointers = NEW_ARRAY(arena, void *, interface->nparams),
       **values = NEW_ARRAY(arena, void *, interface->nparams);
  for (int i = 0; i < interface->nparams; i++) {
    const CParam *p = &interface->params[i];
    values[i] = p->role == C_OUTPUT ? results[p->index].data : args[p->index].data;
    pointers[i] = p->role == C_OUTPUT || p->role == C_TENSOR ? (void *)&values[i] : values[i];
  }
  int status;
  if (!codegen_jit_call(c->jit, interface->symbol, pointers, &status))
    return EVAL_UNABLE; /* reported through the Diag */
  if (status)
    snprintf(message, message_size, "%s", runtime_last_error());
  return status;
}

int callable_call(Callable *c, Arena *arena, const Export *e, const Array *args, Array *results, char *message,
                  size_t message_size) {
  return c->jit ? call_native(c, arena, e, args, results, message, message_size)
                : eval_func(arena, e->func, args, results, message, message_size);
}

/* ---- names */
Export *export_named(Session *s, Module *m, const char *name) {
  Strings names = {0};
  for (Export *e = m->exports; e; e = e->next) {
    if (name && !strcmp(e->symbol, name))
      return e;
    vec_push(s->arena, names, e->symbol);
  }
  if (!name && names.n == 1)
    return m->exports;
  for (Func *f = m->funcs; f && name; f = f->next) {
    if (!strcmp(f->name, name) && !f->is_extern)
      return module_export(m, f->name, f, f->loc);
    if (!f->is_extern)
      vec_push(s->arena, names, f->name);
  }
  const char *list = "", *near = name ? nearest_name(name, names.at, names.n) : NULL;
  for (int i = 0; i < names.n && i < 12; i++)
    list = arena_printf(s->arena, "%s%s%s", list, i ? ", " : "", names.at[i]);
  if (near)
    usage_error("there is no function '%s'; did you mean '%s'?", name, near);
  else if (name)
    usage_error("there is no function '%s' in this file%s%s", name, names.n ? "; there are: " : "", list);
  else
    usage_error("say which function to run: %s", list);
  return NULL;
}
