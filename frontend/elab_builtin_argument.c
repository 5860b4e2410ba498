/* Arguments of built-in functions: tensors, and what must be constant: axes, flags, shapes. */
#include "frontend/elab_builtin.h"

static const char *argument_text(Elab *e, const BuiltinCall *c, int i) {
  return c->n == 1 ? arena_printf(e->arena, "the argument of '%s'", c->f->name)
                   : arena_printf(e->arena, "argument '%s' of '%s'", c->names[i], c->f->name);
}

Form *argument_tensor(Elab *e, const BuiltinCall *c, int i) {
  return elab_tensor(e, c->arguments[i]->value, NULL);
}

Form *argument_number(Elab *e, const BuiltinCall *c, int i) {
  Form *t = argument_tensor(e, c, i);
  if (t->kind != FORM_TENSOR || t->type.kind != KIND_BOOL)
    return t;
  DiagMessage *m = elab_error(e, t->at, "%s is %s where numbers are needed", argument_text(e, c, i), form_text(e, t));
  diag_mend(e->diag, m, "write the conversion: i64(..)");
  return form_poison(e, t->at);
}

Form *form_float_of(Elab *e, const Form *t, const char *what) {
  if (t->kind != FORM_TENSOR || kind_is_float(t->type.kind))
    return form_copy(e, t);
  Form *f = form_convert(e, t, KIND_F64, what);
  if (f->kind == FORM_TENSOR) {
    f->adapts = true;
    f->is_literal = t->is_literal;
  }
  return f;
}

Form *argument_float(Elab *e, const BuiltinCall *c, int i) {
  return form_float_of(e, argument_tensor(e, c, i), argument_text(e, c, i));
}

static bool constant_int(Elab *e, const BuiltinCall *c, int i, Expr *x, int64_t *out) {
  Form *t = elab_tensor(e, x, NULL);
  if (t->kind == FORM_POISON)
    return false;
  if (t->type.rank == 0 && t->type.kind == KIND_I64 && t->as_size && size_is_const(t->as_size, out))
    return true;
  elab_error(e, x->at, "%s must be an integer constant", argument_text(e, c, i));
  return false;
}

bool argument_int(Elab *e, const BuiltinCall *c, int i, int64_t otherwise, int64_t *out) {
  *out = otherwise;
  return !c->arguments[i] || constant_int(e, c, i, c->arguments[i]->value, out);
}

bool argument_flag(Elab *e, const BuiltinCall *c, int i, bool *out) {
  int64_t known;
  *out = false;
  if (!c->arguments[i])
    return true;
  Form *t = elab_tensor(e, c->arguments[i]->value, NULL);
  if (t->kind == FORM_POISON)
    return false;
  if (t->type.rank || t->type.kind != KIND_BOOL || !value_is_int_const(t->value, &known)) {
    elab_error(e, t->at, "%s must be true or false", argument_text(e, c, i));
    return false;
  }
  *out = known;
  return true;
}

/* ---- axes */
static bool axis_of(Elab *e, const BuiltinCall *c, int i, Expr *x, int rank, int *axis) {
  int64_t k;
  if (!constant_int(e, c, i, x, &k))
    return false;
  if (k < -rank || k >= rank) {
    DiagMessage *m = elab_error(e, x->at, "axis %lld is out of range", (long long)k);
    if (rank)
      diag_mend(e->diag, m, "the axes are 0 to %d, or from the end -1 to %d", rank - 1, -rank);
    else
      diag_mend(e->diag, m, "a scalar has no axes");
    return false;
  }
  *axis = (int)(k < 0 ? k + rank : k);
  return true;
}

bool argument_axis(Elab *e, const BuiltinCall *c, int i, int rank, int otherwise, int *axis) {
  if (c->arguments[i])
    return axis_of(e, c, i, c->arguments[i]->value, rank, axis);
  if (rank == 0) {
    elab_error(e, c->at, "'%s' goes along an axis; a scalar has none", c->f->name);
    return false;
  }
  *axis = otherwise < 0 ? otherwise + rank : otherwise;
  return true;
}

bool argument_axes(Elab *e, const BuiltinCall *c, int i, int rank, unsigned *axes) {
  int axis;
  *axes = (1u << rank) - 1;
  if (!c->arguments[i])
    return true;
  Expr *x = c->arguments[i]->value;
  Expr *const *items = x->kind == EXPR_TUPLE ? x->tuple.at : &x;
  const int n = x->kind == EXPR_TUPLE ? x->tuple.n : 1;
  *axes = 0;
  for (int k = 0; k < n; k++) {
    if (!axis_of(e, c, i, items[k], rank, &axis))
      return false;
    if (*axes >> axis & 1) {
      elab_error(e, items[k]->at, "axis %d is given twice", axis);
      return false;
    }
    *axes |= 1u << axis;
  }
  return true;
}

/* ---- shapes and lists */
bool argument_sizes(Elab *e, const BuiltinCall *c, int i, int *n, const Size **sizes) {
  Expr *x = c->arguments[i]->value;
  if (x->kind == EXPR_POISON)
    return false;
  if (x->kind != EXPR_ARRAY) {
    DiagMessage *m = elab_error(e, x->at, "%s is a list of sizes in brackets", argument_text(e, c, i));
    diag_mend(e->diag, m, "write [n, m]");
    return false;
  }
  if (x->array.n > MAX_RANK) {
    elab_error(e, x->at, "a tensor has at most %d axes; this has %d", MAX_RANK, x->array.n);
    return false;
  }
  *n = x->array.n;
  for (int k = 0; k < *n; k++) {
    sizes[k] = elab_size(e, x->array.at[k]);
    if (!sizes[k] || !size_check(e, x->array.at[k]->at, sizes[k]))
      return false;
  }
  return true;
}

const Form **argument_tensors(Elab *e, const BuiltinCall *c, int i, int *n) {
  Expr *x = c->arguments[i]->value;
  Form *t = elab_expr(e, x, NULL);
  if (t->kind == FORM_POISON)
    return NULL;
  if (t->kind != FORM_TUPLE) {
    DiagMessage *m =
        elab_error(e, x->at, "%s is a tuple of tensors; this is %s", argument_text(e, c, i), form_text(e, t));
    diag_mend(e->diag, m, "write %s((a, b), axis = 0)", c->f->name);
    return NULL;
  }
  *n = t->nparts;
  const Form **parts = NEW_ARRAY(e->arena, const Form *, *n);
  for (int k = 0; k < *n; k++)
    parts[k] = t->parts[k];
  return form_unify(e, *n, parts, arena_printf(e->arena, "the parts of '%s'", c->f->name)) ? parts : NULL;
}

bool argument_rank(Elab *e, const BuiltinCall *c, const Form *x, int least, int most, const char *what) {
  if (x->type.rank >= least && x->type.rank <= most)
    return true;
  elab_error(e, x->at, "'%s' takes %s; this is %s", c->f->name, what, form_text(e, x));
  return false;
}
