/* Replacing values in place; see rename.h. */
#include "passes/rename.h"

static void rename_type(Module *m, Value *v, const ValueMap *map) {
  if (v->type.rank)
    v->type = map_type(m, map, v->type);
}

void op_rename(Module *m, Op *op, const ValueMap *map) {
  for (int i = 0; i < op->noperands; i++)
    op->operands[i] = map_value(map, op->operands[i]);
  for (int i = 0; i < op->nresults; i++)
    rename_type(m, op->results[i], map);
  if (op->code == OP_SIZE)
    op->at.size = map_size(m, map, op->at.size);
  if (op->code == OP_LOOP)
    for (int i = 0; i < op->at.loop->nindices; i++)
      op->at.loop->extents[i] = map_size(m, map, op->at.loop->extents[i]);
}

void region_rename(Module *m, Region *r, const ValueMap *map) {
  for (Op *op = r->first; op; op = op->next) {
    op_rename(m, op, map);
    for (int i = 0; i < op->nregions; i++) {
      for (int k = 0; k < op->regions[i]->nparams; k++)
        rename_type(m, op->regions[i]->params[k], map);
      region_rename(m, op->regions[i], map);
    }
  }
  for (int i = 0; i < r->nyields; i++)
    r->yields[i] = map_value(map, r->yields[i]);
}
