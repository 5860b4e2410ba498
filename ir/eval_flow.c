/* The reference evaluator: operations with regions, calls, and require.
   Results and carries are allocated before the scratch memory is marked; what an iteration leaves above the mark is
   released when its yields have been copied. */
#define _GNU_SOURCE
#include "ir/eval_internal.h"
#include <dlfcn.h>
#include <math.h>
#include <string.h>

enum { MAX_FOREIGN_ARGS = 4 };

static bool out_of_memory(Frame *frame, const Op *op) {
  return eval_fail(frame, op->loc, EVAL_NO_MEMORY, "no memory to evaluate '%s'", op_info[op->code].name);
}

/* Memory for n carries twice over: each iteration reads the one and writes the other. */
typedef struct Carries {
  int n;
  Array *now, *next;
} Carries;

static bool carries_begin(Frame *frame, const Op *op, int n, Carries *c) {
  c->n = n;
  c->now = scratch_alloc(&frame->evaluator->scratch, sizeof(Array) * 2 * (size_t)n);
  if (!c->now)
    return out_of_memory(frame, op);
  c->next = c->now + n;
  for (int i = 0; i < n; i++)
    if (!eval_new(frame, op->loc, op->results[i]->type, &c->now[i]) ||
        !eval_new(frame, op->loc, op->results[i]->type, &c->next[i]) ||
        !eval_copy(frame, op->loc, &c->now[i], eval_operand(frame, op, i)))
      return false;
  return true;
}

static bool carries_step(Frame *frame, const Op *op, Carries *c, Value *const *yields) {
  for (int i = 0; i < c->n; i++)
    if (!eval_copy(frame, op->loc, &c->next[i], eval_value(frame, yields[i])))
      return false;
  Array *old = c->now;
  c->now = c->next;
  c->next = old;
  return true;
}

static void carries_bind(Frame *frame, const Carries *c, Value *const *values) {
  for (int i = 0; i < c->n; i++)
    eval_bind(frame, values[i], &c->now[i]);
}

/* ---- loop */
static void set_number(Array *a, double f, int64_t i) {
  switch (a->kind) {
  case KIND_F32: *(float *)a->data = (float)f; break;
  case KIND_F64: *(double *)a->data = f; break;
  case KIND_I32: *(int32_t *)a->data = (int32_t)i; break;
  case KIND_I64: *(int64_t *)a->data = i; break;
  case KIND_BOOL: *(uint8_t *)a->data = i != 0; break;
  }
}

/* What a reduction over nothing gives. */
static void reduce_begin(OutKind kind, Array *a) {
  const bool narrow = a->kind == KIND_I32;
  switch (kind) {
  case OUT_SUM:
  case OUT_OR: set_number(a, 0, 0); break;
  case OUT_PROD:
  case OUT_AND: set_number(a, 1, 1); break;
  case OUT_MIN: set_number(a, INFINITY, narrow ? INT32_MAX : INT64_MAX); break;
  case OUT_MAX: set_number(a, -INFINITY, narrow ? INT32_MIN : INT64_MIN); break;
  case OUT_STACK: break;
  }
}

#define REDUCE_FLOAT(T) \
  do { \
    T *r = a->data; \
    const T v = *(const T *)x->data; \
    switch (kind) { \
    case OUT_SUM: *r += v; break; \
    case OUT_PROD: *r *= v; break; \
    case OUT_MIN: *r = isnan(v) || v < *r ? v : *r; break; \
    case OUT_MAX: *r = isnan(v) || v > *r ? v : *r; break; \
    default: break; \
    } \
  } while (0)

static void reduce_step(OutKind kind, Array *a, const Array *x) {
  if (a->kind == KIND_F32) {
    REDUCE_FLOAT(float);
    return;
  }
  if (a->kind == KIND_F64) {
    REDUCE_FLOAT(double);
    return;
  }
  const int64_t r = array_int(a, 0), v = array_int(x, 0);
  int64_t s = r;
  switch (kind) {
  case OUT_SUM: s = (int64_t)((uint64_t)r + (uint64_t)v); break;
  case OUT_PROD: s = (int64_t)((uint64_t)r * (uint64_t)v); break;
  case OUT_MIN: s = v < r ? v : r; break;
  case OUT_MAX: s = v > r ? v : r; break;
  case OUT_AND: s = r & v; break;
  case OUT_OR: s = r | v; break;
  case OUT_STACK: break;
  }
  set_number(a, 0, s);
}

typedef struct LoopState {
  const LoopInfo *info;
  const Region *body;
  int64_t *extents, *at; /* nindices */
  int64_t iteration;
  Carries carries;
  Array *accs, *outs;
} LoopState;

static bool loop_begin(Frame *frame, const Op *op, LoopState *l) {
  const LoopInfo *info = l->info = op->at.loop;
  Scratch *scratch = &frame->evaluator->scratch;
  l->body = op->regions[0];
  l->extents = scratch_alloc(scratch, sizeof(int64_t) * (size_t)info->nindices);
  l->at = scratch_alloc(scratch, sizeof(int64_t) * (size_t)info->nindices);
  l->accs = scratch_alloc(scratch, sizeof(Array) * (size_t)info->naccs);
  l->outs = scratch_alloc(scratch, sizeof(Array) * (size_t)info->nouts);
  if (!l->extents || !l->at || !l->accs || !l->outs)
    return out_of_memory(frame, op);
  for (int i = 0; i < info->nindices; i++)
    if (!eval_size(frame, op->loc, info->extents[i], &l->extents[i]))
      return false;
  if (!carries_begin(frame, op, info->ncarries, &l->carries))
    return false;
  for (int i = 0; i < info->naccs; i++)
    if (!eval_new(frame, op->loc, op->results[info->ncarries + i]->type, &l->accs[i]) ||
        !eval_copy(frame, op->loc, &l->accs[i], eval_operand(frame, op, info->ncarries + i)))
      return false;
  for (int i = 0; i < info->nouts; i++) {
    if (!eval_new(frame, op->loc, op->results[info->ncarries + info->naccs + i]->type, &l->outs[i]))
      return false;
    reduce_begin(info->outs[i], &l->outs[i]);
  }
  return true;
}

static void loop_bind(Frame *frame, const LoopState *l) {
  Value *const *p = l->body->params;
  for (int i = 0; i < l->info->nindices; i++)
    eval_bind_int(frame, *p++, l->at[i]);
  carries_bind(frame, &l->carries, p);
  p += l->info->ncarries;
  for (int i = 0; i < l->info->naccs; i++)
    eval_slot(frame, *p++)->array = l->accs[i]; /* a handle: shared also where it is a scalar */
}

static bool loop_yield(Frame *frame, const Op *op, LoopState *l) {
  Value *const *yields = l->body->yields;
  for (int i = 0; i < l->info->nouts; i++) {
    const Array *x = eval_value(frame, yields[l->info->ncarries + i]);
    if (l->info->outs[i] != OUT_STACK) {
      reduce_step(l->info->outs[i], &l->outs[i], x);
      continue;
    }
    Array slice = *x; /* compared with the place that it is copied to */
    slice.rank = l->outs[i].rank - l->info->nindices;
    for (int k = 0; k < slice.rank; k++)
      slice.dims[k] = l->outs[i].dims[l->info->nindices + k];
    slice.data = array_at(&l->outs[i], l->iteration * array_count(&slice));
    if (!eval_copy(frame, op->loc, &slice, x))
      return false;
  }
  return carries_step(frame, op, &l->carries, yields);
}

/* Goes on to the next point of the index space, the last index fastest; false at its end. */
static bool loop_next(LoopState *l) {
  l->iteration++;
  for (int i = l->info->nindices - 1; i >= 0; i--) {
    if (++l->at[i] < l->extents[i])
      return true;
    l->at[i] = 0;
  }
  return false;
}

bool eval_LOOP(Frame *frame, const Op *op) {
  LoopState l = {0};
  if (!loop_begin(frame, op, &l))
    return false;
  bool more = true;
  for (int i = 0; i < l.info->nindices; i++)
    more &= l.extents[i] > 0;
  Scratch *scratch = &frame->evaluator->scratch;
  const ScratchMark mark = scratch_mark(scratch);
  for (; more; more = loop_next(&l)) {
    loop_bind(frame, &l);
    if (!eval_region(frame, l.body) || !loop_yield(frame, op, &l))
      return false;
    scratch_release(scratch, mark);
  }
  Value *const *r = op->results;
  carries_bind(frame, &l.carries, r);
  for (int i = 0; i < l.info->naccs; i++)
    eval_bind(frame, r[l.info->ncarries + i], &l.accs[i]);
  for (int i = 0; i < l.info->nouts; i++)
    eval_bind(frame, r[l.info->ncarries + l.info->naccs + i], &l.outs[i]);
  return true;
}

/* ---- while, if */
bool eval_WHILE(Frame *frame, const Op *op) {
  const Region *condition = op->regions[0], *body = op->regions[1];
  const int n = op->nresults - 1; /* the last is the trip count */
  Carries c = {0};
  if (!carries_begin(frame, op, n, &c))
    return false;
  Scratch *scratch = &frame->evaluator->scratch;
  const ScratchMark mark = scratch_mark(scratch);
  int64_t trips = 0;
  for (;; trips++) {
    carries_bind(frame, &c, condition->params);
    if (!eval_region(frame, condition))
      return false;
    const bool go_on = array_int(eval_value(frame, condition->yields[0]), 0) != 0;
    scratch_release(scratch, mark);
    if (!go_on)
      break;
    carries_bind(frame, &c, body->params);
    if (!eval_region(frame, body) || !carries_step(frame, op, &c, body->yields))
      return false;
    scratch_release(scratch, mark);
  }
  carries_bind(frame, &c, op->results);
  eval_bind_int(frame, op->results[n], trips);
  return true;
}

/* Allocates results that what comes above the mark is to be copied into. */
static Array *new_results(Frame *frame, const Op *op) {
  Array *r = scratch_alloc(&frame->evaluator->scratch, sizeof(Array) * (size_t)op->nresults);
  if (!r) {
    out_of_memory(frame, op);
    return NULL;
  }
  for (int i = 0; i < op->nresults; i++)
    if (!eval_new(frame, op->loc, op->results[i]->type, &r[i]))
      return NULL;
  return r;
}

static bool bind_results(Frame *frame, const Op *op, Array *to, const Array *from, int i) {
  if (!eval_copy(frame, op->loc, &to[i], from))
    return false;
  eval_bind(frame, op->results[i], &to[i]);
  return true;
}

bool eval_IF(Frame *frame, const Op *op) {
  const Region *branch = op->regions[array_int(eval_operand(frame, op, 0), 0) ? 0 : 1];
  Array *results = new_results(frame, op);
  if (!results)
    return false;
  const ScratchMark mark = scratch_mark(&frame->evaluator->scratch);
  if (!eval_region(frame, branch))
    return false;
  for (int i = 0; i < op->nresults; i++)
    if (!bind_results(frame, op, results, eval_value(frame, branch->yields[i]), i))
      return false;
  scratch_release(&frame->evaluator->scratch, mark);
  return true;
}

/* ---- calls */
/* What dlsym returns, as the function that it is. */
typedef union Foreign {
  void *address;
  double (*f64_0)(void);
  double (*f64_1)(double);
  double (*f64_2)(double, double);
  double (*f64_3)(double, double, double);
  double (*f64_4)(double, double, double, double);
  float (*f32_0)(void);
  float (*f32_1)(float);
  float (*f32_2)(float, float);
  float (*f32_3)(float, float, float);
  float (*f32_4)(float, float, float, float);
} Foreign;

/* NOLINTBEGIN(clang-analyzer-core.CallAndMessage): the address has been tested, under the union's other name */
static double call_f64(Foreign f, int n, const double *x) {
  switch (n) {
  case 0: return f.f64_0();
  case 1: return f.f64_1(x[0]);
  case 2: return f.f64_2(x[0], x[1]);
  case 3: return f.f64_3(x[0], x[1], x[2]);
  default: return f.f64_4(x[0], x[1], x[2], x[3]);
  }
}

static float call_f32(Foreign f, int n, const double *x) {
  switch (n) {
  case 0: return f.f32_0();
  case 1: return f.f32_1((float)x[0]);
  case 2: return f.f32_2((float)x[0], (float)x[1]);
  case 3: return f.f32_3((float)x[0], (float)x[1], (float)x[2]);
  default: return f.f32_4((float)x[0], (float)x[1], (float)x[2], (float)x[3]);
  }
}
/* NOLINTEND(clang-analyzer-core.CallAndMessage) */

/* C functions of this process, libm's above all, of up to four numbers all f64 or all f32; others are out of reach. */
static bool call_foreign(Frame *frame, const Op *op) {
  const Kind kind = op->results[0]->type.kind;
  const int n = op->noperands;
  double x[MAX_FOREIGN_ARGS];
  bool uniform = kind_is_float(kind) && n <= MAX_FOREIGN_ARGS;
  for (int i = 0; uniform && i < n; i++) {
    uniform = eval_operand(frame, op, i)->kind == kind;
    x[i] = array_float(eval_operand(frame, op, i), 0);
  }
  const Foreign f = {.address = uniform ? dlsym(RTLD_DEFAULT, op->at.callee->name) : NULL};
  if (!f.address)
    return eval_fail(frame, op->loc, EVAL_UNABLE, "the evaluator cannot call the C function '%s'", op->at.callee->name);
  eval_bind_float(frame, op->results[0], kind == KIND_F32 ? (double)call_f32(f, n, x) : call_f64(f, n, x));
  return true;
}

/* The sizes come first among the operands. */
static bool call_kernel(Frame *frame, const Op *op) {
  const Func *callee = op->at.callee;
  Kernel *(*find)(const char *) = callee->module->find_kernel, *kernel = find ? find(callee->name) : NULL;
  if (!kernel)
    return eval_fail(frame, op->loc, EVAL_UNABLE, "the evaluator cannot call the kernel '%s'", callee->name);
  Scratch *scratch = &frame->evaluator->scratch;
  Array *results = new_results(frame, op);
  int64_t *sizes = scratch_alloc(scratch, sizeof *sizes * (size_t)callee->nsizes);
  const void **in = scratch_alloc(scratch, sizeof *in * (size_t)op->noperands);
  void **out = scratch_alloc(scratch, sizeof *out * (size_t)op->nresults);
  if (!results || !sizes || !in || !out)
    return results ? out_of_memory(frame, op) : false;
  for (int i = 0; i < op->noperands; i++) {
    if (i < callee->nsizes)
      sizes[i] = array_int(eval_operand(frame, op, i), 0);
    else
      in[i - callee->nsizes] = eval_operand(frame, op, i)->data;
  }
  for (int i = 0; i < op->nresults; i++)
    out[i] = results[i].data;
  kernel(sizes, in, out);
  for (int i = 0; i < op->nresults; i++)
    eval_bind(frame, op->results[i], &results[i]);
  return true;
}

bool eval_CALL(Frame *frame, const Op *op) {
  Func *callee = op->at.callee;
  if (func_is_kernel(callee))
    return call_kernel(frame, op);
  if (callee->is_extern)
    return call_foreign(frame, op);
  Array *results = new_results(frame, op);
  if (!results)
    return false;
  Scratch *scratch = &frame->evaluator->scratch;
  const ScratchMark mark = scratch_mark(scratch);
  const Array **args = scratch_alloc(scratch, sizeof *args * (size_t)op->noperands);
  Array *returned = scratch_alloc(scratch, sizeof *returned * (size_t)op->nresults);
  if (!args || !returned)
    return out_of_memory(frame, op);
  for (int i = 0; i < op->noperands; i++)
    args[i] = eval_operand(frame, op, i);
  if (!eval_activation(frame->evaluator, op->loc, callee, args, returned))
    return false;
  for (int i = 0; i < op->nresults; i++)
    if (!bind_results(frame, op, results, &returned[i], i))
      return false;
  scratch_release(scratch, mark);
  return true;
}

/* How a text begins tells the status: see build_require. */
static EvalStatus require_status(const char *text) {
  static const struct {
    const char *begin;
    EvalStatus status;
  } known[] = {{"index ", EVAL_OUT_OF_RANGE},
               {"range ", EVAL_OUT_OF_RANGE},
               {"size ", EVAL_BAD_SIZE},
               {"matrix ", EVAL_NOT_FACTORABLE}};
  for (size_t i = 0; text && i < sizeof known / sizeof *known; i++)
    if (!strncmp(text, known[i].begin, strlen(known[i].begin)))
      return known[i].status;
  return EVAL_REQUIRE;
}

bool eval_REQUIRE(Frame *frame, const Op *op) {
  const char *text = op->at.text;
  return array_int(eval_operand(frame, op, 0), 0) != 0 ||
         eval_fail(frame, op->loc, require_status(text), "%s", text ? text : "a requirement does not hold");
}
