/* The mixture of Gaussians on ADBench's files: the generated objective and gradient beside a gradient written by hand
   in straightforward C, compiled with -O3 -march=native.  usage: gmm FILE.. */
#include "gmm.h"
#include "bench.h"
#include <math.h>
#include <string.h>

typedef struct Mixture {
  int d, k, n, packed;
  double *alphas, *means, *icf, *x;
} Mixture;

/* Keeps Qx of each component of a point; one point at a time. */
static double by_hand(const Mixture *m, double *d_alphas, double *d_means, double *d_icf) {
  const int d = m->d, k = m->k, packed = m->packed;
  double *q = malloc(sizeof *q * (size_t)(k * d)), *beta = malloc(sizeof *beta * (size_t)k), total = 0;
  double *diagonal = malloc(sizeof *diagonal * (size_t)(k * d)), *log_det = calloc((size_t)k, sizeof *log_det);
  double *back = malloc(sizeof *back * (size_t)d);
  memset(d_alphas, 0, sizeof *d_alphas * (size_t)k);
  memset(d_means, 0, sizeof *d_means * (size_t)(k * d));
  memset(d_icf, 0, sizeof *d_icf * (size_t)(k * packed));
  for (int a = 0; a < k; a++)
    for (int j = 0; j < d; j++) {
      diagonal[a * d + j] = exp(m->icf[a * packed + j]);
      log_det[a] += m->icf[a * packed + j];
    }
  for (int i = 0; i < m->n; i++) {
    const double *x = m->x + (long)i * d;
    double most = -INFINITY, sum = 0;
    for (int a = 0; a < k; a++) {
      const double *mean = m->means + a * d, *below = m->icf + a * packed + d;
      double *qa = q + a * d, square = 0;
      for (int r = 0; r < d; r++)
        qa[r] = diagonal[a * d + r] * (x[r] - mean[r]);
      for (int c = 0; c < d; c++)
        for (int r = c + 1; r < d; r++)
          qa[r] += *below++ * (x[c] - mean[c]);
      for (int r = 0; r < d; r++)
        square += qa[r] * qa[r];
      beta[a] = m->alphas[a] + log_det[a] - 0.5 * square;
      most = beta[a] > most ? beta[a] : most;
    }
    for (int a = 0; a < k; a++)
      sum += exp(beta[a] - most);
    total += most + log(sum);
    for (int a = 0; a < k; a++) {
      const double w = exp(beta[a] - most) / sum, *mean = m->means + a * d, *below = m->icf + a * packed + d;
      double *d_a = d_icf + a * packed, *d_below = d_a + d;
      d_alphas[a] += w;
      for (int r = 0; r < d; r++) {
        const double g = -w * q[a * d + r];
        d_a[r] += w + g * (x[r] - mean[r]) * diagonal[a * d + r];
        back[r] = g * diagonal[a * d + r];
      }
      for (int c = 0; c < d; c++)
        for (int r = c + 1; r < d; r++) {
          const double g = -w * q[a * d + r];
          *d_below++ += g * (x[c] - mean[c]);
          back[c] += g * *below++;
        }
      for (int r = 0; r < d; r++)
        d_means[a * d + r] -= back[r];
    }
  }
  free(q), free(beta), free(diagonal), free(log_det), free(back);
  return total;
}

static int read_mixture(Mixture *m, const char *path) {
  FILE *f = fopen(path, "r");
  if (!f || fscanf(f, "%d %d %d", &m->d, &m->k, &m->n) != 3)
    return 0;
  m->packed = m->d * (m->d + 1) / 2;
  m->alphas = bench_numbers(f, m->k);
  m->means = bench_numbers(f, (long)m->k * m->d);
  m->icf = bench_numbers(f, (long)m->k * m->packed);
  m->x = bench_numbers(f, (long)m->n * m->d);
  fclose(f);
  return m->alphas && m->means && m->icf && m->x;
}

static double difference(const double *a, const double *b, long n) {
  double most = 0, size = 0;
  for (long i = 0; i < n; i++) {
    most = fmax(most, fabs(a[i] - b[i]));
    size = fmax(size, fabs(b[i]));
  }
  return most / (size > 0 ? size : 1);
}

static int compare(const char *path) {
  Mixture m;
  if (!read_mixture(&m, path)) {
    fprintf(stderr, "gmm: cannot read %s\n", path);
    return 1;
  }
  const long n[3] = {m.k, (long)m.k * m.d, (long)m.k * m.packed};
  double *g[2][3], value, times[3][BENCH_RUNS];
  for (int w = 0; w < 2; w++)
    for (int i = 0; i < 3; i++)
      g[w][i] = malloc(sizeof(double) * (size_t)n[i]);
  for (int r = 0; r < BENCH_RUNS; r++) {
    double start = bench_now();
    if (mixture(m.k, m.d, m.n, m.alphas, m.means, m.icf, m.x, &value))
      return 1;
    times[0][r] = bench_now() - start;
    start = bench_now();
    if (mixture_grad(m.k, m.d, m.n, m.alphas, m.means, m.icf, m.x, &value, g[0][0], g[0][1], g[0][2]))
      return 1;
    times[1][r] = bench_now() - start;
    start = bench_now();
    by_hand(&m, g[1][0], g[1][1], g[1][2]);
    times[2][r] = bench_now() - start;
  }
  double worst = 0, median[3];
  for (int i = 0; i < 3; i++) {
    worst = fmax(worst, difference(g[0][i], g[1][i], n[i]));
    median[i] = bench_median(times[i], BENCH_RUNS);
  }
  /* Two multiplications and additions for each element of Q in the objective, four more in the gradient. */
  const double terms = (double)m.n * m.k * m.packed;
  printf(
      "gmm d=%-3d k=%-4d n=%-6d objective %8.3f ms  gradient %8.3f ms (%.2f of the objective, %.1f GFLOP/s)  by hand "
      "%8.3f ms (%.2f times)  difference %.1e  workspace %ld\n",
      m.d, m.k, m.n, median[0], median[1], median[1] / median[0], 1e-6 * 8 * terms / median[1], median[2],
      median[2] / median[1], worst, (long)mixture_grad_worksize(m.k, m.d, m.n));
  return worst > 1e-9;
}

int main(int argc, char **argv) {
  int status = 0;
  for (int i = 1; i < argc; i++)
    status |= compare(argv[i]);
  return status;
}
