/* Built-in functions along one axis: softmax, cumulative sums and products, flip, roll. */
#include "frontend/elab_builtin.h"

/* ---- softmax: exp(x - peak) / sum of these; the peak is constant, as the quotient does not depend on it */
static Form *softmax_operand(Elab *e, const BuiltinCall *c, unsigned *axes) {
  int axis;
  Form *x = argument_float(e, c, 0);
  if (x->kind == FORM_POISON || !argument_axis(e, c, 1, x->type.rank, -1, &axis))
    return form_poison(e, c->at);
  *axes = 1u << axis;
  return form_cheap(e, x);
}

static Form *combine(Elab *e, Range at, Opcode op, const Form *l, const Form *r) {
  const Form *operands[] = {l, r};
  return apply_operation(e, at, op, 2, operands);
}

static Form *map(Elab *e, Range at, Opcode op, const Form *x) {
  return apply_operation(e, at, op, 1, &x);
}

Form *call_softmax(Elab *e, const BuiltinCall *c) {
  unsigned axes = 0;
  const Form *x = softmax_operand(e, c, &axes);
  if (x->kind == FORM_POISON)
    return form_poison(e, c->at);
  Form *peak = reduce_peak(e, c->at, x, axes);
  Form *exps = form_stored(e, map(e, c->at, OP_EXP, combine(e, c->at, OP_SUB, x, peak)));
  Form *f = combine(e, c->at, OP_DIV, exps, builtin_reduce(e, c->at, "sum", exps, axes, true));
  form_mark(f, 1, &x);
  return f;
}

Form *call_log_softmax(Elab *e, const BuiltinCall *c) {
  unsigned axes = 0;
  const Form *x = softmax_operand(e, c, &axes);
  if (x->kind == FORM_POISON)
    return form_poison(e, c->at);
  Form *peak = form_stored(e, reduce_peak(e, c->at, x, axes));
  Form *shifted = combine(e, c->at, OP_SUB, x, peak);
  Form *sum = builtin_reduce(e, c->at, "sum", map(e, c->at, OP_EXP, shifted), axes, true);
  Form *f = combine(e, c->at, OP_SUB, shifted, map(e, c->at, OP_LOG, sum));
  form_mark(f, 1, &x);
  return f;
}

/* ---- cumsum, cumprod: for each index of the axes before, a loop along the axis that carries what stands at one index
   of it: a scalar, or a tensor of the axes after */
typedef struct Scan {
  Opcode op;
  const Form *x;
  int axis;
  Value *all[MAX_RANK];
} Scan;

static Value *scan_step(Elab *e, Scan *s, Value *carried) {
  Builder *b = &e->b;
  const int after = s->x->type.rank - s->axis - 1;
  if (after == 0)
    return build_binary(b, s->op, carried, form_element(e, s->x, s->all));
  const OutKind out = OUT_STACK;
  const LoopSpec spec = {.nindices = after, .extents = s->x->type.dims + s->axis + 1, .nouts = 1, .outs = &out};
  Op *loop = build_loop_begin(b, &spec);
  for (int i = 0; i < after; i++)
    s->all[s->axis + 1 + i] = loop_index(loop, i);
  Value *old = build_index(b, carried, after, loop->regions[0]->params, 0);
  Value *next = build_binary(b, s->op, old, form_element(e, s->x, s->all));
  build_loop_end(b, loop, NULL, &next);
  return loop_out(loop, 0);
}

static Value *scan_axis(Elab *e, Scan *s) {
  Builder *b = &e->b;
  const Type t = s->x->type;
  const OutKind out = OUT_STACK;
  Value *init = build_full(b, type_drop(t, s->axis + 1), build_number(b, t.kind, s->op == OP_MUL));
  const LoopSpec spec = {
      .nindices = 1, .extents = t.dims + s->axis, .ncarries = 1, .carry_inits = &init, .nouts = 1, .outs = &out};
  Op *loop = build_loop_begin(b, &spec);
  s->all[s->axis] = loop_index(loop, 0);
  Value *next = scan_step(e, s, loop_carry(loop, 0));
  build_loop_end(b, loop, &next, &next);
  return loop_out(loop, 0);
}

Form *call_cumulative(Elab *e, const BuiltinCall *c) {
  Scan s = {.op = c->f->op};
  const Form *x = s.x = argument_number(e, c, 0);
  if (x->kind == FORM_POISON || !argument_axis(e, c, 1, x->type.rank, 0, &s.axis))
    return form_poison(e, c->at);
  Value *result;
  if (s.axis == 0) {
    result = scan_axis(e, &s);
  } else {
    const OutKind out = OUT_STACK;
    const LoopSpec spec = {.nindices = s.axis, .extents = x->type.dims, .nouts = 1, .outs = &out};
    Op *loop = build_loop_begin(&e->b, &spec);
    for (int i = 0; i < s.axis; i++)
      s.all[i] = loop_index(loop, i);
    result = scan_axis(e, &s);
    build_loop_end(&e->b, loop, NULL, &result);
    result = loop_out(loop, 0);
  }
  Form *f = form_of_value(e, c->at, result);
  form_mark(f, 1, &x);
  return f;
}

/* ---- flip, roll: views */
typedef struct Moved {
  const Form *of;
  int axis;
  Value *shift; /* in [0, size); NULL: flipped */
} Moved;

static Value *moved_element(Elab *e, const Form *t, Value *const *idx) {
  const Moved *v = t->recipe;
  Builder *b = &e->b;
  Value *there[MAX_RANK];
  for (int i = 0; i < t->type.rank; i++)
    there[i] = idx[i];
  Value *size = build_size(b, t->type.dims[v->axis]);
  if (v->shift) {
    Value *i = build_sub(b, idx[v->axis], v->shift);
    Value *before = build_binary(b, OP_LT, i, build_int(b, KIND_I64, 0));
    there[v->axis] = build_select(b, before, build_add(b, i, size), i);
  } else {
    there[v->axis] = build_sub(b, build_sub(b, size, build_int(b, KIND_I64, 1)), idx[v->axis]);
  }
  return form_element(e, v->of, there);
}

static Form *moved(Elab *e, const BuiltinCall *c, const Form *x, int axis, Value *shift) {
  Moved *v = NEW(e->arena, Moved);
  *v = (Moved){.of = x, .axis = axis, .shift = shift};
  Form *f = form_lazy(e, c->at, x->type, moved_element, v, form_is_cheap(x));
  f->adapts = x->adapts;
  return f;
}

Form *call_flip(Elab *e, const BuiltinCall *c) {
  int axis;
  const Form *x = argument_tensor(e, c, 0);
  if (x->kind == FORM_POISON || !argument_axis(e, c, 1, x->type.rank, 0, &axis))
    return form_poison(e, c->at);
  return moved(e, c, x, axis, NULL);
}

Form *call_roll(Elab *e, const BuiltinCall *c) {
  Builder *b = &e->b;
  int axis;
  const Form *x = argument_tensor(e, c, 0);
  Value *shift = elab_scalar(e, c->arguments[1]->value, KIND_I64);
  if (x->kind == FORM_POISON || !shift || !argument_axis(e, c, 2, x->type.rank, 0, &axis))
    return form_poison(e, c->at);
  /* over an axis of size 0 there is nothing to move, and no division either */
  Value *size = build_binary(b, OP_MAX, build_size(b, x->type.dims[axis]), build_int(b, KIND_I64, 1));
  return moved(e, c, x, axis, build_binary(b, OP_MOD, shift, size));
}
