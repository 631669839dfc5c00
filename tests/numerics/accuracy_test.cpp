// End-point errors of every built-in problem against its reference solution, at three tolerances.
#include <gtest/gtest.h>

#include <set>

#include "host/compiler/catalog.hpp"
#include "tests/support/accuracy.hpp"

namespace manyfold {
namespace {

struct Case {
  std::string model;
  std::string method;
};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  // In a test of their own, by the index of their variables.
  const std::set<std::string> higher_index = {
      "pendulum_index2", "pendulum_index3", "pendulum_ggl", "rlc_index2", "cstr", "bouncing_ball_track_index2",
      "slider_crank"};
  for (const ModelDescription& model : builtin_models()) {
    if (higher_index.contains(model.name)) continue;
    // The other methods: by family, in tests of their own; script/verify takes all of them.
    const std::set<std::string> of_both = {"robertson", "pendulum", "rectifier"};
    cases.push_back({model.name, "radau5"});
    if (of_both.contains(model.name)) cases.push_back({model.name, "esdirk54"});
  }
  return cases;
}

class Accuracy : public testing::TestWithParam<Case> {
 protected:
  static const LoadedKernel& kernel() { return test::kernel_of(GetParam().model, GetParam().method); }
};

TEST_P(Accuracy, ErrorOfTheNominalInstanceFollowsTheTolerance) {
  test::expect_error_follows_tolerance(kernel(), {1e-4, 1e-6, 1e-8}, test::error_allowance(GetParam().model));
}

TEST_P(Accuracy, PerturbedInstancesAgreeWithATightRun) {
  // Rounding errors of the pressures of DAS 2 are some 1e-9 in the flows through valves that are hardly open.
  test::Ensemble tight = test::ensemble_at(kernel(), GetParam().model == "das2" ? 3e-9 : 1e-10);
  // Long enough for the transients, short enough for a tight run of all instances. script/verify takes more of them.
  const std::map<std::string, double> shorter = {{"transistor_amplifier", 0.02}, {"medical_akzo_nobel", 0.1}};
  const auto end = shorter.find(GetParam().model);
  tight.t_end = end != shorter.end() ? end->second : tight.loaded->model.t_end;
  test::Uniform uniform(17);
  const int count = tight.variable_count() > 100 ? 40 : 200;
  for (int i = 0; i < count; ++i) {
    for (const ParameterDescription& parameter : tight.loaded->model.parameters) {
      // A current gain above one would make the transistors sources of energy.
      const double spread = parameter.name == "alpha" ? 0.0 : 0.1;
      tight.parameters.push_back(parameter.value * (1.0 + spread * (uniform() - 0.5)));
    }
  }
  tight.threads = 2;
  const test::Results reference = tight.solve();
  const std::size_t n = tight.variable_count();
  const auto scale = test::error_scales(GetParam().model, n);
  for (const double rtol : {1e-4, 1e-6, 1e-8}) {
    test::Ensemble ensemble = test::ensemble_at(kernel(), rtol);
    ensemble.t_end = tight.t_end;
    ensemble.parameters = tight.parameters;
    ensemble.threads = 2;
    const test::Results result = ensemble.solve();
    double worst = 0.0;
    for (std::size_t k = 0; k < result.outcomes.size(); ++k) {
      ASSERT_TRUE(succeeded(result.outcomes[k].status))
          << "instance " << k << ": " << status_name(result.outcomes[k].status);
      ASSERT_TRUE(succeeded(reference.outcomes[k].status))
          << "tight instance " << k << status_name(reference.outcomes[k].status);
      for (std::size_t i = 0; i < n; ++i) {
        const double exact = reference.values[k * n + i];
        worst = std::max(worst, std::abs(result.values[k * n + i] - exact) / (scale[i] + std::abs(exact)));
      }
    }
    std::cout << GetParam().model << " " << GetParam().method << " rtol " << rtol << ": worst error/rtol "
              << worst / rtol << "\n";
    EXPECT_LE(worst, 300.0 * rtol) << "at rtol " << rtol;
  }
}

INSTANTIATE_TEST_SUITE_P(AllProblems, Accuracy, testing::ValuesIn(test::sampled(all_cases())),
                         [](const auto& test) { return test.param.model + "_" + test.param.method; });

}  // namespace
}  // namespace manyfold
