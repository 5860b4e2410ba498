/* Entry point of the semantic half of the front end: a file and what it imports become an IR module. */
#ifndef GRADC_FRONTEND_ELABORATE_H
#define GRADC_FRONTEND_ELABORATE_H
#include "frontend/parse.h"
#include "ir/ir.h"

typedef struct ElabOptions {
  Kind real;                       /* what `real` means: KIND_F64 or KIND_F32 */
  const char *const *include_dirs; /* -I, then the standard library; NULL-terminated */
  const char *library_dir;         /* for import <nn.ad>; */
  const char *const *grad;         /* --grad texts "loss:w,b"; NULL-terminated, or NULL */
  bool grad_alone;                 /* what the file itself exports is left out */
} ElabOptions;

/* Never NULL; diag->nerrors tells whether it is whole.  Functions that derive others are declared, not made.
   `imported` (may be NULL) receives the names of all files read, for make rules. */
Module *elaborate(Arena *arena, Diag *diag, const Source *main, const ElabOptions *options,
                  void (*imported)(void *arg, const char *path), void *arg);
#endif
