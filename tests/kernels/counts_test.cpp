// Counts of the lanes, beyond what numbers of single precision hold.
#include <gtest/gtest.h>

#include "kernels/entry/kernel.hpp"

namespace manyfold {
namespace {

template <class Real>
class Counts : public ::testing::Test {};

using Lanes = ::testing::Types<double, Single, Pack, SinglePack>;
TYPED_TEST_SUITE(Counts, Lanes);

TYPED_TEST(Counts, GoOnBeyondTwoToTheTwentyFourth) {
  using Real = TypeParam;
  using Traits = LaneTraits<Real>;
  CountOf<Real> counter;
  for (int lane = 0; lane < Traits::width; ++lane) Traits::set(counter, lane, 100.0 * lane);
  constexpr int steps = 18'000'000;
  const auto first = Traits::only(0);
  for (int k = 0; k < steps; ++k) count_work<Real>(counter, first, Real(1.0));
  EXPECT_EQ(Traits::get(counter, 0), steps);
  for (int lane = 1; lane < Traits::width; ++lane) EXPECT_EQ(Traits::get(counter, lane), 100.0 * lane);
  // As `max_steps` is compared.
  EXPECT_TRUE(any(Real(counter) >= Real(17e6)));
  EXPECT_FALSE(any(Real(counter + counter) >= Real(37e6)));
}

}  // namespace
}  // namespace manyfold
