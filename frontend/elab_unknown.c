/* Functions that are not known: what a parameter of a function type stands for while a body is looked at that nothing
   calls. Such a one is an item without a body, made up from the type; its IR function is in no module, and neither is,
   in the end, what is built with it. */
#include "frontend/elab_core.h"

Function *function_unknown(Elab *e, const TypeExpr *type, Name name) {
  Item *item = NEW(e->arena, Item);
  item->kind = ITEM_EXTERN;
  item->name = name;
  item->at = type->at;
  for (int i = 0; i < type->function.parameters.n; i++) {
    const TypeElement *element = &type->function.parameters.at[i];
    Parameter p = {.name = element->name, .type = element->type, .at = element->at};
    if (!p.name.text)
      p.name = (Name){.text = arena_name(e->arena, arena_printf(e->arena, "argument%d", i + 1)), .at = element->at};
    vec_push(e->arena, item->function.parameters, p);
  }
  item->function.result = type->function.result;
  Function *f = NEW(e->arena, Function);
  f->kind = FUNCTION_ITEM;
  f->name = name.text;
  f->at = name.at;
  f->item = item;
  f->top = e->top;
  f->scope = e->scope;
  f->is_unknown = true;
  return f;
}

static Form *result_form(Elab *e, const TypeForm *t, Range at, int *n, Type *types) {
  Form *f = NEW(e->arena, Form);
  *f = (Form){.kind = t->kind,
              .at = at,
              .type = t->type,
              .nparts = t->nparts,
              .part_names = t->part_names,
              .decl = t->decl,
              .struct_sizes = t->struct_sizes};
  if (t->kind == FORM_TENSOR && types)
    types[*n] = t->type;
  *n += t->kind == FORM_TENSOR;
  f->parts = NEW_ARRAY(e->arena, Form *, t->nparts);
  for (int i = 0; i < t->nparts; i++)
    f->parts[i] = result_form(e, t->parts[i], at, n, types);
  return f;
}

bool unknown_finish(Elab *e, Lowered *l, const Header *h) {
  const TypeForm *result = elab_type(e, h->result);
  if (!result)
    return false;
  int n = 0;
  result_form(e, result, h->at, &n, NULL);
  Type *types = NEW_ARRAY(e->arena, Type, n);
  n = 0;
  l->result = result_form(e, result, h->at, &n, types);
  func_set_results(l->func, n, types, NULL);
  return true;
}
