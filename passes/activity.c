/* Activity analysis by repeated sweeps: forward for varied, backward for useful and steep, until nothing changes
   (carries make more than one sweep needed, as many as the loops are deep). */
#include "passes/activity.h"

static unsigned char get(const Activity *a, const Value *v) {
  return (unsigned char)table_get(&a->flags, v);
}

bool activity_set(Activity *a, const Value *v, unsigned char flag) {
  if (!kind_is_float(v->type.kind) || (get(a, v) & flag) == flag)
    return false;
  uint64_t *flags = table_at(&a->flags, v);
  const bool news = !(*flags & flag);
  *flags |= flag;
  return news;
}

bool activity_has(const Activity *a, const Value *v, unsigned char flag) {
  return get(a, v) & flag;
}

void activity_clear(Activity *a, const Value *v, unsigned char flag) {
  if (get(a, v) & flag)
    *table_at(&a->flags, v) &= ~(uint64_t)flag;
}

void activity_clear_all(Activity *a, unsigned char flag) {
  table_clear(&a->flags, flag);
}

/* Passes `flag` from one value to another. */
static bool flow(Activity *a, const Value *from, const Value *to, unsigned char flag) {
  return get(a, from) & flag ? activity_set(a, to, flag) : false;
}

typedef struct Sweep {
  Activity *a;
  unsigned char flag; /* VARIED goes forward, the others backward */
  bool changed;
} Sweep;

/* One edge of the program, taken in the direction of the sweep. */
static void edge(Sweep *s, const Value *from, const Value *to) {
  if (s->flag == VARIED ? flow(s->a, from, to, VARIED) : flow(s->a, to, from, s->flag))
    s->changed = true;
}

/* The operands of a plain operation that its result depends on differentiably: from the first to before the last. */
static void differentiable_operands(const Op *op, int *from, int *to) {
  *from = 0;
  *to = op->noperands;
  switch (op->code) {
  case OP_SELECT: *from = 1; break;
  case OP_ATTACH: *from = 1; break;
  case OP_POW_BELOW: *to = 2; break;
  case OP_INDEX: *to = 1; break;
  case OP_UPDATE: *to = 2; break;
  default: break;
  }
}

/* Where the slope of a plain operation may be infinite the operand is steep.  A steep result makes operands steep where
   the slope is a number of its own; that of a square is 0 where an infinite one follows (sqrt of a sum of squares). */
static void sweep_steep(Sweep *s, const Op *op) {
  int from = 0, to = 0;
  switch (op->code) {
  case OP_SQRT:
  case OP_CBRT:
  case OP_POW:
  case OP_POW_BELOW:
  case OP_ASIN:
  case OP_ACOS:
  case OP_ACOSH: s->changed |= activity_set(s->a, op->operands[0], STEEP); return;
  case OP_MUL:
  case OP_MULZ: to = op->operands[0] == op->operands[1] ? 0 : 2; break;
  case OP_DIV:
  case OP_DIVZ: to = 1; break;
  case OP_ADD:
  case OP_SUB:
  case OP_NEG:
  case OP_CAST:
  case OP_MIN:
  case OP_MAX:
  case OP_FULL:
  case OP_RESHAPE:
  case OP_SELECT:
  case OP_ATTACH:
  case OP_INDEX:
  case OP_UPDATE: differentiable_operands(op, &from, &to); break;
  default: break;
  }
  for (int i = from; i < to; i++)
    edge(s, op->operands[i], op->results[0]);
}

static void sweep_region(Sweep *s, Region *r);

static void sweep_loop(Sweep *s, const Op *op) {
  const LoopInfo *info = op->at.loop;
  Region *body = op->regions[0];
  const int nc = info->ncarries;
  for (int pass = 0; pass < 2; pass++) { /* before and after the body, so that one sweep goes through */
    if (pass)
      sweep_region(s, body);
    for (int i = 0; i < nc; i++) {
      edge(s, op->operands[i], loop_carry(op, i));
      edge(s, body->yields[i], loop_carry(op, i));
      edge(s, body->yields[i], op->results[i]);
      edge(s, op->operands[i], op->results[i]);
      edge(s, loop_carry(op, i),
           op->results[i]); /* its bar passes through the loop, also where no iteration reads it */
    }
    for (int i = 0; i < info->naccs; i++) {
      edge(s, op->operands[nc + i], loop_acc(op, i));
      edge(s, loop_acc(op, i), loop_acc_result(op, i));
      edge(s, op->operands[nc + i], loop_acc_result(op, i));
    }
    for (int i = 0; i < info->nouts; i++)
      edge(s, body->yields[nc + i], loop_out(op, i));
  }
}

static void sweep_while(Sweep *s, const Op *op) {
  Region *body = op->regions[1];
  for (int pass = 0; pass < 2; pass++) {
    if (pass)
      sweep_region(s, body);
    for (int i = 0; i < op->noperands; i++) {
      edge(s, op->operands[i], body->params[i]);
      edge(s, body->yields[i], body->params[i]);
      edge(s, body->yields[i], op->results[i]);
      edge(s, op->operands[i], op->results[i]);
      edge(s, body->params[i], op->results[i]);
    }
  }
}

static void sweep_if(Sweep *s, const Op *op) {
  for (int pass = 0; pass < 2; pass++) {
    if (pass == (s->flag == VARIED ? 0 : 1))
      for (int r = 0; r < 2; r++)
        sweep_region(s, op->regions[r]);
    for (int i = 0; i < op->nresults; i++)
      for (int r = 0; r < 2; r++)
        edge(s, op->regions[r]->yields[i], op->results[i]);
  }
}

static void sweep_op(Sweep *s, const Op *op) {
  int from, to;
  if (s->flag == STEEP && op_info[op->code].group != GROUP_FLOW && op->nresults) {
    sweep_steep(s, op);
    return;
  }
  switch (op->code) {
  case OP_LOOP: sweep_loop(s, op); return;
  case OP_WHILE: sweep_while(s, op); return;
  case OP_IF: sweep_if(s, op); return;
  case OP_ACC_ADD: edge(s, op->operands[1], op->operands[0]); return;
  case OP_CALL: /* whatever float goes in may change whatever float comes out */
    if (op->at.callee->is_constant)
      return;
    for (int i = 0; i < op->noperands && s->flag != STEEP; i++)
      for (int k = 0; k < op->nresults; k++)
        edge(s, op->operands[i], op->results[k]);
    return;
  case OP_SIGN:
  case OP_FLOOR:
  case OP_CEIL:
  case OP_ROUND:
  case OP_TRUNC: return;
  default:
    differentiable_operands(op, &from, &to);
    for (int i = from; i < to; i++)
      if (op->nresults)
        edge(s, op->operands[i], op->results[0]);
  }
}

static void sweep_region(Sweep *s, Region *r) {
  if (s->flag == VARIED)
    for (Op *op = r->first; op; op = op->next)
      sweep_op(s, op);
  else
    for (Op *op = r->last; op; op = op->prev)
      sweep_op(s, op);
}

Activity activity_of(Func *f, const bool *wrt, const bool *results) {
  Activity a = {.flags = {.arena = f->module->arena}};
  for (int i = 0; i < f->body->nparams; i++)
    if (wrt[i])
      activity_set(&a, f->body->params[i], VARIED);
  for (int i = 0; i < f->body->nyields; i++)
    if (!results || results[i])
      activity_set(&a, f->body->yields[i], USEFUL);
  for (unsigned char flag = VARIED; flag <= STEEP; flag *= 2) {
    Sweep s = {.a = &a, .flag = flag};
    do {
      s.changed = false;
      sweep_region(&s, f->body);
    } while (s.changed);
  }
  return a;
}

bool value_is_active(const Activity *a, const Value *v) {
  return (get(a, v) & (VARIED | USEFUL)) == (VARIED | USEFUL);
}

bool value_is_steep(const Activity *a, const Value *v) {
  return value_is_active(a, v) && (get(a, v) & STEEP);
}

bool value_is_masked(const Activity *a, const Value *v) {
  return !(get(a, v) & PLAIN);
}

void activity_mark(Activity *a, const Value *v, const Value *like) {
  activity_set(a, v, get(a, like));
}

static void mark_copy(const Value *from, Value *to, void *arg) {
  activity_mark(arg, to, from);
}
void activity_copied(Activity *a, const ValueMap *map) {
  map_each(map, mark_copy, a);
}
