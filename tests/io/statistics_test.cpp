#include "host/io/statistics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
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
  statistics.add(0, values);
  const Moments moments = statistics.moments();
  for (std::size_t column = 0; column < 2; ++column) {
    long double sum = 0.0L;
    for (std::size_t i = column; i < values.size(); i += 2) sum += static_cast<long double>(values[i]);
    const long double mean = sum / 10000.0L;
    long double squares = 0.0L;
    for (std::size_t i = column; i < values.size(); i += 2) {
      squares += (static_cast<long double>(values[i]) - mean) * (static_cast<long double>(values[i]) - mean);
    }
    // Means of blocks near 1e6 are rounded by 1e-10 each; that averages out to about 1e-11.
    EXPECT_NEAR(moments.mean(column), static_cast<double>(mean), 1e-9);
    EXPECT_NEAR(moments.standard_deviation(column), static_cast<double>(std::sqrt(squares / 9999.0L)), 1e-9);
    EXPECT_EQ(moments.count(column), 10000);
  }
}

// Near 1e15 doubles are 1/8 apart, and sums of 64 of them 8. The variance of 0, 1/4, 1/2 and 3/4 is 5 / 64 n / (n - 1).
TEST(Statistics, KeepASmallSpreadAroundALargeMean) {
  std::vector<double> values;
  for (int i = 0; i < 8192; ++i) values.push_back(1e15 + 0.25 * (i % 4));
  Statistics statistics(1);
  statistics.add(0, values);
  EXPECT_EQ(statistics.moments().mean(0), 1e15 + 0.375);
  EXPECT_NEAR(std::pow(statistics.moments().standard_deviation(0), 2.0), 5.0 / 64.0 * 8192.0 / 8191.0, 1e-15);
}

TEST(Statistics, OfHugeValuesAreInfiniteWhereSquaresAre) {
  Statistics statistics(3);
  for (int i = 0; i < 8192; ++i) {
    const double side = i % 2 == 0 ? 1.0 : -1.0;
    statistics.add(i, std::vector<double>{1e306 + side * 1e292, side * 1e148, 2.0 + 1e300 * side});
  }
  const Moments moments = statistics.moments();
  const double deviation = std::sqrt(8192.0 / 8191.0);
  EXPECT_NEAR(moments.mean(0) / 1e306, 1.0, 1e-15);
  EXPECT_NEAR(moments.mean(1) / 1e148, 0.0, 1e-15);
  EXPECT_NEAR(moments.standard_deviation(1) / 1e148, deviation, 1e-14);
  for (const std::size_t column : {0, 2}) {
    EXPECT_EQ(moments.standard_deviation(column), std::numeric_limits<double>::infinity());
  }
  Statistics equal(1);
  equal.add(0, std::vector<double>(8192, 1e150));
  EXPECT_EQ(equal.moments().standard_deviation(0), 0.0);
}

// Chunks of any size, in blocks that are added up beforehand or not.
TEST(Statistics, DoNotDependOnHowInstancesAreCutIntoChunks) {
  constexpr std::size_t columns = 11;  // not a multiple of what is added up together
  constexpr std::size_t count = 9001;  // groups have 4096
  const auto values = rows(count, columns);
  Statistics whole(columns);
  whole.add(0, values);
  const std::span<const double> all(values);
  for (const std::size_t size : {1, 63, 64, 65, 300, 999, 4095, 4096, 5000}) {
    Statistics parts(columns);
    for (std::size_t start = 0; start < count; start += size) {
      const auto part = all.subspan(start * columns, columns * std::min<std::size_t>(size, count - start));
      parts.add(static_cast<std::int64_t>(start), part);
    }
    const Moments expected = whole.moments();
    const Moments found = parts.moments();
    for (std::size_t column = 0; column < columns; ++column) {
      EXPECT_EQ(expected.mean(column), found.mean(column)) << size;
      EXPECT_EQ(expected.standard_deviation(column), found.standard_deviation(column)) << size;
      EXPECT_EQ(expected.count(column), found.count(column)) << size;
    }
  }
}

// What a thread of a device does, column by column, is what vector code does.
TEST(Statistics, OfGroupsThatADeviceAddsUpAreTheSameToTheLastBit) {
  constexpr std::size_t columns = 3;
  for (const std::int64_t count : {1, 63, 64, 4095, 4096, 8193}) {
    auto values = rows(static_cast<int>(count), columns);
    for (std::size_t i = 0; i < values.size(); i += 5) values[i] = i % 2 == 0 ? nan : -1.0 / 0.0;
    Statistics by_rows(columns);
    by_rows.add(0, values);
    std::vector<ColumnMoments> groups;
    for (std::int64_t first = 0; first < count; first += rows_per_group) {
      for (std::int64_t column = 0; column < static_cast<std::int64_t>(columns); ++column) {
        groups.push_back(moments_of_group(values.data() + first * static_cast<std::int64_t>(columns) + column,
                                          std::min(rows_per_group, count - first), columns));
      }
    }
    Statistics by_groups(columns);
    by_groups.add_groups(0, count, groups);
    const Moments expected = by_rows.moments();
    const Moments found = by_groups.moments();
    for (std::size_t column = 0; column < columns; ++column) {
      EXPECT_EQ(found.count(column), expected.count(column));
      if (expected.count(column) == 0) continue;
      EXPECT_EQ(found.mean(column), expected.mean(column)) << count;
      EXPECT_EQ(found.min(column), expected.min(column)) << count;
      EXPECT_EQ(found.max(column), expected.max(column)) << count;
      if (expected.count(column) == 1) continue;
      EXPECT_EQ(found.standard_deviation(column), expected.standard_deviation(column)) << count;
    }
  }
}

TEST(Statistics, RowsThatAreMissingLeaveTheOthers) {
  const auto values = rows(200, 1);
  const std::span<const double> all(values);
  Statistics some(1);
  some.add(10, all.subspan(10, 90));
  some.add(150, all.subspan(150, 50));
  const Moments moments = some.moments();
  EXPECT_EQ(moments.count(0), 140);
  double sum = 0.0;
  for (std::size_t i = 10; i < 200; ++i) sum += i < 100 || i >= 150 ? values[i] - 1e6 : 0.0;
  EXPECT_NEAR(moments.mean(0) - 1e6, sum / 140.0, 1e-9);
}

TEST(Statistics, MergedHalvesAgreeWithTheWhole) {
  const auto values = rows(1000, 1);
  const std::span<const double> all(values);
  Moments whole(1);
  Moments one(1);
  Moments two(1);
  whole.assign(all);
  one.assign(all.first(300));
  two.assign(all.subspan(300));
  one.merge(two);
  EXPECT_EQ(one.count(0), 1000);
  EXPECT_NEAR(one.mean(0), whole.mean(0), 1e-9);
  EXPECT_NEAR(one.standard_deviation(0), whole.standard_deviation(0), 1e-9);
  EXPECT_EQ(one.min(0), *std::min_element(values.begin(), values.end()));
  EXPECT_EQ(one.max(0), *std::max_element(values.begin(), values.end()));
  Moments empty(1);
  empty.merge(whole);
  EXPECT_EQ(empty.mean(0), whole.mean(0));
  EXPECT_THROW(empty.merge(Moments(2)), UsageError);
  EXPECT_THROW(Statistics(2).add(0, all.first(3)), UsageError);
}

TEST(Statistics, OnlyFiniteValuesCount) {
  Statistics statistics(2);
  statistics.add(0, std::vector<double>{1.0, nan, std::numeric_limits<double>::infinity(), nan, 4.0, nan});
  const Moments moments = statistics.moments();
  EXPECT_EQ(moments.count(0), 2);
  EXPECT_EQ(moments.mean(0), 2.5);
  EXPECT_DOUBLE_EQ(moments.standard_deviation(0), std::sqrt(4.5));
  EXPECT_EQ(moments.min(0), 1.0);
  EXPECT_EQ(moments.max(0), 4.0);
  EXPECT_EQ(moments.count(1), 0);
  EXPECT_TRUE(std::isnan(moments.mean(1)));
  EXPECT_TRUE(std::isnan(moments.min(1)));
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
