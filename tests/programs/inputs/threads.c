/* Calls of threads.ad, whose results must have the same bits on any number of threads: one after the other, from many
   threads at once, in short workspaces, with failures, with outputs that are not wanted, after gradc_release and a fork.
   SMALL: problems that are quick under a checker. */
#include "gradc.h"
#include "threads.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXPECT(condition, ...) \
  do { \
    if (!(condition)) { \
      fprintf(stderr, "%s:%d: not so: %s: ", __FILE__, __LINE__, #condition); \
      fprintf(stderr, __VA_ARGS__); \
      fprintf(stderr, " (last error: %s)\n", gradc_last_error()); \
      exit(1); \
    } \
  } while (0)

#ifdef SMALL
enum { N = 3000, ROUNDS = 2 };
#else
enum { N = 20011, ROUNDS = 5 };
#endif
enum { CAMERAS = 7, POINTS = 211, STEPS = 6, HIDDEN = 9, INPUTS = 5, MOST = 4 * N };

typedef struct Data {
  double x[N * INPUTS], seen[2 * N], camera[CAMERAS * 4], point[POINTS * 3], w[HIDDEN * INPUTS], v[HIDDEN];
  int64_t of[N], at[N];
} Data;

/* All that a function gives, one after the other. */
typedef struct Answer {
  double at[MOST];
  int n, status;
} Answer;

static Data data;

static void fill(double *x, int n, double from, double to, unsigned *seed) {
  for (int i = 0; i < n; i++) {
    *seed = *seed * 1664525u + 1013904223u;
    x[i] = from + (to - from) * (*seed >> 8) / 16777216.0;
  }
}

static void prepare(void) {
  unsigned seed = 1;
  fill(data.x, N * INPUTS, 0.1, 2, &seed);
  fill(data.seen, 2 * N, -1, 1, &seed);
  fill(data.camera, CAMERAS * 4, -1, 1, &seed);
  fill(data.point, POINTS * 3, -1, 1, &seed);
  fill(data.w, HIDDEN * INPUTS, -1, 1, &seed);
  fill(data.v, HIDDEN, -1, 1, &seed);
  for (int i = 0; i < N; i++) {
    data.of[i] = (i * 31 + i / 7) % CAMERAS;
    data.at[i] = (i * 17 + i / 3) % POINTS;
  }
}

static double *take(Answer *a, int n) {
  double *at = a->at + a->n;
  a->n += n;
  return at;
}

/* ---- the functions, over n of the data; `work` NULL: the runtime's own */
typedef int64_t Worksize(int64_t n);
typedef void Call(int64_t n, Answer *a, void *work, int64_t bytes);

#define CALL(f, ...) (work ? f##_ws(__VA_ARGS__, work, bytes) : f(__VA_ARGS__))

static int64_t size_of_residuals(int64_t n) {
  return residuals_grad_worksize(CAMERAS, POINTS, n);
}
static void call_residuals(int64_t n, Answer *a, void *work, int64_t bytes) {
  double *value = take(a, 1), *d_camera = take(a, CAMERAS * 4), *d_point = take(a, POINTS * 3);
  a->status = CALL(residuals_grad, CAMERAS, POINTS, n, data.camera, data.point, data.of, data.at, data.seen, value,
                   d_camera, d_point);
}

static int64_t size_of_partly(int64_t n) {
  return residuals_grad_worksize(CAMERAS, POINTS, n);
}
static void call_partly(int64_t n, Answer *a, void *work, int64_t bytes) {
  double *d_point = take(a, POINTS * 3);
  a->status = CALL(residuals_grad, CAMERAS, POINTS, n, data.camera, data.point, data.of, data.at, data.seen, NULL,
                   NULL, d_point);
}

static int64_t size_of_reductions(int64_t n) {
  return reductions_worksize(n);
}
static void call_reductions(int64_t n, Answer *a, void *work, int64_t bytes) {
  double *v = take(a, 6), *y = take(a, (int)n);
  uint8_t every = 2, some = 2;
  a->status = CALL(reductions, n, data.x, 1.3, &v[0], &v[1], &v[2], &v[3], &every, &some, y);
  v[4] = every;
  v[5] = some;
}

static int64_t size_of_heat(int64_t n) {
  return heat_grad_worksize(n, STEPS);
}
static void call_heat(int64_t n, Answer *a, void *work, int64_t bytes) {
  double *value = take(a, 2), *d_start = take(a, (int)n);
  a->status = CALL(heat_grad, n, data.x, 0.1, STEPS, value, d_start, value + 1);
}

static int64_t size_of_network(int64_t n) {
  return network_grad_worksize(HIDDEN, INPUTS, n);
}
static void call_network(int64_t n, Answer *a, void *work, int64_t bytes) {
  double *value = take(a, 1), *d_w = take(a, HIDDEN * INPUTS), *d_v = take(a, HIDDEN);
  a->status = CALL(network_grad, HIDDEN, INPUTS, n, data.w, data.v, data.x, data.seen, value, d_w, d_v);
}

static int64_t size_of_product(int64_t n) {
  return network_hvp_worksize(HIDDEN, INPUTS, n);
}
static void call_product(int64_t n, Answer *a, void *work, int64_t bytes) {
  double *hv = take(a, HIDDEN);
  a->status = CALL(network_hvp, HIDDEN, INPUTS, n, data.w, data.v, data.x, data.seen, data.v, hv);
}

static int64_t size_of_roots(int64_t n) {
  return roots_grad_worksize(n) + 100000; /* and the tape, which no size bounds */
}
static void call_roots(int64_t n, Answer *a, void *work, int64_t bytes) {
  double *value = take(a, 1), *d_x = take(a, (int)n);
  a->status = CALL(roots_grad, n, data.x, value, d_x);
}

static int64_t size_of_picked(int64_t n) {
  return picked_worksize(N, n);
}
static void call_picked(int64_t n, Answer *a, void *work, int64_t bytes) {
  a->status = CALL(picked, N, n, data.x, data.at, take(a, (int)n));
}

static const struct {
  const char *name;
  Call *call;
  Worksize *size;
} calls[] = {{"residuals", call_residuals, size_of_residuals},    {"partly", call_partly, size_of_partly},
             {"reductions", call_reductions, size_of_reductions}, {"heat", call_heat, size_of_heat},
             {"network", call_network, size_of_network},          {"product", call_product, size_of_product},
             {"roots", call_roots, size_of_roots},                {"picked", call_picked, size_of_picked}};
enum { CALLS = sizeof calls / sizeof *calls };

static const int64_t sizes[] = {0, 1, 2, 3, 17, 1000, N - 1, N};
enum { SIZES = sizeof sizes / sizeof *sizes };
static Answer right[CALLS][SIZES];

static Answer *call(int f, int64_t n, void *work, int64_t bytes) {
  Answer *a = malloc(sizeof *a);
  EXPECT(a, "memory");
  memset(a, 255, sizeof *a);
  a->n = 0;
  calls[f].call(n, a, work, bytes);
  return a;
}

static void compare(int f, int s, Answer *a, const char *when) {
  const Answer *r = &right[f][s];
  EXPECT(a->status == 0, "%s of %d, %s", calls[f].name, (int)sizes[s], when);
  for (int i = 0; i < r->n; i++)
    EXPECT(!memcmp(&a->at[i], &r->at[i], sizeof(double)), "%s of %d, %s: number %d is %.17g, not %.17g",
           calls[f].name, (int)sizes[s], when, i, a->at[i], r->at[i]);
  free(a);
}

/* ---- */
static void same_on_any_number(void) {
  static const int threads[] = {1, 2, 3, 8, 0, 1};
  for (int t = 0; t < 6; t++) {
    char when[30];
    snprintf(when, sizeof when, "%d threads", threads[t]);
    gradc_set_threads(threads[t]);
    for (int f = 0; f < CALLS; f++)
      for (int s = 0; s < SIZES; s++)
        compare(f, s, call(f, sizes[s], NULL, 0), when);
  }
}

/* The answers that all others are compared with; they are near those of few blocks, which a reader can check. */
static void first_answers(void) {
  gradc_set_threads(1);
  for (int f = 0; f < CALLS; f++)
    for (int s = 0; s < SIZES; s++) {
      Answer *a = call(f, sizes[s], NULL, 0);
      EXPECT(a->status == 0, "%s of %d", calls[f].name, (int)sizes[s]);
      right[f][s] = *a;
      free(a);
    }
}

/* A workspace of just the size asked for, and what is reckoned with more threads than it was asked for: fewer then take
   part. Nothing is written beside it. */
static void workspaces(void) {
  for (int f = 0; f < CALLS; f++)
    for (int asked = 1; asked <= 8; asked += 3) {
      const int s = SIZES - 1;
      gradc_set_threads(asked);
      const int64_t bytes = calls[f].size(sizes[s]);
      gradc_set_threads(8);
      EXPECT(calls[f].size(sizes[s]) >= bytes, "%s", calls[f].name);
      char *work = malloc((size_t)bytes + 200);
      EXPECT(work, "memory");
      memset(work, 77, (size_t)bytes + 200);
      compare(f, s, call(f, sizes[s], work + 100, bytes), "workspace");
      for (int i = 0; i < 100; i++)
        EXPECT(work[i] == 77 && work[100 + bytes + i] == 77, "%s writes beside its workspace", calls[f].name);
      free(work);
    }
  gradc_set_threads(1);
  const int64_t least = network_grad_worksize(HIDDEN, INPUTS, N);
  gradc_set_threads(8);
  char *work = malloc((size_t)least);
  EXPECT(work && least > 1000, "%d bytes", (int)least);
  Answer *a = call(4, N, work, 600);
  EXPECT(a->status == GRADC_NO_MEMORY, "status %d", a->status);
  free(a);
  free(work);
}

/* The first in order, on any number of threads. */
static void failures(void) {
  static const int bad[] = {0, 5, N / 2, N - 1};
  char first[300];
  for (int b = 0; b < 4; b++)
    for (int t = 1; t <= 8; t = t == 2 ? 8 : t + 1) {
      const int64_t was[] = {data.at[bad[b]], data.at[N - 1]};
      data.at[N - 1] = N + 1;
      data.at[bad[b]] = N + 7;
      gradc_set_threads(t);
      Answer *a = call(7, N, NULL, 0);
      EXPECT(a->status == GRADC_OUT_OF_RANGE, "status %d", a->status);
      snprintf(first, sizeof first, "index %d is out of range for an axis of %d", N + 7, N);
      EXPECT(strstr(gradc_last_error(), first), "instead of '%s'", first);
      free(a);
      data.at[N - 1] = was[1];
      data.at[bad[b]] = was[0];
    }
  const double was = data.x[data.at[N / 3]];
  data.x[data.at[N / 3]] = -1;
  Answer *a = call(7, N, NULL, 0);
  EXPECT(a->status == GRADC_REQUIRE && strstr(gradc_last_error(), "a negative number"), "status %d", a->status);
  free(a);
  data.x[data.at[N / 3]] = was;
  compare(7, SIZES - 1, call(7, N, NULL, 0), "after failures");
}

/* ---- many callers at once, one of which ends the workers and changes their number now and then */
static void *caller(void *number) {
  const int me = (int)(intptr_t)number;
  for (int i = 0; i < ROUNDS; i++)
    for (int f = 0; f < CALLS; f++) {
      const int s = SIZES - 1 - (me + i) % 3;
      compare((f + me) % CALLS, s, call((f + me) % CALLS, sizes[s], NULL, 0), "many callers");
      if (me == 0 && f % 3 == 0)
        gradc_release();
      if (me == 1)
        gradc_set_threads(1 + (f + i) % 5);
    }
  return NULL;
}

static void many_callers(void) {
  pthread_t threads[4];
  gradc_set_threads(3);
  for (int i = 0; i < 4; i++)
    EXPECT(!pthread_create(&threads[i], NULL, caller, (void *)(intptr_t)i), "pthread_create");
  for (int i = 0; i < 4; i++)
    pthread_join(threads[i], NULL);
}

static void fork_and_call(void) {
  fflush(NULL);
  gradc_set_threads(4);
  compare(4, SIZES - 1, call(4, N, NULL, 0), "before a fork");
  const pid_t child = fork();
  if (!child) {
    compare(4, SIZES - 1, call(4, N, NULL, 0), "in the child of a fork");
    gradc_release();
    compare(4, SIZES - 1, call(4, N, NULL, 0), "in the child of a fork, after gradc_release");
    exit(0);
  }
  int status = 1;
  EXPECT(child > 0 && waitpid(child, &status, 0) == child && status == 0, "the child: %d", status);
  compare(4, SIZES - 1, call(4, N, NULL, 0), "after a fork");
}

int main(void) {
  prepare();
  first_answers();
  same_on_any_number();
  workspaces();
  failures();
  many_callers();
  if (N > 10000)
    fork_and_call();
  gradc_release();
  compare(0, SIZES - 1, call(0, N, NULL, 0), "after gradc_release");
  gradc_release();
  return 0;
}
