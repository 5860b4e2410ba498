/* Expressions of the source; see source_state.h. */
#include "codegen/source_state.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char *printed(const SourceWriter *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static const char *printed(const SourceWriter *s, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  const char *text = arena_vprintf(s->arena, fmt, ap);
  va_end(ap);
  return text;
}

const char *source_list(SourceWriter *s, int n, const char *const *texts, const char *between) {
  Text t = {.arena = s->arena};
  for (int i = 0; i < n; i++) {
    text_add(&t, i ? between : "");
    text_add(&t, texts[i]);
  }
  return text_end(&t);
}

static const char *within(const SourceWriter *s, const char *text, Precedence is, Precedence least) {
  return is < least ? printed(s, "(%s)", text) : text;
}

/* ---- sizes */
static const char *size_name(const Value *v, void *arg) {
  SourceWriter *s = arg;
  return source_operand(s, v, PREC_ATOM);
}

static unsigned size_order(const Value *v, void *arg) {
  (void)arg;
  return v->uid;
}

/* Whether rounding down has to be said: in the language / rounds down between sizes, and towards zero between other
   integers. */
typedef struct Rounding {
  const SourceWriter *source;
  const Size *size;
  bool needed;
} Rounding;

static bool has_quotient(const Size *size) {
  for (int i = 0; i < size->nterms; i++)
    for (int j = 0; j < size->terms[i].npowers; j++)
      if (!size->terms[i].powers[j].atom->value)
        return true;
  return false;
}

static const char *size_sum(SourceWriter *s, const Size *size);

static const char *atom_text(SourceWriter *s, const Atom *a) {
  if (a->value)
    return size_name(a->value, s);
  if (a->kind != ATOM_QUOTIENT)
    return printed(s, a->kind == ATOM_MIN ? "min(%s, %s)" : "max(%s, %s)", size_sum(s, a->num), size_sum(s, a->den));
  s->needs_floor_div = true;
  return printed(s, "floor_div(%s, %s)", size_sum(s, a->num), size_sum(s, a->den));
}

/* The sum as it is, quotients by a function. */
static const char *size_sum(SourceWriter *s, const Size *size) {
  Text t = {.arena = s->arena};
  for (int i = 0; i < size->nterms; i++) {
    const Term *term = &size->terms[i];
    const int64_t c = term->coefficient;
    text_add(&t, i ? (c < 0 ? " - " : " + ") : c < 0 ? "-" : "");
    const bool silent = (c == 1 || c == -1) && term->npowers;
    if (!silent)
      text_printf(&t, "%" PRIu64 "%s", c < 0 ? -(uint64_t)c : (uint64_t)c, term->npowers ? " * " : "");
    for (int j = 0, k = 0; j < term->npowers; j++)
      for (int e = 0; e < term->powers[j].exponent; e++, k++)
        text_printf(&t, "%s%s", k ? " * " : "", atom_text(s, term->powers[j].atom));
  }
  return size->nterms ? text_end(&t) : "0";
}

static Precedence size_precedence(const Size *size) {
  if (size->nterms == 0)
    return PREC_ATOM;
  if (size->nterms > 1 || size->terms[0].coefficient < 0)
    return PREC_ADD;
  const Term *t = &size->terms[0];
  if (has_quotient(size))
    return PREC_ADD; /* however it is written */
  if (!t->npowers || (t->npowers == 1 && t->powers[0].exponent == 1 && t->coefficient == 1))
    return PREC_ATOM;
  return PREC_MUL;
}

const char *source_size_text(SourceWriter *s, const Size *size, Precedence least) {
  if (size->overflow)
    source_fail(s, s->func->loc, "a size that overflows cannot be written as source");
  if (has_quotient(size) && source_size_class(s, size) != SIZE_EXACT)
    return within(s, size_sum(s, size), PREC_ADD, least);
  Text t = {.arena = s->arena};
  size_write(s->module, &t, size, &(SizeNames){size_name, size_order, s});
  return within(s, text_end(&t), size_precedence(size), least);
}

const char *source_dims_text(SourceWriter *s, Type t, int first) {
  const char *texts[MAX_RANK];
  for (int i = first; i < t.rank; i++) {
    const Size *bound = source_bound(s, t.dims[i]);
    texts[i - first] = bound ? source_size_text(s, bound, PREC_OR) : "0";
  }
  return source_list(s, t.rank - first, texts, ", ");
}

const char *source_type_text(SourceWriter *s, Type t) {
  return t.rank ? printed(s, "%s[%s]", kind_name[t.kind], source_dims_text(s, t, 0)) : kind_name[t.kind];
}

const char *source_indices_text(SourceWriter *s, int n, Value *const *idx) {
  const char *texts[MAX_RANK];
  for (int i = 0; i < n; i++) {
    const Op *op = idx[i]->def; /* an i32 is as good an index */
    const bool widened =
        op && op->code == OP_CAST && op->operands[0]->type.kind == KIND_I32 && source_note(s, idx[i])->is_inlined;
    texts[i] = source_value(s, widened ? op->operands[0] : idx[i]);
  }
  return source_list(s, n, texts, ", ");
}

/* ---- constants */
static const char *float_text(const SourceWriter *s, Kind k, double v) {
  Text t = {.arena = s->arena};
  if (isnan(v))
    text_add(&t, "nan");
  else
    text_float(&t, k, v);
  return k == KIND_F32 ? printed(s, "f32(%s)", text_end(&t)) : text_end(&t);
}

static const char *int_text(const SourceWriter *s, Kind k, int64_t v) {
  if (k == KIND_BOOL)
    return v ? "true" : "false";
  if (v == INT64_MIN)
    return "(-9223372036854775807 - 1)";
  return k == KIND_I32 ? printed(s, "i32(%" PRId64 ")", v) : printed(s, "%" PRId64, v);
}

static const char *const_text(const SourceWriter *s, const Op *op, Precedence *is) {
  const Kind k = op->results[0]->type.kind;
  const char *text = kind_is_float(k) ? float_text(s, k, op->at.f) : int_text(s, k, op->at.i);
  *is = *text == '-' ? PREC_NEG : PREC_ATOM;
  return text;
}

const char *source_zeros_text(SourceWriter *s, Type t) {
  if (!t.rank)
    return kind_is_float(t.kind) ? float_text(s, t.kind, 0) : int_text(s, t.kind, 0);
  const char *dims = source_dims_text(s, t, 0);
  if (t.kind == KIND_BOOL)
    return printed(s, "full[%s](false)", dims);
  return printed(s, t.kind == KIND_F64 ? "zeros[%s]" : "zeros[%s] of %s", dims, kind_name[t.kind]);
}

static const char *full_text(SourceWriter *s, const Op *op) {
  const Value *v = op->operands[0];
  const Type t = op->results[0]->type;
  double f;
  if (value_is_zero(v) && !(value_is_float_const(v, &f) && signbit(f)))
    return source_zeros_text(s, t);
  const char *text = printed(s, "full[%s](%s)", source_dims_text(s, t, 0), source_value(s, v));
  return kind_is_int(t.kind) ? printed(s, "%s of %s", text, kind_name[t.kind]) : text;
}

/* ---- operators and functions */
static const char *const functions[OP_COUNT] = {
    [OP_ABS] = "abs",           [OP_SIGN] = "sign",     [OP_SQRT] = "sqrt",
    [OP_CBRT] = "cbrt",         [OP_EXP] = "exp",       [OP_EXP2] = "exp2",
    [OP_EXPM1] = "expm1",       [OP_LOG] = "log",       [OP_LOG2] = "log2",
    [OP_LOG10] = "log10",       [OP_LOG1P] = "log1p",   [OP_SIN] = "sin",
    [OP_COS] = "cos",           [OP_TAN] = "tan",       [OP_ASIN] = "asin",
    [OP_ACOS] = "acos",         [OP_ATAN] = "atan",     [OP_SINH] = "sinh",
    [OP_COSH] = "cosh",         [OP_TANH] = "tanh",     [OP_ASINH] = "asinh",
    [OP_ACOSH] = "acosh",       [OP_ATANH] = "atanh",   [OP_ERF] = "erf",
    [OP_ERFC] = "erfc",         [OP_LGAMMA] = "lgamma", [OP_SIGMOID] = "sigmoid",
    [OP_SOFTPLUS] = "softplus", [OP_FLOOR] = "floor",   [OP_CEIL] = "ceil",
    [OP_ROUND] = "round",       [OP_TRUNC] = "trunc",   [OP_ISNAN] = "isnan",
    [OP_ISFINITE] = "isfinite", [OP_MOD] = "mod",       [OP_POW] = "pow",
    [OP_ATAN2] = "atan2",       [OP_HYPOT] = "hypot",   [OP_MIN] = "min",
    [OP_MAX] = "max",           [OP_SELECT] = "where",  [OP_MULZ] = "mulz",
    [OP_DIVZ] = "divz",         [OP_ATTACH] = "attach", [OP_POW_BELOW] = "pow_below"};

typedef struct Operator {
  const char *text;
  Precedence is, right; /* what its right side needs */
} Operator;
static const Operator operators[OP_COUNT] = {
    [OP_ADD] = {" + ", PREC_ADD, PREC_MUL},     [OP_SUB] = {" - ", PREC_ADD, PREC_MUL},
    [OP_MUL] = {" * ", PREC_MUL, PREC_NEG},     [OP_DIV] = {" / ", PREC_MUL, PREC_NEG},
    [OP_REM] = {" % ", PREC_MUL, PREC_NEG},     [OP_LT] = {" < ", PREC_COMPARE, PREC_ADD},
    [OP_LE] = {" <= ", PREC_COMPARE, PREC_ADD}, [OP_EQ] = {" == ", PREC_COMPARE, PREC_ADD},
    [OP_NE] = {" != ", PREC_COMPARE, PREC_ADD}, [OP_AND] = {" and ", PREC_AND, PREC_NOT},
    [OP_OR] = {" or ", PREC_OR, PREC_AND}};

static const char *call_text(SourceWriter *s, const char *function, const Op *op) {
  const char *args[3];
  for (int i = 0; i < op->noperands; i++)
    args[i] = source_value(s, op->operands[i]);
  return printed(s, "%s(%s)", function, source_list(s, op->noperands, args, ", "));
}

/* digamma and its derivatives. */
static const char *polygamma_text(SourceWriter *s, const Op *op) {
  const char *kind = kind_name[op->results[0]->type.kind], *f = "digamma";
  for (int64_t k = 0; k < op->at.i; k++)
    f = printed(s, "grad(fn(a: %s) { %s(a) })", kind, f);
  return call_text(s, f, op);
}

static bool is_made_of_sizes(const SourceWriter *s, const Value *v) {
  return v->type.kind == KIND_I64 &&
         source_size_class(s, size_of_value(s->module, (Value *)(uintptr_t)v)) == SIZE_EXACT;
}

static const char *binary_text(SourceWriter *s, const Op *op) {
  const Operator *o = &operators[op->code];
  const char *left = source_operand(s, op->operands[0], o->is == PREC_COMPARE ? PREC_ADD : o->is);
  /* A quotient of sizes would round down. */
  if (op->code == OP_DIV && is_made_of_sizes(s, op->operands[0]) && is_made_of_sizes(s, op->operands[1]))
    left = printed(s, "min(%s, %s)", source_value(s, op->operands[0]), source_value(s, op->operands[0]));
  return printed(s, "%s%s%s", left, o->text, source_operand(s, op->operands[1], o->right));
}

/* Some of the arguments of a function that stands for a tensor. */
static const char *part_of_function(SourceWriter *s, const Op *op, int arity) {
  const int n = op->noperands - 1, left = arity - n;
  const char *names[MAX_RANK], *ranges[MAX_RANK];
  const Type t = op->operands[0]->type;
  const bool is_tensor = source_note(s, op->results[0])->arity == 0;
  const int mark = source_scope_begin(s);
  for (int i = 0; i < left; i++) {
    names[i] = source_declare(s, NULL, "i");
    ranges[i] = is_tensor ? printed(s, "%s < %s", names[i], source_size_text(s, t.dims[n + i], PREC_ADD))
                          : printed(s, "%s: i64", names[i]);
  }
  const char *given = source_indices_text(s, n, op->operands + 1);
  const char *call = printed(s, "%s(%s%s%s)", source_operand(s, op->operands[0], PREC_ATOM), given, n ? ", " : "",
                             source_list(s, left, names, ", "));
  const char *head = source_list(s, left, ranges, ", ");
  source_scope_end(s, mark);
  return is_tensor ? printed(s, "[for %s: %s]", head, call) : printed(s, "fn(%s) { %s }", head, call);
}

static const char *index_text(SourceWriter *s, const Op *op) {
  const Value *x = op->operands[0];
  const int n = op->noperands - 1, arity = source_note(s, x)->arity;
  Value *const *idx = op->operands + 1;
  if (n < arity)
    return part_of_function(s, op, arity);
  const char *text = source_operand(s, x, PREC_ATOM);
  if (arity)
    text = printed(s, "%s(%s)", text, source_indices_text(s, arity, idx));
  return n > arity ? printed(s, "%s[%s]", text, source_indices_text(s, n - arity, idx + arity)) : text;
}

/* A function that is constant. */
static const char *full_function_text(SourceWriter *s, const Op *op, int arity) {
  const char *params[MAX_RANK];
  for (int i = 0; i < arity; i++)
    params[i] = printed(s, "_%d: i64", i);
  return printed(s, "fn(%s) { %s }", source_list(s, arity, params, ", "), source_value(s, op->operands[0]));
}

static const char *op_text(SourceWriter *s, const Op *op, Precedence *is) {
  *is = PREC_ATOM;
  s->needs_mulz |= op->code == OP_MULZ;
  s->needs_divz |= op->code == OP_DIVZ;
  s->needs_pow_below |= op->code == OP_POW_BELOW;
  s->needs_attach |= op->code == OP_ATTACH;
  switch (op->code) {
  case OP_CONST: return const_text(s, op, is);
  case OP_SIZE: *is = size_precedence(op->at.size); return source_size_text(s, op->at.size, PREC_OR);
  case OP_FULL: {
    const int arity = source_note(s, op->results[0])->arity;
    return arity ? full_function_text(s, op, arity) : full_text(s, op);
  }
  case OP_NEG: *is = PREC_NEG; return printed(s, "-%s", source_operand(s, op->operands[0], PREC_POWER));
  case OP_NOT: *is = PREC_NOT; return printed(s, "not %s", source_operand(s, op->operands[0], PREC_NOT));
  case OP_CAST: return call_text(s, kind_name[op->results[0]->type.kind], op);
  case OP_POWI:
    *is = PREC_POWER;
    return printed(s, "%s ^ %" PRId64, source_operand(s, op->operands[0], PREC_ATOM), op->at.i);
  case OP_POLYGAMMA: return polygamma_text(s, op);
  case OP_INDEX: return index_text(s, op);
  case OP_RESHAPE:
    return printed(s, "reshape(%s, [%s])", source_value(s, op->operands[0]),
                   source_dims_text(s, op->results[0]->type, 0));
  default:
    if (functions[op->code])
      return call_text(s, functions[op->code], op);
    if (!operators[op->code].text)
      internal_error("'%s' is no expression of the source", op_info[op->code].name);
    *is = operators[op->code].is;
    return binary_text(s, op);
  }
}

const char *source_op_text(SourceWriter *s, const Op *op) {
  Precedence is;
  return op_text(s, op, &is);
}

const char *source_operand(SourceWriter *s, const Value *v, Precedence least) {
  const SourceNote *n = source_note(s, v);
  if (!n->is_inlined) {
    if (!n->name)
      internal_error("a value is used in the source before it is declared");
    return n->name;
  }
  Precedence is;
  const char *text = op_text(s, v->def, &is);
  return within(s, text, is, least);
}
