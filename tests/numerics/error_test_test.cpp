// The error test sees what happens within a step: pulses, jumps and fast sines of algebraic variables. What ends as
// success is accurate.
#include <cmath>
#include <numbers>

#include "tests/numerics/forced.hpp"
#include "tests/support/accuracy.hpp"

namespace manyfold {
namespace {

using test::Forced;
const std::vector<double> tolerances = {1e-3, 1e-4, 1e-6, 1e-8};

/// The error of one instance at its output times, at all tolerances.
void expect_values(const LoadedKernel& kernel, test::Ensemble ensemble, const std::vector<double>& exact,
                   double factor = 1.0, bool may_fail = false) {
  ensemble.loaded = &kernel;
  ensemble.t_end = ensemble.times.back();
  for (const double rtol : tolerances) {
    ensemble.rtol = rtol;
    const test::Results result = ensemble.solve();
    const Counters& counters = result.outcomes[0].counters;
    const double error = test::largest_error(result.values, exact, rtol);
    std::cout << kernel.model.name << " " << kernel.kernel->method << " rtol " << rtol << ": error/tolerance " << error
              << ", " << counters.steps << " steps, " << counters.rejected << " rejected, " << counters.newton_failures
              << " Newton failures\n";
    // The formulas of `bdf` carry a jump of an algebraic variable on to the next steps, whose errors it is a part of.
    if (may_fail && result.outcomes[0].status == Status::step_too_small) continue;
    EXPECT_EQ(result.outcomes[0].status, Status::success)
        << kernel.kernel->method << " rtol " << rtol << " t " << result.outcomes[0].t_reached;
    EXPECT_LE(error, factor * test::allowed_error(kernel, rtol)) << kernel.kernel->method << " rtol " << rtol;
  }
}

template <class Model, template <class, class> class... Methods>
void with_methods(const auto& action) {
  (action(test::own_kernel<Model, Methods>()), ...);
}

template <template <class, class> class... Methods>
struct ForcedModels {
  /// x' = exp(40 (s - 1)), s = sin(2 pi t): x(20) = 1.26556. Errors of s are multiplied by 40 in the peaks.
  static void bump() {
    test::Ensemble ensemble;
    for (int k = 1; k <= 20; ++k) ensemble.times.push_back(k);
    ensemble.parameters = {1.0, 2.0 * std::numbers::pi, 0.0, 0.0, 0.0, 0.0, 1.0, 40.0, 0.0};
    std::vector<double> exact;
    for (const double t : ensemble.times) {
      exact.push_back(t * std::exp(-40.0) * std::cyl_bessel_i(0.0, 40.0));
      exact.insert(exact.end(), 2, 0.0);
    }
    with_methods<Forced, Methods...>([&](const LoadedKernel& kernel) { expect_values(kernel, ensemble, exact, 1.5); });
  }
  /// x' = s - x, where s is 5 or -1 by turns.
  static void jump() {
    test::Ensemble ensemble;
    ensemble.parameters = {0.0, 0.0, 0.0, 0.0, 5.0, -1.0, 0.0, 0.0, 1.0};
    for (int k = 1; k <= 20; ++k) ensemble.times.push_back(0.5 * k);
    std::vector<double> exact;
    double x = 0.0;
    double from = 0.0;
    int crossing = 1;  // 2 t + 1 = crossing pi
    for (const double t : ensemble.times) {
      const auto level = [&] { return crossing % 2 == 1 ? 5.0 : -1.0; };
      for (double next; (next = 0.5 * (crossing * std::numbers::pi - 1.0)) < t; ++crossing) {
        x = level() + (x - level()) * std::exp(from - next);
        from = next;
      }
      x = level() + (x - level()) * std::exp(from - t);
      from = t;
      exact.insert(exact.end(), {x, level(), level()});
    }
    with_methods<Forced, Methods...>([&](const LoadedKernel& kernel) {
      expect_values(kernel, ensemble, exact, 1.0, kernel.kernel->method == std::string("bdf"));
    });
  }
  /// s = sin t + 0.3 sin 37 t, which no derivative depends on.
  static void sines() {
    test::Ensemble ensemble;
    ensemble.parameters = {1.0, 1.0, 0.3, 37.0, 0.0, 0.0, 0.0, 0.0, 0.0};
    std::vector<double> exact;
    for (int k = 1; k <= 100; ++k) {
      const double t = 0.1 * k;
      ensemble.times.push_back(t);
      const double s = std::sin(t) + 0.3 * std::sin(37.0 * t);
      exact.insert(exact.end(), {0.0, s, s});
    }
    with_methods<Forced, Methods...>([&](const LoadedKernel& kernel) { expect_values(kernel, ensemble, exact); });
  }
};

using All = ForcedModels<Radau5, Radau, Radau1, Radau3, Radau9, Radau13, Lobatto2, Lobatto4, Lobatto6, Esdirk54,
                         Esdirk43, Kvaerno54, Kvaerno43, Trbdf2, Sdirk4, Sdirk3, Sdirk2, BackwardEuler, Cash4, Dirks,
                         Dirka, Dirka4, Dirka3, Dirka2, Rodas5p, Rodas4, Rodas3, Bdf>;

TEST(ErrorTest, SeesBumps) {
  All::bump();
}
TEST(ErrorTest, SeesJumps) {
  All::jump();
}
TEST(ErrorTest, SeesFastSinesOfAlgebraicVariables) {
  All::sines();
}

}  // namespace
}  // namespace manyfold
