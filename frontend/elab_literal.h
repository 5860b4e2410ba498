/* Tensors put together from several: array literals, stack, concat. */
#ifndef GRADC_FRONTEND_ELAB_LITERAL_H
#define GRADC_FRONTEND_ELAB_LITERAL_H
#include "frontend/elab.h"

/* One of n parts is chosen by the index of an axis: part i begins at starts[i]. */
typedef struct Choice Choice;
struct Choice {
  int n, axis;
  const Size **starts;
  Value *(*element)(Elab *e, const Choice *c, int which, Value *const *idx);
};
/* The element of that one of the parts [from, to) in which `at` lies, in a balanced tree of `if`s. */
Value *choose_element(Elab *e, const Choice *c, int from, int to, Value *at, Value *const *idx);
/* Items of one type along a new axis; an element of an item is read once. */
Form *form_stack(Elab *e, Range at, int n, const Form *const *items, int axis);
#endif
