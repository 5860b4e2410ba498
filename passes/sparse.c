/* Sparse derivatives: the function that is made, and its blocks; see sparse.h. */
#include "passes/sparse.h"
#include "ir/raw.h"

/* ---- the source */
/* Calls that make tensors of which a block needs some elements only are looked into. */
static bool inline_large(Builder *b, const Op *op, ValueMap *map, void *arg) {
  long *budget = arg;
  const Func *f = op->code == OP_CALL ? op->at.callee : NULL;
  bool large = false;
  for (int i = 0; f && i < op->nresults; i++)
    large |= op->results[i]->type.rank && !size_is_const(type_count(b->module, op->results[i]->type), NULL);
  if (!large || f->is_extern || func_is_underived(f) || f->own_vjp || f->own_jvp)
    return false;
  *budget -= region_op_count(f->body);
  if (*budget < 0)
    return false;
  ValueMap inner = {.arena = b->module->arena};
  for (int i = 0; i < op->noperands; i++)
    map_put(&inner, f->body->params[i], map_value(map, op->operands[i]));
  build_copy_region(b, f->body, &inner);
  for (int i = 0; i < op->nresults; i++)
    map_put(map, op->results[i], map_value(&inner, f->body->yields[i]));
  return true;
}

static Func *source_of(Func *base) {
  enum { GROWTH = 8, ROOM = 4000 };
  Module *m = base->module;
  Func *f = func_new(m, arena_printf(m->arena, "%s_source", base->name), base->loc);
  ValueMap map = {.arena = m->arena};
  for (int i = 0; i < base->body->nparams; i++) {
    Value *p = base->body->params[i];
    map_put(&map, p, func_add_param(f, map_type(m, &map, p->type), p->name));
  }
  f->nsizes = base->nsizes;
  const bool has_body = !base->is_extern && !base->own_vjp && !base->own_jvp; /* that derivatives are made of */
  long budget = has_body ? GROWTH * region_op_count(base->body) + ROOM : 0;
  Builder b = build_into(f, f->body);
  b.hook = inline_large;
  b.hook_arg = &budget;
  if (has_body)
    build_copy_region(&b, base->body, &map);
  const Op *call = has_body ? NULL : build_call(&b, base, f->body->params);
  Type *types = NEW_ARRAY(m->arena, Type, base->nresults + 1);
  Value **results = NEW_ARRAY(m->arena, Value *, base->nresults + 1);
  for (int i = 0; i < base->nresults; i++) {
    results[i] = call ? call->results[i] : map_value(&map, base->body->yields[i]);
    types[i] = results[i]->type;
  }
  func_set_results(f, base->nresults, types, base->result_names);
  b.hook = NULL;
  build_return(&b, f->nresults, results);
  func_simplify(f);
  return f;
}

const Size *sparse_extent(const Sparse *s, const Size *extent) {
  return map_size(s->module, &s->primal, extent);
}

Type sparse_type(const Sparse *s, Type t) {
  return map_type(s->module, &s->primal, t);
}

/* ---- slices */
static Value *apply_linear(Slice *s, const Linear *linear, Value *v, Env *e) {
  Builder *b = &s->b;
  for (const Linear *l = linear; l && !s->failed; l = l->next) {
    const bool scales = l->op->code == OP_MUL || l->op->code == OP_DIV;
    Value *other = scales ? slice_value(s, l->op->operands[1 - l->operand], e) : NULL;
    if (s->failed)
      break;
    switch (l->op->code) {
    case OP_NEG: v = build_neg(b, v); break;
    case OP_CAST: v = build_cast(b, l->op->results[0]->type.kind, v); break;
    case OP_SUB: v = l->operand ? build_neg(b, v) : v; break;
    case OP_ADD: break;
    default: v = l->operand ? build_binary(b, l->op->code, other, v) : build_binary(b, l->op->code, v, other); break;
    }
  }
  return v;
}

/* Where the range of a sum depends on indices further out, blocks beyond its end are left out. */
static Value *range_condition(Slice *s, const Target *t, Value *const *lead) {
  Builder *b = &s->b;
  Value *cond = NULL;
  Env *e = s->root;
  for (int i = 0; i < t->loops.n; i++) {
    const Op *op = t->loops.at[i].op;
    Env *inner = slice_instance(s, op->regions[0], e);
    for (int k = 0; k < op->at.loop->nindices; k++, lead++) {
      const Size *extent = op->at.loop->extents[k];
      slice_bind(inner, op->regions[0]->params[k], *lead);
      if (size_is_of_params(extent, s->source))
        continue;
      Value *c = build_binary(b, OP_LT, *lead, build_size(b, slice_size(s, extent, e)));
      cond = cond ? build_binary(b, OP_AND, cond, c) : c;
    }
    e = inner;
  }
  return cond;
}

static Value *slice_term(Slice *s, const Target *t, Value *const *lead) {
  Env *e = s->root;
  for (int i = 0; i < t->loops.n; i++) {
    const Op *op = t->loops.at[i].op;
    const int carry = t->loops.at[i].carry;
    e = slice_instance(s, op->regions[0], e);
    for (int k = 0; k < op->at.loop->nindices; k++)
      slice_bind(e, op->regions[0]->params[k], *lead++);
    if (carry >= 0) /* this iteration's part alone */
      slice_bind(e, op->regions[0]->params[1 + carry], build_number(&s->b, op->results[carry]->type.kind, 0));
  }
  return apply_linear(s, t->linear, slice_value(s, t->value, e), e);
}

/* The block's value in a slice: an element of a result, or a term of a sum. */
static Value *slice_target(Slice *s, const Target *t, Value *const *lead) {
  if (!t->is_term)
    return slice_element(s, t->value, s->root, t->nlead, lead, 0, true);
  Value *cond = range_condition(s, t, lead);
  if (!cond)
    return slice_term(s, t, lead);
  Op *branch = slice_if(s, cond);
  Value *yes = slice_term(s, t, lead);
  slice_else(s, branch);
  return slice_endif(s, branch, yes, build_zeros(&s->b, yes->type));
}

static Value *start(const Sparse *s, Slice *slice, const Target *t, const Activity *activity, SliceMode mode) {
  Module *m = s->module;
  Func *f = func_new(m, arena_printf(m->arena, mode == SLICE_LOCAL ? "%s_block" : "%s_places", s->func->name), t->loc);
  slice_begin(slice, s->source, f, s->derive->wrt, activity, mode, t->nranges);
  Value *lead[MAX_RANK] = {NULL};
  for (int i = 0; i < t->nlead; i++)
    lead[i] = func_add_param(f, type_scalar(KIND_I64), NULL);
  return slice_target(slice, t, lead);
}

static void finish(const Slice *s, int n, Value *const *results) {
  Func *f = s->func;
  Type *types = NEW_ARRAY(f->module->arena, Type, n + 1);
  for (int i = 0; i < n; i++)
    types[i] = results[i]->type;
  func_set_results(f, n, types, NULL);
  Builder b = build_into(f, f->body);
  build_return(&b, n, results);
}

/* A function that nobody calls. */
void block_discard(Func *f) {
  f->body = region_new(f->module, f, NULL);
  f->nsizes = 0;
  func_set_results(f, 0, NULL, NULL);
}

/* Whether site k of the one slice is site k of the other.  They are made by the same steps, but what is seen of one at
   compile time, say of a range that is a size of it, may not be of the other. */
static bool slices_agree(const Block *block) {
  const int n = block->places.sites.n;
  bool agree = !block->places.failed && n == block->sites.sites.n && block->places.place->records.n == n &&
               block->places.ranges.n == block->sites.ranges.n;
  for (int i = 0; i < n && agree; i++) {
    const Site *a = block->sites.sites.at[i], *b = block->places.sites.at[i];
    agree = a->wrt == b->wrt && a->nidx == b->nidx && a->nloops == b->nloops && a->type.rank == b->type.rank &&
            a->is_conditional == b->is_conditional;
  }
  for (int i = 0; i < n && agree; i++) {
    const Record *r = &block->places.place->records.at[i];
    agree = r->value->type.rank == r->site->type.rank;
  }
  return agree;
}

bool block_make(const Sparse *s, const Target *t, const Activity *activity, Block *block) {
  *block = (Block){.target = t};
  Value *value = start(s, &block->sites, t, activity, SLICE_LOCAL);
  block->local = block->sites.func;
  if (block->sites.failed) {
    block_discard(block->local);
    return false;
  }
  finish(&block->sites, 1, &value);
  if (!block->sites.sites.n)
    return false;
  (void)start(s, &block->places, t, activity, SLICE_GATHER);
  block->gather = block->places.func;
  const Place *root = block->places.place;
  if (!slices_agree(block)) {
    block->sites.failed = true;
    block_discard(block->local);
    block_discard(block->gather);
    return false;
  }
  const int n = block->places.sites.n;
  Value **results = NEW_ARRAY(s->module->arena, Value *, 2 * n);
  for (int i = 0; i < n; i++)
    for (int k = 0; k < n; k++)
      if (root->records.at[k].site == block->places.sites.at[i]) {
        results[2 * i] = root->records.at[k].value;
        results[2 * i + 1] = root->records.at[k].column;
      }
  if (block->places.ranges.n)
    region_set_yields(s->module, block->gather->body, 2 * n, results); /* their types are of no function's results */
  else
    finish(&block->places, 2 * n, results);
  func_simplify(block->local);
  return true;
}

static void map_captured(const Sparse *s, const Slice *slice, ValueMap *map) {
  for (int i = 0; i < slice->captured.n; i++)
    map_put(map, slice->params.at[i], map_value(&s->primal, slice->captured.at[i]));
}

static void map_sizes(const Sparse *s, const Func *f, ValueMap *map) {
  for (int i = 0; i < s->source->nsizes; i++)
    map_put(map, f->body->params[i], s->func->body->params[i]);
}

const Size *gathered_range(Sparse *s, const Block *block, const Gathered *g, int k) {
  return map_size(s->module, &g->map, block->places.ranges.at[k].size);
}

Gathered block_gather(Sparse *s, const Block *block, Value *const *lead) {
  const Func *f = block->gather;
  const int n = block->places.sites.n;
  int at = f->nsizes;
  Gathered g = {.map = {.arena = s->module->arena},
                .values = NEW_ARRAY(s->module->arena, Value *, n),
                .columns = NEW_ARRAY(s->module->arena, Value *, n)};
  map_sizes(s, f, &g.map);
  for (int i = s->source->nsizes; i < f->nsizes; i++) /* of no use here */
    map_put(&g.map, f->body->params[i], build_int(&s->b, KIND_I64, 0));
  for (int i = 0; i < s->source->body->nparams; i++)
    if (s->derive->wrt[i])
      map_put(&g.map, f->body->params[at++], s->func->body->params[i]);
  for (int i = 0; i < block->target->nlead; i++)
    map_put(&g.map, f->body->params[at++], lead[i]);
  map_captured(s, &block->places, &g.map);
  build_copy_region(&s->b, f->body, &g.map);
  for (int i = 0; i < n; i++) {
    g.values[i] = map_value(&g.map, f->body->yields[2 * i]);
    g.columns[i] = map_value(&g.map, f->body->yields[2 * i + 1]);
  }
  return g;
}

Value **block_arguments(Sparse *s, const Block *block, Value *const *lead, const Gathered *g) {
  const Func *f = block->local;
  ValueMap map = {.arena = s->module->arena};
  map_sizes(s, f, &map);
  for (int i = 0; i < f->nsizes - s->source->nsizes; i++) {
    const bool used = i < block->places.ranges.n;
    const Size *range = used ? gathered_range(s, block, g, i) : size_const(s->module, 0);
    map_put(&map, f->body->params[s->source->nsizes + i], build_size(&s->b, range));
  }
  for (int i = 0; i < block->target->nlead; i++)
    map_put(&map, f->body->params[f->nsizes + i], lead[i]);
  map_captured(s, &block->sites, &map);
  for (int i = 0; i < block->sites.sites.n; i++)
    map_put(&map, block->sites.sites.at[i]->param, g->values[i]);
  Value **args = NEW_ARRAY(s->module->arena, Value *, f->body->nparams + 1);
  for (int i = 0; i < f->body->nparams; i++)
    args[i] = map_get(&map, f->body->params[i]);
  return args;
}

Op *block_call(Sparse *s, const Block *block, Func *derived, Value *const *lead, const Gathered *g) {
  return build_call(&s->b, derived, block_arguments(s, block, lead, g));
}

/* ---- the function */
/* After an error: something well formed, so that others are found too. */
static void nothing(Func *f) {
  Module *m = f->module;
  f->body->first = f->body->last = NULL;
  f->body->cse = NULL;
  Builder b = build_into(f, f->body);
  Value **results = NEW_ARRAY(m->arena, Value *, f->nresults + 1);
  for (int i = 0; i < f->nresults; i++) {
    const Size *none = size_const(m, 0);
    if (i % 3)
      f->result_types[i] = type_tensor(m, f->result_types[i].kind, 1, &none);
    results[i] = build_zeros(&b, f->result_types[i]);
  }
  build_return(&b, f->nresults, results);
}

/* An element that is written out of range belongs to no row, so that no block would ask for it: the copy of the primal
   tells. */
static bool require_in_range(Builder *b, const Op *op, ValueMap *map, void *arg) {
  (void)arg;
  if (op->code != OP_UPDATE && op->code != OP_ACC_ADD)
    return false;
  const Type t = op->operands[0]->type;
  for (int i = 0; i + 2 < op->noperands; i++) {
    if (!(op->at.checks >> i & 1))
      continue;
    Value *index = build_cast(b, KIND_I64, map_value(map, op->operands[2 + i]));
    Value *below = build_binary(b, OP_LT, index, build_size(b, map_size(b->module, map, t.dims[i])));
    Value *in = build_binary(b, OP_AND, build_binary(b, OP_LE, build_int(b, KIND_I64, 0), index), below);
    build_require(b, in, "index out of range in an assignment");
  }
  return false;
}

void sparse_make(Func *f) {
  Module *m = f->module;
  const int errors = m->diag->nerrors;
  Func *source = source_of(f->derive.base);
  Sparse s = {.func = f,
              .source = source,
              .derive = &f->derive,
              .module = m,
              .b = build_into(f, f->body),
              .primal = {.arena = m->arena}};
  s.b.loc = f->loc;
  for (int i = 0; i < source->body->nparams; i++)
    map_put(&s.primal, source->body->params[i], f->body->params[i]);
  s.b.hook = require_in_range;
  build_copy_region(&s.b, source->body, &s.primal);
  s.b.hook = NULL;
  Value **results = NEW_ARRAY(m->arena, Value *, f->nresults + 1);
  if (f->derive.op == DERIVE_JACOBIAN)
    sparse_jacobian(&s, results);
  else
    sparse_hessian(&s, results);
  if (m->diag->nerrors > errors) {
    nothing(f);
    return;
  }
  for (int i = 0; i < f->nresults; i++)
    f->result_types[i] = results[i]->type;
  build_return(&s.b, f->nresults, results);
}
