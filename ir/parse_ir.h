/* The parser of the textual IR (ir/print.h shows it).  Operations are made raw, so reading changes nothing. */
#ifndef GRADC_IR_PARSE_IR_H
#define GRADC_IR_PARSE_IR_H
#include "ir/ir.h"

/* The module, verified; or NULL, and errors with their places in `src` have been reported. */
Module *parse_ir(Arena *a, Diag *d, const Source *src);
#endif
