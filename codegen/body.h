/* What the files of the lowering share.  A Unit is a module being lowered, a Body one LLVM function that is being
   written.

   Conventions of the code:
     i1 in registers, a byte of 0 or 1 in memory, for bool; i64 for sizes and indices.
     A function of the IR becomes
         i32 status  name.ad(ptr context, ptr work, i64 wanted, its parameters.., a pointer for each result)
     with scalars by value, tensors as pointers; `wanted` is the set of results that are (codegen/wanted.c).  Memory
   that is written overlaps nothing that the function reads. A check that fails leaves the function with a status;
   whoever acquired memory gives it back. */
#ifndef GRADC_CODEGEN_BODY_H
#define GRADC_CODEGEN_BODY_H
#include "codegen/lower.h"
#include "codegen/vector.h"
#include "codegen/workspace.h"

enum { FIRST_PARAM = 3 }; /* of an LLVM function, before the function's own */

typedef struct SizeCache SizeCache;

/* The code of a loop, from a block on that only one other leads to, up to one that it leads to; nests inside of it have
   the numbers up to `next`. */
typedef struct Nest {
  LLVMBasicBlockRef begin, end;
  int next;
} Nest;

#define SCRATCH "scratch" /* how names of places of the frame begin that hold nothing between two loops */

typedef struct Unit {
  Module *module;
  const CodegenOptions *options;
  Arena *arena;
  LLVMContextRef context;
  LLVMModuleRef llvm;
  LLVMTypeRef i1, i8, i32, i64, f32, f64, ptr, nothing;
  LLVMFastMathFlags fast;        /* of arithmetic */
  LLVMFastMathFlags fast_reduce; /* of what a reduction or an accumulator is updated with */
  int vector_bits;               /* of the widest vectors */
  bool has_fma;                  /* x * y + z with one rounding is an instruction */
  int lanes;                     /* type_of_kind() gives vectors of so many; 0: scalars */
  const char *triple;
  bool sign_extends; /* C passes an int sign-extended to the register */
  LLVMMetadataRef scope_domain;
  LLVMMetadataRef plain_loop[2]; /* what tells LLVM to leave a loop alone */
  struct DebugInfo *debug;       /* NULL without -g */
  VEC(Nest) nests;               /* outer ones first */
} Unit;

typedef struct Body {
  Unit *unit;
  Func *func;
  FuncStorage *storage;
  WorkPlan *plan;
  LLVMValueRef code;
  LLVMBuilderRef at;    /* where instructions are appended */
  LLVMBuilderRef entry; /* in the first block, for what is computed once: before its last instruction */
  LLVMValueRef *params; /* by number of the function's parameter */
  LLVMValueRef context, work;
  LLVMValueRef wanted;         /* NULL: all that is made is */
  LLVMValueRef lanes;          /* threads that may take part in a call that runs in blocks; NULL: there is none */
  LLVMValueRef *slots;         /* addresses in the workspace, by slot of the plan */
  LLVMMetadataRef *scope;      /* alias scopes, by slot and then by output */
  LLVMMetadataRef (*lists)[2]; /* of each, once it has been asked for: it alone, and all others */
  int nscopes;                 /* 0: there are too many */
  SizeCache *sizes;
  LLVMValueRef row_arrays[KIND_F64 + 1][8], long_row[KIND_F64 + 1]; /* of codegen/lower_rows.c */
  LLVMValueRef tile_panel, tile_sums;                               /* of codegen/lower_tiles.c */
  VectorLoop *vector; /* the loop that is being written in vectors, or NULL */
  bool loose_zeros;   /* products that are marked loose are plain ones */
  bool exact_zeros;   /* a loop runs again with none */
  bool bare_zeros;    /* those that are marked bare are, all through the function */
  int turn, looks;    /* codegen/group.c: what stands before it has been written */
  bool plain_loops;   /* LLVM leaves the loops that are written as they are: no vectors, no unrolling */
  bool outlines;      /* nests of the function may become functions */
  bool inside_nest;   /* of one that has no others */
  Range loc;
  LLVMMetadataRef subprogram; /* -g */
} Body;

/* ---- lower.c */
void unit_begin(Unit *u, Module *m, const CodegenOptions *o, LLVMContextRef context, LLVMTargetMachineRef tm);

/* ---- settle.c: takes away checks of indices that the branches around them settle */
void settle_checks(Func *f);

/* ---- unit.c */
LLVMTypeRef type_of_kind(Unit *u, Kind k); /* in registers */
LLVMTypeRef memory_type(Unit *u, Kind k);
LLVMAttributeRef attribute(Unit *u, const char *name, uint64_t value);
/* Only reads its arguments, whatever errno and the exception flags would be: nothing reads these. */
void mark_pure(Unit *u, LLVMValueRef f);
/* A function of the runtime or of C, declared at first use. */
LLVMValueRef declared(Unit *u, const char *name, LLVMTypeRef result, int nparams, const LLVMTypeRef *params);
/* A function of the user's, whatever else may be declared of that name; and a call of it. */
LLVMValueRef foreign_function(Unit *u, const char *name, LLVMTypeRef result, int nparams, const LLVMTypeRef *params);
LLVMValueRef call_foreign(Body *b, LLVMValueRef f, LLVMTypeRef type, int nargs, LLVMValueRef *args);
LLVMValueRef call_declared(Body *b, LLVMValueRef f, int nargs, LLVMValueRef *args);
LLVMValueRef call_intrinsic(Body *b, const char *name, int ntypes, LLVMTypeRef *types, int nargs, LLVMValueRef *args);
LLVMValueRef text_constant(Unit *u, const char *text); /* a pointer; NULL gives a null pointer */
LLVMValueRef const_i64(Unit *u, int64_t x);
enum { MOST_SCOPES = 64 };                                        /* each access names all others */
LLVMMetadataRef self_node(Unit *u, int n, LLVMMetadataRef *rest); /* a node that is unlike all others */
void set_metadata(Unit *u, LLVMValueRef v, const char *kind, LLVMMetadataRef node);
LLVMBasicBlockRef new_block(Body *b, const char *name);
/* Goes on in the block. */
void begin_block(Body *b, LLVMBasicBlockRef block);
LLVMBasicBlockRef current_block(Body *b);
LLVMValueRef entry_alloca(Body *b, LLVMTypeRef type, int64_t count, unsigned align, const char *name);
void set_location(Body *b, Range loc);

/* ---- body.c */
void body_begin(Body *b, Unit *u, Func *f, LLVMValueRef code);
void body_end(Body *b);

/* ---- fail.c: each goes on where `bad` is false. */
void fail_if(Body *b, LLVMValueRef bad, int status, const char *message);
void fail_index_if(Body *b, LLVMValueRef bad, LLVMValueRef index, LLVMValueRef size);
void fail_size_if(Body *b, LLVMValueRef bad, LLVMValueRef size);
void fail_memory_if(Body *b, LLVMValueRef bad, LLVMValueRef bytes);
void fail_workspace_if(Body *b, LLVMValueRef bad, LLVMValueRef given, LLVMValueRef needed);
void fail_require_if(Body *b, LLVMValueRef bad, const char *text);
/* Leaves the function with this status where it is not 0. */
void fail_status(Body *b, LLVMValueRef status);

void mark_unlikely(Unit *u, LLVMValueRef branch); /* the first way is the rare one */

/* ---- outline.c */
typedef struct NestMark {
  int number; /* -1: none */
  bool around;
} NestMark;
/* Around a loop's code. */
void nest_begin(Body *b, const Op *op, NestMark *mark);
void nest_end(Body *b, const NestMark *mark);
/* When functions are written: nests like others, and those of large functions, become functions. */
void outline_nests(Unit *u);

/* ---- loose.c */
typedef void LoopLowering(Body *b, const Op *loop);
/* Whether the loop only reduces and has products that may be plain ones at first; marks these. */
bool has_loose_products(const Body *b, const Op *loop);
/* Whether the iterations of a loop that runs in vectors, and may do one twice, have such products; marks these. */
bool iterations_are_loose(const Body *b, const Op *loop);
/* The loop by `lower`, with these, and again without where a sum is not finite. */
void lower_loosely(Body *b, const Op *loop, LoopLowering *lower);
LLVMValueRef zero_if_finite(Body *b, LLVMValueRef x); /* else NaN; of lanes, for each */
/* What is appended between begin and end runs where `zero` is NaN, with no loose products. */
typedef struct Again {
  LLVMBasicBlockRef after;
  bool loose, plain;
} Again;
void again_begin(Body *b, Again *a, LLVMValueRef zero);
void again_end(Body *b, const Again *a);

/* ---- bare.c */
/* Whether the function has few results and products that may be plain ones at first, all through it; marks these. */
bool mark_bare_products(const Unit *u, Func *f);
/* What the arithmetic that makes v may do besides: bare.c. */
LLVMFastMathFlags bare_flags(const Body *b, const Value *v);
/* In an export, of the function's i-th result, which the pointer leads to. */
LLVMValueRef any_result_is_nan(Body *b, int i, LLVMValueRef result);

/* ---- lower_size.c */
LLVMValueRef size_code(Body *b, const Size *s);
/* The same, wherever a quotient in it might be by zero, which is checked. */
LLVMValueRef size_code_checked(Body *b, const Size *s);
/* kind: ATOM_MIN or ATOM_MAX. */
LLVMValueRef lesser_or_greater(Body *b, AtomKind kind, LLVMValueRef x, LLVMValueRef y);
LLVMValueRef extent_code(Body *b, const Size *s); /* not below 0 */
LLVMValueRef count_code(Body *b, Type t);
LLVMValueRef bytes_code(Body *b, Type t);
/* Checks the sizes of a tensor that is about to be made. */
void check_type(Body *b, Type t);

/* ---- work_code.c */
/* The places of the function get their addresses, but those that are pushed. */
void work_begin(Body *b);
/* Pushes for a place with ROOM_DYNAMIC. */
void work_push(Body *b, Place *p);
LLVMValueRef work_push_bytes(Body *b, LLVMValueRef bytes); /* checked */
/* The function that computes the size of f's workspace. */
void work_function(Unit *u, Func *f);
LLVMValueRef sizing_begin(Body *b, Unit *u, Func *f, const char *name, bool lanes, LLVMTypeRef *type);
void sizing_end(Body *b, LLVMValueRef result);
LLVMValueRef need_code(Body *b, const Need *need); /* in such a function; saturates */
LLVMValueRef work_bytes_of_call(Body *b, const Op *call);

/* ---- work_pushed.c */
/* A bound of the bytes that a call with these parameters pushes at run time, as far as they bound it. */
LLVMValueRef pushed_bytes(Body *b, LLVMValueRef *params);
/* The number of bytes for a tensor; INT64_MAX where it overflows. */
LLVMValueRef saturated_bytes(Body *b, Type t);
LLVMValueRef saturating_add(Body *b, LLVMValueRef x, LLVMValueRef y);
LLVMValueRef saturating_mul(Body *b, LLVMValueRef x, LLVMValueRef y);

/* ---- lower_scalar.c, math.c */
/* A scalar operation on operands that are given; op gives kinds and attributes. */
LLVMValueRef scalar_code(Body *b, const Op *op, LLVMValueRef *x);
LLVMValueRef constant_code(Body *b, const Op *op);
LLVMValueRef arithmetic(Body *b, Opcode op, Kind k, LLVMValueRef x, LLVMValueRef y, LLVMFastMathFlags fast);
LLVMValueRef min_max(Body *b, bool max, Kind k, LLVMValueRef x, LLVMValueRef y);
bool power_is_root(const Op *op);                               /* a power made of a square root and products */
LLVMValueRef math_code(Body *b, const Op *op, LLVMValueRef *x); /* NULL: no such function */

/* ---- memory.c */
LLVMValueRef value_code(Body *b, const Value *v);
void set_value(const Value *v, LLVMValueRef code);
LLVMValueRef element_address(Body *b, Kind k, LLVMValueRef base, LLVMValueRef offset);
/* The address of x[idx..], x being a tensor or an accumulator; checks as for index. */
LLVMValueRef part_address(Body *b, const Value *x, int n, Value *const *idx, uint64_t checks);
/* `of`: the tensor that the address is in, for what is known of its memory; or NULL. */
LLVMValueRef load_element(Body *b, Kind k, LLVMValueRef address, const Value *of);
void store_element(Body *b, Kind k, LLVMValueRef x, LLVMValueRef address, const Value *of);
bool is_full(const Value *v); /* one scalar everywhere */
void copy_tensor(Body *b, Type t, LLVMValueRef to, LLVMValueRef from);
void fill_tensor(Body *b, Type t, LLVMValueRef to, const Value *full);
void add_tensor(Body *b, const Value *x, LLVMValueRef to, const Value *acc);
LLVMValueRef address_of(Body *b, const Place *p);
/* Takes the edges at one point, of which some may be NULL. */
void take_edges(Body *b, int n, Edge *const *edges);
bool edge_is_free(const Edge *e);

/* ---- lower_region.c */
/* All operations; then yields can be read.  What it returns is for region_pop when they have been. */
LLVMValueRef lower_region(Body *b, const Region *r);
/* The operations of a region from first up to end, which is one of them or NULL; nothing is pushed or guarded. */
void lower_ops_until(Body *b, const Op *first, const Op *end);
void region_pop(Body *b, LLVMValueRef mark);
void lower_op(Body *b, const Op *op);

/* ---- group.c */
/* Finds calls that run together, if there may be some; then each operation of the region is handed to group_op. */
bool groups_begin(Body *b, const Region *r);
void groups_end(const Region *r);
bool group_op(Body *b, const Op *op); /* true if the operation has been written, now or before */
/* ---- lower_literal.c */
/* True if the update begins a tensor that is written out, and its constants have been copied: these updates are
   in_data. */
bool lower_literal(Body *b, const Op *first);
/* The element that an update of one scalar writes, by its constant indices; -1: not known. */
int64_t literal_element(const Op *op);
/* The next update of the chain: nothing else looks at its result before it, and it is done in place; or NULL. */
const Op *literal_next(const Op *op);
/* ---- lower_loop.c */
void lower_loop(Body *b, const Op *op);
void lower_while(Body *b, const Op *op);
/* ---- concat.c */
void concat_places(Body *b); /* addresses of places that are part of others, which have theirs */
void lower_concat(Body *b, const Op *loop);
/* A counted loop 0 <= i < n around what is appended between begin and end. */
typedef struct CountedLoop {
  LLVMBasicBlockRef before, header, body, latch, after;
  LLVMValueRef start, index; /* start: 0, unless it is set before the end */
} CountedLoop;
void counted_begin(Body *b, CountedLoop *l, LLVMValueRef n, const char *name);
void counted_end(Body *b, CountedLoop *l);

/* ---- lower_product.c */
/* The room for a product of matrices of so many rows, columns and steps; `each`: the bytes of a number. */
LLVMValueRef product_bytes(Body *b, int each, LLVMValueRef *sizes);

/* ---- lower_kernel.c */
void lower_kernel_call(Body *b, const Op *op);

/* ---- vector_code.c, vector_memory.c, vector_loop.c */
/* In a loop that is written in vectors: true if the operation is varying, and has been written. */
bool vector_op(Body *b, const Op *op);
LLVMValueRef vector_value(Body *b, const Value *v); /* uniform values are spread over the lanes */
LLVMValueRef vector_spread(Body *b, LLVMValueRef x, int lanes);
/* Runs the loop's last index from 0 as far as whole vectors go, and returns where that is.  reductions: the state of
   each out that is reduced, taken on. */
LLVMValueRef vector_part(Body *b, const Op *op, LLVMValueRef extent, LLVMValueRef **reductions);
void vector_loop(Body *b, const Op *op); /* a loop inside one that runs in vectors */
typedef struct Lanes {                   /* a tensor as its lanes have it, at some element */
  Layout layout;
  LLVMValueRef base;   /* LANES: of element 0; STRIDED: of lane 0's element 0 */
  LLVMValueRef stride; /* STRIDED: elements from lane to lane */
} Lanes;
Lanes lanes_of(Body *b, const Value *x);
LLVMValueRef lanes_load(Body *b, Kind k, Lanes from, LLVMValueRef offset); /* uniform offset */
void lanes_store(Body *b, Kind k, LLVMValueRef x, Lanes to, LLVMValueRef offset);
/* All elements of x to another place. */
void lanes_copy(Body *b, const Value *x, Lanes to);
/* Offset in elements of x[idx..]; the indices must be uniform; checked. */
LLVMValueRef lanes_offset(Body *b, const Value *x, int n, Value *const *idx, uint64_t checks);
void vector_index(Body *b, const Op *op);
/* What the last vector, which begins at `first`, reads where others write. */
void vector_load_early(Body *b, LLVMValueRef first);
void vector_update(Body *b, const Op *op);
void vector_acc_add(Body *b, const Op *op);
/* Panels of the loop that runs in vectors: whether they are small enough, NULL: they are; before it, and behind it. */
LLVMValueRef panels_fit(Body *b, const struct VectorLoop *v);
void panels_clear(Body *b);
void panels_sum(Body *b);
void panel_acc_add(Body *b, const struct Panel *p, LLVMValueRef offset, LLVMValueRef x);
LLVMValueRef vector_sum(Body *b, Kind k, LLVMValueRef x); /* of the elements of any vector */
/* n elements from `first` on. */
LLVMValueRef vector_part_of(Body *b, LLVMValueRef x, int first, int n);
/* Adds the lanes' sum to an element of an accumulator of the loop. */
void vector_add_sum(Body *b, const Value *handle, LLVMValueRef offset, LLVMValueRef x);
LLVMValueRef vector_indices(Body *b, LLVMValueRef first); /* of the lanes */
LLVMValueRef vector_reduced(Body *b, OutKind out, Kind k, LLVMValueRef x);
void vector_store_out(Body *b, const Op *op, int out); /* the lanes' scalars, in a stack */
/* Of what an iteration with loose products stores. */
void vector_watch(Body *b, Kind k, LLVMValueRef x);
LLVMValueRef vector_slot(Body *b, const Op *op,
                         int out); /* of a stack of the loop itself: where lane 0's part begins */

/* ---- lower_parallel.c */
/* What callers need to run f in blocks. */
void part_functions(Unit *u, Func *f);
void lower_part_call(Body *b, const Op *op, LLVMValueRef wanted);

/* ---- lower_func.c, lower_export.c */
void declare_func(Unit *u, Func *f);
void lower_func(Unit *u, Func *f);
/* Constant sizes, and operations so few that each of its exports may hold a copy of it: a call costs then what it
   computes. */
bool has_few_ops(const Func *f);
void lower_export(Unit *u, const Export *e);

/* ---- lower_tape.c: exports that are cut in two.  In the C functions of an export, when its other arguments are bound.
 */
/* The computed sizes are bound; returns the status of computing them, or NULL: there are none. */
LLVMValueRef bind_computed_sizes(Body *b, const Export *e);
/* The bytes, or INT64_MAX after a status (may be NULL) that is not 0. */
LLVMValueRef unless_failed(Body *b, LLVMValueRef status, LLVMValueRef bytes);
/* Of each tensor of the tape; checked. */
void tape_addresses(Body *b, const Export *e, LLVMValueRef tape, LLVMValueRef *addresses);
/* The rest of the function that tells the tape's bytes. */
void lower_tapesize(Body *b, const Export *e);

/* ---- debug.c */
void debug_begin(Unit *u);
void debug_end(Unit *u);
void debug_function(Body *b, const char *name, Range loc);
#endif
