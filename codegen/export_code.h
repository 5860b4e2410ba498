/* What the files that make the C functions of an export share: see codegen/lower_export.c. */
#ifndef GRADC_CODEGEN_EXPORT_CODE_H
#define GRADC_CODEGEN_EXPORT_CODE_H
#include "codegen/body.h"
#include "codegen/interface.h"

enum {
  CONTEXT_BYTES = 64,
  FRAME_RESULT_BYTES = 1024, /* of a result in the frame, and of all */
  FRAME_BYTES = 4096,
  FEW_PARTS = 4,     /* of a workspace, whose size is computed in place */
  COPIED_BYTES = 256 /* a result of no more is always made in the frame, where it may be in registers, and copied */
};

#define OWN_WORK INT64_MIN

typedef struct ExportCode {
  Body body;
  const CInterface *interface;
  LLVMValueRef *outputs; /* the C arguments, by result; those of the tape in it */
  LLVMValueRef tape;     /* the C argument; or NULL */
  LLVMValueRef *asides;  /* by result: whether it is computed in the workspace; NULL: a scalar */
  LLVMValueRef *bytes;   /* and the room that it takes there */
  int *frames;           /* or its bytes in the frame; 0: not there */
  LLVMValueRef aside;    /* the sum of that */
  LLVMValueRef fixed;    /* bytes for the context, and for what is planned with the body's lanes */
  LLVMValueRef total;    /* bytes of the workspace, but for what is pushed */
  bool no_work;          /* none is ever needed */
} ExportCode;

/* ---- export_work.c */
void check_sizes(Body *b);
LLVMValueRef round_up(Body *b, LLVMValueRef bytes);
void always_inline(Unit *u, LLVMValueRef call);
void ask_for_lanes(Body *b);
LLVMValueRef fixed_bytes(Body *b);
int take_frame(const Export *export, int i, int *left);
bool needs_no_work(const Export *export);
bool accumulates(const ExportCode *e, int result);
void measure_work(ExportCode *e);
void fit_lanes(ExportCode *e, LLVMValueRef room);
#endif
