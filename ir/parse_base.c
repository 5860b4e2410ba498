/* The textual IR's parser: tokens, names, sizes, types, locations. */
#include "ir/parse_state.h"
#include "ir/raw.h"
#include "ir/size.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

void ir_error(IrParser *p, Range at, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  if (!p->failed)
    diag_error(p->diag, at, "%s", arena_vprintf(p->arena, fmt, ap));
  va_end(ap);
  if (!p->failed)
    p->stopped = p->token;
  p->failed = true;
  p->token = (Token){.kind = TOKEN_END, .spelling = "", .at = at};
}

void ir_next(IrParser *p) {
  if (p->failed)
    return;
  p->token = lex_next(&p->lexer);
  if (p->token.kind == TOKEN_BAD)
    ir_error(p, p->token.at, "%s", p->token.text);
}

bool ir_at_mark(const IrParser *p, char mark) {
  return p->token.kind == TOKEN_MARK && p->token.mark == mark;
}

bool ir_at_word(const IrParser *p, const char *word) {
  return p->token.kind == TOKEN_WORD && !strcmp(p->token.text, word);
}

bool ir_at_item(const IrParser *p) {
  return ir_at_word(p, "func") || ir_at_word(p, "extern") || ir_at_word(p, "export");
}

bool ir_accept_mark(IrParser *p, char mark) {
  const bool here = ir_at_mark(p, mark);
  if (here)
    ir_next(p);
  return here;
}

bool ir_accept_word(IrParser *p, const char *word) {
  const bool here = ir_at_word(p, word);
  if (here)
    ir_next(p);
  return here;
}

void ir_expect_mark(IrParser *p, char mark) {
  if (!ir_accept_mark(p, mark))
    ir_error(p, p->token.at, "expected '%c', not '%s'", mark, p->token.spelling);
}

bool ir_expect(IrParser *p, TokenKind kind, const char *what, Token *token) {
  *token = p->token;
  if (p->token.kind != kind) {
    ir_error(p, p->token.at, "expected %s, not '%s'", what, p->token.spelling);
    return false;
  }
  ir_next(p);
  return true;
}

int64_t ir_integer(IrParser *p) {
  const bool negative = ir_accept_mark(p, '-');
  Token t;
  if (!ir_expect(p, TOKEN_NUMBER, "a whole number", &t))
    return 0;
  char *end;
  errno = 0;
  const unsigned long long magnitude = strtoull(t.spelling, &end, 10);
  if (*end)
    ir_error(p, t.at, "expected a whole number, not '%s'", t.spelling);
  else if (errno || magnitude > (unsigned long long)INT64_MAX + negative)
    ir_error(p, t.at, "'%s' does not fit into 64 bits", t.spelling);
  if (p->failed)
    return 0;
  return negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
}

int ir_small_integer(IrParser *p, int least) {
  const Range at = p->token.at;
  const int64_t n = ir_integer(p);
  if (!p->failed && (n < least || n > INT_MAX))
    ir_error(p, at, "expected a number from %d on that fits into 32 bits", least);
  return p->failed ? least : (int)n;
}

/* ---- locations: !12:5-9, !12:5-14:2, !"nn.ad":12:5-9 */
static const Source *file_named(IrParser *p, const char *name) {
  void **place = symbol_at(&p->files, name);
  if (!*place) {
    Source *s = NEW(p->arena, Source);
    *s = (Source){.name = name, .text = ""};
    *place = s;
  }
  return *place;
}

Range ir_location(IrParser *p) {
  Range r = {0};
  if (!ir_accept_mark(p, '!'))
    return r;
  const char *name = p->module->file;
  Token file;
  if (p->token.kind == TOKEN_STRING && ir_expect(p, TOKEN_STRING, "a file's name", &file)) {
    name = file.text;
    ir_expect_mark(p, ':');
  }
  r.line = ir_small_integer(p, 0);
  ir_expect_mark(p, ':');
  r.col = ir_small_integer(p, 0);
  ir_expect_mark(p, '-');
  r.to_line = r.line;
  r.to_col = ir_small_integer(p, 0);
  if (ir_accept_mark(p, ':')) {
    r.to_line = r.to_col;
    r.to_col = ir_small_integer(p, 0);
  }
  r.src = p->failed ? NULL : file_named(p, name);
  return r;
}

/* ---- values */
void ir_define(IrParser *p, Token name, Value *v) {
  void **place = symbol_at(&p->values, name.spelling);
  if (*place)
    ir_error(p, name.at, "'%s' is defined twice in this function", name.spelling);
  else
    *place = v;
}

Value *ir_value(IrParser *p) {
  Token name;
  Value *v = NULL;
  if (ir_expect(p, TOKEN_VALUE, "a value", &name) && !(v = symbol_find(&p->values, name.spelling)))
    ir_error(p, name.at, "'%s' is not defined before this use", name.spelling);
  return v ? v : value_new(p->module, type_scalar(KIND_I64), NULL);
}

/* ---- sizes */
static const Size *parse_sum(IrParser *p);

static const Size *parse_atom(IrParser *p) {
  Module *m = p->module;
  const Range at = p->token.at;
  if (ir_accept_mark(p, '(')) {
    const Size *s = parse_sum(p);
    ir_expect_mark(p, ')');
    return s;
  }
  if (ir_accept_word(p, "overflow"))
    return size_floordiv(m, size_const(m, 0), size_const(m, 0));
  const bool least = ir_accept_word(p, "min");
  if (least || ir_accept_word(p, "max")) {
    ir_expect_mark(p, '(');
    const Size *a = parse_sum(p);
    ir_expect_mark(p, ',');
    const Size *b = parse_sum(p);
    ir_expect_mark(p, ')');
    return size_atom_of(m, &(Atom){.kind = least ? ATOM_MIN : ATOM_MAX}, a, b);
  }
  if (p->token.kind == TOKEN_VALUE) {
    Value *v = ir_value(p);
    if (v->is_acc || v->type.rank || !kind_is_int(v->type.kind)) {
      ir_error(p, at, "a size is made of integers");
      return size_const(m, 0);
    }
    return size_atom(m, v);
  }
  if (p->token.kind != TOKEN_NUMBER)
    ir_error(p, at, "expected a size, not '%s'", p->token.spelling);
  return size_const(m, ir_integer(p));
}

/* What leaves the bounds of sizes must not turn into another size unseen. */
static const Size *checked(IrParser *p, Range at, const Size *s, const Size *a, const Size *b) {
  if (s->overflow && !a->overflow && !b->overflow)
    ir_error(p, at, "this size is out of range");
  return s;
}

static const Size *parse_unary(IrParser *p) {
  const Range at = p->token.at;
  if (++p->depth > IR_MAX_DEPTH)
    ir_error(p, at, "more than %d parentheses or minus signs are open here", IR_MAX_DEPTH);
  const Size *s;
  if (ir_accept_mark(p, '-'))
    s = size_scale(p->module, parse_unary(p), -1);
  else
    s = parse_atom(p);
  p->depth--;
  return s;
}

static const Size *parse_product(IrParser *p) {
  const Size *s = parse_unary(p);
  while (ir_at_mark(p, '*') || ir_at_mark(p, '/')) {
    const Range at = p->token.at;
    const bool times = p->token.mark == '*';
    ir_next(p);
    const Size *t = parse_unary(p);
    s = checked(p, at, times ? size_mul(p->module, s, t) : size_floordiv(p->module, s, t), s, t);
  }
  return s;
}

static const Size *parse_sum(IrParser *p) {
  const Size *s = parse_product(p);
  while (ir_at_mark(p, '+') || ir_at_mark(p, '-')) {
    const Range at = p->token.at;
    const bool plus = p->token.mark == '+';
    ir_next(p);
    const Size *t = parse_product(p);
    s = checked(p, at, plus ? size_add(p->module, s, t) : size_sub(p->module, s, t), s, t);
  }
  return s;
}

const Size *ir_size(IrParser *p) {
  return parse_sum(p);
}

/* ---- types */
Type ir_type(IrParser *p) {
  Token word;
  if (!ir_expect(p, TOKEN_WORD, "a type", &word))
    return type_scalar(KIND_I64);
  int kind = 0;
  while (kind < 5 && strcmp(kind_name[kind], word.text))
    kind++;
  if (kind == 5) {
    ir_error(p, word.at, "expected a type, not '%s'", word.spelling);
    return type_scalar(KIND_I64);
  }
  const Size *dims[MAX_RANK];
  int rank = 0;
  if (ir_accept_mark(p, '[')) {
    do {
      if (rank == MAX_RANK) {
        ir_error(p, p->token.at, "a type has at most %d axes", MAX_RANK);
        break;
      }
      dims[rank++] = ir_size(p);
    } while (ir_accept_mark(p, ','));
    ir_expect_mark(p, ']');
  }
  return type_tensor(p->module, (Kind)kind, rank, dims);
}
