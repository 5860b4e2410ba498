/* Sizes compared by how they grow, and how large they can be; see growth.c. */
#ifndef GRADC_PASSES_GROWTH_H
#define GRADC_PASSES_GROWTH_H
#include "ir/build.h"

typedef struct Growth {
  int degree;
  double factor;
} Growth;

Growth size_growth(Module *m, const Size *s);
Growth growth_times(Growth a, Growth b);
Growth growth_plus(Growth a, Growth b);
bool grows_more(Growth a, Growth b);

/* What is below a region replaced in a size: the largest that it is where a loop below the region, of whose extent it
   is a part, has iterations.  NULL where it is not known. */
const Size *size_bound(Module *m, const Size *s, const Region *below);
#endif
