/* Reductions: sum[i, j < i if c: body] and its sisters. Each leaf of the body (a tuple has several) is reduced in one
   of four ways:
   - as an out of the loops: scalars that a loop can reduce: sums, products, counts, any, all, extrema of integers;
   - into an accumulator: sums of tensors;
   - from stored terms: what needs its terms twice (extrema share the derivative among ties; logsumexp) or reduces
     tensors, where the ranges are rectangular: one loop makes the terms, others reduce them;
   - in a state, in order: the same where ranges depend on earlier indices, so that terms have no rectangular place.
   The body is elaborated once in every case. Terms that cost no more than a few loads are computed again instead of
   stored. */
#include "frontend/elab_reduce.h"
#include <math.h>
#include <string.h>

const char *const reduction_name[] = {"sum",    "prod",   "max", "min", "mean", "logsumexp",
                                      "argmax", "argmin", "any", "all", "count"};

typedef enum Way { WAY_OUT, WAY_ACCUMULATOR, WAY_TERMS, WAY_STATE } Way;
typedef struct Leaf {
  Way way;
  const Form *term;
  int out;            /* WAY_OUT, WAY_TERMS: position among the outs; -1: terms that are computed again */
  Value *accumulator; /* WAY_ACCUMULATOR */
  Carrying carrying;  /* WAY_STATE */
  Form *terms;        /* WAY_TERMS, once they are there */
} Leaf;

typedef struct Reducing {
  Reduction r;
  Range at;
  Nest nest;
  int n;
  Leaf *leaves;
  int nouts;
  OutKind *outs;
  Value **values;    /* of the outs */
  Value **otherwise; /* where the filter does not hold */
  int ncarries;
  Value **current, **next; /* of the carries */
  int count_out, mask_out; /* -1: none */
} Reducing;

bool reduction_is(const char *name) {
  for (int i = 0; i <= REDUCE_COUNT; i++)
    if (strcmp(name, reduction_name[i]) == 0)
      return true;
  return false;
}

static Reduction reduction_find(const char *name) {
  int i = 0;
  while (strcmp(name, reduction_name[i]) != 0)
    i++;
  return (Reduction)i;
}

Value *reduction_identity(Elab *e, Reduction r, Kind k) {
  const bool least = r == REDUCE_MAX || r == REDUCE_ARGMAX;
  switch (r) {
  case REDUCE_SUM:
  case REDUCE_MEAN:
  case REDUCE_COUNT:
  case REDUCE_ANY: return build_number(&e->b, k, 0);
  case REDUCE_PROD:
  case REDUCE_ALL: return build_number(&e->b, k, 1);
  case REDUCE_LOGSUMEXP: return build_number(&e->b, k, -INFINITY);
  case REDUCE_MAX:
  case REDUCE_MIN:
  case REDUCE_ARGMAX:
  case REDUCE_ARGMIN: break;
  }
  if (kind_is_float(k))
    return build_float(&e->b, k, least ? -INFINITY : INFINITY);
  if (k == KIND_I32)
    return build_int(&e->b, k, least ? INT32_MIN : INT32_MAX);
  return build_int(&e->b, k, least ? INT64_MIN : INT64_MAX);
}

Value *reduction_identities(Elab *e, Reduction r, Type t) {
  Value *one = reduction_identity(e, r, t.kind);
  return t.rank ? build_full(&e->b, t, one) : one;
}

/* ---- terms */
/* The leaf as the kind that is reduced; NULL after an error. */
static const Form *term_of(Elab *e, Reduction r, Range at, const Form *leaf) {
  const char *name = reduction_name[r];
  const bool logical = r == REDUCE_ANY || r == REDUCE_ALL || r == REDUCE_COUNT;
  if (leaf->kind == FORM_POISON)
    return NULL;
  if (logical != (leaf->type.kind == KIND_BOOL)) {
    DiagMessage *m =
        elab_error(e, at, "'%s' takes %s, not %s", name, logical ? "bools" : "numbers", form_text(e, leaf));
    if (r == REDUCE_SUM)
      diag_mend(e->diag, m, "write count[..]");
    return NULL;
  }
  if (r == REDUCE_COUNT)
    return operator_cast(e, leaf->at, KIND_I64, leaf);
  if ((r == REDUCE_MEAN || r == REDUCE_LOGSUMEXP) && !kind_is_float(leaf->type.kind))
    return form_convert(e, leaf, KIND_F64, arena_printf(e->arena, "the body of '%s'", name));
  return leaf;
}

static bool way_is_sum(Reduction r) {
  return r == REDUCE_SUM || r == REDUCE_MEAN || r == REDUCE_COUNT;
}

static Way way_of(const Reducing *g, const Form *term) {
  const bool extremum = g->r == REDUCE_MAX || g->r == REDUCE_MIN;
  const bool twice = g->r == REDUCE_LOGSUMEXP || g->r == REDUCE_ARGMAX || g->r == REDUCE_ARGMIN ||
                     (extremum && kind_is_float(term->type.kind));
  if (!term->type.rank && !twice)
    return WAY_OUT;
  if (way_is_sum(g->r))
    return WAY_ACCUMULATOR;
  return g->nest.nloops == 1 ? WAY_TERMS : WAY_STATE;
}

static OutKind out_kind(Reduction r) {
  switch (r) {
  case REDUCE_PROD: return OUT_PROD;
  case REDUCE_MAX: return OUT_MAX;
  case REDUCE_MIN: return OUT_MIN;
  case REDUCE_ANY: return OUT_OR;
  case REDUCE_ALL: return OUT_AND;
  default: return OUT_SUM;
  }
}

static int add_out(Reducing *g, OutKind kind, Value *v) {
  g->outs[g->nouts] = kind;
  g->values[g->nouts] = v;
  return g->nouts++;
}

/* acc += term, element by element where it is not stored. */
static void accumulate(Elab *e, Value *acc, const Form *term) {
  if (term->value) {
    build_acc_add(&e->b, acc, term->value, 0, NULL, 0);
    return;
  }
  const LoopSpec spec = {.nindices = term->type.rank, .extents = term->type.dims};
  Op *loop = build_loop_begin(&e->b, &spec);
  Value *const *idx = loop->regions[0]->params;
  build_acc_add(&e->b, acc, form_element(e, term, idx), term->type.rank, idx, 0);
  build_loop_end(&e->b, loop, NULL, NULL);
}

static void add_accumulator(Elab *e, Reducing *g, Leaf *leaf) {
  Op *loop = nest_outermost(&g->nest);
  const Region *here = e->b.region;
  Builder around = g->nest.outside;
  Value *zeros = build_zeros(&around, leaf->term->type);
  op_settle_before(loop);
  leaf->accumulator = loop_add_acc(e->module, loop, zeros);
  if (here != e->b.region)
    internal_error("an accumulator moved the builder");
  accumulate(e, leaf->accumulator, leaf->term);
}

/* Operations that are as cheap as loading a stored term. */
static bool region_is_cheap(const Region *r) {
  int n = 0;
  for (const Op *op = r->first; op; op = op->next) {
    switch (op->code) {
    case OP_CONST:
    case OP_SIZE:
    case OP_INDEX:
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_NEG:
    case OP_ABS:
    case OP_CAST: break;
    default: return false;
    }
    if (n++ == 12)
      return false;
  }
  return true;
}

static void add_term(Elab *e, Reducing *g, Leaf *leaf) {
  const Form *term = leaf->term;
  switch (leaf->way) {
  case WAY_OUT: leaf->out = add_out(g, out_kind(g->r), term->value); break;
  case WAY_ACCUMULATOR: add_accumulator(e, g, leaf); break;
  case WAY_TERMS: {
    Value *v = form_store(e, term);
    const bool again = !g->nest.filter && !v->type.rank && region_is_cheap(nest_innermost(&g->nest)->regions[0]);
    leaf->term = form_of_value(e, term->at, v);
    leaf->out = again ? -1 : add_out(g, OUT_STACK, v);
    break;
  }
  case WAY_STATE:
    leaf->carrying = (Carrying){.r = g->r, .term = term->type, .nindices = g->nest.c->ranges.n, .at = g->ncarries};
    carry_term(e, &g->nest, &leaf->carrying, term, g->current + g->ncarries, g->next + g->ncarries);
    g->ncarries += leaf->carrying.nstate;
    break;
  }
}

/* The outs and the state where the filter does not hold. */
static void end_filter(Elab *e, Reducing *g) {
  const int n = g->ncarries + g->nouts;
  Value **all = NEW_ARRAY(e->arena, Value *, n), **otherwise = NEW_ARRAY(e->arena, Value *, n);
  for (int i = 0; i < n; i++)
    all[i] = i < g->ncarries ? g->next[i] : g->values[i - g->ncarries];
  nest_filter_else(e, &g->nest, n, all);
  for (int i = 0; g->nest.filter && i < n; i++) {
    const int out = i - g->ncarries;
    if (i < g->ncarries)
      otherwise[i] = g->current[i];
    else if (out == g->count_out || out == g->mask_out)
      otherwise[i] = build_int(&e->b, g->values[out]->type.kind, 0);
    else
      otherwise[i] = reduction_identities(e, g->r, g->values[out]->type);
  }
  nest_filter_end(e, &g->nest, n, otherwise, all);
  for (int i = 0; i < n; i++)
    *(i < g->ncarries ? &g->next[i] : &g->values[i - g->ncarries]) = all[i];
}

/* Stored terms make a tensor, whose sizes are not negative; a range may end before it starts. */
static void clamp_extents(Elab *e, Reducing *g) {
  Op *loop = nest_outermost(&g->nest);
  const Builder here = e->b;
  bool stacks = false;
  for (int i = 0; i < g->nouts; i++)
    stacks |= g->outs[i] == OUT_STACK;
  e->b = g->nest.outside;
  for (int i = 0; stacks && i < loop->at.loop->nindices; i++)
    loop_set_extent(loop, i, size_clamped(e, loop->at.loop->extents[i]));
  op_settle_before(loop);
  e->b = here;
}

/* ---- results */
typedef struct Again {
  const Op *loop;
  Value *term;
} Again;

/* The body of the loop once more, at other indices. */
static Value *term_again(Elab *e, const Form *t, Value *const *idx) {
  const Again *a = t->recipe;
  ValueMap map = {.arena = e->arena};
  for (int i = 0; i < a->loop->at.loop->nindices; i++)
    map_put(&map, loop_index(a->loop, i), idx[i]);
  build_copy_region(&e->b, a->loop->regions[0], &map);
  return map_value(&map, a->term);
}

static Form *stored_or_again(Elab *e, const Reducing *g, const Leaf *leaf) {
  if (leaf->out >= 0)
    return form_of_value(e, g->at, g->values[leaf->out]);
  Again *a = NEW(e->arena, Again);
  a->loop = nest_outermost(&g->nest);
  a->term = leaf->term->value;
  const LoopInfo *info = a->loop->at.loop;
  const Type t = type_tensor(e->module, a->term->type.kind, info->nindices, info->extents);
  return form_lazy(e, g->at, t, term_again, a, true);
}

static Form *mean_of(Elab *e, const Reducing *g, Form *sum) {
  Value *n = g->count_out >= 0 ? g->values[g->count_out] : build_size(&e->b, nest_count(e, &g->nest));
  const Form *count = form_of_value(e, g->at, build_cast(&e->b, sum->type.kind, n));
  return form_stored(e, operator_binary(e, g->at, BINARY_DIV, g->at, sum, count));
}

static Form *leaf_result(Elab *e, const Reducing *g, const Leaf *leaf, int nth_acc) {
  Form *f = NULL;
  switch (leaf->way) {
  case WAY_OUT: f = form_of_value(e, g->at, g->values[leaf->out]); break;
  case WAY_ACCUMULATOR: f = form_of_value(e, g->at, loop_acc_result(nest_outermost(&g->nest), nth_acc)); break;
  case WAY_STATE: return carry_result(e, g->at, &leaf->carrying, g->next + leaf->carrying.at);
  case WAY_TERMS: {
    const Form *terms = stored_or_again(e, g, leaf);
    const Form *mask = g->mask_out >= 0 ? form_of_value(e, g->at, g->values[g->mask_out]) : NULL;
    if (g->r == REDUCE_ARGMAX || g->r == REDUCE_ARGMIN)
      return argmax_of_terms(e, g->at, g->r, &g->nest, terms, mask);
    const unsigned axes = (1u << g->nest.c->ranges.n) - 1;
    return form_stored(e, builtin_reduce(e, g->at, reduction_name[g->r], terms, axes, false));
  }
  }
  return g->r == REDUCE_MEAN ? mean_of(e, g, f) : f;
}

/* The result has the structure of the body, but for argmax. */
static Form *results(Elab *e, const Reducing *g, const Form *body) {
  Value **values = NEW_ARRAY(e->arena, Value *, g->n);
  int accs = 0;
  for (int i = 0; i < g->n; i++) {
    Form *f = leaf_result(e, g, &g->leaves[i], accs);
    if (f->kind == FORM_POISON || f->kind == FORM_TUPLE || (f->kind == FORM_TENSOR && body->kind == FORM_TENSOR)) {
      f->adapts =
          f->kind == FORM_TENSOR && kind_is_float(f->type.kind) && (body->adapts || !kind_is_float(body->type.kind));
      return f;
    }
    values[i] = f->value;
    accs += g->leaves[i].way == WAY_ACCUMULATOR;
  }
  Value *const *next = values;
  Form *f = form_unflatten(e, body, &next);
  f->at = g->at;
  return f;
}

/* ---- the whole */
static bool begin_leaves(Elab *e, Reducing *g, const Form *body) {
  const Form **leaves;
  const Range at = g->nest.c->body->at;
  const bool arg = g->r == REDUCE_ARGMAX || g->r == REDUCE_ARGMIN;
  if (body->kind == FORM_POISON)
    return false;
  if (body->kind == FORM_STRUCT || body->kind == FORM_FUNCTION || (body->kind == FORM_TUPLE && arg)) {
    elab_error(e, at, "'%s' takes numbers%s, not %s", reduction_name[g->r], arg ? "" : ", tensors and tuples of them",
               form_text(e, body));
    return false;
  }
  form_flatten(e, body, &g->n, &leaves);
  g->leaves = NEW_ARRAY(e->arena, Leaf, g->n);
  for (int i = 0; i < g->n; i++) {
    g->leaves[i].term = term_of(e, g->r, at, leaves[i]);
    if (!g->leaves[i].term || g->leaves[i].term->kind == FORM_POISON)
      return false;
    g->leaves[i].way = way_of(g, g->leaves[i].term);
  }
  const int nouts = g->n + 2, ncarries = g->n * MAX_STATE;
  g->outs = NEW_ARRAY(e->arena, OutKind, nouts);
  g->values = NEW_ARRAY(e->arena, Value *, nouts);
  g->current = NEW_ARRAY(e->arena, Value *, ncarries);
  g->next = NEW_ARRAY(e->arena, Value *, ncarries);
  return true;
}

static void reduce(Elab *e, Reducing *g) {
  g->count_out = g->mask_out = -1;
  for (int i = 0; i < g->n; i++)
    add_term(e, g, &g->leaves[i]);
  const bool masked = g->nest.filter && (g->r == REDUCE_ARGMAX || g->r == REDUCE_ARGMIN) && g->nest.nloops == 1;
  if (g->r == REDUCE_MEAN && (g->nest.filter || g->nest.nloops > 1))
    g->count_out = add_out(g, OUT_SUM, build_int(&e->b, KIND_I64, 1));
  if (masked)
    g->mask_out = add_out(g, OUT_STACK, build_int(&e->b, KIND_BOOL, 1));
  end_filter(e, g);
  clamp_extents(e, g);
  nest_close(e, &g->nest, g->ncarries, g->next, g->nouts, g->outs, g->values);
}

Form *elab_reduction(Elab *e, const char *name, const Comprehension *c, Range at, const Kind *want) {
  Reducing g = {.r = reduction_find(name), .at = at};
  const Form *body = NULL;
  (void)want; /* the place that a reduction initialises is not the place of its terms */
  bool good = nest_open(e, &g.nest, c, way_is_sum(g.r) ? NEST_REDUCTION : NEST_ORDERED);
  if (good) {
    body = elab_expr(e, c->body, NULL);
    good = begin_leaves(e, &g, body) && nest_settle(e, &g.nest);
  }
  if (!good) {
    nest_abandon(e, &g.nest);
    return form_poison(e, at);
  }
  reduce(e, &g);
  return results(e, &g, body);
}
