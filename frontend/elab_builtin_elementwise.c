/* Elementwise built-in functions.  Each is one IR operation, or a few on scalars, whose derivative by the IR's own
   rules is the one that is promised: at kinks it is `select` that says which side counts. */
#include "frontend/elab_builtin.h"

Value *make_operation(Elab *e, const void *row, Value *const *x) {
  const Opcode op = (Opcode)((const OpInfo *)row - op_info);
  return op_info[op].arity == 1 ? build_unary(&e->b, op, x[0]) : build_binary(&e->b, op, x[0], x[1]);
}

Form *apply_operation(Elab *e, Range at, Opcode op, int n, const Form *const *operands) {
  const Kind k = op_info[op].result == RESULT_BOOL ? KIND_BOOL : operands[0]->type.kind;
  return elementwise(e, at, k, n, operands, make_operation, &op_info[op]);
}

Value *build_constant(Builder *b, Value *v) {
  return kind_is_float(v->type.kind) ? build_binary(b, OP_ATTACH, v, build_float(b, v->type.kind, 0)) : v;
}

/* ---- the common course of things: unify, apply, mark */
static Form *apply(Elab *e, const BuiltinCall *c, int n, const Form **x) {
  const Form *given[MAX_PARAMETERS];
  for (int i = 0; i < n; i++)
    given[i] = x[i];
  if (!form_unify(e, n, x, arena_printf(e->arena, "the arguments of '%s'", c->f->name)))
    return form_poison(e, c->at);
  Form *f = c->f->make ? elementwise(e, c->at, x[0]->type.kind, n, x, c->f->make, NULL)
                       : apply_operation(e, c->at, c->f->op, n, x);
  form_mark(f, n, given);
  return f;
}

Form *call_number(Elab *e, const BuiltinCall *c) {
  const Form *x[MAX_PARAMETERS];
  for (int i = 0; i < c->n; i++)
    x[i] = argument_number(e, c, i);
  return apply(e, c, c->n, x);
}

Form *call_float(Elab *e, const BuiltinCall *c) {
  const Form *x[MAX_PARAMETERS];
  for (int i = 0; i < c->n; i++)
    x[i] = argument_float(e, c, i);
  return apply(e, c, c->n, x);
}

Form *call_predicate(Elab *e, const BuiltinCall *c) {
  const Form *x = argument_float(e, c, 0);
  return x->kind == FORM_POISON ? form_poison(e, c->at) : apply_operation(e, c->at, c->f->op, 1, &x);
}

Value *make_digamma(Elab *e, const void *unused, Value *const *x) {
  (void)unused;
  return build_polygamma(&e->b, x[0], 0);
}

Form *call_pow(Elab *e, const BuiltinCall *c) {
  Form *x = argument_number(e, c, 0), *y = argument_number(e, c, 1);
  return x->kind == FORM_POISON || y->kind == FORM_POISON ? form_poison(e, c->at) : operator_power(e, c->at, x, y);
}

/* ---- on scalars */
Value *make_sqr(Elab *e, const void *unused, Value *const *x) {
  (void)unused;
  return build_mul(&e->b, x[0], x[0]);
}

/* Not above 0 is 0, with derivative 0; NaN stays. */
Value *make_relu(Elab *e, const void *unused, Value *const *x) {
  (void)unused;
  Builder *b = &e->b;
  Value *zero = build_number(b, x[0]->type.kind, 0);
  return build_select(b, build_binary(b, OP_LE, x[0], zero), zero, x[0]);
}

/* A product with a function that goes from 0 to 1, and is there at the bounds: 0 below -bound, and x above. */
static Value *within(Builder *b, Value *x, double bound) {
  Value *high = build_float(b, x->type.kind, bound), *low = build_float(b, x->type.kind, -bound);
  Value *above = build_select(b, build_binary(b, OP_LT, x, low), low, x);
  return build_select(b, build_binary(b, OP_LT, high, above), high, above);
}
static Value *or_above(Builder *b, Value *x, double bound, Value *product) {
  return build_select(b, build_binary(b, OP_LT, build_float(b, x->type.kind, bound), x), x, product);
}

Value *make_silu(Elab *e, const void *unused, Value *const *x) {
  (void)unused;
  Value *inner = within(&e->b, x[0], 800);
  return or_above(&e->b, x[0], 800, build_mul(&e->b, inner, build_unary(&e->b, OP_SIGMOID, inner)));
}

/* x Phi(x); erfc keeps the left tail. */
Value *make_gelu(Elab *e, const void *unused, Value *const *x) {
  (void)unused;
  Builder *b = &e->b;
  const Kind k = x[0]->type.kind;
  Value *inner = within(b, x[0], 50), *scaled = build_mul(b, inner, build_float(b, k, -0.70710678118654752440));
  Value *product = build_mul(b, build_mul(b, build_float(b, k, 0.5), inner), build_unary(b, OP_ERFC, scaled));
  return or_above(b, x[0], 50, product);
}

Value *make_elu(Elab *e, const void *unused, Value *const *x) {
  (void)unused;
  Builder *b = &e->b;
  Value *zero = build_float(b, x[0]->type.kind, 0);
  return build_select(b, build_binary(b, OP_LT, zero, x[0]), x[0], build_mul(b, x[1], build_unary(b, OP_EXPM1, x[0])));
}

Form *call_elu(Elab *e, const BuiltinCall *c) {
  const Form *x[2] = {argument_float(e, c, 0)};
  x[1] = c->arguments[1] ? argument_float(e, c, 1) : form_float(e, c->at, 1);
  return apply(e, c, 2, x);
}

/* At its bounds x counts. */
Value *make_clip(Elab *e, const void *unused, Value *const *x) {
  (void)unused;
  Builder *b = &e->b;
  Value *low = build_select(b, build_binary(b, OP_LT, x[0], x[1]), x[1], x[0]);
  return build_select(b, build_binary(b, OP_LT, x[2], low), x[2], low);
}

/* ---- choice */
static Value *make_where(Elab *e, const void *unused, Value *const *x) {
  (void)unused;
  return build_select(&e->b, x[0], x[1], x[2]);
}

Form *call_where(Elab *e, const BuiltinCall *c) {
  const Form *x[3], *given[3];
  for (int i = 0; i < 3; i++)
    x[i] = given[i] = argument_tensor(e, c, i);
  if (x[0]->kind == FORM_POISON || !form_unify(e, 2, x + 1, "the choices of 'where'"))
    return form_poison(e, c->at);
  if (x[0]->type.kind != KIND_BOOL) {
    DiagMessage *m = elab_error(e, x[0]->at, "the condition of 'where' is %s, not bool", form_text(e, x[0]));
    diag_mend(e->diag, m, "compare it: x != 0");
    return form_poison(e, c->at);
  }
  Form *f = elementwise(e, c->at, x[1]->type.kind, 3, x, make_where, NULL);
  form_mark(f, 2, given + 1);
  f->is_literal = false;
  return f;
}

static Value *make_constant(Elab *e, const void *unused, Value *const *x) {
  (void)unused;
  return build_constant(&e->b, x[0]);
}

Form *call_stop_gradient(Elab *e, const BuiltinCall *c) {
  const Form *x = argument_tensor(e, c, 0);
  if (x->kind == FORM_POISON || !kind_is_float(x->type.kind) || x->is_literal)
    return form_copy(e, x);
  Form *f = elementwise(e, c->at, x->type.kind, 1, &x, make_constant, NULL);
  form_mark(f, 1, &x);
  return f;
}

/* max(x) reduces, max(a, b) is elementwise; max(x, 0) is one of them and looks like the other. */
static bool is_int_literal(const Expr *x) {
  return x->kind == EXPR_INT || (x->kind == EXPR_UNARY && x->unary.op == UNARY_NEG && is_int_literal(x->unary.operand));
}

Form *call_min_max(Elab *e, const BuiltinCall *c) {
  if (c->n != 2)
    return call_reduction(e, c);
  const Form *x[2], *given[2];
  for (int i = 0; i < 2; i++)
    x[i] = given[i] = argument_number(e, c, i);
  if (x[0]->kind == FORM_TENSOR && x[0]->type.rank && !c->arguments[1]->name.text &&
      is_int_literal(c->arguments[1]->value)) {
    DiagMessage *m = diag_warn(e->diag, "axis", c->arguments[1]->at,
                               "'%s' compares each element with this number; an axis is written axis = 0", c->f->name);
    diag_mend(e->diag, m, "for the number write it as a float, such as 0.0");
  }
  return apply(e, c, 2, x);
}
