/* Which loops run in tiles, and what differs between the rows of a tile: see codegen/lower_tiles.c. */
#include "codegen/tiles.h"
#include "ir/build.h"

static bool is_cheap(const Op *op) {
  switch (op->code) {
  case OP_EQ:
  case OP_NE:
  case OP_AND:
  case OP_OR:
  case OP_NOT: return false;
  case OP_POWI: return op->at.i >= 0 && op->at.i <= 5; /* a few products */
  default: return op_is_quick(op);
  }
}

/* The elements that an index operation reads in the lanes. */
bool lies_beside(const Op *index) {
  const int n = index->noperands - 1;
  Value *const *idx = index->operands + 1;
  for (int i = 0; i + 1 < n; i++)
    if (vector_is_varying(idx[i]))
      return false;
  return !vector_is_varying(idx[n - 1]) || note_of(idx[n - 1])->step == 1;
}

bool is_all_cheap(const Region *r) {
  int n = 0;
  for (const Op *op = r->first; op; op = op->next, n++)
    if (!is_cheap(op) || n == MAX_OPS)
      return false;
  return true;
}

/* All elements lie beside each other along j, but for those of one operation, if there are rows that share them. */
static bool find_packed(Tiles *t) {
  const Region *r = t->inner->regions[0];
  const bool could = t->row && t->again && t->inner->at.loop->nindices == 1;
  if (!is_all_cheap(r))
    return false;
  for (const Op *op = r->first; op; op = op->next) {
    if (op->code != OP_INDEX || !note_of(op->results[0])->varying)
      continue;
    if (lies_beside(op))
      continue;
    if (t->packed || !could || note_of(op->results[0])->by_row)
      return false;
    t->packed = op;
  }
  t->apart = t->packed != NULL;
  return true;
}

/* Whether it is a product of matrices that has room for copies of its factors. */
static bool runs_as_product(const Tiles *t, const Product *p) {
  return p->left && p->inner == t->inner && t->again && t->vector->product &&
         (t->inner->regions[0]->yields[0]->def->code == OP_MUL || has_loose_products(t->body, t->inner));
}

static void look_at_row(Value *v, void *arg) {
  *(bool *)arg |= note_of(v)->by_row;
}

/* What differs between rows. */
static void mark_rows(const Tiles *t, const Region *r) {
  for (int i = 0; i < r->nparams; i++)
    note_of(r->params[i])->by_row = t->row && r->params[i] == t->row;
  for (const Op *op = r->first; op; op = op->next) {
    bool by_row = op == t->inner;
    for (int i = 0; i < op->noperands; i++)
      by_row |= !value_is_outside(op->operands[i], t->loop->op->regions[0]) && note_of(op->operands[i])->by_row;
    if (op->code == OP_SIZE)
      size_values(op->at.size, look_at_row, &by_row);
    for (int i = 0; i < op->nresults; i++)
      note_of(op->results[i])->by_row = by_row && t->row;
    if (op == t->inner)
      mark_rows(t, op->regions[0]);
  }
}

bool find_tiles(LoopCode *l, Tiles *t) {
  const Region *body = l->op->regions[0];
  const LoopInfo *info = l->info;
  *t = (Tiles){.loop = l, .body = l->body, .vector = op_note(l->op)->vector};
  if (!t->vector || l->body->vector || info->ncarries || t->vector->panels.n)
    return false;
  t->inner = plain_inner_loop(l, true);
  if (!t->inner || t->inner->nresults > MAX_SUMS)
    return false;
  for (int i = 0; i < body->nyields; i++)
    if (body->yields[i]->type.rank)
      return false;
  for (int i = 0; i < t->inner->nresults; i++)
    if (t->inner->at.loop->outs[i] != OUT_SUM || !vector_is_varying(t->inner->results[i]) ||
        t->inner->results[i]->type.kind != t->inner->results[0]->type.kind)
      return false;
  t->column = body->params[info->nindices - 1];
  t->row = info->nindices > 1 ? body->params[info->nindices - 2] : NULL;
  for (int i = 0; i < t->inner->at.loop->nindices && t->row; i++)
    if (size_uses(t->inner->at.loop->extents[i], t->row))
      return false; /* the rows of a tile run together */
  t->again = t->vector->again;
  mark_rows(t, body);
  if (!find_packed(t))
    return false;
  const Product p = find_product(l->op);
  if (runs_as_product(t, &p))
    t->product = p;
  return true;
}

bool runs_as_tiles(const LoopCode *l, int level) {
  LoopCode copy = *l;
  Tiles t;
  return level == (l->info->nindices > 1 ? l->info->nindices - 2 : 0) && op_note(l->op)->vector &&
         find_tiles(&copy, &t);
}

/* The index itself, or moved by a number: passes/parallel.c. */
static bool is_moved(const Value *v, const Value *index) {
  const Op *def = v->def;
  return v == index || (def && def->code == OP_ADD && (def->operands[0] == index || def->operands[1] == index));
}

/* A loop that is to be planned: whether the elements of an index operation of its inner loop can be copied to panels,
   if the loop comes to run in tiles. */
bool tiles_would_pack(const Op *loop, const Op *index) {
  const Op *inner = index->parent->owner;
  const LoopInfo *info = loop->at.loop;
  int n = 0;
  if (info->nindices < 2 || inner == loop || inner->code != OP_LOOP || inner->parent != loop->regions[0] ||
      inner->at.loop->nindices != 1 || inner->at.loop->ncarries || inner->at.loop->naccs)
    return false;
  for (const Op *op = loop->regions[0]->first; op; op = op->next)
    for (int i = 0; i < op->nresults; i++)
      if (op->results[i]->type.rank)
        return false;
  for (int i = 0; i < inner->nresults; i++)
    if (inner->at.loop->outs[i] != OUT_SUM)
      return false;
  for (const Op *op = index->parent->first; op; op = op->next, n++)
    if (!is_cheap(op) || n == MAX_OPS || (op != index && op->code == OP_INDEX && op->at.checks))
      return false;
  for (int i = 1; i < index->noperands; i++)
    if (is_moved(index->operands[i], loop_index(loop, info->nindices - 2)))
      return false;
  return !index->at.checks;
}
