/* What the files of indices, comprehensions, reductions and statements share and the rest of the elaboration need not
   know. See elab.h for the rest. */
#ifndef GRADC_FRONTEND_ELAB_LOOPS_H
#define GRADC_FRONTEND_ELAB_LOOPS_H
#include "frontend/elab.h"

/* ---- elab_scan.c: questions to the syntax tree, answered before it is elaborated */
bool expr_mentions(const Expr *x, const char *name); /* anywhere in x, shadowed or not */
/* Adds the vars of this function that statements [from, n) assign; a name that a statement shadows may be added
 * needlessly. */
void stmts_assigned(Elab *e, const StmtList *list, int from, int n, VarList *vars);
void var_list_add(Elab *e, VarList *vars, Binding *b);
typedef struct Exits { /* of the innermost loop around */
  bool breaks, continues;
} Exits;
Exits stmt_exits(const Stmt *s);
Exits block_exits(const Block *block);

/* ---- elab_index_plan.c: what x[..] denotes */
typedef enum AxisKind { AXIS_AT, AXIS_SLICE, AXIS_GATHER } AxisKind;
typedef struct AxisPlan {
  AxisKind kind;
  Range at;
  bool check;   /* AXIS_AT, AXIS_GATHER: not proved to be in range */
  Value *index; /* AXIS_AT */
  Value *start; /* AXIS_SLICE: element k is start + k * step */
  int64_t step;
  const Size *extent;
  bool whole;         /* the slice is the axis */
  const Form *gather; /* AXIS_GATHER: i64, cheap, of the gather's axes or to be broadcast to them */
} AxisPlan;
typedef struct IndexPlan {
  Range at;
  Type of;        /* the tensor that is indexed */
  AxisPlan *axes; /* one for each of its axes */
  int gather_at, gather_rank;
  Type result;
} IndexPlan;
/* NULL after an error. */
IndexPlan *plan_index(Elab *e, Range at, const Form *x, const IndexItemList *items);
/* The number of leading indices where the plan is no more than those, with whole axes after them; else -1. */
int plan_leading(const IndexPlan *p);
/* x[..]: a view where no element is read twice. */
Form *plan_apply(Elab *e, const IndexPlan *p, const Form *x);
/* The indices into x of element idx of the result; *checks: which of them are to be tested. */
void plan_source(Elab *e, const IndexPlan *p, Value *const *idx, Value **source, uint64_t *checks);
/* The plan of x[p][items], where p has leading indices only; NULL after an error. */
IndexPlan *plan_continue(Elab *e, Range at, const IndexPlan *p, const IndexItemList *items);
/* Whether s is made of the function's sizes alone, and so can be a size of a tensor; *culprit: a value that it must not
 * use. */
bool size_is_fixed(Elab *e, const Size *s, const Value **culprit);
bool size_is_fixed_in(const Func *f, const Size *s, const Value **culprit);

/* ---- elab_index.c */
/* The position of the field that x names in a struct, or a tuple with names; -1 after an error. */
int field_find(Elab *e, const Expr *x, const Form *base);

/* ---- elab_nest.c */
/* An index without a range: its loop has no extent until the index meets an axis. */
typedef struct IndexHole {
  Op *loop;
  int index;
  const IndexRange *range;
  const Size *extent; /* NULL: not met yet */
  struct IndexHole *outer;
} IndexHole;
/* The loops of a comprehension, from the outermost to the innermost. Ranges whose bounds use earlier indices begin a
   loop of their own inside that of the earlier ones. */
typedef struct NestLoop {
  Op *op;
  int first, n; /* the ranges that are its indices */
} NestLoop;
typedef struct Nest {
  const Comprehension *c;
  int nloops;
  NestLoop *loops;
  Value **indices; /* per range: the index as the body sees it */
  Value **from;    /* per range: its lower bound, or NULL for 0 */
  Op *filter;      /* the `if` around the body, or NULL */
  Builder outside; /* the place before the nest */
  Scope *scope;
  IndexHole *holes_before;
  struct LoopState *loop_before;
  bool failed;
} Nest;
typedef enum NestKind {
  NEST_TENSOR,    /* bounds are sizes; one loop */
  NEST_REDUCTION, /* as few loops as there can be */
  NEST_ORDERED, /* as NEST_REDUCTION, but where there are several loops each has one index, so that it can have carries
                 */
} NestKind;
/* Opens the loops and the filter: the builder is then where the body goes.  False after an error; the nest is to be
   abandoned then. */
bool nest_open(Elab *e, Nest *n, const Comprehension *c, NestKind kind);
/* After the body: every index must have found its range.  False after an error. */
bool nest_settle(Elab *e, Nest *n);
/* Ends the filter: where it holds, it yields `values`; the caller then makes what it yields where it does not hold, and
   gets the results in `values`.  Nothing happens without a filter. */
void nest_filter_else(Elab *e, Nest *n, int count, Value *const *values);
void nest_filter_end(Elab *e, Nest *n, int count, Value *const *otherwise, Value **values);
/* Ends the loops.  carries: the next values of each loop's carries; outs: reduced by all of the loops.  Both arrays are
   replaced by the results of the outermost. */
void nest_close(Elab *e, Nest *n, int ncarries, Value **carries, int nouts, const OutKind *outs, Value **values);
/* Ends what is open, for nothing: after an error. */
void nest_abandon(Elab *e, Nest *n);
/* The number of iterations of a nest of one loop without a filter, as a size that is not negative. */
const Size *nest_count(Elab *e, const Nest *n);
/* s, or 0 where it is negative. */
const Size *size_clamped(Elab *e, const Size *s);
static inline Op *nest_outermost(const Nest *n) {
  return n->loops[0].op;
}
static inline Op *nest_innermost(const Nest *n) {
  return n->loops[n->nloops - 1].op;
}

/* ---- elab_stmt.c, elab_assign.c, elab_control.c */
/* The innermost loop around a statement. */
typedef struct LoopState {
  struct LoopState *outer;
  Binding *live; /* a bool: the rest of the body is to be run; NULL where nothing leaves the body early */
  Binding *done; /* a bool: no further iteration; NULL where there is no break */
  int in_value;  /* inside of that many expressions, which break and continue cannot leave */
  int nexits;    /* statements that may have left the body, one after the other, up to here */
} LoopState;
/* A value as a var holds it: stored, with no memory of literals. */
Form *var_form(Elab *e, const Form *t);
void elab_assign(Elab *e, Stmt *s);
void elab_for(Elab *e, Stmt *s);
void elab_while(Elab *e, Stmt *s);
void elab_exit(Elab *e, Stmt *s); /* break and continue */
void elab_if_statement(Elab *e, Expr *x);
void elab_block_statement(Elab *e, Block *block);
/* Adds the flags that statements with these exits change. */
void exits_assigned(Elab *e, Exits exits, VarList *vars);
#endif
