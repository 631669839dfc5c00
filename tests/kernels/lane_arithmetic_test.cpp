// Arithmetic that lanes do in their own way. This test is compiled for AVX-512 where the machine has it.
#include "kernels/lane/rough.hpp"

#include <algorithm>
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

/// In units in the last place of the result; of numbers below the smallest normal one, of that.
double error_of_exp(double x) {
  const long double exact = std::exp(static_cast<long double>(x));
  int exponent = 0;
  std::frexp(static_cast<double>(exact), &exponent);
  const double unit = std::ldexp(1.0, std::max(exponent, -1021) - 53);
  return std::abs(static_cast<double>((LaneTraits<Pack>::get(exp(Pack(x)), 0) - exact) / unit));
}

TEST(Exponential, HasAllDigits) {
  // libmvec promises 4 units, the function for AVX-512 1.1; `long double` has eleven bits more.
#if defined(__AVX512F__)
  constexpr double most = 1.11;
#else
  constexpr double most = 4.0;
#endif
  double worst = 0.0;
  for (int k = 0; k < 200000; ++k) {
    const double part = k / 200000.0;
    worst = std::max({worst, error_of_exp(-745.0 + 1454.7 * part), error_of_exp(part - 0.5),
                      error_of_exp(std::ldexp(part - 0.5, -(k % 60)))});
  }
  EXPECT_LE(worst, most);
}

TEST(Exponential, EndsAtZeroAndInfinity) {
  const auto of = [](double x) { return LaneTraits<Pack>::get(exp(Pack(x)), 0); };
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(of(0.0), 1.0);
  EXPECT_EQ(of(infinity), infinity);
  EXPECT_EQ(of(-infinity), 0.0);
  EXPECT_EQ(of(1e300), infinity);
  EXPECT_EQ(of(-1e300), 0.0);
  EXPECT_EQ(of(709.79), infinity);
  EXPECT_EQ(of(709.78), std::exp(709.78));
  EXPECT_EQ(of(-745.14), 0.0);
  EXPECT_GT(of(-745.13), 0.0);
  EXPECT_TRUE(std::isnan(of(std::numeric_limits<double>::quiet_NaN())));
}

TEST(Exponential, OfALaneDoesNotDependOnTheOthers) {
  using Traits = LaneTraits<Pack>;
  for (int lane = 0; lane < Pack::width; ++lane) {
    Pack x(1e4);
    Traits::set(x, lane, -3.7);
    EXPECT_EQ(Traits::get(exp(x), lane), Traits::get(exp(Pack(-3.7)), 0));
  }
}

}  // namespace
}  // namespace manyfold
