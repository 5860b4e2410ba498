/* What the files of the driver share: the options of the command line, and the steps that several subcommands take. */
#ifndef GRADC_DRIVER_DRIVER_H
#define GRADC_DRIVER_DRIVER_H
#include "codegen/codegen.h"
#include "ir/ir.h"

enum ExitStatus { EXIT_DONE = 0, EXIT_INPUT = 1, EXIT_USAGE = 2, EXIT_INTERNAL = 70 };

typedef enum Command {
  COMMAND_COMPILE,
  COMMAND_CHECK,
  COMMAND_RUN,
  COMMAND_FMT,
  COMMAND_GRADCHECK,
  COMMAND_EXPLAIN
} Command;

/* What is made.  TO_AUTO: what the name given by -o asks for. */
typedef enum Target {
  TO_AUTO,
  TO_OBJECT,
  TO_SHARED,
  TO_ASSEMBLY,
  TO_LLVM,
  TO_C,
  TO_BITCODE,
  TO_HEADER,
  TO_IR,
  TO_AD,
  TO_DOT,
  TO_DEPS
} Target;

typedef VEC(const char *) Strings;

typedef struct Options {
  Command command;
  Strings operands;    /* compile: the file; run, gradcheck: the file, the function and name=value; fmt, check: files */
  const char *program; /* argv[0] */
  const char *output;  /* -o */
  Target target;
  const char *after, *passes;
  Strings grad;         /* --grad */
  Strings include_dirs; /* -I */
  Strings warnings_off; /* -Wno-NAME */
  bool werror, strict, fast_math, unchecked;
  Kind real;
  CodegenOptions codegen;
  bool make_rules; /* -MD */
  const char *rules_file;
  bool verbose, time_passes, no_verify;
  bool fmt_write;       /* fmt -w */
  const char *save_dir; /* run --save */
  bool evaluate;        /* run, gradcheck: by the reference evaluator */
  bool grad_alone;      /* explain: grad instead of what the file exports */
  int digits;           /* run; 0: as many as tell the number from its neighbours */
  int64_t seed;         /* of rand */
  double tolerance;     /* gradcheck; 0: by kind */
  bool no_differences;  /* gradcheck */
} Options;

/* ---- options.c: false after an error, which has been printed; *done where the command line is served already. */
bool options_parse(Arena *arena, int argc, char **argv, Options *o, bool *done);
/* Prints "gradc: error: ..." and returns EXIT_USAGE. */
int usage_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* ---- suggest.c: the one of `names` nearest to `name`, NULL where none is near. */
const char *nearest_name(const char *name, const char *const *names, int n);

/* ---- paths.c: places relative to the program, in the build folder or where it is installed. */
typedef struct Paths {
  const char *include; /* of gradc.h */
  const char *runtime; /* libgradc.a */
  const char *library; /* the standard library's folder */
} Paths;
Paths paths_find(Arena *arena, const char *program);

/* ---- input.c */
typedef struct Session {
  Arena *arena;
  Diag diag;
  const Options *options;
  Paths paths;
  Strings read; /* names of all files read */
} Session;
void session_begin(Session *s, Arena *arena, const Options *o);
/* Prints what was reported; EXIT_INPUT after errors, else EXIT_DONE. */
int session_end(Session *s);
bool is_ir_file(const char *path);
/* The module of a .ad or .ir file, before any pass; NULL after errors. */
Module *session_module(Session *s, const char *path);
/* Runs the passes that the options ask for. */
bool session_passes(Session *s, Module *m, bool whole_pipeline);

/* ---- one file a subcommand */
int command_compile(Arena *arena, const Options *o);
int command_check(Arena *arena, const Options *o);
int command_run(Arena *arena, const Options *o);
int command_fmt(Arena *arena, const Options *o);
int command_gradcheck(Arena *arena, const Options *o);
int command_explain(Arena *arena, const Options *o);

/* ---- deps.c: a make rule that says what was read to make `target`. */
char *make_rule(Arena *arena, const char *target, const Strings *read);
#endif
