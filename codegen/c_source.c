/* The module of --emit=c: names, types, what is declared, and the functions in their order. */
#include "codegen/c_source.h"
#include "ir/ir.h"
#include <ctype.h>
#include <string.h>

enum { LONGEST_TEXT = 4096 }; /* that C99 promises */

/* ---- texts by value */
static size_t place_of(const Names *n, const void *key) {
  size_t i = ((uintptr_t)key >> 4) * 0x9e3779b97f4a7c15u >> 20 & (n->room - 1);
  while (n->keys[i] && n->keys[i] != key)
    i = (i + 1) & (n->room - 1);
  return i;
}

const char *names_find(const Names *n, const void *key) {
  return n->room ? n->texts[place_of(n, key)] : NULL;
}

void names_set(Arena *arena, Names *n, const void *key, const char *text) {
  if (2 * n->n >= n->room) {
    Names more = {.room = n->room ? 2 * n->room : 64};
    more.keys = NEW_ARRAY(arena, const void *, more.room);
    more.texts = NEW_ARRAY(arena, const char *, more.room);
    for (size_t i = 0; i < n->room; i++)
      if (n->keys[i]) {
        const size_t at = place_of(&more, n->keys[i]);
        more.keys[at] = n->keys[i];
        more.texts[at] = n->texts[i];
        more.n++;
      }
    *n = more;
  }
  const size_t at = place_of(n, key);
  n->n += !n->keys[at];
  n->keys[at] = key;
  n->texts[at] = text;
}

/* ---- names */
/* Letters and digits only; may be empty. */
static const char *plain_name(Arena *arena, LLVMValueRef v) {
  size_t n;
  const char *name = LLVMGetValueName2(v, &n);
  char *text = arena_strndup(arena, name, n);
  for (char *p = text; *p; p++)
    *p = isalnum((unsigned char)*p) ? *p : '_';
  return text;
}

/* Variables end in a number, which no two share; an exported function's parameters are called as they are, and come to
   be named so by chance only if they end in one too: these have another underscore. */
const char *c_fresh(CWriter *w, LLVMValueRef v) {
  const char *name = plain_name(w->arena, v);
  return arena_printf(w->arena, "%s%s__%d", isalpha((unsigned char)name[0]) ? "" : "x", name, ++w->number);
}

/* ---- types */
typedef struct CType {
  LLVMTypeKind kind;
  unsigned width; /* of integers */
  const char *variable, *cell;
} CType;
static const CType types[] = {
    {LLVMDoubleTypeKind, 0, "double", "gradc_f64"},
    {LLVMFloatTypeKind, 0, "float", "gradc_f32"},
    {LLVMPointerTypeKind, 0, "char *", "gradc_ptr"},
    {LLVMVoidTypeKind, 0, "void", NULL},
    {LLVMIntegerTypeKind, 1, "bool", NULL},
    {LLVMIntegerTypeKind, 8, "uint8_t", "gradc_u8"},
    {LLVMIntegerTypeKind, 32, "int32_t", "gradc_i32"},
    {LLVMIntegerTypeKind, 64, "int64_t", "gradc_i64"},
};

static const CType *type_of(LLVMTypeRef t) {
  const LLVMTypeKind kind = LLVMGetTypeKind(t);
  const unsigned width = kind == LLVMIntegerTypeKind ? LLVMGetIntTypeWidth(t) : 0;
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (types[i].kind == kind && types[i].width == width)
      return &types[i];
  internal_error("--emit=c: no C for the type %s", LLVMPrintTypeToString(t));
}

const char *c_type(LLVMTypeRef t) {
  return type_of(t)->variable;
}

const char *c_cell(LLVMTypeRef t) {
  const char *cell = type_of(t)->cell;
  if (!cell)
    internal_error("--emit=c: no memory for the type %s", LLVMPrintTypeToString(t));
  return cell;
}

const char *c_declared(CWriter *w, LLVMTypeRef t, const char *name) {
  const char *type = c_type(t);
  return arena_printf(w->arena, type[strlen(type) - 1] == '*' ? "%s%s" : "%s %s", type, name);
}

/* ---- variables of the module */
static const char *symbol_of(CWriter *w, LLVMValueRef f) {
  size_t n;
  return LLVMGetValueName2(f, &n) ? arena_strndup(w->arena, LLVMGetValueName2(f, &n), n) : "";
}

static bool is_internal(LLVMValueRef f) {
  const LLVMLinkage linkage = LLVMGetLinkage(f);
  return linkage == LLVMInternalLinkage || linkage == LLVMPrivateLinkage;
}

static void name_global(CWriter *w, LLVMValueRef v) {
  const char *name =
      is_internal(v) ? arena_printf(w->arena, "gradc_%s_%d", plain_name(w->arena, v), ++w->number) : symbol_of(w, v);
  names_set(w->arena, &w->globals, v, name);
}

static void print_text(FILE *out, const char *text, size_t n) {
  fputc('"', out);
  for (size_t i = 0; i + 1 < n; i++) {
    const unsigned char c = (unsigned char)text[i];
    if (c == '"' || c == '\\')
      fprintf(out, "\\%c", c);
    else if (c < ' ' || c > '~' || c == '?')
      fprintf(out, "\\%03o", c);
    else
      fputc(c, out);
  }
  fputc('"', out);
}

static void write_variable(CWriter *w, LLVMValueRef v) {
  LLVMValueRef value = LLVMGetInitializer(v);
  LLVMTypeRef type = LLVMGlobalGetValueType(v);
  if (!value || LLVMGetTypeKind(type) != LLVMArrayTypeKind)
    internal_error("--emit=c: no C for a variable of the module");
  LLVMTypeRef element = LLVMGetElementType(type);
  const char *name = names_find(&w->globals, v);
  size_t n = 0;
  const char *text =
      LLVMIsAConstantDataSequential(value) && LLVMIsConstantString(value) ? LLVMGetAsString(value, &n) : "";
  if (n && n < LONGEST_TEXT && !text[n - 1]) {
    fprintf(w->out, "static char %s[] = ", name);
    print_text(w->out, text, n);
  } else {
    fprintf(w->out, "static %s %s[] = %s", c_cell(element), name, c_initialiser(w, value));
  }
  fputs(";\n", w->out);
  names_set(w->arena, &w->globals, v, arena_printf(w->arena, "(char *)%s", name));
}

/* ---- functions */
/* As it is declared, and in a function of its own the parameters' names. */
static void print_signature(CWriter *w, LLVMValueRef f, bool names) {
  const char *symbol = symbol_of(w, f), **exported = NULL;
  int nexported = 0;
  const char *text = is_internal(f) ? NULL : c_prototype(w->module, w->options, symbol, &nexported, &exported);
  const unsigned n = LLVMCountParams(f);
  if (text && (unsigned)nexported == n) {
    fputs(text, w->out);
    for (unsigned i = 0; i < n && names; i++) {
      LLVMValueRef p = LLVMGetParam(f, i);
      const bool address = LLVMGetTypeKind(LLVMTypeOf(p)) == LLVMPointerTypeKind;
      names_set(w->arena, &w->locals, p, address ? arena_printf(w->arena, "(char *)%s", exported[i]) : exported[i]);
    }
    return;
  }
  fprintf(w->out, "%s%s(", is_internal(f) ? "static " : "",
          c_declared(w, LLVMGetReturnType(LLVMGlobalGetValueType(f)), names_find(&w->globals, f)));
  for (unsigned i = 0; i < n; i++) {
    LLVMValueRef p = LLVMGetParam(f, i);
    const char *name = names ? c_fresh(w, p) : NULL;
    fprintf(w->out, "%s%s", i ? ", " : "", name ? c_declared(w, LLVMTypeOf(p), name) : c_type(LLVMTypeOf(p)));
    if (name)
      names_set(w->arena, &w->locals, p, name);
  }
  fputs(n ? ")" : "void)", w->out);
}

static bool is_written(LLVMValueRef f) {
  return LLVMGetFirstBasicBlock(f) && !c_is_known(f);
}

bool c_source_write(Module *m, const CodegenOptions *o, LLVMModuleRef module, FILE *out) {
  CWriter w = {.module = m, .options = o, .arena = m->arena, .out = out};
  fprintf(out, "/* Made by gradc from %s; changes are lost when it is made again.\n", m->file ? m->file : "a module");
  fputs("   Portable C99. It is compiled with gradc.h alone, and linked with gradc's runtime and -lm. */\n", out);
  fputs(c_preamble, out);
  fputs(m->strict ? "#pragma STDC FP_CONTRACT OFF\n\n" : "\n", out);
  for (LLVMValueRef v = LLVMGetFirstGlobal(module); v; v = LLVMGetNextGlobal(v)) {
    name_global(&w, v);
    write_variable(&w, v);
  }
  fputc('\n', out);
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
    if (c_is_known(f))
      continue;
    name_global(&w, f);
    print_signature(&w, f, false);
    fputs(";\n", out);
  }
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
    if (!is_written(f))
      continue;
    w.locals = w.cells = (Names){0};
    fputc('\n', out);
    print_signature(&w, f, true);
    fputs(" {\n", out);
    c_function_write(&w, f);
    fputs("}\n", out);
  }
  return !ferror(out);
}
