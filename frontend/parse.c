/* Entry points of the syntax half: reading a file, and running scanner and parser over it; see parse.h. */
#include "frontend/parse.h"
#include "frontend/parse_state.h"
#include "frontend/scanner.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static Source *cannot_read(Diag *diag, const char *path, const char *why) {
  diag_error(diag, (Range){0}, "cannot read '%s': %s", path, why);
  return NULL;
}

Source *source_from_text(Arena *arena, const char *name, const char *text, size_t n) {
  Source *source = NEW(arena, Source);
  *source = (Source){name, text, n};
  return source;
}

/* The size of a stream is not known before its end, so the text is read in pieces that double. */
static char *read_all(FILE *in, size_t *n) {
  size_t room = 1 << 16, have = 0;
  char *text = malloc(room + 1);
  while (text) {
    have += fread(text + have, 1, room - have, in);
    if (have < room || have > SOURCE_MAX_BYTES)
      break;
    room *= 2;
    char *grown = realloc(text, room + 1);
    if (!grown)
      free(text);
    text = grown;
  }
  *n = have;
  return text;
}

Source *source_read(Arena *arena, Diag *diag, const char *path) {
  bool is_stdin = !strcmp(path, "-");
  FILE *in = is_stdin ? stdin : fopen(path, "rb");
  if (!in)
    return cannot_read(diag, path, strerror(errno));
  size_t n;
  errno = 0;
  char *text = read_all(in, &n);
  const char *why = !text                  ? "out of memory"
                    : ferror(in)           ? strerror(errno) /* a directory opens, but does not read */
                    : n > SOURCE_MAX_BYTES ? "it is larger than 256 MiB"
                                           : NULL;
  if (!is_stdin)
    fclose(in);
  Source *source = why ? cannot_read(diag, path, why)
                       : source_from_text(arena, is_stdin ? "<stdin>" : arena_strndup(arena, path, strlen(path)),
                                          arena_strndup(arena, text, n), n);
  free(text);
  return source;
}

Program *parse_file(Arena *arena, Diag *diag, const Source *source) {
  Program *program = NEW(arena, Program);
  program->source = source;
  ParseState *s = NEW(arena, ParseState);
  s->arena = arena;
  s->diag = diag;
  s->source = source;
  s->program = program;
  s->line = s->col = 1;
  if (source->n > SOURCE_MAX_BYTES) {
    cannot_read(diag, source->name, "it is larger than 256 MiB");
    return program;
  }
  if (scanner_lex_init_extra(s, &s->scanner) != 0) {
    cannot_read(diag, source->name, "out of memory");
    return program;
  }
  scanner__scan_bytes(source->text, (int)source->n, s->scanner);
  int errors_before = diag->nerrors;
  if (ad_parse(s) != 0 && diag->nerrors == errors_before) /* it has been said in other words before */
    diag_error(diag, (Range){source, s->line, s->col, s->line, s->col}, "this file cannot be parsed");
  scanner_lex_destroy(s->scanner);
  return program;
}
