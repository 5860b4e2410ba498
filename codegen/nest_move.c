/* A nest's blocks become a function, and calls of it stand in the places of the nests that are like it.
   Its parameters are what the nests use from outside, the numbers in which they differ, and where the values go that
   are used after them.  What is known of pointers in all callers is said of the parameters. */
#include "codegen/nest.h"
#include <string.h>

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

/* ---- the group */

void group_declare(Group *g) {
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

void group_begin(Group *g, Unit *u, Arena *arena, const Nest *nest) {
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

void group_join(Group *g, const NestKey *k) {
  mark_inputs(g->unit, g->arena, k, g->marks);
  for (int i = 0; i < k->free.n; i++)
    g->differs[i] |= k->free.at[i].scalar != g->first.free.at[i].scalar;
}

void group_replace(const Group *g, const NestKey *k) {
  call_nest(g, k);
  delete_nest(k);
}

void group_move_first(Group *g) {
  call_nest(g, &g->first);
  move_nest(g);
}
