/* Replacing values in place, in all operations, sizes and yields of a region and below. */
#ifndef GRADC_PASSES_RENAME_H
#define GRADC_PASSES_RENAME_H
#include "ir/build.h"

void region_rename(Module *m, Region *r, const ValueMap *map);
/* One operation's operands, types and sizes; not the regions below it. */
void op_rename(Module *m, Op *op, const ValueMap *map);
#endif
