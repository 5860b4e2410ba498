/* Elaboration: from the syntax tree to IR in one walk that checks kinds, sizes and names as it builds.
   Internal header of the files frontend/elab_*.c; the entry point for the driver is frontend/elaborate.h.

   An expression becomes a Form.  Scalars are IR values at once.  A tensor expression is not stored until it must be: it
   is a recipe for one element, so that `mean(softplus(z) - y * z)` becomes one loop with no temporary.  Rules:
   - form_store() gives the tensor as an IR value in the current region, making a loop where it is not stored yet.
   - Whatever is bound to a name (let, var, parameter), passed to a function that is not inlined, yielded or returned is
     stored first.  Whoever would read an element of an operand more than once an element (broadcasting along a new
   axis, matrix products, a reduction used twice) stores it first, unless form_is_cheap().
   - A Form that is not stored may be used only in the region where it was made or in one below it, before any
   assignment to a `var`.  A stored one lives as long as its region. Errors: elab_error() reports once and the caller
   returns form_poison(); poison in, silent poison out. */
#ifndef GRADC_FRONTEND_ELAB_H
#define GRADC_FRONTEND_ELAB_H
#include "frontend/ast.h"
#include "ir/build.h"

typedef struct Elab Elab;
typedef struct Form Form;
typedef struct Scope Scope;
typedef struct Function Function;
typedef struct StructDecl StructDecl;

typedef enum FormKind {
  FORM_POISON,
  FORM_TENSOR, /* any rank, scalars included */
  FORM_TUPLE,
  FORM_STRUCT,
  FORM_FUNCTION,
} FormKind;

/* One element of a tensor that is not stored; idx: type.rank i64 values, known to be in range. */
typedef Value *ElementRecipe(Elab *e, const Form *t, Value *const *idx);

struct Form {
  FormKind kind;
  Range at;
  /* FORM_TENSOR */
  Type type;
  Value *value; /* the stored value; always there for rank 0; NULL: `element` gives the elements */
  ElementRecipe *element;
  const void *recipe; /* what `element` needs, e.g. its operands; in the arena */
  bool cheap;         /* an element costs a load or less */
  bool is_literal; /* rank 0, made of numeric literals (also pi inf nan, consts without a type) only: takes the kind of
                      what it meets.  `value` is a constant of kind i64 or f64 */
  bool adapts;     /* kind f64, made only of literals and integers: becomes f32 where it meets f32 */
  const Size *as_size; /* rank 0, i64, made only of sizes and constants: this size; else NULL */
  bool is_division;    /* an integer division, for the warning `1 / n * x` */
  /* FORM_TUPLE, FORM_STRUCT (fields in order) */
  int nparts;
  Form **parts;
  const char **part_names; /* of a tuple type with names, or NULL */
  StructDecl *decl;        /* FORM_STRUCT */
  const Size **struct_sizes;
  /* FORM_FUNCTION */
  Function *function;
};

/* ---- names */
typedef enum BindingKind {
  BIND_LET,      /* let, parameter, index: a Form that is never assigned */
  BIND_VAR,      /* its current value is `form` (stored); assignment replaces the Form, not the Binding */
  BIND_SIZE,     /* a size name */
  BIND_CONST,    /* evaluated on first use */
  BIND_FUNCTION, /* fn, extern fn: form is a FORM_FUNCTION */
  BIND_STRUCT,
  BIND_KIND, /* T of a generic function */
  BIND_POISON,
} BindingKind;
typedef struct Binding {
  BindingKind kind;
  const char *name;
  Range at; /* of the declaration */
  Form *form;
  const Size *size;
  Kind float_kind; /* BIND_KIND */
  const Item *item;
  StructDecl *decl;
  Func *func;     /* IR function in which the form's values live; NULL at the top level */
  int loop_depth; /* depth of comprehension nesting (Elab.comprehension_depth) where a var was declared: assigning to a
                     var from inside a comprehension is an error */
  bool used;
  bool is_captured;            /* a `var` around an anonymous function, seen from in there: a BIND_LET of its value */
  struct ConstValue *constant; /* BIND_CONST */
  const struct Binding *clash; /* another file's declaration that this name stands for as well */
  Range clash_at;              /* and the import that brought it in */
  struct Binding *next;
} Binding;
struct Scope {
  Scope *outer;
  Binding *bindings;         /* newest first */
  struct NameTable *names;   /* the same, by name, where they are many; or NULL */
  struct SizeFact *facts;    /* what `require`s in it say of sizes; elab_sizes.c */
  const struct Frame *frame; /* of the outermost scope of a function's body, or NULL */
  int count;
  bool is_function; /* the outermost scope of a function's body: names further out belong to other functions */
  bool is_frozen;   /* of an anonymous function's surroundings: nothing is bound here any more */
};

struct Elab {
  Arena *arena;
  Diag *diag;
  Module *module;
  Builder b; /* where code goes now */
  Scope *scope;
  Scope *top; /* items of the file being elaborated (each file has its own; imports are linked in) */
  Kind real;  /* f64, or f32 under --real=f32 */
  int comprehension_depth;
  struct Lift *lift;       /* the function that is being made from a lambda, and what it captures; or NULL */
  struct LoopState *loop;  /* the innermost for or while; NULL outside and inside a comprehension or function */
  struct IndexHole *holes; /* indices whose range is not known yet; elab_comprehension.c */
  struct Modules *modules; /* files read; elab.c */
  uintptr_t stack_start;   /* calls are elaborated by recursion; elab.c */
  int ncalls;              /* bodies elaborated at their calls */
  struct Lambdas *lambdas; /* anonymous functions written in the bodies that are being made; elab_lambda.c */
};

/* ---- elab.c: program, names, messages */
DiagMessage *elab_error(Elab *e, Range at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
Form *form_poison(Elab *e, Range at);
Scope *scope_push(Elab *e);
void scope_pop(Elab *e, Scope *pushed); /* reports unused names where that is a warning */
Binding *scope_bind(Elab *e, BindingKind kind, Name name, Form *form); /* "_" binds nothing: returns a dummy */
Binding *scope_find(Elab *e, const char *name);                        /* NULL: not declared by the program */
/* A name as an expression: variables, sizes, consts, functions, pi inf nan, then built-in functions; reports unknown
   names with a near miss as the mend. */
Form *elab_name(Elab *e, Expr *x);
/* What a binding stands for, as a Form of the function being made: values of functions around it become parameters. */
Form *scope_form(Elab *e, Binding *binding, Range at);

/* ---- elab_expr.c: the dispatch over expression kinds.
   want: the kind that a literal takes here, because it directly initialises a place of that kind; or NULL. */
Form *elab_expr(Elab *e, Expr *x, const Kind *want);
Form *elab_tensor(Elab *e, Expr *x, const Kind *want); /* reports anything that is not a tensor or scalar */
Value *elab_scalar(Elab *e, Expr *x,
                   Kind kind);           /* a scalar converted to `kind` where promotion allows; NULL on error */
Value *elab_condition(Elab *e, Expr *x); /* a bool scalar; NULL on error */
/* An integer expression made of sizes alone; NULL after an error. */
const Size *elab_size(Elab *e, Expr *x);
/* The value of an if or block used as an expression. */
Form *elab_block(Elab *e, Block *block, const Kind *want); /* opens a scope */
Form *elab_if(Elab *e, Expr *x, const Kind *want);
Form *elab_tuple_of(Elab *e, Range at, int n, Form **parts);

/* ---- elab_form.c: tensors stored and not */
Form *form_of_value(Elab *e, Range at, Value *v);
Form *form_of_size(Elab *e, Range at, const Size *s);
Form *form_int(Elab *e, Range at, int64_t v); /* literals */
Form *form_float(Elab *e, Range at, double v);
Form *form_bool(Elab *e, Range at, bool v);
Form *form_copy(Elab *e, const Form *t);
Form *form_lazy(Elab *e, Range at, Type t, ElementRecipe *element, const void *recipe, bool cheap);
Value *form_element(Elab *e, const Form *t, Value *const *idx); /* idx: rank of them; folds loads of stored values */
Value *form_store(Elab *e, const Form *t);                      /* tensors and scalars */
Form *form_stored(Elab *e, const Form *t); /* the same as a Form; tuples and structs part by part */
bool form_is_cheap(const Form *t);
Form *form_cheap(Elab *e, const Form *t); /* t itself if cheap, else stored */
/* A stored or lazy tensor seen as a sub-tensor, no copy: x[i0, .., i(n-1)]. `checks` as build_index. */
Form *form_index(Elab *e, Range at, const Form *x, int n, Value *const *idx, uint64_t checks);
/* Conversion by the promotion rules (literals adapt, integers promote to float, i32 to i64); reports what needs a cast.
   `what` for the message: "argument 2 of 'f'". */
Form *form_convert(Elab *e, const Form *t, Kind kind, const char *what);
/* Converts n tensors to one kind by promotion; false after an error. `what`: "operands of '+'". */
bool form_unify(Elab *e, int n, const Form **x, const char *what);
static inline bool form_adapts(const Form *t) {
  return t->type.kind == KIND_F64 && (t->adapts || t->is_literal);
}
/* Gives the result of an operation what the operands' nature leaves of it: is_literal, adapts. */
void form_mark(Form *result, int n, const Form *const *operands);
/* Axis i of the result is axis axes[i] of x; the same elements with other sizes that agree.  No copies. */
Form *form_permute(Elab *e, Range at, const Form *x, const int *axes);
Form *form_with_dims(Elab *e, const Form *t, const Size *const *dims);
const char *form_text(Elab *e, const Form *t); /* its type for messages: "(f64, i64[n])" */
/* Leaves of a form in order (tuples and structs flattened); for calls, yields, carries. */
void form_flatten(Elab *e, const Form *t, int *n, const Form ***leaves);
/* The same structure as t, with its leaves replaced by stored values taken in order from *values (advanced). */
Form *form_unflatten(Elab *e, const Form *t, Value *const **values);
/* Checks and, where the branches or initial and next values differ only by literal kinds, converts: equal structure,
   kinds and sizes; reports with both places. Returns false after an error. */
bool form_same_shape(Elab *e, Form **a, Form **b, const char *what);

/* ---- elab_operator.c: unary, binary operators with broadcasting and promotion, casts, matrix product, literals, where
 */
Form *elab_unary(Elab *e, Expr *x, const Kind *want);
Form *elab_binary(Elab *e, Expr *x, const Kind *want);
Form *elab_cast(Elab *e, Expr *x);
Form *elab_array(Elab *e, Expr *x, const Kind *want);
Form *operator_binary(Elab *e, Range at, BinaryOp op, Range op_at, const Form *l, const Form *r);
Form *operator_power(Elab *e, Range at, const Form *l, const Form *r); /* numbers or tensors of them */
Form *operator_cast(Elab *e, Range at, Kind kind, const Form *x);
Form *operator_matmul(Elab *e, Range at, const Form *l, const Form *r);
/* Elementwise application of IR operations to broadcast operands: `make` gets n scalar values of the operands' kinds.
 */
typedef Value *ScalarMake(Elab *e, const void *data, Value *const *x);
Form *elementwise(Elab *e, Range at, Kind result, int n, const Form *const *operands, ScalarMake *make,
                  const void *data);
/* NumPy broadcasting of n shapes; false after an error that names both sides. Warns for [n] with [n, 1]. */
bool broadcast_shapes(Elab *e, Range at, int n, const Form *const *operands, int *rank, const Size **dims);
/* Whether elements of the operand stand for several of a tensor of type `to`; the operand's indices for an element of
 * it. */
bool broadcast_repeats(const Form *operand, Type to);
void broadcast_index(Elab *e, const Form *operand, Type to, Value *const *idx, Value **own);
/* x repeated to a shape that it is known to broadcast to. */
Form *form_broadcast(Elab *e, Range at, const Form *x, int rank, const Size *const *dims);
/* Sizes that must agree: equal as polynomials, or settled by a `require` seen before; else reports both sides, and the
   require that would settle it. */
bool sizes_agree(Elab *e, Range at, const Size *a, const Size *b, const char *what);
void sizes_assume(Elab *e, const Size *a,
                  const Size *b); /* from a require of an equality; lasts to the end of its scope */
/* Likewise a >= b; and whether that is known. */
void size_assume_at_least(Elab *e, const Size *a, const Size *b);
bool size_at_least(Elab *e, const Size *a, const Size *b);
void sizes_keep(Elab *e, const Scope *ended); /* a block that always runs has ended: what it assumed still holds */
bool sizes_equal(Elab *e, const Size *a, const Size *b); /* the same without a message */
/* Notes at the declarations of the names in a and b, and the `require` that would settle their equality. */
void sizes_explain(Elab *e, DiagMessage *message, const Size *a, const Size *b);
/* A size of a new tensor: an error where it is a negative constant, a run-time check where it is not known. */
bool size_check(Elab *e, Range at, const Size *s);

/* ---- elab_builtin*.c: predeclared functions of builtins.md */
typedef struct Builtin Builtin;
const Builtin *builtin_find(const char *name); /* functions called name(..); NULL if there is none */
const char *builtin_name(int i);               /* the names that builtin_find knows; NULL past the last */
Form *builtin_call(Elab *e, const Builtin *f, Expr *call);
/* zeros[n, m], ones, full[n](v), eye, iota: names followed by sizes. `of`: kind or NULL. */
bool builtin_is_filled(const char *name);
Form *builtin_filled(Elab *e, Expr *x, const char *name, const ExprList *sizes, Expr *fill, const Kind *of,
                     const Kind *want);
/* Reduction of a tensor, stored or not, over the given axes (mask), as sum(x, axis = ..); name: sum mean prod max min
   logsumexp argmax argmin any all variance std norm.  Used by comprehensions too. */
Form *builtin_reduce(Elab *e, Range at, const char *name, const Form *x, unsigned axes, bool keep);

/* ---- elab_index.c */
Form *elab_bracket(Elab *e, Expr *x, const Kind *want); /* index, slice, gather; or a reduction; or f[3] */
Form *elab_field(Elab *e, Expr *x);

/* ---- elab_comprehension.c */
Form *elab_comprehension(Elab *e, const Comprehension *c, Range at, const Kind *want);
bool reduction_is(const char *name); /* sum prod max min mean logsumexp argmax argmin any all count */
Form *elab_reduction(Elab *e, const char *name, const Comprehension *c, Range at, const Kind *want);
/* Tells the holes that index value i ranges over an axis of size s of the tensor named in the message; true if i is an
   index whose range this settles or agrees with, so that no check is needed. */
bool index_hole_meets(Elab *e, Value *i, const Size *s, Range at);

/* ---- elab_stmt.c */
void elab_stmt(Elab *e, Stmt *s);
void elab_stmts(Elab *e, const StmtList *list, int n); /* the first n */
bool pattern_bind(Elab *e, const Pattern *p, const Form *t);
/* Branches that may assign to a `var` around them (blocks inside expressions may).  Around an IR `if`:
       merge_begin(e, &m, cond, &vars);  ..then..  merge_else(e, &m, n, values);  ..else..  merge_end(e, &m, n, values);
   The vars become results of the `if` after the n values given, and afterwards stand for those results. */
typedef VEC(Binding *) VarList;
void vars_assigned(Elab *e, const Expr *x, VarList *vars); /* adds those of this function that x assigns */
typedef struct Merge {
  VarList vars;
  Form **before; /* of vars */
  Op *op;        /* its first n results are the values */
} Merge;
void merge_begin(Elab *e, Merge *m, Value *cond, const VarList *vars);
void merge_else(Elab *e, Merge *m, int n, Value *const *values);
void merge_end(Elab *e, Merge *m, int n, Value *const *values);

/* ---- elab_type.c: types as written */
typedef struct TypeForm TypeForm; /* a checked type: kind of Form, IR type, parts; declared there */
struct TypeForm {
  FormKind kind; /* FORM_FUNCTION too */
  Range at;
  Type type;
  int nparts;
  TypeForm **parts;
  const char **part_names; /* may hold NULLs */
  StructDecl *decl;
  const Size **struct_sizes;
  TypeForm *result; /* FORM_FUNCTION: parts are the parameters */
};
/* Of a struct or tuple of that type, with room for its parts. */
Form *form_like_type(Elab *e, const TypeForm *t, Range at);
struct StructDecl {
  const char *name;
  const Item *item;
  Scope *top;
  bool is_open;   /* its fields are being looked at: to meet it again is to contain itself */
  int64_t leaves; /* the scalars and tensors in it; 0: not counted yet */
};
TypeForm *elab_type(Elab *e, const TypeExpr *t); /* NULL after an error */
/* Converts and checks a form against a declared type (let y: f64[n] = e; results; fields). */
Form *form_check(Elab *e, Form *t, const TypeForm *want, const char *what);
const char *typeform_text(Elab *e, const TypeForm *t);

/* ---- elab_function.c */
Form *elab_call(Elab *e, Expr *x, const Kind *want); /* built-ins, functions, lambdas, struct constructors, operators */
Form *elab_lambda(Elab *e, Expr *x);
/* What stands in brackets as sizes, `what` being whose: "a function", "'zeros'".  NULL after an error. */
const ExprList *bracket_sizes(Elab *e, const Bracket *b, const char *what);
/* f[3]: a function with its declared sizes given. */
Form *function_with_sizes(Elab *e, Range at, const Form *f, int n, const Size **sizes);
bool derive_operator(const char *name, DeriveOp *op); /* grad, vjp .. unless shadowed */
/* Called for every item once all names are bound. */
void elab_function_item(Elab *e, const Item *item, Binding *binding);
void elab_export_item(Elab *e, const Item *item);
#endif
