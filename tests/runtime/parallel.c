// RUN: %cc %s -o %t %libs -lpthread && %t
// RUN: %if valgrind && !asan %{ valgrind -q --error-exitcode=9 --leak-check=full %t quick %}
// RUN: cd %root/runtime
// RUN: %if tsan && !asan %{ %cc -fsanitize=thread -g %s pool.c threads.c status.c workspace.c growing.c -o %t-tsan %}
// RUN: %if tsan && !asan %{ %t-tsan quick %}
// Parallel calls: every block once, each lane its own workspace, failures, callers side by side, what a block pushes,
// nesting, release, fork.
#define _DEFAULT_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"
#include "internal.h"

enum { BLOCKS = 40, STRIDE = 64 };

typedef struct Job {
  int runs[BLOCKS];
  int64_t sums[BLOCKS];
  int first_bad, second_bad; // blocks that fail; -1: none
  int nap;                   // microseconds that a block takes
  int pushes;
} Job;

static _Alignas(64) char context[GRADC_CONTEXT_BYTES];

static void *open_for(int64_t lanes, void *at, int may_allocate) {
  gradc_rt_open(at, NULL, 0, may_allocate);
  ((GradcContext *)at)->lanes = lanes;
  return at;
}

static int32_t block(void *arguments, int64_t number, void *work, void *own) {
  Job *job = arguments;
  int64_t *scratch = work;
  if (((GradcContext *)own)->lanes != 1)
    return 99;
  job->runs[number]++;
  *scratch = 0;
  void *mark = gradc_rt_mark(own);
  for (int i = 0; i <= 1000; i++) {
    *scratch += i * number; // wrong where two lanes share it
    if (job->pushes && i % 100 == 0) {
      int64_t *pushed = gradc_rt_push(own, 5000);
      if (!pushed)
        return gradc_rt_fail_memory("p.ad", 1, 5000);
      memset(pushed, 1, 5000);
    }
  }
  gradc_rt_pop(own, mark);
  job->sums[number] = *scratch;
  if (job->nap)
    usleep((unsigned)job->nap);
  if (number == job->first_bad || number == job->second_bad)
    return gradc_rt_fail_index("p.ad", (int32_t)number, number, 1);
  return 0;
}

static int right(const Job *job, int64_t blocks) {
  for (int64_t i = 0; i < BLOCKS; i++)
    if (job->runs[i] != (i < blocks) || job->sums[i] != (i < blocks ? i * 500500 : 0))
      return 0;
  return 1;
}

static void counts(void) {
  char work[8 * STRIDE];
  for (int64_t lanes = 1; lanes <= 8; lanes++)
    for (int64_t blocks = 0; blocks <= BLOCKS; blocks += 1 + blocks / 3) {
      Job job = {.first_bad = -1, .second_bad = -1};
      EXPECT(gradc_rt_parallel(block, &job, blocks, open_for(lanes, context, 1), work, STRIDE, 0) == 0);
      EXPECT(right(&job, blocks));
      EXPECT(((GradcContext *)context)->lanes == lanes);
    }
}

// The first in order, whichever comes first in time.
static void failures(void) {
  char work[8 * STRIDE];
  for (int64_t lanes = 1; lanes <= 4; lanes++)
    for (int i = 0; i < 20; i++) {
      Job job = {.first_bad = i, .second_bad = 20, .nap = i % 2 ? 50 : 0};
      EXPECT(gradc_rt_parallel(block, &job, BLOCKS, open_for(lanes, context, 1), work, STRIDE, 0) ==
             GRADC_OUT_OF_RANGE);
      char text[100];
      snprintf(text, sizeof text, "p.ad:%d: index %d is out of range for an axis of 1", i, i);
      EXPECT_TEXT(gradc_last_error(), text);
      for (int k = 0; k <= i; k++)
        EXPECT(job.runs[k] == 1);
    }
}

static void pushes(void) {
  char work[4 * STRIDE];
  for (int64_t lanes = 1; lanes <= 4; lanes++) {
    Job job = {.first_bad = -1, .second_bad = -1, .pushes = 1};
    EXPECT(gradc_rt_parallel(block, &job, BLOCKS, open_for(lanes, context, 1), work, STRIDE, 1) == 0);
    EXPECT(right(&job, BLOCKS));
    gradc_rt_close(context);
  }
  // Nothing may be allocated: all run on this thread, out of the caller's buffer.
  static _Alignas(64) char buffer[64 << 10];
  Job job = {.first_bad = -1, .second_bad = -1, .pushes = 1};
  gradc_rt_open(context, buffer, sizeof buffer, 0);
  ((GradcContext *)context)->lanes = 4;
  EXPECT(gradc_rt_parallel(block, &job, BLOCKS, context, work, STRIDE, 1) == 0);
  EXPECT(right(&job, BLOCKS));
  gradc_rt_open(context, buffer, 5000, 0);
  EXPECT(gradc_rt_parallel(block, &job, BLOCKS, context, work, STRIDE, 1) == GRADC_NO_MEMORY);
}

static int rounds = 300;

static void *caller(void *release) { // release: whether to end the workers now and then
  _Alignas(64) char own[GRADC_CONTEXT_BYTES], work[4 * STRIDE];
  for (int i = 0; i < rounds; i++) {
    Job job = {.first_bad = i % 7 == 0 ? i % BLOCKS : -1, .second_bad = -1};
    int32_t status = gradc_rt_parallel(block, &job, BLOCKS, open_for(4, own, 1), work, STRIDE, 0);
    EXPECT(status == (i % 7 == 0 ? GRADC_OUT_OF_RANGE : 0));
    EXPECT(status || right(&job, BLOCKS));
    if (release && i % 50 == 0)
      gradc_release();
  }
  return NULL;
}

static void callers(void) {
  pthread_t threads[4];
  int release;
  for (int i = 0; i < 4; i++)
    EXPECT(pthread_create(&threads[i], NULL, caller, i == 0 ? &release : NULL) == 0);
  for (int i = 0; i < 4; i++)
    pthread_join(threads[i], NULL);
}

static int32_t nested_block(void *arguments, int64_t number, void *work, void *own) {
  (void)work;
  char inner[STRIDE];
  gradc_release(); // of no effect on the call under way
  return gradc_rt_parallel(block, (Job *)arguments + number, BLOCKS, own, inner, STRIDE, 0);
}

static void nesting(void) {
  static Job jobs[6];
  char work[8 * STRIDE];
  for (int i = 0; i < 6; i++)
    jobs[i] = (Job){.first_bad = -1, .second_bad = -1};
  EXPECT(gradc_rt_parallel(nested_block, jobs, 6, open_for(3, context, 1), work, STRIDE, 0) == 0);
  for (int i = 0; i < 6; i++)
    EXPECT(right(&jobs[i], BLOCKS));
}

// The child has no workers, and begins its own.
static void forking(void) {
  counts();
  pid_t child = fork();
  if (!child) {
    counts();
    caller(NULL);
    _exit(0);
  }
  int status = 1;
  EXPECT(child > 0 && waitpid(child, &status, 0) == child && status == 0);
  counts();
}

int main(int argc, char **argv) {
  (void)argv;
  const int quick = argc > 1;
  rounds = quick ? 60 : 300;
  counts();
  failures();
  pushes();
  callers();
  nesting();
  if (!quick)
    forking();
  gradc_release();
  counts();
  gradc_release();
  return 0;
}
