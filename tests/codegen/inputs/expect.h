/* The check of the C programs here: it prints what does not hold, with the last error, and goes on; main returns
   `failed`. */
#ifndef EXPECT_H
#define EXPECT_H
#include "gradc.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed;

#define EXPECT(condition) \
  do { \
    if (!(condition)) { \
      fprintf(stderr, "%s:%d: not so: %s (last error: %s)\n", __FILE__, __LINE__, #condition, gradc_last_error()); \
      failed = 1; \
    } \
  } while (0)

#endif
