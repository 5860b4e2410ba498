/* The dataflow graph of a module, for Graphviz. */
#ifndef GRADC_CODEGEN_GRAPH_H
#define GRADC_CODEGEN_GRAPH_H
#include "ir/ir.h"

/* A cluster a function, one inside it for each region.  What a derivative made is drawn in another colour, and a dashed
   edge leads to it from the operation that it is the adjoint of, where that is there. */
void graph_write(Module *m, FILE *out);
#endif
