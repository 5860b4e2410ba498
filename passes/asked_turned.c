/* What reads rows that are asked for, in each direction of a Jacobian, is computed for all directions at once.
       s = loop d < n { y = loop j < m stack { .. }  yield loop i < c stack { .. y[place[at[i]], k] .. } }
       jacobian = loop i < c, k, d stack { s[d, i, k] }
   becomes
       s = loop d < n { yield loop j < m stack { .. } }
       t = loop j < m, k, d stack { s[d, j, k] }
       jacobian = loop i < c stack { p = place[at[i]]  loop d < n { .. t[p, k, d] .. } }
   So where a row stands is found once, the numbers of all directions lie side by side, and the rows, no more of them
   than are read, are turned round instead of what is made of them. */
#include "ir/raw.h"
#include "passes/asked.h"

enum { MOST_TAIL = 8, MOST_BETWEEN = 64 };

typedef struct Turn {
  Module *module;
  Op *directions, *rows, *reader, *turned; /* the loops d, j, i, and that over all axes */
  int ntail;                               /* numbers of an iteration of the reader; 0: a scalar */
  Value *tail[MOST_TAIL];
} Turn;

/* ---- the shape */
static bool stacks_one(const Op *op, int nindices) {
  const LoopInfo *info = op && op->code == OP_LOOP ? op->at.loop : NULL;
  return info && info->nindices == nindices && !info->ncarries && !info->naccs && info->nouts == 1 &&
         info->outs[0] == OUT_STACK;
}

/* The numbers that an iteration of the reader yields, one by one. */
static bool find_tail(Turn *t) {
  Value *y = t->reader->regions[0]->yields[0];
  int64_t n, at;
  if (!y->type.rank)
    return true;
  if (y->type.rank != 1 || !size_is_const(y->type.dims[0], &n) || n < 1 || n > MOST_TAIL)
    return false;
  int updates = 0;
  for (const Op *op = t->reader->regions[0]->first; op; op = op->next)
    updates += op->code == OP_UPDATE;
  for (t->ntail = (int)n; y->def && y->def->code == OP_UPDATE; y = y->def->operands[0]) {
    const Op *op = y->def;
    if (op->parent != t->reader->regions[0] || op->noperands != 3 || op->at.checks ||
        !value_is_int_const(op->operands[2], &at) || at < 0 || at >= n)
      return false;
    if (!t->tail[at])
      t->tail[at] = op->operands[1];
    updates--;
  }
  if (updates) /* of something else */
    return false;
  for (int i = 0; i < t->ntail; i++)
    if (!t->tail[i])
      return false;
  return true;
}

/* jacobian = loop i, k, d { s[d, i, k] } */
static bool turns(const Op *op, const Value *s) {
  const Op *read = op->code == OP_LOOP ? op->regions[0]->first : NULL;
  const int rank = s->type.rank;
  if (!stacks_one(op, rank) || !read || read->next || read->code != OP_INDEX || read->at.checks ||
      read->noperands != rank + 1 || read->operands[0] != s || op->regions[0]->yields[0] != read->results[0])
    return false;
  for (int i = 0; i < rank; i++)
    if (read->operands[1 + i] != loop_index(op, i ? i - 1 : rank - 1) ||
        op->at.loop->extents[i ? i - 1 : rank - 1] != s->type.dims[i])
      return false;
  return true;
}

typedef struct Uses {
  const Value *value;
  int n;
  long *budget;
} Uses;

static void count_in(const Region *r, Uses *u) {
  for (const Op *op = r->first; op; op = op->next) {
    if (--*u->budget < 0)
      return;
    for (int i = 0; i < op->noperands; i++)
      u->n += op->operands[i] == u->value;
    for (int i = 0; i < op->nregions; i++)
      count_in(op->regions[i], u);
  }
  for (int i = 0; i < r->nyields; i++)
    u->n += r->yields[i] == u->value;
}

/* Nobody else reads it; what is too much to be looked through is not known. */
static bool is_read_once(const Value *v, long *budget) {
  Uses u = {.value = v, .budget = budget};
  count_in(v->region, &u);
  return u.n == 1 && *budget >= 0;
}

/* Of what directions make the reader reads nothing but the rows, at places that are none of theirs. */
typedef struct Reads {
  const Turn *turn;
  bool fit, may_fail;
} Reads;

static bool is_of_direction(const Turn *t, const Value *v) {
  return !value_is_outside(v, t->directions->regions[0]) && value_is_outside(v, t->reader->regions[0]);
}

static void look_at_read(Op *op, void *arg) {
  Reads *r = arg;
  const Turn *t = r->turn;
  for (int i = 0; i < op->noperands; i++)
    if (is_of_direction(t, op->operands[i]) && !value_is_const(op->operands[i]))
      r->fit = r->fit && i == 0 && op->code == OP_INDEX && op->operands[0] == t->rows->results[0] &&
               !op->results[0]->type.rank;
  for (int i = 0; i < op->nresults; i++)
    for (int k = 0; k < op->results[i]->type.rank; k++)
      r->fit = r->fit && size_is_outside(op->results[i]->type.dims[k], t->directions->regions[0]);
  for (int i = 0; op->code == OP_LOOP && i < op->at.loop->nindices; i++)
    r->fit = r->fit && size_is_outside(op->at.loop->extents[i], t->directions->regions[0]);
  if (op->code == OP_ACC_ADD || op->code == OP_CALL || op->code == OP_WHILE)
    r->fit = false;
  r->may_fail |= op->code == OP_REQUIRE || (op->code == OP_INDEX && op->at.checks) || op->code == OP_DIV ||
                 op->code == OP_REM || op->code == OP_MOD;
}

static bool find_turn(Turn *t, Op *rows, long *budget) {
  Op *d = rows->parent->owner;
  Value *y = d && d->code == OP_LOOP && d->regions[0]->nyields == 1 ? d->regions[0]->yields[0] : NULL;
  int64_t n;
  *t = (Turn){.module = rows->parent->func->module, .directions = d, .rows = rows, .reader = y ? y->def : NULL};
  if (!y || !stacks_one(d, 1) || !stacks_one(t->reader, 1) || t->reader->parent != d->regions[0] ||
      !stacks_one(rows, 1) || !size_is_outside(t->reader->at.loop->extents[0], d->regions[0]) ||
      !size_is_outside(rows->at.loop->extents[0], d->regions[0]) || !find_tail(t))
    return false;
  int n_after = 0;
  for (t->turned = d->next; t->turned && !turns(t->turned, d->results[0]); t->turned = t->turned->next)
    if (n_after++ == MOST_BETWEEN)
      return false;
  Reads r = {.turn = t, .fit = t->turned && is_read_once(y, budget) && is_read_once(d->results[0], budget)};
  if (r.fit)
    region_walk(t->reader->regions[0], look_at_read, &r);
  return r.fit && (!r.may_fail || (size_is_const(d->at.loop->extents[0], &n) && n > 0));
}

/* ---- the change */
/* t[j, .., d] = s[d, j, ..] */
static Value *build_turned(Builder *b, Value *s) {
  const OutKind stack = OUT_STACK;
  const int rank = s->type.rank;
  const Size *extents[MAX_RANK];
  Value *index[MAX_RANK];
  for (int i = 0; i < rank; i++)
    extents[i] = s->type.dims[i + 1 < rank ? i + 1 : 0];
  const LoopSpec spec = {.nindices = rank, .extents = extents, .nouts = 1, .outs = &stack};
  Op *loop = build_loop_begin(b, &spec);
  for (int i = 0; i < rank; i++)
    index[i] = loop_index(loop, i ? i - 1 : rank - 1);
  Value *element = build_index(b, s, rank, index, 0);
  build_loop_end(b, loop, NULL, &element);
  return loop_out(loop, 0);
}

typedef struct Inside {
  const Turn *turn;
  Value *turned, *direction;
} Inside;

/* y[p, k] is t[p, k, d]. */
static bool read_turned(Builder *b, const Op *op, ValueMap *map, void *arg) {
  const Inside *in = arg;
  Value *index[MAX_RANK + 1];
  if (op->code != OP_INDEX || op->operands[0] != in->turn->rows->results[0])
    return false;
  for (int i = 1; i < op->noperands; i++)
    index[i - 1] = map_value(map, op->operands[i]);
  index[op->noperands - 1] = in->direction;
  map_put(map, op->results[0], build_index(b, in->turned, op->noperands, index, op->at.checks));
  return true;
}

/* Marks what depends on the direction, by the values' notes. */
static bool depends(const Turn *t, const Region *r);

static bool op_depends(const Turn *t, const Op *op) {
  bool yes = false;
  for (int i = 0; i < op->noperands; i++)
    yes |= op->operands[i] == t->rows->results[0] ||
           (!is_of_direction(t, op->operands[i]) && !value_is_outside(op->operands[i], t->reader->regions[0]) &&
            op->operands[i]->note == t);
  for (int i = 0; i < op->nregions; i++)
    yes |= depends(t, op->regions[i]);
  for (int i = 0; i < op->nresults; i++)
    op->results[i]->note = yes ? (void *)(intptr_t)t : NULL;
  return yes;
}

static bool depends(const Turn *t, const Region *r) {
  bool yes = false;
  for (int i = 0; i < r->nparams; i++)
    r->params[i]->note = NULL;
  for (const Op *op = r->first; op; op = op->next)
    yes |= op_depends(t, op);
  return yes;
}

static void copy_reader(const Turn *t, Builder *b, ValueMap *map, bool dependent) {
  const Region *body = t->reader->regions[0];
  for (const Op *op = body->first; op; op = op->next) {
    const bool is_chain = op->nresults == 1 && op->results[0]->type.rank && op->code == OP_UPDATE;
    if (!is_chain && op_depends(t, op) == dependent)
      build_copy_op(b, op, map);
  }
}

static Value *tail_of(const Turn *t, int i) {
  return t->ntail ? t->tail[i] : t->reader->regions[0]->yields[0];
}

/* ---- numbers that are made alike */
/* What numbers of the tail are made of, at one place in each of them; built once, with an index k where they have the
   constants 0, 1, .. . In a first run nothing is built: it tells whether all of it can be. */
typedef struct Alike {
  const Turn *turn;
  Builder *builder; /* NULL: nothing is built */
  const ValueMap *map;
  Value *turned, *number, *direction;
  int steps;
} Alike;

enum { MOST_STEPS = 200 };

static bool is_counted(Value *const *v, int n) {
  int64_t at;
  for (int i = 0; i < n; i++)
    if (v[i]->type.kind != KIND_I64 || !value_is_int_const(v[i], &at) || at != i)
      return false;
  return n > 1;
}

static bool is_one(Value *const *v, int n) {
  for (int i = 1; i < n; i++)
    if (v[i] != v[0])
      return false;
  return true;
}

static Value *build_alike(const Alike *a, const Op *op, Value *const *x) {
  Builder *b = a->builder;
  b->origin = op->origin;
  b->loc = op->loc;
  if (op->code == OP_INDEX && op->operands[0] == a->turn->rows->results[0]) {
    Value *index[MAX_RANK + 1];
    for (int i = 1; i < op->noperands; i++)
      index[i - 1] = x[i];
    index[op->noperands - 1] = a->direction;
    return build_index(b, a->turned, op->noperands, index, op->at.checks);
  }
  if (op->code == OP_INDEX)
    return build_index(b, x[0], op->noperands - 1, x + 1, op->at.checks);
  return op->noperands == 1   ? build_unary(b, op->code, x[0])
         : op->noperands == 2 ? build_binary(b, op->code, x[0], x[1])
                              : build_select(b, x[0], x[1], x[2]);
}

/* NULL where they are not alike. */
static Value *find_alike(Alike *a, Value *const *v, int n) {
  const Op *op = v[0]->def;
  Value *x[MAX_RANK + 1] = {0};
  if (is_one(v, n) && (value_is_outside(v[0], a->turn->reader->regions[0]) || v[0]->note != a->turn))
    return map_value(a->map, v[0]);
  if (is_counted(v, n))
    return a->builder ? a->number : v[0];
  if (!op || a->steps++ == MOST_STEPS || op->noperands > MAX_RANK || op->nresults != 1 || op->results[0]->type.rank ||
      !(op->code == OP_INDEX || op->code == OP_SELECT ||
        (op_info[op->code].group == GROUP_ELEM && op->noperands <= 2 && op->code != OP_CAST && op->code != OP_POWI &&
         op->code != OP_POLYGAMMA)))
    return NULL;
  for (int k = 1; k < n; k++)
    if (!v[k]->def || v[k]->def->code != op->code || v[k]->def->noperands != op->noperands ||
        v[k]->type.kind != op->results[0]->type.kind || (op->code == OP_INDEX && v[k]->def->at.checks != op->at.checks))
      return NULL;
  for (int i = 0; i < op->noperands; i++) {
    Value *of[MOST_TAIL];
    for (int k = 0; k < n; k++)
      of[k] = v[k]->def->operands[i];
    const bool is_rows = op->code == OP_INDEX && i == 0 && is_one(of, n) && of[0] == a->turn->rows->results[0];
    x[i] = is_rows ? of[0] : find_alike(a, of, n);
    if (!x[i])
      return NULL;
  }
  return a->builder ? build_alike(a, op, x) : v[0];
}

/* As a nest over the numbers and the directions, whose elements are written where they are to be. */
static Value *build_nest_of_all(const Turn *t, Builder *b, Value *turned, const ValueMap *map) {
  const OutKind stack = OUT_STACK;
  Alike a = {.turn = t, .map = map, .turned = turned};
  if (!t->ntail || !find_alike(&a, t->tail, t->ntail))
    return NULL;
  const Size *extents[] = {t->reader->regions[0]->yields[0]->type.dims[0], t->directions->at.loop->extents[0]};
  const LoopSpec spec = {.nindices = 2, .extents = extents, .nouts = 1, .outs = &stack};
  Op *loop = build_loop_begin(b, &spec);
  a = (Alike){.turn = t,
              .builder = b,
              .map = map,
              .turned = turned,
              .number = loop_index(loop, 0),
              .direction = loop_index(loop, 1)};
  Value *number = find_alike(&a, t->tail, t->ntail);
  build_loop_end(b, loop, NULL, &number);
  return loop_out(loop, 0);
}

/* One number after the other: each is a row over the directions. */
static Value *build_rows_of_all(const Turn *t, Builder *b, Value *turned, ValueMap *map) {
  const int n = t->ntail ? t->ntail : 1;
  const Size *extent = t->directions->at.loop->extents[0];
  const OutKind outs[MOST_TAIL] = {OUT_STACK};
  Value *numbers[MOST_TAIL];
  const LoopSpec spec = {.nindices = 1, .extents = &extent, .nouts = n, .outs = outs};
  Op *loop = build_loop_begin(b, &spec);
  Inside in = {t, turned, loop_index(loop, 0)};
  b->hook = read_turned;
  b->hook_arg = &in;
  copy_reader(t, b, map, true);
  b->hook = NULL;
  for (int i = 0; i < n; i++)
    numbers[i] = map_value(map, tail_of(t, i));
  build_loop_end(b, loop, NULL, numbers);
  if (!t->ntail)
    return loop_out(loop, 0);
  const Size *dims[] = {t->reader->regions[0]->yields[0]->type.dims[0], extent};
  Value *all = build_zeros(b, type_tensor(t->module, tail_of(t, 0)->type.kind, 2, dims));
  for (int i = 0; i < n; i++) {
    Value *at = build_int(b, KIND_I64, i);
    all = build_update(b, all, loop_out(loop, i), 1, &at, 0);
  }
  return all;
}

static void turn(const Turn *t) {
  Module *m = t->module;
  Op *d = t->directions;
  Value *s = d->results[0], *y = t->rows->results[0];
  const Size *dims[MAX_RANK] = {d->at.loop->extents[0]};
  for (int i = 0; i < y->type.rank; i++)
    dims[1 + i] = y->type.dims[i];
  s->type = type_tensor(m, y->type.kind, y->type.rank + 1, dims);
  d->regions[0]->yields[0] = y;
  Builder b = build_aside(d->parent);
  b.loc = t->turned->loc;
  Value *turned = build_turned(&b, s);
  const OutKind stack = OUT_STACK;
  const LoopSpec spec = {.nindices = 1, .extents = t->reader->at.loop->extents, .nouts = 1, .outs = &stack};
  Op *loop = build_loop_begin(&b, &spec);
  ValueMap map = {.arena = m->arena};
  loop_index(t->reader, 0)->note = NULL;
  map_put(&map, loop_index(t->reader, 0), loop_index(loop, 0));
  copy_reader(t, &b, &map, false);
  Value *all = build_nest_of_all(t, &b, turned, &map);
  if (!all)
    all = build_rows_of_all(t, &b, turned, &map);
  build_loop_end(&b, loop, NULL, &all);
  build_settle(&b, d->parent, t->turned);
  Value *result = t->turned->results[0];
  t->turned->results[0] = loop->results[0];
  loop->results[0]->def = t->turned;
  loop->results[0] = result;
  result->def = loop;
  op_unlink(t->turned);
}

void asked_turn(Op *rows, long *budget) {
  Turn t;
  if (find_turn(&t, rows, budget))
    turn(&t);
}
