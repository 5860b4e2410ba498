/* The plan of a function's workspace: which places get room in it, and how large it is.

   The workspace is a row of slots.  A slot serves places whose extents in the program do not overlap, so its size is
   the largest of theirs.  Sizes are formulas over what is known when the function begins: its integer parameters and
   what is computed from them alone ("known at entry").  A size that depends on the index of a loop is taken at the end
   of the index's range where it is largest.  What cannot be bounded so is pushed and popped at run time.

   All sizes are multiples of WORK_ALIGNMENT bytes. */
#ifndef GRADC_CODEGEN_WORKSPACE_H
#define GRADC_CODEGEN_WORKSPACE_H
#include "codegen/storage.h"

enum { WORK_ALIGNMENT = 64 };

typedef struct Need Need;
typedef enum NeedKind { NEED_TENSOR, NEED_PRODUCT, NEED_COUNT, NEED_SUM, NEED_MAX, NEED_CALL } NeedKind;

/* The largest of some sizes known at entry, and of 0. */
typedef struct Bound {
  const Size *const *choices;
  int n;
} Bound;

/* A number of bytes; for a PRODUCT as product_bytes() gives it for the rows, columns and steps in dims.  Or, with COUNT
   in the place of TENSOR, of whatever is counted: these are not rounded up. */
struct Need {
  NeedKind kind;
  int element_bytes; /* TENSOR, COUNT */
  int most_bytes;    /* TENSOR: not more than that; 0: as many as there are */
  int rank;
  const Bound *dims;
  VEC(const Need *) parts; /* SUM, MAX */
  Func *callee;            /* CALL: the workspace of that function, for */
  const Size **args;       /* these values of its integer parameters; NULL where it does not matter */
};

typedef struct WorkPlan {
  Need *slots;           /* a SUM; each part a MAX */
  bool uses_context;     /* something is pushed, here or in a function called */
  bool uses_lanes;       /* there is a call that runs in blocks, here or in a function called: codegen/parallel.h */
  struct PartPlan *part; /* of a function that callers may run in blocks; or NULL */
  bool *uses_param;      /* the sizes depend on it */
  int frame_bytes;       /* of all places with ROOM_FRAME */
} WorkPlan;

/* Decides the room of every place and of every call.  Plans of the functions called must have been made. */
WorkPlan *workspace_plan(FuncStorage *f, bool threads);
/* Sizes known at entry that bound s; false where there are none. */
bool need_bound(Module *m, const Size *s, Bound *out);
/* Whether the function is given a context. */
static inline bool needs_context(const WorkPlan *plan) {
  return plan->uses_context || plan->uses_lanes;
}
/* An integer scalar parameter of a function. */
bool is_work_param(const Value *v);
/* Whether v is known at entry; then its value depends on parameters for which is_work_param() holds, and constants,
 * alone. */
bool known_at_entry(const Value *v);

/* What a function's lowering keeps: hangs on func->note. */
typedef struct FuncNote {
  FuncStorage *storage;
  WorkPlan *plan;
  LLVMValueRef code, work_code; /* the LLVM function; that which computes its workspace's size, or NULL */
  LLVMValueRef bare_code;       /* the version with plain products, for exports, or NULL: codegen/bare.c */
  LLVMTypeRef type, work_type;
  /* With a part: the length of a block, and the bytes for all of them and so many lanes, of what work_code takes; what
     the runtime calls for each block, with a pointer to block_frame. */
  LLVMValueRef length_code, area_code, block_code;
  LLVMTypeRef length_type, area_type, block_frame;
  LLVMValueRef pushed_code, needed_code; /* codegen/work_pushed.c; NULL: not made yet */
  bool planning, is_exported, is_part;   /* a part of an export, one of several */
} FuncNote;
static inline FuncNote *func_note(const Func *f) {
  return f->note;
}
#endif
