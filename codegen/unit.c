/* Small helpers over the LLVM C API: types, attributes, declarations, constants, metadata, blocks. */
#include "codegen/body.h"
#include <llvm-c/DebugInfo.h>
#include <string.h>

static LLVMTypeRef scalar_type(Unit *u, Kind k) {
  switch (k) {
  case KIND_BOOL: return u->i1;
  case KIND_I32: return u->i32;
  case KIND_I64: return u->i64;
  case KIND_F32: return u->f32;
  case KIND_F64: return u->f64;
  }
  return NULL;
}

LLVMTypeRef type_of_kind(Unit *u, Kind k) {
  LLVMTypeRef type = scalar_type(u, k);
  return u->lanes ? LLVMVectorType(type, (unsigned)u->lanes) : type;
}

LLVMTypeRef memory_type(Unit *u, Kind k) {
  return k == KIND_BOOL ? u->i8 : scalar_type(u, k);
}

LLVMAttributeRef attribute(Unit *u, const char *name, uint64_t value) {
  const unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
  if (!kind)
    internal_error("LLVM has no attribute '%s'", name);
  return LLVMCreateEnumAttribute(u->context, kind, value);
}

void mark_pure(Unit *u, LLVMValueRef f) {
  static const char *const flags[] = {"nounwind", "willreturn", "nofree", "nosync"};
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
    LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex, attribute(u, flags[i], 0));
  LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex, attribute(u, "memory", 0)); /* none */
}

LLVMValueRef foreign_function(Unit *u, const char *name, LLVMTypeRef result, int nparams, const LLVMTypeRef *params) {
  LLVMValueRef f = LLVMGetNamedFunction(u->llvm, name);
  if (f)
    return f;
  LLVMTypeRef *types = NEW_ARRAY(u->arena, LLVMTypeRef, nparams);
  for (int i = 0; i < nparams; i++)
    types[i] = params[i];
  f = LLVMAddFunction(u->llvm, name, LLVMFunctionType(result, types, (unsigned)nparams, false));
  LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex, attribute(u, "nounwind", 0));
  return f;
}

LLVMValueRef declared(Unit *u, const char *name, LLVMTypeRef result, int nparams, const LLVMTypeRef *params) {
  LLVMValueRef f = foreign_function(u, name, result, nparams, params);
  if (!strncmp(name, "gradc_rt_", 9))
    LLVMSetVisibility(f, LLVMHiddenVisibility);
  return f;
}

/* C's way of passing what is narrower than a register. */
static void extend(Unit *u, LLVMValueRef call, unsigned index, LLVMTypeRef type) {
  if (type == u->i8)
    LLVMAddCallSiteAttribute(call, index, attribute(u, "zeroext", 0));
  else if (type == u->i32 && u->sign_extends)
    LLVMAddCallSiteAttribute(call, index, attribute(u, "signext", 0));
}

LLVMValueRef call_foreign(Body *b, LLVMValueRef f, LLVMTypeRef type, int nargs, LLVMValueRef *args) {
  LLVMValueRef call = LLVMBuildCall2(b->at, type, f, args, (unsigned)nargs, "");
  extend(b->unit, call, LLVMAttributeReturnIndex, LLVMGetReturnType(type));
  for (int i = 0; i < nargs; i++)
    extend(b->unit, call, (unsigned)i + 1, LLVMTypeOf(args[i]));
  return call;
}

LLVMValueRef call_declared(Body *b, LLVMValueRef f, int nargs, LLVMValueRef *args) {
  return call_foreign(b, f, LLVMGlobalGetValueType(f), nargs, args);
}

LLVMValueRef call_intrinsic(Body *b, const char *name, int ntypes, LLVMTypeRef *types, int nargs, LLVMValueRef *args) {
  const unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
  if (!id)
    internal_error("LLVM has no intrinsic '%s'", name);
  LLVMValueRef f = LLVMGetIntrinsicDeclaration(b->unit->llvm, id, types, (size_t)ntypes);
  LLVMTypeRef type = LLVMIntrinsicGetType(b->unit->context, id, types, (size_t)ntypes);
  return LLVMBuildCall2(b->at, type, f, args, (unsigned)nargs, "");
}

LLVMValueRef text_constant(Unit *u, const char *text) {
  if (!text)
    return LLVMConstNull(u->ptr);
  /* One copy of each, found by name. */
  const size_t n = strlen(text);
  uint64_t hash = 14695981039346656037u;
  for (size_t i = 0; i < n; i++)
    hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
  const char *name = arena_printf(u->arena, "text.%016llx", (unsigned long long)hash);
  LLVMValueRef g = LLVMGetNamedGlobal(u->llvm, name);
  size_t length;
  if (g && !strcmp(LLVMGetAsString(LLVMGetInitializer(g), &length), text))
    return g;
  LLVMValueRef data = LLVMConstStringInContext2(u->context, text, n, false);
  g = LLVMAddGlobal(u->llvm, LLVMTypeOf(data), name);
  LLVMSetInitializer(g, data);
  LLVMSetLinkage(g, LLVMPrivateLinkage);
  LLVMSetGlobalConstant(g, true);
  LLVMSetUnnamedAddress(g, LLVMGlobalUnnamedAddr);
  LLVMSetAlignment(g, 1);
  return g;
}

LLVMValueRef const_i64(Unit *u, int64_t x) {
  return LLVMConstInt(u->i64, (unsigned long long)x, true);
}

LLVMMetadataRef self_node(Unit *u, int n, LLVMMetadataRef *rest) {
  LLVMMetadataRef *parts = NEW_ARRAY(u->arena, LLVMMetadataRef, n + 1);
  LLVMMetadataRef temporary = LLVMTemporaryMDNode(u->context, NULL, 0);
  parts[0] = temporary;
  for (int i = 0; i < n; i++)
    parts[i + 1] = rest[i];
  LLVMMetadataRef node = LLVMMDNodeInContext2(u->context, parts, (size_t)n + 1);
  LLVMMetadataReplaceAllUsesWith(temporary, node);
  return node;
}

void set_metadata(Unit *u, LLVMValueRef v, const char *kind, LLVMMetadataRef node) {
  LLVMSetMetadata(v, LLVMGetMDKindIDInContext(u->context, kind, (unsigned)strlen(kind)),
                  LLVMMetadataAsValue(u->context, node));
}

LLVMBasicBlockRef new_block(Body *b, const char *name) {
  return LLVMAppendBasicBlockInContext(b->unit->context, b->code, name);
}

LLVMBasicBlockRef current_block(Body *b) {
  return LLVMGetInsertBlock(b->at);
}

void begin_block(Body *b, LLVMBasicBlockRef block) {
  LLVMMoveBasicBlockAfter(block, current_block(b));
  LLVMPositionBuilderAtEnd(b->at, block);
}

LLVMValueRef entry_alloca(Body *b, LLVMTypeRef type, int64_t count, unsigned align, const char *name) {
  LLVMValueRef slot = LLVMBuildArrayAlloca(b->entry, type, const_i64(b->unit, count), name);
  LLVMSetAlignment(slot, align);
  return slot;
}
