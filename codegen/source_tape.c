/* Stacks whose size only the run knows, as functions that compute an element again: `let tape = fn(i: i64) { .. };`.
   An element of a parallel loop's stack is its iteration; of a loop with carries, the iterations up to its own.  Only
   what the element needs is written. */
#include "codegen/source_state.h"

/* ---- what is needed */
static void need_value(Slice *slice, const Op *loop, Value *v);

static void need_region(Slice *slice, const Op *loop, const Region *r) {
  for (const Op *op = r->first; op; op = op->next) {
    if (!op->nresults) /* it adds to an accumulator around it, or is left out */
      continue;
    for (int i = 0; i < op->nresults; i++)
      need_value(slice, loop, op->results[i]);
  }
  for (int i = 0; i < r->nyields; i++)
    need_value(slice, loop, r->yields[i]);
}

typedef struct Needing {
  Slice *slice;
  const Op *loop;
} Needing;
static void need_in_size(Value *v, void *arg) {
  const Needing *n = arg;
  need_value(n->slice, n->loop, v);
}

static void need_sizes(const Needing *n, const Op *op) {
  for (int i = 0; i < op->nresults; i++)
    for (int k = 0; k < op->results[i]->type.rank; k++)
      size_values(op->results[i]->type.dims[k], need_in_size, (void *)(uintptr_t)n);
  if (op->code == OP_SIZE)
    size_values(op->at.size, need_in_size, (void *)(uintptr_t)n);
  if (op->code == OP_LOOP)
    for (int i = 0; i < op->at.loop->nindices; i++)
      size_values(op->at.loop->extents[i], need_in_size, (void *)(uintptr_t)n);
}

static void need_nested_adds(Slice *slice, const Op *loop, const Region *r) {
  for (const Op *op = r->first; op; op = op->next) {
    for (int i = 0; i < op->noperands; i++)
      need_value(slice, loop, op->operands[i]);
    for (int i = 0; i < op->nregions; i++)
      need_nested_adds(slice, loop, op->regions[i]);
  }
}

static void need_value(Slice *slice, const Op *loop, Value *v) {
  const Region *body = loop->regions[0];
  if (value_is_outside(v, body) || map_get(&slice->needed, v))
    return;
  map_put(&slice->needed, v, v);
  const LoopInfo *l = loop->at.loop;
  if (v->region == body && !v->def) { /* a carry: what it is made of */
    const int carry = v->index - l->nindices;
    if (carry >= 0 && carry < l->ncarries)
      need_value(slice, loop, body->yields[carry]);
    return;
  }
  if (!v->def)
    return;
  const Needing needing = {.slice = slice, .loop = loop};
  need_sizes(&needing, v->def);
  for (int i = 0; i < v->def->noperands; i++)
    need_value(slice, loop, v->def->operands[i]);
  for (int i = 0; i < v->def->nregions; i++) {
    need_region(slice, loop, v->def->regions[i]);
    need_nested_adds(slice, loop, v->def->regions[i]);
  }
}

/* ---- the function */
static const char *element_text(SourceWriter *s, const Value *y, int nargs, const char *const *args) {
  const char *text = source_value(s, y);
  return nargs ? arena_printf(s->arena, "%s(%s)", text, source_list(s, nargs, args, ", ")) : text;
}

/* The iterations before `at`, of the carries that are needed. */
static void write_earlier(SourceWriter *s, const Op *loop, const char *at) {
  const LoopInfo *l = loop->at.loop;
  const Region *body = loop->regions[0];
  const char **vars = NEW_ARRAY(s->arena, const char *, l->ncarries + 1);
  bool any = false;
  for (int i = 0; i < l->ncarries; i++)
    any |= map_get(&s->slice->needed, loop_carry(loop, i)) != NULL;
  if (!any) {
    source_note(s, loop_index(loop, 0))->name = at;
    return;
  }
  for (int i = 0; i < l->ncarries; i++) {
    Value *carry = loop_carry(loop, i);
    if (!map_get(&s->slice->needed, carry))
      continue;
    const char *init = source_value(s, loop->operands[i]);
    vars[i] = source_declare(s, carry->name, carry->type.rank ? "a" : "t");
    source_line(s, loop, "var %s = %s;", vars[i], init);
    source_note(s, carry)->name = vars[i];
    source_note(s, carry)->is_var = true;
  }
  const int mark = source_scope_begin(s);
  SourceNote *index = source_note(s, loop_index(loop, 0));
  index->name = source_declare(s, loop_index(loop, 0)->name, "i");
  source_line(s, loop, "for %s in 0..%s {", index->name, at);
  s->indent++;
  source_region(s, body);
  Value **next = NEW_ARRAY(s->arena, Value *, l->ncarries + 1);
  const char **needed = NEW_ARRAY(s->arena, const char *, l->ncarries + 1);
  int n = 0;
  for (int i = 0; i < l->ncarries; i++)
    if (vars[i]) {
      needed[n] = vars[i];
      next[n++] = body->yields[i];
    }
  source_assign(s, loop, n, needed, next);
  s->indent--;
  source_line(s, NULL, "}");
  source_scope_end(s, mark);
  index->name = at;
}

void source_tape(SourceWriter *s, const Op *loop, int out) {
  const LoopInfo *l = loop->at.loop;
  const Region *body = loop->regions[0];
  Value *y = body->yields[l->ncarries + out];
  const Value *stack = loop_out(loop, out);
  const int arity = source_note(s, stack)->arity;
  const char *params[2 * MAX_RANK], *typed[2 * MAX_RANK];
  Slice slice = {.body = body, .needed = {.arena = s->arena}};
  need_value(&slice, loop, y);
  const Slice *around = s->slice;
  const int mark = source_scope_begin(s), first = s->lines.n;
  for (int i = 0; i < arity; i++) {
    const Value *index = i < l->nindices ? loop_index(loop, i) : NULL;
    params[i] = source_declare(s, l->ncarries ? "at" : index ? index->name : NULL, "i");
    typed[i] = arena_printf(s->arena, "%s: i64", params[i]);
    if (index)
      source_note(s, index)->name = params[i];
  }
  source_line(s, loop, "fn(%s) {", source_list(s, arity, typed, ", "));
  s->indent++;
  /* Inside a function that leaves out more, this one's needs are among what that one has. */
  s->slice = &slice;
  if (l->ncarries)
    write_earlier(s, loop, params[0]);
  if (y->def || y->region != body)
    source_region(s, body);
  source_line(s, loop, "%s", element_text(s, y, arity - l->nindices, params + l->nindices));
  s->slice = around;
  s->indent--;
  source_line(s, NULL, "};");
  source_scope_end(s, mark);
  SourceNote *n = source_note(s, stack);
  n->name = source_declare(s, stack->name, "tape");
  n->is_var = false;
  s->lines.at[first].text = arena_printf(s->arena, "let %s = %s", n->name, s->lines.at[first].text);
}
