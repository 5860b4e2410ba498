/* Code for `gradc run`: compiled into this process by LLVM's LLJIT.
   Beside each export stands a function that takes an array of pointers to the C arguments, loads them and calls the
   export, so that the caller needs no way to make calls of any signature. */
#include "codegen/interface.h"
#include "codegen/lower.h"
#include "codegen/target.h"
#include <llvm-c/Error.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <string.h>

static const char packed_suffix[] = ".packed";

struct Jit {
  Module *module;
  LLVMOrcLLJITRef engine;
};

static bool failed(Module *m, LLVMErrorRef error) {
  if (!error)
    return false;
  char *text = LLVMGetErrorMessage(error);
  diag_error(m->diag, (Range){0}, "LLVM: %s", text);
  LLVMDisposeErrorMessage(text);
  return true;
}

/* Takes errors of linking, which would go to standard error.  A foreign function that is nowhere is the usual one. */
static void on_session_error(void *arg, LLVMErrorRef error) {
  static const char not_found[] = "Symbols not found: [ ";
  Jit *jit = arg;
  char *text = LLVMGetErrorMessage(error);
  if (!strncmp(text, not_found, strlen(not_found))) {
    const char *names = text + strlen(not_found);
    DiagMessage *e = diag_error(jit->module->diag, (Range){0}, "this process has no C function '%.*s'",
                                (int)strcspn(names, " ]"), names);
    diag_mend(jit->module->diag, e, "compile with -o, and link the object with what defines it");
  } else {
    diag_error(jit->module->diag, (Range){0}, "LLVM: %s", text);
  }
  LLVMDisposeErrorMessage(text);
}

/* int32 f.packed(ptr arguments) */
static void add_packed(Module *m, LLVMModuleRef module, const char *symbol) {
  LLVMValueRef callee = LLVMGetNamedFunction(module, symbol);
  if (!callee)
    return;
  LLVMContextRef context = LLVMGetModuleContext(module);
  LLVMTypeRef pointer = LLVMPointerTypeInContext(context, 0), type = LLVMGlobalGetValueType(callee);
  LLVMTypeRef packed_type = LLVMFunctionType(LLVMGetReturnType(type), &pointer, 1, false);
  LLVMValueRef f = LLVMAddFunction(module, arena_printf(m->arena, "%s%s", symbol, packed_suffix), packed_type);
  LLVMBuilderRef b = LLVMCreateBuilderInContext(context);
  LLVMPositionBuilderAtEnd(b, LLVMAppendBasicBlockInContext(context, f, ""));
  const unsigned n = LLVMCountParams(callee);
  LLVMValueRef *args = NEW_ARRAY(m->arena, LLVMValueRef, n);
  LLVMTypeRef index = LLVMInt64TypeInContext(context);
  for (unsigned i = 0; i < n; i++) {
    LLVMValueRef at = LLVMConstInt(index, i, false);
    LLVMValueRef place = LLVMBuildInBoundsGEP2(b, pointer, LLVMGetParam(f, 0), &at, 1, "");
    LLVMValueRef argument = LLVMBuildLoad2(b, pointer, place, "");
    args[i] = LLVMBuildLoad2(b, LLVMTypeOf(LLVMGetParam(callee, i)), argument, "");
  }
  LLVMBuildRet(b, LLVMBuildCall2(b, type, callee, args, n, ""));
  LLVMDisposeBuilder(b);
}

static void add_all_packed(Module *m, const CodegenOptions *o, LLVMModuleRef module) {
  for (const Export *e = m->exports; e; e = e->next)
    add_packed(m, module, interface_of(m, e, o)->symbol);
}

/* The runtime's symbols are hidden, so the process's own search does not find them; libm's it does. */
static LLVMErrorRef define_symbols(Jit *jit, const JitSymbol *runtime) {
  LLVMOrcJITDylibRef library = LLVMOrcLLJITGetMainJITDylib(jit->engine);
  size_t n = 0;
  while (runtime[n].name)
    n++;
  LLVMOrcCSymbolMapPairs pairs = NEW_ARRAY(jit->module->arena, LLVMOrcCSymbolMapPair, n);
  for (size_t i = 0; i < n; i++) {
    pairs[i].Name = LLVMOrcLLJITMangleAndIntern(jit->engine, runtime[i].name);
    pairs[i].Sym.Address = (LLVMOrcExecutorAddress)(uintptr_t)runtime[i].address;
    pairs[i].Sym.Flags.GenericFlags = LLVMJITSymbolGenericFlagsExported | LLVMJITSymbolGenericFlagsCallable;
  }
  LLVMErrorRef error = LLVMOrcJITDylibDefine(library, LLVMOrcAbsoluteSymbols(pairs, n));
  if (error)
    return error;
  LLVMOrcDefinitionGeneratorRef process;
  error = LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(&process, LLVMOrcLLJITGetGlobalPrefix(jit->engine), NULL,
                                                               NULL);
  if (!error)
    LLVMOrcJITDylibAddGenerator(library, process);
  return error;
}

/* Takes over tm. */
static bool create_engine(Jit *jit, LLVMTargetMachineRef tm) {
  LLVMOrcLLJITBuilderRef builder = LLVMOrcCreateLLJITBuilder();
  LLVMOrcLLJITBuilderSetJITTargetMachineBuilder(builder, LLVMOrcJITTargetMachineBuilderCreateFromTargetMachine(tm));
  if (failed(jit->module, LLVMOrcCreateLLJIT(&jit->engine, builder)))
    return false;
  LLVMOrcExecutionSessionSetErrorReporter(LLVMOrcLLJITGetExecutionSession(jit->engine), on_session_error, jit);
  return true;
}

/* Adds the module's code, as an object that our own target machine made: what runs is what would be linked. */
static bool add_code(Jit *jit, const CodegenOptions *o, LLVMTargetMachineRef tm) {
  Module *m = jit->module;
  LLVMContextRef context = target_context(m);
  LLVMModuleRef module = optimised_module(m, o, context, tm);
  LLVMMemoryBufferRef object = NULL;
  if (module) {
    char *message = NULL;
    add_all_packed(m, o, module);
    target_attributes(module, tm);
    if (LLVMTargetMachineEmitToMemoryBuffer(tm, module, LLVMObjectFile, &message, &object)) {
      diag_error(m->diag, (Range){0}, "LLVM: %s", message);
      LLVMDisposeMessage(message);
    }
    LLVMDisposeModule(module);
  }
  LLVMContextDispose(context);
  return object && !m->diag->nerrors &&
         !failed(m, LLVMOrcLLJITAddObjectFile(jit->engine, LLVMOrcLLJITGetMainJITDylib(jit->engine), object));
}

Jit *codegen_jit(Module *m, const CodegenOptions *o, const JitSymbol *runtime) {
  Jit *jit = NEW(m->arena, Jit);
  jit->module = m;
  if (o->triple) {
    diag_error(m->diag, (Range){0}, "code for another machine cannot be run");
    return NULL;
  }
  LLVMTargetMachineRef tm = target_machine(m, o), engine_tm = tm ? target_machine(m, o) : NULL;
  if (!tm)
    return NULL;
  const bool good =
      engine_tm && create_engine(jit, engine_tm) && !failed(m, define_symbols(jit, runtime)) && add_code(jit, o, tm);
  LLVMDisposeTargetMachine(tm);
  if (good)
    return jit;
  codegen_jit_free(jit);
  return NULL;
}

bool codegen_jit_call(Jit *jit, const char *symbol, void *const *args, int *status) {
  LLVMOrcExecutorAddress address = 0;
  const char *packed = arena_printf(jit->module->arena, "%s%s", symbol, packed_suffix);
  LLVMErrorRef error = LLVMOrcLLJITLookup(jit->engine, &address, packed);
  if (error && jit->module->diag->nerrors)
    LLVMConsumeError(error); /* the cause has been reported */
  else if (failed(jit->module, error))
    return false;
  if (!address)
    return false;
  int32_t (*f)(void *const *args);
  const uintptr_t bits = (uintptr_t)address;
  memcpy(&f, &bits, sizeof f);
  *status = f(args);
  return true;
}

void codegen_jit_free(Jit *jit) {
  if (jit->engine)
    (void)failed(jit->module, LLVMOrcDisposeLLJIT(jit->engine));
  jit->engine = NULL;
}
