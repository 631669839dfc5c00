// Orders of the collocation methods on an index-1 problem, and of Lobatto IIIC on one of index 2: of differential and
// algebraic variables at constant step, of dense output and of the error estimate.
#include "tests/support/orders.hpp"
#include "tests/support/sample.hpp"

namespace manyfold {
namespace {

using test::expect_estimate_order;
using test::expect_orders;
using test::FastIndex1;

/// Index 2 with a constraint that does not bend, and the solution (sin t, sin t, cos t).
struct LinearConstraint {
  static constexpr const char* name = "linear_constraint";
  static constexpr double t_span[] = {0.0, 1.0};
  static constexpr Variable variables[] = {
      {.name = "y1"}, {.name = "y2"}, {.name = "z", .initial = 1.0, .algebraic = true, .index = 2}};
  static constexpr Parameter parameters[] = {{.name = "unused", .value = 1.0}};
  static constexpr void rhs(const auto& t, const auto& y, const auto&, auto& f) {
    const auto s = sin(t);
    f[0] = 2.0 * cos(t) - y[2] - 0.5 * (y[0] * y[0] - s * s);
    f[1] = y[2] - (y[1] - s);
    f[2] = y[0] - y[1];
  }
  static void exact(double t, double* y, double* dy) {
    y[0] = y[1] = std::sin(t);
    y[2] = dy[0] = dy[1] = std::cos(t);
    dy[2] = -y[0];
  }
};
/// Index 2 with a constraint that bends, and the solution (e^-t, e^-2t, e^-t).
struct BentConstraint {
  static constexpr const char* name = "bent_constraint";
  static constexpr double t_span[] = {0.0, 1.0};
  static constexpr Parameter parameters[] = {{.name = "unused", .value = 1.0}};
  static constexpr Variable variables[] = {{.name = "y1", .initial = 1.0},
                                           {.name = "y2", .initial = 1.0},
                                           {.name = "z", .initial = 1.0, .algebraic = true, .index = 2}};
  static constexpr void rhs(const auto& t, const auto& y, const auto&, auto& f) {
    const auto e = exp(-t);
    f[0] = -e + (y[2] - e) + (y[0] * y[0] - e * e);
    f[1] = -2.0 * y[1] - (y[2] - e);
    f[2] = y[0] * y[0] - y[1];
  }
  static void exact(double t, double* y, double* dy) {
    y[0] = y[2] = std::exp(-t);
    y[1] = std::exp(-2.0 * t);
    dy[0] = dy[2] = -y[0];
    dy[1] = -2.0 * y[1];
  }
};

// Newton's method ends at sqrt(internal) internal, internal = 0.4 rtol^0.8 or, where the estimate is not of lower order
// than the method, 0.4 rtol. Dense output from s slopes is of order s + 1.
NIGHTLY_TEST(CollocationOrder, Radau1) {
  expect_orders<Radau1>(128, 1e-8, 1.0, 1.0, 1.0);
}
TEST(CollocationOrder, Radau3) {
  expect_orders<Radau3>(64, 1e-9, 3.0, 3.0, 3.0);
}
TEST(CollocationOrder, Radau5HasDenseOrderFour) {
  expect_orders<Radau5>(16, 1e-11, 5.0, 4.0, 4.0);
}
TEST(CollocationOrder, Radau9HasDenseOrderSix) {
  expect_orders<Radau9, FastIndex1>(32, 1e-15, 9.0, 6.0, 6.0);
}
// Between steps too long for Newton's method and errors of the size of rounding there is little room.
NIGHTLY_TEST(CollocationOrder, Radau13HasDenseOrderEight) {
  expect_orders<Radau13, FastIndex1>(15, 1e-15, 13.0, 8.0, 8.0, 0.5);
}
NIGHTLY_TEST(CollocationOrder, Lobatto2) {
  expect_orders<Lobatto2>(128, 1e-9, 2.0, 2.0, 2.0);
}
NIGHTLY_TEST(CollocationOrder, Lobatto4HasDenseOrderFour) {
  expect_orders<Lobatto4>(64, 1e-9, 4.0, 4.0, 4.0);
}
TEST(CollocationOrder, Lobatto6HasDenseOrderFive) {
  expect_orders<Lobatto6, FastIndex1>(64, 1e-13, 6.0, 5.0, 5.0);
}

// The integral of the slopes; across a constraint that bends only what the values determine, of order s.
TEST(CollocationOrder, LobattoAtIndex2) {
  expect_orders<Lobatto2, LinearConstraint>(64, 1e-9, 2.0, 2.0, 2.0);
  expect_orders<Lobatto4, LinearConstraint>(32, 1e-12, 4.0, 4.0, 4.0);
  expect_orders<Lobatto6, LinearConstraint>(16, 1e-14, 6.0, 5.0, 5.0);
  expect_orders<Lobatto2, BentConstraint>(64, 1e-9, 2.0, 2.0, 2.0);
  expect_orders<Lobatto4, BentConstraint>(32, 1e-12, 4.0, 3.0, 3.0);
  expect_orders<Lobatto6, BentConstraint>(16, 1e-14, 6.0, 4.0, 4.0);
}

TEST(CollocationEstimate, FollowsTheOrderThatTheStepControlCountsOn) {
  expect_estimate_order<Radau3>(0.02, RadauIIA3::error_order);
  expect_estimate_order<Radau5>(0.05, RadauIIA5::error_order);
  expect_estimate_order<Radau9>(0.1, RadauIIA9::error_order);
  expect_estimate_order<Lobatto6>(0.05, LobattoIIIC6::error_order);
}
NIGHTLY_TEST(CollocationEstimate, OfFurtherMethodsFollowsTheOrderThatTheStepControlCountsOn) {
  expect_estimate_order<Radau1>(0.02, RadauIIA1::error_order);
  expect_estimate_order<Radau13>(0.3, RadauIIA13::error_order);
  expect_estimate_order<Lobatto2>(0.02, LobattoIIIC2::error_order);
  expect_estimate_order<Lobatto4>(0.05, LobattoIIIC4::error_order);
}

}  // namespace
}  // namespace manyfold
