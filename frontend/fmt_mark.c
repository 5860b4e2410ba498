/* What the syntax tree knows of tokens, for the formatter: where statements begin and end, which braces are blocks,
   which minus is a sign, which colon is a slice's.  Places of the tree are found among the tokens by line and column.
 */
#include "frontend/fmt_tokens.h"
#include <string.h>

static void mark_expr(FmtTokenList *tokens, const Expr *e);
static void mark_block(FmtTokenList *tokens, const Block *b, bool is_header);

/* The last token that begins at the place or before it. */
static int token_at(const FmtTokenList *tokens, int line, int col) {
  int low = 0, high = tokens->n - 1;
  while (low < high) {
    int middle = (low + high + 1) / 2;
    const Range *at = &tokens->at[middle].at;
    if (at->line < line || (at->line == line && at->col <= col))
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

static int first_of(const FmtTokenList *tokens, Range at) {
  return token_at(tokens, at.line, at.col);
}
static int last_of(const FmtTokenList *tokens, Range at) {
  return token_at(tokens, at.to_line, at.to_col - 1);
}

/* A statement or item: its first token, and its `;` if it ends in one. */
static void mark_extent(FmtTokenList *tokens, Range at) {
  tokens->at[first_of(tokens, at)].marks |= MARK_START;
  FmtToken *last = &tokens->at[last_of(tokens, at)];
  if (last->token == ';')
    last->marks |= MARK_END;
}

static void mark_optional(FmtTokenList *tokens, const Expr *e) {
  if (e)
    mark_expr(tokens, e);
}

static void mark_exprs(FmtTokenList *tokens, const ExprList *list) {
  for (int i = 0; i < list->n; i++)
    mark_expr(tokens, list->at[i]);
}

static void mark_arguments(FmtTokenList *tokens, const ArgumentList *list) {
  for (int i = 0; i < list->n; i++)
    mark_expr(tokens, list->at[i].value);
}

static void mark_type(FmtTokenList *tokens, const TypeExpr *t) {
  if (!t)
    return;
  if (t->kind == TYPE_EXPR_TENSOR)
    mark_exprs(tokens, &t->tensor.sizes);
  const TypeElementList *elements = t->kind == TYPE_EXPR_TUPLE      ? &t->tuple
                                    : t->kind == TYPE_EXPR_FUNCTION ? &t->function.parameters
                                                                    : NULL;
  for (int i = 0; elements && i < elements->n; i++)
    mark_type(tokens, elements->at[i].type);
  if (t->kind == TYPE_EXPR_FUNCTION)
    mark_type(tokens, t->function.result);
}

static void mark_parameters(FmtTokenList *tokens, const ParameterList *list) {
  for (int i = 0; i < list->n; i++)
    mark_type(tokens, list->at[i].type);
}

static void mark_comprehension(FmtTokenList *tokens, const Comprehension *c) {
  for (int i = 0; i < c->ranges.n; i++) {
    mark_optional(tokens, c->ranges.at[i].from);
    mark_optional(tokens, c->ranges.at[i].to);
  }
  mark_optional(tokens, c->filter);
  mark_expr(tokens, c->body);
}

/* Where a bracket can be read both ways, the usual names of reductions decide how its colon looks. */
static bool looks_like_reduction(const Bracket *b) {
  static const char *const REDUCTION[] = {"sum",    "prod",   "max", "min", "mean", "logsumexp",
                                          "argmax", "argmin", "any", "all", "count"};
  if (!b->items || !b->reduction)
    return !b->items;
  for (size_t i = 0; i < sizeof REDUCTION / sizeof *REDUCTION; i++)
    if (b->base->kind == EXPR_NAME && !strcmp(b->base->name, REDUCTION[i]))
      return true;
  return false;
}

static void mark_bracket(FmtTokenList *tokens, const Expr *e) {
  const Bracket *b = &e->bracket;
  mark_expr(tokens, b->base);
  if (!b->items)
    mark_comprehension(tokens, b->reduction);
  for (int i = 0; b->items && i < b->items->n; i++) {
    const IndexItem *item = &b->items->at[i];
    mark_optional(tokens, item->index);
    mark_optional(tokens, item->start);
    mark_optional(tokens, item->stop);
    mark_optional(tokens, item->step);
  }
  if (looks_like_reduction(b))
    return;
  int close = last_of(tokens, e->at);
  for (int i = tokens->at[close].match + 1; i < close; i++) {
    if (tokens->at[i].token == ':')
      tokens->at[i].marks |= MARK_TIGHT;
    else if (tokens->at[i].match > i) /* what is nested has colons of its own */
      i = tokens->at[i].match;
  }
}

/* `first`: the index of the `if` that begins the chain. */
static void mark_if(FmtTokenList *tokens, const Expr *e, int first, bool is_header) {
  mark_expr(tokens, e->if_.condition);
  mark_block(tokens, e->if_.then_block, is_header);
  tokens->at[first_of(tokens, e->if_.then_block->at)].chain = first;
  tokens->at[first].chain_end = last_of(tokens, e->at);
  const Expr *rest = e->if_.else_part;
  if (!rest)
    return;
  if (rest->kind == EXPR_IF) {
    mark_if(tokens, rest, first, is_header);
    return;
  }
  mark_block(tokens, rest->block, is_header);
  tokens->at[first_of(tokens, rest->block->at)].chain = first;
}

static void mark_expr(FmtTokenList *tokens, const Expr *e) {
  switch (e->kind) {
  case EXPR_POISON:
  case EXPR_NAME:
  case EXPR_INT:
  case EXPR_FLOAT:
  case EXPR_BOOL: return;
  case EXPR_UNARY:
    if (e->unary.op == UNARY_NEG)
      tokens->at[first_of(tokens, e->unary.op_at)].marks |= MARK_PREFIX;
    mark_expr(tokens, e->unary.operand);
    return;
  case EXPR_BINARY:
    mark_expr(tokens, e->binary.left);
    mark_expr(tokens, e->binary.right);
    return;
  case EXPR_CALL:
    mark_expr(tokens, e->call.callee);
    mark_arguments(tokens, &e->call.arguments);
    return;
  case EXPR_CAST: mark_arguments(tokens, &e->cast.arguments); return;
  case EXPR_VAR_CALL: mark_arguments(tokens, &e->var_call); return;
  case EXPR_BRACKET: mark_bracket(tokens, e); return;
  case EXPR_FIELD: mark_expr(tokens, e->field.base); return;
  case EXPR_OF: mark_expr(tokens, e->of.base); return;
  case EXPR_TUPLE: mark_exprs(tokens, &e->tuple); return;
  case EXPR_ARRAY: mark_exprs(tokens, &e->array); return;
  case EXPR_COMPREHENSION: mark_comprehension(tokens, &e->comprehension); return;
  case EXPR_IF: mark_if(tokens, e, first_of(tokens, e->at), false); return;
  case EXPR_BLOCK: mark_block(tokens, e->block, false); return;
  case EXPR_LAMBDA:
    mark_parameters(tokens, &e->lambda.parameters);
    mark_type(tokens, e->lambda.result);
    mark_block(tokens, e->lambda.body, false);
    return;
  }
}

static void mark_stmt(FmtTokenList *tokens, const Stmt *m) {
  mark_extent(tokens, m->at);
  switch (m->kind) {
  case STMT_POISON:
  case STMT_BREAK:
  case STMT_CONTINUE: return;
  case STMT_LET:
    mark_type(tokens, m->let.type);
    mark_expr(tokens, m->let.init);
    return;
  case STMT_VAR:
    mark_type(tokens, m->var.type);
    mark_expr(tokens, m->var.init);
    return;
  case STMT_ASSIGN:
    mark_expr(tokens, m->assign.target);
    mark_expr(tokens, m->assign.value);
    return;
  case STMT_FOR:
    mark_expr(tokens, m->for_.from);
    mark_expr(tokens, m->for_.to);
    mark_optional(tokens, m->for_.by);
    mark_optional(tokens, m->for_.checkpoint_count);
    mark_block(tokens, m->for_.body, true);
    return;
  case STMT_WHILE:
    mark_expr(tokens, m->while_.condition);
    mark_block(tokens, m->while_.body, true);
    return;
  case STMT_EXPR:
    if (m->expr->kind == EXPR_IF)
      mark_if(tokens, m->expr, first_of(tokens, m->expr->at), true);
    else if (m->expr->kind == EXPR_BLOCK)
      mark_block(tokens, m->expr->block, true);
    return;
  case STMT_REQUIRE: mark_expr(tokens, m->require.condition); return;
  }
}

static void mark_block(FmtTokenList *tokens, const Block *b, bool is_header) {
  tokens->at[first_of(tokens, b->at)].marks |= MARK_BLOCK | (is_header ? MARK_HEADER : 0);
  tokens->at[first_of(tokens, b->close)].marks |= MARK_BLOCK;
  for (int i = 0; i < b->statements.n; i++)
    mark_stmt(tokens, b->statements.at[i]);
  if (!b->tail)
    return;
  /* The tail may begin with a parenthesis, which its Range leaves out. */
  int before = b->statements.n ? last_of(tokens, b->statements.at[b->statements.n - 1]->at) : first_of(tokens, b->at);
  while (tokens->at[before + 1].token == ';')
    before++;
  tokens->at[before + 1].marks |= MARK_START;
  mark_expr(tokens, b->tail);
}

static void mark_kinds(FmtTokenList *tokens, const NameList *kinds) {
  if (kinds->n == 0)
    return;
  tokens->at[first_of(tokens, kinds->at[0].at) - 1].marks |= MARK_TIGHT;
  tokens->at[first_of(tokens, kinds->at[kinds->n - 1].at) + 1].marks |= MARK_TIGHT;
}

static void mark_item(FmtTokenList *tokens, const Item *item) {
  mark_extent(tokens, item->at);
  switch (item->kind) {
  case ITEM_POISON:
  case ITEM_IMPORT: return;
  case ITEM_CONST:
    mark_type(tokens, item->constant.type);
    mark_expr(tokens, item->constant.value);
    return;
  case ITEM_STRUCT: {
    int close = last_of(tokens, item->at);
    tokens->at[close].marks |= MARK_FIELDS;
    tokens->at[tokens->at[close].match].marks |= MARK_FIELDS;
    mark_parameters(tokens, &item->structure.fields);
    return;
  }
  case ITEM_FUNCTION:
  case ITEM_EXTERN:
    mark_kinds(tokens, &item->function.kinds);
    mark_parameters(tokens, &item->function.parameters);
    mark_type(tokens, item->function.result);
    if (item->function.body)
      mark_block(tokens, item->function.body, true);
    return;
  case ITEM_RULE: mark_block(tokens, item->rule.body, true); return;
  case ITEM_EXPORT: mark_expr(tokens, item->export.what); return;
  }
}

void fmt_mark(FmtTokenList *tokens, const Program *program) {
  for (int i = 0; i < program->items.n; i++)
    mark_item(tokens, program->items.at[i]);
  tokens->at[tokens->n - 1].marks |= MARK_START;
}
