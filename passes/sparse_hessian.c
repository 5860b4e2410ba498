/* Sparse Hessians: a scalar is a sum of terms, of which each reads few elements; a block is the dense Hessian of one.

   Terms are found from the result inwards, through what is linear: additions, products with constants, sums.  The
   inside of a sum over many is one term, unless it holds another such sum.  Entries of all blocks go through
   entries_compress(), which adds up those of one place. */
#include "passes/growth.h"
#include "passes/sparse.h"

enum { SMALL_SUM = 16, MAX_TERMS = 200 };

typedef VEC(Target *) Terms;
typedef struct Search {
  Sparse *s;
  const Activity *activity;
  Terms terms;
  bool failed;
} Search;

/* ---- sums */
typedef struct Uses {
  const Value *v;
  int n;
} Uses;
static void count_in_op(Op *op, void *arg) {
  Uses *u = arg;
  for (int i = 0; i < op->noperands; i++)
    u->n += op->operands[i] == u->v;
  for (int r = 0; r < op->nregions; r++)
    for (int i = 0; i < op->regions[r]->nyields; i++)
      u->n += op->regions[r]->yields[i] == u->v;
}

static int uses_in(const Region *r, const Value *v) {
  Uses u = {.v = v};
  region_walk((Region *)(uintptr_t)r, count_in_op, &u);
  for (int i = 0; i < r->nyields; i++)
    u.n += r->yields[i] == v;
  return u.n;
}

/* How many uses of `carry` make v, if v is `carry` plus what does not depend on it: each value on the way is used once.
   0: it is not. */
static int additions(const Region *body, const Value *v, const Value *carry) {
  if (v == carry)
    return 1;
  const Op *op = v->def;
  if (!op || v->type.rank || value_is_outside(v, body) || uses_in(body, v) != 1)
    return 0;
  int n = 0, other = 0;
  switch (op->code) {
  case OP_ADD: n = additions(body, op->operands[0], carry); return n ? n : additions(body, op->operands[1], carry);
  case OP_SUB: return additions(body, op->operands[0], carry);
  case OP_IF:
    n = additions(body, op->regions[0]->yields[v->index], carry);
    other = additions(body, op->regions[1]->yields[v->index], carry);
    return n && other ? n + other : 0;
  case OP_LOOP: {
    if (v->index >= op->at.loop->ncarries)
      return 0;
    const Region *inner = op->regions[0];
    const Value *inside = inner->params[op->at.loop->nindices + v->index];
    n = additions(inner, inner->yields[v->index], inside);
    return n && n == uses_in(inner, inside) ? additions(body, op->operands[v->index], carry) : 0;
  }
  default: return 0;
  }
}

static bool adds_up(const Op *op, int carry) {
  const Region *body = op->regions[0];
  const Value *in = body->params[op->at.loop->nindices + carry];
  const int n = additions(body, body->yields[carry], in);
  return n && n == uses_in(body, in);
}

/* The end of a range, where indices of sums further out are replaced by what makes it largest; NULL: there is none. */
static const Size *largest(const Search *f, const Target *t, const Size *extent) {
  Module *m = f->s->module;
  int lead = t->nlead;
  for (int i = t->loops.n - 1; i >= 0; i--) {
    const Op *op = t->loops.at[i].op;
    lead -= op->at.loop->nindices;
    for (int k = op->at.loop->nindices - 1; k >= 0; k--) {
      const Size *by, *rest;
      int64_t step;
      if (!size_linear_in(m, extent, op->regions[0]->params[k], &by, &rest) || !size_is_const(by, &step))
        return NULL;
      extent = rest;
      if (step > 0)
        extent = size_add(m, rest, size_scale(m, size_sub(m, t->extents[lead + k], size_const(m, 1)), step));
    }
  }
  return size_is_of_params(extent, f->s->source) ? extent : NULL;
}

/* v as a sum of many that can be taken apart: its loop, and which of its carries v is. */
static bool find_sum(const Search *f, const Target *t, const Value *v, SumLoop *sum) {
  Op *op = v->def;
  if (!op || op->code != OP_LOOP)
    return false;
  const LoopInfo *info = op->at.loop;
  const int out = v->index - info->ncarries - info->naccs;
  *sum = (SumLoop){.op = op, .carry = v->index < info->ncarries ? v->index : -1};
  if (sum->carry < 0 && (out < 0 || info->outs[out] != OUT_SUM || info->ncarries || info->naccs))
    return false;
  if (t->nlead + info->nindices > MAX_RANK || (sum->carry >= 0 && !adds_up(op, sum->carry)))
    return false;
  bool is_short = true;
  for (int i = 0; i < info->nindices; i++) {
    int64_t n;
    is_short = is_short && size_is_const(info->extents[i], &n) && n <= SMALL_SUM;
    if (t && !largest(f, t, info->extents[i]))
      return false;
  }
  return !is_short;
}

/* ---- terms */
/* The operands that the result is linear in, as a bit each, if all that derivatives flow through are. */
static int linear_operands(const Search *f, const Op *op) {
  bool active[2] = {false, false};
  for (int i = 0; i < op->noperands && i < 2; i++)
    active[i] = value_is_active(f->activity, op->operands[i]);
  switch (op->code) {
  case OP_NEG:
  case OP_CAST: return 1;
  case OP_ADD:
  case OP_SUB: return active[0] | active[1] << 1;
  case OP_MUL: return active[0] && active[1] ? 0 : active[0] | active[1] << 1;
  case OP_DIV: return active[1] ? 0 : 1;
  default: return 0;
  }
}

/* Whether a sum of many is reached from v through what is linear. */
static bool holds_sum(const Search *f, const Target *t, const Value *v, int *budget) {
  SumLoop sum;
  if (!value_is_active(f->activity, v) || !v->def || --*budget < 0)
    return false;
  if (find_sum(f, t, v, &sum))
    return true;
  const int operands = linear_operands(f, v->def);
  for (int i = 0; i < 2; i++)
    if (operands >> i & 1 && holds_sum(f, t, v->def->operands[i], budget))
      return true;
  return false;
}

static Target *new_target(const Search *f, const Target *around, Value *v) {
  Target *t = NEW(f->s->module->arena, Target);
  *t = *around;
  t->value = v;
  t->is_term = true;
  t->loc = v->def ? v->def->loc : t->loc;
  t->loops.at = NEW_ARRAY(f->s->module->arena, SumLoop, around->loops.n + 1);
  t->loops.cap = around->loops.n + 1;
  for (int i = 0; i < around->loops.n; i++)
    t->loops.at[i] = around->loops.at[i];
  return t;
}

static void find_terms(Search *f, const Target *around, Value *v);

static void terms_of_sum(Search *f, const Target *around, Value *v, SumLoop sum) {
  const LoopInfo *info = sum.op->at.loop;
  const Region *body = sum.op->regions[0];
  Target *t = new_target(f, around, v);
  for (int i = 0; i < info->nindices; i++)
    t->extents[t->nlead + i] = largest(f, around, info->extents[i]);
  t->nlead += info->nindices;
  t->loops.at[t->loops.n++] = sum;
  find_terms(f, t, body->yields[sum.carry >= 0 ? sum.carry : info->ncarries + v->index - info->ncarries - info->naccs]);
  if (sum.carry >= 0)
    find_terms(f, around, sum.op->operands[sum.carry]);
}

/* Elements of the arguments, times and plus what is constant: of no second derivative. */
static bool is_linear(const Search *f, const Value *v, int *budget) {
  if (!value_is_active(f->activity, v))
    return true;
  const Value *x = v->def && v->def->code == OP_INDEX ? v->def->operands[0] : v;
  if (!x->def)
    return x->region == f->s->source->body;
  const int operands = linear_operands(f, v->def);
  bool all = operands && --*budget > 0;
  for (int i = 0; i < 2; i++)
    all = all && (!(operands >> i & 1) || is_linear(f, v->def->operands[i], budget));
  return all;
}

/* Whether a sum or difference has a side without second derivatives, which the term can do without. */
static bool has_linear_side(const Search *f, const Op *op) {
  int budget = 100;
  return (op->code == OP_ADD || op->code == OP_SUB) &&
         (is_linear(f, op->operands[0], &budget) || is_linear(f, op->operands[1], &budget));
}

static void find_terms(Search *f, const Target *around, Value *v) {
  SumLoop sum;
  int budget = 200;
  if (f->failed || is_linear(f, v, &budget))
    return;
  if (find_sum(f, around, v, &sum)) {
    terms_of_sum(f, around, v, sum);
    return;
  }
  const int operands = v->def ? linear_operands(f, v->def) : 0;
  if (operands && (has_linear_side(f, v->def) || holds_sum(f, around, v, &budget))) {
    for (int i = 0; i < 2; i++)
      if (operands >> i & 1) {
        Target *t = new_target(f, around, v);
        Linear *l = NEW(f->s->module->arena, Linear);
        *l = (Linear){.next = around->linear, .op = v->def, .operand = i};
        t->linear = l;
        find_terms(f, t, v->def->operands[i]);
      }
    return;
  }
  if (f->terms.n == MAX_TERMS) {
    f->failed = true;
    return;
  }
  vec_push(f->s->module->arena, f->terms, new_target(f, around, v));
}

/* ---- entries */
typedef struct Pair { /* a matrix: second derivatives by two of wrt */
  int row, column;    /* parameters */
  const Size *count;  /* entries so far */
  Entries entries;
} Pair;

const Size *size_at_most(Module *m, const Size *extent) {
  if (size_nonnegative(m, extent))
    return extent;
  const Size *sum = size_const(m, 0);
  for (int i = 0; i < extent->nterms; i++) {
    if (extent->terms[i].coefficient < 0)
      continue;
    const Size *product = size_const(m, extent->terms[i].coefficient);
    for (int k = 0; k < extent->terms[i].npowers; k++)
      for (int e = 0; e < extent->terms[i].powers[k].exponent; e++) {
        const Atom *a = extent->terms[i].powers[k].atom;
        const Size *factor = a->value ? size_atom(m, a->value) : size_atom_of(m, a, a->num, a->den);
        product = size_mul(m, product, factor);
      }
    sum = size_add(m, sum, product);
  }
  return sum;
}

static const Size *site_count(const Sparse *s, const Block *block, int k) {
  ValueMap map = {.arena = s->module->arena};
  for (int i = 0; i < s->source->nsizes; i++)
    map_put(&map, block->gather->body->params[i], s->func->body->params[i]);
  return map_size(s->module, &map, type_count(s->module, block->places.sites.at[k]->type));
}

/* Entries of one block for a pair, and of all blocks. */
static const Size *block_room(const Sparse *s, const Block *block, const Pair *p) {
  Module *m = s->module;
  const Size *rows = size_const(m, 0), *columns = rows;
  for (int k = 0; k < block->places.sites.n; k++) {
    if (block->places.sites.at[k]->wrt == p->row)
      rows = size_add(m, rows, site_count(s, block, k));
    if (block->places.sites.at[k]->wrt == p->column)
      columns = size_add(m, columns, site_count(s, block, k));
  }
  return size_mul(m, rows, columns);
}

static const Size *target_count(const Sparse *s, const Target *t) {
  const Size *count = size_const(s->module, 1);
  for (int i = 0; i < t->nlead; i++)
    count = size_mul(s->module, count, size_at_most(s->module, sparse_extent(s, t->extents[i])));
  return count;
}

/* What a block's second derivatives are by: its sites, or, where these are many, one vector for each of wrt with all
   that its sites read, so that code grows with their number and not with its square. */
typedef struct Variable {
  int wrt;
  Type type;      /* over the block function's sizes */
  Value *columns; /* where it was read from, with the first `nloops` axes of the type; below 0: nowhere */
  int nloops;
  bool is_conditional;
} Variable;
typedef struct Variables {
  int n;
  Variable *at;
  Func *hessian;
} Variables;

/* The place that an element of a variable was read from; below 0: it was not read. */
static Value *place_of(Builder *b, const Variable *v, Type t, Value *const *idx) {
  Value *first = build_index(b, v->columns, v->nloops, idx, 0);
  Value *there = build_add(b, first, flat_index(b, t.rank - v->nloops, idx + v->nloops, t.dims + v->nloops));
  return v->is_conditional ? build_select(b, build_binary(b, OP_LT, first, build_int(b, KIND_I64, 0)), first, there)
                           : there;
}

/* The entries of two variables, the first of which has number `first` in the matrix. */
static void put_pair(Sparse *s, const Pair *p, const Variable *rows, const Variable *columns, Value *h, Value *first) {
  Builder *b = &s->b;
  const Type t = h->type, tr = {.rank = rows->type.rank, .dims = t.dims};
  const Type tc = {.rank = columns->type.rank, .dims = t.dims + tr.rank};
  const LoopSpec spec = {.nindices = t.rank, .extents = t.dims};
  Op *loop = t.rank ? build_loop_begin(b, &spec) : NULL;
  Value *const *idx = loop ? loop->regions[0]->params : NULL;
  Value *none = build_int(b, KIND_I64, -1), *zero = build_int(b, KIND_I64, 0);
  Value *row = place_of(b, rows, tr, idx), *column = place_of(b, columns, tc, idx + tr.rank);
  if (rows->is_conditional) {
    Value *absent = build_binary(b, OP_LT, row, zero);
    column = build_select(b, absent, none, column);
    row = build_select(b, absent, zero, row);
  }
  Value *at = build_add(b, first, flat_index(b, t.rank, idx, t.dims));
  entries_put(b, &p->entries, at, row, column, build_index(b, h, t.rank, idx, 0));
  if (loop)
    build_loop_end(b, loop, NULL, NULL);
}

static void put_block(Sparse *s, const Block *block, const Pair *p, const Variables *vs, const Op *call, Value *group) {
  Builder *b = &s->b;
  Module *m = s->module;
  Value *first = build_mul(b, group, build_size(b, block_room(s, block, p)));
  first = build_add(b, first, build_size(b, p->count));
  for (int i = 0; i < vs->n; i++)
    for (int k = 0; k < vs->n; k++) {
      if (vs->at[i].wrt != p->row || vs->at[k].wrt != p->column)
        continue;
      Value *h = call->results[i * vs->n + k];
      put_pair(s, p, &vs->at[i], &vs->at[k], h, first);
      first = build_add(b, first, build_size(b, type_count(m, h->type)));
    }
}

/* ---- variables */
static Variables each_site(const Sparse *s, const Block *block, const Gathered *g) {
  Module *m = s->module;
  const int n = block->sites.sites.n;
  bool *wrt = NEW_ARRAY(m->arena, bool, block->local->body->nparams);
  Variables vs = {.n = n, .at = NEW_ARRAY(m->arena, Variable, n)};
  for (int i = 0; i < n; i++) {
    const Site *site = block->places.sites.at[i];
    wrt[block->sites.sites.at[i]->param->index] = true;
    vs.at[i] = (Variable){.wrt = site->wrt,
                          .type = site->type,
                          .columns = g->columns[i],
                          .nloops = site->nloops,
                          .is_conditional = site->is_conditional};
  }
  vs.hessian = func_derive(m, DERIVE_HESSIAN, block->local, wrt, s->derive->mode, block->target->loc);
  return vs;
}

/* In a function of vectors: what a site reads, from the place `first` of its vector on. */
static Value *unpacked(Builder *b, Value *vector, const Size *first, Type t) {
  const OutKind stack = OUT_STACK;
  const LoopSpec spec = {.nindices = t.rank, .extents = t.dims, .nouts = 1, .outs = &stack};
  Op *loop = t.rank ? build_loop_begin(b, &spec) : NULL;
  Value *at = build_add(b, build_size(b, first), flat_index(b, t.rank, loop ? loop->regions[0]->params : NULL, t.dims));
  Value *element = build_index(b, vector, 1, &at, 0);
  if (!loop)
    return element;
  build_loop_end(b, loop, NULL, &element);
  return loop_out(loop, 0);
}

/* The block function of vectors: parameters other than sites stay, then one vector for each variable. */
static Func *packed_block(const Sparse *s, const Block *block, const Variables *vs) {
  Module *m = s->module;
  const Func *local = block->local;
  const int n = local->body->nparams;
  Func *f = func_new(m, arena_printf(m->arena, "%s_packed", local->name), local->loc);
  ValueMap map = {.arena = m->arena};
  bool *is_site = NEW_ARRAY(m->arena, bool, n);
  for (int i = 0; i < block->sites.sites.n; i++)
    is_site[block->sites.sites.at[i]->param->index] = true;
  for (int i = 0; i < n; i++) {
    Value *p = local->body->params[i];
    if (!is_site[i])
      map_put(&map, p, func_add_param(f, map_type(m, &map, p->type), p->name));
  }
  f->nsizes = local->nsizes;
  Builder b = build_into(f, f->body);
  b.loc = f->loc;
  for (int v = 0; v < vs->n; v++) {
    const Size *first = size_const(m, 0);
    Value *vector = func_add_param(f, map_type(m, &map, vs->at[v].type), NULL);
    for (int i = 0; i < block->sites.sites.n; i++) {
      const Site *site = block->sites.sites.at[i];
      if (site->wrt != vs->at[v].wrt)
        continue;
      const Type t = map_type(m, &map, site->type);
      map_put(&map, site->param, unpacked(&b, vector, first, t));
      first = size_add(m, first, type_count(m, t));
    }
  }
  build_copy_region(&b, local->body, &map);
  Value *result = map_value(&map, local->body->yields[0]);
  const Type type = result->type;
  func_set_results(f, 1, &type, NULL);
  build_return(&b, 1, &result);
  func_simplify(f);
  return f;
}

/* Adds what a site reads, or where from, to its vector. */
static void pack_site(Sparse *s, const Site *site, Type t, const Gathered *g, int k, Value *vector, Value *columns,
                      const Size *first) {
  Builder *b = &s->b;
  const Variable v = {.columns = g->columns[k], .nloops = site->nloops, .is_conditional = site->is_conditional};
  const LoopSpec spec = {.nindices = t.rank, .extents = t.dims};
  Op *loop = t.rank ? build_loop_begin(b, &spec) : NULL;
  Value *const *idx = loop ? loop->regions[0]->params : NULL;
  Value *at = build_add(b, build_size(b, first), flat_index(b, t.rank, idx, t.dims));
  build_acc_add(b, vector, build_index(b, g->values[k], t.rank, idx, 0), 1, &at, 0);
  build_acc_add(b, columns, place_of(b, &v, t, idx), 1, &at, 0);
  if (loop)
    build_loop_end(b, loop, NULL, NULL);
}

/* One variable for each of wrt that is read: its sites, one after the other. */
static Variables packed_sites(Sparse *s, const Block *block, const Gathered *g, Value **vectors) {
  Module *m = s->module;
  Builder *b = &s->b;
  const int n = block->places.sites.n;
  Variables vs = {.at = NEW_ARRAY(m->arena, Variable, s->derive->norder)};
  for (int w = 0; w < s->source->body->nparams; w++) {
    const Size *count = size_const(m, 0), *first = count;
    const Kind kind = s->source->body->params[w]->type.kind;
    Variable v = {.wrt = w, .nloops = 1};
    for (int k = 0; k < n; k++)
      if (block->places.sites.at[k]->wrt == w) {
        count = size_add(m, count, type_count(m, block->sites.sites.at[k]->type));
        v.is_conditional |= block->places.sites.at[k]->is_conditional;
      }
    if (size_is(count, 0))
      continue;
    v.type = type_tensor(m, kind, 1, &count);
    const Size *here = size_const(m, 0);
    for (int k = 0; k < n; k++)
      if (block->places.sites.at[k]->wrt == w)
        here = size_add(m, here, site_count(s, block, k));
    const Type t = type_tensor(m, kind, 1, &here);
    Value *inits[] = {build_zeros(b, t), build_zeros(b, type_with_kind(t, KIND_I64))};
    const LoopSpec spec = {.naccs = 2, .acc_inits = inits};
    Op *loop = build_loop_begin(b, &spec);
    for (int k = 0; k < n; k++) {
      const Site *site = block->places.sites.at[k];
      if (site->wrt != w)
        continue;
      pack_site(s, site, g->values[k]->type, g, k, loop_acc(loop, 0), loop_acc(loop, 1), first);
      first = size_add(m, first, site_count(s, block, k));
    }
    build_loop_end(b, loop, NULL, NULL);
    vectors[vs.n] = loop_acc_result(loop, 0);
    v.columns = loop_acc_result(loop, 1);
    vs.at[vs.n++] = v;
  }
  const Func *packed = packed_block(s, block, &vs);
  bool *wrt = NEW_ARRAY(m->arena, bool, packed->body->nparams);
  for (int i = 0; i < vs.n; i++)
    wrt[packed->body->nparams - vs.n + i] = true;
  vs.hessian = func_derive(m, DERIVE_HESSIAN, (Func *)(uintptr_t)packed, wrt, s->derive->mode, block->target->loc);
  return vs;
}

static Op *call_packed(Sparse *s, const Block *block, const Variables *vs, Value *const *lead, const Gathered *g,
                       Value *const *vectors) {
  Module *m = s->module;
  const Func *local = block->local;
  Value **all = block_arguments(s, block, lead, g), **args = NEW_ARRAY(m->arena, Value *, local->body->nparams + vs->n);
  bool *is_site = NEW_ARRAY(m->arena, bool, local->body->nparams);
  int n = 0;
  for (int i = 0; i < block->sites.sites.n; i++)
    is_site[block->sites.sites.at[i]->param->index] = true;
  for (int i = 0; i < local->body->nparams; i++)
    if (!is_site[i])
      args[n++] = all[i];
  for (int i = 0; i < vs->n; i++)
    args[n++] = vectors[i];
  return build_call(&s->b, vs->hessian, args);
}

/* The loop over the blocks of one term, which adds to all matrices. */
static void put_term(Sparse *s, const Block *block, int npairs, Pair *pairs) {
  enum { MANY_SITES = 8 };
  Module *m = s->module;
  Builder *b = &s->b;
  const Target *t = block->target;
  const Size *extents[MAX_RANK];
  Value **accs = NEW_ARRAY(m->arena, Value *, 3 * npairs), **vectors = NEW_ARRAY(m->arena, Value *, s->derive->norder);
  for (int i = 0; i < t->nlead; i++)
    extents[i] = sparse_extent(s, t->extents[i]);
  for (int i = 0; i < npairs; i++)
    (void)entries_accs(&pairs[i].entries, accs + 3 * i);
  const LoopSpec spec = {.nindices = t->nlead, .extents = extents, .naccs = 3 * npairs, .acc_inits = accs};
  Op *loop = build_loop_begin(b, &spec);
  Value *const *lead = loop->regions[0]->params;
  const Gathered g = block_gather(s, block, lead);
  const bool many = block->sites.sites.n > MANY_SITES;
  const Variables vs = many ? packed_sites(s, block, &g, vectors) : each_site(s, block, &g);
  const Op *call = many ? call_packed(s, block, &vs, lead, &g, vectors) : block_call(s, block, vs.hessian, lead, &g);
  Value *group = flat_index(b, t->nlead, lead, extents);
  for (int i = 0; i < npairs; i++) {
    (void)entries_take(&pairs[i].entries, lead + t->nlead + 3 * i);
    put_block(s, block, &pairs[i], &vs, call, group);
  }
  build_loop_end(b, loop, NULL, NULL);
  for (int i = 0; i < npairs; i++) {
    (void)entries_take(&pairs[i].entries, loop->results + 3 * i);
    pairs[i].count = size_add(m, pairs[i].count, size_mul(m, target_count(s, t), block_room(s, block, &pairs[i])));
  }
}

static void hessian_by_colours(Sparse *s, int nterms, const Block *blocks, const bool *made, Value **results) {
  const Derive *d = s->derive;
  for (int i = 0; i < nterms; i++)
    if (made[i]) {
      block_discard(blocks[i].local);
      block_discard(blocks[i].gather);
    }
  for (int i = 0; i < d->norder * d->norder; i++)
    coloured_hessian(s, d->order[i / d->norder], d->order[i % d->norder], results + 3 * i);
}

bool slices_are_wider(Module *m, const Size *sliced, const Size *coloured) {
  return size_growth(m, sliced).degree > size_growth(m, coloured).degree;
}

/* The room of each pair; false: a term cannot be sliced, or bands are narrower. */
static bool make_blocks(Sparse *s, const Search *f, Block *blocks, bool *made, const Size **counts) {
  Module *m = s->module;
  const Derive *d = s->derive;
  if (f->failed)
    return false;
  for (int i = 0; i < f->terms.n; i++) {
    made[i] = block_make(s, f->terms.at[i], f->activity, &blocks[i]);
    if (blocks[i].sites.failed)
      return false;
  }
  for (int i = 0; i < d->norder * d->norder; i++) {
    const Pair p = {.row = d->order[i / d->norder], .column = d->order[i % d->norder]};
    counts[i] = size_const(m, 0);
    for (int k = 0; k < f->terms.n; k++)
      if (made[k])
        counts[i] = size_add(m, counts[i], size_mul(m, target_count(s, f->terms.at[k]), block_room(s, &blocks[k], &p)));
    if (slices_are_wider(m, counts[i], coloured_hessian_entries(s, p.row, p.column)))
      return false;
  }
  return true;
}

void sparse_hessian(Sparse *s, Value **results) {
  Module *m = s->module;
  const Derive *d = s->derive;
  bool *counted = NEW_ARRAY(m->arena, bool, s->source->nresults);
  counted[0] = true;
  const Activity activity = activity_of(s->source, d->wrt, counted);
  Search f = {.s = s, .activity = &activity};
  const Target all = {.loc = s->func->loc};
  find_terms(&f, &all, s->source->body->yields[0]);
  const int npairs = d->norder * d->norder, nterms = f.terms.n;
  Pair *pairs = NEW_ARRAY(m->arena, Pair, npairs);
  Block *blocks = NEW_ARRAY(m->arena, Block, nterms + 1);
  bool *made = NEW_ARRAY(m->arena, bool, nterms + 1);
  const Size **counts = NEW_ARRAY(m->arena, const Size *, npairs);
  if (!make_blocks(s, &f, blocks, made, counts)) {
    hessian_by_colours(s, nterms, blocks, made, results);
    return;
  }
  for (int i = 0; i < npairs; i++) {
    Pair *p = &pairs[i];
    *p = (Pair){.row = d->order[i / d->norder], .column = d->order[i % d->norder], .count = size_const(m, 0)};
    p->entries = entries_new(s, counts[i], NULL, s->source->body->params[p->column]->type.kind);
  }
  for (int k = 0; k < nterms; k++)
    if (made[k])
      put_term(s, &blocks[k], npairs, pairs);
  for (int i = 0; i < npairs; i++) {
    const Type row = s->func->body->params[pairs[i].row]->type, column = s->func->body->params[pairs[i].column]->type;
    entries_compress(s, &pairs[i].entries, type_count(m, row), type_count(m, column), results + 3 * i);
  }
}
