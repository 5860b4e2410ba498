/* Activity: which values a derivative must flow through.
   A float value is varied if it depends differentiably on one of the `wrt` values, useful if one of the results depends
   differentiably on it, active if both.  Only active values get an adjoint; only varied ones a tangent.
   An active value is steep if its bar may be infinite though every value is finite: it leads to the operand of sqrt, or
   another function with an infinite slope somewhere, by operations that keep an infinite bar infinite.
   It is masked if its bar is exactly 0 somewhere by construction (masks.c).
   The flags are kept beside the values: passes that copy code carry them over with activity_copied(). */
#ifndef GRADC_PASSES_ACTIVITY_H
#define GRADC_PASSES_ACTIVITY_H
#include "ir/build.h"
#include "ir/value_table.h"

typedef struct Activity {
  ValueTable flags;
} Activity;

/* PLAIN: not masked.  For masks.c: ASSUMED plain, of a carry, while it looks for a fixed point; elements REPLACED. */
enum { VARIED = 1, USEFUL = 2, STEEP = 4, PLAIN = 8, ASSUMED = 16, REPLACED = 32 };

/* Analyses a function's body; wrt: per parameter; results: which of the yields count (NULL: all float ones). */
Activity activity_of(Func *f, const bool *wrt, const bool *results);
/* Then its masks; plain_results: per yield, the bars that begin without a 0 by construction. */
void activity_masks(Activity *a, Func *f, const bool *plain_results);
bool value_is_active(const Activity *a, const Value *v);
bool value_is_steep(const Activity *a, const Value *v);
bool value_is_masked(const Activity *a, const Value *v);
void activity_mark(Activity *a, const Value *v, const Value *like);
/* Every value that the map took to a copy gets the flags of its original. */
void activity_copied(Activity *a, const ValueMap *map);

/* ---- the flags themselves, for masks.c */
bool activity_has(const Activity *a, const Value *v, unsigned char flag);
bool activity_set(Activity *a, const Value *v, unsigned char flag); /* true if that is news */
void activity_clear(Activity *a, const Value *v, unsigned char flag);
void activity_clear_all(Activity *a, unsigned char flag);
#endif
