/* What the files of the slicer share. */
#ifndef GRADC_PASSES_SLICE_INTERNAL_H
#define GRADC_PASSES_SLICE_INTERNAL_H
#include "passes/slice.h"

typedef struct Alias Alias;
struct Alias {
  Alias *next;
  const Value *param;
  Value *value;
  Env *env;
  int axis;       /* >= 0: only elements with this index on that axis have the alias's value */
  const Size *at; /* the index */
  Range loc;      /* of the loop that writes the others */
};

struct Env {
  Env *outer;
  const Region *source;
  ValueMap map;
  Alias *aliases;
  Place *place;
};

Env *env_of(Env *e, const Value *v); /* the env that v belongs to */
/* Between these the builder is in another place, one around the current one. */
typedef struct Detour {
  Place *place;
  Region *region;
} Detour;
Detour detour_begin(Slice *s, Place *to);
void detour_end(Slice *s, Detour from);
Place *place_open(Slice *s, PlaceKind kind, Op *op, Region *region);
void place_close(Slice *s);
/* Enters what a value of an env is in the current place. */
void slice_made(Slice *s, Env *home, const Value *v, Value *made);
/* Copies an operation without regions with all that it needs. */
void slice_plain(Slice *s, Op *op, Env *home);
bool is_small(Type t); /* few elements, of a number known here */

/* slice_sites.c */
Value *slice_read(Slice *s, Value *param, int n, Value *const *idx, uint64_t checks, Range loc);
/* slice_flow.c: whole operations with regions; element of a loop's result. */
void slice_flow_op(Slice *s, Op *op, int result, Env *home);
Value *slice_loop_element(Slice *s, Value *v, Env *home, int n, Value *const *idx, uint64_t checks, bool active);
/* Ends a loop of the slice; what its body reads leaves it as stacks. */
void slice_end_loop(Slice *s, Op *loop, Value *const *carries, int nouts, const OutKind *outs, Value *const *yields);
/* An index that is not proved to lie within its axis is tested, as it is where a tensor is read. */
void slice_test_index(Slice *s, Value *i, const Size *extent);
/* slice_fill.c: an element of what a loop in order fills; NULL: the loop is not of that form. */
Value *slice_filled(Slice *s, Value *v, Env *home, int n, Value *const *idx, uint64_t checks, bool active);
/* The element that a loop in order changes, and no other; NULL: the loop is not of that form. */
Value *slice_one_place(Slice *s, Value *v, Env *home, int n, Value *const *idx, bool active);
#endif
