/* Slicing: what a few elements of a result are computed from, and which elements of the arguments that reads.

   A slice is the code of one element of a value (or of some of its axes) made again on demand, in a region of its own:
   scalars are copied with what they depend on; an element of a tensor that a loop stacks is the loop's body at that
   iteration; an element of a tensor that a loop in order fills place by place is the body at the iteration that writes
   it.  What does not depend on the arguments of interest is not sliced but captured, as a parameter.

   Each read of an argument of interest is a site.  A slice is made twice, by the same steps, so that the sites
   correspond:
     SLICE_LOCAL   the block function, whose parameters are what the sites read: the index of a loop around a site
                   becomes a leading axis of the parameter.  Its derivatives are dense and small.
     SLICE_GATHER  the function that is asked before: each site gives the value of that parameter and the columns
                   (places in the argument, row-major) that it was read from; -1 where it was not read.
   Sites of the two branches of an `if` share parameters, as only one is read.

   Env: an instance of a source region.  Place: a region under construction.  A value is computed in the place of the
   env that it belongs to, once, even where it is asked for from further in; but what is made of plain operations at the
   top of the source is computed in the branch that asks for it, so that a boundary's values are read at the boundary.
 */
#ifndef GRADC_PASSES_SLICE_H
#define GRADC_PASSES_SLICE_H
#include "passes/activity.h"

typedef enum PlaceKind { PLACE_ROOT, PLACE_LOOP, PLACE_BRANCH, PLACE_WHILE } PlaceKind;

typedef struct Place Place;
typedef VEC(const Size *) Counts;
typedef struct Site {
  int wrt;          /* which parameter of the source function is read */
  int nidx;         /* leading axes that are indexed; the rest is read whole */
  const Place *at;  /* where it was met last, */
  const Size **idx; /* the indices there, and */
  Counts counts;    /* what has to be above 0 for it to be read at all */
  int nloops;       /* leading axes of `type` that are loops around the site */
  Value **indices;  /* their indices */
  Type type;        /* of the parameter: extents of the loops, then the axes that are read */
  Value *param;     /* SLICE_LOCAL */
  Value *read;      /* what stands for the element, and */
  Value *column;    /* SLICE_GATHER: its first column */
  bool is_conditional;
  Range loc;
} Site;

/* A site's value and columns as they are seen in one place. */
typedef struct Record {
  Site *site;
  Value *value, *column;
} Record;

struct Place {
  PlaceKind kind;
  Place *outer;
  Region *region;
  Op *op; /* the operation in outer's region that `region` is part of */
  VEC(Record) records;
  ValueMap own;       /* of a branch: values of the source's body that only it needs */
  const Place *rival; /* the finished branch beside this one: its sites may be shared */
};

typedef struct Env Env;

/* A loop around sites that goes as far as the place in the result says, or data: a size of SLICE_LOCAL's own, what it
   is in SLICE_GATHER. */
typedef struct DataRange {
  Op *loop;
  int axis;
  const Size *size, *extent; /* extent: as it stands there, perhaps below 0 */
} DataRange;

typedef enum SliceMode { SLICE_LOCAL, SLICE_GATHER } SliceMode;
typedef struct Slice {
  Module *module;
  SliceMode mode;
  Func *source, *func; /* what is sliced, inlined and simplified; what is made */
  const bool *wrt;
  const Activity *activity; /* of the source */
  Builder b;
  Env *root;
  Place *place;
  VEC(Site *) sites;
  int nranges; /* sizes of `func` after the source's, for as many */
  VEC(DataRange) ranges;
  VEC(Value *) captured; /* values of the source's body, and */
  VEC(Value *) params;   /* the parameters of `func` that they became */
  ValueMap outside;      /* from the ones to the others */
  Value **arguments;     /* SLICE_GATHER: the parameters of `func` that are those of wrt */
  long budget;
  bool failed; /* what has been built is of no use */
} Slice;

/* Begins to slice `source` into `func`, which has no parameters yet: it is given the source's sizes, and `nranges`
 * more.
 */
void slice_begin(Slice *s, Func *source, Func *func, const bool *wrt, const Activity *activity, SliceMode mode,
                 int nranges);
/* The values, made in the root place or further in. */
Value *slice_value(Slice *s, Value *v, Env *e);
/* v[idx..]; `checks` as build_index; `active`: a derivative flows through this read. */
Value *slice_element(Slice *s, Value *v, Env *e, int n, Value *const *idx, uint64_t checks, bool active);
/* A size, an extent, a type with what it depends on. */
const Size *slice_size(Slice *s, const Size *size, Env *e);
/* An instance of a region in the current place, inside `outer`; values are bound to it before it is used. */
Env *slice_instance(Slice *s, const Region *r, Env *outer);
void slice_bind(Env *e, const Value *from, Value *to);
/* The parameter stands for a value of another env. */
void slice_alias(Slice *s, Env *e, const Value *param, Value *v, Env *of);
/* There is no slice: the derivatives are made another way. */
void slice_fail(Slice *s);
Value *slice_nothing(Slice *s, Type t);
/* True if all values in a size are size parameters of f. */
bool size_is_of_params(const Size *size, const Func *f);
/* An `if` of the slice: begin is in the first branch. */
Op *slice_if(Slice *s, Value *cond);
void slice_else(Slice *s, Op *op);
Value *slice_endif(Slice *s, Op *op, Value *yes, Value *no);
#endif
