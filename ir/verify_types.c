/* The verifier: kinds, types and attributes of each operation, as ir/ops.def says. */
#include "ir/raw.h"
#include "ir/size.h"
#include "ir/verify_state.h"
#include <inttypes.h>

static const char *text(Verifier *v, Type t) {
  return type_text(v->module, t);
}

static bool expect_type(Verifier *v, const char *what, int i, Type is, Type wanted) {
  return type_equal(is, wanted) || verify_fail(v, "%s %d is %s, not %s", what, i, text(v, is), text(v, wanted));
}

/* ---- scalar operations */
typedef enum KindSet { ANY_KIND, NUMBERS, FLOATS, BOOLS } KindSet;

static bool kind_in(Kind k, KindSet set) {
  return set == ANY_KIND || (set == NUMBERS ? k != KIND_BOOL : set == FLOATS ? kind_is_float(k) : k == KIND_BOOL);
}

static KindSet operand_kinds(Opcode code) {
  switch (code) {
  case OP_CAST:
  case OP_EQ:
  case OP_NE: return ANY_KIND;
  case OP_NEG:
  case OP_ABS:
  case OP_SIGN:
  case OP_ADD:
  case OP_SUB:
  case OP_MUL:
  case OP_DIV:
  case OP_REM:
  case OP_MOD:
  case OP_MIN:
  case OP_MAX:
  case OP_LT:
  case OP_LE:
  case OP_ATTACH: return NUMBERS;
  case OP_NOT:
  case OP_AND:
  case OP_OR: return BOOLS;
  default: return FLOATS;
  }
}

static bool check_select(Verifier *v, const Op *op) {
  const Type t = op->operands[1]->type;
  if (t.rank)
    return verify_fail(v, "operand 1 is %s, not a scalar", text(v, t));
  return expect_type(v, "operand", 0, op->operands[0]->type, type_scalar(KIND_BOOL)) &&
         expect_type(v, "operand", 2, op->operands[2]->type, t) && expect_type(v, "result", 0, op->results[0]->type, t);
}

static bool check_scalar_op(Verifier *v, const Op *op) {
  static const char *const wanted[] = {"", "a number", "a float", "a bool"};
  if (op->code == OP_SELECT)
    return check_select(v, op);
  const KindSet set = operand_kinds(op->code);
  const Type t = op->operands[0]->type;
  if (t.rank)
    return verify_fail(v, "operand 0 is %s, not a scalar", text(v, t));
  if (!kind_in(t.kind, set))
    return verify_fail(v, "operand 0 is %s, not %s", text(v, t), wanted[set]);
  for (int i = 1; i < op->noperands; i++)
    if (!expect_type(v, "operand", i, op->operands[i]->type, t))
      return false;
  if (op->code == OP_POLYGAMMA && op->at.i < 0)
    return verify_fail(v, "the order of polygamma is below zero");
  if (op->code == OP_CAST)
    return !op->results[0]->type.rank || verify_fail(v, "the result is not a scalar");
  return expect_type(v, "result", 0, op->results[0]->type,
                     type_scalar(op_info[op->code].result == RESULT_BOOL ? KIND_BOOL : t.kind));
}

/* ---- tensors */
static bool check_constant(Verifier *v, const Op *op) {
  const Type t = op->results[0]->type;
  if (t.rank)
    return verify_fail(v, "a constant is a scalar");
  switch (t.kind) {
  case KIND_BOOL: return op->at.i == 0 || op->at.i == 1 || verify_fail(v, "a bool is 0 or 1");
  case KIND_I32:
    return (op->at.i >= INT32_MIN && op->at.i <= INT32_MAX) || verify_fail(v, "the constant does not fit into i32");
  case KIND_F32:
    return op->at.f != op->at.f || (double)(float)op->at.f == op->at.f ||
           verify_fail(v, "the constant is not a value of f32");
  default: return true;
  }
}

static bool check_full(Verifier *v, const Op *op) {
  return expect_type(v, "operand", 0, op->operands[0]->type, type_scalar(op->results[0]->type.kind)) &&
         (op->results[0]->type.rank || verify_fail(v, "the result is a scalar"));
}

static bool check_indices(Verifier *v, const Op *op, int first, int least) {
  const int n = op->noperands - first, rank = n < 0 ? 0 : op->operands[0]->type.rank;
  if (n < least)
    return verify_fail(v, "%d operands", op->noperands);
  if (n > rank)
    return verify_fail(v, "%d indices into %s", n, text(v, op->operands[0]->type));
  if (op->at.checks >> n)
    return verify_fail(v, "a check of an index that is not there");
  for (int i = first; i < op->noperands; i++)
    if (!expect_type(v, "operand", i, op->operands[i]->type, type_scalar(KIND_I64)))
      return false;
  return true;
}

static bool check_index(Verifier *v, const Op *op) {
  return check_indices(v, op, 1, 1) &&
         expect_type(v, "result", 0, op->results[0]->type, type_drop(op->operands[0]->type, op->noperands - 1));
}

static bool check_update(Verifier *v, const Op *op) {
  return check_indices(v, op, 2, 1) &&
         expect_type(v, "operand", 1, op->operands[1]->type, type_drop(op->operands[0]->type, op->noperands - 2)) &&
         expect_type(v, "result", 0, op->results[0]->type, op->operands[0]->type);
}

static bool check_acc_add(Verifier *v, const Op *op) {
  if (!check_indices(v, op, 2, 0))
    return false;
  if (!op->operands[0]->is_acc)
    return verify_fail(v, "operand 0 is not an accumulator");
  return expect_type(v, "operand", 1, op->operands[1]->type, type_drop(op->operands[0]->type, op->noperands - 2));
}

static bool check_reshape(Verifier *v, const Op *op) {
  const Type from = op->operands[0]->type, to = op->results[0]->type;
  int64_t a, b;
  if (from.kind != to.kind)
    return verify_fail(v, "the kind changes");
  if (size_is_const(type_count(v->module, from), &a) && size_is_const(type_count(v->module, to), &b) && a != b)
    return verify_fail(v, "%s and %s have different numbers of elements", text(v, from), text(v, to));
  return true;
}

/* ---- flow */
static bool check_yields(Verifier *v, const Region *r, int n) {
  return r->nyields == n || verify_fail(v, "a region yields %d values, not %d", r->nyields, n);
}

/* Parameters first + i and, from the i-th on, yields and results of the operands' types. */
static bool check_carried(Verifier *v, const Op *op, const Region *r, int first, int n, bool yielded) {
  for (int i = 0; i < n; i++) {
    const Type t = op->operands[i]->type;
    if (r->params[first + i]->is_acc)
      return verify_fail(v, "parameter %d of the region is an accumulator", first + i);
    if (!expect_type(v, "parameter", first + i, r->params[first + i]->type, t) ||
        !expect_type(v, "result", i, op->results[i]->type, t) ||
        (yielded && !expect_type(v, "yielded value", i, r->yields[i]->type, t)))
      return false;
  }
  return true;
}

static bool check_accs(Verifier *v, const Op *op) {
  const LoopInfo *l = op->at.loop;
  const Region *r = op->regions[0];
  for (int i = 0; i < l->naccs; i++) {
    const Value *init = op->operands[l->ncarries + i], *handle = r->params[l->nindices + l->ncarries + i];
    if (!handle->is_acc)
      return verify_fail(v, "parameter %d of the region is not an accumulator", handle->index);
    if (init->type.kind == KIND_BOOL)
      return verify_fail(v, "an accumulator of bools");
    if (!expect_type(v, "parameter", handle->index, handle->type, init->type) ||
        !expect_type(v, "result", l->ncarries + i, op->results[l->ncarries + i]->type, init->type))
      return false;
  }
  return true;
}

static bool check_stack(Verifier *v, const LoopInfo *l, Type item, Type result) {
  bool good = result.kind == item.kind && result.rank == l->nindices + item.rank;
  for (int i = 0; good && i < result.rank; i++)
    good = result.dims[i] == (i < l->nindices ? l->extents[i] : item.dims[i - l->nindices]);
  return good || verify_fail(v, "a stack of %s is of type %s", text(v, item), text(v, result));
}

static bool check_out(Verifier *v, const Op *op, int i) {
  const LoopInfo *l = op->at.loop;
  const Type item = op->regions[0]->yields[l->ncarries + i]->type;
  const Type result = op->results[l->ncarries + l->naccs + i]->type;
  switch (l->outs[i]) {
  case OUT_STACK: return check_stack(v, l, item, result);
  case OUT_SUM:
  case OUT_PROD:
  case OUT_MIN:
  case OUT_MAX:
    if (item.rank || item.kind == KIND_BOOL)
      return verify_fail(v, "'%s' of %s", out_kind_name[l->outs[i]], text(v, item));
    break;
  case OUT_AND:
  case OUT_OR:
    if (item.rank || item.kind != KIND_BOOL)
      return verify_fail(v, "'%s' of %s", out_kind_name[l->outs[i]], text(v, item));
    break;
  default: return verify_fail(v, "output %d is of no kind", i);
  }
  return expect_type(v, "result", l->ncarries + l->naccs + i, result, item);
}

static bool check_loop(Verifier *v, const Op *op) {
  const LoopInfo *l = op->at.loop;
  const Region *r = op->regions[0];
  if (l->ncarries && l->nindices != 1)
    return verify_fail(v, "%d indices and %d carries", l->nindices, l->ncarries);
  int64_t states;
  if (l->checkpoint < -1 || l->checkpoint > 1 || (l->checkpoint && !l->ncarries))
    return verify_fail(v, "checkpoint %d with %d carries", l->checkpoint, l->ncarries);
  if ((l->checkpoint > 0) != (l->states != NULL))
    return verify_fail(v, "checkpoint %d with%s states", l->checkpoint, l->states ? "" : "out");
  if (l->states && size_is_const(l->states, &states) && (states < 1 || states > INT32_MAX))
    return verify_fail(v, "checkpoint with %" PRId64 " states", states);
  if (op->noperands != l->ncarries + l->naccs || op->nresults != op->noperands + l->nouts ||
      r->nparams != l->nindices + op->noperands)
    return verify_fail(v, "the numbers of operands, results or parameters are not those of the loop");
  if (!check_yields(v, r, l->ncarries + l->nouts))
    return false;
  for (int i = 0; i < l->nindices; i++)
    if (r->params[i]->is_acc || !expect_type(v, "parameter", i, r->params[i]->type, type_scalar(KIND_I64)))
      return false;
  if (!check_carried(v, op, r, l->nindices, l->ncarries, true) || !check_accs(v, op))
    return false;
  for (int i = 0; i < l->nouts; i++)
    if (!check_out(v, op, i))
      return false;
  return true;
}

static bool check_if(Verifier *v, const Op *op) {
  if (!expect_type(v, "operand", 0, op->operands[0]->type, type_scalar(KIND_BOOL)))
    return false;
  for (int i = 0; i < 2; i++) {
    const Region *r = op->regions[i];
    if (r->nparams)
      return verify_fail(v, "a branch has parameters");
    if (!check_yields(v, r, op->nresults))
      return false;
    for (int k = 0; k < op->nresults; k++)
      if (!expect_type(v, "yielded value", k, r->yields[k]->type, op->results[k]->type))
        return false;
  }
  return true;
}

static bool check_while(Verifier *v, const Op *op) {
  const Region *condition = op->regions[0], *body = op->regions[1];
  const int n = op->noperands;
  if (op->nresults != n + 1 || condition->nparams != n || body->nparams != n)
    return verify_fail(v, "%d carries, %d results, %d and %d parameters", n, op->nresults, condition->nparams,
                       body->nparams);
  return check_yields(v, condition, 1) && check_yields(v, body, n) &&
         expect_type(v, "yielded value", 0, condition->yields[0]->type, type_scalar(KIND_BOOL)) &&
         expect_type(v, "result", n, op->results[n]->type, type_scalar(KIND_I64)) &&
         check_carried(v, op, condition, 0, n, false) && check_carried(v, op, body, 0, n, true);
}

typedef struct CallMap {
  Module *module;
  const Op *call;
} CallMap;

static const Size *argument_size(Value *x, void *arg) {
  const CallMap *c = arg;
  if (x->def || x->region != c->call->at.callee->body || x->index >= c->call->noperands)
    return NULL;
  Value *given = c->call->operands[x->index];
  return given->type.rank || !kind_is_int(given->type.kind) ? NULL : size_of_value(c->module, given);
}

static bool check_call(Verifier *v, const Op *op) {
  const Func *f = op->at.callee;
  CallMap map = {.module = v->module, .call = op};
  if (!verify_is_ours(v, f))
    return verify_fail(v, "the function called is not in the module");
  if (f->derive.is_sparse)
    return verify_fail(v, "'%s' is sparse, and so cannot be called before it has been made", f->name);
  if (op->noperands != f->body->nparams || op->nresults != f->nresults)
    return verify_fail(v, "%d arguments and %d results for '%s', which has %d and %d", op->noperands, op->nresults,
                       f->name, f->body->nparams, f->nresults);
  for (int i = 0; i < op->noperands; i++)
    if (!f->body->params[i] || !expect_type(v, "argument", i, op->operands[i]->type,
                                            type_map(v->module, f->body->params[i]->type, argument_size, &map)))
      return false;
  for (int i = 0; i < op->nresults; i++)
    if (!expect_type(v, "result", i, op->results[i]->type,
                     type_map(v->module, f->result_types[i], argument_size, &map)))
      return false;
  return true;
}

static bool check_require(Verifier *v, const Op *op) {
  if (op->nresults || !op->at.text)
    return verify_fail(v, "a result, or no message");
  return expect_type(v, "operand", 0, op->operands[0]->type, type_scalar(KIND_BOOL));
}

bool verify_types(Verifier *v, const Op *op) {
  switch (op->code) {
  case OP_CONST: return check_constant(v, op);
  case OP_SIZE: return expect_type(v, "result", 0, op->results[0]->type, type_scalar(KIND_I64));
  case OP_FULL: return check_full(v, op);
  case OP_INDEX: return check_index(v, op);
  case OP_UPDATE: return check_update(v, op);
  case OP_ACC_ADD: return check_acc_add(v, op);
  case OP_RESHAPE: return check_reshape(v, op);
  case OP_LOOP: return check_loop(v, op);
  case OP_IF: return check_if(v, op);
  case OP_WHILE: return check_while(v, op);
  case OP_CALL: return check_call(v, op);
  case OP_REQUIRE: return check_require(v, op);
  default: return check_scalar_op(v, op);
  }
}
