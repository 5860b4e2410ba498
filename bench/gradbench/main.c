/* GradBench's protocol: reads messages from standard input, one JSON object a line, and answers each on standard output
   with its id.

   start, define and evaluate are known; any other kind is answered with the id alone.  Without arguments. */
#define _XOPEN_SOURCE 700 // getline, clock_gettime
#include "gradc.h"
#include "problem.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const Function *const tables[] = {small_functions, model_functions, bundle_functions, hand_functions,
                                         descent_functions};

/* The function of that name, or the module's first where the name is NULL. */
static const Function *find_function(const char *module, const char *name) {
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
    for (const Function *f = tables[i]; f->module; f++)
      if (!strcmp(f->module, module) && (!name || !strcmp(f->name, name)))
        return f;
  return NULL;
}

static const char *text_member(const Json *message, const char *name) {
  const Json *value = json_member(message, name);
  return value && value->kind == JSON_STRING ? value->text : "";
}

static void answer_failure(FILE *to, const char *error) {
  fputs(",\"success\":false,\"error\":", to);
  json_write_string(to, error);
}

/* -- Runs */

typedef struct Times {
  int64_t *nanoseconds;
  size_t n, room;
} Times;

static bool add_time(Times *times, int64_t nanoseconds) {
  if (times->n == times->room) {
    const size_t room = times->room ? 2 * times->room : 64;
    int64_t *more = realloc(times->nanoseconds, room * sizeof *more);
    if (!more)
      return false;
    times->nanoseconds = more;
    times->room = room;
  }
  times->nanoseconds[times->n++] = nanoseconds;
  return true;
}

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* What the input says about how often to run; once where it says nothing. */
typedef struct Wanted {
  double runs, seconds;
} Wanted;

static double wanted_number(const Json *input, const char *name, double otherwise) {
  const Json *value = json_member(input, name);
  return value && value->kind == JSON_NUMBER ? value->number : otherwise;
}

/* NULL, or why it failed. */
static const char *run_all(const Function *function, void *problem, const Wanted *wanted, Times *times) {
  const double enough = 1e9 * wanted->seconds;
  double total = 0;
  do {
    const int64_t start = now();
    const int status = function->run(problem);
    const int64_t time = now() - start;
    if (status)
      return gradc_last_error();
    if (!add_time(times, time))
      return "no memory";
    total += (double)time;
  } while ((double)times->n < wanted->runs || total < enough);
  return NULL;
}

static void answer_output(FILE *to, const Function *function, const void *problem, const Times *times) {
  fputs(",\"success\":true,\"output\":", to);
  function->print(problem, to);
  fputs(",\"timings\":[", to);
  for (size_t i = 0; i < times->n; i++)
    fprintf(to, "%s{\"name\":\"evaluate\",\"nanoseconds\":%lld}", i ? "," : "", (long long)times->nanoseconds[i]);
  putc(']', to);
}

static void answer_evaluate(FILE *to, Memory *memory, const Json *message) {
  const char *module = text_member(message, "module"), *name = text_member(message, "function");
  const Function *function = find_function(module, name);
  const Json *input = json_member(message, "input");
  Reader in = {.memory = memory, .input = input};
  void *problem = NULL;
  if (!function)
    read_error(&in, "there is no function '%s' in module '%s'", name, module);
  else if (!input)
    read_error(&in, "there is no input");
  else
    problem = function->prepare(&in);
  if (!function || read_failed(&in)) {
    answer_failure(to, in.error);
    return;
  }
  const Wanted wanted = {wanted_number(input, "min_runs", 1), wanted_number(input, "min_seconds", 0)};
  Times times = {0};
  const char *error = run_all(function, problem, &wanted, &times);
  if (error)
    answer_failure(to, error);
  else
    answer_output(to, function, problem, &times);
  free(times.nanoseconds);
}

/* -- Messages */

static void answer(FILE *to, Memory *memory, const Json *message) {
  const Json *id = json_member(message, "id");
  const char *kind = text_member(message, "kind");
  fputs("{\"id\":", to);
  if (id && id->kind == JSON_STRING)
    json_write_string(to, id->text);
  else if (id && id->kind == JSON_NUMBER)
    json_write_number(to, id->number);
  else
    fputs("null", to);
  if (!strcmp(kind, "start"))
    fputs(",\"tool\":\"gradc\"", to);
  else if (!strcmp(kind, "define"))
    fprintf(to, ",\"success\":%s", find_function(text_member(message, "module"), NULL) ? "true" : "false");
  else if (!strcmp(kind, "evaluate"))
    answer_evaluate(to, memory, message);
  fputs("}\n", to);
  fflush(to);
}

/* 0, or 1 for a line that is no message: without its id there is no answer to give. */
static int handle_line(const char *line, size_t length) {
  Memory memory = {0};
  const char *error;
  const Json *message = json_read(&memory, line, length, &error);
  if (message && message->kind == JSON_OBJECT)
    answer(stdout, &memory, message);
  else
    fprintf(stderr, "gradbench: not a message: %s\n", error ? error : "no object");
  const int status = !message || message->kind != JSON_OBJECT;
  memory_free(&memory);
  return status;
}

int main(void) {
  char *line = NULL;
  size_t room = 0;
  int status = 0;
  ssize_t length;
  while (!status && (length = getline(&line, &room, stdin)) >= 0)
    if (strspn(line, " \t\r\n") < (size_t)length)
      status = handle_line(line, (size_t)length);
  free(line);
  gradc_release();
  return status;
}
