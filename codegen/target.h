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

/* Gives each function of the module the attributes that tell tm's processor, unless it has them. */
void target_attributes(LLVMModuleRef module, LLVMTargetMachineRef tm);

/* m as LLVM IR after LLVM's passes; NULL after an error that has been reported. */
LLVMModuleRef optimised_module(Module *m, const CodegenOptions *o, LLVMContextRef context, LLVMTargetMachineRef tm);

/* ---- portable.c */
/* Whether code is asked for that picks its processor's best level when it runs; tm: the machine of the lowest. */
bool has_levels(const CodegenOptions *o, LLVMTargetMachineRef tm);
/* A module of all levels; `make` makes that of one. */
typedef LLVMModuleRef MakeModule(Module *m, const CodegenOptions *o, LLVMContextRef context, LLVMTargetMachineRef tm);
LLVMModuleRef portable_module(Module *m, const CodegenOptions *o, LLVMContextRef context, MakeModule *make);
#endif
