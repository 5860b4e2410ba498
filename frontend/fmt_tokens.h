/* The token stream that the formatter lays out: tokens with the comments before them, and what the syntax tree says
   about them.  Private to fmt*.c. */
#ifndef GRADC_FRONTEND_FMT_TOKENS_H
#define GRADC_FRONTEND_FMT_TOKENS_H
#include "frontend/fmt.h"

typedef struct FmtComment {
  const char *text; /* without the line end */
  size_t n;
  bool is_line; /* `//` */
  int newlines_before;
} FmtComment;
typedef VEC(FmtComment) FmtCommentList;

enum {
  MARK_START = 1 << 0,  /* begins an item, a statement or the value of a block */
  MARK_END = 1 << 1,    /* a `;` that ends one; any other outside brackets is stray */
  MARK_BLOCK = 1 << 2,  /* a brace of a block */
  MARK_HEADER = 1 << 3, /* an opening brace that ends the header of its statement or item */
  MARK_FIELDS = 1 << 4, /* a brace of a struct */
  MARK_PREFIX = 1 << 5, /* the minus sign of a negation */
  MARK_TIGHT = 1 << 6,  /* the `:` of a slice, the `<` and `>` around kinds: no space on either side */
};

typedef struct FmtToken {
  int token; /* the parser's number */
  const char *text;
  size_t n;
  Range at;
  FmtCommentList comments; /* before it */
  int newlines_before;     /* between it and what stands before it, token or comment */
  unsigned marks;
  bool ends_operand; /* an operator may follow */
  int match;         /* the other bracket of the pair, or -1 */
  int chain;         /* a brace of an if-else chain: the chain's first `if`, else -1 */
  int chain_end;     /* that `if`: the last brace of its chain, else -1 */
} FmtToken;

/* The last token is the end of file. */
typedef VEC(FmtToken) FmtTokenList;

/* Tokens of a text that parses; stray semicolons are left out. */
FmtTokenList fmt_tokens(Arena *arena, const Source *source, const Program *program);
/* Sets marks and chains from the tree; the other fields are set. */
void fmt_mark(FmtTokenList *tokens, const Program *program);
#endif
