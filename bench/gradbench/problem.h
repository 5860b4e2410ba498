/* What a problem is to the tool: how its input is read, what is called and timed, how the output is written. */
#ifndef GRADBENCH_PROBLEM_H
#define GRADBENCH_PROBLEM_H
#include "json.h"

/* Reads members of a message's input.  After the first error nothing is read any more, NULL and 0 are given, and it
   stands in `error`; so a problem looks once, when it has asked for everything. */
typedef struct Reader {
  Memory *memory;
  const Json *input;
  char error[256];
} Reader;

typedef struct Function {
  const char *module, *name;
  void *(*prepare)(Reader *in);
  int (*run)(void *problem); /* a status of gradc.h */
  void (*print)(const void *problem, FILE *to);
} Function;

/* Ends with a function without a name, as do all of these tables. */
extern const Function small_functions[];   /* hello, llsq, lse, det, ode */
extern const Function model_functions[];   /* kmeans, gmm, lstm */
extern const Function bundle_functions[];  /* ba */
extern const Function hand_functions[];    /* ht */
extern const Function descent_functions[]; /* particle, saddle */

void read_error(Reader *in, const char *format, ...);
bool read_failed(const Reader *in);
/* Room for n things, without any content. */
void *read_room(Reader *in, int64_t n, size_t size);
/* The input itself, where that is a number. */
double read_bare_number(Reader *in);
double read_number(Reader *in, const char *name);
int64_t read_integer(Reader *in, const char *name, int64_t least);
bool read_bool(Reader *in, const Json *object, const char *name);
/* Nested arrays, as one row-major.  A size below 0 is not known yet, and becomes what is there. */
double *read_tensor(Reader *in, const Json *object, const char *name, int rank, int64_t *sizes);
int32_t *read_indices(Reader *in, const Json *object, const char *name, int rank, int64_t *sizes);
const Json *read_object(Reader *in, const Json *object, const char *name);

#endif
