/* gradc run: compiles one function into this process, calls it, and prints or saves its results. */
#define _XOPEN_SOURCE 700
#include "driver/arrays.h"
#include "ir/raw.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { MESSAGE_BYTES = 1024 };

static bool save_results(Session *s, const Export *e, const Array *results) {
  const char *dir = s->options->save_dir;
  if (mkdir(dir, 0777) && errno != EEXIST) {
    diag_error(&s->diag, (Range){0}, "cannot make the folder '%s': %s", dir, strerror(errno));
    return false;
  }
  for (int i = 0; i < callable_nresults(e); i++)
    if (!array_write_npy(s, arena_printf(s->arena, "%s/%s.npy", dir, callable_result_name(e, i)), &results[i]))
      return false;
  return true;
}

static int call_and_show(Callable *c, const Export *e, const Array *args) {
  Session *s = c->session;
  Array *results = NEW_ARRAY(s->arena, Array, e->func->nresults + 1);
  char message[MESSAGE_BYTES] = "";
  if ((e->part == PART_WHOLE ? callable_call : callable_call_part)(c, s->arena, e, args, results, message,
                                                                   sizeof message)) {
    if (*message)
      fprintf(stderr, "gradc: error: %s: %s\n", e->symbol, message);
    return EXIT_INPUT;
  }
  if (s->options->save_dir)
    return save_results(s, e, results) ? EXIT_DONE : EXIT_INPUT;
  for (int i = 0; i < callable_nresults(e); i++)
    array_print(stdout, callable_result_name(e, i), &results[i], s->options->digits);
  return EXIT_DONE;
}

/* The others need not be compiled; but parts go together. */
static void keep_exports(Module *m, Export *e) {
  Export *x = m->exports;
  m->exports = m->last_export = NULL;
  for (Export *next; x; x = next) {
    next = x->next;
    if (x != e && (e->part == PART_WHOLE || x->part == PART_WHOLE || x->func != e->func))
      continue;
    x->next = NULL;
    *(m->last_export ? &m->last_export->next : &m->exports) = x;
    m->last_export = x;
  }
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
  if (e->cut.sizes)
    return usage_error("'%s' has been cut from its function already; run what it was made from", e->symbol);
  const bool needs_seeds = e->part == PART_WHOLE || e->part == PART_BACKWARD;
  if (!status)
    status = arguments_bind_first(s, e->func, needs_seeds ? e->func->body->nparams : e->cut.n, &givens, false, args);
  if (status)
    return status;
  keep_exports(m, e);
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
