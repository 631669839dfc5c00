// Circuits of the Test Set for IVP Solvers with scheduled and state events: consistent values after events, where index
// 2 stands beside index 1 and where the mass matrix depends on the state.
#include <cmath>

#include <gtest/gtest.h>

#include "tests/numerics/circuits.hpp"
#include "tests/support/accuracy.hpp"

namespace manyfold {
namespace {

/// False: the instance says that it failed. A success that is not the reference fails the test.
template <class Model, template <class, class> class Method>
bool meets_reference(const std::vector<double>& reference, double rtol, double atol, double allowance) {
  const LoadedKernel kernel = test::own_kernel<Model, Method>();
  test::Ensemble ensemble;
  ensemble.loaded = &kernel;
  ensemble.t_end = Model::t_span[1];
  ensemble.rtol = rtol;
  ensemble.atol.assign(kernel.model.variables.size(), atol);
  ensemble.repeat_defaults(1);
  const test::Results result = ensemble.solve();
  if (result.outcomes[0].status != Status::success) {
    std::cout << Model::name << " " << kernel.kernel->method << " " << rtol << ": "
              << status_name(result.outcomes[0].status) << " at " << result.outcomes[0].t_reached << "\n";
    return false;
  }
  double error = 0.0;
  for (std::size_t i = 0; i < reference.size(); ++i) error = std::max(error, std::abs(result.values[i] - reference[i]));
  std::cout << Model::name << " " << kernel.kernel->method << " " << rtol << ": " << error << ", "
            << result.outcomes[0].counters.steps << " steps\n";
  EXPECT_LE(error, allowance);
  return true;
}

constexpr int tolerances_tried = 40;

/// In how many of 40 tolerances from 3e-8 to 3e-9 the charge pump fails.
template <template <class, class> class Method>
int failures_at_tight_tolerances(const std::vector<double>& reference) {
  int failures = 0;
  for (int k = 0; k < tolerances_tried; ++k) {
    const double tolerance = 1e-8 * std::pow(10.0, 0.5 - k / double(tolerances_tried));
    if (!meets_reference<test::ChargePump, Method>(reference, tolerance, tolerance, 30.0 * tolerance)) ++failures;
  }
  return failures;
}

// At the end the source is off: YT1 = 0.1262800429876759 pC, all charges and voltages zero. Between the events its
// equations have kinks that no event announces. Near 1e-8 instances end there at some tolerances, by newton_failure or
// event_storm, and rounding decides at which. So many are tried: radau5 fails at 3 of them, esdirk54 at 5, bdf at none.
// Twice as many are allowed, and no success that is wrong.
TEST(ChargePump, PassesItsThreshold) {
  const std::vector<double> reference = {0.1262800429876759, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
  for (const double tolerance : {1e-4, 1e-6}) {
    EXPECT_TRUE((meets_reference<test::ChargePump, Radau5>(reference, tolerance, tolerance, 30.0 * tolerance)));
    EXPECT_TRUE((meets_reference<test::ChargePump, Esdirk54>(reference, tolerance, tolerance, 30.0 * tolerance)));
    EXPECT_TRUE((meets_reference<test::ChargePump, Bdf>(reference, tolerance, tolerance, 30.0 * tolerance)));
  }
  EXPECT_LE(failures_at_tight_tolerances<Radau5>(reference), 6);
  EXPECT_LE(failures_at_tight_tolerances<Esdirk54>(reference), 10);
  EXPECT_EQ(failures_at_tight_tolerances<Bdf>(reference), 0);
}

// Voltages behind corners are of the size of the supply, 5 V. Transistors switch inside steps: a thousand tolerances.
TEST(NandGate, PassesTheCornersOfItsInputs) {
  const std::vector<double> reference = {4.971088699385777,  4.999752103929311,  -2.499998781491227,
                                         -2.499999999999975, 4.970837023296724,  -0.2091214032073855,
                                         4.970593243278363,  -2.500077409198803, -2.499998781491227,
                                         -0.20902895838781,  -0.00024,           -0.2091214032073855,
                                         -2.499999999999991, -2.500077409198803};
  EXPECT_TRUE((meets_reference<test::NandGate, Radau5>(reference, 1e-4, 1e-4, 1e-1)));
  EXPECT_TRUE((meets_reference<test::NandGate, Radau5>(reference, 1e-6, 1e-8, 1e-3)));
  EXPECT_TRUE((meets_reference<test::NandGate, Radau5>(reference, 1e-8, 1e-8, 1e-5)));
}

}  // namespace
}  // namespace manyfold
