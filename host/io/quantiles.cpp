#include "host/io/quantiles.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include <fmt/format.h>

#include <manyfold/error.hpp>

#include "host/io/no_value.hpp"
#include "host/io/vector_code.hpp"
#include "host/text/printable.hpp"

namespace manyfold {
namespace {

constexpr std::size_t few = 512;    // values that are simply sorted
constexpr std::size_t bins = 2048;  // of which those without a value that is asked for are counted only

struct Range {
  double low;
  double high;
};

MANYFOLD_VECTOR_CODE Range range_of(const double* values, std::size_t count) {
  constexpr std::size_t lanes = 16;
  double low[lanes];
  double high[lanes];
  for (std::size_t k = 0; k < lanes; ++k) low[k] = high[k] = values[0];
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    for (std::size_t k = 0; k < lanes; ++k) {
      const double x = values[i + k];
      low[k] = x < low[k] ? x : low[k];
      high[k] = x > high[k] ? x : high[k];
    }
  }
  for (; i < count; ++i) {
    low[0] = std::min(low[0], values[i]);
    high[0] = std::max(high[0], values[i]);
  }
  return {*std::min_element(low, low + lanes), *std::max_element(high, high + lanes)};
}

/// Bins of equal width. Their edges need no order beyond this: the bin does not fall where the value grows.
struct Bins {
  explicit Bins(const Range& range)
      // Halved, since the whole width may be beyond all numbers.
      : low(0.5 * range.low), per_width(static_cast<double>(bins - 1) / (0.5 * range.high - low)) {}
  std::size_t operator()(double value) const { return static_cast<std::size_t>((0.5 * value - low) * per_width); }
  double low;
  double per_width;
};

/// Writes the values of the ranks `ranks`, which ascend, to `found`: by counting bins, and by doing the same with the
/// values of each bin that has one of the ranks.
void find_ranks(std::vector<double>& values, std::span<const std::size_t> ranks, double* found) {
  if (ranks.empty()) return;
  const Range range = range_of(values.data(), values.size());
  const Bins bin_of(range);
  // Ranges without width, or too small for a number per width.
  if (values.size() <= few || !std::isfinite(bin_of.per_width)) {
    std::sort(values.begin(), values.end());
    for (const std::size_t rank : ranks) *found++ = values[rank];
    return;
  }
  std::vector<std::size_t> counts(bins);
  for (const double value : values) ++counts[bin_of(value)];
  std::vector<int> place(bins, -1);  // in `parts`, of the bins that are wanted
  struct Part {
    std::size_t first;  // rank of its smallest value
    std::vector<double> values;
    std::vector<std::size_t> ranks;  // counted from its smallest
  };
  std::vector<Part> parts;
  std::size_t below = 0;
  std::size_t next = 0;
  for (std::size_t bin = 0; bin < bins; below += counts[bin++]) {
    if (next == ranks.size() || ranks[next] >= below + counts[bin]) continue;
    place[bin] = static_cast<int>(parts.size());
    parts.push_back({below, {}, {}});
    parts.back().values.reserve(counts[bin]);
    for (; next < ranks.size() && ranks[next] < below + counts[bin]; ++next) {
      parts.back().ranks.push_back(ranks[next] - below);
    }
  }
  for (const double value : values) {
    const int part = place[bin_of(value)];
    if (part >= 0) parts[static_cast<std::size_t>(part)].values.push_back(value);
  }
  for (Part& part : parts) {
    find_ranks(part.values, part.ranks, found);
    found += part.ranks.size();
  }
}

/// What was never put reads as zeros: numbers are kept with these bits turned, so that zeros stand for NaN.
constexpr auto hole = std::bit_cast<std::uint64_t>(no_value);

}  // namespace

std::vector<std::size_t> ranks_of(std::size_t count, std::span<const double> probabilities) {
  if (count == 0) return {};
  std::vector<std::size_t> ranks;
  for (const double probability : probabilities) {
    const auto below = static_cast<std::size_t>(std::floor(probability * static_cast<double>(count - 1)));
    ranks.push_back(below);
    ranks.push_back(std::min(below + 1, count - 1));
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

std::vector<double> quantiles_between(std::size_t count, std::span<const double> probabilities,
                                      std::span<const double> found) {
  if (count == 0) return std::vector<double>(probabilities.size(), no_value);
  const std::vector<std::size_t> ranks = ranks_of(count, probabilities);
  std::vector<double> result;
  for (const double probability : probabilities) {
    const double place = probability * static_cast<double>(count - 1);
    const auto below = static_cast<std::size_t>(std::floor(place));
    const auto at = static_cast<std::size_t>(std::lower_bound(ranks.begin(), ranks.end(), below) - ranks.begin());
    const double low = found[at];
    const double next = found[std::min(at + 1, found.size() - 1)];
    const double fraction = place - std::floor(place);
    result.push_back(interpolated(low, next, fraction));
  }
  return result;
}

std::vector<double> quantiles_of(std::vector<double>& values, std::span<const double> probabilities) {
  const std::vector<std::size_t> ranks = ranks_of(values.size(), probabilities);
  std::vector<double> found(ranks.size());
  find_ranks(values, ranks, found.data());
  return quantiles_between(values.size(), probabilities, found);
}

ColumnSpill::ColumnSpill(const std::filesystem::path& beside, std::size_t columns, std::int64_t instances)
    : columns_(columns), capacity_(static_cast<std::size_t>(instances)) {
  const std::size_t bytes = std::max(columns_ * capacity_ * sizeof(double), sizeof(double));
  const bool in_memory = static_cast<double>(bytes) <= memory_for_quantiles;
  const auto fail = [&](int error) {
    throw std::runtime_error(fmt::format("{}: {:.3g} GB for quantiles cannot be taken{}: {}{}",
                                         printable(beside.string()), static_cast<double>(bytes) / 1e9,
                                         in_memory ? "" : " beside it", std::strerror(error),
                                         error == EFBIG ? " (ulimit -f)" : ""));
  };
  int file = -1;
  if (!in_memory) {
    std::string name = beside.string() + ".scratch-XXXXXX";
    file = ::mkstemp(name.data());
    if (file < 0) fail(errno);
    ::unlink(name.c_str());
    // All of it is taken at once: where the disk is full later, a mapping could not say so.
    if (const int error = ::posix_fallocate(file, 0, static_cast<off_t>(bytes)); error != 0) {
      ::close(file);
      fail(error);
    }
  }
  const int flags = MAP_SHARED | MAP_NORESERVE | (in_memory ? MAP_ANONYMOUS : 0);
  void* const mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, file, 0);
  const int reason = errno;
  if (!in_memory) ::close(file);
  if (mapped == MAP_FAILED) fail(reason);
  values_ = {static_cast<std::uint64_t*>(mapped), bytes / sizeof(double)};
}

ColumnSpill::~ColumnSpill() {
  ::munmap(values_.data(), values_.size_bytes());
}

void ColumnSpill::put(std::int64_t first, std::span<const double> values) const {
  if (columns_ == 0) return;
  const std::size_t rows = values.size() / columns_;
  if (rows * columns_ != values.size() || first < 0 || static_cast<std::size_t>(first) + rows > capacity_) {
    throw UsageError(fmt::format("quantiles of {} columns and {} instances were given {} values from instance {} on",
                                 columns_, capacity_, values.size(), first));
  }
  constexpr std::size_t together = 8;  // columns in a line of the cache
  for (std::size_t column = 0; column < columns_; column += together) {
    const std::size_t width = std::min(together, columns_ - column);
    std::uint64_t* to = values_.data() + column * capacity_ + static_cast<std::size_t>(first);
    for (std::size_t row = 0; row < rows; ++row) {
      const double* from = values.data() + row * columns_ + column;
      for (std::size_t k = 0; k < width; ++k) to[k * capacity_ + row] = std::bit_cast<std::uint64_t>(from[k]) ^ hole;
    }
  }
}

std::vector<double> ColumnSpill::finite_values(std::size_t column) const {
  std::vector<double> values(capacity_);
  std::size_t count = 0;
  for (const std::uint64_t turned : values_.subspan(column * capacity_, capacity_)) {
    const auto value = std::bit_cast<double>(turned ^ hole);
    values[count] = value;
    count += std::isfinite(value) ? 1 : 0;
  }
  values.resize(count);
  return values;
}

}  // namespace manyfold
