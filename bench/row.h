/* A row of the table: a problem of a size, its inputs, and the ways in which its derivative is computed here. */
#ifndef GRADC_BENCH_ROW_H
#define GRADC_BENCH_ROW_H
#include "gradbench/memory.h"
#include <stdbool.h>

typedef struct Array {
  const char *name;
  char kind; /* d, f or i: double, float, int32_t */
  int rank;
  int64_t sizes[4];
  void *data;
} Array;

enum { MOST_ARRAYS = 16 };

/* The derivative is written to arrays like `outputs`; 0, or a status. */
typedef struct Row Row;
typedef int Derivative(const Row *row, void *const *to);

struct Row {
  Memory *memory;
  const int64_t *sizes; /* as the table of rows has them */
  int repeats;          /* calls in one run: many where one is too short to be timed */
  int input_count, output_count;
  Array inputs[MOST_ARRAYS];
  Array outputs[MOST_ARRAYS];
  int (*objective)(const Row *row);
  Derivative *derivative, *by_hand; /* by_hand: NULL where nobody wrote one */
  double tolerance;                 /* between the derivatives, by the largest number of an array */
  /* The floor: additions and multiplications of the derivative that no arrangement saves, and bytes of its inputs and
     outputs. */
  double flops, bytes;
};

typedef struct Case {
  const char *name;  /* in the table */
  const char *model; /* in peers.py; NULL where the peers have none */
  void (*build)(Row *row);
  int64_t sizes[6];
} Case;

extern const Case fit_cases[];        /* gmm, lstm, ba, hand */
extern const Case gradbench_cases[];  /* the other problems of GradBench */
extern const Case network_cases[];    /* mlp, cnn, transformer */
extern const Case simulation_cases[]; /* bodies, heat, a Gaussian process */
extern const Case sparse_cases[];     /* Jacobians by rows */
extern const Case small_cases[];      /* functions of 3 to 12 numbers */

/* What an elementary function counts as in flops: about what its polynomial takes. */
enum { FUNCTION_FLOPS = 25 };

/* An array of the row's inputs, by the number that it has there, filled with scale * sin(..) + offset. */
void *row_input(Row *row, const char *name, char kind, int rank, const int64_t *sizes, double scale, double offset);
void row_output(Row *row, char kind, int64_t count);
int64_t array_count(const Array *array);
size_t array_bytes(const Array *array);
void *row_room(Row *row, int64_t n, size_t size);

#define INPUT(row, type, k) ((type *)(row)->inputs[k].data)

#endif
