/* Reading .npy and .csv files, writing .npy. */
#include "driver/arrays.h"
#include "frontend/parse.h"
#include "ir/output.h"
#include <stdlib.h>
#include <string.h>

static bool bad_file(Session *s, const char *path, const char *reason) {
  diag_error(&s->diag, (Range){0}, "'%s' %s", path, reason);
  return false;
}

/* ---- .npy: magic, version, length, a Python dict as text, then the elements. */
typedef struct NpyKind {
  const char *descr; /* without the byte order */
  Kind kind;
  int bytes; /* of an element in the file */
} NpyKind;
static const NpyKind npy_kinds[] = {{"f8", KIND_F64, 8}, {"f4", KIND_F32, 4},  {"i8", KIND_I64, 8},
                                    {"i4", KIND_I32, 4}, {"b1", KIND_BOOL, 1}, {"i2", KIND_I32, 2},
                                    {"i1", KIND_I32, 1}, {"u1", KIND_I32, 1}};

static const char *after_key(const char *header, const char *key) {
  const char *p = strstr(header, key);
  return p ? p + strlen(key) + strspn(p + strlen(key), " :") : "";
}

static const NpyKind *npy_kind(const char *descr) {
  if (*descr == '\'' || *descr == '"')
    descr++;
  if (*descr != '<' && *descr != '|' && *descr != '=')
    return NULL;
  for (size_t i = 0; i < sizeof npy_kinds / sizeof *npy_kinds; i++)
    if (!strncmp(descr + 1, npy_kinds[i].descr, 2) && strchr("'\"", descr[3]))
      return &npy_kinds[i];
  return NULL;
}

/* "(3, 4)"; the number of elements must fit. */
static bool npy_shape(const char *p, Array *a) {
  int64_t count = 1;
  if (*p++ != '(')
    return false;
  for (;;) {
    p += strspn(p, " ,");
    if (*p == ')')
      return true;
    char *end;
    const long long n = strtoll(p, &end, 10);
    if (end == p || n < 0 || a->rank == MAX_RANK || (n && __builtin_mul_overflow(count, n, &count)) ||
        count > SOURCE_MAX_BYTES)
      return false;
    a->dims[a->rank++] = n;
    p = end;
  }
}

static void read_elements(Array *a, const NpyKind *k, const char *data) {
  const int64_t n = array_count(a);
  if (k->bytes == kind_bytes(k->kind)) {
    if (n)
      memcpy(a->data, data, (size_t)n * (size_t)k->bytes);
    return;
  }
  for (int64_t i = 0; i < n; i++) {
    int16_t wide;
    if (k->bytes == 2)
      memcpy(&wide, data + 2 * i, 2);
    else
      wide = k->descr[0] == 'u' ? (int16_t)(uint8_t)data[i] : (int16_t)(signed char)data[i];
    ((int32_t *)a->data)[i] = wide;
  }
}

static bool read_npy(Session *s, const Source *file, Array *a) {
  const unsigned char *bytes = (const unsigned char *)file->text;
  if (file->n < 12 || memcmp(bytes, "\x93NUMPY", 6) != 0)
    return bad_file(s, file->name, "is not a .npy file");
  const size_t start = bytes[6] == 1 ? 10 : 12;
  size_t length = bytes[8] | (size_t)bytes[9] << 8;
  if (start == 12)
    length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
  if (length > file->n - start)
    return bad_file(s, file->name, "ends inside its header");
  const char *header = arena_strndup(s->arena, file->text + start, length);
  const NpyKind *kind = npy_kind(after_key(header, "'descr'"));
  if (!kind)
    return bad_file(s, file->name,
                    "holds elements of a kind that is not supported: f8, f4, i8, i4, b1, i2, i1, u1 are");
  Array shape = {.kind = kind->kind};
  if (!npy_shape(after_key(header, "'shape'"), &shape))
    return bad_file(s, file->name, "has a shape that cannot be read");
  if (shape.rank > 1 && !strncmp(after_key(header, "'fortran_order'"), "True", 4))
    return bad_file(s, file->name, "is in Fortran order: save numpy.ascontiguousarray(x)");
  if (file->n - start - length < (size_t)array_count(&shape) * (size_t)kind->bytes)
    return bad_file(s, file->name, "ends before its last element");
  *a = array_new(s->arena, shape.kind, shape.rank, shape.dims);
  read_elements(a, kind, file->text + start + length);
  return true;
}

bool array_write_npy(Session *s, const char *path, const Array *a) {
  static const char *const descr[] = {
      [KIND_BOOL] = "|b1", [KIND_I32] = "<i4", [KIND_I64] = "<i8", [KIND_F32] = "<f4", [KIND_F64] = "<f8"};
  const char *shape = "";
  for (int i = 0; i < a->rank; i++)
    shape = arena_printf(s->arena, "%s%lld,%s", shape, (long long)a->dims[i], i + 1 < a->rank ? " " : "");
  const char *dict =
      arena_printf(s->arena, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr[a->kind], shape);
  /* The elements begin at a multiple of 64, after a newline. */
  const size_t header = (10 + strlen(dict) + 1 + 63) / 64 * 64 - 10;
  Output o;
  if (!output_open(&o, &s->diag, path))
    return false;
  fwrite("\x93NUMPY\x01\x00", 1, 8, o.file);
  fputc((int)(header & 255), o.file);
  fputc((int)(header >> 8 & 255), o.file);
  fprintf(o.file, "%-*s\n", (int)header - 1, dict);
  fwrite(a->data, (size_t)kind_bytes(a->kind), (size_t)array_count(a), o.file);
  return output_commit(&o, &s->diag, false);
}

/* ---- .csv: rows of numbers between commas, semicolons or blanks; a first line of names is left out. */
typedef struct Table {
  VEC(double) numbers;
  int64_t rows, columns;
} Table;

enum { ROW_BAD = -1 };

/* Appends the numbers of a line; how many, or ROW_BAD. */
static int64_t read_row(Arena *arena, Table *t, const char **at) {
  int64_t n = 0;
  const char *p = *at;
  for (;; n++) {
    p += strspn(p, " \t,;\r");
    if (!*p || *p == '\n' || *p == '#')
      break;
    char *end;
    const double x = strtod(p, &end);
    if (end == p || !strchr(" \t,;\r\n#", *end)) {
      *at = p;
      return ROW_BAD;
    }
    vec_push(arena, t->numbers, x);
    p = end;
  }
  p += strcspn(p, "\n");
  *at = p + (*p == '\n');
  return n;
}

static bool read_csv(Session *s, const Source *file, Array *a) {
  Table t = {0};
  const char *p = file->text;
  for (int line = 1; *p; line++) {
    const int64_t n = read_row(s->arena, &t, &p);
    if (n == ROW_BAD && line == 1) {
      t = (Table){0};
      p += strcspn(p, "\n");
      p += *p == '\n';
      continue;
    }
    if (n == ROW_BAD || (n && t.rows && n != t.columns)) {
      diag_error(&s->diag, (Range){0}, "'%s', line %d: %s", file->name, line,
                 n == ROW_BAD ? "not a number" : "not as many numbers as in the line before");
      return false;
    }
    if (n)
      t.rows++, t.columns = n;
  }
  *a = array_new(s->arena, KIND_F64, 2, (int64_t[]){t.rows, t.columns});
  if (t.numbers.n)
    memcpy(a->data, t.numbers.at, sizeof(double) * (size_t)t.numbers.n);
  return true;
}

bool array_read(Session *s, const char *path, Array *out) {
  const Source *file = source_read(s->arena, &s->diag, path);
  if (!file)
    return false;
  const size_t n = strlen(path);
  return n > 4 && !strcmp(path + n - 4, ".npy") ? read_npy(s, file, out) : read_csv(s, file, out);
}
