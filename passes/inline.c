/* Inlining: a function is copied into its caller where it is small, or called from one place only.
   The growth of a caller is bounded by a multiple of its own size, so that the whole stays linear in the source. */
#include "passes/passes_internal.h"

enum { SMALL = 60, ONCE = 4000, GROWTH = 8, ROOM = 2000 };

static void count_op(Op *op, void *arg) {
  (void)op;
  ++*(long *)arg;
}
long region_op_count(const Region *r) {
  long n = 0;
  region_walk((Region *)(uintptr_t)r, count_op, &n);
  return n;
}

typedef struct Inline {
  Module *module;
  long budget, small;
  const int *ncalls; /* per function, by its number in note; or NULL */
  bool is_final;     /* differentiation is over */
} Inline;

/* A function with rules of its own is not looked into before differentiation is over; nor one that is still to be made.
 */
static bool may_inline(const Inline *in, const Func *f, long *cost) {
  if (f->is_extern || func_is_underived(f) || (!in->is_final && (f->own_vjp || f->own_jvp)))
    return false;
  *cost = region_op_count(f->body);
  const bool once = in->ncalls && in->ncalls[(intptr_t)f->note] == 1;
  return *cost <= in->small || (once && *cost <= ONCE);
}

void build_body_of_call(Builder *b, const Op *call, ValueMap *map) {
  const Func *f = call->at.callee;
  ValueMap inner = {.arena = b->module->arena};
  for (int i = 0; i < call->noperands; i++)
    map_put(&inner, f->body->params[i], map_value(map, call->operands[i]));
  build_copy_region(b, f->body, &inner); /* the hook sees the calls in it too */
  for (int i = 0; i < call->nresults; i++)
    map_put(map, call->results[i], map_value(&inner, f->body->yields[i]));
}

static bool inline_call(Builder *b, const Op *op, ValueMap *map, void *arg) {
  Inline *in = arg;
  long cost;
  if (op->code != OP_CALL || !may_inline(in, op->at.callee, &cost) || cost > in->budget)
    return false;
  in->budget -= cost;
  build_body_of_call(b, op, map);
  return true;
}

static void count_call(Op *op, void *arg) {
  if (op->code == OP_CALL)
    ((int *)arg)[(intptr_t)op->at.callee->note]++;
}

static void find_call(Op *op, void *arg) {
  if (op->code == OP_CALL)
    *(bool *)arg = true;
}

static void inline_all(Module *m) {
  int n = 0;
  for (Func *f = m->funcs; f; f = f->next)
    f->note = (void *)(intptr_t)n++;
  int *ncalls = NEW_ARRAY(m->arena, int, n + 1);
  bool is_final = true;
  for (Func *f = m->funcs; f; f = f->next)
    is_final = is_final && !func_is_underived(f);
  for (Func *f = m->funcs; f; f = f->next)
    if (!func_is_underived(f))
      region_walk(f->body, count_call, ncalls);
  for (Func *f = m->funcs; f; f = f->next) {
    if (func_is_underived(f) || f->is_extern)
      continue;
    Inline in = {.module = m, .ncalls = ncalls, .small = SMALL, .is_final = is_final};
    in.budget = GROWTH * region_op_count(f->body) + ROOM;
    func_rebuild(f, inline_call, &in);
    func_dce(f);
  }
  for (Func *f = m->funcs; f; f = f->next)
    f->note = NULL;
}

/* Before a function is differentiated: what it calls, where that is small. */
void func_inline(Func *f) {
  enum { SMALL_FOR_DERIVATIVES = 400 };
  Inline in = {.module = f->module, .small = SMALL_FOR_DERIVATIVES};
  bool calls = false;
  region_walk(f->body, find_call, &calls);
  if (!calls)
    return;
  in.budget = GROWTH * region_op_count(f->body) + ROOM;
  func_rebuild(f, inline_call, &in);
  func_dce(f);
}

void pass_inline(Module *m) {
  inline_all(m);
}
void pass_reinline(Module *m) {
  inline_all(m);
}
