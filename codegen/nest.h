/* Nests of loops as LLVM code, to be moved out of the functions that they were written in: see codegen/outline.c. */
#ifndef GRADC_CODEGEN_NEST_H
#define GRADC_CODEGEN_NEST_H
#include "codegen/body.h"

/* Pointers to numbers. */
typedef struct Numbers {
  int n, cap; /* cap: a power of two */
  const void **keys;
  int *values;
} Numbers;

/* Made outside of the nest again inside of it: an address, which a pointer and integers that come from outside give, or
   a place of the frame that nothing else uses. */
typedef struct Derived {
  LLVMValueRef value;
  int number; /* that operands have */
} Derived;

/* A number that another nest of the same shape may have another one for. */
typedef struct Free {
  LLVMValueRef scalar;
  LLVMTypeRef splat; /* the vector type it is spread to, or NULL */
} Free;

/* What a nest is, with nothing in it that depends on where it stands: nests with equal words do the same to what they
   are given.  Made by reading the blocks in the order in which branches reach them. */
typedef struct NestKey {
  Arena *arena;
  LLVMBasicBlockRef end;
  VEC(LLVMBasicBlockRef) blocks;
  VEC(LLVMValueRef) codes; /* the nest's own instructions, by number */
  VEC(LLVMValueRef) inputs;
  VEC(Derived) derived;
  VEC(Free) free;
  VEC(int) outputs; /* numbers of instructions whose values are used outside */
  VEC(uint64_t) words;
  Numbers numbers; /* of blocks, of values and of metadata */
  int nvalues;
  bool returns; /* leaves the function somewhere */
  bool odd;     /* has something that is not understood here */
} NestKey;

void nest_key(NestKey *k, Arena *arena, const Nest *nest);
int nest_number(const NestKey *k, const void *key); /* -1: none */
/* Whether operand i may have another constant in another nest; then as what. */
bool nest_is_free(LLVMValueRef inst, int i, Free *f);
bool nest_has_block(const NestKey *k, LLVMBasicBlockRef block);

/* ---- nest_move.c: nests that are alike, and their function */
typedef struct Group {
  Unit *unit;
  Arena *arena; /* until the group is done */
  const char *name;
  NestKey first;
  unsigned *marks;   /* by input */
  bool *differs;     /* by number of the free constants: it is an argument */
  LLVMValueRef code; /* the function */
  LLVMTypeRef type, result;
  int nargs;
} Group;

/* With the first of them. */
void group_begin(Group *g, Unit *u, Arena *arena, const Nest *nest);
/* Another one that is like the first: its key. */
void group_join(Group *g, const NestKey *k);
/* When all have joined: those but the first become calls of the function and are gone; then the first
   becomes the function, and a call of it. */
void group_declare(Group *g);
void group_replace(const Group *g, const NestKey *k);
void group_move_first(Group *g);

/* glue.c: makes a function that consists of little but calls cheap to compile; others stay as they are. */
void glue_make_simple(Unit *u, LLVMValueRef function);
#endif
