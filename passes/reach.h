/* Reach: which elements of the arguments an element of a value depends on, as a band.

   On each axis of an argument that is an interval whose ends are sizes over the element's own place, the indices of the
   loops around, and the function's sizes and integer arguments: of a stencil [r - 1, r + 1], after T steps of it
   [r - T, r + T], of a running sum [0, r].  A band holds all that is read, and perhaps more; what is not understood
   reaches a whole axis.

   The place of an element is written with the indices of a loop that is in no function, one for each shape: its frame.
   What a loop carries is an argument like any other while the loop's body is looked at, and is replaced by what it
   reaches at the entry of an iteration when the loop has been seen through: offsets add up over the steps. */
#ifndef GRADC_PASSES_REACH_H
#define GRADC_PASSES_REACH_H
#include "passes/activity.h"

/* Why an axis is reached whole, where that need not be so. */
typedef struct ReachCause {
  Range at;
  const char *why;
} ReachCause;

typedef struct Span {
  const Size *lo, *hi; /* NULL: from the first on; to the last.  They may lie beyond these. */
  bool wraps;          /* counted modulo the axis's size */
  const ReachCause *cause;
} Span;

typedef struct Reach Reach;
struct Reach {
  Reach *next;
  Value *source; /* an argument, or a carry of a loop around */
  Span *spans;   /* one an axis of it; of a loop's carry one more, the iteration */
};

/* A value of which products, or other functions that bend, are made: pairs of what it reaches have second derivatives.
 */
typedef struct ReachSite {
  Reach *reach; /* over the indices of the loops around */
} ReachSite;

typedef struct ReachAdd ReachAdd; /* an addition to an accumulator of a loop that is being looked at */
typedef struct Analysis {
  Module *module;
  Func *source;
  const bool *wrt;
  const Activity *activity;
  ValueTable reach; /* addresses of Reach */
  VEC(Op *) frames;
  VEC(ReachAdd *) adds;
  Range at; /* of the operation that is being looked at */
  bool wants_sites;
  VEC(ReachSite) sites;
} Analysis;

/* Looks at the whole body of `source`. */
Analysis reach_of_func(Func *source, const bool *wrt, const Activity *activity, bool wants_sites);
/* What an element of v reaches: itself, where it is an argument or a carry.  A value of the body itself reaches
   arguments alone, over its frame and the function's parameters. */
Reach *reach_read(Analysis *a, Value *v);
/* The place of an element of a type, on that axis. */
Value *reach_place(Analysis *a, Type t, int axis);

/* ---- what the files of the analysis share */
/* For each axis of `inner` what it is read at. */
Reach *reach_through(Analysis *a, const Reach *r, const Span *at, Type inner);
/* An index in all spans replaced by what it is at least and at most; NULL: as its loop says. */
Reach *reach_replace(Analysis *a, const Reach *r, Value *index, const Size *lo, const Size *hi);
Reach *reach_union(Analysis *a, const Reach *x, const Reach *y);
Reach *reach_renamed(Analysis *a, const Reach *r, Type from, int nfrom, Type to, int nto);
Span reach_all(const ReachCause *cause);
Span reach_clipped(Analysis *a, Span s, const Size *dim);
const ReachCause *reach_cause(Analysis *a, const char *why); /* here */
/* The bound with an index replaced, as above. */
const Size *bound_replace(Analysis *a, const Size *bound, Value *index, const Size *lo, const Size *hi, bool upper);
const Size *bound_union(Analysis *a, const Size *x, const Size *y, bool upper);
/* What an index is, where an axis of `dim` is read at it. */
Span reach_index(Analysis *a, Value *index, const Size *dim);
/* Takes off both ends of a span that wraps as many of the axis's sizes as it is seen to have too much. */
void span_bring_near(Module *m, Span *span, const Size *dim);
/* Over places and parameters alone; NULL: it cannot be. */
const Size *bound_known(Analysis *a, const Size *bound, bool upper);
/* Values that bounds may be made of: loop indices, places, integer parameters. */
bool value_is_symbol(const Value *v);
bool bound_is_of_params(const Analysis *a, const Size *s);

/* What a condition says of indices; or an equation. */
enum { MAX_LIMITS = 8 };
typedef struct Limits {
  int n;
  struct {
    Value *index;
    const Size *lo, *hi; /* NULL: none */
  } of[MAX_LIMITS];
} Limits;
void limits_of_condition(Analysis *a, Value *cond, bool holds, Limits *limits);
/* Of two alternatives. */
Reach *reach_either(Analysis *a, const Reach *x, const Limits *when_x, const Reach *y, const Limits *when_y);

void reach_region(Analysis *a, const Region *r);
void reach_set(Analysis *a, const Value *v, Reach *r);
void reach_loop(Analysis *a, Op *op);
void reach_while(Analysis *a, Op *op);
void reach_add(Analysis *a, Op *op);
#endif
