#include "row.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void *row_room(Row *row, int64_t n, size_t size) {
  void *room = memory_get(row->memory, n, size);
  if (!room) {
    fputs("bench: no memory\n", stderr);
    exit(1);
  }
  return room;
}

int64_t array_count(const Array *array) {
  int64_t n = 1;
  for (int axis = 0; axis < array->rank; axis++)
    n *= array->sizes[axis];
  return n;
}

size_t array_bytes(const Array *array) {
  return (size_t)array_count(array) * (array->kind == 'd' ? sizeof(double) : sizeof(float));
}

void *row_input(Row *row, const char *name, char kind, int rank, const int64_t *sizes, double scale, double offset) {
  const int number = row->input_count++;
  Array *array = &row->inputs[number];
  *array = (Array){.name = name, .kind = kind, .rank = rank};
  for (int axis = 0; axis < rank; axis++)
    array->sizes[axis] = sizes[axis];
  const int64_t n = array_count(array);
  array->data = row_room(row, n, sizeof(double));
  for (int64_t i = 0; i < n; i++) {
    const double value = scale * sin(1.0 + 12.9898 * (double)i + 4.1 * number + 0.37 * (double)(i % 7)) + offset;
    if (kind == 'd')
      ((double *)array->data)[i] = value;
    else if (kind == 'f')
      ((float *)array->data)[i] = (float)value;
    else
      ((int32_t *)array->data)[i] = (int32_t)value;
  }
  row->bytes += (double)array_bytes(array);
  return array->data;
}

void row_output(Row *row, char kind, int64_t count) {
  Array *array = &row->outputs[row->output_count++];
  *array = (Array){.kind = kind, .rank = 1, .sizes = {count}};
  row->bytes += (double)array_bytes(array);
}
