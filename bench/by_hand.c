/* Gradients by hand: forward with what the way back needs kept, then back. */
#include "by_hand.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define D(k) INPUT(row, double, k)

int lse_by_hand(const Row *row, void *const *to) {
  const int64_t n = row->sizes[0];
  const double *x = D(0);
  double *g = to[0], most = x[0], sum = 0;
  for (int64_t i = 1; i < n; i++)
    most = x[i] > most ? x[i] : most;
  for (int64_t i = 0; i < n; i++)
    sum += g[i] = exp(x[i] - most);
  for (int64_t i = 0; i < n; i++)
    g[i] /= sum;
  return 0;
}

/* -- Runge and Kutta: y' = (x_0, x_1 y_0, x_2 y_1, ..); of each step its four places are kept */

static void ode_rate(int64_t n, const double *x, const double *y, double *k) {
  k[0] = x[0];
  for (int64_t i = 1; i < n; i++)
    k[i] = x[i] * y[i - 1];
}

/* y_bar becomes what k_bar makes of it. */
static void ode_rate_back(int64_t n, const double *x, const double *y, const double *k_bar, double *x_bar,
                          double *y_bar) {
  x_bar[0] += k_bar[0];
  for (int64_t i = 1; i < n; i++) {
    x_bar[i] += k_bar[i] * y[i - 1];
    y_bar[i - 1] = k_bar[i] * x[i];
  }
  y_bar[n - 1] = 0;
}

int ode_by_hand(const Row *row, void *const *to) {
  const int64_t n = row->sizes[0], steps = row->sizes[1];
  const double *x = D(0), h = 2.0 / (double)steps, ahead[] = {0, h / 2, h / 2, h},
               part[] = {h / 6, h / 3, h / 3, h / 6};
  double *room = calloc((size_t)(n * (4 * steps + 6)), sizeof *room), *kept = room;
  double *y = kept + 4 * n * steps, *k = y + n, *y_bar = k + n, *k_bar = y_bar + n, *at_bar = k_bar + n,
         *sum = at_bar + n;
  for (int64_t t = 0; t < steps; t++) {
    memcpy(sum, y, sizeof *y * (size_t)n);
    for (int stage = 0; stage < 4; stage++) {
      double *at = kept + (4 * t + stage) * n;
      for (int64_t i = 0; i < n; i++)
        at[i] = y[i] + ahead[stage] * k[i];
      ode_rate(n, x, at, k);
      for (int64_t i = 0; i < n; i++)
        sum[i] += part[stage] * k[i];
    }
    memcpy(y, sum, sizeof *y * (size_t)n);
  }
  memset(to[0], 0, sizeof(double) * (size_t)n);
  y_bar[n - 1] = 1;
  for (int64_t t = steps - 1; t >= 0; t--) {
    memcpy(sum, y_bar, sizeof *sum * (size_t)n);
    for (int stage = 3; stage >= 0; stage--) {
      for (int64_t i = 0; i < n; i++)
        k_bar[i] = part[stage] * y_bar[i] + (stage < 3 ? ahead[stage + 1] * at_bar[i] : 0);
      ode_rate_back(n, x, kept + (4 * t + stage) * n, k_bar, to[0], at_bar);
      for (int64_t i = 0; i < n; i++)
        sum[i] += at_bar[i];
    }
    memcpy(y_bar, sum, sizeof *sum * (size_t)n);
  }
  free(room);
  return 0;
}

/* -- Bodies: the places of all steps are kept */

int bodies_by_hand(const Row *row, void *const *to) {
  const int64_t n = row->sizes[0], steps = row->sizes[1];
  const double *mass = D(2);
  double *places = malloc(sizeof *places * (size_t)(3 * n * (steps + 1))), *q_bar = to[0], *v_bar = to[1];
  double *v = malloc(sizeof *v * (size_t)(3 * n));
  memcpy(places, D(0), sizeof *v * (size_t)(3 * n));
  memcpy(v, D(1), sizeof *v * (size_t)(3 * n));
  for (int64_t t = 0; t < steps; t++) {
    const double *q = places + 3 * n * t;
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = 0; j < n; j++) {
        const double x = q[3 * j] - q[3 * i], y = q[3 * j + 1] - q[3 * i + 1], z = q[3 * j + 2] - q[3 * i + 2];
        const double near = x * x + y * y + z * z + 0.01, pull = 0.01 * mass[j] / (near * sqrt(near));
        v[3 * i] += pull * x, v[3 * i + 1] += pull * y, v[3 * i + 2] += pull * z;
      }
    for (int64_t i = 0; i < 3 * n; i++)
      places[3 * n * (t + 1) + i] = q[i] + 0.01 * v[i];
  }
  for (int64_t i = 0; i < 3 * n; i++) {
    q_bar[i] = 2 * places[3 * n * steps + i];
    v_bar[i] = 0;
  }
  for (int64_t t = steps - 1; t >= 0; t--) {
    const double *q = places + 3 * n * t;
    for (int64_t i = 0; i < 3 * n; i++)
      v_bar[i] += 0.01 * q_bar[i];
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = 0; j < n; j++) {
        const double x = q[3 * j] - q[3 * i], y = q[3 * j + 1] - q[3 * i + 1], z = q[3 * j + 2] - q[3 * i + 2];
        const double near = x * x + y * y + z * z + 0.01, pull = 0.01 * mass[j] / (near * sqrt(near));
        const double *b = v_bar + 3 * i, along = -3 * pull / near * (b[0] * x + b[1] * y + b[2] * z);
        const double by[3] = {pull * b[0] + along * x, pull * b[1] + along * y, pull * b[2] + along * z};
        for (int c = 0; c < 3; c++) {
          q_bar[3 * j + c] += by[c];
          q_bar[3 * i + c] -= by[c];
        }
      }
  }
  free(places);
  free(v);
  return 0;
}

/* -- Heat: all states are kept */

int heat_by_hand(const Row *row, void *const *to) {
  const int64_t n = row->sizes[0], steps = row->sizes[1];
  const double *kappa = D(1);
  double *states = malloc(sizeof *states * (size_t)(n * (steps + 1))), *bar = to[0], *kappa_bar = to[1];
  double *before = malloc(sizeof *before * (size_t)n);
  memcpy(states, D(0), sizeof *states * (size_t)n);
  for (int64_t t = 0; t < steps; t++) {
    const double *u = states + n * t;
    double *next = states + n * (t + 1);
    next[0] = u[0], next[n - 1] = u[n - 1];
    for (int64_t i = 1; i < n - 1; i++)
      next[i] = u[i] + 0.2 * (kappa[i] * (u[i + 1] - u[i]) - kappa[i - 1] * (u[i] - u[i - 1]));
  }
  for (int64_t i = 0; i < n; i++) {
    bar[i] = 2 * states[n * steps + i];
    kappa_bar[i] = 0;
  }
  for (int64_t t = steps - 1; t >= 0; t--) {
    const double *u = states + n * t;
    memcpy(before, bar, sizeof *before * (size_t)n);
    for (int64_t i = 1; i < n - 1; i++) {
      const double b = 0.2 * bar[i];
      before[i + 1] += b * kappa[i];
      before[i] -= b * (kappa[i] + kappa[i - 1]);
      before[i - 1] += b * kappa[i - 1];
      kappa_bar[i] += b * (u[i + 1] - u[i]);
      kappa_bar[i - 1] -= b * (u[i] - u[i - 1]);
    }
    memcpy(bar, before, sizeof *before * (size_t)n);
  }
  free(states);
  free(before);
  return 0;
}

/* -- The Gaussian process: the gradient is tr((K^-1 - a a^T) dK) / 2 with a = K^-1 y */

static void factor(int64_t n, double *k) {
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j <= i; j++) {
      double sum = k[i * n + j];
      for (int64_t c = 0; c < j; c++)
        sum -= k[i * n + c] * k[j * n + c];
      k[i * n + j] = i == j ? sqrt(sum) : sum / k[j * n + j];
    }
}

/* The inverse of the factor, by rows; then K^-1 = inverse^T inverse. */
static void invert(int64_t n, const double *l, double *inverse) {
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j < n; j++)
      inverse[i * n + j] = i == j;
    for (int64_t c = 0; c < i; c++)
      for (int64_t j = 0; j <= c; j++)
        inverse[i * n + j] -= l[i * n + c] * inverse[c * n + j];
    for (int64_t j = 0; j <= i; j++)
      inverse[i * n + j] /= l[i * n + i];
  }
}

int process_by_hand(const Row *row, void *const *to) {
  const int64_t n = row->sizes[0];
  const double *t = D(0), *x = D(1), *y = D(2), signal = exp(2 * t[2]), noise = exp(2 * t[3]);
  const double scale[] = {exp(-2 * t[0]), exp(-2 * t[1])};
  double *k = malloc(sizeof *k * (size_t)(3 * n * n + 2 * n)), *inverse = k + n * n, *bar = inverse + n * n;
  double *z = bar + n * n, *a = z + n, *g = to[0];
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j <= i; j++) {
      const double p = x[2 * i] - x[2 * j], q = x[2 * i + 1] - x[2 * j + 1];
      k[i * n + j] = signal * exp(-0.5 * (p * p * scale[0] + q * q * scale[1])) + (i == j ? noise : 0);
    }
  factor(n, k);
  invert(n, k, inverse);
  memset(bar, 0, sizeof *bar * (size_t)(n * n + 2 * n));
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j <= i; j++)
      z[i] += inverse[i * n + j] * y[j];
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j <= i; j++)
      a[j] += inverse[i * n + j] * z[i];
  for (int64_t c = 0; c < n; c++)
    for (int64_t i = 0; i <= c; i++)
      for (int64_t j = 0; j <= i; j++)
        bar[i * n + j] += inverse[c * n + i] * inverse[c * n + j];
  memset(g, 0, 4 * sizeof *g);
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j <= i; j++) {
      const double p = x[2 * i] - x[2 * j], q = x[2 * i + 1] - x[2 * j + 1], b = bar[i * n + j] - a[i] * a[j];
      const double of = (i == j ? 0.5 : 1) * b * signal * exp(-0.5 * (p * p * scale[0] + q * q * scale[1]));
      g[0] += of * p * p * scale[0];
      g[1] += of * q * q * scale[1];
      g[2] += 2 * of;
      g[3] += i == j ? b * noise : 0;
    }
  free(k);
  return 0;
}
