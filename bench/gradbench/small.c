/* hello, llsq, lse, det and ode: some numbers, and a value or a gradient of as many. */
#include "det.h"
#include "hello.h"
#include "llsq.h"
#include "lse.h"
#include "ode.h"
#include "problem.h"

typedef struct Small {
  int64_t n;           /* numbers */
  const double *x;     /* they */
  int64_t count;       /* points, the size of a matrix, or steps */
  double number;       /* hello's input */
  double value, *many; /* the outputs */
} Small;

static void *prepare_hello(Reader *in) {
  Small *s = read_room(in, 1, sizeof *s);
  if (s)
    *s = (Small){.number = read_bare_number(in)};
  return s;
}

static void *prepare_vector(Reader *in, const char *name, const char *count_name) {
  Small *s = read_room(in, 1, sizeof *s);
  if (!s)
    return NULL;
  *s = (Small){.n = -1};
  s->x = read_tensor(in, in->input, name, 1, &s->n);
  s->count = count_name ? read_integer(in, count_name, 1) : 0;
  s->many = read_room(in, s->n, sizeof *s->many);
  return s;
}

static void *prepare_llsq(Reader *in) {
  return prepare_vector(in, "x", "n");
}

static void *prepare_lse(Reader *in) {
  return prepare_vector(in, "x", NULL);
}

static void *prepare_ode(Reader *in) {
  Small *s = prepare_vector(in, "x", "s");
  if (!read_failed(in) && s->n == 0)
    read_error(in, "input: 'x' is empty");
  return s;
}

/* The size of a matrix is a constant of the program: a pair of functions for each. */
typedef int Determinant(const double *a, double *result);
static Determinant *const det[] = {NULL, det_1, det_2, det_3, det_4, det_5, det_6, det_7, det_8, det_9, det_10, det_11};
static Determinant *const det_grad[] = {NULL,       det_grad_1, det_grad_2, det_grad_3, det_grad_4,  det_grad_5,
                                        det_grad_6, det_grad_7, det_grad_8, det_grad_9, det_grad_10, det_grad_11};
enum { LARGEST = sizeof det / sizeof *det - 1 };

static void *prepare_det(Reader *in) {
  Small *s = prepare_vector(in, "A", "ell");
  if (!read_failed(in) && s->count > LARGEST)
    read_error(in, "input: 'ell' is greater than %d, the largest size there is a function for", LARGEST);
  if (!read_failed(in) && s->n != s->count * s->count)
    read_error(in, "input: 'A' has not as many numbers as a matrix of size 'ell'");
  return s;
}

static int run_square(void *problem) {
  Small *s = problem;
  return square(s->number, &s->value);
}

static int run_double(void *problem) {
  Small *s = problem;
  return double_by_grad(s->number, &s->value);
}

static int run_llsq(void *problem) {
  Small *s = problem;
  return llsq(s->count, s->n, s->x, &s->value);
}

static int run_llsq_grad(void *problem) {
  Small *s = problem;
  return llsq_grad(s->count, s->n, s->x, s->many);
}

static int run_lse(void *problem) {
  Small *s = problem;
  return lse(s->n, s->x, &s->value);
}

static int run_lse_grad(void *problem) {
  Small *s = problem;
  return lse_grad(s->n, s->x, s->many);
}

static int run_det(void *problem) {
  Small *s = problem;
  return det[s->count](s->x, &s->value);
}

static int run_det_grad(void *problem) {
  Small *s = problem;
  return det_grad[s->count](s->x, s->many);
}

static int run_ode(void *problem) {
  Small *s = problem;
  return ode(s->n, s->x, s->count, s->many);
}

static int run_ode_grad(void *problem) {
  Small *s = problem;
  return ode_grad(s->n, s->x, s->count, s->many);
}

static void print_value(const void *problem, FILE *to) {
  const Small *s = problem;
  json_write_number(to, s->value);
}

static void print_many(const void *problem, FILE *to) {
  const Small *s = problem;
  json_write_tensor(to, s->many, 1, &s->n);
}

const Function small_functions[] = {
    {"hello", "square", prepare_hello, run_square, print_value},
    {"hello", "double", prepare_hello, run_double, print_value},
    {"llsq", "primal", prepare_llsq, run_llsq, print_value},
    {"llsq", "gradient", prepare_llsq, run_llsq_grad, print_many},
    {"lse", "primal", prepare_lse, run_lse, print_value},
    {"lse", "gradient", prepare_lse, run_lse_grad, print_many},
    {"det", "primal", prepare_det, run_det, print_value},
    {"det", "gradient", prepare_det, run_det_grad, print_many},
    {"ode", "primal", prepare_ode, run_ode, print_many},
    {"ode", "gradient", prepare_ode, run_ode_grad, print_many},
    {0},
};
