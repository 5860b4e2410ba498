/* -Wcopy: where an iteration of a loop copies a whole tensor, because a value stays what it was while a new one is made
   of it.  What is decided by codegen/storage.h is told here, with its place in the source.  Not told: rows that are
   stored into a stack, or read out of one, as moving them is what is asked for; fills; tensors of few constant bytes.
 */
#include "codegen/storage.h"
#include <string.h>

enum { FEW_BYTES = 256 };

typedef struct Copies {
  FuncStorage *storage;
  const Op *op; /* to which the edges belong */
} Copies;

static bool in_loop(const Region *r) {
  for (; r->owner; r = r->owner->parent)
    if (r->owner->code == OP_WHILE || (r->owner->code == OP_LOOP && r->owner->at.loop->nindices))
      return true;
  return false;
}

/* The whole of which an edge copies. */
static const Storage *copied(const Edge *e) {
  const Storage *s = note_of(e->from)->storage;
  if (s->kind == STORAGE_VIEW && s->whole)
    s = s->owners.at[0];
  if (s->kind != STORAGE_OWN || e->alternates || e->follows || place_of(s) == place_of(e->to))
    return NULL;
  return place_of(e->to)->kind == PLACE_SLOT || (place_of(s)->kind == PLACE_SLOT && !e->aside) ? NULL : s;
}

static bool is_small(Module *m, Type t) {
  int64_t count;
  return size_is_const(type_count(m, t), &count) && count * kind_bytes(t.kind) <= FEW_BYTES;
}

/* What reads the old value after the edge, or later in the loop before it; NULL where that is not one operation. */
static const Op *reader(const Storage *s, const Edge *e, const Op *maker) {
  const Op *found = NULL;
  for (int i = 0; i < s->uses.n; i++) {
    const Use *u = &s->uses.at[i];
    if (!u->op || u->op == maker || !u->op->loc.line)
      continue;
    if (u->at > e->at)
      return u->op;
    found = u->op;
  }
  return found;
}

static const char *name_of(Arena *arena, const Edge *e, const Storage *s) {
  const char *name = s->value && s->value->name ? s->value->name : e->to->value ? e->to->value->name : NULL;
  return name ? arena_printf(arena, "'%s'", name) : "a tensor";
}

static void report(const Copies *c, const Edge *e, const Region *at) {
  Module *m = c->storage->module;
  const Storage *s = e && in_loop(at) ? copied(e) : NULL;
  if (!s || is_small(m, e->from->type))
    return;
  const Range loc = c->op->loc.line ? c->op->loc : c->storage->func->loc;
  DiagMessage *message = diag_warn(m->diag, "copy", loc, "each iteration copies %s, %s%s", name_of(m->arena, e, s),
                                   type_text(m, e->from->type), c->op->origin ? ", in a derivative" : "");
  const Op *read = reader(s, e, c->op);
  if (read)
    diag_note(m->diag, message, read->loc, "its old value is used here too");
}

static void report_all(const Copies *c, int n, Edge *const *edges, const Region *at) {
  for (int i = 0; i < n; i++)
    report(c, edges[i], at);
}

static void look_at(Op *op, void *arg) {
  Copies c = {.storage = arg, .op = op};
  const OpNote *note = op_note(op);
  switch (op->code) {
  case OP_UPDATE: report(&c, note->edges[0], op->parent); break;
  case OP_IF:
    for (int k = 0; k < 2; k++)
      report_all(&c, op->nresults, note->regions[k].edges, op->parent);
    break;
  case OP_LOOP:
  case OP_WHILE: {
    const bool loop = op->code == OP_LOOP;
    const int ncarries = loop ? op->at.loop->ncarries : op->noperands;
    report_all(&c, note->nedges, note->edges, op->parent);
    report_all(&c, ncarries, note->regions[loop ? 0 : 1].edges, op->regions[loop ? 0 : 1]);
    report_all(&c, ncarries, note->exits, op->parent);
    break;
  }
  default: break;
  }
}

void copies_report(FuncStorage *f) {
  region_walk(f->func->body, look_at, f);
}
