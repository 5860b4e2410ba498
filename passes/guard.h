/* What the files of pass `guard` share. */
#ifndef GRADC_PASSES_GUARD_H
#define GRADC_PASSES_GUARD_H
#include "passes/passes_internal.h"

/* Jumps over terms that are 0 of the sums that stand in the body of a parallel loop: passes/guard_terms.c. */
bool guard_terms(Op *outer);
#endif
