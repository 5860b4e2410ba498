/* The syntax tree as s-expressions, one item a line: what the grammar's tests compare.
   `_` stands for what is left out.  Numbers are printed as written. */
#include "frontend/parse.h"

static void print_expr(const Expr *e, FILE *out);
static void print_type(const TypeExpr *t, FILE *out);
static void print_block(const Block *b, FILE *out);

static void print_optional(const Expr *e, FILE *out) {
  putc(' ', out);
  if (e)
    print_expr(e, out);
  else
    putc('_', out);
}

static void print_optional_type(const TypeExpr *t, FILE *out) {
  putc(' ', out);
  if (t)
    print_type(t, out);
  else
    putc('_', out);
}

static void print_exprs(const char *tag, const ExprList *list, FILE *out) {
  fprintf(out, "(%s", tag);
  for (int i = 0; i < list->n; i++)
    print_optional(list->at[i], out);
  putc(')', out);
}

static void print_names(const char *tag, const NameList *list, FILE *out) {
  if (list->n == 0) {
    fputs(" _", out);
    return;
  }
  fprintf(out, " (%s", tag);
  for (int i = 0; i < list->n; i++)
    fprintf(out, " %s", list->at[i].text);
  putc(')', out);
}

static void print_arguments(const ArgumentList *list, FILE *out) {
  fputs(" (call", out);
  for (int i = 0; i < list->n; i++) {
    const Argument *a = &list->at[i];
    if (a->name.text)
      fprintf(out, " (= %s", a->name.text);
    print_optional(a->value, out);
    if (a->name.text)
      putc(')', out);
  }
  putc(')', out);
}

static void print_parameters(const char *tag, const ParameterList *list, FILE *out) {
  fprintf(out, " (%s", tag);
  for (int i = 0; i < list->n; i++) {
    fprintf(out, " (: %s", list->at[i].name.text);
    print_optional_type(list->at[i].type, out);
    putc(')', out);
  }
  putc(')', out);
}

/* ---- types ---- */

static void print_elements(const TypeElementList *list, FILE *out) {
  fputs("(types", out);
  for (int i = 0; i < list->n; i++) {
    const TypeElement *e = &list->at[i];
    if (e->name.text)
      fprintf(out, " (: %s", e->name.text);
    print_optional_type(e->type, out);
    if (e->name.text)
      putc(')', out);
  }
  putc(')', out);
}

static void print_type(const TypeExpr *t, FILE *out) {
  switch (t->kind) {
  case TYPE_EXPR_POISON: fputs("(poison)", out); return;
  case TYPE_EXPR_WORD: fputs(kind_word_text(t->word), out); return;
  case TYPE_EXPR_NAME: fputs(t->name, out); return;
  case TYPE_EXPR_TENSOR:
    fputs("(tensor ", out);
    print_type(t->tensor.base, out);
    putc(' ', out);
    print_exprs("sizes", &t->tensor.sizes, out);
    putc(')', out);
    return;
  case TYPE_EXPR_TUPLE: print_elements(&t->tuple, out); return;
  case TYPE_EXPR_FUNCTION:
    fputs("(fntype ", out);
    if (t->function.parameters.n)
      print_elements(&t->function.parameters, out);
    else
      putc('_', out);
    print_optional_type(t->function.result, out);
    putc(')', out);
    return;
  }
}

/* ---- comprehensions and brackets ---- */

/* Without its closing bracket where a filter and a body are to follow inside it. */
static void print_range(const IndexRange *range, bool is_open, FILE *out) {
  if (range->kind == INDEX_BARE) {
    fputs(range->name.text, out);
    return;
  }
  fprintf(out, "(%s %s", range->kind == INDEX_BELOW ? "<" : "in", range->name.text);
  if (range->from)
    print_optional(range->from, out);
  print_optional(range->to, out);
  if (!is_open)
    putc(')', out);
}

static void print_comprehension(const Comprehension *c, FILE *out) {
  fputs("(comp (ranges", out);
  for (int i = 0; i < c->ranges.n; i++) {
    putc(' ', out);
    print_range(&c->ranges.at[i], false, out);
  }
  putc(')', out);
  print_optional(c->filter, out);
  print_optional(c->body, out);
  putc(')', out);
}

/* Of a bracket that can only be a reduction.  The filter and the body stand with the last range. */
static void print_reduction(const Comprehension *c, FILE *out) {
  for (int i = 0; i < c->ranges.n; i++) {
    const IndexRange *range = &c->ranges.at[i];
    bool is_last = i == c->ranges.n - 1, is_in = range->kind == INDEX_IN;
    putc(' ', out);
    if (is_last && !is_in)
      fputs(c->filter ? "(filter " : "(slice ", out);
    print_range(range, is_last && is_in, out);
    if (!is_last)
      continue;
    if (c->filter)
      print_optional(c->filter, out);
    print_optional(c->body, out);
    putc(')', out);
  }
}

static void print_items(const IndexItemList *items, FILE *out) {
  for (int i = 0; i < items->n; i++) {
    const IndexItem *item = &items->at[i];
    if (!item->is_slice) {
      print_optional(item->index, out);
      continue;
    }
    fputs(" (slice", out);
    print_optional(item->start, out);
    print_optional(item->stop, out);
    if (item->step)
      print_optional(item->step, out);
    putc(')', out);
  }
}

static void print_bracket(const Bracket *b, FILE *out) {
  fputs("([]", out);
  print_optional(b->base, out);
  fputs(" (at", out);
  if (b->items)
    print_items(b->items, out);
  else
    print_reduction(b->reduction, out);
  fputs("))", out);
}

/* ---- expressions ---- */

static void print_if(const Expr *e, FILE *out) {
  fputs("(if", out);
  print_optional(e->if_.condition, out);
  putc(' ', out);
  print_block(e->if_.then_block, out);
  if (e->if_.else_part)
    print_optional(e->if_.else_part, out);
  putc(')', out);
}

static void print_call(const char *tag, const Expr *callee, const ArgumentList *arguments, FILE *out) {
  fprintf(out, "(%s", tag);
  if (callee)
    print_optional(callee, out);
  print_arguments(arguments, out);
  putc(')', out);
}

static void print_lambda(const Expr *e, FILE *out) {
  fputs("(lambda", out);
  print_parameters("params", &e->lambda.parameters, out);
  print_optional_type(e->lambda.result, out);
  putc(' ', out);
  print_block(e->lambda.body, out);
  putc(')', out);
}

static void print_expr(const Expr *e, FILE *out) {
  switch (e->kind) {
  case EXPR_POISON: fputs("(poison)", out); return;
  case EXPR_NAME: fputs(e->name, out); return;
  case EXPR_INT: fputs(e->integer.text, out); return;
  case EXPR_FLOAT: fputs(e->floating.text, out); return;
  case EXPR_BOOL: fputs(e->boolean ? "true" : "false", out); return;
  case EXPR_UNARY:
    fputs(e->unary.op == UNARY_NEG ? "(neg" : "(not", out);
    print_optional(e->unary.operand, out);
    putc(')', out);
    return;
  case EXPR_BINARY:
    fprintf(out, "(%s", binary_op_text(e->binary.op));
    print_optional(e->binary.left, out);
    print_optional(e->binary.right, out);
    putc(')', out);
    return;
  case EXPR_CALL: print_call("()", e->call.callee, &e->call.arguments, out); return;
  case EXPR_CAST:
    fprintf(out, "(cast %s", kind_word_text(e->cast.word));
    print_arguments(&e->cast.arguments, out);
    putc(')', out);
    return;
  case EXPR_VAR_CALL: print_call("() var", NULL, &e->var_call, out); return;
  case EXPR_BRACKET: print_bracket(&e->bracket, out); return;
  case EXPR_FIELD:
    fprintf(out, "(. %s", e->field.name.text);
    print_optional(e->field.base, out);
    putc(')', out);
    return;
  case EXPR_OF:
    fputs("(of", out);
    print_optional(e->of.base, out);
    print_optional_type(e->of.type, out);
    putc(')', out);
    return;
  case EXPR_TUPLE: print_exprs("tuple", &e->tuple, out); return;
  case EXPR_ARRAY: print_exprs("array", &e->array, out); return;
  case EXPR_COMPREHENSION: print_comprehension(&e->comprehension, out); return;
  case EXPR_IF: print_if(e, out); return;
  case EXPR_BLOCK: print_block(e->block, out); return;
  case EXPR_LAMBDA: print_lambda(e, out); return;
  }
}

/* ---- statements ---- */

static void print_pattern(const Pattern *p, FILE *out) {
  if (!p->is_tuple) {
    fputs(p->name.text, out);
    return;
  }
  fputs("(pat", out);
  for (int i = 0; i < p->parts.n; i++) {
    putc(' ', out);
    print_pattern(p->parts.at[i], out);
  }
  putc(')', out);
}

static void print_for(const Stmt *m, FILE *out) {
  fprintf(out, "(for %s", m->for_.name.text);
  print_optional(m->for_.from, out);
  print_optional(m->for_.to, out);
  print_optional(m->for_.by, out);
  fputs(m->for_.checkpoint == CHECKPOINT_NONE ? " _" : " (checkpoint", out);
  if (m->for_.checkpoint_count)
    print_optional(m->for_.checkpoint_count, out);
  fputs(m->for_.checkpoint == CHECKPOINT_NONE ? " " : ") ", out);
  print_block(m->for_.body, out);
  putc(')', out);
}

/* The string as a literal, so that a dump can be read back. */
static void print_string(const char *text, FILE *out) {
  putc('"', out);
  for (; *text; text++)
    switch (*text) {
    case '"': fputs("\\\"", out); break;
    case '\\': fputs("\\\\", out); break;
    case '\n': fputs("\\n", out); break;
    case '\t': fputs("\\t", out); break;
    default: putc(*text, out);
    }
  putc('"', out);
}

static void print_stmt(const Stmt *m, FILE *out) {
  switch (m->kind) {
  case STMT_POISON: fputs("(poison)", out); return;
  case STMT_LET:
    fputs("(let ", out);
    print_pattern(m->let.pattern, out);
    if (!m->let.is_comprehension)
      print_optional_type(m->let.type, out);
    print_optional(m->let.init, out);
    break;
  case STMT_VAR:
    fprintf(out, "(var %s", m->var.name.text);
    if (!m->var.is_comprehension)
      print_optional_type(m->var.type, out);
    print_optional(m->var.init, out);
    break;
  case STMT_ASSIGN:
    if (m->assign.is_compound)
      fprintf(out, "(%s=", binary_op_text(m->assign.op));
    else
      fputs("(set", out);
    print_optional(m->assign.target, out);
    print_optional(m->assign.value, out);
    break;
  case STMT_FOR: print_for(m, out); return;
  case STMT_WHILE:
    fputs("(while", out);
    print_optional(m->while_.condition, out);
    putc(' ', out);
    print_block(m->while_.body, out);
    break;
  case STMT_EXPR: print_expr(m->expr, out); return;
  case STMT_BREAK: fputs("(break", out); break;
  case STMT_CONTINUE: fputs("(continue", out); break;
  case STMT_REQUIRE:
    fputs("(require", out);
    print_optional(m->require.condition, out);
    fputs(m->require.message ? " " : " _", out);
    if (m->require.message)
      print_string(m->require.message, out);
    break;
  }
  putc(')', out);
}

static void print_block(const Block *b, FILE *out) {
  fputs("(block (do", out);
  for (int i = 0; i < b->statements.n; i++) {
    putc(' ', out);
    print_stmt(b->statements.at[i], out);
  }
  putc(')', out);
  if (b->tail)
    print_optional(b->tail, out);
  putc(')', out);
}

/* ---- items ---- */

static void print_function(const Item *item, FILE *out) {
  fprintf(out, item->kind == ITEM_EXTERN ? "(extern %s" : "(fn %s", item->name.text);
  if (item->kind == ITEM_FUNCTION) {
    print_names("kinds", &item->function.kinds, out);
    print_names("names", &item->function.sizes, out);
  }
  print_parameters("params", &item->function.parameters, out);
  print_optional_type(item->function.result, out);
  if (item->function.body) {
    putc(' ', out);
    print_block(item->function.body, out);
  }
}

static void print_item(const Item *item, FILE *out) {
  switch (item->kind) {
  case ITEM_POISON: fputs("(poison", out); break;
  case ITEM_IMPORT:
    fputs(item->import.is_system ? "(import <" : "(import ", out);
    if (item->import.is_system)
      fprintf(out, "%s>", item->import.path);
    else
      print_string(item->import.path, out);
    break;
  case ITEM_CONST:
    fprintf(out, "(const %s", item->name.text);
    print_optional_type(item->constant.type, out);
    print_optional(item->constant.value, out);
    break;
  case ITEM_STRUCT:
    fprintf(out, "(struct %s", item->name.text);
    print_names("names", &item->structure.sizes, out);
    print_parameters("fields", &item->structure.fields, out);
    break;
  case ITEM_FUNCTION:
  case ITEM_EXTERN: print_function(item, out); break;
  case ITEM_RULE:
    fprintf(out, "(%s %s", item->rule.is_vjp ? "vjp" : "jvp", item->name.text);
    print_names("names", &item->rule.inputs, out);
    print_names("names", &item->rule.results, out);
    print_names("names", &item->rule.seeds, out);
    putc(' ', out);
    print_block(item->rule.body, out);
    break;
  case ITEM_EXPORT:
    fputs("(export", out);
    print_optional(item->export.what, out);
    fprintf(out, " %s", item->export.as.text ? item->export.as.text : "_");
    break;
  }
  fputs(")\n", out);
}

void ast_print(const Program *program, FILE *out) {
  for (int i = 0; i < program->items.n; i++)
    print_item(program->items.at[i], out);
}
