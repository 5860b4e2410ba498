/* Code for sizes.  A size over the function's parameters alone is computed once, in the first block. */
#include "codegen/body.h"
#include <string.h>

enum { STATUS_BAD_SIZE = 5 };

struct SizeCache {
  int n, cap; /* cap: a power of two */
  const Size **keys;
  LLVMValueRef *values;
};

static LLVMValueRef *cached(Body *b, const Size *s) {
  SizeCache *c = b->sizes;
  if (!c)
    c = b->sizes = NEW(b->unit->arena, SizeCache);
  if (2 * c->n >= c->cap) {
    SizeCache grown = {.cap = c->cap ? 2 * c->cap : 64};
    grown.keys = NEW_ARRAY(b->unit->arena, const Size *, grown.cap);
    grown.values = NEW_ARRAY(b->unit->arena, LLVMValueRef, grown.cap);
    SizeCache old = *c;
    *c = grown;
    for (int i = 0; i < old.cap; i++)
      if (old.keys[i])
        *cached(b, old.keys[i]) = old.values[i];
  }
  unsigned at = (s->uid * 2654435761u) & (unsigned)(c->cap - 1);
  while (c->keys[at] && c->keys[at] != s)
    at = (at + 1) & (unsigned)(c->cap - 1);
  if (!c->keys[at]) {
    c->keys[at] = s;
    c->n++;
  }
  return &c->values[at];
}

typedef struct OfParams {
  bool holds;
} OfParams;

static void note_value(Value *v, void *arg) {
  OfParams *of = arg;
  of->holds = of->holds && !v->def && !v->region->owner;
}

static bool over_params(const Size *s) {
  OfParams of = {.holds = true};
  size_values(s, note_value, &of);
  return of.holds;
}

/* Rounds down.  A divisor of 0 gives some value: whoever needs one checks. */
static LLVMValueRef floor_quotient(Body *b, const Size *num, const Size *den) {
  LLVMBuilderRef at = b->at;
  LLVMValueRef n = size_code(b, num), d = size_code(b, den), zero = const_i64(b->unit, 0), one = const_i64(b->unit, 1);
  int64_t divisor;
  const bool constant = size_is_const(den, &divisor) && divisor > 0;
  if (!constant)
    d = LLVMBuildSelect(at, LLVMBuildICmp(at, LLVMIntEQ, d, zero, ""), one, d, "");
  LLVMValueRef quotient = LLVMBuildSDiv(at, n, d, "");
  if (constant && size_nonnegative(b->unit->module, num))
    return quotient;
  LLVMValueRef rest = LLVMBuildSub(at, n, LLVMBuildMul(at, quotient, d, ""), "");
  LLVMValueRef inexact = LLVMBuildICmp(at, LLVMIntNE, rest, zero, "");
  LLVMValueRef below = LLVMBuildICmp(at, LLVMIntSLT, LLVMBuildXor(at, rest, d, ""), zero, "");
  LLVMValueRef down = LLVMBuildZExt(at, LLVMBuildAnd(at, inexact, below, ""), b->unit->i64, "");
  return LLVMBuildSub(at, quotient, down, "");
}

LLVMValueRef lesser_or_greater(Body *b, AtomKind kind, LLVMValueRef x, LLVMValueRef y) {
  LLVMValueRef args[] = {x, y};
  return call_intrinsic(b, kind == ATOM_MIN ? "llvm.smin" : "llvm.smax", 1, &b->unit->i64, 2, args);
}

static LLVMValueRef value_as_size(Body *b, const Value *v) {
  LLVMValueRef code = value_code(b, v);
  return v->type.kind == KIND_I64 ? code : LLVMBuildSExt(b->at, code, b->unit->i64, "");
}

static LLVMValueRef atom_code(Body *b, const Atom *a) {
  if (a->value)
    return value_as_size(b, a->value);
  return a->kind == ATOM_QUOTIENT ? floor_quotient(b, a->num, a->den)
                                  : lesser_or_greater(b, a->kind, size_code(b, a->num), size_code(b, a->den));
}

static LLVMValueRef polynomial(Body *b, const Size *s) {
  LLVMValueRef sum = NULL;
  for (int i = 0; i < s->nterms; i++) {
    LLVMValueRef product = NULL;
    for (int j = 0; j < s->terms[i].npowers; j++) {
      LLVMValueRef x = atom_code(b, s->terms[i].powers[j].atom);
      for (int k = 0; k < s->terms[i].powers[j].exponent; k++)
        product = product ? LLVMBuildNSWMul(b->at, product, x, "") : x;
    }
    const int64_t c = s->terms[i].coefficient;
    if (!product)
      product = const_i64(b->unit, c);
    else if (c == -1 && sum) {
      sum = LLVMBuildNSWSub(b->at, sum, product, "");
      continue;
    } else if (c != 1)
      product = LLVMBuildNSWMul(b->at, const_i64(b->unit, c), product, "");
    sum = sum ? LLVMBuildNSWAdd(b->at, sum, product, "") : product;
  }
  return sum ? sum : const_i64(b->unit, 0);
}

LLVMValueRef size_code(Body *b, const Size *s) {
  int64_t constant;
  if (size_is_const(s, &constant))
    return const_i64(b->unit, constant);
  if (s->overflow)
    return const_i64(b->unit, INT64_MAX);
  if (s->nterms == 1 && s->terms[0].coefficient == 1 && s->terms[0].npowers == 1 &&
      s->terms[0].powers[0].exponent == 1 && s->terms[0].powers[0].atom->value)
    return value_as_size(b, s->terms[0].powers[0].atom->value);
  if (!over_params(s))
    return polynomial(b, s);
  LLVMValueRef *known = cached(b, s);
  if (*known)
    return *known;
  LLVMBuilderRef at = b->at;
  b->at = b->entry;
  LLVMValueRef code = polynomial(b, s);
  b->at = at;
  return *cached(b, s) = code;
}

static void check_quotients(Body *b, const Size *s) {
  for (int i = 0; i < s->nterms; i++)
    for (int j = 0; j < s->terms[i].npowers; j++) {
      const Atom *a = s->terms[i].powers[j].atom;
      if (a->value)
        continue;
      check_quotients(b, a->num);
      check_quotients(b, a->den);
      if (a->kind == ATOM_QUOTIENT && !size_is_const(a->den, NULL))
        fail_if(b, LLVMBuildICmp(b->at, LLVMIntEQ, size_code(b, a->den), const_i64(b->unit, 0), ""), STATUS_BAD_SIZE,
                "a size is divided by zero");
    }
}

LLVMValueRef size_code_checked(Body *b, const Size *s) {
  if (s->overflow)
    fail_if(b, LLVMConstInt(b->unit->i1, 1, false), STATUS_BAD_SIZE, "a size overflows");
  check_quotients(b, s);
  return size_code(b, s);
}

LLVMValueRef extent_code(Body *b, const Size *s) {
  LLVMValueRef args[] = {size_code_checked(b, s), const_i64(b->unit, 0)};
  if (size_nonnegative(b->unit->module, s))
    return args[0];
  return call_intrinsic(b, "llvm.smax", 1, &b->unit->i64, 2, args);
}

LLVMValueRef count_code(Body *b, Type t) {
  return size_code(b, type_count(b->unit->module, t));
}

LLVMValueRef bytes_code(Body *b, Type t) {
  return LLVMBuildNSWMul(b->at, count_code(b, t), const_i64(b->unit, kind_bytes(t.kind)), "");
}

void check_type(Body *b, Type t) {
  for (int i = 0; i < t.rank; i++) {
    LLVMValueRef size = size_code_checked(b, t.dims[i]);
    if (!size_nonnegative(b->unit->module, t.dims[i]))
      fail_size_if(b, LLVMBuildICmp(b->at, LLVMIntSLT, size, const_i64(b->unit, 0), ""), size);
  }
}
