/* Linear algebra.  The functions are written in lib/linalg.ad, which is imported here when one is first used: for one
   matrix of one float kind.  What is done here: arguments are checked and brought into the form that they take there;
   leading axes are a loop around the call; a matrix that cannot be factored ends in a `require`, at the user's call. */
#include "frontend/elab_builtin.h"
#include "frontend/elab_core.h"
#include <string.h>

enum { MAX_OPERANDS = 5 };

/* A call of a function of the library for each matrix. */
typedef struct Routine {
  const char *function;
  const char *fails; /* the message for its last result, `info`, where that is not 0; or NULL: it has none */
  int n;
  const Form *operands[MAX_OPERANDS]; /* stored */
  int axes[MAX_OPERANDS];             /* its last axes are those of one matrix; those before are batched */
} Routine;

static void add_operand(Elab *e, Routine *r, const Form *x, int axes) {
  r->operands[r->n] = form_stored(e, x);
  r->axes[r->n++] = axes;
}

static void add_flag(Elab *e, Routine *r, Range at, bool flag) {
  add_operand(e, r, form_bool(e, at, flag), 0);
}

static Form *library_call(Elab *e, const BuiltinCall *c, const char *name, int n, Form *const *args) {
  File *file = modules_library(e, "linalg.ad", c->at);
  if (!file)
    return form_poison(e, c->at);
  const Binding *f = scope_lookup(file->top, arena_name(e->arena, name)); /* names are compared by address */
  if (!f || f->kind != BIND_FUNCTION) {
    elab_error(e, c->at, "'%s', of the standard library, has no function '%s'", file->path, name);
    return form_poison(e, c->at);
  }
  ArgumentList list = {0};
  Scope *scope = scope_push(e);
  for (int i = 0; i < n; i++) {
    const Argument a = {.value = expr_of_form(e, i, c->at, args[i]), .at = c->at};
    vec_push(e->arena, list, a);
  }
  Form *t = form_copy(e, function_call(e, f->form->function, &list, c->at));
  scope_pop(e, scope);
  return t;
}

/* One matrix: args are slices where there are leading axes. */
static Form *call_once(Elab *e, const BuiltinCall *c, const Routine *r, Form *const *args) {
  Form *t = library_call(e, c, r->function, r->n, args);
  if (t->kind == FORM_POISON || !r->fails)
    return t;
  const Value *info = t->parts[--t->nparts]->value;
  Value *zero = build_int(&e->b, KIND_I64, 0);
  build_require(&e->b, build_binary(&e->b, OP_EQ, (Value *)(uintptr_t)info, zero), r->fails);
  return t->nparts == 1 ? t->parts[0] : t;
}

/* The leading axes: those of all operands that have any must agree.  -1 after an error. */
static int batch_axes(Elab *e, const BuiltinCall *c, const Routine *r, const Size **dims) {
  int n = 0;
  for (int i = 0; i < r->n; i++) {
    const Form *x = r->operands[i];
    const int own = x->type.rank - r->axes[i];
    if (!own)
      continue;
    if (n && own != n) {
      elab_error(e, x->at, "the arguments of '%s' have %d and %d leading axes", c->f->name, n, own);
      return -1;
    }
    for (int k = 0; k < own; k++) {
      if (n && !sizes_agree(e, x->at, dims[k], x->type.dims[k],
                            arena_printf(e->arena, "axis %d of the arguments of '%s'", k, c->f->name)))
        return -1;
      dims[k] = n ? dims[k] : x->type.dims[k];
    }
    n = own;
  }
  return n;
}

static Form *run_routine(Elab *e, const BuiltinCall *c, const Routine *r) {
  const Size *dims[MAX_RANK];
  Form *args[MAX_OPERANDS];
  const int n = batch_axes(e, c, r, dims);
  if (n < 0)
    return form_poison(e, c->at);
  for (int i = 0; i < r->n; i++)
    args[i] = form_copy(e, r->operands[i]);
  if (!n)
    return call_once(e, c, r, args);
  const LoopSpec spec = {.nindices = n, .extents = dims};
  Op *loop = build_loop_begin(&e->b, &spec);
  for (int i = 0; i < r->n; i++)
    if (args[i]->type.rank > r->axes[i])
      args[i] = form_of_value(e, args[i]->at, build_index(&e->b, args[i]->value, n, loop->regions[0]->params, 0));
  Form *t = call_once(e, c, r, args);
  const Form **leaves;
  int nleaves = 0;
  if (t->kind != FORM_POISON)
    form_flatten(e, t, &nleaves, &leaves);
  OutKind *stacks = NEW_ARRAY(e->arena, OutKind, nleaves); /* OUT_STACK is 0 */
  Value **values = NEW_ARRAY(e->arena, Value *, nleaves);
  for (int i = 0; i < nleaves; i++)
    values[i] = form_store(e, leaves[i]);
  loop_set_outs(e->module, loop, nleaves, stacks);
  build_loop_end(&e->b, loop, NULL, values);
  Value *const *results = loop->results;
  return t->kind == FORM_POISON ? t : form_unflatten(e, t, &results);
}

/* ---- arguments */
/* A float tensor whose last two axes are a matrix; NULL after an error. */
static const Form *argument_matrix(Elab *e, const BuiltinCall *c, int i) {
  const Form *x = argument_float(e, c, i);
  return x->kind == FORM_POISON || !argument_rank(e, c, x, 2, MAX_RANK, "a matrix") ? NULL : x;
}

static bool check_square(Elab *e, const BuiltinCall *c, const Form *x) {
  const Size *const *dims = x->type.dims + x->type.rank - 2;
  return sizes_agree(e, x->at, dims[0], dims[1], arena_printf(e->arena, "the square matrix of '%s'", c->f->name));
}

static const Form *argument_square(Elab *e, const BuiltinCall *c, int i) {
  const Form *x = argument_matrix(e, c, i);
  return x && check_square(e, c, x) ? x : NULL;
}

static Form *with_last_axes(Elab *e, const Form *x, int drop, int n, const Size *const *add) {
  const Size *dims[MAX_RANK + 2];
  int rank = 0;
  for (; rank < x->type.rank - drop; rank++)
    dims[rank] = x->type.dims[rank];
  for (int i = 0; i < n; i++)
    dims[rank++] = add[i];
  const Type t = type_tensor(e->module, x->type.kind, rank, dims);
  return form_of_value(e, x->at, build_reshape(&e->b, form_store(e, x), t));
}

/* A matrix and right sides: (batches of) vectors where b has one axis less than a, else matrices. */
typedef struct Sides {
  const Form *a, *b;
  bool is_vector;
} Sides;

static bool argument_sides(Elab *e, const BuiltinCall *c, Sides *s) {
  const Form *x[2] = {argument_matrix(e, c, 0), argument_float(e, c, 1)};
  if (!x[0] || x[1]->kind == FORM_POISON || !argument_rank(e, c, x[1], 1, MAX_RANK, "a vector or a matrix") ||
      !form_unify(e, 2, x, arena_printf(e->arena, "the arguments of '%s'", c->f->name)))
    return false;
  const int ra = x[0]->type.rank, rb = x[1]->type.rank;
  *s = (Sides){.a = x[0], .b = x[1], .is_vector = rb == 1 || rb == ra - 1};
  const Size *one = size_const(e->module, 1), *rows = x[1]->type.dims[rb - 2 + s->is_vector];
  if (!sizes_agree(e, x[1]->at, x[0]->type.dims[ra - 2], rows,
                   arena_printf(e->arena, "the rows of the arguments of '%s'", c->f->name)))
    return false;
  s->a = form_stored(e, x[0]);
  s->b = form_with_dims(e, x[1], x[1]->type.dims);
  if (s->is_vector && rb < MAX_RANK)
    s->b = with_last_axes(e, x[1], 0, 1, &one);
  return true;
}

static Form *finish_sides(Elab *e, const Sides *s, Form *x) {
  return s->is_vector && x->kind == FORM_TENSOR ? with_last_axes(e, x, 1, 0, NULL) : x;
}

/* A function of one square matrix. */
static Form *call_of_square(Elab *e, const BuiltinCall *c, const char *function, const char *fails) {
  const Form *a = argument_square(e, c, 0);
  Routine r = {.function = function, .fails = fails};
  if (!a)
    return form_poison(e, c->at);
  add_operand(e, &r, a, 2);
  return run_routine(e, c, &r);
}

/* ---- the functions */
static const char singular[] = "matrix is singular";

Form *call_cholesky(Elab *e, const BuiltinCall *c) {
  bool upper;
  if (!argument_flag(e, c, 1, &upper))
    return form_poison(e, c->at);
  return call_of_square(e, c, upper ? "cholesky_upper" : "cholesky_lower", "matrix is not positive definite");
}

Form *call_inv(Elab *e, const BuiltinCall *c) {
  return call_of_square(e, c, "inverse", singular);
}

Form *call_det(Elab *e, const BuiltinCall *c) {
  return call_of_square(e, c, "determinant", NULL);
}

Form *call_slogdet(Elab *e, const BuiltinCall *c) {
  return call_of_square(e, c, "sign_logdet", NULL);
}

Form *call_logdet(Elab *e, const BuiltinCall *c) {
  Form *t = call_slogdet(e, c);
  return t->kind == FORM_TUPLE ? t->parts[1] : t;
}

Form *call_solve(Elab *e, const BuiltinCall *c) {
  Sides s;
  Routine r = {.function = "solve_general", .fails = singular};
  if (!argument_sides(e, c, &s) || !check_square(e, c, s.a))
    return form_poison(e, c->at);
  add_operand(e, &r, s.a, 2);
  add_operand(e, &r, s.b, 2);
  return finish_sides(e, &s, run_routine(e, c, &r));
}

Form *call_solve_triangular(Elab *e, const BuiltinCall *c) {
  Sides s;
  bool flags[3];
  Routine r = {.function = "triangular", .fails = singular};
  for (int i = 0; i < 3; i++)
    if (!argument_flag(e, c, 2 + i, &flags[i]))
      return form_poison(e, c->at);
  if (!argument_sides(e, c, &s) || !check_square(e, c, s.a))
    return form_poison(e, c->at);
  add_operand(e, &r, s.a, 2);
  add_operand(e, &r, s.b, 2);
  for (int i = 0; i < 3; i++)
    add_flag(e, &r, c->at, flags[i]);
  return finish_sides(e, &s, run_routine(e, c, &r));
}

Form *call_eigh(Elab *e, const BuiltinCall *c) {
  return call_of_square(e, c, "eigen", "matrix has eigenvalues that cannot be found");
}

Form *call_expm(Elab *e, const BuiltinCall *c) {
  return call_of_square(e, c, "exponential", NULL);
}

/* Of two forms of a function, the one for no more columns than rows or that for no more rows than columns; else `any`.
 */
static const char *form_for_shape(Elab *e, const Form *a, const char *tall, const char *wide, const char *any) {
  const Size *rows = a->type.dims[a->type.rank - 2], *columns = a->type.dims[a->type.rank - 1];
  return size_at_least(e, rows, columns) ? tall : size_at_least(e, columns, rows) ? wide : any;
}

static Form *call_of_shape(Elab *e, const BuiltinCall *c, const char *tall, const char *wide, const char *fails) {
  const Form *a = argument_matrix(e, c, 0);
  if (!a)
    return form_poison(e, c->at);
  Routine r = {.function = form_for_shape(e, a, tall, wide, NULL), .fails = fails};
  if (!r.function) {
    const Size *rows = a->type.dims[a->type.rank - 2], *columns = a->type.dims[a->type.rank - 1];
    const char *n = size_text(e->module, rows), *m = size_text(e->module, columns);
    DiagMessage *message = elab_error(
        e, a->at, "which of the sizes of the matrix of '%s' is less, '%s' or '%s', is not known", c->f->name, n, m);
    diag_mend(e->diag, message, "say so before: require %s >= %s; or require %s <= %s;", n, m, n, m);
    return form_poison(e, c->at);
  }
  add_operand(e, &r, a, 2);
  return run_routine(e, c, &r);
}

Form *call_qr(Elab *e, const BuiltinCall *c) {
  return call_of_shape(e, c, "qr_tall", "qr_wide", NULL);
}

Form *call_svd(Elab *e, const BuiltinCall *c) {
  return call_of_shape(e, c, "svd_tall", "svd_wide", "matrix has singular values that cannot be found");
}

Form *call_lstsq(Elab *e, const BuiltinCall *c) {
  Sides s;
  Routine r = {.fails = "matrix lacks full rank"};
  if (!argument_sides(e, c, &s))
    return form_poison(e, c->at);
  r.function = form_for_shape(e, s.a, "lstsq_tall", "lstsq_wide", "lstsq_any");
  add_operand(e, &r, s.a, 2);
  add_operand(e, &r, s.b, 2);
  return finish_sides(e, &s, run_routine(e, c, &r));
}
