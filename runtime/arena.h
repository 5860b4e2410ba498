// Inside the runtime: the memory that a thread keeps between calls, and its chunks for growing storage.
#ifndef GRADC_RUNTIME_ARENA_H
#define GRADC_RUNTIME_ARENA_H

#include <stdint.h>

#include "internal.h"

enum { GRADC_ALIGNMENT = 64 };

// A piece of memory of the arena, from malloc: this header in the first GRADC_ALIGNMENT bytes, then `capacity` bytes.
typedef struct GradcChunk {
  struct GradcChunk *below; // the next in whichever list it is in
  int64_t capacity;         // a multiple of GRADC_ALIGNMENT
} GradcChunk;

static inline char *gradc_chunk_begin(GradcChunk *chunk) {
  return (char *)chunk + GRADC_ALIGNMENT;
}
static inline char *gradc_chunk_end(GradcChunk *chunk) {
  return gradc_chunk_begin(chunk) + chunk->capacity;
}

// `bytes` rounded up to the alignment; -1 where it is negative or too large to be the size of any object.
GRADC_HIDDEN int64_t gradc_round_up(int64_t bytes);
// A chunk of at least `least` bytes (rounded up by gradc_round_up) from those that the thread keeps, else a new one, of
// `wanted` bytes if there is memory for so many. NULL when there is none.
GRADC_HIDDEN GradcChunk *gradc_chunk_take(int64_t least, int64_t wanted);
// Gives a chunk back to the thread's arena.
GRADC_HIDDEN void gradc_chunk_give(GradcChunk *chunk);

// What gradc_release, and the end of the process or of the shared object, call too: how a program without parallel
// calls comes not to link what they need.
GRADC_HIDDEN void gradc_at_release(void (*call)(void));

// A failure that another thread has reported becomes this one's last; returns the status.
GRADC_HIDDEN int32_t gradc_repeat_failure(int32_t status, const char *text);

#endif
