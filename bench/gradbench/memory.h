/* Memory that lives as long as one message: blocks in a list, freed together.  A request that cannot be met gives NULL.
 */
#ifndef GRADBENCH_MEMORY_H
#define GRADBENCH_MEMORY_H
#include <stddef.h>
#include <stdint.h>

typedef struct Memory {
  struct Block *blocks; /* the newest first; small requests come from it */
} Memory;

/* Room for n things of a size, aligned for any of them. */
void *memory_get(Memory *memory, int64_t n, size_t size);
void memory_free(Memory *memory);

#endif
