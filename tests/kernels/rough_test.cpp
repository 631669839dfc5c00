// Rough arithmetic has the digits that it promises, and zeros and infinities where division and root have them.
#include "kernels/lane/rough.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "kernels/lane/pack.hpp"

namespace manyfold {
namespace {

template <class Real>
class Rough : public ::testing::Test {
 protected:
  static double first(const Real& x) { return LaneTraits<Real>::get(x, 0); }
};
using Lanes = ::testing::Types<double, Pack>;
TYPED_TEST_SUITE(Rough, Lanes);

TYPED_TEST(Rough, HasSixDigits) {
  using Real = TypeParam;
  for (double exponent = -280.0; exponent < 280.0; exponent += 0.137) {
    const double x = std::pow(10.0, exponent);
    EXPECT_NEAR(this->first(rough_quotient(Real(-3.0), Real(x))) * x / -3.0, 1.0, 1e-7) << x;
    EXPECT_NEAR(this->first(rough_sqrt(Real(x))) / std::sqrt(x), 1.0, 1e-7) << x;
  }
  for (double exponent = -37.0; exponent < 37.0; exponent += 0.0137) {
    const double x = std::pow(10.0, exponent);
    EXPECT_NEAR(this->first(rough_root<2>(Real(x))) / std::pow(x, 1.0 / 2.0), 1.0, 1e-6) << x;
    EXPECT_NEAR(this->first(rough_root<3>(Real(x))) / std::pow(x, 1.0 / 3.0), 1.0, 1e-6) << x;
    EXPECT_NEAR(this->first(rough_root<4>(Real(x))) / std::pow(x, 1.0 / 4.0), 1.0, 1e-6) << x;
    EXPECT_NEAR(this->first(rough_root<6>(Real(x))) / std::pow(x, 1.0 / 6.0), 1.0, 1e-6) << x;
    EXPECT_NEAR(this->first(rough_root<10>(Real(x))) / std::pow(x, 1.0 / 10.0), 1.0, 1e-5) << x;
  }
}

TYPED_TEST(Rough, KeepsZerosAndInfinities) {
  using Real = TypeParam;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double none = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(this->first(rough_quotient(Real(0.0), Real(2.0))), 0.0);
  EXPECT_EQ(this->first(rough_quotient(Real(1.0), Real(0.0))), infinity);
  EXPECT_EQ(this->first(rough_quotient(Real(1.0), Real(infinity))), 0.0);
  EXPECT_TRUE(std::isnan(this->first(rough_quotient(Real(0.0), Real(0.0)))));
  EXPECT_TRUE(std::isnan(this->first(rough_quotient(Real(1.0), Real(none)))));
  EXPECT_EQ(this->first(rough_sqrt(Real(0.0))), 0.0);
  EXPECT_EQ(this->first(rough_sqrt(Real(infinity))), infinity);
  EXPECT_TRUE(std::isnan(this->first(rough_sqrt(Real(none)))));
  EXPECT_EQ(this->first(rough_root<3>(Real(0.0))), 0.0);
  EXPECT_EQ(this->first(rough_root<5>(Real(infinity))), infinity);
  EXPECT_TRUE(std::isnan(this->first(rough_root<5>(Real(none)))));
}

}  // namespace
}  // namespace manyfold
