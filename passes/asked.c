/* Rows that are read by data are computed where they are asked for alone.
       y = loop v < n stack { .. x[v] .. }              pose all vertices of a skin
       loop i < c { .. y[at[i], 0] .. }                 compare those at which something was measured
   Before: which rows there are in at[..], each once, in `list`; place[v] says where v stands in it. Then
       y = loop j < m stack { v = list[j]; .. x[v] .. }
       loop i < c { .. y[place[at[i]], 0] .. }
   What is read inside by v of another such stack asks for the rows of the list: so all that leads to the rows is
   computed for these alone, in derivatives too, where it is computed for each direction again, and the list but once.
   Done where a row is a good deal of work, cannot fail, and is not made of nested loops: those may be products of
   matrices, which run as such. Where as many rows are read as there are, the list is that of all rows. */
#include "passes/asked.h"
#include "ir/raw.h"
#include "passes/passes_internal.h"
#include "passes/rename.h"

enum { LEAST_WORK = 100, EXPENSIVE = 16, LONG = 8, SHORTEST = 32, MOST_BACK = 32 };

/* A loop of rows of a list. */
typedef struct Listed {
  Op *loop;
  AskedList list;
  int number; /* the list's */
} Listed;

typedef struct Lists {
  Module *module;
  int number;
  VEC(Asked *) asked;
  VEC(Listed) listed;
} Lists;

/* ---- which loops */
static int64_t work_of(const Region *r, const Value *index, int depth);

static int64_t work_of_op(const Op *op, const Value *index, int depth) {
  int64_t work = 0, times = 1, extent;
  for (int i = 0; i < op->nresults; i++)
    for (int k = 0; k < op->results[i]->type.rank; k++)
      if (size_uses(op->results[i]->type.dims[k], index))
        return -1;
  if (op->code == OP_IF || op->code == OP_LOOP) {
    if (op->code == OP_LOOP && depth)
      return -1;
    for (int i = 0; op->code == OP_LOOP && i < op->at.loop->nindices; i++) {
      if (size_uses(op->at.loop->extents[i], index))
        return -1;
      times *= size_is_const(op->at.loop->extents[i], &extent) && extent < LEAST_WORK ? extent : LONG;
    }
    for (int i = 0; i < op->nregions; i++) {
      const int64_t inside = work_of(op->regions[i], index, depth + (op->code == OP_LOOP));
      if (inside < 0)
        return -1;
      work = inside > work ? inside : work;
    }
    return work * times;
  }
  if (op->code == OP_INDEX || op->code == OP_UPDATE)
    return op->at.checks ? -1 : 0;
  const bool is_float = op_info[op->code].group == GROUP_ELEM && kind_is_float(op->results[0]->type.kind);
  if (op_info[op->code].effect != EFFECT_PURE && !is_float)
    return -1;
  return is_float ? (op_is_expensive(op) ? EXPENSIVE : 1) : 0;
}

/* About how many operations on floats an iteration is, -1 where its loop is none of ours. */
static int64_t work_of(const Region *r, const Value *index, int depth) {
  int64_t work = 0;
  for (const Op *op = r->first; op; op = op->next) {
    const int64_t one = work_of_op(op, index, depth);
    if (one < 0 || work > INT32_MAX)
      return -1;
    work += one;
  }
  return work;
}

static bool may_be_asked(const Op *op) {
  int64_t extent;
  if (op->code != OP_LOOP)
    return false;
  const LoopInfo *info = op->at.loop;
  if (info->nindices != 1 || info->ncarries || info->naccs || !info->nouts ||
      (size_is_const(info->extents[0], &extent) && extent < SHORTEST))
    return false;
  for (int i = 0; i < info->nouts; i++)
    if (info->outs[i] != OUT_STACK)
      return false;
  return work_of(op->regions[0], loop_index(op, 0), 0) >= LEAST_WORK;
}

static void look_for_loops(Lists *l, Region *r) {
  for (int i = 0; i < r->nparams; i++)
    r->params[i]->note = NULL;
  for (Op *op = r->first; op; op = op->next) {
    op->note = (void *)(intptr_t)++l->number;
    for (int i = 0; i < op->nresults; i++)
      op->results[i]->note = NULL;
    if (may_be_asked(op)) {
      Asked *a = NEW(l->module->arena, Asked);
      *a = (Asked){.loop = op, .number = l->number};
      for (int i = 0; i < op->nresults; i++)
        op->results[i]->note = a;
      vec_push(l->module->arena, l->asked, a);
    }
    for (int i = 0; i < op->nregions; i++)
      look_for_loops(l, op->regions[i]);
  }
}

/* ---- what reads them */
static Asked *asked_of(const Value *v) {
  return v->note;
}

static void look_for_reads(Lists *l, const Region *r) {
  for (Op *op = r->first; op; op = op->next) {
    for (int i = 0; i < op->noperands; i++) {
      Asked *a = asked_of(op->operands[i]);
      if (!a)
        continue;
      if (op->code == OP_INDEX && i == 0)
        vec_push(l->module->arena, a->reads, op);
      else
        a->unfit = true;
    }
    for (int i = 0; i < op->nregions; i++)
      look_for_reads(l, op->regions[i]);
  }
  for (int i = 0; i < r->nyields; i++)
    if (asked_of(r->yields[i]))
      asked_of(r->yields[i])->unfit = true;
}

static bool find_askers(Asked *a) {
  for (int i = 0; i < a->reads.n; i++) {
    Value *asker = a->reads.at[i]->operands[1];
    int k = 0;
    for (; k < a->naskers && a->askers[k] != asker; k++)
      ;
    if (k == MOST_ASKERS)
      return false;
    a->askers[k] = asker;
    a->naskers += k == a->naskers;
  }
  return a->naskers > 0;
}

/* The loop that reads by the rows of its list, and by nothing else. */
static const Listed *find_listed(const Lists *l, const Asked *a) {
  const Op *read = a->askers[0]->def;
  const Value *index = read && read->code == OP_INDEX && a->naskers == 1 ? read->operands[1] : NULL;
  for (int i = l->listed.n - 1; index && i >= 0 && i >= l->listed.n - MOST_BACK; i--) {
    const Listed *from = &l->listed.at[i];
    if (read->operands[0] == from->list.list && index == loop_index(from->loop, 0) && from->number < a->number &&
        region_is_around(from->list.list->region, a->loop->parent))
      return from;
  }
  return NULL;
}

/* ---- the change */
static void run_by_list(Lists *l, const Asked *a, const AskedList *list) {
  Module *m = l->module;
  Region *body = a->loop->regions[0];
  Op *read = op_new(m, OP_INDEX, 2, 1, 0);
  ValueMap map = {.arena = m->arena};
  map_put(&map, loop_index(a->loop, 0), op_set_result(m, read, 0, type_scalar(KIND_I64), NULL));
  region_rename(m, body, &map);
  read->operands[0] = list->list;
  read->operands[1] = loop_index(a->loop, 0);
  read->loc = a->loop->loc;
  if (body->first)
    op_insert_before(body->first, read);
  else
    region_append(body, read);
  loop_set_extent(a->loop, 0, list->count);
  for (int i = 0; i < a->loop->nresults; i++) {
    Value *v = a->loop->results[i];
    const Size *dims[MAX_RANK];
    for (int k = 0; k < v->type.rank; k++)
      dims[k] = k ? v->type.dims[k] : list->count;
    v->type = type_tensor(m, v->type.kind, v->type.rank, dims);
  }
}

/* x[list[j], 0], the same for all directions. */
static bool is_kept(const Op *op, const Op *row, const Op *directions) {
  if (op->code != OP_INDEX || op->at.checks || op->noperands < 2 || op->results[0]->type.rank ||
      op->operands[1] != row->results[0] || !value_is_outside(op->operands[0], directions->regions[0]))
    return false;
  for (int i = 2; i < op->noperands; i++)
    if (!value_is_const(op->operands[i]))
      return false;
  return true;
}

enum { MOST_KEPT = 16 };

typedef struct Kept {
  const Op *row, *directions;
  int n;
  Op *reads[MOST_KEPT];
} Kept;

/* In loops too, but in no branch, where it may be read for a reason. */
static void look_for_kept(Kept *k, const Region *r) {
  for (Op *op = r->first; op; op = op->next) {
    if (k->n < MOST_KEPT && is_kept(op, k->row, k->directions))
      k->reads[k->n++] = op;
    if (op->code == OP_LOOP)
      look_for_kept(k, op->regions[0]);
  }
}

/* What a row reads at its place in a loop over directions, and others before it, is put side by side before that loop,
   in the list's order: so that it is gathered once, and lanes of vectors find it side by side. */
static void keep_reads(Op *rows, const AskedList *list) {
  Op *directions = rows->parent->owner;
  Kept kept = {.row = rows->regions[0]->first, .directions = directions};
  OutKind outs[MOST_KEPT];
  Value *elements[MOST_KEPT];
  if (!directions || directions->code != OP_LOOP || rows->parent->func->module->unchecked ||
      !region_is_around(list->list->region, directions->parent))
    return;
  look_for_kept(&kept, rows->regions[0]);
  if (!kept.n)
    return;
  Region *made = region_new(directions->parent->func->module, directions->parent->func, directions->parent->owner);
  Builder b = build_into(made->func, made);
  b.loc = rows->loc;
  b.share_top = made;
  for (int i = 0; i < kept.n; i++)
    outs[i] = OUT_STACK;
  const LoopSpec spec = {.nindices = 1, .extents = &list->count, .nouts = kept.n, .outs = outs};
  Op *loop = build_loop_begin(&b, &spec);
  Value *j = loop_index(loop, 0), *index[MAX_RANK];
  index[0] = build_index(&b, list->list, 1, &j, 0);
  for (int i = 0; i < kept.n; i++) {
    const Op *read = kept.reads[i];
    for (int k = 2; k < read->noperands; k++)
      index[k - 1] = build_int(&b, KIND_I64, read->operands[k]->def->at.i);
    elements[i] = build_index(&b, read->operands[0], read->noperands - 1, index, 0);
  }
  build_loop_end(&b, loop, NULL, elements);
  for (Op *op = made->first, *next; op; op = next) {
    next = op->next;
    op_unlink(op);
    op_insert_before(directions, op);
  }
  for (int i = 0; i < kept.n; i++) {
    Op *read = kept.reads[i];
    read->operands[0] = loop_out(loop, i);
    read->operands[1] = loop_index(rows, 0);
    read->noperands = 2;
  }
}

/* x[i] becomes x[rank[i]]; the test of i goes along. */
static void read_place(Lists *l, Op *op, Value *rank, const Op **last) {
  if (!*last || (*last)->parent != op->parent || (*last)->operands[1] != op->operands[1] ||
      (*last)->operands[0] != rank || (*last)->at.checks != (op->at.checks & 1)) {
    Op *place = op_new(l->module, OP_INDEX, 2, 1, 0);
    op_set_result(l->module, place, 0, type_scalar(KIND_I64), NULL);
    place->operands[0] = rank;
    place->operands[1] = op->operands[1];
    place->at.checks = op->at.checks & 1;
    place->loc = op->loc;
    place->origin = op->origin;
    op_insert_before(op, place);
    *last = place;
  }
  op->operands[1] = (*last)->results[0];
  op->at.checks &= ~(uint64_t)1;
}

static bool compute_asked(Lists *l, Asked *a) {
  if (a->unfit || !a->reads.n || !find_askers(a))
    return false;
  const Listed *from = find_listed(l, a);
  Listed made = {.loop = a->loop};
  if (from) {
    made.list = from->list;
    made.number = from->number;
    for (int i = 0; i < a->reads.n; i++)
      a->reads.at[i]->operands[1] = loop_index(from->loop, 0);
  } else {
    if (!asked_make_list(a, &made.list))
      return false;
    made.number = asked_number(made.list.list->def);
    const Op *last = NULL;
    for (int i = 0; i < a->reads.n; i++)
      read_place(l, a->reads.at[i], made.list.rank, &last);
  }
  run_by_list(l, a, &made.list);
  vec_push(l->module->arena, l->listed, made);
  return true;
}

void pass_asked(Module *m) {
  for (Func *f = m->funcs; f; f = f->next) {
    if (func_is_underived(f) || f->is_extern)
      continue;
    Lists l = {.module = m};
    bool any = false;
    look_for_loops(&l, f->body);
    if (l.asked.n)
      look_for_reads(&l, f->body);
    for (int i = l.asked.n - 1; i >= 0; i--)
      any |= compute_asked(&l, l.asked.at[i]);
    long budget = 20L * l.number;
    for (int i = 0; i < l.listed.n; i++) {
      keep_reads(l.listed.at[i].loop, &l.listed.at[i].list);
      asked_turn(l.listed.at[i].loop, &budget);
    }
    if (any)
      func_simplify(f);
  }
}
