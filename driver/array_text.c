/* Printing arrays: numbers as Python writes them, brackets as NumPy sets them, the middle of long axes left out. */
#include "driver/arrays.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PRINT_ALL = 1000, EDGE = 3 }; /* NumPy's threshold and edgeitems */

static double rounded(double x, int digits, Kind kind) {
  char text[64];
  snprintf(text, sizeof text, "%.*e", digits - 1, x);
  return kind == KIND_F32 ? (double)strtof(text, NULL) : strtod(text, NULL);
}

/* The fewest digits that give what `most` digits give. */
static int fewest_digits(double x, int most, Kind kind) {
  const double wanted = rounded(x, most, kind);
  int digits = 1;
  while (digits < most && rounded(x, digits, kind) != wanted)
    digits++;
  return digits;
}

void number_text(char *text, size_t n, double x, Kind kind, int digits) {
  if (isnan(x) || isinf(x)) {
    snprintf(text, n, "%s", isnan(x) ? "nan" : x > 0 ? "inf" : "-inf");
    return;
  }
  const int enough = kind == KIND_F32 ? 9 : 17;
  const int shown = fewest_digits(x, digits && digits < enough ? digits : enough, kind);
  char scientific[64];
  snprintf(scientific, sizeof scientific, "%.*e", shown - 1, x);
  const int exponent = atoi(strchr(scientific, 'e') + 1); /* NOLINT(cert-err34-c): our own text */
  if (exponent < -4 || exponent >= 16)
    snprintf(text, n, "%s", scientific);
  else
    snprintf(text, n, "%.*f", shown - 1 > exponent ? shown - 1 - exponent : 1, rounded(x, shown, kind));
}

static void print_element(FILE *out, const Array *a, int64_t i, int digits) {
  char text[400];
  if (a->kind == KIND_BOOL) {
    fputs(array_int(a, i) ? "True" : "False", out);
  } else if (kind_is_int(a->kind)) {
    fprintf(out, "%lld", (long long)array_int(a, i));
  } else {
    number_text(text, sizeof text, array_float(a, i), a->kind, digits);
    fputs(text, out);
  }
}

typedef struct Printer {
  FILE *out;
  const Array *array;
  int digits, indent;
  bool shorten;
} Printer;

/* The sub-array along `axis` that begins at element `first`. */
static void print_axis(const Printer *p, int axis, int64_t first) {
  const Array *a = p->array;
  if (axis == a->rank) {
    print_element(p->out, a, first, p->digits);
    return;
  }
  int64_t stride = 1;
  for (int i = axis + 1; i < a->rank; i++)
    stride *= a->dims[i];
  const int64_t n = a->dims[axis];
  fputc('[', p->out);
  for (int64_t i = 0; i < n; i++) {
    if (i && axis + 1 == a->rank)
      fputs(", ", p->out);
    else if (i)
      fprintf(p->out, ",%.*s%*s", axis + 2 < a->rank ? 2 : 1, "\n\n", p->indent + axis + 1, "");
    if (p->shorten && n > (int64_t)2 * EDGE && i == EDGE) {
      fputs("...", p->out);
      i = n - EDGE - 1;
      continue;
    }
    print_axis(p, axis + 1, first + i * stride);
  }
  fputc(']', p->out);
}

void array_print(FILE *out, const char *name, const Array *a, int digits) {
  const Printer p = {out, a, digits, (int)strlen(name) + 3, array_count(a) > PRINT_ALL};
  fprintf(out, "%s = ", name);
  print_axis(&p, 0, 0);
  fputc('\n', out);
}
