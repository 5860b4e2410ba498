// QR by Householder's reflections, singular values by one-sided Jacobi. Part of linalg.h.

// Makes the reflection I - tau v v^T that takes x (n numbers, `stride` apart) to (beta, 0, ..); v, with v_0 = 1,
// replaces the rest of x, beta its first. Returns tau.
static REAL reflection(int64_t n, REAL *x, int64_t stride) {
  const REAL rest = norm(n - 1, x + stride, stride);
  if (n < 2 || rest == 0)
    return 0;
  const REAL alpha = x[0], length = (REAL)hypot((double)alpha, (double)rest);
  const REAL beta = alpha < 0 ? length : -length;
  for (int64_t i = 1; i < n; i++)
    x[i * stride] /= alpha - beta;
  x[0] = beta;
  return (beta - alpha) / beta;
}

// Applies the reflection whose v stands in column k from row k on (v_0 = 1 is not stored) to the columns from `first`.
static void reflect_columns(int64_t n, int64_t m, int64_t k, int64_t first, REAL tau, REAL *a, REAL *work) {
  const int64_t width = m - first;
  if (tau == 0 || width <= 0)
    return;
  copy(width, a + k * m + first, work);
  for (int64_t i = k + 1; i < n; i++)
    add_scaled(width, a[i * m + k], a + i * m + first, work);
  add_scaled(width, -tau, work, a + k * m + first);
  for (int64_t i = k + 1; i < n; i++)
    add_scaled(width, -tau * a[i * m + k], work, a + i * m + first);
}

// Q (in place of the n x m matrix, n >= m) with orthonormal columns, R upper triangular. work: (1 + LAPACK_BLOCK) m.
static void qr_factor(int64_t n, int64_t m, REAL *q, REAL *r, REAL *work) {
  REAL *tau = work, *row = work + m;
  if (linked_qr(n, m, q, r, work))
    return;
  for (int64_t k = 0; k < m; k++) {
    tau[k] = reflection(n - k, q + k * m + k, m);
    reflect_columns(n, m, k, k + 1, tau[k], q, row);
  }
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < m; j++)
      r[i * m + j] = j < i ? 0 : q[i * m + j];
  for (int64_t k = m - 1; k >= 0; k--) {
    reflect_columns(n, m, k, k + 1, tau[k], q, row);
    for (int64_t i = 0; i < k; i++)
      q[i * m + k] = 0;
    q[k * m + k] = 1 - tau[k];
    for (int64_t i = k + 1; i < n; i++)
      q[i * m + k] *= -tau[k];
  }
}

KERNEL_FUNCTION(qr)(const int64_t *sizes, const void *const *in, void *const *out) {
  const int64_t n = sizes[0], m = sizes[1];
  const REAL *r = out[1];
  int64_t *info = out[2];
  copy(n * m, in[0], out[0]);
  qr_factor(n, m, out[0], out[1], out[3]);
  REAL most = 0;
  for (int64_t i = 0; i < m; i++)
    most = ABS(r[i * m + i]) > most ? ABS(r[i * m + i]) : most;
  *info = 0;
  for (int64_t i = m - 1; i >= 0; i--) // a column that the others before give, to rounding
    if (ABS(r[i * m + i]) <= EPSILON * (REAL)n * most)
      *info = i + 1;
}

// -- Singular values -------------------------------------------------------------------------------------------------

// A length that is nothing beside the longest row, which is about 1: such a row points nowhere.
#define NOTHING (EPSILON * EPSILON)

// Turns rows p and q of g to be orthogonal, and those of w with them. False where they are, to rounding.
static int turn_pair(int64_t m, REAL *g, REAL *w, int64_t p, int64_t q) {
  REAL *x = g + p * m, *y = g + q * m;
  const REAL xx = dot(m, x, x), yy = dot(m, y, y), xy = dot(m, x, y);
  const REAL nothing = NOTHING * NOTHING;
  if (xx <= nothing || yy <= nothing || !(ABS(xy) > 2 * EPSILON * SQRT(m) * SQRT(xx) * SQRT(yy)))
    return 0;
  const REAL zeta = (yy - xx) / (2 * xy);
  const REAL t = (REAL)(zeta < 0 ? -1 : 1) / (ABS(zeta) + (REAL)hypot(1, (double)zeta));
  const REAL c = 1 / SQRT(1 + t * t), s = c * t;
  rotate(m, c, s, x, y);
  rotate(m, c, s, w + p * m, w + q * m);
  return 1;
}

// Row k of g becomes a unit vector that is orthogonal to the others before it; for a singular value of 0.
static void complete_row(int64_t m, REAL *g, int64_t k) {
  REAL *row = g + k * m;
  for (int64_t e = 0; e < m; e++) {
    for (int64_t j = 0; j < m; j++)
      row[j] = j == e;
    for (int again = 0; again < 2; again++)
      for (int64_t i = 0; i < k; i++)
        add_scaled(m, -dot(m, row, g + i * m), g + i * m, row);
    const REAL length = norm(m, row, 1);
    if (length * length * (REAL)(2 * m) >= 1) { // some e leaves a vector at least as long as that
      for (int64_t j = 0; j < m; j++)
        row[j] /= length;
      return;
    }
  }
}

// By falling s; with them the rows of g and w.
static void sort_falling(int64_t m, REAL *s, REAL *g, REAL *w) {
  for (int64_t i = 0; i < m; i++) {
    int64_t best = i;
    for (int64_t j = i + 1; j < m; j++)
      best = s[j] > s[best] ? j : best;
    if (best == i)
      continue;
    swap_rows(1, s + i, s + best);
    swap_rows(m, g + i * m, g + best * m);
    swap_rows(m, w + i * m, w + best * m);
  }
}

// A = Q R, then R = W^T G with rotations W until the rows of G are orthogonal: they are s_i v_i^T, and U = Q W^T.
KERNEL_FUNCTION(svd)(const int64_t *sizes, const void *const *in, void *const *out) {
  enum { MAX_SWEEPS = 80 };
  const int64_t n = sizes[0], m = sizes[1];
  REAL *u = out[0], *s = out[1], *g = out[2], *w = out[4], *work = out[5];
  int64_t *info = out[3];
  const REAL most = largest(n * m, in[0]), scale = scale_for(most);
  const REAL *a = in[0];
  for (int64_t i = 0; i < n * m; i++)
    u[i] = a[i] * scale;
  const int64_t linked = isfinite((double)most) ? linked_svd(n, m, u, s, g, w, work) : -1;
  if (linked >= 0) {
    *info = linked;
    for (int64_t i = 0; i < m; i++)
      s[i] /= scale;
    return;
  }
  qr_factor(n, m, u, g, work);
  set_identity(m, w);
  *info = 1;
  for (int sweep = 0; *info && sweep < MAX_SWEEPS && isfinite((double)most); sweep++) {
    *info = 0;
    for (int64_t p = 0; p < m; p++)
      for (int64_t q = p + 1; q < m; q++)
        *info |= turn_pair(m, g, w, p, q);
  }
  for (int64_t i = 0; i < m; i++)
    s[i] = norm(m, g + i * m, 1);
  sort_falling(m, s, g, w);
  for (int64_t i = 0; i < m; i++) {
    if (s[i] <= NOTHING)
      complete_row(m, g, i);
    else
      for (int64_t j = 0; j < m; j++)
        g[i * m + j] /= s[i];
    s[i] /= scale;
  }
  for (int64_t i = 0; i < n; i++) {
    copy(m, u + i * m, work);
    for (int64_t j = 0; j < m; j++)
      u[i * m + j] = dot(m, work, w + j * m);
  }
}
