/* Branches on one condition share what they compute; see branch.c. */
#ifndef GRADC_PASSES_BRANCH_H
#define GRADC_PASSES_BRANCH_H
#include "ir/build.h"

/* The branches that have been made while a function is copied. */
typedef struct Branches Branches;
Branches *branches_new(Arena *arena);
/* `branch` has just been made, at the end of the builder's region.  What stands for its results is put in `results`:
   those of an earlier branch where that yields the same. */
void branch_join(Branches *all, const Builder *b, Op *branch, Value **results);
#endif
