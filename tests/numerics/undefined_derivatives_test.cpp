// Derivatives that are infinite or undefined where a solution begins: the flow out of an empty tank, and heat that
// crosses a wall by a power of the difference of its temperatures.
#include "tests/support/accuracy.hpp"

namespace manyfold {
namespace {

/// The derivative of sqrt(level) is infinite at 0, and that of x |x|^(1/4), as written here, is zero times infinity. So
/// is the derivative with respect to time, since the inlet grows warmer.
struct FillingTank {
  static constexpr const char* name = "filling_tank";
  static constexpr double t_span[] = {0.0, 2.0};
  static constexpr Variable variables[] = {
      {.name = "level"}, {.name = "T", .initial = 20.0}, {.name = "wall", .initial = 20.0, .algebraic = true}};
  static constexpr Parameter parameters[] = {{.name = "inlet", .value = 20.0}};
  static constexpr void rhs(const auto& t, const auto& y, const auto& p, auto& f) {
    const auto difference = p[0] + 10.0 * t - y[2];
    f[0] = 1.0 - sqrt(y[0]);
    f[1] = y[2] - y[1];
    f[2] = difference * (1.0 + pow(abs(difference), 0.25)) - (y[2] - y[1]);
  }
};

// The level by -2 s - 2 log(1 - s) = t with s = sqrt(level); the temperatures by SciPy's Radau and DOP853 at rtol
// 1e-12, which agree to 1e-11. `rodas5p`, which `auto` takes, ended with `singular_jacobian` at t = 0, and so did every
// method on the wall.
TEST(FillingTank, BeginsWhereDerivativesAreNotFinite) {
  const std::vector<double> exact = {0.303841254326, 20.74611939, 23.620546812, 0.487609534847, 22.74556007,
                                     27.750350061,   0.707963485, 29.18686746,  36.763748797};
  test::Ensemble ensemble{};
  ensemble.times = {0.5, 1.0, 2.0};
  ensemble.t_end = 2.0;
  const auto expect = [&](const LoadedKernel& kernel) {
    ensemble.loaded = &kernel;
    ensemble.parameters = {20.0};
    for (const double rtol : {1e-4, 1e-6}) {
      ensemble.rtol = rtol;
      ensemble.atol.assign(3, rtol);
      const test::Results result = ensemble.solve();
      ASSERT_EQ(result.outcomes[0].status, Status::success) << kernel.kernel->method << " " << rtol;
      const double error = test::largest_error(result.values, exact, rtol);
      std::cout << kernel.kernel->method << " rtol " << rtol << ": error/tolerance " << error << ", "
                << result.outcomes[0].counters.steps << " steps\n";
      // Up to 0.7: one step begins where its matrix is not exact.
      EXPECT_LE(error, 2.0) << kernel.kernel->method << " " << rtol;
    }
  };
  test::for_each_kernel<FillingTank, Radau5, Rodas5p, Esdirk54, Bdf>(expect);
}

// Some begin where derivatives are not finite, others elsewhere.
TEST(FillingTank, DoesNotDependOnItsNeighbours) {
  std::vector<std::vector<double>> rows;
  for (int i = 0; i < 12; ++i) rows.push_back({i % 3 == 0 ? 20.0 : 20.0 + i});
  test::expect_independence<FillingTank>(rows, 2.0);
}

/// A level that rises above the surface, or falls below it: the root is defined on one side.
struct TwoSidedTank {
  static constexpr const char* name = "two_sided_tank";
  static constexpr double t_span[] = {0.0, 2.0};
  static constexpr Variable variables[] = {{.name = "level"}};
  static constexpr Parameter parameters[] = {{.name = "side", .value = 1.0}};
  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    f[0] = p[0] * (1.0 - sqrt(p[0] * y[0]));
  }
};

// Of the lanes of a pack some find their derivatives above their levels, and others, later, below.
TEST(TwoSidedTank, DoesNotDependOnItsNeighbours) {
  test::expect_independence<TwoSidedTank>({{1.0}, {-1.0}, {1.0}, {1.0}, {-1.0}, {0.5}, {-2.0}, {1.0}}, 2.0);
}

TEST(TwoSidedTank, FindsDerivativesOnEitherSide) {
  const auto expect = [](const LoadedKernel& kernel) {
    test::Ensemble tanks{};
    tanks.loaded = &kernel;
    tanks.parameters = {1.0, -1.0};
    tanks.times = {0.5, 2.0};
    tanks.t_end = 2.0;
    tanks.rtol = 1e-6;
    tanks.atol = {1e-6};
    const test::Results result = tanks.solve();
    for (const std::size_t i : {0, 1}) {
      ASSERT_EQ(result.outcomes[i].status, Status::success) << kernel.kernel->method << " " << i;
    }
    // As in the filling tank.
    EXPECT_LE(test::largest_error(result.values, {0.303841254326, 0.707963485, -0.303841254326, -0.707963485}, 1e-6),
              2.0)
        << kernel.kernel->method;
  };
  test::for_each_kernel<TwoSidedTank, Radau5, Rodas5p, Esdirk54>(expect);
}

/// A vessel behind an orifice: the flow out of it is the root of its pressure, of either sign. Events leave the
/// pressure at rounding errors from zero, where the slope of the root is 1e8.
struct Orifice {
  static constexpr const char* name = "orifice";
  static constexpr double t_span[] = {0.0, 2.0};
  static constexpr Variable variables[] = {{.name = "p", .initial = 1.0}};
  enum { k, amplitude, rate, sign };
  static constexpr Parameter parameters[] = {{.name = "k", .value = 52.78518909115885},
                                             {.name = "amplitude", .value = 222.4304731911942},
                                             {.name = "rate", .value = 29.900301983650465}};
  static constexpr Discrete discrete[] = {{.name = "sign", .initial = 1.0}};
  static constexpr Event events[] = {{.name = "turns"}};
  static constexpr void rhs(const auto& t, const auto& y, const auto& p, auto& f) {
    f[0] = p[amplitude] * cos(p[rate] * t) - p[k] * p[sign] * sqrt(max(p[sign] * y[0], 0.0));
  }
  static constexpr void root(const auto&, const auto& y, const auto&, const auto&, auto& g) { g[0] = y[0]; }
  static constexpr void action(auto, const auto&, auto&, const auto&, const auto& p, auto& d) { d[0] = -p[sign]; }
};

// By SciPy's Radau at 1e-12, with series in the square root of time for 1e-9 behind each event. `rodas5p` stayed at
// zero from t = 0.14 on, with 21,000 events and success.
TEST(Orifice, IsLeftWithTheSlopeAhead) {
  const auto expect = [](const LoadedKernel& kernel) {
    for (const double rtol : {1e-4, 1e-6}) {
      const test::Results result = test::solve<Orifice>(kernel, rtol);
      ASSERT_EQ(result.outcomes[0].status, Status::success) << kernel.kernel->method << " " << rtol;
      EXPECT_EQ(result.outcomes[0].counters.events, 19) << kernel.kernel->method << " " << rtol;
      const double error = std::abs(result.values[0] + 3.842846449586147) / (rtol * 3.84);
      std::cout << kernel.kernel->method << " rtol " << rtol << ": error/tolerance " << error << "\n";
      EXPECT_LE(error, 1.0) << kernel.kernel->method << " " << rtol;  // 0.21 with `bdf`
    }
  };
  test::for_each_kernel<Orifice, Radau5, Rodas5p, Esdirk54, Bdf>(expect);
}

TEST(Orifice, DoesNotDependOnItsNeighbours) {
  std::vector<std::vector<double>> rows;
  for (int i = 0; i < 12; ++i) rows.push_back({20.0 + 5.0 * i, 222.0, 30.0});
  test::expect_independence<Orifice>(rows, 2.0);
}

}  // namespace
}  // namespace manyfold
