// The rows of the table as templates over the number, for C++ libraries that record what is computed: straightforward
// loops, as one writes them for plain doubles. Each model says by how many of the inputs, from the first, it is
// differentiated, and about how many operations it has, so that no tape outgrows the memory.
#ifndef GRADC_BENCH_TAPED_MODELS_HPP
#define GRADC_BENCH_TAPED_MODELS_HPP
#include <cmath>
#include <cstdint>
#include <vector>

struct Input {
  std::vector<int64_t> sizes;
  std::vector<double> values;
};
using Inputs = std::vector<Input>;

// logsumexp of n numbers; the largest is no part of the derivative.
template <class T, class Value> T log_sum_exp(const T *x, int64_t n, Value value) {
  using std::exp, std::log;
  double most = value(x[0]);
  for (int64_t i = 1; i < n; i++)
    most = value(x[i]) > most ? value(x[i]) : most;
  T sum = 0.0;
  for (int64_t i = 0; i < n; i++)
    sum += exp(x[i] - most);
  return log(sum) + most;
}

struct Gmm {
  static constexpr int active = 4;
  static double operations(const Inputs &in) {
    return 2.0 * double(in[4].sizes[0]) * double(in[1].values.size() + in[3].values.size());
  }
  template <class T, class Value> static T objective(const Inputs &in, const T *a, Value value) {
    using std::exp;
    const int64_t n = in[4].sizes[0], d = in[4].sizes[1], k = in[0].sizes[0], below = d * (d - 1) / 2;
    const T *mu = a + k, *q = mu + k * d, *l = q + k * d;
    std::vector<T> scale(k * d), det(k), beta(k), y(d), off(d);
    T fit = 0.0;
    for (int64_t j = 0; j < k; j++) {
      det[j] = 0.0;
      for (int64_t r = 0; r < d; r++) {
        scale[j * d + r] = exp(q[j * d + r]);
        det[j] += q[j * d + r];
        fit += q[j * d + r] - 0.5 * scale[j * d + r] * scale[j * d + r];
      }
      for (int64_t r = 0; r < below; r++)
        fit -= 0.5 * l[j * below + r] * l[j * below + r];
    }
    for (int64_t i = 0; i < n; i++) {
      for (int64_t j = 0; j < k; j++) {
        for (int64_t r = 0; r < d; r++) {
          off[r] = in[4].values[i * d + r] - mu[j * d + r];
          y[r] = scale[j * d + r] * off[r];
        }
        const T *at = l + j * below;
        for (int64_t c = 0; c < d; c++)
          for (int64_t r = c + 1; r < d; r++)
            y[r] += *at++ * off[c];
        T square = 0.0;
        for (int64_t r = 0; r < d; r++)
          square += y[r] * y[r];
        beta[j] = a[j] + det[j] - 0.5 * square;
      }
      fit += log_sum_exp(beta.data(), k, value);
    }
    return fit - double(n) * log_sum_exp(a, k, value);
  }
};

struct Lstm {
  static constexpr int active = 2;
  static double operations(const Inputs &in) { return 10.0 * double(in[3].values.size() * in[2].sizes[0]); }
  template <class T, class Value> static T objective(const Inputs &in, const T *a, Value) {
    using std::exp, std::log, std::tanh;
    const int64_t layers = in[2].sizes[0] / 2, b = in[2].sizes[1], steps = in[3].sizes[0] - 1;
    const T *extra = a + 8 * layers * b;
    const auto sigmoid = [](const T &x) -> T { return 1.0 / (1.0 + exp(-x)); };
    std::vector<T> state(in[2].values.begin(), in[2].values.end()), x(b);
    T total = 0.0;
    for (int64_t t = 0; t < steps; t++) {
      const double *now = &in[3].values[t * b], *next = now + b;
      for (int64_t i = 0; i < b; i++)
        x[i] = now[i] * extra[i];
      for (int64_t k = 0; k < layers; k++) {
        const T *w = a + 8 * k * b, *v = w + 4 * b;
        T *h = &state[2 * k * b], *s = h + b;
        for (int64_t i = 0; i < b; i++) {
          const T forget = sigmoid(x[i] * w[i] + v[i]), take = sigmoid(h[i] * w[b + i] + v[b + i]);
          const T out = sigmoid(x[i] * w[2 * b + i] + v[2 * b + i]), change = tanh(h[i] * w[3 * b + i] + v[3 * b + i]);
          s[i] = s[i] * forget + take * change;
          x[i] = h[i] = out * tanh(s[i]);
        }
      }
      T sum = 2.0;
      double wanted = 0;
      for (int64_t i = 0; i < b; i++) {
        const T y = x[i] * extra[b + i] + extra[2 * b + i];
        sum += exp(y);
        total += next[i] * y;
        wanted += next[i];
      }
      total -= wanted * log(sum);
    }
    return total * (-1.0 / double(steps * b));
  }
};

struct Llsq {
  static constexpr int active = 1;
  static double operations(const Inputs &in) { return 2.0 * double(in[0].values.size() * in[1].values.size()); }
  template <class T, class Value> static T objective(const Inputs &in, const T *a, Value) {
    const int64_t m = in[0].sizes[0], n = in[1].sizes[0];
    T total = 0.0;
    for (int64_t i = 0; i < n; i++) {
      const double t = -1 + 2 * double(i) / (double(n) - 1);
      double power = 1;
      T miss = double((t < 0) - (t > 0));
      for (int64_t j = 0; j < m; j++, power *= t)
        miss += a[j] * power;
      total += 0.5 * miss * miss;
    }
    return total;
  }
};

struct Lse {
  static constexpr int active = 1;
  static double operations(const Inputs &in) { return 3.0 * double(in[0].values.size()); }
  template <class T, class Value> static T objective(const Inputs &in, const T *a, Value value) {
    return log_sum_exp(a, in[0].sizes[0], value);
  }
};

struct Ode {
  static constexpr int active = 1;
  static constexpr int steps = 100;
  static double operations(const Inputs &in) { return 15.0 * steps * double(in[0].values.size()); }
  template <class T, class Value> static T objective(const Inputs &in, const T *a, Value) {
    const int64_t n = in[0].sizes[0];
    const double h = 2.0 / steps;
    std::vector<T> y(n), at(n), k(n), sum(n);
    for (int64_t i = 0; i < n; i++)
      y[i] = 0.0;
    for (int step = 0; step < steps; step++) {
      const double weights[] = {1, 2, 2, 1}, ahead[] = {h / 2, h / 2, h};
      at = y;
      for (int stage = 0; stage < 4; stage++) {
        for (int64_t i = n - 1; i >= 0; i--) {
          k[i] = i == 0 ? a[0] : T(a[i] * at[i - 1]);
          sum[i] = stage == 0 ? k[i] : T(sum[i] + weights[stage] * k[i]);
        }
        for (int64_t i = 0; i < n && stage < 3; i++)
          at[i] = y[i] + ahead[stage] * k[i];
      }
      for (int64_t i = 0; i < n; i++)
        y[i] += h / 6 * sum[i];
    }
    return y[n - 1];
  }
};

struct Bodies {
  static constexpr int active = 2;
  static double operations(const Inputs &in) { return 20.0 * double(in[3].sizes[0] * in[0].sizes[0] * in[0].sizes[0]); }
  template <class T, class Value> static T objective(const Inputs &in, const T *a, Value) {
    using std::sqrt;
    const int64_t n = in[0].sizes[0], steps = in[3].sizes[0];
    std::vector<T> q(a, a + 3 * n), v(a + 3 * n, a + 6 * n);
    for (int64_t t = 0; t < steps; t++) {
      for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
          const T x = q[3 * j] - q[3 * i], y = q[3 * j + 1] - q[3 * i + 1], z = q[3 * j + 2] - q[3 * i + 2];
          const T near = x * x + y * y + z * z + 0.01;
          const T pull = 0.01 * in[2].values[j] / (near * sqrt(near));
          v[3 * i] += pull * x, v[3 * i + 1] += pull * y, v[3 * i + 2] += pull * z;
        }
      for (int64_t i = 0; i < 3 * n; i++)
        q[i] += 0.01 * v[i];
    }
    T far = 0.0;
    for (int64_t i = 0; i < 3 * n; i++)
      far += q[i] * q[i];
    return far;
  }
};

struct Heat {
  static constexpr int active = 2;
  static double operations(const Inputs &in) { return 7.0 * double(in[2].sizes[0] * in[0].sizes[0]); }
  template <class T, class Value> static T objective(const Inputs &in, const T *a, Value) {
    const int64_t n = in[0].sizes[0], steps = in[2].sizes[0];
    const T *kappa = a + n;
    std::vector<T> u(a, a + n), next(n);
    for (int64_t t = 0; t < steps; t++) {
      next[0] = u[0], next[n - 1] = u[n - 1];
      for (int64_t i = 1; i + 1 < n; i++)
        next[i] = u[i] + 0.2 * (kappa[i] * (u[i + 1] - u[i]) - kappa[i - 1] * (u[i] - u[i - 1]));
      u.swap(next);
    }
    T sum = 0.0;
    for (int64_t i = 0; i < n; i++)
      sum += u[i] * u[i];
    return sum;
  }
};

// -- Functions of few numbers, at the place where the C program ends: the last of eight

enum { LAST_PLACE = 7 };

struct Few {
  static constexpr int active = 1;
  static double operations(const Inputs &) { return 100; }
};

struct Valley : Few {
  template <class T, class Value> static T objective(const Inputs &, const T *x, Value) {
    T sum = 0.0;
    for (int i = 0; i < 2; i++) {
      const T a = x[i + 1] - x[i] * x[i], b = 1.0 - x[i];
      sum += 100.0 * a * a + b * b;
    }
    return sum;
  }
};

struct Circuit : Few {
  template <class T, class Value> static T objective(const Inputs &, const T *x, Value) {
    const T vb1 = 12.0 * x[1] / (x[0] + x[1]), gain = x[5] * (x[4] + 9.0);
    return ((vb1 + 0.74) * gain + 11.35 * x[2] + 0.74 * x[2] * gain / x[3]) / (gain + x[2]);
  }
};

struct Piston : Few {
  template <class T, class Value> static T objective(const Inputs &, const T *x, Value) {
    using std::sqrt;
    const T a = x[4] * x[1] + 19.62 * x[0] - x[3] * x[2] / x[1], gas = x[4] * x[2] / x[6] * x[5];
    const T v = x[1] / (2.0 * x[3]) * (sqrt(a * a + 4.0 * x[3] * gas) - a);
    return 2.0 * M_PI * sqrt(x[0] / (x[3] + x[1] * x[1] * gas / (v * v)));
  }
};

struct Borehole : Few {
  template <class T, class Value> static T objective(const Inputs &, const T *x, Value) {
    using std::log;
    const T lr = log(x[1] / x[0]);
    const T below = lr * (1.0 + 2.0 * x[6] * x[2] / (lr * x[0] * x[0] * x[7]) + x[2] / x[4]);
    return 2.0 * M_PI * x[2] * (x[3] - x[5]) / below;
  }
};

struct Wing : Few {
  template <class T, class Value> static T objective(const Inputs &, const T *x, Value) {
    using std::cos, std::pow;
    const T c = cos(x[3]);
    const T powers =
        pow(x[0], 0.758) * pow(x[1], 0.0035) * pow(x[2] / (c * c), 0.6) * pow(x[4], 0.006) * pow(x[5], 0.04);
    return 0.036 * powers * pow(100.0 * x[6] / c, -0.3) * pow(x[7] * x[8], 0.49) + x[0] * x[9];
  }
};

struct Arm : Few {
  template <class T, class Value> static T objective(const Inputs &, const T *x, Value) {
    using std::cos, std::sin, std::sqrt;
    T angle = 0.0, u = 0.0, v = 0.0;
    for (int i = 0; i < 6; i++) {
      angle += x[i];
      u += x[6 + i] * cos(angle);
      v += x[6 + i] * sin(angle);
    }
    return sqrt(u * u + v * v);
  }
};

// -- Bundle adjustment: the residual of one observation, of 11 numbers of a camera, 3 of a point, and a weight

enum { RESIDUAL_INPUTS = 15 };

template <class T> void residual(const T *a, const double *feature, T *out) {
  using std::cos, std::sin, std::sqrt;
  const T *r = a, *point = a + 11;
  T v[3], axis[3], y[3], square = 0.0, along = 0.0;
  for (int i = 0; i < 3; i++) {
    v[i] = point[i] - a[3 + i];
    square += r[i] * r[i];
  }
  const T angle = sqrt(square), c = cos(angle), s = sin(angle);
  for (int i = 0; i < 3; i++) {
    axis[i] = r[i] / angle;
    along += axis[i] * v[i];
  }
  for (int i = 0; i < 3; i++) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    y[i] = v[i] * c + (axis[j] * v[k] - axis[k] * v[j]) * s + axis[i] * (along * (1.0 - c));
  }
  const T u0 = y[0] / y[2], u1 = y[1] / y[2], rho = u0 * u0 + u1 * u1;
  const T stretch = 1.0 + a[9] * rho + a[10] * rho * rho;
  out[0] = a[14] * (a[6] * u0 * stretch + a[7] - feature[0]);
  out[1] = a[14] * (a[6] * u1 * stretch + a[8] - feature[1]);
}
#endif
