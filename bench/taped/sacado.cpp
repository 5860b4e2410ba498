// Sacado: reverse mode records anew in each call (Rad); Jacobians of residuals forward, all 15 directions at once
// (SFad).
#include "peer.hpp"
#include <Sacado_No_Kokkos.hpp>

struct Taped {
  using Number = Sacado::Rad::ADvar<double>;
  using Direction = Sacado::Fad::SFad<double, RESIDUAL_INPUTS>;

  template <class Model> static Call gradient(const Inputs &in, const std::vector<double> &at) {
    return [&in, at](double *to) {
      {
        std::vector<Number> x(at.begin(), at.end());
        Number y = Model::objective(in, static_cast<const Number *>(x.data()), [](const Number &v) { return v.val(); });
        Sacado::Rad::ADcontext<double>::Gradcomp();
        for (size_t i = 0; i < x.size(); i++)
          to[i] = x[i].adj();
      }
      Sacado::Rad::ADcontext<double>::re_init();
    };
  }

  static Call bundle(const Inputs &in) {
    return [&in](double *to) {
      const int64_t count = in[2].sizes[0];
      for (int64_t i = 0; i < count; i++)
        block(in, i, to + 2 * RESIDUAL_INPUTS * i);
    };
  }

  static void block(const Inputs &in, int64_t i, double *to) {
    double at[RESIDUAL_INPUTS];
    Direction x[RESIDUAL_INPUTS], y[2];
    gather(in, i, at);
    for (int k = 0; k < RESIDUAL_INPUTS; k++)
      x[k] = Direction(RESIDUAL_INPUTS, k, at[k]);
    residual(static_cast<const Direction *>(x), &in[3].values[2 * i], y);
    for (int k = 0; k < 2; k++)
      for (int a = 0; a < RESIDUAL_INPUTS; a++)
        to[k * RESIDUAL_INPUTS + a] = y[k].dx(a);
  }
};

int main() {
  return serve<Taped>();
}
