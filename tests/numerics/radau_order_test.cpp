// Orders of the collocation methods on an index-1 problem: of differential and algebraic variables at constant step, of
// dense output and of the error estimate.
#include "tests/support/orders.hpp"

namespace manyfold {
namespace {

using test::expect_estimate_order;
using test::expect_orders;

// Newton's method ends at 0.2 rtol^1.2 for three stages.
TEST(RadauOrder, RadauIia5HasDenseOrderFour) {
  expect_orders<Radau5>(8, 1e-11, 5.0, 4.0, 4.0);
}

TEST(RadauEstimate, FollowsTheOrderThatTheStepControlCountsOn) {
  expect_estimate_order<Radau5>(0.05, RadauIIA5::error_order);
}

}  // namespace
}  // namespace manyfold
