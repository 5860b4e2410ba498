/* What is computed twice is kept.
   Re-execution makes the reverse of a loop compute again what the loop before it has computed.  For two loops A and B
   of one region over one index space (B may run it backwards, as the reverse of a loop with carries does) this pass
   finds the values of B that A has too.  Those at the frontier, which B uses for something new, are stacked by A and
   read by B, where computing them again would take more than a load: an exponential, a division, a reduction. A stack
   is a number an iteration.  Numbers of loops inside an iteration are kept only where the iteration is itself inside a
   loop, so that they are local to it, or a step of a sequential one, whose states are kept as well; where the iteration
   makes a tensor of as many numbers anyway, as a row of weights; or where B is to be run for many seeds. */
#include "ir/raw.h"
#include "passes/growth.h"
#include "passes/number.h"
#include "passes/passes_internal.h"
#include "passes/rename.h"

enum { MAX_BACK = 12, MAX_PATH = 6, LARGE = 20000, CONE_SLOTS = 512 };

typedef struct Known {
  Number number;
  Value *value;
  bool mirrored; /* `value` is sigmoid(x), and this is sigmoid(-x): to be made, which costs little beside the other */
  struct Known *next;
} Known;

typedef struct Keep {
  Module *module;
  Func *func;
  bool many_seeds; /* B is run for many seeds, A once: numbers of inner loops are kept too */
  Numbering numbers;
  Known **known; /* scalars of A's body, by number */
  size_t buckets;
  ValueMap kept;     /* values of B -> what is read instead */
  ValueMap compared; /* values of B that something is to be equal to, as an element to the largest */
} Keep;

static Op *op_a(const Keep *k) {
  return (Op *)(uintptr_t)k->numbers.a;
}
static Op *op_b(const Keep *k) {
  return (Op *)(uintptr_t)k->numbers.b;
}

/* ---- what A has */

static void learn(Keep *k, Value *v, Number number, bool mirrored) {
  Known *known = NEW(k->module->arena, Known);
  Known **slot = &k->known[number.x % k->buckets];
  *known = (Known){.number = number, .value = v, .mirrored = mirrored, .next = *slot};
  *slot = known;
}

static void learn_mirrored(Keep *k, const Op *op) {
  const Kind kind = op->results[0]->type.kind;
  const Number x = number_of_value(&k->numbers, op->operands[0]);
  learn(k, op->results[0], number_of_unary(OP_SIGMOID, kind, number_of_unary(OP_NEG, kind, x)), true);
}

static void learn_region(Keep *k, const Region *r) {
  for (const Op *op = r->first; op; op = op->next) {
    for (int i = 0; i < op->nresults; i++) {
      Value *v = op->results[i];
      if (v->type.rank || value_is_const(v))
        continue;
      if (op->code == OP_SIGMOID)
        learn_mirrored(k, op);
      learn(k, v, number_of_value(&k->numbers, v), false);
    }
    if (op->code == OP_LOOP)
      learn_region(k, op->regions[0]);
  }
}

static const Known *known_as(const Keep *k, Value *v) {
  if (v->type.rank || value_is_const(v) || value_is_outside(v, op_b(k)->regions[0]))
    return NULL;
  const Number number = number_of_value(&k->numbers, v);
  for (const Known *e = k->known[number.x % k->buckets]; e; e = e->next)
    if (number_equal(e->number, number) && type_equal(e->value->type, v->type))
      return e;
  return NULL;
}

/* ---- what is worth it */
bool op_is_expensive(const Op *op) {
  switch (op->code) {
  case OP_DIV: return kind_is_float(op->results[0]->type.kind);
  case OP_LOOP:
  case OP_DIVZ:
  case OP_REM:
  case OP_MOD: return true;
  case OP_NEG:
  case OP_ABS:
  case OP_SIGN:
  case OP_FLOOR:
  case OP_CEIL:
  case OP_ROUND:
  case OP_TRUNC:
  case OP_CAST: return false;
  default:
    return op_info[op->code].group == GROUP_ELEM && op_info[op->code].arity == 1 &&
           kind_is_float(op->results[0]->type.kind);
  case OP_POW:
  case OP_POW_BELOW:
  case OP_ATAN2:
  case OP_HYPOT: return true;
  }
}

/* What a value is computed of, each looked at once: paths through shared operands are exponentially many. */
typedef struct Cone {
  const Keep *k;
  const Value *seen[CONE_SLOTS]; /* by uid, the next free slot */
  int n;
} Cone;

/* False where v has been seen, or the cone is too large to go on. */
static bool cone_enters(Cone *c, const Value *v) {
  unsigned at = v->uid % CONE_SLOTS;
  for (; c->seen[at]; at = (at + 1) % CONE_SLOTS)
    if (c->seen[at] == v)
      return false;
  c->seen[at] = v;
  return ++c->n < CONE_SLOTS / 2;
}

static bool cone_has_expensive(Cone *c, const Value *v, int depth) {
  const Op *op = v->def;
  if (!op || depth == 0 || value_is_outside(v, op_b(c->k)->regions[0]) || map_get(&c->k->kept, v))
    return false;
  if (op_is_expensive(op))
    return true;
  if (op->code == OP_INDEX || c->n >= CONE_SLOTS / 2 || !cone_enters(c, v)) /* a load, whatever its index */
    return false;
  for (int i = 0; i < op->noperands; i++)
    if (cone_has_expensive(c, op->operands[i], depth - 1))
      return true;
  return false;
}

/* True if computing v in B, from what is around B, takes something expensive. */
static bool cone_is_expensive(const Keep *k, const Value *v) {
  Cone c = {.k = k};
  return cone_has_expensive(&c, v, 40);
}

/* ---- keeping */
/* Indices of the loops from a body down to a region, outer before inner; their number, or -1. */
static int path_of(const Region *top, const Region *r, Value **indices) {
  if (r == top)
    return 0;
  const Op *owner = r->owner;
  int n = path_of(top, owner->parent, indices);
  if (n < 0 || owner->code != OP_LOOP)
    return owner->code == OP_IF ? n : -1;
  for (int i = 0; i < owner->at.loop->nindices; i++) {
    if (n == MAX_PATH)
      return -1;
    indices[n++] = loop_index(owner, i);
  }
  return n;
}

/* An iteration of the loop makes a tensor with these axes among its own. */
static bool makes_as_much(const Op *loop, Value *const *path, int n) {
  for (int i = 0; i < loop->at.loop->nouts; i++) {
    const Type t = loop->regions[0]->yields[loop->at.loop->ncarries + i]->type;
    uint32_t taken = 0;
    int found = 0;
    int64_t one;
    for (int p = 0; p < n; p++) {
      const Size *extent = path[p]->region->owner->at.loop->extents[path[p]->index];
      int axis = 0;
      while (axis < t.rank && (t.dims[axis] != extent || taken >> axis & 1))
        axis++;
      found += axis < t.rank || (size_is_const(extent, &one) && one == 1);
      taken |= axis < t.rank ? 1u << axis : 0;
    }
    if (t.rank && found == n)
      return true;
  }
  return false;
}

static bool storage_is_bounded(const Keep *k, Value *const *path, int n) {
  const Op *a = op_a(k);
  if (n == 0)
    return true;
  if (!a->parent->owner && !a->at.loop->ncarries && !k->many_seeds && !makes_as_much(a, path, n))
    return false;
  for (int i = 0; i < n; i++) {
    const Op *loop = path[i]->region->owner;
    if (!size_is_outside(loop->at.loop->extents[path[i]->index], a->regions[0]))
      return false;
  }
  return true;
}

/* The loops of two indices run alike: as far, and from equal states by equal steps. */
static bool same_loop(const Keep *k, const Value *index_a, const Value *index_b) {
  const Numbering *n = &k->numbers;
  const Op *a = index_a->region->owner, *b = index_b->region->owner;
  const LoopInfo *ia = a->at.loop, *ib = b->at.loop;
  if (index_a->index != index_b->index || ia->ncarries != ib->ncarries ||
      !number_equal(number_of_size(n, ia->extents[index_a->index]), number_of_size(n, ib->extents[index_b->index])))
    return false;
  for (int i = 0; i < ia->ncarries; i++)
    if (!number_equal(number_of_value(n, a->operands[i]), number_of_value(n, b->operands[i])) ||
        !number_equal(number_of_value(n, a->regions[0]->yields[i]), number_of_value(n, b->regions[0]->yields[i])))
      return false;
  return true;
}

/* A's value u gets a stack; the reading of it stands in B before v's operation. */
static bool keep_value(Keep *k, Value *v, Value *u) {
  Op *a = op_a(k), *b = op_b(k);
  Value *path_a[MAX_PATH], *path_b[MAX_PATH], *idx[MAX_RANK];
  const int na = path_of(a->regions[0], u->region, path_a), nb = path_of(b->regions[0], v->region, path_b);
  const int nindices = a->at.loop->nindices;
  if (na < 0 || na != nb || nindices + na > MAX_RANK || !storage_is_bounded(k, path_a, na))
    return false;
  for (int i = 0; i < na; i++)
    if (!same_loop(k, path_a[i], path_b[i]))
      return false;
  Value *tape = u;
  for (Region *r = u->region;; r = r->owner->parent) {
    tape = loop_record(k->module, r->owner, tape);
    if (r == a->regions[0])
      break;
  }
  for (int i = 0; i < nindices; i++)
    idx[i] = k->numbers.step ? k->numbers.step : loop_index(b, i);
  for (int i = 0; i < nb; i++)
    idx[nindices + i] = path_b[i];
  Op *read = op_new(k->module, OP_INDEX, 1 + nindices + nb, 1, 0);
  read->operands[0] = tape;
  for (int i = 0; i < nindices + nb; i++)
    read->operands[1 + i] = idx[i];
  read->loc = v->def->loc;
  read->origin = v->def->origin;
  op_insert_before(v->def, read);
  map_put(&k->kept, v, op_set_result(k->module, read, 0, v->type, v->name));
  return true;
}

/* sigmoid(-x), behind sigmoid(x). */
static Value *mirror(const Keep *k, Value *v) {
  const Opcode codes[] = {OP_NEG, OP_SIGMOID};
  Value *made = v->def->operands[0];
  Op *last = v->def;
  for (int i = 0; i < 2; i++) {
    Op *op = op_new(k->module, codes[i], 1, 1, 0);
    op->operands[0] = made;
    op->loc = v->def->loc;
    made = op_set_result(k->module, op, 0, v->type, NULL);
    op_insert_after(last, op);
    last = op;
  }
  return made;
}

/* The largest of many is told by equality: it is made of the elements that it is compared with, in B, as A's loops may
   have rounded theirs otherwise. */
static void compare(Keep *k, Value *v) {
  const Op *op = v->def;
  if (!kind_is_float(v->type.kind) || map_get(&k->compared, v) || value_is_outside(v, op_b(k)->regions[0]))
    return;
  map_put(&k->compared, v, v);
  if (!op)
    return;
  const LoopInfo *info = op->code == OP_LOOP ? op->at.loop : NULL;
  const int out = info ? v->index - info->ncarries - info->naccs : -1;
  if (out >= 0 && (info->outs[out] == OUT_MAX || info->outs[out] == OUT_MIN))
    compare(k, op->regions[0]->yields[info->ncarries + out]);
  if (op->code == OP_SELECT || op->code == OP_MAX || op->code == OP_MIN)
    for (int i = 0; i < op->noperands; i++)
      compare(k, op->operands[i]);
}

static void look_for_comparison(Op *op, void *arg) {
  if (op->code == OP_EQ || op->code == OP_NE)
    for (int i = 0; i < 2; i++)
      compare(arg, op->operands[i]);
}

/* v is used by something that A has not: it is at the frontier. */
static bool frontier(Keep *k, Value *v) {
  if (map_get(&k->kept, v) || map_get(&k->compared, v) || !cone_is_expensive(k, v))
    return false;
  const Known *known = known_as(k, v);
  return known && keep_value(k, v, known->mirrored ? mirror(k, known->value) : known->value);
}

/* ---- loops that are run again */
typedef struct Rerun {
  Op *before, *again; /* loops with carries, of A's body and of B's */
  int *carry;         /* of `before`, by that of `again` */
} Rerun;

typedef struct CarryUse {
  const Op *loop;
  bool found;
} CarryUse;
static void look_for_carry(Op *op, void *arg) {
  CarryUse *u = arg;
  for (int i = 0; i < op->noperands; i++)
    u->found |= op->operands[i]->region == u->loop->regions[0] && !op->operands[i]->def &&
                op->operands[i]->index >= u->loop->at.loop->nindices;
}

/* Numbers name carries by their places: those of a loop that has some of the other's alone say nothing. */
static bool computes_with_carries(const Op *loop) {
  CarryUse u = {.loop = loop};
  region_walk(loop->regions[0], look_for_carry, &u);
  return u.found;
}

/* Each of the one's carries is one of the other's: equal at first, and by equal steps. */
static bool carries_agree(const Keep *k, Rerun *r) {
  const Numbering *n = &k->numbers;
  const Op *a = r->before, *b = r->again;
  bool same_places = a->at.loop->ncarries == b->at.loop->ncarries;
  for (int i = 0; i < b->at.loop->ncarries; i++) {
    int j = 0;
    while (j < a->at.loop->ncarries &&
           !(type_equal(loop_carry(a, j)->type, loop_carry(b, i)->type) &&
             number_equal(number_of_value(n, a->operands[j]), number_of_value(n, b->operands[i])) &&
             number_equal(number_of_value(n, a->regions[0]->yields[j]), number_of_value(n, b->regions[0]->yields[i]))))
      j++;
    if (j == a->at.loop->ncarries)
      return false;
    r->carry[i] = j;
    same_places &= i == j;
  }
  return same_places || !computes_with_carries(b);
}

/* Finds the loop of A's body that does what the one of B's body does, step by step. */
static bool find_run_before(const Keep *k, Rerun *r) {
  const LoopInfo *info = r->again->at.loop;
  const Number trips = number_of_size(&k->numbers, info->extents[0]);
  r->carry = NEW_ARRAY(k->module->arena, int, info->ncarries + 1);
  for (Op *op = op_a(k)->regions[0]->first; op; op = op->next) {
    r->before = op;
    if (op->code == OP_LOOP && op->at.loop->ncarries &&
        number_equal(number_of_size(&k->numbers, op->at.loop->extents[0]), trips) && carries_agree(k, r))
      return true;
  }
  return false;
}

typedef struct Wanted {
  const Op *op;
  bool *results;
} Wanted;
static void look_at_wanted(Op *op, void *arg) {
  Wanted *w = arg;
  for (int i = 0; i < op->noperands; i++)
    if (op->operands[i]->def == w->op)
      w->results[op->operands[i]->index] = true;
  for (int r = 0; r < op->nregions; r++)
    for (int i = 0; i < op->regions[r]->nyields; i++)
      if (op->regions[r]->yields[i]->def == w->op)
        w->results[op->regions[r]->yields[i]->index] = true;
}

/* What A's loop has in an iteration where the other yields `y`; NULL: nothing that is known. */
static Value *yielded_before(const Keep *k, const Rerun *r, Value *y) {
  const Region *again = r->again->regions[0], *before = r->before->regions[0];
  if (y->region == again && !y->def)
    return y->index ? loop_carry(r->before, r->carry[y->index - 1]) : NULL;
  for (int i = 0; i < before->nyields; i++)
    if (type_equal(y->type, before->yields[i]->type) &&
        number_equal(number_of_value(&k->numbers, before->yields[i]), number_of_value(&k->numbers, y)))
      return before->yields[i];
  return NULL;
}

/* An iteration of A records no more than a few times what one of its states is, which it records as well: a checkpoint
   that runs a segment again to record each of its states has its reason.  is_state: t is a carry's. */
static bool is_as_small(const Keep *k, Type t, bool is_state) {
  enum { FEW_TIMES = 8 };
  Module *m = k->module;
  const Op *a = op_a(k);
  for (int i = 0; i < t.rank; i++)
    if (!size_is_outside(t.dims[i], a->regions[0]) || !size_is_outside(t.dims[i], op_b(k)->regions[0]))
      return false;
  bool small = false;
  for (int i = 0; i < a->at.loop->ncarries && !small; i++) {
    const Size *state = type_count(m, loop_carry(a, i)->type), *count = type_count(m, t);
    small = is_state ? size_growth(m, count).degree <= size_growth(m, state).degree
                     : size_nonnegative(m, size_sub(m, size_scale(m, state, FEW_TIMES), count));
  }
  return small;
}

/* The loop's stack of the value: one that is there, or one more. */
static Value *recorded(Module *m, Op *loop, Value *v) {
  const LoopInfo *info = loop->at.loop;
  for (int i = 0; i < info->nouts; i++)
    if (info->outs[i] == OUT_STACK && loop->regions[0]->yields[info->ncarries + i] == v)
      return loop_out(loop, i);
  return loop_record(m, loop, v);
}

/* A loop in order that B runs again, as A's states are there to begin with, for what it stacks: A stacks that instead.
   It takes as much memory as the states, but for a factor. */
static bool keep_loop(Keep *k, Op *again) {
  enum { FEW = 16 };
  Op *a = op_a(k), *b = op_b(k);
  Rerun r = {.again = again};
  const LoopInfo *info = again->at.loop;
  Value **kept = NEW_ARRAY(k->module->arena, Value *, again->nresults + 1);
  Wanted w = {.op = again, .results = NEW_ARRAY(k->module->arena, bool, again->nresults + 1)};
  int n = 0;
  if (!info->ncarries || info->naccs || !a->at.loop->ncarries || again->parent != b->regions[0])
    return false;
  if (!find_run_before(k, &r))
    return false;
  region_walk(b->regions[0], look_at_wanted, &w);
  for (int i = 0; i < again->nresults; i++) {
    if (!w.results[i])
      continue;
    const int out = i - info->ncarries;
    kept[i] = out < 0 ? r.before->results[r.carry[i]] : yielded_before(k, &r, again->regions[0]->yields[i]);
    if (!kept[i] || ++n > FEW || (out >= 0 && info->outs[out] != OUT_STACK) ||
        !is_as_small(k, again->results[i]->type, out < 0))
      return false;
  }
  for (int i = 0; i < again->nresults; i++) {
    if (!w.results[i])
      continue;
    Value *tape = recorded(k->module, a, i < info->ncarries ? kept[i] : recorded(k->module, r.before, kept[i]));
    Op *read = op_new(k->module, OP_INDEX, 2, 1, 0);
    read->operands[0] = tape;
    read->operands[1] = k->numbers.step ? k->numbers.step : loop_index(b, 0);
    read->loc = again->loc;
    read->origin = again->origin;
    op_insert_before(again, read);
    map_put(&k->kept, again->results[i],
            op_set_result(k->module, read, 0, again->results[i]->type, again->results[i]->name));
  }
  return n > 0;
}

static bool visit_region(Keep *k, Region *r);

static bool visit_op(Keep *k, Op *op) {
  if (op->code == OP_LOOP && keep_loop(k, op))
    return true;
  bool any = false, new_here = op->nresults == 0;
  for (int i = 0; i < op->nresults; i++)
    new_here |= !known_as(k, op->results[i]);
  for (int i = 0; i < op->noperands && new_here; i++)
    any |= frontier(k, op->operands[i]);
  for (int i = 0; i < op->nregions && new_here; i++)
    any |= visit_region(k, op->regions[i]);
  return any;
}

/* Backwards, so that a value is kept before those that it is made of. */
static bool visit_region(Keep *k, Region *r) {
  bool any = false;
  for (int i = 0; i < r->nyields; i++)
    any |= frontier(k, r->yields[i]);
  for (Op *op = r->last, *prev; op; op = prev) {
    prev = op->prev;
    any |= visit_op(k, op);
  }
  return any;
}

/* ---- pairs */
static bool same_space(const Op *a, const Op *b) {
  if (a->at.loop->nindices != b->at.loop->nindices || !a->at.loop->nindices)
    return false;
  for (int i = 0; i < a->at.loop->nindices; i++)
    if (a->at.loop->extents[i] != b->at.loop->extents[i])
      return false;
  return true;
}

/* The value extent - 1 - i of B's body, where there is one: B runs backwards.  It is moved to the front, as all that is
   kept is read by it. */
static Value *backward_step(Module *m, const Op *b) {
  Region *body = b->regions[0];
  if (b->at.loop->nindices != 1)
    return NULL;
  const Size *last = size_sub(m, b->at.loop->extents[0], size_const(m, 1));
  const Size *step = size_sub(m, last, size_atom(m, loop_index(b, 0)));
  for (Op *op = body->first; op; op = op->next) {
    if (op->code != OP_SUB || op->results[0]->type.kind != KIND_I64 || size_of_value(m, op->results[0]) != step)
      continue;
    for (int i = 0; i < 2; i++)
      if (op->operands[i]->def && !value_is_outside(op->operands[i], body))
        return NULL;
    if (op != body->first) {
      op_unlink(op);
      op_insert_before(body->first, op);
    }
    return op->results[0];
  }
  return NULL;
}

static bool keep_pair(Keep *k, Op *a, Op *b, Value *step) {
  Arena *arena = k->module->arena;
  k->numbers = (Numbering){.arena = arena, .a = a, .b = b, .step = step};
  k->kept = (ValueMap){.arena = arena};
  k->compared = (ValueMap){.arena = arena};
  region_walk(b->regions[0], look_for_comparison, k);
  numbers_reset(a->regions[0]);
  numbers_reset(b->regions[0]);
  k->buckets = (size_t)region_op_count(a->regions[0]) * 2 + 16;
  k->known = NEW_ARRAY(arena, Known *, k->buckets);
  learn_region(k, a->regions[0]);
  if (!visit_region(k, b->regions[0]))
    return false;
  region_rename(k->module, b->regions[0], &k->kept);
  return true;
}

static bool keep_region(Keep *k, Region *r) {
  bool any = false;
  for (Op *b = r->first; b; b = b->next) {
    for (int i = 0; i < b->nregions; i++)
      any |= keep_region(k, b->regions[i]);
    if (b->code != OP_LOOP)
      continue;
    int tries = 0;
    for (Op *a = b->prev; a && tries < MAX_BACK; a = a->prev) {
      if (a->code != OP_LOOP || !same_space(a, b))
        continue;
      tries++;
      Value *step = backward_step(k->module, b);
      any |= keep_pair(k, a, b, step);
    }
  }
  return any;
}

static void keep_all(Module *m) {
  apart_note(m);
  for (Func *f = m->funcs; f; f = f->next) {
    if (func_is_underived(f) || f->is_extern || region_op_count(f->body) > LARGE)
      continue;
    Keep k = {.module = m, .func = f, .many_seeds = func_is_apart(f)};
    if (keep_region(&k, f->body))
      func_simplify(f);
  }
}

void pass_keep(Module *m) {
  keep_all(m);
}
void pass_rekeep(Module *m) {
  keep_all(m);
}
