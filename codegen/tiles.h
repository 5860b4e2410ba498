/* A loop that runs in tiles: see codegen/lower_tiles.c. */
#ifndef GRADC_CODEGEN_TILES_H
#define GRADC_CODEGEN_TILES_H
#include "codegen/loop_code.h"

enum { ROWS = 4, PANELS = 4, MAX_CELLS = 4, MAX_SUMS = 2, MAX_OPS = 12, STRETCH = 256, BLOCK = 16, GROUP = 8 };

/* From these sizes on panels pay for elements that lie beside each other anyway. */
enum { LARGE_ROWS = 32, LARGE_EXTENT = 128 };

typedef struct Tiles {
  LoopCode *loop;
  Body *body;
  VectorLoop *vector;
  const Op *inner;
  const Value *row, *column; /* row: NULL where there is only one index */
  bool again;                /* an iteration can be done twice */
  const Op *packed;          /* the index operation whose elements can be copied, or NULL */
  bool apart;                /* they have to be */
  bool single_rows;          /* rows that make no tile are done alone */
  LLVMValueRef panel;        /* of STRETCH vectors; NULL: nothing is copied */
  LLVMValueRef waiting;      /* sums of BLOCK tiles by GROUP panels */
  LLVMValueRef sums[MAX_SUMS][MAX_CELLS];
  LLVMValueRef *state; /* by out of the loop: vectors of a reduction, or NULL */
  /* while a tile is written */
  int rows, panels;
  LLVMValueRef row_at[ROWS], column_at[PANELS];
  LLVMValueRef panel_first, panel_end; /* the steps that are in the panel */
  LLVMValueRef new_row, new_column;    /* what has been done before lies before these; NULL: nothing has */
} Tiles;

/* ---- find_tiles.c */
bool find_tiles(LoopCode *l, Tiles *t);
bool lies_beside(const Op *index);  /* what it reads in the lanes */
bool is_all_cheap(const Region *r); /* a few cheap operations on scalars */
#endif
