// Orders of the explicit methods on implicit ordinary differential equations: at constant step, of dense output and of
// the error estimate; accuracy at a tolerance; singular F_y'.
#include "tests/support/orders.hpp"

namespace manyfold {
namespace {

/// Index 0, nonlinear in the derivatives, with the solution (exp(-t), exp(-2t)).
struct Index0 {
  static constexpr const char* name = "index0";
  static constexpr double t_span[] = {0.0, 1.0};
  static constexpr Variable variables[] = {{.name = "y1", .initial = 1.0}, {.name = "y2", .initial = 1.0}};
  static constexpr Parameter parameters[] = {{.name = "coupling", .value = 0.3}};
  static constexpr void residual(const auto&, const auto& y, const auto& dy, const auto& p, auto& F) {
    F[0] = dy[0] + 0.2 * dy[0] * dy[0] * dy[0] + y[0] + 0.2 * y[0] * y[0] * y[0];
    F[1] = dy[1] + p[0] * dy[0] * dy[1] + 2.0 * (1.0 - p[0] * y[0]) * y[1] + 0.1 * (dy[1] * dy[1] - 4.0 * y[1] * y[1]);
  }
  static void exact(double t, double* y, double* dy) {
    y[0] = std::exp(-t);
    y[1] = std::exp(-2.0 * t);
    dy[0] = -y[0];
    dy[1] = -2.0 * y[1];
  }
};

/// y' = -y with a coefficient that vanishes: no derivative to be found.
struct Vanishing {
  static constexpr const char* name = "vanishing";
  static constexpr double t_span[] = {0.0, 1.0};
  static constexpr Variable variables[] = {{.name = "y", .initial = 1.0}};
  static constexpr Parameter parameters[] = {{.name = "coefficient", .value = 0.0}};
  static constexpr void residual(const auto&, const auto& y, const auto& dy, const auto& p, auto& F) {
    F[0] = p[0] * dy[0] + y[0];
  }
};

using test::expect_estimate_order;
using test::expect_orders;

TEST(ExplicitOrder, Rk4) {
  expect_orders<Rk4, Index0>(32, 1e-12, 4.0, 4.0, 4.0);
}
TEST(ExplicitOrder, Dopri54) {
  expect_orders<Dopri54, Index0>(20, 1e-14, 5.0, 5.0, 5.0);
}
TEST(ExplicitEstimate, FollowsTheOrderThatTheStepControlCountsOn) {
  expect_estimate_order<Rk4, Index0>(0.05, Rk4Tableau::error_order);
  expect_estimate_order<Dopri54, Index0>(0.05, Dopri54Tableau::error_order);
}

template <class Problem, template <class, class> class Method>
test::Results solve(double rtol) {
  LoadedKernel loaded;
  loaded.kernel = &kernel<Problem, Method, KernelSpec<>{}, double>();
  describe_model<Problem>(loaded.model);
  test::Ensemble ensemble;
  ensemble.loaded = &loaded;
  ensemble.repeat_defaults(1);
  ensemble.rtol = rtol;
  return ensemble.solve();
}

template <template <class, class> class Method>
void expect_accuracy() {
  for (const double rtol : {1e-4, 1e-6, 1e-8}) {
    const test::Results result = solve<Index0, Method>(rtol);
    ASSERT_EQ(result.outcomes[0].status, Status::success);
    // As for the built-in problems.
    EXPECT_NEAR(result.values[0], std::exp(-1.0), 30.0 * rtol);
    EXPECT_NEAR(result.values[1], std::exp(-2.0), 30.0 * rtol);
  }
}

TEST(ExplicitAccuracy, FollowsTheTolerance) {
  expect_accuracy<Rk4>();
  expect_accuracy<Dopri54>();
}

TEST(ExplicitFailure, ASingularMatrixOfDerivativesIsAStatus) {
  EXPECT_EQ((solve<Vanishing, Dopri54>(1e-6).outcomes[0].status), Status::singular_jacobian);
}

}  // namespace
}  // namespace manyfold
