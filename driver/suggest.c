/* Which known name a misspelt one was meant to be: the least number of letters to change, add, drop or swap. */
#include "driver/driver.h"
#include <string.h>

enum { LONGEST = 40 };

static int least(int a, int b) {
  return a < b ? a : b;
}

/* Optimal string alignment distance. */
static int distance(const char *a, const char *b) {
  const int n = (int)strlen(a), m = (int)strlen(b);
  if (n > LONGEST || m > LONGEST)
    return LONGEST;
  int d[LONGEST + 1][LONGEST + 1];
  for (int i = 0; i <= n; i++)
    for (int j = 0; j <= m; j++) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] = least(least(d[i - 1][j], d[i][j - 1]) + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[n][m];
}

const char *nearest_name(const char *name, const char *const *names, int n) {
  const char *best = NULL;
  int best_distance = 1 + (int)strlen(name) / 3;
  if (best_distance > 3)
    best_distance = 3;
  for (int i = 0; i < n; i++) {
    const int d = distance(name, names[i]);
    if (d < (int)strlen(name) && (d < best_distance || (d == best_distance && !best))) {
      best = names[i];
      best_distance = d;
    }
  }
  return best;
}
