/* gradc: reads the command line and hands over to the subcommand. */
#include "driver/driver.h"

static int run_command(Arena *arena, const Options *o) {
  switch (o->command) {
  case COMMAND_COMPILE: return command_compile(arena, o);
  case COMMAND_CHECK: return command_check(arena, o);
  case COMMAND_RUN: return command_run(arena, o);
  case COMMAND_FMT: return command_fmt(arena, o);
  case COMMAND_GRADCHECK: return command_gradcheck(arena, o);
  case COMMAND_EXPLAIN: return command_explain(arena, o);
  }
  return EXIT_INTERNAL;
}

int main(int argc, char **argv) {
  Arena arena = {0};
  Options options;
  bool done = false;
  int status = EXIT_USAGE;
  if (options_parse(&arena, argc, argv, &options, &done))
    status = done ? EXIT_DONE : run_command(&arena, &options);
  arena_free(&arena);
  if ((fflush(stdout) || ferror(stdout)) && status == EXIT_DONE) {
    perror("gradc: error: cannot write standard output");
    status = EXIT_INPUT;
  }
  return status;
}
