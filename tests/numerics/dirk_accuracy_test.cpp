// End-point errors of the diagonally implicit methods on a stiff, an oscillating and an electrical problem.
#include "tests/support/accuracy.hpp"

namespace manyfold {
namespace {

using test::expect_accuracy;

TEST(DirkAccuracy, Sdirk2) {
  expect_accuracy<Sdirk2>();
}
TEST(DirkAccuracy, Sdirk3) {
  expect_accuracy<Sdirk3>();
}
TEST(DirkAccuracy, Cash4) {
  expect_accuracy<Cash4>();
}
TEST(DirkAccuracy, Sdirk4) {
  expect_accuracy<Sdirk4>();
}
TEST(DirkAccuracy, Kvaerno43) {
  expect_accuracy<Kvaerno43>();
}
TEST(DirkAccuracy, Esdirk43) {
  expect_accuracy<Esdirk43>();
}
TEST(DirkAccuracy, Kvaerno54) {
  expect_accuracy<Kvaerno54>();
}

// These estimate their own local error, O(h^(p+1)), and not that of a method of lower order: errors per step within the
// tolerance add up to a power p/(p+1) of it.
TEST(DirkAccuracy, Trbdf2) {
  expect_accuracy<Trbdf2>(2.0 / 3.0);
}
TEST(DirkAccuracy, BackwardEulerIsForProblemsThatDamp) {
  test::expect_error_follows_tolerance(test::own_kernel<Robertson, BackwardEuler>(), {1e-4, 1e-6}, 30.0, 0.5);
  test::expect_error_follows_tolerance(test::own_kernel<TransistorAmplifier, BackwardEuler>(), {1e-4, 1e-6}, 30.0, 0.5);
}

}  // namespace
}  // namespace manyfold
