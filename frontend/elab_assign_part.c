/* Assignment to parts of a tensor, in one of four ways:
   - a[i, j] = v, a[i] = v: one update.
   - a[idx] += v, a[idx] -= v: an accumulator, which adds every occurrence of a repeated index.
   - a[lo:hi] = v and the like: all new parts first, which may be computed in any order, then updates.
   - a[idx] = v and the like: updates in order; of a repeated index the last wins. */
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

/* The number of the result's last axes that are whole axes of the tensor. */
static int whole_behind(const IndexPlan *p) {
  int n = 0;
  while (n < p->of.rank && p->axes[p->of.rank - 1 - n].kind == AXIS_SLICE && p->axes[p->of.rank - 1 - n].whole)
    n++;
  return p->gather_at >= 0 && n > p->result.rank - p->gather_at - p->gather_rank
             ? p->result.rank - p->gather_at - p->gather_rank
             : n;
}

/* One loop for each axis of the target, but for whole ones behind; each carries the tensor. */
static Form *update_in_order(Elab *e, const Change *c, const IndexPlan *p, const Form *base, const Form *v,
                             bool combine) {
  Builder *b = &e->b;
  Op **loops = NEW_ARRAY(e->arena, Op *, MAX_RANK);
  Value *idx[MAX_RANK] = {0}, *source[MAX_RANK], *now = base->value;
  const int behind = whole_behind(p), depth = p->result.rank - behind, n = p->of.rank - behind;
  uint64_t checks;
  for (int i = 0; i < depth; i++) {
    const LoopSpec spec = {.nindices = 1, .extents = &p->result.dims[i], .ncarries = 1, .carry_inits = &now};
    loops[i] = build_loop_begin(b, &spec);
    idx[i] = loop_index(loops[i], 0);
    now = loop_carry(loops[i], 0);
  }
  const Form *part = form_index(e, c->value_at, v, depth, idx, 0);
  plan_source(e, p, idx, source, &checks);
  if (combine)
    part = combined(e, c, form_of_value(e, p->at, build_index(b, now, n, source, checks)), part);
  const bool good = part->kind != FORM_POISON;
  Value *next = good ? build_update(b, now, form_store(e, part), n, source, checks) : now;
  for (int i = depth - 1; i >= 0; i--) {
    build_loop_end(b, loops[i], &next, NULL);
    next = loop_carry_result(loops[i], 0);
  }
  return good ? form_of_value(e, c->at, next) : form_poison(e, c->at);
}

/* Of a gather, whose indices may repeat. */
static Form *assign_gather(Elab *e, const Change *c, const IndexPlan *p, const Form *base) {
  const Kind kind = base->type.kind;
  const bool sum = c->is_compound && (c->op == BINARY_ADD || c->op == BINARY_SUB) && kind != KIND_BOOL;
  const Form *v = sum || !c->is_compound ? in_kind(e, kind, c->value) : c->value;
  v = stretched(e, c, p->result, v);
  if (v->kind == FORM_POISON)
    return form_poison(e, c->at);
  return sum ? accumulate_at(e, p, base, v, c->op == BINARY_SUB)
             : update_in_order(e, c, p, base, form_cheap(e, v), c->is_compound);
}

Form *assign_part(Elab *e, const Change *c, const IndexPlan *p, const Form *base) {
  const int n = plan_leading(p);
  if (n > 0)
    return update_at(e, c, p, base, n);
  if (p->gather_at >= 0)
    return assign_gather(e, c, p, base);
  const Form *v =
      c->is_compound ? combined(e, c, plan_apply(e, p, base), c->value) : in_kind(e, base->type.kind, c->value);
  const bool stretches = v->kind == FORM_TENSOR && v->type.rank < p->result.rank;
  v = stretched(e, c, p->result, v);
  if (v->kind == FORM_POISON || n == 0)
    return form_copy(e, v);
  /* All of it first: it may read what is assigned, and is computed in any order. */
  return update_in_order(e, c, p, base, stretches ? v : form_stored(e, v), false);
}
