/* Loops over arrays around each of the inlined mathematical functions. */
#include "codegen/math_library.h"
#include "codegen/inline_math.h"
#include "codegen/target.h"
#include <llvm-c/Analysis.h>
#include <llvm-c/Error.h>
#include <llvm-c/Transforms/PassBuilder.h>

typedef struct Wrapper {
  Unit *unit;
  LLVMBuilderRef at;
  LLVMTypeRef type;
  unsigned align;
} Wrapper;

static LLVMValueRef element(const Wrapper *w, LLVMValueRef array, LLVMValueRef lane, LLVMTypeRef kind) {
  return LLVMBuildInBoundsGEP2(w->at, kind, array, &lane, 1, "");
}

static LLVMValueRef operand(const Wrapper *w, LLVMValueRef array, LLVMValueRef lane, LLVMTypeRef kind) {
  LLVMValueRef load = LLVMBuildLoad2(w->at, w->type, element(w, array, lane, kind), "");
  LLVMSetAlignment(load, w->align);
  return load;
}

/* for (i = 0; i < n; i += lanes) result[i ..] = f(x[i ..], y[i ..]) */
static void add_loop(Unit *u, LLVMValueRef f, const char *name, Kind k, int lanes) {
  LLVMTypeRef params[] = {u->ptr, u->ptr, u->ptr, u->i64}, kind = type_of_kind(u, k);
  LLVMValueRef loop = LLVMAddFunction(u->llvm, name, LLVMFunctionType(u->nothing, params, 4, false));
  LLVMAddAttributeAtIndex(loop, 3, attribute(u, "noalias", 0));
  LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(u->context, loop, "entry");
  LLVMBasicBlockRef header = LLVMAppendBasicBlockInContext(u->context, loop, "header");
  LLVMBasicBlockRef body = LLVMAppendBasicBlockInContext(u->context, loop, "body");
  LLVMBasicBlockRef after = LLVMAppendBasicBlockInContext(u->context, loop, "after");
  Wrapper w = {.unit = u,
               .at = LLVMCreateBuilderInContext(u->context),
               .type = LLVMGetReturnType(LLVMGlobalGetValueType(f)),
               .align = (unsigned)kind_bytes(k)};
  LLVMPositionBuilderAtEnd(w.at, entry);
  LLVMBuildBr(w.at, header);
  LLVMPositionBuilderAtEnd(w.at, header);
  LLVMValueRef i = LLVMBuildPhi(w.at, u->i64, "i"), args[2];
  LLVMBuildCondBr(w.at, LLVMBuildICmp(w.at, LLVMIntSLT, i, LLVMGetParam(loop, 3), ""), body, after);
  LLVMPositionBuilderAtEnd(w.at, body);
  const unsigned nargs = LLVMCountParams(f);
  for (unsigned a = 0; a < nargs; a++)
    args[a] = operand(&w, LLVMGetParam(loop, a), i, kind);
  LLVMValueRef result = LLVMBuildCall2(w.at, LLVMGlobalGetValueType(f), f, args, nargs, "");
  LLVMValueRef store = LLVMBuildStore(w.at, result, element(&w, LLVMGetParam(loop, 2), i, kind));
  LLVMSetAlignment(store, w.align);
  LLVMValueRef next[] = {const_i64(u, 0), LLVMBuildNSWAdd(w.at, i, const_i64(u, lanes), "")};
  LLVMBuildBr(w.at, header);
  LLVMBasicBlockRef from[] = {entry, body};
  LLVMAddIncoming(i, next, from, 2);
  LLVMPositionBuilderAtEnd(w.at, after);
  LLVMBuildRetVoid(w.at);
  LLVMDisposeBuilder(w.at);
}

static void add_powers(Unit *u, Kind k, int lanes) {
  static const int exponents[] = {6, 7, 100, 65537, -2, -3, -1000};
  for (size_t i = 0; i < sizeof exponents / sizeof *exponents; i++) {
    const int n = exponents[i];
    const char *name =
        arena_printf(u->arena, "math_powi_%s%d_%sx%d", n < 0 ? "m" : "", n < 0 ? -n : n, kind_name[k], lanes);
    add_loop(u, inline_power(u, n, k, lanes), name, k, lanes);
  }
}

static void add_loops(Unit *u) {
  for (Kind k = KIND_F32; k <= KIND_F64; k++)
    for (int lanes = 1; lanes <= MATH_WIDEST; lanes *= 2) {
      add_powers(u, k, lanes);
      for (int op = 0; op < OP_COUNT; op++) {
        const bool is_one = op_info[op].arity <= 2 && has_inline_math((Opcode)op);
        LLVMValueRef f = !is_one      ? NULL
                         : lanes == 2 ? inline_math_group(u, (Opcode)op, k, lanes)
                                      : inline_math(u, (Opcode)op, k, lanes);
        if (f)
          add_loop(u, f, arena_printf(u->arena, "math_%s_%sx%d", op_info[op].name, kind_name[k], lanes), k, lanes);
      }
    }
}

/* With the optimiser at O1, or O2, whose loop vectoriser widens scalar loops. */
static bool emit(Module *m, const CodegenOptions *o, LLVMModuleRef module, LLVMTargetMachineRef tm, const char *path) {
  char *message = NULL;
  if (LLVMVerifyModule(module, LLVMReturnStatusAction, &message))
    internal_error("the LLVM IR of the mathematical functions is not well formed: %s", message);
  LLVMDisposeMessage(message);
  target_attributes(module, tm);
  LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
  LLVMPassBuilderOptionsSetLoopVectorization(options, o->opt_level >= 2);
  LLVMPassBuilderOptionsSetLoopUnrolling(options, false);
  LLVMErrorRef error = LLVMRunPasses(module, o->opt_level >= 2 ? "default<O2>" : "default<O1>", tm, options);
  LLVMDisposePassBuilderOptions(options);
  if (error)
    internal_error("LLVM's passes: %s", LLVMGetErrorMessage(error));
  if (!LLVMTargetMachineEmitToFile(tm, module, path, LLVMObjectFile, &message))
    return !m->diag->nerrors;
  diag_error(m->diag, (Range){0}, "LLVM: %s", message);
  LLVMDisposeMessage(message);
  return false;
}

bool codegen_math_library(Module *m, const CodegenOptions *o, const char *path) {
  LLVMTargetMachineRef tm = target_machine(m, o);
  if (!tm)
    return false;
  LLVMContextRef context = target_context(m);
  Unit u;
  unit_begin(&u, m, o, context, tm);
  add_loops(&u);
  const bool good = emit(m, o, u.llvm, tm, path);
  LLVMDisposeModule(u.llvm);
  LLVMContextDispose(context);
  LLVMDisposeTargetMachine(tm);
  return good;
}
