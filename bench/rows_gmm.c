/* The mixture of Gaussians, beside a gradient written by hand in straightforward C: one point at a time, Qx of each
   component kept. Sizes: d, k, n. */
#include "gmm.h"
#include "row.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ALPHA, MU, Q, L, X };
static const int64_t wishart_m = 1;
static const double wishart_gamma = 1.0;

typedef struct Point {
  double *y, *beta, *back; /* Qx of each component; its share of the density; the bar of one component's Qx times Q */
} Point;

static void clear(const Row *row, void *const *to) {
  for (int i = 0; i < row->output_count; i++)
    memset(to[i], 0, array_bytes(&row->outputs[i]));
}

static void densities(const Row *row, const double *x, const double *scales, const double *log_det, Point *p) {
  const int64_t d = row->sizes[0], k = row->sizes[1];
  for (int64_t a = 0; a < k; a++) {
    const double *mu = INPUT(row, double, MU) + a * d, *below = INPUT(row, double, L) + a * (d * (d - 1) / 2);
    double *y = p->y + a * d, square = 0;
    for (int64_t r = 0; r < d; r++)
      y[r] = scales[a * d + r] * (x[r] - mu[r]);
    for (int64_t c = 0; c < d; c++)
      for (int64_t r = c + 1; r < d; r++)
        y[r] += *below++ * (x[c] - mu[c]);
    for (int64_t r = 0; r < d; r++)
      square += y[r] * y[r];
    p->beta[a] = INPUT(row, double, ALPHA)[a] + log_det[a] - 0.5 * square;
  }
}

static void add_slopes(const Row *row, const double *x, const double *scales, Point *p, void *const *to) {
  const int64_t d = row->sizes[0], k = row->sizes[1];
  double most = -INFINITY, sum = 0;
  for (int64_t a = 0; a < k; a++)
    most = p->beta[a] > most ? p->beta[a] : most;
  for (int64_t a = 0; a < k; a++)
    sum += exp(p->beta[a] - most);
  for (int64_t a = 0; a < k; a++) {
    const double w = exp(p->beta[a] - most) / sum, *y = p->y + a * d, *mu = INPUT(row, double, MU) + a * d;
    const double *below = INPUT(row, double, L) + a * (d * (d - 1) / 2);
    double *d_below = (double *)to[L] + a * (d * (d - 1) / 2);
    ((double *)to[ALPHA])[a] += w;
    for (int64_t r = 0; r < d; r++) {
      const double y_bar = -w * y[r];
      ((double *)to[Q])[a * d + r] += w + y_bar * (x[r] - mu[r]) * scales[a * d + r];
      p->back[r] = y_bar * scales[a * d + r];
    }
    for (int64_t c = 0; c < d; c++)
      for (int64_t r = c + 1; r < d; r++) {
        const double y_bar = -w * y[r];
        *d_below++ += y_bar * (x[c] - mu[c]);
        p->back[c] += y_bar * *below++;
      }
    for (int64_t r = 0; r < d; r++)
      ((double *)to[MU])[a * d + r] -= p->back[r];
  }
}

static void add_prior(const Row *row, const double *scales, void *const *to) {
  const int64_t d = row->sizes[0], k = row->sizes[1], n = row->sizes[2];
  const double *alpha = INPUT(row, double, ALPHA), *l = INPUT(row, double, L);
  double most = -INFINITY, sum = 0;
  for (int64_t a = 0; a < k; a++)
    most = alpha[a] > most ? alpha[a] : most;
  for (int64_t a = 0; a < k; a++)
    sum += exp(alpha[a] - most);
  for (int64_t a = 0; a < k; a++)
    ((double *)to[ALPHA])[a] -= (double)n * exp(alpha[a] - most) / sum;
  for (int64_t i = 0; i < k * d; i++)
    ((double *)to[Q])[i] += (double)wishart_m - wishart_gamma * wishart_gamma * scales[i] * scales[i];
  for (int64_t i = 0; i < k * (d * (d - 1) / 2); i++)
    ((double *)to[L])[i] -= wishart_gamma * wishart_gamma * l[i];
}

static int by_hand(const Row *row, void *const *to) {
  const int64_t d = row->sizes[0], k = row->sizes[1], n = row->sizes[2];
  double *room = malloc(sizeof *room * (size_t)(2 * k * d + 2 * k + d));
  double *scales = room, *log_det = scales + k * d;
  Point p = {log_det + k, log_det + k + k * d, log_det + 2 * k + k * d};
  clear(row, to);
  for (int64_t a = 0; a < k; a++) {
    log_det[a] = 0;
    for (int64_t j = 0; j < d; j++) {
      scales[a * d + j] = exp(INPUT(row, double, Q)[a * d + j]);
      log_det[a] += INPUT(row, double, Q)[a * d + j];
    }
  }
  for (int64_t i = 0; i < n; i++) {
    const double *x = INPUT(row, double, X) + i * d;
    densities(row, x, scales, log_det, &p);
    add_slopes(row, x, scales, &p, to);
  }
  add_prior(row, scales, to);
  free(room);
  return 0;
}

static int objective(const Row *row) {
  double value;
  return gmm(row->sizes[1], row->sizes[0], row->sizes[2], INPUT(row, double, ALPHA), INPUT(row, double, MU),
             INPUT(row, double, Q), INPUT(row, double, L), INPUT(row, double, X), wishart_m, wishart_gamma, &value);
}

static int derivative(const Row *row, void *const *to) {
  return gmm_grad(row->sizes[1], row->sizes[0], row->sizes[2], INPUT(row, double, ALPHA), INPUT(row, double, MU),
                  INPUT(row, double, Q), INPUT(row, double, L), INPUT(row, double, X), wishart_m, wishart_gamma, to[0],
                  to[1], to[2], to[3]);
}

void build_gmm(Row *row) {
  const int64_t d = row->sizes[0], k = row->sizes[1], n = row->sizes[2], below = d * (d - 1) / 2;
  row_input(row, "alpha", 'd', 1, (int64_t[]){k}, 1, 0);
  row_input(row, "mu", 'd', 2, (int64_t[]){k, d}, 1, 0);
  row_input(row, "q", 'd', 2, (int64_t[]){k, d}, 0.3, 0);
  row_input(row, "l", 'd', 2, (int64_t[]){k, below}, 0.3, 0);
  row_input(row, "x", 'd', 2, (int64_t[]){n, d}, 1.5, 0);
  row_output(row, 'd', k);
  row_output(row, 'd', k * d);
  row_output(row, 'd', k * d);
  row_output(row, 'd', k * below);
  row->objective = objective;
  row->derivative = derivative;
  row->by_hand = by_hand;
  /* An element of Q: once for Qx, once for its own slope. */
  row->flops = (double)(n * k) * (4.0 * (double)(below + d) + 3.0 * (double)d + FUNCTION_FLOPS);
}
