/* Which loops run in vectors, and what is uniform and what varying in them; see codegen/vector.h.
   A loop is chosen if everything in it can be done for several iterations at once, and if that is estimated to be
   cheaper: loads that lie apart, lane from lane, cost as much as scalar ones. */
#include "codegen/loop_code.h"
#include "ir/build.h"

enum { MATH_COST = 20, SCATTER_COST = 3, WEIGHT = 8, MAX_WEIGHT = 4096 };

typedef struct Plan {
  FuncStorage *f;
  const Op *loop;
  const Region *body;
  VectorLoop *vector;
  double vector_cost, scalar_cost; /* of an iteration, in instructions */
  double weight;                   /* of an operation at this depth of loops */
  int vectors;                     /* of the target's that hold the lanes */
  bool heavy;                      /* holds a loop or a mathematical function, or is long: worth it at all */
} Plan;

bool vector_is_varying(const Value *v) {
  return note_of(v)->varying;
}

/* ---- cost */
static void spend(Plan *p, double vector, double scalar) {
  p->vector_cost += p->weight * vector;
  p->scalar_cost += p->weight * scalar * p->vector->lanes;
}

static void spend_memory(Plan *p, bool together) {
  spend(p, together ? p->vectors : SCATTER_COST * p->vector->lanes / 2, 1);
}

static void spend_scalar(Plan *p, const Op *op) {
  const OpInfo *info = &op_info[op->code];
  const bool simple = info->arity > 1 || op->code == OP_NEG || op->code == OP_ABS || op->code == OP_CAST ||
                      op->code == OP_NOT || op->code == OP_SIGN || op->code == OP_FLOOR || op->code == OP_ISNAN ||
                      op->code == OP_ISFINITE || (op->code == OP_POWI && op->at.i >= -1 && op->at.i <= 5);
  const double cost = op->code == OP_DIV || op->code == OP_DIVZ || op->code == OP_SQRT || op->code == OP_POW_BELOW ? 6
                      : simple && op->code != OP_POW                                                               ? 1
                                                     : MATH_COST;
  p->heavy |= cost == MATH_COST;
  spend(p, cost * p->vectors, cost);
}

/* ---- what varies */
typedef struct SizeVaries {
  bool yes;
} SizeVaries;
static void look_at_size(Value *v, void *arg) {
  SizeVaries *s = arg;
  s->yes |= note_of(v)->varying;
}
static bool size_varies(const Size *size) {
  SizeVaries s = {0};
  size_values(size, look_at_size, &s);
  return s.yes;
}
static bool type_varies(Type t) {
  for (int i = 0; i < t.rank; i++)
    if (size_varies(t.dims[i]))
      return true;
  return false;
}

static bool is_local(const Plan *p, const Value *v) {
  return !value_is_outside(v, p->body);
}

/* A tensor made in the body: in lanes, or in the slots of L's own stack. */
static bool plan_made(Plan *p, const Value *v) {
  ValueNote *note = note_of(v);
  const Storage *s = note->storage;
  note->layout = LAYOUT_LANES;
  if (type_varies(v->type))
    return false;
  if (!s || s->kind != STORAGE_OWN)
    return s && s->kind == STORAGE_FILL;
  const Place *place = place_of(s);
  while (place->kind == PLACE_SLOT && place->loop != p->loop) /* a slot of a slot lies as that does */
    place = place_of(note_of(place->loop->results[place->number])->storage);
  if (place->kind == PLACE_SLOT) {
    note->layout = LAYOUT_STRIDED;
    note->lane_stride = type_count(p->f->module, place->type);
    return true;
  }
  return place->kind == PLACE_WORK && !place->twin && !place->is_twin;
}

static bool any_varies(int n, Value *const *v) {
  for (int i = 0; i < n; i++)
    if (note_of(v[i])->varying)
      return true;
  return false;
}

/* The lanes' elements lie side by side: the last index of all axes grows by one, the others are uniform. */
static bool side_by_side(const Value *x, int n, Value *const *idx) {
  return n == x->type.rank && n > 0 && !any_varies(n - 1, idx) && note_of(idx[n - 1])->step == 1;
}

static bool plan_index(Plan *p, const Op *op) {
  const Value *x = op->operands[0], *result = op->results[0];
  ValueNote *note = note_of(result);
  const int n = op->noperands - 1;
  Value *const *idx = op->operands + 1;
  const Layout layout = is_local(p, x) ? note_of(x)->layout : LAYOUT_UNIFORM;
  const bool varies = any_varies(n, idx);
  if (!result->type.rank) {
    note->varying = varies || layout != LAYOUT_UNIFORM;
    note->step = note->varying ? STEP_UNKNOWN : 0;
    if (note->varying)
      spend_memory(p, layout == LAYOUT_LANES
                          ? !varies
                          : layout == LAYOUT_UNIFORM && (side_by_side(x, n, idx) || tiles_would_pack(p->loop, op)));
    else
      spend(p, 1, 1);
    return true;
  }
  note->layout = layout;
  note->lane_stride = note_of(x)->lane_stride;
  if (layout != LAYOUT_UNIFORM)
    return !varies;
  if (!varies)
    return true;
  int axis = -1; /* the only index that varies, by one */
  for (int i = 0; i < n; i++)
    if (note_of(idx[i])->varying) {
      if (axis >= 0 || note_of(idx[i])->step != 1)
        return false;
      axis = i;
    }
  note->layout = LAYOUT_STRIDED;
  note->lane_stride = type_count(p->f->module, type_drop(x->type, axis + 1));
  return op->at.checks == 0;
}

static bool plan_update(Plan *p, const Op *op) {
  const Value *v = op->operands[1];
  if (any_varies(op->noperands - 2, op->operands + 2) || !plan_made(p, op->results[0]))
    return false;
  const Place *place = place_of(note_of(op->results[0])->storage);
  if (place->kind == PLACE_WORK && !region_within(place->home, p->body))
    return false;
  vector_find_written_out(p->f->module, op);
  int64_t count = 8;
  if (v->type.rank)
    size_is_const(type_count(p->f->module, v->type), &count);
  else
    count = 1;
  spend(p, (double)(2 * p->vectors * count), (double)count);
  return true;
}

static bool plan_acc_add(Plan *p, const Op *op) {
  const Value *handle = op->operands[0], *v = op->operands[1];
  const int n = op->noperands - 2;
  Value *const *idx = op->operands + 2;
  const bool varies = any_varies(n, idx), own = handle->region == p->body, local = is_local(p, handle) && !own;
  if (v->type.rank && varies)
    return false;
  if (local) {
    spend_memory(p, !varies);
  } else if (varies) {
    spend_memory(p, side_by_side(handle, n, idx));
  } else if (own && panel_pays(p->f, p->loop, handle)) {
    panel_add(p->f, p->vector, handle);
    spend(p, 2 * p->vectors, 2);
  } else {
    spend(p, 6 * p->vectors, 2);
  }
  return true;
}

static bool plan_region(Plan *p, const Region *r);

static bool plan_loop(Plan *p, const Op *op) {
  const LoopInfo *info = op->at.loop;
  const Region *body = op->regions[0];
  for (int i = 0; i < info->nindices; i++)
    if (size_varies(info->extents[i]))
      return false;
  for (int i = 0; i < info->ncarries; i++) {
    ValueNote *carry = note_of(loop_carry(op, i));
    if (loop_carry(op, i)->type.rank)
      return false;
    carry->varying = note_of(op->operands[i])->varying;
    carry->step = carry->varying ? STEP_UNKNOWN : 0;
  }
  for (int i = 0; i < info->naccs; i++) {
    const Value *result = op->results[info->ncarries + i];
    ValueNote *handle = note_of(loop_acc(op, i)), *note = note_of(result);
    handle->layout = LAYOUT_LANES;
    note->varying = !result->type.rank;
    note->step = STEP_UNKNOWN;
    if (result->type.rank && !plan_made(p, result))
      return false;
    handle->layout = note->layout;
    handle->lane_stride = note->lane_stride;
  }
  for (int i = 0; i < info->nouts; i++) /* known to the body: the slots of its own results */
    if (loop_out(op, i)->type.rank && !plan_made(p, loop_out(op, i)))
      return false;
  const double weight = p->weight, vector_cost = p->vector_cost, scalar_cost = p->scalar_cost;
  p->heavy = true;
  p->weight = weight * WEIGHT > MAX_WEIGHT ? MAX_WEIGHT : weight * WEIGHT;
  for (bool again = true; again;) {
    again = false;
    p->vector_cost = vector_cost;
    p->scalar_cost = scalar_cost;
    if (!plan_region(p, body))
      return false;
    for (int i = 0; i < info->ncarries; i++) {
      ValueNote *carry = note_of(loop_carry(op, i));
      if (note_of(body->yields[i])->varying && !carry->varying) {
        carry->varying = again = true;
        carry->step = STEP_UNKNOWN;
      }
    }
  }
  p->weight = weight;
  for (int i = 0; i < info->ncarries; i++) {
    note_of(op->results[i])->varying = note_of(loop_carry(op, i))->varying;
    note_of(op->results[i])->step = STEP_UNKNOWN;
  }
  for (int i = 0; i < info->nouts; i++) {
    const Value *y = body->yields[info->ncarries + i];
    ValueNote *note = note_of(loop_out(op, i));
    if (info->outs[i] != OUT_STACK) {
      note->varying = note_of(y)->varying;
      note->step = STEP_UNKNOWN;
    }
  }
  return true;
}

static bool plan_if(Plan *p, const Op *op) {
  const bool varies = note_of(op->operands[0])->varying;
  for (int w = 0; w < 2; w++)
    if (!plan_region(p, op->regions[w]))
      return false;
  for (int i = 0; i < op->nresults; i++) {
    ValueNote *note = note_of(op->results[i]);
    if (op->results[i]->type.rank)
      return false;
    note->varying =
        varies || note_of(op->regions[0]->yields[i])->varying || note_of(op->regions[1]->yields[i])->varying;
    note->step = STEP_UNKNOWN;
  }
  return true;
}

static int step_of(const Op *op) {
  int step[2] = {0, 0};
  int64_t factor;
  for (int i = 0; i < op->noperands && i < 2; i++)
    step[i] = note_of(op->operands[i])->varying ? note_of(op->operands[i])->step : 0;
  if (step[0] == STEP_UNKNOWN || step[1] == STEP_UNKNOWN)
    return STEP_UNKNOWN;
  switch (op->code) {
  case OP_ADD: return step[0] + step[1];
  case OP_SUB: return step[0] - step[1];
  case OP_MUL:
    if (value_is_int_const(op->operands[1], &factor) && factor > -1000 && factor < 1000)
      return step[0] * (int)factor;
    if (value_is_int_const(op->operands[0], &factor) && factor > -1000 && factor < 1000)
      return step[1] * (int)factor;
    return STEP_UNKNOWN;
  default: return STEP_UNKNOWN;
  }
}

static bool plan_op(Plan *p, const Op *op) {
  ValueNote *note = op->nresults ? note_of(op->results[0]) : NULL;
  switch (op->code) {
  case OP_CONST:
    note->varying = false;
    note->step = 0;
    return true;
  case OP_SIZE:
    note->varying = false;
    note->step = 0;
    return !size_varies(op->at.size);
  case OP_FULL: return plan_made(p, op->results[0]);
  case OP_INDEX: return plan_index(p, op);
  case OP_ACC_ADD: return plan_acc_add(p, op);
  case OP_RESHAPE:
    note->layout = is_local(p, op->operands[0]) ? note_of(op->operands[0])->layout : LAYOUT_UNIFORM;
    note->lane_stride = note_of(op->operands[0])->lane_stride;
    return true;
  case OP_LOOP: return plan_loop(p, op);
  case OP_IF: return plan_if(p, op);
  case OP_REQUIRE: return true;
  case OP_UPDATE: return plan_update(p, op);
  case OP_WHILE:
  case OP_CALL: return false;
  default:
    note->varying = any_varies(op->noperands, op->operands);
    note->step = !note->varying ? 0 : op->results[0]->type.kind == KIND_I64 ? step_of(op) : STEP_UNKNOWN;
    spend_scalar(p, op);
    return true;
  }
}

static bool plan_region(Plan *p, const Region *r) {
  for (const Op *op = r->first; op; op = op->next)
    if (!plan_op(p, op))
      return false;
  for (int i = 0; i < r->nyields; i++) /* what is handed on by copying has to be of the body */
    if (r->yields[i]->type.rank && r != p->body && !is_local(p, r->yields[i]))
      return false;
  return true;
}

static void forget(const Region *r) {
  for (int i = 0; i < r->nparams; i++) {
    note_of(r->params[i])->varying = false;
    note_of(r->params[i])->layout = LAYOUT_UNIFORM;
  }
  for (const Op *op = r->first; op; op = op->next) {
    for (int i = 0; i < op->nresults; i++) {
      note_of(op->results[i])->varying = false;
      note_of(op->results[i])->layout = LAYOUT_UNIFORM;
    }
    for (int i = 0; i < op->nregions; i++)
      forget(op->regions[i]);
  }
}

static void widest_kind(Op *op, void *arg) {
  int *bytes = arg;
  for (int i = 0; i < op->nresults; i++)
    if (kind_is_float(op->results[i]->type.kind) && kind_bytes(op->results[i]->type.kind) > *bytes)
      *bytes = kind_bytes(op->results[i]->type.kind);
}

/* ---- overlapping */
static bool lies_at(const Storage *s, const Place *place) {
  if (s && s->kind == STORAGE_OWN)
    return place_of(s) == place || place_of(s)->twin == place;
  for (int i = 0; s && i < s->owners.n; i++)
    if (lies_at(s->owners.at[i], place))
      return true;
  return false;
}

typedef struct Reading {
  Arena *arena;
  const Place *place;
  const Op *loop;
  VectorLoop *vector; /* gets what reads elements of its own; or NULL */
  bool found, elsewhere;
} Reading;

/* x[.., i], i the loop's only index, of a row that is the same for all iterations. */
static bool reads_own_element(const Op *op, const Op *loop) {
  if (op->code != OP_INDEX || op->parent != loop->regions[0] || loop->at.loop->nindices != 1 || op->at.checks ||
      op->operands[op->noperands - 1] != loop_index(loop, 0) || op->results[0]->type.rank)
    return false;
  for (int i = 1; i + 1 < op->noperands; i++)
    if (!value_is_outside(op->operands[i], op->parent))
      return false;
  return true;
}

static void look_at_reads(Op *op, void *arg) {
  Reading *r = arg;
  for (int i = 0; i < op->noperands; i++) {
    const Value *x = op->operands[i];
    if (!x->type.rank || x->is_acc || !value_is_outside(x, r->loop->regions[0]) ||
        !lies_at(note_of(x)->storage, r->place))
      continue;
    r->found = true;
    if (!r->vector || !reads_own_element(op, r->loop))
      r->elsewhere = true;
    else
      vec_push(r->arena, r->vector->early, op);
  }
}

/* A loop that writes where it reads cannot do an iteration twice. */
static bool writes_what_it_reads(const Op *loop, Reading *r) {
  const LoopInfo *info = loop->at.loop;
  r->loop = loop;
  for (int i = 0; i < info->nouts; i++) {
    const Value *result = loop_out(loop, i);
    const Storage *s = result->type.rank ? note_of(result)->storage : NULL;
    if (!s)
      continue;
    r->elsewhere |= s->kind != STORAGE_OWN;
    r->found |= s->kind != STORAGE_OWN;
    r->place = place_of(s);
    if (s->kind == STORAGE_OWN)
      region_walk(loop->regions[0], look_at_reads, r);
  }
  return r->found;
}

/* Two vectors to a value hide the latency of short code; in a long one there is enough to do meanwhile, and registers
   are what is short. */
static int length_of(const Region *body) {
  int n = 0;
  for (const Op *op = body->first; op; op = op->next) {
    n += op_info[op->code].group == GROUP_ELEM;
    for (int i = 0; op->code == OP_IF && i < 2; i++)
      n += length_of(op->regions[i]);
  }
  return n;
}

static int vectors_for(const Region *body) {
  enum { LONG = 120 };
  return length_of(body) > LONG ? 1 : 2;
}

/* Much in one line that reads and writes many tensors: to LLVM's vectoriser each might overlap each, which it tests
   when the loop begins. */
static bool is_long_line(const Region *body) {
  enum { MUCH = 16 };
  for (const Op *op = body->first; op; op = op->next)
    if (op->nregions)
      return false;
  return length_of(body) >= MUCH;
}

/* A level of so many iterations is taken apart by LLVM, all of it, before its vectoriser comes. */
static bool is_taken_apart(const Op *loop) {
  enum { LEAST = 16, MOST = 32 };
  const LoopInfo *info = loop->at.loop;
  int64_t extent;
  for (const Op *op = loop->regions[0]->first; op; op = op->next)
    if (op->nregions)
      return false;
  return size_is_const(info->extents[info->nindices - 1], &extent) && extent >= LEAST && extent <= MOST;
}

static bool choose(FuncStorage *f, const Op *loop, int bits) {
  const LoopInfo *info = loop->at.loop;
  int bytes = 0;
  int64_t extent;
  if (info->ncarries || !info->nindices)
    return false;
  region_walk(loop->regions[0], widest_kind, &bytes);
  VectorLoop *v = NEW(f->module->arena, VectorLoop);
  v->loop = loop;
  Reading reading = {.arena = f->module->arena, .vector = v};
  v->again = !writes_what_it_reads(loop, &reading);
  v->overlaps = loop->parent->owner != NULL && !reading.elsewhere;
  int vectors = vectors_for(loop->regions[0]);
  v->lanes = vectors * bits / 8 / (bytes ? bytes : 8);
  if (size_is_const(info->extents[info->nindices - 1], &extent)) {
    for (; vectors > 1 && extent < v->lanes; vectors /= 2) /* too short for both vectors, but not for one */
      v->lanes /= 2;
    if (extent < (info->nindices > 1 ? 1 : 2) * v->lanes)
      return false;
  }
  Plan p = {.f = f, .loop = loop, .body = loop->regions[0], .vector = v, .weight = 1, .vectors = vectors};
  const bool line = v->overlaps && (is_long_line(p.body) || is_taken_apart(loop));
  p.heavy = line;
  const Value *last = loop->regions[0]->params[info->nindices - 1];
  note_of(last)->varying = true;
  note_of(last)->step = 1;
  for (int i = 0; i < info->nouts; i++)
    if (info->outs[i] == OUT_STACK && !loop->regions[0]->yields[i]->type.rank)
      spend_memory(&p, true);
  /* A line that is left to LLVM otherwise must have its lanes side by side. */
  const double best = line ? 0.3 : 0.45;
  if (!plan_region(&p, p.body) || !p.heavy || p.vector_cost > best * p.scalar_cost) {
    forget(p.body);
    return false;
  }
  for (int i = 0; i < f->places.n; i++) {
    Place *place = f->places.at[i];
    if (place->kind == PLACE_WORK && !place->call && region_within(place->home, p.body))
      place->lanes = v->lanes;
  }
  for (int i = 0; i < v->panels.n; i++)
    if (v->panels.at[i].place)
      vec_push(f->module->arena, f->places, v->panels.at[i].place);
  product_plan(f, v, bits);
  op_note(loop)->vector = v;
  return true;
}

bool vector_plan_along(FuncStorage *f, const Op *inner, int lanes) {
  VectorLoop vector = {.loop = inner, .lanes = lanes};
  Plan p = {.f = f, .loop = inner, .body = inner->regions[0], .vector = &vector, .weight = 1, .vectors = 1};
  const Value *last = loop_index(inner, inner->at.loop->nindices - 1);
  forget(p.body);
  note_of(last)->varying = true;
  note_of(last)->step = 1;
  return plan_region(&p, p.body);
}

static void choose_in(FuncStorage *f, const Region *r, int bits) {
  for (const Op *op = r->first; op; op = op->next) {
    if (op->code == OP_LOOP && choose(f, op, bits))
      continue;
    if (op->code == OP_LOOP && sums_along(f, op, bits)) {
      Reading reading = {0};
      op_note(op)->along = true;
      op_note(op)->along_again = !writes_what_it_reads(op, &reading);
    }
    for (int i = 0; i < op->nregions; i++)
      choose_in(f, op->regions[i], bits);
  }
}

void vector_plan(FuncStorage *f, int bits) {
  choose_in(f, f->func->body, bits);
}
