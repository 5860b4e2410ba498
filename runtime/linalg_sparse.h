// Sparse matrices: entries in any order, of which several may be at one place, into compressed rows. Part of linalg.h.

// Orders a row by columns; entries of one column keep their order. `work`: as much room again.
static void csr_insert(int64_t n, int32_t *col, REAL *val) {
  for (int64_t i = 1; i < n; i++) {
    const int32_t c = col[i];
    const REAL v = val[i];
    int64_t j = i;
    for (; j > 0 && col[j - 1] > c; j--) {
      col[j] = col[j - 1];
      val[j] = val[j - 1];
    }
    col[j] = c;
    val[j] = v;
  }
}

static void csr_merge(int64_t half, int64_t n, const int32_t *col, const REAL *val, int32_t *to, REAL *to_val) {
  for (int64_t k = 0, i = 0, j = half; k < n; k++) {
    const int64_t from = j >= n || (i < half && col[i] <= col[j]) ? i++ : j++;
    to[k] = col[from];
    to_val[k] = val[from];
  }
}

static void csr_sort(int64_t n, int32_t *col, REAL *val, int32_t *work, REAL *work_val) {
  enum { SHORT = 24 };
  int64_t i = 1;
  while (i < n && col[i - 1] <= col[i])
    i++;
  if (i >= n)
    return;
  for (int64_t at = 0; at < n; at += SHORT)
    csr_insert(n - at < SHORT ? n - at : SHORT, col + at, val + at);
  for (int64_t width = SHORT; width < n; width *= 2) {
    for (int64_t at = 0; at < n; at += 2 * width) {
      const int64_t rest = n - at, both = rest < 2 * width ? rest : 2 * width;
      csr_merge(rest < width ? rest : width, both, col + at, val + at, work + at, work_val + at);
    }
    memcpy(col, work, sizeof *col * (size_t)n);
    memcpy(val, work_val, sizeof *val * (size_t)n);
  }
}

// Adds up what is at one place of a row that has been sorted and stands from `from` to before `to`; the row is moved to
// begin at `used`. Where it ends then.
static int32_t csr_add_up(int32_t used, int64_t from, int64_t to, int32_t *col, REAL *val) {
  const int32_t first = used;
  for (int64_t k = from; k < to; k++)
    if (used > first && col[used - 1] == col[k]) {
      val[used - 1] += val[k];
    } else {
      col[used] = col[k];
      val[used++] = val[k];
    }
  return used;
}

// Rows of at most so many entries are searched for the place of each entry; longer ones are sorted.
enum { CSR_SHORT = 64 };

// Puts entries, of which those with a column below 0 are none, into the row that begins at `used` and whose columns
// rise; where it ends then. An entry at a place that is there already is added. For few entries.
static int32_t csr_put(int32_t used, int64_t n, const int32_t *column, const REAL *value, int32_t *col, REAL *val) {
  int32_t end = used;
  for (int64_t k = 0; k < n; k++) {
    const int32_t c = column[k];
    if (c < 0)
      continue;
    int32_t at = end;
    while (at > used && col[at - 1] > c)
      at--;
    if (at > used && col[at - 1] == c) {
      val[at - 1] += value[k];
      continue;
    }
    for (int32_t j = end++; j > at; j--) {
      col[j] = col[j - 1];
      val[j] = val[j - 1];
    }
    col[at] = c;
    val[at] = value[k];
  }
  return end;
}

// Rows of equally many entries (column, value) each, of which those with a column below 0 are none; what comes out is
// as below.
KERNEL_FUNCTION(csr_rows)(const int64_t *sizes, const void *const *in, void *const *out) {
  const int64_t n = sizes[0], rows = sizes[1] - 1, room = sizes[2];
  const int32_t *column = in[0];
  const REAL *value = in[1];
  int32_t *ptr = out[0], *col = out[1], *work = out[3], used = 0;
  REAL *val = out[2], *work_val = out[4];
  for (int64_t i = 0; i < rows; i++) {
    ptr[i] = used;
    if (room <= CSR_SHORT) {
      used = csr_put(used, room, column + i * room, value + i * room, col, val);
      continue;
    }
    int64_t to = used;
    for (int64_t k = i * room; k < (i + 1) * room; k++)
      if (column[k] >= 0) {
        col[to] = column[k];
        val[to++] = value[k];
      }
    csr_sort(to - used, col + used, val + used, work, work_val);
    used = csr_add_up(used, used, to, col, val);
  }
  ptr[rows] = used;
  memset(col + used, 0, sizeof *col * (size_t)(n - used));
  memset(val + used, 0, sizeof *val * (size_t)(n - used));
}

// Writes entries to their rows, whose beginnings are in `ptr`, in the order in which they come; those at a place that
// is there already are added in short rows. `end`: where each row ends then.
static void csr_scatter(int64_t n, const int32_t *row, const int32_t *column, const REAL *value, const int32_t *ptr,
                        int32_t *end, int32_t *col, REAL *val) {
  for (int64_t k = 0; k < n; k++) {
    const int32_t c = column[k];
    if (c < 0)
      continue;
    const int32_t r = row[k], first = ptr[r], last = end[r];
    int32_t at = ptr[r + 1] - first <= CSR_SHORT ? first : last;
    while (at < last && col[at] != c)
      at++;
    if (at < last) {
      val[at] += value[k];
      continue;
    }
    col[at] = c;
    val[at] = value[k];
    end[r] = at + 1;
  }
}

// Entries (row, column, value), of which those with a column below 0 are none. Out come the rows' beginnings, columns
// and values, columns rising within a row, the entries at one place added up; what is left of the room is 0.
KERNEL_FUNCTION(csr)(const int64_t *sizes, const void *const *in, void *const *out) {
  const int64_t n = sizes[0], rows = sizes[1] - 1;
  const int32_t *row = in[0], *column = in[1];
  const REAL *value = in[2];
  int32_t *ptr = out[0], *col = out[1], *work = out[3], *end = out[5];
  REAL *val = out[2], *work_val = out[4];
  memset(ptr, 0, sizeof *ptr * (size_t)(rows + 1));
  for (int64_t k = 0; k < n; k++)
    if (column[k] >= 0)
      ptr[row[k]]++;
  int32_t sum = 0;
  for (int64_t i = 0; i <= rows; i++) {
    const int32_t here = ptr[i];
    end[i] = ptr[i] = sum;
    sum += here;
  }
  csr_scatter(n, row, column, value, ptr, end, col, val);
  int32_t used = 0;
  for (int64_t i = 0; i < rows; i++) {
    const int64_t from = ptr[i], to = end[i];
    csr_sort(to - from, col + from, val + from, work + from, work_val + from);
    ptr[i] = used;
    used = csr_add_up(used, from, to, col, val);
  }
  ptr[rows] = used;
  memset(col + used, 0, sizeof *col * (size_t)(n - used));
  memset(val + used, 0, sizeof *val * (size_t)(n - used));
}
