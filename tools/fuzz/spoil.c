/* gradc-fuzz --spoil FILE ..: texts of programs with a few faults put in, read by the front end or by the parser of the
   textual IR, and, where they are still programs, taken through the passes and sometimes to native code.  Nothing may
   crash, hang or end in an internal error; what the compiler says of them does not count.
   A text is split into tokens; an edit removes, doubles, swaps or replaces some, by tokens of the same or another file,
   or flips a byte; gentler ones exchange a token for one of the same class. */
#include "tools/fuzz/spoil.h"
#include "driver/runtime_symbols.h"
#include "frontend/elaborate.h"
#include "ir/parse_ir.h"
#include "tools/fuzz/run.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 6000, MOST_EDITS = 5 };

typedef struct Token {
  const char *at;
  int n;
} Token;
typedef VEC(Token) Tokens;

/* ---- tokens */
static bool of_word(char c) {
  return isalnum((unsigned char)c) || c == '_' || c == '.';
}

static Tokens tokens_of(Arena *a, const char *text) {
  Tokens out = {0};
  while (*text) {
    Token t = {text, 1};
    if (!strncmp(text, "//", 2)) { /* RUN lines and answers are no program */
      text += strcspn(text, "\n");
      continue;
    }
    if (*text == '"')
      t.n += (int)strcspn(text + 1, "\"\n") + (text[1] != 0);
    else if (isspace((unsigned char)*text))
      t.n = (int)strspn(text, " \t\r\n");
    else
      while (of_word(text[0]) && of_word(text[t.n]))
        t.n++;
    if (t.n > (int)strlen(text))
      t.n = (int)strlen(text);
    vec_push(a, out, t);
    text += t.n;
  }
  return out;
}

static Token any_of(const Tokens *t, Rng *r) {
  return t->n ? t->at[rng_below(r, t->n)] : (Token){"", 0};
}

/* Tokens that files may lack and mistakes have. */
static Token odd_one(Rng *r) {
  static const char *const texts[] = {"0",     "-1",      "1",      "9223372036854775807",
                                      "1e999", "{",       "}",      "[",
                                      "]",     "(",       ")",      ",",
                                      ";",     ":",       "\"",     "..",
                                      "size",  "%n",      "%0",     "@f",
                                      "f32",   "f64[n]",  "i64",    "bool",
                                      "grad",  "fn",      "loop",   "yield",
                                      "nan",   "checked", "=",      "-",
                                      "*",     "/",       "real",   "checkpoint",
                                      "if",    "else",    "while",  "0.0",
                                      "n",     "x",       "let",    "var",
                                      "wrt",   "mode",    "return", "[n, n]",
                                      "<",     "in",      "sum",    "i64[n]",
                                      "^",     "@",       ".",      "x.T"};
  const char *text = texts[rng_below(r, sizeof texts / sizeof *texts)];
  return (Token){text, (int)strlen(text)};
}

/* Numbers, words, marks: what may stand in each other's places. */
static int class_of(Token t) {
  const char c = t.n ? *t.at : ' ';
  return isspace((unsigned char)c) ? 0 : isdigit((unsigned char)c) ? 1 : of_word(c) ? 2 : 4 + c % 64;
}

/* One token for another of its class: what comes out is the likeliest to be a program still. */
static void exchange(Tokens *t, Rng *r) {
  const int at = rng_below(r, t->n);
  const int class = class_of(t->at[at]);
  /* Of value names the mark before stands for the class. */
  const char before = at ? *t->at[at - 1].at : ' ';
  for (int tries = 0; tries < 60; tries++) {
    const int i = rng_below(r, t->n);
    const bool same = class && class_of(t->at[i]) == class && (i ? *t->at[i - 1].at : ' ') == before;
    if (same && (t->at[i].n != t->at[at].n || memcmp(t->at[i].at, t->at[at].at, (size_t)t->at[i].n) != 0)) {
      t->at[at] = t->at[i];
      return;
    }
  }
}

static void edit(Arena *a, Tokens *t, const Tokens *other, Rng *r) {
  const int at = rng_below(r, t->n), run = 1 + rng_below(r, rng_below(r, 4) ? 3 : 20);
  const int until = at + run < t->n ? at + run : t->n;
  Tokens out = {0};
  const int kind = rng_below(r, 8);
  const int from = rng_below(r, t->n);
  for (int i = 0; i < t->n; i++) {
    const bool here = i >= at && i < until;
    if (kind == 0 && here) /* without */
      continue;
    if (kind == 2 && i == at) /* a run of the same file */
      for (int k = from; k < from + run && k < t->n; k++)
        vec_push(a, out, t->at[k]);
    if (kind == 3 && i == at) /* of another */
      for (int k = rng_below(r, other->n + 1), n = 0; k < other->n && n < run; k++, n++)
        vec_push(a, out, other->at[k]);
    Token token = t->at[i];
    if (kind == 4 && i == at)
      token = any_of(t, r);
    if (kind == 5 && i == at)
      token = odd_one(r);
    if (kind == 6 && i == at && i + 1 < t->n)
      token = t->at[i + 1];
    if (kind == 6 && i == at + 1)
      token = t->at[at];
    if (kind == 7 && i == at && token.n) { /* a byte */
      char *copy = arena_strndup(a, token.at, (size_t)token.n);
      copy[rng_below(r, token.n)] ^= (char)(1 << rng_below(r, 8));
      token = (Token){copy, (int)strlen(copy)};
    }
    vec_push(a, out, token);
    if (kind == 1 && here)
      vec_push(a, out, token);
  }
  *t = out;
}

static const char *joined(Arena *a, const Tokens *t) {
  Text text = {.arena = a};
  for (int i = 0; i < t->n; i++)
    text_printf(&text, "%.*s", t->at[i].n, t->at[i].at);
  return text_end(&text);
}

/* ---- files and texts */
static bool is_ir(const char *path) {
  const char *dot = strrchr(path, '.');
  return dot && !strcmp(dot, ".ir");
}

static const char *file_text(Arena *a, const char *path) {
  Diag diag = {.arena = a};
  const Source *source = source_read(a, &diag, path);
  return source ? source->text : "";
}

/* The text of that number; *ir says of what kind it is. */
const char *spoiled_text(Arena *a, char *const *files, int nfiles, uint64_t seed, uint64_t number, bool *ir) {
  Rng mix = {seed}, r = {rng_next(&mix) ^ number * 0x9e3779b97f4a7c15u};
  rng_next(&r);
  const char *path = files[rng_below(&r, nfiles)], *text = file_text(a, path);
  *ir = is_ir(path);
  if (strlen(text) > LONGEST)
    return "";
  Tokens t = tokens_of(a, text);
  const Tokens other = tokens_of(a, file_text(a, files[rng_below(&r, nfiles)]));
  const int gentle = rng_below(&r, 4); /* most texts are to get past the first error */
  for (int edits = 1 + rng_below(&r, MOST_EDITS); edits > 0 && t.n; edits--)
    if (gentle)
      exchange(&t, &r);
    else
      edit(a, &t, &other, &r);
  return joined(a, &t);
}

static Module *read_text(Arena *a, Session *s, const char *text, bool ir) {
  const Source *source = source_from_text(a, ir ? "fuzz.ir" : "fuzz.ad", text, strlen(text));
  if (ir)
    return parse_ir(a, &s->diag, source);
  const char **dirs = NEW_ARRAY(a, const char *, 2), *const *none = NEW_ARRAY(a, const char *, 1);
  dirs[0] = s->paths.library;
  const ElabOptions elab = {.real = KIND_F64, .include_dirs = dirs, .library_dir = dirs[0], .grad = none};
  return elaborate(a, &s->diag, source, &elab, NULL, NULL);
}

/* True where the text is a program. */
bool spoiled_run(const char *text, bool ir, bool native) {
  Arena a = {0};
  Options o = {.command = COMMAND_RUN, .program = "gradc", .real = KIND_F64, .evaluate = !native};
  o.codegen.opt_level = native ? 0 : 2;
  Session s;
  session_begin(&s, &a, &o);
  Module *m = read_text(&a, &s, text, ir);
  const bool good = m && !s.diag.nerrors;
  Callable callable = {0};
  if (good) {
    m->find_kernel = kernel_find;
    if (kernels_check(m))
      callable_prepare(&callable, &s, m);
  }
  FILE *nowhere = fopen("/dev/null", "w");
  if (nowhere) {
    diag_flush(&s.diag, nowhere);
    fclose(nowhere);
  }
  callable_free(&callable);
  arena_free(&a);
  return good;
}

/* ---- shrinking: lines, then tokens, by halves and ever shorter runs */
const char *spoiled_shrink(Arena *a, const char *text, bool ir, SpoiledFails *fails, void *arg, int budget) {
  Tokens t = tokens_of(a, text);
  for (int run = t.n / 2; run > 0; run = run > 3 ? run / 2 : run - 1)
    for (int at = t.n - run; at >= 0 && budget > 0; at -= run) {
      Tokens less = {0};
      for (int i = 0; i < t.n; i++)
        if (i < at || i >= at + run)
          vec_push(a, less, t.at[i]);
      budget--;
      if (fails(arg, joined(a, &less), ir))
        t = less;
    }
  return joined(a, &t);
}
