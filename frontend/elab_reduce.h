/* Reductions: what their files share.  See elab_reduction.c. */
#ifndef GRADC_FRONTEND_ELAB_REDUCE_H
#define GRADC_FRONTEND_ELAB_REDUCE_H
#include "frontend/elab_loops.h"

typedef enum Reduction {
  REDUCE_SUM,
  REDUCE_PROD,
  REDUCE_MAX,
  REDUCE_MIN,
  REDUCE_MEAN,
  REDUCE_LOGSUMEXP,
  REDUCE_ARGMAX,
  REDUCE_ARGMIN,
  REDUCE_ANY,
  REDUCE_ALL,
  REDUCE_COUNT,
} Reduction;
extern const char *const reduction_name[REDUCE_COUNT + 1];

/* What a reduction gives over nothing, where its terms are of kind k. */
Value *reduction_identity(Elab *e, Reduction r, Kind k);
/* The same as each element of a tensor. */
Value *reduction_identities(Elab *e, Reduction r, Type t);

/* ---- elab_reduce_carry.c: a state from one iteration to the next, in order; element by element where terms are
 * tensors */
enum { MAX_STATE = MAX_RANK + 2 };
typedef struct Carrying {
  Reduction r;
  Type term;    /* the term's */
  int nindices; /* of the reduction; argmax gives them */
  int nstate;
  int at; /* position of its state among the carries of the nest */
} Carrying;
/* Adds the state to all loops of the nest (none of which has an accumulator) and computes the next one from the term.
 */
void carry_term(Elab *e, Nest *nest, Carrying *c, const Form *term, Value **current, Value **next);
/* The result, from the final state. */
Form *carry_result(Elab *e, Range at, const Carrying *c, Value *const *state);

/* ---- elab_reduce_argmax.c */
/* The indices (from..) of the largest or smallest of `terms`, over its first axes, which are those of the one loop of
   the nest; where `mask`, of the same axes, is not NULL, of those where it is true. */
Form *argmax_of_terms(Elab *e, Range at, Reduction r, const Nest *nest, const Form *terms, const Form *mask);
#endif
