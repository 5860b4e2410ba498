/* The recurrent network, beside a gradient written by hand in straightforward C: forward with everything kept, then
   back. Sizes: l, b, c. */
#include "lstm.h"
#include "row.h"
#include <math.h>
#include <string.h>

enum { MAIN, EXTRA, STATE, SEQUENCE, ROOM };
enum { FORGET, IN, OUT, CHANGE, CELL, TANH, BEFORE, HIDDEN_BEFORE, BELOW, KEPT }; /* of each unit and step */

static double sigmoid(double x) {
  return 1 / (1 + exp(-x));
}

/* One layer's step; x becomes its output. */
static void forward(const double *w, const double *bias, int64_t b, double *h, double *s, double *x, double *kept) {
  for (int64_t i = 0; i < b; i++, kept += KEPT) {
    kept[BELOW] = x[i];
    kept[HIDDEN_BEFORE] = h[i];
    kept[BEFORE] = s[i];
    kept[FORGET] = sigmoid(x[i] * w[i] + bias[i]);
    kept[IN] = sigmoid(h[i] * w[b + i] + bias[b + i]);
    kept[OUT] = sigmoid(x[i] * w[2 * b + i] + bias[2 * b + i]);
    kept[CHANGE] = tanh(h[i] * w[3 * b + i] + bias[3 * b + i]);
    s[i] = kept[CELL] = s[i] * kept[FORGET] + kept[IN] * kept[CHANGE];
    kept[TANH] = tanh(s[i]);
    x[i] = h[i] = kept[OUT] * kept[TANH];
  }
}

/* h_bar and s_bar are of the state behind the step, and become those of the state before; x_bar likewise of the output
   and of the input. */
static void backward(const double *w, int64_t b, const double *kept, double *h_bar, double *s_bar, double *x_bar,
                     double *w_bar, double *bias_bar) {
  for (int64_t i = 0; i < b; i++, kept += KEPT) {
    const double out_bar = (h_bar[i] + x_bar[i]) * kept[TANH];
    const double cell_bar = s_bar[i] + (h_bar[i] + x_bar[i]) * kept[OUT] * (1 - kept[TANH] * kept[TANH]);
    const double f = cell_bar * kept[BEFORE] * kept[FORGET] * (1 - kept[FORGET]);
    const double in = cell_bar * kept[CHANGE] * kept[IN] * (1 - kept[IN]);
    const double out = out_bar * kept[OUT] * (1 - kept[OUT]);
    const double change = cell_bar * kept[IN] * (1 - kept[CHANGE] * kept[CHANGE]);
    w_bar[i] += f * kept[BELOW], bias_bar[i] += f;
    w_bar[b + i] += in * kept[HIDDEN_BEFORE], bias_bar[b + i] += in;
    w_bar[2 * b + i] += out * kept[BELOW], bias_bar[2 * b + i] += out;
    w_bar[3 * b + i] += change * kept[HIDDEN_BEFORE], bias_bar[3 * b + i] += change;
    x_bar[i] = f * w[i] + out * w[2 * b + i];
    h_bar[i] = in * w[b + i] + change * w[3 * b + i];
    s_bar[i] = cell_bar * kept[FORGET];
  }
}

/* exp y of each step, and above the last layer x, are kept for the way back. */
static void all_forward(const Row *row, double *state, double *x, double *kept, double *tops) {
  const int64_t l = row->sizes[0], b = row->sizes[1], c = row->sizes[2];
  const double *main_params = INPUT(row, double, MAIN), *extra = INPUT(row, double, EXTRA);
  memcpy(state, INPUT(row, double, STATE), sizeof *state * (size_t)(2 * l * b));
  for (int64_t t = 0; t + 1 < c; t++) {
    for (int64_t i = 0; i < b; i++)
      x[i] = INPUT(row, double, SEQUENCE)[t * b + i] * extra[i];
    for (int64_t k = 0; k < l; k++)
      forward(main_params + 8 * k * b, main_params + (8 * k + 4) * b, b, state + 2 * k * b, state + (2 * k + 1) * b, x,
              kept + (t * l + k) * b * KEPT);
    memcpy(tops + t * b, x, sizeof *x * (size_t)b);
  }
}

/* The bar of the last layer's output at step t. */
static void loss_backward(const Row *row, int64_t t, const double *top, double *x_bar, double *extra_bar) {
  const int64_t b = row->sizes[1], c = row->sizes[2];
  const double *extra = INPUT(row, double, EXTRA), *next = INPUT(row, double, SEQUENCE) + (t + 1) * b;
  const double scale = -1 / (double)((c - 1) * b);
  double sum = 2, wanted = 0;
  for (int64_t i = 0; i < b; i++) {
    x_bar[i] = exp(top[i] * extra[b + i] + extra[2 * b + i]);
    sum += x_bar[i];
    wanted += next[i];
  }
  for (int64_t i = 0; i < b; i++) {
    const double y_bar = scale * (next[i] - wanted * x_bar[i] / sum);
    extra_bar[b + i] += y_bar * top[i];
    extra_bar[2 * b + i] += y_bar;
    x_bar[i] = y_bar * extra[b + i];
  }
}

static int by_hand(const Row *row, void *const *to) {
  const int64_t l = row->sizes[0], b = row->sizes[1], c = row->sizes[2];
  double *main_bar = to[MAIN], *extra_bar = to[EXTRA];
  double *state_bar = row->inputs[ROOM].data, *state = state_bar + 2 * l * b, *x = state + 2 * l * b, *tops = x + b;
  double *kept = tops + (c - 1) * b;
  memset(state_bar, 0, sizeof *state_bar * (size_t)(2 * l * b));
  memset(main_bar, 0, array_bytes(&row->outputs[MAIN]));
  memset(extra_bar, 0, array_bytes(&row->outputs[EXTRA]));
  all_forward(row, state, x, kept, tops);
  for (int64_t t = c - 2; t >= 0; t--) {
    loss_backward(row, t, tops + t * b, x, extra_bar);
    for (int64_t k = l - 1; k >= 0; k--)
      backward(INPUT(row, double, MAIN) + 8 * k * b, b, kept + (t * l + k) * b * KEPT, state_bar + 2 * k * b,
               state_bar + (2 * k + 1) * b, x, main_bar + 8 * k * b, main_bar + (8 * k + 4) * b);
    for (int64_t i = 0; i < b; i++)
      extra_bar[i] += x[i] * INPUT(row, double, SEQUENCE)[t * b + i];
  }
  return 0;
}

static int objective(const Row *row) {
  double value;
  return lstm(row->sizes[0], row->sizes[1], row->sizes[2], INPUT(row, double, MAIN), INPUT(row, double, EXTRA),
              INPUT(row, double, STATE), INPUT(row, double, SEQUENCE), &value);
}

static int derivative(const Row *row, void *const *to) {
  return lstm_grad(row->sizes[0], row->sizes[1], row->sizes[2], INPUT(row, double, MAIN), INPUT(row, double, EXTRA),
                   INPUT(row, double, STATE), INPUT(row, double, SEQUENCE), to[MAIN], to[EXTRA]);
}

void build_lstm(Row *row) {
  const int64_t l = row->sizes[0], b = row->sizes[1], c = row->sizes[2];
  row_input(row, "main_params", 'd', 2, (int64_t[]){2 * l, 4 * b}, 1, 0);
  row_input(row, "extra_params", 'd', 2, (int64_t[]){3, b}, 1, 0);
  row_input(row, "state", 'd', 2, (int64_t[]){2 * l, b}, 0.5, 0);
  row_input(row, "sequence", 'd', 2, (int64_t[]){c, b}, 0.5, 0.5);
  row->inputs[ROOM].data = row_room(row, 4 * l * b + b + (c - 1) * b * (l * KEPT + 1), sizeof(double)); /* no input */
  row_output(row, 'd', 8 * l * b);
  row_output(row, 'd', 3 * b);
  row->objective = objective;
  row->derivative = derivative;
  row->by_hand = by_hand;
  /* Of each unit and step: three sigmoids, two tanhs, and about 60 additions and multiplications; an exp of the top. */
  row->flops = (double)((c - 1) * b) * ((double)l * (60 + 5 * FUNCTION_FLOPS) + FUNCTION_FLOPS + 20);
}
