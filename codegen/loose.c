/* Sums of products that keep the rule of exact zeros.
   mulz(v, w) is 0 where v or w is, whatever the other is; a plain product differs from it only by being NaN.  So a loop
   that only reduces runs with plain products where these go into its sums and nowhere else, and by way of operations
   that hand NaN on; where a sum comes out not finite the loop is run again, as it is written.  What is finite has the
   same bits either way: a sum that begins with +0 is not changed by zeros of any sign. */
#include "codegen/body.h"

/* ---- which loops, and which products */
static bool is_repeatable(const Region *r);

static bool op_is_repeatable(const Op *op) {
  for (int i = 0; i < op->nresults; i++)
    if (op->results[i]->type.rank && op->code != OP_INDEX && op->code != OP_RESHAPE)
      return false;
  for (int i = 0; i < op->nregions; i++)
    if (!is_repeatable(op->regions[i]))
      return false;
  switch (op->code) {
  case OP_LOOP: return !op->at.loop->naccs;
  case OP_CONST:
  case OP_SIZE:
  case OP_INDEX:
  case OP_RESHAPE:
  case OP_REQUIRE:
  case OP_IF: return true;
  default: return op_info[op->code].group == GROUP_ELEM;
  }
}

/* Scalars alone are computed, and nothing is changed. */
static bool is_repeatable(const Region *r) {
  for (const Op *op = r->first; op; op = op->next)
    if (!op_is_repeatable(op))
      return false;
  return true;
}

static bool hands_nan_on(Opcode op) {
  return op == OP_ADD || op == OP_SUB || op == OP_NEG || op == OP_MUL || op == OP_MULZ;
}

static void use(const Region *r, Value *v, bool good) {
  if (v->region != r || !v->def)
    return;
  note_of(v)->used = true;
  note_of(v)->spoilt |= !good;
}

typedef struct Uses {
  const Region *region;
} Uses;
static void use_in_size(Value *v, void *arg) {
  use(((Uses *)arg)->region, v, false);
}

static void use_inside(const Region *outer, const Op *op) {
  Uses uses = {outer};
  for (int i = 0; i < op->noperands; i++)
    use(outer, op->operands[i], false);
  if (op->code == OP_SIZE)
    size_values(op->at.size, use_in_size, &uses);
  for (int i = 0; op->code == OP_LOOP && i < op->at.loop->nindices; i++)
    size_values(op->at.loop->extents[i], use_in_size, &uses);
  for (int i = 0; i < op->nregions; i++) {
    for (const Op *inner = op->regions[i]->first; inner; inner = inner->next)
      use_inside(outer, inner);
    for (int j = 0; j < op->regions[i]->nyields; j++)
      use(outer, op->regions[i]->yields[j], false);
  }
}

/* Marks products that may be plain, from the loop's yields back to what they are made of; whether there are any. */
static bool mark_products(const Op *loop) {
  const Region *r = loop->regions[0];
  bool found = false;
  for (const Op *op = r->first; op; op = op->next)
    for (int i = 0; i < op->nresults; i++)
      note_of(op->results[i])->used = note_of(op->results[i])->spoilt = note_of(op->results[i])->loose = false;
  for (int i = 0; i < r->nyields; i++)
    use(r, r->yields[i], loop->at.loop->outs[i] == OUT_SUM);
  for (const Op *op = r->last; op; op = op->prev) {
    const ValueNote *result = op->nresults == 1 ? note_of(op->results[0]) : NULL;
    if (!result || !hands_nan_on(op->code) || result->spoilt || !result->used) {
      use_inside(r, op);
      continue;
    }
    for (int i = 0; i < op->noperands; i++)
      use(r, op->operands[i], true);
    note_of(op->results[0])->loose = op->code == OP_MULZ;
    found |= op->code == OP_MULZ;
  }
  return found;
}

bool has_loose_products(const Body *b, const Op *loop) {
  const LoopInfo *info = loop->at.loop;
  if (b->exact_zeros || b->unit->module->fast_math || info->ncarries || info->naccs || !info->nouts)
    return false;
  for (int i = 0; i < info->nouts; i++)
    if (info->outs[i] == OUT_STACK)
      return false;
  return is_repeatable(loop->regions[0]) && mark_products(loop);
}

/* ---- iterations that are done again
   The same for all that a vector of iterations stores: what is not finite in it is computed again, as it is written. */
static bool may_repeat(const Region *r, const Region *body) {
  for (const Op *op = r->first; op; op = op->next) {
    if (op->code == OP_CALL || op->code == OP_WHILE ||
        (op->code == OP_ACC_ADD && value_is_outside(op->operands[0], body)))
      return false;
    for (int i = 0; i < op->nregions; i++)
      if (!may_repeat(op->regions[i], body))
        return false;
  }
  return true;
}

static bool is_good_function(Opcode op) {
  return hands_nan_on(op) || op == OP_DIV || op == OP_DIVZ || op == OP_SQRT;
}

static void forget_uses(Op *op, void *arg) {
  (void)arg;
  for (int i = 0; i < op->nresults; i++)
    note_of(op->results[i])->used = note_of(op->results[i])->spoilt = note_of(op->results[i])->loose = false;
  if (op->code == OP_DIVZ)
    note_of(op->operands[1])->divides = 0;
}

static void use_in(const Region *body, Value *v, bool good) {
  if (!v->def || value_is_outside(v, body))
    return;
  note_of(v)->used = true;
  note_of(v)->spoilt |= !good;
}

typedef struct Marking {
  const Region *body;
  int found;
} Marking;

static void use_in_size_of(Value *v, void *arg) {
  use_in(((Marking *)arg)->body, v, false);
}

static void spoil_all(Op *op, void *arg) {
  Marking *m = arg;
  for (int i = 0; i < op->noperands; i++)
    use_in(m->body, op->operands[i], false);
  if (op->code == OP_SIZE)
    size_values(op->at.size, use_in_size_of, m);
  for (int i = 0; op->code == OP_LOOP && i < op->at.loop->nindices; i++)
    size_values(op->at.loop->extents[i], use_in_size_of, m);
  for (int i = 0; i < op->nregions; i++)
    for (int j = 0; j < op->regions[i]->nyields; j++)
      use_in(m->body, op->regions[i]->yields[j], false);
}

/* An element of a tensor that is written out, and all of which is stored. */
static bool is_stored(const Op *op) {
  return op->code == OP_UPDATE && !op->operands[1]->type.rank && !note_of(op->results[0])->spoilt;
}

static void mark_in(Marking *m, const Region *r) {
  for (Op *op = r->last; op; op = op->prev) {
    const ValueNote *result = op->nresults == 1 ? note_of(op->results[0]) : NULL;
    if (op->code == OP_IF) {
      use_in(m->body, op->operands[0], false);
      for (int w = 0; w < 2; w++) {
        for (int i = 0; i < op->nresults; i++)
          use_in(m->body, op->regions[w]->yields[i], !note_of(op->results[i])->spoilt && note_of(op->results[i])->used);
        mark_in(m, op->regions[w]);
      }
      continue;
    }
    if (result && result->used && is_stored(op)) {
      for (int i = 0; i < op->noperands; i++)
        use_in(m->body, op->operands[i], i < 2);
      continue;
    }
    if (!result || !result->used || result->spoilt || !(is_good_function(op->code) || op->code == OP_SELECT)) {
      spoil_all(op, m);
      for (int i = 0; i < op->nregions; i++)
        region_walk(op->regions[i], spoil_all, m);
      continue;
    }
    for (int i = 0; i < op->noperands; i++)
      use_in(m->body, op->operands[i], op->code != OP_SELECT || i > 0);
    if (op->code == OP_MULZ || op->code == OP_DIVZ) {
      note_of(op->results[0])->loose = true;
      note_of(op->operands[1])->divides += op->code == OP_DIVZ;
      m->found++;
    }
  }
}

bool iterations_are_loose(const Body *b, const Op *loop) {
  enum { LEAST = 4 };
  const LoopInfo *info = loop->at.loop;
  const Region *r = loop->regions[0];
  Marking m = {.body = r};
  if (b->exact_zeros || b->unit->module->fast_math || info->naccs || !may_repeat(r, r))
    return false;
  region_walk(loop->regions[0], forget_uses, NULL);
  for (int i = 0; i < r->nyields; i++)
    use_in(r, r->yields[i],
           info->outs[i] == OUT_SUM ||
               (info->outs[i] == OUT_STACK &&
                (!r->yields[i]->type.rank || (r->yields[i]->def && r->yields[i]->def->code == OP_UPDATE))));
  mark_in(&m, r);
  return m.found >= LEAST;
}

/* ---- code */
/* 0 where x is finite, or all of its lanes are, else NaN. */
LLVMValueRef zero_if_finite(Body *b, LLVMValueRef x) {
  return LLVMBuildFMul(b->at, x, LLVMConstNull(LLVMTypeOf(x)), "");
}

/* The lanes' sum, so that one NaN is enough. */
static LLVMValueRef one_of(Body *b, LLVMValueRef x) {
  LLVMTypeRef type = LLVMTypeOf(x);
  if (LLVMGetTypeKind(type) != LLVMVectorTypeKind)
    return x;
  LLVMValueRef args[] = {LLVMConstNull(LLVMGetElementType(type)), x};
  LLVMValueRef sum = call_intrinsic(b, "llvm.vector.reduce.fadd", 1, &type, 2, args);
  LLVMSetFastMathFlags(sum, LLVMFastMathAllowReassoc);
  return sum;
}

void again_begin(Body *b, Again *a, LLVMValueRef zero) {
  LLVMBasicBlockRef again = new_block(b, "exactly");
  LLVMValueRef one = one_of(b, zero);
  a->after = new_block(b, "");
  mark_unlikely(b->unit, LLVMBuildCondBr(b->at, LLVMBuildFCmp(b->at, LLVMRealUNO, one, one, ""), again, a->after));
  begin_block(b, again);
  a->loose = b->loose_zeros;
  a->plain = b->plain_loops;
  b->loose_zeros = false;
  b->exact_zeros = b->plain_loops = true;
}

void again_end(Body *b, const Again *a) {
  LLVMBuildBr(b->at, a->after);
  begin_block(b, a->after);
  b->loose_zeros = a->loose;
  b->plain_loops = a->plain;
  b->exact_zeros = false;
}

static LLVMValueRef zero_if_all_finite(Body *b, const Op *loop) {
  LLVMValueRef all = NULL;
  for (int i = 0; i < loop->nresults; i++) {
    if (loop->at.loop->outs[i] != OUT_SUM || !kind_is_float(loop->results[i]->type.kind))
      continue;
    LLVMValueRef zero = one_of(b, zero_if_finite(b, value_code(b, loop->results[i])));
    if (loop->results[i]->type.kind == KIND_F32)
      zero = LLVMBuildFPExt(b->at, zero, b->unit->f64, "");
    all = all ? LLVMBuildFAdd(b->at, all, zero, "") : zero;
  }
  return all;
}

void lower_loosely(Body *b, const Op *loop, LoopLowering *lower) {
  const bool around = b->loose_zeros;
  const int n = loop->nresults;
  LLVMValueRef *codes = NEW_ARRAY(b->unit->arena, LLVMValueRef, 2 * (size_t)n);
  b->loose_zeros = true;
  lower(b, loop);
  b->loose_zeros = around;
  for (int i = 0; i < n; i++)
    codes[2 * i] = value_code(b, loop->results[i]);
  LLVMValueRef zero = zero_if_all_finite(b, loop);
  Again again;
  LLVMBasicBlockRef from[] = {current_block(b), NULL};
  again_begin(b, &again, zero);
  lower(b, loop);
  from[1] = current_block(b);
  again_end(b, &again);
  for (int i = 0; i < n; i++) {
    codes[2 * i + 1] = value_code(b, loop->results[i]);
    LLVMValueRef phi = LLVMBuildPhi(b->at, LLVMTypeOf(codes[2 * i]), "");
    LLVMAddIncoming(phi, codes + 2 * (ptrdiff_t)i, from, 2);
    set_value(loop->results[i], phi);
  }
}
