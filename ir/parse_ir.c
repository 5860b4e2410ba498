/* The textual IR's parser: modules, functions, exports; names of functions are looked up when all have been read. */
#include "ir/parse_ir.h"
#include "ir/parse_state.h"
#include "ir/raw.h"
#include "ir/verify.h"
#include <string.h>

static void add_fixup(IrParser *p, Fixup f) {
  if (ir_expect(p, TOKEN_FUNC, "a function", &f.name))
    vec_push(p->arena, p->fixups, f);
}

/* ---- signatures */
static void parse_params(IrParser *p, Func *f) {
  ir_expect_mark(p, '(');
  if (ir_accept_mark(p, ')'))
    return;
  do {
    Token name;
    ir_expect(p, TOKEN_VALUE, "a parameter", &name);
    ir_expect_mark(p, ':');
    const bool is_size = ir_at_word(p, "size");
    if (is_size && f->nsizes < f->body->nparams)
      ir_error(p, p->token.at, "sizes come before all other parameters");
    f->nsizes += is_size;
    const Type t = ir_accept_word(p, "size") ? type_scalar(KIND_I64) : ir_type(p);
    if (!p->failed)
      ir_define(p, name, func_add_param(f, t, ir_value_name(name)));
  } while (ir_accept_mark(p, ','));
  ir_expect_mark(p, ')');
}

/* (name: type, type, ..): a word is a name where a colon follows it. */
static void parse_results(IrParser *p, Func *f) {
  VEC(Type) types = {0};
  VEC(const char *) names = {0};
  ir_expect_mark(p, '(');
  if (!ir_accept_mark(p, ')')) {
    do {
      const Token first = p->token;
      const Lexer before = p->lexer;
      const char *name = NULL;
      if (first.kind == TOKEN_WORD || first.kind == TOKEN_STRING) {
        ir_next(p);
        if (ir_accept_mark(p, ':')) {
          name = first.text;
        } else if (!p->failed) {
          p->lexer = before;
          p->token = first;
        }
      }
      const Type t = ir_type(p);
      vec_push(p->arena, types, t);
      vec_push(p->arena, names, name);
    } while (ir_accept_mark(p, ','));
    ir_expect_mark(p, ')');
  }
  func_set_results(f, types.n, types.at, names.at);
}

/* grad @base wrt(%x, ..) sparse mode(reverse) */
static void parse_derive(IrParser *p, Func *f) {
  int op = DERIVE_GRAD;
  while (op < DERIVE_COUNT && !ir_at_word(p, derive_name[op]))
    op++;
  if (op == DERIVE_COUNT) {
    ir_error(p, p->token.at, "expected a derivative operator, not '%s'", p->token.spelling);
    return;
  }
  ir_next(p);
  Fixup fixup = {.kind = FIX_DERIVE, .func = f};
  VEC(int) wrt = {0};
  ir_expect(p, TOKEN_FUNC, "a function", &fixup.name);
  if (!ir_accept_word(p, "wrt"))
    ir_error(p, p->token.at, "expected 'wrt', not '%s'", p->token.spelling);
  ir_expect_mark(p, '(');
  if (!ir_accept_mark(p, ')')) {
    do {
      const Range at = p->token.at;
      const Value *v = ir_value(p);
      if (!p->failed && v->region != f->body)
        ir_error(p, at, "'wrt' names parameters");
      vec_push(p->arena, wrt, v->index);
    } while (ir_accept_mark(p, ','));
    ir_expect_mark(p, ')');
  }
  f->derive.op = (DeriveOp)op;
  f->derive.is_sparse = ir_accept_word(p, "sparse");
  if (ir_accept_word(p, "mode")) {
    ir_expect_mark(p, '(');
    f->derive.mode = ir_at_word(p, "forward") ? MODE_FORWARD : MODE_REVERSE;
    if (!ir_accept_word(p, "forward") && !ir_accept_word(p, "reverse"))
      ir_error(p, p->token.at, "a mode is 'forward' or 'reverse'");
    ir_expect_mark(p, ')');
  }
  fixup.wrt = wrt.at;
  fixup.nwrt = wrt.n;
  if (!p->failed)
    vec_push(p->arena, p->fixups, fixup);
}

/* ---- functions */
static Func *declare(IrParser *p, Token name) {
  void **place = symbol_at(&p->funcs, name.text);
  if (*place) {
    ir_error(p, name.at, "function '%s' is defined twice", name.text);
    return NULL;
  }
  Func *f = func_new(p->module, name.text, (Range){0});
  Range *at = NEW(p->arena, Range);
  *at = name.at;
  f->note = at;
  *place = f;
  return f;
}

static void parse_function(IrParser *p, bool is_extern) {
  Token name;
  p->values = (Symbols){.arena = p->arena};
  if (!ir_expect(p, TOKEN_FUNC, "a function's name", &name))
    return;
  Func *f = p->func = declare(p, name);
  if (!f)
    return;
  f->is_extern = is_extern;
  parse_params(p, f);
  if (p->token.kind != TOKEN_ARROW)
    ir_error(p, p->token.at, "expected '->', not '%s'", p->token.spelling);
  ir_next(p);
  parse_results(p, f);
  if (ir_accept_word(p, "vjp"))
    add_fixup(p, (Fixup){.kind = FIX_VJP, .func = f});
  if (ir_accept_word(p, "jvp"))
    add_fixup(p, (Fixup){.kind = FIX_JVP, .func = f});
  if (ir_accept_word(p, "captured")) {
    ir_expect_mark(p, '(');
    f->ncaptured = ir_small_integer(p, 0);
    ir_expect_mark(p, ')');
  }
  f->is_constant = is_extern && ir_accept_word(p, "constant");
  f->is_parallel = !is_extern && ir_accept_word(p, "parallel");
  if (!is_extern && ir_accept_mark(p, '='))
    parse_derive(p, f);
  f->loc = ir_location(p);
  if (!is_extern && f->derive.op == DERIVE_NONE)
    ir_region(p, f->body);
}

/* forward(1, 3), or, cut, forward(1, 2, @sizes) */
static void parse_part(IrParser *p, Export *e) {
  Fixup sizes = {.kind = FIX_SIZES, .export = e};
  for (int part = PART_FORWARD; part <= PART_TAPESIZE && e->part == PART_WHOLE; part++)
    if (ir_accept_word(p, export_part_name[part]))
      e->part = (ExportPart)part;
  if (e->part == PART_WHOLE)
    return;
  ir_expect_mark(p, '(');
  e->cut.first = ir_small_integer(p, 0);
  ir_expect_mark(p, ',');
  e->cut.n = ir_small_integer(p, 0);
  if (ir_accept_mark(p, ',') && ir_expect(p, TOKEN_FUNC, "a function", &sizes.name))
    vec_push(p->arena, p->fixups, sizes);
  ir_expect_mark(p, ')');
}

/* export @f as symbol accumulate(1) */
static void parse_export(IrParser *p) {
  Fixup f = {.kind = FIX_EXPORT, .export = NEW(p->arena, Export)};
  ir_expect(p, TOKEN_FUNC, "a function", &f.name);
  if (!ir_accept_word(p, "as"))
    ir_error(p, p->token.at, "expected 'as', not '%s'", p->token.spelling);
  if (p->token.kind != TOKEN_WORD && p->token.kind != TOKEN_STRING)
    ir_error(p, p->token.at, "expected a symbol, not '%s'", p->token.spelling);
  f.export->symbol = p->token.text;
  f.export->accumulate_from = -1;
  ir_next(p);
  if (ir_accept_word(p, "accumulate")) {
    ir_expect_mark(p, '(');
    f.export->accumulate_from = ir_small_integer(p, 0);
    ir_expect_mark(p, ')');
  }
  parse_part(p, f.export);
  f.export->loc = ir_location(p);
  if (!p->failed)
    vec_push(p->arena, p->fixups, f);
}

/* ---- the module */
static void parse_header(IrParser *p) {
  Token name;
  if (!ir_accept_word(p, "module"))
    return;
  if (!ir_expect(p, TOKEN_STRING, "the name of the source in quotes", &name))
    return;
  p->module->file = name.text;
  p->module->strict = ir_accept_word(p, "strict");
  p->module->fast_math = ir_accept_word(p, "fast_math");
  p->module->unchecked = ir_accept_word(p, "unchecked");
}

/* The next function may have faults of its own to report. */
static void recover(IrParser *p) {
  p->failed = false;
  p->depth = 0;
  p->token = p->stopped;
  if (p->token.at.col == 1 && ir_at_item(p))
    return; /* the one before has no end */
  lex_skip(&p->lexer);
  ir_next(p);
}

static void parse_items(IrParser *p) {
  parse_header(p);
  while (p->failed || p->token.kind != TOKEN_END) {
    if (p->failed) {
      recover(p);
    } else if (ir_accept_word(p, "func")) {
      parse_function(p, false);
    } else if (ir_accept_word(p, "extern")) {
      if (ir_accept_word(p, "func"))
        parse_function(p, true);
      else
        ir_error(p, p->token.at, "expected 'func', not '%s'", p->token.spelling);
    } else if (ir_accept_word(p, "export")) {
      parse_export(p);
    } else {
      ir_error(p, p->token.at, "expected 'func', 'extern' or 'export', not '%s'", p->token.spelling);
    }
  }
}

/* ---- names of functions */
static void fix_derive(IrParser *p, const Fixup *x, Func *base) {
  Derive *d = &x->func->derive;
  d->base = base;
  d->wrt = NEW_ARRAY(p->arena, bool, base->body->nparams);
  for (int i = 0; i < x->nwrt; i++)
    if (x->wrt[i] < base->body->nparams)
      d->wrt[x->wrt[i]] = true;
    else
      diag_error(p->diag, x->name.at, "'wrt' names a parameter that '%s' does not have", base->name);
  if (d->is_sparse) {
    d->order = x->wrt;
    d->norder = x->nwrt;
  }
  x->func->recipe = *d;
  x->func->next_derivative = base->derivatives;
  base->derivatives = x->func;
}

static void fix(IrParser *p, const Fixup *x) {
  Func *f = symbol_find(&p->funcs, x->name.text);
  if (!f) {
    diag_error(p->diag, x->name.at, "there is no function '%s'", x->name.text);
    return;
  }
  switch (x->kind) {
  case FIX_CALLEE: x->op->at.callee = f; break;
  case FIX_DERIVE: fix_derive(p, x, f); break;
  case FIX_VJP: x->func->own_vjp = f; break;
  case FIX_JVP: x->func->own_jvp = f; break;
  case FIX_SIZES: x->export->cut.sizes = f; break;
  case FIX_EXPORT: {
    Export *e = module_export(p->module, x->export->symbol, f, x->export->loc);
    e->part = x->export->part;
    e->cut = x->export->cut;
    if (x->export->accumulate_from >= 0)
      e->accumulate_from = x->export->accumulate_from;
    break;
  }
  }
}

static void report_fault(const VerifyFault *fault, void *arg) {
  const IrParser *p = arg;
  const Range *at = fault->op ? fault->op->note : fault->func ? fault->func->note : NULL;
  const Export *e = p->module->exports;
  for (int i = 0; fault->export && i < p->fixups.n; i++)
    if (p->fixups.at[i].kind == FIX_EXPORT) {
      if (e == fault->export)
        at = &p->fixups.at[i].name.at;
      e = e->next;
    }
  diag_error(p->diag, at ? *at : (Range){.src = p->lexer.src, .line = 1, .col = 1, .to_line = 1, .to_col = 2}, "%s",
             fault->text);
}

Module *parse_ir(Arena *a, Diag *d, const Source *src) {
  IrParser p = {.arena = a, .module = module_new(a, d, src->name), .diag = d};
  p.lexer = (Lexer){.arena = a, .src = src, .line = 1, .col = 1};
  p.funcs.arena = p.opcodes.arena = p.files.arena = a;
  for (uintptr_t i = 0; i < OP_COUNT; i++)
    *symbol_at(&p.opcodes, op_info[i].name) = (void *)(i + 1);
  const int before = d->nerrors;
  ir_next(&p);
  parse_items(&p);
  if (d->nerrors == before)
    for (int i = 0; i < p.fixups.n; i++)
      fix(&p, &p.fixups.at[i]);
  if (d->nerrors == before)
    verify_each(p.module, report_fault, &p);
  return d->nerrors == before ? p.module : NULL;
}
