/* gradc-fuzz: random programs, run in several ways that must agree; see fuzz.h.
   usage: gradc-fuzz [-n COUNT] [-s SEED] [-f FIRST] [--native=PERCENT] [--sparse=PERCENT] [--no-shrink]
                     [--first] [--print] [-v] [--spoil FILE ..]
   With --spoil the texts of these files with faults put in are what is run: spoil.c.
   PERCENT of the programs are compiled at -O2, a quarter of as many at -O0 too; the evaluator runs all.  Of some, 3 %,
   the sparse Jacobian is compared with the dense one, which takes as long as ten others.  Programs are
   checked in a child process, one after the other, until one fails; then it is shrunk, printed, and a new child goes on
   behind it.  A crash or a hang is a failure like others.  Exit status 1 where there was any. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "tools/fuzz/spoil.h"
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SECONDS_A_PROGRAM = 20, SHRINK_BUDGET = 1500, EXIT_FOUND = 3, MESSAGE_LENGTH = 2000 };

typedef struct Line {
  uint64_t count, seed, from;
  int native;                            /* percent of the programs that are compiled */
  int sparse;                            /* .. whose matrices of derivatives are compared */
  bool no_shrink, print, verbose, first; /* first: one failure is enough, its name all that is wanted */
  char **files;                          /* to spoil */
  int nfiles;
} Line;

/* Between the child and its parent. */
typedef struct Shared {
  uint64_t number;
  Outcome outcome;
  long verdicts[VERDICT_COUNT];
  long natives, nodes;
} Shared;

static bool parse(int argc, char **argv, Line *l) {
  *l = (Line){.count = 1000, .seed = 1, .native = 100, .sparse = 3};
  for (int i = 1; i < argc; i++) {
    const char *a = argv[i];
    if (!strcmp(a, "-n") && i + 1 < argc)
      l->count = strtoull(argv[++i], NULL, 10);
    else if (!strcmp(a, "-s") && i + 1 < argc)
      l->seed = strtoull(argv[++i], NULL, 10);
    else if (!strcmp(a, "-f") && i + 1 < argc)
      l->from = strtoull(argv[++i], NULL, 10);
    else if (!strncmp(a, "--native=", 9))
      l->native = atoi(a + 9);
    else if (!strncmp(a, "--sparse=", 9))
      l->sparse = atoi(a + 9);
    else if (!strcmp(a, "--no-shrink"))
      l->no_shrink = true;
    else if (!strcmp(a, "--print"))
      l->print = true;
    else if (!strcmp(a, "--first"))
      l->first = true;
    else if (!strcmp(a, "--spoil") && i + 1 < argc) {
      l->files = argv + i + 1;
      l->nfiles = argc - i - 1;
      return true;
    } else if (!strcmp(a, "-v"))
      l->verbose = true;
    else
      return false;
  }
  return true;
}

/* The same choice for a program wherever a run begins. */
static Settings settings_of(const Line *l, uint64_t number) {
  Rng r = {number ^ l->seed << 32};
  Settings s = {.o2 = rng_below(&r, 100) < l->native};
  s.o0 = rng_below(&r, 400) < l->native;
  return s;
}

/* Rules of one's own may give another matrix by columns than by rows: rough programs are left out. */
static Case *generated(const Line *l, Arena *arena, uint64_t number) {
  Case *c = case_generate(arena, l->seed, number);
  if (!c->rough && rng_hash("sparse", c->seed) % 100 < (uint64_t)l->sparse)
    c->with |= WITH_SPARSE;
  return c;
}

/* ---- children */
/* Of the processor, so that a busy machine makes nothing fail. */
static void limit_time(int seconds) {
  const struct itimerval limit = {.it_value.tv_sec = seconds};
  setitimer(ITIMER_PROF, &limit, NULL);
}

static void check_in_child(Shared *shared, const Case *c, const Settings *s, FILE *errors) {
  const int fd = fileno(errors);
  dup2(fd, 2);
  limit_time(SECONDS_A_PROGRAM);
  case_check(c, s, &shared->outcome);
  limit_time(0);
}

/* A text that is no program is none of ours. */
static void check_spoiled(Shared *shared, const char *text, bool ir, bool native, FILE *errors) {
  dup2(fileno(errors), 2);
  limit_time(SECONDS_A_PROGRAM);
  shared->outcome.verdict = spoiled_run(text, ir, native) ? AGREE : UNDECIDED;
  limit_time(0);
}

/* What became of a child; messages it wrote are the outcome of one that died. */
static void judge_death(Shared *shared, int status, FILE *errors) {
  if (WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == EXIT_FOUND))
    return;
  Outcome *o = &shared->outcome;
  o->verdict = WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF ? HANGED : CRASHED;
  const int n = snprintf(o->what, sizeof o->what, WIFSIGNALED(status) ? "signal %d: " : "exit status %d: ",
                         WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
  rewind(errors);
  const size_t length = fread(o->what + n, 1, sizeof o->what - (size_t)n - 1, errors);
  o->what[(size_t)n + length] = 0;
}

typedef struct Trial {
  Shared *shared;
  Settings settings;
  Outcome wanted;
} Trial;

/* Of messages what is before the first number counts: places and values change as programs shrink. */
static bool same_kind(const Outcome *a, const Outcome *b) {
  if (a->verdict != b->verdict)
    return false;
  if (a->verdict == CRASHED)
    return !strncmp(a->what, b->what, 50);
  if (a->verdict != REFUSED)
    return true;
  const char *x = strstr(a->what, "error: "), *y = strstr(b->what, "error: ");
  return x && y && !strncmp(x, y, 30);
}

static bool still_fails(void *arg, const Case *candidate) {
  Trial *t = arg;
  FILE *errors = tmpfile();
  memset(&t->shared->outcome, 0, sizeof t->shared->outcome);
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    check_in_child(t->shared, candidate, &t->settings, errors);
    _exit(0);
  }
  int status;
  waitpid(child, &status, 0);
  judge_death(t->shared, status, errors);
  fclose(errors);
  return same_kind(&t->shared->outcome, &t->wanted);
}

static bool spoiled_still_fails(void *arg, const char *text, bool ir) {
  Trial *t = arg;
  FILE *errors = tmpfile();
  memset(&t->shared->outcome, 0, sizeof t->shared->outcome);
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    check_spoiled(t->shared, text, ir, t->settings.o0, errors);
    _exit(0);
  }
  int status;
  waitpid(child, &status, 0);
  judge_death(t->shared, status, errors);
  fclose(errors);
  return same_kind(&t->shared->outcome, &t->wanted);
}

/* ---- the run */
/* Checks the program of that number, or the spoiled text. */
static void check_number(Shared *shared, const Line *l, uint64_t number, Arena *arena, FILE *errors) {
  const Settings settings = settings_of(l, number);
  shared->natives += settings.o2;
  if (!l->nfiles) {
    check_in_child(shared, generated(l, arena, number), &settings, errors);
    return;
  }
  bool ir;
  const char *text = spoiled_text(arena, l->files, l->nfiles, l->seed, number, &ir);
  check_spoiled(shared, text, ir, settings.o0, errors);
}

static void run_child(Shared *shared, const Line *l, uint64_t from, FILE *errors) {
  /* What one program frees, the next takes: not back to the system each time, which cost a quarter of the run. */
  mallopt(M_TRIM_THRESHOLD, 1 << 28);
  mallopt(M_MMAP_THRESHOLD, 1 << 26);
  for (uint64_t i = from; i < l->from + l->count; i++) {
    Arena arena = {0};
    shared->number = i;
    rewind(errors);
    if (ftruncate(fileno(errors), 0) != 0)
      _exit(2);
    check_number(shared, l, i, &arena, errors);
    if (shared->outcome.verdict > UNDECIDED)
      _exit(EXIT_FOUND);
    shared->verdicts[shared->outcome.verdict]++;
    if (l->verbose)
      printf("%llu: %s\n", (unsigned long long)i, verdict_name[shared->outcome.verdict]);
    arena_free(&arena);
  }
  fflush(stdout);
  _exit(0);
}

static void report(Shared *shared, const Line *l) {
  Arena arena = {0};
  const uint64_t number = shared->number;
  Trial t = {shared, settings_of(l, number), shared->outcome};
  printf("\n==== program %llu of seed %llu: %s\n%s\n", (unsigned long long)number, (unsigned long long)l->seed,
         verdict_name[t.wanted.verdict], t.wanted.what);
  fflush(stdout);
  if (l->nfiles) {
    bool ir;
    const char *text = spoiled_text(&arena, l->files, l->nfiles, l->seed, number, &ir);
    if (!l->no_shrink && spoiled_still_fails(&t, text, ir))
      text = spoiled_shrink(&arena, text, ir, spoiled_still_fails, &t, SHRINK_BUDGET);
    printf("---- %s\n%s\n", ir ? "ir" : "ad", text);
    fflush(stdout);
    arena_free(&arena);
    return;
  }
  Case *c = generated(l, &arena, number);
  if (!l->no_shrink && still_fails(&t, c)) {
    case_shrink(&arena, c, still_fails, &t, SHRINK_BUDGET);
    still_fails(&t, c);
    printf("---- shrunk: %s\n%s\n", verdict_name[shared->outcome.verdict], shared->outcome.what);
  }
  case_print(stdout, c);
  fflush(stdout);
  arena_free(&arena);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int run(Shared *shared, const Line *l) {
  const double start = now();
  long failures = 0;
  for (uint64_t at = l->from; at < l->from + l->count; at = shared->number + 1) {
    FILE *errors = tmpfile();
    fflush(NULL);
    const pid_t child = errors ? fork() : -1;
    if (child < 0) {
      perror("gradc-fuzz");
      return 2;
    }
    if (child == 0)
      run_child(shared, l, at, errors);
    int status;
    waitpid(child, &status, 0);
    judge_death(shared, status, errors);
    fclose(errors);
    if (shared->outcome.verdict > UNDECIDED) {
      failures++;
      shared->verdicts[shared->outcome.verdict]++;
      const uint64_t number = shared->number;
      if (l->first) {
        printf("program %llu: %s\n", (unsigned long long)number, verdict_name[shared->outcome.verdict]);
        return 1;
      }
      report(shared, l);
      shared->number = number;
    }
    shared->outcome.verdict = AGREE;
  }
  printf("%llu programs of seed %llu:", (unsigned long long)l->count, (unsigned long long)l->seed);
  for (int v = 0; v < VERDICT_COUNT; v++)
    if (shared->verdicts[v])
      printf(" %ld %s,", shared->verdicts[v], verdict_name[v]);
  printf(" %ld compiled, %.1f ms a program\n", shared->natives, 1e3 * (now() - start) / (double)l->count);
  return failures ? 1 : 0;
}

int main(int argc, char **argv) {
  Line l;
  if (!parse(argc, argv, &l)) {
    fputs("usage: gradc-fuzz [-n COUNT] [-s SEED] [-f FIRST] [--native=PERCENT] [--sparse=PERCENT] [--no-shrink] "
          "[--first]"
          " [--print] [-v] [--spoil FILE ..]\n",
          stderr);
    return 2;
  }
  if (l.print) {
    Arena arena = {0};
    for (uint64_t i = l.from; i < l.from + l.count; i++)
      case_print(stdout, generated(&l, &arena, i));
    arena_free(&arena);
    return 0;
  }
  Shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) {
    perror("gradc-fuzz");
    return 2;
  }
  return run(shared, &l);
}
