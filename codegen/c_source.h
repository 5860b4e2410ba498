/* --emit=c: the lowered module in portable C99; inside codegen/ only.

   The lowering makes code for a processor without vectors or fused multiply-add, in few kinds of instructions, and LLVM
   only tidies it.  Each instruction that is used once becomes part of the expression that uses it, others are
   variables; blocks become labels, phis are assigned on the ways to their block.  Integers wrap: sums are taken in
   unsigned types. What the inlined mathematical functions compute, math.h does here. */
#ifndef GRADC_CODEGEN_C_SOURCE_H
#define GRADC_CODEGEN_C_SOURCE_H
#include "codegen/interface.h"
#include <llvm-c/Core.h>

/* Texts by LLVM value. */
typedef struct Names {
  const void **keys;
  const char **texts;
  size_t n, room; /* room: a power of two */
} Names;

typedef struct CWriter {
  Module *module;
  const CodegenOptions *options;
  Arena *arena;
  FILE *out;
  Names globals; /* functions and variables of the module */
  Names locals;  /* of the function that is being written: what stands for a value */
  Names cells;   /* and for the memory that an address points to, where it is an element of something */
  Names labels;  /* of its blocks */
  int number;    /* of its last name */
  unsigned line; /* of the last #line */
} CWriter;

/* ---- c_source.c */
bool c_source_write(Module *m, const CodegenOptions *o, LLVMModuleRef module, FILE *out);
const char *names_find(const Names *n, const void *key);
void names_set(Arena *arena, Names *n, const void *key, const char *text);
const char *c_type(LLVMTypeRef t);                                   /* of a variable */
const char *c_cell(LLVMTypeRef t);                                   /* as it lies in memory */
const char *c_declared(CWriter *w, LLVMTypeRef t, const char *name); /* "double x", "char *p" */
const char *c_fresh(CWriter *w, LLVMValueRef v);

/* ---- c_value.c */
/* An expression for the value, which may be used once, or any number of times if it is not an expression of the block.
 */
const char *c_value(CWriter *w, LLVMValueRef v);
const char *c_initialiser(CWriter *w, LLVMValueRef constant);
/* The expression of an instruction without effects; NULL for all others. */
const char *c_expression(CWriter *w, LLVMValueRef instruction);
/* The name in C of a function that is called, NULL for an intrinsic that is an expression of its own. */
const char *c_function(CWriter *w, LLVMValueRef f);
/* Whether the function is C's own or the preamble's, and not written. */
bool c_is_known(LLVMValueRef f);

/* ---- c_function.c */
void c_function_write(CWriter *w, LLVMValueRef f);

/* ---- c_preamble.c */
extern const char c_preamble[];
#endif
