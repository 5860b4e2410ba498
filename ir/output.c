/* Files that appear by rename; see output.h. */
#define _XOPEN_SOURCE 700
#include "ir/output.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool failed(Diag *d, const char *path, int error) {
  diag_error(d, (Range){0}, "cannot write '%s': %s", path, strerror(error));
  return false;
}

/* A device or a pipe must not be replaced by a file. */
static bool open_in_place(Output *o, Diag *d) {
  o->file = fopen(o->path, "wb");
  return o->file || failed(d, o->path, errno);
}

bool output_open(Output *o, Diag *d, const char *path) {
  *o = (Output){.path = path};
  if (!path || !strcmp(path, "-")) {
    o->path = "standard output";
    o->file = stdout;
    return true;
  }
  struct stat st;
  const bool exists = !stat(path, &st);
  if (exists && S_ISDIR(st.st_mode))
    return failed(d, path, EISDIR);
  if (exists && !S_ISREG(st.st_mode))
    return open_in_place(o, d);
  char *resolved = exists ? realpath(path, NULL) : NULL;
  o->target = arena_name(d->arena, resolved ? resolved : path);
  free(resolved);
  char *temporary = arena_printf(d->arena, "%s.XXXXXX", o->target);
  const int fd = mkstemp(temporary);
  if (fd < 0)
    return failed(d, path, errno);
  o->temporary = temporary;
  o->file = fdopen(fd, "wb");
  if (!o->file) {
    const int error = errno;
    close(fd);
    unlink(temporary);
    return failed(d, path, error);
  }
  return true;
}

void output_discard(Output *o) {
  if (o->file && o->file != stdout)
    fclose(o->file);
  if (o->temporary)
    unlink(o->temporary);
  *o = (Output){0};
}

/* What open() would have given a new file. */
static mode_t usual_mode(bool executable) {
  const mode_t mask = umask(0);
  umask(mask);
  return (executable ? 0777 : 0666) & ~mask;
}

bool output_commit(Output *o, Diag *d, bool executable) {
  bool written = !ferror(o->file);
  int error = EIO;
  if (fflush(o->file) || (o->file != stdout && fclose(o->file))) {
    error = errno;
    written = false;
  }
  if (o->file != stdout)
    o->file = NULL;
  if (written && o->temporary && (chmod(o->temporary, usual_mode(executable)) || rename(o->temporary, o->target))) {
    error = errno;
    written = false;
  }
  if (!written) {
    const char *path = o->path;
    output_discard(o);
    return failed(d, path, error);
  }
  *o = (Output){0};
  return true;
}

bool output_write(Diag *d, const char *path, const void *bytes, size_t n) {
  Output o;
  if (!output_open(&o, d, path))
    return false;
  if (n)
    fwrite(bytes, 1, n, o.file);
  return output_commit(&o, d, false);
}
