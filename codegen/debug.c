/* Line tables for -g: a debugger steps through the .ad file. */
#include "codegen/body.h"
#include <llvm-c/DebugInfo.h>
#include <string.h>

typedef struct DebugFile {
  const Source *source;
  LLVMMetadataRef file;
} DebugFile;

struct DebugInfo {
  LLVMDIBuilderRef builder;
  LLVMMetadataRef unit_file, type;
  VEC(DebugFile) files;
};

static LLVMMetadataRef new_file(LLVMDIBuilderRef builder, const char *name) {
  const char *slash = strrchr(name, '/');
  const char *base = slash ? slash + 1 : name;
  return LLVMDIBuilderCreateFile(builder, base, strlen(base), name, slash ? (size_t)(slash - name) : 0);
}

static LLVMMetadataRef file_of(Unit *u, const Source *source) {
  struct DebugInfo *d = u->debug;
  if (!source)
    return d->unit_file;
  for (int i = 0; i < d->files.n; i++)
    if (d->files.at[i].source == source)
      return d->files.at[i].file;
  const DebugFile file = {.source = source, .file = new_file(d->builder, source->name)};
  vec_push(u->arena, d->files, file);
  return file.file;
}

static void add_flag(Unit *u, const char *name, unsigned value) {
  LLVMAddModuleFlag(u->llvm, LLVMModuleFlagBehaviorWarning, name, strlen(name),
                    LLVMValueAsMetadata(LLVMConstInt(u->i32, value, false)));
}

void debug_begin(Unit *u) {
  static const char producer[] = "gradc";
  struct DebugInfo *d = u->debug = NEW(u->arena, struct DebugInfo);
  d->builder = LLVMCreateDIBuilder(u->llvm);
  d->unit_file = new_file(d->builder, u->module->file ? u->module->file : "input.ad");
  LLVMDIBuilderCreateCompileUnit(d->builder, LLVMDWARFSourceLanguageC99, d->unit_file, producer, strlen(producer),
                                 u->options->opt_level > 0, "", 0, 0, "", 0, LLVMDWARFEmissionLineTablesOnly, 0, false,
                                 false, "", 0, "", 0);
  d->type = LLVMDIBuilderCreateSubroutineType(d->builder, d->unit_file, NULL, 0, LLVMDIFlagZero);
  add_flag(u, "Debug Info Version", LLVMDebugMetadataVersion());
  add_flag(u, "Dwarf Version", 4);
}

void debug_end(Unit *u) {
  if (!u->debug)
    return;
  LLVMDIBuilderFinalize(u->debug->builder);
  LLVMDisposeDIBuilder(u->debug->builder);
}

void debug_function(Body *b, const char *name, Range loc) {
  Unit *u = b->unit;
  if (!u->debug)
    return;
  const unsigned line = loc.line > 0 ? (unsigned)loc.line : 1;
  LLVMMetadataRef file = file_of(u, loc.src);
  b->subprogram =
      LLVMDIBuilderCreateFunction(u->debug->builder, file, name, strlen(name), name, strlen(name), file, line,
                                  u->debug->type, true, true, line, LLVMDIFlagZero, u->options->opt_level > 0);
  LLVMSetSubprogram(b->code, b->subprogram);
  set_location(b, loc);
  LLVMSetCurrentDebugLocation2(b->entry, LLVMDIBuilderCreateDebugLocation(u->context, line, 0, b->subprogram, NULL));
}

void set_location(Body *b, Range loc) {
  Unit *u = b->unit;
  b->loc = loc;
  if (!b->subprogram)
    return;
  LLVMMetadataRef scope = b->subprogram;
  if (loc.src && file_of(u, loc.src) != LLVMDIScopeGetFile(scope))
    scope = LLVMDIBuilderCreateLexicalBlockFile(u->debug->builder, scope, file_of(u, loc.src), 0);
  LLVMSetCurrentDebugLocation2(b->at,
                               LLVMDIBuilderCreateDebugLocation(u->context, loc.line > 0 ? (unsigned)loc.line : 0,
                                                                loc.col > 0 ? (unsigned)loc.col : 0, scope, NULL));
}
