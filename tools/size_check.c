/* Sizes against plain arithmetic, at random: builds expressions over size parameters and loop indices, and compares the
   value of each size with that of the expression that it was built from, at all small values of the parameters; where
   size_nonnegative says yes, no value may be below zero.  usage: size-check SEED COUNT */
#include "ir/raw.h"
#include "ir/size.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_NODES = 64, NPARAMS = 3, MAX_LOOPS = 3, MAX_VALUES = NPARAMS + MAX_LOOPS };

typedef struct Node {
  enum { NODE_CONST, NODE_VALUE, NODE_ADD, NODE_SUB, NODE_MUL, NODE_DIV } kind;
  int a, b; /* operands; the number of the value */
  int64_t c;
  const Size *size;
} Node;

typedef struct Case {
  uint64_t seed;
  Module *module;
  Node nodes[MAX_NODES];
  int n;
  Value *values[MAX_VALUES];
  int nvalues, nloops;
  int extents[MAX_LOOPS]; /* nodes */
  int64_t at[MAX_VALUES];
} Case;

static int pick(Case *c, int n) {
  c->seed = c->seed * 6364136223846793005u + 1442695040888963407u;
  return (int)((c->seed >> 33) % (uint64_t)n);
}

/* ---- expressions */
static int add_node(Case *c, Node node) {
  Module *m = c->module;
  const Size *a = c->nodes[node.a].size, *b = c->nodes[node.b].size;
  switch (node.kind) {
  case NODE_CONST: node.size = size_const(m, node.c); break;
  case NODE_VALUE: node.size = size_of_value(m, c->values[node.a]); break;
  case NODE_ADD: node.size = size_add(m, a, b); break;
  case NODE_SUB: node.size = size_sub(m, a, b); break;
  case NODE_MUL: node.size = size_mul(m, a, b); break;
  case NODE_DIV: node.size = size_floordiv(m, a, b); break;
  }
  c->nodes[c->n] = node;
  return c->n++;
}

static int make_const(Case *c, int64_t v) {
  return add_node(c, (Node){.kind = NODE_CONST, .c = v});
}
static int make_value(Case *c, int i) {
  return add_node(c, (Node){.kind = NODE_VALUE, .a = i});
}
static int make(Case *c, int kind, int a, int b) {
  return add_node(c, (Node){.kind = kind, .a = a, .b = b});
}

static int make_any(Case *c, int depth) {
  const int kind = depth ? pick(c, 6) : pick(c, 2);
  if (kind == NODE_CONST || c->n > MAX_NODES - 24)
    return make_const(c, pick(c, 7) - 2);
  if (kind == NODE_VALUE)
    return make_value(c, pick(c, c->nvalues));
  const int a = make_any(c, depth - 1);
  const int b = kind == NODE_DIV && pick(c, 4) ? make_const(c, pick(c, 4) + 1) : make_any(c, depth - 1);
  return make(c, kind, a, b);
}

/* extent - 1 - index, or an index or parameter, times such another, at times less a little: often just not negative. */
static int make_close(Case *c) {
  int s = -1;
  for (int i = 0; i <= pick(c, 3); i++) {
    const int loop = c->nloops ? pick(c, c->nloops) : -1;
    int t = loop >= 0 && pick(c, 2) ? make(c, NODE_SUB, c->extents[loop], make_value(c, NPARAMS + loop))
                                    : make_value(c, pick(c, c->nvalues));
    if (pick(c, 2))
      t = make(c, NODE_SUB, t, make_const(c, 1));
    s = s < 0 ? t : make(c, pick(c, 2) ? NODE_MUL : pick(c, 2) ? NODE_ADD : NODE_SUB, s, t);
  }
  if (!pick(c, 3))
    s = make(c, NODE_DIV, s, make_const(c, 2 + pick(c, 2)));
  return pick(c, 3) ? s : make(c, NODE_ADD, s, make_any(c, 1));
}

/* ---- values; false where something is divided by zero */
static bool floor_quotient(int64_t a, int64_t b, int64_t *q) {
  if (b == 0)
    return false;
  *q = a / b - (a % b && (a < 0) != (b < 0));
  return true;
}

static bool node_value(const Case *c, int i, int64_t *v) {
  const Node *n = &c->nodes[i];
  int64_t a, b;
  if (n->kind == NODE_CONST || n->kind == NODE_VALUE) {
    *v = n->kind == NODE_CONST ? n->c : c->at[n->a];
    return true;
  }
  if (!node_value(c, n->a, &a) || !node_value(c, n->b, &b))
    return false;
  *v = n->kind == NODE_ADD ? a + b : n->kind == NODE_SUB ? a - b : a * b;
  return n->kind != NODE_DIV || floor_quotient(a, b, v);
}

static bool size_value(const Case *c, const Size *s, int64_t *v);

static bool atom_value(const Case *c, const Atom *a, int64_t *v) {
  int64_t num, den;
  for (int i = 0; a->value && i < c->nvalues; i++)
    if (c->values[i] == a->value) {
      *v = c->at[i];
      return true;
    }
  return !a->value && size_value(c, a->num, &num) && size_value(c, a->den, &den) && floor_quotient(num, den, v);
}

static bool size_value(const Case *c, const Size *s, int64_t *v) {
  *v = 0;
  for (int i = 0; i < s->nterms; i++) {
    int64_t product = s->terms[i].coefficient, a;
    for (int j = 0; j < s->terms[i].npowers; j++) {
      if (!atom_value(c, s->terms[i].powers[j].atom, &a))
        return false;
      for (int k = 0; k < s->terms[i].powers[j].exponent; k++)
        product *= a;
    }
    *v += product;
  }
  return !s->overflow;
}

/* ---- one case */
static void add_loop(Case *c, Region **region) {
  const int extent = pick(c, 2) ? make_value(c, pick(c, c->nvalues)) : make_any(c, 2);
  Op *loop = op_new(c->module, OP_LOOP, 0, 0, 1);
  loop->at.loop = loop_info_new(c->module, 1, 0, 0, 0);
  loop->at.loop->extents[0] = c->nodes[extent].size;
  region_append(*region, loop);
  *region = loop->regions[0] = region_new(c->module, (*region)->func, loop);
  c->values[c->nvalues++] = region_add_param(c->module, *region, type_scalar(KIND_I64), "i");
  c->extents[c->nloops++] = extent;
}

typedef struct Count {
  long points, below, shown, wrong;
} Count;

static void check_point(const Case *c, int node, bool shown, Count *count) {
  int64_t want, got;
  if (!node_value(c, node, &want))
    return; /* the run would have ended with a status */
  count->points++;
  count->below += want < 0;
  if ((!size_value(c, c->nodes[node].size, &got) || got != want) && !c->nodes[node].size->overflow) {
    printf("wrong value: %s is %" PRId64 ", not %" PRId64 "\n", size_text(c->module, c->nodes[node].size), got, want);
    count->wrong++;
  }
  if (shown && want < 0) {
    printf("not nonnegative: %s is %" PRId64 " at", size_text(c->module, c->nodes[node].size), want);
    for (int i = 0; i < c->nvalues; i++)
      printf(" %" PRId64, c->at[i]);
    printf("\n");
    count->wrong++;
  }
}

static void run_loops(Case *c, int loop, int node, bool shown, Count *count) {
  int64_t extent;
  if (loop == c->nloops) {
    check_point(c, node, shown, count);
    return;
  }
  if (!node_value(c, c->extents[loop], &extent))
    return;
  for (int64_t i = 0; i < extent && i < 12; i++) {
    /* long ranges are tried at both ends */
    c->at[NPARAMS + loop] = extent <= 12 || i < 6 ? i : extent - 12 + i;
    run_loops(c, loop + 1, node, shown, count);
  }
}

static void run_case(Case *c, Count *total) {
  static const int64_t tried[] = {0, 1, 2, 3, 5};
  Arena arena = {0};
  Diag diag = {.arena = &arena};
  c->module = module_new(&arena, &diag, "size-check");
  c->n = c->nvalues = c->nloops = 0;
  Func *f = func_new(c->module, "f", (Range){0});
  for (int i = 0; i < NPARAMS; i++)
    c->values[c->nvalues++] = func_add_param(f, type_scalar(KIND_I64), (const char *[]){"n", "d", "k"}[i]);
  f->nsizes = 2;
  Region *region = f->body;
  for (int i = pick(c, MAX_LOOPS + 1); i > 0; i--)
    add_loop(c, &region);
  const int node = pick(c, 3) ? make_close(c) : make_any(c, 3);
  const bool shown = size_nonnegative(c->module, c->nodes[node].size);
  Count count = {0};
  for (int i = 0; i < 125; i++) {
    c->at[0] = tried[i % 5];
    c->at[1] = tried[i / 5 % 5];
    c->at[2] = i / 25 - 2;
    run_loops(c, 0, node, shown, &count);
  }
  total->points += count.points;
  total->below += !count.below;
  total->shown += shown;
  total->wrong += count.wrong;
  arena_free(&arena);
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fputs("usage: size-check SEED COUNT\n", stderr);
    return 2;
  }
  Case c = {.seed = strtoull(argv[1], NULL, 10)};
  Count total = {0};
  for (long i = strtol(argv[2], NULL, 10); i > 0 && total.wrong < 20; i--)
    run_case(&c, &total);
  printf("%ld points, %ld sizes never seen below zero, %ld shown\n", total.points, total.below, total.shown);
  return total.wrong ? 1 : 0;
}
