/* Loops of the source: a comprehension or a reduction where a loop has one result and changes nothing else; `for` over
   vars otherwise.  See source_state.h. */
#include "codegen/source_state.h"
#include <string.h>

/* ---- which form */
/* Something in the region adds to an accumulator from outside of the loop, or ends the call. */
static bool reaches_out(const Region *r, const Region *body) {
  for (const Op *op = r->first; op; op = op->next) {
    if (op->code == OP_ACC_ADD && value_is_outside(op->operands[0], body))
      return true;
    for (int i = 0; i < op->nregions; i++)
      if (reaches_out(op->regions[i], body))
        return true;
  }
  return false;
}

static bool is_used(const SourceWriter *s, const Value *v) {
  const SourceNote *n = source_note(s, v);
  return (n->nuses || n->nsize_uses) &&
         (!s->slice || value_is_outside(v, s->slice->body) || map_get(&s->slice->needed, v));
}

static bool is_expression(const SourceWriter *s, const Op *op) {
  const LoopInfo *l = op->at.loop;
  if (l->ncarries || l->naccs || l->nouts != 1 || !l->nindices || reaches_out(op->regions[0], op->regions[0]))
    return false;
  if (source_note(s, op->results[0])->arity)
    return false;
  return l->outs[0] != OUT_STACK || source_type_class(s, op->results[0]->type) == SIZE_EXACT;
}

/* ---- [for i < n, j < m: body], sum[i < n: body] */
static void write_expression(SourceWriter *s, const Op *op) {
  static const char *const heads[] = {"[for ", "sum[", "prod[", "min[", "max[", "all[", "any["};
  const LoopInfo *l = op->at.loop;
  const Region *body = op->regions[0];
  const int mark = source_scope_begin(s), first = s->lines.n;
  const char **ranges = NEW_ARRAY(s->arena, const char *, l->nindices);
  for (int i = 0; i < l->nindices; i++) {
    const char *extent = source_size_text(s, l->extents[i], PREC_ADD);
    ranges[i] = extent;
  }
  for (int i = 0; i < l->nindices; i++) {
    SourceNote *n = source_note(s, loop_index(op, i));
    n->name = source_declare(s, loop_index(op, i)->name, "i");
    ranges[i] = arena_printf(s->arena, "%s < %s", n->name, ranges[i]);
  }
  const char *head = arena_printf(s->arena, "%s%s: ", heads[l->outs[0]], source_list(s, l->nindices, ranges, ", "));
  source_block(s, op, head, body, 1, "];");
  SourceLine *line = &s->lines.at[first];
  if (s->lines.n == first + 1) {                                /* a body of one expression needs no braces */
    const size_t n = strlen(head), length = strlen(line->text); /* head{ e }]; */
    line->text = arena_printf(s->arena, "%s%.*s];", head, (int)(length - n - 6), line->text + n + 2);
  }
  source_scope_end(s, mark);
  SourceNote *n = source_note(s, op->results[0]);
  n->name = source_declare(s, op->results[0]->name, op->results[0]->type.rank ? "a" : "t");
  n->is_var = false;
  line->text = arena_printf(s->arena, "let %s = %s", n->name, line->text);
}

/* ---- for */
static const char *const empty_text[] = {NULL, NULL, NULL, "inf", "-inf", "true", "false"};

/* What a reduction over nothing is. */
static const char *neutral_text(SourceWriter *s, OutKind out, Kind k) {
  const bool is_float = kind_is_float(k);
  if (out == OUT_SUM || out == OUT_PROD) {
    const char *digit = out == OUT_SUM ? "0" : "1";
    return is_float ? arena_printf(s->arena, k == KIND_F32 ? "f32(%s.0)" : "%s.0", digit)
                    : arena_printf(s->arena, k == KIND_I32 ? "i32(%s)" : "%s", digit);
  }
  if (out == OUT_AND || out == OUT_OR || k == KIND_F64)
    return empty_text[out];
  if (k == KIND_F32)
    return arena_printf(s->arena, "f32(%s)", empty_text[out]);
  if (k == KIND_I32)
    return out == OUT_MIN ? "i32(2147483647)" : "i32(-2147483648)";
  return out == OUT_MIN ? "9223372036854775807" : "(-9223372036854775807 - 1)";
}

static void write_out(SourceWriter *s, const Op *op, int i, const char *var) {
  const LoopInfo *l = op->at.loop;
  const char *value = source_value(s, op->regions[0]->yields[l->ncarries + i]);
  switch (l->outs[i]) {
  case OUT_STACK:
    if (l->nindices)
      source_line(s, op, "%s[%s] = %s;", var, source_indices_text(s, l->nindices, op->regions[0]->params), value);
    else
      source_line(s, op, "%s = %s;", var, value);
    break;
  case OUT_SUM: source_line(s, op, "%s += %s;", var, value); break;
  case OUT_PROD: source_line(s, op, "%s *= %s;", var, value); break;
  case OUT_MIN: source_line(s, op, "%s = min(%s, %s);", var, var, value); break;
  case OUT_MAX: source_line(s, op, "%s = max(%s, %s);", var, var, value); break;
  case OUT_AND: source_line(s, op, "%s = %s and (%s);", var, var, value); break;
  case OUT_OR: source_line(s, op, "%s = %s or (%s);", var, var, value); break;
  }
}

typedef struct Vars {
  const char **carries, **accs, **outs; /* NULL: not used */
} Vars;

static const char *result_name(const Op *op, int result, const Value *param) {
  return op->results[result]->name ? op->results[result]->name : param ? param->name : NULL;
}

static Vars declare_vars(SourceWriter *s, const Op *op) {
  const LoopInfo *l = op->at.loop;
  const int nc = l->ncarries, na = l->naccs;
  Vars v = {.carries = NEW_ARRAY(s->arena, const char *, nc + 1),
            .accs = NEW_ARRAY(s->arena, const char *, na + 1),
            .outs = NEW_ARRAY(s->arena, const char *, l->nouts + 1)};
  for (int i = 0; i < nc; i++)
    v.carries[i] = source_var_from(s, op, op->operands[i], result_name(op, i, loop_carry(op, i)));
  for (int i = 0; i < na; i++)
    v.accs[i] = source_var_from(s, op, op->operands[nc + i], result_name(op, nc + i, loop_acc(op, i)));
  for (int i = 0; i < l->nouts; i++) {
    const Value *out = loop_out(op, i);
    if (!is_used(s, out) || source_note(s, out)->arity)
      continue;
    v.outs[i] = source_declare(s, out->name, out->type.rank ? "a" : "t");
    source_line(s, op, "var %s = %s;", v.outs[i],
                l->outs[i] == OUT_STACK ? source_zeros_text(s, out->type)
                                        : neutral_text(s, l->outs[i], out->type.kind));
  }
  return v;
}

static void name_params(SourceWriter *s, const Op *op, const Vars *v) {
  const LoopInfo *l = op->at.loop;
  for (int i = 0; i < l->ncarries; i++) {
    source_note(s, loop_carry(op, i))->name = v->carries[i];
    source_note(s, loop_carry(op, i))->is_var = true;
  }
  for (int i = 0; i < l->naccs; i++)
    source_note(s, loop_acc(op, i))->name = v->accs[i];
}

static void name_results(SourceWriter *s, const Op *op, const Vars *v) {
  const LoopInfo *l = op->at.loop;
  for (int i = 0; i < op->nresults; i++) {
    const int acc = i - l->ncarries, out = acc - l->naccs;
    SourceNote *n = source_note(s, op->results[i]);
    if (out >= 0 && n->arity)
      continue;
    n->name = acc < 0 ? v->carries[i] : out < 0 ? v->accs[acc] : v->outs[out];
    n->is_var = true;
  }
}

static void write_for(SourceWriter *s, const Op *op) {
  const LoopInfo *l = op->at.loop;
  const Region *body = op->regions[0];
  const Vars v = declare_vars(s, op);
  name_params(s, op, &v);
  const int mark = source_scope_begin(s);
  const char **extents = NEW_ARRAY(s->arena, const char *, l->nindices + 1);
  for (int i = 0; i < l->nindices; i++)
    extents[i] = source_size_text(s, l->extents[i], PREC_ADD);
  for (int i = 0; i < l->nindices; i++, s->indent++) {
    SourceNote *n = source_note(s, loop_index(op, i));
    n->name = source_declare(s, loop_index(op, i)->name, "i");
    source_line(s, op, "for %s in 0..%s {", n->name, extents[i]);
  }
  source_region(s, body);
  for (int i = 0; i < l->nouts; i++)
    if (v.outs[i])
      write_out(s, op, i, v.outs[i]);
  source_assign(s, op, l->ncarries, v.carries, body->yields);
  for (int i = 0; i < l->nindices; i++) {
    s->indent--;
    source_line(s, NULL, "}");
  }
  if (l->nindices) /* else what it declares goes on to stand in the block around it */
    source_scope_end(s, mark);
  name_results(s, op, &v);
}

/* A loop of which only functions are wanted is not run. */
static bool is_run(const SourceWriter *s, const Op *op) {
  for (int i = 0; i < op->nresults; i++)
    if (is_used(s, op->results[i]) && !source_note(s, op->results[i])->arity)
      return true;
  return reaches_out(op->regions[0], op->regions[0]);
}

void source_loop(SourceWriter *s, const Op *op) {
  const LoopInfo *l = op->at.loop;
  for (int i = 0; i < l->nouts; i++)
    if (source_note(s, loop_out(op, i))->arity && is_used(s, loop_out(op, i)))
      source_tape(s, op, i);
  if (is_expression(s, op))
    write_expression(s, op);
  else if (is_run(s, op))
    write_for(s, op);
}
