/* Merging of values into places, and what happens to the edges that were not merged: see codegen/storage.h. */
#include "codegen/storage.h"
#include "ir/build.h"
#include <stdlib.h>
#include <string.h>

static Place *leader(Place *p) {
  while (p->into)
    p = p->into;
  return p;
}

Place *place_of(const Storage *s) {
  return leader(s->place);
}

/* What owns the memory that an edge's value is all of; NULL where it is a part, or of more than one. */
static Storage *source_of(const Edge *e) {
  Storage *s = note_of(e->from)->storage;
  if (s->kind == STORAGE_OWN)
    return s;
  return s->kind == STORAGE_VIEW && s->whole ? s->owners.at[0] : NULL;
}

static void give_places(FuncStorage *f) {
  Arena *arena = f->module->arena;
  for (int i = 0; i < f->storages.n; i++) {
    Storage *s = f->storages.at[i];
    if (s->kind != STORAGE_OWN)
      continue;
    if (!s->place) {
      s->place = NEW(arena, Place);
      *s->place = (Place){.kind = PLACE_WORK, .type = s->value->type};
    }
    s->place->count = type_count(f->module, s->place->type);
    s->place->from = s->def;
    s->place->to = storage_last_use(f, s);
    vec_push(arena, s->place->members, s);
  }
}

/* ---- merging */
/* A slot exists in one iteration only: everything in it has to be of that iteration. */
static bool fits_slot(const Place *slot, const Place *other) {
  const Region *body = slot->loop->regions[0];
  for (int i = 0; i < other->members.n; i++)
    if (!region_within(other->members.at[i]->home, body))
      return false;
  return true;
}

static bool may_merge(FuncStorage *f, Place *a, Place *b) {
  if (a->kind == PLACE_INPUT || b->kind == PLACE_INPUT)
    return false;
  if (a->kind != PLACE_WORK && b->kind != PLACE_WORK)
    return false;
  if (a->type.kind != b->type.kind || a->count != b->count)
    return false;
  if ((a->kind == PLACE_SLOT && !fits_slot(a, b)) || (b->kind == PLACE_SLOT && !fits_slot(b, a)))
    return false;
  if (a->to < b->from || b->to < a->from)
    return true; /* never alive together: what a long chain of updates is decided by */
  for (int i = 0; i < a->members.n; i++)
    for (int j = 0; j < b->members.n; j++)
      if (storages_interfere(f, a->members.at[i], b->members.at[j]))
        return false;
  return true;
}

static void widen(Place *p, int from, int to) {
  p->from = from < p->from ? from : p->from;
  p->to = to > p->to ? to : p->to;
}

static void merge(FuncStorage *f, Place *a, Place *b) {
  if (a->kind == PLACE_WORK && (b->kind != PLACE_WORK || a->members.n < b->members.n)) {
    Place *other = a;
    a = b;
    b = other;
  }
  b->into = a;
  widen(a, b->from, b->to);
  for (int i = 0; i < b->members.n; i++)
    vec_push(f->module->arena, a->members, b->members.at[i]);
}

/* The inner loops first, where a copy costs most; then in program order. */
static int by_cost(const void *x, const void *y) {
  const Edge *a = *(Edge *const *)x, *b = *(Edge *const *)y;
  return a->depth != b->depth ? b->depth - a->depth : a->order - b->order;
}

static void merge_edges(FuncStorage *f) {
  Edge **sorted = NEW_ARRAY(f->module->arena, Edge *, f->edges.n);
  if (f->edges.n)
    memcpy(sorted, f->edges.at, sizeof *sorted * (size_t)f->edges.n);
  qsort(sorted, (size_t)f->edges.n, sizeof *sorted, by_cost);
  for (int i = 0; i < f->edges.n; i++) {
    Storage *from = source_of(sorted[i]);
    if (!from)
      continue;
    Place *a = place_of(from), *b = place_of(sorted[i]->to);
    if (a != b && may_merge(f, a, b))
      merge(f, a, b);
  }
}

/* ---- carries that are replaced whole */
static bool made_within(const Place *p, const Region *body) {
  for (int i = 0; i < p->members.n; i++)
    if (!region_within(p->members.at[i]->home, body))
      return false;
  return true;
}

/* Nothing but the carry itself lies in its place while the loop runs. */
static bool holds_only(const Place *p, const Storage *carry, const Region *body) {
  for (int i = 0; i < p->members.n; i++)
    if (p->members.at[i] != carry && region_within(p->members.at[i]->region, body))
      return false;
  return true;
}

static void settle_carry(Edge *yield, Region *body) {
  Storage *from = source_of(yield);
  if (!from)
    return;
  Place *carry = place_of(yield->to), *made = place_of(from);
  if (made == carry || !made_within(made, body) || carry->twin || carry->is_twin)
    return;
  if (made->kind == PLACE_SLOT && made->loop == body->owner) {
    yield->follows = carry->followed = holds_only(carry, yield->to, body);
  } else if (made->kind == PLACE_WORK && !made->is_twin && !made->twin) {
    carry->twin = made;
    made->twin = carry;
    made->is_twin = true;
    yield->alternates = true;
  }
}

/* Where a stack has the carry of each iteration, as the tape of a loop in order does, the carry lies in the slot from
   the beginning: the next one is made in the slot behind, the last one in the carry's own place. */
static void settle_kept(const Op *loop, Edge *const *edges) {
  const LoopInfo *info = loop->at.loop;
  for (int i = 0; i < info->ncarries && info->nindices == 1; i++) {
    Edge *yield = edges[i];
    for (int o = 0; o < info->nouts && yield && yield->alternates && !yield->kept; o++) {
      Edge *keep = edges[info->ncarries + o];
      const Storage *stack = note_of(loop->results[info->ncarries + info->naccs + o])->storage;
      if (!keep || keep->from != loop_carry(loop, i) || place_of(keep->to)->kind != PLACE_SLOT ||
          place_of(keep->to)->members.n != 1 || stack->kind != STORAGE_OWN)
        continue;
      yield->kept = o + 1;
      keep->in_slot = true;
      place_of(yield->to)->stack = place_of(yield->to)->twin->stack = place_of(stack);
    }
  }
}

/* ---- edges that are taken together
   A copy must not destroy what another copy at the same point is still to read: what it reads is then put aside. */
static bool lies_in(const Edge *e, const Place *p) {
  const Storage *s = note_of(e->from)->storage;
  if (s->kind == STORAGE_OWN)
    return place_of(s) == p;
  for (int i = 0; i < s->owners.n; i++)
    if (place_of(s->owners.at[i]) == p)
      return true;
  return false;
}

static bool copies(const Edge *e) {
  const Storage *s = source_of(e);
  return !e->alternates && !e->follows && !(s && place_of(s) == place_of(e->to));
}

static void settle_together(FuncStorage *f, int n, Edge **edges) {
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n && edges[j] && !edges[j]->aside; i++) {
      if (i == j || !edges[i] || !copies(edges[i]) || !copies(edges[j]) || !lies_in(edges[j], place_of(edges[i]->to)))
        continue;
      Place *aside = NEW(f->module->arena, Place);
      *aside = (Place){
          .kind = PLACE_WORK, .type = edges[j]->from->type, .count = type_count(f->module, edges[j]->from->type)};
      aside->from = aside->to = edges[j]->at;
      aside->home = edges[j]->region;
      vec_push(f->module->arena, f->places, aside);
      edges[j]->aside = aside;
    }
}

static void settle_op(Op *op, void *arg) {
  FuncStorage *f = arg;
  OpNote *note = op_note(op);
  const bool loop = op->code == OP_LOOP;
  if (loop || op->code == OP_WHILE) {
    Region *body = op->regions[loop ? 0 : 1];
    RegionNote *body_note = region_note(f, body);
    const int ncarries = loop ? op->at.loop->ncarries : op->noperands;
    for (int i = 0; i < ncarries; i++)
      if (body_note->edges[i])
        settle_carry(body_note->edges[i], body);
    if (loop)
      settle_kept(op, body_note->edges);
    settle_together(f, note->nedges, note->edges);
    settle_together(f, ncarries, body_note->edges);
    settle_together(f, ncarries, note->exits);
  } else if (op->code == OP_IF) {
    for (int k = 0; k < 2; k++)
      settle_together(f, note->regions[k].nedges, note->regions[k].edges);
  }
}

/* ---- extent of a place */
static const Region *common_region(const Region *a, const Region *b) {
  while (a != b && a && b) {
    /* The deeper one steps out; depth is counted by walking, as notes count loops only. */
    int depth_a = 0, depth_b = 0;
    for (const Region *r = a; r->owner; r = r->owner->parent)
      depth_a++;
    for (const Region *r = b; r->owner; r = r->owner->parent)
      depth_b++;
    if (depth_a >= depth_b)
      a = a->owner->parent;
    else
      b = b->owner->parent;
  }
  return a;
}

/* The points between which the loop of a carry or an accumulator runs. */
static void widen_by_loop(Place *p, const Op *op) {
  widen(p, op_note(op)->begin, op_note(op)->end);
}

static void measure(Place *p) {
  for (int i = 0; i < p->members.n; i++) {
    const Storage *s = p->members.at[i];
    p->home = p->home ? common_region(p->home, s->home) : s->home;
    if (s->value && !s->value->def && s->value->region->owner)
      widen_by_loop(p, s->value->region->owner); /* a carry */
    else if (s->value && s->value->def)
      widen_by_loop(p, s->value->def); /* from where it begins to be made */
  }
}

static void measure_twins(FuncStorage *f) {
  for (int i = 0; i < f->edges.n; i++) {
    Edge *e = f->edges.at[i];
    if (!e->alternates)
      continue;
    Place *a = place_of(e->to), *b = place_of(source_of(e));
    const Op *loop = e->region->owner;
    widen_by_loop(a, loop);
    widen_by_loop(b, loop);
    b->home = common_region(b->home, loop->parent);
  }
}

FuncStorage *storage_analyse(Func *func) {
  FuncStorage *f = storage_begin(func);
  give_places(f);
  merge_edges(f);
  region_walk(func->body, settle_op, f);
  for (int i = 0; i < f->storages.n; i++) {
    Storage *s = f->storages.at[i];
    if (s->kind == STORAGE_OWN && !s->place->into) {
      measure(s->place);
      vec_push(f->module->arena, f->places, s->place);
    }
  }
  measure_twins(f);
  return f;
}
