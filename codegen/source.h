/* The IR as source of the language again: what a module computes, as a program that compiles to the same numbers.
   Scalars that are used once stand where they are used; loops are comprehensions and reductions where they have one
   result, else `for` over vars; an accumulator is a var that is added into.  A tensor whose size only the run knows
   (the tape of a loop whose steps are data) has no place in the language: where it is a stack it becomes a function
   that computes its elements again, else the module is refused. */
#ifndef GRADC_CODEGEN_SOURCE_H
#define GRADC_CODEGEN_SOURCE_H
#include "ir/ir.h"

/* A line of the program, and the operation that most of it comes from. */
typedef struct SourceLine {
  int indent;
  const char *text;
  const Op *op; /* NULL: a head, a bracket */
} SourceLine;

typedef struct SourceLines {
  SourceLine *at;
  int n, cap;
} SourceLines;

/* True if a derivative made the operation: code of the primal that is run again has an origin too, the loop that it is
   run again for, but the place of what it is a copy of. */
static inline bool op_is_derivative(const Op *op) {
  const Range a = op->loc, b = op->origin ? op->origin->loc : a;
  return op->origin && a.src == b.src && a.line == b.line && a.col == b.col && a.to_line == b.to_line &&
         a.to_col == b.to_col;
}

/* False where the module cannot be written, which has been reported. */
bool source_write(Module *m, FILE *out);
/* The body of one function.  No line comes from operations of several lines of the source, or from the primal and its
   adjoint at once. */
bool source_of_func(Func *f, SourceLines *lines);
#endif
