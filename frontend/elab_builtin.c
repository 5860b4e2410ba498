/* The predeclared functions: one row a function, and how a call's arguments meet its parameters. */
#include "frontend/elab_builtin.h"
#include "frontend/elab_core.h"
#include "frontend/elsewhere.h"
#include <string.h>

static Form *call_filled(Elab *e, const BuiltinCall *c) {
  DiagMessage *m = elab_error(e, c->at, "the sizes of '%s' stand in brackets", c->f->name);
  diag_mend(e->diag, m, strcmp(c->f->name, "full") ? "write %s[n]" : "write %s[n](value)", c->f->name);
  return form_poison(e, c->at);
}

static Form *call_count(Elab *e, const BuiltinCall *c) {
  DiagMessage *m = elab_error(e, c->at, "'count' is a reduction over indices");
  diag_mend(e->diag, m, "write count[i: b[i]]");
  return form_poison(e, c->at);
}

static const Builtin table[] = {
    /* elementwise */
    {"abs", "x", .handler = call_number, .op = OP_ABS},
    {"sign", "x", .handler = call_number, .op = OP_SIGN},
    {"sqrt", "x", .handler = call_float, .op = OP_SQRT},
    {"cbrt", "x", .handler = call_float, .op = OP_CBRT},
    {"exp", "x", .handler = call_float, .op = OP_EXP},
    {"exp2", "x", .handler = call_float, .op = OP_EXP2},
    {"expm1", "x", .handler = call_float, .op = OP_EXPM1},
    {"log", "x", .handler = call_float, .op = OP_LOG},
    {"log2", "x", .handler = call_float, .op = OP_LOG2},
    {"log10", "x", .handler = call_float, .op = OP_LOG10},
    {"log1p", "x", .handler = call_float, .op = OP_LOG1P},
    {"sin", "x", .handler = call_float, .op = OP_SIN},
    {"cos", "x", .handler = call_float, .op = OP_COS},
    {"tan", "x", .handler = call_float, .op = OP_TAN},
    {"asin", "x", .handler = call_float, .op = OP_ASIN},
    {"acos", "x", .handler = call_float, .op = OP_ACOS},
    {"atan", "x", .handler = call_float, .op = OP_ATAN},
    {"atan2", "y x", .handler = call_float, .op = OP_ATAN2},
    {"sinh", "x", .handler = call_float, .op = OP_SINH},
    {"cosh", "x", .handler = call_float, .op = OP_COSH},
    {"tanh", "x", .handler = call_float, .op = OP_TANH},
    {"asinh", "x", .handler = call_float, .op = OP_ASINH},
    {"acosh", "x", .handler = call_float, .op = OP_ACOSH},
    {"atanh", "x", .handler = call_float, .op = OP_ATANH},
    {"erf", "x", .handler = call_float, .op = OP_ERF},
    {"erfc", "x", .handler = call_float, .op = OP_ERFC},
    {"lgamma", "x", .handler = call_float, .op = OP_LGAMMA},
    {"digamma", "x", .handler = call_float, .make = make_digamma},
    {"hypot", "x y", .handler = call_float, .op = OP_HYPOT},
    {"pow", "x y", .handler = call_pow},
    {"mod", "a b", .handler = call_number, .op = OP_MOD},
    {"floor", "x", .handler = call_float, .op = OP_FLOOR},
    {"ceil", "x", .handler = call_float, .op = OP_CEIL},
    {"round", "x", .handler = call_float, .op = OP_ROUND},
    {"trunc", "x", .handler = call_float, .op = OP_TRUNC},
    {"clip", "x lo hi", .handler = call_number, .make = make_clip},
    {"sqr", "x", .handler = call_number, .make = make_sqr},
    {"relu", "x", .handler = call_number, .make = make_relu},
    {"sigmoid", "x", .handler = call_float, .op = OP_SIGMOID},
    {"softplus", "x", .handler = call_float, .op = OP_SOFTPLUS},
    {"silu", "x", .handler = call_float, .make = make_silu},
    {"gelu", "x", .handler = call_float, .make = make_gelu},
    {"elu", "x alpha?", .handler = call_elu, .make = make_elu},
    {"isnan", "x", .handler = call_predicate, .op = OP_ISNAN},
    {"isfinite", "x", .handler = call_predicate, .op = OP_ISFINITE},
    {"where", "c a b", .handler = call_where},
    {"stop_gradient", "x", .handler = call_stop_gradient},
    /* reductions */
    {"sum", "x axis? keep?", .handler = call_reduction},
    {"mean", "x axis? keep?", .handler = call_reduction},
    {"prod", "x axis? keep?", .handler = call_reduction},
    {"max", "x axis? keep?", .handler = call_min_max, .op = OP_MAX, .pair = "a b"},
    {"min", "x axis? keep?", .handler = call_min_max, .op = OP_MIN, .pair = "a b"},
    {"variance", "x axis? keep? ddof?", .handler = call_variance},
    {"var", "x axis? keep? ddof?", .handler = call_variance},
    {"std", "x axis? keep? ddof?", .handler = call_variance},
    {"norm", "x axis? keep?", .handler = call_reduction},
    {"logsumexp", "x axis? keep?", .handler = call_reduction},
    {"argmax", "x axis? keep?", .handler = call_reduction},
    {"argmin", "x axis? keep?", .handler = call_reduction},
    {"any", "b axis? keep?", .handler = call_reduction},
    {"all", "b axis? keep?", .handler = call_reduction},
    {"count", "x", .handler = call_count},
    /* along an axis */
    {"softmax", "x axis?", .handler = call_softmax},
    {"log_softmax", "x axis?", .handler = call_log_softmax},
    {"cumsum", "x axis?", .handler = call_cumulative, .op = OP_ADD},
    {"cumprod", "x axis?", .handler = call_cumulative, .op = OP_MUL},
    {"sort", "x axis?", .handler = call_sort},
    {"argsort", "x axis?", .handler = call_argsort},
    {"flip", "x axis?", .handler = call_flip},
    {"roll", "x shift axis?", .handler = call_roll},
    /* shapes */
    {"reshape", "x shape", .handler = call_reshape},
    {"transpose", "x axes?", .handler = call_transpose},
    {"broadcast", "x shape", .handler = call_broadcast},
    {"concat", "parts axis?", .handler = call_concat},
    {"stack", "parts axis?", .handler = call_stack},
    {"pad", "x widths value?", .handler = call_pad},
    {"size", "x axis", .handler = call_size},
    {"diag", "x", .handler = call_diag},
    {"trace", "m", .handler = call_trace},
    {"tril", "m k?", .handler = call_triangle},
    {"triu", "m k?", .handler = call_triangle},
    {"outer", "a b", .handler = call_outer},
    {"dot", "a b", .handler = call_dot},
    {"cross", "a b", .handler = call_cross},
    {"kron", "a b", .handler = call_kron},
    {"zeros", "", .handler = call_filled},
    {"ones", "", .handler = call_filled},
    {"full", "value?", .handler = call_filled},
    {"eye", "", .handler = call_filled},
    {"iota", "", .handler = call_filled},
    /* linear algebra */
    {"cholesky", "a upper?", .handler = call_cholesky},
    {"solve", "a b", .handler = call_solve},
    {"solve_triangular", "l b upper? trans? unit?", .handler = call_solve_triangular},
    {"inv", "a", .handler = call_inv},
    {"det", "a", .handler = call_det},
    {"logdet", "a", .handler = call_logdet},
    {"slogdet", "a", .handler = call_slogdet},
    {"eigh", "a", .handler = call_eigh},
    {"qr", "a", .handler = call_qr},
    {"svd", "a", .handler = call_svd},
    {"lstsq", "a b", .handler = call_lstsq},
    {"expm", "a", .handler = call_expm},
};
enum { NBUILTINS = sizeof table / sizeof table[0] };

const Builtin *builtin_find(const char *name) {
  for (int i = 0; i < NBUILTINS; i++)
    if (!strcmp(table[i].name, name))
      return &table[i];
  return NULL;
}

const char *builtin_name(int i) {
  return i < NBUILTINS ? table[i].name : NULL;
}

/* ---- arguments and parameters */
typedef struct Signature {
  int n, required;
  const char *names[MAX_PARAMETERS];
  bool optional[MAX_PARAMETERS];
} Signature;

static Signature read_signature(Elab *e, const char *text) {
  Signature s = {.n = 0};
  while (*text) {
    size_t n = strcspn(text, " ");
    const bool optional = text[n - 1] == '?';
    s.names[s.n] = arena_intern(e->arena, text, n - optional);
    s.optional[s.n++] = optional;
    s.required += !optional;
    text += n;
    text += *text == ' ';
  }
  return s;
}

/* min and max of two tensors, or of the elements of one. */
static bool is_pair(const Builtin *f, const ArgumentList *arguments) {
  int positional = 0;
  for (int i = 0; i < arguments->n; i++) {
    const char *name = arguments->at[i].name.text;
    positional += !name;
    if (f->pair && name && (!strcmp(name, "a") || !strcmp(name, "b")))
      return true;
  }
  return f->pair && positional >= 2;
}

static const char *count_text(Elab *e, int n) {
  return arena_printf(e->arena, "%d argument%s", n, n == 1 ? "" : "s");
}

static bool signature_has(const Signature *s, const char *name) {
  int i = 0;
  while (i < s->n && strcmp(s->names[i], name) != 0)
    i++;
  return i < s->n;
}

static bool match_argument(Elab *e, BuiltinCall *c, const Signature *s, const Argument *a, int position,
                           bool *seen_name) {
  int i = position;
  if (a->name.text) {
    *seen_name = true;
    NearMiss near = near_miss_of(a->name.text);
    for (i = 0; i < s->n && strcmp(s->names[i], a->name.text) != 0; i++)
      near_miss_try(&near, s->names[i]);
    if (i == s->n) {
      DiagMessage *m = elab_error(e, a->name.at, "'%s' has no parameter '%s'", c->f->name, a->name.text);
      const char *here = elsewhere_option(a->name.text);
      if (here && signature_has(s, here))
        diag_mend(e->diag, m, "write %s = ..", here);
      else
        near_miss_mend(e, &near, m);
      return false;
    }
  } else if (*seen_name) {
    elab_error(e, a->at, "an argument without a name cannot follow one with a name");
    return false;
  }
  if (i >= s->n)
    return true; /* too many: reported once, by the caller */
  if (c->arguments[i]) {
    DiagMessage *m = elab_error(e, a->at, "parameter '%s' of '%s' is given twice", s->names[i], c->f->name);
    diag_note(e->diag, m, c->arguments[i]->at, "it is given here");
    return false;
  }
  c->arguments[i] = a;
  return true;
}

static bool match_arguments(Elab *e, BuiltinCall *c, const ArgumentList *arguments) {
  const Signature s = read_signature(e, is_pair(c->f, arguments) ? c->f->pair : c->f->parameters);
  bool seen_name = false, ok = true;
  c->n = s.n;
  for (int i = 0; i < s.n; i++)
    c->names[i] = s.names[i];
  for (int i = 0; i < arguments->n && ok; i++)
    ok = match_argument(e, c, &s, &arguments->at[i], i, &seen_name);
  if (!ok)
    return false;
  if (arguments->n > s.n) {
    elab_error(e, arguments->at[s.n].at, "'%s' takes %s%s; this gives %d", c->f->name,
               s.required < s.n ? "at most " : "", count_text(e, s.n), arguments->n);
    return false;
  }
  for (int i = 0; i < s.n; i++)
    if (!c->arguments[i] && !s.optional[i]) {
      elab_error(e, c->at, "'%s' takes %s%s; parameter '%s' is not given", c->f->name,
                 s.required < s.n ? "at least " : "", count_text(e, s.required), s.names[i]);
      return false;
    }
  return true;
}

Form *builtin_call(Elab *e, const Builtin *f, Expr *call) {
  BuiltinCall c = {.f = f, .at = call->at};
  const ArgumentList *arguments = call->kind == EXPR_VAR_CALL ? &call->var_call : &call->call.arguments;
  if (f->handler != call_filled && !match_arguments(e, &c, arguments))
    return form_poison(e, call->at);
  const Range loc = e->b.loc;
  e->b.loc = call->at;
  Form *result = f->handler(e, &c);
  e->b.loc = loc;
  result->at = call->at;
  return result;
}
