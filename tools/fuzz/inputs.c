/* The inputs of a program, and a program with its inputs as text that can be run again. */
#include "tools/fuzz/fuzz.h"
#include <string.h>

static Array input_value(Arena *a, const Case *c, const Input *in) {
  static const Kind kinds[] = {[SORT_REAL] = KIND_F64, [SORT_INT] = KIND_I64, [SORT_BOOL] = KIND_BOOL};
  int64_t dims[FUZZ_RANK];
  for (int i = 0; i < in->shape.rank; i++)
    dims[i] = in->shape.dims[i]->value;
  const Kind kind = in->shape.sort == SORT_REAL && c->narrow ? KIND_F32 : kinds[in->shape.sort];
  Array x = array_new(a, kind, in->shape.rank, dims);
  Rng r = {rng_hash(in->name, c->seed)};
  const int64_t n = array_count(&x), below = in->below ? in->below->value : 1;
  int64_t before = 0;
  for (int64_t i = 0; i < n; i++)
    switch (in->fill) {
    case INPUT_REAL: array_set(&x, i, 1.5 * rng_real(&r)); break;
    case INPUT_INDEX: array_set(&x, i, (double)rng_below(&r, below > 0 ? (int)below : 1)); break;
    case INPUT_ROWS: /* rising, with empty rows among them, to the end */
      if (i + 1 == n)
        before = below;
      else if (i > 0)
        before += rng_below(&r, (int)(2 * (below - before) / (n - i)) + 1);
      before = before > below ? below : before;
      array_set(&x, i, (double)before);
      break;
    }
  return x;
}

Array *case_inputs(Arena *a, const Case *c, int *n) {
  VEC(Array) all = {0};
  for (int i = 0; i < c->params.n; i++)
    for (int k = 0; k < c->params.at[i].ninputs; k++)
      vec_push(a, all, input_value(a, c, &c->params.at[i].inputs[k]));
  *n = all.n;
  return all.at;
}

static void print_elements(FILE *out, const Array *x, int axis, int64_t *at) {
  if (axis == x->rank) {
    char number[40];
    number_text(number, sizeof number, array_float(x, *at), x->kind, 0);
    if (kind_is_float(x->kind))
      fprintf(out, "%s", number);
    else
      fprintf(out, "%lld", (long long)array_int(x, *at));
    ++*at;
    return;
  }
  fputc('[', out);
  for (int64_t i = 0; i < x->dims[axis]; i++) {
    if (i)
      fputc(',', out);
    print_elements(out, x, axis + 1, at);
  }
  fputc(']', out);
}

void case_print(FILE *out, const Case *c) {
  Arena a = {0};
  int n, at = 0;
  fprintf(out, "%s\n// gradc run%s FILE f", case_text(&a, c), c->narrow ? " --real=f32" : "");
  for (int i = 0; i < c->nsymbols; i++)
    fprintf(out, " %s=%lld", c->symbols[i]->text, (long long)c->symbols[i]->value);
  const Array *inputs = case_inputs(&a, c, &n);
  for (int i = 0; i < c->params.n; i++)
    for (int k = 0; k < c->params.at[i].ninputs; k++) {
      int64_t element = 0;
      fprintf(out, " %s=", c->params.at[i].inputs[k].name);
      print_elements(out, &inputs[at++], 0, &element);
    }
  fputc('\n', out);
  arena_free(&a);
}
