/* Lifting: an IR function made of code that uses values of the function around it.  Every such value becomes a further
   parameter, when a name that stands for it is first used: sizes after the function's own sizes, the rest at the end.
 */
#ifndef GRADC_FRONTEND_ELAB_LIFT_H
#define GRADC_FRONTEND_ELAB_LIFT_H
#include "frontend/elab.h"

typedef struct Capture {
  Value *from; /* in the function around */
  Value *to;   /* the parameter */
} Capture;
typedef struct Lift {
  struct Lift *outer; /* the function around is being lifted itself; or NULL */
  Func *func, *around;
  VEC(Capture) captures;
} Lift;

/* From here on, code goes into a new function; the caller restores the Place. */
Lift *lift_begin(Elab *e, const char *name, Range at);
/* What belongs to a function around, as this function sees it; what belongs to this one, unchanged. */
Value *lift_value(Elab *e, Value *v);
const Size *lift_size(Elab *e, const Size *s);
Type lift_type(Elab *e, Type t);
/* The other way, by one function: what a captured value, and a size beside it, are in the function around. False where
   v is not captured by this lift. */
bool lift_outward(Elab *e, const Lift *lift, Value **v, const Size **s);
Form *lift_form(Elab *e, Form *t);
const TypeForm *typeform_here(Elab *e, const TypeForm *t);
/* Adds a size after the sizes that there are, moving the other parameters. */
Value *func_add_size(Func *f, const char *name);
#endif
