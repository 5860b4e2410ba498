/* Rows read again and again in one iteration of a parallel loop are copied to the iteration first.
   x[i, c], read in loops more than x has axes, becomes row[c] with row = x[i, :] made at the beginning of the
   iteration.  When several iterations run in vectors, x's elements lie a row apart from lane to lane, those of the row
   side by side. */
#include "ir/raw.h"
#include "passes/passes_internal.h"

enum { MAX_ROWS = 16 };

typedef struct Row {
  Value *x;
  bool unfit, reused;
} Row;

typedef struct Pack {
  Module *module;
  Func *func;
  Op *loop;
  Row rows[MAX_ROWS];
  int n;
} Pack;

static Row *row_of(Pack *p, Value *x) {
  for (int i = 0; i < p->n; i++)
    if (p->rows[i].x == x)
      return &p->rows[i];
  if (p->n == MAX_ROWS)
    return NULL;
  p->rows[p->n] = (Row){.x = x};
  return &p->rows[p->n++];
}

static void look_at(Pack *p, const Op *op, int depth) {
  for (int k = 0; k < op->noperands; k++) {
    Value *x = op->operands[k];
    if (x->is_acc || x->type.rank < 2 || !value_is_outside(x, p->loop->regions[0]))
      continue;
    Row *row = row_of(p, x);
    if (!row)
      continue;
    const bool element = k == 0 && op->code == OP_INDEX && op->noperands - 1 == x->type.rank &&
                         op->operands[1] == loop_index(p->loop, 0) && !(op->at.checks & 1);
    row->unfit |= !element;
    row->reused |= depth > x->type.rank - 1;
  }
}

static void look_in(Pack *p, const Region *r, int depth) {
  for (const Op *op = r->first; op; op = op->next) {
    look_at(p, op, depth);
    for (int i = 0; i < op->nregions; i++)
      look_in(p, op->regions[i], depth + (op->code == OP_LOOP ? op->at.loop->nindices : 0));
  }
  for (int i = 0; i < r->nyields; i++) {
    Row *row = r->yields[i]->type.rank >= 2 ? row_of(p, r->yields[i]) : NULL;
    if (row)
      row->unfit = true;
  }
}

static void read_row(Region *r, const Value *x, Value *row) {
  for (Op *op = r->first; op; op = op->next) {
    for (int i = 0; i < op->nregions; i++)
      read_row(op->regions[i], x, row);
    if (op->code != OP_INDEX || op->operands[0] != x)
      continue;
    op->operands[1] = row;
    op->operands++;
    op->noperands--;
    op->at.checks >>= 1;
  }
}

static void make_row(Pack *p, Value *x) {
  Region *body = p->loop->regions[0];
  Builder b = build_into(p->func, body);
  b.loc = p->loop->loc;
  const OutKind stack = OUT_STACK;
  const Type t = type_drop(x->type, 1);
  Value *idx[MAX_RANK] = {loop_index(p->loop, 0)};
  const LoopSpec spec = {.nindices = t.rank, .extents = t.dims, .nouts = 1, .outs = &stack};
  Op *copy = build_loop_begin(&b, &spec);
  b.share_top = copy->regions[0];
  for (int i = 0; i < t.rank; i++)
    idx[1 + i] = loop_index(copy, i);
  Value *element = build_index(&b, x, 1 + t.rank, idx, 0);
  build_loop_end(&b, copy, NULL, &element);
  op_unlink(copy);
  read_row(body, x, loop_out(copy, 0));
  loop_out(copy, 0)->name = x->name;
  op_insert_before(body->first, copy);
}

static bool pack_loop(Module *m, Func *f, Op *loop) {
  Pack p = {.module = m, .func = f, .loop = loop};
  bool any = false;
  look_in(&p, loop->regions[0], 0);
  for (int i = 0; i < p.n; i++)
    if (p.rows[i].reused && !p.rows[i].unfit) {
      make_row(&p, p.rows[i].x);
      any = true;
    }
  return any;
}

/* Outermost loops only: what is inside one runs in it as it is. */
static bool pack_region(Module *m, Func *f, Region *r) {
  bool any = false;
  for (Op *op = r->first; op; op = op->next) {
    if (op->code == OP_LOOP && !op->at.loop->ncarries && op->at.loop->nindices == 1 && op->regions[0]->first) {
      any |= pack_loop(m, f, op);
      continue;
    }
    for (int i = 0; i < op->nregions; i++)
      any |= pack_region(m, f, op->regions[i]);
  }
  return any;
}

void pass_pack(Module *m) {
  for (Func *f = m->funcs; f; f = f->next)
    if (!func_is_underived(f) && !f->is_extern && pack_region(m, f, f->body))
      func_simplify(f);
}
