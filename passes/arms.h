/* What both arms of a branch compute alike is computed before it; see arms.c. */
#ifndef GRADC_PASSES_ARMS_H
#define GRADC_PASSES_ARMS_H
#include "ir/build.h"

/* For a CopyHook, before a branch is copied: makes what its arms share at the builder's place.  The arms' copies then
   find it there, as the builder shares equal operations. */
void arms_hoist(Builder *b, const Op *branch, ValueMap *map);
#endif
