// A thousand first-order reactions A -> B, one rate each: when is 90 % converted, and how many are in time?
#include <cmath>
#include <cstdio>
#include <vector>

#include <manyfold/ensemble.hpp>

struct Reaction {
  static constexpr const char* name = "reaction";
  static constexpr double t_span[] = {0.0, 10.0};
  static constexpr manyfold::Variable variables[] = {{.name = "a", .unit = "mol l-1", .initial = 1.0},
                                                     {.name = "b", .unit = "mol l-1", .algebraic = true}};
  enum { k, total };
  static constexpr manyfold::Parameter parameters[] = {{.name = "k", .unit = "s-1", .value = 0.3},
                                                       {.name = "total", .unit = "mol l-1", .value = 1.0}};
  static constexpr manyfold::Event events[] = {{.name = "converted", .direction = -1}};

  static constexpr void residual(const auto&, const auto& y, const auto& dy, const auto& p, auto& F) {
    F[0] = dy[0] + p[k] * y[0];
    F[1] = y[0] + y[1] - p[total];
  }
  static constexpr void root(const auto&, const auto& y, const auto&, const auto& p, auto& g) {
    g[0] = y[0] - 0.1 * p[total];
  }
};

int main() {
  constexpr int instances = 1000;
  std::vector<double> rates;
  for (int i = 0; i < instances; ++i) rates.push_back(0.2 + 0.0002 * i);

  manyfold::Ensemble<Reaction> ensemble(instances);
  ensemble.set("k", rates);    // a value per instance
  ensemble.set("total", 1.0);  // one for all
  const manyfold::EnsembleResult result = ensemble.solve({.rtol = 1e-8, .atol = {1e-10}}, {5.0, 10.0});

  int failed = 0;
  int in_time = 0;
  double worst = 0.0;
  for (int i = 0; i < instances; ++i) {
    const manyfold::InstanceOutcome& outcome = result.outcomes[i];
    if (!manyfold::succeeded(outcome.status)) {
      std::printf("instance %d ended at t = %g: %s\n", i, outcome.t_reached,
                  manyfold::status_name(outcome.status).data());
      ++failed;
      continue;
    }
    if (!result.events[i].empty()) ++in_time;
    // Instance, index of the output time, index of the variable.
    worst = std::fmax(worst, std::fabs(result.value(i, 1, 0) - std::exp(-rates[i] * result.times[1])));
  }
  std::printf("%d of %d are converted by t = 10, %d failed\n", in_time, instances, failed);
  std::printf("the largest error at t = 10 is %s 1e-7\n", worst < 1e-7 ? "below" : "above");
  return failed == 0 && worst < 1e-7 ? 0 : 1;
}
