// End-point errors of the backward differentiation formulas, and their work beside that of another code with the same
// strategies.
#include "problems/transistor_amplifier/transistor_amplifier.hpp"
#include "tests/support/accuracy.hpp"

namespace manyfold {
namespace {

TEST(BdfAccuracy, ErrorFollowsTheTolerance) {
  test::expect_accuracy<Bdf>();
}

/// Work of SUNDIALS IDA 6.4.1, whose formulas, error test and choice of order are DASSL's, on the default instance to
/// `t_end` with atol = rtol times the scales.
struct IdaWork {
  double rtol;
  double steps;
  double residuals;
};

void expect_work_of_ida(const LoadedKernel& kernel, double t_end, const std::vector<IdaWork>& work) {
  for (const IdaWork& ida : work) {
    test::Ensemble ensemble = test::ensemble_at(kernel, ida.rtol);
    ensemble.t_end = t_end;
    ensemble.repeat_defaults(1);
    const test::Results result = ensemble.solve();
    ASSERT_EQ(result.outcomes[0].status, Status::success);
    // First steps and the end of Newton's iteration differ, and with them where orders change.
    const Counters& ours = result.outcomes[0].counters;
    EXPECT_NEAR(static_cast<double>(ours.steps) / ida.steps, 1.0, 0.2) << ida.rtol;
    EXPECT_NEAR(static_cast<double>(ours.residuals) / ida.residuals, 1.0, 0.2) << ida.rtol;
  }
}

TEST(BdfWork, IsThatOfIda) {
  expect_work_of_ida(test::own_kernel<Robertson, Bdf>(), 1e5,
                     {{1e-3, 119, 191}, {1e-4, 186, 261}, {1e-5, 290, 415}, {1e-6, 434, 666}});
  expect_work_of_ida(test::own_kernel<Pendulum, Bdf>(), 10.0,
                     {{1e-3, 469, 768}, {1e-4, 780, 1154}, {1e-5, 1133, 1604}, {1e-6, 1617, 2170}});
}

// Where the voltage behind the last capacitor passes zero, the error test is a thousandth of that of the others. The
// order stayed at 1 there, for ten times as many steps.
TEST(BdfWork, IsThatOfAHighOrderWhereAlgebraicVariablesPassZero) {
  const LoadedKernel bdf = test::own_kernel<TransistorAmplifier, Bdf>();
  test::Ensemble ensemble = test::ensemble_at(bdf, 1e-6);
  ensemble.repeat_defaults(1);
  ensemble.t_end = 0.2;
  ensemble.atol.assign(8, 1e-9);
  const test::Results result = ensemble.solve();
  ASSERT_EQ(result.outcomes[0].status, Status::success);
  // 6,100 steps; 22,000 with order 1.
  EXPECT_LT(result.outcomes[0].counters.steps, 9000);
}

}  // namespace
}  // namespace manyfold
