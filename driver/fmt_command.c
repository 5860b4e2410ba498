/* gradc fmt: canonical layout, to standard output or, with -w, in place. */
#define _XOPEN_SOURCE 700
#include "driver/driver.h"
#include "frontend/fmt.h"
#include "ir/output.h"
#include <stdlib.h>
#include <string.h>

static bool format_file(Session *s, const char *path) {
  const Source *source = source_read(s->arena, &s->diag, path);
  if (!source)
    return false;
  char *text = NULL;
  size_t n = 0;
  FILE *out = open_memstream(&text, &n);
  if (!out)
    return false;
  bool good = fmt_source(s->arena, &s->diag, source, out) == 0;
  good = !fclose(out) && good;
  const bool in_place = s->options->fmt_write && strcmp(path, "-") != 0;
  /* A file that is right already keeps its time of change. */
  if (good && !(in_place && n == source->n && !memcmp(text, source->text, n)))
    good = output_write(&s->diag, in_place ? path : NULL, text, n);
  free(text);
  return good;
}

int command_fmt(Arena *arena, const Options *o) {
  int status = EXIT_DONE;
  for (int i = 0; i < o->operands.n; i++) {
    Session s;
    session_begin(&s, arena, o);
    if (!format_file(&s, o->operands.at[i]))
      status = EXIT_INPUT;
    if (session_end(&s))
      status = EXIT_INPUT;
  }
  return status;
}
