/* ad-ir: parses and elaborates an .ad file, verifies the IR and prints it.  For tests of the front end.
     ad-ir [-I DIR].. [--library=DIR] [--real=f32] [--grad=F:W,..].. [--quiet] FILE
   Exits with 1 after errors in the program, 70 where the IR is malformed. */
#include "frontend/elaborate.h"
#include "ir/print.h"
#include "ir/verify.h"
#include <stdio.h>
#include <string.h>

typedef struct Options {
  VEC(const char *) include, grad;
  ElabOptions elab;
  const char *file;
  bool quiet;
} Options;

static const char *value_of(const char *arg, const char *name) {
  const size_t n = strlen(name);
  return strncmp(arg, name, n) ? NULL : arg + n;
}

static bool read_options(Arena *a, int argc, char **argv, Options *o) {
  const char *value;
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "-I") && i + 1 < argc)
      vec_push(a, o->include, argv[++i]);
    else if ((value = value_of(argv[i], "--library=")))
      o->elab.library_dir = value;
    else if ((value = value_of(argv[i], "--grad=")))
      vec_push(a, o->grad, value);
    else if (!strcmp(argv[i], "--real=f32"))
      o->elab.real = KIND_F32;
    else if (!strcmp(argv[i], "--quiet"))
      o->quiet = true;
    else if (argv[i][0] != '-' && !o->file)
      o->file = argv[i];
    else
      return false;
  }
  if (o->elab.library_dir)
    vec_push(a, o->include, o->elab.library_dir);
  vec_push(a, o->include, NULL);
  vec_push(a, o->grad, NULL);
  o->elab.include_dirs = o->include.at;
  o->elab.grad = o->grad.at;
  return o->file != NULL;
}

int main(int argc, char **argv) {
  Arena arena = {0};
  Diag diag = {.arena = &arena};
  Options options = {.elab = {.real = KIND_F64}};
  int status = 1;
  if (!read_options(&arena, argc, argv, &options)) {
    fputs("usage: ad-ir [-I DIR].. [--library=DIR] [--real=f32] [--grad=F:W,..].. [--quiet] FILE\n", stderr);
    return 2;
  }
  const Source *source = source_read(&arena, &diag, options.file);
  Module *m = source ? elaborate(&arena, &diag, source, &options.elab, NULL, NULL) : NULL;
  diag_flush(&diag, stderr);
  if (m && !diag.nerrors) {
    verify_module(m, "elaboration");
    if (!options.quiet)
      print_module(stdout, m);
    status = 0;
  }
  arena_free(&arena);
  return status;
}
