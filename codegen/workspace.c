/* Planning of a function's workspace: see codegen/workspace.h. */
#include "codegen/parallel.h"
#include "ir/value_table.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_CHOICES = 16, FRAME_PLACE_BYTES = 1024, FRAME_BYTES = 4096 };

/* ---- what is known at entry */
bool is_work_param(const Value *v) {
  return !v->def && !v->region->owner && !v->type.rank && kind_is_int(v->type.kind);
}

static bool known_within(const Value *v, int depth);

static bool all_known(const Op *op, int depth) {
  for (int i = 0; i < op->noperands; i++)
    if (!known_within(op->operands[i], depth))
      return false;
  return true;
}

typedef struct KnownArg {
  bool known;
  int depth;
} KnownArg;

static void note_unknown(Value *v, void *arg) {
  KnownArg *k = arg;
  k->known = k->known && known_within(v, k->depth);
}

static bool size_known(const Size *s, int depth) {
  KnownArg k = {.known = !s->overflow, .depth = depth};
  size_values(s, note_unknown, &k);
  return k.known;
}

static bool op_known(const Op *op, int depth) {
  switch (op->code) {
  case OP_CONST: return true;
  case OP_SIZE: return size_known(op->at.size, depth);
  case OP_DIV:
  case OP_REM:
  case OP_MOD: { /* those that may end the call stay where they are */
    const Op *divisor = op->operands[1]->def;
    if (kind_is_int(op->operands[0]->type.kind) &&
        !(divisor && divisor->code == OP_CONST && divisor->at.i != 0 && divisor->at.i != -1))
      return false;
    return all_known(op, depth);
  }
  default: return op_info[op->code].group == GROUP_ELEM && !op->results[0]->type.rank && all_known(op, depth);
  }
}

/* A chain of more operations is not followed. */
static bool known_within(const Value *v, int depth) {
  enum { LONGEST_CHAIN = 256 };
  ValueNote *note = note_of(v);
  if (is_work_param(v))
    return true;
  if (!note || !v->def || v->type.rank || depth == LONGEST_CHAIN)
    return false;
  if (!note->entry)
    note->entry = op_known(v->def, depth + 1) ? ENTRY_KNOWN : ENTRY_UNKNOWN;
  return note->entry == ENTRY_KNOWN;
}

bool known_at_entry(const Value *v) {
  return known_within(v, 0);
}

/* ---- bounds */
static bool is_loop_index(const Value *v) {
  const Op *owner = v->def ? NULL : v->region->owner;
  return owner && owner->code == OP_LOOP && v->index < owner->at.loop->nindices;
}

/* One of two others: the lesser, the greater. */
static bool is_either(const Value *v) {
  return v->def && (v->def->code == OP_MIN || v->def->code == OP_MAX) && !v->type.rank && kind_is_int(v->type.kind);
}

typedef struct Deepest {
  Value *index;
  Value *either; /* to be replaced before an index is */
  int depth;
  bool failed;
} Deepest;

static void find_deepest(Value *v, void *arg) {
  Deepest *d = arg;
  if (known_at_entry(v))
    return;
  if (is_either(v)) {
    d->either = v;
    return;
  }
  if (!is_loop_index(v)) {
    d->failed = true;
    return;
  }
  int depth = 0;
  for (const Region *r = v->region; r->owner; r = r->owner->parent)
    depth++;
  if (depth > d->depth) {
    d->depth = depth;
    d->index = v;
  }
}

typedef struct Replace {
  Value *value;
  const Size *by;
} Replace;

static const Size *replace_value(Value *v, void *arg) {
  const Replace *r = arg;
  return v == r->value ? r->by : NULL;
}

static const Size *replaced(Module *m, const Size *s, Value *v, const Size *by) {
  Replace r = {.value = v, .by = by};
  return size_map(m, s, replace_value, &r);
}

static bool add_choices(Module *m, const Size *s, int depth, const Size **out, int *n);

/* v is one of its operands; where s grows with a lesser one, either is a bound. */
static bool add_either(Module *m, const Size *s, Value *v, int depth, const Size **out, int *n) {
  const Size *step = size_sub(m, replaced(m, s, v, size_add(m, size_of_value(m, v), size_const(m, 1))), s);
  const bool one_will_do = v->def->code == OP_MIN && size_nonnegative(m, step);
  const int before = *n;
  for (int i = 0; i < 2; i++) {
    const bool bounded = add_choices(m, replaced(m, s, v, size_of_value(m, v->def->operands[i])), depth, out, n);
    if (bounded == one_will_do)
      return bounded;
    if (!bounded)
      *n = before;
  }
  return !one_will_do;
}

/* Adds to `out` sizes known at entry, of which the largest is at least s wherever s is computed. */
static bool add_choices(Module *m, const Size *s, int depth, const Size **out, int *n) {
  enum { DEEPEST_EITHER = 6 };
  Deepest d = {0};
  size_values(s, find_deepest, &d);
  if (d.failed || s->overflow)
    return false;
  if (d.either)
    return depth < DEEPEST_EITHER && add_either(m, s, d.either, depth + 1, out, n);
  if (!d.index) {
    if (*n == MAX_CHOICES)
      return false;
    out[(*n)++] = s;
    return true;
  }
  const Size *extent = d.index->region->owner->at.loop->extents[d.index->index];
  const Size *one = size_const(m, 1), *coefficient, *rest;
  const Size *at_end = replaced(m, s, d.index, size_sub(m, extent, one)),
             *at_0 = replaced(m, s, d.index, size_const(m, 0));
  const Size *step = size_sub(m, replaced(m, s, d.index, size_add(m, size_of_value(m, d.index), one)), s);
  if (size_nonnegative(m, step))
    return add_choices(m, at_end, depth, out, n);
  if (size_nonnegative(m, size_scale(m, step, -1)))
    return add_choices(m, at_0, depth, out, n);
  return size_linear_in(m, s, d.index, &coefficient, &rest) && add_choices(m, at_0, depth, out, n) &&
         add_choices(m, at_end, depth, out, n);
}

bool need_bound(Module *m, const Size *s, Bound *out) {
  const Size **choices = NEW_ARRAY(m->arena, const Size *, MAX_CHOICES);
  *out = (Bound){.choices = choices};
  return add_choices(m, s, 0, choices, &out->n);
}

static Need *new_need(Module *m, NeedKind kind) {
  Need *need = NEW(m->arena, Need);
  need->kind = kind;
  return need;
}

static Need *need_of_place(Module *m, const Place *place) {
  const Type t = place->type;
  Need *need = new_need(m, place->of_product ? NEED_PRODUCT : NEED_TENSOR);
  need->element_bytes = kind_bytes(t.kind) * (place->lanes ? place->lanes : 1);
  need->most_bytes = place->most_bytes;
  need->rank = t.rank;
  Bound *dims = NEW_ARRAY(m->arena, Bound, t.rank);
  need->dims = dims;
  for (int i = 0; i < t.rank; i++)
    if (!need_bound(m, t.dims[i], &dims[i]))
      return NULL;
  return need;
}

/* ---- calls */
typedef struct CallArgs {
  Module *module;
  const Op *call;
  bool failed;
} CallArgs;

static const Size *caller_size(Value *v, void *arg) {
  CallArgs *c = arg;
  if (!is_work_param(v) || v->type.kind != KIND_I64) {
    c->failed = true;
    return NULL;
  }
  return size_of_value(c->module, c->call->operands[v->index]);
}

/* The callee's need with its sizes over the caller's values, bounded. */
static const Need *need_mapped(CallArgs *c, const Need *callee_need) {
  Need *need = new_need(c->module, callee_need->kind);
  need->element_bytes = callee_need->element_bytes;
  need->most_bytes = callee_need->most_bytes;
  need->rank = callee_need->rank;
  Bound *dims = NEW_ARRAY(c->module->arena, Bound, need->rank);
  need->dims = dims;
  if (callee_need->kind == NEED_CALL)
    return NULL;
  for (int i = 0; i < need->rank; i++) {
    const Size **choices = NEW_ARRAY(c->module->arena, const Size *, MAX_CHOICES);
    dims[i].choices = choices;
    for (int j = 0; j < callee_need->dims[i].n; j++) {
      const Size *s = size_map(c->module, callee_need->dims[i].choices[j], caller_size, c);
      if (c->failed || !add_choices(c->module, s, 0, choices, &dims[i].n))
        return NULL;
    }
  }
  for (int i = 0; i < callee_need->parts.n; i++) {
    const Need *part = need_mapped(c, callee_need->parts.at[i]);
    if (!part)
      return NULL;
    vec_push(c->module->arena, need->parts, part);
  }
  return need;
}

/* Whether what the callee's workspace depends on is known at entry; args: as sizes. */
static bool known_arguments(FuncStorage *f, const Op *call, const Size **args) {
  const WorkPlan *plan = func_note(call->at.callee)->plan;
  bool known = true;
  for (int i = 0; i < call->noperands; i++) {
    if (!plan->uses_param[i])
      continue;
    if (call->operands[i]->type.kind != KIND_I64) { /* an i32: as it is, and only where it is constant */
      const Op *def = call->operands[i]->def;
      known = known && def && def->code == OP_CONST;
      args[i] = known ? size_const(f->module, def->at.i) : NULL;
      continue;
    }
    args[i] = size_of_value(f->module, call->operands[i]);
    known = known && size_known(args[i], 0);
  }
  return known;
}

static const Need *need_of_call(FuncStorage *f, const Op *call) {
  Func *callee = call->at.callee;
  const WorkPlan *plan = func_note(callee)->plan;
  Need *need = new_need(f->module, NEED_CALL);
  need->callee = callee;
  need->args = NEW_ARRAY(f->module->arena, const Size *, call->noperands);
  if (known_arguments(f, call, need->args))
    return need;
  CallArgs c = {.module = f->module, .call = call};
  return need_mapped(&c, plan->slots);
}

/* ---- slots */
typedef struct Planner {
  FuncStorage *f;
  WorkPlan *plan;
  VEC(int) busy_to; /* by slot */
  VEC(const Size *) counts;
} Planner;

typedef struct Candidate {
  Place *place;
  const Need *need;
} Candidate;

static void put_in_slot(Planner *p, Place *place, const Need *need) {
  Arena *arena = p->f->module->arena;
  int best = -1;
  for (int i = 0; i < p->busy_to.n; i++)
    if (p->busy_to.at[i] < place->from && (best < 0 || p->counts.at[i] == place->count))
      best = i;
  if (best < 0) {
    best = p->busy_to.n;
    vec_push(arena, p->busy_to, 0);
    vec_push(arena, p->counts, place->count);
    vec_push(arena, p->plan->slots->parts, new_need(p->f->module, NEED_MAX));
  }
  p->busy_to.at[best] = place->to;
  Need *slot = (Need *)(uintptr_t)p->plan->slots->parts.at[best];
  vec_push(arena, slot->parts, need);
  place->slot = best;
}

static bool put_in_frame(Planner *p, Place *place) {
  int64_t count;
  if (place->of_product || !size_is_const(place->count, &count) || count < 0 || count > FRAME_PLACE_BYTES)
    return false;
  const int64_t each = kind_bytes(place->type.kind) * (place->lanes ? place->lanes : 1);
  const int64_t bytes = (count * each + WORK_ALIGNMENT - 1) / WORK_ALIGNMENT * WORK_ALIGNMENT;
  if (bytes > FRAME_PLACE_BYTES || p->plan->frame_bytes + bytes > FRAME_BYTES)
    return false;
  p->plan->frame_bytes += (int)bytes;
  place->room = ROOM_FRAME;
  place->frame_bytes = (int)bytes;
  return true;
}

/* Calls that need a workspace get a place for it, as long as they run. */
static void visit_call(Op *op, void *arg) {
  Planner *p = arg;
  if (op->code != OP_CALL || op->at.callee->is_extern)
    return;
  const WorkPlan *callee = func_note(op->at.callee)->plan;
  const Size **args = NEW_ARRAY(p->f->module->arena, const Size *, op->noperands);
  op_note(op)->blocks = callee->part && known_arguments(p->f, op, args);
  p->plan->uses_context |= callee->uses_context;
  p->plan->uses_lanes |= callee->uses_lanes || op_note(op)->blocks;
  if (!callee->slots->parts.n && !op_note(op)->blocks)
    return;
  Place *area = NEW(p->f->module->arena, Place);
  *area = (Place){.kind = PLACE_WORK, .home = op->parent, .from = op_note(op)->begin, .to = op_note(op)->end};
  op_note(op)->area = area;
  vec_push(p->f->module->arena, p->f->places, area);
  area->call = op;
}

static int by_start(const void *x, const void *y) {
  const Candidate *a = x, *b = y;
  return a->place->from != b->place->from ? (a->place->from < b->place->from ? -1 : 1) : a->place->to - b->place->to;
}

/* ---- which parameters matter */
typedef struct Mattering {
  Module *module;
  WorkPlan *plan;
  ValueTable seen;
  VEC(const Value *) left;
} Mattering;

static void note_value(Value *v, void *arg) {
  Mattering *m = arg;
  if (table_get(&m->seen, v))
    return;
  *table_at(&m->seen, v) = true;
  vec_push(m->module->arena, m->left, v);
}

/* What is computed from other values leads to them; a stack of our own, as such chains may be long. */
static void follow_values(Mattering *m) {
  while (m->left.n) {
    const Value *v = m->left.at[--m->left.n];
    if (is_work_param(v)) {
      m->plan->uses_param[v->index] = true;
      continue;
    }
    if (v->def->code == OP_SIZE)
      size_values(v->def->at.size, note_value, m);
    for (int i = 0; i < v->def->noperands; i++)
      note_value(v->def->operands[i], m);
  }
}

static void note_need(Mattering *m, const Need *need) {
  for (int i = 0; i < need->rank; i++)
    for (int j = 0; j < need->dims[i].n; j++)
      size_values(need->dims[i].choices[j], note_value, m);
  for (int i = 0; i < need->parts.n; i++)
    note_need(m, need->parts.at[i]);
  for (int i = 0; need->callee && i < need->callee->body->nparams; i++)
    if (need->args[i])
      size_values(need->args[i], note_value, m);
}

static void note_params(Module *module, WorkPlan *plan, int nparams) {
  Mattering m = {.module = module, .plan = plan, .seen = {.arena = module->arena}};
  note_need(&m, plan->slots);
  if (plan->part) {
    note_need(&m, plan->part->work);
    note_need(&m, plan->part->overhead);
    note_need(&m, plan->part->sums);
    plan->uses_param[nparams - 1] = true; /* the count */
  }
  follow_values(&m);
}

WorkPlan *workspace_plan(FuncStorage *f, bool threads) {
  Module *m = f->module;
  WorkPlan *plan = NEW(m->arena, WorkPlan);
  Planner p = {.f = f, .plan = plan};
  plan->slots = new_need(m, NEED_SUM);
  plan->uses_param = NEW_ARRAY(m->arena, bool, f->func->body->nparams);
  region_walk(f->func->body, visit_call, &p);
  Candidate *planned = NEW_ARRAY(m->arena, Candidate, f->places.n);
  int n = 0;
  for (int i = 0; i < f->places.n; i++) {
    Place *place = f->places.at[i];
    if (place->kind != PLACE_WORK || place->part_of || (!place->call && put_in_frame(&p, place)))
      continue;
    const Need *need = place->call ? need_of_call(f, place->call) : need_of_place(m, place);
    if (need) {
      planned[n++] = (Candidate){.place = place, .need = need};
    } else {
      place->room = ROOM_DYNAMIC;
      plan->uses_context = true;
    }
  }
  qsort(planned, (size_t)n, sizeof *planned, by_start);
  for (int i = 0; i < n; i++)
    put_in_slot(&p, planned[i].place, planned[i].need);
  plan->part = threads ? part_plan(f) : NULL;
  if (plan->slots->parts.n || plan->part)
    note_params(m, plan, f->func->body->nparams);
  return plan;
}
