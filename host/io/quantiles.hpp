#pragma once
// Exact quantiles of columns over the instances of an ensemble.
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace manyfold {

/// Quantiles of `values`, which are finite, by linear interpolation (type 7 of Hyndman & Fan 1996, numpy's default);
/// NaN when there are none. `probabilities` in [0, 1]. Reorders `values`. Time grows with their number alone: what lies
/// between the quantiles is only counted.
std::vector<double> quantiles_of(std::vector<double>& values, std::span<const double> probabilities);

/// The ranks, ascending, between which the quantiles of `count` values lie.
std::vector<std::size_t> ranks_of(std::size_t count, std::span<const double> probabilities);
/// The quantiles by the values `found` of these ranks; NaN when there are none.
std::vector<double> quantiles_between(std::size_t count, std::span<const double> probabilities,
                                      std::span<const double> found);

/// `fraction` of the way from `low` to `next`, as numpy does: from the nearer end, so that it never leaves them. A zero
/// has no sign, for zeros of either sign have no order among them.
inline double interpolated(double low, double next, double fraction) {
  return (fraction < 0.5 ? low + (next - low) * fraction : next - (next - low) * (1.0 - fraction)) + 0.0;
}

/// Memory for the values that quantiles are of, or for what stands for them.
inline constexpr double memory_for_quantiles = 1 << 30;

/// All values, column by column: in memory up to 1 GiB, in a scratch file beyond. That has no name on disk once opened,
/// so it goes away however the process ends. Throws std::runtime_error when there is no room.
class ColumnSpill {
 public:
  /// For at most `instances` rows; a scratch file is made beside `beside`.
  ColumnSpill(const std::filesystem::path& beside, std::size_t columns, std::int64_t instances);
  ColumnSpill(const ColumnSpill&) = delete;
  ColumnSpill& operator=(const ColumnSpill&) = delete;
  ~ColumnSpill();
  /// `values` [rows][columns] from row number `first` on. May be called by several threads at a time.
  void put(std::int64_t first, std::span<const double> values) const;
  /// Of the rows that were put; the others count as missing.
  std::vector<double> finite_values(std::size_t column) const;

 private:
  std::size_t columns_;
  std::size_t capacity_;             // rows
  std::span<std::uint64_t> values_;  // [columns][rows]
};

}  // namespace manyfold
