/* Casts and array literals.
   An array of scalars is a chain of `update`s of a tensor of zeros.  An array of tensors is one loop that chooses among
   its elements by the first index, in a balanced tree of `if`s, so that only the chosen element is computed. */
#include "frontend/elab_literal.h"
#include "frontend/elab.h"

static Kind kind_of_word(const Elab *e, KindWord word) {
  switch (word) {
  case WORD_BOOL: return KIND_BOOL;
  case WORD_I32: return KIND_I32;
  case WORD_I64: return KIND_I64;
  case WORD_F32: return KIND_F32;
  case WORD_F64: return KIND_F64;
  case WORD_REAL: break;
  }
  return e->real;
}

Form *elab_cast(Elab *e, Expr *x) {
  const ArgumentList *arguments = &x->cast.arguments;
  const char *word = kind_word_text(x->cast.word);
  if (arguments->n != 1) {
    elab_error(e, arguments->n ? arguments->at[1].at : x->at, "'%s' takes 1 argument; this gives %d", word,
               arguments->n);
    return form_poison(e, x->at);
  }
  const Name *name = &arguments->at[0].name;
  if (name->text && name->text != arena_name(e->arena, "x")) {
    elab_error(e, name->at, "'%s' has no parameter '%s'", word, name->text);
    return form_poison(e, x->at);
  }
  return operator_cast(e, x->at, kind_of_word(e, x->cast.word), elab_tensor(e, arguments->at[0].value, NULL));
}

/* ---- choice among several tensors */
Value *choose_element(Elab *e, const Choice *c, int from, int to, Value *at, Value *const *idx) {
  if (to - from == 1)
    return c->element(e, c, from, idx);
  const int middle = from + (to - from) / 2;
  Builder *b = &e->b;
  Op *op = build_if_begin(b, build_binary(b, OP_LT, at, build_size(b, c->starts[middle])));
  Value *then = choose_element(e, c, from, middle, at, idx);
  build_if_else(b, op, 1, &then);
  Value *other = choose_element(e, c, middle, to, at, idx);
  build_if_end(b, op, 1, &other);
  return op->results[0];
}

/* ---- array literals */
typedef struct Scalars { /* recipe of an array of scalars, kept beside its value so that an array of arrays needs no
                            copy */
  int n;
  Value **at; /* in row-major order */
} Scalars;

static Value *scalars_element(Elab *e, const Form *t, Value *const *idx) {
  return build_index(&e->b, t->value, t->type.rank, idx, 0);
}

static Value *store_scalars(Elab *e, Type t, const Scalars *s) {
  Value *array = build_zeros(&e->b, t);
  for (int i = 0; i < s->n; i++) {
    Value *idx[MAX_RANK];
    int64_t rest = i, size;
    for (int axis = t.rank - 1; axis >= 0; axis--) {
      if (!size_is_const(t.dims[axis], &size))
        internal_error("an array of scalars whose size is not constant");
      idx[axis] = build_int(&e->b, KIND_I64, rest % size);
      rest /= size;
    }
    array = build_update(&e->b, array, s->at[i], t.rank, idx, 0);
  }
  return array;
}

static Form *array_of_scalars(Elab *e, Range at, Type t, int n, const Form *const *items) {
  Scalars *s = NEW(e->arena, Scalars);
  VEC(Value *) all = {0};
  for (int i = 0; i < n; i++) {
    const Scalars *part = items[i]->recipe;
    if (items[i]->type.rank == 0)
      vec_push(e->arena, all, items[i]->value);
    else
      for (int j = 0; j < part->n; j++)
        vec_push(e->arena, all, part->at[j]);
  }
  s->n = all.n;
  s->at = all.at;
  Form *f = form_of_value(e, at, store_scalars(e, t, s));
  f->element = scalars_element;
  f->recipe = s;
  return f;
}

typedef struct Stack {
  Choice choice; /* first: the recipe is a Choice */
  const Form **items;
} Stack;

static Value *stack_item(Elab *e, const Choice *c, int which, Value *const *idx) {
  return form_element(e, ((const Stack *)c)->items[which], idx);
}

static Value *stack_element(Elab *e, const Form *t, Value *const *idx) {
  const Stack *s = t->recipe;
  Value *rest[MAX_RANK];
  int n = 0;
  for (int i = 0; i < t->type.rank; i++)
    if (i != s->choice.axis)
      rest[n++] = idx[i];
  return choose_element(e, &s->choice, 0, s->choice.n, idx[s->choice.axis], rest);
}

Form *form_stack(Elab *e, Range at, int n, const Form *const *items, int axis) {
  Stack *s = NEW(e->arena, Stack);
  const Size *dims[MAX_RANK + 1];
  const Type t = items[0]->type;
  s->choice = (Choice){.n = n, .axis = axis, .element = stack_item, .starts = NEW_ARRAY(e->arena, const Size *, n)};
  s->items = NEW_ARRAY(e->arena, const Form *, n);
  for (int i = 0; i < n; i++) {
    s->choice.starts[i] = size_const(e->module, i);
    s->items[i] = items[i];
  }
  if (t.rank == MAX_RANK) {
    elab_error(e, at, "a tensor has at most %d axes", MAX_RANK);
    return form_poison(e, at);
  }
  for (int i = 0; i <= t.rank; i++)
    dims[i] = i == axis ? size_const(e->module, n) : t.dims[i - (i > axis)];
  return form_lazy(e, at, type_tensor(e->module, t.kind, t.rank + 1, dims), stack_element, s, false);
}

/* Equal shapes, with no broadcasting. */
static bool same_item_shapes(Elab *e, int n, const Form **items) {
  for (int i = 1; i < n; i++) {
    if (items[i]->type.rank != items[0]->type.rank) {
      DiagMessage *m = elab_error(e, items[i]->at, "the elements of an array literal are %s and %s",
                                  form_text(e, items[0]), form_text(e, items[i]));
      diag_note(e->diag, m, items[0]->at, "this is %s", form_text(e, items[0]));
      return false;
    }
    for (int axis = 0; axis < items[0]->type.rank; axis++)
      if (!sizes_agree(e, items[i]->at, items[0]->type.dims[axis], items[i]->type.dims[axis],
                       "the elements of an array literal"))
        return false;
  }
  return true;
}

Form *elab_array(Elab *e, Expr *x, const Kind *want) {
  const int n = x->array.n;
  const Form **items = NEW_ARRAY(e->arena, const Form *, n), **written = NEW_ARRAY(e->arena, const Form *, n);
  bool ok = true, scalars = true;
  for (int i = 0; i < n; i++) {
    Form *item = elab_tensor(e, x->array.at[i], want);
    if (want && item->is_literal)
      item = form_convert(e, item, *want, "an element");
    ok = ok && item->kind == FORM_TENSOR;
    items[i] = written[i] = item;
  }
  if (!ok || !form_unify(e, n, items, "the elements of an array literal") || !same_item_shapes(e, n, items))
    return form_poison(e, x->at);
  for (int i = 0; i < n; i++)
    scalars = scalars && (items[i]->type.rank == 0 || items[i]->element == scalars_element);
  const Size *dims[MAX_RANK + 1];
  const int rank = items[0]->type.rank;
  Form *f;
  dims[0] = size_const(e->module, n);
  for (int i = 0; i < rank; i++)
    dims[i + 1] = items[0]->type.dims[i];
  if (scalars && rank < MAX_RANK)
    f = array_of_scalars(e, x->at, type_tensor(e->module, items[0]->type.kind, rank + 1, dims), n, items);
  else
    f = form_stored(e, form_stack(e, x->at, n, items, 0));
  form_mark(f, n, written);
  return f;
}
