/* Shared by the files of the reference evaluator (ir/eval*.c); see ir/eval.h.
   One Frame is one activation of a function; it has a slot for each value of the function.  A slot is set when the
   operation that defines the value runs, and again at the next iteration of the loop around it.
   Tensors live in scratch memory that is a stack: whatever has regions marks it, runs the region, copies the yields
   into memory taken before the mark, and releases what is above.  Values never change, so that an array may be part of
   another: a row, a reshape.  Accumulators are the exception, and nothing reads them before their loop has ended. */
#ifndef GRADC_IR_EVAL_INTERNAL_H
#define GRADC_IR_EVAL_INTERNAL_H
#include "ir/eval.h"
#include "ir/size.h"

typedef struct ScratchChunk ScratchChunk;
typedef struct Scratch {
  ScratchChunk *top;
  ScratchChunk *spare; /* one chunk kept, so that a loop at the edge of a chunk does not allocate each time */
} Scratch;
typedef struct ScratchMark {
  ScratchChunk *chunk;
  size_t used;
} ScratchMark;

typedef struct Slot {
  Array array;
  uint64_t scalar; /* the element of a value of rank 0 */
} Slot;

typedef struct Evaluator {
  Scratch scratch;
  int status;
  char *message;
  size_t message_size;
  int depth; /* of calls */
} Evaluator;

typedef struct Frame {
  Evaluator *evaluator;
  Slot *slots; /* by eval_slot() */
} Frame;

/* False where the call has failed: status and message are then set, and all around returns false. */
typedef bool EvalOp(Frame *frame, const Op *op);
#define OP(code, name, group, arity, result, effect, reads) EvalOp eval_##code;
#include "ir/ops.def"
#undef OP

bool eval_region(Frame *frame, const Region *r);
/* args: all parameters of f.  Results are in scratch memory. */
bool eval_activation(Evaluator *e, Range loc, Func *f, const Array *const *args, Array *results);
bool eval_fail(Frame *frame, Range loc, int status, const char *fmt, ...) __attribute__((format(printf, 4, 5)));

ScratchMark scratch_mark(const Scratch *s);
void scratch_release(Scratch *s, ScratchMark mark);
/* Zeroed; NULL without memory. */
void *scratch_alloc(Scratch *s, size_t bytes);
void scratch_free(Scratch *s);

Slot *eval_slot(Frame *frame, const Value *v);
static inline const Array *eval_value(Frame *frame, const Value *v) {
  return &eval_slot(frame, v)->array;
}
static inline const Array *eval_operand(Frame *frame, const Op *op, int i) {
  return eval_value(frame, op->operands[i]);
}

/* Gives v a value: a scalar is copied, a tensor shared. */
void eval_bind(Frame *frame, const Value *v, const Array *a);
void eval_bind_int(Frame *frame, const Value *v, int64_t x); /* integers (wrapping) and bool */
void eval_bind_float(Frame *frame, const Value *v, double x);

bool eval_size(Frame *frame, Range loc, const Size *s, int64_t *out);
/* A zeroed array of the type with its sizes as they are now. */
bool eval_new(Frame *frame, Range loc, Type t, Array *out);
size_t array_bytes(const Array *a);
static inline void *array_at(const Array *a, int64_t i) {
  return (char *)a->data + (size_t)i * (size_t)kind_bytes(a->kind);
}
/* Copies the elements of an array of the same shape. */
bool eval_copy(Frame *frame, Range loc, Array *to, const Array *from);
#endif
