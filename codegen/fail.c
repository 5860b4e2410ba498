/* Checks that end the call: a compare, and a branch to cold code that reports and returns the status. */
#include "codegen/body.h"
#include <string.h>

/* The numbers of gradc.h. */
enum {
  STATUS_NO_MEMORY = 1,
  STATUS_OUT_OF_RANGE = 2,
  STATUS_REQUIRE = 3,
  STATUS_NOT_FACTORABLE = 4,
  STATUS_BAD_SIZE = 5
};

void mark_unlikely(Unit *u, LLVMValueRef branch) {
  LLVMMetadataRef weights[] = {LLVMMDStringInContext2(u->context, "branch_weights", strlen("branch_weights")),
                               LLVMValueAsMetadata(LLVMConstInt(u->i32, 1, false)),
                               LLVMValueAsMetadata(LLVMConstInt(u->i32, 1u << 20, false))};
  set_metadata(u, branch, "prof", LLVMMDNodeInContext2(u->context, weights, 3));
}

/* Calls runtime function `name` with file, line and the arguments where `bad` holds. */
static void fail_with(Body *b, LLVMValueRef bad, const char *name, int nleading, LLVMValueRef *leading, int nargs,
                      LLVMValueRef *args) {
  Unit *u = b->unit;
  if (LLVMIsAConstantInt(bad) && !LLVMConstIntGetZExtValue(bad))
    return;
  LLVMBasicBlockRef cold = new_block(b, "fail"), go_on = new_block(b, "");
  mark_unlikely(u, LLVMBuildCondBr(b->at, bad, cold, go_on));
  LLVMBasicBlockRef from = current_block(b);
  LLVMPositionBuilderAtEnd(b->at, cold);
  LLVMValueRef all[8];
  LLVMTypeRef types[8];
  int n = 0;
  for (int i = 0; i < nleading; i++)
    all[n++] = leading[i];
  all[n++] = text_constant(u, b->loc.src ? b->loc.src->name : b->loc.line ? u->module->file : NULL);
  all[n++] = LLVMConstInt(u->i32, (unsigned)b->loc.line, false);
  for (int i = 0; i < nargs; i++)
    all[n++] = args[i];
  for (int i = 0; i < n; i++)
    types[i] = LLVMTypeOf(all[i]);
  LLVMValueRef f = declared(u, name, u->i32, n, types);
  LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex, attribute(u, "cold", 0));
  LLVMBuildRet(b->at, call_declared(b, f, n, all));
  LLVMPositionBuilderAtEnd(b->at, from);
  begin_block(b, go_on);
}

void fail_if(Body *b, LLVMValueRef bad, int status, const char *message) {
  LLVMValueRef leading[] = {LLVMConstInt(b->unit->i32, (unsigned)status, false)},
               args[] = {text_constant(b->unit, message)};
  fail_with(b, bad, "gradc_rt_fail", 1, leading, 1, args);
}

void fail_index_if(Body *b, LLVMValueRef bad, LLVMValueRef index, LLVMValueRef size) {
  LLVMValueRef args[] = {index, size};
  fail_with(b, bad, "gradc_rt_fail_index", 0, NULL, 2, args);
}

void fail_size_if(Body *b, LLVMValueRef bad, LLVMValueRef size) {
  fail_with(b, bad, "gradc_rt_fail_size", 0, NULL, 1, &size);
}

void fail_memory_if(Body *b, LLVMValueRef bad, LLVMValueRef bytes) {
  fail_with(b, bad, "gradc_rt_fail_memory", 0, NULL, 1, &bytes);
}

void fail_workspace_if(Body *b, LLVMValueRef bad, LLVMValueRef given, LLVMValueRef needed) {
  LLVMValueRef args[] = {given, needed};
  fail_with(b, bad, "gradc_rt_fail_workspace", 0, NULL, 2, args);
}

/* How a text begins tells the status: see build_require. */
void fail_require_if(Body *b, LLVMValueRef bad, const char *text) {
  static const struct {
    const char *begin;
    int status;
  } known[] = {{"index ", STATUS_OUT_OF_RANGE},
               {"range ", STATUS_OUT_OF_RANGE},
               {"size ", STATUS_BAD_SIZE},
               {"matrix ", STATUS_NOT_FACTORABLE}};
  int status = STATUS_REQUIRE;
  for (size_t i = 0; text && i < sizeof known / sizeof *known; i++)
    if (!strncmp(text, known[i].begin, strlen(known[i].begin)))
      status = known[i].status;
  fail_if(b, bad, status, text ? text : "a requirement does not hold");
}

void fail_status(Body *b, LLVMValueRef status) {
  LLVMValueRef bad = LLVMBuildICmp(b->at, LLVMIntNE, status, LLVMConstInt(b->unit->i32, 0, false), "");
  LLVMBasicBlockRef cold = new_block(b, "fail"), go_on = new_block(b, "");
  mark_unlikely(b->unit, LLVMBuildCondBr(b->at, bad, cold, go_on));
  LLVMBasicBlockRef from = current_block(b);
  LLVMPositionBuilderAtEnd(b->at, cold);
  LLVMBuildRet(b->at, status);
  LLVMPositionBuilderAtEnd(b->at, from);
  begin_block(b, go_on);
}
