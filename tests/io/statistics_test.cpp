#include "host/io/statistics.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <random>

#include <manyfold/error.hpp>

namespace manyfold {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// Rows of `columns` values with a large mean, so that the sum of squares would lose its digits.
std::vector<double> rows(int count, int columns) {
  std::mt19937_64 generator(5);
  std::normal_distribution<double> normal(1e6, 1.0);
  std::vector<double> values;
  for (int i = 0; i < count * columns; ++i) values.push_back(normal(generator));
  return values;
}

TEST(Statistics, AgreeWithTheTwoPassFormulaInLongDouble) {
  const auto values = rows(10000, 2);
  Statistics statistics(2);
  statistics.add(values);
  for (std::size_t column = 0; column < 2; ++column) {
    long double sum = 0.0L;
    for (std::size_t i = column; i < values.size(); i += 2) sum += static_cast<long double>(values[i]);
    const long double mean = sum / 10000.0L;
    long double squares = 0.0L;
    for (std::size_t i = column; i < values.size(); i += 2) {
      squares += (static_cast<long double>(values[i]) - mean) * (static_cast<long double>(values[i]) - mean);
    }
    // Welford's mean of values near 1e6 carries rounding of 1e-10 per value at worst; it averages out to about 1e-11.
    EXPECT_NEAR(statistics.mean(column), static_cast<double>(mean), 1e-9);
    EXPECT_NEAR(statistics.standard_deviation(column), static_cast<double>(std::sqrt(squares / 9999.0L)), 1e-9);
    EXPECT_EQ(statistics.count(column), 10000);
  }
}

TEST(Statistics, DoNotDependOnHowInstancesAreCutIntoChunks) {
  const auto values = rows(1000, 3);
  Statistics whole(3);
  whole.add(values);
  Statistics parts(3);
  const std::span<const double> all(values);
  for (std::size_t start = 0; start < 1000; start += 7) {
    parts.add(all.subspan(start * 3, 3 * std::min<std::size_t>(7, 1000 - start)));
  }
  for (std::size_t column = 0; column < 3; ++column) {
    EXPECT_EQ(whole.mean(column), parts.mean(column));
    EXPECT_EQ(whole.standard_deviation(column), parts.standard_deviation(column));
  }
}

TEST(Statistics, MergedHalvesAgreeWithTheWhole) {
  const auto values = rows(1000, 1);
  const std::span<const double> all(values);
  Statistics whole(1);
  Statistics one(1);
  Statistics two(1);
  whole.add(all);
  one.add(all.first(300));
  two.add(all.subspan(300));
  one.merge(two);
  EXPECT_EQ(one.count(0), 1000);
  EXPECT_NEAR(one.mean(0), whole.mean(0), 1e-9);
  EXPECT_NEAR(one.standard_deviation(0), whole.standard_deviation(0), 1e-9);
  EXPECT_EQ(one.min(0), *std::min_element(values.begin(), values.end()));
  EXPECT_EQ(one.max(0), *std::max_element(values.begin(), values.end()));
  Statistics empty(1);
  empty.merge(whole);
  EXPECT_EQ(empty.mean(0), whole.mean(0));
  EXPECT_THROW(empty.merge(Statistics(2)), UsageError);
}

TEST(Statistics, OnlyFiniteValuesCount) {
  Statistics statistics(2);
  statistics.add(std::vector<double>{1.0, nan, std::numeric_limits<double>::infinity(), nan, 4.0, nan});
  EXPECT_EQ(statistics.count(0), 2);
  EXPECT_EQ(statistics.mean(0), 2.5);
  EXPECT_DOUBLE_EQ(statistics.standard_deviation(0), std::sqrt(4.5));
  EXPECT_EQ(statistics.min(0), 1.0);
  EXPECT_EQ(statistics.max(0), 4.0);
  EXPECT_EQ(statistics.count(1), 0);
  EXPECT_TRUE(std::isnan(statistics.mean(1)));
  EXPECT_TRUE(std::isnan(statistics.min(1)));
}

TEST(Quantiles, FollowNumpysDefault) {
  // numpy.quantile([3, 1, 4, 1, 5, 9, 2, 6], q): 0.25 -> 1.75, 0.5 -> 3.5, 0.9 -> 6.9, 1 -> 9.
  std::vector<double> values = {3, 1, 4, 1, 5, 9, 2, 6};
  EXPECT_DOUBLE_EQ(select_quantile(values, 0.25), 1.75);
  EXPECT_DOUBLE_EQ(select_quantile(values, 0.5), 3.5);
  EXPECT_NEAR(select_quantile(values, 0.9), 6.9, 1e-14);
  EXPECT_EQ(select_quantile(values, 0.0), 1.0);
  EXPECT_EQ(select_quantile(values, 1.0), 9.0);
  EXPECT_TRUE(std::isnan(select_quantile({}, 0.5)));
}

TEST(ColumnSpill, GivesBackItsColumnsAndLeavesNothingOnDisk) {
  char name[] = "/tmp/manyfold-spill-XXXXXX";
  const std::filesystem::path folder = ::mkdtemp(name);
  {
    ColumnSpill spill(folder / "result.nc", 2, 10);
    spill.add(std::vector<double>{1.0, 10.0, 2.0, nan});
    spill.add(std::vector<double>{3.0, 30.0});
    EXPECT_EQ(spill.finite_values(0), (std::vector<double>{1.0, 2.0, 3.0}));
    EXPECT_EQ(spill.finite_values(1), (std::vector<double>{10.0, 30.0}));
    EXPECT_TRUE(std::filesystem::is_empty(folder));  // not even while it is in use
    EXPECT_THROW(spill.add(std::vector<double>(20)), UsageError);
  }
  std::filesystem::remove_all(folder);
}

TEST(StatisticRequest, KnowsItsNames) {
  EXPECT_EQ(StatisticRequest::parse("std")->kind, StatisticRequest::Kind::std);
  EXPECT_EQ(StatisticRequest::parse("quantile(0.05)")->probability, 0.05);
  for (const char* wrong :
       {"median", "quantile(1.5)", "quantile()", "quantile(0.5", "quantile(0.5x)", "quantile(nan)"}) {
    EXPECT_FALSE(StatisticRequest::parse(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace manyfold
