/* The textual IR's parser: operations and regions. */
#include "ir/parse_state.h"
#include "ir/raw.h"
#include "ir/size.h"
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct RegionParam {
  Token name;
  Type type;
} RegionParam;

typedef struct Draft { /* an operation while it is being read */
  Opcode code;
  Range at;
  VEC(Token) results;
  VEC(Value *) operands;
  VEC(Type) types;
  VEC(RegionParam) params; /* of its first region */
  VEC(const Size *) extents;
  VEC(OutKind) outs;
  int ncarries, naccs, checkpoint;
  const Size *states;
  bool negative; /* constant */
  Token number;  /* constant, or the callee's name */
  uint64_t checks;
  int64_t integer;
  const Size *size;
  const char *text;
} Draft;

static void add_operand(IrParser *p, Draft *d) {
  Value *v = ir_value(p);
  vec_push(p->arena, d->operands, v);
}

/* ---- constants */
static void parse_constant(IrParser *p, Draft *d) {
  d->negative = ir_accept_mark(p, '-');
  d->number = p->token;
  if (p->token.kind != TOKEN_NUMBER && p->token.kind != TOKEN_WORD)
    ir_error(p, p->token.at, "expected a constant, not '%s'", p->token.spelling);
  const bool with_bits = ir_at_word(p, "nan");
  ir_next(p);
  if (with_bits && ir_accept_mark(p, '(')) {
    ir_expect(p, TOKEN_NUMBER, "the bits of a NaN", &d->number);
    ir_expect_mark(p, ')');
  }
}

static double float_value(IrParser *p, const Draft *d, Kind k) {
  const char *s = d->number.spelling;
  char *end = NULL;
  double v = 0;
  errno = 0;
  if (!strncmp(s, "0x", 2)) {
    const uint64_t bits = strtoull(s, &end, 16);
    memcpy(&v, &bits, sizeof v);
    if (*end || errno || !isnan(v) || d->negative)
      ir_error(p, d->number.at, "'%s' is not the bits of a NaN", s);
    return v;
  }
  if (!strcmp(s, "inf") || !strcmp(s, "nan"))
    v = *s == 'i' ? (double)INFINITY : (double)NAN;
  else if (d->number.kind == TOKEN_NUMBER)
    v = k == KIND_F32 ? (double)strtof(s, &end) : strtod(s, &end);
  if (d->number.kind == TOKEN_NUMBER ? *end || isinf(v) : v == 0)
    ir_error(p, d->number.at, "'%s' is not a constant of kind %s", s, kind_name[k]);
  return d->negative ? -v : v;
}

static int64_t integer_value(IrParser *p, const Draft *d, Kind k) {
  const char *s = d->number.spelling;
  if (k == KIND_BOOL && !d->negative && (!strcmp(s, "true") || !strcmp(s, "false")))
    return *s == 't';
  char *end = NULL;
  errno = 0;
  const unsigned long long magnitude = d->number.kind == TOKEN_NUMBER ? strtoull(s, &end, 10) : 0;
  if (!end || *end || errno || magnitude > (unsigned long long)INT64_MAX + d->negative) {
    ir_error(p, d->number.at, "'%s' is not a constant of kind %s", s, kind_name[k]);
    return 0;
  }
  return d->negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
}

/* ---- operands */
static void parse_operand_list(IrParser *p, Draft *d) {
  do
    add_operand(p, d);
  while (ir_accept_mark(p, ','));
}

/* [%i, check %j] */
static void parse_indices(IrParser *p, Draft *d) {
  ir_expect_mark(p, '[');
  if (ir_accept_mark(p, ']'))
    return;
  int n = 0;
  do {
    const Range at = p->token.at;
    if (ir_accept_word(p, "check"))
      d->checks |= (uint64_t)1 << (n & 63);
    if (++n > MAX_RANK)
      ir_error(p, at, "more than %d indices", MAX_RANK);
    add_operand(p, d);
  } while (ir_accept_mark(p, ','));
  ir_expect_mark(p, ']');
}

/* %x[indices], %v  as  x, v, indices. */
static void parse_indexed_value(IrParser *p, Draft *d) {
  add_operand(p, d);
  vec_push(p->arena, d->operands, d->operands.at[0]); /* the value's place */
  parse_indices(p, d);
  ir_expect_mark(p, ',');
  d->operands.at[1] = ir_value(p);
}

/* (%p: type = %init, ..) */
static int parse_params(IrParser *p, Draft *d, bool with_inits) {
  int n = 0;
  ir_expect_mark(p, '(');
  if (ir_accept_mark(p, ')'))
    return 0;
  do {
    RegionParam param = {0};
    ir_expect(p, TOKEN_VALUE, "a value", &param.name);
    ir_expect_mark(p, ':');
    param.type = ir_type(p);
    vec_push(p->arena, d->params, param);
    if (with_inits) {
      ir_expect_mark(p, '=');
      add_operand(p, d);
    }
    n++;
  } while (ir_accept_mark(p, ','));
  ir_expect_mark(p, ')');
  return n;
}

static void parse_loop_indices(IrParser *p, Draft *d) {
  ir_expect_mark(p, '(');
  if (ir_accept_mark(p, ')'))
    return;
  do {
    RegionParam param = {.type = type_scalar(KIND_I64)};
    ir_expect(p, TOKEN_VALUE, "an index", &param.name);
    ir_expect_mark(p, '<');
    const Size *extent = ir_size(p);
    vec_push(p->arena, d->params, param);
    vec_push(p->arena, d->extents, extent);
  } while (ir_accept_mark(p, ','));
  ir_expect_mark(p, ')');
}

static void parse_outs(IrParser *p, Draft *d) {
  ir_expect_mark(p, '(');
  do {
    Token word;
    int kind = 0;
    ir_expect(p, TOKEN_WORD, "how the results are put together", &word);
    while (kind < 7 && !p->failed && strcmp(out_kind_name[kind], word.text))
      kind++;
    if (kind == 7)
      ir_error(p, word.at, "'%s' is none of stack, sum, prod, min, max, and, or", word.spelling);
    else
      vec_push(p->arena, d->outs, (OutKind)kind);
  } while (ir_accept_mark(p, ','));
  ir_expect_mark(p, ')');
}

static void parse_loop(IrParser *p, Draft *d) {
  parse_loop_indices(p, d);
  if (ir_accept_word(p, "carry"))
    d->ncarries = parse_params(p, d, true);
  if (ir_accept_word(p, "acc"))
    d->naccs = parse_params(p, d, true);
  if (ir_accept_word(p, "out"))
    parse_outs(p, d);
  if (ir_accept_word(p, "checkpoint")) {
    d->checkpoint = -1;
    if (ir_accept_mark(p, '(')) {
      d->checkpoint = 1;
      d->states = ir_size(p);
      ir_expect_mark(p, ')');
    }
  }
}

static void parse_call(IrParser *p, Draft *d) {
  ir_expect(p, TOKEN_FUNC, "a function", &d->number);
  ir_expect_mark(p, '(');
  if (!ir_accept_mark(p, ')')) {
    parse_operand_list(p, d);
    ir_expect_mark(p, ')');
  }
}

static void parse_operands(IrParser *p, Draft *d) {
  Token text;
  switch (d->code) {
  case OP_CONST: parse_constant(p, d); break;
  case OP_SIZE: d->size = ir_size(p); break;
  case OP_POLYGAMMA:
  case OP_POWI:
    add_operand(p, d);
    ir_expect_mark(p, ',');
    d->integer = ir_integer(p);
    break;
  case OP_INDEX:
    add_operand(p, d);
    parse_indices(p, d);
    break;
  case OP_UPDATE:
  case OP_ACC_ADD: parse_indexed_value(p, d); break;
  case OP_REQUIRE:
    add_operand(p, d);
    ir_expect_mark(p, ',');
    ir_expect(p, TOKEN_STRING, "a message", &text);
    d->text = p->failed ? "" : text.text;
    break;
  case OP_CALL: parse_call(p, d); break;
  case OP_LOOP: parse_loop(p, d); break;
  case OP_WHILE: parse_params(p, d, true); break;
  default: parse_operand_list(p, d); break;
  }
}

/* ---- making the operation */
static void set_attributes(IrParser *p, const Draft *d, Op *op) {
  switch (d->code) {
  case OP_CONST:
    if (kind_is_float(d->types.at[0].kind))
      op->at.f = float_value(p, d, d->types.at[0].kind);
    else
      op->at.i = integer_value(p, d, d->types.at[0].kind);
    break;
  case OP_SIZE: op->at.size = d->size; break;
  case OP_POLYGAMMA:
  case OP_POWI: op->at.i = d->integer; break;
  case OP_INDEX:
  case OP_UPDATE:
  case OP_ACC_ADD: op->at.checks = d->checks; break;
  case OP_REQUIRE: op->at.text = d->text; break;
  case OP_CALL: {
    const Fixup f = {.kind = FIX_CALLEE, .name = d->number, .op = op};
    vec_push(p->arena, p->fixups, f);
    break;
  }
  case OP_LOOP: {
    LoopInfo *l = loop_info_new(p->module, d->extents.n, d->ncarries, d->naccs, d->outs.n);
    for (int i = 0; i < d->extents.n; i++)
      l->extents[i] = d->extents.at[i];
    for (int i = 0; i < d->outs.n; i++)
      l->outs[i] = d->outs.at[i];
    l->checkpoint = d->checkpoint;
    l->states = d->states;
    op->at.loop = l;
    break;
  }
  default: break;
  }
}

static void add_params(IrParser *p, Region *r, const Draft *d) {
  const int first_acc = d->code == OP_LOOP ? d->extents.n + d->ncarries : INT_MAX;
  for (int i = 0; i < d->params.n; i++) {
    const Token name = d->params.at[i].name;
    Value *v = region_add_param(p->module, r, d->params.at[i].type, ir_value_name(name));
    v->is_acc = i >= first_acc;
    ir_define(p, name, v);
  }
}

static Region *add_region(IrParser *p, Op *op, int i, const Draft *d) {
  Region *r = op->regions[i] = region_new(p->module, p->func, op);
  add_params(p, r, d);
  ir_region(p, r);
  return r;
}

static void parse_regions(IrParser *p, Op *op, const Draft *d) {
  if (!op->nregions)
    return;
  add_region(p, op, 0, d);
  if (d->code == OP_LOOP)
    return;
  Draft second = {.code = d->code};
  if (!ir_accept_word(p, d->code == OP_IF ? "else" : "do"))
    ir_error(p, p->token.at, "expected '%s', not '%s'", d->code == OP_IF ? "else" : "do", p->token.spelling);
  if (d->code == OP_WHILE)
    parse_params(p, &second, false);
  add_region(p, op, 1, &second);
}

static void parse_types(IrParser *p, Draft *d) {
  const bool regions = d->code == OP_LOOP || d->code == OP_IF || d->code == OP_WHILE;
  if (regions ? p->token.kind == TOKEN_ARROW : ir_at_mark(p, ':')) {
    do {
      ir_next(p);
      const Type t = ir_type(p);
      vec_push(p->arena, d->types, t);
    } while (ir_at_mark(p, ','));
  }
  if (d->types.n != d->results.n)
    ir_error(p, d->at, "%d results are named, %d types given", d->results.n, d->types.n);
  else if (d->code == OP_CONST && d->types.n != 1)
    ir_error(p, d->at, "a constant has one result");
}

static void make_op(IrParser *p, Draft *d, Region *into) {
  const int nregions = d->code == OP_LOOP ? 1 : d->code == OP_IF || d->code == OP_WHILE ? 2 : 0;
  Op *op = op_new(p->module, d->code, d->operands.n, d->results.n, nregions);
  if (d->operands.n)
    memcpy(op->operands, d->operands.at, sizeof *op->operands * (size_t)d->operands.n);
  op->loc = ir_location(p);
  Range *place = NEW(p->arena, Range); /* where a fault that the verifier finds is shown */
  *place = d->at;
  op->note = place;
  set_attributes(p, d, op);
  region_append(into, op);
  for (int i = 0; i < d->results.n; i++)
    ir_define(p, d->results.at[i], op_set_result(p->module, op, i, d->types.at[i], ir_value_name(d->results.at[i])));
  parse_regions(p, op, d);
}

static void parse_op(IrParser *p, Region *into) {
  Draft d = {0};
  Token word;
  if (p->token.kind == TOKEN_VALUE) {
    do {
      Token name;
      ir_expect(p, TOKEN_VALUE, "a value", &name);
      vec_push(p->arena, d.results, name);
    } while (ir_accept_mark(p, ','));
    ir_expect_mark(p, '=');
  }
  if (!ir_expect(p, TOKEN_WORD, "an operation", &word))
    return;
  const uintptr_t code = (uintptr_t)symbol_find(&p->opcodes, word.text); /* one more than the opcode */
  if (!code) {
    ir_error(p, word.at, "there is no operation '%s'", word.text);
    return;
  }
  d.code = (Opcode)(code - 1);
  d.at = word.at;
  parse_operands(p, &d);
  parse_types(p, &d);
  if (!p->failed)
    make_op(p, &d, into);
}

/* ---- regions */
static void parse_yields(IrParser *p, Region *r) {
  VEC(Value *) yields = {0};
  do {
    Value *v = ir_value(p);
    vec_push(p->arena, yields, v);
  } while (ir_accept_mark(p, ','));
  region_set_yields(p->module, r, yields.n, yields.at);
}

void ir_region(IrParser *p, Region *r) {
  if (++p->depth > IR_MAX_DEPTH)
    ir_error(p, p->token.at, "more than %d regions are open here", IR_MAX_DEPTH);
  ir_expect_mark(p, '{');
  while (!p->failed && !ir_at_mark(p, '}') && !ir_at_word(p, "yield") && !ir_at_word(p, "return") && !ir_at_item(p))
    parse_op(p, r);
  if (ir_accept_word(p, r->owner ? "yield" : "return"))
    parse_yields(p, r);
  ir_expect_mark(p, '}');
  p->depth--;
}
