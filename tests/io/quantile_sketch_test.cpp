#include "host/io/quantile_sketch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <thread>

#include <manyfold/error.hpp>

#include "host/io/quantiles.hpp"
#include "kernels/device/sketch.hpp"

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

/// Carries out the threads of a kernel from the last to the first, for their order must not matter.
void each_thread(int threads, const auto& work) {
  for (int thread = threads - 1; thread >= 0; --thread) work(thread);
}

/// The summaries of a device, of rows from number `first` on: the kernels one after the other, as host/engine/cuda has
/// them.
std::vector<BatchSummary> summaries_of_device(std::int64_t first, std::span<const double> values, int columns,
                                              int most) {
  const int rows = static_cast<int>(values.size()) / columns;
  const int blocks = summaries_of(rows);
  std::array<std::vector<double>, 2> sorted;
  std::array<std::vector<SummaryColumn>, 2> kept;
  for (std::vector<double>& half : sorted) half.resize(static_cast<std::size_t>(blocks * columns * rows_per_summary));
  for (std::vector<SummaryColumn>& half : kept) half.resize(static_cast<std::size_t>(blocks * columns));
  std::size_t at = 0;
  DeviceRuns runs{rows, columns, values.data(), rows_per_run, nullptr, sorted[0].data(), nullptr};
  each_thread(threads_that_sort(runs), [&](int thread) { sort_run(runs, thread); });
  for (; runs.run < rows_per_summary; runs.run *= 2) {
    runs.from = sorted[at].data();
    at = 1 - at;
    runs.to = sorted[at].data();
    each_thread(threads_that_merge_runs(runs), [&](int thread) { merge_runs(runs, thread); });
  }
  runs.kept = kept[at].data();
  each_thread(threads_that_count(runs), [&](int thread) { count_summary(runs, thread); });
  std::vector<BatchSummary> result;
  climb_tree(
      first / rows_per_summary, blocks,
      [&](int level, std::int64_t number, int place) {
        const auto size = columns * room_of_level(level, most);
        const auto begin = sorted[at].begin() + place * size;
        const auto kept_begin = kept[at].begin() + place * columns;
        result.push_back({level, number, {kept_begin, kept_begin + columns}, {begin, begin + size}});
      },
      [&](int level, std::int64_t first_pair, int pairs, int place) {
        const int room = room_of_level(level, most);
        const DeviceMerge merge{pairs,
                                columns,
                                level,
                                first_pair,
                                room,
                                room_of_level(level + 1, most),
                                sorted[at].data() + place * columns * room,
                                kept[at].data() + place * columns,
                                sorted[1 - at].data(),
                                kept[1 - at].data()};
        each_thread(threads_that_merge(merge), [&](int thread) { merge_summaries(merge, thread); });
        at = 1 - at;
      });
  return result;
}

// Whatever batches the rows came in. Half of a column is missing, so that some halves have been halved and others not.
TEST(QuantileSketch, OfBatchesOnDevicesIsTheSame) {
  constexpr int rows = 30'000;
  constexpr int columns = 3;
  std::mt19937_64 generator(11);
  std::uniform_real_distribution<double> uniform;
  std::vector<double> values;
  for (int i = 0; i < rows; ++i) {
    values.push_back(uniform(generator) - 0.5);
    values.push_back(uniform(generator) < 0.5 ? nan : std::floor(20.0 * uniform(generator)) - 10.0);
    values.push_back(uniform(generator) < 0.97 ? std::numeric_limits<double>::infinity() : uniform(generator));
  }
  for (const int most : {512, 2048}) {
    QuantileSketch expected(columns, rows, static_cast<std::size_t>(most));
    expected.put(0, values);
    expected.end();
    for (const int blocks : {1, 2, 5, 8, 64}) {
      QuantileSketch found(columns, rows, static_cast<std::size_t>(most));
      const int batch = blocks * rows_per_summary;
      for (int first = (rows - 1) / batch * batch; first >= 0; first -= batch) {
        const auto part = std::span(values).subspan(static_cast<std::size_t>(first * columns),
                                                    static_cast<std::size_t>(std::min(batch, rows - first) * columns));
        for (const BatchSummary& summary : summaries_of_device(first, part, columns, most)) found.put(summary);
      }
      found.end();
      for (std::size_t column = 0; column < columns; ++column) {
        const ApproximateQuantiles one = expected.quantiles(column, probabilities, -10.0, 10.0);
        const ApproximateQuantiles other = found.quantiles(column, probabilities, -10.0, 10.0);
        EXPECT_EQ(other.values, one.values) << blocks << " blocks, column " << column;
        EXPECT_EQ(other.rank_error, one.rank_error);
        EXPECT_GT(one.rank_error, column < 2 ? 0.0 : -1.0);
      }
    }
  }
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
