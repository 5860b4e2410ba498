/* A table of numbers by value, 0 at first.  Unlike an array by uid it takes room in proportion to what is put in, so
   that looking at one function costs what that function is long, however many others the module has. */
#ifndef GRADC_IR_VALUE_TABLE_H
#define GRADC_IR_VALUE_TABLE_H
#include "ir/ir.h"

typedef struct ValueTable {
  Arena *arena;
  struct ValueTableEntry *entries;
  size_t n, cap;
} ValueTable;

/* The place of a value's number; good until the next call. */
uint64_t *table_at(ValueTable *t, const Value *v);
uint64_t table_get(const ValueTable *t, const Value *v);
/* Takes bits from the numbers of all. */
void table_clear(ValueTable *t, uint64_t bits);
#endif
