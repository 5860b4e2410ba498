// Factors and solutions by them: Cholesky, LU with row pivoting, triangles, and the pivots of complete pivoting. Part
// of linalg.h.

// -- Cholesky --------------------------------------------------------------------------------------------------------

// The columns from j to j + width - 1, once the product of those before has been subtracted. 0, or 1 + the row at which
// the matrix is not positive definite.
static int64_t cholesky_panel(int64_t n, int64_t j, int64_t width, REAL *l) {
  for (int64_t i = j; i < n; i++) {
    REAL *row = l + i * n;
    for (int64_t q = j; q < j + width && q <= i; q++) {
      const REAL *other = l + q * n;
      REAL rest = row[q] - dot(q - j, row + j, other + j);
      if (q < i) {
        row[q] = rest / other[q];
        continue;
      }
      if (!(rest > 0) || isinf((double)rest))
        return i + 1;
      row[q] = SQRT(rest);
    }
  }
  return 0;
}

KERNEL_FUNCTION(cholesky)(const int64_t *sizes, const void *const *in, void *const *out) {
  const int64_t n = sizes[0];
  const REAL *a = in[0];
  REAL *l = out[0];
  int64_t *info = out[1];
  *info = 0;
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++)
      l[i * n + j] = j <= i ? a[i * n + j] : 0;
  const int64_t linked = linked_cholesky(n, l);
  if (linked >= 0) {
    *info = linked;
    return;
  }
  for (int64_t j = 0; j < n && !*info; j += BLOCK) {
    const int64_t width = n - j < BLOCK ? n - j : BLOCK;
    // The upper part of the diagonal block must stay 0: its rows get what is left of the diagonal only.
    for (int64_t i = j; i < j + width; i++)
      add_product_transposed(1, i - j + 1, j, -1, l + i * n, n, l + j * n, n, l + i * n + j, n);
    add_product_transposed(n - j - width, width, j, -1, l + (j + width) * n, n, l + j * n, n, l + (j + width) * n + j,
                           n);
    *info = cholesky_panel(n, j, width, l);
  }
}

// Within a diagonal block of `width` rows: the bars of L's elements become those of the matrix that it was made from. d
// and d_bar point at the block, row by row n apart.
static void adjoint_in_block(int64_t n, int64_t width, const REAL *d, REAL *d_bar) {
  for (int64_t j = width - 1; j >= 0; j--) {
    const REAL *row = d + j * n, pivot = row[j];
    REAL *row_bar = d_bar + j * n, sum = row_bar[j];
    for (int64_t i = j + 1; i < width; i++) {
      d_bar[i * n + j] /= pivot;
      sum -= d_bar[i * n + j] * d[i * n + j];
    }
    sum /= pivot;
    add_scaled(j, -sum, row, row_bar);
    for (int64_t i = j + 1; i < width; i++) {
      add_scaled(j, -d_bar[i * n + j], d + i * n, row_bar);
      add_scaled(j, -d_bar[i * n + j], row, d_bar + i * n);
    }
    row_bar[j] = sum / 2;
  }
}

// A_bar from L and L_bar, both lower triangles: the blocks of the factorisation backwards. Of a diagonal block D, R
// stands to the left, C below, and B to the left of C.
KERNEL_FUNCTION(cholesky_adjoint)(const int64_t *sizes, const void *const *in, void *const *out) {
  const int64_t n = sizes[0];
  const REAL *l = in[0];
  REAL *bar = out[0], both[BLOCK * BLOCK];
  copy(n * n, in[1], bar);
  for (int64_t end = n; end > 0; end -= BLOCK) {
    const int64_t j = end > BLOCK ? end - BLOCK : 0, width = end - j, below = n - end;
    const REAL *r = l + j * n, *d = r + j, *b = l + end * n, *c = b + j;
    REAL *r_bar = bar + j * n, *d_bar = r_bar + j, *b_bar = bar + end * n, *c_bar = b_bar + j;
    for (int64_t i = 0; i < below; i++) // c_bar becomes c_bar D^-1
      for (int64_t q = width - 1; q >= 0; q--) {
        c_bar[i * n + q] /= d[q * n + q];
        add_scaled(q, -c_bar[i * n + q], d + q * n, c_bar + i * n);
      }
    add_product(below, j, width, -1, c_bar, n, 1, r, n, b_bar, n);
    add_product(width, width, below, -1, c_bar, 1, n, c, n, d_bar, n);
    adjoint_in_block(n, width, d, d_bar);
    for (int64_t i = 0; i < width; i++)
      for (int64_t q = 0; q <= i; q++) {
        const REAL x = d_bar[i * n + q];
        both[i * width + q] = both[q * width + i] = i == q ? 2 * x : x;
      }
    add_product(width, j, below, -1, c_bar, 1, n, b, n, r_bar, n);
    add_product(width, j, width, -1, both, width, 1, r, n, r_bar, n);
  }
  for (int64_t i = 0; i < n; i++)
    fill(n - i - 1, 0, bar + i * n + i + 1);
}

// -- Triangles -------------------------------------------------------------------------------------------------------

// Rows of x: x_i = (x_i - sum over those before in the order of solving) / t_ii, within a block.
static void solve_block(int64_t first, int64_t last, int step, int64_t m, const REAL *t, int64_t tr, int64_t tc,
                        int unit, REAL *x) {
  for (int64_t i = first; i != last; i += step) {
    for (int64_t p = first; p != i; p += step)
      add_scaled(m, -t[i * tr + p * tc], x + p * m, x + i * m);
    if (!unit)
      for (int64_t j = 0; j < m; j++)
        x[i * m + j] /= t[i * tr + i * tc];
  }
}

// T x = x in place, for m right sides; element (i, p) of T is t[i * tr + p * tc].
static void solve_lower(int64_t n, int64_t m, const REAL *t, int64_t tr, int64_t tc, int unit, REAL *x) {
  for (int64_t i = 0; i < n; i += BLOCK) {
    const int64_t end = i + BLOCK < n ? i + BLOCK : n;
    add_product(end - i, m, i, -1, t + i * tr, tr, tc, x, m, x + i * m, m);
    solve_block(i, end, 1, m, t, tr, tc, unit, x);
  }
}

static void solve_upper(int64_t n, int64_t m, const REAL *t, int64_t tr, int64_t tc, int unit, REAL *x) {
  for (int64_t end = n; end > 0; end -= BLOCK) {
    const int64_t i = end > BLOCK ? end - BLOCK : 0;
    add_product(end - i, m, n - end, -1, t + i * tr + end * tc, tr, tc, x + end * m, m, x + i * m, m);
    solve_block(end - 1, i - 1, -1, m, t, tr, tc, unit, x);
  }
}

KERNEL_FUNCTION(triangular)(const int64_t *sizes, const void *const *in, void *const *out) {
  const int64_t n = sizes[0], m = sizes[1];
  const REAL *t = in[0];
  const int upper = *(const uint8_t *)in[2], transposed = *(const uint8_t *)in[3], unit = *(const uint8_t *)in[4];
  REAL *x = out[0];
  int64_t *info = out[1];
  *info = 0;
  copy(n * m, in[1], x);
  for (int64_t i = 0; i < n && !unit; i++)
    if (t[i * n + i] == 0)
      *info = i + 1;
  if (!upper == !transposed)
    solve_lower(n, m, t, transposed ? 1 : n, transposed ? n : 1, unit, x);
  else
    solve_upper(n, m, t, transposed ? 1 : n, transposed ? n : 1, unit, x);
}

// -- LU --------------------------------------------------------------------------------------------------------------

static void swap_index(int64_t *x, int64_t i, int64_t j) {
  const int64_t old = x[i];
  x[i] = x[j];
  x[j] = old;
}

// Columns from j to end - 1; rows are swapped as a whole. 1 + the first column without a pivot, or info as it was.
static int64_t lu_panel(int64_t n, int64_t j, int64_t end, REAL *a, int64_t *rows, int64_t *sign, int64_t info) {
  for (int64_t q = j; q < end; q++) {
    int64_t best = q;
    for (int64_t i = q + 1; i < n; i++)
      if (ABS(a[i * n + q]) > ABS(a[best * n + q]))
        best = i;
    if (best != q) {
      swap_rows(n, a + q * n, a + best * n);
      swap_index(rows, q, best);
      *sign = -*sign;
    }
    const REAL pivot = a[q * n + q];
    if (pivot == 0) {
      info = info ? info : q + 1;
      continue; // the column below is 0 as well
    }
    for (int64_t i = q + 1; i < n; i++) {
      a[i * n + q] /= pivot;
      add_scaled(end - q - 1, -a[i * n + q], a + q * n + q + 1, a + i * n + q + 1);
    }
  }
  return info;
}

// A with its rows in the order `rows` becomes L U: L below the diagonal, with ones on it, U on and above.
static int64_t lu_factor(int64_t n, REAL *a, int64_t *rows, int64_t *sign) {
  int64_t info = 0;
  *sign = 1;
  for (int64_t i = 0; i < n; i++)
    rows[i] = i;
  for (int64_t j = 0; j < n; j += BLOCK) {
    const int64_t end = j + BLOCK < n ? j + BLOCK : n;
    info = lu_panel(n, j, end, a, rows, sign, info);
    for (int64_t i = j + 1; i < end; i++)
      for (int64_t p = j; p < i; p++)
        add_scaled(n - end, -a[i * n + p], a + p * n + end, a + i * n + end);
    add_product(n - end, n - end, end - j, -1, a + end * n + j, n, 1, a + j * n + end, n, a + end * n + end, n);
  }
  return info;
}

KERNEL_FUNCTION(lu)(const int64_t *sizes, const void *const *in, void *const *out) {
  const int64_t n = sizes[0];
  copy(n * n, in[0], out[0]);
  *(int64_t *)out[3] = lu_factor(n, out[0], out[1], out[2]);
}

KERNEL_FUNCTION(lu_solve)(const int64_t *sizes, const void *const *in, void *const *out) {
  const int64_t n = sizes[0], m = sizes[1];
  const REAL *f = in[0], *b = in[2];
  const int64_t *rows = in[1];
  const int transposed = *(const uint8_t *)in[3];
  REAL *x = out[0], *y = out[1];
  if (!transposed) {
    for (int64_t i = 0; i < n; i++)
      copy(m, b + rows[i] * m, x + i * m);
    solve_lower(n, m, f, n, 1, 1, x);
    solve_upper(n, m, f, n, 1, 0, x);
    return;
  }
  copy(n * m, b, y);
  solve_lower(n, m, f, 1, n, 0, y);
  solve_upper(n, m, f, 1, n, 1, y);
  for (int64_t i = 0; i < n; i++)
    copy(m, y + i * m, x + rows[i] * m);
}

// -- Complete pivoting -----------------------------------------------------------------------------------------------

// The orders of rows and columns in which each pivot is the largest number left: what has no rank comes last.
KERNEL_FUNCTION(pivots)(const int64_t *sizes, const void *const *in, void *const *out) {
  const int64_t n = sizes[0];
  int64_t *rows = out[0], *columns = out[1], *sign = out[2];
  REAL *a = out[3];
  copy(n * n, in[0], a);
  *sign = 1;
  for (int64_t i = 0; i < n; i++)
    rows[i] = columns[i] = i;
  for (int64_t k = 0; k < n; k++) {
    int64_t r = k, c = k;
    for (int64_t i = k; i < n; i++)
      for (int64_t j = k; j < n; j++)
        if (ABS(a[i * n + j]) > ABS(a[r * n + c])) {
          r = i;
          c = j;
        }
    if (r != k) {
      swap_rows(n, a + r * n, a + k * n);
      swap_index(rows, r, k);
      *sign = -*sign;
    }
    if (c != k) {
      for (int64_t i = 0; i < n; i++) {
        const REAL old = a[i * n + c];
        a[i * n + c] = a[i * n + k];
        a[i * n + k] = old;
      }
      swap_index(columns, c, k);
      *sign = -*sign;
    }
    if (a[k * n + k] == 0)
      return;
    for (int64_t i = k + 1; i < n; i++)
      add_scaled(n - k - 1, -a[i * n + k] / a[k * n + k], a + k * n + k + 1, a + i * n + k + 1);
  }
}
