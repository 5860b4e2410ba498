/* The state of a loop, and its carries: see codegen/loop_code.h. */
#include "codegen/loop_code.h"

State new_state(Body *b, int most) {
  return (State){.types = NEW_ARRAY(b->unit->arena, LLVMTypeRef, most),
                 .now = NEW_ARRAY(b->unit->arena, LLVMValueRef, most)};
}

int state_add(State *s, LLVMTypeRef type, LLVMValueRef first) {
  s->types[s->n] = type;
  s->now[s->n] = first;
  return s->n++;
}

LLVMValueRef *state_phis(Body *b, State *s, LLVMBasicBlockRef before) {
  LLVMValueRef *phis = NEW_ARRAY(b->unit->arena, LLVMValueRef, s->n);
  for (int i = 0; i < s->n; i++) {
    phis[i] = LLVMBuildPhi(b->at, s->types[i], "");
    LLVMAddIncoming(phis[i], &s->now[i], &before, 1);
    s->now[i] = phis[i];
  }
  return phis;
}

void state_close(State *s, LLVMValueRef *phis, LLVMBasicBlockRef latch) {
  for (int i = 0; i < s->n; i++) {
    LLVMAddIncoming(phis[i], &s->now[i], &latch, 1);
    s->now[i] = phis[i];
  }
}

static Place *twin_of(const Edge *yield) {
  return place_of(yield->to)->twin;
}

void carries_begin(Body *b, Carries *c, State *s, Value *const *inits) {
  Arena *arena = b->unit->arena;
  c->at = NEW_ARRAY(arena, int, c->n);
  c->home = NEW_ARRAY(arena, LLVMValueRef, c->n);
  c->twin_home = NEW_ARRAY(arena, LLVMValueRef, c->n);
  for (int i = 0; i < c->n; i++) {
    const Edge *yield = c->yields[i];
    if (!yield) {
      c->at[i] = state_add(s, type_of_kind(b->unit, inits[i]->type.kind), value_code(b, inits[i]));
      continue;
    }
    c->home[i] = address_of(b, place_of(yield->to));
    c->at[i] = yield->alternates || yield->follows ? state_add(s, b->unit->ptr, c->home[i]) : -1;
    if (yield->alternates) {
      c->twin_home[i] = address_of(b, twin_of(yield));
      state_add(s, b->unit->ptr, c->twin_home[i]);
    }
  }
}

void carries_enter(Body *b, const Carries *c, const State *s, Value *const *params) {
  for (int i = 0; i < c->n; i++) {
    const Edge *yield = c->yields[i];
    if (yield && yield->alternates) {
      place_of(yield->to)->address = s->now[c->at[i]];
      twin_of(yield)->address = s->now[c->at[i] + 1];
    }
    set_value(params[i], c->at[i] >= 0 ? s->now[c->at[i]] : address_of(b, place_of(yield->to)));
  }
}

void carries_next(Body *b, const Carries *c, State *s) {
  take_edges(b, c->n, c->yields);
  for (int i = 0; i < c->n; i++) {
    const Edge *yield = c->yields[i];
    if (c->at[i] < 0)
      continue;
    LLVMValueRef was = s->now[c->at[i]];
    s->now[c->at[i]] = value_code(b, c->yielded[i]);
    if (yield && yield->alternates)
      s->now[c->at[i] + 1] = was;
  }
}

void carries_leave(Body *b, const Carries *c, const State *s) {
  for (int i = 0; i < c->n; i++) {
    const Edge *yield = c->yields[i];
    if (!yield || c->at[i] < 0)
      continue;
    LLVMValueRef last = yield->kept ? c->home[i] : s->now[c->at[i]];
    place_of(yield->to)->address = c->home[i];
    if (yield->alternates)
      twin_of(yield)->address = c->twin_home[i];
    set_value(c->params[i], last);
    if (!edge_is_free(c->exits[i]) || yield->kept)
      continue;
    LLVMBasicBlockRef move = new_block(b, "move"), after = new_block(b, "");
    LLVMBuildCondBr(b->at, LLVMBuildICmp(b->at, LLVMIntEQ, last, c->home[i], ""), after, move);
    begin_block(b, move);
    copy_tensor(b, c->params[i]->type, c->home[i], last);
    LLVMBuildBr(b->at, after);
    begin_block(b, after);
  }
  take_edges(b, c->n, c->exits);
  for (int i = 0; i < c->n; i++)
    set_value(c->results[i],
              c->yields[i] ? address_of(b, place_of(note_of(c->results[i])->storage)) : s->now[c->at[i]]);
}
