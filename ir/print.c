/* The printer of the textual form; see print.h.
   Values are named before anything is written: by the function, in the order in which their definitions stand in the
   text. That order also sorts the terms of sizes, so that nothing depends on uids. */
#include "ir/print.h"
#include "ir/size.h"
#include "ir/symbols.h"
#include "ir/text.h"
#include <inttypes.h>
#include <string.h>

typedef struct Printer {
  Arena scratch;
  Text out;
  Module *module;
  const char **names; /* by uid */
  unsigned *orders;
  unsigned nnamed, nunnamed;
  Symbols used; /* how often a name has been used in the function */
  int indent;
} Printer;

/* ---- names */
static void name_value(Printer *p, const Value *v) {
  Text t = {.arena = &p->scratch};
  text_add(&t, "%");
  if (v->name) {
    text_name(&t, v->name);
    void **used = symbol_at(&p->used, v->name);
    const uintptr_t before = (uintptr_t)*used;
    if (before)
      text_printf(&t, ".%ju", (uintmax_t)before);
    *used = (void *)(before + 1);
  } else {
    text_printf(&t, "%u", p->nunnamed++);
  }
  p->names[v->uid] = text_end(&t);
  p->orders[v->uid] = p->nnamed++;
}

static void name_values(Printer *p, const Region *r);

static void name_op(Printer *p, const Op *op) {
  for (int i = 0; i < op->nresults; i++)
    if (op->results[i])
      name_value(p, op->results[i]);
  for (int i = 0; i < op->nregions; i++)
    if (op->regions[i])
      name_values(p, op->regions[i]);
}

static void name_values(Printer *p, const Region *r) {
  for (int i = 0; i < r->nparams; i++)
    name_value(p, r->params[i]);
  for (const Op *op = r->first; op; op = op->next)
    name_op(p, op);
}

static void begin_func(Printer *p, const Func *f) {
  p->nnamed = p->nunnamed = 0;
  p->used = (Symbols){.arena = &p->scratch};
  name_values(p, f->body);
}

static Printer printer_new(Module *m) {
  Printer p = {.module = m};
  p.names = NEW_ARRAY(&p.scratch, const char *, m->nuids);
  p.orders = NEW_ARRAY(&p.scratch, unsigned, m->nuids);
  return p;
}

/* The name as text; broken IR, which the verifier is about to report, prints too. */
static const char *value_name(const Value *v, void *arg) {
  Printer *p = arg;
  if (!v)
    return "%<none>";
  return p->names[v->uid] ? p->names[v->uid] : arena_printf(&p->scratch, "%%<elsewhere:%u>", v->uid);
}

static unsigned value_order(const Value *v, void *arg) {
  const Printer *p = arg;
  return p->orders[v->uid];
}

/* ---- parts */
static void put(Printer *p, const char *s) {
  text_add(&p->out, s);
}
static void put_value(Printer *p, const Value *v) {
  put(p, value_name(v, p));
}
static void put_size(Printer *p, const Size *s) {
  size_write(p->module, &p->out, s, &(SizeNames){value_name, value_order, p});
}
static void put_type(Printer *p, Type t) {
  type_write(p->module, &p->out, t, &(SizeNames){value_name, value_order, p});
}

static void put_func(Printer *p, const Func *f) {
  put(p, "@");
  text_name(&p->out, f ? f->name : "<none>");
}

static void put_values(Printer *p, int n, Value *const *v) {
  for (int i = 0; i < n; i++) {
    put(p, i ? ", " : "");
    put_value(p, v[i]);
  }
}

static void put_result_types(Printer *p, const char *before, const Op *op) {
  for (int i = 0; i < op->nresults; i++) {
    put(p, i ? ", " : before);
    put_type(p, op->results[i]->type);
  }
}

static void put_loc(Printer *p, Range at) {
  if (!at.src)
    return;
  put(p, " !");
  if (strcmp(at.src->name, p->module->file)) {
    text_string(&p->out, at.src->name);
    put(p, ":");
  }
  text_printf(&p->out, "%d:%d-", at.line, at.col);
  if (at.to_line != at.line)
    text_printf(&p->out, "%d:", at.to_line);
  text_printf(&p->out, "%d", at.to_col);
}

static void put_line(Printer *p) {
  put(p, "\n");
  for (int i = 0; i < p->indent; i++)
    put(p, "  ");
}

/* %p: type = %init, .. */
static void put_carries(Printer *p, const char *word, int n, Value *const *params, Value *const *inits) {
  put(p, word);
  for (int i = 0; i < n; i++) {
    put(p, i ? ", " : "(");
    put_value(p, params[i]);
    put(p, ": ");
    put_type(p, params[i]->type);
    put(p, inits ? " = " : "");
    if (inits)
      put_value(p, inits[i]);
  }
  put(p, n ? ")" : "()");
}

/* ---- operations */
static void put_op(Printer *p, const Op *op, bool brief);

static void put_region(Printer *p, const Region *r, const char *end) {
  put(p, " {");
  p->indent++;
  for (const Op *op = r->first; op; op = op->next) {
    put_line(p);
    put_op(p, op, false);
  }
  if (r->nyields) {
    put_line(p);
    put(p, r->owner ? "yield " : "return ");
    put_values(p, r->nyields, r->yields);
  }
  p->indent--;
  put_line(p);
  put(p, end);
}

static void put_constant(Printer *p, const Op *op) {
  const Kind k = op->results[0]->type.kind;
  if (kind_is_float(k))
    text_float(&p->out, k, op->at.f);
  else if (k == KIND_BOOL && (uint64_t)op->at.i < 2)
    put(p, op->at.i ? "true" : "false");
  else
    text_printf(&p->out, "%" PRId64, op->at.i);
}

static void put_indexed(Printer *p, const Op *op, int first) {
  put_value(p, op->operands[0]);
  put(p, "[");
  for (int i = first; i < op->noperands; i++) {
    put(p, i > first ? ", " : "");
    put(p, i - first < 64 && op->at.checks >> (i - first) & 1 ? "check " : "");
    put_value(p, op->operands[i]);
  }
  put(p, "]");
  if (first == 2) {
    put(p, ", ");
    put_value(p, op->operands[1]);
  }
}

static void put_loop(Printer *p, const Op *op) {
  const LoopInfo *l = op->at.loop;
  Value *const *params = op->regions[0]->params;
  put(p, "(");
  for (int i = 0; i < l->nindices; i++) {
    put(p, i ? ", " : "");
    put_value(p, params[i]);
    put(p, " < ");
    put_size(p, l->extents[i]);
  }
  put(p, ")");
  if (l->ncarries)
    put_carries(p, " carry", l->ncarries, params + l->nindices, op->operands);
  if (l->naccs)
    put_carries(p, " acc", l->naccs, params + l->nindices + l->ncarries, op->operands + l->ncarries);
  for (int i = 0; i < l->nouts; i++) {
    put(p, i ? ", " : " out(");
    put(p, out_kind_name[l->outs[i]]);
  }
  put(p, l->nouts ? ")" : "");
  if (l->checkpoint < 0)
    put(p, " checkpoint");
  if (l->checkpoint > 0) {
    put(p, " checkpoint(");
    put_size(p, l->states);
    put(p, ")");
  }
}

/* What follows the name, but for regions. */
static void put_operands(Printer *p, const Op *op) {
  switch (op->code) {
  case OP_CONST: put_constant(p, op); break;
  case OP_SIZE: put_size(p, op->at.size); break;
  case OP_POLYGAMMA:
  case OP_POWI:
    put_values(p, op->noperands, op->operands);
    text_printf(&p->out, ", %" PRId64, op->at.i);
    break;
  case OP_INDEX: put_indexed(p, op, 1); break;
  case OP_UPDATE:
  case OP_ACC_ADD: put_indexed(p, op, 2); break;
  case OP_REQUIRE:
    put_values(p, op->noperands, op->operands);
    put(p, ", ");
    text_string(&p->out, op->at.text ? op->at.text : "");
    break;
  case OP_CALL:
    put_func(p, op->at.callee);
    put(p, "(");
    put_values(p, op->noperands, op->operands);
    put(p, ")");
    break;
  case OP_LOOP: put_loop(p, op); break;
  case OP_WHILE: put_carries(p, "", op->noperands, op->regions[0]->params, op->operands); break;
  default: put_values(p, op->noperands, op->operands); break;
  }
}

static void put_op(Printer *p, const Op *op, bool brief) {
  put_values(p, op->nresults, op->results);
  put(p, op->nresults ? " = " : "");
  put(p, op_info[op->code].name);
  put(p, " ");
  put_operands(p, op);
  put_result_types(p, op->nregions ? " -> " : " : ", op);
  put_loc(p, op->loc);
  for (int i = 0; i < op->nregions && !brief; i++) {
    if (i && op->code == OP_WHILE)
      put_carries(p, " do ", op->regions[i]->nparams, op->regions[i]->params, NULL);
    else if (i)
      put(p, " else");
    put_region(p, op->regions[i], "}");
  }
}

/* ---- functions and modules */
static void put_params(Printer *p, const Func *f) {
  put(p, "(");
  for (int i = 0; i < f->body->nparams; i++) {
    put(p, i ? ", " : "");
    put_value(p, f->body->params[i]);
    put(p, ": ");
    if (i < f->nsizes)
      put(p, "size");
    else
      put_type(p, f->body->params[i]->type);
  }
  put(p, ") -> (");
  for (int i = 0; i < f->nresults; i++) {
    put(p, i ? ", " : "");
    if (f->result_names[i]) {
      text_name(&p->out, f->result_names[i]);
      put(p, ": ");
    }
    put_type(p, f->result_types[i]);
  }
  put(p, ")");
}

static void put_derive(Printer *p, const Func *f) {
  const Derive *d = &f->derive;
  text_printf(&p->out, " = %s ", derive_name[d->op]);
  put_func(p, d->base);
  put(p, " wrt(");
  const char *between = "";
  for (int i = 0; i < d->norder; i++) {
    put(p, between);
    put_value(p, f->body->params[d->order[i]]);
    between = ", ";
  }
  for (int i = 0; !d->is_sparse && i < d->base->body->nparams; i++)
    if (d->wrt[i]) {
      put(p, between);
      put_value(p, i < f->body->nparams ? f->body->params[i] : NULL);
      between = ", ";
    }
  put(p, d->is_sparse ? ") sparse" : ")");
  if (d->mode != MODE_AUTO)
    put(p, d->mode == MODE_FORWARD ? " mode(forward)" : " mode(reverse)");
}

static void put_rule(Printer *p, const char *word, const Func *rule) {
  if (rule) {
    put(p, word);
    put_func(p, rule);
  }
}

static void put_function(Printer *p, const Func *f) {
  begin_func(p, f);
  put(p, f->is_extern ? "\nextern func " : "\nfunc ");
  put_func(p, f);
  put_params(p, f);
  put_rule(p, " vjp ", f->own_vjp);
  put_rule(p, " jvp ", f->own_jvp);
  if (f->ncaptured)
    text_printf(&p->out, " captured(%d)", f->ncaptured);
  if (f->derive.op != DERIVE_NONE)
    put_derive(p, f);
  if (f->is_constant)
    put(p, " constant");
  if (f->is_parallel)
    put(p, " parallel");
  put_loc(p, f->loc);
  if (f->derive.op == DERIVE_NONE && !f->is_extern)
    put_region(p, f->body, "}");
  put(p, "\n");
}

static void put_part(Printer *p, const Export *e) {
  if (e->part == PART_WHOLE)
    return;
  text_printf(&p->out, " %s(%d, %d", export_part_name[e->part], e->cut.first, e->cut.n);
  if (e->cut.sizes) {
    put(p, ", ");
    put_func(p, e->cut.sizes);
  }
  put(p, ")");
}

static void put_module(Printer *p) {
  const Module *m = p->module;
  put(p, "module ");
  text_string(&p->out, m->file);
  put(p, m->strict ? " strict" : "");
  put(p, m->fast_math ? " fast_math" : "");
  put(p, m->unchecked ? " unchecked" : "");
  put(p, "\n");
  for (const Func *f = m->funcs; f; f = f->next)
    put_function(p, f);
  for (const Export *e = m->exports; e; e = e->next) {
    put(p, e == m->exports ? "\nexport " : "export ");
    put_func(p, e->func);
    put(p, " as ");
    text_name(&p->out, e->symbol);
    if (e->accumulate_from != e->func->nresults)
      text_printf(&p->out, " accumulate(%d)", e->accumulate_from);
    put_part(p, e);
    put_loc(p, e->loc);
    put(p, "\n");
  }
}

/* The text lives in the printer's own arena, which moves with it: set only when the printer stays where it is. */
static void start(Printer *p) {
  p->out.arena = &p->scratch;
}

static void finish(Printer *p, FILE *out) {
  fwrite(p->out.chars.at, 1, (size_t)p->out.chars.n, out);
  arena_free(&p->scratch);
}

void print_module(FILE *out, Module *m) {
  Printer p = printer_new(m);
  start(&p);
  put_module(&p);
  finish(&p, out);
}

void print_func(FILE *out, Func *f) {
  Printer p = printer_new(f->module);
  start(&p);
  put_function(&p, f);
  finish(&p, out);
}

const char *op_brief(Arena *a, const Op *op) {
  const Region *r = op->parent;
  while (r && r->owner)
    r = r->owner->parent;
  if (!r || !r->func)
    return op_info[op->code].name;
  Printer p = printer_new(r->func->module);
  start(&p);
  begin_func(&p, r->func);
  put_op(&p, op, true);
  const char *text = arena_strndup(a, p.out.chars.at, (size_t)p.out.chars.n);
  arena_free(&p.scratch);
  return text;
}

void print_op_brief(FILE *out, const Op *op) {
  Arena a = {0};
  fputs(op_brief(&a, op), out);
  arena_free(&a);
}
