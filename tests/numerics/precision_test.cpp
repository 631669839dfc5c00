// Mixed precision gives what double precision gives, to the same tolerances; single precision what it can.
#include <gtest/gtest.h>

#include "host/compiler/catalog.hpp"
#include "tests/support/ensembles.hpp"
#include "tests/support/error_scales.hpp"
#include "tests/support/reference.hpp"
#include "tests/support/sample.hpp"

namespace manyfold {
namespace {

/// `method` in `precision`, with tolerances in the measure of the problem.
test::Ensemble ensemble_of(const std::string& model, const std::string& method, const std::string& precision,
                           double rtol) {
  test::Ensemble ensemble;
  ensemble.loaded = &test::kernel_of(model, method, "", precision);
  ensemble.t_begin = ensemble.loaded->model.t_begin;
  ensemble.t_end = ensemble.loaded->model.t_end;
  ensemble.rtol = rtol;
  for (const double scale : test::error_scales(model, ensemble.variable_count())) {
    ensemble.atol.push_back(rtol * scale);
  }
  return ensemble;
}

/// Error of the nominal instance against the problem's reference solution, in units of rtol.
double nominal_error(test::Ensemble ensemble, const std::string& model) {
  const test::Reference reference = test::reference_of(model);
  const std::vector<double>& exact = reference.values;
  const auto scale = test::error_scales(model, exact.size());
  ensemble.t_end = reference.t_end;
  ensemble.repeat_defaults(1);
  const test::Results result = ensemble.solve();
  if (result.outcomes[0].status != Status::success) {
    ADD_FAILURE() << model << ": " << status_name(result.outcomes[0].status) << " at rtol " << ensemble.rtol;
  }
  double error = 0.0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    error = std::max(error, std::abs(result.values[i] - exact[i]) / (scale[i] + std::abs(exact[i])));
  }
  return error / ensemble.rtol;
}

void perturb(test::Ensemble& ensemble, int count) {
  test::Uniform uniform(17);
  for (int i = 0; i < count; ++i) {
    for (const ParameterDescription& parameter : ensemble.loaded->model.parameters) {
      // A current gain above one would make the transistors sources of energy.
      const double spread = parameter.name == "alpha" ? 0.0 : 0.1;
      ensemble.parameters.push_back(parameter.value * (1.0 + spread * (uniform() - 0.5)));
    }
  }
}

/// Problems of the kinds that differ for linear algebra: stiff, with a constraint, with a singular mass matrix, banded.
class MixedPrecision : public testing::TestWithParam<std::string> {};

TEST_P(MixedPrecision, IsAsAccurateAsDouble) {
  const std::string& model = GetParam();
  for (const double rtol : {1e-4, 1e-6, 1e-8}) {
    const double error = nominal_error(ensemble_of(model, "radau5", "mixed", rtol), model);
    EXPECT_LE(error, test::error_allowance(model)) << "at rtol " << rtol;
  }
}

TEST_P(MixedPrecision, PerturbedInstancesAgreeWithDouble) {
  const std::string& model = GetParam();
  test::Ensemble mixed = ensemble_of(model, "radau5", "mixed", 1e-6);
  if (model == "transistor_amplifier") mixed.t_end = 0.02;
  perturb(mixed, 200);
  test::Ensemble tight = ensemble_of(model, "radau5", "float64", 1e-9);
  tight.t_end = mixed.t_end;
  tight.parameters = mixed.parameters;
  const test::Results a = mixed.solve();
  const test::Results b = tight.solve();
  const std::size_t n = mixed.variable_count();
  const auto scale = test::error_scales(model, n);
  for (std::size_t k = 0; k < a.outcomes.size(); ++k) {
    ASSERT_EQ(a.outcomes[k].status, Status::success) << "instance " << k;
    for (std::size_t i = 0; i < n; ++i) {
      const double exact = b.values[k * n + i];
      // The allowance of perturbed instances in double precision.
      ASSERT_LE(std::abs(a.values[k * n + i] - exact), 300.0 * 1e-6 * (scale[i] + std::abs(exact))) << "instance " << k;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Problems, MixedPrecision,
                         testing::ValuesIn(test::sampled<std::string>(
                             {"robertson", "pendulum", "transistor_amplifier", "diffusion", "rectifier"}, 4)),
                         [](const auto& test) { return test.param; });

/// The smallest rtol at which rounding leaves Newton's method room: the amplifier's exponentials magnify it.
TEST(SinglePrecision, FollowsTolerancesThatRoundingAllows) {
  const std::map<std::string, double> least_rtol = {
      {"robertson", 1e-4}, {"pendulum", 1e-4}, {"van_der_pol", 1e-4}, {"transistor_amplifier", 1e-3}};
  for (const auto& [model, rtol] : least_rtol) {
    const double error = nominal_error(ensemble_of(model, "radau5", "float32", rtol), model);
    EXPECT_LE(error, test::error_allowance(model)) << model;
  }
}

TEST(SinglePrecision, FindsTheEventsWhereTheyAre) {
  for (const std::string model : {"stick_slip", "rectifier"}) {
    const std::vector<double> exact = test::reference_of(model).event_times;
    test::Ensemble ensemble = ensemble_of(model, "radau5", "float32", 1e-4);
    // More instances than a pack of double has lanes: conditions after events are found in parts.
    ensemble.repeat_defaults(12);
    const test::Results results = ensemble.solve();
    for (std::size_t i = 0; i < 12; ++i) {
      ASSERT_EQ(results.outcomes[i].status, Status::success) << model;
      ASSERT_EQ(results.events[i].size(), exact.size()) << model;
      for (std::size_t k = 0; k < exact.size(); ++k) {
        EXPECT_NEAR(results.events[i][k].time, exact[k], 30.0 * 1e-4 * exact[k]) << model << ", event " << k;
      }
    }
  }
}

TEST(SinglePrecision, HasTwiceAsManyLanesAndKeepsThemIndependent) {
  test::Ensemble ensemble = ensemble_of("robertson", "radau5", "float32", 1e-4);
  EXPECT_EQ(ensemble.loaded->kernel->lanes, 2 * test::kernel_of("robertson", "radau5").kernel->lanes);
  perturb(ensemble, 100);
  const test::Results all = ensemble.solve();
  for (const int alone : {0, 41, 99}) {
    test::Ensemble one = ensemble;
    const auto at = ensemble.parameters.begin() + 3 * alone;
    one.parameters.assign(at, at + 3);
    const test::Results result = one.solve();
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(result.values[i], all.values[3 * static_cast<std::size_t>(alone) + i]);
    }
  }
}

}  // namespace
}  // namespace manyfold
