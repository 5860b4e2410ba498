// The exponential of a matrix: Pade approximants with scaling and squaring, degrees and bounds as Higham gives them
// (The scaling and squaring method for the matrix exponential revisited, 2005). Part of linalg.h.

static REAL norm_1(int64_t n, const REAL *a) {
  REAL most = 0;
  for (int64_t j = 0; j < n; j++) {
    REAL sum = 0;
    for (int64_t i = 0; i < n; i++)
      sum += ABS(a[i * n + j]);
    most = sum > most || sum != sum ? sum : most;
  }
  return most;
}

static void add_diagonal(int64_t n, REAL x, REAL *a) {
  for (int64_t i = 0; i < n; i++)
    a[i * n + i] += x;
}

// Room for the powers of A and the two polynomials.
typedef struct Pade {
  int64_t n;
  const REAL *a;
  REAL *even[3]; // A^2, A^4, A^6
  REAL *u, *v, *free;
} Pade;

// u = A (odd coefficients), v = even coefficients, for degrees 3 to 9: powers of A^2 one after the other.
static void pade_low(const Pade *p, int degree, const double *b) {
  const int64_t n = p->n, nn = n * n;
  REAL *sum = p->free, *power = p->even[1], *next = p->even[2];
  fill(nn, 0, sum);
  fill(nn, 0, p->v);
  add_diagonal(n, (REAL)b[1], sum);
  add_diagonal(n, (REAL)b[0], p->v);
  copy(nn, p->even[0], power);
  for (int k = 2; k < degree; k += 2) {
    add_scaled(nn, (REAL)b[k + 1], power, sum);
    add_scaled(nn, (REAL)b[k], power, p->v);
    if (k + 2 < degree) {
      multiply(n, power, p->even[0], next);
      REAL *old = power;
      power = next;
      next = old;
    }
  }
  multiply(n, p->a, sum, p->u);
}

static void pade_13(const Pade *p, const double *b) {
  const int64_t n = p->n, nn = n * n;
  REAL *const *x = p->even;
  multiply(n, x[0], x[0], x[1]);
  multiply(n, x[1], x[0], x[2]);
  for (int odd = 1; odd >= 0; odd--) { // first the factor of A, in v, so that u can be made of it
    fill(nn, 0, p->free);
    for (int k = 0; k < 3; k++)
      add_scaled(nn, (REAL)b[8 + 2 * k + odd], x[k], p->free);
    multiply(n, x[2], p->free, p->v);
    for (int k = 0; k < 3; k++)
      add_scaled(nn, (REAL)b[2 + 2 * k + odd], x[k], p->v);
    add_diagonal(n, (REAL)b[odd], p->v);
    if (odd)
      multiply(n, p->a, p->v, p->u);
  }
}

typedef struct Approximant {
  int degree;
  double bounds[2]; // norms up to which it will do: f32, f64
  double b[14];
} Approximant;

// The approximant for a matrix of this norm; its bound is the norm to scale a larger one down to.
static const Approximant *approximant_for(REAL size) {
  static const Approximant table[] = {
      {3, {4.258730034897931e-1, 1.495585217958292e-2}, {120, 60, 12, 1}},
      {5, {1.880152677804762, 2.539398330063230e-1}, {30240, 15120, 3360, 420, 30, 1}},
      {7, {3.925724846433276, 9.504178996162932e-1}, {17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1}},
      {9,
       {0, 2.097847961257068},
       {17643225600., 8821612800., 2075673600., 302702400., 30270240., 2162160., 110880., 3960., 90., 1.}},
      {13,
       {0, 5.371920351148152},
       {64764752532480000., 32382376266240000., 7771770303897600., 1187353796428800., 129060195264000., 10559470521600.,
        670442572800., 33522128640., 1323241920., 40840800., 960960., 16380., 182., 1.}},
  };
  const int is_double = sizeof(REAL) == 8, last = is_double ? 4 : 2;
  int i = 0;
  while (i < last && (double)size > table[i].bounds[is_double])
    i++;
  return &table[i];
}

static void pade(const Pade *p, const Approximant *by) {
  double b[14]; // scaled so that the size of the first does no harm in f32
  for (int k = 0; k <= by->degree; k++)
    b[k] = by->b[k] / by->b[0];
  multiply(p->n, p->a, p->a, p->even[0]);
  if (by->degree == 13)
    pade_13(p, b);
  else
    pade_low(p, by->degree, b);
}

KERNEL_FUNCTION(expm)(const int64_t *sizes, const void *const *in, void *const *out) {
  const int64_t n = sizes[0], nn = n * n;
  REAL *x = out[0], *work = out[1];
  const REAL *given = in[0];
  int64_t *rows = out[2], sign;
  REAL size = norm_1(n, given);
  int squarings = 0;
  if (!isfinite((double)size)) {
    fill(nn, NAN, x);
    return;
  }
  const Approximant *by = approximant_for(size);
  const double limit = by->bounds[sizeof(REAL) == 8];
  if ((double)size > limit)
    (void)frexp((double)size / limit, &squarings);
  const REAL scale = (REAL)ldexp(1, -squarings);
  for (int64_t i = 0; i < nn; i++)
    x[i] = given[i] * scale;
  const Pade p = {.n = n,
                  .a = x,
                  .even = {work, work + nn, work + 2 * nn},
                  .u = work + 3 * nn,
                  .v = work + 4 * nn,
                  .free = work + 5 * nn};
  pade(&p, by);
  for (int64_t i = 0; i < nn; i++) { // (v - u) x = v + u
    const REAL u = p.u[i], v = p.v[i];
    p.free[i] = v - u;
    p.u[i] = v + u;
  }
  (void)lu_factor(n, p.free, rows, &sign);
  for (int64_t i = 0; i < n; i++)
    copy(n, p.u + rows[i] * n, x + i * n);
  solve_lower(n, n, p.free, n, 1, 1, x);
  solve_upper(n, n, p.free, n, 1, 0, x);
  for (; squarings > 0; squarings--) {
    multiply(n, x, x, work);
    copy(nn, work, x);
  }
}
