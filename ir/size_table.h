/* The table in which a module's sizes and atoms are interned; for ir/ alone. */
#ifndef GRADC_IR_SIZE_TABLE_H
#define GRADC_IR_SIZE_TABLE_H
#include "ir/size.h"

struct SizeTable *size_table_new(Arena *a);
/* How many atoms, quotients looked into, a walk over s meets: bounded, so that every walk is. */
int size_weight(const Size *s);
/* The sum of n terms that come in any order and may repeat monomials; their powers are sorted. */
const Size *size_from_terms(Module *m, int n, const Term *terms);
#endif
