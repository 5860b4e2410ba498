/* Expressions: the dispatch over their kinds, and what every caller asks of them: a tensor, a scalar, a size. */
#include "frontend/elab_core.h"
#include "frontend/elab_lift.h"

/* ---- literals: they take the kind of the place that they initialise */
static Form *elab_integer(Elab *e, const Expr *x, const Kind *want) {
  if (want && kind_is_float(*want))
    return form_of_value(e, x->at, build_float(&e->b, *want, (double)x->integer.value));
  return form_int(e, x->at, x->integer.value);
}

static Form *elab_float(Elab *e, const Expr *x, const Kind *want) {
  if (want && kind_is_float(*want))
    return form_of_value(e, x->at, build_float(&e->b, *want, x->floating.value));
  return form_float(e, x->at, x->floating.value);
}

/* `base of kind` */
static Form *elab_of(Elab *e, Expr *x, const Kind *want) {
  const TypeForm *type = elab_type(e, x->of.type);
  Expr *base = x->of.base, *fill = NULL;
  const Range at = base->at;
  if (base->kind == EXPR_CALL && base->call.arguments.n == 1 && !base->call.arguments.at[0].name.text) {
    fill = base->call.arguments.at[0].value;
    base = base->call.callee;
  }
  if (!expr_is_filled(e, base)) {
    if (base->kind != EXPR_POISON) {
      DiagMessage *m = elab_error(e, at, "'of' gives a kind to zeros, ones, full, eye and iota only");
      diag_mend(e->diag, m, "to convert a value write %s(..)", type ? typeform_text(e, type) : "f32");
    }
    return form_poison(e, x->at);
  }
  if (!type)
    return form_poison(e, x->at);
  if (type->kind != FORM_TENSOR || type->type.rank) {
    elab_error(e, x->of.type->at, "a kind is needed here, not %s", typeform_text(e, type));
    return form_poison(e, x->at);
  }
  const char *name = base->bracket.base->name;
  const ExprList *sizes = bracket_sizes(e, &base->bracket, arena_printf(e->arena, "'%s'", name));
  return sizes ? builtin_filled(e, x, name, sizes, fill, &type->type.kind, want) : form_poison(e, x->at);
}

static Form *elab_tuple(Elab *e, Expr *x) {
  Form **parts = NEW_ARRAY(e->arena, Form *, x->tuple.n);
  for (int i = 0; i < x->tuple.n; i++)
    parts[i] = elab_expr(e, x->tuple.at[i], NULL);
  return elab_tuple_of(e, x->at, x->tuple.n, parts);
}

Form *elab_tuple_of(Elab *e, Range at, int n, Form **parts) {
  for (int i = 0; i < n; i++)
    if (parts[i]->kind == FORM_POISON)
      return form_poison(e, at);
  if (n == 1)
    return parts[0];
  Form *t = NEW(e->arena, Form);
  t->kind = FORM_TUPLE;
  t->at = at;
  t->nparts = n;
  t->parts = NEW_ARRAY(e->arena, Form *, n);
  for (int i = 0; i < n; i++)
    t->parts[i] = parts[i];
  return t;
}

static Form *dispatch(Elab *e, Expr *x, const Kind *want) {
  switch (x->kind) {
  case EXPR_POISON: return form_poison(e, x->at);
  case EXPR_NAME: return elab_name(e, x);
  case EXPR_INT: return elab_integer(e, x, want);
  case EXPR_FLOAT: return elab_float(e, x, want);
  case EXPR_BOOL: return form_bool(e, x->at, x->boolean);
  case EXPR_UNARY: return elab_unary(e, x, want);
  case EXPR_BINARY: return elab_binary(e, x, want);
  case EXPR_CALL:
  case EXPR_VAR_CALL: return elab_call(e, x, want);
  case EXPR_CAST: return elab_cast(e, x);
  case EXPR_BRACKET: return elab_bracket(e, x, want);
  case EXPR_FIELD: return elab_field(e, x);
  case EXPR_OF: return elab_of(e, x, want);
  case EXPR_TUPLE: return elab_tuple(e, x);
  case EXPR_ARRAY: return elab_array(e, x, want);
  case EXPR_COMPREHENSION: return elab_comprehension(e, &x->comprehension, x->at, want);
  case EXPR_IF: return elab_if(e, x, want);
  case EXPR_BLOCK: return elab_block(e, x->block, want);
  case EXPR_LAMBDA: return elab_lambda(e, x);
  }
  return form_poison(e, x->at);
}

Form *elab_expr(Elab *e, Expr *x, const Kind *want) {
  const Range before = e->b.loc;
  e->b.loc = x->at;
  Form *t = dispatch(e, x, want);
  e->b.loc = before;
  return t;
}

Form *elab_tensor(Elab *e, Expr *x, const Kind *want) {
  Form *t = elab_expr(e, x, want);
  if (t->kind == FORM_TENSOR || t->kind == FORM_POISON)
    return t;
  DiagMessage *m = elab_error(e, x->at, "a number or a tensor is needed here, not %s", form_text(e, t));
  if (t->kind == FORM_FUNCTION && x->kind == EXPR_NAME)
    diag_mend(e->diag, m, "call it: %s(..)", x->name);
  return form_poison(e, x->at);
}

static Form *elab_rank_zero(Elab *e, Expr *x, const Kind *want, const char *what) {
  Form *t = elab_tensor(e, x, want);
  if (t->kind == FORM_TENSOR && t->type.rank) {
    elab_error(e, x->at, "%s is needed here, not %s", what, type_text(e->module, t->type));
    return form_poison(e, x->at);
  }
  return t;
}

Value *elab_scalar(Elab *e, Expr *x, Kind kind) {
  Form *t = elab_rank_zero(e, x, &kind, "a scalar");
  if (t->kind == FORM_TENSOR)
    t = form_convert(e, t, kind, "this value");
  return t->kind == FORM_TENSOR ? form_store(e, t) : NULL;
}

Value *elab_condition(Elab *e, Expr *x) {
  Form *t = elab_rank_zero(e, x, NULL, "a condition, a single bool,");
  if (t->kind != FORM_TENSOR)
    return NULL;
  if (t->type.kind == KIND_BOOL)
    return form_store(e, t);
  DiagMessage *m = elab_error(e, x->at, "a condition must be bool, not %s", kind_name[t->type.kind]);
  diag_mend(e->diag, m, "compare it: .. != %s", kind_is_float(t->type.kind) ? "0.0" : "0");
  return NULL;
}

/* ---- sizes */
static const Size *size_error(Elab *e, const Expr *x) {
  elab_error(e, x->at, "a size is made of sizes, constants and + - * / alone; this depends on data");
  return NULL;
}

static const Size *size_binary(Elab *e, Expr *x) {
  const Size *l = elab_size(e, x->binary.left), *r = elab_size(e, x->binary.right);
  if (!l || !r)
    return NULL;
  switch (x->binary.op) {
  case BINARY_ADD: return size_add(e->module, l, r);
  case BINARY_SUB: return size_sub(e->module, l, r);
  case BINARY_MUL: return size_mul(e->module, l, r);
  default:
    if (size_is(r, 0)) {
      elab_error(e, x->binary.right->at, "a size is divided by 0");
      return NULL;
    }
    return size_floordiv(e->module, l, r);
  }
}

static bool is_size_operator(BinaryOp op) {
  return op == BINARY_ADD || op == BINARY_SUB || op == BINARY_MUL || op == BINARY_DIV;
}

const Size *elab_size(Elab *e, Expr *x) {
  const Binding *b = x->kind == EXPR_NAME ? scope_lookup(e->scope, x->name) : NULL;
  if (b && b->kind == BIND_SIZE)
    return lift_size(e, b->size);
  if (x->kind == EXPR_INT)
    return size_const(e->module, x->integer.value);
  if (x->kind == EXPR_BINARY && is_size_operator(x->binary.op))
    return size_binary(e, x);
  if (x->kind == EXPR_UNARY && x->unary.op == UNARY_NEG) {
    const Size *s = elab_size(e, x->unary.operand);
    return s ? size_scale(e->module, s, -1) : NULL;
  }
  const Form *t = elab_expr(e, x, NULL);
  if (t->kind == FORM_POISON)
    return NULL;
  if (t->kind != FORM_TENSOR || t->type.rank || !kind_is_int(t->type.kind)) {
    elab_error(e, x->at, "a size is an integer, not %s", form_text(e, t));
    return NULL;
  }
  return t->as_size ? t->as_size : size_error(e, x);
}

/* ---- blocks */
Form *elab_block(Elab *e, Block *block, const Kind *want) {
  Expr *value = block_value(block);
  Scope *scope = scope_push(e);
  elab_stmts(e, &block->statements, block->statements.n - (value && !block->tail));
  Form *t;
  if (value) {
    t = elab_expr(e, value, want);
  } else {
    if (!block->is_cut)
      elab_error(e, block->close, "this block is used as a value, but does not end in an expression");
    t = form_poison(e, block->at);
  }
  scope_pop(e, scope);
  sizes_keep(e, scope);
  return t;
}

/* ---- branches with a value */
static Form *elab_branch(Elab *e, Expr *x, bool then, const Kind *want) {
  struct SizeFact *facts = e->scope->facts;
  Form *t = then ? elab_block(e, x->if_.then_block, want) : elab_expr(e, x->if_.else_part, want);
  e->scope->facts = facts;
  return t;
}

static void store_leaves(Elab *e, const Form *t, int *n, Value ***values) {
  const Form **leaves;
  form_flatten(e, t, n, &leaves);
  *values = NEW_ARRAY(e->arena, Value *, *n + 1);
  for (int i = 0; i < *n; i++)
    (*values)[i] = form_store(e, leaves[i]);
}

/* The first branch's value may be a literal that takes the kind of the other's: converted in its own region. */
static void replace_yields(Elab *e, Merge *m, const Form *written, const Form *agreed) {
  const Builder here = e->b;
  const Form **from, **to;
  int n;
  e->b.region = m->op->regions[0];
  form_flatten(e, written, &n, &from);
  form_flatten(e, agreed, &n, &to);
  for (int i = 0; i < n; i++)
    m->op->regions[0]->yields[i] = form_store(e, form_convert(e, from[i], to[i]->type.kind, NULL));
  e->b = here;
}

static void mark_adapting(Form *t, const Form *a, const Form *b) {
  t->adapts = (a->adapts || a->is_literal) && (b->adapts || b->is_literal);
  t->is_literal = false;
  for (int i = 0; i < t->nparts; i++)
    mark_adapting(t->parts[i], a->parts[i], b->parts[i]);
}

static Form *elab_branches(Elab *e, Expr *x, Value *cond, const Kind *want) {
  VarList vars = {0};
  Merge m = {0};
  Value **values, **then_values;
  int n, nthen;
  vars_assigned(e, x, &vars);
  merge_begin(e, &m, cond, &vars);
  Form *a = form_stored(e, elab_branch(e, x, true, want)), *agreed = a;
  store_leaves(e, a, &nthen, &then_values);
  merge_else(e, &m, nthen, then_values);
  Form *b = form_stored(e, elab_branch(e, x, false, want));
  const Form *written = b;
  if (!form_same_shape(e, &agreed, &b,
                       "the branches of this 'if'")) { /* yields of the right number and types, for nobody */
    values = NEW_ARRAY(e->arena, Value *, nthen + 1);
    for (int i = 0; i < nthen; i++)
      values[i] = build_zeros(&e->b, then_values[i]->type);
    merge_end(e, &m, nthen, values);
    return form_poison(e, x->at);
  }
  replace_yields(e, &m, a, agreed);
  store_leaves(e, b, &n, &values);
  merge_end(e, &m, n, values);
  Value *const *results = m.op->results;
  Form *t = form_unflatten(e, b, &results);
  mark_adapting(t, a, written);
  t->at = x->at;
  return t;
}

Form *elab_if(Elab *e, Expr *x, const Kind *want) {
  int64_t known;
  Value *cond = elab_condition(e, x->if_.condition);
  if (!x->if_.else_part) {
    DiagMessage *m = elab_error(e, x->at, "an 'if' used as a value needs an 'else'");
    diag_mend(e->diag, m, "add else { .. }");
    return form_poison(e, x->at);
  }
  if (!cond) {
    elab_branch(e, x, true, want);
    elab_branch(e, x, false, want);
    return form_poison(e, x->at);
  }
  if (value_is_int_const(cond, &known))
    return elab_branch(e, x, known != 0, want);
  return elab_branches(e, x, cond, want);
}
