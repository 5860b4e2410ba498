/* Sparse derivatives: the non-zeros of a Jacobian or Hessian, with their places, in one of two ways.

   The matrix is a sum of blocks, one for each iteration of some loops: of the results' elements for a Jacobian, of the
   sums that a scalar is made of for a Hessian.  A block's code is sliced out of the function (slice.h) twice: as a
   function of the values that it reads, whose derivatives by the operators that there are anyway are small and dense,
   and as one that tells where these values stand, which gives the columns.

   Where an element depends on more than can be sliced, as after steps of a loop in order, its columns are taken from
   the band that it reaches (reach.h), and as many columns as no row has two of are computed at once (sparse_colour.c).
   */
#ifndef GRADC_PASSES_SPARSE_H
#define GRADC_PASSES_SPARSE_H
#include "passes/passes_internal.h"
#include "passes/slice.h"

typedef struct Sparse {
  Func *func, *source; /* what is made; its base, with calls that make large tensors inlined */
  const Derive *derive;
  Module *module;
  Builder b;              /* at the end of func's body */
  ValueMap primal;        /* values of the source's body in func's */
  struct Analysis *sites; /* Hessian: what bends, once it has been asked for */
} Sparse;

/* What is applied to a block's value on the way to the result: negation, casts, products with what is constant. */
typedef struct Linear Linear;
struct Linear {
  const Linear *next; /* applied after */
  Op *op;
  int operand; /* which one the value is */
};

/* A loop that adds up: an `out(sum)`, or a carry to which each iteration adds. */
typedef struct SumLoop {
  Op *op;
  int carry; /* -1: an out */
} SumLoop;

typedef struct Target {
  Value *value; /* of the source */
  bool is_term; /* of a sum, else an element of a result */
  Range loc;
  int nlead;                     /* a block is an iteration of so many indices: */
  const Size *extents[MAX_RANK]; /* sizes of the source */
  VEC(SumLoop) loops;            /* Hessian: sums around the value, outer first; their indices are the block's */
  const Linear *linear;          /* Hessian */
  int nranges;                   /* Jacobian: so many ranges may be data */
} Target;

typedef struct Block {
  const Target *target;
  Func *local, *gather;
  Slice sites, places; /* of local, of gather: site k of the one is site k of the other */
} Block;

/* Slices a target; false: nothing is read, or it cannot be sliced: sites.failed. */
bool block_make(const Sparse *s, const Target *t, const Activity *activity, Block *block);
void block_discard(Func *f);
/* In a loop over the block's indices: what the sites read, and their first columns. */
typedef struct Gathered {
  ValueMap map; /* of gather's body */
  Value **values, **columns;
} Gathered;
/* How far range k, which is data, goes there. */
const Size *gathered_range(Sparse *s, const Block *block, const Gathered *g, int k);
Gathered block_gather(Sparse *s, const Block *block, Value *const *lead);
/* The arguments of block->local there; a call of a derivative of it. */
Value **block_arguments(Sparse *s, const Block *block, Value *const *lead, const Gathered *g);
Op *block_call(Sparse *s, const Block *block, Func *derived, Value *const *lead, const Gathered *g);
const Size *sparse_extent(const Sparse *s, const Size *extent);
Type sparse_type(const Sparse *s, Type t);

/* ---- sparse_colour.c: what cannot be sliced */
/* ptr, col and val of the derivative of a result by a parameter, of the second derivatives by two. */
void coloured_jacobian(Sparse *s, int result, int wrt, Value **results);
void coloured_hessian(Sparse *s, int row, int column, Value **results);
/* How many entries there is room for then. */
const Size *coloured_jacobian_entries(Sparse *s, int result, int wrt);
const Size *coloured_hessian_entries(Sparse *s, int row, int column);
/* Whether slices have more room than bands, by more than a factor. */
bool slices_are_wider(Module *m, const Size *sliced, const Size *coloured);

/* ---- sparse_rows.c: matrices of one shape, row by row */
void sparse_jacobian(Sparse *s, Value **results);
void sparse_hessian(Sparse *s, Value **results);

/* ---- sparse_ranges.c */
/* So many ranges of a block of the source may depend on the row or be data. */
int ranges_of(const Func *source);
/* The most entries of a matrix; NULL: that is not known. */
const Size *ranges_entries(const Sparse *s, const Block *block, int wrt, const Size *rows);
/* Ends the function at run time where there are more. */
void ranges_require_room(Sparse *s, const Block *block);
/* A size, or where that may be below 0 something that is no less. */
const Size *size_at_most(Module *m, const Size *size);

/* ---- sparse_entries.c: matrices from entries in any order */
typedef struct Entries { /* accumulators, or what has been accumulated */
  Value *row, *column, *value;
  const Size *count, *room; /* room: of one row, where entries stand row by row and `row` is NULL */
} Entries;
Entries entries_new(Sparse *s, const Size *count, const Size *room, Kind k);
/* The accumulators, up to three; and what has become of them, from there. */
int entries_accs(const Entries *e, Value **accs);
int entries_take(Entries *e, Value *const *values);
/* In a loop with the handles in *e: entry number `at` is set. */
void entries_put(Builder *b, const Entries *e, Value *at, Value *row, Value *column, Value *value);
/* ptr, col and val of the matrix. */
void entries_compress(Sparse *s, const Entries *e, const Size *rows, const Size *columns, Value **results);
void sparse_guard(Sparse *s, const Size *rows, const Size *columns, const Size *entries);
/* lead[0] * extents[1] * .. + ..: the number of an iteration, as a value. */
Value *flat_index(Builder *b, int n, Value *const *idx, const Size *const *extents);
#endif
