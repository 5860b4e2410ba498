/* The C header: one prototype an export, with its worksize and ws forms, each documented from its types. */
#define _XOPEN_SOURCE 700
#include "codegen/interface.h"
#include "ir/size.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_WIDTH = 100 };

static const char *guard_of(Arena *arena, const char *name) {
  char *guard = arena_printf(arena, "GRADC_%s", name);
  for (char *p = guard; *p; p++)
    *p = isalnum((unsigned char)*p) ? (char)toupper((unsigned char)*p) : '_';
  return guard;
}

/* A header does not depend on the folder that it was made in. */
static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* ---- prototypes */
typedef VEC(const char *) Strings;

static const char *declaration(Arena *arena, const CInterface *c, const CParam *p) {
  const char *kind = c_kind_name(p->kind);
  switch (p->role) {
  case C_SIZE:
  case C_SCALAR: return arena_printf(arena, "%s %s", kind, p->name);
  case C_TENSOR: return arena_printf(arena, "const %s *%s", kind, p->name);
  case C_OUTPUT: return arena_printf(arena, "%s *%s", kind, p->name);
  case C_TAPE: return arena_printf(arena, c->export->part == PART_FORWARD ? "void *%s" : "const void *%s", p->name);
  }
  return "";
}

static void print_prototype(FILE *out, const char *result, const char *symbol, const Strings *params) {
  int column = fprintf(out, "%s%s(", result, symbol);
  const int indent = column;
  for (int i = 0; i < params->n; i++) {
    if (i && column + (int)strlen(params->at[i]) + 3 > LINE_WIDTH)
      column = fprintf(out, ",\n%*s", indent, "") - 2;
    else if (i)
      column += fprintf(out, ", ");
    column += fprintf(out, "%s", params->at[i]);
  }
  fprintf(out, "%s)", params->n ? "" : "void");
}

/* `name`, made different from all parameters. */
static const char *own_name(Arena *arena, const CInterface *c, const char *name) {
  for (int i = 0; i < c->nparams; i++)
    if (!strcmp(c->params[i].name, name))
      return own_name(arena, c, arena_printf(arena, "%s_", name));
  return name;
}

/* The functions of an export: what they return and are called, and their parameters. */
typedef struct Prototype {
  const char *result, *symbol;
  Strings params, names;
} Prototype;

static void add_param(Arena *arena, Prototype *p, const char *text, const char *name) {
  vec_push(arena, p->params, text);
  vec_push(arena, p->names, name);
}

static int prototypes_of(Arena *arena, const CInterface *c, Prototype out[3]) {
  Prototype plain = {.result = c->has_ws ? "int " : "int64_t ", .symbol = c->symbol};
  Prototype size = {.result = "int64_t ", .symbol = c->worksize_symbol},
            with = {.result = "int ", .symbol = c->ws_symbol};
  for (int i = 0; i < c->nparams; i++) {
    const CParam *p = &c->params[i];
    const char *text = declaration(arena, c, p);
    add_param(arena, &plain, text, p->name);
    add_param(arena, &with, text, p->name);
    if (p->sizes_work)
      add_param(arena, &size, text, p->name);
  }
  const char *work = own_name(arena, c, "work"), *bytes = own_name(arena, c, "worksize");
  add_param(arena, &with, arena_printf(arena, "void *%s", work), work);
  add_param(arena, &with, arena_printf(arena, "int64_t %s", bytes), bytes);
  int n = 0;
  if (c->has_plain)
    out[n++] = plain;
  if (c->has_ws) {
    out[n++] = size;
    out[n++] = with;
  }
  return n;
}

static void print_prototypes(FILE *out, Arena *arena, const CInterface *c) {
  Prototype p[3];
  const int n = prototypes_of(arena, c, p);
  for (int i = 0; i < n; i++) {
    print_prototype(out, p[i].result, p[i].symbol, &p[i].params);
    fputs(";\n", out);
  }
}

const char *c_prototype(Module *m, const CodegenOptions *o, const char *symbol, int *nparams, const char ***names) {
  for (const Export *e = m->exports; e; e = e->next) {
    Prototype p[3];
    const int n = prototypes_of(m->arena, interface_of(m, e, o), p);
    for (int i = 0; i < n; i++) {
      if (strcmp(p[i].symbol, symbol) != 0)
        continue;
      char *text = NULL;
      size_t bytes = 0;
      FILE *out = open_memstream(&text, &bytes);
      if (!out)
        internal_error("out of memory");
      print_prototype(out, p[i].result, symbol, &p[i].params);
      fclose(out);
      const char *kept = arena_strndup(m->arena, text, bytes);
      free(text);
      *nparams = p[i].params.n;
      *names = p[i].names.at;
      return kept;
    }
  }
  return NULL;
}

/* ---- comments */
static const char *role_text(const CInterface *c, const CParam *p) {
  switch (p->role) {
  case C_SIZE: return "size";
  case C_SCALAR:
  case C_TENSOR: return "in";
  case C_OUTPUT: return p->accumulates ? "added to" : "out";
  case C_TAPE: return c->export->part == PART_FORWARD ? "out" : "in";
  }
  return "";
}

/* What the function computes, said by how it was asked for. */
static void print_origin(FILE *out, const CInterface *c) {
  const Func *f = c->export->func;
  const Derive *d = &f->recipe;
  static const char *const parts[] = {"", "the forward part of ", "the backward part of ", "the bytes of the tape of "};
  fprintf(out, "/* %s", c->symbol);
  if (d->op != DERIVE_NONE && d->base)
    fprintf(out, ": %s%s of %s", parts[c->export->part], derive_name[d->op], d->base->name);
  const Range loc = c->export->loc.src ? c->export->loc : f->loc;
  if (loc.src && loc.line > 0)
    fprintf(out, " (%s:%d)", base_name(loc.src->name), loc.line);
  fputc('\n', out);
}

static void print_comment(FILE *out, Module *m, const CInterface *c) {
  int width = 0;
  for (int i = 0; i < c->nparams; i++)
    if ((int)strlen(c->params[i].name) > width)
      width = (int)strlen(c->params[i].name);
  print_origin(out, c);
  for (int i = 0; i < c->nparams; i++) {
    const CParam *p = &c->params[i];
    fprintf(out, "     %-*s  ", width, p->name);
    if (p->role == C_SIZE)
      fputs("size\n", out);
    else
      fprintf(out, "%-8s  %s\n", role_text(c, p), p->role == C_TAPE ? "tape" : type_text(m, p->type));
  }
  fputs("*/\n", out);
}

void codegen_header(Module *m, const CodegenOptions *o, const char *guard, FILE *out) {
  const char *name = guard_of(m->arena, guard);
  fprintf(out, "/* Made by gradc from %s; changes are lost when it is made again.\n\n", base_name(m->file));
  fputs("   Each function returns 0, or a status from gradc.h, and gradc_last_error() then says where and why.  "
        "Tensors are\n"
        "   dense and row-major, of the shape stated; outputs must not overlap inputs or each other, and one that is "
        "not\n"
        "   wanted may be NULL.  NAME_ws works in the caller's memory, of at least NAME_worksize(..) bytes. */\n",
        out);
  fprintf(out, "#ifndef %s\n#define %s\n#include <stdint.h>\n", name, name);
  fputs("#ifdef __cplusplus\nextern \"C\" {\n#endif\n", out);
  for (const Export *e = m->exports; e; e = e->next) {
    const CInterface *c = interface_of(m, e, o);
    fputc('\n', out);
    print_comment(out, m, c);
    print_prototypes(out, m->arena, c);
  }
  fputs("\n#ifdef __cplusplus\n}\n#endif\n#endif\n", out);
}
