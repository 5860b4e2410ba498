/* Writes an object of the inlined mathematical functions, in loops over arrays, for the tests and measurements of them.
     math-emit [--target=T] [--cpu=C] [--features=F] [-O2] OBJECT
   -O2: LLVM's own vectoriser may widen the loops of the scalar functions. */
#include "codegen/math_library.h"
#include <string.h>

static const char *value_of(const char *arg, const char *name) {
  const size_t n = strlen(name);
  return strncmp(arg, name, n) ? NULL : arg + n;
}

int main(int argc, char **argv) {
  CodegenOptions o = {.opt_level = 1};
  const char *path = NULL;
  for (int i = 1; i < argc; i++) {
    const char *value;
    if ((value = value_of(argv[i], "--target=")))
      o.triple = value;
    else if ((value = value_of(argv[i], "--cpu=")))
      o.cpu = value;
    else if ((value = value_of(argv[i], "--features=")))
      o.features = value;
    else if (!strcmp(argv[i], "-O2"))
      o.opt_level = 2;
    else
      path = argv[i];
  }
  if (!path) {
    fputs("usage: math-emit [--target=T] [--cpu=C] [--features=F] [-O2] OBJECT\n", stderr);
    return 2;
  }
  Arena a = {0};
  Diag d = {.arena = &a};
  Module *m = module_new(&a, &d, "math");
  const bool good = codegen_math_library(m, &o, path);
  diag_flush(&d, stderr);
  arena_free(&a);
  return !good;
}
