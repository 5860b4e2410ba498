// Fits the mixture of gmm.ad to a file in ADBench's format: L-BFGS on the log-posterior, with the gradient that gradc
// derived. The file gives the points and where the fit starts.
//
// The format, all separated by white space: d k n; k alphas; k rows of d means; k rows of d(d+1)/2 of icf; n rows of d
// coordinates; gamma m.
#include <lbfgs.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "gmm.h"
#include "gradc.h"

typedef struct Mixture {
  int64_t d, k, n, triangle; // triangle = d(d+1)/2
  double *parameters;        // alphas, means, icf, one after another, as L-BFGS wants them
  double *points;
  double gamma;
  int64_t m;
} Mixture;

static void fail(const char *what) {
  fprintf(stderr, "gmm: %s\n", what);
  exit(1);
}

static int64_t parameter_count(const Mixture *mixture) {
  return mixture->k * (1 + mixture->d + mixture->triangle);
}

static void read_numbers(FILE *file, double *to, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    char word[64], *end;
    if (fscanf(file, "%63s", word) != 1)
      fail("the file ends early");
    to[i] = strtod(word, &end);
    if (*end)
      fail("the file has something that is no number");
  }
}

static Mixture read_mixture(const char *path) {
  FILE *file = fopen(path, "r");
  if (!file)
    fail("cannot open the file");
  Mixture mixture = {0};
  double sizes[3], prior[2];
  read_numbers(file, sizes, 3);
  for (int i = 0; i < 3; i++) {
    if (!(sizes[i] >= 1 && sizes[i] <= 1e7 && sizes[i] == floor(sizes[i])))
      fail("the sizes in the first line must be whole numbers from 1 to 10 million");
  }
  mixture.d = (int64_t)sizes[0];
  mixture.k = (int64_t)sizes[1];
  mixture.n = (int64_t)sizes[2];
  mixture.triangle = mixture.d * (mixture.d + 1) / 2;
  if ((double)mixture.k * (double)(1 + mixture.d + mixture.triangle) > 1e8 ||
      (double)mixture.n * (double)mixture.d > 1e9)
    fail("the sizes in the first line are too large");
  mixture.parameters = lbfgs_malloc((int)parameter_count(&mixture));
  mixture.points = malloc((size_t)(mixture.n * mixture.d) * sizeof *mixture.points);
  if (!mixture.parameters || !mixture.points)
    fail("no memory");
  read_numbers(file, mixture.parameters, parameter_count(&mixture));
  read_numbers(file, mixture.points, mixture.n * mixture.d);
  read_numbers(file, prior, 2);
  mixture.gamma = prior[0];
  mixture.m = (int64_t)prior[1];
  fclose(file);
  return mixture;
}

// L-BFGS minimises: minus the posterior, per point, which keeps its steps at the same scale for any number of points.
static lbfgsfloatval_t evaluate(void *instance, const lbfgsfloatval_t *x, lbfgsfloatval_t *gradient, const int size,
                                const lbfgsfloatval_t step) {
  (void)step;
  const Mixture *on = instance;
  int64_t means = on->k, icf = means + on->k * on->d;
  double value = 0;
  if (gmm_posterior_grad(on->k, on->d, on->n, x, x + means, x + icf, on->points, on->gamma, on->m, &value, gradient,
                         gradient + means, gradient + icf))
    fail(gradc_last_error());
  double scale = -1 / (double)on->n;
  for (int i = 0; i < size; i++)
    gradient[i] *= scale;
  return scale * value;
}

static int progress(void *instance, const lbfgsfloatval_t *x, const lbfgsfloatval_t *gradient,
                    const lbfgsfloatval_t value, const lbfgsfloatval_t x_norm, const lbfgsfloatval_t gradient_norm,
                    const lbfgsfloatval_t step, int n, int iteration, int evaluations) {
  (void)x, (void)gradient, (void)x_norm, (void)step, (void)n, (void)evaluations;
  const Mixture *on = instance;
  if (iteration <= 5 || iteration % 10 == 0)
    printf("iteration %3d  log-posterior %.6f  |gradient| %.2e\n", iteration, -value * (double)on->n, gradient_norm);
  return 0;
}

static void print_components(const Mixture *mixture) {
  const double *alphas = mixture->parameters, *means = alphas + mixture->k;
  double greatest = alphas[0], total = 0;
  for (int64_t a = 1; a < mixture->k; a++)
    greatest = fmax(greatest, alphas[a]);
  for (int64_t a = 0; a < mixture->k; a++)
    total += exp(alphas[a] - greatest);
  for (int64_t a = 0; a < mixture->k && a < 10; a++) {
    printf("component %lld  weight %.3f  mean", (long long)a, exp(alphas[a] - greatest) / total);
    for (int64_t j = 0; j < mixture->d && j < 8; j++)
      printf(" %.3f", means[a * mixture->d + j]);
    printf(mixture->d > 8 ? " ..\n" : "\n");
  }
}

int main(int argc, char **argv) {
  Mixture mixture = read_mixture(argc > 1 ? argv[1] : "clusters.txt");
  int iterations = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 200;
  const double *alphas = mixture.parameters, *means = alphas + mixture.k, *icf = means + mixture.k * mixture.d;
  double objective = 0;
  if (gmm_objective(mixture.k, mixture.d, mixture.n, alphas, means, icf, mixture.points, mixture.gamma, mixture.m,
                    &objective))
    fail(gradc_last_error());
  printf("%lld points of %lld dimensions, %lld components; ADBench's objective at the start %.6f\n",
         (long long)mixture.n, (long long)mixture.d, (long long)mixture.k, objective);

  lbfgs_parameter_t options;
  lbfgs_parameter_init(&options);
  options.m = 10;
  options.max_iterations = iterations;
  int status = lbfgs((int)parameter_count(&mixture), mixture.parameters, NULL, evaluate, progress, &mixture, &options);
  if (status != LBFGS_SUCCESS && status != LBFGS_STOP && status != LBFGSERR_MAXIMUMITERATION)
    printf("the line search ended with %d\n", status);
  print_components(&mixture);
  lbfgs_free(mixture.parameters);
  free(mixture.points);
  gradc_release();
  return 0;
}
