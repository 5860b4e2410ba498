/* The matrix product `@`: the last axis of the left side with the last but one of the right side (its only axis, where
   it has one); leading axes are batches and broadcast.  An element is a loop that sums; the product of two matrices is
   stored at once, so that it stays a contraction of its own, while products with a vector join the loop around them. */
#include "frontend/elab.h"

typedef struct Product {
  const Form *left, *right;
  const Size *inner;
  int nbatch;
} Product;

static int matrix_rank(const Form *t) {
  return t->type.rank < 2 ? t->type.rank : 2;
}

/* Indices of the batch axes of one side, from those of the result. */
static int batch_index(Elab *e, const Form *side, const Form *t, int nbatch, Value *const *idx, Value **own) {
  const int n = side->type.rank - matrix_rank(side);
  for (int i = 0; i < n; i++) {
    const int there = nbatch - n + i;
    const bool repeated = size_is(side->type.dims[i], 1) && !size_is(t->type.dims[there], 1);
    own[i] = repeated ? build_int(&e->b, KIND_I64, 0) : idx[there];
  }
  return n;
}

static Value *product_element(Elab *e, const Form *t, Value *const *idx) {
  const Product *p = t->recipe;
  const OutKind out = OUT_SUM;
  const LoopSpec spec = {.nindices = 1, .extents = &p->inner, .nouts = 1, .outs = &out};
  Value *l[MAX_RANK], *r[MAX_RANK];
  Op *loop = build_loop_begin(&e->b, &spec);
  int nl = batch_index(e, p->left, t, p->nbatch, idx, l);
  int nr = batch_index(e, p->right, t, p->nbatch, idx, r);
  int next = p->nbatch;
  if (matrix_rank(p->left) == 2)
    l[nl++] = idx[next++];
  l[nl] = loop_index(loop, 0);
  r[nr++] = loop_index(loop, 0);
  if (matrix_rank(p->right) == 2)
    r[nr] = idx[next];
  Value *product = build_mul(&e->b, form_element(e, p->left, l), form_element(e, p->right, r));
  build_loop_end(&e->b, loop, NULL, &product);
  return loop_out(loop, 0);
}

/* The batch axes of both sides as tensors of their own, for broadcast_shapes. */
static Form *batch_form(Elab *e, const Form *side) {
  Form *f = form_copy(e, side);
  f->type = type_tensor(e->module, side->type.kind, side->type.rank - matrix_rank(side), side->type.dims);
  f->value = NULL;
  return f;
}

static bool is_scalar_side(Elab *e, const Form *side) {
  if (side->type.rank > 0)
    return false;
  DiagMessage *m = elab_error(e, side->at, "'@' takes vectors and matrices; this is %s", form_text(e, side));
  diag_mend(e->diag, m, "to multiply by a number write: *");
  return true;
}

static bool inner_sizes_agree(Elab *e, Range at, const Form *l, const Form *r) {
  Module *m = e->module;
  const Size *a = l->type.dims[l->type.rank - 1], *b = r->type.dims[r->type.rank - matrix_rank(r)];
  if (sizes_equal(e, a, b))
    return true;
  DiagMessage *message = elab_error(
      e, at, "'@' of %s and %s: the last size '%s' of the left side and the %s size '%s' of the right side %s",
      form_text(e, l), form_text(e, r), size_text(m, a), matrix_rank(r) == 2 ? "last but one" : "only", size_text(m, b),
      size_is_const(size_sub(m, a, b), NULL) ? "differ" : "are not known to be equal");
  diag_note(e->diag, message, l->at, "this is %s", form_text(e, l));
  diag_note(e->diag, message, r->at, "this is %s", form_text(e, r));
  sizes_explain(e, message, a, b);
  return false;
}

Form *operator_matmul(Elab *e, Range at, const Form *l, const Form *r) {
  const Form *sides[] = {l, r};
  if (l->kind == FORM_POISON || r->kind == FORM_POISON || is_scalar_side(e, l) || is_scalar_side(e, r) ||
      !form_unify(e, 2, sides, "the operands of '@'") || !inner_sizes_agree(e, at, sides[0], sides[1]))
    return form_poison(e, at);
  const Form *batches[] = {batch_form(e, l), batch_form(e, r)};
  const Size *dims[2 * MAX_RANK];
  int rank;
  if (!broadcast_shapes(e, at, 2, batches, &rank, dims))
    return form_poison(e, at);
  Product *p = NEW(e->arena, Product);
  p->nbatch = rank;
  p->inner = l->type.dims[l->type.rank - 1];
  const Type batch = type_tensor(e->module, sides[0]->type.kind, rank, dims);
  if (matrix_rank(l) == 2)
    dims[rank++] = l->type.dims[l->type.rank - 2];
  if (matrix_rank(r) == 2)
    dims[rank++] = r->type.dims[r->type.rank - 1];
  const bool left_again = matrix_rank(r) == 2 || broadcast_repeats(batches[0], batch);
  const bool right_again = matrix_rank(l) == 2 || broadcast_repeats(batches[1], batch);
  p->left = left_again ? form_cheap(e, sides[0]) : sides[0];
  p->right = right_again ? form_cheap(e, sides[1]) : sides[1];
  const Type type = type_tensor(e->module, sides[0]->type.kind, rank, dims);
  const Range loc = e->b.loc;
  e->b.loc = at;
  Form *f = form_lazy(e, at, type, product_element, p, false);
  if (matrix_rank(l) == 2 && matrix_rank(r) == 2)
    f = form_stored(e, f);
  e->b.loc = loc;
  form_mark(f, 2, (const Form *[]){l, r});
  return f;
}
