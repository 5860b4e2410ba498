#include "problem.h"
#include <math.h>
#include <stdarg.h>

void read_error(Reader *in, const char *format, ...) {
  if (read_failed(in))
    return;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(in->error, sizeof in->error, format, arguments);
  va_end(arguments);
}

bool read_failed(const Reader *in) {
  return in->error[0] != 0;
}

void *read_room(Reader *in, int64_t n, size_t size) {
  void *room = read_failed(in) ? NULL : memory_get(in->memory, n, size);
  if (!room)
    read_error(in, "no memory");
  return room;
}

static const Json *member(Reader *in, const Json *object, const char *name, JsonKind kind, const char *what) {
  const Json *value = read_failed(in) ? NULL : json_member(object, name);
  if (value && value->kind == kind)
    return value;
  read_error(in, value ? "input: '%s' is not %s" : "input: there is no '%s', %s", name, what);
  return NULL;
}

double read_bare_number(Reader *in) {
  if (in->input->kind == JSON_NUMBER)
    return in->input->number;
  read_error(in, "input: a number expected");
  return 0;
}

double read_number(Reader *in, const char *name) {
  const Json *value = member(in, in->input, name, JSON_NUMBER, "a number");
  return value ? value->number : 0;
}

int64_t read_integer(Reader *in, const char *name, int64_t least) {
  const double x = read_number(in, name);
  if (!read_failed(in) && x >= (double)least && x < 0x1p53 && x == floor(x))
    return (int64_t)x;
  read_error(in, "input: '%s' is not a whole number from %lld", name, (long long)least);
  return least;
}

bool read_bool(Reader *in, const Json *object, const char *name) {
  const Json *value = member(in, object, name, JSON_BOOL, "a truth value");
  return value && value->truth;
}

const Json *read_object(Reader *in, const Json *object, const char *name) {
  return member(in, object, name, JSON_OBJECT, "an object");
}

/* Sizes that are not known yet become those of the first elements; those behind an empty axis 0. */
static void find_sizes(const Json *value, int rank, int64_t *sizes) {
  for (int axis = 0; axis < rank; axis++) {
    const bool array = value && value->kind == JSON_ARRAY;
    if (sizes[axis] < 0)
      sizes[axis] = array ? value->count : 0;
    value = array && value->count ? value->items : NULL;
  }
}

static bool copy_numbers(const Json *value, int rank, const int64_t *sizes, double **to) {
  if (rank == 0) {
    *(*to)++ = value->number;
    return value->kind == JSON_NUMBER;
  }
  if (value->kind != JSON_ARRAY || value->count != sizes[0])
    return false;
  for (int64_t i = 0; i < value->count; i++)
    if (!copy_numbers(&value->items[i], rank - 1, sizes + 1, to))
      return false;
  return true;
}

static int64_t count(int rank, const int64_t *sizes) {
  int64_t n = 1;
  for (int axis = 0; axis < rank; axis++)
    if (__builtin_mul_overflow(n, sizes[axis], &n))
      return -1;
  return n;
}

double *read_tensor(Reader *in, const Json *object, const char *name, int rank, int64_t *sizes) {
  const Json *value = member(in, object, name, JSON_ARRAY, "an array");
  if (!value)
    return NULL;
  find_sizes(value, rank, sizes);
  double *numbers = read_room(in, count(rank, sizes), sizeof *numbers), *to = numbers;
  if (!numbers || copy_numbers(value, rank, sizes, &to))
    return numbers;
  char shape[128] = "";
  for (int axis = 0, n = 0; axis < rank; axis++)
    n += snprintf(shape + n, sizeof shape - (size_t)n, axis ? ", %lld" : "%lld", (long long)sizes[axis]);
  read_error(in, "input: '%s' is not an array of numbers of shape [%s]", name, shape);
  return NULL;
}

int32_t *read_indices(Reader *in, const Json *object, const char *name, int rank, int64_t *sizes) {
  const double *numbers = read_tensor(in, object, name, rank, sizes);
  const int64_t n = count(rank, sizes);
  int32_t *indices = read_room(in, n, sizeof *indices);
  for (int64_t i = 0; indices && numbers && i < n; i++) {
    if (!(numbers[i] >= INT32_MIN && numbers[i] <= INT32_MAX) || numbers[i] != floor(numbers[i])) {
      read_error(in, "input: '%s' has a number that is no index", name);
      return NULL;
    }
    indices[i] = (int32_t)numbers[i];
  }
  return indices;
}
