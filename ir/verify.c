/* The verifier: structure, scopes, functions, the module; see verify.h.
   One walk in order, with the set of values in scope: a value enters it where it is defined and leaves it at the end of
   its region, so that a use is dominated exactly when its value is in the set. */
#include "ir/verify.h"
#include "ir/print.h"
#include "ir/raw.h"
#include "ir/size.h"
#include "ir/symbols.h"
#include "ir/text.h"
#include "ir/verify_state.h"
#include <stdio.h>

typedef struct FuncNode { /* a function in the graph of who needs whom */
  const Func *func;
  VEC(struct FuncNode *) needs;
  int nneeded; /* by how many not yet sorted */
} FuncNode;

bool verify_fail(Verifier *v, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  const VerifyFault fault = {
      .text = arena_vprintf(v->module->arena, fmt, ap), .func = v->func, .op = v->op, .export = v->export};
  va_end(ap);
  v->report(&fault, v->arg);
  return false;
}

bool verify_is_ours(const Verifier *v, const Func *f) {
  const FuncNode *n = f && f->name ? symbol_find(v->funcs, f->name) : NULL;
  return n && n->func == f;
}

static void add_need(Verifier *v, const Func *f, const Func *needed) {
  FuncNode *from = symbol_find(v->funcs, f->name), *to = symbol_find(v->funcs, needed->name);
  vec_push(&v->scratch, from->needs, to);
  to->nneeded++;
}

/* ---- scopes */
static bool use(Verifier *v, const Value *x, const char *what, int i) {
  if (!x)
    return verify_fail(v, "%s %d is missing", what, i);
  if (x->uid < v->module->nuids && v->states[x->uid] == VALUE_IN_SCOPE)
    return true;
  return verify_fail(v, "%s %d (%s) is not defined where it is used", what, i, x->name ? x->name : "unnamed");
}

typedef struct SizeUse {
  Verifier *verifier;
  bool good;
} SizeUse;

static void use_in_size(Value *x, void *arg) {
  SizeUse *u = arg;
  const Verifier *v = u->verifier;
  u->good &= x->uid < v->module->nuids && v->states[x->uid] == VALUE_IN_SCOPE && !x->is_acc && !x->type.rank &&
             kind_is_int(x->type.kind);
}

static bool check_size(Verifier *v, const Size *s) {
  SizeUse u = {.verifier = v, .good = true};
  if (!s)
    return verify_fail(v, "a size is missing");
  size_values(s, use_in_size, &u);
  return u.good || verify_fail(v, "the size %s is over a value that is not an i64 in scope", size_text(v->module, s));
}

static bool check_type(Verifier *v, Type t) {
  if ((unsigned)t.kind > KIND_F64 || t.rank < 0 || t.rank > MAX_RANK)
    return verify_fail(v, "a type of kind %d and rank %d", (int)t.kind, t.rank);
  for (int i = 0; i < t.rank; i++)
    if (!check_size(v, t.dims[i]))
      return false;
  return true;
}

static bool define(Verifier *v, const Value *x, const Op *def, const Region *r, int i) {
  if (!x)
    return verify_fail(v, "result or parameter %d is missing", i);
  if (x->def != def || x->region != r || x->index != i)
    return verify_fail(v, "value %s does not know where it is defined", x->name ? x->name : "unnamed");
  if (x->uid >= v->module->nuids || v->states[x->uid] != VALUE_UNSEEN)
    return verify_fail(v, "value %s is defined twice", x->name ? x->name : "unnamed");
  if (!check_type(v, x->type))
    return false;
  v->states[x->uid] = VALUE_IN_SCOPE;
  vec_push(&v->scratch, v->in_scope, x->uid);
  return true;
}

static void leave(Verifier *v, int mark) {
  while (v->in_scope.n > mark)
    v->states[v->in_scope.at[--v->in_scope.n]] = VALUE_GONE;
}

/* ---- operations and regions */
static int wanted_regions(Opcode code) {
  return code == OP_LOOP ? 1 : code == OP_IF || code == OP_WHILE ? 2 : 0;
}

static bool check_parts(Verifier *v, const Op *op) {
  if ((unsigned)op->code >= OP_COUNT)
    return verify_fail(v, "an operation with the code %d", (int)op->code);
  const OpInfo *info = &op_info[op->code];
  if (info->arity >= 0 && op->noperands != info->arity)
    return verify_fail(v, "%d operands, not %d", op->noperands, info->arity);
  if (info->group != GROUP_FLOW && op->nresults != (info->result == RESULT_NONE ? 0 : 1))
    return verify_fail(v, "%d results", op->nresults);
  if (op->nregions != wanted_regions(op->code))
    return verify_fail(v, "%d regions, not %d", op->nregions, wanted_regions(op->code));
  for (int i = 0; i < op->noperands; i++) {
    if (!use(v, op->operands[i], "operand", i))
      return false;
    if (op->operands[i]->is_acc && !(op->code == OP_ACC_ADD && i == 0))
      return verify_fail(v, "operand %d is an accumulator, which only acc_add may use, as its first operand", i);
  }
  if (op->code == OP_SIZE && !check_size(v, op->at.size))
    return false;
  for (int i = 0; op->code == OP_LOOP && i < op->at.loop->nindices; i++)
    if (!check_size(v, op->at.loop->extents[i]))
      return false;
  return op->code != OP_LOOP || !op->at.loop->states || check_size(v, op->at.loop->states);
}

static bool check_region(Verifier *v, const Region *r, const Op *owner);

static bool check_op(Verifier *v, const Op *op, const Region *r) {
  v->op = op;
  if (op->parent != r || (op->next ? op->next->prev != op : r->last != op))
    return verify_fail(v, "the operation is not linked into its region");
  if (!check_parts(v, op))
    return false;
  for (int i = 0; i < op->nregions; i++)
    if (!op->regions[i])
      return verify_fail(v, "region %d is missing", i);
    else if (!check_region(v, op->regions[i], op))
      return false;
  v->op = op;
  for (int i = 0; i < op->nresults; i++)
    if (!define(v, op->results[i], op, r, i))
      return false;
  if (!verify_types(v, op))
    return false;
  if (op->code == OP_CALL)
    add_need(v, v->func, op->at.callee);
  return true;
}

/* Leaves the yields' types to the owner, as the region's values are out of scope behind it. */
static bool check_region(Verifier *v, const Region *r, const Op *owner) {
  const int mark = v->in_scope.n;
  if (r->owner != owner || r->func != v->func)
    return verify_fail(v, "a region does not know what it belongs to");
  for (int i = 0; i < r->nparams; i++)
    if (!define(v, r->params[i], NULL, r, i))
      return false;
  if (r->first && r->first->prev)
    return verify_fail(v, "the first operation of a region has one before it");
  for (const Op *op = r->first; op; op = op->next)
    if (!check_op(v, op, r))
      return false;
  v->op = owner;
  for (int i = 0; i < r->nyields; i++) {
    if (!use(v, r->yields[i], "yielded value", i))
      return false;
    if (r->yields[i]->is_acc)
      return verify_fail(v, "yielded value %d is an accumulator", i);
  }
  leave(v, mark);
  return true;
}

/* ---- functions */
static bool check_results(Verifier *v, const Func *f) {
  for (int i = 0; i < f->nresults; i++)
    if (!check_type(v, f->result_types[i]))
      return false;
  if (f->derive.op != DERIVE_NONE || f->is_extern)
    return true;
  if (f->body->nyields != f->nresults)
    return verify_fail(v, "the function returns %d values, not %d", f->body->nyields, f->nresults);
  for (int i = 0; i < f->nresults; i++)
    if (!type_equal(f->body->yields[i]->type, f->result_types[i]))
      return verify_fail(v, "result %d is %s, but a value of type %s is returned", i,
                         type_text(v->module, f->result_types[i]), type_text(v->module, f->body->yields[i]->type));
  return true;
}

static bool check_derive(Verifier *v, Func *f) {
  const Derive *d = &f->derive;
  if ((unsigned)d->op >= DERIVE_COUNT || !verify_is_ours(v, d->base) || d->base == f || !d->wrt)
    return verify_fail(v, "the function that this one derives is not in the module");
  add_need(v, f, d->base);
  return func_derive_matches(f) ||
         verify_fail(v, "the signature is not that of '%s' of '%s'", derive_name[d->op], d->base->name);
}

static bool check_rule(Verifier *v, Func *f, Func *rule, DeriveOp op) {
  if (!rule)
    return true;
  if (!verify_is_ours(v, rule) || rule == f)
    return verify_fail(v, "its rule '%s' is not a function of the module", derive_name[op]);
  return func_rule_matches(f, rule, op) ||
         verify_fail(v, "its rule '%s', function '%s', has another signature", derive_name[op], rule->name);
}

static bool check_extern(Verifier *v, const Func *f) {
  if (func_is_kernel(f))
    return true;
  if (f->nresults != 1 || f->result_types[0].rank)
    return verify_fail(v, "an external function has one result, a scalar");
  for (int i = 0; i < f->body->nparams; i++)
    if (f->body->params[i]->type.rank)
      return verify_fail(v, "parameter %d of an external function is not a scalar", i);
  return true;
}

static bool check_func(Verifier *v, Func *f) {
  v->func = f;
  v->op = NULL;
  if (f->module != v->module || !f->body)
    return verify_fail(v, "the function is not of this module, or has no region");
  if (f->nsizes < 0 || f->nsizes > f->body->nparams)
    return verify_fail(v, "%d sizes among %d parameters", f->nsizes, f->body->nparams);
  if (f->ncaptured < 0 || f->ncaptured > f->body->nparams - f->nsizes)
    return verify_fail(v, "%d captured values among %d parameters", f->ncaptured, f->body->nparams - f->nsizes);
  for (int i = 0; i < f->body->nparams; i++)
    if (f->body->params[i] && f->body->params[i]->is_acc)
      return verify_fail(v, "parameter %d is an accumulator", i);
  const bool bodiless = f->derive.op != DERIVE_NONE || f->is_extern;
  if (bodiless && (f->body->first || f->body->nyields))
    return verify_fail(v, "the function has a body, though it %s", f->is_extern ? "is external" : "derives another");
  if (!check_region(v, f->body, NULL))
    return false;
  v->op = NULL;
  for (int i = 0; i < f->nsizes; i++)
    if (f->body->params[i]->type.rank || f->body->params[i]->type.kind != KIND_I64)
      return verify_fail(v, "size parameter %d is not an i64", i);
  for (int i = 0; i < f->body->nparams; i++) /* the result types are over them */
    v->states[f->body->params[i]->uid] = VALUE_IN_SCOPE;
  const bool good = check_results(v, f);
  for (int i = 0; i < f->body->nparams; i++)
    v->states[f->body->params[i]->uid] = VALUE_GONE;
  return good && (!f->is_extern || check_extern(v, f)) && (f->derive.op == DERIVE_NONE || check_derive(v, f)) &&
         check_rule(v, f, f->own_vjp, DERIVE_VJP) && check_rule(v, f, f->own_jvp, DERIVE_JVP);
}

/* ---- the module */
static bool collect_funcs(Verifier *v) {
  const Func *last = NULL;
  for (const Func *f = v->module->funcs; f; f = f->next) {
    last = v->func = f;
    if (!f->name || !*f->name)
      return verify_fail(v, "a function without a name");
    void **place = symbol_at(v->funcs, f->name);
    if (*place)
      return verify_fail(v, "two functions are called '%s'", f->name);
    FuncNode *n = NEW(&v->scratch, FuncNode);
    n->func = f;
    *place = n;
  }
  v->func = NULL;
  return last == v->module->last_func || verify_fail(v, "the last function is not at the end of the list");
}

/* Nobody needs himself: functions that nobody needs are taken away until none is left. */
static bool check_recursion(Verifier *v) {
  VEC(FuncNode *) ready = {0};
  for (const Func *f = v->module->funcs; f; f = f->next) {
    FuncNode *n = symbol_find(v->funcs, f->name);
    if (!n->nneeded)
      vec_push(&v->scratch, ready, n);
  }
  while (ready.n) {
    FuncNode *n = ready.at[--ready.n];
    n->nneeded = -1;
    for (int i = 0; i < n->needs.n; i++)
      if (!--n->needs.at[i]->nneeded)
        vec_push(&v->scratch, ready, n->needs.at[i]);
  }
  for (const Func *f = v->module->funcs; f; f = f->next)
    if (((FuncNode *)symbol_find(v->funcs, f->name))->nneeded > 0) {
      v->func = f;
      return verify_fail(v, "'%s' is part of a recursion, or is called in one", f->name);
    }
  return true;
}

/* The function that computes a cut export's sizes, of all parameters but those that it computes and the tape. */
static bool check_sizes_func(Verifier *v, const Export *e) {
  const Func *f = e->func, *sizes = e->cut.sizes;
  const int own = f->nsizes - sizes->nresults, n = sizes->body->nparams;
  if (!verify_is_ours(v, sizes) || own < 0 || sizes->nsizes != own || n + sizes->nresults > f->body->nparams)
    return verify_fail(v, "'%s' does not compute the sizes of '%s'", sizes->name, f->name);
  for (int i = 0; i < sizes->nresults; i++)
    if (sizes->result_types[i].rank || sizes->result_types[i].kind != KIND_I64)
      return verify_fail(v, "result %d of '%s' is not a size", i, sizes->name);
  for (int i = 0; i < n; i++) {
    const Type a = sizes->body->params[i]->type, b = f->body->params[i < own ? i : i + sizes->nresults]->type;
    if (a.kind != b.kind || a.rank != b.rank)
      return verify_fail(v, "parameter %d of '%s' differs from that of '%s'", i, sizes->name, f->name);
  }
  return true;
}

static bool check_part(Verifier *v, const Export *e) {
  const Func *f = e->func;
  const int first = e->cut.first, n = e->cut.n, nparams = f->body->nparams;
  const char *part = export_part_name[e->part];
  if (e->part == PART_WHOLE)
    return true;
  if (!e->cut.sizes)
    return (first <= f->nresults && n >= f->nsizes && n <= nparams) ||
           verify_fail(v, "%s(%d, %d) does not fit '%s'", part, first, n, f->name);
  if (e->part == PART_BACKWARD ? first < f->nsizes || n > nparams - first
                               : first > f->nresults || n != f->nresults - first)
    return verify_fail(v, "%s(%d, %d) does not fit '%s'", part, first, n, f->name);
  return check_sizes_func(v, e);
}

static bool check_export(Verifier *v, const Export *e, Symbols *symbols) {
  if (!verify_is_ours(v, e->func))
    return verify_fail(v, "the exported function is not in the module");
  if (!e->symbol || !is_identifier(e->symbol))
    return verify_fail(v, "the symbol of an export of '%s' is not a C identifier", e->func->name);
  if (e->accumulate_from < 0 || e->accumulate_from > e->func->nresults)
    return verify_fail(v, "'%s' accumulates from result %d on, of %d", e->symbol, e->accumulate_from,
                       e->func->nresults);
  if (!check_part(v, e))
    return false;
  void **place = symbol_at(symbols, e->symbol);
  if (*place)
    return verify_fail(v, "two exports are called '%s'", e->symbol);
  *place = e->func;
  return true;
}

static bool check_module(Verifier *v) {
  Symbols symbols = {.arena = &v->scratch};
  bool good = true;
  if (!collect_funcs(v))
    return false;
  for (Func *f = v->module->funcs; f; f = f->next) {
    good &= check_func(v, f);
    leave(v, 0); /* what a fault has left */
  }
  v->op = NULL;
  good = good && check_recursion(v);
  v->func = NULL;
  for (const Export *e = v->module->exports; e; e = e->next) {
    v->export = e;
    good &= check_export(v, e, &symbols);
  }
  return good;
}

bool verify_each(Module *m, VerifyReport *report, void *arg) {
  Verifier v = {.module = m, .report = report, .arg = arg};
  Symbols funcs = {.arena = &v.scratch};
  v.funcs = &funcs;
  v.states = NEW_ARRAY(&v.scratch, unsigned char, m->nuids);
  const bool good = check_module(&v);
  arena_free(&v.scratch);
  return good;
}

typedef struct PassArg {
  Module *module;
  const char *pass;
} PassArg;

static void fail_pass(const VerifyFault *fault, void *arg) {
  const PassArg *p = arg;
  if (!fault->func)
    internal_error("after pass '%s': %s", p->pass, fault->text);
  if (!fault->op)
    internal_error("after pass '%s': in @%s: %s", p->pass, fault->func->name, fault->text);
  internal_error("after pass '%s': in @%s: %s\n  %s", p->pass, fault->func->name, fault->text,
                 op_brief(p->module->arena, fault->op));
}

bool verify_module(Module *m, const char *after_pass) {
  return verify_each(m, fail_pass, &(PassArg){m, after_pass});
}
