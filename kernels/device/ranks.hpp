#pragma once
// Counts of the numbers that stay in the memory of a device. By them the host finds the numbers of given ranks, and
// histograms.
#include "../statistics/ranks.hpp"

namespace manyfold {

/// Columns of numbers in the memory of a device. NaN and infinite ones do not count.
struct DeviceColumns {
  int rows;
  int columns;
  int slices;            ///< threads that share the rows of a column
  const double* values;  ///< [rows][columns]
  /// [columns + 1]: the first one that is asked for of a column, of the leading bits or edges.
  const int* first;
};

/// How often each value of a digit occurs, of keys with given bits before it.
struct DeviceDigits {
  DeviceColumns of;
  const int* shifts;             ///< [columns]: bits below the digit
  const std::uint64_t* leading;  ///< bits before it, ascending within a column
  std::uint32_t* counts;         ///< [leading][digit_values], added to
};

/// How many numbers lie in bins. Inner edges of bins ascend within a column; a bin includes its upper edge.
struct DeviceBins {
  DeviceColumns of;
  const double* edges;
  std::uint32_t* counts;  ///< one bin more than edges for each column, added to
};

MANYFOLD_INLINE void count_one(std::uint32_t* count) {
#if defined(__CUDA_ARCH__)
  atomicAdd(count, 1u);
#else
  __atomic_fetch_add(count, 1U, __ATOMIC_RELAXED);
#endif
}

/// Calls `visit(number)` with the finite numbers that fall to `thread`. Neighbouring threads read neighbouring numbers.
template <class Visit>
MANYFOLD_INLINE void visit_numbers(const DeviceColumns& of, int thread, const Visit& visit) {
  const int column = thread % of.columns;
  for (int row = thread / of.columns; row < of.rows; row += of.slices) {
    const double number = of.values[static_cast<std::int64_t>(row) * of.columns + column];
    if (number - number == 0.0) visit(number);
  }
}

MANYFOLD_INLINE void count_digits(const DeviceDigits& digits, int thread) {
  const int column = thread % digits.of.columns;
  const int begin = digits.of.first[column];
  const int end = digits.of.first[column + 1];
  if (begin == end) return;
  const int shift = digits.shifts[column];
  visit_numbers(digits.of, thread, [&](double number) {
    const std::uint64_t key = key_of(number);
    const std::uint64_t leading = leading_bits(key, shift);
    int k = begin;
    while (k < end && digits.leading[k] < leading) ++k;
    if (k < end && digits.leading[k] == leading) {
      count_one(digits.counts + static_cast<std::int64_t>(k) * digit_values + digit_of(key, shift));
    }
  });
}

MANYFOLD_INLINE void count_bins(const DeviceBins& bins, int thread) {
  const int column = thread % bins.of.columns;
  const int begin = bins.of.first[column];
  visit_numbers(bins.of, thread, [&](double number) {
    int low = begin;
    int high = bins.of.first[column + 1];
    while (low < high) {
      const int middle = low + (high - low) / 2;
      const bool above = bins.edges[middle] < number;
      low = above ? middle + 1 : low;
      high = above ? high : middle;
    }
    count_one(bins.counts + low + column);
  });
}

}  // namespace manyfold
