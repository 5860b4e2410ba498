/* Matrices and vectors by index: diag, trace, tril, triu, outer, dot, cross, kron. */
#include "frontend/elab_builtin.h"

/* ---- diag */
static Value *diagonal_matrix_element(Elab *e, const Form *t, Value *const *idx) {
  Builder *b = &e->b;
  const Form *v = t->recipe;
  Value *zero = build_number(b, t->type.kind, 0);
  return build_select(b, build_binary(b, OP_EQ, idx[0], idx[1]), form_element(e, v, idx), zero);
}

static Value *diagonal_element(Elab *e, const Form *t, Value *const *idx) {
  return form_element(e, t->recipe, (Value *[]){idx[0], idx[0]});
}

/* The length of a diagonal; NULL where it is not known which size is less. */
static const Size *lesser_size(Elab *e, const Size *a, const Size *b) {
  if (sizes_equal(e, a, b) || size_nonnegative(e->module, size_sub(e->module, b, a)))
    return a;
  return size_nonnegative(e->module, size_sub(e->module, a, b)) ? b : NULL;
}

Form *call_diag(Elab *e, const BuiltinCall *c) {
  Module *m = e->module;
  const Form *x = argument_number(e, c, 0);
  Form *f;
  if (x->kind == FORM_POISON || !argument_rank(e, c, x, 1, 2, "a vector or a matrix"))
    return form_poison(e, c->at);
  if (x->type.rank == 1) {
    const Size *dims[] = {x->type.dims[0], x->type.dims[0]};
    x = form_cheap(e, x);
    f = form_lazy(e, c->at, type_tensor(m, x->type.kind, 2, dims), diagonal_matrix_element, x, false);
  } else {
    const Size *rows = x->type.dims[0], *columns = x->type.dims[1], *n = lesser_size(e, rows, columns);
    if (!n) {
      DiagMessage *message = elab_error(e, x->at, "the length of the diagonal of %s is not a size", form_text(e, x));
      sizes_explain(e, message, rows, columns);
      return form_poison(e, c->at);
    }
    f = form_lazy(e, c->at, type_tensor(m, x->type.kind, 1, &n), diagonal_element, x, form_is_cheap(x));
  }
  f->adapts = x->adapts;
  return f;
}

Form *call_trace(Elab *e, const BuiltinCall *c) {
  Builder *b = &e->b;
  const Form *x = argument_number(e, c, 0);
  if (x->kind == FORM_POISON || !argument_rank(e, c, x, 2, 2, "a matrix"))
    return form_poison(e, c->at);
  const Size *rows = x->type.dims[0], *columns = x->type.dims[1], *n = lesser_size(e, rows, columns);
  if (!n)
    n = size_of_value(e->module, build_binary(b, OP_MIN, build_size(b, rows), build_size(b, columns)));
  const OutKind out = OUT_SUM;
  const LoopSpec spec = {.nindices = 1, .extents = &n, .nouts = 1, .outs = &out};
  Op *loop = build_loop_begin(b, &spec);
  Value *item = form_element(e, x, (Value *[]){loop_index(loop, 0), loop_index(loop, 0)});
  build_loop_end(b, loop, NULL, &item);
  Form *f = form_of_value(e, c->at, loop_out(loop, 0));
  form_mark(f, 1, &x);
  return f;
}

/* ---- tril, triu */
typedef struct Triangle {
  const Form *x;
  Value *k;
  bool upper;
} Triangle;

static Value *triangle_element(Elab *e, const Form *t, Value *const *idx) {
  const Triangle *s = t->recipe;
  Builder *b = &e->b;
  const int rank = t->type.rank;
  Value *offset = build_sub(b, idx[rank - 1], idx[rank - 2]), *zero = build_number(b, t->type.kind, 0);
  Value *kept = s->upper ? build_binary(b, OP_LE, s->k, offset) : build_binary(b, OP_LE, offset, s->k);
  if (form_is_cheap(s->x))
    return build_select(b, kept, form_element(e, s->x, idx), zero);
  Op *op = build_if_begin(b, kept);
  Value *element = form_element(e, s->x, idx);
  build_if_else(b, op, 1, &element);
  build_if_end(b, op, 1, &zero);
  return op->results[0];
}

Form *call_triangle(Elab *e, const BuiltinCall *c) {
  const Form *x = argument_number(e, c, 0);
  Value *k = c->arguments[1] ? elab_scalar(e, c->arguments[1]->value, KIND_I64) : build_int(&e->b, KIND_I64, 0);
  if (x->kind == FORM_POISON || !k || !argument_rank(e, c, x, 2, MAX_RANK, "a matrix"))
    return form_poison(e, c->at);
  Triangle *s = NEW(e->arena, Triangle);
  *s = (Triangle){.x = x, .k = k, .upper = c->f->name[3] == 'u'};
  Form *f = form_lazy(e, c->at, x->type, triangle_element, s, false);
  f->adapts = x->adapts;
  return f;
}

/* ---- products */
typedef struct Pair {
  const Form *a, *b;
} Pair;

/* Two arguments of one kind; NULL after an error.  Each is read many times, unless `once`. */
static Pair *argument_pair(Elab *e, const BuiltinCall *c, int least, int most, const char *what, bool once) {
  const Form *x[2];
  bool ok = true;
  for (int i = 0; i < 2; i++)
    x[i] = argument_number(e, c, i);
  for (int i = 0; i < 2; i++)
    ok = ok && x[i]->kind == FORM_TENSOR && argument_rank(e, c, x[i], least, most, what);
  if (!ok || !form_unify(e, 2, x, arena_printf(e->arena, "the arguments of '%s'", c->f->name)))
    return NULL;
  Pair *p = NEW(e->arena, Pair);
  *p = (Pair){.a = once ? x[0] : form_cheap(e, x[0]), .b = once ? x[1] : form_cheap(e, x[1])};
  return p;
}

static Value *outer_element(Elab *e, const Form *t, Value *const *idx) {
  const Pair *p = t->recipe;
  return build_mul(&e->b, form_element(e, p->a, idx), form_element(e, p->b, idx + 1));
}

Form *call_outer(Elab *e, const BuiltinCall *c) {
  const Pair *p = argument_pair(e, c, 1, 1, "vectors", false);
  if (!p)
    return form_poison(e, c->at);
  const Size *dims[] = {p->a->type.dims[0], p->b->type.dims[0]};
  return form_lazy(e, c->at, type_tensor(e->module, p->a->type.kind, 2, dims), outer_element, p, false);
}

Form *call_dot(Elab *e, const BuiltinCall *c) {
  const Pair *p = argument_pair(e, c, 1, 1, "vectors", true);
  return p ? operator_matmul(e, c->at, p->a, p->b) : form_poison(e, c->at);
}

/* Element i is a[i + 1] b[i + 2] - a[i + 2] b[i + 1], modulo 3. */
static Value *cross_element(Elab *e, const Form *t, Value *const *idx) {
  const Pair *p = t->recipe;
  Builder *b = &e->b;
  const int axis = t->type.rank - 1;
  Value *one = build_int(b, KIND_I64, 1), *two = build_int(b, KIND_I64, 2), *zero = build_int(b, KIND_I64, 0);
  Value *i = idx[axis], *there[MAX_RANK], *own[MAX_RANK], *x[2][2];
  Value *next[2] = {build_select(b, build_binary(b, OP_EQ, i, two), zero, build_add(b, i, one)),
                    build_select(b, build_binary(b, OP_EQ, i, zero), two, build_sub(b, i, one))};
  for (int k = 0; k < axis; k++)
    there[k] = idx[k];
  for (int k = 0; k < 2; k++) {
    there[axis] = next[k];
    broadcast_index(e, p->a, t->type, there, own);
    x[0][k] = form_element(e, p->a, own);
    broadcast_index(e, p->b, t->type, there, own);
    x[1][k] = form_element(e, p->b, own);
  }
  return build_sub(b, build_mul(b, x[0][0], x[1][1]), build_mul(b, x[0][1], x[1][0]));
}

Form *call_cross(Elab *e, const BuiltinCall *c) {
  const Pair *p = argument_pair(e, c, 1, MAX_RANK, "vectors of size 3", false);
  const Size *dims[MAX_RANK], *three = size_const(e->module, 3);
  int rank;
  if (!p)
    return form_poison(e, c->at);
  const Form *operands[] = {p->a, p->b};
  for (int i = 0; i < 2; i++)
    if (!sizes_agree(e, operands[i]->at, operands[i]->type.dims[operands[i]->type.rank - 1], three,
                     "the last axis of a vector of 'cross'"))
      return form_poison(e, c->at);
  if (!broadcast_shapes(e, c->at, 2, operands, &rank, dims))
    return form_poison(e, c->at);
  return form_lazy(e, c->at, type_tensor(e->module, p->a->type.kind, rank, dims), cross_element, p, false);
}

/* kron: as the outer product in the order that a reshape then joins. */
static Value *kron_element(Elab *e, const Form *t, Value *const *idx) {
  const Pair *p = t->recipe;
  Value *a[MAX_RANK], *b[MAX_RANK];
  for (int i = 0, both = 0; both < t->type.rank; i++) {
    a[i] = idx[both++];
    b[i] = idx[both++];
  }
  return build_mul(&e->b, form_element(e, p->a, a), form_element(e, p->b, b));
}

Form *call_kron(Elab *e, const BuiltinCall *c) {
  Module *m = e->module;
  const Pair *p = argument_pair(e, c, 1, 2, "vectors or matrices", false);
  const Size *split[4], *dims[2];
  if (!p)
    return form_poison(e, c->at);
  const int rank = p->a->type.rank;
  if (p->b->type.rank != rank) {
    elab_error(e, p->b->at, "'kron' takes two vectors or two matrices; these are %s and %s", form_text(e, p->a),
               form_text(e, p->b));
    return form_poison(e, c->at);
  }
  for (int i = 0, both = 0; i < rank; i++) {
    split[both++] = p->a->type.dims[i];
    split[both++] = p->b->type.dims[i];
    dims[i] = size_mul(m, p->a->type.dims[i], p->b->type.dims[i]);
  }
  const Kind k = p->a->type.kind;
  Form *f = form_lazy(e, c->at, type_tensor(m, k, 2 * rank, split), kron_element, p, false);
  return form_of_value(e, c->at, build_reshape(&e->b, form_store(e, f), type_tensor(m, k, rank, dims)));
}
