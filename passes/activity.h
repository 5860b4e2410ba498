/* Activity: which values a derivative must flow through.
   A float value is varied if it depends differentiably on one of the `wrt` values, useful if one of the results depends
   differentiably on it, active if both.  Only active values get an adjoint; only varied ones a tangent.
   An active value is steep if its bar may be infinite though every value is finite: it leads to the operand of sqrt, or
   another function with an infinite slope somewhere, by operations that keep an infinite bar infinite.
   The flags are kept beside the values, by uid: passes that copy code carry them over with activity_copied(). */
#ifndef GRADC_PASSES_ACTIVITY_H
#define GRADC_PASSES_ACTIVITY_H
#include "ir/build.h"

typedef struct Activity {
  Arena *arena;
  unsigned base, cap; /* flags of the values with base <= uid < base + cap */
  unsigned char *flags;
} Activity;

/* Analyses a function's body; wrt: per parameter; results: which of the yields count (NULL: all float ones). */
Activity activity_of(Func *f, const bool *wrt, const bool *results);
bool value_is_active(const Activity *a, const Value *v);
bool value_is_steep(const Activity *a, const Value *v);
void activity_mark(Activity *a, const Value *v, const Value *like);
/* Every value that the map took to a copy gets the flags of its original. */
void activity_copied(Activity *a, const ValueMap *map);
#endif
