// End-point errors of the fully implicit methods on a stiff, an oscillating and an electrical problem.
#include "tests/support/accuracy.hpp"

namespace manyfold {
namespace {

using test::expect_accuracy;

TEST(CollocationAccuracy, Radau3) {
  expect_accuracy<Radau3>();
}
TEST(CollocationAccuracy, Radau9) {
  expect_accuracy<Radau9>();
}
// Steps at looser tolerances are so long that nothing of what is said of small ones holds.
TEST(CollocationAccuracy, Radau13IsForTightTolerances) {
  expect_accuracy<Radau13>(1.0, {1e-6, 1e-8});
}
TEST(CollocationAccuracy, RadauOfVariableOrder) {
  expect_accuracy<Radau>(1.0, {1e-4, 1e-6, 1e-8});
}
TEST(CollocationAccuracy, Lobatto4) {
  expect_accuracy<Lobatto4>();
}
TEST(CollocationAccuracy, Lobatto6) {
  expect_accuracy<Lobatto6>();
}

// At this tolerance the orders 9 and 13 pay: what fewer steps there are is the work of the choice of order.
TEST(CollocationAccuracy, RadauRaisesItsOrderWhereTheSolutionIsSmooth) {
  const auto counters = [](const LoadedKernel& kernel) {
    test::Ensemble ensemble = test::ensemble_at(kernel, 1e-11);
    ensemble.t_end = kernel.model.t_end;
    ensemble.repeat_defaults(1);
    const test::Results result = ensemble.solve();
    EXPECT_EQ(result.outcomes[0].status, Status::success);
    return result.outcomes[0].counters;
  };
  const Counters fixed = counters(test::own_kernel<Pendulum, Radau5>());
  const Counters variable = counters(test::own_kernel<Pendulum, Radau>());
  EXPECT_LT(4 * variable.steps, fixed.steps);
  EXPECT_LT(2 * variable.residuals, fixed.residuals);
}

// These estimate their own local error, O(h^(p+1)): errors per step within the tolerance add up to its power p/(p+1).
TEST(CollocationAccuracy, Lobatto2) {
  expect_accuracy<Lobatto2>(2.0 / 3.0);
}
TEST(CollocationAccuracy, Radau1) {
  expect_accuracy<Radau1>(0.5);
}

}  // namespace
}  // namespace manyfold
