/* What the passes share among themselves. */
#ifndef GRADC_PASSES_INTERNAL_H
#define GRADC_PASSES_INTERNAL_H
#include "ir/build.h"
#include "passes/activity.h"
#include "passes/passes.h"

#define PASS(name, level, what) void pass_##name(Module *m);
#include "passes/passes.def"
#undef PASS

/* Removes what is dead in one function. */
void func_dce(Func *f);
/* Rebuilds through the builder, then func_dce. */
void func_simplify(Func *f);
/* True if a call may end in a failed require or index out of range, and so must stay where its results are not wanted.
 */
bool func_may_fail(Func *f);
/* True for functions whose body is not there yet. */
static inline bool func_is_underived(const Func *f) {
  return f->derive.op != DERIVE_NONE;
}
/* Set apart by pass `apart`, and not cut yet: what it keeps serves many runs of the reverse sweep.  Asked after
   apart_note(), as long as no other pass writes to the notes of functions. */
void apart_note(Module *m);
bool func_is_apart(const Func *f);
/* An operation that costs more than a load: an exponential, a division, a loop. */
bool op_is_expensive(const Op *op);
long region_op_count(const Region *r);
/* Calls replaced by bodies where `inline` says so. */
void func_inline(Func *f);
/* In a hook of copying: the body of the function called, in place of the call. */
void build_body_of_call(Builder *b, const Op *call, ValueMap *map);
/* Gives f, and the functions that it derives, bodies. */
void derive_func(Func *f);
/* A hook of copying that rewrites what the derivatives have no rule for: products into carried products, extrema into
   shared ones, checkpointed loops into nests of two.  arg: a Prepare, which says by what the copied function is
   derived; the rest it fills itself. */
typedef struct Prepare {
  Func *base;
  const bool *wrt;
  bool known;
  Activity activity; /* of the base, where something asks for it */
  bool is_tangent;
  ValueMap *segments; /* receives the indices of the outer loops of nests for checkpoint; or NULL */
  enum { AGAIN_UNKNOWN, AGAIN_NO, AGAIN_YES } again; /* what is made of it is differentiated backward again */
} Prepare;
bool prepare_op(Builder *b, const Op *op, ValueMap *map, void *arg);
/* Fills f, which derives its base by a sparse DERIVE_JACOBIAN or DERIVE_HESSIAN, and sets its results' types. */
void sparse_make(Func *f);
/* Fills f, which derives its base by DERIVE_JVP. */
void tangent_make(Func *f);
#endif
