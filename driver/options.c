/* The command line: subcommand, options (driver/options.def), operands. */
#include "driver/driver.h"
#include "passes/passes.h"
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

typedef enum Takes { NOTHING, VALUE, JOINED } Takes;
typedef enum OptionId {
#define OPTION(id, name, takes, commands, value, help) OPTION_##id,
#include "driver/options.def"
#undef OPTION
  OPTION_COUNT
} OptionId;
typedef struct OptionSpec {
  const char *name;
  Takes takes;
  const char *commands, *value, *help;
} OptionSpec;
static const OptionSpec specs[OPTION_COUNT] = {
#define OPTION(id, name, takes, commands, value, help) {name, takes, commands, value, help},
#include "driver/options.def"
#undef OPTION
};

typedef struct CommandSpec {
  const char *name;
  char letter; /* in options.def */
  const char *usage, *help;
} CommandSpec;
static const CommandSpec commands[] = {
    [COMMAND_COMPILE] = {"compile", 'c', "[compile] model.ad -o model.o", "make an object, and model.h beside it"},
    [COMMAND_CHECK] = {"check", 'k', "check model.ad ..", "look for errors only"},
    [COMMAND_RUN] = {"run", 'r', "run model.ad FUNCTION x=x.npy b=0.5 w=[1,2]",
                     "call a function and print its results"},
    [COMMAND_FMT] = {"fmt", 'f', "fmt [-w] model.ad ..", "canonical layout"},
    [COMMAND_GRADCHECK] = {"gradcheck", 'g', "gradcheck model.ad [FUNCTION] [x=..]",
                           "reverse against forward against differences"},
    [COMMAND_EXPLAIN] = {"explain", 'e', "explain model.ad FUNCTION", "its lines beside those of its gradient"}};
enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

int usage_error(const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  fputs("gradc: error: ", stderr);
  vfprintf(stderr, fmt, ap);
  fputc('\n', stderr);
  va_end(ap);
  return EXIT_USAGE;
}

static bool wrong(int status) {
  return status == EXIT_DONE;
}

/* ---- what is printed on demand */
static void print_help(void) {
  puts("gradc compiles differentiable tensor programs ahead of time.\n\nusage:");
  for (int i = 0; i < COMMAND_COUNT; i++)
    printf("  gradc %-46s %s\n", commands[i].usage, commands[i].help);
  puts("\noptions:");
  for (int i = 0; i < OPTION_COUNT; i++) {
    const OptionSpec *s = &specs[i];
    char left[64];
    snprintf(left, sizeof left, "%s%s%s", s->name,
             !s->value || s->takes == JOINED ? ""
             : s->name[1] == '-'             ? "="
                                             : " ",
             s->value ? s->value : "");
    printf("  %-20s %s\n", left, s->help);
  }
  puts("\narguments of run and gradcheck; sizes are found from shapes, or given as n=3:\n"
       "  x=0.5 on=true w=[[1,2],[3,4]]    numbers\n"
       "  x=data.npy x=table.csv           files\n"
       "  x=rand x=rand(3,4)               uniform in [0, 1), of the shape that the sizes say or of this one;\n"
       "  x='rand(3,4; -2,5)'              in [-2, 5); likewise randn, zeros, ones, iota (0, 1, ..)");
  puts("\nExit status: 0, 1 for an error in the input, 2 for a wrong command line, 70 for an internal error.");
}

/* A word of the shell. */
static void print_word(const char *before, const char *word) {
  if (!word[strcspn(word, " \t\"'\\$`&|;<>()*?[]#~!{}")]) {
    printf("%s%s", before, word);
    return;
  }
  printf("%s'", before);
  for (; *word; word++)
    if (*word == '\'')
      fputs("'\\''", stdout);
    else
      putchar(*word);
  putchar('\'');
}

static void print_flags(Arena *arena, const char *program, bool cflags, bool libs) {
  const Paths p = paths_find(arena, program);
  if (cflags)
    print_word("-I", p.include);
  if (libs) {
    print_word(cflags ? " " : "", p.runtime);
    fputs(" -lm -lpthread", stdout);
  }
  putchar('\n');
}

/* ---- values */
static bool set_number(const char *option, const char *text, int64_t low, int64_t high, int64_t *out) {
  char *end;
  errno = 0;
  const long long n = strtoll(text, &end, 10);
  if (errno || end == text || *end || n < low || n > high)
    return wrong(
        usage_error("%s needs a number from %lld to %lld, not '%s'", option, (long long)low, (long long)high, text));
  *out = n;
  return true;
}

static bool set_target(const char *text, Target *out) {
  static const struct {
    const char *name;
    Target target;
  } kinds[] = {{"obj", TO_OBJECT},    {"asm", TO_ASSEMBLY}, {"llvm", TO_LLVM}, {"c", TO_C},     {"bitcode", TO_BITCODE},
               {"header", TO_HEADER}, {"ir", TO_IR},        {"ad", TO_AD},     {"dot", TO_DOT}, {"deps", TO_DEPS}};
  const char *names[sizeof kinds / sizeof *kinds];
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    names[i] = kinds[i].name;
    if (!strcmp(text, kinds[i].name)) {
      *out = kinds[i].target;
      return true;
    }
  }
  const char *near = nearest_name(text, names, (int)(sizeof names / sizeof *names));
  return wrong(
      near ? usage_error("--emit=%s is unknown; did you mean %s?", text, near)
           : usage_error("--emit=%s is unknown; it may be obj, asm, llvm, bitcode, c, header, ir, ad, dot or deps",
                         text));
}

static bool set_real(const char *text, Kind *out) {
  if (strcmp(text, "f64") != 0 && strcmp(text, "f32") != 0)
    return wrong(usage_error("--real may be f64 or f32, not '%s'", text));
  *out = strcmp(text, "f32") ? KIND_F64 : KIND_F32;
  return true;
}

static bool set_prefix(const char *text, const char **out) {
  const char *letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  if (!*text || text[strspn(text, letters)] || (*text >= '0' && *text <= '9'))
    return wrong(usage_error("--prefix needs the beginning of a C name, not '%s'", text));
  *out = text;
  return true;
}

static bool set_warning(Arena *arena, Options *o, const char *text) {
  if (!strcmp(text, "error"))
    o->werror = true;
  else if (!strcmp(text, "copy"))
    o->codegen.warn_copy = true;
  else if (!strncmp(text, "no-", 3) && text[3])
    vec_push(arena, o->warnings_off, text + 3);
  else if (strcmp(text, "all") != 0 && strcmp(text, "extra") != 0) /* all but one are on from the start */
    return wrong(usage_error("-W%s is unknown; there are -Wcopy, -Werror and -Wno-NAME", text));
  return true;
}

static bool set_tolerance(const char *text, double *out) {
  char *end;
  *out = strtod(text, &end);
  return (end != text && !*end && *out > 0) ||
         wrong(usage_error("--tolerance needs a positive number, not '%s'", text));
}

static bool apply(Arena *arena, Options *o, OptionId id, const char *value) {
  int64_t n;
  switch (id) {
  case OPTION_OUTPUT: o->output = value; return true;
  case OPTION_EMIT: return set_target(value, &o->target);
  case OPTION_GRAD: vec_push(arena, o->grad, value); return true;
  case OPTION_INCLUDE: vec_push(arena, o->include_dirs, value); return true;
  case OPTION_LEVEL:
    if (!set_number("-O", *value ? value : "1", 0, 3, &n))
      return false;
    o->codegen.opt_level = (int)n;
    return true;
  case OPTION_DEBUG: return o->codegen.debug_lines = true;
  case OPTION_REAL: return set_real(value, &o->real);
  case OPTION_STRICT: return o->strict = true;
  case OPTION_FAST_MATH: return o->fast_math = true;
  case OPTION_UNCHECKED: return o->unchecked = true;
  case OPTION_THREADS: return o->codegen.threads = true;
  case OPTION_NO_MALLOC: return o->codegen.no_malloc = true;
  case OPTION_PREFIX: return set_prefix(value, &o->codegen.prefix);
  case OPTION_TARGET: o->codegen.triple = value; return true;
  case OPTION_CPU: o->codegen.cpu = value; return true;
  case OPTION_FEATURES: o->codegen.features = value; return true;
  case OPTION_AFTER: o->after = value; return true;
  case OPTION_PASSES: o->passes = value; return true;
  case OPTION_NO_VERIFY: return o->no_verify = true;
  case OPTION_RULES: return o->make_rules = true;
  case OPTION_RULES_FILE: o->rules_file = value; return true;
  case OPTION_WARNING: return set_warning(arena, o, value);
  case OPTION_WRITE: return o->fmt_write = true;
  case OPTION_SAVE: o->save_dir = value; return true;
  case OPTION_EVALUATE: return o->evaluate = true;
  case OPTION_DIGITS:
    if (!set_number("--digits", value, 1, 17, &n))
      return false;
    o->digits = (int)n;
    return true;
  case OPTION_SEED: return set_number("--seed", value, 0, INT64_MAX, &o->seed);
  case OPTION_TOLERANCE: return set_tolerance(value, &o->tolerance);
  case OPTION_NO_DIFFERENCES: return o->no_differences = true;
  case OPTION_TIME: return o->time_passes = o->codegen.time_passes = true;
  case OPTION_VERBOSE: return o->verbose = true;
  case OPTION_CFLAGS:
  case OPTION_LIBS:
  case OPTION_VERSION:
  case OPTION_HELP:
  case OPTION_COUNT: break; /* served before */
  }
  return true;
}

/* ---- words */
/* The option that a word begins, and what follows its name in the word (NULL: nothing). */
static OptionId find_option(const char *word, const char **rest) {
  for (int i = 0; i < OPTION_COUNT; i++) {
    const size_t n = strlen(specs[i].name);
    if (strncmp(word, specs[i].name, n) != 0)
      continue;
    const bool is_long = word[1] == '-';
    if (!word[n]) {
      *rest = specs[i].takes == JOINED ? word + n : NULL;
      return (OptionId)i;
    }
    if (is_long ? word[n] == '=' : specs[i].takes == JOINED || (specs[i].takes == VALUE && n == 2)) {
      *rest = word + n + is_long;
      return (OptionId)i;
    }
  }
  return OPTION_COUNT;
}

static bool unknown_option(const char *word) {
  const char *names[OPTION_COUNT];
  for (int i = 0; i < OPTION_COUNT; i++)
    names[i] = specs[i].name;
  char name[64];
  snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
  const char *near = strlen(name) > 2 ? nearest_name(name, names, OPTION_COUNT) : NULL;
  return wrong(near ? usage_error("option '%s' is unknown; did you mean '%s'?", word, near)
                    : usage_error("option '%s' is unknown; gradc --help lists all", word));
}

static bool parse_option(Arena *arena, Options *o, int argc, char **argv, int *i) {
  const char *word = argv[*i], *value;
  const OptionId id = find_option(word, &value);
  if (id == OPTION_COUNT)
    return unknown_option(word);
  const OptionSpec *s = &specs[id];
  if (*s->commands != 'a' && !strchr(s->commands, commands[o->command].letter))
    return wrong(usage_error("%s means nothing to `gradc %s`", s->name, commands[o->command].name));
  if (s->takes == NOTHING && value)
    return wrong(usage_error("%s takes no value", s->name));
  if (s->takes == VALUE && !value) {
    if (*i + 1 >= argc)
      return wrong(usage_error("%s needs a value: %s", s->name, s->value));
    value = argv[++*i];
  }
  return apply(arena, o, id, value);
}

/* --version and its like, wherever they stand before a --, whatever else stands there. */
static bool serve(Arena *arena, int argc, char **argv) {
  bool cflags = false, libs = false;
  for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
    if (!strcmp(argv[i], "--help")) {
      print_help();
      return true;
    }
    if (!strcmp(argv[i], "--version")) {
      printf("gradc %s (%s)\n", GRADC_VERSION, codegen_version(arena));
      return true;
    }
    cflags |= !strcmp(argv[i], "--cflags");
    libs |= !strcmp(argv[i], "--libs");
  }
  if (cflags || libs)
    print_flags(arena, argv[0], cflags, libs);
  return cflags || libs;
}

/* The subcommand is the first word that is not an option nor an option's value; its index, or argc for none. */
static int find_command(int argc, char **argv, Command *out) {
  int i = 1;
  for (; i < argc && argv[i][0] == '-' && argv[i][1] && strcmp(argv[i], "--") != 0; i++) {
    const char *value;
    const OptionId id = find_option(argv[i], &value);
    if (id != OPTION_COUNT && specs[id].takes == VALUE && !value)
      i++;
  }
  for (int k = 0; k < COMMAND_COUNT && i < argc; k++)
    if (!strcmp(argv[i], commands[k].name)) {
      *out = (Command)k;
      return i;
    }
  return argc;
}

/* A comma list of passes; `what` is the option. */
static bool check_passes(Arena *arena, const char *what, const char *list) {
  Strings names = {0};
  const char *name;
  for (int i = 0; pass_describe(i, &name); i++)
    vec_push(arena, names, name);
  for (const char *p = list; *p;) {
    const size_t n = strcspn(p, ",");
    const char *word = arena_strndup(arena, p, n), *near = nearest_name(word, names.at, names.n);
    if (!pass_exists(word))
      return wrong(near ? usage_error("%s: pass '%s' is unknown; did you mean '%s'?", what, word, near)
                        : usage_error("%s: pass '%s' is unknown", what, word));
    p += n + (p[n] == ',');
  }
  return true;
}

static bool check_operands(const Options *o) {
  const CommandSpec *c = &commands[o->command];
  if (o->operands.n == 0)
    return wrong(usage_error("no file is given: gradc %s", c->usage));
  if (o->command != COMMAND_COMPILE || o->operands.n == 1)
    return true;
  /* A misspelt subcommand looks like a file that is not there. */
  const char *names[COMMAND_COUNT];
  for (int i = 0; i < COMMAND_COUNT; i++)
    names[i] = commands[i].name;
  const char *first = o->operands.at[0], *near = strchr(first, '.') ? NULL : nearest_name(first, names, COMMAND_COUNT);
  return wrong(near ? usage_error("subcommand '%s' is unknown; did you mean '%s'?", first, near)
                    : usage_error("one file at a time: '%s' is one too many", o->operands.at[1]));
}

bool options_parse(Arena *arena, int argc, char **argv, Options *o, bool *done) {
  *o = (Options){.program = argc ? argv[0] : "gradc", .real = KIND_F64, .seed = 1, .codegen = {.opt_level = 2}};
  if (argc < 2) {
    print_help();
    return wrong(usage_error("no file is given"));
  }
  *done = serve(arena, argc, argv);
  if (*done)
    return true;
  const int command_at = find_command(argc, argv, &o->command);
  bool only_operands = false;
  for (int i = 1; i < argc; i++) {
    if (i == command_at)
      continue;
    if (!only_operands && !strcmp(argv[i], "--"))
      only_operands = true;
    else if (only_operands || argv[i][0] != '-' || !argv[i][1])
      vec_push(arena, o->operands, argv[i]);
    else if (!parse_option(arena, o, argc, argv, &i))
      return false;
  }
  return (!o->after || check_passes(arena, "--after", o->after)) &&
         (!o->passes || check_passes(arena, "--passes", o->passes)) && check_operands(o);
}
