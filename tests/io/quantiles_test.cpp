#include "host/io/quantiles.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <thread>

#include <manyfold/error.hpp>

#include "tests/support/temporary_folder.hpp"

namespace manyfold {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

double quantile_of(std::vector<double> values, double probability) {
  return quantiles_of(values, std::vector<double>{probability}).front();
}

TEST(Quantiles, FollowNumpysDefault) {
  // numpy.quantile([3, 1, 4, 1, 5, 9, 2, 6], q): 0.25 -> 1.75, 0.5 -> 3.5, 0.9 -> 6.9, 1 -> 9.
  const std::vector<double> values = {3, 1, 4, 1, 5, 9, 2, 6};
  EXPECT_DOUBLE_EQ(quantile_of(values, 0.25), 1.75);
  EXPECT_DOUBLE_EQ(quantile_of(values, 0.5), 3.5);
  EXPECT_NEAR(quantile_of(values, 0.9), 6.9, 1e-14);
  EXPECT_EQ(quantile_of(values, 0.0), 1.0);
  EXPECT_EQ(quantile_of(values, 1.0), 9.0);
  EXPECT_TRUE(std::isnan(quantile_of({}, 0.5)));
}

/// By sorting all of them.
std::vector<double> by_sorting(std::vector<double> values, const std::vector<double>& probabilities) {
  std::sort(values.begin(), values.end());
  std::vector<double> result;
  for (const double probability : probabilities) {
    const double place = probability * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const double low = values[below];
    const double next = values[std::min(below + 1, values.size() - 1)];
    const double part = place - std::floor(place);
    result.push_back(part < 0.5 ? low + (next - low) * part : next - (next - low) * (1.0 - part));
  }
  return result;
}

// Whatever the values look like: counting by bins must not lose any of them.
TEST(Quantiles, AreThoseOfTheSortedValues) {
  const std::vector<double> probabilities = {0.999, 0.0, 0.5, 0.05, 0.5, 1.0, 0.25, 0.0001};
  std::mt19937_64 generator(7);
  std::normal_distribution<double> normal(300.0, 1e-3);
  std::vector<std::vector<double>> samples(7);
  for (int i = 0; i < 20000; ++i) {
    const double x = normal(generator);
    samples[0].push_back(x);
    samples[1].push_back(std::exp(20.0 * (x - 300.0) / 1e-3));    // over 70 decades
    samples[2].push_back(i % 3 == 0 ? 1.0 : -1.0);                // two values
    samples[3].push_back(5.0);                                    // one
    samples[4].push_back(i == 77 ? 1e300 : x);                    // with an outlier
    samples[5].push_back(i % 2 == 0 ? -1.7e308 : 1.7e308 - i);    // wider than all numbers
    samples[6].push_back(static_cast<double>(i % 100) * 5e-324);  // the smallest ones
  }
  for (const std::vector<double>& sample : samples) {
    std::vector<double> values = sample;
    EXPECT_EQ(quantiles_of(values, probabilities), by_sorting(sample, probabilities)) << sample[0];
  }
}

class ColumnSpillTest : public test::InTemporaryFolder {};

TEST_F(ColumnSpillTest, GivesBackItsColumns) {
  const ColumnSpill spill(folder_ / "result.nc", 2, 10);
  spill.put(2, std::vector<double>{3.0, 30.0});
  spill.put(0, std::vector<double>{0.0, 10.0, 2.0, nan});
  // Row 3 and the rows from 5 on were never put.
  spill.put(4, std::vector<double>{-0.0, -1.0});
  EXPECT_EQ(spill.finite_values(0), (std::vector<double>{0.0, 2.0, 3.0, -0.0}));
  EXPECT_EQ(spill.finite_values(1), (std::vector<double>{10.0, 30.0, -1.0}));
  EXPECT_THROW(spill.put(0, std::vector<double>(22)), UsageError);
  EXPECT_THROW(spill.put(9, std::vector<double>(4)), UsageError);
  EXPECT_THROW(spill.put(0, std::vector<double>(3)), UsageError);
}

// More than memory is meant for.
TEST_F(ColumnSpillTest, LeavesNothingOnDisk) {
  const ColumnSpill spill(folder_ / "result.nc", 200, 1'000'000);
  spill.put(999'999, std::vector<double>(200, 1.5));
  EXPECT_TRUE(std::filesystem::is_empty(folder_));  // not even while it is in use
  EXPECT_EQ(spill.finite_values(199), std::vector<double>{1.5});
}

TEST_F(ColumnSpillTest, TakesRowsFromSeveralThreads) {
  constexpr std::int64_t count = 1000;
  const ColumnSpill spill(folder_ / "result.nc", 9, 4 * count);
  {
    std::vector<std::jthread> threads;
    for (std::int64_t part = 0; part < 4; ++part) {
      threads.emplace_back([&spill, part] {
        for (std::int64_t i = part * count; i < (part + 1) * count; ++i) {
          std::vector<double> row;
          for (int column = 0; column < 9; ++column) row.push_back(static_cast<double>(i * 10 + column));
          spill.put(i, row);
        }
      });
    }
  }
  const std::vector<double> values = spill.finite_values(8);
  ASSERT_EQ(values.size(), 4U * count);
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], static_cast<double>(i) * 10.0 + 8.0);
}

}  // namespace
}  // namespace manyfold
