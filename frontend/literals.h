/* The values of literals, from their text.  Private to the syntax half. */
#ifndef GRADC_FRONTEND_LITERALS_H
#define GRADC_FRONTEND_LITERALS_H
#include "frontend/parse_state.h"

/* Both take text that the scanner has matched, underscores included; false when the value does not fit. */
bool literal_integer(const char *text, int64_t *value);
bool literal_float(Arena *arena, const char *text, double *value);

/* "text" with its escapes decoded; a bad escape is reported at its place, a string that is not UTF-8 as a whole. */
const char *literal_string(ParseState *s, Range at, const char *text, size_t n);
/* <text>, as it stands. */
const char *literal_path(ParseState *s, Range at, const char *text, size_t n);

bool literal_is_utf8(const char *text, size_t n);
#endif
