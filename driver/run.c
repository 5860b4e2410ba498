/* gradc run: compiles one function into this process, calls it, and prints or saves its results. */
#define _XOPEN_SOURCE 700
#include "driver/arrays.h"
#include "ir/raw.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { MESSAGE_BYTES = 1024 };

static bool save_results(Session *s, const Func *f, const Array *results) {
  const char *dir = s->options->save_dir;
  if (mkdir(dir, 0777) && errno != EEXIST) {
    diag_error(&s->diag, (Range){0}, "cannot make the folder '%s': %s", dir, strerror(errno));
    return false;
  }
  for (int i = 0; i < f->nresults; i++)
    if (!array_write_npy(s, arena_printf(s->arena, "%s/%s.npy", dir, func_result_name(f, i)), &results[i]))
      return false;
  return true;
}

static int call_and_show(Callable *c, const Export *e, const Array *args) {
  Session *s = c->session;
  const Func *f = e->func;
  Array *results = NEW_ARRAY(s->arena, Array, f->nresults);
  char message[MESSAGE_BYTES] = "";
  if (callable_call(c, s->arena, e, args, results, message, sizeof message)) {
    if (*message)
      fprintf(stderr, "gradc: error: %s: %s\n", e->symbol, message);
    return EXIT_INPUT;
  }
  if (s->options->save_dir)
    return save_results(s, f, results) ? EXIT_DONE : EXIT_INPUT;
  for (int i = 0; i < f->nresults; i++)
    array_print(stdout, func_result_name(f, i), &results[i], s->options->digits);
  return EXIT_DONE;
}

/* The function's name may be left out where there is one alone. */
static int run(Session *s, Module *m) {
  const Strings *operands = &s->options->operands;
  const bool named = operands->n > 1 && !strchr(operands->at[1], '=');
  Export *e = export_named(s, m, named ? operands->at[1] : NULL);
  if (!e)
    return EXIT_USAGE;
  Givens givens = {0};
  int status = arguments_parse(s, &givens, named ? 2 : 1);
  Array *args = NEW_ARRAY(s->arena, Array, e->func->body->nparams);
  if (!status)
    status = arguments_bind(s, e->func, &givens, false, args);
  if (status)
    return status;
  m->exports = m->last_export = e; /* the others need not be compiled */
  e->next = NULL;
  Callable c;
  status = EXIT_INPUT;
  if (callable_prepare(&c, s, m))
    status = call_and_show(&c, e, args);
  callable_free(&c);
  return status;
}

int command_run(Arena *arena, const Options *o) {
  Session s;
  session_begin(&s, arena, o);
  Module *m = session_module(&s, o->operands.at[0]);
  const int status = m ? run(&s, m) : EXIT_INPUT, end = session_end(&s);
  return status ? status : end;
}
