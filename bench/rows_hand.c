/* Hand tracking on a hand made by formula, of the size of ADBench's: 22 bones, 544 vertices, 1084 triangles; the whole
   Jacobian. Sizes: whether to points of triangles, and how many points. */
#include "ht.h"
#include "row.h"
#include <math.h>
#include <stdlib.h>

enum { BONES = 22, VERTICES = 544, FACES = 1084, ANGLES = 26 };
enum { THETA, US, PARENTS, RELATIVES, ABSOLUTES, POSITIONS, WEIGHTS, TRIANGLES, AT, TO, RESIDUALS };

static int objective(const Row *row) {
  const int64_t c = row->sizes[1];
  double *residuals = row->inputs[RESIDUALS].data;
  if (row->sizes[0])
    return ht_complicated(c, BONES, VERTICES, FACES, INPUT(row, double, THETA), INPUT(row, double, US),
                          INPUT(row, int32_t, PARENTS), INPUT(row, double, RELATIVES), INPUT(row, double, ABSOLUTES),
                          INPUT(row, double, POSITIONS), INPUT(row, double, WEIGHTS), INPUT(row, int32_t, TRIANGLES), 0,
                          INPUT(row, int32_t, AT), INPUT(row, double, TO), residuals);
  return ht_simple(BONES, VERTICES, FACES, c, INPUT(row, double, THETA), INPUT(row, int32_t, PARENTS),
                   INPUT(row, double, RELATIVES), INPUT(row, double, ABSOLUTES), INPUT(row, double, POSITIONS),
                   INPUT(row, double, WEIGHTS), INPUT(row, int32_t, TRIANGLES), 0, INPUT(row, int32_t, AT),
                   INPUT(row, double, TO), residuals);
}

static int derivative(const Row *row, void *const *to) {
  const int64_t c = row->sizes[1];
  if (row->sizes[0])
    return ht_complicated_jacobian(c, BONES, VERTICES, FACES, INPUT(row, double, THETA), INPUT(row, double, US),
                                   INPUT(row, int32_t, PARENTS), INPUT(row, double, RELATIVES),
                                   INPUT(row, double, ABSOLUTES), INPUT(row, double, POSITIONS),
                                   INPUT(row, double, WEIGHTS), INPUT(row, int32_t, TRIANGLES), 0,
                                   INPUT(row, int32_t, AT), INPUT(row, double, TO), to[0]);
  return ht_simple_jacobian(BONES, VERTICES, FACES, c, INPUT(row, double, THETA), INPUT(row, int32_t, PARENTS),
                            INPUT(row, double, RELATIVES), INPUT(row, double, ABSOLUTES), INPUT(row, double, POSITIONS),
                            INPUT(row, double, WEIGHTS), INPUT(row, int32_t, TRIANGLES), 0, INPUT(row, int32_t, AT),
                            INPUT(row, double, TO), to[0]);
}

/* The tables of the model: a tree of bones, four bones for each vertex, triangles along the vertices. */
static void fill_model(Row *row) {
  double *relatives = INPUT(row, double, RELATIVES), *absolutes = INPUT(row, double, ABSOLUTES);
  double *weights = INPUT(row, double, WEIGHTS);
  for (int i = 0; i < BONES; i++) {
    INPUT(row, int32_t, PARENTS)[i] = i == 0 ? -1 : i % 4 == 2 ? 0 : i - 1;
    for (int k = 0; k < 4; k++)
      relatives[16 * i + 12 + k] = absolutes[16 * i + 12 + k] = k == 3;
  }
  for (int v = 0; v < VERTICES; v++) {
    INPUT(row, double, POSITIONS)[4 * v + 3] = 1;
    for (int i = 0; i < BONES; i++)
      weights[BONES * v + i] = abs(i - 5 * v % BONES) < 4 && i % 2 == v % 2 ? 0.25 : 0;
  }
  for (int f = 0; f < 3 * FACES; f++)
    INPUT(row, int32_t, TRIANGLES)[f] = (f / 6 + f % 3 * (f % 3)) % VERTICES;
}

void build_hand(Row *row) {
  const int64_t c = row->sizes[1], columns = row->sizes[0] ? ANGLES + 2 : ANGLES;
  row_input(row, "theta", 'd', 1, (int64_t[]){ANGLES}, 0.4, 0);
  row_input(row, "us", 'd', 2, (int64_t[]){row->sizes[0] ? c : 0, 2}, 0.2, 0.4);
  row_input(row, "parents", 'i', 1, (int64_t[]){BONES}, 0, 0);
  row_input(row, "relatives", 'd', 3, (int64_t[]){BONES, 4, 4}, 0.5, 0);
  row_input(row, "absolutes", 'd', 3, (int64_t[]){BONES, 4, 4}, 0.5, 0);
  row_input(row, "positions", 'd', 2, (int64_t[]){VERTICES, 4}, 1, 0);
  row_input(row, "weights", 'd', 2, (int64_t[]){VERTICES, BONES}, 0, 0);
  row_input(row, "triangles", 'i', 2, (int64_t[]){FACES, 3}, 0, 0);
  row_input(row, "at", 'i', 1, (int64_t[]){c}, VERTICES / 2 - 1, VERTICES / 2);
  row_input(row, "points", 'd', 2, (int64_t[]){c, 3}, 1, 0);
  row->inputs[RESIDUALS].data = row_room(row, 3 * c, sizeof(double)); /* no input */
  fill_model(row);
  row_output(row, 'd', 3 * c * columns);
  row->objective = objective;
  row->derivative = derivative;
  /* Vertices that are seen, four bones of three rows each, in the directions of the angles. */
  row->flops = (double)(c * (row->sizes[0] ? 3 : 1)) * 4 * 3 * 8 * (1 + ANGLES);
}
