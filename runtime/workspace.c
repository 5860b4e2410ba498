// The memory that a thread keeps between calls: a stack of workspaces, one for each call under way, and spare chunks
// for growing storage. Freed by gradc_release, and when the thread ends.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "arena.h"

typedef struct Arena {
  GradcChunk *in_use; // workspaces of the calls under way, the innermost first
  // Workspaces kept for the next call, the outermost level first: calls are given back last in, first out, so the first
  // here is always the one that last served the present level.
  GradcChunk *kept;
  GradcChunk *spare; // chunks of growing storage that no call uses
  int registered;    // whether the end of the thread will free all this
} Arena;

typedef void AtRelease(void);

static _Thread_local Arena arena;

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static int key_made;

static void free_list(GradcChunk **list) {
  while (*list) {
    GradcChunk *chunk = *list;
    *list = chunk->below;
    free(chunk);
  }
}

static _Atomic(AtRelease *) at_release;

void gradc_at_release(AtRelease *call) {
  atomic_store(&at_release, call);
}

void gradc_release(void) {
  AtRelease *call = atomic_load(&at_release);
  free_list(&arena.kept);
  free_list(&arena.spare);
  if (call)
    call();
}

static void end_of_thread(void *ended) {
  Arena *owned = ended;
  free_list(&owned->in_use);
  free_list(&owned->kept);
  free_list(&owned->spare);
  // Another key's destructor may yet call generated code, which then registers anew.
  owned->registered = 0;
}

static void make_key(void) {
  key_made = pthread_key_create(&key, end_of_thread) == 0;
}

static void register_thread(void) {
  if (arena.registered)
    return;
  pthread_once(&key_once, make_key);
  arena.registered = key_made && pthread_setspecific(key, &arena) == 0;
}

#if defined(__GNUC__)
// Runs when the process ends or the shared object that holds this copy of the runtime is unloaded: no thread may then
// call its destructor any more. What other threads keep stays theirs.
__attribute__((destructor)) static void unload(void) {
  gradc_release();
  if (key_made)
    pthread_key_delete(key);
  key_made = 0;
}
#endif

int64_t gradc_round_up(int64_t bytes) {
  // Half of the address space leaves room for every header and for pointer differences.
  if (bytes < 0 || bytes > PTRDIFF_MAX / 2)
    return -1;
  return (bytes + (GRADC_ALIGNMENT - 1)) / GRADC_ALIGNMENT * GRADC_ALIGNMENT;
}

static GradcChunk *allocate(int64_t capacity) {
  if (capacity < 0 || capacity > PTRDIFF_MAX / 2)
    return NULL;
  GradcChunk *chunk = aligned_alloc(GRADC_ALIGNMENT, (size_t)capacity + GRADC_ALIGNMENT);
  if (chunk)
    chunk->capacity = capacity;
  return chunk;
}

static GradcChunk *allocate_wanted(int64_t least, int64_t wanted) {
  register_thread();
  GradcChunk *chunk = wanted > least ? allocate(wanted) : NULL;
  return chunk ? chunk : allocate(least);
}

void *gradc_rt_acquire(int64_t bytes) {
  int64_t least = gradc_round_up(bytes);
  if (least < 0)
    return NULL;
  GradcChunk *chunk = arena.kept;
  if (chunk && chunk->capacity >= least) {
    arena.kept = chunk->below;
  } else {
    int64_t wanted = least;
    if (chunk) {
      // Too small: freed first, so that the two never stand side by side, and outgrown by half at least, so that sizes
      // that creep upward cost an allocation only now and then.
      arena.kept = chunk->below;
      wanted = gradc_round_up(chunk->capacity + chunk->capacity / 2);
      free(chunk);
    }
    chunk = allocate_wanted(least, wanted);
    if (!chunk)
      return NULL;
  }
  chunk->below = arena.in_use;
  arena.in_use = chunk;
  return gradc_chunk_begin(chunk);
}

void gradc_rt_release(void *workspace) {
  if (!workspace)
    return;
  // A workspace that is not on the stack was given up by a call below it; there is nothing left to do then.
  GradcChunk *found = arena.in_use;
  while (found && gradc_chunk_begin(found) != (char *)workspace)
    found = found->below;
  while (found) {
    GradcChunk *chunk = arena.in_use;
    arena.in_use = chunk->below;
    chunk->below = arena.kept;
    arena.kept = chunk;
    if (chunk == found)
      break;
  }
}

GradcChunk *gradc_chunk_take(int64_t least, int64_t wanted) {
  for (GradcChunk **link = &arena.spare; *link; link = &(*link)->below) {
    GradcChunk *chunk = *link;
    if (chunk->capacity >= least) {
      *link = chunk->below;
      return chunk;
    }
  }
  return allocate_wanted(least, wanted);
}

void gradc_chunk_give(GradcChunk *chunk) {
  register_thread();
  chunk->below = arena.spare;
  arena.spare = chunk;
}
