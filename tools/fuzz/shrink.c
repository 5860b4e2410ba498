/* Making a failing program smaller while it fails the same way: an edit is made, tried, and taken back if it does not.
   Edits know only trees: a list loses children, a node becomes one of its descendants of the same shape, or a constant.
   What is then no program any more, the compiler refuses. */
#include "tools/fuzz/fuzz.h"
#include <string.h>

typedef struct Shrinker {
  Arena *arena;
  Case *c;
  StillFails *still;
  void *arg;
  int left; /* of the budget */
  bool changed;
} Shrinker;

static bool try(Shrinker *s) {
  return s->left-- > 0 && s->still(s->arg, s->c);
}

/* ---- trees */
/* Without children [from, from + n). */
static void shrink_list(Shrinker *s, Node *list) {
  for (int n = list->nkids; n > 0; n = n > 3 ? n / 2 : n - 1)
    for (int from = list->nkids - n; from >= 0 && s->left > 0; from--) {
      Node **before = list->kids;
      const int all = list->nkids;
      Node **kids = NEW_ARRAY(s->arena, Node *, all);
      int kept = 0;
      for (int i = 0; i < all; i++)
        if (i < from || i >= from + n)
          kids[kept++] = before[i];
      list->kids = kids;
      list->nkids = kept;
      if (try(s)) {
        s->changed = true;
        if (from > kept - n)
          from = kept - n + 1;
      } else {
        list->kids = before;
        list->nkids = all;
      }
    }
}

static bool replaces(const Node *inner, const Node *outer) {
  if (outer->shape.sort == SORT_STATEMENT)
    return inner->shape.sort == SORT_STATEMENT || (inner->shape.sort == SORT_LIST && inner->nkids > 0);
  return shape_equal(inner->shape, outer->shape);
}

static bool try_as(Shrinker *s, Node *n, const Node *other) {
  const Node before = *n;
  *n = *other;
  if (try(s)) {
    s->changed = true;
    return true;
  }
  *n = before;
  return false;
}

static bool hoist(Shrinker *s, Node *n, const Node *below, int depth) {
  for (int i = 0; i < below->nkids; i++) {
    if (replaces(below->kids[i], n) && try_as(s, n, below->kids[i]))
      return true;
    if (depth > 0 && hoist(s, n, below->kids[i], depth - 1))
      return true;
  }
  return false;
}

static const Node *constant(Shrinker *s, Shape shape) {
  const char *real = s->c->narrow ? "real(0.5)" : "0.5", *text = real;
  if (shape.sort == SORT_INT)
    text = "1";
  else if (shape.sort == SORT_BOOL)
    text = "true";
  else if (shape.sort != SORT_REAL)
    return NULL;
  if (shape.rank) {
    text = arena_printf(s->arena, "(%s)", text);
    for (int i = shape.rank - 1; i >= 0; i--)
      text = arena_printf(s->arena, "%s%s%s", shape.dims[i]->text, i + 1 < shape.rank ? ", " : "]", text);
    text = arena_printf(s->arena, "full[%s", text);
  }
  return node_new(s->arena, shape, text, 0, NULL);
}

static bool is_constant(const Node *n) {
  return n->nkids == 0 && (!n->text || strpbrk(n->text, "(.0123456789") == n->text || !strncmp(n->text, "full", 4) ||
                           !strncmp(n->text, "real", 4) || !strcmp(n->text, "true"));
}

static void shrink_node(Shrinker *s, Node *n) {
  if (s->left <= 0)
    return;
  if (!n->text)
    shrink_list(s, n);
  else if (n->nkids > 0 || !is_constant(n)) {
    const Node *c = constant(s, n->shape);
    if (c && try_as(s, n, c))
      return;
    while (n->nkids > 0 && hoist(s, n, n, 3)) {
    }
  }
  for (int i = 0; i < n->nkids; i++)
    shrink_node(s, n->kids[i]);
}

/* ---- parameters, results, sizes */
#define SHRINK_VEC(s, vec, T) \
  for (int i = (vec).n - 1; i >= 0 && (s)->left > 0; i--) { \
    T removed = (vec).at[i]; \
    for (int j = i; j + 1 < (vec).n; j++) \
      (vec).at[j] = (vec).at[j + 1]; \
    (vec).n--; \
    if ((vec).n > 0 && try(s)) { \
      (s)->changed = true; \
      continue; \
    } \
    for (int j = (vec).n++; j > i; j--) \
      (vec).at[j] = (vec).at[j - 1]; \
    (vec).at[i] = removed; \
  }

static void set_value(Case *c, int symbol, int64_t value, Arena *arena) {
  const int64_t by = value - c->symbols[symbol]->value;
  c->symbols[symbol]->value = value;
  for (int i = 0; i < c->params.n; i++)
    for (int k = 0; k < c->params.at[i].ninputs; k++) {
      Shape *s = &c->params.at[i].inputs[k].shape;
      for (int axis = 0; axis < s->rank; axis++)
        if (s->dims[axis]->base == symbol) {
          Dim *d = NEW(arena, Dim);
          *d = *s->dims[axis];
          d->value += by;
          s->dims[axis] = d;
        }
    }
}

static void shrink_sizes(Shrinker *s) {
  for (int i = 0; i < s->c->nsymbols; i++) {
    const int64_t before = s->c->symbols[i]->value;
    const int64_t trials[] = {1, 2, 3, before / 2, before - 1};
    for (int k = 0; k < 5; k++) {
      if (trials[k] < 1 || trials[k] >= before)
        continue;
      set_value(s->c, i, trials[k], s->arena);
      if (try(s)) {
        s->changed = true;
        break;
      }
      set_value(s->c, i, before, s->arena);
    }
  }
}

static void shrink_with(Shrinker *s) {
  for (unsigned bit = 1; bit <= WITH_SPARSE; bit <<= 1)
    if (s->c->with & bit) {
      s->c->with &= ~bit;
      if (try(s))
        s->changed = true;
      else
        s->c->with |= bit;
    }
}

void case_shrink(Arena *arena, Case *c, StillFails *still, void *arg, int budget) {
  Shrinker s = {.arena = arena, .c = c, .still = still, .arg = arg, .left = budget, .changed = true};
  shrink_with(&s);
  while (s.changed && s.left > 0) {
    s.changed = false;
    SHRINK_VEC(&s, c->results, Node *)
    shrink_node(&s, c->body);
    for (int i = 0; i < c->results.n; i++)
      shrink_node(&s, c->results.at[i]);
    shrink_node(&s, c->helpers);
    SHRINK_VEC(&s, c->params, Param)
    shrink_sizes(&s);
  }
}
