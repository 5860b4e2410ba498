/* The reference evaluator: its memory, its frames, and the call of a function from outside; see ir/eval_internal.h. */
#include "ir/eval_internal.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES = 256 * 1024, MAX_CALL_DEPTH = 1000 };

/* ---- scratch memory */
struct ScratchChunk {
  ScratchChunk *below;
  size_t used, room;
  max_align_t data[];
};

ScratchMark scratch_mark(const Scratch *s) {
  return (ScratchMark){s->top, s->top ? s->top->used : 0};
}

void scratch_release(Scratch *s, ScratchMark mark) {
  while (s->top != mark.chunk) {
    ScratchChunk *c = s->top;
    s->top = c->below;
    if (!s->spare || s->spare->room < c->room) {
      free(s->spare);
      s->spare = c;
    } else {
      free(c);
    }
  }
  if (s->top)
    s->top->used = mark.used;
}

static ScratchChunk *new_chunk(Scratch *s, size_t bytes) {
  ScratchChunk *c = s->spare;
  if (c && c->room >= bytes) {
    s->spare = NULL;
  } else {
    const size_t room = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
    c = malloc(sizeof *c + room);
    if (!c)
      return NULL;
    c->room = room;
  }
  c->used = 0;
  c->below = s->top;
  s->top = c;
  return c;
}

void *scratch_alloc(Scratch *s, size_t bytes) {
  const size_t align = _Alignof(max_align_t);
  if (bytes > SIZE_MAX / 4)
    return NULL;
  bytes = (bytes / align + 1) * align; /* never empty: distinct arrays are distinct pointers */
  ScratchChunk *c = s->top;
  if ((!c || c->room - c->used < bytes) && !(c = new_chunk(s, bytes)))
    return NULL;
  void *p = (char *)c->data + c->used;
  c->used += bytes;
  return memset(p, 0, bytes);
}

void scratch_free(Scratch *s) {
  scratch_release(s, (ScratchMark){0});
  free(s->spare);
  *s = (Scratch){0};
}

/* ---- arrays */
int64_t array_count(const Array *a) {
  int64_t n = 1;
  for (int i = 0; i < a->rank; i++)
    n *= a->dims[i];
  return n;
}

size_t array_bytes(const Array *a) {
  return (size_t)array_count(a) * (size_t)kind_bytes(a->kind);
}

Array array_new(Arena *arena, Kind kind, int rank, const int64_t *dims) {
  Array a = {.kind = kind, .rank = rank};
  for (int i = 0; i < rank; i++)
    a.dims[i] = dims[i];
  a.data = arena_alloc(arena, array_bytes(&a));
  return a;
}

int64_t array_int(const Array *a, int64_t i) {
  switch (a->kind) {
  case KIND_BOOL: return ((const uint8_t *)a->data)[i];
  case KIND_I32: return ((const int32_t *)a->data)[i];
  case KIND_I64: return ((const int64_t *)a->data)[i];
  case KIND_F32: return (int64_t)((const float *)a->data)[i];
  case KIND_F64: return (int64_t)((const double *)a->data)[i];
  }
  return 0;
}

double array_float(const Array *a, int64_t i) {
  switch (a->kind) {
  case KIND_F32: return (double)((const float *)a->data)[i];
  case KIND_F64: return ((const double *)a->data)[i];
  default: return (double)array_int(a, i);
  }
}

/* ---- values of a frame */
Slot *eval_slot(Frame *frame, const Value *v) {
  return &frame->slots[(uintptr_t)v->note];
}

void eval_bind(Frame *frame, const Value *v, const Array *a) {
  Slot *s = eval_slot(frame, v);
  if (a->rank) {
    s->array = *a;
    return;
  }
  uint64_t bits = 0;
  memcpy(&bits, a->data, (size_t)kind_bytes(a->kind));
  s->scalar = bits;
  s->array.kind = a->kind;
  s->array.rank = 0;
  s->array.data = &s->scalar;
}

static void bind_bytes(Frame *frame, const Value *v, void *element) {
  eval_bind(frame, v, &(Array){.kind = v->type.kind, .data = element});
}

void eval_bind_int(Frame *frame, const Value *v, int64_t x) {
  int32_t narrow = (int32_t)(uint32_t)(uint64_t)x;
  uint8_t truth = x != 0;
  bind_bytes(frame, v, v->type.kind == KIND_I64 ? (void *)&x : v->type.kind == KIND_I32 ? (void *)&narrow : &truth);
}

void eval_bind_float(Frame *frame, const Value *v, double x) {
  float narrow = (float)x;
  bind_bytes(frame, v, v->type.kind == KIND_F32 ? (void *)&narrow : &x);
}

bool eval_fail(Frame *frame, Range loc, int status, const char *fmt, ...) {
  Evaluator *e = frame->evaluator;
  char reason[512];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(reason, sizeof reason, fmt, ap);
  va_end(ap);
  e->status = status;
  if (e->message_size && loc.src)
    snprintf(e->message, e->message_size, "%s:%d: %s", loc.src->name, loc.line, reason);
  else if (e->message_size)
    snprintf(e->message, e->message_size, "%s", reason);
  return false;
}

/* ---- sizes */
static bool atom_value(Frame *frame, Range loc, const Atom *atom, int64_t *out) {
  if (atom->value) {
    *out = array_int(eval_value(frame, atom->value), 0);
    return true;
  }
  int64_t num = 0, den = 0;
  if (!eval_size(frame, loc, atom->num, &num) || !eval_size(frame, loc, atom->den, &den))
    return false;
  if (atom->kind != ATOM_QUOTIENT) {
    *out = (num < den) == (atom->kind == ATOM_MIN) ? num : den;
    return true;
  }
  if (den == 0)
    return eval_fail(frame, loc, EVAL_BAD_SIZE, "a size is divided by zero");
  if (den == -1 && num == INT64_MIN)
    return eval_fail(frame, loc, EVAL_BAD_SIZE, "a size overflows");
  *out = num / den - (num % den != 0 && (num < 0) != (den < 0));
  return true;
}

static bool term_value(Frame *frame, Range loc, const Term *t, int64_t *out) {
  *out = t->coefficient;
  for (int i = 0; i < t->npowers; i++) {
    int64_t x = 0;
    if (!atom_value(frame, loc, t->powers[i].atom, &x))
      return false;
    for (int k = 0; k < t->powers[i].exponent; k++)
      if (__builtin_mul_overflow(*out, x, out))
        return eval_fail(frame, loc, EVAL_BAD_SIZE, "a size overflows");
  }
  return true;
}

bool eval_size(Frame *frame, Range loc, const Size *s, int64_t *out) {
  if (s->overflow)
    return eval_fail(frame, loc, EVAL_BAD_SIZE, "a size overflows");
  *out = 0;
  for (int i = 0; i < s->nterms; i++) {
    int64_t x = 0;
    if (!term_value(frame, loc, &s->terms[i], &x))
      return false;
    if (__builtin_add_overflow(*out, x, out))
      return eval_fail(frame, loc, EVAL_BAD_SIZE, "a size overflows");
  }
  return true;
}

/* Sets kind, rank and dims; checks that the array could exist. */
static bool shape_of(Frame *frame, Range loc, Type t, Array *out) {
  *out = (Array){.kind = t.kind, .rank = t.rank};
  bool empty = false, overflow = false;
  int64_t bytes = kind_bytes(t.kind);
  for (int i = 0; i < t.rank; i++) {
    if (!eval_size(frame, loc, t.dims[i], &out->dims[i]))
      return false;
    if (out->dims[i] < 0)
      return eval_fail(frame, loc, EVAL_BAD_SIZE, "size %lld is negative", (long long)out->dims[i]);
    empty |= out->dims[i] == 0;
    if (out->dims[i])
      overflow |= __builtin_mul_overflow(bytes, out->dims[i], &bytes);
  }
  if (overflow && !empty)
    return eval_fail(frame, loc, EVAL_BAD_SIZE, "a size overflows");
  return true;
}

bool eval_new(Frame *frame, Range loc, Type t, Array *out) {
  if (!shape_of(frame, loc, t, out))
    return false;
  out->data = scratch_alloc(&frame->evaluator->scratch, array_bytes(out));
  return out->data || eval_fail(frame, loc, EVAL_NO_MEMORY, "no memory for a tensor of %zu bytes", array_bytes(out));
}

static bool same_shape(const Array *a, const Array *b) {
  if (a->kind != b->kind || a->rank != b->rank)
    return false;
  for (int i = 0; i < a->rank; i++)
    if (a->dims[i] != b->dims[i])
      return false;
  return true;
}

bool eval_copy(Frame *frame, Range loc, Array *to, const Array *from) {
  if (!same_shape(to, from))
    return eval_fail(frame, loc, EVAL_BAD_SIZE, "two sizes that were taken as equal are not");
  memcpy(to->data, from->data, array_bytes(to));
  return true;
}

/* ---- functions */
static EvalOp *const eval_op[OP_COUNT] = {
#define OP(code, name, group, arity, result, effect, reads) eval_##code,
#include "ir/ops.def"
#undef OP
};

bool eval_region(Frame *frame, const Region *r) {
  for (const Op *op = r->first; op; op = op->next)
    if (!eval_op[op->code](frame, op))
      return false;
  return true;
}

/* Slots are numbered from 0 in each function; the number stands in Value.note, the count in Func.note. */
static void number_value(Value *v, uintptr_t *n) {
  v->note = (void *)(*n)++;
}

static void number_op(Op *op, void *arg) {
  for (int i = 0; i < op->nresults; i++)
    number_value(op->results[i], arg);
  for (int k = 0; k < op->nregions; k++)
    for (int i = 0; i < op->regions[k]->nparams; i++)
      number_value(op->regions[k]->params[i], arg);
}

static void number_module(Module *m) {
  for (Func *f = m->funcs; f; f = f->next) {
    uintptr_t n = 0;
    if (f->body) {
      for (int i = 0; i < f->body->nparams; i++)
        number_value(f->body->params[i], &n);
      region_walk(f->body, number_op, &n);
    }
    f->note = (void *)n;
  }
}

static bool bind_params(Frame *frame, Range loc, const Func *f, const Array *const *args) {
  for (int i = 0; i < f->body->nparams; i++) {
    const Value *p = f->body->params[i];
    eval_bind(frame, p, args[i]); /* before its type is looked at: sizes come first */
    Array shape;
    if (!shape_of(frame, loc, p->type, &shape))
      return false;
    if (i < f->nsizes && array_int(args[i], 0) < 0)
      return eval_fail(frame, loc, EVAL_BAD_SIZE, "size %lld is negative", (long long)array_int(args[i], 0));
    if (!same_shape(&shape, args[i]))
      return eval_fail(frame, loc, EVAL_BAD_SIZE, "argument '%s' has not the shape that the sizes say",
                       p->name ? p->name : "?");
  }
  return true;
}

bool eval_activation(Evaluator *e, Range loc, Func *f, const Array *const *args, Array *results) {
  Frame frame = {.evaluator = e};
  if (!f->body || f->body->nyields != f->nresults)
    return eval_fail(&frame, loc, EVAL_UNABLE, "'%s' %s", f->name,
                     f->derive.op != DERIVE_NONE ? "has not been derived yet" : "has no body");
  if (e->depth >= MAX_CALL_DEPTH)
    return eval_fail(&frame, loc, EVAL_UNABLE, "calls are nested too deeply");
  frame.slots = scratch_alloc(&e->scratch, ((uintptr_t)f->note + 1) * sizeof(Slot));
  if (!frame.slots)
    return eval_fail(&frame, loc, EVAL_NO_MEMORY, "no memory for the values of '%s'", f->name);
  e->depth++;
  bool ok = bind_params(&frame, loc, f, args) && eval_region(&frame, f->body);
  e->depth--;
  for (int i = 0; ok && i < f->nresults; i++)
    results[i] = *eval_value(&frame, f->body->yields[i]);
  return ok;
}

int eval_func(Arena *arena, Func *f, const Array *args, Array *results, char *message, size_t message_size) {
  Evaluator e = {.message = message, .message_size = message_size};
  if (message_size)
    message[0] = 0;
  number_module(f->module);
  const int n = f->body ? f->body->nparams : 0;
  const Array **pointers = scratch_alloc(&e.scratch, sizeof *pointers * (size_t)n);
  if (!pointers)
    return EVAL_NO_MEMORY;
  for (int i = 0; i < n; i++)
    pointers[i] = &args[i];
  if (eval_activation(&e, f->loc, f, pointers, results))
    for (int i = 0; i < f->nresults; i++) {
      const void *data = results[i].data;
      results[i] = array_new(arena, results[i].kind, results[i].rank, results[i].dims);
      memcpy(results[i].data, data, array_bytes(&results[i]));
    }
  scratch_free(&e.scratch);
  return e.status;
}
