/* One program made ready in one way of running it. */
#ifndef GRADC_TOOLS_FUZZ_RUN_H
#define GRADC_TOOLS_FUZZ_RUN_H
#include "tools/fuzz/fuzz.h"

/* The reference is the evaluator on what the front end made, with derivatives made from that; OPTIMISED the evaluator
   after all passes of -O2; the others are native code. */
typedef enum Way { REFERENCE, OPTIMISED, NATIVE_O0, NATIVE_O2, WAY_COUNT } Way;
extern const char *const way_name[WAY_COUNT];

typedef struct Running {
  Arena arena;
  Options options;
  Session session;
  Callable callable;
  Module *module;
  bool good;
} Running;

/* `only`: the sole export that is wanted, or NULL. */
void running_open(Running *b, const char *text, bool narrow, Way way, const char *only);
void running_close(Running *b);
const Export *running_export(const Running *b, const char *symbol); /* NULL: there is none */

typedef struct Arrays {
  int n;
  Array *at;
} Arrays;
/* What a call gives: status 0 and results, or a status and its message. */
typedef struct Answer {
  int status;
  char message[256];
  Arrays results;
} Answer;
void running_call(Running *b, Arena *arena, const char *symbol, Arrays args, Answer *out);
#endif
