/* Additions at indices that are a loop's moved by numbers, as in the adjoint of a stencil:
       loop i { acc_add b[i - 1], x;  acc_add b[i + 1], y;  acc_add b[i], z }
   Each element of b is read and written three times, one iteration after the other.  They become stacks of what is
   added, and a loop over the elements of b, each of which collects what is for it:
       X, Y, Z = loop i stack { x, y, z }
       loop k { acc_add b[k], (k == n - 1 ? 0 : X[k + 1]) + (k == 0 ? 0 : Y[k - 1]) + Z[k] }
   so that both run in vectors.  Additions may stand in branches of the body.  An index that would leave the axis is
   refused, unless the branch around it says that it does not. */
#include "ir/known.h"
#include "ir/raw.h"
#include "passes/gather.h"
#include <string.h>

enum { MOST_ADDITIONS = 16, MOST_GROUPS = 8, MOST_AXES = 3, FARTHEST = 64 };

typedef struct Part {
  Op *op;
  Op *branch; /* the `if` around, or NULL */
  int which;  /* region of it */
  int group;
} Part;

typedef struct Moved {
  Module *module;
  Op *loop;
  Value *handle;
  int n, ngroups, naxes;
  Part parts[MOST_ADDITIONS];
  int64_t by[MOST_GROUPS][MOST_AXES];
  Slice again[MOST_GROUPS]; /* what is computed once more where it is collected */
} Moved;

/* ---- finding */
static bool add_part(Moved *v, Op *op, Op *branch, int which) {
  Module *m = v->module;
  Known known = {.module = m};
  int64_t by[MOST_AXES];
  if (v->n == MOST_ADDITIONS || op->operands[1]->type.rank || addition_nindices(op) != v->naxes)
    return false;
  if (branch)
    known_learn(&known, branch->operands[0], which == 0);
  for (int i = 0; i < v->naxes; i++) {
    const Size *at = size_of_value(m, addition_indices(op)[i]);
    if (!size_is_const(size_sub(m, at, size_atom(m, loop_index(v->loop, i))), &by[i]) || by[i] < -FARTHEST ||
        by[i] > FARTHEST || ((op->at.checks >> i & 1) && !known_in_range(&known, at, v->handle->type.dims[i])))
      return false;
  }
  int g = 0;
  while (g < v->ngroups && memcmp(v->by[g], by, sizeof *by * (size_t)v->naxes) != 0)
    g++;
  if (g == MOST_GROUPS)
    return false;
  memcpy(v->by[g], by, sizeof *by * (size_t)v->naxes);
  v->ngroups = g == v->ngroups ? g + 1 : v->ngroups;
  v->parts[v->n++] = (Part){.op = op, .branch = branch, .which = which, .group = g};
  return true;
}

static bool adds_to(const Op *op, const Value *handle) {
  return op->code == OP_ACC_ADD && op->operands[0] == handle;
}

typedef struct Count {
  const Value *handle;
  int n;
} Count;
static void count_uses(Op *op, void *arg) {
  Count *c = arg;
  for (int i = 0; i < op->noperands; i++)
    c->n += op->operands[i] == c->handle;
}

/* All additions to the handle in the loop, if they are as above. */
static bool find_moved(Moved *v) {
  Count count = {.handle = v->handle};
  Region *body = v->loop->regions[0];
  v->naxes = v->loop->at.loop->nindices;
  if (v->handle->type.rank != v->naxes || v->naxes > MOST_AXES || !v->naxes)
    return false;
  for (int i = 0; i < v->naxes; i++)
    if (v->handle->type.dims[i] != v->loop->at.loop->extents[i])
      return false;
  for (Op *op = body->first; op; op = op->next) {
    if (adds_to(op, v->handle) && !add_part(v, op, NULL, 0))
      return false;
    for (int w = 0; op->code == OP_IF && w < 2; w++)
      for (Op *in = op->regions[w]->first; in; in = in->next)
        if (adds_to(in, v->handle) && !add_part(v, in, op, w))
          return false;
  }
  region_walk(body, count_uses, &count);
  return v->ngroups >= 2 && count.n == v->n;
}

/* ---- what is added, as stacks */
static Value *raw_sum(Module *m, Region *r, Value *x, Value *y) {
  if (!x || !y)
    return x ? x : y;
  Op *op = op_new(m, OP_ADD, 2, 1, 0);
  op->operands[0] = x;
  op->operands[1] = y;
  op->loc = y->def ? y->def->loc : op->loc;
  op->origin = y->def ? y->def->origin : NULL;
  op_set_result(m, op, 0, x->type, NULL);
  region_append(r, op);
  return op->results[0];
}

static Value *zero_before(Module *m, Op *at, Type t) {
  Op *op = op_new(m, OP_CONST, 0, 1, 0);
  op->at.f = 0;
  op->loc = at->loc;
  op_set_result(m, op, 0, t, NULL);
  op_insert_before(at, op);
  return op->results[0];
}

static Value *if_add_result(Module *m, Op *op, Value *const *yields) {
  const int n = op->nresults;
  Value **results = NEW_ARRAY(m->arena, Value *, n + 1);
  for (int i = 0; i < n; i++)
    results[i] = op->results[i];
  op->results = results;
  op->nresults = n + 1;
  for (int w = 0; w < 2; w++) {
    Value **all = NEW_ARRAY(m->arena, Value *, n + 1);
    for (int i = 0; i < n; i++)
      all[i] = op->regions[w]->yields[i];
    all[n] = yields[w];
    region_set_yields(m, op->regions[w], n + 1, all);
  }
  return op_set_result(m, op, n, yields[0]->type, NULL);
}

/* What a group's additions in this branch come to. */
static Value *of_branch(const Moved *v, int group, Op *branch, Value *zero) {
  Value *sums[2] = {NULL, NULL};
  for (int i = 0; i < v->n; i++)
    if (v->parts[i].group == group && v->parts[i].branch == branch) {
      Value **sum = &sums[v->parts[i].which];
      *sum = raw_sum(v->module, branch->regions[v->parts[i].which], *sum, v->parts[i].op->operands[1]);
    }
  for (int w = 0; w < 2; w++)
    sums[w] = sums[w] ? sums[w] : zero;
  return if_add_result(v->module, branch, sums);
}

static Value *stack_group(const Moved *v, int group, Value *zero) {
  Region *body = v->loop->regions[0];
  Value *sum = NULL;
  for (int i = 0; i < v->n; i++) {
    const Part *p = &v->parts[i];
    bool done = p->group != group;
    for (int k = 0; k < i && p->branch; k++)
      done |= v->parts[k].group == group && v->parts[k].branch == p->branch;
    if (!done)
      sum = raw_sum(v->module, body, sum, p->branch ? of_branch(v, group, p->branch, zero) : p->op->operands[1]);
  }
  return loop_add_out(v->module, v->loop, OUT_STACK, sum);
}

/* ---- the loop that collects */
/* Whether no iteration adds to the element at k, by the axes of the group. */
static Value *is_outside(Builder *b, const Moved *v, const int64_t *by, Op *loop) {
  Module *m = v->module;
  Value *outside = NULL;
  for (int i = 0; i < v->naxes; i++) {
    Value *k = loop_index(loop, i), *is = NULL;
    const Size *end = v->loop->at.loop->extents[i];
    if (!by[i])
      continue;
    if (by[i] == 1)
      is = build_binary(b, OP_EQ, k, build_int(b, KIND_I64, 0));
    else if (by[i] == -1)
      is = build_binary(b, OP_EQ, k, build_size(b, size_sub(m, end, size_const(m, 1))));
    else if (by[i] > 0)
      is = build_binary(b, OP_LT, k, build_int(b, KIND_I64, by[i]));
    else
      is = build_binary(b, OP_LE, build_size(b, size_add(m, end, size_const(m, by[i]))), k);
    outside = outside ? build_binary(b, OP_OR, outside, is) : is;
  }
  return outside;
}

/* The indices of the iteration that adds to the element at k; in `moved`, which axes they differ in. */
static void indices_of(Builder *b, const int64_t *by, int naxes, const Op *loop, Value **at, uint64_t *moved) {
  *moved = 0;
  for (int i = 0; i < naxes; i++) {
    Value *k = loop_index(loop, i);
    at[i] = by[i] < 0   ? build_add(b, k, build_int(b, KIND_I64, -by[i]))
            : by[i] > 0 ? build_sub(b, k, build_int(b, KIND_I64, by[i]))
                        : k;
    *moved |= (uint64_t)(by[i] != 0) << i;
  }
}

static Value *collect_group(Builder *b, const Moved *v, const int64_t *by, Value *stack, Op *loop) {
  Value *at[MOST_AXES] = {0}, *outside = is_outside(b, v, by, loop);
  uint64_t checks;
  if (!outside)
    return build_index(b, stack, v->naxes, loop->regions[0]->params, 0);
  Value *zero = build_float(b, stack->type.kind, 0);
  Op *branch = build_if_begin(b, outside);
  build_if_else(b, branch, 1, &zero);
  indices_of(b, by, v->naxes, loop, at, &checks); /* checked, as it may be moved: codegen/settle.c */
  Value *x = build_index(b, stack, v->naxes, at, checks);
  build_if_end(b, branch, 1, &x);
  return branch->results[0];
}

/* ---- what is cheap: computed again where it is collected
   Its parts stand in one branch, which depends on indices alone, or in none, and are made of few operations on what the
   loop reads at places that depend on its indices. */
static bool is_quick(Module *m, const Slice *slice, int most_reads) {
  int reads = 0;
  for (int i = 0; i < slice->n; i++) {
    const Op *op = slice->ops[i];
    reads += op->code == OP_INDEX;
    for (int k = 1; op->code == OP_INDEX && k < op->noperands; k++)
      if (!value_is_outside(op->operands[k], slice->top) && !known_is_bounded(size_of_value(m, op->operands[k])))
        return false;
    if (op->nresults && op->results[0]->type.rank)
      return false;
  }
  return reads <= most_reads;
}

static bool find_again(const Moved *v, int group, Slice *slice) {
  enum { MOST_READS = 6 };
  const Op *branch = NULL;
  Slice condition = {.top = v->loop->regions[0]};
  int nparts = 0;
  *slice = condition;
  for (int i = 0; i < v->n; i++) {
    const Part *p = &v->parts[i];
    if (p->group != group)
      continue;
    if ((nparts++ && p->branch != branch) || !slice_of(slice, p->op->operands[1]))
      return false;
    branch = p->branch;
  }
  return is_quick(v->module, slice, MOST_READS) &&
         (!branch || (slice_of(&condition, branch->operands[0]) && is_quick(v->module, &condition, 0)));
}

/* What stands for the loop's indices in the iteration `at`. */
static ValueMap iteration(const Moved *v, Value *const *at) {
  ValueMap map = {.arena = v->module->arena};
  for (int i = 0; i < v->naxes; i++)
    map_put(&map, loop_index(v->loop, i), at[i]);
  return map;
}

/* What the parts of the group in that region come to in the iteration `at`; NULL: it has none. */
static Value *sum_again(Builder *b, const Moved *v, int group, int which, Value *const *at) {
  const Slice *slice = &v->again[group];
  ValueMap map = iteration(v, at);
  Value *sum = NULL;
  for (int i = 0; i < v->n; i++) {
    const Part *p = &v->parts[i];
    if (p->group != group || p->which != which)
      continue;
    copy_slice(b, slice, p->op->operands[1], &map);
    Value *x = map_value(&map, p->op->operands[1]);
    sum = sum ? build_add(b, sum, x) : x;
  }
  for (int i = 0; i < slice->n; i++) { /* checked, as in collect_group */
    const Op *op = slice->ops[i];
    const Value *copy = op->code == OP_INDEX ? map_get(&map, op->results[0]) : NULL;
    for (int k = 1; copy && copy->def && copy->def->code == OP_INDEX && k < op->noperands; k++)
      if (map_value(&map, op->operands[k]) != op->operands[k])
        copy->def->at.checks |= 1ull << (k - 1);
  }
  return sum;
}

static Value *collect_again(Builder *b, const Moved *v, int group, Op *loop) {
  const int64_t *by = v->by[group];
  Value *at[MOST_AXES] = {0}, *stop = is_outside(b, v, by, loop), *first = NULL;
  Value *zero = build_float(b, v->handle->type.kind, 0);
  const Part *part = v->parts;
  bool has[2] = {false, false};
  uint64_t moved;
  indices_of(b, by, v->naxes, loop, at, &moved);
  while (part->group != group)
    part++;
  for (int i = 0; i < v->n; i++)
    has[v->parts[i].which] |= v->parts[i].group == group;
  if (part->branch) {
    const Slice condition = {.top = v->loop->regions[0]};
    ValueMap map = iteration(v, at);
    copy_slice(b, &condition, part->branch->operands[0], &map);
    first = map_value(&map, part->branch->operands[0]);
    if (!has[0] || !has[1])
      stop = build_binary(b, OP_OR, stop, has[0] ? build_unary(b, OP_NOT, first) : first);
  }
  Op *outer = build_if_begin(b, stop), *inner = NULL;
  build_if_else(b, outer, 1, &zero);
  Value *x[2] = {NULL, NULL};
  if (has[0] && has[1]) {
    inner = build_if_begin(b, first);
    x[0] = sum_again(b, v, group, 0, at);
    build_if_else(b, inner, 1, &x[0]);
    x[1] = sum_again(b, v, group, 1, at);
    build_if_end(b, inner, 1, &x[1]);
    x[0] = inner->results[0];
  } else {
    x[0] = sum_again(b, v, group, has[1], at);
  }
  build_if_end(b, outer, 1, x);
  return outer->results[0];
}

static Op *make_collector(const Moved *v, Func *f, Value *const *stacks, int acc) {
  const LoopInfo *info = v->loop->at.loop;
  Builder b = build_into(f, v->loop->parent);
  b.loc = v->parts[0].op->loc;
  b.origin = v->parts[0].op->origin;
  const LoopSpec spec = {.nindices = v->naxes,
                         .extents = info->extents,
                         .naccs = acc >= 0,
                         .acc_inits = acc >= 0 ? &v->loop->operands[info->ncarries + acc] : NULL};
  Op *loop = build_loop_begin(&b, &spec);
  b.share_top = loop->regions[0];
  Value *sum = NULL;
  for (int g = 0; g < v->ngroups; g++) {
    Value *x = stacks[g] ? collect_group(&b, v, v->by[g], stacks[g], loop) : collect_again(&b, v, g, loop);
    sum = sum ? build_add(&b, sum, x) : x;
  }
  build_acc_add(&b, acc >= 0 ? loop_acc(loop, 0) : v->handle, sum, v->naxes, loop->regions[0]->params, 0);
  build_loop_end(&b, loop, NULL, NULL);
  op_unlink(loop);
  op_insert_after(v->loop, loop);
  return loop;
}

static bool is_moved(const int64_t *by, int naxes) {
  bool moved = false;
  for (int i = 0; i < naxes; i++)
    moved |= by[i] != 0;
  return moved;
}

/* acc: the loop's own accumulator; -1: one from around. */
static bool collect(Module *m, Func *f, Op *loop, Value *handle, int acc) {
  Moved v = {.module = m, .loop = loop, .handle = handle};
  Value *stacks[MOST_GROUPS] = {0};
  if (!find_moved(&v))
    return false;
  Value *zero = zero_before(m, loop, type_scalar(handle->type.kind));
  for (int g = 0; g < v.ngroups; g++)
    if (!is_moved(v.by[g], v.naxes) || !find_again(&v, g, &v.again[g]))
      stacks[g] = stack_group(&v, g, zero);
  for (int i = 0; i < v.n; i++)
    op_unlink(v.parts[i].op);
  Op *collector = make_collector(&v, f, stacks, acc);
  if (acc >= 0)
    hand_over_result(m, loop, acc, collector, 0);
  return true;
}

/* An accumulator from around the loop that it adds to, and that has not been tried. */
static Value *next_handle(const Op *loop, Value *const *tried, int n) {
  const Region *body = loop->regions[0];
  for (const Op *op = body->first; op; op = op->next)
    for (int w = -1; w < (op->code == OP_IF ? 2 : 0); w++)
      for (const Op *in = w < 0 ? op : op->regions[w]->first; in; in = w < 0 ? NULL : in->next) {
        bool is_new = in->code == OP_ACC_ADD && value_is_outside(in->operands[0], body);
        for (int i = 0; i < n; i++)
          is_new &= in->operands[0] != tried[i];
        if (is_new)
          return in->operands[0];
      }
  return NULL;
}

bool collect_moved(Module *m, Func *f, Op *loop) {
  enum { MOST_HANDLES = 16 };
  Value *tried[MOST_HANDLES];
  bool any = false;
  for (int acc = 0; acc < loop->at.loop->naccs; acc++)
    any |= collect(m, f, loop, loop_acc(loop, acc), acc);
  for (int n = 0; n < MOST_HANDLES && (tried[n] = next_handle(loop, tried, n)); n++)
    any |= collect(m, f, loop, tried[n], -1);
  return any;
}
