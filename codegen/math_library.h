/* The inlined mathematical functions as functions of C, for tests and measurements; no LLVM types. */
#ifndef GRADC_CODEGEN_MATH_LIBRARY_H
#define GRADC_CODEGEN_MATH_LIBRARY_H
#include "codegen/codegen.h"

enum { MATH_WIDEST = 16 };

/* Writes an object of functions  void math_exp_f64x4(const double *x, const double *y, double *result, int64_t n),
   one for each operation, kind and number of lanes 1, 2, 4 .. MATH_WIDEST (y is for operations of two operands, n a
   multiple of the lanes).  Of two lanes they are as for scalars that stand side by side (codegen/group.c).  At
   opt_level 2 LLVM may widen those of one lane. False after an error, which has been reported through the module's
   Diag. */
bool codegen_math_library(Module *m, const CodegenOptions *o, const char *path);
#endif
