// A user's program: y' = -k y with z = y^2 as an algebraic variable, one rate per instance, against the exact solution.
#include <cmath>
#include <cstdio>
#include <vector>

#include <manyfold/ensemble.hpp>

struct Decay {
  static constexpr const char* name = "decay";
  static constexpr double t_span[] = {0.0, 1.0};
  static constexpr manyfold::Variable variables[] = {{.name = "y", .initial = 1.0}, {.name = "z", .algebraic = true}};
  static constexpr manyfold::Parameter parameters[] = {{.name = "k", .unit = "s-1", .value = 2.0}};
  static constexpr void residual(auto, const auto& y, const auto& dy, const auto& p, auto& F) {
    F[0] = dy[0] + p[0] * y[0];
    F[1] = y[1] - y[0] * y[0];
  }
};

int main() {
  std::vector<double> rates;
  for (int i = 0; i < 1000; ++i) rates.push_back(0.5 + 0.01 * i);
  manyfold::Ensemble<Decay> ensemble(1000);
  ensemble.set("k", rates);
  const auto result = ensemble.solve({.rtol = 1e-8, .atol = {1e-10}}, {0.5, 1.0});
  double worst = 0.0;
  for (int i = 0; i < 1000; ++i) {
    for (int time = 0; time < 2; ++time) {
      const double exact = std::exp(-rates[i] * result.times[time]);
      worst = std::fmax(worst, std::fabs(result.value(i, time, 0) - exact));
      worst = std::fmax(worst, std::fabs(result.value(i, time, 1) - exact * exact));
    }
  }
  std::printf("largest error %.2g\n", worst);
  return worst < 1e-6 ? 0 : 1;
}
