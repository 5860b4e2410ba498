/* gradc check: reads and type-checks; prints what is wrong and nothing else. */
#include "driver/driver.h"

int command_check(Arena *arena, const Options *o) {
  int status = EXIT_DONE;
  for (int i = 0; i < o->operands.n; i++) {
    Session s;
    session_begin(&s, arena, o);
    session_module(&s, o->operands.at[i]);
    if (session_end(&s))
      status = EXIT_INPUT;
  }
  return status;
}
