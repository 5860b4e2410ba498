/* What the files of the verifier share. */
#ifndef GRADC_IR_VERIFY_STATE_H
#define GRADC_IR_VERIFY_STATE_H
#include "ir/verify.h"

typedef enum ValueState { VALUE_UNSEEN, VALUE_IN_SCOPE, VALUE_GONE } ValueState;

typedef struct Verifier {
  Module *module;
  Arena scratch;
  VerifyReport *report;
  void *arg;
  const Func *func; /* what is being checked */
  const Op *op;
  const Export *export;
  unsigned char *states;  /* ValueState by uid */
  VEC(unsigned) in_scope; /* uids, outermost first */
  struct Symbols *funcs;  /* by name, FuncNode */
} Verifier;

/* Reports the fault, with the place where the verifier is; returns false. */
bool verify_fail(Verifier *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A function of this module? */
bool verify_is_ours(const Verifier *v, const Func *f);
/* Kinds, types and attributes of an operation; its operands are known to be in scope, and its parts to be there. */
bool verify_types(Verifier *v, const Op *op);
#endif
