/* Arena allocation, string interning and growable arrays; see arena.h. */
#include "ir/arena.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ArenaBlock {
  ArenaBlock *older;
};
struct Interned {
  struct Interned *next;
  uint64_t hash;
  size_t n;
  char text[];
};
enum { FIRST_BLOCK = 64 * 1024, LARGEST_BLOCK = 4 * 1024 * 1024, FIRST_BUCKETS = 256 };

static _Noreturn void out_of_memory(void) {
  fputs("gradc: out of memory\n", stderr);
  exit(70);
}

static void *zalloc(size_t bytes) {
  void *p = calloc(1, bytes ? bytes : 1);
  if (!p)
    out_of_memory();
  return p;
}

void *arena_alloc(Arena *a, size_t bytes) {
  const size_t align = _Alignof(max_align_t), header = (sizeof(ArenaBlock) + align - 1) / align * align;
  if (bytes > SIZE_MAX / 4)
    out_of_memory();
  bytes = (bytes + align - 1) / align * align;
  if ((size_t)(a->end - a->at) < bytes) {
    size_t room = a->blocks ? LARGEST_BLOCK : FIRST_BLOCK;
    if (room < bytes)
      room = bytes;
    ArenaBlock *b = zalloc(header + room);
    b->older = a->blocks;
    a->blocks = b;
    a->at = (char *)b + header;
    a->end = a->at + room;
  }
  void *p = a->at;
  a->at += bytes;
  return p;
}

char *arena_strndup(Arena *a, const char *s, size_t n) {
  char *p = arena_alloc(a, n + 1);
  if (n)
    memcpy(p, s, n);
  return p;
}

char *arena_vprintf(Arena *a, const char *fmt, va_list ap) {
  va_list again;
  va_copy(again, ap);
  const int n = vsnprintf(NULL, 0, fmt ? fmt : "", ap); /* never null, but gcc's sanitized build doubts it */
  char *p = arena_alloc(a, (size_t)n + 1);
  vsnprintf(p, (size_t)n + 1, fmt, again);
  va_end(again);
  return p;
}

char *arena_printf(Arena *a, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  char *p = arena_vprintf(a, fmt, ap);
  va_end(ap);
  return p;
}

static uint64_t hash_bytes(const char *s, size_t n) { /* FNV-1a */
  uint64_t h = 1469598103934665603u;
  for (size_t i = 0; i < n; i++)
    h = (h ^ (unsigned char)s[i]) * 1099511628211u;
  return h;
}

static void rehash(Arena *a) {
  const size_t n = a->name_buckets ? a->name_buckets * 4 : FIRST_BUCKETS;
  struct Interned **table = NEW_ARRAY(a, struct Interned *, n);
  for (size_t i = 0; i < a->name_buckets; i++)
    for (struct Interned *e = a->names[i], *next; e; e = next) {
      next = e->next;
      e->next = table[e->hash % n];
      table[e->hash % n] = e;
    }
  a->names = table;
  a->name_buckets = n;
}

const char *arena_intern(Arena *a, const char *s, size_t n) {
  const uint64_t h = hash_bytes(s, n);
  if (a->nnames >= a->name_buckets)
    rehash(a);
  struct Interned **bucket = &a->names[h % a->name_buckets];
  for (struct Interned *e = *bucket; e; e = e->next)
    if (e->hash == h && e->n == n && !memcmp(e->text, s, n))
      return e->text;
  struct Interned *e = arena_alloc(a, sizeof *e + n + 1);
  *e = (struct Interned){.next = *bucket, .hash = h, .n = n};
  memcpy(e->text, s, n);
  *bucket = e;
  a->nnames++;
  return e->text;
}

const char *arena_name(Arena *a, const char *s) {
  return arena_intern(a, s, strlen(s));
}

void *vec_grow(Arena *a, void *old, int *cap, size_t item) {
  const int bigger = *cap ? *cap * 2 : 8;
  void *p = arena_alloc(a, item * (size_t)bigger);
  if (old)
    memcpy(p, old, item * (size_t)*cap);
  *cap = bigger;
  return p;
}

void arena_free(Arena *a) {
  for (ArenaBlock *b = a->blocks, *older; b; b = older) {
    older = b->older;
    free(b);
  }
  *a = (Arena){0};
}
