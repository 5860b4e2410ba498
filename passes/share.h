/* Equal reductions and branches are run once; see share.c. */
#ifndef GRADC_PASSES_SHARE_H
#define GRADC_PASSES_SHARE_H
#include "ir/build.h"

/* The loops and branches that have been met while a function is copied. */
typedef struct Share Share;
Share *share_new(Arena *arena);
/* For a CopyHook: true if an equal one stands before `op`, in its region or around it; its results are op's then. */
bool share_op(Share *s, Module *m, const Op *op, ValueMap *map);
#endif
