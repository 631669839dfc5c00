// End-point errors of the Rosenbrock methods on a stiff, an oscillating and an electrical problem.
#include "tests/support/accuracy.hpp"

namespace manyfold {
namespace {

using test::expect_accuracy;

TEST(RosenbrockAccuracy, Rodas3) {
  expect_accuracy<Rodas3>();
}
TEST(RosenbrockAccuracy, Rodas4) {
  expect_accuracy<Rodas4>();
}
TEST(RosenbrockAccuracy, Rodas5p) {
  expect_accuracy<Rodas5p>();
}

}  // namespace
}  // namespace manyfold
