/* A map from strings to pointers, in an arena. */
#ifndef GRADC_IR_SYMBOLS_H
#define GRADC_IR_SYMBOLS_H
#include "ir/arena.h"

typedef struct Symbols {
  Arena *arena;
  struct Symbol *table;
  size_t n, cap;
} Symbols;

/* The place for a key's value, NULL in it at first; good until the next call.  The key is not copied. */
void **symbol_at(Symbols *s, const char *key);
void *symbol_find(const Symbols *s, const char *key); /* NULL where there is none */
#endif
