/* Pass `reread`: a loop need not record what it reads of a tensor that it changes element by element where the tensor
   as it is at the end, or was at the beginning, still has it: in a recurrence y[i] = f(y[i], y[i - 1]) the elements y[i
   - 1] stay as they are, and y[i] are those of the beginning. It is told by an axis on which what is read and all that
   is written move alike, by a constant from one iteration to the next: what has been passed is overwritten no more, and
   what is still to come has not been.  The axis must run through about as many elements as the loop has iterations, or
   keeping the tensor might cost more than recording did. */
#include "ir/raw.h"
#include "passes/passes_internal.h"

enum { MOST_STEPS = 200, MOST_WRITES = 64 }; /* of versions that are looked through: what is more is recorded */

typedef VEC(Op *) Ops;

/* A stack of a loop with carries, of elements of one carry, or of all of it. */
typedef struct Tape {
  Value *value;
  Op *loop;
  int carry;
  const Op *read; /* in an iteration; NULL: all of the carry, at its beginning */
  int npath;      /* loops within the iteration that are around the read: their indices */
  Value *path[MAX_RANK];
  bool good; /* so far: it is read only at single places */
  Ops uses;
  struct Tape *next;
} Tape;

typedef struct Reread {
  Module *module;
  Func *func;
  Tape *tapes;
} Reread;

/* ---- versions of a carry: what updates make of it within an iteration */
/* The carry that v is a version of; -1: none. */
static int carry_of(const Op *loop, const Value *v, int *steps) {
  for (; v->def && v->def->code == OP_UPDATE && *steps > 0; --*steps)
    v = v->def->operands[0];
  if (v->def && v->def->code == OP_IF && --*steps > 0) {
    const int a = carry_of(loop, v->def->regions[0]->yields[v->index], steps);
    return a >= 0 && a == carry_of(loop, v->def->regions[1]->yields[v->index], steps) ? a : -1;
  }
  const int carry = v->index - loop->at.loop->nindices;
  return !v->def && v->region == loop->regions[0] && carry >= 0 && carry < loop->at.loop->ncarries ? carry : -1;
}

/* All updates between the carry and v; false where something else is, or too many. */
static bool find_writes(Arena *arena, const Value *carry, Value *v, ValueMap *seen, Ops *writes) {
  while (v != carry && !map_get(seen, v)) {
    map_put(seen, v, v);
    if (v->def && v->def->code == OP_IF)
      return find_writes(arena, carry, v->def->regions[0]->yields[v->index], seen, writes) &&
             find_writes(arena, carry, v->def->regions[1]->yields[v->index], seen, writes);
    if (!v->def || v->def->code != OP_UPDATE || writes->n == MOST_WRITES)
      return false;
    vec_push(arena, *writes, v->def);
    v = v->def->operands[0];
  }
  return true;
}

/* ---- candidates */
static Tape *tape_of(const Value *v) {
  return v->def && v->def->code == OP_LOOP ? v->note : NULL;
}

static void add_tape(Reread *r, Op *loop, int out) {
  const LoopInfo *info = loop->at.loop;
  Value *kept = loop->regions[0]->yields[info->ncarries + out];
  Tape t = {.value = loop_out(loop, out), .loop = loop, .good = true};
  int steps = MOST_STEPS;
  if (info->outs[out] != OUT_STACK)
    return;
  for (const Op *inner = kept->def; inner && inner->code == OP_LOOP && !inner->at.loop->ncarries; inner = kept->def) {
    const LoopInfo *in = inner->at.loop;
    const int k = kept->index - in->naccs;
    if (k < 0 || in->outs[k] != OUT_STACK || t.npath + in->nindices > MAX_RANK)
      return;
    for (int i = 0; i < in->nindices; i++)
      t.path[t.npath++] = loop_index(inner, i);
    kept = inner->regions[0]->yields[k];
  }
  if (kept->def && kept->def->code == OP_INDEX && !kept->type.rank) {
    t.read = kept->def;
    kept = kept->def->operands[0];
  } else if (t.npath || kept->def) {
    return;
  }
  t.carry = carry_of(loop, kept, &steps);
  if (t.carry < 0 || !kept->type.rank)
    return;
  Tape *tape = NEW(r->module->arena, Tape);
  *tape = t;
  tape->next = r->tapes;
  r->tapes = tape;
  t.value->note = tape;
}

static void spoil(Value *v) {
  Tape *t = tape_of(v);
  if (t)
    t->good = false;
}

/* Tapes are made before they are read, so that one walk finds both. */
static void look_at(Op *op, void *arg) {
  Reread *r = arg;
  for (int i = 0; i < op->noperands; i++) {
    Tape *t = tape_of(op->operands[i]);
    if (!t)
      continue;
    if (op->code == OP_INDEX && i == 0 && op->noperands >= (t->read ? 2 + t->npath : 3))
      vec_push(r->module->arena, t->uses, op);
    else
      t->good = false;
  }
  for (int i = 0; op->code == OP_LOOP && i < op->nresults; i++)
    op->results[i]->note = NULL;
  for (int i = 0; op->code == OP_LOOP && op->at.loop->ncarries && i < op->at.loop->nouts; i++)
    add_tape(r, op, i);
}

static void look_at_yields(Op *op, void *arg) {
  (void)arg;
  for (int k = 0; k < op->nregions; k++)
    for (int i = 0; i < op->regions[k]->nyields; i++)
      spoil(op->regions[k]->yields[i]);
}

/* ---- where an element is still found */
typedef struct Place {
  const Tape *tape;
  const Op *use;
  const Size *step;              /* the iteration that it is of */
  const Size *indices[MAX_RANK]; /* of the element */
  int n;
  bool inside; /* an index is made of what only the iteration knows */
} Place;

static const Size *in_use(Value *v, void *arg) {
  Place *p = arg;
  Module *m = p->use->parent->func->module;
  const Tape *t = p->tape;
  if (v == loop_index(t->loop, 0))
    return p->step;
  for (int i = 0; i < t->npath; i++)
    if (v == t->path[i])
      return size_of_value(m, p->use->operands[2 + i]);
  p->inside |= !value_is_outside(v, t->loop->regions[0]);
  return NULL;
}

static bool find_place(const Tape *t, const Op *use, Place *p) {
  Module *m = use->parent->func->module;
  *p = (Place){.tape = t, .use = use, .step = size_of_value(m, use->operands[1])};
  p->n = t->read ? t->read->noperands - 1 : use->noperands - 2;
  for (int i = 0; i < p->n; i++)
    p->indices[i] = t->read ? size_map(m, size_of_value(m, t->read->operands[1 + i]), in_use, p)
                            : size_of_value(m, use->operands[2 + i]);
  return !p->inside;
}

/* How far ahead of the element, on an axis, a write of the same iteration is; false where that is not known. */
static bool ahead(const Place *p, const Op *write, int axis, int64_t *by) {
  Module *m = write->parent->func->module;
  const Size *w = size_of_value(m, write->operands[2 + axis]), *slope, *rest;
  int64_t k;
  if (!size_linear_in(m, w, loop_index(p->tape->loop, 0), &slope, &rest) || !size_is_const(slope, &k) || k == 0)
    return false;
  Place q = *p;
  w = size_map(m, w, in_use, &q);
  if (!size_is_const(size_sub(m, w, p->indices[axis]), by) || *by == INT64_MIN)
    return false;
  *by = k > 0 ? *by : -*by;
  return true;
}

static bool fits_axis(const Tape *t, Type type, int axis) {
  Module *m = t->loop->parent->func->module;
  const Size *trips = t->loop->at.loop->extents[0];
  const Term *term = trips->nterms == 1 ? &trips->terms[0] : NULL;
  const Value *atom = term && term->npowers == 1 ? term->powers[0].atom->value : NULL;
  if (atom && atom->def && atom->def->code == OP_MAX && value_is_zero(atom->def->operands[1]))
    trips = size_of_value(m, atom->def->operands[0]); /* the larger of it and 0 */
  return size_is_const(size_sub(m, type.dims[axis], trips), NULL);
}

/* The tensor that still has the element: the carry's result, or its initial value; NULL: neither, or it is not known.
   Elements moves with the loop only where the read does: its slope is the writes', as their distance is constant. */
static Value *source_of(const Place *p, const Ops *writes) {
  const Tape *t = p->tape;
  const Type type = loop_carry(t->loop, t->carry)->type;
  const bool at_entry = !t->read || t->read->operands[0] == loop_carry(t->loop, t->carry);
  for (int axis = 0; axis < p->n; axis++) {
    bool last = fits_axis(t, type, axis), first = last;
    for (int i = 0; i < writes->n && (last || first); i++) {
      int64_t by;
      const Op *write = writes->at[i];
      const bool known = write->noperands - 2 > axis && ahead(p, write, axis, &by);
      last &= known && by > 0;
      first &= known && (at_entry ? by <= 0 : by < 0);
    }
    if (last)
      return loop_carry_result(t->loop, t->carry);
    if (first)
      return t->loop->operands[t->carry];
  }
  return NULL;
}

/* ---- reading it there */
static Value *size_before(Module *m, Op *at, const Size *s) {
  Op *op = op_new(m, OP_SIZE, 0, 1, 0);
  op->at.size = s;
  op->loc = at->loc;
  op->origin = at->origin;
  op_insert_before(at, op);
  return op_set_result(m, op, 0, type_scalar(KIND_I64), NULL);
}

static void read_there(Module *m, const Place *p, Op *use, Value *source) {
  const Tape *t = p->tape;
  Value **operands = NEW_ARRAY(m->arena, Value *, p->n + 1);
  operands[0] = source;
  for (int i = 0; i < p->n; i++)
    operands[1 + i] = t->read ? size_before(m, use, p->indices[i]) : use->operands[2 + i];
  use->at.checks = t->read ? t->read->at.checks : use->at.checks >> 1;
  use->operands = operands;
  use->noperands = 1 + p->n;
}

static bool reread_tape(Reread *r, const Tape *t) {
  Arena *arena = r->module->arena;
  Ops writes = {0};
  ValueMap seen = {.arena = arena};
  Place *places = NEW_ARRAY(arena, Place, t->uses.n + 1);
  Value **sources = NEW_ARRAY(arena, Value *, t->uses.n + 1);
  if (!t->good || !t->uses.n ||
      !find_writes(arena, loop_carry(t->loop, t->carry), t->loop->regions[0]->yields[t->carry], &seen, &writes))
    return false;
  for (int i = 0; i < t->uses.n; i++)
    if (!find_place(t, t->uses.at[i], &places[i]) || !(sources[i] = source_of(&places[i], &writes)))
      return false;
  for (int i = 0; i < t->uses.n; i++)
    read_there(r->module, &places[i], t->uses.at[i], sources[i]);
  return true;
}

static bool reread_func(Func *f) {
  Reread r = {.module = f->module, .func = f};
  bool any = false;
  region_walk(f->body, look_at, &r);
  region_walk(f->body, look_at_yields, NULL);
  for (int i = 0; i < f->body->nyields; i++)
    spoil(f->body->yields[i]);
  for (const Tape *t = r.tapes; t; t = t->next)
    any |= reread_tape(&r, t);
  return any;
}

void pass_reread(Module *m) {
  for (Func *f = m->funcs; f; f = f->next)
    if (!func_is_underived(f) && !f->is_extern && reread_func(f))
      func_simplify(f);
}
