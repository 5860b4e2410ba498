/* Points of the program, who is used where, and whether a value is alive at a point: see codegen/storage.h.

   What an operation writes while it reads has to differ from what it reads: so an operation reads its operands at its
   first point and defines results of simple kinds at its last, but a loop defines what it stacks and accumulates at its
   start, and a call all of its results at its first point while its operands are read until the last. */
#include "codegen/storage.h"

RegionNote *region_note(FuncStorage *f, const Region *r) {
  return r->owner ? &op_note(r->owner)->regions[r == r->owner->regions[0] ? 0 : 1] : &f->body;
}

/* The condition and the body of a `while` are one stretch of program to what they carry. */
static const Region *stretch(const Region *r) {
  return r->owner && r->owner->code == OP_WHILE ? r->owner->regions[1] : r;
}

static const Region *around(const Region *r) {
  return r->owner ? stretch(r->owner->parent) : NULL;
}

bool region_within(const Region *inner, const Region *outer) {
  const Region *top = stretch(outer);
  for (const Region *r = stretch(inner); r; r = around(r))
    if (r == top)
      return true;
  return false;
}

static bool repeats(const Op *op) {
  return op->code == OP_LOOP || op->code == OP_WHILE;
}

/* ---- making notes */
static Storage *new_storage(FuncStorage *f, Value *v, StorageKind kind, const Region *region, int def) {
  Storage *s = NEW(f->module->arena, Storage);
  s->value = v;
  s->kind = kind;
  s->region = stretch(region);
  s->home = region;
  s->def = def;
  vec_push(f->module->arena, f->storages, s);
  if (v)
    note_of(v)->storage = s;
  return s;
}

static void add_use(FuncStorage *f, Value *v, int at, const Region *region, const Op *op) {
  Storage *s = note_of(v)->storage;
  if (!s)
    return;
  const Use use = {.at = at, .region = region, .op = op, .direct = true};
  if (s->kind == STORAGE_OWN || s->kind == STORAGE_FILL)
    vec_push(f->module->arena, s->uses, use);
  for (int i = 0; i < s->owners.n; i++) {
    Use through = use;
    through.direct = false;
    vec_push(f->module->arena, s->owners.at[i]->uses, through);
  }
}

/* A use that wants memory. */
static void add_read(FuncStorage *f, Value *v, int at, const Region *region, const Op *op) {
  Storage *s = note_of(v)->storage;
  if (s && s->kind == STORAGE_FILL)
    s->kind = STORAGE_OWN;
  add_use(f, v, at, region, op);
}

static Edge *new_edge(FuncStorage *f, Value *from, Storage *to, int at, const Region *region) {
  Edge *e = NEW(f->module->arena, Edge);
  *e = (Edge){.from = from, .to = to, .at = at, .region = region, .order = f->edges.n};
  e->depth = region_note(f, region)->depth;
  vec_push(f->module->arena, f->edges, e);
  add_use(f, from, at, region, NULL);
  return e;
}

static void new_note(FuncStorage *f, Value *v) {
  v->note = NEW(f->module->arena, ValueNote);
}

static void view_of(FuncStorage *f, Op *op, int nsources, const int *sources, bool whole) {
  Storage *s = new_storage(f, op->results[0], STORAGE_VIEW, op->parent, op_note(op)->end);
  for (int i = 0; i < nsources; i++) {
    Value *x = op->operands[sources[i]];
    add_read(f, x, op_note(op)->begin, op->parent, op);
    Storage *source = note_of(x)->storage;
    if (source->kind == STORAGE_OWN)
      vec_push(f->module->arena, s->owners, source);
    for (int j = 0; j < source->owners.n; j++)
      vec_push(f->module->arena, s->owners, source->owners.at[j]);
    whole = whole && (source->kind == STORAGE_OWN || source->whole);
  }
  s->whole = whole && nsources == 1;
}

static void number_region(FuncStorage *f, Region *r, RegionNote *note, int depth);

static Edge **edge_array(FuncStorage *f, int n) {
  return NEW_ARRAY(f->module->arena, Edge *, n);
}

/* What a carry is in one iteration: its memory outlives the iteration. */
static Storage *carry_storage(FuncStorage *f, Op *op, Value *param, int def) {
  Storage *s = new_storage(f, param, STORAGE_OWN, stretch(param->region), def);
  s->home = op->parent;
  return s;
}

/* Edges of carries: from the initial value, from the yield, to the result. */
static void carry_edges(FuncStorage *f, Op *op, int ncarries, Value *const *params, Region *body, int exit_at) {
  OpNote *note = op_note(op);
  RegionNote *body_note = region_note(f, body);
  for (int i = 0; i < ncarries; i++) {
    Storage *carry = note_of(params[i])->storage;
    if (!carry)
      continue;
    note->edges[i] = new_edge(f, op->operands[i], carry, note->begin, op->parent);
    body_note->edges[i] = new_edge(f, body->yields[i], carry, body_note->end, body);
    Storage *result = new_storage(f, op->results[i], STORAGE_OWN, op->parent, note->end);
    note->exits[i] = new_edge(f, params[i], result, exit_at, carry->region);
    note->exits[i]->depth = note->edges[i]->depth;
  }
}

static void visit_loop(FuncStorage *f, Op *op, int depth) {
  Arena *arena = f->module->arena;
  OpNote *note = op_note(op);
  const LoopInfo *info = op->at.loop;
  Region *body = op->regions[0];
  Value **carries = body->params + info->nindices, **handles = carries + info->ncarries;
  note->start = f->npoints++;
  note->nedges = info->ncarries + info->naccs;
  note->edges = edge_array(f, note->nedges);
  note->exits = edge_array(f, info->ncarries);
  for (int i = 0; i < body->nparams; i++)
    new_note(f, body->params[i]);
  for (int i = 0; i < info->ncarries; i++)
    if (carries[i]->type.rank)
      carry_storage(f, op, carries[i], f->npoints); /* where the body begins */
  for (int i = 0; i < info->naccs; i++) {
    Value *result = op->results[info->ncarries + i];
    if (!result->type.rank)
      continue;
    Storage *s = new_storage(f, result, STORAGE_OWN, op->parent, note->start);
    note_of(handles[i])->storage = s;
    note->edges[info->ncarries + i] = new_edge(f, op->operands[info->ncarries + i], s, note->begin, op->parent);
  }
  for (int i = 0; i < info->nouts; i++) {
    Value *result = op->results[info->ncarries + info->naccs + i];
    if (result->type.rank)
      new_storage(f, result, STORAGE_OWN, op->parent, note->start)->maker = op;
  }
  number_region(f, body, &note->regions[0], depth + 1);
  note->end = f->npoints++;
  RegionNote *body_note = &note->regions[0];
  carry_edges(f, op, info->ncarries, carries, body, body_note->begin);
  const int stored = note->end; /* after the body: a slot holds nothing while the body runs but what is made in it */
  for (int i = 0; i < info->nouts; i++) {
    Value *y = body->yields[info->ncarries + i];
    if (!y->type.rank)
      continue;
    Storage *slot = new_storage(f, NULL, STORAGE_OWN, body, stored);
    slot->place = NEW(arena, Place);
    *slot->place = (Place){.kind = PLACE_SLOT, .type = y->type, .loop = op, .number = info->ncarries + info->naccs + i};
    body_note->edges[info->ncarries + i] = new_edge(f, y, slot, body_note->end, body);
  }
  for (int i = info->ncarries; i < op->nresults; i++)
    add_use(f, op->results[i], note->end, op->parent, op); /* written until then */
}

static void visit_while(FuncStorage *f, Op *op, int depth) {
  OpNote *note = op_note(op);
  Region *condition = op->regions[0], *body = op->regions[1];
  const int n = op->noperands;
  note->start = f->npoints++;
  note->nedges = n;
  note->edges = edge_array(f, n);
  note->exits = edge_array(f, n);
  for (int i = 0; i < n; i++) {
    new_note(f, condition->params[i]);
    new_note(f, body->params[i]);
    if (body->params[i]->type.rank) {
      Storage *carry = carry_storage(f, op, body->params[i], f->npoints); /* where the condition begins */
      note_of(condition->params[i])->storage = carry;
    }
  }
  number_region(f, condition, &note->regions[0], depth + 1);
  number_region(f, body, &note->regions[1], depth + 1);
  note->regions[1].begin = note->regions[0].begin;
  note->end = f->npoints++;
  carry_edges(f, op, n, body->params, body, note->regions[0].end);
}

static void visit_if(FuncStorage *f, Op *op, int depth) {
  OpNote *note = op_note(op);
  for (int k = 0; k < 2; k++)
    number_region(f, op->regions[k], &note->regions[k], depth);
  note->end = f->npoints++;
  for (int i = 0; i < op->nresults; i++) {
    if (!op->results[i]->type.rank)
      continue;
    Storage *s = new_storage(f, op->results[i], STORAGE_OWN, op->parent, note->end);
    for (int k = 0; k < 2; k++)
      note->regions[k].edges[i] = new_edge(f, op->regions[k]->yields[i], s, note->regions[k].end, op->regions[k]);
  }
}

static void visit_simple(FuncStorage *f, Op *op) {
  OpNote *note = op_note(op);
  note->end = f->npoints++;
  Value *result = op->nresults ? op->results[0] : NULL;
  const bool tensor = result && result->type.rank;
  const int first[] = {0}, last_two[] = {1, 2};
  switch (op->code) {
  case OP_FULL:
    if (tensor)
      new_storage(f, result, STORAGE_FILL, op->parent, note->end);
    return;
  case OP_UPDATE:
    add_use(f, op->operands[1], note->end, op->parent, op);
    note->nedges = 1;
    note->edges = edge_array(f, 1);
    Storage *updated = new_storage(f, result, STORAGE_OWN, op->parent, note->end);
    note->edges[0] = new_edge(f, op->operands[0], updated, note->begin, op->parent);
    return;
  case OP_CALL:
    for (int i = 0; i < op->noperands; i++)
      add_read(f, op->operands[i], note->end, op->parent, op);
    for (int i = 0; i < op->nresults; i++)
      if (op->results[i]->type.rank) {
        new_storage(f, op->results[i], STORAGE_OWN, op->parent, note->begin);
        add_use(f, op->results[i], note->end, op->parent, op);
      }
    return;
  case OP_ACC_ADD: add_read(f, op->operands[1], note->end, op->parent, op); return;
  case OP_SELECT:
    if (tensor)
      view_of(f, op, 2, last_two, false);
    return;
  default:
    if (tensor)
      view_of(f, op, 1, first, op->code == OP_RESHAPE || op->code == OP_ATTACH);
    else
      for (int i = 0; i < op->noperands; i++)
        add_read(f, op->operands[i], note->begin, op->parent, op);
  }
}

static void number_region(FuncStorage *f, Region *r, RegionNote *note, int depth) {
  note->begin = f->npoints++;
  note->depth = depth;
  note->nedges = r->nyields;
  note->edges = edge_array(f, r->nyields);
  for (Op *op = r->first; op; op = op->next) {
    op->note = NEW(f->module->arena, OpNote);
    op_note(op)->begin = f->npoints++;
    for (int i = 0; i < op->nresults; i++)
      new_note(f, op->results[i]);
    switch (op->code) {
    case OP_LOOP: visit_loop(f, op, depth); break;
    case OP_WHILE: visit_while(f, op, depth); break;
    case OP_IF: visit_if(f, op, depth); break;
    default: visit_simple(f, op);
    }
  }
  note->end = f->npoints++;
}

FuncStorage *storage_begin(Func *func) {
  Arena *arena = func->module->arena;
  FuncStorage *f = NEW(arena, FuncStorage);
  f->module = func->module;
  f->func = func;
  Region *body = func->body;
  for (int i = 0; i < body->nparams; i++) {
    new_note(f, body->params[i]);
    if (!body->params[i]->type.rank)
      continue;
    Storage *s = new_storage(f, body->params[i], STORAGE_OWN, body, 0);
    s->place = NEW(arena, Place);
    *s->place = (Place){.kind = PLACE_INPUT, .type = body->params[i]->type, .number = i};
  }
  number_region(f, body, &f->body, 0);
  const int end = f->npoints++;
  for (int i = 0; i < func->nresults; i++) {
    if (!func->result_types[i].rank)
      continue;
    Storage *s = new_storage(f, NULL, STORAGE_OWN, body, end);
    s->place = NEW(arena, Place);
    *s->place = (Place){.kind = PLACE_OUTPUT, .type = func->result_types[i], .number = i};
    f->body.edges[i] = new_edge(f, body->yields[i], s, f->body.end, body);
  }
  return f;
}

/* ---- being alive */
/* The operation of region `r` that `inner`, a region somewhere below r, is part of; NULL where inner is r. */
static const Op *step_below(const Region *r, const Region *inner) {
  const Region *at = stretch(inner);
  if (at == r)
    return NULL;
  while (around(at) != r)
    at = around(at);
  return at->owner;
}

static const Region *branch_of(const Op *op, const Region *inner) {
  return region_within(inner, op->regions[0]) ? op->regions[0] : op->regions[1];
}

/* Whether what runs at (at, region) may be followed by the use without passing the definition of s again. */
static bool use_follows(const Storage *s, const Use *u, int at, const Region *region) {
  const Region *r = s->region;
  for (;;) {
    const Op *op = step_below(r, region);
    if (!op || op != step_below(r, u->region))
      return u->at >= at;
    if (repeats(op))
      return true;
    const Region *branch = branch_of(op, region);
    if (branch != branch_of(op, u->region))
      return false;
    r = branch;
  }
}

/* An element is read before the loop stores the new one over it, in the iteration that does so. */
static bool reads_own_element(const Storage *s, const Use *u, const Storage *made) {
  const Op *maker = made->maker, *op = u->op;
  if (!maker || !s->value || !u->direct || !op || op->code != OP_INDEX || op->operands[0] != s->value ||
      !type_equal(s->value->type, made->value->type))
    return false;
  const Region *body = maker->regions[0];
  const int n = maker->at.loop->nindices;
  if (!region_within(u->region, body) || op->noperands != n + 1 || op->results[0]->type.rank)
    return false;
  for (int i = 0; i < n; i++)
    if (op->operands[i + 1] != body->params[i])
      return false;
  return true;
}

static bool alive_at_definition(FuncStorage *f, const Storage *s, const Storage *made) {
  if (made->def > region_note(f, s->region)->end)
    return false;
  if (!region_within(made->region, s->region))
    return false;
  for (int i = 0; i < s->uses.n; i++)
    if (use_follows(s, &s->uses.at[i], made->def, made->region) && !reads_own_element(s, &s->uses.at[i], made))
      return true;
  return false;
}

bool storages_interfere(FuncStorage *f, const Storage *a, const Storage *b) {
  if (a == b)
    return false;
  if (a->def == b->def)
    return true;
  return a->def < b->def ? alive_at_definition(f, a, b) : alive_at_definition(f, b, a);
}

int storage_last_use(FuncStorage *f, const Storage *s) {
  int last = s->def;
  (void)f;
  for (int i = 0; i < s->uses.n; i++) {
    const Use *u = &s->uses.at[i];
    int at = u->at;
    for (const Region *r = stretch(u->region); r != s->region; r = around(r))
      if (repeats(r->owner))
        at = op_note(r->owner)->end;
    if (at > last)
      last = at;
  }
  return last;
}
