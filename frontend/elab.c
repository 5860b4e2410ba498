/* Elaboration: the program as a whole.  Files are read and their names bound before any body is looked at, so that the
   order of items does not matter; then functions become IR functions, the main file's exports C symbols. */
#include "frontend/elab_core.h"
#include "ir/raw.h"

enum { STACK_ROOM = 4 << 20, MAX_VALUES = 4000000, MAX_CALLS = 100000 };

DiagMessage *elab_error(Elab *e, Range at, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  const char *text = arena_vprintf(e->arena, fmt, ap);
  va_end(ap);
  return diag_error(e->diag, at, "%s", text);
}

/* ---- where code goes */
Place place_save(const Elab *e) {
  return (Place){.b = e->b,
                 .scope = e->scope,
                 .top = e->top,
                 .comprehension_depth = e->comprehension_depth,
                 .lift = e->lift,
                 .loop = e->loop,
                 .holes = e->holes};
}

void place_restore(Elab *e, const Place *p) {
  e->b = p->b;
  e->scope = p->scope;
  e->top = p->top;
  e->comprehension_depth = p->comprehension_depth;
  e->lift = p->lift;
  e->loop = p->loop;
  e->holes = p->holes;
}

Func *scratch_func(Elab *e, const char *name, Range loc) {
  Func *f = NEW(e->arena, Func);
  f->name = name;
  f->module = e->module;
  f->body = region_new(e->module, f, NULL);
  f->loc = loc;
  return f;
}

bool place_has_room(Elab *e, Range at, const char *name) {
  const char here = 0;
  const uintptr_t now = (uintptr_t)&here, used = now < e->stack_start ? e->stack_start - now : now - e->stack_start;
  if (used > STACK_ROOM) {
    elab_error(e, at, "calls nest too deeply here, in '%s'", name);
    return false;
  }
  if (e->module->nuids > MAX_VALUES || e->ncalls > MAX_CALLS) {
    elab_error(e, at, "the program grows beyond all bounds at this call of '%s'", name);
    return false;
  }
  return true;
}

/* ---- items */
static void bind_item(Elab *e, File *file, const Item *item) {
  BindingKind kind;
  switch (item->kind) {
  case ITEM_CONST: kind = BIND_CONST; break;
  case ITEM_STRUCT: kind = BIND_STRUCT; break;
  case ITEM_FUNCTION:
  case ITEM_EXTERN: kind = BIND_FUNCTION; break;
  case ITEM_POISON: kind = BIND_POISON; break;
  default: return;
  }
  if (!item->name.text)
    return;
  Binding *old = scope_find(e, item->name.text);
  if (old) {
    if (old->kind != BIND_POISON && kind != BIND_POISON) {
      DiagMessage *m = elab_error(e, item->name.at, "'%s' is declared twice", item->name.text);
      diag_note(e->diag, m, old->at, "declared first here");
    }
    return;
  }
  Binding *b = scope_bind(e, kind, item->name, NULL);
  b->item = item;
  b->func = NULL;
  if (kind == BIND_FUNCTION) {
    b->form = NEW(e->arena, Form);
    b->form->kind = FORM_FUNCTION;
    b->form->at = item->name.at;
    b->form->function = function_of_item(e, item, file);
  } else if (kind == BIND_CONST) {
    b->constant = NEW(e->arena, ConstValue);
    b->constant->item = item;
    b->constant->top = file->top;
  } else if (kind == BIND_STRUCT) {
    b->decl = NEW(e->arena, StructDecl);
    *b->decl = (StructDecl){.name = item->name.text, .item = item, .top = file->top};
  }
}

static void bind_items(Elab *e, File *file) {
  e->scope = e->top = file->top = scope_new(e, NULL);
  for (int i = 0; i < file->program->items.n; i++)
    bind_item(e, file, file->program->items.at[i]);
}

/* Own rules belong to a function of their own file. */
static void attach_rule(Elab *e, const Item *rule) {
  Binding *b = scope_find(e, rule->name.text);
  const char *op = rule->rule.is_vjp ? "vjp" : "jvp";
  if (b && b->kind == BIND_POISON && !b->clash)
    return;
  if (!b || b->kind != BIND_FUNCTION) {
    DiagMessage *m = elab_error(e, rule->name.at, "a %s rule for '%s', which is no function", op, rule->name.text);
    if (b)
      diag_note(e->diag, m, b->at, "declared here");
    return;
  }
  Function *f = b->form->function;
  if (f->top != e->top) {
    DiagMessage *m = elab_error(e, rule->name.at, "a rule stands in the same file as its function");
    diag_note(e->diag, m, b->at, "'%s' is declared here", rule->name.text);
    return;
  }
  const Item **place = rule->rule.is_vjp ? &f->vjp_rule : &f->jvp_rule;
  if (*place) {
    DiagMessage *m = elab_error(e, rule->name.at, "'%s' has two %s rules", rule->name.text, op);
    diag_note(e->diag, m, (*place)->name.at, "the first is here");
    return;
  }
  *place = rule;
}

static void attach_rules(Elab *e, File *file) {
  e->scope = e->top = file->top;
  for (int i = 0; i < file->program->items.n; i++)
    if (file->program->items.at[i]->kind == ITEM_RULE)
      attach_rule(e, file->program->items.at[i]);
}

void modules_bind(Elab *e, int from) {
  const Modules *modules = e->modules;
  for (int i = from; i < modules->files.n; i++)
    bind_items(e, modules->files.at[i]);
  for (int i = from; i < modules->files.n; i++)
    modules_link(e, modules->files.at[i]);
  for (int i = from; i < modules->files.n; i++)
    attach_rules(e, modules->files.at[i]);
}

/* Functions of the main file are made whether anything uses them or not; those of other files when they are used. */
static void elab_items(Elab *e, File *file, bool is_main) {
  e->scope = e->top = file->top;
  for (int i = 0; i < file->program->items.n; i++) {
    const Item *item = file->program->items.at[i];
    const bool is_function = item->kind == ITEM_FUNCTION || item->kind == ITEM_EXTERN;
    if (!item->name.text || !(item->kind == ITEM_CONST || item->kind == ITEM_STRUCT || (is_function && is_main)))
      continue;
    Binding *b = scope_find(e, item->name.text);
    if (!b || b->item != item)
      continue; /* declared twice */
    if (item->kind == ITEM_CONST)
      const_check(e, b);
    else if (item->kind == ITEM_STRUCT)
      struct_check(e, b->decl);
    else
      elab_function_item(e, item, b);
  }
}

/* What nothing uses is looked at all the same, so that its errors show; what is made of it leaves the module again. */
static void check_unused(Elab *e) {
  Func *last = e->module->last_func;
  for (int i = 0; i < e->modules->files.n; i++) {
    const File *file = e->modules->files.at[i];
    e->scope = e->top = file->top;
    for (const Binding *b = file->is_library ? NULL : file->top->bindings; b; b = b->next)
      if (b->kind == BIND_FUNCTION)
        function_check(e, b->form->function);
  }
  if (last)
    last->next = NULL;
  else
    e->module->funcs = NULL;
  e->module->last_func = last;
}

static void elab_exports(Elab *e, File *file) {
  bool any = false;
  e->scope = e->top = file->top;
  for (int i = 0; i < file->program->items.n; i++) {
    const Item *item = file->program->items.at[i];
    any |= item->kind == ITEM_EXPORT || (item->kind == ITEM_POISON && !item->name.text);
    if (item->kind == ITEM_EXPORT && !e->modules->options->grad_alone)
      elab_export_item(e, item);
  }
  for (const char *const *text = e->modules->options->grad; text && *text; text++) {
    any = true;
    export_grad_option(e, *text);
  }
  if (!any)
    export_all(e, file);
  exports_finish(e);
}

Module *elaborate(Arena *arena, Diag *diag, const Source *main, const ElabOptions *options,
                  void (*imported)(void *arg, const char *path), void *arg) {
  const char here = 0;
  Modules modules = {.options = options, .imported = imported, .imported_arg = arg};
  Lambdas lambdas = {0};
  Elab e = {.arena = arena,
            .diag = diag,
            .module = module_new(arena, diag, main->name),
            .real = options->real,
            .modules = &modules,
            .lambdas = &lambdas,
            .stack_start = (uintptr_t)&here};
  e.b = (Builder){.module = e.module};
  modules_read(&e, main);
  modules_bind(&e, 0);
  for (int i = 0; i < modules.files.n; i++)
    if (!modules.files.at[i]->is_library)
      elab_items(&e, modules.files.at[i], i == 0);
  elab_exports(&e, modules.files.at[0]);
  check_unused(&e);
  rules_check_cycles(&e);
  return e.module;
}
