/* What the reverse of a loop needs of a carried tensor that the loop changes element by element.
   The state at the entry of each iteration would be a whole tensor an iteration.  Where the body only reads and
   replaces elements of it, the elements read are recorded instead, one number for each place that reads and each time
   it does: a loop that writes one element an iteration costs O(1) an iteration, forward and reverse.  In re-executed
   code the tensor itself is then a ghost, of which nothing is read: readers take the recorded element, and its bar goes
   to the ghost's at that index. */
#include "ir/raw.h"
#include "passes/adjoint.h"

/* A place that reads an element of a version of the tensor. */
struct ReadSite {
  const Op *read;
  Value *tape;
  int n; /* the tape's axes after the first are the indices of the loops between the loop and the place */
  Value *indices[MAX_RANK];
  ReadSite *next;
};

typedef struct Versions {
  Adjoint *a;
  const Op *loop;
  ValueMap set; /* the tensor as it enters an iteration, and what updates make of it there */
  ReadSite *sites;
} Versions;

static bool is_version(const Versions *v, const Value *x) {
  return map_get(&v->set, x) != NULL;
}

typedef struct Inside {
  const Region *body;
  bool yes;
} Inside;
static void look_inside(Value *v, void *arg) {
  Inside *in = arg;
  in->yes |= !value_is_outside(v, in->body);
}

/* The indices of the loops from the body down to a region; false where their extents change with the iteration. */
static bool path_indices(const Versions *v, const Region *r, ReadSite *site) {
  Inside in = {.body = v->loop->regions[0]};
  if (r == v->loop->regions[0])
    return true;
  const Op *owner = r->owner;
  if (!path_indices(v, owner->parent, site))
    return false;
  if (owner->code == OP_IF)
    return true;
  if (owner->code != OP_LOOP || site->n + owner->at.loop->nindices + 1 > MAX_RANK)
    return false;
  for (int i = 0; i < owner->at.loop->nindices; i++) {
    size_values(owner->at.loop->extents[i], look_inside, &in);
    site->indices[site->n++] = loop_index(owner, i);
  }
  return !in.yes;
}

static bool add_site(Versions *v, const Op *read) {
  ReadSite *site = NEW(v->a->module->arena, ReadSite);
  *site = (ReadSite){.read = read, .next = v->sites};
  v->sites = site;
  return read->results[0]->type.rank == 0 && path_indices(v, read->parent, site);
}

static bool check_region(Versions *v, const Region *r);

/* Branches that both yield a version yield a version. */
static bool check_if(Versions *v, const Op *op) {
  for (int w = 0; w < 2; w++)
    if (!check_region(v, op->regions[w]))
      return false;
  for (int i = 0; i < op->nresults; i++) {
    const bool x = is_version(v, op->regions[0]->yields[i]), y = is_version(v, op->regions[1]->yields[i]);
    if (x != y)
      return false;
    if (x)
      map_put(&v->set, op->results[i], op->results[i]);
  }
  return true;
}

static bool check_op(Versions *v, const Op *op) {
  for (int k = 0; k < op->noperands; k++) {
    if (!is_version(v, op->operands[k]))
      continue;
    if (k || (op->code != OP_INDEX && op->code != OP_UPDATE))
      return false;
    if (op->code == OP_INDEX && !add_site(v, op))
      return false;
    if (op->code == OP_UPDATE)
      map_put(&v->set, op->results[0], op->results[0]);
  }
  if (op->code == OP_IF)
    return check_if(v, op);
  for (int i = 0; i < op->nregions; i++) {
    if (!check_region(v, op->regions[i]))
      return false;
    for (int k = 0; k < op->regions[i]->nyields; k++)
      if (is_version(v, op->regions[i]->yields[k]))
        return false;
  }
  return true;
}

static bool check_region(Versions *v, const Region *r) {
  for (const Op *op = r->first; op; op = op->next)
    if (!check_op(v, op))
      return false;
  return true;
}

/* Makes x, of a branch of `op`, a result of it; the other branch gives 0. */
static Value *out_of_branch(Adjoint *a, Op *op, Value *x) {
  Module *m = a->module;
  const int n = op->nresults;
  Value **results = NEW_ARRAY(m->arena, Value *, n + 1);
  for (int w = 0; w < 2; w++) {
    Region *r = op->regions[w];
    Value **yields = NEW_ARRAY(m->arena, Value *, n + 1);
    for (int i = 0; i < n; i++)
      yields[i] = r->yields[i];
    Builder b = build_into(a->func, r);
    b.share_top = r;
    yields[n] = x->region == r ? x : build_zeros(&b, x->type);
    region_set_yields(m, r, n + 1, yields);
  }
  for (int i = 0; i < n; i++)
    results[i] = op->results[i];
  op->results = results;
  op->nresults = n + 1;
  return op_set_result(m, op, n, x->type, NULL);
}

static void record(Adjoint *a, Op *loop, ReadSite *site) {
  Value *x = site->read->results[0];
  while (x->region != loop->regions[0]) {
    Op *owner = x->region->owner;
    x = owner->code == OP_IF ? out_of_branch(a, owner, x) : loop_add_out(a->module, owner, OUT_STACK, x);
  }
  site->tape = loop_add_out(a->module, loop, OUT_STACK, x);
}

bool state_by_elements(Adjoint *a, Op *loop, int j, ReadSite **sites) {
  const Region *body = loop->regions[0];
  Versions v = {.a = a, .loop = loop, .set = {.arena = a->module->arena}};
  Value *carry = loop_carry(loop, j);
  if (!carry->type.rank)
    return false;
  map_put(&v.set, carry, carry);
  if (!check_region(&v, body))
    return false;
  for (int i = 0; i < body->nyields; i++)
    if (is_version(&v, body->yields[i]) != (i == j))
      return false;
  for (ReadSite *s = v.sites, *next; s; s = next) {
    next = s->next;
    record(a, loop, s);
    s->next = *sites;
    *sites = s;
  }
  return true;
}

bool state_read_hook(Builder *b, const Op *op, ValueMap *map, void *arg) {
  const ReadHook *h = arg;
  const ReadSite *s = h->sites; /* of the carry and of what updates make of it */
  while (s && s->read != op)
    s = s->next;
  if (!s)
    return false;
  Value *idx[MAX_RANK + 1] = {h->i};
  for (int i = 0; i < s->n; i++)
    idx[1 + i] = map_value(map, s->indices[i]);
  CopyHook *hook = b->hook;
  b->hook = NULL;
  build_copy_op(b, op, map);
  b->hook = hook;
  Value *read = map_value(map, op->results[0]), *element = build_index(b, s->tape, 1 + s->n, idx, 0);
  map_put(&h->a->reads, read, element);
  map_put(map, op->results[0], element);
  activity_mark(&h->a->activity, element, op->results[0]);
  return true;
}
