#pragma once
// The quantile sketch of a batch, in the memory of the device that integrated it: summaries of 512 instances, and their
// merges as far as the tree lies within the batch. A thread finds the place of a value by counting those before it.
#include "../statistics/moments.hpp"
#include "../statistics/sketch.hpp"

namespace manyfold {

/// Rows that a thread sorts by itself.
inline constexpr int rows_per_run = 16;

/// What begins the sketch: values in blocks of `rows_per_summary` rows, column by column, the sorted runs of which
/// grow.
struct DeviceRuns {
  int count;  ///< instances
  int columns;
  const double* values;  ///< [count][columns]
  int run;               ///< rows of a run that is sorted already
  const double* from;    ///< [blocks][columns][rows_per_summary]
  double* to;            ///< the same; missing values are infinite
  SummaryColumn* kept;   ///< [blocks][columns]
};

MANYFOLD_INLINE int summaries_of(int count) {
  return (count + rows_per_summary - 1) / rows_per_summary;
}

/// The first of `count` sorted numbers, `stride` apart, that is not below `number` or, with `beyond`, that is above it.
MANYFOLD_INLINE int place_among(const double* sorted, int count, std::int64_t stride, double number, bool beyond) {
  int low = 0;
  int high = count;
  while (low < high) {
    const int middle = low + (high - low) / 2;
    const double other = sorted[middle * stride];
    const bool before = beyond ? other <= number : other < number;
    low = before ? middle + 1 : low;
    high = before ? high : middle;
  }
  return low;
}

/// A thread for each run of each column; neighbouring threads read neighbouring numbers.
MANYFOLD_INLINE int threads_that_sort(const DeviceRuns& runs) {
  return summaries_of(runs.count) * (rows_per_summary / rows_per_run) * runs.columns;
}

MANYFOLD_INLINE void sort_run(const DeviceRuns& runs, int thread) {
  const int column = thread % runs.columns;
  const int first = thread / runs.columns * rows_per_run;
  double sorted[rows_per_run];
  for (int i = 0; i < rows_per_run; ++i) {
    const int row = first + i;
    const double value =
        row < runs.count ? runs.values[static_cast<std::int64_t>(row) * runs.columns + column] : unbounded;
    sorted[i] = value - value == 0.0 ? value : unbounded;
  }
  // By exchange of neighbours: the places are known when this is compiled, so the numbers stay in registers.
  for (int round = 0; round < rows_per_run; ++round) {
    for (int i = round % 2; i + 1 < rows_per_run; i += 2) {
      const double a = sorted[i];
      const double b = sorted[i + 1];
      sorted[i] = b < a ? b : a;
      sorted[i + 1] = b < a ? a : b;
    }
  }
  const std::int64_t block = first / rows_per_summary;
  double* to = runs.to + (block * runs.columns + column) * rows_per_summary + first % rows_per_summary;
  for (int i = 0; i < rows_per_run; ++i) to[i] = sorted[i];
}

/// A thread for each value.
MANYFOLD_INLINE int threads_that_merge_runs(const DeviceRuns& runs) {
  return summaries_of(runs.count) * runs.columns * rows_per_summary;
}

MANYFOLD_INLINE void merge_runs(const DeviceRuns& runs, int thread) {
  const int place = thread % runs.run;
  const int first = thread - place;  // of the run
  const bool second = first / runs.run % 2 != 0;
  const int other = second ? first - runs.run : first + runs.run;
  const double value = runs.from[thread];
  const int rank = place_among(runs.from + other, runs.run, 1, value, second);
  runs.to[(second ? other : first) + place + rank] = value;
}

/// A thread for each column of each block, once it is sorted in `to`.
MANYFOLD_INLINE int threads_that_count(const DeviceRuns& runs) {
  return summaries_of(runs.count) * runs.columns;
}

MANYFOLD_INLINE void count_summary(const DeviceRuns& runs, int thread) {
  const double* sorted = runs.to + static_cast<std::int64_t>(thread) * rows_per_summary;
  SummaryColumn kept;
  kept.count = static_cast<std::uint32_t>(place_among(sorted, rows_per_summary, 1, unbounded, false));
  runs.kept[thread] = kept;
}

/// The merge of `pairs` pairs of summaries of a level.
struct DeviceMerge {
  int pairs;
  int columns;
  int level;                  ///< of the halves
  std::int64_t first;         ///< number of the first pair in the level above
  int room;                   ///< of a half, for values of a column
  int merged_room;            ///< of what is made
  const double* from;         ///< [2 * pairs][columns][room]
  const SummaryColumn* kept;  ///< [2 * pairs][columns]
  double* to;                 ///< [pairs][columns][merged_room]
  SummaryColumn* merged;      ///< [pairs][columns]
};

/// A thread for each value of the halves.
MANYFOLD_INLINE int threads_that_merge(const DeviceMerge& merge) {
  return merge.pairs * merge.columns * 2 * merge.room;
}

/// The values of a half that are left: every `stride`th from `offset` on.
struct SummaryView {
  SummaryColumn kept;
  const double* values;
  int offset = 0;
  int stride = 1;

  MANYFOLD_INLINE void halve(bool second) {
    kept.halve(second);
    offset += second ? stride : 0;
    stride *= 2;
  }
  MANYFOLD_INLINE int count() const { return static_cast<int>(kept.count); }
};

MANYFOLD_INLINE void merge_summaries(const DeviceMerge& merge, int thread) {
  const int of_column = 2 * merge.room;
  const int place = thread % of_column;
  const int column = thread / of_column % merge.columns;
  const std::int64_t pair = thread / of_column / merge.columns;
  Coins coins(merge.level, merge.first + pair);
  const auto half = [&](std::int64_t number) {
    const std::int64_t at = number * merge.columns + column;
    return SummaryView{merge.kept[at], merge.from + at * merge.room};
  };
  SummaryView left = half(2 * pair);
  SummaryView right = half(2 * pair + 1);
  while (left.kept.doublings < right.kept.doublings) left.halve(coins.flip());
  while (right.kept.doublings < left.kept.doublings) right.halve(coins.flip());
  SummaryColumn kept = left.kept;
  kept.count += right.kept.count;
  kept.squares += right.kept.squares;
  const bool halved = static_cast<int>(kept.count) > merge.merged_room;
  const bool second_goes_on = halved && coins.flip();
  if (halved) kept.halve(second_goes_on);
  const std::int64_t out = pair * merge.columns + column;
  if (place == 0) merge.merged[out] = kept;
  const bool second = place >= merge.room;
  const SummaryView& own = second ? right : left;
  const SummaryView& other = second ? left : right;
  const int i = second ? place - merge.room : place;
  if (i >= own.count()) return;
  const double value = own.values[own.offset + static_cast<std::int64_t>(i) * own.stride];
  int rank = i + place_among(other.values + other.offset, other.count(), other.stride, value, second);
  if (halved) {
    if (rank % 2 != (second_goes_on ? 1 : 0)) return;
    rank /= 2;
  }
  merge.to[out * merge.merged_room + rank] = value;
}

/// Goes up the tree from `count` blocks from number `first` on. On each level: `alone(level, number, place)` for
/// summaries whose other halves are in other batches, and then `merge(level, first_pair, pairs, place)` for the pairs
/// that are whole, whose number on the next level is `first_pair`. `place`: among the summaries of the level.
inline void climb_tree(std::int64_t first, int count, const auto& alone, const auto& merge) {
  for (int level = 0; count > 0; ++level) {
    const int before = first % 2 != 0 ? 1 : 0;
    const int pairs = (count - before) / 2;
    if (before > 0) alone(level, first, 0);
    if (before + 2 * pairs < count) alone(level, first + count - 1, count - 1);
    first = (first + before) / 2;
    if (pairs > 0) merge(level, first, pairs, before);
    count = pairs;
  }
}

}  // namespace manyfold
