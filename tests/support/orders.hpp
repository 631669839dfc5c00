#pragma once
// Measured orders of a method: of the solution at constant step, of its dense output and of its error estimate.
#include <gtest/gtest.h>

#include "kernels/entry/describe.hpp"
#include "kernels/entry/kernel.hpp"
#include "tests/support/ensembles.hpp"

namespace manyfold::test {

/// An index-1 system with the solution (exp(-t), sin t, cos t); every right-hand side couples all three.
struct Index1 {
  static constexpr const char* name = "index1";
  static constexpr double t_span[] = {0.0, 1.0};
  static constexpr Variable variables[] = {
      {.name = "y1", .initial = 1.0}, {.name = "y2", .initial = 0.0}, {.name = "z", .initial = 1.0, .algebraic = true}};
  static constexpr Parameter parameters[] = {{.name = "unused", .value = 1.0}};
  static constexpr void rhs(const auto& t, const auto& y, const auto&, auto& f) {
    const auto decay = exp(-t);
    const auto s = sin(t);
    const auto c = cos(t);
    f[0] = -y[1] * y[2] + 0.5 * (y[2] * y[0] - c * decay) - (y[0] * y[0] - decay * decay) - decay + s * c;
    f[1] = y[0] * y[2] * exp(t) - (y[1] - s) - 0.3 * (y[2] * y[2] - c * c);
    f[2] = y[2] * y[2] * y[2] + y[2] * y[0] + y[0] * y[1] * y[1] - (c * c * c + c * decay + s * s * decay);
  }
  static void exact(double t, double* y, double* dy) {
    y[0] = std::exp(-t);
    y[1] = std::sin(t);
    y[2] = std::cos(t);
    dy[0] = -y[0];
    dy[1] = y[2];
    dy[2] = -y[1];
  }
};

/// An index-1 system with the solution (cos 40 t, sin 40 t), for orders so high that steps must be long to show them.
struct FastIndex1 {
  static constexpr const char* name = "fast_index1";
  static constexpr double t_span[] = {0.0, 1.0};
  static constexpr Variable variables[] = {{.name = "y", .initial = 1.0}, {.name = "z", .algebraic = true}};
  static constexpr Parameter parameters[] = {{.name = "unused", .value = 1.0}};
  static constexpr void rhs(const auto& t, const auto& y, const auto&, auto& f) {
    const auto s = sin(40.0 * t);
    const auto c = cos(40.0 * t);
    f[0] = -40.0 * y[1] - 5.0 * (y[0] - c);
    f[1] = y[1] + 0.1 * y[0] * y[0] - s - 0.1 * c * c;
  }
  static void exact(double t, double* y, double* dy) {
    y[0] = std::cos(40.0 * t);
    y[1] = std::sin(40.0 * t);
    dy[0] = -40.0 * y[1];
    dy[1] = 40.0 * y[0];
  }
};

struct Errors {
  double differential;  ///< at t = 1
  double algebraic;
  double dense_differential;  ///< largest inside the steps
  double dense_algebraic;
};

template <template <class, class> class Method, class Problem>
Errors errors_with(int steps, double rtol) {
  LoadedKernel loaded;
  loaded.kernel = &kernel<Problem, Method, KernelSpec<>{}, double>();
  describe_model<Problem>(loaded.model);
  Ensemble ensemble;
  ensemble.loaded = &loaded;
  ensemble.repeat_defaults(1);
  ensemble.fixed_step = 1.0 / steps;
  ensemble.rtol = rtol;
  // Inside every step, and at the end.
  for (int k = 0; k < steps; ++k) {
    for (const double theta : {0.25, 0.65}) ensemble.times.push_back((k + theta) / steps);
  }
  ensemble.times.push_back(1.0);
  const Results result = ensemble.solve();
  EXPECT_EQ(result.outcomes[0].status, Status::success);
  EXPECT_NEAR(static_cast<double>(result.outcomes[0].counters.steps), steps, 1);
  Errors errors{};
  for (std::size_t k = 0; k < ensemble.times.size(); ++k) {
    const double t = ensemble.times[k];
    // The algebraic variable is the last.
    constexpr int n = System<Problem>::n;
    double y[n];
    double dy[n];
    Problem::exact(t, y, dy);
    double differential = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
      y[i] = std::abs(y[i] - result.values[n * k + i]);
      if (i + 1 < n) differential = std::max(differential, y[i]);
    }
    const double algebraic = y[n - 1];
    if (k + 1 == ensemble.times.size()) {
      errors.differential = differential;
      errors.algebraic = algebraic;
    } else {
      errors.dense_differential = std::max(errors.dense_differential, differential);
      errors.dense_algebraic = std::max(errors.dense_algebraic, algebraic);
    }
  }
  return errors;
}

/// The orders that steps of 1/`steps` and half of it show. rtol such that Newton's iterations end well below the
/// smallest error.
template <template <class, class> class Method, class Problem = Index1>
void expect_orders(int steps, double rtol, double order, double dense_differential, double dense_algebraic,
                   double tolerance = 0.15) {
  const Errors coarse = errors_with<Method, Problem>(steps, rtol);
  const Errors fine = errors_with<Method, Problem>(2 * steps, rtol);
  const auto expect = [&](const char* what, double Errors::*error, double expected) {
    const double slope = std::log2(coarse.*error / (fine.*error));
    std::cout << what << " " << slope << " (" << fine.*error << ") ";
    // Rounding may make the smaller error smaller by chance.
    constexpr double rounding = 5e-15;
    EXPECT_GT(slope, expected - tolerance) << what;
    // Algebraic variables far off their polynomial, in units of an rtol that fixed steps do not follow, are found with
    // the errors of the differential ones, and are more accurate.
    if (error == &Errors::dense_algebraic) return;
    EXPECT_LT(slope, expected + tolerance + std::log2(1.0 + rounding / (fine.*error))) << what;
  };
  expect("differential", &Errors::differential, order);
  expect("algebraic", &Errors::algebraic, order);
  expect("dense differential", &Errors::dense_differential, dense_differential);
  expect("dense algebraic", &Errors::dense_algebraic, dense_algebraic);
  std::cout << "\n";
}

/// The error estimate of one step of length h from the exact solution at t = 0.5: that of the embedded formula, without
/// the residual within the step, which follows the order of the dense output.
template <template <class, class> class Method, class Problem>
double estimate_of_a_step(double h) {
  using Stepper = Method<System<Problem, KernelSpec<>{.error_test = ErrorTest::differential}>, double>;
  const double t = 0.5;
  typename Stepper::State state{};
  state.t = t;
  state.h = h;
  Problem::exact(t, state.y, state.dy);
  for (double& weight : state.weight) weight = 1.0;
  state.contraction = 1.0;
  state.path.start(true, h, state.dy);
  Stepper method;
  typename Stepper::Workspace workspace;
  method.use(workspace, {});
  WorkCounters<double> work{};
  const NewtonControl control{1e-13, 50};
  const auto attempt = method.attempt(true, true, false, state, h, control, work);
  EXPECT_TRUE(attempt.converged);
  return attempt.error;
}

/// The power of h that the error estimate follows.
template <template <class, class> class Method, class Problem = Index1>
void expect_estimate_order(double h, int order) {
  const double slope = std::log2(estimate_of_a_step<Method, Problem>(h) / estimate_of_a_step<Method, Problem>(h / 2.0));
  std::cout << "estimate " << slope << ", " << estimate_of_a_step<Method, Problem>(h) << "\n";
  // The next power of h, which the halved step still contains, is within this at the steps chosen.
  EXPECT_NEAR(slope, order, 0.25);
}

}  // namespace manyfold::test
