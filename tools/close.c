/* Compares text with the text that a test expects, numbers within a tolerance.
   usage: close [--tolerance=T] [--absolute=A] FILE [PREFIX] < OUTPUT
   What is expected stands in the lines of FILE that read "// PREFIX: text" (PREFIX is EXPECT where none is given). Both
   texts are taken as words: brackets, commas, '=' and ':' are words of their own, layout means nothing.  Words that are
   not numbers must be equal; a number x must be within T |y| (1e-9 by default) or A (0) of the expected y; infinities
   and NaN equal themselves.  What differs is printed; exit status 0, 1, or 2 for a wrong command line. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_REPORTED = 10 };

typedef struct Text {
  char *at;
  size_t n, capacity;
} Text;

typedef struct Word {
  const char *start;
  size_t length;
  double number;
  int is_number;
} Word;

static void append(Text *t, const char *from, size_t n) {
  if (t->n + n + 1 > t->capacity) {
    t->capacity = 2 * (t->n + n + 1);
    t->at = realloc(t->at, t->capacity);
    if (!t->at) {
      fputs("close: no memory\n", stderr);
      exit(2);
    }
  }
  memcpy(t->at + t->n, from, n);
  t->n += n;
  t->at[t->n] = 0;
}

static Text read_all(FILE *in) {
  Text t = {0};
  char block[4096];
  size_t n;
  append(&t, "", 0);
  while ((n = fread(block, 1, sizeof block, in)) > 0)
    append(&t, block, n);
  return t;
}

/* The text of the lines marked by `prefix`, in order; `found` says whether there is one. */
static Text marked_lines(const Text *file, const char *prefix, int *found) {
  Text t = {0};
  const size_t length = strlen(prefix);
  append(&t, "", 0);
  *found = 0;
  for (const char *line = file->at; *line;) {
    const char *end = line + strcspn(line, "\n"), *p = line + strspn(line, " \t/#");
    if (!strncmp(p, prefix, length) && p[length] == ':') {
      append(&t, p + length + 1, (size_t)(end - p) - length - 1);
      append(&t, "\n", 1);
      *found = 1;
    }
    line = *end ? end + 1 : end;
  }
  return t;
}

/* A word of length 0 at the end. */
static Word next_word(const char **p) {
  static const char alone[] = "[](),=:";
  char number[64];
  while (isspace((unsigned char)**p))
    (*p)++;
  Word w = {.start = *p};
  if (**p && strchr(alone, **p))
    w.length = 1;
  else
    while ((*p)[w.length] && !isspace((unsigned char)(*p)[w.length]) && !strchr(alone, (*p)[w.length]))
      w.length++;
  *p += w.length;
  if (w.length && w.length < sizeof number) {
    char *end;
    memcpy(number, w.start, w.length);
    number[w.length] = 0;
    w.number = strtod(number, &end);
    w.is_number = !*end;
  }
  return w;
}

static int same(const Word *actual, const Word *expected, double tolerance, double absolute) {
  if (!actual->is_number || !expected->is_number)
    return actual->length == expected->length && !memcmp(actual->start, expected->start, actual->length);
  const double x = actual->number, y = expected->number;
  return x == y || (isnan(x) && isnan(y)) ||
         (isfinite(x) && isfinite(y) && (fabs(x - y) <= tolerance * fabs(y) || fabs(x - y) <= absolute));
}

/* The number of words that differ; a word too many or too few ends the comparison. */
static int compare(const char *actual, const char *expected, double tolerance, double absolute) {
  Word name = {.start = ""}, before = name;
  int ndifferent = 0;
  for (long nth = 0;; nth++) {
    const Word a = next_word(&actual), e = next_word(&expected);
    if (!a.length && !e.length)
      return ndifferent;
    if (e.length == 1 && *e.start == '=') {
      name = before;
      nth = -1;
    }
    before = e;
    if (same(&a, &e, tolerance, absolute))
      continue;
    if (ndifferent++ < MOST_REPORTED) {
      fprintf(stderr, "close: %.*s, word %ld: '%.*s' where '%.*s' is expected", (int)name.length, name.start, nth,
              (int)a.length, a.start, (int)e.length, e.start);
      if (a.is_number && e.is_number)
        fprintf(stderr, ": off by %.2e, relative %.2e", fabs(a.number - e.number),
                fabs(a.number - e.number) / fabs(e.number));
      fputc('\n', stderr);
    }
    if (!a.length || !e.length)
      return ndifferent;
  }
}

int main(int argc, char **argv) {
  double tolerance = 1e-9, absolute = 0;
  int i = 1;
  for (; i < argc && argv[i][0] == '-'; i++)
    if (sscanf(argv[i], "--tolerance=%lf", &tolerance) != 1 && sscanf(argv[i], "--absolute=%lf", &absolute) != 1)
      break;
  FILE *in = argc - i == 1 || argc - i == 2 ? fopen(argv[i], "r") : NULL;
  if (!in) {
    fputs("usage: close [--tolerance=T] [--absolute=A] FILE [PREFIX] < OUTPUT\n", stderr);
    return 2;
  }
  const char *prefix = argc - i == 2 ? argv[i + 1] : "EXPECT";
  int found;
  Text file = read_all(in), actual = read_all(stdin), expected = marked_lines(&file, prefix, &found);
  fclose(in);
  if (!found)
    fprintf(stderr, "close: %s has no line '// %s: ..'\n", argv[i], prefix);
  const int ndifferent = found ? compare(actual.at, expected.at, tolerance, absolute) : 0;
  if (ndifferent)
    fprintf(stderr, "close: %d different; the whole output:\n%s", ndifferent, actual.at);
  free(file.at);
  free(actual.at);
  free(expected.at);
  return !found ? 2 : ndifferent != 0;
}
