// End-point errors of the fully implicit methods on a stiff, an oscillating and an electrical problem.
#include "tests/support/accuracy.hpp"

namespace manyfold {
namespace {

using test::expect_accuracy;

TEST(CollocationAccuracy, Radau3) {
  expect_accuracy<Radau3>();
}
TEST(CollocationAccuracy, Radau9) {
  expect_accuracy<Radau9>();
}
// Steps at looser tolerances are so long that nothing of what is said of small ones holds.
TEST(CollocationAccuracy, Radau13IsForTightTolerances) {
  expect_accuracy<Radau13>(1.0, {1e-6, 1e-8});
}
TEST(CollocationAccuracy, Lobatto4) {
  expect_accuracy<Lobatto4>();
}
TEST(CollocationAccuracy, Lobatto6) {
  expect_accuracy<Lobatto6>();
}

// These estimate their own local error, O(h^(p+1)): errors per step within the tolerance add up to its power p/(p+1).
TEST(CollocationAccuracy, Lobatto2) {
  expect_accuracy<Lobatto2>(2.0 / 3.0);
}
TEST(CollocationAccuracy, Radau1) {
  expect_accuracy<Radau1>(0.5);
}

}  // namespace
}  // namespace manyfold
