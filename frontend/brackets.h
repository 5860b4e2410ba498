/* The bracket layer between the scanner and the parser: ad_lex(), which the parser calls.
   It remembers the open brackets.  A word that only begins an item, met inside a bracket, closes every open bracket
   with made-up tokens, so that a missing '}' costs one error and not the rest of the file; the errors that the made-up
   tokens provoke are not shown.  More than AST_MAX_BRACKETS open brackets end the file, so to speak. */
#ifndef GRADC_FRONTEND_BRACKETS_H
#define GRADC_FRONTEND_BRACKETS_H
#include "frontend/parse_state.h"

/* True while an error would be of the layer's own making or has been reported by it. */
bool brackets_hide_errors(const ParseState *s);
#endif
