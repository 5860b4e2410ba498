/* What the files of pass `gather` share: see passes/gather.c. */
#ifndef GRADC_PASSES_GATHER_H
#define GRADC_PASSES_GATHER_H
#include "passes/passes_internal.h"

enum { MAX_PATH = 16, MAX_SLICE = 24 };

typedef struct Addition {
  Op *op; /* the only acc_add of the accumulator; NULL: none or several */
  bool several;
  int npath;
  Op *path[MAX_PATH]; /* from the declaring loop down to the loop that holds op; parallel loops only */
} Addition;

static inline Value *const *addition_indices(const Op *add) {
  return add->operands + 2;
}
static inline int addition_nindices(const Op *add) {
  return add->noperands - 2;
}

/* What a value is computed of within the declaring loop, where that is cheap. */
typedef struct Slice {
  const Op *ops[MAX_SLICE]; /* in no order */
  int n;
  const Region *top; /* the declaring loop's body: what is outside is there anyway */
} Slice;
bool slice_of(Slice *s, const Value *v); /* false: too much, or not cheap */
void copy_slice(Builder *b, const Slice *s, const Value *v, ValueMap *map);

typedef struct Nest {
  const Value *index[MAX_PATH]; /* of the path, outer before inner */
  const Size *extent[MAX_PATH];
  int depth[MAX_PATH];       /* of its loop in the path */
  bool kept[MAX_PATH];       /* an index of the addition; else summed over */
  int n, position[MAX_PATH]; /* position[axis]: which index it is */
} Nest;
/* Fills in what the path says; false where an extent is computed within. */
bool is_rectangular(const Addition *a, const Op *loop, Nest *nest);

/* The result of the accumulator becomes that of another operation; everybody who reads it reads that. */
void hand_over_result(Module *m, Op *loop, int acc, Op *to, int result);

/* ---- gather_first.c */
bool sum_first(Module *m, Func *f, Op *loop, int acc, const Addition *a);

/* ---- gather_sums.c */
/* Takes an addition out of the body of a parallel loop that does not declare its accumulator; false where it stays. */
bool sum_up(Module *m, Op *inner, Op *add);
/* All additions that can be, also of accumulators to which several places add. */
bool sum_up_all(Module *m, Func *f, Op *loop);

/* ---- gather_moved.c */
bool collect_moved(Module *m, Func *f, Op *loop);
#endif
