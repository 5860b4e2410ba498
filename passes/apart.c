/* Pass `apart`: what an export with `split` asks for, a vector-Jacobian product whose reverse sweep is to serve many
   seeds, gets a function of its own, so that pass `keep` may weigh it otherwise than what is called for one seed, and
   pass `split` may cut it.
   In it no extent of a sum is below zero: what `keep` stacks over such a loop is a tensor of the tape, whose sizes are
   checked where an empty loop is no fault. */
#include "ir/raw.h"
#include "passes/passes_internal.h"

static char apart_mark;

void apart_note(Module *m) {
  for (Func *f = m->funcs; f; f = f->next)
    f->note = NULL;
  for (const Export *e = m->exports; e; e = e->next)
    if (e->part != PART_WHOLE && !e->cut.sizes)
      e->func->note = &apart_mark;
}

bool func_is_apart(const Func *f) {
  return f->note == &apart_mark;
}

static Func *copy_of(Func *f) {
  Module *m = f->module;
  Func *copy = func_new(m, arena_printf(m->arena, "%s_parts", f->name), f->loc);
  ValueMap map = {.arena = m->arena};
  Type *types = NEW_ARRAY(m->arena, Type, f->nresults + 1);
  Value **results = NEW_ARRAY(m->arena, Value *, f->nresults + 1);
  for (int i = 0; i < f->body->nparams; i++) {
    const Value *p = f->body->params[i];
    map_put(&map, p, func_add_param(copy, map_type(m, &map, p->type), p->name));
  }
  copy->nsizes = f->nsizes;
  copy->recipe = f->recipe;
  Builder b = build_into(copy, copy->body);
  build_copy_region(&b, f->body, &map);
  for (int i = 0; i < f->nresults; i++) {
    types[i] = map_type(m, &map, f->result_types[i]);
    results[i] = map_value(&map, f->body->yields[i]);
  }
  func_set_results(copy, f->nresults, types, f->result_names);
  build_return(&b, f->nresults, results);
  return copy;
}

/* ---- calls */
typedef struct Opening {
  const Region *body;
  const Cut *cut;
  bool found;
} Opening;

/* One call that takes a seed and gives a value of the forward part: there is no place for a cut around it. */
static bool open_call(Builder *b, const Op *op, ValueMap *map, void *arg) {
  Opening *o = arg;
  if (op->code != OP_CALL || op->at.callee->is_extern)
    return false;
  bool takes = false, gives = false;
  for (int i = 0; i < op->noperands; i++)
    for (int k = o->cut->n; k < o->body->nparams; k++)
      takes |= op->operands[i] == o->body->params[k];
  for (int i = 0; i < o->cut->first; i++)
    gives |= o->body->yields[i]->def == op;
  if (!takes || !gives)
    return false;
  build_body_of_call(b, op, map);
  return o->found = true;
}

/* Functions that only hand on, as those do that put results in the order of `wrt`, may call each other. */
static void open_calls(Func *f, const Cut *cut) {
  Opening o = {.cut = cut};
  do {
    o.body = f->body;
    o.found = false;
    func_rebuild(f, open_call, &o);
  } while (o.found);
}

/* ---- extents */
typedef struct Within {
  const Region *top;
  bool yes;
} Within;
static void look_within(Value *v, void *arg) {
  Within *w = arg;
  w->yes &= v->region == w->top;
}

static bool is_clamped(const Size *s) {
  const Term *t = s->nterms == 1 ? &s->terms[0] : NULL;
  const Value *atom = t && t->npowers == 1 && t->coefficient == 1 ? t->powers[0].atom->value : NULL;
  return atom && atom->def && atom->def->code == OP_MAX;
}

static Value *insert(Module *m, Op *at, Op *op) {
  op->loc = at->loc;
  op_insert_before(at, op);
  return op_set_result(m, op, 0, type_scalar(KIND_I64), NULL);
}

/* max(s, 0), made before an operation of the function's own region. */
static const Size *clamped(Module *m, Op *at, const Size *s) {
  Op *size = op_new(m, OP_SIZE, 0, 1, 0), *zero = op_new(m, OP_CONST, 0, 1, 0), *max = op_new(m, OP_MAX, 2, 1, 0);
  size->at.size = s;
  max->operands[0] = insert(m, at, size);
  max->operands[1] = insert(m, at, zero);
  return size_atom(m, insert(m, at, max));
}

static void clamp_loop(const Region *top, Op *at, const Op *loop) {
  Module *m = top->func->module;
  const LoopInfo *info = loop->at.loop;
  for (int i = 0; i < info->nouts; i++)
    if (info->outs[i] == OUT_STACK)
      return;
  for (int i = 0; i < info->nindices && !info->ncarries; i++) {
    Within w = {.top = top, .yes = true};
    size_values(info->extents[i], look_within, &w);
    if (w.yes && !size_nonnegative(m, info->extents[i]) && !is_clamped(info->extents[i]))
      info->extents[i] = clamped(m, at, info->extents[i]);
  }
}

static void clamp_region(const Region *top, Op *at, const Region *r) {
  for (Op *op = r->first; op; op = op->next) {
    Op *outermost = at ? at : op;
    if (op->code == OP_LOOP)
      clamp_loop(top, outermost, op);
    for (int i = 0; i < op->nregions; i++)
      clamp_region(top, outermost, op->regions[i]);
  }
}

void pass_apart(Module *m) {
  VEC(Func *) made = {0};
  for (Export *e = m->exports; e; e = e->next) {
    Func *f = e->func;
    bool done = e->part == PART_WHOLE || e->cut.sizes || func_is_underived(f);
    for (int i = 0; i < made.n && !done; i++)
      done = made.at[i] == f;
    if (done)
      continue;
    Func *copy = copy_of(f);
    open_calls(copy, &e->cut);
    vec_push(m->arena, made, copy);
    clamp_region(copy->body, NULL, copy->body);
    func_simplify(copy);
    for (Export *x = e; x; x = x->next)
      if (x->part != PART_WHOLE && x->func == f)
        x->func = copy;
  }
}
