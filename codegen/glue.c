/* Glue: what is left of a large function when its loops have become functions is thousands of calls, one after another,
   and few numbers between them.  LLVM would take more for it than for all the loops, as its work on registers grows
   with the calls by the values that live across them.  So it gets no optimisation, and what is used far from where it
   is made is kept in the frame. */
#include "codegen/nest.h"
#include <stdlib.h>
#include <string.h>

enum {
  LEAST_GLUE = 2000, /* instructions of the function */
  MOST_A_CALL = 12,  /* of those, by calls */
  FAR = 48           /* instructions between where a value is made and where it is used */
};

typedef struct Numbered {
  const void *what;
  int number;
} Numbered;

typedef struct Numbering {
  Numbered *at;
  int n;
} Numbering;

static int by_address(const void *x, const void *y) {
  const uintptr_t a = (uintptr_t)((const Numbered *)x)->what, b = (uintptr_t)((const Numbered *)y)->what;
  return a < b ? -1 : a > b;
}

static int number_of(const Numbering *all, const void *what) {
  const Numbered key = {.what = what}, *found = bsearch(&key, all->at, (size_t)all->n, sizeof key, by_address);
  return found ? found->number : -1;
}

/* The instructions, and with them the blocks, in their order. */
static Numbering number_all(Arena *arena, LLVMValueRef function, int ninstructions) {
  const int blocks = (int)LLVMCountBasicBlocks(function);
  Numbering all = {.at = NEW_ARRAY(arena, Numbered, ninstructions + blocks)};
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b)) {
    all.at[all.n] = (Numbered){b, all.n};
    all.n++;
    for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i), all.n++)
      all.at[all.n] = (Numbered){i, all.n};
  }
  qsort(all.at, (size_t)all.n, sizeof *all.at, by_address);
  return all;
}

/* No branch goes back. */
static bool is_straight(const Numbering *all, LLVMValueRef function) {
  bool straight = true;
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b)) {
    LLVMValueRef last = LLVMGetBasicBlockTerminator(b);
    for (unsigned k = 0; k < LLVMGetNumSuccessors(last); k++)
      straight &= number_of(all, LLVMGetSuccessor(last, k)) > number_of(all, b);
  }
  return straight;
}

/* Calls of what has loops: not of mathematical functions. */
static bool is_work(LLVMValueRef i) {
  size_t n;
  LLVMValueRef callee = LLVMGetInstructionOpcode(i) == LLVMCall ? LLVMGetCalledValue(i) : NULL;
  return callee && LLVMIsAFunction(callee) && LLVMGetLinkage(callee) == LLVMInternalLinkage &&
         strncmp(LLVMGetValueName2(callee, &n), "gradc.", 6) != 0;
}

static void count(LLVMValueRef function, int *ninstructions, int *ncalls) {
  *ninstructions = *ncalls = 0;
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b))
    for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
      ++*ninstructions;
      *ncalls += is_work(i);
    }
}

typedef struct Frame {
  const Numbering *all;
  LLVMBuilderRef at, entry;
} Frame;

static bool is_far(const Frame *f, LLVMValueRef made, LLVMUseRef use) {
  LLVMValueRef user = LLVMGetUser(use);
  return LLVMGetInstructionOpcode(user) != LLVMPHI && number_of(f->all, user) > number_of(f->all, made) + FAR;
}

static void load_for(const Frame *f, LLVMValueRef made, LLVMValueRef user, LLVMValueRef place) {
  LLVMPositionBuilderBefore(f->at, user);
  LLVMValueRef again = LLVMBuildLoad2(f->at, LLVMTypeOf(made), place, "");
  const int n = LLVMGetNumOperands(user);
  for (int i = 0; i < n; i++)
    if (LLVMGetOperand(user, (unsigned)i) == made)
      LLVMSetOperand(user, (unsigned)i, again);
}

/* Far users get the value from the frame. */
static void keep_in_frame(const Frame *f, LLVMValueRef made) {
  Arena arena = {0};
  VEC(LLVMValueRef) users = {0};
  for (LLVMUseRef use = LLVMGetFirstUse(made); use; use = LLVMGetNextUse(use))
    if (is_far(f, made, use) && (!users.n || users.at[users.n - 1] != LLVMGetUser(use)))
      vec_push(&arena, users, LLVMGetUser(use));
  if (users.n) {
    LLVMValueRef place = LLVMBuildAlloca(f->entry, LLVMTypeOf(made), "");
    for (int i = 0; i < users.n; i++)
      load_for(f, made, users.at[i], place);
    LLVMPositionBuilderBefore(f->at, LLVMGetNextInstruction(made));
    LLVMBuildStore(f->at, made, place);
  }
  arena_free(&arena);
}

static bool may_be_kept(LLVMValueRef i) {
  const LLVMOpcode code = LLVMGetInstructionOpcode(i);
  return code != LLVMAlloca && code != LLVMPHI && !LLVMIsATerminatorInst(i) &&
         LLVMGetTypeKind(LLVMTypeOf(i)) != LLVMVoidTypeKind;
}

void glue_make_simple(Unit *u, LLVMValueRef function) {
  Arena arena = {0};
  int ninstructions, ncalls;
  count(function, &ninstructions, &ncalls);
  const bool is_glue = ninstructions >= LEAST_GLUE && ninstructions <= MOST_A_CALL * ncalls;
  const Numbering all = is_glue ? number_all(&arena, function, ninstructions) : (Numbering){0};
  if (is_glue && is_straight(&all, function)) {
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(function);
    Frame f = {.all = &all};
    f.at = LLVMCreateBuilderInContext(u->context);
    f.entry = LLVMCreateBuilderInContext(u->context);
    LLVMPositionBuilderBefore(f.entry, LLVMGetFirstInstruction(entry));
    for (LLVMBasicBlockRef b = entry; b; b = LLVMGetNextBasicBlock(b))
      for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
        if (may_be_kept(i) && number_of(&all, i) >= 0)
          keep_in_frame(&f, i);
    LLVMDisposeBuilder(f.at);
    LLVMDisposeBuilder(f.entry);
    LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex, attribute(u, "optnone", 0));
    LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex, attribute(u, "noinline", 0));
  }
  arena_free(&arena);
}
