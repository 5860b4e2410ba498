/* Test tool: what the parser makes of .ad text.
     ad_parse [-q] FILE..       the syntax trees of the files, or the diagnostics; -q: only diagnostics
     ad_parse --cases FILE      a file of cases, printed again with the answers that the parser gives now:
                                  == title
                                  program
                                  --
                                  its tree, or its diagnostics
                                A test compares this with the file itself.
   Exit status 1 if there was an error in any file; a file of cases has none, whatever its programs hold. */
#include "frontend/parse.h"
#include <string.h>

/* Prints tree or diagnostics; true if there was no error. */
static bool print_parsed(Arena *arena, Diag *diag, const Source *source, bool is_quiet, FILE *errors) {
  const Program *program = source ? parse_file(arena, diag, source) : NULL;
  bool is_good = diag->nerrors == 0;
  if (is_good && !is_quiet)
    ast_print(program, stdout);
  diag_flush(diag, errors);
  return is_good;
}

static bool run_file(const char *path, bool is_quiet) {
  Arena arena = {0};
  Diag diag = {.arena = &arena};
  bool is_good = print_parsed(&arena, &diag, source_read(&arena, &diag, path), is_quiet, stderr);
  arena_free(&arena);
  return is_good;
}

/* ---- cases ---- */

/* The line at p, its newline included. */
static size_t line_length(const char *p, const char *end) {
  const char *newline = memchr(p, '\n', (size_t)(end - p));
  return (size_t)((newline ? newline + 1 : end) - p);
}

static bool is_title(const char *p, const char *end) {
  return end - p > 3 && !memcmp(p, "== ", 3);
}
static bool is_divider(const char *p, size_t n) {
  return n == 3 && !memcmp(p, "--\n", 3);
}

static void run_case(const char *program, size_t n) {
  Arena arena = {0};
  Diag diag = {.arena = &arena};
  const char *text = arena_strndup(&arena, program, n);
  print_parsed(&arena, &diag, source_from_text(&arena, "case", text, n), false, stdout);
  arena_free(&arena);
}

static bool run_cases(const char *path) {
  Arena arena = {0};
  Diag diag = {.arena = &arena};
  const Source *source = source_read(&arena, &diag, path);
  diag_flush(&diag, stderr);
  if (!source)
    return false;
  const char *p = source->text, *end = p + source->n;
  for (; p < end && !is_title(p, end); p += line_length(p, end)) /* what the file says of itself */
    fwrite(p, 1, line_length(p, end), stdout);
  while (p < end) {
    fwrite(p, 1, line_length(p, end), stdout);
    p += line_length(p, end);
    const char *program = p;
    while (p < end && !is_divider(p, line_length(p, end)))
      p += line_length(p, end);
    fwrite(program, 1, (size_t)(p - program), stdout);
    puts("--");
    run_case(program, (size_t)(p - program));
    putchar('\n');
    while (p < end && !is_title(p, end))
      p += line_length(p, end);
  }
  arena_free(&arena);
  return true;
}

int main(int argc, char **argv) {
  bool is_quiet = argc > 1 && !strcmp(argv[1], "-q"), is_cases = argc > 1 && !strcmp(argv[1], "--cases");
  bool is_good = true;
  for (int i = 1 + (is_quiet || is_cases); i < argc; i++)
    is_good &= is_cases ? run_cases(argv[i]) : run_file(argv[i], is_quiet);
  return is_good ? 0 : 1;
}
