/* Pass `rows`: rows of a tensor that are replaced, as those of a state that a loop carries, are read where they are
   made. So the loops over their elements depend on each other by elements alone, and `fuse` runs them as one.
   1. An accumulator to whose rows a loop adds once an element becomes stacks, and updates of the rows:
          y = loop i acc(a = x) { acc_add a[r, i], e }      is      s = loop i stack { x[r, i] + e };  y = x[r] <- s
   2. A tensor that is added to another as a whole, and read element by element, becomes a stack of the sums.
   3. What reads the row that an update has replaced reads what it was replaced with.  Where nobody reads another part
      of the new tensor but at places that are seen to be of other rows, these read the old tensor, and the update goes
      to where the new one is wanted: the two need not be there at the same time.
   4. An update of a row that is replaced before anybody has read it goes. */
#include "ir/raw.h"
#include "passes/gather.h"
#include "passes/rename.h"

enum { MOST_ADDITIONS = 16, MOST_STEPS = 400 };

/* ---- which row */
typedef enum Relation { UNKNOWN, SAME, DIFFERENT } Relation;

static Relation relation(Module *m, int n, Value *const *a, Value *const *b) {
  bool same = true;
  for (int i = 0; i < n; i++) {
    int64_t apart = 0;
    if (a[i] == b[i])
      continue;
    const bool known = size_is_const(size_sub(m, size_of_value(m, a[i]), size_of_value(m, b[i])), &apart);
    if (known && apart)
      return DIFFERENT;
    same &= known;
  }
  return same ? SAME : UNKNOWN;
}

static bool is_row_update(const Op *op) {
  return op && op->code == OP_UPDATE && op->operands[1]->type.rank && !op->at.checks;
}

/* All of row `at` of x is 0. */
static bool row_is_zero(Module *m, const Value *x, int n, Value *const *at) {
  for (int steps = 0; steps < MOST_STEPS && is_row_update(x->def) && x->def->noperands == n + 2; steps++) {
    const Relation r = relation(m, n, x->def->operands + 2, at);
    if (r == SAME)
      return value_is_zero(x->def->operands[1]);
    if (r == UNKNOWN)
      return false;
    x = x->def->operands[0];
  }
  return value_is_zero(x);
}

/* ---- 1: additions to rows */
typedef struct Additions {
  Module *module;
  Op *loop;
  const Value *handle;
  int n, axes; /* axes: of the row's place */
  Op *ops[MOST_ADDITIONS];
  int group[MOST_ADDITIONS]; /* by addition: the first that adds to the same row */
  bool good;
} Additions;

static void look_at_addition(Op *op, void *arg) {
  Additions *a = arg;
  if (op->code != OP_ACC_ADD || op->operands[0] != a->handle)
    return;
  const Region *body = a->loop->regions[0];
  const LoopInfo *info = a->loop->at.loop;
  a->good = a->good && a->n < MOST_ADDITIONS && op->parent == body && !op->operands[1]->type.rank && !op->at.checks &&
            op->noperands == 2 + a->handle->type.rank;
  for (int i = 0; a->good && i < a->axes; i++)
    a->good = value_is_outside(op->operands[2 + i], body);
  for (int i = 0; a->good && i < info->nindices; i++)
    a->good = op->operands[2 + a->axes + i] == loop_index(a->loop, i);
  if (a->good)
    a->ops[a->n++] = op;
}

/* Additions are to one row or to rows that are seen to differ. */
static bool group_additions(Additions *a) {
  for (int i = 0; i < a->n; i++) {
    a->group[i] = i;
    for (int k = 0; k < i; k++) {
      const Relation r = relation(a->module, a->axes, a->ops[i]->operands + 2, a->ops[k]->operands + 2);
      if (r == UNKNOWN)
        return false;
      if (r == SAME && a->group[i] == i)
        a->group[i] = k;
    }
  }
  return true;
}

static bool find_additions(Additions *a, int acc) {
  const LoopInfo *info = a->loop->at.loop;
  const Type t = loop_acc(a->loop, acc)->type;
  *a = (Additions){.module = a->module, .loop = a->loop, .handle = loop_acc(a->loop, acc), .good = true};
  a->axes = t.rank - info->nindices;
  if (a->axes < 1 || !info->nindices)
    return false;
  for (int i = 0; i < info->nindices; i++)
    if (t.dims[a->axes + i] != info->extents[i])
      return false;
  region_walk(a->loop->regions[0], look_at_addition, a);
  return a->good && a->n && group_additions(a);
}

/* The stack of what the row has after the additions of a group. */
static Value *stack_row(Additions *a, int group, Value *init) {
  Region *body = a->loop->regions[0];
  Builder b = build_into(body->func, body);
  const Op *first = a->ops[group];
  b.share_top = body;
  b.loc = first->loc;
  b.origin = first->origin;
  const bool zero = row_is_zero(a->module, init, a->axes, first->operands + 2);
  Value *sum = zero ? NULL : build_index(&b, init, first->noperands - 2, first->operands + 2, 0);
  for (int i = group; i < a->n; i++)
    if (a->group[i] == group) {
      sum = sum ? build_add(&b, sum, a->ops[i]->operands[1]) : a->ops[i]->operands[1];
      op_unlink(a->ops[i]);
    }
  return loop_add_out(a->module, a->loop, OUT_STACK, sum);
}

static void replace_rows(Additions *a, int acc) {
  Module *m = a->module;
  Value *init = a->loop->operands[acc], *now = init;
  Op *last = a->loop;
  for (int g = 0; g < a->n; g++) {
    if (a->group[g] != g)
      continue;
    Op *op = op_new(m, OP_UPDATE, 2 + a->axes, 1, 0);
    op->operands[0] = now;
    op->operands[1] = stack_row(a, g, init);
    for (int i = 0; i < a->axes; i++)
      op->operands[2 + i] = a->ops[g]->operands[2 + i];
    op->loc = a->ops[g]->loc;
    op->origin = a->ops[g]->origin;
    now = op_set_result(m, op, 0, init->type, NULL);
    op_insert_after(last, op);
    last = op;
  }
  hand_over_result(m, a->loop, acc, last, 0);
}

/* ---- 2: additions of whole tensors */
static bool adds_whole(const Op *loop) {
  const LoopInfo *info = loop->at.loop;
  const Op *add = loop->regions[0]->first;
  return !info->nindices && info->naccs == 1 && !info->ncarries && !info->nouts && add && !add->next &&
         add->code == OP_ACC_ADD && add->noperands == 2 && add->operands[1]->type.rank &&
         kind_is_float(add->operands[1]->type.kind);
}

typedef struct Reads {
  const Value *x;
  int elements, others;
} Reads;

static void look_at_read(Op *op, void *arg) {
  Reads *r = arg;
  for (int i = 0; i < op->noperands; i++)
    if (op->operands[i] == r->x) {
      const bool element = op->code == OP_INDEX && i == 0 && !op->results[0]->type.rank;
      r->elements += element;
      r->others += !element;
    }
  for (int k = 0; k < op->nregions; k++)
    for (int i = 0; i < op->regions[k]->nyields; i++)
      r->others += op->regions[k]->yields[i] == r->x;
}

/* Read by the loop that comes next, and by nobody else but element by element. */
static bool is_read_by_elements(const Op *loop) {
  Reads r = {.x = loop->results[0]};
  const Region *home = loop->parent;
  int steps = 0;
  for (Op *op = loop->next; op && steps < MOST_STEPS; op = op->next, steps++) {
    look_at_read(op, &r);
    for (int i = 0; i < op->nregions; i++)
      region_walk(op->regions[i], look_at_read, &r);
  }
  for (int i = 0; i < home->nyields; i++)
    r.others += home->yields[i] == r.x;
  return r.elements && !r.others && steps < MOST_STEPS;
}

static void add_by_elements(Module *m, Op *loop) {
  const Op *add = loop->regions[0]->first;
  const Type t = add->operands[1]->type;
  const OutKind stack = OUT_STACK;
  Builder b = build_into(loop->parent->func, loop->parent);
  b.loc = add->loc;
  b.origin = add->origin;
  const LoopSpec spec = {.nindices = t.rank, .extents = t.dims, .nouts = 1, .outs = &stack};
  Op *sum = build_loop_begin(&b, &spec);
  b.share_top = sum->regions[0];
  Value *const *at = sum->regions[0]->params;
  Value *x = build_index(&b, loop->operands[0], t.rank, at, 0), *y = build_index(&b, add->operands[1], t.rank, at, 0);
  Value *both = build_add(&b, x, y);
  build_loop_end(&b, sum, NULL, &both);
  op_unlink(sum);
  op_insert_after(loop, sum);
  hand_over_result(m, loop, 0, sum, 0);
  op_unlink(loop);
}

static bool rewrite_loops(Module *m, Region *r) {
  bool any = false;
  for (Op *op = r->first, *next; op; op = next) {
    next = op->next;
    for (int i = 0; i < op->nregions; i++)
      any |= rewrite_loops(m, op->regions[i]);
    if (op->code != OP_LOOP || op->at.loop->ncarries)
      continue;
    if (adds_whole(op) && r->owner && is_read_by_elements(op)) {
      add_by_elements(m, op);
      any = true;
      continue;
    }
    for (int acc = 0; acc < op->at.loop->naccs; acc++) {
      Additions a = {.module = m, .loop = op};
      if (!find_additions(&a, acc))
        continue;
      replace_rows(&a, acc);
      any = true;
    }
  }
  return any;
}

/* ---- 3 and 4: reading past updates */
typedef struct Row {
  Op *op;
  VEC(Op *) uses; /* that read elements or parts of it, or replace one */
  bool yielded;   /* by the region that it is made in */
  bool opaque;    /* anything else */
} Row;

typedef struct Rows {
  Module *module;
  VEC(Row *) rows;
  ValueMap map;
  VEC(Value *) replaced; /* in order, with what by the map */
  bool any;
} Rows;

static Row *row_of(const Value *v) {
  return is_row_update(v->def) ? v->note : NULL;
}

static void look_at_uses(Op *op, void *arg) {
  Rows *r = arg;
  for (int i = 0; i < op->noperands; i++) {
    Row *row = row_of(op->operands[i]);
    const bool part = row && i == 0 && (op->code == OP_INDEX || (op->code == OP_UPDATE && op->operands[1]->type.rank));
    if (part && (op->code == OP_INDEX || op->parent == row->op->parent))
      vec_push(r->module->arena, row->uses, op);
    else if (row)
      row->opaque = true;
  }
  for (int k = 0; k < op->nregions; k++)
    for (int i = 0; i < op->regions[k]->nparams; i++)
      op->regions[k]->params[i]->note = NULL;
  if (!is_row_update(op))
    return;
  Row *row = NEW(r->module->arena, Row);
  row->op = op;
  op->results[0]->note = row;
  vec_push(r->module->arena, r->rows, row);
}

static void look_at_yields_of(const Region *r) {
  for (int i = 0; i < r->nyields; i++) {
    Row *row = row_of(r->yields[i]);
    if (!row)
      continue;
    row->yielded |= row->op->parent == r;
    row->opaque |= row->op->parent != r;
  }
}

static void look_at_yields(Op *op, void *arg) {
  (void)arg;
  for (int k = 0; k < op->nregions; k++)
    look_at_yields_of(op->regions[k]);
}

static Relation relation_to(Module *m, const Row *row, const Op *use) {
  const int n = row->op->noperands - 2, given = use->noperands - (use->code == OP_INDEX ? 1 : 2);
  return given < n ? UNKNOWN : relation(m, n, row->op->operands + 2, use->operands + use->noperands - given);
}

/* The use reads what the row was replaced with. */
static void read_row(Rows *r, const Row *row, Op *use) {
  const int n = row->op->noperands - 2, left = use->noperands - 1 - n;
  Value *v = row->op->operands[1];
  if (!left) {
    map_put(&r->map, use->results[0], v);
    vec_push(r->module->arena, r->replaced, use->results[0]);
    op_unlink(use);
    return;
  }
  use->operands[n] = v;
  use->operands += n;
  use->noperands = 1 + left;
  use->at.checks >>= n;
}

/* Before the first update that wants it; its reads are to read what it replaces. */
static bool sink(const Row *row) {
  int steps = 0;
  for (Op *at = row->op->next; at; at = at->next) {
    if (++steps > MOST_STEPS)
      return false;
    for (int i = 0; at->code == OP_UPDATE && i < row->uses.n; i++)
      if (row->uses.at[i] == at) {
        op_unlink(row->op);
        op_insert_before(at, row->op);
        return true;
      }
  }
  Region *home = row->op->parent;
  op_unlink(row->op);
  region_append(home, row->op);
  return true;
}

static void read_past(Rows *r, Row *row) {
  Module *m = r->module;
  Row *before = row_of(row->op->operands[0]);
  bool all = !row->opaque, others = false;
  int n = 0;
  for (int i = 0; i < row->uses.n; i++) {
    Op *use = row->uses.at[i];
    const Relation is = use->code == OP_INDEX ? relation_to(m, row, use) : UNKNOWN;
    if (is == SAME) {
      read_row(r, row, use);
      r->any = true;
      continue;
    }
    all &= use->code == OP_UPDATE || is == DIFFERENT;
    others |= is == DIFFERENT;
    row->uses.at[n++] = use;
  }
  row->uses.n = n;
  if (!all || !others || !sink(row))
    return;
  n = 0;
  for (int i = 0; i < row->uses.n; i++) {
    Op *use = row->uses.at[i];
    if (use->code == OP_UPDATE) {
      row->uses.at[n++] = use;
      continue;
    }
    use->operands[0] = row->op->operands[0];
    if (before)
      vec_push(m->arena, before->uses, use);
  }
  row->uses.n = n;
  r->any = true;
}

/* What row->op replaces has been replaced before, perhaps under other rows, and nobody has read that. */
static void skip_overwritten(Rows *r, const Row *row) {
  Row *above = (Row *)row, *before;
  for (int steps = 0; steps < MOST_STEPS && (before = row_of(above->op->operands[0])); steps++) {
    if (before->opaque || before->yielded || before->uses.n != 1 || row->op->noperands != before->op->noperands)
      return;
    const Relation is = relation_to(r->module, before, row->op);
    if (is == UNKNOWN)
      return;
    if (is == DIFFERENT) {
      above = before;
      continue;
    }
    above->op->operands[0] = before->op->operands[0];
    Row *first = row_of(above->op->operands[0]);
    for (int i = 0; first && i < first->uses.n; i++)
      if (first->uses.at[i] == before->op)
        first->uses.at[i] = above->op;
    op_unlink(before->op);
    before->opaque = true;
    r->any = true;
  }
}

static bool read_past_updates(Func *f) {
  Rows r = {.module = f->module, .map = {.arena = f->module->arena}};
  for (int i = 0; i < f->body->nparams; i++)
    f->body->params[i]->note = NULL;
  region_walk(f->body, look_at_uses, &r);
  region_walk(f->body, look_at_yields, NULL);
  look_at_yields_of(f->body);
  for (int i = r.rows.n - 1; i >= 0; i--)
    read_past(&r, r.rows.at[i]);
  for (int i = 0; i < r.rows.n; i++)
    skip_overwritten(&r, r.rows.at[i]);
  for (int i = r.replaced.n - 1; i >= 0; i--) {
    Value *to = map_get(&r.map, r.replaced.at[i]), *further = map_get(&r.map, to);
    if (further)
      map_put(&r.map, r.replaced.at[i], further);
  }
  if (r.replaced.n)
    region_rename(f->module, f->body, &r.map);
  return r.any;
}

void pass_rows(Module *m) {
  for (Func *f = m->funcs; f; f = f->next) {
    if (func_is_underived(f) || f->is_extern)
      continue;
    if (rewrite_loops(m, f->body))
      func_simplify(f);
    if (read_past_updates(f))
      func_simplify(f);
  }
}
