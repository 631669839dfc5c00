#include "host/io/quantiles.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>

#include <manyfold/error.hpp>

#include "host/io/vector_code.hpp"

namespace manyfold {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
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

constexpr double most_in_memory = 1024.0 * 1024.0 * 1024.0;

/// What was never put reads as zeros: numbers are kept with these bits turned, so that zeros stand for NaN.
constexpr auto hole = std::bit_cast<std::uint64_t>(nan);

/// Writes or reads all `size` bytes at `start`, by calls of `transfer` that may do a part.
template <class Transfer>
void transfer_all(Transfer transfer, std::size_t size, std::int64_t start, const std::filesystem::path& path,
                  const char* what) {
  for (std::size_t done = 0; done < size;) {
    const ssize_t part = transfer(done, size - done, start + static_cast<std::int64_t>(done));
    if (part < 0 && errno == EINTR) continue;
    if (part < 0)
      throw std::runtime_error(fmt::format("{}: cannot be {}: {}", path.string(), what, std::strerror(errno)));
    done += static_cast<std::size_t>(part);
  }
}

}  // namespace

std::vector<double> quantiles_of(std::vector<double>& values, std::span<const double> probabilities) {
  if (values.empty()) return std::vector<double>(probabilities.size(), nan);
  const auto last = static_cast<double>(values.size() - 1);
  std::vector<std::size_t> ranks;
  for (const double probability : probabilities) {
    const auto below = static_cast<std::size_t>(std::floor(probability * last));
    ranks.push_back(below);
    ranks.push_back(std::min(below + 1, values.size() - 1));
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  std::vector<double> found(ranks.size());
  find_ranks(values, ranks, found.data());
  std::vector<double> result;
  for (const double probability : probabilities) {
    const double place = probability * last;
    const auto below = static_cast<std::size_t>(std::floor(place));
    const auto at = static_cast<std::size_t>(std::lower_bound(ranks.begin(), ranks.end(), below) - ranks.begin());
    const double low = found[at];
    const double next = found[std::min(at + 1, found.size() - 1)];
    const double fraction = place - std::floor(place);
    // As numpy does: from the nearer end, so that the result never leaves [low, next].
    result.push_back(fraction < 0.5 ? low + (next - low) * fraction : next - (next - low) * (1.0 - fraction));
  }
  return result;
}

ColumnSpill::ColumnSpill(const std::filesystem::path& beside, std::size_t columns, std::int64_t instances)
    : path_(beside.string() + ".scratch-XXXXXX"), columns_(columns), capacity_(instances) {
  const double bytes = static_cast<double>(columns) * static_cast<double>(instances) * sizeof(double);
  const bool in_memory = bytes <= most_in_memory;
  std::string name = path_.string();
  descriptor_ = in_memory ? ::memfd_create("manyfold-quantiles", MFD_CLOEXEC) : ::mkstemp(name.data());
  if (descriptor_ < 0) throw std::runtime_error(fmt::format("{}: cannot be created: {}", name, std::strerror(errno)));
  path_ = name;
  if (!in_memory) ::unlink(name.c_str());
}

ColumnSpill::~ColumnSpill() {
  ::close(descriptor_);
}

std::int64_t ColumnSpill::offset(std::size_t column, std::int64_t row) const {
  return (static_cast<std::int64_t>(column) * capacity_ + row) * static_cast<std::int64_t>(sizeof(double));
}

void ColumnSpill::put(std::int64_t first, std::span<const double> values) const {
  if (columns_ == 0) return;
  const std::size_t rows = values.size() / columns_;
  if (rows * columns_ != values.size() || first < 0 || first + static_cast<std::int64_t>(rows) > capacity_) {
    throw UsageError(fmt::format("quantiles of {} columns and {} instances were given {} values from instance {} on",
                                 columns_, capacity_, values.size(), first));
  }
  constexpr std::size_t together = 8;  // columns in a line of the cache
  std::vector<std::uint64_t> parts(together * rows);
  for (std::size_t column = 0; column < columns_; column += together) {
    const std::size_t width = std::min(together, columns_ - column);
    for (std::size_t row = 0; row < rows; ++row) {
      const double* from = values.data() + row * columns_ + column;
      for (std::size_t k = 0; k < width; ++k) parts[k * rows + row] = std::bit_cast<std::uint64_t>(from[k]) ^ hole;
    }
    for (std::size_t k = 0; k < width; ++k) {
      const char* bytes = reinterpret_cast<const char*>(parts.data() + k * rows);
      transfer_all([&](auto done, auto size, auto at) { return ::pwrite(descriptor_, bytes + done, size, at); },
                   rows * sizeof(double), offset(column + k, first), path_, "written");
    }
  }
}

std::vector<double> ColumnSpill::finite_values(std::size_t column) const {
  std::vector<double> values(static_cast<std::size_t>(capacity_));
  char* bytes = reinterpret_cast<char*>(values.data());
  // A file ends with the last row that was put.
  transfer_all(
      [&](auto done, auto size, auto at) {
        const ssize_t part = ::pread(descriptor_, bytes + done, size, at);
        return part == 0 ? static_cast<ssize_t>(size) : part;
      },
      values.size() * sizeof(double), offset(column, 0), path_, "read");
  std::size_t count = 0;
  for (const double value : values) {
    const auto turned = std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) ^ hole);
    values[count] = turned;
    count += std::isfinite(turned) ? 1 : 0;
  }
  values.resize(count);
  return values;
}

}  // namespace manyfold
