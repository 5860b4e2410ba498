/* What iterations of a loop compute alike is computed once, before it.
   The Jacobian in forward mode is a loop over directions around primal and tangent, side by side in the same loops:
   what does not depend on the direction is the primal.  For each loop D whose iterations are independent this pass
   finds what does not vary with D's indices, however deep it is nested.  A copy of D's inner loops, of that part alone,
   goes before D; what D reads of it inside its own inner loops is stacked there, a number or a small tensor for each
   iteration of these, where it takes something dear to compute: an exponential, a division, a sum.  What is cheap
   is computed in both.  The state of a loop in order that does not vary is carried by the copy alone.

   Memory grows by a number an iteration of a loop that runs anyway.  Numbers of loops inside such an iteration are kept
   only where they are few, a constant number; where the iteration is a step of a loop in order, which records as
   much; where D's results take as much; or where D is inside of a loop, so that they are local to it. */
#include "passes/lift.h"
#include "passes/passes_internal.h"

enum { LARGE = 20000, MOST_ROUNDS = 4, FEW = 64, FEW_STATES = 16, MOST_STEPS = 200 };

char lift_varies, lift_made;

/* ---- what varies */
typedef struct Looking {
  const Lift *lift;
  bool varies;
} Looking;
static void look_at_atom(Value *v, void *arg) {
  Looking *s = arg;
  s->varies |= lift_is_variant(s->lift, v);
}

bool lift_size_varies(const Lift *l, const Size *size) {
  Looking s = {.lift = l};
  size_values(size, look_at_atom, &s);
  return s.varies;
}

static void vary(Lift *l, Value *v) {
  l->changed |= v->note != &lift_varies;
  v->note = &lift_varies;
}

static void vary_results(Lift *l, const Op *op) {
  for (int i = 0; i < op->nresults; i++)
    vary(l, op->results[i]);
}

static bool reads_variant(const Lift *l, const Op *op) {
  for (int i = op->code == OP_ACC_ADD; i < op->noperands; i++)
    if (lift_is_variant(l, op->operands[i]))
      return true;
  for (int i = 0; i < op->nresults; i++)
    for (int k = 0; k < op->results[i]->type.rank; k++)
      if (lift_size_varies(l, op->results[i]->type.dims[k]))
        return true;
  return op->code == OP_SIZE && lift_size_varies(l, op->at.size);
}

static bool may_end_the_call(const Op *op) {
  switch (op->code) {
  case OP_REQUIRE: return true;
  case OP_CALL: return func_may_fail(op->at.callee);
  case OP_INDEX:
  case OP_UPDATE:
  case OP_ACC_ADD: return op->at.checks != 0;
  case OP_DIV:
  case OP_REM:
  case OP_MOD: {
    int64_t by;
    return kind_is_int(op->results[0]->type.kind) && !(value_is_int_const(op->operands[1], &by) && by != 0 && by != -1);
  }
  default: return false;
  }
}

static void mark_region(Lift *l, const Region *r, bool varies);

/* A quotient that may be by zero, which ends the call. */
static bool has_quotient(const Size *s) {
  for (int t = 0; t < s->nterms; t++)
    for (int i = 0; i < s->terms[t].npowers; i++) {
      const Atom *atom = s->terms[t].powers[i].atom;
      if (atom->value)
        continue;
      if (atom->kind == ATOM_QUOTIENT ? !size_is_const(atom->den, NULL)
                                      : has_quotient(atom->num) || has_quotient(atom->den))
        return true;
    }
  return false;
}

static void mark_loop(Lift *l, Op *op, bool varies) {
  const LoopInfo *info = op->at.loop;
  const Region *body = op->regions[0];
  for (int i = 0; i < info->nindices; i++)
    varies |= lift_size_varies(l, info->extents[i]) || (!l->always_runs && has_quotient(info->extents[i]));
  for (int i = 0; i < body->nparams; i++)
    if (varies)
      vary(l, body->params[i]);
  for (int i = 0; i < info->ncarries + info->naccs; i++)
    if (lift_is_variant(l, op->operands[i]))
      vary(l, body->params[info->nindices + i]);
  mark_region(l, body, varies);
  for (int i = 0; i < info->ncarries; i++)
    if (lift_is_variant(l, body->yields[i]))
      vary(l, loop_carry(op, i));
  for (int i = 0; i < info->ncarries + info->naccs; i++)
    if (lift_is_variant(l, body->params[info->nindices + i]))
      vary(l, op->results[i]);
  for (int i = 0; i < info->nouts; i++)
    if (varies || lift_is_variant(l, body->yields[info->ncarries + i]))
      vary(l, loop_out(op, i));
}

static bool captures_variant(const Lift *l, const Region *r) {
  for (const Op *op = r->first; op; op = op->next) {
    if (reads_variant(l, op))
      return true;
    for (int i = 0; i < op->nregions; i++)
      if (captures_variant(l, op->regions[i]))
        return true;
  }
  for (int i = 0; i < r->nyields; i++)
    if (lift_is_variant(l, r->yields[i]))
      return true;
  return false;
}

/* A whole `while` is moved, or nothing of it. */
static void mark_while(Lift *l, Op *op, bool varies) {
  for (int i = 0; i < 2; i++) {
    mark_region(l, op->regions[i], varies);
    varies |= captures_variant(l, op->regions[i]);
  }
  varies |= reads_variant(l, op);
  for (int i = 0; i < 2 && varies; i++) {
    for (int k = 0; k < op->regions[i]->nparams; k++)
      vary(l, op->regions[i]->params[k]);
    mark_region(l, op->regions[i], true);
  }
  if (varies)
    vary_results(l, op);
}

static void mark_if(Lift *l, Op *op, bool varies) {
  varies |= lift_is_variant(l, op->operands[0]);
  for (int w = 0; w < 2; w++)
    mark_region(l, op->regions[w], varies);
  for (int i = 0; i < op->nresults; i++)
    if (varies || lift_is_variant(l, op->regions[0]->yields[i]) || lift_is_variant(l, op->regions[1]->yields[i]))
      vary(l, op->results[i]);
}

static void mark_region(Lift *l, const Region *r, bool varies) {
  for (Op *op = r->first; op; op = op->next) {
    varies |= l->gone;
    switch (op->code) {
    case OP_LOOP: mark_loop(l, op, varies); continue;
    case OP_IF: mark_if(l, op, varies); continue;
    case OP_WHILE: mark_while(l, op, varies); continue;
    default: break;
    }
    const bool ends = may_end_the_call(op), adds = op->code == OP_ACC_ADD,
               outside = adds && value_is_outside(op->operands[0], l->body),
               stays = varies || reads_variant(l, op) || (ends && !l->always_runs) || outside ||
                       (adds && lift_is_variant(l, op->operands[0]));
    if (adds && stays && !outside)
      vary(l, op->operands[0]);
    if (stays)
      vary_results(l, op);
    op->note = stays ? &lift_varies : NULL;
    if ((op->code == OP_REQUIRE || op->code == OP_CALL) && ends && stays)
      l->gone = true; /* what follows may rely on it */
  }
}

bool lift_stays(const Op *op) {
  return op->note == &lift_varies;
}

/* ---- what is kept */
static void keep_operand(Lift *l, Value *v);

static void keep_operands(Lift *l, const Op *op) {
  for (int i = op->code == OP_ACC_ADD; i < op->noperands; i++)
    keep_operand(l, op->operands[i]);
}

static void keep_in(Lift *l, const Region *r) {
  for (int i = 0; i < r->nyields; i++)
    keep_operand(l, r->yields[i]);
  for (const Op *op = r->last; op; op = op->prev) {
    keep_operands(l, op);
    for (int i = 0; i < op->nregions; i++)
      keep_in(l, op->regions[i]);
  }
}

/* Made in the loop as well: what it is made of is wanted there. */
static void make_again(Lift *l, Value *v) {
  v->note = &lift_made;
  if (v->def) {
    keep_operands(l, v->def);
    for (int i = 0; i < v->def->nregions; i++)
      keep_in(l, v->def->regions[i]);
    return;
  }
  const Op *owner = v->region->owner;
  if (owner && owner->code == OP_LOOP && v->index >= owner->at.loop->nindices && !v->is_acc) {
    const int carry = v->index - owner->at.loop->nindices;
    keep_operand(l, owner->operands[carry]);
    keep_operand(l, v->region->yields[carry]);
  }
}

/* A carry of many elements, or what updates make of one: an iteration changes a few of them. */
static bool is_state(const Lift *l, const Value *v) {
  int64_t n;
  while (v->def && v->def->code == OP_UPDATE)
    v = v->def->operands[0];
  return !v->def && !(size_is_const(type_count(l->module, v->type), &n) && n <= FEW_STATES);
}

/* Takes more than a load for each of its results: choosing, or moving what is there, does not. */
static bool op_is_dear(const Op *op);

static bool computes(const Region *r, bool any) {
  for (const Op *op = r->first; op; op = op->next) {
    const bool is_float = op->nresults && kind_is_float(op->results[0]->type.kind);
    if (op_is_dear(op) || (any && is_float && op_info[op->code].group == GROUP_ELEM && op->code != OP_SELECT))
      return true;
    for (int i = 0; i < op->nregions; i++)
      if (computes(op->regions[i], any))
        return true;
  }
  return false;
}

static bool op_is_dear(const Op *op) {
  switch (op->code) {
  case OP_LOOP: return computes(op->regions[0], true);
  case OP_IF: return computes(op->regions[0], false) || computes(op->regions[1], false);
  case OP_WHILE:
  case OP_CALL: return true;
  default: return op_is_expensive(op) && kind_is_float(op->results[0]->type.kind);
  }
}

static bool is_dear(const Lift *l, const Value *v, int *steps) {
  const Op *op = v->def;
  if (!op)
    return v->region->owner->code == OP_LOOP && v->index >= v->region->owner->at.loop->nindices;
  if (op->parent == l->body || --*steps <= 0 || v->note)
    return false;
  if (op_is_dear(op))
    return true;
  if (op->nregions || op->code == OP_INDEX || op->code == OP_FULL)
    return false;
  for (int i = 0; i < op->noperands; i++)
    if (!value_is_outside(op->operands[i], l->body) && is_dear(l, op->operands[i], steps))
      return true;
  return false;
}

/* Of what is outside, or moved out whatever else is. */
static void look_inside(Value *v, void *arg) {
  Looking *s = arg;
  s->varies |= !value_is_outside(v, s->lift->body) && (v->region != s->lift->body || v->note == &lift_varies);
}

static bool is_known_outside(const Lift *l, const Size *size) {
  Looking s = {.lift = l};
  size_values(size, look_inside, &s);
  return !s.varies;
}

/* The loop's own results take as much. */
static bool is_no_more_than_results(const Lift *l, const Size *count) {
  for (int i = 0; i < l->loop->nresults; i++)
    if (l->loop->results[i]->type.rank &&
        size_nonnegative(l->module, size_sub(l->module, type_count(l->module, l->loop->results[i]->type), count)))
      return true;
  return false;
}

static bool fits_in_memory(const Lift *l, const Value *v) {
  int rank = v->type.rank;
  for (int i = 0; i < v->type.rank; i++)
    if (!is_known_outside(l, v->type.dims[i]))
      return false;
  const Size *few = type_count(l->module, v->type), *all = few;
  bool in_order = l->loop->parent->owner != NULL;
  int64_t n;
  for (const Region *r = v->region; r != l->body; r = r->owner->parent) {
    const Op *op = r->owner;
    if (op->code == OP_WHILE || (op->code == OP_LOOP && op->at.loop->checkpoint))
      return false; /* of no known length; or told to spare memory */
    if (op->code != OP_LOOP)
      continue;
    const bool outermost = op->parent == l->body;
    in_order |= outermost && op->at.loop->ncarries;
    rank += op->at.loop->nindices;
    for (int i = 0; i < op->at.loop->nindices; i++) {
      if (!is_known_outside(l, op->at.loop->extents[i]))
        return false;
      all = size_mul(l->module, all, op->at.loop->extents[i]);
      if (!outermost)
        few = size_mul(l->module, few, op->at.loop->extents[i]);
    }
  }
  return rank <= MAX_RANK && (in_order || (size_is_const(few, &n) && n <= FEW) || is_no_more_than_results(l, all));
}

/* v, which does not vary, is wanted in the loop. */
static void keep_operand(Lift *l, Value *v) {
  if (value_is_outside(v, l->body) || v->note || v->is_acc)
    return; /* there anyway; it varies, or has been seen to */
  if (v->region == l->body) {
    l->worth |= v->def && op_is_dear(v->def);
    return;
  }
  const Op *op = v->def;
  const bool tensor = v->type.rank != 0;
  if (!op && v->region->owner->code == OP_LOOP && v->index < v->region->owner->at.loop->nindices) {
    v->note = &lift_made; /* an index */
    return;
  }
  const bool view = op && (op->code == OP_INDEX || op->code == OP_RESHAPE || op->code == OP_FULL);
  int steps = MOST_STEPS;
  const bool wanted = tensor && !view && !is_state(l, v) ? !op || op->code == OP_UPDATE || op_is_dear(op)
                                                         : !tensor && is_dear(l, v, &steps);
  if (!wanted || !fits_in_memory(l, v)) {
    make_again(l, v);
    return;
  }
  Kept *k = NEW(l->module->arena, Kept);
  *k = (Kept){.value = v};
  vec_push(l->module->arena, l->kept, k);
  v->note = k;
  l->worth = true;
}

/* What varies asks for what does not. */
static void ask(Lift *l, const Region *r);

static void ask_loop(Lift *l, const Op *op) {
  const LoopInfo *info = op->at.loop;
  Value *const *yields = op->regions[0]->yields;
  for (int i = 0; i < op->nresults; i++) {
    if (!lift_is_variant(l, op->results[i]))
      continue;
    if (i < info->ncarries + info->naccs)
      keep_operand(l, op->operands[i]);
    if (i < info->ncarries)
      keep_operand(l, yields[i]);
    else if (i >= info->ncarries + info->naccs)
      keep_operand(l, yields[i - info->naccs]);
  }
  ask(l, op->regions[0]);
}

static void ask_branches(Lift *l, const Op *op) {
  for (int i = 0; i < op->nresults; i++)
    for (int w = 0; w < 2 && lift_is_variant(l, op->results[i]); w++) {
      keep_operand(l, op->operands[0]);
      keep_operand(l, op->regions[w]->yields[i]);
    }
  for (int w = 0; w < 2; w++)
    ask(l, op->regions[w]);
}

static void ask_while(Lift *l, const Op *op) {
  if (!lift_is_variant(l, op->results[0]))
    return;
  keep_operands(l, op);
  for (int i = 0; i < 2; i++) {
    for (int k = 0; k < op->regions[i]->nyields; k++)
      keep_operand(l, op->regions[i]->yields[k]);
    ask(l, op->regions[i]);
  }
}

static void ask(Lift *l, const Region *r) {
  for (const Op *op = r->last; op; op = op->prev) {
    if (op->code == OP_LOOP)
      ask_loop(l, op);
    else if (op->code == OP_IF)
      ask_branches(l, op);
    else if (op->code == OP_WHILE)
      ask_while(l, op);
    else if (lift_stays(op))
      keep_operands(l, op);
  }
}

/* ---- loops */
static void forget_value(Value *v) {
  v->note = NULL;
}
static void forget(Op *op, void *arg) {
  (void)arg;
  op->note = NULL;
  for (int i = 0; i < op->nresults; i++)
    forget_value(op->results[i]);
  for (int i = 0; i < op->nregions; i++)
    for (int k = 0; k < op->regions[i]->nparams; k++)
      forget_value(op->regions[i]->params[k]);
}

static bool has_iterations(Module *m, const LoopInfo *info) {
  for (int i = 0; i < info->nindices; i++)
    if (!size_nonnegative(m, size_sub(m, info->extents[i], size_const(m, 1))))
      return false;
  return true;
}

static Lift *look_at_loop(Module *m, Op *op) {
  Lift *l = NEW(m->arena, Lift);
  *l = (Lift){.module = m, .loop = op, .body = op->regions[0], .always_runs = has_iterations(m, op->at.loop)};
  forget(op, NULL);
  region_walk(op->regions[0], forget, NULL);
  for (int i = 0; i < l->body->nparams; i++)
    l->body->params[i]->note = &lift_varies;
  do {
    l->changed = l->gone = false;
    mark_region(l, l->body, false);
  } while (l->changed);
  for (int i = 0; i < l->body->nyields; i++)
    keep_operand(l, l->body->yields[i]);
  ask(l, l->body);
  return l->worth ? l : NULL;
}

typedef struct Lifting {
  Module *module;
  Lift *chosen, *active;
  const Op *busy; /* is being copied as it is, but for what it holds */
} Lifting;

/* Loops whose iterations are independent, with so many such around them. */
static void choose(Lifting *s, const Region *r, int depth) {
  for (Op *op = r->first; op; op = op->next) {
    const bool parallel = op->code == OP_LOOP && op->at.loop->nindices && !op->at.loop->ncarries;
    int64_t n;
    if (parallel && depth == 0) {
      const bool once = op->at.loop->nindices == 1 && size_is_const(op->at.loop->extents[0], &n) && n <= 1;
      Lift *l = once ? NULL : look_at_loop(s->module, op);
      if (l) {
        l->next = s->chosen;
        s->chosen = l;
      }
      continue;
    }
    for (int i = 0; i < op->nregions; i++)
      choose(s, op->regions[i], depth - parallel);
  }
}

static bool lift_hook(Builder *b, const Op *op, ValueMap *map, void *arg) {
  Lifting *s = arg;
  if (s->busy == op)
    return false;
  if (s->active) {
    const Op *around = s->busy;
    s->busy = op;
    const bool done = lift_op(b, s->active, op, map);
    s->busy = around;
    return done;
  }
  Lift *l = s->chosen;
  while (l && l->loop != op)
    l = l->next;
  if (!l)
    return false;
  s->active = l;
  s->busy = op;
  lift_loop(b, l, map);
  s->busy = NULL;
  s->active = NULL;
  return true;
}

void pass_lift(Module *m) {
  for (Func *f = m->funcs; f; f = f->next) {
    if (func_is_underived(f) || f->is_extern || region_op_count(f->body) > LARGE)
      continue;
    for (int depth = MOST_ROUNDS - 1; depth >= 0; depth--) { /* what leaves an inner loop may leave the one around */
      Lifting s = {.module = m};
      choose(&s, f->body, depth);
      if (!s.chosen)
        continue;
      func_rebuild(f, lift_hook, &s);
      func_simplify(f);
    }
  }
}
