#pragma once
// Moments of a column of numbers: what the host's vector code and the threads of a device compute alike, to the last
// bit where products and sums are not contracted.
//
// Rows are added up in blocks: the mean of a block first, then the squared distances from it, with what rounding left
// of their sum taken out of both (Chan, Golub, LeVeque 1983). Blocks are merged into groups and these into the whole,
// each in its order (1979). So a result depends on the numbers of the rows alone.
#include <manyfold/integers.hpp>

#include "../lane/qualifiers.hpp"

namespace manyfold {

inline constexpr std::int64_t rows_per_block = 64;
inline constexpr std::int64_t rows_per_group = 4096;

/// Infinite: beyond all values.
inline constexpr double unbounded = __builtin_bit_cast(double, 0x7ffULL << 52);

struct ColumnMoments {
  double count = 0.0;    ///< of finite values; exact up to 2^53
  double mean = 0.0;     ///< 0 without values
  double squares = 0.0;  ///< sum of the squared distances from the mean
  double min = unbounded;
  double max = -unbounded;
};

/// `sum`: the mean once it is divided by `count`.
MANYFOLD_INLINE void add_value(double x, double& count, double& sum, double& min, double& max) {
  const bool finite = x - x == 0.0;
  count += finite ? 1.0 : 0.0;
  sum += finite ? x : 0.0;
  const double low = finite ? x : unbounded;
  const double high = finite ? x : -unbounded;
  min = low < min ? low : min;
  max = high > max ? high : max;
}

MANYFOLD_INLINE double mean_of(double sum, double count) {
  return sum / (count > 0.0 ? count : 1.0);
}

MANYFOLD_INLINE void add_square(double x, double mean, double& squares, double& distances) {
  const double distance = x - x == 0.0 ? x - mean : 0.0;
  squares += distance * distance;
  distances += distance;
}

/// `distances`: their sum, which is zero of a mean that is not rounded.
MANYFOLD_INLINE void correct_mean(double count, double& mean, double& squares, double distances) {
  const double correction = mean_of(distances, count);
  const double left = squares - distances * correction;
  mean += correction;
  squares = left >= 0.0 ? left : squares < unbounded ? 0.0 : squares;
}

/// Theirs into one's own.
MANYFOLD_INLINE void merge_moments(double& count, double& mean, double& squares, double their_count, double their_mean,
                                   double their_squares) {
  const double all = count + their_count;
  const double share = their_count / (all > 0.0 ? all : 1.0);
  const double distance = their_mean - mean;
  mean += distance * share;
  // In this order nothing is infinite where there was no value before.
  squares += their_squares + distance * (count * share) * distance;
  count = all;
}

MANYFOLD_INLINE void merge_extremes(double& min, double& max, double their_min, double their_max) {
  min = their_min < min ? their_min : min;
  max = their_max > max ? their_max : max;
}

/// Of `rows` numbers, `stride` apart, the first of which is that of the first row of a group.
MANYFOLD_INLINE ColumnMoments moments_of_group(const double* values, std::int64_t rows, std::int64_t stride) {
  ColumnMoments group;
  for (std::int64_t first = 0; first < rows; first += rows_per_block) {
    const std::int64_t end = first + rows_per_block < rows ? first + rows_per_block : rows;
    ColumnMoments block;
    for (std::int64_t i = first; i < end; ++i) {
      add_value(values[i * stride], block.count, block.mean, block.min, block.max);
    }
    block.mean = mean_of(block.mean, block.count);
    double distances = 0.0;
    for (std::int64_t i = first; i < end; ++i) add_square(values[i * stride], block.mean, block.squares, distances);
    correct_mean(block.count, block.mean, block.squares, distances);
    merge_moments(group.count, group.mean, group.squares, block.count, block.mean, block.squares);
    merge_extremes(group.min, group.max, block.min, block.max);
  }
  return group;
}

}  // namespace manyfold
