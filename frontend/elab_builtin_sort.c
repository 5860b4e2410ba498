/* sort and argsort: a stable merge sort of positions, bottom up.
   One pass merges all neighbouring runs of width w: a loop over the places of the result that carries the heads of the
   two runs being merged and stacks the positions taken.  Passes double w until it covers the axis.  NaNs go last.  The
   sorted tensor is x read at these positions, so that its derivative follows the permutation. */
#include "frontend/elab_builtin.h"

typedef struct Sort {
  const Form *x; /* cheap */
  int axis;
  Value *all[MAX_RANK]; /* indices of the row that is being sorted; the axis' own is set for each read */
} Sort;

static Value *key_at(Elab *e, Sort *s, Value *position) {
  s->all[s->axis] = position;
  return form_element(e, s->x, s->all);
}

static Value *is_before(Builder *b, Value *x, Value *y) {
  Value *less = build_binary(b, OP_LT, x, y);
  if (!kind_is_float(x->type.kind))
    return less;
  Value *x_is_number = build_unary(b, OP_NOT, build_unary(b, OP_ISNAN, x));
  return build_binary(b, OP_OR, less, build_binary(b, OP_AND, x_is_number, build_unary(b, OP_ISNAN, y)));
}

static Value *merge_runs(Elab *e, Sort *s, Value *order, Value *width) {
  Builder *b = &e->b;
  const Size *size = s->x->type.dims[s->axis];
  const OutKind out = OUT_STACK;
  Value *zero = build_int(b, KIND_I64, 0), *one = build_int(b, KIND_I64, 1), *n = build_size(b, size);
  Value *both = build_add(b, width, width), *last = build_sub(b, n, one), *heads[] = {zero, zero};
  const LoopSpec spec = {
      .nindices = 1, .extents = &size, .ncarries = 2, .carry_inits = heads, .nouts = 1, .outs = &out};
  Op *loop = build_loop_begin(b, &spec);
  Value *k = loop_index(loop, 0);
  Value *start = build_sub(b, k, build_binary(b, OP_REM, k, both));
  Value *middle = build_binary(b, OP_MIN, build_add(b, start, width), n);
  Value *end = build_binary(b, OP_MIN, build_add(b, start, both), n);
  Value *fresh = build_binary(b, OP_EQ, k, start);
  Value *i = build_select(b, fresh, start, loop_carry(loop, 0));
  Value *j = build_select(b, fresh, middle, loop_carry(loop, 1));
  Value *left_done = build_binary(b, OP_LE, middle, i), *right_open = build_binary(b, OP_LT, j, end);
  /* a run that is done is read at the last place, and what was read is not used */
  Value *i_safe = build_binary(b, OP_MIN, i, last), *j_safe = build_binary(b, OP_MIN, j, last);
  Value *left = build_index(b, order, 1, &i_safe, 0), *right = build_index(b, order, 1, &j_safe, 0);
  Value *right_first = is_before(b, key_at(e, s, right), key_at(e, s, left));
  Value *take_right = build_binary(b, OP_AND, right_open, build_binary(b, OP_OR, left_done, right_first));
  Value *next[] = {build_select(b, take_right, i, build_add(b, i, one)),
                   build_select(b, take_right, build_add(b, j, one), j)};
  Value *taken = build_select(b, take_right, right, left);
  build_loop_end(b, loop, next, &taken);
  return loop_out(loop, 0);
}

/* The positions of one row in order. */
static Value *order_row(Elab *e, Sort *s) {
  Builder *b = &e->b;
  const Size *size = s->x->type.dims[s->axis];
  const OutKind out = OUT_STACK;
  const LoopSpec spec = {.nindices = 1, .extents = &size, .nouts = 1, .outs = &out};
  Op *identity = build_loop_begin(b, &spec);
  Value *i = loop_index(identity, 0);
  build_loop_end(b, identity, NULL, &i);
  Value *inits[] = {loop_out(identity, 0), build_int(b, KIND_I64, 1)};
  Op *passes = build_while_begin(b, 2, inits);
  build_while_body(b, passes, build_binary(b, OP_LT, passes->regions[0]->params[1], build_size(b, size)));
  Value *order = passes->regions[1]->params[0], *width = passes->regions[1]->params[1];
  Value *next[] = {merge_runs(e, s, order, width), build_add(b, width, width)};
  build_while_end(b, passes, next);
  return passes->results[0];
}

/* The positions of all rows; their axis is the last one. */
static Value *order_rows(Elab *e, Sort *s) {
  const Type t = s->x->type;
  const Size *extents[MAX_RANK];
  const OutKind out = OUT_STACK;
  int n = 0;
  for (int i = 0; i < t.rank; i++)
    if (i != s->axis)
      extents[n++] = t.dims[i];
  if (n == 0)
    return order_row(e, s);
  const LoopSpec spec = {.nindices = n, .extents = extents, .nouts = 1, .outs = &out};
  Op *rows = build_loop_begin(&e->b, &spec);
  n = 0;
  for (int i = 0; i < t.rank; i++)
    if (i != s->axis)
      s->all[i] = loop_index(rows, n++);
  Value *order = order_row(e, s);
  build_loop_end(&e->b, rows, NULL, &order);
  return loop_out(rows, 0);
}

/* The positions in the layout of x. */
static Form *order_of(Elab *e, const BuiltinCall *c, Sort *s) {
  const Form *x = argument_number(e, c, 0);
  int axes[MAX_RANK];
  if (x->kind == FORM_POISON || !argument_axis(e, c, 1, x->type.rank, -1, &s->axis))
    return form_poison(e, c->at);
  s->x = form_cheap(e, x);
  Form *order = form_of_value(e, c->at, order_rows(e, s));
  for (int i = 0; i < x->type.rank; i++)
    axes[i] = i == s->axis ? x->type.rank - 1 : i - (i > s->axis);
  return form_permute(e, c->at, order, axes);
}

Form *call_argsort(Elab *e, const BuiltinCall *c) {
  Sort s = {0};
  return order_of(e, c, &s);
}

typedef struct Sorted {
  const Form *x, *order;
  int axis;
} Sorted;

static Value *sorted_element(Elab *e, const Form *t, Value *const *idx) {
  const Sorted *s = t->recipe;
  Value *there[MAX_RANK];
  for (int i = 0; i < t->type.rank; i++)
    there[i] = idx[i];
  there[s->axis] = form_element(e, s->order, idx);
  return form_element(e, s->x, there);
}

Form *call_sort(Elab *e, const BuiltinCall *c) {
  Sort s = {0};
  Form *order = order_of(e, c, &s);
  if (order->kind == FORM_POISON || !s.x)
    return order;
  Sorted *sorted = NEW(e->arena, Sorted);
  *sorted = (Sorted){.x = s.x, .order = order, .axis = s.axis};
  Form *f = form_lazy(e, c->at, s.x->type, sorted_element, sorted, false);
  f->adapts = s.x->adapts;
  return f;
}
