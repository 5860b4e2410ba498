/* What the branches around a place say of integers there: sizes that are not negative.  Only what is made of indices of
   loops and of size parameters counts: other integers may have wrapped around. */
#ifndef GRADC_IR_KNOWN_H
#define GRADC_IR_KNOWN_H
#include "ir/size.h"

enum { MOST_KNOWN = 16 };

typedef struct Known {
  Module *module;
  const Size *fact[MOST_KNOWN]; /* each >= 0 */
  int n;
} Known;

/* Made of indices of loops and of size parameters alone. */
bool known_is_bounded(const Size *s);
/* What it says that the condition holds, or does not. */
void known_learn(Known *k, const Value *condition, bool holds);
/* 0 <= at < end can be shown. */
bool known_in_range(const Known *k, const Size *at, const Size *end);
#endif
