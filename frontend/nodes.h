/* Constructors of syntax nodes, as the grammar's actions call them.  Private to the syntax half.
   Each computes the depth of its node; one that would be deeper than AST_MAX_DEPTH is reported and becomes poison. */
#ifndef GRADC_FRONTEND_NODES_H
#define GRADC_FRONTEND_NODES_H
#include "frontend/parse_state.h"

/* ---- expressions ---- */
Expr *expr_poison(ParseState *s, Range at);
Expr *expr_name(ParseState *s, Name name);
Expr *expr_integer(ParseState *s, Range at, int64_t value, const char *text);
Expr *expr_floating(ParseState *s, Range at, double value, const char *text);
Expr *expr_boolean(ParseState *s, Range at, bool value);
Expr *expr_unary(ParseState *s, Range at, UnaryOp op, Range op_at, Expr *operand);
Expr *expr_binary(ParseState *s, Range at, BinaryOp op, Range op_at, Expr *left, Expr *right);
Expr *expr_call(ParseState *s, Range at, Expr *callee, ArgumentList arguments);
Expr *expr_cast(ParseState *s, Range at, KindWord word, ArgumentList arguments);
Expr *expr_var_call(ParseState *s, Range at, ArgumentList arguments);
Expr *expr_field(ParseState *s, Range at, Expr *base, Name name);
Expr *expr_of(ParseState *s, Range at, Expr *base, TypeExpr *type);
Expr *expr_tuple(ParseState *s, Range at, ExprList elements);
Expr *expr_array(ParseState *s, Range at, ExprList elements);
Expr *expr_comprehension(ParseState *s, Range at, Range inner, IndexRangeList ranges, Expr *filter, Expr *body);
Expr *expr_if(ParseState *s, Range at, Expr *condition, Block *then_block, Expr *else_part);
Expr *expr_block(ParseState *s, Block *block);
Expr *expr_lambda(ParseState *s, Range at, ParameterList parameters, TypeExpr *result, Block *body);

/* ---- what stands between the brackets after an expression ----
   The grammar covers index and reduction with one set of items; expr_bracket() works out both readings. */
typedef enum CoverKind {
  COVER_EXPR,   /* first */
  COVER_SLICE,  /* first : second : third, each may be NULL; also a range, ':' and the body */
  COVER_FILTER, /* first if filter : body */
  COVER_IN,     /* range, with an optional filter and body */
} CoverKind;

typedef struct CoverItem {
  CoverKind kind;
  bool has_step; /* COVER_SLICE: two colons */
  Range at;
  Expr *first, *second, *third;
  IndexRange range;
  Expr *filter, *body;
} CoverItem;
typedef VEC(CoverItem) CoverItemList;

Expr *expr_bracket(ParseState *s, Range at, Expr *base, const CoverItemList *covers);
/* The node without its readings; poison if it would be too deep. */
Expr *expr_bracket_unread(ParseState *s, Range at, Expr *base, const CoverItemList *covers);

/* ---- types ---- */
TypeExpr *type_poison(ParseState *s, Range at);
TypeExpr *type_word(ParseState *s, Range at, KindWord word);
TypeExpr *type_name(ParseState *s, Name name);
TypeExpr *type_expr_tensor(ParseState *s, Range at, TypeExpr *base, ExprList sizes);
TypeExpr *type_tuple(ParseState *s, Range at, TypeElementList elements);
TypeExpr *type_function(ParseState *s, Range at, TypeElementList parameters, TypeExpr *result);

/* ---- statements ---- */
typedef struct Checkpoint {
  CheckpointMode mode;
  Expr *count; /* or NULL */
} Checkpoint;

/* A block whose last statement is poison has a poison value, so that the error is not followed by another. */
Block *block_new(ParseState *s, Range at, StmtList statements, Expr *tail);
Stmt *stmt_poison(ParseState *s, Range at);
Stmt *stmt_let(ParseState *s, Range at, Pattern *pattern, TypeExpr *type, Expr *init);
Stmt *stmt_var(ParseState *s, Range at, Name name, TypeExpr *type, Expr *init);
Stmt *stmt_assign(ParseState *s, Range at, Expr *target, Range op_at, Expr *value);
Stmt *stmt_assign_op(ParseState *s, Range at, Expr *target, BinaryOp op, Range op_at, Expr *value);
Stmt *stmt_for(ParseState *s, Range at, Name name, Expr *from, Expr *to, Expr *by, Checkpoint checkpoint, Block *body);
Stmt *stmt_while(ParseState *s, Range at, Expr *condition, Block *body);
Stmt *stmt_expr(ParseState *s, Expr *expr);
Stmt *stmt_plain(ParseState *s, Range at, StmtKind kind); /* break, continue */
Stmt *stmt_require(ParseState *s, Range at, Expr *condition, const char *message);
Pattern *pattern_name(ParseState *s, Name name);
Pattern *pattern_tuple(ParseState *s, Range at, PatternList parts);

/* ---- items ---- */
Item *item_new(ParseState *s, ItemKind kind, Range at, Name name);
Item *item_poison(ParseState *s, Range at);
Item *item_poison_named(ParseState *s, Range at, Name name);
#endif
