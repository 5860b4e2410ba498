/* From a file's name to a module: reading, elaborating or parsing, and the passes. */
#include "driver/driver.h"
#include "driver/runtime_symbols.h"
#include "frontend/elaborate.h"
#include "ir/parse_ir.h"
#include "passes/passes.h"
#include <string.h>

void session_begin(Session *s, Arena *arena, const Options *o) {
  *s = (Session){.arena = arena, .options = o, .diag = {.arena = arena, .werror = o->werror}};
  Strings off = {0};
  for (int i = 0; i < o->warnings_off.n; i++)
    vec_push(arena, off, o->warnings_off.at[i]);
  vec_push(arena, off, NULL);
  s->diag.off = off.at;
  s->paths = paths_find(arena, o->program);
}

int session_end(Session *s) {
  diag_flush(&s->diag, stderr);
  return s->diag.nerrors ? EXIT_INPUT : EXIT_DONE;
}

bool is_ir_file(const char *path) {
  const size_t n = strlen(path);
  return n > 3 && !strcmp(path + n - 3, ".ir");
}

static void note_import(void *arg, const char *path) {
  Session *s = arg;
  for (int i = 0; i < s->read.n; i++)
    if (!strcmp(s->read.at[i], path))
      return;
  vec_push(s->arena, s->read, arena_name(s->arena, path));
}

static Module *elaborated(Session *s, const Source *source) {
  const Options *o = s->options;
  Strings dirs = {0}, grad = {0};
  for (int i = 0; i < o->include_dirs.n; i++)
    vec_push(s->arena, dirs, o->include_dirs.at[i]);
  vec_push(s->arena, dirs, s->paths.library);
  vec_push(s->arena, dirs, NULL);
  for (int i = 0; i < o->grad.n; i++)
    vec_push(s->arena, grad, o->grad.at[i]);
  vec_push(s->arena, grad, NULL);
  const ElabOptions options = {.real = o->real,
                               .include_dirs = dirs.at,
                               .library_dir = s->paths.library,
                               .grad = o->grad.n ? grad.at : NULL,
                               .grad_alone = o->grad_alone};
  Module *m = elaborate(s->arena, &s->diag, source, &options, note_import, s);
  return s->diag.nerrors ? NULL : m;
}

Module *session_module(Session *s, const char *path) {
  note_import(s, path);
  Source *source = source_read(s->arena, &s->diag, path);
  if (!source)
    return NULL;
  Module *m = is_ir_file(path) ? parse_ir(s->arena, &s->diag, source) : elaborated(s, source);
  if (!m || s->diag.nerrors)
    return NULL;
  m->strict |= s->options->strict;
  m->fast_math |= s->options->fast_math;
  m->unchecked |= s->options->unchecked;
  m->find_kernel = kernel_find;
  return kernels_check(m) ? m : NULL;
}

bool session_passes(Session *s, Module *m, bool whole_pipeline) {
  const Options *o = s->options;
  if (!whole_pipeline && !o->passes)
    return true;
  const PassOptions options = {.after = o->after,
                               .only = o->passes,
                               .verify = !o->no_verify,
                               .time = o->time_passes,
                               .threads = o->codegen.threads,
                               .opt_level = o->codegen.opt_level};
  passes_run(m, &options);
  return s->diag.nerrors == 0;
}
