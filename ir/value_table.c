/* Numbers by value; see value_table.h. */
#include "ir/value_table.h"

struct ValueTableEntry {
  const Value *value;
  uint64_t number;
};

static struct ValueTableEntry *find(struct ValueTableEntry *entries, size_t cap, const Value *v) {
  size_t i = ((size_t)v->uid * 2654435761u) & (cap - 1);
  while (entries[i].value && entries[i].value != v)
    i = (i + 1) & (cap - 1);
  return &entries[i];
}

static void grow(ValueTable *t) {
  const size_t cap = t->cap ? 2 * t->cap : 32;
  struct ValueTableEntry *entries = NEW_ARRAY(t->arena, struct ValueTableEntry, cap);
  for (size_t i = 0; i < t->cap; i++)
    if (t->entries[i].value)
      *find(entries, cap, t->entries[i].value) = t->entries[i];
  t->entries = entries;
  t->cap = cap;
}

uint64_t *table_at(ValueTable *t, const Value *v) {
  if (2 * (t->n + 1) > t->cap)
    grow(t);
  struct ValueTableEntry *e = find(t->entries, t->cap, v);
  t->n += !e->value;
  e->value = v;
  return &e->number;
}

uint64_t table_get(const ValueTable *t, const Value *v) {
  return t->cap ? find(t->entries, t->cap, v)->number : 0;
}

void table_clear(ValueTable *t, uint64_t bits) {
  for (size_t i = 0; i < t->cap; i++)
    t->entries[i].number &= ~bits;
}
