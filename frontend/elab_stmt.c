/* Statements in order: let, var, require; patterns; what follows a statement that may leave its loop.
   A `var` is a Binding whose Form is replaced: nothing is ever changed in place, and so a value once taken stays. */
#include "frontend/elab_loops.h"
#include <string.h>

/* ---- patterns */
static void bind_poison(Elab *e, const Pattern *p) {
  if (!p->is_tuple)
    scope_bind(e, BIND_POISON, p->name, form_poison(e, p->at));
  for (int i = 0; p->is_tuple && i < p->parts.n; i++)
    bind_poison(e, p->parts.at[i]);
}

bool pattern_bind(Elab *e, const Pattern *p, const Form *t) {
  bool good = true;
  if (t->kind == FORM_POISON) {
    bind_poison(e, p);
    return false;
  }
  if (!p->is_tuple) {
    Form *f = form_copy(e, t);
    f->is_literal = f->adapts = f->is_division = false;
    if (f->kind == FORM_TENSOR && f->value->def && !f->value->name && !value_is_const(f->value))
      f->value->name = p->name.text;
    scope_bind(e, BIND_LET, p->name, f);
    return true;
  }
  if (t->kind != FORM_TUPLE || t->nparts != p->parts.n) {
    DiagMessage *m = t->kind == FORM_TUPLE ? elab_error(e, p->at, "%d names for a tuple of %d", p->parts.n, t->nparts)
                                           : elab_error(e, p->at, "%d names for a value that is no tuple", p->parts.n);
    diag_note(e->diag, m, t->at, "this is of type %s", form_text(e, t));
    bind_poison(e, p);
    return false;
  }
  for (int i = 0; i < t->nparts; i++)
    good &= pattern_bind(e, p->parts.at[i], t->parts[i]);
  return good;
}

/* ---- let and var */
/* The value of an initialisation, stored. */
static Form *initialised(Elab *e, const TypeExpr *written, Expr *init, const char *what) {
  const TypeForm *type = written ? elab_type(e, written) : NULL;
  const Kind *want = type && type->kind == FORM_TENSOR ? &type->type.kind : NULL;
  Form *f = elab_expr(e, init, want);
  if (f->kind == FORM_POISON || (written && !type))
    return form_poison(e, init->at);
  if (type)
    f = form_check(e, f, type, what);
  return f->kind == FORM_POISON ? f : form_stored(e, f);
}

static const char *pattern_text(Elab *e, const Pattern *p) {
  return p->is_tuple ? "the pattern" : arena_printf(e->arena, "'%s'", p->name.text);
}

static void elab_let(Elab *e, Stmt *s) {
  pattern_bind(e, s->let.pattern, initialised(e, s->let.type, s->let.init, pattern_text(e, s->let.pattern)));
}

Form *var_form(Elab *e, const Form *t) {
  if (t->kind == FORM_TENSOR)
    return form_of_value(e, t->at, form_store(e, t));
  Form *f = form_copy(e, t);
  f->parts = NEW_ARRAY(e->arena, Form *, t->nparts);
  for (int i = 0; i < t->nparts; i++)
    f->parts[i] = var_form(e, t->parts[i]);
  return f;
}

static bool has_function(const Form *t) {
  bool any = t->kind == FORM_FUNCTION;
  for (int i = 0; (t->kind == FORM_TUPLE || t->kind == FORM_STRUCT) && i < t->nparts; i++)
    any |= has_function(t->parts[i]);
  return any;
}

static void elab_var(Elab *e, Stmt *s) {
  const Name *name = &s->var.name;
  Form *f = initialised(e, s->var.type, s->var.init, arena_printf(e->arena, "'%s'", name->text));
  if (f->kind != FORM_POISON && has_function(f)) {
    DiagMessage *m = elab_error(e, s->var.init->at, "a var cannot hold a function");
    diag_mend(e->diag, m, "write let %s = ..;", name->text);
    f = form_poison(e, f->at);
  }
  if (f->kind == FORM_POISON) {
    scope_bind(e, BIND_POISON, *name, f);
    return;
  }
  Binding *b = scope_bind(e, BIND_VAR, *name, var_form(e, f));
  b->loop_depth = e->comprehension_depth;
}

/* ---- require */
/* The beginnings of texts that tell another status than that of a failed require: see build_require(). */
static const char *require_text(Elab *e, const char *message) {
  static const char *const taken[] = {"index ", "range ", "size ", "matrix "};
  for (int i = 0; message && i < 4; i++)
    if (strncmp(message, taken[i], strlen(taken[i])) == 0)
      return arena_printf(e->arena, "require: %s", message);
  return message ? message : "a requirement does not hold";
}

/* What a comparison of sizes says of them. */
static void assume(Elab *e, BinaryOp op, const Size *l, const Size *r) {
  const Size *one = size_const(e->module, 1);
  switch (op) {
  case BINARY_EQ: sizes_assume(e, l, r); break;
  case BINARY_GE: size_assume_at_least(e, l, r); break;
  case BINARY_GT: size_assume_at_least(e, l, size_add(e->module, r, one)); break;
  case BINARY_LE: size_assume_at_least(e, r, l); break;
  case BINARY_LT: size_assume_at_least(e, r, size_add(e->module, l, one)); break;
  default: break;
  }
}

static bool compares(BinaryOp op) {
  return op == BINARY_EQ || op == BINARY_GE || op == BINARY_GT || op == BINARY_LE || op == BINARY_LT;
}

/* Each side of an `and` is a requirement of its own; a comparison of sizes is known from here on. */
static void require(Elab *e, Expr *x, const char *text) {
  if (x->kind == EXPR_BINARY && x->binary.op == BINARY_AND) {
    require(e, x->binary.left, text);
    require(e, x->binary.right, text);
    return;
  }
  Value *cond = NULL;
  if (x->kind == EXPR_BINARY && compares(x->binary.op)) {
    Form *l = elab_tensor(e, x->binary.left, NULL), *r = elab_tensor(e, x->binary.right, NULL);
    if (l->kind == FORM_POISON || r->kind == FORM_POISON)
      return;
    Form *f = operator_binary(e, x->at, x->binary.op, x->binary.op_at, l, r);
    if (f->kind == FORM_POISON)
      return;
    if (f->type.rank)
      elab_error(e, x->at, "a condition, a single bool, is needed here, not %s", form_text(e, f));
    else
      cond = f->value;
    if (cond && l->as_size && r->as_size)
      assume(e, x->binary.op, l->as_size, r->as_size);
  } else {
    cond = elab_condition(e, x);
  }
  if (!cond)
    return;
  const Range loc = e->b.loc;
  e->b.loc = x->at;
  build_require(&e->b, cond, text);
  e->b.loc = loc;
}

/* ---- all statements */
void elab_stmt(Elab *e, Stmt *s) {
  LoopState *loop = e->loop;
  const Range loc = e->b.loc;
  e->b.loc = s->at;
  if (loop)
    loop->in_value++;
  switch (s->kind) {
  case STMT_LET: elab_let(e, s); break;
  case STMT_VAR: elab_var(e, s); break;
  case STMT_ASSIGN: elab_assign(e, s); break;
  case STMT_REQUIRE: require(e, s->require.condition, require_text(e, s->require.message)); break;
  case STMT_FOR: elab_for(e, s); break;
  case STMT_WHILE: elab_while(e, s); break;
  default: break;
  }
  if (loop)
    loop->in_value--;
  switch (s->kind) {
  case STMT_EXPR:
    if (s->expr->kind == EXPR_IF)
      elab_if_statement(e, s->expr);
    else if (s->expr->kind == EXPR_BLOCK)
      elab_block_statement(e, s->expr->block);
    break;
  case STMT_BREAK:
  case STMT_CONTINUE: elab_exit(e, s); break;
  default: break;
  }
  e->b.loc = loc;
}

static void elab_from(Elab *e, const StmtList *list, int i, int n);

enum { MAX_EXITS = 200 };

/* The statements after one that may have left the loop: run only where it did not.  They see what that one declared,
   and so nest. */
static void elab_rest(Elab *e, const StmtList *list, int i, int n) {
  LoopState *loop = e->loop;
  Merge m;
  VarList vars = {0};
  if (loop->nexits == MAX_EXITS) {
    elab_error(e, list->at[i - 1]->at, "more than %d statements of one body may leave the loop", MAX_EXITS);
    return;
  }
  stmts_assigned(e, list, i, n, &vars);
  for (int k = i; k < n; k++)
    exits_assigned(e, stmt_exits(list->at[k]), &vars);
  merge_begin(e, &m, loop->live->form->value, &vars);
  loop->nexits++;
  elab_from(e, list, i, n);
  loop->nexits--;
  merge_else(e, &m, 0, NULL);
  merge_end(e, &m, 0, NULL);
}

static void elab_from(Elab *e, const StmtList *list, int i, int n) {
  for (; i < n; i++) {
    elab_stmt(e, list->at[i]);
    if (i + 1 == n || !e->loop || !e->loop->live || e->loop->in_value)
      continue;
    const Exits exits = stmt_exits(list->at[i]);
    if (exits.breaks || exits.continues) {
      elab_rest(e, list, i + 1, n);
      return;
    }
  }
}

void elab_stmts(Elab *e, const StmtList *list, int n) {
  elab_from(e, list, 0, n);
}
