/* What the files that lower loops share.
   A loop's state is what one iteration hands to the next in registers: scalar carries, running reductions, and the
   addresses of tensors that alternate between two places.  Each level of the nest has it in the phis of its header. */
#ifndef GRADC_CODEGEN_LOOP_CODE_H
#define GRADC_CODEGEN_LOOP_CODE_H
#include "codegen/body.h"

typedef struct State {
  int n;
  LLVMTypeRef *types;
  LLVMValueRef *now;
} State;

/* Carries, of `loop` and of `while`.
   Of a tensor that alternates, the state holds the address of the carry and that of the place for the next one; of one
   that is read where its yield was put, its address. */
typedef struct Carries {
  int n;
  Value *const *params;
  Edge *const *yields;
  Edge *const *exits;
  Value *const *yielded;
  Value *const *results;
  int *at;                        /* in the state; -1: a tensor that stays where it is */
  LLVMValueRef *home, *twin_home; /* addresses outside of the loop */
} Carries;

typedef struct LoopCode {
  Body *body;
  const Op *op;
  const LoopInfo *info;
  LLVMValueRef *extents;
  State state;
  Carries carries;
  int *reduction; /* by out: in the state; -1: a stack */
} LoopCode;

/* ---- lower_carry.c */
State new_state(Body *b, int most);
int state_add(State *s, LLVMTypeRef type, LLVMValueRef first);
/* Phis at the present place, which must be in a header; the values before come from `before`. */
LLVMValueRef *state_phis(Body *b, State *s, LLVMBasicBlockRef before);
void state_close(State *s, LLVMValueRef *phis, LLVMBasicBlockRef latch);
void carries_begin(Body *b, Carries *c, State *s, Value *const *inits);
/* Where an iteration begins: `params` get their codes, places their addresses. */
void carries_enter(Body *b, const Carries *c, const State *s, Value *const *params);
void carries_next(Body *b, const Carries *c, State *s);
/* After the loop.  What has moved goes back to its place, so that the place is in one spot again. */
void carries_leave(Body *b, const Carries *c, const State *s);

/* ---- lower_loop.c */
/* A level of a nest: state in the phis of its header. */
typedef struct Level {
  CountedLoop counted;
  LLVMValueRef *phis;
} Level;
void level_begin(LoopCode *l, Level *level, LLVMValueRef n, const char *name);
void level_end(LoopCode *l, Level *level);
LLVMValueRef smaller(Body *b, LLVMValueRef x, LLVMValueRef y); /* of integers */
LLVMValueRef at_least(Body *b, LLVMValueRef n, LLVMValueRef least, LLVMValueRef then, LLVMValueRef otherwise);
LLVMValueRef reduction_begin(Body *b, OutKind out, Kind k);
LLVMValueRef reduction_step(Body *b, OutKind out, Kind k, LLVMValueRef now, LLVMValueRef x);
/* What an iteration does with what it yields to the loop's results, but for carries. */
void store_outs(LoopCode *l);

/* One iteration, its indices being set. */
void lower_iteration(LoopCode *l);

/* ---- lower_ends.c */
enum { MOST_ENDS = 16 };
typedef struct Ends {
  const Op *asks[MOST_ENDS]; /* the comparisons */
  int n;
  int64_t first, last; /* how many iterations at either end answer yes to one of them, at the most */
} Ends;
/* Of the innermost level. */
bool find_ends(const LoopCode *l, Ends *ends);
void lower_with_ends(LoopCode *l, const Ends *ends);

/* ---- lower_idle.c */
typedef struct Idle {
  const Op *branch;
  const Region *side;     /* of it: that of the iterations that do nothing */
  const Value *condition; /* of them: that this is `when` */
  bool when;
  int carry; /* which the condition is, or -1 */
} Idle;
bool find_idle(const LoopCode *l, Idle *idle);
LLVMValueRef skip_idle(LoopCode *l, const Idle *idle); /* where the loop begins; NULL: at 0 */
void leave_if_idle(LoopCode *l, const Idle *idle, const Level *level);
void finish_idle(LoopCode *l, const Idle *idle, const Level *level); /* after the loop */

/* ---- lower_tiles.c, find_tiles.c */
/* Whether the levels from this one on are better run as tiles; and these so. */
bool runs_as_tiles(const LoopCode *l, int level);
void lower_tiles(LoopCode *l);
bool tiles_would_pack(const Op *loop, const Op *index);

/* ---- lower_dots.c, find_dots.c */
/* Whether the elements of a sum in the loop lie side by side along the sum; at the beginning vector_plan asks. */
bool sums_along(FuncStorage *f, const Op *loop, int bits);
/* Whether all levels are better run as products of rows; and these so. */
bool runs_as_dots(const LoopCode *l);
void lower_dots(LoopCode *l);

/* ---- lower_rows.c */
/* The one loop inside, if it only reduces, and all else, in it as well, are scalar operations without checks that can
   be done whatever results are wanted; NULL otherwise.  adds: after it numbers may be added to accumulators. */
const Op *plain_inner_loop(const LoopCode *l, bool adds);
/* The one operation with regions of r, if it is a loop that only reduces; NULL otherwise. */
const Op *reducing_loop_in(const Region *r);
/* Whether the innermost level is better run as rows; and that level so. */
bool runs_as_rows(const LoopCode *l);
void lower_rows(LoopCode *l);
/* Whether a loop, of one index, is better run as long rows where it reads much; and then so, and otherwise as it was to
   be. */
bool may_run_as_long_rows(const LoopCode *l);
void lower_long_rows(LoopCode *l, void (*otherwise)(LoopCode *l));
#endif
