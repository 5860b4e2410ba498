// ADOL-C: the tape is recorded once, and each call runs it forward and back.
#include "peer.hpp"
#include <adolc/adolc.h>

struct Adolc {
  enum { TAG = 1, BLOCK_TAG };

  // Buffers so large that the tape stays in memory.
  static void record(short tag, const std::function<void()> &run, double operations) {
    const unsigned entries = unsigned(1000000 + 8 * operations);
    trace_on(tag, 0, entries, entries, entries, entries);
    run();
    trace_off();
  }

  template <class Model> static Call gradient(const Inputs &in, const std::vector<double> &at) {
    record(
        TAG,
        [&] {
          std::vector<adouble> x(at.size());
          for (size_t i = 0; i < at.size(); i++)
            x[i] <<= at[i];
          adouble y =
              Model::objective(in, static_cast<const adouble *>(x.data()), [](const adouble &v) { return v.value(); });
          double value;
          y >>= value;
        },
        Model::operations(in));
    return [at](double *to) { ::gradient(TAG, int(at.size()), at.data(), to); };
  }

  // The feature is no number of the tape: it falls out of the Jacobian.
  static Call bundle(const Inputs &in) {
    record(
        BLOCK_TAG,
        [&] {
          double at[RESIDUAL_INPUTS], value;
          gather(in, 0, at);
          std::vector<adouble> x(RESIDUAL_INPUTS);
          for (int i = 0; i < RESIDUAL_INPUTS; i++)
            x[i] <<= at[i];
          adouble y[2];
          residual(static_cast<const adouble *>(x.data()), in[3].values.data(), y);
          y[0] >>= value;
          y[1] >>= value;
        },
        100);
    return [&in](double *to) {
      const int64_t count = in[2].sizes[0];
      for (int64_t i = 0; i < count; i++, to += 2 * RESIDUAL_INPUTS) {
        double at[RESIDUAL_INPUTS], *rows[2] = {to, to + RESIDUAL_INPUTS};
        gather(in, i, at);
        jacobian(BLOCK_TAG, 2, RESIDUAL_INPUTS, at, rows);
        // Of the weight: the tape has the first feature.
        for (int k = 0; k < 2; k++)
          rows[k][RESIDUAL_INPUTS - 1] += in[3].values[k] - in[3].values[2 * i + k];
      }
    };
  }
};

int main() {
  return serve<Adolc>();
}
