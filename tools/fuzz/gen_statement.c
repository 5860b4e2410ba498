/* Statements and blocks: variables, assignments to wholes and parts, loops. */
#include "tools/fuzz/gen.h"
#include <string.h>

#define STATEMENT shape_scalar(SORT_STATEMENT)

static void var_assignable(Gen *g, const char *name, Shape s) {
  var_add(g, name, s, NULL);
  g->vars.at[g->vars.n - 1].assignable = true;
}

/* Names of a block vanish at its end. */
static Node *inner(Gen *g, int n, int depth) {
  const int mark = g->vars.n;
  const bool nested = g->nested;
  g->nested = true;
  Node *list = statements(g, n, depth);
  g->nested = nested;
  g->vars.n = mark;
  return list;
}

static const Var *assignable(Gen *g, bool tensor) {
  const Var *found = NULL;
  int n = 0;
  for (int i = g->barrier; i < g->vars.n; i++) {
    const Var *v = &g->vars.at[i];
    if (v->assignable && v->shape.sort == SORT_REAL && (!tensor || v->shape.rank) &&
        g->trips * (double)shape_count(v->shape) <= MOST_WORK && pick(g, ++n) == 0)
      found = v;
  }
  return found;
}

/* ---- declarations */
static Node *make_let(Gen *g, int depth) {
  if (chance(g, 8)) {
    const Dim *n = dim_any(g), *below = dim_any(g);
    Node *index = index_tensor(g, n, below, 1);
    if (index) {
      const char *k = name_new(g, "k");
      var_add(g, k, shape1(SORT_INT, n), below);
      return NODE(g, STATEMENT, TEXT(g, "let %s = $0;", k), index);
    }
  }
  if (chance(g, 8)) {
    Node *value = int_expr(g, depth - 1);
    const char *k = name_new(g, "k");
    var_add(g, k, INT, NULL);
    return NODE(g, STATEMENT, TEXT(g, "let %s = $0;", k), value);
  }
  const Shape s = shape_any(g, SORT_REAL, 3);
  const char *v = name_new(g, "v");
  Node *defined = s.rank && chance(g, 15) ? make_comprehension(g, s, depth - 1) : NULL;
  if (defined) { /* "[for ranges: body]" as "let v[ranges] = body;" */
    const char *ranges = defined->text + strlen("[for "), *colon = strrchr(ranges, ':');
    var_add(g, v, s, NULL);
    defined->shape = STATEMENT;
    defined->text = TEXT(g, "let %s[%.*s] = %.*s;", v, (int)(colon - ranges), ranges,
                         (int)strlen(colon) - 3 /* ": " and "]" */, colon + 2);
    return defined;
  }
  Node *value = real_expr(g, s, depth - 1);
  const bool typed = chance(g, 50);
  if (chance(g, 10)) {
    const Shape t = shape_any(g, SORT_REAL, 1);
    Node *second = real_expr(g, t, depth - 1);
    const char *u = name_new(g, "v");
    var_add(g, v, s, NULL);
    var_add(g, u, t, NULL);
    return NODE(g, STATEMENT, TEXT(g, "let (%s, %s) = ($0, $1);", v, u), value, second);
  }
  var_add(g, v, s, NULL);
  return NODE(g, STATEMENT,
              typed ? TEXT(g, "let %s: %s = $0;", v, shape_text(g->arena, s)) : TEXT(g, "let %s = $0;", v), value);
}

static Node *make_var(Gen *g, int depth) {
  const Shape s = shape_any(g, SORT_REAL, 2);
  Node *value = s.rank && chance(g, 30) ? make_filled(g, s, 1) : real_expr(g, s, depth - 1);
  const char *v = name_new(g, "v");
  var_assignable(g, v, s);
  return NODE(g, STATEMENT, TEXT(g, "var %s: %s = $0;", v, shape_text(g->arena, s)), value);
}

/* An index that statements change, and a structure whose fields they change. */
static Node *make_state(Gen *g) {
  if (g->records.n && chance(g, 50)) {
    const Var r = g->records.at[pick(g, g->records.n)];
    const char *q = name_new(g, "p");
    var_assignable(g, TEXT(g, "%s.a", q), r.shape);
    var_assignable(g, TEXT(g, "%s.b", q), REAL);
    return LEAF(g, STATEMENT, TEXT(g, "var %s = %s;", q, r.name));
  }
  const Dim *d = dim_any(g);
  Node *value = index_below(g, d, 1);
  if (!value)
    return NULL;
  const char *k = name_new(g, "k");
  var_add(g, k, INT, d);
  g->vars.at[g->vars.n - 1].assignable = true;
  return NODE(g, STATEMENT, TEXT(g, "var %s: i64 = $0;", k), value);
}

/* ---- assignments */
static Node *assign_index(Gen *g) {
  for (int i = g->vars.n - 1; i >= g->barrier; i--) {
    const Var v = g->vars.at[i];
    if (v.assignable && v.shape.sort == SORT_INT && v.below && chance(g, 60)) {
      Node *value = index_below(g, v.below, 2);
      return value ? NODE(g, STATEMENT, TEXT(g, "%s = $0;", v.name), value) : NULL;
    }
  }
  return NULL;
}

static const char *const scalar_updates[] = {"%s = 0.8 * %s + tanh($0);", "%s = $0;",       "%s += $0;",
                                             "%s -= 0.5 * $0;",           "%s *= cos($0);", "%s /= 1.2 + sqr($0);"};

static Node *assign_whole(Gen *g, int depth) {
  const Var *v = assignable(g, false);
  if (!v)
    return NULL;
  const Var var = *v;
  Shape s = var.shape;
  Node *value = real_expr(g, s, depth - 1);
  const int form = pick(g, 6);
  return NODE(g, STATEMENT, TEXT(g, scalar_updates[form], var.name, var.name), value);
}

static const char *const part_updates[] = {"%s = $%d;",       "%s += $%d;", "%s = 0.7 * %s + sin($%d);",
                                           "%s *= cos($%d);", "%s -= $%d;", "%s = tanh($%d);"};

/* a[i, j] = e; a[i] += row; a[:, j] = column */
static Node *assign_part(Gen *g, int depth) {
  const Var *found = assignable(g, true);
  if (!found)
    return NULL;
  const Var v = *found;
  Node *kids[FUZZ_RANK + 1];
  int n = 0;
  const char *place = TEXT(g, "%s[", v.name);
  Shape part = v.shape;
  if (v.shape.rank == 2 && chance(g, 15)) {
    if (!(kids[n] = index_below(g, v.shape.dims[1], 2)))
      return NULL;
    place = TEXT(g, "%s:, $%d]", place, n++);
    part = shape_drop(v.shape, 1);
    part.dims[0] = v.shape.dims[0];
  } else {
    const int fixed = chance(g, 70) ? v.shape.rank : 1 + pick(g, v.shape.rank);
    for (int i = 0; i < fixed; i++) {
      if (!(kids[n] = index_below(g, v.shape.dims[i], 2)))
        return NULL;
      place = TEXT(g, "%s%s$%d", place, i ? ", " : "", n++);
    }
    place = TEXT(g, "%s]", place);
    part = shape_drop(v.shape, fixed);
  }
  kids[n] = real_expr(g, chance(g, 85) ? part : REAL, depth - 1);
  const int form = pick(g, 6);
  const char *text = form == 2 ? TEXT(g, part_updates[form], place, place, n) : TEXT(g, part_updates[form], place, n);
  return node_new(g->arena, STATEMENT, text, n + 1, kids);
}

/* a[idx] += v; a[1:n] = e */
static Node *assign_many(Gen *g, int depth) {
  const Var *found = assignable(g, true);
  if (!found)
    return NULL;
  const Var v = *found;
  const Dim *d = v.shape.dims[0];
  if (chance(g, 60)) {
    const Dim *n = dim_any(g);
    Node *index = index_tensor(g, n, d, 1);
    if (!index)
      return NULL;
    return NODE(g, STATEMENT, TEXT(g, "%s[$0] %s $1;", v.name, chance(g, 70) ? "+=" : "="), index,
                real_expr(g, shape_prepend(n, shape_drop(v.shape, 1)), depth - 1));
  }
  if (d->symbol >= 0 || d->base >= 0 || d->value < 3)
    return NULL;
  const int from = pick(g, 2), to = (int)d->value - pick(g, 2);
  return NODE(g, STATEMENT, TEXT(g, "%s[%d:%d] %s $0;", v.name, from, to, chance(g, 50) ? "+=" : "="),
              real_expr(g, shape_prepend(dim_constant(g, to - from), shape_drop(v.shape, 1)), depth - 1));
}

static Node *swap(Gen *g) {
  const Var *v = assignable(g, false);
  const Var *w = v ? var_of(g, v->shape, true) : NULL;
  if (!w || v == w)
    return NULL;
  return LEAF(g, STATEMENT, TEXT(g, "(%s, %s) = (%s, %s);", v->name, w->name, w->name, v->name));
}

/* ---- control */
typedef struct ForHead {
  const char *text;
  const Dim *below; /* of its index */
  double trips;
  Node *row; /* for $1, or NULL */
} ForHead;

/* Ranges that end where an index around is, or that data gives. */
static bool dependent_head(Gen *g, const char *t, ForHead *head) {
  for (int i = g->vars.n - 1; i >= 0; i--) {
    const Var v = g->vars.at[i];
    if (v.shape.sort != SORT_INT || !v.below || !chance(g, 60))
      continue;
    *head = (ForHead){.below = v.below, .trips = (double)v.below->value + 1};
    if (v.is_rows && v.rows->value > 0) {
      head->row = index_below(g, v.rows, 1);
      head->text = TEXT(g, "for %s in %s[$1]..%s[$1 + 1]", t, v.name, v.name);
      return true;
    }
    if (v.shape.rank || v.is_rows)
      continue;
    static const char *const texts[] = {"for %s in 0..%s", "for %s in %s..%s", "for %s in 0..%s + 1",
                                        "for %s in %s..-1 by -1"};
    head->text = TEXT(g, texts[pick(g, 4)], t, v.name, v.below->text);
    return true;
  }
  return false;
}

static void plain_head(Gen *g, const char *t, ForHead *head) {
  static const char *const heads[] = {"for %s in 0..%s",
                                      "for %s in 0..%s",
                                      "for %s in 0..%s",
                                      "for %s in %s - 1..-1 by -1",
                                      "for %s in 0..%s by 2",
                                      "for %s in 1..%s",
                                      "for %s in 0..%s checkpoint",
                                      "for %s in 0..%s checkpoint(2)",
                                      "for %s in %s - 1..-1 by -3",
                                      "for %s in 2..%s checkpoint(3)"};
  const Dim *d = dim_any(g);
  *head = (ForHead){
      .text = TEXT(g, heads[pick(g, 10)], t, d->text), .below = d, .trips = d->value > 0 ? (double)d->value : 1};
}

static Node *make_for(Gen *g, int depth) {
  const double trips = g->trips;
  const char *t = name_new(g, "t");
  ForHead head;
  if (!chance(g, 25) || !dependent_head(g, t, &head))
    plain_head(g, t, &head);
  if (trips * head.trips > MOST_TRIPS)
    return NULL;
  const int mark = g->vars.n;
  g->trips *= head.trips;
  g->loop_depth++;
  var_add(g, t, INT, head.below);
  Node *body = inner(g, 1 + pick(g, 3), depth - 1);
  g->vars.n = mark;
  g->loop_depth--;
  g->trips = trips;
  return head.row ? NODE(g, STATEMENT, TEXT(g, "%s {\n$0}", head.text), body, head.row)
                  : NODE(g, STATEMENT, TEXT(g, "%s {\n$0}", head.text), body);
}

static Node *make_while(Gen *g, int depth) {
  const double trips = g->trips;
  const int most = 1 + pick(g, 6);
  if (trips * most > MOST_TRIPS)
    return NULL;
  const char *c = name_new(g, "c");
  Node *condition = bool_expr(g, BOOL, depth - 1);
  g->trips *= most;
  g->loop_depth++;
  const int mark = g->vars.n;
  Node *body, *out;
  if (chance(g, 50)) {
    var_add(g, c, INT, dim_constant(g, most + 1));
    body = inner(g, 1 + pick(g, 3), depth - 1);
    out = NODE(g, STATEMENT,
               TEXT(g, "var %s = 0;\nwhile %s < %d%s {\n%s += 1;\n$1}", c, c, most, chance(g, 60) ? " and $0" : "", c),
               condition, body);
  } else {
    var_add(g, c, REAL, NULL);
    body = inner(g, 1 + pick(g, 3), depth - 1);
    out = NODE(g, STATEMENT, TEXT(g, "var %s = real(2.1);\nwhile %s > 0.3 {\n%s *= 0.6 + 0.1 * sin($0);\n$1}", c, c, c),
               real_expr(g, REAL, depth - 2), body);
    g->vars.n = mark;
    var_assignable(g, c, REAL);
    g->vars.at[g->vars.n - 1].assignable = false;
    g->loop_depth--;
    g->trips = trips;
    return out;
  }
  g->vars.n = mark;
  g->loop_depth--;
  g->trips = trips;
  return out;
}

static Node *make_if_statement(Gen *g, int depth) {
  Node *condition = bool_expr(g, BOOL, depth - 1);
  if (g->loop_depth && chance(g, 30))
    return NODE(g, STATEMENT, chance(g, 50) ? "if $0 { break; }" : "if $0 { continue; }", condition);
  Node *yes = inner(g, 1 + pick(g, 2), depth - 1);
  if (chance(g, 40))
    return NODE(g, STATEMENT, "if $0 {\n$1}", condition, yes);
  Node *no = inner(g, 1 + pick(g, 2), depth - 1);
  return NODE(g, STATEMENT, "if $0 {\n$1} else {\n$2}", condition, yes, no);
}

static Node *make_require(Gen *g) {
  return NODE(g, STATEMENT, "require sqr($0) >= 0.0: \"a square\";", leaf(g, REAL));
}

static Node *statement(Gen *g, int depth) {
  /* By weight; inside loops and branches what is not assigned to a variable around them is lost. */
  static const int outside[] = {20, 38, 46, 60, 65, 82, 87, 91, 94, 95, 98, 100},
                   inside[] = {9, 14, 34, 60, 69, 80, 83, 91, 94, 95, 96, 100};
  const bool some = assignable(g, false) != NULL;
  const int *until = g->nested ? inside : outside, choice = pick(g, 100);
  if (depth <= 0 || g->budget < 0)
    return some ? assign_whole(g, 1) : make_let(g, 1);
  if (!some)
    return chance(g, 70) ? make_var(g, depth) : make_let(g, depth);
  int k = 0;
  while (choice >= until[k])
    k++;
  switch (k) {
  case 0: return make_let(g, depth);
  case 1: return make_var(g, depth);
  case 2: return assign_whole(g, depth);
  case 3: return assign_part(g, depth);
  case 4: return assign_many(g, depth);
  case 5: return make_for(g, depth);
  case 6: return make_while(g, depth);
  case 7: return make_if_statement(g, depth);
  case 8: return swap(g);
  case 9: return make_require(g);
  case 10: return make_state(g);
  default: return assign_index(g);
  }
}

Node *statements(Gen *g, int n, int depth) {
  Node *list = node_list(g->arena);
  for (int i = 0; i < n; i++) {
    Node *s = statement(g, depth);
    if (s)
      node_push(g->arena, list, s);
    else if (chance(g, 70))
      i--;
  }
  return list;
}

/* { var v = e; .. v } */
Node *make_block(Gen *g, Shape s, int depth) {
  const int mark = g->vars.n, loop_depth = g->loop_depth, barrier = g->barrier;
  const bool nested = g->nested;
  g->loop_depth = 0;
  g->nested = false;
  g->barrier = g->vars.n;
  Node *first = node_list(g->arena);
  const bool state = chance(g, 80);
  const char *v = NULL;
  if (state) {
    Node *value = chance(g, 40) ? leaf(g, s) : real_expr(g, s, depth - 1);
    v = name_new(g, "v");
    node_push(g->arena, first, NODE(g, STATEMENT, TEXT(g, "var %s: %s = $0;", v, shape_text(g->arena, s)), value));
    var_assignable(g, v, s);
  }
  g->nested = state;
  Node *list = statements(g, 1 + pick(g, 3), depth - 1);
  g->nested = nested;
  Node *value = state ? LEAF(g, s, v) : chance(g, 50) ? leaf(g, s) : real_expr(g, s, depth - 1);
  g->vars.n = mark;
  g->loop_depth = loop_depth;
  g->barrier = barrier;
  return NODE(g, s, "{\n$0$1$2\n}", first, list, value);
}
