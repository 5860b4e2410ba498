/* The intermediate representation: structured SSA over tensors.

   A program is a Module of Funcs.  A Func is a region; a Region is a list of operations that ends by yielding values.
   An Op reads values, makes values, and may hold regions (`loop`, `if`, `while`).  Regions see the values of the
   regions around them; functions see only their parameters.  There is no control-flow graph: one way in, one way out.

   Tensors are values: dense, row-major, never changed.  Scalars are tensors of rank 0.  All arithmetic is on scalars;
   tensors come from `loop`, and are read by `index`.  The sizes of a type are polynomials (ir/size.h) over i64 values
   that dominate the use: size parameters, loop indices, trip counts.

   loop: an index space (0 <= index < extent for each; a negative extent counts as 0), values captured freely, and
   results in this order: carry   operand: initial value; region parameter: its value in this iteration; yielded: its
   value in the next. A loop with a carry has exactly one index and runs in order; without, its iterations are
   independent. A loop without indices is one iteration: a place to declare accumulators. accum   operand: initial
   tensor or scalar; region parameter: a handle, read by nobody and used only as first operand of acc_add, here or in
   any region below; result: initial plus all that was added. out     yielded each iteration: `stack` (result type:
   extents, then the yielded type), or reduced to a scalar by sum, prod, min, max (NaN wins), and, or. region
   parameters: indices, carries, accumulators.  Yields: carries, outs.

   Everything lives in the module's arena.  Passes build new regions through the builder (ir/build.h), which folds
   constants and shares equal pure operations; nothing keeps use lists. */
#ifndef GRADC_IR_IR_H
#define GRADC_IR_IR_H
#include "ir/arena.h"
#include "ir/diag.h"

typedef struct Value Value;
typedef struct Op Op;
typedef struct Region Region;
typedef struct Func Func;
typedef struct Module Module;
typedef struct Size Size;

typedef enum Kind { KIND_BOOL, KIND_I32, KIND_I64, KIND_F32, KIND_F64 } Kind;
static inline bool kind_is_float(Kind k) {
  return k >= KIND_F32;
}
static inline bool kind_is_int(Kind k) {
  return k == KIND_I32 || k == KIND_I64;
}
static inline int kind_bytes(Kind k) {
  return k == KIND_BOOL ? 1 : k == KIND_I32 || k == KIND_F32 ? 4 : 8;
}
extern const char *const kind_name[5]; /* "bool" "i32" "i64" "f32" "f64" */

enum { MAX_RANK = 16 };
typedef struct Type {
  Kind kind;
  int rank;
  const Size *const *dims; /* `rank` of them; interned sizes, so equal sizes are equal pointers */
} Type;

typedef enum Opcode {
#define OP(code, name, group, arity, result, effect, reads) OP_##code,
#include "ir/ops.def"
#undef OP
  OP_COUNT
} Opcode;
typedef enum OpGroup { GROUP_ELEM, GROUP_TENSOR, GROUP_FLOW } OpGroup;
typedef enum OpResult { RESULT_SAME, RESULT_BOOL, RESULT_OWN, RESULT_NONE } OpResult;
typedef enum OpEffect { EFFECT_PURE, EFFECT_CHECK, EFFECT_EFFECT } OpEffect;
typedef struct OpInfo {
  const char *name;
  OpGroup group;
  int arity;
  OpResult result;
  OpEffect effect;
  const char *reads;
} OpInfo;
extern const OpInfo op_info[OP_COUNT];

struct Value {
  Type type;
  Op *def;          /* NULL for a region's parameter */
  Region *region;   /* where it is defined */
  int index;        /* among def's results, or the region's parameters */
  unsigned uid;     /* unique in the module, in order of creation */
  bool is_acc;      /* an accumulator's handle */
  const char *name; /* from the source, or NULL; x_bar for the adjoint of x */
  const Size *poly; /* i64 scalars: cache of size_of_value(), else NULL */
  void *note;       /* scratch of the pass that is running; not to be relied on at its start */
};

typedef enum OutKind { OUT_STACK, OUT_SUM, OUT_PROD, OUT_MIN, OUT_MAX, OUT_AND, OUT_OR } OutKind;
extern const char *const out_kind_name[7]; /* "stack" "sum" "prod" "min" "max" "and" "or" */

typedef struct LoopInfo {
  int nindices, ncarries, naccs, nouts;
  const Size **extents; /* nindices */
  OutKind *outs;        /* nouts */
  int checkpoint;       /* of a loop with carries: 0 no, -1 sqrt schedule, 1 binomial schedule */
  const Size *states;   /* binomial: how many are kept, 1 at least; else NULL */
} LoopInfo;

struct Op {
  Opcode code;
  int noperands, nresults, nregions;
  Value **operands;
  Value **results;
  Region **regions; /* loop: body; if: then, else; while: condition, body */
  union {
    double f;         /* const of a float kind */
    int64_t i;        /* const of an integer kind or bool; order of polygamma; exponent of powi */
    uint64_t checks;  /* index, update, acc_add: see ops.def */
    const Size *size; /* size */
    const char *text; /* require */
    Func *callee;     /* call */
    LoopInfo *loop;   /* loop */
  } at;
  Range loc;
  const Op *origin; /* the primal operation that this one was made for by a derivative, or NULL */
  Region *parent;
  Op *prev, *next;
  void *note; /* scratch of the running pass */
};

struct Region {
  Op *owner;  /* NULL for a function's body */
  Func *func; /* the function it belongs to */
  int nparams;
  Value **params;
  Op *first, *last;
  int nyields;
  Value **yields;
  struct CseTable *cse; /* the builder's */
};

typedef enum DeriveOp {
  DERIVE_NONE,
  DERIVE_GRAD,           /* params of base -> gradients of its first result (a float scalar) */
  DERIVE_VALUE_AND_GRAD, /* params of base -> results of base, gradients */
  DERIVE_VJP,            /* params of base, a seed for each float result -> results of base, cotangents */
  DERIVE_JVP,      /* params of base, a tangent for each of wrt -> results of base, a tangent for each float result */
  DERIVE_JACOBIAN, /* params of base -> for each float result, for each of wrt: result axes then argument axes */
  DERIVE_HESSIAN,  /* params of base -> for each pair of wrt */
  DERIVE_HVP,      /* params of base, a tangent for each of wrt -> for each of wrt */
  DERIVE_COUNT
} DeriveOp;
extern const char *const derive_name[DERIVE_COUNT]; /* "" "grad" "value_and_grad" .. */
typedef enum DeriveMode { MODE_AUTO, MODE_FORWARD, MODE_REVERSE } DeriveMode;

/* A function without a body that is to be made from another by differentiation; pass `derive` gives it one. */
typedef struct Derive {
  DeriveOp op; /* DERIVE_NONE: the function has a body of its own */
  Func *base;
  bool *wrt; /* per parameter of base, sizes included; only float parameters */
  DeriveMode mode;
  bool is_sparse;   /* jacobian, hessian: for each matrix ptr, col and val of its compressed rows */
  const int *order; /* sparse: the parameters of wrt in the order of the results */
  int norder;
} Derive;

struct Func {
  const char *name; /* unique in the module */
  Module *module;
  Region *body; /* body->params are the parameters, also where `derive` says that the rest is still to be made */
  int nsizes;   /* the first parameters: i64 sizes, never negative inside the function */
  int nresults;
  Type *result_types;                  /* sizes over the parameters */
  const char **result_names;           /* for C; NULL where unnamed */
  Derive derive;                       /* op DERIVE_NONE once the body has been made */
  Derive recipe;                       /* what derive was from the start: what func_derive finds it by */
  Func *derivatives, *next_derivative; /* the functions that derive this one; the next of its base's */
  bool is_extern;   /* a C function of that name: no body; scalars by value, one result; or a kernel */
  bool is_constant; /* extern: derivatives take its results for constants */
  bool is_parallel; /* its last two parameters are a range, first and count; what it returns for a range is made of what
                       it returns for the parts: passes/parallel.c */
  Func *own_vjp,
      *own_jvp;  /* the user's rules: as DERIVE_VJP without the values, DERIVE_JVP without the values; else NULL */
  int ncaptured; /* the last parameters, of which the rules give no derivative: what functions that it takes use */
  Range loc;
  Func *next;
  void *note;
  char fails; /* cache of func_may_fail: 0 unknown, 1 no, 2 yes */
};

/* What of its function an export makes.  The reverse sweep that many seeds share is cut in two, and its symbols are
   three: one runs forward and fills a tape, one runs backward from that, one tells the tape's bytes.  Until pass
   `split` their function is the vector-Jacobian product (`sizes` is NULL): `first` of its results are the forward
   part's, its parameters from `n` on are seeds.  Afterwards
     forward    results [first, first + n) are the tape;
     backward   parameters [first, first + n) are the tape;
     tapesize   as forward, whose function it has.
   `sizes` computes what the tape's sizes are made of: its results are the last of the function's sizes, its parameters
   the function's others, without the tape and the seeds.  Callers in C give and see none of that. */
typedef enum ExportPart { PART_WHOLE, PART_FORWARD, PART_BACKWARD, PART_TAPESIZE } ExportPart;
extern const char *const export_part_name[4]; /* "" "forward" "backward" "tapesize" */
typedef struct Cut {
  int first, n;
  Func *sizes;
} Cut;

/* A C symbol.  The C parameters are the function's parameters in order (sizes, inputs, seeds or tangents), then one
   pointer for each result, named by the function's result_names. */
typedef struct Export {
  const char *symbol;
  Func *func;
  int accumulate_from; /* results from this one on are added into their outputs; nresults for none */
  ExportPart part;
  Cut cut; /* of a part */
  Range loc;
  struct Export *next;
} Export;

/* A kernel: a function of the runtime on tensors, an extern Func whose name begins with gradc_rt_ (runtime/kernels.h).
   It cannot fail and depends on nothing but its arguments.  To derivatives the results of one that the standard library
   declares are constants (Func.is_constant): what depends on its arguments differentiably is the result of a function
   with own rules, which is given them. */
typedef void Kernel(const int64_t *sizes, const void *const *inputs, void *const *outputs);
bool func_is_kernel(const Func *f);

struct Module {
  Arena *arena;
  Diag *diag;
  const char *file; /* name of the main source, for run-time messages */
  Func *funcs, *last_func;
  Export *exports, *last_export;
  unsigned nuids;
  struct SizeTable *sizes;
  struct Symbols *func_names;               /* func_new's: names once given, and the last number given to each */
  bool strict, fast_math, unchecked;        /* options that change meaning */
  Kernel *(*find_kernel)(const char *name); /* for the evaluator; NULL: there are none */
};

Module *module_new(Arena *a, Diag *d, const char *file);
/* Declares a function with an empty body region; parameters are added by func_add_param. `name` is made unique. */
Func *func_new(Module *m, const char *name, Range loc);
Value *func_add_param(Func *f, Type t, const char *name);
void func_set_results(Func *f, int n, const Type *types, const char *const *names);
/* Declares, or finds, the function that derives `base`; parameters, result types and names are set as Derive says:
   names d_x, seed_r, t_x, h_x_y .. as language.md "In C".  Sizes in its types are over its own parameters. */
Func *func_derive(Module *m, DeriveOp op, Func *base, const bool *wrt, DeriveMode mode, Range loc);
/* The same for a sparse jacobian or hessian by the parameters in `order`.  How many entries there are is found out by
   `derive`; until then the sizes of col and val are the overflow size, and nobody calls the function. */
Func *func_derive_sparse(Module *m, DeriveOp op, Func *base, int n, const int *order, DeriveMode mode, Range loc);
Export *module_export(Module *m, const char *symbol, Func *f, Range loc);

static inline Type type_scalar(Kind k) {
  return (Type){.kind = k};
}
Type type_tensor(Module *m, Kind k, int rank, const Size *const *dims); /* copies dims */
bool type_equal(Type a, Type b);
/* The type of x[i0, .., i(n-1)]: the axes after the first n. */
Type type_drop(Type t, int n);
Type type_with_kind(Type t, Kind k);
static inline bool value_is_scalar(const Value *v) {
  return v->type.rank == 0;
}

/* Walks: each op of a region and of the regions below, outer before inner. */
typedef void OpVisit(Op *op, void *arg);
void region_walk(Region *r, OpVisit *visit, void *arg);
/* True if v is defined outside r and of everything below r. */
bool value_is_outside(const Value *v, const Region *r);
/* A few cycles' work on scalars, without effects: no division, no function. An index may be checked. */
bool op_is_quick(const Op *op);

/* An error of ours, not of the user's: prints where, asks for a report, exits with 70. */
_Noreturn void internal_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
#endif
