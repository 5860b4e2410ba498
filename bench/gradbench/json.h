/* JSON, read into a tree and written piece by piece. */
#ifndef GRADBENCH_JSON_H
#define GRADBENCH_JSON_H
#include "memory.h"
#include <stdbool.h>
#include <stdio.h>

typedef enum JsonKind { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT } JsonKind;

typedef struct Json {
  JsonKind kind;
  int64_t count; /* of items or members */
  union {
    bool truth;
    double number;
    const char *text;
    const struct Json *items;
    const struct JsonMember *members;
  };
} Json;

typedef struct JsonMember {
  const char *name;
  Json value;
} JsonMember;

/* The value that a text of that length is, which has a 0 after it; else NULL and what is wrong with it.  NaN, Infinity
   and -Infinity are read as numbers. */
const Json *json_read(Memory *memory, const char *text, size_t length, const char **error);

/* The last member of that name; NULL where there is none, or where the value is no object. */
const Json *json_member(const Json *object, const char *name);

/* With as many digits as read back to the same number; null where it is not finite, for which JSON has no word. */
void json_write_number(FILE *to, double x);
void json_write_string(FILE *to, const char *text);
/* As nested arrays, row-major. */
void json_write_tensor(FILE *to, const double *x, int rank, const int64_t *sizes);

#endif
