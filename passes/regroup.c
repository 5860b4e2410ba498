/* What a linear map that does not change is applied to is added up first, and the map applied once.
       loop i acc(A) { loop r { s = ..; loop c { acc_add A[c], s * w[r, c] } } }
   is, but for rounding,
       loop i acc(S) { loop r { s = ..; acc_add S[r], s } }
       loop r acc(A) { loop c { acc_add A[c], S[r] * w[r, c] } }
   as the slopes of a point's coordinates less a centre, through a matrix of the component, are: an iteration of the
   many adds one number where it multiplied and added a row.

   The factors besides s, the indices of the addition and the extents of the loops that it stands in are made of the
   indices of these loops and of what is outside of the loop over i: they are copied behind it.  S has no more elements
   than A.  Once there is an S, other additions that are linear in s go by it too.  Not under --strict.
   Additions to a tensor of an iteration that goes on into A: regroup_through.c. */
#include "passes/regroup.h"
#include "ir/raw.h"
#include "passes/gather.h"
#include "passes/passes_internal.h"

enum { MOST_LOOPS = 8, MOST_STEPS = 64, MOST_GROUPS = 32, SHORTEST = 8 };

/* ---- what can be copied behind the loop */
/* The loops that r stands in below the body, the outermost first: find_in goes into no other. */
static int find_path(const Regroup *g, const Region *r, Op **path) {
  int n = 0;
  for (const Region *around = r; around != g->body; around = around->owner->parent)
    n++;
  for (int i = n - 1; i >= 0; i--, r = r->owner->parent)
    path[i] = r->owner;
  return n;
}

typedef struct Copying {
  const Regroup *g;
  int steps;
  bool ends; /* a copy may end the call */
  bool good;
} Copying;

static bool is_copyable(Copying *c, const Value *v);
static void look(Value *v, void *arg) {
  Copying *c = arg;
  c->good = c->good && is_copyable(c, v);
}

/* An extent that is a quotient may end the call. */
static bool is_copyable_size(Copying *c, const Size *s) {
  c->good = !s->overflow;
  size_values(s, look, c);
  return c->good;
}

static bool is_plain(Copying *c, const Op *op) {
  int64_t by;
  switch (op->code) {
  case OP_CONST: return true;
  case OP_SIZE: return is_copyable_size(c, op->at.size);
  case OP_INDEX: c->ends |= op->at.checks != 0; return value_is_outside(op->operands[0], c->g->body);
  case OP_DIV:
  case OP_REM:
  case OP_MOD:
    return kind_is_float(op->results[0]->type.kind) ||
           (value_is_int_const(op->operands[1], &by) && by != 0 && by != -1);
  default: return op_info[op->code].group == GROUP_ELEM;
  }
}

/* Of indices of loops below the body, and of what is outside of it. */
static bool is_copyable(Copying *c, const Value *v) {
  if (value_is_outside(v, c->g->body))
    return true;
  if (--c->steps < 0 || v->is_acc || v->type.rank)
    return false;
  if (!v->def)
    return v->region != c->g->body && v->region->owner->code == OP_LOOP &&
           v->index < v->region->owner->at.loop->nindices;
  if (!is_plain(c, v->def))
    return false;
  for (int i = 0; i < v->def->noperands; i++)
    if (!is_copyable(c, v->def->operands[i]))
      return false;
  return true;
}

/* ---- what an addition is linear in */
/* The operand by which a value goes on to be linear, the others being copyable; NULL: none. */
static Value *linear_operand(Copying *c, const Op *op) {
  if (!op || !op->nresults || op->results[0]->type.rank || !kind_is_float(op->results[0]->type.kind))
    return NULL;
  switch (op->code) {
  case OP_NEG: return op->operands[0];
  case OP_MUL:
  case OP_MULZ: {
    Copying first = *c, second = *c;
    if (is_copyable(&second, op->operands[1])) {
      *c = second;
      return op->operands[0];
    }
    if (!is_copyable(&first, op->operands[0]))
      return NULL;
    *c = first;
    return op->operands[1];
  }
  case OP_DIV:
  case OP_DIVZ: return is_copyable(c, op->operands[1]) ? op->operands[0] : NULL;
  default: return NULL;
  }
}

/* s: made outside of the loop that the addition stands in; NULL: there is none. */
static Value *term_of(Copying *c, const Op *add) {
  for (Value *v = add->operands[1];;) {
    if (value_is_outside(v, c->g->body) || !v->def)
      return NULL;
    if (v->region != add->parent)
      return v->type.rank ? NULL : v;
    v = linear_operand(c, v->def);
    if (!v)
      return NULL;
  }
}

/* Whether it is linear in s, made beside it. */
static bool is_linear_in(Copying *c, const Op *add, const Value *term) {
  Value *v = add->operands[1];
  while (v && v != term)
    v = value_is_outside(v, c->g->body) || v->region != add->parent ? NULL : linear_operand(c, v->def);
  return v == term;
}

static bool stands_well(Copying *c, const Op *add) {
  Op *path[MOST_LOOPS];
  const int n = find_path(c->g, add->parent, path);
  for (int i = 0; i < addition_nindices(add); i++)
    if (!is_copyable(c, addition_indices(add)[i]))
      return false;
  for (int i = 0; i < n; i++)
    for (int k = 0; k < path[i]->at.loop->nindices; k++)
      if (i == 0 ? !size_is_outside(path[i]->at.loop->extents[k], c->g->body)
                 : !is_copyable_size(c, path[i]->at.loop->extents[k]))
        return false;
  return n > 0 && add->operands[1]->type.rank == 0;
}

static bool may_move(const Copying *c, const Op *add, bool *may_end) {
  const bool ends = c->ends || add->at.checks;
  if (may_end)
    *may_end = ends;
  return c->g->runs || !ends;
}

/* ---- finding them */
static bool is_own(const Regroup *g, const Op *op) {
  return op->code == OP_ACC_ADD && op->operands[0]->region == g->body;
}

static int sum_shape(const Regroup *g, const Value *term, const Size **dims) {
  Op *path[MOST_LOOPS];
  const int n = find_path(g, term->region, path);
  int rank = 0;
  for (int i = 0; i < n; i++)
    for (int k = 0; k < path[i]->at.loop->nindices; k++) {
      if (rank == MAX_RANK)
        return -1;
      dims[rank++] = path[i]->at.loop->extents[k];
    }
  return rank;
}

/* S is a number, or no larger than what it stands for, and its shape is known before the loop. */
static bool sum_is_small(const Regroup *g, const Value *term, const Op *add) {
  const Size *dims[MAX_RANK], *count = size_const(g->module, 1);
  const int rank = sum_shape(g, term, dims);
  for (int i = 0; i < rank; i++) {
    if (!size_is_outside(dims[i], g->body))
      return false;
    count = size_mul(g->module, count, dims[i]);
  }
  return rank == 0 ||
         (rank > 0 && !count->overflow &&
          size_nonnegative(g->module, size_sub(g->module, type_count(g->module, add->operands[0]->type), count)));
}

Value *regroup_term(const Regroup *g, const Op *add, bool *may_end) {
  Copying c = {.g = g, .steps = MOST_STEPS};
  Value *term = stands_well(&c, add) ? term_of(&c, add) : NULL;
  return term && may_move(&c, add, may_end) && sum_is_small(g, term, add) ? term : NULL;
}

bool regroup_is_linear_in(const Regroup *g, const Op *add, const Value *term, bool *may_end) {
  Copying c = {.g = g, .steps = MOST_STEPS};
  return stands_well(&c, add) && is_linear_in(&c, add, term) && may_move(&c, add, may_end);
}

static Group *group_of(Regroup *g, Value *term) {
  Group *group = g->groups;
  while (group && group->term != term)
    group = group->next;
  if (group || g->ngroups == MOST_GROUPS)
    return group;
  group = NEW(g->module->arena, Group);
  *group = (Group){.next = g->groups, .term = term};
  g->ngroups++;
  return g->groups = group;
}

static void find_in(Regroup *g, Region *r, int depth) {
  for (Op *op = r->first; op; op = op->next) {
    if (op->code == OP_LOOP && !op->at.loop->ncarries && depth < MOST_LOOPS)
      find_in(g, op->regions[0], depth + 1);
    Moved moved = {.add = op};
    Value *term = is_own(g, op) ? regroup_term(g, op, &moved.may_end) : NULL;
    Group *group = term ? group_of(g, term) : NULL;
    if (group)
      vec_push(g->module->arena, group->adds, moved);
  }
}

/* Additions beside s, where others have made a group. */
static void find_beside(Regroup *g, Group *group) {
  for (Op *op = group->term->region->first; op; op = op->next) {
    Moved moved = {.add = op};
    if (is_own(g, op) && regroup_is_linear_in(g, op, group->term, &moved.may_end))
      vec_push(g->module->arena, group->adds, moved);
  }
}

/* ---- moving them */
typedef struct Again { /* made behind the loop, of what is made in it */
  const Regroup *g;
  bool guarded;
  Builder b;
  ValueMap map;
} Again;

static Value *made_again(Again *a, Value *v);
static void make_atom(Value *v, void *arg) {
  made_again(arg, v);
}

static const Size *size_again(Again *a, const Size *s) {
  size_values(s, make_atom, a);
  return map_size(a->g->module, &a->map, s);
}

static Value *made_again(Again *a, Value *v) {
  if (value_is_outside(v, a->g->body) || map_get(&a->map, v))
    return map_value(&a->map, v);
  if (v->def->code == OP_SIZE)
    size_again(a, v->def->at.size);
  for (int i = 0; i < v->def->noperands; i++)
    made_again(a, v->def->operands[i]);
  build_copy_op(&a->b, v->def, &a->map);
  return map_value(&a->map, v);
}

/* The loops around an addition; `init` goes into the outermost.  indices: of those around s. */
static void begin_loops(Again *a, Op *const *path, int n, Value *init, Op **loops) {
  Module *m = a->g->module;
  for (int i = 0; i < n; i++) {
    const LoopInfo *info = path[i]->at.loop;
    const Size **extents = NEW_ARRAY(m->arena, const Size *, info->nindices + 1);
    for (int k = 0; k < info->nindices; k++)
      extents[k] = size_again(a, info->extents[k]);
    if (i == 0 && a->guarded)
      extents[0] = size_mul(m, a->g->runs, extents[0]);
    const LoopSpec spec = {.nindices = info->nindices, .extents = extents, .naccs = i == 0, .acc_inits = &init};
    loops[i] = build_loop_begin(&a->b, &spec);
    for (int k = 0; k < info->nindices; k++) {
      loop_index(loops[i], k)->name = loop_index(path[i], k)->name;
      map_put(&a->map, loop_index(path[i], k), loop_index(loops[i], k));
    }
  }
}

/* The indices of so many loops. */
static int indices_of(Op *const *path, int n, Value **indices) {
  int rank = 0;
  for (int i = 0; i < n; i++)
    for (int k = 0; k < path[i]->at.loop->nindices; k++)
      indices[rank++] = loop_index(path[i], k);
  return rank;
}

/* A's sum is what comes out of `outer`, to whom reads it; the loop over i makes what goes in. */
static void take_over(const Regroup *g, int acc, Value *before, Op *outer) {
  Value *total = g->loop->results[acc];
  outer->results[0] = total;
  total->def = outer;
  total->index = 0;
  g->loop->results[acc] = before;
  before->def = g->loop;
  before->index = acc;
  before->region = g->loop->parent;
}

/* An addition behind the loop over i, in loops like those around it, before others that were put there. */
static void apply(const Regroup *g, const Group *group, Op *add, bool guarded) {
  Module *m = g->module;
  Op *path[MOST_LOOPS], *loops[MOST_LOOPS], *around[MOST_LOOPS];
  const int n = find_path(g, add->parent, path), of_term = find_path(g, group->term->region, around);
  if (n < 1 || of_term > n)
    internal_error("an addition that does not stand in loops below that of its factor");
  const int acc = add->operands[0]->index - g->loop->at.loop->nindices;
  Value *before = value_new(m, g->loop->results[acc]->type, g->loop->results[acc]->name), *indices[MAX_RANK];
  Again a = {.g = g, .guarded = guarded, .b = build_aside(g->loop->parent), .map = {.arena = m->arena}};
  a.b.loc = add->loc;
  a.b.origin = add->origin;
  begin_loops(&a, path, n, before, loops);
  const int rank = indices_of(loops, of_term, indices);
  map_put(&a.map, group->term, rank ? build_index(&a.b, group->sum, rank, indices, 0) : group->sum);
  Value *v = made_again(&a, add->operands[1]), **at = NEW_ARRAY(m->arena, Value *, add->noperands);
  for (int i = 0; i < addition_nindices(add); i++)
    at[i] = made_again(&a, addition_indices(add)[i]);
  build_acc_add(&a.b, loop_acc(loops[0], 0), v, addition_nindices(add), at, add->at.checks);
  for (int i = n - 1; i >= 0; i--)
    build_loop_end(&a.b, loops[i], NULL, NULL);
  take_over(g, acc, before, loops[0]);
  build_settle(&a.b, g->loop->parent, g->loop->next);
  op_unlink(add);
}

static void add_up(const Regroup *g, Group *group) {
  Module *m = g->module;
  const Size *dims[MAX_RANK];
  Op *path[MOST_LOOPS];
  Value *term = group->term, *indices[MAX_RANK];
  const int rank = sum_shape(g, term, dims);
  if (rank == 0) {
    group->sum = loop_add_out(m, g->loop, OUT_SUM, term);
    return;
  }
  Builder b = build_aside(g->loop->parent);
  b.loc = term->def->loc;
  b.origin = term->def->origin;
  Value *zeros = build_zeros(&b, type_tensor(m, term->type.kind, rank, dims));
  build_settle(&b, g->loop->parent, g->loop);
  Value *handle = loop_widen_by_acc(m, g->loop, zeros, term->name, &group->sum);
  indices_of(path, find_path(g, term->region, path), indices);
  b = build_aside(term->region);
  b.loc = term->def->loc;
  b.origin = term->def->origin;
  build_acc_add(&b, handle, term, rank, indices, 0);
  build_settle(&b, term->region, term->def->next);
}

/* Whether a loop has an iteration, as a factor of extents. */
static const Size *runs(Module *m, const LoopInfo *info) {
  const Size *one = size_const(m, 1), *count = one;
  for (int i = 0; i < info->nindices; i++) {
    if (!size_nonnegative(m, info->extents[i]))
      return NULL;
    count = size_mul(m, count, info->extents[i]);
  }
  return count->overflow ? NULL : size_nonnegative(m, size_sub(m, count, one)) ? one : size_min(m, count, one);
}

static bool regroup_loop(Func *f, Op *loop) {
  const LoopInfo *info = loop->at.loop;
  int64_t n;
  if (info->nindices == 1 && size_is_const(info->extents[0], &n) && n < SHORTEST)
    return false;
  Regroup g = {.module = f->module, .func = f, .loop = loop, .body = loop->regions[0], .runs = runs(f->module, info)};
  const bool any = regroup_through(&g);
  find_in(&g, g.body, 0);
  for (Group *group = g.groups; group; group = group->next) {
    find_beside(&g, group);
    add_up(&g, group);
    for (int i = 0; i < group->adds.n; i++)
      apply(&g, group, group->adds.at[i].add, group->adds.at[i].may_end);
  }
  return any || g.groups;
}

static bool regroup_region(Func *f, Region *r) {
  bool any = false;
  for (Op *op = r->first, *next; op; op = next) {
    next = op->next;
    if (op->code == OP_LOOP && op->at.loop->nindices && !op->at.loop->ncarries && op->at.loop->naccs)
      any |= regroup_loop(f, op);
    for (int i = 0; i < op->nregions; i++)
      any |= regroup_region(f, op->regions[i]);
  }
  return any;
}

void pass_regroup(Module *m) {
  for (Func *f = m->funcs; f; f = f->next)
    if (!m->strict && !func_is_underived(f) && !f->is_extern && regroup_region(f, f->body))
      func_simplify(f);
}
