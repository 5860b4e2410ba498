/* Making a program ready and calling it; see run.h. */
#include "tools/fuzz/run.h"
#include "driver/runtime_symbols.h"
#include "frontend/elaborate.h"
#include <string.h>

const char *const way_name[WAY_COUNT] = {"evaluator", "evaluator after -O2 passes", "native -O0", "native -O2"};

static void keep_only(Module *m, const char *symbol) {
  for (Export *e = m->exports; e; e = e->next)
    if (!strcmp(e->symbol, symbol)) {
      m->exports = m->last_export = e;
      e->next = NULL;
      return;
    }
}

void running_open(Running *b, const char *text, bool narrow, Way way, const char *only) {
  memset(b, 0, sizeof *b);
  b->options = (Options){.command = COMMAND_RUN, .program = "gradc", .real = narrow ? KIND_F32 : KIND_F64};
  b->options.codegen.opt_level = way == OPTIMISED || way == NATIVE_O2 ? 2 : 0;
  b->options.evaluate = way == REFERENCE || way == OPTIMISED;
  b->options.passes = way == REFERENCE ? "derive" : NULL;
  session_begin(&b->session, &b->arena, &b->options);
  const Source *source = source_from_text(&b->arena, "fuzz.ad", text, strlen(text));
  const char *const *none = NEW_ARRAY(&b->arena, const char *, 1);
  const char **dirs = NEW_ARRAY(&b->arena, const char *, 2);
  dirs[0] = b->session.paths.library;
  const ElabOptions elab = {.real = b->options.real, .include_dirs = dirs, .library_dir = dirs[0], .grad = none};
  b->module = elaborate(&b->arena, &b->session.diag, source, &elab, NULL, NULL);
  if (b->session.diag.nerrors)
    return;
  b->module->find_kernel = kernel_find;
  if (only)
    keep_only(b->module, only);
  b->good = kernels_check(b->module) && callable_prepare(&b->callable, &b->session, b->module);
}

void running_close(Running *b) {
  callable_free(&b->callable);
  arena_free(&b->arena);
}

const Export *running_export(const Running *b, const char *symbol) {
  for (const Export *e = b->module->exports; e; e = e->next)
    if (!strcmp(e->symbol, symbol))
      return e;
  return NULL;
}

void running_call(Running *b, Arena *arena, const char *symbol, Arrays args, Answer *out) {
  const Export *e = running_export(b, symbol);
  *out = (Answer){.status = EVAL_UNABLE};
  if (!e)
    return;
  out->results = (Arrays){e->func->nresults, NEW_ARRAY(arena, Array, e->func->nresults)};
  if (e->func->body->nparams != args.n) {
    internal_error("'%s' has %d parameters, not %d", symbol, e->func->body->nparams, args.n);
  }
  out->status = callable_call(&b->callable, arena, e, args.at, out->results.at, out->message, sizeof out->message);
}
