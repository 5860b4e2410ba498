/* The C interface as a user meets it: every size from 0 up, outputs that are not wanted, a caller's workspace of
   exactly the size asked for and of less, every status with its text, several threads.  Arrays are on the heap
   and of their exact size, so that a checker of memory sees what strays.  Prints nothing but what is wrong. */
#include "interface.h"
#include "gradc.h"
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int nfailed;
#define EXPECT(condition, ...) \
  do { \
    if (!(condition)) { \
      nfailed++; \
      printf("line %d: ", __LINE__); \
      printf(__VA_ARGS__); \
      putchar('\n'); \
    } \
  } while (0)

typedef struct Problem {
  int64_t d, n;
  double *w, *x, b;
  int32_t *idx;
} Problem;

typedef struct Answer {
  double *loss, *pred, *d_w, *d_b, *d_x;
} Answer;

static double *array(int64_t n) {
  double *x = malloc((size_t)n * sizeof *x); /* of no elements: any access is a fault */
  for (int64_t i = 0; i < n; i++)
    x[i] = NAN;
  return x;
}

static Problem problem_new(int64_t d, int64_t n) {
  Problem p = {.d = d, .n = n, .w = array(d), .x = array(n * d), .b = 0.25};
  p.idx = malloc((size_t)n * sizeof *p.idx);
  for (int64_t i = 0; i < d; i++)
    p.w[i] = sin(1.5 * (double)i);
  for (int64_t i = 0; i < n * d; i++)
    p.x[i] = cos(0.7 * (double)i);
  for (int64_t i = 0; i < n; i++)
    p.idx[i] = (int32_t)(7 * i % d);
  return p;
}

static void problem_free(Problem *p) {
  free(p->w);
  free(p->x);
  free(p->idx);
}

/* Those of the five outputs whose bit is set. */
static Answer answer_new(const Problem *p, unsigned wanted) {
  return (Answer){wanted & 1 ? array(1) : NULL, wanted & 2 ? array(p->n) : NULL, wanted & 4 ? array(p->d) : NULL,
                  wanted & 8 ? array(1) : NULL, wanted & 16 ? array(p->n * p->d) : NULL};
}

static void answer_free(Answer *a) {
  free(a->loss);
  free(a->pred);
  free(a->d_w);
  free(a->d_b);
  free(a->d_x);
}

static int near(const double *a, const double *b, int64_t n) {
  for (int64_t i = 0; a && i < n; i++)
    if (!(fabs(a[i] - b[i]) <= 1e-12 * fmax(1, fabs(b[i]))))
      return 0;
  return 1;
}

static int answer_near(const Problem *p, const Answer *a, const Answer *b) {
  return near(a->loss, b->loss, 1) && near(a->pred, b->pred, p->n) && near(a->d_w, b->d_w, p->d) &&
         near(a->d_b, b->d_b, 1) && near(a->d_x, b->d_x, p->n * p->d);
}

/* The same by hand. */
static void by_hand(const Problem *p, Answer *a) {
  *a->loss = *a->d_b = 0;
  for (int64_t j = 0; j < p->d; j++)
    a->d_w[j] = 0;
  for (int64_t i = 0; i < p->n; i++) {
    double z = p->b;
    for (int64_t j = 0; j < p->d; j++)
      z += p->x[i * p->d + j] * p->w[j];
    const double s = 1 / (1 + exp(-z)), r = s - p->w[p->idx[i]], z_bar = 2 * r * s * (1 - s);
    a->pred[i] = s;
    *a->loss += r * r;
    *a->d_b += z_bar;
    a->d_w[p->idx[i]] -= 2 * r;
    for (int64_t j = 0; j < p->d; j++) {
      a->d_w[j] += z_bar * p->x[i * p->d + j];
      a->d_x[i * p->d + j] = z_bar * p->w[j];
    }
  }
}

static int call(const Problem *p, const Answer *a) {
  return loss_grad(p->d, p->n, p->w, p->b, p->x, p->idx, a->loss, a->pred, a->d_w, a->d_b, a->d_x);
}

static void check_size(int64_t d, int64_t n) {
  Problem p = problem_new(d, n);
  Answer right = answer_new(&p, 31);
  by_hand(&p, &right);
  for (unsigned wanted = 0; wanted < 32; wanted++) {
    Answer a = answer_new(&p, wanted);
    const int status = call(&p, &a);
    EXPECT(status == 0 && answer_near(&p, &a, &right), "d = %d, n = %d, outputs %u: status %d", (int)d, (int)n, wanted,
           status);
    answer_free(&a);
  }
  Answer a = answer_new(&p, 31);
  const int64_t size = loss_grad_worksize(d, n);
  char *work = malloc((size_t)size);
  int status = loss_grad_ws(d, n, p.w, p.b, p.x, p.idx, a.loss, a.pred, a.d_w, a.d_b, a.d_x, size ? work : NULL, size);
  EXPECT(status == 0 && answer_near(&p, &a, &right), "d = %d, n = %d, own workspace: status %d", (int)d, (int)n,
         status);
  for (int64_t less = size / 2; less > 0; less /= 2) { /* shorter than asked for: it may do, or it is told */
    char *part = malloc((size_t)less);
    status = loss_grad_ws(d, n, p.w, p.b, p.x, p.idx, a.loss, NULL, a.d_w, NULL, NULL, part, less);
    EXPECT((status == 0 && answer_near(&p, &a, &right)) || status == GRADC_NO_MEMORY, "%d bytes: status %d", (int)less,
           status);
    free(part);
  }
  for (int64_t j = 0; j < d; j++) /* twice what is there, by adding once more */
    right.d_w[j] *= 2, a.d_w[j] = right.d_w[j] / 2;
  for (int64_t j = 0; j < n * d; j++)
    right.d_x[j] *= 2, a.d_x[j] = right.d_x[j] / 2;
  *a.d_b = *right.d_b, *right.d_b *= 2;
  status = loss_add(d, n, p.w, p.b, p.x, p.idx, a.loss, a.pred, a.d_w, a.d_b, a.d_x);
  EXPECT(status == 0 && answer_near(&p, &a, &right), "d = %d, n = %d, accumulate: status %d", (int)d, (int)n, status);
  free(work);
  answer_free(&a);
  answer_free(&right);
  problem_free(&p);
}

static void expect_error(int line, int status, int wanted, const char *text) {
  if (status == wanted && strstr(gradc_last_error(), text))
    return;
  nfailed++;
  printf("line %d: status %d, '%s'\n", line, status, gradc_last_error());
}
#define EXPECT_ERROR(call, status, text) expect_error(__LINE__, call, status, text)

static void check_statuses(void) {
  double x[4] = {1, 2, 3, 4}, value, d_x, d_limit, out[4];
  int64_t where;
  Problem p = problem_new(2, 3);
  Answer a = answer_new(&p, 31);
  p.idx[1] = 2;
  EXPECT_ERROR(call(&p, &a), GRADC_OUT_OF_RANGE, "interface.ad:4: ");
  p.idx[1] = -1;
  EXPECT_ERROR(call(&p, &a), GRADC_OUT_OF_RANGE, "interface.ad:4: ");
  p.idx[1] = 0;
  EXPECT(call(&p, &a) == 0, "the call after an error");
  EXPECT_ERROR(loss_grad(2, 5000, p.w, p.b, p.x, p.idx, a.loss, a.pred, a.d_w, a.d_b, a.d_x), GRADC_REQUIRE,
               "interface.ad:2: too many samples");
  EXPECT_ERROR(grow_grad(-1, 10, &value, &d_x, &d_limit), GRADC_REQUIRE, "interface.ad:8: x must be positive");
  EXPECT_ERROR(grow_grad_ws(1, 1e30, &value, &d_x, &d_limit, NULL, 0), GRADC_NO_MEMORY, "");
  EXPECT(grow_grad(1, 10, &value, &d_x, &d_limit) == 0 && value >= 10 && d_x != 0 && d_limit == 0, "grow: %g %g", value,
         d_x);
  EXPECT(drop(1, 4, x, out) == 0 && out[0] == 4 && out[2] == 8, "drop");
  EXPECT(drop(4, 4, x, NULL) == 0, "drop all");
  EXPECT_ERROR(drop(5, 4, x, out), GRADC_BAD_SIZE, "interface.ad:");
  EXPECT_ERROR(drop(-1, 4, x, out), GRADC_BAD_SIZE, "interface.ad:");
  EXPECT_ERROR(loss(-1, 3, p.w, p.b, p.x, p.idx, a.loss, a.pred), GRADC_BAD_SIZE, "interface.ad:");
  EXPECT_ERROR(loss(INT64_MAX / 2, 3, p.w, p.b, p.x, p.idx, a.loss, a.pred), GRADC_BAD_SIZE, "");
  EXPECT(best(4, x, &where, &value) == 0 && where == 3 && value == 4, "best");
  EXPECT_ERROR(best(0, x, &where, &value), GRADC_OUT_OF_RANGE, "interface.ad:21: ");
  EXPECT(divide(7, -2, &where) == 0 && where == -3, "divide: %d", (int)where);
  EXPECT(divide(7, 0, &where) != 0 && strstr(gradc_last_error(), "interface.ad:26: "), "divide by zero: '%s'",
         gradc_last_error());
  answer_free(&a);
  problem_free(&p);
}

/* Each thread its own problem, over and over; an error in one is not seen by the others. */
static void *run_thread(void *arg) {
  const int64_t n = *(const int *)arg;
  Problem p = problem_new(5, n);
  Answer a = answer_new(&p, 31), right = answer_new(&p, 31);
  by_hand(&p, &right);
  double value, d_x, d_limit;
  for (int i = 0; i < 50; i++) {
    EXPECT(call(&p, &a) == 0 && answer_near(&p, &a, &right), "in thread %d", (int)n);
    if (n % 2)
      EXPECT_ERROR(grow_grad(-1, 10, &value, &d_x, &d_limit), GRADC_REQUIRE, "interface.ad:8: ");
    else
      EXPECT(!*gradc_last_error(), "another thread's error: %s", gradc_last_error());
  }
  gradc_release();
  answer_free(&a);
  answer_free(&right);
  problem_free(&p);
  return NULL;
}

int main(void) {
  static const int64_t sizes[] = {0, 1, 2, 3, 7, 8, 9, 31, 33, 1000, 4999};
  check_size(0, 0);
  for (int64_t d = 1; d < 11; d += d < 5 ? 1 : 5)
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
      check_size(d, sizes[i]);
  check_size(1000, 3);
  pthread_t threads[4];
  int ns[4] = {100, 101, 102, 103};
  for (int i = 0; i < 4; i++)
    if (pthread_create(&threads[i], NULL, run_thread, &ns[i]))
      return 2;
  for (int i = 0; i < 4; i++)
    pthread_join(threads[i], NULL);
  check_statuses();
  gradc_release();
  return nfailed != 0;
}
