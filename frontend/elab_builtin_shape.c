/* Shapes: reshape, transpose, broadcast, concat, stack, pad, size.  Views are recipes and copy nothing; reshape reads
   its operand in row-major order, and stores it for that. */
#include "frontend/elab_builtin.h"
#include "frontend/elab_literal.h"

Form *call_reshape(Elab *e, const BuiltinCall *c) {
  Module *m = e->module;
  const Form *x = argument_tensor(e, c, 0);
  const Size *dims[MAX_RANK];
  int rank;
  if (!argument_sizes(e, c, 1, &rank, dims) || x->kind == FORM_POISON)
    return form_poison(e, c->at);
  const Type type = type_tensor(m, x->type.kind, rank, dims);
  const Size *before = type_count(m, x->type), *after = type_count(m, type);
  if (!sizes_equal(e, before, after)) {
    DiagMessage *message = elab_error(e, c->arguments[1]->at, "the new shape has %s elements, and %s has %s",
                                      size_text(m, after), form_text(e, x), size_text(m, before));
    sizes_explain(e, message, before, after);
    return form_poison(e, c->at);
  }
  Form *f = form_of_value(e, c->at, build_reshape(&e->b, form_store(e, x), type));
  f->adapts = x->adapts;
  return f;
}

/* A list of all axes in some order. */
static bool argument_order(Elab *e, const BuiltinCall *c, int rank, int *axes) {
  Expr *x = c->arguments[1]->value;
  unsigned seen = 0;
  if (x->kind == EXPR_POISON)
    return false;
  if (x->kind != EXPR_TUPLE || x->tuple.n != rank) {
    DiagMessage *m = elab_error(e, x->at, "'transpose' of %d axes takes a tuple of %d axes", rank, rank);
    if (rank == 3)
      diag_mend(e->diag, m, "write transpose(x, (0, 2, 1))");
    return false;
  }
  for (int i = 0; i < rank; i++) {
    Argument item = {.value = x->tuple.at[i], .at = x->tuple.at[i]->at};
    BuiltinCall one = {.f = c->f, .at = item.at, .n = 2, .names = {"x", "axes"}, .arguments = {NULL, &item}};
    if (!argument_axis(e, &one, 1, rank, 0, &axes[i]))
      return false;
    if (seen >> axes[i] & 1) {
      elab_error(e, item.at, "axis %d is given twice", axes[i]);
      return false;
    }
    seen |= 1u << axes[i];
  }
  return true;
}

Form *call_transpose(Elab *e, const BuiltinCall *c) {
  const Form *x = argument_tensor(e, c, 0);
  int axes[MAX_RANK];
  if (x->kind == FORM_POISON)
    return form_poison(e, c->at);
  for (int i = 0; i < x->type.rank; i++)
    axes[i] = x->type.rank - 1 - i;
  if (c->arguments[1] && !argument_order(e, c, x->type.rank, axes))
    return form_poison(e, c->at);
  return form_permute(e, c->at, x, axes);
}

Form *call_broadcast(Elab *e, const BuiltinCall *c) {
  const Form *x = argument_tensor(e, c, 0);
  const Size *dims[MAX_RANK];
  int rank;
  if (!argument_sizes(e, c, 1, &rank, dims) || x->kind == FORM_POISON)
    return form_poison(e, c->at);
  if (x->type.rank > rank) {
    elab_error(e, x->at, "'broadcast' cannot take axes away: this is %s, and the shape has %d", form_text(e, x), rank);
    return form_poison(e, c->at);
  }
  for (int i = 0; i < x->type.rank; i++) {
    const Size *own = x->type.dims[i], *there = dims[rank - x->type.rank + i];
    if (!size_is(own, 1) && !sizes_agree(e, c->arguments[1]->at, own, there, "the tensor and the shape of 'broadcast'"))
      return form_poison(e, c->at);
  }
  return form_broadcast(e, c->at, x, rank, dims);
}

/* ---- concat, stack */
typedef struct Concat {
  Choice choice; /* first: the recipe is a Choice */
  const Form **parts;
} Concat;

static Value *concat_part(Elab *e, const Choice *c, int which, Value *const *idx) {
  const Form *part = ((const Concat *)c)->parts[which];
  Value *there[MAX_RANK];
  for (int i = 0; i < part->type.rank; i++)
    there[i] = idx[i];
  there[c->axis] = build_sub(&e->b, idx[c->axis], build_size(&e->b, c->starts[which]));
  return form_element(e, part, there);
}

static Value *concat_element(Elab *e, const Form *t, Value *const *idx) {
  const Concat *k = t->recipe;
  return choose_element(e, &k->choice, 0, k->choice.n, idx[k->choice.axis], idx);
}

/* Parts of equal rank whose sizes agree but along `axis`; -1: along all. */
static bool parts_agree(Elab *e, const BuiltinCall *c, int n, const Form **parts, int axis) {
  const char *what = arena_printf(e->arena, "the parts of '%s'", c->f->name);
  for (int i = 1; i < n; i++) {
    if (parts[i]->type.rank != parts[0]->type.rank) {
      DiagMessage *m =
          elab_error(e, parts[i]->at, "%s are %s and %s", what, form_text(e, parts[0]), form_text(e, parts[i]));
      diag_note(e->diag, m, parts[0]->at, "this is %s", form_text(e, parts[0]));
      return false;
    }
    for (int j = 0; j < parts[0]->type.rank; j++)
      if (j != axis && !sizes_agree(e, parts[i]->at, parts[0]->type.dims[j], parts[i]->type.dims[j], what))
        return false;
  }
  return true;
}

Form *call_concat(Elab *e, const BuiltinCall *c) {
  int n, axis;
  const Form **parts = argument_tensors(e, c, 0, &n);
  if (!parts || !argument_axis(e, c, 1, parts[0]->type.rank, 0, &axis) || !parts_agree(e, c, n, parts, axis))
    return form_poison(e, c->at);
  Concat *k = NEW(e->arena, Concat);
  const Size *dims[MAX_RANK], *total = size_const(e->module, 0);
  k->parts = parts;
  k->choice = (Choice){.n = n, .axis = axis, .element = concat_part, .starts = NEW_ARRAY(e->arena, const Size *, n)};
  for (int i = 0; i < n; i++) {
    k->choice.starts[i] = total;
    total = size_add(e->module, total, parts[i]->type.dims[axis]);
  }
  for (int i = 0; i < parts[0]->type.rank; i++)
    dims[i] = i == axis ? total : parts[0]->type.dims[i];
  const Type type = type_tensor(e->module, parts[0]->type.kind, parts[0]->type.rank, dims);
  return form_lazy(e, c->at, type, concat_element, k, false);
}

Form *call_stack(Elab *e, const BuiltinCall *c) {
  int n, axis;
  const Form **parts = argument_tensors(e, c, 0, &n);
  if (!parts || !argument_axis(e, c, 1, parts[0]->type.rank + 1, 0, &axis) || !parts_agree(e, c, n, parts, -1))
    return form_poison(e, c->at);
  return form_stack(e, c->at, n, parts, axis);
}

/* ---- pad */
typedef struct Pad {
  const Form *x;
  const Size *before[MAX_RANK], *after[MAX_RANK];
  Value *value;
} Pad;

static Value *pad_element(Elab *e, const Form *t, Value *const *idx) {
  const Pad *p = t->recipe;
  Builder *b = &e->b;
  Value *there[MAX_RANK], *inside = build_int(b, KIND_BOOL, 1);
  for (int i = 0; i < t->type.rank; i++) {
    there[i] = build_sub(b, idx[i], build_size(b, p->before[i]));
    if (!size_is(p->before[i], 0))
      inside = build_binary(b, OP_AND, inside, build_binary(b, OP_LE, build_int(b, KIND_I64, 0), there[i]));
    if (!size_is(p->after[i], 0))
      inside = build_binary(b, OP_AND, inside, build_binary(b, OP_LT, there[i], build_size(b, p->x->type.dims[i])));
  }
  if (value_is_int_const(inside, NULL))
    return form_element(e, p->x, there);
  Op *op = build_if_begin(b, inside);
  Value *within = form_element(e, p->x, there);
  build_if_else(b, op, 1, &within);
  build_if_end(b, op, 1, &p->value);
  return op->results[0];
}

/* ((1, 1), (0, 0)): before and after each axis; one pair for a vector. */
static bool argument_widths(Elab *e, const BuiltinCall *c, Pad *p) {
  Expr *x = c->arguments[1]->value;
  const int rank = p->x->type.rank;
  const bool is_pair = x->kind == EXPR_TUPLE && rank == 1 && x->tuple.n == 2 && x->tuple.at[0]->kind != EXPR_TUPLE;
  if (x->kind == EXPR_POISON)
    return false;
  if (!is_pair && (x->kind != EXPR_TUPLE || x->tuple.n != rank)) {
    DiagMessage *m =
        elab_error(e, x->at, "'pad' of %s takes a pair of sizes for each of its %d axes", form_text(e, p->x), rank);
    diag_mend(e->diag, m, rank == 1 ? "write pad(x, (1, 1))" : "write pad(x, ((1, 1), (0, 0)))");
    return false;
  }
  for (int i = 0; i < rank; i++) {
    const Expr *pair = is_pair ? x : x->tuple.at[i];
    if (pair->kind != EXPR_TUPLE || pair->tuple.n != 2) {
      elab_error(e, pair->at, "a pair of sizes is needed here: (before, after)");
      return false;
    }
    p->before[i] = elab_size(e, pair->tuple.at[0]);
    p->after[i] = elab_size(e, pair->tuple.at[1]);
    if (!p->before[i] || !p->after[i] || !size_check(e, pair->tuple.at[0]->at, p->before[i]) ||
        !size_check(e, pair->tuple.at[1]->at, p->after[i]))
      return false;
  }
  return true;
}

Form *call_pad(Elab *e, const BuiltinCall *c) {
  Module *m = e->module;
  const Size *dims[MAX_RANK];
  Pad *p = NEW(e->arena, Pad);
  const Form *x[2] = {argument_tensor(e, c, 0)}, *given = x[0];
  if (x[0]->kind == FORM_POISON)
    return form_poison(e, c->at);
  p->x = x[0];
  if (!argument_widths(e, c, p))
    return form_poison(e, c->at);
  const Kind kind = x[0]->type.kind;
  x[1] = c->arguments[2]     ? argument_tensor(e, c, 2)
         : kind == KIND_BOOL ? form_bool(e, c->at, false)
                             : form_of_value(e, c->at, build_number(&e->b, kind, 0));
  if (x[1]->kind == FORM_POISON || !form_unify(e, 2, x, "the tensor and the value of 'pad'"))
    return form_poison(e, c->at);
  if (x[1]->type.rank) {
    elab_error(e, x[1]->at, "the value of 'pad' is one scalar; this is %s", form_text(e, x[1]));
    return form_poison(e, c->at);
  }
  p->x = x[0];
  p->value = x[1]->value;
  for (int i = 0; i < given->type.rank; i++)
    dims[i] = size_add(m, given->type.dims[i], size_add(m, p->before[i], p->after[i]));
  return form_lazy(e, c->at, type_tensor(m, x[0]->type.kind, given->type.rank, dims), pad_element, p, false);
}

Form *call_size(Elab *e, const BuiltinCall *c) {
  int axis;
  const Form *x = argument_tensor(e, c, 0);
  if (x->kind == FORM_POISON || !argument_axis(e, c, 1, x->type.rank, 0, &axis))
    return form_poison(e, c->at);
  return form_of_size(e, c->at, x->type.dims[axis]);
}
