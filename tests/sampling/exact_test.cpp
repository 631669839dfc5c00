// The functions that hosts and devices share, against those of the C library in extended precision.
#include "kernels/sampling/exact.hpp"

#include <gtest/gtest.h>

#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <limits>
#include <random>

namespace manyfold {
namespace {

/// Error of `got` in units in the last place of `expected`.
double units(double got, long double expected) {
  const double rounded = static_cast<double>(expected);
  const double unit = std::nextafter(std::abs(rounded), std::numeric_limits<double>::infinity()) - std::abs(rounded);
  return static_cast<double>(std::abs(static_cast<long double>(got) - expected)) / unit;
}

TEST(Exact, LogarithmIsGoodToOneUnitInTheLastPlace) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(-1074.0, 1023.9);
  std::uniform_real_distribution<double> near_one(0.5, 2.0);
  double worst = 0.0;
  for (int i = 0; i < 200'000; ++i) {
    const double x = i % 2 == 0 ? std::exp2(exponent(random)) : near_one(random);
    worst = std::max(worst, units(exact::log(x), std::log(static_cast<long double>(x))));
  }
  EXPECT_LT(worst, 1.0);
  EXPECT_EQ(exact::log(1.0), 0.0);
}

TEST(Exact, ExponentialIsGoodToOneUnitInTheLastPlace) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> argument(-708.0, 709.7);
  std::uniform_real_distribution<double> small(-1.0, 1.0);
  double worst = 0.0;
  for (int i = 0; i < 200'000; ++i) {
    const double x = i % 2 == 0 ? argument(random) : small(random);
    worst = std::max(worst, units(exact::exp(x), std::exp(static_cast<long double>(x))));
  }
  EXPECT_LT(worst, 1.0);
  EXPECT_EQ(exact::exp(0.0), 1.0);
  EXPECT_EQ(exact::exp(710.0), std::numeric_limits<double>::infinity());
  EXPECT_EQ(exact::exp(-746.0), 0.0);
  EXPECT_NEAR(exact::exp(-740.0), std::exp(-740.0), 2.0 * std::numeric_limits<double>::denorm_min());
}

TEST(Exact, NormalQuantileAgreesWithExtendedPrecision) {
  const boost::math::normal_distribution<long double> normal;
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> middle(0.0, 1.0);
  std::uniform_real_distribution<double> exponent(-300.0, 0.0);
  for (int i = 0; i < 20'000; ++i) {
    const double u = i % 2 == 0 ? middle(random) : std::pow(10.0, exponent(random));
    if (!(u > 0.0 && u < 1.0)) continue;
    const auto expected = static_cast<double>(boost::math::quantile(normal, static_cast<long double>(u)));
    // Wichura promises about 1e-16; roundings of the evaluation in double precision come on top.
    EXPECT_NEAR(exact::normal_quantile(u), expected, 1e-15 * std::abs(expected)) << u;
  }
  EXPECT_EQ(exact::normal_quantile(0.5), 0.0);
}

}  // namespace
}  // namespace manyfold
