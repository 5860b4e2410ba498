/* The table of built-in functions and what their handlers share; internal to the files frontend/elab_builtin*.c. */
#ifndef GRADC_FRONTEND_ELAB_BUILTIN_H
#define GRADC_FRONTEND_ELAB_BUILTIN_H
#include "frontend/elab.h"

enum { MAX_PARAMETERS = 8 };

/* A call whose arguments have been matched with the parameters. */
typedef struct BuiltinCall {
  const Builtin *f;
  Range at;
  int n; /* parameters */
  const char *names[MAX_PARAMETERS];
  const Argument *arguments[MAX_PARAMETERS]; /* NULL: left out */
} BuiltinCall;

typedef Form *BuiltinHandler(Elab *e, const BuiltinCall *c);

struct Builtin {
  const char *name;
  const char *parameters; /* "x axis? keep?": those with ? may be left out */
  BuiltinHandler *handler;
  Opcode op;        /* of an elementwise function of one IR operation */
  ScalarMake *make; /* of another elementwise function */
  const char *pair; /* the parameters when it is called with two tensors: min, max */
};

/* ---- arguments; all report what is wrong at the argument */
Form *argument_tensor(Elab *e, const BuiltinCall *c, int i); /* numbers or bools, of any rank; or poison */
Form *argument_number(Elab *e, const BuiltinCall *c, int i); /* not bool */
Form *argument_float(Elab *e, const BuiltinCall *c, int i);  /* integers promoted */
/* A constant integer; `otherwise` where the argument is left out. */
bool argument_int(Elab *e, const BuiltinCall *c, int i, int64_t otherwise, int64_t *out);
bool argument_flag(Elab *e, const BuiltinCall *c, int i, bool *out); /* false where it is left out */
/* An axis of a tensor of `rank` axes, counted from the end where negative. */
bool argument_axis(Elab *e, const BuiltinCall *c, int i, int rank, int otherwise, int *axis);
bool argument_axes(Elab *e, const BuiltinCall *c, int i, int rank, unsigned *axes);    /* all where left out */
bool argument_sizes(Elab *e, const BuiltinCall *c, int i, int *n, const Size **sizes); /* [n, m]; at most MAX_RANK */
/* A tuple of tensors, of one kind; NULL after an error. */
const Form **argument_tensors(Elab *e, const BuiltinCall *c, int i, int *n);
bool argument_rank(Elab *e, const BuiltinCall *c, const Form *x, int least, int most, const char *what);

/* The float that an integer promotes to; others unchanged.  Reports bools. */
Form *form_float_of(Elab *e, const Form *t, const char *what);
/* A value that counts as constant in derivatives. */
Value *build_constant(Builder *b, Value *v);
/* The logarithm of a sum of exponentials, for logsumexp. */
Value *build_log_of_sum(Builder *b, Value *sum);
/* The row of an IR operation, as the data of make_operation. */
ScalarMake make_operation;
Form *apply_operation(Elab *e, Range at, Opcode op, int n, const Form *const *operands);
/* max over the axes where it is finite, else 0; constant in derivatives; the axes are kept. */
Form *reduce_peak(Elab *e, Range at, const Form *x, unsigned axes);

/* ---- handlers */
BuiltinHandler call_number, call_float, call_predicate, call_where, call_pow, call_stop_gradient, call_elu,
    call_min_max;
ScalarMake make_sqr, make_relu, make_silu, make_gelu, make_elu, make_digamma, make_clip;
BuiltinHandler call_reduction, call_variance;
BuiltinHandler call_softmax, call_log_softmax, call_cumulative, call_sort, call_argsort, call_flip, call_roll;
BuiltinHandler call_reshape, call_transpose, call_broadcast, call_concat, call_stack, call_pad, call_size;
BuiltinHandler call_cholesky, call_solve, call_solve_triangular, call_inv, call_det, call_logdet, call_slogdet,
    call_eigh, call_qr, call_svd, call_lstsq, call_expm;
BuiltinHandler call_diag, call_trace, call_triangle, call_outer, call_dot, call_cross, call_kron;
#endif
