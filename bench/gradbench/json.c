#include "json.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 64 };

/* An array's or object's elements pile up in `pile` while it is read, above those of what surrounds it. */
typedef struct Parser {
  Memory *memory;
  const char *at, *end;
  const char *error; /* the first */
  JsonMember *pile;
  size_t piled, room;
  int depth;
} Parser;

static bool read_value(Parser *p, Json *value);

static bool fail(Parser *p, const char *error) {
  if (!p->error)
    p->error = error;
  return false;
}

static void skip_blanks(Parser *p) {
  while (p->at < p->end && (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r'))
    p->at++;
}

static bool take(Parser *p, const char *word) {
  const size_t n = strlen(word);
  if ((size_t)(p->end - p->at) < n || memcmp(p->at, word, n) != 0)
    return false;
  p->at += n;
  return true;
}

/* -- Strings */

static bool read_hex(Parser *p, unsigned *code) {
  *code = 0;
  for (int i = 0; i < 4; i++, p->at++) {
    const char c = p->at < p->end ? *p->at : ' ';
    const char *digits = "0123456789abcdef", *digit = c ? strchr(digits, c | (c >= 'A' && c <= 'F' ? 32 : 0)) : NULL;
    if (!digit)
      return fail(p, "four hexadecimal digits expected after \\u");
    *code = *code * 16 + (unsigned)(digit - digits);
  }
  return true;
}

/* A code point as UTF-8; the two halves of one beyond 16 bits as the one that they are. */
static bool read_code_point(Parser *p, char **to) {
  unsigned code, low;
  if (!read_hex(p, &code))
    return false;
  if (code >= 0xd800 && code < 0xdc00) {
    if (!take(p, "\\u") || !read_hex(p, &low) || low < 0xdc00 || low > 0xdfff)
      return fail(p, "half a character in a string");
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  } else if (code >= 0xdc00 && code < 0xe000) {
    return fail(p, "half a character in a string");
  }
  char *s = *to;
  if (code < 0x80) {
    *s++ = (char)code;
  } else {
    const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};
    *s++ = (char)(lead[more] | code >> 6 * more);
    for (int i = more - 1; i >= 0; i--)
      *s++ = (char)(0x80 | (code >> 6 * i & 0x3f));
  }
  *to = s;
  return true;
}

static bool read_escape(Parser *p, char **to) {
  static const char names[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
  const char c = p->at < p->end ? *p->at++ : 0;
  if (c == 'u')
    return read_code_point(p, to);
  const char *name = c ? strchr(names, c) : NULL;
  if (!name)
    return fail(p, "an unknown escape in a string");
  *(*to)++ = means[name - names];
  return true;
}

/* What an escape stands for is never longer than the escape. */
static bool read_string(Parser *p, const char **text) {
  const char *start = ++p->at, *stop = start;
  while (stop < p->end && *stop != '"')
    stop += *stop == '\\' && stop + 1 < p->end ? 2 : 1;
  char *to = memory_get(p->memory, stop - start + 1, 1);
  if (!to)
    return fail(p, "no memory");
  *text = to;
  while (p->at < p->end && *p->at != '"') {
    if ((unsigned char)*p->at < 0x20)
      return fail(p, "a control character in a string");
    if (*p->at != '\\')
      *to++ = *p->at++;
    else if (p->at++, !read_escape(p, &to))
      return false;
  }
  if (p->at == p->end)
    return fail(p, "a string without an end");
  *to = 0;
  p->at++;
  return true;
}

/* -- Numbers */

static size_t digits(Parser *p) {
  const char *start = p->at;
  while (p->at < p->end && *p->at >= '0' && *p->at <= '9')
    p->at++;
  return (size_t)(p->at - start);
}

static bool read_number(Parser *p, Json *value) {
  const char *start = p->at;
  value->kind = JSON_NUMBER;
  const bool minus = take(p, "-");
  if (take(p, "Infinity")) {
    value->number = minus ? -INFINITY : INFINITY;
    return true;
  }
  const bool zero = p->at < p->end && *p->at == '0';
  const size_t whole = digits(p);
  if (!whole || (zero && whole > 1))
    return fail(p, "a value expected");
  if (take(p, ".") && !digits(p))
    return fail(p, "a digit expected after the point");
  if (take(p, "e") || take(p, "E")) {
    if (!take(p, "+"))
      take(p, "-");
    if (!digits(p))
      return fail(p, "a digit expected in an exponent");
  }
  value->number = strtod(start, NULL);
  return true;
}

/* -- Arrays and objects */

static bool push(Parser *p, const char *name, const Json *value) {
  if (p->piled == p->room) {
    const size_t room = p->room ? 2 * p->room : 64;
    JsonMember *pile = realloc(p->pile, room * sizeof *pile);
    if (!pile)
      return fail(p, "no memory");
    p->pile = pile;
    p->room = room;
  }
  p->pile[p->piled++] = (JsonMember){name, *value};
  return true;
}

/* Takes from the pile what is above `base`. */
static bool collect(Parser *p, size_t base, Json *value) {
  value->count = (int64_t)(p->piled - base);
  if (value->kind == JSON_OBJECT) {
    JsonMember *members = memory_get(p->memory, value->count, sizeof *members);
    if (!members)
      return fail(p, "no memory");
    for (int64_t i = 0; i < value->count; i++)
      members[i] = p->pile[base + (size_t)i];
    value->members = members;
  } else {
    Json *items = memory_get(p->memory, value->count, sizeof *items);
    if (!items)
      return fail(p, "no memory");
    for (int64_t i = 0; i < value->count; i++)
      items[i] = p->pile[base + (size_t)i].value;
    value->items = items;
  }
  p->piled = base;
  return true;
}

static bool read_name(Parser *p, const char **name) {
  skip_blanks(p);
  if (p->at == p->end || *p->at != '"')
    return fail(p, "a member's name expected");
  if (!read_string(p, name))
    return false;
  skip_blanks(p);
  return take(p, ":") || fail(p, "':' expected");
}

static bool read_elements(Parser *p, Json *value, const char *close) {
  const size_t base = p->piled;
  p->at++;
  if (++p->depth > DEEPEST)
    return fail(p, "nested too deeply");
  skip_blanks(p);
  for (bool first = true; !take(p, close); first = false) {
    Json item;
    const char *name = NULL;
    if (!first && !take(p, ","))
      return fail(p, value->kind == JSON_OBJECT ? "',' or '}' expected" : "',' or ']' expected");
    if ((value->kind == JSON_OBJECT && !read_name(p, &name)) || !read_value(p, &item) || !push(p, name, &item))
      return false;
    skip_blanks(p);
  }
  p->depth--;
  return collect(p, base, value);
}

static bool read_value(Parser *p, Json *value) {
  skip_blanks(p);
  *value = (Json){.kind = JSON_NULL};
  switch (p->at < p->end ? *p->at : 0) {
  case '{': value->kind = JSON_OBJECT; return read_elements(p, value, "}");
  case '[': value->kind = JSON_ARRAY; return read_elements(p, value, "]");
  case '"': value->kind = JSON_STRING; return read_string(p, &value->text);
  case 'n': return take(p, "null") || fail(p, "a value expected");
  case 't':
  case 'f':
    value->kind = JSON_BOOL;
    value->truth = *p->at == 't';
    return take(p, value->truth ? "true" : "false") || fail(p, "a value expected");
  case 'N':
    value->kind = JSON_NUMBER;
    value->number = NAN;
    return take(p, "NaN") || fail(p, "a value expected");
  default: return read_number(p, value);
  }
}

const Json *json_read(Memory *memory, const char *text, size_t length, const char **error) {
  Parser p = {.memory = memory, .at = text, .end = text + length};
  Json *value = memory_get(memory, 1, sizeof *value);
  if (!value)
    fail(&p, "no memory");
  else if (read_value(&p, value)) {
    skip_blanks(&p);
    if (p.at < p.end)
      fail(&p, "more than one value");
  }
  free(p.pile);
  *error = p.error;
  return p.error ? NULL : value;
}

const Json *json_member(const Json *object, const char *name) {
  if (object && object->kind == JSON_OBJECT)
    for (int64_t i = object->count - 1; i >= 0; i--)
      if (!strcmp(object->members[i].name, name))
        return &object->members[i].value;
  return NULL;
}

/* -- Writing */

void json_write_number(FILE *to, double x) {
  if (isfinite(x))
    fprintf(to, "%.17g", x);
  else
    fputs("null", to);
}

void json_write_string(FILE *to, const char *text) {
  putc('"', to);
  for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
    if (*c == '"' || *c == '\\')
      fprintf(to, "\\%c", *c);
    else if (*c < 0x20)
      fprintf(to, "\\u%04x", *c);
    else
      putc(*c, to);
  }
  putc('"', to);
}

static const double *write_axes(FILE *to, const double *x, int rank, const int64_t *sizes) {
  if (rank == 0) {
    json_write_number(to, *x);
    return x + 1;
  }
  putc('[', to);
  for (int64_t i = 0; i < sizes[0]; i++) {
    if (i)
      putc(',', to);
    x = write_axes(to, x, rank - 1, sizes + 1);
  }
  putc(']', to);
  return x;
}

void json_write_tensor(FILE *to, const double *x, int rank, const int64_t *sizes) {
  write_axes(to, x, rank, sizes);
}
