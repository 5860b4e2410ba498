/* An element of a tensor that a loop in order fills place by place, as `for i in 1..n { r[i] = .. }` does.

   Where each iteration changes only elements whose index on one axis is the loop's own, plus or times a constant, an
   element is what the one iteration makes of it that has its index, and what it was before the loop where there is
   none.  The value at that iteration's entry is then the one before the loop, too: no other iteration changes it.

   Of a loop that changes one element alone, as `for q in .. { r[i] += .. }` does, that element is a number which the
   loop carries. */
#include "passes/slice_internal.h"

typedef struct Fill {
  Module *module;
  const Region *body; /* of the loop in question */
  Value *i;           /* its index */
  const Value *carry;
  int axis;
  int64_t step; /* index on the axis: step * i + rest; 0: not known yet */
  const Size *rest;
} Fill;

static bool index_fits(Fill *f, Value *index) {
  const Size *step, *rest;
  int64_t by;
  if (!size_linear_in(f->module, size_of_value(f->module, index), f->i, &step, &rest) || !size_is_const(step, &by) ||
      !by)
    return false;
  if (!size_is_outside(rest, f->body) || (f->step && (f->step != by || f->rest != rest)))
    return false;
  f->step = by;
  f->rest = rest;
  return true;
}

/* Whether v is the carry with elements replaced that have the index. */
static bool only_fills(Fill *f, const Value *v) {
  const Op *op = v->def;
  if (v == f->carry)
    return true;
  if (!op)
    return false;
  switch (op->code) {
  case OP_UPDATE:
    return op->noperands - 2 > f->axis && index_fits(f, op->operands[2 + f->axis]) && only_fills(f, op->operands[0]);
  case OP_IF: return only_fills(f, op->regions[0]->yields[v->index]) && only_fills(f, op->regions[1]->yields[v->index]);
  case OP_SELECT: return v->type.rank && only_fills(f, op->operands[1]) && only_fills(f, op->operands[2]);
  case OP_LOOP: {
    if (v->index >= op->at.loop->ncarries)
      return false;
    Fill inner = *f;
    inner.carry = op->regions[0]->params[op->at.loop->nindices + v->index];
    if (!only_fills(&inner, op->regions[0]->yields[v->index]))
      return false;
    f->step = inner.step;
    f->rest = inner.rest;
    return only_fills(f, op->operands[v->index]);
  }
  default: return false;
  }
}

/* Whether v is the carry or what has been made of it by replacing elements. */
static bool is_version(const Fill *f, const Value *v) {
  if (v == f->carry || value_is_outside(v, f->body) || v->type.rank != f->carry->type.rank)
    return v == f->carry;
  const Op *op = v->def ? v->def : v->region->owner;
  const int carry = v->def ? v->index : v->index - (op->code == OP_LOOP ? op->at.loop->nindices : 0);
  switch (op->code) {
  case OP_UPDATE: return is_version(f, op->operands[0]);
  case OP_LOOP: return carry >= 0 && carry < op->at.loop->ncarries && is_version(f, op->operands[carry]);
  case OP_IF:
    return v->def &&
           (is_version(f, op->regions[0]->yields[v->index]) || is_version(f, op->regions[1]->yields[v->index]));
  case OP_SELECT: return is_version(f, op->operands[1]) || is_version(f, op->operands[2]);
  default: return false;
  }
}

typedef struct Reads {
  Fill *f;
  bool own; /* each iteration reads only elements that it alone changes */
} Reads;
static void check_read(Op *op, void *arg) {
  Reads *r = arg;
  for (int i = 0; i < op->noperands && r->own; i++) {
    if (!is_version(r->f, op->operands[i]))
      continue;
    const int axis = r->f->axis;
    if (op->code == OP_INDEX && i == 0)
      r->own = op->noperands - 1 > axis && index_fits(r->f, op->operands[1 + axis]);
    else
      r->own = (op->code == OP_UPDATE && i == 0) || op->code == OP_LOOP || op->code == OP_SELECT;
  }
}

static bool reads_own(Fill *f) {
  Reads r = {.f = f, .own = true};
  region_walk((Region *)(uintptr_t)f->body, check_read, &r);
  return r.own;
}

static bool find_fill(Slice *s, const Op *op, int carry, Fill *f) {
  const Region *body = op->regions[0];
  for (int axis = 0; axis < op->operands[carry]->type.rank; axis++) {
    *f =
        (Fill){.module = s->module, .body = body, .i = body->params[0], .carry = body->params[1 + carry], .axis = axis};
    if (only_fills(f, body->yields[carry]) && f->step && reads_own(f))
      return true;
  }
  return false;
}

/* Carries at the entry of an iteration: elements that it alone changes are as they were before the loop. */
static void bind_entry(Slice *s, const Op *op, Env *e, Env *home, Value *iteration) {
  Module *m = s->module;
  for (int j = 0; j < op->at.loop->ncarries && !s->failed; j++) {
    Fill f;
    if (!op->operands[j]->type.rank || !find_fill(s, op, j, &f))
      continue;
    const Size *at = size_scale(m, size_of_value(m, iteration), f.step);
    Alias *a = NEW(m->arena, Alias);
    *a = (Alias){.next = e->aliases,
                 .param = f.carry,
                 .value = op->operands[j],
                 .env = home,
                 .axis = f.axis,
                 .at = size_add(m, at, slice_size(s, f.rest, home)),
                 .loc = op->loc};
    e->aliases = a;
  }
}

/* A size is not below 0: it is not at the end of the axis where it is least, or it is seen where the element is. */
static bool holds(Slice *s, const Size *at_end, const Size *here) {
  return (at_end && size_nonnegative(s->module, at_end)) || size_nonnegative(s->module, here);
}

/* What says that an iteration is one of the loop's; NULL: it is, always.  The element is one of the axis, of `dim`. */
static Value *condition(Slice *s, Value *offset, int64_t step, Value *iteration, const Size *extent, const Size *rest,
                        const Size *dim) {
  Module *m = s->module;
  Builder *b = &s->b;
  Value *cond = NULL, *parts[3];
  int n = 0;
  const Size *i = size_of_value(m, iteration), *last = size_sub(m, extent, size_const(m, 1));
  const Size *at_first = NULL, *at_last = NULL;
  if (step == 1) { /* iteration: index - rest */
    at_first = size_scale(m, rest, -1);
    at_last = size_add(m, size_sub(m, extent, dim), rest);
  } else if (step == -1) { /* rest - index */
    at_first = size_add(m, size_sub(m, rest, dim), size_const(m, 1));
    at_last = size_sub(m, last, rest);
  }
  if (!holds(s, at_first, i))
    parts[n++] = build_binary(b, OP_LE, build_int(b, KIND_I64, 0), iteration);
  if (!holds(s, at_last, size_sub(m, last, i)))
    parts[n++] = build_binary(b, OP_LT, iteration, build_size(b, extent));
  if (step != 1 && step != -1)
    parts[n++] = build_binary(b, OP_EQ, build_mul(b, iteration, build_int(b, KIND_I64, step)), offset);
  for (int k = 0; k < n; k++)
    cond = cond ? build_binary(b, OP_AND, cond, parts[k]) : parts[k];
  return cond;
}

Value *slice_filled(Slice *s, Value *v, Env *home, int n, Value *const *idx, uint64_t checks, bool active) {
  const Op *op = v->def;
  Builder *b = &s->b;
  Fill f;
  if (!find_fill(s, op, v->index, &f) || n <= f.axis)
    return NULL;
  const Size *extent = slice_size(s, op->at.loop->extents[0], home), *rest = slice_size(s, f.rest, home);
  const Size *dim = slice_size(s, v->type.dims[f.axis], home);
  Value *nothing = slice_nothing(s, type_scalar(v->type.kind));
  if (s->failed)
    return nothing;
  for (int i = 0; i < n; i++)
    if (checks >> i & 1)
      slice_test_index(s, idx[i], slice_size(s, v->type.dims[i], home));
  Value *offset = build_sub(b, idx[f.axis], build_size(b, rest));
  Value *iteration = f.step == 1    ? offset
                     : f.step == -1 ? build_neg(b, offset)
                                    : build_div(b, offset, build_int(b, KIND_I64, f.step));
  Value *cond = condition(s, offset, f.step, iteration, extent, rest, dim);
  Op *branch = cond ? slice_if(s, cond) : NULL;
  Env *e = slice_instance(s, op->regions[0], home);
  slice_bind(e, f.i, iteration);
  bind_entry(s, op, e, home, iteration);
  Value *at[MAX_RANK]; /* the same place, as the iteration writes it */
  for (int i = 0; i < n; i++)
    at[i] = idx[i];
  if (f.step != 1 && f.step != -1)
    at[f.axis] = build_add(b, build_mul(b, iteration, build_int(b, KIND_I64, f.step)), build_size(b, rest));
  Value *yes = slice_element(s, op->regions[0]->yields[v->index], e, n, at, 0, active);
  if (!branch)
    return yes;
  slice_else(s, branch);
  Value *no = slice_element(s, op->operands[v->index], home, n, idx, 0, active);
  return slice_endif(s, branch, yes, no);
}

/* ---- one element */
typedef struct OnePlace {
  Slice *s;
  const Fill *f;
  Env *home;
  int n;
  Value *const *idx;
  bool all;
} OnePlace;

static bool same_place(const OnePlace *p, Value *index, int k) {
  Module *m = p->s->module;
  return value_is_outside(index, p->f->body) &&
         size_of_value(m, slice_value(p->s, index, p->home)) == size_of_value(m, p->idx[k]);
}

static void check_place(Op *op, void *arg) {
  OnePlace *p = arg;
  for (int i = 0; i < op->noperands && p->all; i++) {
    if (!is_version(p->f, op->operands[i]))
      continue;
    const int first = op->code == OP_INDEX ? 1 : 2;
    if (i == 0 && (op->code == OP_INDEX || op->code == OP_UPDATE)) {
      p->all = op->noperands - first == p->n;
      for (int k = 0; k < p->n && p->all; k++)
        p->all = same_place(p, op->operands[first + k], k);
    } else {
      p->all = op->code == OP_LOOP || op->code == OP_SELECT;
    }
  }
}

Value *slice_one_place(Slice *s, Value *v, Env *home, int n, Value *const *idx, bool active) {
  const Op *op = v->def;
  const LoopInfo *info = op->at.loop;
  const Region *body = op->regions[0];
  const Fill f = {.module = s->module, .body = body, .i = body->params[0], .carry = body->params[1 + v->index]};
  OnePlace p = {.s = s, .f = &f, .home = home, .n = n, .idx = idx, .all = n == v->type.rank};
  if (info->naccs || info->nouts || !p.all || !is_version(&f, body->yields[v->index]))
    return NULL;
  for (int j = 0; j < info->ncarries; j++)
    if (j != v->index && !is_small(op->operands[j]->type))
      return NULL;
  region_walk((Region *)(uintptr_t)body, check_place, &p);
  if (!p.all || s->failed)
    return NULL;
  Value **carries = NEW_ARRAY(s->module->arena, Value *, info->ncarries + 1);
  const Size *extent = slice_size(s, info->extents[0], home), *dims[MAX_RANK];
  for (int i = 0; i < v->type.rank; i++)
    dims[i] = slice_size(s, v->type.dims[i], home);
  for (int j = 0; j < info->ncarries; j++)
    carries[j] = j == v->index ? slice_element(s, op->operands[j], home, n, idx, 0, active)
                               : slice_value(s, op->operands[j], home);
  if (s->failed)
    return NULL;
  const LoopSpec spec = {.nindices = 1, .extents = &extent, .ncarries = info->ncarries, .carry_inits = carries};
  Op *loop = build_loop_begin(&s->b, &spec);
  place_open(s, PLACE_LOOP, loop, loop->regions[0]);
  Env *e = slice_instance(s, body, home);
  slice_bind(e, f.i, loop_index(loop, 0));
  for (int j = 0; j < info->ncarries; j++) {
    Value *carry = loop_carry(loop, j);
    if (j == v->index) /* all that is read of it is the one element */
      carry = build_full(&s->b, type_tensor(s->module, v->type.kind, n, dims), carry);
    slice_bind(e, body->params[1 + j], carry);
  }
  for (int j = 0; j < info->ncarries; j++)
    carries[j] =
        j == v->index ? slice_element(s, body->yields[j], e, n, idx, 0, active) : slice_value(s, body->yields[j], e);
  if (s->failed) {
    place_close(s);
    return NULL;
  }
  slice_end_loop(s, loop, carries, 0, NULL, NULL);
  return loop_carry_result(loop, v->index);
}
