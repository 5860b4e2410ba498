/* What only copies elements is read where they come from.
   The reverse of a loop in order runs its iterations again, and what `keep` has stacked before is then read and stacked
   once more for the walk back:
       a = loop k { yield loop i stack { tape[t, k, i] } }  ..  a[k, i]   is   tape[t, k, i]
   This holds for elements of stacks, however deep, that are elements of another tensor at indices of the loops, or at
   values from around them, and along the same rows: one who turns a matrix round has a reason.  The tensor must be one
   that is only read: another has to stay as it is for longer, which may be a copy of all of it. */
#include "ir/raw.h"
#include "passes/passes_internal.h"
#include <string.h>

/* ---- tensors that are only read: the others' notes are not NULL */
static void forget(Op *op, void *arg) {
  (void)arg;
  for (int i = 0; i < op->nresults; i++)
    op->results[i]->note = NULL;
  for (int r = 0; r < op->nregions; r++)
    for (int i = 0; i < op->regions[r]->nparams; i++)
      op->regions[r]->params[i]->note = NULL;
}

static void mark(Op *op, void *arg) {
  (void)arg;
  for (int i = 0; i < op->noperands; i++)
    if (op->operands[i]->type.rank && !(op->code == OP_INDEX && i == 0 && !op->results[0]->type.rank))
      op->operands[i]->note = op;
  for (int r = 0; r < op->nregions; r++)
    for (int i = 0; i < op->regions[r]->nyields; i++)
      if (op->regions[r]->yields[i]->type.rank)
        op->regions[r]->yields[i]->note = op;
}

/* ---- where an element comes from */
typedef struct Origin {
  const Region *top; /* body of the loop whose stack is read */
  ValueMap indices;  /* of the loops in it -> what the element's are */
  Value *tensor;
  int n;
  Value *index[MAX_RANK];
} Origin;

static bool find_element(Origin *s, const Value *stack, int n, Value *const *index);

static bool find_copied(Origin *s, const Value *v) {
  const Op *op = v->def;
  Value *index[MAX_RANK] = {0};
  if (!op || op->code != OP_INDEX || op->at.checks || value_is_outside(v, s->top))
    return false;
  const int n = op->noperands - 1;
  for (int i = 0; i < n; i++) {
    Value *j = op->operands[1 + i];
    index[i] = value_is_outside(j, s->top) ? j : map_get(&s->indices, j);
    if (!index[i])
      return false;
  }
  if (!value_is_outside(op->operands[0], s->top))
    return find_element(s, op->operands[0], n, index);
  if (op->operands[0]->note)
    return false;
  s->tensor = op->operands[0];
  s->n = n;
  memcpy(s->index, index, sizeof *index * (size_t)n);
  return true;
}

static bool find_element(Origin *s, const Value *stack, int n, Value *const *index) {
  const Op *loop = stack->def;
  if (!loop || loop->code != OP_LOOP)
    return false;
  const LoopInfo *info = loop->at.loop;
  const int out = stack->index - info->ncarries - info->naccs;
  if (out < 0 || info->outs[out] != OUT_STACK || n < info->nindices)
    return false;
  const Value *y = loop->regions[0]->yields[info->ncarries + out];
  if (y->type.rank != n - info->nindices)
    return false;
  s->top = s->top ? s->top : loop->regions[0];
  for (int i = 0; i < info->nindices; i++)
    map_put(&s->indices, loop_index(loop, i), index[i]);
  return y->type.rank ? find_element(s, y, n - info->nindices, index + info->nindices) : find_copied(s, y);
}

typedef struct Uncopy {
  Module *module;
  bool any;
} Uncopy;

static void read_source(Op *op, void *arg) {
  Uncopy *u = arg;
  while (op->code == OP_INDEX && !op->at.checks && !op->results[0]->type.rank) {
    Origin s = {.indices = {.arena = u->module->arena}};
    if (!find_element(&s, op->operands[0], op->noperands - 1, op->operands + 1) ||
        s.index[s.n - 1] != op->operands[op->noperands - 1])
      return;
    op->noperands = 1 + s.n;
    op->operands = NEW_ARRAY(u->module->arena, Value *, op->noperands);
    op->operands[0] = s.tensor;
    memcpy(op->operands + 1, s.index, sizeof *s.index * (size_t)s.n);
    u->any = true;
  }
}

void pass_uncopy(Module *m) {
  for (Func *f = m->funcs; f; f = f->next) {
    Uncopy u = {.module = m};
    if (func_is_underived(f) || f->is_extern)
      continue;
    for (int i = 0; i < f->body->nparams; i++)
      f->body->params[i]->note = NULL;
    region_walk(f->body, forget, NULL);
    region_walk(f->body, mark, NULL);
    region_walk(f->body, read_source, &u);
    if (u.any)
      func_simplify(f);
  }
}
