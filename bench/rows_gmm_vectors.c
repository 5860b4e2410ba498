/* The mixture of ten dimensions again, beside a gradient written by hand for this size and this processor: two vectors
   of points at a time, all loops over dimensions unrolled, sums over points in vectors, the linear map of a component
   taken out of the sum over points, an exponential of its own.  What one gets from days of work instead of minutes:
   the mark for the compiler.  Sizes: d = 10, k, n; n a multiple of a block. */
#include "gmm.h"
#include "row.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef __AVX512F__
enum { LANES = 8 };
#else
enum { LANES = 4 };
#endif
typedef double Vector __attribute__((vector_size(LANES * sizeof(double))));
typedef int64_t Whole __attribute__((vector_size(LANES * sizeof(double))));

enum { ALPHA, MU, Q, L, X };
enum { D = 10, BELOW = D * (D - 1) / 2, PAIR = 2, BLOCK = PAIR * LANES, MOST_K = 64 };
#define EACH(i, from, n) _Pragma("GCC unroll 10") for (int i = (from); i < (n); i++)
#define EACH_OF_PAIR(v) _Pragma("GCC unroll 2") for (int v = 0; v < PAIR; v++)
#define INLINE static inline __attribute__((always_inline))

/* Of what a component adds up: its weights, and the sums over points that its slopes are made of. */
typedef struct Sums {
  Vector weight, first[D], diagonal[D], below[BELOW];
} Sums;

typedef struct Block { /* of points */
  Vector x[PAIR][D];
  Vector log_density[MOST_K][PAIR], y[MOST_K][PAIR][D]; /* then weights; Q (x - mu) */
} Block;

INLINE Vector all(double x) {
  return x - (Vector){0};
}

INLINE Vector larger(Vector x, Vector y) {
  const Whole more = x > y;
  return (Vector)((more & (Whole)x) | (~more & (Whole)y));
}

/* exp of x <= 0, 0 below -708: 2^n (1 + r + r^2/2 ..), n ln 2 + r = x, terms up to r^13. */
INLINE Vector exponential(Vector x) {
  static const double inverse[] = {0.5,           1.0 / 6,        1.0 / 24,        1.0 / 120,
                                   1.0 / 720,     1.0 / 5040,     1.0 / 40320,     1.0 / 362880,
                                   1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800};
  const Vector magic = all(0x1.8p52);
  x = larger(x, all(-708));
  const Vector t = x * 0x1.71547652b82fep0 + magic, n = t - magic;
  const Vector r = (x - n * 0x1.62e42fefa38p-1) - n * 0x1.ef35793c7673p-45, square = r * r, fourth = square * square;
  Vector even = all(inverse[8]) + square * inverse[10], odd = all(inverse[9]) + square * inverse[11];
  even = all(inverse[4]) + square * inverse[6] + fourth * even;
  odd = all(inverse[5]) + square * inverse[7] + fourth * odd;
  even = all(inverse[0]) + square * inverse[2] + fourth * even;
  odd = all(inverse[1]) + square * inverse[3] + fourth * odd;
  const Vector p = (r + square * (even + r * odd)) + 1.0;
  return (Vector)((Whole)p + ((Whole)t << 52));
}

/* Where (row r, column c) stands below the diagonal, column by column. */
INLINE int place(int c, int r) {
  return c * (2 * D - c - 1) / 2 + r - c - 1;
}

INLINE void centre(const Vector *x, const double *mu, Vector *to) {
  EACH(i, 0, D) to[i] = x[i] - all(mu[i]);
}

/* y = Q (x - mu); the square of its length. */
INLINE Vector form(const Vector *x, const double *mu, const double *scales, const double *below, Vector *y) {
  Vector off[D], even = {0}, odd = {0};
  centre(x, mu, off);
  EACH(i, 0, D) y[i] = scales[i] * off[i];
  EACH(c, 0, D) EACH(r, c + 1, D) y[r] += below[place(c, r)] * off[c];
  EACH(i, 0, D / 2) {
    even += y[2 * i] * y[2 * i];
    odd += y[2 * i + 1] * y[2 * i + 1];
  }
  return even + odd;
}

static void load(Block *b, const double *x) {
  for (int v = 0; v < PAIR; v++)
    for (int i = 0; i < D; i++)
      for (int lane = 0; lane < LANES; lane++)
        b->x[v][i][lane] = x[(v * LANES + lane) * D + i];
}

/* Densities of the block's points, then each component's share. */
static void share(const Row *row, const double *scales, const double *offset, Block *b) {
  const int k = (int)row->sizes[1];
  Vector most[PAIR], sum[PAIR] = {{0}};
  EACH_OF_PAIR(v) most[v] = all(-INFINITY);
  for (int a = 0; a < k; a++)
    EACH_OF_PAIR(v) {
      const Vector square =
          form(b->x[v], INPUT(row, double, MU) + a * D, scales + a * D, INPUT(row, double, L) + a * BELOW, b->y[a][v]);
      b->log_density[a][v] = offset[a] - 0.5 * square;
      most[v] = larger(most[v], b->log_density[a][v]);
    }
  for (int a = 0; a < k; a++)
    EACH_OF_PAIR(v) {
      b->log_density[a][v] = exponential(b->log_density[a][v] - most[v]);
      sum[v] += b->log_density[a][v];
    }
  EACH_OF_PAIR(v) sum[v] = 1.0 / sum[v];
  for (int a = 0; a < k; a++)
    EACH_OF_PAIR(v) b->log_density[a][v] *= sum[v];
}

/* y_bar (x - mu)^T, summed over points; Q^T y_bar is linear in it, and waits. */
static void add(const Row *row, const Block *b, int a, Sums *to) {
  Vector off[PAIR][D], y_bar[PAIR][D];
  EACH_OF_PAIR(v) {
    centre(b->x[v], INPUT(row, double, MU) + a * D, off[v]);
    to->weight += b->log_density[a][v];
    EACH(i, 0, D) y_bar[v][i] = -b->log_density[a][v] * b->y[a][v][i];
  }
  EACH(i, 0, D) EACH_OF_PAIR(v) {
    to->first[i] += y_bar[v][i];
    to->diagonal[i] += y_bar[v][i] * off[v][i];
  }
  EACH(c, 0, D) EACH(r, c + 1, D) EACH_OF_PAIR(v) to->below[place(c, r)] += y_bar[v][r] * off[v][c];
}

static double over_lanes(Vector x) {
  double sum = 0;
  for (int lane = 0; lane < LANES; lane++)
    sum += x[lane];
  return sum;
}

/* With the prior (gamma = 1, m = 1) and -n logsumexp(alpha). */
static void finish(const Row *row, const double *scales, const Sums *sums, void *const *to) {
  const int64_t k = row->sizes[1], n = row->sizes[2];
  double most = -INFINITY, sum = 0, first[D];
  for (int64_t a = 0; a < k; a++)
    most = fmax(most, INPUT(row, double, ALPHA)[a]);
  for (int64_t a = 0; a < k; a++)
    sum += exp(INPUT(row, double, ALPHA)[a] - most);
  for (int64_t a = 0; a < k; a++) {
    const double *below = INPUT(row, double, L) + a * BELOW, weight = over_lanes(sums[a].weight);
    double *d_mu = (double *)to[MU] + a * D, *d_below = (double *)to[L] + a * BELOW;
    ((double *)to[ALPHA])[a] = weight - (double)n * exp(INPUT(row, double, ALPHA)[a] - most) / sum;
    for (int i = 0; i < D; i++) {
      const double scale = scales[a * D + i];
      first[i] = over_lanes(sums[a].first[i]);
      ((double *)to[Q])[a * D + i] = weight + over_lanes(sums[a].diagonal[i]) * scale + 1 - scale * scale;
      d_mu[i] = -first[i] * scale;
    }
    for (int c = 0; c < D; c++)
      for (int r = c + 1; r < D; r++) {
        d_below[place(c, r)] = over_lanes(sums[a].below[place(c, r)]) - below[place(c, r)];
        d_mu[c] -= first[r] * below[place(c, r)];
      }
  }
}

static int in_vectors(const Row *row, void *const *to) {
  static Block block;
  static Sums sums[MOST_K];
  static double scales[MOST_K * D], offset[MOST_K];
  const int64_t k = row->sizes[1], n = row->sizes[2];
  memset(sums, 0, sizeof *sums * (size_t)k);
  for (int64_t a = 0; a < k; a++) {
    offset[a] = INPUT(row, double, ALPHA)[a];
    for (int64_t j = 0; j < D; j++) {
      scales[a * D + j] = exp(INPUT(row, double, Q)[a * D + j]);
      offset[a] += INPUT(row, double, Q)[a * D + j];
    }
  }
  for (int64_t i = 0; i < n; i += BLOCK) {
    load(&block, INPUT(row, double, X) + i * D);
    share(row, scales, offset, &block);
    for (int a = 0; a < k; a++)
      add(row, &block, a, &sums[a]);
  }
  finish(row, scales, sums, to);
  return 0;
}

static int objective(const Row *row) {
  double value;
  return gmm_of_ten(row->sizes[1], row->sizes[2], INPUT(row, double, ALPHA), INPUT(row, double, MU),
                    INPUT(row, double, Q), INPUT(row, double, L), INPUT(row, double, X), 1, 1.0, &value);
}

static int derivative(const Row *row, void *const *to) {
  return gmm_of_ten_grad(row->sizes[1], row->sizes[2], INPUT(row, double, ALPHA), INPUT(row, double, MU),
                         INPUT(row, double, Q), INPUT(row, double, L), INPUT(row, double, X), 1, 1.0, to[0], to[1],
                         to[2], to[3]);
}

void build_gmm(Row *row);
void build_gmm_vectors(Row *row);
void build_gmm_vectors(Row *row) {
  if (row->sizes[0] != D || row->sizes[1] > MOST_K || row->sizes[2] % BLOCK)
    abort();
  build_gmm(row);
  row->objective = objective;
  row->derivative = derivative;
  row->by_hand = in_vectors;
}
