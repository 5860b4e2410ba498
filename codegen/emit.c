/* From LLVM IR to a file: LLVM's passes, and emission as object, assembly, IR or bitcode.
   Everything is made in memory and written when complete. */
#define _XOPEN_SOURCE 700
#include "codegen/c_source.h"
#include "codegen/inline_math.h"
#include "codegen/lower.h"
#include "codegen/target.h"
#include "ir/output.h"
#include <llvm-c/Analysis.h>
#include <llvm-c/BitWriter.h>
#include <llvm-c/Error.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <string.h>
#include <time.h>

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void report_time(const CodegenOptions *o, const char *what, double since) {
  if (o->time_passes)
    fprintf(stderr, "%10.3f ms  %s\n", 1e3 * (seconds() - since), what);
}

static void verify(LLVMModuleRef module, const char *when) {
  char *message = NULL;
  if (LLVMVerifyModule(module, LLVMReturnStatusAction, &message))
    internal_error("the LLVM IR is not well formed %s: %s", when, message);
  LLVMDisposeMessage(message);
}

/* The lowering emits vectors where it matters.  LLVM's own vectorisers serve simple maps from O2 on; that of
   straight-line code costs the most time by far, and is left to O3. */
static void run_passes(const CodegenOptions *o, LLVMModuleRef module, LLVMTargetMachineRef tm) {
  /* What is left of O2 when the passes are left out that find nothing in code that was made so: those between
     functions, and for pointers that are not known.  Half of the time. */
  static const char o2[] = "always-inline,function(sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,"
                           "loop-mssa(loop-rotate,licm),simplifycfg,"
                           "loop(loop-idiom,indvars,loop-deletion,loop-unroll-full),sroa,gvn,instcombine<no-verify-"
                           "fixpoint>,loop-mssa(licm),adce,simplifycfg,"
                           "loop-vectorize,loop-unroll,instcombine<no-verify-fixpoint>,simplifycfg),globaldce";
  static const char o1[] = "always-inline,function(sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,"
                           "loop-mssa(loop-rotate,licm),simplifycfg,loop(loop-idiom,indvars,loop-deletion),"
                           "early-cse<memssa>,instcombine<no-verify-fixpoint>,adce,simplifycfg),globaldce";
  static const char *const pipelines[] = {"default<O0>", o1, o2, "default<O3>"};
  LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
  LLVMPassBuilderOptionsSetLoopVectorization(options, o->opt_level >= 2);
  LLVMPassBuilderOptionsSetLoopInterleaving(options, o->opt_level >= 2);
  LLVMPassBuilderOptionsSetLoopUnrolling(options, o->opt_level >= 1);
  LLVMPassBuilderOptionsSetSLPVectorization(options, o->opt_level >= 3);
  /* A C compiler optimises what becomes C: its instructions are to stay few in kind. */
  static const char tidy[] = "function(sroa,early-cse,simplifycfg,adce),globaldce";
  if (!o->scalar)
    keep_many_math_calls(module);
  LLVMErrorRef error = LLVMRunPasses(module, o->scalar ? tidy : pipelines[o->opt_level], tm, options);
  LLVMDisposePassBuilderOptions(options);
  if (error)
    internal_error("LLVM's passes: %s", LLVMGetErrorMessage(error));
}

static LLVMModuleRef level_module(Module *m, const CodegenOptions *o, LLVMContextRef context, LLVMTargetMachineRef tm) {
  double start = seconds();
  LLVMModuleRef module = codegen_llvm(m, o, context, tm);
  report_time(o, "lowering to LLVM IR", start);
  if (!module)
    return NULL;
  verify(module, "after lowering");
  target_attributes(module, tm);
  start = seconds();
  run_passes(o, module, tm);
  report_time(o, "LLVM's passes", start);
  if (m->diag->nerrors) {
    LLVMDisposeModule(module);
    return NULL;
  }
  return module;
}

LLVMModuleRef optimised_module(Module *m, const CodegenOptions *o, LLVMContextRef context, LLVMTargetMachineRef tm) {
  return has_levels(o, tm) ? portable_module(m, o, context, level_module) : level_module(m, o, context, tm);
}

static LLVMMemoryBufferRef emit_code(Module *m, LLVMModuleRef module, LLVMTargetMachineRef tm,
                                     LLVMCodeGenFileType type) {
  char *message = NULL;
  LLVMMemoryBufferRef buffer = NULL;
  if (LLVMTargetMachineEmitToMemoryBuffer(tm, module, type, &message, &buffer)) {
    diag_error(m->diag, (Range){0}, "LLVM: %s", message);
    LLVMDisposeMessage(message);
    return NULL;
  }
  return buffer;
}

static bool write_buffer(Module *m, LLVMMemoryBufferRef buffer, const char *path) {
  if (!buffer)
    return false;
  /* An error can also have come through the diagnostic handler alone. */
  const bool good =
      !m->diag->nerrors && output_write(m->diag, path, LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer));
  LLVMDisposeMemoryBuffer(buffer);
  return good;
}

static bool write_c(Module *m, const CodegenOptions *o, LLVMModuleRef module, const char *path) {
  Output out;
  if (!output_open(&out, m->diag, path))
    return false;
  if (c_source_write(m, o, module, out.file))
    return output_commit(&out, m->diag, false);
  output_discard(&out);
  return false;
}

static bool emit_module(Module *m, const CodegenOptions *o, LLVMModuleRef module, LLVMTargetMachineRef tm,
                        EmitKind kind, const char *path) {
  char *text;
  switch (kind) {
  case EMIT_OBJECT: return write_buffer(m, emit_code(m, module, tm, LLVMObjectFile), path);
  case EMIT_ASSEMBLY: return write_buffer(m, emit_code(m, module, tm, LLVMAssemblyFile), path);
  case EMIT_BITCODE: return write_buffer(m, LLVMWriteBitcodeToMemoryBuffer(module), path);
  case EMIT_C: return write_c(m, o, module, path);
  case EMIT_LLVM:
    text = LLVMPrintModuleToString(module);
    const bool good = output_write(m->diag, path, text, strlen(text));
    LLVMDisposeMessage(text);
    return good;
  }
  return false;
}

bool codegen_emit(Module *m, const CodegenOptions *given, EmitKind kind, const char *path) {
  CodegenOptions options = *given, *o = &options;
  if (kind == EMIT_C) {
    o->threads = false; /* no threads in C99: a call runs on the thread that makes it */
    o->scalar = true;
    o->triple = "x86_64-unknown-linux-gnu"; /* whose code has nothing that C lacks */
    o->cpu = "x86-64";
    o->features = NULL;
  }
  LLVMTargetMachineRef tm = target_machine(m, o);
  if (!tm)
    return false;
  LLVMContextRef context = target_context(m);
  LLVMModuleRef module = optimised_module(m, o, context, tm);
  bool good = false;
  if (module) {
    const double start = seconds();
    good = emit_module(m, o, module, tm, kind, path);
    report_time(o, "emission", start);
    LLVMDisposeModule(module);
  }
  LLVMContextDispose(context);
  LLVMDisposeTargetMachine(tm);
  return good && !m->diag->nerrors;
}
