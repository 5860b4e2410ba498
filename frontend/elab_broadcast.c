/* NumPy's broadcasting and elementwise application.
   Shapes are aligned at their last axes; a missing leading axis, or an axis whose size is the literal 1, is repeated.
   An operand that is repeated is stored first, so that its elements are not computed again for each repetition. */
#include "frontend/elab.h"

enum { MAX_OPERANDS = 8 };

static const Size *aligned_dim(const Form *t, int rank, int axis) {
  const int own = axis - (rank - t->type.rank);
  return own < 0 ? NULL : t->type.dims[own];
}

static bool report_shapes(Elab *e, Range at, int axis, const Form *a, const Form *b, const Size *da, const Size *db) {
  Module *m = e->module;
  DiagMessage *message =
      elab_error(e, at, "shapes %s and %s do not broadcast: sizes '%s' and '%s' of axis %d from the end %s",
                 form_text(e, a), form_text(e, b), size_text(m, da), size_text(m, db), axis,
                 size_is_const(size_sub(m, da, db), NULL) ? "differ" : "are not known to be equal");
  diag_note(e->diag, message, a->at, "this is %s", form_text(e, a));
  diag_note(e->diag, message, b->at, "this is %s", form_text(e, b));
  sizes_explain(e, message, da, db);
  return false;
}

/* [n] with [n, 1] gives [n, n]: legal, and seldom meant. */
static void warn_outer(Elab *e, Range at, const Form *a, const Form *b) {
  if (a->type.rank != 1 || b->type.rank != 2 || !size_is(b->type.dims[1], 1) || size_is(a->type.dims[0], 1) ||
      a->type.dims[0] != b->type.dims[0])
    return;
  const char *n = size_text(e->module, a->type.dims[0]);
  DiagMessage *m = diag_warn(e->diag, "broadcast", at, "shapes [%s] and [%s, 1] broadcast to [%s, %s]", n, n, n, n);
  diag_note(e->diag, m, b->at, "this has the shape [%s, 1]", n);
}

bool broadcast_shapes(Elab *e, Range at, int n, const Form *const *operands, int *rank, const Size **dims) {
  *rank = 0;
  for (int i = 0; i < n; i++) {
    if (operands[i]->kind != FORM_TENSOR)
      return false;
    *rank = operands[i]->type.rank > *rank ? operands[i]->type.rank : *rank;
  }
  for (int axis = 0; axis < *rank; axis++) {
    const Form *from = NULL;
    dims[axis] = size_const(e->module, 1);
    for (int i = 0; i < n; i++) {
      const Size *d = aligned_dim(operands[i], *rank, axis);
      if (!d || size_is(d, 1))
        continue;
      if (from && !sizes_equal(e, dims[axis], d))
        return report_shapes(e, at, *rank - axis, from, operands[i], dims[axis], d);
      if (!from)
        dims[axis] = d;
      from = from ? from : operands[i];
    }
  }
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      warn_outer(e, at, operands[i], operands[j]);
  return true;
}

void broadcast_index(Elab *e, const Form *operand, Type to, Value *const *idx, Value **own) {
  const int missing = to.rank - operand->type.rank;
  for (int i = 0; i < operand->type.rank; i++) {
    const bool repeated = size_is(operand->type.dims[i], 1) && !size_is(to.dims[missing + i], 1);
    own[i] = repeated ? build_int(&e->b, KIND_I64, 0) : idx[missing + i];
  }
}

bool broadcast_repeats(const Form *operand, Type to) {
  const int missing = to.rank - operand->type.rank;
  for (int i = 0; i < to.rank; i++)
    if (!size_is(to.dims[i], 1) && (i < missing || size_is(operand->type.dims[i - missing], 1)))
      return true;
  return false;
}

typedef struct Elementwise {
  int n;
  const Form *operands[MAX_OPERANDS];
  ScalarMake *make;
  const void *data;
} Elementwise;

static Value *elementwise_element(Elab *e, const Form *t, Value *const *idx) {
  const Elementwise *w = t->recipe;
  Value *x[MAX_OPERANDS], *own[MAX_RANK];
  for (int i = 0; i < w->n; i++) {
    broadcast_index(e, w->operands[i], t->type, idx, own);
    x[i] = form_element(e, w->operands[i], own);
  }
  return w->make(e, w->data, x);
}

Form *elementwise(Elab *e, Range at, Kind result, int n, const Form *const *operands, ScalarMake *make,
                  const void *data) {
  int rank;
  const Size *dims[MAX_RANK];
  if (n > MAX_OPERANDS)
    internal_error("an elementwise operation of %d operands", n);
  if (!broadcast_shapes(e, at, n, operands, &rank, dims))
    return form_poison(e, at);
  const Type type = type_tensor(e->module, result, rank, dims);
  Elementwise *w = NEW(e->arena, Elementwise);
  *w = (Elementwise){.n = n, .make = make, .data = data};
  for (int i = 0; i < n; i++)
    w->operands[i] = broadcast_repeats(operands[i], type) ? form_cheap(e, operands[i]) : operands[i];
  const Range loc = e->b.loc;
  e->b.loc = at;
  Form *f = form_lazy(e, at, type, elementwise_element, w, false);
  e->b.loc = loc;
  return f;
}

typedef struct Broadcast {
  const Form *of;
} Broadcast;

static Value *broadcast_element(Elab *e, const Form *t, Value *const *idx) {
  const Broadcast *b = t->recipe;
  Value *own[MAX_RANK];
  broadcast_index(e, b->of, t->type, idx, own);
  return form_element(e, b->of, own);
}

Form *form_broadcast(Elab *e, Range at, const Form *x, int rank, const Size *const *dims) {
  const Type type = type_tensor(e->module, x->type.kind, rank, dims);
  if (rank == 0)
    return form_copy(e, x);
  Broadcast *b = NEW(e->arena, Broadcast);
  b->of = broadcast_repeats(x, type) ? form_cheap(e, x) : x;
  Form *f = form_lazy(e, at, type, broadcast_element, b, form_is_cheap(b->of));
  f->adapts = x->adapts;
  return f;
}
