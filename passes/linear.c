/* Rules of differentiation of the scalar operations; see linear.h.
   v is the cotangent y_bar or the tangent x_dot.  Rules read operands as X, Y and the result as R.  Every product with
   a derivative goes through product() or quotient(), which hold the rule of exact zeros. */
#define _GNU_SOURCE /* M_LN2 .. */
#include "passes/linear.h"
#include <math.h>

enum { LOOK_DEPTH = 12 };

/* ---- the rule of exact zeros: what is known of the two sides of a product */
typedef enum FiniteClass { FINITE, ASSUMED_FINITE, MAYBE_INFINITE } FiniteClass;

/* A number that no input makes 0, but by underflow. */
static bool never_zero(const Value *v, int depth) {
  const Op *op = v->def;
  double c;
  if (value_is_float_const(v, &c))
    return c != 0;
  if (!op || depth == 0)
    return false;
  switch (op->code) {
  case OP_SELECT: return never_zero(op->operands[1], depth - 1) && never_zero(op->operands[2], depth - 1);
  case OP_MUL:
  case OP_MULZ: return never_zero(op->operands[0], depth - 1) && never_zero(op->operands[1], depth - 1);
  case OP_NEG:
  case OP_FULL: return never_zero(op->operands[0], depth - 1);
  case OP_INDEX:
    return op->operands[0]->def && op->operands[0]->def->code == OP_FULL && never_zero(op->operands[0], depth - 1);
  default: return false;
  }
}

/* The element that a loop stacks to make x; NULL where x is made in another way. */
static const Value *stacked(const Value *x) {
  if (!x->def || x->def->code != OP_LOOP)
    return NULL;
  const LoopInfo *info = x->def->at.loop;
  const int out = x->index - info->ncarries - info->naccs;
  return out >= 0 && info->outs[out] == OUT_STACK ? x->def->regions[0]->yields[info->ncarries + out] : NULL;
}

static FiniteClass finite_class(const Value *v, int depth) {
  const Op *op = v->def;
  double c;
  if (value_is_float_const(v, &c))
    return isfinite(c) ? FINITE : MAYBE_INFINITE;
  if (!op || depth == 0)
    return ASSUMED_FINITE;
  switch (op->code) {
  case OP_SIN:
  case OP_COS:
  case OP_TANH:
  case OP_SIGMOID:
  case OP_SIGN:
  case OP_ERF:
  case OP_ERFC: return FINITE;
  case OP_CAST: return kind_is_float(op->operands[0]->type.kind) ? finite_class(op->operands[0], depth - 1) : FINITE;
  case OP_LOG:
  case OP_LOG2:
  case OP_LOG10:
  case OP_LOG1P:
  case OP_POW:
  case OP_POW_BELOW:
  case OP_TAN:
  case OP_LGAMMA:
  case OP_POLYGAMMA:
  case OP_ATANH: return MAYBE_INFINITE;
  case OP_POWI: return op->at.i < 0 ? MAYBE_INFINITE : ASSUMED_FINITE;
  case OP_DIV:
  case OP_DIVZ: {
    double d;
    if (value_is_float_const(op->operands[1], &d) && d != 0)
      return finite_class(op->operands[0], depth - 1);
    return MAYBE_INFINITE;
  }
  case OP_ADD:
  case OP_SUB:
  case OP_MUL:
  case OP_MULZ: {
    const FiniteClass x = finite_class(op->operands[0], depth - 1), y = finite_class(op->operands[1], depth - 1);
    return x > y ? x : y;
  }
  case OP_SELECT: {
    const FiniteClass x = finite_class(op->operands[1], depth - 1), y = finite_class(op->operands[2], depth - 1);
    return x > y ? x : y;
  }
  case OP_NEG:
  case OP_ABS: return finite_class(op->operands[0], depth - 1);
  case OP_INDEX: {
    const Value *element = stacked(op->operands[0]);
    return element ? finite_class(element, depth - 1) : ASSUMED_FINITE;
  }
  default: return ASSUMED_FINITE;
  }
}

/* ---- the rules */
typedef struct Linear {
  Builder *b;
  const Op *op;
  Kind kind;         /* of the result */
  Incoming incoming; /* v */
} Linear;

#define X (l->op->operands[0])
#define Y (l->op->operands[1])
#define R (l->op->results[0])
#define RULE(code) static Value *linear_##code(const Linear *l, int k, Value *v)
#define TIMES(factor) product(l, v, (factor))
#define OVER(divisor) quotient(l, v, (divisor))
static Value *product(const Linear *l, Value *v, Value *factor) {
  double c;
  bool strong = true;
  if (value_is_float_const(factor, &c) && isfinite(c))
    strong = false;
  else if (l->incoming == INCOMING_PLAIN)
    strong = !never_zero(v, LOOK_DEPTH) && finite_class(factor, LOOK_DEPTH) == MAYBE_INFINITE;
  return build_binary(l->b, strong ? OP_MULZ : OP_MUL, v, factor);
}
static Value *quotient(const Linear *l, Value *v, Value *divisor) {
  double c;
  const bool plain = (value_is_float_const(divisor, &c) && c != 0) || never_zero(v, LOOK_DEPTH);
  return build_binary(l->b, plain ? OP_DIV : OP_DIVZ, v, divisor);
}
static Value *number(const Linear *l, double c) {
  return build_float(l->b, l->kind, c);
}
static Value *add(const Linear *l, Value *x, Value *y) {
  return build_add(l->b, x, y);
}
static Value *sub(const Linear *l, Value *x, Value *y) {
  return build_sub(l->b, x, y);
}
static Value *mul(const Linear *l, Value *x, Value *y) {
  return build_mul(l->b, x, y);
}
static Value *neg(const Linear *l, Value *x) {
  return build_neg(l->b, x);
}
static Value *fun(const Linear *l, Opcode op, Value *x) {
  return build_unary(l->b, op, x);
}
static Value *test(const Linear *l, Opcode op, Value *x, Value *y) {
  return build_binary(l->b, op, x, y);
}
static Value *zero(const Linear *l) {
  return number(l, 0);
}
#define ONE number(l, 1)

/* Slopes that vanish at infinity are made so that theirs do too: where a bar is exactly 0, a factor that is infinite
   there makes no NaN of it. */
static Value *mulz(const Linear *l, Value *x, Value *y) {
  return build_binary(l->b, OP_MULZ, x, y);
}
/* x / r, with r the hypotenuse of x and another side: the sign of x where x is infinite. */
static Value *ratio(const Linear *l, Value *x, Value *r) {
  return build_select(l->b, fun(l, OP_ISFINITE, x), build_binary(l->b, OP_DIVZ, x, r), fun(l, OP_SIGN, x));
}

/* Operations whose derivative is zero wherever it exists. */
#define FLAT(code) \
  RULE(code) { \
    (void)l, (void)k, (void)v; \
    return NULL; \
  }
FLAT(SIGN)
FLAT(FLOOR)
FLAT(CEIL)
FLAT(ROUND)
FLAT(TRUNC)
FLAT(NOT)
FLAT(ISNAN)
FLAT(ISFINITE)
FLAT(LT)
FLAT(LE)
FLAT(EQ)
FLAT(NE)
FLAT(AND)
FLAT(OR)

/* One operand: v times, or over, an expression of X and R. */
#define ONE_OPERAND(code, expression) \
  RULE(code) { \
    (void)k; \
    return expression; \
  }
ONE_OPERAND(NEG, neg(l, v))
ONE_OPERAND(ABS, TIMES(fun(l, OP_SIGN, X)))
ONE_OPERAND(SQRT, mul(l, number(l, 0.5), OVER(R)))
ONE_OPERAND(CBRT, OVER(mul(l, number(l, 3), mulz(l, R, R))))
ONE_OPERAND(EXP, TIMES(R))
ONE_OPERAND(EXP2, TIMES(mul(l, R, number(l, M_LN2))))
ONE_OPERAND(EXPM1, TIMES(fun(l, OP_EXP, X)))
ONE_OPERAND(LOG, OVER(X))
ONE_OPERAND(LOG2, OVER(mul(l, X, number(l, M_LN2))))
ONE_OPERAND(LOG10, OVER(mul(l, X, number(l, M_LN10))))
ONE_OPERAND(LOG1P, OVER(add(l, X, ONE)))
ONE_OPERAND(SIN, TIMES(fun(l, OP_COS, X)))
ONE_OPERAND(COS, neg(l, TIMES(fun(l, OP_SIN, X))))
ONE_OPERAND(TAN, TIMES(add(l, mul(l, R, R), ONE)))
/* (1 - x)(1 + x) keeps its digits near 1, where 1 - x^2 has none. */
#define ONE_MINUS_SQUARE(x) mul(l, sub(l, ONE, x), add(l, x, ONE))
ONE_OPERAND(ASIN, OVER(fun(l, OP_SQRT, ONE_MINUS_SQUARE(X))))
ONE_OPERAND(ACOS, neg(l, OVER(fun(l, OP_SQRT, ONE_MINUS_SQUARE(X)))))
ONE_OPERAND(ATAN, OVER(add(l, mulz(l, X, X), ONE)))
ONE_OPERAND(SINH, TIMES(fun(l, OP_COSH, X)))
ONE_OPERAND(COSH, TIMES(fun(l, OP_SINH, X)))
ONE_OPERAND(TANH, TIMES(ONE_MINUS_SQUARE(R)))
ONE_OPERAND(ASINH, OVER(build_binary(l->b, OP_HYPOT, X, ONE)))
ONE_OPERAND(ACOSH, OVER(mulz(l, fun(l, OP_SQRT, sub(l, X, ONE)), fun(l, OP_SQRT, add(l, X, ONE)))))
ONE_OPERAND(ATANH, OVER(ONE_MINUS_SQUARE(X)))
/* The slope of erf: 0 with all its derivatives from 40 on, where exp(-x^2) has been 0 for long. */
static Value *gauss(const Linear *l) {
  Value *x = build_binary(l->b, OP_MAX, build_binary(l->b, OP_MIN, X, number(l, 40)), number(l, -40));
  return mul(l, number(l, M_2_SQRTPI), fun(l, OP_EXP, neg(l, mul(l, x, x))));
}
ONE_OPERAND(ERF, TIMES(gauss(l)))
ONE_OPERAND(ERFC, neg(l, TIMES(gauss(l))))
ONE_OPERAND(LGAMMA, TIMES(build_polygamma(l->b, X, 0)))
ONE_OPERAND(POLYGAMMA, TIMES(build_polygamma(l->b, X, l->op->at.i + 1)))
/* sigmoid(x) sigmoid(-x): r (1 - r) has no digits left where r is near 1. */
ONE_OPERAND(SIGMOID, TIMES(mul(l, R, fun(l, OP_SIGMOID, neg(l, X)))))
ONE_OPERAND(SOFTPLUS, TIMES(fun(l, OP_SIGMOID, X)))
ONE_OPERAND(POWI, TIMES(mul(l, number(l, (double)l->op->at.i), build_powi(l->b, X, l->op->at.i - 1))))
RULE(CAST) {
  (void)k;
  return kind_is_float(l->kind) ? build_cast(l->b, X->type.kind == v->type.kind ? l->kind : X->type.kind, v) : NULL;
}

RULE(ADD) {
  (void)l, (void)k;
  return v;
}
RULE(SUB) {
  return k ? neg(l, v) : v;
}
RULE(MUL) {
  return TIMES(k ? X : Y);
}
RULE(MULZ) {
  return build_binary(l->b, OP_MULZ, v, k ? X : Y);
}
/* y = a / b: v / b, and for b that times -y. */
RULE(DIV) {
  Value *by_x = OVER(Y);
  return k ? neg(l, product(l, by_x, R)) : by_x;
}
RULE(DIVZ) {
  Value *by_x = build_binary(l->b, OP_DIVZ, v, Y);
  return k ? neg(l, build_binary(l->b, OP_MULZ, by_x, R)) : by_x;
}
/* x - y trunc(x / y), x - y floor(x / y) */
RULE(REM) {
  return k ? neg(l, TIMES(fun(l, OP_TRUNC, build_div(l->b, X, Y)))) : v;
}
RULE(MOD) {
  return k ? neg(l, TIMES(fun(l, OP_FLOOR, build_div(l->b, X, Y)))) : v;
}
/* r = x^y: by x, y x^(y-1), 0 where y is 0; by y, r log x, 0 where x is 0 and y >= 0. */
static Value *power(const Linear *l, int k, Value *v, Value *y) {
  double c;
  const bool plain_y = value_is_float_const(y, &c) && c != 0 && isfinite(c);
  if (k == 0)
    return TIMES(build_binary(l->b, plain_y ? OP_MUL : OP_MULZ, y, build_pow_below(l->b, X, y, R)));
  Value *plain = build_binary(l->b, OP_MULZ, R, fun(l, OP_LOG, X));
  Value *at_zero = test(l, OP_AND, test(l, OP_EQ, X, zero(l)), test(l, OP_LE, zero(l), y));
  return TIMES(build_select(l->b, at_zero, zero(l), plain));
}
RULE(POW) {
  return power(l, k, v, Y);
}
RULE(POW_BELOW) {
  return k == 2 ? NULL : power(l, k, v, sub(l, Y, ONE));
}
/* Scaled by the hypotenuse, so that tiny and huge arguments neither underflow nor overflow; 0 at the origin. */
RULE(ATAN2) {
  Value *r = build_binary(l->b, OP_HYPOT, X, Y);
  Value *unit = ratio(l, k ? X : Y, r);
  Value *t = TIMES(build_binary(l->b, OP_DIVZ, unit, r));
  return k ? neg(l, t) : t;
}
RULE(HYPOT) {
  return TIMES(ratio(l, k ? Y : X, R));
}
/* The winner takes all, a tie is shared equally. */
static Value *winner(const Linear *l, Value *wins, Value *v) {
  Value *half = mul(l, v, number(l, 0.5));
  return build_select(l->b, wins, v, build_select(l->b, test(l, OP_EQ, X, Y), half, zero(l)));
}
RULE(MIN) {
  return winner(l, k ? test(l, OP_LT, Y, X) : test(l, OP_LT, X, Y), v);
}
RULE(MAX) {
  return winner(l, k ? test(l, OP_LT, X, Y) : test(l, OP_LT, Y, X), v);
}
RULE(ATTACH) {
  (void)l;
  return k ? v : NULL;
}
RULE(SELECT) {
  if (k == 0)
    return NULL;
  return k == 1 ? build_select(l->b, X, v, zero(l)) : build_select(l->b, X, zero(l), v);
}

typedef Value *LinearRule(const Linear *l, int k, Value *v);
#define ROW_ELEM(code) [OP_##code] = linear_##code,
#define ROW_TENSOR(code)
#define ROW_FLOW(code)
static LinearRule *const rules[OP_COUNT] = {
#define OP(code, name, group, arity, result, effect, reads) ROW_##group(code)
#include "ir/ops.def"
#undef OP
};

Value *linear_apply(Builder *b, const Op *op, int k, Value *v, Incoming incoming) {
  if (!kind_is_float(op->operands[k]->type.kind) || !kind_is_float(op->results[0]->type.kind))
    return NULL;
  if (!rules[op->code])
    internal_error("'%s' is no scalar operation", op_info[op->code].name);
  const Linear l = {.b = b, .op = op, .kind = op->results[0]->type.kind, .incoming = incoming};
  return rules[op->code](&l, k, v);
}
