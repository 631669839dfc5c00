// Orders of Radau IIA methods on Hessenberg systems of index 2 and 3, for each kind of variable: Hairer & Wanner II,
// section VII.4; Hairer, Lubich & Roche, The Numerical Solution of Differential-Algebraic Systems by Runge-Kutta
// Methods (1989).
#include <gtest/gtest.h>

#include <array>

#include <manyfold/ensemble.hpp>
#include "problems/cstr/cstr.hpp"
#include "problems/pendulum_ggl/pendulum_ggl.hpp"
#include "problems/pendulum_index2/pendulum_index2.hpp"
#include "problems/pendulum_index3/pendulum_index3.hpp"
#include "problems/rlc_index2/rlc_index2.hpp"
#include "problems/slider_crank/slider_crank.hpp"
#include "tests/support/accuracy.hpp"
#include "tests/support/sample.hpp"

namespace manyfold {
namespace {

/// Index 2, with the solution (e^t, e^-2t, e^2t).
struct Index2 {
  static constexpr const char* name = "index2";
  static constexpr double t_span[] = {0.0, 1.0};
  static constexpr Variable variables[] = {
      {.name = "y1", .initial = 1.0},
      {.name = "y2", .initial = 1.0},
      {.name = "z", .initial = 1.0, .algebraic = true, .index = 2},
  };
  static constexpr Parameter parameters[] = {{.name = "unused", .value = 1.0}};
  static constexpr void rhs(const auto&, const auto& y, const auto&, auto& f) {
    f[0] = y[0] * y[1] * y[1] * y[2] * y[2];
    f[1] = y[0] * y[0] * y[1] * y[1] - 3.0 * y[1] * y[1] * y[2];
    f[2] = y[0] * y[0] * y[1] - 1.0;
  }
  static constexpr double rates[] = {1.0, -2.0, 2.0};
  static constexpr int kind[] = {0, 0, 1};
};

/// Index 3, with the solution (e^2t, e^-t, e^2t, e^-t, e^t): positions, velocities and a multiplier.
struct Index3 {
  static constexpr const char* name = "index3";
  static constexpr double t_span[] = {0.0, 0.5};
  static constexpr Variable variables[] = {
      {.name = "y1", .initial = 1.0},
      {.name = "y2", .initial = 1.0},
      {.name = "z1", .initial = 1.0, .index = 2},
      {.name = "z2", .initial = 1.0, .index = 2},
      {.name = "u", .initial = 1.0, .algebraic = true, .index = 3},
  };
  static constexpr Parameter parameters[] = {{.name = "unused", .value = 1.0}};
  static constexpr void rhs(const auto&, const auto& y, const auto&, auto& f) {
    f[0] = 2.0 * y[0] * y[1] * y[2] * y[3];
    f[1] = -(y[0] * y[1] * y[3] * y[3]);
    f[2] = (y[0] * y[1] + y[2] * y[3]) * y[4];
    f[3] = -(y[0] * y[1] * y[1] * y[3] * y[3] * y[3] * y[4] * y[4]);
    f[4] = y[0] * y[1] * y[1] - 1.0;
  }
  static constexpr double rates[] = {2.0, -1.0, 2.0, -1.0, 1.0};
  static constexpr int kind[] = {0, 0, 1, 1, 2};
};

/// Largest error at the end for each kind of variable. Multipliers are settled there: they have the order of what they
/// follow from, not that of the method's own, which is one or two less (Hairer, Lubich & Roche 1989).
template <class Problem, template <class, class> class Method, auto spec>
std::array<double, 3> errors_with(int steps) {
  const LoadedKernel loaded = test::own_kernel<Problem, Method, spec>();
  test::Ensemble ensemble;
  ensemble.loaded = &loaded;
  ensemble.repeat_defaults(1);
  ensemble.t_end = Problem::t_span[1];
  ensemble.fixed_step = Problem::t_span[1] / steps;
  // Newton's method ends well below the smallest error.
  ensemble.rtol = 1e-14;
  const test::Results result = ensemble.solve();
  EXPECT_EQ(result.outcomes[0].status, Status::success);
  EXPECT_NEAR(static_cast<double>(result.outcomes[0].counters.steps), steps, 1);
  std::array<double, 3> errors{};
  for (std::size_t i = 0; i < std::size(Problem::rates); ++i) {
    double& largest = errors[static_cast<std::size_t>(Problem::kind[i])];
    largest = std::max(largest, std::abs(result.values[i] - std::exp(Problem::rates[i] * Problem::t_span[1])));
  }
  return errors;
}

template <class Problem, template <class, class> class Method, auto spec = KernelSpec<>{}>
void expect_orders(int steps, const std::vector<double>& orders, double tolerance = 0.15) {
  const auto coarse = errors_with<Problem, Method, spec>(steps);
  const auto fine = errors_with<Problem, Method, spec>(2 * steps);
  for (std::size_t kind = 0; kind < orders.size(); ++kind) {
    const double slope = std::log2(coarse[kind] / fine[kind]);
    std::cout << slope << " (" << fine[kind] << ") ";
    EXPECT_NEAR(slope, orders[kind], tolerance);
  }
  std::cout << "\n";
}

NIGHTLY_TEST(HigherIndex, Radau3OnIndex2) {
  expect_orders<Index2, Radau3>(64, {3.0, 3.0});
}
TEST(HigherIndex, Radau5OnIndex2) {
  expect_orders<Index2, Radau5>(32, {5.0, 5.0});
}
NIGHTLY_TEST(HigherIndex, Radau3OnIndex3) {
  expect_orders<Index3, Radau3>(64, {2.0, 2.0, 2.0});
}
// The order of velocities is 3 in the direction of the constraint's force alone, in which what is saved is moved to the
// constraint.
TEST(HigherIndex, Radau5OnIndex3) {
  expect_orders<Index3, Radau5>(16, {4.0, 4.0, 4.0});
}

// Projection leaves the orders of Radau IIA as they are. (Shorter steps would meet what Newton's method leaves, longer
// ones are far from the limit.)
NIGHTLY_TEST(HigherIndex, Radau5OnIndex2Projected) {
  expect_orders<Index2, Radau5, KernelSpec<>{.projection = true}>(32, {5.0, 5.0});
}
TEST(HigherIndex, Radau5OnIndex3Projected) {
  expect_orders<Index3, Radau5, KernelSpec<>{.projection = true}>(12, {4.0, 4.0, 4.0}, 0.25);
}

/// Errors of variables of index 1 follow rtol. Those of index 2 and 3 count times h and h^2 in the error test: with h
/// in proportion to rtol^(1/5), as for Radau IIA of order 5, they follow rtol^(4/5 - 1/5) and rtol^(4/5 - 2/5).
/// `atol_share`: of rtol.
template <class Model, template <class, class> class Method>
void expect_accuracy(double allowance = 100.0, double atol_share = 1.0) {
  const LoadedKernel kernel = test::own_kernel<Model, Method>();
  const test::Reference reference = test::reference_of(Model::name);
  const std::vector<double>& exact = reference.values;
  const auto scale = test::error_scales(Model::name, exact.size());
  for (const double rtol : {1e-4, 1e-6, 1e-8}) {
    test::Ensemble ensemble = test::ensemble_at(kernel, rtol);
    for (double& atol : ensemble.atol) atol *= atol_share;
    ensemble.t_end = reference.t_end;
    ensemble.repeat_defaults(1);
    const test::Results result = ensemble.solve();
    ASSERT_EQ(result.outcomes[0].status, Status::success) << status_name(result.outcomes[0].status) << " at " << rtol;
    double largest[] = {0.0, 0.0, 0.0};
    for (std::size_t i = 0; i < exact.size(); ++i) {
      double& error = largest[System<Model>::index(static_cast<int>(i)) - 1];
      error = std::max(error, std::abs(result.values[i] - exact[i]) / (scale[i] + std::abs(exact[i])));
    }
    const double powers[] = {1.0, 0.6, 0.4};
    for (int k = 0; k < 3; ++k) EXPECT_LE(largest[k], allowance * std::pow(rtol, powers[k])) << "index " << k + 1;
    const Counters& counters = result.outcomes[0].counters;
    std::cout << Model::name << " " << kernel.kernel->method << " rtol " << rtol << ": errors " << largest[0] << " "
              << largest[1] << " " << largest[2] << ", " << counters.steps << " steps, " << counters.rejected
              << " rejected, " << counters.newton_failures << " Newton failures\n";
  }
}

NIGHTLY_TEST(HigherIndexAccuracy, PendulumWithConstrainedVelocity) {
  expect_accuracy<PendulumIndex2, Radau5>();
}
TEST(HigherIndexAccuracy, PendulumWithConstrainedPosition) {
  expect_accuracy<PendulumIndex3, Radau5>();
}
NIGHTLY_TEST(HigherIndexAccuracy, PendulumStabilised) {
  expect_accuracy<PendulumGgl, Radau5>();
}
TEST(HigherIndexAccuracy, CircuitWithCapacitorAcrossTheSource) {
  expect_accuracy<RlcIndex2, Radau5>();
}
NIGHTLY_TEST(HigherIndexAccuracy, ReactorInEquilibrium) {
  expect_accuracy<Cstr, Radau5>();
}

// A multiplier that vanishes, as the second one of the stabilised pendulum, counts in units of atol. While its error
// was tested, the order fell to 1, tens of thousands of steps were taken, and positions were off by thousands of
// tolerances.
NIGHTLY_TEST(HigherIndexAccuracy, BackwardDifferentiation) {
  expect_accuracy<PendulumGgl, Bdf>(100.0, 1e-3);
}
NIGHTLY_TEST(HigherIndexAccuracy, BackwardDifferentiationOfFurtherProblems) {
  expect_accuracy<PendulumIndex2, Bdf>(100.0, 1e-3);
  expect_accuracy<RlcIndex2, Bdf>(100.0, 1e-3);
  expect_accuracy<Cstr, Bdf>(100.0, 1e-3);
}

/// Linear index 2 with the parameter a = 10; the solution is (e^t, e^t, -e^t / (2 - t)). Ascher & Petzold, SIAM J.
/// Numer. Anal. 28 (1991), example 1.
struct AscherPetzold {
  static constexpr const char* name = "ascher_petzold";
  static constexpr double t_span[] = {0.0, 1.0};
  static constexpr Variable variables[] = {
      {.name = "x1", .initial = 1.0},
      {.name = "x2", .initial = 1.0},
      {.name = "z", .initial = -0.5, .algebraic = true, .index = 2},
  };
  static constexpr void rhs(const auto& t, const auto& y, const auto&, auto& f) {
    const double a = 10.0;
    const auto s = 2.0 - t;
    f[0] = (a - 1.0 / s) * y[0] + s * a * y[2] + (3.0 - t) / s * exp(t);
    f[1] = (1.0 - a) / (t - 2.0) * y[0] - y[1] + (a - 1.0) * y[2] + 2.0 * exp(t);
    f[2] = (t + 2.0) * y[0] + (t * t - 4.0) * y[1] - (t * t + t - 2.0) * exp(t);
  }
};

/// The largest error in units of atol + rtol |y| at t = 0.05, 0.1 ... 1.
template <class Equations, template <class, class> class Method>
double error_in_tolerances(double rtol, auto&& exact) {
  const double atol = 1e-3 * rtol;
  std::vector<double> times;
  for (int k = 1; k <= 20; ++k) times.push_back(0.05 * k);
  const EnsembleResult result = Ensemble<Equations, Method>(1).solve({.rtol = rtol, .atol = {atol}}, times);
  double largest = result.outcomes[0].status == Status::success ? 0.0 : 1e300;
  for (int k = 0; k < 20; ++k) {
    const std::array<double, 3> solution = exact(times[static_cast<std::size_t>(k)]);
    for (int i = 0; i < 3; ++i) {
      const double expected = solution[static_cast<std::size_t>(i)];
      largest = std::max(largest, std::abs(result.value(0, k, i) - expected) / (atol + rtol * std::abs(expected)));
    }
  }
  return largest;
}

// What a step leaves of the constraint returns along the multiplier ten times as large: where the error test did not
// see that, the order stayed at 1, and these were off by 3,000 and 400 tolerances at 1e-6. A few tens are what many
// steps add up to.
TEST(HigherIndexAccuracy, BackwardDifferentiationMeetsExactSolutions) {
  for (const double rtol : {1e-4, 1e-6, 1e-8}) {
    const double first = error_in_tolerances<Index2, Bdf>(rtol, [](double t) {
      return std::array{std::exp(t), std::exp(-2.0 * t), std::exp(2.0 * t)};
    });
    EXPECT_LT(first, 50.0) << rtol;
    const double second = error_in_tolerances<AscherPetzold, Bdf>(rtol, [](double t) {
      return std::array{std::exp(t), std::exp(t), -std::exp(t) / (2.0 - t)};
    });
    EXPECT_LT(second, 50.0) << rtol;
    std::cout << rtol << ": " << first << ", " << second << " tolerances\n";
  }
}

// Its rod vibrates without damping, so that errors of phase add up: over 700 periods of the fastest mode.
TEST(HigherIndexAccuracy, ElasticSliderCrank) {
  expect_accuracy<SliderCrank, Radau5>(3000.0);
}

NIGHTLY_TEST(HigherIndexAccuracy, OfAHigherOrder) {
  expect_accuracy<PendulumIndex3, Radau9>();
  expect_accuracy<PendulumIndex2, Radau9>();
  expect_accuracy<RlcIndex2, Radau9>();
  expect_accuracy<SliderCrank, Radau9>(3000.0);
}

// From the start that is published to nine digits, which at tolerances below 1e-10 no longer counts as consistent, to
// the reference. It says how many of its digits another program confirms: 10 to 13 of the positions.
TEST(HigherIndexAccuracy, SliderCrankMeetsItsReference) {
  const LoadedKernel kernel = test::own_kernel<SliderCrank, Radau5>();
  const test::Reference reference = test::reference_of("slider_crank");
  const std::vector<double>& exact = reference.values;
  const std::vector<double>& initial = reference.initial;
  test::Ensemble ensemble = test::ensemble_at(kernel, 1e-10);
  ensemble.t_end = reference.t_end;
  ensemble.repeat_defaults(1);
  EnsembleRun run = ensemble.request();
  const FillInstance defaults = run.fill_instance;
  run.fill_instance = [&](std::int64_t instance, double* p, double* y, double* t_span) {
    defaults(instance, p, y, t_span);
    std::copy(initial.begin(), initial.end(), y);
  };
  InMemoryResult memory;
  run_ensemble(run, memory);
  ASSERT_EQ(memory.results().outcomes[0].status, Status::success);
  // Index 1: three thousand tolerances, as above. Accelerations and multipliers: a hundred times tolerance^0.6.
  const auto scale = test::error_scales("slider_crank", exact.size());
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double error = std::abs(memory.results().values[i] - exact[i]) / (scale[i] + std::abs(exact[i]));
    std::cout << kernel.model.variables[i].name << " " << error << "\n";
    EXPECT_LE(error, i < 14 ? 3e-7 : 1e-4) << kernel.model.variables[i].name;
  }
  // The measure of the Test Set: correct digits of the positions.
  for (std::size_t i = 0; i < 7; ++i) EXPECT_LE(std::abs(memory.results().values[i] / exact[i] - 1.0), 1e-7) << i;
}

// Other lengths and speeds than those of the reference start on the constraints, too.
TEST(HigherIndexInitialConditions, OfTheSliderCrankFollowItsParameters) {
  const LoadedKernel kernel = test::own_kernel<SliderCrank, Radau5>();
  test::Ensemble ensemble = test::ensemble_at(kernel, 1e-8);
  ensemble.t_end = 1e-3;
  test::Uniform uniform(11);
  ensemble.repeat_defaults(20);
  for (double& p : ensemble.parameters) p *= 0.8 + 0.4 * uniform();
  for (const InstanceOutcome& outcome : ensemble.solve().outcomes) EXPECT_EQ(outcome.status, Status::success);
  const std::vector<double> initial = test::reference_of("slider_crank").initial;
  // Published to nine digits; the elastic accelerations are differences of larger numbers.
  for (std::size_t i = 0; i < initial.size(); ++i) {
    EXPECT_NEAR(kernel.model.variables[i].initial, initial[i], i < 14 ? 1e-7 : 4e-6 + 1e-9 * std::abs(initial[i])) << i;
  }
}

/// The status of a point of the pendulum with constrained position, released horizontally.
InitialPoint<double> examine(double x, double u) {
  using Pendulum3 = System<PendulumIndex3>;
  double y[] = {x, 0.0, u, 0.0, 0.0};
  double dy[5];
  const double p[] = {9.81, 1.0, 0.0};
  const Tolerances<5> tolerances{1e-6, {1e-6, 1e-6, 1e-6, 1e-6, 1e-6}};
  InitialConditions<Pendulum3, double, true> conditions;
  const auto point = conditions.solve(true, 0.0, 1.0, y, dy, p, tolerances);
  EXPECT_EQ(y[0], x) << "values are taken as they are";
  EXPECT_EQ(dy[0], u);
  EXPECT_EQ(dy[3], -9.81);
  return point;
}

TEST(HigherIndexInitialConditions, MustMeetTheConstraintAndItsDerivative) {
  EXPECT_TRUE(examine(1.0, 0.0).consistent);
  EXPECT_FALSE(examine(1.001, 0.0).consistent) << "off the circle";
  EXPECT_FALSE(examine(1.0, 0.01).consistent) << "leaving the circle";
  EXPECT_FALSE(examine(1.001, 0.0).singular);
}

// A velocity of zero with an absolute tolerance far below asks for a first step whose matrix has entries beyond 1e18.
NIGHTLY_TEST(HigherIndexInitialConditions, AFirstStepIsNotSoShortThatTheMatrixIsSingular) {
  test::Ensemble ensemble;
  const LoadedKernel kernel = test::own_kernel<PendulumIndex3, Radau9>();
  ensemble.loaded = &kernel;
  ensemble.repeat_defaults(1);
  ensemble.rtol = 1e-3;
  ensemble.atol.assign(5, 1e-9);
  EXPECT_EQ(ensemble.solve().outcomes[0].status, Status::success);
}

}  // namespace
}  // namespace manyfold
