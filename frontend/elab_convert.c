/* Kinds of forms: promotion, literals that adapt, and forms that must be alike.
   i32 promotes to i64, integers to float; a literal takes the kind that is asked for, where that loses nothing of what
   is written; what was computed from literals and integers alone (`adapts`) is f64 until it meets f32.  All else needs
   a cast in the source. */
#include "frontend/elab.h"
#include <limits.h>

/* ---- texts */
static const char *join_texts(Elab *e, const Form *t) {
  const char *text = "(";
  for (int i = 0; i < t->nparts; i++)
    text = arena_printf(e->arena, "%s%s%s", text, i ? ", " : "", form_text(e, t->parts[i]));
  return arena_printf(e->arena, "%s)", text);
}

static const char *struct_text(Elab *e, const Form *t) {
  const NameList *names = t->decl->item ? &t->decl->item->structure.sizes : NULL;
  const char *text = t->decl->name;
  for (int i = 0; names && t->struct_sizes && i < names->n; i++)
    text = arena_printf(e->arena, "%s%s%s", text, i ? ", " : "[", size_text(e->module, t->struct_sizes[i]));
  return names && t->struct_sizes && names->n ? arena_printf(e->arena, "%s]", text) : text;
}

const char *form_text(Elab *e, const Form *t) {
  switch (t->kind) {
  case FORM_TENSOR: return type_text(e->module, t->type);
  case FORM_TUPLE: return join_texts(e, t);
  case FORM_STRUCT: return struct_text(e, t);
  case FORM_FUNCTION: return "a function";
  case FORM_POISON: break;
  }
  return "an error";
}

/* ---- conversion */
static Value *make_cast(Elab *e, const void *kind, Value *const *x) {
  return build_cast(&e->b, *(const Kind *)kind, x[0]);
}

static const Kind kinds[5] = {KIND_BOOL, KIND_I32, KIND_I64, KIND_F32, KIND_F64};

static Form *cast_to(Elab *e, Kind kind, const Form *t) {
  return elementwise(e, t->at, kind, 1, &t, make_cast, &kinds[kind]);
}

/* True if values of `from` become values of `to` without a cast in the source. */
static bool promotes(const Form *from, Kind to) {
  const Kind k = from->type.kind;
  if (kind_is_int(k) && kind_is_float(to))
    return true;
  return (k == KIND_I32 && to == KIND_I64) || (form_adapts(from) && to == KIND_F32);
}

static Form *cannot_convert(Elab *e, const Form *t, Kind kind, const char *what) {
  DiagMessage *message =
      elab_error(e, t->at, "%s is %s where %s is needed", what ? what : "this", form_text(e, t), kind_name[kind]);
  if (kind == KIND_BOOL)
    diag_mend(e->diag, message, "compare it: x != 0");
  else
    diag_mend(e->diag, message, "write the conversion: %s(..)", kind_name[kind]);
  return form_poison(e, t->at);
}

static Form *convert_int_literal(Elab *e, const Form *t, Kind kind) {
  int64_t v;
  if (!value_is_int_const(t->value, &v))
    internal_error("a literal that is not constant");
  if (kind_is_float(kind))
    return form_of_value(e, t->at, build_float(&e->b, kind, kind == KIND_F32 ? (double)(float)v : (double)v));
  if (kind == KIND_I32 && (v < INT32_MIN || v > INT32_MAX)) {
    elab_error(e, t->at, "%lld does not fit in i32", (long long)v);
    return form_poison(e, t->at);
  }
  Form *f = form_of_value(e, t->at, build_int(&e->b, kind, v));
  f->as_size = kind == KIND_I64 ? t->as_size : NULL;
  return f;
}

Form *form_convert(Elab *e, const Form *t, Kind kind, const char *what) {
  if (t->kind == FORM_POISON)
    return form_poison(e, t->at);
  if (t->kind != FORM_TENSOR) {
    elab_error(e, t->at, "%s is %s where a number or tensor is needed", what ? what : "this", form_text(e, t));
    return form_poison(e, t->at);
  }
  if (t->type.kind == kind) {
    Form *f = form_copy(e, t);
    f->is_literal = f->adapts = false;
    return f;
  }
  if (kind == KIND_BOOL || !(t->is_literal ? promotes(t, kind) || t->type.kind == KIND_I64 : promotes(t, kind)))
    return cannot_convert(e, t, kind, what);
  if (t->is_division && kind_is_float(kind)) {
    DiagMessage *m =
        diag_warn(e->diag, "integer-division", t->at,
                  "the result of an integer division, which rounds towards zero, goes into float arithmetic");
    diag_mend(e->diag, m, "for the exact quotient make one side a float: 1.0 / n");
  }
  if (t->is_literal && t->type.kind == KIND_I64)
    return convert_int_literal(e, t, kind);
  return cast_to(e, kind, t);
}

Form *operator_cast(Elab *e, Range at, Kind kind, const Form *x) {
  if (x->kind == FORM_POISON)
    return form_poison(e, at);
  if (x->kind != FORM_TENSOR) {
    elab_error(e, x->at, "a cast takes a number or a tensor; this is %s", form_text(e, x));
    return form_poison(e, at);
  }
  Form *f = x->type.kind == kind ? form_copy(e, x) : cast_to(e, kind, x);
  f->at = at;
  f->is_literal = f->adapts = f->is_division = false;
  return f;
}

/* ---- one kind for several */
static bool report_bool(Elab *e, int n, const Form **x, const char *what) {
  const Form *bools = NULL, *number = NULL;
  for (int i = 0; i < n; i++)
    *(x[i]->type.kind == KIND_BOOL ? &bools : &number) = x[i];
  DiagMessage *m = elab_error(e, bools->at, "%s are %s and %s", what, form_text(e, bools), form_text(e, number));
  diag_note(e->diag, m, number->at, "this is %s", form_text(e, number));
  diag_mend(e->diag, m, "write the conversion: %s(..)", kind_name[number->type.kind]);
  return false;
}

static bool report_floats(Elab *e, const Form *single, const Form *twice, const char *what) {
  DiagMessage *m =
      elab_error(e, twice->at, "%s are %s and %s, which needs a cast", what, form_text(e, single), form_text(e, twice));
  diag_note(e->diag, m, single->at, "this is %s", form_text(e, single));
  if (e->real == KIND_F32)
    diag_mend(e->diag, m, "write the conversion: real(..); a name of a literal is declared: let a: real = 0.5;");
  else
    diag_mend(e->diag, m, "write the conversion: f64(..) or f32(..)");
  return false;
}

bool form_unify(Elab *e, int n, const Form **x, const char *what) {
  const Form *f32 = NULL, *f64 = NULL, *soft = NULL, *i64 = NULL, *i32 = NULL;
  int nbool = 0;
  for (int i = 0; i < n; i++)
    if (x[i]->kind == FORM_POISON)
      return false;
  for (int i = 0; i < n; i++) {
    const Form *t = x[i];
    if (t->kind != FORM_TENSOR) {
      elab_error(e, t->at, "%s must be numbers or tensors; this is %s", what, form_text(e, t));
      return false;
    }
    switch (t->type.kind) {
    case KIND_BOOL: nbool++; break;
    case KIND_I32: i32 = t; break;
    case KIND_I64: i64 = t->is_literal ? i64 : t; break;
    case KIND_F32: f32 = t; break;
    case KIND_F64:
      if (form_adapts(t))
        soft = t;
      else
        f64 = t;
      break;
    }
  }
  if (nbool)
    return nbool == n || report_bool(e, n, x, what);
  if (f32 && f64)
    return report_floats(e, f32, f64, what);
  const Kind kind = f32 ? KIND_F32 : f64 || soft ? KIND_F64 : i64 || !i32 ? KIND_I64 : KIND_I32;
  bool ok = true;
  for (int i = 0; i < n; i++) {
    Form *c = form_convert(e, x[i], kind, NULL);
    ok = ok && c->kind != FORM_POISON;
    x[i] = c;
  }
  return ok;
}

/* ---- forms that must be alike: branches, initial and next values */
static bool report_different(Elab *e, const Form *a, const Form *b, const char *what) {
  DiagMessage *m = elab_error(e, b->at, "%s have different types: %s and %s", what, form_text(e, a), form_text(e, b));
  diag_note(e->diag, m, a->at, "this is %s", form_text(e, a));
  return false;
}

static bool takes_kind_of(const Form *literal, const Form *other) {
  const Kind k = other->type.kind;
  if (k == KIND_BOOL)
    return false;
  return literal->is_literal ? literal->type.kind == KIND_I64 || kind_is_float(k)
                             : form_adapts(literal) && kind_is_float(k);
}

static bool same_tensors(Elab *e, Form **a, Form **b, const char *what) {
  const Type s = (*a)->type, t = (*b)->type;
  if (s.rank != t.rank)
    return report_different(e, *a, *b, what);
  if (s.kind != t.kind) {
    if (takes_kind_of(*b, *a))
      *b = form_convert(e, *b, s.kind, what);
    else if (takes_kind_of(*a, *b))
      *a = form_convert(e, *a, t.kind, what);
    else
      return report_different(e, *a, *b, what);
    if ((*a)->kind == FORM_POISON || (*b)->kind == FORM_POISON)
      return false;
  }
  for (int i = 0; i < s.rank; i++)
    if (!sizes_agree(e, (*b)->at, s.dims[i], t.dims[i], what))
      return false;
  *b = form_with_dims(e, *b, s.dims);
  return true;
}

static bool same_structs(const Form *a, const Form *b) {
  return a->decl == b->decl;
}

bool form_same_shape(Elab *e, Form **a, Form **b, const char *what) {
  Form *s = *a, *t = *b;
  if (s->kind == FORM_POISON || t->kind == FORM_POISON)
    return false;
  if (s->kind != t->kind || (s->kind == FORM_STRUCT && !same_structs(s, t)) ||
      (s->kind != FORM_TENSOR && s->nparts != t->nparts) || (s->kind == FORM_FUNCTION && s->function != t->function))
    return report_different(e, s, t, what);
  if (s->kind == FORM_TENSOR)
    return same_tensors(e, a, b, what);
  bool ok = true;
  *a = form_copy(e, s);
  *b = form_copy(e, t);
  (*a)->parts = NEW_ARRAY(e->arena, Form *, s->nparts);
  (*b)->parts = NEW_ARRAY(e->arena, Form *, t->nparts);
  for (int i = 0; i < s->nparts; i++) {
    (*a)->parts[i] = s->parts[i];
    (*b)->parts[i] = t->parts[i];
    ok = form_same_shape(e, &(*a)->parts[i], &(*b)->parts[i], what) && ok;
  }
  return ok;
}
