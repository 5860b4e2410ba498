/* Constructors of syntax nodes; see nodes.h. */
#include "frontend/nodes.h"

static int deeper(int a, int b) {
  return a > b ? a : b;
}
static int depth_of(const Expr *e) {
  return e ? e->depth : 0;
}
static int depth_of_type(const TypeExpr *t) {
  return t ? t->depth : 0;
}

static int depth_of_exprs(const ExprList *list) {
  int depth = 0;
  for (int i = 0; i < list->n; i++)
    depth = deeper(depth, list->at[i]->depth);
  return depth;
}

static int depth_of_arguments(const ArgumentList *list) {
  int depth = 0;
  for (int i = 0; i < list->n; i++)
    depth = deeper(depth, list->at[i].value->depth);
  return depth;
}

static int depth_of_elements(const TypeElementList *list) {
  int depth = 0;
  for (int i = 0; i < list->n; i++)
    depth = deeper(depth, list->at[i].type->depth);
  return depth;
}

static int depth_of_ranges(const IndexRangeList *list) {
  int depth = 0;
  for (int i = 0; i < list->n; i++)
    depth = deeper(depth, deeper(depth_of(list->at[i].from), depth_of(list->at[i].to)));
  return depth;
}

/* The depth of a node above children of the given depth; 0, after a report, if there is no room for it. */
static int depth_above(ParseState *s, Range at, int children) {
  if (children < AST_MAX_DEPTH)
    return children + 1;
  if (!s->too_deep)
    diag_error(s->diag, at, "this is nested more than %d deep", AST_MAX_DEPTH);
  s->too_deep = true;
  return 0;
}

/* ---- expressions ---- */

/* The kind is EXPR_POISON if the node would be too deep; the caller's fields then do no harm. */
static Expr *new_expr(ParseState *s, ExprKind kind, Range at, int children) {
  Expr *e = NEW(s->arena, Expr);
  e->depth = depth_above(s, at, children);
  e->kind = e->depth ? kind : EXPR_POISON;
  e->at = at;
  return e;
}

Expr *expr_poison(ParseState *s, Range at) {
  return new_expr(s, EXPR_POISON, at, 0);
}

Expr *expr_name(ParseState *s, Name name) {
  Expr *e = new_expr(s, EXPR_NAME, name.at, 0);
  e->name = name.text;
  return e;
}

Expr *expr_integer(ParseState *s, Range at, int64_t value, const char *text) {
  Expr *e = new_expr(s, EXPR_INT, at, 0);
  e->integer.value = value;
  e->integer.text = text;
  return e;
}

Expr *expr_floating(ParseState *s, Range at, double value, const char *text) {
  Expr *e = new_expr(s, EXPR_FLOAT, at, 0);
  e->floating.value = value;
  e->floating.text = text;
  return e;
}

Expr *expr_boolean(ParseState *s, Range at, bool value) {
  Expr *e = new_expr(s, EXPR_BOOL, at, 0);
  e->boolean = value;
  return e;
}

Expr *expr_unary(ParseState *s, Range at, UnaryOp op, Range op_at, Expr *operand) {
  Expr *e = new_expr(s, EXPR_UNARY, at, operand->depth);
  e->unary.op = op;
  e->unary.op_at = op_at;
  e->unary.operand = operand;
  return e;
}

Expr *expr_binary(ParseState *s, Range at, BinaryOp op, Range op_at, Expr *left, Expr *right) {
  Expr *e = new_expr(s, EXPR_BINARY, at, deeper(left->depth, right->depth));
  e->binary.op = op;
  e->binary.op_at = op_at;
  e->binary.left = left;
  e->binary.right = right;
  return e;
}

Expr *expr_call(ParseState *s, Range at, Expr *callee, ArgumentList arguments) {
  Expr *e = new_expr(s, EXPR_CALL, at, deeper(callee->depth, depth_of_arguments(&arguments)));
  e->call.callee = callee;
  e->call.arguments = arguments;
  return e;
}

Expr *expr_cast(ParseState *s, Range at, KindWord word, ArgumentList arguments) {
  Expr *e = new_expr(s, EXPR_CAST, at, depth_of_arguments(&arguments));
  e->cast.word = word;
  e->cast.arguments = arguments;
  return e;
}

Expr *expr_var_call(ParseState *s, Range at, ArgumentList arguments) {
  Expr *e = new_expr(s, EXPR_VAR_CALL, at, depth_of_arguments(&arguments));
  e->var_call = arguments;
  return e;
}

Expr *expr_field(ParseState *s, Range at, Expr *base, Name name) {
  Expr *e = new_expr(s, EXPR_FIELD, at, base->depth);
  e->field.base = base;
  e->field.name = name;
  return e;
}

Expr *expr_of(ParseState *s, Range at, Expr *base, TypeExpr *type) {
  Expr *e = new_expr(s, EXPR_OF, at, deeper(base->depth, type->depth));
  e->of.base = base;
  e->of.type = type;
  return e;
}

Expr *expr_tuple(ParseState *s, Range at, ExprList elements) {
  Expr *e = new_expr(s, EXPR_TUPLE, at, depth_of_exprs(&elements));
  e->tuple = elements;
  return e;
}

Expr *expr_array(ParseState *s, Range at, ExprList elements) {
  Expr *e = new_expr(s, EXPR_ARRAY, at, depth_of_exprs(&elements));
  e->array = elements;
  return e;
}

Expr *expr_comprehension(ParseState *s, Range at, Range inner, IndexRangeList ranges, Expr *filter, Expr *body) {
  int depth = deeper(depth_of_ranges(&ranges), deeper(depth_of(filter), body->depth));
  Expr *e = new_expr(s, EXPR_COMPREHENSION, at, depth);
  e->comprehension.ranges = ranges;
  e->comprehension.filter = filter;
  e->comprehension.body = body;
  e->comprehension.at = inner;
  return e;
}

Expr *expr_if(ParseState *s, Range at, Expr *condition, Block *then_block, Expr *else_part) {
  int depth = deeper(deeper(condition->depth, then_block->depth), depth_of(else_part));
  Expr *e = new_expr(s, EXPR_IF, at, depth);
  e->if_.condition = condition;
  e->if_.then_block = then_block;
  e->if_.else_part = else_part;
  return e;
}

Expr *expr_block(ParseState *s, Block *block) {
  Expr *e = new_expr(s, EXPR_BLOCK, block->at, block->depth);
  e->block = block;
  return e;
}

Expr *expr_lambda(ParseState *s, Range at, ParameterList parameters, TypeExpr *result, Block *body) {
  int depth = deeper(depth_of_type(result), body->depth);
  for (int i = 0; i < parameters.n; i++)
    depth = deeper(depth, parameters.at[i].type->depth);
  Expr *e = new_expr(s, EXPR_LAMBDA, at, depth);
  e->lambda.parameters = parameters;
  e->lambda.result = result;
  e->lambda.body = body;
  return e;
}

Expr *expr_bracket_unread(ParseState *s, Range at, Expr *base, const CoverItemList *covers) {
  int depth = base->depth;
  for (int i = 0; i < covers->n; i++) {
    const CoverItem *c = &covers->at[i];
    depth = deeper(depth, deeper(depth_of(c->first), deeper(depth_of(c->second), depth_of(c->third))));
    depth = deeper(depth, deeper(depth_of(c->range.from), depth_of(c->range.to)));
    depth = deeper(depth, deeper(depth_of(c->filter), depth_of(c->body)));
  }
  Expr *e = new_expr(s, EXPR_BRACKET, at, depth);
  e->bracket.base = base;
  return e;
}

/* ---- types ---- */

static TypeExpr *new_type(ParseState *s, TypeExprKind kind, Range at, int children) {
  TypeExpr *t = NEW(s->arena, TypeExpr);
  t->depth = depth_above(s, at, children);
  t->kind = t->depth ? kind : TYPE_EXPR_POISON;
  t->at = at;
  return t;
}

TypeExpr *type_poison(ParseState *s, Range at) {
  return new_type(s, TYPE_EXPR_POISON, at, 0);
}

TypeExpr *type_word(ParseState *s, Range at, KindWord word) {
  TypeExpr *t = new_type(s, TYPE_EXPR_WORD, at, 0);
  t->word = word;
  return t;
}

TypeExpr *type_name(ParseState *s, Name name) {
  TypeExpr *t = new_type(s, TYPE_EXPR_NAME, name.at, 0);
  t->name = name.text;
  return t;
}

TypeExpr *type_expr_tensor(ParseState *s, Range at, TypeExpr *base, ExprList sizes) {
  TypeExpr *t = new_type(s, TYPE_EXPR_TENSOR, at, deeper(base->depth, depth_of_exprs(&sizes)));
  t->tensor.base = base;
  t->tensor.sizes = sizes;
  return t;
}

TypeExpr *type_tuple(ParseState *s, Range at, TypeElementList elements) {
  TypeExpr *t = new_type(s, TYPE_EXPR_TUPLE, at, depth_of_elements(&elements));
  t->tuple = elements;
  return t;
}

TypeExpr *type_function(ParseState *s, Range at, TypeElementList parameters, TypeExpr *result) {
  TypeExpr *t = new_type(s, TYPE_EXPR_FUNCTION, at, deeper(depth_of_elements(&parameters), result->depth));
  t->function.parameters = parameters;
  t->function.result = result;
  return t;
}

/* ---- statements ---- */

static Stmt *new_stmt(ParseState *s, StmtKind kind, Range at, int children) {
  Stmt *m = NEW(s->arena, Stmt);
  m->depth = depth_above(s, at, children);
  m->kind = m->depth ? kind : STMT_POISON;
  m->at = at;
  return m;
}

Block *block_new(ParseState *s, Range at, StmtList statements, Expr *tail) {
  Block *b = NEW(s->arena, Block);
  int depth = depth_of(tail);
  for (int i = 0; i < statements.n; i++)
    depth = deeper(depth, statements.at[i]->depth);
  b->at = at;
  b->close = (Range){at.src, at.to_line, at.to_col > 1 ? at.to_col - 1 : 1, at.to_line, at.to_col};
  b->depth = depth_above(s, at, depth);
  if (b->depth == 0) { /* a block has no poison of its own: it becomes one that holds nothing but poison */
    b->tail = expr_poison(s, at);
    b->depth = 2;
    return b;
  }
  b->statements = statements;
  b->tail = tail;
  if (!tail && statements.n && statements.at[statements.n - 1]->kind == STMT_POISON)
    b->tail = expr_poison(s, statements.at[statements.n - 1]->at);
  return b;
}

Stmt *stmt_poison(ParseState *s, Range at) {
  return new_stmt(s, STMT_POISON, at, 0);
}

Stmt *stmt_let(ParseState *s, Range at, Pattern *pattern, TypeExpr *type, Expr *init) {
  Stmt *m = new_stmt(s, STMT_LET, at, deeper(depth_of_type(type), init->depth));
  m->let.pattern = pattern;
  m->let.type = type;
  m->let.init = init;
  return m;
}

Stmt *stmt_var(ParseState *s, Range at, Name name, TypeExpr *type, Expr *init) {
  Stmt *m = new_stmt(s, STMT_VAR, at, deeper(depth_of_type(type), init->depth));
  m->var.name = name;
  m->var.type = type;
  m->var.init = init;
  return m;
}

Stmt *stmt_assign(ParseState *s, Range at, Expr *target, Range op_at, Expr *value) {
  Stmt *m = new_stmt(s, STMT_ASSIGN, at, deeper(target->depth, value->depth));
  m->assign.target = target;
  m->assign.op_at = op_at;
  m->assign.value = value;
  return m;
}

Stmt *stmt_assign_op(ParseState *s, Range at, Expr *target, BinaryOp op, Range op_at, Expr *value) {
  Stmt *m = stmt_assign(s, at, target, op_at, value);
  m->assign.is_compound = true;
  m->assign.op = op;
  return m;
}

Stmt *stmt_for(ParseState *s, Range at, Name name, Expr *from, Expr *to, Expr *by, Checkpoint checkpoint, Block *body) {
  int depth = deeper(deeper(from->depth, to->depth), deeper(depth_of(by), depth_of(checkpoint.count)));
  Stmt *m = new_stmt(s, STMT_FOR, at, deeper(depth, body->depth));
  m->for_.name = name;
  m->for_.from = from;
  m->for_.to = to;
  m->for_.by = by;
  m->for_.checkpoint = checkpoint.mode;
  m->for_.checkpoint_count = checkpoint.count;
  m->for_.body = body;
  return m;
}

Stmt *stmt_while(ParseState *s, Range at, Expr *condition, Block *body) {
  Stmt *m = new_stmt(s, STMT_WHILE, at, deeper(condition->depth, body->depth));
  m->while_.condition = condition;
  m->while_.body = body;
  return m;
}

Stmt *stmt_expr(ParseState *s, Expr *expr) {
  Stmt *m = new_stmt(s, STMT_EXPR, expr->at, expr->depth);
  m->expr = expr;
  return m;
}

Stmt *stmt_plain(ParseState *s, Range at, StmtKind kind) {
  return new_stmt(s, kind, at, 0);
}

Stmt *stmt_require(ParseState *s, Range at, Expr *condition, const char *message) {
  Stmt *m = new_stmt(s, STMT_REQUIRE, at, condition->depth);
  m->require.condition = condition;
  m->require.message = message;
  return m;
}

/* Patterns are nested by brackets only, of which there are few: they need no depth. */
Pattern *pattern_name(ParseState *s, Name name) {
  Pattern *p = NEW(s->arena, Pattern);
  p->name = name;
  p->at = name.at;
  return p;
}

Pattern *pattern_tuple(ParseState *s, Range at, PatternList parts) {
  Pattern *p = NEW(s->arena, Pattern);
  p->is_tuple = true;
  p->parts = parts;
  p->at = at;
  return p;
}

/* ---- items ---- */

Item *item_new(ParseState *s, ItemKind kind, Range at, Name name) {
  Item *item = NEW(s->arena, Item);
  item->kind = kind;
  item->at = at;
  item->name = name;
  return item;
}

Item *item_poison(ParseState *s, Range at) {
  return item_new(s, ITEM_POISON, at, (Name){0});
}
Item *item_poison_named(ParseState *s, Range at, Name name) {
  return item_new(s, ITEM_POISON, at, name);
}
