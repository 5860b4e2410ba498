/* Ranges of values: see codegen/work_range.h. */
#include "codegen/work_range.h"
#include "ir/build.h"

#include <math.h>

enum { DEEPEST = 200 };

static Ends value_at(Ranges *r, const Value *v, int depth);
static Ends size_at(Ranges *r, const Size *s, int depth);

/* ---- arithmetic */
static LLVMValueRef two(Ranges *r, const char *name, LLVMValueRef x, LLVMValueRef y) {
  LLVMTypeRef type = LLVMTypeOf(x);
  LLVMValueRef args[] = {x, y};
  return call_intrinsic(r->body, name, 1, &type, 2, args);
}

static LLVMValueRef number(const Ranges *r, int64_t x) {
  return const_i64(r->body->unit, x);
}

static bool constant(LLVMValueRef x, int64_t *out) {
  if (!LLVMIsAConstantInt(x))
    return false;
  *out = LLVMConstIntGetSExtValue(x);
  return true;
}

LLVMValueRef ends_larger(Ranges *r, LLVMValueRef x, LLVMValueRef y) {
  int64_t p, q;
  return constant(x, &p) && constant(y, &q) ? number(r, p > q ? p : q) : two(r, "llvm.smax", x, y);
}

static LLVMValueRef lesser(Ranges *r, LLVMValueRef x, LLVMValueRef y) {
  int64_t p, q;
  return constant(x, &p) && constant(y, &q) ? number(r, p < q ? p : q) : two(r, "llvm.smin", x, y);
}

static LLVMValueRef is(Ranges *r, LLVMValueRef x, int64_t y) {
  return LLVMBuildICmp(r->body->at, LLVMIntEQ, x, number(r, y), "");
}

static LLVMValueRef choose(Ranges *r, LLVMValueRef c, LLVMValueRef x, LLVMValueRef y) {
  return LLVMBuildSelect(r->body->at, c, x, y, "");
}

/* x and y through an operation that says whether it has overflowed; where it has, the end of the sign. */
typedef struct Wide {
  LLVMValueRef result, overflows, end;
} Wide;
static Wide wide(Ranges *r, const char *intrinsic, LLVMValueRef *args, LLVMValueRef signs) {
  Body *b = r->body;
  LLVMValueRef pair = call_intrinsic(b, intrinsic, 1, &b->unit->i64, 2, args);
  LLVMValueRef below = LLVMBuildICmp(b->at, LLVMIntSLT, signs, number(r, 0), "");
  return (Wide){LLVMBuildExtractValue(b->at, pair, 0, ""), LLVMBuildExtractValue(b->at, pair, 1, ""),
                choose(r, below, number(r, INT64_MIN), number(r, INT64_MAX))};
}

/* What is infinite stays so. */
LLVMValueRef ends_plus(Ranges *r, LLVMValueRef x, LLVMValueRef y) {
  int64_t p, q, sum;
  if (constant(x, &p) && constant(y, &q) && !__builtin_add_overflow(p, q, &sum))
    return number(r, sum);
  LLVMValueRef args[] = {x, y};
  const Wide w = wide(r, "llvm.sadd.with.overflow", args, x);
  LLVMValueRef s = choose(r, w.overflows, w.end, w.result);
  for (int i = 0; i < 2; i++) {
    if (constant(args[i], &p) && p != INT64_MAX && p != INT64_MIN)
      continue;
    s = choose(r, is(r, args[i], INT64_MAX), number(r, INT64_MAX), s);
    s = choose(r, is(r, args[i], INT64_MIN), number(r, INT64_MIN), s);
  }
  return s;
}

static LLVMValueRef negative(Ranges *r, LLVMValueRef x) {
  int64_t p;
  if (constant(x, &p) && p != INT64_MIN && p != INT64_MAX)
    return number(r, -p);
  LLVMValueRef n = choose(r, is(r, x, INT64_MIN), number(r, INT64_MAX), LLVMBuildNeg(r->body->at, x, ""));
  return choose(r, is(r, x, INT64_MAX), number(r, INT64_MIN), n);
}

LLVMValueRef ends_times(Ranges *r, LLVMValueRef x, LLVMValueRef y) {
  int64_t p, q, product;
  if (constant(x, &p) && constant(y, &q) && !__builtin_mul_overflow(p, q, &product))
    return number(r, product);
  Body *b = r->body;
  LLVMValueRef args[] = {x, y};
  const Wide w = wide(r, "llvm.smul.with.overflow", args, LLVMBuildXor(b->at, x, y, ""));
  LLVMValueRef infinite = w.overflows;
  for (int i = 0; i < 2; i++) {
    LLVMValueRef end = LLVMBuildOr(b->at, is(r, args[i], INT64_MAX), is(r, args[i], INT64_MIN), "");
    LLVMValueRef other = LLVMBuildNot(b->at, is(r, args[1 - i], 0), "");
    infinite = LLVMBuildOr(b->at, infinite, LLVMBuildAnd(b->at, end, other, ""), "");
  }
  return choose(r, infinite, w.end, w.result);
}

static Ends joined(Ranges *r, Ends x, Ends y) {
  return (Ends){lesser(r, x.lo, y.lo), ends_larger(r, x.hi, y.hi)};
}

static bool nonnegative(LLVMValueRef x) {
  int64_t p;
  return constant(x, &p) && p >= 0;
}

static Ends product(Ranges *r, Ends x, Ends y) {
  if (nonnegative(x.lo) && nonnegative(y.lo))
    return (Ends){ends_times(r, x.lo, y.lo), ends_times(r, x.hi, y.hi)};
  LLVMValueRef p = ends_times(r, x.lo, y.lo), q = ends_times(r, x.lo, y.hi), s = ends_times(r, x.hi, y.lo),
               t = ends_times(r, x.hi, y.hi);
  return (Ends){lesser(r, lesser(r, p, q), lesser(r, s, t)),
                ends_larger(r, ends_larger(r, p, q), ends_larger(r, s, t))};
}

static Ends between(LLVMValueRef lo, LLVMValueRef hi) {
  return (Ends){lo, hi};
}

/* No larger than x, and of either sign. */
static Ends magnitude(Ranges *r, Ends x) {
  LLVMValueRef most = ends_larger(r, ends_larger(r, x.hi, negative(r, x.lo)), number(r, 0));
  return between(nonnegative(x.lo) ? number(r, 0) : negative(r, most), most);
}

/* x / y for y of 1 or more, rounded down or towards zero. */
static LLVMValueRef quotient(Ranges *r, LLVMValueRef x, LLVMValueRef y, bool down) {
  Body *b = r->body;
  LLVMValueRef q = LLVMBuildSDiv(b->at, x, y, "");
  if (down) {
    LLVMValueRef rest = LLVMBuildICmp(b->at, LLVMIntSLT, LLVMBuildSRem(b->at, x, y, ""), number(r, 0), "");
    q = LLVMBuildSub(b->at, q, LLVMBuildZExt(b->at, rest, b->unit->i64, ""), "");
  }
  q = choose(r, is(r, x, INT64_MAX), x, q);
  return choose(r, is(r, x, INT64_MIN), x, q);
}

/* Divisors that may be negative make it no larger than the dividend. */
static Ends quotients(Ranges *r, Ends x, Ends y, bool down) {
  Body *b = r->body;
  LLVMValueRef one = number(r, 1), least = ends_larger(r, y.lo, one), most = ends_larger(r, y.hi, one);
  const Ends wide = magnitude(r, x);
  const Ends narrow = {lesser(r, quotient(r, x.lo, least, down), quotient(r, x.lo, most, down)),
                       ends_larger(r, quotient(r, x.hi, least, down), quotient(r, x.hi, most, down))};
  int64_t p;
  if (constant(y.lo, &p) && p >= 1)
    return narrow;
  LLVMValueRef positive = LLVMBuildICmp(b->at, LLVMIntSGT, y.lo, number(r, 0), "");
  LLVMValueRef below = down ? ends_plus(r, negative(r, wide.hi), number(r, -1)) : wide.lo;
  return between(choose(r, positive, narrow.lo, below), choose(r, positive, narrow.hi, wide.hi));
}

/* ---- sizes */
/* ceil(T / S) where S = max(1, ceil(sqrt(T))), or max(1, ceil(T / k)): the segments of a loop that keeps few states.
   There are at most S of them, or k, which the ends of T and S apart do not tell. */
static bool segments(Ranges *r, const Atom *a, int depth, LLVMValueRef *most) {
  Module *m = r->body->unit->module;
  const Term *t = a->den->nterms == 1 ? a->den->terms : NULL;
  const Value *steps =
      t && t->coefficient == 1 && t->npowers == 1 && t->powers->exponent == 1 ? t->powers->atom->value : NULL;
  if (!steps || !steps->def || steps->def->code != OP_MAX)
    return false;
  const Size *trips = size_add(m, size_sub(m, a->num, a->den), size_const(m, 1));
  for (int i = 0; i < 2; i++) {
    int64_t one;
    const Value *length = steps->def->operands[i];
    if (!value_is_int_const(steps->def->operands[1 - i], &one) || one != 1 || !length->def)
      continue;
    const Op *root = length->def;
    for (int k = 0; k < 3 && root; k++)
      root = root->code == (k == 0 ? OP_CAST : k == 1 ? OP_CEIL : OP_SQRT) ? root->operands[0]->def : NULL;
    if (root && root->code == OP_CAST && size_of_value(m, root->operands[0]) == trips) {
      *most = value_at(r, steps, depth).hi;
      return true;
    }
    const Size *s = size_of_value(m, (Value *)(uintptr_t)length);
    const Atom *up =
        s->nterms == 1 && s->terms->coefficient == 1 && s->terms->npowers == 1 && s->terms->powers->exponent == 1
            ? s->terms->powers->atom
            : NULL;
    int64_t states;
    if (up && !up->value && size_is_const(up->den, &states) && states > 0 &&
        up->num == size_add(m, trips, size_const(m, states - 1))) {
      *most = number(r, states);
      return true;
    }
  }
  return false;
}

static Ends atom_at(Ranges *r, const Atom *a, int depth) {
  if (a->value)
    return value_at(r, a->value, depth);
  const Ends num = size_at(r, a->num, depth), den = size_at(r, a->den, depth);
  if (a->kind == ATOM_MIN)
    return between(lesser(r, num.lo, den.lo), lesser(r, num.hi, den.hi));
  if (a->kind == ATOM_MAX)
    return between(ends_larger(r, num.lo, den.lo), ends_larger(r, num.hi, den.hi));
  Ends q = quotients(r, num, den, true);
  LLVMValueRef most;
  if (segments(r, a, depth, &most))
    q.hi = lesser(r, q.hi, most);
  return q;
}

static Ends size_at(Ranges *r, const Size *s, int depth) {
  Ends sum = between(number(r, 0), number(r, 0));
  if (s->overflow || depth > DEEPEST)
    return ends_unknown(r, KIND_I64);
  for (int i = 0; i < s->nterms; i++) {
    const Term *t = &s->terms[i];
    Ends x = between(number(r, t->coefficient), number(r, t->coefficient));
    for (int j = 0; j < t->npowers; j++) {
      const Ends factor = atom_at(r, t->powers[j].atom, depth + 1);
      for (int k = 0; k < t->powers[j].exponent; k++)
        x = product(r, x, factor);
    }
    sum = between(ends_plus(r, sum.lo, x.lo), ends_plus(r, sum.hi, x.hi));
  }
  return sum;
}

/* The largest of sizes in which no index occurs is nearer than what the ends of indices give one by one. */
Ends ends_of_size(Ranges *r, const Size *s) {
  Bound bound;
  Ends x = size_at(r, s, 0);
  if (!need_bound(r->body->unit->module, s, &bound))
    return x;
  LLVMValueRef most = number(r, 0);
  for (int i = 0; i < bound.n; i++)
    most = ends_larger(r, most, size_at(r, bound.choices[i], 0).hi);
  return between(x.lo, lesser(r, x.hi, most));
}

/* ---- floats */
static LLVMValueRef to_float(Ranges *r, LLVMValueRef x) {
  Unit *u = r->body->unit;
  LLVMValueRef f = LLVMBuildSIToFP(r->body->at, x, u->f64, "");
  f = choose(r, is(r, x, INT64_MAX), LLVMConstReal(u->f64, (double)INFINITY), f);
  return choose(r, is(r, x, INT64_MIN), LLVMConstReal(u->f64, -(double)INFINITY), f);
}

static LLVMValueRef to_int(Ranges *r, LLVMValueRef x) {
  LLVMTypeRef types[] = {r->body->unit->i64, r->body->unit->f64};
  return call_intrinsic(r->body, "llvm.fptosi.sat", 2, types, 1, &x);
}

static LLVMValueRef not_below_zero(Ranges *r, LLVMValueRef x) {
  LLVMValueRef zero = LLVMConstReal(r->body->unit->f64, 0);
  return choose(r, LLVMBuildFCmp(r->body->at, LLVMRealOGT, x, zero, ""), x, zero);
}

/* Of two numbers; what is inf - inf, or 0 * inf, has no bound. */
static Ends floats_at(Ranges *r, const Op *op, Ends x, Ends y) {
  LLVMBuilderRef at = r->body->at;
  const Ends none = ends_unknown(r, KIND_F64);
  LLVMValueRef lo, hi;
  if (op->code == OP_MUL) {
    LLVMValueRef zero = LLVMConstReal(r->body->unit->f64, 0);
    LLVMValueRef positive = LLVMBuildAnd(at, LLVMBuildFCmp(at, LLVMRealOGE, x.lo, zero, ""),
                                         LLVMBuildFCmp(at, LLVMRealOGE, y.lo, zero, ""), "");
    lo = choose(r, positive, LLVMBuildFMul(at, x.lo, y.lo, ""), none.lo);
    hi = choose(r, positive, LLVMBuildFMul(at, x.hi, y.hi, ""), none.hi);
  } else {
    const bool adds = op->code == OP_ADD;
    lo = adds ? LLVMBuildFAdd(at, x.lo, y.lo, "") : LLVMBuildFSub(at, x.lo, y.hi, "");
    hi = adds ? LLVMBuildFAdd(at, x.hi, y.hi, "") : LLVMBuildFSub(at, x.hi, y.lo, "");
  }
  lo = choose(r, LLVMBuildFCmp(at, LLVMRealUNO, lo, lo, ""), none.lo, lo);
  return between(lo, choose(r, LLVMBuildFCmp(at, LLVMRealUNO, hi, hi, ""), none.hi, hi));
}

static Ends float_at(Ranges *r, const Op *op, int depth) {
  Unit *u = r->body->unit;
  LLVMTypeRef type = u->f64;
  const Ends x = op->noperands ? value_at(r, op->operands[0], depth) : ends_unknown(r, KIND_F64);
  const char *name = op->code == OP_CEIL    ? "llvm.ceil"
                     : op->code == OP_FLOOR ? "llvm.floor"
                     : op->code == OP_TRUNC ? "llvm.trunc"
                     : op->code == OP_ROUND ? "llvm.rint"
                     : op->code == OP_SQRT  ? "llvm.sqrt"
                                            : NULL;
  LLVMValueRef lo = x.lo, hi = x.hi;
  switch (op->code) {
  case OP_CONST: return between(LLVMConstReal(type, op->at.f), LLVMConstReal(type, op->at.f));
  case OP_CAST:
    if (kind_is_float(op->operands[0]->type.kind))
      return op->operands[0]->type.kind == KIND_F64 ? x : ends_unknown(r, KIND_F64);
    return between(to_float(r, x.lo), to_float(r, x.hi));
  case OP_NEG: return between(LLVMBuildFNeg(r->body->at, x.hi, ""), LLVMBuildFNeg(r->body->at, x.lo, ""));
  case OP_ADD:
  case OP_SUB:
  case OP_MUL: return floats_at(r, op, x, value_at(r, op->operands[1], depth));
  case OP_SQRT:
    lo = not_below_zero(r, lo);
    hi = not_below_zero(r, hi);
    break;
  case OP_CEIL:
  case OP_FLOOR:
  case OP_TRUNC:
  case OP_ROUND: break;
  default: return ends_unknown(r, KIND_F64);
  }
  return between(call_intrinsic(r->body, name, 1, &type, 1, &lo), call_intrinsic(r->body, name, 1, &type, 1, &hi));
}

/* ---- integers */
/* An i32 that wraps around may be anything. */
static Ends fitted(Ranges *r, Kind kind, Ends x) {
  if (kind != KIND_I32)
    return x;
  Body *b = r->body;
  LLVMValueRef low = LLVMBuildICmp(b->at, LLVMIntSGE, x.lo, number(r, INT32_MIN), "");
  LLVMValueRef high = LLVMBuildICmp(b->at, LLVMIntSLE, x.hi, number(r, INT32_MAX), "");
  LLVMValueRef fits = LLVMBuildAnd(b->at, low, high, "");
  return between(choose(r, fits, x.lo, number(r, INT64_MIN)), choose(r, fits, x.hi, number(r, INT64_MAX)));
}

static Ends cast_at(Ranges *r, const Op *op, int depth) {
  const Kind from = op->operands[0]->type.kind, to = op->results[0]->type.kind;
  const Ends x = value_at(r, op->operands[0], depth);
  if (from == KIND_F32)
    return ends_unknown(r, to);
  if (from == KIND_F64) { /* NaN becomes 0 */
    const Ends whole = between(to_int(r, x.lo), to_int(r, x.hi));
    return fitted(r, to, joined(r, whole, between(number(r, 0), number(r, 0))));
  }
  return fitted(r, to, x);
}

static Ends int_at(Ranges *r, const Op *op, int depth) {
  const Ends none = ends_unknown(r, KIND_I64);
  LLVMValueRef zero = number(r, 0), one = number(r, 1);
  if (op->code == OP_CONST)
    return between(number(r, op->at.i), number(r, op->at.i));
  if (op->code == OP_CAST)
    return cast_at(r, op, depth);
  if (op->code == OP_SIZE)
    return size_at(r, op->at.size, depth);
  if (!op->noperands || !kind_is_int(op->operands[op->code == OP_SELECT]->type.kind))
    return none;
  const Ends x = value_at(r, op->operands[op->code == OP_SELECT], depth);
  if (op->code == OP_NEG)
    return between(negative(r, x.hi), negative(r, x.lo));
  if (op->code == OP_ABS)
    return between(zero, magnitude(r, x).hi);
  if (op->noperands < 2)
    return none;
  const Ends y = value_at(r, op->operands[1 + (op->code == OP_SELECT)], depth);
  switch (op->code) {
  case OP_ADD: return between(ends_plus(r, x.lo, y.lo), ends_plus(r, x.hi, y.hi));
  case OP_SUB: return between(ends_plus(r, x.lo, negative(r, y.hi)), ends_plus(r, x.hi, negative(r, y.lo)));
  case OP_MUL: return product(r, x, y);
  case OP_MIN: return between(lesser(r, x.lo, y.lo), lesser(r, x.hi, y.hi));
  case OP_MAX: return between(ends_larger(r, x.lo, y.lo), ends_larger(r, x.hi, y.hi));
  case OP_SELECT: return joined(r, x, y);
  case OP_DIV: return quotients(r, x, y, false);
  case OP_REM: /* of the sign of x, and less than y */ {
    const LLVMValueRef most = ends_larger(r, ends_plus(r, magnitude(r, y).hi, number(r, -1)), zero);
    return between(lesser(r, zero, ends_larger(r, x.lo, negative(r, most))),
                   ends_larger(r, zero, lesser(r, x.hi, most)));
  }
  case OP_MOD:
    return between(lesser(r, zero, ends_plus(r, y.lo, one)), ends_larger(r, zero, ends_plus(r, y.hi, number(r, -1))));
  default: return none;
  }
}

/* ---- what loops, branches and tensors hold */
static Ends index_at(Ranges *r, const Op *loop, int number_of, int depth) {
  LLVMValueRef zero = number(r, 0);
  const Ends extent = size_at(r, loop->at.loop->extents[number_of], depth);
  return between(zero, ends_larger(r, zero, ends_plus(r, extent.hi, number(r, -1))));
}

static Ends loop_result_at(Ranges *r, const Op *loop, int i, int depth) {
  const LoopInfo *info = loop->at.loop;
  const int out = i - info->ncarries - info->naccs;
  LLVMValueRef zero = number(r, 0), count = number(r, 1);
  if (out < 0)
    return ends_unknown(r, KIND_I64);
  const Ends term = value_at(r, loop->regions[0]->yields[info->ncarries + out], depth);
  switch (info->outs[out]) {
  case OUT_STACK: return term;
  case OUT_MAX: return between(number(r, INT64_MIN), term.hi);
  case OUT_MIN: return between(term.lo, number(r, INT64_MAX));
  case OUT_SUM:
    for (int k = 0; k < info->nindices; k++)
      count = ends_times(r, count, ends_larger(r, zero, size_at(r, info->extents[k], depth).hi));
    return between(ends_times(r, lesser(r, zero, term.lo), count), ends_times(r, ends_larger(r, zero, term.hi), count));
  default: return ends_unknown(r, KIND_I64);
  }
}

static Ends flow_at(Ranges *r, const Value *v, int depth) {
  const Op *op = v->def;
  switch (op->code) {
  case OP_LOOP: return loop_result_at(r, op, v->index, depth);
  case OP_IF:
    return joined(r, value_at(r, op->regions[0]->yields[v->index], depth),
                  value_at(r, op->regions[1]->yields[v->index], depth));
  case OP_FULL:
  case OP_INDEX:
  case OP_RESHAPE:
  case OP_ATTACH: return value_at(r, op->operands[0], depth);
  case OP_UPDATE: return joined(r, value_at(r, op->operands[0], depth), value_at(r, op->operands[1], depth));
  default: return v->type.rank ? ends_unknown(r, KIND_I64) : int_at(r, op, depth);
  }
}

Ends ends_unknown(const Ranges *r, Kind kind) {
  Unit *u = r->body->unit;
  if (kind_is_float(kind))
    return between(LLVMConstReal(u->f64, -(double)INFINITY), LLVMConstReal(u->f64, (double)INFINITY));
  return between(number(r, INT64_MIN), number(r, INT64_MAX));
}

static Ends find_ends(Ranges *r, const Value *v, int depth) {
  const Kind kind = v->type.kind;
  const Op *owner = v->def ? NULL : v->region->owner;
  if (kind == KIND_BOOL)
    return between(number(r, 0), number(r, 1));
  if (depth > DEEPEST || kind == KIND_F32)
    return ends_unknown(r, kind);
  if (owner) {
    const bool is_index = owner->code == OP_LOOP && v->index < owner->at.loop->nindices;
    return is_index ? index_at(r, owner, v->index, depth + 1) : ends_unknown(r, kind);
  }
  if (!v->def)
    return !v->type.rank && kind_is_int(kind) && r->params[v->index].lo ? r->params[v->index] : ends_unknown(r, kind);
  if (kind == KIND_F64)
    return v->type.rank ? ends_unknown(r, kind) : float_at(r, v->def, depth + 1);
  return fitted(r, kind, flow_at(r, v, depth + 1));
}

static Ends value_at(Ranges *r, const Value *v, int depth) {
  ValueNote *note = note_of(v);
  if (note && note->lo && note->ends_code == r->body->code)
    return between(note->lo, note->hi);
  const Ends x = find_ends(r, v, depth);
  if (note) {
    note->lo = x.lo;
    note->hi = x.hi;
    note->ends_code = r->body->code;
  }
  return x;
}

Ends ends_of_value(Ranges *r, const Value *v) {
  return value_at(r, v, 0);
}
