/* particle and saddle: descents, by derivatives in every pair of modes. */
#include "particle.h"
#include "problem.h"
#include "saddle.h"

typedef struct Descent {
  double w;
  const double *start;
  int64_t n;
  double result[4];
} Descent;

static void *prepare_particle(Reader *in) {
  Descent *d = read_room(in, 1, sizeof *d);
  if (d)
    *d = (Descent){.w = read_number(in, "w"), .n = 1};
  return d;
}

static void *prepare_saddle(Reader *in) {
  Descent *d = read_room(in, 1, sizeof *d);
  if (d)
    *d = (Descent){.start = read_tensor(in, in->input, "start", 1, (int64_t[]){2}), .n = 4};
  return d;
}

#define RUN(modes) \
  static int run_particle_##modes(void *problem) { \
    Descent *d = problem; \
    return particle_##modes(d->w, d->result); \
  } \
  static int run_saddle_##modes(void *problem) { \
    Descent *d = problem; \
    return saddle_##modes(d->start, d->result); \
  }
RUN(ff)
RUN(fr)
RUN(rf)
RUN(rr)

static void print_number(const void *problem, FILE *to) {
  json_write_number(to, ((const Descent *)problem)->result[0]);
}

static void print_vector(const void *problem, FILE *to) {
  const Descent *d = problem;
  json_write_tensor(to, d->result, 1, &d->n);
}

const Function descent_functions[] = {
    {"particle", "ff", prepare_particle, run_particle_ff, print_number},
    {"particle", "fr", prepare_particle, run_particle_fr, print_number},
    {"particle", "rf", prepare_particle, run_particle_rf, print_number},
    {"particle", "rr", prepare_particle, run_particle_rr, print_number},
    {"saddle", "ff", prepare_saddle, run_saddle_ff, print_vector},
    {"saddle", "fr", prepare_saddle, run_saddle_fr, print_vector},
    {"saddle", "rf", prepare_saddle, run_saddle_rf, print_vector},
    {"saddle", "rr", prepare_saddle, run_saddle_rr, print_vector},
    {0},
};
