/* A rule that needs the very derivative that it defines would call itself for ever: found over the finished module.
   A state is a function and the order of its derivative that is needed.  From it are needed
     - the same order of every function that it calls;
     - for a function that derives another: one order more (hessian, hvp: two) of the other;
     - for one with a rule, where the order is 1 or more: the rule, one order less.
   A cycle of states is what would not end. Orders beyond ORDER_MAX count as that. */
#include "frontend/elab_core.h"

enum { ORDER_MAX = 6 };

typedef struct Node {
  const Func *func;
  VEC(const Func *) callees;
  unsigned char state[ORDER_MAX + 1]; /* 0: not seen, 1: on the way, 2: done */
} Node;

typedef struct Walk {
  Elab *e;
  const Func *found; /* a function on a cycle, or NULL */
} Walk;

static void add_callee(Op *op, void *arg) {
  Node *n = arg;
  if (op->code == OP_CALL)
    vec_push(n->func->module->arena, n->callees, op->at.callee);
}

static void visit(Walk *w, const Func *f, int order) {
  Node *n = f->note;
  order = order < 0 ? 0 : order > ORDER_MAX ? ORDER_MAX : order;
  if (w->found || n->state[order] == 2)
    return;
  if (n->state[order] == 1) {
    w->found = f;
    return;
  }
  n->state[order] = 1;
  for (int i = 0; i < n->callees.n; i++)
    visit(w, n->callees.at[i], order);
  const DeriveOp op = f->derive.op;
  if (op != DERIVE_NONE)
    visit(w, f->derive.base, order + (op == DERIVE_HESSIAN || op == DERIVE_HVP ? 2 : 1));
  if (order && f->own_vjp)
    visit(w, f->own_vjp, order - 1);
  if (order && f->own_jvp)
    visit(w, f->own_jvp, order - 1);
  n->state[order] = 2;
}

void rules_check_cycles(Elab *e) {
  Module *m = e->module;
  bool any = false;
  for (Func *f = m->funcs; f; f = f->next)
    any |= f->own_vjp || f->own_jvp;
  if (!any)
    return;
  for (Func *f = m->funcs; f; f = f->next) {
    Node *n = NEW(e->arena, Node);
    n->func = f;
    f->note = n;
    region_walk(f->body, add_callee, n);
  }
  for (const Func *f = m->funcs; f; f = f->next)
    for (int i = 0; i < 2; i++) {
      const Func *rule = i ? f->own_jvp : f->own_vjp;
      Walk w = {.e = e};
      if (!rule)
        continue;
      visit(&w, rule, 0);
      if (w.found) {
        DiagMessage *message =
            elab_error(e, rule->loc, "this rule of '%s' uses the derivative that it defines", f->name);
        diag_note(e->diag, message, f->loc, "'%s' is declared here", f->name);
        return;
      }
    }
}
