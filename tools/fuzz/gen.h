/* What the files of the generator share.
   An expression of a given shape comes from a table of productions; one that does not fit gives NULL and another is
   tried, in the end a leaf.  Values stay moderate: what grows is damped, domains are guarded. */
#ifndef GRADC_TOOLS_FUZZ_GEN_H
#define GRADC_TOOLS_FUZZ_GEN_H
#include "tools/fuzz/fuzz.h"

typedef struct Var {
  const char *name;
  Shape shape;
  bool assignable;
  const Dim *below; /* integers: in [0, below), of ROWS [0, below] */
  bool is_rows;     /* rises from 0 to below; its axis is "n + 1" of `rows` */
  const Dim *rows;
} Var;

enum { MAX_PARAMS = 6, MAX_RESULTS = 2 };
typedef struct Function {
  const char *name;
  int nparams;
  Shape params[MAX_PARAMS];
  const char *param_names[MAX_PARAMS];
  const Dim *below[MAX_PARAMS]; /* integers */
  bool is_function[MAX_PARAMS]; /* a parameter fn(u: real, w: real) -> real */
  int nresults;
  Shape results[MAX_RESULTS];
  int nsymbols;
  Dim *symbols[MAX_SYMBOLS];
  bool nested; /* in a loop or branch: what is declared there is lost behind it */
  int order;   /* of derivatives inside */
  double work; /* iterations */
} Function;

typedef struct Gen {
  Arena *arena;
  Rng rng;
  Case *c;
  bool narrow;
  VEC(Var) vars;
  int barrier; /* variables before it cannot be assigned: they are outside an iteration or a function */
  VEC(Function) functions;
  VEC(Var) records; /* structures of fields a, of this shape, and b */
  VEC(Dim *) dims;  /* all that were ever made */
  Dim *symbols[MAX_SYMBOLS];
  int nsymbols;
  int names;
  int budget;         /* of nodes */
  double trips;       /* of the loops around */
  double work;        /* the sum of trips, of this function */
  int loop_depth;     /* of statements that break and continue may end */
  bool nested;        /* in a loop or branch: what is declared there is lost behind it */
  int order;          /* derivatives used in this function */
  bool rough, coarse; /* what the Case is to be */
} Gen;

#define NODE(g, shape, text, ...) \
  node_new((g)->arena, (shape), (text), (int)(sizeof((Node *[]){__VA_ARGS__}) / sizeof(Node *)), \
           (Node *[]){__VA_ARGS__})
#define LEAF(g, shape, text) node_new((g)->arena, (shape), (text), 0, NULL)
#define TEXT(g, ...) arena_printf((g)->arena, __VA_ARGS__)
#define REAL shape_scalar(SORT_REAL)
#define INT shape_scalar(SORT_INT)
#define BOOL shape_scalar(SORT_BOOL)
enum { MOST_TRIPS = 1000, MOST_WORK = 6000 };

/* ---- generate.c: choices, sizes, names */
int pick(Gen *g, int n);
bool chance(Gen *g, int percent);
Dim *dim_new(Gen *g, const char *text, int64_t value, int symbol, int base);
const Dim *dim_constant(Gen *g, int64_t value);
const Dim *dim_plus(Gen *g, const Dim *d, int by);
const Dim *dim_any(Gen *g);
Shape shape_any(Gen *g, Sort sort, int most_rank);
Shape shape1(Sort sort, const Dim *d);
Shape shape2(Sort sort, const Dim *a, const Dim *b);
Shape shape_prepend(const Dim *d, Shape s);
Shape shape_sort(Shape s, Sort sort);
const char *name_new(Gen *g, const char *stem);
void var_add(Gen *g, const char *name, Shape s, const Dim *below);
const char *literal_text(Gen *g);
const char *of_real(Gen *g);

/* ---- gen_real.c, gen_tensor.c, gen_scalar.c, gen_call.c: expressions.  Never NULL. */
Node *real_expr(Gen *g, Shape s, int depth);
Node *int_expr(Gen *g, int depth);
Node *bool_expr(Gen *g, Shape s, int depth);
Node *index_below(Gen *g, const Dim *d, int depth);
Node *index_tensor(Gen *g, const Dim *n, const Dim *below, int depth);
Node *leaf(Gen *g, Shape s);
/* A scalar in which every float variable in scope from number `from` on has its part. */
Node *total(Gen *g, int from, bool damped);
/* Variables of a shape, or NULL. */
const Var *var_of(Gen *g, Shape s, bool assignable);
/* A range "i < n", its index in scope; false where it has too many trips.  *lasting: never empty. */
typedef struct RangeText {
  Node *node;
  bool never_empty;
  double trips;
} RangeText;
bool range_new(Gen *g, const Dim *d, int depth, RangeText *out); /* over exactly d, for an axis */
bool range_free(Gen *g, int depth, RangeText *out);              /* any, for a reduction */

/* Productions: NULL where they do not fit. */
typedef Node *Production(Gen *g, Shape s, int depth);
typedef struct Row {
  int weight;
  Production *make;
} Row;
Node *produce(Gen *g, const Row *rows, int n, Shape s, int depth);
Production make_comprehension, make_matmul, make_shaped, make_gather, make_slice, make_scan, make_axis_reduction,
    make_filled, make_linalg;                                                          /* gen_tensor.c: rank > 0 */
Production make_reduction, make_builtin_reduction, make_element, make_tuple_reduction; /* gen_reduce.c */
Production make_call, make_grad, make_jvp, make_vjp, make_hvp, make_jacobian, make_hessian,
    make_lambda_grad; /* gen_call.c */

/* ---- gen_function.c: functions that later ones may call and differentiate */
void make_helper(Gen *g);
void make_idiom(Gen *g);
void symbols_begin(Gen *g, const char *const *names, int n, const int64_t *values);

/* ---- gen_statement.c */
Node *statements(Gen *g, int n, int depth);
Node *make_block(Gen *g, Shape s, int depth);
#endif
