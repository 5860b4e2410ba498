/* Exports: C symbols for functions and their derivatives. */
#include "frontend/elab_core.h"
#include "ir/raw.h"
#include "ir/symbols.h"
#include <string.h>

/* ---- names */
/* f_grad and so on: what an export without `as` is called; NULL: it has no name. */
static const char *default_name(Elab *e, const Function *f) {
  if (f->kind == FUNCTION_LAMBDA)
    return NULL;
  if (!f->of)
    return f->name;
  const char *base = default_name(e, f->of);
  if (!base || f->kind != FUNCTION_DERIVED)
    return base;
  const DeriveOp op = f->op == DERIVE_VALUE_AND_GRAD ? DERIVE_GRAD : f->op;
  return arena_printf(e->arena, "%s_%s", base, derive_name[op]);
}

/* ---- what can be exported */
static bool check_exportable(Elab *e, const Function *f, const Function *root, const Header *h, Range at) {
  DiagMessage *m;
  if (h->kinds && h->kinds->n) {
    m = elab_error(e, at, "a generic function cannot be exported: '%s' needs a kind", root->name);
    diag_mend(e->diag, m, "export a function that fixes it: fn %s_f64(x: f64[n]) { %s(x) }", root->name, root->name);
  } else if (h->takes_functions) {
    m = elab_error(e, at, "'%s' takes a function, and so cannot be exported", root->name);
    diag_mend(e->diag, m, "export a function that fixes it: fn g(x: f64) { %s(f, x) }", root->name);
  } else if (f == root && root->kind == FUNCTION_ITEM && root->item->kind == ITEM_EXTERN) {
    m = elab_error(e, at, "'%s' is a function of C already", root->name);
  } else {
    return true;
  }
  diag_note(e->diag, m, root->at, "declared here");
  return false;
}

/* The declared sizes that f[5] gives; NULL where it gives none.  False after an error. */
static bool export_sizes(Elab *e, const Function *f, const Size *const **fixed) {
  *fixed = NULL;
  while (f && f->kind != FUNCTION_SIZED)
    f = f->of;
  for (int i = 0; f && i < f->ngiven; i++) {
    int64_t known;
    if (size_is_const(f->given[i], &known) && known >= 0)
      continue;
    elab_error(e, f->at, "the sizes of an exported function are constants that are not negative");
    return false;
  }
  if (f)
    *fixed = f->given;
  return true;
}

static bool check_options(Elab *e, const Function *f, const DeriveOptions *options) {
  if (options->sparse && f->op != DERIVE_JACOBIAN && f->op != DERIVE_HESSIAN) {
    elab_error(e, options->at, "'sparse' is an option of jacobian and hessian");
    return false;
  }
  if (options->accumulate && options->sparse) {
    elab_error(e, options->at, "'accumulate' adds into gradients, which a sparse matrix is not");
    return false;
  }
  if (options->accumulate && f->op == DERIVE_JVP) {
    elab_error(e, options->at, "'accumulate' adds into gradients, which jvp has none of");
    return false;
  }
  if (!options->split)
    return true;
  const bool reverse = f->op == DERIVE_GRAD || f->op == DERIVE_VALUE_AND_GRAD || f->op == DERIVE_VJP;
  if (reverse && f->mode != MODE_FORWARD)
    return true;
  DiagMessage *m = elab_error(e, options->at, "'split' cuts a reverse sweep in two, which %s has none of",
                              reverse ? "mode = forward" : derive_name[f->op]);
  diag_mend(e->diag, m, "write vjp(%s, split = true)", f->of->name);
  return false;
}

/* One symbol of an export, or one of each part. */
static void add_exports(Elab *e, const Function *f, const Lowered *l, Func *func, Name name,
                        const DeriveOptions *options) {
  for (int part = options->split ? PART_FORWARD : PART_WHOLE; part <= (options->split ? PART_TAPESIZE : PART_WHOLE);
       part++) {
    const char *symbol =
        part == PART_WHOLE ? name.text : arena_printf(e->arena, "%s_%s", name.text, export_part_name[part]);
    Export *x = module_export(e->module, symbol, func, name.at);
    x->part = (ExportPart)part;
    if (part != PART_WHOLE) {
      x->cut.first = derived_first(e, f, l);
      x->cut.n = derive_chain(e, f->of, l)->body->nparams;
    }
    if (options->accumulate && (part == PART_WHOLE || part == PART_BACKWARD))
      x->accumulate_from = derived_first(e, f, l);
  }
}

static bool check_symbol(Elab *e, Name name, const char *as) {
  const char *reserved = c_symbol_reserved(name.text);
  if (!reserved)
    return true;
  DiagMessage *m = elab_error(e, name.at, "'%s' cannot be a symbol in C: it is %s", name.text, reserved);
  diag_mend(e->diag, m, "give it another name: export %s as ad_%s;", as, name.text);
  return false;
}

static const char *describe(Elab *e, const Function *f) {
  return f->kind == FUNCTION_DERIVED ? arena_printf(e->arena, "%s(%s, ..)", derive_name[f->op], f->of->name) : f->name;
}

static void export_function(Elab *e, Function *f, Name as, Range at, const DeriveOptions *options) {
  Function *root = function_root(f);
  const Header *h = function_header(e, root);
  Name name = as;
  if (!name.text) {
    const char *text = default_name(e, options->split && f->of ? f->of : f);
    name = (Name){.text = text ? arena_name(e->arena, text) : NULL, .at = at};
  }
  if (h->failed || !check_exportable(e, f, root, h, at))
    return;
  if (!name.text) {
    DiagMessage *m = elab_error(e, at, "this export has no name");
    diag_mend(e->diag, m, "give it one: export .. as name;");
    return;
  }
  LowerKey key = {0};
  if (!export_sizes(e, f, &key.fixed))
    return;
  key.kinds = NEW_ARRAY(e->arena, Kind, 1);
  key.functions = NEW_ARRAY(e->arena, Function *, h->params->n);
  f->split = options->split;
  f->is_sparse = options->sparse;
  const Lowered *l = check_options(e, f, options) ? function_lower(e, root, &key, at) : NULL;
  Func *func = l ? derive_chain(e, f, l) : NULL;
  if (func && (options->split || check_symbol(e, name, describe(e, f))))
    add_exports(e, f, l, func, name, options);
}

void elab_export_item(Elab *e, const Item *item) {
  Expr *what = item->export.what;
  DeriveOptions options = {.allowed = true};
  DeriveOp op;
  if (what->kind == EXPR_POISON)
    return;
  const Place before = place_save(e);
  Func *scratch = scratch_func(e, "export", item->at);
  e->b = build_into(scratch, scratch->body);
  const bool is_operator = what->kind == EXPR_CALL && what->call.callee->kind == EXPR_NAME &&
                           derive_operator(what->call.callee->name, &op) && !scope_find(e, what->call.callee->name);
  const Form *t = is_operator ? derive_expression(e, what, op, &options) : elab_expr(e, what, NULL);
  place_restore(e, &before);
  if (t->kind == FORM_FUNCTION) {
    export_function(e, t->function, item->export.as, what->at, &options);
  } else if (t->kind != FORM_POISON) {
    DiagMessage *m = elab_error(e, what->at, "only functions can be exported; this is %s", form_text(e, t));
    diag_mend(e->diag, m, "write export f; or export grad(f, wrt = x) as name;");
  }
}

/* ---- without an export in the file, or by --grad */
void export_all(Elab *e, File *file) {
  for (int i = 0; i < file->program->items.n; i++) {
    const Item *item = file->program->items.at[i];
    const Binding *b = item->kind == ITEM_FUNCTION ? scope_find(e, item->name.text) : NULL;
    if (!b || b->item != item)
      continue;
    Function *f = b->form->function;
    const Header *h = function_header(e, f);
    if (h->failed || h->takes_functions || h->kinds->n)
      continue;
    if (!function_serves_any_size(e, f)) /* a recursive one */
      continue;
    const char *reserved = c_symbol_reserved(item->name.text);
    if (reserved) {
      DiagMessage *m =
          diag_warn(e->diag, "export", item->name.at, "'%s' is not exported: it is %s", item->name.text, reserved);
      diag_mend(e->diag, m, "export it under another name: export %s as ad_%s;", item->name.text, item->name.text);
      continue;
    }
    const DeriveOptions none = {0};
    export_function(e, f, (Name){0}, item->name.at, &none);
  }
}

static Expr *new_name(Elab *e, const char *text, size_t n) {
  Expr *x = NEW(e->arena, Expr);
  x->kind = EXPR_NAME;
  x->name = arena_intern(e->arena, text, n);
  return x;
}

/* p.w */
static Expr *new_path(Elab *e, const char *text, size_t n) {
  const char *dot = memchr(text, '.', n);
  Expr *x = new_name(e, text, dot ? (size_t)(dot - text) : n);
  while (dot) {
    const char *from = dot + 1;
    const size_t rest = n - (size_t)(from - text);
    dot = memchr(from, '.', rest);
    Expr *field = NEW(e->arena, Expr);
    field->kind = EXPR_FIELD;
    field->field.base = x;
    field->field.name.text = arena_intern(e->arena, from, dot ? (size_t)(dot - from) : rest);
    x = field;
  }
  return x;
}

/* "loss:w,b" is export value_and_grad(loss, wrt = (w, b)); */
void export_grad_option(Elab *e, const char *text) {
  const char *colon = strchr(text, ':');
  Expr *call = NEW(e->arena, Expr), *wrt = NEW(e->arena, Expr);
  call->kind = EXPR_CALL;
  call->call.callee = new_name(e, "value_and_grad", 14);
  const Argument function = {.value = new_name(e, text, colon ? (size_t)(colon - text) : strlen(text))};
  vec_push(e->arena, call->call.arguments, function);
  wrt->kind = EXPR_TUPLE;
  for (const char *from = colon ? colon + 1 : NULL; from;) {
    const char *comma = strchr(from, ',');
    vec_push(e->arena, wrt->tuple, new_path(e, from, comma ? (size_t)(comma - from) : strlen(from)));
    from = comma ? comma + 1 : NULL;
  }
  const Argument names = {.name = {.text = arena_name(e->arena, "wrt")}, .value = wrt};
  if (colon)
    vec_push(e->arena, call->call.arguments, names);
  Item *item = NEW(e->arena, Item);
  item->kind = ITEM_EXPORT;
  item->export.what = call;
  elab_export_item(e, item);
}

/* ---- names of all exports together */
static const char *safe_name(Elab *e, const char *name) {
  return name && c_parameter_reserved(name) ? arena_name(e->arena, arena_printf(e->arena, "%s_", name)) : name;
}

static void check_parameters(Elab *e, const Export *x) {
  const Func *f = x->func;
  const int n = f->body->nparams + f->nresults;
  const char **names = NEW_ARRAY(e->arena, const char *, n + 1); /* NULL: not of this part */
  for (int i = 0; i < f->body->nparams; i++) {
    f->body->params[i]->name = safe_name(e, f->body->params[i]->name);
    names[i] = x->part == PART_FORWARD && i >= x->cut.n ? NULL : f->body->params[i]->name;
  }
  for (int r = 0; r < f->nresults; r++) {
    const bool other = x->part != PART_WHOLE && (r < x->cut.first) != (x->part == PART_FORWARD);
    f->result_names[r] = safe_name(e, f->result_names[r]);
    names[f->body->nparams + r] = other ? NULL : arena_name(e->arena, func_result_name(f, r));
  }
  for (int i = 0; i < n; i++)
    for (int j = 0; j < i; j++)
      if (names[i] && names[i] == names[j]) {
        DiagMessage *m = elab_error(e, x->loc, "two arguments of '%s' in C would be called '%s'", x->symbol, names[i]);
        diag_note(e->diag, m, f->loc,
                  i < f->body->nparams   ? "both are parameters"
                  : j < f->body->nparams ? "one is a parameter, the other an output"
                                         : "both are outputs");
        diag_mend(e->diag, m, "rename a parameter, or name the results: -> (name: f64)");
        return;
      }
}

/* ---- names in C: name, name_ws and name_worksize are made for each */
static const char *const SUFFIXES[] = {"", "_ws", "_worksize"};
enum { SUFFIXED = sizeof SUFFIXES / sizeof *SUFFIXES };

typedef struct Claim {
  const Export *by;
  int number;
} Claim;
typedef struct Claims {
  Arena *arena;
  Symbols names, made; /* the first export of a name; the first of those that a name in C is made for */
} Claims;

static const Claim *earlier(const Claim *a, const Claim *b) {
  return !a || (b && b->number < a->number) ? b : a;
}

/* The first export before x whose names in C and x's have one in common that is the name of either; x's are entered. */
static const Export *first_clash(Claims *c, const Export *x, int number) {
  const char *names[SUFFIXED];
  for (int i = 0; i < SUFFIXED; i++)
    names[i] = arena_printf(c->arena, "%s%s", x->symbol, SUFFIXES[i]);
  const Claim *first = symbol_find(&c->made, names[0]);
  for (int i = 1; i < SUFFIXED; i++)
    first = earlier(first, symbol_find(&c->names, names[i]));
  Claim *own = NEW(c->arena, Claim);
  *own = (Claim){.by = x, .number = number};
  for (int i = -1; i < SUFFIXED; i++) {
    void **place = i < 0 ? symbol_at(&c->names, names[0]) : symbol_at(&c->made, names[i]);
    if (!*place)
      *place = own;
  }
  return first ? first->by : NULL;
}

void exports_finish(Elab *e) {
  Claims claims = {.arena = e->arena, .names = {.arena = e->arena}, .made = {.arena = e->arena}};
  int number = 0;
  for (const Export *x = e->module->exports; x; x = x->next) {
    if (x->part != PART_TAPESIZE)
      check_parameters(e, x);
    const Export *y = first_clash(&claims, x, number++);
    if (!y)
      continue;
    DiagMessage *m;
    if (!strcmp(x->symbol, y->symbol))
      m = elab_error(e, x->loc, "two exports are called '%s'", x->symbol);
    else
      m = elab_error(e, x->loc, "'%s' clashes with what '%s' exports in C", x->symbol, y->symbol);
    diag_note(e->diag, m, y->loc, "the first is here");
    diag_mend(e->diag, m, "give one another name: export .. as name;");
  }
}
