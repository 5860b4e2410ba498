#include "memory.h"
#include <stdlib.h>

enum { ALIGNMENT = 16, BLOCK = 1 << 16 };

typedef struct Block {
  struct Block *next;
  size_t size, used;
  _Alignas(ALIGNMENT) char bytes[];
} Block;

void *memory_get(Memory *memory, int64_t n, size_t size) {
  if (n < 0 || (uint64_t)n > (SIZE_MAX / 2) / size)
    return NULL;
  const size_t bytes = ((size_t)n * size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  if (!memory->blocks || bytes > memory->blocks->size - memory->blocks->used) {
    const size_t room = bytes > BLOCK ? bytes : BLOCK;
    Block *block = malloc(sizeof *block + room);
    if (!block)
      return NULL;
    *block = (Block){memory->blocks, room, 0};
    memory->blocks = block;
  }
  void *at = memory->blocks->bytes + memory->blocks->used;
  memory->blocks->used += bytes;
  return at;
}

void memory_free(Memory *memory) {
  while (memory->blocks) {
    Block *next = memory->blocks->next;
    free(memory->blocks);
    memory->blocks = next;
  }
}
