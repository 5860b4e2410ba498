// The threads that parallel calls share: a pool for the process (for each copy of the runtime), begun when first
// needed, ended by gradc_release and with the process.
//
// One parallel call has the pool at a time; a call that finds it taken runs on its own thread, with the same results.
// Blocks are taken in order from a counter, so that all blocks before one that failed have been taken too.
//
// A worker sleeps on its own word, after a while of spinning. The caller asks it by IDLE -> ASKED; the worker comes by
// ASKED -> AT_WORK and leaves by AT_WORK -> IDLE. What has not come when the blocks are used up is unasked, ASKED ->
// IDLE, so that a worker that is slow to wake never holds a call up. The call's state is on the caller's stack: it is
// read between AT_WORK and IDLE only.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>
#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#else
#include <sched.h>
#endif

#include "arena.h"

enum { MOST_WORKERS = 63, SPINS = 2000, TEXT = 1024 };
enum { IDLE, ASKED, AT_WORK, ENDING };

typedef struct Call {
  GradcBlock *run;
  void *arguments;
  int64_t blocks;
  char *work;
  int64_t stride;
  int64_t may_allocate;
  _Atomic int64_t next;
  _Atomic int64_t failed; // the first block known to have failed; `blocks`: none
  atomic_flag recording;  // guards what follows and changes of `failed`
  int32_t status;
  char text[TEXT];
} Call;

typedef struct Worker {
  _Alignas(64) atomic_uint state;
  atomic_uint asleep; // somebody sleeps on `state`
  int lane;
  pthread_t thread;
} Worker;

static struct {
  atomic_int taken;
  int n; // workers there are; with all that follows, only whoever has taken the pool touches it
  int registered;
  Call *call;
  Worker workers[MOST_WORKERS];
} pool;

// -- Sleeping and waking
// --------------------------------------------------------------------------------------------------
static void pause_a_little(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

#if defined(__linux__)
static void sleep_on(atomic_uint *word, unsigned value) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void wake(atomic_uint *word) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}
#else
static void sleep_on(atomic_uint *word, unsigned value) {
  (void)word;
  (void)value;
  sched_yield();
}

static void wake(atomic_uint *word) {
  (void)word;
}
#endif

// Until the state is no longer `value`. `asleep` is set before the state is looked at again, and a change of the state
// comes before `asleep` is looked at: one of the two sees the other.
static void wait_while(Worker *w, unsigned value) {
  for (int i = 0; i < SPINS; i++) {
    if (atomic_load_explicit(&w->state, memory_order_acquire) != value)
      return;
    pause_a_little();
  }
  atomic_fetch_add(&w->asleep, 1);
  while (atomic_load(&w->state) == value)
    sleep_on(&w->state, value);
  atomic_fetch_sub(&w->asleep, 1);
}

static void set_state(Worker *w, unsigned state) {
  atomic_store(&w->state, state);
  if (atomic_load(&w->asleep))
    wake(&w->state);
}

// -- Blocks -----------------------------------------------------------------------------------------------------------
static void record_failure(Call *call, int64_t block, int32_t status) {
  while (atomic_flag_test_and_set_explicit(&call->recording, memory_order_acquire))
    pause_a_little();
  if (block < atomic_load(&call->failed)) {
    atomic_store(&call->failed, block);
    call->status = status;
    strncpy(call->text, gradc_last_error(), TEXT - 1);
  }
  atomic_flag_clear_explicit(&call->recording, memory_order_release);
}

static void run_lane(Call *call, int lane, void *context) {
  for (;;) {
    const int64_t block = atomic_fetch_add(&call->next, 1);
    if (block >= call->blocks || block > atomic_load(&call->failed))
      return;
    const int32_t status = call->run(call->arguments, block, call->work + lane * call->stride, context);
    if (status)
      record_failure(call, block, status);
  }
}

static void *work(void *argument) {
  Worker *w = argument;
  _Alignas(64) char context[GRADC_CONTEXT_BYTES];
  for (;;) {
    wait_while(w, IDLE);
    unsigned state = ASKED;
    if (atomic_compare_exchange_strong(&w->state, &state, AT_WORK)) {
      gradc_rt_open(context, NULL, 0, (int32_t)pool.call->may_allocate);
      run_lane(pool.call, w->lane, context);
      gradc_rt_close(context);
      set_state(w, IDLE);
    } else if (state == ENDING) {
      return NULL;
    }
  }
}

// -- The pool
// ------------------------------------------------------------------------------------------------------------
static int take_pool(void) {
  int is_free = 0;
  return atomic_compare_exchange_strong(&pool.taken, &is_free, 1);
}

static void give_pool(void) {
  atomic_store(&pool.taken, 0);
}

// Ends the workers, unless a call has them.
static void end_workers(void) {
  if (!take_pool())
    return;
  for (int i = 0; i < pool.n; i++)
    set_state(&pool.workers[i], ENDING);
  for (int i = 0; i < pool.n; i++)
    pthread_join(pool.workers[i].thread, NULL);
  pool.n = 0;
  give_pool();
}

// The child of a fork has none of its parent's threads but one.
static void after_fork(void) {
  for (int i = 0; i < pool.n; i++)
    atomic_store(&pool.workers[i].state, IDLE);
  pool.n = 0;
  give_pool();
}

// Signals are the program's own threads' affair.
static void begin_workers(int wanted) {
  if (!pool.registered) {
    pool.registered = 1;
    gradc_at_release(end_workers);
    pthread_atfork(NULL, NULL, after_fork);
  }
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  while (pool.n < wanted && pool.n < MOST_WORKERS) {
    Worker *w = &pool.workers[pool.n];
    atomic_store(&w->state, IDLE);
    atomic_store(&w->asleep, 0);
    w->lane = pool.n + 1;
    if (pthread_create(&w->thread, NULL, work, w))
      break;
    pool.n++;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void run_together(Call *call, int64_t lanes, void *context) {
  if (pool.n < lanes - 1)
    begin_workers((int)lanes - 1);
  const int n = pool.n < lanes - 1 ? pool.n : (int)lanes - 1;
  pool.call = call;
  for (int i = 0; i < n; i++)
    set_state(&pool.workers[i], ASKED);
  run_lane(call, 0, context);
  for (int i = 0; i < n; i++) {
    unsigned state = ASKED;
    if (!atomic_compare_exchange_strong(&pool.workers[i].state, &state, IDLE) && state == AT_WORK)
      wait_while(&pool.workers[i], AT_WORK);
  }
}

static int32_t run_alone(GradcBlock *run, void *arguments, int64_t blocks, void *context, void *work) {
  for (int64_t i = 0; i < blocks; i++) {
    const int32_t status = run(arguments, i, work, context);
    if (status)
      return status;
  }
  return 0;
}

int32_t gradc_rt_parallel(GradcBlock *run, void *arguments, int64_t blocks, void *context, void *work, int64_t stride,
                          int32_t grows) {
  GradcContext *in = context;
  const int64_t lanes = in->lanes < blocks ? in->lanes : blocks;
  if (lanes <= 1 || (grows && !in->may_allocate) || !take_pool()) {
    const int64_t before = in->lanes;
    in->lanes = 1;
    const int32_t status = run_alone(run, arguments, blocks, context, work);
    in->lanes = before;
    return status;
  }
  Call call = {.run = run,
               .arguments = arguments,
               .blocks = blocks,
               .work = work,
               .stride = stride,
               .may_allocate = in->may_allocate,
               .failed = blocks,
               .recording = ATOMIC_FLAG_INIT};
  const int64_t before = in->lanes;
  in->lanes = 1;
  run_together(&call, lanes, context);
  in->lanes = before;
  give_pool();
  return call.status ? gradc_repeat_failure(call.status, call.text) : 0;
}

// -- Sums of blocks ---------------------------------------------------------------------------------------------------
// Integers as unsigned, which wrap.
#define ADD(name, type) \
  void gradc_rt_add_##name(void *to, const void *from, int64_t n, int64_t stride, int64_t parts) { \
    type *restrict sum = to; \
    for (int64_t p = 0; p < parts; p++) { \
      const type *restrict part = (const type *)((const char *)from + p * stride); \
      for (int64_t i = 0; i < n; i++) \
        sum[i] += part[i]; \
    } \
  }
ADD(i32, uint32_t)
ADD(i64, uint64_t)
ADD(f32, float)
ADD(f64, double)
