/* Expressions of --emit=c: constants, and instructions without effects. */
#define _XOPEN_SOURCE 700
#include "codegen/c_source.h"
#include "ir/ir.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- constants */
static const char *integer_text(CWriter *w, LLVMValueRef v) {
  const unsigned width = LLVMGetIntTypeWidth(LLVMTypeOf(v));
  const int64_t x = LLVMConstIntGetSExtValue(v);
  if (width == 1)
    return x ? "true" : "false";
  if (width == 8)
    return arena_printf(w->arena, "%d", (int)(uint8_t)x);
  if (x == INT64_MIN)
    return "INT64_MIN";
  if (x == INT32_MIN)
    return "INT32_MIN";
  return arena_printf(w->arena, x > INT32_MAX || x < -INT32_MAX ? "%" PRId64 "LL" : "%" PRId64, x);
}

static const char *real_text(CWriter *w, LLVMValueRef v) {
  LLVMBool loses;
  const double x = LLVMConstRealGetDouble(v, &loses);
  const bool single = LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMFloatTypeKind;
  if (isnan(x))
    return single ? "(float)NAN" : "(double)NAN";
  if (isinf(x))
    return x > 0    ? (single ? "(float)INFINITY" : "(double)INFINITY")
           : single ? "(-(float)INFINITY)"
                    : "(-(double)INFINITY)";
  char text[64];
  for (int digits = 6; digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, x);
    if (strtod(text, NULL) == x)
      break;
  }
  const char *point = strpbrk(text, ".e") ? "" : ".0", *suffix = single ? "f" : "";
  return arena_printf(w->arena, text[0] == '-' ? "(%s%s%s)" : "%s%s%s", text, point, suffix);
}

static const char *constant_text(CWriter *w, LLVMValueRef v) {
  LLVMTypeRef type = LLVMTypeOf(v);
  const LLVMTypeKind kind = LLVMGetTypeKind(type);
  if (LLVMIsAFunction(v))
    internal_error("--emit=c: the address of a function");
  if (LLVMIsAGlobalVariable(v))
    return names_find(&w->globals, v);
  if (LLVMIsUndef(v) || LLVMIsNull(v))
    return kind == LLVMPointerTypeKind                               ? "NULL"
           : kind == LLVMIntegerTypeKind                             ? LLVMGetIntTypeWidth(type) == 1 ? "false" : "0"
           : kind == LLVMDoubleTypeKind || kind == LLVMFloatTypeKind ? LLVMIsUndef(v) ? "0.0" : real_text(w, v)
                                                                     : "{0}";
  if (LLVMIsAConstantInt(v))
    return integer_text(w, v);
  if (LLVMIsAConstantFP(v))
    return real_text(w, v);
  char *text = LLVMPrintValueToString(v);
  internal_error("--emit=c: no C for the constant %s", text);
}

const char *c_initialiser(CWriter *w, LLVMValueRef v) {
  LLVMTypeRef type = LLVMTypeOf(v);
  if (LLVMGetTypeKind(type) != LLVMArrayTypeKind)
    return constant_text(w, v);
  const uint64_t n = LLVMGetArrayLength2(type);
  if (LLVMIsNull(v) || !n)
    return "{0}";
  char *text = NULL;
  size_t bytes = 0;
  FILE *out = open_memstream(&text, &bytes);
  if (!out)
    internal_error("out of memory");
  fputc('{', out);
  for (uint64_t i = 0, column = 0; i < n; i++) {
    const char *one = constant_text(w, LLVMGetAggregateElement(v, (unsigned)i));
    column += strlen(one) + 2;
    fprintf(out, "%s%s", !i ? "" : column > 100 ? ",\n    " : ", ", one);
    column = column > 100 ? 4 : column;
  }
  fputc('}', out);
  fclose(out);
  const char *kept = arena_strndup(w->arena, text, bytes);
  free(text);
  return kept;
}

const char *c_value(CWriter *w, LLVMValueRef v) {
  if (LLVMIsConstant(v))
    return constant_text(w, v);
  const char *text = names_find(&w->locals, v);
  if (!text)
    internal_error("--emit=c: a value that is used before it is made");
  return text;
}

/* ---- instructions */
static unsigned width_of(LLVMValueRef v) {
  LLVMTypeRef t = LLVMTypeOf(v);
  return LLVMGetTypeKind(t) == LLVMIntegerTypeKind ? LLVMGetIntTypeWidth(t) : 0;
}

static const char *unsigned_type(unsigned width) {
  return width == 64 ? "uint64_t" : width == 32 ? "uint32_t" : "uint8_t";
}

/* The operation on unsigned numbers, and back. */
static const char *wrapped(CWriter *w, LLVMValueRef i, const char *sign) {
  const char *a = c_value(w, LLVMGetOperand(i, 0)), *b = c_value(w, LLVMGetOperand(i, 1));
  const unsigned width = width_of(i);
  if (width == 1)
    internal_error("--emit=c: arithmetic on a bool");
  return arena_printf(w->arena, "(%s)((%s)%s %s %s%s)", c_type(LLVMTypeOf(i)), unsigned_type(width), a, sign,
                      width == 64 ? "" : arena_printf(w->arena, "(%s)", unsigned_type(width)), b);
}

static const char *plain(CWriter *w, LLVMValueRef i, const char *sign) {
  return arena_printf(w->arena, "(%s %s %s)", c_value(w, LLVMGetOperand(i, 0)), sign, c_value(w, LLVMGetOperand(i, 1)));
}

/* Of bools too: the result is of the operands' type. */
static const char *bitwise(CWriter *w, LLVMValueRef i, const char *sign) {
  const bool logical = width_of(i) == 1;
  return plain(w, i, !logical ? sign : *sign == '&' ? "&&" : *sign == '|' ? "||" : "!=");
}

static const char *compare_integers(CWriter *w, LLVMValueRef i) {
  const char *a = c_value(w, LLVMGetOperand(i, 0)), *b = c_value(w, LLVMGetOperand(i, 1)), *sign = "==";
  const unsigned width = width_of(LLVMGetOperand(i, 0));
  bool is_unsigned = false;
  switch (LLVMGetICmpPredicate(i)) {
  case LLVMIntEQ: break;
  case LLVMIntNE: sign = "!="; break;
  case LLVMIntUGT: is_unsigned = true; /* fall through */
  case LLVMIntSGT: sign = ">"; break;
  case LLVMIntUGE: is_unsigned = true; /* fall through */
  case LLVMIntSGE: sign = ">="; break;
  case LLVMIntULT: is_unsigned = true; /* fall through */
  case LLVMIntSLT: sign = "<"; break;
  case LLVMIntULE: is_unsigned = true; /* fall through */
  case LLVMIntSLE: sign = "<="; break;
  }
  if (!is_unsigned || width <= 1)
    return arena_printf(w->arena, "(%s %s %s)", a, sign, b);
  return arena_printf(w->arena, "((%s)%s %s (%s)%s)", unsigned_type(width), a, sign, unsigned_type(width), b);
}

/* Where one is no number, ordered comparisons are false and the others true; C has the ordered ones, and !=. */
static const char *compare_reals(CWriter *w, LLVMValueRef i) {
  const char *a = c_value(w, LLVMGetOperand(i, 0)), *b = c_value(w, LLVMGetOperand(i, 1));
  const char *form = NULL;
  switch (LLVMGetFCmpPredicate(i)) {
  case LLVMRealPredicateFalse: return "false";
  case LLVMRealPredicateTrue: return "true";
  case LLVMRealOEQ: form = "(%s == %s)"; break;
  case LLVMRealUNE: form = "(%s != %s)"; break;
  case LLVMRealOGT: form = "(%s > %s)"; break;
  case LLVMRealOGE: form = "(%s >= %s)"; break;
  case LLVMRealOLT: form = "(%s < %s)"; break;
  case LLVMRealOLE: form = "(%s <= %s)"; break;
  case LLVMRealULE: form = "(!(%s > %s))"; break;
  case LLVMRealULT: form = "(!(%s >= %s))"; break;
  case LLVMRealUGE: form = "(!(%s < %s))"; break;
  case LLVMRealUGT: form = "(!(%s <= %s))"; break;
  case LLVMRealORD: form = "(!isunordered(%s, %s))"; break;
  case LLVMRealUNO: form = "(isunordered(%s, %s))"; break;
  case LLVMRealONE: form = "(islessgreater(%s, %s))"; break;
  case LLVMRealUEQ: form = "(!islessgreater(%s, %s))"; break;
  }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  return arena_printf(w->arena, form, a, b);
#pragma GCC diagnostic pop
}

static const char *cast_text(CWriter *w, LLVMValueRef i) {
  LLVMValueRef from = LLVMGetOperand(i, 0);
  const char *x = c_value(w, from), *to = c_type(LLVMTypeOf(i));
  const unsigned width = width_of(from);
  switch (LLVMGetInstructionOpcode(i)) {
  case LLVMTrunc:
    return width_of(i) == 1 ? arena_printf(w->arena, "((%s & 1) != 0)", x) : arena_printf(w->arena, "(%s)%s", to, x);
  case LLVMZExt:
    return width > 1 ? arena_printf(w->arena, "(%s)(%s)%s", to, unsigned_type(width), x)
                     : arena_printf(w->arena, "(%s)%s", to, x);
  case LLVMSExt:
    return width == 1   ? arena_printf(w->arena, "(-(%s)%s)", to, x)
           : width == 8 ? arena_printf(w->arena, "(%s)(int8_t)%s", to, x)
                        : arena_printf(w->arena, "(%s)%s", to, x);
  case LLVMUIToFP:
    return width > 1 ? arena_printf(w->arena, "(%s)(%s)%s", to, unsigned_type(width), x)
                     : arena_printf(w->arena, "(%s)%s", to, x);
  case LLVMPtrToInt: return arena_printf(w->arena, "(%s)(intptr_t)%s", to, x);
  case LLVMBitCast:
    return arena_printf(w->arena, "%s(%s)",
                        width               ? (width == 64 ? "gradc_float64" : "gradc_float32")
                        : width_of(i) == 64 ? "gradc_bits64"
                                            : "gradc_bits32",
                        x);
  default: return arena_printf(w->arena, "(%s)%s", to, x);
  }
}

/* An address; its last step is also kept as a cell. */
static const char *address_text(CWriter *w, LLVMValueRef i) {
  LLVMTypeRef type = LLVMGetGEPSourceElementType(i);
  if (LLVMGetNumOperands(i) != 2)
    internal_error("--emit=c: an address of several steps");
  const char *base = c_value(w, LLVMGetOperand(i, 0)), *index = c_value(w, LLVMGetOperand(i, 1));
  const char *cell = arena_printf(w->arena, "((%s *)%s)[%s]", c_cell(type), base, index);
  names_set(w->arena, &w->cells, i, cell);
  if (LLVMGetTypeKind(type) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) == 8)
    return arena_printf(w->arena, "(%s + %s)", base, index);
  return arena_printf(w->arena, "(char *)&%s", cell);
}

/* ---- calls */
typedef struct Known {
  const char *llvm, *c;
} Known;

/* What "gradc.exp.f64", "gradc.exp.f32.straight" and so on compute, without the f at the end of names for floats; NULL:
 * something else.
 */
static const char *library_base(const char *name, bool *single) {
  static const char *const same[] = {"exp",   "exp2", "expm1", "tanh",  "sinh",  "cosh",  "log",  "log2", "log10",
                                     "log1p", "sin",  "cos",   "tan",   "atan",  "atan2", "asin", "acos", "erf",
                                     "erfc",  "pow",  "cbrt",  "hypot", "asinh", "acosh", "atanh"};
  static const Known own[] = {{"sigmoid", "gradc_sigmoid"}, {"softplus", "gradc_softplus"}};
  if (strncmp(name, "gradc.", 6) != 0)
    return NULL;
  const size_t n = strcspn(name + 6, ".");
  *single = !strncmp(name + 6 + n, ".f32", 4);
  for (size_t i = 0; i < sizeof same / sizeof *same; i++)
    if (strlen(same[i]) == n && !strncmp(name + 6, same[i], n))
      return same[i];
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    if (strlen(own[i].llvm) == n && !strncmp(name + 6, own[i].llvm, n))
      return own[i].c;
  return NULL;
}

static const char *library_name(CWriter *w, const char *name) {
  bool single;
  const char *base = library_base(name, &single);
  return base && single ? arena_printf(w->arena, "%sf", base) : base;
}

/* Intrinsics that C has a function for. */
static const char *intrinsic_name(const char *name) {
  static const Known known[] = {
      {"llvm.fabs.f64", "fabs"},
      {"llvm.fabs.f32", "fabsf"},
      {"llvm.sqrt.f64", "sqrt"},
      {"llvm.sqrt.f32", "sqrtf"},
      {"llvm.floor.f64", "floor"},
      {"llvm.floor.f32", "floorf"},
      {"llvm.ceil.f64", "ceil"},
      {"llvm.ceil.f32", "ceilf"},
      {"llvm.rint.f64", "rint"},
      {"llvm.rint.f32", "rintf"},
      {"llvm.trunc.f64", "trunc"},
      {"llvm.trunc.f32", "truncf"},
      {"llvm.copysign.f64", "copysign"},
      {"llvm.copysign.f32", "copysignf"},
      {"llvm.fma.f64", "fma"},
      {"llvm.fma.f32", "fmaf"},
      {"llvm.smax.i64", "gradc_most"},
      {"llvm.smin.i64", "gradc_least"},
      {"llvm.smax.i32", "gradc_most"},
      {"llvm.smin.i32", "gradc_least"},
      {"llvm.fptosi.sat.i64.f64", "gradc_whole64"},
      {"llvm.fptosi.sat.i64.f32", "gradc_whole64"},
      {"llvm.fptosi.sat.i32.f64", "gradc_whole32"},
      {"llvm.fptosi.sat.i32.f32", "gradc_whole32"},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (!strcmp(name, known[i].llvm))
      return known[i].c;
  return NULL;
}

bool c_is_known(LLVMValueRef f) {
  size_t n;
  const char *name = LLVMGetValueName2(f, &n);
  bool single;
  return !strncmp(name, "llvm.", 5) || library_base(name, &single);
}

const char *c_function(CWriter *w, LLVMValueRef f) {
  size_t n;
  const char *name = LLVMGetValueName2(f, &n), *known = library_name(w, name);
  return known ? known : names_find(&w->globals, f);
}

/* A call that computes, and does nothing else. */
static const char *pure_call(CWriter *w, LLVMValueRef i) {
  size_t n;
  const char *name = LLVMGetValueName2(LLVMGetCalledValue(i), &n);
  const char *c = intrinsic_name(name);
  c = c ? c : library_name(w, name);
  if (!c)
    return NULL;
  const char *text = "";
  for (unsigned k = 0; k < LLVMGetNumArgOperands(i); k++)
    text = arena_printf(w->arena, "%s%s%s", text, k ? ", " : "", c_value(w, LLVMGetOperand(i, k)));
  const bool narrow = width_of(i) == 32 && strstr(c, "st"); /* most and least are of 64 bits */
  return arena_printf(w->arena, narrow ? "(int32_t)%s(%s)" : "%s(%s)", c, text);
}

const char *c_expression(CWriter *w, LLVMValueRef i) {
  const LLVMOpcode code = LLVMGetInstructionOpcode(i);
  switch (code) {
  case LLVMAdd: return wrapped(w, i, "+");
  case LLVMSub: return wrapped(w, i, "-");
  case LLVMMul: return wrapped(w, i, "*");
  case LLVMShl: return wrapped(w, i, "<<");
  case LLVMLShr: return wrapped(w, i, ">>");
  case LLVMUDiv: return wrapped(w, i, "/");
  case LLVMURem: return wrapped(w, i, "%");
  case LLVMSDiv: return plain(w, i, "/");
  case LLVMSRem: return plain(w, i, "%");
  case LLVMAShr: return plain(w, i, ">>");
  case LLVMAnd: return bitwise(w, i, "&");
  case LLVMOr: return bitwise(w, i, "|");
  case LLVMXor: return bitwise(w, i, "^");
  case LLVMFAdd: return plain(w, i, "+");
  case LLVMFSub: return plain(w, i, "-");
  case LLVMFMul: return plain(w, i, "*");
  case LLVMFDiv: return plain(w, i, "/");
  case LLVMFRem:
    return arena_printf(w->arena, "%s(%s, %s)", LLVMGetTypeKind(LLVMTypeOf(i)) == LLVMFloatTypeKind ? "fmodf" : "fmod",
                        c_value(w, LLVMGetOperand(i, 0)), c_value(w, LLVMGetOperand(i, 1)));
  case LLVMFNeg: return arena_printf(w->arena, "(-%s)", c_value(w, LLVMGetOperand(i, 0)));
  case LLVMICmp: return compare_integers(w, i);
  case LLVMFCmp: return compare_reals(w, i);
  case LLVMSelect:
    return arena_printf(w->arena, "(%s ? %s : %s)", c_value(w, LLVMGetOperand(i, 0)), c_value(w, LLVMGetOperand(i, 1)),
                        c_value(w, LLVMGetOperand(i, 2)));
  case LLVMFreeze: return c_value(w, LLVMGetOperand(i, 0));
  case LLVMGetElementPtr: return address_text(w, i);
  case LLVMExtractValue: /* of a sum that may wrap: the sum, and whether it did */
    return arena_printf(w->arena, LLVMGetIndices(i)[0] ? "%s_wraps" : "%s", c_value(w, LLVMGetOperand(i, 0)));
  case LLVMTrunc:
  case LLVMZExt:
  case LLVMSExt:
  case LLVMSIToFP:
  case LLVMUIToFP:
  case LLVMFPToSI:
  case LLVMFPToUI:
  case LLVMFPTrunc:
  case LLVMFPExt:
  case LLVMPtrToInt:
  case LLVMBitCast: return cast_text(w, i);
  case LLVMCall: return pure_call(w, i);
  default: return NULL;
  }
}
