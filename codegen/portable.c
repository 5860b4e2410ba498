/* --cpu=portable: one module for all processors of an architecture.
   On x86-64 everything is there three times, compiled for the levels x86-64, x86-64-v3 (AVX2 and fused multiply-add)
   and x86-64-v4 (AVX-512), each through its own passes.  An exported function asks the runtime for the processor's
   level and goes on in the best of its three: by a jump, so that it works in an object, a shared object and a static
   program alike, and with no code that runs before main.  All functions of an export decide alike, as the sizes of
   the workspace and of a tape depend on the level.  Elsewhere there is one level, the architecture's own. */
#include "codegen/interface.h"
#include "codegen/lower.h"
#include "codegen/target.h"
#include <llvm-c/Linker.h>
#include <string.h>

typedef struct Level {
  const char *cpu, *suffix;
  unsigned number; /* gradc_rt_processor's */
} Level;
static const Level levels[] = {{"x86-64", "v1", 1}, {"x86-64-v3", "v3", 3}, {"x86-64-v4", "v4", 4}};
enum { LEVELS = sizeof levels / sizeof *levels };

typedef VEC(const char *) ExportNames;

static ExportNames symbols_of(Module *m, const CodegenOptions *o) {
  ExportNames all = {0};
  for (const Export *e = m->exports; e; e = e->next) {
    const CInterface *c = interface_of(m, e, o);
    if (c->has_ws) {
      vec_push(m->arena, all, c->worksize_symbol);
      vec_push(m->arena, all, c->ws_symbol);
    }
    if (c->has_plain)
      vec_push(m->arena, all, c->symbol);
  }
  return all;
}

static const char *level_symbol(Module *m, const char *symbol, const Level *level) {
  return arena_printf(m->arena, "%s.%s", symbol, level->suffix);
}

static LLVMModuleRef make_level(Module *m, const CodegenOptions *o, LLVMContextRef context, MakeModule *make,
                                const ExportNames *symbols, const Level *level) {
  CodegenOptions own = *o;
  own.cpu = level->cpu;
  LLVMTargetMachineRef tm = target_machine(m, &own);
  if (!tm)
    return NULL;
  LLVMModuleRef module = make(m, &own, context, tm);
  LLVMDisposeTargetMachine(tm);
  for (int i = 0; module && i < symbols->n; i++) {
    const char *name = level_symbol(m, symbols->at[i], level);
    LLVMSetValueName2(LLVMGetNamedFunction(module, symbols->at[i]), name, strlen(name));
  }
  return module;
}

/* What passes parameters in C is said of the function that C sees too. */
static void copy_attributes(Module *m, LLVMValueRef to, LLVMValueRef from) {
  const unsigned n = LLVMCountParams(from);
  for (unsigned i = 0; i <= n; i++) {
    const unsigned count = LLVMGetAttributeCountAtIndex(from, i);
    LLVMAttributeRef *found = NEW_ARRAY(m->arena, LLVMAttributeRef, count);
    LLVMGetAttributesAtIndex(from, i, found);
    for (unsigned k = 0; k < count; k++)
      LLVMAddAttributeAtIndex(to, i, found[k]);
  }
  for (unsigned i = 0; i < n; i++) {
    size_t length;
    const char *name = LLVMGetValueName2(LLVMGetParam(from, i), &length);
    LLVMSetValueName2(LLVMGetParam(to, i), name, length);
  }
}

static void go_on_in(Module *m, LLVMBuilderRef at, LLVMBasicBlockRef block, LLVMValueRef to, LLVMValueRef f) {
  const unsigned n = LLVMCountParams(f);
  LLVMValueRef *args = NEW_ARRAY(m->arena, LLVMValueRef, n);
  LLVMGetParams(f, args);
  LLVMPositionBuilderAtEnd(at, block);
  LLVMValueRef call = LLVMBuildCall2(at, LLVMGlobalGetValueType(to), to, args, n, "");
  LLVMSetTailCallKind(call, LLVMTailCallKindMustTail);
  LLVMBuildRet(at, call);
}

static void add_choice(Module *m, LLVMModuleRef module, const char *symbol, LLVMValueRef processor) {
  LLVMContextRef context = LLVMGetModuleContext(module);
  LLVMTypeRef i32 = LLVMInt32TypeInContext(context);
  LLVMValueRef own[LEVELS];
  for (int i = 0; i < LEVELS; i++) {
    own[i] = LLVMGetNamedFunction(module, level_symbol(m, symbol, &levels[i]));
    LLVMSetLinkage(own[i], LLVMInternalLinkage);
  }
  LLVMValueRef f = LLVMAddFunction(module, symbol, LLVMGlobalGetValueType(own[0]));
  copy_attributes(m, f, own[0]);
  LLVMBuilderRef at = LLVMCreateBuilderInContext(context);
  LLVMPositionBuilderAtEnd(at, LLVMAppendBasicBlockInContext(context, f, "entry"));
  LLVMValueRef level = LLVMBuildCall2(at, LLVMGlobalGetValueType(processor), processor, NULL, 0, "level");
  LLVMBasicBlockRef blocks[LEVELS];
  for (int i = 0; i < LEVELS; i++)
    blocks[i] = LLVMAppendBasicBlockInContext(context, f, levels[i].suffix);
  LLVMValueRef choice = LLVMBuildSwitch(at, level, blocks[0], LEVELS - 1);
  for (int i = 1; i < LEVELS; i++)
    LLVMAddCase(choice, LLVMConstInt(i32, levels[i].number, false), blocks[i]);
  for (int i = 0; i < LEVELS; i++)
    go_on_in(m, at, blocks[i], own[i], f);
  LLVMDisposeBuilder(at);
}

static void add_choices(Module *m, LLVMModuleRef module, const ExportNames *symbols) {
  LLVMTypeRef i32 = LLVMInt32TypeInContext(LLVMGetModuleContext(module));
  LLVMValueRef processor = LLVMAddFunction(module, "gradc_rt_processor", LLVMFunctionType(i32, NULL, 0, false));
  LLVMSetVisibility(processor, LLVMHiddenVisibility);
  for (int i = 0; i < symbols->n; i++)
    add_choice(m, module, symbols->at[i], processor);
}

LLVMModuleRef portable_module(Module *m, const CodegenOptions *o, LLVMContextRef context, MakeModule *make) {
  const ExportNames symbols = symbols_of(m, o);
  LLVMModuleRef whole = NULL;
  for (int i = 0; i < LEVELS; i++) {
    LLVMModuleRef module = make_level(m, o, context, make, &symbols, &levels[i]);
    if (!module) {
      if (whole)
        LLVMDisposeModule(whole);
      return NULL;
    }
    if (!whole)
      whole = module;
    else if (LLVMLinkModules2(whole, module))
      internal_error("the code of two levels cannot be put together");
  }
  add_choices(m, whole, &symbols);
  return whole;
}
