/* The token stream that the formatter lays out; see fmt_tokens.h. */
#include "frontend/fmt_tokens.h"
#include "frontend/scanner.h"
#include <stdlib.h>
#include <string.h>

static bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v';
}

/* One comment at p; the text between two tokens holds nothing else but white space (and a byte order mark). */
static FmtComment read_comment(const char *p, const char *end) {
  FmtComment c = {.text = p, .is_line = p[1] == '/'};
  const char *stop = p + 2;
  if (c.is_line) {
    const char *newline = memchr(p, '\n', (size_t)(end - p));
    stop = newline ? newline : end;
    while (is_space(stop[-1]))
      stop--;
  } else {
    while (stop[0] != '*' || stop[1] != '/')
      stop++;
    stop += 2;
  }
  c.n = (size_t)(stop - p);
  return c;
}

static void read_gap(Arena *arena, FmtToken *t, const char *p, const char *end) {
  int newlines = 0;
  while (p < end) {
    if (*p == '/') {
      FmtComment c = read_comment(p, end);
      c.newlines_before = newlines;
      newlines = 0;
      vec_push(arena, t->comments, c);
      p += c.n;
    } else
      newlines += *p++ == '\n';
  }
  t->newlines_before = newlines;
}

static FmtTokenList scan(Arena *arena, const Source *source) {
  FmtTokenList tokens = {0};
  ParseState *s = NEW(arena, ParseState);
  *s = (ParseState){.arena = arena, .diag = NEW(arena, Diag), .source = source, .line = 1, .col = 1};
  s->diag->arena = arena;
  if (scanner_lex_init_extra(s, &s->scanner) != 0) {
    fprintf(stderr, "gradc: internal error: out of memory\n");
    exit(70);
  }
  scanner__scan_bytes(source->text, (int)source->n, s->scanner);
  const char *end = source->text;
  for (int token = -1; token != T_END;) {
    AD_STYPE value;
    FmtToken t = {.match = -1, .chain = -1, .chain_end = -1};
    t.token = token = scanner_lex(&value, &t.at, s->scanner);
    t.text = token == T_END ? source->text + source->n : s->token;
    t.n = token == T_END ? 0 : s->token_bytes;
    read_gap(arena, &t, end, t.text);
    end = t.text + t.n;
    vec_push(arena, tokens, t);
  }
  scanner_lex_destroy(s->scanner);
  return tokens;
}

/* The text parses, so the brackets are balanced and not too many. */
static void match_brackets(FmtTokenList *tokens) {
  int open[AST_MAX_BRACKETS], n = 0;
  for (int i = 0; i < tokens->n; i++) {
    int token = tokens->at[i].token;
    if (token == '(' || token == '[' || token == '{')
      open[n++] = i;
    else if (n > 0 && (token == ')' || token == ']' || token == '}')) {
      tokens->at[i].match = open[--n];
      tokens->at[open[n]].match = i;
    }
  }
}

static bool is_name(int token) {
  return token == T_NAME || token == T_AS || token == T_BY || token == T_OF || token == T_CHECKPOINT || token == T_RULE;
}

/* `vjp f(..` */
static bool begins_rule(const FmtTokenList *tokens, int i) {
  return tokens->at[i].marks & MARK_START && is_name(tokens->at[i + 1].token);
}

/* A word that is reserved in its place only is a name exactly where an operand may stand: two names never meet. */
static void find_operands(FmtTokenList *tokens) {
  bool is_after_operand = false;
  for (int i = 0; i < tokens->n; i++) {
    FmtToken *t = &tokens->at[i];
    if (t->marks & MARK_START)
      is_after_operand = false;
    switch (t->token) {
    case T_NAME:
    case T_INTEGER:
    case T_FLOAT:
    case T_STRING:
    case T_KIND:
    case T_TRUE:
    case T_FALSE:
    case ')':
    case ']':
    case '}': t->ends_operand = true; break;
    case T_AS:
    case T_BY:
    case T_OF:
    case T_CHECKPOINT: t->ends_operand = !is_after_operand; break;
    case T_RULE: t->ends_operand = !is_after_operand && !begins_rule(tokens, i); break;
    default: t->ends_operand = false;
    }
    is_after_operand = t->ends_operand;
  }
}

static bool is_stray(const FmtTokenList *tokens, int i, int enclosing) {
  const FmtToken *t = &tokens->at[i];
  return t->token == ';' && !(t->marks & MARK_END) && (enclosing < 0 || tokens->at[enclosing].token == '{');
}

/* Drops stray semicolons; the comments before one stand before the next token. */
static FmtTokenList without_strays(Arena *arena, const FmtTokenList *tokens) {
  FmtTokenList kept = {0};
  FmtToken pending = {0};
  bool has_pending = false;
  int open[AST_MAX_BRACKETS], n = 0;
  for (int i = 0; i < tokens->n; i++) {
    FmtToken t = tokens->at[i];
    if (has_pending) {
      FmtCommentList comments = pending.comments;
      for (int k = 0; k < t.comments.n; k++) {
        FmtComment c = t.comments.at[k];
        c.newlines_before += k == 0 ? pending.newlines_before : 0;
        vec_push(arena, comments, c);
      }
      if (t.comments.n == 0)
        t.newlines_before += pending.newlines_before;
      t.comments = comments;
      has_pending = false;
    }
    if (is_stray(tokens, i, n ? open[n - 1] : -1)) {
      pending = t;
      has_pending = true;
      continue;
    }
    if (t.match > i)
      open[n++] = i;
    else if (t.match >= 0 && n > 0)
      n--;
    vec_push(arena, kept, t);
  }
  return kept;
}

FmtTokenList fmt_tokens(Arena *arena, const Source *source, const Program *program) {
  FmtTokenList all = scan(arena, source);
  match_brackets(&all);
  fmt_mark(&all, program); /* for the semicolons that are not stray; once more when indices have moved */
  FmtTokenList tokens = without_strays(arena, &all);
  match_brackets(&tokens);
  fmt_mark(&tokens, program);
  find_operands(&tokens);
  return tokens;
}
