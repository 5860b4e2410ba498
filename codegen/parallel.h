/* Parallel functions (passes/parallel.c) run in blocks: `--threads`.

   A block is a range of iterations.  How long it is follows from the sizes alone, never from the number of threads, and
   what blocks have summed is added up in their order: so the bits of a result are the same on any number of threads.
   Blocks are few enough that what they add to the work (their accumulators are cleared and added up) stays small beside
   it, and one where the work is too little to share.

   The memory of such a call, in the caller's workspace:
     the callee's own workspace, for each thread that may take part ("lane"); for each block but the first, which uses
   the results' own places, an accumulator of each kind.
   The number of lanes is the call's: it stands at the head of the context (runtime/internal.h), is what name_worksize
   reckons with, and is lowered where a caller's workspace is too short for it. */
#ifndef GRADC_CODEGEN_PARALLEL_H
#define GRADC_CODEGEN_PARALLEL_H
#include "codegen/workspace.h"

enum { MAX_LANES = 64, MAX_BLOCKS = 64 };

typedef struct PartPlan {
  const Op *loop;
  int *result;          /* by result of the function: the loop's */
  const Need *work;     /* of one iteration, in operations */
  const Need *overhead; /* of one block, in operations */
  const Need *sums;     /* bytes of a block's accumulators */
  int multiple;         /* blocks are a multiple of so many iterations long */
} PartPlan;

/* NULL where f is not such a function as the pass makes, or cannot be run in blocks. */
PartPlan *part_plan(FuncStorage *f);

/* What the function's blocks make of a result. */
typedef enum PartResult { PART_STACK, PART_TENSOR, PART_SCALAR } PartResult;
PartResult part_result(const PartPlan *part, int result);
/* How a PART_SCALAR's or PART_TENSOR's parts are put together. */
OutKind part_combines(const PartPlan *part, int result);
#endif
