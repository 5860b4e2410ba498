/* The wording of syntax errors.  Private to the syntax half. */
#ifndef GRADC_FRONTEND_SYNTAX_ERROR_H
#define GRADC_FRONTEND_SYNTAX_ERROR_H
#include "frontend/parse_state.h"

/* The last token, at `at`, is not among the n that the parser wanted, which go by the names of the grammar.
   Reorders `wanted`. */
void report_syntax_error(ParseState *s, Range at, const char **wanted, int n);
/* Whether `sign` is what stands before `at`, but for white space. */
bool syntax_is_after(const ParseState *s, Range at, char sign);
#endif
