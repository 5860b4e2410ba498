/* Nests of loops that become functions of their own: those that are like others, which are then compiled once, and
   those of functions that would become too large.

   The lowering notes where a nest's code begins and ends; all is done when the module is written, before LLVM's passes.
   A nest's blocks are moved to a function
       [i32 status] nest(what it uses from outside.., where to put what is used after it..)
   and a call stands in their place.  Numbers in which nests of one shape differ are arguments as well. */
#include "codegen/nest.h"
#include <string.h>

enum {                     /* instructions */
       LARGE = 4000,       /* of a function: above, LLVM takes more than its share of the time */
       LEAST_SHARED = 50,  /* of nests that are alike: below, a call is no gain */
       LEAST_IN_LARGE = 12 /* of nests in large functions */
};

/* ---- noting */
void nest_begin(Body *b, const Op *op, NestMark *mark) {
  Unit *u = b->unit;
  *mark = (NestMark){.number = -1, .around = b->inside_nest};
  if (!b->outlines || b->inside_nest || b->vector || b->plain_loops)
    return;
  const Nest nest = {.begin = new_block(b, "nest")};
  LLVMBuildBr(b->at, nest.begin);
  begin_block(b, nest.begin);
  mark->number = u->nests.n;
  vec_push(u->arena, u->nests, nest);
  b->inside_nest = !op->at.loop->ncarries; /* else those inside may be nests too */
}

void nest_end(Body *b, const NestMark *mark) {
  b->inside_nest = mark->around;
  if (mark->number < 0)
    return;
  LLVMBasicBlockRef end = new_block(b, "");
  LLVMBuildBr(b->at, end);
  begin_block(b, end);
  b->unit->nests.at[mark->number].end = end;
  b->unit->nests.at[mark->number].next = b->unit->nests.n;
}

/* ---- what is known of pointers */
enum { MOST_BASES = 8 };
typedef struct Bases {
  LLVMValueRef at[MOST_BASES];
  int n;
  bool unknown; /* too many */
} Bases;

static void add_bases(Bases *bases, LLVMValueRef v, int depth) {
  enum { DEEPEST = 16 };
  while (LLVMIsAGetElementPtrInst(v))
    v = LLVMGetOperand(v, 0);
  for (int i = 0; i < bases->n; i++)
    if (bases->at[i] == v)
      return;
  if (depth == DEEPEST || bases->n == MOST_BASES) {
    bases->unknown = true;
    return;
  }
  bases->at[bases->n++] = v; /* of a phi, too, so that it is looked at once */
  if (LLVMIsAPHINode(v) || LLVMIsASelectInst(v)) {
    const int n = LLVMGetNumOperands(v);
    for (int i = LLVMIsASelectInst(v) ? 1 : 0; i < n; i++)
      add_bases(bases, LLVMGetOperand(v, (unsigned)i), depth + 1);
  }
}

static bool has_attribute(LLVMValueRef param, const char *name) {
  const unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
  LLVMValueRef f = LLVMGetParamParent(param);
  unsigned i = 0;
  while (LLVMGetParam(f, i) != param)
    i++;
  return LLVMGetEnumAttributeAtIndex(f, i + 1, kind);
}

static bool overlap(const Bases *x, const Bases *y) {
  for (int i = 0; i < x->n; i++)
    for (int j = 0; j < y->n; j++)
      if (x->at[i] == y->at[j])
        return true;
  return x->unknown || y->unknown;
}

/* Whether all that the pointer may lead to is a thing of its own. */
static bool are_objects(const Bases *bases) {
  for (int i = 0; i < bases->n; i++) {
    LLVMValueRef v = bases->at[i];
    if (LLVMIsAPHINode(v) || LLVMIsASelectInst(v) || LLVMIsAAllocaInst(v))
      continue;
    if (!LLVMIsAArgument(v) || !has_attribute(v, "noalias"))
      return false;
  }
  return !bases->unknown;
}

/* Of an input: bits by number in `marks`. */
static const char *const marks[] = {"noalias", "readonly", "nocapture"};
enum { NMARKS = sizeof marks / sizeof *marks };

static void mark_inputs(Unit *u, Arena *arena, const NestKey *k, unsigned *found) {
  Bases *bases = NEW_ARRAY(arena, Bases, k->inputs.n);
  for (int i = 0; i < k->inputs.n; i++)
    if (LLVMTypeOf(k->inputs.at[i]) == u->ptr)
      add_bases(&bases[i], k->inputs.at[i], 0);
  for (int i = 0; i < k->inputs.n; i++) {
    LLVMValueRef v = k->inputs.at[i];
    unsigned own = 0;
    if (LLVMTypeOf(v) == u->ptr) {
      bool alone = are_objects(&bases[i]);
      for (int j = 0; j < k->inputs.n && alone; j++)
        alone = j == i || !overlap(&bases[i], &bases[j]);
      own = alone;
      for (unsigned m = 1; m < NMARKS; m++)
        own |= (unsigned)(LLVMIsAArgument(v) && has_attribute(v, marks[m])) << m;
    }
    found[i] &= own;
  }
}

/* ---- a group of equal nests */
typedef struct Group {
  Unit *unit;
  Arena *arena; /* until the group is done */
  const char *name;
  NestKey first;
  unsigned *marks;   /* by input */
  bool *differs;     /* by number of the free constants: it is an argument */
  LLVMValueRef code; /* the function */
  LLVMTypeRef type, result;
  int nargs;
} Group;

static bool equal_words(const NestKey *x, const NestKey *y) {
  return !x->odd && !y->odd && x->words.n == y->words.n &&
         !memcmp(x->words.at, y->words.at, sizeof *x->words.at * (size_t)x->words.n);
}

static void declare_nest(Group *g) {
  Unit *u = g->unit;
  const NestKey *k = &g->first;
  LLVMTypeRef *types = NEW_ARRAY(g->arena, LLVMTypeRef, k->inputs.n + k->free.n + k->outputs.n);
  int n = 0;
  for (int i = 0; i < k->inputs.n; i++)
    types[n++] = LLVMTypeOf(k->inputs.at[i]);
  for (int i = 0; i < k->free.n; i++)
    if (g->differs[i])
      types[n++] = LLVMTypeOf(k->free.at[i].scalar);
  for (int i = 0; i < k->outputs.n; i++)
    types[n++] = u->ptr;
  g->nargs = n;
  g->result = k->returns ? u->i32 : u->nothing;
  g->type = LLVMFunctionType(g->result, types, (unsigned)n, false);
  g->code = LLVMAddFunction(u->llvm, g->name, g->type);
  LLVMSetLinkage(g->code, LLVMInternalLinkage);
  LLVMAddAttributeAtIndex(g->code, LLVMAttributeFunctionIndex, attribute(u, "nounwind", 0));
  LLVMAddAttributeAtIndex(g->code, LLVMAttributeFunctionIndex, attribute(u, "noinline", 0));
  for (int i = 0; i < k->inputs.n; i++)
    for (unsigned m = 0; m < NMARKS; m++)
      if (g->marks[i] >> m & 1)
        LLVMAddAttributeAtIndex(g->code, (unsigned)i + 1, attribute(u, marks[m], 0));
  for (int i = 0; i < k->outputs.n; i++)
    for (unsigned m = 0; m < NMARKS; m += 2)
      LLVMAddAttributeAtIndex(g->code, (unsigned)(n - k->outputs.n + i + 1), attribute(u, marks[m], 0));
}

/* ---- calls */
#define HANDED "handed" /* how places begin by which a nest hands on its values */

/* The n-th place of the type: what is handed on is taken at once, so that all nests of a function have the same ones.
 */
static LLVMValueRef handing_place(LLVMValueRef function, LLVMTypeRef type, int n) {
  LLVMValueRef first = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(function)), at = first;
  size_t length;
  for (; !strncmp(LLVMGetValueName2(at, &length), HANDED, strlen(HANDED)); at = LLVMGetNextInstruction(at))
    if (LLVMGetAllocatedType(at) == type && n-- == 0)
      return at;
  LLVMBuilderRef builder = LLVMCreateBuilderInContext(LLVMGetTypeContext(type));
  LLVMPositionBuilderBefore(builder, at);
  LLVMValueRef place = LLVMBuildAlloca(builder, type, HANDED);
  LLVMDisposeBuilder(builder);
  return place;
}

static LLVMTypeRef output_type(const NestKey *k, int i) {
  return LLVMTypeOf(k->codes.at[k->outputs.at[i]]);
}

static LLVMValueRef output_place(const NestKey *k, LLVMValueRef caller, int i) {
  int before = 0;
  for (int j = 0; j < i; j++)
    before += output_type(k, j) == output_type(k, i);
  return handing_place(caller, output_type(k, i), before);
}

/* Uses outside of the nest become uses of x. */
static void replace_outside(const NestKey *k, LLVMValueRef v, LLVMValueRef x) {
  VEC(LLVMValueRef) users = {0};
  for (LLVMUseRef use = LLVMGetFirstUse(v); use; use = LLVMGetNextUse(use))
    if (!nest_has_block(k, LLVMGetInstructionParent(LLVMGetUser(use))))
      vec_push(k->arena, users, LLVMGetUser(use));
  for (int i = 0; i < users.n; i++) {
    const int n = LLVMGetNumOperands(users.at[i]);
    for (int j = 0; j < n; j++)
      if (LLVMGetOperand(users.at[i], (unsigned)j) == v)
        LLVMSetOperand(users.at[i], (unsigned)j, x);
  }
}

/* The call in the nest's place, behind which things go on at its end. */
static void call_nest(const Group *g, const NestKey *k) {
  Unit *u = g->unit;
  LLVMBasicBlockRef begin = k->blocks.at[0];
  LLVMValueRef caller = LLVMGetBasicBlockParent(begin);
  LLVMBasicBlockRef block = LLVMInsertBasicBlockInContext(u->context, begin, "call"), after = block;
  replace_outside(k, LLVMBasicBlockAsValue(begin), LLVMBasicBlockAsValue(block));
  LLVMBuilderRef at = LLVMCreateBuilderInContext(u->context);
  LLVMPositionBuilderAtEnd(at, block);
  LLVMValueRef *args = NEW_ARRAY(g->arena, LLVMValueRef, g->nargs + 1);
  int n = 0;
  for (int i = 0; i < k->inputs.n; i++)
    args[n++] = k->inputs.at[i];
  for (int i = 0; i < k->free.n; i++)
    if (g->differs[i])
      args[n++] = k->free.at[i].scalar;
  for (int i = 0; i < k->outputs.n; i++)
    args[n++] = output_place(k, caller, i);
  LLVMValueRef status = LLVMBuildCall2(at, g->type, g->code, args, (unsigned)n, "");
  if (k->returns) {
    LLVMBasicBlockRef fail = LLVMAppendBasicBlockInContext(u->context, caller, "fail");
    after = LLVMInsertBasicBlockInContext(u->context, begin, "");
    LLVMValueRef bad = LLVMBuildICmp(at, LLVMIntNE, status, LLVMConstNull(u->i32), "");
    mark_unlikely(u, LLVMBuildCondBr(at, bad, fail, after));
    LLVMPositionBuilderAtEnd(at, fail);
    LLVMBuildRet(at, status);
    LLVMPositionBuilderAtEnd(at, after);
  }
  for (int i = 0; i < k->outputs.n; i++) {
    LLVMValueRef v = k->codes.at[k->outputs.at[i]], place = args[n - k->outputs.n + i];
    replace_outside(k, v, LLVMBuildLoad2(at, LLVMTypeOf(v), place, ""));
  }
  LLVMBuildBr(at, k->end);
  LLVMDisposeBuilder(at);
}

static void delete_nest(const NestKey *k) {
  for (int i = 0; i < k->codes.n; i++)
    if (LLVMGetTypeKind(LLVMTypeOf(k->codes.at[i])) != LLVMVoidTypeKind)
      LLVMReplaceAllUsesWith(k->codes.at[i], LLVMGetPoison(LLVMTypeOf(k->codes.at[i])));
  for (int i = 0; i < k->codes.n; i++)
    LLVMInstructionEraseFromParent(k->codes.at[i]);
  for (int i = 0; i < k->blocks.n; i++)
    LLVMDeleteBasicBlock(k->blocks.at[i]);
}

/* ---- the function */
typedef struct Moving {
  const Group *group;
  LLVMBuilderRef at; /* in the first block */
  LLVMValueRef *now; /* by number of a value: what stands for it in the function, if that is another */
  LLVMValueRef *free, *splat;
  LLVMBasicBlockRef done;
} Moving;

static LLVMValueRef moved_value(const Moving *m, LLVMValueRef v) {
  const int number = nest_number(&m->group->first, v);
  return number >= 0 && m->now[number] ? m->now[number] : v;
}

static void make_again(Moving *m, const Derived *d) {
  LLVMValueRef copy = LLVMInstructionClone(d->value);
  const int n = LLVMGetNumOperands(copy);
  for (int i = 0; i < n; i++)
    LLVMSetOperand(copy, (unsigned)i, moved_value(m, LLVMGetOperand(copy, (unsigned)i)));
  LLVMInsertIntoBuilder(m->at, copy);
  m->now[d->number] = copy;
}

static LLVMValueRef spread(Moving *m, LLVMValueRef x, LLVMTypeRef vector) {
  Unit *u = m->group->unit;
  LLVMTypeRef mask = LLVMVectorType(u->i32, LLVMGetVectorSize(vector));
  LLVMValueRef one = LLVMBuildInsertElement(m->at, LLVMGetPoison(vector), x, LLVMConstNull(u->i32), "");
  return LLVMBuildShuffleVector(m->at, one, LLVMGetPoison(vector), LLVMConstNull(mask), "");
}

/* What is an argument for the operand, if it has a constant that may differ. */
static LLVMValueRef argument_for(Moving *m, LLVMValueRef inst, int i) {
  const NestKey *k = &m->group->first;
  Free f;
  if (!LLVMIsConstant(LLVMGetOperand(inst, (unsigned)i)) || !nest_is_free(inst, i, &f))
    return NULL;
  int number = 0;
  while (k->free.at[number].scalar != f.scalar)
    number++;
  if (!m->group->differs[number])
    return NULL;
  return f.splat ? spread(m, m->free[number], f.splat) : m->free[number];
}

static void move_operands(Moving *m, LLVMValueRef inst) {
  const NestKey *k = &m->group->first;
  const int n = LLVMGetNumOperands(inst);
  for (int i = 0; i < n; i++) {
    LLVMValueRef v = LLVMGetOperand(inst, (unsigned)i), now = NULL;
    if (LLVMValueIsBasicBlock(v))
      now = LLVMValueAsBasicBlock(v) == k->end ? LLVMBasicBlockAsValue(m->done) : NULL;
    else if (LLVMIsConstant(v))
      now = argument_for(m, inst, i);
    else
      now = moved_value(m, v);
    if (now && now != v)
      LLVMSetOperand(inst, (unsigned)i, now);
  }
}

/* The first member's blocks become the function's; a call stands in their place already. */
static void move_nest(Group *g) {
  Unit *u = g->unit;
  const NestKey *k = &g->first;
  Moving m = {.group = g, .now = NEW_ARRAY(g->arena, LLVMValueRef, k->nvalues)};
  LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(u->context, g->code, "entry"), last = entry;
  m.at = LLVMCreateBuilderInContext(u->context);
  LLVMPositionBuilderAtEnd(m.at, entry);
  unsigned n = 0;
  for (int i = 0; i < k->inputs.n; i++)
    m.now[nest_number(k, k->inputs.at[i])] = LLVMGetParam(g->code, n++);
  m.free = NEW_ARRAY(g->arena, LLVMValueRef, k->free.n);
  for (int i = 0; i < k->free.n; i++)
    if (g->differs[i])
      m.free[i] = LLVMGetParam(g->code, n++);
  for (int i = 0; i < k->derived.n; i++)
    make_again(&m, &k->derived.at[i]);
  for (int i = 0; i < k->blocks.n; i++) {
    LLVMMoveBasicBlockAfter(k->blocks.at[i], last);
    last = k->blocks.at[i];
  }
  m.done = LLVMAppendBasicBlockInContext(u->context, g->code, "done");
  for (int i = 0; i < k->codes.n; i++)
    move_operands(&m, k->codes.at[i]);
  LLVMBuildBr(m.at, k->blocks.at[0]);
  LLVMPositionBuilderAtEnd(m.at, m.done);
  for (int i = 0; i < k->outputs.n; i++)
    LLVMBuildStore(m.at, k->codes.at[k->outputs.at[i]], LLVMGetParam(g->code, n++));
  if (k->returns)
    LLVMBuildRet(m.at, LLVMConstNull(u->i32));
  else
    LLVMBuildRetVoid(m.at);
  LLVMDisposeBuilder(m.at);
}

/* ---- which nests */
typedef struct Candidate {
  uint64_t hash[2];
  int size;    /* instructions; 0: not to be moved */
  bool large;  /* the function is */
  int next;    /* the next member of its group, or -1 */
  int members; /* of the group; 0: not its first */
} Candidate;

static void hash_words(const NestKey *k, uint64_t hash[2]) {
  uint64_t x = 0x9E3779B97F4A7C15u, y = 0xC2B2AE3D27D4EB4Fu;
  for (int i = 0; i < k->words.n; i++) {
    x = (x ^ k->words.at[i]) * 0xFF51AFD7ED558CCDu;
    x ^= x >> 32;
    y = (y + k->words.at[i]) * 0x9FB21C651E98DF25u;
    y ^= y >> 29;
  }
  hash[0] = x;
  hash[1] = y;
}

static int *buckets_for(Arena *arena, int n, unsigned *mask) {
  unsigned size = 16;
  while (size < 2 * (unsigned)n)
    size *= 2;
  int *buckets = NEW_ARRAY(arena, int, size);
  for (unsigned i = 0; i < size; i++)
    buckets[i] = -1;
  *mask = size - 1;
  return buckets;
}

static int count_instructions(LLVMValueRef function) {
  int n = 0;
  for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block; block = LLVMGetNextBasicBlock(block))
    for (LLVMValueRef inst = LLVMGetFirstInstruction(block); inst; inst = LLVMGetNextInstruction(inst))
      n++;
  return n;
}

/* Members of a group follow each other in the order in which they were written. */
static Candidate *find_candidates(Unit *u, Arena *arena) {
  const int n = u->nests.n;
  unsigned mask;
  Candidate *all = NEW_ARRAY(arena, Candidate, n);
  int *buckets = buckets_for(arena, n, &mask), *last = NEW_ARRAY(arena, int, n);
  LLVMValueRef function = NULL;
  bool large = false;
  for (int i = 0; i < n; i++) {
    Candidate *c = &all[i];
    LLVMValueRef around = LLVMGetBasicBlockParent(u->nests.at[i].begin);
    if (around != function)
      large = count_instructions(function = around) > LARGE;
    Arena local = {0};
    NestKey k;
    nest_key(&k, &local, &u->nests.at[i]);
    *c = (Candidate){.size = k.odd ? 0 : k.codes.n, .large = large, .next = -1, .members = 1};
    hash_words(&k, c->hash);
    arena_free(&local);
    unsigned at = (unsigned)c->hash[0] & mask;
    while (buckets[at] >= 0 && memcmp(all[buckets[at]].hash, c->hash, sizeof c->hash) != 0)
      at = (at + 1) & mask;
    if (buckets[at] < 0)
      buckets[at] = i;
    const int first = buckets[at];
    if (first != i) {
      all[last[first]].next = i;
      c->members = 0;
      all[first].members++;
    }
    last[first] = i;
  }
  return all;
}

/* What is inside of a nest goes with it. */
static void leave_out(Unit *u, Candidate *all, int number) {
  for (int i = number; i < u->nests.at[number].next; i++)
    all[i].size = 0;
}

static void begin_group(Group *g, Unit *u, Arena *arena, int number) {
  const Nest *nest = &u->nests.at[number];
  size_t length;
  *g = (Group){.unit = u, .arena = arena};
  nest_key(&g->first, arena, nest);
  const char *around = LLVMGetValueName2(LLVMGetBasicBlockParent(nest->begin), &length);
  g->name = arena_printf(arena, "%s.nest", around);
  g->marks = NEW_ARRAY(arena, unsigned, g->first.inputs.n);
  g->differs = NEW_ARRAY(arena, bool, g->first.free.n);
  for (int i = 0; i < g->first.inputs.n; i++)
    g->marks[i] = (1u << NMARKS) - 1;
  mark_inputs(u, arena, &g->first, g->marks);
}

/* The first member has been read; one that turns out to be another than its hash says stays where it is. */
static void share(Unit *u, Candidate *all, int first) {
  Arena arena = {0};
  Group g;
  begin_group(&g, u, &arena, first);
  VEC(NestKey *) members = {0};
  VEC(int) numbers = {0};
  for (int i = all[first].next; i >= 0; i = all[i].next) {
    NestKey *k = NEW(&arena, NestKey);
    if (!all[i].size)
      continue;
    nest_key(k, &arena, &u->nests.at[i]);
    if (!equal_words(&g.first, k))
      continue;
    vec_push(&arena, members, k);
    vec_push(&arena, numbers, i);
    mark_inputs(u, &arena, k, g.marks);
    for (int j = 0; j < k->free.n; j++)
      g.differs[j] |= k->free.at[j].scalar != g.first.free.at[j].scalar;
  }
  if (members.n) {
    declare_nest(&g);
    for (int i = 0; i < members.n; i++) {
      call_nest(&g, members.at[i]);
      delete_nest(members.at[i]);
      leave_out(u, all, numbers.at[i]);
    }
    call_nest(&g, &g.first);
    move_nest(&g);
    leave_out(u, all, first);
  }
  arena_free(&arena);
}

/* ---- large functions */
static int move_apart(Unit *u, Candidate *all, int number) {
  Arena arena = {0};
  Group g;
  begin_group(&g, u, &arena, number);
  const int size = g.first.odd ? 0 : g.first.codes.n;
  if (size >= LEAST_IN_LARGE && size <= LARGE / 2) {
    declare_nest(&g);
    call_nest(&g, &g.first);
    move_nest(&g);
    leave_out(u, all, number);
  }
  arena_free(&arena);
  return size;
}

static void cut_large_functions(Unit *u, Candidate *all) {
  LLVMValueRef function = NULL;
  int size = 0;
  for (int i = 0; i < u->nests.n; i++) {
    if (!all[i].large || !all[i].size)
      continue;
    LLVMValueRef around = LLVMGetBasicBlockParent(u->nests.at[i].begin);
    if (around != function)
      size = count_instructions(function = around);
    if (size > LARGE)
      size -= move_apart(u, all, i);
  }
}

void outline_nests(Unit *u) {
  Arena arena = {0};
  Candidate *all = find_candidates(u, &arena);
  for (int i = 0; i < u->nests.n; i++)
    if (all[i].members > 1 && all[i].size >= (all[i].large ? LEAST_IN_LARGE : LEAST_SHARED))
      share(u, all, i);
  cut_large_functions(u, all);
  arena_free(&arena);
}
