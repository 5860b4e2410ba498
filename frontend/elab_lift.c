/* Lifting of captured values; see elab_lift.h. */
#include "frontend/elab_lift.h"
#include "frontend/elab_core.h"

Lift *lift_begin(Elab *e, const char *name, Range at) {
  Lift *lift = NEW(e->arena, Lift);
  lift->outer = e->lift;
  lift->around = e->b.func;
  lift->func = func_new(e->module, name, at);
  e->lift = lift;
  e->b = build_into(lift->func, lift->func->body);
  e->b.loc = at;
  return lift;
}

Value *func_add_size(Func *f, const char *name) {
  Value *v = func_add_param(f, type_scalar(KIND_I64), name);
  for (int i = v->index; i > f->nsizes; i--) {
    f->body->params[i] = f->body->params[i - 1];
    f->body->params[i]->index = i;
  }
  f->body->params[f->nsizes] = v;
  v->index = f->nsizes++;
  return v;
}

static Value *capture(Elab *e, Lift *lift, Value *v);

typedef struct SizeCapture {
  Elab *e;
  Lift *lift;
} SizeCapture;
static const Size *capture_atom(Value *v, void *arg) {
  const SizeCapture *c = arg;
  Value *to = capture(c->e, c->lift, v);
  return to == v ? NULL : size_atom(c->e->module, to);
}

/* The parameter that stands for v; v itself where it belongs to the lifted function. */
static Value *capture(Elab *e, Lift *lift, Value *v) {
  const Func *home = v->region->func;
  if (!lift)
    internal_error("'%s' is used outside its function", v->name ? v->name : "a value");
  if (home == lift->func)
    return v;
  if (home != lift->around)
    v = capture(e, lift->outer, v);
  for (int i = 0; i < lift->captures.n; i++)
    if (lift->captures.at[i].from == v)
      return lift->captures.at[i].to;
  Module *m = e->module;
  Value *to;
  if (!v->type.rank && v->type.kind == KIND_I64 && size_nonnegative(m, size_atom(m, v))) {
    to = func_add_size(lift->func, v->name);
  } else {
    SizeCapture c = {.e = e, .lift = lift};
    to = func_add_param(lift->func, type_map(m, v->type, capture_atom, &c), v->name);
  }
  const Capture captured = {.from = v, .to = to};
  vec_push(e->arena, lift->captures, captured);
  return to;
}

const Size *lift_size(Elab *e, const Size *s) {
  SizeCapture c = {.e = e, .lift = e->lift};
  return e->lift ? size_map(e->module, s, capture_atom, &c) : s;
}

Type lift_type(Elab *e, Type t) {
  SizeCapture c = {.e = e, .lift = e->lift};
  return e->lift ? type_map(e->module, t, capture_atom, &c) : t;
}

/* A computed size is computed again, so that the function sees through it. */
Value *lift_value(Elab *e, Value *v) {
  double f;
  int64_t i;
  if (v->region->func == e->b.func)
    return v;
  if (!v->type.rank && value_is_int_const(v, &i))
    return build_int(&e->b, v->type.kind, i);
  if (!v->type.rank && value_is_float_const(v, &f))
    return build_float(&e->b, v->type.kind, f);
  if (!v->type.rank && v->type.kind == KIND_I64 && size_of_value(e->module, v) != size_atom(e->module, v))
    return build_size(&e->b, lift_size(e, size_of_value(e->module, v)));
  return capture(e, e->lift, v);
}

static Value *captured_from(const Lift *lift, const Value *v) {
  for (int i = 0; i < lift->captures.n; i++)
    if (lift->captures.at[i].to == v)
      return lift->captures.at[i].from;
  return NULL;
}

static const Size *atom_outward(Value *v, void *arg) {
  const SizeCapture *c = arg;
  Value *from = captured_from(c->lift, v);
  return from ? size_atom(c->e->module, from) : NULL;
}

bool lift_outward(Elab *e, const Lift *lift, Value **v, const Size **s) {
  Value *from = captured_from(lift, *v);
  if (!from)
    return false;
  SizeCapture c = {.e = e, .lift = (Lift *)lift};
  *v = from;
  *s = size_map(e->module, *s, atom_outward, &c);
  return true;
}

static Form *lift_parts(Elab *e, Form *t) {
  Form **parts = NULL;
  for (int i = 0; i < t->nparts; i++) {
    Form *part = lift_form(e, t->parts[i]);
    if (part != t->parts[i] && !parts) {
      parts = NEW_ARRAY(e->arena, Form *, t->nparts);
      for (int j = 0; j < t->nparts; j++)
        parts[j] = t->parts[j];
    }
    if (parts)
      parts[i] = part;
  }
  if (!parts)
    return t;
  Form *copy = NEW(e->arena, Form);
  *copy = *t;
  copy->parts = parts;
  if (t->kind == FORM_STRUCT && t->decl->item->structure.sizes.n) {
    const int n = t->decl->item->structure.sizes.n;
    copy->struct_sizes = NEW_ARRAY(e->arena, const Size *, n);
    for (int i = 0; i < n; i++)
      copy->struct_sizes[i] = lift_size(e, t->struct_sizes[i]);
  }
  return copy;
}

Form *lift_form(Elab *e, Form *t) {
  if (!e->lift)
    return t;
  if (t->kind == FORM_TUPLE || t->kind == FORM_STRUCT)
    return lift_parts(e, t);
  if (t->kind != FORM_TENSOR)
    return t;
  if (!t->value)
    internal_error("a name stands for a tensor that is not stored");
  if (t->value->region->func == e->b.func)
    return t;
  Form *copy;
  if (t->as_size) {
    copy = form_of_size(e, t->at, lift_size(e, t->as_size));
  } else {
    copy = form_of_value(e, t->at, lift_value(e, t->value));
    copy->is_division = t->is_division;
  }
  copy->is_literal = t->is_literal;
  return copy;
}

const TypeForm *typeform_here(Elab *e, const TypeForm *t) {
  if (!e->lift)
    return t;
  TypeForm *here = NEW(e->arena, TypeForm);
  *here = *t;
  here->type = lift_type(e, t->type);
  here->parts = NEW_ARRAY(e->arena, TypeForm *, t->nparts);
  for (int i = 0; i < t->nparts; i++)
    here->parts[i] = (TypeForm *)typeform_here(e, t->parts[i]);
  if (t->kind == FORM_STRUCT) {
    const int n = t->decl->item->structure.sizes.n;
    here->struct_sizes = NEW_ARRAY(e->arena, const Size *, n);
    for (int i = 0; i < n; i++)
      here->struct_sizes[i] = lift_size(e, t->struct_sizes[i]);
  }
  if (t->result)
    here->result = (TypeForm *)typeform_here(e, t->result);
  return here;
}
