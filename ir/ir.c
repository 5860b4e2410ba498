/* The IR's data structure: tables of names, modules, types, raw operations, walks; see ir.h and raw.h. */
#include "ir/ir.h"
#include "ir/raw.h"
#include "ir/size_table.h"
#include "ir/symbols.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const kind_name[5] = {"bool", "i32", "i64", "f32", "f64"};
const char *const out_kind_name[7] = {"stack", "sum", "prod", "min", "max", "and", "or"};
const char *const export_part_name[4] = {"", "forward", "backward", "tapesize"};
const char *const derive_name[DERIVE_COUNT] = {"",    "grad",     "value_and_grad", "vjp",
                                               "jvp", "jacobian", "hessian",        "hvp"};

const OpInfo op_info[OP_COUNT] = {
#define OP(code, name, group, arity, result, effect, reads) \
  [OP_##code] = {name, GROUP_##group, arity, RESULT_##result, EFFECT_##effect, reads},
#include "ir/ops.def"
#undef OP
};

void internal_error(const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  fputs("gradc: internal error: ", stderr);
  vfprintf(stderr, fmt, ap);
  fputs("\ngradc: this is a fault of gradc, not of the program; please report it with the source that led to it\n",
        stderr);
  va_end(ap);
  exit(70);
}

/* ---- modules */
Module *module_new(Arena *a, Diag *d, const char *file) {
  Module *m = NEW(a, Module);
  m->arena = a;
  m->diag = d;
  m->file = file;
  m->sizes = size_table_new(a);
  m->func_names = NEW(a, Symbols);
  m->func_names->arena = a;
  return m;
}

Export *module_export(Module *m, const char *symbol, Func *f, Range loc) {
  Export *e = NEW(m->arena, Export);
  *e = (Export){.symbol = arena_name(m->arena, symbol), .func = f, .accumulate_from = f->nresults, .loc = loc};
  if (m->last_export)
    m->last_export->next = e;
  else
    m->exports = e;
  m->last_export = e;
  return e;
}

/* ---- types */
Type type_tensor(Module *m, Kind k, int rank, const Size *const *dims) {
  if (rank < 0 || rank > MAX_RANK)
    internal_error("a type of rank %d", rank);
  if (rank == 0)
    return type_scalar(k);
  const Size **copy = NEW_ARRAY(m->arena, const Size *, rank);
  memcpy(copy, dims, sizeof *copy * (size_t)rank);
  return (Type){.kind = k, .rank = rank, .dims = copy};
}

bool type_equal(Type a, Type b) {
  if (a.kind != b.kind || a.rank != b.rank)
    return false;
  for (int i = 0; i < a.rank; i++)
    if (a.dims[i] != b.dims[i])
      return false;
  return true;
}

Type type_drop(Type t, int n) {
  if (n < 0 || n > t.rank)
    internal_error("%d axes taken from a type of rank %d", n, t.rank);
  if (n == t.rank)
    return type_scalar(t.kind);
  return (Type){.kind = t.kind, .rank = t.rank - n, .dims = t.dims + n};
}

Type type_with_kind(Type t, Kind k) {
  t.kind = k;
  return t;
}

/* ---- raw construction */
Value *value_new(Module *m, Type t, const char *name) {
  Value *v = NEW(m->arena, Value);
  v->type = t;
  v->uid = m->nuids++;
  v->name = name;
  return v;
}

Op *op_new(Module *m, Opcode code, int noperands, int nresults, int nregions) {
  Op *op = NEW(m->arena, Op);
  op->code = code;
  op->noperands = noperands;
  op->nresults = nresults;
  op->nregions = nregions;
  op->operands = NEW_ARRAY(m->arena, Value *, noperands);
  op->results = NEW_ARRAY(m->arena, Value *, nresults);
  op->regions = NEW_ARRAY(m->arena, Region *, nregions);
  return op;
}

Value *op_set_result(Module *m, Op *op, int i, Type t, const char *name) {
  Value *v = value_new(m, t, name);
  v->def = op;
  v->region = op->parent;
  v->index = i;
  return op->results[i] = v;
}

Region *region_new(Module *m, Func *f, Op *owner) {
  Region *r = NEW(m->arena, Region);
  r->owner = owner;
  r->func = f;
  return r;
}

Value *region_add_param(Module *m, Region *r, Type t, const char *name) {
  Value *v = value_new(m, t, name);
  const int n = r->nparams;
  if ((n & (n - 1)) == 0) { /* the room is always the power of two from n on */
    Value **more = NEW_ARRAY(m->arena, Value *, n ? 2 * n : 1);
    if (n)
      memcpy(more, r->params, sizeof *more * (size_t)n);
    r->params = more;
  }
  v->region = r;
  v->index = n;
  r->params[r->nparams++] = v;
  return v;
}

void region_set_yields(Module *m, Region *r, int n, Value *const *yields) {
  r->yields = NEW_ARRAY(m->arena, Value *, n);
  r->nyields = n;
  if (n)
    memcpy(r->yields, yields, sizeof *r->yields * (size_t)n);
}

static void op_enter(Op *op, Region *r) {
  op->parent = r;
  for (int i = 0; i < op->nresults; i++)
    if (op->results[i])
      op->results[i]->region = r;
}

void region_append(Region *r, Op *op) {
  op->prev = r->last;
  op->next = NULL;
  if (r->last)
    r->last->next = op;
  else
    r->first = op;
  r->last = op;
  op_enter(op, r);
}

void op_insert_before(Op *at, Op *op) {
  op->prev = at->prev;
  op->next = at;
  if (at->prev)
    at->prev->next = op;
  else
    at->parent->first = op;
  at->prev = op;
  op_enter(op, at->parent);
}

void op_insert_after(Op *at, Op *op) {
  if (at->next)
    op_insert_before(at->next, op);
  else
    region_append(at->parent, op);
}

void op_unlink(Op *op) {
  Region *r = op->parent;
  if (op->prev)
    op->prev->next = op->next;
  else
    r->first = op->next;
  if (op->next)
    op->next->prev = op->prev;
  else
    r->last = op->prev;
  op->prev = op->next = NULL;
  op->parent = NULL;
}

LoopInfo *loop_info_new(Module *m, int nindices, int ncarries, int naccs, int nouts) {
  LoopInfo *l = NEW(m->arena, LoopInfo);
  l->nindices = nindices;
  l->ncarries = ncarries;
  l->naccs = naccs;
  l->nouts = nouts;
  l->extents = NEW_ARRAY(m->arena, const Size *, nindices);
  l->outs = NEW_ARRAY(m->arena, OutKind, nouts);
  return l;
}

/* ---- walks */
void region_walk(Region *r, OpVisit *visit, void *arg) {
  for (Op *op = r->first, *next; op; op = next) {
    next = op->next;
    visit(op, arg);
    for (int i = 0; i < op->nregions; i++)
      region_walk(op->regions[i], visit, arg);
  }
}

bool value_is_outside(const Value *v, const Region *r) {
  for (const Region *at = v->region; at; at = at->owner ? at->owner->parent : NULL)
    if (at == r)
      return false;
  return true;
}

bool op_is_quick(const Op *op) {
  switch (op->code) {
  case OP_CONST:
  case OP_SIZE:
  case OP_INDEX:
  case OP_NEG:
  case OP_ABS:
  case OP_CAST:
  case OP_ADD:
  case OP_SUB:
  case OP_MUL:
  case OP_MULZ:
  case OP_LT:
  case OP_LE:
  case OP_EQ:
  case OP_NE:
  case OP_AND:
  case OP_OR:
  case OP_NOT:
  case OP_MIN:
  case OP_MAX:
  case OP_SELECT: return true;
  default: return false;
  }
}
