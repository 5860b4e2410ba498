/* What a direction does not move is not computed.
   Behind a tangent whose parts are listed (guard_terms.c) stand loops that make it, as those that go from bone to bone:
   in most iterations all that they compute is 0 too. Whether a tensor may differ from 0 is computed along with it:
       t = loop i carry (t = 0) { .. v = loop { t[p[i], ..] * a + s * b } .. t[i] = v }
   becomes
       t, moves = loop i carry (t = 0, moves = false) {
         m = moves[p[i]] or s != 0
         v = if m { loop { t[p[i], ..] * a + s * b } } else { 0 }
         t[i] = v, moves[i] = m }
   Of a tensor one bool for each row tells, or one for all of it; a scalar is compared. By the rule of exact zeros a
   tangent of 0 contributes 0, so this holds of products that a derivative has made. */
#include "ir/raw.h"
#include "passes/guard.h"

enum { MOST_LEAVES = 40, MOST_BRANCHES = 16, MOST_BUSY = 32, MOST_STEPS = 2000, MANY_STEPS = 32 };

typedef struct Still {
  Module *module;
  const Region *direction; /* body of the loop over directions */
  ValueMap whole;          /* tensor -> whether it may differ from 0 */
  ValueMap rows;           /* tensor -> whether each of its rows may */
  int nbranches, nbusy;
  Op *branches[MOST_BRANCHES]; /* that were made */
  const Op *busy[MOST_BUSY];   /* being looked at: what leads back to them is not known */
} Still;

/* What a value is 0 with: a scalar, a flag, or the row of a tensor. */
typedef struct Leaf {
  Value *value;
  const Op *row; /* reads the row; `value`: the flags of all rows */
  bool is_flag;
  bool is_yielded; /* by a branch, which is to tell */
} Leaf;

typedef struct Leaves {
  Still *still;
  Region *home;  /* where they are put together */
  ValueMap seen; /* values that vanish with what has been found */
  int n, steps;
  Leaf at[MOST_LEAVES];
} Leaves;

static Value *rows_of(Still *s, Value *tensor);
static Value *flag_of(Still *s, Value *v);

static bool is_seen(const Leaves *l, const Value *v) {
  const Region *r = l->home;
  while (r && r != v->region)
    r = r->owner ? r->owner->parent : NULL;
  return r;
}

static bool put_leaf(Leaves *l, Leaf leaf) {
  for (int i = 0; i < l->n; i++)
    if (l->at[i].value == leaf.value && (!leaf.row || l->at[i].row->operands[1] == leaf.row->operands[1]))
      return true;
  if (l->n == MOST_LEAVES)
    return false;
  l->at[l->n++] = leaf;
  return true;
}

/* ---- what a value vanishes with */
static bool vanishes(Leaves *l, Value *v);

static bool element_vanishes(Leaves *l, const Op *read) {
  Value *x = read->operands[0], *flags = map_get(&l->still->whole, x);
  if (flags && is_seen(l, flags))
    return put_leaf(l, (Leaf){.value = flags, .is_flag = true});
  flags = is_seen(l, read->operands[1]) ? rows_of(l->still, x) : NULL;
  if (flags && is_seen(l, flags))
    return put_leaf(l, (Leaf){.value = flags, .row = read});
  if (!read->results[0]->type.rank && is_seen(l, read->results[0]))
    return put_leaf(l, (Leaf){.value = read->results[0]});
  if (x->def && (x->def->code == OP_IF || x->def->code == OP_LOOP) && (flags = flag_of(l->still, x)) &&
      is_seen(l, flags))
    return put_leaf(l, (Leaf){.value = flags, .is_flag = true});
  return vanishes(l, x);
}

static bool either_vanishes(Leaves *l, Value *x, Value *y) {
  const int n = l->n;
  if (vanishes(l, x))
    return true;
  l->n = n;
  l->seen = (ValueMap){.arena = l->still->module->arena};
  return vanishes(l, y);
}

static bool loop_is_parallel(const Op *op) {
  return op->code == OP_LOOP && !op->at.loop->ncarries && !op->at.loop->naccs && op->at.loop->nindices;
}

static bool vanishes_by_operands(Leaves *l, const Value *v) {
  const Op *op = v->def;
  Value *const *x = op->operands;
  switch (op->code) {
  case OP_FULL:
  case OP_NEG:
  case OP_DIVZ: return vanishes(l, x[0]);
  case OP_MUL:
    if (!op->origin)
      return false; /* fallthrough */
  case OP_MULZ: return either_vanishes(l, x[0], x[1]);
  case OP_ADD:
  case OP_SUB:
  case OP_UPDATE: return vanishes(l, x[0]) && vanishes(l, x[1]);
  case OP_SELECT: return vanishes(l, x[1]) && vanishes(l, x[2]);
  case OP_INDEX: return element_vanishes(l, op);
  case OP_IF: return !v->type.rank && is_seen(l, v) && put_leaf(l, (Leaf){.value = (Value *)v, .is_yielded = true});
  case OP_LOOP:
    return loop_is_parallel(op) && op->at.loop->outs[v->index] <= OUT_SUM &&
           vanishes(l, op->regions[0]->yields[v->index]);
  default: return false;
  }
}

static bool vanishes(Leaves *l, Value *v) {
  if (value_is_zero(v) || map_get(&l->seen, v))
    return true;
  if (!v->def || !kind_is_float(v->type.kind) || value_is_outside(v, l->still->direction) || l->steps++ == MOST_STEPS)
    return false;
  Value *flag = v->type.rank ? map_get(&l->still->whole, v) : NULL;
  if (flag && is_seen(l, flag))
    return put_leaf(l, (Leaf){.value = flag, .is_flag = true});
  if (!vanishes_by_operands(l, v))
    return false;
  map_put(&l->seen, v, v);
  return true;
}

/* ---- building */
static Value *flag_of_yields(const Leaves *of, Op *branch);

/* The first one that a branch yields: that tells of all of them. */
static bool is_first_of_branch(const Leaves *l, int at) {
  for (int i = 0; i < at; i++)
    if (l->at[i].is_yielded && l->at[i].value->def == l->at[at].value->def)
      return false;
  return true;
}

static Value *build_any(Builder *b, const Leaves *l) {
  Value *any = build_int(b, KIND_BOOL, 0);
  for (int i = 0; i < l->n; i++) {
    Value *one = l->at[i].value;
    if (l->at[i].is_yielded && !is_first_of_branch(l, i))
      continue;
    if (l->at[i].is_yielded)
      one = flag_of_yields(l, one->def);
    else if (l->at[i].row)
      one = build_index(b, one, 1, &l->at[i].row->operands[1], l->at[i].row->at.checks & 1);
    else if (!l->at[i].is_flag)
      one = build_binary(b, OP_NE, one, build_number(b, one->type.kind, 0));
    any = build_binary(b, OP_OR, any, one);
  }
  return any;
}

/* ---- what serves a branch alone goes into it */
static void count_uses(const Region *r, intptr_t step);

static void count_use(Value *v, void *arg) {
  v->note = (void *)((intptr_t)v->note + *(intptr_t *)arg);
}

static void count_uses_of_op(const Op *op, intptr_t step) {
  for (int i = 0; i < op->noperands; i++)
    count_use(op->operands[i], &step);
  for (int i = 0; i < op->nresults; i++)
    for (int k = 0; k < op->results[i]->type.rank; k++)
      size_values(op->results[i]->type.dims[k], count_use, &step);
  if (op->code == OP_SIZE)
    size_values(op->at.size, count_use, &step);
  for (int i = 0; op->code == OP_LOOP && i < op->at.loop->nindices; i++)
    size_values(op->at.loop->extents[i], count_use, &step);
  for (int i = 0; i < op->nregions; i++)
    count_uses(op->regions[i], step);
}

static void count_uses(const Region *r, intptr_t step) {
  for (const Op *op = r->first; op; op = op->next)
    count_uses_of_op(op, step);
  for (int i = 0; i < r->nyields; i++)
    count_use(r->yields[i], &step);
}

static bool may_sink(const Op *op) {
  if (op->nregions || !op->nresults ||
      (op_info[op->code].effect != EFFECT_PURE && op->code != OP_INDEX && op->code != OP_UPDATE) ||
      ((op->code == OP_INDEX || op->code == OP_UPDATE) && op->at.checks))
    return false;
  for (int i = 0; i < op->nresults; i++)
    if (op->results[i]->note)
      return false;
  return true;
}

static void sink_into(Op *branch) {
  Region *r = branch->parent, *into = branch->regions[0];
  for (Op *op = r->first; op; op = op->next)
    for (int i = 0; i < op->nresults; i++)
      op->results[i]->note = NULL;
  count_uses(r, 1);
  for (Op *op = r->first; op; op = op->next)
    for (int i = 0; i < op->nresults; i++)
      if (!op->results[i]->note)
        op->results[i]->note = (void *)(intptr_t)-1; /* nobody's, and so not the branch's */
  count_uses(into, -1);
  for (Op *op = branch->prev, *before; op; op = before) {
    before = op->prev;
    if (!may_sink(op))
      continue;
    count_uses_of_op(op, -1);
    op_unlink(op);
    if (into->first)
      op_insert_before(into->first, op);
    else
      region_append(into, op);
  }
}

/* ---- branches around what may be 0 */
/* A branch that yields what an operation makes, or zeros. The operation's values become the branch's, so that nobody
   who reads them is changed. */
static Op *put_branch(Still *s, Op *op, Value *flag) {
  Module *m = s->module;
  Op *branch = op_new(m, OP_IF, 1, op->nresults, 2);
  branch->operands[0] = flag;
  branch->loc = op->loc;
  branch->origin = op->origin;
  Value **values = op->results;
  op->results = branch->results;
  branch->results = values;
  for (int i = 0; i < branch->nresults; i++) {
    op_set_result(m, op, i, values[i]->type, values[i]->name);
    values[i]->def = branch;
    map_put(&s->whole, values[i], flag);
  }
  for (int i = 0; i < 2; i++)
    branch->regions[i] = region_new(m, op->parent->func, branch);
  region_set_yields(m, branch->regions[0], op->nresults, op->results);
  Builder b = build_aside(branch->regions[1]);
  Value **zeros = NEW_ARRAY(m->arena, Value *, op->nresults);
  for (int i = 0; i < op->nresults; i++)
    zeros[i] = build_zeros(&b, values[i]->type);
  build_settle(&b, branch->regions[1], NULL);
  region_set_yields(m, branch->regions[1], op->nresults, zeros);
  s->branches[s->nbranches++] = branch;
  return branch;
}

/* Left out, it is missed by nobody but who reads its results: it adds to nothing and ends no call. An index that is
   tested by a leaf is tested all the same. */
static bool may_be_left_out(const Leaves *l, const Region *r) {
  for (const Op *op = r->first; op; op = op->next) {
    bool harmless = op_info[op->code].effect == EFFECT_PURE || op->code == OP_LOOP || op->code == OP_IF ||
                    (op_info[op->code].group == GROUP_ELEM && kind_is_float(op->results[0]->type.kind));
    if (op->code == OP_INDEX || op->code == OP_UPDATE)
      harmless = !op->at.checks;
    for (int i = 0; !harmless && op->code == OP_INDEX && op->at.checks == 1 && i < l->n; i++) {
      const Op *row = l->at[i].row;
      harmless = row && row->at.checks & 1 && row->operands[1] == op->operands[1] &&
                 row->operands[0]->type.dims[0] == op->operands[0]->type.dims[0];
    }
    if (!harmless)
      return false;
    for (int i = 0; i < op->nregions; i++)
      if (!may_be_left_out(l, op->regions[i]))
        return false;
  }
  return true;
}

/* At least one iteration runs, so that what a leaf tests is tested in any case. */
static bool runs(const Op *loop) {
  int64_t extent;
  for (int i = 0; i < loop->at.loop->nindices; i++)
    if (!size_is_const(loop->at.loop->extents[i], &extent) || extent < 1)
      return false;
  return true;
}

/* What leaves test is tested by what stands beside them. */
static bool tests_no_more(const Leaves *l) {
  for (int i = 0; i < l->n; i++)
    if (l->at[i].row && l->at[i].row->at.checks && !is_seen(l, l->at[i].row->results[0]))
      return false;
  return true;
}

static Value *flag_of_loop(Still *s, Op *loop) {
  Leaves l = {.still = s, .home = loop->parent, .seen = {.arena = s->module->arena}};
  for (int i = 0; i < loop->nresults; i++)
    if (loop->at.loop->outs[i] != OUT_STACK || !vanishes(&l, loop->regions[0]->yields[i]))
      return NULL;
  if (s->nbranches == MOST_BRANCHES || !may_be_left_out(&l, loop->regions[0]) || !(runs(loop) || tests_no_more(&l)))
    return NULL;
  Builder b = build_aside(loop->parent);
  b.loc = loop->loc;
  Value *flag = build_any(&b, &l);
  build_settle(&b, loop->parent, loop);
  Op *branch = put_branch(s, loop, flag);
  op_insert_after(loop, branch);
  op_unlink(loop);
  region_append(branch->regions[0], loop);
  return flag;
}

/* A tensor that is put together from scalars; where they are many, these go into a branch. */
static Value *flag_of_scalars(Still *s, Op *op) {
  Value *v = op->results[0];
  Leaves l = {.still = s, .home = v->region, .seen = {.arena = s->module->arena}};
  if (op->nresults != 1 || !vanishes(&l, v) || !tests_no_more(&l))
    return NULL;
  Builder b = build_aside(v->region);
  b.loc = op->loc;
  Value *flag = build_any(&b, &l);
  Op *const next = op->next;
  build_settle(&b, v->region, next);
  if (s->nbranches == MOST_BRANCHES || l.steps < MANY_STEPS)
    return flag;
  Op *branch = put_branch(s, op, flag);
  if (next)
    op_insert_before(next, branch);
  else
    region_append(v->region, branch);
  return flag;
}

static bool is_busy(const Still *s, const Op *op) {
  for (int i = 0; i < s->nbusy; i++)
    if (s->busy[i] == op)
      return true;
  return s->nbusy == MOST_BUSY;
}

/* One more result of the branch, a bool. */
static Value *add_flag(Module *m, Op *branch, Value *const *flags) {
  for (int w = 0; w < 2; w++) {
    Region *r = branch->regions[w];
    Value **yields = NEW_ARRAY(m->arena, Value *, r->nyields + 1);
    for (int i = 0; i < r->nyields; i++)
      yields[i] = r->yields[i];
    yields[r->nyields] = flags[w];
    region_set_yields(m, r, r->nyields + 1, yields);
  }
  Value **results = NEW_ARRAY(m->arena, Value *, branch->nresults + 1);
  for (int i = 0; i < branch->nresults; i++)
    results[i] = branch->results[i];
  branch->results = results;
  branch->nresults++;
  return op_set_result(m, branch, branch->nresults - 1, type_scalar(KIND_BOOL), NULL);
}

static Value *flag_of_branch(Still *s, Op *branch, int result) {
  Value *flags[2];
  for (int w = 0; w < 2; w++) {
    Region *r = branch->regions[w];
    Value *yield = r->yields[result];
    flags[w] = value_is_zero(yield) ? NULL : flag_of(s, yield);
    if (flags[w])
      continue;
    Builder b = build_aside(r);
    flags[w] = build_int(&b, KIND_BOOL, !value_is_zero(yield));
    build_settle(&b, r, NULL);
  }
  return add_flag(s->module, branch, flags);
}

/* What a side yields for the leaves goes under a branch inside. */
static void put_yields_under(Still *s, Region *r, const Leaves *of, const Op *branch, Value *flag) {
  Module *m = s->module;
  Op *inner = op_new(m, OP_IF, 1, of->n, 2);
  Value **yields = NEW_ARRAY(m->arena, Value *, of->n), **zeros = NEW_ARRAY(m->arena, Value *, of->n);
  int n = 0;
  inner->operands[0] = flag;
  inner->loc = branch->loc;
  inner->origin = branch->origin;
  for (int i = 0; i < 2; i++)
    inner->regions[i] = region_new(m, r->func, inner);
  Builder b = build_aside(inner->regions[1]);
  for (int i = 0; i < of->n; i++) {
    if (!of->at[i].is_yielded || of->at[i].value->def != branch)
      continue;
    Value **yield = &r->yields[of->at[i].value->index];
    yields[n] = *yield;
    zeros[n] = build_zeros(&b, (*yield)->type);
    *yield = op_set_result(m, inner, n++, (*yield)->type, NULL);
  }
  inner->nresults = n;
  build_settle(&b, inner->regions[1], NULL);
  region_set_yields(m, inner->regions[0], n, yields);
  region_set_yields(m, inner->regions[1], n, zeros);
  region_append(r, inner);
  s->branches[s->nbranches++] = inner;
}

static Value *flag_of_yields(const Leaves *of, Op *branch) {
  Still *s = of->still;
  Value *flags[2];
  const bool known = !is_busy(s, branch);
  if (known)
    s->busy[s->nbusy++] = branch;
  for (int w = 0; w < 2; w++) {
    Region *r = branch->regions[w];
    Leaves l = {.still = s, .home = r, .seen = {.arena = s->module->arena}};
    bool all = known;
    for (int i = 0; all && i < of->n; i++)
      if (of->at[i].is_yielded && of->at[i].value->def == branch)
        all = vanishes(&l, r->yields[of->at[i].value->index]);
    all = all && tests_no_more(&l);
    Builder b = build_aside(r);
    flags[w] = all ? build_any(&b, &l) : build_int(&b, KIND_BOOL, 1);
    build_settle(&b, r, NULL);
    if (all && l.steps >= MANY_STEPS && s->nbranches < MOST_BRANCHES)
      put_yields_under(s, r, of, branch, flags[w]);
  }
  s->nbusy -= known;
  return add_flag(s->module, branch, flags);
}

/* Whether a tensor may differ from 0, known where the tensor is; NULL: it always may. */
static Value *flag_of(Still *s, Value *v) {
  Value *flag = map_get(&s->whole, v);
  Op *op = v->def;
  if (flag || !op || value_is_outside(v, s->direction) || is_busy(s, op))
    return flag;
  s->busy[s->nbusy++] = op;
  if (op->code == OP_IF)
    flag = flag_of_branch(s, op, v->index);
  else
    flag = loop_is_parallel(op) ? flag_of_loop(s, op) : flag_of_scalars(s, op);
  s->nbusy--;
  if (flag)
    map_put(&s->whole, v, flag);
  return flag;
}

/* ---- rows */
/* Carry k of a loop starts as 0, and each iteration replaces its own row, no more: what the row becomes. */
static Value *replaced_row(const Op *loop, int k) {
  const LoopInfo *info = loop->at.loop;
  const Value *next = loop->regions[0]->yields[k];
  const Op *op = next->def;
  if (info->naccs || info->checkpoint || !value_is_zero(loop->operands[k]) || !op || op->code != OP_UPDATE ||
      op->noperands != 3 || op->at.checks || op->operands[0] != loop_carry(loop, k) ||
      op->operands[2] != loop_index(loop, 0) || op->parent != loop->regions[0] || next->type.rank < 2)
    return NULL;
  return op->operands[1];
}

/* One more carry of a finished loop; its next value is given later. */
static Value *add_carry(Module *m, Op *loop, Value *init) {
  Value **results = loop->results;
  const int nresults = loop->nresults, k = loop->at.loop->ncarries;
  Value *carry = loop_add_carry(m, loop, init);
  for (int i = 0; i < nresults; i++) {
    loop->results[i < k ? i : i + 1] = results[i];
    results[i]->index = i < k ? i : i + 1;
  }
  op_set_result(m, loop, k, init->type, NULL);
  return carry;
}

static void yield_carry(Module *m, Op *loop, int k, Value *next) {
  Region *r = loop->regions[0];
  Value **yields = NEW_ARRAY(m->arena, Value *, r->nyields + 1);
  for (int i = 0; i < r->nyields; i++)
    yields[i < k ? i : i + 1] = r->yields[i];
  yields[k] = next;
  region_set_yields(m, r, r->nyields + 1, yields);
}

static Value *rows_of_carry(Still *s, Op *loop, int k) {
  Module *m = s->module;
  Value *row = replaced_row(loop, k), *tensor = loop->results[k];
  if (!row)
    return NULL;
  Builder b = build_aside(loop->parent);
  Value *init = build_zeros(&b, type_tensor(m, KIND_BOOL, 1, tensor->type.dims));
  build_settle(&b, loop->parent, loop);
  const int at = loop->at.loop->ncarries;
  Value *flags = add_carry(m, loop, init);
  yield_carry(m, loop, at, flags);
  map_put(&s->rows, loop_carry(loop, k), flags);
  map_put(&s->rows, tensor, loop->results[at]);
  Value *flag = flag_of(s, row);
  b = build_aside(loop->regions[0]);
  Value *index = loop_index(loop, 0);
  Value *next = build_update(&b, flags, flag ? flag : build_int(&b, KIND_BOOL, 1), 1, &index, 0);
  build_settle(&b, loop->regions[0], NULL);
  loop->regions[0]->yields[at] = next;
  return map_get(&s->rows, tensor);
}

static Value *rows_of(Still *s, Value *tensor) {
  Value *flags = map_get(&s->rows, tensor);
  if (flags || value_is_outside(tensor, s->direction))
    return flags;
  Op *loop = tensor->def ? tensor->def : tensor->region->owner;
  const int k = loop && loop->code == OP_LOOP ? tensor->index - (tensor->def ? 0 : loop->at.loop->nindices) : -1;
  if (k < 0 || k >= loop->at.loop->ncarries)
    return NULL;
  rows_of_carry(s, loop, k);
  return map_get(&s->rows, tensor);
}

/* The loop that makes the listed tensor: each iteration is jumped over whose row is 0. The rows' flags, or NULL. */
Value *guard_still(const Value *tensor) {
  Op *loop = tensor->def;
  Region *body = loop->code == OP_LOOP ? loop->regions[0] : NULL;
  Module *m = tensor->region->func->module;
  Still s = {.module = m, .direction = tensor->region, .whole = {.arena = m->arena}, .rows = {.arena = m->arena}};
  if (!body || !loop_is_parallel(loop) || loop->nresults != 1 || loop->at.loop->nindices != 1 ||
      loop->at.loop->outs[0] != OUT_STACK || !body->first)
    return NULL;
  Leaves l = {.still = &s, .home = body, .seen = {.arena = m->arena}};
  if (!vanishes(&l, body->yields[0]) || l.n != 1 || !l.at[0].row || l.at[0].row->at.checks & 1 ||
      l.at[0].row->operands[1] != loop_index(loop, 0) || !may_be_left_out(&l, body))
    return NULL;
  Builder b = build_aside(body);
  Value *flag = build_any(&b, &l);
  Op *branch = op_new(m, OP_IF, 1, 1, 2);
  branch->operands[0] = flag;
  branch->loc = loop->loc;
  branch->origin = loop->origin;
  for (int i = 0; i < 2; i++)
    branch->regions[i] = region_new(m, body->func, branch);
  for (Op *op = body->first, *next; op; op = next) {
    next = op->next;
    op_unlink(op);
    region_append(branch->regions[0], op);
  }
  region_set_yields(m, branch->regions[0], 1, body->yields);
  build_settle(&b, body, NULL);
  region_append(body, branch);
  b = build_aside(branch->regions[1]);
  Value *zeros = build_zeros(&b, body->yields[0]->type);
  build_settle(&b, branch->regions[1], NULL);
  region_set_yields(m, branch->regions[1], 1, &zeros);
  op_set_result(m, branch, 0, zeros->type, NULL);
  region_set_yields(m, body, 1, branch->results);
  for (int i = 0; i < s.nbranches; i++)
    sink_into(s.branches[i]);
  return l.at[0].value;
}
