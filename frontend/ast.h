/* The abstract syntax tree of an .ad file: what the parser builds and the elaboration reads.
   Invariants:
   - Every node has its Range.  All nodes live in the arena given to parse_file().
   - Names are interned in that arena (arena_intern): equal names are equal pointers.
   - A *_POISON node stands where an error was reported; whoever meets one goes on silently.
   - No path from a root passes more than AST_MAX_DEPTH nodes, so that every walk may recurse: what is deeper was
     reported and replaced by poison.
   - Where a field "may be NULL" its comment says so; all others are set, if only to poison. */
#ifndef GRADC_FRONTEND_AST_H
#define GRADC_FRONTEND_AST_H
#include "ir/arena.h"
#include "ir/diag.h"
#include <stdbool.h>
#include <stdint.h>

enum { AST_MAX_DEPTH = 2000, AST_MAX_BRACKETS = 256 };

typedef struct Expr Expr;
typedef struct Stmt Stmt;
typedef struct Item Item;
typedef struct Block Block;
typedef struct TypeExpr TypeExpr;
typedef struct Pattern Pattern;
typedef struct Comprehension Comprehension;

typedef struct Name {
  const char *text; /* interned; NULL where an optional name is left out */
  Range at;
} Name;

/* The reserved words that name a scalar kind. */
typedef enum KindWord { WORD_BOOL, WORD_I32, WORD_I64, WORD_F32, WORD_F64, WORD_REAL } KindWord;

typedef VEC(Name) NameList;
typedef VEC(Expr *) ExprList;
typedef VEC(Stmt *) StmtList;
typedef VEC(Item *) ItemList;
typedef VEC(Pattern *) PatternList;

/* ---- types as written ---- */
typedef struct TypeElement { /* an element of a tuple type, or a parameter of a function type */
  Name name;                 /* text may be NULL */
  TypeExpr *type;
  Range at;
} TypeElement;
typedef VEC(TypeElement) TypeElementList;

typedef enum TypeExprKind {
  TYPE_EXPR_POISON,
  TYPE_EXPR_WORD,   /* f64 */
  TYPE_EXPR_NAME,   /* T, Layer */
  TYPE_EXPR_TENSOR, /* f64[n, 3], Layer[m, n] */
  TYPE_EXPR_TUPLE, /* (f64, i64), (loss: f64, pred: f64[n]); one element: the element itself, named or in parentheses */
  TYPE_EXPR_FUNCTION, /* fn(x: f64[n], f64) -> f64[n] */
} TypeExprKind;

struct TypeExpr {
  TypeExprKind kind;
  int depth;
  Range at;
  union {
    KindWord word;
    const char *name;
    struct {
      TypeExpr *base; /* TYPE_EXPR_WORD or TYPE_EXPR_NAME */
      ExprList sizes; /* at least one */
    } tensor;
    TypeElementList tuple; /* at least one */
    struct {
      TypeElementList parameters;
      TypeExpr *result;
    } function;
  };
};

/* A parameter of a function, or a field of a struct. */
typedef struct Parameter {
  Name name;
  TypeExpr *type;
  Range at;
} Parameter;
typedef VEC(Parameter) ParameterList;

/* ---- index ranges ---- */
typedef enum IndexRangeKind {
  INDEX_BARE,  /* i */
  INDEX_BELOW, /* i < to */
  INDEX_IN,    /* i in from..to */
} IndexRangeKind;

typedef struct IndexRange {
  IndexRangeKind kind;
  Name name;
  Expr *from; /* NULL but for INDEX_IN */
  Expr *to;   /* NULL for INDEX_BARE */
  Range at;
} IndexRange;
typedef VEC(IndexRange) IndexRangeList;

struct Comprehension {
  IndexRangeList ranges; /* at least one */
  Expr *filter;          /* may be NULL */
  Expr *body;
  Range at; /* of ranges, filter and body; without the brackets */
};

/* ---- expressions ---- */
typedef enum UnaryOp { UNARY_NEG, UNARY_NOT } UnaryOp;
typedef enum BinaryOp {
  BINARY_ADD,
  BINARY_SUB,
  BINARY_MUL,
  BINARY_DIV,
  BINARY_MOD,
  BINARY_MATMUL,
  BINARY_POW,
  BINARY_LT,
  BINARY_GT,
  BINARY_LE,
  BINARY_GE,
  BINARY_EQ,
  BINARY_NE,
  BINARY_AND,
  BINARY_OR,
} BinaryOp;

typedef struct Argument {
  Name name; /* text NULL: given by position */
  Expr *value;
  Range at;
} Argument;
typedef VEC(Argument) ArgumentList;

/* One item between the brackets of `x[..]`, read as an index. */
typedef struct IndexItem {
  bool is_slice;
  Expr *index;               /* when not a slice */
  Expr *start, *stop, *step; /* of a slice; each may be NULL */
  Range at;
} IndexItem;
typedef VEC(IndexItem) IndexItemList;

/* `base[..]`.  Whether it is an index or a reduction depends on what `base` names: the elaboration looks that up and
   takes one of the two readings, both of which stand here ready.  They share their Exprs.  At least one is not NULL. */
typedef struct Bracket {
  Expr *base;
  const IndexItemList *items;     /* as an index; NULL if it holds `in` or a filter, and so can only be a reduction */
  const Comprehension *reduction; /* as ranges, filter and body; NULL if it cannot be read so */
  Range not_items;                /* where items is NULL: the part that no index has */
  Range not_reduction;            /* where reduction is NULL: the part that does not fit .. */
  const char *why_not_reduction;  /* .. and the message: "a range is written i < n + 1" */
} Bracket;

typedef enum ExprKind {
  EXPR_POISON,
  EXPR_NAME,
  EXPR_INT,
  EXPR_FLOAT,
  EXPR_BOOL,
  EXPR_UNARY,
  EXPR_BINARY,
  EXPR_CALL,          /* f(x, axis = 0); also f[3](x), grad(f)(x): the callee is any expression */
  EXPR_CAST,          /* f32(x) */
  EXPR_VAR_CALL,      /* var(x): `var` is reserved, so NumPy's name of the variance gets a node of its own */
  EXPR_BRACKET,       /* x[i, :], sum[i: x[i]] */
  EXPR_FIELD,         /* p.w, x.T */
  EXPR_OF,            /* zeros[n] of f32 */
  EXPR_TUPLE,         /* (a, b) */
  EXPR_ARRAY,         /* [a, b] */
  EXPR_COMPREHENSION, /* [for i < n: a] */
  EXPR_IF,
  EXPR_BLOCK,
  EXPR_LAMBDA, /* fn(x: f64) { a * x } */
} ExprKind;

struct Expr {
  ExprKind kind;
  int depth;
  bool in_parens; /* written (e); `at` is that of e */
  Range at;
  union {
    const char *name;
    struct {
      int64_t value;
      const char *text; /* as written, with its underscores */
    } integer;
    struct {
      double value;
      const char *text;
    } floating;
    bool boolean;
    struct {
      UnaryOp op;
      Range op_at;
      Expr *operand;
    } unary;
    struct {
      BinaryOp op;
      Range op_at;
      Expr *left, *right;
    } binary;
    struct {
      Expr *callee;
      ArgumentList arguments;
    } call;
    struct {
      KindWord word;
      ArgumentList arguments;
    } cast;
    ArgumentList var_call;
    Bracket bracket;
    struct {
      Expr *base;
      Name name;
    } field;
    struct {
      Expr *base;
      TypeExpr *type; /* TYPE_EXPR_WORD or TYPE_EXPR_NAME */
    } of;
    ExprList tuple; /* two or more */
    ExprList array; /* one or more */
    Comprehension comprehension;
    struct {
      Expr *condition;
      Block *then_block;
      Expr *else_part; /* EXPR_BLOCK or EXPR_IF; NULL where there is no else */
    } if_;
    Block *block;
    struct {
      ParameterList parameters;
      TypeExpr *result; /* may be NULL */
      Block *body;
    } lambda;
  };
};

/* ---- statements ---- */
struct Block {
  StmtList statements;
  Expr *tail; /* the last expression, which has no `;`; may be NULL: see block_value() */
  int depth;
  Range at;    /* from { to } */
  Range close; /* the } : where a missing value is reported */
  bool is_cut; /* there is none: something has been said of that */
};

struct Pattern {
  bool is_tuple;
  Name name;         /* when not a tuple; "_" binds nothing */
  PatternList parts; /* of a tuple, at least one */
  Range at;
};

typedef enum CheckpointMode { CHECKPOINT_NONE, CHECKPOINT_SQRT, CHECKPOINT_COUNT } CheckpointMode;

typedef enum StmtKind {
  STMT_POISON,
  STMT_LET,
  STMT_VAR,
  STMT_ASSIGN,
  STMT_FOR,
  STMT_WHILE,
  STMT_EXPR, /* an `if` or a block that begins a statement: EXPR_IF, EXPR_BLOCK, EXPR_POISON */
  STMT_BREAK,
  STMT_CONTINUE,
  STMT_REQUIRE,
} StmtKind;

struct Stmt {
  StmtKind kind;
  int depth;
  Range at; /* with its `;` */
  union {
    struct { /* STMT_LET */
      Pattern *pattern;
      TypeExpr *type;        /* may be NULL */
      Expr *init;            /* `let c[i, j] = e;`: EXPR_COMPREHENSION, and the pattern is the name */
      bool is_comprehension; /* it was written so */
    } let;
    struct { /* STMT_VAR */
      Name name;
      TypeExpr *type; /* may be NULL */
      Expr *init;
      bool is_comprehension;
    } var;
    struct {
      Expr *target; /* any postfix expression or tuple: the elaboration checks that it can be assigned */
      bool is_compound;
      BinaryOp op; /* of a compound assignment: += -= *= /= %= @= ^= */
      Range op_at;
      Expr *value;
    } assign;
    struct {
      Name name;
      Expr *from, *to;
      Expr *by; /* may be NULL: 1 */
      CheckpointMode checkpoint;
      Expr *checkpoint_count; /* of CHECKPOINT_COUNT, else NULL */
      Block *body;
    } for_;
    struct {
      Expr *condition;
      Block *body;
    } while_;
    Expr *expr;
    struct {
      Expr *condition;
      const char *message; /* decoded; may be NULL */
    } require;
  };
};

/* ---- items ---- */
typedef enum ItemKind {
  ITEM_POISON,
  ITEM_IMPORT,
  ITEM_CONST,
  ITEM_STRUCT,
  ITEM_FUNCTION,
  ITEM_EXTERN,
  ITEM_RULE,
  ITEM_EXPORT,
} ItemKind;

struct Item {
  ItemKind kind;
  Name name; /* what the item declares (of a rule: the function it is for); text NULL for import, export, and for
                poison whose name is not known.  A named ITEM_POISON declares that name as poison. */
  Range at;
  union {
    struct {
      const char *path; /* decoded */
      bool is_system;   /* import <nn.ad>; */
      Range path_at;
    } import;
    struct {
      TypeExpr *type; /* may be NULL */
      Expr *value;
    } constant;
    struct {
      NameList sizes; /* may be empty */
      ParameterList fields;
    } structure;
    struct {          /* ITEM_FUNCTION, ITEM_EXTERN */
      NameList kinds; /* fn f<T, U> */
      NameList sizes; /* fn f[k]: declared sizes; empty for extern */
      ParameterList parameters;
      TypeExpr *result; /* may be NULL for a function: follows from the body */
      Block *body;      /* NULL for extern */
    } function;
    struct { /* vjp f(inputs -> results; seeds) { .. }, jvp likewise */
      bool is_vjp;
      NameList inputs; /* may be empty */
      NameList results, seeds;
      Block *body;
    } rule;
    struct {
      Expr *what;
      Name as; /* text may be NULL */
    } export;
  };
};

typedef struct Program {
  const Source *source;
  ItemList items; /* in source order */
} Program;

/* The expression that gives the block its value: the tail, else the `if` or block that is its last statement, else
   NULL.  In the second case the caller must leave out the last statement when it runs the statements. */
Expr *block_value(const Block *block);

/* Words for messages and dumps: "f64", "+", "and". */
const char *kind_word_text(KindWord word);
const char *binary_op_text(BinaryOp op);
#endif
