/* Functions and modules as source; see source.h. */
#include "codegen/source_state.h"
#include <string.h>

enum { LINE_WIDTH = 112 };

void source_fail(SourceWriter *s, Range at, const char *what) {
  if (!s->failed)
    diag_error(s->module->diag, at, "%s", what);
  s->failed = true;
}

static SourceWriter begin(Module *m) {
  SourceWriter s = {
      .module = m, .arena = m->arena, .nnotes = m->nuids, .notes = NEW_ARRAY(m->arena, SourceNote, m->nuids + 1)};
  source_names_begin(&s);
  return s;
}

/* ---- heads */
static const char *params_text(SourceWriter *s, const Func *f, int from) {
  Text t = {.arena = s->arena};
  for (int i = from; i < f->body->nparams; i++) {
    const Value *p = f->body->params[i];
    text_printf(&t, "%s%s: %s", i > from ? ", " : "", source_note(s, p)->name, source_type_text(s, p->type));
  }
  return text_end(&t);
}

static void declare_params(SourceWriter *s, const Func *f) {
  for (int i = 0; i < f->body->nparams; i++) {
    SourceNote *n = source_note(s, f->body->params[i]);
    n->name = source_declare(s, f->body->params[i]->name, i < f->nsizes ? "n" : "x");
  }
}

/* The result's name, made different from those before it: functions that derive derivatives may have two d_x. */
static const char *result_name(SourceWriter *s, const Func *f, int r) {
  const char *name = f->result_names[r];
  int same = 1;
  for (int i = 0; i < r; i++)
    same += f->result_names[i] && !strcmp(f->result_names[i], name);
  return same > 1 ? arena_printf(s->arena, "%s_%d", name, same) : name;
}

static const char *results_text(SourceWriter *s, const Func *f) {
  Text t = {.arena = s->arena};
  const bool bare = f->nresults == 1 && !f->result_names[0];
  text_add(&t, bare ? "" : "(");
  for (int i = 0; i < f->nresults; i++) {
    text_add(&t, i ? ", " : "");
    if (f->result_names[i])
      text_printf(&t, "%s: ", result_name(s, f, i));
    text_add(&t, source_type_text(s, f->result_types[i]));
  }
  text_add(&t, bare ? "" : ")");
  return text_end(&t);
}

static const char *names_text(SourceWriter *s, const Func *f, int from, int to) {
  const char **names = NEW_ARRAY(s->arena, const char *, to + 1);
  for (int i = from; i < to; i++)
    names[i - from] = source_note(s, f->body->params[i])->name;
  return source_list(s, to - from, names, ", ");
}

typedef struct Appearance {
  const Func *f;
  int next;  /* the first size that has not appeared */
  int fresh; /* how many appear first in this size */
  bool in_order;
} Appearance;

static void appear(Value *v, void *arg) {
  Appearance *a = arg;
  if (v->region != a->f->body || v->index >= a->f->nsizes)
    a->in_order = false;
  else if (v->index >= a->next)
    a->fresh++;
}

/* n, n + 1, n - 2 */
static bool gives(const Func *f, const Size *size, int i) {
  const Size *rest = size_sub(f->module, size, size_atom(f->module, f->body->params[i]));
  return size_is_const(rest, NULL);
}

bool source_declares_sizes(const Func *f) {
  Appearance a = {.f = f, .in_order = true};
  for (int p = f->nsizes; p < f->body->nparams; p++) {
    const Type t = f->body->params[p]->type;
    for (int k = 0; k < t.rank && a.in_order; k++) {
      a.fresh = 0;
      size_values(t.dims[k], appear, &a);
      if (a.fresh > 1 || (a.fresh && !gives(f, t.dims[k], a.next)))
        return true;
      a.next += a.fresh;
    }
  }
  return !a.in_order || a.next < f->nsizes;
}

/* "[n, m]" */
static const char *sizes_text(SourceWriter *s, const Func *f) {
  return f->nsizes && source_declares_sizes(f) ? arena_printf(s->arena, "[%s]", names_text(s, f, 0, f->nsizes)) : "";
}

static void write_head(SourceWriter *s, const Func *f) {
  if (f->recipe.op != DERIVE_NONE && f->recipe.base)
    source_line(s, NULL, "// %s of %s", derive_name[f->recipe.op], f->recipe.base->name);
  const char *head = arena_printf(s->arena, "fn %s%s(", source_func_name(s, f), sizes_text(s, f));
  const char *params = params_text(s, f, f->nsizes), *results = results_text(s, f);
  const bool is_long = strlen(head) + strlen(params) + strlen(results) > LINE_WIDTH;
  source_line(s, NULL, "%s%s)%s-> %s {", head, params, is_long ? "\n    " : " ", results);
}

/* ---- bodies */
static void write_body(SourceWriter *s, const Func *f) {
  source_region(s, f->body);
  source_line(s, NULL, "%s", source_tuple(s, f->body->nyields, f->body->yields));
}

/* A function that is still to be derived is a call of the operator. */
static void write_derived(SourceWriter *s, const Func *f) {
  const Func *base = f->derive.base;
  const char **wrt = NEW_ARRAY(s->arena, const char *, base->body->nparams + 1);
  int n = 0;
  for (int i = 0; i < base->body->nparams; i++)
    if (f->derive.wrt[i])
      wrt[n++] = source_note(s, f->body->params[i])->name;
  const char *list = source_list(s, n, wrt, ", ");
  const char *mode = f->derive.mode == MODE_AUTO                                ? ""
                     : f->derive.op == DERIVE_VJP || f->derive.op == DERIVE_JVP ? ""
                     : f->derive.mode == MODE_FORWARD                           ? ", mode = forward"
                                                                                : ", mode = reverse";
  source_line(s, NULL, n == 1 ? "%s(%s%s, wrt = %s%s)(%s)" : "%s(%s%s, wrt = (%s)%s)(%s)", derive_name[f->derive.op],
              source_func_name(s, base), sizes_text(s, f), list, mode, names_text(s, f, f->nsizes, f->body->nparams));
}

static void write_func(SourceWriter *s, Func *f) {
  s->func = f;
  source_plan(s);
  const int mark = source_scope_begin(s);
  declare_params(s, f);
  write_head(s, f);
  s->indent++;
  if (f->derive.op != DERIVE_NONE)
    write_derived(s, f);
  else if (!s->failed)
    write_body(s, f);
  s->indent--;
  source_line(s, NULL, "}");
  source_line(s, NULL, "%s", "");
  source_scope_end(s, mark);
}

static void write_extern(SourceWriter *s, Func *f) {
  s->func = f;
  source_plan(s);
  const int mark = source_scope_begin(s);
  declare_params(s, f);
  source_line(s, NULL, "extern fn %s(%s) -> %s;", source_func_name(s, f), params_text(s, f, 0), results_text(s, f));
  source_line(s, NULL, "%s", "");
  source_scope_end(s, mark);
}

/* ---- own rules, where a differentiation may yet come */
static bool is_in_module(const Module *m, const Func *f) {
  for (const Func *g = m->funcs; g; g = g->next)
    if (g == f)
      return true;
  return false;
}

static void write_rule(SourceWriter *s, const Func *f, const Func *rule, const char *op) {
  if (!rule || !is_in_module(s->module, rule))
    return;
  if (f->ncaptured)
    source_fail(s, rule->loc, "a rule of a function that takes functions cannot be written as source");
  const int n = rule->body->nparams, own = f->body->nparams;
  const char **names = NEW_ARRAY(s->arena, const char *, n + f->nresults + 1);
  const int mark = source_scope_begin(s);
  for (int i = 0; i < n; i++) /* the function's own names of its sizes are in sight */
    names[i] = source_declare(s, (i < f->nsizes ? f : rule)->body->params[i]->name, i < f->nsizes ? "n" : "x");
  for (int i = 0; i < f->nresults; i++)
    names[n + i] = source_declare(s, f->result_names[i], "y");
  const char *sizes = f->nsizes && source_declares_sizes(rule)
                          ? arena_printf(s->arena, "[%s]", source_list(s, f->nsizes, names, ", "))
                          : "";
  source_line(s, NULL, "%s %s(%s -> %s; %s) {", op, source_func_name(s, f),
              source_list(s, own - f->nsizes, names + f->nsizes, ", "), source_list(s, f->nresults, names + n, ", "),
              source_list(s, n - own, names + own, ", "));
  s->indent++;
  source_line(s, NULL, "%s%s(%s)", source_func_name(s, rule), sizes,
              source_list(s, n - f->nsizes, names + f->nsizes, ", "));
  s->indent--;
  source_line(s, NULL, "}");
  source_line(s, NULL, "%s", "");
  source_scope_end(s, mark);
}

/* ---- what the language has no word for */
static const char mulz_text[] = "// a b, and 0 where either is exactly 0: the product of derivatives.\n"
                                "fn mulz<T>(a: T, b: T) -> T {\n"
                                "  where(a == 0.0 or b == 0.0, 0.0, a * b)\n"
                                "}\n"
                                "\n"
                                "vjp mulz(a, b -> y; y_bar) {\n"
                                "  (mulz(y_bar, b), mulz(y_bar, a))\n"
                                "}\n"
                                "\n"
                                "jvp mulz(a, b -> y; a_dot, b_dot) {\n"
                                "  mulz(a_dot, b) + mulz(a, b_dot)\n"
                                "}\n";
static const char divz_text[] = "// a / b, and 0 where a is exactly 0.\n"
                                "fn divz<T>(a: T, b: T) -> T {\n"
                                "  where(a == 0.0, 0.0, a / b)\n"
                                "}\n"
                                "\n"
                                "vjp divz(a, b -> y; y_bar) {\n"
                                "  let a_bar = divz(y_bar, b);\n"
                                "  (a_bar, -mulz(a_bar, divz(a, b)))\n"
                                "}\n"
                                "\n"
                                "jvp divz(a, b -> y; a_dot, b_dot) {\n"
                                "  divz(a_dot, b) - mulz(divz(b_dot, b), divz(a, b))\n"
                                "}\n";
static const char pow_below_text[] =
    "// x ^ (y - 1.0), r being x ^ y.\n"
    "fn pow_below<T>(x: T, y: T, r: T) -> T {\n"
    "  where(abs(r) >= 7.888609052210118e-31 and abs(r) <= 1.2676506002282294e30, r / x, pow(x, y - 1.0))\n"
    "}\n"
    "\n"
    "vjp pow_below(x, y, r -> z; z_bar) {\n"
    "  let by_y = where(x == 0.0 and y >= 1.0, 0.0, mulz(z, log(x)));\n"
    "  (mulz(z_bar, mulz(y - 1.0, pow(x, y - 2.0))), mulz(z_bar, by_y), 0.0)\n"
    "}\n"
    "\n"
    "jvp pow_below(x, y, r -> z; x_dot, y_dot, r_dot) {\n"
    "  let by_y = where(x == 0.0 and y >= 1.0, 0.0, mulz(z, log(x)));\n"
    "  mulz(x_dot, mulz(y - 1.0, pow(x, y - 2.0))) + mulz(y_dot, by_y)\n"
    "}\n";
static const char attach_text[] = "// v, with the derivative of x.\n"
                                  "fn attach<T>(v: T, x: T) -> T {\n"
                                  "  v\n"
                                  "}\n"
                                  "\n"
                                  "vjp attach(v, x -> y; y_bar) {\n"
                                  "  (0.0, y_bar)\n"
                                  "}\n"
                                  "\n"
                                  "jvp attach(v, x -> y; v_dot, x_dot) {\n"
                                  "  x_dot\n"
                                  "}\n";
static const char floor_div_text[] = "// a / b, rounded down.\n"
                                     "fn floor_div(a: i64, b: i64) -> i64 {\n"
                                     "  (a - mod(a, b)) / b\n"
                                     "}\n";

static void print_helpers(const SourceWriter *s, FILE *out) {
  if (s->needs_mulz || s->needs_divz || s->needs_pow_below)
    fprintf(out, "%s\n", mulz_text);
  if (s->needs_divz)
    fprintf(out, "%s\n", divz_text);
  if (s->needs_pow_below)
    fprintf(out, "%s\n", pow_below_text);
  if (s->needs_attach)
    fprintf(out, "%s\n", attach_text);
  if (s->needs_floor_div)
    fprintf(out, "%s\n", floor_div_text);
}

/* ---- a module */
static void write_exports(SourceWriter *s) {
  for (const Export *e = s->module->exports; e; e = e->next) {
    const char *name = source_func_name(s, e->func);
    if (e->part == PART_TAPESIZE)
      continue;
    if (e->accumulate_from < e->func->nresults)
      source_fail(s, e->loc, "an export that adds into its outputs cannot be written as source");
    source_line(s, NULL, strcmp(name, e->symbol) ? "export %s as %s;" : "export %s;", name, e->symbol);
  }
}

static void print_lines(const SourceWriter *s, FILE *out) {
  for (int i = 0; i < s->lines.n; i++) {
    const SourceLine *l = &s->lines.at[i];
    fprintf(out, "%*s%s\n", *l->text ? 2 * l->indent : 0, "", l->text);
  }
}

bool source_write(Module *m, FILE *out) {
  SourceWriter s = begin(m);
  for (Func *f = m->funcs; f; f = f->next) {
    if (func_is_kernel(f) || !f->nresults) /* no result: sizes of a tape that has none but the function's */
      continue;
    if (f->is_extern)
      write_extern(&s, f);
    else
      write_func(&s, f);
    write_rule(&s, f, f->own_vjp, "vjp");
    write_rule(&s, f, f->own_jvp, "jvp");
  }
  write_exports(&s);
  if (s.failed)
    return false;
  const char *slash = strrchr(m->file, '/');
  fprintf(out, "// Made by gradc from %s%s%s%s; changes are lost when it is made again.\n\n",
          slash ? slash + 1 : m->file, m->strict ? ", --strict" : "", m->fast_math ? ", --fast-math" : "",
          m->unchecked ? ", --unchecked" : "");
  if (s.needs_linalg)
    fputs("import <linalg.ad>;\n\n", out);
  print_helpers(&s, out);
  print_lines(&s, out);
  return true;
}

bool source_of_func(Func *f, SourceLines *lines) {
  SourceWriter s = begin(f->module);
  s.by_line = true;
  s.func = f;
  source_plan(&s);
  declare_params(&s, f);
  if (!s.failed)
    write_body(&s, f);
  *lines = s.lines;
  return !s.failed;
}
