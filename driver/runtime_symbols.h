/* The runtime's functions by name, up to a NULL name; and its last error. */
#ifndef GRADC_DRIVER_RUNTIME_SYMBOLS_H
#define GRADC_DRIVER_RUNTIME_SYMBOLS_H
#include "codegen/codegen.h"

extern const JitSymbol runtime_symbols[];
const char *runtime_last_error(void);
void runtime_use_all_threads(void);
Kernel *kernel_find(const char *name); /* NULL: there is none */
/* False, with an error, where a module declares a kernel otherwise than the runtime has it. */
bool kernels_check(Module *m);
#endif
