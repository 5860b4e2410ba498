/* Which elements of a tensor that a loop changes stay as they are: see stays.h.

   An iteration is told by the indices of the loops in order around a place, the outermost first.  A write and a read
   have some of these loops in common.  Where on an axis the write's index is  k * (a loop's index) + what the loop does
   not change,  the write touches an element only in one iteration of that loop, and the difference of the two indices
   says whether that is before the iteration that reads or after it, or is that one, or, where it is no multiple of k,
   that no iteration touches it; then the next loop inward decides,
   and in the same iteration of all of them the order of the versions does.  If all writes that can touch an element are
   done when it is read, the tensor has it at the end; if none of them is, it had it at the beginning. */
#include "passes/stays.h"

/* ---- what an iteration makes of the tensor */
static bool add_version(Changes *c, Value *v) {
  if (c->nversions == MOST_VERSIONS)
    return false;
  c->versions[c->nversions] = v;
  c->version_number[c->nversions++] = c->number++;
  return true;
}

static bool add_write(Changes *c, Op *op) {
  if (c->nwrites == MOST_VERSIONS)
    return false;
  c->writes[c->nwrites] = op;
  c->write_number[c->nwrites++] = c->number++;
  return true;
}

typedef struct Adds {
  Changes *c;
  const Value *handle;
  bool all;
} Adds;
static void look_for_add(Op *op, void *arg) {
  Adds *a = arg;
  if (op->code == OP_ACC_ADD && op->operands[0] == a->handle)
    a->all = a->all && add_write(a->c, op);
}

static Value *spine(Changes *c, Value *v, const Region *r);

/* From a loop's result to the initial value. */
static Value *through_loop(Changes *c, const Op *op, int i) {
  const LoopInfo *info = op->at.loop;
  if (i < info->ncarries) {
    Value *carry = loop_carry(op, i);
    return spine(c, op->regions[0]->yields[i], op->regions[0]) == carry && add_version(c, carry) ? op->operands[i]
                                                                                                 : NULL;
  }
  Adds adds = {.c = c, .handle = op->regions[0]->params[info->nindices + i], .all = i < info->ncarries + info->naccs};
  if (adds.all)
    region_walk(op->regions[0], look_for_add, &adds);
  return adds.all ? op->operands[i] : NULL;
}

/* From v back to what region r does not make; NULL where something else is on the way. */
static Value *spine(Changes *c, Value *v, const Region *r) {
  while (v && v->def && v->region == r) {
    Op *op = v->def;
    if (!add_version(c, v))
      return NULL;
    if (op->code == OP_UPDATE) {
      v = add_write(c, op) ? op->operands[0] : NULL;
    } else if (op->code == OP_IF) {
      Value *x = spine(c, op->regions[0]->yields[v->index], op->regions[0]);
      Value *y = spine(c, op->regions[1]->yields[v->index], op->regions[1]);
      v = x == y ? x : NULL;
    } else {
      v = op->code == OP_LOOP ? through_loop(c, op, v->index) : NULL;
    }
  }
  return v;
}

Changes *changes_of(Module *m, const Op *loop, int carry) {
  Changes *c = NEW(m->arena, Changes);
  *c = (Changes){.loop = loop, .carry = carry, .proofs = MOST_PROOFS};
  Value *entry = loop_carry(loop, carry);
  c->known = spine(c, loop->regions[0]->yields[carry], loop->regions[0]) == entry && add_version(c, entry);
  return c;
}

/* -1: it is none. */
static int number_of(const Changes *c, const Value *version) {
  for (int i = 0; c->known && i < c->nversions; i++)
    if (c->versions[i] == version)
      return c->version_number[i];
  return -1;
}

bool changes_have(const Changes *c, const Value *version) {
  return number_of(c, version) >= 0;
}

/* ---- before or after */
typedef enum Order { UNKNOWN, BEFORE, AFTER, SAME, BEFORE_OR_SAME, AFTER_OR_SAME, NEVER } Order;

typedef struct Nest {
  const Op *loops[MAX_RANK]; /* in order, around the read, from the outermost */
  int n;
} Nest;

static bool find_nest(Nest *nest, const Op *outermost, const Region *where) {
  const Op *found[MAX_RANK];
  int n = 0;
  for (const Region *r = where; r && r->owner; r = r->owner->parent) {
    if (r->owner->code == OP_LOOP && r->owner->at.loop->ncarries) {
      if (n == MAX_RANK)
        return false;
      found[n++] = r->owner;
    }
    if (r->owner == outermost)
      break;
  }
  if (!n || found[n - 1] != outermost) { /* a place somewhere else */
    found[0] = outermost;
    n = 1;
  }
  for (int i = 0; i < n; i++)
    nest->loops[i] = found[n - 1 - i];
  nest->n = n;
  return true;
}

typedef struct Free {
  const Nest *nest;
  int level;
  bool yes;
} Free;
static void look_free(Value *v, void *arg) {
  Free *f = arg;
  bool known = value_is_outside(v, f->nest->loops[0]->regions[0]);
  for (int i = 0; i <= f->level && !known; i++)
    known = v == loop_index(f->nest->loops[i], 0);
  f->yes = f->yes && known;
}

typedef struct Step {
  const Value *index;
  const Size *step;
} Step;
static const Size *at_step(Value *v, void *arg) {
  const Step *s = arg;
  return v == s->index ? s->step : NULL;
}

/* By an axis on which the write is at another place in each iteration of a loop of the nest. */
static Order by_axis(Module *m, Changes *c, const Nest *nest, int level, const Element *e, const Op *write, int axis) {
  const Size *w = size_of_value(m, write->operands[2 + axis]), *slope, *rest;
  Value *index = loop_index(nest->loops[level], 0);
  Free f = {.nest = nest, .level = level, .yes = true};
  int64_t k, by;
  if (!size_linear_in(m, w, index, &slope, &rest) || !size_is_const(slope, &k) || k == 0)
    return UNKNOWN;
  size_values(w, look_free, &f);
  if (!f.yes)
    return UNKNOWN;
  if (e->step)
    w = size_map(m, w, at_step, &(Step){loop_index(nest->loops[0], 0), e->step});
  const Size *ahead = size_sub(m, w, e->indices[axis]), *one = size_const(m, 1);
  if (k < 0)
    ahead = size_scale(m, ahead, -1);
  if (size_is_const(ahead, &by))
    return by % k ? NEVER : by > 0 ? BEFORE : by < 0 ? AFTER : SAME;
  if (c->proofs < 4)
    return UNKNOWN;
  c->proofs -= 4;
  const Size *behind = size_scale(m, ahead, -1);
  return size_nonnegative(m, size_sub(m, ahead, one))    ? BEFORE
         : size_nonnegative(m, size_sub(m, behind, one)) ? AFTER
         : size_nonnegative(m, ahead)                    ? BEFORE_OR_SAME
         : size_nonnegative(m, behind)                   ? AFTER_OR_SAME
                                                         : UNKNOWN;
}

static Order by_level(Module *m, Changes *c, const Nest *nest, int level, const Element *e, const Op *write) {
  Order best = UNKNOWN;
  for (int axis = 0; axis < e->n && axis < write->noperands - 2 && best != BEFORE && best != AFTER; axis++) {
    const Order o = by_axis(m, c, nest, level, e, write, axis);
    if (o == NEVER)
      return NEVER;
    if (best == UNKNOWN || o == BEFORE || o == AFTER || o == SAME)
      best = o == UNKNOWN ? best : o;
  }
  return best;
}

static bool is_inside(const Op *op, const Op *loop) {
  for (const Region *r = op->parent; r->owner; r = r->owner->parent)
    if (r->owner == loop)
      return true;
  return false;
}

/* When the write touches the element: before it is read, or after that. */
static Order order_of(Module *m, Changes *c, const Nest *nest, const Element *e, int number, int w) {
  const Op *write = c->writes[w];
  Order maybe = SAME;
  for (int level = 0; level < nest->n && is_inside(write, nest->loops[level]); level++) {
    const Order o = by_level(m, c, nest, level, e, write);
    if (o == NEVER)
      return maybe == SAME ? NEVER : maybe;
    if (o == UNKNOWN)
      return UNKNOWN;
    if (o == BEFORE || o == AFTER)
      return maybe == SAME || maybe == o ? o : UNKNOWN;
    const Order strict = o == BEFORE_OR_SAME ? BEFORE : o == AFTER_OR_SAME ? AFTER : SAME;
    if (strict != SAME && maybe != SAME && maybe != strict)
      return UNKNOWN;
    maybe = strict == SAME ? maybe : strict;
  }
  const Order o = c->write_number[w] > number ? BEFORE : AFTER;
  return maybe == SAME || maybe == o ? o : UNKNOWN;
}

/* ---- whether it pays */
static const Size *trips_of(Module *m, const Op *loop) {
  const Size *trips = loop->at.loop->extents[0];
  const Term *term = trips->nterms == 1 ? &trips->terms[0] : NULL;
  const Value *atom = term && term->npowers == 1 ? term->powers[0].atom->value : NULL;
  if (atom && atom->def && atom->def->code == OP_MAX && value_is_zero(atom->def->operands[1]))
    return size_of_value(m, atom->def->operands[0]); /* the larger of it and 0 */
  return trips;
}

/* An axis has about as many elements as the loop has iterations, or a few times as many, and the tensor not many more
   than would be recorded. */
static bool fits(Module *m, const Changes *c, const Element *e) {
  enum { FEW_TIMES = 4 };
  const Type type = loop_carry(c->loop, c->carry)->type;
  const Size *trips = trips_of(m, c->loop);
  const Growth recorded = growth_times(size_growth(m, trips), e->count);
  bool any = false;
  for (int i = 0; i < type.rank; i++)
    for (int times = 1; times <= FEW_TIMES && !any; times++)
      any = size_is_const(size_sub(m, type.dims[i], size_scale(m, trips, times)), NULL);
  return any && size_growth(m, type_count(m, type)).degree <= recorded.degree;
}

Stays element_stays(Module *m, Changes *c, const Element *e) {
  Nest nest;
  bool end = true, start = true;
  const int number = number_of(c, e->version);
  if (number < 0 || !fits(m, c, e) || !find_nest(&nest, c->loop, e->where))
    return STAYS_NOWHERE;
  for (int w = 0; w < c->nwrites && (end || start); w++) {
    const Order o = order_of(m, c, &nest, e, number, w);
    end &= o == BEFORE || o == NEVER;
    start &= o == AFTER || o == NEVER;
  }
  return start ? STAYS_AT_START : end ? STAYS_AT_END : STAYS_NOWHERE;
}
