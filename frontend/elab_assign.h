/* Assignment: what its files share. */
#ifndef GRADC_FRONTEND_ELAB_ASSIGN_H
#define GRADC_FRONTEND_ELAB_ASSIGN_H
#include "frontend/elab_loops.h"

typedef struct Change {
  Range at; /* of the statement */
  Range op_at;
  bool is_compound;
  BinaryOp op;
  const Form *value;  /* never a poison */
  const Binding *var; /* that is assigned as a whole, or NULL */
  Range value_at;
} Change;

/* base with the part that p denotes changed; poison after an error. */
Form *assign_part(Elab *e, const Change *c, const IndexPlan *p, const Form *base);
#endif
