/* Fusion of parallel loops over one index space that stand in one region.
   B joins an earlier A when nothing leads from A to B but, directly,
     - elements of A's stacks at B's own indices (then B reads what A's iteration just made), or
     - an accumulator of A that B goes on adding to;
   or when nothing leads from A to B at all and both read a common tensor: so forward and reverse of a loop under a
   uniform seed become one loop and share their work. Merging is done in place, and what is known of the operations
   around kept true, so that a region is looked at once however many of its loops are merged; equal operations of the
   two bodies are then shared by a rebuild, and inner loops, which have equal extents only after that, are tried again.
   Bodies of more than LONG operations are not made: for what follows, LLVM's registers above all, they cost more than
   their length, and keep their numbers in memory all the same.
 */
#include "ir/raw.h"
#include "passes/passes_internal.h"
#include "passes/rename.h"

enum { MAX_OPS = 4000, MAX_TRIES = 24, MAX_TENSORS = 64, MAX_ROUNDS = 8, LONG = 1000 };

typedef struct Node {
  Op *op;
  VEC(int) deps;              /* operations of the region that it reads, by number, before they were merged */
  int merged_into;            /* -1: stands for itself */
  int place, seen;            /* in the order; by the last search that came by */
  long length;                /* operations inside */
  VEC(const Value *) tensors; /* captured tensors, where it is a loop; the first MAX_TENSORS */
} Node;

typedef struct Fuse {
  Arena *arena;
  Module *module;
  Region *region;
  Node *nodes;
  int n;
  int *order; /* by place: the number of the operation that stands there; -1: none any more */
  int searches;
  Node *now;
} Fuse;

static int number_of(const Fuse *f, const Value *v) {
  return v->def && v->def->parent == f->region ? (int)(intptr_t)v->def->note - 1 : -1;
}

static void note_use(Fuse *f, const Value *v) {
  Node *node = f->now;
  const int k = number_of(f, v);
  if (v->type.rank && !v->is_acc && (v->region == f->region || value_is_outside(v, f->region)) &&
      node->tensors.n < MAX_TENSORS) {
    for (int i = 0; i < node->tensors.n; i++)
      if (node->tensors.at[i] == v)
        return;
    vec_push(f->arena, node->tensors, v);
  }
  if (k < 0 || f->nodes[k].op == node->op)
    return;
  for (int i = 0; i < node->deps.n; i++)
    if (node->deps.at[i] == k)
      return;
  vec_push(f->arena, node->deps, k);
}

static void note_size(Value *v, void *arg) {
  note_use(arg, v);
}

static void note_uses_of(Fuse *f, const Op *op) {
  for (int i = 0; i < op->noperands; i++)
    note_use(f, op->operands[i]);
  for (int i = 0; i < op->nresults; i++)
    for (int k = 0; k < op->results[i]->type.rank; k++)
      size_values(op->results[i]->type.dims[k], note_size, f);
  if (op->code == OP_SIZE)
    size_values(op->at.size, note_size, f);
  if (op->code == OP_LOOP)
    for (int i = 0; i < op->at.loop->nindices; i++)
      size_values(op->at.loop->extents[i], note_size, f);
  for (int r = 0; r < op->nregions; r++) {
    for (const Op *inner = op->regions[r]->first; inner; inner = inner->next)
      note_uses_of(f, inner);
    for (int i = 0; i < op->regions[r]->nyields; i++)
      note_use(f, op->regions[r]->yields[i]);
  }
}

static bool analyse(Fuse *f) {
  f->n = 0;
  for (Op *op = f->region->first; op; op = op->next)
    op->note = (void *)(intptr_t)++f->n;
  if (f->n > MAX_OPS)
    return false;
  f->nodes = NEW_ARRAY(f->arena, Node, f->n + 1);
  f->order = NEW_ARRAY(f->arena, int, f->n + 1);
  f->searches = 0;
  int k = 0;
  for (Op *op = f->region->first; op; op = op->next) {
    f->order[k] = k;
    f->now = &f->nodes[k];
    *f->now = (Node){.op = op, .merged_into = -1, .place = k++};
    for (int i = 0; i < op->nregions; i++)
      f->now->length += region_op_count(op->regions[i]);
    note_uses_of(f, op);
  }
  return true;
}

static int dep_of(const Fuse *f, int node, int i) {
  int k = f->nodes[node].deps.at[i];
  while (f->nodes[k].merged_into >= 0)
    k = f->nodes[k].merged_into;
  return k;
}

/* True if b depends on a through some other operation. */
static bool leads_indirectly(Fuse *f, int a, int b) {
  const int search = ++f->searches;
  VEC(int) work = {0};
  for (int i = 0; i < f->nodes[b].deps.n; i++)
    if (f->nodes[dep_of(f, b, i)].place > f->nodes[a].place && dep_of(f, b, i) != b)
      vec_push(f->arena, work, dep_of(f, b, i));
  while (work.n) {
    const int k = work.at[--work.n];
    if (f->nodes[k].seen == search)
      continue;
    f->nodes[k].seen = search;
    for (int i = 0; i < f->nodes[k].deps.n; i++) {
      const int dep = dep_of(f, k, i);
      if (dep == a)
        return true;
      if (f->nodes[dep].place > f->nodes[a].place)
        vec_push(f->arena, work, dep);
    }
  }
  return false;
}

/* ---- what B may read of A */
static bool size_reads(const Size *s, const Op *a) {
  for (int i = 0; i < a->nresults; i++)
    if (size_uses(s, a->results[i]))
      return true;
  return false;
}

/* x[i0, .., ik, ..] with b's own indices first, x a stack of a. */
static bool is_own_element(const Op *op, const Op *a, const Op *b) {
  const LoopInfo *info = a->at.loop;
  const Value *x = op->operands[0];
  if (op->code != OP_INDEX || x->def != a || x->index < info->naccs ||
      info->outs[x->index - info->naccs] != OUT_STACK || op->noperands - 1 < info->nindices)
    return false;
  for (int i = 0; i < info->nindices; i++)
    if (op->operands[1 + i] != loop_index(b, i))
      return false;
  return true;
}

static bool reads_only_own(const Region *r, const Op *a, const Op *b) {
  for (const Op *op = r->first; op; op = op->next) {
    const bool own = is_own_element(op, a, b);
    for (int i = own ? 1 : 0; i < op->noperands; i++)
      if (op->operands[i]->def == a)
        return false;
    for (int i = 0; i < op->nresults; i++)
      for (int k = 0; k < op->results[i]->type.rank; k++)
        if (size_reads(op->results[i]->type.dims[k], a))
          return false;
    for (int i = 0; i < op->nregions; i++)
      if (!reads_only_own(op->regions[i], a, b))
        return false;
  }
  for (int i = 0; i < r->nyields; i++)
    if (r->yields[i]->def == a)
      return false;
  return true;
}

static int count_uses(const Region *r, const Value *v) {
  int n = 0;
  for (const Op *op = r->first; op; op = op->next) {
    for (int i = 0; i < op->noperands; i++)
      n += op->operands[i] == v;
    for (int i = 0; i < op->nregions; i++)
      n += count_uses(op->regions[i], v);
  }
  for (int i = 0; i < r->nyields; i++)
    n += r->yields[i] == v;
  return n;
}

/* The initial values of b's accumulators: none of a's results, or an accumulator of a that nobody else reads. */
static bool inits_may_chain(const Fuse *f, const Op *a, const Op *b, bool *chained) {
  for (int i = 0; i < b->noperands; i++) {
    const Value *init = b->operands[i];
    if (init->def != a)
      continue;
    if (init->index >= a->at.loop->naccs || count_uses(f->region, init) != 1)
      return false;
    *chained = true;
  }
  return true;
}

/* sum[k: a[..] * b[..]] with nothing around it: left to the contraction's own code. */
static bool is_contraction(const Op *loop) {
  const Op *inner = loop->regions[0]->first;
  if (!inner || inner->code != OP_LOOP || inner->next || inner->at.loop->nouts != 1 || loop->at.loop->naccs)
    return false;
  int n = 0;
  for (const Op *op = inner->regions[0]->first; op; op = op->next, n++)
    if (op->nregions)
      return false;
  return n <= 4;
}

static bool share_a_tensor(const Node *a, const Node *b) {
  for (int i = 0; i < a->tensors.n; i++)
    for (int k = 0; k < b->tensors.n; k++)
      if (a->tensors.at[i] == b->tensors.at[k])
        return true;
  return false;
}

static bool is_candidate(const Op *op) {
  return op->code == OP_LOOP && !op->at.loop->ncarries && op->at.loop->nindices > 0;
}

static bool same_space(const Op *a, const Op *b) {
  if (a->at.loop->nindices != b->at.loop->nindices)
    return false;
  for (int i = 0; i < a->at.loop->nindices; i++)
    if (a->at.loop->extents[i] != b->at.loop->extents[i])
      return false;
  return true;
}

static bool may_fuse(Fuse *f, int ia, int ib) {
  const Node *na = &f->nodes[ia], *nb = &f->nodes[ib];
  const Op *a = na->op, *b = nb->op;
  if (!same_space(a, b) || na->length + nb->length > LONG)
    return false;
  bool direct = false, chained = false;
  for (int i = 0; i < nb->deps.n; i++)
    direct |= dep_of(f, ib, i) == ia;
  if (!direct && (!share_a_tensor(na, nb) || is_contraction(a) || is_contraction(b)))
    return false;
  if (direct && (!inits_may_chain(f, a, b, &chained) || !reads_only_own(b->regions[0], a, b)))
    return false;
  return !leads_indirectly(f, ia, ib);
}

/* ---- merging */
/* Elements of a's stacks at b's own indices become what a's body yields: noted in the map, or read from there. */
static void forward_elements(Region *r, const Op *a, const Op *b, ValueMap *map) {
  const LoopInfo *info = a->at.loop;
  for (Op *op = r->first, *next; op; op = next) {
    next = op->next;
    for (int i = 0; i < op->nregions; i++)
      forward_elements(op->regions[i], a, b, map);
    if (!is_own_element(op, a, b))
      continue;
    Value *made = a->regions[0]->yields[op->operands[0]->index - info->naccs];
    if (op->noperands - 1 == info->nindices) {
      map_put(map, op->results[0], made);
      op_unlink(op);
      continue;
    }
    op->operands[info->nindices] = made;
    op->operands += info->nindices;
    op->noperands -= info->nindices;
    op->at.checks >>= info->nindices;
  }
}

/* What depends on a and stands between a and b goes behind b. */
static void move_dependents(Fuse *f, int a, int b) {
  Op *after = f->nodes[b].op->next;
  const int from = f->nodes[a].place, to = f->nodes[b].place, mark = ++f->searches;
  int *behind = NEW_ARRAY(f->arena, int, to - from + 1);
  int nbehind = 0, at = from;
  f->nodes[a].seen = mark;
  f->order[at++] = -1;
  for (int place = from + 1; place < to; place++) {
    const int k = f->order[place];
    bool depends = false;
    for (int i = 0; k >= 0 && i < f->nodes[k].deps.n; i++)
      depends |= f->nodes[dep_of(f, k, i)].seen == mark;
    if (!depends) {
      f->order[at++] = k;
      continue;
    }
    f->nodes[k].seen = mark;
    behind[nbehind++] = k;
    op_unlink(f->nodes[k].op);
    if (after)
      op_insert_before(after, f->nodes[k].op);
    else
      region_append(f->region, f->nodes[k].op);
  }
  f->order[at++] = b;
  for (int i = 0; i < nbehind; i++)
    f->order[at++] = behind[i];
  for (int place = from; place <= to; place++)
    if (f->order[place] >= 0)
      f->nodes[f->order[place]].place = place;
}

/* The body of b goes behind that of a, which becomes the merged loop's: what has been merged already is not moved. */
static void join_bodies(Op *a, Op *b) {
  Region *body = a->regions[0], *from = b->regions[0];
  for (Op *op = from->first, *next; op; op = next) {
    next = op->next;
    op_unlink(op);
    region_append(body, op);
  }
  b->regions[0] = body;
  body->owner = b;
}

/* What is known of b: of a too. */
static void join_nodes(Fuse *f, int a, int b) {
  Node *na = &f->nodes[a], *nb = &f->nodes[b];
  const int mark = ++f->searches;
  na->merged_into = b;
  nb->length += na->length;
  int n = 0;
  nb->seen = mark;
  for (int i = 0; i < nb->deps.n; i++) {
    const int dep = dep_of(f, b, i);
    if (f->nodes[dep].seen != mark)
      nb->deps.at[n++] = dep;
    f->nodes[dep].seen = mark;
  }
  nb->deps.n = n;
  for (int i = 0; i < na->deps.n; i++) {
    const int dep = dep_of(f, a, i);
    if (f->nodes[dep].seen != mark)
      vec_push(f->arena, nb->deps, dep);
    f->nodes[dep].seen = mark;
  }
  n = 0;
  for (int i = 0; i < nb->tensors.n; i++)
    if (nb->tensors.at[i]->def != nb->op)
      nb->tensors.at[n++] = nb->tensors.at[i];
  nb->tensors.n = n;
  for (int i = 0; i < na->tensors.n && nb->tensors.n < MAX_TENSORS; i++) {
    bool known = false;
    for (int k = 0; k < n; k++)
      known |= nb->tensors.at[k] == na->tensors.at[i];
    if (!known)
      vec_push(f->arena, nb->tensors, na->tensors.at[i]);
  }
}

/* Results and yields of the merged loop: accumulators of b that are not chained to a's, a's accumulators, a's outs,
 * b's. */
static void join_results(Fuse *f, Op *a, Op *b) {
  Module *m = f->module;
  LoopInfo *ia = a->at.loop, *ib = b->at.loop;
  Region *ra = a->regions[0], *rb = b->regions[0];
  const int most = a->nresults + b->nresults + 1;
  Value **operands = NEW_ARRAY(m->arena, Value *, most), **results = NEW_ARRAY(m->arena, Value *, most);
  Value **params = NEW_ARRAY(m->arena, Value *, most + ib->nindices), **yields = NEW_ARRAY(m->arena, Value *, most);
  OutKind *outs = NEW_ARRAY(m->arena, OutKind, ia->nouts + ib->nouts + 1);
  int n = 0, nparams = 0, nyields = 0;
  for (int i = 0; i < ib->nindices; i++)
    params[nparams++] = ra->params[i];
  for (int i = 0; i < ia->naccs; i++) {
    operands[n] = a->operands[i];
    params[nparams++] = loop_acc(a, i);
    results[n++] = a->results[i];
  }
  for (int i = 0; i < ib->naccs; i++) {
    Value *init = b->operands[i];
    if (init->def == a) {
      results[init->index] = b->results[i];
      continue;
    }
    operands[n] = init;
    params[nparams++] = loop_acc(b, i);
    results[n++] = b->results[i];
  }
  const int naccs = n;
  for (int i = 0; i < ia->nouts; i++) {
    outs[nyields] = ia->outs[i];
    yields[nyields++] = ra->yields[i];
    results[n++] = a->results[ia->naccs + i];
  }
  for (int i = 0; i < ib->nouts; i++) {
    outs[nyields] = ib->outs[i];
    yields[nyields++] = rb->yields[i];
    results[n++] = b->results[ib->naccs + i];
  }
  for (int i = 0; i < n; i++) {
    results[i]->def = b;
    results[i]->index = i;
  }
  for (int i = 0; i < nparams; i++) {
    params[i]->index = i;
    params[i]->region = ra;
  }
  b->operands = operands;
  b->noperands = naccs;
  b->results = results;
  b->nresults = n;
  ra->params = params;
  ra->nparams = nparams;
  ra->yields = yields;
  ra->nyields = nyields;
  ib->naccs = naccs;
  ib->nouts = nyields;
  ib->outs = outs;
}

static void merge(Fuse *f, int na, int nb) {
  Op *a = f->nodes[na].op, *b = f->nodes[nb].op;
  move_dependents(f, na, nb);
  ValueMap map = {.arena = f->arena};
  for (int i = 0; i < b->at.loop->naccs; i++) /* chained: a's accumulator goes on */
    if (b->operands[i]->def == a)
      map_put(&map, loop_acc(b, i), loop_acc(a, b->operands[i]->index));
  forward_elements(b->regions[0], a, b, &map);
  for (int i = 0; i < b->at.loop->nindices; i++) {
    map_put(&map, loop_index(b, i), loop_index(a, i));
    loop_index(a, i)->name = loop_index(b, i)->name;
  }
  region_rename(f->module, b->regions[0], &map);
  join_results(f, a, b);
  join_bodies(a, b);
  op_unlink(a);
  join_nodes(f, na, nb);
}

/* The nearest loop before b that it can join. */
static int partner_of(Fuse *f, int b) {
  int tries = 0;
  for (int place = f->nodes[b].place - 1; place >= 0 && tries < MAX_TRIES; place--) {
    const int a = f->order[place];
    if (a < 0 || !is_candidate(f->nodes[a].op))
      continue;
    tries++;
    if (may_fuse(f, a, b))
      return a;
  }
  return -1;
}

static bool fuse_in(Fuse *f, Region *r) {
  bool any = false;
  f->region = r;
  if (!analyse(f))
    return false;
  for (int place = 1; place < f->n; place++) {
    const int b = f->order[place];
    int a = -1;
    while (b >= 0 && is_candidate(f->nodes[b].op) && (a = partner_of(f, b)) >= 0) {
      merge(f, a, b);
      any = true;
      place = f->nodes[b].place;
    }
  }
  return any;
}

static bool fuse_region(Fuse *f, Region *r) {
  bool any = false;
  while (fuse_in(f, r))
    any = true;
  for (Op *op = r->first; op; op = op->next)
    for (int i = 0; i < op->nregions; i++)
      any |= fuse_region(f, op->regions[i]);
  return any;
}

void pass_fuse(Module *m) {
  for (Func *fn = m->funcs; fn; fn = fn->next) {
    if (func_is_underived(fn) || fn->is_extern)
      continue;
    Fuse f = {.arena = m->arena, .module = m};
    for (int round = 0; round < MAX_ROUNDS && fuse_region(&f, fn->body); round++)
      func_simplify(fn);
  }
}
