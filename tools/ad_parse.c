/* Test tool: what the parser makes of .ad text.
     ad_parse [-q] FILE..       the syntax trees of the files, or the diagnostics; -q: only diagnostics
     ad_parse --cases FILE      a file of cases, printed again with the answers that the parser gives now:
                                  == title
                                  program
                                  --
                                  its tree, or its diagnostics
                                A test compares this with the file itself.
     ad_parse --layout FILE     a file of cases, with the programs' layouts as answers; a program whose layout is not
                                laid out the same, or has another tree, is answered with what is wrong
   Exit status 1 if there was an error in any file; a file of cases has none, whatever its programs hold. */
#include "frontend/fmt.h"
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

/* What `write` puts out, as a text. */
typedef void Writer(Arena *arena, Diag *diag, const Source *source, FILE *out);
static const Source *written(Arena *arena, Diag *diag, const Source *source, Writer *write) {
  FILE *out = tmpfile();
  if (!out)
    return source_from_text(arena, "nothing", "", 0);
  write(arena, diag, source, out);
  size_t n = (size_t)ftell(out);
  char *text = arena_alloc(arena, n + 1);
  if (fseek(out, 0, SEEK_SET) == 0)
    n = fread(text, 1, n, out);
  fclose(out);
  return source_from_text(arena, "layout", text, n);
}

static void write_layout(Arena *arena, Diag *diag, const Source *source, FILE *out) {
  fmt_source(arena, diag, source, out);
}
static void write_tree(Arena *arena, Diag *diag, const Source *source, FILE *out) {
  ast_print(parse_file(arena, diag, source), out);
}

static bool is_same(const Source *a, const Source *b) {
  return a->n == b->n && !memcmp(a->text, b->text, a->n);
}

static void print_layout(Arena *arena, Diag *diag, const Source *source) {
  const Source *once = written(arena, diag, source, write_layout);
  if (diag->nerrors == 0) {
    fwrite(once->text, 1, once->n, stdout);
    const Source *twice = written(arena, diag, once, write_layout);
    if (!is_same(once, twice))
      printf("WRONG: laid out again it is\n%s", twice->text);
    if (!is_same(written(arena, diag, source, write_tree), written(arena, diag, once, write_tree)))
      puts("WRONG: its tree is another");
  }
  diag_flush(diag, stdout);
}

static void run_case(const char *program, size_t n, bool is_layout) {
  Arena arena = {0};
  Diag diag = {.arena = &arena};
  const Source *source = source_from_text(&arena, "case", arena_strndup(&arena, program, n), n);
  if (is_layout)
    print_layout(&arena, &diag, source);
  else
    print_parsed(&arena, &diag, source, false, stdout);
  arena_free(&arena);
}

static bool run_cases(const char *path, bool is_layout) {
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
    run_case(program, (size_t)(p - program), is_layout);
    putchar('\n');
    while (p < end && !is_title(p, end))
      p += line_length(p, end);
  }
  arena_free(&arena);
  return true;
}

int main(int argc, char **argv) {
  const char *mode = argc > 1 && argv[1][0] == '-' && argv[1][1] ? argv[1] : "";
  bool is_layout = !strcmp(mode, "--layout"), is_cases = is_layout || !strcmp(mode, "--cases");
  bool is_good = true;
  for (int i = *mode ? 2 : 1; i < argc; i++)
    is_good &= is_cases ? run_cases(argv[i], is_layout) : run_file(argv[i], !strcmp(mode, "-q"));
  return is_good ? 0 : 1;
}
