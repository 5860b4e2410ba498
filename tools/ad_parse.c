/* Test tool: parses .ad files and prints their syntax trees, or the diagnostics.
     ad-parse [-q] FILE..     trees of the files; -q: only diagnostics
   Exit status 1 if there was an error in any file. */
#include "frontend/parse.h"
#include <string.h>

int main(int argc, char **argv) {
  bool is_quiet = argc > 1 && !strcmp(argv[1], "-q");
  int status = 0;
  for (int i = 1 + is_quiet; i < argc; i++) {
    Arena arena = {0};
    Diag diag = {.arena = &arena};
    const Source *source = source_read(&arena, &diag, argv[i]);
    const Program *program = source ? parse_file(&arena, &diag, source) : NULL;
    if (diag.nerrors)
      status = 1;
    else if (!is_quiet)
      ast_print(program, stdout);
    diag_flush(&diag, stderr);
    arena_free(&arena);
  }
  return status;
}
