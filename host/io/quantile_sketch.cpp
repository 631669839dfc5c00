#include "host/io/quantile_sketch.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <manyfold/error.hpp>

#include "host/io/quantiles.hpp"
#include "host/io/vector_code.hpp"

namespace manyfold {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

constexpr auto block_size = static_cast<std::size_t>(rows_per_summary);
constexpr std::size_t lanes = 8;  // columns

/// A row of columns that are sorted together. A vector type, since compilers leave loops over so few lanes as they are.
using Lanes = double __attribute__((vector_size(lanes * sizeof(double)), aligned(alignof(double)), may_alias));

/// Batcher's odd-even merge sort: Knuth, The Art of Computer Programming, volume 3, 5.2.2, algorithm M.
MANYFOLD_VECTOR_CODE void sort_lanes(double* block) {
  auto* const rows = reinterpret_cast<Lanes*>(block);
  for (std::size_t sorted = 1; sorted < block_size; sorted *= 2) {
    for (std::size_t distance = sorted; distance >= 1; distance /= 2) {
      for (std::size_t begin = distance % sorted; begin + distance < block_size; begin += 2 * distance) {
        for (std::size_t i = begin; i < std::min(begin + distance, block_size - distance); ++i) {
          if ((i ^ (i + distance)) >= 2 * sorted) continue;  // they belong to different halves of what is merged
          const Lanes a = rows[i];
          const Lanes b = rows[i + distance];
          rows[i] = b < a ? b : a;
          rows[i + distance] = b < a ? a : b;
        }
      }
    }
  }
}

/// Merges sorted values without branches that a processor could not foresee.
void merge(std::span<const double> left, std::span<const double> right, double* out) {
  const double* a = left.data();
  const double* b = right.data();
  const double* const a_end = a + left.size();
  const double* const b_end = b + right.size();
  if (left.size() == right.size() && !left.empty()) {
    // From both ends, which need not wait for one another; neither leaves its half.
    const double* a_last = a_end - 1;
    const double* b_last = b_end - 1;
    double* last = out + left.size() + right.size() - 1;
    for (std::size_t k = 0; k < left.size(); ++k) {
      const double low_a = *a;
      const double low_b = *b;
      const double high_a = *a_last;
      const double high_b = *b_last;
      *out++ = low_b < low_a ? low_b : low_a;
      *last-- = high_b < high_a ? high_a : high_b;
      a += low_b < low_a ? 0 : 1;
      b += low_b < low_a ? 1 : 0;
      a_last -= high_b < high_a ? 1 : 0;
      b_last -= high_b < high_a ? 0 : 1;
    }
    return;
  }
  while (a < a_end && b < b_end) {
    const bool second = *b < *a;
    *out++ = second ? *b : *a;
    a += second ? 0 : 1;
    b += second ? 1 : 0;
  }
  std::copy(b, b_end, std::copy(a, a_end, out));
}

/// Keeps the first or the second of each pair of `values`.
void halve(SummaryColumn& kept, double* values, bool second) {
  kept.halve(second);
  for (std::uint32_t i = 0; i < kept.count; ++i) values[i] = values[2 * i + (second ? 1 : 0)];
}

}  // namespace

struct QuantileSketch::Summary {
  Summary(std::size_t columns, std::size_t each)
      : room(each), values(std::make_unique_for_overwrite<double[]>(columns * each)), kept(columns) {}
  double* of(std::size_t column) { return values.get() + column * room; }
  std::span<const double> values_of(std::size_t column) const {
    return {values.get() + column * room, kept[column].count};
  }

  std::size_t room;                  // values of a column
  std::unique_ptr<double[]> values;  // [columns][room]
  std::vector<SummaryColumn> kept;   // [columns]
};

/// Some rows of a block. Threads write theirs at the same time.
struct QuantileSketch::StartedBlock {
  std::vector<double> rows;  // [columns / lanes][block_size][lanes]; infinity: missing
  std::int64_t there = 0;
};

QuantileSketch::QuantileSketch(std::size_t columns, std::int64_t instances, std::size_t most_values)
    : columns_(columns), instances_(instances), most_values_(most_values) {
  if (std::has_single_bit(most_values) && most_values >= block_size) return;
  throw UsageError(fmt::format("a sketch of quantiles has summaries of {} values, but needs a power of two from {} on",
                               most_values, block_size));
}

QuantileSketch::~QuantileSketch() = default;

double QuantileSketch::bytes_of(std::size_t columns, std::int64_t instances, std::size_t most_values) {
  // A summary waits on each level; one is being merged.
  const double full = static_cast<double>(instances) / static_cast<double>(most_values);
  const double levels = 2.0 + std::ceil(std::log2(std::max(full, 1.0)));
  const double kept = levels * (8.0 * static_cast<double>(most_values) + sizeof(SummaryColumn));
  return static_cast<double>(columns) * kept;
}

std::size_t QuantileSketch::most_values_within(double bytes, std::size_t columns, std::int64_t instances) {
  std::size_t values = 4096;
  while (values > block_size && bytes_of(columns, instances, values) > bytes) values /= 2;
  return values;
}

std::unique_ptr<QuantileSketch::Summary> QuantileSketch::summary_of(StartedBlock& block) const {
  auto summary = std::make_unique<Summary>(columns_, block_size);
  for (std::size_t column = 0; column < columns_; column += lanes) {
    double* const rows = block.rows.data() + column * block_size;
    sort_lanes(rows);
    for (std::size_t k = 0; k < std::min(lanes, columns_ - column); ++k) {
      double* const sorted = summary->of(column + k);
      for (std::size_t row = 0; row < block_size; ++row) sorted[row] = rows[row * lanes + k];
      summary->kept[column + k].count =
          static_cast<std::uint32_t>(std::lower_bound(sorted, sorted + block_size, infinity) - sorted);
    }
  }
  return summary;
}

void QuantileSketch::put(std::int64_t first, std::span<const double> values) {
  if (columns_ == 0) return;
  const auto rows = static_cast<std::int64_t>(values.size() / columns_);
  if (static_cast<std::size_t>(rows) * columns_ != values.size() || first < 0 || first + rows > instances_) {
    throw UsageError(fmt::format("quantiles of {} columns and {} instances were given {} values from instance {} on",
                                 columns_, instances_, values.size(), first));
  }
  constexpr auto size = static_cast<std::int64_t>(block_size);
  for (std::int64_t row = first; row < first + rows;) {
    const std::int64_t block = row / size;
    const std::int64_t count = std::min((block + 1) * size, first + rows) - row;
    put_part(
        block, row % size,
        values.subspan(static_cast<std::size_t>(row - first) * columns_, static_cast<std::size_t>(count) * columns_));
    row += count;
  }
}

void QuantileSketch::put_part(std::int64_t block, std::int64_t first, std::span<const double> values) {
  const std::size_t count = values.size() / columns_;
  StartedBlock* started = nullptr;
  {
    const std::lock_guard lock(mutex_);
    started = &started_[block];
    if (started->rows.empty()) started->rows.assign((columns_ + lanes - 1) / lanes * lanes * block_size, infinity);
  }
  for (std::size_t column = 0; column < columns_; column += lanes) {
    double* to = started->rows.data() + column * block_size + static_cast<std::size_t>(first) * lanes;
    const double* from = values.data() + column;
    const std::size_t width = std::min(lanes, columns_ - column);
    for (std::size_t row = 0; row < count; ++row, to += lanes, from += columns_) {
      for (std::size_t k = 0; k < width; ++k) to[k] = std::isfinite(from[k]) ? from[k] : infinity;
    }
  }
  StartedBlock whole;
  {
    const std::lock_guard lock(mutex_);
    started->there += static_cast<std::int64_t>(count);
    if (started->there < static_cast<std::int64_t>(block_size)) return;
    whole = std::move(*started);
    started_.erase(block);
  }
  take_in({0, block}, summary_of(whole));
}

void QuantileSketch::put(const BatchSummary& made) {
  auto summary = std::make_unique<Summary>(columns_, made.values.size() / columns_);
  std::copy(made.values.begin(), made.values.end(), summary->values.get());
  summary->kept = made.columns;
  take_in({made.level, made.number}, std::move(summary));
}

void QuantileSketch::end() {
  for (auto& [block, started] : std::exchange(started_, {})) take_in({0, block}, summary_of(started));
}

/// Merges as long as the other half of a pair is there, outside of the lock.
void QuantileSketch::take_in(Place place, std::unique_ptr<Summary> summary) {
  for (;; place = {place.first + 1, place.second / 2}) {
    std::unique_ptr<Summary> other;
    {
      const std::lock_guard lock(mutex_);
      const auto found = waiting_.find({place.first, place.second ^ 1});
      if (found == waiting_.end()) {
        waiting_.emplace(place, std::move(summary));
        return;
      }
      other = std::move(found->second);
      waiting_.erase(found);
    }
    if (place.second % 2 != 0) summary.swap(other);
    summary = merged(std::move(summary), std::move(other), place);
  }
}

/// `place`: of one of the halves.
std::unique_ptr<QuantileSketch::Summary> QuantileSketch::merged(std::unique_ptr<Summary> left,
                                                                std::unique_ptr<Summary> right, Place place) const {
  const std::size_t room = std::min(left->room + right->room, most_values_);
  std::unique_ptr<Summary> made;
  if (room > left->room) made = std::make_unique<Summary>(columns_, room);
  Summary& target = made ? *made : *left;
  std::vector<double> both(left->room + right->room);
  for (std::size_t column = 0; column < columns_; ++column) {
    Coins coins(place.first, place.second / 2);
    SummaryColumn& a = left->kept[column];
    SummaryColumn& b = right->kept[column];
    while (a.doublings < b.doublings) halve(a, left->of(column), coins.flip());
    while (b.doublings < a.doublings) halve(b, right->of(column), coins.flip());
    merge(left->values_of(column), right->values_of(column), both.data());
    SummaryColumn kept{a.count + b.count, a.doublings, a.squares + b.squares};
    if (kept.count > room) halve(kept, both.data(), coins.flip());
    std::copy_n(both.begin(), kept.count, target.of(column));
    target.kept[column] = kept;
  }
  return made ? std::move(made) : std::move(left);
}

ApproximateQuantiles QuantileSketch::quantiles(std::size_t column, std::span<const double> probabilities, double min,
                                               double max) const {
  struct Weighted {
    double value;
    double weight;
  };
  std::vector<Weighted> all;
  double squares = 0.0;
  double heaviest = 1.0;
  double total = 0.0;
  for (const auto& [place, summary] : waiting_) {
    const SummaryColumn& kept = summary->kept[column];
    for (const double value : summary->values_of(column)) all.push_back({value, kept.weight()});
    squares += kept.squares;
    total += kept.count * kept.weight();
    if (kept.count > 0) heaviest = std::max(heaviest, kept.weight());
  }
  if (all.empty()) return {std::vector<double>(probabilities.size(), min), 0.0};
  std::sort(all.begin(), all.end(), [](const Weighted& a, const Weighted& b) { return a.value < b.value; });
  // The middle of the ranks that a value stands for.
  std::vector<double> middles;
  double below = 0.0;
  for (const Weighted& entry : all) {
    middles.push_back(below + 0.5 * (entry.weight - 1.0));
    below += entry.weight;
  }
  ApproximateQuantiles result;
  for (const double probability : probabilities) {
    const double rank = probability * (total - 1.0);
    const auto at = static_cast<std::size_t>(std::lower_bound(middles.begin(), middles.end(), rank) - middles.begin());
    const double low = at == 0 ? min : all[at - 1].value;
    const double next = at == all.size() ? max : all[at].value;
    const double begin = at == 0 ? 0.0 : middles[at - 1];
    const double end = at == all.size() ? total - 1.0 : middles[at];
    result.values.push_back(interpolated(low, next, end > begin ? (rank - begin) / (end - begin) : 1.0));
  }
  if (squares > 0.0) {
    constexpr double doubt = 0.01;
    result.rank_error = std::min(1.0, (std::sqrt(2.0 * std::log(2.0 / doubt) * squares) + 0.5 * heaviest) / total);
  }
  return result;
}

}  // namespace manyfold
