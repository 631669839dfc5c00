// End-point errors of every built-in problem against its reference solution, at three tolerances.
#include <gtest/gtest.h>

#include "host/compiler/catalog.hpp"
#include "tests/support/ensembles.hpp"
#include "tests/support/error_scales.hpp"

namespace manyfold {
namespace {

struct Case {
  std::string model;
  std::string method;
};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const ModelDescription& model : builtin_models()) {
    for (const MethodDescription& method : methods()) cases.push_back({model.name, method.name});
  }
  return cases;
}

class Accuracy : public testing::TestWithParam<Case> {
 protected:
  test::Ensemble ensemble_at(double rtol) {
    test::Ensemble ensemble;
    ensemble.loaded = &test::kernel_of(GetParam().model, GetParam().method);
    ensemble.t_begin = ensemble.loaded->model.t_begin;
    ensemble.rtol = rtol;
    for (const double scale : test::error_scales(GetParam().model, ensemble.variable_count()))
      ensemble.atol.push_back(rtol * scale);
    return ensemble;
  }
};

TEST_P(Accuracy, ErrorOfTheNominalInstanceFollowsTheTolerance) {
  std::ifstream file(test::source_folder() + "/problems/" + GetParam().model + "/reference.json");
  const auto reference = nlohmann::json::parse(file);
  const auto exact = reference["values"].get<std::vector<double>>();
  const auto scale = test::error_scales(GetParam().model, exact.size());
  double first = std::numeric_limits<double>::infinity();
  double last = first;
  for (const double rtol : {1e-4, 1e-6, 1e-8}) {
    test::Ensemble ensemble = ensemble_at(rtol);
    ensemble.t_end = reference["t_end"];
    ensemble.repeat_defaults(1);
    const test::Results result = ensemble.solve();
    ASSERT_TRUE(succeeded(result.outcomes[0].status)) << status_name(result.outcomes[0].status) << " at rtol " << rtol;
    double error = 0.0;
    for (std::size_t i = 0; i < exact.size(); ++i) {
      error = std::max(error, std::abs(result.values[i] - exact[i]) / (scale[i] + std::abs(exact[i])));
    }
    RecordProperty("error_at_" + std::to_string(rtol), std::to_string(error / rtol));
    std::cout << GetParam().model << " " << GetParam().method << " rtol " << rtol << ": error/rtol " << error / rtol
              << ", " << result.outcomes[0].counters.steps << " steps, " << result.outcomes[0].counters.rejected
              << " rejected, " << result.outcomes[0].counters.newton_failures << " Newton failures, "
              << result.outcomes[0].counters.residuals << " residuals\n";
    EXPECT_LE(error, test::error_allowance(GetParam().model) * rtol) << "at rtol " << rtol;
    if (rtol == 1e-4) first = error;

    last = error;
  }
  // Of neighbouring tolerances one may be lucky, when the error happens to change its sign there; not over four
  // decades. A ball's flight is a parabola, which the methods follow exactly.
  EXPECT_LT(last, std::max(first, 1e-11));
}

TEST_P(Accuracy, AThousandPerturbedInstancesAgreeWithATightRun) {
  test::Ensemble tight = ensemble_at(1e-10);
  // Long enough for the transients, short enough for a tight run of a thousand instances.
  const std::map<std::string, double> shorter = {{"transistor_amplifier", 0.02}};
  const auto end = shorter.find(GetParam().model);
  tight.t_end = end != shorter.end() ? end->second : tight.loaded->model.t_end;
  test::Uniform uniform(17);
  for (int i = 0; i < 1000; ++i) {
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
    test::Ensemble ensemble = ensemble_at(rtol);
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

INSTANTIATE_TEST_SUITE_P(AllProblems, Accuracy, testing::ValuesIn(all_cases()),
                         [](const auto& test) { return test.param.model + "_" + test.param.method; });

}  // namespace
}  // namespace manyfold
