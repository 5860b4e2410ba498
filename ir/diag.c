/* Diagnostics: collecting, ordering and rendering of messages; see diag.h.
   Messages are kept in the order of reporting; diag_flush() orders them.  Counts may grow without bound, storage may
   not: past KEPT_MAX errors or warnings a message is counted and otherwise dropped, and KEPT_MAX is far beyond what is
   ever shown. */
#include "ir/diag.h"
#include "ir/utf8.h"
#include <stdlib.h>
#include <string.h>

enum { KEPT_MAX = 1000, WINDOW_WIDTH = 160, WINDOW_BEFORE = 70 };

struct DiagMessage {
  DiagLevel level;
  Range at;
  const char *text;
  const char *name; /* of the warning, or NULL */
  const char *mend; /* or NULL */
  bool dropped;     /* in no list: notes and mends are ignored */
  int file_rank;    /* set by diag_flush(): files in order of their first message */
  int sequence;
  DiagMessage *first_note, *last_note;
  DiagMessage *next;
};

/* What is shown must not drive a terminal: control bytes become '?'. */
static char *format_text(Arena *arena, const char *fmt, va_list ap) {
  char *text = arena_vprintf(arena, fmt, ap);
  for (char *p = text; *p; p++)
    if (((unsigned char)*p < 0x20 && *p != '\n') || *p == 0x7f)
      *p = '?';
  return text;
}

static DiagMessage *new_message(Diag *d, DiagLevel level, Range at, const char *text) {
  DiagMessage *m = NEW(d->arena, DiagMessage);
  m->level = level;
  m->at = at;
  m->text = text;
  return m;
}

static DiagMessage *dropped_message(Diag *d) {
  DiagMessage *m = NEW(d->arena, DiagMessage);
  m->dropped = true;
  return m;
}

static bool same_place(Range a, Range b) {
  return a.src == b.src && (!a.src || (a.line == b.line && a.col == b.col));
}

static bool already_reported(const Diag *d, Range at, const char *text) {
  for (const DiagMessage *m = d->first; m; m = m->next)
    if (same_place(m->at, at) && !strcmp(m->text, text))
      return true;
  return false;
}

static DiagMessage *keep(Diag *d, DiagMessage *m) {
  if (d->last)
    d->last->next = m;
  else
    d->first = m;
  d->last = m;
  return m;
}

DiagMessage *diag_error(Diag *d, Range at, const char *fmt, ...) {
  if (d->nerrors >= KEPT_MAX) {
    d->nerrors++;
    return dropped_message(d);
  }
  va_list ap;
  va_start(ap, fmt);
  const char *text = format_text(d->arena, fmt, ap);
  va_end(ap);
  if (already_reported(d, at, text))
    return dropped_message(d);
  d->nerrors++;
  return keep(d, new_message(d, DIAG_ERROR, at, text));
}

static bool is_off(const Diag *d, const char *name) {
  for (const char *const *off = d->off; off && *off; off++)
    if (!strcmp(*off, name))
      return true;
  return false;
}

DiagMessage *diag_warn(Diag *d, const char *name, Range at, const char *fmt, ...) {
  int *count = d->werror ? &d->nerrors : &d->nwarnings;
  if (is_off(d, name))
    return dropped_message(d);
  if (*count >= KEPT_MAX) {
    ++*count;
    return dropped_message(d);
  }
  va_list ap;
  va_start(ap, fmt);
  const char *text = format_text(d->arena, fmt, ap);
  va_end(ap);
  if (already_reported(d, at, text))
    return dropped_message(d);
  ++*count;
  DiagMessage *m = keep(d, new_message(d, d->werror ? DIAG_ERROR : DIAG_WARNING, at, text));
  m->name = name;
  return m;
}

void diag_note(Diag *d, DiagMessage *m, Range at, const char *fmt, ...) {
  if (m->dropped)
    return;
  va_list ap;
  va_start(ap, fmt);
  DiagMessage *note = new_message(d, DIAG_NOTE, at, format_text(d->arena, fmt, ap));
  va_end(ap);
  if (m->last_note)
    m->last_note->next = note;
  else
    m->first_note = note;
  m->last_note = note;
}

void diag_mend(Diag *d, DiagMessage *m, const char *fmt, ...) {
  if (m->dropped)
    return;
  va_list ap;
  va_start(ap, fmt);
  m->mend = format_text(d->arena, fmt, ap);
  va_end(ap);
}

/* ---- rendering ---- */

/* The text of one line, without its line end; false where the source has no such line. */
static bool find_line(const Source *src, int line, const char **start, size_t *n) {
  const char *p = src->text, *end = src->text + src->n;
  for (int i = 1; i < line; i++) {
    const char *newline = memchr(p, '\n', (size_t)(end - p));
    if (!newline)
      return false;
    p = newline + 1;
  }
  const char *newline = memchr(p, '\n', (size_t)(end - p));
  *start = p;
  *n = (size_t)((newline ? newline : end) - p);
  if (*n && p[*n - 1] == '\r')
    --*n;
  return true;
}

/* One character of the source line: its bytes, how it is shown, and how wide that is. */
typedef struct Glyph {
  size_t bytes;
  int width; /* -1: a tab, which the caret line repeats */
  char text[8];
} Glyph;

static Glyph glyph_at(const char *p, size_t n) {
  Glyph g = {1, 1, ""};
  size_t length = utf8_length(p, n);
  if (length == 2 && (unsigned char)p[0] == 0xc2 && (unsigned char)p[1] < 0xa0) /* a C1 control character */
    length = 0;
  if (*p == '\t') {
    g.width = -1;
    g.text[0] = '\t';
  } else if (length == 0 || (unsigned char)*p < 0x20 || *p == 0x7f) {
    g.width = snprintf(g.text, sizeof g.text, "<%02X>", (unsigned)(unsigned char)*p);
  } else {
    g.bytes = length;
    memcpy(g.text, p, length);
  }
  return g;
}

static void repeat(FILE *out, char c, int times) {
  for (int i = 0; i < times; i++)
    putc(c, out);
}

/* The marks below one glyph at byte offset `at` of the line; the underlined bytes are [from, to). */
static void print_mark(FILE *out, const Glyph *g, size_t at, size_t from, size_t to) {
  if (at >= to)
    return;
  if (at <= from && from < at + g->bytes) {
    putc('^', out);
    repeat(out, '~', g->width - 1);
  } else if (g->width < 0)
    putc('\t', out);
  else
    repeat(out, at < from ? ' ' : '~', g->width);
}

/* Space up to the caret, as the caret line has it. */
static void print_lead(FILE *out, const char *line, size_t start, size_t from, size_t end) {
  if (start)
    fputs("   ", out);
  for (size_t at = start; at < from && at < end;) {
    Glyph g = glyph_at(line + at, end - at);
    if (g.width < 0)
      putc('\t', out);
    else
      repeat(out, ' ', g.width);
    at += g.bytes;
  }
}

/* The source line and the underline; of a very long line the part around the caret. */
static void print_snippet(FILE *out, Range at, const char *mend) {
  const char *line;
  size_t n;
  if (!at.src || !at.src->text || at.line < 1 || at.col < 1 || !find_line(at.src, at.line, &line, &n)) {
    if (mend)
      fprintf(out, "  %s\n", mend);
    return;
  }
  size_t from = (size_t)at.col - 1, to = n;
  if (from > n)
    from = n;
  if (at.to_line <= at.line && at.to_col >= 1 && (size_t)at.to_col - 1 < n)
    to = (size_t)at.to_col - 1;
  while (at.to_line > at.line && to > from + 1 && (line[to - 1] == ' ' || line[to - 1] == '\t'))
    to--;
  if (to <= from)
    to = from + 1;

  size_t start = 0, end = n;
  if (n > WINDOW_WIDTH) {
    start = from > WINDOW_BEFORE ? from - WINDOW_BEFORE : 0;
    while (start > 0 && ((unsigned char)line[start] & 0xc0) == 0x80)
      start--;
    end = n - start > WINDOW_WIDTH ? start + WINDOW_WIDTH : n;
    while (end < n && ((unsigned char)line[end] & 0xc0) == 0x80)
      end++;
  }
  if (start)
    fputs("...", out);
  for (size_t i = start; i < end;) {
    Glyph g = glyph_at(line + i, end - i);
    fputs(g.text, out);
    i += g.bytes;
  }
  fputs(end < n ? "...\n" : "\n", out);
  print_lead(out, line, start, from, end);
  if (from >= end)
    putc('^', out);
  for (size_t i = from; i < end;) {
    Glyph g = glyph_at(line + i, end - i);
    print_mark(out, &g, i, from, to);
    i += g.bytes;
  }
  putc('\n', out);
  if (mend) {
    print_lead(out, line, start, from, end);
    fprintf(out, "%s\n", mend);
  }
}

static void print_message(FILE *out, const Diag *d, const DiagMessage *m) {
  static const char *const LEVEL[] = {"note", "warning", "error"};
  if (m->at.src)
    fprintf(out, "%s:%d:%d: %s: %s", m->at.src->name, m->at.line, m->at.col, LEVEL[m->level], m->text);
  else
    fprintf(out, "gradc: %s: %s", LEVEL[m->level], m->text);
  if (m->name)
    fprintf(out, " [%s-W%s]", d->werror ? "-Werror," : "", m->name);
  putc('\n', out);
  print_snippet(out, m->at, m->mend);
  for (const DiagMessage *note = m->first_note; note; note = note->next)
    print_message(out, d, note);
}

static int compare_messages(const void *pa, const void *pb) {
  const DiagMessage *a = *(DiagMessage *const *)pa, *b = *(DiagMessage *const *)pb;
  if (a->file_rank != b->file_rank)
    return a->file_rank < b->file_rank ? -1 : 1;
  if (a->at.src && a->at.line != b->at.line)
    return a->at.line < b->at.line ? -1 : 1;
  if (a->at.src && a->at.col != b->at.col)
    return a->at.col < b->at.col ? -1 : 1;
  return a->sequence < b->sequence ? -1 : 1;
}

/* Ranks are quadratic in the number of files at worst, and linear where messages of a file stand together. */
static void rank_files(DiagMessage **all, int n) {
  for (int i = 0, ranks = 0; i < n; i++) {
    int j = i - 1;
    while (j >= 0 && all[j]->at.src != all[i]->at.src)
      j--;
    all[i]->file_rank = j >= 0 ? all[j]->file_rank : ranks++;
    all[i]->sequence = i;
  }
}

void diag_flush(Diag *d, FILE *out) {
  int n = 0, nerrors = 0;
  for (DiagMessage *m = d->first; m; m = m->next) {
    n++;
    nerrors += m->level == DIAG_ERROR;
  }
  if (n) {
    DiagMessage **all = NEW_ARRAY(d->arena, DiagMessage *, n);
    int i = 0;
    for (DiagMessage *m = d->first; m; m = m->next)
      all[i++] = m;
    rank_files(all, n);
    qsort(all, (size_t)n, sizeof *all, compare_messages);
    /* Errors that earlier flushes have shown count towards the limit. */
    int shown = (d->nerrors < KEPT_MAX ? d->nerrors : KEPT_MAX) - nerrors;
    for (i = 0; i < n; i++) {
      if (all[i]->level == DIAG_ERROR && ++shown > DIAG_MAX_ERRORS) {
        fputs("too many errors\n", out);
        break;
      }
      print_message(out, d, all[i]);
    }
  }
  d->first = d->last = NULL;
  fflush(out);
}

Range range_join(Range a, Range b) {
  if (!a.src)
    return b;
  if (!b.src)
    return a;
  a.to_line = b.to_line;
  a.to_col = b.to_col;
  return a;
}
