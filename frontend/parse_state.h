/* What the scanner, the bracket layer and the parser share while one file is parsed.  Private to the syntax half. */
#ifndef GRADC_FRONTEND_PARSE_STATE_H
#define GRADC_FRONTEND_PARSE_STATE_H
#include "frontend/ast.h"

typedef struct OpenBracket {
  char bracket;
  Range at;
  int errors_before; /* diag->nerrors when it was opened */
} OpenBracket;

typedef struct ParseState {
  Arena *arena;
  Diag *diag;
  const Source *source;
  Program *program;
  bool too_deep; /* was reported; once a file is enough */

  /* The scanner: where the next token begins, and the text of the last one. */
  void *scanner;
  int line, col;
  size_t offset;
  const char *token;
  size_t token_bytes;
  bool token_reported; /* the scanner has complained about it: the parser need not */
  bool expects_path;   /* the last token was `import` */
  Range comment_open;
  int state_around_comment;

  /* The bracket layer; see brackets.h. */
  OpenBracket open[AST_MAX_BRACKETS];
  int nopen;
  bool is_closing; /* `held` waits until every bracket is closed */
  int held;        /* a token that has no value of its own */
  Range held_at;
  int braces_made_up; /* closing braces that may still come, of brackets closed early */
  bool gave_up;       /* too many brackets: the rest of the file reads as its end */
} ParseState;
#endif
