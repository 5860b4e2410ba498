/* Hand tracking on a hand made by formula, of the size of ADBench's: 22 bones, 544 vertices, 1084 triangles; the whole
   Jacobian. Sizes: whether to points of triangles, and how many points.
   Beside it one by hand, which knows the hand, as ADBench's in C++ does: an angle moves the bones of its finger alone,
   from its own on, and tangents are computed of these and of the vertices that are asked for. */
#include "ht.h"
#include "row.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BONES = 22, VERTICES = 544, FACES = 1084, ANGLES = 26 };
enum { THETA, US, PARENTS, RELATIVES, ABSOLUTES, POSITIONS, WEIGHTS, TRIANGLES, AT, TO, RESIDUALS };

/* -- By hand */
enum { FIRST_ANGLE = 6, FINGER_ANGLES = ANGLES - FIRST_ANGLE };
typedef double Matrix[16];

typedef struct Hand {
  Matrix relative[BONES], absolute[BONES], transform[BONES];
  bool moves[FINGER_ANGLES][BONES];
  Matrix relative_dot[FINGER_ANGLES], absolute_dot[FINGER_ANGLES][BONES], transform_dot[FINGER_ANGLES][BONES];
  double rotation[3][3], rotation_dot[3][3][3];
  double posed[VERTICES][3];
} Hand;

static void product(const double *a, const double *b, double *to) {
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++)
      to[4 * i + j] = a[4 * i] * b[j] + a[4 * i + 1] * b[4 + j] + a[4 * i + 2] * b[8 + j] + a[4 * i + 3] * b[12 + j];
}

/* A turn about x by a, then about z by b, and its derivatives by either. */
static void turn(double a, double b, double *to, double *by_a, double *by_b) {
  const double ca = cos(a), sa = sin(a), cb = cos(b), sb = sin(b);
  const double turned[] = {cb, -sb * ca, sb * sa, 0, sb, cb * ca, -cb * sa, 0, 0, sa, ca, 0, 0, 0, 0, 1};
  const double turned_a[] = {0, sb * sa, sb * ca, 0, 0, -cb * sa, -cb * ca, 0, 0, ca, -sa, 0, 0, 0, 0, 0};
  const double turned_b[] = {-sb, -cb * ca, cb * sa, 0, cb, -sb * ca, sb * sa, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  memcpy(to, turned, sizeof turned);
  memcpy(by_a, turned_a, sizeof turned_a);
  memcpy(by_b, turned_b, sizeof turned_b);
}

/* The angles of a finger: of its first bone, of that to the side, of the next two. */
static void move_bones(const Row *row, Hand *h) {
  const double *base = INPUT(row, double, RELATIVES), *theta = INPUT(row, double, THETA) + FIRST_ANGLE;
  for (int i = 0; i < BONES; i++) {
    const int joint = (i - 2) % 4, first = i - 2 - joint, parent = INPUT(row, int32_t, PARENTS)[i];
    const int own = i < 2 || joint == 3 ? -1 : first + (joint ? joint + 1 : 0), side = own == first ? first + 1 : -1;
    Matrix turned, by_own, by_side;
    turn(own < 0 ? 0 : theta[own], side < 0 ? 0 : theta[side], turned, by_own, by_side);
    product(base + 16 * i, turned, h->relative[i]);
    if (own >= 0)
      product(base + 16 * i, by_own, h->relative_dot[own]);
    if (side >= 0)
      product(base + 16 * i, by_side, h->relative_dot[side]);
    if (parent < 0)
      memcpy(h->absolute[i], h->relative[i], sizeof(Matrix));
    else
      product(h->absolute[parent], h->relative[i], h->absolute[i]);
    for (int d = 0; d < FINGER_ANGLES; d++) {
      h->moves[d][i] = d == own || d == side || (parent >= 0 && h->moves[d][parent]);
      if ((d == own || d == side) && parent < 0)
        memcpy(h->absolute_dot[d][i], h->relative_dot[d], sizeof(Matrix));
      else if (d == own || d == side)
        product(h->absolute[parent], h->relative_dot[d], h->absolute_dot[d][i]);
      else if (h->moves[d][i])
        product(h->absolute_dot[d][parent], h->relative[i], h->absolute_dot[d][i]);
    }
  }
  for (int i = 0; i < BONES; i++) {
    const double *inverse = INPUT(row, double, ABSOLUTES) + 16 * i;
    product(h->absolute[i], inverse, h->transform[i]);
    for (int d = 0; d < FINGER_ANGLES; d++)
      if (h->moves[d][i])
        product(h->absolute_dot[d][i], inverse, h->transform_dot[d][i]);
  }
}

static void rotate(const double *r, Hand *h) {
  const double angle = sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2]), s = sin(angle), c = cos(angle);
  const double u[3] = {r[0] / angle, r[1] / angle, r[2] / angle};
  const double across[3][3] = {{0, -u[2], u[1]}, {u[2], 0, -u[0]}, {-u[1], u[0], 0}};
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      h->rotation[i][j] = (i == j ? c : 0) + s * across[i][j] + (1 - c) * u[i] * u[j];
  for (int k = 0; k < 3; k++) {
    double d[3];
    for (int i = 0; i < 3; i++)
      d[i] = ((i == k) - u[i] * u[k]) / angle;
    const double across_dot[3][3] = {{0, -d[2], d[1]}, {d[2], 0, -d[0]}, {-d[1], d[0], 0}};
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++)
        h->rotation_dot[k][i][j] = u[k] * ((i == j ? -s : 0) + c * across[i][j] + s * u[i] * u[j]) +
                                   s * across_dot[i][j] + (1 - c) * (d[i] * u[j] + u[i] * d[j]);
  }
}

/* Adds weight times the vertex as some bones have it. */
static void add_vertex(const Row *row, int v, double weight, const Matrix *transforms, const bool *bones, double *to) {
  const double *weights = INPUT(row, double, WEIGHTS) + (ptrdiff_t)BONES * v;
  const double *p = INPUT(row, double, POSITIONS) + (ptrdiff_t)4 * v;
  for (int i = 0; i < BONES; i++) {
    if (weights[i] == 0 || (bones && !bones[i]))
      continue;
    const double w = weight * weights[i], *t = transforms[i];
    for (int r = 0; r < 3; r++)
      to[r] += w * (t[4 * r] * p[0] + t[4 * r + 1] * p[1] + t[4 * r + 2] * p[2] + t[4 * r + 3] * p[3]);
  }
}

/* A column of minus matrix times v. */
static void put(double *to, int columns, const double matrix[3][3], const double *v) {
  for (int r = 0; r < 3; r++)
    to[(ptrdiff_t)r * columns] = -(matrix[r][0] * v[0] + matrix[r][1] * v[1] + matrix[r][2] * v[2]);
}

static void point(const Row *row, const Hand *h, int64_t i, double *to) {
  const int first = row->sizes[0] ? 2 : 0, columns = ANGLES + first, corners = first ? 3 : 1;
  const int at = INPUT(row, int32_t, AT)[i], *triangle = INPUT(row, int32_t, TRIANGLES) + (ptrdiff_t)3 * at;
  const double *us = INPUT(row, double, US) + 2 * i;
  const double share[3] = {first ? us[0] : 1, first ? us[1] : 0, first ? 1 - us[0] - us[1] : 0};
  double posed[3] = {0}, off[3];
  for (int k = 0; k < corners; k++)
    for (int r = 0; r < 3; r++)
      posed[r] += share[k] * h->posed[first ? triangle[k] : at][r];
  for (int e = 0; e < first; e++) {
    for (int r = 0; r < 3; r++)
      off[r] = h->posed[triangle[e]][r] - h->posed[triangle[2]][r];
    put(to + e, columns, h->rotation, off);
  }
  for (int k = 0; k < 3; k++) {
    put(to + first + k, columns, h->rotation_dot[k], posed);
    for (int r = 0; r < 3; r++)
      to[(ptrdiff_t)r * columns + first + 3 + k] = r == k ? -1 : 0;
  }
  for (int d = 0; d < FINGER_ANGLES; d++) {
    double dot[3] = {0};
    for (int k = 0; k < corners; k++)
      add_vertex(row, first ? triangle[k] : at, share[k], h->transform_dot[d], h->moves[d], dot);
    put(to + first + FIRST_ANGLE + d, columns, h->rotation, dot);
  }
}

static int by_hand(const Row *row, void *const *to) {
  const int64_t c = row->sizes[1], columns = row->sizes[0] ? ANGLES + 2 : ANGLES;
  static Hand h;
  move_bones(row, &h);
  rotate(INPUT(row, double, THETA), &h);
  memset(h.posed, 0, sizeof h.posed);
  for (int v = 0; v < VERTICES; v++)
    add_vertex(row, v, 1, h.transform, NULL, h.posed[v]);
  for (int64_t i = 0; i < c; i++)
    point(row, &h, i, (double *)to[0] + 3 * columns * i);
  return 0;
}

/* -- Ours */
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
  row->by_hand = by_hand;
  /* Vertices that are seen, four bones of three rows each, in the directions of the angles. */
  row->flops = (double)(c * (row->sizes[0] ? 3 : 1)) * 4 * 3 * 8 * (1 + ANGLES);
}
