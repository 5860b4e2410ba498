/* Small loops inside a loop over many are taken apart, and small tensors become their elements.
   In
       loop (i < n) { .. loop (k < 3) stack { .. } .. loop (s < 2) { the vjp with seed one_hot(s) } .. }
   the loops over 3 and 2 are copied once for each iteration, so that an element of a small tensor is a value like any
   other: what the seeds compute alike is shared, what a seed makes zero goes, and the loop over n is one line of scalar
   operations, which runs in vectors.

   Chosen are loops whose iterations are independent and many, or of an unknown number, that hold small tensors, or sums
   over small triangles; in such a loop, the loops of a few iterations, a constant number or the index of another such
   loop, as far as the code does not become too long. */
#include "passes/unroll.h"
#include "passes/passes_internal.h"

enum { MOST_TRIPS = 32, MOST_OPS = 3000, MOST_LOOP_OPS = 2000, DEEPEST = 16 };

char unroll_mark;

int unroll_count(Type t) {
  int64_t n = 1;
  for (int i = 0; i < t.rank; i++) {
    int64_t d;
    if (!size_is_const(t.dims[i], &d) || d < 1 || d > UNROLL_PARTS || (n *= d) > UNROLL_PARTS)
      return 0;
  }
  return (int)n;
}

/* ---- what can be taken apart */
static int trips_of(const Op *loop);

/* The largest value of an extent over the indices of small loops; -1: it is made of something else, too. */
static int64_t most_of(const Size *s) {
  int64_t sum = 0;
  for (int i = 0; i < s->nterms; i++) {
    const Term *t = &s->terms[i];
    int64_t most = t->coefficient;
    for (int k = 0; k < t->npowers; k++) {
      const Value *v = t->powers[k].atom->value;
      const Op *loop = v && !v->def ? v->region->owner : NULL;
      const int trips = loop && loop->code == OP_LOOP && v->index < loop->at.loop->nindices ? trips_of(loop) : 0;
      if (!trips)
        return -1;
      for (int64_t p = 0; p < t->powers[k].exponent; p++)
        if (__builtin_mul_overflow(most, trips - 1, &most))
          return -1;
    }
    if (most > 0 || !t->npowers)
      sum += most;
    if (sum > MOST_TRIPS || sum < -MOST_TRIPS)
      return -1;
  }
  return sum;
}

static bool only_sums(const LoopInfo *info) {
  for (int i = 0; i < info->nouts; i++)
    if (info->outs[i] != OUT_SUM)
      return false;
  return true;
}

/* Whether how often it runs depends on loops around it. */
static bool is_jagged(const Op *loop) {
  for (int i = 0; i < loop->at.loop->nindices; i++)
    if (!size_is_const(loop->at.loop->extents[i], NULL))
      return true;
  return false;
}

/* How many iterations a small loop has, at the most where that depends on small loops around it, as in a sum over a
   triangle; 0: it is none. */
static int trips_of(const Op *loop) {
  int64_t n = 1;
  for (int i = 0; i < loop->at.loop->nindices; i++) {
    const Size *s = loop->at.loop->extents[i];
    const int64_t extent = s->overflow ? -1 : most_of(s);
    if (extent < 1 || extent > MOST_TRIPS)
      return 0;
    n *= extent;
  }
  return n <= MOST_TRIPS && (!is_jagged(loop) || only_sums(loop->at.loop)) ? (int)n : 0;
}

/* Constant when the small loops around it are taken apart. */
static bool is_static(const Value *v, int depth) {
  const Op *op = v->def;
  int64_t divisor;
  if (!op)
    return v->region->owner && v->region->owner->code == OP_LOOP && v->index < v->region->owner->at.loop->nindices &&
           trips_of(v->region->owner);
  if (op->code == OP_CONST)
    return true;
  if (op_info[op->code].group != GROUP_ELEM || depth == DEEPEST)
    return false;
  if (op_info[op->code].effect == EFFECT_CHECK &&
      (!value_is_int_const(op->operands[1], &divisor) || divisor == 0 || divisor == -1))
    return false;
  for (int i = 0; i < op->noperands; i++)
    if (!is_static(op->operands[i], depth + 1))
      return false;
  return true;
}

/* All that is added to the accumulator is so at constant places, by code that is taken apart. */
static bool adds_to_parts(const Region *r, const Value *handle, bool apart) {
  for (const Op *op = r->first; op; op = op->next) {
    if (op->code == OP_ACC_ADD && op->operands[0] == handle) {
      if (!apart || op->at.checks)
        return false;
      for (int i = 2; i < op->noperands; i++)
        if (!is_static(op->operands[i], 0))
          return false;
    }
    for (int i = 0; i < op->nregions; i++)
      if (!adds_to_parts(op->regions[i], handle, apart && (op->code == OP_IF || op->note == &unroll_mark)))
        return false;
  }
  return true;
}

static bool fits(const Op *loop) {
  const LoopInfo *info = loop->at.loop;
  for (int i = 0; i < info->nouts; i++)
    if (info->outs[i] == OUT_STACK && !unroll_count(loop_out(loop, i)->type))
      return false;
  for (int i = 0; i < info->naccs; i++)
    if (!unroll_count(loop_acc(loop, i)->type) || !adds_to_parts(loop->regions[0], loop_acc(loop, i), true))
      return false;
  return true;
}

typedef struct Survey {
  bool unfit;   /* holds what is not copied in parts */
  bool tensors; /* small ones are made */
  bool jagged;  /* small loops run as often as small loops around them say */
} Survey;

/* Marks the small loops; about the number of operations when they have been taken apart. */
static long survey(Survey *s, const Region *r) {
  long n = 0;
  for (Op *op = r->first; op; op = op->next) {
    op->note = NULL;
    s->unfit |= op->code == OP_WHILE;
    for (int i = 0; i < op->nresults; i++)
      s->tensors |= op->results[i]->type.rank && op->code != OP_INDEX && unroll_count(op->results[i]->type);
    long inside = 1;
    for (int i = 0; i < op->nregions; i++)
      inside += survey(s, op->regions[i]);
    if (op->code == OP_LOOP) {
      const int trips = trips_of(op);
      const int copies = is_jagged(op) ? (trips + 1) / 2 : trips;
      if (trips && inside * copies <= MOST_LOOP_OPS && fits(op)) {
        op->note = &unroll_mark;
        s->jagged |= is_jagged(op);
        inside *= copies;
      }
    }
    n += inside;
    if (n > MOST_OPS)
      s->unfit = true;
  }
  return n;
}

static void forget(Op *op, void *arg) {
  (void)arg;
  op->note = NULL;
}

/* What depends on a loop that stays is not known when it is copied. */
static void look_for_owners(Value *v, void *arg) {
  *(bool *)arg &= v->region->owner->note == &unroll_mark;
}
static void forget_unknown(Op *op, void *arg) {
  bool known = true;
  for (int i = 0; op->note == &unroll_mark && i < op->at.loop->nindices; i++)
    size_values(op->at.loop->extents[i], look_for_owners, &known);
  if (!known)
    forget(op, arg);
}

static void look_for_marks(Op *op, void *arg) {
  *(bool *)arg |= op->note == &unroll_mark;
}

static bool choose(Op *loop) {
  Survey s = {0};
  bool any = false;
  survey(&s, loop->regions[0]);
  region_walk(loop->regions[0], forget_unknown, NULL);
  region_walk(loop->regions[0], look_for_marks, &any);
  if (any && (s.tensors || s.jagged) && !s.unfit) {
    loop->note = &unroll_mark;
    return true;
  }
  region_walk(loop->regions[0], forget, NULL);
  return false;
}

/* The outermost loops of many iterations, and where one is not chosen, those inside it. */
static bool choose_in(const Region *r) {
  bool any = false;
  for (Op *op = r->first; op; op = op->next) {
    op->note = NULL;
    const LoopInfo *info = op->code == OP_LOOP ? op->at.loop : NULL;
    if (info && info->nindices && !info->ncarries && !trips_of(op) && choose(op)) {
      any = true;
      continue;
    }
    for (int i = 0; i < op->nregions; i++)
      any |= choose_in(op->regions[i]);
  }
  return any;
}

/* ---- the pass */
static void forget_value(Value *v) {
  v->note = NULL;
}
static void forget_parts(Op *op, void *arg) {
  (void)arg;
  for (int i = 0; i < op->nresults; i++)
    forget_value(op->results[i]);
  for (int i = 0; i < op->nregions; i++)
    for (int k = 0; k < op->regions[i]->nparams; k++)
      forget_value(op->regions[i]->params[k]);
}

static bool unroll_op(Builder *b, const Op *op, ValueMap *map, void *arg) {
  (void)arg;
  if (op->code != OP_LOOP || op->note != &unroll_mark)
    return false;
  unroll_loop(b, op, map);
  return true;
}

void pass_unroll(Module *m) {
  for (Func *f = m->funcs; f; f = f->next) {
    if (func_is_underived(f) || f->is_extern || !choose_in(f->body))
      continue;
    for (int i = 0; i < f->body->nparams; i++)
      forget_value(f->body->params[i]);
    region_walk(f->body, forget_parts, NULL);
    func_rebuild(f, unroll_op, NULL);
    func_simplify(f);
  }
}
