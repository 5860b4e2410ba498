// Trains the three classifiers of digits.ad on handwritten digits: L-BFGS, with the gradients that gradc derived. The
// last fifth of the file is held out, and only counted on.
#include <lbfgs.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digits.h"
#include "gradc.h"

enum {
  SIDE = 8,
  PIXELS = SIDE * SIDE,
  CLASSES = 10,
  HIDDEN = 32,
  KERNELS = 12,
  KERNEL_SIDE = 3,
  WINDOWS = (SIDE - KERNEL_SIDE + 1) / 2,
  CONV_HIDDEN = 48,
};

typedef struct Images {
  int64_t count;
  const double *pixels; // [count][PIXELS], 0 to 1
  const int32_t *labels;
} Images;

// A tensor among a model's parameters, which stand one after another in one vector.
typedef struct Part {
  int64_t size;
  int64_t inputs; // how many values one of its outputs adds up; 0 for biases, which begin at 0
} Part;

enum { MAX_PARTS = 6 };

typedef struct Model {
  const char *name;
  Part parts[MAX_PARTS];
  double decay;
  int iterations;
  int (*loss)(const Images *, double decay, const double *const part[], double *value, double *const d_part[]);
  int (*hits)(const Images *, const double *const part[], int64_t *count);
} Model;

// -- The generated functions, under one signature --------------------------------------------------------------------
static int softmax_loss(const Images *on, double decay, const double *const p[], double *value, double *const d[]) {
  return softmax_loss_grad(CLASSES, PIXELS, on->count, p[0], p[1], on->pixels, on->labels, decay, value, d[0], d[1]);
}

static int count_softmax(const Images *on, const double *const p[], int64_t *count) {
  return softmax_hits(CLASSES, PIXELS, on->count, p[0], p[1], on->pixels, on->labels, count);
}

static int hidden_loss(const Images *on, double decay, const double *const p[], double *value, double *const d[]) {
  return hidden_loss_grad(HIDDEN, PIXELS, CLASSES, on->count, p[0], p[1], p[2], p[3], on->pixels, on->labels, decay,
                          value, d[0], d[1], d[2], d[3]);
}

static int count_hidden(const Images *on, const double *const p[], int64_t *count) {
  return hidden_hits(HIDDEN, PIXELS, CLASSES, on->count, p[0], p[1], p[2], p[3], on->pixels, on->labels, count);
}

static int conv_loss(const Images *on, double decay, const double *const p[], double *value, double *const d[]) {
  return conv_loss_grad(KERNELS, KERNEL_SIDE, KERNEL_SIDE, CONV_HIDDEN, WINDOWS, WINDOWS, CLASSES, on->count, SIDE,
                        SIDE, p[0], p[1], p[2], p[3], p[4], p[5], on->pixels, on->labels, decay, value, d[0], d[1],
                        d[2], d[3], d[4], d[5]);
}

static int count_conv(const Images *on, const double *const p[], int64_t *count) {
  return conv_hits(KERNELS, KERNEL_SIDE, KERNEL_SIDE, CONV_HIDDEN, WINDOWS, WINDOWS, CLASSES, on->count, SIDE, SIDE,
                   p[0], p[1], p[2], p[3], p[4], p[5], on->pixels, on->labels, count);
}

static const Model models[] = {
    {"softmax regression", {{CLASSES * PIXELS, PIXELS}, {CLASSES, 0}}, 1e-4, 60, softmax_loss, count_softmax},
    {"one hidden layer",
     {{HIDDEN * PIXELS, PIXELS}, {HIDDEN, 0}, {CLASSES * HIDDEN, HIDDEN}, {CLASSES, 0}},
     3e-5,
     60,
     hidden_loss,
     count_hidden},
    {"convolutional network",
     {{KERNELS * KERNEL_SIDE * KERNEL_SIDE, KERNEL_SIDE *KERNEL_SIDE},
      {KERNELS, 0},
      {CONV_HIDDEN * KERNELS * WINDOWS * WINDOWS, KERNELS *WINDOWS *WINDOWS},
      {CONV_HIDDEN, 0},
      {CLASSES * CONV_HIDDEN, CONV_HIDDEN},
      {CLASSES, 0}},
     3e-5,
     100,
     conv_loss,
     count_conv},
};

// -- Training --------------------------------------------------------------------------------------------------------
typedef struct Training {
  const Model *model;
  const Images *on;
} Training;

static void fail(const char *what) {
  fprintf(stderr, "digits: %s\n", what);
  exit(1);
}

// Where each part begins within `vector`.
static void locate(const Model *model, double *vector, double *part[]) {
  for (int i = 0; i < MAX_PARTS; i++) {
    part[i] = vector;
    vector += model->parts[i].size;
  }
}

static lbfgsfloatval_t evaluate(void *instance, const lbfgsfloatval_t *x, lbfgsfloatval_t *gradient, const int n,
                                const lbfgsfloatval_t step) {
  (void)n, (void)step;
  const Training *training = instance;
  double *part[MAX_PARTS], *d_part[MAX_PARTS], value = 0;
  locate(training->model, (double *)x, part);
  locate(training->model, gradient, d_part);
  if (training->model->loss(training->on, training->model->decay, (const double *const *)part, &value, d_part))
    fail(gradc_last_error());
  return value;
}

static int progress(void *instance, const lbfgsfloatval_t *x, const lbfgsfloatval_t *gradient,
                    const lbfgsfloatval_t loss, const lbfgsfloatval_t x_norm, const lbfgsfloatval_t gradient_norm,
                    const lbfgsfloatval_t step, int n, int iteration, int evaluations) {
  (void)instance, (void)x, (void)gradient, (void)x_norm, (void)step, (void)n, (void)evaluations;
  if (iteration == 1 || iteration % 20 == 0)
    printf("  iteration %3d  loss %.6f  |gradient| %.2e\n", iteration, loss, gradient_norm);
  return 0;
}

// Uniform in -1..1, the same on every machine.
static double next_random(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (double)(int64_t)(*state >> 11) / (double)(1LL << 52) - 1;
}

static double accuracy(const Model *model, const Images *images, double *x) {
  double *part[MAX_PARTS];
  int64_t count = 0;
  locate(model, x, part);
  if (model->hits(images, (const double *const *)part, &count))
    fail(gradc_last_error());
  return (double)count / (double)images->count;
}

static void train(const Model *model, const Images *training_images, const Images *held_out) {
  int64_t size = 0;
  for (int i = 0; i < MAX_PARTS; i++)
    size += model->parts[i].size;
  printf("%s: %lld parameters\n", model->name, (long long)size);

  double *x = lbfgs_malloc((int)size);
  if (!x)
    fail("no memory");
  uint64_t state = 7919; // any seed: over seeds the accuracies vary by 0.005 or so
  double *to = x;
  for (int i = 0; i < MAX_PARTS; i++) {
    Part part = model->parts[i];
    for (int64_t j = 0; j < part.size; j++)
      *to++ = part.inputs ? next_random(&state) / sqrt((double)part.inputs) : 0;
  }

  lbfgs_parameter_t options;
  lbfgs_parameter_init(&options);
  options.m = 10;
  options.max_iterations = model->iterations;
  Training training = {model, training_images};
  int status = lbfgs((int)size, x, NULL, evaluate, progress, &training, &options);
  // Stopping early is meant: it keeps the models from learning their images by heart.
  if (status != LBFGS_SUCCESS && status != LBFGS_STOP && status != LBFGSERR_MAXIMUMITERATION)
    printf("  the line search ended with %d\n", status);
  printf("  accuracy %.3f on the %lld training images, %.3f on the %lld held out\n",
         accuracy(model, training_images, x), (long long)training_images->count, accuracy(model, held_out, x),
         (long long)held_out->count);
  lbfgs_free(x);
}

// -- The data --------------------------------------------------------------------------------------------------------
// Lines of PIXELS values of 0 to 16 and a label, separated by commas.
static int64_t read_images(const char *path, double **pixels, int32_t **labels) {
  FILE *file = fopen(path, "r");
  if (!file)
    fail("cannot open the data file");
  int64_t count = 0, room = 0;
  char line[1024];
  *pixels = NULL;
  *labels = NULL;
  while (fgets(line, sizeof line, file)) {
    if (count == room) {
      room = room ? 2 * room : 1024;
      *pixels = realloc(*pixels, (size_t)room * PIXELS * sizeof **pixels);
      *labels = realloc(*labels, (size_t)room * sizeof **labels);
      if (!*pixels || !*labels)
        fail("no memory");
    }
    char *at = line;
    for (int i = 0; i <= PIXELS; i++) {
      char *end;
      long number = strtol(at, &end, 10);
      if (end == at || number < 0 || number > (i < PIXELS ? 16 : CLASSES - 1))
        fail("the data file has a line that is not 64 values from 0 to 16 and a digit");
      if (i < PIXELS)
        (*pixels)[count * PIXELS + i] = (double)number / 16;
      else
        (*labels)[count] = (int32_t)number;
      at = end + (*end == ',');
    }
    count++;
  }
  fclose(file);
  return count;
}

int main(int argc, char **argv) {
  double *pixels;
  int32_t *labels;
  int64_t count = read_images(argc > 1 ? argv[1] : "digits.csv", &pixels, &labels);
  int64_t first = count * 4 / 5;
  if (first == 0)
    fail("the data file has too few images");
  Images training_images = {first, pixels, labels};
  Images held_out = {count - first, pixels + first * PIXELS, labels + first};
  for (size_t i = 0; i < sizeof models / sizeof *models; i++)
    train(&models[i], &training_images, &held_out);
  free(pixels);
  free(labels);
  gradc_release();
  return 0;
}
