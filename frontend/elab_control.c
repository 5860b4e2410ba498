/* Loops and branches.  The vars that a body assigns are the carries of its loop, or the results of its `if`.

   `continue` and `break` put out a flag, `live`; what follows in the body stands under an `if` on it.  `break` also
   sets `done`, which the loop carries: a `for` goes on to its end doing nothing, so that its trip count stays known and
   its reverse needs no growing tape; a `while` ends. */
#include "frontend/elab_loops.h"

/* ---- vars as values */
static void push_values(Elab *e, const VarList *vars, int n, Value *const *before, int *count, Value ***values) {
  VEC(Value *) list = {0};
  for (int i = 0; i < n; i++)
    vec_push(e->arena, list, before[i]);
  for (int i = 0; i < vars->n; i++) {
    const Form **leaves;
    int nleaves;
    form_flatten(e, vars->at[i]->form, &nleaves, &leaves);
    for (int k = 0; k < nleaves; k++)
      vec_push(e->arena, list, form_store(e, leaves[k]));
  }
  *count = list.n;
  *values = list.at;
}

static void take_values(Elab *e, const VarList *vars, Value *const *values) {
  for (int i = 0; i < vars->n; i++)
    vars->at[i]->form = form_unflatten(e, vars->at[i]->form, &values);
}

/* ---- branches */
void merge_begin(Elab *e, Merge *m, Value *cond, const VarList *vars) {
  m->vars = *vars;
  m->before = NEW_ARRAY(e->arena, Form *, vars->n);
  for (int i = 0; i < vars->n; i++)
    m->before[i] = vars->at[i]->form;
  m->op = build_if_begin(&e->b, cond);
}

void merge_else(Elab *e, Merge *m, int n, Value *const *values) {
  Value **all;
  int count;
  push_values(e, &m->vars, n, values, &count, &all);
  build_if_else(&e->b, m->op, count, all);
  for (int i = 0; i < m->vars.n; i++)
    m->vars.at[i]->form = m->before[i];
}

void merge_end(Elab *e, Merge *m, int n, Value *const *values) {
  Value **all;
  int count;
  push_values(e, &m->vars, n, values, &count, &all);
  build_if_end(&e->b, m->op, count, all);
  take_values(e, &m->vars, m->op->results + n);
}

void exits_assigned(Elab *e, Exits exits, VarList *vars) {
  const LoopState *loop = e->loop;
  if (loop && loop->live && (exits.breaks || exits.continues))
    var_list_add(e, vars, loop->live);
  if (loop && loop->done && exits.breaks)
    var_list_add(e, vars, loop->done);
}

void elab_block_statement(Elab *e, Block *block) {
  Scope *scope = scope_push(e);
  elab_stmts(e, &block->statements, block->statements.n);
  if (block->tail && block->tail->kind != EXPR_POISON) {
    DiagMessage *m = elab_error(e, block->tail->at, "the value of this expression is not used");
    diag_mend(e->diag, m, "write let _ = ..;");
  }
  scope_pop(e, scope);
}

static void elab_else(Elab *e, Expr *x) {
  if (x && x->kind == EXPR_IF)
    elab_if_statement(e, x);
  else if (x && x->kind == EXPR_BLOCK)
    elab_block_statement(e, x->block);
}

void elab_if_statement(Elab *e, Expr *x) {
  int64_t known;
  Merge m;
  VarList vars = {0};
  LoopState *loop = e->loop;
  if (loop)
    loop->in_value++;
  Value *cond = elab_condition(e, x->if_.condition);
  if (loop)
    loop->in_value--;
  if (!cond) { /* the branches are looked at all the same, for their errors */
    elab_block_statement(e, x->if_.then_block);
    elab_else(e, x->if_.else_part);
    return;
  }
  if (value_is_int_const(cond, &known)) {
    if (known)
      elab_block_statement(e, x->if_.then_block);
    else
      elab_else(e, x->if_.else_part);
    return;
  }
  vars_assigned(e, x, &vars);
  const Stmt as_statement = {.kind = STMT_EXPR, .expr = x};
  exits_assigned(e, stmt_exits(&as_statement), &vars);
  merge_begin(e, &m, cond, &vars);
  elab_block_statement(e, x->if_.then_block);
  merge_else(e, &m, 0, NULL);
  elab_else(e, x->if_.else_part);
  merge_end(e, &m, 0, NULL);
}

/* ---- leaving a loop early */
void elab_exit(Elab *e, Stmt *s) {
  const char *word = s->kind == STMT_BREAK ? "break" : "continue";
  LoopState *loop = e->loop;
  if (!loop) {
    elab_error(e, s->at,
               e->comprehension_depth ? "'%s' inside a comprehension, which has no order" : "'%s' outside a loop",
               word);
    return;
  }
  if (loop->in_value) {
    elab_error(e, s->at, "'%s' inside an expression", word);
    return;
  }
  loop->live->form = form_bool(e, s->at, false);
  if (s->kind == STMT_BREAK)
    loop->done->form = form_bool(e, s->at, true);
}

static Binding *new_flag(Elab *e, const char *name, bool value) {
  Binding *b = NEW(e->arena, Binding);
  b->kind = BIND_VAR;
  b->name = name;
  b->func = e->b.func;
  b->form = form_bool(e, e->b.loc, value);
  return b;
}

static void begin_loop_state(Elab *e, LoopState *state, Exits exits, VarList *vars) {
  *state = (LoopState){.outer = e->loop};
  if (exits.breaks) {
    state->done = new_flag(e, "done", false);
    var_list_add(e, vars, state->done);
  }
  if (exits.breaks || exits.continues)
    state->live = new_flag(e, "live", true);
  e->loop = state;
}

static void name_params(const VarList *vars, Elab *e, Value *const *params) {
  for (int i = 0; i < vars->n; i++) {
    const Form **leaves;
    int n;
    form_flatten(e, vars->at[i]->form, &n, &leaves);
    for (int k = 0; k < n; k++)
      (*params++)->name = vars->at[i]->name;
  }
}

static void elab_body(Elab *e, Block *body) {
  if (e->loop->live)
    e->loop->live->form = form_bool(e, body->at, true);
  elab_block_statement(e, body);
}

/* The body of a `for`: nothing where an earlier iteration was left by `break`. */
static void elab_for_body(Elab *e, Block *body, const VarList *vars) {
  const Binding *done = e->loop->done;
  Merge m;
  if (!done) {
    elab_body(e, body);
    return;
  }
  merge_begin(e, &m, build_unary(&e->b, OP_NOT, done->form->value), vars);
  elab_body(e, body);
  merge_else(e, &m, 0, NULL);
  merge_end(e, &m, 0, NULL);
}

/* ---- for */
typedef struct ForRange {
  Value *from, *step;
  const Size *trips;
} ForRange;

static const Size *trips_by(Elab *e, const Size *distance, int64_t by) {
  Module *m = e->module;
  const Size *forward = by > 0 ? distance : size_scale(m, distance, -1);
  const int64_t step = by > 0 ? by : -by;
  if (step == 1)
    return forward;
  return size_floordiv(m, size_add(m, forward, size_const(m, step - 1)), size_const(m, step));
}

/* A step that is known when the program runs: (to - from + by - sign(by)) / by, rounded to 0. */
static const Size *trips_at_run_time(Elab *e, const Size *distance, Value *by, Range at) {
  Builder *b = &e->b;
  const Range loc = b->loc;
  b->loc = at;
  build_require(b, build_binary(b, OP_NE, by, build_int(b, KIND_I64, 0)), "the step of a for is not 0");
  Value *rounded = build_sub(b, build_add(b, build_size(b, distance), by), build_unary(b, OP_SIGN, by));
  Value *trips = build_div(b, rounded, by);
  b->loc = loc;
  return size_of_value(e->module, trips);
}

static ForRange for_range(Elab *e, const Stmt *s) {
  ForRange r;
  const Range step_at = s->for_.by ? s->for_.by->at : s->at;
  int64_t by;
  Value *zero = build_int(&e->b, KIND_I64, 0), *to;
  if (!(r.from = elab_scalar(e, s->for_.from, KIND_I64)))
    r.from = zero;
  if (!(to = elab_scalar(e, s->for_.to, KIND_I64)))
    to = zero;
  r.step = s->for_.by ? elab_scalar(e, s->for_.by, KIND_I64) : NULL;
  if (!r.step)
    r.step = build_int(&e->b, KIND_I64, 1);
  const Size *distance = size_sub(e->module, size_of_value(e->module, to), size_of_value(e->module, r.from));
  if (!value_is_int_const(r.step, &by)) {
    r.trips = trips_at_run_time(e, distance, r.step, step_at);
    return r;
  }
  if (by == 0 || by == INT64_MIN) {
    elab_error(e, step_at, by ? "the step of a for is too large" : "the step of a for is not 0");
    by = 1;
  }
  r.trips = trips_by(e, distance, by);
  return r;
}

/* The k of checkpoint(k); NULL after an error, or where there is none.  What the program computes is tested when it
   runs, and no more states are kept than there are steps. */
static const Size *states_kept(Elab *e, const Stmt *s, const Size *trips) {
  Builder *b = &e->b;
  int64_t k;
  if (s->for_.checkpoint != CHECKPOINT_COUNT)
    return NULL;
  const Range at = s->for_.checkpoint_count->at, before = b->loc;
  Value *v = elab_scalar(e, s->for_.checkpoint_count, KIND_I64), *one = build_int(b, KIND_I64, 1);
  if (!v)
    return NULL;
  if (value_is_int_const(v, &k)) {
    if (k >= 1 && k <= INT32_MAX)
      return size_const(e->module, k);
    elab_error(e, at, "checkpoint keeps at least 1 state%s", k > 1 ? ", and no more than fit an i32" : "");
    return NULL;
  }
  b->loc = at;
  build_require(b, build_binary(b, OP_LE, one, v), "checkpoint keeps at least 1 state");
  b->loc = before;
  v = build_binary(b, OP_MIN, v, build_binary(b, OP_MAX, one, build_size(b, trips)));
  return size_of_value(e->module, v);
}

void elab_for(Elab *e, Stmt *s) {
  Builder *b = &e->b;
  Block *body = s->for_.body;
  const ForRange range = for_range(e, s);
  LoopState state;
  VarList vars = {0};
  Value **values;
  int n;
  stmts_assigned(e, &body->statements, 0, body->statements.n, &vars);
  const Size *states = states_kept(e, s, range.trips);
  const int checkpoint = states ? 1 : s->for_.checkpoint == CHECKPOINT_SQRT ? -1 : 0;
  begin_loop_state(e, &state, block_exits(body), &vars);
  push_values(e, &vars, 0, NULL, &n, &values);
  const LoopSpec spec = {.nindices = 1,
                         .extents = &range.trips,
                         .index_names = &s->for_.name.text,
                         .ncarries = n,
                         .carry_inits = values,
                         .checkpoint = n ? checkpoint : 0,
                         .states = n ? states : NULL};
  Op *op = build_loop_begin(b, &spec);
  name_params(&vars, e, op->regions[0]->params + 1);
  take_values(e, &vars, op->regions[0]->params + 1);
  Scope *scope = scope_push(e);
  Value *index = build_add(b, range.from, build_mul(b, loop_index(op, 0), range.step));
  scope_bind(e, BIND_LET, s->for_.name, form_of_value(e, s->for_.name.at, index));
  elab_for_body(e, body, &vars);
  scope_pop(e, scope);
  push_values(e, &vars, 0, NULL, &n, &values);
  build_loop_end(b, op, values, NULL);
  take_values(e, &vars, op->results);
  e->loop = state.outer;
}

/* ---- while */
static Value *while_condition(Elab *e, Expr *x) {
  Builder *b = &e->b;
  const LoopState *state = e->loop;
  Value *no = build_int(b, KIND_BOOL, 0);
  if (!state->done) {
    Value *cond = elab_condition(e, x);
    return cond ? cond : no;
  }
  Op *op = build_if_begin(b, state->done->form->value);
  no = build_int(b, KIND_BOOL, 0);
  build_if_else(b, op, 1, &no);
  Value *cond = elab_condition(e, x);
  if (!cond)
    cond = build_int(b, KIND_BOOL, 0);
  build_if_end(b, op, 1, &cond);
  return op->results[0];
}

void elab_while(Elab *e, Stmt *s) {
  Builder *b = &e->b;
  Block *body = s->while_.body;
  LoopState state;
  VarList vars = {0};
  Value **values;
  int n;
  vars_assigned(e, s->while_.condition, &vars);
  if (vars.n)
    elab_error(e, s->while_.condition->at, "the condition of a while must not assign to '%s'", vars.at[0]->name);
  stmts_assigned(e, &body->statements, 0, body->statements.n, &vars);
  begin_loop_state(e, &state, block_exits(body), &vars);
  push_values(e, &vars, 0, NULL, &n, &values);
  Op *op = build_while_begin(b, n, values);
  for (int r = 0; r < 2; r++)
    name_params(&vars, e, op->regions[r]->params);
  take_values(e, &vars, op->regions[0]->params);
  state.in_value++;
  Value *cond = while_condition(e, s->while_.condition);
  state.in_value--;
  build_while_body(b, op, cond);
  take_values(e, &vars, op->regions[1]->params);
  elab_body(e, body);
  push_values(e, &vars, 0, NULL, &n, &values);
  build_while_end(b, op, values);
  take_values(e, &vars, op->results);
  e->loop = state.outer;
}
