/* A loop that runs in tiles: see codegen/lower_tiles.c. */
#ifndef GRADC_CODEGEN_TILES_H
#define GRADC_CODEGEN_TILES_H
#include "codegen/loop_code.h"

enum { ROWS = 4, PANELS = 4, MAX_CELLS = 4, MAX_SUMS = 2, MAX_OPS = 12, STRETCH = 256, BLOCK = 16, GROUP = 8 };

/* A loop (.., i, j) around a sum over k of left[.., i, k] * right[.., k, j], in whatever order the axes are. */
typedef struct Product {
  const Op *left, *right; /* index operations; NULL: it is no such loop */
  const Op *inner;
  const Value *row, *column, *step;
} Product;

typedef struct Tiles {
  LoopCode *loop;
  Body *body;
  VectorLoop *vector;
  const Op *inner;
  const Value *row, *column; /* row: NULL where there is only one index */
  bool again;                /* an iteration can be done twice */
  const Op *packed;          /* the index operation whose elements lie apart, and are copied; or NULL */
  bool apart;                /* there is one */
  Product product;
  bool single_rows;     /* rows that make no tile are done alone */
  LLVMValueRef panel;   /* of STRETCH vectors; NULL: nothing is copied */
  LLVMValueRef waiting; /* sums of BLOCK tiles by GROUP panels */
  LLVMValueRef sums[MAX_SUMS][MAX_CELLS];
  LLVMValueRef *state; /* by out of the loop: vectors of a reduction, or NULL */
  /* while a tile is written */
  int rows, panels;
  LLVMValueRef row_at[ROWS], column_at[PANELS];
  LLVMValueRef panel_first, panel_end; /* the steps that are in the panel */
  LLVMValueRef new_row, new_column;    /* what has been done before lies before these; NULL: nothing has */
} Tiles;

/* ---- lower_tiles.c */
int tile_ncells(const Tiles *t);
Kind tile_kind(const Tiles *t); /* of the sums */
LLVMTypeRef tile_vector(const Tiles *t, Kind k);
LLVMValueRef tile_load(const Tiles *t, Kind k, LLVMValueRef at);
void tile_enter_cell(Tiles *t, int cell);
void tile_enter(Tiles *t, int rows, int panels, LLVMValueRef row, LLVMValueRef column);
void tile_steps(Tiles *t);
void tile_mend(Tiles *t); /* once more, where products were loose and a sum is not finite */
void tile_leave(Tiles *t);
/* How many steps of `width` are taken over n, and from where on there is a rest. */
LLVMValueRef tile_count(const Tiles *t, LLVMValueRef n, int width, LLVMValueRef *rest);
/* Where a step begins; `fresh`: from where on it does what has not been done, if that may be later. */
LLVMValueRef tile_at(const Tiles *t, LLVMValueRef step, int width, LLVMValueRef n, LLVMValueRef *fresh);

/* ---- tile_panels.c */
/* The columns of `nvectors` vectors. */
void lower_tile_panels(Tiles *t, LLVMValueRef nrows, LLVMValueRef ncolumns, LLVMValueRef nvectors);

/* ---- find_product.c */
Product find_product(const Op *loop);
/* What an index operation's address has in it of an index of the loop or of its sum: elements a step. */
const Size *product_stride(Module *m, const Product *p, const Op *factor, const Value *index);

/* ---- lower_product.c */
/* NULL: it is known to be. */
LLVMValueRef product_is_large(Tiles *t, LLVMValueRef nrows, LLVMValueRef ncolumns);
void lower_product(Tiles *t, LLVMValueRef nrows, LLVMValueRef ncolumns, LLVMValueRef nvectors);

/* ---- product_kernel.c */
enum {
  PRODUCT_TERMS = 1 << 21, /* at least, and so many rows, columns and steps: below, tiles do as well without copies */
  PRODUCT_LEAST = 32,
  PRODUCT_ROWS = 6,           /* of a tile */
  PRODUCT_PART = 90,          /* rows that are copied at once, at most: whole tiles */
  PRODUCT_BLOCK = 540,        /* rows whose sums wait together, at most: whole parts */
  PRODUCT_GROUP_BYTES = 4096, /* of a row of columns that are copied at once, at most */
  PRODUCT_PAD_STEPS = 4       /* room of as many steps lies behind each tile of a copy, so that not all begin in one set
                                 of the cache */
};
typedef struct ProductBlock {
  LLVMValueRef left, left_row, left_step;       /* of the first row and the first step; elements from one to the next */
  LLVMValueRef right, right_step, right_column; /* of the first column */
  LLVMValueRef nrows, first_column, ncolumns, nvectors, nsteps;
  LLVMValueRef sums, left_copy, right_copy;
  LLVMValueRef out, out_row; /* where the sums are to be, or NULL: by row and vector at `sums` */
} ProductBlock;
int64_t product_steps(int each); /* that are copied at once, at most, by the bytes of a number */
void call_product(Body *b, Kind k, int lanes, const ProductBlock *block);

/* ---- find_tiles.c */
bool find_tiles(LoopCode *l, Tiles *t);
bool lies_beside(const Op *index);  /* what it reads in the lanes */
bool is_all_cheap(const Region *r); /* a few cheap operations on scalars */
#endif
