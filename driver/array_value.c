/* What stands after name= on the command line:
       0.5  true  [[1, 2], [3, 4]]      numbers, nested in brackets
       x.npy  x.csv                     files
       rand(3, 4)  randn  zeros  ones  iota      made up: with a shape, or of the shape that the sizes say
       rand(3; lo, hi)                  between bounds: [lo, hi), for integers too */
#include "driver/arrays.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers made up: splitmix64, so that a seed gives the same numbers everywhere */
static uint64_t random_bits(Random *r) {
  uint64_t z = r->state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

double random_uniform(Random *r) {
  return (double)(random_bits(r) >> 11) * 0x1p-53;
}

double random_normal(Random *r) {
  const double u = 1 - random_uniform(r), v = random_uniform(r);
  return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

void array_set(Array *a, int64_t i, double x) {
  switch (a->kind) {
  case KIND_BOOL: ((uint8_t *)a->data)[i] = x != 0; break;
  case KIND_I32: ((int32_t *)a->data)[i] = (int32_t)x; break;
  case KIND_I64: ((int64_t *)a->data)[i] = (int64_t)x; break;
  case KIND_F32: ((float *)a->data)[i] = (float)x; break;
  case KIND_F64: ((double *)a->data)[i] = x; break;
  }
}

void array_fill(Array *a, Fill fill, double low, double high, Random *r) {
  const int64_t n = array_count(a);
  for (int64_t i = 0; i < n; i++)
    switch (fill) {
    case FILL_RAND:
      array_set(a, i,
                kind_is_float(a->kind) ? low + (high - low) * random_uniform(r)
                                       : floor(low + (high - low) * random_uniform(r)));
      break;
    case FILL_RANDN: array_set(a, i, random_normal(r)); break;
    case FILL_ONES: array_set(a, i, 1); break;
    case FILL_IOTA: array_set(a, i, (double)i); break;
    case FILL_ZEROS:
    case FILL_NONE: array_set(a, i, 0); break;
    }
}

bool array_fits(const Array *shape) {
  void *p = malloc((size_t)array_count(shape) * (size_t)kind_bytes(shape->kind) + 1);
  free(p);
  return p != NULL;
}

/* ---- inline numbers */
typedef struct Reader {
  Session *session;
  const Given *given;
  const char *at;
  VEC(double) numbers;
  VEC(int64_t) integers; /* the same, exact, where all are integers */
  bool all_integers, all_bools;
  int rank; /* -1 until the first number */
  int64_t dims[MAX_RANK];
} Reader;

static bool malformed(const Reader *r, const char *reason) {
  usage_error("argument '%s': %s in '%s'", r->given->name, reason, r->given->text);
  return false;
}

static void skip_blanks(Reader *r) {
  r->at += strspn(r->at, " \t\n");
}

static bool read_number(Reader *r) {
  static const struct {
    const char *name;
    double value;
  } words[] = {{"true", 1}, {"false", 0}, {"True", 1}, {"False", 0}};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (!strncmp(r->at, words[i].name, strlen(words[i].name))) {
      r->at += strlen(words[i].name);
      vec_push(r->session->arena, r->numbers, words[i].value);
      vec_push(r->session->arena, r->integers, (int64_t)words[i].value);
      return true;
    }
  char *end, *integer_end;
  const double x = strtod(r->at, &end);
  errno = 0;
  const long long n = strtoll(r->at, &integer_end, 10);
  if (end == r->at)
    return malformed(r, "a number is missing");
  r->all_bools = false;
  r->all_integers &= integer_end == end && !errno;
  r->at = end;
  vec_push(r->session->arena, r->numbers, x);
  vec_push(r->session->arena, r->integers, (int64_t)n);
  return true;
}

static bool read_nested(Reader *r, int depth) {
  skip_blanks(r);
  if (*r->at != '[') {
    if (r->rank < 0)
      r->rank = depth;
    return r->rank == depth ? read_number(r) : malformed(r, "rows are not alike");
  }
  if (depth == MAX_RANK)
    return malformed(r, "too many brackets");
  r->at++;
  int64_t n = 0;
  for (;; n++) {
    skip_blanks(r);
    if (*r->at == ']')
      break;
    if (n && *r->at++ != ',')
      return malformed(r, "a comma is missing");
    if (!read_nested(r, depth + 1))
      return false;
    skip_blanks(r);
  }
  r->at++;
  if (r->rank < 0)
    r->rank = depth + 1; /* empty */
  if (r->rank <= depth)
    return malformed(r, "rows are not alike");
  if (r->dims[depth] >= 0 && r->dims[depth] != n)
    return malformed(r, "rows are not of one length");
  r->dims[depth] = n;
  return true;
}

static int parse_numbers(Session *s, Given *g) {
  Reader r = {.session = s, .given = g, .at = g->text, .all_integers = true, .all_bools = true, .rank = -1};
  for (int i = 0; i < MAX_RANK; i++)
    r.dims[i] = -1;
  if (!read_nested(&r, 0))
    return EXIT_USAGE;
  skip_blanks(&r);
  if (*r.at) {
    malformed(&r, "something follows the value");
    return EXIT_USAGE;
  }
  const bool empty = r.numbers.n == 0;
  g->array = array_new(s->arena,
                       empty || !r.all_integers ? KIND_F64
                       : r.all_bools            ? KIND_BOOL
                                                : KIND_I64,
                       r.rank, r.dims);
  for (int i = 0; i < r.numbers.n; i++)
    if (g->array.kind == KIND_I64)
      ((int64_t *)g->array.data)[i] = r.integers.at[i];
    else
      array_set(&g->array, i, r.numbers.at[i]);
  return EXIT_DONE;
}

/* ---- made up: name, name(shape), name(shape; low, high) */
static bool parse_integer(Reader *r, int64_t *out) {
  skip_blanks(r);
  char *end;
  *out = strtoll(r->at, &end, 10);
  if (end == r->at)
    return malformed(r, "a number is missing");
  r->at = end;
  skip_blanks(r);
  return true;
}

static bool parse_shape(Reader *r, Given *g) {
  int64_t count = 1;
  while (*r->at != ')' && *r->at != ';') {
    int64_t n;
    if (!parse_integer(r, &n))
      return false;
    if (n < 0 || g->array.rank == MAX_RANK || __builtin_mul_overflow(count, n, &count) || count > (int64_t)1 << 40)
      return malformed(r, "a shape that cannot be");
    g->array.dims[g->array.rank++] = n;
    g->shaped = true;
    if (*r->at == ',')
      r->at++;
    else if (*r->at != ')' && *r->at != ';')
      return malformed(r, "a ) is missing");
  }
  return true;
}

static bool parse_fill(Reader *r, Given *g) {
  g->low = 0;
  g->high = 1;
  if (*r->at != '(')
    return !*r->at || malformed(r, "something follows the value");
  r->at++;
  skip_blanks(r);
  if (!parse_shape(r, g))
    return false;
  if (*r->at == ';') {
    r->at++;
    if (!parse_integer(r, &g->low))
      return false;
    if (*r->at++ != ',')
      return malformed(r, "a second bound is missing");
    if (!parse_integer(r, &g->high))
      return false;
  }
  return (*r->at == ')' && !r->at[1]) || malformed(r, "a ) is missing");
}

static Fill fill_named(const char *text, size_t n) {
  static const char *const names[] = {
      [FILL_RAND] = "rand", [FILL_RANDN] = "randn", [FILL_ZEROS] = "zeros", [FILL_ONES] = "ones", [FILL_IOTA] = "iota"};
  for (int i = FILL_RAND; i <= FILL_IOTA; i++)
    if (strlen(names[i]) == n && !strncmp(text, names[i], n))
      return (Fill)i;
  return FILL_NONE;
}

static bool ends_in(const char *text, const char *end) {
  const size_t n = strlen(text), m = strlen(end);
  return n > m && !strcmp(text + n - m, end);
}

int given_parse(Session *s, Given *g) {
  const size_t word = strspn(g->text, "abcdefghijklmnopqrstuvwxyz");
  g->fill = fill_named(g->text, word);
  if (g->fill != FILL_NONE) {
    Reader r = {.session = s, .given = g, .at = g->text + word};
    return parse_fill(&r, g) ? EXIT_DONE : EXIT_USAGE;
  }
  g->from_table = ends_in(g->text, ".csv");
  if (g->from_table || ends_in(g->text, ".npy"))
    return array_read(s, g->text, &g->array) ? EXIT_DONE : EXIT_INPUT;
  return parse_numbers(s, g);
}
