/* Makes the functions that derive others, innermost first.
     grad, value_and_grad, vjp   the adjoint (adjoint.c), or the user's vjp rule
     jvp                         the tangent (tangent.c), or the user's jvp rule
     hvp                         the tangent of the gradient: forward over reverse
     jacobian                    a vjp for each element of the results, or a jvp for each element of the arguments
     hessian                     the jacobian of the gradient
   Operators made of other operators are calls of them, inlined later; what they call is declared here and made in its
   turn. */
#include "ir/raw.h"
#include "passes/adjoint.h"
#include "passes/passes_internal.h"

static Builder into(Func *f) {
  Builder b = build_into(f, f->body);
  b.loc = f->loc;
  return b;
}

/* f's parameters and room for as many again. */
static Value **params_and_room(const Func *f, int more) {
  Value **args = NEW_ARRAY(f->module->arena, Value *, f->body->nparams + more + 1);
  for (int i = 0; i < f->body->nparams; i++)
    args[i] = f->body->params[i];
  return args;
}

static bool is_float(const Value *v) {
  return kind_is_float(v->type.kind);
}

/* Whether a rule of f's speaks of that parameter. */
static bool is_ruled(const Func *f, int i) {
  return i < f->body->nparams - f->ncaptured && is_float(f->body->params[i]);
}

/* A tensor of zeros with a one at idx; the number one where it is a scalar. */
static Value *one_hot(Builder *b, Type t, Value *const *idx) {
  Value *one = build_float(b, t.kind, 1);
  return t.rank ? build_update(b, build_zeros(b, t), one, t.rank, idx, 0) : one;
}

/* ---- rules of the user */
/* After an error: something well formed, so that other errors are found too. */
static void return_zeros(Func *f) {
  Builder b = into(f);
  Value **results = NEW_ARRAY(f->module->arena, Value *, f->nresults + 1);
  for (int i = 0; i < f->nresults; i++)
    results[i] = build_zeros(&b, f->result_types[i]);
  build_return(&b, f->nresults, results);
}

static void no_rule(Func *f, const char *mode) {
  Module *m = f->module;
  const Func *base = f->derive.base;
  DiagMessage *e = diag_error(m->diag, f->loc, "extern function '%s' has no derivative rule", base->name);
  diag_note(m->diag, e, base->loc, "'%s' is declared here", base->name);
  diag_mend(m->diag, e, "give it one: %s %s(..) { .. }", mode, base->name);
  return_zeros(f);
}

/* A rule says nothing of what the functions given to its function use of their own surroundings. */
static bool rule_leaves_out(Func *f, const Func *rule, const char *mode) {
  Module *m = f->module;
  const Func *base = f->derive.base;
  const Value *left = NULL;
  for (int i = base->body->nparams - base->ncaptured; i < base->body->nparams && !left; i++)
    left = f->derive.wrt[i] ? base->body->params[i] : NULL;
  if (!left)
    return false;
  const char *what = left->name ? arena_printf(m->arena, "'%s'", left->name) : "a value";
  DiagMessage *e = diag_error(
      m->diag, f->loc, "the %s rule leaves out the derivative by %s, which a function given here uses", mode, what);
  diag_note(m->diag, e, rule->loc, "the rule is here");
  diag_mend(m->diag, e, "hand %s in as an argument, which the rule differentiates by, or a stop_gradient(..) of it",
            what);
  return_zeros(f);
  return true;
}

/* In that kind: a tangent is of the result's, a derivative of the argument's. */
static Value *of_kind(Builder *b, Value *v, Kind kind) {
  if (v->type.kind == kind)
    return v;
  if (!v->type.rank)
    return build_cast(b, kind, v);
  const OutKind stack = OUT_STACK;
  const LoopSpec spec = {.nindices = v->type.rank, .extents = v->type.dims, .nouts = 1, .outs = &stack};
  Op *loop = build_loop_begin(b, &spec);
  Value *element = build_cast(b, kind, build_index(b, v, v->type.rank, loop->regions[0]->params, 0));
  build_loop_end(b, loop, NULL, &element);
  return loop_out(loop, 0);
}

/* The cotangents of all float parameters of base, by its vjp rule; for a foreign function with a jvp rule alone, by
   transposing that: its parameters and results are scalars, so a unit tangent at a time gives the whole Jacobian. */
static bool cotangents_by_rule(Builder *b, const Func *f, Value *const *seeds, int nseeds, Value **cotangents) {
  const Func *base = f->derive.base;
  const int n = base->body->nparams;
  Value **args = params_and_room(f, n + nseeds);
  if (base->own_vjp) {
    for (int i = 0; i < nseeds; i++)
      args[n + i] = seeds[i];
    const Op *call = build_call(b, base->own_vjp, args);
    for (int i = 0; i < call->nresults; i++)
      cotangents[i] = call->results[i];
    return true;
  }
  if (!base->is_extern || !base->own_jvp)
    return false;
  int nfloats = 0;
  for (int i = 0; i < n; i++)
    nfloats += is_ruled(base, i);
  for (int k = 0; k < nfloats; k++) {
    for (int i = 0, j = 0; i < n; i++)
      if (is_ruled(base, i)) {
        args[n + j] = build_float(b, base->body->params[i]->type.kind, j == k);
        j++;
      }
    const Op *call = build_call(b, base->own_jvp, args);
    cotangents[k] = NULL;
    for (int r = 0; r < call->nresults; r++) {
      Value *part = build_mul(b, seeds[r], call->results[r]);
      part = of_kind(b, part, args[n + k]->type.kind);
      cotangents[k] = cotangents[k] ? build_add(b, cotangents[k], part) : part;
    }
  }
  return true;
}

static void reverse_by_rule(Func *f) {
  Func *base = f->derive.base;
  const int n = base->body->nparams;
  Builder b = into(f);
  Value **results = NEW_ARRAY(f->module->arena, Value *, base->nresults + n + 1);
  Value **seeds = NEW_ARRAY(f->module->arena, Value *, base->nresults + 1);
  Value **cotangents = NEW_ARRAY(f->module->arena, Value *, n + 1);
  int nseeds = 0, nresults = 0;
  if (f->derive.op != DERIVE_GRAD) {
    const Op *call = build_call(&b, base, params_and_room(f, 0));
    for (; nresults < base->nresults; nresults++)
      results[nresults] = call->results[nresults];
  }
  ValueMap map = {.arena = f->module->arena};
  for (int i = 0; i < n; i++)
    map_put(&map, base->body->params[i], f->body->params[i]);
  for (int r = 0; r < base->nresults; r++) {
    const Type t = map_type(f->module, &map, base->result_types[r]);
    if (!kind_is_float(t.kind))
      continue;
    if (f->derive.op == DERIVE_VJP)
      seeds[nseeds] = f->body->params[n + nseeds];
    else
      seeds[nseeds] = r == 0 ? build_float(&b, t.kind, 1) : build_zeros(&b, t);
    nseeds++;
  }
  cotangents_by_rule(&b, f, seeds, nseeds, cotangents);
  for (int i = 0, k = 0; i < n; i++)
    if (is_ruled(base, i)) {
      if (f->derive.wrt[i])
        results[nresults++] = cotangents[k];
      k++;
    }
  build_return(&b, nresults, results);
}

static void forward_by_rule(Func *f) {
  Func *base = f->derive.base;
  Module *m = f->module;
  const int n = base->body->nparams;
  Builder b = into(f);
  Value **results = NEW_ARRAY(m->arena, Value *, 2 * base->nresults + 1);
  Value **args = params_and_room(f, n), **tangents = NEW_ARRAY(m->arena, Value *, n + 1);
  const Op *values = build_call(&b, base, args);
  int nfloats = 0, nresults = 0, given = n;
  for (int i = 0; i < n; i++)
    if (is_ruled(base, i))
      tangents[nfloats++] = f->derive.wrt[i] ? f->body->params[given++] : build_zeros(&b, f->body->params[i]->type);
  for (; nresults < base->nresults; nresults++)
    results[nresults] = values->results[nresults];
  if (base->own_jvp) {
    for (int i = 0; i < nfloats; i++)
      args[n + i] = tangents[i];
    const Op *call = build_call(&b, base->own_jvp, args);
    for (int r = 0; r < call->nresults; r++)
      results[nresults++] = call->results[r];
  } else { /* a foreign function with a vjp rule: the transpose, a unit seed for each scalar result */
    Value **seeds = NEW_ARRAY(m->arena, Value *, base->nresults + 1), **row = NEW_ARRAY(m->arena, Value *, n + 1);
    for (int r = 0; r < base->nresults; r++) {
      for (int k = 0; k < base->nresults; k++)
        seeds[k] = build_float(&b, base->result_types[k].kind, k == r);
      cotangents_by_rule(&b, f, seeds, base->nresults, row);
      Value *sum = NULL;
      for (int i = 0; i < nfloats; i++) {
        const Kind kind = seeds[r]->type.kind; /* of the result */
        Value *part = build_mul(&b, of_kind(&b, row[i], kind), of_kind(&b, tangents[i], kind));
        sum = sum ? build_add(&b, sum, part) : part;
      }
      results[nresults++] = sum ? sum : build_float(&b, base->result_types[r].kind, 0);
    }
  }
  build_return(&b, nresults, results);
}

/* ---- operators made of operators */

/* For each element of every result a vjp seeded there. */
static void jacobian_reverse(Func *f) {
  Func *base = f->derive.base;
  Module *m = f->module;
  const int n = base->body->nparams;
  Func *vjp = func_derive(m, DERIVE_VJP, base, f->derive.wrt, MODE_REVERSE, f->loc);
  const int ngrads = vjp->nresults - base->nresults;
  Builder b = into(f);
  Value **results = NEW_ARRAY(m->arena, Value *, f->nresults + 1), **args = params_and_room(f, base->nresults);
  int k = 0, nseeds = 0;
  for (int r = 0; r < base->nresults; r++)
    nseeds += kind_is_float(base->result_types[r].kind);
  ValueMap map = {.arena = m->arena};
  for (int i = 0; i < n; i++)
    map_put(&map, base->body->params[i], f->body->params[i]);
  OutKind *stacks = NEW_ARRAY(m->arena, OutKind, ngrads + 1); /* OUT_STACK is 0 */
  for (int s = 0; s < nseeds; s++) {
    Type seeded = type_scalar(KIND_F64);
    for (int r = 0, q = 0; r < base->nresults; r++)
      if (kind_is_float(base->result_types[r].kind) && q++ == s)
        seeded = map_type(m, &map, base->result_types[r]);
    const LoopSpec spec = {.nindices = seeded.rank, .extents = seeded.dims, .nouts = ngrads, .outs = stacks};
    Op *loop = seeded.rank ? build_loop_begin(&b, &spec) : NULL;
    for (int r = 0, q = 0; r < base->nresults; r++) {
      if (!kind_is_float(base->result_types[r].kind))
        continue;
      const Type t = map_type(m, &map, base->result_types[r]);
      args[n + q] = q == s ? one_hot(&b, t, loop ? loop->regions[0]->params : NULL) : build_zeros(&b, t);
      q++;
    }
    Op *call = build_call(&b, vjp, args);
    if (loop)
      build_loop_end(&b, loop, NULL, call->results + base->nresults);
    for (int g = 0; g < ngrads; g++)
      results[k++] = loop ? loop_out(loop, g) : call->results[base->nresults + g];
  }
  build_return(&b, k, results);
}

/* x's axes first, as a stack of tangents has them, to the result's axes first. */
static Value *axes_swapped(Builder *b, Value *v, int nfirst) {
  const int rank = v->type.rank, nlast = rank - nfirst;
  if (!nfirst || !nlast)
    return v;
  const Size *extents[MAX_RANK];
  Value *idx[MAX_RANK];
  for (int i = 0; i < rank; i++)
    extents[i] = v->type.dims[i < nlast ? nfirst + i : i - nlast];
  const OutKind stack = OUT_STACK;
  const LoopSpec spec = {.nindices = rank, .extents = extents, .nouts = 1, .outs = &stack};
  Op *loop = build_loop_begin(b, &spec);
  for (int i = 0; i < rank; i++)
    idx[i] = loop_index(loop, i < nfirst ? nlast + i : i - nfirst);
  Value *element = build_index(b, v, rank, idx, 0);
  build_loop_end(b, loop, NULL, &element);
  return loop_out(loop, 0);
}

/* For each element of every argument a jvp along it. */
static void jacobian_forward(Func *f) {
  Func *base = f->derive.base;
  Module *m = f->module;
  const int n = base->body->nparams;
  Func *jvp = func_derive(m, DERIVE_JVP, base, f->derive.wrt, MODE_FORWARD, f->loc);
  const int ndots = jvp->nresults - base->nresults;
  int nwrt = 0, at = 0;
  for (int i = 0; i < n; i++)
    nwrt += f->derive.wrt[i];
  Builder b = into(f);
  Value **results = NEW_ARRAY(m->arena, Value *, f->nresults + 1), **args = params_and_room(f, nwrt);
  OutKind *stacks = NEW_ARRAY(m->arena, OutKind, ndots + 1);
  for (int i = 0; i < n; i++) {
    if (!f->derive.wrt[i])
      continue;
    const Type along = f->body->params[i]->type;
    const LoopSpec spec = {.nindices = along.rank, .extents = along.dims, .nouts = ndots, .outs = stacks};
    Op *loop = along.rank ? build_loop_begin(&b, &spec) : NULL;
    for (int j = 0, q = 0; j < n; j++)
      if (f->derive.wrt[j]) {
        const Type t = f->body->params[j]->type;
        args[n + q++] = j == i ? one_hot(&b, t, loop ? loop->regions[0]->params : NULL) : build_zeros(&b, t);
      }
    Op *call = build_call(&b, jvp, args);
    if (loop)
      build_loop_end(&b, loop, NULL, call->results + base->nresults);
    for (int d = 0; d < ndots; d++) {
      Value *column = loop ? loop_out(loop, d) : call->results[base->nresults + d];
      results[d * nwrt + at] = of_kind(&b, axes_swapped(&b, column, along.rank), along.kind);
    }
    at++;
  }
  build_return(&b, ndots * nwrt, results);
}

/* The static rule for `jacobian` without a mode: reverse where the results have fewer axes than the arguments (or fewer
   elements, where both counts are constants), else forward. */
static bool reverse_is_better(const Func *f) {
  const Func *base = f->derive.base;
  Module *m = f->module;
  int in = 0, out = 0;
  const Size *nin = size_const(m, 0), *nout = nin;
  for (int i = 0; i < base->body->nparams; i++)
    if (f->derive.wrt[i]) {
      const Type t = base->body->params[i]->type;
      in = t.rank > in ? t.rank : in;
      nin = size_add(m, nin, type_count(m, t));
    }
  for (int r = 0; r < base->nresults; r++)
    if (kind_is_float(base->result_types[r].kind)) {
      out = base->result_types[r].rank > out ? base->result_types[r].rank : out;
      nout = size_add(m, nout, type_count(m, base->result_types[r]));
    }
  int64_t cin, cout;
  if (size_is_const(nin, &cin) && size_is_const(nout, &cout))
    return cout < cin;
  return out < in || size_is_const(nout, NULL);
}

/* A gradient by forward mode: the jacobian's column sums are the gradient itself, the result being a scalar. */
static void gradient_forward(Func *f) {
  Func *base = f->derive.base;
  Func *jacobian = func_derive(f->module, DERIVE_JACOBIAN, base, f->derive.wrt, MODE_FORWARD, f->loc);
  Builder b = into(f);
  Value **args = params_and_room(f, 0), **results = NEW_ARRAY(f->module->arena, Value *, f->nresults + 1);
  int n = 0;
  if (f->derive.op == DERIVE_VALUE_AND_GRAD) {
    const Op *values = build_call(&b, base, args);
    for (; n < base->nresults; n++)
      results[n] = values->results[n];
  }
  const Op *call = build_call(&b, jacobian, args); /* of the first result first */
  for (int i = 0, k = 0; i < base->body->nparams; i++)
    if (f->derive.wrt[i])
      results[n++] = call->results[k++];
  build_return(&b, n, results);
}

static void derive_hvp(Func *f) {
  Module *m = f->module;
  Func *base = f->derive.base;
  Func *gradient = func_derive(m, DERIVE_GRAD, base, f->derive.wrt, MODE_REVERSE, f->loc);
  Func *along = func_derive(m, DERIVE_JVP, gradient, f->derive.wrt, MODE_FORWARD, f->loc);
  Builder b = into(f);
  Op *call = build_call(&b, along, params_and_room(f, 0));
  build_return(&b, f->nresults, call->results + gradient->nresults);
}

static void derive_hessian(Func *f) {
  Module *m = f->module;
  const DeriveMode outer = f->derive.mode == MODE_AUTO ? MODE_FORWARD : f->derive.mode;
  Func *gradient = func_derive(m, DERIVE_GRAD, f->derive.base, f->derive.wrt, MODE_REVERSE, f->loc);
  Func *jacobian = func_derive(m, DERIVE_JACOBIAN, gradient, f->derive.wrt, outer, f->loc);
  Builder b = into(f);
  Op *call = build_call(&b, jacobian, params_and_room(f, 0));
  build_return(&b, f->nresults, call->results);
}

static void make_reverse(Func *f) {
  const Func *base = f->derive.base;
  if (f->derive.op != DERIVE_VJP && f->derive.mode == MODE_FORWARD)
    gradient_forward(f);
  else if (base->own_vjp && rule_leaves_out(f, base->own_vjp, "vjp"))
    return;
  else if (base->own_vjp || (base->is_extern && base->own_jvp && !func_is_kernel(base)))
    reverse_by_rule(f);
  else if (base->is_extern)
    no_rule(f, "vjp");
  else
    adjoint_make(f);
}

static void make_forward(Func *f) {
  const Func *base = f->derive.base;
  if (base->own_jvp && rule_leaves_out(f, base->own_jvp, "jvp"))
    return;
  if (base->own_jvp || (base->is_extern && base->own_vjp && !func_is_kernel(base)))
    forward_by_rule(f);
  else if (base->is_extern)
    no_rule(f, "jvp");
  else
    tangent_make(f);
}

static void derive_callee(Op *op, void *arg) {
  (void)arg;
  if (op->code == OP_CALL && func_is_underived(op->at.callee))
    derive_func(op->at.callee);
}

void derive_func(Func *f) {
  Func *base = f->derive.base;
  if (func_is_underived(base))
    derive_func(base);
  if (!base->is_extern) { /* derivatives inside it are made first, and inlined where they are small */
    region_walk(base->body, derive_callee, NULL);
    func_inline(base);
  }
  switch (f->derive.is_sparse ? DERIVE_NONE : f->derive.op) {
  case DERIVE_NONE: sparse_make(f); break;
  case DERIVE_GRAD:
  case DERIVE_VALUE_AND_GRAD:
  case DERIVE_VJP: make_reverse(f); break;
  case DERIVE_JVP: make_forward(f); break;
  case DERIVE_HVP: derive_hvp(f); break;
  case DERIVE_HESSIAN: derive_hessian(f); break;
  case DERIVE_JACOBIAN:
    if (f->derive.mode == MODE_REVERSE || (f->derive.mode == MODE_AUTO && reverse_is_better(f)))
      jacobian_reverse(f);
    else
      jacobian_forward(f);
    break;
  default: internal_error("function '%s' derives nothing", f->name);
  }
  f->derive = (Derive){.op = DERIVE_NONE}; /* a function like any other now */
  func_simplify(f);
}

void pass_derive(Module *m) {
  for (Func *f = m->funcs; f; f = f->next) /* functions declared on the way stand at the end of the list */
    if (func_is_underived(f))
      derive_func(f);
}
