/* Reach through loops: what a carry reaches at the entry of an iteration; see reach.h.

   Carries that depend on each other, or on themselves, are seen through together.  Where each element reads others of
   them that are no further away than from A to B, what it read s iterations ago is no further away than s A to s B: of
   what the carries were before the loop, and of what each iteration reads of something else. */
#include "ir/raw.h"
#include "passes/reach.h"

typedef struct Carried {
  Analysis *a;
  const Op *op;
  int n, first;       /* the first parameter of the body that is a carry */
  const Region *body; /* what yields the next ones */
  Value *index, *now; /* the loop's; the iteration that `in` is of, 0 .. trips.  Of a while NULL */
  const Size *trips;
  bool is_exact; /* trips; else that is the most that they can be */
  Reach **in;    /* over the carry's places and `now` */
  Reach **next;  /* over the carry's places and `index` */
  bool *depends; /* [k * n + j]: j on k, through others */
  bool *done;
} Carried;

struct ReachAdd {
  Value *acc;
  Reach *reach;     /* over the accumulator's places, and the indices of the loops around */
  int n;            /* leading axes that are indexed, and */
  const Size **at;  /* by what; NULL once that has been made use of, or cannot be */
  const Region *in; /* where it stands */
};

static int carry_of(const Carried *c, const Value *source) {
  return !source->def && source->region->owner == c->op && source->index >= c->first ? source->index - c->first : -1;
}

/* ---- carries replaced by what they reach */
static Reach *through_carry(const Carried *c, const Reach *r, int k) {
  Reach *out = reach_through(c->a, c->in[k], r->spans, r->source->type);
  if (!c->now)
    return out;
  const Span *when = &r->spans[r->source->type.rank];
  return reach_replace(c->a, out, c->now, when->lo, when->hi);
}

static Reach *without(const Carried *c, const Reach *r, bool all) {
  Reach *out = NULL;
  for (; r; r = r->next) {
    const int k = carry_of(c, r->source);
    if (k >= 0 && !all && !c->done[k])
      continue;
    Reach *alone = NEW(c->a->module->arena, Reach);
    *alone = *r;
    alone->next = NULL;
    out = reach_union(c->a, out, k < 0 ? alone : through_carry(c, r, k));
  }
  return out;
}

/* ---- offsets */
typedef struct Offsets {
  const Size *lo, *hi; /* NULL: no bound */
  const ReachCause *cause;
  bool known, wraps;
} Offsets;

static bool is_free(const Carried *c, const Size *s, Type t) {
  for (int k = 0; k < t.rank; k++)
    if (size_uses(s, reach_place(c->a, t, k)))
      return false;
  return true;
}

/* How far an axis of the carries of a group is from the same axis of those that it depends on. */
static Offsets offsets_of(const Carried *c, const bool *group, int axis) {
  Analysis *a = c->a;
  Module *m = a->module;
  Offsets o = {0};
  for (int j = 0; j < c->n; j++)
    for (const Reach *r = group[j] ? c->next[j] : NULL; r; r = r->next) {
      const int k = carry_of(c, r->source);
      if (k < 0 || !group[k])
        continue;
      const Type t = c->body->params[c->first + j]->type;
      const Span s = r->spans[axis];
      const Size *place = size_atom(m, reach_place(a, t, axis));
      const Size *lo = s.lo ? size_sub(m, s.lo, place) : NULL, *hi = s.hi ? size_sub(m, s.hi, place) : NULL;
      if (c->index) {
        lo = bound_replace(a, lo, c->index, NULL, NULL, false);
        hi = bound_replace(a, hi, c->index, NULL, NULL, true);
      }
      lo = lo && is_free(c, lo, t) ? lo : NULL;
      hi = hi && is_free(c, hi, t) ? hi : NULL;
      o.lo = o.known ? bound_union(a, o.lo, lo, false) : lo;
      o.hi = o.known ? bound_union(a, o.hi, hi, true) : hi;
      o.wraps |= s.wraps;
      o.cause = o.cause ? o.cause : s.cause;
      o.known = true;
    }
  return o;
}

/* The places of a reach moved by `steps` times the offsets. */
static Reach *moved(const Carried *c, Reach *r, Type t, const Offsets *offsets, const Size *steps) {
  Analysis *a = c->a;
  Module *m = a->module;
  Span *at = NEW_ARRAY(m->arena, Span, t.rank + 1);
  for (int k = 0; k < t.rank; k++) {
    const Size *place = size_atom(m, reach_place(a, t, k));
    const Offsets *o = &offsets[k];
    const bool still = o->lo && o->hi && size_is(o->lo, 0) && size_is(o->hi, 0);
    at[k] = (Span){.wraps = o->wraps, .cause = o->cause};
    if (still || (steps && o->lo))
      at[k].lo = still ? place : size_add(m, place, size_mul(m, steps, o->lo));
    if (still || (steps && o->hi))
      at[k].hi = still ? place : size_add(m, place, size_mul(m, steps, o->hi));
    if (!steps && !still) { /* ever further, in the directions that there are */
      const ReachCause *why = reach_cause(a, "how often this runs is known only when it does");
      at[k].lo = o->lo && size_nonnegative(m, o->lo) && !o->wraps ? place : NULL;
      at[k].hi = o->hi && size_nonnegative(m, size_scale(m, o->hi, -1)) && !o->wraps ? place : NULL;
      at[k].cause = o->cause ? o->cause : why;
    }
    if (at[k].wraps && (!at[k].lo || !at[k].hi))
      at[k] = reach_all(at[k].cause);
  }
  return reach_through(a, r, at, t);
}

static void with_zero(Module *m, Offsets *o) {
  const Size *zero = size_const(m, 0);
  o->lo = o->lo ? size_scale(m, size_max(m, size_scale(m, o->lo, -1), zero), -1) : NULL;
  o->hi = o->hi ? size_max(m, o->hi, zero) : NULL;
}

/* ---- a group of carries */
/* Its places written with those of another carry, of as many axes. */
static Reach *as_carry(const Carried *c, Reach *r, int from, int to) {
  const Type f = c->body->params[c->first + from]->type, t = c->body->params[c->first + to]->type;
  if (f.rank == t.rank)
    return reach_renamed(c->a, r, f, 0, t, 0);
  Span *at = NEW_ARRAY(c->a->module->arena, Span, f.rank + 1);
  for (int k = 0; k < f.rank; k++)
    at[k] = reach_all(NULL);
  return reach_through(c->a, r, at, f);
}

static bool one_rank(const Carried *c, const bool *group) {
  int rank = -1;
  for (int j = 0; j < c->n; j++) {
    const int own = c->body->params[c->first + j]->type.rank;
    if (group[j] && rank >= 0 && own != rank)
      return false;
    rank = group[j] ? own : rank;
  }
  return true;
}

static void offsets_of_group(const Carried *c, const bool *group, int rank, bool alone, Offsets *before,
                             Offsets *later) {
  const bool one = one_rank(c, group);
  for (int k = 0; k < rank; k++) {
    before[k] = one ? offsets_of(c, group, k) : (Offsets){0};
    later[k] = before[k];
    with_zero(c->a->module, &later[k]);
    if (!alone) /* of several, not each step moves */
      before[k] = later[k];
  }
}

/* What carry j reaches at the entry of iteration `now`. */
static Reach *group_entry(const Carried *c, const bool *group, int j, Reach *const *others) {
  Analysis *a = c->a;
  Module *m = a->module;
  const Type t = c->body->params[c->first + j]->type;
  Offsets before[MAX_RANK], later[MAX_RANK];
  bool alone = c->is_exact;
  for (int k = 0; k < c->n; k++)
    alone &= k == j || !group[k];
  offsets_of_group(c, group, t.rank, alone, before, later);
  const Size *now = c->now ? size_atom(m, c->now) : NULL;
  const Size *last = now ? size_sub(m, now, size_const(m, 1)) : NULL;
  const Size *since = now ? size_sub(m, last, size_atom(m, c->index)) : NULL;
  Reach *all = NULL;
  for (int k = 0; k < c->n; k++) {
    if (!group[k])
      continue;
    Reach *start = moved(c, as_carry(c, reach_read(a, c->op->operands[k]), k, j), t, before, now);
    Reach *added = moved(c, as_carry(c, others[k], k, j), t, later, since);
    if (now)
      added = reach_replace(a, added, c->index, size_const(m, 0), last);
    all = reach_union(a, all, reach_union(a, start, added));
  }
  return all;
}

static void see_through(Carried *c, int j) {
  Analysis *a = c->a;
  Module *m = a->module;
  bool *group = NEW_ARRAY(m->arena, bool, c->n);
  Reach **others = NEW_ARRAY(m->arena, Reach *, c->n);
  for (int k = 0; k < c->n; k++)
    group[k] = k == j || (c->depends[k * c->n + j] && c->depends[j * c->n + k]);
  for (int k = 0; k < c->n; k++)
    if (group[k])
      others[k] = without(c, c->next[k], false);
  Reach **in = NEW_ARRAY(m->arena, Reach *, c->n);
  for (int k = 0; k < c->n; k++) {
    if (!group[k])
      continue;
    if (c->depends[k * c->n + k]) {
      in[k] = group_entry(c, group, k, others);
    } else {
      const Size *last = c->now ? size_sub(m, size_atom(m, c->now), size_const(m, 1)) : NULL;
      Reach *before = c->now ? reach_replace(a, others[k], c->index, last, last) : others[k];
      in[k] = reach_union(a, reach_read(a, c->op->operands[k]), before);
    }
  }
  for (int k = 0; k < c->n; k++)
    if (group[k]) {
      c->in[k] = in[k];
      c->done[k] = true;
    }
}

/* An index from 0 to the number of trips. */
static Value *index_to(Analysis *a, const Size *trips) {
  Module *m = a->module;
  Op *op = op_new(m, OP_LOOP, 0, 0, 1);
  op->parent = a->source->body;
  op->at.loop = loop_info_new(m, 1, 0, 0, 0);
  op->at.loop->extents[0] = size_add(m, trips, size_const(m, 1));
  op->regions[0] = region_new(m, a->source, op);
  return region_add_param(m, op->regions[0], type_scalar(KIND_I64), NULL);
}

static Carried carried_of(Analysis *a, const Op *op, const Region *body, int n, int first) {
  Module *m = a->module;
  Carried c = {.a = a,
               .op = op,
               .n = n,
               .first = first,
               .body = body,
               .in = NEW_ARRAY(m->arena, Reach *, n + 1),
               .next = NEW_ARRAY(m->arena, Reach *, n + 1),
               .depends = NEW_ARRAY(m->arena, bool, n *n + 1),
               .done = NEW_ARRAY(m->arena, bool, n + 1)};
  if (op->code == OP_LOOP && n) {
    c.index = body->params[0];
    const Size *most = bound_known(a, op->at.loop->extents[0], true);
    c.is_exact = most && most == bound_known(a, op->at.loop->extents[0], false);
    c.trips = size_max(m, most ? most : op->at.loop->extents[0], size_const(m, 0));
    c.now = index_to(a, c.trips);
  }
  for (int j = 0; j < n; j++) {
    c.next[j] = kind_is_float(body->params[first + j]->type.kind) ? reach_read(a, body->yields[j]) : NULL;
    for (const Reach *r = c.next[j]; r; r = r->next)
      if (carry_of(&c, r->source) >= 0)
        c.depends[carry_of(&c, r->source) * n + j] = true;
  }
  for (int via = 0; via < n; via++)
    for (int k = 0; k < n; k++)
      for (int j = 0; j < n && c.depends[k * n + via]; j++)
        c.depends[k * n + j] |= c.depends[via * n + j];
  for (int left = n, before = n + 1; left && left < before;) { /* those first that wait for no other */
    before = left;
    for (int j = 0; j < n; j++) {
      bool ready = !c.done[j];
      for (int k = 0; k < n && ready; k++)
        ready = k == j || c.done[k] || !c.depends[k * n + j] || c.depends[j * n + k];
      if (ready)
        see_through(&c, j);
    }
    left = 0;
    for (int j = 0; j < n; j++)
      left += !c.done[j];
  }
  return c;
}

/* ---- additions to accumulators, and pairs, from further in */
/* The loop's indices leave: an addition's place says what some are. */
static void close_add(Analysis *a, ReachAdd *add, const Op *op) {
  Module *m = a->module;
  const int nindices = op->code == OP_LOOP ? op->at.loop->nindices : 0;
  for (int i = nindices - 1; i >= 0; i--) {
    Value *index = op->regions[0]->params[i];
    for (int k = 0; k < add->n; k++) {
      const Size *slope, *rest;
      int64_t by;
      if (!add->at[k] || !size_uses(add->at[k], index))
        continue;
      if (size_linear_in(m, add->at[k], index, &slope, &rest) && size_is_const(slope, &by) && (by == 1 || by == -1)) {
        const Size *place = size_atom(m, reach_place(a, add->acc->type, k));
        const Size *is = size_scale(m, size_sub(m, place, rest), by);
        add->reach = reach_replace(a, add->reach, index, is, is);
      }
      add->at[k] = NULL;
    }
    add->reach = reach_replace(a, add->reach, index, NULL, NULL);
  }
}

void reach_add(Analysis *a, Op *op) {
  Module *m = a->module;
  Value *acc = op->operands[0], *v = op->operands[1];
  Reach *r = reach_read(a, v);
  if (!r)
    return;
  ReachAdd *add = NEW(m->arena, ReachAdd);
  *add = (ReachAdd){.acc = acc, .n = op->noperands - 2, .in = op->parent};
  add->at = NEW_ARRAY(m->arena, const Size *, add->n + 1);
  add->reach = reach_renamed(a, r, v->type, 0, acc->type, add->n);
  for (int k = 0; k < add->n; k++)
    add->at[k] = size_of_value(m, op->operands[2 + k]);
  vec_push(m->arena, a->adds, add);
}

static void close_adds(Analysis *a, const Carried *c, const Op *op, int from) {
  for (int i = from; i < a->adds.n; i++) {
    ReachAdd *add = a->adds.at[i];
    if (c->n)
      add->reach = without(c, add->reach, true);
    close_add(a, add, op);
  }
}

/* Takes out the additions to an accumulator. */
static Reach *added_to(Analysis *a, const Value *acc, int from) {
  Reach *r = NULL;
  int n = from;
  for (int i = from; i < a->adds.n; i++)
    if (a->adds.at[i]->acc == acc)
      r = reach_union(a, r, a->adds.at[i]->reach);
    else
      a->adds.at[n++] = a->adds.at[i];
  a->adds.n = n;
  return r;
}

static void close_sites(Analysis *a, const Carried *c, int from) {
  for (int i = from; i < a->sites.n && c->n; i++)
    a->sites.at[i].reach = without(c, a->sites.at[i].reach, true);
}

/* ---- loops */
static Reach *reach_out(Analysis *a, const Carried *c, const Op *op, int i) {
  const LoopInfo *info = op->at.loop;
  const Region *body = op->regions[0];
  Value *v = body->yields[info->ncarries + i], *result = loop_out(op, i);
  const bool stacks = info->outs[i] == OUT_STACK;
  if (!kind_is_float(v->type.kind) || !value_is_active(a->activity, result))
    return NULL;
  Reach *r = reach_read(a, v);
  if (c->n)
    r = without(c, r, true);
  if (stacks)
    r = reach_renamed(a, r, v->type, 0, result->type, info->nindices);
  for (int k = info->nindices - 1; k >= 0; k--) {
    const Size *place = stacks ? size_atom(a->module, reach_place(a, result->type, k)) : NULL;
    r = reach_replace(a, r, body->params[k], place, place);
  }
  if (info->outs[i] == OUT_PROD && a->wants_sites && r) {
    const ReachSite site = {.reach = r};
    vec_push(a->module->arena, a->sites, site);
  }
  return r;
}

void reach_loop(Analysis *a, Op *op) {
  const LoopInfo *info = op->at.loop;
  const Region *body = op->regions[0];
  const int nadds = a->adds.n, nsites = a->sites.n;
  reach_region(a, body);
  a->at = op->loc.src ? op->loc : a->at;
  Carried c = {.a = a};
  if (info->ncarries)
    c = carried_of(a, op, body, info->ncarries, info->nindices);
  for (int k = 0; k < info->ncarries; k++)
    if (value_is_active(a->activity, op->results[k]))
      reach_set(a, op->results[k],
                reach_replace(a, c.in[k], c.now, c.is_exact ? c.trips : size_const(a->module, 0), c.trips));
  close_adds(a, &c, op, nadds);
  close_sites(a, &c, nsites);
  for (int i = 0; i < info->naccs; i++) {
    Value *acc = body->params[info->nindices + info->ncarries + i];
    Reach *r = added_to(a, acc, nadds);
    if (kind_is_float(acc->type.kind))
      reach_set(a, loop_acc_result(op, i), reach_union(a, reach_read(a, op->operands[info->ncarries + i]), r));
  }
  for (int i = 0; i < info->nouts; i++)
    reach_set(a, loop_out(op, i), reach_out(a, &c, op, i));
}

void reach_while(Analysis *a, Op *op) {
  const Region *body = op->regions[1];
  const int nadds = a->adds.n, nsites = a->sites.n;
  reach_region(a, op->regions[0]);
  reach_region(a, body);
  a->at = op->loc.src ? op->loc : a->at;
  const Carried c = carried_of(a, op, body, op->noperands, 0);
  for (int k = 0; k < op->noperands; k++)
    if (value_is_active(a->activity, op->results[k]))
      reach_set(a, op->results[k], c.in[k]);
  close_adds(a, &c, op, nadds);
  close_sites(a, &c, nsites);
}
