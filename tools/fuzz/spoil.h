/* Texts with faults put in; see spoil.c. */
#ifndef GRADC_TOOLS_FUZZ_SPOIL_H
#define GRADC_TOOLS_FUZZ_SPOIL_H
#include "tools/fuzz/fuzz.h"

const char *spoiled_text(Arena *a, char *const *files, int nfiles, uint64_t seed, uint64_t number, bool *ir);
bool spoiled_run(const char *text, bool ir, bool native);
typedef bool SpoiledFails(void *arg, const char *text, bool ir);
const char *spoiled_shrink(Arena *a, const char *text, bool ir, SpoiledFails *fails, void *arg, int budget);
#endif
