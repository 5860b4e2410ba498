/* What the files of pass `guard` share. */
#ifndef GRADC_PASSES_GUARD_H
#define GRADC_PASSES_GUARD_H
#include "passes/passes_internal.h"

/* Jumps over terms that are 0 of the sums that stand in the body of a parallel loop: passes/guard_terms.c. */
bool guard_terms(Op *outer);
/* Jumps over what a direction leaves 0 where it makes a tensor whose parts are listed. A bool for each of its rows,
   which is false where the row is 0; NULL where that is not known. */
Value *guard_still(const Value *tensor);
#endif
