/* Statements of the source: operations of a region in order, blocks, branches, `while`; see source_state.h. */
#include "codegen/source_state.h"
#include <string.h>

void source_line(SourceWriter *s, const Op *op, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  const SourceLine line = {.indent = s->indent, .text = arena_vprintf(s->arena, fmt, ap), .op = op};
  va_end(ap);
  vec_push(s->arena, s->lines, line);
}

const char *source_tuple(SourceWriter *s, int n, Value *const *values) {
  const char **texts = NEW_ARRAY(s->arena, const char *, n + 1);
  for (int i = 0; i < n; i++)
    texts[i] = source_value(s, values[i]);
  const char *list = source_list(s, n, texts, ", ");
  return n == 1 ? list : arena_printf(s->arena, "(%s)", list);
}

/* Something in the region adds to an accumulator that the slice has too. */
static bool adds_within(const Slice *slice, const Op *op) {
  if (op->code == OP_ACC_ADD)
    return !value_is_outside(op->operands[0], slice->body);
  for (int i = 0; i < op->nregions; i++)
    for (const Op *inner = op->regions[i]->first; inner; inner = inner->next)
      if (adds_within(slice, inner))
        return true;
  return false;
}

bool source_is_skipped(const SourceWriter *s, const Op *op) {
  if (!s->slice)
    return false;
  if (op->nresults == 0)
    return !adds_within(s->slice, op);
  for (int i = 0; i < op->nresults; i++)
    if (value_is_outside(op->results[i], s->slice->body) || map_get(&s->slice->needed, op->results[i]))
      return false;
  return true;
}

/* ---- blocks */
/* The value of a block that ends in `let t = e;` and t is e. */
static const char *last_value(SourceWriter *s, int first, const char *value) {
  const SourceLine *last = &s->lines.at[s->lines.n - 1];
  const char *head = arena_printf(s->arena, "let %s = ", value);
  const size_t n = strlen(head), length = strlen(last->text);
  if (s->lines.n <= first || last->indent != s->indent || length <= n || strncmp(last->text, head, n) != 0 ||
      last->text[length - 1] != ';')
    return value;
  s->lines.n--;
  return arena_strndup(s->arena, last->text + n, length - n - 1);
}

void source_block(SourceWriter *s, const Op *op, const char *head, const Region *r, int nyields, const char *tail) {
  const int mark = source_scope_begin(s), first = s->lines.n;
  source_line(s, op, "%s{", head);
  s->indent++;
  source_region(s, r);
  const char *value = nyields ? last_value(s, first + 1, source_tuple(s, nyields, r->yields)) : "";
  s->indent--;
  if (s->lines.n == first + 1) { /* no statements: one line */
    s->lines.at[first].text = arena_printf(s->arena, nyields ? "%s{ %s }%s" : "%s{%s}%s", head, value, tail);
  } else {
    s->indent++;
    if (nyields)
      source_line(s, op, "%s", value);
    s->indent--;
    source_line(s, NULL, "}%s", tail);
  }
  source_scope_end(s, mark);
}

/* ---- names for results */
static const char *declare_value(SourceWriter *s, const Value *v) {
  SourceNote *n = source_note(s, v);
  n->name = source_declare(s, v->name, v->type.rank ? "a" : "t");
  n->is_var = false;
  return n->name;
}

/* "x", "(x, _)" for the results that are used. */
static const char *declare_results(SourceWriter *s, const Op *op) {
  const char **names = NEW_ARRAY(s->arena, const char *, op->nresults + 1);
  for (int i = 0; i < op->nresults; i++) {
    const SourceNote *n = source_note(s, op->results[i]);
    names[i] = n->nuses || n->nsize_uses ? declare_value(s, op->results[i]) : "_";
  }
  const char *list = source_list(s, op->nresults, names, ", ");
  return op->nresults == 1 ? list : arena_printf(s->arena, "(%s)", list);
}

const char *source_var_from(SourceWriter *s, const Op *op, const Value *init, const char *wanted) {
  const SourceNote *n = source_note(s, init);
  int times = 0;
  for (int i = 0; i < op->noperands; i++)
    times += op->operands[i] == init;
  if (n->name && n->is_var && times == 1 && source_dies_at(s, init, op))
    return n->name;
  const char *value = source_value(s, init), *name = source_declare(s, wanted, init->type.rank ? "a" : "t");
  source_line(s, op, "var %s = %s;", name, value);
  return name;
}

/* ---- operations */
static void stmt_update(SourceWriter *s, const Op *op) {
  const int n = op->noperands - 2;
  const char *value = source_value(s, op->operands[1]), *at = source_indices_text(s, n, op->operands + 2);
  const char *var = source_var_from(s, op, op->operands[0], op->results[0]->name);
  if (n)
    source_line(s, op, "%s[%s] = %s;", var, at, value);
  else
    source_line(s, op, "%s = %s;", var, value);
  SourceNote *note = source_note(s, op->results[0]);
  note->name = var;
  note->is_var = true;
}

static void stmt_acc_add(SourceWriter *s, const Op *op) {
  const int n = op->noperands - 2;
  const char *acc = source_operand(s, op->operands[0], PREC_ATOM), *value = source_value(s, op->operands[1]);
  if (n)
    source_line(s, op, "%s[%s] += %s;", acc, source_indices_text(s, n, op->operands + 2), value);
  else
    source_line(s, op, "%s += %s;", acc, value);
}

static void stmt_if(SourceWriter *s, const Op *op) {
  /* The names are declared when both branches have been written, so as not to be seen in them. */
  const int first = s->lines.n;
  const char *c = source_value(s, op->operands[0]);
  const bool more = op->nresults || op->regions[1]->first;
  source_block(s, op, arena_printf(s->arena, "if %s ", c), op->regions[0], op->nresults, "");
  if (more)
    source_block(s, op, "else ", op->regions[1], op->nresults, op->nresults ? ";" : "");
  if (op->nresults)
    s->lines.at[first].text = arena_printf(s->arena, "let %s = %s", declare_results(s, op), s->lines.at[first].text);
}

static void stmt_while(SourceWriter *s, const Op *op) {
  const int n = op->noperands;
  const SourceNote *trips = source_note(s, op->results[n]);
  const char **vars = NEW_ARRAY(s->arena, const char *, n + 1), *count = NULL;
  for (int i = 0; i < n; i++) {
    const char *name = op->results[i]->name ? op->results[i]->name : op->regions[0]->params[i]->name;
    vars[i] = source_var_from(s, op, op->operands[i], name);
    Value *both[] = {op->regions[0]->params[i], op->regions[1]->params[i]};
    for (int k = 0; k < 2; k++) {
      source_note(s, both[k])->name = vars[i];
      source_note(s, both[k])->is_var = k == 1;
    }
  }
  if (trips->nuses || trips->nsize_uses) {
    count = source_declare(s, op->results[n]->name, "trips");
    source_line(s, op, "var %s = 0;", count);
  }
  const int first = s->lines.n;
  source_block(s, op, "while ", op->regions[0], 1, " {");
  if (s->lines.n == first + 1) /* a condition of one line needs no block */
    s->lines.at[first].text = arena_printf(s->arena, "while %s {", source_value(s, op->regions[0]->yields[0]));
  const int mark = source_scope_begin(s);
  s->indent++;
  source_region(s, op->regions[1]);
  source_assign(s, op, n, vars, op->regions[1]->yields);
  if (count)
    source_line(s, op, "%s += 1;", count);
  s->indent--;
  source_scope_end(s, mark);
  source_line(s, NULL, "}");
  for (int i = 0; i < n; i++) {
    source_note(s, op->results[i])->name = vars[i];
    source_note(s, op->results[i])->is_var = true;
  }
  source_note(s, op->results[n])->name = count;
}

void source_assign(SourceWriter *s, const Op *op, int n, const char *const *vars, Value *const *values) {
  const char **to = NEW_ARRAY(s->arena, const char *, n + 1), **from = NEW_ARRAY(s->arena, const char *, n + 1);
  int k = 0;
  for (int i = 0; i < n; i++) {
    const char *value = source_value(s, values[i]);
    if (!vars[i] || value == vars[i])
      continue;
    to[k] = vars[i];
    from[k++] = value;
  }
  if (k == 1)
    source_line(s, op, "%s = %s;", to[0], from[0]);
  else if (k)
    source_line(s, op, "(%s) = (%s);", source_list(s, k, to, ", "), source_list(s, k, from, ", "));
}

static void stmt_call(SourceWriter *s, const Op *op) {
  const Func *f = op->at.callee;
  const int nsizes = f->nsizes, n = op->noperands - nsizes;
  const char **args = NEW_ARRAY(s->arena, const char *, op->noperands + 1);
  for (int i = 0; i < op->noperands; i++)
    args[i] = source_value(s, op->operands[i]);
  s->needs_linalg |= func_is_kernel(f);
  if (func_is_kernel(f) && source_declares_sizes(f)) /* its results' sizes are no sizes of what it is given */
    source_fail(s, op->loc, "rows of a sparse matrix that differ in length cannot be written as source");
  const bool declared = nsizes && !f->is_extern && source_declares_sizes(f);
  for (int i = 0; i < nsizes && declared; i++)
    if (source_size_class(s, size_of_value(s->module, op->operands[i])) != SIZE_EXACT)
      source_fail(s, op->loc, "a call that is given data for a size cannot be written as source");
  const char *sizes = !declared ? "" : arena_printf(s->arena, "[%s]", source_list(s, nsizes, args, ", "));
  const char *call =
      arena_printf(s->arena, "%s%s(%s)", source_func_name(s, f), sizes, source_list(s, n, args + nsizes, ", "));
  source_line(s, op, "let %s = %s;", declare_results(s, op), call);
}

static void stmt_require(SourceWriter *s, const Op *op) {
  Text t = {.arena = s->arena};
  for (const char *p = op->at.text ? op->at.text : ""; *p; p++)
    text_printf(&t, *p == '"' || *p == '\\' ? "\\%c" : *p == '\n' ? "\\n" : *p == '\t' ? "\\t" : "%c", *p);
  /* What is said of sizes is said in full: the compiler learns from it that they agree. */
  const Op *test = op->operands[0]->def;
  const bool of_sizes = test && op_info[test->code].result == RESULT_BOOL && test->noperands == 2 &&
                        test->operands[0]->type.kind == KIND_I64;
  source_line(s, op, "require %s: \"%s\";", of_sizes ? source_op_text(s, test) : source_value(s, op->operands[0]),
              text_end(&t));
}

static void stmt_op(SourceWriter *s, const Op *op) {
  switch (op->code) {
  case OP_LOOP: source_loop(s, op); return;
  case OP_IF: stmt_if(s, op); return;
  case OP_WHILE: stmt_while(s, op); return;
  case OP_UPDATE: stmt_update(s, op); return;
  case OP_ACC_ADD: stmt_acc_add(s, op); return;
  case OP_CALL: stmt_call(s, op); return;
  case OP_REQUIRE: stmt_require(s, op); return;
  default: break;
  }
  if (source_note(s, op->results[0])->is_inlined)
    return;
  const char *text = source_op_text(s, op);
  source_line(s, op, "let %s = %s;", declare_value(s, op->results[0]), text);
}

void source_region(SourceWriter *s, const Region *r) {
  for (const Op *op = r->first; op; op = op->next)
    if (!source_is_skipped(s, op))
      stmt_op(s, op);
}
