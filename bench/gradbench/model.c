/* kmeans, gmm and lstm: a value, or derivatives by some of several tensors. */
#include "gmm.h"
#include "kmeans.h"
#include "lstm.h"
#include "problem.h"

/* -- kmeans */

typedef struct Clusters {
  int64_t n, d, k;
  const double *points, *centroids;
  double cost, *dir;
} Clusters;

static void *prepare_kmeans(Reader *in) {
  Clusters *c = read_room(in, 1, sizeof *c);
  if (!c)
    return NULL;
  int64_t points[] = {-1, -1};
  c->points = read_tensor(in, in->input, "points", 2, points);
  c->n = points[0];
  c->d = points[1];
  int64_t centroids[] = {-1, c->d};
  c->centroids = read_tensor(in, in->input, "centroids", 2, centroids);
  c->k = centroids[0];
  c->dir = read_room(in, c->k * c->d, sizeof *c->dir);
  return c;
}

static int run_kmeans_cost(void *problem) {
  Clusters *c = problem;
  return kmeans_cost(c->n, c->d, c->k, c->points, c->centroids, &c->cost);
}

static int run_kmeans_dir(void *problem) {
  Clusters *c = problem;
  return kmeans_dir(c->n, c->d, c->k, c->points, c->centroids, c->dir);
}

static void print_kmeans_cost(const void *problem, FILE *to) {
  json_write_number(to, ((const Clusters *)problem)->cost);
}

static void print_kmeans_dir(const void *problem, FILE *to) {
  const Clusters *c = problem;
  json_write_tensor(to, c->dir, 2, (int64_t[]){c->k, c->d});
}

/* -- gmm */

typedef struct Mixture {
  int64_t k, d, n, below, m; /* below: elements under a diagonal */
  const double *alpha, *mu, *q, *l, *x;
  double gamma, value, *d_alpha, *d_mu, *d_q, *d_l;
} Mixture;

static void *prepare_gmm(Reader *in) {
  Mixture *g = read_room(in, 1, sizeof *g);
  if (!g)
    return NULL;
  g->k = read_integer(in, "k", 1);
  g->d = read_integer(in, "d", 1);
  g->n = read_integer(in, "n", 0);
  g->m = read_integer(in, "m", 0);
  if (g->d > 1 << 20)
    read_error(in, "input: 'd' is too large");
  g->below = read_failed(in) ? 0 : g->d * (g->d - 1) / 2;
  g->gamma = read_number(in, "gamma");
  g->alpha = read_tensor(in, in->input, "alpha", 1, &g->k);
  g->mu = read_tensor(in, in->input, "mu", 2, (int64_t[]){g->k, g->d});
  g->q = read_tensor(in, in->input, "q", 2, (int64_t[]){g->k, g->d});
  g->l = read_tensor(in, in->input, "l", 2, (int64_t[]){g->k, g->below});
  g->x = read_tensor(in, in->input, "x", 2, (int64_t[]){g->n, g->d});
  if (read_failed(in))
    return NULL;
  g->d_alpha = read_room(in, g->k, sizeof *g->d_alpha);
  g->d_mu = read_room(in, g->k * g->d, sizeof *g->d_mu);
  g->d_q = read_room(in, g->k * g->d, sizeof *g->d_q);
  g->d_l = read_room(in, g->k * g->below, sizeof *g->d_l);
  return g;
}

static int run_gmm(void *problem) {
  Mixture *g = problem;
  return gmm(g->k, g->d, g->n, g->alpha, g->mu, g->q, g->l, g->x, g->m, g->gamma, &g->value);
}

static int run_gmm_grad(void *problem) {
  Mixture *g = problem;
  return gmm_grad(g->k, g->d, g->n, g->alpha, g->mu, g->q, g->l, g->x, g->m, g->gamma, g->d_alpha, g->d_mu, g->d_q,
                  g->d_l);
}

static void print_gmm(const void *problem, FILE *to) {
  json_write_number(to, ((const Mixture *)problem)->value);
}

static void print_gmm_grad(const void *problem, FILE *to) {
  const Mixture *g = problem;
  fputs("{\"alpha\":", to);
  json_write_tensor(to, g->d_alpha, 1, &g->k);
  fputs(",\"mu\":", to);
  json_write_tensor(to, g->d_mu, 2, (int64_t[]){g->k, g->d});
  fputs(",\"q\":", to);
  json_write_tensor(to, g->d_q, 2, (int64_t[]){g->k, g->d});
  fputs(",\"l\":", to);
  json_write_tensor(to, g->d_l, 2, (int64_t[]){g->k, g->below});
  putc('}', to);
}

/* -- lstm */

typedef struct Network {
  int64_t l, b, c;
  const double *main_params, *extra_params, *state, *sequence;
  int64_t main_count, all; /* of the gradient, which holds that of extra_params behind that of main_params */
  double loss, *gradient;
} Network;

static void *prepare_lstm(Reader *in) {
  Network *r = read_room(in, 1, sizeof *r);
  if (!r)
    return NULL;
  int64_t main_params[] = {-1, -1}, sequence[] = {-1, -1};
  r->main_params = read_tensor(in, in->input, "main_params", 2, main_params);
  r->l = main_params[0] / 2;
  r->b = main_params[1] / 4;
  if (!read_failed(in) && (r->l < 1 || main_params[0] != 2 * r->l || main_params[1] != 4 * r->b))
    read_error(in, "input: 'main_params' is not of shape [2 l, 4 b]");
  r->extra_params = read_tensor(in, in->input, "extra_params", 2, (int64_t[]){3, r->b});
  r->state = read_tensor(in, in->input, "state", 2, (int64_t[]){2 * r->l, r->b});
  sequence[1] = r->b;
  r->sequence = read_tensor(in, in->input, "sequence", 2, sequence);
  r->c = sequence[0];
  r->main_count = main_params[0] * main_params[1];
  r->all = r->main_count + 3 * r->b;
  r->gradient = read_room(in, r->all, sizeof *r->gradient);
  return r;
}

static int run_lstm(void *problem) {
  Network *r = problem;
  return lstm(r->l, r->b, r->c, r->main_params, r->extra_params, r->state, r->sequence, &r->loss);
}

static int run_lstm_grad(void *problem) {
  Network *r = problem;
  return lstm_grad(r->l, r->b, r->c, r->main_params, r->extra_params, r->state, r->sequence, r->gradient,
                   r->gradient + r->main_count);
}

static void print_lstm(const void *problem, FILE *to) {
  json_write_number(to, ((const Network *)problem)->loss);
}

static void print_lstm_grad(const void *problem, FILE *to) {
  const Network *r = problem;
  json_write_tensor(to, r->gradient, 1, &r->all);
}

const Function model_functions[] = {
    {"kmeans", "cost", prepare_kmeans, run_kmeans_cost, print_kmeans_cost},
    {"kmeans", "dir", prepare_kmeans, run_kmeans_dir, print_kmeans_dir},
    {"gmm", "objective", prepare_gmm, run_gmm, print_gmm},
    {"gmm", "jacobian", prepare_gmm, run_gmm_grad, print_gmm_grad},
    {"lstm", "objective", prepare_lstm, run_lstm, print_lstm},
    {"lstm", "jacobian", prepare_lstm, run_lstm_grad, print_lstm_grad},
    {0},
};
