/* Operators on numbers and tensors: kinds are unified by promotion, shapes by broadcasting, then one IR operation an
   element.  What is made of literals only stays a literal; what is made of sizes only stays a size. */
#include "frontend/elab.h"

/* IR operations are handed to `make` by their row in the table. */
static Value *make_unary(Elab *e, const void *row, Value *const *x) {
  return build_unary(&e->b, (Opcode)((const OpInfo *)row - op_info), x[0]);
}
static Value *make_binary(Elab *e, const void *row, Value *const *x) {
  return build_binary(&e->b, (Opcode)((const OpInfo *)row - op_info), x[0], x[1]);
}
static Value *make_swapped(Elab *e, const void *row, Value *const *x) {
  return build_binary(&e->b, (Opcode)((const OpInfo *)row - op_info), x[1], x[0]);
}

/* What is left of the operands' nature in the result.  Integer literals are sizes too: see size_form. */
void form_mark(Form *result, int n, const Form *const *operands) {
  bool literal = true, adapts = true;
  if (result->kind != FORM_TENSOR || result->type.kind != KIND_F64)
    return;
  for (int i = 0; i < n; i++) {
    literal = literal && operands[i]->is_literal;
    adapts = adapts && (form_adapts(operands[i]) || !kind_is_float(operands[i]->type.kind));
  }
  result->adapts = adapts;
  result->is_literal = literal && result->value && value_is_const(result->value);
}

static Form *size_form(Elab *e, Range at, const Size *s, bool is_literal) {
  Form *f = form_of_size(e, at, s);
  f->is_literal = is_literal && size_is_const(s, NULL);
  return f;
}

/* ---- one operand */
Form *elab_unary(Elab *e, Expr *x, const Kind *want) {
  const bool is_not = x->unary.op == UNARY_NOT;
  Form *operand = elab_tensor(e, x->unary.operand, is_not ? NULL : want);
  if (operand->kind == FORM_POISON)
    return operand;
  const Kind k = operand->type.kind;
  if (is_not != (k == KIND_BOOL)) {
    DiagMessage *m =
        elab_error(e, operand->at, is_not ? "'not' takes a bool; this is %s" : "'-' takes a number; this is %s",
                   form_text(e, operand));
    if (!is_not)
      diag_mend(e->diag, m, "for the opposite condition write: not");
    return form_poison(e, x->at);
  }
  if (operand->as_size)
    return size_form(e, x->at, size_scale(e->module, operand->as_size, -1), operand->is_literal);
  const Form *operands[] = {operand};
  Form *f = elementwise(e, x->at, k, 1, operands, make_unary, &op_info[is_not ? OP_NOT : OP_NEG]);
  form_mark(f, 1, operands);
  f->is_division = operand->is_division;
  return f;
}

/* ---- powers */
static Value *int_power(Builder *b, Value *x, uint64_t n) {
  Value *r = build_int(b, x->type.kind, 1);
  for (bool first = true; n; n >>= 1) {
    if (n & 1) {
      r = first ? x : build_mul(b, r, x);
      first = false;
    }
    if (n > 1)
      x = build_mul(b, x, x);
  }
  return r;
}

static Value *make_int_power(Elab *e, const void *exponent, Value *const *x) {
  return int_power(&e->b, x[0], (uint64_t)*(const int64_t *)exponent);
}

static Value *make_powi(Elab *e, const void *exponent, Value *const *x) {
  return build_powi(&e->b, x[0], *(const int64_t *)exponent);
}

/* x ^ n of integers that are known at run time only: squares while n > 0. */
static Value *make_int_pow(Elab *e, const void *unused, Value *const *x) {
  (void)unused;
  Builder *b = &e->b;
  const Kind k = x[0]->type.kind;
  Value *zero = build_int(b, k, 0), *two = build_int(b, k, 2);
  build_require(b, build_binary(b, OP_LE, zero, x[1]), "an integer is raised to a negative power");
  Value *inits[] = {build_int(b, k, 1), x[0], x[1]};
  Op *loop = build_while_begin(b, 3, inits);
  build_while_body(b, loop, build_binary(b, OP_LT, zero, loop->regions[0]->params[2]));
  Value **now = loop->regions[1]->params;
  Value *odd = build_binary(b, OP_EQ, build_binary(b, OP_REM, now[2], two), build_int(b, k, 1));
  Value *next[] = {build_select(b, odd, build_mul(b, now[0], now[1]), now[0]), build_mul(b, now[1], now[1]),
                   build_div(b, now[2], two)};
  build_while_end(b, loop, next);
  return loop->results[0];
}

static const int64_t *keep_int(Elab *e, int64_t v) {
  int64_t *p = NEW(e->arena, int64_t);
  *p = v;
  return p;
}

/* A constant exponent that is a whole number; a float one only where powi is as exact as pow. */
static bool whole_exponent(const Form *r, int64_t *n) {
  double v;
  if (r->type.rank == 0 && value_is_int_const(r->value, n))
    return true;
  if (!r->is_literal || !value_is_float_const(r->value, &v) || !(v >= -3 && v <= 3) || v != (double)(int64_t)v)
    return false;
  *n = (int64_t)v;
  return true;
}

static Form *power_of_ints(Elab *e, Range at, const Form *l, const Form *r) {
  int64_t n;
  const Form *operands[] = {l, r};
  if (r->type.rank == 0 && value_is_int_const(r->value, &n)) {
    if (n < 0) {
      DiagMessage *m = elab_error(e, r->at, "an integer cannot be raised to a negative power");
      diag_mend(e->diag, m, "make the base a float: f64(x)^%lld", (long long)n);
      return form_poison(e, at);
    }
    if (l->as_size && n < 64) {
      const Size *s = size_const(e->module, 1);
      for (int64_t i = 0; i < n; i++)
        s = size_mul(e->module, s, l->as_size);
      if (!s->overflow)
        return size_form(e, at, s, l->is_literal && r->is_literal);
    }
    return elementwise(e, at, l->type.kind, 1, &l, make_int_power, keep_int(e, n));
  }
  if (!form_unify(e, 2, operands, "the operands of '^'"))
    return form_poison(e, at);
  return elementwise(e, at, operands[0]->type.kind, 2, operands, make_int_pow, NULL);
}

Form *operator_power(Elab *e, Range at, const Form *l, const Form *r) {
  int64_t n;
  const Form *operands[] = {l, r};
  Form *f;
  if (kind_is_int(l->type.kind) && kind_is_int(r->type.kind))
    return power_of_ints(e, at, l, r);
  if (kind_is_float(l->type.kind) && whole_exponent(r, &n)) {
    f = elementwise(e, at, l->type.kind, 1, &l, make_powi, keep_int(e, n));
  } else {
    if (!form_unify(e, 2, operands, "the operands of '^'"))
      return form_poison(e, at);
    f = elementwise(e, at, operands[0]->type.kind, 2, operands, make_binary, &op_info[OP_POW]);
  }
  form_mark(f, 2, (const Form *[]){l, r});
  return f;
}

/* ---- two operands */
typedef struct BinaryInfo {
  Opcode op;
  bool swapped; /* a > b is b < a */
  bool compares;
} BinaryInfo;

static const BinaryInfo binary_info[] = {
    [BINARY_ADD] = {OP_ADD},
    [BINARY_SUB] = {OP_SUB},
    [BINARY_MUL] = {OP_MUL},
    [BINARY_DIV] = {OP_DIV},
    [BINARY_MOD] = {OP_REM},
    [BINARY_LT] = {OP_LT, .compares = true},
    [BINARY_GT] = {OP_LT, .swapped = true, .compares = true},
    [BINARY_LE] = {OP_LE, .compares = true},
    [BINARY_GE] = {OP_LE, .swapped = true, .compares = true},
    [BINARY_EQ] = {OP_EQ, .compares = true},
    [BINARY_NE] = {OP_NE, .compares = true},
    [BINARY_AND] = {OP_AND},
    [BINARY_OR] = {OP_OR},
};

/* Sizes stay sizes under + - * /, where division rounds down; literals divide as in C. */
static const Size *size_result(Elab *e, BinaryOp op, const Form *l, const Form *r) {
  Module *m = e->module;
  if (!l->as_size || !r->as_size)
    return NULL;
  const Size *a = l->as_size, *b = r->as_size, *s = NULL;
  int64_t x, y;
  switch (op) {
  case BINARY_ADD: s = size_add(m, a, b); break;
  case BINARY_SUB: s = size_sub(m, a, b); break;
  case BINARY_MUL: s = size_mul(m, a, b); break;
  case BINARY_DIV:
    if (!(l->is_literal && r->is_literal) || !size_is_const(a, &x) || !size_is_const(b, &y))
      s = size_floordiv(m, a, b);
    else if (y != -1)
      s = size_const(m, x / y);
    else
      s = size_scale(m, a, -1);
    break;
  case BINARY_MOD:
    if (size_is_const(a, &x) && size_is_const(b, &y))
      s = size_const(m, y == -1 ? 0 : x % y);
    break;
  default: break;
  }
  return s && !s->overflow ? s : NULL;
}

/* Numbers, or bools where the operator takes them. */
static bool kinds_fit(Elab *e, BinaryOp op, const Form *l, const Form *r) {
  const Form *sides[] = {l, r};
  const bool logical = op == BINARY_AND || op == BINARY_OR;
  const bool both = op == BINARY_EQ || op == BINARY_NE;
  for (int i = 0; i < 2; i++) {
    const bool is_bool = sides[i]->type.kind == KIND_BOOL;
    if (both || is_bool == logical)
      continue;
    DiagMessage *m = elab_error(e, sides[i]->at, "'%s' takes %s; this is %s", binary_op_text(op),
                                logical ? "bools" : "numbers", form_text(e, sides[i]));
    if (!logical)
      diag_mend(e->diag, m, "write the conversion: i64(..)");
    else
      diag_mend(e->diag, m, "compare it: x != 0");
    return false;
  }
  return true;
}

static bool is_zero_int(const Form *r) {
  int64_t v;
  return r->type.rank == 0 && value_is_int_const(r->value, &v) && v == 0;
}

Form *operator_binary(Elab *e, Range at, BinaryOp op, Range op_at, const Form *l, const Form *r) {
  if (l->kind == FORM_POISON || r->kind == FORM_POISON)
    return form_poison(e, at);
  const Form *operands[] = {l, r};
  const char *what = arena_printf(e->arena, "the operands of '%s'", binary_op_text(op));
  for (int i = 0; i < 2; i++)
    if (operands[i]->kind != FORM_TENSOR) {
      elab_error(e, operands[i]->at, "'%s' takes numbers and tensors; this is %s", binary_op_text(op),
                 form_text(e, operands[i]));
      return form_poison(e, at);
    }
  if (!kinds_fit(e, op, l, r))
    return form_poison(e, at);
  if (op == BINARY_MATMUL)
    return operator_matmul(e, at, l, r);
  if (op == BINARY_POW)
    return operator_power(e, at, l, r);
  const bool divides = (op == BINARY_DIV || op == BINARY_MOD) && kind_is_int(l->type.kind) && kind_is_int(r->type.kind);
  if (divides && is_zero_int(r)) {
    elab_error(e, op_at, "integer division by zero");
    return form_poison(e, at);
  }
  Form *f;
  const Size *s = size_result(e, op, l, r);
  const BinaryInfo *info = &binary_info[op];
  if (s) {
    f = size_form(e, at, s, l->is_literal && r->is_literal);
  } else {
    if (!form_unify(e, 2, operands, what))
      return form_poison(e, at);
    f = elementwise(e, at, info->compares ? KIND_BOOL : operands[0]->type.kind, 2, operands,
                    info->swapped ? make_swapped : make_binary, &op_info[info->op]);
    form_mark(f, 2, (const Form *[]){l, r});
  }
  f->is_division = divides && op == BINARY_DIV;
  return f;
}

/* ---- and, or: on scalars the right side runs only where it decides */
static bool is_simple(const Expr *x) {
  switch (x->kind) {
  case EXPR_NAME:
  case EXPR_INT:
  case EXPR_FLOAT:
  case EXPR_BOOL: return true;
  case EXPR_UNARY: return is_simple(x->unary.operand);
  case EXPR_BINARY:
    return x->binary.op != BINARY_DIV && x->binary.op != BINARY_MOD && x->binary.op != BINARY_POW &&
           x->binary.op != BINARY_MATMUL && is_simple(x->binary.left) && is_simple(x->binary.right);
  default: return false;
  }
}

static Form *logical(Elab *e, Expr *x) {
  const bool is_and = x->binary.op == BINARY_AND;
  Form *l = elab_tensor(e, x->binary.left, NULL);
  if (l->kind == FORM_POISON || l->type.rank > 0 || l->type.kind != KIND_BOOL || is_simple(x->binary.right))
    return operator_binary(e, x->at, x->binary.op, x->binary.op_at, l, elab_tensor(e, x->binary.right, NULL));
  e->b.loc = x->at;
  Op *op = build_if_begin(&e->b, is_and ? l->value : build_unary(&e->b, OP_NOT, l->value));
  struct SizeFact *facts = e->scope->facts;
  Form *r = elab_tensor(e, x->binary.right, NULL);
  e->scope->facts = facts;
  const bool ok = r->kind == FORM_TENSOR && kinds_fit(e, x->binary.op, l, r);
  Value *right = ok ? form_store(e, r) : build_int(&e->b, KIND_BOOL, 0);
  build_if_else(&e->b, op, 1, &right);
  Value *other = build_full(&e->b, right->type, build_int(&e->b, KIND_BOOL, !is_and));
  build_if_end(&e->b, op, 1, &other);
  return ok ? form_of_value(e, x->at, op->results[0]) : form_poison(e, x->at);
}

Form *elab_binary(Elab *e, Expr *x, const Kind *want) {
  (void)want; /* an operand takes its kind from the other one */
  if (x->binary.op == BINARY_AND || x->binary.op == BINARY_OR)
    return logical(e, x);
  Form *l = elab_tensor(e, x->binary.left, NULL);
  Form *r = elab_tensor(e, x->binary.right, NULL);
  return operator_binary(e, x->at, x->binary.op, x->binary.op_at, l, r);
}
