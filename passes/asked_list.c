/* The list of the rows that are asked for; see asked.h.
   The indices by which rows are read are computed before, in loops of their own: what they are made of, integers that
   are read from tensors and arithmetic, is copied there. An index that is out of range there asks for nothing, as the
   read itself tests it; so may one whose read stands in a branch that is not taken. */
#include "ir/raw.h"
#include "passes/asked.h"

enum { DEEPEST_ASKER = 24, MOST_LOOPS = 8 };

typedef struct Slice {
  Asked *asked;
  Region *home; /* where the list is made */
  Op *anchor;   /* after this operation of home, or at its beginning */
  bool is_data; /* an index comes from a tensor */
  int nloops;
  Value *indices[MOST_LOOPS]; /* of the loops around the read in which it stands, the outer before the inner */
} Slice;

/* Numbers of operations that were added are those of the operation before them. */
static bool is_later(const Op *op, const Op *than) {
  if (asked_number(op) != asked_number(than))
    return asked_number(op) > asked_number(than);
  while (than && than != op && asked_number(than) == asked_number(op))
    than = than->next;
  return than == op;
}

/* v is there in front of the loop: then the list is made no further out than where it is, and after it. */
static bool note_leaf(Slice *s, const Value *v) {
  if (!region_is_around(v->region, s->asked->loop->parent) || (v->def && asked_number(v->def) >= s->asked->number))
    return false;
  if (v->region != s->home && region_is_around(s->home, v->region)) {
    s->home = v->region;
    s->anchor = NULL;
  }
  if (v->region == s->home && v->def && (!s->anchor || is_later(v->def, s->anchor)))
    s->anchor = v->def;
  return true;
}

typedef struct SizeLeaves {
  Slice *slice;
  bool all;
} SizeLeaves;

static void note_size_leaf(Value *v, void *arg) {
  SizeLeaves *l = arg;
  l->all = l->all && note_leaf(l->slice, v);
}

static bool note_size(Slice *s, const Size *size) {
  SizeLeaves l = {s, !size->overflow};
  size_values(size, note_size_leaf, &l);
  return l.all;
}

static bool note_type(Slice *s, const Type *t) {
  for (int i = 0; i < t->rank; i++)
    if (!note_size(s, t->dims[i]))
      return false;
  return true;
}

/* The index of a loop that stands between the home and the read. */
static bool note_index(Slice *s, Value *v) {
  const Op *loop = v->region->owner;
  if (!loop || loop->code != OP_LOOP || v->index >= loop->at.loop->nindices ||
      !note_size(s, loop->at.loop->extents[v->index]))
    return false;
  int at = 0;
  for (; at < s->nloops && s->indices[at]->uid < v->uid; at++)
    ;
  if (at < s->nloops && s->indices[at] == v)
    return true;
  if (s->nloops == MOST_LOOPS)
    return false;
  for (int i = s->nloops++; i > at; i--)
    s->indices[i] = s->indices[i - 1];
  s->indices[at] = v;
  return true;
}

/* Finds what v is made of; false where that cannot be copied. */
static bool note_slice(Slice *s, Value *v, int depth) {
  const Op *op = v->def;
  if (value_is_const(v) || (op && op->code == OP_SIZE && note_size(s, op->at.size)) || note_leaf(s, v))
    return true;
  if (!op)
    return note_index(s, v);
  if (v->type.rank || depth == DEEPEST_ASKER)
    return false;
  if (op->code == OP_INDEX) {
    s->is_data = true;
    if (op->operands[0]->note)
      ((Asked *)op->operands[0]->note)->unfit = true;
    if (!note_leaf(s, op->operands[0]) || !note_type(s, &op->operands[0]->type))
      return false;
  } else if (op_info[op->code].group != GROUP_ELEM || op_info[op->code].effect != EFFECT_PURE) {
    return false;
  }
  for (int i = op->code == OP_INDEX; i < op->noperands; i++)
    if (!note_slice(s, op->operands[i], depth + 1))
      return false;
  return true;
}

/* ---- building */
typedef struct Copy {
  Builder *b;
  ValueMap map;
  Value *valid; /* no index was out of range; NULL: there was none that could be */
} Copy;

static Value *both(Builder *b, Value *x, Value *y) {
  return x ? build_binary(b, OP_AND, x, y) : y;
}

static Value *is_within(Builder *b, Value *i, const Size *extent) {
  Value *above = build_binary(b, OP_LE, build_int(b, KIND_I64, 0), i);
  return build_binary(b, OP_AND, above, build_binary(b, OP_LT, i, build_size(b, extent)));
}

static Value *copy_slice(Copy *c, const Slice *s, Value *v);

/* An index of a loop over all of an axis. */
static bool is_index_of(const Value *v, const Size *axis) {
  const Op *loop = v->def ? NULL : v->region->owner;
  return loop && loop->code == OP_LOOP && v->index < loop->at.loop->nindices &&
         loop->at.loop->extents[v->index] == axis;
}

/* An element, or 0 where there is none.  The read may stand in a branch that tells that there is one, so what is not
   seen to be in range is tested. */
static Value *copy_element(Copy *c, const Slice *s, const Op *op) {
  Builder *b = c->b;
  Value *index[MAX_RANK], *fits = NULL;
  const int n = op->noperands - 1;
  for (int i = 0; i < n; i++) {
    index[i] = copy_slice(c, s, op->operands[1 + i]);
    if (!is_index_of(op->operands[1 + i], op->operands[0]->type.dims[i]))
      fits = both(b, fits, is_within(b, index[i], op->operands[0]->type.dims[i]));
  }
  if (!fits)
    return build_index(b, op->operands[0], n, index, 0);
  c->valid = both(b, c->valid, fits);
  Op *branch = build_if_begin(b, fits);
  Value *element = build_index(b, op->operands[0], n, index, 0);
  build_if_else(b, branch, 1, &element);
  Value *none = build_number(b, element->type.kind, 0);
  build_if_end(b, branch, 1, &none);
  return branch->results[0];
}

static Value *copy_slice(Copy *c, const Slice *s, Value *v) {
  Value *known = map_get(&c->map, v);
  if (known)
    return known;
  const Op *op = v->def;
  const bool is_made_anywhere = op && (value_is_const(v) || op->code == OP_SIZE);
  if (!is_made_anywhere && region_is_around(v->region, s->home) && (!op || asked_number(op) < s->asked->number))
    return v;
  if (!op)
    internal_error("the index of a loop is missing from the list of rows");
  if (op->code == OP_INDEX) {
    known = copy_element(c, s, op);
  } else {
    for (int i = 0; i < op->noperands; i++)
      copy_slice(c, s, op->operands[i]);
    build_copy_op(c->b, op, &c->map);
    known = map_get(&c->map, v);
  }
  map_put(&c->map, v, known);
  return known;
}

enum { RANK, LIST, COUNT, STATE };

/* A row that is asked for the first time is put at the list's end. */
static void put_row(Builder *b, Value *row, Value *valid, const Size *rows, Value **state) {
  Value *none = build_int(b, KIND_I64, 0);
  Op *branch = build_if_begin(b, both(b, valid, is_within(b, row, rows)));
  Value *place = build_index(b, state[RANK], 1, &row, 0);
  build_if_else(b, branch, 1, &place);
  build_if_end(b, branch, 1, &none);
  branch = build_if_begin(b, build_binary(b, OP_LT, branch->results[0], none));
  Value *put[STATE] = {build_update(b, state[RANK], state[COUNT], 1, &row, 0),
                       build_update(b, state[LIST], row, 1, &state[COUNT], 0),
                       build_add(b, state[COUNT], build_int(b, KIND_I64, 1))};
  build_if_else(b, branch, STATE, put);
  build_if_end(b, branch, STATE, state);
  for (int i = 0; i < STATE; i++)
    state[i] = branch->results[i];
}

static void put_rows_of(Builder *b, const Slice *s, Value *asker, Value **state) {
  const Asked *a = s->asked;
  Copy c = {.b = b, .map = {.arena = b->module->arena}};
  Op *loops[MOST_LOOPS];
  for (int i = 0; i < s->nloops; i++) {
    const LoopInfo *info = s->indices[i]->region->owner->at.loop;
    const LoopSpec spec = {
        .nindices = 1, .extents = &info->extents[s->indices[i]->index], .ncarries = STATE, .carry_inits = state};
    loops[i] = build_loop_begin(b, &spec);
    for (int k = 0; k < STATE; k++)
      state[k] = loop_carry(loops[i], k);
    map_put(&c.map, s->indices[i], loop_index(loops[i], 0));
  }
  Value *row = copy_slice(&c, s, asker);
  put_row(b, row, c.valid, a->loop->at.loop->extents[0], state);
  for (int i = s->nloops - 1; i >= 0; i--) {
    build_loop_end(b, loops[i], state, NULL);
    for (int k = 0; k < STATE; k++)
      state[k] = loop_carry_result(loops[i], k);
  }
}

/* All rows, in their order. */
static void put_all(Builder *b, const Size *rows, Value **state) {
  const OutKind stack = OUT_STACK;
  const LoopSpec spec = {.nindices = 1, .extents = &rows, .nouts = 1, .outs = &stack};
  for (int i = 0; i < 2; i++) {
    Op *loop = build_loop_begin(b, &spec);
    Value *index = loop_index(loop, 0);
    build_loop_end(b, loop, NULL, &index);
    state[i] = loop_out(loop, 0);
  }
  state[COUNT] = build_size(b, rows);
}

/* How often rows are read, at the most. */
static const Size *reads_of(Module *m, const Slice *slices, int n) {
  const Size *all = size_const(m, 0);
  for (int i = 0; i < n; i++) {
    const Size *one = size_const(m, 1);
    for (int k = 0; k < slices[i].nloops; k++)
      one = size_mul(m, one, slices[i].indices[k]->region->owner->at.loop->extents[slices[i].indices[k]->index]);
    all = size_add(m, all, one);
  }
  return all;
}

/* So many reads ask for nearly all rows: then finding out which costs more than it saves, unless what is found out
   serves many iterations. */
static Value *are_few(Builder *b, const Slice *slices, int n, const Region *home) {
  enum { MANY = 4 };
  Module *m = b->module;
  const Asked *a = slices[0].asked;
  const Size *rows = a->loop->at.loop->extents[0];
  bool serves_many = false;
  for (const Region *r = a->loop->parent; r != home; r = r->owner->parent)
    serves_many |= r->owner->code == OP_LOOP;
  return build_binary(b, OP_LT, build_size(b, reads_of(m, slices, n)),
                      build_size(b, serves_many ? size_scale(m, rows, MANY) : rows));
}

static void build_list(Builder *b, const Slice *slices, int n, AskedList *list) {
  Module *m = b->module;
  const Size *rows = slices[0].asked->loop->at.loop->extents[0];
  const Type type = type_tensor(m, KIND_I64, 1, &rows);
  Op *branch = build_if_begin(b, are_few(b, slices, n, slices[0].home));
  Value *state[STATE] = {build_full(b, type, build_int(b, KIND_I64, -1)), build_zeros(b, type),
                         build_int(b, KIND_I64, 0)};
  for (int i = 0; i < n; i++)
    put_rows_of(b, &slices[i], slices[0].asked->askers[i], state);
  build_if_else(b, branch, STATE, state);
  put_all(b, rows, state);
  build_if_end(b, branch, STATE, state);
  *list = (AskedList){branch->results[LIST], branch->results[RANK],
                      size_min(m, size_atom(m, branch->results[COUNT]), rows)};
}

bool asked_make_list(Asked *a, AskedList *list) {
  Func *f = a->loop->parent->func;
  Slice *slices = NEW_ARRAY(f->module->arena, Slice, a->naskers);
  Slice all = {.asked = a, .home = f->body};
  if (!note_size(&all, a->loop->at.loop->extents[0]))
    return false;
  for (int i = 0; i < a->naskers; i++) {
    all.nloops = 0;
    all.is_data = false;
    if (!note_slice(&all, a->askers[i], 0) || !all.is_data)
      return false;
    slices[i] = all;
  }
  for (int i = 0; i < a->naskers; i++) {
    slices[i].home = all.home;
    slices[i].anchor = all.anchor;
  }
  Builder b = build_aside(all.home);
  b.loc = a->loop->loc;
  build_list(&b, slices, a->naskers, list);
  for (Op *op = b.region->first; op; op = op->next)
    op->note = all.anchor ? all.anchor->note : NULL;
  build_settle(&b, all.home, all.anchor ? all.anchor->next : all.home->first);
  return true;
}
