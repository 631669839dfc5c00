// Orders of the diagonally implicit methods on an index-1 problem: of differential and algebraic variables at constant
// step, of dense output and of the error estimate.
#include "tests/support/orders.hpp"
#include "tests/support/sample.hpp"

namespace manyfold {
namespace {

using test::expect_estimate_order;
using test::expect_orders;

// Newton's method ends at 0.01 rtol. SDIRK methods settle late: their stage order is one. By day numerics/tableau_test
// checks the order conditions of all.
TEST(DirkOrder, BackwardEuler) {
  expect_orders<BackwardEuler>(128, 1e-10, 1.0, 1.0, 1.0);
}
NIGHTLY_TEST(DirkOrder, Sdirk2) {
  expect_orders<Sdirk2>(256, 1e-12, 2.0, 2.0, 2.0);
}
NIGHTLY_TEST(DirkOrder, Sdirk3) {
  expect_orders<Sdirk3>(256, 1e-12, 3.0, 3.0, 3.0);
}
NIGHTLY_TEST(DirkOrder, Cash4) {
  expect_orders<Cash4>(128, 1e-13, 4.0, 4.0, 4.0);
}
TEST(DirkOrder, Sdirk4) {
  expect_orders<Sdirk4>(80, 1e-13, 4.0, 4.0, 4.0);
}
TEST(DirkOrder, Trbdf2) {
  expect_orders<Trbdf2>(128, 1e-12, 2.0, 2.0, 2.0);
}
NIGHTLY_TEST(DirkOrder, Kvaerno43) {
  expect_orders<Kvaerno43>(128, 1e-13, 4.0, 4.0, 4.0);
}
NIGHTLY_TEST(DirkOrder, Esdirk43) {
  expect_orders<Esdirk43>(64, 1e-13, 4.0, 4.0, 4.0);
}
NIGHTLY_TEST(DirkOrder, Kvaerno54HasDenseOrderFour) {
  expect_orders<Kvaerno54>(32, 1e-13, 5.0, 4.0, 4.0);
}
// Of algebraic variables the polynomial has order 4, but output settles them.
TEST(DirkOrder, Esdirk54) {
  expect_orders<Esdirk54>(20, 1e-12, 5.0, 5.0, 5.0);
}

TEST(DirkEstimate, FollowsTheOrderThatTheStepControlCountsOn) {
  expect_estimate_order<BackwardEuler>(0.02, BackwardEulerTableau::error_order);
  expect_estimate_order<Sdirk4>(0.02, Sdirk4Tableau::error_order);
  expect_estimate_order<Trbdf2>(0.02, Trbdf2Tableau::error_order);
  expect_estimate_order<Esdirk54>(0.05, Esdirk54Tableau::error_order);
}
NIGHTLY_TEST(DirkEstimate, OfFurtherMethodsFollowsTheOrderThatTheStepControlCountsOn) {
  expect_estimate_order<Sdirk2>(0.02, Sdirk2Tableau::error_order);
  expect_estimate_order<Sdirk3>(0.02, Sdirk3Tableau::error_order);
  expect_estimate_order<Cash4>(0.02, Cash4Tableau::error_order);
  expect_estimate_order<Kvaerno43>(0.02, Kvaerno43Tableau::error_order);
  expect_estimate_order<Esdirk43>(0.02, Esdirk43Tableau::error_order);
  expect_estimate_order<Kvaerno54>(0.05, Kvaerno54Tableau::error_order);
}

}  // namespace
}  // namespace manyfold
