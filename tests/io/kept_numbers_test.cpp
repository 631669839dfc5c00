// Numbers of given ranks and histograms of columns that stay on devices, by the kernels that count there.
#include "host/io/kept_numbers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "host/io/quantiles.hpp"
#include "kernels/device/ranks.hpp"

namespace manyfold {
namespace {

using Limits = std::numeric_limits<double>;

/// Columns in memory, whose kernels this thread carries out.
class InMemory : public KeptColumns {
 public:
  InMemory(std::vector<double> values, int columns) : values_(std::move(values)), columns_(columns) {}
  void ask(const DigitQuestion& question) override {
    counts_.assign(question.leading.size() * digit_values, 0);
    const DeviceDigits digits{of(question.first), question.shifts.data(), question.leading.data(), counts_.data()};
    for (int thread = columns_ * slices - 1; thread >= 0; --thread) count_digits(digits, thread);
  }
  void ask(const BinQuestion& question) override {
    counts_.assign(question.edges.size() + static_cast<std::size_t>(columns_), 0);
    const DeviceBins bins{of(question.first), question.edges.data(), counts_.data()};
    for (int thread = columns_ * slices - 1; thread >= 0; --thread) count_bins(bins, thread);
  }
  void answer(std::span<std::int64_t> counts) override {
    ASSERT_EQ(counts.size(), counts_.size());
    for (std::size_t k = 0; k < counts.size(); ++k) counts[k] += counts_[k];
  }

 private:
  static constexpr int slices = 7;
  DeviceColumns of(const std::vector<int>& first) const {
    return {static_cast<int>(values_.size()) / columns_, columns_, slices, values_.data(), first.data()};
  }
  std::vector<double> values_;
  int columns_;
  std::vector<std::uint32_t> counts_;
};

/// Columns [rows] as rows, divided among two devices.
KeptNumbers kept(const std::vector<std::vector<double>>& columns) {
  std::array<std::vector<double>, 2> parts;
  for (std::size_t row = 0; row < columns[0].size(); ++row) {
    for (const std::vector<double>& column : columns) parts[row % 3 == 0 ? 1 : 0].push_back(column[row]);
  }
  KeptNumbers result;
  for (const std::vector<double>& part : parts) {
    const auto on_device = std::make_shared<InMemory>(part, static_cast<int>(columns.size()));
    // As every chunk of a device brings it along.
    result.add(on_device);
    result.add(on_device);
  }
  return result;
}

std::vector<double> finite(std::vector<double> values) {
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  return values;
}

const std::vector<std::vector<double>>& awkward_columns() {
  static const std::vector<std::vector<double>> columns = [] {
    constexpr std::size_t rows = 1000;
    std::mt19937_64 generator(3);
    std::normal_distribution<double> normal;
    std::cauchy_distribution<double> cauchy;
    std::vector<std::vector<double>> result(8, std::vector<double>(rows));
    for (std::size_t i = 0; i < rows; ++i) {
      result[0][i] = normal(generator);
      result[1][i] = std::ldexp(cauchy(generator), 900);
      result[2][i] = 1.0 + static_cast<double>(i % 5) * Limits::epsilon();
      result[3][i] = i % 2 == 0 ? -0.0 : 0.0;
      result[4][i] = i % 7 == 0 ? normal(generator) : i % 7 == 1 ? Limits::infinity() : Limits::quiet_NaN();
      result[5][i] = i == 11 ? -3.0 : -Limits::infinity();
      result[6][i] = Limits::quiet_NaN();
      result[7][i] = (i % 3 == 0 ? -1.0 : 1.0) * (i % 2 == 0 ? Limits::max() : Limits::denorm_min());
    }
    return result;
  }();
  return columns;
}

TEST(KeptNumbers, HaveTheQuantilesOfTheSortedValues) {
  const std::vector<double> probabilities = {0.0, 0.001, 0.25, 0.5, 0.9, 0.999, 1.0};
  const std::vector<std::vector<double>>& columns = awkward_columns();
  std::vector<KeptNumbers::Ranks> asked;
  for (const std::vector<double>& column : columns) {
    const std::vector<double> values = finite(column);
    asked.push_back({});
    if (values.empty()) continue;
    const auto [min, max] = std::minmax_element(values.begin(), values.end());
    asked.back() = {*min, *max, ranks_of(values.size(), probabilities)};
  }
  const std::vector<std::vector<double>> found = kept(columns).of_ranks(asked);
  for (std::size_t column = 0; column < columns.size(); ++column) {
    std::vector<double> values = finite(columns[column]);
    const std::size_t count = values.size();
    const std::vector<double> quantiles = quantiles_between(count, probabilities, found[column]);
    const std::vector<double> expected = quantiles_of(values, probabilities);
    for (std::size_t q = 0; q < probabilities.size(); ++q) {
      // By their bits, for NaN is NaN and a zero has no sign.
      EXPECT_EQ(std::bit_cast<std::uint64_t>(quantiles[q]), std::bit_cast<std::uint64_t>(expected[q]))
          << "column " << column << ", " << probabilities[q];
    }
  }
}

TEST(KeptNumbers, LieInTheBinsOfTheSortedValues) {
  const std::vector<std::vector<double>>& columns = awkward_columns();
  const std::vector<std::vector<double>> edges = {{-1.0, 0.0, 0.5}, {}, {1.0, 1.0 + Limits::epsilon()}, {0.0}, {},
                                                  {-3.0},           {}, {-Limits::denorm_min(), 1.0}};
  const std::vector<std::vector<std::int64_t>> found = kept(columns).in_bins(edges);
  for (std::size_t column = 0; column < columns.size(); ++column) {
    std::vector<std::int64_t> expected(edges[column].size() + 1);
    for (const double value : finite(columns[column])) {
      const auto above =
          std::count_if(edges[column].begin(), edges[column].end(), [value](double edge) { return value > edge; });
      ++expected[static_cast<std::size_t>(above)];
    }
    EXPECT_EQ(found[column], expected) << column;
  }
}

TEST(KeptNumbers, OfNoDeviceAreNone) {
  const KeptNumbers none;
  EXPECT_EQ(none.of_ranks(std::vector<KeptNumbers::Ranks>(2)), std::vector<std::vector<double>>(2));
}

}  // namespace
}  // namespace manyfold
