/* The C header: one prototype an export, with its worksize and ws forms, each documented from its types. */
#include "codegen/interface.h"
#include "ir/size.h"
#include <ctype.h>
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
  fprintf(out, "%s);\n", params->n ? "" : "void");
}

/* `name`, made different from all parameters. */
static const char *own_name(Arena *arena, const CInterface *c, const char *name) {
  for (int i = 0; i < c->nparams; i++)
    if (!strcmp(c->params[i].name, name))
      return own_name(arena, c, arena_printf(arena, "%s_", name));
  return name;
}

static void print_prototypes(FILE *out, Arena *arena, const CInterface *c) {
  Strings all = {0}, sizes = {0};
  for (int i = 0; i < c->nparams; i++) {
    vec_push(arena, all, declaration(arena, c, &c->params[i]));
    if (c->params[i].sizes_work)
      vec_push(arena, sizes, all.at[i]);
  }
  if (c->has_plain)
    print_prototype(out, c->has_ws ? "int " : "int64_t ", c->symbol, &all);
  if (!c->has_ws)
    return;
  print_prototype(out, "int64_t ", c->worksize_symbol, &sizes);
  vec_push(arena, all, arena_printf(arena, "void *%s", own_name(arena, c, "work")));
  vec_push(arena, all, arena_printf(arena, "int64_t %s", own_name(arena, c, "worksize")));
  print_prototype(out, "int ", c->ws_symbol, &all);
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
