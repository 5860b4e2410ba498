/* The lexer of the textual IR; see ir_lex.h. */
#include "ir/ir_lex.h"
#include <stdbool.h>
#include <string.h>

static char peek(const Lexer *l, size_t ahead) {
  return l->pos + ahead < l->src->n ? l->src->text[l->pos + ahead] : '\0';
}

static void step(Lexer *l) {
  if (l->pos >= l->src->n)
    return;
  if (peek(l, 0) == '\n') {
    l->line++;
    l->col = 1;
  } else {
    l->col++;
  }
  l->pos++;
}

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_word(char c) {
  return is_letter(c) || is_digit(c);
}

static void skip_blanks(Lexer *l) {
  while (l->pos < l->src->n) {
    const char c = peek(l, 0);
    if (c == '/' && peek(l, 1) == '/')
      while (l->pos < l->src->n && peek(l, 0) != '\n')
        step(l);
    else if (c == ' ' || c == '\t' || c == '\n' || c == '\r')
      step(l);
    else
      break;
  }
}

void lex_skip(Lexer *l) {
  do
    step(l);
  while (l->pos < l->src->n && !(l->col == 1 && is_letter(peek(l, 0))));
}

static int hex_digit(char c) {
  if (is_digit(c))
    return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static Token bad(Token t, const char *what) {
  t.kind = TOKEN_BAD;
  t.text = what;
  return t;
}

/* One character of a string behind the backslash; -1 where there is no such escape. */
static int lex_escape(Lexer *l) {
  const char c = peek(l, 0);
  step(l);
  switch (c) {
  case 'n': return '\n';
  case 't': return '\t';
  case '"':
  case '\\': return c;
  case 'x': {
    const int high = hex_digit(peek(l, 0)), low = high < 0 ? -1 : hex_digit(peek(l, 1));
    if (low < 0 || high + low == 0)
      return -1;
    step(l);
    step(l);
    return high * 16 + low;
  }
  default: return -1;
  }
}

/* From the opening quote on: the text into t->text. */
static bool lex_quoted(Lexer *l, Token *t) {
  VEC(char) chars = {0};
  step(l);
  while (peek(l, 0) != '"') {
    int c = (unsigned char)peek(l, 0);
    if (c == '\0' || c == '\n') {
      *t = bad(*t, "this string does not end on its line");
      return false;
    }
    step(l);
    if (c == '\\' && (c = lex_escape(l)) < 0) {
      *t = bad(*t, "a string has an escape that is none of \\\" \\\\ \\n \\t \\xHH");
      return false;
    }
    vec_push(l->arena, chars, (char)c);
  }
  step(l);
  t->text = arena_intern(l->arena, chars.n ? chars.at : "", (size_t)chars.n);
  return true;
}

static const char *slice(const Lexer *l, size_t from) {
  return arena_intern(l->arena, l->src->text + from, l->pos - from);
}

static const char *lex_word(Lexer *l) {
  const size_t from = l->pos;
  while (is_word(peek(l, 0)))
    step(l);
  return slice(l, from);
}

/* Behind % or @. */
static void lex_symbol(Lexer *l, Token *t) {
  const bool value = t->kind == TOKEN_VALUE;
  step(l);
  if (peek(l, 0) == '"') {
    if (!lex_quoted(l, t))
      return;
  } else if (is_letter(peek(l, 0))) {
    t->text = lex_word(l);
  } else if (value && is_digit(peek(l, 0))) {
    lex_word(l);
  } else {
    *t = bad(*t, value ? "a name is wanted behind %" : "a name is wanted behind @");
    return;
  }
  if (value && peek(l, 0) == '.' && is_digit(peek(l, 1))) {
    step(l);
    while (is_digit(peek(l, 0)))
      step(l);
  }
}

static void lex_number(Lexer *l) {
  const bool hex = peek(l, 0) == '0' && peek(l, 1) == 'x';
  for (char before = 0, c; (c = peek(l, 0)); before = c) {
    const bool exponent_sign = !hex && (c == '+' || c == '-') && (before == 'e' || before == 'E');
    if (!is_word(c) && c != '.' && !exponent_sign)
      break;
    step(l);
  }
}

Token lex_next(Lexer *l) {
  skip_blanks(l);
  Token t = {.kind = TOKEN_END, .at = {.src = l->src, .line = l->line, .col = l->col}};
  const size_t from = l->pos;
  const char c = peek(l, 0);
  if (l->pos >= l->src->n) {
    t.spelling = "the end of the file";
  } else if (c == '%' || c == '@') {
    t.kind = c == '%' ? TOKEN_VALUE : TOKEN_FUNC;
    lex_symbol(l, &t);
  } else if (c == '"') {
    t.kind = TOKEN_STRING;
    lex_quoted(l, &t);
  } else if (is_letter(c)) {
    t.kind = TOKEN_WORD;
    t.text = lex_word(l);
  } else if (is_digit(c)) {
    t.kind = TOKEN_NUMBER;
    lex_number(l);
  } else if (c == '-' && peek(l, 1) == '>') {
    t.kind = TOKEN_ARROW;
    step(l);
    step(l);
  } else if (c && strchr("()[]{},:=+-*/<!", c)) {
    t.kind = TOKEN_MARK;
    t.mark = c;
    step(l);
  } else {
    step(l);
    t = bad(t, "this character has no place in textual IR");
  }
  if (l->pos > from)
    t.spelling = slice(l, from);
  t.at.to_line = l->line;
  t.at.to_col = l->col;
  return t;
}
