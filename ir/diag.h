/* Diagnostics: the one error path of the compiler.
   A message is reported through a Diag, then the reporter returns a poisoned node and goes on.  Rendering follows
   clang: model.ad:12:17: error: message let y = x[a..b];
                   ^~~~
         a slice is written a:b             (the mend, where there is one)
   Messages are kept, sorted by position and printed by diag_flush(); at most 20 errors are shown. */
#ifndef GRADC_IR_DIAG_H
#define GRADC_IR_DIAG_H
#include "ir/arena.h"
#include <stdbool.h>
#include <stdio.h>

typedef struct Source { /* one file's text, whole in memory */
  const char *name;     /* as it is shown in messages */
  const char *text;     /* NUL-terminated; n bytes before it */
  size_t n;
} Source;

/* A half-open stretch of source text: lines and columns (bytes) count from 1; `to` is one past the last byte.
   A Range with src == NULL has no place in any file (built-ins, made-up code). */
typedef struct Range {
  const Source *src;
  int line, col, to_line, to_col;
} Range;

typedef enum DiagLevel { DIAG_NOTE, DIAG_WARNING, DIAG_ERROR } DiagLevel;
typedef struct DiagMessage DiagMessage;

typedef struct Diag {
  Arena *arena;
  DiagMessage *first, *last;
  int nerrors, nwarnings;
  bool werror;            /* warnings count as errors */
  const char *const *off; /* names of warnings turned off by -Wno-NAME; NULL-terminated, or NULL */
} Diag;

enum { DIAG_MAX_ERRORS = 20 };

/* Each returns the message so that notes and a mend can be added to it.  A second error at the same place with the
   same text is dropped (the returned message is then not shown). */
DiagMessage *diag_error(Diag *d, Range at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* `name`: what -Wno-NAME turns off. */
DiagMessage *diag_warn(Diag *d, const char *name, Range at, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void diag_note(Diag *d, DiagMessage *m, Range at, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* The mend, shown below the underline: "write ..." */
void diag_mend(Diag *d, DiagMessage *m, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Prints what has been reported since the last flush and forgets it; the counts stay. */
void diag_flush(Diag *d, FILE *out);
Range range_join(Range a, Range b); /* from the start of a to the end of b */
#endif
