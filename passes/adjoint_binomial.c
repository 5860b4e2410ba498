/* The reverse of a loop with checkpoint(k): k states are kept, not one for each step; see adjoint.h.

   The states kept are a stack, of which the last is the latest step's.  To get to the state of step r one is run on
   from there; on the way to it more are kept, where the binomial schedule of Griewank and Walther (Algorithm 799, 2000)
   says, which makes the number of steps that are run again the least that k states allow:

     advance to r:   while the last state kept is of a step s before r: with c places left, that state's own among them,
                     run split(r + 1 - s, c) steps, and put what comes out on the stack.
     forward:        push the first state, advance to the last step, run that.
     reverse of r:   advance to r; run step r again and walk it back; pop.

   A stack has k + 1 rows, so that the state which is used next can be pushed like any other.  The reverse sweep's loop
   carries the stacks, one for each carry. */
#include "ir/raw.h"
#include "passes/adjoint.h"

typedef struct Binomial {
  Adjoint *a;
  const Op *op;
  int n; /* carries; then the stacks are v[0 .. n - 1], the steps of their rows v[n], the last row v[n + 1] */
  Value *trips;
  Value *kept; /* k */
} Binomial;

static Value *one(Builder *b) {
  return build_int(b, KIND_I64, 1);
}

static Value *row(Builder *b, Value *stack, Value *at) {
  return build_index(b, stack, 1, &at, 0);
}

/* How many of m steps, 2 at least, to run before the next state is kept, where there is room for c, the first one's own
   among them.  With beta(c, r) = C(c + r, r) and r the least number with beta(c, r) >= m, no step need be run more than
   r times; that is so for min(beta(c, r - 1), m - beta(c - 1, r - 1)). */
static Value *split_of(Builder *b, Value *m, Value *c) {
  Value *zero = build_int(b, KIND_I64, 0), *inits[] = {zero, one(b), zero}; /* r, beta(c, r), beta(c, r - 1) */
  Op *search = build_while_begin(b, 3, inits);
  build_while_body(b, search, build_binary(b, OP_LT, search->regions[0]->params[1], m));
  Value *const *p = search->regions[1]->params;
  Value *r = build_add(b, p[0], one(b));
  Value *next[] = {r, build_div(b, build_mul(b, p[1], build_add(b, c, r)), r), p[1]};
  build_while_end(b, search, next);
  r = search->results[0];
  Value *less = search->results[2], *below = build_sub(b, build_add(b, c, r), one(b));
  Value *rest = build_div(b, build_mul(b, less, c), build_binary(b, OP_MAX, below, one(b)));
  return build_binary(b, OP_MIN, less, build_sub(b, m, rest));
}

/* `count` steps from step `first` on; states: the carries. */
static void run_steps(const Binomial *s, Value *first, Value *count, Value **states) {
  Builder *b = &s->a->b;
  Module *m = b->module;
  const Op *op = s->op;
  const Region *body = op->regions[0];
  const Size *extent = size_of_value(m, count);
  const LoopSpec spec = {.nindices = 1, .extents = &extent, .ncarries = s->n, .carry_inits = states};
  Op *loop = build_loop_begin(b, &spec);
  ValueMap map = {.arena = m->arena};
  const Region *share_top = b->share_top;
  b->share_top = loop->regions[0];
  map_put(&map, body->params[0], build_add(b, first, loop_index(loop, 0)));
  for (int j = 0; j < s->n; j++)
    map_put(&map, loop_carry(op, j), loop_carry(loop, j));
  build_copy_region(b, body, &map);
  b->share_top = share_top;
  for (int j = 0; j < s->n; j++)
    states[j] = map_value(&map, body->yields[j]);
  build_loop_end(b, loop, states, NULL);
  for (int j = 0; j < s->n; j++)
    states[j] = loop_carry_result(loop, j);
}

static void states_of_row(const Binomial *s, Value *const *v, Value **states) {
  for (int j = 0; j < s->n; j++)
    states[j] = row(&s->a->b, v[j], v[s->n + 1]);
}

static void push(const Binomial *s, Value **v, Value *const *states, Value *step) {
  Builder *b = &s->a->b;
  Value *top = v[s->n + 1] = build_add(b, v[s->n + 1], one(b));
  for (int j = 0; j < s->n; j++)
    v[j] = build_update(b, v[j], states[j], 1, &top, 0);
  v[s->n] = build_update(b, v[s->n], step, 1, &top, 0);
}

/* Until the last row is the state of step r. */
static void advance(const Binomial *s, Value *r, Value **v) {
  Builder *b = &s->a->b;
  const int n = s->n + 2;
  Value **states = NEW_ARRAY(b->module->arena, Value *, n), **next = NEW_ARRAY(b->module->arena, Value *, n);
  Op *loop = build_while_begin(b, n, v);
  Value *const *p = loop->regions[0]->params;
  build_while_body(b, loop, build_binary(b, OP_LT, row(b, p[s->n], p[s->n + 1]), r));
  p = loop->regions[1]->params;
  for (int i = 0; i < n; i++)
    next[i] = p[i];
  Value *first = row(b, p[s->n], p[s->n + 1]);
  Value *steps = build_add(b, build_sub(b, r, first), one(b)), *places = build_sub(b, s->kept, p[s->n + 1]);
  Value *count = split_of(b, steps, places);
  states_of_row(s, next, states);
  run_steps(s, first, count, states);
  push(s, next, states, build_add(b, first, count));
  build_while_end(b, loop, next);
  for (int i = 0; i < n; i++)
    v[i] = loop->results[i];
}

/* Instead of the primal loop: the stacks as they are when all steps are done, in v; the loop's results. */
static void run_forward(Binomial *s, Value **v, Value **results) {
  Builder *b = &s->a->b;
  Module *m = b->module;
  s->trips = build_size(b, s->op->at.loop->extents[0]);
  s->kept = build_size(b, s->op->at.loop->states);
  const Size *dims[MAX_RANK] = {size_add(m, s->op->at.loop->states, size_const(m, 1))};
  for (int j = 0; j < s->n; j++) {
    const Type t = s->op->operands[j]->type;
    for (int i = 0; i < t.rank; i++)
      dims[1 + i] = t.dims[i];
    v[j] = build_zeros(b, type_tensor(m, t.kind, 1 + t.rank, dims));
  }
  v[s->n] = build_zeros(b, type_tensor(m, KIND_I64, 1, dims));
  v[s->n + 1] = build_int(b, KIND_I64, -1);
  push(s, v, s->op->operands, build_int(b, KIND_I64, 0));
  advance(s, build_sub(b, s->trips, one(b)), v);
  Value *first = row(b, v[s->n], v[s->n + 1]);
  states_of_row(s, v, results);
  run_steps(s, first, build_sub(b, s->trips, first), results);
}

/* The operations built by `run_forward` take the place of the loop; its results are renamed when all is done. */
static void replace_primal(Binomial *s, Op *op, Value **v) {
  Builder *b = &s->a->b;
  Module *m = b->module;
  Region *here = b->region;
  Value **results = NEW_ARRAY(m->arena, Value *, s->n + 1);
  b->region = region_new(m, s->a->func, op->parent->owner);
  run_forward(s, v, results);
  for (Op *made = b->region->first, *next; made; made = next) {
    next = made->next;
    op_unlink(made);
    op_insert_before(op, made);
  }
  b->region = here;
  for (int j = 0; j < s->n; j++)
    map_put(&s->a->replaced, op->results[j], results[j]);
  vec_push(m->arena, s->a->removed, op);
}

bool binomial_fits(const Op *op) {
  const LoopInfo *info = op->at.loop;
  if (info->checkpoint <= 0 || info->naccs || info->nouts)
    return false;
  for (int j = 0; j < info->ncarries; j++)
    if (op->operands[j]->type.rank == MAX_RANK)
      return false;
  return true;
}

/* The state of step r of carry j, in the last row of its stack. */
static Value *state_of(Adjoint *a, const Op *op, int j, Value *stack, Value *top) {
  Value *state = row(&a->b, stack, top);
  activity_mark(&a->activity, stack, loop_carry(op, j));
  activity_mark(&a->activity, state, loop_carry(op, j));
  map_put(&a->tapes, stack, state);
  return state;
}

void adjoint_binomial(Adjoint *a, Frame *f, Op *op) {
  const Region *body = op->regions[0];
  Module *m = a->module;
  Builder *b = &a->b;
  const int nc = op->at.loop->ncarries;
  Binomial s = {.a = a, .op = op, .n = nc};
  Value **v = NEW_ARRAY(m->arena, Value *, nc + 2), **carries = NEW_ARRAY(m->arena, Value *, 2 * nc + 2);
  int n = 0, *active = NEW_ARRAY(m->arena, int, nc + 1);
  replace_primal(&s, op, v);
  for (int j = 0; j < nc; j++)
    if (value_is_active(&a->activity, loop_carry(op, j))) {
      Value *bar = bar_get(f, op->results[j]);
      active[n] = j;
      carries[n++] = bar ? bar : build_zeros(b, op->results[j]->type);
    }
  for (int i = 0; i < nc + 2; i++)
    carries[n + i] = v[i];
  Value *last = build_sub(b, s.trips, one(b));
  const LoopSpec spec = {
      .nindices = 1, .extents = op->at.loop->extents, .ncarries = n + nc + 2, .carry_inits = carries};
  Op *reverse = build_loop_begin(b, &spec);
  Frame inner;
  frame_open(a, &inner, f, reverse);
  ValueMap map = {.arena = m->arena};
  Value *step = build_sub(b, last, loop_index(reverse, 0));
  for (int i = 0; i < nc + 2; i++)
    v[i] = loop_carry(reverse, n + i);
  advance(&s, step, v);
  map_put(&map, body->params[0], step);
  Value **states = NEW_ARRAY(m->arena, Value *, nc + 1);
  for (int j = 0; j < nc; j++) {
    states[j] = state_of(a, op, j, v[j], v[nc + 1]);
    map_put(&map, loop_carry(op, j), states[j]);
  }
  Op *before = b->region->last;
  frame_copy(a, &inner, body, &map);
  Op *end = b->region->last;
  for (int k = 0; k < n; k++)
    bar_add(a, &inner, map_value(&map, body->yields[active[k]]), loop_carry(reverse, k));
  if (end != before)
    adjoint_walk(a, &inner, before->next, end);
  for (int k = 0; k < n; k++) {
    Value *state = states[active[k]], *bar = bar_get(&inner, state);
    carries[k] = bar ? bar : build_zeros(b, state->type);
  }
  for (int i = 0; i < nc + 1; i++)
    carries[n + i] = v[i];
  carries[n + nc + 1] = build_sub(b, v[nc + 1], one(b));
  frame_close(a, &inner, carries);
  for (int k = 0; k < n; k++)
    bar_add(a, f, op->operands[active[k]], loop_carry_result(reverse, k));
}
