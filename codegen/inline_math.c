/* Which mathematical functions are made inline, and the making of them. */
#include "codegen/inline_math_code.h"
#include <inttypes.h>
#include <string.h>

typedef struct MathRow {
  Opcode op;
  int nargs;
  MathRecipe *recipe;
  bool small; /* inlined wherever it is called, so that LLVM's own vectoriser can widen it */
} MathRow;

static const MathRow rows[] = {
    {OP_EXP, 1, math_exp, true},
    {OP_EXP2, 1, math_exp2, true},
    {OP_EXPM1, 1, math_expm1, true},
    {OP_SIGMOID, 1, math_sigmoid, true},
    {OP_TANH, 1, math_tanh, true},
    {OP_SINH, 1, math_sinh, true},
    {OP_COSH, 1, math_cosh, true},
    {OP_LOG, 1, math_log, true},
    {OP_LOG2, 1, math_log2, true},
    {OP_LOG10, 1, math_log10, true},
    {OP_LOG1P, 1, math_log1p, true},
    {OP_SOFTPLUS, 1, math_softplus, true},
    {OP_SIN, 1, math_sin, false},
    {OP_COS, 1, math_cos, false},
    {OP_TAN, 1, math_tan, false},
    {OP_ATAN, 1, math_atan, true},
    {OP_ATAN2, 2, math_atan2, true},
    {OP_ASIN, 1, math_asin, true},
    {OP_ACOS, 1, math_acos, true},
    {OP_ERF, 1, math_erf, false},
    {OP_ERFC, 1, math_erfc, false},
    {OP_POW, 2, math_pow, false},
    {OP_POW_BELOW, 3, math_pow_below, true},
    {OP_CBRT, 1, math_cbrt, true},
    {OP_HYPOT, 2, math_hypot, true},
    {OP_ASINH, 1, math_asinh, false},
    {OP_ACOSH, 1, math_acosh, false},
    {OP_ATANH, 1, math_atanh, false},
};

static const MathRow *row_of(Opcode op) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].op == op)
      return &rows[i];
  return NULL;
}

static MathCode math_begin(Unit *u, Opcode op, Kind kind, int lanes, bool branches) {
  MathCode c = {.unit = u, .op = op, .kind = kind, .lanes = lanes, .places = lanes, .fused = u->has_fma};
  c.branches = branches;
  if (branches && lanes == 1 && !u->options->scalar)
    c.places = 16 / (int)kind_bytes(kind);
  set_math_types(&c);
  c.at = LLVMCreateBuilderInContext(u->context);
  return c;
}

static LLVMValueRef make(Unit *u, const MathRow *row, int64_t exponent, Kind kind, int lanes, bool branches,
                         const char *name) {
  MathCode c = math_begin(u, row->op, kind, lanes, branches);
  c.exponent = exponent;
  LLVMValueRef f = math_function(&c, name, row->nargs), operands[3];
  if (row->small && u->options->opt_level >= (row->op == OP_POW_BELOW ? 2 : 3))
    LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex, attribute(u, "alwaysinline", 0));
  for (int i = 0; i < row->nargs; i++)
    operands[i] = LLVMGetParam(f, (unsigned)i);
  LLVMBuildRet(c.at, row->recipe(&c, operands));
  LLVMDisposeBuilder(c.at);
  return f;
}

bool has_inline_math(Opcode op) {
  return row_of(op) != NULL;
}

/* Usual are branches for scalars, unless LLVM's vectoriser may widen these, and none for vectors. */
typedef enum Version { USUAL, STRAIGHT, GROUP } Version;

static LLVMValueRef made_once(Unit *u, const MathRow *row, int64_t exponent, Kind kind, int lanes, Version version) {
  static const char *const suffixes[] = {"", ".straight", ".group"};
  const bool branches = version == GROUP || (version == USUAL && lanes == 1 && u->options->opt_level < 3);
  const char *name = arena_printf(u->arena, "gradc.%s", op_info[row->op].name);
  if (exponent)
    name = arena_printf(u->arena, "%s.%" PRId64, name, exponent);
  name = arena_printf(u->arena, "%s.%s", name, kind_name[kind]);
  if (lanes > 1)
    name = arena_printf(u->arena, "%sx%d", name, lanes);
  name = arena_printf(u->arena, "%s%s", name, suffixes[version]);
  LLVMValueRef f = LLVMGetNamedFunction(u->llvm, name);
  return f ? f : make(u, row, exponent, kind, lanes, branches, name);
}

LLVMValueRef inline_math(Unit *u, Opcode op, Kind kind, int lanes) {
  const MathRow *row = row_of(op);
  return row && kind_is_float(kind) ? made_once(u, row, 0, kind, lanes, USUAL) : NULL;
}

LLVMValueRef inline_math_group(Unit *u, Opcode op, Kind kind, int lanes) {
  const bool has_rare = op == OP_EXP || op == OP_LOG || op == OP_POW;
  return made_once(u, row_of(op), 0, kind, lanes, has_rare ? GROUP : USUAL);
}

LLVMValueRef inline_math_straight(Unit *u, Opcode op, Kind kind, int lanes) {
  if (lanes > 1)
    return made_once(u, row_of(op), 0, kind, lanes, USUAL);
  LLVMValueRef f = made_once(u, row_of(op), 0, kind, 1, STRAIGHT);
  make_cold(&(MathCode){.unit = u}, f);
  return f;
}

LLVMValueRef inline_sigmoids(Unit *u, Kind kind, int lanes) {
  const char *name = arena_printf(u->arena, "gradc.sigmoids.%sx%d", kind_name[kind], lanes);
  LLVMValueRef f = LLVMGetNamedFunction(u->llvm, name), of_minus;
  if (f)
    return f;
  MathCode c = math_begin(u, OP_SIGMOID, kind, lanes, false);
  LLVMTypeRef lane = c.real, both[] = {lane, lane};
  c.real = LLVMStructTypeInContext(u->context, both, 2, false);
  f = LLVMAddFunction(u->llvm, name, LLVMFunctionType(c.real, &lane, 1, false));
  LLVMSetLinkage(f, LLVMInternalLinkage);
  mark_pure(u, f);
  LLVMPositionBuilderAtEnd(c.at, LLVMAppendBasicBlockInContext(u->context, f, "entry"));
  LLVMValueRef pair = LLVMGetPoison(c.real);
  c.real = lane;
  pair = LLVMBuildInsertValue(c.at, pair, math_sigmoids(&c, LLVMGetParam(f, 0), &of_minus), 0, "");
  LLVMBuildRet(c.at, LLVMBuildInsertValue(c.at, pair, of_minus, 1, ""));
  LLVMDisposeBuilder(c.at);
  return f;
}

LLVMValueRef inline_power(Unit *u, int64_t n, Kind kind, int lanes) {
  static const MathRow row = {OP_POWI, 1, math_powi, true};
  return power_is_products(n) ? made_once(u, &row, n, kind, lanes, USUAL) : NULL;
}

static bool calls_math(LLVMValueRef instruction) {
  size_t n;
  const LLVMValueRef callee =
      LLVMGetInstructionOpcode(instruction) == LLVMCall ? LLVMGetCalledValue(instruction) : NULL;
  return callee && !strncmp(LLVMGetValueName2(callee, &n), "gradc.", 6);
}

/* How many there are; where `fixed` is given, each gets it. */
static int math_calls(LLVMValueRef function, LLVMAttributeRef fixed) {
  int n = 0;
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b))
    for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
      if (!calls_math(i))
        continue;
      n++;
      if (fixed)
        LLVMAddCallSiteAttribute(i, LLVMAttributeFunctionIndex, fixed);
    }
  return n;
}

void keep_many_math_calls(LLVMModuleRef module) {
  enum { MANY = 32 };
  const unsigned id = LLVMGetEnumAttributeKindForName("noinline", 8);
  const LLVMAttributeRef fixed = LLVMCreateEnumAttribute(LLVMGetModuleContext(module), id, 0);
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
    if (math_calls(f, NULL) > MANY)
      math_calls(f, fixed);
}
