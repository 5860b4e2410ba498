/* Code for the workspace: its size, the addresses of what was planned, and what is pushed at run time.
   Sizes are computed in arithmetic that saturates: an overflow makes the size INT64_MAX, which no workspace has. */
#include "codegen/body.h"
#include <string.h>

/* ---- arithmetic that remembers whether it overflowed */
enum { KNOWN_SIZES = 64 };
typedef struct Sum {
  Body *body;
  LLVMValueRef overflow;          /* i1, or NULL */
  bool trusted;                   /* what is computed was found not to overflow before */
  const Size *known[KNOWN_SIZES]; /* computed in this block already; direct-mapped by uid */
  LLVMValueRef codes[KNOWN_SIZES];
} Sum;

static LLVMValueRef checked(Sum *s, bool product, LLVMValueRef x, LLVMValueRef y) {
  Body *b = s->body;
  if (LLVMIsAConstantInt(x) && LLVMIsAConstantInt(y)) {
    const int64_t p = LLVMConstIntGetSExtValue(x), q = LLVMConstIntGetSExtValue(y);
    int64_t r;
    if (product ? !__builtin_mul_overflow(p, q, &r) : !__builtin_add_overflow(p, q, &r))
      return const_i64(b->unit, r);
  }
  if (s->trusted)
    return product ? LLVMBuildNSWMul(b->at, x, y, "") : LLVMBuildNSWAdd(b->at, x, y, "");
  const char *name = product ? "llvm.smul.with.overflow" : "llvm.sadd.with.overflow";
  LLVMValueRef args[] = {x, y}, pair = call_intrinsic(b, name, 1, &b->unit->i64, 2, args);
  LLVMValueRef overflow = LLVMBuildExtractValue(b->at, pair, 1, "");
  s->overflow = s->overflow ? LLVMBuildOr(b->at, s->overflow, overflow, "") : overflow;
  return LLVMBuildExtractValue(b->at, pair, 0, "");
}

static LLVMValueRef times(Sum *s, LLVMValueRef x, LLVMValueRef y) {
  return checked(s, true, x, y);
}

static LLVMValueRef plus(Sum *s, LLVMValueRef x, LLVMValueRef y) {
  return checked(s, false, x, y);
}

static LLVMValueRef larger(Body *b, LLVMValueRef x, LLVMValueRef y) {
  if (LLVMIsAConstantInt(x) && LLVMIsAConstantInt(y))
    return LLVMConstIntGetSExtValue(x) > LLVMConstIntGetSExtValue(y) ? x : y;
  LLVMValueRef args[] = {x, y};
  return call_intrinsic(b, "llvm.smax", 1, &b->unit->i64, 2, args);
}

static LLVMValueRef at_most(Body *b, LLVMValueRef x, int64_t most) {
  LLVMValueRef args[] = {x, const_i64(b->unit, most)};
  return call_intrinsic(b, "llvm.smin", 1, &b->unit->i64, 2, args);
}

static LLVMValueRef saturated(Sum *s, LLVMValueRef x) {
  return s->overflow ? LLVMBuildSelect(s->body->at, s->overflow, const_i64(s->body->unit, INT64_MAX), x, "") : x;
}

LLVMValueRef saturating_add(Body *b, LLVMValueRef x, LLVMValueRef y) {
  Sum s = {.body = b};
  return saturated(&s, plus(&s, x, y));
}

LLVMValueRef saturating_mul(Body *b, LLVMValueRef x, LLVMValueRef y) {
  Sum s = {.body = b};
  return saturated(&s, times(&s, x, y));
}

static LLVMValueRef rounded_up(Sum *s, LLVMValueRef bytes) {
  bytes = plus(s, bytes, const_i64(s->body->unit, WORK_ALIGNMENT - 1));
  return LLVMBuildAnd(s->body->at, bytes, const_i64(s->body->unit, -WORK_ALIGNMENT), "");
}

static LLVMValueRef bytes_of_lanes(Body *b, Type t, int lanes) {
  Sum s = {.body = b};
  LLVMValueRef bytes = const_i64(b->unit, kind_bytes(t.kind) * lanes), zero = const_i64(b->unit, 0);
  for (int i = 0; i < t.rank; i++)
    bytes = times(&s, bytes, larger(b, size_code(b, t.dims[i]), zero));
  return saturated(&s, bytes);
}

LLVMValueRef saturated_bytes(Body *b, Type t) {
  return bytes_of_lanes(b, t, 1);
}

/* ---- what is known at entry: computed in the first block, from parameters */
static LLVMValueRef entry_value(Body *b, const Value *v);

static LLVMValueRef entry_polynomial(Sum *s, const Size *size);

static LLVMValueRef entry_atom(Sum *s, const Atom *a) {
  Body *b = s->body;
  if (a->value) {
    LLVMValueRef code = entry_value(b, a->value);
    return a->value->type.kind == KIND_I64 ? code : LLVMBuildSExt(b->at, code, b->unit->i64, "");
  }
  LLVMValueRef n = entry_polynomial(s, a->num), d = entry_polynomial(s, a->den), zero = const_i64(b->unit, 0);
  if (a->kind != ATOM_QUOTIENT)
    return lesser_or_greater(b, a->kind, n, d);
  d = LLVMBuildSelect(b->at, LLVMBuildICmp(b->at, LLVMIntEQ, d, zero, ""), const_i64(b->unit, 1), d, "");
  LLVMValueRef quotient = LLVMBuildSDiv(b->at, n, d, "");
  LLVMValueRef rest = LLVMBuildSRem(b->at, n, d, "");
  LLVMValueRef below = LLVMBuildICmp(b->at, LLVMIntSLT, LLVMBuildXor(b->at, rest, d, ""), zero, "");
  LLVMValueRef down = LLVMBuildAnd(b->at, below, LLVMBuildICmp(b->at, LLVMIntNE, rest, zero, ""), "");
  return LLVMBuildSub(b->at, quotient, LLVMBuildZExt(b->at, down, b->unit->i64, ""), "");
}

static LLVMValueRef entry_polynomial(Sum *s, const Size *size) {
  Unit *u = s->body->unit;
  LLVMValueRef sum = const_i64(u, 0);
  const int slot = (int)(size->uid % KNOWN_SIZES);
  if (s->known[slot] == size)
    return s->codes[slot];
  if (size->overflow)
    s->overflow = LLVMConstInt(u->i1, 1, false);
  for (int i = 0; i < size->nterms; i++) {
    LLVMValueRef product = const_i64(u, size->terms[i].coefficient);
    for (int j = 0; j < size->terms[i].npowers; j++) {
      LLVMValueRef x = entry_atom(s, size->terms[i].powers[j].atom);
      for (int k = 0; k < size->terms[i].powers[j].exponent; k++)
        product = times(s, product, x);
    }
    sum = plus(s, sum, product);
  }
  s->known[slot] = size;
  return s->codes[slot] = sum;
}

static LLVMValueRef entry_value(Body *b, const Value *v) {
  ValueNote *note = note_of(v);
  if (is_work_param(v))
    return b->params[v->index];
  if (note->at_entry && note->entry_code == b->code)
    return note->at_entry;
  const Op *op = v->def;
  LLVMValueRef code;
  if (op->code == OP_CONST) {
    code = constant_code(b, op);
  } else if (op->code == OP_SIZE) {
    Sum s = {.body = b};
    code = saturated(&s, entry_polynomial(&s, op->at.size));
  } else {
    LLVMValueRef x[3];
    for (int i = 0; i < op->noperands; i++)
      x[i] = entry_value(b, op->operands[i]);
    code = scalar_code(b, op, x);
  }
  note->at_entry = code;
  note->entry_code = b->code;
  return code;
}

/* What is to be kept free for a call of f: a function of the integers among its parameters, after the number of lanes
   where that matters. */
static bool takes_lanes(const Func *f) {
  return func_note(f)->plan->part || func_note(f)->plan->uses_lanes;
}
static LLVMValueRef room_code(const Func *f) {
  return func_note(f)->plan->part ? func_note(f)->area_code : func_note(f)->work_code;
}
static LLVMTypeRef room_type(const Func *f) {
  return func_note(f)->plan->part ? func_note(f)->area_type : func_note(f)->work_type;
}

static LLVMValueRef need_bytes(Sum *s, const Need *need) {
  Body *b = s->body;
  Unit *u = b->unit;
  LLVMValueRef bytes = const_i64(u, need->element_bytes);
  if (need->kind == NEED_CALL) {
    const Func *callee = need->callee;
    LLVMValueRef *args = NEW_ARRAY(u->arena, LLVMValueRef, callee->body->nparams + 1);
    int n = 0;
    if (takes_lanes(callee))
      args[n++] = s->body->lanes;
    for (int i = 0; i < callee->body->nparams; i++) {
      if (!is_work_param(callee->body->params[i]))
        continue;
      LLVMTypeRef type = type_of_kind(u, callee->body->params[i]->type.kind);
      args[n++] = need->args[i] ? LLVMBuildTruncOrBitCast(b->at, entry_polynomial(s, need->args[i]), type, "")
                                : LLVMGetPoison(type);
    }
    return LLVMBuildCall2(b->at, room_type(callee), room_code(callee), args, (unsigned)n, "");
  }
  LLVMValueRef dims[3];
  for (int i = 0; i < need->rank; i++) {
    LLVMValueRef dim = const_i64(u, 0);
    for (int j = 0; j < need->dims[i].n; j++)
      dim = larger(b, dim, entry_polynomial(s, need->dims[i].choices[j]));
    if (need->kind == NEED_PRODUCT)
      dims[i] = dim;
    else
      bytes = times(s, bytes, dim);
  }
  if (need->kind == NEED_PRODUCT)
    return product_bytes(b, need->element_bytes, dims);
  if (need->most_bytes)
    bytes = at_most(b, bytes, need->most_bytes); /* an overflow on the way is reported all the same */
  for (int i = 0; i < need->parts.n; i++) {
    LLVMValueRef part = need_bytes(s, need->parts.at[i]);
    bytes = need->kind == NEED_SUM ? plus(s, bytes, part) : larger(b, bytes, part);
  }
  return need->kind == NEED_SUM || need->kind == NEED_COUNT ? bytes : rounded_up(s, bytes);
}

LLVMValueRef need_code(Body *b, const Need *need) {
  Sum s = {.body = b};
  LLVMValueRef bytes = need_bytes(&s, need);
  return saturated(&s, bytes);
}

/* A function of the integer scalar parameters of f, in order, after the number of lanes if that is asked for. */
LLVMValueRef sizing_begin(Body *b, Unit *u, Func *f, const char *name, bool lanes, LLVMTypeRef *type) {
  const int nparams = f->body->nparams;
  LLVMTypeRef *types = NEW_ARRAY(u->arena, LLVMTypeRef, nparams + 1);
  int n = 0;
  if (lanes)
    types[n++] = u->i64;
  for (int i = 0; i < nparams; i++)
    if (is_work_param(f->body->params[i]))
      types[n++] = type_of_kind(u, f->body->params[i]->type.kind);
  *type = LLVMFunctionType(u->i64, types, (unsigned)n, false);
  LLVMValueRef code = LLVMAddFunction(u->llvm, arena_printf(u->arena, "%s.%s", f->name, name), *type);
  LLVMSetLinkage(code, LLVMInternalLinkage);
  LLVMAddAttributeAtIndex(code, LLVMAttributeFunctionIndex, attribute(u, "nounwind", 0));
  *b = (Body){.unit = u,
              .func = f,
              .storage = func_note(f)->storage,
              .plan = func_note(f)->plan,
              .code = code,
              .loc = f->loc,
              .params = NEW_ARRAY(u->arena, LLVMValueRef, nparams)};
  n = 0;
  b->lanes = lanes ? LLVMGetParam(code, (unsigned)n++) : const_i64(u, 1);
  for (int i = 0; i < nparams; i++)
    if (is_work_param(f->body->params[i]))
      b->params[i] = LLVMGetParam(code, (unsigned)n++);
  b->at = b->entry = LLVMCreateBuilderInContext(u->context);
  LLVMPositionBuilderAtEnd(b->at, new_block(b, "entry"));
  return code;
}

void sizing_end(Body *b, LLVMValueRef result) {
  LLVMBuildRet(b->at, result);
  LLVMDisposeBuilder(b->at);
}

void work_function(Unit *u, Func *f) {
  FuncNote *note = func_note(f);
  Body b;
  note->work_code = sizing_begin(&b, u, f, "work", note->plan->uses_lanes, &note->work_type);
  sizing_end(&b, need_code(&b, note->plan->slots));
}

LLVMValueRef work_bytes_of_call(Body *b, const Op *call) {
  const Func *callee = call->at.callee;
  LLVMValueRef *args = NEW_ARRAY(b->unit->arena, LLVMValueRef, call->noperands + 1);
  int n = 0;
  if (func_note(callee)->plan->uses_lanes)
    args[n++] = b->lanes;
  for (int i = 0; i < call->noperands; i++)
    if (is_work_param(callee->body->params[i]))
      args[n++] = value_code(b, call->operands[i]);
  return LLVMBuildCall2(b->at, func_note(callee)->work_type, func_note(callee)->work_code, args, (unsigned)n, "");
}

/* ---- addresses */
/* Of the slots, and of the outputs where these are not too many. */
static void make_scopes(Body *b, int nslots) {
  Unit *u = b->unit;
  const int n = nslots + b->storage->func->nresults <= MOST_SCOPES ? nslots + b->storage->func->nresults : nslots;
  if (n < 2 || n > MOST_SCOPES)
    return;
  if (!u->scope_domain)
    u->scope_domain = self_node(u, 0, NULL);
  b->nscopes = n;
  b->scope = NEW_ARRAY(u->arena, LLVMMetadataRef, n);
  b->lists = (LLVMMetadataRef(*)[2])NEW_ARRAY(u->arena, LLVMMetadataRef, 2 * n);
  for (int i = 0; i < n; i++)
    b->scope[i] = self_node(u, 1, &u->scope_domain);
}

void work_begin(Body *b) {
  Unit *u = b->unit;
  const int n = b->plan->slots->parts.n;
  LLVMBuilderRef at = b->at;
  b->at = b->entry;
  b->slots = NEW_ARRAY(u->arena, LLVMValueRef, n);
  Sum s = {.body = b, .trusted = true}; /* that nothing overflows was seen to when the workspace was taken */
  LLVMValueRef offset = const_i64(u, 0);
  for (int i = 0; i < n; i++) {
    b->slots[i] = LLVMBuildInBoundsGEP2(b->at, u->i8, b->work, &offset, 1, "");
    if (i + 1 < n)
      offset = plus(&s, offset, need_bytes(&s, b->plan->slots->parts.at[i]));
  }
  make_scopes(b, n);
  for (int i = 0; i < b->storage->places.n; i++) {
    Place *p = b->storage->places.at[i];
    if (p->kind != PLACE_WORK || p->room == ROOM_DYNAMIC || p->part_of)
      continue;
    p->address =
        p->room == ROOM_FRAME ? entry_alloca(b, u->i8, p->frame_bytes, WORK_ALIGNMENT, "local") : b->slots[p->slot];
  }
  b->at = at;
}

LLVMValueRef work_push_bytes(Body *b, LLVMValueRef bytes) {
  Unit *u = b->unit;
  LLVMTypeRef params[] = {u->ptr, u->i64};
  LLVMValueRef args[] = {b->context, bytes};
  LLVMValueRef block = call_declared(b, declared(u, "gradc_rt_push", u->ptr, 2, params), 2, args);
  fail_memory_if(b, LLVMBuildIsNull(b->at, block, ""), bytes);
  return block;
}

void work_push(Body *b, Place *p) {
  p->address = work_push_bytes(b, p->call ? work_bytes_of_call(b, p->call)
                                          : bytes_of_lanes(b, p->type, p->lanes ? p->lanes : 1));
}
