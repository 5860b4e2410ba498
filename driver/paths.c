/* Where gradc's own files stand, found from where the program stands; nothing is compiled in.
   The build folder has the shape of an installation but for the program itself:
       build/gradc      build/include/gradc.h    build/libgradc.a       build/share/gradc/
       prefix/bin/gradc prefix/include/gradc.h   prefix/lib/libgradc.a  prefix/share/gradc/ */
#define _XOPEN_SOURCE 700
#include "driver/driver.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool exists(const char *path) {
  return access(path, R_OK) == 0;
}

/* argv[0] without a slash was found along PATH. */
static char *search_path(Arena *arena, const char *program) {
  const char *path = getenv("PATH");
  while (path && *path) {
    const size_t n = strcspn(path, ":");
    char *candidate = arena_printf(arena, "%.*s/%s", (int)n, n ? path : ".", program);
    if (access(candidate, X_OK) == 0)
      return candidate;
    path += n + (path[n] == ':');
  }
  return arena_strndup(arena, program, strlen(program));
}

static const char *program_folder(Arena *arena, const char *program) {
  char *resolved = realpath("/proc/self/exe", NULL);
  if (!resolved)
    resolved = realpath(strchr(program, '/') ? program : search_path(arena, program), NULL);
  if (!resolved)
    return ".";
  const char *slash = strrchr(resolved, '/');
  const char *folder = slash == resolved ? "/" : arena_strndup(arena, resolved, (size_t)(slash - resolved));
  free(resolved);
  return folder;
}

Paths paths_find(Arena *arena, const char *program) {
  const char *folder = program_folder(arena, program);
  Paths p = {.runtime = arena_printf(arena, "%s/libgradc.a", folder)};
  const char *prefix = folder;
  if (!exists(p.runtime)) {
    const char *slash = strrchr(folder, '/');
    prefix = slash && slash != folder ? arena_strndup(arena, folder, (size_t)(slash - folder)) : "";
    p.runtime = arena_printf(arena, "%s/lib/libgradc.a", prefix);
  }
  p.include = arena_printf(arena, "%s/include", prefix);
  p.library = arena_printf(arena, "%s/share/gradc", prefix);
  return p;
}
