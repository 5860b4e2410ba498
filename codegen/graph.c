/* The dataflow graph; see graph.h. */
#include "codegen/graph.h"
#include "codegen/source.h"
#include "ir/size.h"
#include "ir/text.h"
#include <string.h>

/* Operations are called by number, parameters of regions by the uid of the value. */
typedef struct Graph {
  Module *module;
  FILE *out;
  int nops, nclusters;
  VEC(Op *) ops; /* of the function that is being drawn, in order */
} Graph;

static const char *escaped(Graph *g, const char *text) {
  Text t = {.arena = g->module->arena};
  text_string(&t, text);
  return text_end(&t);
}

static int number_of(const Op *op) {
  return (int)(intptr_t)op->note;
}

static void number_region(Graph *g, const Region *r) {
  for (Op *op = r->first; op; op = op->next) {
    op->note = (void *)(intptr_t)g->nops++;
    vec_push(g->module->arena, g->ops, op);
    for (int i = 0; i < op->nregions; i++)
      number_region(g, op->regions[i]);
  }
}

/* ---- nodes */
static const char *op_label(Graph *g, const Op *op) {
  Text t = {.arena = g->module->arena};
  text_add(&t, op_info[op->code].name);
  if (op->code == OP_CONST && kind_is_float(op->results[0]->type.kind)) {
    text_add(&t, " ");
    text_float(&t, op->results[0]->type.kind, op->at.f);
  } else if (op->code == OP_CONST || op->code == OP_POWI || op->code == OP_POLYGAMMA) {
    text_printf(&t, " %lld", (long long)op->at.i);
  } else if (op->code == OP_SIZE) {
    text_printf(&t, " %s", size_text(g->module, op->at.size));
  } else if (op->code == OP_CALL) {
    text_printf(&t, " %s", op->at.callee->name);
  }
  for (int i = 0; i < op->nresults; i++) {
    const Value *v = op->results[i];
    if (v->name)
      text_printf(&t, "\n%s", v->name);
    if (v->type.rank)
      text_printf(&t, "%s%s", v->name ? ": " : "\n", type_text(g->module, v->type));
  }
  if (op->loc.line > 0)
    text_printf(&t, "\nline %d", op->loc.line);
  return escaped(g, text_end(&t));
}

static const char *region_label(Graph *g, const Region *r) {
  const Op *op = r->owner;
  Text t = {.arena = g->module->arena};
  if (op->code == OP_LOOP) {
    const LoopInfo *l = op->at.loop;
    text_add(&t, l->ncarries ? "loop in order" : "loop");
    for (int i = 0; i < l->nindices; i++)
      text_printf(&t, "%s%s < %s", i ? ", " : " ", r->params[i]->name ? r->params[i]->name : "_",
                  size_text(g->module, l->extents[i]));
  } else {
    const bool first = op->regions[0] == r;
    text_add(&t, op->code == OP_WHILE ? (first ? "while" : "do") : first ? "then" : "else");
  }
  return escaped(g, text_end(&t));
}

static void draw_param(Graph *g, const Value *v) {
  const char *text = arena_printf(g->module->arena, "%s: %s", v->name ? v->name : "_", type_text(g->module, v->type));
  fprintf(g->out, "    v%u [shape=box, style=rounded, label=%s];\n", v->uid, escaped(g, text));
}

static void draw_nodes(Graph *g, const Region *r) {
  for (int i = 0; i < r->nparams; i++)
    draw_param(g, r->params[i]);
  for (const Op *op = r->first; op; op = op->next) {
    fprintf(g->out, "    o%d [label=%s%s];\n", number_of(op), op_label(g, op),
            op_is_derivative(op) ? ", color=firebrick, fontcolor=firebrick" : "");
    for (int i = 0; i < op->nregions; i++) {
      fprintf(g->out, "    subgraph cluster_%d {\n    label=%s; color=gray;\n", g->nclusters++,
              region_label(g, op->regions[i]));
      draw_nodes(g, op->regions[i]);
      fputs("    }\n", g->out);
    }
  }
}

/* ---- edges */
static void draw_edge(Graph *g, const Value *from, int to, const char *style) {
  if (from->def)
    fprintf(g->out, "  o%d -> o%d%s;\n", number_of(from->def), to, style);
  else
    fprintf(g->out, "  v%u -> o%d%s;\n", from->uid, to, style);
}

static void draw_edges(Graph *g, const Op *op) {
  for (int i = 0; i < op->noperands; i++)
    draw_edge(g, op->operands[i], number_of(op), "");
  for (int i = 0; i < op->nregions; i++)
    for (int k = 0; k < op->regions[i]->nyields; k++)
      draw_edge(g, op->regions[i]->yields[k], number_of(op), " [style=dotted]");
}

static bool same_place(Range a, Range b) {
  return a.src == b.src && a.line == b.line && a.col == b.col && a.to_line == b.to_line && a.to_col == b.to_col;
}

/* The primal operation that an adjoint one was made for: passes have put copies in its place since, of the same kind at
   the same place in the source. */
static const Op *origin_of(const Graph *g, const Op *op) {
  for (int i = 0; i < g->ops.n; i++) {
    const Op *other = g->ops.at[i];
    if (!op_is_derivative(other) && other->code == op->origin->code && same_place(other->loc, op->origin->loc))
      return other;
  }
  return NULL;
}

static void draw_func(Graph *g, const Func *f) {
  g->ops.n = 0;
  number_region(g, f->body);
  fprintf(g->out, "  subgraph cluster_%d {\n    label=%s;\n", g->nclusters++, escaped(g, f->name));
  draw_nodes(g, f->body);
  for (int i = 0; i < f->body->nyields; i++) {
    const char *name = f->result_names[i] ? f->result_names[i] : "value";
    fprintf(g->out, "    o%d [shape=box, style=\"rounded,bold\", label=%s];\n", g->nops + i, escaped(g, name));
  }
  fputs("  }\n", g->out);
  for (int i = 0; i < g->ops.n; i++) {
    const Op *op = g->ops.at[i], *origin = op_is_derivative(op) ? origin_of(g, op) : NULL;
    draw_edges(g, op);
    if (origin)
      fprintf(g->out, "  o%d -> o%d [style=dashed, color=gray, constraint=false];\n", number_of(origin), number_of(op));
  }
  for (int i = 0; i < f->body->nyields; i++)
    draw_edge(g, f->body->yields[i], g->nops++, "");
}

void graph_write(Module *m, FILE *out) {
  Graph g = {.module = m, .out = out};
  fputs("digraph gradc {\n  rankdir=TB;\n  node [fontname=\"sans-serif\", fontsize=10];\n", out);
  for (const Func *f = m->funcs; f; f = f->next)
    if (!f->is_extern && f->derive.op == DERIVE_NONE)
      draw_func(&g, f);
  fputs("}\n", out);
}
