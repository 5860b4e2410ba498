/* The verifier: what ir/ir.h and ir/ops.def say of well-formed IR, checked in time linear in the module's size. */
#ifndef GRADC_IR_VERIFY_H
#define GRADC_IR_VERIFY_H
#include "ir/ir.h"

typedef struct VerifyFault {
  const char *text; /* what is wrong */
  const Func *func; /* where: NULL where it is the module */
  const Op *op;     /* or NULL where it is the function itself */
  const Export *export;
} VerifyFault;

/* True where the module is well formed; else the first fault is in *fault, with its text in the module's arena. */
bool verify_find(Module *m, VerifyFault *fault);
/* True; a fault is an internal error that names the pass. */
bool verify_module(Module *m, const char *after_pass);
#endif
