/* The layout of `gradc fmt`, which works on the token stream with what the syntax tree says of it (fmt_tokens.h):
   - Two spaces a level.  Statements, items and the value of a block begin a line; one blank line before is kept.
   - A block that was written on one line and fits stays there: `{ x * x }`.  So does a whole if-else chain.  Any other
     block has a line for each statement.  The same holds of a struct's fields.
   - Inside a statement the line breaks are the programmer's.  A line goes on one level in; inside a bracket below what
     stands first in it, or, where the opening bracket ends its line, one level in, with the closing bracket back out;
     so too the body of a comprehension that has lines of its own.
   - Comments stay before the token that they stood before, on the line of the token before it if they began there.
   - Stray semicolons go.
   A second run changes nothing, and the text parses to the same tree: as a check the tokens are compared in the end. */
#include "frontend/fmt.h"
#include "frontend/fmt_tokens.h"
#include "frontend/parser.h"
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_WIDTH = 100, INDENT = 2 };

typedef enum FrameKind {
  FRAME_BLOCK,    /* a line for each statement; also the whole file */
  FRAME_FIELDS,   /* a line for each field */
  FRAME_ONE_LINE, /* a block or fields on one line */
  FRAME_BRACKET,
} FrameKind;

typedef struct Frame {
  FrameKind kind;
  int indent;     /* of a line that begins inside */
  int outer;      /* of a line that begins with the closing bracket */
  bool has_lines; /* FRAME_BLOCK, FRAME_FIELDS: something stands inside already */
} Frame;

typedef struct Layout {
  Arena *arena;
  const FmtTokenList *tokens;
  VEC(char) out;
  int line_indent; /* of the line being written */
  int col;         /* where it has got to, from 0 */
  Frame frames[AST_MAX_BRACKETS + 1];
  int nframes;
  bool *is_chain_open; /* of the first `if` of a chain: its blocks have a line for each statement */
} Layout;

static Frame *top(Layout *l) {
  return &l->frames[l->nframes - 1];
}

/* ---- writing ---- */

static void write_text(Layout *l, const char *text, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (text[i] == '\r')
      continue;
    vec_push(l->arena, l->out, text[i]);
    l->col = text[i] == '\n' ? 0 : l->col + 1;
  }
}

static void write_spaces(Layout *l, int n) {
  for (int i = 0; i < n; i++)
    write_text(l, " ", 1);
}

static void new_line(Layout *l, int indent, bool is_after_blank) {
  if (l->out.n)
    write_text(l, "\n\n", is_after_blank ? 2 : 1);
  write_spaces(l, indent);
  l->line_indent = indent;
}

/* ---- spaces between two tokens on one line ---- */

/* A bracket that goes on with what stands before it: a call, an index, a type's sizes, parameters. */
static bool is_postfix_bracket(const FmtToken *p, const FmtToken *t) {
  if (t->token != '(' && t->token != '[')
    return false;
  return p->ends_operand || p->token == T_FN || p->token == T_VAR || p->token == T_CHECKPOINT ||
         (p->token == '>' && p->marks & MARK_TIGHT);
}

static bool wants_space(const FmtToken *p, const FmtToken *t) {
  if (t->token == ')' || t->token == ']' || t->token == ',' || t->token == ';' || p->token == '(' || p->token == '[')
    return false;
  if (t->marks & MARK_START || p->token == ',' || p->token == '{' || t->token == '{' || t->token == '}')
    return true;
  if ((t->marks | p->marks) & MARK_TIGHT)
    return false;
  if (t->token == ':' || p->token == '.' || p->token == T_DOTDOT || p->marks & MARK_PREFIX || p->token == '^')
    return false;
  if (t->token == T_DOTDOT) /* `2. ..n` would read as `2 ...n` */
    return p->token == T_FLOAT && p->text[p->n - 1] == '.';
  if (t->token == '.') /* `2 .x` would read as a number */
    return p->token == T_INTEGER || p->token == T_FLOAT;
  if (t->token == '^')
    return false;
  return !is_postfix_bracket(p, t);
}

static int space_before(const FmtTokenList *tokens, int i) {
  return i > 0 && wants_space(&tokens->at[i - 1], &tokens->at[i]) ? 1 : 0;
}

/* ---- what fits on a line ---- */

/* The width of tokens first..last on one line; what is far too wide may be said to be less wide than it is. */
static int width_of(const FmtTokenList *tokens, int first, int last) {
  int width = 0;
  for (int i = first; i <= last && width <= LINE_MAX_WIDTH; i++) {
    const FmtToken *t = &tokens->at[i];
    if (i > first) {
      width += space_before(tokens, i);
      for (int k = 0; k < t->comments.n; k++)
        width += (int)t->comments.at[k].n + 1;
    }
    width += (int)t->n;
  }
  return width;
}

static bool fits_on_line(const Layout *l, int first, int last) {
  const FmtToken *a = &l->tokens->at[first], *b = &l->tokens->at[last];
  return a->at.line == b->at.to_line && l->col + width_of(l->tokens, first, last) <= LINE_MAX_WIDTH;
}

/* ---- breaks ---- */

static bool is_closer(const FmtToken *t, int i) {
  return t->match >= 0 && t->match < i;
}

/* Whether token i begins a line by rule. */
static bool must_break(Layout *l, int i) {
  const FmtToken *t = &l->tokens->at[i];
  const Frame *f = top(l);
  if (f->kind == FRAME_BLOCK)
    return t->marks & MARK_START || (t->token == '}' && l->nframes > 1 && f->has_lines);
  if (f->kind == FRAME_FIELDS)
    return t->token == '}' || l->tokens->at[i - 1].token == ',' || l->tokens->at[i - 1].token == '{';
  return false;
}

/* Whether a line break before token i, which the programmer made, is kept. */
static bool may_break(const Layout *l, int i) {
  const FmtToken *t = &l->tokens->at[i], *p = &l->tokens->at[i - 1];
  if (t->token == ';' || t->token == ',' || t->token == T_ELSE || t->marks & (MARK_BLOCK | MARK_FIELDS))
    return false;
  return !is_postfix_bracket(p, t) && p->token != T_ELSE;
}

/* Whether token i begins a line that its comments or the programmer begin, and no rule. */
static bool breaks_by_choice(const Layout *l, int i) {
  const FmtToken *t = &l->tokens->at[i];
  for (int k = 0; k < t->comments.n; k++)
    if (t->comments.at[k].newlines_before > 0)
      return true;
  bool is_after_line = t->comments.n && t->comments.at[t->comments.n - 1].is_line;
  return t->newlines_before > 0 && (is_after_line || may_break(l, i));
}

/* The indentation of token i, should it begin a line. */
static int indent_of(Layout *l, int i) {
  const FmtToken *t = &l->tokens->at[i];
  const Frame *f = top(l);
  if (is_closer(t, i))
    return f->outer;
  if (f->kind == FRAME_BRACKET || must_break(l, i) || t->token == T_ELSE || t->marks & MARK_HEADER)
    return f->indent;
  return f->indent + INDENT;
}

/* Comments before token i; true if the last one must be followed by a line break. */
static bool write_comments(Layout *l, int i) {
  const FmtToken *t = &l->tokens->at[i];
  Frame *f = top(l);
  bool needs_break = false;
  for (int k = 0; k < t->comments.n; k++) {
    const FmtComment *c = &t->comments.at[k];
    if (c->newlines_before == 0 && l->out.n && !needs_break) {
      const FmtToken *p = &l->tokens->at[i - 1];
      bool is_first = k == 0 && (p->token == '(' || p->token == '[');
      write_spaces(l, is_first ? 0 : 1);
    } else {
      bool is_inside = is_closer(t, i) && f->kind != FRAME_ONE_LINE;
      bool may_be_blank = f->kind == FRAME_BLOCK && f->has_lines && (t->marks & MARK_START || t->token == '}');
      new_line(l, is_inside ? f->indent : indent_of(l, i), may_be_blank && c->newlines_before > 1);
      f->has_lines |= f->kind == FRAME_BLOCK || f->kind == FRAME_FIELDS;
    }
    write_text(l, c->text, c->n);
    needs_break = c->is_line;
  }
  return needs_break;
}

/* ---- frames ---- */

static void open_frame(Layout *l, int i) {
  const FmtToken *t = &l->tokens->at[i];
  Frame frame = {FRAME_BRACKET, 0, l->line_indent, false};
  bool is_one_line = top(l)->kind == FRAME_ONE_LINE;
  if (t->marks & (MARK_BLOCK | MARK_FIELDS)) {
    if (t->chain >= 0 && !is_one_line)
      is_one_line = !l->is_chain_open[t->chain];
    else
      is_one_line |= fits_on_line(l, i, t->match);
    /* Where a header is broken over lines, the block goes by the statement's line. */
    if (t->marks & MARK_HEADER && top(l)->kind == FRAME_BLOCK)
      frame.outer = top(l)->indent;
    frame.kind = is_one_line ? FRAME_ONE_LINE : t->marks & MARK_BLOCK ? FRAME_BLOCK : FRAME_FIELDS;
    frame.indent = frame.outer + INDENT;
  } else
    frame.indent = breaks_by_choice(l, i + 1) ? frame.outer + INDENT : l->col + 1;
  l->frames[l->nframes++] = frame;
}

/* The body of a comprehension or reduction, on a line of its own, does not stand below the ranges. */
static void outdent_body(Layout *l, int i) {
  const FmtToken *p = i > 0 ? &l->tokens->at[i - 1] : NULL;
  if (p && p->token == ':' && !(p->marks & MARK_TIGHT) && top(l)->kind == FRAME_BRACKET && breaks_by_choice(l, i))
    top(l)->indent = top(l)->outer + INDENT;
}

static void write_token(Layout *l, int i) {
  const FmtToken *t = &l->tokens->at[i];
  bool is_end = t->token == T_END;
  outdent_body(l, i);
  bool needs_break = write_comments(l, i);
  bool breaks_by_rule = must_break(l, i);
  if (is_end) {
    if (l->out.n)
      write_text(l, "\n", 1);
    return;
  }
  if (i == 0 && t->comments.n == 0)
    ; /* the file begins here */
  else if (breaks_by_rule || needs_break || (i > 0 && t->newlines_before > 0 && may_break(l, i))) {
    bool may_be_blank = breaks_by_rule && top(l)->has_lines && t->marks & MARK_START;
    new_line(l, indent_of(l, i), may_be_blank && t->newlines_before > 1);
  } else if (t->comments.n) {
    bool is_closed = t->token == ')' || t->token == ']' || t->token == ',' || t->token == ';';
    write_spaces(l, is_closed ? 0 : 1);
  } else
    write_spaces(l, space_before(l->tokens, i));
  if (breaks_by_rule)
    top(l)->has_lines = true;
  if (t->chain_end >= 0)
    l->is_chain_open[i] = top(l)->kind != FRAME_ONE_LINE && !fits_on_line(l, i, t->chain_end);
  if (is_closer(t, i))
    l->nframes--;
  else if (t->match > i)
    open_frame(l, i);
  write_text(l, t->text, t->n);
}

/* ---- the check ---- */

/* The text laid out must be the same tokens and comments; if not, nothing is written, and it is no fault of the input.
 */
static void check_tokens(Arena *arena, const FmtTokenList *tokens, const Source *laid_out) {
  Diag diag = {.arena = arena};
  const Program *program = parse_file(arena, &diag, laid_out);
  bool is_same = diag.nerrors == 0;
  if (is_same) {
    FmtTokenList again = fmt_tokens(arena, laid_out, program);
    is_same = again.n == tokens->n;
    for (int i = 0; i < again.n && is_same; i++) {
      const FmtToken *a = &tokens->at[i], *b = &again.at[i];
      is_same = a->n == b->n && !memcmp(a->text, b->text, a->n) && a->comments.n == b->comments.n;
    }
  }
  if (is_same)
    return;
  fprintf(stderr, "gradc: internal error: the formatted text differs from the program; please report this\n");
  exit(70);
}

int fmt_source(Arena *arena, Diag *diag, const Source *source, FILE *out) {
  int errors_before = diag->nerrors;
  const Program *program = parse_file(arena, diag, source);
  if (diag->nerrors != errors_before)
    return 1;
  FmtTokenList tokens = fmt_tokens(arena, source, program);
  Layout *l = NEW(arena, Layout);
  *l = (Layout){.arena = arena, .tokens = &tokens, .nframes = 1};
  l->frames[0] = (Frame){FRAME_BLOCK, 0, 0, false};
  l->is_chain_open = NEW_ARRAY(arena, bool, tokens.n);
  for (int i = 0; i < tokens.n; i++)
    write_token(l, i);
  const Source *laid_out =
      source_from_text(arena, source->name, arena_strndup(arena, l->out.at, (size_t)l->out.n), (size_t)l->out.n);
  check_tokens(arena, &tokens, laid_out);
  fwrite(laid_out->text, 1, laid_out->n, out);
  return 0;
}
