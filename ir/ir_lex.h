/* Tokens of the textual IR. */
#ifndef GRADC_IR_IR_LEX_H
#define GRADC_IR_IR_LEX_H
#include "ir/arena.h"
#include "ir/diag.h"

typedef enum TokenKind {
  TOKEN_END,
  TOKEN_WORD,   /* name */
  TOKEN_VALUE,  /* %name, %name.1, %"any text".1, %12 */
  TOKEN_FUNC,   /* @name, @"any text" */
  TOKEN_STRING, /* "text" */
  TOKEN_NUMBER, /* 12, 0x1f, 1.5e-3; signs are apart */
  TOKEN_ARROW,  /* -> */
  TOKEN_MARK,   /* any one of ( ) [ ] { } , : = + - * / < ! */
  TOKEN_BAD     /* text: what is wrong with it */
} TokenKind;

typedef struct Token {
  TokenKind kind;
  const char *spelling; /* as written */
  const char
      *text; /* the word, name or string without quotes and escapes; a value's without suffix, NULL for a number */
  char mark;
  Range at;
} Token;

typedef struct Lexer {
  Arena *arena;
  const Source *src;
  size_t pos;
  int line, col;
} Lexer;

Token lex_next(Lexer *l);
/* Goes on behind an error, at the next line that begins with a letter. */
void lex_skip(Lexer *l);
#endif
