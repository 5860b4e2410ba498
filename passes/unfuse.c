/* A product whose elements go on into mathematical functions becomes a loop of its own.
       loop (i, j) stack { exp(loop k sum { a[i, k] * b[j, k] }) }
   pays as vectors across j for the sake of exp, but then the lanes' elements of b lie a row apart.  Apart from each
   other, the product is summed along its rows, and the functions run over what it gave.  The same holds for additions
   to accumulators.  Where the lanes' elements lie side by side one loop is as good.

   Only for loops that no other parallel loop is around: what is inside of one may run in that one's vectors.  And only
   where the loop stacks something itself, or reads an element for each of its iterations, so that the product's stack
   is not what makes the memory grow: a sum over all pairs keeps none of them. */
#include "ir/raw.h"
#include "passes/passes_internal.h"

static bool is_plain(const Op *op) {
  if (op->nresults != 1 || op->results[0]->type.rank)
    return false;
  switch (op->code) {
  case OP_CONST:
  case OP_SIZE: return true;
  case OP_INDEX: return !op->at.checks;
  case OP_DIV:
  case OP_REM:
  case OP_MOD: return kind_is_float(op->results[0]->type.kind);
  default: return op_info[op->code].group == GROUP_ELEM;
  }
}

static bool is_function(Opcode code) {
  return (code >= OP_CBRT && code <= OP_SOFTPLUS) || code == OP_POW || code == OP_ATAN2 || code == OP_HYPOT;
}

/* Reads a row of b for each j: the lanes' elements are apart, those along the sum side by side. */
static bool reads_rows(const Op *op, const Op *sum, const Value *j) {
  const int n = op->noperands - 1;
  if (op->code != OP_INDEX || n < 2 || op->operands[n] != loop_index(sum, sum->at.loop->nindices - 1))
    return false;
  for (int i = 1; i < n; i++)
    if (op->operands[i] == j)
      return true;
  return false;
}

static bool is_product(const Op *op, const Value *j) {
  const LoopInfo *info = op->code == OP_LOOP ? op->at.loop : NULL;
  int64_t extent;
  if (!info || info->nindices != 1 || info->ncarries || info->naccs || !info->nouts ||
      (size_is_const(info->extents[0], &extent) && extent < 8))
    return false;
  for (int i = 0; i < info->nouts; i++)
    if (info->outs[i] != OUT_SUM)
      return false;
  bool rows = false;
  for (const Op *in = op->regions[0]->first; in; in = in->next) {
    if (!is_plain(in))
      return false;
    rows |= reads_rows(in, op, j);
  }
  return rows;
}

/* A product of the loop, where what stands beside it is a function or an addition to an accumulator. */
static Op *find_product(const Op *loop) {
  const Value *j = loop_index(loop, loop->at.loop->nindices - 1);
  Op *product = NULL;
  bool beside = false;
  for (Op *op = loop->regions[0]->first; op; op = op->next) {
    beside |= is_function(op->code) || op->code == OP_ACC_ADD;
    if (!product && is_product(op, j))
      product = op;
  }
  return beside ? product : NULL;
}

/* ---- what a product needs of its loop's body: plain operations, which are copied */

typedef struct Needs {
  const Op *loop;
  VEC(const Op *) ops; /* each after those that it reads */
  bool unfit;
  Arena *arena;
} Needs;

static void need(Needs *n, const Value *v) {
  const Op *op = v->def;
  if (v->region != n->loop->regions[0] || !op || n->unfit)
    return;
  for (int i = 0; i < n->ops.n; i++)
    if (n->ops.at[i] == op)
      return;
  n->unfit = !is_plain(op) || op->code == OP_SIZE || is_function(op->code);
  for (int i = 0; i < op->noperands; i++)
    need(n, op->operands[i]);
  vec_push(n->arena, n->ops, op);
}

static bool is_outside(const Size *s, const Region *body) {
  for (int i = 0; i < body->nparams; i++)
    if (size_uses(s, body->params[i]))
      return false;
  for (const Op *op = body->first; op; op = op->next)
    for (int i = 0; i < op->nresults; i++)
      if (size_uses(s, op->results[i]))
        return false;
  return true;
}

/* ---- taking it apart */

/* The product alone, as stacks, before the loop. */
static Op *build_apart(Func *f, Op *loop, Op *product, const Needs *needs) {
  const LoopInfo *info = loop->at.loop, *sums = product->at.loop;
  OutKind *outs = arena_alloc(f->module->arena, sizeof *outs * (size_t)sums->nouts);
  for (int i = 0; i < sums->nouts; i++)
    outs[i] = OUT_STACK;
  Builder b = build_into(f, loop->parent);
  b.loc = product->loc;
  const LoopSpec spec = {.nindices = info->nindices, .extents = info->extents, .nouts = sums->nouts, .outs = outs};
  Op *apart = build_loop_begin(&b, &spec);
  b.share_top = apart->regions[0];
  ValueMap map = {.arena = f->module->arena};
  for (int i = 0; i < info->nindices; i++)
    map_put(&map, loop_index(loop, i), loop_index(apart, i));
  for (int i = 0; i < needs->ops.n; i++)
    build_copy_op(&b, needs->ops.at[i], &map);
  build_copy_op(&b, product, &map);
  Value **yields = arena_alloc(f->module->arena, sizeof *yields * (size_t)sums->nouts);
  for (int i = 0; i < sums->nouts; i++)
    yields[i] = map_value(&map, product->results[i]);
  build_loop_end(&b, apart, NULL, yields);
  op_unlink(apart);
  op_insert_before(loop, apart);
  return apart;
}

/* The product's results become elements of the stacks. */
static void read_apart(Module *m, Op *loop, Op *product, Op *apart) {
  const int n = loop->at.loop->nindices;
  for (int i = 0; i < product->nresults; i++) {
    Op *index = op_new(m, OP_INDEX, 1 + n, 1, 0);
    Value *r = product->results[i];
    index->loc = product->loc;
    index->origin = product->origin;
    index->operands[0] = loop_out(apart, i);
    for (int k = 0; k < n; k++)
      index->operands[1 + k] = loop_index(loop, k);
    index->results[0] = r;
    r->def = index;
    r->index = 0;
    op_insert_before(product, index);
  }
  op_unlink(product);
}

static bool unfuse_loop(Func *f, Op *loop) {
  bool any = false;
  for (Op *product; (product = find_product(loop));) {
    Needs needs = {.loop = loop, .arena = f->module->arena};
    for (const Op *op = product->regions[0]->first; op; op = op->next)
      for (int i = 0; i < op->noperands; i++)
        need(&needs, op->operands[i]);
    for (int i = 0; i < product->nresults; i++)
      need(&needs, product->regions[0]->yields[i]);
    if (needs.unfit || !is_outside(product->at.loop->extents[0], loop->regions[0]))
      break;
    read_apart(f->module, loop, product, build_apart(f, loop, product, &needs));
    any = true;
  }
  return any;
}

static bool stacks(const LoopInfo *info) {
  for (int i = 0; i < info->nouts; i++)
    if (info->outs[i] == OUT_STACK)
      return true;
  return false;
}

/* An element of a tensor of which each iteration has its own. */
static bool reads_its_own(const Op *loop) {
  const int n = loop->at.loop->nindices;
  for (const Op *op = loop->regions[0]->first; op; op = op->next) {
    int k = 0;
    while (op->code == OP_INDEX && k < n && k + 1 < op->noperands && op->operands[1 + k] == loop_index(loop, k))
      k++;
    if (k == n)
      return true;
  }
  return false;
}

static bool unfuse_region(Func *f, Region *r) {
  bool any = false;
  for (Op *op = r->first; op; op = op->next) {
    const LoopInfo *info = op->code == OP_LOOP ? op->at.loop : NULL;
    if (info && info->nindices && !info->ncarries) {
      any |= (stacks(info) || reads_its_own(op)) && unfuse_loop(f, op);
      continue;
    }
    for (int i = 0; i < op->nregions; i++)
      any |= unfuse_region(f, op->regions[i]);
  }
  return any;
}

void pass_unfuse(Module *m) {
  for (Func *f = m->funcs; f; f = f->next)
    if (!func_is_underived(f) && !f->is_extern && unfuse_region(f, f->body))
      func_simplify(f);
}
