/* Arguments matched with parameters: by position, then by name. */
#include "frontend/elab_core.h"

static DiagMessage *complain(Elab *e, Range at, Range declared, const char *callee, const char *text) {
  DiagMessage *m = elab_error(e, at, "%s", text);
  if (declared.src)
    diag_note(e->diag, m, declared, "'%s' is declared here", callee);
  return m;
}

static const char *name_of(const ParameterList *params, const char *const *names, int i) {
  return names && names[i] ? names[i] : params->at[i].name.text;
}

static int find_parameter(const ParameterList *params, const char *const *names, const char *name) {
  for (int i = 0; i < params->n; i++)
    if (name_of(params, names, i) == name)
      return i;
  return -1;
}

static bool match_named(Elab *e, const char *callee, Range declared, const ParameterList *params,
                        const char *const *names, const Argument *a, bool allow_extra, ArgumentMatch *match) {
  const int i = find_parameter(params, names, a->name.text);
  if (i < 0 && allow_extra) {
    vec_push(e->arena, match->extra, *a);
    return true;
  }
  if (i < 0) {
    DiagMessage *m = complain(e, a->name.at, declared, callee,
                              arena_printf(e->arena, "'%s' has no parameter '%s'", callee, a->name.text));
    NearMiss near = near_miss_of(a->name.text);
    for (int j = 0; j < params->n; j++)
      near_miss_try(&near, name_of(params, names, j));
    near_miss_mend(e, &near, m);
    return false;
  }
  if (match->given[i]) {
    DiagMessage *m = elab_error(e, a->at, "argument '%s' is given twice", a->name.text);
    diag_note(e->diag, m, match->given[i]->at, "the first is here");
    return false;
  }
  match->given[i] = a->value;
  return true;
}

static const char *list_missing(Elab *e, const ParameterList *params, const char *const *names,
                                const ArgumentMatch *match, int *missing) {
  const char *text = "";
  for (int i = 0; i < params->n; i++)
    if (!match->given[i])
      text = arena_printf(e->arena, "%s%s'%s'", text, (*missing)++ ? ", " : "", name_of(params, names, i));
  return text;
}

bool arguments_match(Elab *e, Range at, const char *callee, Range declared, const ParameterList *params,
                     const char *const *names, const ArgumentList *arguments, bool allow_extra, ArgumentMatch *match) {
  *match = (ArgumentMatch){.given = NEW_ARRAY(e->arena, Expr *, params->n)};
  const Argument *named = NULL;
  bool ok = true;
  int missing = 0;
  for (int i = 0; i < arguments->n; i++) {
    const Argument *a = &arguments->at[i];
    if (a->name.text) {
      named = a;
      ok &= match_named(e, callee, declared, params, names, a, allow_extra, match);
    } else if (named) {
      DiagMessage *m = elab_error(e, a->at, "an argument without a name after one with a name");
      diag_note(e->diag, m, named->at, "this one has a name");
      ok = false;
    } else if (i < params->n) {
      match->given[i] = a->value;
    } else if (allow_extra) {
      vec_push(e->arena, match->extra, *a);
    } else {
      complain(e, a->at, declared, callee,
               arena_printf(e->arena, "'%s' takes %d argument%s, not %d", callee, params->n, params->n == 1 ? "" : "s",
                            arguments->n));
      ok = false;
      break;
    }
  }
  if (!ok)
    return false;
  const char *text = list_missing(e, params, names, match, &missing);
  if (missing)
    complain(e, at, declared, callee,
             arena_printf(e->arena, "argument%s %s of '%s' %s missing", missing == 1 ? "" : "s", text, callee,
                          missing == 1 ? "is" : "are"));
  return !missing;
}
