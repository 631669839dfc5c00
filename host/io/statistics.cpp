#include "host/io/statistics.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <manyfold/error.hpp>

#include "host/io/no_value.hpp"
#include "host/io/vector_code.hpp"
#include "host/text/number.hpp"

namespace manyfold {
namespace {

/// Columns that are added up together, in registers.
constexpr std::size_t lanes = 8;

struct Sums {
  double count[lanes] = {};
  double mean[lanes] = {};
  double squares[lanes] = {};
  double min[lanes] = {};
  double max[lanes] = {};
};

/// Of `rows` rows of `lanes` values each, `stride` values apart.
MANYFOLD_VECTOR_CODE Sums sums_of(const double* values, std::size_t rows, std::size_t stride) {
  Sums sums;
  for (std::size_t k = 0; k < lanes; ++k) {
    sums.min[k] = unbounded;
    sums.max[k] = -unbounded;
  }
  for (std::size_t row = 0; row < rows; ++row) {
    const double* x = values + row * stride;
    for (std::size_t k = 0; k < lanes; ++k) add_value(x[k], sums.count[k], sums.mean[k], sums.min[k], sums.max[k]);
  }
  for (std::size_t k = 0; k < lanes; ++k) sums.mean[k] = mean_of(sums.mean[k], sums.count[k]);
  double distances[lanes] = {};
  for (std::size_t row = 0; row < rows; ++row) {
    const double* x = values + row * stride;
    for (std::size_t k = 0; k < lanes; ++k) add_square(x[k], sums.mean[k], sums.squares[k], distances[k]);
  }
  for (std::size_t k = 0; k < lanes; ++k) correct_mean(sums.count[k], sums.mean[k], sums.squares[k], distances[k]);
  return sums;
}

MANYFOLD_VECTOR_CODE void merge_columns(std::size_t columns, double* count, double* mean, double* squares,
                                        const double* their_count, const double* their_mean,
                                        const double* their_squares) {
  for (std::size_t c = 0; c < columns; ++c) {
    merge_moments(count[c], mean[c], squares[c], their_count[c], their_mean[c], their_squares[c]);
  }
}

MANYFOLD_VECTOR_CODE void merge_ends(std::size_t columns, double* min, double* max, const double* their_min,
                                     const double* their_max) {
  for (std::size_t c = 0; c < columns; ++c) merge_extremes(min[c], max[c], their_min[c], their_max[c]);
}

}  // namespace

std::optional<StatisticRequest> StatisticRequest::parse(std::string_view text) {
  if (text == "mean") return StatisticRequest{Kind::mean, 0.0};
  if (text == "std") return StatisticRequest{Kind::std, 0.0};
  if (text == "min") return StatisticRequest{Kind::min, 0.0};
  if (text == "max") return StatisticRequest{Kind::max, 0.0};
  constexpr std::string_view opening = "quantile(";
  if (!text.starts_with(opening) || !text.ends_with(')')) return std::nullopt;
  const std::string_view number = text.substr(opening.size(), text.size() - opening.size() - 1);
  double probability = -1.0;
  if (!read_number(number, probability).empty()) return std::nullopt;
  if (!(probability >= 0.0 && probability <= 1.0)) return std::nullopt;
  return StatisticRequest{Kind::quantile, probability};
}

Moments::Moments(std::size_t columns)
    : count_(columns), mean_(columns), squares_(columns), min_(columns, unbounded), max_(columns, -unbounded) {}

double Moments::mean(std::size_t column) const {
  return count_[column] > 0.0 ? mean_[column] : no_value;
}

double Moments::standard_deviation(std::size_t column) const {
  return count_[column] > 1.0 ? std::sqrt(squares_[column] / (count_[column] - 1.0)) : no_value;
}

double Moments::min(std::size_t column) const {
  return count_[column] > 0.0 ? min_[column] : no_value;
}

double Moments::max(std::size_t column) const {
  return count_[column] > 0.0 ? max_[column] : no_value;
}

void Moments::assign(std::span<const double> values) {
  const std::size_t rows = values.size() / columns();
  std::vector<double> last;  // columns that do not fill all lanes, each row with as many zeros as it lacks
  for (std::size_t column = 0; column < columns(); column += lanes) {
    const std::size_t width = std::min(lanes, columns() - column);
    const double* from = values.data() + column;
    std::size_t stride = columns();
    if (width < lanes) {
      last.assign(rows * lanes, 0.0);
      for (std::size_t row = 0; row < rows; ++row) std::copy_n(from + row * stride, width, &last[row * lanes]);
      from = last.data();
      stride = lanes;
    }
    const Sums sums = sums_of(from, rows, stride);
    const auto at = static_cast<std::ptrdiff_t>(column);
    std::copy_n(sums.count, width, count_.begin() + at);
    std::copy_n(sums.mean, width, mean_.begin() + at);
    std::copy_n(sums.squares, width, squares_.begin() + at);
    std::copy_n(sums.min, width, min_.begin() + at);
    std::copy_n(sums.max, width, max_.begin() + at);
  }
}

void Moments::merge(const Moments& other) {
  if (other.columns() != columns()) {
    throw UsageError(fmt::format("moments of {} columns cannot take in {} columns", columns(), other.columns()));
  }
  merge_columns(columns(), count_.data(), mean_.data(), squares_.data(), other.count_.data(), other.mean_.data(),
                other.squares_.data());
  merge_ends(columns(), min_.data(), max_.data(), other.min_.data(), other.max_.data());
}

void Moments::merge(std::span<const ColumnMoments> theirs) {
  for (std::size_t c = 0; c < columns(); ++c) {
    const ColumnMoments& their = theirs[c];
    merge_moments(count_[c], mean_[c], squares_[c], their.count, their.mean, their.squares);
    merge_extremes(min_[c], max_[c], their.min, their.max);
  }
}

void BlockMoments::assign(std::int64_t first, std::span<const double> values, std::size_t columns) {
  const auto rows = static_cast<std::int64_t>(columns > 0 ? values.size() / columns : 0);
  const std::int64_t head = std::min((rows_per_block - first % rows_per_block) % rows_per_block, rows);
  const auto count = static_cast<std::size_t>((rows - head) / rows_per_block);
  const auto block_size = static_cast<std::size_t>(rows_per_block) * columns;
  blocks_.resize(count, Moments(columns));
  for (std::size_t k = 0; k < count; ++k) {
    blocks_[k].assign(values.subspan(static_cast<std::size_t>(head) * columns + k * block_size, block_size));
  }
}

Statistics::Statistics(std::size_t columns) : all_(columns), group_(columns) {}

void Statistics::add(std::int64_t first, std::span<const double> values) {
  BlockMoments blocks;
  blocks.assign(first, values, all_.columns());
  add(first, values, blocks);
}

void Statistics::add(std::int64_t first, std::span<const double> values, const BlockMoments& blocks) {
  const std::size_t columns = all_.columns();
  if (columns == 0) return;
  if (values.size() % columns != 0) {
    throw UsageError(
        fmt::format("statistics of {} columns were given {} values, but need whole rows", columns, values.size()));
  }
  if (first != next_) end_group();
  const auto rows = static_cast<std::int64_t>(values.size() / columns);
  next_ = first + rows;
  const std::int64_t head = std::min((rows_per_block - first % rows_per_block) % rows_per_block, rows);
  const std::int64_t whole = rows_per_block * std::ssize(blocks.blocks());
  add_rows(values.first(static_cast<std::size_t>(head) * columns));
  std::int64_t row = first + head;
  if (row % rows_per_block == 0) end_block();
  if (row % rows_per_group == 0) end_group();
  for (const Moments& block : blocks.blocks()) {
    group_.merge(block);
    group_started_ = true;
    row += rows_per_block;
    if (row % rows_per_group == 0) end_group();
  }
  add_rows(values.subspan(static_cast<std::size_t>(head + whole) * columns));
}

void Statistics::add_rows(std::span<const double> values) {
  started_.insert(started_.end(), values.begin(), values.end());
}

void Statistics::end_block() {
  if (started_.empty()) return;
  Moments block(all_.columns());
  block.assign(started_);
  group_.merge(block);
  group_started_ = true;
  started_.clear();
}

void Statistics::end_group() {
  end_block();
  if (!group_started_) return;
  all_.merge(group_);
  group_ = Moments(all_.columns());
  group_started_ = false;
}

void Statistics::add_groups(std::int64_t first, std::int64_t rows, std::span<const ColumnMoments> groups) {
  if (all_.columns() == 0) return;
  if (first % rows_per_group != 0) {
    throw UsageError(fmt::format("groups of {} rows cannot begin with row {}", rows_per_group, first));
  }
  end_group();
  next_ = first + rows;
  for (std::size_t at = 0; at < groups.size(); at += all_.columns()) all_.merge(groups.subspan(at, all_.columns()));
}

Moments Statistics::moments() const {
  Statistics whole = *this;
  whole.end_group();
  return whole.all_;
}

}  // namespace manyfold
