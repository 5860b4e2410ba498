/* Numbers of computations across two loops: values of the bodies of A and B with equal numbers are equal in the
   iterations that correspond.  The numbers are hashes of 128 bits over the whole computation, so that equality of
   numbers stands for equality of structure; a value that cannot be compared (calls, accumulators, `while`) has a number
   of its own. */
#ifndef GRADC_PASSES_NUMBER_H
#define GRADC_PASSES_NUMBER_H
#include "ir/build.h"

typedef struct Number {
  uint64_t x, y;
} Number;

typedef struct Numbering {
  Arena *arena;
  const Op *a, *b;
  Value *step; /* B's value for A's one index, where B runs backwards; NULL: B's indices are A's */
} Numbering;

static inline bool number_equal(Number p, Number q) {
  return p.x == q.x && p.y == q.y;
}
/* What tells two operations of one code and equal operands apart, but for sizes and checks of indices. */
uint64_t op_attribute(const Op *op);
/* Of plain operations with a scalar result: whether a, given b's operands, does what b does, and tests as much. */
bool op_does_same(const Op *a, const Op *b);
/* Forgets what the values of a body were numbered. */
void numbers_reset(const Region *r);
/* v: of A's body, of B's body, or from around both. */
Number number_of_value(const Numbering *n, Value *v);
/* Of an operation of one operand that has this number. */
Number number_of_unary(Opcode op, Kind kind, Number operand);
Number number_of_size(const Numbering *n, const Size *s);
#endif
