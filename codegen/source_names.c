/* Names of the source: legal, and different from all that are declared where they stand; see source_state.h. */
#include "codegen/source_state.h"
#include <string.h>

/* Reserved words, and functions that the source is written with. */
static const char *const words[] = {
    "and",       "bool",    "break",    "const",     "continue", "else",  "export",  "extern",
    "f32",       "f64",     "false",    "fn",        "for",      "i32",   "i64",     "if",
    "import",    "in",      "let",      "not",       "or",       "real",  "require", "return",
    "struct",    "true",    "var",      "while",     "vjp",      "jvp",   "grad",    "value_and_grad",
    "jacobian",  "hessian", "hvp",      "pi",        "inf",      "nan",   "zeros",   "full",
    "sum",       "prod",    "min",      "max",       "any",      "all",   "abs",     "sign",
    "sqrt",      "cbrt",    "exp",      "exp2",      "expm1",    "log",   "log2",    "log10",
    "log1p",     "sin",     "cos",      "tan",       "asin",     "acos",  "atan",    "sinh",
    "cosh",      "tanh",    "asinh",    "acosh",     "atanh",    "erf",   "erfc",    "lgamma",
    "digamma",   "sigmoid", "softplus", "floor",     "ceil",     "round", "trunc",   "isnan",
    "isfinite",  "pow",     "atan2",    "hypot",     "mod",      "where", "reshape", "mulz",
    "pow_below", "divz",    "attach",   "floor_div", "_"};

static const char taken[] = "taken";

static void take(SourceWriter *s, const char *name) {
  *symbol_at(&s->taken, name) = (void *)(uintptr_t)taken;
}

/* Letters that names may have; NULL where nothing is left. */
static const char *cleaned(SourceWriter *s, const char *name) {
  char *text = arena_printf(s->arena, "%s%s", *name >= '0' && *name <= '9' ? "_" : "", name);
  for (char *p = text; *p; p++)
    if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9')))
      *p = '_';
  return *text ? text : NULL;
}

/* `base`, or base_k with the least k that is free: for each base it is known below which k all are taken. */
static SourceName unique(SourceWriter *s, const char *wanted, const char *otherwise) {
  SourceName n = {.base = wanted ? cleaned(s, wanted) : NULL};
  n.base = arena_name(s->arena, n.base ? n.base : otherwise);
  uintptr_t k = (uintptr_t)*symbol_at(&s->least_free, n.base);
  do
    n.name = k ? arena_name(s->arena, arena_printf(s->arena, "%s_%ju", n.base, (uintmax_t)k + 1)) : n.base;
  while (symbol_find(&s->taken, n.name) && ++k);
  n.number = k;
  *symbol_at(&s->least_free, n.base) = (void *)(k + 1);
  take(s, n.name);
  return n;
}

const char *source_declare(SourceWriter *s, const char *wanted, const char *otherwise) {
  const SourceName n = unique(s, wanted, otherwise);
  vec_push(s->arena, s->scope, n);
  return n.name;
}

int source_scope_begin(const SourceWriter *s) {
  return s->scope.n;
}

void source_scope_end(SourceWriter *s, int mark) {
  while (s->scope.n > mark) {
    const SourceName n = s->scope.at[--s->scope.n];
    void **least = symbol_at(&s->least_free, n.base);
    if ((uintptr_t)*least > n.number)
      *least = (void *)n.number;
    *symbol_at(&s->taken, n.name) = NULL;
  }
}

void source_names_begin(SourceWriter *s) {
  s->taken = s->least_free = (Symbols){.arena = s->arena};
  s->func_names = NEW(s->arena, Symbols);
  s->func_names->arena = s->arena;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    take(s, words[i]);
  for (const Func *f = s->module->funcs; f; f = f->next) {
    const char *name = f->name;
    if (func_is_kernel(f)) /* of f64 and f32 under one name: gradc_rt_lu_f64 */
      name = arena_strndup(s->arena, name, strlen(name) - 4);
    else if (!f->is_extern)
      name = unique(s, name, "f").name;
    if (f->is_extern)
      take(s, name);
    *symbol_at(s->func_names, f->name) = (void *)(uintptr_t)name;
  }
}

const char *source_func_name(const SourceWriter *s, const Func *f) {
  const char *name = symbol_find(s->func_names, f->name);
  if (!name)
    internal_error("function '%s' is in no module", f->name);
  return name;
}
