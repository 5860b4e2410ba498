/* The fuzzer: random well-typed programs as text, run in several ways that must agree.
   A program is a tree of templates: printing replaces $0, $1 .. of a node's text by its children.  The shrinker need
   know no more of the language than that; what it makes and the compiler refuses, it drops. A program and its inputs
   follow from the seed and the program's number alone. */
#ifndef GRADC_TOOLS_FUZZ_FUZZ_H
#define GRADC_TOOLS_FUZZ_FUZZ_H
#include "driver/arrays.h"
#include "ir/text.h"

/* ---- random.c */
typedef struct Rng {
  uint64_t state;
} Rng;
uint64_t rng_next(Rng *r);
int rng_below(Rng *r, int n); /* in [0, n) */
double rng_real(Rng *r);      /* in [-1, 1) */
uint64_t rng_hash(const char *s, uint64_t seed);

/* ---- trees */
typedef struct Dim {
  const char *text; /* "n", "3", "n + 1" */
  int symbol;       /* of a name: its number among the function's; else -1 */
  int base;         /* of "n + 1": the number of n; else -1 */
  int64_t value;
} Dim;

typedef enum Sort { SORT_REAL, SORT_INT, SORT_BOOL, SORT_STATEMENT, SORT_LIST } Sort;
enum { FUZZ_RANK = 3 };
typedef struct Shape {
  Sort sort;
  int rank;
  const Dim *dims[FUZZ_RANK];
} Shape;

typedef struct Node Node;
struct Node {
  const char *text; /* NULL for a list: its children, a line each */
  Shape shape;
  int nkids;
  Node **kids;
};

/* ---- a program under test: functions, and one of them, f, that is run and differentiated */
typedef enum InputFill { INPUT_REAL, INPUT_INDEX, INPUT_ROWS } InputFill;
typedef struct Input { /* one C parameter */
  const char *name;    /* as wrt names it: "x", "p.a" */
  Shape shape;
  InputFill fill;
  const Dim *below; /* INDEX: in [0, below); ROWS: rising from 0 to below */
} Input;
enum { MAX_FIELDS = 3, MAX_SYMBOLS = 3 };
typedef struct Param {
  const char *name, *type;
  Input inputs[MAX_FIELDS];
  int ninputs;
} Param;

/* Which of the functions that derive f are made and checked. */
enum {
  WITH_VJP = 1,
  WITH_JVP = 2,
  WITH_SECOND = 4,
  WITH_ALL = 7,
  WITH_ADDED = 8,  /* accumulate = true */
  WITH_SPARSE = 16 /* sparse = true, beside the dense one */
};
typedef struct Case {
  uint64_t seed; /* of the inputs */
  Node *helpers; /* list: structs and functions */
  VEC(Param) params;
  Node *body; /* list of statements */
  VEC(Node *) results;
  Dim *symbols[MAX_SYMBOLS]; /* shapes point at these */
  int nsymbols;
  unsigned with;
  bool narrow; /* real is f32 */
  bool coarse; /* .. or values pass through f32: they agree to its digits */
  bool rough;  /* stop_gradient and own rules: differences would say something else */
} Case;

/* ---- tree.c */
bool shape_equal(Shape a, Shape b);
Shape shape_scalar(Sort sort);
int64_t shape_count(Shape s);
Shape shape_drop(Shape s, int n); /* the axes after the first n */
Node *node_new(Arena *a, Shape s, const char *text, int nkids, Node *const *kids);
Node *node_list(Arena *a);
void node_push(Arena *a, Node *list, Node *kid);
int node_count(const Node *n);
char *shape_text(Arena *a, Shape s);
void text_node(Text *t, const Node *n);
/* The whole .ad text. */
const char *case_text(Arena *a, const Case *c);

/* ---- generate.c */
Case *case_generate(Arena *a, uint64_t seed, uint64_t number);

/* ---- check.c */
typedef enum Verdict {
  AGREE,
  UNDECIDED,     /* numbers too large, too unstable or not finite, so that little can be said */
  REFUSED,       /* errors from the compiler */
  WRONG_VALUE,   /* two ways of running give different numbers */
  WRONG_STATUS,  /* .. different statuses */
  WRONG_ADJOINT, /* reverse against forward */
  WRONG_SLOPE,   /* against differences */
  WRONG_SECOND,  /* second order: both compositions, symmetry, differences of gradients */
  CRASHED,       /* by a signal, or an internal error */
  HANGED,
  VERDICT_COUNT
} Verdict;
extern const char *const verdict_name[VERDICT_COUNT];

typedef struct Settings {
  bool o0, o2; /* compiled code as well as the evaluator */
} Settings;
typedef struct Outcome {
  Verdict verdict;
  char what[1000];
} Outcome;
void case_check(const Case *c, const Settings *s, Outcome *out);
/* Values of f's parameters, sizes first. */
Array *case_inputs(Arena *a, const Case *c, int *n);
void case_print(FILE *out, const Case *c);

/* ---- shrink.c: makes c smaller, in place. */
typedef bool StillFails(void *arg, const Case *candidate);
void case_shrink(Arena *a, Case *c, StillFails *still, void *arg, int budget);
#endif
