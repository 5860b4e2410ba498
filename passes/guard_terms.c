/* Terms of a sum that are exactly 0 are jumped over.
   A Jacobian in forward mode is a loop over directions, in each of which most of a tangent is 0: an angle moves the
   bones of one finger.  Where each term of a sum has a factor from a part of such a tangent, and the sum is computed
   for many points by one tangent, what is not 0 is listed once: t = .. loop v { loop i sum { t[i, 0] * x[v] + .. } }
   becomes
       n, list = loop i carry (n = 0, list) { list[n] = i; n + (t[i, 0] != 0 or ..) }
       loop v { loop k < n sum { i = list[k]; t[i, 0] * x[v] + .. } }
   By the rule of exact zeros a tangent of 0 contributes 0, so this holds of products that a derivative has made. */
#include "ir/raw.h"
#include "passes/guard.h"
#include "passes/rename.h"

enum { MOST_PARTS = 32, LEAST_PRODUCTS = 8, DEEPEST_TERM = 40, MANY = 32 };

typedef struct Terms {
  Op *outer; /* the loop over many */
  Op *inner; /* the sums */
  const Value *tensor;
  Value *moves; /* for each row whether it may differ from 0, or NULL */
  int n, products;
  const Op *parts[MOST_PARTS]; /* what is read of it */
} Terms;

static bool is_fixed(const Terms *t, const Value *v) {
  return value_is_const(v) || value_is_outside(v, t->outer->regions[0]);
}

/* tensor[.., i, ..] with the sums' index, the other indices being the same for all points. */
static bool is_part(const Terms *t, const Op *op) {
  if (op->code != OP_INDEX || op->operands[0] != t->tensor || op->at.checks || op->results[0]->type.rank)
    return false;
  bool own = false;
  for (int i = 1; i < op->noperands; i++) {
    const bool index = op->operands[i] == loop_index(t->inner, 0);
    own |= index;
    if (!index && !is_fixed(t, op->operands[i]))
      return false;
  }
  return own;
}

static bool term_vanishes(const Terms *t, const Value *v, int depth) {
  const Op *op = v->def;
  if (value_is_const(v) && value_is_zero(v))
    return true;
  if (!op || op->parent != t->inner->regions[0] || depth == DEEPEST_TERM)
    return false;
  Value *const *x = op->operands;
  switch (op->code) {
  case OP_INDEX: return is_part(t, op);
  case OP_NEG:
  case OP_DIVZ: return term_vanishes(t, x[0], depth + 1);
  case OP_MUL:
    if (!op->origin)
      return false; /* fallthrough */
  case OP_MULZ: return term_vanishes(t, x[0], depth + 1) || term_vanishes(t, x[1], depth + 1);
  case OP_ADD:
  case OP_SUB: return term_vanishes(t, x[0], depth + 1) && term_vanishes(t, x[1], depth + 1);
  default: return false;
  }
}

/* What an iteration does is free of effects, and much. */
static bool look_at_body(Terms *t) {
  for (const Op *op = t->inner->regions[0]->first; op; op = op->next) {
    if (op->nregions || op->nresults != 1 || op->results[0]->type.rank ||
        (op->code == OP_INDEX ? op->at.checks != 0
                              : op_info[op->code].effect != EFFECT_PURE && !kind_is_float(op->results[0]->type.kind)))
      return false;
    t->products += op->code == OP_MUL || op->code == OP_MULZ;
    if (is_part(t, op) && t->n < MOST_PARTS)
      t->parts[t->n++] = op;
  }
  return t->products >= LEAST_PRODUCTS && t->n && t->n < MOST_PARTS;
}

static bool are_sums(const Op *op) {
  const LoopInfo *info = op->code == OP_LOOP ? op->at.loop : NULL;
  if (!info || info->nindices != 1 || info->ncarries || info->naccs || !info->nouts)
    return false;
  for (int i = 0; i < info->nouts; i++)
    if (info->outs[i] != OUT_SUM || !kind_is_float(op->results[i]->type.kind))
      return false;
  return true;
}

/* A tangent that is made anew for each direction, from which all terms have a factor. */
static bool find_terms(Terms *t) {
  Op *outer = t->outer;
  if (!size_is_outside(t->inner->at.loop->extents[0], outer->regions[0]))
    return false;
  for (const Op *op = t->inner->regions[0]->first; op; op = op->next) {
    const Value *x = op->code == OP_INDEX ? op->operands[0] : NULL;
    if (!x || x == t->tensor || !x->def || !x->region->owner || x->region->owner->code != OP_LOOP ||
        !value_is_outside(x, outer->regions[0]))
      continue;
    *t = (Terms){.outer = outer, .inner = t->inner, .tensor = x};
    bool all = look_at_body(t);
    for (int i = 0; all && i < t->inner->regions[0]->nyields; i++)
      all = term_vanishes(t, t->inner->regions[0]->yields[i], 0);
    if (all)
      return true;
  }
  return false;
}

/* Whether a part is not 0, at the index of a loop that is being built. */
static Value *differs_from_0(const Terms *t, Builder *b, Value *index) {
  ValueMap map = {.arena = b->module->arena};
  Value *any = NULL;
  map_put(&map, loop_index(t->inner, 0), index);
  for (int i = 0; i < t->n; i++) {
    const Op *part = t->parts[i];
    for (int k = 1; k < part->noperands; k++)
      if (value_is_const(part->operands[k]) && !map_get(&map, part->operands[k]))
        build_copy_op(b, part->operands[k]->def, &map);
    build_copy_op(b, part, &map);
    Value *x = map_value(&map, part->results[0]);
    Value *differs = build_binary(b, OP_NE, x, build_number(b, x->type.kind, 0));
    any = any ? build_binary(b, OP_OR, any, differs) : differs;
  }
  return any;
}

/* Before the loop over many: how many indices of the sums there are at which a part is not 0, and which. */
static Op *make_list(const Terms *t) {
  Func *f = t->outer->parent->func;
  Module *m = f->module;
  Op *const last = t->outer->parent->last;
  Builder b = build_into(f, t->outer->parent);
  b.loc = t->inner->loc;
  b.origin = t->inner->origin;
  b.share_top = t->outer->parent;
  const Size *extent = t->inner->at.loop->extents[0];
  Value *none = build_int(&b, KIND_I64, 0);
  Value *inits[] = {none, build_zeros(&b, type_tensor(m, KIND_I64, 1, &extent))};
  const LoopSpec spec = {.nindices = 1, .extents = &extent, .ncarries = 2, .carry_inits = inits};
  Op *loop = build_loop_begin(&b, &spec);
  b.share_top = loop->regions[0];
  Value *index = loop_index(loop, 0), *n = loop_carry(loop, 0);
  Op *branch = t->moves ? build_if_begin(&b, build_index(&b, t->moves, 1, &index, 0)) : NULL;
  Value *differs = differs_from_0(t, &b, index);
  if (branch) {
    build_if_else(&b, branch, 1, &differs);
    Value *same = build_int(&b, KIND_BOOL, 0);
    build_if_end(&b, branch, 1, &same);
    differs = branch->results[0];
  }
  Value *next[] = {build_select(&b, differs, build_add(&b, n, build_int(&b, KIND_I64, 1)), n),
                   build_update(&b, loop_carry(loop, 1), index, 1, &n, 0)};
  build_loop_end(&b, loop, next, NULL);
  for (Op *op = last->next, *after; op; op = after) {
    after = op->next;
    op_unlink(op);
    op_insert_before(t->outer, op);
  }
  return loop;
}

static void run_by_list(const Terms *t, const Op *made) {
  Region *body = t->inner->regions[0];
  Module *m = body->func->module;
  Op *read = op_new(m, OP_INDEX, 2, 1, 0);
  ValueMap map = {.arena = m->arena};
  map_put(&map, loop_index(t->inner, 0), op_set_result(m, read, 0, type_scalar(KIND_I64), NULL));
  region_rename(m, body, &map);
  read->operands[0] = made->results[1];
  read->operands[1] = loop_index(t->inner, 0);
  read->loc = t->inner->loc;
  read->origin = t->inner->origin;
  op_insert_before(body->first, read);
  loop_set_extent(t->inner, 0, size_atom(m, made->results[0]));
}

/* The sums' index is that of the tensor's rows. */
static bool part_is_row(const Terms *t) {
  for (int i = 0; i < t->n; i++)
    if (t->parts[i]->operands[1] != loop_index(t->inner, 0))
      return false;
  return true;
}

/* So many that a list pays, as far as is known. */
static bool is_over_many(const Op *loop) {
  int64_t extent, total = 1;
  for (int i = 0; i < loop->at.loop->nindices; i++)
    total = size_is_const(loop->at.loop->extents[i], &extent) && extent < MANY ? total * extent : MANY;
  return total >= MANY;
}

bool guard_terms(Op *outer) {
  bool any = false;
  if (outer->at.loop->ncarries || !is_over_many(outer) || !outer->parent->owner)
    return false;
  for (Op *op = outer->regions[0]->first; op; op = op->next) {
    Terms t = {.outer = outer, .inner = op};
    if (!are_sums(op) || !find_terms(&t))
      continue;
    if (t.tensor->region == outer->parent && part_is_row(&t))
      t.moves = guard_still(t.tensor);
    run_by_list(&t, make_list(&t));
    any = true;
  }
  return any;
}
