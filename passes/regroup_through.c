/* Additions to a tensor of an iteration go where its elements go on to; see regroup.h.
       loop i acc(A) { B = loop r acc(B = 0) { s = ..; loop c { acc_add B[c], s * w[r, c] } }
                       loop c { acc_add A[c], -B[c] } }
   as a difference that is named before it goes through a matrix has it, is
       loop i acc(A) { loop r { s = ..; loop c { acc_add A[c], -(s * w[r, c]) } } }
   where all these additions can then be done behind the loop over i. */
#include "ir/raw.h"
#include "passes/gather.h"
#include "passes/passes_internal.h"
#include "passes/regroup.h"

enum { MOST_ADDS = 16 };

typedef struct Through {
  const Regroup *g;
  Op *local, *reader;  /* the loop of B; the loop that adds its elements to A */
  const Value *handle; /* B in its loop */
  Op *target;          /* the addition to A */
  bool negated;
  int n; /* additions to B, and what stands for each */
  Op *adds[MOST_ADDS], *instead[MOST_ADDS];
  bool good;
} Through;

/* ---- who reads B */
static int uses_in(const Region *r, const Value *v, Op **user) {
  int n = 0;
  for (Op *op = r->first; op; op = op->next) {
    for (int i = 0; i < op->noperands; i++)
      if (op->operands[i] == v) {
        *user = op;
        n++;
      }
    for (int i = 0; i < op->nregions; i++)
      n += uses_in(op->regions[i], v, user);
  }
  for (int i = 0; i < r->nyields; i++)
    n += r->yields[i] == v ? 2 : 0; /* one too many */
  return n;
}

static Op *only_user(const Region *r, const Value *v) {
  Op *user = NULL;
  return uses_in(r, v, &user) == 1 ? user : NULL;
}

/* A loop over all of B, each element for itself. */
static bool reads_each(const Op *loop, const Op *index, Type t) {
  const LoopInfo *info = loop->code == OP_LOOP ? loop->at.loop : NULL;
  if (!info || info->ncarries || info->nindices != t.rank || index->noperands != 1 + t.rank || index->at.checks)
    return false;
  for (int i = 0; i < t.rank; i++)
    if (info->extents[i] != t.dims[i] || index->operands[1 + i] != loop_index(loop, i))
      return false;
  return true;
}

/* An index of the reader, or what is there before B's loop. */
static bool is_in_sight(const Through *t, const Value *v) {
  return !value_is_outside(v, t->reader->regions[0]) ? !v->def : v->region != t->local->parent || !v->def;
}

static bool find_target(Through *t, const Value *b) {
  Op *op = only_user(t->local->parent, b);
  if (!op || op->code != OP_INDEX || !op->parent->owner || op->parent == t->local->parent)
    return false;
  t->reader = op->parent->owner;
  if (t->reader->parent != t->local->parent || !reads_each(t->reader, op, b->type))
    return false;
  do {
    t->negated ^= op->code == OP_NEG;
    op = only_user(t->reader->regions[0], op->results[0]);
  } while (op && op->code == OP_NEG && op->parent == t->reader->regions[0]);
  if (!op || op->code != OP_ACC_ADD || op->parent != t->reader->regions[0] || op->at.checks ||
      op->operands[0]->region != t->g->body)
    return false;
  t->target = op;
  for (int i = 0; i < addition_nindices(op); i++)
    if (!is_in_sight(t, addition_indices(op)[i]))
      return false;
  return true;
}

/* ---- what is added to B */
/* In loops alone, each element for itself; `apart`: below something else. */
static void find_adds(Through *t, Region *r, bool apart) {
  for (Op *op = r->first; op; op = op->next) {
    for (int i = 0; i < op->nregions; i++)
      find_adds(t, op->regions[i], apart || op->code != OP_LOOP || op->at.loop->ncarries);
    if (op->code != OP_ACC_ADD || op->operands[0] != t->handle)
      continue;
    if (apart || t->n == MOST_ADDS || op->at.checks || op->operands[1]->type.rank ||
        addition_nindices(op) != t->handle->type.rank)
      t->good = false;
    else
      t->adds[t->n++] = op;
  }
}

/* The same addition to A. */
static Op *add_to_target(const Through *t, Op *add) {
  const int n = addition_nindices(t->target);
  Value **idx = NEW_ARRAY(t->g->module->arena, Value *, n + 1);
  for (int i = 0; i < n; i++) {
    Value *v = addition_indices(t->target)[i];
    idx[i] = value_is_outside(v, t->reader->regions[0]) ? v : addition_indices(add)[v->index];
  }
  Builder b = build_aside(add->parent);
  b.loc = add->loc;
  b.origin = add->origin;
  Value *v = t->negated ? build_neg(&b, add->operands[1]) : add->operands[1];
  build_acc_add(&b, t->target->operands[0], v, n, idx, 0);
  Op *made = b.region->last;
  build_settle(&b, add->parent, add);
  return made;
}

/* Whether it can be done behind by one of these, beside which it stands. */
static bool goes_beside(const Through *t, const Op *add, Value *const *terms) {
  for (int i = 0; i < t->n; i++)
    if (terms[i] && terms[i]->region == add->parent && regroup_is_linear_in(t->g, add, terms[i], NULL))
      return true;
  return false;
}

/* Whether all of them can be done behind the loop over i: through what they multiply, or beside it. */
static bool all_go_behind(const Through *t) {
  Value *terms[MOST_ADDS];
  for (int i = 0; i < t->n; i++)
    terms[i] = regroup_term(t->g, t->instead[i], NULL);
  for (int i = 0; i < t->n; i++)
    if (!terms[i] && !goes_beside(t, t->instead[i], terms))
      return false;
  return true; /* beside one that has a term */
}

static bool go_through(const Regroup *g, Op *local, int acc) {
  Through t = {.g = g, .local = local, .handle = loop_acc(local, acc), .good = true};
  const Value *b = loop_acc_result(local, acc);
  if (!b->type.rank || !value_is_zero(local->operands[local->at.loop->ncarries + acc]) || !find_target(&t, b))
    return false;
  find_adds(&t, local->regions[0], false);
  if (!t.good || !t.n)
    return false;
  for (int i = 0; i < t.n; i++)
    t.instead[i] = add_to_target(&t, t.adds[i]);
  const bool good = all_go_behind(&t);
  for (int i = 0; i < t.n; i++)
    op_unlink(good ? t.adds[i] : t.instead[i]);
  if (good)
    op_unlink(t.target);
  return good;
}

static bool through_in(const Regroup *g, Region *r, int depth) {
  enum { DEEPEST = 6 };
  bool any = false;
  for (Op *op = r->first; op; op = op->next) {
    if (op->code != OP_LOOP || op->at.loop->ncarries || depth == DEEPEST)
      continue;
    for (int i = 0; i < op->at.loop->naccs; i++)
      any |= go_through(g, op, i);
    any |= through_in(g, op->regions[0], depth + 1);
  }
  return any;
}

bool regroup_through(const Regroup *g) {
  return through_in(g, g->body, 0);
}
