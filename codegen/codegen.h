/* Code generation as the driver sees it; no LLVM types.
   A module comes in after the passes: every function has a body (or is extern) and no derivative is left to be made.
   Lowering to LLVM IR stands behind codegen/lower.h, the C signature of an export in codegen/interface.h. */
#ifndef GRADC_CODEGEN_CODEGEN_H
#define GRADC_CODEGEN_CODEGEN_H
#include "ir/ir.h"

typedef enum EmitKind { EMIT_OBJECT, EMIT_ASSEMBLY, EMIT_LLVM, EMIT_BITCODE, EMIT_C } EmitKind;

/* What changes meaning (strict, fast_math, unchecked) stands in the Module. */
typedef struct CodegenOptions {
  int opt_level;                       /* 0 .. 3 */
  const char *triple, *cpu, *features; /* NULL: this machine's */
  bool no_malloc;                      /* only name_worksize and name_ws are made, nothing that allocates */
  bool debug_lines;                    /* -g: line tables */
  bool time_passes;                    /* to stderr */
  bool threads;                        /* parallel regions are compiled in */
  bool warn_copy;                      /* -Wcopy: loops that copy whole tensors */
  bool scalar;                         /* no vectors, and LLVM only tidies: for C */
  bool hide;                           /* for a shared object: all but the exports is hidden */
  const char *prefix;                  /* stands before each exported symbol, or NULL */
} CodegenOptions;

/* Writes the module's code to `path` (by rename when complete), or to standard output where it is NULL.
   False after an error, which has been reported through the module's Diag. */
bool codegen_emit(Module *m, const CodegenOptions *o, EmitKind kind, const char *path);
/* The C header.  `guard`: the name that its include guard is made of. */
void codegen_header(Module *m, const CodegenOptions *o, const char *guard, FILE *out);
/* Writes a shared object with the runtime inside, linked by the C compiler ($CC, or cc) of this machine.
   `verbose`: the command is printed. */
bool codegen_shared(Module *m, const CodegenOptions *o, const char *runtime_library, bool verbose, const char *path);
/* LLVM's version, and this machine's triple and processor. */
const char *codegen_version(Arena *arena);

/* Compiles into this process; NULL after an error that has been reported.  `runtime`: the functions of the runtime,
   whose symbols are hidden, up to a NULL name. */
typedef struct Jit Jit;
typedef struct JitSymbol {
  const char *name;
  void (*address)(void);
} JitSymbol;
Jit *codegen_jit(Module *m, const CodegenOptions *o, const JitSymbol *runtime);
/* Calls an exported symbol (prefix included) that returns a status; args[i] points at its i-th C argument.  False, with
   an error reported, where there is no such symbol. */
bool codegen_jit_call(Jit *jit, const char *symbol, void *const *args, int *status);
void codegen_jit_free(Jit *jit);
#endif
