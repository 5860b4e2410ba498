/* Which results of the function each operation is for.
   Outputs may be NULL, and work that only they need is skipped: so each value and operation gets the set of results
   that it helps to make (ValueNote.wants, OpNote.wants), bit i for result i, the last bit for all from the 63rd on.

   The sets grow until nothing changes.  An operand's set includes its operation's, an operation's those of what it
   holds; a value that some size is made of is for all results, as is what no result needs. */
#include "codegen/storage.h"

typedef struct Wanting {
  uint64_t all;
  bool changed;
} Wanting;

uint64_t wanted_bit(int result) {
  return UINT64_C(1) << (result < 63 ? result : 63);
}

static void want(Wanting *w, uint64_t *set, uint64_t by) {
  if (by & ~*set) {
    *set |= by;
    w->changed = true;
  }
}

static void want_value(Wanting *w, const Value *v, uint64_t by) {
  want(w, &note_of(v)->wants, by);
}

/* ---- sizes */
static void want_atom(Value *v, void *arg) {
  Wanting *w = arg;
  want_value(w, v, w->all);
}

static void want_type(Wanting *w, Type t) {
  for (int i = 0; i < t.rank; i++)
    size_values(t.dims[i], want_atom, w);
}

static void want_sizes(Op *op, void *arg) {
  Wanting *w = arg;
  for (int i = 0; i < op->nresults; i++)
    want_type(w, op->results[i]->type);
  if (op->code == OP_SIZE)
    size_values(op->at.size, want_atom, w);
  for (int i = 0; op->code == OP_LOOP && i < op->at.loop->nindices; i++)
    size_values(op->at.loop->extents[i], want_atom, w);
}

/* ---- operations, backwards */
static void visit_region(Wanting *w, Region *r, uint64_t *owner);

/* A carry's value is wanted by whoever wants it in an iteration or in the end. */
static void want_carry(Wanting *w, const Value *init, const Value *param, const Value *yield, const Value *result) {
  const uint64_t by = note_of(param)->wants | note_of(result)->wants;
  want_value(w, init, by);
  want_value(w, yield, by);
}

static void visit_loop(Wanting *w, Op *op) {
  const LoopInfo *info = op->at.loop;
  Region *body = op->regions[0];
  Value **params = body->params + info->nindices;
  for (int i = 0; i < info->ncarries; i++)
    want_carry(w, op->operands[i], params[i], body->yields[i], op->results[i]);
  for (int i = info->ncarries; i < info->ncarries + info->naccs; i++) {
    want_value(w, params[i], note_of(op->results[i])->wants);
    want_value(w, op->operands[i], note_of(op->results[i])->wants);
  }
  for (int i = 0; i < info->nouts; i++)
    want_value(w, body->yields[info->ncarries + i], note_of(op->results[info->ncarries + info->naccs + i])->wants);
}

static void visit_while(Wanting *w, Op *op) {
  const Region *condition = op->regions[0], *body = op->regions[1];
  for (int i = 0; i < op->noperands; i++) {
    want_value(w, body->params[i], note_of(condition->params[i])->wants);
    want_carry(w, op->operands[i], body->params[i], body->yields[i], op->results[i]);
  }
  want_value(w, condition->yields[0], op_note(op)->wants);
}

static void visit_if(Wanting *w, Op *op) {
  want_value(w, op->operands[0], op_note(op)->wants);
  for (int k = 0; k < 2; k++)
    for (int i = 0; i < op->nresults; i++)
      want_value(w, op->regions[k]->yields[i], note_of(op->results[i])->wants);
}

static void visit_op(Wanting *w, Op *op) {
  uint64_t *wants = &op_note(op)->wants;
  for (int i = 0; i < op->nresults; i++)
    want(w, wants, note_of(op->results[i])->wants);
  switch (op->code) {
  case OP_LOOP: visit_loop(w, op); break;
  case OP_WHILE: visit_while(w, op); break;
  case OP_IF: visit_if(w, op); break;
  case OP_REQUIRE: want(w, wants, w->all); break;
  case OP_ACC_ADD: want(w, wants, note_of(op->operands[0])->wants); break;
  default: break;
  }
  for (int k = 0; k < op->nregions; k++)
    visit_region(w, op->regions[k], wants);
  if (!op->nregions)
    for (int i = 0; i < op->noperands; i++)
      want_value(w, op->operands[i], *wants);
}

static void visit_region(Wanting *w, Region *r, uint64_t *owner) {
  /* `owner` is the set of the operation around, and so itself part of a note. */
  for (Op *op = r->last; op; op = op->prev) {
    visit_op(w, op);
    want(w, owner, op_note(op)->wants);
  }
}

static void want_unwanted(Op *op, void *arg) {
  Wanting *w = arg;
  if (!op_note(op)->wants)
    want(w, &op_note(op)->wants, w->all);
}

static void grow(Wanting *w, Region *body) {
  uint64_t whole = 0;
  do {
    w->changed = false;
    visit_region(w, body, &whole);
  } while (w->changed);
}

void wanted_analyse(FuncStorage *f) {
  Region *body = f->func->body;
  Wanting w = {0};
  for (int i = 0; i < f->func->nresults; i++)
    w.all |= wanted_bit(i);
  f->all_wanted = w.all;
  for (int i = 0; i < f->func->nresults; i++)
    want_value(&w, body->yields[i], wanted_bit(i));
  region_walk(body, want_sizes, &w);
  grow(&w, body);
  region_walk(body, want_unwanted, &w);
  grow(&w, body);
}
