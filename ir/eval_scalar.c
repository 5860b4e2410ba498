/* The reference evaluator: scalar operations, one function each, as ir/ops.def says.
   f32 is computed by the float functions of libm, integers in 64 bits and then cut to their kind, which is what
   wrapping means. */
#define _GNU_SOURCE
#include "ir/eval_internal.h"
#include <math.h>

static float as_f32(const Array *a) {
  return *(const float *)a->data;
}
static double as_f64(const Array *a) {
  return *(const double *)a->data;
}
static int64_t as_int(const Array *a) {
  return array_int(a, 0);
}
static bool is_f32(const Array *a) {
  return a->kind == KIND_F32;
}
static bool is_float(const Array *a) {
  return kind_is_float(a->kind);
}

#define OPERANDS_1 \
  const Array *p = eval_operand(frame, op, 0); \
  const Value *r = op->results[0];
#define OPERANDS_2 OPERANDS_1 const Array *q = eval_operand(frame, op, 1);

/* float x, or double x: an expression for each. */
#define FLOAT_1(code, f32_value, f64_value) \
  bool eval_##code(Frame *frame, const Op *op) { \
    OPERANDS_1 \
    if (is_f32(p)) { \
      const float x = as_f32(p); \
      eval_bind_float(frame, r, (double)(f32_value)); \
    } else { \
      const double x = as_f64(p); \
      eval_bind_float(frame, r, (f64_value)); \
    } \
    return true; \
  }
#define FLOAT_2(code, f32_value, f64_value) \
  bool eval_##code(Frame *frame, const Op *op) { \
    OPERANDS_2 \
    if (is_f32(p)) { \
      const float x = as_f32(p), y = as_f32(q); \
      eval_bind_float(frame, r, (double)(f32_value)); \
    } else { \
      const double x = as_f64(p), y = as_f64(q); \
      eval_bind_float(frame, r, (f64_value)); \
    } \
    return true; \
  }
/* Integers too: the value is uint64_t or int64_t. */
#define NUMBER_1(code, f32_value, f64_value, int_value) \
  bool eval_##code(Frame *frame, const Op *op) { \
    OPERANDS_1 \
    if (is_f32(p)) { \
      const float x = as_f32(p); \
      eval_bind_float(frame, r, (double)(f32_value)); \
    } else if (is_float(p)) { \
      const double x = as_f64(p); \
      eval_bind_float(frame, r, (f64_value)); \
    } else { \
      const int64_t x = as_int(p); \
      eval_bind_int(frame, r, (int64_t)(int_value)); \
    } \
    return true; \
  }
#define NUMBER_2(code, f32_value, f64_value, int_value) \
  bool eval_##code(Frame *frame, const Op *op) { \
    OPERANDS_2 \
    if (is_f32(p)) { \
      const float x = as_f32(p), y = as_f32(q); \
      eval_bind_float(frame, r, (double)(f32_value)); \
    } else if (is_float(p)) { \
      const double x = as_f64(p), y = as_f64(q); \
      eval_bind_float(frame, r, (f64_value)); \
    } else { \
      const int64_t x = as_int(p), y = as_int(q); \
      eval_bind_int(frame, r, (int64_t)(int_value)); \
    } \
    return true; \
  }
#define COMPARE(code, operator) \
  bool eval_##code(Frame *frame, const Op *op) { \
    OPERANDS_2 \
    eval_bind_int(frame, r, \
                  is_float(p) ? array_float(p, 0) operator array_float(q, 0) : as_int(p) operator as_int(q)); \
    return true; \
  }
#define U(x) ((uint64_t)(x))

/* ---- one operand */
NUMBER_1(NEG, -x, -x, 0 - U(x))
NUMBER_1(ABS, fabsf(x), fabs(x), x < 0 ? 0 - U(x) : U(x))
NUMBER_1(SIGN, isnan(x) ? x : (float)((x > 0) - (x < 0)), isnan(x) ? x : (double)((x > 0) - (x < 0)), (x > 0) - (x < 0))
FLOAT_1(SQRT, sqrtf(x), sqrt(x))
FLOAT_1(CBRT, cbrtf(x), cbrt(x))
FLOAT_1(EXP, expf(x), exp(x))
FLOAT_1(EXP2, exp2f(x), exp2(x))
FLOAT_1(EXPM1, expm1f(x), expm1(x))
FLOAT_1(LOG, logf(x), log(x))
FLOAT_1(LOG2, log2f(x), log2(x))
FLOAT_1(LOG10, log10f(x), log10(x))
FLOAT_1(LOG1P, log1pf(x), log1p(x))
FLOAT_1(SIN, sinf(x), sin(x))
FLOAT_1(COS, cosf(x), cos(x))
FLOAT_1(TAN, tanf(x), tan(x))
FLOAT_1(ASIN, asinf(x), asin(x))
FLOAT_1(ACOS, acosf(x), acos(x))
FLOAT_1(ATAN, atanf(x), atan(x))
FLOAT_1(SINH, sinhf(x), sinh(x))
FLOAT_1(COSH, coshf(x), cosh(x))
FLOAT_1(TANH, tanhf(x), tanh(x))
FLOAT_1(ASINH, asinhf(x), asinh(x))
FLOAT_1(ACOSH, acoshf(x), acosh(x))
FLOAT_1(ATANH, atanhf(x), atanh(x))
FLOAT_1(ERF, erff(x), erf(x))
FLOAT_1(ERFC, erfcf(x), erfc(x))
FLOAT_1(LGAMMA, eval_lgamma((double)x), eval_lgamma(x))
FLOAT_1(POLYGAMMA, eval_polygamma(op->at.i, (double)x), eval_polygamma(op->at.i, x))
FLOAT_1(FLOOR, floorf(x), floor(x))
FLOAT_1(CEIL, ceilf(x), ceil(x))
FLOAT_1(ROUND, rintf(x), rint(x))
FLOAT_1(TRUNC, truncf(x), trunc(x))

/* Neither side overflows. */
static double sigmoid(double x) {
  return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x));
}
static double softplus(double x) {
  return (x > 0 ? x : 0) + log1p(exp(-fabs(x)));
}
FLOAT_1(SIGMOID, sigmoid((double)x), sigmoid(x))
FLOAT_1(SOFTPLUS, softplus((double)x), softplus(x))

/* pow() with the parity of exponents that a double cannot hold. */
static double power(double x, int64_t n) {
  const double size = pow(fabs(x), (double)n);
  return n % 2 != 0 && signbit(x) ? -size : size;
}
FLOAT_1(POWI, power((double)x, op->at.i), power(x, op->at.i))

bool eval_NOT(Frame *frame, const Op *op) {
  OPERANDS_1
  eval_bind_int(frame, r, !as_int(p));
  return true;
}

bool eval_ISNAN(Frame *frame, const Op *op) {
  OPERANDS_1
  eval_bind_int(frame, r, isnan(array_float(p, 0)) != 0);
  return true;
}

bool eval_ISFINITE(Frame *frame, const Op *op) {
  OPERANDS_1
  eval_bind_int(frame, r, isfinite(array_float(p, 0)) != 0);
  return true;
}

static int64_t saturate(double x, Kind k) {
  const double low = k == KIND_I32 ? -0x1p31 : -0x1p63;
  if (isnan(x))
    return 0;
  if (x >= -low)
    return k == KIND_I32 ? INT32_MAX : INT64_MAX;
  return x <= low ? (k == KIND_I32 ? INT32_MIN : INT64_MIN) : (int64_t)x;
}

bool eval_CAST(Frame *frame, const Op *op) {
  OPERANDS_1
  const Kind to = r->type.kind;
  if (kind_is_float(to) && !is_float(p) && to == KIND_F32)
    eval_bind_float(frame, r, (double)(float)as_int(p)); /* rounded once */
  else if (kind_is_float(to))
    eval_bind_float(frame, r, array_float(p, 0));
  else if (to == KIND_BOOL && is_float(p))
    eval_bind_int(frame, r, array_float(p, 0) != 0);
  else
    eval_bind_int(frame, r, is_float(p) ? saturate(array_float(p, 0), to) : as_int(p));
  return true;
}

/* ---- two operands */
NUMBER_2(ADD, x + y, x + y, U(x) + U(y))
NUMBER_2(SUB, x - y, x - y, U(x) - U(y))
NUMBER_2(MUL, (x * y), (x * y), U(x) * U(y))
FLOAT_2(POW, powf(x, y), pow(x, y))
FLOAT_2(ATAN2, atan2f(x, y), atan2(x, y))
FLOAT_2(HYPOT, hypotf(x, y), hypot(x, y))
NUMBER_2(MIN, isnan(x) ? x : isnan(y) || y < x ? y : x, isnan(x) ? x : isnan(y) || y < x ? y : x, x < y ? x : y)
NUMBER_2(MAX, isnan(x) ? x : isnan(y) || y > x ? y : x, isnan(x) ? x : isnan(y) || y > x ? y : x, x > y ? x : y)
FLOAT_2(MULZ, x == 0 || y == 0 ? 0 : x * y, x == 0 || y == 0 ? 0 : x * y)
FLOAT_2(DIVZ, x == 0 ? 0 : x / y, x == 0 ? 0 : x / y)
COMPARE(LT, <)
COMPARE(LE, <=)
COMPARE(EQ, ==)
COMPARE(NE, !=)

#define LOGIC(code, operator) \
  bool eval_##code(Frame *frame, const Op *op) { \
    OPERANDS_2 \
    eval_bind_int(frame, r, as_int(p) operator as_int(q)); \
    return true; \
  }
LOGIC(AND, &)
LOGIC(OR, |)

static bool divisible(Frame *frame, const Op *op, const Array *p, const Array *q) {
  const int64_t x = as_int(p), y = as_int(q);
  if (y == 0)
    return eval_fail(frame, op->loc, EVAL_REQUIRE, "division by zero");
  if (y == -1 && x == (p->kind == KIND_I32 ? INT32_MIN : INT64_MIN))
    return eval_fail(frame, op->loc, EVAL_REQUIRE, "an integer division overflows");
  return true;
}

/* The sign of b; x = fmod(a, b). */
static double mod(double x, double b) {
  return x == 0 ? copysign(0, b) : (x < 0) != (b < 0) ? x + b : x;
}
static float mod_f32(float x, float b) {
  return x == 0 ? copysignf(0, b) : (x < 0) != (b < 0) ? x + b : x;
}
static int64_t mod_int(int64_t x, int64_t b) {
  return x != 0 && (x < 0) != (b < 0) ? x + b : x;
}

/* Integer divisions may fail. */
#define DIVISION(code, f32_value, f64_value, int_value) \
  static NUMBER_2(unchecked_##code, f32_value, f64_value, int_value) bool eval_##code(Frame *frame, const Op *op) { \
    const Array *p = eval_operand(frame, op, 0); \
    return (is_float(p) || divisible(frame, op, p, eval_operand(frame, op, 1))) && eval_unchecked_##code(frame, op); \
  }
DIVISION(DIV, x / y, x / y, x / y)
DIVISION(REM, fmodf(x, y), fmod(x, y), x % y)
DIVISION(MOD, mod_f32(fmodf(x, y), y), mod(fmod(x, y), y), mod_int(x % y, y))

bool eval_ATTACH(Frame *frame, const Op *op) {
  eval_bind(frame, op->results[0], eval_operand(frame, op, 0));
  return true;
}

bool eval_POW_BELOW(Frame *frame, const Op *op) {
  const Array *p = eval_operand(frame, op, 0);
  const double x = array_float(p, 0), y = array_float(eval_operand(frame, op, 1), 0);
  const double r = array_float(eval_operand(frame, op, 2), 0);
  const bool middling = fabs(r) >= 0x1p-100 && fabs(r) <= 0x1p100;
  if (is_f32(p))
    eval_bind_float(frame, op->results[0], (double)(middling ? (float)r / (float)x : powf((float)x, (float)y - 1)));
  else
    eval_bind_float(frame, op->results[0], middling ? r / x : pow(x, y - 1));
  return true;
}

bool eval_SELECT(Frame *frame, const Op *op) {
  eval_bind(frame, op->results[0], eval_operand(frame, op, as_int(eval_operand(frame, op, 0)) ? 1 : 2));
  return true;
}
