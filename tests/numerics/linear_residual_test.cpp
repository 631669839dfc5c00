// Residuals that are M y' - f(t, y) in other words: the compiler sees it, and Rosenbrock methods integrate them.
#include <gtest/gtest.h>

#include "kernels/methods/auto.hpp"
#include "problems/transistor_amplifier/transistor_amplifier.hpp"
#include "tests/support/accuracy.hpp"

namespace manyfold {
namespace {

/// A model of two variables and one parameter whose first residual is that of `Slopes`.
template <class Slopes>
struct WithSlopes {
  static constexpr const char* name = "with_slopes";
  static constexpr double t_span[] = {0.0, 1.0};
  static constexpr Variable variables[] = {{.name = "x", .initial = 1.0}, {.name = "z", .initial = 1.0}};
  static constexpr Parameter parameters[] = {{.name = "k", .value = 2.0}};
  static constexpr void residual(const auto& t, const auto& y, const auto& dy, const auto& p, auto& F) {
    F[0] = Slopes{}(t, y, dy, p) + sin(y[0] * y[1]) * t;
    F[1] = dy[1] - y[0];
  }
};

template <class Slopes>
constexpr bool constant_mass(Slopes) {
  return System<WithSlopes<Slopes>>::constant_mass();
}

// Constant factors, also where a choice is made by parameters alone.
static_assert(constant_mass([](auto&, auto&, auto& dy, auto&) { return dy[0]; }));
static_assert(constant_mass([](auto&, auto&, auto& dy, auto& p) { return 2.0 * exp(p[0]) * (dy[0] - dy[1]); }));
static_assert(constant_mass([](auto&, auto&, auto& dy, auto& p) { return -(dy[0] / p[0]) + dy[1]; }));
static_assert(constant_mass([](auto&, auto&, auto& dy, auto& p) { return select(p[0] > 1.0, dy[0], 3.0 * dy[0]); }));
static_assert(constant_mass([](auto&, auto& y, auto& dy, auto&) {
  auto sum = y[0] * y[0];
  sum += dy[0];
  return sum;
}));
// Factors that change with t or y.
static_assert(!constant_mass([](auto& t, auto&, auto& dy, auto&) { return t * dy[0]; }));
static_assert(!constant_mass([](auto&, auto& y, auto& dy, auto&) { return dy[0] * y[1]; }));
static_assert(!constant_mass([](auto&, auto& y, auto& dy, auto&) { return dy[0] / y[1]; }));
static_assert(!constant_mass([](auto&, auto& y, auto& dy, auto&) { return select(y[0] > 0.0, dy[0], 2.0 * dy[0]); }));
static_assert(!constant_mass([](auto&, auto& y, auto& dy, auto&) {
  auto product = y[0];
  product *= dy[0];
  return product;
}));
// Functions of y'.
static_assert(!constant_mass([](auto&, auto&, auto& dy, auto&) { return dy[0] * dy[1]; }));
static_assert(!constant_mass([](auto&, auto&, auto& dy, auto& p) { return p[0] / dy[0]; }));
static_assert(!constant_mass([](auto&, auto&, auto& dy, auto&) { return abs(dy[0]); }));
static_assert(!constant_mass([](auto&, auto&, auto& dy, auto&) { return sin(dy[0] - 1.0); }));
static_assert(!constant_mass([](auto&, auto& y, auto& dy, auto&) { return select(dy[0] > 0.0, y[0], y[1]); }));

/// The amplifier in residual form.
struct AmplifierResidual : TransistorAmplifier {
  static constexpr const char* name = "amplifier_residual";
  // In place of those of the base.
  static void rhs();
  static constexpr bool mass_matrix = false;
  static constexpr bool jacobian = false;
  static constexpr void residual(const auto& t, const auto& y, const auto& dy, const auto& p, auto& F) {
    TransistorAmplifier::rhs(t, y, p, F);
    const auto between = [&](int first, int C) {
      const auto current = p[C] * (dy[first] - dy[first + 1]);
      F[first] += current;
      F[first + 1] -= current;
    };
    between(0, C1);
    F[2] += p[C2] * dy[2];
    between(3, C3);
    F[5] += p[C4] * dy[5];
    between(6, C5);
  }
};

template <class Model, template <class, class> class Method>
test::Results end_of() {
  const LoadedKernel kernel = test::own_kernel<Model, Method>();
  test::Ensemble ensemble;
  ensemble.loaded = &kernel;
  ensemble.t_end = Model::t_span[1];
  ensemble.rtol = 1e-6;
  ensemble.atol.assign(kernel.model.variables.size(), 1e-6);
  ensemble.repeat_defaults(1);
  return ensemble.solve();
}

/// Both forms differ by rounding alone, which may change the last of thousands of steps.
template <template <class, class> class Method>
void expect_same_in_both_forms() {
  const test::Results stated = end_of<TransistorAmplifier, Method>();
  const test::Results found = end_of<AmplifierResidual, Method>();
  ASSERT_EQ(found.outcomes[0].status, Status::success);
  EXPECT_NEAR(static_cast<double>(found.outcomes[0].counters.steps),
              static_cast<double>(stated.outcomes[0].counters.steps), 2.0);
  for (int i = 0; i < 8; ++i) EXPECT_NEAR(found.values[i], stated.values[i], 1e-8) << i;
}

TEST(LinearResidual, IsIntegratedAsItsMassMatrixForm) {
  expect_same_in_both_forms<Rodas4>();
  expect_same_in_both_forms<Rodas5p>();
}

TEST(LinearResidual, IsWhatAutoTakesRosenbrockMethodsFor) {
  EXPECT_STREQ((AutoMedium<System<AmplifierResidual>, double>::Tableau::name), "rodas5p");
  const auto product = [](auto&, auto& y, auto& dy, auto&) { return dy[0] * y[1]; };
  EXPECT_STREQ((AutoMedium<System<WithSlopes<decltype(product)>>, double>::Tableau::name), "radau5");
}

}  // namespace
}  // namespace manyfold
