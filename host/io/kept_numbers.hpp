#pragma once
// Numbers of given ranks, and histograms, of columns that stay on devices.
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "host/engine/kept_columns.hpp"

namespace manyfold {

/// The columns of all devices.
class KeptNumbers {
 public:
  /// Each one once.
  void add(const std::shared_ptr<KeptColumns>& columns);
  void forget() { parts_.clear(); }

  /// What is asked for of a column.
  struct Ranks {
    double min = 0.0;  ///< of its finite numbers
    double max = 0.0;
    std::vector<std::size_t> ranks;  ///< ascending, below the number of these; empty: nothing is asked for
  };
  /// For each column, the numbers of these ranks, as in quantiles.hpp. Zeros have no sign.
  std::vector<std::vector<double>> of_ranks(std::span<const Ranks> columns) const;
  /// For each column, how many numbers lie in the bins between `edges`, as in `BinQuestion`: one more than these.
  std::vector<std::vector<std::int64_t>> in_bins(std::span<const std::vector<double>> edges) const;

 private:
  /// What all devices together say to `question`: `size` counts.
  std::vector<std::int64_t> counts(const auto& question, std::size_t size) const;

  std::vector<std::shared_ptr<KeptColumns>> parts_;
};

}  // namespace manyfold
