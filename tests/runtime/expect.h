// The two checks of the runtime's tests: each prints what it found and ends the program where it does not hold.
#ifndef EXPECT_H
#define EXPECT_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(condition) \
  do { \
    if (!(condition)) { \
      fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
      exit(1); \
    } \
  } while (0)

#define EXPECT_TEXT(got, wanted) \
  do { \
    if (strcmp(got, wanted)) { \
      fprintf(stderr, "%s:%d: got \"%s\", not \"%s\"\n", __FILE__, __LINE__, got, wanted); \
      exit(1); \
    } \
  } while (0)

#endif
