/* Branches on one condition share what they compute.
   The reverse of an `if` runs its side again before it goes back.  What a side computes that an earlier branch on the
   same condition has computed on that side, from the same operands, is yielded by the earlier one, where computing it
   again would take something dear: an exponential, a division.  The other side then yields 0, which nobody reads.
   Results that both sides compute alike are the earlier branch's. */
#include "passes/branch.h"
#include "ir/raw.h"
#include "passes/number.h"
#include "passes/passes_internal.h"

enum { MOST_EARLIER = 6, MOST_SIDE_OPS = 4000 };

struct Branches {
  Arena *arena;
  VEC(Op *) made;
};

Branches *branches_new(Arena *arena) {
  Branches *all = NEW(arena, Branches);
  all->arena = arena;
  return all;
}

/* One side of both: what the later one computes that the earlier one has. */
typedef struct Side {
  Module *module;
  Region *from, *to; /* of the earlier branch, of the later one */
  const Op **table;  /* operations of `from`, by hash */
  size_t cap;
  ValueMap same; /* values of `to` -> of `from` */
  ValueMap read; /* values of `to` -> results of the earlier branch that are read instead */
} Side;

/* ---- what is the same */
static bool is_plain(const Op *op) {
  return op->nresults == 1 && !op->results[0]->type.rank && !op->nregions &&
         (op_info[op->code].group == GROUP_ELEM || op->code == OP_INDEX || op->code == OP_CONST || op->code == OP_SIZE);
}

static uint64_t mix(uint64_t h, uint64_t x) {
  h = (h ^ x) * 0xff51afd7ed558ccdu;
  return h ^ (h >> 32);
}

static uint64_t hash(const Side *s, const Op *op, bool later) {
  uint64_t h = mix(mix((uint64_t)op->code, op_attribute(op)), (uint64_t)op->results[0]->type.kind);
  if (op->code == OP_SIZE)
    h = mix(h, (uint64_t)(uintptr_t)op->at.size);
  for (int i = 0; i < op->noperands; i++)
    h = mix(h, (later ? map_value(&s->same, op->operands[i]) : op->operands[i])->uid);
  return h;
}

static bool equal(const Side *s, const Op *a, const Op *b) {
  if (!op_does_same(a, b))
    return false;
  for (int i = 0; i < a->noperands; i++)
    if (a->operands[i] != map_value(&s->same, b->operands[i]))
      return false;
  return true;
}

static void learn(Side *s) {
  size_t n = 0;
  for (const Op *op = s->from->first; op; op = op->next)
    n++;
  for (s->cap = 16; s->cap < 2 * n; s->cap *= 2) {
  }
  s->table = NEW_ARRAY(s->module->arena, const Op *, s->cap);
  for (const Op *op = s->from->first; op; op = op->next) {
    if (!is_plain(op))
      continue;
    size_t at = hash(s, op, false) & (s->cap - 1);
    while (s->table[at])
      at = (at + 1) & (s->cap - 1);
    s->table[at] = op;
  }
}

static void match(Side *s) {
  for (const Op *op = s->to->first; op; op = op->next) {
    if (!is_plain(op))
      continue;
    for (size_t at = hash(s, op, true) & (s->cap - 1); s->table[at]; at = (at + 1) & (s->cap - 1))
      if (equal(s, s->table[at], op)) {
        map_put(&s->same, op->results[0], s->table[at]->results[0]);
        break;
      }
  }
}

/* ---- what is read */
/* A result of the earlier branch that yields these two. */
static Value *result_of(Module *m, Op *branch, Value *then, Value *otherwise) {
  Region *r[2] = {branch->regions[0], branch->regions[1]};
  Value *yields[2] = {then, otherwise};
  for (int i = 0; i < branch->nresults; i++)
    if (r[0]->yields[i] == then && r[1]->yields[i] == otherwise)
      return branch->results[i];
  for (int w = 0; w < 2; w++) {
    Value **all = NEW_ARRAY(m->arena, Value *, r[w]->nyields + 1);
    for (int i = 0; i < r[w]->nyields; i++)
      all[i] = r[w]->yields[i];
    all[r[w]->nyields] = yields[w];
    region_set_yields(m, r[w], r[w]->nyields + 1, all);
  }
  Value **results = NEW_ARRAY(m->arena, Value *, branch->nresults + 1);
  for (int i = 0; i < branch->nresults; i++)
    results[i] = branch->results[i];
  branch->results = results;
  return op_set_result(m, branch, branch->nresults++, then->type, then->name);
}

static bool is_dear(const Side *s, const Value *v, int depth) {
  const Op *op = v->def;
  if (!op || v->region != s->to || depth == 0 || map_get(&s->read, v) || op->code == OP_INDEX)
    return false;
  if (op_is_expensive(op))
    return true;
  for (int i = 0; i < op->noperands; i++)
    if (is_dear(s, op->operands[i], depth - 1))
      return true;
  return false;
}

/* v is read by what only the later branch has. */
static void frontier(Side *s, Builder *b, Op *branch, int w, Value *v) {
  enum { DEPTH = 6 };
  Value *u = map_get(&s->same, v);
  if (!u || map_get(&s->read, v) || !is_dear(s, v, DEPTH))
    return;
  Value *zero = build_number(b, v->type.kind, 0);
  map_put(&s->read, v, w == 0 ? result_of(s->module, branch, u, zero) : result_of(s->module, branch, zero, u));
}

static void look_in(Side *s, Builder *b, Op *branch, int w, Region *r) {
  for (Op *op = r->last; op; op = op->prev) {
    if (r == s->to && op->nresults == 1 && map_get(&s->same, op->results[0]))
      continue;
    for (int i = 0; i < op->noperands; i++)
      frontier(s, b, branch, w, op->operands[i]);
    for (int i = 0; i < op->nregions; i++) {
      for (int k = 0; k < op->regions[i]->nyields; k++)
        frontier(s, b, branch, w, op->regions[i]->yields[k]);
      look_in(s, b, branch, w, op->regions[i]);
    }
  }
}

/* v, from outside of both, has been made before the earlier branch: in order of creation, as all is made in order. */
static bool is_before(const Op *earlier, const Value *v) {
  return v->uid < earlier->results[0]->uid;
}

/* What both sides of the later branch yield alike is the earlier one's result. */
static void take_results(Side *sides, Module *m, Op *earlier, const Op *later, Value **results) {
  for (int i = 0; i < later->nresults; i++) {
    Value *y[2];
    bool known = results[i] == later->results[i] && !later->results[i]->type.rank, inside = false;
    for (int w = 0; w < 2 && known; w++) {
      Value *yield = later->regions[w]->yields[i];
      y[w] = map_value(&sides[w].same, yield);
      inside |= y[w]->region == earlier->regions[w];
      known = y[w]->region == earlier->regions[w] ||
              (value_is_outside(yield, later->regions[w]) && is_before(earlier, yield));
    }
    if (known && inside)
      results[i] = result_of(m, earlier, y[0], y[1]);
  }
}

static void replace(Side *s, Region *r) {
  for (Op *op = r->first; op; op = op->next) {
    for (int i = 0; i < op->noperands; i++)
      op->operands[i] = map_value(&s->read, op->operands[i]);
    for (int i = 0; i < op->nregions; i++)
      replace(s, op->regions[i]);
  }
  for (int i = 0; i < r->nyields; i++)
    r->yields[i] = map_value(&s->read, r->yields[i]);
}

static void join(Builder *b, Op *earlier, Op *later, Value **results) {
  Module *m = b->module;
  Side sides[2];
  for (int w = 0; w < 2; w++) {
    sides[w] = (Side){.module = m, .from = earlier->regions[w], .to = later->regions[w]};
    sides[w].same.arena = sides[w].read.arena = m->arena;
    learn(&sides[w]);
    match(&sides[w]);
  }
  take_results(sides, m, earlier, later, results);
  Builder before = *b; /* the zeros stand where the earlier branch sees them */
  for (int w = 0; w < 2; w++) {
    before.region = earlier->regions[1 - w];
    before.share_top = before.region; /* what is around may have been made later */
    for (int i = 0; i < later->nresults; i++)
      if (results[i] == later->results[i])
        frontier(&sides[w], &before, earlier, w, later->regions[w]->yields[i]);
    look_in(&sides[w], &before, earlier, w, later->regions[w]);
    replace(&sides[w], later->regions[w]);
  }
}

static bool in_sight(const Builder *b, const Op *op) {
  for (const Region *r = b->region; r; r = r->owner ? r->owner->parent : NULL)
    if (r == op->parent)
      return true;
  return false;
}

void branch_join(Branches *all, const Builder *b, Op *branch, Value **results) {
  Builder own = *b;
  int tries = 0;
  for (int i = 0; i < branch->nresults; i++)
    results[i] = branch->results[i];
  for (int k = 0; k < all->made.n && tries < MOST_EARLIER; k++) { /* the first has what the others read of it */
    Op *earlier = all->made.at[k];
    if (earlier->operands[0] != branch->operands[0] || !earlier->nresults || !in_sight(b, earlier))
      continue;
    tries++;
    join(&own, earlier, branch, results);
  }
  vec_push(all->arena, all->made, branch);
}
