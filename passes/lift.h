/* What iterations of a loop compute alike is computed before it: what lift.c chooses and lift_copy.c makes. */
#ifndef GRADC_PASSES_LIFT_H
#define GRADC_PASSES_LIFT_H
#include "ir/build.h"

/* A value inside a loop or branch of the body that is stacked before the loop and read in it. */
typedef struct Kept {
  Value *value;
  Value *now; /* while the part before the loop is made: it, or a stack of it, in the region that is being made */
} Kept;

/* A loop whose iterations are independent, with what does not change in it. */
typedef struct Lift {
  Module *module;
  Op *loop;
  const Region *body;
  bool always_runs;   /* it has an iteration: what may end the call may be moved out of it */
  bool changed, gone; /* while it is looked at: something was marked; what follows may not be moved */
  bool worth;         /* something dear is moved */
  VEC(Kept *) kept;
  ValueMap before; /* of what is computed before it */
  struct Lift *next;
} Lift;

/* Value.note of the body's values. */
extern char lift_varies; /* differs between iterations, or cannot be moved; others do not, and are NULL, or */
extern char lift_made;   /* made in the loop as well, as that is cheap; or their Kept */
static inline bool lift_is_variant(const Lift *l, const Value *v) {
  return !value_is_outside(v, l->body) && v->note == &lift_varies;
}
static inline Kept *lift_kept(const Value *v) {
  return v->note == &lift_varies || v->note == &lift_made ? NULL : v->note;
}
bool lift_size_varies(const Lift *l, const Size *s);
/* An operation of the body without regions that is in the loop alone. */
bool lift_stays(const Op *op);

/* Copies the loop, with its part before it. */
void lift_loop(Builder *b, Lift *l, ValueMap *map);
/* Inside the copy of the loop: reads what is kept; true: the operation has been dealt with. */
bool lift_op(Builder *b, Lift *l, const Op *op, ValueMap *map);
#endif
