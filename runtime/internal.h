// What generated code calls in the runtime: the binary interface between codegen/ and libgradc.a, not for users.
//
// All are plain C calls on pointers, int32_t, int64_t, float and double. The symbols are hidden, so that shared objects
// that each hold a copy of the runtime never see one another's.
#ifndef GRADC_INTERNAL_H
#define GRADC_INTERNAL_H

#include <stdint.h>

#include "gradc.h"

#if defined(__GNUC__) && !defined(_WIN32)
#define GRADC_HIDDEN __attribute__((visibility("hidden")))
#else
#define GRADC_HIDDEN
#endif

// -- Failures -------------------------------------------------------------------------------------------------------
// Each records "file:line: reason" for gradc_last_error on this thread and returns the status, so that generated code
// ends with `return gradc_rt_fail..(..)`. Nothing is allocated. A file that is NULL leaves out "file:line: ".

// `message` is taken as it stands: a % in it is a %.
GRADC_HIDDEN int32_t gradc_rt_fail(int32_t status, const char *file, int32_t line, const char *message);
// GRADC_OUT_OF_RANGE: "index 7 is out of range for an axis of 5".
GRADC_HIDDEN int32_t gradc_rt_fail_index(const char *file, int32_t line, int64_t index, int64_t size);
// GRADC_OUT_OF_RANGE: "range 2..9 is out of range for an axis of 5".
GRADC_HIDDEN int32_t gradc_rt_fail_range(const char *file, int32_t line, int64_t begin, int64_t end, int64_t size);
// GRADC_BAD_SIZE: "size -3 is negative"; a size that is not negative here is one that overflows.
GRADC_HIDDEN int32_t gradc_rt_fail_size(const char *file, int32_t line, int64_t size);
// GRADC_NO_MEMORY: "no memory for a workspace of 800 bytes"; GRADC_BAD_SIZE where `bytes` is negative or INT64_MAX,
// which is what a saturated size formula gives.
GRADC_HIDDEN int32_t gradc_rt_fail_memory(const char *file, int32_t line, int64_t bytes);
// GRADC_NO_MEMORY: "the workspace of 64 bytes is shorter than the 800 that are needed"; for name_ws. GRADC_BAD_SIZE as
// above. `needed` negative or INT64_MAX: overflows.
GRADC_HIDDEN int32_t gradc_rt_fail_workspace(const char *file, int32_t line, int64_t given, int64_t needed);

// -- Workspaces -----------------------------------------------------------------------------------------------------
// A call takes one workspace from its thread's arena, and gives it back before it returns, on every path. Calls nest
// (a foreign function may call back into generated code), so the workspaces of a thread are a stack; each level of it
// keeps its memory for the next call at that level, growing geometrically. Contents are not cleared.

// At least `bytes` bytes, 64-byte aligned, and not NULL even for 0; NULL when bytes is negative, overflows, or there is
// no memory.
GRADC_HIDDEN void *gradc_rt_acquire(int64_t bytes);
// Gives back a workspace, and with it any that a foreign function left above it by longjmp. NULL is allowed.
GRADC_HIDDEN void gradc_rt_release(void *workspace);

// -- Growing storage ------------------------------------------------------------------------------------------------
// For sizes that only the run tells (the tape of a `while`, a nested loop rerun with a local tape): a bump allocator
// whose context is the head of the workspace. It begins in the part of the workspace after the planned tensors; when
// that is used up it takes chunks from the thread's arena, or, where nothing may be allocated (name_ws), fails.
//
//   forward:  top = gradc_rt_mark(context); block = gradc_rt_push(context, bytes); ...
//   reverse:  ... gradc_rt_pop(context, top);
//
// Invariants. Marks are popped last in, first out; a pop gives up everything pushed or grown since its mark, so a block
// that has to outlive the pop must not be grown between the two. Blocks never move but by gradc_rt_grow. Chunks given
// up by a pop serve the next push. A context belongs to one thread.
typedef struct GradcContext {
  int64_t lanes;    // threads that may take part in a parallel call; first, for generated code reads and sets it
  char *at;         // the next free byte, 64-byte aligned
  char *end;        // the end of the chunk or buffer that `at` lies in
  char *buffer_end; // the end of the first, fixed part
  struct GradcChunk *chunk; // the chunk that `at` lies in, linked to those before it; NULL while in the buffer
  int64_t chunk_bytes;      // size of the largest chunk so far: the next is at least twice that
  int64_t may_allocate;     // 0: the buffer is all there is
  int64_t reserved;
} GradcContext;

// What codegen sets aside for a context, 64-byte aligned; sizeof(GradcContext) is no more on any target.
enum { GRADC_CONTEXT_BYTES = 64 };

// Begins a context over buffer[0..bytes), which may be empty, for one thread. `context` is 64-byte aligned memory of
// GRADC_CONTEXT_BYTES that the caller owns.
GRADC_HIDDEN void gradc_rt_open(void *context, void *buffer, int64_t bytes, int32_t may_allocate);
// `bytes` bytes, 64-byte aligned, not cleared; not NULL for 0. NULL when bytes is negative, overflows or there is no
// more memory: the context is then unchanged, and the generated code ends in gradc_rt_fail_memory.
GRADC_HIDDEN void *gradc_rt_push(void *context, int64_t bytes);
// A block that holds at least `need` bytes and begins with the *capacity bytes of `block` (NULL when *capacity is 0):
// `block` itself, extended, where it is the last and has room, else a new one of at least twice the capacity where
// memory allows. Updates *capacity. NULL as for push: `block` and *capacity then stand. The amortised cost of growing
// by single records is constant.
GRADC_HIDDEN void *gradc_rt_grow(void *context, void *block, int64_t *capacity, int64_t need);
// The present top, for gradc_rt_pop. Never NULL after gradc_rt_open over a buffer that is not NULL.
GRADC_HIDDEN void *gradc_rt_mark(void *context);
GRADC_HIDDEN void gradc_rt_pop(void *context, void *mark);
// Ends a context: its chunks go back to the thread's arena, for the next call. To be called on every path, before
// gradc_rt_release.
GRADC_HIDDEN void gradc_rt_close(void *context);

// -- Scalar functions that libm lacks ---------------------------------------------------------------------------------
// Errors are a few units in the last place away from the functions' zeros, and absolute errors of that size beside
// them.

// log |gamma(x)|, without the global `signgam`: the functions of libm are not thread-safe.
GRADC_HIDDEN double gradc_rt_lgamma(double x);
GRADC_HIDDEN float gradc_rt_lgamma_f32(float x);
// The derivative of lgamma. At 0 it is -inf for +0 and +inf for -0, at the negative integers NaN, at inf inf.
GRADC_HIDDEN double gradc_rt_digamma(double x);
GRADC_HIDDEN float gradc_rt_digamma_f32(float x);
// The derivative of order `order` of digamma; order 0 is digamma itself, a negative order gives NaN. At the poles 0,
// -1, -2 ..: inf for odd orders, NaN for even ones (but -inf at +0 and +inf at -0).
GRADC_HIDDEN double gradc_rt_polygamma(int64_t order, double x);
GRADC_HIDDEN float gradc_rt_polygamma_f32(int64_t order, float x);
// base to the power of exponent in integers, wrapping around as * does. A negative exponent gives the quotient
// 1 / base^-exponent rounded to zero, and 0 where base is 0.
GRADC_HIDDEN int64_t gradc_rt_power_i64(int64_t base, int64_t exponent);
GRADC_HIDDEN int32_t gradc_rt_power_i32(int32_t base, int32_t exponent);

// -- Processors -------------------------------------------------------------------------------------------------------
// The level of x86-64 that this processor, with this system, has: 1, 3 or 4, as in x86-64-v3; 1 on other machines.
GRADC_HIDDEN int32_t gradc_rt_processor(void);

// -- Threads ----------------------------------------------------------------------------------------------------------
// The number of threads asked for by gradc_set_threads, at least 1, with 0 resolved to the cores that this process may
// run on.
GRADC_HIDDEN int32_t gradc_rt_threads(void);

// One block of a parallel call: 0, or a status after gradc_rt_fail.. `work` and `context` are those of the lane that it
// runs on.
typedef int32_t GradcBlock(void *arguments, int64_t block, void *work, void *context);
// Runs blocks 0 .. blocks - 1, on the calling thread and, where the process has threads to spare, on others: on at most
// context->lanes in all, of which lane l has the workspace work + l * stride. Returns 0, or the status of the first
// block in order that failed, with its text as this thread's last error; blocks after it may not have run. Inside a
// block context->lanes is 1. `grows`: blocks push onto their context; where that may not allocate they all run on the
// calling thread.
GRADC_HIDDEN int32_t gradc_rt_parallel(GradcBlock *run, void *arguments, int64_t blocks, void *context, void *work,
                                       int64_t stride, int32_t grows);
// Adds to to[0..n) each of `parts` arrays, the first at `from` and the others `stride` bytes apart, in their order.
GRADC_HIDDEN void gradc_rt_add_i32(void *to, const void *from, int64_t n, int64_t stride, int64_t parts);
GRADC_HIDDEN void gradc_rt_add_i64(void *to, const void *from, int64_t n, int64_t stride, int64_t parts);
GRADC_HIDDEN void gradc_rt_add_f32(void *to, const void *from, int64_t n, int64_t stride, int64_t parts);
GRADC_HIDDEN void gradc_rt_add_f64(void *to, const void *from, int64_t n, int64_t stride, int64_t parts);

#endif
