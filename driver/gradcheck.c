/* gradc gradcheck: is the reverse derivative of a function the forward one, and are both what differences say?

   For seeds s of the float results and a tangent t of one float parameter x, three numbers must agree:
       reverse       <x_bar, t>    x_bar from vjp with the seeds s
       forward       <s, y_dot>    y_dot from jvp with the tangent t, zero for the other parameters
       differences   d/dh <s, f(x + h t)> at h = 0, by the five-point central formula
   The last is taken at several h; of these the one counts that differs least from its neighbour.  A difference counts
   relative to the sum of the absolute products, so that cancellation between elements is no fault; and no more is asked
   of a difference than the rounding of the function's values leaves in it. */
#include "driver/arrays.h"
#include "ir/raw.h"
#include <float.h>
#include <math.h>
#include <string.h>

enum { MESSAGE_BYTES = 1024, NSTEPS = 60 };

typedef struct Subject {
  Func *func;
  Export *value, *vjp, *jvp;
  bool *wrt; /* per parameter */
  Array *args;
} Subject;

typedef struct Check {
  Callable callable;
  Session *session;
  VEC(Subject) subjects;
  int nchecks, nfailed;
} Check;

/* ---- which functions */
static bool has_float(const Func *f, bool results) {
  const int n = results ? f->nresults : f->body->nparams;
  for (int i = 0; i < n; i++)
    if (kind_is_float(results ? f->result_types[i].kind : f->body->params[i]->type.kind))
      return true;
  return false;
}

static void add_subject(Check *c, Func *f) {
  if (f->is_extern || !has_float(f, true) || !has_float(f, false))
    return;
  for (int i = 0; i < c->subjects.n; i++)
    if (c->subjects.at[i].func == f)
      return;
  vec_push(c->session->arena, c->subjects, (Subject){.func = f});
}

/* What an exported derivative is of, is what there is to check. */
static Func *primal(Func *f) {
  while (f->recipe.op != DERIVE_NONE)
    f = f->recipe.base;
  return f;
}

/* A symbol that no other export has. */
static Export *export_as(Check *c, Module *m, const char *name, Func *f) {
  const char *symbol = arena_printf(c->session->arena, "gradcheck_%d_%s", c->subjects.n, name);
  for (const Export *e = m->exports; e; e = e->next)
    if (!strcmp(e->symbol, symbol))
      return export_as(c, m, arena_printf(c->session->arena, "%s_", name), f);
  return module_export(m, arena_name(m->arena, symbol), f, f->loc);
}

static void declare_derivatives(Check *c, Module *m, Subject *s) {
  Func *f = s->func;
  s->wrt = NEW_ARRAY(c->session->arena, bool, f->body->nparams);
  for (int i = 0; i < f->body->nparams; i++)
    s->wrt[i] = kind_is_float(f->body->params[i]->type.kind);
  const char *name = f->name;
  s->value = export_as(c, m, name, f);
  s->vjp = export_as(c, m, arena_printf(c->session->arena, "%s_vjp", name),
                     func_derive(m, DERIVE_VJP, f, s->wrt, MODE_AUTO, f->loc));
  s->jvp = export_as(c, m, arena_printf(c->session->arena, "%s_jvp", name),
                     func_derive(m, DERIVE_JVP, f, s->wrt, MODE_AUTO, f->loc));
}

/* ---- numbers */
typedef struct Sum {
  double value, magnitude; /* of the products, and of their absolute values */
} Sum;

static void add_product(Sum *s, const Array *a, const Array *b) {
  const int64_t n = array_count(a);
  for (int64_t i = 0; i < n; i++) {
    const double p = array_float(a, i) * array_float(b, i);
    s->value += p;
    s->magnitude += fabs(p);
  }
}

static Array copy_of(Arena *arena, const Array *a) {
  Array copy = array_new(arena, a->kind, a->rank, a->dims);
  const size_t bytes = (size_t)array_count(a) * (size_t)kind_bytes(a->kind);
  if (bytes)
    memcpy(copy.data, a->data, bytes);
  return copy;
}

/* One point where a function is looked at. */
typedef struct Point {
  Check *check;
  const Subject *subject;
  Array *seeds;    /* per float result, in order */
  Array *tangents; /* per parameter of wrt, in order */
  int nseeds, ntangents;
  Array *values;     /* the results at the point */
  Array *cotangents; /* per parameter of wrt */
  bool values_agree; /* those that vjp gives are the same */
} Point;

/* Calls with the parameters followed by `more`; false after a failure, which is printed if it is to be `loud`. */
static bool call(const Point *p, Arena *arena, const Export *e, const Array *args, const Array *more, int nmore,
                 Array *results, bool loud) {
  const int n = p->subject->func->body->nparams;
  Array *all = NEW_ARRAY(arena, Array, n + nmore);
  for (int i = 0; i < n + nmore; i++)
    all[i] = i < n ? args[i] : more[i - n];
  char message[MESSAGE_BYTES] = "";
  const int status = callable_call(&p->check->callable, arena, e, all, results, message, sizeof message);
  if (status && loud && *message)
    diag_error(&p->check->session->diag, (Range){0}, "%s: %s", e->func->name, message);
  return status == 0;
}

static bool same_values(const Point *p, const Array *a, const Array *b, double tolerance) {
  for (int r = 0; r < p->subject->func->nresults; r++) {
    const int64_t n = array_count(&a[r]);
    double most = 0;
    for (int64_t i = 0; i < n; i++)
      if (isfinite(array_float(&a[r], i)) && fabs(array_float(&a[r], i)) > most)
        most = fabs(array_float(&a[r], i));
    for (int64_t i = 0; i < n; i++) {
      const double x = array_float(&a[r], i), y = array_float(&b[r], i);
      if (!(x == y || (isnan(x) && isnan(y)) || fabs(x - y) <= tolerance * most))
        return false;
    }
  }
  return true;
}

/* ---- the three derivatives along parameter k of wrt */
static bool forward(const Point *p, int k, Sum *sum, double tolerance, bool *values_agree) {
  Arena arena = {0};
  const Func *f = p->subject->func;
  Array *tangents = NEW_ARRAY(&arena, Array, p->ntangents), *results = NEW_ARRAY(&arena, Array, 2 * f->nresults);
  for (int i = 0; i < p->ntangents; i++)
    tangents[i] =
        i == k ? p->tangents[i] : array_new(&arena, p->tangents[i].kind, p->tangents[i].rank, p->tangents[i].dims);
  const bool good = call(p, &arena, p->subject->jvp, p->subject->args, tangents, p->ntangents, results, true);
  *sum = (Sum){0};
  for (int i = 0; good && i < p->nseeds; i++)
    add_product(sum, &p->seeds[i], &results[f->nresults + i]);
  *values_agree = good && same_values(p, p->values, results, tolerance);
  arena_free(&arena);
  return good;
}

/* <s, f(x + h t)> - <s, f(x)>, summed element by element so that large values do not drown small changes. */
static bool shifted(const Point *p, int param, int k, double h, double *out) {
  Arena arena = {0};
  const Func *f = p->subject->func;
  Array *args = NEW_ARRAY(&arena, Array, f->body->nparams), *results = NEW_ARRAY(&arena, Array, f->nresults);
  for (int i = 0; i < f->body->nparams; i++)
    args[i] = p->subject->args[i];
  args[param] = copy_of(&arena, &args[param]);
  const int64_t n = array_count(&args[param]);
  for (int64_t i = 0; i < n; i++)
    array_set(&args[param], i, array_float(&args[param], i) + h * array_float(&p->tangents[k], i));
  const bool good = call(p, &arena, p->subject->value, args, NULL, 0, results, false);
  *out = 0;
  for (int r = 0, seed = 0; good && r < f->nresults; r++)
    if (kind_is_float(results[r].kind)) {
      const int64_t m = array_count(&results[r]);
      for (int64_t i = 0; i < m; i++)
        *out += array_float(&p->seeds[seed], i) * (array_float(&results[r], i) - array_float(&p->values[r], i));
      seed++;
    }
  arena_free(&arena);
  return good;
}

static double central(const Point *p, int param, int k, double h) {
  double y[4];
  static const int at[4] = {-2, -1, 1, 2};
  for (int i = 0; i < 4; i++)
    if (!shifted(p, param, k, at[i] * h, &y[i]))
      return NAN;
  return (y[0] - 8 * y[1] + 8 * y[2] - y[3]) / (12 * h);
}

typedef struct Slope {
  double value; /* NaN where no step gives a number */
  double noise; /* what rounding of the function's values makes of it */
} Slope;

/* The largest element of the parameter, which says how long a step is short. */
static double scale_of(const Array *x) {
  const int64_t n = array_count(x);
  double scale = 0;
  for (int64_t i = 0; i < n; i++)
    scale = fmax(scale, fabs(array_float(x, i)));
  return scale > 0 && isfinite(scale) ? scale : 1;
}

/* Steps go from a part of 1, or of the scale where that is larger, down to a small part of the scale: functions of tiny
   arguments may change as fast as these do, or as slowly as others. */
static Slope differences(const Point *p, int param, int k, Kind kind) {
  Slope best = {NAN, 0};
  Sum size = {0};
  for (int r = 0, seed = 0; r < p->subject->func->nresults; r++)
    if (kind_is_float(p->values[r].kind))
      add_product(&size, &p->seeds[seed++], &p->values[r]);
  const double rounding = 32 * (kind == KIND_F32 ? 0x1p-24 : 0x1p-53) * size.magnitude;
  const double scale = scale_of(&p->subject->args[param]), largest = kind == KIND_F32 ? 0.3 : 0.03;
  double before = NAN, least = INFINITY;
  int steps = 0;
  for (double h = largest * fmax(scale, 1); h > 1e-4 * largest * fmin(scale, 1) && steps < NSTEPS;
       h *= 0.31622776601683794) {
    const double slope = central(p, param, k, h), noise = rounding / h;
    const double change = fabs(slope - before) / (fabs(slope) + noise + DBL_MIN);
    if (isfinite(slope) && (isnan(best.value) || change < least)) {
      best = (Slope){slope, noise};
      least = isfinite(change) ? change : least;
    }
    before = slope;
    steps++;
  }
  return best;
}

/* ---- one function */
static bool lowest_kind_is_f32(const Func *f) {
  for (int i = 0; i < f->body->nparams; i++)
    if (f->body->params[i]->type.kind == KIND_F32)
      return true;
  for (int r = 0; r < f->nresults; r++)
    if (f->result_types[r].kind == KIND_F32)
      return true;
  return false;
}

static Array like_type(Check *c, const Subject *s, Type t, Random *r) {
  Array shape, a;
  if (!shape_of_args(s->func, t, s->args, &shape))
    shape = (Array){.kind = t.kind};
  a = array_new(c->session->arena, shape.kind, shape.rank, shape.dims);
  array_fill(&a, FILL_RANDN, 0, 1, r);
  return a;
}

static bool point_begin(Check *c, const Subject *s, Point *p) {
  const Func *f = s->func;
  Arena *arena = c->session->arena;
  Random random = {(uint64_t)c->session->options->seed * 7919u + 12345u};
  *p = (Point){.check = c, .subject = s};
  p->seeds = NEW_ARRAY(arena, Array, f->nresults);
  p->tangents = NEW_ARRAY(arena, Array, f->body->nparams);
  p->values = NEW_ARRAY(arena, Array, f->nresults);
  for (int r = 0; r < f->nresults; r++)
    if (kind_is_float(f->result_types[r].kind))
      p->seeds[p->nseeds++] = like_type(c, s, f->result_types[r], &random);
  for (int i = 0; i < f->body->nparams; i++)
    if (s->wrt[i])
      p->tangents[p->ntangents++] = like_type(c, s, f->body->params[i]->type, &random);
  Array *results = NEW_ARRAY(arena, Array, f->nresults + p->ntangents);
  if (!call(p, arena, s->value, s->args, NULL, 0, p->values, true) ||
      !call(p, arena, s->vjp, s->args, p->seeds, p->nseeds, results, true))
    return false;
  p->cotangents = results + f->nresults;
  p->values_agree = same_values(p, p->values, results, lowest_kind_is_f32(f) ? 2e-4 : 1e-9);
  return true;
}

static double relative(double a, double b, double magnitude) {
  const double difference = fabs(a - b);
  return difference == 0 ? 0 : difference / fmax(fmax(fabs(a), fabs(b)), magnitude);
}

static bool check_param(const Point *p, int param, int k) {
  Check *c = p->check;
  const Options *o = c->session->options;
  const Func *f = p->subject->func;
  const bool narrow = lowest_kind_is_f32(f);
  const double given = o->tolerance,
               exact = given > 0 ? given
                       : narrow  ? 2e-4
                                 : 1e-9,
               near = given > 0 ? given
                      : narrow  ? 2e-2
                                : 1e-6;
  Sum reverse = {0}, fwd;
  bool values_agree;
  add_product(&reverse, &p->cotangents[k], &p->tangents[k]);
  if (!forward(p, k, &fwd, exact, &values_agree))
    return false;
  const double magnitude = fmax(reverse.magnitude, fwd.magnitude);
  const double error = relative(reverse.value, fwd.value, magnitude);
  const Slope slope = o->no_differences ? (Slope){NAN, 0} : differences(p, param, k, narrow ? KIND_F32 : KIND_F64);
  const double slope_error = relative(reverse.value, slope.value, fmax(magnitude, slope.noise / near));
  values_agree &= p->values_agree;
  /* Written so that NaN fails. */
  const bool good = values_agree && error <= exact && (o->no_differences || slope_error <= near);
  char numbers[3][32];
  number_text(numbers[0], sizeof numbers[0], reverse.value, KIND_F64, 9);
  number_text(numbers[1], sizeof numbers[1], fwd.value, KIND_F64, 9);
  number_text(numbers[2], sizeof numbers[2], slope.value, KIND_F64, 9);
  printf("  %-12s %16s %16s %16s   %8.1e %8.1e   %s\n", f->body->params[param]->name, numbers[0], numbers[1],
         o->no_differences ? "-" : numbers[2], error, o->no_differences ? 0 : slope_error,
         good           ? "ok"
         : values_agree ? "WRONG"
                        : "WRONG VALUE");
  c->nchecks++;
  c->nfailed += !good;
  return true;
}

static bool check_subject(Check *c, const Subject *s) {
  Point p;
  if (!point_begin(c, s, &p))
    return false;
  printf("%s\n  %-12s %16s %16s %16s   %8s %8s\n", s->func->name, "by", "reverse", "forward", "differences", "rev-fwd",
         "rev-diff");
  for (int i = 0, k = 0; i < s->func->body->nparams; i++)
    if (s->wrt[i] && !check_param(&p, i, k++))
      return false;
  return true;
}

/* ---- all of them */
static int gradcheck(Check *c, Module *m) {
  Session *s = c->session;
  const Strings *operands = &s->options->operands;
  const bool named = operands->n > 1 && !strchr(operands->at[1], '=');
  if (named) {
    Export *e = export_named(s, m, operands->at[1]);
    if (!e)
      return EXIT_USAGE;
    add_subject(c, e->func);
  } else {
    for (Export *e = m->exports; e; e = e->next)
      add_subject(c, primal(e->func));
  }
  if (!c->subjects.n) {
    diag_error(&s->diag, (Range){0}, "there is no function of floats that gives floats to check");
    return EXIT_INPUT;
  }
  m->exports = m->last_export = NULL;
  for (int i = 0; i < c->subjects.n; i++) {
    Subject *subject = &c->subjects.at[i];
    Givens givens = {0};
    int status = arguments_parse(s, &givens, named ? 2 : 1);
    subject->args = NEW_ARRAY(s->arena, Array, subject->func->body->nparams);
    if (!status)
      status = arguments_bind(s, subject->func, &givens, true, subject->args);
    if (status)
      return status;
    declare_derivatives(c, m, subject);
  }
  bool good = callable_prepare(&c->callable, s, m);
  for (int i = 0; good && i < c->subjects.n; i++)
    good = check_subject(c, &c->subjects.at[i]);
  if (good)
    printf("gradcheck: %d of %d agree\n", c->nchecks - c->nfailed, c->nchecks);
  callable_free(&c->callable);
  return good && !c->nfailed ? EXIT_DONE : EXIT_INPUT;
}

int command_gradcheck(Arena *arena, const Options *o) {
  Session s;
  session_begin(&s, arena, o);
  Check c = {.session = &s};
  Module *m = session_module(&s, o->operands.at[0]);
  const int status = m ? gradcheck(&c, m) : EXIT_INPUT, end = session_end(&s);
  return status ? status : end;
}
