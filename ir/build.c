/* The builder: makes operations, folds them, shares equal ones.
   Sharing: each region has a hash table of its pure and checked operations; a request is looked up in the region and in
   those around it, all of which are executed before what is being made. */
#include "ir/build.h"
#include "ir/fold.h"
#include "ir/raw.h"
#include <math.h>
#include <string.h>

struct CseTable {
  Op **slots;
  size_t n, cap; /* cap: a power of two */
};

Builder build_into(Func *f, Region *r) {
  return (Builder){.module = f->module, .func = f, .region = r};
}

/* ---- sharing */
static uint64_t mix(uint64_t h, uint64_t x) {
  h ^= x + 0x9e3779b97f4a7c15u + (h << 6) + (h >> 2);
  h *= 0xff51afd7ed558ccdu;
  return h ^ h >> 32; /* the tables look at the low bits, which are zero in many floats and in all pointers */
}

static uint64_t attribute_bits(const Op *op) {
  uint64_t bits = 0;
  switch (op->code) {
  case OP_CONST:
    if (kind_is_float(op->results[0]->type.kind))
      memcpy(&bits, &op->at.f, sizeof bits);
    else
      bits = (uint64_t)op->at.i;
    return bits;
  case OP_SIZE: return (uint64_t)(uintptr_t)op->at.size;
  case OP_CALL: return (uint64_t)(uintptr_t)op->at.callee;
  case OP_POLYGAMMA:
  case OP_POWI: return (uint64_t)op->at.i;
  default: return 0; /* checks are not part of what an index is: see same_op */
  }
}

static bool commutes(Opcode op) {
  return op == OP_ADD || op == OP_MUL || op == OP_MULZ || op == OP_HYPOT || op == OP_MIN || op == OP_MAX ||
         op == OP_EQ || op == OP_NE || op == OP_AND || op == OP_OR;
}

static uint64_t hash_op(const Op *op) {
  uint64_t h = mix((uint64_t)op->code, attribute_bits(op));
  if (commutes(op->code)) {
    h = mix(h, mix(0, (uint64_t)(uintptr_t)op->operands[0]) + mix(0, (uint64_t)(uintptr_t)op->operands[1]));
  } else {
    for (int i = 0; i < op->noperands; i++)
      h = mix(h, (uint64_t)(uintptr_t)op->operands[i]);
  }
  const Type t = op->results[0]->type;
  h = mix(h, (uint64_t)t.kind);
  for (int i = 0; i < t.rank; i++)
    h = mix(h, (uint64_t)(uintptr_t)t.dims[i]);
  return h;
}

static bool same_op(const Op *a, const Op *b) {
  if (a->code != b->code || a->noperands != b->noperands || attribute_bits(a) != attribute_bits(b) ||
      !type_equal(a->results[0]->type, b->results[0]->type))
    return false;
  if (commutes(a->code) && a->operands[0] == b->operands[1] && a->operands[1] == b->operands[0])
    return true;
  for (int i = 0; i < a->noperands; i++)
    if (a->operands[i] != b->operands[i])
      return false;
  /* An earlier index that tests at least as much stands for a later one. */
  const bool checked = a->code == OP_INDEX || a->code == OP_UPDATE;
  return !checked || (b->at.checks & ~a->at.checks) == 0;
}

static Op *table_find(const struct CseTable *t, const Op *op, uint64_t h) {
  if (!t || !t->cap)
    return NULL;
  for (size_t i = h & (t->cap - 1); t->slots[i]; i = (i + 1) & (t->cap - 1))
    if (same_op(t->slots[i], op))
      return t->slots[i];
  return NULL;
}

static void table_add(Arena *a, struct CseTable *t, Op *op) {
  if (2 * (t->n + 1) > t->cap) {
    struct CseTable bigger = {.cap = t->cap ? t->cap * 2 : 16};
    bigger.slots = NEW_ARRAY(a, Op *, bigger.cap);
    for (size_t i = 0; i < t->cap; i++)
      if (t->slots[i])
        table_add(a, &bigger, t->slots[i]);
    *t = bigger;
  }
  size_t i = hash_op(op) & (t->cap - 1);
  while (t->slots[i])
    i = (i + 1) & (t->cap - 1);
  t->slots[i] = op;
  t->n++;
}

/* The operation in place, or an equal one made before. */
Op *op_shared(Builder *b, Op *op) {
  op->loc = b->loc;
  op->origin = b->origin;
  const uint64_t h = hash_op(op);
  for (Region *r = b->region; r; r = r->owner ? r->owner->parent : NULL) {
    Op *same = table_find(r->cse, op, h);
    if (same)
      return same;
    if (r == b->share_top)
      break;
  }
  region_append(b->region, op);
  if (!b->region->cse)
    b->region->cse = NEW(b->module->arena, struct CseTable);
  table_add(b->module->arena, b->region->cse, op);
  return op;
}

static Value *finish(Builder *b, Op *op) {
  return op_shared(b, op)->results[0];
}

static Op *begin_op(Builder *b, Opcode code, int n, Value *const *operands, Type result) {
  Op *op = op_new(b->module, code, n, 1, 0);
  for (int i = 0; i < n; i++)
    op->operands[i] = operands[i];
  op_set_result(b->module, op, 0, result, NULL);
  return op;
}

static void expect(bool ok, const char *what, Opcode op) {
  if (!ok)
    internal_error("ill-typed request to build '%s': %s", op_info[op].name, what);
}

/* ---- constants */
Value *build_float(Builder *b, Kind k, double v) {
  expect(kind_is_float(k), "not a float kind", OP_CONST);
  Op *op = begin_op(b, OP_CONST, 0, NULL, type_scalar(k));
  op->at.f = k == KIND_F32 ? (double)(float)v : v;
  return finish(b, op);
}

Value *build_int(Builder *b, Kind k, int64_t v) {
  expect(!kind_is_float(k), "not an integer kind", OP_CONST);
  Op *op = begin_op(b, OP_CONST, 0, NULL, type_scalar(k));
  op->at.i = k == KIND_BOOL ? v != 0 : k == KIND_I32 ? (int64_t)(int32_t)(uint32_t)(uint64_t)v : v;
  return finish(b, op);
}

Value *build_number(Builder *b, Kind k, double v) {
  return kind_is_float(k) ? build_float(b, k, v) : build_int(b, k, (int64_t)v);
}

Value *build_size(Builder *b, const Size *s) {
  int64_t c;
  if (size_is_const(s, &c))
    return build_int(b, KIND_I64, c);
  if (!s->overflow && s->nterms == 1 && s->terms[0].coefficient == 1 && s->terms[0].npowers == 1 &&
      s->terms[0].powers[0].exponent == 1 && s->terms[0].powers[0].atom->value)
    return build_cast(b, KIND_I64, s->terms[0].powers[0].atom->value);
  Op *op = begin_op(b, OP_SIZE, 0, NULL, type_scalar(KIND_I64));
  op->at.size = s;
  return finish(b, op);
}

Value *build_full(Builder *b, Type t, Value *scalar) {
  expect(value_is_scalar(scalar) && scalar->type.kind == t.kind, "kinds differ", OP_FULL);
  return t.rank ? finish(b, begin_op(b, OP_FULL, 1, &scalar, t)) : scalar;
}

Value *build_zeros(Builder *b, Type t) {
  return build_full(b, t, build_number(b, t.kind, 0));
}

/* ---- scalar operations */
static Value *scalar_op(Builder *b, Opcode code, Kind result, int n, Value *const *x, int64_t attr) {
  Value *folded = fold_scalar(b, code, result, x, attr);
  if (folded)
    return folded;
  Op *op = begin_op(b, code, n, x, type_scalar(result));
  op->at.i = attr;
  return finish(b, op);
}

Value *build_unary(Builder *b, Opcode op, Value *x) {
  expect(op_info[op].group == GROUP_ELEM && op_info[op].arity == 1 && value_is_scalar(x), "operand", op);
  return scalar_op(b, op, op_info[op].result == RESULT_BOOL ? KIND_BOOL : x->type.kind, 1, &x, 0);
}

Value *build_powi(Builder *b, Value *x, int64_t n) {
  expect(value_is_scalar(x) && kind_is_float(x->type.kind), "operand", OP_POWI);
  return scalar_op(b, OP_POWI, x->type.kind, 1, &x, n);
}

Value *build_polygamma(Builder *b, Value *x, int64_t order) {
  expect(value_is_scalar(x) && kind_is_float(x->type.kind) && order >= 0, "operand", OP_POLYGAMMA);
  return scalar_op(b, OP_POLYGAMMA, x->type.kind, 1, &x, order);
}

Value *build_binary(Builder *b, Opcode op, Value *x, Value *y) {
  expect(op_info[op].group == GROUP_ELEM && op_info[op].arity == 2, "not a binary operation", op);
  expect(value_is_scalar(x) && value_is_scalar(y) && x->type.kind == y->type.kind, "operands", op);
  return scalar_op(b, op, op_info[op].result == RESULT_BOOL ? KIND_BOOL : x->type.kind, 2, (Value *[]){x, y}, 0);
}

Value *build_select(Builder *b, Value *c, Value *x, Value *y) {
  expect(value_is_scalar(c) && c->type.kind == KIND_BOOL && type_equal(x->type, y->type), "operands", OP_SELECT);
  if (value_is_scalar(x))
    return scalar_op(b, OP_SELECT, x->type.kind, 3, (Value *[]){c, x, y}, 0);
  int64_t known;
  if (x == y || value_is_int_const(c, &known))
    return x == y || known ? x : y;
  Op *op = build_if_begin(b, c); /* tensors: one of two, nothing computed */
  build_if_else(b, op, 1, &x);
  build_if_end(b, op, 1, &y);
  return op->results[0];
}

Value *build_pow_below(Builder *b, Value *x, Value *y, Value *r) {
  expect(value_is_scalar(x) && kind_is_float(x->type.kind) && type_equal(x->type, y->type) &&
             type_equal(x->type, r->type),
         "operands", OP_POW_BELOW);
  return scalar_op(b, OP_POW_BELOW, x->type.kind, 3, (Value *[]){x, y, r}, 0);
}

Value *build_cast(Builder *b, Kind k, Value *x) {
  const Kind from = x->type.kind;
  expect(value_is_scalar(x), "operand", OP_CAST);
  double f;
  int64_t i;
  if (from == k)
    return x;
  if (value_is_int_const(x, &i))
    return kind_is_float(k) ? build_float(b, k, k == KIND_F32 ? (double)(float)i : (double)i) : build_int(b, k, i);
  if (value_is_float_const(x, &f)) {
    if (kind_is_float(k))
      return build_float(b, k, f);
    if (k == KIND_BOOL)
      return build_int(b, k, f != 0);
    const double limit = k == KIND_I32 ? 2147483648.0 : 9223372036854775808.0;
    if (f >= -limit && f < limit)
      return build_int(b, k, (int64_t)f);
  }
  return finish(b, begin_op(b, OP_CAST, 1, &x, type_scalar(k)));
}

/* ---- tensors */
/* x % size with x not negative, and x mod size: they are in range, as a size of 0 has ended the call before. */
static bool is_remainder_of(Module *m, const Value *index, const Size *size) {
  const Op *op = index->def;
  if (!op || (op->code != OP_REM && op->code != OP_MOD) || size_of_value(m, op->operands[1]) != size)
    return false;
  return op->code == OP_MOD || size_nonnegative(m, size_of_value(m, op->operands[0]));
}

static Op *indexed_op(Builder *b, Opcode code, Value *x, Value *v, int n, Value *const *idx, uint64_t checks,
                      int nresults) {
  const int first = v ? 2 : 1;
  expect(n <= x->type.rank, "too many indices", code);
  Op *op = op_new(b->module, code, first + n, nresults, 0);
  op->operands[0] = x;
  if (v)
    op->operands[1] = v;
  for (int i = 0; i < n; i++) {
    expect(value_is_scalar(idx[i]) && idx[i]->type.kind == KIND_I64, "an index is an i64 scalar", code);
    op->operands[first + i] = idx[i];
    if ((checks >> i & 1) && is_remainder_of(b->module, idx[i], x->type.dims[i])) {
      checks &= ~(1ull << i);
    } else if (checks >> i & 1) { /* drop what can be proved */
      const Size *s = size_of_value(b->module, idx[i]);
      const Size *room = size_sub(b->module, size_sub(b->module, x->type.dims[i], size_const(b->module, 1)), s);
      if (size_nonnegative(b->module, s) && size_nonnegative(b->module, room))
        checks &= ~(1ull << i);
    }
  }
  op->at.checks = checks & ((1ull << n) - 1);
  return op;
}

Value *build_index(Builder *b, Value *x, int n, Value *const *idx, uint64_t checks) {
  if (n == 0)
    return x;
  Value *joined[MAX_RANK];
  if (x->def && x->def->code == OP_INDEX) { /* x[i][j] is x[i, j]; the tests of the first stay */
    const Op *first = x->def;
    const int k = first->noperands - 1;
    for (int i = 0; i < k; i++)
      joined[i] = first->operands[1 + i];
    for (int i = 0; i < n; i++)
      joined[k + i] = idx[i];
    return build_index(b, first->operands[0], k + n, joined, first->at.checks | checks << k);
  }
  Op *op = indexed_op(b, OP_INDEX, x, NULL, n, idx, checks, 1);
  if (x->def && x->def->code == OP_FULL && !op->at.checks)
    return build_full(b, type_drop(x->type, n), x->def->operands[0]);
  op_set_result(b->module, op, 0, type_drop(x->type, n), NULL);
  return finish(b, op);
}

Value *build_update(Builder *b, Value *x, Value *v, int n, Value *const *idx, uint64_t checks) {
  if (n == 0)
    return v;
  expect(type_equal(v->type, type_drop(x->type, n)), "the part has another type", OP_UPDATE);
  Op *op = indexed_op(b, OP_UPDATE, x, v, n, idx, checks, 1);
  op_set_result(b->module, op, 0, x->type, NULL);
  return finish(b, op);
}

void build_acc_add(Builder *b, Value *acc, Value *v, int n, Value *const *idx, uint64_t checks) {
  expect(acc->is_acc && type_equal(v->type, type_drop(acc->type, n)), "accumulator or part", OP_ACC_ADD);
  Op *op = indexed_op(b, OP_ACC_ADD, acc, v, n, idx, checks, 0);
  op->loc = b->loc;
  op->origin = b->origin;
  region_append(b->region, op);
}

Value *build_reshape(Builder *b, Value *x, Type t) {
  expect(x->type.kind == t.kind, "kinds differ", OP_RESHAPE);
  if (type_equal(x->type, t))
    return x;
  if (x->def && x->def->code == OP_RESHAPE)
    return build_reshape(b, x->def->operands[0], t);
  if (x->def && x->def->code == OP_FULL)
    return build_full(b, t, x->def->operands[0]);
  return finish(b, begin_op(b, OP_RESHAPE, 1, &x, t));
}

void build_require(Builder *b, Value *cond, const char *text) {
  int64_t known;
  expect(value_is_scalar(cond) && cond->type.kind == KIND_BOOL, "condition", OP_REQUIRE);
  if (value_is_int_const(cond, &known) && known)
    return;
  Op *op = op_new(b->module, OP_REQUIRE, 1, 0, 0);
  op->operands[0] = cond;
  op->at.text = text;
  op->loc = b->loc;
  op->origin = b->origin;
  region_append(b->region, op);
}

/* ---- facts */
bool value_is_const(const Value *v) {
  return v->def && v->def->code == OP_CONST;
}
bool value_is_float_const(const Value *v, double *out) {
  if (!value_is_const(v) || !kind_is_float(v->type.kind))
    return false;
  if (out)
    *out = v->def->at.f;
  return true;
}
bool value_is_int_const(const Value *v, int64_t *out) {
  if (!value_is_const(v) || kind_is_float(v->type.kind))
    return false;
  if (out)
    *out = v->def->at.i;
  return true;
}
bool value_is_zero(const Value *v) {
  if (v->def && v->def->code == OP_FULL)
    return value_is_zero(v->def->operands[0]);
  double f;
  int64_t i;
  return (value_is_float_const(v, &f) && f == 0) || (value_is_int_const(v, &i) && i == 0);
}
