/* Which loops run as products of rows, and which index makes these: see codegen/lower_dots.c. */
#include "codegen/dots.h"

/* ---- whether it applies: asked when loops are planned, and again when they are written */
static bool lies_along(const Op *inner) {
  for (const Op *op = inner->regions[0]->first; op; op = op->next)
    if (op->code == OP_INDEX && vector_is_varying(op->results[0]) && !lies_beside(op))
      return false;
  return true;
}

static bool sums_floats(const Op *inner) {
  const Kind k = inner->results[0]->type.kind;
  for (int i = 0; i < inner->nresults; i++)
    if (inner->at.loop->outs[i] != OUT_SUM || inner->results[i]->type.kind != k ||
        inner->regions[0]->yields[i]->region != inner->regions[0] || !vector_is_varying(inner->regions[0]->yields[i]))
      return false;
  return kind_is_float(k);
}

int lanes_of_sums(const Op *inner, int bits) {
  return bits / 8 / kind_bytes(inner->results[0]->type.kind);
}

bool sums_along(FuncStorage *f, const Op *loop, int bits) {
  const LoopInfo *info = loop->at.loop;
  const Op *inner = NULL;
  int64_t extent;
  if (!info->nindices || info->ncarries || info->naccs)
    return false;
  for (const Op *op = loop->regions[0]->first; op; op = op->next) {
    if (op->nregions && (inner || op->code != OP_LOOP))
      return false;
    inner = op->nregions ? op : inner;
  }
  if (!inner || inner->at.loop->ncarries || inner->at.loop->naccs || !inner->at.loop->nindices || !inner->nresults ||
      inner->nresults > MAX_SUMS || !is_all_cheap(inner->regions[0]) || inner->results[0]->type.rank)
    return false;
  const int lanes = lanes_of_sums(inner, bits);
  if (size_is_const(inner->at.loop->extents[inner->at.loop->nindices - 1], &extent) && extent < lanes)
    return false;
  return lanes >= 2 && vector_plan_along(f, inner, lanes) && sums_floats(inner) && lies_along(inner);
}

/* ---- which index makes rows */
static bool is_computed_from(const Value *v, const Value *index, const Region *body, int depth) {
  enum { DEEPEST = 8 };
  if (v == index)
    return true;
  if (!v->def || value_is_outside(v, body))
    return false;
  if (depth == DEEPEST || v->def->nregions || (v->def->code == OP_SIZE && size_uses(v->def->at.size, index)))
    return true;
  for (int i = 0; i < v->def->noperands; i++)
    if (is_computed_from(v->def->operands[i], index, body, depth + 1))
      return true;
  return false;
}

static int count_shared(const Dots *d, const Value *index) {
  int n = 0;
  for (const Op *op = d->inner->regions[0]->first; op; op = op->next)
    n += op->code == OP_INDEX && vector_is_varying(op->results[0]) &&
         !is_computed_from(op->results[0], index, d->loop->op->regions[0], 0);
  return n;
}

/* The rows of a set run together, so that their sums must be of one length. */
static bool changes_length(const Dots *d, const Value *index) {
  for (int i = 0; i < d->inner->at.loop->nindices; i++)
    if (size_uses(d->inner->at.loop->extents[i], index))
      return true;
  return false;
}

/* The outermost of those for which most is shared, if they are not known to be few. */
static bool find_row(Dots *d) {
  const LoopInfo *info = d->loop->info;
  int most = 0;
  for (int i = 0; i < info->nindices; i++) {
    int64_t extent;
    const int shared = count_shared(d, loop_index(d->loop->op, i));
    if (shared <= most || changes_length(d, loop_index(d->loop->op, i)) ||
        (size_is_const(info->extents[i], &extent) && extent < SET / 2))
      continue;
    d->row = i;
    most = shared;
  }
  return most > 0;
}

bool find_dots(LoopCode *l, Dots *d) {
  *d = (Dots){.loop = l, .body = l->body};
  if (!op_note(l->op)->along || l->body->vector)
    return false;
  d->inner = plain_inner_loop(l, false);
  if (!d->inner || !sums_along(l->body->storage, l->op, l->body->unit->vector_bits))
    return false;
  for (int i = 0; i < l->op->regions[0]->nyields; i++)
    if (l->op->regions[0]->yields[i]->type.rank)
      return false;
  d->again = op_note(l->op)->along_again;
  for (int i = 0; i < l->info->nouts; i++)
    d->again &= l->info->outs[i] == OUT_STACK;
  return find_row(d);
}

bool runs_as_dots(const LoopCode *l) {
  LoopCode copy = *l;
  Dots d;
  return find_dots(&copy, &d);
}
