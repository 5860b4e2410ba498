/* Copying operations from one place to another through the builder, and the maps that copying needs. */
#include "ir/build.h"
#include "ir/raw.h"

struct ValueMapEntry {
  const Value *from;
  Value *to;
};

static size_t slot_of(const ValueMap *m, const Value *v) {
  size_t i = ((size_t)v->uid * 2654435761u) & (m->cap - 1);
  while (m->table[i].from && m->table[i].from != v)
    i = (i + 1) & (m->cap - 1);
  return i;
}

void map_put(ValueMap *m, const Value *from, Value *to) {
  if (2 * (m->n + 1) > m->cap) {
    ValueMap bigger = {.arena = m->arena, .cap = m->cap ? m->cap * 2 : 32, .outer = m->outer};
    bigger.table = NEW_ARRAY(m->arena, struct ValueMapEntry, bigger.cap);
    for (size_t i = 0; i < m->cap; i++)
      if (m->table[i].from)
        bigger.table[slot_of(&bigger, m->table[i].from)] = m->table[i];
    bigger.n = m->n;
    *m = bigger;
  }
  const size_t i = slot_of(m, from);
  m->n += !m->table[i].from;
  m->table[i] = (struct ValueMapEntry){.from = from, .to = to};
}

Value *map_get(const ValueMap *m, const Value *from) {
  for (; m; m = m->outer) {
    if (!m->cap)
      continue;
    const struct ValueMapEntry *e = &m->table[slot_of(m, from)];
    if (e->from)
      return e->to;
  }
  return NULL;
}

Value *map_value(const ValueMap *m, Value *v) {
  Value *to = map_get(m, v);
  return to ? to : v;
}

void map_each(const ValueMap *m, MapVisit *visit, void *arg) {
  for (size_t i = 0; i < m->cap; i++)
    if (m->table[i].from)
      visit(m->table[i].from, m->table[i].to, arg);
}

typedef struct SizeMapping {
  Module *module;
  const ValueMap *map;
} SizeMapping;
static const Size *mapped_size(Value *v, void *arg) {
  const SizeMapping *s = arg;
  Value *to = map_get(s->map, v);
  return to ? size_of_value(s->module, to) : NULL;
}
const Size *map_size(Module *m, const ValueMap *map, const Size *s) {
  SizeMapping arg = {.module = m, .map = map};
  return size_map(m, s, mapped_size, &arg);
}
Type map_type(Module *m, const ValueMap *map, Type t) {
  SizeMapping arg = {.module = m, .map = map};
  return type_map(m, t, mapped_size, &arg);
}

static Value **mapped(Builder *b, const ValueMap *map, int n, Value *const *v) {
  Value **to = NEW_ARRAY(b->module->arena, Value *, n + 1);
  for (int i = 0; i < n; i++)
    to[i] = map_value(map, v[i]);
  return to;
}

static void keep_name(Value *to, const Value *from) {
  if (!to->name)
    to->name = from->name;
}

static void bind_params(ValueMap *map, const Region *from, const Region *to) {
  for (int i = 0; i < from->nparams; i++) {
    map_put(map, from->params[i], to->params[i]);
    to->params[i]->name = from->params[i]->name;
  }
}

static void bind_results(ValueMap *map, const Op *from, const Op *to) {
  for (int i = 0; i < from->nresults; i++) {
    map_put(map, from->results[i], to->results[i]);
    keep_name(to->results[i], from->results[i]);
  }
}

static void copy_loop(Builder *b, const Op *op, ValueMap *map) {
  const LoopInfo *info = op->at.loop;
  Module *m = b->module;
  const Size **extents = NEW_ARRAY(m->arena, const Size *, info->nindices + 1);
  for (int i = 0; i < info->nindices; i++)
    extents[i] = map_size(m, map, info->extents[i]);
  if (!info->nindices && !info->naccs) { /* one iteration: the body itself */
    build_copy_region(b, op->regions[0], map);
    for (int i = 0; i < info->nouts; i++)
      map_put(map, op->results[i], map_value(map, op->regions[0]->yields[i]));
    return;
  }
  Value **inits = mapped(b, map, op->noperands, op->operands);
  LoopSpec spec = loop_spec_like(info, extents, inits);
  spec.states = info->states ? map_size(m, map, info->states) : NULL;
  Op *copy = build_loop_begin(b, &spec);
  bind_params(map, op->regions[0], copy->regions[0]);
  build_copy_region(b, op->regions[0], map);
  Value **yields = mapped(b, map, op->regions[0]->nyields, op->regions[0]->yields);
  build_loop_end(b, copy, yields, yields + info->ncarries);
  bind_results(map, op, copy);
  Value *const *outs = yields + info->ncarries;
  for (int i = 1; i < info->nouts; i++) /* the same out twice is one */
    for (int k = 0; k < i; k++)
      if (outs[k] == outs[i] && info->outs[k] == info->outs[i]) {
        map_put(map, loop_out(op, i), loop_out(copy, k));
        break;
      }
}

/* A branch on a constant is the branch. */
static void copy_if(Builder *b, const Op *op, ValueMap *map) {
  Value *cond = map_value(map, op->operands[0]);
  int64_t known;
  if (value_is_int_const(cond, &known)) {
    const Region *taken = op->regions[known ? 0 : 1];
    build_copy_region(b, taken, map);
    for (int i = 0; i < op->nresults; i++)
      map_put(map, op->results[i], map_value(map, taken->yields[i]));
    return;
  }
  Op *copy = build_if_begin(b, cond);
  build_copy_region(b, op->regions[0], map);
  build_if_else(b, copy, op->nresults, mapped(b, map, op->nresults, op->regions[0]->yields));
  build_copy_region(b, op->regions[1], map);
  build_if_end(b, copy, op->nresults, mapped(b, map, op->nresults, op->regions[1]->yields));
  bind_results(map, op, copy);
}

static void copy_while(Builder *b, const Op *op, ValueMap *map) {
  Op *copy = build_while_begin(b, op->noperands, mapped(b, map, op->noperands, op->operands));
  bind_params(map, op->regions[0], copy->regions[0]);
  build_copy_region(b, op->regions[0], map);
  build_while_body(b, copy, map_value(map, op->regions[0]->yields[0]));
  bind_params(map, op->regions[1], copy->regions[1]);
  build_copy_region(b, op->regions[1], map);
  build_while_end(b, copy, mapped(b, map, op->noperands, op->regions[1]->yields));
  bind_results(map, op, copy);
}

static Value *copy_plain(Builder *b, const Op *op, Value **x, const ValueMap *map) {
  const Type t = op->nresults ? map_type(b->module, map, op->results[0]->type) : type_scalar(KIND_BOOL);
  switch (op->code) {
  case OP_CONST: return kind_is_float(t.kind) ? build_float(b, t.kind, op->at.f) : build_int(b, t.kind, op->at.i);
  case OP_SIZE: return build_size(b, map_size(b->module, map, op->at.size));
  case OP_FULL: return build_full(b, t, x[0]);
  case OP_CAST: return build_cast(b, t.kind, x[0]);
  case OP_POWI: return build_powi(b, x[0], op->at.i);
  case OP_POLYGAMMA: return build_polygamma(b, x[0], op->at.i);
  case OP_SELECT: return build_select(b, x[0], x[1], x[2]);
  case OP_POW_BELOW: return build_pow_below(b, x[0], x[1], x[2]);
  case OP_INDEX: return build_index(b, x[0], op->noperands - 1, x + 1, op->at.checks);
  case OP_UPDATE: return build_update(b, x[0], x[1], op->noperands - 2, x + 2, op->at.checks);
  case OP_ACC_ADD: build_acc_add(b, x[0], x[1], op->noperands - 2, x + 2, op->at.checks); return NULL;
  case OP_RESHAPE: return build_reshape(b, x[0], t);
  case OP_REQUIRE: build_require(b, x[0], op->at.text); return NULL;
  default:
    if (op_info[op->code].group != GROUP_ELEM)
      internal_error("no way to copy '%s'", op_info[op->code].name);
    return op_info[op->code].arity == 1 ? build_unary(b, op->code, x[0]) : build_binary(b, op->code, x[0], x[1]);
  }
}

void build_copy_op(Builder *b, const Op *op, ValueMap *map) {
  if (b->hook && b->hook(b, op, map, b->hook_arg))
    return;
  const Range loc = b->loc;
  const Op *origin = b->origin;
  b->loc = op->loc;
  b->origin = op->origin ? op->origin : origin;
  switch (op->code) {
  case OP_LOOP: copy_loop(b, op, map); break;
  case OP_IF: copy_if(b, op, map); break;
  case OP_WHILE: copy_while(b, op, map); break;
  case OP_CALL: bind_results(map, op, build_call(b, op->at.callee, mapped(b, map, op->noperands, op->operands))); break;
  default: {
    Value *v = copy_plain(b, op, mapped(b, map, op->noperands, op->operands), map);
    if (v) {
      map_put(map, op->results[0], v);
      if (!value_is_const(v))
        keep_name(v, op->results[0]);
    }
  }
  }
  b->loc = loc;
  b->origin = origin;
}

void build_copy_region(Builder *b, const Region *r, ValueMap *map) {
  for (const Op *op = r->first; op; op = op->next)
    build_copy_op(b, op, map);
}

void func_rebuild(Func *f, CopyHook *hook, void *arg) {
  Module *m = f->module;
  const Region *old = f->body;
  Region *body = region_new(m, f, NULL);
  body->nparams = old->nparams;
  body->params = old->params;
  for (int i = 0; i < body->nparams; i++)
    body->params[i]->region = body;
  Builder b = build_into(f, body);
  b.hook = hook;
  b.hook_arg = arg;
  ValueMap map = {.arena = m->arena};
  build_copy_region(&b, old, &map);
  region_set_yields(m, body, old->nyields, mapped(&b, &map, old->nyields, old->yields));
  f->body = body;
}
