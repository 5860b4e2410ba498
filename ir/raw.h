/* Operations as they are, with no folding, sharing or checking: what the builder, the textual parser and passes that
   edit in place are made of.  Everyone else uses ir/build.h. */
#ifndef GRADC_IR_RAW_H
#define GRADC_IR_RAW_H
#include "ir/ir.h"

/* A value of no place yet; it takes the module's next uid. */
Value *value_new(Module *m, Type t, const char *name);
/* An operation of no region yet.  Its three arrays are allocated, with NULL elements. */
Op *op_new(Module *m, Opcode code, int noperands, int nresults, int nregions);
/* Makes result i of op. */
Value *op_set_result(Module *m, Op *op, int i, Type t, const char *name);
/* An empty region.  owner: the operation that it is to be part of (op->regions[i] is set by the caller), or NULL. */
Region *region_new(Module *m, Func *f, Op *owner);
Value *region_add_param(Module *m, Region *r, Type t, const char *name);
/* Sets the yields; the array is copied. */
void region_set_yields(Module *m, Region *r, int n, Value *const *yields);
/* Links op at the end of r, or before `at`; op and its results then belong to that region. */
void region_append(Region *r, Op *op);
void op_insert_before(Op *at, Op *op);
void op_insert_after(Op *at, Op *op);
typedef struct Builder Builder;
/* Appends op, whose results are made, to the builder's region; or gives an equal one made before that is in sight. */
Op *op_shared(Builder *b, Op *op);
/* Takes op out of its region. */
void op_unlink(Op *op);
/* A builder whose operations are to be part of r, made in a region of their own: they share with nothing that is there.
   build_settle moves them before `at`, or to the end of r where that is NULL. */
Builder build_aside(Region *r);
void build_settle(const Builder *b, Region *r, Op *at);
LoopInfo *loop_info_new(Module *m, int nindices, int ncarries, int naccs, int nouts);
/* The name that a result has in C: its own, or value, or value<r> where the function has several unnamed ones. */
const char *func_result_name(const Func *f, int r);
/* Whether a function that derives another has the parameters and results that its Derive says. */
bool func_derive_matches(Func *f);
/* Whether `rule` has the signature of an own rule of f; op: DERIVE_VJP or DERIVE_JVP. */
bool func_rule_matches(Func *f, Func *rule, DeriveOp op);
#endif
