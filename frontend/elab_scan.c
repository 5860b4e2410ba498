/* Questions to the syntax tree that are answered before it is elaborated: which vars a body assigns (they become
   carries), whether it leaves its loop early, whether a bound uses an index. The parser bounds the depth of trees, so
   that walks may recurse. */
#include "frontend/elab_loops.h"

typedef struct Walk Walk;
struct Walk {
  bool (*expr)(Walk *w, const Expr *x); /* whether to go down */
  bool (*stmt)(Walk *w, const Stmt *s);
  void *arg;
};

static void walk_expr(Walk *w, const Expr *x);
static void walk_stmt(Walk *w, const Stmt *s);

static void walk_block(Walk *w, const Block *block) {
  for (int i = 0; i < block->statements.n; i++)
    walk_stmt(w, block->statements.at[i]);
  if (block->tail)
    walk_expr(w, block->tail);
}

static void walk_list(Walk *w, const ExprList *list) {
  for (int i = 0; i < list->n; i++)
    walk_expr(w, list->at[i]);
}

static void walk_arguments(Walk *w, const ArgumentList *list) {
  for (int i = 0; i < list->n; i++)
    walk_expr(w, list->at[i].value);
}

static void walk_comprehension(Walk *w, const Comprehension *c) {
  for (int i = 0; i < c->ranges.n; i++) {
    if (c->ranges.at[i].from)
      walk_expr(w, c->ranges.at[i].from);
    if (c->ranges.at[i].to)
      walk_expr(w, c->ranges.at[i].to);
  }
  if (c->filter)
    walk_expr(w, c->filter);
  walk_expr(w, c->body);
}

/* The two readings of a bracket share their expressions: one of them is walked. */
static void walk_bracket(Walk *w, const Bracket *b) {
  walk_expr(w, b->base);
  if (b->reduction) {
    walk_comprehension(w, b->reduction);
    return;
  }
  for (int i = 0; b->items && i < b->items->n; i++) {
    const IndexItem *item = &b->items->at[i];
    const Expr *parts[] = {item->index, item->start, item->stop, item->step};
    for (int k = 0; k < 4; k++)
      if (parts[k])
        walk_expr(w, parts[k]);
  }
}

static void walk_expr(Walk *w, const Expr *x) {
  if (!w->expr(w, x))
    return;
  switch (x->kind) {
  case EXPR_POISON:
  case EXPR_NAME:
  case EXPR_INT:
  case EXPR_FLOAT:
  case EXPR_BOOL: break;
  case EXPR_UNARY: walk_expr(w, x->unary.operand); break;
  case EXPR_BINARY:
    walk_expr(w, x->binary.left);
    walk_expr(w, x->binary.right);
    break;
  case EXPR_CALL:
    walk_expr(w, x->call.callee);
    walk_arguments(w, &x->call.arguments);
    break;
  case EXPR_CAST: walk_arguments(w, &x->cast.arguments); break;
  case EXPR_VAR_CALL: walk_arguments(w, &x->var_call); break;
  case EXPR_BRACKET: walk_bracket(w, &x->bracket); break;
  case EXPR_FIELD: walk_expr(w, x->field.base); break;
  case EXPR_OF: walk_expr(w, x->of.base); break;
  case EXPR_TUPLE: walk_list(w, &x->tuple); break;
  case EXPR_ARRAY: walk_list(w, &x->array); break;
  case EXPR_COMPREHENSION: walk_comprehension(w, &x->comprehension); break;
  case EXPR_IF:
    walk_expr(w, x->if_.condition);
    walk_block(w, x->if_.then_block);
    if (x->if_.else_part)
      walk_expr(w, x->if_.else_part);
    break;
  case EXPR_BLOCK: walk_block(w, x->block); break;
  case EXPR_LAMBDA: walk_block(w, x->lambda.body); break;
  }
}

static void walk_stmt(Walk *w, const Stmt *s) {
  if (!w->stmt(w, s))
    return;
  switch (s->kind) {
  case STMT_POISON:
  case STMT_BREAK:
  case STMT_CONTINUE: break;
  case STMT_LET: walk_expr(w, s->let.init); break;
  case STMT_VAR: walk_expr(w, s->var.init); break;
  case STMT_ASSIGN:
    walk_expr(w, s->assign.target);
    walk_expr(w, s->assign.value);
    break;
  case STMT_FOR:
    walk_expr(w, s->for_.from);
    walk_expr(w, s->for_.to);
    if (s->for_.by)
      walk_expr(w, s->for_.by);
    if (s->for_.checkpoint_count)
      walk_expr(w, s->for_.checkpoint_count);
    walk_block(w, s->for_.body);
    break;
  case STMT_WHILE:
    walk_expr(w, s->while_.condition);
    walk_block(w, s->while_.body);
    break;
  case STMT_EXPR: walk_expr(w, s->expr); break;
  case STMT_REQUIRE: walk_expr(w, s->require.condition); break;
  }
}

static bool go_on(Walk *w, const Stmt *s) {
  (void)w;
  (void)s;
  return true;
}

/* ---- names */
typedef struct Mention {
  const char *name;
  bool found;
} Mention;

static bool note_name(Walk *w, const Expr *x) {
  Mention *mention = w->arg;
  mention->found |= x->kind == EXPR_NAME && x->name == mention->name;
  return !mention->found;
}

bool expr_mentions(const Expr *x, const char *name) {
  Mention mention = {.name = name};
  Walk w = {.expr = note_name, .stmt = go_on, .arg = &mention};
  walk_expr(&w, x);
  return mention.found;
}

/* ---- vars that are assigned */
typedef struct Assigned {
  Elab *e;
  VarList *vars;
} Assigned;

void var_list_add(Elab *e, VarList *vars, Binding *b) {
  for (int i = 0; i < vars->n; i++)
    if (vars->at[i] == b)
      return;
  vec_push(e->arena, *vars, b);
}

static void note_target(Assigned *a, const Expr *target) {
  switch (target->kind) {
  case EXPR_NAME: {
    Binding *b = scope_find(a->e, target->name);
    if (b && b->kind == BIND_VAR)
      var_list_add(a->e, a->vars, b);
    break;
  }
  case EXPR_BRACKET: note_target(a, target->bracket.base); break;
  case EXPR_FIELD: note_target(a, target->field.base); break;
  case EXPR_TUPLE:
    for (int i = 0; i < target->tuple.n; i++)
      note_target(a, target->tuple.at[i]);
    break;
  default: break; /* reported where it is elaborated */
  }
}

static bool note_assignment(Walk *w, const Stmt *s) {
  if (s->kind == STMT_ASSIGN)
    note_target(w->arg, s->assign.target);
  return true;
}

/* Anonymous functions and comprehensions cannot assign to what is around them. */
static bool may_assign(Walk *w, const Expr *x) {
  (void)w;
  return x->kind != EXPR_LAMBDA && x->kind != EXPR_COMPREHENSION;
}

void vars_assigned(Elab *e, const Expr *x, VarList *vars) {
  Assigned a = {.e = e, .vars = vars};
  Walk w = {.expr = may_assign, .stmt = note_assignment, .arg = &a};
  walk_expr(&w, x);
}

void stmts_assigned(Elab *e, const StmtList *list, int from, int n, VarList *vars) {
  Assigned a = {.e = e, .vars = vars};
  Walk w = {.expr = may_assign, .stmt = note_assignment, .arg = &a};
  for (int i = from; i < n; i++)
    walk_stmt(&w, list->at[i]);
}

/* ---- break and continue; those inside an expression are errors, found where they are elaborated */
static bool is_flow(Walk *w, const Expr *x) {
  (void)w;
  return x->kind == EXPR_IF || x->kind == EXPR_BLOCK;
}

static bool note_exit(Walk *w, const Stmt *s) {
  Exits *exits = w->arg;
  exits->breaks |= s->kind == STMT_BREAK;
  exits->continues |= s->kind == STMT_CONTINUE;
  return s->kind == STMT_EXPR;
}

Exits stmt_exits(const Stmt *s) {
  Exits exits = {false, false};
  Walk w = {.expr = is_flow, .stmt = note_exit, .arg = &exits};
  walk_stmt(&w, s);
  return exits;
}

Exits block_exits(const Block *block) {
  Exits exits = {false, false};
  Walk w = {.expr = is_flow, .stmt = note_exit, .arg = &exits};
  walk_block(&w, block);
  return exits;
}
