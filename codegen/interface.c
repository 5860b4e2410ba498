/* The C signature of an export: see codegen/interface.h. */
#include "codegen/interface.h"
#include "ir/raw.h"
#include "ir/size.h"
#include "ir/value_table.h"
#include <string.h>

const char *c_kind_name(Kind k) {
  static const char *const names[] = {"uint8_t", "int32_t", "int64_t", "float", "double"};
  return names[k];
}

/* ---- names */
static bool reserved(const char *name) {
  static const char *const words[] = {"alignas",
                                      "alignof",
                                      "and",
                                      "and_eq",
                                      "asm",
                                      "auto",
                                      "bitand",
                                      "bitor",
                                      "bool",
                                      "break",
                                      "case",
                                      "catch",
                                      "char",
                                      "class",
                                      "compl",
                                      "concept",
                                      "const",
                                      "const_cast",
                                      "consteval",
                                      "constexpr",
                                      "constinit",
                                      "continue",
                                      "decltype",
                                      "default",
                                      "delete",
                                      "do",
                                      "double",
                                      "dynamic_cast",
                                      "else",
                                      "enum",
                                      "explicit",
                                      "export",
                                      "extern",
                                      "false",
                                      "float",
                                      "for",
                                      "friend",
                                      "goto",
                                      "if",
                                      "inline",
                                      "int",
                                      "long",
                                      "mutable",
                                      "namespace",
                                      "new",
                                      "noexcept",
                                      "not",
                                      "not_eq",
                                      "nullptr",
                                      "operator",
                                      "or",
                                      "or_eq",
                                      "private",
                                      "protected",
                                      "public",
                                      "register",
                                      "reinterpret_cast",
                                      "requires",
                                      "restrict",
                                      "return",
                                      "short",
                                      "signed",
                                      "sizeof",
                                      "static",
                                      "static_assert",
                                      "static_cast",
                                      "struct",
                                      "switch",
                                      "template",
                                      "this",
                                      "thread_local",
                                      "throw",
                                      "true",
                                      "try",
                                      "typedef",
                                      "typeid",
                                      "typename",
                                      "typeof",
                                      "typeof_unqual",
                                      "union",
                                      "unsigned",
                                      "using",
                                      "virtual",
                                      "void",
                                      "volatile",
                                      "wchar_t",
                                      "while",
                                      "xor",
                                      "xor_eq",
                                      "co_await",
                                      "co_return",
                                      "co_yield",
                                      "char8_t",
                                      "char16_t",
                                      "char32_t"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (!strcmp(words[i], name))
      return true;
  return false;
}

static bool taken(const CInterface *c, const char *name) {
  for (int i = 0; i < c->nparams; i++)
    if (!strcmp(c->params[i].name, name))
      return true;
  return false;
}

static const char *fit_name(Arena *arena, const CInterface *c, const char *name, int index) {
  if (!name)
    name = arena_printf(arena, "arg%d", index);
  while (reserved(name) || taken(c, name))
    name = arena_printf(arena, "%s_", name);
  return name;
}

/* ---- parameters that a workspace's size may depend on: integer scalars from which the extent of a loop or the size of
   a tensor is computed, here or in a function that is called. */
typedef struct Bounding {
  Module *module;
  ValueTable seen;   /* values that have been met */
  VEC(Value *) left; /* of those, the ones still to be looked into */
  const Func *func;
  bool *params;
  struct Callee { /* functions that have been looked into */
    const Func *func;
    bool *params;
    struct Callee *next;
  } **known;
} Bounding;

static const bool *bounding_params(Module *m, const Func *f, struct Callee **known);

static void note_bound(Value *v, void *arg) {
  Bounding *b = arg;
  if (table_get(&b->seen, v))
    return;
  *table_at(&b->seen, v) = true;
  vec_push(b->module->arena, b->left, v);
}

/* What result i is made of; of a tensor, what its elements are. */
static void follow_op(Bounding *b, const Op *op, int i) {
  const int carried = op->code == OP_LOOP ? op->at.loop->ncarries + op->at.loop->naccs : 0;
  if (op->code == OP_SIZE)
    size_values(op->at.size, note_bound, b);
  if (op->code == OP_LOOP && i >= carried) {
    note_bound(op->regions[0]->yields[op->at.loop->ncarries + i - carried], b);
    for (int k = 0; op->at.loop->outs[i - carried] == OUT_SUM && k < op->at.loop->nindices; k++)
      size_values(op->at.loop->extents[k], note_bound, b);
  }
  for (int k = 0; op->code == OP_IF && k < 2; k++)
    note_bound(op->regions[k]->yields[i], b);
  const int n = op_info[op->code].group == GROUP_ELEM                                   ? op->noperands
                : op->code == OP_UPDATE                                                 ? 2
                : op->code == OP_INDEX || op->code == OP_FULL || op->code == OP_RESHAPE ? 1
                                                                                        : 0;
  for (int k = 0; k < n; k++)
    note_bound(op->operands[k], b);
}

/* A stack of our own, as chains of operations may be long. */
static void follow_bounds(Bounding *b) {
  while (b->left.n) {
    Value *v = b->left.at[--b->left.n];
    if (!v->def) {
      if (!v->region->owner && !v->type.rank && kind_is_int(v->type.kind))
        b->params[v->index] = true;
      continue;
    }
    follow_op(b, v->def, v->index);
  }
}

static void note_op(Op *op, void *arg) {
  Bounding *b = arg;
  if (op->code == OP_LOOP)
    for (int i = 0; i < op->at.loop->nindices; i++)
      size_values(op->at.loop->extents[i], note_bound, b);
  for (int i = 0; i < op->nresults; i++)
    for (int j = 0; j < op->results[i]->type.rank; j++)
      size_values(op->results[i]->type.dims[j], note_bound, b);
  if (op->code != OP_CALL || op->at.callee->is_extern)
    return;
  const bool *of_callee = bounding_params(b->module, op->at.callee, b->known);
  for (int i = 0; i < op->noperands; i++)
    if (of_callee[i])
      note_bound(op->operands[i], b);
}

static const bool *bounding_params(Module *m, const Func *f, struct Callee **known) {
  for (const struct Callee *c = *known; c; c = c->next)
    if (c->func == f)
      return c->params;
  struct Callee *callee = NEW(m->arena, struct Callee);
  *callee = (struct Callee){.func = f, .params = NEW_ARRAY(m->arena, bool, f->body->nparams), .next = *known};
  *known = callee;
  Bounding b = {.module = m, .seen = {.arena = m->arena}, .func = f, .params = callee->params, .known = known};
  region_walk(f->body, note_op, &b);
  follow_bounds(&b);
  return callee->params;
}

/* ---- exports that are cut in two */
static bool in_tape(const Export *e, int i) {
  return e->cut.sizes && i >= e->cut.first && i < e->cut.first + e->cut.n;
}

static bool is_computed_size(const Export *e, int param) {
  return e->cut.sizes && param < e->func->nsizes && param >= e->func->nsizes - e->cut.sizes->nresults;
}

bool param_is_hidden(const Export *e, int param) {
  return is_computed_size(e, param) || (e->part == PART_BACKWARD && in_tape(e, param));
}

bool result_is_hidden(const Export *e, int result) {
  return e->part == PART_TAPESIZE || (e->part == PART_FORWARD && in_tape(e, result));
}

/* The integer parameters that the tape's sizes depend on. */
static void tape_params(Module *m, const Export *e, bool *params) {
  const Func *f = e->func, *sizes = e->cut.sizes;
  if (!sizes)
    return;
  Bounding b = {.module = m, .seen = {.arena = m->arena}, .func = f, .params = params};
  for (int i = 0; i < e->cut.n; i++) {
    const int at = e->cut.first + i;
    const Type t = e->part == PART_BACKWARD ? f->body->params[at]->type : f->result_types[at];
    for (int k = 0; k < t.rank; k++)
      size_values(t.dims[k], note_bound, &b);
  }
  follow_bounds(&b);
  bool *of_sizes = NEW_ARRAY(m->arena, bool, sizes->body->nparams + 1);
  b.params = of_sizes;
  for (int i = 0; i < sizes->nresults; i++)
    note_bound(sizes->body->yields[i], &b);
  follow_bounds(&b);
  for (int i = sizes->nsizes; i < sizes->body->nparams; i++)
    params[i + sizes->nresults] |= of_sizes[i];
}

/* ---- the whole */
static void add_param(CInterface *c, Arena *arena, CParam p, const char *name) {
  p.name = fit_name(arena, c, name, c->nparams);
  c->params[c->nparams++] = p;
}

static void add_tape(CInterface *c, Arena *arena) {
  add_param(c, arena, (CParam){.role = C_TAPE}, "tape");
}

static void add_inputs(CInterface *c, Arena *arena, const bool *bounding) {
  const Export *e = c->export;
  const Func *f = e->func;
  for (int i = 0; i < f->body->nparams; i++) {
    const Value *v = f->body->params[i];
    const bool is_size = i < f->nsizes;
    if (e->part == PART_BACKWARD && i == e->cut.first + e->cut.n)
      add_tape(c, arena);
    if (param_is_hidden(e, i) || (e->part == PART_TAPESIZE && !is_size && !bounding[i]))
      continue;
    add_param(c, arena,
              (CParam){.role = is_size        ? C_SIZE
                               : v->type.rank ? C_TENSOR
                                              : C_SCALAR,
                       .kind = v->type.kind,
                       .type = v->type,
                       .index = i,
                       .sizes_work = is_size || bounding[i]},
              v->name);
  }
  if (e->part == PART_BACKWARD && e->cut.first + e->cut.n == f->body->nparams)
    add_tape(c, arena);
}

CInterface *interface_of(Module *m, const Export *e, const CodegenOptions *o) {
  Arena *arena = m->arena;
  const Func *f = e->func;
  const bool is_tapesize = e->part == PART_TAPESIZE;
  CInterface *c = NEW(arena, CInterface);
  bool *bounding = NEW_ARRAY(arena, bool, f->body->nparams + 1);
  struct Callee *known = NULL;
  const bool *of_work = bounding_params(m, f, &known);
  for (int i = 0; i < f->body->nparams; i++)
    bounding[i] = of_work[i];
  tape_params(m, e, bounding);
  c->export = e;
  c->symbol = arena_printf(arena, "%s%s", o->prefix ? o->prefix : "", e->symbol);
  c->worksize_symbol = arena_printf(arena, "%s_worksize", c->symbol);
  c->ws_symbol = arena_printf(arena, "%s_ws", c->symbol);
  c->has_plain = !o->no_malloc || is_tapesize;
  c->has_ws = !is_tapesize;
  c->params = NEW_ARRAY(arena, CParam, f->body->nparams + f->nresults + 1);
  add_inputs(c, arena, bounding);
  for (int i = 0; i < f->nresults; i++) {
    if (result_is_hidden(e, i))
      continue;
    add_param(c, arena,
              (CParam){.role = C_OUTPUT,
                       .kind = f->result_types[i].kind,
                       .type = f->result_types[i],
                       .index = i,
                       .accumulates = i >= e->accumulate_from},
              func_result_name(f, i));
  }
  if (e->part == PART_FORWARD)
    add_tape(c, arena);
  return c;
}
