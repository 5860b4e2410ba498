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

/* Reports the first fault of each function, and of the exports; true where there is none.  Texts live in the module's
   arena. */
typedef void VerifyReport(const VerifyFault *fault, void *arg);
bool verify_each(Module *m, VerifyReport *report, void *arg);
/* True; a fault is an internal error that names the pass. */
bool verify_module(Module *m, const char *after_pass);
#endif
