/* Tensors joined along their first axis.
       loop (k < p + q, ..) stack { if k < p { x[k, ..] } else { y[k - p, ..] } }
   is copied part by part.  Where the joined tensor is a result of the function, a part that is only made for it is made
   where it is to be: its place is a part of the result's, and nothing is copied. */
#include "codegen/loop_code.h"
#include "ir/build.h"

typedef struct Finding {
  Module *module;
  const Op *loop;
  ConcatPart *parts, *last;
  const Size *offset;
} Finding;

/* ---- which loops */
/* x[k - offset, ..], with the loop's indices in order, and as long as the part is. */
static bool is_part(const Finding *f, const Op *op, const Size *length) {
  const LoopInfo *info = f->loop->at.loop;
  const Value *x = op->operands[0];
  if (op->code != OP_INDEX || op->at.checks || x->type.rank != info->nindices || op->noperands - 1 != info->nindices ||
      !value_is_outside(x, f->loop->regions[0]) || x->type.dims[0] != length ||
      size_of_value(f->module, op->operands[1]) !=
          size_sub(f->module, size_atom(f->module, loop_index(f->loop, 0)), f->offset))
    return false;
  for (int i = 1; i < info->nindices; i++)
    if (op->operands[1 + i] != loop_index(f->loop, i) || x->type.dims[i] != info->extents[i])
      return false;
  return true;
}

/* An index or its arithmetic. */
static bool is_arithmetic(const Op *op) {
  return op->code == OP_SIZE || op->code == OP_CONST || op->code == OP_SUB || op->code == OP_ADD || op->code == OP_LT;
}

/* The value, and all of the region, is a part or a choice between parts; `end`: where they end. */
static bool find_parts(Finding *f, const Region *r, Value *v, const Size *end) {
  Module *m = f->module;
  Op *op = v->def;
  for (const Op *other = r->first; other; other = other->next)
    if (other != op && !is_arithmetic(other))
      return false;
  if (!op || op->parent != r)
    return false;
  if (op->code == OP_INDEX) {
    const Size *length = size_sub(m, end, f->offset);
    if (!is_part(f, op, length))
      return false;
    ConcatPart *part = NEW(m->arena, ConcatPart);
    *part = (ConcatPart){.value = op->operands[0], .offset = f->offset};
    *(f->last ? &f->last->next : &f->parts) = part;
    f->last = part;
    f->offset = end;
    return true;
  }
  const Op *test = op->code == OP_IF && op->nresults == 1 ? op->operands[0]->def : NULL;
  if (!test || test->code != OP_LT || test->operands[0] != loop_index(f->loop, 0))
    return false;
  const Size *middle = size_of_value(m, test->operands[1]);
  return find_parts(f, op->regions[0], op->regions[0]->yields[0], middle) &&
         find_parts(f, op->regions[1], op->regions[1]->yields[0], end);
}

static ConcatPart *parts_of(Module *m, const Op *loop) {
  const LoopInfo *info = loop->at.loop;
  const Region *body = loop->regions[0];
  if (loop->code != OP_LOOP || !info->nindices || info->ncarries || info->naccs || info->nouts != 1 ||
      info->outs[0] != OUT_STACK || body->yields[0]->type.rank)
    return NULL;
  Finding f = {.module = m, .loop = loop, .offset = size_const(m, 0)};
  return find_parts(&f, body, body->yields[0], info->extents[0]) && f.parts->next ? f.parts : NULL;
}

/* ---- parts that are made where they are to be */
static const Storage *owner_of(const Value *v) {
  const Storage *s = note_of(v)->storage;
  if (s && s->kind == STORAGE_VIEW)
    s = s->whole ? s->owners.at[0] : NULL;
  return s && s->kind == STORAGE_OWN ? s : NULL;
}

typedef struct Params {
  const Func *func;
  bool others;
} Params;
static void look_at_atom(Value *v, void *arg) {
  Params *p = arg;
  p->others |= v->def || v->region != p->func->body;
}

/* Known when the function begins. */
static bool is_of_params(const Func *f, const Size *s) {
  Params p = {.func = f};
  size_values(s, look_at_atom, &p);
  return !p.others && !s->overflow;
}

/* All that lies in the place is for this result alone, and is gone when the loop is done. */
static bool may_move(const FuncStorage *f, const Place *p, const Op *loop, uint64_t wants) {
  if (p->kind != PLACE_WORK || p->twin || p->is_twin || p->followed || p->part_of || p->call ||
      p->to > op_note(loop)->end || p->home != f->func->body)
    return false;
  for (int i = 0; i < p->members.n; i++)
    if (!p->members.at[i]->value || note_of(p->members.at[i]->value)->wants != wants)
      return false;
  return true;
}

static void move_part(FuncStorage *f, const Op *loop, ConcatPart *part) {
  const Value *joined = loop_out(loop, 0);
  const Storage *whole = owner_of(joined), *s = owner_of(part->value);
  if (!whole || !s)
    return;
  Place *to = place_of(whole), *from = place_of(s);
  const uint64_t wants = note_of(joined)->wants;
  const Size *offset = size_mul(f->module, part->offset, type_count(f->module, type_drop(joined->type, 1)));
  if (to->kind != PLACE_OUTPUT || loop->parent != f->func->body || to->from < op_note(loop)->begin ||
      wants != wanted_bit(to->number) || from->type.kind != joined->type.kind ||
      from->count != type_count(f->module, part->value->type) || !may_move(f, from, loop, wants) ||
      !is_of_params(f->func, offset))
    return;
  from->part_of = to;
  from->part_offset = offset;
  part->in_place = true;
}

typedef struct Plan {
  FuncStorage *f;
} Plan;
static void plan_op(Op *op, void *arg) {
  const Plan *p = arg;
  if (op->code != OP_LOOP || !(op_note(op)->concat = parts_of(p->f->module, op)))
    return;
  for (ConcatPart *part = op_note(op)->concat; part; part = part->next) {
    bool twice = false; /* one tensor cannot be in two places */
    for (const ConcatPart *other = op_note(op)->concat; other; other = other->next)
      twice |= other != part && owner_of(other->value) == owner_of(part->value);
    if (!twice)
      move_part(p->f, op, part);
  }
}

void concat_plan(FuncStorage *f) {
  Plan p = {f};
  region_walk(f->func->body, plan_op, &p);
}

/* ---- code */
void concat_places(Body *b) {
  for (int i = 0; i < b->storage->places.n; i++) {
    Place *p = b->storage->places.at[i];
    if (p->part_of)
      p->address = element_address(b, p->type.kind, address_of(b, p->part_of), size_code(b, p->part_offset));
  }
}

void lower_concat(Body *b, const Op *loop) {
  const Value *joined = loop_out(loop, 0);
  check_type(b, joined->type);
  LLVMValueRef address = address_of(b, place_of(note_of(joined)->storage));
  set_value(joined, address);
  for (const ConcatPart *part = op_note(loop)->concat; part; part = part->next) {
    if (part->in_place)
      continue;
    LLVMValueRef row = size_code(b, type_count(b->unit->module, type_drop(joined->type, 1)));
    LLVMValueRef offset = LLVMBuildNSWMul(b->at, size_code(b, part->offset), row, "");
    LLVMValueRef to = element_address(b, joined->type.kind, address, offset);
    if (is_full(part->value))
      fill_tensor(b, part->value->type, to, part->value);
    else
      copy_tensor(b, part->value->type, to, value_code(b, part->value));
  }
}
