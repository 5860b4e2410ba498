/* Folding of scalar operations: constants are computed, identities that hold bit for bit are taken.
   What is not folded and why: x + 0 (turns -0 into 0), x * 0 (NaN, infinities, the sign of 0), x - x (NaN), float
   divisions by constants other than 1.  Constants of f32 are rounded to float after every operation, as the generated
   code does. */
#define _GNU_SOURCE
#include "ir/fold.h"
#include <math.h>

static Value *number(Builder *b, Kind k, double v) {
  return build_float(b, k, k == KIND_F32 ? (double)(float)v : v);
}

static bool fold_unary_float(Opcode op, double x, int64_t attr, double *r) {
  switch (op) {
  case OP_NEG: *r = -x; return true;
  case OP_ABS: *r = fabs(x); return true;
  case OP_SIGN: *r = isnan(x) ? x : (double)((x > 0) - (x < 0)); return true;
  case OP_SQRT: *r = sqrt(x); return true;
  case OP_CBRT: *r = cbrt(x); return true;
  case OP_EXP: *r = exp(x); return true;
  case OP_EXP2: *r = exp2(x); return true;
  case OP_EXPM1: *r = expm1(x); return true;
  case OP_LOG: *r = log(x); return true;
  case OP_LOG2: *r = log2(x); return true;
  case OP_LOG10: *r = log10(x); return true;
  case OP_LOG1P: *r = log1p(x); return true;
  case OP_SIN: *r = sin(x); return true;
  case OP_COS: *r = cos(x); return true;
  case OP_TAN: *r = tan(x); return true;
  case OP_ASIN: *r = asin(x); return true;
  case OP_ACOS: *r = acos(x); return true;
  case OP_ATAN: *r = atan(x); return true;
  case OP_SINH: *r = sinh(x); return true;
  case OP_COSH: *r = cosh(x); return true;
  case OP_TANH: *r = tanh(x); return true;
  case OP_ASINH: *r = asinh(x); return true;
  case OP_ACOSH: *r = acosh(x); return true;
  case OP_ATANH: *r = atanh(x); return true;
  case OP_ERF: *r = erf(x); return true;
  case OP_ERFC: *r = erfc(x); return true;
  case OP_FLOOR: *r = floor(x); return true;
  case OP_CEIL: *r = ceil(x); return true;
  case OP_ROUND: *r = rint(x); return true;
  case OP_TRUNC: *r = trunc(x); return true;
  case OP_POWI:
    if (attr < -1024 || attr > 1024)
      return false;
    *r = pow(x, (double)attr);
    return true;
  default: return false; /* lgamma, polygamma, sigmoid, softplus: left to run time */
  }
}

static bool fold_binary_float(Opcode op, double x, double y, double *r) {
  switch (op) {
  case OP_ADD: *r = x + y; return true;
  case OP_SUB: *r = x - y; return true;
  case OP_MUL: *r = x * y; return true;
  case OP_DIV: *r = x / y; return true;
  case OP_MULZ: *r = x == 0 || y == 0 ? 0 : x * y; return true;
  case OP_DIVZ: *r = x == 0 ? 0 : x / y; return true;
  case OP_POW: *r = pow(x, y); return true;
  case OP_ATAN2: *r = atan2(x, y); return true;
  case OP_HYPOT: *r = hypot(x, y); return true;
  case OP_MIN: *r = isnan(x) || isnan(y) ? NAN : x < y ? x : y; return true;
  case OP_MAX: *r = isnan(x) || isnan(y) ? NAN : x > y ? x : y; return true;
  default: return false;
  }
}

static bool compare_float(Opcode op, double x, double y, bool *r) {
  switch (op) {
  case OP_LT: *r = x < y; return true;
  case OP_LE: *r = x <= y; return true;
  case OP_EQ: *r = x == y; return true;
  case OP_NE: *r = x != y; return true;
  default: return false;
  }
}

/* Integers wrap; what would end in a status is left to run time. */
static bool fold_binary_int(Opcode op, Kind k, int64_t x, int64_t y, int64_t *r) {
  const bool bad_division = y == 0 || (y == -1 && x == (k == KIND_I32 ? INT32_MIN : INT64_MIN));
  switch (op) {
  case OP_ADD: *r = (int64_t)((uint64_t)x + (uint64_t)y); return true;
  case OP_SUB: *r = (int64_t)((uint64_t)x - (uint64_t)y); return true;
  case OP_MUL: *r = (int64_t)((uint64_t)x * (uint64_t)y); return true;
  case OP_DIV:
    if (bad_division)
      return false;
    *r = x / y;
    return true;
  case OP_REM:
    if (bad_division)
      return false;
    *r = x % y;
    return true;
  case OP_MOD:
    if (bad_division)
      return false;
    *r = x % y;
    if (*r && (*r < 0) != (y < 0))
      *r += y;
    return true;
  case OP_MIN: *r = x < y ? x : y; return true;
  case OP_MAX: *r = x > y ? x : y; return true;
  case OP_LT: *r = x < y; return true;
  case OP_LE: *r = x <= y; return true;
  case OP_EQ: *r = x == y; return true;
  case OP_NE: *r = x != y; return true;
  case OP_AND: *r = x & y; return true;
  case OP_OR: *r = x | y; return true;
  default: return false;
  }
}

static Value *fold_constants(Builder *b, Opcode op, Kind result, Value *const *x, int64_t attr) {
  const int n = op_info[op].arity;
  double f, g, r;
  int64_t i, j, s;
  bool t;
  if (n == 1 && value_is_float_const(x[0], &f)) {
    if (op == OP_ISNAN || op == OP_ISFINITE)
      return build_int(b, KIND_BOOL, op == OP_ISNAN ? isnan(f) : isfinite(f) != 0);
    return fold_unary_float(op, f, attr, &r) ? number(b, result, r) : NULL;
  }
  if (n == 1 && value_is_int_const(x[0], &i)) {
    switch (op) {
    case OP_NEG: return build_int(b, result, (int64_t)(0 - (uint64_t)i));
    case OP_ABS: return i == INT64_MIN ? NULL : build_int(b, result, i < 0 ? -i : i);
    case OP_SIGN: return build_int(b, result, (i > 0) - (i < 0));
    case OP_NOT: return build_int(b, KIND_BOOL, !i);
    default: return NULL;
    }
  }
  if (n == 2 && value_is_float_const(x[0], &f) && value_is_float_const(x[1], &g)) {
    if (compare_float(op, f, g, &t))
      return build_int(b, KIND_BOOL, t);
    return fold_binary_float(op, f, g, &r) ? number(b, result, r) : NULL;
  }
  if (n == 2 && value_is_int_const(x[0], &i) && value_is_int_const(x[1], &j))
    return fold_binary_int(op, x[0]->type.kind, i, j, &s) ? build_int(b, result, s) : NULL;
  return NULL;
}

static bool is_float(const Value *v, double c) {
  double f;
  return value_is_float_const(v, &f) && f == c && !signbit(f) == !signbit(c);
}
static bool is_int(const Value *v, int64_t c) {
  int64_t i;
  return value_is_int_const(v, &i) && i == c;
}
static bool is_one(const Value *v) {
  return is_float(v, 1.0) || is_int(v, 1);
}

/* Comparisons of i64 values that their polynomials decide. */
static Value *fold_size_comparison(Builder *b, Opcode op, Value *x, Value *y) {
  Module *m = b->module;
  if (x->type.kind != KIND_I64)
    return NULL;
  const Size *p = size_of_value(m, x), *q = size_of_value(m, y);
  const bool constant = size_is_const(size_sub(m, p, q), NULL);
  /* Values that are plain unknowns are not worth the search. */
  const Size *less = size_sub(m, q, p); /* y - x */
  switch (op) {
  case OP_LT:
    if (size_nonnegative(m, size_sub(m, less, size_const(m, 1))))
      return build_int(b, KIND_BOOL, 1);
    return size_nonnegative(m, size_sub(m, p, q)) ? build_int(b, KIND_BOOL, 0) : NULL;
  case OP_LE:
    if (size_nonnegative(m, less))
      return build_int(b, KIND_BOOL, 1);
    return size_nonnegative(m, size_sub(m, size_sub(m, p, q), size_const(m, 1))) ? build_int(b, KIND_BOOL, 0) : NULL;
  case OP_EQ:
  case OP_NE: return constant ? build_int(b, KIND_BOOL, (p == q) == (op == OP_EQ)) : NULL;
  default: return NULL;
  }
}

/* True where v is never negative by the way it is made (it may be NaN). */
static bool is_nonnegative(const Value *v, int depth) {
  const Op *op = v->def;
  double c;
  if (value_is_float_const(v, &c))
    return c >= 0;
  if (!op || depth == 0)
    return false;
  switch (op->code) {
  case OP_ABS:
  case OP_SQRT:
  case OP_EXP:
  case OP_HYPOT: return true;
  case OP_MUL:
    return op->operands[0] == op->operands[1] ||
           (is_nonnegative(op->operands[0], depth - 1) && is_nonnegative(op->operands[1], depth - 1));
  case OP_ADD:
  case OP_DIV: return is_nonnegative(op->operands[0], depth - 1) && is_nonnegative(op->operands[1], depth - 1);
  case OP_POWI: return op->at.i % 2 == 0;
  case OP_LOOP: {
    const LoopInfo *info = op->at.loop;
    const int out = v->index - info->ncarries - info->naccs;
    return out >= 0 && info->outs[out] == OUT_SUM &&
           is_nonnegative(op->regions[0]->yields[info->ncarries + out], depth - 1);
  }
  default: return false;
  }
}

/* The operand of a square root that is squared: the one identity that is not exact to the last bit.  It is taken
   because it is the more accurate side, and because a norm squared is then smooth at the zero vector, to every order.
 */
static Value *squared_root(const Value *x, const Value *y) {
  enum { DEPTH = 8 };
  if (x != y || !x->def || x->def->code != OP_SQRT || !is_nonnegative(x->def->operands[0], DEPTH))
    return NULL;
  return x->def->operands[0];
}

static bool is_negation(const Value *v) {
  return v->def && v->def->code == OP_NEG && kind_is_float(v->type.kind);
}

static Value *fold_product(Builder *b, Value *const *x) {
  Value *root = squared_root(x[0], x[1]);
  if (root)
    return root;
  if (is_negation(x[0]) && is_negation(x[1]))
    return build_mul(b, x[0]->def->operands[0], x[1]->def->operands[0]);
  if (is_negation(x[0]) && !value_is_const(x[1]))
    return build_neg(b, build_mul(b, x[0]->def->operands[0], x[1]));
  if (is_negation(x[1]) && !value_is_const(x[0]))
    return build_neg(b, build_mul(b, x[0], x[1]->def->operands[0]));
  return NULL;
}

/* Also n - (n - i), as where a reverse sweep is walked back. */
static Value *fold_difference(Builder *b, Kind result, Value *const *x) {
  if (x[0] == x[1])
    return build_int(b, result, 0);
  const Op *def = x[1]->def;
  return def && def->code == OP_SUB && def->operands[0] == x[0] ? def->operands[1] : NULL;
}

static Value *fold_identity(Builder *b, Opcode op, Kind result, Value *const *x, int64_t attr) {
  const bool integer = kind_is_int(result);
  int64_t c;
  switch (op) {
  case OP_ADD:
    if (is_float(x[1], -0.0) || is_int(x[1], 0))
      return x[0];
    return is_float(x[0], -0.0) || is_int(x[0], 0) ? x[1] : NULL;
  case OP_SUB:
    if (is_float(x[1], 0.0) || is_int(x[1], 0))
      return x[0];
    if (is_float(x[0], -0.0) || is_int(x[0], 0))
      return build_neg(b, x[1]);
    return integer ? fold_difference(b, result, x) : NULL;
  case OP_MUL:
    if (is_one(x[1]))
      return x[0];
    if (is_one(x[0]))
      return x[1];
    if (is_float(x[1], -1.0) || is_float(x[0], -1.0))
      return build_neg(b, is_float(x[1], -1.0) ? x[0] : x[1]);
    if (integer)
      return is_int(x[0], 0) || is_int(x[1], 0) ? build_int(b, result, 0) : NULL;
    return fold_product(b, x);
  case OP_MULZ:
    if (is_one(x[1]))
      return x[0];
    if (is_one(x[0]))
      return x[1];
    return value_is_zero(x[0]) || value_is_zero(x[1]) ? build_float(b, result, 0) : NULL;
  case OP_DIV: return is_one(x[1]) ? x[0] : NULL;
  case OP_DIVZ: return is_one(x[1]) ? x[0] : value_is_zero(x[0]) ? build_float(b, result, 0) : NULL;
  case OP_NEG: return x[0]->def && x[0]->def->code == OP_NEG ? x[0]->def->operands[0] : NULL;
  case OP_NOT: return x[0]->def && x[0]->def->code == OP_NOT ? x[0]->def->operands[0] : NULL;
  case OP_POWI:
    if (attr == 0)
      return build_number(b, result, 1);
    return attr == 1 ? x[0] : attr == 2 ? build_mul(b, x[0], x[0]) : NULL;
  case OP_AND:
    if (value_is_int_const(x[0], &c))
      return c ? x[1] : x[0];
    if (value_is_int_const(x[1], &c))
      return c ? x[0] : x[1];
    return x[0] == x[1] ? x[0] : NULL;
  case OP_OR:
    if (value_is_int_const(x[0], &c))
      return c ? x[0] : x[1];
    if (value_is_int_const(x[1], &c))
      return c ? x[1] : x[0];
    return x[0] == x[1] ? x[0] : NULL;
  case OP_SELECT:
    if (value_is_int_const(x[0], &c))
      return c ? x[1] : x[2];
    return x[1] == x[2] ? x[1] : NULL;
  case OP_POW_BELOW: return is_one(x[1]) ? build_float(b, result, 1) : NULL;
  case OP_ATTACH: return x[0] == x[1] ? x[0] : NULL;
  case OP_LT:
  case OP_LE:
  case OP_EQ:
  case OP_NE: return fold_size_comparison(b, op, x[0], x[1]);
  default: return NULL;
  }
}

Value *fold_scalar(Builder *b, Opcode op, Kind result, Value *const *x, int64_t attr) {
  Value *v = fold_constants(b, op, result, x, attr);
  return v ? v : fold_identity(b, op, result, x, attr);
}
