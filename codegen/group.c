/* Equal mathematical functions side by side: x^a y^b z^c as one call on vectors of four.
   In straight-line code on scalars, calls of one function that do not depend on each other run as the lanes of a
   vector, which gives the same bits at every width (codegen/inline_math.h) and takes about as long as one of them.

   Calls that may stand together are those of one function and one level: the number of calls of that function on the
   longest way to it.  The group runs where its first call stands in the program, and what the others' operands are made
   of is computed there too, ahead of its turn; only what reads nothing that changes, and cannot fail, may be.  Groups
   of two functions may wait for each other: one that is wanted ahead of its turn leaves out those calls that wait for
   what is being written. */
#include "codegen/body.h"
#include "codegen/inline_math.h"

enum { MOST_MEMBERS = 8, MOST_AHEAD = 256 /* operations between the first call and another */, MOST_LEVELS = 255 };

struct Group {
  const Op *members[MOST_MEMBERS];
  int n;
  bool begun;
  Group *next; /* of the region, the one begun before it */
};

/* ---- which */
static uint64_t wants_of_region(const Body *b, const Region *r) {
  return r->owner ? op_note(r->owner)->wants : b->storage->all_wanted;
}

/* What runs as lanes: what takes much longer than it takes to put numbers into vectors. */
static bool is_candidate(const Op *op) {
  return op_info[op->code].group == GROUP_ELEM && op->code != OP_HYPOT && !power_is_root(op) &&
         has_inline_math(op->code) && kind_is_float(op->results[0]->type.kind);
}

/* Whether it may be computed ahead of its turn. */
static bool can_go_ahead(const Op *op) {
  if (op->nresults != 1 || op->results[0]->type.rank || op->nregions)
    return false;
  switch (op->code) {
  case OP_CONST: return true;
  case OP_INDEX: return !op->at.checks && !op->operands[0]->def && !op->operands[0]->region->owner;
  case OP_DIV:
  case OP_REM:
  case OP_MOD: return kind_is_float(op->results[0]->type.kind);
  default: return op_info[op->code].group == GROUP_ELEM;
  }
}

static OpNote *note_in(const Region *r, const Value *v) {
  return v->def && v->def->parent == r ? op_note(v->def) : NULL;
}

/* Its levels, by function, and the last operation on the way to it that cannot go ahead. */
static void place_op(const Body *b, const Region *r, const Op *op) {
  OpNote *note = op_note(op);
  const OpNote *before = op->prev ? op_note(op->prev) : NULL;
  note->order = before ? before->order + 1 : 0;
  note->group = NULL;
  note->is_ahead = false;
  note->ready = -1;
  note->levels = NEW_ARRAY(b->unit->arena, unsigned char, OP_COUNT);
  /* What is jumped over where it is not wanted stays together; what always runs counts as one. */
  note->run = note->wants == wants_of_region(b, r) || !b->wanted ? 0
              : before && before->wants == note->wants           ? before->run
                                                                 : note->order + 1;
  for (int i = 0; i < op->noperands; i++) {
    const OpNote *of = note_in(r, op->operands[i]);
    for (int code = 0; of && code < OP_COUNT; code++)
      if (note->levels[code] < of->levels[code])
        note->levels[code] = of->levels[code];
    if (of && note->ready < of->ready)
      note->ready = of->ready;
  }
  if (is_candidate(op) && note->levels[op->code] < MOST_LEVELS)
    note->levels[op->code]++;
  else if (!can_go_ahead(op))
    note->ready = note->order;
}

static bool joins(const Group *g, const Op *op) {
  const Op *first = g->members[0];
  const OpNote *a = op_note(first), *note = op_note(op);
  return g->n < MOST_MEMBERS && first->code == op->code && first->results[0]->type.kind == op->results[0]->type.kind &&
         a->levels[op->code] == note->levels[op->code] && note->levels[op->code] < MOST_LEVELS && a->run == note->run &&
         note->ready < a->order && note->order - a->order <= MOST_AHEAD;
}

/* In the order of the powers that they are made of, whose lanes they then are. */
static void sort_members(const Region *r, Group *g) {
  for (int i = 1; i < g->n && g->members[0]->code == OP_POW_BELOW; i++)
    for (int j = i; j > 0; j--) {
      const OpNote *x = note_in(r, g->members[j - 1]->operands[2]), *y = note_in(r, g->members[j]->operands[2]);
      if (!x || !y || x->order <= y->order)
        break;
      const Op *op = g->members[j];
      g->members[j] = g->members[j - 1];
      g->members[j - 1] = op;
    }
}

bool groups_begin(Body *b, const Region *r) {
  int ncandidates = 0;
  if (b->vector || b->unit->options->opt_level < 2 || b->unit->options->scalar || b->unit->lanes)
    return false;
  for (const Op *op = r->first; op; op = op->next)
    ncandidates += is_candidate(op);
  if (ncandidates < 2)
    return false;
  Group *last = NULL;
  for (const Op *op = r->first; op; op = op->next) {
    place_op(b, r, op);
    if (!is_candidate(op))
      continue;
    Group *g = last;
    int looked = 0;
    while (g && looked < MOST_MEMBERS && !joins(g, op)) {
      g = g->next;
      looked++;
    }
    if (!g || looked == MOST_MEMBERS) {
      g = NEW(b->unit->arena, Group);
      *g = (Group){.next = last};
      last = g;
    }
    g->members[g->n++] = op;
  }
  for (Group *g = last; g; g = g->next) {
    if (g->n < 2)
      continue;
    for (int i = 0; i < g->n; i++)
      op_note(g->members[i])->group = g;
    sort_members(r, g);
  }
  return true;
}

void groups_end(const Region *r) {
  for (const Op *op = r->first; op; op = op->next) {
    op_note(op)->group = NULL;
    op_note(op)->is_ahead = false;
  }
}

/* ---- code */
static bool is_written(const Body *b, const OpNote *note) {
  return note->is_ahead || note->order < b->turn;
}

/* Whether nothing that is being written is needed for v; looks at each operation once. */
static bool waits_for_nothing(Body *b, const Region *r, const Value *v) {
  OpNote *note = note_in(r, v);
  if (!note || is_written(b, note) || note->looked == b->looks)
    return true;
  note->looked = b->looks;
  if (note->group && note->group->begun)
    return false;
  for (int i = 0; i < v->def->noperands; i++)
    if (!waits_for_nothing(b, r, v->def->operands[i]))
      return false;
  return true;
}

static void lower_group(Body *b, Group *g);

static void lower_ahead(Body *b, const Region *r, const Value *v) {
  OpNote *note = note_in(r, v);
  if (!note || is_written(b, note))
    return;
  if (note->group)
    lower_group(b, note->group);
  if (note->is_ahead)
    return;
  for (int i = 0; i < v->def->noperands; i++)
    lower_ahead(b, r, v->def->operands[i]);
  lower_op(b, v->def);
  note->is_ahead = true;
}

static void leave_out_waiting(Body *b, Group *g) {
  int n = 0;
  for (int i = 0; i < g->n; i++) {
    const Op *op = g->members[i];
    bool ready = op_note(op)->ready < b->turn; /* a group that is wanted before its first call's turn may need more */
    b->looks++;
    for (int j = 0; ready && j < op->noperands; j++)
      ready = waits_for_nothing(b, op->parent, op->operands[j]);
    if (ready)
      g->members[n++] = op;
    else
      op_note(op)->group = NULL;
  }
  g->n = n;
}

static LLVMValueRef operand_lanes(Body *b, const Group *g, int i, LLVMTypeRef type, int lanes) {
  LLVMValueRef x = LLVMGetPoison(type);
  for (int lane = 0; lane < lanes; lane++) {
    const Op *member = g->members[lane < g->n ? lane : g->n - 1];
    LLVMValueRef at = LLVMConstInt(b->unit->i32, (unsigned)lane, false);
    x = LLVMBuildInsertElement(b->at, x, value_code(b, member->operands[i]), at, "");
  }
  return x;
}

/* If there are too few left of it, they run in their turn, one by one. */
static void lower_group(Body *b, Group *g) {
  Unit *u = b->unit;
  leave_out_waiting(b, g);
  g->begun = true;
  for (int i = 0; i < g->n; i++)
    for (int j = 0; j < g->members[0]->noperands; j++)
      lower_ahead(b, g->members[0]->parent, g->members[i]->operands[j]);
  for (int i = 0; i < g->n; i++)
    op_note(g->members[i])->group = NULL;
  if (g->n < 2)
    return;
  const Op *first = g->members[0];
  const Kind k = first->results[0]->type.kind;
  LLVMValueRef operands[3];
  int lanes = 2;
  while (lanes < g->n)
    lanes *= 2;
  LLVMTypeRef type = LLVMVectorType(type_of_kind(u, k), (unsigned)lanes);
  for (int j = 0; j < first->noperands; j++)
    operands[j] = operand_lanes(b, g, j, type, lanes);
  LLVMValueRef f = inline_math_group(u, first->code, k, lanes);
  LLVMValueRef results = LLVMBuildCall2(b->at, LLVMGlobalGetValueType(f), f, operands, (unsigned)first->noperands, "");
  for (int i = 0; i < g->n; i++) {
    LLVMValueRef at = LLVMConstInt(u->i32, (unsigned)i, false);
    set_value(g->members[i]->results[0], LLVMBuildExtractElement(b->at, results, at, ""));
    op_note(g->members[i])->is_ahead = true;
  }
}

bool group_op(Body *b, const Op *op) {
  const OpNote *note = op_note(op);
  if (b->vector) /* there are no groups: codegen/vector_code.c */
    return false;
  if (!note->is_ahead && note->group) {
    b->turn = note->order;
    lower_group(b, note->group);
  }
  return note->is_ahead;
}
