// RUN: %cc %s -o %t %libs
// RUN: env ASAN_OPTIONS=allocator_may_return_null=1 %t
// RUN: %if valgrind && !asan %{ valgrind -q --error-exitcode=9 --leak-check=full %t %}
// Growing storage: in a buffer alone, over chunks, marks, tapes that grow, reruns, and what happens when memory is
// short.
#include "expect.h"
#include "internal.h"

static _Alignas(64) char context[GRADC_CONTEXT_BYTES];

static int aligned(const void *pointer) {
  return pointer && (uintptr_t)pointer % 64 == 0;
}

// Blocks are filled with their own number, and later looked at: none may overlap another.
static void fill(void *block, int64_t bytes, int number) {
  memset(block, number, (size_t)bytes);
}
static int holds(const void *block, int64_t bytes, int number) {
  for (int64_t i = 0; i < bytes; i++) {
    if (((const unsigned char *)block)[i] != (unsigned char)number)
      return 0;
  }
  return 1;
}

static void buffer_alone(void) {
  static _Alignas(64) char buffer[640];
  gradc_rt_open(context, buffer, sizeof buffer, 0);
  void *start = gradc_rt_mark(context);
  EXPECT(start == buffer);
  for (int i = 0; i < 10; i++)
    EXPECT(gradc_rt_push(context, 64 - i) == buffer + (size_t)64 * (size_t)i);
  EXPECT(gradc_rt_push(context, 1) == NULL);
  EXPECT(aligned(gradc_rt_push(context, 0)));
  gradc_rt_pop(context, start);
  EXPECT(gradc_rt_push(context, 641) == NULL);
  EXPECT(gradc_rt_push(context, -1) == NULL);
  EXPECT(gradc_rt_push(context, INT64_MAX) == NULL);
  EXPECT(gradc_rt_push(context, 640) == buffer);
  gradc_rt_close(context);
}

// A caller's memory begins and ends anywhere.
static void unaligned_buffer(void) {
  static _Alignas(64) char buffer[300];
  gradc_rt_open(context, buffer + 1, 299, 0);
  EXPECT(gradc_rt_push(context, 192) == buffer + 64);
  EXPECT(gradc_rt_push(context, 1) == NULL);
  gradc_rt_close(context);
  for (int64_t bytes = -1; bytes < 127; bytes++) {
    gradc_rt_open(context, buffer + 1, bytes, 0);
    EXPECT(gradc_rt_push(context, 1) == NULL);
    gradc_rt_close(context);
  }
  gradc_rt_open(context, NULL, 0, 0);
  EXPECT(gradc_rt_push(context, 1) == NULL);
  gradc_rt_pop(context, gradc_rt_mark(context));
  gradc_rt_close(context);
}

static void chunks_and_marks(void) {
  static _Alignas(64) char buffer[256];
  enum { count = 2000 };
  static void *blocks[count], *marks[count];
  gradc_rt_open(context, buffer, sizeof buffer, 1);
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < count; i++) {
      marks[i] = gradc_rt_mark(context);
      blocks[i] = gradc_rt_push(context, i % 777);
      EXPECT(aligned(blocks[i]));
      fill(blocks[i], i % 777 ? i % 777 : 0, i);
    }
    for (int i = count; i-- > 0;) {
      EXPECT(holds(blocks[i], i % 777, i));
      gradc_rt_pop(context, marks[i]);
      EXPECT(gradc_rt_mark(context) == marks[i]);
    }
    EXPECT(gradc_rt_mark(context) == buffer);
  }
  // Far back in one step, and on from there.
  for (int i = 0; i < count; i++) {
    marks[i] = gradc_rt_mark(context);
    EXPECT(gradc_rt_push(context, 1000) != NULL);
  }
  gradc_rt_pop(context, marks[count / 2]);
  EXPECT(gradc_rt_mark(context) == marks[count / 2]);
  EXPECT(aligned(gradc_rt_push(context, 1 << 20)));
  gradc_rt_close(context);
}

// A pop back and forth over the end of a chunk takes no new memory.
static void chunks_are_kept(void) {
  gradc_rt_open(context, NULL, 0, 1);
  void *start = gradc_rt_mark(context);
  void *first = gradc_rt_push(context, 50000);
  gradc_rt_pop(context, start);
  for (int i = 0; i < 100; i++) {
    EXPECT(gradc_rt_push(context, 50000) == first);
    gradc_rt_pop(context, start);
  }
  gradc_rt_close(context);
  gradc_rt_open(context, NULL, 0, 1);
  EXPECT(gradc_rt_push(context, 50000) == first);
  gradc_rt_close(context);
}

// Two tapes of records that grow in turn, as a `while` with two recorded values makes them.
static void tapes(int may_allocate, char *buffer, int64_t bytes, int records) {
  gradc_rt_open(context, buffer, bytes, may_allocate);
  double *x = NULL;
  int32_t *y = NULL;
  int64_t x_capacity = 0, y_capacity = 0;
  int x_moves = 0;
  for (int i = 0; i < records; i++) {
    int64_t need = (int64_t)(i + 1) * (int64_t)sizeof *x;
    if (need > x_capacity) {
      double *grown = gradc_rt_grow(context, x, &x_capacity, need);
      EXPECT(aligned(grown) && x_capacity >= need);
      x_moves += grown != x;
      x = grown;
    }
    x[i] = i;
    need = (int64_t)(i + 1) * (int64_t)sizeof *y;
    if (need > y_capacity) {
      y = gradc_rt_grow(context, y, &y_capacity, need);
      EXPECT(aligned(y) && y_capacity >= need);
    }
    y[i] = -i;
  }
  for (int i = records; i-- > 0;)
    EXPECT(x[i] == i && y[i] == -i);
  EXPECT(x_moves < 40);
  gradc_rt_close(context);
}

// A lone tape is extended where it stands, to the end of a buffer that may not be left, and stands when that is short.
static void short_buffer(void) {
  static _Alignas(64) char buffer[1024];
  gradc_rt_open(context, buffer, sizeof buffer, 0);
  char *tape = NULL;
  int64_t capacity = 0;
  for (int64_t need = 1; need <= 1024; need++) {
    char *grown = gradc_rt_grow(context, tape, &capacity, need);
    EXPECT(grown == buffer && capacity >= need && capacity <= 1024);
    tape = grown;
    tape[need - 1] = (char)need;
  }
  int64_t before = capacity;
  EXPECT(gradc_rt_grow(context, tape, &capacity, 1025) == NULL);
  EXPECT(gradc_rt_grow(context, tape, &capacity, -1) == NULL);
  EXPECT(gradc_rt_grow(context, tape, &capacity, INT64_MAX) == NULL);
  EXPECT(capacity == before && tape[1023] == 0 && tape[10] == 11);
  gradc_rt_close(context);
}

// An outer tape stands while each of its iterations reruns an inner loop with a local tape.
static void reruns(void) {
  static _Alignas(64) char buffer[128];
  gradc_rt_open(context, buffer, sizeof buffer, 1);
  double *outer = gradc_rt_push(context, 1000 * (int64_t)sizeof *outer);
  EXPECT(aligned(outer));
  for (int i = 0; i < 1000; i++)
    outer[i] = i;
  for (int i = 0; i < 1000; i++) {
    void *mark = gradc_rt_mark(context);
    double *inner = NULL;
    int64_t capacity = 0;
    for (int j = 0; j < 3 * i; j++) {
      if ((j + 1) * (int64_t)sizeof *inner > capacity)
        inner = gradc_rt_grow(context, inner, &capacity, (j + 1) * (int64_t)sizeof *inner);
      EXPECT(inner != NULL);
      inner[j] = j;
    }
    for (int j = 3 * i; j-- > 0;)
      EXPECT(inner[j] == j);
    gradc_rt_pop(context, mark);
  }
  for (int i = 0; i < 1000; i++)
    EXPECT(outer[i] == i);
  gradc_rt_close(context);
}

static void no_memory(void) {
  gradc_rt_open(context, NULL, 0, 1);
  void *block = gradc_rt_push(context, 100);
  void *mark = gradc_rt_mark(context);
  EXPECT(gradc_rt_push(context, INT64_MAX / 4) == NULL);
  EXPECT(gradc_rt_mark(context) == mark);
  int64_t capacity = 100;
  EXPECT(gradc_rt_grow(context, block, &capacity, INT64_MAX / 4) == NULL);
  EXPECT(capacity == 100);
  gradc_rt_close(context);
}

int main(void) {
  static _Alignas(64) char buffer[1 << 20];
  buffer_alone();
  unaligned_buffer();
  chunks_and_marks();
  chunks_are_kept();
  tapes(1, NULL, 0, 100000);
  tapes(1, buffer, 1000, 100000);
  tapes(0, buffer, sizeof buffer, 20000);
  short_buffer();
  reruns();
  no_memory();
  gradc_release();
  return 0;
}
