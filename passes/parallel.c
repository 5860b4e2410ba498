/* Parallel loops become functions that code generation may run in blocks, on several threads (`--threads`).
   A loop without carries that nothing parallel surrounds, over i < n, becomes

     func f_part(sizes, what the loop reads, first: i64, count: i64) parallel

   which runs the iterations first <= i < first + count: stacks have `count` slices, reductions and accumulators are of
   these iterations alone, from nothing.  The caller calls it for all, f_part(.., 0, n), and adds what an accumulator
   began with, so that the module means what it did; a `parallel` function promises that its results over a range are
   made of those over the parts of the range.  How many parts there are is codegen/parallel.c's to say. */
#include "passes/passes_internal.h"

#ifndef GRADC_WORTH
#define GRADC_WORTH 20000 /* tests build with less */
#endif
enum { WORTH = GRADC_WORTH }; /* operations: a loop known to have less is left where it is */

typedef struct Outline {
  Module *module;
  Func *func;
  VEC(Func *) left; /* functions to look into */
  VEC(Func *) seen;
  bool any;
} Outline;

static char chosen_mark;
#define CHOSEN ((void *)&chosen_mark)

/* ---- choosing */
/* Operations of one run, or WORTH where a size is not known. */
static int64_t known_work(const Region *r) {
  int64_t work = 0;
  for (const Op *op = r->first; op && work < WORTH; op = op->next) {
    int64_t inside = 1;
    if (op->code == OP_WHILE || op->code == OP_CALL)
      return WORTH;
    for (int i = 0; i < op->nregions; i++)
      inside += known_work(op->regions[i]);
    for (int i = 0; op->code == OP_LOOP && i < op->at.loop->nindices; i++) {
      int64_t extent;
      if (!size_is_const(op->at.loop->extents[i], &extent) || extent > WORTH)
        return WORTH;
      inside *= extent < 0 ? 0 : extent;
      inside = inside < WORTH ? inside : WORTH;
    }
    work += inside;
  }
  return work < WORTH ? work : WORTH;
}

static bool is_worth_it(const Op *loop) {
  const LoopInfo *info = loop->at.loop;
  int64_t work = 1 + known_work(loop->regions[0]);
  for (int i = 0; i < info->nindices && work < WORTH; i++) {
    int64_t extent;
    if (!size_is_const(info->extents[i], &extent) || extent > WORTH)
      return true;
    work *= extent < 0 ? 0 : extent;
  }
  return work >= WORTH;
}

typedef struct AddsOutside {
  const Region *body;
  bool found;
} AddsOutside;

static void find_add_outside(Op *op, void *arg) {
  AddsOutside *a = arg;
  if (op->code == OP_ACC_ADD && value_is_outside(op->operands[0], a->body))
    a->found = true;
}

/* in_order: inside a loop that runs in order, where an accumulator that begins with something is added to in place;
   that costs nothing there, and would cost a tensor an iteration here. */
static bool may_outline(Outline *o, const Op *loop, bool in_order) {
  const LoopInfo *info = loop->at.loop;
  AddsOutside adds = {.body = loop->regions[0]};
  if (!loop->nresults || !is_worth_it(loop))
    return false;
  for (int i = 0; i < info->naccs; i++)
    if ((in_order && !value_is_zero(loop->operands[i])) || o->module->strict)
      return false;
  for (int i = 0; i < info->nouts && o->module->strict; i++) /* the order of sums is the source's */
    if (info->outs[i] != OUT_STACK)
      return false;
  region_walk(loop->regions[0], find_add_outside, &adds);
  return !adds.found;
}

static void look_into(Outline *o, Func *f) {
  for (int i = 0; i < o->seen.n; i++)
    if (o->seen.at[i] == f)
      return;
  vec_push(o->module->arena, o->seen, f);
  vec_push(o->module->arena, o->left, f);
}

static bool choose(Outline *o, Region *r, bool in_order) {
  bool any = false;
  for (Op *op = r->first; op; op = op->next) {
    op->note = NULL;
    if (op->code == OP_CALL && !op->at.callee->is_extern)
      look_into(o, op->at.callee);
    const bool parallel = op->code == OP_LOOP && !op->at.loop->ncarries && op->at.loop->nindices;
    if (parallel && may_outline(o, op, in_order)) {
      op->note = CHOSEN;
      any = true;
    }
    const bool runs_again = op->code == OP_WHILE || (op->code == OP_LOOP && op->at.loop->nindices);
    for (int i = 0; i < op->nregions && !parallel; i++)
      any |= choose(o, op->regions[i], in_order || runs_again);
  }
  return any;
}

/* ---- what the loop reads */
typedef struct Captures {
  Outline *outline;
  const Region *body;
  Func *part;
  ValueMap seen; /* captured values to themselves */
  VEC(Value *) values;
} Captures;

/* Constants are made again. */
static bool is_remade(const Value *v) {
  return v->def && (v->def->code == OP_CONST || (v->def->code == OP_FULL && v->def->operands[0]->def &&
                                                 v->def->operands[0]->def->code == OP_CONST));
}

static void capture(Value *v, void *arg);

static void capture_type(Captures *c, Type t) {
  for (int i = 0; i < t.rank; i++)
    size_values(t.dims[i], capture, c);
}

static void capture(Value *v, void *arg) {
  Captures *c = arg;
  if (!value_is_outside(v, c->body) || map_get(&c->seen, v))
    return;
  map_put(&c->seen, v, v);
  capture_type(c, v->type);
  if (!is_remade(v))
    vec_push(c->outline->module->arena, c->values, v);
}

static void capture_op(Op *op, void *arg) {
  Captures *c = arg;
  for (int i = 0; i < op->noperands; i++)
    capture(op->operands[i], c);
  for (int i = 0; i < op->nresults; i++)
    capture_type(c, op->results[i]->type);
  if (op->code == OP_SIZE)
    size_values(op->at.size, capture, c);
  for (int i = 0; op->code == OP_LOOP && i < op->at.loop->nindices; i++)
    size_values(op->at.loop->extents[i], capture, c);
  for (int k = 0; k < op->nregions; k++)
    for (int i = 0; i < op->regions[k]->nyields; i++)
      capture(op->regions[k]->yields[i], c);
}

static void capture_loop(Captures *c, const Op *loop) {
  region_walk(loop->regions[0], capture_op, c);
  for (int i = 0; i < loop->regions[0]->nyields; i++)
    capture(loop->regions[0]->yields[i], c);
  for (int i = 1; i < loop->at.loop->nindices; i++)
    size_values(loop->at.loop->extents[i], capture, c);
  for (int i = 0; i < loop->nresults; i++) { /* not the first extent: that is the count */
    const Type t = loop->results[i]->type;
    const bool stack = i >= loop->at.loop->naccs && t.rank;
    capture_type(c, stack ? type_drop(t, 1) : t);
  }
}

/* Sizes first, then other integers, which the types of the rest may be over. */
static int rank_of(const Captures *c, const Value *v) {
  if (!v->def && !v->region->owner && v->index < c->outline->func->nsizes)
    return 0;
  return !v->type.rank && kind_is_int(v->type.kind) ? 1 : 2;
}

static void order_captures(Captures *c) {
  VEC(Value *) sorted = {0};
  for (int rank = 0; rank < 3; rank++)
    for (int i = 0; i < c->values.n; i++)
      if (rank_of(c, c->values.at[i]) == rank)
        vec_push(c->outline->module->arena, sorted, c->values.at[i]);
  for (int i = 0; i < sorted.n; i++)
    c->values.at[i] = sorted.at[i];
}

/* ---- the function */
static void add_params(Captures *c, ValueMap *map) {
  Module *m = c->outline->module;
  for (int i = 0; i < c->values.n; i++) {
    Value *v = c->values.at[i];
    c->part->nsizes += rank_of(c, v) == 0;
    map_put(map, v, func_add_param(c->part, map_type(m, map, v->type), v->name));
  }
}

static Value *remake(Builder *b, const ValueMap *map, const Value *v) {
  const Op *op = v->def;
  if (op->code == OP_FULL)
    return build_full(b, map_type(b->module, map, v->type), remake(b, map, op->operands[0]));
  return kind_is_float(v->type.kind) ? build_float(b, v->type.kind, op->at.f) : build_int(b, v->type.kind, op->at.i);
}

typedef struct Remaking {
  Builder *builder;
  ValueMap *map;
} Remaking;

static void remake_constant(const Value *v, Value *same, void *arg) {
  const Remaking *r = arg;
  if (is_remade(same))
    map_put(r->map, v, remake(r->builder, r->map, v));
}

/* The loop over `count` iterations, which begin with `first`. */
static Op *build_part_loop(Builder *b, const Op *loop, ValueMap *map, Value *first, Value *count) {
  Module *m = b->module;
  const LoopInfo *info = loop->at.loop;
  const Region *body = loop->regions[0];
  const Size **extents = NEW_ARRAY(m->arena, const Size *, info->nindices);
  extents[0] = size_of_value(m, count);
  for (int i = 1; i < info->nindices; i++)
    extents[i] = map_size(m, map, info->extents[i]);
  Value **zeros = NEW_ARRAY(m->arena, Value *, info->naccs + 1);
  for (int i = 0; i < info->naccs; i++)
    zeros[i] = build_zeros(b, map_type(m, map, loop->results[i]->type));
  const LoopSpec spec = {.nindices = info->nindices,
                         .extents = extents,
                         .naccs = info->naccs,
                         .acc_inits = zeros,
                         .nouts = info->nouts,
                         .outs = info->outs};
  Op *part = build_loop_begin(b, &spec);
  for (int i = 0; i < body->nparams; i++) {
    Value *param = part->regions[0]->params[i];
    param->name = body->params[i]->name;
    map_put(map, body->params[i], i ? param : build_add(b, first, param));
  }
  build_copy_region(b, body, map);
  Value **yields = NEW_ARRAY(m->arena, Value *, info->nouts + 1);
  for (int i = 0; i < info->nouts; i++)
    yields[i] = map_value(map, body->yields[i]);
  build_loop_end(b, part, NULL, yields);
  for (int i = 0; i < loop->nresults; i++)
    part->results[i]->name = loop->results[i]->name;
  return part;
}

static void make_part(Captures *c, const Op *loop) {
  Module *m = c->outline->module;
  c->part = func_new(m, arena_printf(m->arena, "%s_part", c->outline->func->name), loop->loc);
  c->part->is_parallel = true;
  ValueMap map = {.arena = m->arena};
  add_params(c, &map);
  Value *first = func_add_param(c->part, type_scalar(KIND_I64), "first");
  Value *count = func_add_param(c->part, type_scalar(KIND_I64), "count");
  Builder b = build_into(c->part, c->part->body);
  b.loc = loop->loc;
  b.origin = loop->origin;
  Remaking remaking = {.builder = &b, .map = &map};
  map_each(&c->seen, remake_constant, &remaking);
  const Op *part = build_part_loop(&b, loop, &map, first, count);
  Type *types = NEW_ARRAY(m->arena, Type, part->nresults);
  const char **names = NEW_ARRAY(m->arena, const char *, part->nresults);
  for (int i = 0; i < part->nresults; i++) {
    types[i] = part->results[i]->type;
    names[i] = part->results[i]->name;
  }
  func_set_results(c->part, part->nresults, types, names);
  build_return(&b, part->nresults, part->results);
}

/* ---- the call */
/* x + y, element by element. */
static Value *sum_of(Builder *b, Value *x, Value *y) {
  const Type t = x->type;
  if (!t.rank)
    return build_add(b, x, y);
  const OutKind stack = OUT_STACK;
  const LoopSpec spec = {.nindices = t.rank, .extents = t.dims, .nouts = 1, .outs = &stack};
  Op *loop = build_loop_begin(b, &spec);
  Value *idx[MAX_RANK];
  for (int i = 0; i < t.rank; i++)
    idx[i] = loop_index(loop, i);
  Value *sum = build_add(b, build_index(b, x, t.rank, idx, 0), build_index(b, y, t.rank, idx, 0));
  build_loop_end(b, loop, NULL, &sum);
  return loop_out(loop, 0);
}

static bool outline_loop(Builder *b, const Op *op, ValueMap *map, void *arg) {
  Outline *o = arg;
  if (op->note != CHOSEN)
    return false;
  Module *m = o->module;
  const LoopInfo *info = op->at.loop;
  Captures c = {.outline = o, .body = op->regions[0], .seen = {.arena = m->arena}};
  capture_loop(&c, op);
  order_captures(&c);
  make_part(&c, op);
  const Range loc = b->loc;
  b->loc = op->loc;
  Value **args = NEW_ARRAY(m->arena, Value *, c.values.n + 2);
  for (int i = 0; i < c.values.n; i++)
    args[i] = map_value(map, c.values.at[i]);
  args[c.values.n] = build_int(b, KIND_I64, 0);
  args[c.values.n + 1] = build_size(b, map_size(m, map, info->extents[0]));
  Op *call = build_call(b, c.part, args);
  for (int i = 0; i < op->nresults; i++) {
    Value *result = call->results[i];
    result->name = op->results[i]->name;
    if (i < info->naccs && !value_is_zero(op->operands[i]))
      result = sum_of(b, map_value(map, op->operands[i]), result);
    map_put(map, op->results[i], result);
  }
  b->loc = loc;
  return true;
}

/* From the exports on, along calls that nothing parallel surrounds. */
void pass_parallel(Module *m) {
  Outline o = {.module = m};
  for (Export *e = m->exports; e; e = e->next)
    look_into(&o, e->func);
  for (int i = 0; i < o.left.n; i++) {
    o.func = o.left.at[i];
    if (o.func->is_extern || o.func->is_parallel || func_is_underived(o.func) || !choose(&o, o.func->body, false))
      continue;
    func_rebuild(o.func, outline_loop, &o);
    func_dce(o.func);
  }
}
