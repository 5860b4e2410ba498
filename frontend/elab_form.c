/* Forms: tensors stored and not.
   A recipe is run with indices that are known to be in range; it emits code at the builder's place, so that one recipe
   may be run in several loops.  Storing makes one `loop` whose indices are the tensor's axes. */
#include "frontend/elab.h"

Form *form_poison(Elab *e, Range at) {
  Form *f = NEW(e->arena, Form);
  f->kind = FORM_POISON;
  f->at = at;
  return f;
}

Form *form_copy(Elab *e, const Form *t) {
  Form *f = NEW(e->arena, Form);
  *f = *t;
  return f;
}

Form *form_of_value(Elab *e, Range at, Value *v) {
  Form *f = NEW(e->arena, Form);
  f->kind = FORM_TENSOR;
  f->at = at;
  f->type = v->type;
  f->value = v;
  f->cheap = true;
  return f;
}

Form *form_like_type(Elab *e, const TypeForm *t, Range at) {
  Form *f = NEW(e->arena, Form);
  *f = (Form){.kind = t->kind,
              .at = at,
              .nparts = t->nparts,
              .part_names = t->part_names,
              .decl = t->decl,
              .struct_sizes = t->struct_sizes};
  f->parts = NEW_ARRAY(e->arena, Form *, t->nparts);
  return f;
}

Form *form_of_size(Elab *e, Range at, const Size *s) {
  Form *f = form_of_value(e, at, build_size(&e->b, s));
  f->as_size = s;
  return f;
}

Form *form_int(Elab *e, Range at, int64_t v) {
  Form *f = form_of_size(e, at, size_const(e->module, v));
  f->is_literal = true;
  return f;
}

Form *form_float(Elab *e, Range at, double v) {
  Form *f = form_of_value(e, at, build_float(&e->b, KIND_F64, v));
  f->is_literal = f->adapts = true;
  return f;
}

Form *form_bool(Elab *e, Range at, bool v) {
  return form_of_value(e, at, build_int(&e->b, KIND_BOOL, v));
}

Form *form_lazy(Elab *e, Range at, Type t, ElementRecipe *element, const void *recipe, bool cheap) {
  if (t.rank > MAX_RANK) {
    elab_error(e, at, "a tensor has at most %d axes; this has %d", MAX_RANK, t.rank);
    return form_poison(e, at);
  }
  Form *f = NEW(e->arena, Form);
  f->kind = FORM_TENSOR;
  f->at = at;
  f->type = t;
  f->element = element;
  f->recipe = recipe;
  f->cheap = cheap;
  if (t.rank == 0) {
    f->value = form_element(e, f, NULL);
    f->cheap = true;
  }
  return f;
}

Value *form_element(Elab *e, const Form *t, Value *const *idx) {
  if (t->value)
    return build_index(&e->b, t->value, t->type.rank, idx, 0);
  const Range loc = e->b.loc;
  e->b.loc = t->at;
  Value *v = t->element(e, t, idx);
  e->b.loc = loc;
  return v;
}

Value *form_store(Elab *e, const Form *t) {
  if (t->value)
    return t->value;
  const Range loc = e->b.loc;
  const OutKind out = OUT_STACK;
  const LoopSpec spec = {.nindices = t->type.rank, .extents = t->type.dims, .nouts = 1, .outs = &out};
  e->b.loc = t->at;
  Op *loop = build_loop_begin(&e->b, &spec);
  Value *element = form_element(e, t, loop->regions[0]->params);
  build_loop_end(&e->b, loop, NULL, &element);
  e->b.loc = loc;
  return loop_out(loop, 0);
}

Form *form_stored(Elab *e, const Form *t) {
  Form *f = form_copy(e, t);
  switch (t->kind) {
  case FORM_TENSOR:
    f->value = form_store(e, t);
    f->cheap = true;
    break;
  case FORM_TUPLE:
  case FORM_STRUCT:
    f->parts = NEW_ARRAY(e->arena, Form *, t->nparts);
    for (int i = 0; i < t->nparts; i++)
      f->parts[i] = form_stored(e, t->parts[i]);
    break;
  case FORM_POISON:
  case FORM_FUNCTION: break;
  }
  return f;
}

bool form_is_cheap(const Form *t) {
  return t->value || t->cheap;
}

Form *form_cheap(Elab *e, const Form *t) {
  return form_is_cheap(t) ? form_copy(e, t) : form_stored(e, t);
}

/* ---- sub-tensors */
typedef struct SubTensor {
  const Form *of;
  int n;
  Value *const *first;
} SubTensor;

static Value *sub_tensor_element(Elab *e, const Form *t, Value *const *idx) {
  const SubTensor *s = t->recipe;
  Value *all[MAX_RANK];
  for (int i = 0; i < s->n; i++)
    all[i] = s->first[i];
  for (int i = 0; i < t->type.rank; i++)
    all[s->n + i] = idx[i];
  return form_element(e, s->of, all);
}

/* Indices of what is not stored have no `index` operation that could test them: the test is a `require`. */
static void check_indices(Elab *e, const Form *x, int n, Value *const *idx, uint64_t checks) {
  Module *m = e->module;
  for (int i = 0; i < n; i++) {
    const Size *s = size_of_value(m, idx[i]), *dim = x->type.dims[i];
    if (!(checks >> i & 1))
      continue;
    if (!size_nonnegative(m, s))
      build_require(&e->b, build_binary(&e->b, OP_LE, build_int(&e->b, KIND_I64, 0), idx[i]), "index out of range");
    if (!size_nonnegative(m, size_sub(m, size_sub(m, dim, size_const(m, 1)), s)))
      build_require(&e->b, build_binary(&e->b, OP_LT, idx[i], build_size(&e->b, dim)), "index out of range");
  }
}

Form *form_index(Elab *e, Range at, const Form *x, int n, Value *const *idx, uint64_t checks) {
  const Range loc = e->b.loc;
  Form *f;
  e->b.loc = at;
  if (n == 0) {
    f = form_copy(e, x);
    f->at = at;
  } else if (x->value) {
    f = form_of_value(e, at, build_index(&e->b, x->value, n, idx, checks));
  } else {
    Value **first = NEW_ARRAY(e->arena, Value *, n);
    for (int i = 0; i < n; i++)
      first[i] = idx[i];
    check_indices(e, x, n, idx, checks);
    SubTensor *s = NEW(e->arena, SubTensor);
    *s = (SubTensor){.of = x, .n = n, .first = first};
    f = form_lazy(e, at, type_drop(x->type, n), sub_tensor_element, s, x->cheap);
  }
  f->adapts = x->adapts;
  e->b.loc = loc;
  return f;
}

/* ---- views: the elements of another tensor in another arrangement */
typedef struct Permuted {
  const Form *of;
  int axis[MAX_RANK]; /* axis i of the view is this axis of `of` */
} Permuted;

static Value *permuted_element(Elab *e, const Form *t, Value *const *idx) {
  const Permuted *p = t->recipe;
  Value *there[MAX_RANK];
  for (int i = 0; i < t->type.rank; i++)
    there[p->axis[i]] = idx[i];
  return form_element(e, p->of, there);
}

Form *form_permute(Elab *e, Range at, const Form *x, const int *axes) {
  Permuted *p = NEW(e->arena, Permuted);
  const Size *dims[MAX_RANK];
  p->of = x;
  for (int i = 0; i < x->type.rank; i++) {
    p->axis[i] = axes[i];
    dims[i] = x->type.dims[axes[i]];
  }
  Form *f =
      form_lazy(e, at, type_tensor(e->module, x->type.kind, x->type.rank, dims), permuted_element, p, form_is_cheap(x));
  f->adapts = x->adapts;
  return f;
}

static Value *same_element(Elab *e, const Form *t, Value *const *idx) {
  return form_element(e, t->recipe, idx);
}

Form *form_with_dims(Elab *e, const Form *t, const Size *const *dims) {
  const Type type = type_tensor(e->module, t->type.kind, t->type.rank, dims);
  if (type_equal(type, t->type))
    return form_copy(e, t);
  Form *f = t->value ? form_of_value(e, t->at, build_reshape(&e->b, t->value, type))
                     : form_lazy(e, t->at, type, same_element, t, t->cheap);
  f->adapts = t->adapts;
  return f;
}

/* ---- leaves */
typedef VEC(const Form *) FormList;

static void add_leaves(Elab *e, const Form *t, FormList *list) {
  switch (t->kind) {
  case FORM_TENSOR: vec_push(e->arena, *list, t); break;
  case FORM_TUPLE:
  case FORM_STRUCT:
    for (int i = 0; i < t->nparts; i++)
      add_leaves(e, t->parts[i], list);
    break;
  case FORM_POISON:
  case FORM_FUNCTION: break;
  }
}

void form_flatten(Elab *e, const Form *t, int *n, const Form ***leaves) {
  FormList list = {0};
  add_leaves(e, t, &list);
  *n = list.n;
  *leaves = list.at;
}

Form *form_unflatten(Elab *e, const Form *t, Value *const **values) {
  Form *f = form_copy(e, t);
  switch (t->kind) {
  case FORM_TENSOR:
    f = form_of_value(e, t->at, *(*values)++);
    f->adapts = t->adapts;
    break;
  case FORM_TUPLE:
  case FORM_STRUCT:
    f->parts = NEW_ARRAY(e->arena, Form *, t->nparts);
    for (int i = 0; i < t->nparts; i++)
      f->parts[i] = form_unflatten(e, t->parts[i], values);
    break;
  case FORM_POISON:
  case FORM_FUNCTION: break;
  }
  return f;
}
