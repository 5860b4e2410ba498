/* Dead code: removes operations whose results nobody wants, and results, carries and accumulators of `loop`, `if` and
   `while` that nobody wants.  Kept without being asked for: `require`, calls of functions that may end with a failed
   require, and whatever holds one.  A checked index that nobody wants is removed with its check. */
#include "ir/raw.h"
#include "passes/passes_internal.h"

typedef struct AccUse {
  Op *op;
  struct AccUse *next;
} AccUse;

/* During the pass: Op.note is ALIVE where the operation stays; Value.note is ALIVE where the value is wanted, and for
   the handle of an accumulator a list of its AccUses until then. */
static char alive_mark;
#define ALIVE ((void *)&alive_mark)

typedef struct Dce {
  Arena *arena;
  VEC(Value *) work;
} Dce;

static void want(Dce *d, Value *v);
static void want_size_value(Value *v, void *arg) {
  want(arg, v);
}

static void want_type(Dce *d, Type t) {
  for (int i = 0; i < t.rank; i++)
    size_values(t.dims[i], want_size_value, d);
}

/* The operation stays, and so do those around it; what it needs whatever its results is wanted. */
static void keep(Dce *d, Op *op) {
  for (; op && op->note != ALIVE; op = op->parent->owner) {
    op->note = ALIVE;
    switch (op->code) {
    case OP_LOOP:
      for (int i = 0; i < op->at.loop->nindices; i++)
        size_values(op->at.loop->extents[i], want_size_value, d);
      if (op->at.loop->states)
        size_values(op->at.loop->states, want_size_value, d);
      break;
    case OP_IF: want(d, op->operands[0]); break;
    case OP_WHILE: want(d, op->regions[0]->yields[0]); break;
    case OP_SIZE: size_values(op->at.size, want_size_value, d); break;
    default: /* the handle of an accumulator stays when its loop's result is wanted */
      for (int i = op->code == OP_ACC_ADD; i < op->noperands; i++)
        want(d, op->operands[i]);
    }
  }
}

static void want(Dce *d, Value *v) {
  if (v->note == ALIVE)
    return;
  if (v->is_acc)
    internal_error("the handle of an accumulator is read");
  v->note = ALIVE;
  vec_push(d->arena, d->work, v);
}

static void want_acc(Dce *d, Op *loop, int i) {
  Value *handle = loop_acc(loop, i);
  if (handle->note == ALIVE)
    return;
  AccUse *uses = handle->note;
  handle->note = ALIVE;
  want(d, loop->operands[loop->at.loop->ncarries + i]);
  for (AccUse *u = uses; u; u = u->next)
    keep(d, u->op);
}

static void want_carry(Dce *d, Op *op, Region *body, int j, int first_param) {
  want(d, op->operands[j]);
  want(d, body->yields[j]);
  for (int r = 0; r < op->nregions; r++)
    want(d, op->regions[r]->params[first_param + j]);
}

static void follow_param(Dce *d, Value *v) {
  Op *op = v->region->owner;
  if (!op)
    return;
  if (op->code == OP_LOOP && v->index >= op->at.loop->nindices)
    want_carry(d, op, op->regions[0], v->index - op->at.loop->nindices, op->at.loop->nindices);
  else if (op->code == OP_WHILE)
    want_carry(d, op, op->regions[1], v->index, 0);
}

static void follow(Dce *d, Value *v) {
  Op *op = v->def;
  want_type(d, v->type);
  if (!op) {
    follow_param(d, v);
    return;
  }
  keep(d, op);
  if (op->code == OP_LOOP) {
    const LoopInfo *info = op->at.loop;
    if (v->index < info->ncarries)
      want(d, loop_carry(op, v->index));
    else if (v->index < info->ncarries + info->naccs)
      want_acc(d, op, v->index - info->ncarries);
    else
      want(d, op->regions[0]->yields[v->index - info->naccs]);
  } else if (op->code == OP_IF) {
    for (int r = 0; r < 2; r++)
      want(d, op->regions[r]->yields[v->index]);
  } else if (op->code == OP_WHILE && v->index < op->noperands) {
    want(d, op->regions[1]->params[v->index]);
  }
}

static void prepare_value(Value *v) {
  v->note = NULL;
}

static void prepare_region(Dce *d, Region *r) {
  for (int i = 0; i < r->nparams; i++)
    prepare_value(r->params[i]);
  for (Op *op = r->first; op; op = op->next) {
    op->note = NULL;
    for (int i = 0; i < op->nresults; i++)
      prepare_value(op->results[i]);
    for (int i = 0; i < op->nregions; i++)
      prepare_region(d, op->regions[i]);
    if (op->code == OP_ACC_ADD) {
      AccUse *use = NEW(d->arena, AccUse);
      *use = (AccUse){.op = op, .next = op->operands[0]->note};
      op->operands[0]->note = use;
    }
  }
}

static void keep_effects(Dce *d, Region *r) {
  for (Op *op = r->first; op; op = op->next) {
    if (op->code == OP_REQUIRE || (op->code == OP_CALL && func_may_fail(op->at.callee)))
      keep(d, op);
    for (int i = 0; i < op->nregions; i++)
      keep_effects(d, op->regions[i]);
  }
}

/* ---- sweeping */
static int squeeze(Value **a, int n, const bool *stays, bool renumber, int first) {
  int k = first;
  for (int i = first; i < n; i++)
    if (stays[i]) {
      if (renumber)
        a[i]->index = k;
      a[k++] = a[i];
    }
  return k;
}

static void sweep_loop(Dce *d, Op *op) {
  LoopInfo *info = op->at.loop;
  Region *body = op->regions[0];
  const int ni = info->nindices, nc = info->ncarries, na = info->naccs, no = info->nouts;
  bool *operand = NEW_ARRAY(d->arena, bool, nc + na + 1), *param = NEW_ARRAY(d->arena, bool, ni + nc + na + 1);
  bool *yield = NEW_ARRAY(d->arena, bool, nc + no + 1), *result = NEW_ARRAY(d->arena, bool, nc + na + no + 1);
  int carries = 0, accs = 0, outs = 0;
  for (int i = 0; i < nc; i++)
    carries += operand[i] = param[ni + i] = yield[i] = result[i] = loop_carry(op, i)->note == ALIVE;
  for (int i = 0; i < na; i++)
    accs += operand[nc + i] = param[ni + nc + i] = result[nc + i] = loop_acc(op, i)->note == ALIVE;
  for (int i = 0; i < no; i++)
    if ((yield[nc + i] = result[nc + na + i] = loop_out(op, i)->note == ALIVE))
      info->outs[outs++] = info->outs[i];
  op->noperands = squeeze(op->operands, op->noperands, operand, false, 0);
  body->nparams = squeeze(body->params, body->nparams, param, true, ni);
  body->nyields = squeeze(body->yields, body->nyields, yield, false, 0);
  op->nresults = squeeze(op->results, op->nresults, result, true, 0);
  info->ncarries = carries;
  if (!carries) {
    info->checkpoint = 0;
    info->states = NULL;
  }
  info->naccs = accs;
  info->nouts = outs;
}

static void sweep_if(Dce *d, Op *op) {
  bool *stays = NEW_ARRAY(d->arena, bool, op->nresults + 1);
  for (int i = 0; i < op->nresults; i++)
    stays[i] = op->results[i]->note == ALIVE;
  for (int r = 0; r < 2; r++)
    op->regions[r]->nyields = squeeze(op->regions[r]->yields, op->nresults, stays, false, 0);
  op->nresults = squeeze(op->results, op->nresults, stays, true, 0);
}

static void sweep_while(Dce *d, Op *op) {
  const int n = op->noperands;
  bool *stays = NEW_ARRAY(d->arena, bool, n + 1);
  for (int i = 0; i < n; i++)
    stays[i] = op->regions[1]->params[i]->note == ALIVE;
  stays[n] = true; /* the trip count */
  for (int r = 0; r < 2; r++)
    op->regions[r]->nparams = squeeze(op->regions[r]->params, n, stays, true, 0);
  op->regions[1]->nyields = squeeze(op->regions[1]->yields, n, stays, false, 0);
  op->nresults = squeeze(op->results, n + 1, stays, true, 0);
  op->noperands = squeeze(op->operands, n, stays, false, 0);
}

static void sweep_region(Dce *d, Region *r) {
  for (Op *op = r->first, *next; op; op = next) {
    next = op->next;
    if (op->note != ALIVE) {
      op_unlink(op);
      continue;
    }
    switch (op->code) {
    case OP_LOOP: sweep_loop(d, op); break;
    case OP_IF: sweep_if(d, op); break;
    case OP_WHILE: sweep_while(d, op); break;
    default: break;
    }
    for (int i = 0; i < op->nregions; i++)
      sweep_region(d, op->regions[i]);
  }
  r->cse = NULL; /* it may hold what was removed */
}

static void look_for_failure(Op *op, void *arg) {
  if (op->code == OP_REQUIRE || (op->code == OP_CALL && func_may_fail(op->at.callee)))
    *(bool *)arg = true;
}

bool func_may_fail(Func *f) {
  enum { UNKNOWN, NO, YES };
  if (f->fails == UNKNOWN) {
    bool fails = func_is_underived(f); /* what it will hold is not known yet */
    if (!fails) {
      f->fails = NO; /* no recursion: calls make no cycles */
      region_walk(f->body, look_for_failure, &fails);
      f->fails = fails ? YES : NO;
    }
    return fails;
  }
  return f->fails == YES;
}

void func_dce(Func *f) {
  Dce d = {.arena = f->module->arena};
  prepare_region(&d, f->body);
  for (int i = 0; i < f->body->nyields; i++)
    want(&d, f->body->yields[i]);
  keep_effects(&d, f->body);
  while (d.work.n)
    follow(&d, d.work.at[--d.work.n]);
  sweep_region(&d, f->body);
}
