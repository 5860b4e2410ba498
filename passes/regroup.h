/* What regroup.c and regroup_through.c share: additions to the accumulators of a loop that may be done behind it. */
#ifndef GRADC_PASSES_REGROUP_H
#define GRADC_PASSES_REGROUP_H
#include "ir/build.h"

typedef struct Moved {
  Op *add;
  bool may_end; /* the call: not to be done where the loop over i has no iteration */
} Moved;

typedef struct Group { /* additions that are linear in one value */
  struct Group *next;
  Value *term, *sum; /* s; S, the result */
  VEC(Moved) adds;
} Group;

typedef struct Regroup {
  Module *module;
  Func *func;
  Op *loop; /* over i */
  Region *body;
  Group *groups;
  int ngroups;
  const Size *runs; /* 1, or 0 where the loop over i has no iteration; NULL: not known */
} Regroup;

/* s, made outside of the loop that the addition to an accumulator of the loop over i stands in; NULL: it cannot be done
   behind.  may_end, if not NULL: whether what is done there may end the call. */
Value *regroup_term(const Regroup *g, const Op *add, bool *may_end);
/* Whether it can be done behind, by the sum of s, beside which it stands. */
bool regroup_is_linear_in(const Regroup *g, const Op *add, const Value *term, bool *may_end);
/* Additions to tensors of an iteration that only go on into accumulators of the loop over i go there at once, where
   that makes additions that can be done behind. */
bool regroup_through(const Regroup *g);
#endif
