// Orders of the Rosenbrock methods on an index-1 problem that depends on time: of differential and algebraic variables
// at constant step, of dense output and of the error estimate.
#include "tests/support/orders.hpp"

namespace manyfold {
namespace {

using test::expect_estimate_order;
using test::expect_orders;

TEST(RosenbrockOrder, Rodas3) {
  expect_orders<Rodas3>(128, 1e-10, 3.0, 3.0, 3.0);
}
// The slope of its algebraic variables settles late, from above.
TEST(RosenbrockOrder, Rodas4) {
  expect_orders<Rodas4>(256, 1e-10, 4.0, 4.0, 4.0, 0.3);
}
TEST(RosenbrockOrder, Rodas5p) {
  expect_orders<Rodas5p>(160, 1e-10, 5.0, 5.0, 5.0);
}

TEST(RosenbrockEstimate, FollowsTheOrderThatTheStepControlCountsOn) {
  expect_estimate_order<Rodas3>(0.02, Rodas3PTableau::error_order);
  expect_estimate_order<Rodas4>(0.02, Rodas4Tableau::error_order);
  // O(h^5) in differential variables, O(h^4) in algebraic ones, which lead here.
  expect_estimate_order<Rodas5p>(0.02, Rodas5PTableau::error_order - 1);
}

}  // namespace
}  // namespace manyfold
