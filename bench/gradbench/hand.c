/* ht: a model of a hand, and points to bring it to; with or without places inside of triangles. */
#include "ht.h"
#include "problem.h"

enum { ANGLES = 26, US = 2 };

typedef struct Hand {
  int64_t bones, vertices, faces, c;
  double *theta, *us; /* us: NULL where the points go to vertices */
  double *base_relatives, *inverse_base_absolutes, *base_positions, *weights, *points;
  int32_t *parents, *triangles, *at;
  bool mirrored;
  int64_t columns;
  double *residuals, *jacobian;
} Hand;

static void read_model(Reader *in, const Json *model, Hand *h) {
  int64_t positions[] = {-1, 4}, triangles[] = {-1, 3};
  h->bones = -1;
  h->parents = read_indices(in, model, "parents", 1, &h->bones);
  h->base_relatives = read_tensor(in, model, "base_relatives", 3, (int64_t[]){h->bones, 4, 4});
  h->inverse_base_absolutes = read_tensor(in, model, "inverse_base_absolutes", 3, (int64_t[]){h->bones, 4, 4});
  h->base_positions = read_tensor(in, model, "base_positions", 2, positions);
  h->vertices = positions[0];
  h->weights = read_tensor(in, model, "weights", 2, (int64_t[]){h->vertices, h->bones});
  h->triangles = read_indices(in, model, "triangles", 2, triangles);
  h->faces = triangles[0];
  h->mirrored = read_bool(in, model, "is_mirrored");
}

static void *prepare_inputs(Reader *in) {
  Hand *h = read_room(in, 1, sizeof *h);
  if (!h)
    return NULL;
  *h = (Hand){.c = -1};
  const Json *data = read_object(in, in->input, "data"), *us = json_member(in->input, "us");
  h->theta = read_tensor(in, in->input, "theta", 1, (int64_t[]){ANGLES});
  read_model(in, read_object(in, data, "model"), h);
  h->at = read_indices(in, data, "correspondences", 1, &h->c);
  h->points = read_tensor(in, data, "points", 2, (int64_t[]){h->c, 3});
  if (!us || us->kind != JSON_ARRAY || us->count > 0)
    h->us = read_tensor(in, in->input, "us", 2, (int64_t[]){h->c, US});
  h->columns = h->us ? US + ANGLES : ANGLES;
  return h;
}

static void *prepare_objective(Reader *in) {
  Hand *h = prepare_inputs(in);
  if (!read_failed(in))
    h->residuals = read_room(in, 3 * h->c, sizeof *h->residuals);
  return h;
}

static void *prepare_jacobian(Reader *in) {
  Hand *h = prepare_inputs(in);
  if (!read_failed(in))
    h->jacobian = read_room(in, 3 * h->c * h->columns, sizeof *h->jacobian);
  return h;
}

static int run_objective(void *problem) {
  Hand *h = problem;
  if (h->us)
    return ht_complicated(h->c, h->bones, h->vertices, h->faces, h->theta, h->us, h->parents, h->base_relatives,
                          h->inverse_base_absolutes, h->base_positions, h->weights, h->triangles, h->mirrored, h->at,
                          h->points, h->residuals);
  return ht_simple(h->bones, h->vertices, h->faces, h->c, h->theta, h->parents, h->base_relatives,
                   h->inverse_base_absolutes, h->base_positions, h->weights, h->triangles, h->mirrored, h->at,
                   h->points, h->residuals);
}

static int run_jacobian(void *problem) {
  Hand *h = problem;
  if (h->us)
    return ht_complicated_jacobian(h->c, h->bones, h->vertices, h->faces, h->theta, h->us, h->parents,
                                   h->base_relatives, h->inverse_base_absolutes, h->base_positions, h->weights,
                                   h->triangles, h->mirrored, h->at, h->points, h->jacobian);
  return ht_simple_jacobian(h->bones, h->vertices, h->faces, h->c, h->theta, h->parents, h->base_relatives,
                            h->inverse_base_absolutes, h->base_positions, h->weights, h->triangles, h->mirrored, h->at,
                            h->points, h->jacobian);
}

static void print_objective(const void *problem, FILE *to) {
  const Hand *h = problem;
  json_write_tensor(to, h->residuals, 1, (int64_t[]){3 * h->c});
}

static void print_jacobian(const void *problem, FILE *to) {
  const Hand *h = problem;
  json_write_tensor(to, h->jacobian, 2, (int64_t[]){3 * h->c, h->columns});
}

const Function hand_functions[] = {
    {"ht", "objective", prepare_objective, run_objective, print_objective},
    {"ht", "jacobian", prepare_jacobian, run_jacobian, print_jacobian},
    {0},
};
