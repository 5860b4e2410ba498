/* What x[..] denotes: each axis is taken at an index, sliced, or gathered by an integer tensor.

   Several integer tensors are broadcast together, and their common axes take the place of the axes that they index, as
   in NumPy: where the first of them stands if they, and the scalars among them, are neighbours; else in front.  A
   scalar index counts as one of them where there is a tensor.  A bool tensor is no index.

   A slice's range is checked once, where the slice is made; an index is checked where its element is read. */
#include "frontend/elab_loops.h"

/* ---- sizes */
typedef struct FixedArg {
  const Func *func;
  const Value *culprit;
} FixedArg;

static void note_unfixed(Value *v, void *arg) {
  FixedArg *fixed = arg;
  if (v->def || v->region != fixed->func->body || v->index >= fixed->func->nsizes)
    fixed->culprit = v;
}

bool size_is_fixed(Elab *e, const Size *s, const Value **culprit) {
  return size_is_fixed_in(e->b.func, s, culprit);
}

bool size_is_fixed_in(const Func *f, const Size *s, const Value **culprit) {
  FixedArg arg = {.func = f};
  size_values(s, note_unfixed, &arg);
  if (culprit)
    *culprit = arg.culprit;
  return !arg.culprit;
}

/* Requires s >= 0, for a message about the bound written at `at`. */
static bool require_range(Elab *e, Range at, const Size *s, const char *what) {
  int64_t c;
  if (size_is_const(s, &c) && c < 0) {
    elab_error(e, at, "%s", what);
    return false;
  }
  if (!size_nonnegative(e->module, s)) {
    const Range loc = e->b.loc;
    e->b.loc = at;
    build_require(&e->b, build_binary(&e->b, OP_LE, build_int(&e->b, KIND_I64, 0), build_size(&e->b, s)),
                  arena_printf(e->arena, "range out of bounds: %s", what));
    e->b.loc = loc;
  }
  return true;
}

/* ---- one index */
static bool plan_at(Elab *e, AxisPlan *a, Value *index, const Size *dim, const char *text) {
  Module *m = e->module;
  int64_t c, n;
  a->kind = AXIS_AT;
  a->index = index;
  if (value_is_int_const(index, &c)) {
    if (c < 0) {
      DiagMessage *d = elab_error(e, a->at, "an index is not negative; this is %lld", (long long)c);
      const Size *from_end = size_add(m, dim, size_const(m, c));
      diag_mend(e->diag, d, "write %s", size_text(m, from_end));
      return false;
    }
    if (size_is_const(dim, &n) && c >= n) {
      elab_error(e, a->at, "index %lld is out of range for an axis of %s of %s", (long long)c, size_text(m, dim), text);
      return false;
    }
  }
  if (index_hole_meets(e, index, dim, a->at))
    return true;
  const Size *s = size_of_value(m, index);
  a->check = !size_nonnegative(m, s) || !size_nonnegative(m, size_sub(m, size_sub(m, dim, size_const(m, 1)), s));
  return true;
}

static bool plan_one(Elab *e, AxisPlan *a, Expr *x, const Size *dim, const char *text) {
  const Form *i = elab_tensor(e, x, NULL);
  if (i->kind == FORM_POISON)
    return false;
  if (i->type.kind == KIND_BOOL && i->type.rank) {
    DiagMessage *d = elab_error(e, x->at, "a bool tensor is no index");
    diag_mend(e->diag, d, "choose with where(..) or with a filter: sum[i if keep[i]: x[i]]");
    return false;
  }
  if (!kind_is_int(i->type.kind)) {
    DiagMessage *d = elab_error(e, x->at, "an index is an integer, not %s", form_text(e, i));
    if (kind_is_float(i->type.kind) && !i->is_literal)
      diag_mend(e->diag, d, "write i64(..)");
    return false;
  }
  const Form *wide = form_convert(e, i, KIND_I64, "an index");
  if (wide->kind == FORM_POISON)
    return false;
  if (wide->type.rank == 0)
    return plan_at(e, a, wide->value, dim, text);
  a->kind = AXIS_GATHER;
  a->gather = wide;
  a->check = true;
  return true;
}

/* ---- slices */
/* Bounds in i32 are computed in i64, so that what stands in both is seen to be the same: x[s:s + 3] is of 3. One that
   wraps in i32 is out of every range, before as after. */
static Value *in_i64(Elab *e, Value *v) {
  int64_t c;
  if (value_is_int_const(v, &c))
    return build_int(&e->b, KIND_I64, c);
  if (v->def && (v->def->code == OP_ADD || v->def->code == OP_SUB))
    return build_binary(&e->b, v->def->code, in_i64(e, v->def->operands[0]), in_i64(e, v->def->operands[1]));
  return build_cast(&e->b, KIND_I64, v);
}

static Value *slice_bound(Elab *e, Expr *x, const Size *dim) {
  Value *v = elab_scalar(e, x, KIND_I64);
  int64_t c;
  if (v && v->def && v->def->code == OP_CAST && v->def->operands[0]->type.kind == KIND_I32)
    v = in_i64(e, v->def->operands[0]);
  if (v && value_is_int_const(v, &c) && c < 0) {
    DiagMessage *d = elab_error(e, x->at, "a bound of a slice is not negative; this is %lld", (long long)c);
    diag_mend(e->diag, d, "write %s", size_text(e->module, size_add(e->module, dim, size_const(e->module, c))));
    return NULL;
  }
  return v;
}

static bool slice_step(Elab *e, Expr *x, int64_t *step) {
  Value *v = elab_scalar(e, x, KIND_I64);
  if (!v)
    return false;
  if (!value_is_int_const(v, step)) {
    elab_error(e, x->at, "the step of a slice is a constant");
    return false;
  }
  if (*step == 0 || *step == INT64_MIN)
    elab_error(e, x->at, *step ? "the step of a slice is too large" : "the step of a slice is not 0");
  return *step != 0 && *step != INT64_MIN;
}

static bool slice_size_is_fixed(Elab *e, const IndexItem *item, const Size *n) {
  const Value *culprit;
  if (size_is_fixed(e, n, &culprit))
    return true;
  DiagMessage *d = culprit->name ? elab_error(e, item->at, "the size of a slice must not depend on '%s'", culprit->name)
                                 : elab_error(e, item->at, "the size of a slice must not depend on data");
  if (culprit->name)
    diag_note(e->diag, d, item->at, "it is %s; the size of x[i:i + 3] is 3", size_text(e->module, n));
  else
    diag_note(e->diag, d, item->at, "the size of x[i:i + 3] is 3");
  return false;
}

static bool plan_slice(Elab *e, AxisPlan *a, const IndexItem *item, const Size *dim) {
  Module *m = e->module;
  const Size *one = size_const(m, 1);
  a->kind = AXIS_SLICE;
  a->step = 1;
  if (item->step && !slice_step(e, item->step, &a->step))
    return false;
  Value *start = item->start ? slice_bound(e, item->start, dim) : NULL,
        *stop = item->stop ? slice_bound(e, item->stop, dim) : NULL;
  if ((item->start && !start) || (item->stop && !stop))
    return false;
  const bool up = a->step > 0;
  const Size *last = size_sub(m, dim, one);
  const Size *from = start ? size_of_value(m, start) : up ? size_const(m, 0) : last;
  const Size *to = stop ? size_of_value(m, stop) : up ? dim : size_const(m, -1);
  const Size *length = up ? size_sub(m, to, from) : size_sub(m, from, to);
  const int64_t by = up ? a->step : -a->step;
  const Size *rounded =
      by == 1 ? length : size_floordiv(m, size_add(m, length, size_const(m, by - 1)), size_const(m, by));
  if (!slice_size_is_fixed(e, item, rounded) || !size_check(e, item->at, length))
    return false;
  if (start && !require_range(e, item->start->at, from, "the slice begins before 0"))
    return false;
  if (start && !up &&
      !require_range(e, item->start->at, size_sub(m, last, from),
                     arena_printf(e->arena, "the slice begins past the end of an axis of %s", size_text(m, dim))))
    return false;
  if (stop && up &&
      !require_range(e, item->stop->at, size_sub(m, dim, to),
                     arena_printf(e->arena, "the slice ends past the end of an axis of %s", size_text(m, dim))))
    return false;
  if (stop && !up && !require_range(e, item->stop->at, to, "the slice ends before 0"))
    return false;
  a->start = build_size(&e->b, from);
  a->extent = rounded;
  a->whole = up && by == 1 && !start && !stop;
  return true;
}

/* ---- the whole */
static void whole_axis(Elab *e, AxisPlan *a, const Size *dim) {
  *a = (AxisPlan){.kind = AXIS_SLICE, .at = a->at, .step = 1, .extent = dim, .whole = true};
  a->start = build_int(&e->b, KIND_I64, 0);
}

static bool plan_gathers(Elab *e, IndexPlan *p, const Size **dims) {
  const Form *gathers[MAX_RANK];
  int n = 0, first = -1, last = -1;
  for (int i = 0; i < p->of.rank; i++) {
    AxisPlan *a = &p->axes[i];
    if (a->kind == AXIS_GATHER)
      gathers[n++] = a->gather;
    if (a->kind != AXIS_SLICE) {
      first = first < 0 ? i : first;
      last = i;
    }
  }
  p->gather_at = -1;
  if (!n)
    return true;
  if (!broadcast_shapes(e, p->at, n, gathers, &p->gather_rank, dims))
    return false;
  int before = 0;
  for (int i = first; i <= last; i++)
    if (p->axes[i].kind == AXIS_SLICE)
      first = 0;
  for (int i = 0; i < first; i++)
    before += p->axes[i].kind == AXIS_SLICE;
  p->gather_at = before;
  /* An index is read once for each element of the axes behind it. */
  for (int i = 0; i < p->of.rank; i++)
    if (p->axes[i].kind == AXIS_GATHER)
      p->axes[i].gather = form_cheap(e, p->axes[i].gather);
  return true;
}

static bool plan_result(Elab *e, IndexPlan *p) {
  const Size *dims[2 * MAX_RANK], *gathered[MAX_RANK];
  int rank = 0;
  if (!plan_gathers(e, p, gathered))
    return false;
  int slices = 0;
  for (int i = 0; i <= p->of.rank; i++) {
    if (slices == p->gather_at && p->gather_rank && rank == slices)
      for (int g = 0; g < p->gather_rank; g++)
        dims[rank++] = gathered[g];
    if (i < p->of.rank && p->axes[i].kind == AXIS_SLICE) {
      dims[rank++] = p->axes[i].extent;
      slices++;
    }
  }
  if (rank > MAX_RANK) {
    elab_error(e, p->at, "a tensor has at most %d axes; this has %d", MAX_RANK, rank);
    return false;
  }
  p->result = type_tensor(e->module, p->of.kind, rank, dims);
  return true;
}

/* Plans the axes of p from `axis` on. */
static bool plan_items(Elab *e, IndexPlan *p, int axis, const IndexItemList *items) {
  const char *text = type_text(e->module, p->of);
  bool good = true;
  if (items->n > p->of.rank - axis) {
    elab_error(e, items->at[p->of.rank - axis].at, "too many indices: %d for %s, which has rank %d", axis + items->n,
               text, p->of.rank);
    return false;
  }
  for (int i = axis; i < p->of.rank; i++) {
    AxisPlan *a = &p->axes[i];
    const IndexItem *item = i - axis < items->n ? &items->at[i - axis] : NULL;
    a->at = item ? item->at : p->at;
    if (!item || (item->is_slice && !item->start && !item->stop && !item->step))
      whole_axis(e, a, p->of.dims[i]);
    else if (item->is_slice)
      good &= plan_slice(e, a, item, p->of.dims[i]);
    else
      good &= plan_one(e, a, item->index, p->of.dims[i], text);
  }
  return good && plan_result(e, p);
}

IndexPlan *plan_index(Elab *e, Range at, const Form *x, const IndexItemList *items) {
  IndexPlan *p = NEW(e->arena, IndexPlan);
  p->at = at;
  p->of = x->type;
  p->axes = NEW_ARRAY(e->arena, AxisPlan, x->type.rank);
  if (x->type.rank == 0) {
    elab_error(e, at, "a scalar %s has no axes to index", type_text(e->module, x->type));
    return NULL;
  }
  return plan_items(e, p, 0, items) ? p : NULL;
}

IndexPlan *plan_continue(Elab *e, Range at, const IndexPlan *p, const IndexItemList *items) {
  IndexPlan *q = NEW(e->arena, IndexPlan);
  const int n = plan_leading(p);
  q->at = at;
  q->of = p->of;
  q->axes = NEW_ARRAY(e->arena, AxisPlan, q->of.rank);
  for (int i = 0; i < n; i++)
    q->axes[i] = p->axes[i];
  return plan_items(e, q, n, items) ? q : NULL;
}

int plan_leading(const IndexPlan *p) {
  int n = 0;
  while (n < p->of.rank && p->axes[n].kind == AXIS_AT)
    n++;
  for (int i = n; i < p->of.rank; i++)
    if (p->axes[i].kind != AXIS_SLICE || !p->axes[i].whole)
      return -1;
  return n;
}

/* ---- elements */
/* The element of an index tensor that belongs to the gathered axes' indices `idx`: broadcast from the right, a literal
   1 stretched. */
static Value *gather_element(Elab *e, const IndexPlan *p, const Form *g, Value *const *idx) {
  Value *mine[MAX_RANK];
  const int shift = p->gather_rank - g->type.rank;
  for (int i = 0; i < g->type.rank; i++)
    mine[i] = size_is(g->type.dims[i], 1) ? build_int(&e->b, KIND_I64, 0) : idx[i + shift];
  return form_element(e, g, mine);
}

void plan_source(Elab *e, const IndexPlan *p, Value *const *idx, Value **source, uint64_t *checks) {
  Builder *b = &e->b;
  int slices = 0;
  *checks = 0;
  for (int i = 0; i < p->of.rank; i++) {
    const AxisPlan *a = &p->axes[i];
    switch (a->kind) {
    case AXIS_AT: source[i] = a->index; break;
    case AXIS_GATHER: source[i] = gather_element(e, p, a->gather, idx + p->gather_at); break;
    case AXIS_SLICE: {
      const int at = p->gather_at >= 0 && slices >= p->gather_at ? slices + p->gather_rank : slices;
      Value *k = a->step == 1 ? idx[at] : build_mul(b, idx[at], build_int(b, KIND_I64, a->step));
      source[i] = a->whole ? idx[at] : build_add(b, a->start, k);
      slices++;
      break;
    }
    }
    if (a->check)
      *checks |= UINT64_C(1) << i;
  }
}

typedef struct PlanRecipe {
  const IndexPlan *plan;
  const Form *of;
} PlanRecipe;

static Value *plan_element(Elab *e, const Form *t, Value *const *idx) {
  const PlanRecipe *r = t->recipe;
  Value *source[MAX_RANK];
  uint64_t checks;
  plan_source(e, r->plan, idx, source, &checks);
  return form_index(e, t->at, r->of, r->of->type.rank, source, checks)->value;
}

Form *plan_apply(Elab *e, const IndexPlan *p, const Form *x) {
  const int leading = plan_leading(p);
  if (leading >= 0) {
    Value *idx[MAX_RANK];
    uint64_t checks = 0;
    for (int i = 0; i < leading; i++) {
      idx[i] = p->axes[i].index;
      checks |= (uint64_t)p->axes[i].check << i;
    }
    return form_index(e, p->at, x, leading, idx, checks);
  }
  PlanRecipe *r = NEW(e->arena, PlanRecipe);
  r->plan = p;
  r->of = p->gather_at >= 0 ? form_cheap(e, x) : x;
  Form *f = form_lazy(e, p->at, p->result, plan_element, r, p->gather_at < 0 && form_is_cheap(x));
  f->adapts = x->adapts;
  return f;
}
