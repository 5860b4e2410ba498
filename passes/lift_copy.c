/* Copying a loop with what does not vary in it before it; see lift.c. */
#include "ir/raw.h"
#include "passes/lift.h"
#include "passes/passes_internal.h"

/* ---- the part before the loop */
static void before_region(Builder *b, Lift *l, const Region *r);

static void bind(Lift *l, Value *from, Value *to) {
  map_put(&l->before, from, to);
  if (!to->name)
    to->name = from->name;
}

static bool is_kept_in(const Kept *k, const Region *r) {
  return k->now && !value_is_outside(k->value, r);
}

/* A loop with those carries, accumulators and outs that do not vary, and a stack of what is kept. */
typedef struct Part {
  Value **inits; /* carries, then accumulators */
  int ncarries, naccs, nouts;
  OutKind *outs;
} Part;

static Part part_of(Lift *l, const Op *op) {
  Arena *arena = l->module->arena;
  const LoopInfo *info = op->at.loop;
  Part p = {.inits = NEW_ARRAY(arena, Value *, op->noperands + 1), .outs = NEW_ARRAY(arena, OutKind, info->nouts + 1)};
  for (int i = 0; i < info->ncarries; i++)
    if (!lift_is_variant(l, loop_carry(op, i)))
      p.inits[p.ncarries++] = map_value(&l->before, op->operands[i]);
  for (int i = 0; i < info->naccs; i++)
    if (!lift_is_variant(l, loop_acc(op, i)))
      p.inits[p.ncarries + p.naccs++] = map_value(&l->before, op->operands[info->ncarries + i]);
  for (int i = 0; i < info->nouts; i++)
    if (!lift_is_variant(l, loop_out(op, i)))
      p.outs[p.nouts++] = info->outs[i];
  return p;
}

static void bind_params(Lift *l, const Op *op, const Op *copy) {
  const LoopInfo *info = op->at.loop;
  int n = 0;
  for (int i = 0; i < op->regions[0]->nparams; i++)
    if (i < info->nindices || !lift_is_variant(l, op->regions[0]->params[i]))
      bind(l, op->regions[0]->params[i], copy->regions[0]->params[n++]);
}

static void before_loop(Builder *b, Lift *l, const Op *op) {
  Module *m = l->module;
  const LoopInfo *info = op->at.loop;
  const Region *body = op->regions[0];
  const Size **extents = NEW_ARRAY(m->arena, const Size *, info->nindices + 1);
  for (int i = 0; i < info->nindices; i++) {
    if (lift_size_varies(l, info->extents[i]))
      return;
    extents[i] = map_size(m, &l->before, info->extents[i]);
  }
  if (info->nindices && lift_is_variant(l, loop_index(op, 0)))
    return;
  const Part p = part_of(l, op);
  const LoopSpec spec = {.nindices = info->nindices,
                         .extents = extents,
                         .ncarries = p.ncarries,
                         .carry_inits = p.inits,
                         .naccs = p.naccs,
                         .acc_inits = p.inits + p.ncarries,
                         .nouts = p.nouts,
                         .outs = p.outs,
                         .checkpoint = p.ncarries ? info->checkpoint : 0,
                         .states = p.ncarries ? info->states : NULL};
  Op *copy = build_loop_begin(b, &spec);
  bind_params(l, op, copy);
  before_region(b, l, body);
  Value **yields = NEW_ARRAY(m->arena, Value *, body->nyields + 1);
  int n = 0;
  for (int i = 0; i < body->nyields; i++) {
    const Value *result = i < info->ncarries ? op->results[i] : op->results[i + info->naccs];
    if (!lift_is_variant(l, result))
      yields[n++] = map_value(&l->before, body->yields[i]);
  }
  build_loop_end(b, copy, yields, yields + p.ncarries);
  n = 0;
  for (int i = 0; i < op->nresults; i++)
    if (!lift_is_variant(l, op->results[i]))
      bind(l, op->results[i], copy->results[n++]);
  for (int i = 0; i < l->kept.n; i++)
    if (is_kept_in(l->kept.at[i], body))
      l->kept.at[i]->now = loop_record(m, copy, l->kept.at[i]->now);
}

static void before_if(Builder *b, Lift *l, const Op *op) {
  Module *m = l->module;
  if (lift_is_variant(l, op->operands[0]))
    return;
  Op *copy = build_if_begin(b, map_value(&l->before, op->operands[0]));
  before_region(b, l, op->regions[0]);
  build_if_else(b, copy, 0, NULL);
  before_region(b, l, op->regions[1]);
  int n = 0, first_kept;
  Value **yields[2];
  for (int w = 0; w < 2; w++)
    yields[w] = NEW_ARRAY(m->arena, Value *, op->nresults + l->kept.n + 1);
  for (int i = 0; i < op->nresults; i++) {
    if (lift_is_variant(l, op->results[i]))
      continue;
    for (int w = 0; w < 2; w++)
      yields[w][n] = map_value(&l->before, op->regions[w]->yields[i]);
    n++;
  }
  first_kept = n;
  for (int i = 0; i < l->kept.n; i++)
    for (int w = 0; w < 2; w++) {
      if (!is_kept_in(l->kept.at[i], op->regions[w]))
        continue;
      yields[w][n] = l->kept.at[i]->now;
      b->region = copy->regions[1 - w]; /* there nobody reads it */
      yields[1 - w][n++] = build_zeros(b, l->kept.at[i]->now->type);
    }
  b->region = copy->regions[1];
  region_set_yields(m, copy->regions[0], n, yields[0]);
  build_if_end(b, copy, n, yields[1]);
  n = 0;
  for (int i = 0; i < op->nresults; i++)
    if (!lift_is_variant(l, op->results[i]))
      bind(l, op->results[i], copy->results[n++]);
  n = first_kept;
  for (int i = 0; i < l->kept.n; i++)
    for (int w = 0; w < 2; w++)
      if (is_kept_in(l->kept.at[i], op->regions[w])) {
        l->kept.at[i]->now = copy->results[n++];
        break;
      }
}

static void before_region(Builder *b, Lift *l, const Region *r) {
  for (const Op *op = r->first; op; op = op->next) {
    if (op->code == OP_LOOP)
      before_loop(b, l, op);
    else if (op->code == OP_IF)
      before_if(b, l, op);
    else if (op->code == OP_WHILE ? !lift_is_variant(l, op->results[0])
                                  : !lift_stays(op) && !(op->code == OP_ACC_ADD && lift_is_variant(l, op->operands[0])))
      build_copy_op(b, op, &l->before);
  }
  for (int i = 0; i < l->kept.n; i++)
    if (l->kept.at[i]->value->region == r)
      l->kept.at[i]->now = map_value(&l->before, l->kept.at[i]->value);
}

void lift_loop(Builder *b, Lift *l, ValueMap *map) {
  CopyHook *hook = b->hook;
  const Range loc = b->loc;
  l->before = (ValueMap){.arena = l->module->arena, .outer = map};
  b->hook = NULL;
  before_region(b, l, l->body);
  b->hook = hook;
  b->loc = loc;
  build_copy_op(b, l->loop, map);
}

/* ---- inside the loop */
static Value *read_kept(Builder *b, const Lift *l, const Kept *k, const ValueMap *map) {
  Value *idx[MAX_RANK];
  int n = 0;
  for (const Region *r = k->value->region; r != l->body; r = r->owner->parent)
    n += r->owner->code == OP_LOOP ? r->owner->at.loop->nindices : 0;
  int at = n;
  for (const Region *r = k->value->region; r != l->body; r = r->owner->parent)
    for (int i = r->owner->code == OP_LOOP ? r->owner->at.loop->nindices - 1 : -1; i >= 0; i--)
      idx[--at] = map_value(map, r->params[i]);
  return build_index(b, k->now, n, idx, 0);
}

/* The carries of a region that are kept, where its first operation is met. */
static void read_params(Builder *b, const Lift *l, const Region *r, ValueMap *map) {
  for (int i = 0; i < r->nparams; i++) {
    const Kept *k = r == l->body ? NULL : lift_kept(r->params[i]);
    if (k)
      map_put(map, r->params[i], read_kept(b, l, k, map));
  }
}

static bool is_in(const Value *v, const Op *op) {
  for (int i = 0; i < op->nregions; i++)
    if (!value_is_outside(v, op->regions[i]))
      return true;
  return false;
}

/* It adds to what varies or belongs to a loop around it, which is being copied, or may end the call, whatever becomes
   of its results. */
static bool acts(const Op *whole, const Op *op) {
  for (int i = 0; i < op->nregions; i++)
    for (const Op *in = op->regions[i]->first; in; in = in->next) {
      if (in->nregions && acts(whole, in))
        return true;
      if (in->code == OP_ACC_ADD && (lift_stays(in) || !is_in(in->operands[0], whole)))
        return true;
      if ((in->code == OP_REQUIRE || in->code == OP_CALL) && lift_stays(in))
        return true;
    }
  return false;
}

bool lift_op(Builder *b, Lift *l, const Op *op, ValueMap *map) {
  if (!op->prev)
    read_params(b, l, op->parent, map);
  if (op->code == OP_REQUIRE)
    return !lift_stays(op);
  bool any = false, all = op->nresults > 0;
  for (int i = 0; i < op->nresults; i++) {
    const bool there = !lift_is_variant(l, op->results[i]) && (op->parent == l->body || lift_kept(op->results[i]));
    any |= there;
    all &= there;
  }
  if (!any)
    return false;
  if (!all || acts(op, op))
    build_copy_op(b, op, map);
  for (int i = 0; i < op->nresults; i++) {
    Value *v = op->results[i];
    if (lift_is_variant(l, v))
      continue;
    if (op->parent == l->body)
      map_put(map, v, map_value(&l->before, v));
    else if (lift_kept(v))
      map_put(map, v, read_kept(b, l, lift_kept(v), map));
  }
  return true;
}
