/* Arena: all memory of one compilation, freed in one place.
   Nothing taken from an arena is freed on its own; arena_free() ends them all.  Allocation failure ends the process
   with a message and status 70: a compiler out of memory has nothing to save, as outputs appear by rename only. */
#ifndef GRADC_IR_ARENA_H
#define GRADC_IR_ARENA_H
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ArenaBlock ArenaBlock;
typedef struct Arena {
  ArenaBlock *blocks; /* newest first */
  char *at, *end;     /* free room of the newest block */
  struct Interned **names;
  size_t nnames, name_buckets;
} Arena;

/* Zeroed memory, aligned for any type. */
void *arena_alloc(Arena *a, size_t bytes);
char *arena_strndup(Arena *a, const char *s, size_t n);
char *arena_printf(Arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
char *arena_vprintf(Arena *a, const char *fmt, va_list ap);
/* The one copy of a string: equal strings interned in one arena are the same pointer. */
const char *arena_intern(Arena *a, const char *s, size_t n);
const char *arena_name(Arena *a, const char *s);
void arena_free(Arena *a);

#define NEW(arena, T) ((T *)arena_alloc((arena), sizeof(T)))
#define NEW_ARRAY(arena, T, n) ((T *)arena_alloc((arena), sizeof(T) * (size_t)(n)))

/* Growable array in an arena: VEC(T) v = {0}; vec_push(arena, v, x).  Old storage stays in the arena. */
#define VEC(T) \
  struct { \
    T *at; \
    int n, cap; \
  }
#define vec_push(arena, v, x) \
  ((v).n == (v).cap ? (void)((v).at = vec_grow((arena), (v).at, &(v).cap, sizeof *(v).at)) : (void)0, \
   (v).at[(v).n++] = (x))
void *vec_grow(Arena *a, void *old, int *cap, size_t item);
#endif
