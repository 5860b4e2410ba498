/* Brackets and fields: x[i, a:b], sum[i: ..], f[3], zeros[n], x.T, p.w.
   What name[..] means follows from what the name is: a variable in scope is indexed; a reduction, a filled tensor or a
   function is not a variable, unless the program declares one of its name. */
#include "frontend/elab_loops.h"
#include <string.h>

typedef enum BracketMeaning { MEANS_INDEX, MEANS_REDUCTION, MEANS_FILLED, MEANS_OTHER } BracketMeaning;

static BracketMeaning bracket_meaning(Elab *e, const Expr *x) {
  const Expr *base = x->bracket.base;
  if (base->kind != EXPR_NAME)
    return MEANS_OTHER;
  const Binding *b = scope_find(e, base->name);
  if (b && b->kind != BIND_FUNCTION)
    return MEANS_INDEX;
  if (reduction_is(base->name) && (!b || x->bracket.reduction))
    return MEANS_REDUCTION;
  return !b && builtin_is_filled(base->name) ? MEANS_FILLED : MEANS_OTHER;
}

static Form *reduction(Elab *e, Expr *x, const Kind *want) {
  const Bracket *b = &x->bracket;
  if (b->reduction)
    return elab_reduction(e, b->base->name, b->reduction, x->at, want);
  elab_error(e, b->not_reduction, "%s", b->why_not_reduction);
  return form_poison(e, x->at);
}

static Form *filled(Elab *e, Expr *x, const Kind *want) {
  const char *name = x->bracket.base->name;
  const ExprList *sizes = bracket_sizes(e, &x->bracket, arena_printf(e->arena, "'%s'", name));
  return sizes ? builtin_filled(e, x, name, sizes, NULL, NULL, want) : form_poison(e, x->at);
}

static Form *sized_function(Elab *e, Expr *x, const Form *f) {
  const ExprList *exprs = bracket_sizes(e, &x->bracket, "a function");
  if (!exprs)
    return form_poison(e, x->at);
  const Size **sizes = NEW_ARRAY(e->arena, const Size *, exprs->n);
  bool good = true;
  for (int i = 0; i < exprs->n; i++)
    good &= (sizes[i] = elab_size(e, exprs->at[i])) != NULL;
  return good ? function_with_sizes(e, x->at, f, exprs->n, sizes) : form_poison(e, x->at);
}

static Form *indexed(Elab *e, Expr *x, const Form *base) {
  const Bracket *b = &x->bracket;
  switch (base->kind) {
  case FORM_POISON: break;
  case FORM_TENSOR:
    if (!b->items) {
      elab_error(e, b->not_items, "an index holds no range; a slice is written a:b");
      break;
    }
    const IndexPlan *plan = plan_index(e, x->at, base, b->items);
    if (plan)
      return plan_apply(e, plan, base);
    break;
  case FORM_TUPLE: {
    DiagMessage *m = elab_error(e, x->at, "a tuple is not indexed");
    diag_mend(e->diag, m, "take it apart: let (a, b) = ..;");
    break;
  }
  case FORM_STRUCT: elab_error(e, x->at, "a struct is not indexed; its fields are read by .name"); break;
  case FORM_FUNCTION: return sized_function(e, x, base);
  }
  return form_poison(e, x->at);
}

Form *elab_bracket(Elab *e, Expr *x, const Kind *want) {
  switch (bracket_meaning(e, x)) {
  case MEANS_REDUCTION: return reduction(e, x, want);
  case MEANS_FILLED: return filled(e, x, want);
  case MEANS_INDEX:
  case MEANS_OTHER: break;
  }
  return indexed(e, x, elab_expr(e, x->bracket.base, NULL));
}

/* ---- fields */
static Form *transposed(Elab *e, Expr *x, const Form *base) {
  const int rank = base->type.rank;
  int axes[MAX_RANK];
  if (rank < 2) {
    elab_error(e, x->at, ".T swaps the last two axes; %s has %s", form_text(e, base), rank ? "only one" : "none");
    return form_poison(e, x->at);
  }
  for (int i = 0; i < rank; i++)
    axes[i] = i;
  axes[rank - 1] = rank - 2;
  axes[rank - 2] = rank - 1;
  return form_permute(e, x->at, base, axes);
}

/* The position of a field, or -1. */
static int form_field(const Form *t, const char *name) {
  for (int i = 0; i < t->nparts; i++) {
    const char *field = t->kind == FORM_STRUCT ? t->decl->item->structure.fields.at[i].name.text
                        : t->part_names        ? t->part_names[i]
                                               : NULL;
    if (field && strcmp(field, name) == 0)
      return i;
  }
  return -1;
}

int field_find(Elab *e, const Expr *x, const Form *base) {
  const Name *name = &x->field.name;
  const int i = form_field(base, name->text);
  if (i >= 0)
    return i;
  DiagMessage *m;
  if (base->kind == FORM_STRUCT) {
    m = elab_error(e, name->at, "struct '%s' has no field '%s'", base->decl->name, name->text);
    diag_note(e->diag, m, base->decl->item->name.at, "'%s' is declared here", base->decl->name);
  } else if (base->kind == FORM_FUNCTION) {
    elab_error(e, name->at, "a function has no field '%s'", name->text);
  } else {
    m = elab_error(e, name->at, "a value of type %s has no field '%s'", form_text(e, base), name->text);
    if (base->kind == FORM_TUPLE)
      diag_mend(e->diag, m, "take it apart: let (a, b) = ..;");
  }
  return -1;
}

Form *elab_field(Elab *e, Expr *x) {
  const Form *base = elab_expr(e, x->field.base, NULL);
  if (base->kind == FORM_POISON)
    return form_poison(e, x->at);
  if (base->kind == FORM_TENSOR && strcmp(x->field.name.text, "T") == 0)
    return transposed(e, x, base);
  const int i = field_find(e, x, base);
  if (i < 0)
    return form_poison(e, x->at);
  Form *part = form_copy(e, base->parts[i]);
  part->at = x->at;
  return part;
}
