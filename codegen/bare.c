/* Functions of few numbers whose products and quotients keep the rule of exact zeros (codegen/loose.c does the same for
   loops that only reduce).
   mulz(v, w) is 0 where v or w is, whatever the other is, and divz(v, w) where v is; a plain product or quotient
   differs from it only by being NaN there, or by the sign of a zero.  So an export calls a version of its function that
   has plain ones, and the function as it is written where a result of that comes out NaN.

   A value "differs at most by NaN" if it is NaN or, but for rounding and the sign of a zero, what it would be by the
   rule.  Plain are those products and quotients from which nothing is made but values that differ at most by NaN: not a
   comparison, nor what tells the zeros apart.  A plain quotient is a product with the reciprocal of the divisor, and
   NaN where that overflows.  What makes such values gives up the signs of zeros too: a negated product is one
   instruction then, and 0 + x is x. */
#include "codegen/body.h"
#include "ir/build.h"

enum { MOST_NUMBERS = 64, MOST_SWEEPS = 8 }; /* of all results together */

typedef struct Marking {
  bool fits;    /* all operations are known */
  bool changed; /* something was spoilt */
  bool any;     /* a plain product has been found */
} Marking;

static void spoil(Marking *m, const Value *v) {
  if (note_of(v) && !note_of(v)->spoilt)
    note_of(v)->spoilt = m->changed = true;
}

/* x is as well spoilt as what is made of it. */
static void hand_on(Marking *m, const Value *from, const Value *x) {
  if (note_of(from)->spoilt)
    spoil(m, x);
}

/* Whether the result differs at most by NaN where operand i does. */
static bool keeps(const Op *op, int i) {
  switch (op->code) {
  case OP_ADD:
  case OP_SUB:
  case OP_NEG:
  case OP_MUL:
  case OP_MULZ:
  case OP_ABS:
  case OP_SQRT:
  case OP_EXP:
  case OP_SIN:
  case OP_COS:
  case OP_FULL:
  case OP_RESHAPE: return true;
  case OP_CAST: return kind_is_float(op->results[0]->type.kind);
  case OP_DIV:
  case OP_DIVZ: return i == 0; /* the sign of a zero below would be that of an infinity */
  case OP_SELECT: return i > 0;
  case OP_INDEX: return i == 0;
  case OP_UPDATE: return i < 2;
  default: return false;
  }
}

static void visit_region(Marking *m, const Region *r);

static void visit_loop(Marking *m, const Op *op) {
  const LoopInfo *info = op->at.loop;
  const Region *body = op->regions[0];
  const int nc = info->ncarries;
  for (int i = 0; i < nc; i++) {
    hand_on(m, op->results[i], body->yields[i]);
    hand_on(m, op->results[i], op->operands[i]);
  }
  for (int i = 0; i < info->naccs; i++)
    hand_on(m, loop_acc_result(op, i), loop_acc(op, i));
  for (int i = 0; i < info->nouts; i++)
    if (info->outs[i] == OUT_SUM || info->outs[i] == OUT_STACK)
      hand_on(m, loop_out(op, i), body->yields[nc + i]);
    else
      spoil(m, body->yields[nc + i]);
  visit_region(m, body);
  for (int i = 0; i < nc; i++) {
    hand_on(m, loop_carry(op, i), body->yields[i]);
    hand_on(m, loop_carry(op, i), op->operands[i]);
  }
  for (int i = 0; i < info->naccs; i++)
    hand_on(m, loop_acc(op, i), op->operands[nc + i]);
}

static void visit_op(Marking *m, const Op *op) {
  switch (op->code) {
  case OP_WHILE:
  case OP_CALL: m->fits = false; return;
  case OP_LOOP: visit_loop(m, op); return;
  case OP_ACC_ADD: hand_on(m, op->operands[0], op->operands[1]); return;
  case OP_IF:
    for (int k = 0; k < 2; k++) {
      for (int i = 0; i < op->nresults; i++)
        hand_on(m, op->results[i], op->regions[k]->yields[i]);
      visit_region(m, op->regions[k]);
    }
    return;
  default:
    for (int i = 0; i < op->noperands; i++)
      if (keeps(op, i))
        hand_on(m, op->results[0], op->operands[i]);
      else
        spoil(m, op->operands[i]);
  }
}

static void visit_region(Marking *m, const Region *r) {
  for (const Op *op = r->last; op && m->fits; op = op->prev)
    visit_op(m, op);
}

static void clear(Op *op, void *arg) {
  (void)arg;
  for (int i = 0; i < op->nresults; i++)
    note_of(op->results[i])->spoilt = false;
  for (int k = 0; k < op->nregions; k++)
    for (int i = 0; i < op->regions[k]->nparams; i++)
      note_of(op->regions[k]->params[i])->spoilt = false;
}

static void mark(Op *op, void *arg) {
  Marking *m = arg;
  for (int i = 0; i < op->nresults; i++)
    note_of(op->results[i])->signless = !note_of(op->results[i])->spoilt;
  for (int k = 0; k < op->nregions; k++)
    for (int i = 0; i < op->regions[k]->nparams; i++)
      note_of(op->regions[k]->params[i])->signless = !note_of(op->regions[k]->params[i])->spoilt;
  if (op->code != OP_MULZ && op->code != OP_DIVZ)
    return;
  note_of(op->results[0])->bare = !note_of(op->results[0])->spoilt;
  m->any |= note_of(op->results[0])->bare;
}

/* Whether something bare is in what the operation computes; then so are its results. */
static bool taint(Op *op) {
  bool tainted = op->nresults == 1 && note_of(op->results[0])->bare;
  for (int i = 0; i < op->noperands; i++)
    tainted |= note_of(op->operands[i]) && note_of(op->operands[i])->tainted;
  for (int k = 0; k < op->nregions; k++)
    for (Op *inner = op->regions[k]->first; inner; inner = inner->next)
      tainted |= taint(inner);
  for (int i = 0; i < op->nresults; i++)
    note_of(op->results[i])->tainted = tainted;
  return tainted;
}

/* The numbers of a result; more than MOST_NUMBERS where they are not few, or no floats. */
static int64_t numbers(Type t) {
  int64_t n = 1, dim;
  for (int i = 0; i < t.rank; i++) {
    if (!size_is_const(t.dims[i], &dim) || dim < 0 || dim > MOST_NUMBERS || (n *= dim) > MOST_NUMBERS)
      return MOST_NUMBERS + 1;
  }
  return kind_is_float(t.kind) ? n : MOST_NUMBERS + 1;
}

bool mark_bare_products(const Unit *u, Func *f) {
  Marking m = {.fits = !u->module->fast_math, .changed = true};
  int64_t n = 0;
  for (int i = 0; i < f->nresults && n <= MOST_NUMBERS; i++)
    n += numbers(f->result_types[i]);
  if (n > MOST_NUMBERS)
    return false;
  region_walk(f->body, clear, NULL);
  for (int i = 0; i < f->body->nparams; i++)
    if (note_of(f->body->params[i]))
      note_of(f->body->params[i])->spoilt = false;
  for (int sweeps = 0; m.changed && m.fits; sweeps++) {
    m.changed = false;
    if (sweeps == MOST_SWEEPS)
      return false;
    visit_region(&m, f->body);
  }
  if (m.fits)
    region_walk(f->body, mark, &m);
  for (Op *op = f->body->first; op && m.any; op = op->next)
    taint(op);
  return m.fits && m.any;
}

/* ---- code */
LLVMFastMathFlags bare_flags(const Body *b, const Value *v) {
  return b->bare_zeros && note_of(v) && note_of(v)->signless ? LLVMFastMathNoSignedZeros : 0;
}

static LLVMValueRef contracted(LLVMValueRef v) {
  LLVMSetFastMathFlags(v, LLVMFastMathAllowContract);
  return v;
}

/* NaN if one of them is; besides, it may be where they are infinite, or so large that products of two overflow, as in
   f32 many would. */
static LLVMValueRef joined(Body *b, Kind kind, LLVMValueRef *x, int64_t n) {
  LLVMValueRef sum = x[n - 1];
  for (int64_t i = n - 2; i >= 0; i--) {
    LLVMValueRef term = x[i];
    if (kind == KIND_F64 && i > 0)
      term = contracted(LLVMBuildFMul(b->at, term, x[--i], ""));
    sum = contracted(LLVMBuildFAdd(b->at, term, sum, ""));
  }
  return sum;
}

/* x[0] is computed last, as a rule, since the first input's derivative waits for those of all others: it waits for one
   comparison alone. */
LLVMValueRef any_result_is_nan(Body *b, int i, LLVMValueRef result) {
  const Type t = b->func->result_types[i];
  const int64_t n = note_of(b->func->body->yields[i])->tainted ? numbers(t) : 0;
  if (!n)
    return LLVMConstInt(b->unit->i1, 0, false);
  LLVMValueRef x[MOST_NUMBERS] = {NULL};
  for (int64_t k = 0; k < n; k++)
    x[k] = load_element(b, t.kind, element_address(b, t.kind, result, const_i64(b->unit, k)), NULL);
  LLVMValueRef rest = n > 1 ? joined(b, t.kind, x + 1, n - 1) : x[0];
  return LLVMBuildFCmp(b->at, LLVMRealUNO, rest, x[0], "");
}
