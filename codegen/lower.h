/* Lowering of the tensor IR to LLVM IR; inside codegen/ only. */
#ifndef GRADC_CODEGEN_LOWER_H
#define GRADC_CODEGEN_LOWER_H
#include "codegen/codegen.h"
#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

/* A fresh LLVM module with all of m in it, verified, not optimised; triple and data layout are tm's.  Exports are
   external (default visibility), functions internal, calls to gradc_rt_* external and hidden. NULL after an error that
   has been reported.  Scratch memory comes from the module's arena. */
LLVMModuleRef codegen_llvm(Module *m, const CodegenOptions *o, LLVMContextRef context, LLVMTargetMachineRef tm);
#endif
