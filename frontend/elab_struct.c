/* Structs: their declarations checked, their types with sizes put in, and their construction. */
#include "frontend/elab_core.h"
#include "frontend/elab_lift.h"

enum { MAX_LEAVES = 4096 };

static int64_t count_leaves(const TypeExpr *t, const Scope *scope);

/* The number of tensors and scalars in a struct: at most MAX_LEAVES + 1, so that structs of structs do not explode. */
static int64_t struct_leaves(StructDecl *decl) {
  if (decl->leaves || decl->is_open)
    return decl->leaves;
  int64_t n = 0;
  decl->is_open = true;
  for (int i = 0; i < decl->item->structure.fields.n; i++)
    n += count_leaves(decl->item->structure.fields.at[i].type, decl->top);
  decl->is_open = false;
  return decl->leaves = n > MAX_LEAVES ? MAX_LEAVES + 1 : n;
}

static int64_t count_leaves(const TypeExpr *t, const Scope *scope) {
  int64_t n = 0;
  if (t->kind == TYPE_EXPR_TENSOR)
    t = t->tensor.base;
  if (t->kind == TYPE_EXPR_TUPLE) {
    for (int i = 0; i < t->tuple.n; i++)
      n += count_leaves(t->tuple.at[i].type, scope);
    return n;
  }
  const Binding *b = t->kind == TYPE_EXPR_NAME ? scope_lookup(scope, t->name) : NULL;
  return b && b->kind == BIND_STRUCT ? struct_leaves(b->decl) : 1;
}

/* Fields are elaborated where the struct is declared, its sizes bound to those given. */
TypeForm *struct_type(Elab *e, StructDecl *decl, Range at, int nsizes, const Size **sizes) {
  const Item *item = decl->item;
  const NameList *names = &item->structure.sizes;
  if (decl->is_open) {
    DiagMessage *m = elab_error(e, at, "struct '%s' contains itself", decl->name);
    diag_note(e->diag, m, item->name.at, "declared here");
    return NULL;
  }
  if (nsizes != names->n) {
    DiagMessage *m =
        elab_error(e, at, "struct '%s' has %d size%s, not %d", decl->name, names->n, names->n == 1 ? "" : "s", nsizes);
    diag_note(e->diag, m, item->name.at, "declared here");
    return NULL;
  }
  if (struct_leaves(decl) > MAX_LEAVES) {
    elab_error(e, item->name.at, "struct '%s' has more than %d parts", decl->name, MAX_LEAVES);
    return NULL;
  }
  TypeForm *t = NEW(e->arena, TypeForm);
  t->kind = FORM_STRUCT;
  t->at = at;
  t->decl = decl;
  t->struct_sizes = sizes;
  t->nparts = item->structure.fields.n;
  t->parts = NEW_ARRAY(e->arena, TypeForm *, t->nparts);
  t->part_names = NEW_ARRAY(e->arena, const char *, t->nparts);
  Scope *before = e->scope;
  e->scope = scope_new(e, decl->top);
  for (int i = 0; i < names->n; i++)
    scope_bind(e, BIND_SIZE, names->at[i], NULL)->size = sizes[i];
  decl->is_open = true;
  bool ok = true;
  for (int i = 0; i < t->nparts; i++) {
    const Parameter *field = &item->structure.fields.at[i];
    t->part_names[i] = field->name.text;
    t->parts[i] = elab_type(e, field->type);
    ok &= t->parts[i] != NULL;
    if (t->parts[i] && t->parts[i]->kind == FORM_FUNCTION) {
      elab_error(e, field->at, "a function cannot be stored in a struct");
      ok = false;
    }
  }
  decl->is_open = false;
  e->scope = before;
  return ok ? t : NULL;
}

static void report_twice(Elab *e, Name second, Range first, const char *what) {
  DiagMessage *m = elab_error(e, second.at, "two %s are called '%s'", what, second.text);
  diag_note(e->diag, m, first, "the first is here");
}

void struct_check(Elab *e, StructDecl *decl) {
  const NameList *sizes = &decl->item->structure.sizes;
  const ParameterList *fields = &decl->item->structure.fields;
  for (int i = 0; i < fields->n; i++)
    for (int j = 0; j < i; j++)
      if (fields->at[j].name.text == fields->at[i].name.text) {
        report_twice(e, fields->at[i].name, fields->at[j].name.at, "fields");
        break;
      }
  const Place before = place_save(e);
  Func *f = scratch_func(e, decl->name, decl->item->at);
  const Size **values = NEW_ARRAY(e->arena, const Size *, sizes->n);
  for (int i = 0; i < sizes->n; i++) {
    for (int j = 0; j < i; j++)
      if (sizes->at[j].text == sizes->at[i].text)
        report_twice(e, sizes->at[i], sizes->at[j].at, "sizes");
    values[i] = size_atom(e->module, func_add_size(f, sizes->at[i].text));
  }
  e->b = build_into(f, f->body);
  Scope *scope = scope_new(e, decl->top);
  e->scope = scope;
  for (int i = 0; i < sizes->n; i++)
    scope_bind(e, BIND_SIZE, sizes->at[i], NULL);
  bool known = true;
  for (int i = 0; i < fields->n; i++)
    known &= sizes_declared(e, scope, fields->at[i].type, arena_printf(e->arena, "struct %s", decl->name));
  if (known)
    struct_type(e, decl, decl->item->name.at, sizes->n, values);
  place_restore(e, &before);
}

/* ---- construction: Layer(w, b), Layer(w = .., b = ..), Layer[3, 4](w, b) */
static Form *make_struct(Elab *e, StructDecl *decl, Range at, const TypeForm *type, Form **fields) {
  Form *t = NEW(e->arena, Form);
  t->kind = FORM_STRUCT;
  t->at = at;
  t->decl = decl;
  t->struct_sizes = type->struct_sizes;
  t->nparts = type->nparts;
  t->parts = NEW_ARRAY(e->arena, Form *, t->nparts);
  for (int i = 0; i < t->nparts; i++) {
    const char *what = arena_printf(e->arena, "field '%s'", type->part_names[i]);
    t->parts[i] = form_check(e, fields[i], type->parts[i], what);
    if (t->parts[i]->kind == FORM_POISON)
      return form_poison(e, at);
  }
  return t;
}

/* The sizes that the fields' values give; NULL after an error. */
static const Size **infer_sizes(Elab *e, StructDecl *decl, Range at, Form **fields) {
  const Item *item = decl->item;
  const NameList *names = &item->structure.sizes;
  SizeUnknown *unknowns = NEW_ARRAY(e->arena, SizeUnknown, names->n);
  for (int i = 0; i < names->n; i++)
    unknowns[i].name = names->at[i];
  Scope *before = e->scope;
  e->scope = scope_new(e, decl->top);
  for (int i = 0; i < item->structure.fields.n; i++)
    sizes_infer(e, item->structure.fields.at[i].type, fields[i], names->n, unknowns);
  e->scope = before;
  const Size **sizes = NEW_ARRAY(e->arena, const Size *, names->n);
  for (int i = 0; i < names->n; i++) {
    sizes[i] = unknowns[i].size;
    if (sizes[i])
      continue;
    DiagMessage *m =
        elab_error(e, at, "size '%s' of struct '%s' does not follow from the fields", names->at[i].text, decl->name);
    diag_note(e->diag, m, names->at[i].at, "declared here");
    diag_mend(e->diag, m, "give it: %s[..](..)", decl->name);
    return NULL;
  }
  return sizes;
}

Form *struct_construct(Elab *e, Expr *x, StructDecl *decl, const ExprList *given) {
  const Item *item = decl->item;
  const ParameterList *fields = &item->structure.fields;
  ArgumentMatch match;
  if (!arguments_match(e, x->at, decl->name, item->name.at, fields, NULL, &x->call.arguments, false, &match))
    return form_poison(e, x->at);
  Form **forms = NEW_ARRAY(e->arena, Form *, fields->n);
  bool ok = true;
  for (int i = 0; i < fields->n; i++) {
    Kind kind;
    const bool known = type_literal_kind(e, decl->top, fields->at[i].type, &kind);
    forms[i] = elab_expr(e, match.given[i], known ? &kind : NULL);
    ok &= forms[i]->kind != FORM_POISON;
  }
  if (!ok)
    return form_poison(e, x->at);
  const Size **sizes;
  if (given) {
    sizes = NEW_ARRAY(e->arena, const Size *, given->n);
    for (int i = 0; i < given->n; i++)
      if (!(sizes[i] = elab_size(e, given->at[i])))
        return form_poison(e, x->at);
  } else if (!(sizes = infer_sizes(e, decl, x->at, forms))) {
    return form_poison(e, x->at);
  }
  const TypeForm *type = struct_type(e, decl, x->at, given ? given->n : item->structure.sizes.n, sizes);
  return type ? make_struct(e, decl, x->at, type, forms) : form_poison(e, x->at);
}
