/* Reach of operations, in the order of the program; see reach.h. */
#include "ir/raw.h"
#include "passes/reach.h"

/* ---- values */
void reach_set(Analysis *a, const Value *v, Reach *r) {
  *table_at(&a->reach, v) = (uintptr_t)r;
}

static bool is_argument(const Analysis *a, const Value *v) {
  return !v->def && v->region == a->source->body && a->wrt[v->index];
}

static bool is_carry(const Value *v) {
  const Op *op = v->def ? NULL : v->region->owner;
  return op && !v->is_acc && (op->code == OP_WHILE || (op->code == OP_LOOP && v->index >= op->at.loop->nindices));
}

Reach *reach_read(Analysis *a, Value *v) {
  const bool counts = is_argument(a, v) || (is_carry(v) && kind_is_float(v->type.kind));
  if (!counts)
    return v->def ? (Reach *)(uintptr_t)table_get(&a->reach, v) : NULL;
  Reach *r = NEW(a->module->arena, Reach);
  *r = (Reach){.source = v, .spans = NEW_ARRAY(a->module->arena, Span, v->type.rank + 2)};
  for (int k = 0; k < v->type.rank; k++) {
    const Size *place = size_atom(a->module, reach_place(a, v->type, k));
    r->spans[k] = (Span){.lo = place, .hi = place};
  }
  const Op *loop = v->region->owner;
  if (loop && loop->code == OP_LOOP) { /* in this iteration */
    const Size *now = size_atom(a->module, loop_index(loop, 0));
    r->spans[v->type.rank] = (Span){.lo = now, .hi = now};
  }
  return r;
}

/* All elements of a value. */
static Reach *read_all(Analysis *a, Value *v, const ReachCause *cause) {
  Span *at = NEW_ARRAY(a->module->arena, Span, v->type.rank + 1);
  for (int k = 0; k < v->type.rank; k++)
    at[k] = reach_all(cause);
  return reach_through(a, reach_read(a, v), at, v->type);
}

/* ---- second derivatives */
static bool op_bends(const Analysis *a, const Op *op) {
  int active = 0;
  for (int i = 0; i < op->noperands; i++)
    active += value_is_active(a->activity, op->operands[i]);
  switch (op->code) {
  case OP_NEG:
  case OP_ABS:
  case OP_SIGN:
  case OP_FLOOR:
  case OP_CEIL:
  case OP_ROUND:
  case OP_TRUNC:
  case OP_CAST:
  case OP_ADD:
  case OP_SUB:
  case OP_MIN:
  case OP_MAX:
  case OP_SELECT:
  case OP_ATTACH: return false;
  case OP_MUL:
  case OP_MULZ: return active > 1;
  case OP_DIV:
  case OP_DIVZ: return value_is_active(a->activity, op->operands[1]);
  default: return op_info[op->code].group == GROUP_ELEM || op->code == OP_CALL;
  }
}

static void add_site(Analysis *a, Reach *r) {
  const ReachSite site = {.reach = r};
  if (a->wants_sites && r)
    vec_push(a->module->arena, a->sites, site);
}

/* ---- operations */
static Reach *reach_elementwise(Analysis *a, const Op *op) {
  Reach *r = NULL;
  if (op->code == OP_ATTACH)
    return reach_read(a, op->operands[1]);
  if (op->code == OP_SELECT) {
    Limits yes = {0}, no = {0};
    limits_of_condition(a, op->operands[0], true, &yes);
    limits_of_condition(a, op->operands[0], false, &no);
    return reach_either(a, reach_read(a, op->operands[1]), &yes, reach_read(a, op->operands[2]), &no);
  }
  for (int i = 0; i < op->noperands; i++)
    r = reach_union(a, r, reach_read(a, op->operands[i]));
  return r;
}

static Reach *reach_element(Analysis *a, const Op *op) {
  Value *x = op->operands[0];
  const Type t = op->results[0]->type;
  const int n = op->noperands - 1;
  Span *at = NEW_ARRAY(a->module->arena, Span, x->type.rank + 1);
  for (int k = 0; k < x->type.rank; k++) {
    const Size *place = k < n ? NULL : size_atom(a->module, reach_place(a, t, k - n));
    at[k] = k < n ? reach_index(a, op->operands[1 + k], x->type.dims[k]) : (Span){.lo = place, .hi = place};
  }
  return reach_through(a, reach_read(a, x), at, x->type);
}

/* ---- elements replaced */
typedef struct Deepest {
  Value *index;
  int depth;
} Deepest;
static void find_deepest(Value *v, void *arg) {
  Deepest *d = arg;
  int depth = 0;
  if (!value_is_symbol(v) || !v->region->owner)
    return;
  for (const Region *r = v->region; r->owner; r = r->owner->parent)
    depth++;
  if (depth > d->depth)
    *d = (Deepest){v, depth};
}

/* In what is written at place `at` = e: an index of e is what the place says it is.  False: it says nothing; then it
   may limit the place itself. */
static bool solve(Analysis *a, Reach **r, Value *place, const Size *e, Limits *limits) {
  Module *m = a->module;
  Deepest d = {0};
  const Size *slope, *rest;
  int64_t by;
  size_values(e, find_deepest, &d);
  if (d.index && size_linear_in(m, e, d.index, &slope, &rest) && size_is_const(slope, &by) && (by == 1 || by == -1)) {
    const Size *is = size_scale(m, size_sub(m, size_atom(m, place), rest), by);
    *r = reach_replace(a, *r, d.index, is, is);
    return true;
  }
  if (bound_is_of_params(a, e) && limits->n < MAX_LIMITS) {
    limits->of[limits->n].index = place;
    limits->of[limits->n].lo = limits->of[limits->n].hi = e;
    limits->n++;
  }
  return false;
}

/* What v, written into a tensor of type t at indices, reaches, over the tensor's places. */
static Reach *reach_written(Analysis *a, const Op *op, Type t, Limits *limits) {
  Value *v = op->operands[1];
  const int n = op->noperands - 2;
  Reach *r = reach_renamed(a, reach_read(a, v), v->type, 0, t, n);
  for (int k = 0; k < n; k++)
    solve(a, &r, reach_place(a, t, k), size_of_value(a->module, op->operands[2 + k]), limits);
  return r;
}

static Reach *reach_update(Analysis *a, const Op *op) {
  Limits limits = {0};
  Reach *written = reach_written(a, op, op->operands[0]->type, &limits);
  return reach_either(a, reach_read(a, op->operands[0]), NULL, written, &limits);
}

/* ---- shapes */
/* The places of axes [from, to) of a type as one number. */
static const Size *flat_place(Analysis *a, Type t, int from, int to) {
  const Size *s = size_const(a->module, 0);
  for (int k = from; k < to; k++)
    s = size_add(a->module, size_mul(a->module, s, t.dims[k]), size_atom(a->module, reach_place(a, t, k)));
  return s;
}

static const Size *count_of(Module *m, Type t, int from, int to) {
  const Size *n = size_const(m, 1);
  for (int k = from; k < to; k++)
    n = size_mul(m, n, t.dims[k]);
  return n;
}

/* Axis by axis, or several of the result that were one. */
static Reach *reach_reshape(Analysis *a, const Op *op) {
  Module *m = a->module;
  Value *x = op->operands[0];
  const Type from = x->type, to = op->results[0]->type;
  Span *at = NEW_ARRAY(m->arena, Span, from.rank + 1);
  int j = 0, k = 0;
  for (int i = 0; i < from.rank; i++)
    at[i] = reach_all(NULL);
  while (k < from.rank) {
    int kk = k + 1, jj = j;
    while (jj < to.rank && (jj == j || count_of(m, to, j, jj) != from.dims[k]))
      jj++;
    if (jj == j || count_of(m, to, j, jj) != from.dims[k]) {
      if (size_is(from.dims[k], 1) || j == to.rank) {
        at[k++] = (Span){.lo = size_const(m, 0), .hi = size_const(m, 0)};
        continue;
      }
      jj = j + 1;
      while (kk < from.rank && count_of(m, from, k, kk) != to.dims[j])
        kk++;
      if (count_of(m, from, k, kk) != to.dims[j])
        break;
    } else {
      const Size *place = flat_place(a, to, j, jj);
      at[k] = (Span){.lo = place, .hi = place};
    }
    k = kk;
    j = jj;
  }
  return reach_through(a, reach_read(a, x), at, from);
}

/* ---- flow */
static void reach_if(Analysis *a, const Op *op) {
  Limits yes = {0}, no = {0};
  reach_region(a, op->regions[0]);
  reach_region(a, op->regions[1]);
  limits_of_condition(a, op->operands[0], true, &yes);
  limits_of_condition(a, op->operands[0], false, &no);
  for (int i = 0; i < op->nresults; i++)
    if (value_is_active(a->activity, op->results[i]))
      reach_set(a, op->results[i],
                reach_either(a, reach_read(a, op->regions[0]->yields[i]), &yes,
                             reach_read(a, op->regions[1]->yields[i]), &no));
}

static void reach_call(Analysis *a, const Op *op) {
  Reach *r = NULL;
  const Func *f = op->at.callee;
  const char *why = f->is_extern || f->own_vjp || f->own_jvp
                        ? "a function whose derivative is a rule may read all of its arguments"
                        : "this function is too large to be looked into";
  for (int i = 0; i < op->noperands; i++)
    r = reach_union(a, r, read_all(a, op->operands[i], reach_cause(a, why)));
  for (int i = 0; i < op->nresults; i++)
    reach_set(a, op->results[i], r);
}

static void reach_op(Analysis *a, Op *op) {
  Value *v = op->nresults ? op->results[0] : NULL;
  a->at = op->loc.src ? op->loc : a->at;
  switch (op->code) {
  case OP_LOOP: reach_loop(a, op); return;
  case OP_WHILE: reach_while(a, op); return;
  case OP_IF: reach_if(a, op); return;
  case OP_ACC_ADD: reach_add(a, op); return;
  default: break;
  }
  if (!v || !kind_is_float(v->type.kind))
    return;
  if (op->code == OP_CALL) {
    reach_call(a, op);
  } else if (value_is_active(a->activity, v)) {
    switch (op->code) {
    case OP_CONST: break;
    case OP_FULL: reach_set(a, v, reach_read(a, op->operands[0])); break;
    case OP_INDEX: reach_set(a, v, reach_element(a, op)); break;
    case OP_UPDATE: reach_set(a, v, reach_update(a, op)); break;
    case OP_RESHAPE: reach_set(a, v, reach_reshape(a, op)); break;
    default: reach_set(a, v, reach_elementwise(a, op)); break;
    }
  }
  if (a->wants_sites && op_bends(a, op))
    for (int i = 0; i < op->nresults; i++)
      add_site(a, reach_read(a, op->results[i]));
}

void reach_region(Analysis *a, const Region *r) {
  for (Op *op = r->first; op; op = op->next)
    reach_op(a, op);
}

Analysis reach_of_func(Func *source, const bool *wrt, const Activity *activity, bool wants_sites) {
  Module *m = source->module;
  Analysis a = {.module = m,
                .source = source,
                .wrt = wrt,
                .activity = activity,
                .reach = {.arena = m->arena},
                .wants_sites = wants_sites};
  reach_region(&a, source->body);
  return a;
}
