/* The two readings of `base[..]`: an index with slices, or a reduction with ranges, filter and body.
   The grammar takes both with one set of items (CoverItem); which one is meant depends on what `base` names, so both
   are worked out here and the elaboration picks.  Items that fit neither are an error already. */
#include "frontend/nodes.h"

typedef struct Misfit {
  Range at;
  const char *why; /* NULL: it fits */
} Misfit;

static const IndexItemList *read_as_items(ParseState *s, const CoverItemList *covers, Range *misfit) {
  IndexItemList *items = NEW(s->arena, IndexItemList);
  for (int i = 0; i < covers->n; i++) {
    const CoverItem *c = &covers->at[i];
    if (c->kind != COVER_EXPR && c->kind != COVER_SLICE) {
      *misfit = c->at;
      return NULL;
    }
    IndexItem item = {.is_slice = c->kind == COVER_SLICE, .at = c->at};
    if (item.is_slice) {
      item.start = c->first;
      item.stop = c->second;
      item.step = c->third;
    } else
      item.index = c->first;
    vec_push(s->arena, *items, item);
  }
  return items;
}

/* `i`, `i < bound`: an expression that reads as a range. */
static Misfit read_range(const Expr *e, IndexRange *range) {
  static const char GENERAL[] = "an index range is written i, i < n or i in a..b";
  if (!e->in_parens && e->kind == EXPR_NAME) {
    *range = (IndexRange){.kind = INDEX_BARE, .name = {e->name, e->at}, .at = e->at};
    return (Misfit){0};
  }
  if (e->in_parens || e->kind != EXPR_BINARY)
    return (Misfit){e->at, GENERAL};
  const Expr *left = e->binary.left;
  if (left->in_parens || left->kind != EXPR_NAME)
    return (Misfit){e->at, GENERAL};
  if (e->binary.op == BINARY_LE)
    return (Misfit){e->binary.op_at, "an index range has no '<=': write i < n + 1"};
  if (e->binary.op != BINARY_LT)
    return (Misfit){e->at, GENERAL};
  *range = (IndexRange){.kind = INDEX_BELOW, .name = {left->name, left->at}, .to = e->binary.right, .at = e->at};
  return (Misfit){0};
}

/* The last item: a range, an optional filter and the body. */
static Misfit read_last(const CoverItem *c, Comprehension *reduction, IndexRange *range) {
  static const char NO_BODY[] = "a reduction ends in ':' and its body";
  if (c->kind == COVER_EXPR || (c->kind == COVER_IN && !c->body))
    return (Misfit){c->at, NO_BODY};
  if (c->kind == COVER_IN) {
    *range = c->range;
    reduction->filter = c->filter;
    reduction->body = c->body;
    return (Misfit){0};
  }
  if (c->kind == COVER_FILTER) {
    reduction->filter = c->filter;
    reduction->body = c->body;
    return read_range(c->first, range);
  }
  if (!c->first)
    return (Misfit){c->at, "a reduction needs an index range before the ':'"};
  if (!c->second)
    return (Misfit){c->at, NO_BODY};
  if (c->has_step)
    return (Misfit){c->at, "a reduction has one ':', before its body"};
  reduction->body = c->second;
  return read_range(c->first, range);
}

/* An item that is not the last: a range alone. */
static Misfit read_early(const CoverItem *c, IndexRange *range) {
  if (c->kind == COVER_EXPR)
    return read_range(c->first, range);
  if (c->kind == COVER_IN && !c->body) {
    *range = c->range;
    return (Misfit){0};
  }
  return (Misfit){c->at, c->kind == COVER_SLICE ? "only the last index range is followed by ':' and the body"
                                                : "the filter and the body come after the last index range"};
}

static const Comprehension *read_as_reduction(ParseState *s, const CoverItemList *covers, Misfit *misfit) {
  Comprehension *reduction = NEW(s->arena, Comprehension);
  reduction->at = range_join(covers->at[0].at, covers->at[covers->n - 1].at);
  for (int i = 0; i < covers->n; i++) {
    IndexRange range = {0};
    bool is_last = i == covers->n - 1;
    *misfit = is_last ? read_last(&covers->at[i], reduction, &range) : read_early(&covers->at[i], &range);
    if (misfit->why)
      return NULL;
    vec_push(s->arena, reduction->ranges, range);
  }
  return reduction;
}

static bool holds_poison(const CoverItemList *covers) {
  for (int i = 0; i < covers->n; i++)
    if (covers->at[i].first && covers->at[i].first->kind == EXPR_POISON)
      return true;
  return false;
}

Expr *expr_bracket(ParseState *s, Range at, Expr *base, const CoverItemList *covers) {
  Expr *e = expr_bracket_unread(s, at, base, covers);
  if (e->kind == EXPR_POISON || holds_poison(covers))
    return expr_poison(s, at);
  Misfit misfit = {0};
  e->bracket.items = read_as_items(s, covers, &e->bracket.not_items);
  e->bracket.reduction = read_as_reduction(s, covers, &misfit);
  e->bracket.not_reduction = misfit.at;
  e->bracket.why_not_reduction = misfit.why;
  if (e->bracket.items || e->bracket.reduction)
    return e;
  diag_error(s->diag, misfit.at, "%s", misfit.why);
  return expr_poison(s, at);
}
