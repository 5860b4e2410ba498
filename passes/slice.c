/* Slicing: values and elements on demand; see slice.h. */
#include "passes/slice_internal.h"

enum { BUDGET = 20000, SMALL_TENSOR = 64 };

/* ---- failure */
void slice_fail(Slice *s) {
  s->failed = true;
}

/* Stands for what cannot be made. */
Value *slice_nothing(Slice *s, Type t) {
  return build_zeros(&s->b, t);
}

/* ---- envs and places */
Env *env_of(Env *e, const Value *v) {
  while (e && e->source != v->region)
    e = e->outer;
  if (!e)
    internal_error("a slice reaches a value that it does not see");
  return e;
}

Env *slice_instance(Slice *s, const Region *r, Env *outer) {
  Env *e = NEW(s->module->arena, Env);
  e->outer = outer;
  e->source = r;
  e->map = (ValueMap){.arena = s->module->arena, .outer = outer ? &outer->map : NULL};
  e->place = s->place;
  return e;
}

void slice_bind(Env *e, const Value *from, Value *to) {
  map_put(&e->map, from, to);
}

void slice_alias(Slice *s, Env *e, const Value *param, Value *v, Env *of) {
  Alias *a = NEW(s->module->arena, Alias);
  *a = (Alias){.next = e->aliases, .param = param, .value = v, .env = of, .axis = -1};
  e->aliases = a;
}

static const Alias *alias_of(const Env *e, const Value *v) {
  const Alias *a = e->aliases;
  while (a && a->param != v)
    a = a->next;
  return a;
}

/* What v is in its own env, where that is there already. */
static Value *known(const Slice *s, const Env *home, const Value *v) {
  ValueMap own = home->map;
  own.outer = NULL;
  Value *made = map_get(&own, v);
  for (const Place *p = s->place; !made && home == s->root && p; p = p->outer)
    made = map_get(&p->own, v);
  return made;
}

void slice_made(Slice *s, Env *home, const Value *v, Value *made) {
  if (s->place == home->place)
    slice_bind(home, v, made);
  else
    map_put(&s->place->own, v, made);
}

Place *place_open(Slice *s, PlaceKind kind, Op *op, Region *region) {
  Place *p = NEW(s->module->arena, Place);
  *p = (Place){.kind = kind, .outer = s->place, .region = region, .op = op, .own = {.arena = s->module->arena}};
  s->b.region = region;
  return s->place = p;
}

void place_close(Slice *s) {
  s->place = s->place->outer;
  s->b.region = s->place->region;
}

Detour detour_begin(Slice *s, Place *to) {
  const Detour from = {.place = s->place, .region = s->b.region};
  s->place = to;
  s->b.region = to->region;
  return from;
}

void detour_end(Slice *s, Detour from) {
  Place *inner = NULL; /* what is under construction in the place that the detour led to stays last there */
  for (Place *p = from.place; p != s->place; p = p->outer)
    inner = p;
  if (inner)
    op_settle_before(inner->op);
  s->place = from.place;
  s->b.region = from.region;
}

bool is_small(Type t) {
  int64_t count = 1, n;
  for (int i = 0; i < t.rank; i++) {
    if (!size_is_const(t.dims[i], &n) || n > SMALL_TENSOR)
      return false;
    count *= n > 0 ? n : 0;
    if (count > SMALL_TENSOR)
      return false;
  }
  return true;
}

/* ---- sizes */
static void find_foreign(Value *v, void *arg) {
  const Func **f = arg;
  if (*f && (v->def || v->region != (*f)->body || v->index >= (*f)->nsizes))
    *f = NULL;
}
bool size_is_of_params(const Size *size, const Func *f) {
  size_values(size, find_foreign, &f);
  return f != NULL;
}

typedef struct SizeNeed {
  Slice *s;
  Env *e;
} SizeNeed;
static const Size *needed_size(Value *v, void *arg) {
  const SizeNeed *need = arg;
  return size_of_value(need->s->module, slice_value(need->s, v, need->e));
}
const Size *slice_size(Slice *s, const Size *size, Env *e) {
  SizeNeed need = {.s = s, .e = e};
  return size_map(s->module, size, needed_size, &need);
}

static Type slice_type(Slice *s, Type t, Env *e) {
  SizeNeed need = {.s = s, .e = e};
  return type_map(s->module, t, needed_size, &need);
}

/* ---- what comes from outside */
static bool is_plain(const Value *v) {
  return v->def && (v->def->code == OP_CONST || v->def->code == OP_SIZE || v->def->code == OP_FULL);
}

/* A value from outside, for uses that no derivative flows through; others may find the same value in the root env. */
static Value *capture(Slice *s, Value *v) {
  Value *there = map_get(&s->outside, v);
  if (there)
    return there;
  for (int i = 0; i < v->type.rank; i++)
    if (!size_is_of_params(v->type.dims[i], s->source)) {
      slice_fail(s);
      return slice_nothing(s, type_scalar(v->type.kind));
    }
  Value *param = func_add_param(s->func, map_type(s->module, &s->root->map, v->type), v->name);
  map_put(&s->outside, v, param);
  vec_push(s->module->arena, s->captured, v);
  vec_push(s->module->arena, s->params, param);
  return param;
}

static Value *index_captured(Slice *s, Value *v, int n, Value *const *idx, uint64_t checks) {
  Value *there = capture(s, v);
  return s->failed ? there : build_index(&s->b, there, n, idx, checks);
}

static bool is_wrt(const Slice *s, const Value *v) {
  return !v->def && v->region == s->source->body && s->wrt[v->index];
}

/* ---- values */
typedef struct CopyNeed {
  Slice *s;
  Env *e;
  ValueMap *map;
} CopyNeed;
static void map_needed(Value *v, void *arg) {
  const CopyNeed *need = arg;
  map_put(need->map, v, slice_value(need->s, v, need->e));
}

static Value *slice_index(Slice *s, const Op *op, Env *home, bool active);

/* Numbers that are to be equal, as an element and the largest of them, are read where they are: made again in another
   loop, the one may be rounded otherwise than the other. */
static void map_compared(Value *v, CopyNeed *need) {
  if (v->def && v->def->code == OP_INDEX && kind_is_float(v->type.kind))
    map_put(need->map, v, slice_index(need->s, v->def, env_of(need->e, v), false));
  else
    map_needed(v, need);
}

void slice_plain(Slice *s, Op *op, Env *home) {
  ValueMap map = {.arena = s->module->arena};
  CopyNeed need = {.s = s, .e = home, .map = &map};
  for (int i = 0; i < op->noperands && !s->failed; i++)
    if (op->operands[i]->is_acc)
      map_put(&map, op->operands[i], map_get(&home->map, op->operands[i]));
    else if (op->code == OP_EQ || op->code == OP_NE)
      map_compared(op->operands[i], &need);
    else
      map_needed(op->operands[i], &need);
  for (int i = 0; i < op->nresults; i++)
    for (int k = 0; k < op->results[i]->type.rank && !s->failed; k++)
      size_values(op->results[i]->type.dims[k], map_needed, &need);
  if (op->code == OP_SIZE)
    size_values(op->at.size, map_needed, &need);
  if (s->failed)
    return;
  build_copy_op(&s->b, op, &map);
  for (int i = 0; i < op->nresults; i++)
    slice_made(s, home, op->results[i], map_get(&map, op->results[i]));
}

static Value *slice_index(Slice *s, const Op *op, Env *home, bool active) {
  const int n = op->noperands - 1;
  Value *idx[MAX_RANK];
  for (int i = 0; i < n; i++)
    idx[i] = slice_value(s, op->operands[1 + i], home);
  const Range loc = s->b.loc;
  s->b.loc = op->loc;
  Value *v = slice_element(s, op->operands[0], home, n, idx, op->at.checks, active);
  s->b.loc = loc;
  return v;
}

static bool reads_much(const Slice *s, const Op *op) {
  bool much = false;
  for (int i = 0; i < op->noperands; i++)
    much |= value_is_active(s->activity, op->operands[i]) && !is_small(op->operands[i]->type);
  return much;
}

static void compute(Slice *s, Value *v, Env *home) {
  Op *op = v->def;
  if (!op) { /* an iteration depends on those before, without end */
    slice_fail(s);
    return;
  }
  switch (op->code) {
  case OP_INDEX: {
    Value *made = slice_index(s, op, home, value_is_active(s->activity, v));
    slice_made(s, home, v, made);
    break;
  }
  case OP_LOOP:
  case OP_IF:
  case OP_WHILE: slice_flow_op(s, op, v->index, home); break;
  case OP_CALL:
    if (reads_much(s, op)) { /* for each of its elements the whole call would be made */
      slice_fail(s);
      break;
    }
    __attribute__((fallthrough));
  default: slice_plain(s, op, home); break;
  }
}

/* Where a value is computed: in the place of its env, or in the branch, inside of that, that asks for it. */
static Place *place_of_value(const Slice *s, const Value *v, const Env *home) {
  if (home != s->root || !v->def || v->def->nregions || v->def->code == OP_CALL)
    return home->place;
  Place *p = s->place;
  while (p != home->place && p->kind != PLACE_BRANCH)
    p = p->outer;
  return p;
}

Value *slice_value(Slice *s, Value *v, Env *e) {
  if (s->failed)
    return slice_nothing(s, v->type);
  Env *home = env_of(e, v);
  Value *made = known(s, home, v);
  if (made)
    return made;
  const Alias *alias = alias_of(home, v);
  if (alias && alias->axis >= 0)
    slice_fail(s);
  else if (alias)
    made = slice_value(s, alias->value, alias->env);
  else if (home == s->root && !value_is_active(s->activity, v) && !is_plain(v))
    made = capture(s, v);
  else if (--s->budget < 0)
    slice_fail(s);
  else {
    const Detour from = detour_begin(s, place_of_value(s, v, home));
    if (is_wrt(s, v))
      slice_made(s, home, v, slice_read(s, v, 0, NULL, 0, s->b.loc));
    else
      compute(s, v, home);
    made = s->failed ? NULL : known(s, home, v);
    detour_end(s, from);
  }
  return made ? made : slice_nothing(s, v->type);
}

/* ---- branches */
Op *slice_if(Slice *s, Value *cond) {
  Op *op = build_if_begin(&s->b, cond);
  place_open(s, PLACE_BRANCH, op, op->regions[0]);
  return op;
}

void slice_else(Slice *s, Op *op) {
  const Place *rival = s->place;
  place_close(s);
  place_open(s, PLACE_BRANCH, op, op->regions[1])->rival = rival;
}

static Record *record_of(Place *p, const Site *site) {
  for (int i = 0; i < p->records.n; i++)
    if (p->records.at[i].site == site)
      return &p->records.at[i];
  return NULL;
}

/* What a branch yields for a site: where it does not read it, no column. */
static void yield_record(Slice *s, const Place *branch, const Record *own, const Record *like, Value **yields) {
  Builder b = s->b;
  b.region = branch->region;
  yields[0] = own ? own->value : build_zeros(&b, like->value->type);
  yields[1] = own ? own->column : build_full(&b, like->column->type, build_int(&b, KIND_I64, -1));
}

Value *slice_endif(Slice *s, Op *op, Value *yes, Value *no) {
  Arena *a = s->module->arena;
  Place *no_place = s->place, *yes_place = (Place *)(uintptr_t)no_place->rival;
  if (s->failed) {
    place_close(s);
    return slice_nothing(s, yes->type);
  }
  VEC(Record) all = {0};
  for (int i = 0; i < yes_place->records.n; i++)
    vec_push(a, all, yes_place->records.at[i]);
  for (int i = 0; i < no_place->records.n; i++)
    if (!record_of(yes_place, no_place->records.at[i].site))
      vec_push(a, all, no_place->records.at[i]);
  const bool gathers = s->mode == SLICE_GATHER;
  const int n = 1 + (gathers ? 2 * all.n : 0);
  Value **yields = NEW_ARRAY(a, Value *, n), **others = NEW_ARRAY(a, Value *, n);
  yields[0] = yes;
  others[0] = no;
  for (int i = 0; gathers && i < all.n; i++) {
    yield_record(s, yes_place, record_of(yes_place, all.at[i].site), &all.at[i], yields + 1 + 2 * i);
    yield_record(s, no_place, record_of(no_place, all.at[i].site), &all.at[i], others + 1 + 2 * i);
  }
  place_close(s);
  build_if_else(&s->b, op, n, yields);
  build_if_end(&s->b, op, n, others);
  for (int i = 0; i < all.n; i++) {
    Record r = all.at[i];
    if (gathers) {
      r.value = op->results[1 + 2 * i];
      r.column = op->results[2 + 2 * i];
    }
    vec_push(a, s->place->records, r);
  }
  return op->results[0];
}

/* ---- elements */
/* 1: the same number whenever both are there; -1: never the same; 0: not known. */
static int compare(Module *m, Value *a, Value *b) {
  if (a == b)
    return 1;
  const Size *d = size_sub(m, size_of_value(m, a), size_of_value(m, b)), *one = size_const(m, 1);
  if (size_is(d, 0))
    return 1;
  if (size_nonnegative(m, size_sub(m, d, one)) || size_nonnegative(m, size_sub(m, size_scale(m, d, -1), one)))
    return -1;
  return 0;
}

static Value *whole_element(Slice *s, Value *v, Env *e, int n, Value *const *idx, uint64_t checks) {
  Value *whole = slice_value(s, v, e);
  return s->failed ? slice_nothing(s, type_scalar(v->type.kind)) : build_index(&s->b, whole, n, idx, checks);
}

static Value *update_element(Slice *s, Op *op, Env *home, int n, Value *const *idx, uint64_t checks, bool active) {
  const int nu = op->noperands - 2;
  Value *at[MAX_RANK], *cond = NULL;
  if (nu > n)
    return whole_element(s, op->results[0], home, n, idx, checks);
  int same = 1;
  for (int i = 0; i < nu; i++) {
    at[i] = slice_value(s, op->operands[2 + i], home);
    const int c = s->failed ? 1 : compare(s->module, at[i], idx[i]);
    same = c < 0 || same < 0 ? -1 : c < same ? c : same;
  }
  if (same > 0)
    return slice_element(s, op->operands[1], home, n - nu, idx + nu, checks >> nu, active);
  if (same < 0)
    return slice_element(s, op->operands[0], home, n, idx, checks, active);
  if (home != s->root && is_small(op->results[0]->type))
    return whole_element(s, op->results[0], home, n, idx, checks);
  for (int i = 0; i < nu; i++)
    if (compare(s->module, at[i], idx[i]) <= 0) {
      Value *c = build_binary(&s->b, OP_EQ, at[i], idx[i]);
      cond = cond ? build_binary(&s->b, OP_AND, cond, c) : c;
    }
  Op *branch = slice_if(s, cond);
  Value *yes = slice_element(s, op->operands[1], home, n - nu, idx + nu, checks >> nu, active);
  slice_else(s, branch);
  Value *no = slice_element(s, op->operands[0], home, n, idx, checks, active);
  return slice_endif(s, branch, yes, no);
}

static Value *select_element(Slice *s, const Op *op, Env *home, int n, Value *const *idx, uint64_t checks,
                             bool active) {
  Value *cond = slice_value(s, op->operands[0], home);
  int64_t constant;
  if (s->failed)
    return slice_nothing(s, type_scalar(op->results[0]->type.kind));
  if (value_is_int_const(cond, &constant))
    return slice_element(s, op->operands[constant ? 1 : 2], home, n, idx, checks, active);
  Op *branch = slice_if(s, cond);
  Value *yes = slice_element(s, op->operands[1], home, n, idx, checks, active);
  slice_else(s, branch);
  Value *no = slice_element(s, op->operands[2], home, n, idx, checks, active);
  return slice_endif(s, branch, yes, no);
}

static Value *if_element(Slice *s, const Value *v, Env *home, int n, Value *const *idx, uint64_t checks, bool active) {
  const Op *op = v->def;
  Value *cond = slice_value(s, op->operands[0], home);
  int64_t constant;
  if (s->failed)
    return slice_nothing(s, type_scalar(v->type.kind));
  if (value_is_int_const(cond, &constant)) {
    const Region *r = op->regions[!constant];
    return slice_element(s, r->yields[v->index], slice_instance(s, r, home), n, idx, checks, active);
  }
  Op *branch = slice_if(s, cond);
  Value *yes = slice_element(s, op->regions[0]->yields[v->index], slice_instance(s, op->regions[0], home), n, idx,
                             checks, active);
  slice_else(s, branch);
  Value *no = slice_element(s, op->regions[1]->yields[v->index], slice_instance(s, op->regions[1], home), n, idx,
                            checks, active);
  return slice_endif(s, branch, yes, no);
}

/* The same place of a tensor of another shape: all indices are there. */
static Value *reshape_element(Slice *s, const Op *op, Env *home, int n, Value *const *idx, bool active) {
  Builder *b = &s->b;
  const Type from = slice_type(s, op->operands[0]->type, home), to = slice_type(s, op->results[0]->type, home);
  Value *flat = build_int(b, KIND_I64, 0), *split[MAX_RANK];
  if (s->failed)
    return slice_nothing(s, type_scalar(to.kind));
  for (int i = 0; i < n; i++)
    flat = build_add(b, build_mul(b, flat, build_size(b, to.dims[i])), idx[i]);
  for (int i = from.rank - 1; i >= 0; i--) {
    Value *extent = build_size(b, from.dims[i]);
    split[i] = i ? build_binary(b, OP_REM, flat, extent) : flat;
    flat = i ? build_div(b, flat, extent) : flat;
  }
  return slice_element(s, op->operands[0], home, from.rank, split, 0, active);
}

static Value *index_element(Slice *s, const Op *op, Env *home, int n, Value *const *idx, uint64_t checks, bool active) {
  const int first = op->noperands - 1;
  Value *all[MAX_RANK];
  for (int i = 0; i < first; i++)
    all[i] = slice_value(s, op->operands[1 + i], home);
  for (int i = 0; i < n; i++)
    all[first + i] = idx[i];
  return slice_element(s, op->operands[0], home, first + n, all, op->at.checks | checks << first, active);
}

static Value *op_element(Slice *s, Value *v, Env *home, int n, Value *const *idx, uint64_t checks, bool active) {
  Op *op = v->def;
  /* A small tensor of the block's own is made once, whole, for all its elements. */
  const bool choice = op->code == OP_IF || op->code == OP_SELECT;
  if (choice && home != s->root && is_small(v->type))
    return whole_element(s, v, home, n, idx, checks);
  switch (op->code) {
  case OP_INDEX: return index_element(s, op, home, n, idx, checks, active);
  case OP_UPDATE: return update_element(s, op, home, n, idx, checks, active);
  case OP_LOOP: return slice_loop_element(s, v, home, n, idx, checks, active);
  case OP_IF: return if_element(s, v, home, n, idx, checks, active);
  case OP_FULL:
    return n == v->type.rank ? slice_value(s, op->operands[0], home) : whole_element(s, v, home, n, idx, checks);
  case OP_RESHAPE:
    return n == v->type.rank && !checks ? reshape_element(s, op, home, n, idx, active)
                                        : whole_element(s, v, home, n, idx, checks);
  case OP_SELECT: return select_element(s, op, home, n, idx, checks, active);
  default: return whole_element(s, v, home, n, idx, checks);
  }
}

/* An element through an alias of which only some are as the alias has them. */
static bool alias_holds(Slice *s, const Alias *a, int n, Value *const *idx) {
  if (a->axis < 0)
    return true;
  if (a->axis < n && size_of_value(s->module, idx[a->axis]) == a->at)
    return true;
  slice_fail(s);
  return false;
}

Value *slice_element(Slice *s, Value *v, Env *e, int n, Value *const *idx, uint64_t checks, bool active) {
  if (!n)
    return slice_value(s, v, e);
  if (s->failed)
    return slice_nothing(s, type_scalar(v->type.kind));
  Env *home = env_of(e, v);
  Value *there = known(s, home, v);
  const Alias *alias = alias_of(home, v);
  if (there)
    return build_index(&s->b, there, n, idx, checks);
  if (alias)
    return alias_holds(s, alias, n, idx) ? slice_element(s, alias->value, alias->env, n, idx, checks, active)
                                         : slice_nothing(s, type_scalar(v->type.kind));
  if (home == s->root && (!active || !value_is_active(s->activity, v)) && !is_plain(v))
    return index_captured(s, v, n, idx, checks);
  if (is_wrt(s, v))
    return slice_read(s, v, n, idx, checks, s->b.loc);
  if (!v->def || --s->budget < 0)
    return whole_element(s, v, e, n, idx, checks);
  return op_element(s, v, home, n, idx, checks, active);
}

void slice_begin(Slice *s, Func *source, Func *func, const bool *wrt, const Activity *activity, SliceMode mode,
                 int nranges) {
  Module *m = source->module;
  *s = (Slice){.module = m,
               .mode = mode,
               .source = source,
               .func = func,
               .wrt = wrt,
               .activity = activity,
               .b = build_into(func, func->body),
               .outside = {.arena = m->arena},
               .nranges = nranges,
               .budget = BUDGET};
  s->b.loc = func->loc;
  s->place = NEW(m->arena, Place);
  *s->place = (Place){.kind = PLACE_ROOT, .region = func->body};
  s->root = slice_instance(s, source->body, NULL);
  for (int i = 0; i < source->nsizes; i++)
    slice_bind(s->root, source->body->params[i],
               func_add_param(func, type_scalar(KIND_I64), source->body->params[i]->name));
  for (int i = 0; i < nranges; i++)
    func_add_param(func, type_scalar(KIND_I64), NULL);
  func->nsizes = source->nsizes + nranges;
  s->arguments = NEW_ARRAY(m->arena, Value *, source->body->nparams + 1);
  for (int i = 0; mode == SLICE_GATHER && i < source->body->nparams; i++)
    if (wrt[i])
      s->arguments[i] = func_add_param(func, map_type(m, &s->root->map, source->body->params[i]->type),
                                       source->body->params[i]->name);
}
