// A sparse matrix against the dense one: rows in order, columns rising, no place twice, within the room that the header
// promises, the rest of which is 0; and the same numbers.
#include "gradc.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROOM = 1 << 16 };
static int32_t ptr[ROOM], col[ROOM];
static double val[ROOM], dense[ROOM];
static int failures;

static void fail(const char *what, const char *why, int64_t n) {
  printf("%s: %s (%lld)\n", what, why, (long long)n);
  failures++;
}

// Numbers that are never alike, from 0.5 to 1.5.
static void fill(double *x, int64_t n, double seed) {
  for (int64_t i = 0; i < n; i++)
    x[i] = 1 + 0.5 * sin(seed + 1.7 * (double)i + 0.3 * (double)i * (double)i);
}

static void clear(void) {
  for (int i = 0; i < ROOM; i++) {
    ptr[i] = col[i] = -7;
    val[i] = dense[i] = -7;
  }
}

static void compare(const char *what, int64_t rows, int64_t columns, int64_t room, int64_t used) {
  if (ptr[0] != 0 || ptr[rows] > room || (used >= 0 && ptr[rows] != used))
    fail(what, "entries", ptr[rows]);
  if (ptr[rows + 1] != -7 || col[room] != -7 || val[room] != -7)
    fail(what, "more is written than the header says", room);
  for (int64_t q = ptr[rows]; q < room; q++)
    if (col[q] != 0 || val[q] != 0)
      fail(what, "the rest is not 0", q);
  for (int64_t i = 0; i < rows; i++) {
    int64_t q = ptr[i];
    for (int64_t j = 0; j < columns; j++) {
      double x = 0, y = dense[i * columns + j];
      if (q < ptr[i + 1] && col[q] == j)
        x = val[q++];
      if (!(fabs(x - y) <= 1e-11 * (1 + fabs(y))))
        fail(what, "an entry differs in row", i);
    }
    if (q != ptr[i + 1])
      fail(what, "columns of row", i);
  }
}

static void good(int status) {
  if (status)
    fail(gradc_last_error(), "status", status);
}

static int report(void) {
  if (!failures)
    puts("alike");
  return failures != 0;
}
