#include "host/sampling/distribution.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

namespace manyfold {
namespace {

// Relative accuracy expected of a quantile: a few units in the last place of each of its steps.
constexpr double tight = 1e-13;

void expect_near(double got, double expected, double relative) {
  EXPECT_NEAR(got, expected, relative * std::max(std::abs(expected), 1e-300));
}

TEST(Distribution, NormalQuantilesAgreeWithPublishedTables) {
  // Digits of the inverse normal (Wichura 1988, AS 241, check values: 0.25, 0.001, 1e-20).
  const Distribution standard = Distribution::normal(0.0, 1.0);
  EXPECT_NEAR(standard.quantile(0.25), -0.6744897501960817, 1e-15);
  EXPECT_NEAR(standard.quantile(0.001), -3.090232306167814, 1e-14);
  EXPECT_NEAR(standard.quantile(1e-20), -9.262340089798408, 1e-13);
  EXPECT_NEAR(Distribution::normal(10.0, 2.0).quantile(0.975), 10.0 + 2.0 * 1.959963984540054, 1e-13);
}

TEST(Distribution, LognormalMedianIsItsFirstArgument) {
  const Distribution distribution = Distribution::lognormal(1e4, 0.2);
  expect_near(distribution.quantile(0.5), 1e4, tight);
  expect_near(distribution.quantile(0.975), 1e4 * std::exp(0.2 * 1.959963984540054), tight);
}

TEST(Distribution, UniformAndLoguniformFollowTheirClosedForms) {
  expect_near(Distribution::uniform(-2.0, 6.0).quantile(0.25), 0.0 + 1e-300, 1.0);
  EXPECT_DOUBLE_EQ(Distribution::uniform(-2.0, 6.0).quantile(0.75), 4.0);
  expect_near(Distribution::loguniform(1e-3, 1e3).quantile(0.5), 1.0, tight);
  expect_near(Distribution::loguniform(1.0, 16.0).quantile(0.75), 8.0, tight);
}

TEST(Distribution, UniformStaysFiniteOverTheWholeRangeOfDoubles) {
  const double huge = std::numeric_limits<double>::max();
  EXPECT_DOUBLE_EQ(Distribution::uniform(-huge, huge).quantile(0.75), huge * 0.5);
}

TEST(Distribution, TriangularInvertsItsCumulativeDistribution) {
  const Distribution distribution = Distribution::triangular(1.0, 2.0, 5.0);
  // P(X <= 2) = 1/4; P(X <= 1.5) = 0.5^2 / 4; P(X > 4) = 1 / 12.
  EXPECT_DOUBLE_EQ(distribution.quantile(0.25), 2.0);
  EXPECT_DOUBLE_EQ(distribution.quantile(0.0625), 1.5);
  expect_near(distribution.quantile(11.0 / 12.0), 4.0, tight);
  EXPECT_DOUBLE_EQ(Distribution::triangular(0.0, 0.0, 1.0).quantile(0.75), 0.5);
}

TEST(Distribution, BetaFollowsTheClosedFormWhereItHasOne) {
  // Beta(alpha, 1) has the quantile u^(1/alpha), Beta(1, beta) has 1 - (1 - u)^(1/beta).
  expect_near(Distribution::beta(3.0, 1.0).quantile(0.3), std::cbrt(0.3), 1e-12);
  expect_near(Distribution::beta(1.0, 2.0, 10.0, 20.0).quantile(0.75), 15.0, 1e-12);
  expect_near(Distribution::beta(2.0, 2.0).quantile(0.5), 0.5, 1e-12);
}

TEST(Distribution, BetaHasTails) {
  // For small x the density is x^(alpha - 1) / B(alpha, beta): with B(1/2, 2) = 4/3 P(X <= x) is 3/2 sqrt(x).
  for (const double u : {1e-9, 1e-12, 1e-14, 0x1p-53}) {
    const double x = 4.0 / 9.0 * u * u;
    expect_near(Distribution::beta(0.5, 2.0).quantile(u), x, 1e-9);
  }
  EXPECT_EQ(Distribution::beta(2.0, 0.5).quantile(1.0 - 1e-12), 1.0);
  EXPECT_NEAR(Distribution::beta(2.0, 0.01).quantile(0x1p-70), std::sqrt(2.0 * 0x1p-70 / 0.01 / 1.01), 1e-13);
}

TEST(Distribution, GammaFollowsExponentialAndChiSquare) {
  // Shape 1 is exponential; shape 5, scale 2 is chi-square with 10 degrees, whose 95 % point is 18.307038 (tables).
  expect_near(Distribution::gamma(1.0, 4.0).quantile(0.5), 4.0 * std::log(2.0), 1e-12);
  EXPECT_NEAR(Distribution::gamma(5.0, 2.0).quantile(0.95), 18.307038053275146, 1e-10);
}

// The upper tail probability of the standard normal, accurate however far out.
double above(double z) {
  return 0.5 * std::erfc(z / std::sqrt(2.0));
}

TEST(Distribution, TruncatedNormalIsAccurateInBothTails) {
  for (const double u : {1e-12, 1e-3, 0.25, 0.5, 0.75, 0.999}) {
    // Far in the upper tail: the probability above x, relative to that of the interval, is 1 - u.
    const double high = Distribution::truncated_normal(0.0, 1.0, 10.0, 12.0).quantile(u);
    const double share = (above(10.0) - above(high)) / (above(10.0) - above(12.0));
    // d(share)/dx is about 10, so an error of one unit in the last place of x (2e-15) is 2e-14 here.
    EXPECT_NEAR(share, u, 1e-13) << "upper, u = " << u;
    // And its mirror image.
    const double low = Distribution::truncated_normal(0.0, 1.0, -12.0, -10.0).quantile(1.0 - u);
    EXPECT_NEAR((above(10.0) - above(-low)) / (above(10.0) - above(12.0)), u, 1e-13) << "lower, u = " << u;
  }
}

TEST(Distribution, TruncatedNormalAroundTheMeanInvertsErfc) {
  const Distribution distribution = Distribution::truncated_normal(3.0, 2.0, -1.0, 9.0);
  for (const double u : {1e-6, 0.1, 0.4999, 0.5001, 0.9, 0.999999}) {
    const double z = (distribution.quantile(u) - 3.0) / 2.0;
    EXPECT_NEAR((above(-2.0) - above(z)) / (above(-2.0) - above(3.0)), u, 1e-14) << u;
  }
}

TEST(Distribution, TruncatedNormalNeverLeavesItsBounds) {
  const Distribution distribution = Distribution::truncated_normal(0.0, 1.0, 30.0, 30.5);
  for (const double u : {1e-300, 1e-16, 0.5, 1.0 - 1e-16}) {
    EXPECT_GE(distribution.quantile(u), 30.0);
    EXPECT_LE(distribution.quantile(u), 30.5);
  }
}

TEST(Distribution, ChoiceDividesTheUnitIntervalByWeight) {
  const Distribution distribution = Distribution::choice({7.0, 8.0, 9.0}, {1.0, 0.0, 3.0});
  EXPECT_EQ(distribution.quantile(0.2499), 7.0);
  EXPECT_EQ(distribution.quantile(0.2501), 9.0);
  EXPECT_EQ(distribution.quantile(1.0 - 0x1p-53), 9.0);
  EXPECT_EQ(Distribution::choice({1.0, 2.0}).quantile(0.51), 2.0);
  std::vector<double> numbers(1000);
  std::iota(numbers.begin(), numbers.end(), 0.0);
  const Distribution many = Distribution::choice(numbers);
  for (int k = 0; k < 1000; ++k) EXPECT_EQ(many.quantile((k + 0.5) / 1000.0), k);
}

TEST(Distribution, SamplesLieInTheirRange) {
  for (const Distribution& distribution :
       {Distribution::constant(3.0), Distribution::uniform(-1.0, 2.0), Distribution::loguniform(1e-3, 1e3),
        Distribution::normal(10.0, 0.5), Distribution::lognormal(2.0, 0.3),
        Distribution::truncated_normal(0.0, 1.0, -1.0, 3.0), Distribution::triangular(0.0, 1.0, 3.0),
        Distribution::beta(0.5, 2.0, -1.0, 1.0), Distribution::gamma(2.0, 3.0),
        Distribution::choice({5.0, -2.0, 3.0}, {0.1, 0.8, 0.1})}) {
    const auto [low, high] = distribution.range();
    for (const double u : {0x1p-90, 0x1p-53, 1e-6, 0.05, 0.3, 0.5, 0.7, 0.95, 1.0 - 1e-6, 1.0 - 0x1p-53}) {
      EXPECT_LE(low, distribution.quantile(u));
      EXPECT_GE(high, distribution.quantile(u));
    }
  }
  EXPECT_GT(Distribution::normal(10.0, 0.5).range().first, 0.0) << "as narrow as samples are";
  EXPECT_EQ(Distribution::choice({5.0, -2.0, 3.0}).range(), std::pair(-2.0, 5.0));
}

TEST(Distribution, GridLevelsReachTheEndsOfUniformRanges) {
  const Distribution uniform = Distribution::uniform(1.0, 2.0);
  EXPECT_EQ(uniform.level(0, 5), 1.0);
  EXPECT_EQ(uniform.level(1, 5), 1.25);
  EXPECT_EQ(uniform.level(4, 5), 2.0);
  const Distribution logarithmic = Distribution::loguniform(1e-3, 10.0);
  EXPECT_EQ(logarithmic.level(0, 5), 1e-3);
  expect_near(logarithmic.level(2, 5), 0.1, tight);
  EXPECT_EQ(logarithmic.level(4, 5), 10.0);
  EXPECT_NEAR(Distribution::normal(0.0, 1.0).level(0, 2), -0.6744897501960817, 1e-15);
  EXPECT_EQ(Distribution::choice({5.0, 6.0}).level(1, 2), 6.0);
  EXPECT_THROW(Distribution::choice({5.0, 6.0}).level(2, 3), UsageError);
}

TEST(Distribution, ShapesAreLargeAtMostWhereTheyStillReturn) {
  // Median and deviation of what is all but normal: shape and 1/2, sqrt(shape) and 1/sqrt(8 shape).
  EXPECT_NEAR(Distribution::gamma(1e10, 1.0).quantile(0.5), 1e10, 1e5 / 10);
  EXPECT_NEAR(Distribution::beta(1e10, 1e10).quantile(0.5), 0.5, 1e-8);
  for (const double u : {0x1p-54, 0.5, 1.0 - 0x1p-53}) {
    EXPECT_TRUE(std::isfinite(Distribution::beta(1e10, 1e-10).quantile(u)));
    EXPECT_TRUE(std::isfinite(Distribution::gamma(1e10, 1e10).quantile(u)));
  }
}

TEST(Distribution, ImpossibleArgumentsAreRefusedByName) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto key_of = [](const std::function<Distribution()>& make) {
    try {
      make();
    } catch (const DistributionError& error) {
      EXPECT_NE(std::string(error.what()).find(error.key), std::string::npos) << error.what();
      return error.key;
    }
    return std::string("accepted");
  };
  EXPECT_EQ(key_of([] { return Distribution::uniform(2.0, 1.0); }), "max");
  EXPECT_EQ(key_of([] { return Distribution::uniform(1.0, 1.0); }), "max");
  EXPECT_EQ(key_of([&] { return Distribution::uniform(nan, 1.0); }), "min");
  EXPECT_EQ(key_of([] { return Distribution::loguniform(0.0, 1.0); }), "min");
  EXPECT_EQ(key_of([] { return Distribution::normal(0.0, 0.0); }), "sigma");
  EXPECT_EQ(key_of([] { return Distribution::lognormal(-1.0, 1.0); }), "median");
  EXPECT_EQ(key_of([] { return Distribution::triangular(0.0, 2.0, 1.0); }), "mode");
  EXPECT_EQ(key_of([] { return Distribution::beta(0.0, 1.0); }), "alpha");
  EXPECT_EQ(key_of([] { return Distribution::gamma(1.0, -1.0); }), "scale");
  EXPECT_EQ(key_of([] { return Distribution::beta(1e20, 1.0); }), "alpha");
  EXPECT_EQ(key_of([] { return Distribution::beta(1.0, 1e20); }), "beta");
  EXPECT_EQ(key_of([] { return Distribution::gamma(1e15, 1.0); }), "shape");
  EXPECT_EQ(key_of([] { return Distribution::normal(0.0, 1e308); }), "sigma");
  EXPECT_EQ(key_of([] { return Distribution::lognormal(1.0, 100.0); }), "sigma");
  EXPECT_EQ(key_of([] { return Distribution::choice({}); }), "values");
  EXPECT_EQ(key_of([] { return Distribution::choice({1.0}, {0.0}); }), "weights");
  EXPECT_EQ(key_of([] { return Distribution::choice({1.0}, {1.0, 2.0}); }), "weights");
  EXPECT_EQ(key_of([] { return Distribution::truncated_normal(0.0, 1.0, 50.0, 60.0); }), "min");
  EXPECT_THROW(Distribution::uniform(0.0, 1.0).quantile(1.0), UsageError);
}

}  // namespace
}  // namespace manyfold
