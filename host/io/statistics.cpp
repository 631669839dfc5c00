#include "host/io/statistics.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>

#include <manyfold/error.hpp>

namespace manyfold {
namespace {
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
}

std::optional<StatisticRequest> StatisticRequest::parse(std::string_view text) {
  if (text == "mean") return StatisticRequest{Kind::mean, 0.0};
  if (text == "std") return StatisticRequest{Kind::std, 0.0};
  if (text == "min") return StatisticRequest{Kind::min, 0.0};
  if (text == "max") return StatisticRequest{Kind::max, 0.0};
  constexpr std::string_view opening = "quantile(";
  if (!text.starts_with(opening) || !text.ends_with(')')) return std::nullopt;
  const std::string_view number = text.substr(opening.size(), text.size() - opening.size() - 1);
  double probability = -1.0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), probability);
  if (error != std::errc() || end != number.data() + number.size()) return std::nullopt;
  if (!(probability >= 0.0 && probability <= 1.0)) return std::nullopt;
  return StatisticRequest{Kind::quantile, probability};
}

Statistics::Statistics(std::size_t columns) : moments_(columns) {}

void Statistics::add(std::span<const double> values) {
  if (moments_.empty()) return;
  if (values.size() % moments_.size() != 0) {
    throw UsageError(fmt::format("statistics of {} columns were given {} values, but need whole rows", moments_.size(),
                                 values.size()));
  }
  std::size_t column = 0;
  for (const double value : values) {
    Moments& moments = moments_[column];
    if (++column == moments_.size()) column = 0;
    if (!std::isfinite(value)) continue;
    moments.min = moments.count == 0 ? value : std::min(moments.min, value);
    moments.max = moments.count == 0 ? value : std::max(moments.max, value);
    ++moments.count;
    const double distance = value - moments.mean;
    moments.mean += distance / static_cast<double>(moments.count);
    moments.squares += distance * (value - moments.mean);
  }
}

void Statistics::merge(const Statistics& other) {
  if (other.columns() != columns()) {
    throw UsageError(fmt::format("statistics of {} columns cannot take in {} columns", columns(), other.columns()));
  }
  for (std::size_t column = 0; column < columns(); ++column) {
    Moments& mine = moments_[column];
    const Moments& theirs = other.moments_[column];
    if (theirs.count == 0) continue;
    if (mine.count == 0) {
      mine = theirs;
      continue;
    }
    const auto mine_count = static_cast<double>(mine.count);
    const auto theirs_count = static_cast<double>(theirs.count);
    const double distance = theirs.mean - mine.mean;
    mine.count += theirs.count;
    const auto all = static_cast<double>(mine.count);
    mine.mean += distance * (theirs_count / all);
    mine.squares += theirs.squares + distance * distance * (mine_count * theirs_count / all);
    mine.min = std::min(mine.min, theirs.min);
    mine.max = std::max(mine.max, theirs.max);
  }
}

double Statistics::mean(std::size_t column) const {
  return moments_[column].count > 0 ? moments_[column].mean : nan;
}

double Statistics::standard_deviation(std::size_t column) const {
  const Moments& moments = moments_[column];
  return moments.count > 1 ? std::sqrt(moments.squares / static_cast<double>(moments.count - 1)) : nan;
}

double Statistics::min(std::size_t column) const {
  return moments_[column].count > 0 ? moments_[column].min : nan;
}

double Statistics::max(std::size_t column) const {
  return moments_[column].count > 0 ? moments_[column].max : nan;
}

double select_quantile(std::span<double> values, double probability) {
  if (values.empty()) return nan;
  const double place = probability * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::ptrdiff_t>(std::floor(place));
  const auto low = values.begin() + below;
  std::nth_element(values.begin(), low, values.end());
  const double fraction = place - std::floor(place);
  if (fraction == 0.0) return *low;
  const double next = *std::min_element(low + 1, values.end());
  // As numpy does: from the nearer end, so that the result never leaves [low, next].
  return fraction < 0.5 ? *low + (next - *low) * fraction : next - (next - *low) * (1.0 - fraction);
}

ColumnSpill::ColumnSpill(const std::filesystem::path& beside, std::size_t columns, std::int64_t instances)
    : path_(beside.string() + ".scratch-XXXXXX"), columns_(columns), capacity_(instances) {
  std::string name = path_.string();
  descriptor_ = ::mkstemp(name.data());
  if (descriptor_ < 0) throw std::runtime_error(fmt::format("{}: cannot be created: {}", name, std::strerror(errno)));
  path_ = name;
  ::unlink(name.c_str());
}

ColumnSpill::~ColumnSpill() {
  ::close(descriptor_);
}

void ColumnSpill::add(std::span<const double> values) {
  if (columns_ == 0) return;
  const std::size_t rows = values.size() / columns_;
  if (rows * columns_ != values.size() || rows_ + static_cast<std::int64_t>(rows) > capacity_) {
    throw UsageError(fmt::format("quantiles of {} columns and {} instances were given {} values after {} instances",
                                 columns_, capacity_, values.size(), rows_));
  }
  std::vector<double> part(rows);
  for (std::size_t column = 0; column < columns_; ++column) {
    for (std::size_t row = 0; row < rows; ++row) part[row] = values[row * columns_ + column];
    const auto start =
        (static_cast<std::int64_t>(column) * capacity_ + rows_) * static_cast<std::int64_t>(sizeof(double));
    const char* bytes = reinterpret_cast<const char*>(part.data());
    for (std::size_t done = 0; done < rows * sizeof(double);) {
      const ssize_t written =
          ::pwrite(descriptor_, bytes + done, rows * sizeof(double) - done, start + static_cast<std::int64_t>(done));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0)
        throw std::runtime_error(fmt::format("{}: cannot be written: {}", path_.string(), std::strerror(errno)));
      done += static_cast<std::size_t>(written);
    }
  }
  rows_ += static_cast<std::int64_t>(rows);
}

std::vector<double> ColumnSpill::finite_values(std::size_t column) const {
  std::vector<double> values(static_cast<std::size_t>(rows_));
  const auto start = static_cast<std::int64_t>(column) * capacity_ * static_cast<std::int64_t>(sizeof(double));
  char* bytes = reinterpret_cast<char*>(values.data());
  for (std::size_t done = 0; done < values.size() * sizeof(double);) {
    const ssize_t got = ::pread(descriptor_, bytes + done, values.size() * sizeof(double) - done,
                                start + static_cast<std::int64_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw std::runtime_error(fmt::format("{}: cannot be read: {}", path_.string(), std::strerror(errno)));
    done += static_cast<std::size_t>(got);
  }
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  return values;
}

}  // namespace manyfold
