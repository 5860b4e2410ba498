/* The adjoint: reverse-mode differentiation of one function.
   Naming: the adjoint of x is x_bar.

   The method.  The function that is being made first holds a copy of the primal; then its operations are walked
   backwards, one rule an operation, and each adds its contribution to the bars of its operands.  A region below (the
   body of a loop, a branch) is reversed by a new region that executes the primal's body again and then walks that
   backwards (re-executing form): nothing of a parallel iteration is ever taped.  A loop with carries is run downwards
   from states that the primal loop recorded at the entry of each iteration.

   Where bars live.  Regions under construction form a stack of Frames.  The bar of a value is
     - in the frame of the region that defines the value: an SSA value, replaced at each contribution;
     - for a scalar of a region further out: summed in this frame first, then handed out as a `sum` of the loop;
     - for a tensor of a region further out: an accumulator, declared by the outermost reverse loop that does not
   contain the tensor, its initial value the bar so far, and added to directly from however deep.
   Where nothing but branches that thread bars is between a tensor and the place that adds to its bar, the bar so far is
   an SSA value of the branch, and what the branch makes of it is a result of the reverse `if`. */
#ifndef GRADC_PASSES_ADJOINT_H
#define GRADC_PASSES_ADJOINT_H
#include "passes/activity.h"

typedef struct Frame Frame;
struct Frame {
  Frame *parent;
  Region *region;
  Op *loop;              /* whose body `region` is; NULL for a function's body and for branches */
  bool threads;          /* a branch that hands the bars of tensors on as results of its `if` */
  ValueMap bars;         /* value -> its bar so far */
  ValueMap handles;      /* outer tensor -> accumulator of `loop` */
  ValueMap threaded;     /* outer tensors whose bars are in `bars` */
  VEC(Value *) captured; /* outer scalars, and tensors that the branch threads, that have a bar here */
  VEC(Value *) handled;  /* keys of `handles` */
};

typedef struct Adjoint {
  Module *module;
  Func *func;
  Builder b;
  Activity activity;
  ValueMap
      ghosts; /* handle of a primal accumulator in re-executed code -> the bar of its loop's result (or itself: none) */
  ValueMap tapes;    /* recorded states of a carry -> this iteration's state */
  ValueMap reads;    /* an element read of a ghost -> the recorded element that stands for it */
  ValueMap segments; /* indices of loops over the segments of a checkpoint: they keep states, whatever that takes */
  ValueMap replaced; /* results of loops that other operations have taken the place of -> those of these */
  VEC(Op *) removed; /* the loops */
} Adjoint;

/* Fills f, which derives its base by DERIVE_GRAD, VALUE_AND_GRAD or VJP. */
void adjoint_make(Func *f);

/* ---- adjoint.c, for adjoint_flow.c */
Value *bar_get(const Frame *f, const Value *v); /* NULL: zero */
void bar_add(Adjoint *a, Frame *f, Value *v, Value *contribution);
/* The bar of v, in whose frame f the bar so far is contained in it. */
void bar_replace(Adjoint *a, Frame *f, Value *v, Value *bar);
/* Contribution to x[idx..]; `checks` as build_index. */
void bar_add_at(Adjoint *a, Frame *f, Value *x, int n, Value *const *idx, uint64_t checks, Value *contribution);
/* Walks the operations of f's region from `last` back to `first` (NULL: none). */
void adjoint_walk(Adjoint *a, Frame *f, Op *first, Op *last);
/* Opens the frame of a reverse loop; copies into it the body of a primal region, marks the copies' activity. */
void frame_open(Adjoint *a, Frame *f, Frame *parent, Op *loop);
void frame_copy(Adjoint *a, Frame *f, const Region *body, ValueMap *map);
/* Re-executed code neither adds to the primal's accumulators nor tests its requirements again. */
void adjoint_drop_effects(Adjoint *a, Region *r);
/* Ends a reverse loop, whose carries are given: yields the bars of captured scalars, hands all bars to the parent. */
void frame_close(Adjoint *a, Frame *f, Value *const *carries);

/* ---- adjoint_state.c: tensors that a loop changes element by element */
typedef struct ReadSite ReadSite;
typedef struct ReadHook {
  Adjoint *a;
  const ReadSite *sites;
  Value *i; /* the iteration */
} ReadHook;
/* True if the elements that iterations read of carry j suffice; then they are recorded, and their places added to
 * *sites. */
bool state_by_elements(Adjoint *a, Op *loop, int j, ReadSite **sites);
/* A CopyHook: reads of ghosts take what was recorded. */
bool state_read_hook(Builder *b, const Op *op, ValueMap *map, void *arg);

/* ---- adjoint_binomial.c: loops with checkpoint(k) */
bool binomial_fits(const Op *op);
void adjoint_binomial(Adjoint *a, Frame *f, Op *op);

/* ---- adjoint_flow.c: the rules of operations with regions */
void adjoint_loop(Adjoint *a, Frame *f, Op *op);
void adjoint_if(Adjoint *a, Frame *f, const Op *op);
void adjoint_while(Adjoint *a, Frame *f, const Op *op);
void adjoint_call(Adjoint *a, Frame *f, const Op *op);
#endif
