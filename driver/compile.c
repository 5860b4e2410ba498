/* gradc compile: a file to an object and its header, or to one of the other forms. */
#define _XOPEN_SOURCE 700
#include "codegen/graph.h"
#include "codegen/source.h"
#include "driver/driver.h"
#include "frontend/fmt.h"
#include "ir/output.h"
#include "ir/print.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- names */
typedef struct Suffix {
  const char *text;
  Target target;
} Suffix;
static const Suffix suffixes[] = {{".o", TO_OBJECT}, {".obj", TO_OBJECT}, {".so", TO_SHARED},  {".s", TO_ASSEMBLY},
                                  {".ll", TO_LLVM},  {".c", TO_C},        {".bc", TO_BITCODE}, {".h", TO_HEADER},
                                  {".ir", TO_IR},    {".ad", TO_AD},      {".dot", TO_DOT},    {".d", TO_DEPS}};

static const char *last_suffix(const char *path) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
  return dot && dot != name ? dot : name + strlen(name);
}

static const char *with_suffix(Arena *arena, const char *path, const char *suffix) {
  return arena_printf(arena, "%.*s%s", (int)(last_suffix(path) - path), path, suffix);
}

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static Target wanted_target(const Options *o) {
  if (o->target != TO_AUTO)
    return o->target;
  const char *suffix = o->output ? last_suffix(o->output) : "";
  for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
    if (!strcmp(suffix, suffixes[i].text))
      return suffixes[i].target;
  return TO_OBJECT;
}

typedef struct Plan {
  const char *input;
  Target target;
  const char *output; /* NULL: standard output */
  const char *object; /* the name that a make rule is for */
  const char *header; /* to be written beside, or NULL */
  const char *rules;  /* of -MD, or NULL */
} Plan;

static bool same_file(const char *a, const char *b) {
  struct stat s, t;
  return !stat(a, &s) && !stat(b, &t) && s.st_dev == t.st_dev && s.st_ino == t.st_ino;
}

static bool make_plan(Arena *arena, const Options *o, Plan *p) {
  const char *input = o->operands.at[0];
  const bool to_stdout = o->output && !strcmp(o->output, "-");
  *p = (Plan){.input = input, .target = wanted_target(o)};
  const bool is_stdin = !strcmp(input, "-");
  const char *stem = is_stdin ? NULL : base_name(input);
  const bool binary = p->target == TO_OBJECT || p->target == TO_SHARED || p->target == TO_BITCODE;
  if (!o->output && is_stdin && (binary || p->target == TO_DEPS || o->make_rules))
    return usage_error("standard input gives no name to the output: add -o FILE") == EXIT_DONE;
  p->output = to_stdout ? NULL : o->output;
  if (!o->output && binary)
    p->output = with_suffix(arena, stem, p->target == TO_BITCODE ? ".bc" : ".o");
  p->object = p->output && p->target != TO_DEPS ? p->output : stem ? with_suffix(arena, stem, ".o") : "-";
  if (p->output && (p->target == TO_OBJECT || p->target == TO_SHARED))
    p->header = with_suffix(arena, p->output, ".h");
  if (p->target == TO_SHARED && !p->output)
    return usage_error("a shared object cannot go to standard output") == EXIT_DONE;
  const char *written = p->output && same_file(input, p->output) ? p->output : p->header;
  if (written && same_file(input, written))
    return usage_error("'%s' is both what is read and what would be written", written) == EXIT_DONE;
  if (o->make_rules || o->rules_file)
    p->rules = o->rules_file ? o->rules_file : with_suffix(arena, p->object, ".d");
  return true;
}

/* ---- making */
/* What is written through a FILE, in memory: it goes out complete or not at all. */
typedef struct Text {
  char *bytes;
  size_t n;
} Text;

static bool text_of_header(Session *s, Module *m, const char *name, Text *t) {
  FILE *out = open_memstream(&t->bytes, &t->n);
  if (!out)
    return false;
  codegen_header(m, &s->options->codegen, name, out);
  return !fclose(out) && s->diag.nerrors == 0;
}

static bool text_of_ir(Module *m, Text *t) {
  FILE *out = open_memstream(&t->bytes, &t->n);
  if (!out)
    return false;
  print_module(out, m);
  return !fclose(out);
}

/* The IR as source, in canonical layout. */
static bool text_of_source(Session *s, Module *m, Text *t) {
  Text raw = {0};
  FILE *out = open_memstream(&raw.bytes, &raw.n);
  bool good = out && source_write(m, out);
  good = out && !fclose(out) && good;
  out = good ? open_memstream(&t->bytes, &t->n) : NULL;
  if (out) {
    const Source source = {.name = "(what --emit=ad made)", .text = raw.bytes, .n = raw.n};
    good = !fmt_source(s->arena, &s->diag, &source, out);
    good = !fclose(out) && good;
  }
  free(raw.bytes);
  return good && out;
}

static bool text_of_graph(Module *m, Text *t) {
  FILE *out = open_memstream(&t->bytes, &t->n);
  if (!out)
    return false;
  graph_write(m, out);
  return !fclose(out);
}

static bool write_text(Session *s, const char *path, Text *t) {
  const bool good = output_write(&s->diag, path, t->bytes, t->n);
  free(t->bytes);
  *t = (Text){0};
  return good;
}

static bool make_code(Session *s, Module *m, const Plan *p) {
  const CodegenOptions *o = &s->options->codegen;
  switch (p->target) {
  case TO_SHARED: return codegen_shared(m, o, s->paths.runtime, s->options->verbose, p->output);
  case TO_ASSEMBLY: return codegen_emit(m, o, EMIT_ASSEMBLY, p->output);
  case TO_LLVM: return codegen_emit(m, o, EMIT_LLVM, p->output);
  case TO_C: return codegen_emit(m, o, EMIT_C, p->output);
  case TO_BITCODE: return codegen_emit(m, o, EMIT_BITCODE, p->output);
  default: return codegen_emit(m, o, EMIT_OBJECT, p->output);
  }
}

/* The header is made before the code and written after it, so that a failure leaves neither. */
static bool make_code_and_header(Session *s, Module *m, const Plan *p) {
  Text header = {0};
  bool good = !p->header || text_of_header(s, m, base_name(p->header), &header);
  good = good && make_code(s, m, p);
  if (good && p->header) {
    good = write_text(s, p->header, &header);
    if (!good)
      remove(p->output);
  }
  free(header.bytes);
  return good;
}

static bool make_rules(Session *s, const Plan *p, const char *path) {
  const char *rule = make_rule(s->arena, p->object, &s->read);
  return output_write(&s->diag, path, rule, strlen(rule));
}

static bool make_output(Session *s, Module *m, const Plan *p) {
  Text text = {0};
  switch (p->target) {
  case TO_DEPS: return make_rules(s, p, p->output);
  case TO_IR: return text_of_ir(m, &text) && write_text(s, p->output, &text);
  case TO_AD: return text_of_source(s, m, &text) && write_text(s, p->output, &text);
  case TO_DOT: return text_of_graph(m, &text) && write_text(s, p->output, &text);
  case TO_HEADER: {
    const char *name = base_name(p->output ? p->output : with_suffix(s->arena, p->input, ".h"));
    return text_of_header(s, m, name, &text) && write_text(s, p->output, &text);
  }
  default: return make_code_and_header(s, m, p);
  }
}

static bool derived(Session *s, const Module *m) {
  for (const Func *f = m->funcs; f; f = f->next)
    if (f->derive.op != DERIVE_NONE && f->nresults && !f->body->nyields) {
      diag_error(&s->diag, (Range){0}, "the passes that were asked for leave '%s' to be derived: add --emit=ir",
                 f->name);
      return false;
    }
  return true;
}

static bool compile(Session *s, const Plan *p) {
  Module *m = session_module(s, p->input);
  if (!m)
    return false;
  const bool needs_code = p->target != TO_IR && p->target != TO_AD && p->target != TO_DOT && p->target != TO_DEPS;
  if (p->target != TO_DEPS && !session_passes(s, m, needs_code || !is_ir_file(p->input)))
    return false;
  if (needs_code && !derived(s, m))
    return false;
  return make_output(s, m, p) && (!p->rules || make_rules(s, p, p->rules));
}

int command_compile(Arena *arena, const Options *o) {
  Plan plan;
  if (!make_plan(arena, o, &plan))
    return EXIT_USAGE;
  Options own = *o;
  if (plan.target == TO_AD || plan.target == TO_DOT || plan.target == TO_C)
    own.codegen.threads = false; /* to be read, and silent on how the program runs; C99 has none */
  Session s;
  session_begin(&s, arena, &own);
  if (o->verbose)
    fprintf(stderr, "gradc %s (%s)\n", GRADC_VERSION, codegen_version(arena));
  const bool good = compile(&s, &plan);
  const int status = session_end(&s);
  return good ? status : EXIT_INPUT;
}
