/* What the reverse of a loop needs of a carried tensor that the loop changes element by element.
   The state at the entry of each iteration would be a whole tensor an iteration.  Where the body only reads and
   replaces elements of it, the elements read are recorded instead, one number for each place that reads and each time
   it does: a loop that writes one element an iteration costs O(1) an iteration, forward and reverse.  In re-executed
   code the tensor itself is then a ghost, of which nothing is read: readers take the recorded element, and its bar goes
   to the ghost's at that index.
   The tensor may be changed in loops inside the iteration too, in order or by accumulators, and be read there.  Where
   more would be recorded so than the state has, the state is. */
#include "ir/raw.h"
#include "passes/adjoint.h"
#include "passes/stays.h"

/* A place that reads an element of a version of the tensor. */
struct ReadSite {
  const Op *read;
  Value *tape;
  int n; /* the tape's axes after the first are the indices of the loops between the loop and the place */
  Value *indices[MAX_RANK];
  const Size *bounds[MAX_RANK]; /* of those whose loops run less far in some iterations; else NULL */
  Growth count;                 /* of the numbers that are read in an iteration */
  ReadSite *next;
};

typedef struct Versions {
  Adjoint *a;
  const Op *loop;
  ValueMap set; /* the tensor as it enters an iteration, what updates make of it there, and accumulators on it */
  ReadSite *sites;
} Versions;

static bool is_version(const Versions *v, const Value *x) {
  return map_get(&v->set, x) != NULL;
}

/* The indices of the loops from the body down to a region, and how far they run; false where that is not known. */
static bool path_indices(const Versions *v, const Region *r, ReadSite *site) {
  const Region *body = v->loop->regions[0];
  Module *m = v->a->module;
  if (r == body)
    return true;
  const Op *owner = r->owner;
  if (!path_indices(v, owner->parent, site))
    return false;
  if (owner->code == OP_IF)
    return true;
  if (owner->code != OP_LOOP || site->n + owner->at.loop->nindices + 1 > MAX_RANK)
    return false;
  for (int i = 0; i < owner->at.loop->nindices; i++) {
    const Size *extent = owner->at.loop->extents[i];
    const bool changes = !size_is_outside(extent, body);
    if (changes && !(extent = size_bound(m, extent, body)))
      return false;
    site->bounds[site->n] = changes ? extent : NULL;
    site->count = growth_times(site->count, size_growth(m, extent));
    site->indices[site->n++] = loop_index(owner, i);
  }
  return true;
}

static bool add_site(Versions *v, const Op *read) {
  Module *m = v->a->module;
  Value *x = read->results[0];
  if (map_get(&v->a->reads, x))
    return true; /* of a ghost: recorded already, by a loop further out */
  ReadSite *site = NEW(m->arena, ReadSite);
  *site = (ReadSite){.read = read, .next = v->sites, .count = size_growth(m, type_count(m, x->type))};
  v->sites = site;
  return path_indices(v, read->parent, site) && site->n + x->type.rank + 1 <= MAX_RANK;
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

static bool keeps_states(const Adjoint *a, const Op *loop) {
  return binomial_fits(loop) || map_get(&a->segments, loop_index(loop, 0));
}

/* A loop that carries a version, or adds to one, makes a version of it. */
static bool check_loop(Versions *v, const Op *op) {
  const LoopInfo *info = op->at.loop;
  const Region *body = op->regions[0];
  const int nstates = info->ncarries + info->naccs;
  for (int i = 0; i < nstates; i++)
    if (is_version(v, op->operands[i])) {
      if (i < info->ncarries && keeps_states(v->a, op))
        return false;
      map_put(&v->set, body->params[info->nindices + i], op->operands[i]);
      map_put(&v->set, op->results[i], op->results[i]);
    }
  if (!check_region(v, body))
    return false;
  for (int i = 0; i < body->nyields; i++)
    if (is_version(v, body->yields[i]) != (i < info->ncarries && is_version(v, op->operands[i])))
      return false;
  return true;
}

static bool check_op(Versions *v, const Op *op) {
  if (op->code == OP_LOOP)
    return check_loop(v, op);
  for (int k = 0; k < op->noperands; k++) {
    if (!is_version(v, op->operands[k]))
      continue;
    if (k || (op->code != OP_INDEX && op->code != OP_UPDATE && op->code != OP_ACC_ADD))
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

/* What is built is put before a loop that is finished. */
static Builder builder_before(Adjoint *a, const Op *loop) {
  Builder b = build_into(a->func, region_new(a->module, a->func, loop->parent->owner));
  b.share_top = b.region;
  return b;
}
static void put_before(Op *loop, const Region *made) {
  for (Op *op = made->first, *next; op; op = next) {
    next = op->next;
    op_unlink(op);
    op_insert_before(loop, op);
  }
}

/* The larger of a bound and 0, before the loop. */
static const Size *bound_before(Adjoint *a, Op *loop, const Size *bound) {
  Builder b = builder_before(a, loop);
  Value *trips = build_binary(&b, OP_MAX, build_size(&b, bound), build_int(&b, KIND_I64, 0));
  put_before(loop, b.region);
  return size_of_value(a->module, trips);
}

/* Stacks x over the iterations of a loop inside `outer`; n of the site's indices are of loops around it. */
static Value *stacked(Adjoint *a, Op *outer, Op *loop, const ReadSite *site, int n, Value *x) {
  Module *m = a->module;
  const LoopInfo *info = loop->at.loop;
  const Size *dims[2 * MAX_RANK];
  bool padded = false;
  for (int i = 0; i < info->nindices; i++) {
    const Size *bound = site->bounds[n + i];
    padded |= bound != NULL;
    dims[i] = bound ? bound_before(a, outer, bound) : info->extents[i];
  }
  if (!padded)
    return loop_add_out(m, loop, OUT_STACK, x);
  for (int i = 0; i < x->type.rank; i++)
    dims[info->nindices + i] = x->type.dims[i];
  Builder b = builder_before(a, loop);
  Value *zeros = build_zeros(&b, type_tensor(m, x->type.kind, info->nindices + x->type.rank, dims));
  put_before(loop, b.region);
  return loop_add_padded(m, loop, zeros, x);
}

static void record(Adjoint *a, Op *loop, ReadSite *site) {
  Value *x = site->read->results[0];
  int n = site->n;
  while (x->region != loop->regions[0]) {
    Op *owner = x->region->owner;
    if (owner->code == OP_IF) {
      x = out_of_branch(a, owner, x);
    } else {
      n -= owner->at.loop->nindices;
      x = stacked(a, loop, owner, site, n, x);
    }
  }
  site->tape = loop_add_out(a->module, loop, OUT_STACK, x);
}

typedef struct Path {
  const Region *body;
  const ReadSite *site;
  bool all;
} Path;
static void look_on_path(Value *v, void *arg) {
  Path *p = arg;
  bool known = value_is_outside(v, p->body) || v == p->body->params[0];
  for (int i = 0; i < p->site->n && !known; i++)
    known = v == p->site->indices[i];
  p->all = p->all && known;
}

/* What the tensor still has, or had, pass `reread` will read there. */
static bool is_reread(Module *m, Changes *c, const ReadSite *site) {
  const Size *indices[MAX_RANK];
  Path path = {.body = c->loop->regions[0], .site = site, .all = true};
  Element e = {.version = site->read->operands[0],
               .where = site->read->parent,
               .n = site->read->noperands - 1,
               .indices = indices,
               .count = site->count};
  for (int i = 0; i < e.n; i++) {
    indices[i] = size_of_value(m, site->read->operands[1 + i]);
    size_values(indices[i], look_on_path, &path);
  }
  return path.all && element_stays(m, c, &e) != STAYS_NOWHERE;
}

/* True if an iteration records more by elements than the state has. */
static bool more_than_state(Module *m, const Versions *v, int j) {
  const Growth state = size_growth(m, type_count(m, loop_carry(v->loop, j)->type));
  Growth recorded = {0};
  Changes *changes = NULL;
  for (const ReadSite *s = v->sites; s; s = s->next) {
    if (!changes)
      changes = changes_of(m, v->loop, j);
    if (!is_reread(m, changes, s))
      recorded = growth_plus(recorded, s->count);
  }
  return grows_more(recorded, state);
}

bool state_by_elements(Adjoint *a, Op *loop, int j, ReadSite **sites) {
  const Region *body = loop->regions[0];
  Versions v = {.a = a, .loop = loop, .set = {.arena = a->module->arena}};
  Value *carry = loop_carry(loop, j);
  if (!carry->type.rank || keeps_states(a, loop))
    return false;
  map_put(&v.set, carry, carry);
  if (!check_region(&v, body))
    return false;
  for (int i = 0; i < body->nyields; i++)
    if (is_version(&v, body->yields[i]) != (i == j))
      return false;
  if (more_than_state(a->module, &v, j))
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
