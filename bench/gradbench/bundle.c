/* ba: one camera, point, weight and feature in the message stand for all. */
#include "ba.h"
#include "problem.h"

enum { CAMERA = 11, POINT = 3, FEATURE = 2, SHOWN = 30 };

typedef struct Bundle {
  int64_t n, m, p;
  const double *cams, *points, *w, *feats;
  double *reprojection, *weight_error;
  int64_t entries, *rows, *cols;
  double *vals;
} Bundle;

static double *repeat(Reader *in, const double *of, int64_t size, int64_t times) {
  double *all = read_room(in, times, (size_t)size * sizeof *all);
  for (int64_t i = 0; all && i < times; i++)
    for (int64_t j = 0; j < size; j++)
      all[i * size + j] = of[j];
  return all;
}

static void *prepare_inputs(Reader *in) {
  Bundle *b = read_room(in, 1, sizeof *b);
  if (!b)
    return NULL;
  *b = (Bundle){.n = read_integer(in, "n", 1), .m = read_integer(in, "m", 1), .p = read_integer(in, "p", 1)};
  const double *cam = read_tensor(in, in->input, "cam", 1, (int64_t[]){CAMERA});
  const double *point = read_tensor(in, in->input, "x", 1, (int64_t[]){POINT});
  const double *feat = read_tensor(in, in->input, "feat", 1, (int64_t[]){FEATURE});
  const double w = read_number(in, "w");
  b->cams = repeat(in, cam, CAMERA, b->n);
  b->points = repeat(in, point, POINT, b->m);
  b->feats = repeat(in, feat, FEATURE, b->p);
  b->w = repeat(in, &w, 1, b->p);
  return b;
}

static void *prepare_objective(Reader *in) {
  Bundle *b = prepare_inputs(in);
  if (read_failed(in))
    return NULL;
  b->reprojection = read_room(in, b->p, FEATURE * sizeof *b->reprojection);
  b->weight_error = read_room(in, b->p, sizeof *b->weight_error);
  return b;
}

static void *prepare_jacobian(Reader *in) {
  Bundle *b = prepare_inputs(in);
  if (read_failed(in))
    return NULL;
  b->entries = (FEATURE * (CAMERA + POINT + 1) + 1) * b->p;
  b->rows = read_room(in, 3 * b->p + 1, sizeof *b->rows);
  b->cols = read_room(in, b->entries, sizeof *b->cols);
  b->vals = read_room(in, b->entries, sizeof *b->vals);
  return b;
}

static int run_objective(void *problem) {
  Bundle *b = problem;
  return ba(b->n, b->m, b->p, b->cams, b->points, b->w, b->feats, b->reprojection, b->weight_error);
}

static int run_jacobian(void *problem) {
  Bundle *b = problem;
  return ba_jacobian(b->n, b->m, b->p, b->cams, b->points, b->w, b->feats, b->rows, b->cols, b->vals);
}

static void print_objective(const void *problem, FILE *to) {
  const Bundle *b = problem;
  fputs("{\"reproj_error\":{\"elements\":", to);
  json_write_tensor(to, b->reprojection, 1, (int64_t[]){FEATURE});
  fprintf(to, ",\"repeated\":%lld},\"w_err\":{\"element\":", (long long)b->p);
  json_write_number(to, b->weight_error[0]);
  fprintf(to, ",\"repeated\":%lld}}", (long long)b->p);
}

static void print_integers(const char *name, const int64_t *x, int64_t n, FILE *to) {
  fprintf(to, "\"%s\":[", name);
  for (int64_t i = 0; i < n && i < SHOWN; i++)
    fprintf(to, "%lld,", (long long)x[i]);
  fprintf(to, "%lld],", (long long)x[n - 1]);
}

/* The first elements, and the last. */
static void print_jacobian(const void *problem, FILE *to) {
  const Bundle *b = problem;
  putc('{', to);
  print_integers("rows", b->rows, 3 * b->p + 1, to);
  print_integers("cols", b->cols, b->entries, to);
  fputs("\"vals\":[", to);
  for (int64_t i = 0; i < b->entries && i < SHOWN; i++) {
    json_write_number(to, b->vals[i]);
    putc(',', to);
  }
  json_write_number(to, b->vals[b->entries - 1]);
  fputs("]}", to);
}

const Function bundle_functions[] = {
    {"ba", "objective", prepare_objective, run_objective, print_objective},
    {"ba", "jacobian", prepare_jacobian, run_jacobian, print_jacobian},
    {0},
};
