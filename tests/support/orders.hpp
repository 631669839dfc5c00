#pragma once
// Measured orders of a method: of the solution at constant step, of its dense output and of its error estimate.
#include <gtest/gtest.h>

#include "kernels/kernel.hpp"
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
};

struct Errors {
  double differential;  ///< at t = 1
  double algebraic;
  double dense_differential;  ///< largest inside the steps
  double dense_algebraic;
};

template <template <class, class> class Method>
Errors errors_with(int steps, double rtol) {
  LoadedKernel loaded;
  loaded.kernel = &kernel<Index1, Method, double>();
  describe_model<Index1>(loaded.model);
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
    const double* y = &result.values[3 * k];
    const double differential = std::max(std::abs(y[0] - std::exp(-t)), std::abs(y[1] - std::sin(t)));
    const double algebraic = std::abs(y[2] - std::cos(t));
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

/// Steps of 1/coarse, half and a quarter of it; the last two give the order. rtol such that Newton's iterations end
/// well below the smallest error.
template <template <class, class> class Method>
void expect_orders(int coarse, double rtol, double order, double dense_differential, double dense_algebraic) {
  const Errors a = errors_with<Method>(coarse, rtol);
  const Errors b = errors_with<Method>(2 * coarse, rtol);
  const Errors c = errors_with<Method>(4 * coarse, rtol);
  const auto slope = [](double coarser, double finer) { return std::log2(coarser / finer); };
  std::cout << "differential " << slope(a.differential, b.differential) << " " << slope(b.differential, c.differential)
            << ", algebraic " << slope(a.algebraic, b.algebraic) << " " << slope(b.algebraic, c.algebraic)
            << ", dense differential " << slope(b.dense_differential, c.dense_differential) << ", dense algebraic "
            << slope(b.dense_algebraic, c.dense_algebraic) << ", errors " << c.differential << " " << c.algebraic << " "
            << c.dense_differential << " " << c.dense_algebraic << "\n";
  EXPECT_NEAR(slope(b.differential, c.differential), order, 0.15);
  EXPECT_NEAR(slope(b.algebraic, c.algebraic), order, 0.15);
  EXPECT_NEAR(slope(b.dense_differential, c.dense_differential), dense_differential, 0.15);
  EXPECT_NEAR(slope(b.dense_algebraic, c.dense_algebraic), dense_algebraic, 0.15);
}

/// The error estimate of one step of length h from the exact solution at t = 0.5.
template <template <class, class> class Method>
double estimate_of_a_step(double h) {
  using Stepper = Method<System<Index1>, double>;
  const double t = 0.5;
  typename Stepper::State state{};
  state.t = t;
  state.h = h;
  const double y[] = {std::exp(-t), std::sin(t), std::cos(t)};
  const double dy[] = {-std::exp(-t), std::cos(t), -std::sin(t)};
  for (int i = 0; i < 3; ++i) {
    state.y[i] = y[i];
    state.dy[i] = dy[i];
    state.weight[i] = 1.0;
  }
  state.contraction = 1.0;
  state.path.start(h, state.dy);
  Stepper method;
  WorkCounters<double> work{};
  const NewtonControl control{1e-13, 50};
  const auto attempt = method.attempt(true, true, false, state, h, control, work);
  EXPECT_TRUE(attempt.converged);
  return attempt.error;
}

/// The power of h that the error estimate follows.
template <template <class, class> class Method>
void expect_estimate_order(double h, int order) {
  const double slope = std::log2(estimate_of_a_step<Method>(h) / estimate_of_a_step<Method>(h / 2.0));
  std::cout << "estimate " << slope << ", " << estimate_of_a_step<Method>(h) << "\n";
  // The next power of h, which the halved step still contains, is within this at the steps chosen.
  EXPECT_NEAR(slope, order, 0.25);
}

}  // namespace manyfold::test
