// End-point errors of the backward differentiation formulas.
#include "tests/support/accuracy.hpp"

namespace manyfold {
namespace {

using test::expect_accuracy;

TEST(BdfAccuracy, ErrorFollowsTheTolerance) {
  expect_accuracy<Bdf>();
}

}  // namespace
}  // namespace manyfold
