#pragma once
// Columns of numbers that stay in the memory of a device, where they can be counted.
#include <cstdint>
#include <span>
#include <vector>

namespace manyfold {

/// Asks, for each column, how often each value of a digit occurs in the keys that have some leading bits.
struct DigitQuestion {
  std::vector<int> shifts;             ///< [columns]: bits below the digit
  std::vector<int> first;              ///< [columns + 1]: of a column's entries in `leading`
  std::vector<std::uint64_t> leading;  ///< bits before the digit, ascending within a column
};

/// Asks, for each column, how many numbers lie in each bin.
struct BinQuestion {
  std::vector<int> first;     ///< [columns + 1]: of a column's entries in `edges`
  std::vector<double> edges;  ///< between bins, ascending within a column; a number at an edge is in the lower bin
};

/// What one device has of some columns. NaN and infinite numbers do not count.
class KeptColumns {
 public:
  KeptColumns() = default;
  KeptColumns(const KeptColumns&) = delete;
  KeptColumns& operator=(const KeptColumns&) = delete;
  virtual ~KeptColumns() = default;
  /// Several devices may be asked before the first answers. Throws DeviceError.
  virtual void ask(const DigitQuestion& question) = 0;
  virtual void ask(const BinQuestion& question) = 0;
  /// Adds the answer to `counts`: [leading][digit_values], or for each column one bin more than edges. Throws
  /// DeviceError.
  virtual void answer(std::span<std::int64_t> counts) = 0;
};

}  // namespace manyfold
