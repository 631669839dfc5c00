// End-point errors of the backward differentiation formulas, and their work beside that of another code with the same
// strategies.
#include <manyfold/ensemble.hpp>
#include "problems/transistor_amplifier/transistor_amplifier.hpp"
#include "tests/support/accuracy.hpp"

namespace manyfold {
namespace {

TEST(BdfAccuracy, ErrorFollowsTheTolerance) {
  test::expect_accuracy<Bdf>();
}

/// SUNDIALS IDA, whose formulas, error test and choice of order are DASSL's, on the default instance to `t_end` with
/// atol = rtol times the scales. rtol is that of IDA, a tenth of what is asked of `bdf`. Work by IDA 6.4.1; errors, in
/// units of ten rtol, by IDA 7.9.0 (scikit-sundae 1.2.0).
struct IdaWork {
  double rtol;
  double steps;
  double residuals;
  double error;
};

void expect_work_of_ida(const LoadedKernel& kernel, double t_end, const std::vector<double>& exact,
                        const std::vector<IdaWork>& work) {
  const std::vector<double> scale = test::error_scales(kernel.model.name, exact.size());
  for (const IdaWork& ida : work) {
    test::Ensemble ensemble = test::ensemble_at(kernel, 10.0 * ida.rtol);
    ensemble.t_end = t_end;
    ensemble.repeat_defaults(1);
    const test::Results result = ensemble.solve();
    ASSERT_EQ(result.outcomes[0].status, Status::success);
    // First steps and the end of Newton's iteration differ, and with them where orders change. Where steps of a length
    // go on, `bdf` has a new matrix, and needs fewer of both.
    const Counters& ours = result.outcomes[0].counters;
    const double steps = static_cast<double>(ours.steps) / ida.steps;
    const double residuals = static_cast<double>(ours.residuals) / ida.residuals;
    EXPECT_GT(std::min(steps, residuals), 0.6) << ida.rtol;
    EXPECT_LT(std::max(steps, residuals), 1.1) << ida.rtol;
    // They would be too few if that cost accuracy. By chance an error may be twice as large.
    double error = 0.0;
    for (std::size_t i = 0; i < exact.size(); ++i) {
      error = std::max(error, std::abs(result.values[i] - exact[i]) / (scale[i] + std::abs(exact[i])));
    }
    EXPECT_LT(error, 2.0 * ida.error * 10.0 * ida.rtol) << ida.rtol;
    std::cout << kernel.model.name << " " << ida.rtol << ": steps " << steps << ", residuals " << residuals
              << ", error " << error / (ida.error * 10.0 * ida.rtol) << " of IDA's\n";
  }
}

// Robertson's problem by SciPy's Radau at 3e-13; the period of the pendulum is 2.
TEST(BdfWork, IsThatOfIda) {
  expect_work_of_ida(
      test::own_kernel<Robertson, Bdf>(), 1e5, {0.017865921142100116, 7.274751468436531e-08, 0.9821340061103929},
      {{1e-3, 119, 191, 0.0353}, {1e-4, 186, 261, 0.0436}, {1e-5, 290, 415, 0.0471}, {1e-6, 434, 666, 0.0877}});
  expect_work_of_ida(
      test::own_kernel<Pendulum, Bdf>(), 10.0, {1.0, 0.0, 0.0, 0.0, 0.0},
      {{1e-3, 469, 768, 1.83e3}, {1e-4, 780, 1154, 4.19e3}, {1e-5, 1133, 1604, 3.64e3}, {1e-6, 1617, 2170, 5.22e3}});
}

/// Of order 1 alone is a step inexact.
struct FreeFall {
  static constexpr const char* name = "free_fall";
  static constexpr double t_span[] = {0.0, 0.4};
  static constexpr Variable variables[] = {{.name = "h", .initial = 1.0}, {.name = "v"}};
  static constexpr void rhs(const auto&, const auto& y, const auto&, auto& f) {
    f[0] = y[1];
    f[1] = -10.0;
  }
};

// The error of a first step goes by its own length, not by that of attempts that failed: it was accepted with thirty
// tolerances, and every event begins with one.
TEST(BdfStart, IsTestedAfterFailedAttemptsToo) {
  constexpr double rtol = 1e-6;
  const auto result = Ensemble<FreeFall, Bdf>(1).solve({.rtol = rtol, .atol = {rtol}, .first_step = 0.1}, {0.4});
  ASSERT_EQ(result.outcomes[0].status, Status::success);
  const double error = std::abs(result.value(0, 0, 0) - 0.2) / (rtol + 0.2 * rtol);
  EXPECT_LT(error, 5.0);
  std::cout << error << " tolerances\n";
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
  std::cout << result.outcomes[0].counters.steps << " steps\n";
  // 6,500 steps; 22,000 with order 1.
  EXPECT_LT(result.outcomes[0].counters.steps, 9000);
}

}  // namespace
}  // namespace manyfold
