/* The runtime's functions by name, up to a NULL name; and its last error. */
#ifndef GRADC_DRIVER_RUNTIME_SYMBOLS_H
#define GRADC_DRIVER_RUNTIME_SYMBOLS_H
#include "codegen/codegen.h"

extern const JitSymbol runtime_symbols[];
const char *runtime_last_error(void);
#endif
