/* Files that appear when complete: what is written goes to a temporary file beside the place, which takes its name by
   rename; after a failure nothing is there, and what was there before still is.
   Errors go to the Diag, with no place. */
#ifndef GRADC_IR_OUTPUT_H
#define GRADC_IR_OUTPUT_H
#include "ir/diag.h"

typedef struct Output {
  FILE *file;
  const char *path;      /* as it is shown in messages */
  const char *target;    /* what is renamed to: `path` with links resolved */
  const char *temporary; /* NULL: written in place, as standard output and devices are */
} Output;

/* path: NULL or "-" is standard output. */
bool output_open(Output *o, Diag *d, const char *path);
/* Closes and renames; false, and nothing is left, when not all could be written. */
bool output_commit(Output *o, Diag *d, bool executable);
void output_discard(Output *o);
/* All of it at once. */
bool output_write(Diag *d, const char *path, const void *bytes, size_t n);
#endif
