/* Pass `reread`: a loop need not record what it reads of a tensor that it changes element by element where the tensor
   as it is at the end, or was at the beginning, still has it: in a recurrence y[i] = f(y[i], y[i - 1]) the elements y[i
   - 1] stay as they are, and y[i] are those of the beginning.  What stays is told by passes/stays.h. */
#include "ir/raw.h"
#include "passes/passes_internal.h"
#include "passes/stays.h"

typedef VEC(Op *) Ops;

/* A stack of a loop with carries, of elements of one carry, or of all of it. */
typedef struct Tape {
  Value *value;
  Op *loop;
  Changes *changes; /* of the carry */
  const Op *read;   /* in an iteration; NULL: all of the carry, at its beginning */
  int npath;        /* loops within the iteration that are around the read: their indices */
  Value *path[MAX_RANK];
  Growth count; /* of what is recorded in an iteration */
  bool good;    /* so far: it is read only at single places */
  Ops uses;
  struct Tape *next;
} Tape;

typedef struct Reread {
  Module *module;
  Func *func;
  Tape *tapes;
  const Op *loop;
  Changes **changes; /* of its carries, as far as they have been asked for */
} Reread;

/* ---- candidates */
static Tape *tape_of(const Value *v) {
  return v->def && v->def->code == OP_LOOP ? v->note : NULL;
}

/* The carry that v is a version of; NULL: none. */
static Changes *changes_with(Reread *r, const Op *loop, const Value *v) {
  const int n = loop->at.loop->ncarries;
  if (r->loop != loop) {
    r->loop = loop;
    r->changes = NEW_ARRAY(r->module->arena, Changes *, n);
  }
  for (int j = 0; j < n; j++) {
    if (!v->type.rank || !type_equal(loop_carry(loop, j)->type, v->type))
      continue;
    if (!r->changes[j])
      r->changes[j] = changes_of(r->module, loop, j);
    if (changes_have(r->changes[j], v))
      return r->changes[j];
  }
  return NULL;
}

typedef struct Adds {
  const Value *handle;
  const Op *last;
  int n;
} Adds;
static void count_add(Op *op, void *arg) {
  Adds *a = arg;
  if (op->code == OP_ACC_ADD && op->operands[0] == a->handle) {
    a->last = op;
    a->n++;
  }
}

/* What an iteration of a loop puts into its stack, or into an accumulator that serves as one; NULL: neither. */
static Value *stacked(const Op *loop, const Value *stack) {
  const LoopInfo *info = loop->at.loop;
  Region *body = loop->regions[0];
  const int acc = stack->index - info->ncarries, out = acc - info->naccs;
  if (out >= 0)
    return info->outs[out] == OUT_STACK ? body->yields[info->ncarries + out] : NULL;
  if (acc < 0 || !value_is_zero(loop->operands[stack->index]))
    return NULL;
  Adds a = {.handle = loop_acc(loop, acc)};
  region_walk(body, count_add, &a);
  if (a.n != 1 || a.last->parent != body || a.last->noperands != 2 + info->nindices)
    return NULL;
  for (int i = 0; i < info->nindices; i++)
    if (a.last->operands[2 + i] != loop_index(loop, i))
      return NULL;
  return a.last->operands[1];
}

static void add_tape(Reread *r, Op *loop, int out) {
  const LoopInfo *info = loop->at.loop;
  Module *m = r->module;
  Value *kept = loop->regions[0]->yields[info->ncarries + out];
  Tape t = {.value = loop_out(loop, out), .loop = loop, .good = true, .count = {0, 1}};
  if (info->outs[out] != OUT_STACK)
    return;
  for (const Op *inner = kept->def; inner && inner->code == OP_LOOP; inner = kept->def) {
    const LoopInfo *in = inner->at.loop;
    kept = stacked(inner, kept);
    if (!kept || t.npath + in->nindices > MAX_RANK)
      return;
    for (int i = 0; i < in->nindices; i++) {
      t.count = growth_times(t.count, size_growth(m, in->extents[i]));
      t.path[t.npath++] = loop_index(inner, i);
    }
  }
  t.count = growth_times(t.count, size_growth(m, type_count(m, kept->type)));
  if (kept->def && kept->def->code == OP_INDEX) {
    t.read = kept->def;
    kept = kept->def->operands[0];
  } else if (t.npath || kept->def) {
    return;
  }
  t.changes = changes_with(r, loop, kept);
  if (!t.changes)
    return;
  Tape *tape = NEW(m->arena, Tape);
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

/* The tensor that still has what a use wants: the carry's result, or its initial value; NULL: neither. */
static Value *source_of(const Place *p) {
  const Tape *t = p->tape;
  Module *m = t->loop->parent->func->module;
  const Size *indices[MAX_RANK];
  Element e = {.version = loop_carry(t->loop, t->changes->carry), .n = p->n, .count = t->count};
  if (t->read) {
    for (int i = 0; i < p->n; i++)
      indices[i] = size_of_value(m, t->read->operands[1 + i]);
    e.version = t->read->operands[0];
    e.where = t->read->parent;
    e.indices = indices;
  } else {
    e.step = p->step;
    e.indices = p->indices;
  }
  switch (element_stays(m, t->changes, &e)) {
  case STAYS_AT_END: return loop_carry_result(t->loop, t->changes->carry);
  case STAYS_AT_START: return t->loop->operands[t->changes->carry];
  default: return NULL;
  }
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
  const int first = t->read ? 2 + t->npath : 2 + p->n, more = use->noperands - first; /* into what was read */
  Value **operands = NEW_ARRAY(m->arena, Value *, 1 + p->n + more);
  operands[0] = source;
  for (int i = 0; i < p->n; i++)
    operands[1 + i] = t->read ? size_before(m, use, p->indices[i]) : use->operands[2 + i];
  for (int i = 0; i < more; i++)
    operands[1 + p->n + i] = use->operands[first + i];
  use->at.checks = t->read ? t->read->at.checks | use->at.checks >> (first - 1) << p->n : use->at.checks >> 1;
  use->operands = operands;
  use->noperands = 1 + p->n + more;
}

static bool reread_tape(Reread *r, const Tape *t) {
  Arena *arena = r->module->arena;
  Place *places = NEW_ARRAY(arena, Place, t->uses.n + 1);
  Value **sources = NEW_ARRAY(arena, Value *, t->uses.n + 1);
  if (!t->good || !t->uses.n)
    return false;
  for (int i = 0; i < t->uses.n; i++) {
    if (!find_place(t, t->uses.at[i], &places[i]))
      return false;
    sources[i] = t->read && i ? sources[0] : source_of(&places[i]);
    if (!sources[i])
      return false;
  }
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
