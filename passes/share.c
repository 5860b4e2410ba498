/* Sharing of equal reductions and branches: a loop, or an `if`, whose results are scalars, and which does nothing else,
   is not run again where an equal one has been.  The builder shares plain operations; this does for loops what that
   does for them, so that norm(x) * norm(x) is a square of one value, here and to the derivatives.  Loops that stack are
   left to fusion: to keep a tensor may cost more than to make it again. */
#include "passes/share.h"
#include "passes/number.h"

enum { BUCKETS = 256 };

typedef struct Seen Seen;
struct Seen {
  uint64_t hash;
  const Op *loop;
  Seen *next;
};

struct Share {
  Arena *arena;
  Seen *buckets[BUCKETS];
};

Share *share_new(Arena *arena) {
  Share *s = NEW(arena, Share);
  s->arena = arena;
  return s;
}

static uint64_t mix(uint64_t h, uint64_t x) {
  h = (h ^ x) * 0xff51afd7ed558ccdu;
  return h ^ (h >> 32);
}

/* With the checks of indices: a loop that has been run may have ended the call where another would not. */
static uint64_t attribute(const Op *op) {
  return op->code == OP_INDEX || op->code == OP_UPDATE ? op->at.checks : op_attribute(op);
}

/* The loop's shape and what it reads from outside, mixed into *hash; false where it may not be shared. */
static bool hash_region(const Region *r, const Region *body, const ValueMap *map, uint64_t *hash) {
  for (const Op *op = r->first; op; op = op->next) {
    if (op->code == OP_ACC_ADD || op->code == OP_REQUIRE || op->code == OP_CALL || op->code == OP_WHILE ||
        (op->code == OP_LOOP && op->at.loop->naccs))
      return false;
    *hash = mix(mix(*hash, (uint64_t)op->code), attribute(op));
    for (int i = 0; i < op->noperands; i++)
      if (value_is_outside(op->operands[i], body))
        *hash = mix(*hash, map_value(map, op->operands[i])->uid);
    for (int i = 0; i < op->nregions; i++)
      if (!hash_region(op->regions[i], body, map, hash))
        return false;
  }
  return true;
}

/* ---- equality: what is inside a is paired with what is inside b, in order */
typedef struct Pairing {
  Module *module;
  const ValueMap *map; /* of what is outside */
  ValueMap inside;     /* of a -> of b */
} Pairing;

static bool same_value(const Pairing *p, Value *x, Value *y) {
  Value *pair = map_get(&p->inside, x);
  return pair ? pair == y : map_value(p->map, x) == map_value(p->map, y);
}

static bool same_size(const Pairing *p, const Size *x, const Size *y) {
  return x == y || map_size(p->module, p->map, map_size(p->module, &p->inside, x)) == map_size(p->module, p->map, y);
}

static bool same_type(const Pairing *p, Type x, Type y) {
  if (x.kind != y.kind || x.rank != y.rank)
    return false;
  for (int i = 0; i < x.rank; i++)
    if (!same_size(p, x.dims[i], y.dims[i]))
      return false;
  return true;
}

static bool same_op(Pairing *p, const Op *x, const Op *y);

static bool same_region(Pairing *p, const Region *x, const Region *y) {
  if (x->nparams != y->nparams || x->nyields != y->nyields)
    return false;
  for (int i = 0; i < x->nparams; i++)
    map_put(&p->inside, x->params[i], y->params[i]);
  const Op *a = x->first, *b = y->first;
  for (; a && b; a = a->next, b = b->next)
    if (!same_op(p, a, b))
      return false;
  if (a || b)
    return false;
  for (int i = 0; i < x->nyields; i++)
    if (!same_value(p, x->yields[i], y->yields[i]))
      return false;
  return true;
}

static bool same_loop(const Pairing *p, const LoopInfo *x, const LoopInfo *y) {
  if (x->nindices != y->nindices || x->ncarries != y->ncarries || x->naccs != y->naccs || x->nouts != y->nouts ||
      x->checkpoint != y->checkpoint || (x->states && !same_size(p, x->states, y->states)))
    return false;
  for (int i = 0; i < x->nindices; i++)
    if (!same_size(p, x->extents[i], y->extents[i]))
      return false;
  for (int i = 0; i < x->nouts; i++)
    if (x->outs[i] != y->outs[i])
      return false;
  return true;
}

static bool same_op(Pairing *p, const Op *x, const Op *y) {
  if (x->code != y->code || x->noperands != y->noperands || x->nresults != y->nresults || attribute(x) != attribute(y))
    return false;
  for (int i = 0; i < x->noperands; i++)
    if (!same_value(p, x->operands[i], y->operands[i]))
      return false;
  for (int i = 0; i < x->nresults; i++)
    if (!same_type(p, x->results[i]->type, y->results[i]->type))
      return false;
  if ((x->code == OP_LOOP && !same_loop(p, x->at.loop, y->at.loop)) ||
      (x->code == OP_SIZE && !same_size(p, x->at.size, y->at.size)))
    return false;
  for (int i = 0; i < x->nregions; i++)
    if (!same_region(p, x->regions[i], y->regions[i]))
      return false;
  for (int i = 0; i < x->nresults; i++)
    map_put(&p->inside, x->results[i], y->results[i]);
  return true;
}

/* True if what a region defines is seen from another. */
static bool sees(const Region *from, const Region *region) {
  while (from && from != region)
    from = from->owner ? from->owner->parent : NULL;
  return from != NULL;
}

static bool hash_op(const Op *op, const ValueMap *map, uint64_t *hash) {
  if (!op->nresults || (op->code != OP_IF && (op->code != OP_LOOP || op->at.loop->naccs)))
    return false;
  *hash = mix((uint64_t)op->nresults, (uint64_t)op->code);
  for (int i = 0; i < op->nregions; i++)
    if (!hash_region(op->regions[i], op->regions[i], map, hash))
      return false;
  return true;
}

bool share_op(Share *s, Module *m, const Op *op, ValueMap *map) {
  uint64_t hash;
  if (!hash_op(op, map, &hash))
    return false;
  for (int i = 0; i < op->nresults; i++)
    if (op->results[i]->type.rank)
      return false;
  Seen **bucket = &s->buckets[hash % BUCKETS];
  for (const Seen *seen = *bucket; seen; seen = seen->next) {
    Pairing p = {.module = m, .map = map, .inside = {.arena = s->arena}};
    if (seen->hash != hash || !sees(op->parent, seen->loop->parent) || !same_op(&p, seen->loop, op))
      continue; /* another, or in a branch or loop that `op` does not see */
    for (int i = 0; i < op->nresults; i++)
      map_put(map, op->results[i], map_value(map, seen->loop->results[i]));
    return true;
  }
  Seen *seen = NEW(s->arena, Seen);
  *seen = (Seen){hash, op, *bucket};
  *bucket = seen;
  return false;
}
