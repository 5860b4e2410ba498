/* The plan: what each value of a function is in the source; see source_state.h. */
#include "codegen/source_state.h"

enum { LONGEST = 8, MAX_BOUND_DEPTH = 16 };

/* ---- sizes */
static bool is_size_param(const Value *v) {
  return !v->def && !v->region->owner && v->index < v->region->func->nsizes;
}

typedef struct Exactness {
  bool exact;
} Exactness;
static void look_exact(Value *v, void *arg) {
  Exactness *e = arg;
  e->exact = e->exact && is_size_param(v);
}

/* A type of the language has no min and max. */
static bool has_lesser(const Size *size) {
  for (int i = 0; i < size->nterms; i++)
    for (int j = 0; j < size->terms[i].npowers; j++) {
      const Atom *a = size->terms[i].powers[j].atom;
      if (!a->value && (a->kind != ATOM_QUOTIENT || has_lesser(a->num) || has_lesser(a->den)))
        return true;
    }
  return false;
}

static bool is_exact(const Size *size) {
  Exactness e = {.exact = !size->overflow && !has_lesser(size)};
  size_values(size, look_exact, &e);
  return e.exact;
}

static const Size *bound_of_size(Module *m, const Size *size, int depth);

static const Size *sum_of(Module *m, const Size *a, const Size *b) {
  return a && b ? size_add(m, a, b) : NULL;
}

/* The x of i64(ceil(sqrt(f64(x)))), which is no more than x. */
static const Value *under_root(const Op *op) {
  static const Opcode chain[] = {OP_CAST, OP_CEIL, OP_SQRT, OP_CAST};
  const Value *v = op->results[0];
  for (size_t i = 0; i < sizeof chain / sizeof *chain; i++) {
    if (!v->def || v->def->code != chain[i])
      return NULL;
    v = v->def->operands[0];
  }
  return v->type.kind == KIND_I64 ? v : NULL;
}

static const Size *bound_of_value(Module *m, const Value *v, int depth) {
  int64_t c;
  const Op *op = v->def;
  if (depth == 0 || v->type.kind != KIND_I64)
    return NULL;
  if (value_is_int_const(v, &c))
    return size_const(m, c < 0 ? 0 : c);
  if (is_size_param(v))
    return size_atom(m, (Value *)(uintptr_t)v);
  if (!op && v->region->owner && v->region->owner->code == OP_LOOP && v->index < v->region->owner->at.loop->nindices)
    return bound_of_size(m, v->region->owner->at.loop->extents[v->index], depth - 1);
  if (!op)
    return NULL;
  const Size *size = size_of_value(m, (Value *)(uintptr_t)v);
  if (size != size_atom(m, (Value *)(uintptr_t)v))
    return bound_of_size(m, size, depth - 1);
  switch (op->code) {
  case OP_MAX:
    return sum_of(m, bound_of_value(m, op->operands[0], depth - 1), bound_of_value(m, op->operands[1], depth - 1));
  case OP_SELECT:
    return sum_of(m, bound_of_value(m, op->operands[1], depth - 1), bound_of_value(m, op->operands[2], depth - 1));
  case OP_MIN: {
    const Size *a = bound_of_value(m, op->operands[0], depth - 1);
    return a ? a : bound_of_value(m, op->operands[1], depth - 1);
  }
  case OP_CAST: {
    const Value *x = under_root(op);
    return x ? bound_of_value(m, x, depth - 1) : NULL;
  }
  default: return NULL;
  }
}

static const Size *bound_of_atom(Module *m, const Atom *a, int depth) {
  if (a->value)
    return bound_of_value(m, a->value, depth);
  const Size *num = bound_of_size(m, a->num, depth), *least = size_sub(m, a->den, size_const(m, 1));
  int64_t c;
  if (a->kind == ATOM_MAX)
    return sum_of(m, num, bound_of_size(m, a->den, depth));
  if (a->kind == ATOM_MIN)
    return num ? num : bound_of_size(m, a->den, depth);
  if (!num || !size_nonnegative(m, least))
    return NULL;
  return size_is_const(a->den, &c) ? size_floordiv(m, num, a->den) : num;
}

static const Size *atom_size(Module *m, const Atom *a) {
  return a->value ? size_atom(m, a->value) : size_atom_of(m, a, a->num, a->den);
}

/* One term: atoms of a product must not be negative, as two that are would make more of it. */
static const Size *bound_of_term(Module *m, const Term *t, int depth) {
  const Size *bound = size_const(m, 1);
  const bool single = t->npowers == 1 && t->powers[0].exponent == 1;
  for (int i = 0; i < t->npowers; i++) {
    const Atom *a = t->powers[i].atom;
    const bool nonnegative = size_nonnegative(m, atom_size(m, a));
    if (t->coefficient < 0) {
      if (!nonnegative)
        return NULL;
      continue;
    }
    const Size *most = nonnegative || single ? bound_of_atom(m, a, depth) : NULL;
    if (!most)
      return NULL;
    for (int k = 0; k < t->powers[i].exponent; k++)
      bound = size_mul(m, bound, most);
  }
  return t->coefficient < 0 ? size_const(m, 0) : size_scale(m, bound, t->coefficient);
}

/* Not negative; NULL where none is found. */
static const Size *bound_of_size(Module *m, const Size *size, int depth) {
  const Size *bound = size_const(m, 0);
  if (size->overflow || depth == 0)
    return NULL;
  if (is_exact(size) && size_nonnegative(m, size))
    return size;
  for (int i = 0; i < size->nterms && bound; i++)
    bound = sum_of(m, bound, bound_of_term(m, &size->terms[i], depth - 1));
  return bound;
}

const Size *source_bound(const SourceWriter *s, const Size *size) {
  return is_exact(size) ? size : bound_of_size(s->module, size, MAX_BOUND_DEPTH);
}

SizeClass source_size_class(const SourceWriter *s, const Size *size) {
  return is_exact(size) ? SIZE_EXACT : source_bound(s, size) ? SIZE_BOUNDED : SIZE_UNKNOWN;
}

SizeClass source_type_class(const SourceWriter *s, Type t) {
  SizeClass worst = SIZE_EXACT;
  for (int i = 0; i < t.rank; i++) {
    const SizeClass c = source_size_class(s, t.dims[i]);
    worst = c > worst ? c : worst;
  }
  return worst;
}

/* ---- uses */
static void use(SourceWriter *s, const Value *v, const Op *user, const Region *r) {
  SourceNote *n = source_note(s, v);
  n->nuses++;
  n->user = user;
  n->user_region = r;
}

static void use_in_size(Value *v, void *arg) {
  source_note(arg, v)->nsize_uses++;
}

static void use_in_type(SourceWriter *s, Type t) {
  for (int i = 0; i < t.rank; i++)
    size_values(t.dims[i], use_in_size, s);
}

static void count_region(SourceWriter *s, const Region *r) {
  for (Op *op = r->first; op; op = op->next) {
    op->note = (void *)(intptr_t)s->npoints++;
    for (int i = 0; i < op->noperands; i++)
      use(s, op->operands[i], op, r);
    if (op->code == OP_UPDATE)
      source_note(s, op->operands[0])->is_replaced = true;
    for (int i = 0; (op->code == OP_LOOP || op->code == OP_WHILE) && i < op->noperands; i++)
      source_note(s, op->operands[i])->is_replaced = true;
    for (int i = 0; i < op->nresults; i++)
      use_in_type(s, op->results[i]->type);
    if (op->code == OP_SIZE)
      size_values(op->at.size, use_in_size, s);
    if (op->code == OP_LOOP)
      for (int i = 0; i < op->at.loop->nindices; i++)
        size_values(op->at.loop->extents[i], use_in_size, s);
    for (int i = 0; i < op->nregions; i++)
      count_region(s, op->regions[i]);
  }
  for (int i = 0; i < r->nyields; i++)
    use(s, r->yields[i], NULL, r);
}

/* ---- what stands where it is used */
static bool same_line(const Op *a, const Op *b) {
  return !b || (a->loc.line == b->loc.line && op_is_derivative(a) == op_is_derivative(b));
}

static bool can_stand_inside(const SourceWriter *s, const Op *op) {
  const SourceNote *n = source_note(s, op->results[0]);
  if (op->code != OP_INDEX && op->code != OP_RESHAPE && op_info[op->code].group != GROUP_ELEM)
    return false;
  if (op->code == OP_INDEX && source_note(s, op->operands[0])->is_replaced && (!n->user || n->user->code != OP_UPDATE))
    return false;
  /* What is yielded or added has the name of where it goes. */
  const bool goes_on = !n->user || n->user->code == OP_ACC_ADD;
  return n->nuses == 1 && !n->nsize_uses && n->user_region == op->parent && !n->arity &&
         (goes_on || !op->results[0]->name) && n->depth <= LONGEST && (!s->by_line || same_line(op, n->user));
}

static void plan_inlining(SourceWriter *s, const Op *op) {
  if (op->nresults != 1 || op->nregions)
    return;
  SourceNote *n = source_note(s, op->results[0]);
  n->depth = 1;
  for (int i = 0; i < op->noperands; i++) {
    const SourceNote *o = source_note(s, op->operands[i]);
    n->depth += o->is_inlined ? o->depth : 0;
  }
  if (op->code == OP_CONST || op->code == OP_SIZE) {
    n->is_inlined = true;
    n->depth = 0;
  } else if (op->code == OP_FULL && !n->arity && value_is_const(op->operands[0])) {
    n->is_inlined = true;
  } else {
    n->is_inlined = can_stand_inside(s, op);
  }
}

/* ---- functions instead of tensors */
static const char unwritable[] = "a tensor whose size only the run knows cannot be written as source";

static void plan_arity(SourceWriter *s, const Op *op, int r) {
  const Value *v = op->results[r];
  SourceNote *n = source_note(s, v);
  if (source_type_class(s, v->type) != SIZE_UNKNOWN)
    return;
  const int out = op->code == OP_LOOP ? r - op->at.loop->ncarries - op->at.loop->naccs : -1;
  if (op->code == OP_FULL) {
    n->arity = v->type.rank;
  } else if (op->code == OP_INDEX) {
    n->arity = source_note(s, op->operands[0])->arity - (op->noperands - 1);
  } else if (out >= 0) {
    const Value *inner = op->regions[0]->yields[op->at.loop->ncarries + out];
    n->arity = op->at.loop->nindices + source_note(s, inner)->arity;
  }
  if (n->arity <= 0)
    source_fail(s, op->loc, unwritable);
}

/* Functions take tensors of their own sizes, and nobody asks a tape for its elements in another order. */
static void check_operands(SourceWriter *s, const Op *op) {
  for (int i = 0; i < op->noperands; i++) {
    const SizeClass c = source_type_class(s, op->operands[i]->type);
    const bool strict = op->code == OP_CALL || op->code == OP_RESHAPE;
    if ((c == SIZE_UNKNOWN && op->code != OP_INDEX) || (c == SIZE_BOUNDED && strict))
      source_fail(s, op->loc, unwritable);
  }
  if ((op->code == OP_CALL || op->code == OP_RESHAPE) && op->nresults)
    for (int i = 0; i < op->nresults; i++)
      if (source_type_class(s, op->results[i]->type) == SIZE_BOUNDED)
        source_fail(s, op->loc, unwritable);
}

static void plan_region(SourceWriter *s, const Region *r) {
  for (const Op *op = r->first; op; op = op->next) {
    for (int i = 0; i < op->nregions; i++)
      plan_region(s, op->regions[i]);
    for (int i = 0; i < op->nresults; i++)
      plan_arity(s, op, i);
    check_operands(s, op);
    plan_inlining(s, op);
  }
}

/* ---- points: where what an operation computes is written.  Even ones are operations, odd ones ends of regions. */
static int last_number(const Region *r, int before) {
  const Op *op = r->last;
  if (!op)
    return before;
  int last = (int)(intptr_t)op->note;
  for (int i = 0; i < op->nregions; i++)
    last = last_number(op->regions[i], last);
  return last;
}

static int point_of(const SourceWriter *s, const Op *op) {
  return s->points[(intptr_t)op->note];
}

static void note_point(SourceWriter *s, const Value *v, int point, const Op *op) {
  SourceNote *n = source_note(s, v);
  if (op == n->last_op && op) {
    n->last = point > n->last ? point : n->last;
  } else if (point >= n->last) {
    n->second = n->last;
    n->last = point;
    n->last_op = op;
  } else if (point > n->second) {
    n->second = point;
  }
}

/* Backwards, so that whoever uses a value has its point. */
static void plan_points(SourceWriter *s, const Region *r, int end) {
  for (int i = 0; i < r->nyields; i++)
    note_point(s, r->yields[i], end, NULL);
  for (const Op *op = r->last; op; op = op->prev) {
    const int number = (int)(intptr_t)op->note;
    int point = 2 * number;
    const SourceNote *n = op->nresults == 1 ? source_note(s, op->results[0]) : NULL;
    if (n && n->is_inlined && n->nuses)
      point = n->last > point ? n->last : point;
    s->points[number] = point;
    for (int i = op->nregions - 1; i >= 0; i--)
      plan_points(s, op->regions[i], 2 * last_number(op->regions[i], number) + 1);
    for (int i = 0; i < op->noperands; i++)
      note_point(s, op->operands[i], point, op);
  }
}

bool source_dies_at(const SourceWriter *s, const Value *v, const Op *op) {
  const SourceNote *n = source_note(s, v);
  return n->last_op == op && n->second <= point_of(s, op) && v->region == op->parent;
}

void source_plan(SourceWriter *s) {
  s->npoints = 0;
  for (unsigned i = 0; i < s->nnotes; i++)
    s->notes[i] = (SourceNote){.last = -1, .second = -1};
  count_region(s, s->func->body);
  s->points = NEW_ARRAY(s->arena, int, s->npoints + 1);
  plan_region(s, s->func->body);
  plan_points(s, s->func->body, 2 * s->npoints + 1);
}
