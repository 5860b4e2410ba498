// What LAPACK and BLAS do faster from some size on, where the program is linked with them. Part of linalg.h.
//
// Their functions are weak symbols: libgradc.a never needs them, and each caller asks by `linked_..` first. They are
// Fortran's, with 32-bit integers, by columns: a row-major matrix is to them its transpose, and no matrix is transposed
// here. Lengths of character arguments follow at the end, as Fortran compilers expect. What does not fit their integers
// is left to the kernels' own code, as is what is smaller than the crossovers (docs/linalg.md says where these come
// from).
//
// How many threads they use is what gradc_set_threads says, one until it is called.
#if defined(__ELF__) && defined(__GNUC__)
#define MAY_BE_LINKED 1
#endif

enum { GEMM_FROM = 96, POTRF_FROM = 64, QR_FROM = 96, EIGH_FROM = 96, SVD_FROM = 24, LAPACK_BLOCK = 32 };

#ifdef MAY_BE_LINKED
#define WEAK __attribute__((weak))
typedef int Integer; // Fortran's
extern void LAPACK(gemm)(const char *, const char *, const Integer *, const Integer *, const Integer *, const REAL *,
                         const REAL *, const Integer *, const REAL *, const Integer *, const REAL *, REAL *,
                         const Integer *, size_t, size_t) WEAK;
extern void LAPACK(potrf)(const char *, const Integer *, REAL *, const Integer *, Integer *, size_t) WEAK;
extern void LAPACK(gelqf)(const Integer *, const Integer *, REAL *, const Integer *, REAL *, REAL *, const Integer *,
                          Integer *) WEAK;
extern void LAPACK(orglq)(const Integer *, const Integer *, const Integer *, REAL *, const Integer *, const REAL *,
                          REAL *, const Integer *, Integer *) WEAK;
extern void LAPACK(syevd)(const char *, const char *, const Integer *, REAL *, const Integer *, REAL *, REAL *,
                          const Integer *, Integer *, const Integer *, Integer *, size_t, size_t) WEAK;
extern void LAPACK(gesdd)(const char *, const Integer *, const Integer *, REAL *, const Integer *, REAL *, REAL *,
                          const Integer *, REAL *, const Integer *, REAL *, const Integer *, Integer *, Integer *,
                          size_t) WEAK;

// OpenBLAS's and MKL's numbers of threads. Those of this thread alone are put back after the call; the older OpenBLAS
// has one number for the process, which is lowered and stays so, for putting it back would race with other callers.
extern int openblas_set_num_threads_local(int) WEAK;
extern void openblas_set_num_threads(int) WEAK;
extern int openblas_get_num_threads(void) WEAK;
extern int mkl_set_num_threads_local(int) WEAK;

static int limit_threads(int count) {
  if (openblas_set_num_threads_local)
    return openblas_set_num_threads_local(count);
  if (mkl_set_num_threads_local)
    return mkl_set_num_threads_local(count);
  if (openblas_set_num_threads && openblas_get_num_threads && count && openblas_get_num_threads() != count)
    openblas_set_num_threads(count);
  return 0;
}

static int fits(int64_t n) {
  return n <= INT32_MAX;
}

// C += alpha op(A) op(B) by rows, where it is large: op transposes where `ta`, `tb` are set. 0: not done.
static int linked_product(int64_t m, int64_t n, int64_t k, REAL alpha, const REAL *a, int64_t lda, int ta,
                          const REAL *b, int64_t ldb, int tb, REAL *c, int64_t ldc) {
  const int64_t from = GEMM_FROM;
  if (!LAPACK(gemm) || (double)m * (double)n * (double)k < (double)(from * from * from) || m < 8 || n < 8 || k < 8 ||
      !fits(m) || !fits(n) || !fits(k) || !fits(lda) || !fits(ldb) || !fits(ldc))
    return 0;
  const Integer rows = (Integer)m, columns = (Integer)n, depth = (Integer)k;
  const Integer a_step = (Integer)lda, b_step = (Integer)ldb, c_step = (Integer)ldc;
  const REAL one = 1;
  const int before = limit_threads(gradc_rt_threads());
  LAPACK(gemm)(tb ? "T" : "N", ta ? "T" : "N", &columns, &rows, &depth, &alpha, b, &b_step, a, &a_step, &one, c,
               &c_step, 1, 1);
  limit_threads(before);
  return 1;
}

// L, whose lower triangle holds the matrix, in place. -1: not done; else as the kernel's info.
static int64_t linked_cholesky(int64_t n, REAL *l) {
  if (n < POTRF_FROM || !LAPACK(potrf) || !fits(n))
    return -1;
  const Integer size = (Integer)n;
  Integer info = 0;
  const int before = limit_threads(gradc_rt_threads());
  LAPACK(potrf)("U", &size, l, &size, &info, 1);
  limit_threads(before);
  for (int64_t i = 0; !info && i < n; i++) // not all of them see a NaN
    if (!(l[i * n + i] > 0) || isinf((double)l[i * n + i]))
      return i + 1;
  return info < 0 ? 1 : info;
}

// Q in place of the n x m matrix and the upper triangle of R, n >= m. work: m + LAPACK_BLOCK m. 0: not done.
static int linked_qr(int64_t n, int64_t m, REAL *q, REAL *r, REAL *work) {
  if (m < QR_FROM || !LAPACK(gelqf) || !LAPACK(orglq) || !fits(n) || !fits(m * LAPACK_BLOCK))
    return 0;
  const Integer rows = (Integer)m, columns = (Integer)n, room = (Integer)(m * LAPACK_BLOCK);
  Integer info = 0;
  const int before = limit_threads(gradc_rt_threads());
  LAPACK(gelqf)(&rows, &columns, q, &rows, work, work + m, &room, &info);
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < m; j++)
      r[i * m + j] = j < i ? 0 : q[i * m + j];
  LAPACK(orglq)(&rows, &columns, &rows, q, &rows, work, work + m, &room, &info);
  limit_threads(before);
  return 1;
}

// Of the symmetric matrix in z: values rising, vectors in the rows of z. By dsyevd, for the quicker dsyevr leaves
// vectors less orthogonal than derivatives want them. work: 3 n n, whole: 8 n. -1: not done; else as the kernel's info.
static int64_t linked_eigh(int64_t n, REAL *d, REAL *z, REAL *work, REAL *whole) {
  if (n < EIGH_FROM || !LAPACK(syevd) || !fits(3 * n * n))
    return -1;
  const Integer size = (Integer)n, room = (Integer)(3 * n * n), whole_room = (Integer)(8 * n);
  Integer info = 0;
  const int before = limit_threads(gradc_rt_threads());
  LAPACK(syevd)("V", "U", &size, z, &size, d, work, &room, (Integer *)whole, &whole_room, &info, 1, 1);
  limit_threads(before);
  return info != 0;
}

// U in place of the n x m matrix, n >= m, s falling, V^T in the rows of vt. work: 6 m m, whole: 8 m. -1: not done; else
// as the kernel's info.
static int64_t linked_svd(int64_t n, int64_t m, REAL *u, REAL *s, REAL *vt, REAL *work, REAL *whole) {
  if (m < SVD_FROM || !LAPACK(gesdd) || n > 6 * m * m - 3 * m || !fits(6 * m * m))
    return -1;
  const Integer rows = (Integer)m, columns = (Integer)n, room = (Integer)(6 * m * m);
  Integer info = 0;
  if (n == m) // LAPACK overwrites a square matrix with what is V here
    copy(n * m, u, vt);
  const int before = limit_threads(gradc_rt_threads());
  if (n == m)
    LAPACK(gesdd)("O", &rows, &columns, vt, &rows, s, NULL, &rows, u, &rows, work, &room, (Integer *)whole, &info, 1);
  else
    LAPACK(gesdd)("O", &rows, &columns, u, &rows, s, vt, &rows, NULL, &rows, work, &room, (Integer *)whole, &info, 1);
  limit_threads(before);
  return info != 0;
}
#else
#define linked_product(...) 0
#define linked_cholesky(n, l) ((int64_t)-1)
#define linked_qr(...) 0
#define linked_eigh(...) ((int64_t)-1)
#define linked_svd(...) ((int64_t)-1)
#endif
