#include "host/io/quantile_sketch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <thread>

#include <manyfold/error.hpp>

#include "host/io/quantiles.hpp"

namespace manyfold {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
const std::vector<double> probabilities = {0.0, 0.001, 0.05, 0.25, 0.5, 0.75, 0.95, 0.999, 1.0};

/// Of one column, put in chunks of `rows`.
ApproximateQuantiles sketched(const std::vector<double>& values, std::size_t rows) {
  const auto count = static_cast<std::int64_t>(values.size());
  QuantileSketch sketch(1, count, 512);
  for (std::size_t first = 0; first < values.size(); first += rows) {
    sketch.put(static_cast<std::int64_t>(first),
               std::span(values).subspan(first, std::min(rows, values.size() - first)));
  }
  sketch.end();
  double min = nan;
  double max = nan;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    min = std::fmin(min, value);
    max = std::fmax(max, value);
  }
  return sketch.quantiles(0, probabilities, min, max);
}

TEST(QuantileSketch, IsExactAsLongAsNothingGoes) {
  std::mt19937_64 generator(3);
  std::normal_distribution<double> normal;
  std::vector<double> values;
  for (int i = 0; i < 512; ++i) values.push_back(normal(generator));
  values.push_back(nan);
  const ApproximateQuantiles found = sketched(values, 100);
  values.pop_back();
  EXPECT_EQ(found.values, quantiles_of(values, probabilities));
  EXPECT_EQ(found.rank_error, 0.0);
  EXPECT_TRUE(std::isnan(sketched({nan, nan}, 2).values[4]));
  EXPECT_EQ(sketched({nan, 3.0}, 1).values, std::vector<double>(probabilities.size(), 3.0));
}

/// How far the rank of `value` among the values is from the one that was asked for, as a share of their number.
double rank_error(const std::vector<double>& sorted, double value, double probability) {
  const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), value);
  const double rank = probability * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<double>(first - sorted.begin()) - 1.0;
  const auto high = static_cast<double>(last - sorted.begin());
  return std::max({0.0, low - rank, rank - high}) / static_cast<double>(sorted.size());
}

// Distributions that are hard for sketches. The coins are always the same, so what holds with a probability of 99 %
// holds or does not.
TEST(QuantileSketch, KeepsTheErrorThatItStates) {
  constexpr int count = 60000;
  std::mt19937_64 generator(5);
  std::uniform_real_distribution<double> uniform;
  std::cauchy_distribution<double> cauchy;
  const std::map<std::string, std::function<double(int)>> distributions = {
      {"ascending", [](int i) { return static_cast<double>(i); }},
      {"descending", [](int i) { return -static_cast<double>(i); }},
      {"alternating", [](int i) { return i % 2 == 0 ? static_cast<double>(i) : -static_cast<double>(i); }},
      {"heavy tails", [&](int) { return cauchy(generator); }},
      {"ties", [&](int) { return std::floor(10.0 * uniform(generator)); }},
      {"two clusters", [&](int i) { return (i % 5 == 0 ? 440.0 : 336.0) + 1e-3 * uniform(generator); }},
      {"mostly missing", [&](int) { return uniform(generator) < 0.05 ? uniform(generator) : nan; }},
      {"missing at last", [&](int i) { return i < 5000 || i % 500 == 0 ? uniform(generator) : nan; }},
  };
  for (const auto& [name, value] : distributions) {
    std::vector<double> values;
    for (int i = 0; i < count; ++i) values.push_back(value(i));
    const ApproximateQuantiles found = sketched(values, 777);
    std::erase_if(values, [](double x) { return !std::isfinite(x); });
    std::sort(values.begin(), values.end());
    for (std::size_t k = 0; k < probabilities.size(); ++k) {
      EXPECT_LE(rank_error(values, found.values[k], probabilities[k]), found.rank_error) << name << probabilities[k];
    }
    EXPECT_EQ(found.values.front(), values.front()) << name;
    EXPECT_EQ(found.values.back(), values.back()) << name;
    EXPECT_GT(found.rank_error, 0.0) << name;
    // With full summaries sqrt(ln 200) / 512 and half the width of a value; more where values are missing.
    EXPECT_LT(found.rank_error, 0.015) << name;
  }
}

// Whatever the chunks are and whichever thread takes them: threads take the chunks from the end, the middle and the
// begin.
TEST(QuantileSketch, DoesNotDependOnChunksAndThreads) {
  constexpr std::int64_t count = 9000;
  constexpr std::size_t columns = 11;
  std::mt19937_64 generator(9);
  std::normal_distribution<double> normal;
  std::vector<double> values;
  for (std::size_t i = 0; i < count * columns; ++i) values.push_back(i % 37 == 0 ? nan : normal(generator));
  std::vector<std::vector<double>> all;
  for (const std::int64_t rows : {9000, 1000, 16}) {
    QuantileSketch sketch(columns, count, 512);
    const std::int64_t chunks = (count + rows - 1) / rows;
    const auto put = [&](std::int64_t part) {
      for (std::int64_t i = part; i < chunks; i += 3) {
        const std::int64_t first = (chunks - 1 - i) * rows;
        sketch.put(first, std::span(values).subspan(static_cast<std::size_t>(first) * columns,
                                                    static_cast<std::size_t>(std::min(rows, count - first)) * columns));
      }
    };
    {
      std::vector<std::jthread> threads;
      for (std::int64_t part = 0; part < 3; ++part) threads.emplace_back(put, part);
    }
    sketch.end();
    all.emplace_back();
    for (std::size_t column = 0; column < columns; ++column) {
      const std::vector<double> found = sketch.quantiles(column, probabilities, -10.0, 10.0).values;
      all.back().insert(all.back().end(), found.begin(), found.end());
    }
  }
  EXPECT_EQ(all[0], all[1]);
  EXPECT_EQ(all[0], all[2]);
}

TEST(QuantileSketch, RefusesWhatDoesNotFit) {
  EXPECT_THROW(QuantileSketch(1, 10, 500), UsageError);
  QuantileSketch sketch(2, 10, 512);
  EXPECT_THROW(sketch.put(0, std::vector<double>(3)), UsageError);
  EXPECT_THROW(sketch.put(9, std::vector<double>(4)), UsageError);
}

TEST(QuantileSketch, FitsItsMemory) {
  EXPECT_EQ(QuantileSketch::most_values_within(1 << 30, 243, 10'000'000), 4096U);
  EXPECT_EQ(QuantileSketch::most_values_within(1 << 30, 20'000, 10'000'000), 512U);
  EXPECT_LT(QuantileSketch::bytes_of(8000, 10'000'000, QuantileSketch::most_values_within(1 << 30, 8000, 10'000'000)),
            1 << 30);
}

}  // namespace
}  // namespace manyfold
