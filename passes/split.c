/* Pass `split`: cuts a vector-Jacobian product in two, so that one run forward serves many seeds.
   Naming: what needs a seed is late, all else early.

     forward    the early operations; gives the function's values, and the tape
     backward   the late operations; reads the tape, and does again what costs less than to keep
     sizes      what the tape's sizes are made of besides the function's sizes: trip counts

   It stands after `keep`, by which the loops of the reverse sweep read from stacks of the forward's loops what would be
   dear to do again, so the cut goes between operations of the function's own region.  A tape is a row of tensors, a
   number one of one element: so no integer that comes from it can be taken for one that tells the workspace's size. */
#include "ir/raw.h"
#include "passes/passes_internal.h"

enum { DEAR = 1000, MOST_AGAIN = 24 }; /* operations for an element that are done again rather than kept */

static char late_mark; /* Op.note of what is late */

/* What is found out of a value of the function's own region; hangs on its note. */
typedef struct Fate {
  bool late;
  bool wanted;  /* early, and a late operation needs it */
  bool ready;   /* backward has it: from the tape or its arguments, or by doing it again */
  int cost;     /* of doing it again */
  bool entry;   /* a scalar made of sizes and integer arguments alone */
  bool in_size; /* `sizes` has to compute it */
} Fate;

typedef struct Split {
  Module *module;
  Func *whole;
  int nvalues, ninputs; /* results that are forward's; parameters that are not seeds */
  VEC(Value *) tape;
  VEC(Value *) sizes; /* computed sizes of the tape's tensors */
  Func *forward, *backward, *compute;
} Split;

static Fate *fate(const Value *v) {
  return v->note;
}

/* ---- what an operation, and all below it, needs of the function's own region */
typedef struct Uses {
  const Region *top;
  SizeVisit *visit;
  void *arg;
} Uses;

static void use(Value *v, void *arg) {
  const Uses *u = arg;
  if (v->region == u->top)
    u->visit(v, u->arg);
}

static void use_type(Type t, Uses *u) {
  for (int i = 0; i < t.rank; i++)
    size_values(t.dims[i], use, u);
}

static void use_op(const Op *op, Uses *u) {
  for (int i = 0; i < op->noperands; i++)
    use(op->operands[i], u);
  for (int i = 0; i < op->nresults; i++)
    use_type(op->results[i]->type, u);
  if (op->code == OP_SIZE)
    size_values(op->at.size, use, u);
  for (int i = 0; op->code == OP_LOOP && i < op->at.loop->nindices; i++)
    size_values(op->at.loop->extents[i], use, u);
  for (int k = 0; k < op->nregions; k++) {
    const Region *r = op->regions[k];
    for (int i = 0; i < r->nparams; i++)
      use_type(r->params[i]->type, u);
    for (int i = 0; i < r->nyields; i++)
      use(r->yields[i], u);
    for (const Op *below = r->first; below; below = below->next)
      use_op(below, u);
  }
}

static void visit_uses(const Split *s, const Op *op, SizeVisit *visit, void *arg) {
  Uses u = {.top = s->whole->body, .visit = visit, .arg = arg};
  use_op(op, &u);
}

/* ---- late, wanted */
static void look_late(Value *v, void *arg) {
  *(bool *)arg |= fate(v)->late;
}
static void note_wanted(Value *v, void *arg) {
  (void)arg;
  fate(v)->wanted |= !fate(v)->late;
}

static bool is_late(const Op *op) {
  return op->note != NULL;
}

static void find_late(const Split *s) {
  Region *body = s->whole->body;
  Arena *arena = s->module->arena;
  for (int i = 0; i < body->nparams; i++) {
    Fate *f = body->params[i]->note = NEW(arena, Fate);
    f->late = i >= s->ninputs;
    f->ready = true;
    f->entry = !f->late && !body->params[i]->type.rank && kind_is_int(body->params[i]->type.kind);
  }
  for (Op *op = body->first; op; op = op->next) {
    bool late = false;
    visit_uses(s, op, look_late, &late);
    op->note = late ? &late_mark : NULL;
    for (int i = 0; i < op->nresults; i++) {
      Fate *f = op->results[i]->note = NEW(arena, Fate);
      f->late = late;
    }
  }
  for (const Op *op = body->first; op; op = op->next)
    if (is_late(op))
      visit_uses(s, op, note_wanted, NULL);
  for (int i = s->nvalues; i < body->nyields; i++)
    if (body->yields[i]->region == body)
      note_wanted(body->yields[i], NULL);
}

/* ---- what is done again */
static int cost_of(const Op *op);

/* A stack, each element of a few cheap operations. */
static int cost_of_loop(const Op *op) {
  const LoopInfo *info = op->at.loop;
  int cost = info->ncarries || info->naccs ? DEAR : 1;
  for (int i = 0; i < info->nouts; i++)
    cost += info->outs[i] == OUT_STACK ? 0 : DEAR;
  for (const Op *below = op->regions[0]->first; below && cost < DEAR; below = below->next)
    cost += below->code == OP_LOOP ? DEAR : cost_of(below);
  return cost;
}

static int cost_of(const Op *op) {
  switch (op->code) {
  case OP_CONST:
  case OP_SIZE:
  case OP_RESHAPE:
  case OP_REQUIRE: return 0;
  case OP_FULL:
  case OP_INDEX: return 1;
  case OP_LOOP: return cost_of_loop(op);
  default: return op_info[op->code].group != GROUP_ELEM || op_is_expensive(op) ? DEAR : 1;
  }
}

typedef struct Again {
  bool ready, entry;
  int cost;
} Again;
static void add_cost(Value *v, void *arg) {
  Again *a = arg;
  a->ready &= fate(v)->ready;
  a->entry &= fate(v)->entry;
  if (a->cost < DEAR)
    a->cost += fate(v)->cost;
}

/* In the order of the program: what backward can do again cheaply, it does; of the rest what it wants is kept. */
static void choose(Split *s) {
  for (const Op *op = s->whole->body->first; op; op = op->next) {
    if (is_late(op))
      continue;
    const bool is_scalar = op_info[op->code].group == GROUP_ELEM || op->code == OP_CONST || op->code == OP_SIZE;
    Again a = {
        .ready = true, .entry = is_scalar && op->nresults == 1 && !op->results[0]->type.rank, .cost = cost_of(op)};
    visit_uses(s, op, add_cost, &a);
    for (int i = 0; i < op->nresults; i++) {
      Fate *f = fate(op->results[i]);
      f->entry = a.entry;
      f->ready = a.ready && a.cost <= MOST_AGAIN;
      f->cost = f->ready ? a.cost : 0;
      if (f->ready || !f->wanted)
        continue;
      f->ready = true;
      vec_push(s->module->arena, s->tape, op->results[i]);
    }
  }
}

/* ---- the tape's sizes */
typedef struct TapeSizes {
  Split *split;
  bool unbounded;
} TapeSizes;

static bool never_negative(const Value *v) {
  if (!v->def || v->def->code != OP_MAX)
    return false;
  int64_t c;
  return (value_is_int_const(v->def->operands[0], &c) && c >= 0) ||
         (value_is_int_const(v->def->operands[1], &c) && c >= 0);
}

static void add_size(Value *v, void *arg) {
  TapeSizes *t = arg;
  Fate *f = fate(v);
  if (!f->entry || (v->def && !never_negative(v))) {
    t->unbounded = true;
  } else if (v->def && !f->in_size) {
    f->in_size = true;
    vec_push(t->split->module->arena, t->split->sizes, v);
  }
}

static bool find_sizes(Split *s, Range asked_at) {
  TapeSizes t = {.split = s};
  for (int i = 0; i < s->tape.n && !t.unbounded; i++) {
    const Value *v = s->tape.at[i];
    for (int k = 0; k < v->type.rank; k++)
      size_values(v->type.dims[k], add_size, &t);
    if (!t.unbounded)
      continue;
    Diag *d = s->module->diag;
    DiagMessage *m = diag_error(d, v->def->loc,
                                "the tape that 'split' asks for has no bound: how often this runs does "
                                "not follow from sizes and integer arguments");
    diag_note(d, m, asked_at, "'split' is asked for here");
    diag_mend(d, m, "without 'split' the tape is as long as the run says");
  }
  return !t.unbounded;
}

static void need_in_sizes(Value *v, void *arg) {
  (void)arg;
  fate(v)->in_size = true;
}

/* ---- the functions made */
static void copy_param(Func *f, ValueMap *map, const Value *p) {
  map_put(map, p, func_add_param(f, map_type(f->module, map, p->type), p->name));
}

/* A function with the whole's parameters, but the seeds; its sizes end with the computed ones, if those are given. */
static Func *begin(const Split *s, const char *what, bool with_sizes, ValueMap *map) {
  const Func *whole = s->whole;
  Func *f = func_new(s->module, arena_printf(s->module->arena, "%s_%s", whole->name, what), whole->loc);
  map->arena = s->module->arena;
  for (int i = 0; i < whole->nsizes; i++)
    copy_param(f, map, whole->body->params[i]);
  for (int i = 0; i < s->sizes.n && with_sizes; i++)
    copy_param(f, map, s->sizes.at[i]);
  f->nsizes = f->body->nparams;
  f->recipe = whole->recipe;
  for (int i = whole->nsizes; i < s->ninputs; i++)
    copy_param(f, map, whole->body->params[i]);
  return f;
}

/* Unless all that it gives is there already. */
static void copy_op(Builder *b, const Op *op, ValueMap *map) {
  bool known = op->nresults > 0;
  for (int i = 0; i < op->nresults; i++)
    known &= map_get(map, op->results[i]) != NULL;
  if (!known)
    build_copy_op(b, op, map);
}

static void end(Builder *b, int n, Value *const *results, const char *const *names) {
  Type *types = NEW_ARRAY(b->module->arena, Type, n + 1);
  for (int i = 0; i < n; i++)
    types[i] = results[i]->type;
  func_set_results(b->func, n, types, names);
  build_return(b, n, results);
  func_simplify(b->func);
}

static void make_sizes(Split *s) {
  const Region *body = s->whole->body;
  ValueMap map = {0};
  s->compute = begin(s, "sizes", false, &map);
  Builder b = build_into(s->compute, s->compute->body);
  Value **results = NEW_ARRAY(s->module->arena, Value *, s->sizes.n + 1);
  for (const Op *op = body->last; op; op = op->prev)
    if (op->nresults == 1 && fate(op->results[0])->in_size)
      visit_uses(s, op, need_in_sizes, NULL);
  for (const Op *op = body->first; op; op = op->next)
    if (op->nresults == 1 && fate(op->results[0])->in_size)
      copy_op(&b, op, &map);
  for (int i = 0; i < s->sizes.n; i++)
    results[i] = map_value(&map, s->sizes.at[i]);
  end(&b, s->sizes.n, results, NULL);
}

static Value *to_tape(Builder *b, Value *v) {
  const Size *one = size_const(b->module, 1);
  return v->type.rank ? v : build_full(b, type_tensor(b->module, v->type.kind, 1, &one), v);
}

static void make_forward(Split *s) {
  const Region *body = s->whole->body;
  const int n = s->nvalues + s->tape.n;
  ValueMap map = {0};
  s->forward = begin(s, "forward", true, &map);
  Builder b = build_into(s->forward, s->forward->body);
  for (const Op *op = body->first; op; op = op->next)
    if (!is_late(op))
      copy_op(&b, op, &map);
  Value **results = NEW_ARRAY(s->module->arena, Value *, n + 1);
  const char **names = NEW_ARRAY(s->module->arena, const char *, n + 1);
  for (int i = 0; i < s->nvalues; i++) {
    results[i] = map_value(&map, body->yields[i]);
    names[i] = func_result_name(s->whole, i);
  }
  for (int i = 0; i < s->tape.n; i++)
    results[s->nvalues + i] = to_tape(&b, map_value(&map, s->tape.at[i]));
  end(&b, n, results, names);
}

static void bind_tape(const Split *s, Func *f, ValueMap *map) {
  Module *m = s->module;
  const Size *one = size_const(m, 1);
  Builder b = build_into(f, f->body);
  for (int i = 0; i < s->tape.n; i++) {
    const Value *v = s->tape.at[i];
    const Type t = v->type.rank ? map_type(m, map, v->type) : type_tensor(m, v->type.kind, 1, &one);
    Value *kept = func_add_param(f, t, v->name), *zero = build_int(&b, KIND_I64, 0);
    if (!map_get(map, v))
      map_put(map, v, v->type.rank ? kept : build_index(&b, kept, 1, &zero, 0));
  }
}

/* Cheap enough, and what is tested of the arguments only in so far. */
static bool is_again(const Op *op) {
  for (int i = 0; i < op->nresults; i++)
    if (!fate(op->results[i])->ready)
      return false;
  return op->code == OP_REQUIRE ? fate(op->operands[0])->ready : op->nresults > 0;
}

static void make_backward(Split *s) {
  const Region *body = s->whole->body;
  const int n = body->nyields - s->nvalues;
  ValueMap map = {0};
  s->backward = begin(s, "backward", true, &map);
  bind_tape(s, s->backward, &map);
  for (int i = s->ninputs; i < body->nparams; i++)
    copy_param(s->backward, &map, body->params[i]);
  Builder b = build_into(s->backward, s->backward->body);
  for (const Op *op = body->first; op; op = op->next)
    if (is_late(op) || is_again(op))
      copy_op(&b, op, &map);
  Value **results = NEW_ARRAY(s->module->arena, Value *, n + 1);
  const char **names = NEW_ARRAY(s->module->arena, const char *, n + 1);
  for (int i = 0; i < n; i++) {
    results[i] = map_value(&map, body->yields[s->nvalues + i]);
    names[i] = func_result_name(s->whole, s->nvalues + i);
  }
  end(&b, n, results, names);
}

/* ---- exports */
static void set_parts(const Split *s, Export *e) {
  for (; e; e = e->next) {
    if (e->part == PART_WHOLE || e->func != s->whole)
      continue;
    const bool backward = e->part == PART_BACKWARD;
    e->accumulate_from -= s->nvalues;
    e->func = backward ? s->backward : s->forward;
    if (!backward)
      e->accumulate_from = e->func->nresults;
    e->cut = (Cut){.first = backward ? s->ninputs + s->sizes.n : s->nvalues, .n = s->tape.n, .sizes = s->compute};
  }
}

void pass_split(Module *m) {
  const Func *refused = NULL; /* the parts of one follow each other, or are reported once more */
  for (Export *e = m->exports; e; e = e->next) {
    if (e->part == PART_WHOLE || e->cut.sizes || func_is_underived(e->func) || e->func == refused)
      continue;
    Split s = {.module = m, .whole = e->func, .nvalues = e->cut.first, .ninputs = e->cut.n};
    find_late(&s);
    choose(&s);
    if (!find_sizes(&s, e->loc)) {
      refused = s.whole;
      continue;
    }
    make_sizes(&s);
    make_forward(&s);
    make_backward(&s);
    set_parts(&s, e);
  }
}
