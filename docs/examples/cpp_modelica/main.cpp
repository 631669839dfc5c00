// A hundred chargers of a Modelica file, one resistance each: how far are their capacitors charged?
#include <cstdio>
#include <vector>

#include <charger.hpp>
#include <manyfold/ensemble.hpp>

int main() {
  constexpr int instances = 100;
  std::vector<double> resistances;
  for (int i = 0; i < instances; ++i) resistances.push_back(5.0 + 0.15 * i);

  manyfold::Ensemble<Model_charger, manyfold::Esdirk54> ensemble(instances);
  ensemble.set("R", resistances);
  const manyfold::EnsembleResult result = ensemble.solve({.rtol = 1e-6, .atol = {1e-9}}, {0.04});

  for (const manyfold::InstanceOutcome& outcome : result.outcomes) {
    if (!manyfold::succeeded(outcome.status)) return 1;
  }
  // The capacitor is the first variable.
  std::printf("%.2f V with 5 ohm, %.2f V with 20 ohm\n", result.value(0, 0, 0), result.value(instances - 1, 0, 0));
}
