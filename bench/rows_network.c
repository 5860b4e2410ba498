/* Training steps of networks in f32: the loss and its gradient by all parameters. The smallest has a gradient written
   by hand in straightforward C. */
#include "networks.h"
#include "row.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define F(k) INPUT(row, float, k)
#define LABELS INPUT(row, int32_t, 1)

/* -- Two layers: n, i, h, o */

enum { MLP_X, MLP_Y, W1, B1, W2, B2 };

/* to += x w^T and to += x w; to += y^T x: rows of n by the other sizes. */
static void add_products(float *to, const float *x, const float *w, int64_t n, int64_t i, int64_t o) {
  for (int64_t r = 0; r < n; r++)
    for (int64_t c = 0; c < o; c++) {
      float sum = 0;
      for (int64_t k = 0; k < i; k++)
        sum += x[r * i + k] * w[c * i + k];
      to[r * o + c] += sum;
    }
}

static void add_back(float *to, const float *y, const float *w, int64_t n, int64_t i, int64_t o) {
  for (int64_t r = 0; r < n; r++)
    for (int64_t k = 0; k < o; k++)
      for (int64_t c = 0; c < i; c++)
        to[r * i + c] += y[r * o + k] * w[k * i + c];
}

static void add_outer(float *to, const float *y, const float *x, int64_t n, int64_t i, int64_t o) {
  for (int64_t r = 0; r < n; r++)
    for (int64_t k = 0; k < o; k++)
      for (int64_t c = 0; c < i; c++)
        to[k * i + c] += y[r * o + k] * x[r * i + c];
}

static void fill_rows(float *to, const float *row, int64_t n, int64_t size) {
  for (int64_t r = 0; r < n; r++)
    memcpy(to + r * size, row, sizeof *to * (size_t)size);
}

/* Scores become the bars of the scores. */
static void cross_entropy_back(float *scores, const int32_t *label, int64_t n, int64_t o) {
  for (int64_t r = 0; r < n; r++, scores += o) {
    float most = -INFINITY, sum = 0;
    for (int64_t k = 0; k < o; k++)
      most = scores[k] > most ? scores[k] : most;
    for (int64_t k = 0; k < o; k++)
      sum += scores[k] = expf(scores[k] - most);
    for (int64_t k = 0; k < o; k++)
      scores[k] = (scores[k] / sum - (float)(k == label[r])) / (float)n;
  }
}

static void add_rows(float *to, const float *y, int64_t n, int64_t size) {
  for (int64_t r = 0; r < n; r++)
    for (int64_t k = 0; k < size; k++)
      to[k] += y[r * size + k];
}

static int mlp_by_hand(const Row *row, void *const *to) {
  const int64_t n = row->sizes[0], i = row->sizes[1], h = row->sizes[2], o = row->sizes[3];
  float *hidden = malloc(sizeof *hidden * (size_t)(n * (2 * h + o))), *hidden_bar = hidden + n * h;
  float *scores = hidden_bar + n * h;
  fill_rows(hidden, F(B1), n, h);
  add_products(hidden, F(MLP_X), F(W1), n, i, h);
  for (int64_t k = 0; k < n * h; k++)
    hidden[k] = hidden[k] > 0 ? hidden[k] : 0;
  fill_rows(scores, F(B2), n, o);
  add_products(scores, hidden, F(W2), n, h, o);
  cross_entropy_back(scores, LABELS, n, o);
  for (int k = 0; k < row->output_count; k++)
    memset(to[k], 0, array_bytes(&row->outputs[k]));
  memset(hidden_bar, 0, sizeof *hidden_bar * (size_t)(n * h));
  add_outer(to[2], scores, hidden, n, h, o);
  add_rows(to[3], scores, n, o);
  add_back(hidden_bar, scores, F(W2), n, h, o);
  for (int64_t k = 0; k < n * h; k++)
    hidden_bar[k] = hidden[k] > 0 ? hidden_bar[k] : 0;
  add_outer(to[0], hidden_bar, F(MLP_X), n, i, h);
  add_rows(to[1], hidden_bar, n, h);
  free(hidden);
  return 0;
}

static int mlp_objective(const Row *row) {
  float value;
  return mlp(row->sizes[0], row->sizes[1], row->sizes[2], row->sizes[3], F(MLP_X), LABELS, F(W1), F(B1), F(W2), F(B2),
             &value);
}

static int mlp_derivative(const Row *row, void *const *to) {
  float value;
  return mlp_grad(row->sizes[0], row->sizes[1], row->sizes[2], row->sizes[3], F(MLP_X), LABELS, F(W1), F(B1), F(W2),
                  F(B2), &value, to[0], to[1], to[2], to[3]);
}

static void make_labels(Row *row, int64_t n, int32_t classes) {
  int32_t *label = row_input(row, "y", 'i', 1, &n, 0, 0);
  for (int64_t i = 0; i < n; i++)
    label[i] = (int32_t)((7 * i + i / 3) % classes);
}

/* The inputs from `first` on are what the gradient is by. */
static void outputs_like_inputs(Row *row, int first) {
  for (int k = first; k < row->input_count; k++)
    row_output(row, 'f', array_count(&row->inputs[k]));
}

static void build_mlp(Row *row) {
  const int64_t n = row->sizes[0], i = row->sizes[1], h = row->sizes[2], o = row->sizes[3];
  row_input(row, "x", 'f', 2, (int64_t[]){n, i}, 0.5, 0.5);
  make_labels(row, n, (int32_t)o);
  row_input(row, "w1", 'f', 2, (int64_t[]){h, i}, 0.05, 0);
  row_input(row, "b1", 'f', 1, &h, 0.1, 0);
  row_input(row, "w2", 'f', 2, (int64_t[]){o, h}, 0.1, 0);
  row_input(row, "b2", 'f', 1, &o, 0.1, 0);
  outputs_like_inputs(row, W1);
  row->objective = mlp_objective;
  row->derivative = mlp_derivative;
  row->by_hand = mlp_by_hand;
  row->tolerance = 1e-4;
  row->flops = (double)n * (4.0 * (double)(i * h) + 6.0 * (double)(h * o));
}

/* -- Two convolutions: n, c1, c2, o */

static int cnn_objective(const Row *row) {
  float value;
  return cnn(row->sizes[0], row->sizes[1], row->sizes[2], row->sizes[3], F(0), LABELS, F(2), F(3), F(4), F(5), F(6),
             F(7), &value);
}

static int cnn_derivative(const Row *row, void *const *to) {
  float value;
  return cnn_grad(row->sizes[0], row->sizes[1], row->sizes[2], row->sizes[3], F(0), LABELS, F(2), F(3), F(4), F(5),
                  F(6), F(7), &value, to[0], to[1], to[2], to[3], to[4], to[5]);
}

static void build_cnn(Row *row) {
  const int64_t n = row->sizes[0], c1 = row->sizes[1], c2 = row->sizes[2], o = row->sizes[3];
  row_input(row, "x", 'f', 4, (int64_t[]){n, 1, 28, 28}, 0.5, 0.5);
  make_labels(row, n, (int32_t)o);
  row_input(row, "k1", 'f', 4, (int64_t[]){c1, 1, 5, 5}, 0.2, 0);
  row_input(row, "b1", 'f', 1, &c1, 0.1, 0);
  row_input(row, "k2", 'f', 4, (int64_t[]){c2, c1, 5, 5}, 0.1, 0);
  row_input(row, "b2", 'f', 1, &c2, 0.1, 0);
  row_input(row, "w", 'f', 2, (int64_t[]){o, c2 * 16}, 0.1, 0);
  row_input(row, "b", 'f', 1, &o, 0.1, 0);
  outputs_like_inputs(row, 2);
  row->objective = cnn_objective;
  row->derivative = cnn_derivative;
  row->tolerance = 1e-4;
  row->flops =
      (double)n * 2 * (2.0 * 576 * 25 * (double)c1 + 3.0 * 64 * 25 * (double)(c1 * c2) + 48.0 * (double)(c2 * o));
}

/* -- A block of a transformer: heads, t, d, m */

static int transformer_objective(const Row *row) {
  float value;
  return transformer(row->sizes[0], row->sizes[1], row->sizes[2], row->sizes[3], F(0), F(1), F(2), F(3), F(4), F(5),
                     F(6), F(7), F(8), &value);
}

static int transformer_derivative(const Row *row, void *const *to) {
  float value;
  return transformer_grad(row->sizes[0], row->sizes[1], row->sizes[2], row->sizes[3], F(0), F(1), F(2), F(3), F(4),
                          F(5), F(6), F(7), F(8), &value, to[0], to[1], to[2], to[3], to[4], to[5], to[6], to[7]);
}

static void build_transformer(Row *row) {
  const int64_t t = row->sizes[1], d = row->sizes[2], m = row->sizes[3];
  static const char *const squares[] = {"wq", "wk", "wv", "wo"};
  row_input(row, "x", 'f', 2, (int64_t[]){t, d}, 1, 0);
  for (int k = 0; k < 4; k++)
    row_input(row, squares[k], 'f', 2, (int64_t[]){d, d}, 0.15, 0);
  row_input(row, "w1", 'f', 2, (int64_t[]){d, m}, 0.15, 0);
  row_input(row, "w2", 'f', 2, (int64_t[]){m, d}, 0.1, 0);
  row_input(row, "g", 'f', 1, &d, 0.1, 1);
  row_input(row, "b", 'f', 1, &d, 0.1, 0);
  outputs_like_inputs(row, 1);
  row->objective = transformer_objective;
  row->derivative = transformer_derivative;
  row->tolerance = 1e-3;
  /* Causal: half of the products of attention. */
  row->flops = (double)t * 6 * ((double)(d * (4 * d + 2 * m)) + (double)(t * d));
}

const Case network_cases[] = {
    {"mlp 784-128-10, 64, f32", "mlp", build_mlp, {64, 784, 128, 10}},
    {"cnn 28x28, 16, f32", "cnn", build_cnn, {16, 8, 16, 10}},
    {"transformer 64x64, f32", "transformer", build_transformer, {4, 64, 64, 256}},
    {0},
};
