/* Functions of 3 to 12 numbers, called a million times, each beside its gradient by hand. */
#include "row.h"
#include "small.h"
#include <math.h>

enum { MILLION = 1000000 };

static void valley_by_hand(const double *x, double *value, double *g) {
  g[0] = g[1] = g[2] = *value = 0;
  for (int i = 0; i < 2; i++) {
    const double a = x[i + 1] - x[i] * x[i], b = 1 - x[i];
    *value += 100 * a * a + b * b;
    g[i] -= 400 * a * x[i] + 2 * b;
    g[i + 1] += 200 * a;
  }
}

static void circuit_by_hand(const double *x, double *value, double *g) {
  const double sum = x[0] + x[1], vb1 = 12 * x[1] / sum, gain = x[5] * (x[4] + 9), below = gain + x[2];
  const double f = ((vb1 + 0.74) * gain + 11.35 * x[2] + 0.74 * x[2] * gain / x[3]) / below;
  const double by_gain = (vb1 + 0.74 + 0.74 * x[2] / x[3] - f) / below, by_vb1 = gain / below;
  g[0] = -by_vb1 * vb1 / sum;
  g[1] = by_vb1 * (12 - vb1) / sum;
  g[2] = (11.35 + 0.74 * gain / x[3] - f) / below;
  g[3] = -0.74 * x[2] * gain / (x[3] * x[3] * below);
  g[4] = by_gain * x[5];
  g[5] = by_gain * (x[4] + 9);
  *value = f;
}

static void piston_by_hand(const double *x, double *value, double *g) {
  const double m = x[0], s = x[1], v0 = x[2], k = x[3], p0 = x[4], ta = x[5], t0 = x[6];
  const double a = p0 * s + 19.62 * m - k * v0 / s, gas = p0 * v0 / t0 * ta, root = sqrt(a * a + 4 * k * gas);
  const double v = s / (2 * k) * (root - a), stiff = s * s * gas / (v * v), below = k + stiff;
  const double c = 2 * 3.14159265358979323846 * sqrt(m / below);
  const double below_bar = -0.5 * c / below, v_bar = -2 * below_bar * stiff / v;
  const double root_bar = v_bar * s / (2 * k), a_bar = root_bar * (a / root - 1);
  const double gas_bar = below_bar * stiff / gas + root_bar * 2 * k / root;
  g[0] = 0.5 * c / m + 19.62 * a_bar;
  g[1] = v_bar * v / s + 2 * below_bar * stiff / s + a_bar * (p0 + k * v0 / (s * s));
  g[2] = gas_bar * gas / v0 - a_bar * k / s;
  g[3] = below_bar - v_bar * v / k + root_bar * 2 * gas / root - a_bar * v0 / s;
  g[4] = gas_bar * gas / p0 + a_bar * s;
  g[5] = gas_bar * gas / ta;
  g[6] = -gas_bar * gas / t0;
  *value = c;
}

static void borehole_by_hand(const double *x, double *value, double *g) {
  const double rw = x[0], tu = x[2], tl = x[4], l = x[6], kw = x[7], lr = log(x[1] / rw);
  const double above = 2 * 3.14159265358979323846 * tu * (x[3] - x[5]), leak = 2 * l * tu / (rw * rw * kw);
  const double below = lr * (1 + tu / tl) + leak, f = above / below, by_lr = -f / below * (1 + tu / tl);
  const double by_leak = -f / below;
  g[0] = -by_lr / rw - 2 * by_leak * leak / rw;
  g[1] = by_lr / x[1];
  g[2] = f / tu + by_leak * (lr / tl + leak / tu);
  g[3] = f / (x[3] - x[5]);
  g[4] = -by_leak * lr * tu / (tl * tl);
  g[5] = -g[3];
  g[6] = by_leak * leak / l;
  g[7] = -by_leak * leak / kw;
  *value = f;
}

static void wing_by_hand(const double *x, double *value, double *g) {
  const double c = cos(x[3]);
  const double f = 0.036 * pow(x[0], 0.758) * pow(x[1], 0.0035) * pow(x[2] / (c * c), 0.6) * pow(x[4], 0.006) *
                   pow(x[5], 0.04) * pow(100 * x[6] / c, -0.3) * pow(x[7] * x[8], 0.49);
  g[0] = 0.758 * f / x[0] + x[9];
  g[1] = 0.0035 * f / x[1];
  g[2] = 0.6 * f / x[2];
  g[3] = (1.2 - 0.3) * f * tan(x[3]);
  g[4] = 0.006 * f / x[4];
  g[5] = 0.04 * f / x[5];
  g[6] = -0.3 * f / x[6];
  g[7] = 0.49 * f / x[7];
  g[8] = 0.49 * f / x[8];
  g[9] = x[0];
  *value = f + x[0] * x[9];
}

static void arm_by_hand(const double *x, double *value, double *g) {
  double angle = 0, u = 0, v = 0, c[6], s[6], turned = 0;
  for (int i = 0; i < 6; i++) {
    angle += x[i];
    c[i] = cos(angle);
    s[i] = sin(angle);
    u += x[6 + i] * c[i];
    v += x[6 + i] * s[i];
  }
  *value = sqrt(u * u + v * v);
  for (int i = 5; i >= 0; i--) {
    g[6 + i] = (u * c[i] + v * s[i]) / *value;
    turned += x[6 + i] * (v * c[i] - u * s[i]) / *value;
    g[i] = turned;
  }
}

/* Each call at another place, by turns. */
#define SMALL(name, n, cost, ...) \
  static int name##_objective(const Row *row) { \
    double value; \
    for (int i = 0; i < MILLION; i++) \
      name(INPUT(row, double, 0) + i % 8 * n, &value); \
    return 0; \
  } \
  static int name##_derivative(const Row *row, void *const *to) { \
    double value; \
    for (int i = 0; i < MILLION; i++) \
      name##_grad(INPUT(row, double, 0) + i % 8 * n, &value, to[0]); \
    return 0; \
  } \
  static int name##_hand(const Row *row, void *const *to) { \
    void (*volatile call)(const double *, double *, double *) = name##_by_hand; \
    double value; \
    for (int i = 0; i < MILLION; i++) \
      call(INPUT(row, double, 0) + i % 8 * n, &value, to[0]); \
    return 0; \
  } \
  static void build_##name(Row *row) { \
    static const double at[] = {__VA_ARGS__}; \
    double *x = row_input(row, "x", 'd', 2, (int64_t[]){8, n}, 0.02, 1); \
    for (int i = 0; i < 8 * n; i++) \
      x[i] *= at[i % n]; \
    row_output(row, 'd', n); \
    row->objective = name##_objective; \
    row->derivative = name##_derivative; \
    row->by_hand = name##_hand; \
    row->repeats = MILLION; \
    row->flops = cost; \
    row->bytes = 0; /* they stay in the cache */ \
  }

SMALL(valley, 3, 30, 1.1, 0.9, 1.2)
SMALL(circuit, 6, 45, 100, 50, 1.5, 1.8, 0.8, 150)
SMALL(piston, 7, 80, 45, 0.012, 0.006, 3000, 100000, 293, 350)
SMALL(borehole, 8, 45 + FUNCTION_FLOPS, 0.1, 5000, 90000, 1050, 90, 760, 1400, 11000)
SMALL(wing, 10, 30 + 9 * FUNCTION_FLOPS, 175, 250, 8, 0.1, 30, 0.7, 0.13, 4, 2000, 0.05)
SMALL(arm, 12, 70 + 12 * FUNCTION_FLOPS, 0.3, 0.5, 0.7, 0.2, 0.9, 0.4, 1, 0.8, 0.6, 0.5, 0.4, 0.3)

const Case small_cases[] = {
    {"3 numbers: valley", "valley", build_valley, {0}},
    {"6 numbers: circuit", "circuit", build_circuit, {0}},
    {"7 numbers: piston", "piston", build_piston, {0}},
    {"8 numbers: borehole", "borehole", build_borehole, {0}},
    {"10 numbers: wing", "wing", build_wing, {0}},
    {"12 numbers: arm", "arm", build_arm, {0}},
    {0},
};
