/* Runs the pipeline of passes.def: in order, verified after each, timed on request. */
#define _POSIX_C_SOURCE 200809L
#include "ir/verify.h"
#include "passes/passes_internal.h"
#include <string.h>
#include <time.h>

typedef struct Pass {
  const char *name, *what;
  int level; /* runs from this -O on */
  void (*run)(Module *m);
} Pass;

enum { WITH_THREADS = -1 }; /* for a level: at any, with --threads */

static const Pass passes[] = {
#define PASS(name, level, what) {#name, what, level, pass_##name},
#include "passes/passes.def"
#undef PASS
};
enum { NPASSES = sizeof passes / sizeof *passes };

static const Pass *find_pass(const char *name, size_t n) {
  for (int i = 0; i < NPASSES; i++)
    if (strlen(passes[i].name) == n && !memcmp(passes[i].name, name, n))
      return &passes[i];
  return NULL;
}

bool pass_exists(const char *name) {
  return find_pass(name, strlen(name)) != NULL;
}

const char *pass_describe(int i, const char **name) {
  if (i < 0 || i >= NPASSES)
    return NULL;
  *name = passes[i].name;
  return passes[i].what;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void run(Module *m, const Pass *p, const PassOptions *o) {
  const double start = now();
  p->run(m);
  if (o->time)
    fprintf(stderr, "  %-10s %8.2f ms\n", p->name, 1e3 * (now() - start));
  if (o->verify)
    verify_module(m, p->name);
}

void passes_run(Module *m, const PassOptions *o) {
  if (o->only) {
    for (const char *at = o->only; *at;) {
      const size_t n = strcspn(at, ",");
      const Pass *p = find_pass(at, n);
      if (!p)
        internal_error("no pass '%.*s'", (int)n, at);
      run(m, p, o);
      at += n + (at[n] == ',');
    }
    return;
  }
  for (int i = 0; i < NPASSES; i++) {
    /* Without optimisation the passes that only make code faster are left out. */
    if (passes[i].level == WITH_THREADS ? o->threads : o->opt_level >= passes[i].level)
      run(m, &passes[i], o);
    if (o->after && !strcmp(o->after, passes[i].name))
      return;
  }
}
