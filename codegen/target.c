/* The target machine: triple, processor and features, each validated.
   LLVM takes unknown names with a remark on standard error and goes on; its C interface does not list the known ones.
   It does print them when asked for the processor "help", so that is asked once, with standard error caught in a file,
   and the names are read from there. */
#define _XOPEN_SOURCE 700
#include "codegen/target.h"
#include <llvm-c/ErrorHandling.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

typedef VEC(const char *) Names;
typedef struct KnownNames {
  Names cpus, features;
} KnownNames;

static void fatal(const char *reason) {
  internal_error("LLVM: %s", reason);
}

/* Loop strength reduction took three quarters of the time of emission on loops with many accumulators, and gained
   nothing there; a second order of instructions after registers are given takes an eighth of it, and gains nothing on
   processors that find their own.  LLVM keeps such options for the whole process, and takes each once only. */
static void set_options(void) {
  static atomic_flag done = ATOMIC_FLAG_INIT;
  const char *const options[] = {"gradc", "-disable-lsr", "-post-RA-scheduler=false"};
  if (!atomic_flag_test_and_set(&done))
    LLVMParseCommandLineOptions(3, options, NULL);
}

/* What LLVM was built with is asked of llvm-config by the build. */
static void initialise(void) {
#define T(target) \
  LLVMInitialize##target##TargetInfo(); \
  LLVMInitialize##target##Target(); \
  LLVMInitialize##target##TargetMC(); \
  LLVMInitialize##target##AsmPrinter(); \
  LLVMInitialize##target##AsmParser();
  GRADC_LLVM_TARGETS(T)
#undef T
  LLVMInstallFatalErrorHandler(fatal);
  set_options();
}

const char *codegen_version(Arena *arena) {
  unsigned major, minor, patch;
  LLVMGetVersion(&major, &minor, &patch);
  char *triple = LLVMGetDefaultTargetTriple(), *cpu = LLVMGetHostCPUName();
  const char *text = arena_printf(arena, "LLVM %u.%u.%u, %s, %s", major, minor, patch, triple, cpu);
  LLVMDisposeMessage(triple);
  LLVMDisposeMessage(cpu);
  return text;
}

static const char *arena_copy(Arena *arena, char *message) {
  const char *copy = arena_name(arena, message);
  LLVMDisposeMessage(message);
  return copy;
}

/* Where LLVM's own default is a processor without floating point, which no Linux runs on. */
static bool is_riscv64_linux(const char *triple) {
  return !strncmp(triple, "riscv64", 7) && strstr(triple, "linux");
}

/* ---- known names */
static LLVMTargetMachineRef make_machine(LLVMTargetRef target, const char *triple, const char *cpu,
                                         const char *features, int level) {
  LLVMTargetMachineOptionsRef options = LLVMCreateTargetMachineOptions();
  LLVMTargetMachineOptionsSetCPU(options, cpu);
  LLVMTargetMachineOptionsSetFeatures(options, features);
  LLVMTargetMachineOptionsSetRelocMode(options, LLVMRelocPIC);
  if (is_riscv64_linux(triple))
    LLVMTargetMachineOptionsSetABI(options, "lp64d");
  LLVMTargetMachineOptionsSetCodeGenOptLevel(options, level == 0   ? LLVMCodeGenLevelNone
                                                      : level == 1 ? LLVMCodeGenLevelLess
                                                      : level == 2 ? LLVMCodeGenLevelDefault
                                                                   : LLVMCodeGenLevelAggressive);
  LLVMTargetMachineRef tm = LLVMCreateTargetMachineWithOptions(target, triple, options);
  LLVMDisposeTargetMachineOptions(options);
  return tm;
}

/* Standard error of what happens between begin and end, as a file; NULL where that cannot be had. */
typedef struct Caught {
  FILE *file;
  int saved;
} Caught;

static bool catch_begin(Caught *c) {
  fflush(stderr);
  c->file = tmpfile();
  c->saved = c->file ? dup(STDERR_FILENO) : -1;
  if (c->saved < 0 || dup2(fileno(c->file), STDERR_FILENO) < 0) {
    if (c->file)
      fclose(c->file);
    return false;
  }
  return true;
}

static void catch_end(Caught *c) {
  dup2(c->saved, STDERR_FILENO);
  close(c->saved);
  if (fseek(c->file, 0, SEEK_SET) != 0)
    internal_error("a temporary file cannot be read back");
}

/* Lines "  name - description." under headings "Available CPUs ..", "Available features ..". */
static KnownNames read_names(Arena *arena, FILE *in) {
  KnownNames known = {0};
  bool features = false;
  char line[1024];
  while (fgets(line, sizeof line, in)) {
    if (!strncmp(line, "Available features", 18))
      features = true;
    const char *name = line + strspn(line, " ");
    const size_t n = strcspn(name, " ");
    if (name == line || strncmp(name + n + strspn(name + n, " "), "- ", 2) != 0)
      continue;
    if (features)
      vec_push(arena, known.features, arena_intern(arena, name, n));
    else
      vec_push(arena, known.cpus, arena_intern(arena, name, n));
  }
  return known;
}

static KnownNames known_names(Arena *arena, LLVMTargetRef target, const char *triple) {
  Caught c;
  if (!catch_begin(&c))
    return (KnownNames){0};
  LLVMTargetMachineRef tm = make_machine(target, triple, "help", "", 2);
  catch_end(&c);
  if (tm)
    LLVMDisposeTargetMachine(tm);
  const KnownNames known = read_names(arena, c.file);
  fclose(c.file);
  return known;
}

static bool is_known(const Names *names, const char *name, size_t n) {
  for (int i = 0; i < names->n; i++)
    if (strlen(names->at[i]) == n && !strncmp(names->at[i], name, n))
      return true;
  return names->n == 0; /* they could not be had */
}

/* Those that begin as the unknown one does; a list of all would be a hundred. */
static void suggest(Diag *d, DiagMessage *message, const Names *names, const char *name, size_t n) {
  for (size_t head = n; head > 2; head--) {
    const char *text = NULL;
    int found = 0;
    for (int i = 0; i < names->n && found < 8; i++)
      if (!strncmp(names->at[i], name, head)) {
        text = text ? arena_printf(d->arena, "%s, %s", text, names->at[i]) : names->at[i];
        found++;
      }
    if (text) {
      diag_note(d, message, (Range){0}, "known names: %s", text);
      return;
    }
  }
}

static bool check_features(Diag *d, const Names *known, const char *features) {
  bool good = true;
  for (const char *p = features; *p;) {
    const size_t n = strcspn(p, ",");
    if (n < 2 || (*p != '+' && *p != '-')) {
      diag_error(d, (Range){0}, "--features is a list such as +avx2,-fma, not '%s'", features);
      return false;
    }
    if (!is_known(known, p + 1, n - 1)) {
      DiagMessage *e = diag_error(d, (Range){0}, "feature '%.*s' is unknown for this target", (int)n - 1, p + 1);
      suggest(d, e, known, p + 1, n - 1);
      good = false;
    }
    p += n + (p[n] == ',');
  }
  return good;
}

static bool check_names(Diag *d, const KnownNames *known, const char *cpu, const char *features) {
  bool good = true;
  if (cpu && !is_known(&known->cpus, cpu, strlen(cpu))) {
    suggest(d, diag_error(d, (Range){0}, "processor '%s' is unknown for this target", cpu), &known->cpus, cpu,
            strlen(cpu));
    good = false;
  }
  return (!features || check_features(d, &known->features, features)) && good;
}

/* ---- the machine */
static LLVMTargetRef find_target(Diag *d, const char *triple) {
  LLVMTargetRef target;
  char *error = NULL;
  if (!LLVMGetTargetFromTriple(triple, &target, &error))
    return target;
  diag_error(d, (Range){0}, "no code can be made for the target '%s'", triple);
  LLVMDisposeMessage(error);
  return NULL;
}

static bool is_native(const char *cpu) {
  return cpu && !strcmp(cpu, "native");
}

/* The lowest processor of the architecture; portable.c adds the others. */
static bool is_portable(const CodegenOptions *o) {
  return o->cpu && !strcmp(o->cpu, "portable");
}

bool has_levels(const CodegenOptions *o, LLVMTargetMachineRef tm) {
  char *triple = LLVMGetTargetMachineTriple(tm);
  const bool x86 = !strncmp(triple, "x86_64", 6);
  LLVMDisposeMessage(triple);
  return is_portable(o) && x86;
}

LLVMTargetMachineRef target_machine(Module *m, const CodegenOptions *o) {
  initialise();
  Arena *arena = m->arena;
  const char *host = arena_copy(arena, LLVMGetDefaultTargetTriple());
  const char *triple = o->triple ? arena_copy(arena, LLVMNormalizeTargetTriple(o->triple)) : host;
  LLVMTargetRef target = find_target(m->diag, triple);
  if (!target)
    return NULL;
  const bool same_machine = !strcmp(triple, host), host_cpu = is_native(o->cpu) || (!o->cpu && same_machine);
  if (is_native(o->cpu) && !same_machine) {
    diag_error(m->diag, (Range){0}, "--cpu=native goes with this machine's target, %s, alone", host);
    return NULL;
  }
  if (is_portable(o) && o->features) {
    diag_error(m->diag, (Range){0}, "--features does not go with --cpu=portable, which is for all processors");
    return NULL;
  }
  const char *cpu = host_cpu || is_portable(o) ? NULL : o->cpu;
  if (cpu || o->features) {
    const KnownNames known = known_names(arena, target, triple);
    if (!check_names(m->diag, &known, cpu, o->features))
      return NULL;
  }
  const char *features = o->features ? o->features : "";
  if ((!o->cpu || is_portable(o)) && is_riscv64_linux(triple) && !host_cpu)
    features = arena_printf(arena, "+m,+a,+f,+d,+c%s%s", *features ? "," : "", features);
  if (host_cpu) {
    cpu = arena_copy(arena, LLVMGetHostCPUName());
    const char *all = arena_copy(arena, LLVMGetHostCPUFeatures());
    features = *features ? arena_printf(arena, "%s,%s", all, features) : all;
  }
  return make_machine(target, triple, cpu ? cpu : "generic", features, o->opt_level);
}

/* What each function must say for itself.  Without the width, LLVM keeps to 256 bits on x86 processors that have 512;
   the others are none the worse for it. */
void target_attributes(LLVMModuleRef module, LLVMTargetMachineRef tm) {
  char *cpu = LLVMGetTargetMachineCPU(tm), *features = LLVMGetTargetMachineFeatureString(tm);
  char *triple = LLVMGetTargetMachineTriple(tm);
  const bool wide = !strncmp(triple, "x86_64", 6);
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
    if (LLVMIsDeclaration(f) || LLVMGetStringAttributeAtIndex(f, LLVMAttributeFunctionIndex, "target-cpu", 10))
      continue;
    LLVMAddTargetDependentFunctionAttr(f, "target-cpu", cpu);
    if (*features)
      LLVMAddTargetDependentFunctionAttr(f, "target-features", features);
    if (wide)
      LLVMAddTargetDependentFunctionAttr(f, "prefer-vector-width", "512");
  }
  LLVMDisposeMessage(cpu);
  LLVMDisposeMessage(features);
  LLVMDisposeMessage(triple);
}

/* Errors count; warnings, remarks and notes are LLVM's own affair. */
static void on_diagnostic(LLVMDiagnosticInfoRef info, void *arg) {
  Module *m = arg;
  if (LLVMGetDiagInfoSeverity(info) != LLVMDSError)
    return;
  char *text = LLVMGetDiagInfoDescription(info);
  diag_error(m->diag, (Range){0}, "LLVM: %s", text);
  LLVMDisposeMessage(text);
}

LLVMContextRef target_context(Module *m) {
  LLVMContextRef context = LLVMContextCreate();
  LLVMContextSetDiagnosticHandler(context, on_diagnostic, m);
  return context;
}
