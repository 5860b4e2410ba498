/* The walk of the adjoint and the rules of plain operations; see adjoint.h.  The adjoint of x is x_bar. */
#include "passes/adjoint.h"
#include "ir/raw.h"
#include "passes/linear.h"
#include "passes/passes_internal.h"
#include "passes/rename.h"

Value *bar_get(const Frame *f, const Value *v) {
  return map_get(&f->bars, v);
}

static Frame *defined_in(Frame *f, const Value *v) {
  for (; f; f = f->parent)
    if (f->region == v->region)
      return f;
  internal_error("the adjoint reached a value of no open region");
}

/* The bar of a tensor of the frame around a branch, or of one that that frame threads itself, goes on in the branch. */
static void thread(Adjoint *a, Frame *branch, Value *v, const Frame *home) {
  if (map_get(&branch->threaded, v))
    return;
  if (branch->parent != home)
    thread(a, branch->parent, v, home);
  map_put(&branch->threaded, v, v);
  vec_push(a->module->arena, branch->captured, v);
  Value *bar = map_get(&branch->parent->bars, v);
  if (bar)
    map_put(&branch->bars, v, bar);
}

/* The frame in which the bar of v is an SSA value. */
static Frame *home_of(Adjoint *a, Frame *f, Value *v) {
  Frame *home = defined_in(f, v), *branch = NULL;
  for (Frame *g = f; g != home; g = g->parent)
    branch = !g->threads ? NULL : branch ? branch : g;
  if (!branch || !v->type.rank)
    return home;
  thread(a, branch, v, home);
  return branch;
}

static const char *bar_name(Adjoint *a, const Value *v) {
  return v->name ? arena_printf(a->module->arena, "%s_bar", v->name) : NULL;
}

/* A tensor of zeros made in frame f before the reverse loop that is being built in it. */
static Value *zeros_before(Adjoint *a, Frame *f, Op *loop, Type t) {
  Region *inner = a->b.region;
  a->b.region = f->region;
  Value *zeros = build_zeros(&a->b, t);
  op_settle_before(loop);
  a->b.region = inner;
  return zeros;
}

/* The accumulator through which frame f adds to a tensor of a region further out. */
static Value *handle_of(Adjoint *a, Frame *f, Value *v, Frame *home) {
  Frame *g = f;
  while (g->parent != home)
    g = g->parent;
  if (!g->loop)
    internal_error("a branch adds to the bar of an outer tensor outside any loop");
  Value *handle = map_get(&g->handles, v);
  if (handle)
    return handle;
  Value *init = map_get(&home->bars, v);
  if (!init)
    init = zeros_before(a, home, g->loop, v->type);
  handle = loop_add_acc(a->module, g->loop, init);
  handle->name = bar_name(a, v);
  map_put(&g->handles, v, handle);
  vec_push(a->module->arena, g->handled, v);
  return handle;
}

/* A loop of one iteration around an accumulator: v with the part at idx raised by c, in place where v dies. */
static Value *raised(Adjoint *a, Value *v, int n, Value *const *idx, uint64_t checks, Value *c) {
  Builder *b = &a->b;
  const LoopSpec spec = {.naccs = 1, .acc_inits = &v};
  Op *loop = build_loop_begin(b, &spec);
  build_acc_add(b, loop_acc(loop, 0), c, n, idx, checks);
  build_loop_end(b, loop, NULL, NULL);
  return loop_acc_result(loop, 0);
}

void bar_replace(Adjoint *a, Frame *f, Value *v, Value *bar) {
  if (!bar->name && !value_is_const(bar))
    bar->name = bar_name(a, v);
  map_put(&f->bars, v, bar);
}

void bar_add(Adjoint *a, Frame *f, Value *v, Value *c) {
  if (!c || value_is_const(v) || !value_is_active(&a->activity, v))
    return;
  Frame *home = home_of(a, f, v);
  if (home != f && v->type.rank) {
    build_acc_add(&a->b, handle_of(a, f, v, home), c, 0, NULL, 0);
    return;
  }
  Value *old = map_get(&f->bars, v);
  if (!old && home != f)
    vec_push(a->module->arena, f->captured, v);
  bar_replace(a, f, v, !old ? c : v->type.rank ? raised(a, old, 0, NULL, 0, c) : build_add(&a->b, old, c));
}

void bar_add_at(Adjoint *a, Frame *f, Value *x, int n, Value *const *idx, uint64_t checks, Value *c) {
  Value *state = map_get(&a->tapes, x);
  if (state) { /* tape[i, idx..] is the carry's state of this iteration */
    x = state;
    n--, idx++, checks >>= 1;
  }
  if (n == 0) {
    bar_add(a, f, x, c);
    return;
  }
  if (!c || !value_is_active(&a->activity, x))
    return;
  Frame *home = home_of(a, f, x);
  if (home != f) {
    build_acc_add(&a->b, handle_of(a, f, x, home), c, n, idx, checks);
    return;
  }
  Value *old = map_get(&f->bars, x);
  bar_replace(a, f, x, raised(a, old ? old : build_zeros(&a->b, x->type), n, idx, checks, c));
}

/* ---- frames */
void frame_open(Adjoint *a, Frame *f, Frame *parent, Op *loop) {
  Arena *arena = a->module->arena;
  *f = (Frame){.parent = parent, .loop = loop, .region = loop ? loop->regions[0] : a->b.region};
  f->bars.arena = f->handles.arena = f->threaded.arena = arena;
}

typedef struct CopiedFacts {
  Adjoint *a;
  const ValueMap *map;
} CopiedFacts;

/* A copy of a ghost's read stands for the copy of the recorded element, a copied loop over segments is one. */
static void copy_facts(const Value *from, Value *to, void *arg) {
  const CopiedFacts *c = arg;
  Value *element = map_get(&c->a->reads, from);
  if (element)
    map_put(&c->a->reads, to, map_value(c->map, element));
  if (map_get(&c->a->segments, from))
    map_put(&c->a->segments, to, to);
}

void frame_copy(Adjoint *a, Frame *f, const Region *body, ValueMap *map) {
  const Region *share_top = a->b.share_top;
  a->b.share_top = f->region;
  build_copy_region(&a->b, body, map);
  a->b.share_top = share_top;
  activity_copied(&a->activity, map);
  map_each(map, copy_facts, &(CopiedFacts){.a = a, .map = map});
}

void adjoint_drop_effects(Adjoint *a, Region *r) {
  for (Op *op = r->first, *next; op; op = next) {
    next = op->next;
    for (int i = 0; i < op->nregions; i++)
      adjoint_drop_effects(a, op->regions[i]);
    if (op->code == OP_REQUIRE || (op->code == OP_ACC_ADD && map_get(&a->ghosts, op->operands[0])))
      op_unlink(op);
  }
}

void frame_close(Adjoint *a, Frame *f, Value *const *carries) {
  Module *m = a->module;
  const int n = f->captured.n;
  OutKind *outs = NEW_ARRAY(m->arena, OutKind, n + 1);
  Value **yields = NEW_ARRAY(m->arena, Value *, n + 1);
  for (int i = 0; i < n; i++) {
    outs[i] = OUT_SUM;
    yields[i] = map_get(&f->bars, f->captured.at[i]);
  }
  loop_set_outs(m, f->loop, n, outs);
  build_loop_end(&a->b, f->loop, carries, yields);
  adjoint_drop_effects(a, f->region);
  for (int i = 0; i < f->handled.n; i++)
    bar_replace(a, f->parent, f->handled.at[i], loop_acc_result(f->loop, i));
  for (int i = 0; i < n; i++)
    bar_add(a, f->parent, f->captured.at[i], loop_out(f->loop, i));
}

/* ---- rules */
static void adjoint_scalar(Adjoint *a, Frame *f, const Op *op) {
  Value *y_bar = bar_get(f, op->results[0]);
  if (!y_bar)
    return;
  const Incoming incoming = value_is_steep(&a->activity, op->results[0])    ? INCOMING_STEEP
                            : value_is_masked(&a->activity, op->results[0]) ? INCOMING_MASKED
                                                                            : INCOMING_PLAIN;
  for (int k = 0; k < op->noperands; k++)
    if (!value_is_const(op->operands[k]) && value_is_active(&a->activity, op->operands[k]))
      bar_add(a, f, op->operands[k], linear_apply(&a->b, op, k, y_bar, incoming));
}

/* full: the sum of all elements. */
static void adjoint_full(Adjoint *a, Frame *f, const Op *op) {
  Value *y_bar = bar_get(f, op->results[0]);
  if (!y_bar || !value_is_active(&a->activity, op->operands[0]))
    return;
  const Type t = y_bar->type;
  const OutKind sum = OUT_SUM;
  const LoopSpec spec = {.nindices = t.rank, .extents = (const Size **)(uintptr_t)t.dims, .nouts = 1, .outs = &sum};
  Op *loop = build_loop_begin(&a->b, &spec);
  Value *element = build_index(&a->b, y_bar, t.rank, loop->regions[0]->params, 0);
  build_loop_end(&a->b, loop, NULL, &element);
  bar_add(a, f, op->operands[0], loop_out(loop, 0));
}

static void adjoint_update(Adjoint *a, Frame *f, const Op *op) {
  Value *y_bar = bar_get(f, op->results[0]);
  Value *x = op->operands[0], *v = op->operands[1];
  Value *const *idx = op->operands + 2;
  const int n = op->noperands - 2;
  if (!y_bar)
    return;
  if (value_is_active(&a->activity, v))
    bar_add(a, f, v, build_index(&a->b, y_bar, n, idx, op->at.checks));
  if (value_is_active(&a->activity, x))
    bar_add(a, f, x, build_update(&a->b, y_bar, build_zeros(&a->b, v->type), n, idx, op->at.checks));
}

static void adjoint_acc_add(Adjoint *a, Frame *f, const Op *op) {
  Value *handle = op->operands[0], *result_bar = map_get(&a->ghosts, handle);
  if (!result_bar)
    internal_error("acc_add on an accumulator that the adjoint does not know");
  if (result_bar != handle && value_is_active(&a->activity, op->operands[1]))
    bar_add(a, f, op->operands[1], build_index(&a->b, result_bar, op->noperands - 2, op->operands + 2, op->at.checks));
}

static void adjoint_op(Adjoint *a, Frame *f, Op *op) {
  const Value *y = op->nresults == 1 ? op->results[0] : NULL, *recorded = y ? map_get(&a->reads, y) : NULL;
  Value *y_bar = y ? bar_get(f, recorded ? recorded : y) : NULL;
  switch (op->code) {
  case OP_CONST:
  case OP_SIZE:
  case OP_REQUIRE: break;
  case OP_FULL: adjoint_full(a, f, op); break;
  case OP_INDEX:
    if (y_bar)
      bar_add_at(a, f, op->operands[0], op->noperands - 1, op->operands + 1, op->at.checks, y_bar);
    break;
  case OP_UPDATE: adjoint_update(a, f, op); break;
  case OP_ACC_ADD: adjoint_acc_add(a, f, op); break;
  case OP_RESHAPE:
    if (y_bar)
      bar_add(a, f, op->operands[0], build_reshape(&a->b, y_bar, op->operands[0]->type));
    break;
  case OP_LOOP: adjoint_loop(a, f, op); break;
  case OP_IF: adjoint_if(a, f, op); break;
  case OP_WHILE: adjoint_while(a, f, op); break;
  case OP_CALL: adjoint_call(a, f, op); break;
  default: adjoint_scalar(a, f, op);
  }
}

void adjoint_walk(Adjoint *a, Frame *f, Op *first, Op *last) {
  const Range loc = a->b.loc;
  const Op *origin = a->b.origin;
  for (Op *op = last, *prev; op; op = prev) {
    prev = op == first ? NULL : op->prev;
    a->b.loc = op->loc;
    a->b.origin = op->origin ? op->origin : op;
    adjoint_op(a, f, op);
  }
  a->b.loc = loc;
  a->b.origin = origin;
}

/* ---- a whole function */

/* What the walk begins with: the bar of each float result of the base. */
static void seed_results(Adjoint *a, Frame *root, const Func *base, Value *const *results) {
  const bool vjp = a->func->derive.op == DERIVE_VJP;
  int seed = base->body->nparams; /* the seeds stand after the base's parameters */
  for (int r = 0; r < base->nresults; r++) {
    if (!kind_is_float(base->result_types[r].kind))
      continue;
    if (vjp)
      bar_add(a, root, results[r], a->func->body->params[seed++]);
    else if (r == 0)
      bar_add(a, root, results[0], build_float(&a->b, results[0]->type.kind, 1));
  }
}

void adjoint_make(Func *f) {
  Func *base = f->derive.base;
  Module *m = f->module;
  Adjoint a = {.module = m, .func = f, .b = build_into(f, f->body)};
  a.ghosts.arena = a.tapes.arena = a.reads.arena = a.segments.arena = a.replaced.arena = m->arena;
  a.b.loc = f->loc;
  const int nparams = base->body->nparams;
  ValueMap map = {.arena = m->arena};
  for (int i = 0; i < nparams; i++)
    map_put(&map, base->body->params[i], f->body->params[i]);
  Prepare prepare = {.base = base, .wrt = f->derive.wrt, .segments = &a.segments};
  a.b.hook = prepare_op;
  a.b.hook_arg = &prepare;
  build_copy_region(&a.b, base->body, &map);
  a.b.hook = NULL;
  Value **results = NEW_ARRAY(m->arena, Value *, base->nresults + nparams + 1);
  bool *wrt = NEW_ARRAY(m->arena, bool, f->body->nparams + 1), *seeded = NEW_ARRAY(m->arena, bool, base->nresults + 1);
  for (int i = 0; i < nparams; i++)
    wrt[i] = f->derive.wrt[i];
  for (int r = 0; r < base->nresults; r++) {
    results[r] = map_value(&map, base->body->yields[r]);
    seeded[r] = f->derive.op == DERIVE_VJP || r == 0;
  }
  region_set_yields(m, f->body, base->nresults, results); /* for the analysis */
  a.activity = activity_of(f, wrt, seeded);
  for (int r = 0; r < base->nresults; r++)
    seeded[r] = f->derive.op != DERIVE_VJP && r == 0; /* seeds from outside may be exactly 0: a row of a Jacobian */
  activity_masks(&a.activity, f, seeded);
  Op *last = f->body->last;
  Frame root;
  frame_open(&a, &root, NULL, NULL);
  seed_results(&a, &root, base, results);
  adjoint_walk(&a, &root, NULL, last);
  int n = f->derive.op == DERIVE_GRAD ? 0 : base->nresults;
  for (int i = 0; i < nparams; i++)
    if (wrt[i]) {
      Value *x = f->body->params[i], *x_bar = bar_get(&root, x);
      results[n++] = x_bar ? x_bar : build_zeros(&a.b, x->type);
    }
  build_return(&a.b, n, results);
  for (int i = 0; i < a.removed.n; i++)
    op_unlink(a.removed.at[i]);
  if (a.removed.n)
    region_rename(m, f->body, &a.replaced);
}
