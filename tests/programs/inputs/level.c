/* Whether the processor has the level that stands on the command line, as the runtime sees it. */
#include "internal.h"
#include <stdlib.h>

int main(int argc, char **argv) {
  return argc < 2 || gradc_rt_processor() != atoi(argv[1]);
}
