/* Building operations with regions, calls and function ends; see build.h. */
#include "ir/build.h"
#include "ir/raw.h"

static Op *open_op(Builder *b, Opcode code, int noperands, int nresults, int nregions) {
  Op *op = op_new(b->module, code, noperands, nresults, nregions);
  op->loc = b->loc;
  op->origin = b->origin;
  region_append(b->region, op);
  for (int i = 0; i < nregions; i++)
    op->regions[i] = region_new(b->module, b->func, op);
  return op;
}

Op *build_loop_begin(Builder *b, const LoopSpec *s) {
  Module *m = b->module;
  Op *op = open_op(b, OP_LOOP, s->ncarries + s->naccs, s->ncarries + s->naccs + s->nouts, 1);
  LoopInfo *info = op->at.loop = loop_info_new(m, s->nindices, s->ncarries, s->naccs, s->nouts);
  info->checkpoint = s->checkpoint;
  info->states = s->states;
  Region *body = op->regions[0];
  if (s->ncarries && s->nindices != 1)
    internal_error("a loop with carries has one index, not %d", s->nindices);
  for (int i = 0; i < s->nindices; i++) {
    info->extents[i] = s->extents[i];
    region_add_param(m, body, type_scalar(KIND_I64), s->index_names ? s->index_names[i] : NULL);
  }
  for (int i = 0; i < s->ncarries; i++) {
    op->operands[i] = s->carry_inits[i];
    region_add_param(m, body, s->carry_inits[i]->type, s->carry_inits[i]->name);
  }
  for (int i = 0; i < s->naccs; i++) {
    op->operands[s->ncarries + i] = s->acc_inits[i];
    region_add_param(m, body, s->acc_inits[i]->type, s->acc_inits[i]->name)->is_acc = true;
  }
  for (int i = 0; i < s->nouts; i++)
    info->outs[i] = s->outs[i];
  b->region = body;
  return op;
}

void loop_set_extent(Op *loop, int i, const Size *extent) {
  loop->at.loop->extents[i] = extent;
}

static Type stack_type(Module *m, const LoopInfo *info, Type item) {
  const Size *dims[2 * MAX_RANK];
  int n = 0;
  if (info->nindices + item.rank > MAX_RANK)
    internal_error("a tensor of more than %d axes", MAX_RANK);
  for (int i = 0; i < info->nindices; i++)
    dims[n++] = info->extents[i];
  for (int i = 0; i < item.rank; i++)
    dims[n++] = item.dims[i];
  return type_tensor(m, item.kind, n, dims);
}

void build_loop_end(Builder *b, Op *op, Value *const *carries, Value *const *outs) {
  Module *m = b->module;
  LoopInfo *info = op->at.loop;
  const int n = info->ncarries + info->nouts;
  Value **yields = NEW_ARRAY(m->arena, Value *, n + 1);
  for (int i = 0; i < info->ncarries; i++) {
    if (!type_equal(carries[i]->type, op->operands[i]->type))
      internal_error("a carry changes its type from %s to %s", type_text(m, op->operands[i]->type),
                     type_text(m, carries[i]->type));
    yields[i] = carries[i];
    op_set_result(m, op, i, carries[i]->type, carries[i]->name);
  }
  for (int i = 0; i < info->naccs; i++) {
    Value *init = op->operands[info->ncarries + i];
    op_set_result(m, op, info->ncarries + i, init->type, init->name);
  }
  for (int i = 0; i < info->nouts; i++) {
    if (info->outs[i] != OUT_STACK && outs[i]->type.rank)
      internal_error("a loop reduces scalars only");
    const Type t = info->outs[i] == OUT_STACK ? stack_type(m, info, outs[i]->type) : outs[i]->type;
    yields[info->ncarries + i] = outs[i];
    op_set_result(m, op, info->ncarries + info->naccs + i, t, NULL);
  }
  region_set_yields(m, op->regions[0], n, yields);
  b->region = op->parent;
}

/* a, and one more at its end. */
static Value **appended(Module *m, Value *const *a, int n, Value *last) {
  Value **longer = NEW_ARRAY(m->arena, Value *, n + 1);
  for (int i = 0; i < n; i++)
    longer[i] = a[i];
  longer[n] = last;
  return longer;
}

Value *loop_add_acc(Module *m, Op *op, Value *init) {
  Value *handle = region_add_param(m, op->regions[0], init->type, init->name);
  handle->is_acc = true;
  op->operands = appended(m, op->operands, op->noperands++, init);
  op->results = NEW_ARRAY(m->arena, Value *, ++op->nresults);
  op->at.loop->naccs++;
  return handle;
}

void loop_set_outs(Module *m, Op *op, int n, const OutKind *outs) {
  LoopInfo *info = op->at.loop;
  info->outs = NEW_ARRAY(m->arena, OutKind, n + 1);
  for (int i = 0; i < n; i++)
    info->outs[i] = outs[i];
  info->nouts = n;
  op->nresults = info->ncarries + info->naccs + n;
  op->results = NEW_ARRAY(m->arena, Value *, op->nresults + 1);
}

Value *loop_add_out(Module *m, Op *op, OutKind kind, Value *inner) {
  LoopInfo *info = op->at.loop;
  Region *body = op->regions[0];
  OutKind *outs = NEW_ARRAY(m->arena, OutKind, info->nouts + 1);
  for (int i = 0; i < info->nouts; i++)
    outs[i] = info->outs[i];
  outs[info->nouts++] = kind;
  info->outs = outs;
  body->yields = appended(m, body->yields, body->nyields++, inner);
  op->results = appended(m, op->results, op->nresults, NULL);
  const Type t = kind == OUT_STACK ? stack_type(m, info, inner->type) : inner->type;
  return op_set_result(m, op, op->nresults++, t, inner->name);
}

/* A scalar of a loop of one iteration is no stack: a product of one. */
Value *loop_record(Module *m, Op *op, Value *inner) {
  if (!op->at.loop->nindices && !inner->type.rank)
    return loop_add_out(m, op, inner->type.kind == KIND_BOOL ? OUT_AND : OUT_PROD, inner);
  return loop_add_out(m, op, OUT_STACK, inner);
}

Op *build_if_begin(Builder *b, Value *cond) {
  Op *op = open_op(b, OP_IF, 1, 0, 2);
  op->operands[0] = cond;
  b->region = op->regions[0];
  return op;
}

void build_if_else(Builder *b, Op *op, int n, Value *const *yields) {
  region_set_yields(b->module, op->regions[0], n, yields);
  b->region = op->regions[1];
}

void build_if_end(Builder *b, Op *op, int n, Value *const *yields) {
  Region *then = op->regions[0];
  region_set_yields(b->module, op->regions[1], n, yields);
  if (then->nyields != n)
    internal_error("branches yield %d and %d values", then->nyields, n);
  op->nresults = n;
  op->results = NEW_ARRAY(b->module->arena, Value *, n + 1);
  for (int i = 0; i < n; i++) {
    if (!type_equal(then->yields[i]->type, yields[i]->type))
      internal_error("branches yield %s and %s", type_text(b->module, then->yields[i]->type),
                     type_text(b->module, yields[i]->type));
    op_set_result(b->module, op, i, yields[i]->type, NULL);
    op->results[i]->region = op->parent;
  }
  b->region = op->parent;
}

Op *build_while_begin(Builder *b, int n, Value *const *inits) {
  Op *op = open_op(b, OP_WHILE, n, n + 1, 2);
  for (int i = 0; i < n; i++) {
    op->operands[i] = inits[i];
    for (int r = 0; r < 2; r++)
      region_add_param(b->module, op->regions[r], inits[i]->type, inits[i]->name);
  }
  b->region = op->regions[0];
  return op;
}

void build_while_body(Builder *b, Op *op, Value *cond) {
  region_set_yields(b->module, op->regions[0], 1, &cond);
  b->region = op->regions[1];
}

void build_while_end(Builder *b, Op *op, Value *const *carries) {
  const int n = op->noperands;
  region_set_yields(b->module, op->regions[1], n, carries);
  for (int i = 0; i < n; i++) {
    if (!type_equal(carries[i]->type, op->operands[i]->type))
      internal_error("a carry of 'while' changes its type");
    op_set_result(b->module, op, i, carries[i]->type, carries[i]->name);
  }
  op_set_result(b->module, op, n, type_scalar(KIND_I64), "trips");
  b->region = op->parent;
}

typedef struct ArgMap {
  Func *callee;
  Module *module;
  Value *const *args;
} ArgMap;
static const Size *size_of_argument(Value *v, void *arg) {
  const ArgMap *a = arg;
  return v->region == a->callee->body && !v->def ? size_of_value(a->module, a->args[v->index]) : NULL;
}

Op *build_call(Builder *b, Func *f, Value *const *args) {
  const int n = f->body->nparams;
  Op *op = op_new(b->module, OP_CALL, n, f->nresults, 0);
  ArgMap map = {.callee = f, .module = b->module, .args = args};
  op->at.callee = f;
  for (int i = 0; i < n; i++) {
    const Type want = type_map(b->module, f->body->params[i]->type, size_of_argument, &map);
    if (!type_equal(args[i]->type, want))
      internal_error("argument %d of '%s' is %s, not %s", i, f->name, type_text(b->module, args[i]->type),
                     type_text(b->module, want));
    op->operands[i] = args[i];
  }
  for (int i = 0; i < f->nresults; i++)
    op_set_result(b->module, op, i, type_map(b->module, f->result_types[i], size_of_argument, &map), NULL);
  if (func_is_kernel(f)) /* a function of its arguments alone */
    return op_shared(b, op);
  op->loc = b->loc;
  op->origin = b->origin;
  region_append(b->region, op);
  return op;
}

void build_return(Builder *b, int n, Value *const *results) {
  if (n != b->func->nresults)
    internal_error("function '%s' returns %d values, not %d", b->func->name, n, b->func->nresults);
  region_set_yields(b->module, b->region, n, results);
}
