/* Text that grows in an arena: strings, names and floating-point numbers; see text.h. */
#include "ir/text.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void text_add(Text *t, const char *s) {
  for (; *s; s++)
    vec_push(t->arena, t->chars, *s);
}

void text_printf(Text *t, const char *fmt, ...) {
  char room[256];
  va_list ap, again;
  va_start(ap, fmt);
  va_copy(again, ap);
  const int n = vsnprintf(room, sizeof room, fmt, ap);
  text_add(t, n < (int)sizeof room ? room : arena_vprintf(t->arena, fmt, again));
  va_end(again);
  va_end(ap);
}

const char *text_end(Text *t) {
  vec_push(t->arena, t->chars, '\0');
  t->chars.n--;
  return t->chars.at;
}

bool is_identifier(const char *s) {
  if (!*s || (*s >= '0' && *s <= '9'))
    return false;
  for (; *s; s++)
    if (!((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') || *s == '_'))
      return false;
  return true;
}

void text_string(Text *t, const char *s) {
  text_add(t, "\"");
  for (; *s; s++) {
    const unsigned char c = (unsigned char)*s;
    if (c == '"' || c == '\\')
      text_printf(t, "\\%c", c);
    else if (c == '\n' || c == '\t')
      text_add(t, c == '\n' ? "\\n" : "\\t");
    else if (c < 32 || c == 127)
      text_printf(t, "\\x%02x", c);
    else
      text_printf(t, "%c", c);
  }
  text_add(t, "\"");
}

void text_name(Text *t, const char *s) {
  if (is_identifier(s))
    text_add(t, s);
  else
    text_string(t, s);
}

static void text_nan(Text *t, double v) {
  uint64_t bits;
  memcpy(&bits, &v, sizeof bits);
  if (bits == 0x7ff8000000000000u)
    text_add(t, "nan");
  else
    text_printf(t, "nan(0x%" PRIx64 ")", bits);
}

void text_float(Text *t, Kind k, double v) {
  char s[64];
  if (isnan(v)) {
    text_nan(t, v);
    return;
  }
  if (isinf(v)) {
    text_add(t, v < 0 ? "-inf" : "inf");
    return;
  }
  const bool single = k == KIND_F32 && (double)(float)v == v;
  for (int digits = single ? 6 : 15; digits <= 17; digits++) {
    snprintf(s, sizeof s, "%.*g", digits, v);
    if ((single ? (double)strtof(s, NULL) : strtod(s, NULL)) == v)
      break;
  }
  text_add(t, s);
  if (!strpbrk(s, ".e"))
    text_add(t, ".0");
}
