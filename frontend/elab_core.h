/* What the files of the elaboration's core share and the operators and loops need not know: files, functions and their
   signatures, lifting.  See elab.h for the rest.

   A Function is what a function-valued expression denotes: an item, an anonymous function, a function with its sizes
   given, a derivative, a parameter with its declared type.  Becoming code:
   - A plain item (no function parameters) is one IR function for each choice of kinds (and of constant sizes, where it
   is recursive or exported so): an Instance.  It is called.
   - An anonymous function, or an item that takes functions, is elaborated at the call, in its defining scope.
   - To be differentiated such a one is lifted: an IR function is made of it whose further parameters are the values
   that it uses of the function around it. */
#ifndef GRADC_FRONTEND_ELAB_CORE_H
#define GRADC_FRONTEND_ELAB_CORE_H
#include "frontend/elab.h"
#include "frontend/elaborate.h"

/* ---- files */
typedef struct File File;
typedef struct Import {
  File *file;
  Range at;
} Import;
struct File {
  const char *path; /* as messages show it */
  uint64_t device, inode;
  bool has_identity; /* device and inode are known */
  bool is_library;   /* its functions are made when they are used, not before */
  bool is_reading;   /* its imports are still being read: to import it now is a cycle */
  const Source *source;
  Program *program;
  Scope *top; /* its items; the names that it imports stand around */
  VEC(Import) imports;
  int mark; /* scratch of walks over the imports */
};
typedef struct Modules {
  const ElabOptions *options;
  void (*imported)(void *arg, const char *path);
  void *imported_arg;
  VEC(File *) files; /* the main file first */
  int mark;
  int lowering;                     /* how many functions are being made */
  VEC(struct Lowered *) with_rules; /* functions whose own rules are still to be made */
} Modules;
/* Reads the main file and all that it imports; names are not bound yet. */
void modules_read(Elab *e, const Source *main);
/* A file of the standard library that the program need not import; NULL, with an error at `at`, where there is none. */
File *modules_library(Elab *e, const char *name, Range at);
/* Binds the names of the files from number `from` on, to one another too, and gives functions their rules. */
void modules_bind(Elab *e, int from);
/* Puts the names of what a file imports around its own. */
void modules_link(Elab *e, File *file);

/* ---- constants */
typedef struct ConstValue {
  const Item *item;
  Scope *top;
  enum { CONST_NEW, CONST_EVALUATING, CONST_SCALAR, CONST_EXPRESSION, CONST_POISON } state;
  bool is_literal;
  Kind kind;
  int64_t i;
  double f;
  const Form *made; /* CONST_EXPRESSION: as it was elaborated last */
  Region *made_in;
} ConstValue;
Form *const_form(Elab *e, Binding *binding, Range at);
/* Evaluates a constant of the main file where no function is. */
void const_check(Elab *e, Binding *binding);

/* ---- where code goes: all of Elab that is a function's own */
typedef struct Place {
  Builder b;
  Scope *scope, *top;
  int comprehension_depth;
  struct Lift *lift;
  struct LoopState *loop;
  struct IndexHole *holes;
} Place;
Place place_save(const Elab *e);
void place_restore(Elab *e, const Place *p);
/* A function that is in no module, for code that is only checked. */
Func *scratch_func(Elab *e, const char *name, Range loc);
/* False, with an error at `at`, when calls nest too deeply or the program grows beyond all bounds. */
bool place_has_room(Elab *e, Range at, const char *name);

/* ---- names */
/* The scopes that are visible now as they are now: later declarations and assignments do not show in them. */
Scope *scope_snapshot(Elab *e);
Scope *scope_new(Elab *e, Scope *outer);
/* The binding that a name has in a scope and those around it; NULL: none.  No side effect. */
Binding *scope_lookup(const Scope *from, const char *name);
/* The name that is most like `name` of those tried: within a third of its length in edits. */
typedef struct NearMiss {
  const char *name;
  const char *best; /* NULL: none is near */
  int distance;
} NearMiss;
NearMiss near_miss_of(const char *name);
void near_miss_try(NearMiss *m, const char *candidate);
void near_miss_mend(Elab *e, const NearMiss *m, DiagMessage *message);

/* ---- types */
/* A struct's type with its sizes put in; NULL after an error. */
TypeForm *struct_type(Elab *e, StructDecl *decl, Range at, int nsizes, const Size **sizes);
void struct_check(Elab *e, StructDecl *decl);
/* `given`: the sizes of Layer[3, 4](..), or NULL. */
Form *struct_construct(Elab *e, Expr *x, StructDecl *decl, const ExprList *given);

/* ---- functions */
typedef enum FunctionKind {
  FUNCTION_ITEM,
  FUNCTION_LAMBDA,
  FUNCTION_SIZED,   /* `of` with declared sizes given */
  FUNCTION_DERIVED, /* an operator applied to `of` */
  FUNCTION_TYPED,   /* `of` as the parameter of a function type */
} FunctionKind;
typedef VEC(struct Lowered *) LoweredList;
struct Function {
  FunctionKind kind;
  const char *name; /* for messages */
  Range at;         /* where it is declared, or written */
  Function *of;
  /* FUNCTION_ITEM, FUNCTION_LAMBDA */
  const Item *item;
  const Expr *lambda;
  Scope *top, *scope;          /* of its file; around its body */
  const struct Header *header; /* made when it is first needed */
  LoweredList lowered;
  const Item *vjp_rule, *jvp_rule;
  bool is_called;    /* and so has been looked at, where it is elaborated at its calls */
  bool is_unknown;   /* an item made up for a function parameter, where a body is only checked */
  bool is_checked;   /* it is being made only to be checked */
  bool is_recursive; /* by declared sizes that fall: it can only be made for constant ones */
  /* FUNCTION_SIZED */
  int ngiven;
  const Size **given;
  /* FUNCTION_DERIVED */
  DeriveOp op;
  const Expr *wrt; /* or NULL: all */
  DeriveMode mode;
  bool split; /* of an export: the parts of a vector-Jacobian product, whichever of the reverse operators asks for it */
  bool is_sparse; /* what an export asks for */
  /* FUNCTION_TYPED */
  TypeForm *type;
};
Function *function_of_item(Elab *e, const Item *item, File *file);
Form *form_of_function(Elab *e, Range at, Function *f);
/* `of` as a parameter with a declared function type. */
Function *function_typed(Elab *e, Function *of, TypeForm *type, Name name);
/* The item or anonymous function at the bottom. */
Function *function_root(Function *f);

typedef struct Lambdas {
  VEC(Function *) list;
} Lambdas;
/* Looks at those from `from` on that nothing has called, and forgets them. */
void lambdas_check(Elab *e, int from);

/* What the head of a function says before kinds and sizes are known. */
typedef struct SizeName {
  Name name;
  bool is_declared; /* fn f[k] */
} SizeName;
typedef struct Header {
  const char *name;
  Range at;
  const NameList *kinds;
  const ParameterList *params;
  const TypeExpr *result; /* or NULL */
  Block *body;            /* NULL: extern */
  int nsizes, ndeclared;  /* the declared ones come first */
  const SizeName *sizes;  /* in order of appearance */
  bool takes_functions;
  bool failed;
} Header;
const Header *function_header(Elab *e, Function *root);

/* Reports names in a type's sizes that the scope does not know. mend: "fn f", to which [k] is added. */
bool sizes_declared(Elab *e, const Scope *scope, const TypeExpr *t, const char *mend);

/* A size that is to be inferred; `size` is NULL until it is known. */
typedef struct SizeUnknown {
  Name name;
  const Size *size;
} SizeUnknown;
/* Names of e->scope that are none of the unknowns may occur in the type. */
void sizes_infer(Elab *e, const TypeExpr *t, const Form *actual, int n, SizeUnknown *unknowns);
/* The kind of literals that initialise a place of this type; false where there is none, or a generic one not bound yet.
 */
bool type_literal_kind(Elab *e, const Scope *scope, const TypeExpr *t, Kind *kind);

/* Arguments in the order of the parameters. */
typedef struct ArgumentMatch {
  Expr **given; /* one a parameter */
  ArgumentList extra;
} ArgumentMatch;
/* names: what the parameters are called here, or NULL for their own names. False after an error. */
bool arguments_match(Elab *e, Range at, const char *callee, Range declared, const ParameterList *params,
                     const char *const *names, const ArgumentList *arguments, bool allow_extra, ArgumentMatch *match);

/* The frame of a function that is being elaborated, at its outermost scope. */
typedef struct Frame {
  const Function *root;
  int ngiven;
  const Size *const *given; /* declared sizes that are constants; or NULL */
  const Scope *call_site;   /* of an item that is elaborated at its call; else NULL */
} Frame;

/* A function as IR: the item for one choice of kinds (and constant sizes), or lifted. */
typedef struct LoweredParam {
  TypeForm *type;
  int nleaves;
  Value **leaves; /* none for a function */
} LoweredParam;
typedef struct Lowered {
  enum { LOWERED_OPEN, LOWERED_DONE, LOWERED_FAILED } state;
  /* the key */
  Function *root;
  const Kind *kinds;
  const Size *const *fixed;   /* per declared size: a constant; or NULL */
  Function *const *functions; /* per parameter: the function that it is; or NULL */
  const Size *const *given;   /* per size name, where the function is lifted for a call: over `around`; or NULL */
  const Func *around;         /* whose values are captured; NULL for an item */
  /* the function */
  Func *func;
  Value **sizes;           /* per size name: the parameter; NULL where fixed or given */
  const Size **size_names; /* per size name: what it stands for */
  LoweredParam *params;
  const Form *result;
  struct Lift *lift; /* its captures; or NULL */
} Lowered;
typedef struct LowerKey {
  const Kind *kinds;
  const Size *const *fixed;
  Function *const *functions;
  const Size *const *given;
} LowerKey;
/* NULL after an error, or where it is being made already (recursion: reported).  Such an IR function as a call of l
   gets: a function that is not known has parameters and results, and is in no module. */
Lowered *function_lower(Elab *e, Function *root, const LowerKey *key, Range at);
/* The value of a body in e's scope, checked against the declared result. */
Form *function_value(Elab *e, const Header *h);
Function *function_unknown(Elab *e, const TypeExpr *type, Name name);
bool unknown_finish(Elab *e, Lowered *l, const Header *h);
/* After the item has not been used: finds what is wrong in it all the same.  What it adds to the module is for nobody.
 */
void function_check(Elab *e, Function *f);
bool function_serves_any_size(Elab *e, Function *f);
/* False, with an error, where a call with these constant sizes is a recursion that does not fall. */
bool recursion_falls(Elab *e, const Function *root, const Header *h, const Size *const *fixed, Range at);
/* The C function, once its parameters are there. */
bool extern_finish(Elab *e, Lowered *l, const Header *h);

/* A call, with everything known: arguments converted to the parameters' types. */
typedef struct Call {
  Range at;
  Function *root;
  const Header *h;
  Form **args;
  TypeForm **types; /* of the parameters, in the caller's sizes */
  Kind *kinds;
  const Size **sizes;
  Scope *frame; /* kinds and sizes bound */
} Call;
/* Evaluates the arguments and fills in the rest; false after an error.  sized: gives the declared sizes, or NULL. */
bool call_prepare(Elab *e, Call *c, Expr **given, const Function *sized);
/* Seeds and tangents: parameters of `func` from `from` on, put into operands, where those before are. */
typedef struct Extras {
  const Func *func;
  int from;
  const char *name;
  Value **operands;
} Extras;
bool call_extras(Elab *e, const Extras *x, const ArgumentList *arguments, Range at);
Form *function_call(Elab *e, Function *f, const ArgumentList *arguments, Range at);
/* The i-th argument of a call, already computed, as an expression; it is bound in e's scope. */
Expr *expr_of_form(Elab *e, int i, Range at, Form *t);
Form *inline_call(Elab *e, Call *c, const Size *const *fixed);
/* Results of a call in the structure of the callee's result. */
Form *call_result(Elab *e, const Form *skeleton, Range at, Op *call);

/* ---- derivatives */
typedef struct DeriveOptions { /* of an export */
  bool allowed;
  bool accumulate, split, sparse;
  Range at; /* of the last of them */
} DeriveOptions;
Form *derive_expression(Elab *e, Expr *x, DeriveOp op, DeriveOptions *options);
/* The IR function of f, which is l or operators applied to it; NULL after an error. */
Func *derive_chain(Elab *e, const Function *f, const Lowered *l);
/* The first result of the derivative f that is not a value of the function. */
int derived_first(Elab *e, const Function *f, const Lowered *l);

/* ---- own rules, exports */
void rules_lower(Elab *e, Lowered *l);
/* Of a function that takes functions and has rules, where its parameters are bound: finds all that these functions
   capture, of which its rules say nothing. */
void rules_capture(Elab *e, Lowered *l, const Header *h);
void rules_count_captured(Lowered *l);
/* How `rule` sees what l captures; map: from l's parameters to the rule's. NULL where l is no lifted function. */
struct Lift *rules_lift(Elab *e, const Lowered *l, Func *rule, const ValueMap *map);
void rules_check_cycles(Elab *e);
void export_grad_option(Elab *e, const char *text);
void export_all(Elab *e, File *file);
void exports_finish(Elab *e);
/* Reserved in C or C++: "a keyword of C++", "a function of the C library"; NULL: free. */
const char *c_symbol_reserved(const char *name);
bool c_parameter_reserved(const char *name);
/* zeros[n] and the like, which no declaration shadows. */
bool expr_is_filled(Elab *e, const Expr *x);
#endif
