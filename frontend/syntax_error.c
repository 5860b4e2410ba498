/* The wording of syntax errors: "unexpected 'let', expected ';'".
   The parser knows every token that it could have taken.  Whole sets of them stand for one thing to the user, an
   expression or a type, and are named so; what could go on after a finished expression is not worth a word. */
#include "frontend/syntax_error.h"
#include "frontend/brackets.h"
#include <string.h>

enum { LISTED_MAX = 5, QUOTED_MAX = 40 };

typedef struct Wanted {
  const char **at;
  int n;
} Wanted;

static bool has(const Wanted *w, const char *name) {
  for (int i = 0; i < w->n; i++)
    if (!strcmp(w->at[i], name))
      return true;
  return false;
}

/* Takes out the names of a NULL-terminated list. */
static void drop(Wanted *w, const char *const *names) {
  int kept = 0;
  for (int i = 0; i < w->n; i++) {
    bool found = false;
    for (int k = 0; names[k] && !found; k++)
      found = !strcmp(w->at[i], names[k]);
    if (!found)
      w->at[kept++] = w->at[i];
  }
  w->n = kept;
}

/* Something has been dropped before, so there is room. */
static void put_first(Wanted *w, const char *name) {
  memmove(w->at + 1, w->at, (size_t)w->n * sizeof *w->at);
  w->at[0] = name;
  w->n++;
}

static void simplify(Wanted *w) {
  static const char *const NEVER[] = {"a bad number", "return", "+=", NULL};
  static const char *const CONTEXTUAL[] = {"as", "by", "of", "checkpoint", "vjp", NULL};
  static const char *const ITEM[] = {"import", "const", "struct", "fn",          "extern",
                                     "export", "vjp",   "';'",    "end of file", NULL};
  static const char *const STATEMENT[] = {"let", "var", "for", "while", "break", "continue", "require", "';'", NULL};
  static const char *const EXPRESSION[] = {"a name", "an integer", "a number", "true",   "false", "'('", "'['", "'{'",
                                           "if",     "fn",         "var",      "a kind", "'-'",   "'+'", "not", NULL};
  static const char *const TYPE[] = {"a name", "a kind", "fn", "'('", NULL};
  static const char *const OPERATOR[] = {"'*'", "'/'", "'%'", "'@'", "'+'", "'-'", "'^'", "'['", "'('", "'.'",
                                         "of",  "and", "or",  "'<'", "'>'", "<=",  ">=",  "==",  "!=",  NULL};
  static const char *const MENDED_DOTS[] = {"..", NULL}, *const MENDED_EQUALS[] = {"'='", NULL},
                           *const MENDED_LE[] = {"<=", NULL};
  drop(w, NEVER);
  if (has(w, "'*'")) { /* after an expression */
    drop(w, OPERATOR);
    if (has(w, "']'"))
      drop(w, MENDED_DOTS);
    if (has(w, "'{'"))
      drop(w, MENDED_EQUALS);
  }
  if (has(w, "a name"))
    drop(w, CONTEXTUAL);
  if (has(w, "in"))
    drop(w, MENDED_LE);
  if (has(w, "import")) {
    drop(w, ITEM);
    put_first(w, "an item (fn, struct, const, import, export ..)");
  }
  bool is_statement = has(w, "let");
  if (is_statement)
    drop(w, STATEMENT);
  if (has(w, "an integer")) {
    drop(w, EXPRESSION);
    put_first(w, "an expression");
  } else if (has(w, "a kind")) {
    drop(w, TYPE);
    put_first(w, "a type");
  }
  if (is_statement)
    put_first(w, "a statement");
}

/* The grammar quotes single characters; descriptions have a space in them; the rest are words and signs. */
static const char *quoted(Arena *arena, const char *name) {
  return name[0] == '\'' || name[0] == '<' || strchr(name, ' ') ? name : arena_printf(arena, "'%s'", name);
}

/* Whether `word` stands before the text of `length` bytes, with white space between; *length becomes where it begins.
 */
static bool comes_after(const char *text, size_t *length, const char *word) {
  size_t end = *length;
  while (end && strchr(" \t\r\n", text[end - 1]))
    end--;
  size_t n = strlen(word);
  if (end == *length || end < n || memcmp(text + end - n, word, n) != 0)
    return false;
  *length = end - n;
  return true;
}

/* `export fn f(..)`: an export names a function that is written elsewhere, or holds one without a name. */
static void mend_export(ParseState *s, DiagMessage *m) {
  size_t before = (size_t)(s->token - s->source->text);
  if (comes_after(s->source->text, &before, "fn") && comes_after(s->source->text, &before, "export"))
    diag_mend(s->diag, m, "write fn %.*s(..) .., and after it export %.*s;", (int)s->token_bytes, s->token,
              (int)s->token_bytes, s->token);
}

bool syntax_is_after(const ParseState *s, Range at, char sign) {
  const char *text = s->source->text, *p = text;
  for (int line = 1; line < at.line; p++)
    line += *p == '\n';
  p += at.col - 1;
  while (p > text && strchr(" \t\r\n", p[-1]))
    p--;
  return p > text && p[-1] == sign;
}

static bool token_is(const ParseState *s, const char *word) {
  return s->token_bytes == strlen(word) && !memcmp(s->token, word, s->token_bytes);
}

/* What is written so in C or in Python; NULL for what is not known.  Asked before the names are put together. */
static const char *mend_of(const ParseState *s, const Wanted *w) {
  if (has(w, "import")) {
    if (token_is(s, "let") || token_is(s, "var"))
      return "a constant of the whole file is written const name = ..;";
    if (token_is(s, "def") || token_is(s, "func") || token_is(s, "function") || token_is(s, "void") ||
        token_is(s, "double"))
      return "a function is written fn name(x: f64) -> f64 { .. }";
    return NULL;
  }
  if (w->n == 1 && has(w, "in") && token_is(s, "="))
    return "write for i in 0..n";
  if (token_is(s, "if") && has(w, "'*'") && !has(w, "']'"))
    return "a choice is written if c { a } else { b }";
  if (token_is(s, "for") && has(w, "'*'"))
    return "write [for i < n: x[i]] for a tensor, sum[i: x[i]] for a sum";
  const char *text = s->source->text, *before = s->token;
  if (token_is(s, ";") && has(w, "an integer") && before - text >= 2 &&
      (!memcmp(before - 2, "++", 2) || !memcmp(before - 2, "--", 2)))
    return before[-1] == '+' ? "write += 1" : "write -= 1";
  if (has(w, "..") && has(w, "'*'") && (token_is(s, "{") || token_is(s, ":")) &&
      !has(w, token_is(s, "{") ? "'{'" : "':'"))
    return "a range is written 0..n";
  return NULL;
}

void report_syntax_error(ParseState *s, Range at, const char **wanted, int n) {
  if (brackets_hide_errors(s))
    return;
  Wanted w = {wanted, n};
  const char *mend = mend_of(s, &w);
  simplify(&w);
  const char *list = "";
  for (int i = 0; i < w.n && w.n <= LISTED_MAX; i++)
    list = arena_printf(s->arena, "%s%s%s", list,
                        i == 0         ? ", expected "
                        : i == w.n - 1 ? " or "
                                       : ", ",
                        quoted(s->arena, w.at[i]));
  if (s->token_bytes == 0)
    diag_error(s->diag, at, "unexpected end of file%s", list);
  else {
    bool is_long = s->token_bytes > QUOTED_MAX;
    DiagMessage *m = diag_error(s->diag, at, "unexpected '%.*s%s'%s", is_long ? QUOTED_MAX : (int)s->token_bytes,
                                s->token, is_long ? ".." : "", list);
    if (mend)
      diag_mend(s->diag, m, "%s", mend);
    else if (!is_long)
      mend_export(s, m);
  }
}
