/* Functions of --emit=c: blocks, phis and the instructions that do something. */
#include "codegen/c_source.h"
#include "ir/ir.h"
#include <llvm-c/DebugInfo.h>
#include <string.h>

enum { LONGEST_EXPRESSION = 160 };

static bool is_void(LLVMValueRef v) {
  return LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMVoidTypeKind;
}

/* ---- what becomes part of an expression */
static bool used_once_here(LLVMValueRef i) {
  LLVMUseRef use = LLVMGetFirstUse(i);
  if (!use || LLVMGetNextUse(use))
    return false;
  LLVMValueRef user = LLVMGetUser(use);
  return LLVMIsAInstruction(user) && LLVMGetInstructionOpcode(user) != LLVMPHI &&
         LLVMGetInstructionParent(user) == LLVMGetInstructionParent(i);
}

/* Without parentheses around all of it. */
static const char *bare(CWriter *w, const char *text) {
  const size_t n = strlen(text);
  int depth = 0;
  for (size_t i = 0; i < n; i++) {
    depth += (text[i] == '(') - (text[i] == ')');
    if (!depth && i + 1 < n)
      return text;
  }
  return n > 1 && *text == '(' ? arena_strndup(w->arena, text + 1, n - 2) : text;
}

static void define(CWriter *w, LLVMValueRef i, const char *text) {
  const char *name = c_fresh(w, i);
  fprintf(w->out, "  %s = %s;\n", c_declared(w, LLVMTypeOf(i), name), bare(w, text));
  names_set(w->arena, &w->locals, i, name);
}

/* ---- memory */
/* An address of an element that its own block reads or writes as that: the block's phis are still what they were. */
static bool is_cell(LLVMValueRef address, LLVMValueRef user) {
  if (!LLVMIsAGetElementPtrInst(address) || LLVMGetInstructionParent(address) != LLVMGetInstructionParent(user))
    return false;
  LLVMTypeRef type = LLVMGetGEPSourceElementType(address);
  if (LLVMIsALoadInst(user))
    return LLVMTypeOf(user) == type;
  return LLVMIsAStoreInst(user) && LLVMGetOperand(user, 1) == address && LLVMGetOperand(user, 0) != address &&
         LLVMTypeOf(LLVMGetOperand(user, 0)) == type;
}

static bool is_cell_only(LLVMValueRef address) {
  if (!LLVMIsAGetElementPtrInst(address))
    return false;
  for (LLVMUseRef use = LLVMGetFirstUse(address); use; use = LLVMGetNextUse(use))
    if (!is_cell(address, LLVMGetUser(use)))
      return false;
  return true;
}

static const char *cell_at(CWriter *w, LLVMValueRef address, LLVMValueRef user, LLVMTypeRef type) {
  const char *kind = c_cell(type);
  if (is_cell(address, user))
    return names_find(&w->cells, address);
  return arena_printf(w->arena, "*(%s *)%s", kind, c_value(w, address));
}

static void write_store(CWriter *w, LLVMValueRef i) {
  LLVMValueRef x = LLVMGetOperand(i, 0);
  const char *cell = cell_at(w, LLVMGetOperand(i, 1), i, LLVMTypeOf(x));
  fprintf(w->out, "  %s = %s;\n", cell, bare(w, c_value(w, x)));
}

/* Room of a constant size, aligned for anything. */
static void write_alloca(CWriter *w, LLVMValueRef i) {
  LLVMTypeRef type = LLVMGetAllocatedType(i);
  LLVMValueRef count = LLVMGetOperand(i, 0);
  if (!LLVMIsAConstantInt(count))
    internal_error("--emit=c: room in the frame of no constant size");
  const char *room = arena_printf(w->arena, "room__%d", ++w->number);
  const unsigned long long given = LLVMConstIntGetZExtValue(count), n = given ? given : 1;
  if (LLVMGetTypeKind(type) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) == 8)
    fprintf(w->out, "  union { double f64; int64_t i64; void *ptr; char bytes[%llu]; } %s;\n", n, room);
  else
    fprintf(w->out, "  %s %s[%llu];\n", c_cell(type), room, n);
  names_set(w->arena, &w->locals, i, arena_printf(w->arena, "(char *)&%s", room));
}

/* ---- calls */
static const char *arguments(CWriter *w, LLVMValueRef i, unsigned n) {
  const char *text = "";
  for (unsigned k = 0; k < n; k++)
    text = arena_printf(w->arena, "%s%s%s", text, k ? ", " : "", c_value(w, LLVMGetOperand(i, k)));
  return text;
}

/* A sum or product, and whether it wraps. */
static void write_checked(CWriter *w, LLVMValueRef i, const char *function) {
  const char *name = c_fresh(w, i);
  fprintf(w->out, "  int64_t %s;\n  bool %s_wraps = %s(%s, &%s);\n", name, name, function, arguments(w, i, 2), name);
  fprintf(w->out, "  (void)%s_wraps;\n", name);
  names_set(w->arena, &w->locals, i, name);
}

static bool begins_with(const char *text, const char *with) {
  return !strncmp(text, with, strlen(with));
}

/* Intrinsics that are statements. */
static void write_intrinsic(CWriter *w, LLVMValueRef i, const char *name) {
  if (!strcmp(name, "llvm.sadd.with.overflow.i64"))
    write_checked(w, i, "gradc_add_wraps");
  else if (!strcmp(name, "llvm.smul.with.overflow.i64"))
    write_checked(w, i, "gradc_mul_wraps");
  else if (begins_with(name, "llvm.memset."))
    fprintf(w->out, "  memset(%s, %s, (size_t)%s);\n", c_value(w, LLVMGetOperand(i, 0)),
            c_value(w, LLVMGetOperand(i, 1)), c_value(w, LLVMGetOperand(i, 2)));
  else if (begins_with(name, "llvm.memcpy.") || begins_with(name, "llvm.memmove."))
    fprintf(w->out, "  %s(%s, %s, (size_t)%s);\n", name[8] == 'c' ? "memcpy" : "memmove",
            c_value(w, LLVMGetOperand(i, 0)), c_value(w, LLVMGetOperand(i, 1)), c_value(w, LLVMGetOperand(i, 2)));
  else if (!begins_with(name, "llvm.lifetime.") && !begins_with(name, "llvm.dbg.") &&
           !begins_with(name, "llvm.assume") && !begins_with(name, "llvm.experimental.noalias"))
    internal_error("--emit=c: no C for %s", name);
}

/* Of an exported function, whose pointers have types: the caller's own parameters are of the same ones. */
static const char *exported_arguments(CWriter *w, LLVMValueRef i, unsigned n) {
  static const char cast[] = "(char *)";
  const char *text = "";
  for (unsigned k = 0; k < n; k++) {
    const char *x = c_value(w, LLVMGetOperand(i, k));
    if (begins_with(x, cast))
      x += strlen(cast);
    text = arena_printf(w->arena, "%s%s%s", text, k ? ", " : "", x);
  }
  return text;
}

static void write_call(CWriter *w, LLVMValueRef i) {
  LLVMValueRef f = LLVMGetCalledValue(i);
  size_t n;
  const char *name = LLVMGetValueName2(f, &n);
  if (!LLVMIsAFunction(f))
    internal_error("--emit=c: a call by address");
  if (begins_with(name, "llvm.")) {
    write_intrinsic(w, i, name);
    return;
  }
  const bool is_export = LLVMGetFirstBasicBlock(f) && LLVMGetLinkage(f) == LLVMExternalLinkage;
  const char *given = (is_export ? exported_arguments : arguments)(w, i, LLVMGetNumArgOperands(i));
  const char *call = arena_printf(w->arena, "%s(%s)", c_function(w, f), given);
  if (is_void(i))
    fprintf(w->out, "  %s;\n", call);
  else if (!LLVMGetFirstUse(i))
    fprintf(w->out, "  (void)%s;\n", call);
  else
    define(w, i, call);
}

/* ---- ways between blocks */
static const char *label_of(CWriter *w, LLVMBasicBlockRef block) {
  const char *label = names_find(&w->labels, block);
  if (!label) {
    label = arena_printf(w->arena, "at%d", ++w->number);
    names_set(w->arena, &w->labels, block, label);
  }
  return label;
}

static LLVMValueRef phi_value(LLVMValueRef phi, LLVMBasicBlockRef from) {
  for (unsigned k = 0; k < LLVMCountIncoming(phi); k++)
    if (LLVMGetIncomingBlock(phi, k) == from)
      return LLVMGetIncomingValue(phi, k);
  internal_error("--emit=c: a way that a phi does not know");
}

static bool is_phi(LLVMValueRef i) {
  return i && LLVMGetInstructionOpcode(i) == LLVMPHI;
}

/* Whether a value for one of the block's phis is another one of them, which is assigned before. */
static bool phis_swap(LLVMBasicBlockRef from, LLVMBasicBlockRef to) {
  for (LLVMValueRef phi = LLVMGetFirstInstruction(to); is_phi(phi); phi = LLVMGetNextInstruction(phi)) {
    LLVMValueRef x = phi_value(phi, from);
    if (LLVMIsAInstruction(x) && is_phi(x) && x != phi && LLVMGetInstructionParent(x) == to)
      return true;
  }
  return false;
}

static void write_phis(CWriter *w, LLVMBasicBlockRef from, LLVMBasicBlockRef to, const char *indent) {
  const bool swap = phis_swap(from, to);
  const int first = w->number;
  if (swap)
    fprintf(w->out, "%s{\n", indent);
  for (int pass = 0; pass < (swap ? 2 : 1); pass++) {
    int number = first;
    for (LLVMValueRef phi = LLVMGetFirstInstruction(to); is_phi(phi); phi = LLVMGetNextInstruction(phi)) {
      const char *name = names_find(&w->locals, phi);
      LLVMValueRef x = phi_value(phi, from);
      number++;
      if (swap && !pass)
        fprintf(w->out, "%s  %s next__%d = %s;\n", indent, c_type(LLVMTypeOf(phi)), number, c_value(w, x));
      else if (swap)
        fprintf(w->out, "%s  %s = next__%d;\n", indent, name, number);
      else if (x != phi && !LLVMIsUndef(x))
        fprintf(w->out, "%s%s = %s;\n", indent, name, bare(w, c_value(w, x)));
    }
    w->number = number;
  }
  if (swap)
    fprintf(w->out, "%s}\n", indent);
}

static bool has_phis(LLVMBasicBlockRef block) {
  return is_phi(LLVMGetFirstInstruction(block));
}

/* Goes on at `to`, which may be what comes next anyway. */
static void write_way(CWriter *w, LLVMBasicBlockRef from, LLVMBasicBlockRef to) {
  write_phis(w, from, to, "  ");
  if (LLVMGetNextBasicBlock(from) != to)
    fprintf(w->out, "  goto %s;\n", label_of(w, to));
}

static void write_branch(CWriter *w, LLVMValueRef i) {
  LLVMBasicBlockRef from = LLVMGetInstructionParent(i), yes = LLVMGetSuccessor(i, 0);
  if (!LLVMIsConditional(i)) {
    write_way(w, from, yes);
    return;
  }
  LLVMBasicBlockRef no = LLVMGetSuccessor(i, 1);
  const char *condition = c_value(w, LLVMGetCondition(i));
  if (LLVMGetNextBasicBlock(from) == yes && !has_phis(no)) {
    fprintf(w->out, "  if (!%s)\n    goto %s;\n", condition, label_of(w, no));
    write_way(w, from, yes);
    return;
  }
  fprintf(w->out, "  if (%s)%s\n", bare(w, condition), has_phis(yes) ? " {" : "");
  write_phis(w, from, yes, "    ");
  fprintf(w->out, "    goto %s;\n%s", label_of(w, yes), has_phis(yes) ? "  }\n" : "");
  write_way(w, from, no);
}

static void write_switch(CWriter *w, LLVMValueRef i) {
  LLVMBasicBlockRef from = LLVMGetInstructionParent(i);
  const char *x = c_value(w, LLVMGetOperand(i, 0));
  for (unsigned k = 1; k < LLVMGetNumSuccessors(i); k++) {
    LLVMBasicBlockRef to = LLVMGetSuccessor(i, k);
    fprintf(w->out, "  if (%s == %s) {\n", x, c_value(w, LLVMGetOperand(i, 2 * k)));
    write_phis(w, from, to, "    ");
    fprintf(w->out, "    goto %s;\n  }\n", label_of(w, to));
  }
  write_way(w, from, LLVMGetSwitchDefaultDest(i));
}

/* ---- instructions */
static void write_line(CWriter *w, LLVMValueRef i) {
  const unsigned line = w->options->debug_lines ? LLVMGetDebugLocLine(i) : 0;
  unsigned length = 0;
  const char *file = line ? LLVMGetDebugLocFilename(i, &length) : NULL;
  if (!line || line == w->line || !file)
    return;
  w->line = line;
  fprintf(w->out, "#line %u \"%.*s\"\n", line, (int)length, file);
}

static void write_instruction(CWriter *w, LLVMValueRef i) {
  const char *text = c_expression(w, i);
  if (text) {
    const bool extracted = LLVMGetInstructionOpcode(i) == LLVMExtractValue;
    if (extracted || is_cell_only(i) || (used_once_here(i) && strlen(text) <= LONGEST_EXPRESSION))
      names_set(w->arena, &w->locals, i, text);
    else
      define(w, i, text);
    return;
  }
  switch (LLVMGetInstructionOpcode(i)) {
  case LLVMPHI:
  case LLVMUnreachable: return;
  case LLVMAlloca: write_alloca(w, i); return;
  case LLVMLoad: define(w, i, cell_at(w, LLVMGetOperand(i, 0), i, LLVMTypeOf(i))); return;
  case LLVMStore: write_store(w, i); return;
  case LLVMCall: write_call(w, i); return;
  case LLVMBr: write_branch(w, i); return;
  case LLVMSwitch: write_switch(w, i); return;
  case LLVMRet:
    fprintf(w->out, LLVMGetNumOperands(i) ? "  return %s;\n" : "  return;\n%s",
            LLVMGetNumOperands(i) ? bare(w, c_value(w, LLVMGetOperand(i, 0))) : "");
    return;
  default: internal_error("--emit=c: no C for %s", LLVMPrintValueToString(i));
  }
}

/* ---- the function */
/* Blocks in their order jump forward and backward, so all that is gone to has a label before the code is written. */
static void find_labels(CWriter *w, LLVMValueRef f) {
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b)) {
    LLVMValueRef last = LLVMGetBasicBlockTerminator(b);
    const unsigned n = LLVMGetNumSuccessors(last);
    for (unsigned k = 0; k < n; k++) {
      LLVMBasicBlockRef to = LLVMGetSuccessor(last, k);
      const bool falls = LLVMGetNextBasicBlock(b) == to;
      if (!falls || (n == 2 && k == 0 && has_phis(LLVMGetSuccessor(last, 1))) || (n > 2 && k > 0))
        (void)label_of(w, to);
    }
  }
}

static void write_unused_params(CWriter *w, LLVMValueRef f) {
  for (unsigned i = 0; i < LLVMCountParams(f); i++)
    if (!LLVMGetFirstUse(LLVMGetParam(f, i)))
      fprintf(w->out, "  (void)%s;\n", c_value(w, LLVMGetParam(f, i)));
}

static void declare_phis(CWriter *w, LLVMValueRef f) {
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
    for (LLVMValueRef i = LLVMGetFirstInstruction(b); is_phi(i); i = LLVMGetNextInstruction(i)) {
      const char *name = c_fresh(w, i);
      names_set(w->arena, &w->locals, i, name);
      fprintf(w->out, "  %s;\n", c_declared(w, LLVMTypeOf(i), name));
    }
}

void c_function_write(CWriter *w, LLVMValueRef f) {
  w->labels = (Names){0};
  find_labels(w, f);
  write_unused_params(w, f);
  declare_phis(w, f);
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b)) {
    const char *label = names_find(&w->labels, b);
    if (label)
      fprintf(w->out, "%s:;\n", label);
    for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
      write_line(w, i);
      write_instruction(w, i);
    }
  }
}
