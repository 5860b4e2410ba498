/* The C signature of an export: the one description that the header, the code and `gradc run` follow.

   name(sizes and inputs in order, then one pointer for each result) -> int
   name_worksize(the sizes and the integer scalars that bound a loop) -> int64_t: bytes, INT64_MAX where they overflow
   name_ws(as name, void *work, int64_t worksize) -> int

   Of an export that is cut in two (ir.h, ExportPart) the forward part has a pointer to the tape last, the backward part
   after the inputs and before the seeds, and of the third there is name alone, of what worksize would have, which gives
   the tape's bytes. */
#ifndef GRADC_CODEGEN_INTERFACE_H
#define GRADC_CODEGEN_INTERFACE_H
#include "codegen/codegen.h"

typedef enum CParamRole {
  C_SIZE,   /* int64_t by value */
  C_SCALAR, /* input by value */
  C_TENSOR, /* input, pointer to const */
  C_OUTPUT, /* pointer, may be NULL */
  C_TAPE    /* pointer; of a part of a cut export */
} CParamRole;

typedef struct CParam {
  CParamRole role;
  Kind kind; /* bool is uint8_t in C */
  Type type;
  const char *name; /* fit for C: a reserved name has got a _ */
  int index;        /* of the function's parameter, or of its result */
  bool accumulates; /* output: added into */
  bool sizes_work;  /* is also a parameter of name_worksize, and of tapesize */
} CParam;

typedef struct CInterface {
  const Export *export;
  const char *symbol;          /* prefix included */
  const char *worksize_symbol; /* <symbol>_worksize */
  const char *ws_symbol;       /* <symbol>_ws */
  bool has_plain;              /* false under --no-malloc: only the other two are made */
  bool has_ws;                 /* those two */
  int nparams;
  CParam *params;
} CInterface;

/* A function's parameters that callers in C neither give nor see: computed sizes, and the tensors of a tape.  Results:
   those of a tape. */
bool param_is_hidden(const Export *e, int param);
bool result_is_hidden(const Export *e, int result);
/* Where in the tape its i-th tensor begins is a multiple of this; they lie in order. */
enum { TAPE_ALIGNMENT = 8 };
CInterface *interface_of(Module *m, const Export *e, const CodegenOptions *o);
/* "int name(int64_t n, const double *x, double *y)" for the export whose symbol it is, and the names of its parameters;
   NULL where there is none. */
const char *c_prototype(Module *m, const CodegenOptions *o, const char *symbol, int *nparams, const char ***names);
const char *c_kind_name(Kind k); /* "double" "int64_t" "uint8_t" .. */
#endif
