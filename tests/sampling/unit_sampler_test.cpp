#include "host/sampling/unit_sampler.hpp"

#include <Random123/philox.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <manyfold/error.hpp>

namespace manyfold {
namespace {

const std::vector<std::string> all_samplers = {"monte_carlo", "latin_hypercube", "sobol"};

std::vector<double> column(const UnitSampler& sampler, int instances, int dimension) {
  std::vector<double> values;
  for (int i = 0; i < instances; ++i) values.push_back(sampler.coordinate(i, dimension));
  return values;
}

// The Kolmogorov-Smirnov distance of `values` from the uniform distribution.
double distance_from_uniform(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto n = static_cast<double>(values.size());
  double distance = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto rank = static_cast<double>(i);
    distance = std::max({distance, values[i] - rank / n, (rank + 1.0) / n - values[i]});
  }
  return distance;
}

double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - 0.5) * (b[i] - 0.5);
  return 12.0 * sum / static_cast<double>(a.size());
}

TEST(UnitSampler, RandomBitsAreThoseOfPhiloxInRandom123) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t seed = random();
    const std::uint64_t index = random();
    const auto dimension = static_cast<std::uint32_t>(random());
    const r123::Philox4x32::ctr_type counter = {{static_cast<std::uint32_t>(index),
                                                 static_cast<std::uint32_t>(index >> 32), dimension,
                                                 static_cast<std::uint32_t>(Purpose::jitter)}};
    const auto words =
        r123::Philox4x32()(counter, {{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}});
    EXPECT_EQ(random_bits(seed, Purpose::jitter, index, dimension), std::uint64_t{words[0]} << 32 | words[1]);
  }
}

TEST(UnitSampler, EveryMarginIsUniformByTheKolmogorovSmirnovTest) {
  constexpr int n = 4096;
  for (const auto& name : all_samplers) {
    const UnitSampler sampler(name, 42, n, 8);
    for (int dimension = 0; dimension < 8; ++dimension) {
      // 1.95 / sqrt(n) is exceeded once in a thousand; seeds are fixed, so this holds always or never.
      EXPECT_LT(distance_from_uniform(column(sampler, n, dimension)), 1.95 / std::sqrt(n)) << name << " " << dimension;
    }
  }
}

TEST(UnitSampler, DimensionsAreUncorrelated) {
  constexpr int n = 4096;
  for (const auto& name : all_samplers) {
    const UnitSampler sampler(name, 7, n, 6);
    for (int a = 0; a < 6; ++a) {
      for (int b = 0; b < a; ++b) {
        // Four standard deviations of the correlation of independent samples.
        EXPECT_LT(std::abs(correlation(column(sampler, n, a), column(sampler, n, b))), 4.0 / std::sqrt(n)) << name;
      }
    }
  }
}

TEST(UnitSampler, SeedsGiveIndependentSamples) {
  constexpr int n = 256;
  constexpr int dimensions = 256;
  for (const auto& name : all_samplers) {
    const UnitSampler one(name, 1, n, dimensions);
    const UnitSampler two(name, std::uint64_t{1} << 40 | 1, n, dimensions);  // differs in the high word only
    double sum = 0.0;
    for (int d = 0; d < dimensions; ++d) sum += correlation(column(one, n, d), column(two, n, d));
    // Two scramblings of one Sobol dimension share or flip their first bit, so a single correlation is near +-0.75:
    // only the mean over the dimensions vanishes, with a standard deviation of at most 0.8 / 16. Four of these.
    EXPECT_LT(std::abs(sum / dimensions), 0.2) << name;
  }
}

TEST(UnitSampler, LatinHypercubeHasExactlyOneInstanceInEveryStratum) {
  for (const int n : {1, 2, 3, 7, 16, 17, 1000, 65537}) {
    const UnitSampler sampler("latin_hypercube", 5, n, 3);
    for (int dimension = 0; dimension < 3; ++dimension) {
      std::vector<int> hits(static_cast<std::size_t>(n), 0);
      for (const double u : column(sampler, n, dimension)) ++hits[static_cast<std::size_t>(u * n)];
      EXPECT_EQ(std::count(hits.begin(), hits.end(), 1), n) << n;
    }
  }
}

TEST(UnitSampler, SobolHasOnePointInEveryElementaryInterval) {
  // The defining property of a (0, 10, 2)-net in base 2, which nested scrambling keeps: the first two dimensions of the
  // sequence have exactly one of 1024 points in each box of 2^a by 2^(10 - a).
  constexpr int n = 1024;
  const UnitSampler sampler("sobol", 3, n, 2);
  for (int a = 0; a <= 10; ++a) {
    const int wide = 1 << a;
    const int high = n / wide;
    std::vector<int> hits(n, 0);
    for (int i = 0; i < n; ++i) {
      const int x = static_cast<int>(sampler.coordinate(i, 0) * wide);
      const int y = static_cast<int>(sampler.coordinate(i, 1) * high);
      ++hits[static_cast<std::size_t>(x * high + y)];
    }
    EXPECT_EQ(std::count(hits.begin(), hits.end(), 1), n) << a;
  }
}

TEST(UnitSampler, SobolStratifiesEveryDimensionUpToThousands) {
  constexpr int n = 256;
  const UnitSampler sampler("sobol", 3, n, 3667);
  for (const int dimension : {0, 1, 2, 50, 1000, 3666}) {
    std::vector<int> hits(n, 0);
    for (const double u : column(sampler, n, dimension)) ++hits[static_cast<std::size_t>(u * n)];
    EXPECT_EQ(std::count(hits.begin(), hits.end(), 1), n) << dimension;
  }
}

TEST(UnitSampler, SobolBeatsMonteCarloOnAKnownIntegral) {
  // Product of (1 + (u - 1/2) / 2) over five dimensions: its mean is 1.
  constexpr int n = 4096;
  const auto error_of = [](const std::string& name) {
    double worst = 0.0;
    for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
      const UnitSampler sampler(name, seed, n, 5);
      double sum = 0.0;
      for (int i = 0; i < n; ++i) {
        double product = 1.0;
        for (int d = 0; d < 5; ++d) product *= 1.0 + 0.5 * (sampler.coordinate(i, d) - 0.5);
        sum += product;
      }
      worst = std::max(worst, std::abs(sum / n - 1.0));
    }
    return worst;
  };
  // The standard deviation of the product is 0.33, so Monte Carlo errs by about 5e-3; scrambled nets by n^-1.5 at best.
  EXPECT_LT(error_of("sobol"), 1e-4);
  EXPECT_GT(error_of("monte_carlo"), 1e-3);
}

TEST(UnitSampler, CoordinatesDoNotDependOnOrderOrThread) {
  constexpr int n = 2000;
  for (const auto& name : all_samplers) {
    const UnitSampler sampler(name, 42, n, 3);
    const std::vector<double> expected = column(sampler, n, 2);
    std::vector<int> order(n);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), std::mt19937(1));
    std::vector<double> got(n);
    const auto work = [&](int from, int to) {
      for (int k = from; k < to; ++k) {
        const int i = order[static_cast<std::size_t>(k)];
        got[static_cast<std::size_t>(i)] = sampler.coordinate(i, 2);
      }
    };
    std::thread other(work, n / 2, n);
    work(0, n / 2);
    other.join();
    EXPECT_EQ(std::memcmp(got.data(), expected.data(), n * sizeof(double)), 0) << name;
  }
}

TEST(UnitSampler, MonteCarloAndSobolDoNotDependOnTheSizeOfTheEnsemble) {
  for (const std::string name : {"monte_carlo", "sobol"}) {
    EXPECT_EQ(column(UnitSampler(name, 9, 100, 2), 100, 1), column(UnitSampler(name, 9, 100000, 2), 100, 1));
  }
}

TEST(UnitSampler, CoordinatesAreStrictlyInsideTheUnitInterval) {
  for (const auto& name : all_samplers) {
    const std::int64_t instances = std::int64_t{1} << 32;
    const UnitSampler sampler(name, 0, instances, 1);
    for (const std::int64_t i : {std::int64_t{0}, std::int64_t{1}, instances / 2, instances - 1}) {
      EXPECT_GT(sampler.coordinate(i, 0), 0.0);
      EXPECT_LT(sampler.coordinate(i, 0), 1.0);
    }
  }
}

TEST(UnitSampler, ImpossibleRequestsAreRefused) {
  EXPECT_THROW(UnitSampler("halton", 0, 1, 1), UsageError);
  EXPECT_THROW(UnitSampler("sobol", 0, 1, 3668), UsageError);
  EXPECT_THROW(UnitSampler("sobol", 0, (std::int64_t{1} << 32) + 1, 1), UsageError);
  EXPECT_THROW(UnitSampler("monte_carlo", 0, 0, 1), UsageError);
}

}  // namespace
}  // namespace manyfold
