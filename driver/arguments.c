/* All parameters of a function from what the command line gives.
   Sizes first: given by name, else found from the shapes, axis by axis: an axis whose size has one unknown is solved
   for it.  Then every array is made, cut to its kind and compared with its shape. */
#include "driver/arrays.h"
#include "ir/size.h"
#include <math.h>
#include <string.h>

enum { LONGEST_SEARCH = 1000000, FIRST_INVENTED_SIZE = 3 };

/* ---- sizes over parameters whose values are known in part: args[i].data is NULL for what is not */
static bool value_known(const Func *f, const Value *v, const Array *args, int64_t *out) {
  if (v->def || v->region != f->body || !args[v->index].data)
    return false;
  *out = array_int(&args[v->index], 0);
  return true;
}

static bool atom_of_args(const Func *f, const Atom *a, const Array *args, int64_t *out) {
  if (a->value)
    return value_known(f, a->value, args, out);
  int64_t num, den;
  if (!size_of_args(f, a->num, args, &num) || !size_of_args(f, a->den, args, &den))
    return false;
  if (a->kind != ATOM_QUOTIENT) {
    *out = (num < den) == (a->kind == ATOM_MIN) ? num : den;
    return true;
  }
  if (den == 0 || (den == -1 && num == INT64_MIN))
    return false;
  *out = num / den - (num % den != 0 && (num < 0) != (den < 0));
  return true;
}

bool size_of_args(const Func *f, const Size *size, const Array *args, int64_t *out) {
  *out = 0;
  for (int i = 0; i < size->nterms; i++) {
    int64_t term = size->terms[i].coefficient, x;
    for (int k = 0; k < size->terms[i].npowers; k++) {
      if (!atom_of_args(f, size->terms[i].powers[k].atom, args, &x))
        return false;
      for (int e = 0; e < size->terms[i].powers[k].exponent; e++)
        if (__builtin_mul_overflow(term, x, &term))
          return false;
    }
    if (__builtin_add_overflow(*out, term, out))
      return false;
  }
  return !size->overflow;
}

bool shape_of_args(const Func *f, Type t, const Array *args, Array *out) {
  *out = (Array){.kind = t.kind, .rank = t.rank};
  int64_t count = kind_bytes(t.kind);
  for (int i = 0; i < t.rank; i++)
    if (!size_of_args(f, t.dims[i], args, &out->dims[i]) || out->dims[i] < 0 ||
        (out->dims[i] && __builtin_mul_overflow(count, out->dims[i], &count)))
      return false;
  return true;
}

typedef struct Unknowns {
  const Func *func;
  const Array *args;
  Value *one;
  bool several;
} Unknowns;

static void count_unknown(Value *v, void *arg) {
  Unknowns *u = arg;
  int64_t known;
  if (value_known(u->func, v, u->args, &known) || v == u->one)
    return;
  u->several |= u->one != NULL;
  u->one = v;
}

static void set_size(Session *s, Array *args, const Value *v, int64_t n) {
  args[v->index] = array_new(s->arena, KIND_I64, 0, NULL);
  *(int64_t *)args[v->index].data = n;
}

/* Finds the size that makes `size` equal n; false where it has not one unknown alone, or no value does. */
static bool solve(Session *s, const Func *f, const Size *size, int64_t n, Array *args) {
  Unknowns u = {f, args, NULL, false};
  size_values(size, count_unknown, &u);
  if (!u.one || u.several || u.one->def || u.one->region != f->body || u.one->index >= f->nsizes)
    return false;
  const Size *coefficient, *rest;
  int64_t c, r;
  if (size_linear_in(f->module, size, u.one, &coefficient, &rest) && size_of_args(f, coefficient, args, &c) &&
      size_of_args(f, rest, args, &r)) {
    if (c == 0 || (n - r) % c || (n - r) / c < 0)
      return false;
    set_size(s, args, u.one, (n - r) / c);
    return true;
  }
  for (int64_t k = 0; k <= LONGEST_SEARCH; k++) { /* as n * (n + 1) / 2 */
    set_size(s, args, u.one, k);
    if (size_of_args(f, size, args, &r) && r == n)
      return true;
  }
  args[u.one->index] = (Array){0};
  return false;
}

/* ---- what is given, by parameter: p.w is p_w; a name that C reserves has a _ more */
static bool same_name(const char *param, const char *given) {
  for (; *param && *given; param++, given++)
    if (*param != *given && !(*param == '_' && *given == '.'))
      return false;
  return !*given && (!*param || (*param == '_' && !param[1]));
}

static Given *given_for(Givens *givens, const Value *param) {
  for (int i = 0; i < givens->n; i++)
    if (param->name && same_name(param->name, givens->at[i].name))
      return &givens->at[i];
  return NULL;
}

int arguments_parse(Session *s, Givens *givens, int first_operand) {
  const Strings *operands = &s->options->operands;
  for (int i = first_operand; i < operands->n; i++) {
    const char *text = operands->at[i], *equals = strchr(text, '=');
    if (!equals || equals == text)
      return usage_error("'%s' is not an argument; write name=value", text);
    Given g = {.name = arena_strndup(s->arena, text, (size_t)(equals - text)), .text = equals + 1};
    for (int k = 0; k < givens->n; k++)
      if (!strcmp(givens->at[k].name, g.name))
        return usage_error("argument '%s' is given twice", g.name);
    const int status = given_parse(s, &g);
    if (status)
      return status;
    vec_push(s->arena, *givens, g);
  }
  return EXIT_DONE;
}

static int bad_argument(Session *s, const Value *p, const char *reason) {
  diag_error(&s->diag, (Range){0}, "argument '%s' %s", p->name ? p->name : "?", reason);
  return EXIT_INPUT;
}

/* The array in the parameter's kind; what would be lost is an error, but for rounding to f32. */
static int convert(Session *s, const Value *p, const Array *from, Array *to) {
  const Kind kind = p->type.kind;
  *to = array_new(s->arena, kind, from->rank, from->dims);
  const int64_t n = array_count(from);
  for (int64_t i = 0; i < n; i++) {
    if (from->kind == KIND_I64 && kind == KIND_I64) {
      ((int64_t *)to->data)[i] = array_int(from, i);
      continue;
    }
    const double x = array_float(from, i);
    const double most = kind == KIND_BOOL ? 1 : kind == KIND_I32 ? INT32_MAX : 0x1p62;
    const double least = kind == KIND_BOOL ? 0 : kind == KIND_I32 ? INT32_MIN : -0x1p62;
    if (!kind_is_float(kind) && !(x == floor(x) && x >= least && x <= most))
      return bad_argument(s, p, arena_printf(s->arena, "holds %.17g, which is no %s", x, kind_name[kind]));
    array_set(to, i, x);
  }
  return EXIT_DONE;
}

/* A column or a row of a table is a vector, or a number, where the parameter is. */
static void fit_table(const Value *p, Given *g) {
  Array *a = &g->array;
  if (!g->from_table || p->type.rank >= 2 || (a->dims[0] != 1 && a->dims[1] != 1))
    return;
  const int64_t n = array_count(a);
  if (p->type.rank == 1 || n == 1)
    a->rank = p->type.rank;
  a->dims[0] = n;
}

static void find_sizes(Session *s, const Func *f, int n, Givens *givens, Array *args) {
  bool found;
  do {
    found = false;
    for (int i = 0; i < n; i++) {
      const Value *p = f->body->params[i];
      const Given *g = given_for(givens, p);
      if (!g || (g->fill != FILL_NONE && !g->shaped) || g->array.rank != p->type.rank)
        continue;
      for (int k = 0; k < p->type.rank; k++)
        found |= solve(s, f, p->type.dims[k], g->array.dims[k], args);
    }
  } while (found);
}

static int bind_sizes(Session *s, const Func *f, int n, Givens *givens, bool invent, Array *args) {
  for (int i = 0; i < f->nsizes; i++) {
    Given *g = given_for(givens, f->body->params[i]);
    if (!g)
      continue;
    if (g->fill != FILL_NONE || g->array.rank)
      return bad_argument(s, f->body->params[i], "is a size: give a number");
    const int status = convert(s, f->body->params[i], &g->array, &args[i]);
    if (status)
      return status;
    if (array_int(&args[i], 0) < 0)
      return bad_argument(s, f->body->params[i], "is a size, and negative");
  }
  find_sizes(s, f, n, givens, args);
  int64_t invented = FIRST_INVENTED_SIZE;
  for (int i = 0; i < f->nsizes; i++)
    if (!args[i].data && !invent)
      return usage_error("the size '%s' cannot be told from the arguments: give %s=N", f->body->params[i]->name,
                         f->body->params[i]->name);
    else if (!args[i].data) {
      set_size(s, args, f->body->params[i], invented);
      invented += 2;
      find_sizes(s, f, n, givens, args);
    }
  return EXIT_DONE;
}

static const char *shape_text(Arena *arena, const Array *a) {
  const char *text = "";
  for (int i = 0; i < a->rank; i++)
    text = arena_printf(arena, "%s%s%lld", text, i ? ", " : "", (long long)a->dims[i]);
  return a->rank ? arena_printf(arena, "[%s]", text) : "a scalar";
}

static int check_shape(Session *s, const Value *p, const Array *want, const Array *have) {
  bool same = want->rank == have->rank;
  for (int i = 0; same && i < want->rank; i++)
    same = want->dims[i] == have->dims[i];
  if (same)
    return EXIT_DONE;
  return bad_argument(s, p,
                      arena_printf(s->arena, "is %s; %s, with these sizes, is %s", shape_text(s->arena, have),
                                   type_text(p->region->func->module, p->type), shape_text(s->arena, want)));
}

/* What a parameter that is not given holds in a check of derivatives: floats away from 0 and 1, where many functions
   have their edges; indices that fit any axis of two; counts of steps that are small. */
static void invent_value(const Value *p, Array *a, Random *r) {
  if (kind_is_float(p->type.kind))
    array_fill(a, FILL_RAND, 0.1, 0.9, r);
  else if (p->type.rank == 0 && p->type.kind != KIND_BOOL)
    array_set(a, 0, 3);
  else
    array_fill(a, FILL_RAND, 0, 2, r);
}

static int bind_value(Session *s, const Func *f, int i, Givens *givens, bool invent, Array *args) {
  const Value *p = f->body->params[i];
  const Given *g = given_for(givens, p);
  if (!g && !invent)
    return usage_error("argument '%s' (%s) is missing", p->name, type_text(f->module, p->type));
  Array want, made = {0};
  if (!shape_of_args(f, p->type, args, &want))
    return bad_argument(s, p, "has a size that is negative, overflows or depends on what comes later");
  if (g && g->fill == FILL_NONE) {
    const int status = check_shape(s, p, &want, &g->array);
    return status ? status : convert(s, p, &g->array, &args[i]);
  }
  if (g && g->shaped) {
    const int status = check_shape(s, p, &want, &g->array);
    if (status)
      return status;
  }
  if (!array_fits(&want))
    return bad_argument(s, p, "is too large for the memory");
  made = array_new(s->arena, p->type.kind, want.rank, want.dims);
  Random r = {(uint64_t)s->options->seed * 1000003u + (uint64_t)i};
  if (g)
    array_fill(&made, g->fill, (double)g->low, (double)g->high, &r);
  else
    invent_value(p, &made, &r);
  args[i] = made;
  return EXIT_DONE;
}

int arguments_bind(Session *s, const Func *f, Givens *givens, bool invent, Array *args) {
  return arguments_bind_first(s, f, f->body->nparams, givens, invent, args);
}

int arguments_bind_first(Session *s, const Func *f, int n, Givens *givens, bool invent, Array *args) {
  const char **names = NEW_ARRAY(s->arena, const char *, n);
  for (int i = 0; i < n; i++) {
    const Value *p = f->body->params[i];
    names[i] = p->name ? p->name : "";
    args[i] = (Array){0};
    Given *g = given_for(givens, p);
    if (g) {
      g->used = true;
      fit_table(p, g);
    }
  }
  for (int i = 0; i < givens->n; i++)
    if (!givens->at[i].used) {
      const char *near = nearest_name(givens->at[i].name, names, n);
      return near ? usage_error("'%s' has no parameter '%s'; did you mean '%s'?", f->name, givens->at[i].name, near)
                  : usage_error("'%s' has no parameter '%s'", f->name, givens->at[i].name);
    }
  int status = bind_sizes(s, f, n, givens, invent, args);
  for (int i = f->nsizes; i < n && !status; i++)
    status = bind_value(s, f, i, givens, invent, args);
  return status;
}
