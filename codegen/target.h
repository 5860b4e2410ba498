/* The machine that code is made for, and the optimiser's run over an LLVM module; inside codegen/ only. */
#ifndef GRADC_CODEGEN_TARGET_H
#define GRADC_CODEGEN_TARGET_H
#include "codegen/codegen.h"
#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

/* NULL after an error that has been reported: an unknown triple, processor or feature. */
LLVMTargetMachineRef target_machine(Module *m, const CodegenOptions *o);

/* An LLVM context whose diagnostics are reported through m's Diag. */
LLVMContextRef target_context(Module *m);

/* Gives each function of the module the attributes that tell tm's processor. */
void target_attributes(LLVMModuleRef module, LLVMTargetMachineRef tm);

/* m as LLVM IR after LLVM's passes; NULL after an error that has been reported. */
LLVMModuleRef optimised_module(Module *m, const CodegenOptions *o, LLVMContextRef context, LLVMTargetMachineRef tm);
#endif
