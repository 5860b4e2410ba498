/* The values of literals, from their text; see literals.h. */
#include "frontend/literals.h"
#include "ir/utf8.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool literal_integer(const char *text, int64_t *value) {
  int64_t v = 0;
  for (const char *p = text; *p; p++) {
    if (*p == '_')
      continue;
    int digit = *p - '0';
    if (v > (INT64_MAX - digit) / 10)
      return false;
    v = v * 10 + digit;
  }
  *value = v;
  return true;
}

bool literal_float(Arena *arena, const char *text, double *value) {
  char *digits = arena_strndup(arena, text, strlen(text)), *to = digits;
  for (const char *p = text; *p; p++)
    if (*p != '_')
      *to++ = *p;
  *to = '\0';
  *value = strtod(digits, NULL);
  return isfinite(*value);
}

bool literal_is_utf8(const char *text, size_t n) {
  for (size_t i = 0; i < n;) {
    size_t length = utf8_length(text + i, n - i);
    if (length == 0)
      return false;
    i += length;
  }
  return true;
}

const char *literal_path(ParseState *s, Range at, const char *text, size_t n) {
  if (!literal_is_utf8(text, n))
    diag_error(s->diag, at, "this file name is not UTF-8");
  else if (n == 2)
    diag_error(s->diag, at, "this file name is empty");
  return arena_strndup(s->arena, text + 1, n - 2);
}

const char *literal_string(ParseState *s, Range at, const char *text, size_t n) {
  if (!literal_is_utf8(text, n))
    diag_error(s->diag, at, "this string is not UTF-8");
  char *decoded = arena_strndup(s->arena, text, n), *to = decoded;
  for (size_t i = 1; i + 1 < n; i++) {
    if (text[i] != '\\') {
      *to++ = text[i];
      continue;
    }
    i++;
    if (text[i] == '"' || text[i] == '\\')
      *to++ = text[i];
    else if (text[i] == 'n' || text[i] == 't')
      *to++ = text[i] == 'n' ? '\n' : '\t';
    else { /* strings stand on one line, so the place of the escape is a column */
      Range escape = {at.src, at.line, at.col + (int)i - 1, at.line, at.col + (int)i + 1};
      diag_mend(s->diag, diag_error(s->diag, escape, "unknown escape in a string"),
                "the escapes are \\\" \\\\ \\n \\t");
    }
  }
  *to = '\0';
  return decoded;
}
