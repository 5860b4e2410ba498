/* The tangent: forward-mode differentiation of one function.  Naming: the tangent of x is x_dot.
   The primal is copied; beside each operation with a varied operand stands its tangent, from the same table of linear
   rules as the adjoint (linear.h).  Loops, branches and calls get results more: one for each that is varied. */
#include "ir/raw.h"
#include "passes/activity.h"
#include "passes/linear.h"
#include "passes/passes_internal.h"

typedef struct Tangent {
  Module *module;
  Builder b;
  Activity activity; /* of the primal */
  ValueMap map;      /* primal -> copy */
  ValueMap dots;     /* primal -> its tangent; none: zero */
} Tangent;

static void tangent_region(Tangent *t, const Region *r);

/* Varied, and on a differentiable way to a result. */
static bool varied(const Tangent *t, const Value *v) {
  return value_is_active(&t->activity, v);
}
static Value *image(Tangent *t, Value *v) {
  return map_value(&t->map, v);
}
static Value *dot(Tangent *t, const Value *v) {
  return map_get(&t->dots, v);
}
static Value *dot_or_zeros(Tangent *t, Value *v) {
  Value *d = dot(t, v);
  return d ? d : build_zeros(&t->b, image(t, v)->type);
}
static void dot_set(Tangent *t, const Value *v, Value *v_dot) {
  if (!v_dot)
    return;
  if (!v_dot->name && v->name && !value_is_const(v_dot))
    v_dot->name = arena_printf(t->module->arena, "%s_dot", v->name);
  map_put(&t->dots, v, v_dot);
}
static Value **images(Tangent *t, int n, Value *const *v) {
  Value **to = NEW_ARRAY(t->module->arena, Value *, n + 1);
  for (int i = 0; i < n; i++)
    to[i] = image(t, v[i]);
  return to;
}
/* Appends to `list` the tangents of those of v that `like` says are varied. */
static int add_dots(Tangent *t, Value **list, int at, int n, Value *const *v, Value *const *like) {
  for (int i = 0; i < n; i++)
    if (varied(t, like[i]))
      list[at++] = dot_or_zeros(t, v[i]);
  return at;
}
static int count_varied(const Tangent *t, int n, Value *const *v) {
  int k = 0;
  for (int i = 0; i < n; i++)
    k += varied(t, v[i]);
  return k;
}

static void tangent_scalar(Tangent *t, const Op *op) {
  Value *y_dot = NULL, *y = image(t, op->results[0]);
  Op here = *op; /* the operation as it stands among the copies, which folding may have removed */
  here.operands = images(t, op->noperands, op->operands);
  here.results = &y;
  for (int k = 0; k < op->noperands; k++) {
    Value *x_dot = dot(t, op->operands[k]);
    Value *part = x_dot ? linear_apply(&t->b, &here, k, x_dot, INCOMING_PLAIN) : NULL;
    if (part)
      y_dot = y_dot ? build_add(&t->b, y_dot, part) : part;
  }
  dot_set(t, op->results[0], y_dot);
}

static void tangent_plain(Tangent *t, const Op *op) {
  Builder *b = &t->b;
  build_copy_op(b, op, &t->map);
  Value **x = images(t, op->noperands, op->operands);
  Value *x_dot = op->noperands ? dot(t, op->operands[0]) : NULL;
  switch (op->code) {
  case OP_CONST:
  case OP_SIZE:
  case OP_REQUIRE: return;
  case OP_FULL:
    if (x_dot)
      dot_set(t, op->results[0], build_full(b, image(t, op->results[0])->type, x_dot));
    return;
  case OP_INDEX:
    if (x_dot)
      dot_set(t, op->results[0], build_index(b, x_dot, op->noperands - 1, x + 1, op->at.checks));
    return;
  case OP_RESHAPE:
    if (x_dot)
      dot_set(t, op->results[0], build_reshape(b, x_dot, image(t, op->results[0])->type));
    return;
  case OP_UPDATE:
    if (x_dot || dot(t, op->operands[1]))
      dot_set(t, op->results[0],
              build_update(b, dot_or_zeros(t, op->operands[0]), dot_or_zeros(t, op->operands[1]), op->noperands - 2,
                           x + 2, op->at.checks));
    return;
  case OP_ACC_ADD: {
    Value *v_dot = dot(t, op->operands[1]);
    if (v_dot && x_dot) /* a sum that no result depends on differentiably has none */
      build_acc_add(b, x_dot, v_dot, op->noperands - 2, x + 2, op->at.checks);
    return;
  }
  default: tangent_scalar(t, op);
  }
}

/* Carries: the primal's, then the tangents of the varied ones; accumulators and outs likewise. */
static void tangent_loop(Tangent *t, const Op *op) {
  Arena *arena = t->module->arena;
  const LoopInfo *info = op->at.loop;
  const Region *body = op->regions[0];
  const int nc = info->ncarries, na = info->naccs, no = info->nouts;
  Value *const *params = body->params + info->nindices, *const *outs = op->results + nc + na;
  const int dc = count_varied(t, nc, params), da = count_varied(t, na, params + nc), d_outs = count_varied(t, no, outs);
  const Size **extents = NEW_ARRAY(arena, const Size *, info->nindices + 1);
  const char **names = NEW_ARRAY(arena, const char *, info->nindices + 1);
  for (int i = 0; i < info->nindices; i++) {
    extents[i] = map_size(t->module, &t->map, info->extents[i]);
    names[i] = body->params[i]->name;
  }
  Value **inits = NEW_ARRAY(arena, Value *, 2 * (nc + na) + 1);
  OutKind *kinds = NEW_ARRAY(arena, OutKind, 2 * no + 1);
  for (int i = 0; i < nc; i++)
    inits[i] = image(t, op->operands[i]);
  add_dots(t, inits, nc, nc, op->operands, params);
  Value **acc_inits = inits + nc + dc;
  for (int i = 0; i < na; i++)
    acc_inits[i] = image(t, op->operands[nc + i]);
  add_dots(t, acc_inits, na, na, op->operands + nc, params + nc);
  for (int i = 0, k = no; i < no; i++) {
    kinds[i] = info->outs[i];
    if (!varied(t, outs[i]))
      continue;
    if (info->outs[i] != OUT_STACK && info->outs[i] != OUT_SUM)
      internal_error("a '%s' reduction reached the tangent", out_kind_name[info->outs[i]]);
    kinds[k++] = info->outs[i];
  }
  const LoopSpec spec = {.nindices = info->nindices,
                         .extents = extents,
                         .index_names = names,
                         .ncarries = nc + dc,
                         .carry_inits = inits,
                         .naccs = na + da,
                         .acc_inits = acc_inits,
                         .nouts = no + d_outs,
                         .outs = kinds,
                         .checkpoint = info->checkpoint,
                         .states = info->states ? map_size(t->module, &t->map, info->states) : NULL};
  Op *loop = build_loop_begin(&t->b, &spec);
  for (int i = 0; i < info->nindices; i++)
    map_put(&t->map, body->params[i], loop_index(loop, i));
  for (int i = 0, k = nc; i < nc; i++) {
    map_put(&t->map, params[i], loop_carry(loop, i));
    if (varied(t, params[i]))
      dot_set(t, params[i], loop_carry(loop, k++));
  }
  for (int i = 0, k = na; i < na; i++) {
    map_put(&t->map, params[nc + i], loop_acc(loop, i));
    if (varied(t, params[nc + i]))
      dot_set(t, params[nc + i], loop_acc(loop, k++));
  }
  tangent_region(t, body);
  Value **carries = NEW_ARRAY(arena, Value *, 2 * nc + 1), **yields = NEW_ARRAY(arena, Value *, 2 * no + 1);
  for (int i = 0; i < nc; i++)
    carries[i] = image(t, body->yields[i]);
  add_dots(t, carries, nc, nc, body->yields, params);
  for (int i = 0; i < no; i++)
    yields[i] = image(t, body->yields[nc + i]);
  add_dots(t, yields, no, no, body->yields + nc, outs);
  build_loop_end(&t->b, loop, carries, yields);
  int kc = nc, ka = na, ko = no;
  for (int i = 0; i < op->nresults; i++) {
    const bool carry = i < nc, acc = !carry && i < nc + na;
    Value *const like = carry ? params[i] : acc ? params[i] : op->results[i];
    map_put(&t->map, op->results[i],
            carry ? loop_carry_result(loop, i)
            : acc ? loop_acc_result(loop, i - nc)
                  : loop_out(loop, i - nc - na));
    if (varied(t, like))
      dot_set(t, op->results[i],
              carry ? loop_carry_result(loop, kc++)
              : acc ? loop_acc_result(loop, ka++)
                    : loop_out(loop, ko++));
  }
}

static void tangent_if(Tangent *t, const Op *op) {
  const int n = op->nresults;
  Op *copy = build_if_begin(&t->b, image(t, op->operands[0]));
  for (int w = 0; w < 2; w++) {
    const Region *r = op->regions[w];
    tangent_region(t, r);
    Value **list = NEW_ARRAY(t->module->arena, Value *, 2 * n + 1);
    for (int i = 0; i < n; i++)
      list[i] = image(t, r->yields[i]);
    const int total = add_dots(t, list, n, n, r->yields, op->results);
    if (w == 0)
      build_if_else(&t->b, copy, total, list);
    else
      build_if_end(&t->b, copy, total, list);
  }
  for (int i = 0, k = n; i < n; i++) {
    map_put(&t->map, op->results[i], copy->results[i]);
    if (varied(t, op->results[i]))
      dot_set(t, op->results[i], copy->results[k++]);
  }
}

static void tangent_while(Tangent *t, const Op *op) {
  const int n = op->noperands;
  Value *const *params = op->regions[1]->params;
  const int d = count_varied(t, n, params);
  Value **list = NEW_ARRAY(t->module->arena, Value *, n + d + 1);
  for (int i = 0; i < n; i++)
    list[i] = image(t, op->operands[i]);
  add_dots(t, list, n, n, op->operands, params);
  Op *copy = build_while_begin(&t->b, n + d, list);
  for (int i = 0; i < n; i++)
    map_put(&t->map, op->regions[0]->params[i], copy->regions[0]->params[i]);
  build_copy_region(&t->b, op->regions[0], &t->map);
  build_while_body(&t->b, copy, image(t, op->regions[0]->yields[0]));
  for (int i = 0, k = n; i < n; i++) {
    map_put(&t->map, params[i], copy->regions[1]->params[i]);
    if (varied(t, params[i]))
      dot_set(t, params[i], copy->regions[1]->params[k++]);
  }
  tangent_region(t, op->regions[1]);
  Value **next = NEW_ARRAY(t->module->arena, Value *, n + d + 1);
  for (int i = 0; i < n; i++)
    next[i] = image(t, op->regions[1]->yields[i]);
  add_dots(t, next, n, n, op->regions[1]->yields, params);
  build_while_end(&t->b, copy, next);
  for (int i = 0, k = n; i < n; i++) {
    map_put(&t->map, op->results[i], copy->results[i]);
    if (varied(t, params[i]))
      dot_set(t, op->results[i], copy->results[k++]);
  }
  map_put(&t->map, op->results[n], copy->results[n + d]);
}

static void tangent_call(Tangent *t, const Op *op) {
  Func *callee = op->at.callee;
  const int n = op->noperands;
  bool *wrt = NEW_ARRAY(t->module->arena, bool, n + 1), any = false;
  for (int i = 0; i < n; i++)
    any |= wrt[i] = dot(t, op->operands[i]) != NULL;
  if (!any || callee->is_constant) {
    build_copy_op(&t->b, op, &t->map);
    return;
  }
  Func *jvp = func_derive(t->module, DERIVE_JVP, callee, wrt, MODE_FORWARD, op->loc);
  Value **args = NEW_ARRAY(t->module->arena, Value *, 2 * n + 1);
  int nargs = n;
  for (int i = 0; i < n; i++) {
    args[i] = image(t, op->operands[i]);
    if (wrt[i])
      args[nargs++] = dot(t, op->operands[i]);
  }
  const Op *call = build_call(&t->b, jvp, args);
  int k = op->nresults;
  for (int i = 0; i < op->nresults; i++) {
    map_put(&t->map, op->results[i], call->results[i]);
    if (kind_is_float(op->results[i]->type.kind))
      dot_set(t, op->results[i], call->results[k++]);
  }
}

static void tangent_region(Tangent *t, const Region *r) {
  const Range loc = t->b.loc;
  const Op *origin = t->b.origin;
  for (const Op *op = r->first; op; op = op->next) {
    t->b.loc = op->loc;
    t->b.origin = op->origin ? op->origin : op;
    switch (op->code) {
    case OP_LOOP: tangent_loop(t, op); break;
    case OP_IF: tangent_if(t, op); break;
    case OP_WHILE: tangent_while(t, op); break;
    case OP_CALL: tangent_call(t, op); break;
    default: tangent_plain(t, op);
    }
  }
  t->b.loc = loc;
  t->b.origin = origin;
}

/* The base with what `prepare` rewrites rewritten, in a function of its own that nobody keeps. */
static Func prepared(Func *base, const bool *wrt) {
  Func scratch = *base;
  Module *m = base->module;
  Region *body = region_new(m, &scratch, NULL);
  Builder b = build_into(&scratch, body);
  ValueMap map = {.arena = m->arena};
  for (int i = 0; i < base->body->nparams; i++) {
    const Value *p = base->body->params[i];
    map_put(&map, p, region_add_param(m, body, map_type(m, &map, p->type), p->name));
  }
  Prepare prepare = {.base = base, .wrt = wrt, .is_tangent = true};
  b.hook = prepare_op;
  b.hook_arg = &prepare;
  build_copy_region(&b, base->body, &map);
  Value **yields = NEW_ARRAY(m->arena, Value *, base->nresults + 1);
  for (int i = 0; i < base->nresults; i++)
    yields[i] = map_value(&map, base->body->yields[i]);
  region_set_yields(m, body, base->nresults, yields);
  scratch.body = body;
  return scratch;
}

void tangent_make(Func *f) {
  Module *m = f->module;
  Func base = prepared(f->derive.base, f->derive.wrt);
  const int nparams = base.body->nparams;
  Tangent t = {.module = m, .b = build_into(f, f->body)};
  t.map.arena = t.dots.arena = m->arena;
  t.b.loc = f->loc;
  t.activity = activity_of(&base, f->derive.wrt, NULL);
  for (int i = 0, k = nparams; i < nparams; i++) {
    map_put(&t.map, base.body->params[i], f->body->params[i]);
    if (f->derive.wrt[i])
      map_put(&t.dots, base.body->params[i], f->body->params[k++]);
  }
  tangent_region(&t, base.body);
  Value **results = NEW_ARRAY(m->arena, Value *, 2 * base.nresults + 1);
  int n = base.nresults;
  for (int i = 0; i < base.nresults; i++) {
    results[i] = image(&t, base.body->yields[i]);
    if (kind_is_float(results[i]->type.kind))
      results[n++] = dot_or_zeros(&t, base.body->yields[i]);
  }
  build_return(&t.b, n, results);
}
