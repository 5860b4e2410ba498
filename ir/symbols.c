/* A map from strings to pointers; see symbols.h. */
#include "ir/symbols.h"
#include <string.h>

struct Symbol {
  const char *key;
  uint64_t hash;
  void *value;
};

static uint64_t hash_key(const char *key) {
  uint64_t h = 1469598103934665603u;
  for (; *key; key++)
    h = (h ^ (unsigned char)*key) * 1099511628211u;
  return h;
}

static struct Symbol *find(struct Symbol *table, size_t cap, const char *key, uint64_t hash) {
  size_t at = hash & (cap - 1);
  while (table[at].key && (table[at].hash != hash || strcmp(table[at].key, key)))
    at = (at + 1) & (cap - 1);
  return &table[at];
}

static void grow(Symbols *s) {
  const size_t cap = s->cap ? s->cap * 2 : 32;
  struct Symbol *table = NEW_ARRAY(s->arena, struct Symbol, cap);
  for (size_t i = 0; i < s->cap; i++)
    if (s->table[i].key)
      *find(table, cap, s->table[i].key, s->table[i].hash) = s->table[i];
  s->table = table;
  s->cap = cap;
}

void **symbol_at(Symbols *s, const char *key) {
  if (s->n * 2 >= s->cap)
    grow(s);
  const uint64_t hash = hash_key(key);
  struct Symbol *e = find(s->table, s->cap, key, hash);
  if (!e->key) {
    *e = (struct Symbol){.key = key, .hash = hash};
    s->n++;
  }
  return &e->value;
}

void *symbol_find(const Symbols *s, const char *key) {
  return s->cap ? find(s->table, s->cap, key, hash_key(key))->value : NULL;
}
