/* What the files that write the IR as source share; see source.h.

   First the plan (source_plan.c) settles for each value of a function how it appears: by name, inside the expression
   that uses it, or as a function of its indices.  Then the region is written, statement by statement; names are given
   as they are declared, and taken back where their block ends. */
#ifndef GRADC_CODEGEN_SOURCE_STATE_H
#define GRADC_CODEGEN_SOURCE_STATE_H
#include "codegen/source.h"
#include "ir/build.h"
#include "ir/raw.h"
#include "ir/size.h"
#include "ir/symbols.h"
#include "ir/text.h"

/* What is known of a size. */
typedef enum SizeClass {
  SIZE_EXACT,   /* made of the function's sizes: it may stand in a type */
  SIZE_BOUNDED, /* at most a size that may: a tensor of it is kept in one that is at least as large */
  SIZE_UNKNOWN  /* data */
} SizeClass;

typedef struct SourceNote { /* of a value */
  const char *name;         /* while it is declared */
  int nuses, nsize_uses;    /* as an operand or yield; in sizes */
  const Op *user;           /* the only one, where nuses is 1; NULL: a yield */
  const Region *user_region;
  int depth;        /* of the expression, where it is inlined */
  bool is_replaced; /* an operation makes a new tensor or state of it: its elements are read before */
  bool is_inlined;  /* stands where it is used */
  bool is_var;      /* its name is a var's */
  int last, second; /* points of the last use, and of the last by another operation than `last_op` */
  const Op *last_op;
  int arity; /* > 0: no tensor, but a function of its first indices */
} SourceNote;

typedef struct SourceName {
  const char *name, *base;
  uintptr_t number; /* base_2 has 1 */
} SourceName;

typedef struct SourceWriter {
  Module *module;
  Arena *arena;
  Func *func;
  SourceNote *notes; /* by uid */
  unsigned nnotes;
  int *points; /* of operations, by number: where what they compute is written */
  int npoints;
  SourceLines lines;
  int indent;
  Symbols taken;         /* names: of the language, of functions, and those declared now */
  Symbols least_free;    /* base -> the least number that may be free */
  VEC(SourceName) scope; /* names that were declared, in order */
  Symbols *func_names;   /* Func's name in the IR -> in the source */
  bool by_line;          /* nothing is inlined across lines of the source */
  bool needs_mulz, needs_divz, needs_pow_below, needs_attach, needs_floor_div, needs_linalg;
  bool failed;
  const struct Slice *slice; /* only these operations are written; or NULL */
} SourceWriter;

/* Operations that a value needs; see source_tape.c. */
typedef struct Slice {
  const Region *body;
  ValueMap needed; /* results and parameters that are needed, to themselves */
} Slice;

static inline SourceNote *source_note(const SourceWriter *s, const Value *v) {
  return &s->notes[v->uid];
}

/* ---- source.c */
/* The error that ends the attempt; reported once. */
void source_fail(SourceWriter *s, Range at, const char *what);

/* ---- source_plan.c */
void source_plan(SourceWriter *s);
SizeClass source_size_class(const SourceWriter *s, const Size *size);
/* The worst of a type's sizes. */
SizeClass source_type_class(const SourceWriter *s, Type t);
/* A size that may stand in a type and is no less; NULL for SIZE_UNKNOWN. */
const Size *source_bound(const SourceWriter *s, const Size *size);
/* True if the var that stands for v may be changed by op, in place: nobody reads v afterwards. */
bool source_dies_at(const SourceWriter *s, const Value *v, const Op *op);

/* ---- source_names.c */
void source_names_begin(SourceWriter *s);
/* Declares a name like `wanted`, or like `otherwise` where that is NULL. */
const char *source_declare(SourceWriter *s, const char *wanted, const char *otherwise);
int source_scope_begin(const SourceWriter *s);
void source_scope_end(SourceWriter *s, int mark);
const char *source_func_name(const SourceWriter *s, const Func *f);
/* Whether the sizes stand in brackets after the name.  They do where the parameters' types do not give them, or in
   another order. */
bool source_declares_sizes(const Func *f);

/* ---- source_expr.c: texts */
typedef enum Precedence {
  PREC_OR,
  PREC_AND,
  PREC_NOT,
  PREC_COMPARE,
  PREC_ADD,
  PREC_MUL,
  PREC_NEG,
  PREC_POWER,
  PREC_ATOM
} Precedence;
/* v as an operand of something that binds as tightly as `least`. */
const char *source_operand(SourceWriter *s, const Value *v, Precedence least);
static inline const char *source_value(SourceWriter *s, const Value *v) {
  return source_operand(s, v, PREC_OR);
}
/* The operation's result as an expression, named or not. */
const char *source_op_text(SourceWriter *s, const Op *op);
const char *source_size_text(SourceWriter *s, const Size *size, Precedence least);
/* Of a type's axes from `first` on: "n, m". */
const char *source_dims_text(SourceWriter *s, Type t, int first);
const char *source_type_text(SourceWriter *s, Type t);
const char *source_indices_text(SourceWriter *s, int n, Value *const *idx);
/* zeros[n, m] of f32 */
const char *source_zeros_text(SourceWriter *s, Type t);
const char *source_list(SourceWriter *s, int n, const char *const *texts, const char *between);

/* ---- source_stmt.c */
void source_line(SourceWriter *s, const Op *op, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* What the region's operations do, without its yields. */
void source_region(SourceWriter *s, const Region *r);
/* "{ .. value }", over several lines where the region has statements; `head` and `tail` stand around it. */
void source_block(SourceWriter *s, const Op *op, const char *head, const Region *r, int nyields, const char *tail);
const char *source_tuple(SourceWriter *s, int n, Value *const *values);
/* A new var that begins as `init`, or the var of init itself where op is the last to use that. */
const char *source_var_from(SourceWriter *s, const Op *op, const Value *init, const char *wanted);
/* Assigns all at once; NULL among the vars, and a var's own value, is left out. */
void source_assign(SourceWriter *s, const Op *op, int n, const char *const *vars, Value *const *values);
bool source_is_skipped(const SourceWriter *s, const Op *op);

/* ---- source_loop.c */
void source_loop(SourceWriter *s, const Op *op);
/* ---- source_tape.c: stacks of sizes that only the run knows */
void source_tape(SourceWriter *s, const Op *loop, int out);
#endif
