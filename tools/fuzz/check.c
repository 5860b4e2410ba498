/* Whether a program runs to the same numbers in every way, and whether its derivatives are right.

   The reference of values is the evaluator on unoptimised IR.  Two numbers agree when they differ by little, or by no
   more than rounding explains: the reference is then run again with rounding up, down and towards zero, and what these
   differ by, many times over, is allowed.  Where they differ in most digits nothing is said (UNDECIDED). */
#define _POSIX_C_SOURCE 200809L /* open_memstream */
#include "tools/fuzz/compare.h"
#include "tools/fuzz/run.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const char *const verdict_name[VERDICT_COUNT] = {
    "agree",        "undecided",     "refused",     "wrong value",
    "wrong status", "wrong adjoint", "wrong slope", "wrong second derivative",
    "crash",        "hang"};

/* The functions that are called, and what each has for arguments after those of f. */
typedef enum Called {
  CALL_F,
  CALL_VJP,
  CALL_ADDED, /* into zeros: the same */
  CALL_JVP,
  CALL_GRADIENT,
  CALL_GRADIENT_JVP,
  CALL_GRADIENT_VJP,
  CALL_DENSE,
  CALL_SPARSE,
  CALL_SECOND_DENSE,
  CALL_SECOND_SPARSE,
  CALL_COUNT
} Called;
static const char *const symbols[CALL_COUNT] = {"f",        "f_vjp",        "f_added",      "f_jvp",
                                                "gradient", "gradient_jvp", "gradient_vjp", "f_dense",
                                                "f_sparse", "loss_dense",   "loss_sparse"};

typedef struct Checker {
  Arena arena;
  const Case *c;
  Outcome *out;
  Running builds[WAY_COUNT];
  bool open[WAY_COUNT];
  Arrays args[CALL_COUNT];
  Answer answers[CALL_COUNT]; /* of the reference */
  bool called[CALL_COUNT];
  double seconds[CALL_COUNT];        /* that the reference took */
  Arrays weights, directions, seeds; /* of real results; of real inputs: a tangent, and cotangents of the gradient */
  bool undecided;
} Checker;

static void report(Checker *k, Verdict v, const char *fmt, ...) {
  if (k->out->verdict > UNDECIDED)
    return;
  va_list ap;
  va_start(ap, fmt);
  k->out->verdict = v;
  vsnprintf(k->out->what, sizeof k->out->what, fmt, ap);
  va_end(ap);
}

/* ---- arguments */
static Array random_like(Checker *k, const Array *shape, const char *name, int number) {
  Array a = array_new(&k->arena, shape->kind, shape->rank, shape->dims);
  Rng r = {rng_hash(name, k->c->seed + (uint64_t)number)};
  const int64_t n = array_count(&a);
  for (int64_t i = 0; i < n; i++)
    array_set(&a, i, rng_real(&r));
  return a;
}

static Arrays real_ones(Checker *k, Arrays of) {
  Arrays out = {0, NEW_ARRAY(&k->arena, Array, of.n)};
  for (int i = 0; i < of.n; i++)
    if (kind_is_float(of.at[i].kind))
      out.at[out.n++] = of.at[i];
  return out;
}

static Arrays random_ones(Checker *k, Arrays like, const char *name) {
  Arrays out = {like.n, NEW_ARRAY(&k->arena, Array, like.n)};
  for (int i = 0; i < like.n; i++)
    out.at[i] = random_like(k, &like.at[i], name, i);
  return out;
}

static Arrays joined(Checker *k, Arrays a, Arrays b) {
  Arrays out = {a.n + b.n, NEW_ARRAY(&k->arena, Array, a.n + b.n)};
  for (int i = 0; i < out.n; i++)
    out.at[i] = i < a.n ? a.at[i] : b.at[i - a.n];
  return out;
}

/* The last n. */
static Arrays tail(Arrays a, int n) {
  return (Arrays){n, a.at + (a.n - n)};
}

/* f's arguments in order: sizes stand in the order in which the front end binds them. */
static Arrays arguments_of_f(Checker *k, const Func *f) {
  int n;
  Array *inputs = case_inputs(&k->arena, k->c, &n);
  Arrays out = {f->body->nparams, NEW_ARRAY(&k->arena, Array, f->body->nparams)};
  if (f->nsizes + n != out.n)
    internal_error("f has %d parameters, not %d", out.n, f->nsizes + n);
  for (int i = 0; i < out.n; i++) {
    if (i >= f->nsizes) {
      out.at[i] = inputs[i - f->nsizes];
      continue;
    }
    out.at[i] = array_new(&k->arena, KIND_I64, 0, NULL);
    for (int s = 0; s < k->c->nsymbols; s++)
      if (!strcmp(k->c->symbols[s]->text, f->body->params[i]->name))
        array_set(&out.at[i], 0, (double)k->c->symbols[s]->value);
  }
  return out;
}

/* ---- the ways of running */
static void refused(Checker *k, Way w) {
  char *text = NULL;
  size_t n = 0;
  FILE *f = open_memstream(&text, &n);
  if (!f)
    internal_error("no memory");
  diag_flush(&k->builds[w].session.diag, f);
  fclose(f);
  report(k, REFUSED, "%s: %s", way_name[w], text);
  free(text);
}

/* Compiling is what costs the most: of a program one function is compiled. */
static const char *compiled_one(const Checker *k) {
  static const Called choices[] = {
      CALL_F, CALL_VJP, CALL_ADDED, CALL_JVP, CALL_GRADIENT_JVP, CALL_GRADIENT_VJP, CALL_SPARSE, CALL_SECOND_SPARSE};
  const int n = sizeof choices / sizeof *choices;
  for (int i = 0; i < n; i++) {
    const Called c = choices[(k->c->seed + (uint64_t)i) % (uint64_t)n];
    if (k->called[c])
      return symbols[c];
  }
  return symbols[CALL_F];
}

static bool open_way(Checker *k, const char *text, Way w) {
  k->open[w] = true;
  running_open(&k->builds[w], text, k->c->narrow, w, w >= NATIVE_O0 ? compiled_one(k) : NULL);
  if (!k->builds[w].good)
    refused(k, w);
  return k->builds[w].good;
}

static void call_reference(Checker *k, Called what, Arrays args) {
  const clock_t start = clock();
  k->args[what] = args;
  running_call(&k->builds[REFERENCE], &k->arena, symbols[what], args, &k->answers[what]);
  k->called[what] = true;
  k->seconds[what] = (double)(clock() - start) / CLOCKS_PER_SEC;
}

static bool has(const Checker *k, Called what) {
  return running_export(&k->builds[REFERENCE], symbols[what]) != NULL;
}

static bool all_finite(Arrays a, double most) {
  for (int i = 0; i < a.n; i++) {
    const int64_t n = kind_is_float(a.at[i].kind) ? array_count(&a.at[i]) : 0;
    for (int64_t j = 0; j < n; j++)
      if (!(fabs(array_float(&a.at[i], j)) <= most))
        return false;
  }
  return true;
}

static bool good(const Checker *k, Called what) {
  return k->called[what] && k->answers[what].status == 0;
}

/* The first n arguments with h times what stands in `by` for each real one; the rest as they are. */
static Arrays moved(Arena *arena, Arrays args, int n, Arrays by, double h) {
  Arrays out = {args.n, NEW_ARRAY(arena, Array, args.n)};
  for (int i = 0, d = 0; i < args.n; i++) {
    const Array *x = &args.at[i];
    out.at[i] = *x;
    if (i >= n || !kind_is_float(x->kind))
      continue;
    out.at[i] = array_new(arena, x->kind, x->rank, x->dims);
    const int64_t count = array_count(x);
    for (int64_t j = 0; j < count; j++)
      array_set(&out.at[i], j, array_float(x, j) + h * array_float(&by.at[d], j));
    d++;
  }
  return out;
}

/* All real arguments a few units in the last place off, by the same factor: what is equal stays equal. */
static Arrays nudged(Checker *k, Arrays args, double units) {
  return moved(&k->arena, args, args.n, real_ones(k, args), units * (k->c->coarse ? 0x1p-23 : 0x1p-52));
}

/* What differs among arguments that are nearly the same and on one side of the point: rounding that grew and that a
   saturated function has hidden from the other modes of rounding.  A kink at the point is none, as one side sees one
   slope of it. */
static void add_chaos(Checker *k, Called what, Noise *noise) {
  for (int side = -1; side <= 1; side += 2) {
    Answer first;
    Noise here;
    running_call(&k->builds[REFERENCE], &k->arena, symbols[what], nudged(k, k->args[what], side), &first);
    if (first.status)
      continue;
    noise_begin(&k->arena, &here, first.results);
    for (int units = 2; units <= 4; units++) {
      Answer a;
      running_call(&k->builds[REFERENCE], &k->arena, symbols[what], nudged(k, k->args[what], side * units), &a);
      noise_add(&here, a.status == 0 ? &a.results : NULL);
    }
    noise_join(noise, &here);
  }
}

/* What the reference gives when it rounds otherwise. */
static void noise_of(Checker *k, Called what, Noise *noise) {
  noise_begin(&k->arena, noise, k->answers[what].results);
  for (int i = 0; i < ROUNDINGS; i++) {
    Answer a;
    round_otherwise(i);
    running_call(&k->builds[REFERENCE], &k->arena, symbols[what], k->args[what], &a);
    round_nearest();
    noise_add(noise, a.status == 0 ? &a.results : NULL);
  }
  add_chaos(k, what, noise);
}

static void compare_way(Checker *k, Way w) {
  for (int what = 0; what < CALL_COUNT; what++) {
    if (!k->called[what] || !running_export(&k->builds[w], symbols[what]))
      continue;
    const Answer *expected = &k->answers[what];
    Answer a;
    running_call(&k->builds[w], &k->arena, symbols[what], k->args[what], &a);
    if (a.status != expected->status) {
      report(k, WRONG_STATUS, "%s: %s ends with status %d (%s), by the evaluator with %d (%s)", symbols[what],
             way_name[w], a.status, a.message, expected->status, expected->message);
      return;
    }
    if (a.status)
      continue;
    Noise noise;
    bool known = false;
    for (int r = 0; r < a.results.n; r++) {
      const int64_t n = array_count(&a.results.at[r]);
      for (int64_t i = 0; i < n; i++) {
        if (near(&expected->results.at[r], &a.results.at[r], i, k->c->coarse))
          continue;
        if (!known)
          noise_of(k, (Called)what, &noise);
        known = true;
        const Verdict v = noise_judge(&noise, r, i, array_float(&a.results.at[r], i), k->c->coarse);
        if (v == UNDECIDED)
          k->undecided = true;
        else if (v == WRONG_VALUE) {
          report(k, v, "%s, result %d, element %lld: %.17g by %s, %.17g by the evaluator (rounding moves it by %.1e)",
                 symbols[what], r, (long long)i, array_float(&a.results.at[r], i), way_name[w],
                 array_float(&expected->results.at[r], i), noise.spread[r][i]);
          return;
        }
      }
    }
  }
}

/* ---- derivatives */
static Product product(Arrays a, Arrays b) {
  Product p = {0};
  for (int i = 0; i < a.n; i++)
    product_add(&p, &a.at[i], &b.at[i]);
  return p;
}

/* <left results of `a`, u> against <those of `b`, v>; results are the last of each answer. */
static void check_products(Checker *k, Verdict verdict, Called a, Arrays u, Called b, Arrays v) {
  const Product x = product(tail(k->answers[a].results, u.n), u), y = product(tail(k->answers[b].results, v.n), v);
  const double magnitude = fmax(x.magnitude, y.magnitude), error = fabs(x.value - y.value);
  if (!isfinite(magnitude)) {
    k->undecided = true;
    return;
  }
  if (error <= (k->c->coarse ? 1e-5 : 1e-12) * magnitude + 1e-300)
    return;
  Noise na, nb;
  noise_of(k, a, &na);
  noise_of(k, b, &nb);
  const double rounding = noise_product(&na, u) + noise_product(&nb, v);
  if (!(rounding < 1e-4 * magnitude))
    k->undecided = true;
  else if (error > 100 * rounding)
    report(k, verdict, "<%s, t> = %.17g, <%s, t> = %.17g, of terms of %.3g in sum; rounding moves them by %.1e",
           symbols[a], x.value, symbols[b], y.value, magnitude, rounding);
}

typedef struct Along {
  Checker *k;
  Called what;
  Arrays weights;
  Arrays base; /* results at the point */
} Along;

/* Arguments whose part that is f's has moved by h along the directions. */
static Arrays moved_by(const Checker *k, Arena *arena, Arrays args, double h) {
  return moved(arena, args, k->args[CALL_F].n, k->directions, h);
}

/* The sum of weights times what changes when inputs move by h along the directions. */
static double along(void *arg, double h) {
  const Along *s = arg;
  Checker *k = s->k;
  Arena arena = {0};
  const Arrays args = moved_by(k, &arena, k->args[s->what], h);
  Answer a;
  running_call(&k->builds[REFERENCE], &arena, symbols[s->what], args, &a);
  double sum = a.status ? NAN : 0;
  for (int i = 0, w = 0; i < s->base.n && !a.status; i++)
    if (kind_is_float(s->base.at[i].kind)) {
      const int64_t n = array_count(&s->base.at[i]);
      for (int64_t j = 0; j < n; j++)
        sum += array_float(&s->weights.at[w], j) * (array_float(&a.results.at[i], j) - array_float(&s->base.at[i], j));
      w++;
    }
  arena_free(&arena);
  return sum;
}

/* Whether the slope is another within the shortest step of the differences, which then say nothing of it. */
static bool slope_varies(Checker *k, Called derivative, Arrays weights, double slope) {
  Arena arena = {0};
  bool varies = false;
  for (int side = -1; side <= 1; side += 2) {
    Answer a;
    running_call(&k->builds[REFERENCE], &arena, symbols[derivative],
                 moved_by(k, &arena, k->args[derivative], side * 1e-9), &a);
    varies |= a.status || !(fabs(product(tail(a.results, weights.n), weights).value - slope) <= 1e-3 * fabs(slope));
  }
  arena_free(&arena);
  return varies;
}

static void check_slope(Checker *k, Verdict verdict, Called what, Arrays weights, Called derivative) {
  if (k->c->rough || k->c->narrow)
    return;
  Along s = {k, what, weights, k->answers[what].results};
  const Product slope = product(tail(k->answers[derivative].results, weights.n), weights);
  const Product size = product(real_ones(k, s.base), weights);
  Slope found = slope_find(along, &s, slope.value, fmax(slope.magnitude, 1e-3), size.magnitude);
  const bool sure = found.verdict == WRONG_SLOPE && !slope_varies(k, derivative, weights, slope.value);
  if (found.verdict == UNDECIDED || (found.verdict == WRONG_SLOPE && !sure))
    k->undecided = true;
  if (sure)
    report(k, verdict, "%s gives the slope %.12g, differences of %s give %.12g", symbols[derivative], slope.value,
           symbols[what], found.value);
}

/* H t by both compositions, element by element. */
static void check_compositions(Checker *k) {
  const int n = k->directions.n;
  Answer reverse;
  Arrays args = joined(k, k->args[CALL_GRADIENT], k->directions);
  running_call(&k->builds[REFERENCE], &k->arena, symbols[CALL_GRADIENT_VJP], args, &reverse);
  if (reverse.status || k->c->rough)
    return;
  const Arrays a = tail(k->answers[CALL_GRADIENT_JVP].results, n), b = tail(reverse.results, n);
  Noise noise;
  bool known = false;
  for (int r = 0; r < n; r++) {
    const int64_t count = array_count(&a.at[r]);
    for (int64_t i = 0; i < count; i++) {
      if (near(&a.at[r], &b.at[r], i, k->c->coarse))
        continue;
      if (!known)
        noise_of(k, CALL_GRADIENT_JVP, &noise);
      known = true;
      const int at = k->answers[CALL_GRADIENT_JVP].results.n - n + r;
      const Verdict v = noise_judge(&noise, at, i, array_float(&b.at[r], i), k->c->coarse);
      if (v == UNDECIDED)
        k->undecided = true;
      else if (v == WRONG_VALUE)
        report(k, WRONG_SECOND,
               "H t, %d, element %lld: %.17g forward over reverse, %.17g reverse over reverse (rounding: %.1e)", r,
               (long long)i, array_float(&a.at[r], i), array_float(&b.at[r], i), noise.spread[at][i]);
    }
  }
}

static void check_first(Checker *k) {
  const Arrays inputs = real_ones(k, k->args[CALL_F]), results = real_ones(k, k->answers[CALL_F].results);
  k->weights = random_ones(k, results, "weights");
  k->directions = random_ones(k, inputs, "directions");
  k->seeds = random_ones(k, inputs, "seeds");
  if (has(k, CALL_VJP))
    call_reference(k, CALL_VJP, joined(k, k->args[CALL_F], k->weights));
  if (has(k, CALL_ADDED) && good(k, CALL_VJP)) {
    k->called[CALL_ADDED] = true;
    k->args[CALL_ADDED] = k->args[CALL_VJP];
    k->answers[CALL_ADDED] = k->answers[CALL_VJP];
  }
  if (has(k, CALL_JVP))
    call_reference(k, CALL_JVP, joined(k, k->args[CALL_F], k->directions));
  if (good(k, CALL_VJP) && good(k, CALL_JVP))
    check_products(k, WRONG_ADJOINT, CALL_VJP, k->directions, CALL_JVP, k->weights);
  if (good(k, CALL_JVP) && all_finite(k->answers[CALL_JVP].results, 1e8))
    check_slope(k, WRONG_SLOPE, CALL_F, k->weights, CALL_JVP);
}

static void check_second(Checker *k) {
  if (!has(k, CALL_GRADIENT))
    return;
  call_reference(k, CALL_GRADIENT, joined(k, k->args[CALL_F], k->weights));
  if (has(k, CALL_GRADIENT_JVP))
    call_reference(k, CALL_GRADIENT_JVP, joined(k, k->args[CALL_GRADIENT], k->directions));
  if (has(k, CALL_GRADIENT_VJP))
    call_reference(k, CALL_GRADIENT_VJP, joined(k, k->args[CALL_GRADIENT], k->seeds));
  if (!good(k, CALL_GRADIENT_JVP) || !all_finite(k->answers[CALL_GRADIENT_JVP].results, 1e8)) {
    k->undecided = true;
    return;
  }
  check_slope(k, WRONG_SECOND, CALL_GRADIENT, k->seeds, CALL_GRADIENT_JVP);
  if (!good(k, CALL_GRADIENT_VJP))
    return;
  check_products(k, WRONG_SECOND, CALL_GRADIENT_VJP, k->directions, CALL_GRADIENT_JVP, k->seeds);
  check_compositions(k);
}

/* ---- sparse matrices: rows' beginnings, columns, values */
/* The matrix of which `dense` has the elements; false where what is in `a` is none. */
static bool spread(const Array *a, const Array *dense, double *to) {
  const int64_t rows = array_count(&a[0]) - 1, count = array_count(dense), columns = rows > 0 ? count / rows : 0;
  int64_t k = 0;
  memset(to, 0, sizeof *to * (size_t)count);
  if (array_float(&a[0], 0) != 0 || (rows > 0 && array_float(&a[0], rows) > (double)array_count(&a[1])))
    return false;
  for (int64_t i = 0; i < rows; i++) {
    double before = -1;
    for (; k < (int64_t)array_float(&a[0], i + 1); k++) {
      const double column = array_float(&a[1], k);
      if (!(column > before && column < (double)columns))
        return false;
      to[i * columns + (int64_t)column] = array_float(&a[2], k);
      before = column;
    }
  }
  return true;
}

/* The matrices of an answer of the sparse function as the dense one has them; false where one is none. */
static bool spread_all(Checker *k, const Answer *sparse, Arrays dense, Arrays *to) {
  *to = (Arrays){dense.n, NEW_ARRAY(&k->arena, Array, dense.n + 1)};
  for (int r = 0; r < dense.n; r++) {
    const Array *like = &dense.at[r];
    const int64_t n = array_count(like);
    double *all = NEW_ARRAY(&k->arena, double, n + 1);
    if (sparse->status || !spread(&sparse->results.at[3 * r], like, all))
      return false;
    to->at[r] = array_new(&k->arena, like->kind, like->rank, like->dims);
    for (int64_t i = 0; i < n; i++)
      array_set(&to->at[r], i, all[i]);
  }
  return true;
}

/* What moves either of the two. */
static void noise_of_both(Checker *k, Called dense, Arrays made, Noise *noise) {
  Noise of_sparse;
  noise_of(k, dense, noise);
  noise_begin(&k->arena, &of_sparse, made);
  for (int i = 0; i < ROUNDINGS; i++) {
    Answer a;
    Arrays moved;
    round_otherwise(i);
    running_call(&k->builds[REFERENCE], &k->arena, symbols[dense + 1], k->args[dense], &a);
    round_nearest();
    noise_add(&of_sparse, spread_all(k, &a, made, &moved) ? &moved : NULL);
  }
  noise_join(noise, &of_sparse);
}

static void compare_matrices(Checker *k, Called which, Arrays dense, Arrays made) {
  Noise noise;
  bool known = false;
  for (int r = 0; r < dense.n; r++) {
    const int64_t n = array_count(&dense.at[r]);
    for (int64_t i = 0; i < n; i++) {
      const double x = array_float(&made.at[r], i);
      if (near(&dense.at[r], &made.at[r], i, k->c->coarse))
        continue;
      if (!known)
        noise_of_both(k, which, made, &noise);
      known = true;
      const Verdict v = noise_judge(&noise, r, i, x, k->c->coarse);
      if (v == UNDECIDED)
        k->undecided = true;
      else if (v == WRONG_VALUE) {
        report(k, v, "%s, matrix %d, element %lld: %.17g, dense %.17g (rounding moves them by %.1e)",
               symbols[which + 1], r, (long long)i, x, array_float(&dense.at[r], i), noise.spread[r][i]);
        return;
      }
    }
  }
}

static int64_t numbers_in(Arrays a) {
  int64_t n = 0;
  for (int i = 0; i < a.n; i++)
    n += array_count(&a.at[i]);
  return n;
}

/* A dense matrix takes about as long as its columns' function by their number. */
static void check_sparse(Checker *k, Called which, Arrays args, Called column) {
  const double longest = 1;
  if (!has(k, which) || !has(k, (Called)(which + 1)))
    return;
  if (k->seconds[column] * (double)numbers_in(k->directions) > longest) {
    k->undecided = true;
    return;
  }
  call_reference(k, which, args);
  call_reference(k, (Called)(which + 1), args);
  const Answer *dense = &k->answers[which], *sparse = &k->answers[which + 1];
  Arrays made;
  if (sparse->status && !dense->status) /* the other way round: what it reads for nothing is in no slice */
    report(k, WRONG_STATUS, "%s ends with status %d (%s), not so %s", symbols[which + 1], sparse->status,
           sparse->message, symbols[which]);
  else if (dense->status || !all_finite(dense->results, 1e8))
    k->undecided = true;
  else if (sparse->results.n != 3 * dense->results.n)
    report(k, WRONG_VALUE, "%s has %d results, not %d", symbols[which + 1], sparse->results.n, 3 * dense->results.n);
  else if (!spread_all(k, sparse, dense->results, &made))
    report(k, WRONG_VALUE, "%s: rows or columns are out of order or range", symbols[which + 1]);
  else
    compare_matrices(k, which, dense->results, made);
}

static void check_all(Checker *k, const Settings *s) {
  const char *text = case_text(&k->arena, k->c);
  if (!open_way(k, text, REFERENCE))
    return;
  const Export *f = running_export(&k->builds[REFERENCE], "f");
  call_reference(k, CALL_F, arguments_of_f(k, f->func));
  const Answer *a = &k->answers[CALL_F];
  k->undecided = a->status != 0 || !all_finite(a->results, 1e8);
  if (!k->undecided) {
    check_first(k);
    if (good(k, CALL_JVP) && all_finite(k->answers[CALL_JVP].results, 1e8))
      check_second(k);
    else
      k->undecided = true;
    check_sparse(k, CALL_DENSE, k->args[CALL_F], CALL_JVP);
    check_sparse(k, CALL_SECOND_DENSE, joined(k, k->args[CALL_F], k->weights), CALL_GRADIENT_JVP);
  }
  for (Way w = OPTIMISED; w < WAY_COUNT; w++) {
    if ((w == NATIVE_O0 && !s->o0) || (w == NATIVE_O2 && !s->o2))
      continue;
    if (k->out->verdict <= UNDECIDED && open_way(k, text, w))
      compare_way(k, w);
  }
}

void case_check(const Case *c, const Settings *s, Outcome *out) {
  Checker *k = calloc(1, sizeof *k);
  if (!k)
    internal_error("no memory");
  k->c = c;
  k->out = out;
  *out = (Outcome){.verdict = AGREE};
  check_all(k, s);
  if (k->undecided && out->verdict == AGREE)
    out->verdict = UNDECIDED;
  for (Way w = 0; w < WAY_COUNT; w++)
    if (k->open[w])
      running_close(&k->builds[w]);
  arena_free(&k->arena);
  free(k);
}
