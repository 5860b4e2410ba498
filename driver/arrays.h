/* Arrays between the outside and functions: files, the command line, printing, calling.  Shared by run and gradcheck.
 */
#ifndef GRADC_DRIVER_ARRAYS_H
#define GRADC_DRIVER_ARRAYS_H
#include "driver/driver.h"
#include "ir/eval.h"

/* ---- array_file.c: .npy and .csv.  Errors are reported through the Diag. */
/* Kinds other than ours come as the nearest of ours that holds them. */
bool array_read(Session *s, const char *path, Array *out);
bool array_write_npy(Session *s, const char *path, const Array *a);

/* ---- array_text.c */
/* "name = [[1.0, 2.0],\n ..": as Python writes numbers, `digits` significant ones, or as many as tell each from its
   neighbours where that is 0. */
void array_print(FILE *out, const char *name, const Array *a, int digits);
void number_text(char *text, size_t n, double x, Kind kind, int digits);

/* ---- array_value.c: what stands after name= */
typedef enum Fill { FILL_NONE, FILL_RAND, FILL_RANDN, FILL_ZEROS, FILL_ONES, FILL_IOTA } Fill;
typedef struct Given {
  const char *name, *text;
  bool used;
  Fill fill;         /* FILL_NONE: the array is there */
  bool shaped;       /* of a fill: rank and dims of the array are given */
  Array array;       /* inline numbers have kind f64, or i64, bool where all are such */
  bool from_table;   /* read from a .csv, which does not tell a column from a vector */
  int64_t low, high; /* of integer fills: [low, high) */
} Given;
/* Returns an exit status; errors have been reported. */
int given_parse(Session *s, Given *g);

/* Whether there is memory for it. */
bool array_fits(const Array *shape);

typedef struct Random {
  uint64_t state;
} Random;
double random_uniform(Random *r); /* in [0, 1) */
double random_normal(Random *r);
void array_fill(Array *a, Fill fill, double low, double high, Random *r);
void array_set(Array *a, int64_t i, double x);

/* ---- arguments.c: all parameters of a function from what is given.
   Sizes are found from shapes, or given by name.  `invent`: what is not given is made up, sizes small and odd. */
typedef VEC(Given) Givens;
int arguments_parse(Session *s, Givens *givens, int first_operand);
int arguments_bind(Session *s, const Func *f, Givens *givens, bool invent, Array *args);
/* The first n parameters alone; args has room for all. */
int arguments_bind_first(Session *s, const Func *f, int n, Givens *givens, bool invent, Array *args);
bool size_of_args(const Func *f, const Size *size, const Array *args, int64_t *out);
bool shape_of_args(const Func *f, Type t, const Array *args, Array *out); /* all but the data */

/* ---- callable.c: exported functions made ready to be called, as native code or by the evaluator. */
typedef struct Callable {
  Session *session;
  Module *module;
  Jit *jit; /* NULL: the evaluator */
} Callable;
bool callable_prepare(Callable *c, Session *s, Module *m);
/* Results are allocated in `arena`.  Returns a status of the runtime, or EVAL_UNABLE; the message is empty where the
   error has been reported through the Diag. */
int callable_call(Callable *c, Arena *arena, const Export *e, const Array *args, Array *results, char *message,
                  size_t message_size);
/* The same for a part of an export that is cut in two: args are the sizes and inputs, and for the backward part then
   the seeds; the forward part runs before it.  Results have room for the part's function's. */
int callable_call_part(Callable *c, Arena *arena, const Export *e, const Array *args, Array *results, char *message,
                       size_t message_size);
int callable_nresults(const Export *e); /* those that are shown; and their names */
const char *callable_result_name(const Export *e, int i);
void callable_free(Callable *c);

/* ---- functions.c: the function that a name on the command line means.  `name` NULL: the one export there is. */
Export *export_named(Session *s, Module *m, const char *name);
#endif
