/* Vector code across the iterations of a parallel loop.
   A loop L that is chosen runs its last index in steps of `lanes`: a value that differs between iterations (varying) is
   a vector with one element a lane, what is the same for all (uniform) stays a scalar, loops inside L stay as they are.
   What is left over runs the scalar code.  Branches on a varying condition run both sides under a mask, each only where
   some lane is live.

   Tensors, seen from L's body:
     UNIFORM  made outside of L: one tensor for all lanes
     LANES    made in the body: element e of lane l lies at e * lanes + l
     STRIDED  each lane has its part of one tensor outside, `lane_stride` elements apart: a row x[i], a slot of a stack
   Accumulators of L that all lanes add to at one place get a panel: a vector for each element, summed when L is over.
 */
#ifndef GRADC_CODEGEN_VECTOR_H
#define GRADC_CODEGEN_VECTOR_H
#include "codegen/workspace.h"

enum { STEP_UNKNOWN = INT32_MIN }; /* ValueNote.step: what an index grows by from lane to lane */

typedef struct Panel {
  const Value *handle;
  Place *place;         /* NULL: a scalar accumulator */
  LLVMValueRef address; /* while its loop's code is made */
} Panel;

/* A tensor that is made by an update for each of its elements, which is stored at the last of them. */
struct WrittenOut {
  int n;
  const Value **at; /* by element */
  const Op *last;
};

struct VectorLoop {
  const Op *loop;
  int lanes;
  VEC(Panel) panels;
  bool again;    /* an iteration can be done twice */
  bool overlaps; /* the last vector begins early enough to be whole, and adds nothing for lanes that were done before;
                    else what is left over runs in scalars.  For loops that run often, which may be short */
  /* A loop that writes where it reads, each iteration its own element: what the last vector reads there is loaded
     before the first is stored. */
  VEC(const Op *) early;
  Place *product; /* room for a product of matrices by blocks; NULL: it is none: codegen/lower_product.c */
  /* while its code is made */
  bool no_panels;           /* in the form for accumulators that are too large */
  LLVMValueRef first;       /* the index of lane 0 */
  LLVMValueRef mask;        /* lanes that are live; NULL: all */
  LLVMValueRef fresh;       /* lanes that have not been done before; NULL: all */
  LLVMValueRef *early_code; /* by early */
  LLVMValueRef is_last;     /* the vector is one that begins early; NULL: none does */
  bool watches;             /* an iteration with loose products is being written, and */
  LLVMValueRef zero;        /* where a sum is that is NaN where what it stores is not finite */
};

/* Chooses loops; between storage_analyse and workspace_plan.  bits: the width of the processor's vectors. */
void vector_plan(FuncStorage *f, int bits);
/* Marks what varies in a loop that is to run in vectors inside another that is not; false: it cannot. */
bool vector_plan_along(FuncStorage *f, const Op *inner, int lanes);
/* Notes on the updates from this one on that they write a tensor out, if they do. */
void vector_find_written_out(Module *m, const Op *first);
bool vector_is_varying(const Value *v);
/* ---- find_product.c */
/* Room for the copies that a product of matrices makes, if it is one and not known to be small. */
void product_plan(FuncStorage *f, VectorLoop *v, int bits);
int product_lanes(int bits, int each); /* in the processor's vectors, for numbers of so many bytes */
/* ---- vector_panel.c */
Panel *vector_panel(const VectorLoop *v, const Value *handle); /* NULL: none */
int panel_lanes(const VectorLoop *v);
/* Whether a panel for the accumulator is worth its room, and gives it one. */
bool panel_pays(const FuncStorage *f, const Op *loop, const Value *handle);
void panel_add(FuncStorage *f, VectorLoop *v, const Value *handle);
#endif
