/* The bracket layer between the scanner and the parser; see brackets.h. */
#include "frontend/brackets.h"
#include "frontend/scanner.h"

bool brackets_hide_errors(const ParseState *s) {
  return s->is_closing || s->gave_up || s->token_reported;
}

static char closer_of(char bracket) {
  return bracket == '(' ? ')' : bracket == '[' ? ']' : '}';
}

/* `fn name` begins an item, `fn (` an expression or a type. */
static bool name_follows(const ParseState *s) {
  const char *p = s->source->text + s->offset, *end = s->source->text + s->source->n;
  while (p < end && (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n'))
    p++;
  return p < end && ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || *p == '_');
}

static bool begins_item(const ParseState *s, int token) {
  return token == T_END || token == T_IMPORT || token == T_CONST || token == T_STRUCT || token == T_EXTERN ||
         token == T_EXPORT || (token == T_FN && name_follows(s));
}

/* Says which bracket is missing, unless something was said since it opened. */
static void report_unclosed(ParseState *s, int token, Range at) {
  const OpenBracket *open = &s->open[s->nopen - 1];
  if (s->gave_up || s->diag->nerrors != open->errors_before)
    return;
  DiagMessage *m = token == T_END ? diag_error(s->diag, at, "'%c' is never closed", open->bracket)
                                  : diag_error(s->diag, at, "'%.*s' inside an open '%c'", (int)s->token_bytes, s->token,
                                               open->bracket);
  if (token == T_FN && at.col > 1) /* not at the left margin, where an item begins */
    diag_mend(s->diag, m, "in a block a function is named by a let: let f = fn(x: f64) { .. };");
  diag_note(s->diag, m, open->at, "the '%c' that is never closed", open->bracket);
}

static void track(ParseState *s, int *token, Range at) {
  if (*token == '(' || *token == '[' || *token == '{') {
    if (s->nopen == AST_MAX_BRACKETS) {
      diag_error(s->diag, at, "more than %d brackets are open", AST_MAX_BRACKETS);
      s->gave_up = true;
      *token = T_END;
      return;
    }
    s->open[s->nopen++] = (OpenBracket){(char)*token, at, s->diag->nerrors};
  } else if (*token == ')' || *token == ']' || *token == '}') {
    int k = s->nopen;
    while (k && closer_of(s->open[k - 1].bracket) != *token)
      k--;
    if (k) /* a closer also drops the unclosed brackets inside its own */
      s->nopen = k - 1;
  }
}

/* The brace itself of a block that was closed early, as when a named function stands in a block: no news. */
static bool is_late_closer(ParseState *s, int token) {
  if (token != '}' || s->nopen || !s->braces_made_up)
    return false;
  s->braces_made_up--;
  return true;
}

int ad_lex(AD_STYPE *value, Range *at, ParseState *s) {
  int token;
  if (s->is_closing) {
    token = s->held;
    *at = s->held_at;
    s->token_reported = true; /* where it stands is what was wrong */
  } else if (s->gave_up)
    token = T_END;
  else {
    do
      token = scanner_lex(value, at, s->scanner);
    while (is_late_closer(s, token));
    track(s, &token, *at);
  }
  if (s->nopen && begins_item(s, token)) {
    if (!s->is_closing) {
      report_unclosed(s, token, *at);
      s->is_closing = true;
      s->held = token;
      s->held_at = *at;
    }
    *at = (Range){at->src, at->line, at->col, at->line, at->col};
    const char closer = closer_of(s->open[--s->nopen].bracket);
    s->braces_made_up += closer == '}';
    return closer;
  }
  s->is_closing = false;
  return token;
}
