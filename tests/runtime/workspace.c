// RUN: %cc %s -o %t %libs -lpthread
// RUN: env ASAN_OPTIONS=allocator_may_return_null=1 %t
// RUN: %if valgrind && !asan %{ valgrind -q --error-exitcode=9 --leak-check=full %t %}
// Workspaces: alignment, nesting, reuse, growth, failure, and threads that end.
#include <pthread.h>
#include <setjmp.h>

#include "expect.h"
#include "internal.h"

static int aligned(const void *pointer) {
  return pointer && (uintptr_t)pointer % 64 == 0;
}

static void sizes(void) {
  static const int64_t bytes[] = {0, 1, 63, 64, 65, 1000, 100000, 3 << 20};
  for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
    char *workspace = gradc_rt_acquire(bytes[i]);
    EXPECT(aligned(workspace));
    memset(workspace, 1, (size_t)bytes[i]);
    gradc_rt_release(workspace);
  }
  gradc_rt_release(NULL);
}

static void failures(void) {
  EXPECT(gradc_rt_acquire(-1) == NULL);
  EXPECT(gradc_rt_acquire(INT64_MIN) == NULL);
  EXPECT(gradc_rt_acquire(INT64_MAX) == NULL);
  EXPECT(gradc_rt_acquire(INT64_MAX / 2) == NULL);
  // A failure costs nothing that worked before.
  char *workspace = gradc_rt_acquire(100);
  EXPECT(aligned(workspace));
  gradc_rt_release(workspace);
}

static void nesting(void) {
  char *outer = gradc_rt_acquire(1000), *inner = gradc_rt_acquire(2000);
  EXPECT(aligned(outer) && aligned(inner) && outer != inner);
  memset(outer, 1, 1000);
  memset(inner, 2, 2000);
  // A foreign function may give memory back while calls are under way: theirs stays.
  gradc_release();
  EXPECT(outer[999] == 1 && inner[1999] == 2);
  gradc_rt_release(inner);
  gradc_rt_release(outer);
  // Each level gets its own again.
  EXPECT(gradc_rt_acquire(1000) == (void *)outer);
  EXPECT(gradc_rt_acquire(2000) == (void *)inner);
  gradc_rt_release(inner);
  gradc_rt_release(outer);
}

static void left_by_longjmp(void) {
  jmp_buf out;
  char *volatile outer = gradc_rt_acquire(64);
  if (!setjmp(out)) {
    EXPECT(aligned(gradc_rt_acquire(64)));
    EXPECT(aligned(gradc_rt_acquire(64)));
    longjmp(out, 1);
  }
  gradc_rt_release(outer);
  EXPECT(gradc_rt_acquire(64) == (void *)outer);
  gradc_rt_release(outer);
}

// Sizes that creep upward are served from what was taken at once beyond the need.
static void growth(void) {
  int moves = 0;
  void *before = NULL;
  for (int64_t bytes = 1000000; bytes < 4000000; bytes += 1000) {
    void *workspace = gradc_rt_acquire(bytes);
    moves += workspace != before;
    before = workspace;
    gradc_rt_release(workspace);
  }
  EXPECT(moves < 10);
}

static void *thread_that_ends(void *unused) {
  (void)unused;
  char *workspace = gradc_rt_acquire(1 << 20);
  EXPECT(aligned(workspace));
  memset(workspace, 3, 1 << 20);
  gradc_rt_release(workspace);
  return NULL;
}

int main(void) {
  sizes();
  failures();
  nesting();
  left_by_longjmp();
  growth();
  for (int i = 0; i < 20; i++) {
    pthread_t threads[4];
    for (int j = 0; j < 4; j++)
      EXPECT(pthread_create(&threads[j], NULL, thread_that_ends, NULL) == 0);
    for (int j = 0; j < 4; j++)
      pthread_join(threads[j], NULL);
  }
  gradc_release();
  gradc_release();
  sizes();
  return 0;
}
