/* A loop that runs as products of rows: see codegen/lower_dots.c. */
#ifndef GRADC_CODEGEN_DOTS_H
#define GRADC_CODEGEN_DOTS_H
#include "codegen/tiles.h"
#include "ir/build.h"

enum { SET = 8 }; /* rows whose sums are in registers together */

typedef struct Dots {
  LoopCode *loop;
  Body *body;
  const Op *inner;
  int row;           /* the index of the loop that makes rows */
  bool again;        /* a row can be done twice */
  VectorLoop vector; /* along the innermost index of the sum */
  LLVMValueRef sums[MAX_SUMS][SET];
  /* while a set is written */
  int rows;
  LLVMValueRef row_at[SET];
  LLVMValueRef *heads[SET]; /* what stands before the sum, by row and operation */
} Dots;

/* ---- find_dots.c */
bool find_dots(LoopCode *l, Dots *d);
int lanes_of_sums(const Op *inner, int bits); /* of vectors of that width */
#endif
