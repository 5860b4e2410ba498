/* Sparse matrices from entries in any order: accumulators for columns, values and, where it is not their
   number that tells, rows, of which each element is set once, and a kernel of the runtime that sorts them into rows and
   adds up what is at one place. */
#include "passes/sparse.h"
#include <string.h>

Entries entries_new(Sparse *s, const Size *count, const Size *room, Kind k) {
  Builder *b = &s->b;
  const Type place = type_tensor(s->module, KIND_I32, 1, &count);
  return (Entries){.row = room ? NULL : build_zeros(b, place),
                   .column = build_full(b, place, build_int(b, KIND_I32, -1)), /* none yet */
                   .value = build_zeros(b, type_with_kind(place, k)),
                   .count = count,
                   .room = room};
}

int entries_accs(const Entries *e, Value **accs) {
  int n = 0;
  accs[n++] = e->column;
  accs[n++] = e->value;
  if (e->row)
    accs[n++] = e->row;
  return n;
}

int entries_take(Entries *e, Value *const *values) {
  int n = 0;
  e->column = values[n++];
  e->value = values[n++];
  if (e->row)
    e->row = values[n++];
  return n;
}

void entries_put(Builder *b, const Entries *e, Value *at, Value *row, Value *column, Value *value) {
  if (e->row)
    build_acc_add(b, e->row, build_cast(b, KIND_I32, row), 1, &at, 0);
  column = build_add(b, column, build_int(b, KIND_I64, 1));
  build_acc_add(b, e->column, build_cast(b, KIND_I32, column), 1, &at, 0);
  build_acc_add(b, e->value, value, 1, &at, 0);
}

/* csr of entries with rows, csr_rows of as many in each row. */
static Func *csr_kernel(Module *m, bool even, Kind k) {
  const char *name = arena_printf(m->arena, "gradc_rt_%s_%s", even ? "csr_rows" : "csr", kind_name[k]);
  for (Func *f = m->funcs; f; f = f->next)
    if (f->is_extern && !strcmp(f->name, name))
      return f;
  Func *f = func_new(m, name, (Range){0});
  f->is_extern = f->is_constant = true;
  const Size *n = size_atom(m, func_add_param(f, type_scalar(KIND_I64), "n"));
  const Size *rows = size_atom(m, func_add_param(f, type_scalar(KIND_I64), "m"));
  const Size *room = even ? size_atom(m, func_add_param(f, type_scalar(KIND_I64), "k")) : n;
  f->nsizes = even ? 3 : 2;
  const Type places = type_tensor(m, KIND_I32, 1, &n), values = type_tensor(m, k, 1, &n);
  if (!even)
    func_add_param(f, places, "row");
  func_add_param(f, places, "column");
  func_add_param(f, values, "value");
  const Type begins = type_tensor(m, KIND_I32, 1, &rows);
  const Type results[] = {begins, places, values, type_tensor(m, KIND_I32, 1, &room), type_tensor(m, k, 1, &room),
                          begins};
  func_set_results(f, even ? 5 : 6, results, NULL); /* csr has room for where the rows end */
  return f;
}

/* Places are i32, so that users of the matrix find what they are used to. */
void sparse_guard(Sparse *s, const Size *rows, const Size *columns, const Size *entries) {
  Builder *b = &s->b;
  const Size *const sizes[] = {rows, columns, entries};
  Value *most = build_int(b, KIND_I64, INT32_MAX);
  for (int i = 0; i < 3; i++)
    build_require(b, build_binary(b, OP_LE, build_size(b, sizes[i]), most),
                  "size of a sparse matrix exceeds what its i32 indices reach");
}

void entries_compress(Sparse *s, const Entries *e, const Size *rows, const Size *columns, Value **results) {
  Builder *b = &s->b;
  sparse_guard(s, rows, columns, e->count);
  Value *args[5] = {build_size(b, e->count), build_size(b, size_add(s->module, rows, size_const(s->module, 1)))};
  args[2] = e->room ? build_size(b, e->room) : e->row;
  args[3] = e->column;
  args[4] = e->value;
  const Op *call = build_call(b, csr_kernel(s->module, e->room != NULL, e->value->type.kind), args);
  for (int i = 0; i < 3; i++)
    results[i] = call->results[i];
}

Value *flat_index(Builder *b, int n, Value *const *idx, const Size *const *extents) {
  Value *at = build_int(b, KIND_I64, 0);
  for (int i = 0; i < n; i++)
    at = build_add(b, build_mul(b, at, build_size(b, extents[i])), idx[i]);
  return at;
}
