/* Shared objects: the module's object, linked with the runtime by a C compiler driver.
   A version script hides everything but the exports and the runtime's public functions, so that several such objects
   load into one process, each with its own runtime. */
#define _DEFAULT_SOURCE
#include "codegen/interface.h"
#include "ir/output.h"
#include <errno.h>
#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_WORDS = 64 };

/* A temporary file's name; NULL after an error that has been reported. */
static char *temporary_file(Diag *d, const char *suffix) {
  const char *folder = getenv("TMPDIR");
  char *name = arena_printf(d->arena, "%s/gradc-XXXXXX%s", folder && *folder ? folder : "/tmp", suffix);
  const int fd = mkstemps(name, (int)strlen(suffix));
  if (fd < 0) {
    diag_error(d, (Range){0}, "cannot write '%s': %s", name, strerror(errno));
    return NULL;
  }
  close(fd);
  return name;
}

static bool write_version_script(Module *m, const CodegenOptions *o, const char *path) {
  FILE *out = fopen(path, "w");
  if (!out) {
    diag_error(m->diag, (Range){0}, "cannot write '%s': %s", path, strerror(errno));
    return false;
  }
  fputs("{ global:\n", out);
  for (const Export *e = m->exports; e; e = e->next) {
    const CInterface *c = interface_of(m, e, o);
    if (c->has_plain)
      fprintf(out, "  %s;\n", c->symbol);
    if (c->has_ws)
      fprintf(out, "  %s;\n  %s;\n", c->worksize_symbol, c->ws_symbol);
  }
  fputs("  gradc_last_error; gradc_release; gradc_set_threads;\nlocal: *; };\n", out);
  if (!ferror(out) && !fclose(out))
    return true;
  diag_error(m->diag, (Range){0}, "cannot write '%s'", path);
  return false;
}

/* Runs a command found along PATH; false when it cannot be run or fails, which is then reported. */
static bool run_command(Diag *d, const char **words, bool verbose) {
  if (verbose) {
    fputs(words[0], stderr);
    for (int i = 1; words[i]; i++)
      fprintf(stderr, " %s", words[i]);
    fputc('\n', stderr);
  }
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    execvp(words[0], (char *const *)(uintptr_t)words);
    _exit(127);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) < 0)
    diag_error(d, (Range){0}, "cannot run '%s': %s", words[0], strerror(errno));
  else if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
    diag_error(d, (Range){0}, "the C compiler '%s' that is to link cannot be run; CC names another", words[0]);
  else if (!WIFEXITED(status) || WEXITSTATUS(status))
    diag_error(d, (Range){0}, "linking failed; gradc -v prints the command");
  else
    return true;
  return false;
}

/* CC may hold options. */
static int compiler_words(Arena *arena, const char **words) {
  const char *cc = getenv("CC");
  int n = 0;
  for (const char *p = cc ? cc : ""; *p && n < MAX_WORDS / 2;) {
    const size_t length = strcspn(p, " \t");
    if (length)
      words[n++] = arena_intern(arena, p, length);
    p += length + (p[length] != 0);
  }
  if (!n)
    words[n++] = "cc";
  return n;
}

static bool link_object(Module *m, const char *object, const char *script, const char *runtime_library, bool verbose,
                        const char *path) {
  Output out;
  if (!output_open(&out, m->diag, path))
    return false;
  const char *words[MAX_WORDS] = {0};
  int n = compiler_words(m->arena, words);
  words[n++] = "-shared";
  words[n++] = "-o";
  words[n++] = out.temporary ? out.temporary : out.path;
  words[n++] = object;
  /* The runtime's public functions come along whether the code refers to them or not. */
  words[n++] = "-Wl,-u,gradc_last_error,-u,gradc_release,-u,gradc_set_threads";
  words[n++] = runtime_library;
  words[n++] = arena_printf(m->arena, "-Wl,--version-script=%s", script);
  words[n++] = "-lm";
  words[n++] = "-lpthread";
  if (run_command(m->diag, words, verbose))
    return output_commit(&out, m->diag, true);
  output_discard(&out);
  return false;
}

bool codegen_shared(Module *m, const CodegenOptions *o, const char *runtime_library, bool verbose, const char *path) {
  char *host = LLVMGetDefaultTargetTriple(), *asked = o->triple ? LLVMNormalizeTargetTriple(o->triple) : NULL;
  const bool foreign = asked && strcmp(host, asked) != 0;
  LLVMDisposeMessage(host);
  if (asked)
    LLVMDisposeMessage(asked);
  if (foreign) {
    DiagMessage *e = diag_error(m->diag, (Range){0}, "a shared object is linked for this machine alone");
    diag_mend(m->diag, e, "make an object with -o x.o, and link it by the cross compiler with its own libgradc.a");
    return false;
  }
  CodegenOptions options = *o;
  options.hide = true;
  char *object = temporary_file(m->diag, ".o"), *script = object ? temporary_file(m->diag, ".map") : NULL;
  const bool good = script && codegen_emit(m, &options, EMIT_OBJECT, object) &&
                    write_version_script(m, &options, script) &&
                    link_object(m, object, script, runtime_library, verbose, path);
  if (object)
    unlink(object);
  if (script)
    unlink(script);
  return good;
}
