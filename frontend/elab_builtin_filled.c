/* zeros[n, m], ones, full[n](v), eye, iota: tensors that cost no memory until they are changed.
   Their kind: `of KIND`, else that of the place they initialise; else f64 (which adapts to f32), and i64 for iota. */
#include "frontend/elab_builtin.h"
#include <string.h>

bool builtin_is_filled(const char *name) {
  static const char *const names[] = {"zeros", "ones", "full", "eye", "iota"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (!strcmp(names[i], name))
      return true;
  return false;
}

static Value *eye_element(Elab *e, const Form *t, Value *const *idx) {
  Builder *b = &e->b;
  const Kind k = t->type.kind;
  return build_select(b, build_binary(b, OP_EQ, idx[0], idx[1]), build_number(b, k, 1), build_number(b, k, 0));
}

static Value *iota_element(Elab *e, const Form *t, Value *const *idx) {
  return build_cast(&e->b, t->type.kind, idx[0]);
}

/* The scalar of full[n](v), in the kind of the tensor. */
static Form *fill_value(Elab *e, Range at, Expr *fill, const Kind *of, const Kind *want) {
  if (!fill) {
    DiagMessage *m = elab_error(e, at, "'full' needs the value that fills it");
    diag_mend(e->diag, m, "write full[n](value)");
    return form_poison(e, at);
  }
  Form *v = elab_tensor(e, fill, of ? of : want);
  if (v->kind == FORM_POISON)
    return v;
  if (v->type.rank) {
    elab_error(e, v->at, "the value of 'full' is one scalar; this is %s", form_text(e, v));
    return form_poison(e, at);
  }
  if (of)
    return form_convert(e, v, *of, "the value of 'full'");
  if (want && v->type.kind != *want && (v->is_literal || v->adapts))
    return form_convert(e, v, *want, "the value of 'full'");
  return kind_is_int(v->type.kind) && !want ? form_float_of(e, v, "the value of 'full'") : v;
}

static bool right_count(Elab *e, const Expr *x, const char *name, int n) {
  const bool matrix = !strcmp(name, "eye"), vector = !strcmp(name, "iota");
  if ((matrix && n > 2) || (vector && n != 1)) {
    elab_error(e, x->at,
               matrix ? "'eye' takes one size, or two; this gives %d" : "'iota' takes one size; this gives %d", n);
    return false;
  }
  if (n <= MAX_RANK)
    return true;
  elab_error(e, x->at, "a tensor has at most %d axes; this has %d", MAX_RANK, n);
  return false;
}

Form *builtin_filled(Elab *e, Expr *x, const char *name, const ExprList *sizes, Expr *fill, const Kind *of,
                     const Kind *want) {
  const Size *dims[MAX_RANK];
  int rank = sizes->n;
  bool ok = right_count(e, x, name, rank);
  for (int i = 0; ok && i < rank; i++) {
    dims[i] = elab_size(e, sizes->at[i]);
    ok = dims[i] && size_check(e, sizes->at[i]->at, dims[i]);
  }
  if (fill && strcmp(name, "full") != 0) {
    elab_error(e, fill->at, "'%s' takes sizes only", name);
    ok = false;
  }
  if (!ok)
    return form_poison(e, x->at);
  if (!strcmp(name, "full")) {
    Form *v = fill_value(e, x->at, fill, of, want);
    if (v->kind == FORM_POISON)
      return v;
    Form *f = form_of_value(e, x->at, build_full(&e->b, type_tensor(e->module, v->type.kind, rank, dims), v->value));
    f->adapts = form_adapts(v);
    return f;
  }
  const bool is_iota = !strcmp(name, "iota"), is_eye = !strcmp(name, "eye");
  const Kind kind = of ? *of : want ? *want : is_iota ? KIND_I64 : KIND_F64;
  if (kind == KIND_BOOL && is_iota) {
    elab_error(e, x->at, "'iota' counts; it cannot be bool");
    return form_poison(e, x->at);
  }
  if (is_eye && rank == 1)
    dims[rank++] = dims[0];
  const Type type = type_tensor(e->module, kind, rank, dims);
  Form *f;
  if (is_iota || is_eye)
    f = form_lazy(e, x->at, type, is_iota ? iota_element : eye_element, NULL, true);
  else
    f = form_of_value(e, x->at, build_full(&e->b, type, build_number(&e->b, kind, !strcmp(name, "ones"))));
  f->adapts = !of && !want && kind == KIND_F64;
  return f;
}
