/* Small loops taken apart: what unroll.c chooses and unroll_copy.c makes. */
#ifndef GRADC_PASSES_UNROLL_H
#define GRADC_PASSES_UNROLL_H
#include "passes/branch.h"

enum { UNROLL_PARTS = 64 /* elements of a tensor that is known by them */ };

/* A tensor that is known by its elements, in row-major order.  Never changed: what an update makes is another. */
typedef struct Parts {
  Type type;
  int n;
  Value **at;
  Value *whole; /* the tensor itself, where it has been made; see it is in sight before it is used */
} Parts;

/* While a loop is copied.  Value.note of the old values: their Parts, or NULL. */
typedef struct Unroll {
  Builder *b;
  ValueMap *map;        /* of what is not in parts */
  VEC(Value *) handles; /* accumulators that are in parts, of the old code */
  Branches *branches;
} Unroll;

extern char unroll_mark; /* Op.note: a small loop that is taken apart; or the loop around it that is chosen */
/* The number of elements; 0 where it is not a constant, or more than UNROLL_PARTS. */
int unroll_count(Type t);
/* Copies the chosen loop, with all marked loops inside taken apart. */
void unroll_loop(Builder *b, const Op *loop, ValueMap *map);
#endif
