/* Numbering of computations; see number.h.  A value's number is kept in its note. */
#include "passes/number.h"
#include <string.h>

enum { MOST_LEVELS = 4 };
enum Tag {
  TAG_OUTSIDE = 1000,
  TAG_INDEX,
  TAG_CARRY,
  TAG_INNER_INDEX,
  TAG_INNER_CARRY,
  TAG_SIZE,
  TAG_LOOP,
  TAG_IF,
  TAG_OWN
};

static uint64_t mix(uint64_t h, uint64_t x, uint64_t k) {
  h = (h ^ x) * k;
  h ^= h >> 32;
  h = (h + 0x9e3779b97f4a7c15u) * 0xd6e8feb86659fd93u;
  return h ^ (h >> 29);
}
static Number begin(uint64_t tag) {
  return (Number){mix(1, tag, 0xff51afd7ed558ccdu), mix(2, tag, 0xc4ceb9fe1a85ec53u)};
}
static Number with(Number n, uint64_t x) {
  return (Number){mix(n.x, x, 0xff51afd7ed558ccdu), mix(n.y, x, 0xc4ceb9fe1a85ec53u)};
}
static Number with_number(Number n, Number m) {
  return with(with(n, m.x), m.y);
}
static Number sum(Number n, Number m) {
  return (Number){n.x + m.x, n.y + m.y};
}

static const Region *body(const Op *loop) {
  return loop->regions[0];
}

void numbers_reset(const Region *r) {
  for (int i = 0; i < r->nparams; i++)
    r->params[i]->note = NULL;
  for (const Op *op = r->first; op; op = op->next) {
    for (int i = 0; i < op->nresults; i++)
      op->results[i]->note = NULL;
    for (int i = 0; i < op->nregions; i++)
      numbers_reset(op->regions[i]);
  }
}

Number number_of_size(const Numbering *n, const Size *s) {
  Number total = {0, 0}; /* terms and factors stand in no order that both bodies share: sums of numbers */
  for (int t = 0; t < s->nterms; t++) {
    Number factors = {0, 0};
    for (int p = 0; p < s->terms[t].npowers; p++) {
      const Power *power = &s->terms[t].powers[p];
      const Atom *atom = power->atom;
      Number base =
          atom->value
              ? number_of_value(n, atom->value)
              : with_number(with_number(begin(TAG_SIZE + 100 + (uint64_t)atom->kind), number_of_size(n, atom->num)),
                            number_of_size(n, atom->den));
      factors = sum(factors, with(base, (uint64_t)power->exponent));
    }
    total = sum(total, with_number(with(begin(TAG_SIZE), (uint64_t)s->terms[t].coefficient), factors));
  }
  return s->overflow ? with(begin(TAG_OWN), s->uid) : total;
}

static int level_of(const Numbering *n, const Region *r) { /* loops between the body of A or B and the region */
  int level = 0;
  for (; r != body(n->a) && r != body(n->b); r = r->owner->parent)
    level += r->owner->code == OP_LOOP;
  return level;
}

/* What tells a loop in order from another: what its carries begin with and how they go on.  While that is numbered, a
   carry is known by its place alone. */
static Number number_of_carries(const Numbering *n, Op *loop) {
  const int first = loop->at.loop->nindices, ncarries = loop->at.loop->ncarries;
  Number number = begin(TAG_LOOP);
  for (int i = 0; i < first; i++)
    number = with_number(number, number_of_size(n, loop->at.loop->extents[i]));
  for (int i = 0; i < ncarries; i++)
    number = with_number(number, number_of_value(n, loop->operands[i]));
  for (int i = 0; i < ncarries; i++) {
    Number *place = NEW(n->arena, Number);
    *place = with(with(begin(TAG_INNER_CARRY), (uint64_t)i), (uint64_t)level_of(n, body(loop)));
    body(loop)->params[first + i]->note = place;
  }
  for (int i = 0; i < ncarries; i++)
    number = with_number(number, number_of_value(n, body(loop)->yields[i]));
  numbers_reset(body(loop));
  return number;
}

/* All carries of a loop are numbered at once; the number of the carry v. */
static Number number_carries(const Numbering *n, Op *loop, const Value *v) {
  const int first = loop->at.loop->nindices;
  const Number number = number_of_carries(n, loop);
  Number *own = NEW_ARRAY(n->arena, Number, loop->at.loop->ncarries);
  for (int i = 0; i < loop->at.loop->ncarries; i++) {
    own[i] = with(with_number(begin(TAG_INNER_CARRY), number), (uint64_t)i);
    body(loop)->params[first + i]->note = &own[i];
  }
  return own[v->index - first];
}

static Number number_of_param(const Numbering *n, const Value *v) {
  Op *owner = v->region->owner;
  if (owner == n->a)
    return with(begin(v->index < n->a->at.loop->nindices ? TAG_INDEX : TAG_CARRY), (uint64_t)v->index);
  if (owner == n->b && !n->step && v->index < n->b->at.loop->nindices)
    return with(begin(TAG_INDEX), (uint64_t)v->index);
  if (owner == n->b || owner->code != OP_LOOP || v->is_acc)
    return with(begin(TAG_OWN), v->uid);
  const int level = level_of(n, v->region);
  if (v->index < owner->at.loop->nindices)
    return with(with(begin(TAG_INNER_INDEX), (uint64_t)v->index), (uint64_t)level);
  if (level > MOST_LEVELS) /* each level numbers those inside it twice */
    return with(begin(TAG_OWN), v->uid);
  return number_carries(n, owner, v);
}

/* In B, an element of one of A's stacks at the corresponding index is what A yields. */
static bool is_element_of_a(const Numbering *n, const Op *op) {
  const LoopInfo *info = n->a->at.loop;
  const Value *x = op->operands[0];
  const int out = x->index - info->ncarries - info->naccs;
  if (op->code != OP_INDEX || x->def != n->a || out < 0 || info->outs[out] != OUT_STACK ||
      op->noperands - 1 < info->nindices)
    return false;
  for (int i = 0; i < info->nindices; i++)
    if (op->operands[1 + i] != (n->step ? n->step : loop_index(n->b, i)))
      return false;
  return true;
}

/* x[idx..]: where x is a stack made inside and the indices are, by their numbers, those of its loop, what the loop
 * yields. */
static Number number_of_indexed(const Numbering *n, Value *x, int nidx, Value *const *idx) {
  const Op *def = x->def;
  const LoopInfo *info = def && def->code == OP_LOOP ? def->at.loop : NULL;
  const int out = info ? x->index - info->ncarries - info->naccs : -1;
  if (nidx == 0)
    return number_of_value(n, x);
  bool own = out >= 0 && info->outs[out] == OUT_STACK && nidx >= info->nindices &&
             !(value_is_outside(x, body(n->a)) && value_is_outside(x, body(n->b)));
  for (int i = 0; own && i < info->nindices; i++)
    own = number_equal(number_of_value(n, idx[i]), number_of_value(n, loop_index(def, i)));
  if (own)
    return number_of_indexed(n, body(def)->yields[info->ncarries + out], nidx - info->nindices, idx + info->nindices);
  Number number = with_number(begin((uint64_t)OP_INDEX), number_of_value(n, x));
  for (int i = 0; i < nidx; i++)
    number = with_number(number, number_of_value(n, idx[i]));
  return number;
}

static Number number_of_element(const Numbering *n, const Op *op) {
  const LoopInfo *info = n->a->at.loop;
  Value *made = body(n->a)->yields[op->operands[0]->index - info->naccs];
  return number_of_indexed(n, made, op->noperands - 1 - info->nindices, op->operands + 1 + info->nindices);
}

static Number number_of_loop(const Numbering *n, const Value *v) {
  const Op *op = v->def;
  const LoopInfo *info = op->at.loop;
  const int first_out = info->ncarries + info->naccs;
  Number number = begin(TAG_LOOP);
  if (v->index >= info->ncarries && v->index < first_out)
    return with(begin(TAG_OWN), v->uid);
  for (int i = 0; i < info->nindices; i++)
    number = with_number(number, number_of_size(n, info->extents[i]));
  number = with(number, (uint64_t)info->ncarries);
  for (int i = 0; i < info->ncarries; i++) {
    number = with_number(number, number_of_value(n, op->operands[i]));
    number = with_number(number, number_of_value(n, body(op)->yields[i]));
  }
  if (v->index < info->ncarries)
    return with(number, (uint64_t)v->index);
  number = with(number, 100 + (uint64_t)info->outs[v->index - first_out]);
  return with_number(number, number_of_value(n, body(op)->yields[v->index - info->naccs]));
}

uint64_t op_attribute(const Op *op) {
  uint64_t bits = 0;
  if (op->code == OP_CONST && kind_is_float(op->results[0]->type.kind))
    memcpy(&bits, &op->at.f, sizeof bits);
  else if (op->code == OP_CONST || op->code == OP_POWI || op->code == OP_POLYGAMMA)
    bits = (uint64_t)op->at.i;
  return bits;
}

bool op_does_same(const Op *a, const Op *b) {
  return a->code == b->code && a->noperands == b->noperands && op_attribute(a) == op_attribute(b) &&
         a->results[0]->type.kind == b->results[0]->type.kind && (a->code != OP_SIZE || a->at.size == b->at.size) &&
         (a->code != OP_INDEX || !(b->at.checks & ~a->at.checks));
}

static bool commutes(Opcode op) {
  return op == OP_ADD || op == OP_MUL || op == OP_MULZ || op == OP_EQ || op == OP_NE || op == OP_AND || op == OP_OR;
}

Number number_of_unary(Opcode op, Kind kind, Number operand) {
  return with_number(with(with(begin((uint64_t)op), 0), (uint64_t)kind), operand);
}

static Number number_of_result(const Numbering *n, const Value *v) {
  const Op *op = v->def;
  if (op->code == OP_LOOP)
    return number_of_loop(n, v);
  if (op->code == OP_IF)
    return with_number(with_number(with_number(begin(TAG_IF), number_of_value(n, op->operands[0])),
                                   number_of_value(n, op->regions[0]->yields[v->index])),
                       number_of_value(n, op->regions[1]->yields[v->index]));
  if (op_info[op->code].group == GROUP_FLOW)
    return with(begin(TAG_OWN), v->uid);
  if (op->code == OP_INDEX)
    return is_element_of_a(n, op) ? number_of_element(n, op)
                                  : number_of_indexed(n, op->operands[0], op->noperands - 1, op->operands + 1);
  Number number = with(with(begin((uint64_t)op->code), op_attribute(op)), (uint64_t)v->type.kind);
  if (op->code == OP_SIZE)
    return with_number(number, number_of_size(n, op->at.size));
  for (int i = 0; i < v->type.rank; i++)
    number = with_number(number, number_of_size(n, v->type.dims[i]));
  if (commutes(op->code))
    return with_number(number, sum(number_of_value(n, op->operands[0]), number_of_value(n, op->operands[1])));
  for (int i = 0; i < op->noperands; i++)
    number = with_number(number, number_of_value(n, op->operands[i]));
  return number;
}

Number number_of_value(const Numbering *n, Value *v) {
  if (n->step && v == n->step)
    return with(begin(TAG_INDEX), 0);
  if (value_is_outside(v, body(n->a)) && value_is_outside(v, body(n->b)))
    return value_is_const(v) ? with(with(begin((uint64_t)OP_CONST), op_attribute(v->def)), (uint64_t)v->type.kind)
                             : with(begin(TAG_OUTSIDE), v->uid);
  if (v->note)
    return *(Number *)v->note;
  const Number number = v->def ? number_of_result(n, v) : number_of_param(n, v);
  Number *kept = NEW(n->arena, Number);
  *kept = number;
  v->note = kept;
  return number;
}
