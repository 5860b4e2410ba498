/* The builder: the only way operations are made.
   It checks types (an ill-typed request is an internal error), folds constants and exact identities, and shares equal
   pure operations of the region and of the regions around it.  Folding never changes a result's bits, signed zeros and
   NaN included: x * 1 is x, x + 0 is not.  `--strict` or not makes no difference here.

   A Builder points at the end of one region.  Loops, branches and functions are begun and ended:
       Op *loop = build_loop_begin(b, &spec);      // b is now inside
       ... loop_index(loop, 0), loop_carry(loop, 0), loop_acc(loop, 0) ...
       build_loop_end(b, loop, carries, outs);     // b is back outside; loop->results are there */
#ifndef GRADC_IR_BUILD_H
#define GRADC_IR_BUILD_H
#include "ir/ir.h"
#include "ir/size.h"

typedef struct Builder Builder;
typedef struct ValueMap ValueMap;
/* Called for each operation that is about to be copied; true: it has been dealt with, its results are in the map. */
typedef bool CopyHook(Builder *b, const Op *op, ValueMap *map, void *arg);
struct Builder {
  Module *module;
  Func *func;
  Region *region; /* operations are added at its end */
  Range loc;      /* given to what is made */
  const Op *origin;
  const Region *share_top; /* equal operations are looked for up to this region; NULL: in all regions around */
  CopyHook *hook;
  void *hook_arg;
};

Builder build_into(Func *f, Region *r);

/* ---- constants */
Value *build_float(Builder *b, Kind k, double v); /* f32: v is rounded to float */
Value *build_int(Builder *b, Kind k, int64_t v);  /* integers and bool; i32 wraps */
/* A number of any numeric kind. */
Value *build_number(Builder *b, Kind k, double v);
Value *build_size(Builder *b, const Size *s); /* an i64; a constant or the atom itself where it is one */
Value *build_full(Builder *b, Type t, Value *scalar);
Value *build_zeros(Builder *b, Type t); /* also for rank 0 */

/* ---- scalar operations; operands of one kind (select: bool, then two of one type of any rank) */
Value *build_unary(Builder *b, Opcode op, Value *x);
Value *build_powi(Builder *b, Value *x, int64_t n);
Value *build_polygamma(Builder *b, Value *x, int64_t order);
Value *build_binary(Builder *b, Opcode op, Value *x, Value *y);
Value *build_select(Builder *b, Value *c, Value *x, Value *y);
Value *build_pow_below(Builder *b, Value *x, Value *y, Value *r);
Value *build_cast(Builder *b, Kind k, Value *x);
static inline Value *build_add(Builder *b, Value *x, Value *y) {
  return build_binary(b, OP_ADD, x, y);
}
static inline Value *build_sub(Builder *b, Value *x, Value *y) {
  return build_binary(b, OP_SUB, x, y);
}
static inline Value *build_mul(Builder *b, Value *x, Value *y) {
  return build_binary(b, OP_MUL, x, y);
}
static inline Value *build_div(Builder *b, Value *x, Value *y) {
  return build_binary(b, OP_DIV, x, y);
}
static inline Value *build_neg(Builder *b, Value *x) {
  return build_unary(b, OP_NEG, x);
}

/* ---- tensors.  `checks`: bit j set: index j must be tested against its axis; the builder clears a bit that it can
   prove (index and size known through size_nonnegative).  n indices; the result is the rest of the axes. */
Value *build_index(Builder *b, Value *x, int n, Value *const *idx, uint64_t checks);
Value *build_update(Builder *b, Value *x, Value *v, int n, Value *const *idx, uint64_t checks);
void build_acc_add(Builder *b, Value *acc, Value *v, int n, Value *const *idx, uint64_t checks);
Value *build_reshape(Builder *b, Value *x, Type t); /* counts must be equal, or a require before must have settled it */
/* text: the message of the run-time error.  Its beginning tells the status: "index " or "range ": out of range; "size
   ": a bad size; "matrix ": not factorable; else a failed require (texts of users that begin so are told apart by the
   front end). */
void build_require(Builder *b, Value *cond, const char *text);

/* ---- flow */
typedef struct LoopSpec {
  int nindices;
  const Size *const *extents;
  const char *const *index_names; /* or NULL */
  int ncarries;
  Value *const *carry_inits;
  int naccs;
  Value *const *acc_inits;
  int nouts;
  const OutKind *outs;
  int checkpoint;
  const Size *states;
} LoopSpec;
/* As the loop of `info`, over these extents; `inits`: for its carries, then for its accumulators. */
static inline LoopSpec loop_spec_like(const LoopInfo *info, const Size *const *extents, Value *const *inits) {
  return (LoopSpec){.nindices = info->nindices,
                    .extents = extents,
                    .ncarries = info->ncarries,
                    .carry_inits = inits,
                    .naccs = info->naccs,
                    .acc_inits = inits + info->ncarries,
                    .nouts = info->nouts,
                    .outs = info->outs,
                    .checkpoint = info->checkpoint,
                    .states = info->states};
}
Op *build_loop_begin(Builder *b, const LoopSpec *spec);
/* carries: ncarries next values; outs: nouts yielded values.  A size among the extents may have been replaced meanwhile
   with loop_set_extent; result types are made here. */
void build_loop_end(Builder *b, Op *loop, Value *const *carries, Value *const *outs);
/* For ranges whose end is found out from the body: begin with any placeholder, set before build_loop_end. */
void loop_set_extent(Op *loop, int i, const Size *extent);
static inline Value *loop_index(const Op *loop, int i) {
  return loop->regions[0]->params[i];
}
static inline Value *loop_carry(const Op *loop, int i) {
  return loop->regions[0]->params[loop->at.loop->nindices + i];
}
static inline Value *loop_acc(const Op *loop, int i) {
  return loop->regions[0]->params[loop->at.loop->nindices + loop->at.loop->ncarries + i];
}
static inline Value *loop_carry_result(const Op *loop, int i) {
  return loop->results[i];
}
static inline Value *loop_acc_result(const Op *loop, int i) {
  return loop->results[loop->at.loop->ncarries + i];
}
static inline Value *loop_out(const Op *loop, int i) {
  return loop->results[loop->at.loop->ncarries + loop->at.loop->naccs + i];
}

/* A loop that is being built may be widened: one more accumulator, its handle returned; the kinds of its outs set anew.
 */
Value *loop_add_acc(Module *m, Op *loop, Value *init);
void loop_set_outs(Module *m, Op *loop, int n, const OutKind *outs);
/* One more carry, before any accumulator is added; the value in this iteration is returned. */
Value *loop_add_carry(Module *m, Op *loop, Value *init);
/* Moves what was appended after `at` in its region to before it: initial values of a loop that is being widened. */
void op_settle_before(Op *at);
/* One more out of a finished loop: a value of its body, stacked or reduced. */
Value *loop_add_out(Module *m, Op *loop, OutKind kind, Value *inner);
/* One more accumulator of a finished loop: its handle, to which nothing is added yet, and its result. */
Value *loop_widen_by_acc(Module *m, Op *loop, Value *init, const char *name, Value **result);
/* One more accumulator of a finished loop, to which a value of its body is added at the loop's indices: a stack, filled
   up with what `init` has where the loop is shorter than its axes.  Its result. */
Value *loop_add_padded(Module *m, Op *loop, Value *init, Value *inner);
/* A stack of what a value of its body was in each iteration. */
Value *loop_record(Module *m, Op *loop, Value *inner);

/* if: begin is inside the first branch; build_if_else goes to the second.  Yields of both have equal types. */
Op *build_if_begin(Builder *b, Value *cond);
void build_if_else(Builder *b, Op *op, int n, Value *const *yields);
void build_if_end(Builder *b, Op *op, int n, Value *const *yields);

/* while: begin is inside the condition region (params: the carries); build_while_body with the bool goes to the body
   (its own params).  results: the final carries, then the trip count (i64). */
Op *build_while_begin(Builder *b, int ncarries, Value *const *inits);
void build_while_body(Builder *b, Op *op, Value *cond);
void build_while_end(Builder *b, Op *op, Value *const *carries);

/* operands: all of the callee's parameters, sizes first.  op->results. */
Op *build_call(Builder *b, Func *callee, Value *const *args);
/* Ends a function's body. */
void build_return(Builder *b, int n, Value *const *results);

/* ---- copying.  A ValueMap takes values of one place to values of another; sizes in types follow it. */
struct ValueMap {
  Arena *arena;
  struct ValueMapEntry *table;
  size_t n, cap;
  const struct ValueMap *outer; /* asked where this one has no answer; or NULL */
};
void map_put(ValueMap *m, const Value *from, Value *to);
Value *map_get(const ValueMap *m, const Value *from); /* NULL where unknown */
/* The value's image, or the value itself where unknown: captured from around the copy. */
Value *map_value(const ValueMap *m, Value *v);
/* Each entry of the map itself (not of the outer ones). */
typedef void MapVisit(const Value *from, Value *to, void *arg);
void map_each(const ValueMap *m, MapVisit *visit, void *arg);
const Size *map_size(Module *m, const ValueMap *map, const Size *s);
Type map_type(Module *m, const ValueMap *map, Type t);
/* Copies one operation with all below it through the builder (so it may fold away) and enters its results in the map.
   loc and origin of the copy are the original's. */
void build_copy_op(Builder *b, const Op *op, ValueMap *map);
/* Copies all operations of a region (not its yields; its parameters must be in the map). */
void build_copy_region(Builder *b, const Region *r, ValueMap *map);

/* Makes a function's body anew through the builder, in a region of its own with the same parameters: folded, shared,
   and changed as the hook (may be NULL) sees fit. */
void func_rebuild(Func *f, CopyHook *hook, void *arg);

/* ---- facts */
bool value_is_const(const Value *v);
bool value_is_float_const(const Value *v, double *out); /* out may be NULL */
bool value_is_int_const(const Value *v, int64_t *out);  /* integers and bool */
bool value_is_zero(const Value *v);                     /* constant 0 of any kind (either sign), or a full of it */
#endif
