/* What a nest of loops is, apart from where it stands: see codegen/nest.h.
   All that tells one instruction from another becomes words: its operation, types, flags, attributes, and operands, of
   which those that the nest makes itself have numbers, and those from outside numbers in the order in which they come
   up.  Where an instruction has something of which nothing is said here, the nest is odd, and equal to none. */
#include "codegen/nest.h"
#include <math.h>
#include <string.h>

/* ---- numbers */
static int *number_at(Arena *arena, Numbers *m, const void *key, bool add) {
  if (add && 2 * m->n >= m->cap) {
    Numbers grown = {.cap = m->cap ? 2 * m->cap : 256};
    grown.keys = NEW_ARRAY(arena, const void *, grown.cap);
    grown.values = NEW_ARRAY(arena, int, grown.cap);
    const Numbers old = *m;
    *m = grown;
    for (int i = 0; i < old.cap; i++)
      if (old.keys[i])
        *number_at(arena, m, old.keys[i], true) = old.values[i];
  }
  if (!m->cap)
    return NULL;
  unsigned at = (unsigned)(((uintptr_t)key >> 3) * 0x9E3779B97F4A7C15u >> 32) & (unsigned)(m->cap - 1);
  while (m->keys[at] && m->keys[at] != key)
    at = (at + 1) & (unsigned)(m->cap - 1);
  if (m->keys[at])
    return &m->values[at];
  if (!add)
    return NULL;
  m->keys[at] = key;
  m->n++;
  return &m->values[at];
}

int nest_number(const NestKey *k, const void *key) {
  Numbers m = k->numbers;
  const int *at = number_at(k->arena, &m, key, false);
  return at ? *at : -1;
}

static void set_number(NestKey *k, const void *key, int number) {
  *number_at(k->arena, &k->numbers, key, true) = number;
}

bool nest_has_block(const NestKey *k, LLVMBasicBlockRef block) {
  return nest_number(k, block) >= 0;
}

/* ---- words */
enum Mark { MARK_OWN = 1, MARK_END, MARK_CONSTANT, MARK_FREE, MARK_INPUT, MARK_ADDRESS, MARK_PLACE, MARK_SCOPE };

static void word(NestKey *k, uint64_t w) {
  vec_push(k->arena, k->words, w);
}

static void pointer(NestKey *k, const void *p) {
  word(k, (uintptr_t)p);
}

static void own(NestKey *k, enum Mark mark, int number) {
  word(k, (uint64_t)mark << 32 | (unsigned)number);
}

/* ---- constants that may differ: floats of which LLVM knows nothing better, and the lines of messages */
static bool is_plain_float(LLVMValueRef v) {
  if (!LLVMIsAConstantFP(v))
    return false;
  LLVMBool loses;
  int exponent;
  const double x = LLVMConstRealGetDouble(v, &loses);
  return isfinite(x) && x != 0 && fabs(frexp(x, &exponent)) != 0.5;
}

static bool is_message(LLVMValueRef call) {
  size_t n;
  LLVMValueRef callee = LLVMGetCalledValue(call);
  return LLVMIsAFunction(callee) && !strncmp(LLVMGetValueName2(callee, &n), "gradc_rt_fail", 13);
}

bool nest_is_free(LLVMValueRef inst, int i, Free *f) {
  LLVMValueRef v = LLVMGetOperand(inst, (unsigned)i);
  *f = (Free){.scalar = v};
  if (LLVMIsAConstantInt(v))
    return LLVMGetInstructionOpcode(inst) == LLVMCall && LLVMGetIntTypeWidth(LLVMTypeOf(v)) == 32 && is_message(inst);
  if (!LLVMIsAConstantDataVector(v))
    return is_plain_float(v);
  const unsigned n = LLVMGetVectorSize(LLVMTypeOf(v));
  f->splat = LLVMTypeOf(v);
  f->scalar = LLVMGetAggregateElement(v, 0);
  for (unsigned j = 1; j < n; j++)
    if (LLVMGetAggregateElement(v, j) != f->scalar)
      return false;
  return is_plain_float(f->scalar);
}

static void free_constant(NestKey *k, Free f) {
  int i = 0;
  while (i < k->free.n && k->free.at[i].scalar != f.scalar)
    i++;
  if (i == k->free.n)
    vec_push(k->arena, k->free, f);
  own(k, MARK_FREE, i);
  pointer(k, f.splat);
  pointer(k, LLVMTypeOf(f.scalar));
}

/* ---- values from outside */
/* A place of the frame that only the nest uses, or that is room for it: what others leave there it does not read. */
static bool is_own_place(const NestKey *k, LLVMValueRef v) {
  size_t n;
  if (!LLVMIsAAllocaInst(v))
    return false;
  if (!strncmp(LLVMGetValueName2(v, &n), SCRATCH, strlen(SCRATCH)))
    return true;
  for (LLVMUseRef use = LLVMGetFirstUse(v); use; use = LLVMGetNextUse(use))
    if (!nest_has_block(k, LLVMGetInstructionParent(LLVMGetUser(use))))
      return false;
  return true;
}

static void outer_value(NestKey *k, LLVMValueRef v);

static void derived_value(NestKey *k, LLVMValueRef v, enum Mark mark) {
  if (mark == MARK_ADDRESS) {
    const int n = LLVMGetNumOperands(v);
    for (int i = 0; i < n; i++)
      outer_value(k, LLVMGetOperand(v, (unsigned)i));
    own(k, mark, n);
    pointer(k, LLVMGetGEPSourceElementType(v));
    word(k, (unsigned)LLVMGEPGetNoWrapFlags(v));
  } else {
    own(k, mark, (int)LLVMGetAlignment(v));
    pointer(k, LLVMGetAllocatedType(v));
    pointer(k, LLVMGetOperand(v, 0));
  }
  const Derived d = {v, k->nvalues};
  vec_push(k->arena, k->derived, d);
  set_number(k, v, k->nvalues++);
}

static void outer_value(NestKey *k, LLVMValueRef v) {
  const int known = nest_number(k, v);
  if (known >= 0) {
    own(k, MARK_OWN, known);
  } else if (LLVMIsConstant(v)) {
    word(k, MARK_CONSTANT);
    pointer(k, v);
  } else if (LLVMIsAGetElementPtrInst(v) && LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMPointerTypeKind) {
    derived_value(k, v, MARK_ADDRESS);
  } else if (is_own_place(k, v)) {
    derived_value(k, v, MARK_PLACE);
  } else if (LLVMIsAArgument(v) || LLVMIsAInstruction(v)) {
    own(k, MARK_INPUT, k->inputs.n);
    pointer(k, LLVMTypeOf(v));
    vec_push(k->arena, k->inputs, v);
    set_number(k, v, k->nvalues++);
  } else {
    k->odd = true;
  }
}

/* ---- instructions */
static void operand(NestKey *k, LLVMValueRef inst, int i) {
  LLVMValueRef v = LLVMGetOperand(inst, (unsigned)i);
  Free f;
  if (LLVMValueIsBasicBlock(v)) {
    LLVMBasicBlockRef block = LLVMValueAsBasicBlock(v);
    own(k, block == k->end ? MARK_END : MARK_OWN, block == k->end ? 0 : nest_number(k, block));
  } else if (LLVMIsConstant(v) && nest_is_free(inst, i, &f)) {
    free_constant(k, f);
  } else {
    outer_value(k, v);
  }
}

static void attributes(NestKey *k, LLVMValueRef call) {
  const unsigned nargs = LLVMGetNumArgOperands(call);
  for (unsigned i = 0; i <= nargs + 1; i++) {
    const LLVMAttributeIndex index = i > nargs ? (LLVMAttributeIndex)LLVMAttributeFunctionIndex : i;
    const unsigned n = LLVMGetCallSiteAttributeCount(call, index);
    word(k, n);
    if (!n)
      continue;
    LLVMAttributeRef *all = NEW_ARRAY(k->arena, LLVMAttributeRef, n);
    LLVMGetCallSiteAttributes(call, index, all);
    for (unsigned j = 0; j < n; j++)
      pointer(k, all[j]);
  }
}

/* What else there is to say of an operation. */
static void particulars(NestKey *k, LLVMValueRef inst, LLVMOpcode op) {
  switch (op) {
  case LLVMRet: k->returns = true; return;
  case LLVMAdd:
  case LLVMSub:
  case LLVMMul:
  case LLVMShl: word(k, (unsigned)LLVMGetNSW(inst) | (unsigned)LLVMGetNUW(inst) << 1); return;
  case LLVMSDiv:
  case LLVMUDiv:
  case LLVMLShr:
  case LLVMAShr: word(k, (unsigned)LLVMGetExact(inst)); return;
  case LLVMZExt:
  case LLVMUIToFP: word(k, (unsigned)LLVMGetNNeg(inst)); return;
  case LLVMOr: word(k, (unsigned)LLVMGetIsDisjoint(inst)); return;
  case LLVMICmp: word(k, LLVMGetICmpPredicate(inst)); return;
  case LLVMFCmp: word(k, LLVMGetFCmpPredicate(inst)); return;
  case LLVMLoad:
  case LLVMStore:
    k->odd |= LLVMGetVolatile(inst) || LLVMGetOrdering(inst) != LLVMAtomicOrderingNotAtomic;
    word(k, LLVMGetAlignment(inst));
    return;
  case LLVMGetElementPtr:
    pointer(k, LLVMGetGEPSourceElementType(inst));
    word(k, (unsigned)LLVMGEPGetNoWrapFlags(inst));
    return;
  case LLVMCall:
    pointer(k, LLVMGetCalledFunctionType(inst));
    word(k, LLVMGetInstructionCallConv(inst) << 2 | LLVMGetTailCallKind(inst));
    k->odd |= LLVMGetNumOperandBundles(inst) != 0;
    attributes(k, inst);
    return;
  case LLVMExtractValue:
  case LLVMInsertValue:
    for (unsigned i = 0; i < LLVMGetNumIndices(inst); i++)
      word(k, LLVMGetIndices(inst)[i]);
    return;
  case LLVMShuffleVector:
    for (unsigned i = 0; i < LLVMGetNumMaskElements(inst); i++)
      word(k, (unsigned)LLVMGetMaskValue(inst, i));
    return;
  case LLVMPHI:
    for (unsigned i = 0; i < LLVMCountIncoming(inst); i++) {
      const int block = nest_number(k, LLVMGetIncomingBlock(inst, i));
      k->odd |= block < 0;
      own(k, MARK_OWN, block);
    }
    return;
  case LLVMBr:
  case LLVMSwitch:
  case LLVMUnreachable:
  case LLVMFNeg:
  case LLVMFAdd:
  case LLVMFSub:
  case LLVMFMul:
  case LLVMFDiv:
  case LLVMFRem:
  case LLVMURem:
  case LLVMSRem:
  case LLVMAnd:
  case LLVMXor:
  case LLVMTrunc:
  case LLVMSExt:
  case LLVMFPToUI:
  case LLVMFPToSI:
  case LLVMSIToFP:
  case LLVMFPTrunc:
  case LLVMFPExt:
  case LLVMPtrToInt:
  case LLVMIntToPtr:
  case LLVMBitCast:
  case LLVMSelect:
  case LLVMExtractElement:
  case LLVMInsertElement:
  case LLVMFreeze: return;
  default: k->odd = true;
  }
}

/* The scopes that an access is in; those that it is not in are all others of the function. */
static void scopes(NestKey *k, LLVMValueRef list) {
  const unsigned n = LLVMGetMDNodeNumOperands(list);
  LLVMValueRef *scope = NEW_ARRAY(k->arena, LLVMValueRef, n + 1);
  LLVMGetMDNodeOperands(list, scope);
  word(k, n);
  for (unsigned i = 0; i < n; i++) {
    int number = nest_number(k, scope[i]);
    if (number < 0)
      set_number(k, scope[i], number = k->nvalues++);
    own(k, MARK_SCOPE, number);
  }
}

/* What a loop is told, but for the node's name for itself. */
static void metadata(NestKey *k, LLVMValueRef inst) {
  size_t n;
  LLVMContextRef context = LLVMGetModuleContext(LLVMGetGlobalParent(LLVMGetBasicBlockParent(k->blocks.at[0])));
  LLVMValueMetadataEntry *all = LLVMInstructionGetAllMetadataOtherThanDebugLoc(inst, &n);
  for (unsigned i = 0; i < n; i++) {
    const unsigned kind = LLVMValueMetadataEntriesGetKind(all, i);
    LLVMMetadataRef node = LLVMValueMetadataEntriesGetMetadata(all, i);
    word(k, kind);
    if (kind == LLVMGetMDKindIDInContext(context, "alias.scope", 11)) {
      scopes(k, LLVMMetadataAsValue(context, node));
    } else if (kind == LLVMGetMDKindIDInContext(context, "noalias", 7)) {
      continue;
    } else if (kind == LLVMGetMDKindIDInContext(context, "llvm.loop", 9)) {
      LLVMValueRef value = LLVMMetadataAsValue(context, node);
      const unsigned parts = LLVMGetMDNodeNumOperands(value);
      LLVMValueRef *part = NEW_ARRAY(k->arena, LLVMValueRef, parts + 1);
      LLVMGetMDNodeOperands(value, part);
      for (unsigned j = 1; j < parts; j++)
        pointer(k, part[j]);
    } else {
      pointer(k, node);
    }
  }
  LLVMDisposeValueMetadataEntries(all);
}

static void instruction(NestKey *k, LLVMValueRef inst) {
  const LLVMOpcode op = LLVMGetInstructionOpcode(inst);
  const int n = LLVMGetNumOperands(inst);
  word(k, (uint64_t)op << 32 | (unsigned)n);
  pointer(k, LLVMTypeOf(inst));
  particulars(k, inst, op);
  if (LLVMCanValueUseFastMathFlags(inst))
    word(k, LLVMGetFastMathFlags(inst));
  for (int i = 0; i < n; i++)
    operand(k, inst, i);
  if (LLVMHasMetadata(inst))
    metadata(k, inst);
}

/* ---- the whole */
static void find_blocks(NestKey *k, LLVMBasicBlockRef begin) {
  VEC(LLVMBasicBlockRef) waiting = {0};
  vec_push(k->arena, waiting, begin);
  while (waiting.n) {
    LLVMBasicBlockRef block = waiting.at[--waiting.n];
    if (nest_has_block(k, block))
      continue;
    set_number(k, block, k->blocks.n);
    vec_push(k->arena, k->blocks, block);
    LLVMValueRef last = LLVMGetBasicBlockTerminator(block);
    for (unsigned i = LLVMGetNumSuccessors(last); i-- > 0;)
      if (LLVMGetSuccessor(last, i) != k->end)
        vec_push(k->arena, waiting, LLVMGetSuccessor(last, i));
  }
}

static bool is_used_outside(const NestKey *k, LLVMValueRef inst) {
  for (LLVMUseRef use = LLVMGetFirstUse(inst); use; use = LLVMGetNextUse(use))
    if (!nest_has_block(k, LLVMGetInstructionParent(LLVMGetUser(use))))
      return true;
  return false;
}

void nest_key(NestKey *k, Arena *arena, const Nest *nest) {
  *k = (NestKey){.arena = arena, .end = nest->end};
  find_blocks(k, nest->begin);
  for (int i = 0; i < k->blocks.n; i++)
    for (LLVMValueRef inst = LLVMGetFirstInstruction(k->blocks.at[i]); inst; inst = LLVMGetNextInstruction(inst)) {
      set_number(k, inst, k->nvalues++);
      vec_push(arena, k->codes, inst);
    }
  for (int i = 0; i < k->blocks.n && !k->odd; i++) {
    for (LLVMValueRef inst = LLVMGetFirstInstruction(k->blocks.at[i]); inst; inst = LLVMGetNextInstruction(inst))
      instruction(k, inst);
    word(k, 0);
  }
  for (int i = 0; i < k->codes.n && !k->odd; i++)
    if (is_used_outside(k, k->codes.at[i])) {
      vec_push(arena, k->outputs, i);
      word(k, (unsigned)i);
    }
}
