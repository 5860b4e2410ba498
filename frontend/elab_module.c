/* Files: reading a program and what it imports.
   A path is looked for beside the importing file (never that file itself), then in the -I folders, then in the standard
   library; <path> in the library alone.  A file is read once, however many import it; an import of a file that is still
   reading its own imports is a cycle and an error.  An import brings in all names that the imported file sees: a nearer
   declaration hides a farther one, and two equally near ones clash when the name is used. */
#define _POSIX_C_SOURCE 200809L
#include "frontend/elab_core.h"
#include <string.h>
#include <sys/stat.h>

static bool identify(const char *path, File *file) {
  struct stat s;
  if (stat(path, &s) != 0 || S_ISDIR(s.st_mode))
    return false;
  file->device = (uint64_t)s.st_dev;
  file->inode = (uint64_t)s.st_ino;
  file->has_identity = true;
  return true;
}

static bool is_same_file(const File *a, const File *b) {
  return a->has_identity && b->has_identity && a->device == b->device && a->inode == b->inode;
}

static const char *folder_of(Elab *e, const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? arena_strndup(e->arena, path, (size_t)(slash - path)) : NULL;
}

static const char *join_path(Elab *e, const char *folder, const char *path) {
  if (!folder || path[0] == '/')
    return path;
  return arena_printf(e->arena, "%s/%s", folder, path);
}

/* ---- searching */
typedef struct Search {
  const File *from;
  const char *path;
  VEC(const char *) tried;
  File *found; /* identity and path only */
} Search;

static bool try_path(Elab *e, Search *s, const char *path, bool is_library) {
  File at = {0};
  if (!identify(path, &at) || is_same_file(&at, s->from)) {
    vec_push(e->arena, s->tried, path);
    return false;
  }
  s->found = NEW(e->arena, File);
  *s->found = at;
  s->found->path = path;
  s->found->is_library = is_library;
  return true;
}

static bool is_library_folder(const Elab *e, const char *folder) {
  const char *library = e->modules->options->library_dir;
  return library && !strcmp(folder, library);
}

static bool search_import(Elab *e, Search *s, bool is_system) {
  const ElabOptions *o = e->modules->options;
  if (is_system)
    return o->library_dir && try_path(e, s, join_path(e, o->library_dir, s->path), true);
  if (try_path(e, s, join_path(e, folder_of(e, s->from->path), s->path), s->from->is_library))
    return true;
  if (s->path[0] == '/')
    return false;
  for (const char *const *dir = o->include_dirs; dir && *dir; dir++)
    if (try_path(e, s, join_path(e, *dir, s->path), is_library_folder(e, *dir)))
      return true;
  return o->library_dir && try_path(e, s, join_path(e, o->library_dir, s->path), true);
}

static void report_missing(Elab *e, const Search *s, const Item *item) {
  DiagMessage *m = elab_error(e, item->import.path_at, "no file '%s' to import", s->path);
  for (int i = 0; i < s->tried.n; i++) {
    bool again = false;
    for (int j = 0; j < i; j++)
      again |= !strcmp(s->tried.at[i], s->tried.at[j]);
    if (!again)
      diag_note(e->diag, m, (Range){0}, "looked for '%s'", s->tried.at[i]);
  }
}

/* ---- reading */
static void read_imports(Elab *e, File *file);

static File *known_file(const Elab *e, const File *found) {
  for (int i = 0; i < e->modules->files.n; i++)
    if (is_same_file(e->modules->files.at[i], found))
      return e->modules->files.at[i];
  return NULL;
}

/* The files that are being read form a chain, in the order of their first reading. */
static void report_cycle(Elab *e, const File *to, const Item *item) {
  DiagMessage *m = elab_error(e, item->import.path_at, "'%s' imports itself through this import", to->path);
  bool inside = false;
  for (int i = 0; i < e->modules->files.n; i++) {
    const File *f = e->modules->files.at[i];
    inside |= f == to;
    if (inside && f->is_reading && f->imports.n && f->imports.at[f->imports.n - 1].file->is_reading)
      diag_note(e->diag, m, f->imports.at[f->imports.n - 1].at, "'%s' imports '%s' here", f->path,
                f->imports.at[f->imports.n - 1].file->path);
  }
}

static File *read_found(Elab *e, File *file) {
  const int errors = e->diag->nerrors;
  const Source *source = source_read(e->arena, e->diag, file->path);
  if (!source || e->diag->nerrors > errors)
    return NULL;
  file->source = source;
  if (e->modules->imported)
    e->modules->imported(e->modules->imported_arg, file->path);
  file->program = parse_file(e->arena, e->diag, source);
  vec_push(e->arena, e->modules->files, file);
  return file;
}

static void read_import(Elab *e, File *from, const Item *item) {
  Search s = {.from = from, .path = item->import.path};
  if (!search_import(e, &s, item->import.is_system)) {
    report_missing(e, &s, item);
    return;
  }
  File *file = known_file(e, s.found);
  if (file && file->is_reading) {
    report_cycle(e, file, item);
    return;
  }
  const bool is_new = !file;
  if (is_new && !(file = read_found(e, s.found)))
    return;
  const Import import = {.file = file, .at = item->import.path_at};
  vec_push(e->arena, from->imports, import);
  if (is_new)
    read_imports(e, file);
}

static void read_imports(Elab *e, File *file) {
  file->is_reading = true;
  for (int i = 0; i < file->program->items.n; i++)
    if (file->program->items.at[i]->kind == ITEM_IMPORT)
      read_import(e, file, file->program->items.at[i]);
  file->is_reading = false;
}

void modules_read(Elab *e, const Source *main) {
  File *file = NEW(e->arena, File);
  file->path = main->name;
  file->source = main;
  identify(main->name, file);
  file->program = parse_file(e->arena, e->diag, main);
  vec_push(e->arena, e->modules->files, file);
  read_imports(e, file);
}

/* Read when it is first needed, in the middle of elaboration. */
File *modules_library(Elab *e, const char *name, Range at) {
  Modules *modules = e->modules;
  const int nfiles = modules->files.n;
  Search s = {.from = modules->files.at[0], .path = name};
  if (!search_import(e, &s, true)) {
    elab_error(e, at, "the standard library, where '%s' should be, is not found", name);
    return NULL;
  }
  File *file = known_file(e, s.found);
  if (file)
    return file;
  if (!(file = read_found(e, s.found)))
    return NULL;
  read_imports(e, file);
  const Place before = place_save(e);
  modules_bind(e, nfiles);
  place_restore(e, &before);
  return file;
}

/* ---- names of imported files */
typedef VEC(Import) ImportList;

/* Into e->scope, which holds names as far away as this one; `nearer` are those that hide it. */
static void import_binding(Elab *e, const Binding *b, Range at, const Scope *nearer) {
  if (scope_lookup(nearer, b->name))
    return;
  Binding *same = scope_lookup(e->scope, b->name);
  if (same) {
    if (same->item != b->item && !same->clash) {
      same->kind = BIND_POISON;
      same->clash = b;
      same->clash_at = at;
    }
    return;
  }
  Binding *copy = scope_bind(e, b->kind, (Name){.text = b->name, .at = b->at}, b->form);
  copy->item = b->item;
  copy->decl = b->decl;
  copy->constant = b->constant;
  copy->func = NULL;
}

/* One scope a level of distance, the nearest innermost.  Oldest first, so that the copies keep the order. */
static Scope *link_level(Elab *e, const ImportList *level, Scope *nearest, Scope *last) {
  Scope *scope = scope_new(e, NULL);
  for (int i = 0; i < level->n; i++) {
    VEC(const Binding *) names = {0};
    for (const Binding *b = level->at[i].file->top->bindings; b; b = b->next)
      vec_push(e->arena, names, b);
    e->scope = scope;
    for (int j = names.n - 1; j >= 0; j--)
      import_binding(e, names.at[j], level->at[i].at, nearest);
  }
  if (last)
    last->outer = scope;
  return scope;
}

void modules_link(Elab *e, File *file) {
  ImportList level = {0};
  const int mark = ++e->modules->mark;
  Scope *nearest = NULL, *last = NULL;
  file->mark = mark;
  for (int i = 0; i < file->imports.n; i++)
    if (file->imports.at[i].file->mark != mark) {
      file->imports.at[i].file->mark = mark;
      vec_push(e->arena, level, file->imports.at[i]);
    }
  while (level.n) {
    last = link_level(e, &level, nearest, last);
    nearest = nearest ? nearest : last;
    ImportList next = {0};
    for (int i = 0; i < level.n; i++)
      for (int j = 0; j < level.at[i].file->imports.n; j++) {
        const Import import = {.file = level.at[i].file->imports.at[j].file, .at = level.at[i].at};
        if (import.file->mark != mark) {
          import.file->mark = mark;
          vec_push(e->arena, next, import);
        }
      }
    level = next;
  }
  file->top->outer = nearest;
}
