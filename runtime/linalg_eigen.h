// Eigenvalues and eigenvectors of symmetric matrices: Householder's tridiagonal form, then implicit QL. Part of
// linalg.h.

// a, symmetric and whole, becomes tridiagonal: diagonal d, beside it e (e_i between i and i + 1). Reflection k, of the
// indices from k + 1 on, is left in row k of a: tau in column k, then v with v_0 = 1. work: n.
static void tridiagonalise(int64_t n, REAL *a, REAL *d, REAL *e, REAL *work) {
  for (int64_t k = 0; k < n; k++) {
    REAL *v = a + k * n + k + 1;
    const int64_t rest = n - k - 1;
    d[k] = a[k * n + k];
    if (!rest)
      continue;
    const REAL tau = a[k * n + k] = reflection(rest, v, 1);
    e[k] = v[0];
    v[0] = 1;
    if (tau == 0)
      continue;
    for (int64_t i = 0; i < rest; i++)
      work[i] = tau * dot(rest, a + (k + 1 + i) * n + k + 1, v);
    add_scaled(rest, -tau / 2 * dot(rest, work, v), v, work);
    for (int64_t i = 0; i < rest; i++) {
      REAL *row = a + (k + 1 + i) * n + k + 1;
      add_scaled(rest, -v[i], work, row);
      add_scaled(rest, -work[i], v, row);
    }
  }
}

// The product of the reflections, transposed: row i of z is the i-th basis vector of the tridiagonal form.
static void form_basis(int64_t n, const REAL *a, REAL *z) {
  set_identity(n, z);
  for (int64_t k = n - 2; k >= 0; k--) {
    const REAL *v = a + k * n + k + 1, tau = a[k * n + k];
    for (int64_t i = k + 1; tau != 0 && i < n; i++) {
      REAL *row = z + i * n + k + 1;
      add_scaled(n - k - 1, -tau * dot(n - k - 1, row, v), v, row);
    }
  }
}

// One implicit QL step with Wilkinson's shift on the block from l to m; the rows of z turn with it.
static void ql_step(int64_t n, int64_t l, int64_t m, REAL *d, REAL *e, REAL *z) {
  const REAL half = (d[l + 1] - d[l]) / (2 * e[l]), r = (REAL)hypot((double)half, 1);
  REAL g = d[m] - d[l] + e[l] / (half + (half < 0 ? -r : r));
  REAL s = 1, c = 1, p = 0;
  for (int64_t i = m - 1; i >= l; i--) {
    REAL f = s * e[i], b = c * e[i], length = (REAL)hypot((double)f, (double)g);
    e[i + 1] = length;
    if (length == 0) { // the block falls apart here
      d[i + 1] -= p;
      e[m] = 0;
      return;
    }
    s = f / length;
    c = g / length;
    g = d[i + 1] - p;
    const REAL t = (d[i] - g) * s + 2 * c * b;
    p = s * t;
    d[i + 1] = g + p;
    g = c * t - b;
    rotate(n, c, s, z + i * n, z + (i + 1) * n);
  }
  d[l] -= p;
  e[l] = g;
  e[m] = 0;
}

// Rows of z become the eigenvectors of the tridiagonal matrix, d its eigenvalues. 0, or 1 where it does not converge.
static int64_t ql(int64_t n, REAL *d, REAL *e, REAL *z) {
  enum { MAX_STEPS = 80 };
  if (n)
    e[n - 1] = 0;
  for (int64_t l = 0; l < n; l++)
    for (int step = 0;; step++) {
      int64_t m = l;
      while (m < n - 1 && ABS(e[m]) > EPSILON * (ABS(d[m]) + ABS(d[m + 1])))
        m++;
      if (m == l)
        break;
      if (step == MAX_STEPS)
        return 1;
      ql_step(n, l, m, d, e, z);
    }
  return 0;
}

static void sort_rising(int64_t n, REAL *d, REAL *z) {
  for (int64_t i = 0; i < n; i++) {
    int64_t best = i;
    for (int64_t j = i + 1; j < n; j++)
      best = d[j] < d[best] ? j : best;
    if (best == i)
      continue;
    swap_rows(1, d + i, d + best);
    swap_rows(n, z + i * n, z + best * n);
  }
}

KERNEL_FUNCTION(eigh)(const int64_t *sizes, const void *const *in, void *const *out) {
  const int64_t n = sizes[0];
  const REAL *given = in[0];
  REAL *d = out[0], *z = out[1], *a = out[3], *e = out[4];
  int64_t *info = out[2];
  REAL most = 0;
  for (int64_t i = 0; i < n; i++) {
    const REAL row = largest(i + 1, given + i * n);
    most = row > most || row != row ? row : most;
  }
  const REAL scale = scale_for(most);
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j <= i; j++)
      a[i * n + j] = a[j * n + i] = given[i * n + j] * scale;
  copy(n * n, a, z);
  *info = 1;
  const int64_t linked = isfinite((double)most) ? linked_eigh(n, d, z, a, e) : -1;
  if (linked >= 0) {
    *info = linked;
  } else if (isfinite((double)most)) {
    tridiagonalise(n, a, d, e, e + n);
    form_basis(n, a, z);
    *info = ql(n, d, e, z);
  } else {
    memset(d, 0, (size_t)n * sizeof *d);
    set_identity(n, z);
  }
  sort_rising(n, d, z);
  for (int64_t i = 0; i < n; i++) {
    d[i] /= scale;
    for (int64_t j = 0; j < i; j++) {
      const REAL old = z[i * n + j];
      z[i * n + j] = z[j * n + i];
      z[j * n + i] = old;
    }
  }
}
