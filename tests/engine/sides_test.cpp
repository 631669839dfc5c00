// Relations whose side the discrete state remembers: they switch where they leave zero, in every lane for itself.
#include <gtest/gtest.h>

#include <vector>

#include <manyfold/ensemble.hpp>

#include "tests/support/sample.hpp"

namespace manyfold {
namespace {

/// x = -p sin t, and time is y where x < 0. Both sides of the relation are equal at the start, where it does not hold.
struct Relay {
  static constexpr const char* name = "relay";
  static constexpr double t_span[] = {0.0, 4.0};
  static constexpr Variable variables[] = {{.name = "x"}, {.name = "y"}};
  static constexpr Parameter parameters[] = {{.name = "p", .value = 1.0}};
  static constexpr Event events[] = {{.name = "falls", .direction = 1}, {.name = "rises", .direction = -1}};
  static constexpr Discrete discrete[] = {{.name = "negative"}};
  static constexpr void rhs(const auto& t, const auto&, const auto& p, auto& f) {
    f[0] = -p[0] * cos(t);
    f[1] = p[1];
  }
  static constexpr void root(const auto&, const auto& y, const auto&, const auto&, auto& g) { g[0] = g[1] = -y[0]; }
  static constexpr void sides(const auto& p, auto& side) { side[0] = side[1] = 2.0 * p[1] - 1.0; }
  static constexpr void action(auto event, const auto&, auto&, const auto&, const auto&, auto& d) {
    d[0] = event == 0 ? 1.0 : 0.0;
  }
};

template <template <class, class> class Method>
void expect_switches() {
  constexpr int instances = 41;
  constexpr double pi = 3.14159265358979323846;
  std::vector<double> p;
  for (int k = 0; k < instances; ++k) p.push_back(k % 3 == 0 ? -1.0 : 1.0);
  Ensemble<Relay, Method> ensemble(instances);
  ensemble.set("p", p);
  const SolverOptions options{.rtol = 1e-8, .atol = {1e-10}, .threads = 1};
  const EnsembleResult result = ensemble.solve(options, {2.0, 4.0});
  for (int k = 0; k < instances; ++k) {
    // Below zero up to pi, or from there.
    const bool falls = p[static_cast<std::size_t>(k)] > 0.0;
    EXPECT_NEAR(result.value(k, 0, 1), falls ? 2.0 : 0.0, 1e-6) << k;
    EXPECT_NEAR(result.value(k, 1, 1), falls ? pi : 4.0 - pi, 1e-6) << k;
    // What came before in the lane, and who is beside it, changes no bit.
    Ensemble<Relay, Method> one(1);
    one.set("p", p[static_cast<std::size_t>(k)]);
    const EnsembleResult alone = one.solve(options, {2.0, 4.0});
    for (int time = 0; time < 2; ++time) {
      for (int v = 0; v < 2; ++v) EXPECT_EQ(result.value(k, time, v), alone.value(0, time, v)) << k;
    }
  }
}

TEST(Sides, SwitchWhereTheyLeaveZero) {
  expect_switches<Radau5>();
  expect_switches<Bdf>();
}
NIGHTLY_TEST(Sides, SwitchWhereTheyLeaveZeroWithEsdirk) {
  expect_switches<Esdirk54>();
}

}  // namespace
}  // namespace manyfold
