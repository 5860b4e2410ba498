/* Text that grows in an arena, and sizes written into it with names of the caller's choice. */
#ifndef GRADC_IR_TEXT_H
#define GRADC_IR_TEXT_H
#include "ir/ir.h"

typedef struct Text {
  Arena *arena;
  VEC(char) chars;
} Text;

void text_add(Text *t, const char *s);
void text_printf(Text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *text_end(Text *t); /* ends it with a NUL */

/* The shortest number that reads back as v; inf, -0.0, nan, and nan(0x7ff8000000000001) for one that is not the usual.
 */
void text_float(Text *t, Kind k, double v);
/* In double quotes, with escapes \" \\ \n \t \xHH. */
void text_string(Text *t, const char *s);
bool is_identifier(const char *s);
/* An identifier as it is, anything else as a string. */
void text_name(Text *t, const char *s);

/* How values are named, and in which order they are to stand in a size; the text depends on nothing else. */
typedef struct SizeNames {
  const char *(*name)(const Value *v, void *arg);
  unsigned (*order)(const Value *v, void *arg);
  void *arg;
} SizeNames;

/* "n * (n + 1) / 2": an expression of + - * / (rounding down), parentheses, unary minus, that stands for the very same
   polynomial; "overflow" for the overflow size. */
void size_write(Module *m, Text *out, const Size *s, const SizeNames *names);
/* "f64[n, 3]" */
void type_write(Module *m, Text *out, Type t, const SizeNames *names);
#endif
