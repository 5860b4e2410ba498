// Growing storage for sizes that only the run tells: a bump allocator over the end of the workspace and then over
// chunks of the thread's arena. Its context is the head of the workspace; internal.h has the contract.
#include <stddef.h>
#include <string.h>

#include "arena.h"

_Static_assert(sizeof(GradcContext) <= GRADC_CONTEXT_BYTES, "codegen sets aside GRADC_CONTEXT_BYTES");

// The first chunk's size, where the blocks are small: large enough that a short loop takes one.
enum { FIRST_CHUNK = 1 << 16 };

// The address of blocks of no bytes, which nobody reads or writes.
static _Alignas(GRADC_ALIGNMENT) char nothing[GRADC_ALIGNMENT];

void gradc_rt_open(void *context, void *buffer, int64_t bytes, int32_t may_allocate) {
  GradcContext *to = context;
  memset(to, 0, sizeof *to);
  to->lanes = 1;
  to->may_allocate = may_allocate;
  if (!buffer || bytes <= 0)
    return;
  // Blocks are aligned, so the buffer begins and ends where one can.
  int64_t skipped = (int64_t)(-(uintptr_t)buffer % GRADC_ALIGNMENT);
  if (skipped > bytes)
    return;
  to->at = (char *)buffer + skipped;
  to->buffer_end = to->at + (bytes - skipped) / GRADC_ALIGNMENT * GRADC_ALIGNMENT;
  to->end = to->buffer_end;
}

// Makes room for `size` bytes (rounded up) at `at`.
static int make_room(GradcContext *in, int64_t size) {
  if (in->end - in->at >= size)
    return 1;
  if (!in->may_allocate)
    return 0;
  int64_t wanted = in->chunk_bytes ? in->chunk_bytes : FIRST_CHUNK / 2;
  wanted = wanted <= PTRDIFF_MAX / 4 ? 2 * wanted : wanted;
  GradcChunk *chunk = gradc_chunk_take(size, wanted > size ? wanted : size);
  if (!chunk)
    return 0;
  if (chunk->capacity > in->chunk_bytes)
    in->chunk_bytes = chunk->capacity;
  chunk->below = in->chunk;
  in->chunk = chunk;
  in->at = gradc_chunk_begin(chunk);
  in->end = gradc_chunk_end(chunk);
  return 1;
}

void *gradc_rt_push(void *context, int64_t bytes) {
  GradcContext *in = context;
  int64_t size = gradc_round_up(bytes);
  if (size < 0)
    return NULL;
  if (size == 0)
    return nothing;
  if (!make_room(in, size))
    return NULL;
  void *block = in->at;
  in->at += size;
  return block;
}

void *gradc_rt_grow(void *context, void *block, int64_t *capacity, int64_t need) {
  GradcContext *in = context;
  int64_t old = block ? *capacity : 0;
  int64_t least = gradc_round_up(need);
  if (least < 0)
    return NULL;
  if (block && need <= old)
    return block;
  // wanted is a wish, least a must.
  int64_t wanted = old <= PTRDIFF_MAX / 4 ? gradc_round_up(2 * old) : least;
  if (wanted < least)
    wanted = least;
  // Where it is the last block it is extended, as far as there is room.
  if (old > 0 && (char *)block + gradc_round_up(old) == in->at) {
    int64_t room = in->end - (char *)block;
    if (room >= least) {
      *capacity = room < wanted ? room : wanted;
      in->at = (char *)block + *capacity;
      return block;
    }
  }
  void *grown = gradc_rt_push(in, wanted);
  if (!grown && wanted > least) {
    wanted = least;
    grown = gradc_rt_push(in, wanted);
  }
  if (!grown)
    return NULL;
  if (block)
    memcpy(grown, block, (size_t)old);
  *capacity = wanted;
  return grown;
}

void *gradc_rt_mark(void *context) {
  return ((GradcContext *)context)->at;
}

void gradc_rt_pop(void *context, void *mark) {
  GradcContext *in = context;
  // A mark lies in exactly one chunk, ends included, for each chunk's header keeps it apart from what stands before it.
  while (in->chunk && !((char *)mark >= gradc_chunk_begin(in->chunk) && (char *)mark <= gradc_chunk_end(in->chunk))) {
    GradcChunk *chunk = in->chunk;
    in->chunk = chunk->below;
    gradc_chunk_give(chunk);
  }
  in->at = mark;
  in->end = in->chunk ? gradc_chunk_end(in->chunk) : in->buffer_end;
}

void gradc_rt_close(void *context) {
  GradcContext *in = context;
  while (in->chunk) {
    GradcChunk *chunk = in->chunk;
    in->chunk = chunk->below;
    gradc_chunk_give(chunk);
  }
  memset(in, 0, sizeof *in);
}
