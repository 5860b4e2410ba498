/* The reference evaluator: what a function of the IR means, computed operation by operation.
   It is the oracle of the tests, written to be obviously right rather than fast: values are kept in row-major memory,
   loops run in order, f32 is computed in float, and every index is checked, proved or not. */
#ifndef GRADC_IR_EVAL_H
#define GRADC_IR_EVAL_H
#include "ir/ir.h"

/* A tensor in memory: dense, row-major; rank 0 is one element.  A bool is one byte, 0 or 1. */
typedef struct Array {
  Kind kind;
  int rank;
  int64_t dims[MAX_RANK];
  void *data;
} Array;

/* The numbers of runtime/gradc.h's gradc_status, which this room does not include, and one more. */
typedef enum EvalStatus {
  EVAL_OK = 0,
  EVAL_NO_MEMORY = 1,
  EVAL_OUT_OF_RANGE = 2,
  EVAL_REQUIRE = 3,
  EVAL_NOT_FACTORABLE = 4,
  EVAL_BAD_SIZE = 5,
  EVAL_UNABLE = 64 /* not the program's fault: a function still to be derived, or a C function out of reach */
} EvalStatus;

/* Zeroed.  The number of elements must not overflow. */
Array array_new(Arena *arena, Kind kind, int rank, const int64_t *dims);
int64_t array_count(const Array *a);
/* Element i in row-major order, converted. */
double array_float(const Array *a, int64_t i);
int64_t array_int(const Array *a, int64_t i);

/* Calls f: args are all of its parameters, sizes first; results, allocated in `arena`, are its nresults results.
   Returns a status; where it is not EVAL_OK, `message` holds "file:line: reason". */
int eval_func(Arena *arena, Func *f, const Array *args, Array *results, char *message, size_t message_size);

/* Functions that C's libm lacks, for the evaluator and for folding constants. */
double eval_lgamma(double x);
double eval_polygamma(int64_t order, double x);
#endif
