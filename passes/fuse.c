/* Fusion of loops; see passes.def. */
#include "passes/passes_internal.h"

void pass_fuse(Module *m) {
  (void)m;
}
