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
  if (s->options->codegen.threads)
    runtime_use_all_threads();
  c->jit = codegen_jit(m, &s->options->codegen, runtime_symbols);
  return c->jit != NULL;
}

void callable_free(Callable *c) {
  if (c->jit)
    codegen_jit_free(c->jit);
}

/* Room for the results that callers see. */
static int allocate(Arena *arena, const Export *e, const Array *args, Array *results, char *message,
                    size_t message_size) {
  const Func *f = e->func;
  for (int i = 0; i < f->nresults; i++) {
    Array shape;
    if (result_is_hidden(e, i))
      continue;
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
  return EVAL_OK;
}

/* `tape`: of a part of an export that is cut in two. */
static int call_native(Callable *c, Arena *arena, const Export *e, const Array *args, Array *results, void *tape,
                       char *message, size_t message_size) {
  const CInterface *interface = interface_of(c->module, e, &c->session->options->codegen);
  int status = allocate(arena, e, args, results, message, message_size);
  if (status)
    return status;
  void **pointers = NEW_ARRAY(arena, void *, interface->nparams),
       **values = NEW_ARRAY(arena, void *, interface->nparams);
  for (int i = 0; i < interface->nparams; i++) {
    const CParam *p = &interface->params[i];
    values[i] = p->role == C_TAPE ? tape : p->role == C_OUTPUT ? results[p->index].data : args[p->index].data;
    pointers[i] = p->role == C_SIZE || p->role == C_SCALAR ? values[i] : (void *)&values[i];
  }
  if (!codegen_jit_call(c->jit, interface->symbol, pointers, &status))
    return EVAL_UNABLE; /* reported through the Diag */
  if (status)
    snprintf(message, message_size, "%s", runtime_last_error());
  return status;
}

int callable_call(Callable *c, Arena *arena, const Export *e, const Array *args, Array *results, char *message,
                  size_t message_size) {
  return c->jit ? call_native(c, arena, e, args, results, NULL, message, message_size)
                : eval_func(arena, e->func, args, results, message, message_size);
}

/* ---- exports that are cut in two */
static const Export *part_of(const Module *m, const Export *e, ExportPart part) {
  for (const Export *x = m->exports; x; x = x->next)
    if (x->cut.sizes == e->cut.sizes && x->part == part)
      return x;
  return NULL;
}

/* The arguments of a part: the whole's sizes, those that are computed, the whole's inputs, and `more`. */
static const Array *part_args(Arena *arena, const Func *sizes, const Array *args, const Array *computed, int nmore) {
  const int n = sizes->body->nparams, first = sizes->nsizes, own = sizes->nresults;
  Array *all = NEW_ARRAY(arena, Array, n + own + nmore + 1);
  for (int i = 0; i < n; i++)
    all[i < first ? i : i + own] = args[i];
  for (int i = 0; i < own; i++)
    all[first + i] = computed[i];
  return all;
}

static int64_t tape_bytes(const Export *forward, const Array *args) {
  int64_t bytes = 0;
  for (int i = 0; i < forward->cut.n; i++) {
    Array shape;
    if (!shape_of_args(forward->func, forward->func->result_types[forward->cut.first + i], args, &shape))
      return -1;
    bytes += (array_count(&shape) * kind_bytes(shape.kind) + TAPE_ALIGNMENT - 1) / TAPE_ALIGNMENT * TAPE_ALIGNMENT;
  }
  return bytes;
}

int callable_call_part(Callable *c, Arena *arena, const Export *e, const Array *args, Array *results, char *message,
                       size_t message_size) {
  const Export *forward = part_of(c->module, e, PART_FORWARD), *backward = part_of(c->module, e, PART_BACKWARD);
  Func *sizes = e->cut.sizes;
  if (!forward || !backward) {
    snprintf(message, message_size, "the other parts that it goes with are missing");
    return EVAL_UNABLE;
  }
  const int ninputs = sizes->body->nparams, ntape = e->cut.n,
            nseeds = backward->func->body->nparams - ninputs - sizes->nresults - ntape;
  Array *computed = NEW_ARRAY(arena, Array, sizes->nresults + 1);
  int status = eval_func(arena, sizes, args, computed, message, message_size);
  if (status)
    return status;
  const Array *first = part_args(arena, sizes, args, computed, 0);
  const int64_t bytes = tape_bytes(forward, first);
  if (bytes < 0) {
    snprintf(message, message_size, "the size of the tape is negative or overflows");
    return EVAL_BAD_SIZE;
  }
  if (e->part == PART_TAPESIZE) {
    results[0] = array_new(arena, KIND_I64, 0, NULL);
    *(int64_t *)results[0].data = bytes;
    return EVAL_OK;
  }
  const Array whole = {.kind = KIND_BOOL, .rank = 1, .dims = {bytes}};
  if (!array_fits(&whole)) {
    snprintf(message, message_size, "no memory for the tape");
    return EVAL_NO_MEMORY;
  }
  void *tape = c->jit ? array_new(arena, whole.kind, whole.rank, whole.dims).data : NULL;
  Array *values = e == forward ? results : NEW_ARRAY(arena, Array, forward->func->nresults + 1);
  status = c->jit ? call_native(c, arena, forward, first, values, tape, message, message_size)
                  : eval_func(arena, forward->func, first, values, message, message_size);
  if (status || e == forward)
    return status;
  Array *second = (Array *)(uintptr_t)part_args(arena, sizes, args, computed, ntape + nseeds);
  for (int i = 0; i < ntape; i++)
    second[backward->cut.first + i] = values[forward->cut.first + i];
  for (int i = 0; i < nseeds; i++)
    second[backward->cut.first + ntape + i] = args[ninputs + i];
  return c->jit ? call_native(c, arena, backward, second, results, tape, message, message_size)
                : eval_func(arena, backward->func, second, results, message, message_size);
}

int callable_nresults(const Export *e) {
  return e->part == PART_FORWARD ? e->cut.first : e->part == PART_TAPESIZE ? 1 : e->func->nresults;
}

const char *callable_result_name(const Export *e, int i) {
  return e->part == PART_TAPESIZE ? "bytes" : func_result_name(e->func, i);
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
