/* What passes/asked.c and asked_list.c share: loops whose rows are read at indices that are data, and the lists of the
   rows that are asked for. */
#ifndef GRADC_PASSES_ASKED_H
#define GRADC_PASSES_ASKED_H
#include "ir/build.h"

enum { MOST_ASKERS = 16 };

/* The rows that are asked for: each of them once, in the order in which they are asked for. */
typedef struct AskedList {
  Value *list, *rank; /* the rows; for each row its place in `list`, or -1 */
  const Size *count;  /* how many */
} AskedList;

/* A loop that makes stacks, and the rows of them that are read. */
typedef struct Asked {
  Op *loop;
  int number; /* of the loop: operations are numbered in the order of the program */
  bool unfit;
  VEC(Op *) reads;
  int naskers;
  Value *askers[MOST_ASKERS]; /* the different indices of their first axis */
} Asked;

/* Operations' notes are their numbers during the pass, values' the Asked of the loop that stacks them, or NULL. */
static inline int asked_number(const Op *op) {
  return (int)(intptr_t)op->note;
}

/* r is the region, or one around it: its values may be seen there. */
static inline bool region_is_around(const Region *r, const Region *inner) {
  while (inner && inner != r)
    inner = inner->owner ? inner->owner->parent : NULL;
  return inner == r;
}

/* Builds the list of all rows that the askers name, in front of the loop and out of as many loops as may be; false
   where what the rows depend on is not known there. */
bool asked_make_list(Asked *a, AskedList *list);
/* Where each direction of a Jacobian reads the rows of this loop to make its own of them: that for all directions at
   once. `budget`: how many operations may be looked at, by all calls together. */
void asked_turn(Op *rows, long *budget);
#endif
