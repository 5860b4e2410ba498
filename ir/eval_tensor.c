/* The reference evaluator: constants and the operations that make, read and replace parts of tensors. */
#include "ir/eval_internal.h"
#include <string.h>

bool eval_CONST(Frame *frame, const Op *op) {
  if (kind_is_float(op->results[0]->type.kind))
    eval_bind_float(frame, op->results[0], op->at.f);
  else
    eval_bind_int(frame, op->results[0], op->at.i);
  return true;
}

bool eval_SIZE(Frame *frame, const Op *op) {
  int64_t n;
  if (!eval_size(frame, op->loc, op->at.size, &n))
    return false;
  eval_bind_int(frame, op->results[0], n);
  return true;
}

bool eval_FULL(Frame *frame, const Op *op) {
  const Array *x = eval_operand(frame, op, 0);
  Array r;
  if (!eval_new(frame, op->loc, op->results[0]->type, &r))
    return false;
  const int64_t n = array_count(&r);
  for (int64_t i = 0; i < n; i++)
    memcpy(array_at(&r, i), x->data, (size_t)kind_bytes(r.kind));
  eval_bind(frame, op->results[0], &r);
  return true;
}

/* The part of x at the indices, which are the operands from `first` on: it shares x's memory. */
static bool part_of(Frame *frame, const Op *op, const Array *x, int first, Array *part) {
  const int n = op->noperands - first;
  *part = (Array){.kind = x->kind, .rank = x->rank - n};
  int64_t stride = 1, offset = 0;
  for (int i = x->rank - 1; i >= 0; i--) {
    if (i >= n) {
      part->dims[i - n] = x->dims[i];
    } else {
      const int64_t at = array_int(eval_operand(frame, op, first + i), 0);
      if (at < 0 || at >= x->dims[i])
        return eval_fail(frame, op->loc, EVAL_OUT_OF_RANGE, "index %lld is out of range for an axis of %lld%s",
                         (long long)at, (long long)x->dims[i],
                         op->at.checks >> i & 1 ? "" : ", although the index was taken as proved");
      offset += at * stride;
    }
    stride *= x->dims[i];
  }
  part->data = array_at(x, offset);
  return true;
}

bool eval_INDEX(Frame *frame, const Op *op) {
  Array part;
  if (!part_of(frame, op, eval_operand(frame, op, 0), 1, &part))
    return false;
  eval_bind(frame, op->results[0], &part);
  return true;
}

bool eval_UPDATE(Frame *frame, const Op *op) {
  Array r, part;
  if (!eval_new(frame, op->loc, op->results[0]->type, &r) ||
      !eval_copy(frame, op->loc, &r, eval_operand(frame, op, 0)) || !part_of(frame, op, &r, 2, &part) ||
      !eval_copy(frame, op->loc, &part, eval_operand(frame, op, 1)))
    return false;
  eval_bind(frame, op->results[0], &r);
  return true;
}

static void add_elements(Array *to, const Array *x) {
  const int64_t n = array_count(to);
  for (int64_t i = 0; i < n; i++)
    switch (to->kind) {
    case KIND_F32: ((float *)to->data)[i] += ((const float *)x->data)[i]; break;
    case KIND_F64: ((double *)to->data)[i] += ((const double *)x->data)[i]; break;
    case KIND_I32:
      ((int32_t *)to->data)[i] =
          (int32_t)((uint32_t)((int32_t *)to->data)[i] + (uint32_t)((const int32_t *)x->data)[i]);
      break;
    case KIND_I64:
      ((int64_t *)to->data)[i] =
          (int64_t)((uint64_t)((int64_t *)to->data)[i] + (uint64_t)((const int64_t *)x->data)[i]);
      break;
    case KIND_BOOL: break; /* no accumulator is bool */
    }
}

bool eval_ACC_ADD(Frame *frame, const Op *op) {
  const Array *x = eval_operand(frame, op, 1);
  Array part;
  if (!part_of(frame, op, eval_operand(frame, op, 0), 2, &part))
    return false;
  if (array_count(&part) != array_count(x))
    return eval_fail(frame, op->loc, EVAL_BAD_SIZE, "two sizes that were taken as equal are not");
  add_elements(&part, x);
  return true;
}

bool eval_RESHAPE(Frame *frame, const Op *op) {
  const Array *x = eval_operand(frame, op, 0);
  Array r;
  if (!eval_new(frame, op->loc, op->results[0]->type, &r))
    return false;
  if (array_count(&r) != array_count(x))
    return eval_fail(frame, op->loc, EVAL_BAD_SIZE, "a tensor of %lld elements cannot be reshaped into one of %lld",
                     (long long)array_count(x), (long long)array_count(&r));
  memcpy(r.data, x->data, array_bytes(&r));
  eval_bind(frame, op->results[0], &r);
  return true;
}
