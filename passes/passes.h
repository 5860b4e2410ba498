/* The passes over the IR, in the order of passes/passes.def. */
#ifndef GRADC_PASSES_PASSES_H
#define GRADC_PASSES_PASSES_H
#include "ir/ir.h"

typedef struct PassOptions {
  const char *after; /* stop after this pass; NULL: run all */
  const char *only;  /* "a,b": these, in this order, and no others; NULL: the pipeline */
  bool verify;       /* check the IR after each pass */
  bool time;         /* report to stderr what each took */
  bool threads;      /* parallel loops are to run on several */
  int opt_level;
} PassOptions;

/* Names that are no passes must have been refused before (pass_exists). */
void passes_run(Module *m, const PassOptions *options);
bool pass_exists(const char *name);
const char *pass_describe(int i, const char **name); /* the i-th pass of the pipeline; NULL after the last */
#endif
