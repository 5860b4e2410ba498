/* gradc explain: each line of a function's source beside the statements of its gradient that come from it.  Statements
   that the derivative made are marked by a star; the others compute what these read. */
#include "codegen/source.h"
#include "driver/driver.h"
#include <string.h>

enum { WIDEST = 72 };

typedef VEC(const SourceLine *) LineList;

/* ---- what is explained */
static bool is_reverse(const Func *f) {
  return f->recipe.op == DERIVE_GRAD || f->recipe.op == DERIVE_VALUE_AND_GRAD || f->recipe.op == DERIVE_VJP;
}

/* An exported derivative of that name, or of the function of that name. */
static const Export *find_derivative(const Module *m, const char *name) {
  for (const Export *e = m->exports; e; e = e->next)
    if (e->func->recipe.op != DERIVE_NONE && !strcmp(e->symbol, name))
      return e;
  for (const Export *e = m->exports; e; e = e->next)
    if (e->part == PART_WHOLE && is_reverse(e->func) && !strcmp(e->func->recipe.base->name, name))
      return e;
  return NULL;
}

/* By "loss", or "loss:w,b", as --grad has it. */
static const Export *derivative(Session *s, const char *path, const char *what, Module **m) {
  const char *colon = strchr(what, ':');
  const char *name = colon ? arena_strndup(s->arena, what, (size_t)(colon - what)) : what;
  const Export *e = NULL;
  *m = session_module(s, path);
  if (*m && !colon)
    e = find_derivative(*m, name);
  if (!*m || e)
    return e;
  if (is_ir_file(path)) {
    diag_error(&s->diag, (Range){0}, "'%s' has no exported gradient of '%s'", path, name);
    return NULL;
  }
  Options *own = NEW(s->arena, Options);
  *own = *s->options;
  own->grad = (Strings){0};
  vec_push(s->arena, own->grad, what);
  own->grad_alone = true; /* what the file exports may have the same name */
  s->options = own;
  *m = session_module(s, path);
  e = *m ? find_derivative(*m, name) : NULL;
  if (*m && !e)
    diag_error(&s->diag, (Range){0}, "'%s' has no gradient of '%s'", path, name);
  return e;
}

/* ---- lines */
static const char *line_of(Arena *arena, const Source *src, int line) {
  const char *p = src->text;
  for (; line > 1 && *p; line--) {
    p += strcspn(p, "\n");
    p += *p == '\n';
  }
  return arena_strndup(arena, p, strcspn(p, "\n"));
}

/* Characters, as a terminal counts them. */
static int width_of(const char *text) {
  int n = 0;
  for (; *text; text++)
    n += ((unsigned char)*text & 0xc0) != 0x80;
  return n;
}

static void print_pair(int number, const char *left, int width, const char *right) {
  char digits[16] = "";
  if (number)
    snprintf(digits, sizeof digits, "%d", number);
  printf("%5s | %s", digits, left);
  if (right)
    printf("%*s | %s", width - width_of(left) > 0 ? width - width_of(left) : 0, "", right);
  putchar('\n');
}

static const char *statement(Arena *arena, const SourceLine *line) {
  size_t n = strlen(line->text);
  if (n > 1 && !strcmp(line->text + n - 2, " {")) /* what it holds is told by its indentation */
    n -= 2;
  return arena_printf(arena, "%c %*s%.*s", op_is_derivative(line->op) ? '*' : ' ', 2 * line->indent, "", (int)n,
                      line->text);
}

static void print_file(Arena *arena, const Source *src, const SourceLines *lines) {
  int first = 0, last = 0, width = 0;
  for (int i = 0; i < lines->n; i++) {
    const Op *op = lines->at[i].op;
    if (!op || op->loc.src != src || op->loc.line < 1)
      continue;
    first = !first || op->loc.line < first ? op->loc.line : first;
    last = op->loc.line > last ? op->loc.line : last;
  }
  for (int line = first; line <= last; line++) {
    const int w = width_of(line_of(arena, src, line));
    width = w > width ? w : width;
  }
  width = width > WIDEST ? WIDEST : width;
  for (int line = first; line <= last; line++) {
    const char *left = line_of(arena, src, line);
    int number = line;
    for (int i = 0; i < lines->n; i++) {
      const SourceLine *l = &lines->at[i];
      if (!l->op || l->op->loc.src != src || l->op->loc.line != line || !strcmp(l->text, "{"))
        continue;
      print_pair(number, left, width, statement(arena, l));
      number = 0;
      left = "";
    }
    if (number)
      print_pair(number, left, width, NULL);
  }
}

static void print_all(Arena *arena, const Export *e, const SourceLines *lines) {
  const Func *f = e->func;
  VEC(const Source *) seen = {0};
  printf("%s: %s of %s; * marks what the derivative made\n", e->symbol, derive_name[f->recipe.op],
         f->recipe.base->name);
  for (int i = 0; i < lines->n; i++) {
    const Source *src = lines->at[i].op ? lines->at[i].op->loc.src : NULL;
    bool known = !src;
    for (int k = 0; k < seen.n; k++)
      known |= seen.at[k] == src;
    if (known)
      continue;
    vec_push(arena, seen, src);
    printf("\n%s\n", src->name);
    print_file(arena, src, lines);
  }
}

int command_explain(Arena *arena, const Options *o) {
  if (o->operands.n != 2)
    return usage_error("a file and a function: gradc explain model.ad FUNCTION");
  Session s;
  Module *m = NULL;
  SourceLines lines = {0};
  session_begin(&s, arena, o);
  const Export *e = derivative(&s, o->operands.at[0], o->operands.at[1], &m);
  const bool good = e && session_passes(&s, m, true) && source_of_func(e->func, &lines);
  if (good)
    print_all(arena, e, &lines);
  const int status = session_end(&s);
  return good ? status : EXIT_INPUT;
}
