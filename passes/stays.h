/* Elements of a tensor that a loop changes: those that it has at the end, or had at the beginning, as they are when
   they are read. */
#ifndef GRADC_PASSES_STAYS_H
#define GRADC_PASSES_STAYS_H
#include "passes/growth.h"

enum { MOST_VERSIONS = 64, MOST_PROOFS = 256 }; /* of what is looked through; in what has more, nothing is told */

/* What an iteration makes of a carried tensor, from what it yields back to the carry: versions, and the operations that
   change elements, `update` and `acc_add`.  Numbers grow backwards. */
typedef struct Changes {
  const Op *loop;
  int carry;
  bool known; /* nothing but these makes the one of the other */
  int nversions, nwrites, number;
  Value *versions[MOST_VERSIONS];
  Op *writes[MOST_VERSIONS];
  int version_number[MOST_VERSIONS], write_number[MOST_VERSIONS];
  int proofs; /* that are left */
} Changes;
Changes *changes_of(Module *m, const Op *loop, int carry);
bool changes_have(const Changes *c, const Value *version);

typedef enum Stays { STAYS_NOWHERE, STAYS_AT_END, STAYS_AT_START } Stays;

/* An element that is read. */
typedef struct Element {
  const Value *version; /* the carry, or what became of it */
  const Region *where;  /* in the iteration; or anywhere */
  const Size *step;     /* the iteration; NULL: the one that `where` is in */
  int n;
  const Size *const *indices;
  Growth count; /* of the elements that the place reads in an iteration */
} Element;
/* Where an element of a version is found again.  Nowhere, too, if keeping the tensor might cost more than recording. */
Stays element_stays(Module *m, Changes *c, const Element *e);
#endif
