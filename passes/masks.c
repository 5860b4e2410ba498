/* Masks: where the bar of a value is exactly 0 by construction, for the rule of exact zeros.
   A bar reaches a value plainly if it comes through operations that pass on all of it.  It is masked where the other
   arm of a select is taken, where a branch is not, and at elements that nobody reads (slices, gathers, filters,
   elements that an update replaces).  A value none of whose uses is plain is masked: its bar times a factor that is not
   finite, as log(x) x is at 0 behind where(x > 0, ..), must be 0 there.  Since the primal's uses decide, and not the
   shape of the code that is made, it does not matter what has a name and what is stored. What is not seen counts as
   masked: that costs a compare and a mask, never a digit. */
#include "ir/size.h"
#include "passes/activity.h"

enum { MAX_SWEEPS = 8, MAX_VERSIONS = 64 };

typedef struct Masks {
  Activity *a;
  Module *module;
  bool changed;
  ValueMap *arm;     /* of the innermost branch's arm: values from outside that it uses plainly, to themselves */
  ValueTable pieces; /* of small tensors: the elements that have been seen to be read plainly */
} Masks;

static bool plain(const Masks *m, const Value *v) {
  return activity_has(m->a, v, PLAIN);
}

/* Nothing that may be left out stands between the region and the place where v is defined. */
static bool always_reached(const Region *r, const Value *v) {
  for (; r && r != v->region; r = r->owner ? r->owner->parent : NULL)
    if (r->owner && r->owner->code == OP_IF)
      return false;
  return r != NULL;
}

/* A use of x in region r, by what has the bar of y or passes on all of it. The first arm around r is the innermost. */
static void pass(const Masks *m, const Region *r, Value *x, bool y_plain) {
  if (!y_plain || !activity_has(m->a, x, VARIED))
    return;
  if (always_reached(r, x))
    activity_set(m->a, x, PLAIN);
  else
    map_put(m->arm, x, x);
}

/* ---- index maps */

/* coefficient * (an index of a loop, or its last value minus it), coefficient >= 0. */
typedef struct Stride {
  const Size *coefficient, *extent;
  const Value *index;
} Stride;

typedef struct FindIndex {
  const Region *home; /* of the tensor: only loops inside it make the position vary */
  Value *index;
} FindIndex;

static void find_index(Value *v, void *arg) {
  FindIndex *f = arg;
  const Op *loop = v->def ? NULL : v->region->owner;
  if (loop && loop->code == OP_LOOP && v->index < loop->at.loop->nindices && v->region != f->home &&
      !value_is_outside(v, f->home))
    f->index = v;
}

/* Splits a position into strides and a rest that no such loop makes vary; false where it is of another form. */
static bool split(Module *m, const Size *position, const Region *home, Stride *strides, int *n, const Size **rest) {
  for (;;) {
    FindIndex f = {.home = home};
    const Size *c;
    size_values(position, find_index, &f);
    *rest = position;
    if (!f.index)
      return true;
    if (*n == MAX_RANK || !size_linear_in(m, position, f.index, &c, rest))
      return false;
    const LoopInfo *info = f.index->region->owner->at.loop;
    const Size *extent = info->extents[f.index->index];
    if (!size_nonnegative(m, c)) { /* downwards: from its last value on */
      *rest = size_add(m, *rest, size_mul(m, c, size_sub(m, extent, size_const(m, 1))));
      c = size_scale(m, c, -1);
    }
    strides[(*n)++] = (Stride){c, extent, f.index};
    position = *rest;
  }
}

/* True if a position takes every value below `dim`: its strides, each as long as what the smaller ones reach together.
 */
static bool covers_axis(Module *m, Stride *strides, int n, const Size *dim) {
  const Size *reach = size_const(m, 1);
  while (n) {
    int i = 0;
    while (i < n && !size_nonnegative(m, size_sub(m, reach, strides[i].coefficient)))
      i++;
    if (i == n)
      return false;
    const Size *steps = size_sub(m, strides[i].extent, size_const(m, 1));
    reach = size_add(m, reach, size_mul(m, strides[i].coefficient, steps));
    strides[i] = strides[--n];
  }
  return reach == dim || size_nonnegative(m, size_sub(m, reach, dim));
}

/* The positions below 64 that constant strides reach from a constant on; 0 where something is not constant. */
static uint64_t positions(const Stride *strides, int n, const Size *rest) {
  int64_t from, c, extent;
  if (!size_is_const(rest, &from) || from < 0 || from > 63)
    return 0;
  uint64_t set = UINT64_C(1) << from;
  for (int i = 0; i < n; i++) {
    if (!size_is_const(strides[i].coefficient, &c) || !size_is_const(strides[i].extent, &extent))
      return 0;
    uint64_t all = 0;
    for (int64_t k = 0; k < extent && k * c < 64; k++)
      all |= set << (k * c);
    set = all;
  }
  return set;
}

/* What is read of x by x[idx..], in whole axes and, for a tensor of at most 64 elements, element by element. */
typedef struct Reach {
  bool all;
  uint64_t elements;
} Reach;

static void reach_axis(Module *m, Reach *r, Stride *strides, int n, const Size *rest, const Size *dim) {
  int64_t extent;
  uint64_t elements = 0;
  const uint64_t here = positions(strides, n, rest);
  if (size_is_const(dim, &extent) && extent <= 64)
    for (int64_t p = 0; p < 64; p++)
      for (int64_t q = 0; q < extent && (r->elements >> p & 1) && p * extent + q < 64; q++)
        if (here >> q & 1)
          elements |= UINT64_C(1) << (p * extent + q);
  r->elements = elements;
  r->all = r->all && size_is(rest, 0) && covers_axis(m, strides, n, dim);
}

static Reach reach_of(const Masks *m, const Op *read) {
  VEC(const Value *) used = {0};
  const Value *x = read->operands[0];
  Reach r = {.all = true, .elements = 1};
  for (int j = 0; j < x->type.rank; j++) {
    Stride strides[MAX_RANK] = {{0}};
    const Size *rest = size_const(m->module, 0), *dim = x->type.dims[j];
    int n = 0;
    if (j + 1 >= read->noperands)
      strides[n++] = (Stride){size_const(m->module, 1), dim, NULL};
    else if (!split(m->module, size_of_value(m->module, read->operands[j + 1]), x->region, strides, &n, &rest))
      return (Reach){0};
    for (int i = 0; i < n && strides[i].index; i++) {
      for (int k = 0; k < used.n; k++)
        if (used.at[k] == strides[i].index)
          return (Reach){0}; /* a diagonal */
      vec_push(m->module->arena, used, strides[i].index);
    }
    reach_axis(m->module, &r, strides, n, rest, dim);
  }
  return r;
}

/* True if x[idx..], with the places that read the same tensor and have been seen, reaches every element of x. */
static bool covers(Masks *m, const Op *read) {
  const Value *x = read->operands[0];
  const Reach r = reach_of(m, read);
  int64_t count;
  if (r.all || !size_is_const(type_count(m->module, x->type), &count) || count > 64)
    return r.all;
  uint64_t *seen = table_at(&m->pieces, x);
  *seen |= r.elements;
  return *seen == UINT64_MAX >> (64 - count);
}

/* ---- operations */

/* A tensor that a loop carries, as it is in an iteration before or after some of its elements are replaced.  Its reads
   there are of what other iterations wrote: all of it is taken to be read, and nothing to be written in vain, but for
   what the tensor was before the loop. */
static bool is_carried(const Value *x) {
  for (int i = 0; i < MAX_VERSIONS && x->def && x->def->code == OP_UPDATE; i++)
    x = x->def->operands[0];
  const Op *owner = x->def ? NULL : x->region->owner;
  return owner && (owner->code == OP_WHILE || (owner->code == OP_LOOP && x->index >= owner->at.loop->nindices));
}

/* select(c, attach(x, 0), x), either way round: x counts as constant where its slope is not finite, as log of a sum of
   0.  What leads there is taken for finite, or for a function whose slope is seen to be infinite. */
static bool guards(const Op *op) {
  for (int i = 1; i < 3; i++) {
    const Op *constant = op->operands[i]->def;
    if (constant && constant->code == OP_ATTACH && constant->operands[0] == op->operands[3 - i])
      return true;
  }
  return false;
}

/* select(x < c, c, x) with a constant c, as relu is: what x depends on is finite where it loses. */
static bool bounds(const Op *op) {
  const Op *test = op->operands[0]->def;
  if (!test || (test->code != OP_LT && test->code != OP_LE))
    return false;
  for (int i = 1; i < 3; i++)
    if (value_is_const(op->operands[3 - i]) &&
        (op->operands[i] == test->operands[0] || op->operands[i] == test->operands[1]))
      return true;
  return false;
}

static void masks_region(Masks *m, Region *r);

/* What a carry's iterations pass on is plain if both its result's bar and the carry's own are; that of the carry is
   assumed to be so until its uses say otherwise. */
static void masks_carries(Masks *m, const Op *op, const Region *body, int n, int first_param, bool enter) {
  for (int i = 0; i < n; i++) {
    const Value *carry = body->params[first_param + i];
    if (!enter) {
      pass(m, op->parent, op->operands[i], plain(m, carry) && !activity_has(m->a, carry, REPLACED));
      if (activity_has(m->a, carry, ASSUMED) && !plain(m, carry)) {
        activity_clear(m->a, carry, ASSUMED);
        m->changed = true;
      }
      continue;
    }
    const bool dead = !activity_has(m->a, op->results[i], USEFUL); /* only the iterations read it */
    pass(m, body, body->yields[i], activity_has(m->a, carry, ASSUMED) && (dead || plain(m, op->results[i])));
  }
}

static void masks_loop(Masks *m, const Op *op) {
  const LoopInfo *info = op->at.loop;
  Region *body = op->regions[0];
  const int nc = info->ncarries;
  masks_carries(m, op, body, nc, info->nindices, true);
  for (int i = 0; i < info->naccs; i++) {
    const bool y_plain = plain(m, loop_acc_result(op, i));
    if (y_plain)
      activity_set(m->a, loop_acc(op, i), PLAIN);
    pass(m, op->parent, op->operands[nc + i], y_plain);
  }
  for (int i = 0; i < info->nouts; i++)
    pass(m, body, body->yields[nc + i], plain(m, loop_out(op, i)));
  masks_region(m, body);
  masks_carries(m, op, body, nc, info->nindices, false);
}

static void masks_index(Masks *m, const Op *op) {
  Value *x = op->operands[0];
  /* What an arm reads depends on the iterations in which it is taken: of other tensors, it is not whole. */
  if (plain(m, op->results[0]) && !plain(m, x) && always_reached(op->parent, x))
    pass(m, op->parent, x, is_carried(x) || covers(m, op));
}

typedef struct BothArms {
  const Masks *m;
  const Op *branch;
  const ValueMap *other;
} BothArms;

static void pass_both(const Value *x, Value *same, void *arg) {
  const BothArms *both = arg;
  if (map_get(both->other, x))
    pass(both->m, both->branch->parent, same, true);
}

/* What is used plainly in both arms is so in front of the branch. */
static void masks_if(Masks *m, const Op *op) {
  ValueMap *around = m->arm, arms[2];
  for (int r = 0; r < 2; r++) {
    arms[r] = (ValueMap){.arena = m->module->arena};
    m->arm = &arms[r];
    for (int i = 0; i < op->nresults; i++)
      pass(m, op->regions[r], op->regions[r]->yields[i], plain(m, op->results[i]));
    masks_region(m, op->regions[r]);
  }
  m->arm = around;
  map_each(&arms[0], pass_both, &(BothArms){m, op, &arms[1]});
}

static void masks_op(Masks *m, const Op *op) {
  const bool y = op->nresults && plain(m, op->results[0]);
  switch (op->code) {
  case OP_LOOP: masks_loop(m, op); return;
  case OP_WHILE: {
    Region *body = op->regions[1];
    masks_carries(m, op, body, op->noperands, 0, true);
    masks_region(m, body);
    masks_carries(m, op, body, op->noperands, 0, false);
    return;
  }
  case OP_IF: masks_if(m, op); return;
  case OP_ACC_ADD: pass(m, op->parent, op->operands[1], plain(m, op->operands[0])); return;
  case OP_CALL:
  case OP_REQUIRE: return;
  case OP_INDEX: masks_index(m, op); return;
  case OP_MULZ: return; /* that it is not a plain product says that either factor may be 0 by construction */
  case OP_DIVZ: pass(m, op->parent, op->operands[0], y); return;
  case OP_UPDATE:
    pass(m, op->parent, op->operands[1], y);
    if (is_carried(op->operands[0])) {
      pass(m, op->parent, op->operands[0], y);
      activity_set(m->a, op->operands[0], REPLACED);
    }
    return;
  case OP_ATTACH: pass(m, op->parent, op->operands[1], y); return;
  case OP_POW_BELOW:
    for (int k = 0; k < 2; k++)
      pass(m, op->parent, op->operands[k], y);
    return;
  case OP_SELECT:
    for (int k = 1; k < 3; k++)
      pass(m, op->parent, op->operands[k], y && (bounds(op) || guards(op)));
    return;
  default:
    for (int k = 0; k < op->noperands; k++)
      pass(m, op->parent, op->operands[k], y);
  }
}

static void masks_region(Masks *m, Region *r) {
  for (const Op *op = r->last; op; op = op->prev)
    masks_op(m, op);
}

typedef struct Assumption {
  Activity *a;
  bool plain;
} Assumption;
static void assume(Op *op, void *arg) {
  const Assumption *all = arg;
  const Region *body = op->code == OP_LOOP ? op->regions[0] : op->code == OP_WHILE ? op->regions[1] : NULL;
  for (int i = 0; body && i < body->nparams; i++)
    if (all->plain)
      activity_set(all->a, body->params[i], ASSUMED);
    else
      activity_clear(all->a, body->params[i], ASSUMED);
}

void activity_masks(Activity *a, Func *f, const bool *plain_results) {
  Masks m = {.a = a, .module = f->module, .changed = true, .pieces = {.arena = f->module->arena}};
  region_walk(f->body, assume, &(Assumption){.a = a, .plain = true});
  for (int sweeps = 0; m.changed; sweeps++) {
    m.changed = false;
    if (sweeps == MAX_SWEEPS)
      region_walk(f->body, assume, &(Assumption){.a = a, .plain = false});
    activity_clear_all(a, PLAIN);
    table_clear(&m.pieces, UINT64_MAX);
    for (int i = 0; i < f->body->nyields; i++)
      pass(&m, f->body, f->body->yields[i], plain_results[i]);
    masks_region(&m, f->body);
  }
}
