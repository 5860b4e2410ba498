/* Types as written: checked, and forms checked against them. */
#include "frontend/elab_core.h"
#include <string.h>

static TypeForm *type_new(Elab *e, FormKind kind, Range at) {
  TypeForm *t = NEW(e->arena, TypeForm);
  t->kind = kind;
  t->at = at;
  return t;
}

static Kind word_kind(const Elab *e, KindWord word) {
  static const Kind KIND[] = {[WORD_BOOL] = KIND_BOOL,
                              [WORD_I32] = KIND_I32,
                              [WORD_I64] = KIND_I64,
                              [WORD_F32] = KIND_F32,
                              [WORD_F64] = KIND_F64};
  return word == WORD_REAL ? e->real : KIND[word];
}

/* ---- names */
static TypeForm *unknown_type(Elab *e, const TypeExpr *t, const Binding *b) {
  static const char *const WORDS[] = {"bool", "i32", "i64", "f32", "f64", "real"};
  static const struct {
    const char *wrong, *right;
  } OTHERS[] = {{"double", "f64"},  {"float", "f64 (or f32)"}, {"int", "i64"},   {"float64", "f64"},
                {"float32", "f32"}, {"int64", "i64"},          {"int32", "i32"}, {"boolean", "bool"}};
  DiagMessage *m = elab_error(e, t->at, b ? "'%s' is not a type" : "unknown type '%s'", t->name);
  if (b)
    diag_note(e->diag, m, b->at, "it is declared here");
  for (size_t i = 0; i < sizeof OTHERS / sizeof *OTHERS; i++)
    if (!strcmp(t->name, OTHERS[i].wrong)) {
      diag_mend(e->diag, m, "write %s", OTHERS[i].right);
      return NULL;
    }
  NearMiss near = near_miss_of(t->name);
  for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
    near_miss_try(&near, WORDS[i]);
  for (const Scope *s = e->scope; s; s = s->outer)
    for (const Binding *other = s->bindings; other; other = other->next)
      if (other->kind == BIND_STRUCT || other->kind == BIND_KIND)
        near_miss_try(&near, other->name);
  near_miss_mend(e, &near, m);
  return NULL;
}

/* A kind or struct name; nsizes of a struct are given. */
static TypeForm *named_type(Elab *e, const TypeExpr *t, Range at, int nsizes, const Size **sizes) {
  Binding *b = scope_find(e, t->name);
  if (b && b->kind == BIND_POISON)
    return NULL;
  if (b && b->kind == BIND_STRUCT)
    return struct_type(e, b->decl, at, nsizes, sizes);
  if (!b || b->kind != BIND_KIND)
    return unknown_type(e, t, b);
  TypeForm *type = type_new(e, FORM_TENSOR, at);
  type->type = type_scalar(b->float_kind);
  return type;
}

/* ---- tensors, and structs with sizes */
static TypeForm *tensor_type(Elab *e, const TypeExpr *t) {
  const int n = t->tensor.sizes.n;
  const TypeExpr *base = t->tensor.base;
  const Size **sizes = NEW_ARRAY(e->arena, const Size *, n);
  bool ok = true;
  for (int i = 0; i < n; i++) {
    int64_t known;
    sizes[i] = elab_size(e, t->tensor.sizes.at[i]);
    ok &= sizes[i] != NULL;
    if (sizes[i] && size_is_const(sizes[i], &known) && known < 0) {
      elab_error(e, t->tensor.sizes.at[i]->at, "a size cannot be negative; this is %lld", (long long)known);
      ok = false;
    }
  }
  if (base->kind == TYPE_EXPR_POISON || !ok)
    return NULL;
  TypeForm *element;
  if (base->kind == TYPE_EXPR_NAME) {
    element = named_type(e, base, t->at, n, sizes);
    if (!element || element->kind == FORM_STRUCT)
      return element;
  } else {
    element = type_new(e, FORM_TENSOR, t->at);
    element->type = type_scalar(word_kind(e, base->word));
  }
  if (n > MAX_RANK) {
    elab_error(e, t->at, "a tensor has at most %d axes; this has %d", MAX_RANK, n);
    return NULL;
  }
  element->at = t->at;
  element->type = type_tensor(e->module, element->type.kind, n, sizes);
  return element;
}

/* ---- tuples and functions */
static TypeForm *parts_type(Elab *e, const TypeExpr *t, FormKind kind, const TypeElementList *list) {
  TypeForm *type = type_new(e, kind, t->at);
  type->nparts = list->n;
  type->parts = NEW_ARRAY(e->arena, TypeForm *, list->n);
  type->part_names = NEW_ARRAY(e->arena, const char *, list->n);
  bool ok = true;
  for (int i = 0; i < list->n; i++) {
    const TypeElement *element = &list->at[i];
    type->parts[i] = elab_type(e, element->type);
    type->part_names[i] = element->name.text;
    ok &= type->parts[i] != NULL;
    for (int j = 0; j < i && element->name.text; j++)
      if (list->at[j].name.text == element->name.text) {
        DiagMessage *m = elab_error(e, element->name.at, "two parts are called '%s'", element->name.text);
        diag_note(e->diag, m, list->at[j].name.at, "the first is here");
        ok = false;
      }
    if (kind == FORM_TUPLE && type->parts[i] && type->parts[i]->kind == FORM_FUNCTION) {
      elab_error(e, element->at, "a function cannot be stored in a tuple");
      ok = false;
    }
  }
  return ok ? type : NULL;
}

static TypeForm *tuple_type(Elab *e, const TypeExpr *t) {
  if (t->tuple.n == 1)
    return elab_type(e, t->tuple.at[0].type);
  return parts_type(e, t, FORM_TUPLE, &t->tuple);
}

static TypeForm *function_type(Elab *e, const TypeExpr *t) {
  TypeForm *type = parts_type(e, t, FORM_FUNCTION, &t->function.parameters);
  TypeForm *result = elab_type(e, t->function.result);
  if (!type || !result)
    return NULL;
  if (result->kind == FORM_FUNCTION) {
    elab_error(e, t->function.result->at, "a function cannot return a function");
    return NULL;
  }
  type->result = result;
  return type;
}

TypeForm *elab_type(Elab *e, const TypeExpr *t) {
  switch (t->kind) {
  case TYPE_EXPR_POISON: return NULL;
  case TYPE_EXPR_WORD: {
    TypeForm *type = type_new(e, FORM_TENSOR, t->at);
    type->type = type_scalar(word_kind(e, t->word));
    return type;
  }
  case TYPE_EXPR_NAME: return named_type(e, t, t->at, 0, NULL);
  case TYPE_EXPR_TENSOR: return tensor_type(e, t);
  case TYPE_EXPR_TUPLE: return tuple_type(e, t);
  case TYPE_EXPR_FUNCTION: return function_type(e, t);
  }
  return NULL;
}

/* ---- text */
static const char *parts_text(Elab *e, const TypeForm *t) {
  const char *text = "(";
  for (int i = 0; i < t->nparts; i++)
    text = arena_printf(e->arena, "%s%s%s", text, i ? ", " : "", typeform_text(e, t->parts[i]));
  return arena_printf(e->arena, "%s)", text);
}

const char *typeform_text(Elab *e, const TypeForm *t) {
  const char *text;
  switch (t->kind) {
  case FORM_TENSOR: return type_text(e->module, t->type);
  case FORM_TUPLE: return parts_text(e, t);
  case FORM_FUNCTION: return arena_printf(e->arena, "fn%s -> %s", parts_text(e, t), typeform_text(e, t->result));
  case FORM_STRUCT:
    text = t->decl->name;
    for (int i = 0; i < t->decl->item->structure.sizes.n; i++)
      text = arena_printf(e->arena, "%s%s%s", text, i ? ", " : "[", size_text(e->module, t->struct_sizes[i]));
    return t->decl->item->structure.sizes.n ? arena_printf(e->arena, "%s]", text) : text;
  case FORM_POISON: break;
  }
  return "an error";
}

/* ---- forms against types */
static Form *report_mismatch(Elab *e, const Form *t, const TypeForm *want, const char *what) {
  DiagMessage *m = elab_error(e, t->at, "%s is %s where %s is declared", what, form_text(e, t), typeform_text(e, want));
  if (want->at.src)
    diag_note(e->diag, m, want->at, "declared here");
  if (want->kind == FORM_TENSOR && want->type.rank && t->kind == FORM_TENSOR && !t->type.rank) {
    const char *sizes = "";
    for (int i = 0; i < want->type.rank; i++)
      sizes = arena_printf(e->arena, "%s%s%s", sizes, i ? ", " : "", size_text(e->module, want->type.dims[i]));
    diag_mend(e->diag, m, "to repeat a scalar write full[%s](..)", sizes);
  }
  return form_poison(e, t->at);
}

static Form *check_tensor(Elab *e, Form *t, const TypeForm *want, const char *what) {
  if (t->type.rank != want->type.rank)
    return report_mismatch(e, t, want, what);
  Form *converted = form_convert(e, t, want->type.kind, what);
  if (converted->kind == FORM_POISON)
    return converted;
  bool ok = true;
  for (int i = 0; i < want->type.rank; i++)
    ok &= sizes_agree(e, t->at, converted->type.dims[i], want->type.dims[i], what);
  return ok ? form_with_dims(e, converted, want->type.dims) : form_poison(e, t->at);
}

static Form *check_parts(Elab *e, Form *t, const TypeForm *want, const char *what) {
  Form *copy = form_copy(e, t);
  copy->parts = NEW_ARRAY(e->arena, Form *, t->nparts);
  copy->part_names = want->part_names ? want->part_names : t->part_names;
  copy->struct_sizes = want->struct_sizes;
  for (int i = 0; i < t->nparts; i++) {
    copy->parts[i] = form_check(e, t->parts[i], want->parts[i], what);
    if (copy->parts[i]->kind == FORM_POISON)
      return form_poison(e, t->at);
  }
  return copy;
}

static bool struct_sizes_agree(Elab *e, const Form *t, const TypeForm *want, const char *what) {
  bool ok = true;
  for (int i = 0; i < t->decl->item->structure.sizes.n; i++)
    ok &= sizes_agree(e, t->at, t->struct_sizes[i], want->struct_sizes[i], what);
  return ok;
}

Form *form_check(Elab *e, Form *t, const TypeForm *want, const char *what) {
  if (t->kind == FORM_POISON)
    return t;
  if (t->kind != want->kind)
    return report_mismatch(e, t, want, what);
  switch (t->kind) {
  case FORM_TENSOR: return check_tensor(e, t, want, what);
  case FORM_TUPLE: return t->nparts == want->nparts ? check_parts(e, t, want, what) : report_mismatch(e, t, want, what);
  case FORM_STRUCT:
    if (t->decl->item != want->decl->item)
      return report_mismatch(e, t, want, what);
    return struct_sizes_agree(e, t, want, what) ? check_parts(e, t, want, what) : form_poison(e, t->at);
  case FORM_FUNCTION:
  case FORM_POISON: break;
  }
  return t;
}
