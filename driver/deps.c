/* Make rules: what was read to make an output, in the form of cc -MD. */
#include "driver/driver.h"
#include <string.h>

/* As make reads names: a space and a # are escaped by a backslash, a $ is doubled. */
static char *make_name(Arena *arena, const char *name) {
  char *r = arena_alloc(arena, strlen(name) * 2 + 1), *p = r;
  for (; *name; name++) {
    if (*name == ' ' || *name == '#')
      *p++ = '\\';
    if (*name == '$')
      *p++ = '$';
    *p++ = *name;
  }
  return r;
}

char *make_rule(Arena *arena, const char *target, const Strings *read) {
  char *rule = arena_printf(arena, "%s:", make_name(arena, target));
  for (int i = 0; i < read->n; i++)
    rule = arena_printf(arena, "%s \\\n  %s", rule, make_name(arena, read->at[i]));
  /* An empty rule for each import, so that one that is removed does not stop make. */
  rule = arena_printf(arena, "%s\n", rule);
  for (int i = 1; i < read->n; i++)
    rule = arena_printf(arena, "%s%s:\n", rule, make_name(arena, read->at[i]));
  return rule;
}
