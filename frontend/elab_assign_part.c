/* Assignment to parts of a tensor, in one of four ways:
   - a[i, j] = v, a[i] = v: one update.
   - a[lo:hi] += v, a[idx] -= v: an accumulator, which adds every occurrence of a repeated index.
   - a[1:n - 1] = v: a new tensor, where all but a few elements are assigned, so that no order is imposed.
   - What else takes several parts: updates in order; of a repeated index the last wins. */
#include "frontend/elab_assign.h"

typedef struct Stretched {
  const Form *of;
} Stretched;

static Value *stretched_element(Elab *e, const Form *t, Value *const *idx) {
  const Stretched *s = t->recipe;
  Value *mine[MAX_RANK];
  const int shift = t->type.rank - s->of->type.rank;
  for (int i = 0; i < s->of->type.rank; i++)
    mine[i] = size_is(s->of->type.dims[i], 1) ? build_int(&e->b, KIND_I64, 0) : idx[i + shift];
  return form_element(e, s->of, mine);
}

/* v, of the target's kind, broadcast to the target's shape; poison after an error. */
static Form *stretched(Elab *e, const Change *c, Type target, const Form *v) {
  const int shift = target.rank - v->type.rank;
  bool same = shift == 0;
  if (v->kind == FORM_POISON)
    return form_poison(e, c->at);
  if (shift < 0) {
    elab_error(e, c->value_at, "this is %s; the target is %s", form_text(e, v), type_text(e->module, target));
    return form_poison(e, c->at);
  }
  for (int i = 0; i < v->type.rank; i++) {
    const Size *have = v->type.dims[i], *want = target.dims[i + shift];
    if (size_is(have, 1) && !size_is(want, 1))
      same = false;
    else if (!sizes_agree(e, c->value_at, want, have, "the target and the assigned value"))
      return form_poison(e, c->at);
  }
  if (same)
    return form_with_dims(e, v, target.dims);
  Stretched *s = NEW(e->arena, Stretched);
  s->of = form_cheap(e, v);
  return form_lazy(e, c->at, target, stretched_element, s, true);
}

static const Form *in_kind(Elab *e, Kind kind, const Form *v) {
  return form_convert(e, v, kind, "the assigned value");
}

/* now op value, of the target's kind. */
static const Form *combined(Elab *e, const Change *c, const Form *now, const Form *value) {
  return in_kind(e, now->type.kind, operator_binary(e, c->at, c->op, c->op_at, now, value));
}

static Form *update_at(Elab *e, const Change *c, const IndexPlan *p, const Form *base, int n) {
  Value *idx[MAX_RANK];
  uint64_t checks = 0;
  for (int i = 0; i < n; i++) {
    idx[i] = p->axes[i].index;
    checks |= (uint64_t)p->axes[i].check << i;
  }
  const Form *v = c->value;
  if (c->is_compound)
    v = combined(e, c, form_index(e, p->at, base, n, idx, checks), v);
  else
    v = in_kind(e, base->type.kind, v);
  v = stretched(e, c, p->result, v);
  if (v->kind == FORM_POISON)
    return form_poison(e, c->at);
  return form_of_value(e, c->at, build_update(&e->b, base->value, form_store(e, v), n, idx, checks));
}

static Form *accumulate_at(Elab *e, const IndexPlan *p, const Form *base, const Form *v, bool negative) {
  Builder *b = &e->b;
  const LoopSpec spec = {
      .nindices = p->result.rank, .extents = p->result.dims, .naccs = 1, .acc_inits = &(Value *){base->value}};
  Op *loop = build_loop_begin(b, &spec);
  Value *const *idx = loop->regions[0]->params, *source[MAX_RANK];
  uint64_t checks;
  Value *element = form_element(e, v, idx);
  plan_source(e, p, idx, source, &checks);
  build_acc_add(b, loop_acc(loop, 0), negative ? build_neg(b, element) : element, p->of.rank, source, checks);
  build_loop_end(b, loop, NULL, NULL);
  return form_of_value(e, p->at, loop_acc_result(loop, 0));
}

/* One loop for each axis of the target, each carrying the tensor. */
static Form *update_in_order(Elab *e, const Change *c, const IndexPlan *p, const Form *base, const Form *v) {
  Builder *b = &e->b;
  Op **loops = NEW_ARRAY(e->arena, Op *, MAX_RANK);
  Value *idx[MAX_RANK], *source[MAX_RANK], *now = base->value;
  const int rank = p->result.rank;
  uint64_t checks;
  for (int i = 0; i < rank; i++) {
    const LoopSpec spec = {.nindices = 1, .extents = &p->result.dims[i], .ncarries = 1, .carry_inits = &now};
    loops[i] = build_loop_begin(b, &spec);
    idx[i] = loop_index(loops[i], 0);
    now = loop_carry(loops[i], 0);
  }
  const Form *element = form_of_value(e, c->value_at, form_element(e, v, idx));
  plan_source(e, p, idx, source, &checks);
  if (c->is_compound) {
    const Form *old = form_of_value(e, p->at, build_index(b, now, p->of.rank, source, checks));
    element = combined(e, c, old, element);
  }
  const bool good = element->kind != FORM_POISON;
  Value *next = good ? build_update(b, now, element->value, p->of.rank, source, checks) : now;
  for (int i = rank - 1; i >= 0; i--) {
    build_loop_end(b, loops[i], &next, NULL);
    next = loop_carry_result(loops[i], 0);
  }
  return good ? form_of_value(e, c->at, next) : form_poison(e, c->at);
}

/* ---- slices of nearly all of a tensor: a new tensor whose elements are the value's or the old ones, in any order */
typedef struct Merged {
  const Change *c;
  const IndexPlan *plan;
  int first; /* the leading indices, which are taken away already */
  const Form *old, *value;
} Merged;

/* The index into the slice of index i of its axis; *inside: whether there is one (and all that it was before). */
static Value *index_in_slice(Elab *e, const AxisPlan *a, Value *i, Value **inside) {
  Builder *b = &e->b;
  if (a->whole)
    return i;
  Value *k = a->step == 1 ? build_sub(b, i, a->start) : build_sub(b, a->start, i);
  Value *from = build_binary(b, OP_LE, build_int(b, KIND_I64, 0), k);
  Value *both = build_binary(b, OP_AND, from, build_binary(b, OP_LT, k, build_size(b, a->extent)));
  *inside = *inside ? build_binary(b, OP_AND, *inside, both) : both;
  return k;
}

/* The new element at `idx`, which is `mine` in the slice. */
static Value *assigned_element(Elab *e, const Merged *g, Value *const *mine, Value *const *idx) {
  Value *element = form_element(e, g->value, mine);
  if (!g->c->is_compound)
    return element;
  Value *old = form_element(e, g->old, idx);
  const Form *now = form_of_value(e, g->plan->at, old), *v = form_of_value(e, g->c->value_at, element);
  v = combined(e, g->c, now, v);
  return v->kind == FORM_POISON ? old : v->value;
}

static Value *merged_element(Elab *e, const Form *t, Value *const *idx) {
  const Merged *g = t->recipe;
  Builder *b = &e->b;
  Value *mine[MAX_RANK], *inside = NULL;
  for (int i = 0; i < t->type.rank; i++)
    mine[i] = index_in_slice(e, &g->plan->axes[g->first + i], idx[i], &inside);
  int64_t always;
  if (value_is_int_const(inside, &always) && always)
    return assigned_element(e, g, mine, idx);
  Op *op = build_if_begin(b, inside);
  Value *element = assigned_element(e, g, mine, idx);
  build_if_else(b, op, 1, &element);
  element = form_element(e, g->old, idx);
  build_if_end(b, op, 1, &element);
  return op->results[0];
}

/* The number of leading indices, where all axes after them are sliced one by one and all but a few elements are taken;
   else -1. */
static int nearly_all(Elab *e, const IndexPlan *p) {
  int n = 0;
  int64_t left, dim;
  while (n < p->of.rank && p->axes[n].kind == AXIS_AT)
    n++;
  for (int i = n; i < p->of.rank; i++) {
    const AxisPlan *a = &p->axes[i];
    if (a->kind != AXIS_SLICE || (a->step != 1 && a->step != -1) ||
        !size_is_const(size_sub(e->module, p->of.dims[i], a->extent), &left))
      return -1;
    if (left > 4 && !(size_is_const(p->of.dims[i], &dim) && 2 * left <= dim))
      return -1;
  }
  return n;
}

static Form *merge_slice(Elab *e, const Change *c, const IndexPlan *p, const Form *base, const Form *v, int first) {
  Value *idx[MAX_RANK];
  uint64_t checks = 0;
  for (int i = 0; i < first; i++) {
    idx[i] = p->axes[i].index;
    checks |= (uint64_t)p->axes[i].check << i;
  }
  Merged *g = NEW(e->arena, Merged);
  const Form *old = form_index(e, p->at, base, first, idx, checks);
  *g = (Merged){.c = c, .plan = p, .first = first, .old = old, .value = v};
  Value *now = form_store(e, form_lazy(e, c->at, old->type, merged_element, g, false));
  return form_of_value(e, c->at, build_update(&e->b, base->value, now, first, idx, checks));
}

Form *assign_part(Elab *e, const Change *c, const IndexPlan *p, const Form *base) {
  const int n = plan_leading(p);
  if (n == 0 && !c->is_compound)
    return form_copy(e, stretched(e, c, p->result, in_kind(e, base->type.kind, c->value)));
  if (n >= 0)
    return update_at(e, c, p, base, n);
  const Kind kind = base->type.kind;
  const bool sum = c->is_compound && (c->op == BINARY_ADD || c->op == BINARY_SUB) && kind != KIND_BOOL;
  const Form *v = sum || !c->is_compound ? in_kind(e, kind, c->value) : c->value;
  v = stretched(e, c, p->result, v);
  if (v->kind == FORM_POISON)
    return form_poison(e, c->at);
  if (sum)
    return accumulate_at(e, p, base, v, c->op == BINARY_SUB);
  const int first = nearly_all(e, p);
  return first >= 0 ? merge_slice(e, c, p, base, v, first) : update_in_order(e, c, p, base, v);
}
